"""Partitions of rows in the learned space: k-means, spectral clustering, average linkage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import eigsh
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import pairwise_distances_argmin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from nearkin._types import Floats, Ints
from nearkin.clustering.constraints import (
    Blocks,
    TooFewGroupsError,
    assign_keeping_pairs,
    assign_softly,
    costs_of_scores,
    tie_blocks,
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

# Neighbours of a row, and the one whose distance is the row's scale: that of L. Zelnik-Manor and
# P. Perona (Self-tuning spectral clustering, 2004).
N_NEIGHBORS = 15
_OF_SCALE = 7
# Least scale of a row, as a share of the least that is not zero: rows at one place have none.
_LEAST_SCALE = 1e-3
# Degrees of a graph, and lengths of rows, below which there is nothing to divide by.
_TINY = 1e-12
# Starts of k-means: of so many groups and more, one is as good as several. Found on the sets that
# settings are tuned on (``benchmarks/few_pairs/data.py``).
_N_INIT = 2
_MANY = 15
# Starts of the k-means of a vote. Chosen by hand.
_N_INIT_OF_VOTE = 3
# Functions on the graph that are found at least, and as a multiple of the groups, so that they
# need not be found anew for a few groups more.
_LEAST_FUNCTIONS, _MORE_FUNCTIONS = 12, 2
# Turns in which rows change groups for the sake of pairs, and how much a row in no pair counts
# for its neighbours, beside one in pairs. Of 1, 3 and 6, and of 0.1, 0.3 and 1, by 20, 60 and 200
# pairs on the sets to choose on of ``benchmarks/clusters/ablation.py``: 0.1 is as good as 0.3
# there, but worse where groups overlap, as in ``make_three_normal``.
_TURNS = 3
_UNNAMED = 0.3
# How much a row's own group counts beside those of its neighbours: half in the first turn, in which
# it leaves it only for pairs; then so little that it decides between equals alone.
_OWN_SHARE, _LITTLE_SHARE = 0.5, 1e-3
# Must-links, and cannot-links, that a metric is learned from: more hardly change it.
_MOST_LEARNED_FROM = 5000
# Random pairs that it is estimated from how many are the same.
_N_PAIRS = 4000
# Leading axes that rows are grouped along, at most, which bounds memory.
_MOST_AXES = 100
# Cannot-links, counted both ways, up to which so few groups are looked for as were asked for. More
# of them take too long, and mostly need more groups.
_FEW_APART = 5000


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
        return label_leaves(self.joined[:n_joins], self.blocks.count)[self.blocks.of]


def label_leaves(joined: Ints, n_leaves: int) -> Ints:
    """Number the groups of leaves of a tree, after joins of which the t-th makes n_leaves + t."""
    parent = np.arange(n_leaves + len(joined))
    for t, nodes in enumerate(joined):
        parent[nodes] = n_leaves + t
    for node in range(len(parent) - 1, -1, -1):  # parents come later
        parent[node] = parent[parent[node]]
    return number_by_appearance(parent[:n_leaves])


def grow_tree(Z: Floats, affinities: sp.csr_array, blocks: Blocks) -> Tree:
    """Join rows by average linkage, two groups at a time, and never two that differ.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        Where rows are.
    affinities : sparse matrix of shape (n, n)
        Symmetric and not negative, of neighbours.
    blocks : Blocks

    Notes
    -----
    O(e log² n) time for e neighbours and cannot-links, and as much memory.
    """
    groups = _GrowingGroups(Z, affinities, blocks)
    groups.join_neighbors()
    groups.join_the_rest()
    joined = np.array(groups.joined, dtype=np.int64).reshape(-1, 2)
    return Tree(blocks, joined, np.array(groups.alike))


class _GrowingGroups:
    """Groups while they grow.

    A group goes by one of its blocks: where two join, by that of the one with more neighbours, so
    that few others have to be told. A group of size 0 has joined another.
    """

    def __init__(self, Z: Floats, affinities: sp.csr_array, blocks: Blocks) -> None:
        n = blocks.count
        to_blocks = sp.csr_array(
            (np.ones(len(blocks.of)), (np.arange(len(blocks.of)), blocks.of)),
            shape=(len(blocks.of), n),
        )
        between = sp.csr_array(to_blocks.T @ affinities @ to_blocks)
        self.node = list(range(n))
        self.size = np.bincount(blocks.of, minlength=n).tolist()
        self.total = list(np.asarray(to_blocks.T @ Z, dtype=float))
        # Sums of affinities to other groups, and groups that differ.
        self.near = [_list_entries(between, i) for i in range(n)]
        for block, near in enumerate(self.near):
            near.pop(block, None)
        self.apart = [set(_list_entries(blocks.apart, i)) for i in range(n)]
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
        return float(self.near[u][v] / (self.size[u] * self.size[v]))

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
            near[other] = near.get(other, 0.0) + further
            theirs[u] = near[other]
        for other in self.apart[v]:
            self.apart[other].discard(v)
            self.apart[other].add(u)
        apart |= self.apart[v]
        self.size[u] += self.size[v]
        self.total[u] = self.total[u] + self.total[v]
        self.size[v], self.near[v], self.apart[v] = 0, {}, set()
        return u, told


def _list_entries(matrix: sp.csr_array, i: int) -> dict[int, float]:
    part = slice(matrix.indptr[i], matrix.indptr[i + 1])
    return dict(zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True))


class Neighborhoods:
    """Rows and their neighbours, near ones by Gaussian affinities.

    ``a_ij = exp(−d_ij² / (s_i s_j))``, with s the distance to the seventh neighbour.

    Parameters
    ----------
    Z : ndarray of shape (n, q)

    Notes
    -----
    O(n) memory.
    """

    def __init__(self, Z: Floats) -> None:
        self.n_neighbors = min(N_NEIGHBORS, len(Z) - 1)
        self.Z = Z
        if self.n_neighbors:
            self.search = NearestNeighbors(n_neighbors=self.n_neighbors).fit(Z)
            self._graph = self.search.kneighbors_graph(mode="distance")
            self._scale = self._measure_scales(self._graph.data, len(Z))

    def _measure_scales(self, distances: Floats, n: int) -> Floats:
        nearest = distances.reshape(n, self.n_neighbors)
        scale = nearest[:, min(_OF_SCALE, self.n_neighbors) - 1]
        positive = scale[scale > 0]
        return np.maximum(scale, (positive.min() if len(positive) else 1.0) * _LEAST_SCALE)

    def _weigh(self, graph: sp.csr_matrix, scale: Floats) -> sp.csr_array:
        rows = np.repeat(np.arange(graph.shape[0]), self.n_neighbors)
        weights = np.exp(-(graph.data**2) / (scale[rows] * self._scale[graph.indices]))
        return sp.csr_array((weights, graph.indices, graph.indptr), shape=graph.shape)

    @cached_property
    def affinities(self) -> sp.csr_array:
        """Of rows that are neighbours either way, (n, n); rows at one place are 1."""
        if not self.n_neighbors:
            return sp.csr_array((len(self.Z), len(self.Z)))
        one_way = self._weigh(self._graph, self._scale)
        return sp.csr_array(one_way.maximum(one_way.T))

    def score_members(
        self, labels: Ints, k: int, weights: Floats | None = None, own_share: float = _OWN_SHARE
    ) -> Floats:
        """Score k groups for each row, by its own group and by those of its neighbours.

        Neighbours count by their weights, which are all 1 if nothing is said.
        """
        own = np.eye(k)[labels]
        affinities = self.affinities if weights is None else self.affinities * weights
        total = np.asarray(affinities.sum(axis=1)).ravel()
        near = affinities @ own / np.maximum(total, _TINY)[:, None]
        return np.asarray(own_share * own + (1 - own_share) * near)

    def score_others(self, Z: Floats, labels: Ints, k: int) -> Floats:
        """Score k groups for rows elsewhere, by the groups of their neighbours; sums are 1."""
        if not self.n_neighbors:
            return np.asarray(np.eye(k)[np.repeat(labels, len(Z))])
        graph = self.search.kneighbors_graph(Z, mode="distance")
        weights = self._weigh(graph, self._measure_scales(graph.data, len(Z)))
        far = np.asarray(weights.sum(axis=1)).ravel() < _TINY
        weights.data[np.repeat(far, self.n_neighbors)] = 1.0  # all neighbours are far away
        near = weights @ np.eye(k)[labels]
        return np.asarray(near / near.sum(axis=1, keepdims=True))


# The partition of rows into so many groups; None where there is none.
Family = Callable[["Partitions", int], Ints | None]


def k_means(rows: Partitions, k: int) -> Ints | None:
    """Partition rows by Lloyd's algorithm."""
    return _group_by_means(rows.Z, k, rows.seed)


def spectral(rows: Partitions, k: int) -> Ints | None:
    """Partition rows by k-means along the smoothest functions on the graph of neighbours."""
    if k > len(rows.Z) - 2:
        return None
    axes = rows.smooth_functions(k)
    norms = np.linalg.norm(axes, axis=1, keepdims=True)
    return _group_by_means(axes / np.maximum(norms, _TINY), k, rows.seed)


def linkage(rows: Partitions, k: int) -> Ints:
    """Cut the tree of average linkage, which keeps pairs: the nearest number that there can be."""
    return rows.tree.cut_near(k)


FAMILIES: dict[str, Family] = {"k-means": k_means, "spectral": spectral, "linkage": linkage}


def _group_by_means(Z: Floats, k: int, seed: int, n_init: int | None = None) -> Ints | None:
    if k > len(Z):
        return None
    with mute_third_party():  # there may be fewer distinct rows than groups
        n_init = n_init or (_N_INIT if k <= _MANY else 1)
        found = KMeans(k, n_init=n_init, random_state=seed).fit_predict(Z)
    return number_by_appearance(found)


def vote_on_groups(groupings: Sequence[Ints], k: int, seed: int) -> Ints:
    """Find k groups of rows that several groupings put together: k-means of memberships."""
    members = [np.eye(int(labels.max()) + 1)[labels] for labels in groupings]
    found = _group_by_means(np.column_stack(members), k, seed, _N_INIT_OF_VOTE)
    return groupings[0] if found is None else found


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


def learn_metric(metric: Any, X: Any, y: Any, pairs: Pairs | None, seed: int) -> Any:
    """Learn the metric from what is known; one that is frozen is taken as it is."""
    if isinstance(metric, FrozenEstimator):
        return metric.estimator
    if y is None and not pairs:
        return PlainRows().fit(X)
    if pairs is not None:
        pairs = draw_of_each_kind(pairs, _MOST_LEARNED_FROM, np.random.RandomState(seed))
    learner = MetricLearner(random_state=seed) if metric is None else clone(as_metric(metric))
    with mute_categories(SelectionWarning):  # of which groups say more
        return learner.fit(X, y, pairs=pairs)


def learn_metric_again(metric: Any, given: Any, X: Any, pairs: Pairs) -> Any:
    """Learn the metric from these pairs alone; as it is, where it is frozen or they are too few."""
    if isinstance(given, FrozenEstimator):
        return metric
    try:
        with collect_notices():
            if isinstance(metric, MetricLearner):
                return metric.relearned(X, pairs)
            return clone(metric).fit(X, pairs=pairs)
    except ValueError:  # it needs pairs of both kinds, or more of them
        return metric


def embed_rows(metric: Any, X: Any, seed: int) -> Floats:
    """Map rows by the metric, as an array."""
    return np.asarray(
        project_if_wide(metric.transform(X), np.random.RandomState(seed)), dtype=np.float64
    )


def estimate_share_of_same(metric: Any, Z: Floats, seed: int) -> float:
    """Estimate the share of all pairs of rows that are the same, by distances of random pairs."""
    if not hasattr(metric, "threshold_") or len(Z) < 2:
        return 0.5
    links = draw_links(len(Z), np.random.RandomState(seed), _N_PAIRS)
    return estimate_prevalence(read_verdicts(metric), linked_distances(Z, links))


def split_groups(labels: Ints, scores: Floats, blocks: Blocks, least: int) -> Ints:
    """Split groups until there are so many, if blocks allow: rows that fit worst go first."""
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


@dataclass(frozen=True)
class Wanted:
    """How rows are to be grouped.

    Attributes
    ----------
    families : sequence of str
    strength : float or None
        What it costs to break a pair; None where that is not allowed.
    least, most : int, int or None
        Groups that there must be, and may be.
    """

    families: Sequence[str]
    strength: float | None = None
    least: int = 1
    most: int | None = None


class Partitions:
    """Partitions of some rows that keep pairs, by any family and into any number of groups.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        Where rows are.
    pairs : Pairs
        What is to be kept.
    wanted : Wanted
    seed : int
    """

    def __init__(self, Z: Floats, pairs: Pairs, wanted: Wanted, seed: int) -> None:
        with np.errstate(invalid="ignore"):  # shares of no variance, where all rows are equal
            self.axes = PCA(min(_MOST_AXES, *Z.shape), random_state=seed).fit(Z)
        self.Z = self.axes.transform(Z)
        self.pairs, self.wanted, self.seed = pairs, wanted, seed
        self.blocks = tie_blocks(pairs, len(Z), strict=wanted.strength is None)
        self.neighborhoods = Neighborhoods(self.Z)
        named = np.zeros(len(Z), dtype=bool)
        named[pairs.points] = True
        self.weights = np.where(named, 1.0, _UNNAMED)
        self._too_few = 0
        self._functions = np.zeros((len(Z), 0))
        self._found: dict[tuple[str, int], Ints | None] = {}

    @cached_property
    def tree(self) -> Tree:
        """Who joins whom, with cannot-links kept."""
        return grow_tree(self.Z, self.neighborhoods.affinities, self.blocks)

    def smooth_functions(self, k: int) -> Floats:
        """Find the k smoothest functions on the graph of neighbours, (n, k)."""
        n = len(self.Z)
        if self._functions.shape[1] < k:
            affinities = self.neighborhoods.affinities
            degrees = np.maximum(np.asarray(affinities.sum(axis=1)).ravel(), _TINY)
            scaling = sp.diags_array(1 / np.sqrt(degrees))
            smooth = scaling @ affinities @ scaling + sp.eye_array(n)  # no negative eigenvalues
            start = check_random_state(self.seed).standard_normal(n)
            count = min(max(_MORE_FUNCTIONS * k, _LEAST_FUNCTIONS), n - 2)
            values, vectors = eigsh(smooth, count, v0=start)
            self._functions = vectors[:, np.argsort(-values)] / np.sqrt(degrees)[:, None]
        return self._functions[:, :k]

    def find(self, family: str, k: int) -> Ints | None:
        """Find about k groups by a family, or None; what was found before is kept."""
        if (family, k) not in self._found:
            start = FAMILIES[family](self, k)
            self._found[family, k] = None if start is None else self.repair(start, k)
        return self._found[family, k]

    def get(self, family: str, k: int) -> Ints:
        """Groups that were found before."""
        found = self._found[family, k]
        assert found is not None
        return found

    def group_as_one(self) -> Ints:
        """Put all rows in one group, or in as many as pairs need."""
        return self.repair(np.zeros(len(self.Z), dtype=np.int64), 1)

    def repair(self, start: Ints, k: int, turns: int = _TURNS) -> Ints:
        """Change groups until they keep the pairs, k of them if pairs do not need more.

        Rows in pairs change first, and then those near to them, which go where their neighbours
        are.
        """
        labels = self._join_smallest(start)
        for turn in range(turns if len(self.pairs) else 0):
            n_groups = int(labels.max(initial=-1)) + 1
            own_share = _LITTLE_SHARE if turn else _OWN_SHARE
            scores = self.neighborhoods.score_members(labels, n_groups, self.weights, own_share)
            after = self._keep_pairs(costs_of_scores(scores), max(k, n_groups))
            labels = number_by_appearance(after)
        if len(np.unique(labels)) < self.wanted.least:
            n_groups = int(labels.max(initial=-1)) + 1
            scores = self.neighborhoods.score_members(labels, n_groups)
            labels = split_groups(labels, scores, self.blocks, self.wanted.least)
        return number_by_appearance(labels)

    def _join_smallest(self, labels: Ints) -> Ints:
        """Leave no more groups than there may be: rows of the smallest join the nearest mean.

        Linkage may end with more, where cannot-links allow no further joins.
        """
        sizes = np.bincount(labels)
        if self.wanted.most is None or len(sizes) <= self.wanted.most:
            return labels
        largest = np.argsort(-sizes, kind="stable")[: self.wanted.most]
        means = np.array([self.Z[labels == group].mean(axis=0) for group in largest])
        joined = largest[pairwise_distances_argmin(self.Z, means)]
        return number_by_appearance(np.where(np.isin(labels, largest), labels, joined))

    def _keep_pairs(self, costs: Floats, most_groups: int) -> Ints:
        """Assign rows to groups of least cost that keep pairs, hard or soft."""
        if self.wanted.strength is not None:
            return assign_softly(costs, self.pairs, self.wanted.strength)
        if self.blocks.apart.nnz <= _FEW_APART and most_groups > self._too_few:
            try:
                return assign_keeping_pairs(costs, self.blocks, most_groups=most_groups, steps=0)
            except TooFewGroupsError:  # or hard to find
                self._too_few = most_groups
        return assign_keeping_pairs(costs, self.blocks, most_groups=self.wanted.most)
