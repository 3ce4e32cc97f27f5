"""What is read: files, by their names and contents, and pipes, which are kept for a while."""

from __future__ import annotations

import gzip
import os
import shutil
import stat
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from nearkin.cli.common import UserError, say

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
_STANDARD_INPUT = ("-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0")
_STANDARD_INPUT_NAME = "standard input"
_BYTES_LOOKED_AT = 2**16
_GZIP = b"\x1f\x8b"
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
    """Something to read, on the disk.

    Attributes
    ----------
    name : str
        For messages.
    path : Path
        Where its bytes are: the file itself, or what came through a pipe.
    form : str
        One of the names in ``FORMS``.
    is_zipped : bool
        Whether its bytes are compressed with gzip.
    """

    name: str
    path: Path
    form: str
    is_zipped: bool = False

    def open(self) -> IO[bytes]:
        """Open it to read its bytes, uncompressed."""
        return _unzipped(self.path) if self.is_zipped else open(self.path, "rb")


def form_of_name(path: Path) -> str | None:
    """The form that the ending of a name stands for; None if it says nothing."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes[-1:] == [".gz"]:
        form = _OF_ENDING.get(suffixes[-2]) if len(suffixes) > 1 else None
        return form if form in ZIPPED else None
    return _OF_ENDING.get(suffixes[-1]) if suffixes else None


def is_stream(path: Path) -> bool:
    """Whether this is standard input or a pipe, which can be read only once."""
    return str(path) in _STANDARD_INPUT or (
        path.exists() and not path.is_dir() and not stat.S_ISREG(path.stat().st_mode)
    )


def on_disk(path: Path, role: str) -> tuple[str, Path]:
    """Name for messages, and a file: itself, or one that has all of a pipe."""
    if is_stream(path):
        return _streams.kept(path, role)
    if not path.exists():
        raise UserError(f"{path}: there is no such file.")
    return str(path), path


def found_input(
    path: Path,
    role: str,
    *,
    forms: Sequence[str] = tuple(FORMS),
    form: str | None = None,
) -> Input:
    """A file or a pipe, with its form.

    Parameters
    ----------
    path : Path
        "-" is standard input.
    role : str
        What the command line calls it, such as ``--pairs``.
    forms : list of str
        What it may be.
    form : str, optional
        What it is whatever its name and content say.

    Raises
    ------
    UserError
        If it is not there, empty, or something else; the message says what it seems to be.
    """
    name, kept = on_disk(path, role)
    if kept.is_dir():
        from nearkin.studio.pictures import holds_pictures

        return Input(name, kept, PICTURES if holds_pictures(kept) else "parquet")
    if kept.stat().st_size == 0:
        raise UserError(f"{name} is empty.")
    content = content_of(kept)
    if content == "model":
        raise _no_table(name, kept)
    said = form or (content if is_stream(path) else form_of_name(path))
    if said not in forms:
        raise _wrong_form(path, name, role, content, forms)
    _refuse_other_content(name, role, str(said), content)
    return Input(name, kept, str(said), _is_zipped(kept))


def _no_table(name: str, path: Path) -> UserError:
    """What is wrong with a file that was learned instead of one to learn from."""
    from nearkin.records.matcher import is_matcher  # with NumPy, for which help does not wait

    if not is_matcher(path):
        return UserError(f"{name} is a model, not a table: are the two in each other's place?")
    return UserError(
        f"{name} is a matcher of records, not a table: nearkin duplicates, link, same, neighbors, "
        "suggest and evaluate take it, before the file of records."
    )


def content_of(path: Path) -> str:
    """What a file seems to hold by its first bytes: a form, or a name of other contents."""
    try:
        with _unzipped(path) if _is_zipped(path) else open(path, "rb") as file:
            head = file.read(_BYTES_LOOKED_AT)
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{path} cannot be unpacked: {error}") from error
    for beginning, content in _BEGINNINGS.items():
        if head.startswith(beginning):
            return content
    if head.startswith(b"PK\x03\x04"):
        return _content_of_zip(path)
    if head[8:25] == b'{"__metadata__":{':
        return "model"
    if b"\0" in head[:2]:
        return "utf-16"  # without its mark
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().partition(b"\n")[0]
    if line.startswith(b"{"):
        return "jsonl"
    return "tsv" if b"\t" in line and b"," not in line and b";" not in line else "csv"


def _content_of_zip(path: Path) -> str:
    try:
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    except (OSError, zipfile.BadZipFile):
        return "zip"
    if any(name.startswith("xl/") for name in names):
        return "excel"
    return "npz" if all(name.endswith(".npy") for name in names) else "zip"


def seems(content: str) -> str:
    """What ``content_of`` found, in words."""
    if content in ("csv", "tsv"):
        return f"text, perhaps {FORMS[content]}"
    return _OTHER_FORMS.get(content) or FORMS[content]


def _wrong_form(path: Path, name: str, role: str, content: str, forms: Sequence[str]) -> UserError:
    known = "".join(f".{form}, " for form in forms[:-1]).rstrip(", ") + f" or .{forms[-1]}"
    if is_stream(path):
        allowed = " or ".join(FORMS[form] for form in forms)
        return UserError(f"{name} looks like {seems(content)}; it must be {allowed}.")
    zipped = "; .csv, .tsv and .jsonl may have .gz after them"
    guess = f" It looks like {seems(content)}." if content in _OTHER_FORMS else ""
    if content in forms and role == "DATA":
        guess = f"\nIt looks like {seems(content)}: --format {content} if it is."
    return UserError(f"{path}: the name must end in {known}{zipped}.{guess}")


def _refuse_other_content(name: str, role: str, form: str, content: str) -> None:
    """Raise if a file is plainly something else than its name or an option says."""
    texts = ("csv", "tsv")  # what is no JSON is found line by line
    if content == form or (content in texts and form in (*texts, "jsonl")):
        return
    remedy = ""
    if content in FORMS:
        remedy = f" Rename it, or say --format {content}." if role == "DATA" else " Rename it."
    shown = seems(content)
    if content == "utf-16" and form in ZIPPED:
        remedy = f"\nFor example: iconv -f UTF-16 -t UTF-8 {name} > new.{form}"
        shown = "text in UTF-16, not in UTF-8"
    raise UserError(
        f"{name} cannot be read as {FORMS[form]}: it looks like {shown.rstrip('.')}.{remedy}"
    )


def _is_zipped(path: Path) -> bool:
    with open(path, "rb") as file:
        return file.read(2) == _GZIP


def _unzipped(path: Path) -> IO[bytes]:
    return cast(IO[bytes], gzip.GzipFile(path, "rb"))


class _Streams:
    """Streams that a command has read, each into a file of its own."""

    def __init__(self) -> None:
        self._kept: dict[str, tuple[str, Path]] = {}
        self._stack = ExitStack()
        self._folder: Path | None = None

    def claim(self, path: Path, role: str) -> str:
        """Let one part of the command line have a stream; gives what it is kept by."""
        key = _STANDARD_INPUT_NAME if str(path) in _STANDARD_INPUT else str(path)
        other = self._kept.setdefault(key, (role, Path()))[0]
        if other != role:
            raise UserError(
                f"both {other} and {role} are to be read from {key}, which can be read only once: "
                "put one of them into a file."
            )
        return key

    def kept(self, path: Path, role: str) -> tuple[str, Path]:
        """Name of a stream, and the file that has all of it."""
        key = self.claim(path, role)
        name = f"the pipe {key}" if key != _STANDARD_INPUT_NAME and path.is_fifo() else key
        file = self._kept[key][1]
        if file == Path():
            if self._folder is None:
                folder = tempfile.TemporaryDirectory(prefix="nearkin-")
                self._folder = Path(self._stack.enter_context(folder))
            file = self._folder / f"stream-{len(self._kept)}"
            self._copy(path, file, name)
            self._kept[key] = (role, file)
        return name, file

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
        self._kept.clear()
        self._folder = None
        self._stack.close()


def _refuse_endless(source: IO[Any], name: str) -> None:
    """Raise if this is a device such as /dev/zero, whose copy would fill the disk."""
    try:
        status = os.fstat(source.fileno())
    except OSError:  # a stand-in
        return
    is_device = stat.S_ISCHR(status.st_mode) and not source.isatty()
    if is_device and not os.path.samestat(status, os.stat(os.devnull)):
        raise UserError(f"{name} is a device, which may have no end: name a file or a pipe.")


_streams = _Streams()


@contextmanager
def keeping_streams() -> Iterator[None]:
    """What comes through pipes is kept within this block, in files that are removed at its end."""
    try:
        yield
    finally:
        _streams.close()


def claim_standard_input(role: str) -> None:
    """Raise if something else is read from standard input, and let nothing else be."""
    _streams.claim(Path("-"), role)


def is_standard_output(path: Path | None) -> bool:
    """Whether a name stands for standard output."""
    return path is not None and os.fspath(path) in ("-", "/dev/stdout")


def refuse_same_files(outputs: Mapping[str, Path], inputs: Mapping[str, Path]) -> None:
    """Raise if a file that is to be written is read too, or written twice, whatever its name.

    Both are by what the command line calls them.
    """
    for role, path in outputs.items():
        target = _as_file(path)
        if target is None:
            continue
        for other, source in inputs.items():
            if _is_within(target, source):
                raise UserError(
                    f"{role} {path}: this is what is read as {other}, and would be lost; give "
                    "another name."
                )
        for other, second in outputs.items():
            if other != role and _as_file(second) == target:
                raise UserError(f"{role} and {other} are one file, {path}: give two names.")


def _as_file(path: Path) -> tuple[int, int] | str | None:
    """What tells a file from all others, also one that is not there yet; None for other things."""
    try:
        found = os.fstat(sys.stdin.fileno()) if str(path) in _STANDARD_INPUT else path.stat()
    except FileNotFoundError:
        return os.path.realpath(path)
    except (OSError, ValueError, AttributeError):
        return None
    return (found.st_dev, found.st_ino) if stat.S_ISREG(found.st_mode) else None


def _is_within(target: tuple[int, int] | str, source: Path) -> bool:
    """Whether a file is an input, or one of the files of an input that is a folder."""
    if source.is_dir():
        return any(_as_file(file) == target for file in source.rglob("*"))
    return _as_file(source) == target
