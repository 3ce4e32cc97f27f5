"""Shapes in the plane that no number of round clusters is right for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from sklearn.datasets import make_circles, make_moons

from nearkin.datasets import make_xor

Shape = Callable[[int], tuple[np.ndarray, np.ndarray]]
N_ROWS = 400
N_PAIRS = 20


def moons(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two half circles that reach into each other."""
    X, y = make_moons(N_ROWS, noise=0.08, random_state=seed)
    return X, y


def rings(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Three rings around one centre."""
    rng = np.random.default_rng(seed)
    y = rng.integers(3, size=N_ROWS)
    angle = rng.uniform(0, 2 * np.pi, N_ROWS)
    radius = 1 + y + rng.normal(0, 0.08, N_ROWS)
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)]), y


def xor(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two classes of two clouds each, across from one another."""
    X, y = make_xor(N_ROWS, random_state=seed)
    return X, y


def bananas(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Two wide, noisy arcs that face each other, as in PRTools, with half of its noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(2, size=N_ROWS)
    angle = np.pi / 8 + rng.uniform(0, 1.25 * np.pi, N_ROWS)
    sign = np.where(y == 0, 1.0, -1.0)
    arc = 5 * sign[:, None] * np.column_stack([np.sin(angle), np.cos(angle)])
    moved = arc - 3.75 * y[:, None]
    return moved + rng.normal(0, 0.5, (N_ROWS, 2)), y


def nested_circles(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """A circle inside another."""
    X, y = make_circles(N_ROWS, noise=0.05, factor=0.5, random_state=seed)
    return X, y


SHAPES: dict[str, Shape] = {
    "two moons": moons,
    "rings": rings,
    "XOR": xor,
    "bananas": bananas,
    "nested circles": nested_circles,
}
