"""How faithful a distilled metric is, and how fast beside the whole and beside KernelBeta.

MetricLearner and ``KernelBeta(n_landmarks=300)`` learn from 100 pairs, half must-links, of 60 % of
up to 4000 rows; ``metric.distilled`` imitates the former. All are judged on the other rows.
"Fidelity" is what the distilled metric says of itself: the rank correlation of its distances with
the metric's, between rows held out of those it was fitted to. "On new rows" is the same on the rows
that all are judged on. Below 0.98 it warns, and below 0.9 it refuses unless told otherwise, as it
is here. "Ring" is made here: two classes on circles, one in the other, in six columns of noise.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from functools import cache
from itertools import product
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
from scipy.stats import spearmanr

from benchmarks.few_pairs.data import load_rows
from benchmarks.record import Page, Table, Text, publish_page, stored
from benchmarks.resume import Job, Row, complete
from nearkin import KernelBeta, MetricLearner, Pairs
from nearkin.rows.distances import linked_distances
from nearkin.scores import pair_auc

FOLDER = Path(__file__).parent
RAW = FOLDER / "distilled.jsonl"
RING = "ring"
DATA = (
    RING,
    "digits",
    "usps",
    "isolet",
    "letters",
    "magic",
    "image_segmentation",
    "vehicle",
)
LANDMARKS = (300, 1000)
DRAWS, N_PAIRS = 3, 100
MOST_ROWS, LEARNED_FROM, N_LINKS = 4000, 0.6, 5000
# Rows that are mapped to see how fast, and how often in turn; the best turn counts.
N_MAPPED, TURNS = 20_000, 5


def jobs(draws: int) -> Iterator[Job]:
    for seed, data in product(range(draws), DATA):
        yield Job({"data": data, "seed": seed}, measure, (data, seed))


def run(draws: int) -> None:
    """Measure what is not stored yet."""
    complete(RAW, jobs(min(draws, DRAWS)), "distilled metrics")


@cache
def make_ring(n: int = MOST_ROWS) -> tuple[np.ndarray, np.ndarray]:
    """Two classes on circles, one in the other, in six columns of noise."""
    rng = np.random.RandomState(0)
    y = rng.randint(2, size=n)
    radius = 1.0 + y + 0.1 * rng.normal(size=n)
    angle = rng.uniform(0, 2 * np.pi, n)
    circles = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    return np.hstack([circles, 0.5 * rng.normal(size=(n, 6))]), y


def measure(data: str, seed: int) -> list[Row]:
    """The whole, KernelBeta, and distilled metrics by their number of landmarks."""
    X, y = make_ring() if data == RING else load_rows(data)
    rng = np.random.RandomState(seed)
    some = rng.permutation(len(y))[:MOST_ROWS]
    train, test = np.split(some, [int(LEARNED_FROM * len(some))])
    pairs = Pairs.from_labels(y[train], N_PAIRS, random_state=seed)
    given: dict[str, Any] = {"random_state": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = MetricLearner(**given).fit(X[train], pairs=pairs)
        beside = KernelBeta(n_landmarks=300, **given).fit(X[train], pairs=pairs)
        distilled = {m: whole.distilled(X[train], m, min_fidelity=0.0, **given) for m in LANDMARKS}
    links = rng.randint(len(test), size=(N_LINKS, 2))
    links = links[links[:, 0] != links[:, 1]]
    expected = linked_distances(whole.transform(X[test]), links)
    mapped = np.resize(X[test], (N_MAPPED, X.shape[1]))
    times = processor_seconds([whole, beside, *distilled.values()], mapped)
    found = {
        "auc": pair_auc(whole.transform(X[test]), y[test]),
        "kernel_beta_auc": pair_auc(beside.transform(X[test]), y[test]),
        "beside_kernel_beta": times[1] / times[0],
        "of": [
            {
                "landmarks": m,
                "fidelity": metric.fidelity_,
                "on_new_rows": float(
                    spearmanr(linked_distances(metric.transform(X[test]), links), expected)[0]
                ),
                "auc": pair_auc(metric.transform(X[test]), y[test]),
                "beside_whole": times[0] / seconds,
                "beside_kernel_beta": times[1] / seconds,
            }
            for (m, metric), seconds in zip(distilled.items(), times[2:], strict=True)
        ],
    }
    return [found]


def processor_seconds(metrics: list[Any], X: np.ndarray) -> list[float]:
    """Least processor time of mapping rows, all in turn."""
    best = [np.inf] * len(metrics)
    for _ in range(TURNS):
        for number, metric in enumerate(metrics):
            start = process_time()
            metric.transform(X)
            best[number] = min(best[number], process_time() - start)
    return best


def page() -> Page:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    n_draws = 1 + max(row["seed"] for row in rows)
    drawn = (
        f"Means of {n_draws} draws, and medians of ratios; the last line has their geometric mean. "
        f"Rows a second are of processor time, by {N_MAPPED:,} rows of 64-bit numbers and the best "
        f"of {TURNS} turns of each in one process. The cores were busy with other work, so that "
        "only ratios are shown."
    )
    tables = [table_of(rows, number) for number in range(len(LANDMARKS))]
    return Page(
        "Distilled metrics", [Text(__doc__.partition("\n\n")[2]), Text(drawn), *tables], source
    )


def table_of(rows: list[Row], number: int) -> Table:
    """Every set, and the mean, for one number of landmarks."""
    judged, ratios, names = [], [], [*DATA, "mean"]
    for data in DATA:
        drawn = [row for row in rows if row["data"] == data]
        of = [row["of"][number] for row in drawn]
        fidelity = [one["fidelity"] for one in of]
        figures = [[one["on_new_rows"] for one in of], [row["auc"] for row in drawn]]
        figures += [[one["auc"] for one in of], [row["kernel_beta_auc"] for row in drawn]]
        judged.append([np.mean(fidelity), min(fidelity), *np.mean(figures, axis=1)])
        figures = [[one[name] for one in of] for name in ("beside_whole", "beside_kernel_beta")]
        figures.append([row["beside_kernel_beta"] for row in drawn])
        ratios.append(np.median(figures, axis=1))
    judged.append(np.mean(judged, axis=0))
    ratios.append(np.exp(np.mean(np.log(ratios), axis=0)))
    body = [
        [name, *(f"{value:.3f}" for value in one), *(f"{value:.2f}" for value in ratio)]
        for name, one, ratio in zip(names, judged, ratios, strict=True)
    ]
    columns = ["", "fidelity", "least", "on new rows", "pair AUC, whole", "distilled", "KernelBeta"]
    columns += ["rows a second: distilled / whole", "distilled / KernelBeta", "whole / KernelBeta"]
    return Table(f"{LANDMARKS[number]} landmarks", columns, body)


def score() -> None:
    """The page from the stored results."""
    publish_page(FOLDER / "DISTILLED.md", page())
