"""Groupings that some pairs, or some rows, are kept from."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin._types import Floats
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import some_of_each_kind
from nearkin.scores.held_out import new_point_folds
from nearkin.tasks.grouping.choice import Fold
from nearkin.tasks.grouping.grouped import Groupings
from nearkin.tasks.grouping.metrics import coordinates, learned_without

N_FOLDS = 4
# Must-links, and cannot-links, at most: of a part of the pairs, and of that held out.
_MOST_PAIRS = 500
# Share of the rows that a fold has where no pairs can be held out.
_SHARE = 0.8


def folds_of(
    whole: Groupings,
    pairs: Pairs,
    metric: Any,
    given: Any,
    X: Any,
    Z: Floats,
    rng: np.random.RandomState,
) -> list[Fold]:
    """Parts of the pairs held out, from metric and groups; or of the rows, if there are no pairs.

    Parameters
    ----------
    whole : Groupings
        Of all these rows.
    pairs : Pairs
        What is known of them.
    metric : fitted metric
    given : what the user gave as the metric
    X : rows
    Z : ndarray of shape (n, q)
        Where they are.
    rng : RandomState
    """
    n = len(Z)
    rows = np.arange(n)
    folds = []
    pairs = some_of_each_kind(pairs, _MOST_PAIRS, rng)
    for learn, judge in new_point_folds(pairs, N_FOLDS, rng):
        told = pairs.subset(learn)
        judged = pairs.subset(judge)
        without = learned_without(metric, given, X, told)
        there = Z if without is metric else coordinates(without, X, whole.seed)
        folds.append(Fold(_like(whole, there, told), rows, judged))
    if folds:
        return folds
    for _ in range(N_FOLDS):
        some = np.sort(rng.choice(n, max(2, round(_SHARE * n)), replace=False))
        folds.append(Fold(_like(whole, Z[some], pairs.restrict(some)), some, Pairs()))
    return folds


def _like(whole: Groupings, Z: Floats, pairs: Pairs) -> Groupings:
    bounds = whole.least, whole.most
    return Groupings(Z, pairs, whole.families, whole.seed, whole.strength, *bounds)
