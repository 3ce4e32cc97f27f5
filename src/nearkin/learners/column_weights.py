"""Weights of columns by which squared differences tell pairs apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator

from nearkin._types import Doubles, Floats, Ints, Mask, Rng
from nearkin.errors import InputError
from nearkin.learners.base import stored_learner
from nearkin.learners.fit_steps import Coordinates, Learned, Taught, to_host_float64
from nearkin.learners.parameters import Listed, Positive, UsualParameters, with_parameters
from nearkin.learners.teachable import KEPT, LinearInSpaceMixin, LinearSpace, map_by_metric
from nearkin.pairs.supervision import Evidence, draw_example_pairs
from nearkin.storage.schema import dict_of, floats, maybe, real

# Weight of a column before pairs: the fall of log-odds by mean squared distance. Chosen by hand.
USUAL = 2.0
# A column that tells nothing keeps this share of its usual weight: distances stay distances.
_LEAST_WEIGHT = 1e-6
# Pairs of either kind that labels are made into, at most: it bounds time.
_MOST_EXAMPLES = 10_000


def weights_objective(
    weights: Floats, level: float, squared: Floats, same: Mask, counts: Floats, pull: float
) -> float:
    r"""Negative log-likelihood of the pairs, and a penalty on weights that are not equal.

    .. math::

        \min_{w \ge 0, \, b} \; \sum_p c_p \log \bigl(1 + e^{-s_p (b - \sum_j w_j q_{pj})}\bigr)
        + \lambda \sum_j (w_j - 2)^2

    with :math:`s_p` = ±1 for pairs that are the same and that are not, :math:`q_{pj}` the squared
    difference of pair p in column j (``squared``, of shape (k, r)), of which random pairs have a
    sum of 1 in the mean, and :math:`c_p` how much a pair counts: logistic regression of pairs,
    whose weights make a metric. ``level`` is b, ``pull`` λ.
    """
    margin = np.where(same, 1.0, -1.0) * (level - squared @ weights)
    unlikely = float(counts @ np.logaddexp(0, -margin))
    return unlikely + pull * float(((weights - USUAL) ** 2).sum())


def weigh_columns(squared: Floats, same: Mask, counts: Floats, pull: float) -> tuple[Floats, float]:
    """Minimise :func:`weights_objective`, which is convex: return weights (r,) and level b.

    By L-BFGS-B: O(k r) time for a step, of which some dozens are taken.
    """
    sign = np.where(same, 1.0, -1.0)
    r = squared.shape[1]

    def value_and_slope(found: Floats) -> tuple[float, Floats]:
        """Objective and its gradient (r + 1,), level first."""
        level, weights = float(found[0]), found[1:]
        margin = sign * (level - squared @ weights)
        by_margin = -counts * sign * expit(-margin)
        slope = np.empty(r + 1)
        slope[0] = by_margin.sum()
        slope[1:] = 2 * pull * (weights - USUAL) - by_margin @ squared
        return weights_objective(weights, level, squared, same, counts, pull), slope

    start = np.full(r + 1, USUAL)
    bounds = [(None, None), *[(0.0, None)] * r]
    found = minimize(value_and_slope, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return np.asarray(found[1:]), float(found[0])


@stored_learner(weights_=floats("_"), group_weights_=maybe(dict_of(real)), **KEPT)
@with_parameters
class ColumnWeights(LinearInSpaceMixin, UsualParameters, BaseEstimator):
    """Learn a weight for each column, which shows how much the column matters.

    Few pairs can tell a handful of columns that matter from many that do not, where other linear
    metrics have too many numbers to learn. It is logistic regression of squared differences with
    weights that are not negative, held near equal ones where pairs say little.

    Columns that belong together, such as those that encode one column of words, can share a weight:
    twenty pairs can say that the phone number matters and the title does not.

    Parameters
    ----------
    groups : sequence of d names or numbers, optional
        One for each column of X, equal for those that share a weight. By default columns of a data
        frame with words are such groups, and each column of other rows has a weight of its own.
    pull : float, default=0.02
        Strength of the pull towards equal weights: λ of
        :func:`nearkin.learners.column_weights.weights_objective`.
    n_components, scale
        As in :class:`ITML`.
    random_state : int, RandomState or None, default=None
        Draws pairs of labelled rows, and random pairs for ``threshold_``.

    Attributes
    ----------
    weights_ : ndarray of shape (d,)
        Of squared differences in each column; 1 is as much as in the Euclidean distance. Of rows
        that are seen along axes, those of the axes, unless there are groups.
    group_weights_ : dict
        The weight of each group by its name, if there are groups.
    components_, mean_
        As in :class:`ITML`.
    map_, n_components_, column_scale_, learned_from_, n_features_in_, feature_names_in_
        As in :class:`Euclidean`; other attributes are of the divided columns.

    Notes
    -----
    Must-links and cannot-links count the same in sum. Where one kind is missing, pairs are compared
    with what random pairs are in the mean. O(n d² + k d) time for n rows and k pairs. Sparse rows
    of more than 300 columns, and others of more than 1000, are seen along leading axes
    (:mod:`nearkin.rows.sparse`), which are weighed in place of columns.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin import ColumnWeights, Pairs
    >>> X = np.random.default_rng(0).normal(size=(200, 5))
    >>> pairs = Pairs.from_labels(X[:, 0] > 0, 60, random_state=0)
    >>> metric = ColumnWeights(random_state=0).fit(X, pairs=pairs)
    >>> int(metric.weights_.argmax())
    0
    """

    groups: Listed | None = None
    pull: Positive = 0.02

    kernel: ClassVar[None] = None  # columns alone have weights

    def _prepare_space(self, space: LinearSpace, evidence: Evidence, X: Any, rng: Rng) -> Doubles:
        """Mean squared difference of random pairs in each column, of shape (r,)."""
        return np.asarray(2 * np.diag(space.covariance), dtype=np.float64)

    def _learn(self, taught: Taught, coordinates: Coordinates, rng: Rng) -> Learned:
        """Weigh columns, or groups of them, by logistic regression of the pairs."""
        usual, space = taught.prepared, taught.space
        together = _Groups(usual)
        groups = find_column_groups(self, len(space.mean))
        if groups is not None:
            names, at = np.unique(groups, return_inverse=True)
            covariance = space.covariance
            if space.axes is not None:
                covariance = space.axes.T @ covariance @ space.axes
            of_groups = np.bincount(at, weights=2 * np.diag(covariance)).astype(np.float64)
            together = _Groups(of_groups, at, names.tolist(), space.axes)
        if not usual.any():
            equal = together.attributes(np.ones(len(together.usual)))
            return map_by_metric(self, taught, np.eye(len(usual)), equal)
        usual = together.usual
        links = draw_example_pairs(taught.evidence, rng, most=_MOST_EXAMPLES)
        F, links = to_host_float64(coordinates(links.points)), links.restrict(links.points)
        squared, counts = [], []
        for ends, weight in (
            (links.must_link, links.must_weight),
            (links.cannot_link, links.cannot_weight),
        ):
            given = (
                together.sum_squares(F[ends[:, 0]] - F[ends[:, 1]]) if len(ends) else usual[None]
            )
            weight = weight if len(ends) else np.ones(1)
            squared.append(given / usual.sum())
            counts.append(weight / weight.sum())
        total = max(float(links.must_weight.sum() + links.cannot_weight.sum()), 1.0)
        found, _ = weigh_columns(
            np.concatenate(squared),
            np.repeat([True, False], [len(squared[0]), len(squared[1])]),
            np.concatenate(counts) * total / 2,
            float(self.pull),
        )
        weights = np.maximum(found / USUAL, _LEAST_WEIGHT)
        metric = together.metric(weights)
        return map_by_metric(self, taught, metric, together.attributes(weights))


def find_column_groups(learner: Any, n_columns: int) -> NDArray[Any] | None:
    """Return the group of each column as text, by ``groups`` or ``table_``; None without these."""
    groups = learner.groups
    if groups is None and hasattr(learner, "table_"):
        groups = getattr(learner.table_, "groups_", None)
    if groups is None:
        return None
    found = np.array([str(one) for one in groups])
    if found.shape != (n_columns,):
        raise InputError(
            f"groups has {len(found)} entries, but X has {n_columns} columns: give one for each."
        )
    return found


@dataclass(frozen=True)
class _Groups:
    """Columns of a group share a weight, also where rows are seen along axes.

    Without ``at``, the number of each column's group, each coordinate has a weight of its own.
    """

    # Squared differences of random pairs in each group, in the mean.
    usual: Doubles
    at: Ints | None = None
    names: Sequence[str] = ()
    axes: Floats | None = None

    def sum_squares(self, differences: Floats) -> Floats:
        """Squared differences of pairs summed within each group, of shape (k, groups)."""
        if self.at is None:
            return differences**2
        in_columns = differences if self.axes is None else differences @ self.axes
        belongs = (self.at[:, None] == np.arange(len(self.usual))).astype(np.float64)
        return np.asarray(in_columns**2 @ belongs)

    def metric(self, weights: Floats) -> Floats:
        """Matrix, of shape (r, r), of the metric in which the groups have these weights."""
        of_columns = weights if self.at is None else weights[self.at]
        if self.axes is None:
            return np.diag(of_columns)
        return np.asarray((self.axes * of_columns) @ self.axes.T)

    def attributes(self, weights: Floats) -> dict[str, Any]:
        """Return ``weights_`` and, with groups, ``group_weights_``, as fitted attributes."""
        if self.at is None:
            return {"weights_": weights}
        of_groups = dict(zip(self.names, map(float, weights), strict=True))
        return {"weights_": weights[self.at], "group_weights_": of_groups}
