"""One measurement in a fresh process: ``python -m benchmarks.speed.one SETTING``.

SETTING is a JSON object with the fields of :class:`Setting`. Prints seconds, peak memory and array
sizes as JSON. A process of its own makes peak memory mean something, and lets every method start
with the same cold memory. What a method needs is imported when it runs: an environment that lacks
nearkin can measure the methods of others.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from benchmarks.record import peak_memory_gb
from benchmarks.speed.data import DATA, draw_pairs

N_NEIGHBORS = 5
# Rows that no method learns from, to see what it has learned.
N_HELD_OUT = 1000
N_QUERIES = 10_000


@dataclass(frozen=True)
class Setting:
    """What to measure: a method, data of n rows and d columns, m landmarks, a number of pairs."""

    method: str
    n: int
    data: str = "clustered"
    d: int = 50
    m: int = 1000
    pairs: int = 50
    cores: int | None = None  # all there are


class Problem:
    """Rows with labels and pairs."""

    def __init__(self, setting: Setting) -> None:
        X, y = DATA[setting.data](setting.n + N_HELD_OUT, setting.d)
        self.X, self.y = X[: setting.n], y[: setting.n]
        self.held_out = X[setting.n :], y[setting.n :]
        self.m = min(setting.m, setting.n // 2)
        self.rng = np.random.default_rng(1)
        self.must, self.cannot = draw_pairs(self.y, setting.pairs, self.rng)

    @cached_property
    def pairs(self) -> Any:
        from nearkin import Pairs

        return Pairs(self.must, self.cannot, n_rows=len(self.X))

    def landmarks(self) -> np.ndarray:
        return self.X[self.rng.choice(len(self.X), self.m, replace=False)]


class Product:
    """The bare matrix product of rows and landmarks."""

    def __init__(self, landmarks: np.ndarray) -> None:
        self.landmarks = landmarks

    def transform(self, X: np.ndarray) -> np.ndarray:
        return X @ self.landmarks.T


class WarmProduct(Product):
    """The same by blocks into one small buffer: arithmetic without new memory."""

    def transform(self, X: np.ndarray) -> np.ndarray:
        landmarks = self.landmarks.T.copy()
        buffer = np.empty((2000, landmarks.shape[1]), dtype=X.dtype)
        for start in range(0, len(X), 2000):
            block = X[start : start + 2000]
            np.matmul(block, landmarks, out=buffer[: len(block)])
        return buffer


class Queries:
    """A neighbour index; to transform is to find the neighbours of some of the rows."""

    def __init__(self, index: Any) -> None:
        self.index = index

    def transform(self, X: np.ndarray) -> np.ndarray:
        return self.index.query(X[:N_QUERIES])[1]


def kernel_beta(problem: Problem) -> Any:
    from nearkin import KernelBeta

    metric = KernelBeta(n_landmarks=problem.m, n_neighbors=N_NEIGHBORS, random_state=0)
    return metric.fit(problem.X, pairs=problem.pairs)


def from_pairs(name: str, **settings: Any) -> Callable[[Problem], Any]:
    def fit(problem: Problem) -> Any:
        import nearkin

        return getattr(nearkin, name)(**settings).fit(problem.X, pairs=problem.pairs)

    return fit


def from_labels(name: str, **settings: Any) -> Callable[[Problem], Any]:
    def fit(problem: Problem) -> Any:
        import nearkin

        return getattr(nearkin, name)(**settings).fit(problem.X, problem.y)

    return fit


def index(search: str) -> Callable[[Problem], Any]:
    def fit(problem: Problem) -> Any:
        from nearkin import NeighborIndex

        found = NeighborIndex(search=search, random_state=0).fit(problem.X)
        found.query(problem.X[:1])  # cells are made here
        return Queries(found)

    return fit


def nystroem(problem: Problem) -> Any:
    from sklearn.kernel_approximation import Nystroem

    from nearkin.spaces.kernels import resolve_gamma

    gamma = resolve_gamma("mean", problem.X)
    return Nystroem(gamma=gamma, n_components=problem.m, random_state=0).fit(problem.X)


def kernel_pca(problem: Problem) -> Any:
    from sklearn.decomposition import KernelPCA

    from nearkin.spaces.kernels import resolve_gamma

    gamma = resolve_gamma("mean", problem.X)
    components = min(problem.m, len(problem.X))
    return KernelPCA(components, kernel="rbf", gamma=gamma).fit(problem.X)


def components_analysis(problem: Problem) -> Any:
    from sklearn.neighbors import NeighborhoodComponentsAnalysis

    return NeighborhoodComponentsAnalysis(random_state=0).fit(problem.X, problem.y)


def peer_rca(problem: Problem) -> Any:
    from metric_learn import RCA

    return RCA().fit(problem.X, problem.y)


def peer_itml(problem: Problem) -> Any:
    from metric_learn import ITML

    links = np.concatenate([problem.must, problem.cannot])
    sign = np.repeat([1, -1], [len(problem.must), len(problem.cannot)])
    return ITML(random_state=0).fit(problem.X[links], sign)


def peer_lmnn(problem: Problem) -> Any:
    from metric_learn import LMNN

    return LMNN(n_neighbors=3, random_state=0).fit(problem.X, problem.y)


@dataclass(frozen=True)
class Method:
    """What fits a model that has ``transform``, and whose it is."""

    fit: Callable[[Problem], Any]
    whose: str = "nearkin"
    warm_rows: int = 300
    warm: Callable[[Problem], Any] | None = None  # loads the same where ``fit`` is slow


METHODS = {
    "bare product": Method(lambda problem: Product(problem.landmarks()), "NumPy", 3000),
    "product, warm buffer": Method(lambda problem: WarmProduct(problem.landmarks()), "NumPy", 3000),
    "KernelBeta": Method(kernel_beta, warm_rows=3000),
    "Nystroem": Method(nystroem, "scikit-learn", 3000),
    "KernelPCA": Method(kernel_pca, "scikit-learn"),
    "NCA": Method(components_analysis, "scikit-learn"),
    "RCA": Method(from_labels("RCA")),
    "GMML": Method(from_pairs("GMML", random_state=0)),
    "ITML": Method(from_pairs("ITML", random_state=0)),
    "LMNN": Method(from_labels("LMNN", n_neighbors=3, random_state=0)),
    "Generative": Method(from_labels("Generative", random_state=0)),
    "MetricLearner": Method(
        from_pairs("MetricLearner", random_state=0),
        warm=from_pairs("MetricLearner", time_budget=1, random_state=0),
    ),
    "metric-learn RCA": Method(peer_rca, "metric-learn"),
    "metric-learn ITML": Method(peer_itml, "metric-learn"),
    "metric-learn LMNN": Method(peer_lmnn, "metric-learn", warm=peer_rca),
    "NeighborIndex, exact": Method(index("exact"), warm_rows=3000),
    "NeighborIndex, approximate": Method(index("approximate"), warm_rows=3000),
}


def pair_auc(Z: np.ndarray, y: np.ndarray) -> float:
    """How well distances tell rows of one class from others; not by nearkin, as peers lack it."""
    from scipy.spatial.distance import pdist
    from sklearn.metrics import roc_auc_score

    same = pdist(y[:, None]) == 0
    return float(roc_auc_score(same, -pdist(Z)))


def measure(setting: Setting) -> dict[str, Any]:
    method = METHODS[setting.method]
    n = min(setting.n, method.warm_rows)
    small = Problem(replace(setting, n=n, pairs=min(setting.pairs, n)))
    (method.warm or method.fit)(small).transform(small.X)  # compiled code is loaded, threads are up
    del small
    problem = Problem(setting)
    start, work_start = time.perf_counter(), time.process_time()
    model = method.fit(problem)
    fitted, work_fitted = time.perf_counter(), time.process_time()
    result = model.transform(problem.X)
    end, work_end = time.perf_counter(), time.process_time()
    row = {
        **asdict(setting),
        "seconds": end - start,
        "fit": fitted - start,
        "transform": end - fitted,
        "fit_work": work_fitted - work_start,
        "transform_work": work_end - work_fitted,
        "peak_gb": peak_memory_gb(),
        "input_gb": problem.X.nbytes / 1e9,
        "output_gb": result.nbytes / 1e9,
        "columns": result.shape[1],
    }
    if setting.data == "classes":
        X, y = problem.held_out
        row["auc"] = pair_auc(model.transform(X), y)
    return row


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # a solver that stops early says so in its own tests
    print(json.dumps(measure(Setting(**json.loads(sys.argv[1])))))
