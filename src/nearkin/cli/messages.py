"""Words for the user, on standard error."""

from __future__ import annotations

import sys


def say(message: str) -> None:
    """One line for a person; data never goes this way."""
    sys.stderr.write(f"{message}\n")
    sys.stderr.flush()


def counted(n: int, thing: str) -> str:
    """A number with its noun."""
    return f"{n} {thing}" if n == 1 else f"{n} {thing}s"
