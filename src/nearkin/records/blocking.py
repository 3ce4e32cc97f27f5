"""Candidate pairs: records that share enough letters, words or values to be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from nearkin._types import Ints, Mask
from nearkin.messages import enter_step
from nearkin.pairs.answers import IntervalEstimate
from nearkin.pairs.closure import (
    ends_of,
    keys_of,
    list_pairs_across,
    list_pairs_within,
    sort_distinct,
)
from nearkin.rows.parallel import compiled, run_in_blocks
from nearkin.tables.reading import WORDS, Column

# Records as sets of weighed character trigrams, in arrays.


Bytes = NDArray[np.uint8]
Words = NDArray[np.uint32]

_SLOTS = 1 << 24
# Grams that are kept of one cell, the rarest ones: long texts are not to outweigh all else.
_MOST_IN_CELL = 32
# Bytes of a cell that are looked at.
_MOST_BYTES = 4096
_BLOCK = 1 << 16
# Kinds whose words mean the same in any column, so that swapped cells meet.
_ANYWHERE = ("category", "name", "text")


@dataclass(frozen=True)
class Grams:
    """Grams of records, one after the other.

    Attributes
    ----------
    words : uint32 ndarray
        Increasing within a record, and without those that one record alone has.
    ends : int64 ndarray of shape (n,)
        Where the grams of each record end.
    """

    words: Words
    ends: Ints

    def __len__(self) -> int:
        return len(self.ends)

    def take(self, records: Ints) -> Grams:
        """The grams of some records."""
        starts, ends = np.append(0, self.ends)[records], self.ends[records]
        return Grams(joined_runs(self.words, starts, ends), np.cumsum(ends - starts))

    def of(self, record: int) -> Words:
        """The grams of one record."""
        start = self.ends[record - 1] if record else 0
        return self.words[start : self.ends[record]]


@dataclass(frozen=True)
class TextCells:
    """Texts of a column as bytes, each followed by one more byte."""

    buffer: Bytes
    ends: Ints
    tag: int


def grams_of(columns: Sequence[Column]) -> Grams:
    """Grams of all cells of each record.

    Of a cell those are kept that at least two records have, the 32 rarest at most.

    Notes
    -----
    Memory: the texts once more as bytes, 4 bytes a gram, and 64 MB.
    """
    n = len(columns[0]) if columns else 0
    cells = searched_cells(columns)
    return weighed_grams(cells, gram_weights(gram_counts(cells), n), n)


def searched_cells(columns: Sequence[Column]) -> list[TextCells]:
    """The texts of the columns that candidates are found by."""
    return [
        read_text_cells(column, 0 if column.kind in _ANYWHERE else 1 + number)
        for number, column in enumerate(columns)
        if is_searched(column)
    ]


def gram_counts(cells: Sequence[TextCells]) -> NDArray[np.int32]:
    """How often each of the 2²⁴ possible grams is met: 64 MB."""
    seen = np.zeros(_SLOTS, dtype=np.int32)
    for cell in cells:
        _count(cell.buffer, cell.ends, cell.tag, seen)
    return seen


def weighed_grams(cells: Sequence[TextCells], weights: Bytes, n: int) -> Grams:
    """Grams of ``n`` records, by the weights of all possible ones."""
    most = np.zeros(n, dtype=np.int64)
    for cell in cells:
        most += np.minimum(np.diff(cell.ends, prepend=-1) - 1, _MOST_IN_CELL)
    starts = np.cumsum(most) - most
    words = np.zeros(int(most.sum()), dtype=np.uint32)
    filled = np.zeros(n, dtype=np.int64)

    def fill(rows: slice) -> None:
        for cell in cells:
            _add(
                cell.buffer, cell.ends, cell.tag, weights, rows.start, rows.stop, words, starts,
                filled,
            )  # fmt: skip
        _sort(words, starts, filled, rows.start, rows.stop)

    run_in_blocks(fill, n, _BLOCK)
    ends = np.cumsum(filled)
    _close_ranks(words, starts, filled, ends)
    return Grams(words[: int(ends[-1]) if n else 0].copy(), ends)


def joined_runs(values: NDArray[Any], starts: Ints, ends: Ints) -> NDArray[Any]:
    """Parts of an array from each start to its end, one after the other."""
    count = ends - starts
    place = np.repeat(starts - np.cumsum(count) + count, count) + np.arange(count.sum())
    return np.asarray(values[place])


def is_searched(column: Column) -> bool:
    """Whether candidates are found by a column: by one of words, numbers or dates."""
    return column.kind not in ("ignored", "vector")


def read_text_cells(column: Column, tag: int) -> TextCells:
    """The texts of a column in one array of bytes; missing ones are empty."""
    texts = texts_of(column)
    joined = "\n".join(texts)
    if joined.count("\n") != len(texts) - 1:
        joined = "\n".join(text.replace("\n", " ") for text in texts)
    buffer = np.frombuffer((joined + "\n").encode(errors="replace"), dtype=np.uint8)
    return TextCells(buffer, np.flatnonzero(buffer == 10), tag)


def texts_of(column: Column) -> list[str]:
    """Each cell of a column as a text; numbers with three digits or more, dates as YYYYMMDD."""
    if column.kind in WORDS:
        return ["" if value is None else value for value in column.values.tolist()]
    if not len(column):
        return []
    values, which = np.unique(column.values, return_inverse=True)
    if column.kind == "date":
        days = np.floor(np.nan_to_num(values)).clip(-719162, 2932896).astype("datetime64[D]")
        texts = np.char.replace(days.astype(str), "-", "")
    else:
        texts = np.array([number_text(value) for value in values.tolist()], dtype=object)
    texts = np.where(np.isnan(values), "", texts).astype(object)
    found: list[str] = texts[which.ravel()].tolist()
    return found


def number_text(value: float) -> str:
    """A whole number with all its digits, another one with three."""
    return f"{value:.0f}" if value == np.round(value) and abs(value) < 1e15 else f"{value:.3g}"


def gram_weights(seen: NDArray[np.int32], n: int) -> Bytes:
    """From 1 for a gram that all have to 255; 0 for one that a single record has."""
    with np.errstate(divide="ignore"):
        rarity = np.log(max(n, 2) / np.maximum(np.arange(seen.max(initial=0) + 1), 1))
    scaled = 1 + np.round(254 * np.clip(rarity / np.log(max(n, 2)), 0, 1))
    scaled[:2] = 0
    return np.asarray(scaled.astype(np.uint8)[seen])


@compiled()
def _slot(first: int, second: int, third: int, tag: int) -> int:
    mixed = np.uint64(first | (second << 8) | (third << 16) | (tag << 24))
    mixed = (mixed + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return int(mixed >> np.uint64(40))


@compiled()
def _cell_slots(buffer: Bytes, start: int, end: int, tag: int, out: Ints) -> int:
    """The slots of a cell's trigrams, with a mark before and after its text; how many."""
    end = min(end, start + len(out))
    before, now = 1, 0
    for place in range(start, end):
        now = int(buffer[place])
        after = int(buffer[place + 1]) if place + 1 < end else 2
        out[place - start] = _slot(before, now, after, tag)
        before = now
    return end - start


@compiled()
def _count(buffer: Bytes, ends: Ints, tag: int, seen: NDArray[np.int32]) -> None:
    slots = np.empty(_MOST_BYTES, dtype=np.int64)
    start = 0
    for end in ends:
        for k in range(_cell_slots(buffer, start, end, tag, slots)):
            seen[slots[k]] += 1
        start = end + 1


@compiled()
def _add(
    buffer: Bytes,
    ends: Ints,
    tag: int,
    weights: Bytes,
    first: int,
    last: int,
    words: Words,
    starts: Ints,
    filled: Ints,
) -> None:
    """Append the rarest grams of a column's cells to those of their records."""
    slots = np.empty(_MOST_BYTES, dtype=np.int64)
    for record in range(first, last):
        start = ends[record - 1] + 1 if record else 0
        n = 0
        for k in range(_cell_slots(buffer, start, ends[record], tag, slots)):
            if weights[slots[k]] > 0:
                slots[n] = (slots[k] << 8) | weights[slots[k]]
                n += 1
        if n > _MOST_IN_CELL:
            least = np.sort(slots[:n] & 255)[n - _MOST_IN_CELL]
            room = _MOST_IN_CELL - (slots[:n] & 255 > least).sum()
            kept = 0
            for k in range(n):
                weight = slots[k] & 255
                if weight > least or (weight == least and room > 0):
                    room -= weight == least
                    slots[kept] = slots[k]
                    kept += 1
            n = kept
        place = starts[record] + filled[record]
        for k in range(n):
            words[place + k] = slots[k]
        filled[record] += n


@compiled()
def _sort(words: Words, starts: Ints, filled: Ints, first: int, last: int) -> None:
    """Bring the grams of each record in order, each once."""
    for record in range(first, last):
        start, n = starts[record], filled[record]
        for k in range(start + 1, start + n):
            word = words[k]
            place = k
            while place > start and words[place - 1] > word:
                words[place] = words[place - 1]
                place -= 1
            words[place] = word
        kept = 0
        for k in range(start, start + n):
            if kept == 0 or words[k] != words[start + kept - 1]:
                words[start + kept] = words[k]
                kept += 1
        filled[record] = kept


@compiled()
def _close_ranks(words: Words, starts: Ints, filled: Ints, ends: Ints) -> None:
    """Move the grams of all records to the front, without gaps."""
    for record in range(len(ends)):
        to = ends[record] - filled[record]
        for k in range(filled[record]):
            words[to + k] = words[starts[record] + k]


# Records that share a rare value of one column, whatever all their other cells say.


Keys = NDArray[np.uint64]
Sides = NDArray[np.int32]

# Pairs for each record that the values of one column, or its words, may add, from the rarest on:
# more where a table is small, so that large groups are seen.
_PAIRS_PER_RECORD, _PAIRS_OF_FEW = 0.5, 100_000
_MOST_PAIRS_PER_RECORD = 5


class ValueKeys(NamedTuple):
    """Values or words of a column: a number for each, 0 for missing ones, and who has it."""

    keys: Keys
    records: Ints


def find_value_keys(columns: Sequence[Column]) -> list[ValueKeys]:
    """Values of each column that is searched, and the words of those of several words."""
    found = []
    for column in columns:
        if is_searched(column):
            found.append(ValueKeys(value_keys(column), np.arange(len(column))))
            if column.kind in _ANYWHERE:
                found.append(_word_keys(column))
    return found


def _word_keys(column: Column) -> ValueKeys:
    """Words of three letters or digits and more, of cells that have other words beside them."""
    cells = read_text_cells(column, 0)
    most = np.diff(cells.ends, prepend=-1) // 4 + 1
    keys = np.zeros(int(most.sum()), dtype=np.uint64)
    counts = np.zeros(len(column), dtype=np.int64)
    _hash_words(cells.buffer, cells.ends, keys, counts)
    return ValueKeys(keys[: counts.sum()].copy(), np.repeat(np.arange(len(column)), counts))


def value_keys(column: Column, *, exact: bool = False) -> Keys:
    """A number for each value of a column, 0 for missing ones.

    Of codes letters and digits count only, unless it is to be exact.

    Notes
    -----
    Memory: the texts once more as bytes, and 8 bytes a record.
    """
    cells = read_text_cells(column, 0)
    keys = np.empty(len(column), dtype=np.uint64)
    _hash(cells.buffer, cells.ends, column.kind == "code" and not exact, keys)
    return keys


def pairs_of_rare_values(found: ValueKeys, sides: Sides) -> Ints:
    """Pairs of records that share a rare value, each as one number (``closure.keys_of``).

    Values are taken from the rarest on, as long as there is room: five pairs for each record in a
    small table, and one for two records in a large one. So a value that twenty records share is
    rare where many values are, and not where it is one of few.

    Parameters
    ----------
    found : ValueKeys
    sides : int32 ndarray of shape (n,)
        1 and 2 for records of two tables, of which pairs have one each; 0 for those of one table.

    Returns
    -------
    int64 ndarray
        Increasing.

    Notes
    -----
    O(k log k) time for k values and words, and some 40 bytes for each.
    """
    keys, n = found.keys, len(sides)
    side = sides[found.records]
    order = np.lexsort((side, keys))
    order = order[np.searchsorted(keys[order], 1) :]
    starts = np.flatnonzero(np.diff(keys[order], prepend=np.uint64(0)))
    sizes = np.diff(starts, append=len(order))
    two_tables = bool(sides.any())
    first = np.add.reduceat(side[order] < 2, starts) if two_tables and len(starts) else sizes
    count = first * (sizes - first) if two_tables else sizes * (sizes - 1) // 2
    room = min(_MOST_PAIRS_PER_RECORD * n, max(int(_PAIRS_PER_RECORD * n), _PAIRS_OF_FEW))
    rare = _rare(count, room)
    numbers = np.arange(count[rare].sum())
    if two_tables:
        rest = sizes - first
        pairs, _ = list_pairs_across(
            numbers, starts[rare], first[rare], (starts + first)[rare], rest[rare]
        )
    else:
        pairs, _ = list_pairs_within(numbers, starts[rare], sizes[rare])
    return sort_distinct(keys_of(found.records[order][pairs]))


def _rare(count: Ints, most: int) -> Ints:
    """Rare values that give so many pairs at most together; all that are as rare, or none."""
    order = np.argsort(count, kind="stable")
    total = np.cumsum(count[order])
    common = count[order[total > most]].min(initial=np.iinfo(np.int64).max)
    return np.flatnonzero((count > 0) & (count < common))


@compiled()
def each_once_in_order(values: NDArray[Any]) -> int:
    """Sort a part of an array in place, each value once; how many these are."""
    values.sort()
    kept = 0
    for k in range(len(values)):
        if kept == 0 or values[k] != values[kept - 1]:
            values[kept] = values[k]
            kept += 1
    return kept


@compiled()
def _hash_words(buffer: Bytes, ends: Ints, out: Keys, counts: Ints) -> None:
    """Hash the words of each cell that has several, each once."""
    start, filled = 0, 0
    for cell in range(len(ends)):
        first, mixed, size = filled, np.uint64(0), 0
        n_words = 0
        for place in range(start, min(ends[cell], start + _MOST_BYTES) + 1):
            byte = buffer[place] if place < ends[cell] else np.uint8(32)
            if (48 <= byte < 58) or (65 <= byte < 91) or (97 <= byte < 123) or byte > 127:
                mixed = (mixed ^ np.uint64(byte + 1)) * np.uint64(0x9E3779B97F4A7C15)
                mixed ^= mixed >> np.uint64(29)
                size += 1
            elif size:
                n_words += 1
                if size >= 3:
                    out[filled] = mixed
                    filled += 1
                mixed, size = np.uint64(0), 0
        if n_words < 2:
            filled = first
        filled = first + each_once_in_order(out[first:filled])
        counts[cell] = filled - first
        start = ends[cell] + 1


@compiled()
def _hash(buffer: Bytes, ends: Ints, plain: bool, out: Keys) -> None:
    """Hash each text; if it is to be plain, without what is neither letter nor digit."""
    start = 0
    for record in range(len(out)):
        mixed = np.uint64(0)
        for place in range(start, ends[record]):
            byte = buffer[place]
            letter = (48 <= byte < 58) or (65 <= byte < 91) or (97 <= byte < 123) or byte > 127
            if plain and not letter:
                continue
            mixed = (mixed ^ np.uint64(byte + 1)) * np.uint64(0x9E3779B97F4A7C15)
            mixed ^= mixed >> np.uint64(29)
        out[record] = mixed
        start = ends[record] + 1


# Pairs of records that may be the same thing, without comparing all with all.


# Up to so many records, more orders and wider neighbourhoods cost next to nothing.
_FEW = 20_000
_ORDERS, _ORDERS_OF_FEW = 32, 48
_AROUND, _AROUND_OF_FEW = 3, 12
# How many times as far a record looks for others if it passes by those of its own group.
_FURTHER = 20
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
        value or word are kept beside them.
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
    sides = np.zeros(len(alone), dtype=np.int32)
    if side is not None:
        sides = 1 + side[alone].astype(np.int32)
    grams = grams_of(kept)
    met = _best(grams, n_best, sides, seed)
    by_column = [pairs_of_rare_values(keys, sides) for keys in find_value_keys(kept)]
    return with_copies(unite_candidates(met, by_column, partial(overlaps, grams)), first, side)


def pairs_within_groups(labels: Ints, most: int, rng: np.random.RandomState) -> Ints:
    """Pairs of records of the same group, so many of each record at most, drawn at random."""
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    size = np.bincount(labels)
    start = np.cumsum(size) - size
    place = np.arange(len(order)) - start[labels[order]]
    found = [np.empty(0, dtype=np.int64)]
    for step in range(1, most // 2 + 1):
        # Each with the one so many places further in its group, as in a ring.
        some = np.flatnonzero(size[labels[order]] > step)
        group = labels[order[some]]
        other = order[start[group] + (place[some] + step) % size[group]]
        found.append(keys_of(np.sort(np.column_stack([order[some], other]), axis=1)))
    return ends_of(sort_distinct(np.concatenate(found)))


def add_pairs(found: Candidates, pairs: Ints) -> Candidates:
    """Candidates with further pairs, which nothing but their likely groups speaks for."""
    keys = keys_of(found.pairs)
    more = np.setdiff1d(keys_of(np.sort(pairs, axis=1)), keys)
    place = np.searchsorted(keys, more)
    return Candidates(
        np.insert(found.pairs, place, ends_of(more), axis=0),
        np.insert(found.overlap, place, 0.0),
        np.insert(found.met, place, 0),
        np.insert(found.views, place, 0),
        found.n_records,
    )


def unite_candidates(
    found: Candidates, by_column: Sequence[Ints], overlaps: Callable[[Ints], Halves]
) -> Candidates:
    """Pairs that met in orders and those that share a rare value, each once, in order.

    The latter are as :func:`pairs_of_rare_values` gives them, of each column; ``overlaps`` gives
    those of pairs that did not meet.
    """
    of_orders = keys_of(found.pairs)
    keys = sort_distinct(np.concatenate([of_orders, *by_column]))
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

    run_in_blocks(fill, len(pairs), BLOCK)
    return out


def with_copies(found: Candidates, first: Ints, side: Mask | None) -> Candidates:
    """Candidates among all records, from those among records that differ.

    Of each record ``first`` is the first one that is equal to it.
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


def _best(grams: Grams, n_best: int, sides: Sides, seed: int) -> Candidates:
    """Pairs of each record and the others that share most with it, among those that it met."""
    n = len(grams)
    n_orders, around = orders_for(n)
    lengths = lengths_of(grams)
    best = nobody_yet(n, n_best)
    reach = around * (_FURTHER if sides.any() else 1)
    for number in range(n_orders):
        enter_step("looking for records that may be the same", number / n_orders)
        keys = order_keys(grams, seed, number)
        order = np.argsort(keys, kind="stable")

        def compare(places: slice, order: Ints = order, keys: NDArray[np.uint64] = keys) -> None:
            _compare(
                grams.words, grams.ends, lengths, sides, keys, order[places], around, reach, *best
            )  # fmt: skip

        run_in_blocks(compare, n, BLOCK)
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

    run_in_blocks(fill, len(grams), BLOCK)
    return keys


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

    run_in_blocks(fill, len(grams), BLOCK)
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


def estimate_missed(candidates: Candidates, same: Mask, n_pairs: float) -> IntervalEstimate:
    r"""Estimate how many pairs of records that are the same no search has led to.

    Orders of grams and rare values or words are two searches that know nothing of each other
    (capture and recapture, D. G. Chapman, 1951). Of the :math:`J` joins that make the groups found
    by both, the one alone misses :math:`a` and the other :math:`b`, so that both miss about
    :math:`ab / J` more. What neither can see is not counted, and the interval is wide upwards.

    Parameters
    ----------
    candidates : Candidates
    same : bool ndarray of shape (k,)
        Which candidates are likely the same.
    n_pairs : float
        Pairs that were found.
    """
    n = candidates.n_records
    searched = (candidates.met > 0) | (candidates.views > 0)
    groups, by_grams, by_values = (
        int(join_links(n, candidates.pairs[same & seen]).max(initial=-1)) + 1
        for seen in (searched, candidates.met > 0, candidates.views > 0)
    )
    joins = n - groups
    both = (by_grams - groups + 0.5) * (by_values - groups + 0.5) / max(joins + 1, 1)
    pairs = n_pairs / max(joins, 1)
    low, high = max(both - _SPREAD * np.sqrt(both), 0.0), 2 * both + _SPREAD * np.sqrt(both)
    return IntervalEstimate(float(both * pairs), float(low * pairs), float(high * pairs))


def join_links(n: int, links: Ints) -> Ints:
    """Number the groups that links join records to."""
    graph = csr_array((np.ones(len(links), dtype=bool), (links[:, 0], links[:, 1])), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


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
def shared_weight(words: Words, a: int, a_end: int, b: int, b_end: int) -> float:
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
            shared = shared_weight(words, start, ends[i], j_start, ends[j])
            out[k] = shared / (lengths[i] * lengths[j])


@compiled()
def _compare(
    words: Words,
    ends: Ints,
    lengths: Halves,
    sides: Sides,
    keys: NDArray[np.uint64],
    order: Ints,
    around: int,
    reach: int,
    others: NDArray[np.int32],
    overlap: Halves,
    met: NDArray[np.int16],
) -> None:
    """Compare neighbours in an order, and keep the best others of each.

    Records of the same side are passed by, up to a reach.
    """
    for place in range(len(order)):
        i = order[place]
        if lengths[i] == 0:
            continue
        start = ends[i - 1] if i else 0
        first_gram = keys[i] >> np.uint64(42)
        left = around
        for next_place in range(place + 1, min(place + reach + 1, len(order))):
            j = order[next_place]
            if left == 0 or keys[j] >> np.uint64(42) != first_gram:
                break
            if sides[i] == sides[j] and sides[i] > 0:
                continue
            left -= 1
            if lengths[j] == 0:
                continue
            if meet_again(others, met, i, j) | meet_again(others, met, j, i):
                continue
            j_start = ends[j - 1] if j else 0
            shared = shared_weight(words, start, ends[i], j_start, ends[j])
            cosine = np.float32(shared / (lengths[i] * lengths[j]))
            if cosine > 0:
                keep_among_best(others, overlap, met, i, j, cosine)
                keep_among_best(others, overlap, met, j, i, cosine)


@compiled()
def meet_again(others: NDArray[np.int32], met: NDArray[np.int16], i: int, j: int) -> bool:
    """Count that a record meets one of its best again; whether it is one."""
    for k in range(others.shape[1]):
        if others[i, k] == j:
            met[i, k] += 1
            return True
    return False


@compiled()
def keep_among_best(
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
