"""What people use to make groups of rows and pairs.

Each is a function ``(X, pairs, k_true, seed) -> labels`` of all rows; those that need the number of
clusters get the true one. :func:`labels_of` calls one by its name.

Two packages are needed that this project does not depend on. Where one is missing,
:func:`rivals` leaves out what needs it and says so. An environment that has all of them::

    python -m venv rivals
    rivals/bin/pip install scikit-learn numba narwhals fast_hdbscan pynndescent cobras-ts

and ``PYTHONPATH=src rivals/bin/python -m benchmarks.clusters.…`` to run there.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from typing import Any
from unittest.mock import patch

import numpy as np
import scipy.sparse as sp
from scipy.cluster.hierarchy import cut_tree, linkage
from scipy.spatial.distance import squareform
from sklearn.cluster import AgglomerativeClustering, KMeans, SpectralClustering
from sklearn.metrics import euclidean_distances, pairwise_distances_argmin

from benchmarks.clusters.cop_kmeans import cop_kmeans, units_of
from benchmarks.clusters.protocol import Rows
from nearkin import MetricKMeans, MPCKMeans, Pairs

Labels = np.ndarray
Rival = Callable[[np.ndarray, Pairs, int, int], Labels]
N_INIT = 10
# Of the graph of spectral clustering, and the neighbour whose distance is the width of a row.
_N_NEIGHBORS, _LOCAL_NEIGHBOR = 20, 7
# Of 5, 10 and 20 the best for HDBSCAN, on the sets to tune on.
_MIN_CLUSTER_SIZE = 5


def k_means(X: np.ndarray, pairs: Pairs, k_true: int, seed: int) -> Labels:
    """Plain k-means in the columns as they are. Pairs are not looked at."""
    return np.asarray(KMeans(k_true, n_init=N_INIT, random_state=seed).fit(X).labels_)


def mpck_means(X: np.ndarray, pairs: Pairs, k_true: int, seed: int) -> Labels:
    """Our MPCK-means: pairs have a price, and columns get weights."""
    return MPCKMeans(k_true, random_state=seed).fit(X, pairs=pairs).labels_


def pck_means(X: np.ndarray, pairs: Pairs, k_true: int, seed: int) -> Labels:
    """The same with Euclidean distances."""
    return MPCKMeans(k_true, learn_metric=False, random_state=seed).fit(X, pairs=pairs).labels_


def metric_k_means(X: np.ndarray, pairs: Pairs, k_true: int, seed: int) -> Labels:
    """Our k-means whose clusters teach it a metric. Pairs are not looked at."""
    return MetricKMeans(k_true, random_state=seed).fit(X).labels_


def ward(X: np.ndarray, pairs: Pairs, k_true: int, seed: int) -> Labels:
    """Ward's linkage of scikit-learn. Pairs are not looked at."""
    return np.asarray(AgglomerativeClustering(k_true).fit(X).labels_)


def linked(X: np.ndarray, pairs: Pairs, k_true: int, seed: int, *, method: str) -> Labels:
    """Linkage with must-links at distance 0 and cannot-links farther than everything else.

    As Klein, Kamvar and Manning have it (ICML 2002): what is near one end of a must-link is near
    the other end too, so distances are those of shortest ways, before cannot-links are put in.
    """
    unit, apart = units_of(pairs, len(X))
    distances = _nearest_members(euclidean_distances(X), unit)
    distances[apart.nonzero()] = distances.max() * len(X)
    distances = distances[np.ix_(unit, unit)]
    distances[np.equal.outer(unit, unit)] = 0.0
    tree = linkage(squareform(distances, checks=False), method)
    return np.asarray(cut_tree(tree, min(k_true, len(distances)))[:, 0])


def _nearest_members(distances: np.ndarray, unit: np.ndarray) -> np.ndarray:
    """Shortest ways between units of which each is at one place, by Floyd and Warshall.

    Only units of several rows can shorten a way.
    """
    order = np.argsort(unit, kind="stable")
    starts = np.searchsorted(unit[order], np.arange(unit.max() + 1))
    between = np.minimum.reduceat(distances[np.ix_(order, order)], starts, axis=0)
    between = np.minimum.reduceat(between, starts, axis=1)
    for middle in np.flatnonzero(np.bincount(unit) > 1):
        np.minimum(between, between[:, [middle]] + between[middle], out=between)
    return between


def spectral(X: np.ndarray, pairs: Pairs, k_true: int, seed: int) -> Labels:
    """Spectral clustering with affinities edited to 1 and 0 (Kamvar, Klein, Manning, IJCAI 2003).

    All that follows from the pairs is edited. Affinities are those of neighbours, with local widths
    (Zelnik-Manor, Perona, 2004), and the normalisation is scikit-learn's: better for it than
    affinities between all rows with one width.
    """
    squared = euclidean_distances(X, squared=True)
    np.fill_diagonal(squared, 0.0)
    near = np.sort(squared, axis=1)[:, : _N_NEIGHBORS + 1]
    width = np.sqrt(np.maximum(near[:, min(_LOCAL_NEIGHBOR, near.shape[1] - 1)], 1e-12))
    affinity = np.exp(-squared / np.outer(width, width))
    neighbors = squared <= near[:, -1:]
    affinity[~(neighbors | neighbors.T)] = 0.0
    unit, apart = units_of(pairs, len(X))
    affinity[np.equal.outer(unit, unit)] = 1.0
    affinity[apart.toarray()[np.ix_(unit, unit)] > 0] = 0.0
    method = SpectralClustering(
        k_true, affinity="precomputed", random_state=seed, n_init=N_INIT, assign_labels="kmeans"
    )
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Graph is not fully connected")
        return np.asarray(method.fit(affinity).labels_)


def hdbscan_with_labels(X: np.ndarray, pairs: Pairs, k_true: int, seed: int) -> Labels:
    """fast_hdbscan with the rows of each must-link component as a class of its own.

    It chooses clusters of its tree by how well they agree with these (BCubed), then by how stable
    they are. Rows that it calls noise join the cluster of the nearest row that has one, which is
    better for it than to be one group. Without must-links it is plain HDBSCAN.
    """
    from fast_hdbscan import HDBSCAN

    unit, _ = units_of(pairs, len(X))
    shared = np.bincount(unit)[unit] > 1
    if not shared.any():
        return without_noise(X, HDBSCAN(min_cluster_size=_MIN_CLUSTER_SIZE).fit(X).labels_)
    method = HDBSCAN(min_cluster_size=_MIN_CLUSTER_SIZE, semi_supervised=True)
    with _interpreted():
        return without_noise(X, method.fit(X, np.where(shared, unit, -1).astype(np.int64)).labels_)


@contextmanager
def _interpreted() -> Iterator[None]:
    """What fast_hdbscan 0.3 does with labels, as Python: Numba refuses to compile that."""
    from fast_hdbscan import cluster_trees, hdbscan

    names = [name for name in dir(cluster_trees) if name.endswith("_bcubed")]
    plain: dict[str, Any] = {name: getattr(cluster_trees, name).py_func for name in names}
    extract = plain["extract_clusters_bcubed"]
    with (
        patch.multiple(cluster_trees, Dict=_PlainDict, List=_PlainList, **plain),
        patch.object(hdbscan, "extract_clusters_bcubed", extract),
    ):
        yield


class _PlainDict(dict[Any, Any]):
    """A dictionary with Numba's name for an empty one."""

    @staticmethod
    def empty(**types: Any) -> dict[Any, Any]:
        return {}


class _PlainList(list[Any]):
    """A list with Numba's name for an empty one."""

    @staticmethod
    def empty_list(of: Any) -> list[Any]:
        return []


def hdbscan_with_cannot_links(X: np.ndarray, pairs: Pairs, k_true: int, seed: int) -> Labels:
    """fast_hdbscan that never joins rows of a cannot-link; must-links are not looked at."""
    from fast_hdbscan import HDBSCAN

    ends = pairs.cannot_link
    apart = sp.csr_array((np.ones(len(ends)), ends.T), shape=(len(X), len(X)))
    method = HDBSCAN(
        min_cluster_size=_MIN_CLUSTER_SIZE,
        algorithm="kruskal",
        cannot_link=sp.csr_matrix(apart + apart.T),
    )
    return without_noise(X, method.fit(X).labels_)


def without_noise(X: np.ndarray, labels: Labels) -> Labels:
    """Labels with rows of −1 in the group of the nearest other row; one group if all are."""
    placed = labels >= 0
    if not placed.any():
        return np.zeros(len(labels), dtype=int)
    if placed.all():
        return labels
    labels = np.array(labels, dtype=int)
    labels[~placed] = labels[placed][pairwise_distances_argmin(X[~placed], X[placed])]
    return labels


class _Truth:
    """Who answers COBRAS; its own class for that needs the packages of its web page."""

    def __init__(self, classes: np.ndarray) -> None:
        self.classes = classes

    def query_points(self, one: int, other: int) -> bool:
        return bool(self.classes[one] == self.classes[other])

    def continue_cluster_process(self) -> bool:
        return True

    def update_clustering(self, clustering: Any) -> None:
        pass


def cobras(X: np.ndarray, pairs: Pairs, k_true: int, seed: int, *, asked: np.ndarray) -> Labels:
    """COBRAS of cobras-ts, which chooses its own questions: an advantage over all others.

    It can't be told pairs, and has no answer for "unknown". So it asks as many questions as there
    are pairs, of rows that these might have named, and the truth answers.

    Parameters
    ----------
    X, pairs, k_true, seed
        As of the others; of the pairs only their number counts.
    asked : ndarray of shape (m,)
        Classes of the first m rows, the only ones of which it may ask.
    """
    from cobras_ts import cobras_kmeans

    # The k-means and the name that it knew when it was written.
    k_means_then = partial(KMeans, n_init=N_INIT, random_state=np.random.RandomState(seed))
    with (
        patch.object(cobras_kmeans, "KMeans", k_means_then),
        patch.object(np, "int", int, create=True),
    ):
        found = cobras_kmeans.COBRAS_kmeans(
            X,
            _Truth(asked),
            len(pairs),
            train_indices=range(len(asked)),
            store_intermediate_results=False,
        ).cluster()
    return np.array(found.construct_cluster_labeling())


COBRAS = "COBRAS, asking"
_NEEDS = {
    "HDBSCAN with labels": "fast_hdbscan",
    "HDBSCAN with cannot-links": "fast_hdbscan",
    COBRAS: "cobras_ts",
}
RIVALS: dict[str, Any] = {
    "k-means": k_means,
    "Ward": ward,
    "MetricKMeans": metric_k_means,
    "PCK-means": pck_means,
    "MPCKMeans": mpck_means,
    "COP-k-means": cop_kmeans,
    "constrained average linkage": partial(linked, method="average"),
    "constrained complete linkage": partial(linked, method="complete"),
    "spectral, edited affinities": spectral,
    "HDBSCAN with labels": hdbscan_with_labels,
    "HDBSCAN with cannot-links": hdbscan_with_cannot_links,
    COBRAS: cobras,
}


def rivals() -> tuple[str, ...]:
    """Names of those whose packages are here; of the others it is said that they are left out."""
    missing = {name: needed for name, needed in _NEEDS.items() if find_spec(needed) is None}
    for name, needed in missing.items():
        print(f"{name} is left out: there is no package {needed}.", file=sys.stderr)
    return tuple(name for name in RIVALS if name not in missing)


def labels_of(name: str, given: Rows, seed: int) -> Labels:
    """The groups that a rival finds. Classes reach none but COBRAS, by its questions.

    Raises
    ------
    ValueError
        If it finds none, as COP-k-means may.
    """
    told = given.X, given.pairs, given.k_true, seed
    if name == COBRAS:
        return cobras(*told, asked=given.y[: given.test.start])
    return np.asarray(RIVALS[name](*told))
