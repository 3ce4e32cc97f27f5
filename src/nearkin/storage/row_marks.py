"""Marks of rows: small numbers that tell whether a row was among many, without the rows.

A mark is 32 bits of a row's content. Of many rows the smallest marks are kept, each of which stands
for the same share of them. Whoever has a row can ask whether it was there; nobody can read a row
from a mark, which a great many rows have in common (unless rows can take few values only).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Marks = NDArray[np.uint32]

# Marks that are kept at most: 64 kB. Up to so many different rows are known exactly.
MOST = 1 << 14
_SEED = 7
# Rows that are marked at a time, so that they stay in a core's cache.
_PIECE_ROWS = 8192


def marks_of(X: Any) -> Marks:
    """Mark of each row of an array.

    The same for float32 and float64, so that rows are known again from a file of another kind.
    """
    # Sums of products with random numbers, of which the upper half is kept: any two rows that
    # differ have the same mark with probability 2⁻³². The raw numbers are the same everywhere.
    factors = np.random.PCG64(_SEED).random_raw(X.shape[1] + 1)
    marks = np.empty(len(X), dtype=np.uint32)
    for start in range(0, len(X), _PIECE_ROWS):
        piece = slice(start, start + _PIECE_ROWS)
        with np.errstate(over="ignore"):
            rows = np.ascontiguousarray(X[piece], dtype=np.float32) + np.float32(0)  # -0 is 0
            sums = rows.view(np.uint32).astype(np.uint64) @ factors[1:] + factors[0]
        marks[piece] = sums >> np.uint64(32)
    return marks


def smallest_marks(blocks: Iterable[Any]) -> Marks:
    """The smallest marks of rows that come block by block, each once, in their order."""
    kept = without_marks()
    for block in blocks:
        kept = with_marks_of(block, kept)
    return kept


def without_marks() -> Marks:
    """Marks of no rows."""
    return np.empty(0, dtype=np.uint32)


def with_marks_of(X: Any, kept: Marks) -> Marks:
    """The smallest marks after further rows."""
    found = marks_of(X)
    if len(kept) == MOST:  # which most rows do not reach
        found = found[found < kept[-1]]
    return np.union1d(kept, found)[:MOST]


def are_marks(found: Any) -> bool:
    """Whether something may be what :func:`smallest_marks` gives."""
    return (
        isinstance(found, np.ndarray)
        and found.dtype == np.uint32
        and found.ndim == 1
        and len(found) <= MOST
        and bool((found[1:] > found[:-1]).all())
    )


def n_known(marks: Marks, X: Any) -> int | None:
    """How many rows of an array are among those that marks were made of.

    An estimate where there were more than can be marked, and None if it has no ground: rows that
    would not have been marked say nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.storage.row_marks import n_known, smallest_marks
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> n_known(smallest_marks([X[:2], X[2:4]]), X)
    4
    """
    found = marks_of(X)
    telling = found if len(marks) < MOST else found[found <= marks[-1]]
    if not len(telling):
        return None if len(found) else 0
    return round(len(found) * float(np.isin(telling, marks).mean()))
