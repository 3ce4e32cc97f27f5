"""Sums of Gaussian kernel values, ``Σ_j k(x, x_j) C_j``: rows a second on the host.

Beside the plain formula with scikit-learn's ``rbf_kernel`` by blocks of rows, and beside the two
matrix products alone, without the exponential, by blocks that stay in a core's cache: no way by
products can be faster. All three take turns, each in as many threads as there are cores, and the
best of all turns counts. ``python -m benchmarks.speed.kernel_sums`` prints it, and stores nothing.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.record import Table, publish, store, stored
from nearkin.rows.parallel import run_in_blocks
from nearkin.spaces.kernels import Kernel
from nearkin.spaces.landmarks import KernelLandmarks, KernelSums

FOLDER = Path(__file__).parent
RAW = FOLDER / "kernel_sums.jsonl"
N_ROWS, N_COLUMNS, N_SUMS = 100_000, 50, 64
LANDMARKS = (300, 1000)
TYPES = ("float32", "float64")
TURNS, ONE_ROW_TURNS = 7, 200
# Rows of a block: kernel values of more of them take longer to write and read than to find, and
# those of fewer leave a core's cache half empty.
PLAIN_ROWS, CACHE_BYTES = 2000, 2**20


def problem(m: int, dtype: str) -> tuple[np.ndarray, KernelSums, float]:
    """Rows, the sums to find, and the kernel's gamma."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N_ROWS, N_COLUMNS)).astype(dtype)
    gamma = 0.5 / N_COLUMNS
    kernel = Kernel("rbf", gamma=gamma)
    C = rng.standard_normal((m, N_SUMS))
    return X, KernelSums(KernelLandmarks(kernel, X[:m].copy()), C), gamma


def ways(X: np.ndarray, sums: KernelSums, gamma: float) -> dict[str, Callable[[], np.ndarray]]:
    """The ways that are compared."""
    landmarks, C = sums.landmarks.rows, sums.coefficients.astype(X.dtype)
    across = np.ascontiguousarray(landmarks.T)

    def plain() -> np.ndarray:
        out = np.empty((len(X), N_SUMS), dtype=X.dtype)

        def work(rows: slice) -> None:
            out[rows] = rbf_kernel(X[rows], landmarks, gamma=gamma) @ C

        run_in_blocks(work, len(X), PLAIN_ROWS)
        return out

    def products() -> np.ndarray:
        out = np.empty((len(X), N_SUMS), dtype=X.dtype)
        run_in_blocks(
            lambda rows: np.matmul(X[rows] @ across, C, out=out[rows]),
            len(X),
            CACHE_BYTES // (len(landmarks) * X.itemsize),
        )
        return out

    return {"nearkin": lambda: sums.at(X), "plain formula": plain, "products alone": products}


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure() -> list[dict[str, Any]]:
    found = []
    for m in LANDMARKS:
        for dtype in TYPES:
            X, sums, gamma = problem(m, dtype)
            some = slice(0, 2000)
            exact = rbf_kernel(X[some].astype(float), X[:m].astype(float), gamma=gamma)
            expected = exact @ sums.coefficients
            error = np.abs(sums.at(X[some]) - expected).max() / np.abs(expected).max()
            compared = ways(X, sums, gamma)
            times = {name: min(seconds(work) for _ in range(2)) for name, work in compared.items()}
            for _ in range(TURNS):
                for name, work in compared.items():
                    times[name] = min(times[name], seconds(work))
            one = partial(sums.at, X[:1])
            one_row = min(seconds(one) for _ in range(ONE_ROW_TURNS))
            row = {"m": m, "dtype": dtype, "one row": one_row, "error": float(error), **times}
            found.append(row)
    return found


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    body = [
        [
            f"{row['m']:,} landmarks, {row['dtype']}",
            *(
                f"{N_ROWS / row[name]:,.0f}"
                for name in ("nearkin", "plain formula", "products alone")
            ),
            f"{row['plain formula'] / row['nearkin']:.2f}",
            f"{row['products alone'] / row['nearkin']:.2f}",
            f"{1e6 * row['one row']:.0f}",
            f"{row['error']:.1e}",
        ]
        for row in rows
    ]
    columns = ["", "rows a second", "plain formula", "products alone"]
    columns += ["times as fast as the formula", "as the products", "one row, µs", "relative error"]
    title = f"{N_ROWS:,} rows of {N_COLUMNS} columns, {N_SUMS} sums of each"
    return [Table(title, columns, body)]


def run(draws: int) -> None:
    """Measure and store; ``draws`` is not used."""
    del draws
    store(RAW, measure())


def score() -> None:
    """The table from the stored results."""
    source, rows = stored(RAW)
    publish(FOLDER / "KERNEL_SUMS.md", "Kernel sums", tables(rows), source)


if __name__ == "__main__":
    for table in tables(measure()):
        table.show()
