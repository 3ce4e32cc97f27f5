"""Run a learner at a few small sizes, in a process of its own that has nothing else to do.

``python -m nearkin.costs.trial_runs`` reads a pickled :class:`Order` from standard input, which
:func:`ordered` writes, and prints runs as JSON.
"""

from __future__ import annotations

import json
import pickle
import resource
import subprocess
import sys
import time
import tracemalloc
import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from nearkin.costs.fitting import fitted_prices
from nearkin.costs.formulas import Size, fewest_rows, job_terms
from nearkin.costs.kept import Run, Runs
from nearkin.errors import InputError
from nearkin.pairs.pairs import Pairs
from nearkin.rows.arrays import Floats, Ints
from nearkin.rows.open import open_rows

_GROWTH = 3
_FEW_COLUMNS = 64
# Jobs shorter than this are run more than once, of which the fastest counts.
_SHORT, _REPEATS = 0.3, 3
# Of the time, for runs that memory is measured in.
_SHARE_FOR_MEMORY = 0.3
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
    command = [sys.executable, "-m", "nearkin.costs.trial_runs"]
    done = subprocess.run(command, input=pickle.dumps(order), capture_output=True, check=False)
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip().splitlines()
        raise InputError(
            f"{order.learner!r} cannot be run on {order.target.d} columns, so that its cost is not "
            f"known: {said[-1] if said else f'it ended with status {done.returncode}'}"
        )
    found = json.loads(done.stdout)
    return Runs([Run(Size(**one.pop("size")), **one) for one in found["runs"]], found["passes"])


def made(order: Order) -> Runs:
    """Trial runs, the smallest first: as many as there is time for, three at least."""
    runs: list[Run] = []
    _run(order, next(sizes(order)))  # compiled code is loaded, threads are up
    start = time.perf_counter()
    for size in sizes(order):
        spent = time.perf_counter() - start
        if len(runs) >= 3 and spent + _foretold(order, runs, size) > order.seconds:
            break
        runs.append(_timed(order, size))
    runs = _with_memory(order, runs)
    return Runs(runs, _passes(order, runs[0].size))


def sizes(order: Order) -> Iterator[Size]:
    """Sizes that grow towards that of the job: columns and landmarks first, then rows."""
    target = order.target
    most = max(20, target.n // 2)
    n = min(most, fewest_rows(order.learner, target.n))
    d = min(target.d, _FEW_COLUMNS)
    while True:
        m = None if target.m is None else min(target.m, max(2, n // 2))
        yield replace(target, n=n, d=d, m=m, p=min(target.p, n))
        if d < target.d:
            d = min(target.d, 4 * d)
        elif n < most:
            n = min(most, _GROWTH * n)
        else:
            return


def _foretold(order: Order, runs: list[Run], size: Size) -> float:
    total = 0.0
    for job in ("fit", "transform"):
        terms = [job_terms(order.learner, run.size, job) for run in runs]
        prices = fitted_prices(terms, [getattr(run, job) for run in runs])
        total += prices.total(job_terms(order.learner, size, job))
    return total


def _timed(order: Order, size: Size) -> Run:
    runs = [_run(order, size)]
    while len(runs) < _REPEATS and runs[0].fit + runs[0].transform < _SHORT:
        runs.append(_run(order, size))
    fit, transform = (min(getattr(run, job) for run in runs) for job in ("fit", "transform"))
    return Run(size, fit, transform)


def _run(order: Order, size: Size) -> Run:
    X, y = synthetic_rows(size)
    known: dict[str, Any] = {}
    if not order.by_labels:
        known["pairs"] = Pairs.from_labels(y, n_pairs=size.p, random_state=0)
        y = None  # type: ignore[assignment]
    learner = clone(order.learner)
    if size.m is not None and learner.get_params().get("n_landmarks") is not None:
        learner.set_params(n_landmarks=size.m)
    rows, finish = _placed(X, order.on_device)
    start = time.perf_counter()
    learner.fit(rows, y, **known)
    finish()
    fitted = time.perf_counter()
    learner.transform(rows)
    finish()
    return Run(size, fitted - start, time.perf_counter() - fitted)


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
    X = rng.standard_normal((size.n, size.d), dtype=dtype)  # type: ignore[call-overload]
    spread = min(10, size.d)
    X[:, spread:] *= 0.3
    X[:, :spread] += (3 * rng.standard_normal((_N_CLASSES, spread)).astype(dtype))[y]
    return X, y


def _with_memory(order: Order, runs: list[Run]) -> list[Run]:
    """The same runs, with the memory of those that there is time to repeat.

    Arrays are counted as they are made, so that small jobs tell exactly; what is not counted, such
    as modules and buffers of threads, is the same for all.
    """
    if order.on_device:
        return [_on_device(order, run) for run in runs]
    budget, measured = _SHARE_FOR_MEMORY * order.seconds, dict[Size, int]()
    for run in reversed(runs):
        if len(measured) >= 2 and run.fit + run.transform > budget:
            continue
        budget -= run.fit + run.transform
        tracemalloc.start()
        _run(order, run.size)
        measured[run.size] = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
    uncounted = max(0, peak_memory() - max(measured.values()))
    return [
        replace(run, memory=measured[run.size] + uncounted) if run.size in measured else run
        for run in runs
    ]


def _on_device(order: Order, run: Run) -> Run:
    import torch

    torch.cuda.reset_peak_memory_stats()
    _run(order, run.size)
    return replace(run, memory=int(torch.cuda.max_memory_allocated()))


def peak_memory() -> int:
    """Most bytes that this process has held."""
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
    warnings.simplefilter("ignore")
    found = made(pickle.loads(sys.stdin.buffer.read()))
    shown = {"runs": [asdict(run) for run in found.runs], "passes": found.passes}
    sys.stdout.write(json.dumps(shown))
