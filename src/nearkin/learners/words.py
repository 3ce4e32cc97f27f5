"""Which words of two cells bring rows near or far, under a learned metric."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from nearkin.learners.explanation import Word
from nearkin.rows.sparse import dense
from nearkin.spaces.maps import Map

# Words of a cell that are looked at, the first ones, and of a column that are told.
_WORDS_OF_A_CELL = 60
_WORDS_TOLD = 12
# A word that changes the squared distance by less than this share of it tells nothing.
_LEAST = 0.005
_WORD = re.compile(r"\w+")


def words_of(table: Any, learned: Map, a: Any, b: Any) -> dict[str, list[Word]]:
    """Words that matter in columns of words, the largest part first.

    A word is taken out of the cells that have it. Cells of one word that differ have no words that
    matter more than others.

    Parameters
    ----------
    table : TableEncoder
    learned : Map
        Of the rows of numbers that it gives.
    a, b : data frame
        Of one row each.
    """
    both = [table.known_cells(row) for row in (a, b)]
    whole = _squared(table, learned, *both)[0]
    found = {}
    for name in table.columns_of_words_:
        texts = [cells[name].values[0] or "" for cells in both]
        words = list(_words(texts))
        if len(words) < 2:
            continue
        changed = [
            {**cells, name: _without(cells[name], text, words)}
            for cells, text in zip(both, texts, strict=True)
        ]
        parts = whole - _squared(table, learned, *changed)
        told = [
            Word(word, _where(word, texts), float(part))
            for word, part in zip(words, parts, strict=True)
            if abs(part) >= _LEAST * whole
        ]
        if told:
            found[name] = sorted(told, key=lambda word: -abs(word.part))[:_WORDS_TOLD]
    return found


def _squared(table: Any, learned: Map, left: dict[str, Any], right: dict[str, Any]) -> Any:
    """Squared distances of cells row by row; a column of one cell is the same in all rows."""
    n = max(len(cells) for cells in [*left.values(), *right.values()])
    images = [
        dense(
            learned.apply(
                table.coordinates_of(
                    {
                        name: cells if len(cells) == n else _repeated(cells, n)
                        for name, cells in side.items()
                    }
                )
            )
        )
        for side in (left, right)
    ]
    return ((images[0] - images[1]) ** 2).sum(axis=1)


def _repeated(cells: Any, n: int) -> Any:
    return replace(cells, values=np.repeat(cells.values, n, axis=0))


def _without(cells: Any, text: str, words: list[str]) -> Any:
    """A cell without each of some words in turn."""
    values = np.empty(len(words), dtype=object)
    for k, word in enumerate(words):
        left = re.sub(rf"\b{re.escape(word)}\b", " ", text)
        values[k] = " ".join(left.split())
    return replace(cells, values=values)


def _words(texts: list[str]) -> Iterator[str]:
    """The first words of both texts, each once."""
    found = [dict.fromkeys(_WORD.findall(text)) for text in texts]
    yield from dict.fromkeys([word for some in found for word in list(some)[:_WORDS_OF_A_CELL]])


def _where(word: str, texts: list[str]) -> str:
    has = [word in _WORD.findall(text) for text in texts]
    return "both" if all(has) else "left" if has[0] else "right"
