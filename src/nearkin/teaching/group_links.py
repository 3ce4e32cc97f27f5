"""Pairs that stand for what is said of groups of rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from nearkin._types import Ints
from nearkin.errors import InputError
from nearkin.teaching.row_checks import Pair, checked_answer, checked_pair, rows_once

# Cannot-links that two groups are turned into at most.
MOST_BETWEEN = 2000


def pairs_of_groups(
    first: Sequence[int], second: Sequence[int], same: bool, n_rows: int
) -> tuple[Ints, int]:
    """Pairs that say that two groups of rows are the same, or that they differ.

    Parameters
    ----------
    first, second : sequence of int
        Row numbers; with ``same`` the second may be empty.
    same : bool
        True links every row of both to the next, in the order in which they are given. False links
        every row of one with every row of the other, or an even choice of 2000 such pairs where
        there are more.
    n_rows : int

    Returns
    -------
    links : int ndarray of shape (k, 2)
        The smaller row first.
    n_possible : int
        How many pairs follow from what was said.

    Examples
    --------
    >>> from nearkin.teaching.group_links import pairs_of_groups
    >>> links, n_possible = pairs_of_groups([4, 7], [1], True, n_rows=10)
    >>> links.tolist(), n_possible
    ([[4, 7], [1, 7]], 3)
    """
    one, two = (rows_once(rows, n_rows) for rows in (first, second))
    both = np.intersect1d(one, two, assume_unique=True)
    if len(both):
        raise InputError(
            f"row {both[0]} is in both groups"
            + (f", and so are {len(both) - 1} others." if len(both) > 1 else ".")
        )
    if same:
        rows = np.concatenate([one, two])
        if len(rows) < 2:
            raise InputError("a pair takes two rows: select more.")
        links = np.column_stack([rows[:-1], rows[1:]])
        return np.sort(links, axis=1), len(rows) * (len(rows) - 1) // 2
    if not len(one) or not len(two):
        raise InputError("one group is empty: select rows of two groups that differ.")
    n_possible = len(one) * len(two)
    n_taken = min(n_possible, MOST_BETWEEN)
    # Slowly through one group and round and round through the other: no pair twice, and the rows
    # of each group in equally many pairs, give or take one.
    step = np.arange(n_taken)
    links = np.column_stack([one[step * len(one) // n_taken], two[step % len(two)]])
    return np.sort(links, axis=1), n_possible


def split_of_groups(first: Sequence[int], second: Sequence[int], n_rows: int) -> dict[bool, Ints]:
    """Pairs that say that rows belong together, and to none of others: must- and cannot-links.

    As :func:`pairs_of_groups` makes them, of the first group alone and of both.
    """
    apart, _ = pairs_of_groups(first, second, False, n_rows)
    together = np.empty((0, 2), dtype=np.int64)
    if len(set(first)) > 1:
        together, _ = pairs_of_groups(first, (), True, n_rows)
    return {True: together, False: apart}


def pairs_of_which(entry: Mapping[str, Any], n_rows: int) -> list[tuple[Pair, bool | None]]:
    """What it says of a row and each of those beside it which of them it is like.

    Those beside it stand for groups that differ, so a row that is like one is unlike the others.

    Examples
    --------
    >>> from nearkin.teaching.group_links import pairs_of_which
    >>> pairs_of_which({"left": 5, "rows": [7, 2], "right": 2, "same": True}, n_rows=10)
    [((5, 7), False), ((2, 5), True)]
    """
    same, chosen = checked_answer(entry["same"]), entry.get("right")
    beside = [checked_pair(entry["left"], row, n_rows) for row in entry["rows"]]
    if len(set(beside)) < len(beside) or not beside:
        raise InputError("it takes at least one row to choose from, and each of them once.")
    if (chosen is None) is (same is True):
        raise InputError("the row that it is like must be given if there is one, and only then.")
    if same is not True:
        return [(pair, same) for pair in beside]
    liked = checked_pair(entry["left"], chosen, n_rows)
    if liked not in beside:
        raise InputError(f"row {chosen} is not one of those that were shown.")
    return [(pair, pair == liked) for pair in beside]
