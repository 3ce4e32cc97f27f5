r"""Pairs of records that may be the same thing, without comparing all with all.

Records are brought in order again and again, each time by three of their grams that a random order
of all grams puts first, rare ones rather than common ones: those that share many grams often come
to stand side by side. Neighbours in an order are compared by what they share, and the best few
others of each record are kept. Records that are equal in everything stand for one another: one of
them is compared with others, and the rest with it.

Records that share a rare value of one column are candidates too, so that a phone number is enough
where all else is broken.

The more orders and columns two records met in, the less likely they could be missed; how many were
never met is estimated from how many met once and twice (A. Chao, 1987).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats, Ints, Mask
from nearkin.pairs.answers import Estimate
from nearkin.pairs.closure import ends_of, keys_of, sorted_once
from nearkin.records.grams import Grams, Words, grams_of, is_searched
from nearkin.records.views import pairs_of_rare_values, value_keys
from nearkin.rows.parallel import blocks, compiled, for_each_block
from nearkin.tables.reading import Column

# Up to so many records, more orders and wider neighbourhoods cost next to nothing.
_FEW = 20_000
_ORDERS, _ORDERS_OF_FEW = 32, 48
_AROUND, _AROUND_OF_FEW = 3, 12
# Records of an order that one thread goes through; neighbours in two blocks do not meet.
BLOCK = 1 << 16
_MASK = (1 << 21) - 1
# Standard deviations to either end of an interval.
_SPREAD = 1.645

Halves = NDArray[np.float32]


class Best(NamedTuple):
    """The best others of each record so far, the best first: arrays of shape (n, n_best).

    Attributes
    ----------
    others : int32 ndarray
        −1 where there is none.
    overlap : float32 ndarray
    met : int16 ndarray
        In how many of the orders they met.
    """

    others: NDArray[np.int32]
    overlap: Halves
    met: NDArray[np.int16]


@dataclass(frozen=True)
class Candidates:
    """Pairs of records that may be the same thing.

    Attributes
    ----------
    pairs : int64 ndarray of shape (k, 2)
        The smaller number first, in order.
    overlap : float32 ndarray of shape (k,)
        Cosine of their grams' weights: 1 if they share all.
    met : int16 ndarray of shape (k,)
        In how many of the orders they met.
    views : int16 ndarray of shape (k,)
        Of how many columns they share a rare value. Copies, which are not searched, have 0 here
        and in ``met``.
    n_records : int
    """

    pairs: Ints
    overlap: Halves
    met: NDArray[np.int16]
    views: NDArray[np.int16]
    n_records: int

    def __len__(self) -> int:
        return len(self.pairs)


def candidates_of(
    columns: Sequence[Column],
    n_best: int = 10,
    *,
    side: Mask | None = None,
    seed: int = 0,
) -> Candidates:
    """Find the pairs of records that may be the same thing.

    Parameters
    ----------
    columns : list of Column
    n_best : int, default=10
        Others that are kept of each record: those that share most with it. Those that share a rare
        value are kept beside them, for each column one more a record on average at most.
    side : bool ndarray of shape (n,), optional
        Which of two tables each record is from; pairs are of one from each then.
    seed : int
        Of the random orders.

    Notes
    -----
    O(n log n) time, some tens of microseconds a record on one core; memory: the texts as bytes, 4
    bytes a gram, and 12 ``n_best`` bytes for each record.
    """
    first = first_of_equal(columns, side)
    alone = np.flatnonzero(first == np.arange(len(first)))
    kept = [Column(c.name, c.kind, c.values[alone]) for c in columns]
    sides = np.zeros(len(alone), dtype=np.int8)
    if side is not None:
        sides = 1 + side[alone].astype(np.int8)
    grams = grams_of(kept)
    met = _best(grams, n_best, sides, seed)
    by_column = [pairs_of_rare_values(value_keys(c), sides) for c in kept if is_searched(c)]
    return with_copies(united(met, by_column, partial(overlaps, grams)), first, side)


def united(
    found: Candidates, by_column: Sequence[Ints], overlaps: Callable[[Ints], Halves]
) -> Candidates:
    """Pairs that met in orders and those that share a rare value, each once, in order.

    Parameters
    ----------
    found : Candidates
        That met in orders.
    by_column : list of int64 ndarray
        Of each column, as :func:`nearkin.records.views.pairs_of_rare_values` gives them.
    overlaps : callable
        Of pairs that did not meet in orders.
    """
    of_orders = keys_of(found.pairs)
    keys = sorted_once(np.concatenate([of_orders, *by_column]))
    met, overlap = np.zeros(len(keys), np.int16), np.zeros(len(keys), np.float32)
    place = np.searchsorted(keys, of_orders)
    met[place], overlap[place] = found.met, found.overlap
    del of_orders, place
    views = np.zeros(len(keys), dtype=np.int16)
    for shared in by_column:
        views[np.searchsorted(keys, shared)] += 1
    pairs = ends_of(keys)
    new = np.flatnonzero(met == 0)
    overlap[new] = overlaps(pairs[new])
    return Candidates(pairs, overlap, met, views, found.n_records)


def overlaps(grams: Grams, pairs: Ints) -> Halves:
    """Cosine of the weights of two records' grams, for pairs of records."""
    lengths = lengths_of(grams)
    out = np.zeros(len(pairs), dtype=np.float32)

    def fill(part: slice) -> None:
        _cosines(grams.words, grams.ends, lengths, pairs[part], out[part])

    for_each_block(fill, len(pairs), BLOCK)
    return out


def with_copies(found: Candidates, first: Ints, side: Mask | None) -> Candidates:
    """Candidates among all records, from those among records that differ.

    Parameters
    ----------
    found : Candidates
        Of the records that are no copies, by their numbers among these.
    first : int64 ndarray of shape (n,)
        For each record the first one that is equal to it.
    side : bool ndarray of shape (n,) or None
    """
    is_copy = first != np.arange(len(first))
    copies = np.flatnonzero(is_copy)
    pairs = np.flatnonzero(~is_copy)[found.pairs]
    if side is None:
        more = np.column_stack([first[copies], copies])
        shared = np.ones(len(more), dtype=np.float32)
    else:
        more, of = _pairs_of_copies(pairs, first[copies], copies)
        shared = found.overlap[of]
    order = np.argsort(keys_of(more), kind="stable")
    place = np.searchsorted(keys_of(pairs), keys_of(more)[order])
    return Candidates(
        np.insert(pairs, place, more[order], axis=0),
        np.insert(found.overlap, place, shared[order]),
        np.insert(found.met, place, 0),
        np.insert(found.views, place, 0),
        len(first),
    )


def _pairs_of_copies(pairs: Ints, originals: Ints, copies: Ints) -> tuple[Ints, Ints]:
    """The pairs of copies with those that their originals are paired with, and these pairs."""
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    order = np.argsort(ends[:, 0], kind="stable")
    ends = ends[order]
    start, stop = (np.searchsorted(ends[:, 0], originals, side) for side in ("left", "right"))
    count = stop - start
    place = np.repeat(start - np.cumsum(count) + count, count) + np.arange(count.sum())
    found = np.column_stack([np.repeat(copies, count), ends[place, 1]])
    return np.sort(found, axis=1), order[place] % max(len(pairs), 1)


def first_of_equal(columns: Sequence[Column], side: Mask | None = None) -> Ints:
    """For each record the first one that is equal to it in all columns, as a rule itself."""
    n = len(columns[0]) if columns else 0
    codes = np.zeros(n, dtype=np.int64) if side is None else side.astype(np.int64)
    for column in columns:
        if column.kind in ("ignored", "vector"):
            continue
        codes = codes * np.int64(n + 1) + codes_of(column)
        codes = np.unique(codes, return_inverse=True)[1].astype(np.int64).ravel()
    _, first, which = np.unique(codes, return_index=True, return_inverse=True)
    return np.asarray(first[which.ravel()], dtype=np.int64)


def codes_of(column: Column) -> Ints:
    """Number the different values of a column from 1 on, and missing ones 0."""
    if column.values.dtype.kind == "f":
        found, codes = np.unique(column.values, return_inverse=True)
        return np.where(np.isnan(found)[codes], 0, codes + 1).astype(np.int64)
    numbers: dict[str | None, int] = {None: 0}
    given = column.values.tolist()
    return np.array([numbers.setdefault(value, len(numbers)) for value in given], dtype=np.int64)


def _best(grams: Grams, n_best: int, sides: NDArray[np.int8], seed: int) -> Candidates:
    """Pairs of each record and the others that share most with it, among those that it met."""
    n = len(grams)
    n_orders, around = orders_for(n)
    lengths = lengths_of(grams)
    best = nobody_yet(n, n_best)
    for number in range(n_orders):
        keys = order_keys(grams, seed, number)
        order = np.argsort(keys, kind="stable")

        def compare(places: slice, order: Ints = order, keys: NDArray[np.uint64] = keys) -> None:
            _compare(
                grams.words, grams.ends, lengths, sides, keys, order[places], around, *best
            )  # fmt: skip

        for_each_block(compare, n, BLOCK)
    return each_once(best)


def orders_for(n: int) -> tuple[int, int]:
    """How many orders records are put in, and how many neighbours are compared in each."""
    few = n <= _FEW
    around = min(_AROUND_OF_FEW if few else _AROUND, max(n - 1, 1))
    return _ORDERS_OF_FEW if few else _ORDERS, around


def order_keys(grams: Grams, seed: int, number: int) -> NDArray[np.uint64]:
    """By what records are put in the order of a number."""
    salt = np.uint64((seed * 1_000_003 + number + 1) & 0xFFFFFFFF)
    keys = np.empty(len(grams), dtype=np.uint64)

    def fill(rows: slice) -> None:
        _order_keys(grams.words, grams.ends, rows.start, rows.stop, salt, keys)

    for_each_block(fill, len(grams), BLOCK)
    return keys


def meetings(
    grams: Grams, keys: NDArray[np.uint64], around: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], Halves]:
    """Neighbours in the order of some keys, and the cosine of what they share, if any.

    Notes
    -----
    Memory: 12 ``around`` bytes a record.
    """
    order, lengths = np.argsort(keys, kind="stable"), lengths_of(grams)
    room = around * len(order)
    i, j = (np.empty(room, dtype=np.int32) for _ in range(2))
    cosine = np.empty(room, dtype=np.float32)
    filled = 0
    for places in blocks(len(order), BLOCK):
        filled = _meetings(
            grams.words, grams.ends, lengths, keys, order[places], around, i, j, cosine, filled
        )
    return i[:filled].copy(), j[:filled].copy(), cosine[:filled].copy()


@compiled()
def remember(
    i: Ints,
    j: Ints,
    cosine: Halves,
    others: NDArray[np.int32],
    overlap: Halves,
    met: NDArray[np.int16],
) -> None:
    """Keep the best others of each record among those that met, in the order of meetings."""
    for k in range(len(i)):
        if _meet_again(others, met, i[k], j[k]) | _meet_again(others, met, j[k], i[k]):
            continue
        _keep(others, overlap, met, i[k], j[k], cosine[k])
        _keep(others, overlap, met, j[k], i[k], cosine[k])


def nobody_yet(n: int, n_best: int) -> Best:
    """Room for the best others of each record: 10 ``n_best`` bytes a record."""
    return Best(
        np.full((n, n_best), -1, dtype=np.int32),
        np.zeros((n, n_best), dtype=np.float32),
        np.zeros((n, n_best), dtype=np.int16),
    )


def lengths_of(grams: Grams) -> Halves:
    """The length of each record's vector of weights."""
    lengths = np.zeros(len(grams), dtype=np.float32)

    def fill(rows: slice) -> None:
        _lengths(grams.words, grams.ends, rows.start, rows.stop, lengths)

    for_each_block(fill, len(grams), BLOCK)
    return lengths


def each_once(best: Best) -> Candidates:
    """Each pair once, whichever of its records kept it."""
    found = best.others >= 0
    keys = keys_of(np.column_stack([np.nonzero(found)[0], best.others[found]]))
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    start = np.flatnonzero(np.diff(keys, prepend=-1))
    pairs = ends_of(keys[start])
    del keys
    times = best.met[found][order]
    most = np.maximum.reduceat(times, start) if len(start) else times
    overlap = best.overlap[found][order[start]]
    return Candidates(pairs, overlap, most, np.zeros_like(most), len(found))


def missed(candidates: Candidates, chance: Floats) -> Estimate:
    r"""Estimate how many pairs that are the same are not among the candidates.

    With :math:`f_1` and :math:`f_2` pairs that met once and twice, in orders and columns together,
    each counted by its chance to be the same, there are at least about :math:`f_1^2 / 2 f_2` that
    never met, and fewer than :math:`f_1` as a rule (the first jackknife): the estimate is between
    the two, and the interval holds both.

    Parameters
    ----------
    candidates : Candidates
    chance : ndarray of shape (k,)
        Of each to be the same.
    """
    # The many that hardly can be the same are left out: their small chances would add up.
    chance = np.where(chance > 0.5, chance, 0.0)
    met = candidates.met + candidates.views
    once, twice = (float(chance[met == times].sum()) for times in (1, 2))
    least = once * max(once - 1, 0) / (2 * (twice + 1))
    most = max(once, least) + 1
    ratio = once / max(twice, 0.5)
    variance = max(twice, 0.5) * (ratio**2 / 2 + ratio**3 + ratio**4 / 4)
    factor = np.exp(_SPREAD * np.sqrt(np.log1p(variance / max(least, 0.5) ** 2)))
    low = least / factor if least >= 1 else 0.0
    value = float(np.sqrt(least * max(once, least)))
    return Estimate(value, low, most + _SPREAD * float(np.sqrt(2 * most)))


@compiled()
def _lengths(words: Words, ends: Ints, first: int, last: int, out: Halves) -> None:
    for record in range(first, last):
        total = 0.0
        for k in range(ends[record - 1] if record else 0, ends[record]):
            weight = np.float64(words[k] & np.uint32(255))
            total += weight * weight
        out[record] = np.sqrt(total)


@compiled()
def _order_keys(
    words: Words, ends: Ints, first: int, last: int, salt: np.uint64, out: NDArray[np.uint64]
) -> None:
    """The three grams that come first in a random order, in which rare ones tend to the front."""
    salt = salt * np.uint64(0x9E3779B97F4A7C15)
    mask = np.uint64(_MASK)
    inverse = 1 / np.maximum(np.arange(256), 1)
    for record in range(first, last):
        least = np.full(3, np.inf)
        found = np.full(3, mask)
        for k in range(ends[record - 1] if record else 0, ends[record]):
            mixed = (np.uint64(words[k]) + salt) * np.uint64(0xBF58476D1CE4E5B9)
            mixed ^= mixed >> np.uint64(32)
            mixed *= np.uint64(0x94D049BB133111EB)
            drawn = np.float64(mixed >> np.uint64(11)) * inverse[words[k] & np.uint32(255)]
            if drawn >= least[2]:
                continue
            place = 2
            while place > 0 and drawn < least[place - 1]:
                least[place] = least[place - 1]
                found[place] = found[place - 1]
                place -= 1
            least[place] = drawn
            found[place] = (mixed ^ (mixed >> np.uint64(20))) & mask
        out[record] = (found[0] << np.uint64(42)) | (found[1] << np.uint64(21)) | found[2]


@compiled()
def _shared(words: Words, a: int, a_end: int, b: int, b_end: int) -> float:
    """Sum of the squared weights of the grams that two increasing lists share."""
    total = 0.0
    while a < a_end and b < b_end:
        left, right = words[a], words[b]
        if left == right:
            weight = float(left & np.uint32(255))
            total += weight * weight
        a += left <= right
        b += right <= left
    return total


@compiled()
def _cosines(words: Words, ends: Ints, lengths: Halves, pairs: Ints, out: Halves) -> None:
    for k in range(len(pairs)):
        i, j = pairs[k, 0], pairs[k, 1]
        if lengths[i] > 0 and lengths[j] > 0:
            start, j_start = ends[i - 1] if i else 0, ends[j - 1] if j else 0
            shared = _shared(words, start, ends[i], j_start, ends[j])
            out[k] = shared / (lengths[i] * lengths[j])


@compiled()
def _compare(
    words: Words,
    ends: Ints,
    lengths: Halves,
    sides: NDArray[np.int8],
    keys: NDArray[np.uint64],
    order: Ints,
    around: int,
    others: NDArray[np.int32],
    overlap: Halves,
    met: NDArray[np.int16],
) -> None:
    """Compare neighbours in an order, and keep the best others of each."""
    for place in range(len(order)):
        i = order[place]
        if lengths[i] == 0:
            continue
        start = ends[i - 1] if i else 0
        first_gram = keys[i] >> np.uint64(42)
        for next_place in range(place + 1, min(place + around + 1, len(order))):
            j = order[next_place]
            if keys[j] >> np.uint64(42) != first_gram:
                break
            if lengths[j] == 0 or (sides[i] == sides[j] and sides[i] > 0):
                continue
            if _meet_again(others, met, i, j) | _meet_again(others, met, j, i):
                continue
            j_start = ends[j - 1] if j else 0
            shared = _shared(words, start, ends[i], j_start, ends[j])
            cosine = np.float32(shared / (lengths[i] * lengths[j]))
            if cosine > 0:
                _keep(others, overlap, met, i, j, cosine)
                _keep(others, overlap, met, j, i, cosine)


@compiled()
def _meetings(
    words: Words,
    ends: Ints,
    lengths: Halves,
    keys: NDArray[np.uint64],
    order: Ints,
    around: int,
    first: NDArray[np.int32],
    second: NDArray[np.int32],
    cosine: Halves,
    filled: int,
) -> int:
    """What :func:`_compare` compares, as a list; how long it is by then."""
    for place in range(len(order)):
        i = order[place]
        if lengths[i] == 0:
            continue
        start = ends[i - 1] if i else 0
        first_gram = keys[i] >> np.uint64(42)
        for next_place in range(place + 1, min(place + around + 1, len(order))):
            j = order[next_place]
            if keys[j] >> np.uint64(42) != first_gram:
                break
            if lengths[j] == 0:
                continue
            j_start = ends[j - 1] if j else 0
            shared = _shared(words, start, ends[i], j_start, ends[j])
            if shared > 0:
                first[filled], second[filled] = i, j
                cosine[filled] = shared / (lengths[i] * lengths[j])
                filled += 1
    return filled


@compiled()
def _meet_again(others: NDArray[np.int32], met: NDArray[np.int16], i: int, j: int) -> bool:
    for k in range(others.shape[1]):
        if others[i, k] == j:
            met[i, k] += 1
            return True
    return False


@compiled()
def _keep(
    others: NDArray[np.int32],
    overlap: Halves,
    met: NDArray[np.int16],
    i: int,
    j: int,
    cosine: np.float32,
) -> None:
    """Put another record among the best of one, in order, if it is better than the last."""
    place = others.shape[1] - 1
    if cosine < overlap[i, place] or (cosine == overlap[i, place] and others[i, place] >= 0):
        return
    while place > 0 and cosine > overlap[i, place - 1]:
        others[i, place] = others[i, place - 1]
        overlap[i, place] = overlap[i, place - 1]
        met[i, place] = met[i, place - 1]
        place -= 1
    others[i, place] = j
    overlap[i, place] = cosine
    met[i, place] = 1
