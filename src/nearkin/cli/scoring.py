"""Scores of a model beside those of the Euclidean distance."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from nearkin import scores
from nearkin.cli.failures import UserError
from nearkin.cli.models import Model
from nearkin.labels import class_numbers
from nearkin.pairs import Pairs
from nearkin.remote import Floats
from nearkin.row_streams import RowStream

Score = tuple[str, str, float, float]
# Labelled rows that are judged, at most: separability looks at all pairs of them.
_MOST_ROWS = 5000


def scores_by_pairs(model: Model, rows: RowStream, pairs: Pairs, file: str) -> list[Score]:
    """By pairs, which need rows of their own only."""
    if not len(pairs.must_link) or not len(pairs.cannot_link):
        raise UserError(
            f"{file} has {len(pairs.must_link)} pairs that are the same and "
            f"{len(pairs.cannot_link)} that are different: to be compared it needs both."
        )
    X = rows.take(pairs.points)
    near = pairs.restrict(pairs.points)
    return _compared(model, X, "pairs", {"pair_auc": lambda Z: scores.pair_auc(Z, pairs=near)})


def scores_by_labels(model: Model, rows: RowStream, y: Any, seed: int) -> list[Score]:
    """By labels, of all labelled rows or some of them."""
    classes = class_numbers(y)
    known = np.flatnonzero(classes >= 0)
    if len(known) > _MOST_ROWS:
        drawn = np.random.default_rng(seed).choice(known, _MOST_ROWS, replace=False)
        known = np.sort(drawn)
    classes = classes[known]
    n_classes = len(np.unique(classes))
    if n_classes < 2 or np.bincount(classes).max() < 2:
        raise UserError("labels must have two classes at least, and one with two rows.")

    def rand(Z: Floats) -> float:
        found = KMeans(n_classes, n_init=10, random_state=seed).fit_predict(Z)
        return scores.balanced_rand(classes, found)

    measures: dict[str, Callable[[Floats], float]] = {
        "pair_auc": lambda Z: scores.pair_auc(Z, classes, random_state=seed),
        "separability": lambda Z: scores.separability(Z, classes),
        "balanced_rand": rand,
    }
    return _compared(model, rows.take(known), "labels", measures)


def _compared(
    model: Model, X: Any, by: str, measures: dict[str, Callable[[Floats], float]]
) -> list[Score]:
    Z = model.embed(X)
    plain = X if model.scaler is None else model.scaler.transform(X)
    return [(by, name, measure(Z), measure(plain)) for name, measure in measures.items()]
