"""How records are told apart, whatever their order: by ids, or by what is in their cells."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.tables.roles import COUNTS_ROWS, NAMES_ROWS, names_rows

# Of five million rows, two have the same digest once in a million tables.
_DIGEST_BYTES = 8
# What ids are called that have no column.
GIVEN_IDS = "ids"
# Rows whose cells are made bytes at a time.
_BLOCK = 4096


@dataclass(frozen=True)
class Identity:
    """What tells the rows of some data apart.

    Attributes
    ----------
    kinds : mapping of str to str
        Columns that have names, and what they hold, as :mod:`nearkin.tables.roles` has it.
    cells : callable
        ``cells(names)`` gives columns for all rows, some rows at a time: mappings of names to
        values. Without names: the one matrix that there is.
    n_rows : int
    id_name : str or None
        The column of ids, if somebody has named one.
    given_ids : sequence or None
        Ids that are in no column.
    """

    kinds: Mapping[str, str]
    cells: Callable[[Sequence[str]], Any] = field(repr=False)
    n_rows: int
    id_name: str | None = None
    given_ids: Sequence[Any] | None = field(default=None, repr=False)

    @property
    def columns(self) -> list[str]:
        """Columns that say what a record is, rather than where it stands; none of a matrix."""
        found = [name for name in self.kinds if names_rows(name) != COUNTS_ROWS]
        return found or list(self.kinds)

    def usual_ids(self) -> str | None:
        """The column of ids that a new journal goes by, or None.

        The one that was named, or else the only one that names rows and has no name twice.
        """
        if self.given_ids is not None:
            return GIVEN_IDS
        if self.id_name is not None:
            return self.id_name
        named = [name for name in self.kinds if names_rows(name) == NAMES_ROWS]
        if len(named) != 1:
            return None
        ids = self.ids(named[0])
        return named[0] if ids is not None and len(set(ids) - {None}) == self.n_rows else None

    def ids(self, name: str | None) -> list[str | None] | None:
        """Ids by the name of their column as texts, None where there is none; None if it is gone.

        Whole numbers are the same id with and without a decimal point.
        """
        if name == GIVEN_IDS and self.given_ids is not None:
            return [_id(one) for one in self.given_ids]
        if name is None or name not in self.kinds:
            return None
        return [_id(one) for block in self.cells([name]) for one in block[name]]

    def contents(self, names: Sequence[str]) -> list[str] | None:
        """A digest of each row's cells in some columns; None if one of them is not here."""
        if not set(names) <= set(self.kinds) or bool(names) != bool(self.columns):
            return None
        wanted = sorted(names)
        kinds = {name: self.kinds[name] for name in wanted}
        return [one for block in self.cells(wanted) for one in digests_of(block, kinds)]


def identity_of(
    columns: Mapping[str, Sequence[Any]],
    kinds: Mapping[str, str],
    n_rows: int,
    ids: Sequence[Any] | str | None = None,
    matrix: NDArray[Any] | None = None,
) -> Identity:
    """Identity of rows that are in memory.

    Parameters
    ----------
    columns : mapping
        Cells by the names of columns; none beside a matrix.
    kinds : mapping
        What columns hold.
    n_rows : int
    ids : sequence or str, optional
        What rows are called, or the column that says so.
    matrix : ndarray of shape (n, d), optional
        Of columns without names.

    Examples
    --------
    >>> from nearkin.teaching.identity import identity_of
    >>> table = {"name": ["Ada", "Alan"], "born": [1815, 1912]}
    >>> kinds = {"name": "text", "born": "number"}
    >>> one = identity_of(table, kinds, 2).contents(["born", "name"])
    >>> turned = identity_of({name: of[::-1] for name, of in table.items()}, kinds, 2)
    >>> one == turned.contents(["name", "born"])[::-1]
    True
    """

    def cells(names: Sequence[str]) -> Any:
        for start in range(0, n_rows, _BLOCK):
            rows = slice(start, start + _BLOCK)
            if matrix is not None and not names:
                yield {"": matrix[rows]}
            else:
                yield {name: columns[name][rows] for name in names}

    named = ids if isinstance(ids, str) else None
    given = None if ids is None or named is not None else ids
    return Identity(kinds, cells, n_rows, named, given)


def digests_of(columns: Mapping[str, Any], kinds: Mapping[str, str]) -> list[str]:
    """A digest of the cells of each row.

    Parameters
    ----------
    columns : mapping
        Values by names, equally many of each; or a matrix without any.
    kinds : mapping
        What they hold: numbers and vectors are the same whatever their type is.
    """
    numbers, others = [], []
    for name in sorted(columns):
        kind = kinds.get(name, "vector")
        if kind in ("number", "boolean"):
            numbers.append(_numbers(columns[name]))
        elif kind == "vector":
            others.append(_vectors(columns[name]))
        else:
            others.append([_text(one) for one in columns[name]])
    parts = [_rows_of_bytes(np.column_stack(numbers))] if numbers else []
    return [
        blake2b(b"\x1f".join(row), digest_size=_DIGEST_BYTES).hexdigest()
        for row in zip(*parts, *others, strict=True)
    ]


def have_same_cells(
    one: Mapping[str, Any], other: Mapping[str, Any], kinds: Mapping[str, str]
) -> bool:
    """Whether the columns that two tables share are equal, row by row."""
    shared = sorted(one.keys() & other.keys() & kinds.keys())
    return not shared or all(
        digests_of({name: one[name]}, kinds) == digests_of({name: other[name]}, kinds)
        for name in shared
    )


def told_apart(names: Sequence[str]) -> list[str]:
    """Names of which none is there twice: those that were are numbered in their order.

    Examples
    --------
    >>> from nearkin.teaching.identity import told_apart
    >>> told_apart(["a", "b", "a"])
    ['a', 'b', 'a#2']
    """
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found


def _is_missing(value: Any) -> bool:
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def _id(value: Any) -> str | None:
    if _is_missing(value) or value == "":
        return None
    is_whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value) if is_whole else value)


def _numbers(values: Any) -> NDArray[np.int64]:
    """Eight bytes of each number: those of a float64 that equals it, if there is one."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        return np.array([_bits(one) for one in values], dtype=np.int64)
    floats = array.astype(np.float64) + 0.0  # no zero is negative
    floats[np.isnan(floats)] = np.nan
    bits = floats.view(np.int64)
    if array.dtype.kind in "iu":
        with np.errstate(invalid="ignore"):
            whole = array.astype(np.int64)
            bits = np.where(floats.astype(np.int64) == whole, bits, whole)
    return bits


def _bits(value: Any) -> int:
    number = np.nan if _is_missing(value) else float(value) + 0.0
    if isinstance(value, int) and number != value:
        return value if abs(value) < 2**63 else hash(value)
    return int(np.float64(number).view(np.int64))


def _vectors(values: Any) -> list[bytes]:
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return _rows_of_bytes(_numbers(values))
    return [
        b"" if one is None else _numbers(np.asarray(one, dtype=np.float64)).tobytes()
        for one in values
    ]


def _text(value: Any) -> bytes:
    return b"" if _is_missing(value) else str(value).encode(errors="surrogatepass")


def _rows_of_bytes(matrix: NDArray[np.int64]) -> list[bytes]:
    width = matrix.shape[1] * matrix.itemsize
    whole = np.ascontiguousarray(matrix).tobytes()
    return [whole[start : start + width] for start in range(0, len(whole), width)]
