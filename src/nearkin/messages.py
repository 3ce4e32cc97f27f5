"""Warnings that only the outermost call gives, progress lines and notes on standard error."""

from __future__ import annotations

import builtins
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sized
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any, TypeVar

# Packages whose calls are not the user's.
_OURS = ("nearkin", "sklearn")


@dataclass(frozen=True)
class Note:
    """A message to the user, and its warning category."""

    text: str
    category: type[Warning] = UserWarning


# Of this thread, as all that is in a context.
_listener: ContextVar[list[Note] | None] = ContextVar("listener", default=None)
_left_out: ContextVar[tuple[type[Warning], ...]] = ContextVar("left_out", default=())


def notice(text: str, category: type[Warning] = UserWarning) -> None:
    """Add a note to the innermost :func:`collect_notices`, or warn if there is none."""
    if not is_heard(category):
        return
    notes = _listener.get()
    if notes is None:  # as by the first caller outside nearkin and scikit-learn
        level, frame = 1, sys._getframe()
        while frame.f_back and frame.f_globals["__name__"].partition(".")[0] in _OURS:
            level, frame = level + 1, frame.f_back
        warnings.warn(text, category, level)
    elif Note(text, category) not in notes:
        notes.append(Note(text, category))


def hand_on(notes: Iterable[Note]) -> None:
    """Repeat notes that an inner call has collected, by :func:`notice`."""
    for note in notes:
        notice(note.text, note.category)


@contextmanager
def collect_notices() -> Iterator[list[Note]]:
    """Collect notes in a block of this thread instead of warning; each only once."""
    notes: list[Note] = []
    before = _listener.set(notes)
    try:
        yield notes
    finally:
        _listener.reset(before)


@contextmanager
def mute_categories(*categories: type[Warning]) -> Iterator[None]:
    """Drop notices of some categories in a block of this thread."""
    before = _left_out.set((*_left_out.get(), *categories))
    try:
        yield
    finally:
        _left_out.reset(before)


def is_heard(category: type[Warning]) -> bool:
    """Whether notes of a category are not muted, so that finding them is worth the work."""
    return not issubclass(category, _left_out.get())


# What hears of the steps of long work, in this thread.
# Hears a step, and which share of it is done, if that is known.
Hearer = Callable[[str, float | None], None]
_steps: ContextVar[Hearer | None] = ContextVar("steps", default=None)


def enter_step(what: str, share: float | None = None) -> None:
    """Say to :func:`hear_steps` what long work is about to do, and which share of it is done."""
    hear = _steps.get()
    if hear is not None:
        hear(what, share)


@contextmanager
def hear_steps(hear: Hearer) -> Iterator[None]:
    """Call a function with each step of long work in a block of this thread."""
    before = _steps.set(hear)
    try:
        yield
    finally:
        _steps.reset(before)


Item = TypeVar("Item")
_WIDTH = 24


def show_progress(
    items: Iterable[Item],
    what: str,
    *,
    shown: bool = True,
    total: int | None = None,
    amount: Callable[[Item], int] = lambda item: 1,
) -> Iterator[Item]:
    """Iterate with a progress bar on standard error, which is erased in the end.

    The bar shows ``what`` is being done and the amount done of ``total``, by default the number of
    items if known. ``amount`` gives the amount of an item, 1 by default.
    """
    if total is None and isinstance(items, Sized):
        total = len(items)
    done = 0
    written = False
    try:
        for item in items:
            if shown:
                bar, of_total = "", ""
                if total:
                    bar, of_total = f"{draw_bar(done / total)} ", f"/{total}"
                tell(f"\r{what} {bar}{done}{of_total}")
                written = True
            yield item
            done += amount(item)
    finally:
        if written:
            tell("\r\x1b[K")


def draw_bar(share: float) -> str:
    """A bar that is full as far as work is done."""
    full = min(_WIDTH, int(_WIDTH * share))
    return "━" * full + "╌" * (_WIDTH - full)


def tell(text: str) -> None:
    """Write to standard error and flush; a closed stream is no error."""
    if sys.stderr is None:  # closed from the start
        return
    with suppress(OSError):
        sys.stderr.write(text)
        sys.stderr.flush()


def write_note(message: str) -> None:
    """Write a line to standard error if it is a terminal or a notebook."""
    if sys.stderr is None or _notes.hushed:
        return
    terminal = sys.stderr.isatty()
    if terminal or hasattr(builtins, "__IPYTHON__"):
        start = "\r\x1b[K" if terminal else ""  # a bar may be there
        tell(f"{start}{message}\n")


def hush(hushed: bool = True) -> None:
    """Turn :func:`write_note` off in this process, or on again."""
    _notes.hushed = hushed


_notes = SimpleNamespace(hushed=False)


_is_silent: ContextVar[bool] = ContextVar("is_silent", default=False)


class _AnythingIfSilent:
    """Stand-in for a pattern in ``warnings.filters`` that matches all messages of muted threads."""

    def match(self, message: str) -> bool:
        """Whether to ignore a warning."""
        del message
        return _is_silent.get()

    @property
    def pattern(self) -> str:
        """The pattern as regular expression, for code that rebuilds filters."""
        return "" if _is_silent.get() else "(?!)"


_FILTER: Any = ("ignore", _AnythingIfSilent(), Warning, None, 0)


@contextmanager
def mute_third_party() -> Iterator[None]:
    """Ignore all warnings of this thread in a block, for libraries that warn in vain."""
    filters: Any = warnings.filters
    if not filters or filters[0] is not _FILTER:  # pytest, for one, puts its own before it
        # In one step, so that no thread sees the list without it.
        filters[:] = [_FILTER, *(one for one in filters if one is not _FILTER)]
    before = _is_silent.set(True)
    try:
        yield
    finally:
        _is_silent.reset(before)
