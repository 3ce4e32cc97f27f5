"""Which pairs to ask about: doubtful ones by what an answer changes, and checks of sure ones."""

from __future__ import annotations

import numpy as np

from nearkin._types import Doubles, Ints, Mask

# Of the pairs that are asked, so many are checks of sure ones, drawn at random.
_CHECKS = 0.2
# Doubtful pairs to choose from, for each that is asked, so that they differ.
_CHOICE = 3


def doubtful_first(pairs: Ints, chance: Doubles, labels: Ints) -> Ints:
    """Order pairs by how much an answer is expected to change the groups, most first.

    The answer that goes against the groups has a chance, and moves a number of pairs: all between
    two groups that would become one; or those of a record with the rest of its group, which would
    fall apart.

    Parameters
    ----------
    pairs : int ndarray of shape (k, 2)
    chance : ndarray of shape (k,)
        To be the same.
    labels : int ndarray of shape (n,)
        The group of each record.

    Returns
    -------
    int ndarray of shape (k,)
        Numbers of pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.records.review import doubtful_first
    >>> pairs = np.array([[0, 1], [2, 3], [0, 2]])
    >>> doubtful_first(pairs, np.array([0.9, 0.99, 0.2]), np.array([0, 0, 1, 1]))
    array([2, 0, 1])
    """
    size = np.bincount(labels)
    a, b = labels[pairs].T
    changed = np.where(a == b, (1 - chance) * (size[a] - 1), chance * size[a] * size[b])
    return np.asarray(np.argsort(-changed, kind="stable"))


def questions(
    pairs: Ints, scores: Doubles, chance: Doubles, open_: Mask, n: int, rng: np.random.RandomState
) -> Ints:
    """Choose the next pairs to ask about.

    Most of them are those whose chance is nearest to one half, of different records; a fifth are
    drawn at random, those likely to be the same and the others about equally often, so that what
    is said of precision and recall has something to go by.

    Returns
    -------
    int ndarray of shape (up to n,)
        Numbers of pairs, the most doubtful first.
    """
    free = np.flatnonzero(open_)
    n_checks = int(np.floor(n * _CHECKS + rng.uniform()))
    order = free[np.lexsort((np.abs(scores[free]), np.abs(chance[free] - 0.5)))]
    near = order[: _CHOICE * n]
    asked = _of_different_records(pairs, rng.permutation(near), n - n_checks)
    rest = np.setdiff1d(free, asked)
    if len(rest) and n > len(asked):
        weight = chance[rest] / max(chance[rest].sum(), 1e-12) + 1 / len(rest)
        count = min(n - len(asked), len(rest))
        checks = rng.choice(rest, size=count, replace=False, p=weight / weight.sum())
        asked = np.concatenate([asked, checks])
    return np.asarray(asked[np.argsort(np.abs(chance[asked] - 0.5), kind="stable")])


def _of_different_records(pairs: Ints, order: Ints, n: int) -> Ints:
    """The first pairs of an order that share no record, as far as there are so many."""
    used: set[int] = set()
    chosen: list[int] = []
    later: list[int] = []
    for number in order.tolist():
        ends = set(pairs[number].tolist())
        (later if ends & used else chosen).append(number)
        used |= ends
    return np.array((chosen + later)[:n], dtype=np.int64)
