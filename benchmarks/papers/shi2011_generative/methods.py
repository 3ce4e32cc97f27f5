"""The paper's classifiers: each learns from one part and is chosen on another."""

from __future__ import annotations

import warnings
from dataclasses import replace
from time import perf_counter
from typing import Any, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from benchmarks.papers.shi2011_generative.splits import (
    NEIGHBORS,
    Rows,
    Split,
    chosen_vote,
    embedded,
    errors_by_neighbors,
    middle_best,
    percent_wrong,
    vote,
)
from nearkin import LMNN, Generative
from nearkin.solvers.energy import class_distances, energies, gather_members

TARGETS = (1, 3, 5, 7, 9, 12)
# Shares of the identity in a local metric; with 1 it would be the Euclidean distance.
INTERPOLATIONS = (0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.97, 0.99, 0.997, 0.999)
PUSH = 0.5


class EnergyGrid(NamedTuple):
    """Candidates: neighbours of each class, and margins as multiples of the typical gap."""

    neighbors: tuple[int, ...] = (1, 2, 3, 5, 9, 15)
    margins: tuple[float, ...] = (0.0, 0.1, 0.3, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)


ENERGIES = EnergyGrid()

Result = dict[str, Any]


def euclidean(part: Split) -> list[Result]:
    found, _ = vote(part, (part.X, part.X_valid, part.X_test))
    return [{"method": "Euclidean", **found}]


def large_margin(
    part: Split, targets: tuple[int, ...] = TARGETS, grid: EnergyGrid = ENERGIES
) -> list[Result]:
    """LMNN, and energies under the same metric. The time is the median of the candidates'."""
    metrics, seconds = [], []
    for n_neighbors in targets:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            metric, took = timed(LMNN(n_neighbors=n_neighbors, random_state=0), part)
        metrics.append(embedded(metric, part))
        seconds.append(took)
    voted, which = vote(part, *metrics)
    chosen = {"targets": targets[which], "seconds": float(np.median(seconds))}
    return [
        {"method": "LMNN", **voted, **chosen},
        {"method": "LMNN, energy", **energy(part, *metrics[which], grid)},
    ]


def uniform(part: Split, grid: EnergyGrid = ENERGIES, **settings: Any) -> list[Result]:
    """M^UNI, and energies under it."""
    metric, seconds = timed(Generative(random_state=0, **settings), part)
    Z = embedded(metric, part)
    return [
        {"method": "M^UNI", **vote(part, Z)[0], "seconds": seconds},
        {"method": "M^UNI, energy", **energy(part, *Z, grid)},
    ]


def by_density(part: Split, **settings: Any) -> list[Result]:
    """M^GMM and M^KDE."""
    results = []
    for combine in ("gmm", "kde"):
        metric, seconds = timed(Generative(combine=combine, random_state=0, **settings), part)
        found, _ = vote(part, embedded(metric, part))
        results.append({"method": f"M^{combine.upper()}", **found, "seconds": seconds})
    return results


def local(
    part: Split, n_valid: int | None = None, n_test: int | None = None, **settings: Any
) -> list[Result]:
    """GLM^INT, with the metric at each new row; on the first rows only, if there are many."""
    X_valid, y_valid = part.X_valid[:n_valid], part.y_valid[:n_valid]
    metrics = [_local_metric(part, share, **settings) for share in INTERPOLATIONS]
    tried = [errors_by_neighbors(_classes_around(m, part, X_valid), y_valid) for m in metrics]

    def test_errors(which: int) -> list[float]:
        classes = _classes_around(metrics[which], part, part.X_test[:n_test])
        return errors_by_neighbors(classes, part.y_test[:n_test])

    found, which = chosen_vote(tried, test_errors)
    return [{"method": "GLM^INT", **found, "interpolation": INTERPOLATIONS[which]}]


def _local_metric(part: Split, share: float, **settings: Any) -> Generative:
    metric = Generative(combine="local", interpolation=share, random_state=0, **settings)
    return metric.fit(part.X, part.y)


def _classes_around(metric: Generative, part: Split, X: Rows) -> Rows:
    return part.y[metric.kneighbors(X, NEIGHBORS[-1])[1]]


def energy(part: Split, Z: Rows, Z_valid: Rows, Z_test: Rows, grid: EnergyGrid) -> Result:
    """Test error of the least energy; neighbours and margin chosen on the validation rows.

    Margins are multiples of the median, over training rows, of how much farther the nearest row
    of another class is than the nearest of the same.
    """
    center = Z.mean(axis=0)
    Z, Z_valid, Z_test = Z - center, Z_valid - center, Z_test - center
    tried, candidates = [], []
    most, _ = gather_members(Z, part.y, max(grid.neighbors))
    margins = np.array(grid.margins) * typical_gap(most)
    for k in grid.neighbors:
        members = replace(most, nearest=most.nearest[:, : k + 1], squared=most.squared[:, : k + 1])
        found = energies(Z_valid, members, margins, PUSH).argmin(axis=2)
        tried += [percent_wrong(labels, part.y_valid) for labels in found]
        candidates += [
            (members, k, factor, m) for factor, m in zip(grid.margins, margins, strict=True)
        ]
    members, k, factor, margin = candidates[middle_best(tried)]
    found = energies(Z_test, members, np.array([margin]), PUSH)[0].argmin(axis=1)
    return {"error": percent_wrong(found, part.y_test), "k": k, "factor": factor}


def typical_gap(members: Any) -> float:
    """The paper's γ₀; of its size, where classes are so mixed that it is negative."""
    n = len(members.Z)
    rows = np.sort(np.random.RandomState(0).permutation(n)[:5000])
    nearest = class_distances(members.Z[rows], members, rows)[:, :, 0]
    own = members.number[rows]
    same = nearest[np.arange(len(rows)), own].copy()
    nearest[np.arange(len(rows)), own] = np.inf
    gaps = nearest.min(axis=1) - same
    gap = float(np.median(gaps))
    return gap if gap > 0 else float(np.median(np.abs(gaps)))


def timed(metric: Any, part: Split) -> tuple[Any, float]:
    start = perf_counter()
    metric.fit(part.X, part.y)
    return metric, round(perf_counter() - start, 5)
