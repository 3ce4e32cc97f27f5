"""Repairs of a partition, so that it keeps pairs: all of them, or as many as can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.sparse.csgraph import connected_components

from nearkin._types import Floats, Ints
from nearkin.errors import InputError
from nearkin.pairs.pairs import Pairs
from nearkin.rows.parallel import compiled

# Rounds of exchanges, and of moves, which end long before as a rule.
_MOST_ROUNDS = 50
# Choices that are taken back before a search for few groups is given up, after some seconds.
MOST_STEPS = 200_000
# Blocks from which a search for blocks that all differ begins, those with most cannot-links.
_CLIQUE_STARTS = 50
# Contradictions that an error names.
_NAMED = 3
# Gains below this share of what is moved are rounding.
_ROUNDING = 1e-12
# Gives a sentence by what rows, the number of groups and the way to break pairs are called.
Tell = Callable[[Callable[[int], str], str, str], str]


class PairsError(InputError):
    """Pairs contradict each other; ``tell`` words the message for Python or the command line."""

    def __init__(self, tell: Tell) -> None:
        super().__init__(tell(str, "n_clusters=", "keep='soft'"))
        self.tell = tell

    def __reduce__(self) -> tuple[Any, ...]:
        return InputError, self.args


class TooFewGroupsError(PairsError):
    """Cannot-links need more groups than are allowed, or no grouping that keeps them was found."""


@dataclass(frozen=True)
class Blocks:
    """Blocks of rows that must-links tie together, and cannot-links between blocks."""

    of: Ints  # (n,), the block of each row, numbered in the order of first rows
    apart: sp.csr_array  # (n_blocks, n_blocks), symmetric: sums of the cannot-links' weights

    @property
    def count(self) -> int:
        """Number of blocks."""
        return int(self.apart.shape[0])

    def sum_by_block(self, costs: Floats) -> Floats:
        """Sum costs of rows, (n, k), by block, (n_blocks, k)."""
        found = np.zeros((self.count, costs.shape[1]))
        np.add.at(found, self.of, costs)
        return found


def tie_blocks(pairs: Pairs, n_rows: int, *, strict: bool = True) -> Blocks:
    """Blocks of rows by must-links, and which of them cannot-links keep apart.

    With ``strict``, contradicting pairs are an error, which shows the must-links from one end of a
    cannot-link to the other; otherwise cannot-links within a block are ignored.
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


def assign_keeping_pairs(
    costs: Floats, blocks: Blocks, *, most_groups: int | None = None, steps: int = MOST_STEPS
) -> Ints:
    """Labels (n,) that keep every pair, at a low sum of the costs (n, k) of rows in groups.

    Groups are numbered from 0 to k − 1, and above where cannot-links need more. It is an error if
    ``most_groups`` are not enough, or none are found within ``steps`` steps of backtracking.
    O(n k + cannot-links) time a round, and O(n k) memory.
    """
    limit = blocks.count if most_groups is None else most_groups
    summed = blocks.sum_by_block(costs)
    sizes = np.bincount(blocks.of, minlength=blocks.count)
    # A new group costs more than the worst of those that are there: none is opened for nothing.
    opening = summed.max(axis=1) + sizes * (np.ptp(costs) + 1e-9)
    graph = blocks.apart.indptr, blocks.apart.indices
    labels = np.full(blocks.count, -1)
    _assign_greedily(summed, *graph, _order_blocks(summed, blocks.apart), labels, limit)
    if labels.min(initial=0) < 0:
        _recolour(labels, summed, blocks, limit, steps)
    costs = np.column_stack([summed, opening])
    for _ in range(_MOST_ROUNDS):
        tried = np.zeros((len(labels), int(labels.max(initial=-1)) + 1), dtype=np.bool_)
        if not _exchange(costs, *graph, labels, tried):
            break
    return np.asarray(labels[blocks.of])


def _recolour(labels: Ints, summed: Floats, blocks: Blocks, limit: int, steps: int) -> None:
    """Find labels anew, in place, for components of cannot-links where some block has none yet."""
    _, part = connected_components(blocks.apart, directed=False)
    for number in np.unique(part[labels < 0]):
        members = np.flatnonzero(part == number)
        found = find_colouring(sp.csr_array(blocks.apart[members][:, members]), limit, steps)
        if found is None:
            raise TooFewGroupsError(_explain_too_few(blocks, limit))
        # Numbers are given to groups such that they cost least.
        costs, n_groups = summed[members, :limit], int(found.max()) + 1
        k = costs.shape[1]
        total = np.zeros((n_groups, max(k, n_groups)))
        np.add.at(total[:, :k], found, costs)
        total[:, k:] = total.max() + 1
        labels[members] = linear_sum_assignment(total)[1][found]


def _explain_too_few(blocks: Blocks, limit: int) -> Tell:
    """Function that words why no ``limit`` groups keep the cannot-links, or none were found."""
    clique = find_clique(blocks.apart, limit + 1)
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


def _order_blocks(summed: Floats, apart: sp.csr_array) -> Ints:
    """Order in which blocks choose groups: those with cannot-links first, by what they may lose."""
    told = np.diff(apart.indptr) > 0
    loss: Floats = np.zeros(len(told))
    if summed.shape[1] > 1:
        loss = np.diff(np.partition(summed, 1, axis=1)[:, :2])[:, 0]
    return np.lexsort([-loss, ~told])


@compiled()
def _assign_greedily(
    summed: Any, indptr: Any, indices: Any, order: Any, labels: Any, limit: int
) -> None:
    """Write the cheapest group for each block in turn that no block kept apart from it has.

    Groups beyond the k of ``summed``, (n_blocks, k), are opened up to ``limit``. Others keep -1.
    """
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
    """Swap two groups along chains of cannot-linked blocks where that lowers costs.

    Returns the number of swaps (Kempe chains). The last column of ``costs``, (n_blocks, k + 1), is
    for all groups from k on. ``tried`` marks blocks and groups of chains that were looked at, each
    once: O(groups · (blocks + cannot-links)).
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
            if gain > _ROUNDING * abs(costs[block, min(own, k)]):
                changed += 1
                for at in range(length):
                    labels[chain[at]] = own + group - labels[chain[at]]
    return changed


def find_colouring(apart: sp.csr_array, limit: int, steps: int = MOST_STEPS) -> Ints | None:
    """Labels (n_blocks,) below ``limit``, different for blocks kept apart; or None.

    By the rule of Brélaz: the block that has fewest labels left comes next, and of these the one
    that differs from most others. Where none is left, the last choice is taken back, ``steps``
    times at most; without any, two numbers are found where two are enough. O(n limit) memory;
    O(n) time a step.
    """
    degrees = np.diff(apart.indptr)
    n, limit = len(degrees), min(limit, int(degrees.max(initial=0)) + 1)  # no more are needed
    labels = np.full(n, -1)
    near = np.zeros((n, limit), dtype=np.int32)  # blocks that differ from one, by their number
    n_near = np.zeros(n, dtype=np.int64)  # different numbers among these

    def count(block: int, number: int, change: int) -> None:
        """Add ``change`` to how often neighbours of a block see a label."""
        others = apart.indices[apart.indptr[block] : apart.indptr[block + 1]]
        before = near[others, number] > 0
        near[others, number] += change
        n_near[others] += (near[others, number] > 0).astype(int) - before

    choices: list[tuple[int, list[int]]] = []  # the block, and numbers that are still to be tried
    while len(choices) < n:
        block = int(np.where(labels < 0, n_near * n + degrees, -1).argmax())
        # Numbers are taken in their order: one that nobody has is as good as any other.
        n_used = int(labels.max(initial=-1)) + 1
        left = np.flatnonzero(near[block, : n_used + 1] == 0)[::-1].tolist()
        while not left:
            if not choices or not steps:
                return None
            steps -= 1
            block, left = choices.pop()
            count(block, int(labels[block]), -1)
            labels[block] = -1
        labels[block] = left.pop()
        count(block, int(labels[block]), 1)
        choices.append((block, left))
    return labels


def find_clique(apart: sp.csr_array, wanted: int) -> list[int]:
    """Blocks that are all kept apart from one another, found greedily, at most ``wanted``."""

    def list_others(block: int) -> set[int]:
        return set(apart.indices[apart.indptr[block] : apart.indptr[block + 1]].tolist())

    degrees = np.diff(apart.indptr)
    best: list[int] = []
    for start in np.argsort(-degrees, kind="stable")[:_CLIQUE_STARTS].tolist():
        clique, left = [start], list_others(start)
        while left and len(clique) < wanted:
            block = max(left, key=lambda i: (degrees[i], -i))
            clique.append(block)
            left &= list_others(block)
        if len(clique) > len(best):
            best = clique
        if len(best) >= wanted:
            break
    return best


def costs_of_scores(scores: Floats) -> Floats:
    """Costs (n, k) of rows in groups: a row's best score less that of the group."""
    return np.asarray(scores.max(axis=1, keepdims=True) - scores)


class Broken(NamedTuple):
    """Pairs that labels break, and what keeping each would cost by moving one of its rows."""

    must_link: Ints
    cannot_link: Ints
    must_saved: Floats
    cannot_saved: Floats

    def __len__(self) -> int:
        return len(self.must_link) + len(self.cannot_link)


def assign_softly(costs: Floats, pairs: Pairs, strength: float = 1.0) -> Ints:
    """Labels (n,) at a low sum of costs (n, k) of rows in groups and of broken pairs.

    Breaking a pair costs its weight times ``strength``. O(n k + pairs · rounds) time, O(n + pairs)
    memory beside the costs, (n, k).
    """
    n, groups = len(costs), pairs.groups
    links = _signed_weights(pairs, n, strength)
    # Rows of must-link groups, group after group, and where each begins.
    rows = groups.points[np.argsort(groups.number, kind="stable")]
    sizes = np.bincount(groups.number, minlength=groups.count)
    starts = np.concatenate([[0], np.cumsum(sizes)])
    apart = costs.argmin(axis=1)
    together = apart.copy()
    sums = np.add.reduceat(costs[rows], starts[:-1], axis=0) if len(rows) else costs[:0]
    together[rows] = np.repeat(sums.argmin(axis=1), sizes)
    units = np.concatenate([np.arange(n), rows]), np.concatenate([np.arange(n), n + starts])
    best, least = apart, np.inf
    for labels in (apart, together):  # as if no must-link counted, and as if all did
        for _ in range(_MOST_ROUNDS):
            if not _move_cheaper(costs, links.indptr, links.indices, links.data, labels, *units):
                break
        found = sum_costs(costs, pairs, labels, strength)
        if found < least:
            best, least = labels, found
    return np.asarray(best)


def sum_costs(costs: Floats, pairs: Pairs, labels: Ints, strength: float = 1.0) -> float:
    """Sum of the costs of labels and of the pairs that they break."""
    total = costs[np.arange(len(costs)), labels].sum()
    same = labels[pairs.must_link[:, 0]] == labels[pairs.must_link[:, 1]]
    alike = labels[pairs.cannot_link[:, 0]] == labels[pairs.cannot_link[:, 1]]
    broken = pairs.must_weight[~same].sum() + pairs.cannot_weight[alike].sum()
    return float(total + strength * broken)


def list_broken(costs: Floats | None, pairs: Pairs, labels: Ints) -> Broken:
    """Pairs that labels break, with what keeping each would cost; NaN without costs."""
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


def _signed_weights(pairs: Pairs, n: int, strength: float) -> sp.csr_array:
    """Symmetric matrix (n, n) of the pairs' weights, negative for cannot-links."""
    ends = np.concatenate([pairs.must_link, pairs.cannot_link])
    weights = strength * np.concatenate([pairs.must_weight, -pairs.cannot_weight])
    one_way = sp.coo_array((weights, (ends[:, 0], ends[:, 1])), shape=(n, n))
    return sp.csr_array(one_way.tocsr() + one_way.T.tocsr())


@compiled()
def _move_cheaper(
    costs: Any, indptr: Any, indices: Any, weights: Any, labels: Any, rows: Any, starts: Any
) -> int:
    """Move rows, or blocks, to their cheapest group, in place, and count those that moved.

    The rows of unit u are ``rows[starts[u] : starts[u + 1]]``: one, or all that must-links tie.
    """
    k = costs.shape[1]
    inside = np.full(len(costs), -1, dtype=np.int64)
    moved = 0
    for unit in range(len(starts) - 1):
        for at in range(starts[unit], starts[unit + 1]):
            inside[rows[at]] = unit
        gain = np.zeros(k)
        now = 0.0
        within = 0.0  # weights of pairs inside, each seen twice: all are kept, or broken, together
        for at in range(starts[unit], starts[unit + 1]):
            row = rows[at]
            now -= costs[row, labels[row]]
            for group in range(k):
                gain[group] -= costs[row, group]
            for place in range(indptr[row], indptr[row + 1]):
                other = indices[place]
                if inside[other] == unit:
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
        if gain[best] + within > now + _ROUNDING * (1.0 + abs(now)):
            moved += 1
            for at in range(starts[unit], starts[unit + 1]):
                labels[rows[at]] = best
    return moved
