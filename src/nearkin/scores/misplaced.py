r"""Which rows were put in a wrong group, by metrics that were learned without them.

A row is of group g with chance

.. math:: P_g = (1 - δ) \frac{e^{-s d_g}}{\sum_h e^{-s d_h}} + \frac{δ}{K} ,

where :math:`d_g` is how far the group is from it, and δ how often distances say nothing: some rows
are nearer to others than to their own kind. Whoever places it, w, errs with chance :math:`ε_w`, and
then chooses any of the K − 1 others. So what was said of row i, group :math:`g_i`, has the
probability

.. math:: (1 - ε_w) P_{i g_i} + \frac{ε_w}{K - 1} (1 - P_{i g_i}) ,

and s, δ and all ε are such that all that was said is likeliest. Where groups are hard to tell
apart, s is small, and a row that is nearer to another group is no surprise. Rows of somebody who is
always right tell how often distances are at fault. Where one person has placed all of them, nothing
tells that from mistakes of theirs: then δ is 0.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, softmax

from nearkin._types import Doubles, Ints

# The share of wrong answers is thought to be Beta(a, b) before any is seen, and so is that of rows
# whose distances say nothing.
_IMAGINED_ANSWERS = (2.0, 20.0)
_IMAGINED_ROWS = (1.5, 20.0)
# Fewer rows do not say how well groups can be told apart.
_FEWEST = 10
# Members of a group whose mean distance is that of the group.
N_NEAREST = 3
# Within which the logarithm of s is looked for, and log-odds of twice the rates.
_SHARPNESS, _LOGITS = (-4.0, 6.0), (-8.0, 4.0)


class Placed(NamedTuple):
    """What is thought of rows that were put in groups; NaN where it cannot be told.

    Attributes
    ----------
    member : ndarray of shape (m,)
        Probability that a row is of its group by distances alone, whatever was said.
    misplaced : ndarray of shape (m,)
        Probability that it is of another one, given how often people err.
    """

    member: Doubles
    misplaced: Doubles


def placed(distance: Doubles, said: Ints, who: Ints | None = None) -> Placed:
    """Whether each row is in another group than was said.

    Parameters
    ----------
    distance : ndarray of shape (m, K)
        Of each row from each group, its own place in it aside; infinite where that cannot be told.
    said : int ndarray of shape (m,)
        The group that it was put in.
    who : int ndarray of shape (m,), optional
        Who has put it there, from 0; one person by default.

    Returns
    -------
    Placed
    """
    member, misplaced = np.full(len(said), np.nan), np.full(len(said), np.nan)
    judged = np.isfinite(distance).sum(axis=1) > 1
    judged &= np.isfinite(distance[np.arange(len(said)), said])
    if judged.sum() < _FEWEST:
        return Placed(member, misplaced)
    D, g = distance[judged], said[judged]
    people = np.zeros(len(g), dtype=np.int64) if who is None else who[judged]
    n_people = int(people.max()) + 1
    deviation = float(D[np.isfinite(D)].std()) or 1.0
    n_groups = np.isfinite(D).sum(axis=1)
    tells = np.array([n_people > 1, *[True] * n_people])

    def parts(parameters: Doubles) -> tuple[Doubles, Doubles, Doubles]:
        """Chance of each row's group by distances, and rates of wrong answers and useless rows."""
        near = softmax(-np.exp(parameters[0]) / deviation * D, axis=1)[np.arange(len(g)), g]
        rates = 0.5 * expit(parameters[1:]) * tells
        return (1 - rates[0]) * near + rates[0] / n_groups, rates[1:][people], rates

    def loss(parameters: Doubles) -> float:
        P, wrong, rates = parts(parameters)
        likely = np.log((1 - wrong) * P + wrong * (1 - P) / (n_groups - 1)).sum()
        for (a, b), some in ((_IMAGINED_ROWS, rates[:1]), (_IMAGINED_ANSWERS, rates[1:])):
            some = some[some > 0]
            likely += ((a - 1) * np.log(some) + (b - 1) * np.log(1 - some)).sum()
        return float(-likely)

    start = np.array([1.0, *np.full(1 + n_people, -2.0)])
    bounds = [_SHARPNESS, *[_LOGITS] * (1 + n_people)]
    P, wrong, _ = parts(minimize(loss, start, method="L-BFGS-B", bounds=bounds).x)
    member[judged] = P
    mistaken = wrong * (1 - P) / (n_groups - 1)
    misplaced[judged] = mistaken / (mistaken + (1 - wrong) * P)
    return Placed(member, misplaced)


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
