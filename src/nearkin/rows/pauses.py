"""Long work that lets other work go first.

Where it could wait for a moment, it says so (:func:`pause`). Whoever has begun it
(:func:`pausing`) decides whether it waits; if nobody does, it goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Of this thread, as all that is in a context.
_wait: ContextVar[Callable[[], object] | None] = ContextVar("wait", default=None)


def pause() -> None:
    """Let other work go first, if there is any."""
    wait = _wait.get()
    if wait is not None:
        wait()


@contextmanager
def pausing(wait: Callable[[], object]) -> Iterator[None]:
    """Have work in this thread wait wherever it can.

    Parameters
    ----------
    wait : callable
        Returns when the work may go on.
    """
    token = _wait.set(wait)
    try:
        yield
    finally:
        _wait.reset(token)
