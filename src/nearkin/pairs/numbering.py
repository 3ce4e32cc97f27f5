"""Numbering pairs, so that they can be drawn or listed without going through all of them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Ints

# Tables with a place for each number are made for no more than so many times the numbers looked up
# there, and for more numbers than this.
_TABLE = 4
_FEW = 1000
# Row numbers up to this one fit in keys of pairs.
LARGEST_END = 2**31 - 1


def draw_numbers(population: int, count: int, rng: np.random.RandomState) -> Ints:
    """Draw distinct numbers below ``population``, in memory that grows with ``count`` alone."""
    if count == population:
        return np.arange(population)
    if 2 * count > population:
        return np.asarray(rng.permutation(population)[:count])
    drawn = np.empty(0, dtype=np.int64)
    while len(drawn) < count:
        more = rng.randint(population, size=count, dtype=np.int64)
        drawn = sorted_once(np.concatenate([drawn, more]))
    return np.asarray(rng.permutation(drawn)[:count])


def random_pairs(n_rows: int, rng: np.random.RandomState, count: int = 1000) -> Ints:
    """Draw about so many pairs of different rows, as an array of shape (k, 2)."""
    links = rng.randint(n_rows, size=(count, 2))
    return np.asarray(links[links[:, 0] != links[:, 1]])


def sorted_once(values: Ints) -> Ints:
    """Give each of some numbers from 0 once, sorted."""
    if values.size > _FEW and values.max() < _TABLE * values.size:
        seen = np.zeros(int(values.max()) + 1, dtype=bool)
        seen[values.ravel()] = True
        return np.flatnonzero(seen)
    # np.unique would hash, which is several times slower here than sorting.
    ordered = np.sort(values, axis=None)
    return np.asarray(ordered[np.diff(ordered, prepend=-1) > 0])


def positions_of(values: Ints, among: Ints) -> Ints:
    """Where each of some numbers stands among others, which are sorted and have all of them."""
    if values.size <= _FEW or among[-1] >= _TABLE * values.size:
        return np.asarray(np.searchsorted(among, values))
    place = np.empty(int(among[-1]) + 1, dtype=np.int64)  # a look is faster than a search
    place[among] = np.arange(len(among))
    return np.asarray(place[values])


def places_among(chosen: Ints) -> Callable[[Ints], Ints]:
    """A function that says where numbers stand among some, each of them once; −1 for others."""
    largest = int(chosen.max(initial=-1))
    if len(chosen) > _FEW and largest < _TABLE * len(chosen):
        place = np.full(largest + 2, -1)
        place[chosen] = np.arange(len(chosen))
        return lambda numbers: np.asarray(place[np.minimum(numbers, largest + 1)])
    order = np.argsort(chosen)
    ascending, positions = np.append(chosen[order], -1), np.append(order, -1)

    def found(numbers: Ints) -> Ints:
        at = np.searchsorted(ascending[:-1], numbers)
        return np.where(ascending[at] == numbers, positions[at], -1)

    return found


def in_order_of_appearance(numbers: NDArray[np.integer]) -> Ints:
    """Number anew from 0, in the order of first appearance."""
    first = np.full(int(numbers.max(initial=-1)) + 1, len(numbers))
    first[numbers[::-1]] = np.arange(len(numbers))[::-1]  # of several the last is kept
    return np.asarray(np.argsort(np.argsort(first))[numbers])


def pairs_within(numbers: Ints, starts: Ints, sizes: Ints) -> tuple[Ints, NDArray[np.intp]]:
    """Find the numbered pairs inside blocks of consecutive positions, and their blocks.

    All pairs inside the first block are numbered first, then those inside the second, and so on;
    inside a block (0, 1) comes first, then (0, 2), (1, 2), (0, 3), ...
    """
    block, local = _block_and_rest(numbers, sizes * (sizes - 1) // 2)
    # The rounded root may be one off either way: start one above, and come down in integers.
    second = (3 + np.sqrt(1 + 8.0 * local)).astype(np.int64) // 2
    for _ in range(2):
        second -= second * (second - 1) // 2 > local
    first = local - second * (second - 1) // 2
    return starts[block, None] + np.column_stack([first, second]), block


def pairs_across(
    numbers: Ints,
    starts: Ints,
    sizes: Ints,
    other_starts: Ints,
    other_sizes: Ints,
) -> tuple[Ints, NDArray[np.intp]]:
    """Find the numbered pairs between two blocks of positions each, and which two blocks."""
    block, local = _block_and_rest(numbers, sizes * other_sizes)
    first, second = np.divmod(local, other_sizes[block])
    return np.column_stack([starts[block] + first, other_starts[block] + second]), block


def _block_and_rest(numbers: Ints, counts: Ints) -> tuple[NDArray[np.intp], Ints]:
    ends = np.cumsum(counts)
    block = np.searchsorted(ends, numbers, side="right")
    return block, numbers - (ends - counts)[block]


def keys_of(pairs: NDArray[np.integer]) -> Ints:
    """One number for each unordered pair of numbers below 2³¹."""
    keys = np.minimum(pairs[:, 0], pairs[:, 1]).astype(np.int64)
    keys <<= 31
    keys |= np.maximum(pairs[:, 0], pairs[:, 1])
    return np.asarray(keys)


def ends_of(keys: Ints) -> Ints:
    """The pairs that :func:`keys_of` made keys of."""
    return np.column_stack([keys >> 31, keys & ((1 << 31) - 1)])
