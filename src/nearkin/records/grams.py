"""Records as sets of weighed character trigrams, in arrays.

A gram is one number: the upper 24 bits are a hash of three bytes and of where they may stand, the
lower 8 its weight, which grows with its rarity. Equal grams are equal numbers, and two records have
in common what two increasing lists have.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Ints
from nearkin.rows.parallel import compiled, for_each_block
from nearkin.tables.reading import WORDS, Column

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
class Cells:
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

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.records.grams import grams_of
    >>> from nearkin.tables.reading import Column
    >>> names = np.array(["anna", "annas", "bert", None], dtype=object)
    >>> grams = grams_of([Column("name", "name", names)])
    >>> [len(grams.of(record)) for record in range(4)]
    [3, 3, 0, 0]
    """
    n = len(columns[0]) if columns else 0
    cells = searched_cells(columns)
    return weighed_grams(cells, gram_weights(gram_counts(cells), n), n)


def searched_cells(columns: Sequence[Column]) -> list[Cells]:
    """The texts of the columns that candidates are found by."""
    return [
        cells_of(column, 0 if column.kind in _ANYWHERE else 1 + number)
        for number, column in enumerate(columns)
        if is_searched(column)
    ]


def gram_counts(cells: Sequence[Cells]) -> NDArray[np.int32]:
    """How often each of the 2²⁴ possible grams is met: 64 MB."""
    seen = np.zeros(_SLOTS, dtype=np.int32)
    for cell in cells:
        _count(cell.buffer, cell.ends, cell.tag, seen)
    return seen


def weighed_grams(cells: Sequence[Cells], weights: Bytes, n: int) -> Grams:
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

    for_each_block(fill, n, _BLOCK)
    ends = np.cumsum(filled)
    _close_ranks(words, starts, filled, ends)
    return Grams(words[: int(ends[-1]) if n else 0].copy(), ends)


def together(parts: Sequence[Grams]) -> Grams:
    """The records of one part after those of another."""
    before = np.cumsum([0, *(len(part.words) for part in parts)])
    ends = [part.ends + start for part, start in zip(parts, before, strict=False)]
    return Grams(np.concatenate([part.words for part in parts]), np.concatenate(ends))


def joined_runs(values: NDArray[Any], starts: Ints, ends: Ints) -> NDArray[Any]:
    """Parts of an array from each start to its end, one after the other."""
    count = ends - starts
    place = np.repeat(starts - np.cumsum(count) + count, count) + np.arange(count.sum())
    return np.asarray(values[place])


def is_searched(column: Column) -> bool:
    """Whether candidates are found by a column: by one of words, numbers or dates."""
    return column.kind not in ("ignored", "vector")


def cells_of(column: Column, tag: int) -> Cells:
    """The texts of a column in one array of bytes; missing ones are empty."""
    texts = texts_of(column)
    joined = "\n".join(texts)
    if joined.count("\n") != len(texts) - 1:
        joined = "\n".join(text.replace("\n", " ") for text in texts)
    buffer = np.frombuffer((joined + "\n").encode(errors="replace"), dtype=np.uint8)
    return Cells(buffer, np.flatnonzero(buffer == 10), tag)


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
