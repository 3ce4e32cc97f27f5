"""What a command will cost: it is said before the work, and what cannot fit is refused."""

from __future__ import annotations

from typing import Any

from nearkin.cli.failures import UserError
from nearkin.cli.messages import is_watched, say
from nearkin.rows.streams import RowStream

# Numbers of rows from which on somebody who looks on waits two seconds to learn how long it takes.
_MANY_NUMBERS = 2**28
_CALIBRATION = 2.0
# What takes less is not worth a word.
_SECONDS = 5.0


def refuse_what_cannot_fit(learner: Any, rows: RowStream, *, by_blocks: bool) -> None:
    """Raise if what a fit needs at least is more than the memory that is free."""
    from nearkin.costs.formulas import Size, is_exact, least_memory, parts_of
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
    if any(is_exact(part) for part in parts_of(learner)):
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


def _rounded(n_pairs: int) -> int:
    """To one digit, so that what was found for a job serves for those like it."""
    digits = len(str(max(1, n_pairs))) - 1
    return max(1, round(n_pairs, -digits))
