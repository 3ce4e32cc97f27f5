"""Do explanations say what matters? Take away what they name, and look.

A metric is learned from 60 pairs, and pairs of new rows are explained. Columns: the three that are
named are set to their means in both rows, and so are three others at random (the mean of ten such
draws); ``chance_same`` moves so far. Answers: the three that pull together most, or push apart
most, are taken away, all others are learned from again, and the two rows should be farther apart,
or nearer. Distances are measured by those between all rows learned from.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
from sklearn.base import clone

from benchmarks.few_pairs.data import REPORTED, TUNED_ON, Draw, draw
from benchmarks.record import Table, Text, publish, stored
from benchmarks.resume import Job, Row, complete
from nearkin import ITML, MetricLearner, Pairs
from nearkin.learners.explain import Explanation, Pull

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
LEARNERS = {
    "ITML": ITML(random_state=0),
    "ITML, rbf kernel": ITML(kernel="rbf", random_state=0),
    "MetricLearner": MetricLearner(random_state=0),
}
N_PAIRS = 60
N_NAMED = 3
# Pairs of new rows that are explained in a draw, half of them the same.
N_EXPLAINED = {"ITML": 10, "ITML, rbf kernel": 10, "MetricLearner": 4}
MOST_DRAWS = {"ITML": 10, "ITML, rbf kernel": 10, "MetricLearner": 2}
# Of fewer columns, three at random are too many of all.
FEW_COLUMNS = 10
SETS = {"to report on": REPORTED, "to tune on": TUNED_ON}


def run(draws: int) -> None:
    """Measure what is not stored yet."""
    complete(RAW, jobs(draws), "explanations")


def jobs(draws: int, sets: tuple[str, ...] = (*REPORTED, *TUNED_ON)) -> Iterator[Job]:
    for seed in range(draws):
        for learner in LEARNERS:
            if seed < MOST_DRAWS[learner]:
                for data in sets:
                    names = {"data": data, "learner": learner, "seed": seed}
                    yield Job(names, one_draw, (data, learner, seed))


def one_draw(data: str, name: str, seed: int) -> list[Row]:
    """What becomes of pairs of new rows without what explanations name."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        rows = draw(data, N_PAIRS, 0.0, seed)
        metric = clone(LEARNERS[name]).fit(rows.X, pairs=rows.pairs)
        told = Pairs.from_labels(rows.y_test, N_EXPLAINED[name], random_state=seed)
        out: list[Row] = []
        for i, j in np.concatenate([told.must_link, told.cannot_link]):
            a, b = rows.X_test[i], rows.X_test[j]
            found = metric.explain(a, b)
            out.append(columns_away(metric, rows, a, b, found, len(out)))
            for kind, answers in (("together", found.together), ("apart", found.apart)):
                if answers:
                    out.append(answers_away(metric, rows, a, b, kind, answers[:N_NAMED], found))
        return out


def columns_away(
    metric: MetricLearner,
    rows: Draw,
    a: np.ndarray,
    b: np.ndarray,
    found: Explanation,
    seed: int,
) -> Row:
    """How far the chance moves without the named columns, and without random ones."""
    mean, rng = rows.X.mean(axis=0), np.random.RandomState(seed)
    n_columns = len(a)

    def moved(columns: np.ndarray) -> float:
        both = np.array([a, b])
        both[:, columns] = mean[columns]
        return abs(float(metric.chance_same(*both)) - found.chance)

    n = min(N_NAMED, n_columns)
    at_random = [moved(rng.choice(n_columns, n, replace=False)) for _ in range(10)]
    named = moved(np.array([int(name) for name in found.named(N_NAMED)], dtype=int))
    return {
        "what": "columns",
        "n_columns": n_columns,
        "named": round(named, 5),
        "random": round(float(np.mean(at_random)), 5),
    }


def answers_away(
    metric: MetricLearner,
    rows: Draw,
    a: np.ndarray,
    b: np.ndarray,
    kind: str,
    answers: list[Pull],
    found: Explanation,
) -> Row:
    """Whether the two rows are farther apart, or nearer, without the named answers."""
    fewer = rows.pairs.without([(one.left, one.right) for one in answers])
    sign = 1 if kind == "together" else -1
    again = clone(metric).fit(rows.X, pairs=fewer)
    before, after = (beside_others(one, rows.X, a, b) for one in (metric, again))
    row: Row = {
        "what": "answers",
        "kind": kind,
        "size": round(sum(abs(one.pull) for one in answers) / found.distance**2, 5),
        "distance": bool(sign * (after - before) > 0),
        "chance": bool(sign * (found.chance - float(again.chance_same(a, b))) > 0),
    }
    if isinstance(metric, MetricLearner):
        kept = metric.relearned(rows.X, fewer)
        row["same recipe"] = bool(sign * (beside_others(kept, rows.X, a, b) - before) > 0)
    return row


def beside_others(metric: MetricLearner, X: np.ndarray, a: np.ndarray, b: np.ndarray) -> float:
    """Squared distance of two rows over that of all, in the mean."""
    Z = metric.transform(X)
    return float(metric.pair_distance(a, b) ** 2 / (2 * Z.var(axis=0).sum() or 1.0))


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    columns, answers, sets = [], [], []
    for title, names in SETS.items():
        here = [row for row in rows if row["data"] in names]
        for learner in LEARNERS:
            mine = [row for row in here if row["learner"] == learner]
            columns += _columns(title, learner, mine)
            answers += _answers(title, learner, mine)
            for data in names:
                of_set = [row for row in mine if row["data"] == data]
                if of_set:
                    sets.append([data, title, learner, *_set(of_set)])
    blocks: list[Table | Text] = [
        Text(
            f"{N_PAIRS} pairs are learned from. A column is taken away by setting it to its mean "
            "in both rows. Shown is how far `chance_same` moves, in the mean over pairs of new "
            f"rows: without the {N_NAMED} columns that `explain` names, and without {N_NAMED} at "
            f"random. It is shown of all sets, and of those with {FEW_COLUMNS} columns or more: of "
            f"fewer, {N_NAMED} at random are a large part of all. That bound was set after a first "
            "look at sets to tune on. Single sets differ widely, as the last table shows."
        ),
        Table(
            "Columns taken away: how far the chance moves",
            ["sets", "learner", "columns", "data sets", "pairs", "named", "random", "ratio"],
            columns,
            n_words=3,
        ),
        Text(
            f"The {N_NAMED} answers that `explain` says pull most in one direction are taken away "
            "at once, and the others learned from again. Their pulls together are that share of "
            "the squared distance in the mean. The distance, beside that of all rows learned from, "
            "and the chance should change as said. MetricLearner is learned again both with the "
            "recipe that it had chosen (`relearned`), and from the start: with 57 pairs it may see "
            "other principal axes, take other landmarks and choose another blend, which moves "
            "distances about as far as three answers do."
        ),
        Table(
            "Answers taken away: whether the sign is confirmed",
            [
                "sets",
                "learner",
                "direction",
                "data sets",
                "cases",
                "pull",
                "distance, same recipe",
                "distance, from the start",
                "chance, from the start",
            ],
            answers,
            n_words=3,
        ),
        Table(
            "Data sets",
            ["data", "sets", "learner", "columns", "ratio of columns", "signs of distances"],
            sets,
            n_words=3,
        ),
    ]
    publish(FOLDER / "RESULTS.md", "Whether explanations name what matters", blocks, source)


def _columns(title: str, learner: str, rows: list[Row]) -> list[list[str]]:
    out = []
    for least, kind in ((1, "any"), (FEW_COLUMNS, f"{FEW_COLUMNS} or more")):
        some = [row for row in rows if row["what"] == "columns" and row["n_columns"] >= least]
        if some:
            named, random = (float(np.mean([row[k] for row in some])) for k in ("named", "random"))
            cells = f"{named:.3f}", f"{random:.3f}", f"{named / random:.1f}"
            out.append([title, learner, kind, _n_sets(some), str(len(some)), *cells])
    return out


def _n_sets(rows: list[Row]) -> str:
    return str(len({row["data"] for row in rows}))


def _answers(title: str, learner: str, rows: list[Row]) -> list[list[str]]:
    out = []
    for kind in ("together", "apart", "both"):
        kinds = ("together", "apart") if kind == "both" else (kind,)
        some = [row for row in rows if row["what"] == "answers" and row["kind"] in kinds]
        if some:
            size = np.mean([row["size"] for row in some])
            cells = [_share(some, what) for what in ("same recipe", "distance", "chance")]
            out.append([title, learner, kind, _n_sets(some), str(len(some)), f"{size:.0%}", *cells])
    return out


def _share(rows: list[Row], what: str) -> str:
    known = [row[what] for row in rows if what in row]
    return f"{np.mean(known):.0%}" if known else ""


def _set(rows: list[Row]) -> list[str]:
    columns = [row for row in rows if row["what"] == "columns"]
    random = sum(row["random"] for row in columns)
    ratio = f"{sum(row['named'] for row in columns) / random:.1f}" if random else ""
    answers = [row for row in rows if row["what"] == "answers"]
    signs = _share(answers, "same recipe") or _share(answers, "distance")
    return [str(columns[0]["n_columns"]), ratio, signs]
