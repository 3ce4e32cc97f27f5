r"""Algebraic multigrid for Laplacians: a cycle that nearly solves, whatever the number of rows.

Neighbouring rows are gathered in aggregates, a smooth function is nearly constant on each of them,
and what the few numbers of the aggregates cannot express, a few sweeps of relaxation can: Vaněk,
Mandel and Brezina (1996).
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp

from nearkin._types import Floats
from nearkin.rows.parallel import REORDER, compiled, for_each_block

# Residuals cannot fall below this share of the largest eigenvalue, by rounding.
ROUNDING = 1e-13
# Eigenvalues below this share of the largest are zero.
NUMERICAL_RANK = 1e-10
# Multigrid ends with a matrix of this size.
_COARSEST_ROWS = 500
# Aggregates may overlap, which helps, unless a row would belong to more than this many.
_MOST_OVERLAP = 5
# Aggregates that do not overlap correct too little: Braess (1995).
_OVERCORRECTION = 1.5
# Relaxation works on eigenvalues between the largest and this share of it, with so many products.
_RELAXED_SHARE = 0.125
_RELAXATIONS = 2
_BLOCK = 8192


class Level(NamedTuple):
    """One level of multigrid: its matrix, and how it hangs together with the next."""

    A: Any
    inverse_diagonal: Floats
    largest: float  # eigenvalue of inverse_diagonal × A, or a little more
    prolong: Any
    restrict: Any
    correction: float


class Grid(NamedTuple):
    """All levels, and the eigenpairs of the coarsest matrix, null vectors left out."""

    levels: list[Level]
    values: Floats
    vectors: Floats


def coarsen(L: Any, null: Any) -> Grid:
    """Levels of aggregates, down to a matrix that is decomposed."""
    A = L
    # What must be exact on every level: the null vectors of all components in one.
    smooth = np.asarray(null.sum(axis=1)).ravel()
    levels: list[Level] = []
    while A.shape[0] > _COARSEST_ROWS:
        n = A.shape[0]
        diagonal = A.diagonal()
        group, n_groups = _aggregate(A.indptr, A.indices, A.data)
        inverse = 1 / diagonal[:, None]
        lengths = np.sqrt(np.bincount(group, smooth**2))
        T: Any = sp.csr_array(
            (smooth / lengths[group], group, np.arange(n + 1)), shape=(n, n_groups)
        )
        largest = _largest_eigenvalue(A, inverse)
        AT = A @ T
        prolong, correction = T, _OVERCORRECTION
        if AT.nnz <= _MOST_OVERLAP * n:
            prolong = sp.csr_array(T - sp.diags_array(4 / 3 / largest * inverse.ravel()) @ AT)
            correction = 1.0
        coarse = sp.csr_array(prolong.T @ (A @ prolong))
        # An aggregate that is a whole component has no part in any function that is left.
        joined = np.flatnonzero(coarse.diagonal() > ROUNDING * diagonal.max())
        prolong = sp.csr_array(prolong[:, joined])
        restrict = sp.csr_array(prolong.T)
        levels.append(Level(A, inverse, largest, prolong, restrict, correction))
        A, smooth = sp.csr_array(coarse[joined][:, joined]), lengths[joined]
    values, vectors = np.linalg.eigh(symmetric(A.toarray()))
    kept = values > NUMERICAL_RANK * values.max(initial=0.0)
    return Grid(levels, values[kept], vectors[:, kept])


@compiled()
def _aggregate(starts: Any, others: Any, entries: Any) -> Any:
    """Gather rows around roots that share no neighbour, and the remaining ones with the nearest.

    Every row has neighbours, so that an aggregate has at least two rows.
    """
    n = len(starts) - 1
    group = np.full(n, -1, dtype=np.int32)
    count = 0
    for i in range(n):
        free = group[i] < 0
        for s in range(starts[i], starts[i + 1]):
            free = free and group[others[s]] < 0
        if free:
            for s in range(starts[i], starts[i + 1]):
                group[others[s]] = count
            group[i] = count
            count += 1
    roots = group.copy()
    for i in range(n):
        if group[i] < 0:
            strongest, nearest = 0.0, -1
            for s in range(starts[i], starts[i + 1]):
                if roots[others[s]] >= 0 and abs(entries[s]) > strongest:
                    strongest, nearest = abs(entries[s]), roots[others[s]]
            group[i] = nearest
    return group, count


def _largest_eigenvalue(A: Any, inverse_diagonal: Floats) -> float:
    """Of ``inverse_diagonal × A``: by the power method with a margin, at most by row sums."""
    row_sums = np.asarray(abs(A).sum(axis=1)).ravel() * inverse_diagonal.ravel()
    v = np.random.RandomState(0).standard_normal((A.shape[0], 1))
    length = 1.0
    for _ in range(12):
        v = inverse_diagonal * (A @ (v / length))
        length = float(np.linalg.norm(v)) or 1.0
    return min(float(row_sums.max()) or 1.0, 1.1 * length)


def cycle(grid: Grid, B: Floats, depth: int = 0) -> Floats:
    """Approximate solution of ``A Z = B``: relax, correct on the coarser level, relax."""
    if depth == len(grid.levels):
        return np.asarray(grid.vectors @ ((grid.vectors.T @ B) / grid.values[:, None]))
    level = grid.levels[depth]
    Z = _relaxed(level, B)
    coarse = level.restrict @ (B - times(level.A, Z))
    Z += level.correction * (level.prolong @ cycle(grid, coarse, depth + 1))
    return Z + _relaxed(level, B - times(level.A, Z))


def _relaxed(level: Level, R: Floats) -> Floats:
    """Steps from zero towards the solution for R: Chebyshev's for the upper eigenvalues."""
    high, low = level.largest, _RELAXED_SHARE * level.largest
    middle, half = (high + low) / 2, (high - low) / 2
    ratio = half / middle
    step = level.inverse_diagonal * R / middle
    Z = step.copy()
    for _ in range(_RELAXATIONS - 1):
        R = R - times(level.A, step)
        previous, ratio = ratio, 1 / (2 * middle / half - ratio)
        step = ratio * previous * step + (2 * ratio / half) * (level.inverse_diagonal * R)
        Z += step
    return Z


def times(A: Any, X: Floats) -> Floats:
    """``A @ X`` for a sparse matrix and a block of vectors, on all cores."""
    X = np.ascontiguousarray(X)
    out = np.empty_like(X)

    def work(rows: slice) -> None:
        _rows_times(rows.start, rows.stop, A.indptr, A.indices, A.data, X, out)

    for_each_block(work, len(X), _BLOCK)
    return out


@compiled(fastmath=REORDER)
def _rows_times(
    start: int, stop: int, starts: Any, others: Any, entries: Any, X: Any, out: Any
) -> None:
    for i in range(start, stop):
        for t in range(X.shape[1]):
            out[i, t] = 0.0
        for s in range(starts[i], starts[i + 1]):
            entry, j = entries[s], others[s]
            for t in range(X.shape[1]):
                out[i, t] += entry * X[j, t]


def symmetric(A: Floats) -> Floats:
    """A matrix made equal to its mirror image, from which it differs by rounding."""
    return np.asarray((A + A.T) / 2)
