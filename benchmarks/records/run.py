"""Duplicates among person records, by a few pairs of look-alikes: MetricLearner beside Euclidean.

Pairs are drawn among near rows, half of one person and half of two, as somebody would be asked
about them. What is judged are the pairs that the groups of ``NeighborIndex.duplicates`` imply,
among all pairs of rows.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.record import Table, publish, store, stored
from benchmarks.records.data import DATA, look_alikes, records
from nearkin import Euclidean, MetricLearner, NeighborIndex

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
N_PAIRS = (20, 100, 200)
MOST_DRAWS = 5
METHODS = {"Euclidean": Euclidean, "MetricLearner": MetricLearner}


def run(draws: int) -> None:
    """Measure everything; results are stored after each cell."""
    settings = [
        (data, n_pairs, seed)
        for seed in range(min(draws, MOST_DRAWS))
        for data in DATA
        for n_pairs in N_PAIRS
    ]
    rows: list[dict[str, Any]] = []
    for setting in track(settings, description="records"):
        rows += one_cell(*setting)
        store(RAW, rows)


def one_cell(data: str, n_pairs: int, seed: int) -> list[dict[str, Any]]:
    """All methods on one draw of pairs."""
    X, entity = records(data)
    pairs = look_alikes(data, n_pairs, seed)
    rows = []
    for name, method in METHODS.items():
        start = perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            metric = method(random_state=seed).fit(X, pairs=pairs)
            fitted = perf_counter()
            labels = NeighborIndex(metric).add(X).group_labels()
        rows.append(
            {
                "data": data,
                "n_pairs": n_pairs,
                "seed": seed,
                "method": name,
                **quality(labels, entity),
                "largest": int(np.bincount(labels).max()),
                "warnings": [str(warning.message) for warning in caught],
                "fit_seconds": round(fitted - start, 2),
                "seconds": round(perf_counter() - fitted, 2),
            }
        )
    return rows


def quality(labels: np.ndarray, entity: np.ndarray) -> dict[str, float]:
    """Precision, recall and F1 of the pairs that groups imply."""
    found, true = n_within(labels), n_within(entity)
    both = n_within(np.unique(np.column_stack([labels, entity]), axis=0, return_inverse=True)[1])
    found_values = {
        "precision": both / max(found, 1),
        "recall": both / true,
        "f1": 2 * both / (found + true),
    }
    return {name: round(float(value), 4) for name, value in found_values.items()}


def n_within(labels: np.ndarray) -> int:
    """Pairs of rows with the same label."""
    sizes = np.bincount(labels.ravel())
    return int((sizes * (sizes - 1) // 2).sum())


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    draws = len({row["seed"] for row in rows})
    body, worst = [], []
    for data in DATA:
        for n_pairs in N_PAIRS:
            cell = [row for row in rows if (row["data"], row["n_pairs"]) == (data, n_pairs)]
            if cell:
                body.append([data, str(n_pairs), *_shown(cell)])
                worst += _gaps(cell)
    columns = ["records", "pairs"]
    for name in METHODS:
        columns += [f"{name}: F1", "least", "precision", "recall", "largest group"]
    tables = [
        Table(f"F1 of the pairs found, means of {draws} draws", columns, body, n_words=2),
        Table(
            "MetricLearner less Euclidean",
            ["", "F1"],
            [
                ["mean", f"{np.mean(worst):+.4f}"],
                ["worst draw", f"{min(worst):+.4f}"],
            ],
        ),
    ]
    heading = "Duplicates among person records, by few pairs of look-alikes"
    publish(FOLDER / "RESULTS.md", heading, tables, source)


def _shown(cell: list[dict[str, Any]]) -> list[str]:
    shown = []
    for name in METHODS:
        of = [row for row in cell if row["method"] == name]
        f1 = [row["f1"] for row in of]
        shown += [f"{np.mean(f1):.3f}", f"{min(f1):.3f}"]
        shown += [f"{np.mean([row[part] for row in of]):.3f}" for part in ("precision", "recall")]
        shown.append(str(max(row["largest"] for row in of)))
    return shown


def _gaps(cell: list[dict[str, Any]]) -> list[float]:
    """F1 of MetricLearner less that of Euclidean, for each draw."""
    f1 = {(row["method"], row["seed"]): row["f1"] for row in cell}
    ours, plain = "MetricLearner", "Euclidean"
    return [f1[ours, seed] - f1[plain, seed] for method, seed in f1 if method == ours]
