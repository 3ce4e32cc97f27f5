"""What tells the rows of a file apart, whatever their order."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nearkin.cli.files.tables import Table
from nearkin.studio.records import Identity

# Whole numbers up to this are told apart as float64.
_EXACT = 2.0**53


def identity_of_file(
    table: Table, numbers: NDArray[np.integer], id_column: str | None
) -> Identity | None:
    """The identity of some rows of a file: by its columns, as they are there.

    None for a file that is an array. Numbers are the same in files of every form.
    """
    kinds = table.kinds
    if not kinds or table.is_array:
        return None

    def cells(names: Sequence[str]) -> Iterator[Mapping[str, Any]]:
        for batch in table.batches_of(numbers, names):
            yield {name: _values(batch.column(name), kinds[name]) for name in names}

    return Identity(kinds, cells, len(numbers), id_column)


def _values(column: Any, kind: str) -> Any:
    """Cells of a batch, as :func:`nearkin.studio.records.digests_of` takes them."""
    if kind == "boolean":
        column = column.cast(pa.bool_()).cast(pa.int8())
    if kind == "number" and pa.types.is_string(column.type):
        found = column.cast(pa.float64())
        if np.nanmax(np.abs(found.to_numpy(zero_copy_only=False)), initial=0.0) < _EXACT:
            column = found
        else:  # names of things, such as 64 bits: every digit counts
            return [_number(cell) for cell in column.to_pylist()]
    if kind in ("number", "boolean") and not column.null_count:
        return column.to_numpy(zero_copy_only=False)
    if kind == "vector" and (matrix := _matrix(column)) is not None:
        return matrix
    return column.to_pylist()


def as_numbers(cells: list[Any]) -> list[Any]:
    """Cells of a column of numbers, which some files have as texts."""
    try:
        return [_number(cell) if isinstance(cell, str) else cell for cell in cells]
    except ValueError:
        return cells


def _number(cell: str | None) -> float | int | None:
    if cell is None:
        return None
    return int(cell) if cell.lstrip("-").isdecimal() else float(cell)


def _matrix(column: Any) -> NDArray[Any] | None:
    """Vectors of one length as rows; None if there are others."""
    if column.null_count or not len(column):
        return None
    lengths = pc.unique(pc.list_value_length(column))
    flat = column.flatten()
    if len(lengths) != 1 or flat.null_count or not len(flat):
        return None
    return np.asarray(flat.to_numpy(zero_copy_only=False)).reshape(len(column), -1)
