"""Metric pairwise constrained k-means: clusters and a diagonal metric, both guided by pairs."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats, Integers, Mask
from nearkin.errors import InputError
from nearkin.learners.base import WholeState, replace_state
from nearkin.messages import notice
from nearkin.pairs.closure import find_chunklets
from nearkin.pairs.labels import number_classes
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence, check_roles, draw_example_pairs, gather_evidence
from nearkin.rows import sparse as sparse_rows
from nearkin.rows import validation
from nearkin.rows.distances import centre, middle
from nearkin.rows.parallel import REORDER, compiled, rows_per_block, run_in_blocks, split_range
from nearkin.rows.scaling import column_scales, warn_of_units
from nearkin.rows.sparse import is_sparse, to_dense, variances

# Imagined must-links and cannot-links whose rows differ as rows at large do, beside the real ones
# that weights start from. Chosen on the fifteen data sets that settings are tuned on
# (``benchmarks/few_pairs/data.py``), as are the defaults of ``start_metric`` and ``hold``.
IMAGINED_MUST, IMAGINED_CANNOT = 10.0, 20.0
# Least mean spread of a column within clusters, as a share of its variance: no weight exceeds 1000
# inverse variances, however tight clusters are. Chosen by hand.
LEAST_SPREAD = 1e-3
# Passes over the linked rows in one assignment; nearly always a few are enough.
_MOST_PASSES = 50
# Inverses of smaller variances leave the range of float64.
_LEAST_VARIANCE = 1e-280
# Rows nearer to their centre than this share of their spread are there: above rounding of float64.
_ROUNDING = 1e-12
# Rows, or links, that are looked at together, which bounds memory; it changes no result.
_BLOCK = 65536


@compiled(fastmath=REORDER)
def _fill_distances(X: Any, points: Any, weights: Any, squared: Any) -> None:
    """Write squared weighted distances (n, k) between rows and points to ``squared``."""
    for i in range(X.shape[0]):
        for c in range(points.shape[0]):
            total = 0.0
            for t in range(X.shape[1]):
                difference = X[i, t] - points[c, t]
                total += weights[t] * difference * difference
            squared[i, c] = total


def weighted_distances(X: Floats, points: Floats, weights: Floats) -> Floats:
    """Squared weighted distances (n, k) to points; of sparse rows 0 where rounding decides."""
    if is_sparse(X):
        return sparse_rows.weighted_squared_distances(X, points, weights)
    squared = np.empty((len(X), len(points)))
    run_in_blocks(
        lambda rows: _fill_distances(X[rows], points, weights, squared[rows]),
        len(X),
        rows_per_block(8 * (len(points) + X.shape[1])),
    )
    return squared


def assign_nearest(X: Floats, centers: Floats, weights: Floats) -> Integers:
    """Number (n,) of the centre nearest to each row, the lowest of equally near ones."""
    labels = np.empty(X.shape[0], dtype=np.int64)
    for rows in split_range(X.shape[0], _BLOCK):
        labels[rows] = weighted_distances(X[rows], centers, weights).argmin(axis=1)
    return labels


class Seeds:
    """Points to draw start centres from: centroids of must-link components, and rows in none.

    ``component`` numbers, from 0, the components of ``rows``, those with must-links.
    """

    def __init__(self, X: Floats, rows: Integers, component: Integers) -> None:
        sizes = np.bincount(component).astype(np.float64)
        free = np.ones(X.shape[0], dtype=bool)
        free[rows] = False
        self.n_components = len(sizes)
        self.rows = X
        self.points: Any  # component centroids first
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

    def choose_farthest(
        self, n_clusters: int, weights: Floats, rng: np.random.RandomState
    ) -> Floats:
        """Start centres (k, d) by the published rule: large components that are far apart.

        The largest comes first, then always the one with the largest product of size and distance
        to the nearest centre so far. Where components are too few, rows in none are drawn.
        """
        centroids, sizes = self.points[: self.n_components], self.sizes[: self.n_components]
        chosen: list[int] = []
        score = sizes
        closest = np.full(len(sizes), np.inf)
        while len(chosen) < min(n_clusters, len(sizes)):
            chosen.append(int(score.argmax()))
            to_last = weighted_distances(centroids, to_dense(centroids[chosen[-1:]]), weights)[:, 0]
            closest = np.minimum(closest, to_last)
            score = sizes * np.sqrt(closest)
            score[chosen] = -1.0
        seeds, missing = to_dense(centroids[chosen]), n_clusters - len(chosen)
        others = self.points[self.n_components :]
        if others.shape[0] < missing:
            others = self.rows.astype(np.float64)
        return draw_apart(others, np.ones(others.shape[0]), seeds, missing, weights, rng)

    def draw(self, n_clusters: int, weights: Floats, rng: np.random.RandomState) -> Floats:
        """Start centres (k, d) drawn as by k-means++; a component counts by its size."""
        points, sizes = self.points, self.sizes
        if points.shape[0] < n_clusters:
            points, sizes = self.rows.astype(np.float64), np.ones(self.rows.shape[0])
        return draw_apart(points, sizes, to_dense(points[:0]), n_clusters, weights, rng)


def draw_apart(
    points: Any,
    sizes: Floats,
    chosen: Floats,
    count: int,
    weights: Floats,
    rng: np.random.RandomState,
) -> Floats:
    """Add ``count`` points to those chosen, each drawn by size times squared distance to them.

    The best of a few draws each, as in scikit-learn's k-means++, which starts from no given points.
    """
    n_trials = 2 + int(np.log(len(chosen) + count)) if count else 0
    if len(chosen):
        closest = weighted_distances(points, chosen, weights).min(axis=1)
    else:
        closest = np.ones(points.shape[0])  # the first is drawn by size alone
    for step in range(count):
        potential = sizes * closest
        if not potential.any():  # every point coincides with a chosen one
            potential = sizes
        cumulated = np.cumsum(potential)
        drawn = rng.uniform(size=n_trials) * cumulated[-1]
        trials = np.searchsorted(cumulated, drawn, side="right").clip(max=points.shape[0] - 1)
        from_trials = weighted_distances(points, to_dense(points[trials]), weights)
        if step or len(chosen):
            np.minimum(from_trials, closest[:, None], out=from_trials)
        best = int((sizes @ from_trials).argmin())
        closest = from_trials[:, best]
        chosen = np.concatenate([chosen, to_dense(points[trials[[best]]])])
    return chosen


def fill_empty_clusters(
    problem: PairwiseObjective, labels: Integers, centers: Floats, weights: Floats
) -> tuple[Integers, Floats]:
    """Labels and centres after empty clusters got rows that lie far from their own centre.

    Rows that must-links tie move together, and the new centre is their mean: no further pair is
    broken, and the objective falls. A cluster stays empty where no rows differ from their centre.
    """
    counts = np.bincount(labels, minlength=len(centers))
    empty = np.flatnonzero(counts == 0)
    if not len(empty):
        return labels, centers
    labels, centers = labels.copy(), centers.copy()
    gain, unit = _estimate_split_gains(problem, labels, centers, weights)
    varying = ~problem.constant
    least = _ROUNDING * float(weights[varying] @ problem.variance[varying])
    for cluster in empty:
        sizes = np.bincount(unit)[unit]
        alone = sizes == counts[labels]  # nothing would stay behind
        first = int(np.where(alone, 0.0, gain).argmax())
        if alone[first] or gain[first] <= least:
            break
        rows = np.flatnonzero(unit == unit[first])
        counts[labels[first]] -= len(rows)
        counts[cluster] = len(rows)
        labels[rows], gain[rows] = cluster, 0.0
        centers[cluster] = to_dense(problem.X[rows]).astype(np.float64).mean(axis=0)
    return labels, centers


def _estimate_split_gains(
    problem: PairwiseObjective, labels: Integers, centers: Floats, weights: Floats
) -> tuple[Floats, Integers]:
    """How much the objective falls if rows leave for a centre of their own (n,), and units (n,).

    Rows of one unit are tied by must-links within their cluster; the unit's gain is at its first
    row, and 0 at the others. O(p d) memory for the p rows tied by must-links.
    """
    n = problem.X.shape[0]
    gain = problem.own_distances(labels, centers, weights)
    must = problem.ends[~problem.cannot]
    one, other = must[labels[must[:, 0]] == labels[must[:, 1]]].T
    tied = sp.csr_array((np.ones(len(one)), (one, other)), shape=(n, n))
    unit = connected_components(tied, directed=False)[1]
    sizes = np.bincount(unit)
    shared = np.flatnonzero(sizes[unit] > 1)
    if len(shared):
        numbers, first, member = np.unique(unit[shared], return_index=True, return_inverse=True)
        away = np.zeros((len(numbers), centers.shape[1]))
        np.add.at(away, member, to_dense(problem.X[shared]) - centers[labels[shared]])
        gain[shared] = 0.0
        gain[shared[first]] = (away**2 @ weights) / sizes[numbers]
    return gain, unit


@compiled()
def _add_deviations(X: Any, labels: Any, centers: Any, sums: Any, squares: Any) -> None:
    """Add differences of rows to their centres to sums by cluster, squares to those by column."""
    for i in range(X.shape[0]):
        c = labels[i]
        for t in range(X.shape[1]):
            difference = X[i, t] - centers[c, t]
            sums[c, t] += difference
            squares[t] += difference * difference


@compiled()
def _relabel(
    order: Any, starts: Any, neighbors: Any, links: Any, gains: Any, costs: Any, labels: Any
) -> Any:
    """Give each point in turn its cheapest label, in place; returns how many changed.

    ``gains[link]`` is what sharing a label costs, negative for must-links; a label of −1 is none.
    """
    changed = 0
    cost = np.empty(costs.shape[1])
    for i in order:
        for label in range(cost.shape[0]):  # in one go it would take seconds to compile
            cost[label] = costs[i, label]
        for place in range(starts[i], starts[i + 1]):
            label = labels[neighbors[place]]
            if label >= 0:
                cost[label] += gains[links[place]]
        best = np.argmin(cost)
        if labels[i] < 0 or cost[best] < cost[labels[i]]:
            labels[i] = best
            changed += 1
    return changed


class PairwiseObjective:
    r"""The objective for given rows and pairs, and the two half steps that lower it.

    With centres :math:`\mu`, labels :math:`l`, column weights :math:`a` (A is their diagonal
    matrix), the weights :math:`a^0` that they start from and weights :math:`w` of pairs:

    .. math::

        J = \sum_i \|x_i - \mu_{l_i}\|_A^2 - n \log \det A
          + h n \sum_d (a_d / a^0_d - \log a_d)
          + \sum_{\text{must, } l_i \ne l_j} w_{ij} \|x_i - x_j\|_A^2
          + \sum_{\text{cannot, } l_i = l_j} w_{ij} (D_A^2 - \|x_i - x_j\|_A^2) .

    :math:`D_A^2 = \sum_d a_d r_d^2`, with r the ranges of columns, is the squared diagonal of the
    data's bounding box: no penalty is negative, and all are linear in a. The term with h, a LogDet
    divergence, holds weights where they start; without it columns with tight clusters decide alone.

    ``scale`` is what columns are divided by where weights do not start from variances, ``origin``
    what rows were moved by, since numbers were rounded as large as that is.
    """

    def __init__(
        self,
        X: Any,
        pairs: Pairs,
        learn_metric: bool = True,
        scale: Floats | None = None,
        origin: Floats | None = None,
        start: str = "variances",
        hold: float = 0.0,
    ) -> None:
        self.X = X
        self.learn_metric = learn_metric
        self._start = start if learn_metric else "identity"
        self._hold = hold if learn_metric else 0.0
        self._scale = np.ones(X.shape[1]) if scale is None else scale
        low, high = (to_dense(ends).ravel().astype(np.float64) for ends in (X.min(0), X.max(0)))
        largest = np.maximum(np.abs(low), np.abs(high))
        if origin is not None:
            largest += np.abs(origin)
        self.squared_range = (high - low) ** 2
        self.variance = variances(X) if is_sparse(X) else X.var(axis=0, dtype=np.float64)
        # Columns that do not vary, up to rounding, count as one of the others' mean variance.
        is_rounding = high - low <= 8 * np.finfo(X.dtype).eps * largest
        self.constant = is_rounding | (self.variance < _LEAST_VARIANCE)
        varying = self.variance[~self.constant]
        self.variance[self.constant] = varying.mean() if len(varying) else 1.0

        self.ends = np.concatenate([pairs.must_link, pairs.cannot_link])
        self.weight: Floats = np.concatenate([pairs.must_weight, pairs.cannot_weight])
        self.cannot = np.arange(len(self.ends)) >= len(pairs.must_link)
        self.points = pairs.points
        # The links of the i-th point are at starts[i] to starts[i + 1].
        one, two = np.searchsorted(self.points, self.ends).T
        source = np.concatenate([one, two])
        order = np.argsort(source, kind="stable")
        self._starts = np.searchsorted(source[order], np.arange(len(self.points) + 1))
        self._neighbors = np.concatenate([two, one])[order]
        self._links = order % max(len(self.ends), 1)
        self.first_weights = self._find_first_weights()
        # What holding on to these adds to the factor of each weight.
        self._held = self._hold * X.shape[0] / self.first_weights

    def _find_first_weights(self) -> Floats:
        """Column weights (d,) that learning starts from, and holds on to.

        Inverse variances, the best weights for a single cluster; Euclidean distances; or those
        times how much more rows of cannot-links differ in a column than rows of must-links. The
        latter two have a common factor if weights are learned, so that they begin among those
        that :meth:`update` can give. It changes no label.
        """
        if self._start == "variances":
            return 1 / self.variance
        fixed = np.asarray(1 / np.maximum(self._scale, _LEAST_VARIANCE**0.5) ** 2)
        if not self.learn_metric:
            return fixed
        fixed = fixed / np.mean(fixed * self.variance)
        varying = ~self.constant
        if self._start == "pairs" and varying.any():
            said = self._relative_differences(self.cannot, IMAGINED_CANNOT)
            said = said / self._relative_differences(~self.cannot, IMAGINED_MUST)
            said = fixed[varying] * said[varying]
            fixed[varying] = said / np.mean(said * self.variance[varying])
        largest = 1 / (LEAST_SPREAD * self.variance)
        return np.asarray(np.minimum(fixed, largest))

    def _relative_differences(self, which: Mask, imagined: float) -> Floats:
        """Mean squared difference (d,) of linked rows, and ``imagined`` random ones, as a share."""
        links = np.flatnonzero(which)
        if not len(links):
            return np.ones(self.X.shape[1])
        weight = self.weight[links] / self.weight[links].mean()
        apart = np.zeros(self.X.shape[1])
        for block in split_range(len(links), _BLOCK):
            apart += self._squares(links[block]).T @ weight[block]
        return np.asarray((apart / (2 * self.variance) + imagined) / (len(links) + imagined))

    def find_broken(self, labels: Integers) -> Mask:
        """Mark links, must-links first, that labels break."""
        ends = labels[self.ends]
        broken: Mask = (ends[:, 0] == ends[:, 1]) == self.cannot
        return broken

    def _squares(self, links: Integers) -> Any:
        """Squared differences (n_links, d) between the two rows of links."""
        left, right = self.ends[links].T
        difference = self.X[left].astype(np.float64) - self.X[right]
        return difference.multiply(difference) if is_sparse(difference) else difference**2

    def penalties(self, weights: Floats) -> Floats:
        """Cost (n_links,) of breaking each link."""
        apart = np.empty(len(self.ends))
        for block in split_range(len(apart), _BLOCK):
            apart[block] = self._squares(np.arange(block.start, block.stop)) @ weights
        apart[self.cannot] = self.squared_range @ weights - apart[self.cannot]
        return np.asarray(self.weight * apart)

    def spread(self, labels: Integers, centers: Floats) -> Floats:
        """Factors (d,) of the column weights in the objective, which is linear but for the log."""
        _, spread = self.sum_deviations(labels, centers)
        broken = np.flatnonzero(self.find_broken(labels))
        for block in split_range(len(broken), _BLOCK):
            links = broken[block]
            weight = np.where(self.cannot[links], -self.weight[links], self.weight[links])
            spread += self._squares(links).T @ weight
            spread += self.weight[links[self.cannot[links]]].sum() * self.squared_range
        return spread

    def objective(self, labels: Integers, centers: Floats, weights: Floats) -> float:
        """Value of J for labels, centres and column weights; the less the better."""
        linear = float(weights @ (self.spread(labels, centers) + self._held))
        return linear - float((1 + self._hold) * self.X.shape[0] * np.log(weights).sum())

    def assign(
        self, centers: Floats, weights: Floats, labels: Integers | None, rng: np.random.RandomState
    ) -> Integers:
        """Labels (n,) that lower the objective, for fixed centres and weights.

        A row without links takes the nearest centre. Linked rows, which start from ``labels`` if
        they have any, take the cheapest label one after the other in random order, given those of
        the rows they are linked to, until none changes.
        """
        new = assign_nearest(self.X, centers, weights)
        if len(self.points) == 0:
            return new
        costs = weighted_distances(self.X[self.points], centers, weights)
        gains = self.penalties(weights)
        gains[~self.cannot] *= -1
        linked = np.full(len(self.points), -1) if labels is None else labels[self.points]
        for _ in range(_MOST_PASSES):
            order = rng.permutation(len(linked))
            links = self._starts, self._neighbors, self._links
            if not _relabel(order, *links, gains, costs, linked):
                break
        new[self.points] = linked
        return new

    def update(self, labels: Integers, centers: Floats, weights: Floats) -> tuple[Floats, Floats]:
        r"""Centres and column weights that lower the objective, for fixed labels.

        Centres are means; that of an empty cluster, which is in no term of J, moves to the row
        farthest from its own centre. Then
        :math:`a_d = (1 + h) n / (\max(s_d, 10^{-3} n v_d) + h n / a^0_d)` with s the
        :meth:`spread` and v the variance: the best weight that is never above 1000 inverse
        variances. A constant column keeps its weight.
        """
        sums, _ = self.sum_deviations(labels, centers)
        counts = np.bincount(labels, minlength=len(centers))
        centers = centers + sums / np.maximum(counts, 1)[:, None]
        empty = np.flatnonzero(counts == 0)
        if len(empty):
            own = self.own_distances(labels, centers, weights)
            centers[empty] = to_dense(self.X[np.argsort(-own, kind="stable")[: len(empty)]])
        if self.learn_metric:
            n = self.X.shape[0]
            spread = np.maximum(self.spread(labels, centers), LEAST_SPREAD * n * self.variance)
            best = (1 + self._hold) * n / (spread + self._held)
            weights = np.where(self.constant, weights, best)
        return centers, weights

    def sum_deviations(self, labels: Integers, centers: Floats) -> tuple[Floats, Floats]:
        """Sums (k, d) of differences to the centres by cluster, and (d,) of their squares."""
        if is_sparse(self.X):  # which are never centred
            n = self.X.shape[0]
            members = sp.csr_array((np.ones(n), (labels, np.arange(n))), (len(centers), n))
            X, counts = self.X.astype(np.float64), np.bincount(labels, minlength=len(centers))
            totals = (members @ X).toarray()
            around = (counts[:, None] * centers - 2 * totals) * centers
            squared = np.asarray(X.multiply(X).sum(axis=0)).ravel() + around.sum(axis=0)
            return totals - counts[:, None] * centers, np.maximum(squared, 0.0)
        n_blocks = -(-len(self.X) // _BLOCK)
        sums = np.zeros((n_blocks, *centers.shape))
        squares = np.zeros((n_blocks, centers.shape[1]))

        def work(rows: slice) -> None:
            block = rows.start // _BLOCK
            _add_deviations(self.X[rows], labels[rows], centers, sums[block], squares[block])

        run_in_blocks(work, len(self.X), _BLOCK)
        return sums.sum(axis=0), squares.sum(axis=0)

    def own_distances(self, labels: Integers, centers: Floats, weights: Floats) -> Floats:
        """Squared distance (n,) of each row to its own centre."""
        n = self.X.shape[0]
        own = np.empty(n)
        for rows in split_range(n, _BLOCK):
            if is_sparse(self.X):
                squared = weighted_distances(self.X[rows], centers, weights)
                own[rows] = squared[np.arange(len(squared)), labels[rows]]
            else:
                own[rows] = (self.X[rows] - centers[labels[rows]]) ** 2 @ weights
        return own


def lower_objective(
    problem: PairwiseObjective,
    centers: Floats,
    weights: Floats,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
) -> tuple[Integers, Floats, Floats, Floats]:
    """Labels, centres, weights, and the objective after every half step, assigning and updating."""
    n = problem.X.shape[0]
    varying = ~problem.constant
    enough = tol * n * float(weights[varying] @ problem.variance[varying])
    labels = problem.assign(centers, weights, None, rng)
    labels, centers = fill_empty_clusters(problem, labels, centers, weights)
    objective = [problem.objective(labels, centers, weights)]
    for _ in range(max_iter):
        centers, weights = problem.update(labels, centers, weights)
        objective.append(problem.objective(labels, centers, weights))
        previous, labels = labels, problem.assign(centers, weights, labels, rng)
        labels, centers = fill_empty_clusters(problem, labels, centers, weights)
        objective.append(problem.objective(labels, centers, weights))
        if np.array_equal(labels, previous) or objective[-3] - objective[-1] <= enough:
            break
    return labels, centers, weights, np.array(objective)


class MPCKMeans(
    WholeState, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    r"""Metric pairwise constrained k-means.

    K-means that is told pairs of rows to keep together (must-links) or apart (cannot-links), and
    that learns a weight for each column beside the clusters. Pairs have a price: they may
    contradict each other, and the clustering may break some.

    Parameters
    ----------
    n_clusters : int, default=8
    n_init : int, default=10
        Runs, of which the one with the least objective is kept. The first starts from the centroids
        of the largest must-link components, as published; later ones draw component centroids and
        rows as k-means++ does.
    max_iter : int, default=100
        Iterations of a run at most.
    tol : float, default=1e-6
        A run ends when an iteration lowers the objective by no more than this share of the sum
        of squared distances to the mean, or changes no label.
    learn_metric : bool, default=True
        Learn the column weights. Otherwise all are 1: PCK-means.
    start_metric : {"pairs", "identity", "variances"}, default="pairs"
        What learned weights start from: equal weights, times how much more rows of cannot-links
        differ in a column than rows of must-links do; equal weights, as published; or inverse
        variances, so that the units of the columns do not matter.
    hold : float, default=10.0
        How firmly weights hold on to those that they start from: as if there were that many times
        more rows, which would not change them. 0 is the published method.
    scale : bool, default=False
        Divide columns by their spreads, so that all have equal weight, unless weights start from
        inverse variances. Without it there is a :class:`ScaleWarning` where units differ by more
        than 100.
    random_state : int, RandomState or None, default=None
        Of seeds, the order of linked rows and, where labels are given, example pairs.

    Attributes
    ----------
    labels_ : int ndarray of shape (n,)
        Cluster of each training row. It may differ from ``predict`` for rows with pairs. No cluster
        is empty, unless rows that differ are too few: there is a warning then.
    cluster_centers_ : ndarray of shape (n_clusters, d)
    metric_weights_ : ndarray of shape (d,)
        Weight of each column's squared difference, above 0.
    objective_ : ndarray of shape (2 * n_iter_ + 1,)
        After the first assignment, and after the update and the assignment of each iteration of
        the run that was kept. It never rises.
    inertia_ : float
        Sum of squared distances of rows to their centres, in the learned metric.
    n_iter_ : int
    n_violated_ : int
        How many of the pairs ``labels_`` breaks; pairs that stand for labels are counted too.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X has column names.

    References
    ----------
    M. Bilenko, S. Basu, R. J. Mooney. Integrating constraints and metric learning in
    semi-supervised clustering. ICML 2004.

    Notes
    -----
    The objective is that of ``PairwiseObjective`` in :mod:`nearkin.clustering.mpck_means`. It
    differs from the paper by one metric for all clusters; the diagonal of the data's bounding box
    in the place of the farthest pair of rows; restarts; what weights start from and hold on to
    (``start_metric="identity", hold=0`` leaves that out); and a floor: no weight exceeds 1000
    inverse variances. The defaults were chosen on fifteen data sets: as published, columns in which
    clusters happen to be tight gain weight until they decide alone, and clusters are worse than
    those of k-means without any pairs.

    A cluster that loses all rows takes those farthest from their own centre, with all that
    must-links tie them to there. A constant column keeps the weight that it starts from.

    O(n k d) time an iteration for n rows, k clusters and d columns, O(n (d + k)) memory. Sparse
    rows stay sparse; centres are not, nor are the centroids of must-link components.

    Examples
    --------
    >>> from nearkin import MPCKMeans, Pairs
    >>> from nearkin.datasets import make_three_normal
    >>> from nearkin.scores import balanced_rand
    >>> X, y = make_three_normal(random_state=0)
    >>> pairs = Pairs.from_labels(y, 60, random_state=0)
    >>> clusters = MPCKMeans(3, hold=0, random_state=0).fit(X, pairs=pairs)
    >>> balanced_rand(y, clusters.labels_) > 0.85 and balanced_rand(y, clusters.predict(X)) > 0.85
    True
    >>> clusters.fit_predict(X, pairs=pairs).shape
    (600,)
    >>> clusters.transform(X[:2]).shape
    (2, 3)
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"pairs": True}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-6,
        learn_metric: bool = True,
        start_metric: str = "pairs",
        hold: float = 10.0,
        scale: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.learn_metric = learn_metric
        self.start_metric = start_metric
        self.hold = hold
        self.scale = scale
        self.random_state = random_state

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "learn_metric": ["boolean"],
        "start_metric": [StrOptions({"pairs", "identity", "variances"})],
        "hold": [Interval(Real, 0, None, closed="left")],
        "scale": ["boolean"],
        "random_state": ["random_state"],
    }

    @replace_state
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Find clusters and column weights.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,), optional
            Labels; negative means unknown. They become pairs.
        pairs : Pairs, optional
            Pairs of rows of X.

        Returns
        -------
        self
        """
        X = validation.validate_rows(self, X, reset=True, accept_sparse="csr", order="C")
        n = X.shape[0]
        if self.n_clusters > n:
            raise InputError(
                f"n_clusters={self.n_clusters} clusters cannot be made of n_samples={n} "
                f"rows: use n_clusters={n} or less, or give more rows."
            )
        unit_free = self.learn_metric and self.start_metric == "variances"
        if not (unit_free or self.scale):
            other = "start_metric='variances'"
            if not self.learn_metric:
                other += " with learn_metric=True"
            remedy = f"Use scale=True, which divides columns by their spread, or {other}."
            warn_of_units(self, X, remedy)
        rng = check_random_state(self.random_state)
        evidence = _gather_evidence_or_none(n, y, pairs)
        links = draw_example_pairs(evidence, rng)
        rows, component = find_chunklets(evidence.pairs.must_link, evidence.classes)
        scale = column_scales(X) if self.scale else None
        origin = middle(X)
        X = centre(X, origin)
        problem = PairwiseObjective(
            X, links, self.learn_metric, scale, origin, self.start_metric, float(self.hold)
        )
        seeds = Seeds(X, rows, component)
        weights, runs = problem.first_weights, []
        for run in range(self.n_init):
            choose = seeds.choose_farthest if run == 0 else seeds.draw
            centers = choose(self.n_clusters, weights, rng)
            runs.append(lower_objective(problem, centers, weights, self.max_iter, self.tol, rng))
        labels, centers, weights, objective = min(runs, key=lambda result: result[3][-1])
        n_found = len(np.unique(labels))
        if n_found < self.n_clusters:
            notice(
                f"Only {n_found} of n_clusters={self.n_clusters} clusters have rows: no others "
                "differ from their centre, or must-links tie them. Use fewer clusters.",
                ConvergenceWarning,
            )
        self.labels_: Integers = labels
        self.cluster_centers_ = centers + origin
        self._middle = origin
        self.metric_weights_ = weights
        self.objective_ = objective
        self.inertia_ = float(weights @ problem.sum_deviations(labels, centers)[1])
        self.n_iter_ = len(objective) // 2
        self.n_violated_ = int(problem.find_broken(labels).sum())
        return self

    def fit_predict(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Integers:
        """Find clusters and give the label of each training row.

        Parameters
        ----------
        X, y, pairs
            As for :meth:`fit`.

        Returns
        -------
        int ndarray of shape (n,)
            ``labels_``.
        """
        self.fit(X, y, pairs=pairs)
        return self.labels_

    def predict(self, X: Any) -> Integers:
        """Cluster of each row: that of the nearest centre in the learned metric.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        int ndarray of shape (n,)
        """
        return assign_nearest(*self._centre(X), self.metric_weights_)

    def transform(self, X: Any) -> Floats:
        """Distances of rows to the centres in the learned metric.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_clusters)
        """
        X, centers = self._centre(X)
        squared = weighted_distances(X, centers, self.metric_weights_)
        distances: Floats = np.sqrt(squared, out=squared).astype(X.dtype, copy=False)
        return distances

    def _centre(self, X: Any) -> tuple[Floats, Floats]:
        """Check rows; returns these and the centres, less the middle of training rows."""
        check_is_fitted(self)
        X = validation.validate_rows(self, X, accept_sparse="csr", order="C", reset=False)
        return centre(X, self._middle), self.cluster_centers_ - self._middle

    @property
    def _n_features_out(self) -> int:
        """Number of columns of :meth:`transform`."""
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _gather_evidence_or_none(n_rows: int, y: Any, pairs: Pairs | None) -> Evidence:
    """Check pairs and labels, and gather them; empty evidence if there are none."""
    check_roles(y, pairs)
    classes = None if y is None else number_classes(y)
    if pairs or (classes is not None and (classes >= 0).sum() > 1):
        return gather_evidence(n_rows, y, pairs)
    if pairs is not None:
        pairs.check_rows(n_rows)
    if classes is not None and len(classes) != n_rows:
        raise InputError(f"y has {len(classes)} labels, but X has {n_rows} rows.")
    return Evidence(Pairs(), None)
