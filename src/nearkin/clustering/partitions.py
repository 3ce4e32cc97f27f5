"""Families of partitions in the learned space: k-means, Ward, linkage and others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any, Literal

import numpy as np
import scipy.sparse as sp
from scipy.cluster import hierarchy
from scipy.sparse.csgraph import connected_components
from scipy.sparse.linalg import eigsh
from scipy.spatial.distance import pdist
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, KMeans
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KNeighborsClassifier, NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.graph import _fix_connected_components

from nearkin._types import Floats, Ints, Mask
from nearkin.clustering.constraints import (
    Blocks,
    Placed,
    Placing,
    TooFewGroupsError,
    blocks_of,
    kept,
    kernel_features,
    softly_kept,
)
from nearkin.errors import InputError
from nearkin.learners.compositions import as_metric
from nearkin.learners.metric_learner import MetricLearner
from nearkin.learners.selection import SelectionWarning, choose_scales
from nearkin.messages import collect_notices, mute_categories, mute_third_party
from nearkin.pairs.closure import draw_links, number_by_appearance
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import draw_of_each_kind
from nearkin.rows import validation
from nearkin.rows.distances import linked_distances
from nearkin.rows.scaling import divide_columns
from nearkin.rows.sparse import project_if_wide
from nearkin.rows.validation import find_word_columns
from nearkin.scores.verdicts import estimate_prevalence, read_verdicts
from nearkin.tables.encoder import TableEncoder

# Groups that grow by joining, with cannot-links kept: a tree that can be cut anywhere.


Linkage = Literal["average", "complete"]


@dataclass(frozen=True)
class Tree:
    """Who joined whom, in order.

    Attributes
    ----------
    blocks : Blocks
        What there was at the start: nodes 0 to n_blocks − 1.
    joined : int ndarray of shape (n_joins, 2)
        The two nodes; the t-th join makes node ``n_blocks + t``.
    alike : ndarray of shape (n_joins,)
        How alike they were; NaN where the graph did not say, and distances decided.
    """

    blocks: Blocks
    joined: Ints
    alike: Floats

    @property
    def fewest(self) -> int:
        """Groups that are left when nothing more can be joined."""
        return self.blocks.count - len(self.joined)

    def cut(self, n_groups: int) -> Ints:
        """Groups of rows when there are so many; an error if there never are."""
        if n_groups < self.fewest:
            raise InputError(
                f"the tree has no {n_groups} groups: joining ended with {self.fewest}, which "
                f"cannot-links all keep apart. Cut it at {self.fewest} or more, or look for other "
                f"groups with Clusters({n_groups}).fit(X, pairs=pairs)."
            )
        if n_groups > self.blocks.count:
            raise InputError(
                f"the tree has no {n_groups} groups: must-links leave {self.blocks.count} at most."
            )
        return self.cut_near(n_groups)

    def cut_near(self, n_groups: int) -> Ints:
        """Groups of rows when there are so many, or the nearest number that there can be."""
        n_joins = min(max(self.blocks.count - n_groups, 0), len(self.joined))
        return leaves_joined(self.joined[:n_joins], self.blocks.count)[self.blocks.of]


def leaves_joined(joined: Ints, n_leaves: int) -> Ints:
    """Groups of the leaves of a tree, after joins of which the t-th makes node n_leaves + t."""
    parent = np.arange(n_leaves + len(joined))
    for t, nodes in enumerate(joined):
        parent[nodes] = n_leaves + t
    for node in range(len(parent) - 1, -1, -1):  # parents come later
        parent[node] = parent[parent[node]]
    return number_by_appearance(parent[:n_leaves])


def joined_tree(
    Z: Floats, affinities: sp.csr_array, blocks: Blocks, linkage: Linkage = "average"
) -> Tree:
    """The tree of rows.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        Where rows are.
    affinities : sparse matrix of shape (n, n)
        Symmetric and not negative, of neighbours.
    blocks : Blocks
    linkage : {"average", "complete"}, default="average"

    Notes
    -----
    O(e log² n) time for e neighbours and cannot-links, and as much memory.
    """
    groups = _Growing(Z, affinities, blocks, linkage)
    groups.join_neighbors()
    groups.join_the_rest()
    joined = np.array(groups.joined, dtype=np.int64).reshape(-1, 2)
    return Tree(blocks, joined, np.array(groups.alike))


class _Growing:
    """Groups while they grow.

    A group goes by one of its blocks: where two join, by that of the one with more neighbours, so
    that few others have to be told. A group of size 0 has joined another.
    """

    def __init__(
        self, Z: Floats, affinities: sp.csr_array, blocks: Blocks, linkage: Linkage
    ) -> None:
        n = blocks.count
        self.averages = linkage == "average"
        to_blocks = sp.csr_array(
            (np.ones(len(blocks.of)), (np.arange(len(blocks.of)), blocks.of)),
            shape=(len(blocks.of), n),
        )
        between = _between(affinities, blocks, np.add if self.averages else np.minimum)
        self.node = list(range(n))
        self.size = np.bincount(blocks.of, minlength=n).tolist()
        self.total = list(np.asarray(to_blocks.T @ Z, dtype=float))
        # Sums of affinities to other groups, or the least of them, and groups that differ.
        self.near = [_entries(between, i) for i in range(n)]
        self.apart = [set(_entries(blocks.apart, i)) for i in range(n)]
        self.joined: list[tuple[int, int]] = []
        self.alike: list[float] = []

    def join_neighbors(self) -> None:
        """Join the two that are most alike, as long as neighbours may be joined."""
        queue = [
            (-self._likeness(u, v), u, v)
            for u, near in enumerate(self.near)
            for v in near
            if u < v and v not in self.apart[u]
        ]
        heapify(queue)
        while queue:
            less, u, v = heappop(queue)
            if v not in self.near[u] or v in self.apart[u]:
                continue  # one of them has joined another since, or may not be joined any more
            alike = self._likeness(u, v)
            if alike < -less:  # as it was before one of them grew
                heappush(queue, (-alike, u, v))
                continue
            kept, told = self._join(u, v, alike)
            for other in told:
                if other not in self.apart[kept]:
                    heappush(queue, (-self._likeness(kept, other), kept, other))

    def _likeness(self, u: int, v: int) -> float:
        pairs = self.size[u] * self.size[v] if self.averages else 1
        return float(self.near[u][v] / pairs)

    def join_the_rest(self) -> None:
        """Join what the graph leaves, the smallest first, to the nearest mean that it may join."""
        left = [(size, group) for group, size in enumerate(self.size) if size]
        heapify(left)
        while left:
            size, group = heappop(left)
            if self.size[group] != size:
                continue
            others = sorted({other for one, other in left if self.size[other] == one})
            others = [
                other for other in others if other != group and other not in self.apart[group]
            ]
            if not others:
                continue  # it stays as it is
            means = np.array([self.total[other] / self.size[other] for other in others])
            squared = ((means - self.total[group] / size) ** 2).sum(axis=1)
            kept, _ = self._join(others[int(squared.argmin())], group, float("nan"))
            heappush(left, (self.size[kept], kept))

    def _join(self, u: int, v: int, alike: float) -> tuple[int, list[int]]:
        """Join two groups; the one that stays, and others whose sums have changed."""
        if len(self.near[u]) + len(self.apart[u]) < len(self.near[v]) + len(self.apart[v]):
            u, v = v, u
        self.joined.append((self.node[u], self.node[v]))
        self.alike.append(alike)
        self.node[u] = len(self.node) + len(self.joined) - 1
        near, apart = self.near[u], self.apart[u]
        near.pop(v, None)
        self.near[v].pop(u, None)
        told = list(self.near[v])
        for other in told:
            theirs = self.near[other]
            further = theirs.pop(v)
            if other not in near:
                near[other] = further
            else:
                near[other] = near[other] + further if self.averages else min(near[other], further)
            theirs[u] = near[other]
        for other in self.apart[v]:
            self.apart[other].discard(v)
            self.apart[other].add(u)
        apart |= self.apart[v]
        self.size[u] += self.size[v]
        self.total[u] = self.total[u] + self.total[v]
        self.size[v], self.near[v], self.apart[v] = 0, {}, set()
        return u, told


def _between(affinities: sp.csr_array, blocks: Blocks, combine: np.ufunc) -> sp.csr_array:
    """Affinities of rows of two blocks, added up or the least of them."""
    rows = affinities.tocoo()
    first, second = blocks.of[rows.row], blocks.of[rows.col]
    apart = first != second
    keys = first[apart] * np.int64(blocks.count) + second[apart]
    order = np.argsort(keys, kind="stable")
    keys, starts = np.unique(keys[order], return_index=True)
    values = combine.reduceat(rows.data[apart][order], starts) if len(keys) else np.zeros(0)
    places = keys // blocks.count, keys % blocks.count
    return sp.csr_array((values, places), shape=(blocks.count, blocks.count))


def _entries(matrix: sp.csr_array, i: int) -> dict[int, float]:
    part = slice(matrix.indptr[i], matrix.indptr[i + 1])
    return dict(zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True))


# How alike neighbours are.


# Neighbours of a row, and the one whose distance is the row's scale.
N_NEIGHBORS = 15
_OF_SCALE = 7


def affinities_of(Z: Floats, n_neighbors: int = N_NEIGHBORS) -> sp.csr_array:
    """Gaussian affinities of neighbours, each row by the distance of its own.

    ``a_ij = exp(−d_ij² / (s_i s_j))``, with s the distance to the seventh neighbour; symmetric, of
    rows that are neighbours either way. Rows at one place are 1.

    Notes
    -----
    O(n) memory.
    """
    n = len(Z)
    k = min(n_neighbors, n - 1)
    if k < 1:
        return sp.csr_array((n, n))
    graph = NearestNeighbors(n_neighbors=k).fit(Z).kneighbors_graph(mode="distance")
    scale = graph.data.reshape(n, k)[:, min(_OF_SCALE, k) - 1]
    positive = scale[scale > 0]
    scale = np.maximum(scale, (positive.min() if len(positive) else 1.0) * 1e-3)
    rows = np.repeat(np.arange(n), k)
    weights = np.exp(-(graph.data**2) / (scale[rows] * scale[graph.indices]))
    one_way = sp.csr_array((weights, graph.indices, graph.indptr), shape=(n, n))
    return sp.csr_array(one_way.maximum(one_way.T))


# Families of groupings: ways to find so many groups of rows in Euclidean coordinates.


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
        with mute_third_party():
            found = GaussianMixture(
                k, covariance_type=kind, reg_covar=floor, random_state=there.seed
            ).fit_predict(Z)
        return number_by_appearance(found)

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
    with mute_third_party():  # there may be fewer distinct rows than groups
        n_init = _N_INIT if k <= _MANY else 1
        found = KMeans(k, n_init=n_init, random_state=seed).fit_predict(Z)
    return number_by_appearance(found)


# What several groupings agree on.


def agreed_groups(groupings: Sequence[Ints], k: int) -> Ints:
    """K groups at most, by the share of groupings that put two rows together.

    Average linkage of these shares.

    Notes
    -----
    O(n²) memory: for some thousand rows.
    """
    rows = np.column_stack(groupings)
    if len(rows) < 2:
        return np.zeros(len(rows), dtype=np.int64)
    tree = hierarchy.linkage(pdist(rows, "hamming"), "average")
    return number_by_appearance(hierarchy.fcluster(tree, k, "maxclust") - 1)


# Where rows are when they are grouped: in the coordinates of a metric, learned or given.


# Must-links, and cannot-links, that a metric is learned from: more hardly change it.
_MOST_LEARNED_FROM = 5000
# Random pairs that it is estimated from how many are the same.
_N_PAIRS = 4000


class PlainRows(TransformerMixin, BaseEstimator):
    """Rows as they are, with columns divided by their spreads where units differ.

    The metric of those who know of no pairs.
    """

    def fit(self, X: Any, y: Any = None) -> PlainRows:
        """Find the spreads of columns."""
        self.table_ = TableEncoder().fit(X) if find_word_columns(X) else None
        rows = self._numbers(X, reset=True)
        self.column_scale_, _ = choose_scales(rows, None)
        return self

    def transform(self, X: Any) -> Any:
        """Divide columns."""
        return divide_columns(self._numbers(X, reset=False), self.column_scale_)

    def _numbers(self, X: Any, *, reset: bool) -> Any:
        if self.table_ is not None:
            X = self.table_.transform(X)
        return validation.validate_rows(self, X, reset=reset, accept_sparse="csr")


def learned_metric(metric: Any, X: Any, y: Any, pairs: Pairs | None, seed: int) -> Any:
    """The metric, fitted: as given if it is frozen, else learned from what is known."""
    if isinstance(metric, FrozenEstimator):
        return metric.estimator
    if y is None and not pairs:
        return PlainRows().fit(X)
    if pairs is not None:
        pairs = draw_of_each_kind(pairs, _MOST_LEARNED_FROM, np.random.RandomState(seed))
    learner = MetricLearner(random_state=seed) if metric is None else clone(as_metric(metric))
    with mute_categories(SelectionWarning):  # of which groups say more
        return learner.fit(X, y, pairs=pairs)


def coordinates(metric: Any, X: Any, seed: int) -> Floats:
    """Where rows are, as an array."""
    return np.asarray(
        project_if_wide(metric.transform(X), np.random.RandomState(seed)), dtype=np.float64
    )


def learned_without(metric: Any, given: Any, X: Any, pairs: Pairs) -> Any:
    """The metric as it is learned from these pairs alone; as it is, where they are too few."""
    if isinstance(given, FrozenEstimator):
        return metric
    try:
        with collect_notices():
            if isinstance(metric, MetricLearner):
                return metric.relearned(X, pairs)
            return clone(metric).fit(X, pairs=pairs)
    except ValueError:  # it needs pairs of both kinds, or more of them
        return metric


def share_of_same(metric: Any, Z: Floats, seed: int) -> float:
    """Share of all pairs of rows that are the same, by what the metric says of distances."""
    if not hasattr(metric, "threshold_") or len(Z) < 2:
        return 0.5
    links = draw_links(len(Z), np.random.RandomState(seed), _N_PAIRS)
    return estimate_prevalence(read_verdicts(metric), linked_distances(Z, links))


# Groupings of rows in one space: any family, any number, mended until pairs are kept.


# The family that is what the others agree on.
AGREEMENT = "agreement"
# How much a row counts that is in no pair.
_UNNAMED = 0.1
# Turns, which end long before as a rule; the penalty is chosen anew in every third.
_MOST_TURNS = 6
_CHOSEN_ANEW = 3
# Leading axes that rows are grouped along, at most.
_MOST_AXES_OF_ROWS = 100
# Cannot-links, counted both ways, up to which so many groups are looked for that may be enough.
_FEW_APART = 5000
# Neighbours that say where an outlier goes.
_N_NEAREST = 5


@dataclass(frozen=True)
class Grouping:
    """Rows in groups that keep the pairs.

    Attributes
    ----------
    labels : int ndarray of shape (n,)
        From 0, in the order of first rows.
    outliers : bool ndarray of shape (n,)
        Rows that the family left out; they are in the group that they fit best.
    """

    labels: Ints
    outliers: Mask

    @property
    def n_groups(self) -> int:
        """How many there are."""
        return int(self.labels.max(initial=-1)) + 1


@dataclass(frozen=True)
class Space:
    """Where rows are when they are placed.

    Attributes
    ----------
    axes : PCA
        Along which rows are seen.
    features : Nystroem
        Of the kernel there.
    seed : int
    """

    axes: PCA
    features: Nystroem
    seed: int

    def coordinates(self, metric: Any, X: Any) -> Floats:
        """Where rows are along the axes."""
        return np.asarray(self.axes.transform(coordinates(metric, X, self.seed)))

    def scores(self, Z: Floats, coefficients: Floats) -> Floats:
        """Scores of groups of rows that are there."""
        return np.asarray(self.features.transform(Z) @ coefficients[:-1] + coefficients[-1])


def split_up(labels: Ints, scores: Floats, blocks: Blocks, least: int) -> Ints:
    """At least so many groups, if blocks allow: those that fit their group worst have their own."""
    last = scores.shape[1] - 1  # groups that were opened for pairs have no scores of their own
    own = scores[np.arange(len(labels)), np.minimum(labels, last)]
    fit = np.bincount(blocks.of, own) / np.bincount(blocks.of)
    group = np.zeros(blocks.count, dtype=np.int64)
    group[blocks.of] = labels
    missing = least - len(np.unique(group))
    sizes = np.bincount(group).tolist()
    for block in np.argsort(fit, kind="stable").tolist():
        if missing > 0 and sizes[group[block]] > 1:
            sizes[group[block]] -= 1
            group[block] = len(sizes)
            sizes.append(1)
            missing -= 1
    return group[blocks.of]


class Groupings:
    """All groupings of some rows.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        Where rows are.
    pairs : Pairs
        What is to be kept.
    families : sequence of str
    seed : int
    strength : float, optional
        What it costs to break a pair, where that is allowed.
    least, most : int, optional
        Groups that there must be, and may be.
    """

    def __init__(
        self,
        Z: Floats,
        pairs: Pairs,
        families: Sequence[str],
        seed: int,
        strength: float | None = None,
        least: int = 1,
        most: int | None = None,
    ) -> None:
        with np.errstate(invalid="ignore"):  # shares of no variance, where all rows are equal
            axes = PCA(min(_MOST_AXES_OF_ROWS, *Z.shape), random_state=seed).fit(Z)
        Z = axes.transform(Z)
        self.pairs, self.families, self.seed, self.strength = pairs, families, seed, strength
        self.least, self.most = least, most
        self.blocks = blocks_of(pairs, len(Z), strict=strength is None)
        self.there = Coordinates(Z, self.blocks, seed)
        self.space = Space(axes, kernel_features(Z, seed), seed)
        named = np.zeros(len(Z), dtype=bool)
        named[pairs.points] = True
        weights = np.where(named, 1.0, _UNNAMED if named.any() else 1.0)
        self.placing = Placing(self.space.features.transform(Z), self.blocks, weights)
        self._too_few = 0
        self._cuts: dict[str, Cut] = {}
        self._found: dict[tuple[str, int], Grouping | None] = {}

    def found(self, family: str, k: int) -> Grouping | None:
        """About k groups by a family; None if it has none."""
        if (family, k) not in self._found:
            start = self._agreed(k) if family == AGREEMENT else self._start(family, k)
            self._found[family, k] = None if start is None else self.mended(start, k)
        return self._found[family, k]

    def _start(self, family: str, k: int) -> Ints | None:
        if family not in self._cuts:
            self._cuts[family] = FAMILIES[family](self.there)
        return self._cuts[family](k)

    def _agreed(self, k: int) -> Ints | None:
        others = [self.found(family, k) for family in self.families if family != AGREEMENT]
        labels = [other.labels for other in others if other is not None]
        return agreed_groups(labels, k) if labels else None

    def mended(self, start: Ints, k: int, turns: int = _MOST_TURNS) -> Grouping:
        """Groups that keep the pairs, after so many turns at most; −1 at the start: an outlier."""
        labels, penalty = number_by_appearance(self._placed(self._at_most(start))), None
        for turn in range(turns if len(self.pairs) else 0):
            n_groups = int(labels.max()) + 1
            placed = self.placing.place(labels, n_groups, penalty if turn % _CHOSEN_ANEW else None)
            penalty = placed.penalty
            after = number_by_appearance(self.kept(placed.costs, max(k, n_groups)))
            if np.array_equal(labels, after):
                break
            labels = after
        labels = number_by_appearance(self.split_up(labels))
        return Grouping(labels, start < 0)

    def _at_most(self, start: Ints) -> Ints:
        """No more groups than there may be: rows of the smallest are outliers, −1, for now.

        Families that keep pairs by themselves may end with more groups than are needed.
        """
        sizes = np.bincount(start[start >= 0])
        if self.most is None or (sizes > 0).sum() <= self.most:
            return start
        largest = np.argsort(-sizes, kind="stable")[: self.most]
        return np.where(np.isin(start, largest), start, -1)

    def split_up(self, labels: Ints) -> Ints:
        """As many groups as there must be, see :func:`split_up`."""
        if self.least <= len(np.unique(labels)):
            return labels
        placed = self.placing.place(labels, int(labels.max()) + 1)
        return split_up(labels, placed.scores, self.blocks, self.least)

    def _placed(self, start: Ints) -> Ints:
        """Groups with outliers in those that they fit best."""
        if start.min(initial=0) >= 0:
            return start
        Z, inside = self.there.Z, start >= 0
        nearest = KNeighborsClassifier(min(_N_NEAREST, int(inside.sum())))
        labels = start.copy()
        labels[~inside] = nearest.fit(Z[inside], start[inside]).predict(Z[~inside])
        return labels

    def kept(self, costs: Floats, most_groups: int) -> Ints:
        """Groups of least cost that keep pairs, hard or soft."""
        if self.strength is not None:
            return softly_kept(costs, self.pairs, self.strength)
        few = self.blocks.apart.nnz <= _FEW_APART
        if few and most_groups > self._too_few:
            try:
                return kept(costs, self.blocks, most_groups=most_groups, steps=0)
            except TooFewGroupsError:  # or hard to find
                self._too_few = most_groups
        return kept(costs, self.blocks, most_groups=self.most)

    def placed(self, grouping: Grouping) -> Placed:
        """How rows are placed by a grouping, as new ones would be."""
        return self.placing.place(grouping.labels, grouping.n_groups)

    def alone(self) -> Grouping:
        """All rows in one group, or in as many as pairs need."""
        return self.mended(np.zeros(len(self.there.Z), dtype=np.int64), 1)

    def grouped(self, key: tuple[str, int]) -> Grouping:
        """A grouping that was found before."""
        found = self.found(*key)
        assert found is not None
        return found
