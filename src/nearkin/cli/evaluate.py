"""``nearkin evaluate``: how good a model is, beside the Euclidean distance."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from dataclasses import asdict
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import nearkin as nk
from nearkin.cli import options as o
from nearkin.cli.common import (
    UserError,
    classes_of,
    models,
    np,
    outputs,
    pair_files,
    say,
    sklearn_cluster,
    tables,
)
from nearkin.cli.files.columns import Choice
from nearkin.cli.same import estimate_quality_of_chances, read_prevalence, read_share

if TYPE_CHECKING:
    from nearkin._types import Floats, Ints
    from nearkin.rows.streams import RowStream
    from nearkin.scores.quality import Quality
    from nearkin.scores.verdicts import Prevalence

# Labelled rows that are judged, at most: separability looks at all pairs of them.
_MOST_ROWS = 5000
_MOST_PAIRS = 1_000_000
# How each score is computed, and how many pairs or triplets it looks at.
Measures = dict[str, tuple[Callable[["Floats"], float], int]]


def evaluate(
    model: Path = o.MODEL_OR_MATCHER,
    data: Path = o.DATA,
    pairs: Path | None = o.PAIRS,
    triplets: Path | None = o.TRIPLETS,
    labels: str | None = o.LABELS,
    prevalence: str | None = o.PREVALENCE,
    *,
    out: o.TableOutput,
    choice: o.Columns,
    seed: int = o.SEED,
) -> None:
    """Compare the learned distance with the Euclidean one, by pairs or labels that are new to it.

    pair_auc: how often the same are closer than the different. precision, recall and f1: of
    calling two rows the same, at the prevalence. low and high: the ends of a 90 % interval.
    triplets_kept: how many of the triplets are in order, as a share. With labels also
    separability (J, the mean distance between classes over that within them) and balanced_rand
    (of k-means). If the model standardises, so does the Euclidean distance. Of more than 5000
    labelled rows, 5000 are drawn. Beside each score: how many pairs and rows it is of, and how
    many of these the model was learned from (seen); where there are any, the figures are too
    good, and a warning says so.

    A matcher of records is judged by what it says of --pairs, one by one, and by the pairs within
    its groups where --labels say what each record is of. It does not know which records it was
    learned from: judge by others.
    """
    if pairs is None and labels is None and triplets is None:
        raise UserError(
            "there is nothing to judge by: give --pairs FILE, --triplets FILE or --labels COLUMN."
        )
    matcher = models.open_matcher(model)
    if matcher is not None:
        o.refuse({"--triplets": triplets}, "a matcher knows same and different only.")
        out.write(_evaluate_matcher(matcher, model, data, choice, pairs, labels, prevalence))
        return
    learned = models.Model(model)
    table = tables.open_table(data, choice, labels=labels, model=learned)
    if labels in table.columns:
        raise UserError(
            f"--labels {labels}: {model} was learned from this column, so that scores by it say "
            "nothing."
        )
    found: list[models.Score] = []
    share, qualities = read_prevalence(prevalence), {}
    known = pair_files.read_known_pairs(table, pairs, choice.delimiter, triplets)
    if known is not None and pairs is not None:
        found += score_by_pairs(learned, table.rows, known, str(pairs))
        qualities["pairs"] = _estimate_quality(learned, table.rows, share, seed, pairs=known)
    if known is not None and triplets is not None:
        found += score_by_triplets(learned, table.rows, known)
    if labels is not None:
        y = table.labels(labels)
        found += score_by_labels(learned, table.rows, y, seed)
        qualities["labels"] = _estimate_quality(learned, table.rows, share, seed, y=y)
    for by, score in {score.judged_by: score for score in found if score.seen}.items():
        say(
            f"warning: by {by}, {score.seen} of the {score.rows} rows judged are rows that {model} "
            "was learned from: these figures are too good. Judge by new rows; nearkin fit --test "
            "0.2 keeps some apart."
        )
    for by, quality in qualities.items():
        say(f"{by}: {quality.terms}")
    out.write(tabulate_scores(found, qualities))


def _evaluate_matcher(
    matcher: nk.RecordMatcher,
    model: Path,
    data: Path,
    choice: Choice,
    pairs: Path | None,
    labels: str | None,
    prevalence: str | None,
) -> Iterator[Any]:
    """Table of a matcher's scores by pairs and by labels."""
    records = tables.open_records_of(matcher, data, choice)
    compared = tables.columns_as_learned(records, choice, matcher)
    if labels in records.compared:
        raise UserError(f"--labels {labels}: {model} compares this column.")
    lines = []
    if pairs is not None:
        ends, same, weight = pair_files.read_judged_pairs(
            records, pairs, choice.delimiter, "a precision", role="--pairs"
        )
        share = read_share(prevalence)
        chance = matcher.chance_of_pairs(ends, compared)
        quality = estimate_quality_of_chances(chance, same, weight, ends, prevalence=share)
        say(f"pairs: {quality.brief}")
        auc = asdict(quality.auc)
        line = {"judged_by": "pairs", "measure": "pair_auc", "learned": auc.pop("value"), **auc}
        line |= {"pairs": len(ends), "rows": len(np.unique(ends))}
        lines += [line, *_verdict_lines(quality, line)]
    if labels is not None:
        groups = matcher.duplicates(compared).labels
        lines += _score_groups(groups, records.labels(labels))
    return _tabulate_lines(lines)


def score_by_pairs(
    model: models.Model, rows: RowStream, pairs: nk.Pairs, file: str
) -> list[models.Score]:
    """Scores of a model by pairs; only their rows are read."""
    if not len(pairs.must_link) or not len(pairs.cannot_link):
        raise UserError(
            f"{file} has {len(pairs.must_link)} pairs that are the same and "
            f"{len(pairs.cannot_link)} that are different: to be compared it needs both."
        )
    pairs = pairs.without(pairs.closer)
    near = pairs.restrict(pairs.points)
    measures = {"pair_auc": (lambda Z: nk.scores.pair_auc(Z, pairs=near), len(near))}
    return _compare(model, rows.take(pairs.points), "pairs", measures)


def score_by_triplets(model: models.Model, rows: RowStream, pairs: nk.Pairs) -> list[models.Score]:
    """Scores of a model by triplets; only their rows are read."""
    triplets = nk.Pairs(closer=pairs.closer, closer_weight=pairs.closer_weight)
    near = triplets.restrict(triplets.points)
    measures = {"triplets_kept": (lambda Z: nk.scores.triplets_kept(Z, near), len(near))}
    return _compare(model, rows.take(triplets.points), "triplets", measures)


def can_be_judged(y: Any) -> bool:
    """Whether labels have two classes, and one with two rows."""
    if y is None:
        return False
    classes = classes_of.number_classes(y)
    counts = np.bincount(classes[classes >= 0])
    return int((counts > 0).sum()) >= 2 and int(counts.max()) >= 2


def score_by_labels(model: models.Model, rows: RowStream, y: Any, seed: int) -> list[models.Score]:
    """Scores of a model by labels, on at most 5000 labelled rows."""
    if not can_be_judged(y):
        raise UserError("labels must have two classes at least, and one with two rows.")
    known, classes = _draw_known(y, seed)
    n_classes = len(np.unique(classes))

    def rand(Z: Floats) -> float:
        found = sklearn_cluster.KMeans(n_classes, n_init=10, random_state=seed).fit_predict(Z)
        return nk.scores.balanced_rand(classes, found)

    def auc(Z: Floats) -> float:
        return nk.scores.pair_auc(Z, classes, max_pairs=_MOST_PAIRS, random_state=seed)

    n_pairs = len(known) * (len(known) - 1) // 2
    measures: Measures = {
        "pair_auc": (auc, min(n_pairs, _MOST_PAIRS)),
        "separability": (lambda Z: nk.scores.separability(Z, classes), n_pairs),
        "balanced_rand": (rand, n_pairs),
    }
    return _compare(model, rows.take(known), "labels", measures)


def _draw_known(y: Any, seed: int) -> tuple[Ints, Ints]:
    """Numbers of labelled rows, at most 5000 of them, and of their classes."""
    classes = classes_of.number_classes(y)
    known = np.flatnonzero(classes >= 0)
    if len(known) > _MOST_ROWS:
        known = np.sort(np.random.default_rng(seed).choice(known, _MOST_ROWS, replace=False))
    return known, classes[known]


def _compare(model: models.Model, X: Any, by: str, measures: Measures) -> list[models.Score]:
    """Scores of the learned and the Euclidean distance on the same rows."""
    Z = model.embed(X)
    plain = X if model.scaler is None else model.scaler.transform(X)
    marks = model.facts.marks
    seen = None if marks is None else models.count_known(marks, X)
    return [
        models.Score(by, name, float(measure(Z)), float(measure(plain)), n_pairs, len(X), seen)
        for name, (measure, n_pairs) in measures.items()
    ]


def _estimate_quality(
    model: models.Model,
    rows: RowStream,
    prevalence: Prevalence,
    seed: int,
    *,
    y: Any = None,
    pairs: nk.Pairs | None = None,
) -> Quality:
    """Precision and recall of the model's verdicts with intervals, by labels or by pairs."""
    metric = copy(model.metric)
    metric.random_state = seed
    if pairs is not None:
        pairs = pairs.without(pairs.closer)
        named = pairs.points
        X = rows.take(named)
        return metric.quality(X, pairs=pairs.restrict(named), prevalence=prevalence)  # type: ignore[no-any-return]
    known, classes = _draw_known(y, seed)
    return metric.quality(rows.take(known), classes, prevalence=prevalence)  # type: ignore[no-any-return]


def tabulate_scores(
    found: list[models.Score], qualities: Mapping[str, Quality] = MappingProxyType({})
) -> Iterator[Any]:
    """Table of scores, with intervals where there are any."""
    lines: list[dict[str, Any]] = []
    for score in found:
        line = asdict(score) | {"low": None, "high": None}
        lines.append(line)
        if score.measure != "pair_auc" or score.judged_by not in qualities:
            continue
        quality = qualities[score.judged_by]
        line |= {"low": min(quality.auc.low, score.learned)}
        line |= {"high": max(quality.auc.high, score.learned)}
        lines += _verdict_lines(quality, line)
    return _tabulate_lines(lines)


def _verdict_lines(quality: Quality, beside: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Lines of a table for precision, recall and F1, with the entries ``beside`` in each."""
    n_pairs = quality.n_same + quality.n_different
    for name in ("precision", "recall", "f1"):
        figure = asdict(getattr(quality, name))
        judged = {"measure": name, "learned": figure.pop("value"), "euclidean": None}
        yield beside | judged | figure | {"pairs": n_pairs}


def _tabulate_lines(lines: list[dict[str, Any]]) -> Iterator[Any]:
    """Table of scores from lines; absent entries are empty."""
    order = ["judged_by", "measure", "learned", "low", "high", "euclidean", "pairs", "rows", "seen"]
    return outputs.table_of({name: [line.get(name) for line in lines] for name in order})


def _score_groups(groups: Ints, labels: Any) -> list[dict[str, Any]]:
    """Precision, recall and F1 of the pairs within groups, by class labels."""
    from sklearn.metrics import pair_confusion_matrix

    classes = classes_of.number_classes(labels)
    known = classes >= 0
    groups, classes = groups[known], classes[known]
    # Of both orders of each pair: called the same by nobody or wrongly, overlooked or right.
    (_, wrong), (overlooked, right) = pair_confusion_matrix(classes, groups).tolist()
    called, same = right + wrong, right + overlooked
    if not same:
        raise UserError("--labels: no two records are of one class, so that nothing can be found.")
    n = len(groups)
    figures = {
        "precision": right / called if called else None,
        "recall": right / same,
        "f1": 2 * right / (called + same),
    }
    line = {"judged_by": "labels", "pairs": n * (n - 1) // 2, "rows": n}
    return [line | {"measure": name, "learned": value} for name, value in figures.items()]
