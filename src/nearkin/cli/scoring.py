"""Scores of a model beside those of the Euclidean distance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from nearkin import scores
from nearkin._types import Floats, Ints
from nearkin.cli.failures import UserError
from nearkin.cli.files.batches import table_of
from nearkin.cli.messages import say
from nearkin.cli.models import Model
from nearkin.pairs.labels import class_numbers
from nearkin.pairs.pairs import Pairs
from nearkin.rows.streams import RowStream
from nearkin.scores.quality import Quality
from nearkin.scores.verdicts import Prevalence
from nearkin.storage.models import Trial, n_known

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
    known = _some_known(classes, seed)
    classes = classes[known]
    n_classes = len(np.unique(classes))

    def rand(Z: Floats) -> float:
        from sklearn.cluster import KMeans

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


def _some_known(classes: Ints, seed: int) -> Ints:
    """Rows that have a label: all of them, or as many as are judged."""
    known = np.flatnonzero(classes >= 0)
    if len(known) <= _MOST_ROWS:
        return known
    return np.sort(np.random.default_rng(seed).choice(known, _MOST_ROWS, replace=False))


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


def quality_by(
    model: Model,
    rows: RowStream,
    prevalence: Prevalence,
    seed: int,
    *,
    y: Any = None,
    pairs: Pairs | None = None,
) -> Quality:
    """Figures of the model's verdicts with their intervals, by labels or by pairs."""
    metric = copy(model.metric)
    metric.random_state = seed
    if pairs is not None:
        pairs = pairs.without(pairs.closer)
        named = pairs.points
        X = rows.take(named)
        return metric.quality(X, pairs=pairs.restrict(named), prevalence=prevalence)  # type: ignore[no-any-return]
    classes = class_numbers(y)
    known = _some_known(classes, seed)
    return metric.quality(rows.take(known), classes[known], prevalence=prevalence)  # type: ignore[no-any-return]


def score_table(
    found: list[Score], qualities: Mapping[str, Quality] = MappingProxyType({})
) -> Iterator[Any]:
    """Scores as a table, a line for each, with intervals where there are any."""
    lines: list[dict[str, Any]] = []
    for score in found:
        line = asdict(score) | {"low": None, "high": None}
        lines.append(line)
        if score.measure != "pair_auc" or score.judged_by not in qualities:
            continue
        quality = qualities[score.judged_by]
        line |= {"low": min(quality.auc.low, score.learned)}
        line |= {"high": max(quality.auc.high, score.learned)}
        lines += verdict_lines(quality, line)
    return lines_table(lines)


def verdict_lines(quality: Quality, beside: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Lines of a table for precision, recall and F1, with what is the same in all of them."""
    n_pairs = quality.n_same + quality.n_different
    for name in ("precision", "recall", "f1"):
        figure = asdict(getattr(quality, name))
        judged = {"measure": name, "learned": figure.pop("value"), "euclidean": None}
        yield beside | judged | figure | {"pairs": n_pairs}


def lines_table(lines: list[dict[str, Any]]) -> Iterator[Any]:
    """Scores as a table; what a line does not say is left empty."""
    order = ["judged_by", "measure", "learned", "low", "high", "euclidean", "pairs", "rows", "seen"]
    return table_of({name: [line.get(name) for line in lines] for name in order})
