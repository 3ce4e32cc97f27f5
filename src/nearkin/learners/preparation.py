"""What becomes of rows before MetricLearner learns from them: scales of columns, principal axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from nearkin._types import Floats
from nearkin.learners.selection import is_one_thing
from nearkin.pairs.closure import random_pairs
from nearkin.pairs.pairs import Pairs
from nearkin.rows.distances import linked_distances
from nearkin.rows.scaling import differing_units, scales_of
from nearkin.scores.held_out import Comparison, compare, ranks

# Axes are too few if pairs are told apart worse by so many standard errors than by all columns.
_CLEARLY_WORSE = 2.5


def plain_ranks(X: Floats, pairs: Pairs, *changes: Callable[[Floats], Floats]) -> list[Floats]:
    """Ranks of pairs by plain distances: between rows as they are, and after each of some changes.

    Plain distances need no learning, so that all pairs can judge them. They are ranked among those
    of random pairs, always the same ones: all of them would give nearly the same.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    pairs : Pairs
    *changes : callable
        Of some rows.
    """
    told = np.concatenate([pairs.must_link, pairs.cannot_link])
    at_random = random_pairs(len(X), np.random.RandomState(0))
    rows, ends = np.unique(np.concatenate([told, at_random]), return_inverse=True)
    some, ends = X[rows], ends.reshape(-1, 2)
    found = []
    for part in (some, *(change(some) for change in changes)):
        distances = linked_distances(part, ends)
        found.append(ranks(distances[: len(told)], distances[len(told) :]))
    return found


def changed_for_better(change: Callable[[Floats], Floats], X: Floats, pairs: Pairs) -> Comparison:
    """Pair AUC of plain distances between rows that were changed, beside that of rows as they are.

    Parameters
    ----------
    change : callable
        Of some rows.
    X : ndarray of shape (n, d)
    pairs : Pairs
        One or more.
    """
    plain, changed = plain_ranks(X, pairs, change)
    return compare(changed, plain, np.arange(len(plain)) < len(pairs.must_link))


def tells_copies(X: Floats, pairs: Pairs) -> bool:
    """Whether plain distances have must-links nearer than nearly all random pairs."""
    must = Pairs(pairs.must_link)
    return len(must) > 0 and is_one_thing(plain_ranks(X, must)[0])


def scales_of_differing(X: Any, names: Any = None) -> tuple[NDArray[np.float64] | None, str]:
    """What to divide columns by if their units differ, and why; None and nothing to say if not.

    Plain distances may be better in the units that columns have, by luck; learned ones hardly ever
    are, so that pairs are not asked.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
    names : sequence of str or None
        Of the columns.
    """
    units = differing_units(X)
    if units is None:
        return None, ""
    wide, narrow = (
        f"column {i}" if names is None else f"column {names[i]!r}"
        for i in (units.widest, units.narrowest)
    )
    why = f"{wide} reaches {units.ratio:.2g} times as far as {narrow}"
    return scales_of(X), f"Columns are divided by their spreads: {why}."


class View:
    """Rows as they are, or by their leading principal axes if they have more columns than those.

    Attributes
    ----------
    reduction : PCA or None
    rows : ndarray
    """

    def __init__(self, X: Floats, n_axes: int, seed: int) -> None:
        cut = n_axes < min(X.shape) and not (X[:1] == X).all()
        self.reduction = PCA(n_axes, random_state=seed) if cut else None
        self.rows = X if self.reduction is None else self.reduction.fit_transform(X)


def view_by_few_axes(X: Floats, n_axes: int, pairs: Pairs, otherwise: View, seed: int) -> View:
    """The leading principal axes of X, or another view where they are too few to tell pairs apart.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    n_axes : int
    pairs : Pairs
    otherwise : View
    seed : int
    """
    view = View(X, n_axes, seed)
    if view.reduction is None or not len(pairs):
        return view
    found = changed_for_better(view.reduction.transform, X, pairs)
    return otherwise if found.t < -_CLEARLY_WORSE else view
