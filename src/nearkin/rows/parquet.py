"""Rows of Parquet files, read block by block with pyarrow."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.errors import InputError, InputTypeError, explain_missing_package, few
from nearkin.rows.backends import Block
from nearkin.rows.parallel import map_ahead
from nearkin.rows.validation import (
    BLOCK_BYTES,
    BLOCK_ROWS,
    check_dtype,
    require_finite_block,
    rows_per_read,
)


def import_pyarrow() -> Any:
    """Import pyarrow; an error says how to install it."""
    with explain_missing_package("Parquet files need pyarrow", "parquet"):
        import pyarrow
        import pyarrow.dataset
        import pyarrow.parquet
    return pyarrow


@contextmanager
def explain_unreadable(form: str, name: str) -> Iterator[None]:
    """Turn pyarrow's errors in a block into an InputError that names file and format."""
    pa = import_pyarrow()
    try:
        yield
    except (pa.ArrowMemoryError, FileNotFoundError):
        raise
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise InputError(f"{name} cannot be read as {form}: {error}") from error


def choose_features(
    schema: Any, columns: Sequence[str] | None, carry: Sequence[str], name: str
) -> list[str]:
    """Names of the feature columns: those asked for, or all but carried ones and an index."""
    for argument, value in (("columns", columns), ("carry", carry)):
        if isinstance(value, str):
            raise InputTypeError(f"{argument}={value!r} must be a list of names: [{value!r}].")
    known = list(schema.names)
    # What was the index of a data frame are names of rows.
    index = (schema.pandas_metadata or {}).get("index_columns", [])
    left_out = {*carry, *(column for column in index if isinstance(column, str))}
    chosen = [c for c in known if c not in left_out] if columns is None else list(columns)
    for column in [*chosen, *carry]:
        if column not in known:
            raise InputError(
                f"{name} has no column {column!r}: it has {few(map(repr, known), 20)}."
            )
    if not chosen:
        raise InputError(f"no columns of {name} are left to use.")
    for names in (chosen, list(carry)):
        if twice := next((column for column in names if names.count(column) > 1), None):
            raise InputError(f"column {twice!r} is named twice.")
    return chosen


def find_common_type(pa: Any, types: dict[str, Any], name: str) -> np.dtype[Any]:
    """Type of rows by types of columns: float32 if all are, else float64; an error for words."""
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
    """Whether a type of Arrow is that of vectors."""
    return bool(
        pa.types.is_fixed_size_list(kind) or pa.types.is_list(kind) or pa.types.is_large_list(kind)
    )


def _is_number(pa: Any, kind: Any) -> bool:
    return bool(
        pa.types.is_floating(kind) or pa.types.is_integer(kind) or pa.types.is_boolean(kind)
    )


def number_type(pa: Any, kind: Any, column: str, name: str) -> np.dtype[Any]:
    """float32 or float64 for a numeric type of Arrow; an error for others."""
    where = f"column {column!r} of {name}"
    if not _is_number(pa, kind):
        raise InputTypeError(f"{where} holds vectors of {kind}, not of numbers.")
    return check_dtype(np.dtype(kind.to_pandas_dtype()), where)


# Rows that are put together from columns at a time, so that they stay in a core's cache: by Arrow,
# which leaves Python's lock to other threads, and by NumPy, where columns differ in type.
_PIECE_ROWS, _PIECE_ROWS_MIXED = 4096, 1024
# Threads that fill blocks of columns for a device, while others are read.
_FILLING_THREADS = 4
# Read from a file at a time, for each column.
_BUFFER_BYTES = 2**16


class ParquetFiles:
    """Reader of rows from a Parquet file, a folder of such files, or a pyarrow dataset.

    ``columns`` are used in this order, by default all but those of ``carry``, which go along with
    the rows. ``empty(n_rows, n_columns, dtype)`` makes room for a block whose columns are put one
    after the other, in some threads; by default rows are. ``names`` is None for one column of
    vectors, and ``name`` that of the file, for messages.
    """

    def __init__(
        self,
        source: Any,
        columns: Sequence[str] | None,
        carry: Sequence[str],
        empty: Callable[[int, int, np.dtype[Any]], Floats] | None = None,
    ) -> None:
        pa = import_pyarrow()
        self._empty = empty
        self.name = os.fspath(source) if isinstance(source, str | os.PathLike) else "the dataset"
        self._dataset = _open_dataset(pa, source, self.name)
        self._columns = choose_features(self._dataset.schema, columns, carry, self.name)
        self._carry = list(carry)
        self._read_columns = list(dict.fromkeys([*self._columns, *self._carry]))
        self._pieces = self._find_row_groups()
        files = {fragment.path: fragment for _, _, fragment in self._pieces}
        self._stamps = {path: _stamp(fragment) for path, fragment in files.items()}
        self.n_rows = self._pieces[-1][1] if self._pieces else 0
        if self.n_rows == 0:
            raise InputError(f"{self.name} has no rows.")
        types = [self._dataset.schema.field(column).type for column in self._columns]
        self._is_vector = len(types) == 1 and is_list(pa, types[0])
        if self._is_vector:
            self.n_columns = self._find_width()
            self.dtype = number_type(pa, types[0].value_type, self._columns[0], self.name)
        else:
            self.n_columns = len(types)
            self.dtype = find_common_type(
                pa, dict(zip(self._columns, types, strict=True)), self.name
            )
        self.names = None if self._is_vector else self._columns
        self._has_one_type = set(types) == {pa.from_numpy_dtype(self.dtype)}

    def read(self, wanted: NDArray[np.int64] | None = None) -> Iterator[Block]:
        """Iterate over blocks in order, skipping row groups without any of the wanted rows."""

        def make_block(numbered: tuple[int, Any]) -> Block:
            start, batch = numbered
            carried = batch.select(self._carry) if self._carry else None
            return Block(start, self._read_matrix(batch, start), carried)

        batches = self._number_batches(wanted)
        if self._empty is None:
            return map(make_block, batches)
        return map_ahead(make_block, batches, _FILLING_THREADS)

    def _number_batches(self, wanted: NDArray[np.int64] | None) -> Iterator[tuple[int, Any]]:
        """Batches in order, each after the number of its first row."""
        unchecked = set(self._stamps)
        for start, stop, fragment in self._pieces:
            if wanted is not None and not np.diff(np.searchsorted(wanted, [start, stop]))[0]:
                continue
            if fragment.path in unchecked:
                unchecked.remove(fragment.path)
                if _stamp(fragment) != self._stamps[fragment.path]:
                    raise InputError(
                        f"{fragment.path} has changed since it was opened: open it again."
                    )
            with explain_unreadable("Parquet", fragment.path):
                for batch in self._read_batches(fragment):
                    if self._carry:  # of which text may be no UTF-8
                        batch.select(self._carry).validate(full=True)
                    yield start, batch
                    start += len(batch)

    def _read_batches(self, fragment: Any) -> Iterator[Any]:
        """Batches of a row group, with the columns in use, of bounded size."""
        pa = import_pyarrow()
        size = rows_per_read(self.n_columns, self.dtype)
        schema, own = self._dataset.schema, fragment.physical_schema
        # Types of numbers are equal in all files, and whether they may be null does not matter.
        carried_alike = all(c in own.names and own.field(c) == schema.field(c) for c in self._carry)
        if carried_alike and all(c in own.names for c in self._columns):
            # Page by page: a scan would hold all of the row group.
            with (
                fragment.open() as file,
                pa.parquet.ParquetFile(
                    file, metadata=fragment.metadata, buffer_size=_BUFFER_BYTES, pre_buffer=False
                ) as group,
            ):
                number = fragment.row_groups[0].id
                yield from group.iter_batches(size, [number], columns=self._read_columns)
            return
        # Columns that are in the names of folders, or missing.
        yield from fragment.to_batches(
            schema=schema,
            columns=self._read_columns,
            batch_size=size,
            batch_readahead=1,
            fragment_readahead=1,
            fragment_scan_options=pa.dataset.ParquetFragmentScanOptions(
                use_buffered_stream=True, pre_buffer=False
            ),
        )

    def _read_matrix(self, batch: Any, start: int) -> Floats:
        """Rows (n, d) of a batch, whose first row has the number ``start``; errors for nulls."""
        for name in self._columns:
            column = batch.column(name)
            if column.null_count:
                nulls = column.is_null().to_numpy(zero_copy_only=False)
                raise InputError(
                    f"row {start + int(nulls.argmax())}, column {name!r} of {self.name} is null: "
                    "fill or drop rows with missing numbers first."
                )
        if self._is_vector:
            rows = self._read_vectors(batch.column(self._columns[0]), start)
        elif self._empty is None:
            rows = self._fill_rows(batch)
        else:  # column by column, in memory laid out for a device
            rows = self._empty(len(batch), self.n_columns, self.dtype)
            for j, name in enumerate(self._columns):
                rows[:, j] = batch.column(name).to_numpy(zero_copy_only=False)
        return require_finite_block(rows, start, self.name, self.names)

    def _fill_rows(self, batch: Any) -> Floats:
        """Rows of a batch, row-major, filled in pieces that stay in a core's cache."""
        rows = np.empty((len(batch), self.n_columns), dtype=self.dtype)
        if self._has_one_type:
            chosen = batch.select(self._columns)
            for first in range(0, len(rows), _PIECE_ROWS):
                piece = chosen.slice(first, _PIECE_ROWS).to_tensor(row_major=True)
                rows[first : first + _PIECE_ROWS] = piece.to_numpy()
            return rows
        columns = [batch.column(name).to_numpy(zero_copy_only=False) for name in self._columns]
        for first in range(0, len(rows), _PIECE_ROWS_MIXED):
            part = slice(first, first + _PIECE_ROWS_MIXED)
            for j, column in enumerate(columns):
                rows[part, j] = column[part]
        return rows

    def _read_vectors(self, column: Any, start: int) -> Floats:
        where = f"column {self._columns[0]!r} of {self.name}"
        if hasattr(column, "value_lengths"):  # lists of any length
            lengths = column.value_lengths().to_numpy(zero_copy_only=False)
            other = np.flatnonzero(lengths != self.n_columns)
            if len(other):
                raise InputError(
                    f"row {start + other[0]}, {where} has {lengths[other[0]]} numbers, but row 0 "
                    f"has {self.n_columns}."
                )
        values = column.flatten()
        if values.null_count:
            nulls = values.is_null().to_numpy(zero_copy_only=False)
            raise InputError(
                f"row {start + int(nulls.argmax()) // self.n_columns}, {where} has a null in its "
                "vector: fill or drop rows with missing numbers first."
            )
        numbers = values.to_numpy(zero_copy_only=False).astype(self.dtype, copy=False)
        return np.asarray(numbers.reshape(-1, self.n_columns))

    def _find_row_groups(self) -> list[tuple[int, int, Any]]:
        """First row number, number after the last, and fragment, of each row group."""
        try:
            fragments = list(self._dataset.get_fragments())
        except ValueError as error:
            raise InputError(
                f"{self.name} is filtered or projected, so that its rows have no fixed numbers: "
                "write what is left to a file first, or choose with columns=[...]."
            ) from error
        pieces = []
        start = 0
        for fragment in fragments:
            schema = fragment.physical_schema
            for column in self._columns:
                expected = self._dataset.schema.field(column).type
                if column in schema.names and schema.field(column).type != expected:
                    raise InputTypeError(
                        f"column {column!r} is {schema.field(column).type} in {fragment.path}, but "
                        f"{expected} in other files of {self.name}: write all with one type."
                    )
            for group in fragment.split_by_row_group():
                stop = start + group.row_groups[0].num_rows
                pieces.append((start, stop, group))
                start = stop
        return pieces

    def _find_width(self) -> int:
        kind = self._dataset.schema.field(self._columns[0]).type
        if import_pyarrow().types.is_fixed_size_list(kind):
            return int(kind.list_size)
        # Of the first row group alone: the dataset's own head would read ahead.
        group = next(fragment for start, stop, fragment in self._pieces if stop > start)
        with explain_unreadable("Parquet", self.name):
            first = group.head(1, columns=self._columns, use_threads=False).column(0)
        if not first[0].is_valid or len(first[0]) == 0:
            raise InputError(f"column {self._columns[0]!r} of {self.name} has no vector in row 0.")
        return len(first[0])


def _open_dataset(pa: Any, source: Any, name: str) -> Any:
    """Dataset of Parquet files, from one or from a path."""
    if isinstance(source, str | os.PathLike):
        if not Path(source).exists():
            raise FileNotFoundError(f"there is no file {name!r}.")
        with explain_unreadable("Parquet", name):
            source = pa.dataset.dataset(name, format="parquet")
    if not isinstance(source, pa.dataset.FileSystemDataset):
        raise InputTypeError(
            f"rows cannot be opened from {type(source).__name__} of pyarrow: give a dataset of "
            "Parquet files, or a path."
        )
    if not isinstance(source.format, pa.dataset.ParquetFileFormat):
        raise InputTypeError(
            f"the dataset is of {source.format.default_extname} files: give one of Parquet files."
        )
    if not source.files:
        raise InputError(f"{name} has no Parquet files.")
    return source


def _stamp(fragment: Any) -> tuple[Any, ...]:
    """Type, size and time of a file, which differ once it is written anew."""
    info = fragment.filesystem.get_file_info(fragment.path)
    return info.type, info.size, info.mtime_ns


def write_parquet(path: Path, names: Sequence[str], blocks: Iterable[Block]) -> None:
    """Write blocks to a Parquet file: carried columns first, then one column for each name.

    Blocks of few rows share a row group: a file of many small ones is slow to read.
    """
    pa = import_pyarrow()
    batches = (_make_batch(pa, names, block) for block in blocks)
    first = next(batches, None)
    if first is None:
        raise InputError("there are no rows to write.")
    carried = [name for name in first.schema.names if name not in set(names)]
    # Numbers that differ from row to row: dictionaries, packing and ranges of pages do not help.
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


def _make_batch(pa: Any, names: Sequence[str], block: Block) -> Any:
    """A block as a batch of Arrow, carried columns first."""
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
