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

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearkin.pairs.estimates import Estimate
from nearkin.pairs.numbering import ends_of, keys_of
from nearkin.records.grams import Grams, Words, grams_of, is_searched
from nearkin.records.views import pairs_of_rare_values, value_keys
from nearkin.rows.arrays import Floats, Ints, Mask
from nearkin.rows.blocks import for_each_block
from nearkin.rows.compiled import compiled
from nearkin.tables.columns import Column

# Up to so many records, more orders and wider neighbourhoods cost next to nothing.
_FEW = 20_000
_ORDERS, _ORDERS_OF_FEW = 32, 48
_AROUND, _AROUND_OF_FEW = 3, 12
# Records of an order that one thread goes through.
_BLOCK = 1 << 16
_MASK = (1 << 21) - 1
# Standard deviations to either end of an interval.
_SPREAD = 1.645

Halves = NDArray[np.float32]


@dataclass(frozen=True)
class Candidates:
    """Pairs of records that may be the same thing.

    Attributes
    ----------
    pairs : int64 ndarray of shape (k, 2)
        The smaller number first, in order.
    overlap : float32 ndarray of shape (k,)
        Cosine of their grams' weights: 1 if they share all.
    met : int64 ndarray of shape (k,)
        In how many of the orders they met.
    views : int64 ndarray of shape (k,)
        Of how many columns they share a rare value. Copies, which are not searched, have 0 here
        and in ``met``.
    n_records : int
    """

    pairs: Ints
    overlap: Halves
    met: Ints
    views: Ints
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
    n = len(columns[0]) if columns else 0
    first = first_of_equal(columns, side)
    alone = np.flatnonzero(first == np.arange(n))
    kept = [Column(c.name, c.kind, c.values[alone]) for c in columns]
    sides = np.zeros(len(alone), dtype=np.int8)
    if side is not None:
        sides = 1 + side[alone].astype(np.int8)
    grams = grams_of(kept)
    found = _best(grams, n_best, sides, seed)
    by_column = [pairs_of_rare_values(value_keys(c), sides) for c in kept if is_searched(c)]
    pairs, overlap, met, n_views = _united(grams, *found, by_column)
    pairs = alone[pairs]
    copies = np.flatnonzero(first != np.arange(n))
    if side is None:
        more = np.column_stack([first[copies], copies])
        overlap = np.concatenate([overlap, np.ones(len(more), dtype=np.float32)])
    else:
        more, of = _pairs_of_copies(pairs, first[copies], copies)
        overlap = np.concatenate([overlap, overlap[of]])
    pairs = np.concatenate([pairs, more])
    met, n_views = (np.append(times, np.zeros(len(more), np.int64)) for times in (met, n_views))
    order = np.argsort(keys_of(pairs), kind="stable")
    return Candidates(pairs[order], overlap[order], met[order], n_views[order], n)


def _united(
    grams: Grams, pairs: Ints, overlap: Halves, met: Ints, by_column: Sequence[Ints]
) -> tuple[Ints, Halves, Ints, Ints]:
    """Pairs that met in orders and those that share a rare value, each once, in order."""
    of_orders = keys_of(pairs)
    keys, n_views = np.unique(np.concatenate([of_orders, *by_column]), return_counts=True)
    place = np.searchsorted(keys, of_orders)
    new = np.ones(len(keys), dtype=bool)
    new[place] = False
    n_views[place] -= 1
    all_met, all_overlap = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.float32)
    all_met[place], all_overlap[place] = met, overlap
    all_pairs = ends_of(keys)
    all_overlap[new] = _overlaps(grams, all_pairs[new])
    return all_pairs, all_overlap, all_met, n_views


def _overlaps(grams: Grams, pairs: Ints) -> Halves:
    """Cosine of the weights of two records' grams, for pairs of records."""
    lengths = _lengths_of(grams)
    out = np.zeros(len(pairs), dtype=np.float32)

    def fill(part: slice) -> None:
        _cosines(grams.words, grams.ends, lengths, pairs[part], out[part])

    for_each_block(fill, len(pairs), _BLOCK)
    return out


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


def _best(
    grams: Grams, n_best: int, sides: NDArray[np.int8], seed: int
) -> tuple[Ints, Halves, Ints]:
    """Pairs of each record and the others that share most with it, among those that it met."""
    n = len(grams)
    few = n <= _FEW
    around = min(_AROUND_OF_FEW if few else _AROUND, max(n - 1, 1))
    lengths = _lengths_of(grams)
    others = np.full((n, n_best), -1, dtype=np.int32)
    overlap = np.zeros((n, n_best), dtype=np.float32)
    met = np.zeros((n, n_best), dtype=np.int16)
    keys = np.empty(n, dtype=np.uint64)
    for number in range(_ORDERS_OF_FEW if few else _ORDERS):
        salt = np.uint64((seed * 1_000_003 + number + 1) & 0xFFFFFFFF)

        def find_keys(rows: slice, salt: np.uint64 = salt) -> None:
            _order_keys(grams.words, grams.ends, rows.start, rows.stop, salt, keys)

        for_each_block(find_keys, n, _BLOCK)
        order = np.argsort(keys, kind="stable")

        def compare(places: slice, order: Ints = order) -> None:
            _compare(
                grams.words, grams.ends, lengths, sides, keys, order[places], around, others,
                overlap, met,
            )  # fmt: skip

        for_each_block(compare, n, _BLOCK)
    return _once(others, overlap, met)


def _lengths_of(grams: Grams) -> Halves:
    """The length of each record's vector of weights."""
    lengths = np.zeros(len(grams), dtype=np.float32)

    def fill(rows: slice) -> None:
        _lengths(grams.words, grams.ends, rows.start, rows.stop, lengths)

    for_each_block(fill, len(grams), _BLOCK)
    return lengths


def _once(
    others: NDArray[np.int32], overlap: Halves, met: NDArray[np.int16]
) -> tuple[Ints, Halves, Ints]:
    """Each pair once, whichever of its records kept it."""
    found = others >= 0
    pairs = np.column_stack([np.nonzero(found)[0], others[found]])
    keys = keys_of(pairs)
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    start = np.flatnonzero(np.diff(keys, prepend=-1))
    times = met[found][order].astype(np.int64)
    most = np.maximum.reduceat(times, start) if len(start) else times
    return ends_of(keys[start]), overlap[found][order][start], most


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
            cosine = shared / (lengths[i] * lengths[j])
            if cosine > 0:
                _keep(others, overlap, met, i, j, cosine)
                _keep(others, overlap, met, j, i, cosine)


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
    cosine: float,
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
