"""Partitions of rows in the learned space by k-means or average linkage, which keep pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.frozen import FrozenEstimator
from sklearn.kernel_approximation import Nystroem
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
from nearkin.learners.selection import SelectionWarning
from nearkin.messages import collect_notices, mute_categories, mute_third_party
from nearkin.pairs.closure import draw_links, number_by_appearance
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import draw_of_each_kind
from nearkin.rows import validation
from nearkin.rows.distances import linked_distances
from nearkin.rows.scaling import choose_scales, divide_columns
from nearkin.rows.sparse import project_if_wide
from nearkin.rows.validation import find_word_columns
from nearkin.scores.verdicts import estimate_prevalence, read_verdicts
from nearkin.tables.encoder import TableEncoder

# Neighbours of a row, and the one whose distance is the row's scale: that of L. Zelnik-Manor and
# P. Perona (Self-tuning spectral clustering, 2004).
_N_NEIGHBORS = 15
_OF_SCALE = 7
# Least scale of a row, as a share of the least that is not zero: rows at one place have none.
_LEAST_SCALE = 1e-3
# Starts of k-means: of so many groups and more, one is as good as several. Found on the sets that
# settings are tuned on (``benchmarks/few_pairs/data.py``).
_N_INIT = 2
_MANY = 15
# Starts of the k-means of a vote. Chosen by hand.
_N_INIT_OF_VOTE = 3
# Turns in which rows change groups for the sake of pairs, at most: they end long before as a rule.
# The penalty is chosen anew in every third. By one turn, or by groups of neighbours in place of the
# regression, groups were worse on sets to report on: ``benchmarks/clusters/RESULTS.md``.
_TURNS = 6
_CHOSEN_ANEW = 3
# How much a row counts that is in no pair. Chosen by hand.
_UNNAMED = 0.1
# Rows whose kernel values are features, which bounds time; random pairs for the kernel's width.
_N_LANDMARKS = 200
_N_DISTANCES = 10_000
# What the penalty of the regression is chosen from.
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)
# Rows of larger blocks are judged by all others: the block as a whole is sure of its group.
_LARGE_BLOCK = 30
# Logarithms of the sharpness of chances: from hardly anything to certain.
_LOG_SHARPNESS = (-2.0, 5.0)
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
    """Dendrogram of average linkage, with the blocks as nodes 0 to n_blocks − 1."""

    blocks: Blocks
    joined: Ints  # the t-th join, of two nodes, makes node n_blocks + t
    alike: Floats  # mean affinity of the two, or NaN where they had none, and distances decided

    @property
    def fewest(self) -> int:
        """Number of groups that are left when nothing more can be joined."""
        return self.blocks.count - len(self.joined)

    def cut(self, n_groups: int) -> Ints:
        """Labels (n,) of that many groups; an error if the tree never has as many."""
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
        """Labels (n,) of that many groups, or of the nearest number that the tree has."""
        n_blocks = self.blocks.count
        n_joins = min(max(n_blocks - n_groups, 0), len(self.joined))
        parent = np.arange(n_blocks + n_joins)
        for t, nodes in enumerate(self.joined[:n_joins]):
            parent[nodes] = n_blocks + t
        for node in range(len(parent) - 1, -1, -1):  # parents come later
            parent[node] = parent[parent[node]]
        return number_by_appearance(parent[:n_blocks])[self.blocks.of]


def grow_tree(Z: Floats, blocks: Blocks, affinities: sp.csr_array | None = None) -> Tree:
    """Tree of average linkage of rows Z, in which blocks kept apart are never joined.

    Groups of highest mean affinity join first, those without by distances of their means. O(e log²
    n) time for e neighbours and cannot-links, O(e) memory.
    """
    groups = _GrowingGroups(Z, blocks, find_affinities(Z) if affinities is None else affinities)
    groups.join_neighbors()
    groups.join_the_rest()
    joined = np.array(groups.joined, dtype=np.int64).reshape(-1, 2)
    return Tree(blocks, joined, np.array(groups.alike))


class _GrowingGroups:
    """State of average linkage: the groups that are left.

    A group has the number of one of its blocks: where two join, that of the one with more
    neighbours. A group of size 0 has joined another.
    """

    def __init__(self, Z: Floats, blocks: Blocks, affinities: sp.csr_array) -> None:
        n, n_rows = blocks.count, len(blocks.of)
        places = (np.arange(n_rows), blocks.of)
        to_blocks = sp.csr_array((np.ones(n_rows), places), shape=(n_rows, n))
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
        """Join the two groups of highest mean affinity, until none with affinities may join."""
        queue = [
            (-self._mean_affinity(u, v), u, v)
            for u, near in enumerate(self.near)
            for v in near
            if u < v and v not in self.apart[u]
        ]
        heapify(queue)
        while queue:
            less, u, v = heappop(queue)
            if v not in self.near[u] or v in self.apart[u]:
                continue  # one of them has joined another since, or may not be joined any more
            alike = self._mean_affinity(u, v)
            if alike < -less:  # as it was before one of them grew
                heappush(queue, (-alike, u, v))
                continue
            kept, told = self._join(u, v, alike)
            for other in told:
                if other not in self.apart[kept]:
                    heappush(queue, (-self._mean_affinity(kept, other), kept, other))

    def _mean_affinity(self, u: int, v: int) -> float:
        return float(self.near[u][v] / (self.size[u] * self.size[v]))

    def join_the_rest(self) -> None:
        """Join groups without affinities, the smallest first, to the group of nearest mean."""
        left = [(size, group) for group, size in enumerate(self.size) if size]
        heapify(left)
        while left:
            size, group = heappop(left)
            if self.size[group] != size:
                continue
            there = {other for one, other in left if self.size[other] == one}
            others = sorted(there - self.apart[group] - {group})
            if not others:
                continue  # it stays as it is
            means = np.array([self.total[other] / self.size[other] for other in others])
            squared = ((means - self.total[group] / size) ** 2).sum(axis=1)
            kept, _ = self._join(others[int(squared.argmin())], group, float("nan"))
            heappush(left, (self.size[kept], kept))

    def _join(self, u: int, v: int, alike: float) -> tuple[int, list[int]]:
        """Join two groups; returns the number that stays, and groups whose affinities changed."""
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
    """Entries of row i of a sparse matrix, by column."""
    part = slice(matrix.indptr[i], matrix.indptr[i + 1])
    return dict(zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True))


def find_affinities(Z: Floats) -> sp.csr_array:
    """Gaussian affinities (n, n), sparse and symmetric, of rows that are neighbours either way.

    ``a_ij = exp(−d_ij² / (s_i s_j))``, with s the distance to the seventh neighbour. O(n) memory.
    """
    n = len(Z)
    k = min(_N_NEIGHBORS, n - 1)
    if k < 1:
        return sp.csr_array((n, n))
    graph = NearestNeighbors(n_neighbors=k).fit(Z).kneighbors_graph(mode="distance")
    scale = graph.data.reshape(n, k)[:, min(_OF_SCALE, k) - 1]
    positive = scale[scale > 0]
    scale = np.maximum(scale, (positive.min() if len(positive) else 1.0) * _LEAST_SCALE)
    rows = np.repeat(np.arange(n), k)
    weights = np.exp(-(graph.data**2) / (scale[rows] * scale[graph.indices]))
    one_way = sp.csr_array((weights, graph.indices, graph.indptr), shape=(n, n))
    return sp.csr_array(one_way.maximum(one_way.T))


def fit_kernel_features(Z: Floats, seed: int) -> Nystroem:
    """Fit a map to features of a Gaussian kernel, whose width is the median distance of rows."""
    rng = check_random_state(seed)
    pairs = draw_links(len(Z), rng, _N_DISTANCES)
    squared = ((Z[pairs[:, 0]] - Z[pairs[:, 1]]) ** 2).sum(axis=1)
    usual = float(np.median(squared)) if len(squared) else 0.0
    gamma = 1 / (usual or float(squared.max(initial=0.0)) or 1.0)
    count = min(_N_LANDMARKS, len(Z))
    return Nystroem(kernel="rbf", gamma=gamma, n_components=count, random_state=seed).fit(Z)


@dataclass(frozen=True)
class MemberScores:
    """Scores (n, k) of how well rows fit groups, each row by a regression without it."""

    scores: Floats
    coefficients: Floats  # (m + 1, k), of features and a constant, which score further rows
    error: float  # mean squared, over rows of weight 1
    penalty: float  # of the ridge regression


def fit_sharpness(scores: Floats, labels: Ints) -> float:
    """Factor of scores (n, k) whose softmax gives labels (n,) the highest likelihood."""

    def loss(log_sharpness: float) -> float:
        odds = np.exp(log_sharpness) * scores
        own = odds[np.arange(len(labels)), labels]
        return float((logsumexp(odds, axis=1) - own).mean())

    return float(np.exp(minimize_scalar(loss, bounds=_LOG_SHARPNESS, method="bounded").x))


class MembershipRegression:
    """Ridge regression of group membership on features (n, m) of rows: how well rows fit groups.

    A row is scored by other rows only. ``weights`` (n,) say how much rows count; errors are those
    of rows of weight 1. O(n m²) time to make one, and O(n m k) for k groups; O(n m) memory.
    """

    def __init__(self, features: Floats, blocks: Blocks, weights: Floats) -> None:
        self.weights = weights
        self.roots = np.sqrt(weights)[:, None]
        self.U, self.s, self.Vt = np.linalg.svd(self.roots * features, full_matrices=False)
        self.blocks = [b for b in _sort_by_size(blocks.of) if 1 < b.shape[1] <= _LARGE_BLOCK]
        self.counted = np.flatnonzero(weights == 1.0)
        self._without: dict[float, list[Floats]] = {}

    def score(self, labels: Ints, k: int, penalty: float | None = None) -> MemberScores:
        """Scores of rows in k groups from labels (n,), with a penalty, by default the best one."""
        Y = np.zeros((len(labels), k))
        Y[np.arange(len(labels)), labels] = 1
        mean = self.weights @ Y / self.weights.sum()
        Y = self.roots * (Y - mean)
        along = self.U.T @ Y
        penalties = PENALTIES if penalty is None else (penalty,)
        tries = [(*self._leave_own_out(Y, along, one), one) for one in penalties]
        residuals, error, penalty = min(tries, key=lambda one: one[1])
        B = self.Vt.T @ ((self.s / (self.s**2 + penalty))[:, None] * along)
        scores = (Y - residuals) / self.roots + mean
        return MemberScores(scores, np.vstack([B, mean]), error, penalty)

    def _leave_own_out(self, Y: Floats, along: Floats, penalty: float) -> tuple[Floats, float]:
        """Residuals (n, k) of predictions made without a row's own block, and their mean square."""
        shrunk = self.s**2 / (self.s**2 + penalty)
        R = Y - self.U @ (shrunk[:, None] * along)
        if penalty not in self._without:
            inverses: list[Floats] = [1 / np.maximum(1 - (self.U**2) @ shrunk, 1e-9)]
            for rows in self.blocks:  # (I − H)⁻¹ of blocks of one size
                U = self.U[rows]
                H = (U * shrunk) @ U.transpose(0, 2, 1)
                inverses.append(np.linalg.inv((1 + 1e-9) * np.eye(rows.shape[1]) - H))
            self._without[penalty] = inverses
        alone, *of_blocks = self._without[penalty]
        found = np.asarray(alone[:, None] * R)
        for rows, inverse in zip(self.blocks, of_blocks, strict=True):
            found[rows] = inverse @ R[rows]
        error = float((found[self.counted] ** 2).sum() / max(len(self.counted), 1))
        return found, error


def _sort_by_size(block: Ints) -> list[Ints]:
    """Row numbers of blocks, one array (n_blocks, size) for each size of blocks."""
    order = np.argsort(block, kind="stable")
    starts = np.flatnonzero(np.diff(block[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    return [order[starts[sizes == s][:, None] + np.arange(s)] for s in np.unique(sizes)]


def score_others(features: Nystroem, Z: Floats, coefficients: Floats) -> Floats:
    """Scores (n, k) in groups of rows Z that had no part in the regression."""
    return np.asarray(features.transform(Z) @ coefficients[:-1] + coefficients[-1])


def group_by_means(Z: Floats, k: int, seed: int, n_init: int | None = None) -> Ints | None:
    """Labels (n,) by k-means, of fewer groups where rows are equal; None if k exceeds the rows."""
    if k > len(Z):
        return None
    with mute_third_party():  # there may be fewer distinct rows than groups
        n_init = n_init or (_N_INIT if k <= _MANY else 1)
        found = KMeans(k, n_init=n_init, random_state=seed).fit_predict(Z)
    return number_by_appearance(found)


def vote_on_groups(groupings: Sequence[Ints], k: int, seed: int) -> Ints:
    """Labels (n,) of k groups that agree most with several groupings: k-means of memberships."""
    members = [np.eye(int(labels.max()) + 1)[labels] for labels in groupings]
    found = group_by_means(np.column_stack(members), k, seed, _N_INIT_OF_VOTE)
    return groupings[0] if found is None else found


class PlainRows(TransformerMixin, BaseEstimator):
    """Metric without pairs: rows with columns divided by their spreads where units differ."""

    def fit(self, X: Any, y: Any = None) -> PlainRows:
        """Find the spreads of columns, and the encoding of words."""
        self.table_ = TableEncoder().fit(X) if find_word_columns(X) else None
        rows = self._numbers(X, reset=True)
        self.column_scale_, _ = choose_scales(rows, None)
        return self

    def transform(self, X: Any) -> Any:
        """Rows as numbers, columns divided."""
        return divide_columns(self._numbers(X, reset=False), self.column_scale_)

    def _numbers(self, X: Any, *, reset: bool) -> Any:
        """Encode and check rows."""
        if self.table_ is not None:
            X = self.table_.transform(X)
        return validation.validate_rows(self, X, reset=reset, accept_sparse="csr")


def fit_metric(metric: Any, X: Any, y: Any, pairs: Pairs | None, seed: int) -> Any:
    """Learn the metric from labels and pairs; a frozen one is taken as it is."""
    if isinstance(metric, FrozenEstimator):
        return metric.estimator
    if y is None and not pairs:
        return PlainRows().fit(X)
    if pairs is not None:
        pairs = draw_of_each_kind(pairs, _MOST_LEARNED_FROM, np.random.RandomState(seed))
    learner = MetricLearner(random_state=seed) if metric is None else clone(as_metric(metric))
    with mute_categories(SelectionWarning):  # of which groups say more
        return learner.fit(X, y, pairs=pairs)


def fit_metric_again(metric: Any, given: Any, X: Any, pairs: Pairs) -> Any:
    """Learn the metric anew from fewer pairs, to hold out the others.

    The fitted metric itself where the user's parameter ``given`` is frozen, or pairs are too few.
    """
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
    """Map rows by the metric to a dense array (n, q)."""
    Z = project_if_wide(metric.transform(X), np.random.RandomState(seed))
    return np.asarray(Z, dtype=np.float64)


def estimate_share_of_same(metric: Any, Z: Floats, seed: int) -> float:
    """Share of all pairs of rows that are the same, estimated from distances of random pairs."""
    if not hasattr(metric, "threshold_") or len(Z) < 2:
        return 0.5
    links = draw_links(len(Z), np.random.RandomState(seed), _N_PAIRS)
    return estimate_prevalence(read_verdicts(metric), linked_distances(Z, links))


def split_groups(labels: Ints, scores: Floats, blocks: Blocks, least: int) -> Ints:
    """Labels (n,) after blocks that fit worst have left their groups, until there are ``least``."""
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
class GroupingRules:
    """Families to try, the cost of breaking a pair (None: never), and bounds of group numbers."""

    families: Sequence[str]
    strength: float | None = None
    least: int = 1
    most: int | None = None


class Partitions:
    """Groupings of rows that keep pairs, by any family and with any number of groups."""

    def __init__(self, Z: Floats, pairs: Pairs, wanted: GroupingRules, seed: int) -> None:
        with np.errstate(invalid="ignore"):  # shares of no variance, where all rows are equal
            self.axes = PCA(min(_MOST_AXES, *Z.shape), random_state=seed).fit(Z)
        self.Z = self.axes.transform(Z)
        self.pairs, self.wanted, self.seed = pairs, wanted, seed
        self.blocks = tie_blocks(pairs, len(Z), strict=wanted.strength is None)
        self.features = fit_kernel_features(self.Z, seed)
        named = np.zeros(len(Z), dtype=bool)
        named[pairs.points] = True
        weights = np.where(named, 1.0, _UNNAMED if named.any() else 1.0)
        features = self.features.transform(self.Z)
        self.regression = MembershipRegression(features, self.blocks, weights)
        self._too_few = 0
        self._found: dict[tuple[str, int], Ints | None] = {}

    @cached_property
    def tree(self) -> Tree:
        """Tree of average linkage that keeps the pairs."""
        return grow_tree(self.Z, self.blocks)

    def find(self, family: str, k: int) -> Ints | None:
        """Labels (n,) of about k groups by "k-means" or "linkage", or None; computed only once."""
        if (family, k) not in self._found:
            start = FAMILIES[family](self, k)
            self._found[family, k] = None if start is None else self.repair(start, k)
        return self._found[family, k]

    def get(self, family: str, k: int) -> Ints:
        """Labels (n,) that :meth:`find` has found before."""
        found = self._found[family, k]
        assert found is not None
        return found

    def group_as_one(self) -> Ints:
        """Labels (n,) of one group, or of as many as pairs need."""
        return self.repair(np.zeros(len(self.Z), dtype=np.int64), 1)

    def repair(self, start: Ints, k: int, turns: int = _TURNS) -> Ints:
        """Labels (n,) after rows were moved to keep the pairs, of k groups if pairs need no more.

        In up to ``turns`` turns, rows go to the group where the regression scores them highest;
        rows in pairs count most.
        """
        labels, penalty = self._join_smallest(start), None
        for turn in range(turns if len(self.pairs) else 0):
            n_groups = int(labels.max(initial=-1)) + 1
            before = penalty if turn % _CHOSEN_ANEW else None
            found = self.regression.score(labels, n_groups, before)
            penalty = found.penalty
            after = self._keep_pairs(costs_of_scores(found.scores), max(k, n_groups))
            after = number_by_appearance(after)
            if np.array_equal(labels, after):
                break
            labels = after
        if len(np.unique(labels)) < self.wanted.least:
            scores = self.regression.score(labels, int(labels.max(initial=-1)) + 1).scores
            labels = split_groups(labels, scores, self.blocks, self.wanted.least)
        return number_by_appearance(labels)

    def _join_smallest(self, labels: Ints) -> Ints:
        """Labels (n,) of no more groups than allowed: the smallest are added to the nearest.

        Linkage may end with more groups, where cannot-links allow no further joins.
        """
        sizes = np.bincount(labels)
        if self.wanted.most is None or len(sizes) <= self.wanted.most:
            return labels
        largest = np.argsort(-sizes, kind="stable")[: self.wanted.most]
        means = np.array([self.Z[labels == group].mean(axis=0) for group in largest])
        joined = largest[pairwise_distances_argmin(self.Z, means)]
        return number_by_appearance(np.where(np.isin(labels, largest), labels, joined))

    def _keep_pairs(self, costs: Floats, most_groups: int) -> Ints:
        """Labels (n,) of least cost that keep pairs, hard or soft."""
        if self.wanted.strength is not None:
            return assign_softly(costs, self.pairs, self.wanted.strength)
        if self.blocks.apart.nnz <= _FEW_APART and most_groups > self._too_few:
            try:
                return assign_keeping_pairs(costs, self.blocks, most_groups=most_groups, steps=0)
            except TooFewGroupsError:  # or hard to find
                self._too_few = most_groups
        return assign_keeping_pairs(costs, self.blocks, most_groups=self.wanted.most)


# Find about k groups of rows; None where there are none.
FAMILIES: dict[str, Callable[[Partitions, int], Ints | None]] = {
    "k-means": lambda rows, k: group_by_means(rows.Z, k, rows.seed),
    "linkage": lambda rows, k: rows.tree.cut_near(k),
}
