"""Figure 3: classes of all rows from few labels, along the graph of all rows.

Graph and eigenvectors are found once for each task. :func:`learned_metrics` then does what
:class:`GeometryAware` does with them; :func:`same_as_the_learner` compares the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer

from benchmarks.data import load, load_texts
from benchmarks.papers.lu2009_geometry_aware import comparators
from benchmarks.papers.lu2009_geometry_aware.splits import (
    Rows,
    error_on_the_rest,
    known_at,
    labelled_rows,
    neighbors_error,
    root,
)
from benchmarks.resume import Job
from nearkin import GeometryAware, Pairs
from nearkin.learners.geometry_aware import choose_percentiles, count_gaining_rounds
from nearkin.pairs.supervision import draw_example_pairs, gather_evidence
from nearkin.solvers.kernel_families import SpectralFamily, alternate
from nearkin.solvers.logdet import bound_pairs, draw_random_pairs, estimate_bounds
from nearkin.spaces.graph import (
    average_equal_rows,
    diffusion,
    eigenmaps,
    improved_order_alignment,
    maximal_alignment,
    neighbor_graph,
    ordered_alignment,
    smoothest_functions,
)

N_NEIGHBORS = 10
N_VECTORS = 20
N_RIVAL_VECTORS = 200
SLACK = 0.5
DIFFUSION_TIME = 0.1
N_ITER = 20
USPS_ROWS = 4000
N_INDUCTIVE = 10

# Numbers of labels, and those whose iterations are shown.
TASKS = {
    "baseball/hockey": ((10, 30, 50, 70), (30, 70)),
    "pc/mac": ((10, 30, 50, 70), (30, 70)),
    "odd/even": ((10, 30, 50, 70), (30, 70)),
    "ten digits": ((30, 50, 70, 100), (50, 100)),
}
TEXTS = {"baseball/hockey": "news_baseball_hockey", "pc/mac": "news_pc_mac"}
GRAPHS = ("unweighted", "weighted")
# "For all four models we use 10-NN unweighted graphs on all the datasets."
AS_PUBLISHED = "unweighted"
# Where rows that were not there when learning are classified, too.
INDUCTIVE = (("ten digits", 50), ("odd/even", 30))
EUCLIDEAN, SPECTRAL, BENT = "Euclidean", "G-ML, spectral", "G-ML, data-dependent"
# In figures of their own, so that one can be measured again alone.
NEW_ROWS: dict[str, dict[str, dict[str, Any] | None]] = {
    "3, new rows": {EUCLIDEAN: None, SPECTRAL: {"family": "spectral"}},
    "3, new rows, bent kernel": {BENT: {"family": "data_dependent"}},
}
IMPROVED = "ordered but for the constant"
GRAPH_METHODS = (
    "G-ML",
    "diffusion kernel",
    "ordered spectral kernel",
    IMPROVED,
    "maximal alignment",
    "eigenmaps",
)
# Those that the paper compares itself with, by Zhu et al.'s figures.
STATE_OF_THE_ART = GRAPH_METHODS[1:-1]
OURS = "G-ML"
# What G-ML's kernel does with the classifier of the others. The paper has no such column.
OWN_MACHINE = "G-ML with SVM"
# What G-ML begins with, for the same neighbours.
START = "its start"
# As many rounds as pairs that are held out gain by, perhaps none.
HELD_OUT = "G-ML, rounds by held-out pairs"


@dataclass(frozen=True)
class Spectrum:
    """Smoothest functions on a graph."""

    eigenvalues: Rows
    V: Rows


@dataclass(frozen=True)
class Task:
    name: str
    X: Any
    y: Rows
    graphs: dict[str, Spectrum]

    @property
    def metric(self) -> str:
        return "cosine" if self.name in TEXTS else "euclidean"

    def edge_weight(self, graph: str) -> str:
        weighted = "cosine" if self.name in TEXTS else "heat"
        return weighted if graph == "weighted" else "binary"


def usps() -> tuple[Rows, Rows, Rows, Rows]:
    """Random rows and the others, with their digits."""
    X, y = load("usps")
    order = np.random.RandomState(0).permutation(len(X))
    here, others = order[:USPS_ROWS], order[USPS_ROWS:]
    return X[here], y[here], X[others], y[others]


def prepared(name: str, graphs: dict[str, Spectrum] | None = None) -> Task:
    """A task with its graphs, unless these are known."""
    X: Any
    if name in TEXTS:
        texts, y = load_texts(TEXTS[name])
        words = TfidfVectorizer(stop_words="english", sublinear_tf=True, min_df=2, max_df=0.5)
        X = words.fit_transform(texts)
    else:
        X, digits, _, _ = usps()
        y = digits % 2 if name == "odd/even" else digits
    task = Task(name, X, y, graphs or {})
    for graph in GRAPHS if graphs is None else ():
        weight = task.edge_weight(graph)
        W = neighbor_graph(X, N_NEIGHBORS, metric=task.metric, weight=weight)
        eigenvalues, V = smoothest_functions(W, N_RIVAL_VECTORS, random_state=0)
        V = average_equal_rows(X, V)
        task.graphs[graph] = Spectrum(eigenvalues, V)
    return task


def jobs(n_splits: int) -> Iterator[Job]:
    graphs = None
    for name, (label_counts, _) in TASKS.items():
        # Both tasks of USPS have the same rows.
        task = prepared(name, graphs if name == "ten digits" else None)
        graphs = task.graphs
        yield Job({"figure": "3, check", "task": name}, same_as_the_learner, (task,))
        for n_labels in label_counts:
            for seed in range(n_splits):
                names = {"figure": "3", "task": name, "labels": n_labels, "seed": seed}
                yield Job(names, rivals, (task, n_labels, seed))
                names = {**names, "figure": "3, G-ML"}
                yield Job(names, ours, (task, n_labels, seed))
                names = {**names, "figure": "3, beside"}
                yield Job(names, beside, (task, n_labels, seed))
                names = {**names, "figure": "3, held out"}
                yield Job(names, by_held_out_pairs, (task, n_labels, seed))
    for name, n_labels in INDUCTIVE:
        for seed in range(min(n_splits, N_INDUCTIVE)):
            for figure, methods in NEW_ROWS.items():
                names = {"figure": figure, "task": name, "labels": n_labels, "seed": seed}
                yield Job(names, on_new_rows, (name, n_labels, seed, methods))


def rivals(task: Task, n_labels: int, seed: int) -> list[dict[str, Any]]:
    """All other methods with one set of labels."""
    y = task.y
    labelled = labelled_rows(y, n_labels, seed)
    found: dict[str, dict[str, float]] = {graph: {} for graph in ("none", *task.graphs)}
    for method, kernel in comparators.PLAIN.items():
        K = kernel(task.X, y, labelled)
        found["none"][method] = comparators.machine_error(K, y, labelled)
    for graph, spectrum in task.graphs.items():
        known, values, V = known_at(labelled, y), spectrum.eigenvalues, spectrum.V
        K = comparators.cross_validated_diffusion(values, V, y, labelled)
        found[graph]["diffusion kernel"] = comparators.machine_error(K, y, labelled)
        for method, rule in (
            ("ordered spectral kernel", ordered_alignment),
            ("maximal alignment", maximal_alignment),
        ):
            K = comparators.of_weights(V, rule(values, V, known), labelled)
            found[graph][method] = comparators.machine_error(K, y, labelled)
        values, V = values[:N_VECTORS], V[:, :N_VECTORS]
        mapped = V * eigenmaps(values, V, known)
        found[graph]["eigenmaps"] = error_on_the_rest(mapped, y, labelled)
    return [{"graph": graph, "error": errors} for graph, errors in found.items()]


def ours(task: Task, n_labels: int, seed: int) -> list[dict[str, Any]]:
    """G-ML on both graphs with one set of labels, after every round where these are shown."""
    y = task.y
    labelled = labelled_rows(y, n_labels, seed)
    rows: list[dict[str, Any]] = []
    for graph, spectrum in task.graphs.items():
        V = spectrum.V[:, :N_VECTORS]
        values, known = spectrum.eigenvalues[:N_VECTORS], known_at(labelled, y)
        metrics = learned_metrics(values, V, known, seed)
        K = comparators.of_features(V @ root(metrics[-1]), labelled)
        shown = metrics if n_labels in TASKS[task.name][1] else metrics[-1:]
        errors = [error_on_the_rest(V @ root(B), y, labelled) for B in shown]
        machine = comparators.machine_error(K, y, labelled)
        row: dict[str, Any] = {"graph": graph, "error": {OURS: errors[-1], OWN_MACHINE: machine}}
        if len(shown) > 1:
            row["errors"] = errors
        rows.append(row)
    return rows


def beside(task: Task, n_labels: int, seed: int) -> list[dict[str, Any]]:
    """The rival as published, whose order leaves the constant function out, and G-ML's start."""
    labelled = labelled_rows(task.y, n_labels, seed)
    rows = []
    for graph, spectrum in task.graphs.items():
        values, V, known = spectrum.eigenvalues, spectrum.V, known_at(labelled, task.y)
        weights = improved_order_alignment(values, V, known)
        K = comparators.of_weights(V, weights, labelled)
        values, V = values[:N_VECTORS], V[:, :N_VECTORS]
        start = V * np.sqrt(diffusion(values, V, known, time=DIFFUSION_TIME))
        errors = {
            IMPROVED: comparators.machine_error(K, task.y, labelled),
            START: error_on_the_rest(start, task.y, labelled),
        }
        rows.append({"graph": graph, "error": errors})
    return rows


def by_held_out_pairs(task: Task, n_labels: int, seed: int) -> list[dict[str, Any]]:
    """G-ML that ends where pairs that are held out gain no more."""
    labelled = labelled_rows(task.y, n_labels, seed)
    known = known_at(labelled, task.y)
    rows = []
    for graph, spectrum in task.graphs.items():
        V = spectrum.V[:, :N_VECTORS]
        problem = Problem.of(spectrum.eigenvalues[:N_VECTORS], V, known, seed)
        n_rounds = count_gaining_rounds(
            problem.family,
            problem.links,
            problem.bounds,
            SLACK,
            problem.ends,
            most=N_ITER,
            rng=problem.rng,
        )
        Z = V @ root(problem.metrics(n_rounds)[-1])
        error = error_on_the_rest(Z, task.y, labelled)
        rows.append({"graph": graph, "error": {HELD_OUT: error}, "rounds": n_rounds})
    return rows


@dataclass(frozen=True)
class Problem:
    """What G-ML is to solve, as :class:`GeometryAware` draws it from labels."""

    family: SpectralFamily
    links: Pairs
    bounds: tuple[float, float]
    ends: Rows
    rng: np.random.RandomState

    @classmethod
    def of(cls, values: Rows, V: Rows, known: Rows, seed: int) -> Problem:
        rng = np.random.RandomState(seed)
        links = draw_example_pairs(gather_evidence(len(V), known), rng)
        family = SpectralFamily(V, diffusion(values, V, known, time=DIFFUSION_TIME))
        ends = draw_random_pairs(len(V), rng)
        bounds = estimate_bounds(V, ends, family.prior, choose_percentiles(links))
        return cls(family, links, bounds, ends, rng)

    def metrics(
        self, n_iter: int, bounds: tuple[float, float] | None = None, slack: float = SLACK
    ) -> list[Rows]:
        """On the family's coordinates, before learning and after each round."""
        family, pairs = self.family, bound_pairs(self.links, bounds or self.bounds, slack)
        found = [family.prior]
        for _ in range(n_iter):
            found.append(alternate(family, pairs, n_iter=1).solution.B)
            family = family.nearest_to(found[-1])
        return found


def learned_metrics(values: Rows, V: Rows, known: Rows, seed: int) -> list[Rows]:
    """G-ML's metric on the coordinates V before learning and after each round."""
    return Problem.of(values, V, known, seed).metrics(N_ITER)


def same_as_the_learner(task: Task) -> list[dict[str, Any]]:
    """The error of the learner itself on the first split of each graph."""
    n_labels = TASKS[task.name][1][0]
    labelled = labelled_rows(task.y, n_labels, 0)
    known = known_at(labelled, task.y)
    rows = []
    for graph, spectrum in task.graphs.items():
        learner = geometry_aware(task.metric, task.edge_weight(graph), 0).fit(task.X, known)
        V = spectrum.V[:, :N_VECTORS]
        B = learned_metrics(spectrum.eigenvalues[:N_VECTORS], V, known, 0)[-1]
        rows.append(
            {
                "figure": "3, check",
                "task": task.name,
                "labels": n_labels,
                "graph": graph,
                "learner": error_on_the_rest(learner.embedding_, task.y, labelled),
                "here": error_on_the_rest(V @ root(B), task.y, labelled),
            }
        )
    return rows


def geometry_aware(metric: str, edge_weight: str, seed: int, **settings: Any) -> GeometryAware:
    usual = {"n_vectors": N_VECTORS, "slack": SLACK, "n_iter": N_ITER, "tol": 0}
    return GeometryAware(
        metric=metric,
        graph_neighbors=N_NEIGHBORS,
        edge_weight=edge_weight,
        random_state=seed,
        **{**usual, **settings},
    )


def on_new_rows(
    name: str, n_labels: int, seed: int, methods: dict[str, dict[str, Any] | None]
) -> list[dict[str, Any]]:
    """Learn on 4000 digits of USPS, classify all others."""
    X, y, X_new, y_new = usps()
    if name == "odd/even":
        y, y_new = y % 2, y_new % 2
    labelled = labelled_rows(y, n_labels, seed)
    rows = []
    for method, settings in methods.items():
        Z, Z_new = X, X_new
        if settings is not None:
            learner = geometry_aware("euclidean", "binary", seed, **settings)
            Z = learner.fit(X, known_at(labelled, y)).embedding_
            Z_new = learner.transform(X_new)
        fitted = error_on_the_rest(Z, y, labelled)
        new = neighbors_error(Z[labelled], y[labelled], Z_new, y_new)
        rows.append({"method": method, "fitted": fitted, "new": new})
    return rows
