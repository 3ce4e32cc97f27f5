"""What is done with the rows of a large file while they are read, and while others do other things.

Marks of rows are made while a learner reads them, which saves a pass; rows that all learners look
at are read while modules are imported.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import numpy as np
from numpy.typing import NDArray

from nearkin.rows.backends import ROWS_FOR_UNITS, Block, evenly_spaced
from nearkin.rows.streams import RowStream
from nearkin.storage.models import Marks, with_marks_of, without_marks

# Numbers of rows that are worth a thread, and for which nobody who interrupts it has to wait.
_FEWEST, _MOST = 2**22, 2**29


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
        marks = without_marks()
        for block in self._given.blocks():
            marks = with_marks_of(block.rows, marks)
            yield block
        self._found = marks

    def marks(self) -> Marks:
        """The smallest marks; the rows are read for them if nobody did."""
        for _ in self.rows.blocks() if self._found is None else ():
            pass
        assert self._found is not None
        return self._found


@contextmanager
def read_ahead(rows: RowStream) -> Iterator[None]:
    """Have the rows at hand that learners look at first, while modules are imported.

    To read a file takes hardly anything of Python, and imports nothing else.
    """
    n, d = rows.shape

    def read() -> None:
        with suppress(Exception):  # who needs the rows meets it again
            rows.take(evenly_spaced(n, ROWS_FOR_UNITS))

    if not _FEWEST < n * d < _MOST:
        yield
        return
    thread = threading.Thread(target=read, name="nearkin-read-ahead")
    thread.start()
    try:
        yield
    finally:
        thread.join()
