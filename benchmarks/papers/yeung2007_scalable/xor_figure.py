"""Figure 1: XOR, 360 points to learn from and 40 new ones.

The paper does not say how many pairs it draws. All their points are among the 40 landmarks of panel
(f), so there are 20 pairs at most; 20 are drawn here. Panel (e) has no local weights to repeat,
panel (f) has the paper's three iterations.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.yeung2007_scalable.methods import (
    AS_PUBLISHED,
    KERNEL_BETAS,
    Row,
    kernel_beta,
)
from benchmarks.record import Table
from benchmarks.resume import Job
from nearkin.demo import draw_figure, methods, try_method, xor_task
from nearkin.plot import in_the_plane
from nearkin.scores import pair_auc

N_PAIRS = 20
N_LANDMARKS = 40
_OTHERS = ("input space", "RCA (linear)", "RBF kernel")


def panels(method: str, seed: int) -> dict[str, Any]:
    """Makers of KernelBeta in panels (e) and (f)."""
    return {
        f"{method}, all points": partial(kernel_beta, method, seed, n_iter=1),
        f"{method}, m = {N_LANDMARKS}": partial(kernel_beta, method, seed, n_landmarks=N_LANDMARKS),
    }


def makers(seed: int) -> dict[str, Any]:
    """Everything that is compared."""
    others = methods(N_LANDMARKS)
    learned = {key: make for name in KERNEL_BETAS for key, make in panels(name, seed).items()}
    return {name: others[name] for name in _OTHERS} | learned


def jobs(draws: int) -> Iterator[Job]:
    for method in makers(0):
        for seed in range(draws):
            names = {"part": "figure 1", "method": method, "seed": seed}
            yield Job(names, measured, (method, seed))


def measured(method: str, seed: int) -> list[Row]:
    """J and pair AUC of the new points, and the latter in the plane, which is what is printed."""
    task = xor_task(N_PAIRS, seed)
    outcome = try_method(task, method, makers(seed)[method])
    plane = in_the_plane(np.concatenate([outcome.Z, outcome.Z_new]))[len(outcome.Z) :]
    return [
        {
            "J": outcome.scores["J"],
            "auc": outcome.scores["pair AUC"],
            "plane": pair_auc(plane, task.y_new),
        }
    ]


def mean(rows: list[Row], method: str, measure: str) -> float:
    names = {"part": "figure 1", "method": method}
    return float(np.mean([row[measure] for row in rows if names.items() <= row.items()]))


def table(rows: list[Row]) -> Table:
    n_draws = len({row["seed"] for row in rows if row.get("part") == "figure 1"})
    return Table(
        f"Figure 1: the 40 new points of XOR, |S| = {N_PAIRS}, {n_draws} draws",
        ["", "J", "pair AUC", "pair AUC in the plane"],
        [
            [method, *(f"{mean(rows, method, measure):.3f}" for measure in ("J", "auc", "plane"))]
            for method in makers(0)
        ],
    )


def picture(path: Path) -> None:
    """The six panels, as published, of the first draw."""
    import matplotlib.pyplot as plt

    task = xor_task(N_PAIRS, 0)
    makers_as_published = panels(AS_PUBLISHED, 0).items()
    shown = {name: make for name, make in makers(0).items() if name in _OTHERS}
    shown |= {name.replace(AS_PUBLISHED, "KernelBeta"): make for name, make in makers_as_published}
    figure = draw_figure(task, [try_method(task, name, make) for name, make in shown.items()])
    figure.savefig(path, dpi=110)
    plt.close(figure)
