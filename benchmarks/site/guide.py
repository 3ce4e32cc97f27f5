"""How good what the guide is about is: docs/guide/*.md. (Speed and memory: guide_costs.py.)"""

from __future__ import annotations

from textwrap import fill

import numpy as np
from scipy.stats import rankdata

from benchmarks.active import run as active
from benchmarks.calibration import run as calibration
from benchmarks.clusters import questions as cluster_questions
from benchmarks.clusters import tables as clusters
from benchmarks.explanations import run as explanations
from benchmarks.few_pairs.data import REPORTED
from benchmarks.published_tables import published, rows_where
from benchmarks.record import Table
from benchmarks.records.data import DATA as RECORDS
from benchmarks.records.data import TUNED
from benchmarks.records.rivals import LIMIT
from benchmarks.records.rounds import N_ANSWERS, RANDOM
from benchmarks.records.tables import holds
from benchmarks.site import Row, rows_of
from benchmarks.teaching import presses

# Differences in the adjusted Rand index, and in F1, that are told as a loss.
_TOLD_INDEX, _TOLD_F1 = 0.02, 0.001
_TOLD_THE_NUMBER = {clusters.OURS: "no", "COBRAS, asking": "no", "HDBSCAN with labels": "no"}
_TOLD_THE_NUMBER["HDBSCAN with cannot-links"] = "no"
_NEARLY_EXACT = 0.95
_MATCHER = "RecordMatcher"


def shown(*parts: Table | str) -> str:
    """Tables without their titles and paragraphs, one below the other, as pages have them."""
    return "\n\n".join(
        part.markdown().partition("\n\n")[2].rstrip("\n")
        if isinstance(part, Table)
        else fill(part, 110, break_on_hyphens=False)
        for part in parts
    )


def listed(names: list[str]) -> str:
    """Names in a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


# Clusters


def _groups() -> clusters.Results:
    return clusters.Results(rows_of("clusters/results.jsonl"))


def clusters_methods() -> str:
    """Adjusted Rand index by method, the best mean rank first."""
    results = _groups()
    table = results.table(results.methods)
    means, ranks = table.mean(axis=0), rankdata(-table, axis=-1).mean(axis=(0, 1))
    body = [
        [
            results.methods[i],
            _TOLD_THE_NUMBER.get(results.methods[i], "yes"),
            *(f"{value:.3f}" for value in means[:, i]),
            f"{ranks[i]:.1f}",
        ]
        for i in np.argsort(ranks)
    ]
    columns = ["method", "told the number", *(f"{n} pairs" for n in clusters.NUMBERS), "mean rank"]
    draws = results.shared(results.methods)
    return shown(
        Table("", columns, body, n_words=2),
        f"Mean adjusted Rand index over {len(results.data)} data sets and {draws} draws. Mean rank "
        f"is among {len(results.methods)} methods, over all numbers of pairs. *Our metric* is "
        "that of `MetricLearner`.",
    )


def clusters_number() -> str:
    """How often the number of groups is found."""
    body = []
    for n in clusters.NUMBERS:
        runs = _groups().ours(n)
        true = np.array([run["k_true"] for run in runs])
        found = np.array([run["k"] for run in runs])
        low, high = np.array([run["interval"] for run in runs]).T
        shares = (found == true, abs(found - true) <= 0.2 * true, (low <= true) & (true <= high))
        body.append([str(n), *(f"{share.mean():.0%}" for share in shares), str(len(runs))])
    columns = ["pairs", "exactly right", "within 20 %", "truth in the interval", "runs"]
    return shown(Table("", columns, body))


def clusters_losses() -> str:
    """Where others are better, and what is not reached."""
    results = _groups()
    rivals = [name for name in results.methods if name != clusters.OURS]
    most = max(clusters.NUMBERS)
    body, draws = [], results.shared(results.methods)
    for data in results.data:
        index = {name: results.mean(data, most, name, draws) for name in rivals}
        best = max(rivals, key=lambda name: index[name])
        ours = results.mean(data, most, clusters.OURS, draws)
        if index[best] > ours + _TOLD_INDEX:
            body.append([data, best, f"{index[best]:.3f}", f"{ours:.3f}"])
    parts: list[Table | str] = [
        f"With {most} pairs, another method is better by more than {_TOLD_INDEX} on "
        f"{len(body)} of {len(results.data)} data sets:",
        Table("", ["data", "the best other", "its index", "that of Clusters"], body, n_words=2),
    ]
    shapes: dict[str, list[bool]] = {}
    for row in rows_of("clusters/results.jsonl"):
        if row.get("part") == "shapes":
            shapes.setdefault(row["data"], []).append(row["ari"] >= _NEARLY_EXACT)
    shares = {shape: float(np.mean(runs)) for shape, runs in shapes.items()}
    missed = [f"{shape} in {share:.0%}" for shape, share in shares.items() if share < 0.9]
    if missed:
        parts.append(
            "With 20 pairs, most shapes in the plane are found nearly exactly in nearly every "
            f"draw; these are found in fewer draws: {listed(missed)}."
        )
    return shown(*parts, _reached())


def _reached() -> str:
    """On how many sets answers to questions are as good as 200 random pairs."""
    results = _groups()
    asked: dict[int, dict[str, list[float]]] = {}
    for row in rows_of("clusters/results.jsonl"):
        if row.get("part") == "questions" and row["strategy"] != cluster_questions.CONTROL:
            asked.setdefault(row["n_asked"], {}).setdefault(row["data"], []).append(row["ari"])
    n_asked = max(asked)
    found = asked[n_asked]
    reached = sum(
        np.mean(values) >= results.mean(data, 200, clusters.OURS, len(values))
        for data, values in found.items()
    )
    return (
        f'{n_asked} answers to its own questions (`goal="clusters"`) are at least as good as 200 '
        f"random pairs on {reached} of {len(found)} data sets."
    )


# Search


def search_chances() -> str:
    """What thresholds and probabilities hold on new rows."""
    rows = [row for row in rows_of("calibration/results.jsonl") if row["data"] in REPORTED]
    body = []
    for n in calibration.N_PAIRS:
        some = [row for row in rows if row["n_pairs"] == n]
        promised = [row["promised"][f"{calibration.HALF} 0.9"] for row in some]
        given = np.array([one for one in promised if one is not None])
        error = np.mean([row["ece"] for row in some])
        precision, recall = given.T
        cells = (error, len(given) / len(some), precision.mean(), np.quantile(precision, 0.1))
        body.append([str(n), *(f"{value:.2f}" for value in (*cells, recall.mean()))])
    columns = ["pairs learned from", "error of chances", "such a distance exists"]
    columns += ["precision there", "in the worst tenth", "recall there"]
    n_sets = len({row["data"] for row in rows})
    return shown(
        Table("", columns, body),
        f"`threshold_for(precision=0.9)` of `MetricLearner` on new rows of {n_sets} data sets, "
        "where half of the pairs are the same. The error of chances is the mean difference between "
        "the stated probability and the true share, at the true prevalence.",
    )


def search_explanations() -> str:
    """Whether explanations name what matters."""
    rows = [row for row in rows_of("explanations/results.jsonl") if row["data"] in REPORTED]

    def of(learner: str, what: str) -> list[Row]:
        return [row for row in rows if (row["learner"], row["what"]) == (learner, what)]

    ratios = {
        learner: sum(row["named"] for row in of(learner, "columns"))
        / sum(row["random"] for row in of(learner, "columns"))
        for learner in explanations.LEARNERS
    }
    signs = {
        learner: np.mean([row["distance"] for row in of(learner, "answers")])
        for learner in explanations.LEARNERS
    }
    n_sets = len({row["data"] for row in rows})
    n = explanations.N_NAMED
    return shown(
        f"How reliable explanations are, on {n_sets} data sets: removing the {n} columns that "
        f"`explain` names changes the probability {min(ratios.values()):.1f} to "
        f"{max(ratios.values()):.1f} times as much as removing {n} random columns. Leaving out the "
        f"{n} answers that it names, and learning again, changes the distance in the stated "
        f"direction in {signs['ITML']:.0%} of cases with `ITML`, and in "
        f"{signs['MetricLearner']:.0%} with `MetricLearner`, which may then choose another metric."
    )


# Records


def _of_records(answers: int, protocol: str = RANDOM) -> dict[str, dict[str, float]]:
    """F1 by method and table, of the first draw; without answers there is one protocol."""
    found: dict[str, dict[str, float]] = {}
    for row in rows_of("records/results.jsonl"):
        told = (row.get("n_answers"), row.get("seed")) == (answers, 0) and row["data"] in RECORDS
        if told and (not answers or row["protocol"] == protocol) and "f1" in row:
            found.setdefault(row["method"], {})[row["data"]] = row["f1"]
    return found


def records_rivals() -> str:
    """F1 beside other packages, in the mean over the tables that all of them were tried on."""
    by_answers = {n: _of_records(n) for n in N_ANSWERS}
    tried: dict[str, set[str]] = {}
    for row in rows_of("records/results.jsonl"):
        is_first = row.get("seed") == 0 and "method" in row
        if is_first and (row["protocol"] == RANDOM or not row["n_answers"]):
            tried.setdefault(row["method"], set()).add(row["data"])
    whole = set.intersection(*tried.values(), *map(set, (f[_MATCHER] for f in by_answers.values())))
    methods = dict.fromkeys(name for found in by_answers.values() for name in found)
    body = []
    for name in methods:
        cells = []
        for found in by_answers.values():
            mine = found.get(name, {})
            n_missed = len(whole - set(mine))
            mean = f"{np.mean([mine[data] for data in mine if data in whole]):.3f}" if mine else ""
            cells.append(f"{mean} ({n_missed} not done)" if mean and n_missed else mean)
        body.append([name, *cells])
    body.sort(key=lambda row: row[0] != _MATCHER)
    columns = ["F1", "no answer", *(f"{n} answers" for n in N_ANSWERS[1:])]
    return shown(
        Table("", columns, body),
        f'Means over {listed(sorted(whole))}. Runs "not done" took more than {LIMIT} '
        "seconds or failed; the means leave them out.",
    )


def records_losses() -> str:
    """Tables on which another package is better."""
    body = []
    for answers in N_ANSWERS:
        found = _of_records(answers)
        for data, ours in found[_MATCHER].items():
            rivals = {name: of[data] for name, of in found.items() if data in of}
            best = max(rivals, key=lambda name: rivals[name])
            if rivals[best] > ours + _TOLD_F1:
                told = str(answers or "none")
                body.append([data, told, best, f"{rivals[best]:.4f}", f"{ours:.4f}"])
    columns = ["table", "answers", "the best other", "its F1", "that of RecordMatcher"]
    return shown("Another package has a higher F1 here:", Table("", columns, body, n_words=3))


def records_intervals() -> str:
    """How often figures are stated on tables to report on, and how often intervals hold."""
    body = []
    cells = [row for row in rows_of("records/results.jsonl") if row.get("method") == _MATCHER]
    reported = [row for row in cells if row["data"] not in TUNED]
    for n in N_ANSWERS:
        runs = [row for row in reported if row["n_answers"] == n]
        shown_cells = []
        for name in ("precision", "recall"):
            known = [row for row in runs if row[f"{name}_known"]]
            held = f"{sum(holds(row, name) for row in known)} of {len(known)}" if known else ""
            shown_cells.append(held)
        body.append([str(n), str(len(runs)), *shown_cells])
    columns = ["answers", "runs", "precision stated: held", "recall stated: held"]
    return shown(Table("", columns, body))


# Questions


def questions_strategies() -> str:
    """On how many sets 200 answers reach what 500 random pairs do."""
    rows = rows_of("active/results.jsonl")
    body = []
    for strategy in active.MEASURED:
        cells = []
        for learner in active.LEARNERS:
            auc = active.means(rows, learner)
            reached = [active.needed(auc, data, strategy) for data in active.DATA]
            cells.append(f"{sum(n is not None for n in reached)} of {len(reached)}")
        body.append([f"`{strategy}`", *cells])
    most, draws = active.QUERIES[-1], len({row["seed"] for row in rows})
    return shown(
        f"On how many data sets {most} or fewer answers reach the pair AUC of {active.N_CONTROL} "
        f"random pairs (means of {draws} draws):",
        Table("", ["questions", *active.LEARNERS], body),
    )


def questions_presses() -> str:
    """Pair AUC by key presses."""
    return shown(presses.curves(rows_of("teaching/presses.jsonl")))


def search_distilled() -> str:
    """How faithful and how fast imitations of a metric are, by their landmarks."""
    body = []
    for n in (300, 1000):
        table = published("few_pairs/DISTILLED.md", f"{n} landmarks")
        cells = dict(zip(table.columns, rows_where(table, 0, "mean").rows[0], strict=True))
        names = "fidelity", "distilled", "pair AUC, whole", "rows a second: distilled / whole"
        body.append([str(n), *(cells[name] for name in names)])
    columns = ["landmarks", "fidelity", "pair AUC", "of the metric itself", "rows a second, times"]
    return shown(
        f"`distilled` beside the metric that it imitates, on {len(table.rows) - 1} data sets:",
        Table("", columns, body),
        "The last column is how many times as fast `transform` is as that of the metric.",
    )


BLOCKS = {
    "guide_clusters_methods": clusters_methods,
    "guide_clusters_number": clusters_number,
    "guide_clusters_losses": clusters_losses,
    "guide_search_chances": search_chances,
    "guide_search_distilled": search_distilled,
    "guide_search_explanations": search_explanations,
    "guide_records_rivals": records_rivals,
    "guide_records_losses": records_losses,
    "guide_records_intervals": records_intervals,
    "guide_questions_strategies": questions_strategies,
    "guide_questions_presses": questions_presses,
}
