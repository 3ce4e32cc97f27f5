"""What a command will cost: it is said before the work, and what cannot fit is refused."""

from __future__ import annotations

import shutil
from itertools import islice
from pathlib import Path
from typing import Any

from nearkin.cli.common import UserError, is_watched, say
from nearkin.rows.streams import RowStream
from nearkin.rows.validation import rows_per_read

# Numbers of rows from which on somebody who looks on waits some seconds to learn how long it takes,
# and seconds that are worth a word.
_MANY_NUMBERS, _MANY_SECONDS = 2**28, 5.0


def refuse_what_cannot_fit(learner: Any, rows: RowStream, *, by_blocks: bool) -> None:
    """Raise if what a fit needs at least is more than the memory that is free."""
    from nearkin.estimates import available_memory, has_many_landmarks, in_bytes, least_memory

    n, d = rows.shape
    needed = least_memory(learner, n, d, rows.dtype.itemsize, in_memory=not by_blocks)
    free = available_memory()
    if needed <= free:
        return
    if has_many_landmarks(learner, n):
        remedy = "give --set n_landmarks=1000, with which no n × n numbers are held."
    else:
        remedy = "give fewer rows, or --learner kernel-beta, which reads them block by block."
    raise UserError(
        f"{type(learner).__name__} needs {in_bytes(needed)} at least for {n} rows of {d} columns, "
        f"but {in_bytes(free)} are free: {remedy}"
    )


def announce(learner: Any, rows: RowStream, n_pairs: int, seconds_of_a_pass: float) -> None:
    """Say how long a fit will take and what memory it needs, if it is long and somebody looks on.

    Parameters
    ----------
    learner : estimator
    rows : RowStream
        That are read block by block.
    n_pairs : int
    seconds_of_a_pass : float
        What it took to read the rows once.
    """
    n, d = rows.shape
    if not is_watched() or n * d < _MANY_NUMBERS:
        return
    from nearkin.estimates import estimate, in_bytes, in_time

    try:
        found = estimate(learner, n=n, d=d, n_pairs=max(1, n_pairs), dtype=rows.dtype)
    except Exception:  # what is not known is not said
        return
    passes = found.passes or 1
    seconds = found.seconds + passes * seconds_of_a_pass
    if seconds >= _MANY_SECONDS:
        held = max(0, found.memory - n * d * rows.dtype.itemsize)
        say(f"about {in_time(seconds)}, {in_bytes(held)}, {passes} passes over the rows")


def refuse_embedding_that_cannot_fit(
    rows: RowStream, embedded: RowStream, array: Path | None, *, by_axes: bool
) -> None:
    """Raise if memory cannot hold a block of embedded rows, or the disk the array of all.

    Parameters
    ----------
    rows : RowStream
    embedded : RowStream
        The same in the learned space.
    array : Path or None
        The file, where it is to have all these columns uncompressed.
    by_axes : bool
        Whether principal axes of embedded rows are wanted.
    """
    from nearkin.estimates import available_memory, in_bytes

    n, q = embedded.shape
    size = embedded.dtype.itemsize
    free = available_memory()

    def needed_by(block: int) -> int:
        return block * (rows.n_columns + q) * size + (8 * q * q if by_axes else 0)

    remedy = "nearkin fit --components 10 learns a metric whose rows have fewer."
    # Files are often read by fewer rows than that, which only the first block tells.
    if needed_by(min(n, rows_per_read(rows.n_columns, rows.dtype))) > free:
        block = sum(len(block.rows) for block in islice(rows.blocks(), 1))
        if needed_by(block) > free:
            raise UserError(
                f"rows have {q} columns in the learned space: {block} of them, which are worked on "
                f"at a time, need {in_bytes(needed_by(block))} at least, but {in_bytes(free)} are "
                f"free: {remedy}"
            )
    if array is not None:
        room = shutil.disk_usage(array.parent).free
        whole = n * q * size
        if whole > room:
            raise UserError(
                f"{array}: {n} rows have {q} columns in the learned space, {in_bytes(whole)} in "
                f"all, but {in_bytes(room)} are free there: name a file on another disk, or "
                f"{remedy}"
            )
