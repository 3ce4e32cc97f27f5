"""Signals that end a process at once: here they end it when all is tidied up."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_NAMES = ("SIGTERM", "SIGHUP")  # Windows has no SIGHUP


class Ended(KeyboardInterrupt):
    """The process has been told to end; it unwinds as after Ctrl-C.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextmanager
def tidied_up() -> Iterator[None]:
    """In this block SIGTERM and SIGHUP raise :class:`Ended`; when it is left, they end the process.

    So files that are half written go first. Signals that are ignored or that somebody else takes
    care of stay as they are, and so do all of them outside of the main thread, which is the only
    one that Python tells of signals.

    Examples
    --------
    >>> from nearkin.storage.endings import tidied_up
    >>> with tidied_up():
    ...     pass  # files are written
    """
    taken: list[int] = []
    came: list[int] = []

    def end(number: int, frame: Any) -> None:
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
