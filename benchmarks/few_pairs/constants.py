"""Constants that are fixed, beside others and a choice by held-out pairs, on sets to tune on.

Half must-links, half cannot-links; pair AUC on rows that no pair names. The choice is of the
largest mean pair AUC over five folds of the pairs (a held-out pair has a row of its fold), for each
draw; the careful choice leaves the default only for what is better by more than a standard error.

Choosing gains 0.003 at most over the best that is fixed, at six times the cost: all are fixed. The
slack of ITML is 0.5 for the sake of wrong answers: a larger one gains with right ones, and loses
more where a fifth is wrong. The last table adds a further candidate to the blend of MetricLearner,
with a share that is fixed; it gains nothing either, and is none of the candidates.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from sklearn.metrics import roc_auc_score

from benchmarks.few_pairs.data import TUNED_ON, Draw, draw
from benchmarks.record import Page, Table, Text, publish_page, stored
from benchmarks.resume import Job, complete
from nearkin import ITML, RCA, Chain, KernelA, KernelBeta, MetricLearner
from nearkin.scores.held_out import make_pair_folds
from nearkin.solvers.logdet import PERCENTILES, estimate_bounds

FOLDER = Path(__file__).parent
RAW = FOLDER / "constants.jsonl"
N_PAIRS = (20, 100, 500)
DRAWS = 2
FOLDS = 5
SHARES = (0.0, 0.1, 0.25, 0.5)
JUDGED_PAIRS = 20_000
ALONE = "RCA, then KernelA"
Row = dict[str, Any]


def fit_itml(part: Draw, pairs: Any, seed: int, percentiles: tuple[int, int], slack: float) -> Any:
    """Fit ITML with bounds at some percentiles of distances between random rows."""
    bounds = partial(estimate_bounds, percentiles=percentiles)
    with patch("nearkin.learners.itml.estimate_bounds", bounds):
        return ITML(slack=slack, tol=1e-4, random_state=seed).fit(part.X, pairs=pairs)


def fit_kernel_beta(part: Draw, pairs: Any, seed: int, rank_tol: float) -> Any:
    """Fit KernelBeta with a cut-off of the kernel's spectrum."""
    return KernelBeta(rank_tol=rank_tol, random_state=seed).fit(part.X, pairs=pairs)


Fit = Callable[[Draw, Any, int], Any]
SETTINGS: dict[str, dict[str, Fit]] = {
    "ITML": {
        f"percentiles {low} and {high}, slack {slack:g}": partial(
            fit_itml, percentiles=(low, high), slack=slack
        )
        for (low, high), slack in product(((1, 90), (5, 95)), (0.1, 0.5, 2.0))
    },
    "KernelBeta": {
        f"rank_tol {tol:g}": partial(fit_kernel_beta, rank_tol=tol)
        for tol in (0.001, 0.01, 0.05, 0.2)
    },
}
SLACK = "ITML by slack"
SLACKS = (0.1, 0.5, 2.0, 8.0)
WRONG = {0.0: "", 0.2: ", a fifth wrong"}
DEFAULTS = {"ITML": "percentiles 1 and 90, slack 0.5", "KernelBeta": "rank_tol 0.01"}


def jobs(draws: int) -> Iterator[Job]:
    for data, n_pairs in product(TUNED_ON, N_PAIRS):
        for seed in range(min(draws, DRAWS)):
            names = {"data": data, "n_pairs": n_pairs, "seed": seed}
            for learner in SETTINGS:
                given = data, n_pairs, seed, learner
                yield Job({**names, "learner": learner}, measure, given)
            for wrong in WRONG:
                given = data, n_pairs, seed, wrong
                yield Job({**names, "learner": SLACK, "wrong": wrong}, measure_slacks, given)
        names = {"data": data, "n_pairs": n_pairs, "seed": 0, "learner": ALONE}
        yield Job(names, measure_blend, (data, n_pairs))


def measure(data: str, n_pairs: int, seed: int, learner: str) -> list[Row]:
    """Pair AUC of every setting on new rows, and on each fold that has both kinds."""
    part = draw(data, n_pairs, 0.0, seed)
    pairs = part.pairs
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    same = np.arange(len(links)) < len(pairs.must_link)
    folds = make_pair_folds(pairs, FOLDS, np.random.RandomState(seed), unseen="one")
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for setting, fit in SETTINGS[learner].items():
            held = []
            for learn, judge in folds:
                if same[judge].all() or not same[judge].any():
                    continue
                try:
                    Z = fit(part, pairs.subset(learn), seed).transform(part.X)
                except ValueError:  # what is left has only one kind
                    continue
                apart = np.linalg.norm(Z[links[judge, 0]] - Z[links[judge, 1]], axis=1)
                held.append(_rounded(roc_auc_score(same[judge], -apart)))
            auc = fit(part, pairs, seed).score(part.X_test, part.y_test)
            rows.append({"setting": setting, "auc": _rounded(auc), "held": held})
    return rows


def measure_slacks(data: str, n_pairs: int, seed: int, wrong: float) -> list[Row]:
    """Pair AUC of ITML on new rows by its slack, with a share of wrong answers."""
    part = draw(data, n_pairs, wrong, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        learned = {slack: fit_itml(part, part.pairs, seed, PERCENTILES, slack) for slack in SLACKS}
        return [
            {"setting": f"slack {slack:g}", "auc": _rounded(metric.score(part.X_test, part.y_test))}
            for slack, metric in learned.items()
        ]


def measure_blend(data: str, n_pairs: int) -> list[Row]:
    """Pair AUC of MetricLearner's squared distances with a share of RCA's followed by KernelA."""
    part = draw(data, n_pairs, 0.0, 0)
    ends = np.random.RandomState(0).randint(len(part.X_test), size=(2, JUDGED_PAIRS))
    same = part.y_test[ends[0]] == part.y_test[ends[1]]

    def squared(metric: Any) -> Any:
        Z = metric.fit(part.X, pairs=part.pairs).transform(part.X_test)
        found = ((Z[ends[0]] - Z[ends[1]]) ** 2).sum(axis=1)
        return found / found.mean()

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        usual = squared(MetricLearner(random_state=0))
        added = squared(Chain([RCA(random_state=0), KernelA(random_state=0)]))
    return [
        {
            "setting": f"share {share:g}",
            "auc": _rounded(roc_auc_score(same, -(1 - share) * usual - share * added)),
        }
        for share in (*SHARES, 1.0)
    ]


def _rounded(auc: Any) -> float:
    """Round a measured AUC as it is stored."""
    return round(float(auc), 5)


def run(draws: int) -> None:
    """Measure what is not stored yet."""
    complete(RAW, jobs(draws), "constants")


def chosen(of_draw: dict[str, Row], default: str, *, careful: bool) -> float:
    """Pair AUC of the setting that held-out pairs prefer."""
    usual = of_draw[default]
    judged = [row for row in of_draw.values() if len(row["held"]) > 1]
    if not judged:
        return float(usual["auc"])
    best = max(judged, key=lambda row: float(np.mean(row["held"])))
    if careful:
        gains = np.subtract(best["held"], usual["held"])
        if gains.mean() <= gains.std(ddof=1) / np.sqrt(len(gains)):
            return float(usual["auc"])
    return float(best["auc"])


def tables(rows: list[Row]) -> list[Table]:
    """Mean pair AUC of each setting and of the two choices, by numbers of pairs."""
    made = []
    columns = ["", *(f"{n} pairs" for n in N_PAIRS)]
    for learner, settings in SETTINGS.items():
        draws: dict[int, list[dict[str, Row]]] = {n: [] for n in N_PAIRS}
        for n, data, seed in product(N_PAIRS, TUNED_ON, range(DRAWS)):
            names = {"learner": learner, "data": data, "n_pairs": n, "seed": seed}
            found = {row["setting"]: row for row in rows if names.items() <= row.items()}
            if found:
                draws[n].append(found)
        body = []
        for setting in settings:
            cells = [np.mean([one[setting]["auc"] for one in draws[n]]) for n in N_PAIRS]
            name = setting + (" (default)" if setting == DEFAULTS[learner] else "")
            body.append([name, *(f"{cell:.4f}" for cell in cells)])
        for careful, name in ((False, "chosen"), (True, "chosen with care")):
            cells = [
                np.mean([chosen(one, DEFAULTS[learner], careful=careful) for one in draws[n]])
                for n in N_PAIRS
            ]
            body.append([name, *(f"{cell:.4f}" for cell in cells)])
        n_sets = len({row["data"] for row in rows if row["learner"] == learner})
        made.append(Table(f"{learner}: pair AUC, mean over {n_sets} sets", columns, body))
    blend = [f"share {share:g}" for share in (*SHARES, 1.0)]
    title = f"MetricLearner with a share of {ALONE}: pair AUC, one draw a set"
    return [*made, slack_table(rows), Table(title, columns, fixed(rows, blend, learner=ALONE))]


def slack_table(rows: list[Row]) -> Table:
    """ITML by its slack, with right answers and with wrong ones among them."""
    settings = [f"slack {slack:g}" for slack in SLACKS]
    body = [[setting] for setting in settings]
    for wrong in WRONG:
        for line, (_, *cells) in zip(
            body, fixed(rows, settings, learner=SLACK, wrong=wrong), strict=True
        ):
            line += cells
    columns = ["", *(f"{n} pairs{words}" for words in WRONG.values() for n in N_PAIRS)]
    return Table("ITML by its slack, percentiles 1 and 90: pair AUC", columns, body)


def fixed(rows: list[Row], settings: list[str], **names: Any) -> list[list[str]]:
    """Mean pair AUC of each setting by numbers of pairs."""
    some = [row for row in rows if names.items() <= row.items()]

    def mean(setting: str, n: int) -> float:
        return float(
            np.mean([r["auc"] for r in some if (r["setting"], r["n_pairs"]) == (setting, n)])
        )

    return [[s, *(f"{mean(s, n):.4f}" for n in N_PAIRS)] for s in settings]


def page() -> Page:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    words = Text(__doc__.partition("\n\n")[2])
    return Page("Constants, fixed or chosen", [words, *tables(rows)], source)


def score() -> None:
    """Write the page."""
    publish_page(FOLDER / "CONSTANTS.md", page())
