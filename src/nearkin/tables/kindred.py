"""Columns that hold the same words, such as given names and surnames: people swap such cells."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from nearkin.tables.columns import Column
from nearkin.tables.reading import Cells
from nearkin.tables.values import words_of

# Rows that columns are looked at, at most.
_SAMPLE = 20_000
# Two columns hold the same words if this share of the values of one is found in the other.
_KINDRED = 0.05


def kindred(columns: Sequence[Column]) -> list[tuple[int, ...]]:
    """Pairs of columns, by their places, of names or of codes that have words in common."""
    if not columns:
        return []
    step = max(len(columns[0]) // _SAMPLE, 1)
    seen = {
        number: set(column.values[::step].tolist()) - {None}
        for number, column in enumerate(columns)
        if column.kind in ("name", "code")
    }
    return [
        (a, b)
        for a, b in combinations(seen, 2)
        if columns[a].kind == columns[b].kind
        and len(seen[a] & seen[b]) > _KINDRED * min(len(seen[a]), len(seen[b]))
    ]


def together(left: Cells, right: Cells) -> Cells:
    """The words of two columns in one, in which it makes no difference what stands where.

    Examples
    --------
    >>> from nearkin.tables.kindred import together
    >>> from nearkin.tables.reading import read_table
    >>> both = together(*read_table({"given": ["Ada", None], "family": ["King", None]}))
    >>> both.name, both.values.tolist()
    ('given and family', ['ada king', None])
    """
    pairs = zip(words_of(left), words_of(right), strict=True)
    found = np.empty(len(left), dtype=object)
    found[:] = [" ".join(filter(None, pair)) or None for pair in pairs]
    return Cells(name_of_both(left.name, right.name), "text", found)


def name_of_both(left: str, right: str) -> str:
    """What two columns are called together."""
    return f"{left} and {right}"
