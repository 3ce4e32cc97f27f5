"""Repairs of a partition, so that it keeps pairs: all of them, or as many as can be."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment, minimize_scalar
from scipy.sparse.csgraph import connected_components
from scipy.special import logsumexp
from sklearn.kernel_approximation import Nystroem
from sklearn.utils import check_random_state

from nearkin._types import Floats, Ints
from nearkin.errors import InputError
from nearkin.pairs.closure import draw_links
from nearkin.pairs.pairs import Pairs
from nearkin.rows.parallel import compiled

# Blocks choose groups, and change places: moves that never put two together that differ.


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


# Few groups for blocks that differ: colours of a graph, and blocks that all differ.


# Choices that are taken back in all before a search is given up.
MOST_STEPS = 200_000


def coloured(apart: sp.csr_array, limit: int, steps: int = MOST_STEPS) -> Ints | None:
    """Numbers below ``limit`` such that blocks that differ have different ones.

    Parameters
    ----------
    apart : sparse matrix of shape (n, n)
        Symmetric; entries are between blocks that differ.
    limit : int
    steps : int
        Choices that may be taken back. Without any, two numbers are still found where two are
        enough.

    Returns
    -------
    int ndarray of shape (n,), or None
        None if there are none, or none were found after many steps.

    Notes
    -----
    By the rule of Brélaz: the block that has fewest numbers left comes next, and of these the one
    that differs from most others. Where none is left, the last choice is taken back.
    """
    labels = np.full(apart.shape[0], -1)
    degrees = np.diff(apart.indptr)
    labels[degrees == 0] = 0
    _, part = connected_components(apart, directed=False)
    order = np.argsort(part, kind="stable")
    bounds = np.flatnonzero(np.diff(part[order], prepend=-1, append=-1))
    for begin, end in pairwise(bounds):
        members = order[begin:end]
        if len(members) == 1:
            continue
        neighbors = {int(i): _row(apart, i) for i in members}
        found, used = _coloured_part(neighbors, limit, steps)
        steps -= used
        if found is None:
            return None
        labels[list(found)] = list(found.values())
    return labels


def _row(apart: sp.csr_array, i: int) -> list[int]:
    row: list[int] = apart.indices[apart.indptr[i] : apart.indptr[i + 1]].tolist()
    return row


def _coloured_part(
    neighbors: dict[int, list[int]], limit: int, steps: int
) -> tuple[dict[int, int] | None, int]:
    """Numbers of connected blocks, and how many choices were taken back."""
    found: dict[int, int] = {}
    seen: dict[int, dict[int, int]] = {i: {} for i in neighbors}  # numbers near a block, counted
    queue = [(0, -len(near), i) for i, near in neighbors.items()]
    heapify(queue)
    # Choices so far: the block, and the numbers that are still to be tried.
    choices: list[tuple[int, list[int]]] = []
    used = 0

    taken: list[int] = []  # how often each number is

    def put(block: int, number: int) -> None:
        found[block] = number
        if number == len(taken):
            taken.append(0)
        taken[number] += 1
        for other in neighbors[block]:
            near = seen[other]
            near[number] = near.get(number, 0) + 1
            if other not in found:
                heappush(queue, (-len(near), -len(neighbors[other]), other))

    def take_back(block: int) -> None:
        number = found.pop(block)
        taken[number] -= 1
        while taken and not taken[-1]:
            taken.pop()
        for other in (*neighbors[block], block):
            near = seen[other]
            if other != block:
                near[number] -= 1
                if not near[number]:
                    del near[number]
            if other not in found:
                heappush(queue, (-len(near), -len(neighbors[other]), other))

    while len(found) < len(neighbors):
        saturation, _, block = heappop(queue)
        if block in found or -saturation != len(seen[block]):
            continue  # it was put there before something changed
        # Numbers are taken in their order: one that nobody has is as good as any other.
        free = [c for c in range(min(len(taken) + 1, limit)) if c not in seen[block]]
        choices.append((block, free[::-1]))
        while choices and not choices[-1][1]:
            failed, _ = choices.pop()
            heappush(queue, (-len(seen[failed]), -len(neighbors[failed]), failed))
            if not choices:
                return None, used
            used += 1
            if used > steps:
                return None, used
            take_back(choices[-1][0])
        block, left = choices[-1]
        put(block, left.pop())
    return found, used


def all_differ(apart: sp.csr_array, wanted: int) -> list[int]:
    """Blocks that all differ from one another, as many as are found easily, ``wanted`` at most."""
    degrees = np.diff(apart.indptr)
    best: list[int] = []
    for start in np.argsort(-degrees, kind="stable")[:50].tolist():
        clique, left = [start], set(_row(apart, start))
        while left and len(clique) < wanted:
            block = max(left, key=lambda i: (degrees[i], -i))
            clique.append(block)
            left &= set(_row(apart, block))
        if len(clique) > len(best):
            best = clique
        if len(best) >= wanted:
            break
    return best


# Groups that keep must-links and cannot-links, whatever found the groups.


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


# Groups that break pairs at a cost, and which they break.


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


# Where rows belong, by the groups of others: ridge regression of groups on a kernel's features.


# Rows whose kernel values are the features.
N_LANDMARKS = 200
# What λ is chosen from.
PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)
_N_DISTANCES = 10_000
# Rows of larger blocks are judged by all others: the block as a whole is sure of its group.
_LARGE_BLOCK = 30
# Logarithms of the sharpness of chances: from hardly anything to certain.
_LOG_SHARPNESS = (-2.0, 5.0)


def kernel_features(Z: Floats, seed: int, width: float = 1.0) -> Nystroem:
    """Features of a Gaussian kernel, as wide as rows are apart."""
    rng = check_random_state(seed)
    pairs = draw_links(len(Z), rng, _N_DISTANCES)
    squared = ((Z[pairs[:, 0]] - Z[pairs[:, 1]]) ** 2).sum(axis=1)
    usual = float(np.median(squared)) if len(squared) else 0.0
    apart = usual or float(squared.max(initial=0.0)) or 1.0
    gamma = 1 / (width**2 * apart)
    count = min(N_LANDMARKS, len(Z))
    return Nystroem(kernel="rbf", gamma=gamma, n_components=count, random_state=seed).fit(Z)


@dataclass(frozen=True)
class Placed:
    """Scores of groups.

    Attributes
    ----------
    scores : ndarray of shape (n, k)
        Of rows, by the groups of others.
    coefficients : ndarray of shape (m + 1, k)
        For rows like these: of their features and 1.
    error : float
        Mean squared error of the scores of rows that count in full.
    penalty : float
    """

    scores: Floats
    coefficients: Floats
    error: float
    penalty: float

    @property
    def costs(self) -> Floats:
        """What it costs rows to be in groups: nothing in the best."""
        return costs_of(self.scores)


def costs_of(scores: Floats) -> Floats:
    """What a row's best score has more than that of each group."""
    return np.asarray(scores.max(axis=1, keepdims=True) - scores)


def sharpness_of(scores: Floats, labels: Ints) -> float:
    """What scores are multiplied by, such that their softmax tells labels best."""

    def loss(log_sharpness: float) -> float:
        odds = np.exp(log_sharpness) * scores
        own = odds[np.arange(len(labels)), labels]
        return float((logsumexp(odds, axis=1) - own).mean())

    return float(np.exp(minimize_scalar(loss, bounds=_LOG_SHARPNESS, method="bounded").x))


class Placing:
    """Rows with their features and weights, ready for any groups.

    Parameters
    ----------
    features : ndarray of shape (n, m)
    blocks : Blocks
    weights : ndarray of shape (n,)
        How much rows count; 1 for those whose errors are counted.

    Notes
    -----
    O(n m²) time to make one, and O(n m k) for k groups; O(n m) memory.
    """

    def __init__(self, features: Floats, blocks: Blocks, weights: Floats) -> None:
        self.weights = weights
        self.roots = np.sqrt(weights)[:, None]
        self.U, self.s, self.Vt = np.linalg.svd(self.roots * features, full_matrices=False)
        self.blocks = [b for b in _by_size(blocks.of) if 1 < b.shape[1] <= _LARGE_BLOCK]
        self.counted = np.flatnonzero(weights == 1.0)
        self._without: dict[float, list[Floats]] = {}

    def place(self, labels: Ints, k: int, penalty: float | None = None) -> Placed:
        """Scores of k groups by labels of rows, with that penalty or the one of least error."""
        Y = np.zeros((len(labels), k))
        Y[np.arange(len(labels)), labels] = 1
        mean = self.weights @ Y / self.weights.sum()
        Y = self.roots * (Y - mean)
        along = self.U.T @ Y
        penalties = PENALTIES if penalty is None else (penalty,)
        tries = [(*self._without_own(Y, along, one), one) for one in penalties]
        residuals, error, penalty = min(tries, key=lambda one: one[1])
        B = self.Vt.T @ ((self.s / (self.s**2 + penalty))[:, None] * along)
        scores = (Y - residuals) / self.roots + mean
        return Placed(scores, np.vstack([B, mean]), error, penalty)

    def _without_own(self, Y: Floats, along: Floats, penalty: float) -> tuple[Floats, float]:
        """Residuals of rows, by scores that their blocks had no part in; and their mean square."""
        shrunk = self.s**2 / (self.s**2 + penalty)
        R = Y - self.U @ (shrunk[:, None] * along)
        if penalty not in self._without:
            of_rows = 1 / np.maximum(1 - (self.U**2) @ shrunk, 1e-9)
            self._without[penalty] = [of_rows, *(self._inverse(b, shrunk) for b in self.blocks)]
        alone, *inverses = self._without[penalty]
        found = np.asarray(alone[:, None] * R)
        for rows, inverse in zip(self.blocks, inverses, strict=True):
            found[rows] = inverse @ R[rows]
        error = float((found[self.counted] ** 2).sum() / max(len(self.counted), 1))
        return found, error

    def _inverse(self, rows: Ints, shrunk: Floats) -> Floats:
        """(I − H)⁻¹ of each of some blocks of one size."""
        U = self.U[rows]
        H = (U * shrunk) @ U.transpose(0, 2, 1)
        return np.linalg.inv((1 + 1e-9) * np.eye(rows.shape[1]) - H)


def _by_size(block: Ints) -> list[Ints]:
    """Rows of blocks, in one array (blocks, rows) for all blocks of a size."""
    order = np.argsort(block, kind="stable")
    starts = np.flatnonzero(np.diff(block[order], prepend=-1))
    sizes = np.diff(starts, append=len(order))
    return [order[starts[sizes == s][:, None] + np.arange(s)] for s in np.unique(sizes)]
