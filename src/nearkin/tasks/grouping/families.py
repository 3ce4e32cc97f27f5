"""Families of groupings of rows in Euclidean coordinates, and what each says of every row.

Each family gives groupings of several numbers of groups from one piece of work where it can: trees
are cut, eigenvectors are used again. Rows that a family calls outliers have the label −1.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import kneighbors_graph
from sklearn.utils import check_random_state

from nearkin.rows.arrays import Floats, Ints
from nearkin.tasks.grouping.agglomeration import joined_tree
from nearkin.tasks.grouping.kept_pairs import Blocks

FAMILIES = ("k-means", "ward", "hdbscan", "spectral", "mixture", "linkage")
# Neighbours of a row in the graph.
N_NEIGHBORS = 15
# Least sizes of groups that HDBSCAN tries, as shares of the rows.
_SHARES = (0.005, 0.01, 0.02, 0.04, 0.08)
_N_INIT = 4


@dataclass(frozen=True)
class Grouping:
    """Rows in groups.

    Attributes
    ----------
    family : str
    labels : int ndarray of shape (n,)
        Numbers 0 to k − 1; −1 for outliers.
    settings : dict
        What it was asked for.
    """

    family: str
    labels: Ints
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def n_groups(self) -> int:
        """How many there are."""
        return int(self.labels.max(initial=-1)) + 1


@dataclass(frozen=True)
class Coordinates:
    """Rows to be grouped.

    Attributes
    ----------
    Z : ndarray of shape (n, q)
    blocks : Blocks
        What pairs say of them.
    affinities : sparse matrix of shape (n, n)
        Of neighbours, see :func:`affinities_of`.
    seed : int
    """

    Z: Floats
    blocks: Blocks
    affinities: sp.csr_array
    seed: int


def affinities_of(Z: Floats, n_neighbors: int = N_NEIGHBORS) -> sp.csr_array:
    """Gaussian affinities of neighbours, each row by the distance of its own.

    ``a_ij = exp(−d_ij² / (s_i s_j))``, with s the distance to the seventh neighbour, symmetric.
    """
    n = len(Z)
    k = min(n_neighbors, n - 1)
    if k < 1:
        return sp.csr_array((n, n))
    graph = kneighbors_graph(Z, k, mode="distance", n_jobs=1).tocsr()
    distances = graph.data.reshape(n, k)
    scale = distances[:, min(6, k - 1)]
    positive = scale[scale > 0]
    scale = np.maximum(scale, (positive.min() if len(positive) else 1.0) * 1e-3)
    rows = np.repeat(np.arange(n), k)
    weights = np.exp(-(graph.data**2) / (scale[rows] * scale[graph.indices]))
    one_way = sp.csr_array((weights, graph.indices, graph.indptr), shape=(n, n))
    return sp.csr_array(one_way.maximum(one_way.T))


def groupings(
    there: Coordinates, numbers: Sequence[int], families: Sequence[str] = FAMILIES
) -> Iterator[Grouping]:
    """Groupings into each of these numbers of groups, by each family."""
    by_name = {
        "k-means": _k_means,
        "ward": _ward,
        "hdbscan": _hdbscan,
        "spectral": _spectral,
        "mixture": _mixture,
        "linkage": _linkage,
    }
    possible = [k for k in numbers if k <= len(there.Z)]
    for family in families:
        yield from by_name[family](there, possible)


def _k_means(there: Coordinates, numbers: Sequence[int]) -> Iterator[Grouping]:
    for k in numbers:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows than groups
            found = KMeans(k, n_init=_N_INIT, random_state=there.seed).fit(there.Z)
        yield Grouping("k-means", _numbered(found.labels_), {"n_clusters": k})


def _ward(there: Coordinates, numbers: Sequence[int]) -> Iterator[Grouping]:
    n = len(there.Z)
    if n < 3:
        return
    graph = (there.affinities > 0).astype(float) + sp.eye_array(n)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a graph in several parts is completed
        tree = AgglomerativeClustering(
            n_clusters=1, linkage="ward", connectivity=sp.csr_matrix(graph), compute_full_tree=True
        ).fit(there.Z)
    for k in numbers:
        yield Grouping("ward", _cut(tree.children_, n, k), {"n_clusters": k})


def _cut(children: Ints, n: int, k: int) -> Ints:
    """Groups of the leaves of a tree when k are left."""
    parent = np.arange(2 * n - 1)
    for t, pair in enumerate(children[: n - k]):
        parent[pair] = n + t
    for node in range(len(parent) - 1, -1, -1):
        parent[node] = parent[parent[node]]
    return _numbered(parent[:n])


def _hdbscan(there: Coordinates, numbers: Sequence[int]) -> Iterator[Grouping]:
    del numbers  # it finds its own
    n = len(there.Z)
    for size in sorted({max(5, round(share * n)) for share in _SHARES}):
        if 2 * size > n:
            continue
        labels = HDBSCAN(min_cluster_size=size, min_samples=5, copy=True).fit(there.Z).labels_
        if labels.max() > 0:
            yield Grouping("hdbscan", labels, {"min_cluster_size": size})


def _spectral(there: Coordinates, numbers: Sequence[int]) -> Iterator[Grouping]:
    n = len(there.Z)
    most = min(max(numbers, default=0), n - 2)
    if most < 2:
        return
    degrees = np.maximum(np.asarray(there.affinities.sum(axis=1)).ravel(), 1e-12)
    scaling = sp.diags_array(1 / np.sqrt(degrees))
    rng = check_random_state(there.seed)
    smooth = scaling @ there.affinities @ scaling + sp.eye_array(n)  # not negative
    values, vectors = eigsh(smooth, most, v0=rng.standard_normal(n))
    vectors = vectors[:, np.argsort(-values)] / np.sqrt(degrees)[:, None]
    for k in numbers:
        if 2 <= k <= most:
            space = vectors[:, :k]
            space = space / np.maximum(np.linalg.norm(space, axis=1, keepdims=True), 1e-12)
            found = KMeans(k, n_init=_N_INIT, random_state=there.seed).fit(space)
            yield Grouping("spectral", _numbered(found.labels_), {"n_clusters": k})


def _mixture(there: Coordinates, numbers: Sequence[int]) -> Iterator[Grouping]:
    n, q = there.Z.shape
    for k in numbers:
        kind = "full" if n > 5 * k * q else "diag"
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            found = GaussianMixture(
                k, covariance_type=kind, reg_covar=1e-4 * _spread(there.Z), random_state=there.seed
            ).fit_predict(there.Z)
        yield Grouping("mixture", _numbered(found), {"n_components": k, "covariance_type": kind})


def _linkage(there: Coordinates, numbers: Sequence[int]) -> Iterator[Grouping]:
    tree = joined_tree(there.Z, there.affinities, there.blocks)
    for k in numbers:
        yield Grouping("linkage", tree.cut(k), {"n_clusters": k})


def _spread(Z: Floats) -> float:
    return float(max(Z.var(axis=0).mean(), 1e-12))


def _numbered(labels: Ints) -> Ints:
    """Labels as numbers in the order of their first rows."""
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number])
