"""Which of two methods is better on a data set, by the paper's paired t-test."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

import numpy as np
from scipy.stats import t as student

from benchmarks.papers.yeung2007_kernel_approach.methods import (
    BETA,
    LLMA_,
    MPCK,
    ORDER,
    RCA_,
    A,
    Row,
)

_LEVEL = 0.05
_ROUNDING = 1e-9
# Draws that a verdict takes: with fewer, hardly any difference is significant.
ENOUGH = 5
BETTER, WORSE, EQUAL, UNKNOWN = "+", "−", "=", ""
PUBLISHED = (BETA, A)
RIVALS = (RCA_, *MPCK, LLMA_)
KERNEL_BASED = tuple(x for x in ORDER if x.startswith("Kernel"))
# What the paper calls them, and our versions of them; both in a row count for A, which comes last.
VERSIONS = {
    BETA: ("kernel-β", tuple(x for x in KERNEL_BASED if "KernelA" not in x)),
    A: ("kernel-A", tuple(x for x in KERNEL_BASED if "KernelA" in x)),
}


# Balanced Rand by data set and method, and there by draw of pairs.
Results = dict[tuple[str, str], dict[int, float]]


def results_of(rows: list[Row]) -> Results:
    results: Results = defaultdict(dict)
    for row in rows:
        results[row["data"], row["method"]][row["seed"]] = row["rand"]
    return results


def values(results: Results, data: str, method: str) -> dict[int, float]:
    """Balanced Rand by draw of pairs."""
    return results.get((data, method), {})


def mean(results: Results, data: str, method: str) -> float:
    """Mean balanced Rand over all draws of pairs; lower than any if there are none."""
    found = list(values(results, data, method).values())
    return float(np.mean(found)) if found else -1.0


def complete_draws(results: Results, data: str) -> int:
    """Draws of pairs on which every method as published was measured."""
    return min(len(values(results, data, method)) for method in (*PUBLISHED, *RIVALS))


def best_of(results: Results, data: str, methods: Iterable[str]) -> str:
    return max(methods, key=lambda method: mean(results, data, method))


def compared(results: Results, data: str, ours: str, theirs: str) -> str:
    """Whether ours is significantly better, worse, or neither, on two common draws at least."""
    one, two = values(results, data, ours), values(results, data, theirs)
    draws = sorted(one.keys() & two.keys())
    a, b = (np.array([x[seed] for seed in draws]) for x in (one, two))
    if len(draws) < 2:
        return UNKNOWN
    difference = a - b
    error = difference.std(ddof=1) / np.sqrt(len(draws))
    chance = student.ppf(1 - _LEVEL / 2, len(draws) - 1) * error
    if abs(difference.mean()) <= max(chance, _ROUNDING):
        return EQUAL
    return BETTER if difference.mean() > 0 else WORSE


def counted(results: Results, names: Iterable[str], ours: str, theirs: Iterable[str]) -> list[int]:
    """On how many data sets ours is better and worse than the best of some others."""
    signs = [compared(results, x, ours, best_of(results, x, theirs)) for x in names]
    return [signs.count(BETTER), signs.count(WORSE)]
