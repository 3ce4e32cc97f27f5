"""J against the eigenvalue cut-off: the paper keeps all positive eigenvalues."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.papers.yeung2007_scalable.methods import AS_PUBLISHED, POSITIVE, Row, by_kernel_beta
from benchmarks.record import Table
from benchmarks.resume import Job

DATA = ("xor", "19", "01", "isolet")
CUTS = (1e-15, 1e-13, 1e-10, 1e-8, POSITIVE, 1e-4, 0.01, 0.05, 0.1, 0.2, 0.3)
# Of which the paper has J by the number of landmarks.
LANDMARKS = (100, 400, 800)
DRAWS = 3


def jobs() -> Iterator[Job]:
    for data in DATA:
        for cut in CUTS:
            for seed in range(DRAWS):
                for m in LANDMARKS if data == "xor" else (100,):
                    names = {"part": "cut-off", "data": data, "m": m, "value": cut, "seed": seed}
                    arguments = (AS_PUBLISHED, data, m, seed, {"rank_tol": cut})
                    yield Job(names, by_kernel_beta, arguments)


def mean(rows: list[Row], data: str, cut: float, measure: str = "J", m: int = 100) -> float:
    names = {"part": "cut-off", "data": data, "m": m, "value": cut}
    return float(np.mean([row[measure] for row in rows if names.items() <= row.items()]))


def table(rows: list[Row]) -> Table:
    def cell(data: str, cut: float, m: int) -> str:
        return f"{mean(rows, data, cut, m=m):.2f} ({mean(rows, data, cut, 'auc', m):.3f})"

    lines = [(data, m) for data in DATA for m in (LANDMARKS if data == "xor" else (100,))]
    body = [[data, str(m), *(cell(data, cut, m) for cut in CUTS)] for data, m in lines]
    title = f"J (pair AUC) by the eigenvalue cut-off, a share of the largest; {DRAWS} draws"
    return Table(title, ["", "m", *(f"{cut:g}" for cut in CUTS)], body)


def picture(rows: list[Row], path: Path) -> None:
    """J and pair AUC against the cut-off."""
    import matplotlib.pyplot as plt

    figure, panels = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    places = range(len(CUTS))
    for ax, measure, label in zip(panels, ("J", "auc"), ("J", "pair AUC"), strict=True):
        for data in DATA:
            values = [mean(rows, data, cut, measure) for cut in CUTS]
            ax.plot(places, values, "o-", markersize=3, label=data)
        ax.set_xticks(places, [f"{cut:g}" for cut in CUTS])
        ax.set_xlabel("eigenvalues kept: above this share of the largest")
        ax.set_ylabel(label)
    panels[0].legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)
