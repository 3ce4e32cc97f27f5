"""Triplets (a, b, c): row a is nearer to row b than to row c.

Each orders two pairs of rows by their distances: {a, b} before {a, c}. What all of them say
together is a directed graph over pairs of rows, which distances can follow if it has no cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from nearkin._types import Doubles, Ints
from nearkin.errors import InputError
from nearkin.pairs.checks import as_tuple, first_true
from nearkin.pairs.closure import Groups
from nearkin.pairs.numbering import keys_of

# What a triplet weighs as a must-link and a cannot-link, beside pairs that say so themselves.
WEAK = 0.5


def refuse_repeated_points(triplets: Ints, item: str) -> None:
    """Raise if one of the triplets names a row twice: then it says nothing, or is impossible."""
    a, b, c = triplets.T
    if (bad := first_true((a == b) | (a == c) | (b == c))) is not None:
        raise InputError(
            f"{item} {bad} is {as_tuple(triplets[bad])}, which names a row twice: needed are three "
            "different rows, (a, b, c) for a nearer to b than to c"
        )


def normalised_triplets(triplets: Ints, weights: Doubles) -> tuple[Ints, Doubles]:
    """Sort triplets, and keep each once with its larger weight."""
    order = np.lexsort((weights, *triplets.T[::-1]))
    triplets, weights = triplets[order], weights[order]
    last = np.ones(len(order), dtype=bool)
    last[:-1] = (triplets[1:] != triplets[:-1]).any(axis=1)
    return triplets[last], weights[last]


class TripletCircle(NamedTuple):
    """Triplets that no distances can follow: each distance is less than the next, in a circle.

    Attributes
    ----------
    triplets : tuple of (a, b, c)
        In the order of the circle, the one that closes it last: without this one, it is open.

    Examples
    --------
    >>> from nearkin import Pairs
    >>> Pairs(closer=[(0, 1, 2), (0, 2, 1)]).conflicts()[0].triplets
    ((0, 1, 2), (0, 2, 1))
    """

    triplets: tuple[tuple[int, int, int], ...]

    def __str__(self) -> str:
        return self.told()

    def told(self, name: Callable[[int], str] = str) -> str:
        """Which distances are said to be less than which, with rows by their names.

        Examples
        --------
        >>> from nearkin import Pairs
        >>> Pairs(closer=[(0, 1, 2), (0, 2, 1)]).conflicts()[0].told("abc".__getitem__)
        'd(a, b) < d(a, c) < d(a, b) by triplets'
        """
        way = [(a, b) for a, b, _ in self.triplets]
        links = [tuple(sorted(link)) for link in [*way, way[0]]]
        return " < ".join(f"d({name(i)}, {name(j)})" for i, j in links) + " by triplets"


@dataclass(frozen=True)
class Order:
    """What triplets say together, as a graph over pairs of rows, less what closes no circle.

    Attributes
    ----------
    triplets : int ndarray of shape (k, 3)
        Those that are in some circle.
    before : sparse array of shape (m, m)
        Which pairs of rows are nearer than which; values are numbers of triplets, from 1.
    closing : list of (int, int)
        Ends of the arcs without which there is no circle.
    """

    triplets: Ints
    before: csr_array
    closing: list[tuple[int, int]]

    def circle(self, near: int, far: int) -> TripletCircle:
        """The shortest circle that an arc closes."""
        _, parents = breadth_first_order(self.before, far, directed=True)
        way = [near]
        while way[-1] != far:
            way.append(int(parents[way[-1]]))
        arcs = [*zip(way[:0:-1], way[-2::-1], strict=True), (near, far)]
        numbers = [int(self.before[i, j]) - 1 for i, j in arcs]
        return TripletCircle(tuple(tuple(self.triplets[number].tolist()) for number in numbers))


def circles_in(triplets: Ints) -> Order:
    """Find the circles of triplets that no distances can follow; O(k) time for k triplets."""
    ends = np.stack([keys_of(triplets[:, [0, 1]]), keys_of(triplets[:, [0, 2]])])
    near, far, n = _numbered(ends)
    graph = csr_array((np.ones(len(near)), (near, far)), shape=(n, n))
    _, part = connected_components(graph, directed=True, connection="strong")
    within = part[near] == part[far]
    triplets = triplets[within]
    near, far, n = _numbered(ends[:, within])
    before = csr_array((np.arange(1, len(near) + 1), (near, far)), shape=(n, n))
    return Order(triplets, before, _backward_arcs(before))


def _numbered(ends: Ints) -> tuple[Ints, Ints, int]:
    pairs, numbers = np.unique(ends, return_inverse=True)
    near, far = numbers.reshape(ends.shape)
    return near, far, len(pairs)


def _backward_arcs(graph: csr_array) -> list[tuple[int, int]]:
    """Arcs that a search in depth meets from below; without them there is no circle."""
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


def against_pairs(triplets: Ints, groups: Groups) -> list[str]:
    """The triplets that pairs contradict: said to be nearer to what differs than to what is alike.

    Of what follows from pairs, too.
    """
    if not len(triplets):
        return []
    near, far = triplets[:, [0, 1]], triplets[:, [0, 2]]
    wrong = groups.differ(near) & groups.alike(far)
    return [
        f"triplet ({a}, {b}, {c}), yet rows {a} and {b} differ and rows {a} and {c} are alike"
        for a, b, c in triplets[wrong].tolist()
    ]


def against_labels(triplets: Ints, classes: NDArray[np.integer]) -> list[str]:
    """The triplets that labels contradict: said to be nearer to another class than to their own."""
    a, b, c = classes[triplets].T
    wrong = (a == c) & (a != b) & (classes[triplets] >= 0).all(axis=1)
    return [
        f"triplet ({a}, {b}, {c}) of rows {a} and {b} with different labels and rows {a} and {c} "
        "with equal ones"
        for a, b, c in triplets[wrong].tolist()
    ]
