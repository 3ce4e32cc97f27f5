"""What is noticed on the way, and who hears of it.

Inner steps say what they notice (:func:`notice`). Whoever listens (:func:`noticed`) has it as
values, and hands on what is worth it (:func:`hand_on`); if nobody does, it is a warning at the line
of the user's call. So only the outermost call warns, and no warning has to be silenced again.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass

# Packages whose calls are not the user's.
_OURS = ("nearkin", "sklearn")


@dataclass(frozen=True)
class Note:
    """Something that was noticed.

    Attributes
    ----------
    text : str
    category : type of Warning
        What it is about.
    """

    text: str
    category: type[Warning] = UserWarning


# Of this thread, as all that is in a context.
_listener: ContextVar[list[Note] | None] = ContextVar("listener", default=None)
_left_out: ContextVar[tuple[type[Warning], ...]] = ContextVar("left_out", default=())


def notice(text: str, category: type[Warning] = UserWarning) -> None:
    """Say what was noticed: to who listens, or else to the user, as a warning.

    Parameters
    ----------
    text : str
    category : type of Warning, default=UserWarning
    """
    if not is_heard(category):
        return
    notes = _listener.get()
    if notes is None:
        warnings.warn(text, category, _users_level())
    elif Note(text, category) not in notes:
        notes.append(Note(text, category))


def hand_on(notes: Iterable[Note]) -> None:
    """Say what others noticed."""
    for note in notes:
        notice(note.text, note.category)


@contextmanager
def noticed() -> Iterator[list[Note]]:
    """Listen to what is noticed in a block, in this thread: a list with each note once.

    Examples
    --------
    >>> from nearkin.rows.notices import notice, noticed
    >>> with noticed() as notes:
    ...     notice("all rows of X coincide.")
    >>> notes
    [Note(text='all rows of X coincide.', category=<class 'UserWarning'>)]
    """
    notes: list[Note] = []
    before = _listener.set(notes)
    try:
        yield notes
    finally:
        _listener.reset(before)


@contextmanager
def leaving_out(*categories: type[Warning]) -> Iterator[None]:
    """Say nothing of some categories in a block: of what was said already, or is not the user's."""
    before = _left_out.set((*_left_out.get(), *categories))
    try:
        yield
    finally:
        _left_out.reset(before)


def is_heard(category: type[Warning]) -> bool:
    """Whether anybody hears of this category, so that it is worth looking for."""
    return not issubclass(category, _left_out.get())


def _users_level() -> int:
    """The stack level, for a warning of the function that asks for this one, of the user's call."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].partition(".")[0] in _OURS:
        level, frame = level + 1, frame.f_back
    return level
