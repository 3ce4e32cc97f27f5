"""Coloured maximum variance unfolding (Song et al. 2007) within the smoothest functions of a graph.

The kernel is K = V Q Vᵀ, V the m smoothest functions that are not constant, as Weinberger et al.
(2007) do for the uncoloured problem: then m² unknowns are left of n², and the neighbours'
distances are kept by a penalty instead of as constraints,

    max over Q ⪰ 0 of  tr(K L) − ν · mean over edges of ((v_i − v_j)ᵀ Q (v_i − v_j) − d_ij²)²,

L the centred kernel of the labels. Distances are in units of their root mean square over edges,
and tr(K L) in units of what it is for Q = I. The paper's refinement by gradient steps on all
coordinates is left out.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.papers.lu2009_geometry_aware.splits import Rows
from nearkin.spaces.graph import neighbor_graph
from nearkin.spaces.smooth_functions import smoothest

N_FUNCTIONS = 10
PENALTY = 1.0


def coloured_mvu(X: Rows, y: Rows, n_components: int, graph_neighbors: int) -> Rows | None:
    """Embedding of all rows, given all labels; None if there is no solver."""
    try:
        import cvxpy
    except ImportError:
        print("coloured MVU is left out: it needs cvxpy (pip install cvxpy)")
        return None
    W = neighbor_graph(X, graph_neighbors)
    values, V = smoothest(W, N_FUNCTIONS + 1, random_state=0)
    V = V[:, 1:] * np.sqrt(len(X))
    Q = solved(cvxpy, V, *edges(W, X), agreement(V, y))
    values, vectors = np.linalg.eigh(Q)
    leading = np.argsort(-values)[:n_components]
    return V @ (vectors[:, leading] * np.sqrt(np.maximum(values[leading], 0)))


def edges(W: Any, X: Rows) -> tuple[Rows, Rows, Rows]:
    """Both ends of each edge, and its squared length in units of the mean."""
    upper = W.tocoo()
    first, second = upper.row[upper.row < upper.col], upper.col[upper.row < upper.col]
    squared = ((X[first] - X[second]) ** 2).sum(axis=1)
    return first, second, squared / squared.mean()


def agreement(V: Rows, y: Rows) -> Rows:
    """A with tr(K L) = tr(Q A), one for Q = I."""
    members = (y[:, None] == np.unique(y)).astype(float)
    along = V.T @ (members - members.mean(axis=0))
    A = along @ along.T
    return A / np.trace(A)


def solved(cvxpy: Any, V: Rows, first: Rows, second: Rows, squared: Rows, A: Rows) -> Rows:
    """The semidefinite program. All edges together are a quadratic form in the entries of Q."""
    differences = V[first] - V[second]
    m = differences.shape[1]
    products = (differences[:, :, None] * differences[:, None, :]).reshape(-1, m * m)
    # ‖P q − d‖² = ‖R q − t‖² + constant, with as many rows in R as there are entries.
    left, singular, right = np.linalg.svd(products / np.sqrt(len(squared)), full_matrices=False)
    kept = singular > 1e-10 * singular[0]
    R = singular[kept, None] * right[kept]
    target = left[:, kept].T @ (squared / np.sqrt(len(squared)))
    Q = cvxpy.Variable((m, m), PSD=True)
    gain = cvxpy.trace(Q @ A)
    loss = cvxpy.sum_squares(R @ cvxpy.vec(Q, order="C") - target)
    problem = cvxpy.Problem(cvxpy.Maximize(gain - PENALTY * loss))
    problem.solve(solver="CLARABEL")
    if problem.status != "optimal":
        raise RuntimeError(f"coloured MVU: the solver says {problem.status}")
    return np.asarray(Q.value)
