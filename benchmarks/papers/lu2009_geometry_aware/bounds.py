"""Which bounds and how much slack G-ML is to have, by sets that no figure reports.

Every set is a task of Figure 3 as the figure has them: few labels, both graphs, 4 neighbours.
Errors are of G-ML after all rounds less those of its start, on the same labels.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from benchmarks.few_pairs.data import load_rows
from benchmarks.papers.lu2009_geometry_aware.semi_supervised import (
    GRAPHS,
    N_NEIGHBORS,
    N_VECTORS,
    SLACK,
    Problem,
    Spectrum,
)
from benchmarks.papers.lu2009_geometry_aware.splits import (
    Rows,
    error_on_the_rest,
    known_at,
    labelled_rows,
    root,
    select,
    standard_error,
)
from benchmarks.papers.overview import Line
from benchmarks.record import Table
from benchmarks.resume import Job
from nearkin.solvers.logdet import estimate_bounds
from nearkin.spaces.graph import average_equal_rows, neighbor_graph, smoothest_functions

MOST_ROWS = 3000
SPLITS = 4
ROUNDS = 20
# Whether classes are told apart by parity, and numbers of labels.
TASKS = {
    ("mnist", "odd/even"): (10, 30, 70),
    ("optdigits", "odd/even"): (10, 30, 70),
    ("mnist", "classes"): (30, 50, 100),
    ("optdigits", "classes"): (30, 50, 100),
    ("coil20", "classes"): (60, 100),
    ("letters", "classes"): (100, 200),
    ("australian", "classes"): (10, 30, 70),
    ("ionosphere", "classes"): (10, 30, 70),
    ("magic", "classes"): (10, 30, 70),
    ("marketing", "classes"): (30, 100),
}
PERCENTILES = ((1, 90), (5, 95), (5, 90), (1, 95), (10, 90), (10, 95), (20, 95))
SLACKS = (0.1, 2.0)
SETTINGS = [
    *((percentiles, SLACK) for percentiles in PERCENTILES),
    *product(PERCENTILES[:2], SLACKS),
]
MANY_LABELS = 50
FIGURE = "3, bounds"
# Data, how its classes are told apart, labels, graph.
Cell = tuple[str, str, int, str]
CELLS: list[Cell] = [
    (*task, labels, graph)
    for task, label_counts in TASKS.items()
    for labels in label_counts
    for graph in GRAPHS
]


@lru_cache(maxsize=1)
def prepared(name: str, kind: str) -> tuple[Rows, dict[str, Spectrum]]:
    """Classes of at most 3000 rows, and smooth functions on both graphs of them."""
    X, y = load_rows(name)
    some = np.random.RandomState(0).permutation(len(y))[:MOST_ROWS]
    X, y = X[some], y[some] % 2 if kind == "odd/even" else y[some]
    spectra = {}
    for graph in GRAPHS:
        weight = "binary" if graph == "unweighted" else "heat"
        W = neighbor_graph(X, N_NEIGHBORS, weight=weight)
        values, V = smoothest_functions(W, N_VECTORS, random_state=0)
        spectra[graph] = Spectrum(values, average_equal_rows(X, V))
    return y, spectra


def jobs(n_splits: int) -> Iterator[Job]:
    for (name, kind), label_counts in TASKS.items():
        for n_labels, seed in product(label_counts, range(min(n_splits, SPLITS))):
            names = {"figure": FIGURE, "data": name, "kind": kind, "labels": n_labels, "seed": seed}
            yield Job(names, one_split, (name, kind, n_labels, seed))


def one_split(name: str, kind: str, n_labels: int, seed: int) -> list[dict[str, Any]]:
    """Errors after every round, for all bounds and slacks."""
    y, spectra = prepared(name, kind)
    labelled = labelled_rows(y, n_labels, seed)
    rows = []
    for graph, spectrum in spectra.items():
        V = spectrum.V
        problem = Problem.of(spectrum.eigenvalues, V, known_at(labelled, y), seed)
        for percentiles, slack in SETTINGS:
            bounds = estimate_bounds(V, problem.ends, problem.family.prior, percentiles)
            metrics = problem.metrics(ROUNDS, bounds, slack)
            more = np.diff([error_on_the_rest(V @ root(metrics[r]), y, labelled) for r in (0, -1)])
            rows.append(
                {
                    "graph": graph,
                    "percentiles": percentiles,
                    "slack": slack,
                    "more": round(float(more[0]), 4),
                }
            )
    return rows


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    """By how much G-ML's errors are above those of its start, in the mean over all cells."""
    body = []
    few = [cell for cell in CELLS if cell[2] < MANY_LABELS]
    for percentiles, slack in SETTINGS:
        more = {cell: losses(rows, cell, percentiles, slack) for cell in CELLS}
        body.append([setting_name(percentiles, slack), *summary(more, few)])
    chosen = {
        cell: losses(rows, cell, PERCENTILES[0 if cell in few else 1], SLACK) for cell in CELLS
    }
    body.append(["the 1st and 90th, from 50 labels on the 5th and 95th", *summary(chosen, few)])
    title = (
        "Sets to tune on: errors of G-ML less those of its start, in points, means over cells; "
        "cells that are above it by more than a standard error"
    )
    columns = ["bounds", "fewer than 50 labels", "50 and more", "above", "of cells", "splits"]
    return [Table(title, columns, body)]


def setting_name(percentiles: tuple[int, int], slack: float) -> str:
    low, high = percentiles
    return f"percentiles {low} and {high}" + (f", slack {slack:g}" if slack != SLACK else "")


def losses(
    rows: list[dict[str, Any]], cell: Cell, percentiles: tuple[int, int], slack: float
) -> list[float]:
    """By how much errors of G-ML are above those of its start, on each split of a cell."""
    data, kind, labels, graph = cell
    wanted = {"data": data, "kind": kind, "labels": labels, "graph": graph}
    return select(rows, "more", figure=FIGURE, **wanted, percentiles=list(percentiles), slack=slack)


def summary(more: dict[Cell, list[float]], few: list[Cell]) -> list[str]:
    """Means over cells of few and of many labels, and how many cells end above their start."""
    some = [np.mean(values) for cell, values in more.items() if cell in few]
    others = [np.mean(values) for cell, values in more.items() if cell not in few]
    above = sum(np.mean(values) > standard_error(values) for values in more.values())
    splits = min(len(values) for values in more.values())
    return [
        f"{np.mean(some):.2f}",
        f"{np.mean(others):.2f}",
        str(above),
        str(len(more)),
        str(splits),
    ]


def lines(rows: list[dict[str, Any]]) -> list[Line]:
    """No figure of the paper."""
    return []
