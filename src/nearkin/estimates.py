"""How long a fit or transform will take and what memory it needs: :func:`estimate`."""

from __future__ import annotations

import os
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from numbers import Integral
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from nearkin._types import Floats
from nearkin.errors import InputError, InputTypeError
from nearkin.messages import collect_notices, mute_third_party
from nearkin.pairs.pairs import Pairs, check_count
from nearkin.registry import LEARNERS
from nearkin.rows.streams import open_rows
from nearkin.spaces.feature_space import USUAL_LANDMARKS, default_n_landmarks

# Chosen by hand, so that an estimate takes some seconds: rows of the first trial, and of any.
_FEWEST_ROWS, _LEAST_ROWS = 1000, 20
# Rows grow until there are so many numbers or a fit takes so many seconds.
_MOST_NUMBERS, _TRIAL_SECONDS = 2**24, 0.5
# A call is repeated until it was called so often, or for so many seconds.
_MOST_CALLS, _CALL_SECONDS = 5, 0.3
# Trials have the landmarks and pairs of the job, up to so many landmarks and rows in pairs.
_MOST_LANDMARKS, _MOST_PAIRED = 2000, 4000
# Reading and writing a number takes as long as so many products in a matrix product. It counts only
# where trials have fewer landmarks than the job.
_PRODUCTS_OF_A_NUMBER = 100
# Up to so many rows learners work otherwise than beyond: learners/moving_points, metric_learner.
_ROWS_OF_A_KIND = {"KernelA": 2000, "LLMA": 2000, "MetricLearner": 5000}
_BY_LABELS = {"LMNN", "Generative"}
# By what factor nine of ten times were wrong at most (benchmarks/speed/ESTIMATE.md, two cores that
# others use, too); and those of solvers that stop when they are done, which depends on the rows.
_FACTOR, _FACTOR_BY_STEPS = 3.0, 5.0
_BY_STEPS = {"KernelA", "LLMA", "LMNN", "GeometryAware", "MetricLearner"}
# What a process holds beside rows, and KernelA and LLMA beyond that: Python, libraries, and blocks
# that threads work on, as jobs held that the benchmark stores.
_PROCESS_BYTES, _WINDOW_BYTES = 3e8, 1e8
_N_CLASSES = 10
_JOBS = ("fit", "transform")


@dataclass(frozen=True)
class Estimate:
    """Predicted time and memory of a job; ``print`` shows them in a line.

    Attributes
    ----------
    seconds, seconds_low, seconds_high : float
        Expected, and an interval that nine of ten jobs should be in. Compiled code is loaded
        already.
    memory : int
        Most bytes that a process holds which does nothing else: Python, rows, results and all.
    passes : int or None
        How often the rows are read; None if all of them must be in memory.
    available : int
        Bytes that are free for a job here.
    remedy : str or None
        What to do if the job does not fit; None if it does.

    Examples
    --------
    >>> import nearkin as nk
    >>> cost = nk.estimate(nk.GMML(), n=100_000, d=10)
    >>> cost.seconds_low < cost.seconds < cost.seconds_high
    True
    """

    seconds: float
    seconds_low: float
    seconds_high: float
    memory: int
    passes: int | None
    available: int = field(repr=False)
    remedy: str | None = None

    @property
    def fits(self) -> bool:
        """Whether there is enough memory."""
        return self.remedy is None

    def __str__(self) -> str:
        low, high = format_time(self.seconds_low), format_time(self.seconds_high)
        said = f"about {format_time(self.seconds)} ({low} to {high}), {format_bytes(self.memory)}"
        if self.passes is not None:
            said += f", {self.passes} pass{'es' * (self.passes != 1)} over the data"
        if self.remedy is not None:
            said += f"; but {format_bytes(self.available)} are free: {self.remedy}"
        return said


def estimate(
    learner: Any,
    *,
    n: int,
    d: int,
    n_pairs: int = 200,
    job: str = "fit",
    dtype: Any = "float64",
    by_labels: bool | None = None,
) -> Estimate:
    """Predict time and memory of a job from two small ones that are timed in this process.

    Both are made-up rows in clusters, with the columns, landmarks and pairs of the job, so that
    only the number of rows is extrapolated; memory follows from sizes by a formula. Expect a few
    seconds for it. Solvers that stop when they are done, such as that of LMNN, may take longer for
    other data, and a machine that is busy at that moment seems slow: both is in the interval. What
    MetricLearner will choose is not known: its ``transform`` may take as good as no time, and the
    interval begins at 0.

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

    Returns
    -------
    Estimate

    Examples
    --------
    >>> import nearkin as nk
    >>> nk.estimate(nk.GMML(), n=100_000, d=10).fits
    True
    """
    _check(learner, n, d, n_pairs, job, dtype)
    if by_labels is None:
        by_labels = any(type(part).__name__ in _BY_LABELS for part in list_parts(learner))
    trial = _Trial(learner, n, d, n_pairs, np.dtype(dtype), by_labels)
    jobs = _JOBS if job == "both" else (job,)
    passes = _count_passes(trial)
    seconds, columns = _extrapolate_jobs(trial, jobs)
    low, high = (sum(_bound_seconds(trial, *one)[end] for one in seconds.items()) for end in (0, 1))
    memory = max(_estimate_memory(trial, columns, one) for one in jobs)
    if "fit" not in jobs:
        passes = 1
    elif passes is not None:
        passes += "transform" in jobs
    available = available_memory()
    remedy = _suggest_remedy(learner, n, passes) if memory > available else None
    return Estimate(sum(seconds.values()), low, high, memory, passes, available, remedy)


def list_parts(learner: Any) -> list[Any]:
    """The learners in a composition, recursively, or the learner itself."""
    steps = getattr(learner, "steps", None) or getattr(learner, "learners", None)
    return [learner] if steps is None else [part for step in steps for part in list_parts(step)]


def count_kernel_rows(learner: Any, n: int) -> int:
    """Number of landmarks a learner takes of n rows, or n without landmarks; 0 without a kernel."""
    if getattr(learner, "kernel", None) is None or type(learner).__name__ == "GeometryAware":
        return 0
    named = getattr(learner, "landmarks", "random")
    is_list = hasattr(named, "__len__") and not isinstance(named, str)  # fit refuses others
    found = len(named) if is_list else getattr(learner, "n_landmarks", None)
    if found is None:
        found = default_n_landmarks(n) or n
    return min(int(found), n) if isinstance(found, Integral) else 0  # fit refuses what is no number


def least_memory(learner: Any, n: int, d: int, itemsize: int = 8, *, in_memory: bool = True) -> int:
    """Bytes that a fit needs at least: rows, unless read from files, and its kernel matrix."""
    square = max(count_kernel_rows(part, n) for part in list_parts(learner))
    return (n * d * in_memory + square**2) * itemsize


def has_many_landmarks(learner: Any, n: int) -> bool:
    """Whether a fit to n rows would need less memory with fewer landmarks."""
    return any(
        count_kernel_rows(part, n) >= min(n, USUAL_LANDMARKS + 1) for part in list_parts(learner)
    )


def available_memory() -> int:
    """Bytes free for a new job, by the system's count and a container's limit."""
    if sys.platform == "win32":
        import ctypes

        # MEMORYSTATUSEX: its own length, the load in per cent, and seven numbers of bytes.
        form = struct.Struct("=LL7Q")
        status = ctypes.create_string_buffer(form.pack(form.size, *[0] * 8), form.size)
        ctypes.windll.kernel32.GlobalMemoryStatusEx(status)
        _length, _load, _total, free, *_ = form.unpack(status.raw)
        return int(free)
    found = []
    with suppress(OSError):
        lines = Path("/proc/meminfo").read_text(encoding="utf-8").splitlines()
        found += [int(one.split()[1]) * 1024 for one in lines if one.startswith("MemAvailable:")]
    with suppress(OSError, ValueError):  # of "max"
        limit, used = (
            Path(f"/sys/fs/cgroup/memory.{one}").read_text() for one in ("max", "current")
        )
        found.append(max(0, int(limit) - int(used)))
    return min(found) if found else os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def format_time(seconds: float) -> str:
    """A time as text in a suitable unit, such as 0.04 s or 11.6 days."""
    for unit, length, digits in (("days", 86400, 3), ("h", 3600, 2), ("min", 60, 2)):
        if seconds >= 2 * length:
            return f"{seconds / length:.{digits}g} {unit}"
    return f"{seconds:.2g} s" if seconds < 100 else f"{seconds:.0f} s"


def format_bytes(memory: float) -> str:
    """An amount of memory as text in a suitable unit, such as 3 MB or 0.12 TB."""
    unit, size = next(
        (one for one in (("TB", 1e12), ("GB", 1e9)) if memory >= 0.0995 * one[1]), ("MB", 1e6)
    )
    amount = memory / size
    return f"{amount:.2g} {unit}" if amount < 100 else f"{amount:.0f} {unit}"


@dataclass(frozen=True)
class _Trial:
    """A job or a small trial of it: learner, n rows, d columns, p pairs or labels, and dtype."""

    learner: Any
    n: int
    d: int
    p: int
    dtype: np.dtype[Any]
    by_labels: bool

    def shrink(self, n: int, most: int) -> _Trial:
        """The job with about n rows, at most ``most``, enough for its landmarks and pairs."""
        parts = list_parts(self.learner)
        counts = [count_kernel_rows(part, self.n) for part in parts]
        k = max(min(count, _MOST_LANDMARKS) if count < self.n else 0 for count in counts)
        n = min(max(n, 2 * k, min(2 * self.p, _MOST_PAIRED)), most, _MOST_NUMBERS // self.d)
        kinds = [_ROWS_OF_A_KIND.get(type(part).__name__, 0) for part in parts]
        n = max([n, _LEAST_ROWS, *(kind + 1 for kind in kinds if kind < self.n)])
        # Where most rows are in some pair, that is to be so in a trial.
        p = self.p * n // self.n if 4 * self.p > self.n else min(self.p, n // 2)
        learner = clone(self.learner)
        for part, count in zip(list_parts(learner), counts, strict=True):
            if count:
                m = n if count == self.n else min(count, _MOST_LANDMARKS, n)
                part.set_params(n_landmarks=m, landmarks="random")
        return replace(self, learner=learner, n=n, p=max(1, p))

    def make_rows(self) -> tuple[Floats, dict[str, Any]]:
        """Random rows (n, d) in clusters, and pairs or labels, as arguments of ``fit``.

        For MetricLearner every second cluster is of one class, so that it chooses many kernels,
        which take the longest.
        """
        rng = np.random.default_rng(0)
        chooses = any(type(part).__name__ == "MetricLearner" for part in list_parts(self.learner))
        y = rng.integers(_N_CLASSES, size=self.n)
        known: dict[str, Any] = {"y": y}
        if not self.by_labels:
            if 2 * self.p <= self.n:  # no row is in two pairs
                left, right = rng.permutation(self.n)[: 2 * self.p].reshape(2, -1)
                y[right] = (y[left] + np.arange(self.p) % 2) % _N_CLASSES
                if chooses:
                    y[right] = (y[right] + 2 * rng.integers(_N_CLASSES, size=self.p)) % _N_CLASSES
                links = np.column_stack([left, right])
                known = {"pairs": Pairs(links[::2], links[1::2], n_rows=self.n)}
            else:
                kinds = y % 2 if chooses else y
                known = {"pairs": Pairs.from_labels(kinds, n_pairs=self.p, random_state=0)}
        X = rng.standard_normal((self.n, self.d), dtype=self.dtype)
        spread = min(10, self.d)
        X[:, spread:] *= 0.3
        X[:, :spread] += (3 * rng.standard_normal((_N_CLASSES, spread)).astype(self.dtype))[y]
        return X, known

    def work(self, job: str) -> float:
        """Amount of work of a job, in arbitrary units: how its time grows with its sizes."""
        n, d = float(self.n), self.d
        total = _PRODUCTS_OF_A_NUMBER * n * d
        for part in list_parts(self.learner):
            name, k = type(part).__name__, count_kernel_rows(part, self.n)
            if job == "transform":
                total += n * d * (n if name == "GeometryAware" else k)
            elif name in ("KernelA", "LLMA", "GeometryAware"):  # neighbours, and sparse steps
                total += n**2 * d if n <= _ROWS_OF_A_KIND.get(name, 0) else n**1.5 * d
            elif name == "LMNN":
                total += n**2 * d
            elif k:
                total += k**2 * (k + d)
        return total


def _extrapolate_jobs(job: _Trial, jobs: Sequence[str]) -> tuple[dict[str, float], int]:
    """Seconds by kind of job, extrapolated from timed trials, and columns after ``transform``."""
    trial = job.shrink(_FEWEST_ROWS, job.n // 4)
    _time_fit(trial)  # compiled code is loaded
    fits: list[tuple[float, float]] = []
    while True:
        longer, learner, X = _time_fit(trial)
        fits.append((trial.work("fit"), longer))
        larger = job.shrink(4 * trial.n, job.n // 2)
        if longer * larger.work("fit") > 8 * _TRIAL_SECONDS * trial.work("fit"):
            larger = job.shrink(2 * trial.n, job.n // 2)
        if larger.n <= trial.n or (len(fits) > 1 and longer > _TRIAL_SECONDS):
            break
        trial = larger
    found: dict[str, float] = {}
    if "fit" in jobs:
        found["fit"] = _extrapolate(fits[0], fits[-1], job.work("fit"))
    if "transform" in jobs:
        few = X[:_FEWEST_ROWS]
        seconds = _time_call(lambda: learner.transform(few))
        growth = min(_TRIAL_SECONDS / seconds, job.n / 2 / len(few), _MOST_NUMBERS / few.size)
        many = np.resize(X, (int(len(few) * max(growth, 1.0)), job.d))
        longer = _time_call(lambda: learner.transform(many))
        # As many rows as cost this learner, which may know fewer, what the job will cost.
        wanted = job.work("transform") / replace(job, n=trial.n).work("transform") * trial.n
        found["transform"] = _extrapolate((len(few), seconds), (len(many), longer), wanted)
    return found, learner.transform(X[:2]).shape[1]


def _bound_seconds(job: _Trial, kind: str, seconds: float) -> tuple[float, float]:
    """Seconds that nine of ten jobs take at least and at most."""
    names = {type(part).__name__ for part in list_parts(job.learner)}
    factor = _FACTOR_BY_STEPS if names & _BY_STEPS else _FACTOR
    # MetricLearner may choose the Euclidean distance, or a blend of kernels, as in trials, which
    # takes 2000 times as long.
    is_chosen = kind == "transform" and "MetricLearner" in names
    return 0.0 if is_chosen else seconds / factor, seconds * factor


def _time_fit(trial: _Trial) -> tuple[float, Any, Floats]:
    """Fit to random rows: seconds, the fitted learner, and the rows."""
    X, known = trial.make_rows()
    learner = clone(trial.learner)
    with mute_third_party(), collect_notices():
        return _time_call(lambda: learner.fit(X, **known)), learner, X


def _time_call(call: Callable[[], Any]) -> float:
    """Seconds of a call, the least of a few."""
    found: list[float] = []
    while len(found) < 2 or (len(found) < _MOST_CALLS and sum(found) < _CALL_SECONDS):
        start = time.perf_counter()
        call()
        found.append(time.perf_counter() - start)
    return min(found)


def _extrapolate(small: tuple[float, float], large: tuple[float, float], wanted: float) -> float:
    """Seconds of ``wanted`` work from two pairs (work, seconds), linearly."""
    (less, sooner), (more, later) = small, large
    slope = (later - sooner) / (more - less) if more > less else later / more
    return later + min(max(slope, 0.0), later / more) * (wanted - more)


def _count_passes(job: _Trial) -> int | None:
    """Number of passes of a fit over rows in files, counted in a trial; None if it reads none."""
    if not getattr(job.learner, "_remote", False):
        return None
    small = job.shrink(_FEWEST_ROWS, job.n // 4)
    X, known = small.make_rows()
    n_read = 0

    def blocks() -> Iterator[Floats]:
        nonlocal n_read
        n_read += 1
        yield from np.array_split(X, 2)

    rows = open_rows(blocks)
    n_read = 0
    with mute_third_party(), collect_notices():
        clone(small.learner).fit(rows, **known)
    return n_read


def _estimate_memory(job: _Trial, columns: int, kind: str) -> int:
    """Bytes that a process holds in a job: rows, results, and matrices of landmarks."""
    n, itemsize = job.n, job.dtype.itemsize
    held: float = n * (job.d + (columns if kind == "transform" else 0)) * itemsize
    for part in list_parts(job.learner):
        name, k = type(part).__name__, count_kernel_rows(part, n)
        held += 4 * k**2 * itemsize
        if name == "LMNN":
            held += n**2 * itemsize
        elif name in ("KernelA", "LLMA"):
            held += (4 * n**2 if n <= _ROWS_OF_A_KIND[name] else n * k) * itemsize + _WINDOW_BYTES
    return int(_PROCESS_BYTES + held)


def _suggest_remedy(learner: Any, n: int, passes: int | None) -> str:
    if has_many_landmarks(learner, n):
        name = next(
            type(part).__name__ for part in list_parts(learner) if count_kernel_rows(part, n)
        )
        return f"use {name}(n_landmarks={USUAL_LANDMARKS}), which holds no n × n numbers."
    if passes is not None:
        return "read the rows from a file with nearkin.open_rows, or spread them with nearkin.dask."
    others = ", ".join(one.name for one in LEARNERS if one.elsewhere and one.command)
    needs = f"{type(learner).__name__} needs all rows in memory"
    return f"{needs}: give it fewer, or use a learner that reads them from files ({others})."


def _check(learner: Any, n: int, d: int, n_pairs: int, job: str, dtype: Any) -> None:
    shown = learner.__name__ if isinstance(learner, type) else type(learner).__name__
    if isinstance(learner, type) or shown not in {one.name for one in LEARNERS}:
        raise InputTypeError(
            f"learner must be one of nearkin's, such as nearkin.KernelBeta(n_landmarks=1000), got "
            f"{shown}{', a class: call it' * isinstance(learner, type)}."
        )
    for name, value, least in (("n", n, 2), ("d", d, 1), ("n_pairs", n_pairs, 1)):
        check_count(value, name, least=least)
    if d > _MOST_NUMBERS:
        raise InputError(f"d must be {_MOST_NUMBERS} at most, got {d}.")
    if job not in (*_JOBS, "both"):
        raise InputError(f'job must be "fit", "transform" or "both", got {job!r}.')
    if any(getattr(part, "kernel", None) == "precomputed" for part in list_parts(learner)):
        raise InputError('kernel="precomputed" has no columns: its cost is not foretold.')
    if np.dtype(dtype) not in (np.float32, np.float64):
        raise InputError(f"dtype must be float32 or float64, got {dtype!r}.")
