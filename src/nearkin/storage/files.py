"""Files that are whole or not there, whatever signal comes; cells without formulas."""

from __future__ import annotations

import errno
import os
import re
import secrets
import shutil
import signal
import stat
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

# As pyarrow and Python both read them. Numbers are no formulas, whatever their sign.
FORMULA = r"^[=+\-@\t\r]"
NUMBER = r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$"
MARK = "'"

_FORMULA, _NUMBER = re.compile(FORMULA), re.compile(NUMBER)
StrPath = str | os.PathLike[str]
_NAMES = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP


class Ended(KeyboardInterrupt):
    """The process was told to end by the signal ``number``; unwinds the stack as Ctrl-C does."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def end_tidily() -> Iterator[None]:
    """Let SIGTERM and SIGHUP unwind a block before they end the process, so that it can clean up.

    In the block they raise :class:`Ended`. Signals that are ignored or handled by others stay as
    they are, and so do all outside of the main thread, the only one that Python tells of them.
    """
    taken: list[int] = []
    came: list[int] = []

    def end(number: int, frame: Any) -> None:
        """Raise :class:`Ended`, and remember the signal."""
        del frame
        came.append(number)
        raise Ended(number)

    try:
        if threading.current_thread() is threading.main_thread():
            for number in (getattr(signal, name) for name in _NAMES if hasattr(signal, name)):
                if signal.getsignal(number) is signal.SIG_DFL:
                    taken.append(number)
                    signal.signal(number, end)
        yield
    finally:
        for number in taken:
            signal.signal(number, signal.SIG_DFL)
        if came:
            signal.raise_signal(came[0])


@contextmanager
def whole_file(path: StrPath) -> Iterator[Path]:
    """Write a file completely or not at all: the block writes to a temporary path beside it.

    After an error or an interruption, SIGTERM and SIGHUP included, what was at ``path`` before is
    still there, and nothing else. A file that is replaced keeps its permissions; a link stays one.
    A named pipe or a device such as ``/dev/null`` is never replaced: what was written is copied to
    it in the end.
    """
    if is_written_through(path):
        with _pass_through(path) as unfinished:
            yield unfinished
        return
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "A folder, not a file to write to", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, f"There is no folder {target.parent}; make it first", str(path)
        )
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(8)}.tmp")
    with end_tidily():
        try:
            old = _stat_or_none(target)
            _make_empty(unfinished, path, private=old is not None)
            yield unfinished
            with open(unfinished, "r+b") as file:  # Windows flushes what may be written only
                os.fsync(file.fileno())
            if old is not None:
                _copy_permissions(unfinished, old)
            os.replace(unfinished, target)
        except BaseException:
            with suppress(OSError):
                unfinished.unlink()
            raise


def is_written_through(path: StrPath) -> bool:
    """Whether a path is a pipe or character device, copied to; OSError if it cannot be written."""
    status = _stat_or_none(path)
    if status is None or stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode):
        return False
    if stat.S_ISFIFO(status.st_mode) or stat.S_ISCHR(status.st_mode):
        return True
    raise OSError(errno.EINVAL, "A disk or a socket, not a file to write to", str(path))


@contextmanager
def _pass_through(path: StrPath) -> Iterator[Path]:
    """Temporary path to write to, whose content is copied to a pipe or device in the end."""
    with end_tidily(), tempfile.TemporaryDirectory(prefix="nearkin-") as folder:
        unfinished = Path(folder, "unfinished")
        unfinished.touch()
        yield unfinished
        # Without a buffer: what nobody reads any more must not be tried again.
        with open(unfinished, "rb") as content, open(path, "wb", buffering=0) as end:
            shutil.copyfileobj(content, end)


def _stat_or_none(path: StrPath) -> os.stat_result | None:
    """Result of ``os.stat`` for a path; None if nothing is there."""
    try:
        return os.stat(path)
    except OSError:
        return None


def _make_empty(unfinished: Path, path: StrPath, *, private: bool) -> None:
    """Create an empty file; errors name the path that the user asked for."""
    mode = 0o600 if private else 0o666  # permissions for the owner alone, or the usual ones
    try:
        open(unfinished, "xb", opener=lambda name, flags: os.open(name, flags, mode)).close()
    except OSError as error:
        raise type(error)(error.errno, error.strerror, str(path)) from error


def _copy_permissions(unfinished: Path, old: os.stat_result) -> None:
    """Give a file the permissions of another, and its owner where that is allowed."""
    mode = old.st_mode & 0o777
    made = os.stat(unfinished)
    if (made.st_uid, made.st_gid) != (old.st_uid, old.st_gid):
        try:
            os.chown(unfinished, old.st_uid, old.st_gid)
        except OSError:  # another group has no more rights than all have
            mode &= 0o707 | (mode & 0o007) << 3
    os.chmod(unfinished, mode)


def is_formula(text: str) -> bool:
    """Whether a spreadsheet would take a text for a formula."""
    return _FORMULA.match(text) is not None and _NUMBER.fullmatch(text) is None


def quote_formula(text: str) -> str:
    """The text, with a mark before it if a spreadsheet would take it for a formula."""
    return MARK + text if is_formula(text) else text


def unquote_formula(text: str) -> str:
    """The text without the mark of :func:`quote_formula`."""
    return text[1:] if text[:1] == MARK and is_formula(text[1:]) else text
