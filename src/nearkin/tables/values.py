"""Cells as values of their kind: columns as encoders and comparisons see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats, Mask
from nearkin.errors import InputError, counted
from nearkin.messages import notice
from nearkin.tables.columns import DECIMALS, ORDERS, WORDS, Column, Decimal, Kind, Order, Reading
from nearkin.tables.dates import read_dates
from nearkin.tables.kinds import NO, YES, kinds_of, present
from nearkin.tables.numerals import read_numerals
from nearkin.tables.reading import Cells, plain_text, read_table


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


def columns_of(
    X: Any,
    kinds: Mapping[str, str] | None = None,
    dates: Order | Mapping[str, Reading] | None = None,
) -> list[Column]:
    """The columns of a table with what they hold.

    Parameters
    ----------
    X : data frame of pandas, polars or pyarrow, or dict of lists
    kinds : mapping, optional
        What columns hold, where it is known; others are recognised by their names and cells.
    dates : {"day first", "month first", "year first"} or mapping, optional
        How dates such as ``3/4/2024`` are read, in all columns or by their names.

    Returns
    -------
    list of Column
        In the order of the table. Texts are copied.

    Warns
    -----
    TableWarning
        If day and month of all dates of a column could be exchanged, or if some cells are not of
        the kind that their column is.

    Examples
    --------
    >>> from nearkin.tables.values import columns_of
    >>> [name, born] = columns_of({"name": ["Ada L.", "Alan T."], "born": ["1815-12-10", None]})
    >>> name.kind, name.values.tolist(), born.kind, born.values.tolist()
    ('name', ['ada l.', 'alan t.'], 'date', [-56270.0, nan])
    """
    table = read_table(X)
    stated = None if isinstance(dates, Mapping) else dates
    found = kinds_of(table, kinds, stated)
    order = dates if isinstance(dates, Mapping) else {}
    return [column_of(cells, found[cells.name], order.get(cells.name, stated)) for cells in table]


def column_of(cells: Cells, kind: Kind, order: Reading | None = None) -> Column:
    """Cells as a column of a kind; those that are not of that kind count as missing.

    Parameters
    ----------
    cells : Cells
    kind : str
    order : str, optional
        Of days, months and years; or what sets off decimals. What says nothing of this kind of
        column is passed over.

    Warns
    -----
    TableWarning
        As :func:`columns_of`.
    """
    if kind == "ignored" or not present(cells).any():
        return Column(cells.name, kind, _nothing(kind, len(cells)))
    found: Reading | None = None
    if kind == "number":
        values: NDArray[Any]
        values, found = _cells_as_numbers(
            cells, cast(Decimal, order) if order in DECIMALS else None
        )
    elif kind == "date":
        values, found = _dates(cells, cast(Order, order) if order in ORDERS else None)
    elif kind == "vector":
        values = _cells_as_vectors(cells)
    elif kind in WORDS:
        values = words_of(cells)
        values = _yes_or_no(cells, values) if kind == "yes or no" else values
    return Column(cells.name, kind, values, found)


def _nothing(kind: Kind, n: int) -> NDArray[Any]:
    """Missing cells of a kind."""
    if kind in WORDS:
        return np.full(n, None, dtype=object)
    return np.full((n, 1) if kind == "vector" else n, np.nan)


def is_missing(column: Column) -> Mask:
    """Which cells of a column are missing."""
    if column.kind in WORDS:
        return np.array([value is None for value in column.values], dtype=bool)
    missing = np.isnan(column.values)
    return np.asarray(missing.all(axis=1) if missing.ndim > 1 else missing)


def _cells_as_numbers(cells: Cells, decimal: Decimal | None) -> tuple[Floats, Decimal | None]:
    """Numbers, and what sets off their decimals, if that makes a difference."""
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


def _dates(cells: Cells, dates: Order | None) -> tuple[Floats, Order | None]:
    """Days, and the order that they were read in, if that makes a difference."""
    if cells.form == "date":
        return np.asarray(cells.values), dates
    texts = words_of(cells)
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


def _cells_as_vectors(cells: Cells) -> Floats:
    if cells.form == "vector":
        return np.asarray(cells.values)
    if cells.form == "text":
        raise InputError(f"column {cells.name!r} holds texts, not vectors of numbers.")
    return np.asarray(cells.values[:, None])


def words_of(cells: Cells) -> NDArray[Any]:
    """Cells as texts in lower case, None where they are missing."""
    if cells.form == "text":
        return cells.values
    if cells.form == "vector":
        raise InputError(f"column {cells.name!r} holds vectors, not words.")
    as_word: Callable[[Any], Any] = plain_text
    if cells.form == "boolean":
        as_word = lambda value: "yes" if value else "no"  # noqa: E731
    elif cells.form == "date":
        as_word = lambda value: str(np.datetime64(int(np.floor(value)), "D"))  # noqa: E731
    found = np.empty(len(cells), dtype=object)
    found[:] = [
        as_word(value) if there else None
        for value, there in zip(cells.values.tolist(), present(cells), strict=True)
    ]
    return found


def _yes_or_no(cells: Cells, texts: NDArray[Any]) -> NDArray[Any]:
    said = {**dict.fromkeys(YES, 1.0), **dict.fromkeys(NO, 0.0)}
    found = np.empty(len(texts), dtype=object)
    for row, value in enumerate(_read_texts(cells, texts, said.get)):
        found[row] = None if np.isnan(value) else "yes" if value else "no"
    return found


def _read_texts(
    cells: Cells, texts: NDArray[Any], read: Callable[[str], float | None]
) -> NDArray[np.float64]:
    """Numbers of texts, NaN where a text is none, with a word of it; an error if most are not."""
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
