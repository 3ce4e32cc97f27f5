"""Groups that are found anew: which of them is which of before, and what it is called."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from scipy.optimize import linear_sum_assignment

from nearkin._types import Ints

# Groups that are compared with those of before.
_MOST_MATCHED = 2000


def carried(names: Sequence[str], before: Sequence[Ints], after: Ints) -> list[str | None]:
    """What groups are called, by the rows that names were given to.

    Names go to groups such that as many rows as possible keep theirs, see :func:`matched`.

    Parameters
    ----------
    names : sequence of str
    before : sequence of int ndarray
        The rows that each name was given to; a row may be among those of several.
    after : int ndarray of shape (n,)
        Group of each row now, from 0; −1 for rows of none.

    Returns
    -------
    list of str or None
        Name of each group. A name that no group has is for the caller to keep: once there is a
        group again with these rows, it has the name again.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.tasks.grouping.names import carried
    >>> given = [np.array([0, 1, 2]), np.array([3, 4])]
    >>> carried(["cats", "dogs"], given, np.array([1, 1, 1, 0, 0, 0, 2]))
    ['dogs', 'cats', None]
    """
    found: list[str | None] = [None] * _count(after)
    for name, group in zip(names, matched(before, after).tolist(), strict=True):
        if group >= 0:
            found[group] = name
    return found


def matched(before: Sequence[Ints], after: Ints) -> Ints:
    """Which group of now each group of before is; −1 if none.

    Two groups may be the same one if they share at least half of the rows of one of them: most of
    the old group is still there, whatever has joined it, or most of the new one comes from it. Of
    all ways to match groups, each with one at most, it is one by which most rows are shared.

    Parameters
    ----------
    before : sequence of int ndarray
        Rows of each group.
    after : int ndarray of shape (n,)
        Group of each row now, from 0; −1 for rows of none.

    Returns
    -------
    int ndarray of shape (len(before),)

    Notes
    -----
    For b groups before and a after, O(n + a b min(a, b)) time and a b numbers of memory.
    """
    n_after = _count(after)
    sizes = np.bincount(after[after >= 0], minlength=n_after)
    shared = np.zeros((len(before), n_after), dtype=np.int64)
    for k, rows in enumerate(before):
        groups = after[rows]
        shared[k] = np.bincount(groups[groups >= 0], minlength=n_after)
    least = np.minimum(np.array([len(rows) for rows in before], dtype=np.int64)[:, None], sizes)
    shared[2 * shared < least] = 0
    one, other = linear_sum_assignment(shared, maximize=True)
    kept = shared[one, other] > 0
    found = np.full(len(before), -1, dtype=np.int64)
    found[one[kept]] = other[kept]
    return found


def numbered_as_before(before: Ints, after: Ints) -> Ints:
    """Groups with the numbers that they had, as far as these are free; the largest others first.

    Of more than 2000 groups, that would take long, and all are numbered by their sizes.

    Parameters
    ----------
    before, after : int ndarray of shape (n,)
        Group of each row, from 0; −1 for rows of none.

    Returns
    -------
    int ndarray of shape (n,)
        The groups of ``after``, numbered from 0 without a gap.
    """
    n_groups, n_before = _count(after), _count(before)
    old = np.empty(0, dtype=np.int64)
    if max(n_groups, n_before) <= _MOST_MATCHED:
        order = np.argsort(before, kind="stable")
        ends = np.searchsorted(before[order], np.arange(n_before + 1))
        old = matched([order[a:b] for a, b in pairwise(ends)], after)
    number = np.full(n_groups, -1, dtype=np.int64)
    for k, group in enumerate(old[:n_groups].tolist()):
        if group >= 0:
            number[group] = k
    sizes = np.bincount(after[after >= 0], minlength=n_groups)
    others = np.flatnonzero(number < 0)
    others = others[np.argsort(-sizes[others], kind="stable")]
    number[others] = np.setdiff1d(np.arange(n_groups), number)
    return np.append(number, -1)[after]


def _count(labels: Ints) -> int:
    return int(labels.max(initial=-1)) + 1
