"""Rows written to Parquet files, block by block."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from nearkin.errors import InputError
from nearkin.rows.base import Block
from nearkin.rows.checks import BLOCK_BYTES, BLOCK_ROWS
from nearkin.rows.parquet_columns import imported_pyarrow


def write_parquet(path: Path, names: Sequence[str], blocks: Iterable[Block]) -> None:
    """Write blocks, with a column for each of theirs after those carried along.

    Blocks of few rows share a row group: a file of many small ones is slow to read.
    """
    pa = imported_pyarrow()
    batches = (_batch(pa, names, block) for block in blocks)
    first = next(batches, None)
    if first is None:
        raise InputError("there are no rows to write.")
    carried = [name for name in first.schema.names if name not in set(names)]
    # Numbers that differ from row to row: neither a dictionary nor packing helps, and who reads
    # them never skips pages by their range.
    with pa.parquet.ParquetWriter(
        path,
        first.schema,
        compression="none",
        use_dictionary=False,
        write_statistics=carried or False,
    ) as writer:
        waiting: list[Any] = []
        n_rows = n_bytes = 0
        for batch in chain([first], batches):
            waiting.append(batch)
            n_rows += len(batch)
            n_bytes += batch.nbytes
            if n_rows >= BLOCK_ROWS or n_bytes >= BLOCK_BYTES:
                writer.write_table(pa.Table.from_batches(waiting))
                waiting, n_rows, n_bytes = [], 0, 0
        if waiting:
            writer.write_table(pa.Table.from_batches(waiting))


def _batch(pa: Any, names: Sequence[str], block: Block) -> Any:
    fields: list[Any] = []
    arrays: list[Any] = []
    if block.carried is not None:
        fields, arrays = list(block.carried.schema), list(block.carried.columns)
    clash = [name for name in names if name in {field.name for field in fields}]
    if clash:
        raise InputError(
            f"a carried column has the name of a new one, {clash[0]!r}: rename it in the file."
        )
    values = np.asfortranarray(block.rows)
    # None is null, which spares a level for each number: half the time.
    kind = pa.from_numpy_dtype(values.dtype)
    fields += [pa.field(name, kind, nullable=False) for name in names]
    arrays += [pa.array(values[:, j]) for j in range(len(names))]
    return pa.record_batch(arrays, schema=pa.schema(fields))
