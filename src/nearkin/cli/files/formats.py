"""Files of every form as columns: what they hold, and how to read some of them."""

from __future__ import annotations

import csv
import io
import json
import math
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nearkin.cli.common import UserError, listed, say
from nearkin.cli.files.columns import Choice, Kinds, refuse_twice
from nearkin.cli.files.inputs import PICTURES, Input, form_of_name, found_input, is_stream
from nearkin.errors import InputError, few
from nearkin.rows.parquet import explain_unreadable
from nearkin.rows.streams import map_array_file
from nearkin.studio.pictures import SIDE, PictureFolder, read_pictures

# Arrays of NPZ files: what they claim to be is looked at before anything is unpacked.


_READ_HEADER = {
    (1, 0): np.lib.format.read_array_header_1_0,
    (2, 0): np.lib.format.read_array_header_2_0,
}
_ENDING = ".npy"


class NpzArrays:
    """The arrays of a file, each unpacked when it is asked for.

    Parameters
    ----------
    path : Path
    name : str
        For messages.

    Attributes
    ----------
    shapes : dict
        Of all arrays, by their names.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._path, self._name = path, name
        self.shapes: dict[str, tuple[int, ...]] = {}
        self._n_bytes: dict[str, int] = {}
        with self._refusing(), zipfile.ZipFile(path) as file:
            for member in file.infolist():
                if member.filename.endswith(_ENDING):
                    key = member.filename.removesuffix(_ENDING)
                    with file.open(member) as opened:
                        self.shapes[key], self._n_bytes[key] = _claimed(opened, member)

    def __getitem__(self, key: str) -> NDArray[Any]:
        with (
            self._refusing(),
            zipfile.ZipFile(self._path) as file,
            file.open(key + _ENDING) as opened,
        ):
            try:
                return np.lib.format.read_array(opened, allow_pickle=False)
            except MemoryError as error:
                raise UserError(
                    f"{self._name} unpacks to {self._n_bytes[key] / 1e9:.1f} GB, more memory than "
                    "there is: write its rows to an .npy file, which is read where it lies."
                ) from error

    @contextmanager
    def _refusing(self) -> Iterator[None]:
        try:
            yield
        except UserError:
            raise
        # The last two are of headers, and of ways to compress that this Python lacks.
        except (
            *(ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error),
            *(SyntaxError, TokenError, TypeError, OverflowError, RuntimeError),
        ) as error:
            raise UserError(f"{self._name} cannot be read as NPZ: {error}") from error


def _claimed(opened: IO[bytes], member: zipfile.ZipInfo) -> tuple[tuple[int, ...], int]:
    """Shape and number of bytes by an array's header, which the file must have as well."""
    version = np.lib.format.read_magic(opened)
    if version not in _READ_HEADER:
        raise InputError(f"{member.filename} is of version {version}, which has no numbers")
    shape, _, dtype = _READ_HEADER[version](opened)
    claimed, held = prod(shape) * dtype.itemsize, member.file_size - opened.tell()
    if claimed > held and not dtype.hasobject:
        raise InputError(f"{member.filename} is to have {claimed} bytes, and has {held}")
    return shape, claimed


# CSV and TSV files: header, types of columns, rows, and where in a file something is wrong.


_DELIMITERS = ",;\t|"
# Cells of one field; the csv module's own limit is small for vectors or texts.
csv.field_size_limit(2**30)
# Bytes that are read at a time, and what is tried where a row is longer.
_BLOCK, _LARGE_BLOCKS = 2**20, (2**24, 2**28, 2**30)
# What people and programs write where a number is missing.
_MARKS = {"NA", "N/A", "n/a", "na", "NULL", "null", "None", "?", "-", ".", "missing"}


class DelimitedFile:
    """A file of text with a header.

    Attributes
    ----------
    columns : list of str
    kinds : dict
        Of the columns, judged by the first rows.
    """

    def __init__(self, source: Input, delimiter: str | None) -> None:
        self._source = source
        self.name = source.name
        self._delimiter = delimiter or ("\t" if source.form == "tsv" else ",")
        lines = self.lines()
        _, _, self.columns = next(lines, (0, 0, []))
        if not self.columns:
            raise UserError(f"{self.name} is empty.")
        self._refuse_other_delimiter(asked=delimiter is not None)
        refuse_twice(self.columns, self.name)
        if next(lines, None) is None:
            raise UserError(f"{self.name} has a header but no rows.")
        self._types = self._inferred()
        self.kinds: Kinds = {name: kind for name, (kind, _) in self._types.items()}

    def lines(self) -> Iterator[tuple[int, int, list[str]]]:
        """Number of the row, or -1 for the header, its first line in the file, and its cells."""
        try:
            with io.TextIOWrapper(self._source.open(), encoding="utf-8-sig", newline="") as file:
                reader = csv.reader(file, delimiter=self._delimiter)
                row, line = -1, 1
                for cells in reader:
                    if cells:
                        yield row, line, cells
                        row += 1
                    line = reader.line_num + 1
        except UnicodeDecodeError as error:
            raise self._not_utf8() or self._damaged(error) from error
        except csv.Error as error:
            raise UserError(f"{self.name} is not a table in UTF-8 text: {error}") from error
        except (EOFError, zlib.error, OSError) as error:
            raise self._damaged(error) from error

    def where(self, row: int) -> str:
        """The line of a row, as an editor counts: the header is line 1."""
        for number, line, _ in self.lines():
            if number == row:
                return f"line {line}"
        return f"row {row}"

    def batches(self, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Any]:
        """Some columns, those in ``texts`` as they are in the file, some rows at a time."""
        import pyarrow as pa

        types = {name: self._types[name][1] for name in numbers}
        types |= {name: pa.string() for name in texts if name not in types}
        n_read = 0
        for block, is_last in self._blocks():
            skipped = n_read
            try:
                with self._opened(types, block) as reader:
                    for batch in reader:
                        fresh = batch.slice(min(skipped, len(batch)))
                        skipped -= len(batch) - len(fresh)
                        n_read += len(fresh)
                        yield fresh
                return
            except pa.ArrowInvalid as error:
                if is_last:
                    raise self._located(numbers, error) from error
            except OSError as error:
                raise self._damaged(error) from error

    def _blocks(self) -> list[tuple[int, bool]]:
        """Bytes to read at a time, and whether there is no use in more.

        A row must be in two of them, and some rows have megabytes: if one cannot be read, it is
        tried again with more.
        """
        size = self._source.path.stat().st_size
        sizes = [_BLOCK, *(b for b in _LARGE_BLOCKS if self._source.is_zipped or b < 16 * size)]
        sizes = sizes if self._source.is_zipped or size > _BLOCK else sizes[:1]
        return [(block, block == sizes[-1]) for block in sizes]

    def _opened(self, types: dict[str, Any] | None, block: int) -> Any:
        import pyarrow as pa
        import pyarrow.csv

        compression = "gzip" if self._source.is_zipped else None
        return pyarrow.csv.open_csv(
            pa.input_stream(str(self._source.path), compression=compression),
            read_options=pyarrow.csv.ReadOptions(block_size=block),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=self._delimiter, newlines_in_values=True
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                null_values=[""],
                strings_can_be_null=True,
                column_types=types,
                include_columns=None if types is None else list(types),
            ),
        )

    def _inferred(self) -> dict[str, tuple[str, Any]]:
        """Kind of each column, and the type to read it in, by the first rows."""
        import pyarrow as pa

        for block, is_last in self._blocks():
            try:
                with self._opened(None, block) as reader:
                    first = reader.read_next_batch()
                break
            except (pa.ArrowInvalid, StopIteration) as error:
                if is_last:
                    raise self._located([], error) from error
            except OSError as error:
                raise self._damaged(error) from error
        found: dict[str, tuple[str, Any]] = {}
        for name, column in zip(first.schema.names, first.columns, strict=True):
            kind = column.type
            if pa.types.is_binary(kind):  # what pyarrow makes of text that is none
                raise self._not_utf8() or UserError(f"{self.name} is not in UTF-8.")
            if pa.types.is_boolean(kind):
                found[name] = ("boolean", kind)
            elif pa.types.is_temporal(kind):
                found[name] = ("date", pa.string())
            elif pa.types.is_string(kind) and not _mostly_numbers(column):
                found[name] = ("text", pa.string())
            else:  # with a cell that is none, perhaps: reading will find it
                found[name] = ("number", pa.float64())
        return found

    def _located(self, numbers: Sequence[str], error: Exception) -> UserError:
        """Where the file is at fault, if that can be found."""
        wanted = [(j, name) for j, name in enumerate(self.columns) if name in numbers]
        for row, line, cells in self.lines():
            if len(cells) != len(self.columns):
                return UserError(
                    f"line {line} of {self.name} has {len(cells)} cells, but the header has "
                    f"{len(self.columns)}."
                )
            for j, name in wanted if row >= 0 else ():
                if cells[j] and not _is_number(cells[j]):
                    remedy = ": leave cells that are missing empty" * (cells[j] in _MARKS)
                    return UserError(
                        f"line {line}, column {name!r} of {self.name} is {cells[j][:40]!r}, not a "
                        f"number{remedy}."
                    )
        return self._not_utf8() or UserError(f"{self.name} cannot be read: {error}")

    def _not_utf8(self) -> UserError | None:
        """What to say of the first line that is not in UTF-8, if there is one."""
        with self._source.open() as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode()
                except UnicodeDecodeError as error:
                    odd = line[error.start : error.start + 1]
                    return UserError(
                        f"{self.name} is not a table in UTF-8 text: line {number} has the byte "
                        f"{odd.hex()}, which Latin-1 and Windows-1252 have for "
                        f"{odd.decode('cp1252', 'replace')!r}.\nFor example: iconv -f WINDOWS-1252 "
                        f"-t UTF-8 {self.name} > new.csv"
                    )
        return None

    def _damaged(self, error: Exception) -> UserError:
        return UserError(f"{self.name} cannot be read to its end: {error}")

    def _refuse_other_delimiter(self, *, asked: bool) -> None:
        if len(self.columns) > 1:
            return
        header = self.columns[0]
        others = [d for d in _DELIMITERS if d != self._delimiter and d in header]
        if others:
            most = max(others, key=header.count)
            option = "--delimiter tab" if most == "\t" else f'--delimiter "{most}"'
            instead = f"not by {self._delimiter!r}" if asked else "it seems"
            raise UserError(
                f"{self.name} has one column, {header[:60]!r}. Its cells are separated by "
                f"{most!r}, {instead}: use {option}."
            )


def _mostly_numbers(column: Any) -> bool:
    cells = [cell for cell in column.slice(0, 1000).to_pylist() if cell is not None]
    return sum(map(_is_number, cells)) > len(cells) / 2


def _is_number(cell: str) -> bool:
    if cell.lower() in ("true", "false"):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return "_" not in cell


# Files of JSON lines: one object to a line, read some rows at a time.


# Rows of a batch.
_ROWS_OF_JSON = 2**14


def json_lines(source: Input) -> Iterator[tuple[int, dict[str, Any]]]:
    """Number of the line, from 1, and the object in it; empty lines are passed over."""
    try:
        with source.open() as file:
            for line, text in enumerate(file, 1):
                if not text.strip():
                    continue
                try:
                    found = json.loads(text.decode("utf-8-sig"))
                except ValueError as error:
                    raise UserError(f"line {line} of {source.name} is not JSON: {error}") from error
                except RecursionError as error:
                    raise UserError(
                        f"line {line} of {source.name} is nested too deeply to be a row."
                    ) from error
                if not isinstance(found, dict):
                    raise UserError(f"line {line} of {source.name} is not a JSON object.")
                yield line, found
    except (EOFError, zlib.error, OSError) as error:
        raise UserError(f"{source.name} cannot be read to its end: {error}") from error


class JsonLinesFile:
    """A file of JSON lines as a table; names that a line lacks are missing there.

    Attributes
    ----------
    kinds : dict
        Of the columns, judged by all rows.
    """

    def __init__(self, source: Input) -> None:
        self._source = source
        found: dict[str, set[str]] = {}
        n_rows = 0
        for _, cells in json_lines(source):
            n_rows += 1
            for name, value in cells.items():
                found.setdefault(name, set()).add(_form(value))
        if n_rows == 0:
            raise UserError(f"{source.name} has no rows.")
        self._forms = {name: _common(forms) for name, forms in found.items()}
        self.kinds: Kinds = {name: _KINDS.get(form, form) for name, form in self._forms.items()}

    def where(self, row: int) -> str:
        """The line of a row."""
        line, _ = next(islice(json_lines(self._source), row, None), (row + 1, {}))
        return f"line {line}"

    def batches(self, numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
        """Some columns, some rows at a time."""
        import pyarrow as pa

        types = {
            "integer": pa.int64(), "truth": pa.bool_(), "float": pa.float64(), "text": pa.string(),
            "vector": pa.list_(pa.float64()),
        }  # fmt: skip
        names = list(dict.fromkeys([*numbers, *others]))
        rows = (cells for _, cells in json_lines(self._source))
        while some := list(islice(rows, _ROWS_OF_JSON)):
            columns = {}
            for name in names:
                form = self._forms[name]
                values = [cells.get(name) for cells in some]
                if form == "float":
                    values = [_number(v) for v in values]
                elif form == "vector":
                    values = [None if v is None else [_number(n) for n in v] for v in values]
                elif form not in types:
                    values = [None if v is None else json.dumps(v) for v in values]
                columns[name] = pa.array(values, types.get(form, pa.string()))
            yield pa.record_batch(columns)


def _number(value: Any) -> float | None:
    try:
        return None if value is None else float(value)
    except OverflowError:  # as floats of the same size are read
        return math.inf if value > 0 else -math.inf


_KINDS = {"integer": "number", "truth": "boolean", "float": "number"}


def _form(value: Any) -> str:
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "truth"
    if isinstance(value, int):
        return "integer" if abs(value) < 2**63 else "float"
    if isinstance(value, float):
        return "float"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list) and all(_KINDS.get(_form(v)) for v in value if v is not None):
        return "vector"
    return "other"


def _common(forms: set[str]) -> str:
    """What a column holds whose values have these forms."""
    forms = forms - {"nothing"}
    if len(forms) == 1:
        return forms.pop()
    if forms and all(form in _KINDS for form in forms):
        return "float"
    return "mixed values" if forms else "nothing"


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
        pictures = PictureFiles(given.path, given.name)
        return Source(given.name, pictures.kinds, pictures.batches, pictures.where)
    return {"parquet": _parquet, "feather": _feather, "npy": _npy, "npz": _npz}[given.form](given)


def _parquet(given: Input) -> Source:
    import pyarrow.dataset
    import pyarrow.parquet

    path = given.path
    with explain_unreadable("Parquet", given.name):
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
        with explain_unreadable("Parquet", given.name):
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
        explain_unreadable(form, given.name),
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
            explain_unreadable(form, given.name),
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
        X = map_array_file(given.path, given.name)
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


# A folder of pictures as a table: the file, the folder it is in, and its pixels.


FILE, FOLDER, PIXELS = "file", "folder", "pixels"


class PictureFiles:
    """Rows of pictures that can be read.

    Attributes
    ----------
    kinds : dict
        Of the columns: ``file``, ``pixels``, and ``folder`` if they are in several.
    """

    def __init__(self, path: Path, name: str) -> None:
        self._found = _read(path.resolve())
        if not self._found.names:
            raise UserError(f"{name}: none of its pictures can be read. {_first(self._found)}")
        folders = [str(Path(one).parent.as_posix()) for one in self._found.names]
        self._columns = {FILE: self._found.names}
        if len(set(folders)) > 1:
            self._columns[FOLDER] = folders
        self.kinds: Kinds = {**dict.fromkeys(self._columns, "text"), PIXELS: "vector"}

    def batches(self, numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
        """Some of the columns."""
        names = list(dict.fromkeys([*numbers, *others]))
        yield pa.record_batch({name: self._column(name) for name in names})

    def where(self, row: int) -> str:
        """The file of a row."""
        return self._found.names[row]

    def _column(self, name: str) -> Any:
        if name == PIXELS:
            return pa.FixedSizeListArray.from_arrays(pa.array(self._found.X.ravel()), SIDE * SIDE)
        return pa.array(self._columns[name], pa.string())


@lru_cache(maxsize=4)
def _read(path: Path) -> PictureFolder:
    """What a folder holds: a command asks more than once."""
    found = read_pictures(path)
    if found.problems and found.names:
        n = len(found.problems) + len(found.names)
        say(f"note: {len(found.problems)} of {n} pictures are left out. {_first(found)}")
    return found


def _first(found: PictureFolder) -> str:
    return few(found.problems.values(), 2)
