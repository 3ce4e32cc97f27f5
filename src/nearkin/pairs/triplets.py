"""Triplets (a, b, c): row a is nearer to row b than to row c.

Each orders two pairs of rows by their distances: {a, b} before {a, c}. What all of them say
together is a directed graph over pairs of rows, which distances can follow if it has no cycle.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, connected_components

from nearkin.errors import InputError
from nearkin.pairs.checks import as_tuple, first_true
from nearkin.pairs.closure import Groups
from nearkin.pairs.numbering import ends_of, keys_of
from nearkin.rows.arrays import Doubles, Ints

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


def refuse_cycles(triplets: Ints, ids: Sequence[Any] | None = None) -> None:
    """Raise if no distances can follow the triplets, and name a cycle of them.

    By row numbers, or by what rows are called.
    """
    if not len(triplets):
        return
    ends = np.stack([keys_of(triplets[:, [0, 1]]), keys_of(triplets[:, [0, 2]])])
    pairs, numbers = np.unique(ends, return_inverse=True)
    near, far = numbers.reshape(ends.shape)
    n = len(pairs)
    before = csr_array((np.ones(len(near)), (near, far)), shape=(n, n))
    n_strong, part = connected_components(before, directed=True, connection="strong")
    if n_strong == n:  # every pair has a place of its own in some order
        return
    within = np.flatnonzero(part[near] == part[far])
    start, goal = int(far[within[0]]), int(near[within[0]])
    _, parents = breadth_first_order(before, start, directed=True)
    way = [goal]
    while way[-1] != start:
        way.append(int(parents[way[-1]]))
    circle = [goal, *way[::-1]]
    names = range(int(triplets.max()) + 1) if ids is None else ids
    said = " < ".join(f"d({names[i]}, {names[j]})" for i, j in ends_of(pairs[circle]).tolist())
    raise InputError(
        f"triplets contradict each other: {said}, which no distances can follow. Leave out one of "
        "them."
    )


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
