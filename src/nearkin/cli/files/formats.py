"""Files of every form as columns: what they hold, and how to read some of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa

from nearkin.cli.failures import UserError, listed
from nearkin.cli.files.column_choice import Choice, Kinds, refuse_twice
from nearkin.cli.files.delimited import DelimitedFile
from nearkin.cli.files.inputs import PICTURES, Input, form_of_name, found_input, is_stream
from nearkin.cli.files.json_lines import JsonLinesFile
from nearkin.cli.files.npz import NpzArrays
from nearkin.rows.parquet import readable_as
from nearkin.rows.streams import mapped_array

# Rows of a batch; vectors are wide.
_ROWS_OF_A_BATCH, _ROWS_OF_VECTORS = 2**16, 2**12


def _by_number(row: int) -> str:
    return f"row {row}"


@dataclass(frozen=True)
class Source:
    """A file's columns, and how to read some of them.

    Attributes
    ----------
    file : str
        For messages.
    kinds : dict
        Of the columns.
    batches : callable
        ``batches(numbers, others)`` goes through the file, some rows at a time.
    where : callable
        Where in the file a row is, as its user sees it.
    matrix : array or None
        Features that have no columns of their own.
    direct : Input or None
        What :func:`nearkin.open_rows` reads as well, and faster.
    aside : list of str
        Columns that are no features unless they are asked for.
    """

    file: str
    kinds: Kinds
    batches: Callable[[Sequence[str], Sequence[str]], Iterator[Any]]
    where: Callable[[int], str] = _by_number
    matrix: Any = None
    direct: Input | None = None
    aside: Sequence[str] = ()


def open_source(path: Path, choice: Choice, role: str) -> Source:
    """Open a file or a pipe of rows; ``role`` is what the command line calls it."""
    form = choice.form
    if role != "DATA" and form_of_name(path) is not None and not is_stream(path):
        form = None  # it was said of the data
    given = found_input(path, role, form=form)
    if given.form in ("csv", "tsv"):
        table = DelimitedFile(given, choice.delimiter)
        return Source(given.name, table.kinds, table.batches, table.where)
    if given.form == "jsonl":
        lines = JsonLinesFile(given)
        return Source(given.name, lines.kinds, lines.batches, lines.where)
    if given.form == PICTURES:
        from nearkin.cli.files.picture_files import PictureFiles

        pictures = PictureFiles(given.path, given.name)
        return Source(given.name, pictures.kinds, pictures.batches, pictures.where)
    return {"parquet": _parquet, "feather": _feather, "npy": _npy, "npz": _npz}[given.form](given)


def _parquet(given: Input) -> Source:
    import pyarrow.dataset
    import pyarrow.parquet

    path = given.path
    with readable_as("Parquet", given.name):
        if path.is_file():  # a dataset would say less of names that are there twice
            refuse_twice(pyarrow.parquet.read_schema(path).names, given.name)
        dataset = pyarrow.dataset.dataset(str(path), format="parquet")
    written = dataset.schema.pandas_metadata or {}
    index = written.get("index_columns", [])
    # Parquet itself has no categories of numbers, but pandas says which they were.
    categories = {
        column["field_name"]
        for column in written.get("columns", [])
        if column.get("pandas_type") == "categorical" and column.get("field_name")
    }
    kinds = {
        field.name: "text" if field.name in categories else _kind(field.type)
        for field in dataset.schema
    }

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
        columns = list(dict.fromkeys([*numbers, *others]))
        wide = any(kinds[column] == "vector" for column in columns)
        with readable_as("Parquet", given.name):
            for batch in dataset.to_batches(
                columns=columns,
                batch_size=_ROWS_OF_VECTORS if wide else _ROWS_OF_A_BATCH,
                batch_readahead=1,
                fragment_readahead=1,
            ):
                batch.validate(full=True)
                for column in categories.intersection(columns):
                    place = batch.schema.get_field_index(column)
                    encoded = batch.column(column).dictionary_encode()
                    batch = batch.set_column(place, column, encoded)
                yield batch

    return Source(
        given.name,
        kinds,
        batches,
        direct=given,
        aside=[column for column in index if isinstance(column, str)],
    )


def _feather(given: Input) -> Source:
    import pyarrow.feather
    import pyarrow.ipc

    path = str(given.path)
    form = "Feather (version 2)"
    with (
        readable_as(form, given.name),
        pa.memory_map(path) as file,
        pyarrow.ipc.open_file(file) as reader,
    ):
        schema = reader.schema
    refuse_twice(schema.names, given.name)

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
        columns = list(dict.fromkeys([*numbers, *others]))
        options = pyarrow.ipc.IpcReadOptions(
            included_fields=[schema.get_field_index(column) for column in columns]
        )
        with (
            readable_as(form, given.name),
            pa.memory_map(path) as file,
            pyarrow.ipc.open_file(file, options=options) as reader,
        ):
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number).select(columns)
                batch.validate(full=True)
                yield batch

    return Source(given.name, {field.name: _kind(field.type) for field in schema}, batches)


def _npy(given: Input) -> Source:
    try:
        X = mapped_array(given.path, given.name)
    except OSError as error:
        raise UserError(f"{given.name} cannot be read as an array of numbers: {error}") from error
    return Source(given.name, {}, _no_columns, matrix=X, direct=given)


def _no_columns(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
    yield from ()


def _npz(given: Input) -> Source:
    arrays = NpzArrays(given.path, given.name)
    matrices = [name for name, shape in arrays.shapes.items() if len(shape) == 2]
    if "X" in matrices:
        matrices = ["X"]
    if len(matrices) != 1:
        raise UserError(
            f"{given.name} must have one array of rows and columns, or one named X; it has "
            f"{listed(matrices) or 'none'}."
        )
    X = arrays[matrices[0]]
    beside = {
        name: pa.array(array)
        for name, shape in arrays.shapes.items()
        if shape == X.shape[:1] and (array := arrays[name]).dtype.kind in "biufU"
    }

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
        yield pa.record_batch({name: beside[name] for name in [*numbers, *others]})

    return Source(given.name, dict.fromkeys(beside, "number"), batches, matrix=X)


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
