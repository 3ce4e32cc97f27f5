"""Mark what differs between two texts, by words or by letters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import SequenceMatcher
from itertools import pairwise

# From where to where in a text.
Span = tuple[int, int]

_WORD = re.compile(r"\w+|[^\w\s]")
# Words that have less in common are two words, not one with a typo; unless one begins the other.
_ALIKE = 0.5
# Characters that are compared one by one, at most: time grows with their square.
_MOST_COMPARED = 200


def find_differences(left: str, right: str) -> tuple[list[Span], list[Span]]:
    """What differs between two texts: in words, or in letters of words that are alike.

    Upper case and the number of spaces make no difference, and what is equal but for them differs
    nowhere.

    Returns
    -------
    spans_of_left, spans_of_right : list of (int, int)
        Where that is, in their order; empty if nothing was left out or put in there.

    Examples
    --------
    >>> from nearkin.tables.differences import find_differences
    >>> find_differences("Jon Smith", "John SMITH")
    ([], [(2, 3)])
    >>> find_differences("12 High Street", "12 Mill Lane")
    ([(3, 14)], [(3, 12)])
    """
    spans: tuple[list[Span], list[Span]] = [], []
    if fold_text(left) == fold_text(right):
        return spans
    for here, there in _unequal(_words(left), _words(right)):
        for a, b in _closer(left[slice(*here)], right[slice(*there)]):
            for found, (start, _), (first, last) in zip(spans, (here, there), (a, b), strict=True):
                if last > first:
                    found.append((start + first, start + last))
    return spans


def fold_text(text: str) -> str:
    """A text in lower case and with single spaces, by which cells are equal."""
    return " ".join(text.lower().split())


def split_marked(text: str, spans: Sequence[Span]) -> list[tuple[str, bool]]:
    """A text in parts, and whether each of them differs.

    Examples
    --------
    >>> from nearkin.tables.differences import split_marked
    >>> split_marked("John", [(2, 3)])
    [('Jo', False), ('h', True), ('n', False)]
    """
    ends = [0, *(end for span in spans for end in span), len(text)]
    parts = [(text[i:j], k % 2 == 1) for k, (i, j) in enumerate(pairwise(ends))]
    return [part for part in parts if part[0]]


def _words(text: str) -> list[tuple[str, Span]]:
    """Words and signs as they are compared, with where they are."""
    return [(word[0].lower(), word.span()) for word in _WORD.finditer(text)]


def _unequal(
    left: Sequence[tuple[str, Span]], right: Sequence[tuple[str, Span]]
) -> list[tuple[Span, Span]]:
    """Stretches of two sequences of words that are not equal."""
    a, b = ([word for word, _ in side] for side in (left, right))
    matched = SequenceMatcher(None, a, b)  # which passes over words that are everywhere
    return [
        (_stretch(left, i, j), _stretch(right, k, m))
        for what, i, j, k, m in matched.get_opcodes()
        if what != "equal"
    ]


def _stretch(words: Sequence[tuple[str, Span]], first: int, last: int) -> Span:
    return (words[first][1][0], words[last - 1][1][1]) if last > first else (0, 0)


def _closer(left: str, right: str) -> list[tuple[Span, Span]]:
    """What differs in two stretches: letters if they are alike, else all of them."""
    whole = [((0, len(left)), (0, len(right)))]
    if len(left) + len(right) > _MOST_COMPARED:
        return whole
    # One by one: in lower case some letters are two.
    a, b = ([letter.lower() for letter in side] for side in (left, right))
    matched = SequenceMatcher(None, a, b)
    is_cut_short = a[: len(b)] == b[: len(a)]
    if matched.ratio() < _ALIKE and not is_cut_short:
        return whole
    return [((i, j), (k, m)) for what, i, j, k, m in matched.get_opcodes() if what != "equal"]
