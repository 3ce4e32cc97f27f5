"""Groups from pairs: the number found, against rivals that are told it.

Each draw takes up to 1000 rows. Pairs, half must-links and half cannot-links, are of 60 % of them;
all rows are grouped, and groups are judged on the rows that no pair names. Settings were chosen on
other data sets (``few_pairs.data.TUNED_ON``).
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score

from benchmarks.clusters import ablation, growth, questions
from benchmarks.clusters.protocol import Rows, rows
from benchmarks.clusters.rivals import labels_of, rivals
from benchmarks.clusters.shapes import N_PAIRS, SHAPES
from benchmarks.clusters.tables import pictures, tables
from benchmarks.few_pairs.data import REPORTED
from benchmarks.record import Page, Text, publish_page, stored
from benchmarks.resume import Job, complete
from nearkin import Clusters, MetricLearner, Pairs

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
OURS = "Clusters"
IN_OUR_METRIC = "k-means, true k, our metric"
NUMBERS = (20, 50, 200)
QUESTION_DRAWS = 2
Row = dict[str, Any]
_BEFORE = (
    "Results of Clusters up to the ablation were stored when it had five families in place of two; "
    "they were not measured again."
)
_ABLATION = (ablation.__doc__ or "").partition("    python")[0].strip()


def jobs(draws: int) -> Iterator[Job]:
    """Draw by draw, all methods on the same one; then shapes, growth and questions."""
    names = (OURS, IN_OUR_METRIC, *rivals())
    for seed in range(draws):
        for data in REPORTED:
            for n_pairs in NUMBERS:
                cell = {"data": data, "n_pairs": n_pairs, "seed": seed}
                for name in names:
                    given = name, data, n_pairs, seed
                    yield Job({"part": "pairs", **cell, "method": name}, measure, given)
        for shape in SHAPES:
            names_of = {"part": "shapes", "data": shape, "seed": seed}
            yield Job(names_of, measure_shape, (shape, seed))
    yield from questions.jobs(min(draws, QUESTION_DRAWS))


def run(draws: int) -> None:
    """Measure what is not stored yet; growth by itself, since that is about time."""
    complete(RAW, jobs(draws), "clusters", processes=2)
    sizes = [Job({"part": "growth", "n": n}, growth.measure, (n, 0)) for n in growth.SIZES]
    complete(RAW, sizes, "growth")


@lru_cache(maxsize=1)
def _part(data: str, n_pairs: int, seed: int) -> Rows:
    return rows(data, n_pairs, seed)


def measure(name: str, data: str, n_pairs: int, seed: int) -> list[Row]:
    """One method on one draw. Where it refuses, all rows are one group."""
    part = _part(data, n_pairs, seed)
    found: Row = {"k_true": part.k_true}
    start = perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == OURS:
            clusters = Clusters(random_state=seed).fit(part.X, pairs=part.pairs)
            labels = clusters.labels_
            found |= {"family": clusters.report_.family, "interval": clusters.report_.interval}
        elif name == IN_OUR_METRIC:
            metric = MetricLearner(random_state=seed).fit(part.X, pairs=part.pairs)
            k_means = KMeans(part.k_true, n_init=10, random_state=seed)
            labels = k_means.fit_predict(metric.transform(part.X))
        else:
            try:
                labels = labels_of(name, part, seed)
            except ValueError:
                labels = np.zeros(len(part.y), dtype=int)
                found["refused"] = True
    found |= {"ari": round(part.score(labels), 4), "k": len(np.unique(labels))}
    return [{**found, "seconds": round(perf_counter() - start, 2)}]


def measure_shape(shape: str, seed: int) -> list[Row]:
    """Ours on a shape in the plane, with few pairs, judged on all rows."""
    X, y = SHAPES[shape](seed)
    pairs = Pairs.from_labels(y, N_PAIRS, random_state=seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = Clusters(random_state=seed).fit(X, pairs=pairs)
    ari = float(adjusted_rand_score(y, found.labels_))
    return [{"ari": round(ari, 4), "k": found.n_clusters_, "k_true": len(np.unique(y))}]


def page() -> Page:
    """Tables from the stored results."""
    source, found = stored(RAW)
    blocks = [Text(__doc__.partition("\n\n")[2]), Text(_BEFORE), *tables(found)]
    return Page("Clusters from pairs", [*blocks, Text(_ABLATION), *ablation.tables()], source)


def score() -> None:
    """Tables and pictures from the stored results."""
    publish_page(FOLDER / "RESULTS.md", page())
    pictures(stored(RAW)[1], FOLDER)
