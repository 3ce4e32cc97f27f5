"""Tables 1 and 4 with covariances as the paper has them: as they are, not regularised."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.papers.lu2009_geometry_aware.splits import select, standard_error
from benchmarks.papers.overview import Figure, verdict
from benchmarks.papers.shi2011_generative import methods
from benchmarks.papers.shi2011_generative.published import SMALL as DATA
from benchmarks.papers.shi2011_generative.published import TABLE_4, TABLE_4_ERRORS
from benchmarks.papers.shi2011_generative.splits import Rows, jobs_of, random_split
from benchmarks.record import Table
from benchmarks.resume import Job

SPLITS = 30
WORKERS = 2
METHODS = ("GLM^INT", "M^UNI", "M^GMM", "M^KDE", "M^UNI, energy")


def jobs(name: str, n_splits: int) -> list[Job]:
    return jobs_of(name, n_splits, one_split)


def one_split(name: str, X: Rows, y: Rows, seed: int) -> list[dict[str, Any]]:
    part = random_split(X, y, seed)
    found = [
        *methods.local(part, regularization=0.0),
        *methods.uniform(part, regularization=0.0),
        *methods.by_density(part, regularization=0.0),
    ]
    return [{"data": name, "seed": seed, **result} for result in found]


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    names = [name for name in DATA if select(rows, "error", data=name)]
    if not names:
        return []
    body = []
    for method in METHODS:
        cells = []
        for name in names:
            errors = select(rows, "error", data=name, method=method)
            place = DATA.index(name)
            published = Figure(TABLE_4[method][place], TABLE_4_ERRORS[method][place])
            ours = Figure(float(np.mean(errors)), standard_error(errors))
            said = verdict(ours, published, larger_is_better=False, rounding=0.005)
            cells.append(f"{ours.text()} ({published.text()}) {said}")
        body.append([method, *cells])
    n_splits = min(len(select(rows, "error", data=n, method="M^UNI")) for n in names)
    title = (
        f"Tables 1 and 4, plain covariances as published. Error in % of {n_splits} splits, mean ± "
        "standard error (the paper's), and the verdict; three_normal, image_segmentation and "
        "german are other data than the paper's"
    )
    return [Table(title, ["", *names], body)]
