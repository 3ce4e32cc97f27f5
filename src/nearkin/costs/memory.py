"""What a job holds, from what trial runs held."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from nearkin.costs.fitting import fitted_prices
from nearkin.costs.formulas import Size, holds_squares, job_terms
from nearkin.costs.kept import Run, Runs

# Bytes that a process gets without waiting.
_AT_HAND = 2**28


def bytes_of(learner: Any, size: Size, runs: Runs, job: str) -> int:
    """Most bytes that a process holds during a job, "fit" or "transform"."""
    found = runs.runs
    alike = all((run.size.d, run.size.m) == (size.d, size.m) for run in found)
    if len(found) > 1 and alike and not holds_squares(learner, size):
        return _along_rows(size.n, found, job)
    terms = [job_terms(learner, run.size, f"{job}_memory") for run in found]
    prices = fitted_prices(terms, [_held(run, job) for run in found])
    return int(prices.total(job_terms(learner, size, f"{job}_memory")))


def images_beyond(run: Run, n: int) -> int:
    """Bytes of the images of n rows, beyond those that a process has at hand."""
    return max(0, n * run.columns * run.size.itemsize - _AT_HAND)


def _along_rows(n: int, runs: list[Run], job: str) -> int:
    """For more rows than the last run had: they and their images, and what else must grow.

    Blocks that threads work on, and what libraries keep for themselves, grow with the first rows
    only. So what else grows is the least that it did from one run to the next.
    """
    last = runs[-1]
    rest = [_held(run, job) - run.size.n * _bytes_of_a_row(run, job) for run in runs]
    slopes = [
        (after - before) / (larger.size.n - smaller.size.n)
        for (before, smaller), (after, larger) in pairwise(zip(rest, runs, strict=True))
    ]
    slope = _bytes_of_a_row(last, job) + max(0.0, min(slopes))
    return int(_held(last, job) + slope * (n - last.size.n))


def _held(run: Run, job: str) -> int:
    return run.fit_memory if job == "fit" else run.transform_memory


def _bytes_of_a_row(run: Run, job: str) -> int:
    """Of one that is given, and of its image."""
    return run.size.itemsize * (run.size.d + (run.columns if job == "transform" else 0))
