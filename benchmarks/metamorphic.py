"""Relations that mathematics promises: what must stay the same when data change in a known way.

    python -m benchmarks.metamorphic [number of relations] [--seed 0] [--workers 2]

Nobody knows the right metric for random rows. But all distances of a learner that sees differences
only must be the same after all rows were moved, those of one that sees lengths only after they were
turned, and a row's image must not depend on its neighbours in the call. Each trial draws rows,
knowledge, a subject (a learner or a task) and one of the relations that the subject promises, and
tries it. Subjects that refuse the rows must refuse them in both cases.

Numbers are few binary digits long, so that moving rows and multiplying them by powers of two rounds
nothing: what differs afterwards is ours.
"""

from __future__ import annotations

import pickle
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.stats import ortho_group
from sklearn.base import clone
from sklearn.utils import get_tags

import nearkin as nk
from benchmarks import campaign
from nearkin.spaces.graph import ball_graph, neighbor_graph
from tests.common.learners import LEARNERS

Array = NDArray[Any]
Case = campaign.Case

DIGITS = 2.0**16  # numbers are whole multiples of one over this, as float32 holds them too
LEAST = 1e-6  # what is less than this is nothing beside rows
TIED = 1e-9  # eigenvalues no farther apart, as a share of the largest, have no vectors of their own


@dataclass(frozen=True)
class Data:
    """What a subject is given: rows, what is known of them, and rows that it has not seen."""

    X: Any
    y: Any
    pairs: nk.Pairs
    new: Any
    supervision: str

    @property
    def known(self) -> dict[str, Any]:
        """The arguments of ``fit`` beside X."""
        if self.supervision == "labels":
            return {"y": self.y}
        if self.supervision == "must":
            return {"pairs": nk.Pairs(self.pairs.must_link, n_rows=self.pairs.n_rows)}
        if self.supervision == "pairs":
            return {"pairs": self.pairs}
        return {"y": np.where(np.arange(len(self.y)) % 2, self.y, -1), "pairs": self.pairs}

    def with_rows(self, change: Callable[[Any], Any]) -> Data:
        """The same with other rows."""
        return replace(self, X=change(self.X), new=change(self.new))


# --- rows ------------------------------------------------------------------------------------


def blobs(rng: np.random.Generator, y: Array, d: int) -> Array:
    """Classes around centres of their own: nothing is equal to anything else."""
    return rng.normal(size=(len(y), d)) + 1.5 * np.random.default_rng(d).normal(size=(9, d))[y]


def outliers(rng: np.random.Generator, y: Array, d: int) -> Array:
    """The same with some rows far out."""
    far = rng.choice([1.0, 30.0], size=(len(y), 1), p=[0.95, 0.05])
    return far * blobs(rng, y, d)


def grid(rng: np.random.Generator, y: Array, d: int) -> Array:
    """Whole numbers: many rows are equal, and many equally far from others."""
    return np.round(blobs(rng, y, d))


def line(rng: np.random.Generator, y: Array, d: int) -> Array:
    """Rows on a line, of which most are equally far from two others."""
    return (rng.permutation(len(y)) + 3.0 * y)[:, None] * np.arange(1, d + 1) / 8


def gaps(rng: np.random.Generator, y: Array, d: int) -> Array:
    """Half zeros, as counts of words are mostly, but for a column that tells all rows apart."""
    empty = rng.random((len(y), d)) < 0.5
    empty[:, 0] = False
    return np.where(empty, 0.0, blobs(rng, y, d))


ROWS = {one.__name__: one for one in (blobs, outliers, grid, line, gaps)}
# Who ends when little more is gained is no more exact than that.
LOOSE = {"MultipleKernelClassifier": 0.02, "LMNN": 0.01}
# LMNN sums up squares, of which those of smaller distances are nothing beside the rows'.
LEAST_OF = {"LMNN": 1e-4}
# Without ties, which rounding may decide either way.
SMOOTH = ("blobs", "outliers", "gaps")


def data_of(case: Case) -> Data:
    """Rows and knowledge as the case says."""
    rng = np.random.default_rng(case["seed"])
    n, d, make = case["n"], case["d"], ROWS[case["rows"]]
    y = np.arange(n) % case["classes"]
    X, new = (np.round(make(rng, some, d) * DIGITS) / DIGITS for some in (y, y[: n // 2]))
    pairs = nk.Pairs.from_labels(y, case["pairs"], random_state=case["seed"])
    return Data(X, y, pairs, new, case["supervision"])


# --- subjects --------------------------------------------------------------------------------

# What a subject says of the new rows, in numbers that a relation can compare.
Says = Callable[[Data], Array]


def learned(name: str, data: Data, **parameters: Any) -> Any:
    """A learner of that name, fitted."""
    return clone(LEARNERS[name]).set_params(**parameters).fit(data.X, **data.known)


def distances(name: str, **parameters: Any) -> Says:
    def says(data: Data) -> Array:
        return np.asarray(learned(name, data, **parameters).distance(data.new), dtype=np.float64)

    return says


def together(labels: Any) -> Array:
    """Which rows have the same label, whatever it is."""
    return np.asarray(np.equal.outer(labels, labels), dtype=np.float64)


def _links(pairs: nk.Pairs, n: int) -> Array:
    """The weight of each pair of rows, those that must differ below zero."""
    found = np.zeros((n, n))
    found[tuple(pairs.must_link.T)] = pairs.must_weight
    found[tuple(pairs.cannot_link.T)] = -pairs.cannot_weight
    return found + found.T


def _index(data: Data) -> Array:
    return np.asarray(nk.NeighborIndex().fit(data.X).query(data.new, min(4, len(data.y)))[0])


TASKS: dict[str, Says] = {
    "neighbor_graph": lambda data: neighbor_graph(data.X, 3, weight="heat").toarray(),
    "ball_graph": lambda data: ball_graph(data.X, 2.0).toarray(),
    "spread_pairs": lambda data: _links(nk.spread_pairs(data.X, data.pairs), len(data.y)),
    "separability": lambda data: np.array([nk.scores.separability(data.X, data.y)]),
    "pair_auc": lambda data: np.array([nk.scores.pair_auc(data.X, data.y)]),
    "NeighborIndex": _index,
    "groups": lambda data: together(nk.NeighborIndex().fit(data.X).group_labels(1.0)),
    "radius_for": lambda data: np.array([nk.NeighborIndex().fit(data.X).radius_for()]),
    "MPCKMeans": lambda data: np.sort(
        nk.MPCKMeans(2, n_init=2, random_state=0).fit(data.X, pairs=data.pairs).transform(data.new)
    ),
    "MetricKMeans": lambda data: together(
        nk.MetricKMeans(2, n_init=2, random_state=0).fit(data.X).predict(data.new)
    ),
    "EnergyClassifier": lambda data: (
        nk.EnergyClassifier(margin=1.0).fit(data.X, data.y).decision_function(data.new)
    ),
    "MultipleKernelClassifier": lambda data: (
        nk.MultipleKernelClassifier(bandwidths=(0.5, 2.0), C=1.0, random_state=0)
        .fit(data.X, data.y)
        .decision_function(data.new)
    ),
}
# What takes a quarter of a second or more is drawn less often.
SLOW = (
    *("MetricLearner", "GeometryAware rbf", "GeometryAware data-dependent"),
    *("MultipleKernelClassifier", "Chain", "Blend"),
)
# Few settings of what every learner is; one that chooses by the clock is not the same twice.
UNTIMED = [name for name in LEARNERS if name not in ("precomputed", "MetricLearner")]
SUBJECTS: dict[str, Says] = {
    **{name: distances(name) for name in [*UNTIMED, "MetricLearner"]},
    **TASKS,
}


def all_but(*names: str) -> tuple[str, ...]:
    """Learners but for some."""
    return tuple(name for name in UNTIMED if name not in names)


# --- relations between what is said of two sets of data --------------------------------------


@dataclass(frozen=True)
class Change:
    """A change of the data after which a subject must say the same.

    ``tolerance`` is relative to the largest number said. ``again`` brings back what was said to
    what it is compared with; the second number that it gets is a seed.
    """

    data: Callable[[Data, np.random.Generator], Data]
    subjects: tuple[str, ...]
    tolerance: float
    rows: tuple[str, ...] = tuple(ROWS)
    supervision: tuple[str, ...] = ("pairs", "must", "labels", "both")
    up_to_a_factor: bool = False
    again: Callable[[Array, np.random.Generator], Array] = lambda said, rng: said
    parameters: tuple[tuple[str, Any], ...] = ()


def shifted(data: Data, rng: np.random.Generator) -> Data:
    """All rows moved, as far as numbers go that keep their digits."""
    by = rng.choice([-1.0, 1.0], data.X.shape[1]) * 2.0 ** rng.integers(0, 31, data.X.shape[1])
    return data.with_rows(lambda X: X + by)


def scaled(data: Data, rng: np.random.Generator) -> Data:
    factor = 2.0 ** rng.integers(-20, 21)
    return data.with_rows(lambda X: X * factor)


def columns_scaled(data: Data, rng: np.random.Generator) -> Data:
    """Each column in a unit of its own."""
    factors = 2.0 ** rng.integers(-10, 11, data.X.shape[1])
    return data.with_rows(lambda X: X * factors)


def turned(data: Data, rng: np.random.Generator) -> Data:
    d = data.X.shape[1]
    turn = ortho_group.rvs(d, random_state=rng.integers(2**31)) if d > 1 else np.array([[-1.0]])
    return data.with_rows(lambda X: X @ turn)


def columns_permuted(data: Data, rng: np.random.Generator) -> Data:
    order = rng.permutation(data.X.shape[1])
    return data.with_rows(lambda X: X[:, order])


def rows_permuted(data: Data, rng: np.random.Generator) -> Data:
    """The training rows in another order, and all that is known of them."""
    order = rng.permutation(len(data.X))
    place = np.argsort(order)
    pairs = nk.Pairs(place[data.pairs.must_link], place[data.pairs.cannot_link], n_rows=len(data.X))
    return replace(data, X=data.X[order], y=data.y[order], pairs=pairs)


def rows_back(said: Array, rng: np.random.Generator) -> Array:
    """A matrix of training rows in the order that they had."""
    place = np.argsort(rng.permutation(len(said)))
    return said[np.ix_(place, place)]


def pairs_written_otherwise(data: Data, rng: np.random.Generator) -> Data:
    """The same pairs in another order, ends swapped, and some of them twice."""

    def otherwise(links: Array) -> Array:
        links = links[rng.permutation(len(links))]
        swapped = np.where(rng.random(len(links))[:, None] < 0.5, links[:, ::-1], links)
        return np.concatenate([swapped, links[: len(links) // 2]])

    pairs = nk.Pairs(
        otherwise(data.pairs.must_link),
        otherwise(data.pairs.cannot_link),
        n_rows=data.pairs.n_rows,
    )
    return replace(data, pairs=pairs)


def labels_renamed(data: Data, rng: np.random.Generator) -> Data:
    """Other names of the classes, in the same order."""
    names: list[Callable[[Array], Array]] = [
        lambda y: 7 * y + 3,
        lambda y: np.array([f"kind {c}" for c in y]),
        lambda y: y.astype(float),
        lambda y: y.astype(np.uint8),
    ]
    rename = names[rng.integers(len(names))]
    return replace(data, y=rename(data.y), supervision="labels")


def classes_swapped(data: Data, rng: np.random.Generator) -> Data:
    """Other names of the classes, in another order."""
    return replace(data, y=rng.permutation(int(data.y.max()) + 1)[data.y])


def constant_column(data: Data, rng: np.random.Generator) -> Data:
    value = float(rng.choice([0.0, 1.0, -1000.0]))
    return data.with_rows(lambda X: np.column_stack([X, np.full(len(X), value)]))


def as_sparse(data: Data, rng: np.random.Generator) -> Data:
    forms = [sp.csr_array, sp.csc_array, sp.coo_array, sp.csr_matrix, sp.bsr_array]
    form = forms[rng.integers(len(forms))]
    return data.with_rows(lambda X: form(X))


def as_frame(data: Data, rng: np.random.Generator) -> Data:
    names = [f"column {j}" for j in range(data.X.shape[1])]
    return data.with_rows(lambda X: pd.DataFrame(X, columns=names))


def in_another_layout(data: Data, rng: np.random.Generator) -> Data:
    layouts: list[Callable[[Array], Any]] = [
        np.asfortranarray,
        lambda X: np.repeat(X, 2, axis=0)[::2],
        lambda X: X.tolist(),
        lambda X: X[::-1][::-1],
    ]
    layout = layouts[rng.integers(len(layouts))]
    return data.with_rows(layout)


def in_single_precision(data: Data, rng: np.random.Generator) -> Data:
    return data.with_rows(lambda X: X.astype(np.float32))


REFUSE_SPARSE = ("MetricKMeans", "MultipleKernelClassifier")
TAKE_SPARSE = tuple(name for name in UNTIMED if get_tags(LEARNERS[name]).input_tags.sparse)
OF_CLUSTERS = ("MPCKMeans", "MetricKMeans")
OF_TRAINING_ROWS = ("neighbor_graph", "ball_graph", "spread_pairs", "groups")
# Draws of rows by their numbers, such as bounds at random pairs, know the order of the rows.
WITHOUT_DRAWS = (
    *("exact", "paper", "linear", "laplacian", "poly", "cosine", "callable", "KernelA", "LLMA"),
    *("Generative", "LMNN", "RCA", "RCA as published", "Euclidean"),
)
# What sees rows through the distances between them only; a column in which none differs is nothing.
OF_DISTANCES = (
    *("exact", "paper", "landmarks", "iterated", "nystroem", "laplacian", "linear", "callable"),
    *("KernelA", "KernelA scaled", "LLMA", "GeometryAware", "Euclidean", "ITML", "ITML kernel"),
)
NOT_OF_DIFFERENCES = ("poly", "cosine")
NOT_OF_LENGTHS = ("laplacian", "callable", "ColumnWeights")

CHANGES: dict[str, Change] = {
    "shift": Change(shifted, (*all_but(*NOT_OF_DIFFERENCES), *TASKS), 1e-5, SMOOTH),
    "scaling": Change(
        scaled,
        (*all_but("callable"), "neighbor_graph", "separability", "pair_auc", "NeighborIndex"),
        1e-6,
        SMOOTH,
        up_to_a_factor=True,
    ),
    "units of columns": Change(
        columns_scaled,
        all_but("Chain", "Blend"),
        1e-6,
        SMOOTH,
        parameters=(("scale", True),),
    ),
    "rotation": Change(
        turned,
        (
            *all_but(*NOT_OF_LENGTHS),
            *(name for name in TASKS if name not in OF_CLUSTERS),
        ),
        1e-4,
        ("blobs", "gaps"),
    ),
    "order of columns": Change(columns_permuted, (*UNTIMED, *TASKS), 1e-5, SMOOTH),
    "order of rows": Change(
        rows_permuted,
        (*WITHOUT_DRAWS, "separability", "pair_auc", "NeighborIndex", "radius_for"),
        1e-5,
        SMOOTH,
        ("pairs",),
    ),
    "order of training rows": Change(
        rows_permuted, OF_TRAINING_ROWS, 1e-6, SMOOTH, ("pairs",), again=rows_back
    ),
    "how pairs are written": Change(
        pairs_written_otherwise,
        (*UNTIMED, "spread_pairs", "MPCKMeans"),
        0.0,
        supervision=("pairs",),
    ),
    "names of classes": Change(
        labels_renamed,
        (*UNTIMED, "separability", "pair_auc", "EnergyClassifier", "MultipleKernelClassifier"),
        0.0,
        supervision=("labels",),
    ),
    "order of classes": Change(
        classes_swapped,
        ("RCA", "RCA as published", "Generative", "LMNN", "exact", "paper", "separability"),
        1e-5,
        SMOOTH,
        ("labels",),
    ),
    "a constant column": Change(constant_column, (*OF_DISTANCES, *OF_TRAINING_ROWS), 1e-5, SMOOTH),
    "sparse rows": Change(
        as_sparse,
        (*TAKE_SPARSE, *(name for name in TASKS if name not in REFUSE_SPARSE)),
        1e-5,
        SMOOTH,
    ),
    "data frames": Change(as_frame, (*UNTIMED, *TASKS), 1e-9, SMOOTH),
    "layout in memory": Change(in_another_layout, (*UNTIMED, *TASKS), 1e-9, SMOOTH),
    "single precision": Change(in_single_precision, UNTIMED, 1e-3, SMOOTH),
}


def _changed(case: Case, data: Data) -> None:
    change = CHANGES[case["relation"]]
    says = SUBJECTS[case["subject"]]
    if change.parameters:
        says = distances(case["subject"], **dict(change.parameters))
    before = _said(says, data)
    seed = [case["seed"], 1]
    after = _said(says, change.data(data, np.random.default_rng(seed)))
    if before is None or after is None:
        assert before is after, f"{_promise(case)}: refused in one of two cases only"
        raise Refused
    after = change.again(after, np.random.default_rng(seed))
    assert before.shape == after.shape, f"{_promise(case)}: {before.shape}, then {after.shape}"
    assert np.isfinite(before).all() == np.isfinite(after).all(), f"{_promise(case)}: not finite"
    if change.up_to_a_factor:
        before, after = (said / (np.abs(said).max() or 1.0) for said in (before, after))
    tolerance, size = change.tolerance, None
    if tolerance:
        tolerance = max(tolerance, LOOSE.get(case["subject"], 0.0))
        size = max(np.abs(before).max(initial=0.0), LEAST_OF.get(case["subject"], 0.0) / tolerance)
    try:
        _assert_near(case, before, after, tolerance, size)
    except AssertionError:
        if tolerance and directions_are_tied(case, data):
            raise Undecided from None
        raise


def directions_are_tied(case: Case, data: Data) -> bool:
    """Whether a learner weighs directions of which some have the same eigenvalue.

    These are one basis of many of what they span, and rounding decides which.
    """
    if not isinstance(LEARNERS.get(case["subject"]), nk.KernelBeta):
        return False
    values = learned(case["subject"], data).eigenvalues_
    return bool((-np.diff(values) <= TIED * values[0]).any())


# --- relations within what one fitted learner says -------------------------------------------


def distances_are_a_metric(metric: Any, data: Data, case: Case) -> None:
    D = np.asarray(metric.distance(data.new), dtype=np.float64)
    size = D.max(initial=0.0)
    Z = metric.transform(data.new)
    _assert_near(case, D, D.T, 1e-9)
    assert (np.diag(D) == 0).all(), f"{_promise(case)}: a row is {np.diag(D).max()} from itself"
    detour = (D[:, :, None] + D[None, :, :]).min(axis=1, initial=np.inf)
    assert (detour + 1e-9 * size >= D).all(), f"{_promise(case)}: a detour is shorter"
    _assert_near(case, np.linalg.norm(Z[:, None] - Z, axis=2), D, 1e-9)
    one, other = data.new, data.new[::-1]
    _assert_near(case, metric.pair_distance(one, other), np.diag(D[:, ::-1]), 1e-9)
    K = metric.kernel_matrix(data.new)
    squared = np.diag(K)[:, None] + np.diag(K) - 2 * K
    largest = np.abs(K).max(initial=0.0)
    assert (np.abs(squared - D**2) <= 1e-9 * largest).all(), f"{_promise(case)}: kernel values"


def images_are_of_rows_alone(metric: Any, data: Data, case: Case) -> None:
    Z = metric.transform(data.new)
    rng = np.random.default_rng(case["seed"])
    order = rng.permutation(len(data.new))
    _assert_near(case, metric.transform(data.new[order]), Z[order], 1e-9)
    alone = [metric.transform(row[None]) for row in data.new[:5]]
    _assert_near(case, np.concatenate(alone), Z[:5], 1e-9)
    crowd = np.concatenate([data.new[:1], 2.0**20 * rng.normal(size=(50, data.X.shape[1]))])
    _assert_near(case, metric.transform(crowd)[:1], Z[:1], 1e-9, np.abs(Z).max(initial=0.0))
    if isinstance(metric, nk.KernelA | nk.GeometryAware):
        _assert_near(case, metric.transform(data.X), metric.embedding_, 1e-9)


def files_keep_all(metric: Any, data: Data, case: Case) -> None:
    Z = metric.transform(data.new)
    with tempfile.TemporaryDirectory() as folder:
        metric.save(Path(folder) / "metric.nearkin")
        loaded = nk.load(Path(folder) / "metric.nearkin")
    for other in (loaded, pickle.loads(pickle.dumps(metric))):
        _assert_near(case, other.transform(data.new), Z, 0.0)
        assert other.threshold_ == metric.threshold_, f"{_promise(case)}: threshold_"


def seeds_decide(metric: Any, data: Data, case: Case) -> None:
    again = clone(metric).fit(data.X, **data.known)
    _assert_near(case, again.transform(data.new), metric.transform(data.new), 0.0)
    assert again.threshold_ == metric.threshold_, f"{_promise(case)}: threshold_"
    twice = metric.fit(data.X, **data.known)  # fitting leaves nothing behind that would count
    _assert_near(case, again.transform(data.new), twice.transform(data.new), 0.0)


def graphs_say_the_same(metric: Any, data: Data, case: Case) -> None:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    rows = np.asarray(data.new, dtype=np.float32)
    with tempfile.TemporaryDirectory() as folder:
        nk.onnx_file.export(metric, Path(folder) / "metric.onnx")
        session = onnxruntime.InferenceSession(Path(folder) / "metric.onnx", options)
        found = session.run(["Z"], {"X": rows})[0]
    _assert_near(case, found, metric.transform(data.new), 1e-5)


def verdicts_follow_distances(metric: Any, data: Data, case: Case) -> None:
    one, other = data.new, data.new[::-1]
    distance, chance = metric.pair_distance(one, other), metric.chance_same(one, other)
    order = np.argsort(distance, kind="stable")
    assert (np.diff(chance[order]) <= 1e-12).all(), f"{_promise(case)}: nearer and less likely"
    same = metric.same(one, other)
    assert (same == (distance <= metric.threshold_)).all(), f"{_promise(case)}: the threshold"
    assert (chance[same] >= 0.5).all(), f"{_promise(case)}: the same, and unlikely so"
    assert (chance[~same] <= 0.5).all(), f"{_promise(case)}: different, and unlikely so"


def an_index_finds_the_nearest(metric: Any, data: Data, case: Case) -> None:
    D = metric.distance(data.new, data.X)
    k = min(3, len(data.X))
    found, rows = nk.NeighborIndex(metric).fit(data.X).query(data.new, k)
    _assert_near(case, found, np.sort(D, axis=1)[:, :k], 1e-9)
    _assert_near(case, np.take_along_axis(D, rows, axis=1), found, 1e-9)


def scores_judge_the_embedding(metric: Any, data: Data, case: Case) -> None:
    Z = metric.transform(data.X)
    of_labels = metric.score(data.X, data.y), nk.scores.pair_auc(Z, data.y)
    of_pairs = (
        metric.score(data.X, pairs=data.pairs),
        nk.scores.pair_auc(Z, pairs=pairs_written_otherwise(data, np.random.default_rng(0)).pairs),
    )
    for ours, theirs in (of_labels, of_pairs):
        assert abs(ours - theirs) < 1e-9, f"{_promise(case)}: {ours} and {theirs}"
    of_halves = metric.score(data.X, 1 - data.y) if data.y.max() == 1 else of_labels[0]
    assert abs(of_halves - of_labels[0]) < 1e-9, f"{_promise(case)}: names of classes"


WITHIN: dict[str, Callable[[Any, Data, Case], None]] = {
    "a metric": distances_are_a_metric,
    "images of rows": images_are_of_rows_alone,
    "files": files_keep_all,
    "seeds": seeds_decide,
    "ONNX": graphs_say_the_same,
    "verdicts": verdicts_follow_distances,
    "an index": an_index_finds_the_nearest,
    "scores": scores_judge_the_embedding,
}
PROMISED = {
    **{name: change.subjects for name, change in CHANGES.items()},
    **{name: tuple(UNTIMED) for name in WITHIN},
    **dict.fromkeys(("a metric", "images of rows", "files", "ONNX"), (*UNTIMED, "MetricLearner")),
}


# --- trials ----------------------------------------------------------------------------------


class Refused(Exception):
    """Rows or knowledge that a subject does not take."""


class Undecided(Exception):
    """Rows of which mathematics does not say what is to be made."""


def _promise(case: Case) -> str:
    return f"{case['relation']} of {case['subject']}"


def _said(says: Says, data: Data) -> Array | None:
    """What a subject says, None if it refuses the data."""
    try:
        return np.asarray(says(data), dtype=np.float64)
    except (ValueError, TypeError):
        return None


def _assert_near(
    case: Case, found: Any, expected: Any, tolerance: float, size: float | None = None
) -> None:
    found, expected = (np.asarray(said, dtype=np.float64) for said in (found, expected))
    assert found.shape == expected.shape, f"{_promise(case)}: {found.shape}, {expected.shape}"
    size = float(np.abs(expected).max(initial=0.0)) if size is None else size
    off = float(np.abs(found - expected).max(initial=0.0))
    assert off <= tolerance * max(size, LEAST), f"{_promise(case)}: off by {off:.3g}, of {size:.3g}"


def is_promised(case: Case) -> bool:
    """Whether mathematics promises the relation of this subject, on such rows.

    LMNN descends in one of many valleys. Among outliers rounding may choose another one.
    """
    change = CHANGES.get(case["relation"])
    if case["subject"] == "LMNN" and case["rows"] == "outliers" and change and change.tolerance:
        return False
    return case["subject"] in PROMISED[case["relation"]]


def draw(rng: np.random.Generator) -> Case:
    relation = str(rng.choice([*CHANGES, *WITHIN]))
    subjects = PROMISED[relation]
    subject = str(rng.choice(subjects))
    if subject in SLOW and rng.random() < 0.75:
        subject = str(rng.choice([name for name in subjects if name not in SLOW]))
    change = CHANGES.get(relation)
    return {
        "relation": relation,
        "subject": subject,
        "rows": str(rng.choice(change.rows if change else tuple(ROWS))),
        "supervision": str(
            rng.choice(change.supervision if change else ("pairs", "must", "labels", "both"))
        ),
        "n": int(rng.integers(10, 31)),
        "d": int(rng.choice([1, 2, 3, 5, 8])),
        "classes": int(rng.integers(2, 4)),
        "pairs": int(rng.integers(4, 25)),
        "seed": int(rng.integers(2**31)),
    }


def check(case: Case) -> str:
    if not is_promised(case):
        return "not promised"
    data = data_of(case)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            if case["relation"] in CHANGES:
                _changed(case, data)
            else:
                try:
                    metric = learned(case["subject"], data)
                except (ValueError, TypeError) as error:
                    raise Refused from error
                WITHIN[case["relation"]](metric, data, case)
        except Refused:
            return "refused"
        except Undecided:
            return "undecided"
    return "held"


CAMPAIGN = campaign.Campaign("metamorphic", "relations", draw, check)

if __name__ == "__main__":
    campaign.main(CAMPAIGN)
