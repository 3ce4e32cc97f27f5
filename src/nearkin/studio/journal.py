"""A journal: a file of entries that are on the disk once they are acknowledged.

Each line is a JSON object, ``{"check":"1c291ca3","entry":{...}}``, whose check is the CRC-32 of the
entry's text, begun with the check of the line before: a line that is changed, lost or moved shows.
The first says what the journal is and which data it belongs to. Lines that say ``opened`` name the
process that held the journal from there on.
"""

from __future__ import annotations

import errno
import json
import os
import shutil
import sys
import tempfile
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from nearkin._version import __version__
from nearkin.errors import InputError, InputTypeError, counted, few
from nearkin.messages import notice
from nearkin.storage.files import StrPath, is_written_through
from nearkin.studio.events import Event, read_event, rename_rows, rows_in
from nearkin.studio.records import MOST_NAMES, RecordIdentity, StudioRecords, make_distinct

# Windows locks bytes: one that no file reaches.
_LOCKED_BYTE = 1 << 62
# How often a file may be taken away while one piece is written.
_ATTEMPTS = 3


class FileInUse(Exception):
    """Another process, or another part of this one, has the file open."""


class FileDisplaced(OSError):
    """The file was taken away or changed by others, and cannot be put back."""


class KeptFile:
    """A locked file that is only appended to, and whose content is held in memory.

    It is created if need be; raises FileInUse if it is locked already. Deleting, moving or emptying
    it while it is open does no harm: before and after each append the file of this name is checked,
    and written anew if need be.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "lines.txt"
    ...     file = KeptFile(path)
    ...     file.append(b"one")
    ...     path.unlink()
    ...     file.append(b" two")
    ...     file.close()
    ...     print(path.read_text())
    one two
    """

    def __init__(self, path: StrPath) -> None:
        self.path = Path(path)
        self._file: int | None = _open_locked(self.path)
        # All bytes that are safe on the disk.
        self.content = bytearray(_read(self._file))
        self._left = _fingerprint(os.fstat(self._file))
        # What an error may have left behind the content.
        self._tried = b""

    def cut(self, length: int) -> None:
        """Drop the content after ``length`` bytes; the next append removes it from the disk."""
        self._tried = bytes(self.content[length:])
        del self.content[length:]

    def append(self, piece: bytes) -> None:
        """Append bytes, which are on the disk, in the file of this name, when this returns.

        Raises FileDisplaced if another program replaced the file, and it cannot be restored: the
        content stays in memory, and is written once that is put right. Raises OSError if writing
        failed, for example on a full disk: the file is then as it was before.
        """
        for _ in range(_ATTEMPTS):
            self.restore()
            self._write(self._descriptor, len(self.content), piece)
            if not self.content:
                _flush_folder(self.path.parent)
            if self._has_its_name():
                self._left = _fingerprint(os.fstat(self._descriptor))
                self.content += piece
                self._tried = b""
                return
        raise FileDisplaced(errno.EBUSY, "it is taken away again and again", str(self.path))

    def restore(self) -> bool:
        """Ensure that the file of this name holds the content; return whether it had to be written.

        Another file of this name is completed if it holds a beginning of the content; otherwise it
        is left as it is, and FileDisplaced is raised.
        """
        if self._is_untouched():
            return False
        try:
            return self._restore_content()
        except FileInUse as error:
            reason = "another studio has a file of that name open"
            raise FileDisplaced(errno.EBUSY, reason, str(self.path)) from error
        except OSError as error:
            raise FileDisplaced(
                error.errno, error.strerror or str(error), str(self.path)
            ) from error

    def _restore_content(self) -> bool:
        """Open the file of this name anew if need be, and write what it lacks of the content."""
        before = self._descriptor
        file = before if self._has_its_name() else _open_locked(self.path)
        try:
            lacked = self._complete(file)
            if file != before:
                _flush_folder(self.path.parent)
        except BaseException:
            if file != before:
                os.close(file)
            raise
        if file != before:
            os.close(before)
            self._file = file
        self._left = _fingerprint(os.fstat(file))
        return lacked or file != before

    def write_copy(self) -> Path:
        """Write the content to a new file beside this one, or a temporary one; return its path."""
        for folder in (self.path.parent, None):
            with suppress(OSError):
                file, name = tempfile.mkstemp(self.path.suffix, f"{self.path.stem}.", folder)
                try:
                    self._write(file, 0, bytes(self.content))
                finally:
                    os.close(file)
                return Path(name)
        raise OSError(errno.EIO, "there is no place to write to", str(self.path))

    def close(self) -> None:
        """Close and unlock the file. Closing twice does no harm."""
        if self._file is not None:
            os.close(self._file)  # which unlocks it
            self._file = None

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file is None

    @property
    def _descriptor(self) -> int:
        """Descriptor of the open file; raise if it is closed."""
        if self._file is None:
            raise InputError(f"{self.path} is closed.")
        return self._file

    def _complete(self, file: int) -> bool:
        """Write what a file lacks of the content; return whether it lacked anything."""
        there = _read(file)
        if not (bytes(self.content) + self._tried).startswith(there):
            raise FileDisplaced(
                errno.EEXIST, "a file of that name holds something else", str(self.path)
            )
        lacks = len(there) < len(self.content)
        if lacks:
            self._write(file, len(there), bytes(self.content[len(there) :]))
        return lacks

    def _write(self, file: int, length: int, piece: bytes) -> None:
        """Cut a file to ``length`` bytes, append a piece and flush it; cut it again on failure."""
        try:
            os.ftruncate(file, length)  # what an error before may have left
            os.lseek(file, length, os.SEEK_SET)
            left = memoryview(piece)
            while left:
                left = left[os.write(file, left) :]
            os.fsync(file)
        except BaseException:
            self._tried = piece
            with suppress(OSError):
                os.ftruncate(file, length)
                os.fsync(file)
            raise

    def _has_its_name(self) -> bool:
        """Whether the path still leads to the open file."""
        try:
            return os.path.samestat(os.fstat(self._descriptor), os.stat(self.path))
        except OSError:
            return False

    def _is_untouched(self) -> bool:
        """Whether the file at the path is as the last write left it."""
        try:
            return _fingerprint(os.stat(self.path)) == self._left
        except OSError:
            return False


def _fingerprint(stat: os.stat_result) -> tuple[int, ...]:
    """Device, inode, size and time of change, which differ once another program touches a file."""
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def _open_locked(path: Path) -> int:
    """Open a file for reading and writing, create it if need be, and lock it; its descriptor."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, "A folder, not a journal", str(path))
    if is_written_through(path):  # reading a pipe to its end would never end
        raise OSError(errno.EINVAL, "A pipe or a device, not a journal", str(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, f"There is no folder {path.parent}; make it first", str(path)
        )
    while True:
        file = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0), 0o600)
        try:
            _lock(file, path)
            # Whoever had it before may have taken it away in between.
            if path.exists() and os.path.samestat(os.fstat(file), os.stat(path)):
                return file
        except BaseException:
            os.close(file)
            raise
        os.close(file)


def _lock(file: int, path: Path) -> None:
    """Lock an open file for this process alone; raise FileInUse if another has locked it."""
    try:
        if sys.platform == "win32":
            import msvcrt

            os.lseek(file, _LOCKED_BYTE, os.SEEK_SET)
            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EACCES, errno.EAGAIN, errno.EDEADLK):
            raise FileInUse(str(path)) from error
        raise OSError(
            error.errno,
            f"It cannot be locked ({error.strerror}), so two could write to it at once: put it on "
            "a disk of this machine",
            str(path),
        ) from error


def _read(file: int) -> bytes:
    """Read the whole of an open file."""
    os.lseek(file, 0, os.SEEK_SET)
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _flush_folder(folder: Path) -> None:
    """Flush a folder, so that a new file's name is on the disk too."""
    if sys.platform == "win32":
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)


FORMAT = "nearkin journal"
# What entries say, and by what they name records; others are refused.
VERSION = 3

Line = dict[str, Any]

_START, _MIDDLE, _END = b'{"check":"', b'","entry":', b"}\n"
_DIGITS = 8
# What every journal begins with, but for the digits of its first check.
_FIRST = f'{{"format":"{FORMAT}"'.encode()


class JournalError(InputError):
    """The file is no journal, is damaged, or belongs to other data."""


class OtherData(JournalError):
    """The journal has answers about other data."""


class JournalInUse(InputError):
    """Another process, or another part of this one, has the journal open."""


class InMemory:
    """Events in memory alone, in place of a journal."""

    path = None
    n_away = 0

    def __init__(self) -> None:
        self.events: list[Event] = []

    def append(self, event: Event) -> None:
        """Add an event."""
        self.events.append(event)

    def close(self) -> None:
        """Do nothing: there is no file to close."""


class Journal:
    """Entries in a file, locked while it is open, and created if need be.

    A new one's first line tells ``about`` the data for people, such as the name of its file, and
    has the parts of ``header``: plain JSON. Of one that exists, ``check`` is called with the first
    line and the list of its lines with entries; it may raise a JournalError. Raises JournalInUse if
    the journal is open already, in whatever process, and JournalError if it is damaged, no journal,
    or of other data; the file is left as it is.

    A last line that a crash cut short was never acknowledged, and is removed. Any other damage is
    an error that names the line.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "answers.journal"
    ...     with Journal(path) as journal:
    ...         journal.append({"left": 3, "right": 5, "same": True})
    ...     with Journal(path) as journal:
    ...         print(journal.entries)
    [{'left': 3, 'right': 5, 'same': True}]
    """

    def __init__(
        self,
        path: StrPath,
        about: dict[str, Any] | None = None,
        header: Line | None = None,
        check: Callable[[Line, list[Line]], None] | None = None,
    ) -> None:
        try:
            self._file = KeptFile(path)
        except FileInUse as error:
            raise JournalInUse(_explain_lock(Path(path))) from error
        try:
            self._resume({"about": about or {}, **(header or {})}, check)
        except BaseException:
            self._file.close()
            raise
        self.path = self._file.path

    @property
    def entries(self) -> list[dict[str, Any]]:
        """All entries, in the order in which they were appended."""
        return [line["entry"] for line in self.lines]

    def append(self, entry: dict[str, Any], **beside: Any) -> None:
        """Append an entry, which is on the disk, in the file of this name, when this returns.

        Its line has further parts ``beside`` it. Raises OSError if writing failed, for example on a
        full disk, or if another file has taken the journal's name; earlier entries are safe, or in
        memory until they can be written again.
        """
        line = {**beside, "entry": entry}
        self._write(line)
        self.lines.append(line)

    def close(self) -> None:
        """Close and unlock the journal. Closing twice does no harm.

        If the file was removed meanwhile, its entries are written anew, to a file of another name
        if need be: ``path`` is where they are, and a warning says so.
        """
        if self._file.closed:
            return
        try:
            if self.lines:
                self._restore_at_end()
        finally:
            self._file.close()

    def _restore_at_end(self) -> None:
        """Restore a file that was removed or changed, or save a copy, and warn of it."""
        try:
            if not self._file.restore():
                return
            where = "they were written to it anew"
        except OSError as error:
            reason = error.strerror or error
            try:
                self.path = self._copy or self._file.write_copy()
                where = f"since {reason}, they are in {self.path} now"
            except OSError:
                where = f"they are not on the disk, since {reason}"
        notice(
            f"the file of {len(self.lines)} answers, {self._file.path}, was taken away or "
            f"changed by another program: {where}.",
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _resume(self, header: Line, check: Callable[[Line, list[Line]], None] | None) -> None:
        """Read and check the journal's lines, or write the first line of a new journal."""
        path = self._file.path
        lines, length, self._check = read_lines(bytes(self._file.content), path)
        self._file.cut(length)
        # Holds all answers while another file has the journal's name.
        self._copy: Path | None = None
        self.lines = [line for line in lines[1:] if "entry" in line]
        if lines:
            self.header = _check_header(lines[0], path)
            _refuse_other_entries(lines, path)
            if check is not None:
                check(self.header, self.lines)
        else:
            first = {"format": FORMAT, "version": VERSION, "nearkin": __version__}
            self.header = {**first, **header, "made": _timestamp()}
            self._write(self.header)
        with suppress(OSError):  # on a full disk, what is there can still be looked at
            self._write({"opened": _timestamp(), "process": os.getpid(), "nearkin": __version__})

    def _write(self, said: dict[str, Any]) -> None:
        """Append a line with its check; an OSError says what becomes of the answers."""
        line, check = line_of(said, self._check)
        try:
            self._file.append(line)
        except OSError as error:
            if isinstance(error, FileDisplaced) and self._copy is None and self.lines:
                with suppress(OSError):  # so they outlive the process
                    self._copy = self._file.write_copy()
            why = _explain_failure(error, self._file.path, self._copy)
            raise OSError(error.errno, why) from error
        self._check = check
        if self._copy is not None:  # the file of this name has all of it again
            with suppress(OSError):
                self._copy.unlink()
            self._copy = None


def line_of(said: dict[str, Any], before: int) -> tuple[bytes, int]:
    """Encode a line; returns its bytes and its check, given that of the line ``before`` (or 0)."""
    text = json.dumps(said, separators=(",", ":"), allow_nan=False).encode()
    check = zlib.crc32(text, before)
    return b"%s%08x%s%s%s" % (_START, check, _MIDDLE, text, _END), check


def read_lines(content: bytes, path: Path) -> tuple[list[dict[str, Any]], int, int]:
    """Decode a journal's lines and verify their checks.

    Returns the lines, how many bytes they take, and the check of the last. An incomplete last line
    is left out. Raises JournalError if a line is damaged, or this is no journal.
    """
    *whole, rest = content.split(b"\n")
    if not _may_begin_a_journal(content):
        raise JournalError(
            f"{path} is not a journal of nearkin, and is left as it is: give another name."
        )
    said: list[dict[str, Any]] = []
    length, check = 0, 0
    for number, text in enumerate(whole, 1):
        found = _read_line(text, check)
        if found is None and number == len(whole) and not rest and bytes(4) in text:
            break  # the disk had room for it, but the crash came before all of it was written
        if found is None:
            raise JournalError(
                f"line {number} of {path} is damaged, and what comes after it cannot be trusted; "
                "the file is left as it is. Restore it from a copy, or delete the lines from there "
                "on to go on with what was answered before."
            )
        said.append(found[0])
        check = found[1]
        length += len(text) + 1
    if rest and _read_line(rest[:-1], check) is not None:
        raise JournalError(
            f"line {len(whole) + 1} of {path} is damaged in its last byte; the file is left as it "
            "is. Restore it from a copy, or end that line with a newline."
        )
    return said, length, check


def _read_line(text: bytes, before: int) -> tuple[dict[str, Any], int] | None:
    """Decode a line without its newline; returns its content and check, None if damaged."""
    start = len(_START)
    digits = text[start : start + _DIGITS]
    said = text[start + _DIGITS + len(_MIDDLE) : -1]
    check = zlib.crc32(said, before)
    if text != b"%s%08x%s%s}" % (_START, check, _MIDDLE, said) or len(digits) != _DIGITS:
        return None
    try:
        found = json.loads(said)
    except (ValueError, RecursionError):
        return None
    return (found, check) if isinstance(found, dict) else None


def _may_begin_a_journal(content: bytes) -> bool:
    """Whether bytes, of whatever length, could be the beginning of a journal."""
    start, after = len(_START), len(_START) + _DIGITS
    parts = ((content[:start], _START), (content[after:], _MIDDLE + _FIRST))
    return all(here[: len(wanted)] == wanted[: len(here)] for here, wanted in parts)


def _check_header(said: Line, path: Path) -> Line:
    """Return a journal's first line; raise JournalError if its format is not of this version."""
    version, about = said.get("version"), said.get("about")
    if isinstance(version, int) and version != VERSION:
        what_to_do = (
            "update nearkin."
            if version > VERSION
            else "give a new journal another name, and --pairs with what that version exports."
        )
        raise JournalError(
            f"{path} was made by nearkin {said.get('nearkin')}, in a format ({version}) that this "
            f"version ({__version__}, format {VERSION}) does not know: {what_to_do}"
        )
    if not isinstance(version, int) or not isinstance(about, dict):
        raise JournalError(f"{path} does not begin as a journal of nearkin: give another name.")
    return said


def _refuse_other_entries(lines: list[dict[str, Any]], path: Path) -> None:
    """Raise JournalError if an entry is not a JSON object."""
    for number, line in enumerate(lines, 1):
        if not isinstance(line.get("entry", {}), dict):
            raise JournalError(
                f"line {number} of {path} has an entry that no journal of nearkin has; the file is "
                "left as it is. Restore it from a copy."
            )


def _explain_failure(error: OSError, path: Path, copy: Path | None) -> str:
    """Say why an answer was not written, and where the earlier ones are."""
    reason = error.strerror or error
    if isinstance(error, FileDisplaced):
        return (
            f"the answer was not kept, because the journal {path} was taken away or changed by "
            f"another program, and cannot be written anew: {reason}. What was answered before is "
            "in memory, and is written with the next answer once this is put right"
            + (f"; until then, it is in {copy} too" if copy is not None else "")
        )
    return (
        f"the answer was not kept, because the journal could not be written ({reason}). What was "
        "answered before is safe"
    )


def _explain_lock(path: Path) -> str:
    """Say which process has a journal open, and what to do about it."""
    process = None
    with suppress(OSError, JournalError):
        lines, _, _ = read_lines(path.read_bytes(), path)
        process = next((line["process"] for line in reversed(lines) if "process" in line), None)
    holder = "" if process is None else f" by process {process}"
    if process == os.getpid():
        holder += ", which is this one"
    return (
        f"{path} is open already{holder}: close the studio that has it, or give this one a journal "
        "of its own."
    )


def _timestamp() -> str:
    """Return the time now, in UTC, as ISO 8601 with seconds."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class RecordKeys:
    """Names of records in a journal: their ids, or digests of their cells where ids repeat.

    A record is found by its id, or by its cells if no row alone has that id. So answers find their
    records in whatever order, among others and with other columns, and never a record that was
    given the same id later. ``id_name`` is the column of ids; the cells of ``columns`` distinguish
    records, or the rows of a matrix if there are none.

    >>> table, kinds = {"id": ["p7", "p9", "p9"]}, {"id": "text"}
    >>> keys = RecordKeys(RecordIdentity(kinds, lambda names: [table], 3, "id"), "id", ["id"])
    >>> keys.name(0), keys.row("p7"), keys.row("p8")
    ('p7', 0, None)
    >>> keys.row(keys.name(2))
    2
    """

    def __init__(
        self, identity: RecordIdentity, id_name: str | None, columns: Sequence[str]
    ) -> None:
        contents, ids = identity.contents(columns), identity.ids(id_name)
        # Whether rows have ids, and whether the data have all of the columns.
        self.by_id, self.by_cells = ids is not None, contents is not None
        self._cells = None if contents is None else make_distinct(contents)
        n_of_id = Counter(ids or ())
        own = [one if n_of_id[one] == 1 else None for one in ids or [None] * identity.n_rows]
        self._ids = own
        self._row_of_id = {one: row for row, one in enumerate(own) if one is not None}
        self._row_of_cells = {one: row for row, one in enumerate(self._cells or ())}

    def name(self, row: int) -> str:
        """Name of a row in the journal; raise if neither id nor cells distinguish it."""
        name = self._ids[row] or self.cells(row)
        if name is None:
            raise InputError(
                f"row {row} has no id of its own, and columns that tell it from others are not "
                "here: nothing can be kept of it."
            )
        return name

    def cells(self, row: int) -> str | None:
        """Digest of a row's cells; None if the data lack some of the columns."""
        return None if self._cells is None else self._cells[row]

    def row(self, name: str, cells: str | None = None) -> int | None:
        """Row number of a name, or else of a digest of cells; None if there is no such row."""
        found = self._row_of_id.get(name)
        return self._row_of_cells.get(cells or name) if found is None else found


# Columns that a message names.
_MOST_NAMED = 8


def is_about(path: StrPath, records: StudioRecords) -> bool:
    """Whether a journal, which may be open elsewhere, can hold answers about these records.

    A copy is read, so the journal stays as it is.
    """
    with tempfile.TemporaryDirectory() as folder:
        try:
            KeptAnswers(shutil.copy(path, folder), records).close()
        except (JournalError, OSError):
            return False
    return True


class KeptAnswers:
    """A journal of answers: events name rows here, and entries of the file records by their keys.

    Raises what :class:`Journal` does, or JournalError if the journal is about other data.
    """

    def __init__(self, path: StrPath, records: StudioRecords) -> None:
        self._path, self._records = Path(path), records
        # With row numbers, from ``len(records)`` on for records missing from the data.
        self.events: list[Event] = []
        # Sentences for the user.
        self.notes: list[str] = []
        # Records that are not here, and the cells that others had.
        self._away: dict[str, int] = {}
        self._cells: dict[str, str] = {}
        # Columns by which a new journal names records: the one of ids, and those of cells.
        self._by: Line = {"id": records.identity.usual_ids(), "columns": records.identity.columns}
        self._keys = RecordKeys(records.identity, self._by["id"], self._by["columns"])
        about = {"source": records.source, "rows": len(records)}
        about |= {"features": records.learned_from[:MOST_NAMES]}
        self._journal = Journal(os.fspath(path), about, {"keyed_by": self._by}, self._read)

    @property
    def path(self) -> Path:
        """File of the journal."""
        return self._journal.path

    @property
    def n_away(self) -> int:
        """Number of records that entries name, but that are missing from the data."""
        return len(self._away)

    def append(self, event: Event) -> None:
        """Add an event, see :meth:`nearkin.studio.journal.Journal.append`."""
        entry = event.entry()
        cells = self._new_cells(rows_in(entry))
        beside = {"cells": cells} if cells else {}
        self._journal.append(rename_rows(entry, self._keys.name), **beside)
        self._cells |= cells
        self.events.append(event)

    def close(self) -> None:
        """Close and unlock the journal."""
        self._journal.close()

    def _new_cells(self, rows: Iterable[int]) -> dict[str, str]:
        """Map ids of rows to digests of their cells, except those that the journal has already."""
        found = {}
        for row in rows:
            name, cells = self._keys.name(row), self._keys.cells(row)
            if cells is not None and name != cells and name not in self._cells:
                found[name] = cells
        return found

    # Reading

    def _read(self, header: Line, lines: list[Line]) -> None:
        """Turn a journal's entries into events about rows; raise if it is about other data."""
        try:
            self._use_keys(header["keyed_by"], header)
            for line in lines:
                self._cells |= line.get("cells", {})
            entries = (rename_rows(line["entry"], self._find_row) for line in lines)
            self.events = [read_event(entry) for entry in entries]
            self._check_records(header, {name for line in lines for name in rows_in(line["entry"])})
        except (TypeError, KeyError, AttributeError, ValueError) as error:
            if isinstance(error, JournalError):
                raise
            raise JournalError(
                f"{self._path} says something that no journal of nearkin says ({error!r:.100}); "
                "the file is left as it is. Restore it from a copy."
            ) from error

    def _use_keys(self, keyed_by: Mapping[str, Any], header: Line) -> None:
        """Name records by the ids and columns of the journal; raise if the data lack them."""
        id_name, columns = keyed_by["id"], [str(name) for name in keyed_by["columns"]]
        identity, others = self._records.identity, set(columns) - {id_name}
        if self._by != {"id": id_name, "columns": columns}:
            self._by = {"id": id_name, "columns": columns}
            self._keys = RecordKeys(identity, id_name, columns)
        if self._keys.by_cells or (self._keys.by_id and (others & {*identity.kinds} or not others)):
            return
        absent = [name for name in columns if name not in identity.kinds]
        shown = few(map(repr, absent), _MOST_NAMED)
        self._refuse(header, f"it tells records apart by columns that are not here, {shown}")

    def _find_row(self, name: Any) -> int:
        """Row number of a record by its name, or a number behind all rows if it is missing."""
        if not isinstance(name, str):
            raise InputTypeError(f"{name!r:.60} is the name of no record.")
        row = self._keys.row(name, self._cells.get(name))
        if row is None:
            row = self._away.setdefault(name, len(self._records) + len(self._away))
        return row

    def _check_records(self, header: Line, names: set[str]) -> None:
        """Raise if no named record is in the data; add a note if all of them have other cells."""
        if names and len(names) == len(self._away):
            self._refuse(
                header, f"none of the {counted(len(names), 'record')} that it speaks of is here"
            )
        known = {name: self._keys.row(name) for name in names & self._cells.keys()}
        found = {name: row for name, row in known.items() if row is not None}
        if (
            self._keys.by_cells
            and found
            and all(self._keys.cells(row) != self._cells[name] for name, row in found.items())
        ):
            self.notes.append(
                f"All {counted(len(found), 'record')} that {self._path.name} has answers about, by "
                f"their ids in {self._by['id']!r}, have other cells than they had. If these are "
                "other data, name another journal."
            )

    def _refuse(self, header: Line, why: str) -> None:
        """Raise OtherData, with the reason why the journal is not about these data."""
        about = header["about"]
        source = f" ({about['source']})" if about.get("source") else ""
        then, now = about.get("rows"), len(self._records)
        rows = f" It was made with {then} rows, and here are {now}." if then != now else ""
        raise OtherData(
            f"{self._path} has answers about other data{source}: {why}.{rows} "
            "Give the data it was made with, or another name for a new journal."
        )
