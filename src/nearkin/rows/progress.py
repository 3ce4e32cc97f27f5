"""A line that says how far long work has come, or why it takes long."""

from __future__ import annotations

import builtins
import sys
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import suppress
from dataclasses import dataclass
from typing import TypeVar

Item = TypeVar("Item")
_WIDTH = 24


def progress(
    items: Iterable[Item],
    what: str,
    *,
    shown: bool = True,
    total: int | None = None,
    amount: Callable[[Item], int] = lambda item: 1,
) -> Iterator[Item]:
    """Go through items with a bar on standard error, which is gone in the end.

    Parameters
    ----------
    items : iterable
    what : str
        What is being done, a few words.
    shown : bool, default=True
        Without, nothing is printed.
    total : int, optional
        How much there is to do: the number of items by default, if that is known.
    amount : callable, optional
        How much of it an item is; 1 by default.
    """
    if total is None and isinstance(items, Sized):
        total = len(items)
    done = 0
    written = False
    try:
        for item in items:
            if shown:
                _show(what, done, total)
                written = True
            yield item
            done += amount(item)
    finally:
        if written:
            tell("\r\x1b[K")


def tell(text: str) -> None:
    """Write to standard error, at once; if nobody can read it any more, work goes on without."""
    if sys.stderr is None:  # closed from the start
        return
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def note(message: str) -> None:
    """Write a line to standard error for whoever watches, in a terminal or a notebook.

    Nowhere else: neither files nor pipes get it.
    """
    if sys.stderr is None or _notes.hushed:
        return
    terminal = sys.stderr.isatty()
    if terminal or hasattr(builtins, "__IPYTHON__"):
        start = "\r\x1b[K" if terminal else ""  # a bar may be there
        tell(f"{start}{message}\n")


def hush(hushed: bool = True) -> None:
    """Leave notes out in this process, or have them again."""
    _notes.hushed = hushed


@dataclass
class _Notes:
    hushed: bool = False


_notes = _Notes()


def _show(what: str, done: int, total: int | None) -> None:
    if total:
        full = min(_WIDTH, _WIDTH * done // total)
        bar = "━" * full + "╌" * (_WIDTH - full)
        tell(f"\r{what} {bar} {done}/{total}")
    else:
        tell(f"\r{what} {done}")
