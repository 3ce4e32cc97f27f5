r"""The objective of metric pairwise constrained k-means, and what lowers it.

With centres :math:`\mu`, labels :math:`l`, a diagonal metric :math:`A` of weights :math:`a` and
weights :math:`w` of the pairs, it minimises

.. math::

    J = \sum_i \|x_i - \mu_{l_i}\|_A^2 - n \log \det A
      + \sum_{\text{must, } l_i \ne l_j} w_{ij} \|x_i - x_j\|_A^2
      + \sum_{\text{cannot, } l_i = l_j} w_{ij} (D_A^2 - \|x_i - x_j\|_A^2) .

A broken must-link costs more the farther apart its ends lie, a broken cannot-link the closer they
are. :math:`D_A^2 = \sum_d a_d r_d^2` with :math:`r_d` the range of column d is the squared
diagonal of the box around the data: an upper bound of every squared distance, so that no penalty
is negative, and linear in a, so that the best a stays a closed form.

The first two terms alone make every column in which clusters are tight count more, whatever pairs
say: a column of two values soon decides everything. So weights may be held at those they start
from, :math:`a^0`, by a further term, which is a LogDet divergence up to a constant:

.. math::

    h n \sum_d (a_d / a^0_d - \log a_d) .

With h = 0 the objective is the published one; with a large h weights stay as they are.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nearkin._types import Floats, Integers
from nearkin.pairs.pairs import Pairs
from nearkin.rows.parallel import block_rows, blocks, compiled, for_each_block
from nearkin.rows.sparse import dense, is_sparse, variances
from nearkin.tasks.mpck_empty import refilled
from nearkin.tasks.mpck_seeding import fill_distances, squared_distances

# Imagined must-links and cannot-links whose rows differ as rows at large do, beside the real ones
# that weights start from.
IMAGINED_MUST, IMAGINED_CANNOT = 10.0, 20.0
# Least mean spread of a column within clusters, as a share of its variance.
LEAST_SPREAD = 1e-3
# Passes over the linked rows in one assignment; nearly always a few are enough.
_MOST_PASSES = 50
# Inverses of smaller variances leave the range of float64.
_LEAST_VARIANCE = 1e-280
_BLOCK = 65536


@compiled()
def _add_deviations(X: Any, labels: Any, centers: Any, sums: Any, squares: Any) -> None:
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
    """Give each point in turn its cheapest label; the number of points that changed theirs.

    ``gains[link]`` is what sharing a label costs: negative for must-links. Labels of −1 are not
    given yet and bind nobody.
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


def nearest(X: Floats, centers: Floats, weights: Floats) -> Integers:
    """Number of the nearest centre of each row, the lowest of equally near ones."""
    labels = np.empty(X.shape[0], dtype=np.int64)

    def work(rows: slice) -> None:
        if is_sparse(X):
            squared = squared_distances(X[rows], centers, weights)
        else:
            squared = np.empty((rows.stop - rows.start, len(centers)))
            fill_distances(X[rows], centers, weights, squared)
        np.argmin(squared, axis=1, out=labels[rows])

    for_each_block(work, X.shape[0], block_rows(8 * len(centers)))
    return labels


class Problem:
    """The objective for given rows and pairs, and the two half steps that lower it.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    pairs : Pairs
        Perhaps empty.
    learn_metric : bool
        Whether :meth:`update` changes the column weights.
    scale : ndarray of shape (d,), optional
        What columns are divided by where their weights are fixed, or start from those.
    origin : ndarray of shape (d,), optional
        What rows were moved by: numbers were as large as this is before, and rounded as such.
    start : {"variances", "identity", "pairs"}, default="variances"
        What weights that are learned start from.
    hold : float, default=0.0
        How firmly they hold on to that.

    Attributes
    ----------
    squared_range : ndarray of shape (d,)
        Of each column.
    variance : ndarray of shape (d,)
        Of each column; for a constant column the mean of the others, 1 if there are none.
    constant : bool ndarray of shape (d,)
        Columns that do not vary, up to rounding.
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
        low, high = (dense(ends).ravel().astype(np.float64) for ends in (X.min(0), X.max(0)))
        largest = np.maximum(np.abs(low), np.abs(high))
        if origin is not None:
            largest += np.abs(origin)
        self.squared_range = (high - low) ** 2
        self.variance = variances(X) if is_sparse(X) else X.var(axis=0, dtype=np.float64)
        self.constant = (high - low <= 8 * np.finfo(X.dtype).eps * largest) | (
            self.variance < _LEAST_VARIANCE
        )
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
        self._first = self._first_weights()

    def first_weights(self) -> Floats:
        """What weights start from, and are held at.

        Inverse variances, the best weights for a single cluster; Euclidean distances; or those
        times how much more rows of cannot-links differ in a column than rows of must-links. The
        latter two have a common factor if weights are learned, so that they begin among those
        that :meth:`update` can give. It changes no label.
        """
        return self._first.copy()

    def _first_weights(self) -> Floats:
        if self._start == "variances":
            return 1 / self.variance
        fixed = np.asarray(1 / np.maximum(self._scale, _LEAST_VARIANCE**0.5) ** 2)
        if not self.learn_metric:
            return fixed
        fixed = fixed / np.mean(fixed * self.variance)
        varying = ~self.constant
        if self._start == "pairs" and varying.any():
            said = self._shares(self.cannot, IMAGINED_CANNOT)
            said = said / self._shares(~self.cannot, IMAGINED_MUST)
            said = fixed[varying] * said[varying]
            fixed[varying] = said / np.mean(said * self.variance[varying])
        largest = 1 / (LEAST_SPREAD * self.variance)
        return np.asarray(np.minimum(fixed, largest))

    def _shares(self, which: NDArray[np.bool_], imagined: float) -> Floats:
        """Mean squared difference of linked rows in each column, beside that of rows at large."""
        links = np.flatnonzero(which)
        if not len(links):
            return np.ones(self.X.shape[1])
        weight = self.weight[links] / self.weight[links].mean()
        apart = np.zeros(self.X.shape[1])
        for block in blocks(len(links), _BLOCK):
            apart += self._squares(links[block]).T @ weight[block]
        return np.asarray((apart / (2 * self.variance) + imagined) / (len(links) + imagined))

    def violated(self, labels: Integers) -> NDArray[np.bool_]:
        """Which links the labels break, must-links first."""
        ends = labels[self.ends]
        broken: NDArray[np.bool_] = (ends[:, 0] == ends[:, 1]) == self.cannot
        return broken

    def _squares(self, links: Integers) -> Any:
        """Squared differences between the ends of links, along each column."""
        left, right = self.ends[links].T
        difference = self.X[left].astype(np.float64) - self.X[right]
        return difference.multiply(difference) if is_sparse(difference) else difference**2

    def penalties(self, weights: Floats) -> Floats:
        """What breaking each link costs."""
        apart = np.empty(len(self.ends))
        for block in blocks(len(apart), _BLOCK):
            apart[block] = self._squares(np.arange(block.start, block.stop)) @ weights
        apart[self.cannot] = self.squared_range @ weights - apart[self.cannot]
        return np.asarray(self.weight * apart)

    def spread(self, labels: Integers, centers: Floats) -> Floats:
        """The factor of each column's weight in the objective, which is linear but for the log.

        Returns
        -------
        ndarray of shape (d,)
        """
        _, spread = self._deviations(labels, centers)
        broken = np.flatnonzero(self.violated(labels))
        for block in blocks(len(broken), _BLOCK):
            links = broken[block]
            weight = np.where(self.cannot[links], -self.weight[links], self.weight[links])
            spread += self._squares(links).T @ weight
            spread += self.weight[links[self.cannot[links]]].sum() * self.squared_range
        return spread

    def objective(self, labels: Integers, centers: Floats, weights: Floats) -> float:
        """J, the less the better."""
        linear = float(weights @ (self.spread(labels, centers) + self._held))
        return linear - float((1 + self._hold) * self.X.shape[0] * np.log(weights).sum())

    @property
    def _held(self) -> Floats:
        """What holding on to the first weights adds to the factor of each weight."""
        return np.asarray(self._hold * self.X.shape[0] / self._first)

    def inertia(self, labels: Integers, centers: Floats, weights: Floats) -> float:
        """The first term of J: squared distances to the centres."""
        return float(weights @ self._deviations(labels, centers)[1])

    def assign(
        self, centers: Floats, weights: Floats, labels: Integers | None, rng: np.random.RandomState
    ) -> Integers:
        """Labels that lower the objective, for fixed centres and weights.

        A row without links takes the nearest centre. Linked rows take the cheapest label one
        after the other in random order, given the labels of the rows they are linked to, again
        and again until none changes.

        Parameters
        ----------
        centers, weights : ndarrays
        labels : int ndarray of shape (n,) or None
            Where linked rows start; None if they have no labels yet.
        rng : RandomState

        Returns
        -------
        int ndarray of shape (n,)
        """
        new = nearest(self.X, centers, weights)
        if len(self.points) == 0:
            return new
        costs = squared_distances(self.X[self.points], centers, weights)
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
        r"""Centres and weights that lower the objective, for fixed labels.

        Centres are means. The centre of an empty cluster is in no term of J, and moves to the row
        that is farthest from its own centre. Then
        :math:`a_d = (1 + h) n / (\max(s_d, 10^{-3} n v_d) + h n / a^0_d)` with s the
        :meth:`spread` and v the variance: the best weight that is never above 1000 inverse
        variances. A constant column keeps its weight.
        """
        sums, _ = self._deviations(labels, centers)
        counts = np.bincount(labels, minlength=len(centers))
        centers = centers + sums / np.maximum(counts, 1)[:, None]
        empty = np.flatnonzero(counts == 0)
        if len(empty):
            own = self.own_distances(labels, centers, weights)
            centers[empty] = dense(self.X[np.argsort(-own, kind="stable")[: len(empty)]])
        if self.learn_metric:
            n = self.X.shape[0]
            spread = np.maximum(self.spread(labels, centers), LEAST_SPREAD * n * self.variance)
            best = (1 + self._hold) * n / (spread + self._held)
            weights = np.where(self.constant, weights, best)
        return centers, weights

    def _deviations(self, labels: Integers, centers: Floats) -> tuple[Floats, Floats]:
        """Differences to the centres, summed by cluster; and their squares, by column."""
        if is_sparse(self.X):
            return self._sparse_deviations(labels, centers)
        n_blocks = -(-len(self.X) // _BLOCK)
        sums = np.zeros((n_blocks, *centers.shape))
        squares = np.zeros((n_blocks, centers.shape[1]))

        def work(rows: slice) -> None:
            block = rows.start // _BLOCK
            _add_deviations(self.X[rows], labels[rows], centers, sums[block], squares[block])

        for_each_block(work, len(self.X), _BLOCK)
        return sums.sum(axis=0), squares.sum(axis=0)

    def _sparse_deviations(self, labels: Integers, centers: Floats) -> tuple[Floats, Floats]:
        """The same by sums over sparse rows, which are never centred."""
        n = self.X.shape[0]
        members = sp.csr_array((np.ones(n), (labels, np.arange(n))), (len(centers), n))
        X, counts = self.X.astype(np.float64), np.bincount(labels, minlength=len(centers))
        sums = (members @ X).toarray()
        squares = np.asarray(X.multiply(X).sum(axis=0)).ravel()
        around = (counts[:, None] * centers - 2 * sums) * centers
        return sums - counts[:, None] * centers, np.maximum(squares + around.sum(axis=0), 0.0)

    def own_distances(self, labels: Integers, centers: Floats, weights: Floats) -> Floats:
        """Squared distance of each row to its own centre."""
        n = self.X.shape[0]
        own = np.empty(n)
        for rows in blocks(n, _BLOCK):
            if is_sparse(self.X):
                squared = squared_distances(self.X[rows], centers, weights)
                own[rows] = squared[np.arange(len(squared)), labels[rows]]
            else:
                own[rows] = (self.X[rows] - centers[labels[rows]]) ** 2 @ weights
        return own


def descend(
    problem: Problem,
    centers: Floats,
    weights: Floats,
    max_iter: int,
    tol: float,
    rng: np.random.RandomState,
) -> tuple[Integers, Floats, Floats, Floats]:
    """Lower the objective from given centres and weights as far as it goes.

    Every assignment is followed by :func:`refilled`, so that no cluster is left empty.

    Returns
    -------
    labels, centers, weights, objective
        The objective after every half step.
    """
    n = problem.X.shape[0]
    varying = ~problem.constant
    enough = tol * n * float(weights[varying] @ problem.variance[varying])
    labels = problem.assign(centers, weights, None, rng)
    labels, centers = refilled(problem, labels, centers, weights)
    objective = [problem.objective(labels, centers, weights)]
    for _ in range(max_iter):
        centers, weights = problem.update(labels, centers, weights)
        objective.append(problem.objective(labels, centers, weights))
        previous, labels = labels, problem.assign(centers, weights, labels, rng)
        labels, centers = refilled(problem, labels, centers, weights)
        objective.append(problem.objective(labels, centers, weights))
        if np.array_equal(labels, previous) or objective[-3] - objective[-1] <= enough:
            break
    return labels, centers, weights, np.array(objective)
