"""Tables of any library as cells in one form, before anybody asks what their columns mean.

Columns of a library's own types are read by type. What is left are texts and Python objects, which
become texts: those of one table are the same whatever library holds it.
"""

from __future__ import annotations

import datetime
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Number
from typing import Any, Literal

import narwhals as nw
import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError, InputTypeError
from nearkin.rows.sparse import is_sparse
from nearkin.rows.validation import frame_of, refuse_twins

# Characters of a text that count.
MOST_CHARACTERS = 4000
# How programs write that a cell is missing.
_MISSING = frozenset({"", "nan", "nat", "null", "n/a", "#n/a", "<na>"})
_DAY = 86400.0
_EPOCH = datetime.date(1970, 1, 1)

Form = Literal["number", "boolean", "date", "vector", "text"]


@dataclass(frozen=True)
class Cells:
    """A column as it was given.

    Attributes
    ----------
    name : str
    form : str
        Of the values: ``number`` and ``boolean`` (0 and 1) in float64, and ``date``, days since
        1970 in float64, with NaN where a cell is missing; ``vector``, float64 of shape (n, w) with
        rows of NaN; or ``text``, an array of ``str`` objects in lower case with single spaces, None
        where a cell is missing.
    values : ndarray
    first_row : int
        Number of the first, in messages, where these are a part of a column.
    is_category : bool
        Whether the library's type of the column says that values stand for kinds of things.
    """

    name: str
    form: Form
    values: NDArray[Any]
    first_row: int = 0
    is_category: bool = False

    def __len__(self) -> int:
        return len(self.values)


class CategoryCells(list[Any]):
    """Cells of a column whose type says that values stand for kinds of things."""


def cells_of(series: nw.Series[Any]) -> list[Any]:
    """Cells of a column of a data frame, which know if they are of a category."""
    kind = CategoryCells if _is_category(series) else list
    return kind(series.to_list())


def some_cells(cells: Sequence[Any], rows: Iterable[int]) -> list[Any]:
    """Cells of some rows, which know if they are of a category."""
    kind = CategoryCells if isinstance(cells, CategoryCells) else list
    return kind(cells[row] for row in rows)


def cell_text(cells: Cells) -> str:
    """The first cell of a column as a text; empty where it is missing."""
    value = cells.values[0]
    if cells.form == "vector":
        return "" if np.isnan(value).all() else f"a vector of {len(value)} numbers"
    if value is None or (cells.form != "text" and np.isnan(value)):
        return ""
    if cells.form == "date":
        return str(np.datetime64(int(value), "D"))
    return str(value) if cells.form == "text" else f"{value:.6g}"


def read_table(X: Any, wanted: Any = None, names: Any = None) -> list[Cells]:
    """The columns of a table, in its order.

    Parameters
    ----------
    X : data frame of pandas, polars or pyarrow, dict of lists, or array of shape (n, d)
    wanted : container of str, optional
        Names of the columns to read: all by default.
    names : sequence of str, optional
        Of the columns of an array: ``x0``, ``x1`` and so on by default.

    Returns
    -------
    list of Cells
    """
    if is_sparse(X):
        raise InputTypeError(
            "Sparse data was passed, but a table is dense: learners take a sparse matrix as it is."
        )
    refuse_twins(X)
    if isinstance(X, list | tuple) or (hasattr(X, "__array__") and frame_of(X) is None):
        X = np.array(X, dtype=object if isinstance(X, list | tuple) else None)
    if isinstance(X, np.ndarray):
        X = _columns_of_array(X, names)
    if isinstance(X, Mapping):
        columns = {
            str(name): values if isinstance(values, list) else list(values)
            for name, values in X.items()
        }
        if len({len(values) for values in columns.values()}) > 1:
            lengths = ", ".join(f"{name!r} {len(values)}" for name, values in columns.items())
            raise InputError(f"columns of the table differ in length: {lengths}.")
        return [
            _of_objects(name, values)
            for name, values in columns.items()
            if wanted is None or name in wanted
        ]
    frame = frame_of(X)
    if frame is None:
        raise InputTypeError(
            f"a table is a data frame of pandas, polars or pyarrow, or a dict of lists, not "
            f"{type(X).__name__}; its columns have names that differ."
        )
    names = [str(name) for name in frame.columns]
    return [
        _cells(name, column)
        for name, column in zip(names, frame.iter_columns(), strict=True)
        if wanted is None or name in wanted
    ]


def _columns_of_array(X: NDArray[Any], names: Any) -> dict[str, Any]:
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


def _cells(name: str, column: nw.Series[Any]) -> Cells:
    kind = column.dtype
    if kind == nw.Boolean:
        return Cells(name, "boolean", _floats(column))
    if kind == nw.Decimal:
        column = column.cast(nw.Float64)
        kind = column.dtype
    if kind.is_numeric():
        return Cells(name, "number", _floats(column))
    if kind == nw.Date or kind == nw.Datetime:
        return Cells(name, "date", _days(column.to_list()))
    return _of_objects(name, cells_of(column))


def _is_category(column: nw.Series[Any]) -> bool:
    return bool(column.dtype == nw.Categorical or column.dtype == nw.Enum)


def _floats(column: nw.Series[Any]) -> NDArray[np.float64]:
    """Numbers with NaN for missing cells; those too large for float64 are infinite."""
    if column.null_count():
        values = [np.nan if _is_missing(value) else float(value) for value in column.to_list()]
        return np.array(values, dtype=np.float64)
    with np.errstate(over="ignore"):
        return np.asarray(column.to_numpy()).astype(np.float64)


def _of_objects(name: str, values: list[Any]) -> Cells:
    """A column of Python objects, read by what all cells are."""
    if isinstance(values, CategoryCells):
        return Cells(name, "text", _texts(values), is_category=True)
    values = [None if _is_missing(value) else value for value in values]
    present = [value for value in values if value is not None]
    if present and all(isinstance(value, bool | np.bool_) for value in present):
        return Cells(name, "boolean", _numbers(values))
    if present and all(_is_number(value) for value in present):
        return Cells(name, "number", _numbers(values))
    if present and all(isinstance(value, datetime.date) for value in present):
        return Cells(name, "date", _days(values))
    if present and all(isinstance(value, datetime.timedelta) for value in present):
        lengths = [None if value is None else value.total_seconds() / _DAY for value in values]
        return Cells(name, "number", _numbers(lengths))
    if present and all(_is_vector(value) for value in present):
        return Cells(name, "vector", _vectors(name, values))
    strange = next((row for row, value in enumerate(values) if _has_no_text(value)), None)
    if strange is not None:
        raise InputError(
            f"column {name!r} holds {values[strange]!r:.60} in row {strange}, which is no number, "
            "date or text."
        )
    return Cells(name, "text", _texts(values))


def _texts(values: list[Any]) -> NDArray[Any]:
    known: dict[Any, str | None] = {}
    return _objects([None if _is_missing(value) else _remembered(value, known) for value in values])


def _remembered(value: Any, known: dict[Any, str | None]) -> str | None:
    """A cell as a text, found once for each text of a column."""
    if not isinstance(value, str):
        return plain_text(value)
    if value not in known:
        known[value] = plain_text(value)
    return known[value]


def plain_text(value: Any) -> str | None:
    r"""A cell as a text in lower case with single spaces; None if it is missing.

    Only the first 4000 characters count.

    Examples
    --------
    >>> from nearkin.tables.reading import plain_text
    >>> plain_text("  Ada\tLOVELACE "), plain_text(7.0), plain_text("NaN")
    ('ada lovelace', '7', None)
    """
    if value is None:
        return None
    if isinstance(value, bytes):
        value = value[: 4 * MOST_CHARACTERS].decode("utf-8", "replace")
    elif isinstance(value, bool | np.bool_):
        value = "yes" if value else "no"
    elif _is_number(value) and _float(value).is_integer() and abs(value) < 2**53:
        value = str(int(value))
    text = unicodedata.normalize("NFKC", str(value)[:MOST_CHARACTERS])
    # Halves of characters, which cannot be written to a file.
    text = text.encode("utf-8", "replace").decode("utf-8")
    text = " ".join(text.lower().split())[:MOST_CHARACTERS]
    return None if text in _MISSING else text


def _is_missing(value: Any) -> bool:
    """Whether a cell holds None, or what does not equal itself: NaN, NaT and pandas' NA."""
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


def _has_no_text(value: Any) -> bool:
    """Whether a cell is an object of which Python has nothing to say but where it is."""
    kind: Any = type(value)
    return kind.__str__ is object.__str__ and kind.__repr__ is object.__repr__


def _is_number(value: Any) -> bool:
    return isinstance(value, Number) and not isinstance(value, bool | complex | np.complexfloating)


def _is_vector(value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return value.ndim == 1 and value.dtype.kind in "iuf"
    return isinstance(value, list | tuple) and all(_is_number(one) for one in value)


def _numbers(values: list[Any]) -> NDArray[np.float64]:
    return np.array([np.nan if value is None else _float(value) for value in values])


def _float(value: Any) -> float:
    try:
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf


def _vectors(name: str, values: list[Any]) -> NDArray[np.float64]:
    width = next(len(value) for value in values if value is not None)
    for row, value in enumerate(values):
        if value is not None and len(value) != width:
            raise InputError(
                f"column {name!r} holds vectors of {width} numbers, but that of row {row} has "
                f"{len(value)}."
            )
    found = np.full((len(values), width), np.nan)
    for row, value in enumerate(values):
        if value is not None:
            found[row] = value
    return found


def _days(values: list[Any]) -> NDArray[np.float64]:
    return np.array([np.nan if _is_missing(value) else days_of(value) for value in values])


def days_of(value: datetime.date) -> float:
    """Days since 1970, with a fraction for the time of day as the clock shows it."""
    days = float((datetime.date(value.year, value.month, value.day) - _EPOCH).days)
    if isinstance(value, datetime.datetime):
        seconds = 3600 * value.hour + 60 * value.minute + value.second + value.microsecond / 1e6
        days += seconds / _DAY
    return days


def _objects(values: list[Any]) -> NDArray[Any]:
    found = np.empty(len(values), dtype=object)
    found[:] = values
    return found
