"""Rows that are looked for: by text, by values and by doubt."""

from __future__ import annotations

import re
import threading
from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from unicodedata import combining, normalize

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Ints
from nearkin.errors import InputError
from nearkin.studio import reports
from nearkin.studio.metric import TaughtMetric
from nearkin.studio.quality import doubtful_rows
from nearkin.studio.records import StudioRecords, shown_text

# Characters that are looked through, of all texts together.
MOST_CHARACTERS = 200_000_000
# Between the texts: no text has it, since it is a blank there.
_END = "\n"
_PHRASE = re.compile(r'"([^"]*)"?|(\S+)')
# Letters that are not one with a sign beside it, and the ones that people type instead.
_LETTERS = {"ł": "l", "ø": "o", "đ": "d", "ı": "i", "ħ": "h", "æ": "ae", "œ": "oe"}


@cache
def _signs() -> re.Pattern[str]:
    """Accents and other signs that stand above or below a letter."""
    return re.compile(f"[{''.join(c for c in map(chr, range(0x10000)) if combining(c))}]+")


def searched_form(text: str) -> str:
    """A text without capitals, accents and runs of blanks.

    Examples
    --------
    >>> from nearkin.studio.find import searched_form
    >>> searched_form("Łódź, Straße  9")
    'lodz, strasse 9'
    """
    folded = text.casefold()
    if not folded.isascii():
        folded = _signs().sub("", normalize("NFKD", folded))
        for letter, typed in _LETTERS.items():
            folded = folded.replace(letter, typed)
    return " ".join(folded.split())


def wanted_words(text: str) -> list[str]:
    """Words of what somebody has typed; what is in quotation marks is one.

    Examples
    --------
    >>> from nearkin.studio.find import wanted_words
    >>> wanted_words('Café "New York"')
    ['cafe', 'new york']
    """
    found = (searched_form(quoted or word) for quoted, word in _PHRASE.findall(text))
    return [word for word in found if word]


class TextIndex:
    """Texts to look through, as one long text.

    Parameters
    ----------
    texts : iterable of str
    n : int
        How many there are.

    Attributes
    ----------
    longest : int
        Characters of each that are looked through.
    shortened : bool
        Whether some have more.

    Notes
    -----
    Takes a byte or two a character, 200 to 400 MB at most: of longer texts the beginning is looked
    through.

    Examples
    --------
    >>> from nearkin.studio.find import TextIndex
    >>> TextIndex(["Café Rouge", "Bar Rouge"], 2).containing("rouge CAFE").tolist()
    [True, False]
    """

    def __init__(self, texts: Iterable[str], n: int) -> None:
        self.longest = max(100, MOST_CHARACTERS // max(1, n))
        self.shortened = False
        parts = [self._beginning(text) for text in texts]
        self._starts = np.cumsum([0, *(len(part) + 1 for part in parts)]).tolist()
        self._whole = _END.join([*parts, ""])
        self._n = n

    def _beginning(self, text: str) -> str:
        self.shortened |= len(text) > self.longest
        return searched_form(text[: self.longest])

    def containing(self, text: str) -> NDArray[np.bool_]:
        """Which texts have all the words in them, anywhere."""
        found = np.ones(self._n, dtype=bool)
        for word in wanted_words(text):
            found &= self._having(word)
        return found

    def _having(self, word: str) -> NDArray[np.bool_]:
        found = np.zeros(self._n, dtype=bool)
        at = self._whole.find(word)
        while at >= 0:
            row = bisect_right(self._starts, at) - 1
            found[row] = True
            at = self._whole.find(word, self._starts[row + 1])
        return found


Mask = NDArray[np.bool_]

# Columns whose numbers are kept, since the same ones are asked for again.
_MOST_KEPT = 20


@dataclass(frozen=True)
class Where:
    """What a column is to hold.

    Attributes
    ----------
    key : str
        Of the column, as in :meth:`Finder.columns`.
    kinds : tuple of int, optional
        One of these kinds, by their numbers in the colouring of the column.
    low, high : float, optional
        An amount from here to there.
    text : str, optional
        These words.
    """

    key: str
    kinds: tuple[int, ...] | None = None
    low: float | None = None
    high: float | None = None
    text: str | None = None


@dataclass(frozen=True)
class Wanted:
    """What rows are looked for; all of it has to hold.

    Attributes
    ----------
    text : str
        Words in what is shown of a record.
    where : tuple of Where
    groups : tuple of int
        Rows whose groups are wanted, of those that were found; any of them.
    doubtful : bool
        Whether it is unsure whom they are like.
    """

    text: str = ""
    where: tuple[Where, ...] = ()
    groups: tuple[int, ...] = ()
    doubtful: bool = False


class Finder:
    """Finds rows. What it needs is made when it is first asked for, and kept.

    Parameters
    ----------
    records : StudioRecords
    """

    def __init__(self, records: StudioRecords) -> None:
        self._records = records
        self._making, self._doubting = threading.Lock(), threading.Lock()
        self._texts: dict[str, TextIndex] = {}
        self._numbers: dict[str, NDArray[np.float32]] = {}
        self._doubtful: tuple[int, Mask | None] | None = None
        self._kinds = [
            {"key": f"column-{j}", "name": name, "kind": reports.colouring_kind(values) or "text"}
            for j, (name, values) in enumerate(records.columns.items())
        ]
        features = [] if records.of_words else records.features[: reports.MOST_FEATURES]
        self._kinds += [
            {"key": f"feature-{j}", "name": name, "kind": "numbers"}
            for j, name in enumerate(features)
        ]

    def columns(self) -> list[dict[str, str]]:
        """Columns by which rows can be found: ``key``, ``name`` and ``kind``.

        Kinds are numbers, categories and text.
        """
        return [dict(one) for one in self._kinds]

    def prepare(self) -> None:
        """Read all texts, so that the first search need not wait for it."""
        self._index("")

    def matches(
        self, wanted: Wanted, learned: TaughtMetric, groups: Ints | None
    ) -> tuple[Mask, list[str]]:
        """Which rows are looked for, and what there is to say of that.

        Parameters
        ----------
        wanted : Wanted
        learned : TaughtMetric
            In which rows are doubtful.
        groups : int ndarray of shape (n,) or None
            The found group of each row, −1 for none; None if none were found.
        """
        found = np.ones(len(self._records), dtype=bool)
        notes: list[str] = []
        if wanted.text.strip():
            index = self._index("")
            found &= index.containing(wanted.text)
            notes += self._of_long_texts(index)
        for where in wanted.where:
            found &= self._holding(where, notes)
        if wanted.groups:
            found &= self._in_groups(wanted.groups, groups, notes)
        if wanted.doubtful:
            found &= self._in_doubt(learned, notes)
        return found, list(dict.fromkeys(notes))

    def _in_groups(self, rows: Sequence[int], groups: Ints | None, notes: list[str]) -> Mask:
        if groups is None:
            notes.append("No groups were found yet.")
            return np.zeros(len(self._records), dtype=bool)
        meant = groups[[self._records.checked_row(row) for row in rows]]
        return np.asarray(np.isin(groups, meant))

    def _in_doubt(self, learned: TaughtMetric, notes: list[str]) -> Mask:
        with self._doubting:
            if self._doubtful is None or self._doubtful[0] != learned.version:
                doubtful = doubtful_rows(learned, len(self._records))
                self._doubtful = learned.version, doubtful
            found = self._doubtful[1]
        if found is None:
            notes.append("What is doubtful is known after the first answers.")
            return np.zeros(len(self._records), dtype=bool)
        return found

    def _holding(self, where: Where, notes: list[str]) -> Mask:
        known = next((one for one in self._kinds if one["key"] == where.key), None)
        if known is None:
            raise InputError(f"there is no column {where.key!r:.60}.")
        found = np.ones(len(self._records), dtype=bool)
        if where.text is not None:
            index = self._index(where.key)
            notes += self._of_long_texts(index)
            return index.containing(where.text)
        if known["kind"] == "text":
            raise InputError(f"column {known['name']!r:.60} holds texts: look for words in it.")
        numbers = self._numbers_of(known)
        if where.kinds is not None:
            found &= np.isin(numbers, np.array(where.kinds, dtype=np.float32))
        if where.low is not None:
            found &= numbers >= np.float32(where.low)
        if where.high is not None:
            found &= numbers <= np.float32(where.high)
        return found

    def _numbers_of(self, known: dict[str, str]) -> NDArray[np.float32]:
        key, _, j = known["key"].partition("-")
        if key == "feature":
            return self._records.X[:, int(j)].astype(np.float32)
        with self._making:
            if known["key"] not in self._numbers:
                values = self._records.columns[known["name"]]
                if len(self._numbers) >= _MOST_KEPT:
                    self._numbers.pop(next(iter(self._numbers)))
                found = reports.colours_of_column(values, known["kind"])["values"]
                self._numbers[known["key"]] = found
            return self._numbers[known["key"]]

    def _index(self, key: str) -> TextIndex:
        """Texts of a column, or of all that are shown where it is ""."""
        with self._making:
            if key not in self._texts:
                shown = {k: v for k, v in self._texts.items() if k == ""}
                self._texts = {**shown, key: self._made(key)}
            return self._texts[key]

    def _made(self, key: str) -> TextIndex:
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
        return TextIndex(("\0".join(map(shown_text, row)) for row in rows), len(records))

    def _of_long_texts(self, index: TextIndex) -> list[str]:
        if index.shortened:
            return [f"Texts are looked through up to their character {index.longest}."]
        return []
