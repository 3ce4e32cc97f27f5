"""Words for the user, on standard error."""

from __future__ import annotations

import sys
from dataclasses import dataclass

from nearkin.messages import tell


@dataclass
class Manner:
    """How the program speaks, as the user wishes it in this run.

    Attributes
    ----------
    quiet : bool
        Nothing but errors and questions.
    debug : bool
        Where an error arose, and what is inside of things.
    """

    quiet: bool = False
    debug: bool = False


MANNER = Manner()


def say(message: str) -> None:
    """One line for a person; data never goes this way."""
    if not MANNER.quiet:
        complain(message)


def complain(message: str) -> None:
    """What went wrong, which is said to those too who want no messages."""
    tell(f"{message}\n")


def is_watched() -> bool:
    """Whether somebody looks on who wants to see how far work has come."""
    return not MANNER.quiet and sys.stderr is not None and sys.stderr.isatty()
