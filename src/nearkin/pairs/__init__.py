"""What is known to be alike or different, and what follows from it."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name != "Pairs":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from nearkin.pairs.pairs import Pairs  # here for old pickles of them

    return Pairs
