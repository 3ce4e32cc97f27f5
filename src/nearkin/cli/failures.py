"""What goes wrong for a user, and the status that the process ends with."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from nearkin.errors import InputError, few

# Statuses of the process, as docs/guide/command_line.md lists them.
DONE, DEFECT, MISUSE, INTERRUPTED, PIPE_CLOSED = 0, 1, 2, 130, 141


class UserError(InputError):
    """Something that the user can put right; the message says how."""


def listed(names: Iterable[object], most: int = 5) -> str:
    """Some names in quotes, and how many more there are."""
    return few((repr(str(name)) for name in names), most)


def guess(name: str, known: Iterable[str]) -> str:
    """Ask whether a name near to this one was meant, or say which there are."""
    known = list(known)
    meant = near(name, known)
    return f"did you mean {meant!r}?" if meant else f"there are {listed(known, 10)}."


def near(name: str, known: Iterable[str]) -> str | None:
    """The name that is most like this one, if any is."""
    return next(iter(difflib.get_close_matches(name, list(known), 1)), None)
