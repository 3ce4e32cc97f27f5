r"""Points and the weights of their directions, learned together.

Rows F have coordinates along directions; with gains g along these their distances are
:math:`d_g(i, j)^2 = \sum_r g_r^2 (f_{ir} - f_{jr})^2`. Points Y keep these distances within a
window while must-links pull, both in Y and in what is to be kept:

.. math::

    J(Y, g) = \sum_S w_{ij} \|y_i - y_j\|^2
            + \sum_{i<j} v_{ij} (\|y_i - y_j\| - d_g(i, j))^2
            + \sum_S w_{ij} d_g(i, j)^2
    \quad\text{s.t.}\quad \sum_r s_r g_r = \sum_r s_r ,

and cannot-links push, and triplets order lengths, as ever. With g fixed this is stress; with Y
where g puts the rows only the must-links are left, the published criterion for weights.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from nearkin._types import Floats
from nearkin.rows.distances import linked_distances
from nearkin.solvers.stress_majorization import Relaxed, relax, stress
from nearkin.solvers.stress_springs import (
    AnySprings,
    CompleteSprings,
    Springs,
    all_squared_distances,
)
from nearkin.solvers.stress_triplets import OrderedSprings

# As for the published weights: a direction without any spread counts as this share of the mean.
_NO_SPREAD, _LEAST_SPREAD = 1e-12, 1e-6


class _Window:
    """The springs that hold distances, apart from those of pairs and triplets."""

    def __init__(self, springs: AnySprings) -> None:
        self._order = springs if isinstance(springs, OrderedSprings) else None
        springs = springs if self._order is None else self._order.springs
        self._springs: Any = springs
        if isinstance(springs, Springs):
            self._held = ~springs.strut & (springs.rest > 0)
            first = np.repeat(np.arange(springs.n_points), np.diff(springs.starts))
            self._ends = np.column_stack([first, springs.others])[self._held]
            self.weight: Floats = springs.weight[self._held]
        else:
            assert isinstance(springs, CompleteSprings)
            self.weight = springs.weight

    def distances(self, Y: Floats) -> Floats:
        """Between the ends of each."""
        if isinstance(self._springs, Springs):
            return linked_distances(Y, self._ends)
        return np.asarray(np.sqrt(all_squared_distances(Y)))

    def resting_at(self, distances: Floats) -> AnySprings:
        """All springs, those of the window with other lengths at rest."""
        if isinstance(self._springs, Springs):
            rest = self._springs.rest.copy()
            rest[self._held] = distances
            distances = rest
        found: AnySprings = replace(self._springs, rest=distances)
        return found if self._order is None else replace(self._order, springs=found)

    def spread(self, weight: Floats, F: Floats) -> Floats:
        """Weighted squared differences between ends, summed along each direction."""
        W: Any = weight
        if isinstance(self._springs, Springs):
            W = sp.csr_array((weight, self._ends.T), shape=(len(F), len(F)))
        F = F - F.mean(axis=0)
        degree = np.asarray(W.sum(axis=1)).ravel()
        return np.asarray(degree @ F**2 - (F * (W @ F)).sum(axis=0))


def best_gains(
    must: Floats, held: Floats, kept: Floats, scale: Floats, total: float, gains: Floats
) -> Floats:
    r"""Gains that lower J for fixed points: the least of a function above it that touches it.

    By Cauchy and Schwarz :math:`-d_g \le -\sum_r g_r g^0_r \delta_r^2 / d_{g^0}`, so that the
    least of :math:`\sum_r (D_r + G_r) g_r^2 - 2 g_r g^0_r H_r` at a fixed sum is no higher.

    Parameters
    ----------
    must : ndarray of shape (q,)
        D, the spread of must-links along each direction.
    held, kept : ndarray of shape (q,)
        G and H, that of the window, and with weights times :math:`d_Y / d_{g^0}`.
    scale : ndarray of shape (q,)
        s, what gains are multiplied by in their sum.
    total : float
        Of that sum.
    gains : ndarray of shape (q,)
        g⁰, those before.
    """
    if not scale.any():  # all rows coincide
        return gains
    curvature, pull = must + held, gains * kept
    empty = curvature <= _NO_SPREAD * curvature.max(initial=0.0)
    curvature = np.where(empty, _LEAST_SPREAD * curvature.mean() or 1.0, curvature)
    price = (total - (scale * pull / curvature).sum()) / (scale**2 / curvature).sum()
    return np.asarray((pull + price * scale) / curvature)


def relax_jointly(
    springs: AnySprings,
    F: Floats,
    must: Floats,
    scale: Floats,
    *,
    n_iter: int,
    tol: float = 0.0,
) -> Relaxed:
    """Move points and re-weight directions in turn; J never rises.

    Parameters
    ----------
    springs : Springs or CompleteSprings, or with triplets OrderedSprings
        Of pairs and of the window, at rest in F.
    F : ndarray of shape (n, q)
        Where rows start, along directions.
    must : ndarray of shape (q,)
        Weighted squared differences of must-linked rows, summed along each direction.
    scale : ndarray of shape (q,)
        Weights of the directions in F: what the weights sum to is kept.
    n_iter : int
        Most steps, each of the points and of the weights.
    tol : float, default=0.0
        Stop before that when a step lowers J by no more than this share.

    Returns
    -------
    Relaxed
        With the gains, and J as the stress.
    """
    window = _Window(springs)
    held = window.spread(window.weight, F)
    Y, length = F, window.distances(F)
    gains: Floats = np.ones(F.shape[1])
    total = float(scale.sum())

    def objective(springs: AnySprings) -> float:
        return stress(springs, Y) + float(must @ gains**2)

    history, converged = [objective(springs)], False
    while len(history) <= n_iter and not converged:
        Y = relax(springs, Y, n_iter=1).Y
        ratio = np.divide(window.distances(Y), length, out=np.zeros_like(length), where=length > 0)
        kept = window.spread(window.weight * ratio, F)
        gains = best_gains(must, held, kept, scale, total, gains)
        length = window.distances(F * gains)
        springs = window.resting_at(length)
        history.append(objective(springs))
        converged = history[-2] - history[-1] <= tol * history[-2]
    return Relaxed(Y, history, converged, gains=gains)
