"""COP-k-means: no pair is ever broken (Wagstaff, Cardie, Rogers, Schroedl, ICML 2001).

Each row in turn joins the nearest centre that breaks no pair; where there is none, the run fails.
Three things differ from the paper, all in its favour. Rows that belong together by must-links move
as one. Rows tied by cannot-links are taken one after the other, each beside one that has its place
already, so that two clusters suffice where they can. A run that fails is begun anew from other
centres.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components
from sklearn.cluster import kmeans_plusplus
from sklearn.metrics import euclidean_distances

from nearkin import Pairs

N_INIT, MOST_STARTS, MOST_ROUNDS = 10, 50, 100


def cop_kmeans(X: np.ndarray, pairs: Pairs, n_clusters: int, seed: int) -> np.ndarray:
    """Labels of the best of ten runs that succeeded, of fifty begun.

    Raises
    ------
    ValueError
        If none of them did.
    """
    rng = np.random.RandomState(seed)
    unit, apart = units_of(pairs, len(X))
    found: list[tuple[float, np.ndarray]] = []
    for _ in range(MOST_STARTS):
        centers = kmeans_plusplus(X, n_clusters, random_state=rng)[0]
        labels = _run(X, unit, apart, centers, rng)
        if labels is not None:
            means = _means(X, labels, centers)
            found.append((float(((X - means[labels]) ** 2).sum()), labels))
        if len(found) == N_INIT:
            break
    if not found:
        raise ValueError("COP-k-means found no clusters that keep all pairs")
    return min(found, key=lambda run: run[0])[1]


def units_of(pairs: Pairs, n_rows: int) -> tuple[np.ndarray, sp.csr_array]:
    """The must-link component of each row, and which components cannot be together."""
    n_units, unit = connected_components(_graph(pairs.must_link, n_rows), directed=False)
    return unit, _graph(unit[pairs.cannot_link], n_units)


def _graph(links: np.ndarray, n: int) -> sp.csr_array:
    ends = np.concatenate([links, links[:, ::-1]])
    return sp.csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n, n))


def _run(
    X: np.ndarray,
    unit: np.ndarray,
    apart: sp.csr_array,
    centers: np.ndarray,
    rng: np.random.RandomState,
) -> np.ndarray | None:
    """Labels of rows when they no longer change, or None if a unit has no place."""
    n_units = apart.shape[0]
    members = sp.csr_array((np.ones(len(X)), (unit, np.arange(len(X)))), (n_units, len(X)))
    order, labels = _order(apart, rng), None
    for _ in range(MOST_ROUNDS):
        costs = members @ euclidean_distances(X, centers, squared=True)
        of_units = _placed(costs, apart, order)
        if of_units is None:
            return None
        previous, labels = labels, of_units[unit]
        if previous is not None and np.array_equal(labels, previous):
            break
        centers = _means(X, labels, centers)
    return labels


def _order(apart: sp.csr_array, rng: np.random.RandomState) -> np.ndarray:
    """Units with cannot-links at random, but that those tied to each other follow each other."""
    part = connected_components(apart, directed=False)[1]
    starts = rng.permutation(np.flatnonzero(np.diff(apart.indptr)))
    starts = rng.permutation(starts[np.unique(part[starts], return_index=True)[1]])
    walks = [breadth_first_order(apart, start, return_predecessors=False) for start in starts]
    return np.concatenate([np.empty(0, dtype=int), *walks])


def _placed(costs: np.ndarray, apart: sp.csr_array, order: np.ndarray) -> np.ndarray | None:
    """The cheapest label of each unit in turn that none it is tied to has."""
    labels = costs.argmin(axis=1)
    labels[order] = -1
    for u in order:
        taken = labels[apart.indices[apart.indptr[u] : apart.indptr[u + 1]]]
        allowed = costs[u].copy()
        allowed[taken[taken >= 0]] = np.inf
        labels[u] = allowed.argmin()
        if np.isinf(allowed[labels[u]]):
            return None
    return labels


def _means(X: np.ndarray, labels: np.ndarray, centers: np.ndarray) -> np.ndarray:
    """Of each cluster; an empty one keeps its centre."""
    sums = np.zeros_like(centers)
    np.add.at(sums, labels, X)
    counts = np.bincount(labels, minlength=len(centers))[:, None]
    return np.where(counts > 0, sums / np.maximum(counts, 1), centers)
