"""Files of any kind as rows of numbers, with ids and other columns beside them."""

from __future__ import annotations

import re
import zipfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nearkin.cli.choice import (
    Choice,
    Feature,
    Kinds,
    check_agreement,
    features_of_model,
    matched,
    numeric_and_one_hot,
    refuse_twice,
)
from nearkin.cli.delimited import DelimitedFile
from nearkin.cli.failures import UserError, guess, listed
from nearkin.remote import Block, Floats
from nearkin.row_checks import checked_dtype, checked_rows, rows_of_a_block
from nearkin.row_sources import open_rows
from nearkin.row_streams import RowStream

KINDS_OF_FILE = ".csv, .tsv, .parquet, .feather, .npy or .npz"
# Columns that one column of text may become.
_MOST_VALUES = 1000
# Without zeros in front: "007" and "7" are two names.
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.0*)?")
# Columns that are shown with a question.
_FEW_SHOWN = 8


@dataclass(frozen=True)
class Table:
    """A file that is open.

    Attributes
    ----------
    file : str
        For messages.
    rows : RowStream
        Features, with the columns that go along.
    names : list of str or None
        Of the features; None for arrays and vectors.
    """

    file: str
    rows: RowStream
    names: list[str] | None
    _source: _Source
    _id_column: str | None

    def values(self, column: str, option: str) -> Any:
        """All values of a column, as an array of pyarrow."""
        if column not in self._source.kinds:
            raise UserError(
                f"{option} {column}: no such column in {self.file}; "
                + guess(column, self._source.kinds)
            )
        parts = [batch.column(column) for batch in self._source.batches([], [column])]
        return pa.chunked_array(parts).combine_chunks()

    @property
    def id_name(self) -> str:
        """What the ids are called: the column, or "row"."""
        return self._id_column or "row"

    def ids(self) -> Any:
        """Texts that tell rows apart, checked, as an array of pyarrow; None without them."""
        if self._id_column is None:
            return None
        ids = as_text(self.values(self._id_column, "--id"))
        where = f"column {self._id_column!r} of {self.file}"
        if ids.null_count:
            row = int(ids.is_null().to_numpy(zero_copy_only=False).argmax())
            raise UserError(f"row {row}, {where} is empty: every row needs an id.")
        codes = ids.dictionary_encode().indices.to_numpy()
        first, counts = np.unique(codes, return_index=True, return_counts=True)[1:]
        if len(first) < len(codes):
            again = codes[first[counts > 1].min()]
            one, two = np.flatnonzero(codes == again)[:2]
            n_more = int((counts > 1).sum()) - 1
            more = f", and {n_more} more are not unique" if n_more else ""
            raise UserError(
                f"{where} has {ids[int(one)].as_py()!r} in row {one} and in row {two}{more}: ids "
                "must differ."
            )
        return ids

    def shown_ids(self) -> Any:
        """Ids, or row numbers, as an array of pyarrow."""
        ids = self.ids()
        return pa.array(np.arange(len(self.rows))) if ids is None else ids

    def shown(self, patterns: Sequence[str]) -> Any:
        """Some columns to show to a person, the first few by default, as a table of pyarrow."""
        names = matched(patterns, self._source.kinds, "--show", self.file)
        if not names:
            names = [name for name in self._source.kinds if name != self._id_column][:_FEW_SHOWN]
        batches = list(self._source.batches([], names)) if names else []
        return pa.Table.from_batches(batches) if batches else pa.table({})

    def columns_beside(self, numbers: NDArray[np.integer]) -> Any:
        """All columns that are no features and no ids, of some rows, as a table of pyarrow.

        ``numbers`` increase. The file is read once; only these rows are kept.
        """
        used = {*(self.names or ()), self._id_column}
        names = [c for c, kind in self._source.kinds.items() if c not in used and kind != "vector"]
        parts, start = [], 0
        for batch in self._source.batches([], names) if names else ():
            first, last = np.searchsorted(numbers, [start, start + len(batch)])
            parts.append(batch.take(pa.array(numbers[first:last] - start)))
            start += len(batch)
        return pa.Table.from_batches(parts) if parts else pa.table({})

    def labels(self, column: str) -> NDArray[Any]:
        """Classes of all rows: whole numbers with -1 for unknown, or texts with None."""
        values = self.values(column, "--labels")
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        found = [None if _is_missing(value) else value for value in values.to_pylist()]
        if all(value is None for value in found):
            raise UserError(f"column {column!r} of {self.file} has no labels: all are empty.")
        numbers = [-1 if value is None else _whole(value) for value in found]
        if None not in numbers:
            return np.array(numbers, dtype=np.int64)
        return np.array([None if value is None else str(value) for value in found], dtype=object)


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or value != value


def _whole(value: Any) -> int | None:
    """A whole number, also as a text such as "-1" or "2.0"; None for anything else."""
    if isinstance(value, str):
        return int(float(value)) if _WHOLE.fullmatch(value) else None
    return int(value) if isinstance(value, int | float) and value == int(value) else None


@dataclass(frozen=True)
class _Source:
    """A file's columns, and how to read some of them.

    ``batches(numbers, others)`` goes through the file, some rows at a time.
    """

    file: str
    kinds: Kinds
    batches: Callable[[Sequence[str], Sequence[str]], Iterator[Any]]
    n_rows: int | None = None
    # Features that have no columns of their own.
    matrix: Any = None
    path: Path | None = None
    aside: Sequence[str] = ()


def column_kinds(path: Path, choice: Choice) -> Kinds:
    """What the columns of a file hold: "number", "boolean", "text", "date", "vector" or other."""
    source = _opened(path, choice)
    return {c: kind for c, kind in source.kinds.items() if c not in source.aside}


def open_table(
    path: Path,
    choice: Choice,
    *,
    aside: Sequence[str] = (),
    carry: Sequence[str] | None = (),
    model: Any = None,
) -> Table:
    """Open a file of rows.

    Parameters
    ----------
    path : Path
    choice : Choice
    aside : list of str
        Columns that are no features, such as labels.
    carry : list of str or None
        Columns that go along with the rows, or patterns; None for all.
    model : Model, optional
        Whose features are to be taken.
    """
    source = _opened(path, choice)
    if choice.id_column is not None:
        matched([choice.id_column], source.kinds, "--id", source.file)
    along = list(source.kinds)
    if carry is not None:
        along = matched(carry, source.kinds, "--carry", source.file)
    if source.matrix is not None:
        if choice.columns or choice.exclude or choice.one_hot:
            raise UserError(
                f"{source.file} is an array without names: columns cannot be chosen from it."
            )
        rows = _matrix_rows(source, along)
        if model is not None:
            model.check_width(rows.n_columns, source.file)
        return Table(source.file, rows, None, source, choice.id_column)
    others = {*source.aside, *aside, *([choice.id_column] if choice.id_column else ())}
    if carry is not None:
        others |= set(along)
    layout = _layout(source, choice, others, model)
    if source.path is not None and all(feature.value is None for feature in layout):
        rows = open_rows(source.path, columns=[f.column for f in layout], carry=along)
    else:
        rows = _batch_rows(source, layout, along)
    if model is not None:
        model.check_width(rows.n_columns, source.file)
    return Table(source.file, rows, rows.names, source, choice.id_column)


def _layout(source: _Source, choice: Choice, others: set[str], model: Any) -> list[Feature]:
    if model is not None and model.names is not None:
        layout = features_of_model(model.names, source.kinds, source.file, model.file)
        check_agreement(layout, source.kinds, choice, source.file, model.file)
        return layout
    numeric, one_hot = numeric_and_one_hot(source.kinds, choice, others, source.file)
    layout = [Feature(name, name) for name in numeric]
    for column in one_hot:
        if source.kinds[column] == "vector":
            raise UserError(f"--one-hot {column}: the column holds vectors.")
        layout += [Feature(f"{column}={v}", column, v) for v in _distinct(source, column)]
    refuse_twice([feature.name for feature in layout], source.file)
    return layout


def _distinct(source: _Source, column: str) -> list[str]:
    values: set[Any] = set()
    for batch in source.batches([], [column]):
        values |= set(pc.unique(as_text(batch.column(column))).to_pylist())
        if len(values) > _MOST_VALUES:
            raise UserError(
                f"--one-hot {column}: the column of {source.file} has more than {_MOST_VALUES} "
                "values, each of which would be a column. Is it an id?"
            )
    return sorted(values - {None})


def as_text(values: Any) -> Any:
    """The values of an array of pyarrow as texts."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    try:
        return values.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise UserError(f"values of type {values.type} do not name anything.") from error


def _opened(path: Path, choice: Choice) -> _Source:
    if not path.exists():
        raise UserError(f"{path}: there is no such file.")
    suffix = path.suffix.lower()
    if path.is_dir() or suffix == ".parquet":
        return _parquet(path)
    if path.stat().st_size == 0:
        raise UserError(f"{path} is empty.")
    if suffix in (".csv", ".tsv"):
        table = DelimitedFile(path, choice.delimiter)
        return _Source(str(path), table.kinds, table.batches)
    if suffix in (".feather", ".arrow"):
        return _feather(path)
    if suffix == ".npy":
        return _Source(str(path), {}, _no_columns, matrix=path)
    if suffix == ".npz":
        return _npz(path)
    raise UserError(f"{path}: the name must end in {KINDS_OF_FILE}.")


def _no_columns(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
    yield from ()


def _parquet(path: Path) -> _Source:
    import pyarrow.dataset
    import pyarrow.parquet

    if path.is_file() and path.stat().st_size == 0:
        raise UserError(f"{path} is empty.")
    try:
        if path.is_file():  # a dataset would say less of names that are there twice
            refuse_twice(pyarrow.parquet.read_schema(path).names, str(path))
        dataset = pyarrow.dataset.dataset(str(path), format="parquet")
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path} cannot be read as Parquet: {error}") from error
    index = (dataset.schema.pandas_metadata or {}).get("index_columns", [])

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
        columns = list(dict.fromkeys([*numbers, *others]))
        yield from dataset.to_batches(
            columns=columns, batch_size=2**16, batch_readahead=1, fragment_readahead=1
        )

    return _Source(
        str(path),
        {field.name: _kind(field.type) for field in dataset.schema},
        batches,
        path=path,
        aside=[column for column in index if isinstance(column, str)],
    )


def _feather(path: Path) -> _Source:
    import pyarrow.feather
    import pyarrow.ipc

    try:
        with pa.memory_map(str(path)) as file, pyarrow.ipc.open_file(file) as reader:
            schema = reader.schema
    except pa.ArrowInvalid as error:
        raise UserError(f"{path} cannot be read as Feather (version 2): {error}") from error
    refuse_twice(schema.names, str(path))

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
        columns = list(dict.fromkeys([*numbers, *others]))
        options = pyarrow.ipc.IpcReadOptions(
            included_fields=[schema.get_field_index(column) for column in columns]
        )
        with (
            pa.memory_map(str(path)) as file,
            pyarrow.ipc.open_file(file, options=options) as reader,
        ):
            for number in range(reader.num_record_batches):
                yield reader.get_batch(number).select(columns)

    return _Source(str(path), {field.name: _kind(field.type) for field in schema}, batches)


def _npz(path: Path) -> _Source:
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (ValueError, OSError, EOFError, zipfile.BadZipFile) as error:
        raise UserError(f"{path} cannot be read as NPZ: {error}") from error
    matrices = [name for name, array in arrays.items() if array.ndim == 2]
    if "X" in matrices:
        matrices = ["X"]
    if len(matrices) != 1:
        raise UserError(
            f"{path} must have one array of rows and columns, or one named X; it has "
            f"{listed(matrices) or 'none'}."
        )
    X = arrays[matrices[0]]
    beside = {
        name: pa.array(array)
        for name, array in arrays.items()
        if array.ndim == 1 and len(array) == len(X) and array.dtype.kind in "biufU"
    }

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
        yield pa.record_batch({name: beside[name] for name in [*numbers, *others]})

    return _Source(str(path), dict.fromkeys(beside, "number"), batches, matrix=X)


def _matrix_rows(source: _Source, along: list[str]) -> RowStream:
    X = source.matrix
    if isinstance(X, Path):
        return open_rows(X)
    if 0 in X.shape:
        raise UserError(f"{source.file} has an array of shape {X.shape}: there is nothing in it.")
    dtype = checked_dtype(X.dtype, source.file)
    carried = next(source.batches([], along)) if along else None
    size = rows_of_a_block(X.shape[1], dtype)

    def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        for start in range(0, len(X), size):
            rows = checked_rows(X[start : start + size].astype(dtype), start, source.file)
            beside = None if carried is None else carried.slice(start, len(rows))
            yield Block(start, rows, beside)

    return RowStream(read, n_rows=len(X), n_columns=X.shape[1], dtype=dtype, source=source.file)


def _kind(kind: Any) -> str:
    types = pa.types
    if types.is_dictionary(kind):  # whatever its values are, they stand for kinds of things
        return "text"
    if types.is_boolean(kind):
        return "boolean"
    if types.is_integer(kind) or types.is_floating(kind):
        return "number"
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return "text"
    if types.is_temporal(kind):
        return "date"
    if types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind):
        return "vector"
    return str(kind)


def _batch_rows(source: _Source, layout: list[Feature], along: list[str]) -> RowStream:
    """Rows of a file that is read by batches: once now, to check and count them."""
    numbers = [feature.column for feature in layout if feature.value is None]
    texts = list(dict.fromkeys(f.column for f in layout if f.value is not None))
    places = {column: j for j, f in enumerate(layout) for column in [f.column] if f.value is None}
    values = {
        column: {f.value: j for j, f in enumerate(layout) if f.column == column} for column in texts
    }
    dtype = np.dtype(np.float64)
    others = list(dict.fromkeys([*texts, *along]))

    def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        start = 0
        size = rows_of_a_block(len(layout), dtype)
        for whole in source.batches(numbers, others):
            for first in range(0, len(whole), size):
                batch = whole.slice(first, size)
                rows = np.zeros((len(batch), len(layout)), dtype=dtype)
                for column, j in places.items():
                    rows[:, j] = _numbers(batch.column(column), column, start, source.file)
                for column, columns in values.items():
                    at = _positions(batch.column(column), columns, column, start, source.file)
                    rows[np.arange(len(batch)), at] = 1
                checked_rows(rows, start, source.file, [f.name for f in layout])
                yield Block(start, rows, batch.select(along) if along else None)
                start += len(batch)

    n_rows = sum(len(block.rows) for block in read(None))
    if n_rows == 0:
        raise UserError(f"{source.file} has no rows.")
    return RowStream(
        read,
        n_rows=n_rows,
        n_columns=len(layout),
        dtype=dtype,
        names=[feature.name for feature in layout],
        source=source.file,
    )


def _numbers(column: Any, name: str, start: int, file: str) -> Floats:
    _refuse_nulls(column, name, start, file)
    found = column.to_numpy(zero_copy_only=False)
    checked_dtype(found.dtype, f"column {name!r} of {file}")
    return np.asarray(found)


def _positions(
    column: Any, places: dict[str | None, int], name: str, start: int, file: str
) -> NDArray[np.integer]:
    _refuse_nulls(column, name, start, file)
    known = list(places)
    found = pc.index_in(as_text(column), value_set=pa.array(known, pa.string()))
    if found.null_count:
        row = int(found.is_null().to_numpy(zero_copy_only=False).argmax())
        raise UserError(
            f"row {start + row}, column {name!r} of {file} is {as_text(column)[row].as_py()!r}, "
            f"which the model has not seen; it knows {listed(known)}."
        )
    return np.asarray(np.array(list(places.values()))[found.to_numpy()])


def _refuse_nulls(column: Any, name: str, start: int, file: str) -> None:
    if column.null_count:
        row = int(column.is_null().to_numpy(zero_copy_only=False).argmax())
        raise UserError(
            f"row {start + row}, column {name!r} of {file} is empty: fill or drop rows with "
            "missing values first."
        )
