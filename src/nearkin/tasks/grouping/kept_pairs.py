"""Groups that keep must-links and cannot-links, whatever found the groups.

A grouping says what it costs each row to be in each group. Rows that must-links tie together are
one *block*, which goes to one group; blocks that a cannot-link tells apart go to different ones.
Blocks take their cheapest groups that are free, those first that lose most by any other; then
single blocks move as long as that saves anything. Where no group is free, one is opened, up to as
many as are allowed.

To find the cheapest labels of all is as hard as colouring a graph. What is found keeps every pair,
and no move of one block makes it cheaper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment

from nearkin.errors import InputError
from nearkin.pairs.pairs import Pairs
from nearkin.rows.arrays import Floats, Ints
from nearkin.rows.compiled import compiled
from nearkin.tasks.grouping.colouring import all_differ, coloured

# Rounds of single moves, which end long before as a rule.
_MOST_ROUNDS = 50
# Contradictions that an error names.
_NAMED = 3


@dataclass(frozen=True)
class Blocks:
    """Rows that belong together, and which of these must not.

    Attributes
    ----------
    of : int ndarray of shape (n,)
        Block of each row, from 0 in the order of first rows.
    apart : sparse matrix of shape (n_blocks, n_blocks)
        Symmetric: how much it weighs that two blocks differ, the sum of their cannot-links.
    """

    of: Ints
    apart: sp.csr_array

    @property
    def count(self) -> int:
        """How many there are."""
        return int(self.apart.shape[0])

    def summed(self, costs: Floats) -> Floats:
        """What rows cost (n, k), summed up by blocks."""
        found = np.zeros((self.count, costs.shape[1]))
        np.add.at(found, self.of, costs)
        return found


def blocks_of(pairs: Pairs, n_rows: int) -> Blocks:
    """Blocks of rows, of which single ones are many.

    Raises
    ------
    InputError
        If pairs contradict one another, with the chain from one end of a cannot-link to the other.
    """
    groups = pairs.groups
    if groups.contradicted.any():
        found = pairs.conflicts()
        more = "" if len(found) <= _NAMED else f" and {len(found) - _NAMED} more"
        said = "; ".join(map(str, found[:_NAMED]))
        raise InputError(
            f"pairs contradict one another: {said}{more}. Leave out one pair of each chain, or let "
            "pairs be broken at a cost with keep='soft'."
        )
    of = np.arange(n_rows)
    first = np.full(groups.count, n_rows)
    np.minimum.at(first, groups.number, groups.points)
    of[groups.points] = first[groups.number]
    _, of = np.unique(of, return_inverse=True)
    ends = of[pairs.cannot_link]
    count = int(of.max(initial=-1)) + 1
    weights = pairs.cannot_weight
    one_way = sp.coo_array((weights, (ends[:, 0], ends[:, 1])), shape=(count, count)).tocsr()
    return Blocks(of, sp.csr_array(one_way + one_way.T))


def kept(costs: Floats, blocks: Blocks, *, most_groups: int | None = None) -> Ints:
    """Groups of rows that keep every pair.

    Parameters
    ----------
    costs : ndarray of shape (n, k)
        What it costs each row to be in each group; finite.
    blocks : Blocks
    most_groups : int, optional
        Groups that there may be; as many as are needed by default.

    Returns
    -------
    int ndarray of shape (n,)
        Numbers 0 to k − 1, and above for groups that had to be opened.

    Raises
    ------
    InputError
        If so many groups are not enough, with rows that all differ where these are found.

    Notes
    -----
    O(n k + cannot-links) time a round, and O(n k) memory.
    """
    k = costs.shape[1]
    limit = blocks.count if most_groups is None else most_groups
    summed = blocks.summed(costs)
    sizes = np.bincount(blocks.of, minlength=blocks.count)
    apart = blocks.apart
    # A new group costs as much as the worst of those that are there: none is opened for nothing.
    opening = summed.max(axis=1) + sizes * (np.ptp(costs) + 1e-9)
    labels = _taken(summed, opening, apart, order_of(summed, apart), limit)
    if labels.min(initial=0) < 0:
        found = coloured(apart, limit)
        if found is None:
            raise InputError(_too_few(blocks, limit))
        labels = _cheaply_numbered(summed, found)
    _move(summed, apart.indptr, apart.indices, labels, k, _MOST_ROUNDS)
    return np.asarray(labels[blocks.of])


def _cheaply_numbered(summed: Floats, labels: Ints) -> Ints:
    """The same groups, numbered so that they cost least."""
    k, n_groups = summed.shape[1], int(labels.max()) + 1
    total = np.zeros((n_groups, max(k, n_groups)))
    np.add.at(total[:, :k], labels, summed)
    total[:, k:] = total.max() + 1
    numbers = linear_sum_assignment(total)[1]
    return np.asarray(numbers[labels])


def _too_few(blocks: Blocks, limit: int) -> str:
    """Why there is no grouping into so many groups, or that none was found."""
    clique = all_differ(blocks.apart, limit + 1)
    first = np.zeros(blocks.count, dtype=np.int64)
    first[blocks.of[::-1]] = np.arange(len(blocks.of))[::-1]
    rows = ", ".join(map(str, sorted(first[clique].tolist())))
    if len(clique) > limit:
        return (
            f"cannot-links need more than {limit} groups: rows {rows} all differ from one another. "
            "Allow more groups, or leave out a pair."
        )
    return (
        f"no way was found to keep all cannot-links with {limit} groups; rows {rows} already need "
        f"{len(clique)}. Allow more groups, or let pairs be broken at a cost with keep='soft'."
    )


def order_of(summed: Floats, apart: sp.csr_array) -> Ints:
    """Blocks in the order that they choose in: those that differ from others, by what they lose."""
    told = np.diff(apart.indptr) > 0
    if summed.shape[1] == 1:
        return np.argsort(~told, kind="stable")
    two = np.partition(summed, 1, axis=1)[:, :2]
    loss = two[:, 1] - two[:, 0]
    return np.lexsort([-loss, ~told])


def _taken(summed: Floats, opening: Floats, apart: sp.csr_array, order: Ints, limit: int) -> Ints:
    labels = np.full(len(summed), -1)
    _take(summed, opening, apart.indptr, apart.indices, order, labels, limit)
    return labels


@compiled()
def _take(
    summed: Any, opening: Any, indptr: Any, indices: Any, order: Any, labels: Any, limit: int
) -> None:
    """Let each block take its cheapest group that no other which differs from it has."""
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
        if best < 0:
            return


@compiled()
def _move(summed: Any, indptr: Any, indices: Any, labels: Any, k: int, most_rounds: int) -> int:
    """Move single blocks to cheaper groups that are free, until none is; how many rounds."""
    taken_by = np.full(labels.max() + 2, -1, dtype=np.int64)
    for turn in range(most_rounds):
        moved = False
        for block in range(len(summed)):
            own = labels[block]
            now = summed[block, own] if own < k else np.inf
            mark = turn * len(summed) + block
            for place in range(indptr[block], indptr[block + 1]):
                taken_by[labels[indices[place]]] = mark
            for group in range(k):
                if taken_by[group] != mark and summed[block, group] < now:
                    labels[block] = group
                    now = summed[block, group]
                    moved = True
        if not moved:
            return turn + 1
    return most_rounds
