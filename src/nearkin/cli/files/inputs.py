"""What is read: files of every form, pipes and folders, as columns of pyarrow."""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import json
import os
import re
import shutil
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import islice
from math import prod
from pathlib import Path
from tokenize import TokenError
from typing import IO, TYPE_CHECKING, Any, cast

from nearkin.cli.common import (
    UserError,
    matchers,
    np,
    pa,
    parquet,
    pictures,
    quote_names,
    say,
    streams,
    table_reading,
)
from nearkin.cli.files.columns import Choice, Kinds, refuse_twice
from nearkin.errors import InputError, few

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from nearkin.studio.pictures import PictureFolder

# Forms of files, by the name that --format has for them.
FORMS = {
    "csv": "CSV",
    "tsv": "TSV",
    "jsonl": "JSON lines",
    "parquet": "Parquet",
    "feather": "Feather",
    "npy": "NPY",
    "npz": "NPZ",
}
# What a folder of pictures is; no name and no option says so.
PICTURES = "pictures"
ZIPPED = ("csv", "tsv", "jsonl")
_OF_ENDING = {f".{form}": form for form in FORMS} | {".ndjson": "jsonl", ".arrow": "feather"}
_OF_ENDING |= {f"{end}.gz": form for end, form in _OF_ENDING.items() if form in ZIPPED}
_STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_STANDARD_INPUT_NAME = "standard input"
_BYTES_LOOKED_AT = 2**16
_BEGINNINGS = {
    b"PAR1": "parquet",
    b"ARROW1": "feather",
    b"FEA1": "feather",
    b"\x93NUMPY": "npy",
    b"\xd0\xcf\x11\xe0": "excel",
    b"\xff\xfe": "utf-16",
    b"\xfe\xff": "utf-16",
}
_OTHER_FORMS = {
    "excel": "an Excel sheet: save it as CSV",
    "utf-16": "text in UTF-16: save it in UTF-8",
    "zip": "a ZIP archive: unpack it first",
}


@dataclass(frozen=True)
class Input:
    """A file to read, or a copy on disk of what came through a pipe.

    ``name`` is for messages, ``form`` a key of ``FORMS``; zipped is by gzip.
    """

    name: str
    path: Path
    form: str
    is_zipped: bool = False

    def open(self) -> IO[bytes]:
        """Open the file for reading bytes, uncompressed."""
        return _open_bytes(self.path, self.is_zipped)


def ending(path: Path) -> str:
    """Suffix of a file name that says its format, such as ".csv" or ".csv.gz"."""
    suffix = path.suffix.lower()
    return Path(path.stem).suffix.lower() + suffix if suffix == ".gz" else suffix


def detect_form(path: Path) -> str | None:
    """Format by a file's suffix, a key of ``FORMS``; None if the suffix is unknown."""
    return _OF_ENDING.get(ending(path))


def is_stream(path: Path) -> bool:
    """Whether a path is standard input or a pipe, which can be read only once."""
    return str(path) in _STANDARD_INPUT or (
        path.exists() and not path.is_dir() and not stat.S_ISREG(path.stat().st_mode)
    )


def keep_on_disk(path: Path, role: str) -> tuple[str, Path]:
    """Name for messages and path of a file, or of a copy of all that a pipe holds."""
    if is_stream(path):
        return _streams.copy_of(path, role)
    if not path.exists():
        raise UserError(f"{path}: there is no such file.")
    return str(path), path


def find_input(
    path: Path,
    role: str,
    *,
    forms: Sequence[str] = tuple(FORMS),
    form: str | None = None,
    encoding: str | None = None,
) -> Input:
    """The input at a path, with its format; an error unless that is one of ``forms``.

    ``role`` is the option that names it, such as ``--pairs``; ``form`` and ``encoding`` are what
    the user states.
    """
    name, kept = keep_on_disk(path, role)
    if kept.is_dir():
        return Input(name, kept, PICTURES if pictures.holds_pictures(kept) else "parquet")
    if kept.stat().st_size == 0:
        raise UserError(f"{name} is empty.")
    content = detect_content(kept)
    if content == "model" and matchers.is_matcher(kept):
        raise UserError(
            f"{name} is a matcher of records, not a table: nearkin duplicates, link, same, "
            "neighbors, suggest and evaluate take it, before the file of records."
        )
    if content == "model":
        raise UserError(f"{name} is a model, not a table: are the two in each other's place?")
    said = form or (content if is_stream(path) else detect_form(path))
    if said not in forms:
        raise _form_error(path, name, role, content, forms)
    given = Input(name, kept, str(said), _is_zipped(kept))
    if encoding is not None and said in ZIPPED:
        return given if _is_utf8(given) else _streams.decoded(given, encoding)
    _refuse_other_content(name, role, str(said), content)
    return given


def _is_utf8(given: Input) -> bool:
    decoder = codecs.getincrementaldecoder("utf-8")()
    with given.open() as file:
        try:
            while block := file.read(_BYTES_LOOKED_AT):
                if "\0" in decoder.decode(block):  # as in UTF-16
                    return False
            decoder.decode(b"", final=True)
        except UnicodeDecodeError:
            return False
    return True


def detect_content(path: Path) -> str:
    """Format of a file by its first bytes, or the name of other contents."""
    try:
        with _open_bytes(path, _is_zipped(path)) as file:
            head = file.read(_BYTES_LOOKED_AT)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be unpacked: {error}") from error
    for beginning, content in _BEGINNINGS.items():
        if head.startswith(beginning):
            return content
    if head.startswith(b"PK\x03\x04"):
        names = [""]
        with suppress(OSError, zipfile.BadZipFile), zipfile.ZipFile(path) as archive:
            names = archive.namelist()
        if any(name.startswith("xl/") for name in names):
            return "excel"
        return "npz" if all(name.endswith(".npy") for name in names) else "zip"
    if head[8:25] == b'{"__metadata__":{':
        return "model"
    if b"\0" in head[:2]:
        return "utf-16"  # without its mark
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    if line.startswith(b"{"):
        return "jsonl"
    return "tsv" if b"\t" in line and b"," not in line and b";" not in line else "csv"


def describe_content(content: str) -> str:
    """Result of ``detect_content`` in words."""
    if content in ("csv", "tsv"):
        return f"text, perhaps {FORMS[content]}"
    return _OTHER_FORMS.get(content) or FORMS[content]


def _form_error(path: Path, name: str, role: str, content: str, forms: Sequence[str]) -> UserError:
    """Error for a file or pipe of a format that is not taken here."""
    known = "".join(f".{form}, " for form in forms[:-1]).rstrip(", ") + f" or .{forms[-1]}"
    if is_stream(path):
        allowed = " or ".join(FORMS[form] for form in forms)
        return UserError(f"{name} looks like {describe_content(content)}; it must be {allowed}.")
    zipped = "; .csv, .tsv and .jsonl may have .gz after them"
    guess = f" It looks like {describe_content(content)}." if content in _OTHER_FORMS else ""
    if content in forms and role == "DATA":
        guess = f"\nIt looks like {describe_content(content)}: --format {content} if it is."
    return UserError(f"{path}: the name must end in {known}{zipped}.{guess}")


def _refuse_other_content(name: str, role: str, form: str, content: str) -> None:
    """Raise if a file's content is plainly not of the format of its name or option."""
    texts = ("csv", "tsv")  # what is no JSON is found line by line
    if content == form or (content in texts and form in (*texts, "jsonl")):
        return
    remedy = ""
    if content in FORMS:
        remedy = f" Rename it, or say --format {content}." if role == "DATA" else " Rename it."
    shown = describe_content(content)
    if content == "utf-16" and form in ZIPPED:
        remedy = " Say --encoding utf-16." if role == "DATA" else " Save it in UTF-8."
        shown = "text in UTF-16, not in UTF-8"
    raise UserError(
        f"{name} cannot be read as {FORMS[form]}: it looks like {shown.rstrip('.')}.{remedy}"
    )


def _is_zipped(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == b"\x1f\x8b"


def _open_bytes(path: Path, is_zipped: bool) -> IO[bytes]:
    """Open a file for reading, uncompressed."""
    return cast(IO[bytes], gzip.GzipFile(path, "rb")) if is_zipped else open(path, "rb")


class _Streams:
    """Pipes that a command has read, each copied to a temporary file, and what it said of files."""

    def __init__(self) -> None:
        self._roles: dict[str, str] = {}
        self._files: dict[str, Path] = {}
        self._noted: set[str] = set()
        self._folder: tempfile.TemporaryDirectory[str] | None = None

    def claim(self, path: Path, role: str) -> str:
        """Reserve a pipe for one option; returns its key. An error if another option reads it."""
        key = _STANDARD_INPUT_NAME if str(path) in _STANDARD_INPUT else str(path)
        other = self._roles.setdefault(key, role)
        if other != role:
            raise UserError(
                f"both {other} and {role} are to be read from {key}, which can be read only once: "
                "put one of them into a file."
            )
        return key

    def copy_of(self, path: Path, role: str) -> tuple[str, Path]:
        """Name of a pipe, and path of the copy of all that it held."""
        key = self.claim(path, role)
        name = f"the pipe {key}" if key != _STANDARD_INPUT_NAME and path.is_fifo() else key
        if key not in self._files:
            file = self._new_file()
            self._copy(path, file, name)
            self._files[key] = file
        return name, self._files[key]

    def note(self, message: str) -> None:
        """Say something of a file once, however often a command opens it."""
        if message not in self._noted:
            self._noted.add(message)
            say(message)

    def decoded(self, given: Input, encoding: str) -> Input:
        """A copy of a text file in UTF-8; an error if it is not in the encoding."""
        key = f"{given.path} in {encoding}"
        if key not in self._files:
            file = self._new_file()
            try:
                with (
                    io.TextIOWrapper(given.open(), encoding=encoding, newline="") as source,
                    open(file, "w", encoding="utf-8", newline="") as copy,
                ):
                    shutil.copyfileobj(source, copy, 2**20)
            except UnicodeError as error:
                raise UserError(f"{given.name} is not in {encoding}: {error}") from error
            self._files[key] = file
        return replace(given, path=self._files[key], is_zipped=False)

    def _new_file(self) -> Path:
        """Path of a file that is there until the command ends."""
        if self._folder is None:
            self._folder = tempfile.TemporaryDirectory(prefix="nearkin-")
        return Path(self._folder.name, f"stream-{len(self._files)}")

    def _copy(self, path: Path, file: Path, name: str) -> None:
        with open(file, "wb") as copy:
            if name == _STANDARD_INPUT_NAME:
                if sys.stdin is None:
                    raise UserError("standard input is closed: name a file instead of -.")
                _refuse_endless(sys.stdin, name)
                if sys.stdin.isatty():
                    say("reading from the terminal; Ctrl-D ends")
                shutil.copyfileobj(sys.stdin.buffer, copy, 2**20)
            else:
                with open(path, "rb") as source:
                    _refuse_endless(source, name)
                    shutil.copyfileobj(source, copy, 2**20)

    def close(self) -> None:
        """Remove the copies, and forget all."""
        folder = self._folder
        vars(self).update(vars(_Streams()))
        if folder is not None:
            folder.cleanup()


def _refuse_endless(source: IO[Any], name: str) -> None:
    """Raise if a source is a device such as /dev/zero, whose copy would fill the disk."""
    try:
        status = os.fstat(source.fileno())
    except OSError:  # a stand-in
        return
    is_device = stat.S_ISCHR(status.st_mode) and not source.isatty()
    if is_device and not os.path.samestat(status, os.stat(os.devnull)):
        raise UserError(f"{name} is a device, which may have no end: name a file or a pipe.")


_streams = _Streams()


def keep_streams() -> AbstractContextManager[Any]:
    """Remove copies of pipes at the end of a block."""
    return closing(_streams)


def claim_standard_input(role: str) -> None:
    """Reserve standard input for one option; an error if another reads it."""
    _streams.claim(Path("-"), role)


def is_standard_output(path: Path | None) -> bool:
    """Whether a path stands for standard output."""
    return path is not None and os.fspath(path) in ("-", "/dev/stdout")


def refuse_same_files(outputs: Mapping[str, Path], inputs: Mapping[str, Path]) -> None:
    """Raise if a file is both read and written, or written twice, under whatever name."""
    for role, path in outputs.items():
        target = _as_file(path)
        if target is None:
            continue
        for other, source in inputs.items():
            files = source.rglob("*") if source.is_dir() else [source]
            if any(_as_file(file) == target for file in files):
                raise UserError(
                    f"{role} {path}: this is what is read as {other}, and would be lost; give "
                    "another name."
                )
        for other, second in outputs.items():
            if other != role and _as_file(second) == target:
                raise UserError(f"{role} and {other} are one file, {path}: give two names.")


def _as_file(path: Path) -> tuple[int, int] | str | None:
    """Identity of a regular file: device and inode, or its path if it does not exist yet."""
    try:
        found = os.fstat(sys.stdin.fileno()) if str(path) in _STANDARD_INPUT else path.stat()
    except FileNotFoundError:
        return os.path.realpath(path)
    except (OSError, ValueError, AttributeError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


# Rows of a batch; vectors are wide.
_ROWS_OF_A_BATCH, _ROWS_OF_VECTORS = 2**16, 2**12


@dataclass(frozen=True)
class Source:
    """Columns of a file, and how to read some of them."""

    file: str
    kinds: Kinds
    # ``batches(numbers, others)`` goes through these columns, some rows at a time.
    batches: Callable[[Sequence[str], Sequence[str]], Iterator[Any]]
    # Where in the file a row is, as its user sees it.
    where: Callable[[int], str] = "row {}".format
    # Features that have no columns of their own.
    matrix: Any = None
    # What :func:`nearkin.open_rows` reads as well, and faster.
    direct: Input | None = None
    # Columns that are no features unless they are asked for.
    aside: Sequence[str] = ()


def open_source(path: Path, choice: Choice, role: str) -> Source:
    """Open a file or pipe of rows; ``role`` is the option that names it."""
    form = choice.form
    if role != "DATA" and detect_form(path) is not None and not is_stream(path):
        form = None  # it was said of the data
    given = find_input(path, role, form=form, encoding=choice.encoding)
    return open_input(given, choice.delimiter)


def open_input(given: Input, delimiter: str | None) -> Source:
    """Open an input of rows."""
    if given.form in ("csv", "tsv"):
        table = DelimitedFile(given, delimiter)
        return Source(given.name, table.kinds, table.batches, table.where)
    read = {
        "jsonl": _open_json_lines,
        PICTURES: _open_pictures,
        "parquet": _open_parquet,
        "feather": _open_feather,
        "npy": _open_npy,
        "npz": _open_npz,
    }
    return read[given.form](given)


def _open_parquet(given: Input) -> Source:
    """Open a Parquet file, or a folder of them."""
    import pyarrow.dataset
    import pyarrow.parquet

    path = given.path
    with parquet.explain_unreadable("Parquet", given.name):
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
        with parquet.explain_unreadable("Parquet", given.name):
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


def _open_feather(given: Input) -> Source:
    """Open a Feather file of version 2, which is read batch by batch."""
    import pyarrow.feather
    import pyarrow.ipc

    @contextmanager
    def opened(options: Any = None) -> Iterator[Any]:
        with (
            parquet.explain_unreadable("Feather (version 2)", given.name),
            pa.memory_map(str(given.path)) as file,
            pyarrow.ipc.open_file(file, options=options) as reader,
        ):
            yield reader

    with opened() as reader:
        schema = reader.schema
    refuse_twice(schema.names, given.name)

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
        columns = list(dict.fromkeys([*numbers, *others]))
        fields = [schema.get_field_index(column) for column in columns]
        with opened(pyarrow.ipc.IpcReadOptions(included_fields=fields)) as reader:
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number).select(columns)
                batch.validate(full=True)
                yield batch

    return Source(given.name, {field.name: _kind(field.type) for field in schema}, batches)


def _open_npy(given: Input) -> Source:
    """Open an array file, which is mapped to memory."""
    try:
        X = streams.map_array_file(given.path, given.name)
    except OSError as error:
        raise UserError(f"{given.name} cannot be read as an array of numbers: {error}") from error
    return Source(given.name, {}, lambda numbers, others: iter(()), matrix=X, direct=given)


def _open_npz(given: Input) -> Source:
    """Open the array of rows in an NPZ file, with its other arrays as columns."""
    with _explain_npz(given.name), zipfile.ZipFile(given.path) as file:
        headers: dict[str, tuple[tuple[int, ...], int]] = {}
        for member in file.infolist():
            if member.filename.endswith(".npy"):
                with file.open(member) as opened:
                    name = member.filename.removesuffix(".npy")
                    headers[name] = _check_header(opened, member)

        def unpack(name: str) -> NDArray[Any]:
            with file.open(f"{name}.npy") as opened:
                try:
                    return np.lib.format.read_array(opened, allow_pickle=False)
                except MemoryError as error:
                    raise UserError(
                        f"{given.name} unpacks to {headers[name][1] / 1e9:.1f} GB, more memory "
                        "than there is: write its rows to an .npy file, which is read where it "
                        "lies."
                    ) from error

        matrices = [name for name, (shape, _) in headers.items() if len(shape) == 2]
        if "X" in matrices:
            matrices = ["X"]
        if len(matrices) != 1:
            raise UserError(
                f"{given.name} must have one array of rows and columns, or one named X; it has "
                f"{quote_names(matrices) or 'none'}."
            )
        X = unpack(matrices[0])
        beside = {
            name: pa.array(array)
            for name, (shape, _) in headers.items()
            if shape == X.shape[:1] and (array := unpack(name)).dtype.kind in "biufU"
        }

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
        yield pa.record_batch({name: beside[name] for name in [*numbers, *others]})

    return Source(given.name, dict.fromkeys(beside, "number"), batches, matrix=X)


def _kind(kind: Any) -> str:
    kinds = {
        "text": "dictionary string large_string string_view",  # categories, whatever their values
        "boolean": "boolean",
        "number": "integer floating",
        "date": "temporal",
        "vector": "list large_list fixed_size_list",
    }
    for found, types in kinds.items():
        if any(getattr(pa.types, f"is_{name}")(kind) for name in types.split()):
            return found
    return str(kind)


_DELIMITERS = ",;\t|"
_SIGNS = {"\t": "tab"}
_SAY_ENCODING = (
    "Say what it is in: --encoding windows-1252 (Western Europe), windows-1250 (Central Europe), "
    "windows-1251 (Cyrillic), shift_jis or gb18030. Files of pairs are in UTF-8."
)
# Lines by which it is seen what separates cells.
_LINES_LOOKED_AT = 20
# Numbers with a decimal comma, as in files whose cells are separated by another sign.
_GROUPED = re.compile(r"\s*[-+]?\d{1,3}(\.\d{3})+,\d+\s*")
_DECIMAL_COMMA = re.compile(r"\s*[-+]?\d*,\d+([eE][-+]?\d+)?\s*")
# Cells of one field; the csv module's own limit is small for vectors or texts.
csv.field_size_limit(2**30)
# Bytes that are read at a time, and what is tried where a row is longer.
_BLOCK, _LARGE_BLOCKS = 2**20, (2**24, 2**28, 2**30)
# What people and programs write where a number is missing.
_MARKS = {"NA", "N/A", "n/a", "na", "NULL", "null", "None", "?", "-", ".", "missing"}


class DelimitedFile:
    """A text file with a header, whose columns' kinds are inferred from the first rows."""

    def __init__(self, source: Input, delimiter: str | None) -> None:
        self._source = source
        self.name = source.name
        self._point = "."
        usual = "\t" if source.form == "tsv" else ","
        self._delimiter: str = delimiter or usual
        if delimiter is None:
            self._delimiter = self._find_delimiter()
        lines = self.lines()
        _, _, self.columns = next(lines, (0, 0, []))
        if not self.columns:
            raise UserError(f"{self.name} is empty.")
        self._refuse_other_delimiter(asked=delimiter is not None)
        refuse_twice(self.columns, self.name)
        if next(lines, None) is None:
            raise UserError(f"{self.name} has a header but no rows.")
        self.kinds: Kinds = self._infer_kinds()
        if delimiter is None and self._delimiter != usual:
            commas = ", and numbers have decimal commas" * (self._point == ",")
            sign = _SIGNS.get(self._delimiter, self._delimiter)
            _streams.note(f"note: cells of {self.name} are separated by {sign!r}{commas}.")

    def _find_delimiter(self) -> str:
        """The sign by which the first lines have equally many cells; the usual one if none has."""
        usual = self._delimiter
        for sign in usual + _DELIMITERS:
            self._delimiter = sign
            widths = {len(cells) for _, _, cells in islice(self.lines(), _LINES_LOOKED_AT)}
            if len(widths) == 1 and widths.pop() > 1:
                return sign
        return usual

    def lines(self) -> Iterator[tuple[int, int, list[str]]]:
        """Iterate over row number (-1 for the header), first line number, and cells."""
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
            raise self._encoding_error() or self._read_error(error) from error
        except csv.Error as error:
            raise UserError(f"{self.name} is not a table in UTF-8 text: {error}") from error
        except (EOFError, zlib.error, OSError) as error:
            raise self._read_error(error) from error

    def where(self, row: int) -> str:
        """First line of a row, such as "line 2" for row 0, as an editor counts."""
        for number, line, _ in self.lines():
            if number == row:
                return f"line {line}"
        return f"row {row}"

    def batches(self, numbers: Sequence[str], texts: Sequence[str]) -> Iterator[Any]:
        """Record batches of some columns; those in ``texts`` stay text."""
        usual = {"number": pa.float64(), "boolean": pa.bool_()}
        types = dict.fromkeys([*numbers, *texts], pa.string())
        types |= {name: usual.get(self.kinds[name], pa.string()) for name in numbers}
        return self._read(types, numbers)

    def _read(self, types: dict[str, Any] | None, numbers: Sequence[str]) -> Iterator[Any]:
        """Record batches of columns of these types, or of all as pyarrow sees them.

        A row must fit into two blocks of bytes: if one cannot be read, larger ones are tried.
        """
        size = self._source.path.stat().st_size
        blocks = [_BLOCK, *(b for b in _LARGE_BLOCKS if self._source.is_zipped or b < 16 * size)]
        blocks = blocks if self._source.is_zipped or size > _BLOCK else blocks[:1]
        n_read = 0
        for block in blocks:
            skipped = n_read
            try:
                with self._open_reader(types, block) as reader:
                    for batch in reader:
                        fresh = batch.slice(min(skipped, len(batch)))
                        skipped -= len(batch) - len(fresh)
                        n_read += len(fresh)
                        yield fresh
                return
            except pa.ArrowInvalid as error:
                if block == blocks[-1]:
                    raise self._locate_error(numbers, error) from error
            except OSError as error:
                raise self._read_error(error) from error

    def _open_reader(self, types: dict[str, Any] | None, block: int) -> Any:
        """Open the file with pyarrow, to be read in blocks of that many bytes."""
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
                decimal_point=self._point,
                column_types=types,
                include_columns=None if types is None else list(types),
            ),
        )

    def _infer_kinds(self) -> Kinds:
        """Kind of each column by the first rows."""
        first = self._read_first()
        if self._delimiter != "," and _has_decimal_commas(first):
            self._point = ","
            first = self._read_first()
        found: Kinds = {}
        for name, column in zip(first.schema.names, first.columns, strict=True):
            kind = column.type
            if pa.types.is_binary(kind):  # what pyarrow makes of text that is none
                raise self._encoding_error() or UserError(f"{self.name} is not in UTF-8.")
            found[name] = "number"
            if pa.types.is_boolean(kind):
                found[name] = "boolean"
            elif pa.types.is_temporal(kind):
                found[name] = "date"
            elif pa.types.is_string(kind):  # with a cell that is none, perhaps: reading finds it
                cells = _first_cells(column)
                if sum(map(self._is_number, cells)) <= len(cells) / 2:
                    found[name] = "text"
        return found

    def _read_first(self) -> Any:
        """The first rows, of types that pyarrow sees in them."""
        for batch in self._read(None, []):
            return batch
        raise self._locate_error([], InputError("it has no rows"))

    def _is_number(self, cell: str) -> bool:
        """Whether pyarrow reads a cell as a number or a truth value."""
        if cell.lower() in ("true", "false"):
            return True
        try:
            float(cell.replace(",", ".") if self._point == "," else cell)
        except ValueError:
            return False
        return "_" not in cell

    def _locate_error(self, numbers: Sequence[str], error: Exception) -> UserError:
        """Error that names the line at fault, if it can be found."""
        wanted = [(j, name) for j, name in enumerate(self.columns) if name in numbers]
        for row, line, cells in self.lines():
            if len(cells) != len(self.columns):
                return UserError(
                    f"line {line} of {self.name} has {len(cells)} cells, but the header has "
                    f"{len(self.columns)}."
                )
            for j, name in wanted if row >= 0 else ():
                if cells[j] and not self._is_number(cells[j]):
                    remedy = ": leave cells that are missing empty" * (cells[j] in _MARKS)
                    return UserError(
                        f"line {line}, column {name!r} of {self.name} is {cells[j][:40]!r}, not a "
                        f"number{remedy}."
                    )
        return self._encoding_error() or UserError(f"{self.name} cannot be read: {error}")

    def _encoding_error(self) -> UserError | None:
        """Error for the first line that is not in UTF-8; None if all are."""
        with self._source.open() as file:
            for number, line in enumerate(file, 1):
                try:
                    line.decode()
                except UnicodeDecodeError as error:
                    odd = line[error.start : error.start + 1]
                    return UserError(
                        f"{self.name} is not a table in UTF-8 text: line {number} has the byte "
                        f"{odd.hex()}, which Latin-1 and Windows-1252 have for "
                        f"{odd.decode('cp1252', 'replace')!r}. {_SAY_ENCODING}"
                    )
        return None

    def _read_error(self, error: Exception) -> UserError:
        return UserError(f"{self.name} cannot be read to its end: {error}")

    def _refuse_other_delimiter(self, *, asked: bool) -> None:
        """Raise if the only column's name contains another delimiter."""
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


def _first_cells(column: Any) -> list[str]:
    """The first 1000 cells of a column of text that are not empty."""
    return [cell for cell in column.slice(0, 1000).to_pylist() if cell is not None]


def _has_decimal_commas(rows: Any) -> bool:
    """Whether a column is numbers with decimal commas, and none has numbers with points.

    Numbers such as 1.234,50 stay texts, which a table's encoder reads.
    """
    if any(pa.types.is_floating(column.type) for column in rows.columns):
        return False
    texts = [_first_cells(c) for c in rows.columns if pa.types.is_string(c.type)]
    if any(_GROUPED.fullmatch(cell) for cells in texts for cell in cells):
        return False
    return any(
        cells and sum(bool(_DECIMAL_COMMA.fullmatch(cell)) for cell in cells) > len(cells) / 2
        for cells in texts
    )


_ROWS_OF_JSON = 2**14


def read_json_lines(source: Input) -> Iterator[tuple[int, dict[str, Any]]]:
    """Iterate over line number, from 1, and the line's JSON object; empty lines are skipped."""
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


def find_json_line(source: Input, row: int) -> str:
    """Line of a row, such as "line 1" for row 0."""
    line, _ = next(islice(read_json_lines(source), row, None), (row + 1, {}))
    return f"line {line}"


def _open_json_lines(given: Input) -> Source:
    """Open a file of JSON lines: absent cells are missing, kinds are inferred from all rows."""
    found: dict[str, set[str]] = {}
    n_rows = 0
    for _, cells in read_json_lines(given):
        n_rows += 1
        for name, value in cells.items():
            found.setdefault(name, set()).add(_form(value))
    if n_rows == 0:
        raise UserError(f"{given.name} has no rows.")
    form_of = {name: _common_form(forms) for name, forms in found.items()}

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
        types = {
            "integer": pa.int64(), "truth": pa.bool_(), "float": pa.float64(), "text": pa.string(),
            "vector": pa.list_(pa.float64()),
        }  # fmt: skip
        rows = (cells for _, cells in read_json_lines(given))
        while some := list(islice(rows, _ROWS_OF_JSON)):
            columns = {}
            for name in dict.fromkeys([*numbers, *others]):
                form = form_of[name]
                values = [cells.get(name) for cells in some]
                if form == "float":
                    values = _to_numbers(values)
                elif form == "vector":
                    values = [None if v is None else _to_numbers(v) for v in values]
                elif form not in types:
                    values = [None if v is None else json.dumps(v) for v in values]
                columns[name] = pa.array(values, types.get(form, pa.string()))
            yield pa.record_batch(columns)

    kinds = {name: _KINDS.get(form, form) for name, form in form_of.items()}
    return Source(given.name, kinds, batches, partial(find_json_line, given))


def _to_numbers(values: Any) -> list[float | None]:
    """JSON numbers as floats, infinite where too large."""
    return [None if value is None else table_reading.to_float(value) for value in values]


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


def _common_form(forms: set[str]) -> str:
    """Kind of a column whose values are of these kinds."""
    forms = forms - {"nothing"}
    if len(forms) == 1:
        return forms.pop()
    if forms and all(form in _KINDS for form in forms):
        return "float"
    return "mixed values" if forms else "nothing"


@contextmanager
def _explain_npz(name: str) -> Iterator[None]:
    """Turn errors of unpacking in a block into one that names the file."""
    try:
        yield
    except UserError:
        raise
    # The last two are of headers, and of ways to compress that this Python lacks.
    except (
        *(ValueError, OSError, EOFError, zipfile.BadZipFile, zlib.error),
        *(SyntaxError, TokenError, TypeError, OverflowError, RuntimeError),
    ) as error:
        raise UserError(f"{name} cannot be read as NPZ: {error}") from error


def _check_header(opened: IO[bytes], member: zipfile.ZipInfo) -> tuple[tuple[int, ...], int]:
    """Shape and size in bytes from an array's header; an error if the file holds less."""
    version = np.lib.format.read_magic(opened)
    read_header = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    if version not in read_header:
        raise InputError(f"{member.filename} is of version {version}, which has no numbers")
    shape, _, dtype = read_header[version](opened)
    claimed, held = prod(shape) * dtype.itemsize, member.file_size - opened.tell()
    if claimed > held and not dtype.hasobject:
        raise InputError(f"{member.filename} is to have {claimed} bytes, and has {held}")
    return shape, claimed


# Columns of a folder of pictures.
FILE, FOLDER, PIXELS = "file", "folder", "pixels"


def _open_pictures(given: Input) -> Source:
    """Open a folder of pictures as a table of file, folder and pixels."""
    found = _read_pictures(given.path.resolve())
    if not found.names:
        problems = few(found.problems.values(), 2)
        raise UserError(f"{given.name}: none of its pictures can be read. {problems}")
    texts = {FILE: found.names}
    folders = [Path(name).parent.as_posix() for name in found.names]
    if len(set(folders)) > 1:
        texts[FOLDER] = folders

    def column(name: str) -> Any:
        if name == PIXELS:
            width = found.X.shape[1]
            return pa.FixedSizeListArray.from_arrays(pa.array(found.X.ravel()), width)
        return pa.array(texts[name], pa.string())

    def batches(numbers: Sequence[str], others: Sequence[str]) -> Iterator[Any]:
        yield pa.record_batch(
            {name: column(name) for name in list(dict.fromkeys([*numbers, *others]))}
        )

    kinds = {**dict.fromkeys(texts, "text"), PIXELS: "vector"}
    return Source(given.name, kinds, batches, found.names.__getitem__)


@lru_cache(maxsize=4)
def _read_pictures(path: Path) -> PictureFolder:
    """Pictures of a folder, cached since a command asks more than once."""
    found = pictures.read_pictures(path)
    if found.problems and found.names:
        n = len(found.problems) + len(found.names)
        problems = few(found.problems.values(), 2)
        say(f"note: {len(found.problems)} of {n} pictures are left out. {problems}")
    return found
