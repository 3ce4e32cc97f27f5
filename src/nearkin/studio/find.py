"""Search for rows: by words, by columns' values, by group and by doubt."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from unicodedata import combining, normalize

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Ints, Mask
from nearkin.errors import InputError
from nearkin.studio import reports
from nearkin.studio.metric import TaughtMetric
from nearkin.studio.quality import find_doubtful_rows
from nearkin.studio.records import StudioRecords, format_cell

# Characters that are looked through, of all texts together.
MOST_CHARACTERS = 200_000_000
_PHRASE = re.compile(r'"([^"]*)"?|(\S+)')
# Letters that are not one with a sign beside it, and the ones that people type instead.
_LETTERS = {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "ħ": "h", "æ": "ae", "œ": "oe"}


@cache
def _accents_pattern() -> re.Pattern[str]:
    """Compile a pattern for accents and other signs above or below a letter."""
    return re.compile(f"[{''.join(c for c in map(chr, range(0x10000)) if combining(c))}]+")


def fold_text(text: str) -> str:
    """Remove capitals, accents and runs of blanks from a text, for comparison.

    >>> fold_text("Łódź, Straße  9")
    'lodz, strasse 9'
    """
    folded = text.casefold()
    if not folded.isascii():
        folded = _accents_pattern().sub("", normalize("NFKD", folded))
        for letter, typed in _LETTERS.items():
            folded = folded.replace(letter, typed)
    return " ".join(folded.split())


def split_query(text: str) -> list[str]:
    """Split a typed query into folded words; a phrase in quotation marks is one word.

    >>> split_query('Café "New York"')
    ['cafe', 'new york']
    """
    found = (fold_text(quoted or word) for quoted, word in _PHRASE.findall(text))
    return [word for word in found if word]


class TextIndex:
    """Texts in which words are found fast, since they are folded once.

    Takes a byte or two a character, 200 to 400 MB at most, and 50 bytes a text.

    >>> TextIndex(["Café Rouge", "Bar Rouge"], 2).find_texts("rouge CAFE").tolist()
    [True, False]
    """

    def __init__(self, texts: Iterable[str], n: int) -> None:
        # Characters of each text that are searched, and whether some texts are longer.
        self.longest = max(100, MOST_CHARACTERS // max(1, n))
        self.shortened = False
        self._texts = [self._fold_beginning(text) for text in texts]

    def _fold_beginning(self, text: str) -> str:
        """Fold the first ``longest`` characters of a text; set ``shortened`` if it has more."""
        self.shortened |= len(text) > self.longest
        return fold_text(text[: self.longest])

    def find_texts(self, text: str) -> NDArray[np.bool_]:
        """Whether each text contains all words of a query, as a mask of shape (n,)."""
        found = np.ones(len(self._texts), dtype=bool)
        for word in split_query(text):
            found &= np.array([word in one for one in self._texts], dtype=bool)
        return found


# Columns whose numbers are kept, since the same ones are asked for again.
_MOST_KEPT = 20


@dataclass(frozen=True)
class Where:
    """A condition on one column."""

    # Key of the column, as in :meth:`Finder.columns`.
    key: str
    # Accepted categories, by their numbers in the colouring of the column.
    kinds: Sequence[int] | None = None
    # Smallest and largest accepted number.
    low: float | None = None
    high: float | None = None
    # Words that the column's text must contain.
    text: str | None = None


@dataclass(frozen=True)
class Wanted:
    """A search for rows; all of its conditions have to hold."""

    # Words that the shown columns of a record must contain.
    text: str = ""
    where: tuple[Where, ...] = ()
    # Row numbers: accepted are all rows in the found group of any of them.
    groups: Sequence[int] = ()
    # Whether to accept only rows of which the metric is unsure whom they are like.
    doubtful: bool = False


class Finder:
    """Finds rows that meet conditions; its indexes are made at first use and cached."""

    def __init__(self, records: StudioRecords) -> None:
        self._records = records
        self._making, self._doubting = threading.Lock(), threading.Lock()
        self._texts: dict[str, TextIndex] = {}
        self._numbers: dict[str, NDArray[np.float32]] = {}
        self._doubtful: tuple[int, Mask | None] | None = None
        self._kinds = reports.list_columns(records)

    def columns(self) -> list[dict[str, str]]:
        """List the columns by which rows can be found."""
        return self._kinds

    def prepare(self) -> None:
        """Index all texts, so that the first search need not wait for it."""
        self._text_index("")

    def matches(
        self, wanted: Wanted, learned: TaughtMetric, groups: Ints | None
    ) -> tuple[Mask, list[str]]:
        """Mark the rows that meet all conditions; also returns sentences on what could not be done.

        Rows are doubtful by the metric that was ``learned``. ``groups`` are the found ones of all
        rows, −1 for outliers; None if none were found.
        """
        found = np.ones(len(self._records), dtype=bool)
        notes: list[str] = []
        if wanted.text.strip():
            index = self._text_index("")
            found &= index.find_texts(wanted.text)
            notes += self._note_long_texts(index)
        for where in wanted.where:
            found &= self._match_column(where, notes)
        if wanted.groups:
            found &= self._match_groups(wanted.groups, groups, notes)
        if wanted.doubtful:
            found &= self._match_doubtful(learned, notes)
        return found, list(dict.fromkeys(notes))

    def _match_groups(self, rows: Sequence[int], groups: Ints | None, notes: list[str]) -> Mask:
        """Whether each row is in the group of one of some rows; may add to the notes."""
        if groups is None:
            notes.append("No groups were found yet.")
            return np.zeros(len(self._records), dtype=bool)
        meant = groups[[self._records.check_row(row) for row in rows]]
        return np.asarray(np.isin(groups, meant))

    def _match_doubtful(self, learned: TaughtMetric, notes: list[str]) -> Mask:
        """Whether the metric is unsure of each row; may add to the notes."""
        with self._doubting:
            if self._doubtful is None or self._doubtful[0] != learned.version:
                doubtful = find_doubtful_rows(learned, len(self._records))
                self._doubtful = learned.version, doubtful
            found = self._doubtful[1]
        if found is None:
            notes.append("What is doubtful is known after the first answers.")
            return np.zeros(len(self._records), dtype=bool)
        return found

    def _match_column(self, where: Where, notes: list[str]) -> Mask:
        """Whether each row meets the condition on a column; may add to the notes."""
        known = next((one for one in self._kinds if one["key"] == where.key), None)
        if known is None:
            raise InputError(f"there is no column {where.key!r:.60}.")
        found = np.ones(len(self._records), dtype=bool)
        if where.text is not None:
            index = self._text_index(where.key)
            notes += self._note_long_texts(index)
            return index.find_texts(where.text)
        if known["kind"] == "text":
            raise InputError(f"column {known['name']!r:.60} holds texts: look for words in it.")
        numbers = self._column_numbers(known)
        if where.kinds is not None:
            found &= np.isin(numbers, np.array(list(where.kinds), dtype=np.float32))
        if where.low is not None:
            found &= numbers >= np.float32(where.low)
        if where.high is not None:
            found &= numbers <= np.float32(where.high)
        return found

    def _column_numbers(self, known: dict[str, str]) -> NDArray[np.float32]:
        """Values of a column, or numbers of its categories; ``known`` is one of ``_kinds``."""
        with self._making:
            if known["key"] not in self._numbers:
                if len(self._numbers) >= _MOST_KEPT:
                    self._numbers.pop(next(iter(self._numbers)))
                self._numbers[known["key"]] = reports.colours_of(self._records, known)["values"]
            return self._numbers[known["key"]]

    def _text_index(self, key: str) -> TextIndex:
        """Return the index of a column's texts, or of all shown columns if the key is empty."""
        with self._making:
            if key not in self._texts:
                shown = {k: v for k, v in self._texts.items() if k == ""}
                self._texts = {**shown, key: self._build_index(key)}
            return self._texts[key]

    def _build_index(self, key: str) -> TextIndex:
        """Build the index that :meth:`_text_index` returns."""
        records = self._records
        if key:
            name = next(one["name"] for one in self._kinds if one["key"] == key)
            columns = [records.columns[name]] if name in records.columns else []
        else:
            shown = [name for name in records.columns if name not in records.hidden]
            columns = [records.ids, *(records.columns[name] for name in shown)]
        if not columns:
            raise InputError("words are looked for in columns of texts.")
        # No word goes from one column to the next.
        rows = zip(*columns, strict=True)
        return TextIndex(("\0".join(map(format_cell, row)) for row in rows), len(records))

    def _note_long_texts(self, index: TextIndex) -> list[str]:
        """Return a sentence on texts that were not searched to their end, in a list."""
        if index.shortened:
            return [f"Texts are looked through up to their character {index.longest}."]
        return []
