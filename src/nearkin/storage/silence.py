"""Warnings of other libraries that are left out, in one thread and nowhere else.

What nearkin itself notices is never silenced: see :mod:`nearkin.rows.notices`.

``warnings.catch_warnings`` changes the filters of the whole process and puts them back later. When
two threads do so at the same time, those of the first may stay for good, and then nobody hears of
anything. Here there is one filter that stays: it asks whether the thread at hand is silent, which
it is not as a rule.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

_is_silent: ContextVar[bool] = ContextVar("is_silent", default=False)


class _AnythingIfSilent:
    """What stands in a filter for a pattern: it matches anything in a silent thread."""

    def match(self, message: str) -> bool:
        """Whether a warning is to be left out."""
        del message
        return _is_silent.get()

    @property
    def pattern(self) -> str:
        """The same as an expression, for those who make filters anew, as scikit-learn does."""
        return "" if _is_silent.get() else "(?!)"


_FILTER: Any = ("ignore", _AnythingIfSilent(), Warning, None, 0)


@contextmanager
def silenced() -> Iterator[None]:
    """Leave out warnings of this thread, while another library works that warns in vain.

    Examples
    --------
    >>> import warnings
    >>> from nearkin.storage.silence import silenced
    >>> with silenced():
    ...     warnings.warn("Number of distinct clusters (2) found smaller than n_clusters (3).")
    """
    _put_first()
    before = _is_silent.set(True)
    try:
        yield
    finally:
        _is_silent.reset(before)


def _put_first() -> None:
    """Whoever set filters since, pytest for one, put them before ours."""
    filters: Any = warnings.filters
    if not filters or filters[0] is not _FILTER:
        # In one step, so that no thread sees the list without it.
        filters[:] = [_FILTER, *(one for one in filters if one is not _FILTER)]
