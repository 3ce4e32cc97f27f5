r"""Coloured maximum variance unfolding (Song et al. 2007): a semidefinite program, then refinement.

The kernel is K = V Q Vᵀ, V the m smoothest functions that are not constant, as Weinberger et al.
(2007) do for the uncoloured problem: then m² unknowns are left of n², and the neighbours'
distances are kept by a penalty instead of as constraints,

.. math::

    \max_{Q \succeq 0} \operatorname{tr}(K L) - \nu \operatorname{mean}_{ij}
    \big( (v_i - v_j)^\top Q (v_i - v_j) - d_{ij}^2 \big)^2,

over the edges ij of the graph, L the centred kernel of the labels. Distances are in units of their
root mean square over edges, and tr(K L) in units of what it is for Q = I. The leading coordinates
are then moved freely, each row by itself, to a local maximum of the same objective.

The program is solved in the factor R of Q = R Rᵀ, m × m (Burer and Monteiro 2003), and the solution
is proved to be one: with G the gradient of the negative objective, Q is optimal if and only if G is
positive semidefinite and tr(G Q) = 0.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize

from benchmarks.papers.lu2009_geometry_aware.splits import Rows
from nearkin.spaces.graph import neighbor_graph, smoothest_functions

N_FUNCTIONS = 10
PENALTY = 1.0
# How far from optimal, in units of the norm of what is gained.
_CERTAIN = 1e-4
_MOST_STEPS = 20_000


@dataclass(frozen=True)
class Unfolding:
    """What is to be unfolded.

    Attributes
    ----------
    V : ndarray of shape (n, m)
        Smooth functions, of unit variance.
    first, second : int ndarray of shape (k,)
        Both ends of each edge.
    squared : ndarray of shape (k,)
        Its squared length, in units of the mean.
    members : ndarray of shape (n, c)
        The classes, centred, such that tr(K L) is 1 for Q = I: L = members membersᵀ.
    """

    V: Rows
    first: Rows
    second: Rows
    squared: Rows
    members: Rows

    @classmethod
    def of(cls, X: Rows, y: Rows, n_functions: int, graph_neighbors: int) -> Unfolding:
        W = neighbor_graph(X, graph_neighbors)
        V = smoothest_functions(W, n_functions + 1, random_state=0)[1][:, 1:] * np.sqrt(len(X))
        first, second, squared = edges(W, X)
        members = (y[:, None] == np.unique(y)).astype(float)
        members -= members.mean(axis=0)
        return cls(V, first, second, squared, members / np.linalg.norm(V.T @ members))

    def kernel(self) -> Rows:
        """The optimal Q."""
        m = self.V.shape[1]
        differences = self.V[self.first] - self.V[self.second]
        products = (differences[:, :, None] * differences[:, None, :]).reshape(-1, m * m)
        squares = products.T @ products / len(products)
        target = products.T @ self.squared / len(products)
        along = self.V.T @ self.members
        agreement = along @ along.T

        def value_and_slope(Q: Rows) -> tuple[float, Rows]:
            """Of what is minimised, but for a constant."""
            q = Q.ravel()
            left = squares @ q - 2 * target
            slope = PENALTY * 2 * (squares @ q - target).reshape(m, m) - agreement
            return float(PENALTY * q @ left - np.sum(agreement * Q)), (slope + slope.T) / 2

        def of_factor(R: Rows) -> tuple[float, Rows]:
            value, slope = value_and_slope(R @ R.T)
            return value, 2 * slope @ R

        R = descended(of_factor, np.eye(m))
        Q = R @ R.T
        slope = value_and_slope(Q)[1]
        short_of = max(-np.linalg.eigvalsh(slope)[0], abs(np.sum(slope * Q)) / np.trace(Q))
        if short_of > _CERTAIN * np.linalg.norm(agreement):
            raise RuntimeError(f"coloured MVU: {short_of:.1e} from the optimum")
        return Q

    def refined(self, Z: Rows) -> Rows:
        """A local maximum of the same objective over all coordinates of all rows."""
        return descended(self.value_and_slope, Z)

    def value_and_slope(self, Z: Rows) -> tuple[float, Rows]:
        """Of the negative objective at an embedding."""
        towards = Z[self.first] - Z[self.second]
        excess = (towards**2).sum(axis=1) - self.squared
        along = self.members.T @ Z
        forces = (4 * PENALTY / len(excess)) * excess[:, None] * towards
        slope = -2 * self.members @ along
        np.add.at(slope, self.first, forces)
        np.subtract.at(slope, self.second, forces)
        return float(PENALTY * np.mean(excess**2) - np.sum(along**2)), slope


def descended(value_and_slope: Callable[[Rows], tuple[float, Rows]], start: Rows) -> Rows:
    """A minimum near the start."""

    def flat(x: Rows) -> tuple[float, Rows]:
        value, slope = value_and_slope(x.reshape(start.shape))
        return value, slope.ravel()

    options: dict[str, Any] = {"maxiter": _MOST_STEPS, "maxfun": _MOST_STEPS, "ftol": 1e-13}
    found = minimize(flat, start.ravel(), jac=True, method="L-BFGS-B", options=options)
    return np.asarray(found.x.reshape(start.shape))


def edges(W: Any, X: Rows) -> tuple[Rows, Rows, Rows]:
    """Both ends of each edge, and its squared length in units of the mean."""
    upper = W.tocoo()
    first, second = upper.row[upper.row < upper.col], upper.col[upper.row < upper.col]
    squared = ((X[first] - X[second]) ** 2).sum(axis=1)
    return first, second, squared / squared.mean()


def coloured_mvu(
    X: Rows,
    y: Rows,
    n_components: int,
    graph_neighbors: int,
    *,
    n_functions: int = N_FUNCTIONS,
    refine: bool = True,
) -> Rows:
    """Embedding of all rows, given all labels."""
    problem = Unfolding.of(X, y, n_functions, graph_neighbors)
    values, vectors = np.linalg.eigh(problem.kernel())
    leading = np.argsort(-values)[:n_components]
    Z = problem.V @ (vectors[:, leading] * np.sqrt(np.maximum(values[leading], 0)))
    return problem.refined(Z) if refine else Z
