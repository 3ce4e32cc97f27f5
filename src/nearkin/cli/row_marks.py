"""Small numbers by which ``nearkin evaluate`` knows rows again that a metric was learned from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.rows.backends import Block
from nearkin.rows.streams import RowStream
from nearkin.storage.models import MOST_MARKS

Marks = NDArray[np.uint32]

_SEED = 7
# Rows that are marked at a time, so that they stay in a core's cache.
_PIECE_ROWS = 8192


def mark_rows(X: Any) -> Marks:
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


def add_marks(marks: Marks, X: Any) -> Marks:
    """The smallest marks after further rows, each once, in their order."""
    found = mark_rows(X)
    if len(marks) == MOST_MARKS:  # which most rows do not reach
        found = found[found < marks[-1]]
    return np.union1d(marks, found)[:MOST_MARKS]


def count_known(marks: Marks, X: Any) -> int | None:
    """How many rows of an array are among those that marks were made of.

    Exact up to as many different rows as have marks, an estimate beyond, and None if it has no
    ground: rows that would not have been marked say nothing.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.cli.row_marks import add_marks, count_known, mark_rows
    >>> X = np.arange(12.0).reshape(6, 2)
    >>> count_known(add_marks(np.unique(mark_rows(X[:2])), X[2:4]), X)
    4
    """
    found = mark_rows(X)
    telling = found if len(marks) < MOST_MARKS else found[found <= marks[-1]]
    if not len(telling):
        return None if len(found) else 0
    return round(len(found) * float(np.isin(telling, marks).mean()))


class MarkedRows:
    """The rows of a stream, and their smallest marks when somebody has read all of them.

    Attributes
    ----------
    rows : RowStream
        To be read by the learner.
    """

    def __init__(self, rows: RowStream) -> None:
        self.rows = rows.read_by(self._read, len(rows))
        self._given = rows
        self._found: Marks | None = None

    def _read(self, wanted: NDArray[np.int64] | None) -> Iterator[Block]:
        if wanted is not None or self._found is not None:
            yield from self._given.blocks(wanted)
            return
        marks = np.empty(0, dtype=np.uint32)
        for block in self._given.blocks():
            marks = add_marks(marks, block.rows)
            yield block
        self._found = marks

    def marks(self) -> Marks:
        """The smallest marks; the rows are read for them if nobody did."""
        for _ in self.rows.blocks() if self._found is None else ():
            pass
        assert self._found is not None
        return self._found
