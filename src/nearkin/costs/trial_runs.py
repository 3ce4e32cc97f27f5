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
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import clone

from nearkin.costs.fitting import fitted_prices
from nearkin.costs.formulas import Size, fewest_rows, job_terms
from nearkin.costs.kept import Run, Runs
from nearkin.costs.machine import available_memory
from nearkin.costs.memory import new_bytes
from nearkin.errors import InputError
from nearkin.pairs.pairs import Pairs
from nearkin.rows.arrays import Floats, Ints
from nearkin.rows.open import open_rows

# From one run to the next: until there are all columns and landmarks, and then.
_GROWTH, _GROWTH_OF_ROWS = 3, 8
_FEW_COLUMNS = 64
# Jobs are run so often, or for so many seconds.
_SHORT, _REPEATS = 2.0, 2
# Of the time, for runs that memory is measured in, and for one in which passes are counted: of few
# rows learners remember all that they have read.
_SHARE_FOR_MEMORY, _SHARE_FOR_PASSES = 0.2, 0.05
_N_CLASSES = 10
_MUCH_MEMORY = 2**31


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
    return Runs(runs, found["passes"], found["new_memory"])


def made(order: Order) -> Runs:
    """Trial runs, the smallest first: as many as there is time for, three at least.

    Each is run first to see its memory, of which nothing larger has left anything behind.
    """
    runs: list[Run] = []
    _run(order, next(sizes(order)))  # compiled code is loaded, threads are up
    start = time.perf_counter()
    for size in sizes(order):
        spent = time.perf_counter() - start
        foretold = _foretold(order, runs, size) if runs else 0.0
        if len(runs) >= 3 and spent + _REPEATS * foretold > _patience(order, runs):
            break
        is_brief = _n_alike(order, runs) < 2 or foretold < _SHARE_FOR_MEMORY * order.seconds
        seen = _with_memory(order, size) if is_brief else Run(size, 0.0, 0.0)
        runs.append(_timed(order, seen))
    brief = [run.size for run in runs if run.fit < _SHARE_FOR_PASSES * order.seconds]
    passes = _passes(order, (brief or [runs[0].size])[-1])
    return Runs(runs, passes, _price_of_new_memory(order, runs))


def _patience(order: Order, runs: list[Run]) -> float:
    """Seconds for all runs: more until two of them are like the job."""
    return order.seconds * (1 if _n_alike(order, runs) >= 2 else 3)


def _n_alike(order: Order, runs: list[Run]) -> int:
    """Runs that have all columns and landmarks."""
    target = order.target
    return sum((run.size.d, run.size.m) == (target.d, target.m) for run in runs)


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
            n = min(most, (_GROWTH if m != target.m else _GROWTH_OF_ROWS) * n)
        else:
            return


def _foretold(order: Order, runs: list[Run], size: Size) -> float:
    total = 0.0
    for job in ("fit", "transform"):
        terms = [job_terms(order.learner, run.size, job) for run in runs]
        prices = fitted_prices(terms, [getattr(run, job) for run in runs])
        total += prices.total(job_terms(order.learner, size, job))
    return total


def _timed(order: Order, seen: Run) -> Run:
    """The same run with its times: the least of a few, as others may use the machine, too."""
    runs = [_run(order, seen.size)]
    while len(runs) < _REPEATS and sum(run.fit + run.transform for run in runs) < _SHORT:
        runs.append(_run(order, seen.size))
    fit, transform = (min(getattr(run, job) for run in runs) for job in ("fit", "transform"))
    return replace(seen, fit=fit, transform=transform)


def _run(order: Order, size: Size, begin: Callable[[], object] = lambda: None) -> Run:
    """A fit and a transform; ``begin`` is called when the rows are there."""
    X, y = synthetic_rows(size)
    known: dict[str, Any] = {}
    if not order.by_labels:
        known["pairs"] = Pairs.from_labels(y, n_pairs=size.p, random_state=0)
        y = None  # type: ignore[assignment]
    learner = clone(order.learner)
    if size.m is not None and learner.get_params().get("n_landmarks") is not None:
        learner.set_params(n_landmarks=size.m)
    rows, finish = _placed(X, order.on_device)
    begin()
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
    X = rng.standard_normal((size.n, size.d), dtype=dtype)
    spread = min(10, size.d)
    X[:, spread:] *= 0.3
    X[:, :spread] += (3 * rng.standard_normal((_N_CLASSES, spread)).astype(dtype))[y]
    return X, y


def _with_memory(order: Order, size: Size) -> Run:
    """A run of which memory is known: arrays are counted as they are made."""
    if order.on_device:
        import torch

        torch.cuda.reset_peak_memory_stats()
        run = _run(order, size)
        return replace(run, memory=int(torch.cuda.max_memory_allocated()), uncounted=0)
    tracemalloc.start()
    run = _run(order, size, _forget_peaks)
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return replace(run, memory=memory, uncounted=max(0, peak_memory() - memory))


def _forget_peaks() -> None:
    forget_peak()
    tracemalloc.reset_peak()


def forget_peak() -> None:
    """Let :func:`peak_memory` begin anew, where the system can do that."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).malloc_trim(0)  # what was freed goes back to the system
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def peak_memory() -> int:
    """Most bytes that this process has held, since :func:`forget_peak`."""
    status = Path("/proc/self/status")
    if status.exists():  # what children are said to have held may be their parents'
        line = next(one for one in status.read_text().splitlines() if one.startswith("VmHWM:"))
        return int(line.split()[1]) * 1024
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def _price_of_new_memory(order: Order, runs: list[Run]) -> float:
    """Seconds a byte, beyond what it takes to write there: for as many as the job needs."""
    wanted = int(min(new_bytes(order.learner, order.target, runs), _MUCH_MEMORY))
    if order.on_device or not 0 < 4 * wanted < available_memory():
        return 0.0
    start = time.perf_counter()
    array = np.ones(wanted, dtype=np.uint8)
    made = time.perf_counter()
    array.fill(2)
    filled = time.perf_counter()
    return max(0.0, (made - start) - (filled - made)) / wanted


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
