r"""Which rows were put in a wrong group, by metrics that were learned without them.

A row is of group g with chance :math:`P_g \propto e^{-s d_g}`, where :math:`d_g` is how far the
group is from it. Whoever places it errs with chance ε, and then chooses any of the K − 1 others. So
what was said of row i, group :math:`g_i`, has the probability

.. math:: (1 - ε) P_{i g_i} + \frac{ε}{K - 1} (1 - P_{i g_i}) ,

and s and ε are such that all that was said is likeliest: where groups are hard to tell apart, s is
small, and a row that is nearer to another group is no surprise.
"""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, softmax

from nearkin.rows.arrays import Doubles, Ints

# The share of wrong answers is thought to be Beta(a, b) before any is seen.
_IMAGINED_ANSWERS = (2.0, 20.0)
# Fewer rows do not say how well groups can be told apart.
_FEWEST = 10
# Members of a group whose mean distance is that of the group.
N_NEAREST = 3


def chance_misplaced(distance: Doubles, said: Ints) -> Doubles:
    """Probability that each row is in another group than was said.

    Parameters
    ----------
    distance : ndarray of shape (m, K)
        Of each row from each group, its own place in it aside; infinite where that cannot be told.
    said : int ndarray of shape (m,)
        The group that it was put in.

    Returns
    -------
    ndarray of shape (m,)
        NaN where it cannot be told.
    """
    out = np.full(len(said), np.nan)
    judged = np.isfinite(distance).sum(axis=1) > 1
    judged &= np.isfinite(distance[np.arange(len(said)), said])
    if judged.sum() < _FEWEST:
        return out
    D, g = distance[judged], said[judged]
    deviation = float(D[np.isfinite(D)].std()) or 1.0
    n_others = np.isfinite(D).sum(axis=1) - 1
    a, b = _IMAGINED_ANSWERS

    def parts(parameters: Doubles) -> tuple[Doubles, Doubles, float]:
        """Probability of what was said, if it is right and if it is wrong, and the rate of that."""
        sharp, logit = parameters
        P = softmax(-np.exp(sharp) / deviation * D, axis=1)[np.arange(len(g)), g]
        rate = 0.5 * float(expit(logit))
        return (1 - rate) * P, rate * (1 - P) / n_others, rate

    def loss(parameters: Doubles) -> float:
        right, wrong, rate = parts(parameters)
        prior = (a - 1) * np.log(rate) + (b - 1) * np.log(1 - rate)
        return float(-np.log(right + wrong).sum() - prior)

    found = minimize(loss, np.array([1.0, -2.0]), method="Nelder-Mead").x
    right, wrong, _ = parts(found)
    out[judged] = wrong / (right + wrong)
    return out


def distances_from_groups(Z: Doubles, rows: Ints, others: Doubles, group: Ints) -> Doubles:
    """Distance of rows from groups: the mean of those from the three nearest members.

    Parameters
    ----------
    Z : ndarray of shape (m, q)
        Where the rows are.
    rows : int ndarray of shape (m,)
        Which of the others each is, so that it is not compared with itself.
    others : ndarray of shape (k, q)
    group : int ndarray of shape (k,)
        Of the others, from 0.
    """
    D = np.sqrt(np.maximum(((Z[:, None] - others[None]) ** 2).sum(axis=2), 0.0))
    D[np.arange(len(rows)), rows] = np.inf
    found = np.full((len(Z), int(group.max(initial=-1)) + 1), np.inf)
    for number in np.unique(group):
        nearest = np.sort(D[:, group == number], axis=1)[:, :N_NEAREST]
        finite = np.isfinite(nearest)
        total = np.where(finite, nearest, 0.0).sum(axis=1)
        count = finite.sum(axis=1)
        found[:, number] = np.where(count > 0, total / np.maximum(count, 1), np.inf)
    return found
