"""The metrics and clusterings that are compared, and one measurement of one of them."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons

from benchmarks.data import load, standardized
from benchmarks.resume import Job
from nearkin import LLMA, RCA, GeometryAware, KernelA, KernelBeta, MPCKMeans, Pairs
from nearkin.datasets import make_xor
from nearkin.learners.geometry_aware import FewRowsWarning
from nearkin.scores import balanced_rand
from nearkin.spaces.kernels import resolve_gamma

RUNS = 20

ARTIFICIAL = ("xor", "two moons")
UCI = (
    "soybean_small",
    "protein",
    "wine",
    "ionosphere",
    "boston_housing",
    "breast_cancer_wdbc",
)
# "Three-digit subsets": those of the authors' other paper of that year, and others of our own.
DIGITS = ("012", "678", "019")
OWN_DIGITS = ("01", "358", "4679")
# Sets of point pairs, as published: Table III has ten.
DRAWS = {**dict.fromkeys((*ARTIFICIAL, *UCI), 20), **dict.fromkeys((*DIGITS, *OWN_DIGITS), 10)}

BETA, A = "KernelBeta, as published", "KernelA, as published"
CENTRED = "KernelBeta, centred, paper's weights"
CUT = "KernelBeta, as published, eigenvalues cut at 0.1"
CENTRED_CUT = "KernelBeta, centred, paper's weights, cut at 0.1"
WIDE = "KernelA, γ three times as large"
AFTER_RCA = "RCA, then KernelA"
ALONG, ALONG_NORMALISED = "GeometryAware", "GeometryAware, normalised"
TOGETHER = "KernelA and weights together, until rest"
RCA_, LLMA_ = "RCA", "LLMA"
MPCK = ("MPCK-S, as published", "MPCK-SD, as published")

Rows = np.ndarray
Row = dict[str, Any]


@cache
def data_set(name: str) -> tuple[Rows, Rows, int]:
    """Rows, classes and number of pairs."""
    if name == "xor":
        return *make_xor(400, random_state=0), 10
    if name == "two moons":
        return *make_moons(400, noise=0.1, random_state=0), 10
    if name in UCI:
        X, y = load(name)
        return standardized(X), y, 30
    X, y = load("mnist")
    rng = np.random.RandomState(0)
    rows = [rng.choice(np.flatnonzero(y == int(digit)), 1000, replace=False) for digit in name]
    chosen = np.concatenate(rows)
    return X[chosen] / 255, y[chosen], 50


def embedded(metric: Any) -> Callable[[Rows, Pairs], Rows]:
    def embed(X: Rows, pairs: Pairs) -> Rows:
        return np.asarray(metric.fit(X, pairs=pairs).transform(X))

    return embed


def along(**settings: Any) -> Callable[[Rows, Pairs], Rows]:
    """Coordinates along the data; what it warns of is in the notes."""

    def embed(X: Rows, pairs: Pairs) -> Rows:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FewRowsWarning)
            metric = GeometryAware(**settings, random_state=0).fit(X, pairs=pairs)
        return np.asarray(metric.embedding_)

    return embed


def one_after_the_other(X: Rows, pairs: Pairs) -> Rows:
    """The A-step on the features that β has re-weighted."""
    Z = KernelBeta(random_state=0).fit(X, pairs=pairs).transform(X)
    return np.asarray(KernelA(kernel="linear", random_state=0).fit(Z, pairs=pairs).transform(Z))


def after_rca(X: Rows, pairs: Pairs) -> Rows:
    """The A-step on what RCA, shrunk, makes of the rows."""
    Z = RCA(random_state=0).fit(X, pairs=pairs).transform(X)
    return np.asarray(KernelA(random_state=0).fit(Z, pairs=pairs).transform(Z))


def narrower(X: Rows, pairs: Pairs) -> Rows:
    """KernelA with a kernel that is narrower than its default."""
    gamma = 3 * resolve_gamma("mean", X)
    return np.asarray(KernelA(gamma=gamma, random_state=0).fit(X, pairs=pairs).transform(X))


METRICS: dict[str, Callable[[Rows, Pairs], Rows]] = {
    "Euclidean": lambda X, pairs: X,
    # With as much shrinkage as an inverse needs.
    RCA_: embedded(RCA(shrinkage=1e-3, random_state=0)),
    "RCA, shrunk": embedded(RCA(random_state=0)),
    LLMA_: embedded(LLMA(random_state=0)),
    # Eigenvectors of the kernel matrix as it is, all positive eigenvalues, eq. (13).
    BETA: embedded(KernelBeta(center=False, weighting="paper", rank_tol=1e-6, random_state=0)),
    # "In practice" the paper discards very small eigenvalues, and does not say how small.
    CUT: embedded(KernelBeta(center=False, weighting="paper", rank_tol=0.1, random_state=0)),
    CENTRED: embedded(KernelBeta(weighting="paper", rank_tol=1e-6, random_state=0)),
    # The learner's default of weighting="paper".
    CENTRED_CUT: embedded(KernelBeta(weighting="paper", random_state=0)),
    "KernelBeta": embedded(KernelBeta(random_state=0)),
    # All of the feature space, every pair of rows in the window, two steps.
    A: embedded(KernelA(rank_tol=1e-6, window_neighbors=None, n_iter=2, random_state=0)),
    "KernelA": embedded(KernelA(random_state=0)),
    "KernelA, 20 steps": embedded(KernelA(n_iter=20, random_state=0)),
    TOGETHER: embedded(KernelA(learn_weights=True, n_iter=None, random_state=0)),
    WIDE: narrower,
    "KernelBeta, then KernelA": one_after_the_other,
    AFTER_RCA: after_rca,
    ALONG: along(),
    ALONG_NORMALISED: along(normalized=True),
}
# Metric pairwise constrained k-means: what its metric starts from, and whether it has cannot-links.
CLUSTERINGS: dict[str, tuple[str, bool]] = {
    MPCK[0]: ("identity", False),
    MPCK[1]: ("identity", True),
    "MPCK-S, from variances": ("variances", False),
    "MPCK-SD, from variances": ("variances", True),
}
ORDER = (*list(METRICS)[:3], *CLUSTERINGS, *list(METRICS)[3:])


def jobs(names: tuple[str, ...]) -> list[Job]:
    """All methods on all draws of pairs of some data sets, draw by draw."""
    return [
        Job({"data": name, "seed": seed, "method": method}, measure, (name, seed, method))
        for seed in range(max(DRAWS[name] for name in names))
        for name in names
        if seed < DRAWS[name]
        for method in ORDER
    ]


def measure(name: str, seed: int, method: str) -> list[Row]:
    """Mean balanced Rand over the runs of k-means under one metric, from one draw of pairs."""
    X, y, n_pairs = data_set(name)
    pairs = Pairs.from_labels(y, n_pairs, kind="must", random_state=seed)
    n_clusters = len(np.unique(y))
    if method in CLUSTERINGS:
        start, mixed = CLUSTERINGS[method]
        if mixed:
            pairs = pairs + Pairs.from_labels(y, n_pairs, kind="cannot", random_state=seed)

        def clustered(turn: int) -> Rows:
            published = MPCKMeans(n_clusters, n_init=1, start_metric=start, hold=0.0, tol=1e-4)
            return published.set_params(random_state=turn).fit_predict(X, pairs=pairs)

    else:
        Z = METRICS[method](X, pairs)

        def clustered(turn: int) -> Rows:
            return np.asarray(KMeans(n_clusters, n_init=1, random_state=turn).fit_predict(Z))

    rand = [balanced_rand(y, clustered(turn)) for turn in range(RUNS)]
    return [{"n_pairs": n_pairs, "rand": float(np.mean(rand))}]
