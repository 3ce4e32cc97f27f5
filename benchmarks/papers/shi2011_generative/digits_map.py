"""Figure 1: Isomap of small images of three digits, by pixels and in a learned metric."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from sklearn.manifold import Isomap
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.data import load
from benchmarks.papers.overview import NOT_COMPARABLE, Line
from benchmarks.papers.shi2011_generative.cells import Key, Measured, shown
from benchmarks.papers.shi2011_generative.splits import Rows, percent_wrong
from benchmarks.record import Table
from benchmarks.resume import Job
from nearkin import Generative, MetricKMeans, plot

DATA = ("digits 3, 5, 9",)
SPLITS = 10
WORKERS = 2
N_IMAGES = 400
N_LEARN = 4000
NEIGHBORS = 8
METHODS = ("Euclidean", "M^UNI", "M^UNI of other images", "M^UNI of clusters")


def small_images(seed: int) -> tuple[Rows, Rows, Rows, Rows]:
    """Random 7×7 images and classes to learn from, and others to show."""
    X, y = load("mnist")
    rows = np.random.RandomState(seed).permutation(np.flatnonzero(np.isin(y, (3, 5, 9))))
    rows = rows[: N_IMAGES + N_LEARN]
    blocks = X[rows].reshape(-1, 7, 4, 7, 4) / 255
    shrunk = blocks.mean(axis=(2, 4)).reshape(len(rows), 49)
    return shrunk[N_IMAGES:], y[rows[N_IMAGES:]], shrunk[:N_IMAGES], y[rows[:N_IMAGES]]


def spaces(X: Rows, y: Rows, shown: Rows, y_shown: Rows) -> dict[str, Rows]:
    """The shown images under four metrics."""
    # The paper's: from the images themselves, whose labels are either known or guessed.
    clusters = MetricKMeans(3, random_state=0).fit(shown)
    return {
        "Euclidean": shown,
        "M^UNI": Generative(random_state=0).fit(shown, y_shown).transform(shown),
        "M^UNI of other images": Generative(random_state=0).fit(X, y).transform(shown),
        "M^UNI of clusters": shown @ clusters.components_.T,
    }


def maps(seed: int) -> tuple[dict[str, Rows], Rows]:
    """Plane maps of the shown images, and their classes."""
    images = small_images(seed)
    return {
        method: Isomap(n_neighbors=NEIGHBORS, n_components=2).fit_transform(Z)
        for method, Z in spaces(*images).items()
    }, images[-1]


def jobs(name: str, n_splits: int) -> list[Job]:
    return [Job({"seed": seed}, one_split, (seed,)) for seed in range(n_splits)]


def one_split(seed: int) -> list[dict[str, Any]]:
    """Left-out errors of five neighbours in the plane."""
    found, y = maps(seed)
    return [
        {"method": method, "error": left_out_error(plane, y)} for method, plane in found.items()
    ]


def left_out_error(plane: Rows, y: Rows) -> float:
    nearest = KNeighborsClassifier(5).fit(plane, y)
    votes = y[nearest.kneighbors(return_distance=False)]
    counts = [(votes == c).sum(axis=1) for c in np.unique(y)]
    return percent_wrong(np.unique(y)[np.argmax(counts, axis=0)], y)


def errors(found: Measured, method: str) -> list[float]:
    return found.values(Key("map of digits", DATA[0], method), "error")


def table(found: Measured) -> Table:
    body = [[method, shown(errors(found, method), 1)] for method in METHODS]
    n_splits = len(errors(found, METHODS[0]))
    title = f"Figure 1. Left-out error in % of five neighbours in the map, {n_splits} draws"
    return Table(title, ["", "error"], body)


def line(found: Measured) -> Line:
    before, after = (shown(errors(found, method), 1) for method in METHODS[:2])
    return Line(
        "Figure 1, digits",
        "a picture",
        f"left-out error in the map {after} %, Euclidean {before} %",
        "",
        f"{NOT_COMPARABLE}: no number is printed",
    )


def pictures(folder: Path) -> None:
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    found, y = maps(0)
    figure, axes = plt.subplots(1, 4, figsize=(16, 4), layout="constrained")
    for ax, (method, plane) in zip(axes, found.items(), strict=True):
        plot.embedding(plane, y, ax=ax, title=method)
    figure.savefig(folder / "figure1.png", dpi=80)
    plt.close(figure)
