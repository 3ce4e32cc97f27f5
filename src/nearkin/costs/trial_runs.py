"""Run a learner at a few small sizes, in a process of its own that has nothing else to do.

``python -m nearkin.costs.trial_runs`` reads a pickled :class:`Order` from standard input, which
:func:`ordered` writes, and prints runs as JSON.
"""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.base import clone

from nearkin._types import Floats, Ints
from nearkin.costs.formulas import Size, fewest_rows, has_squares
from nearkin.costs.kept import Run, Runs
from nearkin.costs.machine import available_memory
from nearkin.costs.memory import images_beyond
from nearkin.costs.windows import peak_working_set
from nearkin.errors import InputError
from nearkin.pairs.pairs import Pairs
from nearkin.rows.streams import open_rows

# Rows of the first run, and how they grow until there are all columns, landmarks and pairs.
_FEW_ROWS, _GROWTH = 500, 3
_FEW_COLUMNS = 64
# How rows grow then: as far as there is time for.
_STEPS = (8, 4, 2)
# Runs that are like the job but for their rows, at least.
_ALIKE = 3
# Sizes are run so often, if there is time for it.
_REPEATS = 3
# Of the time, for a run in which passes are counted: of few rows learners remember all that they
# have read.
_SHARE_FOR_PASSES = 0.05
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
    dispatch = {"SCIPY_ARRAY_API": "1"} if order.on_device else {}  # before SciPy is imported
    done = subprocess.run(
        command,
        input=pickle.dumps(order),
        capture_output=True,
        check=False,
        env=os.environ | dispatch,
    )
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

    Columns, landmarks and pairs grow with the rows until there are as many as in the job, and only
    rows from there on. Runs that have fewer are forgotten if there are enough of the others. What
    time is left goes to repetitions, of the largest runs first.
    """
    size = first_size(order)
    _run(order, size)  # compiled code is loaded, threads are up
    start = time.perf_counter()
    found = [[_run(order, size)]]
    while following := next_sizes(order, size):
        left = _patience(order, found) - (time.perf_counter() - start)
        size = next((one for one in following if _fits(order, found, one, left)), size)
        if size == found[-1][0].size:
            break
        found.append([_run(order, size)])
    for _ in range(_REPEATS - 1):
        for runs in reversed(found):
            if time.perf_counter() - start + _seconds(runs[0]) < order.seconds:
                runs.append(_run(order, runs[0].size))
    typical = [_typical(runs) for runs in found]
    brief = [run.size for run in typical if run.fit < _SHARE_FOR_PASSES * order.seconds]
    passes = _passes(order, (brief or [typical[0].size])[-1])
    alike = [run for run in typical if _is_alike(order, run.size)]
    used = alike if len(alike) > 1 else typical
    return Runs(used, passes, _price_of_new_memory(order, used[-1]))


def _seconds(run: Run) -> float:
    return run.fit + run.transform


def _fits(order: Order, found: list[list[Run]], size: Size, left: float) -> bool:
    """Whether there is time for a run and its repetition; for three runs there is."""
    if len(found) < _ALIKE:
        return True
    last = found[-1][0]
    growth = size.n / last.size.n * size.d / last.size.d
    return 2 * _seconds(last) * growth ** (2 if has_squares(order.learner) else 1) <= left


def _patience(order: Order, found: list[list[Run]]) -> float:
    """Seconds for all runs: more until some of them are like the job."""
    n_alike = sum(_is_alike(order, runs[0].size) for runs in found)
    return order.seconds * (1 if n_alike >= _ALIKE else 3)


def _typical(runs: list[Run]) -> Run:
    """The run in the middle of a few, the lesser one of two: others may use the machine, too."""

    def middle(name: str) -> Any:
        return sorted(getattr(run, name) for run in runs)[(len(runs) - 1) // 2]

    names = ("fit", "transform", "fit_memory", "transform_memory")
    return replace(runs[0], **{name: middle(name) for name in names})


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
    fewest = fewest_rows(order.learner, target.n)
    most = max(20, target.n // 2)
    if fewest > _FEW_ROWS:  # of which half may be too few
        most = max(most, (fewest + min(target.n, 2 * fewest)) // 2)
    if size.n >= most:
        return [] if size.d >= target.d else [_of_rows(order, most, min(target.d, 4 * size.d))]
    if not _is_alike(order, size):
        return [_of_rows(order, min(most, _GROWTH * size.n), min(target.d, 4 * size.d))]
    steps = (2,) if has_squares(order.learner) else _STEPS
    return [_of_rows(order, min(most, step * size.n), size.d) for step in steps]


def _of_rows(order: Order, n: int, d: int) -> Size:
    """So many rows, with as many landmarks and pairs as go with them."""
    target = order.target
    m = None if target.m is None else min(target.m, max(2, n // 2))
    # Where most rows are in some pair, that is to be so in a run.
    many = target.p > target.n // 4
    p = max(2, target.p * n // target.n) if many else min(target.p, n)
    return replace(target, n=n, d=d, m=m, p=p)


def _price_of_new_memory(order: Order, last: Run) -> float:
    """Seconds for a byte of the job's images, beyond what it takes to write there.

    Large arrays are new to the process each time; on some machines it waits for them.
    """
    wanted = images_beyond(last, order.target.n)
    if order.on_device or not 0 < 4 * wanted < available_memory():
        return 0.0
    wanted = min(wanted, _MUCH_MEMORY)
    start = time.perf_counter()
    array = np.ones(wanted, dtype=np.uint8)
    made = time.perf_counter()
    array.fill(2)
    filled = time.perf_counter()
    return max(0.0, (made - start) - (filled - made)) / wanted


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
    forget_peak(order.on_device, trim=False)
    start = time.perf_counter()
    images = learner.transform(rows)
    finish()
    transformed = time.perf_counter() - start
    held_then = peak_memory(order.on_device)
    return Run(size, fitted, transformed, held, held_then, int(images.shape[1]))


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


def forget_peak(on_device: bool = False, *, trim: bool = True) -> None:
    """Let :func:`peak_memory` begin anew, where the system can do that.

    With ``trim`` what was freed goes back to the system before.
    """
    if on_device:
        import torch

        torch.cuda.reset_peak_memory_stats()
        return
    if trim:
        with suppress(OSError, AttributeError, TypeError):  # Windows knows no CDLL(None)
            ctypes.CDLL(None).malloc_trim(0)
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
    if sys.platform == "win32":
        return peak_working_set()
    import resource

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
    asked = pickle.loads(sys.stdin.buffer.read())
    with config_context(array_api_dispatch=asked.on_device):
        found = made(asked)
    sys.stdout.write(json.dumps(asdict(found)))
