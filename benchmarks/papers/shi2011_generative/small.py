"""Tables 1, 4, 5 and 7: one metric for all rows, on eight small sets."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.papers.lu2009_geometry_aware.splits import mean_and_error, select
from benchmarks.papers.shi2011_generative import methods
from benchmarks.papers.shi2011_generative.published import SMALL as DATA
from benchmarks.papers.shi2011_generative.published import TABLE_4, TABLE_5, TABLE_7
from benchmarks.papers.shi2011_generative.splits import Rows, jobs_of, random_split
from benchmarks.record import Table
from benchmarks.resume import Job

SPLITS = 30
WORKERS = 2


def jobs(name: str, n_splits: int) -> list[Job]:
    return jobs_of(name, n_splits, one_split)


def one_split(name: str, X: Rows, y: Rows, seed: int) -> list[dict[str, Any]]:
    part = random_split(X, y, seed)
    found = [
        *methods.euclidean(part),
        *methods.large_margin(part),
        *methods.local(part),
        *methods.uniform(part),
        *methods.by_density(part),
    ]
    return [{"data": name, "seed": seed, **result} for result in found]


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    names = [name for name in DATA if select(rows, "error", data=name)]
    if not names:
        return []
    places = [DATA.index(name) for name in names]
    errors = {m: [select(rows, "error", data=name, method=m) for name in names] for m in TABLE_4}
    means = {method: [float(np.mean(cell)) for cell in cells] for method, cells in errors.items()}
    n_splits = min(len(cell) for cell in errors["Euclidean"])
    body, gaps = [], []
    for method, cells in errors.items():
        paper = [TABLE_4[method][place] for place in places]
        both = zip(cells, paper, strict=True)
        body.append(
            [method, *(f"{mean_and_error(cell, 2)} ({figure:.2f})" for cell, figure in both)]
        )
        gaps.append([method, *(f"{a - b:+.2f}" for a, b in zip(means[method], paper, strict=True))])
    ranks = np.array([rankdata(column) for column in np.array(list(means.values())).T]).T
    rank_body = [
        [method, *(f"{rank:g}" for rank in line), f"{line.mean():.2f}", f"{TABLE_5[method]:g}"]
        for method, line in zip(TABLE_4, ranks, strict=True)
    ]
    return [
        Table(
            f"Tables 1 and 4. Error in % of {n_splits} splits, mean ± standard error (the paper's)",
            ["", *names],
            body,
        ),
        Table("Points above the paper's errors", ["", *names], gaps),
        Table("Table 5. Ranks", ["", *names, "mean", "paper's mean"], rank_body),
        time_table(rows, names, places),
    ]


def time_table(rows: list[dict[str, Any]], names: list[str], places: list[int]) -> Table:
    seconds = {
        method: [float(np.median(select(rows, "seconds", data=n, method=method))) for n in names]
        for method in TABLE_7
    }
    ratios = [a / b for a, b in zip(*seconds.values(), strict=True)]
    published = [a / b for a, b in zip(*TABLE_7.values(), strict=True)]
    body = [[method, *(f"{value:.3f}" for value in line)] for method, line in seconds.items()]
    body.append(["ratio", *(f"{ratio:.0f}" for ratio in ratios)])
    body.append(["paper's ratio", *(f"{published[place]:.0f}" for place in places)])
    return Table("Table 7. Seconds of one training, medians", ["", *names], body)
