"""Candidate pairs: records that share enough letters, words or values to be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import chain
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

Bytes = NDArray[np.uint8]
Halves = NDArray[np.float32]
Keys = NDArray[np.uint64]
Sides = NDArray[np.int32]
Words = NDArray[np.uint32]

# Cells as texts, and texts as sets of words and of trigrams.


# Bytes of a cell that are cut into words and trigrams: the rest of longer ones is not looked at.
_MOST_BYTES = 2000
# Records, or pairs of them, that one thread goes through; neighbours in two blocks do not meet.
BLOCK = 1 << 16


class TextCells(NamedTuple):
    """Texts of some columns, record by record, as bytes, each followed by one more byte."""

    buffer: Bytes
    ends: Ints
    tags: Ints  # columns of the same tag have the same trigrams


@dataclass(frozen=True)
class TokenLists:
    """Words or trigrams of records, one record after the other."""

    values: NDArray[Any]  # unsigned, increasing within a record
    ends: Ints  # where the tokens of each record end: shape (n,)
    weights: Halves  # by the lowest bits of a value, all 2⁸ or 2¹⁶ possible ones

    def __len__(self) -> int:
        return len(self.ends)

    def take(self, records: Ints) -> TokenLists:
        """The tokens of some records."""
        starts, ends = np.append(0, self.ends)[records], self.ends[records]
        values = joined_runs(self.values, starts, ends)
        return TokenLists(values, np.cumsum(ends - starts), self.weights)

    @cached_property
    def lengths(self) -> Halves:
        """The length of each record's vector of weights."""
        lengths = np.zeros(len(self), dtype=np.float32)

        def fill(rows: slice) -> None:
            _lengths(self.values, self.ends, self.weights, rows.start, rows.stop, lengths)

        run_in_blocks(fill, len(self), BLOCK)
        return lengths

    def compare(self, pairs: Ints) -> tuple[Halves, Halves]:
        """Cosine of the weights of two records, and the largest weight that both have, of pairs."""
        cosine, most = (np.zeros(len(pairs), dtype=np.float32) for _ in range(2))
        lengths = self.lengths

        def fill(part: slice) -> None:
            _compare_tokens(
                self.values, self.ends, self.weights, lengths, pairs[part], cosine[part], most[part]
            )

        run_in_blocks(fill, len(pairs), BLOCK)
        return cosine, most


def joined_runs(values: NDArray[Any], starts: Ints, ends: Ints) -> NDArray[Any]:
    """Parts of an array from each start to its end, one after the other."""
    count = ends - starts
    place = np.repeat(starts - np.cumsum(count) + count, count) + np.arange(count.sum())
    return np.asarray(values[place])


def read_text_cells(*columns: Column, tags: Sequence[int] = (0,)) -> TextCells:
    """The texts of columns in one array of bytes; missing ones are empty."""
    texts = [*chain.from_iterable(zip(*map(texts_of, columns), strict=True))]
    joined = "\n".join(texts)
    if joined.count("\n") != len(texts) - 1:
        joined = "\n".join(text.replace("\n", " ") for text in texts)
    buffer = np.frombuffer((joined + "\n").encode(errors="replace"), dtype=np.uint8)
    return TextCells(buffer, np.flatnonzero(buffer == 10), np.array(tags, dtype=np.int64))


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
        texts = np.array([_number_text(value) for value in values.tolist()], dtype=object)
    texts = np.where(np.isnan(values), "", texts).astype(object)
    found: list[str] = texts[which.ravel()].tolist()
    return found


def _number_text(value: float) -> str:
    """A whole number with all its digits, another one with three."""
    return f"{value:.0f}" if value == np.round(value) and abs(value) < 1e15 else f"{value:.3g}"


def list_tokens(cells: TextCells, find: Callable[..., None]) -> tuple[NDArray[np.uint16], Ints]:
    """Words or trigrams of each cell as 16 bits, one cell after the other; and where they end.

    ``find`` is :func:`find_words` or :func:`find_trigrams`.
    """
    sizes = np.minimum(np.diff(cells.ends, prepend=-1) - 1, _MOST_BYTES)
    values, counts = np.empty(int(sizes.sum()), dtype=np.uint16), np.empty(len(sizes), np.int64)
    find(cells.buffer, cells.ends, values, counts)
    return values[: counts.sum()].copy(), np.cumsum(counts)


@compiled()
def _is_of_word(byte: Any) -> bool:
    return bool((48 <= byte < 58) or (65 <= byte < 91) or (97 <= byte < 123) or byte > 127)


@compiled()
def _mix(mixed: np.uint64, byte: Any) -> np.uint64:
    mixed = (mixed ^ np.uint64(byte + 1)) * np.uint64(0x9E3779B97F4A7C15)
    return np.uint64(mixed ^ (mixed >> np.uint64(29)))


@compiled()
def find_words(
    buffer: Bytes, ends: Ints, out: NDArray[Any], counts: Ints, shortest: int = 1, fewest: int = 1
) -> None:
    """Hash the words of each cell that has a few, in order and each once."""
    shift = np.uint64(64 - 8 * out.itemsize)
    start, filled = 0, 0
    for cell in range(len(ends)):
        first, mixed, size = filled, np.uint64(0), 0
        n_words = 0
        for place in range(start, min(ends[cell], start + _MOST_BYTES) + 1):
            byte = buffer[place] if place < ends[cell] else np.uint8(32)
            if _is_of_word(byte):
                mixed = _mix(mixed, byte)
                size += 1
            elif size:
                n_words += 1
                if size >= shortest:
                    out[filled] = mixed >> shift
                    filled += 1
                mixed, size = np.uint64(0), 0
        if n_words < fewest:
            filled = first
        filled = first + _each_once_in_order(out[first:filled])
        counts[cell] = filled - first
        start = ends[cell] + 1


@compiled()
def find_trigrams(buffer: Bytes, ends: Ints, out: NDArray[Any], counts: Ints) -> None:
    """Hash the trigrams of each cell, in order and each once."""
    trigrams = np.empty(_MOST_BYTES, dtype=np.uint64)
    start, filled = 0, 0
    for cell in range(len(ends)):
        first = filled
        for k in range(_list_trigrams(buffer, start, ends[cell], trigrams)):
            mixed = (trigrams[k] + np.uint64(3)) * np.uint64(0xBF58476D1CE4E5B9)
            out[filled] = (mixed ^ (mixed >> np.uint64(31))) >> np.uint64(40)
            filled += 1
        filled = first + _each_once_in_order(out[first:filled])
        counts[cell] = filled - first
        start = ends[cell] + 1


@compiled()
def _list_trigrams(buffer: Bytes, start: int, end: int, out: Keys) -> int:
    """The trigrams of a cell, with a mark before and after its text; how many."""
    end = min(end, start + len(out))
    before = np.uint64(1)
    for place in range(start, end):
        now = np.uint64(buffer[place])
        after = np.uint64(buffer[place + 1]) if place + 1 < end else np.uint64(2)
        out[place - start] = before | (now << np.uint64(8)) | (after << np.uint64(16))
        before = now
    return end - start


@compiled()
def _each_once_in_order(values: NDArray[Any]) -> int:
    """Sort a part of an array in place, each value once; how many these are."""
    values.sort()
    kept = 0
    for k in range(len(values)):
        if kept == 0 or values[k] != values[kept - 1]:
            values[kept] = values[k]
            kept += 1
    return kept


@compiled()
def _lengths(
    values: NDArray[Any], ends: Ints, weights: Halves, first: int, last: int, out: Halves
) -> None:
    for record in range(first, last):
        total = 0.0
        for k in range(ends[record - 1] if record else 0, ends[record]):
            weight = np.float64(weights[values[k] & (len(weights) - 1)])
            total += weight * weight
        out[record] = np.sqrt(total)


@compiled()
def share_tokens(
    values: NDArray[Any], ends: Ints, weights: Halves, lengths: Halves, i: int, j: int
) -> tuple[float, np.float32]:
    """Cosine of the weights of two records' tokens, and the largest weight that both have."""
    total, most = 0.0, np.float32(0)
    a, b = (ends[i - 1] if i else 0), (ends[j - 1] if j else 0)
    while a < ends[i] and b < ends[j]:
        left, right = values[a], values[b]
        if left == right:
            weight = weights[left & (len(weights) - 1)]
            total += weight * weight
            most = max(most, weight)
        a += left <= right
        b += right <= left
    product = np.float64(lengths[i]) * np.float64(lengths[j])
    return min(total / product, 1.0) if product > 0 else 0.0, most


@compiled()
def _compare_tokens(
    values: NDArray[Any], ends: Ints, weights: Halves, lengths: Halves, pairs: Ints,
    cosine: Halves, most: Halves,
) -> None:  # fmt: skip
    for k in range(len(pairs)):
        cosine[k], most[k] = share_tokens(values, ends, weights, lengths, pairs[k, 0], pairs[k, 1])


# Records as sets of trigrams of all their cells, whose weights are in their lowest 8 bits.


_SLOTS = 1 << 24
_GRAM_WEIGHTS = np.arange(256, dtype=np.float32)
# Grams that are kept of one cell, the rarest ones: long texts are not to outweigh all else.
_MOST_IN_CELL = 32
# Kinds whose words mean the same in any column, so that swapped cells meet.
_ANYWHERE = ("category", "name", "text")


def grams_of(columns: Sequence[Column]) -> TokenLists:
    """Grams of all cells of each record.

    Of a cell those are kept that at least two records have, the 32 rarest at most. Memory: the
    texts once more as bytes, 4 bytes a gram, and 64 MB.
    """
    n = len(columns[0]) if columns else 0
    cells = searched_cells(columns)
    return weighed_grams(cells, gram_weights(gram_counts(cells), n), n)


def searched_cells(columns: Sequence[Column]) -> TextCells:
    """The texts of the columns that candidates are found by."""
    tags = {
        number: 0 if column.kind in _ANYWHERE else 1 + number
        for number, column in enumerate(columns)
        if is_searched(column)
    }
    return read_text_cells(*(columns[number] for number in tags), tags=[*tags.values()])


def is_searched(column: Column) -> bool:
    """Whether candidates are found by a column: by one of words, numbers or dates."""
    return column.kind not in ("ignored", "vector")


def gram_counts(cells: TextCells) -> NDArray[np.int32]:
    """How often each of the 2²⁴ possible grams is met: 64 MB."""
    seen = np.zeros(_SLOTS, dtype=np.int32)
    _count(*cells, seen)
    return seen


def gram_weights(seen: NDArray[np.int32], n: int) -> Bytes:
    """From 1 for a gram that all have to 255; 0 for one that a single record has."""
    with np.errstate(divide="ignore"):
        rarity = np.log(max(n, 2) / np.maximum(np.arange(seen.max(initial=0) + 1), 1))
    scaled = 1 + np.round(254 * np.clip(rarity / np.log(max(n, 2)), 0, 1))
    scaled[:2] = 0
    return np.asarray(scaled.astype(np.uint8)[seen])


def weighed_grams(cells: TextCells, weights: Bytes, n: int) -> TokenLists:
    """Grams of ``n`` records, by the weights of all possible ones."""
    counts = np.zeros(n, dtype=np.int64)
    found: dict[int, Words] = {}

    def fill(rows: slice) -> None:
        found[rows.start] = _weigh(*cells, weights, rows.start, rows.stop, counts)

    run_in_blocks(fill, n, BLOCK)
    words = [np.zeros(0, dtype=np.uint32), *(found[start] for start in sorted(found))]
    return TokenLists(np.concatenate(words), np.cumsum(counts), _GRAM_WEIGHTS)


@compiled()
def _slot(trigram: np.uint64, tag: int) -> int:
    """Where a trigram is among all possible grams."""
    mixed = trigram | (np.uint64(tag) << np.uint64(24))
    mixed = (mixed + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
    mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return int(mixed >> np.uint64(40))


@compiled()
def _count(buffer: Bytes, ends: Ints, tags: Ints, seen: NDArray[np.int32]) -> None:
    trigrams = np.empty(_MOST_BYTES, dtype=np.uint64)
    start = 0
    for cell in range(len(ends) if len(tags) else 0):
        for k in range(_list_trigrams(buffer, start, ends[cell], trigrams)):
            seen[_slot(trigrams[k], tags[cell % len(tags)])] += 1
        start = ends[cell] + 1


@compiled()
def _weigh(
    buffer: Bytes, ends: Ints, tags: Ints, weights: Bytes, first: int, last: int, counts: Ints
) -> Words:
    """The rarest grams of each cell of some records; and how many each record has."""
    width = len(tags)
    most, start = 0, ends[first * width - 1] + 1 if first * width else 0
    for cell in range(first * width, last * width):
        most += min(ends[cell] - start, _MOST_IN_CELL)
        start = ends[cell] + 1
    out, filled = np.empty(most, np.uint32), 0
    trigrams, found = np.empty(_MOST_BYTES, np.uint64), np.empty(_MOST_BYTES, np.int64)
    for record in range(first, last):
        before = filled
        for column in range(width):
            cell = record * width + column
            start, n = (ends[cell - 1] + 1 if cell else 0), 0
            for k in range(_list_trigrams(buffer, start, ends[cell], trigrams)):
                slot = _slot(trigrams[k], tags[column])
                if weights[slot] > 0:
                    found[n] = (slot << 8) | int(weights[slot])
                    n += 1
            if n > _MOST_IN_CELL:
                rarest = np.argsort(-(found[:n] & 255), kind="mergesort")[:_MOST_IN_CELL]
                n = _MOST_IN_CELL
                found[:n] = found[rarest]
            for k in range(n):
                out[filled] = found[k]
                filled += 1
        filled = before + _each_once_in_order(out[before:filled])
        counts[record] = filled - before
    return out[:filled].copy()


# Records that share a rare value of one column, whatever all their other cells say.


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
    cells = read_text_cells(column)
    most = np.diff(cells.ends, prepend=-1) // 4 + 1
    keys = np.zeros(int(most.sum()), dtype=np.uint64)
    counts = np.zeros(len(column), dtype=np.int64)
    find_words(cells.buffer, cells.ends, keys, counts, 3, 2)
    return ValueKeys(keys[: counts.sum()].copy(), np.repeat(np.arange(len(column)), counts))


def value_keys(column: Column, *, exact: bool = False) -> Keys:
    """A number for each value of a column, 0 for missing ones.

    Of codes letters and digits count only, unless it is to be exact.
    """
    cells = read_text_cells(column)
    keys = np.empty(len(column), dtype=np.uint64)
    _hash(cells.buffer, cells.ends, column.kind == "code" and not exact, keys)
    return keys


def pairs_of_rare_values(found: ValueKeys, sides: Sides) -> Ints:
    """Pairs of records that share a rare value, each as one number (``closure.keys_of``).

    Values are taken from the rarest on, as long as there is room: five pairs for each record in a
    small table, and one for two records in a large one. So a value that twenty records share is
    rare where many values are, and not where it is one of few.

    ``sides`` are 1 and 2 for records of two tables, of which pairs have one each; 0 for those of
    one table. O(k log k) time for k values and words, and some 40 bytes for each.
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
def _hash(buffer: Bytes, ends: Ints, plain: bool, out: Keys) -> None:
    """Hash each text; if it is to be plain, without what is neither letter nor digit."""
    start = 0
    for record in range(len(out)):
        mixed = np.uint64(0)
        for place in range(start, ends[record]):
            if not plain or _is_of_word(buffer[place]):
                mixed = _mix(mixed, buffer[place])
        out[record] = mixed
        start = ends[record] + 1


# Pairs of records that may be the same thing, without comparing all with all.


# Up to so many records, more orders and wider neighbourhoods cost next to nothing.
_FEW = 20_000
_ORDERS, _ORDERS_OF_FEW = 32, 48
_AROUND, _AROUND_OF_FEW = 3, 12
# How many times as far a record looks for others if it passes by those of its own group.
_FURTHER = 20
_MASK = (1 << 21) - 1
# Standard deviations to either end of an interval.
_SPREAD = 1.645


class Best(NamedTuple):
    """The best others of each record so far, the best first: arrays of shape (n, n_best)."""

    others: NDArray[np.int32]  # −1 where there is none
    overlap: Halves


@dataclass(frozen=True)
class Candidates:
    """Pairs of records that may be the same thing, and which of the two searches found them.

    Neither found those of copies, which are not searched, and those within likely groups.
    """

    pairs: Ints  # (k, 2), the smaller number first, in order
    overlap: Halves  # cosine of their grams' weights: 1 if they share all
    met: Mask  # whether they met in an order
    views: Mask  # whether they share a rare value or word
    n_records: int

    def __len__(self) -> int:
        return len(self.pairs)


def candidates_of(
    columns: Sequence[Column], n_best: int = 10, *, side: Mask | None = None, seed: int = 0
) -> Candidates:
    """Find the pairs of records that may be the same thing.

    Of each record ``n_best`` others are kept that share most with it, and those that share a rare
    value or word. ``side`` says which of two tables each is from; pairs are of one from each then.
    ``seed`` is of the random orders.

    O(n log n) time, some tens of microseconds a record on one core; memory: the texts as bytes, 4
    bytes a gram, and 12 ``n_best`` bytes for each record.
    """
    first = first_of_equal(record_keys(columns, side))
    alone = np.flatnonzero(first == np.arange(len(first)))
    kept = [Column(c.name, c.kind, c.values[alone]) for c in columns]
    sides = np.zeros(len(alone), dtype=np.int32)
    if side is not None:
        sides = 1 + side[alone].astype(np.int32)
    grams = grams_of(kept)
    best = _best(grams, n_best, sides, seed)
    by_column = [pairs_of_rare_values(keys, sides) for keys in find_value_keys(kept)]
    found = unite_candidates(best, by_column, lambda pairs: grams.compare(pairs)[0])
    return with_copies(found, first, side)


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


def add_pairs(found: Candidates, pairs: Ints, overlap: Halves | None = None) -> Candidates:
    """Candidates with further pairs, which no search has led to."""
    keys = keys_of(found.pairs)
    more, of = np.unique(keys_of(pairs), return_index=True)
    new = np.isin(more, keys, assume_unique=True, invert=True)
    more, of = more[new], of[new]
    place = np.searchsorted(keys, more)
    return Candidates(
        np.insert(found.pairs, place, ends_of(more), axis=0),
        np.insert(found.overlap, place, 0.0 if overlap is None else overlap[of]),
        np.insert(found.met, place, False),
        np.insert(found.views, place, False),
        found.n_records,
    )


def unite_candidates(
    best: Best, by_column: Sequence[Ints], overlaps: Callable[[Ints], Halves]
) -> Candidates:
    """Pairs that met in orders and those that share a rare value, each once, in order.

    The latter are as :func:`pairs_of_rare_values` gives them, of each column; ``overlaps`` gives
    those of pairs that did not meet.
    """
    found = best.others >= 0
    of_orders = keys_of(np.column_stack([np.nonzero(found)[0], best.others[found]]))
    keys = sort_distinct(np.concatenate([of_orders, *by_column]))
    met, views = (np.zeros(len(keys), dtype=bool) for _ in range(2))
    overlap = np.zeros(len(keys), dtype=np.float32)
    place = np.searchsorted(keys, of_orders)
    met[place], overlap[place] = True, best.overlap[found]
    del of_orders, place
    for shared in by_column:
        views[np.searchsorted(keys, shared)] = True
    pairs = ends_of(keys)
    new = np.flatnonzero(~met)
    overlap[new] = overlaps(pairs[new])
    return Candidates(pairs, overlap, met, views, len(found))


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
    return add_pairs(replace(found, pairs=pairs, n_records=len(first)), more, shared)


def _pairs_of_copies(pairs: Ints, originals: Ints, copies: Ints) -> tuple[Ints, Ints]:
    """The pairs of copies with those that their originals are paired with, and these pairs."""
    ends = np.concatenate([pairs, pairs[:, ::-1]])
    order = np.argsort(ends[:, 0], kind="stable")
    start, stop = (np.searchsorted(ends[order, 0], originals, side) for side in ("left", "right"))
    of = joined_runs(order, start, stop)
    found = np.column_stack([np.repeat(copies, stop - start), ends[of, 1]])
    return found, of % max(len(pairs), 1)


def record_keys(columns: Sequence[Column], side: Mask | None = None) -> Keys:
    """A number for each record, of all its cells but vectors, and of its table."""
    n = len(columns[0]) if columns else 0
    found = np.zeros(n, dtype=np.uint64) if side is None else side.astype(np.uint64)
    for column in columns:
        if not is_searched(column):
            continue
        if column.values.dtype.kind == "f":
            # No two zeros, and one way to be missing.
            values = np.where(np.isnan(column.values), np.nan, column.values + 0.0)
            keys = values.view(np.uint64)
        else:
            keys = value_keys(column, exact=True)
        found = (found ^ keys) * np.uint64(0x9E3779B97F4A7C15)
        found ^= found >> np.uint64(29)
    return found


def first_of_equal(keys: Keys) -> Ints:
    """For each record the first one with the same key, as a rule itself."""
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    return np.asarray(first[which.ravel()], dtype=np.int64)


def _best(grams: TokenLists, n_best: int, sides: Sides, seed: int) -> Best:
    """The others of each record that share most with it, among those that it met."""
    best = nobody_yet(len(grams), n_best)
    n_orders = count_orders(len(grams))
    grams.lengths  # noqa: B018 - before several threads ask for them
    for number in range(n_orders):
        enter_step("looking for records that may be the same", number / n_orders)
        keys = order_keys(grams, seed, number)
        order = np.argsort(keys, kind="stable")

        def meet(places: slice, order: Ints = order, keys: Keys = keys) -> None:
            remember(*find_meetings(grams, keys, order[places], sides, len(grams)), *best)

        run_in_blocks(meet, len(grams), BLOCK)
    return best


def count_orders(n: int) -> int:
    """In how many orders so many records are put."""
    return _ORDERS_OF_FEW if n <= _FEW else _ORDERS


def find_meetings(
    grams: TokenLists, keys: Keys, order: Ints, sides: Sides, n: int
) -> tuple[NDArray[np.int32], NDArray[np.int32], Halves]:
    """Neighbours in a part of an order of ``n`` records, and the cosine of what they share."""
    around = _AROUND_OF_FEW if n <= _FEW else _AROUND
    room = min(around, len(order)) * len(order)
    i, j = (np.empty(room, dtype=np.int32) for _ in range(2))
    cosine = np.empty(room, dtype=np.float32)
    reach = around * (_FURTHER if sides.any() else 1)
    n = _list_meetings(
        grams.values, grams.ends, grams.weights, grams.lengths, sides, keys, order, around, reach,
        i, j, cosine,
    )  # fmt: skip
    return i[:n].copy(), j[:n].copy(), cosine[:n].copy()


def order_keys(grams: TokenLists, seed: int, number: int) -> Keys:
    """By what records are put in the order of a number."""
    salt = np.uint64((seed * 1_000_003 + number + 1) & 0xFFFFFFFF)
    keys = np.empty(len(grams), dtype=np.uint64)

    def fill(rows: slice) -> None:
        _order_keys(grams.values, grams.ends, rows.start, rows.stop, salt, keys)

    run_in_blocks(fill, len(grams), BLOCK)
    return keys


def nobody_yet(n: int, n_best: int) -> Best:
    """Room for the best others of each record: 8 ``n_best`` bytes a record."""
    others = np.full((n, n_best), -1, dtype=np.int32)
    return Best(others, np.zeros((n, n_best), dtype=np.float32))


def estimate_missed(candidates: Candidates, same: Mask, n_pairs: float) -> IntervalEstimate:
    r"""Estimate how many pairs of records that are the same no search has led to.

    Orders of grams and rare values or words are two searches that know nothing of each other
    (capture and recapture, D. G. Chapman, 1951). Of the :math:`J` joins that make the groups found
    by both, the one alone misses :math:`a` and the other :math:`b`, so that both miss about
    :math:`ab / J` more. What neither can see is not counted, and the interval is wide upwards.

    Candidates that are likely the same, ``same`` (k,), make ``n_pairs`` pairs.
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
def _order_keys(
    words: Words, ends: Ints, first: int, last: int, salt: np.uint64, out: Keys
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
def _list_meetings(
    words: Words, ends: Ints, weights: Halves, lengths: Halves, sides: Sides, keys: Keys,
    order: Ints, around: int, reach: int, first: NDArray[np.int32], second: NDArray[np.int32],
    cosine: Halves,
) -> int:  # fmt: skip
    """List neighbours in an order, and what they share; how many.

    Records of the same side are passed by, up to a reach.
    """
    filled = 0
    for place in range(len(order)):
        i = order[place]
        if lengths[i] == 0:
            continue
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
            shared = share_tokens(words, ends, weights, lengths, i, j)[0]
            if shared > 0:
                first[filled], second[filled], cosine[filled] = i, j, shared
                filled += 1
    return filled


@compiled()
def remember(
    i: Sides, j: Sides, cosine: Halves, others: NDArray[np.int32], overlap: Halves
) -> None:
    """Keep the best others of each record among those that met, in the order of meetings."""
    for k in range(len(i)):
        _keep_among_best(others[i[k]], overlap[i[k]], j[k], cosine[k])
        _keep_among_best(others[j[k]], overlap[j[k]], i[k], cosine[k])


@compiled()
def _keep_among_best(
    others: NDArray[np.int32], overlap: Halves, other: int, cosine: np.float32
) -> None:
    """Put another record among the best of one, in order, if it is better than the last."""
    place = len(others) - 1
    if cosine < overlap[place] or (cosine == overlap[place] and others[place] >= 0):
        return
    for k in range(len(others)):
        if others[k] == other:
            return
    while place > 0 and cosine > overlap[place - 1]:
        others[place], overlap[place] = others[place - 1], overlap[place - 1]
        place -= 1
    others[place], overlap[place] = other, cosine
