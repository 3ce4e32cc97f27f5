"""What the columns of a table hold, as far as their names and cells tell."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any, cast

import numpy as np

from nearkin.errors import InputError, few
from nearkin.rows.access import evenly_spaced
from nearkin.rows.column_roles import counting, names_rows
from nearkin.rows.scaling import column_spreads, without_rounding
from nearkin.tables.columns import KINDS, MOST_CATEGORIES, Kind, Order
from nearkin.tables.dates import read_dates
from nearkin.tables.numerals import read_numerals
from nearkin.tables.reading import Cells, plain_text

# Cells that a column is known by, at most.
_MOST_LOOKED_AT = 20_000
# Shares of cells that must be of a kind: others are mistakes, and count as missing.
_MOST_ARE = 0.9
_MOST_CODES = 0.8
# Values that are recognised as a category, at most, and how many cells there must be for each. More
# are names, which are compared letter by letter.
_MOST_CATEGORIES = 30
_CELLS_OF_A_CATEGORY = 4
# Fewer texts may be numbers in their order by chance.
_FEWEST_NUMBERED = 20
# Words and characters of a cell in the middle, from which on it is no name but a text.
_WORDS_OF_A_TEXT, _CHARACTERS_OF_A_TEXT = 9, 80

YES = frozenset({"yes", "y", "true", "t", "1", "on", "ja", "oui", "si", "sí", "sim", "wahr"})
NO = frozenset({"no", "n", "false", "f", "0", "off", "nein", "non", "não", "falsch"})
_ONLY_DIGITS = re.compile(r"[0-9]{1,15}")
_LEADING_ZERO = re.compile(r"[-+]?0\d+")
_LONG_WORD = re.compile(r"[^\W\d_]{4,}")
_UUID = re.compile(r"[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}|[0-9a-f]{32,}")
# Numbers of which more is not larger.
_CODE_NAME = re.compile(
    r"(?i:.*(?:phone|mobile|telefon|zip|postcode|postal|post_?code|plz|barcode|isbn|iban|ssn|vat)"
    r".*|(?:.*[_\W])?(?:tel|fax|ean|gtin|upc|sku)(?:[_\W].*)?)$"
)


def kinds_of(
    table: Sequence[Cells], stated: Mapping[str, str] | None = None, dates: Order | None = None
) -> dict[str, Kind]:
    """What each column of a table holds.

    Parameters
    ----------
    table : sequence of Cells
    stated : mapping, optional
        Kinds that are known, by name of the column.
    dates : {"day first", "month first", "year first"}, optional

    Returns
    -------
    dict
        Kinds by name, in the order of the columns.

    Examples
    --------
    >>> from nearkin.tables.kinds import kinds_of
    >>> from nearkin.tables.reading import read_table
    >>> table = {"id": ["7", "8"], "agent": ["007", "008"], "born": ["1920-11-11", "1921-02-03"]}
    >>> kinds_of(read_table(table))
    {'id': 'ignored', 'agent': 'code', 'born': 'date'}
    """
    stated = dict(stated or {})
    _check_stated(table, stated)
    found = {
        cells.name: cast(Kind, stated[cells.name])
        if cells.name in stated
        else kind_of(cells, dates)
        for cells in table
    }
    numbers = [
        cells
        for cells in table
        if cells.form == "number" and found[cells.name] == "number" and cells.name not in stated
    ]
    if numbers:
        rows = np.column_stack([cells.values for cells in numbers])
        # Beside a column of words, one that counts rows is hardly all there is.
        beside = np.column_stack([rows, np.zeros(len(rows))])
        for name in counting(beside, [*(cells.name for cells in numbers), ""]):
            found[name] = "ignored"
    for cells in table:
        if cells.form == "text" and cells.name not in stated and _number_rows(cells.values):
            found[cells.name] = "ignored"
    for name in _rounding([one for one in table if found[one.name] == "number"]):
        if name not in stated:
            found[name] = "ignored"
    return found


def _rounding(table: Sequence[Cells]) -> list[str]:
    """Columns of numbers without gaps that hold what rounding left of a constant."""
    spreads = {}
    for cells in table:
        values = cells.values
        if cells.form == "text":
            numbers = read_numerals(text for text in values if text).values
            values = np.array([numbers.get(text, np.nan) for text in values])
        if np.isfinite(values).all():
            spreads[cells.name] = column_spreads(np.clip(values, -1e150, 1e150)[:, None])[0]
    found = without_rounding(np.array([*spreads.values()]))
    return [name for name, spread in zip(spreads, found, strict=True) if not spread]


def _number_rows(texts: Any) -> bool:
    """Whether texts are numbers that go up by one from row to row, as 0001, 0002 and so on."""
    if len(texts) < _FEWEST_NUMBERED or not all(
        map(_ONLY_DIGITS.fullmatch, (t or "" for t in texts))
    ):
        return False
    return bool((np.diff(texts.astype(np.int64)) == 1).all())


def kind_of(cells: Cells, dates: Order | None = None) -> Kind:
    """What one column holds; ``dates`` is the order in which dates are read, if that is known."""
    if names_rows(cells.name) or not present(cells).any() or _is_constant(cells):
        return "ignored"
    if cells.form == "boolean":
        return "yes or no"
    if cells.form in ("date", "vector"):
        return cast(Kind, cells.form)
    if cells.form == "number":
        return _kind_of_numbers(cells, dates)
    texts = [text for text in _some(cells) if text]
    if cells.is_category and _may_be_category(texts):
        return "category"
    return _kind_of_texts(cells.name, texts, dates)


def _may_be_category(texts: list[str]) -> bool:
    """Whether texts, of which a type says that they are a category, can be told apart as one.

    More values than have a coordinate each are names if they are no numbers: many people keep names
    as categories because that takes less memory.
    """
    values = set(texts)
    return len(values) <= MOST_CATEGORIES or len(read_numerals(values).values) == len(values)


def present(cells: Cells) -> Any:
    """Which cells are not missing."""
    if cells.form == "text":
        return np.array([text is not None for text in cells.values], dtype=bool)
    missing = np.isnan(cells.values)
    return ~(missing.all(axis=1) if cells.form == "vector" else missing)


def _check_stated(table: Sequence[Cells], stated: Mapping[str, str]) -> None:
    names = [cells.name for cells in table]
    for name, kind in stated.items():
        if name not in names:
            raise InputError(
                f"kinds: there is no column {name!r}; the table has {few(map(repr, names), 20)}."
            )
        if kind not in KINDS:
            raise InputError(
                f"kinds[{name!r}] is {kind!r}, but must be one of {', '.join(map(repr, KINDS))}."
            )


def _some(cells: Cells) -> Any:
    return cells.values[evenly_spaced(len(cells), _MOST_LOOKED_AT)]


def _is_constant(cells: Cells) -> bool:
    """Whether all cells hold one value, and none is missing."""
    values = cells.values
    if cells.form == "text":
        return values[0] is not None and all(value == values[0] for value in values)
    return bool((values == values[:1]).all())


def _kind_of_numbers(cells: Cells, dates: Order | None) -> Kind:
    values = _some(cells)
    values = values[np.isfinite(values)]
    whole = len(values) and (values == np.round(values)).all()
    if whole and _CODE_NAME.match(cells.name):
        return "code"
    if whole and values.min() > 1_500_00_00 and values.max() < 2_100_00_00:
        return (
            "date" if _are_dates([plain_text(value) or "" for value in values], dates) else "number"
        )
    return "number"


def _kind_of_texts(name: str, texts: list[str], dates: Order | None) -> Kind:
    values = set(texts)
    if values <= YES | NO and values & YES and values & NO:
        return "yes or no"
    if all(_UUID.fullmatch(text) for text in values):
        return "ignored"
    if _are_dates(texts, dates):
        return "date"
    numbers = read_numerals(texts).values
    if sum(text in numbers for text in texts) >= _MOST_ARE * len(texts):
        is_code = _CODE_NAME.match(name) or any(map(_LEADING_ZERO.fullmatch, texts))
        return "code" if is_code else "number"
    few_values = max(len(texts) / _CELLS_OF_A_CATEGORY, min(2, len(texts) // 2))
    if len(values) <= min(_MOST_CATEGORIES, few_values):
        return "category"
    n_codes = sum(_is_code(text) for text in texts)
    if n_codes >= _MOST_CODES * len(texts):
        return "code"
    words, characters = (
        np.median([len(part) for part in parts]) for parts in (map(str.split, texts), texts)
    )
    long = words >= _WORDS_OF_A_TEXT or characters >= _CHARACTERS_OF_A_TEXT
    return "text" if long else "name"


def _are_dates(texts: list[str], dates: Order | None) -> bool:
    """Whether most texts are dates."""
    days = read_dates(texts, dates).days
    return sum(text in days for text in texts) >= _MOST_ARE * len(texts)


def _is_code(text: str) -> bool:
    """Whether a text has digits, and no words beside them."""
    return any(map(str.isdigit, text)) and _LONG_WORD.search(text) is None
