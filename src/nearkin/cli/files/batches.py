"""Arrays as columns of a table."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from typing import Any

import numpy as np
import pyarrow as pa

from nearkin.cli.failures import UserError
from nearkin.rows.streams import RowStream

# Rows of a batch that goes to an output.
_ROWS = 2**15


def with_carried(rows: RowStream, vector: str | None = None) -> Iterator[Any]:
    """Rows as record batches, after the columns that go along with them.

    ``vector`` names the one column of vectors that they are to be; without, each number has a
    column of its own.
    """
    names = rows.names or [f"x{j}" for j in range(rows.n_columns)]
    for block in rows.blocks():
        fields = _carried(block)
        refuse_clash(fields, names if vector is None else [vector])
        if vector is None:
            values = np.asfortranarray(block.rows)
            fields |= {name: pa.array(values[:, j]) for j, name in enumerate(names)}
        else:
            numbers = pa.array(np.ascontiguousarray(block.rows).ravel())
            fields[vector] = pa.FixedSizeListArray.from_arrays(numbers, rows.n_columns)
        yield pa.record_batch(fields)


def with_column(rows: RowStream, name: str, values: Any) -> Iterator[Any]:
    """The columns that go along with rows, and one more."""
    for block in rows.blocks():
        fields = _carried(block)
        refuse_clash(fields, [name])
        part = values[block.start : block.start + len(block.rows)]
        yield pa.record_batch({**fields, name: pa.array(part)})


def table_of(columns: Mapping[str, Any]) -> Iterator[Any]:
    """Columns as record batches; there is one even if they are empty, for the names."""
    whole = pa.record_batch({name: pa.array(values) for name, values in columns.items()})
    for start in range(0, max(1, len(whole)), _ROWS):
        yield whole.slice(start, _ROWS)


def _carried(block: Any) -> dict[str, Any]:
    if block.carried is None:
        return {}
    return dict(zip(block.carried.schema.names, block.carried.columns, strict=True))


def refuse_clash(fields: Container[str], names: list[str]) -> None:
    """Raise if a column that goes along is called as one that is written beside it."""
    clash = [name for name in names if name in fields]
    if clash:
        raise UserError(
            f"the data has a column {clash[0]!r} already: rename it, or do not carry it."
        )
