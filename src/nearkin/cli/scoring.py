"""Scores of a model beside those of the Euclidean distance."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from nearkin import scores
from nearkin.cli.failures import UserError
from nearkin.cli.files.columns import table_of
from nearkin.cli.messages import say
from nearkin.cli.models import Model
from nearkin.pairs.labels import class_numbers
from nearkin.pairs.pairs import Pairs
from nearkin.rows.arrays import Floats
from nearkin.rows.streams import RowStream
from nearkin.storage.models import Trial
from nearkin.storage.row_marks import n_known

# Labelled rows that are judged, at most: separability looks at all pairs of them.
_MOST_ROWS = 5000
_MOST_PAIRS = 1_000_000


@dataclass(frozen=True)
class Score(Trial):
    """A score, and how many of its rows the model was learned from; None if that is not known."""

    seen: int | None


# How each is computed, and how many pairs or triplets it looks at.
Measures = dict[str, tuple[Callable[[Floats], float], int]]


def scores_by_pairs(model: Model, rows: RowStream, pairs: Pairs, file: str) -> list[Score]:
    """By pairs, which need rows of their own only."""
    if not len(pairs.must_link) or not len(pairs.cannot_link):
        raise UserError(
            f"{file} has {len(pairs.must_link)} pairs that are the same and "
            f"{len(pairs.cannot_link)} that are different: to be compared it needs both."
        )
    pairs = pairs.without(pairs.closer)
    near = pairs.restrict(pairs.points)
    measures = {"pair_auc": (lambda Z: scores.pair_auc(Z, pairs=near), len(near))}
    return _compared(model, rows.take(pairs.points), "pairs", measures)


def scores_by_triplets(model: Model, rows: RowStream, pairs: Pairs) -> list[Score]:
    """By triplets, which need rows of their own only."""
    triplets = Pairs(closer=pairs.closer, closer_weight=pairs.closer_weight)
    near = triplets.restrict(triplets.points)
    measures = {"triplets_kept": (lambda Z: scores.triplets_kept(Z, near), len(near))}
    return _compared(model, rows.take(triplets.points), "triplets", measures)


def can_be_judged(y: Any) -> bool:
    """Whether labels tell the same from the different."""
    if y is None:
        return False
    classes = class_numbers(y)
    counts = np.bincount(classes[classes >= 0])
    return int((counts > 0).sum()) >= 2 and int(counts.max()) >= 2


def scores_by_labels(model: Model, rows: RowStream, y: Any, seed: int) -> list[Score]:
    """By labels, of all labelled rows or some of them."""
    if not can_be_judged(y):
        raise UserError("labels must have two classes at least, and one with two rows.")
    classes = class_numbers(y)
    known = np.flatnonzero(classes >= 0)
    if len(known) > _MOST_ROWS:
        drawn = np.random.default_rng(seed).choice(known, _MOST_ROWS, replace=False)
        known = np.sort(drawn)
    classes = classes[known]
    n_classes = len(np.unique(classes))

    def rand(Z: Floats) -> float:
        found = KMeans(n_classes, n_init=10, random_state=seed).fit_predict(Z)
        return scores.balanced_rand(classes, found)

    def auc(Z: Floats) -> float:
        return scores.pair_auc(Z, classes, max_pairs=_MOST_PAIRS, random_state=seed)

    n_pairs = len(known) * (len(known) - 1) // 2
    measures: Measures = {
        "pair_auc": (auc, min(n_pairs, _MOST_PAIRS)),
        "separability": (lambda Z: scores.separability(Z, classes), n_pairs),
        "balanced_rand": (rand, n_pairs),
    }
    return _compared(model, rows.take(known), "labels", measures)


def _compared(model: Model, X: Any, by: str, measures: Measures) -> list[Score]:
    Z = model.embed(X)
    plain = X if model.scaler is None else model.scaler.transform(X)
    marks = model.facts.marks
    seen = None if marks is None else n_known(marks, X)
    return [
        Score(by, name, float(measure(Z)), float(measure(plain)), n_pairs, len(X), seen)
        for name, (measure, n_pairs) in measures.items()
    ]


def note_seen(found: list[Score], model: str) -> None:
    """Say it where a model is judged by rows that it was learned from."""
    for by in dict.fromkeys(score.judged_by for score in found if score.seen):
        score = next(score for score in found if score.judged_by == by)
        say(
            f"warning: by {by}, {score.seen} of the {score.rows} rows judged are rows that {model} "
            "was learned from: these figures are too good. Judge by new rows; nearkin fit --test "
            "0.2 keeps some apart."
        )


def score_table(found: list[Score]) -> Iterator[Any]:
    """Scores as a table, a line for each."""
    names = [field.name for field in fields(Score)]
    return table_of({name: [getattr(score, name) for score in found] for name in names})
