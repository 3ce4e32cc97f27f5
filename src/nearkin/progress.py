"""A line that says how far long work has come."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import TypeVar

Item = TypeVar("Item")
_WIDTH = 24


def progress(items: Sequence[Item], what: str, *, shown: bool = True) -> Iterator[Item]:
    """Go through items with a bar on standard error, which is gone in the end.

    Parameters
    ----------
    items : sequence
    what : str
        What is being done, a few words.
    shown : bool, default=True
        Without, nothing is printed.
    """
    for done, item in enumerate(items):
        if shown:
            full = _WIDTH * done // len(items)
            bar = "━" * full + "╌" * (_WIDTH - full)
            sys.stderr.write(f"\r{what} {bar} {done}/{len(items)}")
            sys.stderr.flush()
        yield item
    if shown and items:
        sys.stderr.write("\r\x1b[K")
        sys.stderr.flush()
