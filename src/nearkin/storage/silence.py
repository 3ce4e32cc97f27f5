"""Warnings that are left out, in one thread and nowhere else.

``warnings.catch_warnings`` changes the filters of the whole process and puts them back later. When
two threads do so at the same time, those of the first may stay for good, and then nobody hears of
anything. Here there is one filter that stays: it asks what the thread at hand wants to be left out,
which is nothing as a rule.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_left_out: ContextVar[tuple[re.Pattern[str], ...]] = ContextVar("left_out", default=())


class _WhatIsLeftOut:
    """What stands in a filter for a pattern: it matches what this thread leaves out."""

    def match(self, message: str) -> bool:
        """Whether a warning is to be left out."""
        return any(pattern.match(message) for pattern in _left_out.get())

    @property
    def pattern(self) -> str:
        """The same as an expression, for those who make filters anew, as scikit-learn does."""
        return "|".join(f"(?:{one.pattern})" for one in _left_out.get()) or "(?!)"


_FILTER: Any = ("ignore", _WhatIsLeftOut(), Warning, None, 0)


@contextmanager
def silenced(message: str = "") -> Iterator[None]:
    """Leave out warnings of this thread; all of them, or those whose text begins so.

    Parameters
    ----------
    message : str, optional
        A regular expression that the beginning of the text matches.

    Examples
    --------
    >>> import warnings
    >>> from nearkin.storage.silence import silenced
    >>> with silenced("pairs contradict"):
    ...     warnings.warn("pairs contradict one another: (0, 1), (1, 0)")
    """
    _put_first()
    before = _left_out.set((*_left_out.get(), re.compile(message)))
    try:
        yield
    finally:
        _left_out.reset(before)


def _put_first() -> None:
    """Whoever set filters since, pytest for one, put them before ours."""
    filters: Any = warnings.filters
    if not filters or filters[0] is not _FILTER:
        if _FILTER in filters:
            filters.remove(_FILTER)
        filters.insert(0, _FILTER)
