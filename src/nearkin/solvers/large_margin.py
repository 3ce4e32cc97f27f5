r"""Large margin nearest neighbours: a linear metric for nearest-neighbour rules.

With :math:`z = L x`, squared distances :math:`d_{ij}^2 = \|z_i - z_j\|^2` and k *targets*
:math:`j \to i` of each row, the nearest rows that are known to be like it, the objective is

.. math::

    (1 - \mu) \sum_{j \to i} d_{ij}^2
    + \mu \sum_{j \to i} \sum_{l \text{ unlike } i} [m + d_{ij}^2 - d_{il}^2]_+ :

targets are pulled near, and *impostors*, rows unlike i that are not farther than a target by the
margin m, are pushed away. Each term is a weight times a squared distance, so with W the matrix of
all weights, and Λ its Laplacian, the gradient is :math:`2 (\Lambda Z)^\top X`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from nearkin._types import Floats, Integers
from nearkin.rows.parallel import one_blas_thread
from nearkin.solvers.impostors import AHEAD, Classes, Problem, nearest_alike

# Iterations before the first new search; each later round has twice as many.
_FIRST_ROUND = 10
# Corrections that L-BFGS remembers.
_MEMORY = 20
# It ends when an iteration lowers the objective by less than this share of ``tol``.
_INNER_TOL = 1e-3
# An objective of so little for each target, in units of the margin, is nothing.
_NOTHING = 1e-9
# Rows that are mapped so near to each other, in units of the margin, are in one place.
_ONE_PLACE = 1e-4
# How often a way out of there is halved, and how long its lesser directions are at most.
_SHORTER_WAYS, _LEAST_WAY = 10, 1e-2
# The margin is at least this share of the rows' mean squared distance from their mean.
_LEAST_MARGIN = 1e-3


@dataclass(frozen=True)
class Solution:
    """Result of :func:`descend`.

    Attributes
    ----------
    L : ndarray of shape (q, d)
    objective : list of float
        Before the first round and after each; it never rises.
    n_iter : int
        Iterations in all rounds.
    converged : bool
    """

    L: Floats
    objective: list[float]
    n_iter: int
    converged: bool


def descend(problem: Problem, L: Floats, *, max_iter: int, tol: float) -> Solution:
    """Lower the objective from L as far as it goes, for given targets.

    Where all rows come into one place, the gradient vanishes whatever lies around it: if the
    objective falls along some metric from there, it goes on from that.

    Each round looks for all rivals, then runs L-BFGS on these. Where others have come near
    meanwhile, and the objective with them is not lower after all, the round is run again from
    where it began with those added.

    Parameters
    ----------
    problem : Problem
    L : ndarray of shape (q, d)
    max_iter : int
        Most iterations of L-BFGS, in all rounds.
    tol : float
        Stop when a round lowers the objective by no more than this share.
    """
    shape = L.shape
    n_terms = int((problem.targets >= 0).sum())

    def mean_objective(flat: Any, left: Any, right: Any) -> tuple[float, Any]:
        value, gradient = problem.objective(flat.reshape(shape), (left, right))
        return value / n_terms, gradient.ravel() / n_terms

    rivals = problem.rivals(L, AHEAD)
    history = [problem.objective(L, rivals)[0]]
    nothing = _NOTHING * problem.margin * n_terms
    length, n_iter, converged = _FIRST_ROUND, 0, history[0] <= nothing
    left_one_place = False
    while n_iter < max_iter and not converged:
        result = minimize(
            mean_objective,
            L.ravel().astype(np.float64),
            args=rivals,
            jac=True,
            method="L-BFGS-B",
            options={
                "maxiter": min(length, max_iter - n_iter),
                "maxcor": _MEMORY,
                "ftol": _INNER_TOL * tol,
                "gtol": 0.0,
            },
        )
        n_iter += max(1, int(result.nit))
        tried = result.x.reshape(shape)
        found = problem.rivals(tried, AHEAD)
        value, _ = problem.objective(tried, found)
        if value > history[-1]:
            n_watched = len(rivals[0])
            rivals = _united(rivals, found, len(problem.X))
            converged = len(rivals[0]) == n_watched  # nothing but rounding is left
            continue
        converged = history[-1] - value <= tol * history[-1] or value <= nothing
        history.append(value)
        L, rivals = tried, found
        length *= 2
        if converged and not left_one_place and _is_one_place(problem, L):
            left_one_place, way = True, _way_out(problem, L, rivals, history[-1])
            if way is not None:
                L, converged, length = way, False, _FIRST_ROUND
                rivals = problem.rivals(L, AHEAD)
                history.append(problem.objective(L, rivals)[0])
    return Solution(L, history, n_iter, converged)


def _is_one_place(problem: Problem, L: Floats) -> bool:
    """Whether all rows are mapped into one place, up to little."""
    Z = problem.X @ L.T
    return float(((Z - Z[0]) ** 2).sum(axis=1).max()) <= _ONE_PLACE * problem.margin


def _way_out(
    problem: Problem, L: Floats, rivals: tuple[Integers, Integers], value: float
) -> Floats | None:
    """A map from which the objective goes lower than where all rows are in one place.

    There it is linear in the metric, with the slope G: it falls along the eigenvectors of G whose
    eigenvalues are negative. The others are there a little, so that they may grow.
    """
    d = L.shape[1]
    tiny = float(np.sqrt(_ONE_PLACE / max(1.0, float((problem.X**2).sum(axis=1).max()))))
    slope = problem.objective(tiny * np.eye(d), rivals)[1] / (2 * tiny)
    values, vectors = np.linalg.eigh((slope + slope.T) / 2)
    if values[0] >= -_NOTHING * np.abs(values).max():
        return None
    least = min(_LEAST_WAY, np.sqrt(0.1 * -values[0] / np.maximum(values, 0).sum(initial=1e-300)))
    lengths = np.maximum(np.sqrt(np.maximum(-values, 0) / -values[0]), least)
    way = np.zeros_like(L, dtype=np.float64)
    way[: min(L.shape)] = (lengths[:, None] * vectors.T)[: len(L)]
    for _ in range(_SHORTER_WAYS):
        if problem.objective(way, problem.rivals(way, AHEAD))[0] < value:
            return way
        way /= 2
    return None


def learn(
    X: Floats,
    classes: Classes,
    L: Floats,
    *,
    n_neighbors: int,
    push: float,
    n_passes: int,
    max_iter: int,
    tol: float,
) -> tuple[Solution, float]:
    """Lower the objective over the metric and, in passes after the first, over the targets.

    With targets that are nearest in the metric learned so far no term of the objective is larger
    than with the earlier ones: it does not rise between passes either.

    Returns
    -------
    solution : Solution
    margin : float
        The unit of the objective. 0 if all rows coincide: L is as it was then.
    """
    targets = nearest_alike(X, classes.number, n_neighbors)
    margin = _mean_target_distance(X, targets)
    if margin == 0:
        return Solution(L, [0.0], 0, True), margin
    X = X / np.sqrt(margin)  # so that the scale of X does not matter
    solution = Solution(L, [], 0, True)
    # Products in between are small: several threads would gain little, and lose much where cores
    # are shared.
    with one_blas_thread():
        for turn in range(n_passes):
            if turn > 0:
                previous, L = targets, solution.L
                targets = nearest_alike(X @ L.T, classes.number, n_neighbors)
                if np.array_equal(targets, previous):
                    break
            left = max_iter - solution.n_iter
            problem = Problem(X, targets, classes, 1.0, push)
            found = descend(problem, solution.L, max_iter=left, tol=tol)
            history = solution.objective
            if turn > 0 and found.objective[0] > history[-1]:  # by rounding, among ties
                break
            solution = Solution(
                found.L,
                history + found.objective,
                solution.n_iter + found.n_iter,
                found.converged,
            )
            if not found.converged:
                break
    return solution, margin


def _united(
    a: tuple[Integers, Integers], b: tuple[Integers, Integers], n: int
) -> tuple[Integers, Integers]:
    keys = np.union1d(*(left.astype(np.int64) * n + right for left, right in (a, b)))
    return (keys // n).astype(np.int32), (keys % n).astype(np.int32)


def _mean_target_distance(X: Floats, targets: Integers) -> float:
    """Mean squared distance of targets; where they coincide, something small but for that."""
    total = 0.0
    for column in targets.T:
        rows = np.flatnonzero(column >= 0)
        total += float(((X[rows] - X[column[rows]]) ** 2).sum())
    variance = float((X**2).sum()) / len(X)
    return max(total / float((targets >= 0).sum()), _LEAST_MARGIN * variance)
