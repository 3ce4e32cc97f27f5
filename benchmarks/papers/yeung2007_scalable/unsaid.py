"""J as published by what the text does not say: neighbours, width, iterations, centring."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.papers.yeung2007_scalable.methods import (
    AS_PUBLISHED,
    Row,
    by_kernel_beta,
    width,
)
from benchmarks.papers.yeung2007_scalable.published import TABLE_2
from benchmarks.record import Table
from benchmarks.resume import Job

DATA = ("13", "012", "3456", "isolet")
AS_IN_TABLE_2 = "K = 5, width 1, three iterations, as in Table 1"
_WIDTH = "share of the width"
VARIANTS: dict[str, dict[str, Any]] = {
    AS_IN_TABLE_2: {},
    **{f"K = {k}": {"n_neighbors": k} for k in (2, 3, 10, 20, 50)},
    **{f"width {share:g}": {_WIDTH: share} for share in (0.25, 0.5, 2, 4)},
    "one iteration": {"n_iter": 1},
    "ten iterations": {"n_iter": 10},
    "not centred": {"center": False},
}
DRAWS = 5


def jobs() -> Iterator[Job]:
    for seed in range(DRAWS):
        for data in DATA:
            for variant in VARIANTS:
                names = {"part": "unsaid", "data": data, "variant": variant, "seed": seed}
                yield Job(names, measured, (data, variant, seed))


def measured(data: str, variant: str, seed: int) -> list[Row]:
    more = dict(VARIANTS[variant])
    if _WIDTH in more:
        more["gamma"] = width(data) / more.pop(_WIDTH)
    return by_kernel_beta(AS_PUBLISHED, data, 100, seed, more)


def values(rows: list[Row], data: str, variant: str) -> list[float]:
    names = {"part": "unsaid", "data": data, "variant": variant}
    return [row["J"] for row in rows if names.items() <= row.items()]


def mean(rows: list[Row], data: str, variant: str) -> float:
    return float(np.mean(values(rows, data, variant)))


def printed(data: str) -> float:
    return TABLE_2[data, "KernelBeta"][0]


def table(rows: list[Row]) -> Table:
    """With the printed figures above."""

    def cell(data: str, variant: str) -> str:
        found = np.array(values(rows, data, variant))
        return f"{found.mean():.3f} ± {found.std(ddof=1) / np.sqrt(len(found)):.3f}"

    return Table(
        "J of KernelBeta as published by what the text does not say, mean ± standard error; "
        f"m = 100, |S| = 50, {DRAWS} draws; width 1: σ is the mean distance",
        ["", *DATA],
        [
            ["published", *(f"{printed(data):.3f}" for data in DATA)],
            *([variant, *(cell(data, variant) for data in DATA)] for variant in VARIANTS),
        ],
    )
