"""What the paper leaves open, tried: the eigenvalue cut-off, and the number of neighbours."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.papers.yeung2007_scalable.methods import AS_PUBLISHED, POSITIVE, Row, by_kernel_beta
from benchmarks.record import Table
from benchmarks.resume import Job

DATA = ("xor", "19", "01", "isolet")
CUTS = (POSITIVE, 0.01, 0.05, 0.1, 0.2, 0.3)
NEIGHBOURS = (3, 5, 10, 20)
DRAWS = 3
_PARTS = {"cut-off": ("rank_tol", CUTS), "neighbours": ("n_neighbors", NEIGHBOURS)}


def jobs() -> Iterator[Job]:
    for data in DATA:
        for part, (setting, values) in _PARTS.items():
            for value in values:
                for seed in range(DRAWS):
                    names = {"part": part, "data": data, "value": value, "seed": seed}
                    arguments = (AS_PUBLISHED, data, 100, seed, {setting: value})
                    yield Job(names, by_kernel_beta, arguments)


def mean(rows: list[Row], part: str, data: str, value: float, measure: str = "J") -> float:
    names = {"part": part, "data": data, "value": value}
    return float(np.mean([row[measure] for row in rows if names.items() <= row.items()]))


def tables(rows: list[Row]) -> list[Table]:
    def cell(part: str, data: str, value: float) -> str:
        J, auc = (mean(rows, part, data, value, measure) for measure in ("J", "auc"))
        return f"{J:.2f} ({auc:.3f})"

    titles = {
        "cut-off": "J (pair AUC) by the eigenvalue cut-off, a share of the largest",
        "neighbours": "J (pair AUC) by the number of neighbours K, all positive eigenvalues",
    }
    return [
        Table(
            f"{titles[part]}; m = 100, {DRAWS} draws",
            ["", *(f"{value:g}" for value in values)],
            [[data, *(cell(part, data, value) for value in values)] for data in DATA],
        )
        for part, (_, values) in _PARTS.items()
    ]


def picture(rows: list[Row], path: Path) -> None:
    """J and pair AUC against the cut-off."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    places = range(len(CUTS))
    for ax, measure, label in zip(panels, ("J", "auc"), ("J", "pair AUC"), strict=True):
        for data in DATA:
            values = [mean(rows, "cut-off", data, cut, measure) for cut in CUTS]
            ax.plot(places, values, "o-", markersize=3, label=data)
        ax.set_xticks(places, [f"{cut:g}" for cut in CUTS])
        ax.set_xlabel("eigenvalues kept: above this share of the largest")
        ax.set_ylabel(label)
    panels[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)
