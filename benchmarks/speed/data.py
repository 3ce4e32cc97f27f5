"""Data to measure speed on: any number of rows and columns, with labels and pairs.

Needs NumPy only, so that other environments can make the same.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np


def clustered(n: int, d: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Twenty clusters in ten of the dimensions, with noise in all: like real data."""
    rng = np.random.default_rng(0)
    spread = min(10, d)
    centers = np.zeros((20, d), dtype=np.float32)
    centers[:, :spread] = 3 * rng.standard_normal((20, spread))
    X = rng.standard_normal((n, d), dtype=np.float32)
    X[:, spread:] *= 0.3
    y = rng.integers(20, size=n)
    X += centers[y]
    return X, y


def isotropic(n: int, d: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Noise alone: the hardest case, since no direction can be dropped."""
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, d), dtype=np.float32), rng.integers(20, size=n)


def gaussian_classes(n: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    """Ten overlapping classes with variances that fall as those of principal components do."""
    rng = np.random.default_rng(0)
    y = rng.integers(10, size=n)
    scales = np.arange(1, d + 1) ** -0.7
    X = np.empty((n, d))
    for c in range(10):
        turn = np.linalg.qr(rng.standard_normal((d, d)) * 0.15 + np.eye(d))[0]
        own = y == c
        drawn = rng.standard_normal((own.sum(), d)) * scales * rng.uniform(0.6, 1.4, d)
        X[own] = drawn @ turn + rng.standard_normal(d) * scales
    return X, y


DATA: dict[str, Callable[[int, int], tuple[np.ndarray, np.ndarray]]] = {
    "clustered": clustered,
    "isotropic": isotropic,
    "classes": gaussian_classes,
}


def draw_pairs(
    y: np.ndarray, n_pairs: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Must-links and cannot-links between random rows, about half of each."""
    half = max(1, n_pairs // 2)
    order = np.argsort(y, kind="stable")
    # Rows beside one another in this order, after a shuffle within classes, are mostly alike.
    order = order[np.lexsort((rng.random(len(y)), y[order]))]
    first = rng.integers(len(y) - 1, size=2 * half)
    must = np.column_stack([order[first], order[first + 1]])
    must = must[y[must[:, 0]] == y[must[:, 1]]][:half]
    cannot = rng.integers(len(y), size=(4 * half, 2))
    cannot = cannot[y[cannot[:, 0]] != y[cannot[:, 1]]][:half]
    return must, cannot
