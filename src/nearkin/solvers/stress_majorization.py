r"""Springs between points: a stress function and its minimisation by majorisation.

Pairs of points are joined by springs with a weight :math:`w_{ij}` and a rest length
:math:`t_{ij}`. A configuration Y has the stress

.. math::

    J(Y) = \sum_{i<j} w_{ij} \, (\|y_i - y_j\| - t_{ij})^2 ,

where a *strut* (a spring that only pushes) counts only while it is shorter than its rest length.
By the Cauchy–Schwarz inequality J lies below a quadratic function that touches it at the current
configuration and has its minimum where

.. math::

    P \, Y^+ = Q(Y) \, Y, \qquad P = L(w), \quad Q(Y) = L(w_{ij} t_{ij} / \|y_i - y_j\|),

with L(·) the graph Laplacian of weights, and terms of coinciding points zero. Each such step can
only lower J. P does not depend on Y: one factorisation, or one preconditioner, serves all steps.

P is singular: it says nothing about where a connected component lies, only about its shape. A
little inertia, :math:`\epsilon \|Y^+ - Y\|^2` with ε tiny beside P, keeps what no spring moves
where it is, and descent remains. So the equation is solved for the displacement,
:math:`(P + \epsilon I)(Y^+ - Y) = Q(Y) Y - P Y`.

Where points can move along some displacements only, :math:`Y = X + \Pi B`, the same quadratic
function is least where

.. math::

    \Pi^\top P \, \Pi \, B^+ = \Pi^\top (Q(Y) \, Y - P X) .

This matrix is singular wherever no spring tells two sets of coefficients apart, and nearly so
where columns of Π resemble each other. Inertia of B does there what inertia of Y does above.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.csgraph import connected_components, dijkstra, reverse_cuthill_mckee

from nearkin._types import Floats
from nearkin.solvers.stress_springs import AnySprings, Springs
from nearkin.solvers.stress_triplets import OrderedSprings

# Up to this many points P is factored; beyond, conjugate gradients need less time and memory.
_FACTORED_POINTS = 3000
# Inertia of a point, relative to the mean weight of the springs at a point.
_INERTIA = 1e-10
# Inertia of a coefficient of `relax_along`, relative to the mean weight of the springs it moves.
_INERTIA_ALONG = 1e-6
# Conjugate gradients end at this share of Q(Y) Y, or after so many steps.
_RESIDUAL = 1e-4
_MOST_GRADIENTS = 1000
# Groups of points that the preconditioner moves as one: a hundredth of the points, at most.
_MOST_GROUPS = 1000


@dataclass(frozen=True)
class Relaxed:
    """Result of :func:`relax` and :func:`relax_along`.

    Attributes
    ----------
    Y : ndarray of shape (n, q)
        The configuration.
    stress : list of float
        Before the first step and after each.
    converged : bool
        Whether the last step lowered the stress by no more than ``tol`` of it.
    coefficients : ndarray of shape (m, q), optional
        B of :func:`relax_along`.
    gains : ndarray of shape (q,), optional
        Of directions, of :func:`nearkin.solvers.joint_stress.relax_jointly`.
    """

    Y: Floats
    stress: list[float]
    converged: bool
    coefficients: Any = None
    gains: Any = None


def relax(springs: AnySprings, Y: Floats, *, n_iter: int, tol: float = 0.0) -> Relaxed:
    """Let a configuration go where its springs pull it.

    Parameters
    ----------
    springs : Springs or CompleteSprings
    Y : ndarray of shape (n, q)
        Where the points start. Not modified.
    n_iter : int
        Most steps.
    tol : float, default=0.0
        Stop before that when a step lowers the stress by no more than this share.

    Returns
    -------
    Relaxed

    Notes
    -----
    A step takes O(e q) time for e springs, and O(n² q) or some tens of times O(e q) for the
    solution, by factorisation (n³/3 operations once) or by conjugate gradients. Memory: a few
    arrays of n × q, one number for each spring end, and n² numbers where P is factored.
    """
    order: NDArray[np.integer] = np.arange(springs.n_points)
    few = isinstance(springs, Springs) or (isinstance(springs, OrderedSprings) and springs.are_few)
    if few and springs.n_points > _FACTORED_POINTS:
        assert isinstance(springs, Springs | OrderedSprings)
        # Joined points that lie close together in memory are read several times as fast.
        order = reverse_cuthill_mckee(springs.weight_matrix(), symmetric_mode=True)
        springs = springs.reordered(order)
        displacement = _by_gradients(springs)
    else:
        displacement = _by_factorisation(springs)

    def step(pull: Any, Y: Floats) -> Floats:
        return np.asarray(Y + displacement(springs.force(pull, Y), Y))

    start = np.ascontiguousarray(Y[order], dtype=np.float64)
    relaxed = _descend(springs, start, step, n_iter, tol)
    return replace(relaxed, Y=relaxed.Y[np.argsort(order)])


def relax_along(
    springs: AnySprings, X: Floats, basis: Floats, *, n_iter: int, tol: float = 0.0
) -> Relaxed:
    """Let a configuration go where its springs pull it, as far as it can: ``Y = X + basis @ B``.

    Parameters
    ----------
    springs : Springs or CompleteSprings
    X : ndarray of shape (n, q)
        Where the points start. Not modified.
    basis : ndarray of shape (n, m)
        Column j says how far each point moves with coefficient j.
    n_iter : int
        Most steps.
    tol : float, default=0.0
        Stop before that when a step lowers the stress by no more than this share.

    Returns
    -------
    Relaxed
        With the coefficients B.

    Notes
    -----
    O(e m + n m² + m³) time once, O(e q + n m q + m² q) a step; memory: as much as ``basis``, and
    m² numbers.
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    basis = np.ascontiguousarray(basis, dtype=np.float64)
    system = basis.T @ springs.times(basis)
    system = (system + system.T) / 2
    # Not relative to the system itself: where all points move alike that is rounding only.
    moved = float(springs.degree @ (basis**2).mean(axis=1))
    inertia = _INERTIA_ALONG * (moved or 1.0)
    system.flat[:: len(system) + 1] += inertia
    factor = cho_factor(system, overwrite_a=True)

    B = np.zeros((basis.shape[1], X.shape[1]))

    def step(pull: Any, Y: Floats) -> Floats:
        nonlocal B
        # With the part of B moved to the right, inertia needs no term of its own.
        B = B + cho_solve(factor, basis.T @ springs.force(pull, Y))
        return np.asarray(X + basis @ B)

    relaxed = _descend(springs, X, step, n_iter, tol)
    return replace(relaxed, coefficients=B)


def _descend(
    springs: AnySprings,
    Y: Floats,
    step: Callable[[Any, Floats], Floats],
    n_iter: int,
    tol: float,
) -> Relaxed:
    """Repeat ``step(pull, Y)``, and keep the stress before the first and after each."""
    pull, value = springs.pull(Y)
    history, converged = [value], False
    while len(history) <= n_iter and not converged:
        Y = step(pull, Y)
        pull, value = springs.pull(Y)
        converged = history[-1] - value <= tol * history[-1]
        history.append(value)
    return Relaxed(Y, history, converged)


def stress(springs: AnySprings, Y: Floats) -> float:
    """J of a configuration."""
    return springs.pull(np.ascontiguousarray(Y, dtype=np.float64))[1]


Displacement = Callable[[Floats, Floats], Floats]


def _by_factorisation(springs: AnySprings) -> Displacement:
    """``displacement(force, Y)`` by one Cholesky factorisation for all steps."""
    system = springs.laplacian()
    component = _components(system)
    inertia = _inertia(springs)
    system.flat[:: len(system) + 1] += inertia
    factor = cho_factor(system, overwrite_a=True, check_finite=False)

    def displacement(force: Floats, Y: Floats) -> Floats:
        moved = cho_solve(factor, force, check_finite=False)
        return _around_centres(moved, component)

    return displacement


def _by_gradients(springs: Springs | OrderedSprings) -> Displacement:
    """``displacement(force, Y)`` by conjugate gradients, with points moved singly and in groups.

    What holds gradients up are groups of points that are joined well among themselves and badly
    to others. Hence the preconditioner adds to the diagonal a small dense system in which each
    group moves as one.
    """
    weights = springs.weight_matrix()
    _, component = connected_components(weights, directed=False)
    inertia = _inertia(springs)
    diagonal = springs.degree + inertia
    group = _groups(weights)
    n_groups = int(group.max()) + 1
    gather = sp.csr_array((np.ones(len(group)), (group, np.arange(len(group)))))
    coarse = (gather @ (sp.diags_array(diagonal) - weights) @ gather.T).toarray()
    coarse.flat[:: n_groups + 1] *= 1 + 1e-10
    factor = cho_factor(coarse, overwrite_a=True)

    def times(D: Floats) -> Floats:
        return springs.times(D) + inertia * D

    def preconditioned(R: Floats) -> Floats:
        return np.asarray(R / diagonal[:, None] + cho_solve(factor, gather @ R)[group])

    def displacement(force: Floats, Y: Floats) -> Floats:
        goal = _RESIDUAL * np.linalg.norm(force + springs.times(Y), axis=0)
        moved = _conjugate_gradients(times, preconditioned, force, goal)
        return _around_centres(moved, component)

    return displacement


def _inertia(springs: AnySprings) -> float:
    return _INERTIA * (float(springs.degree.mean()) or 1.0)


def _components(laplacian: Floats) -> NDArray[np.integer]:
    """Number of the connected component of each point, by a flood that reads each row once."""
    component = np.full(len(laplacian), -1)
    for point in range(len(laplacian)):
        if component[point] < 0:
            number = int(component.max()) + 1
            front = np.array([point])
            while len(front):
                component[front] = number
                front = np.flatnonzero((laplacian[front] != 0).any(axis=0) & (component < 0))
    return component


def _around_centres(moved: Floats, component: NDArray[np.integer]) -> Floats:
    """Displacements that leave the centre of every connected component where it was.

    Inertia alone would do so but for rounding, which it is too weak to withstand.
    """
    if component.max() == 0:
        return np.asarray(moved - moved.mean(axis=0))
    gather = sp.csr_array((np.ones(len(moved)), (component, np.arange(len(moved)))))
    return np.asarray(moved - ((gather @ moved) / np.bincount(component)[:, None])[component])


def _groups(weights: Any) -> NDArray[np.integer]:
    """Number of the group of each point: each joins the nearest of some random points.

    Strong springs are short ways. Points that none of these can reach make one group more.
    """
    n = weights.shape[0]
    n_groups = max(1, min(n // 100, _MOST_GROUPS))
    chosen = np.sort(np.random.default_rng(0).choice(n, n_groups, replace=False))
    # SciPy's older versions take 32-bit numbers only, and the same kind for both.
    places = weights.indices.astype(np.int32), weights.indptr.astype(np.int32)
    ways = sp.csr_array((1 / weights.data, *places), shape=weights.shape)
    *_, nearest = dijkstra(ways, indices=chosen, min_only=True, return_predecessors=True)
    group = np.where(nearest >= 0, np.searchsorted(chosen, nearest), n_groups)
    return np.asarray(np.unique(group, return_inverse=True)[1].ravel())


def _conjugate_gradients(
    times: Callable[[Floats], Floats],
    preconditioned: Callable[[Floats], Floats],
    B: Floats,
    goal: Floats,
) -> Floats:
    """Solve for all columns at once, each with its own step lengths, from zero.

    SciPy's solver takes one column at a time, which would read the springs q times over. A rough
    solution does: every step from the start lowers the majorising function, so descent holds.
    """
    Z = np.zeros_like(B)
    R = B.copy()
    S = preconditioned(R)
    D = S.copy()
    rho = (R * S).sum(axis=0)
    for _ in range(_MOST_GRADIENTS):
        if (np.linalg.norm(R, axis=0) <= goal).all():
            break
        AD = times(D)
        curvature = (D * AD).sum(axis=0)
        step = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
        Z += step * D
        R -= step * AD
        S = preconditioned(R)
        previous, rho = rho, (R * S).sum(axis=0)
        D = S + np.divide(rho, previous, out=np.zeros_like(rho), where=previous > 0) * D
    return Z
