"""Blocks choose groups, and change places: moves that never put two together that differ.

Where block *a* of group g would rather be in h, all that differ from it there must leave, for g,
and push others from there to h, and so on: the chain of blocks of the two groups that hang together
by differing. If the whole chain changes places, whoever differed still does. A. B. Kempe used such
chains to colour maps. A block that nobody is in the way of is a chain by itself.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from nearkin._types import Floats, Ints
from nearkin.rows.parallel import compiled

# Rounds of exchanges, which end long before as a rule.
_MOST_ROUNDS = 50


def taken(summed: Floats, apart: sp.csr_array, limit: int) -> Ints:
    """Each block's cheapest group that no other which differs from it has taken before.

    Parameters
    ----------
    summed : ndarray of shape (n_blocks, k)
        What groups cost blocks.
    apart : sparse matrix of shape (n_blocks, n_blocks)
    limit : int
        Groups that there may be: beyond k, they are opened for blocks that find none free.

    Returns
    -------
    int ndarray of shape (n_blocks,)
        -1 for those that found none, though there were as many as there may be.
    """
    labels = np.full(len(summed), -1)
    _take(summed, apart.indptr, apart.indices, _order(summed, apart), labels, limit)
    return labels


def exchange(costs: Floats, apart: sp.csr_array, labels: Ints) -> None:
    """Let chains of blocks change places, in place, until that saves nothing more.

    Parameters
    ----------
    costs : ndarray of shape (n_blocks, k + 1)
        What groups cost blocks; the last column is for all groups from k on.
    apart : sparse matrix of shape (n_blocks, n_blocks)
    labels : int ndarray of shape (n_blocks,)

    Notes
    -----
    O(groups · (blocks + cannot-links)) time a round: each chain is looked at once.
    """
    for _ in range(_MOST_ROUNDS):
        tried = np.zeros((len(labels), int(labels.max(initial=-1)) + 1), dtype=np.bool_)
        if not _exchange(costs, apart.indptr, apart.indices, labels, tried):
            return


def _order(summed: Floats, apart: sp.csr_array) -> Ints:
    """Blocks in the order that they choose in: those that differ from others, by what they lose."""
    told = np.diff(apart.indptr) > 0
    if summed.shape[1] == 1:
        return np.argsort(~told, kind="stable")
    two = np.partition(summed, 1, axis=1)[:, :2]
    loss = two[:, 1] - two[:, 0]
    return np.lexsort([-loss, ~told])


@compiled()
def _take(summed: Any, indptr: Any, indices: Any, order: Any, labels: Any, limit: int) -> None:
    k = summed.shape[1]
    n_groups = k
    taken_by = np.full(max(limit, k) + 1, -1, dtype=np.int64)
    for at in range(len(order)):
        block = order[at]
        for place in range(indptr[block], indptr[block + 1]):
            other = labels[indices[place]]
            if other >= 0:
                taken_by[other] = block
        best, least = -1, np.inf
        for group in range(min(k, limit)):
            if taken_by[group] != block and summed[block, group] < least:
                best, least = group, summed[block, group]
        if best < 0:
            for group in range(k, n_groups):
                if taken_by[group] != block:
                    best = group
                    break
        if best < 0 and n_groups < limit:
            best = n_groups
            n_groups += 1
        labels[block] = best


@compiled()
def _exchange(costs: Any, indptr: Any, indices: Any, labels: Any, tried: Any) -> int:
    """One round over all blocks; how many chains changed places.

    ``tried`` says of a block and a group that the chain between its own and that was looked at.
    """
    k = costs.shape[1] - 1
    seen = np.full(len(labels), -1, dtype=np.int64)
    chain = np.empty(len(labels), dtype=np.int64)
    changed, mark = 0, 0
    for block in range(len(labels)):
        for group in range(tried.shape[1]):
            own = labels[block]
            if group == own or tried[block, group]:
                continue
            if costs[block, min(group, k)] >= costs[block, min(own, k)]:
                continue  # who begins a chain gains by it
            mark += 1
            gain, length, read = 0.0, 1, 0
            chain[0] = block
            seen[block] = mark
            while read < length:
                one = chain[read]
                read += 1
                other = group if labels[one] == own else own
                gain += costs[one, min(labels[one], k)] - costs[one, min(other, k)]
                for place in range(indptr[one], indptr[one + 1]):
                    near = indices[place]
                    if labels[near] == other and seen[near] != mark:
                        seen[near] = mark
                        chain[length] = near
                        length += 1
            for at in range(length):
                one = chain[at]
                other = group if labels[one] == own else own
                tried[one, other] = True
            if gain > 1e-12 * abs(costs[block, min(own, k)]):
                changed += 1
                for at in range(length):
                    labels[chain[at]] = own + group - labels[chain[at]]
    return changed
