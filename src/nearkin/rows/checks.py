"""Checks of blocks of rows as they are read."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from nearkin.errors import InputError, InputTypeError
from nearkin.rows.arrays import Floats

# Rows of a block that is read from a file or cut from an array, or fewer if they are wide.
BLOCK_ROWS = 65_536
BLOCK_BYTES = 2**25


def rows_of_a_block(n_columns: int, dtype: np.dtype[Any]) -> int:
    """How many rows are read at a time."""
    return max(1, min(BLOCK_ROWS, BLOCK_BYTES // (n_columns * dtype.itemsize)))


def checked_dtype(dtype: np.dtype[Any], where: str) -> np.dtype[Any]:
    """float32 for float32, float64 for other numbers, or an error."""
    if dtype == np.float16:
        raise InputTypeError(
            f"{where} is of type float16, which is too coarse for distances: give float32."
        )
    if dtype.kind not in "biuf":
        raise InputTypeError(f"{where} is of type {dtype}, not of numbers.")
    return np.dtype(np.float32 if dtype == np.float32 else np.float64)


def checked_rows(
    rows: Floats, start: int, where: str, names: Sequence[str] | None = None
) -> Floats:
    """The same rows, or an error that says where a number is missing or infinite."""
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(rows.sum())
    if suspicious and not np.isfinite(rows).all():
        row, column = np.argwhere(~np.isfinite(rows))[0]
        name = column if names is None else repr(names[column])
        raise InputError(
            f"row {start + row}, column {name} of {where} is {rows[row, column]}: fill or drop "
            "rows with missing numbers first."
        )
    return rows
