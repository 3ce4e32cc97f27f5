"""The data of the paper, the method as it has it, and what else we have."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np

from benchmarks.data import load
from nearkin import RCA, KernelBeta, Pairs
from nearkin.datasets import make_xor
from nearkin.scores import pair_auc, separability
from nearkin.spaces.kernels import Kernel, half_squared_distances, resolve_gamma
from nearkin.spaces.landmarks import choose_landmarks

N_PAIRS = 50
N_ITER = 3
N_JUDGED = 2000
# All positive eigenvalues: those below are rounding.
POSITIVE = 1e-6
AS_PUBLISHED = "KernelBeta, as published"
CUT = "KernelBeta, cut at 0.1"
CALIBRATED = "KernelBeta, calibrated"
KERNEL_BETAS = (AS_PUBLISHED, CUT, CALIBRATED)

Row = dict[str, Any]
Rows = tuple[np.ndarray, np.ndarray]


def kernel_beta(method: str, seed: int, **more: Any) -> KernelBeta:
    """By name; what the name does not settle is left at its default."""
    paper = {"weighting": "paper", "n_iter": N_ITER}
    settings = {
        AS_PUBLISHED: {**paper, "rank_tol": POSITIVE},
        CUT: {**paper, "rank_tol": 0.1},
        CALIBRATED: {},
    }[method]
    return KernelBeta(**{"random_state": seed, **settings, **more})


@lru_cache(maxsize=12)
def data_set(name: str) -> Rows:
    """XOR, Isolet whole, or 2000 random training images of each digit in the name."""
    if name == "xor":
        return make_xor(8000, random_state=0)
    if name == "isolet":
        return load("isolet")
    X, y = _digits()
    rng = np.random.RandomState(0)
    rows = [rng.choice(np.flatnonzero(y == int(digit)), 2000, replace=False) for digit in name]
    chosen = np.concatenate(rows)
    return X[chosen], y[chosen]


@lru_cache(maxsize=1)
def _digits() -> Rows:
    return load("mnist")


@cache
def width(data: str) -> float:
    """The library's default of gamma."""
    return float(resolve_gamma("mean", data_set(data)[0]))


def must_links(y: np.ndarray, seed: int, n_pairs: int = N_PAIRS) -> Pairs:
    return Pairs.from_labels(y, n_pairs, kind="must", random_state=seed)


def judged_rows(y: np.ndarray, seed: int) -> np.ndarray:
    """Random rows among which all distances are judged: the paper takes all rows."""
    return np.random.RandomState(seed).choice(len(y), N_JUDGED, replace=False)


def scores(Z: np.ndarray, y: np.ndarray) -> Row:
    return {"J": separability(Z, y), "auc": pair_auc(Z, y, max_pairs=50_000)}


def in_input_space(data: str) -> list[Row]:
    return [scores(*data_set(data))]


def in_feature_space(data: str) -> list[Row]:
    """Of the RBF kernel. Its distance grows with that in input space: pair AUC is the same."""
    X, y = data_set(data)
    rbf = Kernel("rbf", gamma=width(data))

    def distance(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.sqrt(2 * half_squared_distances(rbf, A, B)[0])

    return [{"J": separability(X, y, distance=distance)}]


def by_rca(data: str, seed: int) -> list[Row]:
    X, y = data_set(data)
    # Little shrinkage: the paper's RCA has no prior, but its inverse must exist.
    metric = RCA(shrinkage=1e-3).fit(X, pairs=must_links(y, seed))
    return [scores(metric.transform(X), y)]


def by_kernel_beta(method: str, data: str, m: int, seed: int, more: Row) -> list[Row]:
    """Of one draw of pairs; ``more`` are settings beside those that the method's name says."""
    X, y = data_set(data)
    links = must_links(y, seed).must_link
    points = np.unique(links)
    landmarks = choose_landmarks(
        X, m, "random", kernel=Kernel("rbf"), include=points, random_state=seed
    )
    learner = kernel_beta(method, seed, **{"gamma": width(data), **more})
    row = on_landmarks(learner, data, landmarks, links, seed)
    return [{**row, "pair_points": len(points)}]


def on_landmarks(
    learner: KernelBeta, data: str, landmarks: np.ndarray, links: np.ndarray, seed: int
) -> Row:
    """Fit on landmarks, which are all that a fit on all rows looks at, and judge."""
    X, y = data_set(data)
    learner.fit(X[landmarks], pairs=Pairs(must_link=np.searchsorted(landmarks, links)))
    judged = judged_rows(y, seed)
    return {**scores(learner.transform(X[judged]), y[judged]), "rank": learner.n_components_}
