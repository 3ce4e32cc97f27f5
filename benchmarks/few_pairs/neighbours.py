"""Precision among the ten nearest of new rows, beside pair AUC.

Each draw takes up to 2000 rows. Pairs, half must-links and half cannot-links, are of 60 % of them;
neighbours are sought among up to 800 of the others, which no pair names. Or pairs are of half of
the classes, and neighbours are sought among up to 800 rows of the other half. "News by wordllama"
are the texts of both news sets, as a small language model embeds them, in four groups.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.model_selection import train_test_split

from benchmarks.data import load_texts
from benchmarks.few_pairs.data import REPORTED, TUNED_ON, load_rows
from benchmarks.few_pairs.protocols import CLEAN, PROTOCOLS
from benchmarks.record import ROOT, Page, Table, Text, publish_page, stored
from benchmarks.resume import Job, Row, complete
from nearkin import Euclidean, MetricLearner, Pairs
from nearkin.scores import nearest_rows, neighbor_precision, pair_auc
from nearkin.scores.verdicts import estimate_prevalence, read_verdicts

FOLDER = Path(__file__).parent
RAW = FOLDER / "neighbours.jsonl"
EMBEDDED = ROOT / "benchmarks" / "scratch" / "news_by_wordllama.npz"
NEWS = "news by wordllama"
TWO_CLASSES = ("news_baseball_hockey_counts", "news_pc_mac_counts")
DATA = ("digits", "coil20", "mnist", "usps", "isolet", *TWO_CLASSES, NEWS)
N_PAIRS, DRAWS = (30, 100), 3
MOST_ROWS, MOST_NEW, TEST_SHARE = 2000, 800, 0.4
PLAIN, GROUPS, SEARCH = "plain distance", 'goal="groups"', 'goal="search"'
SEEN, UNSEEN = "seen", "unseen"
ALL_AXES, AS_THEY_ARE = "n_components=None", "n_components=None, scale=False"
# What precision is allowed to fall by.
ALLOWED = 0.005
# Estimates of that precision from pairs: so many pairs, of one draw; random pairs of new rows.
ESTIMATED_WITH, N_RANDOM = (20, 50, 200), 2000
LEAST_NEW = 60
ESTIMATES = {
    "estimated": "estimated share",
    "half": "share taken for ½",
    "true": "true share",
    "plain": "plain distance's precision",
}


def methods(seed: int) -> dict[str, Any]:
    return {
        PLAIN: Euclidean(random_state=seed),
        GROUPS: MetricLearner(goal="groups", random_state=seed),
        SEARCH: MetricLearner(goal="search", random_state=seed),
    }


def variants(seed: int) -> dict[str, Any]:
    """What might keep more neighbours of unseen classes: all columns, and these as they are."""
    search: dict[str, Any] = {"goal": "search", "n_components": None, "random_state": seed}
    return {ALL_AXES: MetricLearner(**search), AS_THEY_ARE: MetricLearner(scale=False, **search)}


def run(draws: int) -> None:
    """Measure what is not stored yet, two draws at a time."""
    complete(RAW, jobs(min(draws, DRAWS)), "neighbours", processes=2)


def jobs(draws: int) -> Iterator[Job]:
    """Neighbours of every set that can be had, then estimates of their precision."""
    names = [name for name in DATA if name != NEWS or EMBEDDED.exists() or find_spec("wordllama")]
    for seed in range(draws):
        for classes, data, n_pairs in product((SEEN, UNSEEN), names, N_PAIRS):
            if classes == SEEN or data not in TWO_CLASSES:
                given = {"classes": classes, "data": data, "n_pairs": n_pairs, "seed": seed}
                yield Job(given, measure, (methods(seed), *given.values()))
    for seed, data, n_pairs in product(range(draws), names, N_PAIRS):
        if data not in TWO_CLASSES:
            given = {"variants_on": data, "n_pairs": n_pairs, "seed": seed}
            yield Job(given, measure, (variants(seed), UNSEEN, *given.values()))
    for data, n_pairs in product((*TUNED_ON, *REPORTED), ESTIMATED_WITH):
        yield Job({"estimated_on": data, "n_pairs": n_pairs}, estimate, (data, n_pairs))


def measure(metrics: dict[str, Any], classes: str, data: str, n_pairs: int, seed: int) -> list[Row]:
    """Every method on one draw."""
    X, y = news_by_wordllama() if data == NEWS else load_rows(data)
    rng = np.random.RandomState(seed)
    some = rng.permutation(len(y))[:MOST_ROWS]
    if classes == UNSEEN:
        order = rng.permutation(np.unique(y))
        told_of = np.isin(y[some], order[: len(order) // 2])
        train, test = some[told_of], some[~told_of]
    else:
        train, test = train_test_split(some, test_size=TEST_SHARE, random_state=seed)
    test = test[:MOST_NEW]
    pairs = Pairs.from_labels(y[train], n_pairs, random_state=seed)
    found = []
    for name, metric in metrics.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            Z = metric.fit(X[train], pairs=pairs).transform(X[test])
        precision, auc = neighbor_precision(Z, y[test]), pair_auc(Z, y[test])
        found.append({"method": name, "precision": round(precision, 4), "auc": round(auc, 4)})
    return found


@cache
def news_by_wordllama() -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors of the texts of both news sets, and which of four groups each is of."""
    if not EMBEDDED.exists():
        import wordllama

        texts, groups = [], []
        for number, name in enumerate(("news_baseball_hockey", "news_pc_mac")):
            found, labels = load_texts(name)
            # Headers would give the group away, and long texts are mostly quotations.
            bodies = [text.split("\n\n", 1)[-1].strip()[:2000] for text in found]
            texts += [body for body in bodies if body]
            groups += [
                2 * number + label for label, body in zip(labels, bodies, strict=True) if body
            ]
        # With its own folder as the cache it finds all its files, and downloads none.
        cached = {"cache_dir": Path(wordllama.__file__).parent, "disable_download": True}
        X = wordllama.WordLlama.load(**cached).embed(texts, norm=True)
        EMBEDDED.parent.mkdir(exist_ok=True)
        np.savez(EMBEDDED, X=X.astype(np.float32), y=np.array(groups))
    with np.load(EMBEDDED) as arrays:
        return arrays["X"].astype(np.float64), arrays["y"]


def estimate(data: str, n_pairs: int) -> list[Row]:
    """Precision among the ten nearest, and the mean chance of these to be the same.

    Chances are of verdicts, which held-out pairs make, at the share of pairs of new rows that are
    the same: estimated from their distances, taken for ½, or the true one.
    """
    part = PROTOCOLS[CLEAN].draw(data, n_pairs, 0)
    if len(part.y_test) < LEAST_NEW:
        return [{"skipped": True}]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metric = MetricLearner(random_state=0).fit(part.X, pairs=part.pairs)
    Z, y = metric.transform(part.X_test), part.y_test
    D = euclidean_distances(Z)
    verdicts = read_verdicts(metric)
    both = np.triu_indices(len(y), 1)
    same = (y[:, None] == y)[both].mean()
    some = np.random.RandomState(0).choice(D[both], N_RANDOM)
    shares = {"estimated": estimate_prevalence(verdicts, some), "half": 0.5, "true": float(same)}
    near = np.take_along_axis(D, nearest_rows(Z, 10), axis=1)
    found = {name: float(verdicts.chance(near, share).mean()) for name, share in shares.items()}
    found |= {"truth": neighbor_precision(Z, y), "plain": neighbor_precision(part.X_test, y)}
    return [{name: round(value, 4) for name, value in found.items()}]


def page() -> Page:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    measured = [row for row in rows if "classes" in row]
    estimates = [row for row in rows if "estimated_on" in row and "skipped" not in row]
    tables = [table_of_neighbours(measured, classes) for classes in (SEEN, UNSEEN)]
    blocks = [
        Text(__doc__.partition("\n\n")[2]),
        *tables,
        *blocks_of_variants(rows),
        *blocks_of_estimates(estimates),
    ]
    return Page("Neighbours", blocks, source)


def table_of_neighbours(rows: list[Row], classes: str) -> Table:
    """Precision and pair AUC of every method by set and number of pairs, means over draws."""
    names = list(methods(0))
    body, gains = [], []
    for data, n_pairs in product(DATA, N_PAIRS):
        cell = {"classes": classes, "data": data, "n_pairs": n_pairs}
        found = {
            name: [row for row in rows if {**cell, "method": name}.items() <= row.items()]
            for name in names
        }
        if not found[PLAIN]:
            continue
        means = {
            (measure, name): np.mean([row[measure] for row in found[name]])
            for measure, name in product(("precision", "auc"), names)
        }
        gains.append([means["precision", name] - means["precision", PLAIN] for name in names])
        body.append([data, str(n_pairs), *(f"{value:.3f}" for value in means.values())])
    worst = [f"{value:+.3f}" for value in np.min(gains, axis=0)[1:]]
    below = [str(number) for number in (np.array(gains) < -ALLOWED).sum(axis=0)[1:]]
    body.append(["worst against the plain distance", "", "", *worst, "", "", ""])
    body.append([f"cells lower by more than {ALLOWED}", "", "", *below, "", "", ""])
    columns = ["", "pairs", *(f"precision, {name}" for name in names)]
    columns += [f"pair AUC, {name}" for name in names]
    draws = 1 + max(row["seed"] for row in rows)
    title = f"Rows of {classes} classes: precision among the ten nearest, mean of {draws} draws"
    return Table(title, columns, body)


def blocks_of_variants(rows: list[Row]) -> list[Text | Table]:
    """What goal="search" loses of unseen classes, and what each of two steps has to do with it."""
    precision: dict[tuple[Any, ...], list[float]] = {}
    for row in rows:
        if row.get("classes") == UNSEEN or "variants_on" in row:
            data = row.get("data") or row["variants_on"]
            precision.setdefault((data, row["n_pairs"], row["method"]), []).append(row["precision"])
    names = [PLAIN, SEARCH, *variants(0)]
    cells = [key for key in product(DATA, N_PAIRS) if (*key, AS_THEY_ARE) in precision]
    found = np.array([[np.mean(precision[*cell, name]) for name in names] for cell in cells])
    body = [
        [data, str(n_pairs), *(f"{value:.3f}" for value in line)]
        for (data, n_pairs), line in zip(cells, found, strict=True)
    ]
    gains = found - found[:, :1]
    worst, below = gains.min(axis=0)[1:], (gains < -ALLOWED).sum(axis=0)[1:]
    body.append(["worst against the plain distance", "", "", *(f"{v:+.3f}" for v in worst)])
    body.append([f"cells lower by more than {ALLOWED}", "", "", *map(str, below)])
    why = (
        "Two steps before and after learning may take neighbours of unseen classes away: points "
        'are cut to principal axes, of which goal="search" keeps as many as hold 0.9999 of the '
        "variance; and columns are divided by their spreads where these look like units, as pixels "
        "at the edge of pictures do. The table has the same without the first, and without both."
    )
    title = 'Rows of unseen classes: precision of goal="search", without two steps'
    return [Text(why), Table(title, ["", "pairs", *names], body)]


def blocks_of_estimates(rows: list[Row]) -> list[Text | Table]:
    """How wrong estimates of precision from pairs are, and why there are none in reports."""
    body = []
    for sets, half in ((TUNED_ON, "tuned on"), (REPORTED, "reported")):
        for name, words in ESTIMATES.items():
            error = np.array(
                [row[name] - row["truth"] for row in rows if row["estimated_on"] in sets]
            )
            within = f"{np.mean(np.abs(error) < 0.1):.0%}"
            rms = np.sqrt(np.mean(error**2))
            body.append(
                [words, half, str(len(error)), f"{error.mean():+.3f}", f"{rms:.3f}", within]
            )
    columns = ["", "sets", "draws", "mean error", "root mean square", "within 0.1"]
    title = "Errors of estimates of the precision among the ten nearest"
    why = (
        "Reports give no estimate of this precision but where labels are known. It could only be "
        "the mean chance to be the same of the ten nearest pairs, by verdicts that held-out pairs "
        "make. The table has how wrong that is, beside what is no estimate at all: the precision "
        f"of the plain distance. One draw of each set with {LEAST_NEW} new rows or more, and "
        f"{', '.join(map(str, ESTIMATED_WITH[:-1]))} or {ESTIMATED_WITH[-1]} pairs."
    )
    return [Text(why), Table(title, columns, body, n_words=2)]


def score() -> None:
    """The page from the stored results."""
    publish_page(FOLDER / "NEIGHBOURS.md", page())
