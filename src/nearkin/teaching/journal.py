"""A journal: a file of entries that are on the disk once they are acknowledged.

Each line is a JSON object, ``{"check":"1c291ca3","entry":{...}}``, whose check is the CRC-32 of the
entry's text, begun with the check of the line before: a line that is changed, lost or moved shows.
The first says what the journal is and which data it belongs to. Lines that say ``opened`` name the
process that held the journal from there on. What entries call records is no matter of this file,
see :mod:`nearkin.teaching.kept_answers`.
"""

from __future__ import annotations

import json
import os
import zlib
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self

from nearkin._version import __version__
from nearkin.errors import InputError
from nearkin.messages import notice
from nearkin.storage.files import StrPath
from nearkin.teaching.kept_file import Displaced, FileInUse, KeptFile

FORMAT = "nearkin journal"
NEWEST = 2

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
    """Entries that end with the process."""

    path = None
    n_away = 0

    def __init__(self) -> None:
        self.entries: list[dict[str, Any]] = []

    def append(self, entry: dict[str, Any]) -> None:
        """Add an entry."""
        self.entries.append(entry)

    def close(self) -> None:
        """There is nothing to let go of."""


class Journal:
    """Entries in a file, locked while it is open.

    Parameters
    ----------
    path : path
        Made if there is none.
    about : dict, optional
        What a person may want to know of the data, such as the name of its file; plain JSON.
    header : dict, optional
        What else the first line of a new journal says; plain JSON.
    check : callable, optional
        Given the first line of a journal that is there, and those that have entries. It may raise a
        JournalError: the file is left as it is then.

    Attributes
    ----------
    path : Path
    header : dict
        The first line.
    lines : list of dict
        Those with entries, in their order.

    Raises
    ------
    JournalInUse
        If it is open already, wherever that is.
    JournalError
        If it is damaged, no journal, or of other data. The file is left as it is.

    Notes
    -----
    A last line that was cut short by a crash was never acknowledged, and is taken away. Any other
    damage is an error that names the line.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearkin.teaching.journal import Journal
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
            raise JournalInUse(_who_has_it(Path(path))) from error
        try:
            self._resume({"about": about or {}, **(header or {})}, check)
        except BaseException:
            self._file.close()
            raise
        self.path = self._file.path

    @property
    def entries(self) -> list[dict[str, Any]]:
        """What was appended, in its order."""
        return [line["entry"] for line in self.lines]

    def append(self, entry: dict[str, Any], **beside: Any) -> None:
        """Add an entry, which is on the disk, in the file of this name, when this returns.

        Parameters
        ----------
        entry : dict
        **beside
            What else its line says.

        Raises
        ------
        OSError
            If it could not be written, for example on a full disk, or if another file has taken the
            journal's name. What was written before is safe, or in memory until it can be written
            again, and later entries may well succeed.
        """
        line = {**beside, "entry": entry}
        self._write(line)
        self.lines.append(line)

    def close(self) -> None:
        """Let others open it. Closing twice does no harm.

        If the file was taken away meanwhile, its entries are written anew, to a file of another
        name if need be: ``path`` is where they are, and a warning says so.
        """
        if self._file.closed:
            return
        try:
            if self.lines:
                self._leave_entries()
        finally:
            self._file.close()

    def _leave_entries(self) -> None:
        try:
            if not self._file.restore():
                return
            where = "they were written to it anew"
        except OSError as error:
            reason = error.strerror or error
            try:
                self.path = self._copy or self._file.copied()
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
        path = self._file.path
        lines, length, self._check = read_lines(bytes(self._file.content), path)
        self._file.cut(length)
        self._copy: Path | None = None
        self.lines = [line for line in lines[1:] if "entry" in line]
        if lines:
            self.header = _checked_header(lines[0], path)
            _refuse_other_entries(lines, path)
            if check is not None:
                check(self.header, self.lines)
        else:
            first = {"format": FORMAT, "version": NEWEST, "nearkin": __version__}
            self.header = {**first, **header, "made": _now()}
            self._write(self.header)
        with suppress(OSError):  # on a full disk, what is there can still be looked at
            self._write({"opened": _now(), "process": os.getpid(), "nearkin": __version__})

    def _write(self, said: dict[str, Any]) -> None:
        line, check = line_of(said, self._check)
        try:
            self._file.append(line)
        except OSError as error:
            copy = self._saved_copy() if isinstance(error, Displaced) else None
            raise OSError(error.errno, _why_not_kept(error, self._file.path, copy)) from error
        self._check = check
        if self._copy is not None:  # the file of this name has all of it again
            with suppress(OSError):
                self._copy.unlink()
            self._copy = None

    def _saved_copy(self) -> Path | None:
        """Where all that was answered is while another file has the journal's name.

        So it outlives the process, whatever becomes of that.
        """
        if self._copy is None and self.lines:
            with suppress(OSError):
                self._copy = self._file.copied()
        return self._copy


def line_of(said: dict[str, Any], before: int) -> tuple[bytes, int]:
    """A line of the file, and its check; ``before`` is the check of the line before, or 0."""
    text = json.dumps(said, separators=(",", ":"), allow_nan=False).encode()
    check = zlib.crc32(text, before)
    return b"%s%08x%s%s%s" % (_START, check, _MIDDLE, text, _END), check


def read_lines(content: bytes, path: Path) -> tuple[list[dict[str, Any]], int, int]:
    """What the lines of a journal say, how many bytes they take, and the last check.

    What follows the last whole line is left out.

    Raises
    ------
    JournalError
        If a line is damaged, or this is no journal.
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
    """What a line without its end says, and its check; None if it is damaged."""
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
    """Whether this is empty, or begins as journals do, as far as it goes."""
    start, after = len(_START), len(_START) + _DIGITS
    parts = ((content[:start], _START), (content[after:], _MIDDLE + _FIRST))
    return all(here[: len(wanted)] == wanted[: len(here)] for here, wanted in parts)


def _checked_header(said: Line, path: Path) -> Line:
    version, about = said.get("version"), said.get("about")
    if isinstance(version, int) and version > NEWEST:
        raise JournalError(
            f"{path} was made by nearkin {said.get('nearkin')}, in a format that this version "
            f"({__version__}) does not know: update nearkin."
        )
    if not isinstance(version, int) or not isinstance(about, dict):
        raise JournalError(f"{path} does not begin as a journal of nearkin: give another name.")
    return said


def _refuse_other_entries(lines: list[dict[str, Any]], path: Path) -> None:
    for number, line in enumerate(lines, 1):
        if not isinstance(line.get("entry", {}), dict):
            raise JournalError(
                f"line {number} of {path} has an entry that no journal of nearkin has; the file is "
                "left as it is. Restore it from a copy."
            )


def _why_not_kept(error: OSError, path: Path, copy: Path | None) -> str:
    reason = error.strerror or error
    if isinstance(error, Displaced):
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


def _who_has_it(path: Path) -> str:
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


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
