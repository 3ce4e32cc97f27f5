"""Warnings of the library as sentences."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

# Filters of warnings belong to the whole process: one thread at a time may change them.
_one_at_a_time = threading.RLock()


@contextmanager
def noted() -> Iterator[list[str]]:
    """Warnings of a block as a list of sentences, which is filled once the block has ended.

    Examples
    --------
    >>> import warnings
    >>> from nearkin.teaching.notes import noted
    >>> with noted() as notes:
    ...     warnings.warn("all rows of X coincide.")
    >>> notes
    ['all rows of X coincide.']
    """
    notes: list[str] = []
    with _one_at_a_time, warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            yield notes
        finally:
            notes += dict.fromkeys(str(one.message) for one in caught)
