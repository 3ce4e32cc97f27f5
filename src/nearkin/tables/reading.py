"""Read tables of any library as typed columns, and recognise what columns hold.

Columns of a library's own types are read by type. What is left are texts and Python objects, which
become texts: those of one table are the same whatever library holds it.
"""

from __future__ import annotations

import datetime
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from itertools import pairwise
from numbers import Number
from typing import Any, Literal, cast, get_args

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats, Mask
from nearkin.errors import InputError, InputTypeError, counted, few
from nearkin.messages import notice
from nearkin.rows.backends import evenly_spaced
from nearkin.rows.scaling import column_spreads, drop_rounding
from nearkin.rows.sparse import is_sparse
from nearkin.rows.validation import refuse_duplicate_names, to_frame

# Characters of a text that count.
MOST_CHARACTERS = 4000
# How programs write that a cell is missing.
_MISSING = frozenset({"", "nan", "nat", "null", "n/a", "#n/a", "<na>"})
_DAY = 86400.0
_EPOCH = datetime.date(1970, 1, 1)

Form = Literal["number", "boolean", "date", "vector", "text"]


@dataclass(frozen=True)
class RawColumn:
    """A column of any library in a common form, before its kind is recognised.

    ``values`` are, by form: ``number`` and ``boolean`` (0 and 1), and ``date``, days since 1970, in
    float64 with NaN where a cell is missing; ``vector``, float64 of shape (n, w) with rows of NaN;
    or ``text``, an array of ``str`` objects in lower case with single spaces, None where a cell is
    missing.
    """

    name: str
    form: Form
    values: NDArray[Any]
    first_row: int = 0  # number of the first in messages, where these are a part of a column
    is_category: bool = False  # whether the library says that values stand for kinds of things

    def __len__(self) -> int:
        return len(self.values)


class CategoryCells(list[Any]):
    """Cells of a column whose library declares it categorical."""


def list_cells(series: nw.Series[Any]) -> list[Any]:
    """Cells of a data frame's column as a list, a :class:`CategoryCells` if it is categorical."""
    is_category = series.dtype == nw.Categorical or series.dtype == nw.Enum
    return (CategoryCells if is_category else list)(series.to_list())


def select_cells(cells: Sequence[Any], rows: Iterable[int]) -> list[Any]:
    """Cells of some rows as a list, a :class:`CategoryCells` if the cells are."""
    kind = CategoryCells if isinstance(cells, CategoryCells) else list
    return kind(cells[row] for row in rows)


def first_cell_text(cells: RawColumn) -> str:
    """Text of a column's first cell; empty where it is missing."""
    value = cells.values[0]
    if cells.form == "vector":
        return "" if np.isnan(value).all() else f"a vector of {len(value)} numbers"
    if value is None or (cells.form != "text" and np.isnan(value)):
        return ""
    if cells.form == "date":
        return str(np.datetime64(int(value), "D"))
    return str(value) if cells.form == "text" else f"{value:.6g}"


def read_table(X: Any, wanted: Any = None, names: Any = None) -> list[RawColumn]:
    """Columns of a table in its order, only the ``wanted`` ones if given.

    X is a data frame, a dict of lists, or an array, with columns ``names``, or x0, x1 and so on.
    """
    if is_sparse(X):
        raise InputTypeError(
            "Sparse data was passed, but a table is dense: learners take a sparse matrix as it is."
        )
    refuse_duplicate_names(X)
    if isinstance(X, list | tuple) or (hasattr(X, "__array__") and to_frame(X) is None):
        X = np.array(X, dtype=object if isinstance(X, list | tuple) else None)
    if isinstance(X, np.ndarray):
        X = _split_array(X, names)
    if isinstance(X, Mapping):
        columns = {
            str(name): values if isinstance(values, list) else list(values)
            for name, values in X.items()
        }
        if len({len(values) for values in columns.values()}) > 1:
            lengths = ", ".join(f"{name!r} {len(values)}" for name, values in columns.items())
            raise InputError(f"columns of the table differ in length: {lengths}.")
        return [
            _read_objects(name, values)
            for name, values in columns.items()
            if wanted is None or name in wanted
        ]
    frame = to_frame(X)
    if frame is None:
        raise InputTypeError(
            f"a table is a data frame of pandas, polars or pyarrow, or a dict of lists, not "
            f"{type(X).__name__}; its columns have names that differ."
        )
    names = [str(name) for name in frame.columns]
    return [
        _read_series(name, column)
        for name, column in zip(names, frame.iter_columns(), strict=True)
        if wanted is None or name in wanted
    ]


def _split_array(X: NDArray[Any], names: Any) -> dict[str, Any]:
    if X.ndim != 2:
        raise InputError(
            f"Expected 2D array, got an array of shape {X.shape}: a table has rows and columns. "
            "Reshape your data, with a row for each thing."
        )
    if X.dtype.kind == "c":
        raise InputError("Complex data not supported: give real and imaginary parts as columns.")
    names = [f"x{j}" for j in range(X.shape[1])] if names is None else names
    if X.shape[1] != len(names):
        raise InputError(f"X has {X.shape[1]} features, but the table had {len(names)} columns.")
    return dict(zip(names, X.T, strict=True))


def _read_series(name: str, column: nw.Series[Any]) -> RawColumn:
    if column.dtype == nw.Decimal:
        column = column.cast(nw.Float64)
    if column.dtype == nw.Date or column.dtype == nw.Datetime:
        return RawColumn(name, "date", _to_days(column.to_list()))
    is_truth = column.dtype == nw.Boolean
    if not (is_truth or column.dtype.is_numeric()):
        return _read_objects(name, list_cells(column))
    if column.null_count():
        values = _to_floats([None if _is_missing(value) else value for value in column.to_list()])
    else:
        with np.errstate(over="ignore"):  # infinite where too large
            values = np.asarray(column.to_numpy()).astype(np.float64)
    return RawColumn(name, "boolean" if is_truth else "number", values)


def _read_objects(name: str, values: list[Any]) -> RawColumn:
    """Column of Python objects, in the form that all its cells have."""
    if isinstance(values, CategoryCells):
        return RawColumn(name, "text", _to_texts(values), is_category=True)
    values = [None if _is_missing(value) else value for value in values]
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, bool | np.bool_) for value in present):
        return RawColumn(name, "boolean", _to_floats(values))
    if present and all(_is_number(value) for value in present):
        return RawColumn(name, "number", _to_floats(values))
    if present and all(isinstance(value, datetime.date) for value in present):
        return RawColumn(name, "date", _to_days(values))
    if present and all(isinstance(value, datetime.timedelta) for value in present):
        lengths = [None if value is None else value.total_seconds() / _DAY for value in values]
        return RawColumn(name, "number", _to_floats(lengths))
    if present and all(_is_vector(value) for value in present):
        return RawColumn(name, "vector", _to_vectors(name, values))
    for row, value in enumerate(values):
        kind: Any = type(value)  # some define no text for their objects
        if kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__:
            raise InputError(
                f"column {name!r} holds {value!r:.60} in row {row}, which is no number, date or "
                "text."
            )
    return RawColumn(name, "text", _to_texts(values))


def _to_texts(values: list[Any]) -> NDArray[Any]:
    """Normalised texts (n,) of cells, None where missing."""
    cells = [None if _is_missing(value) else value for value in values]
    known = {cell: normalise_text(cell) for cell in cells if isinstance(cell, str)}
    found = np.empty(len(cells), dtype=object)
    found[:] = [known[cell] if isinstance(cell, str) else normalise_text(cell) for cell in cells]
    return found


def normalise_text(value: Any) -> str | None:
    """Text of a cell, 4000 characters at most, in lower case, single-spaced; None if missing."""
    if value is None:
        return None
    if isinstance(value, bytes):
        value = value[: 4 * MOST_CHARACTERS].decode("utf-8", "replace")
    elif isinstance(value, bool | np.bool_):
        value = "yes" if value else "no"
    elif _is_number(value) and to_float(value).is_integer() and abs(value) < 2**53:
        value = str(int(value))
    text = unicodedata.normalize("NFKC", str(value)[:MOST_CHARACTERS])
    # Halves of characters, which cannot be written to a file.
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = " ".join(text.lower().split())[:MOST_CHARACTERS]
    return None if text in _MISSING else text


def _is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN, NaT or pandas' NA."""
    if value is None:
        return True
    if isinstance(value, str | list | tuple | np.ndarray | bytes):
        return False
    try:
        return not bool(value == value)
    except TypeError:  # of pandas' NA nobody knows whether it equals itself
        return True
    except ValueError:  # an array of another library
        return False


def _is_number(value: Any) -> bool:
    """Whether a cell is a real number, not a truth value."""
    return isinstance(value, Number) and not isinstance(value, bool | complex | np.complexfloating)


def _is_vector(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "iuf"
    return isinstance(value, list | tuple) and all(_is_number(one) for one in value)


def _to_floats(values: list[Any]) -> NDArray[np.float64]:
    """Numbers in float64, NaN for None."""
    return np.array([np.nan if value is None else to_float(value) for value in values])


def to_float(value: Any) -> float:
    """A number in float64, infinite if too large."""
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _to_vectors(name: str, values: list[Any]) -> NDArray[np.float64]:
    """Vectors (n, w) of equal length, rows of NaN for None."""
    width = next(len(value) for value in values if value is not None)
    found = np.full((len(values), width), np.nan)
    for row, value in enumerate(values):
        if value is not None:
            if len(value) != width:
                raise InputError(
                    f"column {name!r} holds vectors of {width} numbers, but that of row {row} has "
                    f"{len(value)}."
                )
            found[row] = value
    return found


def _to_days(values: list[Any]) -> NDArray[np.float64]:
    """Days since 1970 (n,) of dates, NaN for missing cells."""
    return np.array([np.nan if _is_missing(value) else count_days(value) for value in values])


def count_days(value: datetime.date) -> float:
    """Days since 1970, with a fraction for the time of day as the clock shows it."""
    days = float((datetime.date(value.year, value.month, value.day) - _EPOCH).days)
    if isinstance(value, datetime.datetime):
        seconds = 3600 * value.hour + 60 * value.minute + value.second + value.microsecond / 1e6
        days += seconds / _DAY
    return days


Kind = Literal[
    "number", "date", "yes or no", "category", "name", "text", "code", "vector", "ignored"
]
KINDS: tuple[str, ...] = get_args(Kind)
Order = Literal["day first", "month first", "year first"]
ORDERS: tuple[str, ...] = get_args(Order)
Decimal = Literal["decimal point", "decimal comma"]
# How cells that are texts are read: dates and numbers.
Reading = Order | Decimal
DECIMALS: tuple[str, ...] = get_args(Decimal)
READINGS = (*ORDERS, *DECIMALS)
# Numbers are cut back to this before their spread is found: squares of larger ones overflow.
LARGEST = 1e150
# Values of a category that have a coordinate each.
MOST_CATEGORIES = 50
# Kinds whose values are texts.
WORDS = ("yes or no", "category", "name", "text", "code")


@dataclass(frozen=True)
class Column:
    """A column of a table, with its kind and values.

    By kind, values are ``number`` or ``date`` (days since 1970), in float64 with NaN where missing;
    ``yes or no``, a ``category`` of few values, a ``name`` (a short text, in which typos happen), a
    ``text`` of many words or a ``code`` such as a phone number, as ``str`` objects with None; a
    ``vector``, of shape (n, w) with rows of NaN; or it is ``ignored``, as ids are.
    """

    name: str
    kind: Kind
    values: NDArray[Any]
    order: Reading | None = None  # in which dates, or numbers, that are texts were read

    def __len__(self) -> int:
        return len(self.values)


_TIME = r"(?:[t ,]+(\d{1,2}):(\d{2})(?::(\d{2})(?:[.,]\d+)?)? ?(?:z|utc|[+-]\d{2}:?\d{2})?)?"
_BY_YEAR = re.compile(r"(\d{4})[-/. ](\d{1,2})[-/. ](\d{1,2})" + _TIME)
_DIGITS = re.compile(r"(1[5-9]\d\d|20\d\d)(\d\d)(\d\d)()()()")
_THREE = re.compile(r"(\d{1,2})[-/. ](\d{1,2})[-/. ](\d{4}|\d{1,2})" + _TIME)
_NAMED = re.compile(r"(\d{1,2})(?:st|nd|rd|th|\.)?[- /]*([a-z]{3,9})\.?,?[- /]*(\d{4})" + _TIME)
_NAMED_FIRST = re.compile(r"([a-z]{3,9})\.? *(\d{1,2})(?:st|nd|rd|th)?,? *(\d{4})" + _TIME)
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
# Years of two digits from here on are of the last century, as C and Python have it.
_LAST_CENTURY = 69


@dataclass(frozen=True)
class Dates:
    """Texts of a column read as dates, and the order of day and month found."""

    days: dict[str, float]  # since 1970, of the texts that are dates
    order: Order  # in which day, month and year are read where that is not plain
    is_ambiguous: bool  # no text tells day from month, though some could be read either way
    matters: bool  # an order was stated, or some text would be another day, or none, in another
    otherwise: str  # first text that is a date in the other order only, beside some of either


def read_dates(texts: Iterable[str], order: Order | None = None) -> Dates:
    """Read texts in lower case as dates, all in one order of day, month and year.

    Such as ``2024-03-31``, ``31.3.2024``, ``20240331``, ``31 march 2024`` or ``2024-03-31 12:30``.
    ``3/4/2024`` is read in the stated order, or as most texts allow it; day first if all do. Texts
    that are a date only if day and month are exchanged are read so.
    """
    unique = list(dict.fromkeys(texts))
    if order == "year first":
        days = _read_dates_in_order(unique, order)
        return Dates(days, order, is_ambiguous=False, matters=True, otherwise="")
    day = _read_dates_in_order(unique, "day first")
    month = _read_dates_in_order(unique, "month first")
    found: Order = order or ("month first" if len(month) > len(day) else "day first")
    known, other = (month, day) if found == "month first" else (day, month)
    # What is a date in the other order only, as the 31st of December is, can be nothing else.
    otherwise = [text for text in other if text not in known]
    # A dot is how those write who put the day first.
    differ = any("." not in text and month.get(text, days) != days for text, days in day.items())
    return Dates(
        {**other, **known},
        found,
        is_ambiguous=order is None and differ and day.keys() == month.keys(),
        matters=order is not None or day != month,
        otherwise=otherwise[0] if otherwise and differ else "",
    )


def read_date(text: str, order: Order) -> float | None:
    """Days since 1970 of a text read in this order; None if it is no date."""
    parts = _parse_date(text, order)
    if parts is None:
        return None
    year, month, day, *clock = parts
    try:
        hour, minute, second = (int(one or 0) for one in clock)
        return count_days(datetime.datetime(year, month, day, hour, minute, second))
    except ValueError:  # the 31st of February
        return None


def _read_dates_in_order(texts: list[str], order: Order) -> dict[str, float]:
    """Days since 1970 of those texts that are dates in this order."""
    read = ((text, read_date(text, order)) for text in texts)
    return {text: days for text, days in read if days is not None}


def _parse_date(text: str, order: Order) -> tuple[int, int, int, str, str, str] | None:
    """Year, month, day, and hour, minute and second as written; None if the text is no date."""
    if match := _BY_YEAR.fullmatch(text) or _DIGITS.fullmatch(text):
        return int(match[1]), int(match[2]), int(match[3]), match[4], match[5], match[6]
    if match := _THREE.fullmatch(text):
        one, two, three = int(match[1]), int(match[2]), int(match[3])
        if order == "year first" and len(match[3]) <= 2:
            return _complete_year(one, match[1]), two, three, match[4], match[5], match[6]
        if len(match[3]) == 1:
            return None
        day, month = (two, one) if order == "month first" else (one, two)
        return _complete_year(three, match[3]), month, day, match[4], match[5], match[6]
    if match := _NAMED.fullmatch(text):
        day, name = int(match[1]), match[2]
    elif match := _NAMED_FIRST.fullmatch(text):
        day, name = int(match[2]), match[1]
    else:
        return None
    if name[:3] not in _MONTHS:
        return None
    month = _MONTHS.index(name[:3]) + 1
    return int(match[3]), month, day, match[4], match[5], match[6]


def _complete_year(number: int, written: str) -> int:
    """Year with its century, if it was ``written`` with two digits."""
    if len(written) > 2:
        return number
    return number + (1900 if number >= _LAST_CENTURY else 2000)


_PLAIN = re.compile(r"[-+]?(\d+(_\d+)*\.?\d*|\.\d+)(e[-+]?\d+)?|[-+]?inf(inity)?")
_PERCENT = "%"
_CODES = "eur|usd|gbp|chf|jpy|cny|inr|brl|cad|aud|nzd|sek|nok|dkk|pln|czk|huf|kr|zł|fr"
_SIGNS = "$¢£¤¥\u20a0-\u20cf"
_CURRENCY = rf"[a-z]{{0,3}}[{_SIGNS}]|{_CODES}"
_WRITTEN = re.compile(
    rf"([-+−]?)({_CURRENCY})?\.? ?([-+−]?)([\d.,'’ ]*\d[.,]?) ?({_CURRENCY}|{_PERCENT})?\.?"
)
# Whole numbers in groups of three digits, and then perhaps a decimal sign and more digits.
_GROUPED_DIGITS = {
    decimal: re.compile(
        rf"(?P<whole>[1-9]\d{{0,2}}(?P<between>[{others}])\d{{3}}(?:(?P=between)\d{{3}})*|\d*)"
        rf"(?P<decimals>{sign}\d*)?"
    )
    for decimal, sign, others in (("decimal point", r"\.", ",'’ "), ("decimal comma", ",", ".'’ "))
}


@dataclass(frozen=True)
class Numerals:
    """Texts of a column read as numbers, with decimal sign and units found."""

    values: dict[str, float]  # by text; without those of another unit than most
    decimal: Decimal | None  # if some text would be another number, or none, with the other sign
    ambiguous: str  # first text that is another number with a comma, if no text tells which it is
    units: tuple[str, ...]  # currencies and per cent, the most frequent first


def read_numerals(texts: Iterable[str], decimal: Decimal | None = None) -> Numerals:
    """Read texts in lower case as numbers, all with one decimal sign and unit.

    Such as ``1234.5``, ``1,234.50``, ``1.234,50``, ``€12.30``, ``12,30 eur`` or ``45%``. By default
    the sign is the one that more texts allow; a point if all do.
    """
    unique = list(dict.fromkeys(texts))
    written = (match for match in map(_WRITTEN.fullmatch, unique) if match)
    counts = Counter(unit for match in written if (unit := match[2] or match[5]))
    units = tuple(unit for unit, _ in counts.most_common())
    is_known = decimal is not None
    point = _read_numerals(unique, "decimal point", units[:1], are_numbers=is_known)
    comma = _read_numerals(unique, "decimal comma", units[:1], are_numbers=is_known)
    found: Decimal = decimal or ("decimal comma" if len(comma) > len(point) else "decimal point")
    values, other = (comma, point) if found == "decimal comma" else (point, comma)
    differ = [text for text, value in values.items() if other.get(text, value) != value]
    unsure = not is_known and differ and values.keys() == other.keys()
    return Numerals(
        values, found if is_known or values != other else None, differ[0] if unsure else "", units
    )


def _read_numerals(
    texts: list[str], decimal: Decimal, units: tuple[str, ...], *, are_numbers: bool
) -> dict[str, float]:
    """Numbers by text, of texts with one of these units, or with none if that is a currency.

    With ``are_numbers``, digits in groups of three count without other evidence.
    """
    read: dict[str, float] = {}
    weak: dict[str, float] = {}
    for text in texts:
        if _PLAIN.fullmatch(text) and (decimal == "decimal point" or "." not in text):
            if _PERCENT not in units:
                read[text] = float(text)
            continue
        written = _WRITTEN.fullmatch(text)
        digits = _GROUPED_DIGITS[decimal].fullmatch(written[4].strip()) if written else None
        if not written or not digits or (written[2] and written[5]) or (written[1] and written[3]):
            continue
        unit = written[2] or written[5] or ""
        if unit not in units and (unit or _PERCENT in units):
            continue
        whole, decimals = re.sub(r"\D", "", digits["whole"]), (digits["decimals"] or "")[1:]
        number = float(f"{whole or 0}.{decimals or 0}")
        # Groups alone may be those of a phone number, if nothing else is known.
        is_sure = unit or digits["decimals"] or digits["between"] in (None, ",")
        sign = -1 if {written[1], written[3]} & {"-", "−"} else 1
        (read if is_sure else weak)[text] = sign * number
    are_numbers |= any(not _PLAIN.fullmatch(text) for text in read)
    return {**read, **weak} if are_numbers else read


NAMES_ROWS = "names rows"
COUNTS_ROWS = "counts rows"
CLASSES = "looks like classes"
YES_OR_NO = "yes or no"
# "id", "user_id", "userId" and "Rec-ID", but neither "acid" nor "valid".
_ID = re.compile(r"(?:^|.*[_\W])(?i:ids?|identifier|uuid|guid)$|.*[a-z]I[dD]$")
_COUNTER = re.compile(r"(?i:index|level_0|unnamed: 0|row|rowid|row[_ ]?(?:number|index|nr|no))$")
_CLASS = re.compile(r"(?i:(?:.*[_\W])?(?:labels?|class(?:es)?|targets?)|y|ground[_ ]?truth)$")
# Fewer rows may increase by chance.
_FEWEST_ROWS = 20
# Cells that a column is known by, at most.
_MOST_LOOKED_AT = 20_000
# Shares of cells that must be of a kind: others are mistakes, and count as missing.
_MOST_ARE = 0.9
_MOST_CODES = 0.8
# Values of a category, at most, and cells for each; more are names, compared letter by letter.
_MOST_CATEGORIES = 30
_CELLS_OF_A_CATEGORY = 4
# Whole numbers between these may be dates, such as 19720812.
_DAYS_WITHOUT_SIGNS = 1500_00_00, 2100_00_00
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


def recognise_id_name(name: str) -> str | None:
    """Why a column's name is that of an id or a counter of rows, or None."""
    if _ID.match(name):
        return NAMES_ROWS
    return COUNTS_ROWS if _COUNTER.match(name) else None


def find_counters(X: Floats, names: Sequence[str]) -> dict[str, str]:
    """Columns of whole numbers that grow from row to row, and why they count; none if all do."""
    if len(X) < _FEWEST_ROWS:
        return {}
    grows = (X[1:] > X[:-1]).all(axis=0) & (X.round() == X).all(axis=0)
    found = {name: COUNTS_ROWS for name, one in zip(names, grows, strict=True) if one}
    return found if len(found) < len(names) else {}


def find_doubtful_columns(kinds: Mapping[str, str], *, with_words: bool = False) -> dict[str, str]:
    """Numeric columns that should not be learned from, and why: ids, counters, classes, yes or no.

    Ids, counters and classes are recognised by their names. Columns of yes and no are doubtful only
    beside numbers and without words.
    """
    found = {}
    for name, kind in kinds.items():
        if kind not in ("number", "boolean"):
            continue
        if (why := recognise_id_name(name)) is not None:
            found[name] = why
        elif _CLASS.match(name) and not (name.lower() == "y" and {"x", "X"} & set(kinds)):
            found[name] = CLASSES
    others = [name for name in kinds if name not in found]
    if not with_words and any(kinds[name] in ("number", "vector") for name in others):
        found |= {name: YES_OR_NO for name in others if kinds[name] == "boolean"}
    return {name: found[name] for name in kinds if name in found}


def recognise_kinds(
    table: Sequence[RawColumn], stated: Mapping[str, str] | None = None, dates: Order | None = None
) -> dict[str, Kind]:
    """Kind of each column of a table, by name; ``stated`` ones are taken as they are."""
    stated = dict(stated or {})
    _check_stated(table, stated)
    free = [cells for cells in table if cells.name not in stated]
    found = {cells.name: cast(Kind, stated.get(cells.name)) for cells in table}
    found |= {cells.name: recognise_kind(cells, dates) for cells in free}
    numbers = [one for one in free if one.form == "number" and found[one.name] == "number"]
    if numbers:
        # Beside a column of words, one that counts rows is hardly all there is.
        rows = np.column_stack([*(cells.values for cells in numbers), np.zeros(len(numbers[0]))])
        for name in find_counters(rows, [*(cells.name for cells in numbers), ""]):
            found[name] = "ignored"
    for cells in free:
        if cells.form == "text" and _number_rows(cells.values):
            found[cells.name] = "ignored"
    for name in _find_rounding([one for one in table if found[one.name] == "number"]):
        if name not in stated:
            found[name] = "ignored"
    return found


def _find_rounding(table: Sequence[RawColumn]) -> list[str]:
    """Names of numeric columns that are constant but for rounding errors."""
    spreads = {}
    for cells in table:
        values = cells.values
        if cells.form == "text":
            numbers = read_numerals(text for text in values if text).values
            values = np.array([numbers.get(text, np.nan) for text in values])
        if np.isfinite(values).all():
            spreads[cells.name] = column_spreads(np.clip(values, -LARGEST, LARGEST)[:, None])[0]
    found = drop_rounding(np.array([*spreads.values()]))
    return [name for name, spread in zip(spreads, found, strict=True) if not spread]


def _number_rows(texts: Any) -> bool:
    """Whether texts are whole numbers that go up by one from row to row, such as 0001, 0002."""
    if len(texts) < _FEWEST_NUMBERED or not all(
        map(_ONLY_DIGITS.fullmatch, (t or "" for t in texts))
    ):
        return False
    return bool((np.diff(texts.astype(np.int64)) == 1).all())


def recognise_kind(cells: RawColumn, dates: Order | None = None) -> Kind:
    """Kind of one column; ``dates`` is the order of day and month, if known."""
    if recognise_id_name(cells.name) or find_missing(cells).all() or _is_constant(cells):
        return "ignored"
    if cells.form == "boolean":
        return "yes or no"
    if cells.form in ("date", "vector"):
        return cast(Kind, cells.form)
    if cells.form == "number":
        return _recognise_numbers(cells, dates)
    texts = [text for text in _sample_values(cells) if text]
    if cells.is_category:  # if they are few enough, or numbers; others are names
        values = set(texts)
        if len(values) <= MOST_CATEGORIES or len(read_numerals(values).values) == len(values):
            return "category"
    return _recognise_texts(cells.name, texts, dates)


def _check_stated(table: Sequence[RawColumn], stated: Mapping[str, str]) -> None:
    """Raise if a stated kind is unknown, or is of an absent column."""
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


def _sample_values(cells: RawColumn) -> Any:
    """At most 20 000 evenly spaced cells of a column."""
    return cells.values[evenly_spaced(len(cells), _MOST_LOOKED_AT)]


def _is_constant(cells: RawColumn) -> bool:
    """Whether all cells hold one value, and none is missing."""
    values = cells.values
    if cells.form == "text":
        return values[0] is not None and all(value == values[0] for value in values)
    return bool((values == values[:1]).all())


def _recognise_numbers(cells: RawColumn, dates: Order | None) -> Kind:
    """Kind of a column of numbers: code, date or number."""
    values = _sample_values(cells)
    values = values[np.isfinite(values)]
    whole = len(values) and (values == np.round(values)).all()
    if whole and _CODE_NAME.match(cells.name):
        return "code"
    if whole and values.min() > _DAYS_WITHOUT_SIGNS[0] and values.max() < _DAYS_WITHOUT_SIGNS[1]:
        texts = [normalise_text(value) or "" for value in values]
        return "date" if _are_dates(texts, dates) else "number"
    return "number"


def _recognise_texts(name: str, texts: list[str], dates: Order | None) -> Kind:
    """Kind of a column of texts."""
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
    # Codes have digits, and no words beside them.
    has_digits = [text for text in texts if any(map(str.isdigit, text))]
    if sum(_LONG_WORD.search(text) is None for text in has_digits) >= _MOST_CODES * len(texts):
        return "code"
    words, characters = (
        np.median([len(part) for part in parts]) for parts in (map(str.split, texts), texts)
    )
    long = words >= _WORDS_OF_A_TEXT or characters >= _CHARACTERS_OF_A_TEXT
    return "text" if long else "name"


def _are_dates(texts: list[str], dates: Order | None) -> bool:
    """Whether nine tenths of the texts are dates."""
    days = read_dates(texts, dates).days
    return sum(text in days for text in texts) >= _MOST_ARE * len(texts)


class TableWarning(UserWarning):
    """Cells of a table were read in a way that may not be what was meant.

    Examples
    --------
    >>> import warnings
    >>> import nearkin as nk
    >>> born = {"born": ["3/4/2024", "5/6/2023", "7/8/2022"]}
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     encoder = nk.TableEncoder().fit(born)
    >>> [warning.category.__name__ for warning in told]
    ['TableWarning']
    >>> encoder = nk.TableEncoder(dates="day first").fit(born)  # no warning
    """


def read_columns(
    X: Any,
    kinds: Mapping[str, str] | None = None,
    dates: Order | Mapping[str, Reading] | None = None,
) -> list[Column]:
    """Columns of a table in its order, with kinds and values.

    ``kinds`` are known by name, others recognised; ``dates`` says how 3/4/2024 is read, in all
    columns or by name. Warns (TableWarning) if day and month of all dates of a column could be
    exchanged, or if some cells are not of the kind that their column is.
    """
    table = read_table(X)
    stated = None if isinstance(dates, Mapping) else dates
    found = recognise_kinds(table, kinds, stated)
    order = dates if isinstance(dates, Mapping) else {}
    return [read_column(cells, found[cells.name], order.get(cells.name, stated)) for cells in table]


def read_column(cells: RawColumn, kind: Kind, order: Reading | None = None) -> Column:
    """Read a column as one of a given kind; cells not of that kind count as missing.

    ``order`` is the order of day, month and year, or the decimal sign; it is ignored where the kind
    has no use for it. Warns as :func:`read_columns`.
    """
    if kind == "ignored" or find_missing(cells).all():
        shape = (len(cells), 1) if kind == "vector" else len(cells)
        return Column(cells.name, kind, np.full(shape, None if kind in WORDS else np.nan))
    found: Reading | None = None
    values: NDArray[Any]
    if kind == "number":
        decimal = cast(Decimal, order) if order in DECIMALS else None
        values, found = _convert_to_numbers(cells, decimal)
    elif kind == "date":
        values, found = _convert_to_dates(cells, cast(Order, order) if order in ORDERS else None)
    elif kind == "vector":
        if cells.form == "text":
            raise InputError(f"column {cells.name!r} holds texts, not vectors of numbers.")
        values = cells.values if cells.form == "vector" else cells.values[:, None]
    elif kind in WORDS:
        values = read_words(cells)
        if kind == "yes or no":
            said = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0)}
            words = {1.0: "yes", 0.0: "no"}
            read = _read_texts(cells, values, said.get).tolist()
            values = np.array([words.get(value) for value in read], dtype=object)
    return Column(cells.name, kind, values, found)


def find_missing(column: Column | RawColumn) -> Mask:
    """Mask (n,) of the cells that are missing."""
    if column.values.dtype == object:
        return np.array([value is None for value in column.values], dtype=bool)
    missing = np.isnan(column.values)
    return np.asarray(missing.all(axis=1) if missing.ndim > 1 else missing)


def _convert_to_numbers(cells: RawColumn, decimal: Decimal | None) -> tuple[Floats, Decimal | None]:
    """Numbers (n,) of a column, and the decimal sign they were read with, if that matters."""
    if cells.form in ("number", "boolean", "date"):
        return np.asarray(cells.values), decimal
    if cells.form == "vector":
        raise InputError(f"column {cells.name!r} holds vectors, not single numbers.")
    known = read_numerals([text for text in cells.values if text is not None], decimal)
    if known.ambiguous:
        notice(
            f"the numbers of column {cells.name!r}, such as {known.ambiguous!r}, are read with a "
            "decimal point: nothing tells it from a comma. If that is wrong, write them with "
            "decimals, or without what groups their digits.",
            TableWarning,
        )
    return _read_texts(cells, cells.values, known.values.get), known.decimal


def _convert_to_dates(cells: RawColumn, dates: Order | None) -> tuple[Floats, Order | None]:
    """Days since 1970 (n,) of a column, and the order they were read in, if that matters."""
    if cells.form == "date":
        return np.asarray(cells.values), dates
    texts = read_words(cells)
    known = read_dates([text for text in texts if text is not None], dates)
    say = "Say dates='day first' or 'month first' (--dates day or month)"
    if known.is_ambiguous:
        example = next(text for text in texts if text in known.days)
        notice(
            f"the dates of column {cells.name!r}, such as {example!r}, are read day first: nothing "
            f"tells days from months. {say}.",
            TableWarning,
        )
    elif known.otherwise:
        row = cells.first_row + texts.tolist().index(known.otherwise)
        notice(
            f"the dates of column {cells.name!r} are written in two orders: row {row} has "
            f"{known.otherwise!r}. Those that could be either are read {known.order}."
            + f" {say} to have it otherwise."
            * (dates is None),
            TableWarning,
        )
    return _read_texts(cells, texts, known.days.get), known.order if known.matters else None


def read_words(cells: RawColumn) -> NDArray[Any]:
    """Normalised texts (n,) of a column's cells, None where missing."""
    if cells.form == "text":
        return cells.values
    if cells.form == "vector":
        raise InputError(f"column {cells.name!r} holds vectors, not words.")
    as_word: Callable[[Any], Any] = normalise_text
    if cells.form == "boolean":
        as_word = lambda value: "yes" if value else "no"  # noqa: E731
    elif cells.form == "date":
        as_word = lambda value: str(np.datetime64(int(np.floor(value)), "D"))  # noqa: E731
    found = np.empty(len(cells), dtype=object)
    found[:] = [
        None if missing else as_word(value)
        for value, missing in zip(cells.values.tolist(), find_missing(cells), strict=True)
    ]
    return found


def _read_texts(
    cells: RawColumn, texts: NDArray[Any], read: Callable[[str], float | None]
) -> NDArray[np.float64]:
    """Numbers (n,) of texts, NaN for unreadable ones, with a warning; an error if most are."""
    known = {text: read(text) for text in dict.fromkeys(texts.tolist()) if text is not None}
    values = np.array([np.nan if (one := known.get(text)) is None else one for text in texts])
    other = [row for row, text in enumerate(texts) if text is not None and known[text] is None]
    if not other:
        return values
    n_present = sum(text is not None for text in texts)
    example = f"the first in row {cells.first_row + other[0]}: {texts[other[0]]!r:.40}"
    found = f"{counted(len(other), 'cell')} of column {cells.name!r} cannot be read, {example}"
    remedy = (
        f"kinds={{{cells.name!r}: 'name'}} (--kinds {cells.name}=name) in fit compares them letter "
        "by letter"
    )
    if len(other) > n_present / 2 and n_present > 1:
        raise InputError(f"{found}. {remedy}.")
    notice(f"{found}; they count as missing. {remedy}.", TableWarning)
    return values


# From where to where in a text.
Span = tuple[int, int]

_WORD = re.compile(r"\w+|[^\w\s]")
# Words that have less in common are two words, not one with a typo; unless one begins the other.
_ALIKE = 0.5
# Characters that are compared one by one, at most: time grows with their square.
_MOST_COMPARED = 200


def find_differences(left: str, right: str) -> tuple[list[Span], list[Span]]:
    """Spans of what differs between two texts: words, or letters of words that are alike.

    Upper case and the number of spaces make no difference. Spans of the left and of the right text
    are in their order; empty if nothing was left out or put in there.
    """
    spans: tuple[list[Span], list[Span]] = [], []
    if fold_text(left) == fold_text(right):
        return spans
    for here, there in _find_unequal(_split_words(left), _split_words(right)):
        for a, b in _narrow_difference(left[slice(*here)], right[slice(*there)]):
            for found, (start, _), (first, last) in zip(spans, (here, there), (a, b), strict=True):
                if last > first:
                    found.append((start + first, start + last))
    return spans


def fold_text(text: str) -> str:
    """A text in lower case with single spaces, to compare it by."""
    return " ".join(text.lower().split())


def split_marked(text: str, spans: Sequence[Span]) -> list[tuple[str, bool]]:
    """Parts of a text, each with whether it is inside one of the spans."""
    ends = [0, *(end for span in spans for end in span), len(text)]
    parts = [(text[i:j], k % 2 == 1) for k, (i, j) in enumerate(pairwise(ends))]
    return [part for part in parts if part[0]]


def _split_words(text: str) -> list[tuple[str, Span]]:
    """Words and signs in lower case, with their spans."""
    return [(word[0].lower(), word.span()) for word in _WORD.finditer(text)]


def _find_unequal(
    left: Sequence[tuple[str, Span]], right: Sequence[tuple[str, Span]]
) -> list[tuple[Span, Span]]:
    """Pairs of spans of the two texts in which their words differ."""
    a, b = ([word for word, _ in side] for side in (left, right))
    matched = SequenceMatcher(None, a, b)  # which passes over words that are everywhere
    return [
        (_join_spans(left, i, j), _join_spans(right, k, m))
        for what, i, j, k, m in matched.get_opcodes()
        if what != "equal"
    ]


def _join_spans(words: Sequence[tuple[str, Span]], first: int, last: int) -> Span:
    """Span of some consecutive words."""
    return (words[first][1][0], words[last - 1][1][1]) if last > first else (0, 0)


def _narrow_difference(left: str, right: str) -> list[tuple[Span, Span]]:
    """Pairs of spans of letters that differ between two stretches, or their whole if unlike."""
    whole = [((0, len(left)), (0, len(right)))]
    if len(left) + len(right) > _MOST_COMPARED:
        return whole
    # One by one: in lower case some letters are two.
    a, b = ([letter.lower() for letter in side] for side in (left, right))
    matched = SequenceMatcher(None, a, b)
    is_cut_short = a[: len(b)] == b[: len(a)]
    if matched.ratio() < _ALIKE and not is_cut_short:
        return whole
    return [((i, j), (k, m)) for what, i, j, k, m in matched.get_opcodes() if what != "equal"]
