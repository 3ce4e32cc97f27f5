"""Tables 1, 4, 5 and 7 by the library's defaults: eight small sets."""

from __future__ import annotations

from typing import Any

from benchmarks.papers.shi2011_generative import methods, published
from benchmarks.papers.shi2011_generative.splits import Rows, jobs_of, random_split
from benchmarks.resume import Job

DATA = published.SMALL
SPLITS = 30
WORKERS = 2


def jobs(name: str, n_splits: int) -> list[Job]:
    return jobs_of(name, n_splits, one_split)


def one_split(X: Rows, y: Rows, seed: int) -> list[dict[str, Any]]:
    part = random_split(X, y, seed)
    return [
        *methods.euclidean(part),
        *methods.large_margin(part),
        *methods.local(part),
        *methods.uniform(part),
        *methods.by_density(part),
    ]
