"""What same and evaluate do: distances of pairs, verdicts, reasons and scores."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nearkin import scores
from nearkin._types import Floats, Ints, Mask
from nearkin.cli.common import UserError, say
from nearkin.cli.files.output import table_of
from nearkin.cli.files.pairs import pairs_of
from nearkin.cli.files.tables import NamedRows, Table
from nearkin.cli.models import Model
from nearkin.cli.row_marks import count_known
from nearkin.errors import counted
from nearkin.learners.explain import Explanation, strongest_pulls, word_effects
from nearkin.pairs.labels import number_classes
from nearkin.pairs.pairs import Pairs
from nearkin.rows.distances import linked_distances
from nearkin.rows.streams import RowStream
from nearkin.scores.quality import Quality, count_pairs_to_promise
from nearkin.scores.verdicts import (
    ESTIMATED,
    Prevalence,
    Verdicts,
    check_share,
    estimate_prevalence,
)
from nearkin.storage.models import Trial


def distances_of(model: Model, rows: RowStream, ends: NDArray[np.int64]) -> Floats:
    """Learned distance of each pair; only rows that pairs name are kept in memory."""
    if not len(ends):
        return np.empty(0)
    numbers, places = np.unique(ends, return_inverse=True)
    Z = model.embed(rows.take(numbers))
    return np.asarray(linked_distances(Z, places.reshape(ends.shape)), dtype=np.float64)


def answered(
    table: NamedRows, path: Path, delimiter: str | None, purpose: str, role: str = "--known"
) -> tuple[Ints, Mask, Floats]:
    """Rows, answers and weights of known pairs, some of which are the same and some are not."""
    file = pairs_of(table, path, delimiter=delimiter, role=role)
    told = np.array([answer is not None for answer in file.same], dtype=bool)
    same = np.array([answer is True for answer in file.same], dtype=bool)[told]
    n_same, n_different = int(same.sum()), int((~same).sum())
    if not n_same or not n_different:
        raise UserError(
            f"{path} has {n_same} pairs that are the same and {n_different} that are different: "
            f"{purpose} needs both."
        )
    return file.ends[told], same, np.array(file.weight)[told]


def with_prevalence(verdicts: Verdicts, said: str | None, distances: Floats) -> Verdicts:
    """Verdicts at the prevalence that an option states, or that distances ask for."""
    prevalence = stated_prevalence(said)
    if prevalence is None:
        return verdicts
    if prevalence == ESTIMATED:
        share = estimate_prevalence(verdicts, distances)
        say(f"estimated prevalence: {share:.3g} of these pairs are the same")
        return replace(verdicts, prevalence=share)
    return replace(verdicts, prevalence=check_share(prevalence, "prevalence"))


def stated_prevalence(said: str | None) -> Prevalence:
    """What the option says: a share, "estimated", or nothing."""
    if said is None or said == ESTIMATED:
        return said  # type: ignore[return-value]
    try:
        return float(said)
    except ValueError:
        raise UserError(
            f"--prevalence {said}: give the share of pairs that are the same, such as 0.1, or "
            f"{ESTIMATED}."
        ) from None


def stated_share(said: str | None) -> float | None:
    """The share that the option states, which cannot be estimated where there is no distance."""
    prevalence = stated_prevalence(said)
    if prevalence == ESTIMATED:
        raise UserError(f"--prevalence {ESTIMATED}: this goes by distances; give a share.")
    return None if prevalence is None else check_share(prevalence, "prevalence")


def say_expected(quality: Quality, by: str, wanted: float | None = None) -> None:
    """Say what is to be expected of pairs called the same, and whether that can be promised."""
    n_pairs = quality.n_same + quality.n_different
    say(
        f"expected: precision {quality.precision}, recall {quality.recall}, by "
        f"{counted(n_pairs, by)} (90 % intervals, where a share of {quality.prevalence:.2g} of all "
        "pairs are the same)"
    )
    if wanted is None or not quality.recall.value or quality.precision.low >= wanted:
        return
    needed = count_pairs_to_promise(wanted, quality.prevalence, max(quality.recall.value, 0.05))
    more = f"that takes about {needed} known pairs that are different, none of them called the same"
    if needed <= quality.n_different:
        more = "of those that are different, too many are called the same for it"
    say(f"warning: these pairs do not show that {wanted:g} is reached: {more}.")


# Why pairs of rows in a file are near or far.


class Reasons:
    """Explains pairs of rows of a table by a model.

    Parameters
    ----------
    model : Model
    table : Table
    taught : Path or None
        Answers about this table that the model was learned from.
    delimiter : str or None
    verdicts : Verdicts
        Which say how likely two rows are the same.
    radius : float
        Distance up to which rows are called the same.
    """

    def __init__(
        self,
        model: Model,
        table: Table,
        taught: Path | None,
        delimiter: str | None,
        verdicts: Verdicts,
        radius: float,
    ) -> None:
        self._model, self._table = model, table
        self._verdicts, self._radius = verdicts, radius
        self._metric = copy(model.metric)
        groups = model.names if model.table is None else model.table.groups_
        if groups is not None:
            self._metric._names_of_columns = list(groups)
        self._told: tuple[Any, ...] = ()
        if taught is not None:
            file = pairs_of(table, taught, delimiter=delimiter, role="--taught")
            pairs = file.pairs(table.n_rows)
            if not len(pairs):
                raise UserError(f"{taught} has no answers: --taught takes those that were learned.")
            X = table.rows.take(np.arange(table.n_rows))
            self._told = (self._metric._taught_again(X, pairs), X, pairs)

    def of(self, left: int, right: int) -> Explanation:
        """Why two rows are as far apart as they are, by their numbers."""
        ends = np.array([left, right])
        numbers, places = np.unique(ends, return_inverse=True)
        rows = [row[None] for row in self._table.rows.take(numbers)[places]]
        found: Explanation = self._metric.explain(*rows)
        chance = float(self._verdicts.chance(np.array(found.distance)))
        found = replace(found, chance=chance, threshold=self._radius)
        if self._told and found.distance:
            metric, X, pairs = self._told
            answers, remark = strongest_pulls(metric, rows, found.distance**2, X, pairs)
            found = replace(found, answers=answers, remark=remark)
        elif not self._told:
            found = replace(found, remark="Which answers pull them: --taught ANSWERS says it.")
        return found if self._model.table is None else self._with_words(found, numbers, places)

    def _with_words(self, found: Explanation, numbers: Any, places: Any) -> Explanation:
        encoder = self._model.table
        batches = list(self._table.batches_of(numbers, encoder.columns_))
        cells = pa.Table.from_batches(batches)
        rows = [cells.slice(int(place), 1) for place in places]
        left, right = (encoder.cells(row) for row in rows)
        values = {name: (left[name], right[name]) for name in left}
        words = word_effects(encoder, self._metric.map_, *rows) if found.distance else {}
        return replace(found, values=values, words=words)

    def text(self, explained: list[Explanation], left: Any, right: Any) -> str:
        """Explanations one below the other, with what rows are called."""
        names = self._table.shown_ids().to_pylist()
        parts = [
            f"{a} and {b}\n{one.text(names)}\n"
            for one, a, b in zip(explained, left, right, strict=True)
        ]
        return "\n".join(parts)


# Scores of a model beside those of the Euclidean distance.


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
    classes = number_classes(y)
    counts = np.bincount(classes[classes >= 0])
    return int((counts > 0).sum()) >= 2 and int(counts.max()) >= 2


def scores_by_labels(model: Model, rows: RowStream, y: Any, seed: int) -> list[Score]:
    """By labels, of all labelled rows or some of them."""
    if not can_be_judged(y):
        raise UserError("labels must have two classes at least, and one with two rows.")
    classes = number_classes(y)
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
    seen = None if marks is None else count_known(marks, X)
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
    classes = number_classes(y)
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
