"""Figure 4: the 2007 test digits of USPS in two dimensions, 200 of them labelled."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.data import load, load_columns
from benchmarks.papers.lu2009_geometry_aware.coloured_mvu import coloured_mvu
from benchmarks.papers.lu2009_geometry_aware.splits import (
    NEIGHBORS,
    Rows,
    error_on_the_rest,
    known_at,
    labelled_rows,
    mean_and_error,
    percentage,
    select,
)
from benchmarks.papers.overview import ABOVE, AGREES, BELOW, Figure, Line, verdict
from benchmarks.record import Table
from benchmarks.resume import Job
from nearkin import ITML, GeometryAware
from nearkin.scores import separability
from nearkin.spaces.graph import neighbor_graph, smoothest_functions

N_LABELS = 200
N_DRAWS = 10
GRAPH_NEIGHBORS = 10
EIGENMAPS, MVU, PIXELS, OURS = "Laplacian eigenmaps", "coloured MVU", "ITML", "G-ML"
# As its authors do for large sets, and what it depends on.
MVUS: dict[str, dict[str, Any]] = {
    "coloured MVU, refined": {"refine": True},
    MVU: {"refine": False},
    "coloured MVU, 40 functions": {"refine": False, "n_functions": 40},
}
RIVALS = (EIGENMAPS, PIXELS, *MVUS)
METHODS = (*RIVALS, OURS)
PICTURED = (EIGENMAPS, PIXELS, MVU, OURS)


def digits() -> tuple[Rows, Rows]:
    (is_test,) = load_columns("usps", "is_test")
    X, y = load("usps")
    return X[is_test.astype(bool)], y[is_test.astype(bool)]


def embedded(method: str, X: Rows, y: Rows, seed: int) -> Rows:
    """Two columns. Eigenmaps see no label, coloured MVU all of them, the others 200."""
    if method == EIGENMAPS:
        W = neighbor_graph(X, GRAPH_NEIGHBORS)
        return smoothest_functions(W, 3, random_state=0)[1][:, 1:]
    if method in MVUS:
        return coloured_mvu(X, y, 2, GRAPH_NEIGHBORS, **MVUS[method])
    known = known_at(labelled_rows(y, N_LABELS, seed), y)
    if method == PIXELS:
        return ITML(n_components=2, random_state=seed).fit(X, known).transform(X)
    learner = GeometryAware(
        graph_neighbors=GRAPH_NEIGHBORS, edge_weight="binary", n_components=2, random_state=seed
    )
    return learner.fit(X, known).embedding_


def jobs(n_splits: int) -> Iterator[Job]:
    X, y = digits()
    for method in METHODS:
        # What sees none or all of the labels is always the same.
        draws = 1 if method in (EIGENMAPS, *MVUS) else min(n_splits, N_DRAWS)
        for seed in range(draws):
            names = {"figure": "4", "method": method, "seed": seed}
            yield Job(names, one_embedding, (method, X, y, seed))


def one_embedding(method: str, X: Rows, y: Rows, seed: int) -> list[dict[str, Any]]:
    Z = embedded(method, X, y, seed)
    # Without rows to predict, each training row is predicted from the others.
    guess = KNeighborsClassifier(NEIGHBORS, weights="distance").fit(Z, y).predict(None)
    return [
        {
            "figure": "4",
            "method": method,
            "seed": seed,
            "error": error_on_the_rest(Z, y, labelled_rows(y, N_LABELS, seed)),
            "left out": percentage(guess != y),
            "by digit": [percentage(guess[y == digit] != digit) for digit in range(10)],
            "separability": separability(Z, y),
        }
    ]


def values(rows: list[dict[str, Any]], method: str, value: str = "left out") -> list[Any]:
    return select(rows, value, figure="4", method=method)


def judged(rows: list[dict[str, Any]], rival: str) -> str:
    """Whether G-ML separates digits better, as the paper says of its picture: error, left out."""
    theirs = Figure.of(values(rows, rival))
    found = verdict(values(rows, OURS), theirs, larger_is_better=False)
    return AGREES if found == ABOVE else BELOW


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    body, by_digit = [], []
    for method in METHODS:
        cells = [
            mean_and_error(values(rows, method, value), digits)
            for value, digits in (("error", 1), ("left out", 1), ("separability", 2))
        ]
        verdicts = "" if method == OURS else judged(rows, method)
        body.append([method, *cells, verdicts, str(len(values(rows, method)))])
        each = np.mean(values(rows, method, "by digit"), axis=0)
        by_digit.append([method, *[f"{error:.0f}" for error in each]])
    columns = ["", "error in %, 200 labels", "error in %, each left out", "separability J"]
    title = (
        "Figure 4. 2007 digits in two dimensions: 4 neighbours, J; verdict: on the conclusion that "
        "G-ML separates digits better than this, each left out"
    )
    return [
        Table(title, [*columns, "verdict", "draws"], body),
        Table(
            "Figure 4. Error in % of each digit, each row left out in turn",
            ["", *map(str, range(10))],
            by_digit,
        ),
    ]


def lines(rows: list[dict[str, Any]]) -> list[Line]:
    """For the page over all papers."""
    ours = mean_and_error(values(rows, OURS))
    return [
        Line(
            f"Figure 4, beside {rival}",
            "a picture: G-ML separates digits better",
            f"{ours} % errors, {mean_and_error(values(rows, rival))} of {rival}",
            f"{ours} (G-ML)",
            f"{judged(rows, rival)}: "
            + ("G-ML has fewer" if judged(rows, rival) == AGREES else "G-ML has no fewer"),
        )
        for rival in (EIGENMAPS, PIXELS, MVU)
    ]


def pictures(folder: Path) -> None:
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    X, y = digits()
    figure, axes = plt.subplots(2, 2, figsize=(9.5, 9), layout="constrained")
    for ax, method in zip(axes.flat, PICTURED, strict=True):
        ax.set_title(method)
        ax.set(xticks=[], yticks=[])
        Z = embedded(method, X, y, seed=0)
        for digit in range(10):
            ax.scatter(*Z[y == digit].T, s=5, color=f"C{digit}", linewidths=0, label=f"{digit}")
        # Some rows lie far out: without them the rest can be seen.
        low, high = np.percentile(Z, [0.5, 99.5], axis=0)
        margin = 0.08 * (high - low)
        ax.set(xlim=(low[0] - margin[0], high[0] + margin[0]))
        ax.set(ylim=(low[1] - margin[1], high[1] + margin[1]))
    handles = axes[1, 1].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=10, markerscale=3)
    figure.savefig(folder / "figure4.png", dpi=90)
    plt.close(figure)
