"""Where the clusters of k-means with pairs start."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from nearkin._types import Floats, Integers
from nearkin.rows import sparse as sparse_rows
from nearkin.rows.parallel import REORDER, block_rows, compiled, for_each_block
from nearkin.rows.sparse import dense, is_sparse


@compiled(fastmath=REORDER)
def fill_distances(X: Any, points: Any, weights: Any, squared: Any) -> None:
    """Write squared weighted distances between rows and points into ``squared``."""
    for i in range(X.shape[0]):
        for c in range(points.shape[0]):
            total = 0.0
            for t in range(X.shape[1]):
                difference = X[i, t] - points[c, t]
                total += weights[t] * difference * difference
            squared[i, c] = total


def squared_distances(X: Floats, points: Floats, weights: Floats) -> Floats:
    """Squared distance of each row to each point, columns weighted.

    Sparse rows, whose distances are found by products, are at distance 0 where rounding decides.

    Returns
    -------
    float64 ndarray of shape (n, k)
    """
    if is_sparse(X):
        return sparse_rows.weighted_squared_distances(X, points, weights)
    squared = np.empty((len(X), len(points)))

    def work(rows: slice) -> None:
        fill_distances(X[rows], points, weights, squared[rows])

    for_each_block(work, len(X), block_rows(8 * (len(points) + X.shape[1])))
    return squared


class Seeds:
    """Where clusters may start: the centroids of must-link components, and all other rows.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    rows : int ndarray of shape (p,)
        Rows with must-links.
    component : int ndarray of shape (p,)
        The component of each, from 0.
    """

    def __init__(self, X: Floats, rows: Integers, component: Integers) -> None:
        sizes = np.bincount(component).astype(np.float64)
        free = np.ones(X.shape[0], dtype=bool)
        free[rows] = False
        self.n_components = len(sizes)
        self.rows = X
        self.points: Any
        if is_sparse(X):
            places = (component, np.arange(len(rows)))
            shares = sp.csr_array((1 / sizes[component], places), (len(sizes), len(rows)))
            parts: list[Any] = [shares @ X[rows], X[free]]
            self.points = sp.vstack(parts, format="csr").astype(np.float64)
        else:
            centroids = np.zeros((len(sizes), X.shape[1]))
            np.add.at(centroids, component, X[rows] / sizes[component][:, None])
            self.points = np.concatenate([centroids, X[free]], dtype=np.float64)
        self.sizes = np.concatenate([sizes, np.ones(self.points.shape[0] - len(sizes))])

    def farthest(self, n_clusters: int, weights: Floats, rng: np.random.RandomState) -> Floats:
        """The published rule: the largest components, as far apart as possible.

        The largest comes first, then always the one with the largest product of size and
        distance to the nearest chosen one. Where components are too few, other rows are drawn.
        """
        centroids, sizes = self.points[: self.n_components], self.sizes[: self.n_components]
        chosen: list[int] = []
        score = sizes
        closest = np.full(len(sizes), np.inf)
        while len(chosen) < min(n_clusters, len(sizes)):
            chosen.append(int(score.argmax()))
            to_last = squared_distances(centroids, dense(centroids[chosen[-1:]]), weights)[:, 0]
            closest = np.minimum(closest, to_last)
            score = sizes * np.sqrt(closest)
            score[chosen] = -1.0
        seeds, missing = dense(centroids[chosen]), n_clusters - len(chosen)
        others = self.points[self.n_components :]
        if others.shape[0] < missing:
            others = self.rows.astype(np.float64)
        return draw_apart(others, np.ones(others.shape[0]), seeds, missing, weights, rng)

    def drawn(self, n_clusters: int, weights: Floats, rng: np.random.RandomState) -> Floats:
        """Components, by their size, and other rows alike, drawn as k-means++ does."""
        points, sizes = self.points, self.sizes
        if points.shape[0] < n_clusters:
            points, sizes = self.rows.astype(np.float64), np.ones(self.rows.shape[0])
        return draw_apart(points, sizes, dense(points[:0]), n_clusters, weights, rng)


def draw_apart(
    points: Any,
    sizes: Floats,
    chosen: Floats,
    count: int,
    weights: Floats,
    rng: np.random.RandomState,
) -> Floats:
    """Add points to those chosen, each drawn by its size times its squared distance to them.

    The best of a few draws is taken each time, as in scikit-learn's k-means++, which cannot
    start from given points.

    Returns
    -------
    ndarray of shape (len(chosen) + count, d)
    """
    n_trials = 2 + int(np.log(len(chosen) + count)) if count else 0
    if len(chosen):
        closest = squared_distances(points, chosen, weights).min(axis=1)
    else:
        closest = np.ones(points.shape[0])  # the first is drawn by size alone
    for step in range(count):
        potential = sizes * closest
        if not potential.any():  # every point coincides with a chosen one
            potential = sizes
        cumulated = np.cumsum(potential)
        drawn = rng.uniform(size=n_trials) * cumulated[-1]
        trials = np.searchsorted(cumulated, drawn, side="right").clip(max=points.shape[0] - 1)
        from_trials = squared_distances(points, dense(points[trials]), weights)
        if step or len(chosen):
            np.minimum(from_trials, closest[:, None], out=from_trials)
        best = int((sizes @ from_trials).argmin())
        closest = from_trials[:, best]
        chosen = np.concatenate([chosen, dense(points[trials[[best]]])])
    return chosen
