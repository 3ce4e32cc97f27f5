"""Which of many texts have some words in them, whatever their case and accents."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from functools import cache
from unicodedata import combining, normalize

import numpy as np
from numpy.typing import NDArray

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
    >>> from nearkin.teaching.text_search import searched_form
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
    >>> from nearkin.teaching.text_search import wanted_words
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
    >>> from nearkin.teaching.text_search import TextIndex
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
