"""Columns of a table as arrays of bytes and numbers: small where they lie, and quick to send."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from nearkin._types import Doubles, Ints
from nearkin.records.grams import Bytes, joined_runs
from nearkin.tables.reading import WORDS, Column, Kind

_CODING = ("utf-8", "surrogatepass")


@dataclass(frozen=True)
class PackedColumn:
    """A column of words, numbers or dates.

    Attributes
    ----------
    name, kind : str
    buffer : uint8 ndarray
        All texts, one after the other.
    ends : int64 ndarray of shape (n,)
        Where the text of each record ends in it; that of a missing cell is empty.
    values : ndarray of shape (n,)
        Numbers, or days. What a column does not have of the three is empty.
    """

    name: str
    kind: Kind
    buffer: Bytes
    ends: Ints
    values: Doubles


@dataclass(frozen=True)
class Packed:
    """Records, column by column: as many bytes as their texts have, and 8 for each cell."""

    columns: list[PackedColumn]
    n_records: int

    def take(self, records: Ints) -> Packed:
        """Some of the records."""
        return Packed([_take_packed(column, records) for column in self.columns], len(records))


def packed(columns: Sequence[Column]) -> Packed:
    """Columns as bytes and numbers; there are no vectors among them.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.records.packed import packed, unpacked
    >>> from nearkin.tables.reading import Column
    >>> names = packed([Column("name", "name", np.array(["anna", None, "zoë"], dtype=object))])
    >>> [column] = unpacked([names.take(np.array([2, 1]))])
    >>> column.values.tolist()
    ['zoë', None]
    """
    return Packed([_packed(column) for column in columns], len(columns[0]) if columns else 0)


def unpacked(parts: Sequence[Packed]) -> list[Column]:
    """The columns of some parts of a table, one after the other."""
    return [
        Column(columns[0].name, columns[0].kind, np.concatenate([_values(c) for c in columns]))
        for columns in zip(*(part.columns for part in parts), strict=True)
    ]


def _packed(column: Column) -> PackedColumn:
    no_ends, no_values = np.zeros(0, dtype=np.int64), np.zeros(0)
    if column.kind not in WORDS:
        values = np.asarray(column.values, dtype=np.float64)
        return PackedColumn(column.name, column.kind, np.zeros(0, np.uint8), no_ends, values)
    texts = [(value or "").encode(*_CODING) for value in column.values.tolist()]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    buffer = np.frombuffer(b"".join(texts), dtype=np.uint8)
    return PackedColumn(column.name, column.kind, buffer, ends, no_values)


def _take_packed(column: PackedColumn, records: Ints) -> PackedColumn:
    if column.kind not in WORDS:
        values = column.values[records]
        return PackedColumn(column.name, column.kind, column.buffer, column.ends, values)
    starts, ends = np.append(0, column.ends)[records], column.ends[records]
    buffer = joined_runs(column.buffer, starts, ends)
    return PackedColumn(column.name, column.kind, buffer, np.cumsum(ends - starts), column.values)


def _values(column: PackedColumn) -> np.ndarray:
    if column.kind not in WORDS:
        return column.values
    raw, start = column.buffer.tobytes(), 0
    found = np.empty(len(column.ends), dtype=object)
    for record, end in enumerate(column.ends.tolist()):
        found[record] = raw[start:end].decode(*_CODING) if end > start else None
        start = end
    return found
