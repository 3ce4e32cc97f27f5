"""Groups that keep must-links and cannot-links, whatever found the groups.

A grouping says what it costs each row to be in each group. Rows that must-links tie together are
one *block*, which goes to one group; blocks that a cannot-link tells apart go to different ones.
Blocks take their cheapest groups that are free, those first that lose most by any other; then
chains of blocks change places between two groups as long as that saves anything. Where no group is
free, one is opened, up to as many as are allowed.

To find the cheapest labels of all is as hard as colouring a graph. What is found keeps every pair,
and no exchange makes it cheaper; with two groups it is the cheapest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components

from nearkin._types import Floats, Ints
from nearkin.errors import InputError
from nearkin.pairs.pairs import Pairs
from nearkin.tasks.grouping.colouring import MOST_STEPS, all_differ, coloured
from nearkin.tasks.grouping.exchanges import exchange, taken

# Contradictions that an error names.
_NAMED = 3
# Gives a sentence by what rows, the number of groups and the way to break pairs are called.
Tell = Callable[[Callable[[int], str], str, str], str]


class PairsError(InputError):
    """Pairs that cannot all be kept.

    Parameters
    ----------
    tell : callable
        Gives the sentence, from what to call rows, what to call the number of groups, and how to
        let pairs be broken. The error itself speaks of parameters in Python and row numbers.
    """

    def __init__(self, tell: Tell) -> None:
        super().__init__(tell(str, "n_clusters=", "keep='soft'"))
        self.tell = tell

    def __reduce__(self) -> tuple[Any, ...]:
        return InputError, self.args


class TooFewGroupsError(PairsError):
    """Cannot-links need more groups than there may be, or no way to keep them was found."""


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


def blocks_of(pairs: Pairs, n_rows: int, *, strict: bool = True) -> Blocks:
    """Blocks of rows, of which single ones are many.

    Parameters
    ----------
    pairs : Pairs
    n_rows : int
    strict : bool, default=True
        Whether contradictions are errors; without it cannot-links in a block count for nothing.

    Raises
    ------
    InputError
        If pairs contradict one another, with the chain from one end of a cannot-link to the other.
    """
    groups = pairs.groups
    if strict and groups.contradicted.any():
        found = pairs.conflicts()
        more = "" if len(found) <= _NAMED else f" and {len(found) - _NAMED} more"
        raise PairsError(
            lambda name, _, soft: (
                "pairs contradict one another: "
                f"{'; '.join(one.told(name) for one in found[:_NAMED])}{more}. Leave out one pair "
                f"of each chain, or let pairs be broken at a cost with {soft}."
            )
        )
    of = np.arange(n_rows)
    first = np.full(groups.count, n_rows)
    np.minimum.at(first, groups.number, groups.points)
    of[groups.points] = first[groups.number]
    _, of = np.unique(of, return_inverse=True)
    ends = of[pairs.cannot_link]
    count = int(of.max(initial=-1)) + 1
    between = ends[:, 0] != ends[:, 1]
    ends, weights = ends[between], pairs.cannot_weight[between]
    one_way = sp.coo_array((weights, (ends[:, 0], ends[:, 1])), shape=(count, count)).tocsr()
    return Blocks(of, sp.csr_array(one_way + one_way.T))


def kept(
    costs: Floats, blocks: Blocks, *, most_groups: int | None = None, steps: int = MOST_STEPS
) -> Ints:
    """Groups of rows that keep every pair.

    Parameters
    ----------
    costs : ndarray of shape (n, k)
        What it costs each row to be in each group; finite.
    blocks : Blocks
    most_groups : int, optional
        Groups that there may be; as many as are needed by default.
    steps : int
        Choices that may be taken back in the search for so many, before it is given up.

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
    limit = blocks.count if most_groups is None else most_groups
    summed = blocks.summed(costs)
    sizes = np.bincount(blocks.of, minlength=blocks.count)
    # A new group costs more than the worst of those that are there: none is opened for nothing.
    opening = summed.max(axis=1) + sizes * (np.ptp(costs) + 1e-9)
    apart = blocks.apart
    labels = taken(summed, apart, limit)
    if labels.min(initial=0) < 0:
        _recolour(labels, summed, blocks, limit, steps)
    exchange(np.column_stack([summed, opening]), apart, labels)
    return np.asarray(labels[blocks.of])


def _recolour(labels: Ints, summed: Floats, blocks: Blocks, limit: int, steps: int) -> None:
    """Find groups anew for parts in which some block has none."""
    _, part = connected_components(blocks.apart, directed=False)
    for number in np.unique(part[labels < 0]):
        members = np.flatnonzero(part == number)
        found = coloured(sp.csr_array(blocks.apart[members][:, members]), limit, steps)
        if found is None:
            raise TooFewGroupsError(_why_too_few(blocks, limit))
        labels[members] = _cheaply_numbered(summed[members, :limit], found)


def _cheaply_numbered(summed: Floats, labels: Ints) -> Ints:
    """The same groups, numbered so that they cost least."""
    k, n_groups = summed.shape[1], int(labels.max()) + 1
    total = np.zeros((n_groups, max(k, n_groups)))
    np.add.at(total[:, :k], labels, summed)
    total[:, k:] = total.max() + 1
    numbers = linear_sum_assignment(total)[1]
    return np.asarray(numbers[labels])


def _why_too_few(blocks: Blocks, limit: int) -> Tell:
    """Why there is no grouping into so many groups, or that none was found."""
    clique = all_differ(blocks.apart, limit + 1)
    first = np.zeros(blocks.count, dtype=np.int64)
    first[blocks.of[::-1]] = np.arange(len(blocks.of))[::-1]
    rows = sorted(first[clique].tolist())

    def tell(name: Callable[[int], str], _: str, soft: str) -> str:
        named = ", ".join(map(name, rows))
        if len(clique) > limit:
            return (
                f"cannot-links need more than {limit} groups: rows {named} all differ from one "
                "another. Allow more groups, or leave out a pair."
            )
        return (
            f"no way was found to keep all cannot-links with {limit} groups; rows {named} already "
            f"need {len(clique)}. Allow more groups, or let pairs be broken at a cost with {soft}."
        )

    return tell
