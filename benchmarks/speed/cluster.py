"""Learners on dask: one worker process against two, one thread each.

Rows are made on the workers and held there before the clock starts, and the embedding is summed
there: only the learner's own work and dask's are measured.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster, wait
from rich.progress import track

from benchmarks.record import Table, publish, store, stored
from nearkin import Pairs
from nearkin.dask import DaskGMML, DaskKernelBeta, DaskMetric

FOLDER = Path(__file__).parent
RAW = FOLDER / "dask.jsonl"
N_ROWS = 2_000_000
N_COLUMNS = 50
CHUNK = 25_000
N_CLASSES = 20
# Rows with a label.
N_LABELS = 20_000
TURNS = 3
WORKERS = (1, 2)


def chunk_of_rows(numbers: np.ndarray) -> np.ndarray:
    """Twenty clusters in ten of fifty columns, noise in all; row i is of cluster i % 20."""
    centers = np.zeros((N_CLASSES, N_COLUMNS), dtype=np.float32)
    centers[:, :10] = 3 * np.random.default_rng(0).standard_normal((N_CLASSES, 10))
    noise = np.random.default_rng(int(numbers[0, 0]) + 1)
    X = noise.standard_normal((len(numbers), N_COLUMNS), dtype=np.float32)
    X[:, 10:] *= 0.3
    return X + centers[numbers[:, 0] % N_CLASSES]


def rows_on_workers(n: int) -> Any:
    numbers = da.arange(n, chunks=CHUNK)[:, None]
    meta = np.empty((0, 0), dtype=np.float32)
    return numbers.map_blocks(chunk_of_rows, chunks=(numbers.chunks[0], (N_COLUMNS,)), meta=meta)


def some_pairs(n: int) -> Pairs:
    ends = np.random.default_rng(1).permutation(n)[:100].reshape(2, 25, 2)
    return Pairs(ends[0], ends[1])


def some_labels(n: int) -> np.ndarray:
    known = np.random.default_rng(1).permutation(n)[:N_LABELS]
    labels = np.full(n, -1)
    labels[known] = known % N_CLASSES
    return labels


METHODS: dict[str, Callable[[int], tuple[DaskMetric, dict[str, Any]]]] = {
    "KernelBeta, 1000 landmarks, 50 pairs": lambda n: (
        DaskKernelBeta(n_landmarks=1000, random_state=0),
        {"pairs": some_pairs(n)},
    ),
    "GMML, rbf kernel, 1000 landmarks, 20,000 labels": lambda n: (
        DaskGMML(kernel="rbf", n_landmarks=1000, random_state=0),
        {"y": some_labels(n)},
    ),
    "GMML, linear, 20,000 labels": lambda n: (DaskGMML(random_state=0), {"y": some_labels(n)}),
}


def fit_and_transform(method: str, X: Any) -> tuple[float, float, float]:
    """Seconds of ``fit`` and of ``transform``, and the sum of all coordinates."""
    learner, evidence = METHODS[method](len(X))
    start = time.perf_counter()
    metric = learner.fit(X, **evidence)
    fitted = time.perf_counter()
    total = float(abs(metric.transform(X)).sum(dtype=np.float64).compute())
    return fitted - start, time.perf_counter() - fitted, total


def measure(method: str, n: int, workers: int) -> dict[str, Any]:
    """One run on a new cluster."""
    with (
        LocalCluster(
            n_workers=workers,
            threads_per_worker=1,
            processes=True,
            memory_limit=0,
            dashboard_address=":0",
        ) as cluster,
        Client(cluster),
    ):
        # Compiled code is loaded, on every worker.
        fit_and_transform(method, rows_on_workers(4 * workers * CHUNK))
        X = rows_on_workers(n).persist()
        wait(X)
        fit, transform, total = fit_and_transform(method, X)
    return {
        "method": method,
        "n": n,
        "workers": workers,
        "fit": fit,
        "transform": transform,
        "seconds": fit + transform,
        "sum": total,
    }


def run(draws: int) -> None:
    """Measure everything and store the raw results; ``draws`` is not used."""
    del draws
    runs = [
        (turn, method, workers)
        for turn in range(TURNS)
        for method in METHODS
        for workers in WORKERS
    ]
    rows = []
    for turn, method, workers in track(runs, description="dask"):
        row = {"turn": turn, **measure(method, N_ROWS, workers)}
        if workers > 1:
            row["ratio"] = rows[-1]["seconds"] / row["seconds"]
        rows.append(row)
    store(RAW, rows)


def score() -> None:
    """The table from the stored results."""
    source, rows = stored(RAW)
    publish(FOLDER / "DASK.md", "dask: two workers against one", tables(rows), source)


def compared(rows: list[dict[str, Any]]) -> dict[str, tuple[float, float]]:
    """Seconds with one worker and with two, of each method."""
    found = {}
    for method in dict.fromkeys(row["method"] for row in rows):
        own = [row for row in rows if row["method"] == method]
        sums = [row["sum"] for row in own]
        assert np.allclose(sums, sums[0], rtol=1e-6), f"{method}: results differ"
        one, two = (
            float(np.median([row["seconds"] for row in own if row["workers"] == workers]))
            for workers in WORKERS
        )
        found[method] = one, two
    return found


def headline(rows: list[dict[str, Any]]) -> list[str]:
    """What to expect of it, in a line."""
    ratios = [f"{method} {one / two:.2f}" for method, (one, two) in compared(rows).items()]
    what = f"times as fast with two workers of dask as with one, {rows[0]['n']:,} rows"
    return [what, "; ".join(ratios)]


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    """One worker, two workers, and the ratio."""
    body = [
        [method, f"{one:.2f}", f"{two:.2f}", f"{one / two:.2f}"]
        for method, (one, two) in compared(rows).items()
    ]
    columns = ["fit and transform", "one worker, s", "two workers, s", "ratio"]
    return [Table(f"{rows[0]['n']:,} × {N_COLUMNS} float32, median of rounds", columns, body)]


if __name__ == "__main__":
    run(1)
    score()
