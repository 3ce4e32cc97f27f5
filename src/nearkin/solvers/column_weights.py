"""Weights of columns by which squared differences tell pairs apart."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from nearkin._types import Floats, Mask

# Where nothing is known, the odds of being the same fall by so much with the mean squared distance.
USUAL = 2.0


def objective(
    weights: Floats, level: float, squared: Floats, same: Mask, counts: Floats, pull: float
) -> float:
    r"""How unlikely answers are, and how far weights are from equal ones.

    .. math::

        \min_{w \ge 0, \, b} \; \sum_p c_p \log \bigl(1 + e^{-s_p (b - \sum_j w_j q_{pj})}\bigr)
        + \lambda \sum_j (w_j - 2)^2

    with :math:`s_p` = ±1 for pairs that are the same and that are not, :math:`q_{pj}` the squared
    difference of pair p in column j, of which random pairs have a sum of 1 in the mean, and
    :math:`c_p` how much a pair counts: logistic regression of pairs, whose weights make a metric.

    Parameters
    ----------
    weights : ndarray of shape (r,)
        w.
    level : float
        b.
    squared : ndarray of shape (k, r)
        q.
    same : bool ndarray of shape (k,)
    counts : ndarray of shape (k,)
        c.
    pull : float
        λ.
    """
    margin = np.where(same, 1.0, -1.0) * (level - squared @ weights)
    unlikely = float(counts @ np.logaddexp(0, -margin))
    return unlikely + pull * float(((weights - USUAL) ** 2).sum())


def weigh_columns(squared: Floats, same: Mask, counts: Floats, pull: float) -> tuple[Floats, float]:
    """The minimum of :func:`objective`, which is convex: weights and level.

    Parameters
    ----------
    squared, same, counts, pull
        As in :func:`objective`.

    Notes
    -----
    By L-BFGS-B: O(k r) time for a step, of which some dozens are taken.
    """
    sign = np.where(same, 1.0, -1.0)
    r = squared.shape[1]

    def value_and_slope(found: Floats) -> tuple[float, Floats]:
        level, weights = float(found[0]), found[1:]
        margin = sign * (level - squared @ weights)
        by_margin = -counts * sign * expit(-margin)
        slope = np.empty(r + 1)
        slope[0] = by_margin.sum()
        slope[1:] = 2 * pull * (weights - USUAL) - by_margin @ squared
        return objective(weights, level, squared, same, counts, pull), slope

    start = np.full(r + 1, USUAL)
    bounds = [(None, None), *[(0.0, None)] * r]
    found = minimize(value_and_slope, start, jac=True, method="L-BFGS-B", bounds=bounds).x
    return np.asarray(found[1:]), float(found[0])
