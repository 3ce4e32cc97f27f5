"""No cluster of k-means with pairs is left empty while rows differ."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from nearkin._types import Floats, Integers
from nearkin.rows.sparse import dense

# Rows nearer to their centre than this share of their spread are there.
_ROUNDING = 1e-12


def refilled(
    problem: Problem, labels: Integers, centers: Floats, weights: Floats
) -> tuple[Integers, Floats]:
    """Labels and centres with empty clusters given rows that lie far from their own centre.

    Rows tied by must-links within a cluster move together, to a new centre that is their mean. So
    no further pair is broken and the objective falls, by the squared distance between the means
    times the number of rows: the largest goes first. A cluster stays empty where nothing is left
    that differs from its centre, as of rows that are all equal.
    """
    counts = np.bincount(labels, minlength=len(centers))
    empty = np.flatnonzero(counts == 0)
    if not len(empty):
        return labels, centers
    labels, centers = labels.copy(), centers.copy()
    gain, unit = _gains_of_leaving(problem, labels, centers, weights)
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
        centers[cluster] = dense(problem.X[rows]).astype(np.float64).mean(axis=0)
    return labels, centers


def _gains_of_leaving(
    problem: Problem, labels: Integers, centers: Floats, weights: Floats
) -> tuple[Floats, Integers]:
    """How much less rows would cost around a mean of their own, and which go together.

    O(p d) memory for the p rows tied by must-links.

    Returns
    -------
    gain : ndarray of shape (n,)
        That of rows that go together is at the first of them, and 0 at the others.
    unit : int ndarray of shape (n,)
        Rows of one number are tied by must-links within their cluster.
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
        np.add.at(away, member, dense(problem.X[shared]) - centers[labels[shared]])
        gain[shared] = 0.0
        gain[shared[first]] = (away**2 @ weights) / sizes[numbers]
    return gain, unit
