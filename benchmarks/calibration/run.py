"""How far the probabilities and intervals of MetricLearner can be believed.

Draws are those of the few pairs: MetricLearner learns from pairs of 60 % of up to 1000 rows, and is
judged by pairs of the others, which it has not seen. Settings were chosen on half of the data sets;
the others are reported.

Probabilities are those that `chance_same` gives random pairs of new rows at their true prevalence;
the expected calibration error is the mean difference, over ten bins, of the probability said and
the share that is true, of one metric at a time. It is 0 of metrics that say the prevalence of every
pair, so beside it stands how many do, and the log-loss, which such metrics pay for. "Calibrated" is
after `calibrate` by 200 pairs of one half of the new rows, judged by the other.

An interval holds if the figure by all pairs of the new rows lies in it: those of `quality` by 10 to
200 pairs drawn from the new rows, half of them must-links, and those of `report_` by held-out
pairs, the latter on sets with 100 new rows at least, of which the truth is known well enough.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Iterator
from copy import copy
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import log_loss

from benchmarks.few_pairs.data import REPORTED, TUNED_ON, draw
from benchmarks.few_pairs.judging import judged_links
from benchmarks.record import Block, Page, Table, Text, publish_page, stored
from benchmarks.resume import Job, complete
from nearkin import MetricLearner, Pairs
from nearkin.errors import InputError
from nearkin.rows.distances import linked_distances
from nearkin.scores.quality import Quality, estimate_quality
from nearkin.scores.verdicts import read_verdicts

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
N_PAIRS = (20, 50, 100, 200)
FIGURES = ("auc", "precision", "recall", "f1")
# Pairs of new rows that quality is judged by, and how often they are drawn.
N_JUDGING, N_DRAWN = (10, 20, 50, 200), 3
N_CALIBRATING = 200
PRECISIONS = (0.9, 0.99)
HALF, NATURAL = "half", "natural"
N_BINS = 10
# Probabilities that differ less say nearly nothing of pairs.
FLAT = 0.01
# New rows by which the truth is known well enough for figures of held-out pairs.
LEAST_ROWS = 100
Row = dict[str, Any]


def jobs(seeds: Iterable[int], sets: Iterable[str] = (*REPORTED, *TUNED_ON)) -> Iterator[Job]:
    """All numbers of pairs, draw by draw."""
    sets = tuple(sets)
    for seed in seeds:
        for data in sets:
            for n_pairs in N_PAIRS:
                names = {"data": data, "n_pairs": n_pairs, "seed": seed}
                yield Job(names, measure, (data, n_pairs, seed))


def run(draws: int) -> None:
    """Measure what is not stored yet, two metrics at a time."""
    complete(RAW, jobs(range(draws)), "calibration", processes=2)


def measure(data: str, n_pairs: int, seed: int) -> list[Row]:
    """One metric: its probabilities, its intervals, and what its thresholds promise."""
    part = draw(data, n_pairs, 0.0, seed)
    links, same = judged_links(part, seed)
    share = float(same.mean())
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metric = MetricLearner(random_state=seed).fit(part.X, pairs=part.pairs)
        Z = metric.transform(part.X_test)
        chance = read_verdicts(metric).chance(linked_distances(Z, links), share)
        truth = Truth(Z, part.y_test)
        estimated = copy(metric).calibrate(part.X_test, prevalence="estimated").prevalence_
        told = metric.report_.quality
        known = told is not None and len(part.y_test) >= LEAST_ROWS
        frequencies = {HALF: 0.5, NATURAL: truth.share}
        found = {
            "ece": calibration_error(chance, same),
            "flat": bool(np.ptp(chance) < FLAT),
            "log_loss": float(log_loss(same, np.clip(chance, 1e-6, 1 - 1e-6))),
            "prevalence": truth.share,
            "estimated": estimated,
            "auc": truth.quality(metric.threshold_, 0.5).auc.value,
            "calibrated": _calibrated(metric, part.X_test, part.y_test, seed),
            "held_out": held(told, truth.quality(told.radius, 0.5)) if known else None,
            "intervals": {
                f"{name} {n}": _intervals_held(metric, truth, n, at, seed)
                for name, at in frequencies.items()
                for n in N_JUDGING
            },
            "promised": {
                f"{name} {wanted}": _promised(metric, truth, wanted, at)
                for name, at in frequencies.items()
                for wanted in PRECISIONS
            },
        }
    return [{name: round(v, 4) if isinstance(v, float) else v for name, v in found.items()}]


class Truth:
    """All pairs of new rows, embedded."""

    def __init__(self, Z: np.ndarray, y: np.ndarray) -> None:
        self.Z, self.y = Z, y
        self.links = np.column_stack(np.triu_indices(len(y), 1))
        self.distances = linked_distances(Z, self.links)
        self.same = y[self.links[:, 0]] == y[self.links[:, 1]]
        self.share = float(self.same.mean())

    def quality(self, radius: float, prevalence: float) -> Quality:
        """By all of them."""
        weight = np.ones(len(self.same))
        return estimate_quality(self.distances, self.same, weight, self.links, radius, prevalence)

    def quality_by(self, n_pairs: int, radius: float, prevalence: float, seed: int) -> Quality:
        """By some of them, half of which are must-links."""
        pairs = Pairs.from_labels(self.y, min(n_pairs, len(self.links)), random_state=seed)
        links = np.concatenate([pairs.must_link, pairs.cannot_link])
        same = np.arange(len(links)) < len(pairs.must_link)
        distances = linked_distances(self.Z, links)
        return estimate_quality(distances, same, np.ones(len(same)), links, radius, prevalence)


def held(said: Quality, true: Quality) -> Row:
    """Whether each figure is in its interval, and how wide that is."""
    found = {}
    for name in FIGURES:
        one, value = getattr(said, name), getattr(true, name).value
        found[name] = [bool(one.low <= value <= one.high), round(one.high - one.low, 4)]
    return found


def calibration_error(chance: np.ndarray, same: np.ndarray) -> float:
    """Mean difference of the probability said and the share that is true, over ten bins."""
    place = np.minimum((N_BINS * chance).astype(int), N_BINS - 1)
    said, true = (np.bincount(place, values, N_BINS) for values in (chance, same * 1.0))
    return float(abs(said - true).sum() / len(same))


def _calibrated(metric: Any, X: np.ndarray, y: np.ndarray, seed: int) -> float | None:
    """Calibration error on half of some rows, after calibration by the other; None of few rows."""
    if len(y) < LEAST_ROWS:
        return None
    known, judged = np.array_split(np.random.RandomState(seed).permutation(len(y)), 2)
    pairs = Pairs.from_labels(y[known], N_CALIBRATING, random_state=seed)
    other = copy(metric).calibrate(X[known], pairs=pairs)
    truth = Truth(metric.transform(X[judged]), y[judged])
    return calibration_error(read_verdicts(other).chance(truth.distances, truth.share), truth.same)


def _intervals_held(metric: Any, truth: Truth, n: int, prevalence: float, seed: int) -> Row:
    """How many intervals hold, and how wide they are, of each figure."""
    radius = read_verdicts(metric).distance_at(0.5, prevalence)
    true = truth.quality(radius, prevalence)
    drawn = (truth.quality_by(n, radius, prevalence, 100 * seed + k) for k in range(N_DRAWN))
    found = [held(one, true) for one in drawn]
    return {
        name: np.mean([one[name] for one in found], axis=0).round(4).tolist() for name in FIGURES
    }


def _promised(
    metric: Any, truth: Truth, precision: float, prevalence: float
) -> tuple[float, float] | None:
    """Precision and recall where a precision is asked for; None where that is refused."""
    try:
        radius = metric.threshold_for(precision, prevalence)
    except InputError:
        return None
    found = truth.quality(radius, prevalence)
    if not found.recall.value:
        return None
    return round(found.precision.value, 4), round(found.recall.value, 4)


def score() -> None:
    """Tables from the stored results."""
    publish_page(FOLDER / "RESULTS.md", page(*stored(RAW)))


def page(source: Any, rows: list[Row]) -> Page:
    """Tables from results."""
    blocks: list[Block] = [Text(__doc__.partition("\n\n")[2])]
    for kind, sets in (("reported", REPORTED), ("tuned on", TUNED_ON)):
        some = [row for row in rows if row["data"] in sets]
        if some:
            blocks += _tables(some, f"sets {kind}, {len({row['seed'] for row in some})} draws")
    return Page("Probabilities and intervals", blocks, source)


def _tables(rows: list[Row], what: str) -> list[Block]:
    by_pairs = {n: [row for row in rows if row["n_pairs"] == n] for n in N_PAIRS}
    means: dict[str, Callable[[list[Row]], str]] = {
        "expected calibration error": lambda some: _mean([row["ece"] for row in some]),
        "the same, calibrated": lambda some: _mean([row["calibrated"] for row in some]),
        "metrics that say one probability of all": lambda some: _mean(
            [row["flat"] for row in some]
        ),
        "log-loss": lambda some: _mean([row["log_loss"] for row in some]),
        "log-loss of the prevalence": lambda some: _mean([_entropy(row) for row in some]),
        "error of an estimated prevalence": lambda some: _mean([_off(row) for row in some]),
        "the same, where pair AUC is above 0.9": lambda some: _mean(
            [_off(row) for row in some if row["auc"] > 0.9]
        ),
    }
    probabilities = Table(
        f"Probabilities by number of pairs; {what}",
        ["mean over sets", *map(str, N_PAIRS)],
        [[name, *map(mean, by_pairs.values())] for name, mean in means.items()],
    )
    of_new = [
        [f"{n} new pairs, prevalence {name}", *_coverage(rows, f"{name} {n}")]
        for name in (HALF, NATURAL)
        for n in N_JUDGING
    ]
    all_new = [f"{name} {n}" for name in (HALF, NATURAL) for n in N_JUDGING]
    of_new.append(["all of these", *_coverage(rows, *all_new)])
    of_held_out = [
        [f"report_ of {n} pairs", *_shares([row["held_out"] for row in some if row["held_out"]])]
        for n, some in by_pairs.items()
    ]
    every = [row["held_out"] for row in rows if row["held_out"]]
    of_held_out.append(["report_ of all", *_shares(every)])
    intervals = Table(
        f"Share of 90 % intervals that hold the truth, and their mean width; {what}",
        ["judged by", *FIGURES],
        of_new + of_held_out,
    )
    promises = Table(
        f"New rows at the distance that threshold_for(precision) gives; {what}",
        ["precision, prevalence, pairs", "given", "precision", "worst tenth", "recall"],
        [
            [
                f"{wanted}, {name}, {n}",
                *_kept([row["promised"][f"{name} {wanted}"] for row in some]),
            ]
            for wanted in PRECISIONS
            for name in (HALF, NATURAL)
            for n, some in by_pairs.items()
        ],
    )
    return [probabilities, intervals, promises]


def _mean(values: list[float | None]) -> str:
    known = [value for value in values if value is not None]
    return f"{np.mean(known):.3f}" if known else "–"


def _entropy(row: Row) -> float:
    """Log-loss of who says the true prevalence of every pair."""
    share = row["prevalence"]
    return float(-share * np.log(share) - (1 - share) * np.log(1 - share))


def _off(row: Row) -> float:
    return abs(float(row["estimated"]) - float(row["prevalence"]))


def _coverage(rows: list[Row], *names: str) -> list[str]:
    return _shares([row["intervals"][name] for row in rows for name in names])


def _shares(found: list[Row]) -> list[str]:
    """Means over cells of how many intervals hold, and how wide they are."""
    if not found:
        return ["–"] * len(FIGURES)
    means = [np.mean([one[name] for one in found], axis=0) for name in FIGURES]
    return [f"{share:.2f} ({width:.2f})" for share, width in means]


def _kept(found: list[list[float] | None]) -> list[str]:
    """In how many cases there is such a distance, and precision and recall there."""
    given = [one for one in found if one is not None]
    if not given:
        return ["0.00", "–", "–", "–"]
    precision, recall = np.transpose(given)
    figures = (
        len(given) / len(found),
        precision.mean(),
        np.quantile(precision, 0.1),
        recall.mean(),
    )
    return [f"{figure:.2f}" for figure in figures]
