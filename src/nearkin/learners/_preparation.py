"""What becomes of rows before MetricLearner learns from them: scales of columns, principal axes.

Both are decided by the pairs: plain distances need no learning, so that all pairs can judge them.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.decomposition import PCA

from nearkin.column_scales import differing_units, scales_of
from nearkin.held_out import Comparison, compare, ranks
from nearkin.pairs import Pairs
from nearkin.scores import linked_distances
from nearkin.selection import random_pairs
from nearkin.sparse_rows import is_sparse

Floats = NDArray[np.floating]

# Rows are changed, or left in differing units, if that tells pairs apart better by so many standard
# errors; and axes are too few if they do so worse by so many.
_CLEARLY_BETTER, _CLEARLY_WORSE = 2.5, 1.5


def changed_for_better(change: Callable[[Floats], Floats], X: Floats, pairs: Pairs) -> Comparison:
    """Pair AUC of plain distances between rows that were changed, beside that of rows as they are.

    Parameters
    ----------
    change : callable
        Of some rows.
    X : ndarray of shape (n, d)
    pairs : Pairs
        One or more.

    Notes
    -----
    Distances are ranked among those of random pairs, always the same ones: all of them would give
    nearly the same.
    """
    told = np.concatenate([pairs.must_link, pairs.cannot_link])
    at_random = random_pairs(len(X), np.random.RandomState(0))
    rows, ends = np.unique(np.concatenate([told, at_random]), return_inverse=True)
    ends = ends.reshape(-1, 2)
    rank = []
    for part in (change(X[rows]), X[rows]):
        distances = linked_distances(part, ends)
        rank.append(ranks(distances[: len(told)], distances[len(told) :]))
    return compare(rank[0], rank[1], np.arange(len(told)) < len(pairs.must_link))


def chosen_scales(
    X: Any, pairs: Pairs, names: Any = None
) -> tuple[NDArray[np.float64] | None, str]:
    """What to divide columns by, or None, and the reason in a sentence.

    Columns whose units differ are brought to one scale, and others left as they are, unless plain
    distances between the rows of pairs speak clearly for the opposite.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Of sparse rows only the units are looked at.
    pairs : Pairs
    names : sequence of str or None
        Of the columns.
    """
    units, scales = differing_units(X), scales_of(X)
    t, by_so_much = 0.0, ""
    if len(pairs) and not is_sparse(X):
        found = changed_for_better(lambda rows: rows / scales, X, pairs)
        t, by_so_much = found.t, f"{found.gain:+.3f} ± {found.error:.3f} pair AUC"
    if units is None:
        if t < _CLEARLY_BETTER:
            return None, ""
        return scales, f"Columns are divided by their spreads, which serves pairs ({by_so_much})."
    wide, narrow = (
        f"column {i}" if names is None else f"column {names[i]!r}"
        for i in (units.widest, units.narrowest)
    )
    differ = f"{wide} is {units.ratio:.2g} times as wide as {narrow}"
    if t <= -_CLEARLY_BETTER:
        return None, (
            f"Columns are left as they are, though {differ}: to divide them by their spreads does "
            f"not serve pairs ({by_so_much})."
        )
    return scales, f"Columns are divided by their spreads: {differ}."


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
