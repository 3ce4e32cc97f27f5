"""The data of the paper, the method as it has it, and what else we have."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any

import numpy as np
from sklearn.metrics import euclidean_distances

from benchmarks.data import load
from nearkin import RCA, KernelBeta, Pairs
from nearkin.datasets import make_xor
from nearkin.scores import pair_auc, separability
from nearkin.spaces.kernels import Kernel, half_squared_distances
from nearkin.spaces.landmarks import choose_landmarks

N_PAIRS = 50
N_ITER = 3
N_JUDGED = 2000
# "Positive" eigenvalues are above this share of the largest: calibrated, see cut_off.py.
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
def data_set(name: str, redraw: int = 0) -> Rows:
    """XOR, Isolet whole, or 2000 random training images of each digit in the name."""
    if name == "xor":
        return make_xor(8000, random_state=redraw)
    if name == "isolet":
        return load("isolet")
    X, y = _digits()
    rng = np.random.RandomState(redraw)
    rows = [rng.choice(np.flatnonzero(y == int(digit)), 2000, replace=False) for digit in name]
    chosen = np.concatenate(rows)
    return X[chosen], y[chosen]


@lru_cache(maxsize=1)
def _digits() -> Rows:
    return load("mnist")


@cache
def width(data: str) -> float:
    """One over σ², of which σ is the mean distance of rows: that gives the printed RBF rows."""
    X = data_set(data)[0]
    some = X[np.random.RandomState(0).permutation(len(X))[:N_JUDGED]]
    return float(1 / euclidean_distances(some).mean() ** 2)


def must_links(y: np.ndarray, seed: int, n_pairs: int = N_PAIRS) -> Pairs:
    """Uniform over all pairs of one class."""
    return Pairs.from_labels(y, n_pairs, kind="must", random_state=seed)


def even_must_links(y: np.ndarray, seed: int) -> Pairs:
    """As many of each class, but for one."""
    rng = np.random.RandomState(seed)
    classes = rng.permutation(np.unique(y))
    links = []
    for c, chosen in zip(classes, np.array_split(np.arange(N_PAIRS), len(classes)), strict=True):
        of_class = Pairs.from_labels(
            np.where(y == c, 0, -1), len(chosen), kind="must", random_state=rng
        )
        links.append(of_class.must_link)
    return Pairs(must_link=np.concatenate(links))


def judged_rows(y: np.ndarray, seed: int) -> np.ndarray:
    """Random rows among which all distances are judged: the paper takes all rows."""
    return np.random.RandomState(seed).choice(len(y), N_JUDGED, replace=False)


def with_itself(y: np.ndarray) -> float:
    """What makes J that of eq. (17), whose mean within classes has each row with itself, too."""
    counts = np.unique(y, return_counts=True)[1].astype(float)
    return float((counts**2).sum() / (counts * (counts - 1)).sum())


def scores(Z: np.ndarray, y: np.ndarray, of_all: np.ndarray | None = None) -> Row:
    """J and pair AUC of some rows; ``of_all`` are the classes of all rows, which J is that of."""
    J = separability(Z, y) * with_itself(y if of_all is None else of_all)
    return {"J": J, "auc": pair_auc(Z, y, max_pairs=50_000)}


def in_input_space(data: str, redraw: int) -> list[Row]:
    return [scores(*data_set(data, redraw))]


def in_feature_space(data: str, redraw: int) -> list[Row]:
    """Of the RBF kernel. Its distance grows with that in input space: pair AUC is the same."""
    X, y = data_set(data, redraw)
    rbf = Kernel("rbf", gamma=width(data))

    def distance(A: np.ndarray, B: np.ndarray) -> np.ndarray:
        return np.sqrt(2 * half_squared_distances(rbf, A, B)[0])

    return [{"J": separability(X, y, distance=distance) * with_itself(y)}]


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
    found = scores(learner.transform(X[judged]), y[judged], y)
    return {**found, "rank": learner.n_components_}
