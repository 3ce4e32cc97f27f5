r"""Groups that break pairs at a cost, and which they break.

The labels make

.. math:: \sum_i c_{i, \ell_i} + \sum_{\text{must}} w_{ij} [\ell_i \ne \ell_j]
    + \sum_{\text{cannot}} w_{ij} [\ell_i = \ell_j]

small, where :math:`c_{ig}` is what it costs row i to be in group g. It cannot be made least in
reasonable time; what is found is no larger than it is with every row in its cheapest group, and no
row, and no group of rows tied by must-links, can move alone to make it smaller.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from nearkin._types import Floats, Ints
from nearkin.pairs.pairs import Pairs
from nearkin.rows.parallel import compiled

# Rounds of moves, which end long before as a rule.
_MOST_ROUNDS_OF_MOVES = 100


class Broken(NamedTuple):
    """Pairs that are not kept.

    Attributes
    ----------
    must_link, cannot_link : int ndarrays of shape (k, 2)
    must_saved, cannot_saved : ndarrays of shape (k,)
        What keeping each alone would have cost more than its weight, by moving one of its rows.
    """

    must_link: Ints
    cannot_link: Ints
    must_saved: Floats
    cannot_saved: Floats

    def __len__(self) -> int:
        return len(self.must_link) + len(self.cannot_link)


def softly_kept(costs: Floats, pairs: Pairs, strength: float = 1.0) -> Ints:
    """Groups of rows that break pairs only where that costs less than keeping them.

    Parameters
    ----------
    costs : ndarray of shape (n, k)
        What it costs each row to be in each group; finite.
    pairs : Pairs
        With their weights.
    strength : float
        What weights are multiplied by: how much a pair of weight 1 counts.

    Returns
    -------
    int ndarray of shape (n,)

    Notes
    -----
    O(n k + pairs · rounds) time, O(n + pairs) memory beside the costs.
    """
    links = _signed(pairs, len(costs), strength)
    rows, starts = tied = _tied(pairs)
    apart = costs.argmin(axis=1)
    together = apart.copy()
    sums = np.add.reduceat(costs[rows], starts[:-1], axis=0) if len(rows) else costs[:0]
    together[rows] = np.repeat(sums.argmin(axis=1), np.diff(starts))
    best, least = apart, np.inf
    for labels in (apart, together):  # as if no must-link counted, and as if all did
        for _ in range(_MOST_ROUNDS_OF_MOVES):
            moved = _move_rows(costs, links.indptr, links.indices, links.data, labels)
            moved += _move_groups(costs, links.indptr, links.indices, links.data, labels, *tied)
            if not moved:
                break
        found = energy(costs, pairs, labels, strength)
        if found < least:
            best, least = labels, found
    return np.asarray(best)


def energy(costs: Floats, pairs: Pairs, labels: Ints, strength: float = 1.0) -> float:
    """What labels cost, with the pairs that they break."""
    total = costs[np.arange(len(costs)), labels].sum()
    same = labels[pairs.must_link[:, 0]] == labels[pairs.must_link[:, 1]]
    alike = labels[pairs.cannot_link[:, 0]] == labels[pairs.cannot_link[:, 1]]
    broken = pairs.must_weight[~same].sum() + pairs.cannot_weight[alike].sum()
    return float(total + strength * broken)


def broken_by(costs: Floats | None, pairs: Pairs, labels: Ints) -> Broken:
    """The pairs that labels do not keep, and what keeping each would cost; NaN without costs."""
    must = pairs.must_link[labels[pairs.must_link[:, 0]] != labels[pairs.must_link[:, 1]]]
    cannot = pairs.cannot_link[labels[pairs.cannot_link[:, 0]] == labels[pairs.cannot_link[:, 1]]]
    if costs is None:
        return Broken(must, cannot, np.full(len(must), np.nan), np.full(len(cannot), np.nan))
    n = len(costs)
    own = costs[np.arange(n), labels]
    a, b = must[:, 0], must[:, 1]
    joining = np.minimum(costs[a, labels[b]] - own[a], costs[b, labels[a]] - own[b])
    others = costs.copy()
    others[np.arange(n), labels] = np.inf
    leaving = others.min(axis=1) - own if costs.shape[1] > 1 else np.full(n, np.inf)
    parting = np.minimum(leaving[cannot[:, 0]], leaving[cannot[:, 1]])
    return Broken(must, cannot, joining, parting)


def _signed(pairs: Pairs, n: int, strength: float) -> sp.csr_array:
    """Weights of pairs, negative for cannot-links, both ways."""
    ends = np.concatenate([pairs.must_link, pairs.cannot_link])
    weights = strength * np.concatenate([pairs.must_weight, -pairs.cannot_weight])
    one_way = sp.coo_array((weights, (ends[:, 0], ends[:, 1])), shape=(n, n))
    return sp.csr_array(one_way.tocsr() + one_way.T.tocsr())


def _tied(pairs: Pairs) -> tuple[Ints, Ints]:
    """Rows of must-link groups, group after group, and where each begins."""
    groups = pairs.groups
    order = np.argsort(groups.number, kind="stable")
    sizes = np.bincount(groups.number, minlength=groups.count)
    return groups.points[order], np.concatenate([[0], np.cumsum(sizes)])


@compiled()
def _move_rows(costs: Any, indptr: Any, indices: Any, weights: Any, labels: Any) -> int:
    """Move single rows to where they cost least; how many moved."""
    k = costs.shape[1]
    gain = np.empty(k)
    moved = 0
    for row in range(len(costs)):
        for group in range(k):
            gain[group] = -costs[row, group]
        for place in range(indptr[row], indptr[row + 1]):
            gain[labels[indices[place]]] += weights[place]
        best = labels[row]
        for group in range(k):
            if gain[group] > gain[best] + 1e-12 * (1.0 + abs(gain[best])):
                best = group
        if best != labels[row]:
            labels[row] = best
            moved += 1
    return moved


@compiled()
def _move_groups(
    costs: Any, indptr: Any, indices: Any, weights: Any, labels: Any, rows: Any, starts: Any
) -> int:
    """Move all rows that must-links tie together to one group, if that is cheaper."""
    k = costs.shape[1]
    inside = np.full(len(costs), -1, dtype=np.int64)
    moved = 0
    for tie in range(len(starts) - 1):
        if starts[tie + 1] - starts[tie] < 2:
            continue
        for at in range(starts[tie], starts[tie + 1]):
            inside[rows[at]] = tie
        gain = np.zeros(k)
        now = 0.0
        within = 0.0  # weights of pairs inside, each seen twice: all are kept, or broken, together
        for at in range(starts[tie], starts[tie + 1]):
            row = rows[at]
            now -= costs[row, labels[row]]
            for group in range(k):
                gain[group] -= costs[row, group]
            for place in range(indptr[row], indptr[row + 1]):
                other = indices[place]
                if inside[other] == tie:
                    within += 0.5 * weights[place]
                    if labels[other] == labels[row]:
                        now += 0.5 * weights[place]
                else:
                    gain[labels[other]] += weights[place]
                    if labels[other] == labels[row]:
                        now += weights[place]
        best = 0
        for group in range(k):
            if gain[group] > gain[best]:
                best = group
        if gain[best] + within > now + 1e-12 * (1.0 + abs(now)):
            moved += 1
            for at in range(starts[tie], starts[tie + 1]):
                labels[rows[at]] = best
    return moved
