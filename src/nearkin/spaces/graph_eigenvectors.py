r"""First eigenvectors of a graph's Laplacian.

Those with eigenvalue zero are known beforehand: one for each connected component, constant on it
(times :math:`\sqrt{d_i}` for the normalised Laplacian) and zero elsewhere. All others are found
in the complement of these, in small graphs by a full decomposition, in large ones by block
iteration. With X the current vectors, Θ their Rayleigh quotients and P the previous step, each
iteration minimises the trace :math:`\operatorname{tr} V^\top L V` within

.. math:: \operatorname{span} [X, \; P, \; M (L X - X \Theta)] ,

LOBPCG of Knyazev (2001) with an orthonormal basis in the manner of Hetmaniuk and Lehoucq (2006).

M stands for a cycle of :mod:`nearkin.spaces.multigrid`, which makes the number of iterations all
but independent of n. Solutions on the coarsest level are where the iteration starts.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.sparse.csgraph import connected_components
from sklearn.exceptions import ConvergenceWarning

from nearkin._types import Floats
from nearkin.messages import notice
from nearkin.rows.parallel import one_blas_thread
from nearkin.spaces.linalg import some_eigenpairs
from nearkin.spaces.multigrid import (
    NUMERICAL_RANK,
    ROUNDING,
    Grid,
    coarsen,
    cycle,
    symmetric,
    times,
)

# Up to this size a full decomposition is fast.
FULL_EIGH_ROWS = 1500
# With fewer rows for each vector, a basis of three blocks would nearly fill the space.
ROWS_PER_VECTOR = 8
# Vectors beyond those asked for, since the last ones of a block converge last.
_GUARD_VECTORS = 5
_MOST_ITERATIONS = 300


def null_vectors(W: Any, normalized: bool) -> Any:
    """Orthonormal basis of the Laplacian's null space, largest component first, n×c sparse."""
    n = W.shape[0]
    n_components, component = connected_components(W, directed=False)
    sizes = np.bincount(component)
    _, first_row = np.unique(component, return_index=True)
    rank = np.empty(n_components, dtype=np.int64)
    rank[np.lexsort([first_row, -sizes])] = np.arange(n_components)
    entries = np.ones(n)
    if normalized:
        degree = np.asarray(W.sum(axis=1)).ravel()
        entries = np.sqrt(np.where(degree > 0, degree, 1.0))
    entries /= np.sqrt(np.bincount(component, entries**2))[component]
    return sp.csr_array((entries, rank[component], np.arange(n + 1)), shape=(n, n_components))


def decompose(L: Any, null: Any, wanted: int) -> tuple[Floats, Floats]:
    """First eigenpairs of L in the complement of its known null vectors."""
    if not wanted:
        return np.empty(0), np.empty((L.shape[0], 0))

    def lifted() -> Floats:
        """L with its null vectors beyond the other end of the spectrum."""
        found = np.asarray(L.toarray())
        bound = 2 * np.abs(found).sum(axis=1).max() or 1.0
        known = null.toarray()
        found += bound * (known @ known.T)
        return found

    with one_blas_thread(L.shape[0] <= FULL_EIGH_ROWS):
        values, vectors = some_eigenpairs(lifted, 0, wanted - 1)
    return np.maximum(values, 0.0), vectors


def iterate(
    L: Any, null: Any, wanted: int, random: np.random.RandomState, tol: float
) -> tuple[Floats, Floats]:
    """As :func:`decompose`, by block iteration; see the top of this file."""
    n = L.shape[0]
    grid = coarsen(L, null)
    bound = 2 * float(L.diagonal().max())
    X = _start(grid, null, wanted + _GUARD_VECTORS, random)
    values, rotation = np.linalg.eigh(symmetric(X.T @ times(L, X)))
    X = X @ rotation
    LX = times(L, X)
    size = X.shape[1]
    P, LP = np.empty((n, 0)), np.empty((n, 0))
    converged = False
    for _ in range(_MOST_ITERATIONS):
        R = LX - X * values
        too_large = np.linalg.norm(R, axis=0) > max(tol * values[wanted - 1], ROUNDING * bound)
        converged = not too_large[:wanted].any()
        if converged:
            break
        active = np.flatnonzero(too_large)
        Z = _orthonormal(cycle(grid, R[:, active]), [X, P], null)
        if not Z.shape[1]:  # all that is left is rounding
            break
        LZ = times(L, Z)
        basis, images = (X, P, Z), (LX, LP, LZ)
        values, C = eigh(symmetric(_gram(basis, images)), subset_by_index=[0, size - 1])
        # The new step: the part of it outside X, made orthogonal to the new vectors.
        outside = C[:, active].copy()
        outside[:size] = 0.0
        outside -= C @ (C.T @ outside)
        outside, triangle = np.linalg.qr(outside)
        outside = outside[:, np.abs(np.diag(triangle)) > NUMERICAL_RANK]
        both = np.column_stack([C, outside])
        XP, LXP = _combine(basis, both), _combine(images, both)
        X, P, LX, LP = XP[:, :size], XP[:, size:], LXP[:, :size], LXP[:, size:]
    if not converged:
        worst = float(np.linalg.norm((LX - X * values)[:, :wanted], axis=0).max())
        notice(
            f"Eigenvectors of the graph have residuals up to {worst:.1e} after "
            f"{_MOST_ITERATIONS} iterations, {tol * values[wanted - 1]:.1e} were asked for. "
            "A larger tol accepts them, more neighbours make an easier graph.",
            ConvergenceWarning,
        )
    # Roundings add up over the iterations.
    X, _ = np.linalg.qr(_outside(X[:, :wanted], null))
    values, rotation = np.linalg.eigh(symmetric(X.T @ times(L, X)))
    return np.maximum(values, 0.0), X @ rotation


def _gram(basis: tuple[Floats, ...], images: tuple[Floats, ...]) -> Floats:
    return np.block([[B.T @ image for image in images] for B in basis])


def _combine(parts: tuple[Floats, ...], C: Floats) -> Floats:
    """``np.column_stack(parts) @ C`` without the copy."""
    starts = np.cumsum([0] + [part.shape[1] for part in parts])
    total = parts[0] @ C[: starts[1]]
    for part, start, stop in zip(parts[1:], starts[1:-1], starts[2:], strict=True):
        total += part @ C[start:stop]
    return np.asarray(total)


def _outside(Z: Floats, null: Any) -> Floats:
    return np.asarray(Z - null @ (null.T @ Z))


def _orthonormal(Z: Floats, others: list[Floats], null: Any) -> Floats:
    """Basis of what Z adds to other orthonormal vectors, by Gram–Schmidt, twice for rounding."""
    for _ in range(2):
        Z = _outside(Z, null)
        for other in others:
            Z = Z - other @ (other.T @ Z)
        lengths = np.linalg.norm(Z, axis=0)
        Z = Z[:, lengths > 0] / lengths[lengths > 0]
        values, rotation = np.linalg.eigh(symmetric(Z.T @ Z))
        kept = values > NUMERICAL_RANK
        Z = Z @ (rotation[:, kept] / np.sqrt(values[kept]))
    return Z


def _start(grid: Grid, null: Any, size: int, random: np.random.RandomState) -> Floats:
    """Eigenvectors of the coarsest level, carried to the finest, and random ones."""
    X = grid.vectors[:, : size - _GUARD_VECTORS]
    for level in reversed(grid.levels):
        X = level.prolong @ X
    unknown = random.standard_normal((null.shape[0], size - X.shape[1]))
    return _orthonormal(np.column_stack([X, unknown]), [], null)
