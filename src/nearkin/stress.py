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
where it is, and descent remains.

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
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee

from nearkin.blocks import for_each_block

Floats = NDArray[np.floating]

# Up to this many points P is factored; beyond, conjugate gradients need less time and memory.
_FACTORED_POINTS = 3000
# Inertia of a point, relative to the mean weight of the springs at a point.
_INERTIA = 1e-10
# Inertia of a coefficient of `relax_along`, relative to the mean weight of the springs it moves.
_INERTIA_ALONG = 1e-6
# Conjugate gradients end at this share of the right-hand side, or after so many steps.
_RESIDUAL = 1e-4
_MOST_GRADIENTS = 1000
_BLOCK = 512


@dataclass(frozen=True)
class Springs:
    """Springs of a configuration, each stored with both its ends, row by row.

    Attributes
    ----------
    starts : int ndarray of shape (n + 1,)
        Springs of point i are at positions ``starts[i]`` to ``starts[i + 1]``.
    others : int ndarray of shape (e,)
        The other end of each.
    weight, rest : ndarray of shape (e,)
    strut : bool ndarray of shape (e,)
        Whether it only pushes.
    """

    starts: NDArray[np.int64]
    others: NDArray[np.int32]
    weight: Floats
    rest: Floats
    strut: NDArray[np.bool_]

    @property
    def n_points(self) -> int:
        """Number of points, with or without springs."""
        return len(self.starts) - 1


def join(
    n_points: int,
    ends: NDArray[np.integer],
    weight: Floats,
    rest: Floats,
    strut: NDArray[np.bool_],
) -> Springs:
    """Springs from a list of their ends; two between the same points stay two.

    Parameters
    ----------
    n_points : int
    ends : int ndarray of shape (e, 2)
    weight, rest, strut : ndarray of shape (e,)
    """
    first = np.concatenate([ends[:, 0], ends[:, 1]])
    order = np.argsort(first, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=n_points))])
    others = np.concatenate([ends[:, 1], ends[:, 0]])[order]

    def doubled(values: Any) -> Any:
        return np.concatenate([values, values])[order]

    return Springs(
        starts.astype(np.int64),
        others.astype(np.int32),
        doubled(np.asarray(weight, dtype=np.float64)),
        doubled(np.asarray(rest, dtype=np.float64)),
        doubled(np.asarray(strut, dtype=bool)),
    )


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
    """

    Y: Floats
    stress: list[float]
    converged: bool
    coefficients: Any = None


def relax(springs: Springs, Y: Floats, *, n_iter: int, tol: float = 0.0) -> Relaxed:
    """Let a configuration go where its springs pull it.

    Parameters
    ----------
    springs : Springs
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
    if springs.n_points > _FACTORED_POINTS:
        order = reverse_cuthill_mckee(_weight_matrix(springs), symmetric_mode=True)
        springs = _reordered(springs, order)
    solve = _solver(springs)

    def step(pull: Floats, Y: Floats) -> Floats:
        return solve(_laplacian_times(springs, pull, Y), Y)

    start = np.ascontiguousarray(Y[order], dtype=np.float64)
    relaxed = _descend(springs, start, step, n_iter, tol)
    return replace(relaxed, Y=relaxed.Y[np.argsort(order)])


def relax_along(
    springs: Springs, X: Floats, basis: Floats, *, n_iter: int, tol: float = 0.0
) -> Relaxed:
    """Let a configuration go where its springs pull it, as far as it can: ``Y = X + basis @ B``.

    Parameters
    ----------
    springs : Springs
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
    system = basis.T @ _laplacian_times(springs, springs.weight, basis)
    system = (system + system.T) / 2
    # Not relative to the system itself: where all points move alike that is rounding only.
    share = (basis**2).mean(axis=1)
    moved = float(springs.weight @ np.repeat(share, np.diff(springs.starts)))
    inertia = _INERTIA_ALONG * (moved or 1.0)
    system.flat[:: len(system) + 1] += inertia
    factor = cho_factor(system, overwrite_a=True)

    B = np.zeros((basis.shape[1], X.shape[1]))

    def step(pull: Floats, Y: Floats) -> Floats:
        nonlocal B
        # Q(Y) Y − P Y: with the part of B moved to the right, inertia needs no term of its own.
        force = _laplacian_times(springs, pull - springs.weight, Y)
        B = B + cho_solve(factor, basis.T @ force)
        return np.asarray(X + basis @ B)

    relaxed = _descend(springs, X, step, n_iter, tol)
    return replace(relaxed, coefficients=B)


def _descend(
    springs: Springs,
    Y: Floats,
    step: Callable[[Floats, Floats], Floats],
    n_iter: int,
    tol: float,
) -> Relaxed:
    """Repeat ``step(pull, Y)``, and keep the stress before the first and after each."""
    pull, value = _pull(springs, Y)
    history, converged = [value], False
    while len(history) <= n_iter and not converged:
        Y = step(pull, Y)
        pull, value = _pull(springs, Y)
        converged = history[-1] - value <= tol * history[-1]
        history.append(value)
    return Relaxed(Y, history, converged)


def _reordered(springs: Springs, order: NDArray[np.integer]) -> Springs:
    """The same springs with point ``order[i]`` as the i-th.

    Joined points that lie close together in memory are read several times as fast.
    """
    counts = np.diff(springs.starts)[order]
    starts = np.concatenate([[0], np.cumsum(counts)])
    source = np.repeat(springs.starts[:-1][order] - starts[:-1], counts) + np.arange(starts[-1])
    place = np.argsort(order).astype(np.int32)
    return Springs(
        starts,
        place[springs.others[source]],
        springs.weight[source],
        springs.rest[source],
        springs.strut[source],
    )


def _weight_matrix(springs: Springs) -> Any:
    shape = (springs.n_points, springs.n_points)
    return sp.csr_array((springs.weight, springs.others, springs.starts), shape=shape)


def stress(springs: Springs, Y: Floats) -> float:
    """J of a configuration."""
    return _pull(springs, np.ascontiguousarray(Y, dtype=np.float64))[1]


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _pull_rows(
    start: int,
    stop: int,
    starts: Any,
    others: Any,
    weight: Any,
    rest: Any,
    strut: Any,
    Y: Any,
    pull: Any,
) -> float:
    total = 0.0
    for i in range(start, stop):
        for s in range(starts[i], starts[i + 1]):
            squared = 0.0
            for t in range(Y.shape[1]):
                difference = Y[i, t] - Y[others[s], t]
                squared += difference * difference
            length = np.sqrt(squared)
            wanted = max(rest[s], length) if strut[s] else rest[s]
            pull[s] = weight[s] * wanted / length if length > 0.0 else 0.0
            total += weight[s] * (length - wanted) ** 2
    return total


def _pull(springs: Springs, Y: Floats) -> tuple[Floats, float]:
    """Weights of Q(Y), and the stress."""
    pull = np.empty(len(springs.others))
    parts = np.zeros(-(-springs.n_points // _BLOCK))

    def work(rows: slice) -> None:
        parts[rows.start // _BLOCK] = _pull_rows(
            rows.start,
            rows.stop,
            springs.starts,
            springs.others,
            springs.weight,
            springs.rest,
            springs.strut,
            Y,
            pull,
        )

    for_each_block(work, springs.n_points, _BLOCK)
    return pull, float(parts.sum()) / 2  # each spring was met at both ends


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract", "nsz"})
def _laplacian_rows(
    start: int, stop: int, starts: Any, others: Any, weight: Any, Y: Any, out: Any
) -> None:
    for i in range(start, stop):
        out[i] = 0.0
        for s in range(starts[i], starts[i + 1]):
            for t in range(Y.shape[1]):
                out[i, t] += weight[s] * (Y[i, t] - Y[others[s], t])


def _laplacian_times(springs: Springs, weight: Floats, Y: Floats) -> Floats:
    """``L(weight) Y``, from differences: exact zeros where points coincide."""
    out = np.empty_like(Y)

    def work(rows: slice) -> None:
        _laplacian_rows(rows.start, rows.stop, springs.starts, springs.others, weight, Y, out)

    for_each_block(work, springs.n_points, _BLOCK)
    return out


def _solver(springs: Springs) -> Callable[[Floats, Floats], Floats]:
    """``solve(B, Y)``: the solution of ``(P + εI) Z = B + εY``, that is of PZ = B, near Y."""
    n = springs.n_points
    weights = _weight_matrix(springs)
    diagonal = np.asarray(weights.sum(axis=1), dtype=np.float64).ravel()
    inertia = _INERTIA * (float(diagonal.mean()) or 1.0)
    diagonal = diagonal + inertia

    if n <= _FACTORED_POINTS:
        factor = cho_factor(np.diag(diagonal) - weights.toarray(), overwrite_a=True)

        def near(B: Floats, Y: Floats) -> Any:
            return cho_solve(factor, B)
    else:

        def times(D: Floats) -> Floats:
            return _laplacian_times(springs, springs.weight, D) + inertia * D

        def near(B: Floats, Y: Floats) -> Any:
            return _conjugate_gradients(times, B, Y, 1 / diagonal[:, None])

    _, component = connected_components(weights, directed=False)
    indicator: Any = sp.csr_array((np.ones(n), (component, np.arange(n))))
    sizes = np.bincount(component)[:, None]

    def solve(B: Floats, Y: Floats) -> Floats:
        Z = near(B + inertia * Y, Y)
        # Inertia is too weak to show in a residual: components go back where they were.
        return np.asarray(Z + ((indicator @ (Y - Z)) / sizes)[component])

    return solve


def _conjugate_gradients(
    times: Callable[[Floats], Floats],
    B: Floats,
    start: Floats,
    inverse_diagonal: Floats,
) -> Floats:
    """Solve for all columns at once, each with its own step lengths.

    SciPy's solver takes one column at a time, which would read the springs q times over. A rough
    solution does: every step from the start lowers the majorising function, so descent holds.
    """
    Z = start.copy()
    R = B - times(Z)
    goal = _RESIDUAL * np.maximum(np.linalg.norm(B, axis=0), 1e-300)
    S = inverse_diagonal * R
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
        S = inverse_diagonal * R
        previous, rho = rho, (R * S).sum(axis=0)
        D = S + np.divide(rho, previous, out=np.zeros_like(rho), where=previous > 0) * D
    return Z
