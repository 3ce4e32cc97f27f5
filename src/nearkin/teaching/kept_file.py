"""A file that grows, locked while it is open, and found under its name whatever is done to it."""

from __future__ import annotations

import errno
import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from nearkin.errors import InputError
from nearkin.storage.files import StrPath, is_written_through

# Windows locks bytes: one that no file reaches.
_LOCKED_BYTE = 1 << 62
# How often a file may be taken away while one piece is written.
_ATTEMPTS = 3


class FileInUse(Exception):
    """Another process, or another part of this one, has the file open."""


class Displaced(OSError):
    """The file was taken away or changed by others, and cannot be put back."""


class KeptFile:
    """A file that only grows, and whose content is remembered.

    Whoever deletes, moves or empties it while it is open does no harm: before and after each piece
    is written, the file of this name is looked at, and written anew if need be.

    Parameters
    ----------
    path : path
        Made if there is none, and locked.

    Attributes
    ----------
    path : Path
    content : bytearray
        What is safe on the disk.

    Raises
    ------
    FileInUse
        If it is locked already.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearkin.teaching.kept_file import KeptFile
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
        self._file: int | None = _opened(self.path)
        self.content = bytearray(_read(self._file))
        self._left = _traits(os.fstat(self._file))
        # What an error may have left behind the content.
        self._tried = b""

    def cut(self, length: int) -> None:
        """Forget what comes after so many bytes; it leaves the disk with the next piece."""
        self._tried = bytes(self.content[length:])
        del self.content[length:]

    def append(self, piece: bytes) -> None:
        """Add a piece, which is on the disk, in the file of this name, when this returns.

        Raises
        ------
        Displaced
            If the file of this name is not ours any more, and cannot be made so. The content is
            remembered, and written once that is put right.
        OSError
            If it could not be written, for example on a full disk. The file is as it was then.
        """
        for _ in range(_ATTEMPTS):
            self.restore()
            self._write(self._opened_file, len(self.content), piece)
            if not self.content:
                _flush_folder(self.path.parent)
            if self._has_its_name():
                self._left = _traits(os.fstat(self._opened_file))
                self.content += piece
                self._tried = b""
                return
        raise Displaced(errno.EBUSY, "it is taken away again and again", str(self.path))

    def restore(self) -> bool:
        """See to it that the file of this name holds the content; whether that took anything.

        Another file of this name is taken over if it holds nothing but the beginning of the
        content, and left as it is otherwise.

        Raises
        ------
        Displaced
            If that is not possible.
        """
        if self._is_as_it_was_left():
            return False
        try:
            return self._restored()
        except FileInUse as error:
            reason = "another studio has a file of that name open"
            raise Displaced(errno.EBUSY, reason, str(self.path)) from error
        except OSError as error:
            raise Displaced(error.errno, error.strerror or str(error), str(self.path)) from error

    def _restored(self) -> bool:
        before = self._opened_file
        file = before if self._has_its_name() else _opened(self.path)
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
        self._left = _traits(os.fstat(file))
        return lacked or file != before

    def copied(self) -> Path:
        """Write the content to a file of another name: beside this one, or among temporary ones."""
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
        """Let others open it. Closing twice does no harm."""
        if self._file is not None:
            os.close(self._file)  # which unlocks it
            self._file = None

    @property
    def closed(self) -> bool:
        """Whether the file is closed."""
        return self._file is None

    @property
    def _opened_file(self) -> int:
        if self._file is None:
            raise InputError(f"{self.path} is closed.")
        return self._file

    def _complete(self, file: int) -> bool:
        """Write what a file lacks of the content; whether that was anything."""
        there = _read(file)
        if not (bytes(self.content) + self._tried).startswith(there):
            raise Displaced(
                errno.EEXIST, "a file of that name holds something else", str(self.path)
            )
        lacks = len(there) < len(self.content)
        if lacks:
            self._write(file, len(there), bytes(self.content[len(there) :]))
        return lacks

    def _write(self, file: int, length: int, piece: bytes) -> None:
        """Have a file hold so many bytes as it does, and then a piece."""
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
        try:
            return os.path.samestat(os.fstat(self._opened_file), os.stat(self.path))
        except OSError:
            return False

    def _is_as_it_was_left(self) -> bool:
        try:
            return _traits(os.stat(self.path)) == self._left
        except OSError:
            return False


def _traits(stat: os.stat_result) -> tuple[int, ...]:
    """What tells a file that somebody else has touched from one that nobody has."""
    return stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns


def _opened(path: Path) -> int:
    """The file, made if need be, and locked."""
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
    os.lseek(file, 0, os.SEEK_SET)
    parts = []
    while part := os.read(file, 1 << 20):
        parts.append(part)
    return b"".join(parts)


def _flush_folder(folder: Path) -> None:
    """See to it that a new file's name is on the disk too."""
    if sys.platform == "win32":
        return
    file = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(file)
    finally:
        os.close(file)
