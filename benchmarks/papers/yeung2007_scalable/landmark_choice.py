"""Non-uniform landmarks, which the paper leaves to future work: four ways to choose them.

With the 50 pairs of the tables nearly all of 100 landmarks are points of pairs, and there is little
to choose. There are 20 pairs here, so that 50 landmarks are more than their points.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import numpy as np
from sklearn.metrics.pairwise import rbf_kernel

from benchmarks.papers.yeung2007_scalable.methods import (
    AS_PUBLISHED,
    CALIBRATED,
    Row,
    data_set,
    kernel_beta,
    must_links,
    on_landmarks,
    width,
)
from benchmarks.record import Table
from benchmarks.resume import Job
from nearkin.spaces.kernels import Kernel
from nearkin.spaces.landmarks import choose_landmarks

DATA = ("xor", "01", "19", "3456", "isolet")
STRATEGIES = ("random", "kmeans++", "farthest", "leverage")
LANDMARKS = (50, 100, 200, 400, 800)
METHODS = (AS_PUBLISHED, CALIBRATED)
N_PAIRS = 20
DRAWS = 5


def jobs() -> Iterator[Job]:
    for seed in range(DRAWS):
        for data in DATA:
            for m in LANDMARKS:
                for strategy in STRATEGIES:
                    names = {"part": "landmarks", "data": data, "m": m}
                    names |= {"strategy": strategy, "seed": seed}
                    yield Job(names, measured, (data, m, strategy, seed))


def measured(data: str, m: int, strategy: str, seed: int) -> list[Row]:
    """Both methods on the same landmarks."""
    links = must_links(data_set(data)[1], seed, N_PAIRS).must_link
    landmarks = choose_landmarks(
        kernel_matrix(data),
        m,
        strategy,
        kernel=Kernel("precomputed"),
        include=np.unique(links),
        random_state=seed,
    )
    return [
        {
            "method": method,
            **on_landmarks(
                kernel_beta(method, seed, gamma=width(data)), data, landmarks, links, seed
            ),
        }
        for method in METHODS
    ]


@lru_cache(maxsize=len(DATA))
def kernel_matrix(data: str) -> np.ndarray:
    """Of the RBF kernel, computed once for all landmarks."""
    return np.asarray(rbf_kernel(data_set(data)[0], gamma=width(data)))


def values(rows: list[Row], measure: str, **names: object) -> list[float]:
    wanted = {"part": "landmarks", **names}
    return [row[measure] for row in rows if wanted.items() <= row.items()]


def measured_sets(rows: list[Row]) -> list[str]:
    """Data sets of which every cell has a draw at least."""
    found = {
        (row["data"], row["m"], row["strategy"]) for row in rows if row.get("part") == "landmarks"
    }
    return [
        data
        for data in DATA
        if all((data, m, name) in found for m in LANDMARKS for name in STRATEGIES)
    ]


def draws_of(rows: list[Row]) -> int:
    """The number of draws that every cell has."""
    cells = [
        values(rows, "auc", method=METHODS[0], data=data, m=m, strategy=name)
        for data in measured_sets(rows)
        for m in LANDMARKS
        for name in STRATEGIES
    ]
    return min(map(len, cells), default=0)


def tables(rows: list[Row]) -> list[Table]:
    """One for each method: J and pair AUC of each strategy; none before they are measured."""

    def cell(**names: object) -> str:
        J, auc = (np.mean(values(rows, measure, **names)) for measure in ("J", "auc"))
        return f"{J:.2f} ({auc:.3f})"

    n_draws = draws_of(rows)
    if not n_draws:
        return []
    return [
        Table(
            f"Landmarks chosen in four ways, {method}: J (pair AUC); |S| = {N_PAIRS}, "
            f"number of draws {n_draws}",
            ["", "m", *STRATEGIES],
            [
                [data, str(m)]
                + [cell(method=method, data=data, m=m, strategy=name) for name in STRATEGIES]
                for data in measured_sets(rows)
                for m in LANDMARKS
            ],
        )
        for method in METHODS
    ]


def picture(rows: list[Row], path: Path) -> None:
    """Pair AUC against the number of landmarks, a panel for each data set and method."""
    import matplotlib.pyplot as plt

    sets = measured_sets(rows)
    shape = (len(METHODS), len(sets))
    figure, grid = plt.subplots(
        *shape, figsize=(2.8 * len(sets), 5.5), sharex=True, layout="constrained"
    )
    for line, method in zip(grid, METHODS, strict=True):
        for ax, data in zip(line, sets, strict=True):
            for name in STRATEGIES:
                found = [
                    np.mean(values(rows, "auc", method=method, data=data, m=m, strategy=name))
                    for m in LANDMARKS
                ]
                ax.plot(LANDMARKS, found, "o-", markersize=3, label=name)
            ax.set_xscale("log")
            ax.set_xticks(LANDMARKS, map(str, LANDMARKS))
            ax.minorticks_off()
            ax.set_title(f"{data}: {method.removeprefix('KernelBeta, ')}", fontsize=9)
        line[0].set_ylabel("pair AUC")
    for ax in grid[-1]:
        ax.set_xlabel("landmarks")
    grid[0, 0].legend(fontsize=8)
    figure.savefig(path, dpi=90)
    plt.close(figure)
