"""Few pairs, some of them wrong: every learner of the library on real data, and MetricLearner.

Each draw takes up to 1000 rows. Pairs, half must-links and half cannot-links, are of 60 % of them;
metrics are judged on the others, which no pair names.
"""

from __future__ import annotations

import warnings
from collections import Counter
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.progress import track
from scipy.stats import rankdata
from sklearn.base import BaseEstimator
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.few_pairs.data import DATA, Draw, draw
from benchmarks.few_pairs.pictures import critical_difference, gains_by_pairs
from benchmarks.record import Block, Table, Text, publish, store, stored, write
from nearkin import (
    GMML,
    ITML,
    LLMA,
    LMNN,
    RCA,
    Euclidean,
    Generative,
    GeometryAware,
    KernelA,
    KernelBeta,
    MetricLearner,
)
from nearkin.scores import balanced_rand, pair_auc

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
RENEWED = FOLDER / "renewed.jsonl"
N_PAIRS = (10, 20, 50, 200, 1000)
SHARES_WRONG = (0.0, 0.2)
OURS = "MetricLearner"
MEASURES = {
    "auc": "Pair AUC",
    "ari": "Adjusted Rand index of k-means",
    "rand": "Balanced Rand index of k-means",
    "knn": "Accuracy of 5 nearest neighbours with the classes of points in pairs",
}


class Whitened(BaseEstimator):
    """Principal axes of equal variance, which knows nothing of pairs."""

    def fit(self, X: np.ndarray, y: Any = None, *, pairs: Any = None) -> Whitened:
        rank = np.linalg.matrix_rank(X - X.mean(axis=0))
        self.axes_ = PCA(rank, whiten=True, random_state=0).fit(X)
        return self

    def transform(self, X: np.ndarray) -> np.ndarray:
        return self.axes_.transform(X)


def methods(seed: int) -> dict[str, Any]:
    """Learners with their default settings."""
    return {
        "Euclidean": Euclidean(random_state=seed),
        "PCA whitening": Whitened(),
        "RCA": RCA(random_state=seed),
        "ITML": ITML(random_state=seed),
        "GMML": GMML(random_state=seed),
        "LMNN": LMNN(random_state=seed),
        "KernelBeta": KernelBeta(random_state=seed),
        "KernelA": KernelA(random_state=seed),
        "LLMA": LLMA(random_state=seed),
        "GeometryAware": GeometryAware(random_state=seed),
        "Generative": Generative(random_state=seed),
        "ITML, rbf": ITML(kernel="rbf", random_state=seed),
        OURS: MetricLearner(random_state=seed),
    }


def run(draws: int) -> None:
    """Measure everything; results are stored after each draw."""
    rows: list[dict[str, Any]] = []
    for seed in range(draws):
        rows += measure(seed)
        store(RAW, rows)


def add(seeds: range) -> None:
    """Add further draws to those that are stored."""
    for seed in seeds:
        new = measure(seed)
        store(RAW, stored(RAW)[1] + new)


def renew(seeds: range) -> None:
    """Measure MetricLearner alone again, draw by draw, beside what is stored of all others.

    ``python -c "from benchmarks.few_pairs import run; run.renew(range(10))"``, and then
    ``python -m benchmarks few_pairs --tables``. Draws that were not measured again are left out.
    """
    source, rows = stored(RAW)
    renewed: list[dict[str, Any]] = []
    for seed in seeds:
        of_draw = [row for row in rows if row["seed"] == seed]
        jobs = (delayed(one_renewed)(row) for row in of_draw)
        done = Parallel(n_jobs=-1, return_as="generator")(jobs)
        renewed += track(done, total=len(of_draw), description=f"draw {seed}")
        store(RENEWED, renewed)
    now, renewed = stored(RENEWED)
    write(RAW, {**source, OURS: now["commit"]}, renewed)
    RENEWED.unlink()


def one_renewed(row: dict[str, Any]) -> dict[str, Any]:
    """A stored row with MetricLearner measured again."""
    part = draw(row["data"], row["n_pairs"], row["wrong"], row["seed"])
    ours = list(methods(0)).index(OURS)
    new = {**row, **measured(OURS, methods(row["seed"])[OURS], part, row["seed"])}
    for name in (*MEASURES, "seconds"):
        new[name] = [*row[name][:ours], new[name], *row[name][ours + 1 :]]
    return new


def measure(seed: int) -> list[dict[str, Any]]:
    """One draw of every data set, number of pairs and share of wrong ones."""
    settings = [(d, n, wrong) for d in DATA for n in N_PAIRS for wrong in SHARES_WRONG]
    jobs = (delayed(one_cell)(*setting, seed) for setting in settings)
    done = Parallel(n_jobs=-1, return_as="generator")(jobs)
    return list(track(done, total=len(settings), description=f"draw {seed}"))


def one_cell(data: str, n_pairs: int, share_wrong: float, seed: int) -> dict[str, Any]:
    """All methods on one draw, in their order.

    Where one refuses to learn, the Euclidean distance stands for it.
    """
    part = draw(data, n_pairs, share_wrong, seed)
    row: dict[str, Any] = {"data": data, "n_pairs": n_pairs, "wrong": share_wrong, "seed": seed}
    for name, metric in methods(seed).items():
        for what, value in measured(name, metric, part, seed).items():
            if what in (*MEASURES, "seconds", "refused"):
                row.setdefault(what, []).append(value)
            else:
                row[what] = value
    return row


def measured(name: str, metric: Any, part: Draw, seed: int) -> dict[str, Any]:
    """One method on one draw."""
    start = perf_counter()
    refused: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            metric.fit(part.X, pairs=part.pairs)
        except ValueError:
            refused = {"refused": name}
            metric = Euclidean().fit(part.X, pairs=part.pairs)
    seconds = round(perf_counter() - start, 3)
    found = {**judged(metric, part, seed), "seconds": seconds, **refused}
    if name == OURS:
        found["euclidean_share"] = metric.report_.recipe.get("Euclidean", 0.0)
        found["suspects"] = found_mistakes(metric, part)
    return found


def judged(metric: Any, part: Draw, seed: int) -> dict[str, float]:
    """How good a metric is on rows that no pair names."""
    Z, Z_test = metric.transform(part.X), metric.transform(part.X_test)
    n_classes = len(np.unique(part.y_test))
    clusters = KMeans(n_classes, n_init=1, random_state=seed).fit_predict(Z_test)
    # Someone names the class of each group of rows that must-links tie together.
    points, group = part.pairs.points, part.pairs.components()
    named = np.array([Counter(part.y[points[group == g]]).most_common(1)[0][0] for g in group])
    neighbors = KNeighborsClassifier(min(5, len(points))).fit(Z[points], named)
    found = {
        "auc": pair_auc(Z_test, part.y_test),
        "ari": adjusted_rand_score(part.y_test, clusters),
        "rand": balanced_rand(part.y_test, clusters),
        "knn": neighbors.score(Z_test, part.y_test),
    }
    return {name: round(float(value), 4) for name, value in found.items()}


def found_mistakes(metric: MetricLearner, part: Draw) -> dict[str, int]:
    """How many pairs are listed as suspects, how many are wrong, and how many are both."""
    links = np.concatenate([part.pairs.must_link, part.pairs.cannot_link]).tolist()
    wrong = {tuple(link) for link, bad in zip(links, part.wrong, strict=True) if bad}
    listed = {suspect.pair for suspect in metric.suspects_}
    return {"listed": len(listed), "wrong": len(wrong), "both": len(listed & wrong)}


class Means:
    """Means over draws, for each method in each cell of data set and number of pairs."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self.rows = rows
        self.names = list(methods(0))
        self.draws = len({row["seed"] for row in rows})

    def table(self, measure_name: str, wrong: float) -> np.ndarray:
        """Of shape (data sets, numbers of pairs, methods)."""
        sums = np.zeros((len(DATA), len(N_PAIRS), len(self.names)))
        counts = np.zeros((len(DATA), len(N_PAIRS), 1))
        for row in self.rows:
            if row["wrong"] == wrong:
                place = DATA.index(row["data"]), N_PAIRS.index(row["n_pairs"])
                sums[place] += row[measure_name]
                counts[place] += 1
        return sums / counts


def score() -> None:
    """Tables and pictures from the stored results."""
    source, rows = stored(RAW)
    means = Means(rows)
    names = means.names
    euclidean, itml, ours = (names.index(name) for name in ("Euclidean", "ITML", OURS))
    clean, noisy = (means.table("auc", wrong) for wrong in SHARES_WRONG)
    tables: list[Block] = [_shown(clean, noisy, euclidean, itml, ours, means.draws)]
    for name, title in MEASURES.items():
        for wrong in SHARES_WRONG:
            tables.append(_by_pairs(means.table(name, wrong), names, f"{title}, {wrong:.0%} wrong"))
    tables += [_by_data(clean, names), _suspects(rows), _chosen(rows), _seconds(means)]
    heading = f"Few pairs: {len(DATA)} data sets, {means.draws} draws"
    if OURS in source:
        others = "All other methods were measured at the commit below"
        tables.append(Text(f"{others}, {OURS} again at {source[OURS][:12]}."))
    publish(FOLDER / "RESULTS.md", heading, tables, source)
    critical_difference(_ranks(clean).mean(axis=1), names, FOLDER / "ranks.png")
    gains_by_pairs(clean, noisy, names, N_PAIRS, FOLDER / "gains.png")


def _ranks(table: np.ndarray) -> np.ndarray:
    return rankdata(-table, axis=-1)


def _shown(
    clean: np.ndarray, noisy: np.ndarray, euclidean: int, itml: int, ours: int, draws: int
) -> Table:
    """What MetricLearner is to show."""
    gain = clean[..., ours] - clean[..., euclidean]
    noisy_gain = noisy[..., ours] - noisy[..., euclidean]
    ranks = _ranks(clean).mean(axis=(0, 1))
    order = np.argsort(ranks)
    wins = np.mean(clean[..., ours] > clean[..., itml])
    below = np.argwhere(gain < -0.005)
    cells = ", ".join(f"{DATA[d]} {N_PAIRS[n]} ({gain[d, n]:+.3f})" for d, n in below) or "none"
    body = [
        [
            "mean rank in pair AUC",
            f"{ranks[ours]:.2f}, place {np.flatnonzero(order == ours)[0] + 1}",
        ],
        ["next best mean rank", f"{ranks[order[order != ours][0]]:.2f}"],
        ["mean gain over Euclidean", f"{gain.mean():+.4f}"],
        ["below Euclidean by more than 0.005", cells],
        ["above ITML", f"{wins:.0%} of {gain.size} cells"],
        ["mean gain with 20 % wrong", f"{noisy_gain.mean():+.4f}"],
        ["share of the gain kept", f"{noisy_gain.mean() / gain.mean():.0%}"],
        ["the same, by pairs", " ".join(f"{a:.0%}" for a in noisy_gain.mean(0) / gain.mean(0))],
    ]
    return Table(f"MetricLearner, means of {draws} draws", ["", "found"], body)


def _by_pairs(table: np.ndarray, names: list[str], title: str) -> Table:
    ranks = _ranks(table).mean(axis=(0, 1))
    body = []
    for i in np.argsort(ranks):
        values = [f"{value:.3f}" for value in table[..., i].mean(axis=0)]
        body.append([names[i], f"{ranks[i]:.2f}", *values])
    return Table(title, ["", "mean rank", *(f"{n} pairs" for n in N_PAIRS)], body)


def _by_data(table: np.ndarray, names: list[str]) -> Table:
    body = []
    for d, data in enumerate(DATA):
        values = table[d].mean(axis=0)
        body.append([data, *(f"{value:.3f}" for value in values)])
    return Table("Pair AUC by data set, 0% wrong, mean over numbers of pairs", ["", *names], body)


def _suspects(rows: list[dict[str, Any]]) -> Table:
    body = []
    for n_pairs in N_PAIRS:
        recall, precision, listed_clean = [], [], []
        for data in DATA:
            of = [r["suspects"] for r in rows if (r["data"], r["n_pairs"]) == (data, n_pairs)]
            noisy = [s for s in of if s["wrong"]]
            recall.append(sum(s["both"] for s in noisy) / sum(s["wrong"] for s in noisy))
            listed = sum(s["listed"] for s in noisy)
            precision.append(sum(s["both"] for s in noisy) / listed if listed else np.nan)
            listed_clean.append(np.mean([s["listed"] for s in of if not s["wrong"]]))
        shown = [f"{np.mean(recall):.0%}", f"{np.nanmean(precision):.0%}"]
        body.append([str(n_pairs), *shown, f"{np.mean(listed_clean) / n_pairs:.0%}"])
    columns = ["pairs", "wrong ones found", "of those listed, wrong", "listed where none is wrong"]
    return Table("suspects_, 20 % wrong, means over data sets", columns, body)


def _chosen(rows: list[dict[str, Any]]) -> Table:
    body = []
    for n_pairs in N_PAIRS:
        shares = [r["euclidean_share"] for r in rows if (r["n_pairs"], r["wrong"]) == (n_pairs, 0)]
        alone = np.mean([share == 1 for share in shares])
        mixed = np.mean([0 < share < 1 for share in shares])
        body.append([str(n_pairs), f"{alone:.0%}", f"{mixed:.0%}", f"{1 - alone - mixed:.0%}"])
    columns = ["pairs", "Euclidean", "blended with it", "without it"]
    return Table("What MetricLearner chose, 0% wrong", columns, body)


def _seconds(means: Means) -> Table:
    table = means.table("seconds", 0.0)
    body = [
        [name, *(f"{value:.2f}" for value in np.median(table[..., i], axis=0))]
        for i, name in enumerate(means.names)
    ]
    title = "Seconds of a fit on one core, medians over data sets"
    return Table(title, ["", *(f"{n} pairs" for n in N_PAIRS)], body)
