"""Parquet files and their columns: which are rows' features, and what numbers they hold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from nearkin.errors import InputError, InputTypeError, few, needing
from nearkin.rows.checks import checked_dtype


def imported_pyarrow() -> Any:
    """The library that reads and writes Parquet files, or an error that says how to get it."""
    with needing("Parquet files need pyarrow", "parquet"):
        import pyarrow
        import pyarrow.dataset
        import pyarrow.parquet
    return pyarrow


@contextmanager
def readable_as(form: str, name: str) -> Iterator[None]:
    """Say which file it is that pyarrow cannot read, and what it was to be."""
    pa = imported_pyarrow()
    try:
        yield
    except (pa.ArrowMemoryError, FileNotFoundError):
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name} cannot be read as {form}: {error}") from error


def chosen_columns(
    schema: Any, columns: Sequence[str] | None, carry: Sequence[str], name: str
) -> list[str]:
    """Columns that are features: those asked for, or all but those carried along and an index."""
    for argument, value in (("columns", columns), ("carry", carry)):
        if isinstance(value, str):
            raise InputTypeError(f"{argument}={value!r} must be a list of names: [{value!r}].")
    known = list(schema.names)
    left_out = {*carry, *_pandas_index(schema)}
    chosen = [c for c in known if c not in left_out] if columns is None else list(columns)
    for column in [*chosen, *carry]:
        if column not in known:
            raise InputError(
                f"{name} has no column {column!r}: it has {few(map(repr, known), 20)}."
            )
    if not chosen:
        raise InputError(f"no columns of {name} are left to use.")
    for names in (chosen, list(carry)):
        twice = [column for column in names if names.count(column) > 1]
        if twice:
            raise InputError(f"column {twice[0]!r} is named twice.")
    return chosen


def _pandas_index(schema: Any) -> list[str]:
    """Columns that were the index of a data frame: names of rows, not features."""
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    return [column for column in index if isinstance(column, str)]


def common_type(pa: Any, types: dict[str, Any], name: str) -> np.dtype[Any]:
    """float32 if all columns are, else float64; what is no number is refused."""
    vectors = [column for column, kind in types.items() if is_list(pa, kind)]
    if vectors:
        raise InputTypeError(
            f"{name} has vectors in column {vectors[0]!r} beside other columns, but one column of "
            f"vectors is used alone: choose it with columns=[{vectors[0]!r}]."
        )
    other = [column for column, kind in types.items() if not _is_number(pa, kind)]
    if other:
        shown = few(f"{column!r} ({types[column]})" for column in other)
        raise InputTypeError(
            f"{name} has columns that are not numbers: {shown}. Choose others with "
            "columns=[...], take them along with carry=[...], or turn them into numbers first."
        )
    kinds = {number_type(pa, kind, column, name) for column, kind in types.items()}
    return np.dtype(np.float32 if kinds == {np.dtype(np.float32)} else np.float64)


def is_list(pa: Any, kind: Any) -> bool:
    """Whether a column of this type holds vectors."""
    return bool(
        pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)
    )


def _is_number(pa: Any, kind: Any) -> bool:
    return bool(
        pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    )


def number_type(pa: Any, kind: Any, column: str, name: str) -> np.dtype[Any]:
    """float32 or float64 for numbers of a type; what is no number is refused."""
    where = f"column {column!r} of {name}"
    if not _is_number(pa, kind):
        raise InputTypeError(f"{where} holds vectors of {kind}, not of numbers.")
    return checked_dtype(np.dtype(kind.to_pandas_dtype()), where)
