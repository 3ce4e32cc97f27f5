"""Run a learner at a few small sizes, in a process of its own that has nothing else to do.

``python -m nearkin.costs.trial_runs`` reads a pickled :class:`Order` from standard input, which
:func:`ordered` writes, and prints runs as JSON.
"""

from __future__ import annotations

import ctypes
import json
import pickle
import resource
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from nearkin.costs.fitting import fitted_prices
from nearkin.costs.formulas import Size, fewest_rows, has_squares, job_terms
from nearkin.costs.kept import Run, Runs
from nearkin.errors import InputError
from nearkin.pairs.pairs import Pairs
from nearkin.rows.arrays import Floats, Ints
from nearkin.rows.open import open_rows

# Rows of the first run, and how they grow until there are all columns, landmarks and pairs.
_FEW_ROWS, _GROWTH = 500, 3
_FEW_COLUMNS = 64
# How rows grow then: as far as there is time for.
_STEPS = (8, 4, 2)
# Runs that are like the job but for their rows, at least.
_ALIKE = 3
# Jobs are run so often, or for so many seconds.
_SHORT, _REPEATS = 1.0, 3
# Of the time, for a run in which passes are counted: of few rows learners remember all that they
# have read.
_SHARE_FOR_PASSES = 0.05
_N_CLASSES = 10


@dataclass(frozen=True)
class Order:
    """What is to be tried.

    Attributes
    ----------
    learner : estimator
        Which is not fitted.
    target : Size
        Of the job that is to be foretold: runs stay below half of its rows.
    by_labels : bool
        Whether it learns from labels of all rows, not from pairs.
    seconds : float
        For all runs together, about.
    on_device : bool
        Whether rows are arrays of torch on a CUDA device.
    """

    learner: Any
    target: Size
    by_labels: bool
    seconds: float
    on_device: bool = False


def ordered(order: Order) -> Runs:
    """Have trial runs made by a new process, so that neither disturbs the other."""
    command = [sys.executable, "-W", "ignore", "-m", "nearkin.costs.trial_runs"]
    done = subprocess.run(command, input=pickle.dumps(order), capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise InputError(
            f"{order.learner!r} cannot be run on {order.target.d} columns, so that its cost is not "
            f"known: {said[-1] if said else f'it ended with status {done.returncode}'}"
        )
    found = json.loads(done.stdout)
    runs = [Run(Size(**one.pop("size")), **one) for one in found["runs"]]
    return Runs(runs, found["passes"])


def made(order: Order) -> Runs:
    """Trial runs, the smallest first: as many as there is time for, three at least.

    Columns, landmarks and pairs grow with the rows until there are as many as in the job, and only
    rows from there on. Runs that have fewer are forgotten if there are enough of the others.
    """
    size = first_size(order)
    _run(order, size)  # compiled code is loaded, threads are up
    start = time.perf_counter()
    runs = [_timed(order, size)]
    while True:
        left = _patience(order, runs) - (time.perf_counter() - start)
        following = [one for one in next_sizes(order, size) if _fits(order, runs, one, left)]
        if not following:
            break
        size = following[0]
        runs.append(_timed(order, size))
    brief = [run.size for run in runs if run.fit < _SHARE_FOR_PASSES * order.seconds]
    passes = _passes(order, (brief or [runs[0].size])[-1])
    alike = [run for run in runs if _is_alike(order, run.size)]
    return Runs(alike if len(alike) >= _ALIKE else runs, passes)


def _fits(order: Order, runs: list[Run], size: Size, left: float) -> bool:
    """Whether there is time for a run; for three runs there is."""
    if len(runs) < _ALIKE:
        return True
    foretold = _foretold(order, runs, size)
    return min(_REPEATS, 1 + _SHORT // max(foretold, 1e-9)) * foretold <= left


def _patience(order: Order, runs: list[Run]) -> float:
    """Seconds for all runs: more until some of them are like the job."""
    n_alike = sum(_is_alike(order, run.size) for run in runs)
    return order.seconds * (1 if n_alike >= _ALIKE else 3)


def _is_alike(order: Order, size: Size) -> bool:
    """Whether there are as many columns, landmarks and pairs as in the job."""
    target = order.target
    return (size.d, size.m, size.p) == (target.d, target.m, target.p)


def first_size(order: Order) -> Size:
    """Size of the first run: of few rows, but so many that it is of the job's kind."""
    fewest = fewest_rows(order.learner, order.target.n)
    n = fewest if fewest > _FEW_ROWS else min(_FEW_ROWS, max(20, order.target.n // 8))
    return _of_rows(order, n, min(order.target.d, _FEW_COLUMNS))


def next_sizes(order: Order, size: Size) -> list[Size]:
    """Sizes of a run after one of this size, the one that is wanted most first."""
    target = order.target
    most = max(20, target.n // 2)
    if not _is_alike(order, size) and size.n < most:
        d = min(target.d, 4 * size.d)
        return [_of_rows(order, min(most, _GROWTH * size.n), d)]
    if size.n >= most:
        return [] if size.d >= target.d else [_of_rows(order, most, min(target.d, 4 * size.d))]
    steps = (2,) if has_squares(order.learner) else _STEPS
    return [_of_rows(order, min(most, step * size.n), size.d) for step in steps]


def _of_rows(order: Order, n: int, d: int) -> Size:
    """So many rows, with as many landmarks and pairs as go with them."""
    target = order.target
    m = None if target.m is None else min(target.m, max(2, n // 2))
    whole = n >= target.n // 2  # no run will have more rows
    return replace(target, n=n, d=d, m=m, p=target.p if whole else min(target.p, n))


def _foretold(order: Order, runs: list[Run], size: Size) -> float:
    total = 0.0
    for job in ("fit", "transform"):
        terms = [job_terms(order.learner, run.size, job) for run in runs]
        prices = fitted_prices(terms, [getattr(run, job) for run in runs])
        total += prices.total(job_terms(order.learner, size, job))
    return total


def _timed(order: Order, size: Size) -> Run:
    """A run in the middle of a few, as others may use the machine, too."""
    runs = [_run(order, size)]
    while len(runs) < _REPEATS and sum(run.fit + run.transform for run in runs) < _SHORT:
        runs.append(_run(order, size))
    found = np.median([[run.fit, run.transform] for run in runs], axis=0)
    return replace(runs[0], fit=float(found[0]), transform=float(found[1]))


def _run(order: Order, size: Size) -> Run:
    """A fit and a transform."""
    X, y = synthetic_rows(size)
    known: dict[str, Any] = {}
    if not order.by_labels:
        known["pairs"] = Pairs.from_labels(y, n_pairs=size.p, random_state=0)
        y = None  # type: ignore[assignment]
    learner = clone(order.learner)
    if size.m is not None and learner.get_params().get("n_landmarks") is not None:
        learner.set_params(n_landmarks=size.m)
    rows, finish = _placed(X, order.on_device)
    forget_peak(order.on_device)
    start = time.perf_counter()
    learner.fit(rows, y, **known)
    finish()
    fitted = time.perf_counter() - start
    held = peak_memory(order.on_device)
    start = time.perf_counter()
    learner.transform(rows)
    finish()
    transformed = time.perf_counter() - start
    return Run(size, fitted, transformed, held, peak_memory(order.on_device))


def _placed(X: Floats, on_device: bool) -> tuple[Any, Any]:
    """Rows where they are to be, and what waits until the device is done."""
    if not on_device:
        return X, lambda: None
    import torch

    return torch.from_numpy(X).cuda(), torch.cuda.synchronize


def synthetic_rows(size: Size) -> tuple[Floats, Ints]:
    """Rows of ten clusters in some of the dimensions, with noise in all."""
    rng = np.random.default_rng(0)
    dtype = np.dtype(f"f{size.itemsize}")
    y = rng.integers(_N_CLASSES, size=size.n)
    X = rng.standard_normal((size.n, size.d), dtype=dtype)
    spread = min(10, size.d)
    X[:, spread:] *= 0.3
    X[:, :spread] += (3 * rng.standard_normal((_N_CLASSES, spread)).astype(dtype))[y]
    return X, y


def forget_peak(on_device: bool = False) -> None:
    """Let :func:`peak_memory` begin anew, where the system can do that."""
    if on_device:
        import torch

        torch.cuda.reset_peak_memory_stats()
        return
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back to the system
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory(on_device: bool = False) -> int:
    """Most bytes that this process has held, since :func:`forget_peak`."""
    if on_device:
        import torch

        return int(torch.cuda.max_memory_allocated())
    status = Path("/proc/self/status")
    if status.exists():  # what children are said to have held may be their parents'
        line = next(one for one in status.read_text().splitlines() if one.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _passes(order: Order, size: Size) -> int | None:
    """How often a fit reads rows that are not in memory, counted on some."""
    if not getattr(order.learner, "_remote", False):
        return None
    X, y = synthetic_rows(size)
    n_read = 0

    def blocks() -> Iterator[Floats]:
        nonlocal n_read
        n_read += 1
        yield from np.array_split(X, 2)

    rows = open_rows(blocks)
    n_read = 0
    learner = clone(order.learner)
    if size.m is not None and learner.get_params().get("n_landmarks") is not None:
        learner.set_params(n_landmarks=size.m)
    if order.by_labels:
        learner.fit(rows, y)
    else:
        learner.fit(rows, pairs=Pairs.from_labels(y, n_pairs=size.p, random_state=0))
    return n_read


if __name__ == "__main__":
    found = made(pickle.loads(sys.stdin.buffer.read()))
    sys.stdout.write(json.dumps(asdict(found)))
