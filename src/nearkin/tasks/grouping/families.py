"""Families of groupings: ways to find so many groups of rows in Euclidean coordinates.

A family looks at the rows once and then gives groups of any number: trees are cut, eigenvectors are
used again. Rows that a family calls outliers have the label −1. None is told what pairs say, but
for linkage.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.mixture import GaussianMixture
from sklearn.utils import check_random_state
from sklearn.utils.graph import _fix_connected_components

from nearkin._types import Floats, Ints
from nearkin.messages import silenced
from nearkin.pairs.closure import in_order_of_appearance
from nearkin.tasks.grouping.affinities import affinities_of
from nearkin.tasks.grouping.agglomeration import Tree, joined_tree, leaves_joined
from nearkin.tasks.grouping.kept_pairs import Blocks

# Groups of rows of that number; None where the family has none.
Cut = Callable[[int], Ints | None]
# Least sizes of groups that HDBSCAN tries, as shares of the rows, and the least of all.
_SHARES = (0.005, 0.01, 0.015, 0.02, 0.03, 0.045, 0.07, 0.1, 0.15)
_LEAST_SIZE = 5
# How far its number may be from the one that is asked for, as a share of that.
_ABOUT = 0.2
# Starts of k-means: of many groups one, which is as good as several.
_N_INIT = 2
_MANY = 15
# Leading axes that mixtures see.
_MOST_AXES = 10


class Coordinates:
    """Rows to be grouped.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        Where they are; the leading axes first.
    blocks : Blocks
        What pairs say of them.
    seed : int
    """

    def __init__(self, Z: Floats, blocks: Blocks, seed: int) -> None:
        self.Z, self.blocks, self.seed = Z, blocks, seed

    @cached_property
    def affinities(self) -> sp.csr_array:
        """Of neighbours."""
        return affinities_of(self.Z)

    @cached_property
    def tree(self) -> Tree:
        """Who joins whom, with cannot-links kept."""
        return joined_tree(self.Z, self.affinities, self.blocks)


def k_means(there: Coordinates) -> Cut:
    """Lloyd's algorithm, from several starts."""

    def cut(k: int) -> Ints | None:
        return _nearest_means(there.Z, k, there.seed)

    return cut


def ward(there: Coordinates) -> Cut:
    """Groups that grow by joining neighbours, such that they stay narrow."""
    n = len(there.Z)
    if n < 3:
        return lambda k: None
    graph = (there.affinities > 0).astype(float) + sp.eye_array(n)
    tree = AgglomerativeClustering(
        n_clusters=1,
        linkage="ward",
        connectivity=_connect_parts(there.Z, sp.csr_matrix(graph)),
        compute_full_tree=True,
    ).fit(there.Z)

    return lambda k: leaves_joined(tree.children_[: n - k], n)


def _connect_parts(Z: Floats, graph: sp.csr_matrix) -> sp.csr_matrix:
    """Join the parts of a graph where they are nearest, as scikit-learn does with a warning."""
    n_parts, part = connected_components(graph, directed=False)
    if n_parts == 1:
        return graph
    whole = _fix_connected_components(Z, graph.tolil(), n_parts, part, mode="connectivity")
    return sp.csr_matrix(whole)


def hdbscan(there: Coordinates) -> Cut:
    """Dense regions; it finds its own numbers, of which one near to that asked for is taken."""
    n = len(there.Z)
    sizes = {max(_LEAST_SIZE, round(share * n)) for share in _SHARES}
    by_number: dict[int, Ints] = {}
    for size in sorted(size for size in sizes if 2 * size <= n):
        labels = HDBSCAN(min_cluster_size=size, min_samples=_LEAST_SIZE, copy=True).fit_predict(
            there.Z
        )
        by_number.setdefault(int(labels.max()) + 1, labels)
    by_number.pop(0, None)

    def cut(k: int) -> Ints | None:
        nearest = min(by_number, key=lambda number: abs(number - k), default=0)
        return by_number[nearest] if nearest and abs(nearest - k) <= _ABOUT * k else None

    return cut


def spectral(there: Coordinates) -> Cut:
    """K-means along the smoothest functions on the graph of neighbours."""
    n = len(there.Z)
    degrees = np.maximum(np.asarray(there.affinities.sum(axis=1)).ravel(), 1e-12)
    scaling = sp.diags_array(1 / np.sqrt(degrees))
    smooth = scaling @ there.affinities @ scaling + sp.eye_array(n)  # its values are not negative
    found: list[Floats] = []

    def cut(k: int) -> Ints | None:
        if k > n - 2:
            return None
        if not found or found[-1].shape[1] < k:
            start = check_random_state(there.seed).standard_normal(n)
            values, vectors = eigsh(smooth, min(max(2 * k, 12), n - 2), v0=start)
            found.append(vectors[:, np.argsort(-values)] / np.sqrt(degrees)[:, None])
        axes = found[-1][:, :k]
        norms = np.linalg.norm(axes, axis=1, keepdims=True)
        return _nearest_means(axes / np.maximum(norms, 1e-12), k, there.seed)

    return cut


def mixture(there: Coordinates) -> Cut:
    """Gaussians of any shape along the leading axes."""
    Z = there.Z[:, :_MOST_AXES]
    floor = 1e-4 * max(float(Z.var(axis=0).mean()), 1e-12)

    def cut(k: int) -> Ints | None:
        kind = "full" if len(Z) > 5 * k * Z.shape[1] else "diag"
        with silenced():
            found = GaussianMixture(
                k, covariance_type=kind, reg_covar=floor, random_state=there.seed
            ).fit_predict(Z)
        return in_order_of_appearance(found)

    return cut


def linkage(there: Coordinates) -> Cut:
    """Groups that grow by joining those that are most alike in the mean, with pairs kept."""
    return lambda k: there.tree.cut_near(k)


def complete_linkage(there: Coordinates) -> Cut:
    """Groups that grow by joining those that are alike throughout, with pairs kept."""
    return joined_tree(there.Z, there.affinities, there.blocks, "complete").cut


FAMILIES: dict[str, Callable[[Coordinates], Cut]] = {
    "k-means": k_means,
    "ward": ward,
    "spectral": spectral,
    "linkage": linkage,
    "complete linkage": complete_linkage,
    "hdbscan": hdbscan,
    "mixture": mixture,
}


def _nearest_means(Z: Floats, k: int, seed: int) -> Ints | None:
    if k > len(Z):
        return None
    with silenced():  # there may be fewer distinct rows than groups
        n_init = _N_INIT if k <= _MANY else 1
        found = KMeans(k, n_init=n_init, random_state=seed).fit_predict(Z)
    return in_order_of_appearance(found)
