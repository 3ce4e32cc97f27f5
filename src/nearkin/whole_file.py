"""Files that are complete or not there."""

from __future__ import annotations

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

StrPath = str | os.PathLike[str]


@contextmanager
def whole_file(path: StrPath) -> Iterator[Path]:
    """A name beside ``path`` to write to, which takes its place once the block has ended well.

    After an error, an interruption included, what was at ``path`` before is there still, and
    nothing else.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from nearkin.whole_file import whole_file
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "numbers.txt"
    ...     with whole_file(path) as unfinished:
    ...         _ = unfinished.write_text("1 2 3")
    ...     path.read_text()
    '1 2 3'
    """
    target = Path(os.path.realpath(path))
    if target.is_dir():
        raise IsADirectoryError(errno.EISDIR, "A folder, not a file to write to", str(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(
            errno.ENOENT, f"There is no folder {target.parent}; make it first", str(path)
        )
    unfinished = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        open(unfinished, "xb").close()
    except OSError as error:  # name the file that was asked for
        raise type(error)(error.errno, error.strerror, str(path)) from error
    try:
        yield unfinished
        with open(unfinished, "rb") as file:
            os.fsync(file.fileno())
        os.replace(unfinished, target)
    except BaseException:
        with suppress(OSError):
            unfinished.unlink()
        raise
