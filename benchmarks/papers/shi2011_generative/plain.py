"""Tables 1 and 4 as published, and with other covariances where these cannot be inverted."""

from __future__ import annotations

from typing import Any

from benchmarks.papers.shi2011_generative import as_published, published
from benchmarks.papers.shi2011_generative.splits import Rows, random_split, small_set
from benchmarks.resume import Job

DATA = published.SMALL
SPLITS = 30
WORKERS = 2
AS_PUBLISHED = "as published"
# Trials: shares of the identity in the covariances, with all columns.
IDENTITIES = {"ionosphere": (0.0, 1e-6, 1e-3), "wine": (1e-3, 1e-2)}


def jobs(name: str, n_splits: int) -> list[Job]:
    X, y = small_set(name)
    return [
        Job({"seed": seed, "covariances": named(share)}, one_split, (X, y, seed, share))
        for share in (None, *IDENTITIES.get(name, ()))
        for seed in range(n_splits)
    ]


def named(share: float | None) -> str:
    return AS_PUBLISHED if share is None else f"{share:g} of the identity"


def one_split(X: Rows, y: Rows, seed: int, share: float | None) -> list[dict[str, Any]]:
    part = random_split(X, y, seed)
    if share is None:
        part = as_published.varying(part)
    identity = share or 0.0
    return [
        *as_published.generative(part, identity=identity),
        *as_published.by_density(part, identity),
    ]
