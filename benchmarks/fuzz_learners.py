"""Random fits of all learners and tasks, to rows and knowledge of all kinds.

    python -m benchmarks.fuzz_learners 100000 --workers 1

Every fit must come to an end in a few seconds, with a metric or with an error that says what is
wrong: a ValueError or TypeError that we raise ourselves, not one out of the depths of a library.
No warning may be NumPy's. What a fitted metric says must hold together: images of finite rows are
finite and of the rows' type, distances are those of images, verdicts those of distances and the
threshold, the same seed gives the same, and neither rows nor parameters change.
"""

from __future__ import annotations

import traceback
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.base import clone

import nearkin as nk
from benchmarks.campaign import Campaign, Case, main
from nearkin.pairs.supervision import TAKE_TRIPLETS
from tests.common.learners import LEARNERS, as_seen_by

# --- rows and knowledge ----------------------------------------------------------------------

KINDS = {
    "normal": lambda X, rng: X,
    "duplicated": lambda X, rng: X[rng.integers(0, max(1, len(X) // 3), len(X))],
    "two rows": lambda X, rng: X[rng.integers(0, min(2, len(X)), len(X))],
    "constant": lambda X, rng: np.ones_like(X),
    "constant columns": lambda X, rng: np.where(rng.random(X.shape[1]) < 0.5, 3.0, X),
    "collinear": lambda X, rng: np.outer(X[:, 0], rng.standard_normal(X.shape[1])),
    "equal columns": lambda X, rng: np.repeat(X[:, :1], X.shape[1], axis=1),
    "huge": lambda X, rng: X * 1e150,
    "immense": lambda X, rng: X * 1e305,
    "large": lambda X, rng: X * 1e30,
    "small": lambda X, rng: X * 1e-30,
    "tiny": lambda X, rng: X * 1e-150,
    "minute": lambda X, rng: X * 1e-305,
    "far": lambda X, rng: X + 1e9,
    "one column immense": lambda X, rng: X * np.where(np.arange(X.shape[1]) == 0, 1e200, 1.0),
    "units": lambda X, rng: X * 10.0 ** rng.integers(-6, 7, X.shape[1]),
    "outlier": lambda X, rng: np.where(np.arange(len(X))[:, None] == 0, 1e6, X),
    "whole numbers": lambda X, rng: np.round(2 * X),
    "zeros and ones": lambda X, rng: (X > 0).astype(float),
    "mostly zeros": lambda X, rng: np.where(rng.random(X.shape) < 0.7, 0.0, X),
    "classes apart": lambda X, rng: X + 50 * (np.arange(len(X)) % 2)[:, None],
}
FORMATS = {
    "float64": lambda X: X,
    "float32": lambda X: np.clip(X, -1e37, 1e37).astype(np.float32),
    "int64": lambda X: np.round(np.clip(X, -1e15, 1e15)).astype(np.int64),
    "Fortran": np.asfortranarray,
    "strided": lambda X: np.repeat(X, 2, axis=0)[::2],
    "read-only": lambda X: _read_only(X.copy()),
    "list": lambda X: X.tolist(),
    "sparse": sp.csr_array,
    "sparse matrix": sp.csc_matrix,
    "pandas": lambda X: pd.DataFrame(X, columns=[f"c{i}" for i in range(X.shape[1])]),
    "polars": lambda X: pl.DataFrame(X, schema=[f"c{i}" for i in range(X.shape[1])], orient="row"),
}
LABELS = ("classes", "some", "few", "words", "gaps", "one class", "unknown", "each its own")
LINKS = ("true", "random", "must only", "cannot only", "one", "weights", "contradicting", "chain")
ORDERS = ("triplets", "pairs and triplets")  # for those that take them


def _read_only(X: np.ndarray) -> np.ndarray:
    X.flags.writeable = False
    return X


def rows_of(case: Case) -> np.ndarray:
    """The numbers of a case."""
    rng = np.random.default_rng(case["seed"])
    X = rng.standard_normal((case["n"], case["d"]))
    return np.ascontiguousarray(KINDS[case["kind"]](X, rng))


def labels_of(case: Case) -> Any:
    n, rng = case["n"], np.random.default_rng([case["seed"], 1])
    y = np.arange(n) % max(1, case["classes"])
    match case["labels"]:
        case "none":
            return None
        case "one class":
            return np.zeros(n, dtype=int)
        case "some":
            return np.where(rng.random(n) < 0.5, -1, y)
        case "few":
            return np.where(np.arange(n) < 3, y, -1)
        case "words":
            return np.array(["abcdefgh"[c] for c in y])
        case "unknown":
            return np.full(n, -1)
        case "each its own":
            return np.arange(n)
        case "gaps":
            return [None if rng.random() < 0.3 else f"class {c}" for c in y]
    return y


def links_of(case: Case) -> nk.Pairs | None:
    n, rng = case["n"], np.random.default_rng([case["seed"], 2])
    y = np.arange(n) % max(1, case["classes"])
    ends = rng.integers(0, n, (case["links"], 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    same = y[ends[:, 0]] == y[ends[:, 1]]
    match case["pairs"]:
        case "none":
            return None
        case "random":
            same = rng.random(len(ends)) < 0.5
        case "must only":
            return nk.Pairs(ends)
        case "cannot only":
            return nk.Pairs(cannot_link=ends)
        case "one":
            ends, same = ends[:1], same[:1]
        case "weights":
            weight = 10.0 ** rng.uniform(-4, 4, len(ends))
            return nk.Pairs(
                ends[same],
                ends[~same],
                must_weight=weight[same],
                cannot_weight=weight[~same],
                n_rows=n,
            )
        case "contradicting":
            return nk.Pairs(ends, ends[: len(ends) // 2])
        case "chain":
            row = np.arange(n - 1)
            return nk.Pairs(np.column_stack([row, row + 1]), [(0, n - 1)])
        case "triplets":
            return nk.Pairs(closer=_order(n, case["links"], rng))
        case "pairs and triplets":
            order = _order(n, case["links"], rng)
            weight = 10.0 ** rng.uniform(-4, 4, len(order))
            return nk.Pairs(ends[same], ends[~same], closer=order, closer_weight=weight)
    return nk.Pairs(ends[same], ends[~same])


def _order(n: int, count: int, rng: np.random.Generator) -> Any:
    """Triplets of a distance that has nothing to do with the rows."""
    place = rng.standard_normal(n)
    rows = np.array([rng.permutation(n)[:3] for _ in range(count)]) if n > 2 else np.empty((0, 3))
    a, b, c = (place[column] for column in rows.astype(np.int64).T)
    return np.where((abs(a - b) < abs(a - c))[:, None], rows, rows[:, [0, 2, 1]]).astype(np.int64)


# --- parameters ------------------------------------------------------------------------------

# Values for each parameter that a learner has; some suit only some learners, and are refused.
PARAMETERS: dict[str, list[Any]] = {
    "scale": [True, False],
    "n_components": [1, 2, 50],
    "kernel": ["rbf", "laplacian", "poly", "cosine", "linear", None],
    "gamma": ["mean", "median", 1e-3, 10.0],
    "degree": [1, 2, 5],
    "coef0": [0, 1, 10],
    "n_landmarks": [1, 3, 1000],
    "landmarks": ["random", "kmeans++", "farthest", "leverage"],
    "n_neighbors": [1, 2, 100],
    "extension": ["local", "nystroem"],
    "rank_tol": [0.0, 1e-6, 0.5],
    "weighting": ["calibrated", "paper"],
    "prior_pairs": [1e-3, 1, 1000],
    "n_iter": [1, 3, None],
    "window": [0.01, 1.0],
    "window_neighbors": [1, 5, "auto", None],
    "margin": [0.1, 3.0],
    "locality": [0.1, 1.0],
    "regularization": [0.0, 1e-3, 0.5, 1.0, "auto"],
    "slack": [1e-3, 0.5, 100.0, float("inf")],
    "prior": ["identity", "covariance"],
    "bounds": [[0.1, 10.0], [1e-8, 1e8]],
    "max_iter": [1, 50],
    "tol": [0.0, 1e-3, 0.5],
    "balance": [0.0, 0.5, 1.0],
    "shrinkage": [0.0, 0.3, 1.0, "auto"],
    "push": [0.1, 0.9],
    "n_passes": [1, 3],
    "init": ["pca", "identity"],
    "combine": ["uniform", "gmm", "kde", "local"],
    "covariance": ["shrunk", "full", "shared"],
    "interpolation": [0.0, 0.5, 1.0],
    "family": ["spectral", "data_dependent", "rbf"],
    "n_vectors": [1, 5, 100],
    "coordinates": ["laplacian", "lle", "isomap"],
    "graph_neighbors": [1, 5, 100],
    "radius": [1e-3, 1.0, 100.0],
    "metric": ["euclidean", "cosine"],
    "edge_weight": ["heat", "binary", "cosine"],
    "mutual": [True, False],
    "normalized": [True, False],
    "diffusion": [0.0, 0.1, 10.0],
    "robust": [True, False],
    "spread": [True, False],
    # of tasks
    "n_clusters": [1, 2, 3, 5],
    "learn_metric": [True, False],
    "n_init": [1, 3],
    "n_regions": [1, 2],
    "multi_class": ["ovr", "ovo"],
    "C": [0.01, 100.0],
    "cross_neighbors": [0, 2],
    "reach": [0.0, 0.5, 0.95],
    "per_pair": [0, 3, 50],
    "weight": [0.1, 5.0],
    "strategy": ["neighborhoods", "uncertain", "random"],
}
SMALL_KERNELS = (0.125, 1.0, 8.0)
TASKS: dict[str, Any] = {
    "MPCKMeans": nk.MPCKMeans(2, n_init=2, random_state=0),
    "MetricKMeans": nk.MetricKMeans(2, n_init=2, random_state=0),
    "EnergyClassifier": nk.EnergyClassifier(nk.ITML(random_state=0), random_state=0),
    "MultipleKernelClassifier": nk.MultipleKernelClassifier(
        bandwidths=SMALL_KERNELS, random_state=0
    ),
    "ManifoldAlignment": nk.ManifoldAlignment(random_state=0),
    "NeighborIndex": nk.NeighborIndex(nk.Euclidean(random_state=0), random_state=0),
    "spread_pairs": None,
    "suggest_pairs": None,
    "learn_actively": None,
    "cross_validate": None,
}
FUNCTIONS = {
    "spread_pairs": ("n_neighbors", "reach", "per_pair", "weight"),
    "suggest_pairs": ("strategy",),
    "learn_actively": ("strategy",),
    "cross_validate": (),
}
# Those that take longest, with the share of their names that is drawn.
RARE = {
    "MetricLearner": 0.1,
    "learn_actively": 0.1,
    "cross_validate": 0.1,
    "callable": 0.3,
    "GeometryAware rbf": 0.5,
    "GeometryAware data-dependent": 0.5,
}


def draw(rng: np.random.Generator) -> Case:
    def one(options: Any) -> Any:
        options = list(options)
        return options[rng.integers(len(options))]

    names = [name for name in (*LEARNERS, *TASKS) if rng.random() < RARE.get(name, 1.0)]
    name = one(names)
    if name in FUNCTIONS:
        known: Any = FUNCTIONS[name]
    else:
        known = (LEARNERS | TASKS)[name].get_params()
    free = sorted(set(known) & PARAMETERS.keys() - ({"kernel"} if name == "precomputed" else set()))
    changed = [] if not free else rng.choice(free, min(len(free), rng.integers(0, 4)), False)
    takes_triplets = type(LEARNERS.get(name)).__name__ in TAKE_TRIPLETS
    n = int(one([2, 3, 5, 8, 12, 16, 20, 30]))
    labelled, linked = one([(True, False), (False, True), (True, True)])
    if rng.random() < 0.02:
        labelled, linked = False, False
    return {
        "name": name,
        "parameters": {str(key): one(PARAMETERS[str(key)]) for key in changed},
        "kind": one(KINDS) if rng.random() < 0.8 else "normal",
        "format": one(FORMATS) if rng.random() < 0.6 else "float64",
        "n": n,
        "d": int(one([1, 2, 3, 5])) if rng.random() < 0.9 else int(n + rng.integers(1, 12)),
        "labels": one(LABELS[: 4 if rng.random() < 0.7 else None]) if labelled else "none",
        "pairs": one((*LINKS, *ORDERS) if takes_triplets else LINKS) if linked else "none",
        "links": int(one([2, 6, 20])),
        "classes": int(one([1, 2, 2, 3, 4])),
        "again": bool(rng.random() < 0.25),
        "seed": int(rng.integers(10**6)),
    }


# --- what must hold --------------------------------------------------------------------------

# Where scikit-learn checks what it is given: its words there are as good as ours.
CHECKS = tuple(
    f"sklearn/utils/{name}.py" for name in ("validation", "_param_validation", "multiclass")
)


def is_ours(error: Exception) -> bool:
    """Whether an error was meant: raised by us, or by scikit-learn's checks of its input."""
    last = traceback.extract_tb(error.__traceback__)[-1]
    place = last.filename.replace("\\", "/")
    raised = (last.line or "").startswith("raise")
    meant = "/nearkin/" in place or place.endswith(CHECKS)
    return type(error) is not np.linalg.LinAlgError and raised and meant and bool(str(error))


def check(case: Case) -> str:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        try:
            outcome = tried(case)
        except (ValueError, TypeError) as error:
            if not is_ours(error):
                raise
            outcome = "refused"
    for one in heard:
        place = f"{Path(one.filename).name}, {one.message}".replace(":", "")
        assert issubclass(one.category, UserWarning), f"no warning is NumPy's, {place}: ."
    return outcome if not heard or outcome == "refused" else f"{outcome}, with a warning"


def tried(case: Case) -> str:
    plain = rows_of(case)
    X, y, pairs = FORMATS[case["format"]](plain), labels_of(case), links_of(case)
    name = case["name"]
    before = copied(X)
    if name in LEARNERS:
        learner = with_parameters(LEARNERS[name], case["parameters"])
        if name == "precomputed":
            X = as_seen_by(learner, np.clip(plain, -1e100, 1e100))
            before = copied(X)
        metric = learner.fit(X, y, pairs=pairs)
        check_metric(metric, X, y, pairs)
        if case.get("again"):
            other = clone(learner).fit(X, y, pairs=pairs)
            agree(metric.transform(X), other.transform(X), "the same seed gives the same metric")
            assert other.threshold_ == metric.threshold_, "the same seed gives the same threshold"
        outcome = "fitted"
    elif name in FUNCTIONS:
        outcome = FUNCTION_CHECKS[name](X, y, pairs, case["parameters"])
    else:
        learner = with_parameters(TASKS[name], case["parameters"])
        outcome = TASK_CHECKS[name](learner, X, y, pairs)
    assert same_rows(X, before), "rows stay as they were"
    return outcome


def with_parameters(learner: Any, parameters: dict[str, Any]) -> Any:
    made = clone(learner).set_params(**parameters)
    given = made.get_params()
    for key, value in parameters.items():
        assert given[key] is value or given[key] == value, f"parameters are as given: {key}"
    assert repr(clone(made).get_params()) == repr(given), "a clone has the same parameters"
    return made


def copied(X: Any) -> Any:
    return X.clone() if isinstance(X, pl.DataFrame) else [*X] if isinstance(X, list) else X.copy()


def same_rows(X: Any, before: Any) -> bool:
    if sp.issparse(X):
        return (before != X).nnz == 0
    return np.array_equal(np.asarray(X), np.asarray(before))


def finite(values: Any, what: str) -> np.ndarray:
    found = values.toarray() if sp.issparse(values) else np.asarray(values)
    assert np.isfinite(found).all(), f"{what} are finite: {found[~np.isfinite(found)][:3]}"
    return found


def agree(found: Any, expected: Any, promise: str, rtol: float = 0.0) -> None:
    found, expected = finite(found, "values"), finite(expected, "values")
    assert found.shape == expected.shape, f"{promise}: {found.shape}, {expected.shape}"
    error = np.abs(found - expected).max(initial=0.0)
    size = np.abs(expected).max(initial=0.0)
    assert error <= rtol * size, f"{promise}: {error:g} of {size:g}"


def check_metric(metric: Any, X: Any, y: Any, pairs: nk.Pairs | None) -> None:
    """What every fitted metric promises of the rows it was fitted to."""
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    Z = finite(metric.transform(X), "images")
    given = getattr(X, "dtype", None)
    single = given == np.float32
    assert Z.shape == (n, metric.n_components_), f"images have n_components_ columns: {Z.shape}"
    assert Z.dtype == (np.float32 if single else np.float64), f"images keep the type: {Z.dtype}"
    # Of products of rows whose differences are smaller than their digits.
    rtol = 1e-3 if single else 1e-6
    distances = finite(metric.distance(X, X), "distances")
    assert (distances >= 0).all(), "no distance is negative"
    wide = Z.astype(np.float64)
    images = cdist(wide, wide)
    # Rows that were pulled into one place may be there to the last digits only.
    digits = (1e-4 if single else 1e-8) * np.abs(wide).max(initial=0.0)
    size = max(images.max(), rounding(metric, X), digits, 1e-300)
    off = np.abs(distances - images).max()
    assert off <= rtol * size, f"distances are those of images: {off:g} of {size:g}"
    half = n // 2
    A, B = part(X, slice(0, half)), part(X, slice(half, 2 * half))
    if metric_takes_parts(metric) and half:
        beside = finite(metric.pair_distance(A, B), "distances of pairs")
        between = distances[np.arange(half), np.arange(half, 2 * half)]
        assert (np.abs(beside - between) <= rtol * size).all(), "distances of pairs are distances"
        verdicts = np.asarray(metric.same(A, B))
        clear = np.abs(beside - metric.threshold_) > rtol * size
        told = beside <= metric.threshold_
        assert (verdicts == told)[clear].all(), "verdicts are those of the threshold"
        chances = finite(metric.chance_same(A, B), "chances")
        assert ((chances >= 0) & (chances <= 1)).all(), "chances are between 0 and 1"
    assert np.isfinite(metric.threshold_), f"the threshold is finite: {metric.threshold_}"
    assert metric.threshold_ >= 0, f"the threshold is not negative: {metric.threshold_}"
    try:
        score = metric.score(X, y, pairs=pairs) if pairs is not None else metric.score(X, y)
    except ValueError as error:
        if not is_ours(error):
            raise
    else:
        assert 0 <= score <= 1, f"scores are between 0 and 1: {score}"


def rounding(metric: Any, X: Any) -> float:
    """Distances that a metric may see where rows are the same to it, by their digits."""
    if isinstance(metric, nk.LLMA):  # which moves rows by as much as they are apart
        return 1e-8 * float(np.abs(metric.anchor_rows_ - metric.mean_).max(initial=0.0))
    if not hasattr(metric, "components_") or not hasattr(metric, "mean_"):
        return 0.0
    rows = np.asarray(_dense(X), dtype=np.float64)
    return float(np.abs(rows).max(initial=0.0) * np.abs(metric.components_).max(initial=0.0))


def metric_takes_parts(metric: Any) -> bool:
    return getattr(metric, "kernel", None) != "precomputed"


def part(X: Any, rows: slice) -> Any:
    if sp.issparse(X):
        return X.tocsr()[rows]
    return X.iloc[rows] if isinstance(X, pd.DataFrame) else X[rows]


# --- tasks -----------------------------------------------------------------------------------


def clusters(task: Any, X: Any, y: Any, pairs: nk.Pairs | None) -> str:
    known = {} if isinstance(task, nk.MetricKMeans) else {"pairs": pairs}
    fitted = task.fit(X, y, **known)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    labels = np.asarray(fitted.labels_)
    assert labels.shape == (n,), "each row has a cluster"
    assert ((labels >= 0) & (labels < task.n_clusters)).all(), "clusters have numbers in range"
    predicted = np.asarray(fitted.predict(X))
    assert ((predicted >= 0) & (predicted < task.n_clusters)).all(), "predicted ones too"
    finite(fitted.cluster_centers_, "centres")
    again = clone(task).fit(X, y, **known)
    assert np.array_equal(again.labels_, labels), "the same seed gives the same clusters"
    return "clustered"


def classes(task: Any, X: Any, y: Any, pairs: nk.Pairs | None) -> str:
    fitted = task.fit(X, y)
    predicted = fitted.predict(X)
    known = set(np.asarray(fitted.classes_).tolist())
    assert set(np.asarray(predicted).tolist()) <= known, "predicted classes are known ones"
    for name in ("predict_proba", "decision_function"):
        if hasattr(fitted, name):
            finite(getattr(fitted, name)(X), name)
    again = clone(task).fit(X, y)
    assert np.array_equal(again.predict(X), predicted), "the same seed gives the same classes"
    return "classified"


def alignment(task: Any, X: Any, y: Any, pairs: nk.Pairs | None) -> str:
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    half = n // 2
    if not half or pairs is None or squares_vanish(X):
        return "left out"
    sets = [part(X, slice(0, half)), part(X, slice(half, n))]
    fitted = task.fit(sets, pairs=pairs)
    for number, rows in enumerate(sets):
        agree(
            fitted.transform(rows, of=number),
            fitted.embeddings_[number],
            "rows of a set are where they were aligned to",
            1e-4,
        )
    return "aligned"


def squares_vanish(X: Any) -> bool:
    """Whether rows are so near that squared distances are zero."""
    rows = np.asarray(_dense(X), dtype=np.float64)
    return bool(np.ptp(rows, axis=0).max() < 1e-150)


def index(task: Any, X: Any, y: Any, pairs: nk.Pairs | None) -> str:
    metric = nk.Euclidean(random_state=0).fit(X, y, pairs=pairs)
    found = nk.NeighborIndex(metric, **plain_parameters(task)).add(X)
    distances, rows = found.query(X, 3)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    distances, rows = finite(distances, "distances"), np.asarray(rows)
    assert (np.diff(distances, axis=1) >= 0).all(), "the nearest come first"
    assert ((rows >= 0) & (rows < n)).all(), "neighbours are rows"
    true = np.sort(cdist(*2 * [np.asarray(_dense(metric.transform(X)), dtype=np.float64)]), axis=1)
    agree(distances, true[:, : distances.shape[1]], "no row is nearer", 1e-3)
    return "searched"


def plain_parameters(task: Any) -> dict[str, Any]:
    return {k: v for k, v in task.get_params(deep=False).items() if k != "metric"}


def _dense(Z: Any) -> Any:
    return Z.toarray() if sp.issparse(Z) else Z


def spreading(X: Any, y: Any, pairs: nk.Pairs | None, parameters: dict[str, Any]) -> str:
    if pairs is None:
        return "left out"
    many = nk.spread_pairs(X, pairs, **parameters)
    finite(many.must_weight, "weights")
    finite(many.cannot_weight, "weights")
    assert nk.spread_pairs(X, pairs, **parameters) == many, "the same pairs every time"
    return "spread"


def suggestions(X: Any, y: Any, pairs: nk.Pairs | None, parameters: dict[str, Any]) -> str:
    metric = nk.Euclidean(random_state=0).fit(X, y, pairs=pairs)
    found = nk.suggest_pairs(metric, X, pairs, 5, random_state=0, **parameters)
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    assert ((found >= 0) & (found < n)).all(), "suggested pairs are of rows"
    assert (found[:, 0] != found[:, 1]).all(), "nobody is asked about a row and itself"
    return "suggested"


def lessons(X: Any, y: Any, pairs: nk.Pairs | None, parameters: dict[str, Any]) -> str:
    n = X.shape[0] if hasattr(X, "shape") else len(X)
    truth = np.arange(n) % 2
    result = nk.learn_actively(
        X,
        lambda i, j: bool(truth[i] == truth[j]),
        4,
        learner=nk.KernelBeta(random_state=0),
        pairs=pairs,
        random_state=0,
        **parameters,
    )
    finite(result.metric.transform(X), "images")
    return "taught"


def judgement(X: Any, y: Any, pairs: nk.Pairs | None, parameters: dict[str, Any]) -> str:
    if pairs is None:
        return "left out"
    found = nk.cross_validate(nk.ITML(random_state=0), X, pairs=pairs, cv=2, **parameters)
    scores = found["test_score"]
    assert ((scores >= 0) & (scores <= 1)).all(), f"scores are between 0 and 1: {scores}"
    return "judged"


TASK_CHECKS: dict[str, Callable[..., str]] = {
    "MPCKMeans": clusters,
    "MetricKMeans": clusters,
    "EnergyClassifier": classes,
    "MultipleKernelClassifier": classes,
    "ManifoldAlignment": alignment,
    "NeighborIndex": index,
}
FUNCTION_CHECKS: dict[str, Callable[..., str]] = {
    "spread_pairs": spreading,
    "suggest_pairs": suggestions,
    "learn_actively": lessons,
    "cross_validate": judgement,
}


CAMPAIGN = Campaign("fuzz_learners", "fits", draw, check, seconds=60.0)

if __name__ == "__main__":
    main(CAMPAIGN)
