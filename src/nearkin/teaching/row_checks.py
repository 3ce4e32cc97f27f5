"""Rows, answers and names as people and programs give them: checked, or an error that says why."""

from __future__ import annotations

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from nearkin._types import Ints
from nearkin.errors import InputError, InputTypeError

# Two rows, the smaller first.
Pair = tuple[int, int]
# Three rows, the first nearer to the second than to the third.
Triplet = tuple[int, int, int]

# Characters of a name.
LONGEST_NAME = 60


def checked_name(by: Any) -> str:
    """A name without blanks around it, or an error."""
    if not isinstance(by, str):
        raise InputTypeError(f"{by!r:.60} is not a name.")
    name = by.strip()
    if not 0 < len(name) <= LONGEST_NAME:
        raise InputError(f"a name has 1 to {LONGEST_NAME} characters, not {len(name)}.")
    return name


def checked_pair(left: Any, right: Any, n_rows: int) -> Pair:
    """Two different rows, the smaller first, or an error."""
    rows = [_checked_row(row, n_rows) for row in (left, right)]
    if rows[0] == rows[1]:
        raise InputError(f"a pair takes two rows, not row {rows[0]} twice.")
    return min(rows), max(rows)


def checked_triplet(rows: Any, n_rows: int) -> Triplet:
    """Three different rows, or an error."""
    a, b, c = (_checked_row(row, n_rows) for row in rows)
    if len({a, b, c}) < 3:
        raise InputError(f"a triplet takes three rows: ({a}, {b}, {c}) names one twice.")
    return a, b, c


def _checked_row(row: Any, n_rows: int) -> int:
    if isinstance(row, bool) or not isinstance(row, Integral):
        raise InputTypeError(f"{row!r:.60} is not a row number.")
    if not 0 <= int(row) < n_rows:
        raise InputError(f"there is no row {row}: rows are numbered from 0 to {n_rows - 1}.")
    return int(row)


def checked_answer(same: Any) -> bool | None:
    """True, False or None, or an error."""
    if same is None or isinstance(same, (bool, np.bool_)):
        return None if same is None else bool(same)
    raise InputTypeError(f"same must be True, False, or None for unsure, not {same!r:.60}.")


def checked_rows(rows: Sequence[int], n_rows: int) -> Ints:
    """Rows in the order of their numbers, each once, or an error."""
    return np.sort(rows_once(rows, n_rows))


def rows_once(rows: Sequence[int], n_rows: int) -> Ints:
    """Rows as they are given, each once, or an error."""
    found = np.asarray(rows)
    if not found.size:
        return np.empty(0, dtype=np.int64)
    if found.ndim != 1 or found.dtype.kind not in "iu":
        raise InputTypeError("a group is a list of row numbers.")
    outside = found[(found < 0) | (found >= n_rows)]
    if len(outside):
        raise InputError(f"there is no row {outside[0]}: rows are numbered from 0 to {n_rows - 1}.")
    _, first = np.unique(found, return_index=True)
    return found[np.sort(first)].astype(np.int64)
