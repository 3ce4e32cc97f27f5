"""The data of the paper, the method as it has it, and what else we have."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numpy as np

from benchmarks.data import load
from nearkin import RCA, KernelBeta, Pairs
from nearkin.datasets import make_xor
from nearkin.scores import pair_auc, separability
from nearkin.spaces.kernels import Kernel, half_squared_distances, resolve_gamma

N_PAIRS = 50
N_ITER = 3
# All positive eigenvalues: those below are rounding.
POSITIVE = 1e-6
AS_PUBLISHED = "KernelBeta, as published"
CUT = "KernelBeta, cut at 0.1"
CALIBRATED = "KernelBeta, calibrated"
KERNEL_BETAS = (AS_PUBLISHED, CUT, CALIBRATED)

Row = dict[str, Any]
Rows = tuple[np.ndarray, np.ndarray]


def kernel_beta(method: str, n_landmarks: int | None, seed: int, **more: Any) -> KernelBeta:
    """By name; what the name does not settle is left at its default."""
    paper = {"weighting": "paper", "n_iter": N_ITER}
    settings = {
        AS_PUBLISHED: {**paper, "rank_tol": POSITIVE},
        CUT: {**paper, "rank_tol": 0.1},
        CALIBRATED: {},
    }[method]
    return KernelBeta(**{"n_landmarks": n_landmarks, "random_state": seed, **settings, **more})


@lru_cache(maxsize=12)
def data_set(name: str, draw: int = 0) -> Rows:
    """XOR, Isolet whole, or 2000 random training images of each digit in the name."""
    if name == "xor":
        return make_xor(8000, random_state=draw)
    if name == "isolet":
        return load("isolet")
    X, y = _digits()
    rng = np.random.RandomState(draw)
    rows = [rng.choice(np.flatnonzero(y == int(digit)), 2000, replace=False) for digit in name]
    chosen = np.concatenate(rows)
    return X[chosen], y[chosen]


@lru_cache(maxsize=1)
def _digits() -> Rows:
    return load("mnist")


def must_links(y: np.ndarray, seed: int, n_pairs: int = N_PAIRS) -> Pairs:
    return Pairs.from_labels(y, n_pairs, kind="must", random_state=seed)


def in_input_space(data: str, draw: int) -> list[Row]:
    X, y = data_set(data, draw)
    return [{"J": separability(X, y), "auc": pair_auc(X, y, max_pairs=200_000)}]


def in_feature_space(data: str, draw: int) -> list[Row]:
    """Of the RBF kernel. Its distance grows with that in input space: pair AUC is the same."""
    X, y = data_set(data, draw)
    rbf = Kernel("rbf", gamma=resolve_gamma("mean", X))

    def distance(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.sqrt(2 * half_squared_distances(rbf, A, B)[0])

    return [{"J": separability(X, y, distance=distance)}]


def by_rca(data: str, seed: int) -> list[Row]:
    # Little shrinkage: the paper's RCA has no prior, but its inverse must exist.
    return [_learned(RCA(shrinkage=1e-3), data, seed)]


def by_kernel_beta(method: str, data: str, m: int, seed: int, more: Row) -> list[Row]:
    """Of one draw of pairs; ``more`` are settings beside those that the method's name says."""
    row = _learned(kernel_beta(method, m, seed, **more), data, seed)
    pairs = must_links(data_set(data)[1], seed)
    return [{**row, "pair_points": len(np.unique(pairs.must_link))}]


def _learned(metric: Any, data: str, seed: int) -> Row:
    X, y = data_set(data)
    pairs = must_links(y, seed)
    start = time.perf_counter()
    Z = metric.fit(X, pairs=pairs).transform(X)
    seconds = time.perf_counter() - start
    return {
        "J": separability(Z, y),
        "auc": pair_auc(Z, y, max_pairs=200_000),
        "rank": metric.n_components_,
        "seconds": round(seconds, 4),
    }
