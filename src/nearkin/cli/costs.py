"""What a command will cost: it is said before the work, and what cannot fit is refused."""

from __future__ import annotations

import shutil
import tempfile
import time
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from typing import Any

from nearkin.cli.common import UserError, is_watched, say
from nearkin.rows.streams import RowStream
from nearkin.rows.validation import rows_per_read

# Numbers of rows from which on somebody who looks on waits two seconds to learn how long it takes.
_MANY_NUMBERS = 2**28
_CALIBRATION = 2.0
# What takes less is not worth a word.
_SECONDS = 5.0


def refuse_what_cannot_fit(learner: Any, rows: RowStream, *, by_blocks: bool) -> None:
    """Raise if what a fit needs at least is more than the memory that is free."""
    from nearkin.costs.formulas import Size, least_memory, parts_of, takes_many_landmarks
    from nearkin.costs.machine import available_memory
    from nearkin.costs.words import in_bytes

    n, d = rows.shape
    needed = least_memory(
        learner, Size(n, d, itemsize=rows.dtype.itemsize), in_memory=not by_blocks
    )
    free = available_memory()
    if needed <= free:
        return
    name = type(learner).__name__
    if any(map(takes_many_landmarks, parts_of(learner))):
        remedy = "give --set n_landmarks=1000, with which no n × n numbers are held."
    else:
        remedy = "give fewer rows, or --learner kernel-beta, which reads them block by block."
    raise UserError(
        f"{name} needs {in_bytes(needed)} at least for {n} rows of {d} columns, but "
        f"{in_bytes(free)} are free: {remedy}"
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
    from nearkin.costs.estimates import estimate
    from nearkin.costs.words import in_bytes, in_time

    try:
        found = estimate(
            learner,
            n=n,
            d=d,
            n_pairs=_rounded(n_pairs),
            dtype=rows.dtype,
            calibration=_CALIBRATION,
        )
    except UserError:
        raise
    except Exception:  # what is not known is not said
        return
    passes = found.passes or 1
    seconds = found.seconds + passes * seconds_of_a_pass
    if seconds >= _SECONDS:
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
    from nearkin.costs.machine import available_memory
    from nearkin.costs.words import in_bytes

    n, q = embedded.shape
    size = embedded.dtype.itemsize
    free = available_memory()

    def needed_by(block: int) -> int:
        return block * (rows.n_columns + q) * size + (8 * q * q if by_axes else 0)

    remedy = "nearkin fit --components 10 learns a metric whose rows have fewer."
    # Files are often read by fewer rows than that, which only the first block tells.
    if needed_by(min(n, rows_per_read(rows.n_columns, rows.dtype))) > free:
        block = _first_block(rows)
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


def announce_embedding(
    embedded: RowStream, write: Callable[[RowStream, Path], None], name: str, *, by_axes: bool
) -> None:
    """Say how long rows take to be embedded and written, if it is long and somebody looks on.

    A block of them is embedded and written to a file that is thrown away, once to load what is
    needed, and once to see how long it takes.

    Parameters
    ----------
    embedded : RowStream
        Rows in the learned space, which are computed as they are read.
    write : callable
        Writes rows to a file.
    name : str
        Of a file of this kind.
    by_axes : bool
        Whether they are passed over once more before, for their principal axes.
    """
    n, q = embedded.shape
    if not is_watched() or n * q < _MANY_NUMBERS:
        return
    from nearkin.costs.trial_runs import peak_memory
    from nearkin.costs.words import in_bytes, in_time

    block = _first_block(embedded)
    some = embedded.read_by(lambda _: islice(embedded.blocks(), 1), block)
    with tempfile.TemporaryDirectory() as folder:
        write(some, Path(folder) / name)
        start = time.perf_counter()
        write(some, Path(folder) / f"again-{name}")
        took = time.perf_counter() - start
    seconds = (2 if by_axes else 1) * took * n / block
    if seconds >= _SECONDS:
        say(f"about {in_time(seconds)}, {in_bytes(peak_memory())}")


def _first_block(rows: RowStream) -> int:
    """How many rows are read first."""
    return sum(len(block.rows) for block in islice(rows.blocks(), 1))


def _rounded(n_pairs: int) -> int:
    """To one digit, so that what was found for a job serves for those like it."""
    digits = len(str(max(1, n_pairs))) - 1
    return max(1, round(n_pairs, -digits))
