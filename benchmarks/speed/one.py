"""One measurement in a fresh process: ``python -m benchmarks.speed.one METHOD N DATA``.

Prints seconds, peak memory and array sizes as JSON. A process of its own makes peak memory mean
something, and lets every method start with the same cold memory.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem

from benchmarks.record import peak_memory_gb
from nearkin import KernelBeta, Pairs
from nearkin.kernels import resolve_gamma

N_FEATURES = 50
N_LANDMARKS = 1000
N_NEIGHBORS = 5


def clustered(n: int) -> np.ndarray:
    """Twenty clusters in ten of the fifty dimensions, with noise in all: like real data."""
    rng = np.random.default_rng(0)
    centers = np.zeros((20, N_FEATURES), dtype=np.float32)
    centers[:, :10] = 3 * rng.standard_normal((20, 10))
    X = rng.standard_normal((n, N_FEATURES), dtype=np.float32)
    X[:, 10:] *= 0.3
    X += centers[rng.integers(20, size=n)]
    return X


def isotropic(n: int) -> np.ndarray:
    """Noise alone: the hardest case, since no direction can be dropped."""
    return np.random.default_rng(0).standard_normal((n, N_FEATURES), dtype=np.float32)


def bare_product(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    landmarks = X[rng.choice(len(X), N_LANDMARKS, replace=False)]
    return X @ landmarks.T


def warm_product(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """The same by blocks into one small buffer: arithmetic without new memory."""
    landmarks = X[rng.choice(len(X), N_LANDMARKS, replace=False)].T.copy()
    buffer = np.empty((2000, N_LANDMARKS), dtype=X.dtype)
    for start in range(0, len(X), 2000):
        block = X[start : start + 2000]
        np.matmul(block, landmarks, out=buffer[: len(block)])
    return buffer


def kernel_beta(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    ends = rng.permutation(len(X))[:100].reshape(2, 25, 2)
    pairs = Pairs(ends[0], ends[1])
    metric = KernelBeta(n_landmarks=N_LANDMARKS, n_neighbors=N_NEIGHBORS, random_state=0)
    return metric.fit(X, pairs=pairs).transform(X)


def nystroem(X: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    gamma = resolve_gamma("mean", X)
    return Nystroem(gamma=gamma, n_components=N_LANDMARKS, random_state=0).fit_transform(X)


METHODS: dict[str, Callable[..., np.ndarray]] = {
    "bare product": bare_product,
    "product, warm buffer": warm_product,
    "KernelBeta": kernel_beta,
    "Nystroem": nystroem,
}
DATA: dict[str, Callable[[int], np.ndarray]] = {"clustered": clustered, "isotropic": isotropic}


def measure(method: str, n: int, data: str) -> dict[str, Any]:
    run = METHODS[method]
    run(DATA[data](3000), np.random.default_rng(0))  # compiled code is loaded, threads are up
    X = DATA[data](n)
    rng = np.random.default_rng(1)
    start = time.perf_counter()
    result = run(X, rng)
    seconds = time.perf_counter() - start
    return {
        "method": method,
        "data": data,
        "n": n,
        "seconds": seconds,
        "peak_gb": peak_memory_gb(),
        "input_gb": X.nbytes / 1e9,
        "output_gb": result.nbytes / 1e9,
        "columns": result.shape[1],
    }


if __name__ == "__main__":
    name, rows, kind = sys.argv[1:]
    print(json.dumps(measure(name, int(rows), kind)))
