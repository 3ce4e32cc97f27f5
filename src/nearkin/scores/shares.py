"""Which blend of several distances tells pairs apart best: shares, learned from held-out pairs."""

from __future__ import annotations

import numpy as np

from nearkin._types import Floats, Mask

# A share is added in steps of one; what there is before any pair is looked at weighs as many.
_INERTIA = 10.0
_MOST_STEPS = 30


def learned_shares(distances: Floats, same: Mask, weight: Floats, usual: Floats) -> Floats:
    """Shares by which the sum of squared distances has the largest pair AUC, near the usual ones.

    Step by step, that distance is added which raises the AUC most, each as often as it does so,
    until none does (after R. Caruana and others, 2004). The usual shares weigh as much as ten
    steps: with few pairs, of which many blends tell all apart, shares stay near them.

    Parameters
    ----------
    distances : ndarray of shape (k, l)
        Squared distances of k pairs by l metrics that did not see them, of one scale.
    same : bool ndarray of shape (k,)
        Some are, and some are not.
    weight : ndarray of shape (k,)
        How much a pair counts.
    usual : ndarray of shape (l,)
        Shares to start from, of sum 1.

    Returns
    -------
    ndarray of shape (l,)
        Of sum 1.

    Notes
    -----
    At most 30 steps of O(l k log k) time.
    """
    counts = _INERTIA * usual
    blended = distances @ counts
    best = weighted_auc(blended, same, weight)
    for _ in range(_MOST_STEPS):
        found = [weighted_auc(blended + one, same, weight) for one in distances.T]
        chosen = int(np.argmax(found))
        if found[chosen] <= best:
            break
        best = found[chosen]
        counts[chosen] += 1
        blended += distances[:, chosen]
    return np.asarray(counts / counts.sum())


def weighted_auc(distances: Floats, same: Mask, weight: Floats) -> float:
    """Share of must-links below cannot-links, by weight; ties count half."""
    order = np.argsort(distances, kind="stable")
    values, kinds, counted = distances[order], same[order], weight[order]
    different = np.where(kinds, 0.0, counted)
    below = np.cumsum(different)
    # Of equal distances the first and the last.
    first = np.searchsorted(values, values, side="left")
    last = np.searchsorted(values, values, side="right")
    sums = np.concatenate([[0.0], below])
    farther = below[-1] - (sums[first] + sums[last]) / 2
    must = counted[kinds]
    return float(must @ farther[kinds] / (must.sum() * below[-1]))
