"""What follows from pairs and triplets: groups, pairs between these, and contradictions.

Must-links are transitive: rows that chains of them join are a group. A cannot-link holds between
all rows of the one and all of the other group; one inside a group contradicts it. A triplet says
that one distance is less than another; a circle of them contradicts itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from nearkin._types import Doubles, Integers, Ints, Mask, Rng
from nearkin.errors import InputError

# Tables with a place for each number are made for no more than so many times the numbers looked up
# there, and for more numbers than this.
_TABLE = 4
_FEW = 1000
# Row numbers up to this one fit in keys of pairs.
LARGEST_END = 2**31 - 1


def draw_numbers(population: int, count: int, rng: Rng) -> Ints:
    """Draw ``count`` distinct numbers below ``population``, in memory that grows with ``count``."""
    if count == population:
        return np.arange(population)
    if 2 * count > population:
        return np.asarray(rng.permutation(population)[:count])
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < count:
        more = rng.randint(population, size=count, dtype=np.int64)
        drawn = sort_distinct(np.concatenate([drawn, more]))
    return np.asarray(rng.permutation(drawn)[:count])


def draw_links(n_rows: int, rng: Rng, count: int = 1000) -> Ints:
    """Draw ``count`` random pairs of rows, and drop those of a row with itself: shape (k, 2)."""
    links = rng.randint(n_rows, size=(count, 2))
    return np.asarray(links[links[:, 0] != links[:, 1]])


def sort_distinct(values: Ints) -> Ints:
    """Return the distinct values of an array of numbers from 0, sorted."""
    if values.size > _FEW and values.max() < _TABLE * values.size:
        seen = np.zeros(int(values.max()) + 1, dtype=bool)
        seen[values.ravel()] = True
        return np.flatnonzero(seen)
    # np.unique would hash, which is several times slower here than sorting.
    ordered = np.sort(values, axis=None)
    return np.asarray(ordered[np.diff(ordered, prepend=-1) > 0])


def find_positions(values: Ints, among: Ints) -> Ints:
    """Positions of ``values`` in the sorted array ``among``, which has all of them."""
    if values.size <= _FEW or among[-1] >= _TABLE * values.size:
        return np.asarray(np.searchsorted(among, values))
    place = np.empty(int(among[-1]) + 1, dtype=np.int64)  # a look is faster than a search
    place[among] = np.arange(len(among))
    return np.asarray(place[values])


def index_places(chosen: Ints) -> Callable[[Ints], Ints]:
    """Return a function from numbers to their positions in ``chosen`` (distinct), −1 for others."""
    largest = int(chosen.max(initial=-1))
    if len(chosen) > _FEW and largest < _TABLE * len(chosen):
        place = np.full(largest + 2, -1)
        place[chosen] = np.arange(len(chosen))
        return lambda numbers: np.asarray(place[np.minimum(numbers, largest + 1)])
    order = np.argsort(chosen)
    ascending, positions = np.append(chosen[order], -1), np.append(order, -1)

    def look_up(numbers: Ints) -> Ints:
        at = np.searchsorted(ascending[:-1], numbers)
        return np.where(ascending[at] == numbers, positions[at], -1)

    return look_up


def number_by_appearance(numbers: Integers) -> Ints:
    """Renumber group numbers from 0, in the order in which groups first appear."""
    first = np.full(int(numbers.max(initial=-1)) + 1, len(numbers))
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # of several the last is kept
    return np.asarray(np.argsort(np.argsort(first))[numbers])


def list_pairs_within(numbers: Ints, starts: Ints, sizes: Ints) -> tuple[Ints, NDArray[np.intp]]:
    """Convert running numbers to pairs of positions in one block, (k, 2), and block numbers, (k,).

    Blocks are runs of consecutive positions. Pairs inside the first block are numbered first;
    inside a block (0, 1) comes first, then (0, 2), (1, 2), (0, 3), ...
    """
    block, local = _split_numbers(numbers, sizes * (sizes - 1) // 2)
    # The rounded root may be one off either way: start one above, and come down in integers.
    second = (3 + np.sqrt(1 + 8.0 * local)).astype(np.int64) // 2
    for _ in range(2):
        second -= second * (second - 1) // 2 > local
    first = local - second * (second - 1) // 2
    return starts[block, None] + np.column_stack([first, second]), block


def list_pairs_across(
    numbers: Ints, starts: Ints, sizes: Ints, other_starts: Ints, other_sizes: Ints
) -> tuple[Ints, NDArray[np.intp]]:
    """Convert running numbers to pairs of positions in two blocks, and numbers of block pairs.

    Block pair b joins positions from ``starts[b]`` with positions from ``other_starts[b]``.
    """
    block, local = _split_numbers(numbers, sizes * other_sizes)
    first, second = np.divmod(local, other_sizes[block])
    return np.column_stack([starts[block] + first, other_starts[block] + second]), block


def _split_numbers(numbers: Ints, counts: Ints) -> tuple[NDArray[np.intp], Ints]:
    """Split running numbers into the block and the number inside it; ``counts`` are block sizes."""
    ends = np.cumsum(counts)
    block = np.searchsorted(ends, numbers, side="right")
    return block, numbers - (ends - counts)[block]


def keys_of(pairs: Integers) -> Ints:
    """Encode unordered pairs of numbers below 2³¹, of shape (k, 2), as one integer key each."""
    keys = np.minimum(pairs[:, 0], pairs[:, 1]).astype(np.int64)
    keys <<= 31
    keys |= np.maximum(pairs[:, 0], pairs[:, 1])
    return np.asarray(keys)


def ends_of(keys: Ints) -> Ints:
    """Decode keys of :func:`keys_of` to pairs of shape (k, 2), the smaller number first."""
    return np.column_stack([keys >> 31, keys & ((1 << 31) - 1)])


class Conflict(NamedTuple):
    """A cannot-link between two rows that must-links connect.

    Attributes
    ----------
    cannot_link : tuple of two ints
        The two rows said to differ.
    chain : tuple of ints
        Rows from one end to the other; each two neighbours are a given must-link.

    Examples
    --------
    >>> from nearkin import Pairs
    >>> conflict = Pairs([(3, 5), (5, 9)], [(3, 9)]).conflicts()[0]
    >>> conflict.cannot_link, conflict.chain
    ((3, 9), (3, 5, 9))
    >>> conflict.told("abcdefghij".__getitem__)
    'rows d and j cannot be linked, yet d = f = j by must-links'
    """

    cannot_link: tuple[int, int]
    chain: tuple[int, ...]

    def told(self, name: Callable[[int], str] = str) -> str:
        """Say what contradicts what, with rows by their names."""
        first, second = map(name, self.cannot_link)
        chain = " = ".join(map(name, self.chain))
        return f"rows {first} and {second} cannot be linked, yet {chain} by must-links"

    def __str__(self) -> str:
        return self.told()


@dataclass(frozen=True)
class PairGroups:
    """Rows that must-links tie together, and which groups cannot-links tell apart."""

    points: Ints  # rows that some pair names, increasing
    number: Ints  # group of each, from 0 by first rows; a row without a must-link is one
    must: Ints  # group of the rows of each must-link
    cannot: Ints  # groups of the two rows of each cannot-link, (l, 2)

    @property
    def count(self) -> int:
        """Number of groups."""
        return int(self.number.max(initial=-1)) + 1

    @cached_property
    def differing(self) -> Ints:
        """Keys (:func:`keys_of`) of the pairs of groups between which there is a cannot-link."""
        return np.unique(keys_of(self.cannot))

    @property
    def contradicted(self) -> Mask:
        """Mask of the cannot-links whose two rows are in one group."""
        return np.asarray(self.cannot[:, 0] == self.cannot[:, 1])

    def of(self, rows: Ints) -> Ints:
        """Group number of each row, in the shape of ``rows``; −1 for a row that no pair names."""
        place = np.searchsorted(self.points, rows)
        named = np.append(self.points, -1)[place] == rows
        return np.where(named, np.append(self.number, -1)[place], -1)

    def alike(self, links: Ints) -> Mask:
        """Mask of the pairs whose rows are in one group, so alike as given or inferred."""
        ends = self.of(links)
        return np.asarray((ends[:, 0] == ends[:, 1]) & (ends[:, 0] >= 0))

    def differ(self, links: Ints) -> Mask:
        """Mask of the pairs between whose groups there is a cannot-link; they may also be alike."""
        ends = self.of(links)
        return np.isin(keys_of(ends), self.differing) & (ends >= 0).all(axis=1)

    def tell(self, links: Ints) -> Mask:
        """Mask of the pairs that are known to be alike or to differ, as given or inferred."""
        return self.alike(links) | self.differ(links)


def find_groups(points: Ints, must_link: Ints, cannot_link: Ints) -> PairGroups:
    """Group the rows that pairs name (``points``, increasing) by must-links."""
    links = find_positions(must_link, points)
    _, labels = connected_components(build_graph(links, len(points)), directed=False)
    number = number_by_appearance(labels)
    return PairGroups(
        points, number, number[links[:, 0]], number[find_positions(cannot_link, points)]
    )


def find_chunklets(must_link: Ints, classes: Integers | None) -> tuple[Any, Any]:
    """Row numbers that must-links or a class (not −1) tie to others, and the group of each."""
    links = [must_link]
    if classes is not None:
        known = np.flatnonzero(classes >= 0)
        if not len(must_link):
            shared = known[np.bincount(classes[known])[classes[known]] > 1]
            return shared, number_by_appearance(classes[shared])
        order = known[np.argsort(classes[known], kind="stable")]
        chain = np.column_stack([order[:-1], order[1:]])
        links.append(chain[classes[chain[:, 0]] == classes[chain[:, 1]]])
    joined = np.concatenate(links)
    groups = find_groups(sort_distinct(joined), joined, joined[:0])
    return groups.points, groups.number


def spread_labels(classes: Integers, groups: PairGroups) -> Ints:
    """Give rows without a label the class that their must-linked group has; −1 stays unknown.

    Labelled rows keep theirs; others in a group with several labels stay unknown.
    """
    spread = classes.astype(np.int64)
    at_points = spread[groups.points]
    labelled = at_points >= 0
    least, most = np.full(groups.count, np.iinfo(np.int64).max), np.full(groups.count, -1)
    np.minimum.at(least, groups.number[labelled], at_points[labelled])
    np.maximum.at(most, groups.number[labelled], at_points[labelled])
    shared = np.where(least == most, most, -1)
    spread[groups.points] = np.where(labelled, at_points, shared[groups.number])
    return spread


def infer_pairs(
    groups: PairGroups, must: tuple[Ints, Doubles], cannot: tuple[Ints, Doubles], max_pairs: int
) -> tuple[Any, ...]:
    """Return given and inferred must-links, their weights, cannot-links, and their weights.

    Weights are as :meth:`nearkin.Pairs.closure` says; more than ``max_pairs`` are refused.
    """
    members = groups.points[np.argsort(groups.number)]
    sizes = np.bincount(groups.number)
    starts = np.cumsum(sizes) - sizes
    weakest = np.full(len(sizes), np.inf)
    np.minimum.at(weakest, groups.must, must[1])
    spread = ~groups.contradicted
    differing, strongest = normalise_pairs(groups.cannot[spread], cannot[1][spread])
    one, two = differing.T

    n_must = int((sizes * (sizes - 1) // 2).sum())
    n_between = int((sizes[one] * sizes[two]).sum())
    total = n_must + n_between + int((~spread).sum())
    if total > max_pairs:
        raise InputError(
            f"the closure has {total:,} pairs, more than max_pairs={max_pairs:,}; components() "
            "tells the same without listing them"
        )
    within, block = list_pairs_within(np.arange(n_must), starts, sizes)
    # The larger weight is that of the given pair: nothing inferred is stronger.
    all_must = normalise_pairs(
        np.concatenate([must[0], members[within]]), np.concatenate([must[1], weakest[block]])
    )
    between, block = list_pairs_across(
        np.arange(n_between), starts[one], sizes[one], starts[two], sizes[two]
    )
    strength = np.minimum(strongest, np.minimum(weakest[one], weakest[two]))
    all_cannot = normalise_pairs(
        np.concatenate([cannot[0], members[between]]),
        np.concatenate([cannot[1], strength[block]]),
        keep_first=True,
    )
    return *all_must, *all_cannot


def find_contradictions(groups: PairGroups, must_link: Ints, cannot_link: Ints) -> list[Conflict]:
    """Find the cannot-links inside groups, each with a chain of must-links from end to end."""
    points = groups.points
    ends = find_positions(cannot_link[groups.contradicted], points)
    if not len(ends):
        return []
    # A root joined to one point of each group lets a single search reach all of them.
    links, root = find_positions(must_link, points), len(points)
    first = np.empty(groups.count, dtype=np.int64)
    first[groups.number[::-1]] = np.arange(root)[::-1]
    to_root = np.column_stack([first, np.full(len(first), root)])
    forest = build_graph(np.concatenate([links, to_root]), root + 1)
    order, parents = breadth_first_order(forest, root, directed=False)

    given_as_both = np.isin(ends @ [root, 1], links @ [root, 1]).tolist()
    rank = np.empty(root + 1, dtype=np.int64)
    rank[order] = np.arange(root + 1)
    found = []
    for (start, end), direct in zip(ends.tolist(), given_as_both, strict=True):
        chain = [start, end] if direct else _find_path(start, end, parents, rank)
        first_row, last_row = points[[start, end]].tolist()
        found.append(Conflict((first_row, last_row), tuple(points[chain].tolist())))
    return found


def normalise_pairs(
    pairs: Ints, weights: Doubles, *, keep_first: bool = False
) -> tuple[Ints, Doubles]:
    """Sort pairs, smaller rows first, without duplicates; the largest or first weight stays."""
    if len(pairs) and pairs.max() > LARGEST_END:
        links = np.sort(pairs, axis=1)  # two row numbers do not fit in one key
        order = np.lexsort(links.T[::-1])
        return _merge_equal(links[order], weights[order], keep_first)
    keys = keys_of(pairs)
    if len(weights) == 0 or weights.min() == weights.max():  # whichever is kept, it is the same
        keys = sort_distinct(keys)
        return ends_of(keys), weights[: len(keys)].copy()
    order = np.argsort(keys, kind="stable")
    return _merge_equal(ends_of(keys[order]), weights[order], keep_first)


def normalise_triplets(triplets: Ints, weights: Doubles) -> tuple[Ints, Doubles]:
    """Sort triplets and drop duplicates; return triplets and the largest weight of each."""
    order = np.lexsort(triplets.T[::-1])
    return _merge_equal(triplets[order], weights[order])


def normalise_graded(pairs: Ints, told: Doubles) -> tuple[Ints, Doubles]:
    """Sort graded pairs, smaller rows first, each once with the larger of its weights.

    ``told`` (k, 2) are grades and weights. A pair that has two grades is refused.
    """
    links = np.sort(pairs, axis=1)
    order = np.lexsort((told[:, 0], *links.T[::-1]))
    links, told = links[order], told[order]
    again = (links[1:] == links[:-1]).all(axis=1)
    apart = again & (told[1:, 0] != told[:-1, 0])
    if apart.any():
        bad = int(apart.argmax())
        low, high = told[bad : bad + 2, 0]
        raise InputError(
            f"the pair {tuple(links[bad].tolist())} has two grades, {low:g} and {high:g}: give "
            "one, such as their mean"
        )
    merged, weight = _merge_equal(links, told[:, 1])
    fresh = np.concatenate([[True], ~again])[: len(links)]
    return merged, np.column_stack([told[fresh, 0], weight])


def _merge_equal(links: Ints, weights: Doubles, keep_first: bool = False) -> tuple[Ints, Doubles]:
    """Drop duplicates of sorted pairs or triplets; keep the largest or the first weight of each."""
    fresh = np.ones(len(links), dtype=bool)
    fresh[1:] = (links[1:] != links[:-1]).any(axis=1)
    firsts = np.flatnonzero(fresh)
    if keep_first or len(firsts) == len(fresh):
        weights = weights[firsts]
    else:
        weights = np.maximum.reduceat(weights, firsts)
    return links[firsts], weights


def build_graph(links: Integers, n_nodes: int) -> Any:
    """Sparse adjacency matrix with an arc from the first to the second node of each link."""
    return csr_array((np.ones(len(links)), (links[:, 0], links[:, 1])), shape=(n_nodes, n_nodes))


def _find_path(start: int, end: int, parent: Any, rank: Ints) -> list[int]:
    """Nodes on the way between two nodes of a tree, whose nodes rank above their parents."""
    up, down = [start], [end]
    while up[-1] != down[-1]:
        # The higher ranked of two nodes is no ancestor of the other, so the way goes up from it.
        path = up if rank[up[-1]] > rank[down[-1]] else down
        path.append(int(parent[path[-1]]))
    return up + down[-2::-1]


class TripletCircle(NamedTuple):
    """Triplets that no distances can follow: each distance is less than the next, in a circle.

    Attributes
    ----------
    triplets : tuple of (a, b, c)
        In the order of the circle, the one that closes it last: without this one, it is open.

    Examples
    --------
    >>> from nearkin import Pairs
    >>> circle = Pairs(closer=[(0, 1, 2), (0, 2, 1)]).conflicts()[0]
    >>> circle.triplets, circle.told("abc".__getitem__)
    (((0, 1, 2), (0, 2, 1)), 'd(a, b) < d(a, c) < d(a, b) by triplets')
    """

    triplets: tuple[tuple[int, int, int], ...]

    def told(self, name: Callable[[int], str] = str) -> str:
        """Say which distances are less than which, with rows by their names."""
        way = [(a, b) for a, b, _ in self.triplets]
        links = [tuple(sorted(link)) for link in [*way, way[0]]]
        return " < ".join(f"d({name(i)}, {name(j)})" for i, j in links) + " by triplets"

    def __str__(self) -> str:
        return self.told()


@dataclass(frozen=True)
class CirclesOfTriplets:
    """Triplets that are in circles, as arcs of a graph whose nodes are pairs of rows."""

    triplets: Ints  # those in some circle, (k, 3)
    before: csr_array  # which pairs are nearer than which, (m, m): numbers of triplets, from 1
    closing: list[tuple[int, int]]  # ends of the arcs without which there is no circle

    def circle(self, near: int, far: int) -> TripletCircle:
        """Find the shortest circle that the arc from ``near`` to ``far`` closes."""
        _, parents = breadth_first_order(self.before, far, directed=True)
        way = [near]
        while way[-1] != far:
            way.append(int(parents[way[-1]]))
        arcs = [*zip(way[:0:-1], way[-2::-1], strict=True), (near, far)]
        numbers = [int(self.before[i, j]) - 1 for i, j in arcs]
        return TripletCircle(tuple(tuple(self.triplets[number].tolist()) for number in numbers))


def find_circles(triplets: Ints) -> CirclesOfTriplets:
    """Find circles of triplets, which no distances can satisfy; O(k) time for k triplets."""
    ends = np.stack([keys_of(triplets[:, [0, 1]]), keys_of(triplets[:, [0, 2]])])
    near, far, n = _number_pairs(ends)
    graph = build_graph(np.column_stack([near, far]), n)
    _, part = connected_components(graph, directed=True, connection="strong")
    within = part[near] == part[far]
    triplets = triplets[within]
    near, far, n = _number_pairs(ends[:, within])
    before = csr_array((np.arange(1, len(near) + 1), (near, far)), shape=(n, n))
    return CirclesOfTriplets(triplets, before, _find_backward_arcs(before))


def _number_pairs(ends: Ints) -> tuple[Ints, Ints, int]:
    """Number the pairs with these keys: nearer ones, farther ones, and how many there are."""
    pairs, numbers = np.unique(ends, return_inverse=True)
    near, far = numbers.reshape(ends.shape)
    return near, far, len(pairs)


def _find_backward_arcs(graph: csr_array) -> list[tuple[int, int]]:
    """Find the back edges of a depth-first search; without them there is no circle."""
    ahead = [iter(part.tolist()) for part in np.split(graph.indices, graph.indptr[1:-1])]
    state = [0] * len(ahead)  # 1 on the way, 2 done
    found: list[tuple[int, int]] = []
    for root in range(len(ahead)):
        way = [root] if state[root] == 0 else []
        while way:
            state[way[-1]] = 1
            following = next(ahead[way[-1]], None)
            if following is None:
                state[way.pop()] = 2
            elif state[following] == 1:
                found.append((way[-1], following))
            elif state[following] == 0:
                way.append(following)
    return found


def find_triplets_against_pairs(triplets: Ints, groups: PairGroups) -> list[str]:
    """Messages about triplets whose nearer row differs while the farther is alike, by the pairs."""
    if not len(triplets):
        return []
    near, far = triplets[:, [0, 1]], triplets[:, [0, 2]]
    wrong = groups.differ(near) & groups.alike(far)
    return [
        f"triplet ({a}, {b}, {c}), yet rows {a} and {b} differ and rows {a} and {c} are alike"
        for a, b, c in triplets[wrong].tolist()
    ]


def find_triplets_against_labels(triplets: Ints, classes: Integers) -> list[str]:
    """Messages about triplets whose farther row is of the anchor's class, the nearer of another."""
    a, b, c = classes[triplets].T
    wrong = (a == c) & (a != b) & (classes[triplets] >= 0).all(axis=1)
    return [
        f"triplet ({a}, {b}, {c}) of rows {a} and {b} with different labels and rows {a} and {c} "
        "with equal ones"
        for a, b, c in triplets[wrong].tolist()
    ]
