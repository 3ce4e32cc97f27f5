"""What a job will cost: :func:`estimate`."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from nearkin.costs.clusters import Shared, shared_among
from nearkin.costs.fitting import fitted_prices
from nearkin.costs.formulas import (
    JOBS,
    Size,
    has_squares,
    job_terms,
    landmarks_of,
    name_of_rows,
    parts_of,
    takes_many_landmarks,
    with_usual_landmarks,
)
from nearkin.costs.kept import Runs, keep, key_of, recalled
from nearkin.costs.machine import available_memory
from nearkin.costs.memory import bytes_of, images_beyond
from nearkin.costs.trial_runs import Order, ordered
from nearkin.costs.words import in_bytes, in_time
from nearkin.errors import InputError, InputTypeError, MissingPackageError
from nearkin.registry import LEARNERS
from nearkin.spaces.feature_space import USUAL_LANDMARKS

_PLACES = ("host", "cuda")
_BY_LABELS = {"LMNN", "Generative"}
# How far nine of ten times were at most from what was foretold: of learners whose work is told by
# sizes alone, and of those whose work depends on what the rows are like.
_APART, _APART_BY_ROWS = 0.8, 3.0


@dataclass(frozen=True)
class Estimate:
    """Predicted time and memory of a job; ``print`` shows them in a line.

    Attributes
    ----------
    seconds, seconds_low, seconds_high : float
        Expected, and an interval that nine of ten jobs should be in. Compiled code is loaded
        already.
    memory : int
        Most bytes that a process holds which does nothing else: Python, rows, results and all. Of a
        cluster that of one worker.
    passes : int or None
        How often the rows are read; None if all of them must be in memory.
    parts : dict
        Seconds by what they are spent on, the most first.
    available : int
        Bytes that are free for a job here.
    remedy : str or None
        What to do if the job does not fit; None if it does.

    Examples
    --------
    >>> import nearkin as nk
    >>> cost = nk.estimate(nk.KernelBeta(n_landmarks=500), n=100_000, d=64)
    >>> cost.seconds_low < cost.seconds < cost.seconds_high
    True
    >>> cost.fits
    True
    """

    seconds: float
    seconds_low: float
    seconds_high: float
    memory: int
    passes: int | None
    parts: dict[str, float] = field(repr=False)
    available: int = field(repr=False)
    remedy: str | None = None

    @property
    def fits(self) -> bool:
        """Whether there is memory for it."""
        return self.remedy is None

    def __str__(self) -> str:
        low, high = in_time(self.seconds_low), in_time(self.seconds_high)
        said = f"about {in_time(self.seconds)} ({low} to {high}), {in_bytes(self.memory)}"
        if self.passes is not None:
            said += f", {self.passes} pass{'es' * (self.passes != 1)} over the data"
        if self.remedy is not None:
            said += f"; but {in_bytes(self.available)} are free: {self.remedy}"
        return said

    def table(self) -> str:
        """The parts, one to a line.

        Examples
        --------
        >>> import nearkin as nk
        >>> cost = nk.estimate(nk.KernelBeta(n_landmarks=500), n=100_000, d=64)
        >>> " % " in cost.table()
        True
        """
        return "\n".join(
            f"{in_time(cost):>10}  {100 * cost / max(self.seconds, 1e-12):3.0f} %  {name}"
            for name, cost in self.parts.items()
        )


def estimate(
    learner: Any,
    *,
    n: int,
    d: int,
    n_pairs: int = 200,
    job: str = "fit",
    dtype: Any = "float64",
    by_labels: bool | None = None,
    where: str = "host",
    workers: int | None = None,
    calibration: float = 4.0,
) -> Estimate:
    """Predict time and memory of a job from a few seconds of trial runs.

    The learner is run at small sizes in a process of its own, on rows that are made up; what the
    parts of its work cost on this machine is found from that, and kept in the user's cache. Solvers
    that stop when they are done, such as that of LMNN, may take longer for other data. Rows have as
    many columns in a kernel's space as they have dimensions there, unless ``n_components`` says it.

    Parameters
    ----------
    learner : estimator
        With its settings; it need not be fitted.
    n, d : int
        Rows and columns of the job.
    n_pairs : int, default=200
    job : {"fit", "transform", "both"}, default="fit"
        What is done with the n rows.
    dtype : float32 or float64, default="float64"
    by_labels : bool, optional
        Whether all rows have labels, and there are no pairs; by default for learners that need it.
    where : {"host", "cuda"}, default="host"
    workers : int, optional
        Cores of a cluster of dask that rows are on, each as fast as one of this machine.
    calibration : float, default=4
        Seconds for trial runs, about; those of a learner that is slow take longer.

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import nearkin as nk
    >>> cost = nk.estimate(nk.GMML(), n=100_000, d=10, calibration=0.5)
    >>> cost.fits
    True
    """
    size = _checked(learner, n, d, n_pairs, job, dtype, where, workers, calibration)
    settled = with_usual_landmarks(learner, size.n)
    if settled is not learner:
        learner, size = settled, replace(size, m=USUAL_LANDMARKS)
    if by_labels is None:
        by_labels = any(type(part).__name__ in _BY_LABELS for part in parts_of(learner))
    order = Order(learner, size, by_labels, calibration, where == "cuda")
    key = key_of(learner_facts(learner), size.d, size.m, size.p, dtype, by_labels, where)
    runs = recalled(key)
    if runs is None or not reach_far(runs, size, calibration):
        runs = ordered(order)
        keep(key, runs)
    return foretold(learner, size, job, runs, workers=workers)


def reach_far(runs: Runs, size: Size, seconds: float) -> bool:
    """Whether the largest run is of many rows, or took much of the time that there is."""
    last = runs.runs[-1]
    return 4 * last.size.n >= size.n or last.fit + last.transform >= 0.02 * seconds


def learner_facts(learner: Any) -> str:
    """The settings that tell a learner's costs."""
    return f"{type(learner).__name__}({sorted(map(str, learner.get_params(deep=True).items()))})"


def foretold(
    learner: Any, size: Size, job: str, runs: Runs, *, workers: int | None = None
) -> Estimate:
    """What trial runs say of a job."""
    parts: dict[str, float] = {}
    variance = 0.0
    jobs = JOBS if job == "both" else (job,)
    for one in jobs:
        found, spread = _times(learner, size, one, runs)
        parts |= {f"{one}: {name}": cost for name, cost in found.items()}
        variance += (spread * sum(found.values())) ** 2
    memory = max(bytes_of(learner, size, runs, one) for one in jobs)
    passes = runs.passes if job == "fit" else 1 if job == "transform" else _more(runs.passes)
    if workers is not None:
        shared = shared_among(workers, size, parts, passes or 1)
        return _of_cluster(learner, shared, variance, passes)
    return _with_interval(learner, size, parts, variance, memory, passes)


def _times(learner: Any, size: Size, job: str, runs: Runs) -> tuple[dict[str, float], float]:
    """Seconds of a fit or a transform by part, and the relative error of their sum."""
    new = 0.0 if job == "fit" else runs.new_memory
    costs = [
        max(0.2 * getattr(run, job), getattr(run, job) - new * images_beyond(run, run.size.n))
        for run in runs.runs
    ]
    sizes = [run.size for run in runs.runs]
    wanted, *terms = (job_terms(learner, one, job) for one in (size, *sizes))
    if not has_squares(learner) and all(replace(one, n=size.n) == size for one in sizes):
        # Only rows differ: what grows with them is one term.
        name = name_of_rows(job)
        wanted, *terms = ({"start": 1.0, name: float(one.n)} for one in (size, *sizes))
    prices = fitted_prices(terms, costs)
    found = prices.parts(wanted)
    spread = prices.spread(sum(found.values()))
    waited = new * images_beyond(runs.runs[-1], size.n)
    return (found | {"new memory": waited} if waited else found), spread


def _more(passes: int | None) -> int | None:
    return None if passes is None else passes + 1


def _with_interval(
    learner: Any,
    size: Size,
    parts: dict[str, float],
    variance: float,
    memory: int,
    passes: int | None,
) -> Estimate:
    total, spread = sum(parts.values()), float(np.sqrt(variance))
    by_rows = has_squares(learner) or type(learner).__name__ == "Generative"
    apart = 1.0 + max(spread / max(total, 1e-12), _APART_BY_ROWS if by_rows else _APART)
    available = available_memory()
    return Estimate(
        total,
        total / apart,
        total * apart,
        memory,
        passes,
        dict(sorted(parts.items(), key=lambda part: -part[1])),
        available,
        remedy_for(learner, passes) if memory > available else None,
    )


def _of_cluster(learner: Any, shared: Shared, variance: float, passes: int | None) -> Estimate:
    found = _with_interval(
        learner, Size(1, 1), shared.parts, variance, shared.memory_of_worker, passes
    )
    ratio = found.seconds / max(shared.seconds_of_one, 1e-12)
    high = found.seconds + (found.seconds_high - found.seconds) * ratio
    return replace(found, seconds_low=found.seconds**2 / high, seconds_high=high)


def remedy_for(learner: Any, passes: int | None) -> str:
    """What to do where there is not enough memory."""
    many = next(filter(takes_many_landmarks, parts_of(learner)), None)
    if many is not None:
        name = type(many).__name__
        return f"use {name}(n_landmarks={USUAL_LANDMARKS}), which holds no n × n numbers."
    if passes is not None:
        return "read the rows from a file with nearkin.open_rows, or spread them with nearkin.dask."
    others = ", ".join(one.name for one in LEARNERS if one.elsewhere and one.command)
    return (
        f"{type(learner).__name__} needs all rows in memory: give it fewer, or use a learner that "
        f"reads them from files ({others})."
    )


def _checked(
    learner: Any,
    n: int,
    d: int,
    n_pairs: int,
    job: str,
    dtype: Any,
    where: str,
    workers: int | None,
    calibration: float,
) -> Size:
    known = {one.name for one in LEARNERS}
    if isinstance(learner, type) or type(learner).__name__ not in known:
        shown = learner.__name__ if isinstance(learner, type) else type(learner).__name__
        raise InputTypeError(
            f"learner must be one of nearkin's, such as nearkin.KernelBeta(n_landmarks=1000), got "
            f"{shown}{', a class: call it' * isinstance(learner, type)}."
        )
    for name, value in (("n", n), ("d", d), ("n_pairs", n_pairs), ("workers", workers)):
        if value is None and name == "workers":
            continue
        if not isinstance(value, int | np.integer) or isinstance(value, bool):
            raise InputTypeError(f"{name} must be a whole number, got {value!r}.")
        if value < (2 if name == "n" else 1):
            raise InputError(f"{name} must be at least {2 if name == 'n' else 1}, got {value}.")
    if job not in (*JOBS, "both"):
        raise InputError(f'job must be "fit", "transform" or "both", got {job!r}.')
    if where not in _PLACES:
        raise InputError(f'where must be "host" or "cuda", got {where!r}; workers=16 is a cluster.')
    if where == "cuda":
        _check_device()
    if not calibration > 0:
        raise InputError(f"calibration must be a number of seconds above 0, got {calibration!r}.")
    if any(getattr(part, "kernel", None) == "precomputed" for part in parts_of(learner)):
        raise InputError('kernel="precomputed" has no columns: its cost is not foretold.')
    if workers is not None and not getattr(learner, "_remote", False):
        raise InputError(
            f"{type(learner).__name__} does not learn from rows on a cluster: workers must be None."
        )
    number = np.dtype(dtype)
    if number not in (np.float32, np.float64):
        raise InputError(f"dtype must be float32 or float64, got {dtype!r}.")
    landmarks = [landmarks_of(part) for part in parts_of(learner)]
    m = max((one for one in landmarks if one is not None), default=None)
    return Size(int(n), int(d), m, int(n_pairs), number.itemsize)


def _check_device() -> None:
    try:
        import torch
    except ImportError as error:
        raise MissingPackageError(
            'where="cuda" needs torch: pip install "nearkin[torch]".'
        ) from error
    if not torch.cuda.is_available():
        raise InputError('where="cuda": torch finds no CUDA device here.')
