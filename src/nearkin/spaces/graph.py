r"""Neighbour graphs, their Laplacians, and the functions of rows that are smooth on them.

A graph is a sparse symmetric matrix of weights W, :math:`w_{ij} > 0` where rows i and j are joined.
Its Laplacian measures how much a function on the rows changes along the edges,

.. math:: f^\top L f = \sum_{i<j} w_{ij} (f_i - f_j)^2, \qquad L = D - W, \quad d_i = \sum_j w_{ij},

and the normalised one, :math:`I - D^{-1/2} W D^{-1/2}`, the same for :math:`D^{1/2} f`.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any, Literal, NamedTuple, TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from scipy.optimize import nnls
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from sklearn import config_context
from sklearn.exceptions import ConvergenceWarning
from sklearn.manifold import Isomap
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from nearkin._types import DOUBLE_BYTES, Floats, Integers, Mask
from nearkin.errors import InputError
from nearkin.messages import mute_third_party, notice
from nearkin.rows import validation
from nearkin.rows.distances import centre, middle
from nearkin.rows.parallel import (
    REORDER,
    compiled,
    one_blas_thread,
    rows_per_block,
    run_in_blocks,
    split_range,
)
from nearkin.rows.sparse import is_sparse
from nearkin.spaces.kernels import Rows, normalize_rows
from nearkin.spaces.linalg import fix_signs, some_eigenpairs
from nearkin.spaces.neighbors import SEARCH_MEMORY, SEARCH_MODES, SearchMode, find_nearest_others

Metric: TypeAlias = Literal["euclidean", "cosine"]
Weight: TypeAlias = Literal["binary", "heat", "cosine"]

METRICS = ("euclidean", "cosine")
WEIGHTS = ("binary", "heat", "cosine")
# The least weight of an edge: joined rows stay joined. By hand, above a Laplacian's rounding.
_LEAST_WEIGHT = 1e-10
# Rounding of symmetric computations, relative to the largest weight.
_SYMMETRIC = 1e-10
# Bytes of an entry of a sparse row: its number, its column and what a product makes of them.
_ENTRY_BYTES = 24
# Digits in which directions agree that are equal under the cosine: what rounding leaves.
_EQUAL_DIGITS = 12


def neighbor_graph(
    X: Rows,
    n_neighbors: int = 10,
    *,
    metric: Metric = "euclidean",
    weight: Weight = "binary",
    mutual: bool = False,
    search: SearchMode = "exact",
    random_state: Any = None,
) -> sp.csr_array:
    """Symmetric weights (n, n) of the graph that joins every row with its nearest others.

    With k > n − 1 neighbours the complete graph; a row is never its own neighbour. ``"cosine"``
    compares rows of unit length; rows of zeros stay isolated, with a warning. Edges weigh 1, or
    ``exp(−d² / σ²)`` with σ² the mean of d² over all edges (``"heat"``), or the cosine of the two
    rows; the last two at least 1e-10. ``mutual`` asks that each names the other. The approximate
    search compares rows of near cells, which finds 99 of 100 neighbours; ``"auto"`` takes it for
    dense rows from 50 000 on.

    Exact: O(n² d) time; memory for a copy of the rows, and blocks below 1 GB, far below if dense.
    """
    _check_choice("search", search, SEARCH_MODES)
    X, kept = _check_points(X, metric, weight)
    neighbors = find_neighbor_rows(X[kept], n_neighbors, search=search, random_state=random_state)
    n_kept, k = neighbors.shape
    first, second = kept[np.repeat(np.arange(n_kept), k)], kept[neighbors.ravel()]
    return _build_graph(X, first, second, weight, both=mutual)


def ball_graph(
    X: Rows, radius: float, *, metric: Metric = "euclidean", weight: Weight = "binary"
) -> sp.csr_array:
    """Weights (n, n) of the graph of all rows no further apart than ``radius``.

    Weights are those of :func:`neighbor_graph`. With ``metric="cosine"`` an angle φ is a distance
    of ``2 sin(φ/2)``. Warns of rows without any other in their ball. O(n² d) time, and some 50
    bytes of memory for each edge.
    """
    if not radius > 0:
        raise InputError(f"radius must be positive, got {radius!r}.")
    X, kept = _check_points(X, metric, weight)
    index = NearestNeighbors(radius=radius, algorithm="brute").fit(centre(X[kept], middle(X[kept])))
    with one_blas_thread(), config_context(working_memory=SEARCH_MEMORY):
        found = index.radius_neighbors_graph()
    counts = np.diff(found.indptr)
    lonely = int((counts == 0).sum())
    if lonely:
        notice(
            f"{lonely} of {len(kept)} rows have no other within radius={radius:g}: they are "
            "isolated in the graph. A larger radius joins them."
        )
    return _build_graph(
        X, kept[np.repeat(np.arange(len(kept)), counts)], kept[found.indices], weight
    )


def laplacian(W: Any, *, normalized: bool = False) -> sp.csr_array:
    """Laplacian of a graph, ``D − W``, or ``I − D^{-1/2} W D^{-1/2}`` if normalised.

    Rows of isolated points are zero in both, and an edge of a point with itself is left out.
    """
    W = check_weights(W)
    degree = np.asarray(W.sum(axis=1), dtype=np.float64)
    if normalized:
        inverse_root = np.divide(1.0, np.sqrt(degree), out=np.zeros_like(degree), where=degree > 0)
        scaling = sp.diags_array(inverse_root)
        W, degree = scaling @ W @ scaling, (degree > 0).astype(np.float64)
    return _compact(sp.csr_array(sp.diags_array(degree) - W))


def check_weights(W: Any) -> sp.csr_array:
    """Check weights (n, n), and return them without diagonal, symmetric to the last bit."""
    W = sp.csr_array(W, dtype=np.float64)
    if W.shape[0] != W.shape[1]:
        raise InputError(f"W must be square, got shape {W.shape}.")
    if not np.isfinite(W.data).all() or (W.data < 0).any():
        raise InputError("W must hold finite weights, none of them negative.")
    largest = W.data.max(initial=0.0)
    if abs(W - W.T).max() > _SYMMETRIC * largest:
        raise InputError("W must be symmetric: as near i is to j, so near is j to i.")
    W = (W + W.T) / 2
    weights = sp.csr_array(W - sp.diags_array(W.diagonal()))
    weights.eliminate_zeros()
    return _compact(weights)


def find_neighbor_rows(
    X: Rows, n_neighbors: int, *, search: SearchMode = "exact", random_state: Any = None
) -> Integers:
    """Row numbers (n, k) of each row's nearest others in Euclidean distance; k is below n."""
    if n_neighbors < 1:
        raise InputError(f"n_neighbors must be at least 1, got {n_neighbors}.")
    n = X.shape[0]
    k = min(n_neighbors, n - 1)
    if k <= 0:
        return np.empty((n, 0), dtype=np.int64)
    return find_nearest_others(centre(X, middle(X)), k, search=search, random_state=random_state)


def deduplicate_pairs(
    first: Integers, second: Integers, n: int
) -> tuple[Integers, Integers, Integers]:
    """Distinct pairs of row numbers, sorted: lower rows, higher rows, and how often each occurs."""
    low, high = np.minimum(first, second).astype(np.int64), np.maximum(first, second)
    number, named = np.unique(low * n + high, return_counts=True)  # counting sorts: no hashing
    return number // n, number % n, named


def _check_points(X: Rows, metric: str, weight: str) -> tuple[Rows, Integers]:
    """Checked rows, of unit length for the cosine, and the numbers of those that are not zero."""
    _check_choice("metric", metric, METRICS)
    _check_choice("weight", weight, WEIGHTS)
    X = validation.check_input(X, accept_sparse="csr")
    if is_sparse(X):
        X = sp.csr_array(X)  # of a csr_matrix, * would be the matrix product
    if metric == "euclidean":
        return X, np.arange(X.shape[0])
    X = normalize_rows(X)
    kept = np.flatnonzero(_row_sums(X * X) > 0)
    n_zero = X.shape[0] - len(kept)
    if n_zero:
        notice(
            f'{n_zero} rows of X are all zero: with metric="cosine" they are near to no other and '
            "stay isolated. Leave them out, or give them a word or feature that others have."
        )
    if not len(kept):
        raise InputError('All rows of X are zero: metric="cosine" has no directions to compare.')
    return X, kept


def _check_choice(name: str, value: str, choices: tuple[str, ...]) -> None:
    """Raise unless a parameter has one of its values."""
    if value not in choices:
        raise InputError(f"{name} must be one of {', '.join(choices)}; got {value!r}.")


def _build_graph(
    X: Rows, first: Integers, second: Integers, weight: str, *, both: bool = False
) -> sp.csr_array:
    """Weights (n, n) of the graph of edges ``(first[t], second[t])``, mutual ones if ``both``."""
    n = X.shape[0]
    low, high, named = deduplicate_pairs(first, second, n)
    if both:
        low, high = low[named == 2], high[named == 2]
    # Once for each pair, so that both directions have the same weight to the last bit.
    weights = _edge_weights(X, low, high, weight)
    rows, columns = np.concatenate([low, high]), np.concatenate([high, low])
    W = sp.csr_array((np.concatenate([weights, weights]), (rows, columns)), shape=(n, n))
    return _compact(W)


def _compact(W: sp.csr_array) -> sp.csr_array:
    """Sort indices of a sparse matrix, and store them in 32 bits if possible, as routines need."""
    W.sort_indices()
    if max(W.nnz, *W.shape) <= np.iinfo(np.int32).max:
        W.indices, W.indptr = W.indices.astype(np.int32), W.indptr.astype(np.int32)
    return W


def _edge_weights(X: Rows, low: Integers, high: Integers, weight: str) -> Floats:
    """Weights of the edges between rows ``low[t]`` and ``high[t]``: 1, heat kernel or cosine."""
    if weight == "binary" or not len(low):
        return np.ones(len(low))
    if weight == "cosine":
        X = normalize_rows(X)
    values = np.empty(len(low))
    row_bytes = DOUBLE_BYTES * X.shape[1]
    if is_sparse(X):
        row_bytes = _ENTRY_BYTES * (1 + X.nnz // X.shape[0])
    for part in split_range(len(low), rows_per_block(3 * row_bytes)):
        here, there = X[low[part]], X[high[part]]
        if weight == "cosine":
            values[part] = _row_sums(here * there)
        else:
            apart = here.astype(np.float64) - there
            values[part] = _row_sums(apart * apart)
    if weight == "heat":
        mean = values.mean()
        values = np.exp(-values / mean) if mean > 0 else np.ones(len(values))
    return np.maximum(values, _LEAST_WEIGHT)


def _row_sums(X: Rows) -> Floats:
    """Sums of dense or sparse rows, as an array."""
    return np.asarray(X.sum(axis=1), dtype=np.float64).ravel()


def average_equal_rows(X: Rows, Z: Floats, metric: str = "euclidean") -> Floats:
    """Replace coordinates of equal rows (cosine: of one direction, to 12 digits) by their mean."""
    rows: Any = X
    if is_sparse(X):
        rows = cast(Any, sp.csr_array)(X, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
    if metric == "cosine":
        rows = normalize_rows(rows)
        entries = rows.data if is_sparse(X) else rows
        np.round(entries, _EQUAL_DIGITS, out=entries)
    if is_sparse(X):
        seen: dict[tuple[bytes, bytes], int] = {}
        entries = [slice(*ends) for ends in pairwise(rows.indptr)]
        keys = [(rows.indices[some].tobytes(), rows.data[some].tobytes()) for some in entries]
        number = np.array([seen.setdefault(key, len(seen)) for key in keys])
    else:
        number = np.unique(rows, axis=0, return_inverse=True)[1].ravel()  # NumPy 2.0: a column
    if number.max() + 1 == len(Z):
        return Z
    sums = np.zeros((number.max() + 1, Z.shape[1]))
    np.add.at(sums, number, Z)
    return np.asarray((sums / np.bincount(number)[:, None])[number])


# ---- Smooth functions on a graph: its eigenvectors, by LAPACK or multigrid, and kernels of these

# Residuals cannot fall below this share of the largest eigenvalue, by rounding.
ROUNDING = 1e-13
# Eigenvalues below this share of the largest are zero.
NUMERICAL_RANK = 1e-10
# Multigrid ends with a matrix of this size, decomposed in a fraction of a second. Chosen by hand.
_COARSEST_ROWS = 500
# Aggregates may overlap, which helps, unless a row would belong to more than this many. Chosen by
# hand: levels would no longer grow much smaller.
_MOST_OVERLAP = 5
# Smoothing of aggregates, relative to the largest eigenvalue: Vanek, Mandel, Brezina (1996).
_SMOOTHING = 4 / 3
# Aggregates that do not overlap correct too little: Braess (1995).
_OVERCORRECTION = 1.5
# Steps of the power method, and the margin on the eigenvalue that they find. Chosen by hand.
_POWER_STEPS, _POWER_MARGIN = 12, 1.1
# Relaxation is of eigenvalues from this share of the largest, by so many products. Set by hand.
_RELAXED_SHARE = 0.125
_RELAXATIONS = 2
# Rows that a thread multiplies, and rows whose weights it solves for, at a time.
_BLOCK, _SOLVED_ROWS = 8192, 256
# Up to this size a full decomposition is fast. Chosen by hand, as for kernel matrices.
FULL_EIGH_ROWS = 1500
# With fewer rows for each vector, a basis of three blocks would nearly fill the space.
ROWS_PER_VECTOR = 8
# Vectors beyond those asked for, since the last ones of a block converge last. Chosen by hand; so
# is the number of iterations, of which 5 to 40 are needed as a rule.
_GUARD_VECTORS = 5
_MOST_ITERATIONS = 300
# Pull towards equal weights, as share of the local Gram matrix's trace: as in scikit-learn.
_WEIGHT_RIDGE = 1e-3
# Steps of non-negative least squares for each coefficient: ten times SciPy's own limit.
_STEPS_EACH = 30


# ---- Algebraic multigrid for Laplacians


class Level(NamedTuple):
    """One level of multigrid: its matrix A, and matrices to and from the next coarser level."""

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
    """Build multigrid levels by aggregation for a Laplacian L with the null space ``null``."""
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
            prolong = sp.csr_array(T - sp.diags_array(_SMOOTHING / largest * inverse.ravel()) @ AT)
            correction = 1.0
        coarse = sp.csr_array(prolong.T @ (A @ prolong))
        # An aggregate that is a whole component has no part in any function that is left.
        joined = np.flatnonzero(coarse.diagonal() > ROUNDING * diagonal.max())
        prolong = sp.csr_array(prolong[:, joined])
        restrict = sp.csr_array(prolong.T)
        levels.append(Level(A, inverse, largest, prolong, restrict, correction))
        A, smooth = sp.csr_array(coarse[joined][:, joined]), lengths[joined]
    values, vectors = np.linalg.eigh(symmetrize(A.toarray()))
    kept = values > NUMERICAL_RANK * values.max(initial=0.0)
    return Grid(levels, values[kept], vectors[:, kept])


@compiled()
def _aggregate(starts: Any, others: Any, entries: Any) -> Any:
    """Group rows around roots that share no neighbour, and other rows with the nearest root.

    Returns the group of each row, of two at least since all have neighbours, and their number.
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
    """Bound the largest eigenvalue of ``inverse_diagonal × A`` by power method and row sums."""
    row_sums = np.asarray(abs(A).sum(axis=1)).ravel() * inverse_diagonal.ravel()
    v = np.random.RandomState(0).standard_normal((A.shape[0], 1))
    length = 1.0
    for _ in range(_POWER_STEPS):
        v = inverse_diagonal * (A @ (v / length))
        length = float(np.linalg.norm(v)) or 1.0
    return min(float(row_sums.max()) or 1.0, _POWER_MARGIN * length)


def run_cycle(grid: Grid, B: Floats, depth: int = 0) -> Floats:
    """Solve ``A Z = B`` roughly by one multigrid cycle: relax, correct on the next level, relax."""
    if depth == len(grid.levels):
        return np.asarray(grid.vectors @ ((grid.vectors.T @ B) / grid.values[:, None]))
    level = grid.levels[depth]
    Z = _relax(level, B)
    coarse = level.restrict @ (B - multiply_sparse(level.A, Z))
    Z += level.correction * (level.prolong @ run_cycle(grid, coarse, depth + 1))
    return Z + _relax(level, B - multiply_sparse(level.A, Z))


def _relax(level: Level, R: Floats) -> Floats:
    """Approximate solution of ``A Z = R`` by Chebyshev steps for the upper eigenvalues."""
    high, low = level.largest, _RELAXED_SHARE * level.largest
    middle, half = (high + low) / 2, (high - low) / 2
    ratio = half / middle
    step = level.inverse_diagonal * R / middle
    Z = step.copy()
    for _ in range(_RELAXATIONS - 1):
        R = R - multiply_sparse(level.A, step)
        previous, ratio = ratio, 1 / (2 * middle / half - ratio)
        step = ratio * previous * step + (2 * ratio / half) * (level.inverse_diagonal * R)
        Z += step
    return Z


def multiply_sparse(A: Any, X: Floats) -> Floats:
    """Multiply a sparse matrix with a block of vectors, on all cores."""
    X = np.ascontiguousarray(X)
    out = np.empty_like(X)

    parts = A.indptr, A.indices, A.data
    run_in_blocks(lambda rows: _rows_times(rows.start, rows.stop, *parts, X, out), len(X), _BLOCK)
    return out


@compiled(fastmath=REORDER)
def _rows_times(
    start: int, stop: int, starts: Any, others: Any, entries: Any, X: Any, out: Any
) -> None:
    """Write rows ``start`` to ``stop`` of the product of a sparse matrix and X to ``out``."""
    for i in range(start, stop):
        for t in range(X.shape[1]):
            out[i, t] = 0.0
        for s in range(starts[i], starts[i + 1]):
            entry, j = entries[s], others[s]
            for t in range(X.shape[1]):
                out[i, t] += entry * X[j, t]


def symmetrize(A: Floats) -> Floats:
    """Average a matrix, symmetric but for rounding, with its transpose."""
    return np.asarray((A + A.T) / 2)


# ---- Eigenvectors of a Laplacian


def null_vectors(W: Any, normalized: bool) -> Any:
    """Orthonormal sparse basis (n, c) of the Laplacian's null space, largest component first."""
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


def decompose_laplacian(L: Any, null: Any, wanted: int) -> tuple[Floats, Floats]:
    """First ``wanted`` eigenvalues and vectors of L, orthogonal to null vectors, by LAPACK."""
    if not wanted:
        return np.empty(0), np.empty((L.shape[0], 0))

    def lifted() -> Floats:
        """L as an array, plus a term that moves its null vectors to the largest eigenvalues."""
        found = np.asarray(L.toarray())
        bound = 2 * np.abs(found).sum(axis=1).max() or 1.0
        known = null.toarray()
        found += bound * (known @ known.T)
        return found

    with one_blas_thread(L.shape[0] <= FULL_EIGH_ROWS):
        values, vectors = some_eigenpairs(lifted, 0, wanted - 1)
    return np.maximum(values, 0.0), vectors


def iterate_eigenvectors(
    L: Any, null: Any, wanted: int, random: np.random.RandomState, tol: float
) -> tuple[Floats, Floats]:
    """First ``wanted`` eigenvalues and vectors of L, orthogonal to null vectors, by LOBPCG."""
    n = L.shape[0]
    grid = coarsen(L, null)
    bound = 2 * float(L.diagonal().max())
    # Eigenvectors of the coarsest level, interpolated, and random ones.
    X = grid.vectors[:, :wanted]
    for level in reversed(grid.levels):
        X = level.prolong @ X
    unknown = random.standard_normal((n, wanted + _GUARD_VECTORS - X.shape[1]))
    X = _orthonormalize(np.column_stack([X, unknown]), [], null)
    values, rotation = np.linalg.eigh(symmetrize(X.T @ multiply_sparse(L, X)))
    X = X @ rotation
    LX = multiply_sparse(L, X)
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
        Z = _orthonormalize(run_cycle(grid, R[:, active]), [X, P], null)
        if not Z.shape[1]:  # all that is left is rounding
            break
        LZ = multiply_sparse(L, Z)
        basis, images = (X, P, Z), (LX, LP, LZ)
        gram = np.block([[B.T @ image for image in images] for B in basis])
        values, C = eigh(symmetrize(gram), subset_by_index=[0, size - 1])
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
    X, _ = np.linalg.qr(_project_out(X[:, :wanted], null))
    values, rotation = np.linalg.eigh(symmetrize(X.T @ multiply_sparse(L, X)))
    return np.maximum(values, 0.0), X @ rotation


def _combine(parts: tuple[Floats, ...], C: Floats) -> Floats:
    """``np.column_stack(parts) @ C`` without the copy."""
    starts = np.cumsum([0] + [part.shape[1] for part in parts])
    total = parts[0] @ C[: starts[1]]
    for part, start, stop in zip(parts[1:], starts[1:-1], starts[2:], strict=True):
        total += part @ C[start:stop]
    return np.asarray(total)


def _project_out(Z: Floats, null: Any) -> Floats:
    """Vectors less their components along null vectors."""
    return np.asarray(Z - null @ (null.T @ Z))


def _orthonormalize(Z: Floats, others: list[Floats], null: Any) -> Floats:
    """Orthonormal basis of what Z adds to the span of others, by Gram–Schmidt, twice."""
    for _ in range(2):
        Z = _project_out(Z, null)
        for other in others:
            Z = Z - other @ (other.T @ Z)
        lengths = np.linalg.norm(Z, axis=0)
        Z = Z[:, lengths > 0] / lengths[lengths > 0]
        values, rotation = np.linalg.eigh(symmetrize(Z.T @ Z))
        kept = values > NUMERICAL_RANK
        Z = Z @ (rotation[:, kept] / np.sqrt(values[kept]))
    return Z


# ---- Coordinates that follow the shape of the data


def smoothest_functions(
    W: Any, n_vectors: int, *, normalized: bool = False, random_state: Any = None, tol: float = 1e-4
) -> tuple[Floats, Floats]:
    """The smoothest functions on a graph: first eigenvalues and eigenvectors of its Laplacian.

    Increasing, min(n_vectors, n) of them; columns are orthonormal with the signs of
    :func:`nearkin.spaces.linalg.fix_signs`. First, with eigenvalue zero, come the indicators of
    connected components, isolated points among them, from the largest to the smallest, or the
    largest of them. The iteration ends when no residual ‖Lv − λv‖ is larger than ``tol`` times the
    last eigenvalue asked for, or with a ConvergenceWarning.

    With e edges, O(e r + n r²) time an iteration, of which it takes 5 to 40; about 8 arrays of n ×
    r and three times W in memory. Up to n = 1500 rows, and where ``n_vectors`` is more than an
    eighth of n, O(n³) time and 4 n² numbers.
    """
    if n_vectors < 1:
        raise InputError(f"n_vectors must be at least 1, got {n_vectors}.")
    W = check_weights(W)
    n = W.shape[0]
    n_vectors = min(n_vectors, n)
    null = null_vectors(W, normalized)
    n_known = min(null.shape[1], n_vectors)
    values, vectors = np.zeros(n_vectors), np.empty((n, n_vectors))
    vectors[:, :n_known] = null[:, :n_known].toarray()
    if n_vectors > n_known:
        # Isolated points are done with. Neighbours close together in memory are read faster.
        joined = np.flatnonzero(np.diff(W.indptr))
        order = joined[reverse_cuthill_mckee(W[joined][:, joined], symmetric_mode=True)]
        L = laplacian(W[order][:, order], normalized=normalized)
        null = null[order]
        null = sp.csr_array(null[:, np.diff(null.tocsc().indptr) > 0])
        wanted = n_vectors - n_known
        if len(order) <= max(FULL_EIGH_ROWS, ROWS_PER_VECTOR * wanted):
            found = decompose_laplacian(L, null, wanted)
        else:
            found = iterate_eigenvectors(L, null, wanted, check_random_state(random_state), tol)
        values[n_known:] = found[0]
        vectors[:, n_known:] = 0.0
        vectors[order, n_known:] = found[1]
    return values, fix_signs(vectors)


def lle_coordinates(X: Rows, n_neighbors: int, n_vectors: int) -> tuple[Floats, Floats]:
    r"""Coordinates of locally linear embedding, the constant vector first, and their residuals.

    Each row is written as a sum of its nearest others, with weights that add up to one; then

    .. math:: \min_{V^\top V = I} \|V - W V\|^2 , \qquad
              \min_W \|X - W X\|^2 \ \text{row by row}.

    Returns :math:`\|v - W v\|^2` of each (r,), increasing, and V (n, r). Warns if the graph of
    neighbours falls into parts. Weights are drawn a little towards equal ones, as in scikit-learn.

    Dense: O(n³) time and 3 n² numbers, for some thousands of rows at most.
    """
    X, n_vectors = _check_rows(X, n_vectors)
    n = len(X)
    neighbors = find_neighbor_rows(X, n_neighbors)
    k = neighbors.shape[1]
    weights = np.empty((n, k))

    def solve_block(rows: slice) -> None:  # weights that reproduce each row best and add up to one
        offsets = X[neighbors[rows]].astype(np.float64) - X[rows][:, None]
        gram = offsets @ offsets.transpose(0, 2, 1)
        trace = np.trace(gram, axis1=1, axis2=2)
        ridge = _WEIGHT_RIDGE * np.where(trace > 0, trace, 1.0)
        gram[:, np.arange(k), np.arange(k)] += ridge[:, None]
        solved = np.linalg.solve(gram, np.ones((len(gram), k, 1)))[:, :, 0]
        weights[rows] = solved / solved.sum(axis=1, keepdims=True)

    if k:
        run_in_blocks(solve_block, n, _SOLVED_ROWS)
    W = sp.csr_array((weights.ravel(), neighbors.ravel(), k * np.arange(n + 1)), shape=(n, n))
    _warn_of_parts(W, "locally linear embedding")
    difference = sp.eye_array(n, format="csr") - W
    constant = sp.csr_array(np.full((n, 1), n**-0.5))
    values, vectors = decompose_laplacian(difference.T @ difference, constant, n_vectors - 1)
    vectors = np.column_stack([constant.toarray(), vectors])
    return np.concatenate([[0.0], values]), fix_signs(vectors)


def isomap_coordinates(X: Rows, n_neighbors: int, n_vectors: int) -> tuple[Floats, Floats]:
    """Roughness (r,) and coordinates (n, r) of Isomap, the constant vector first.

    The coordinates are orthonormal columns: the directions in which rows differ most, by distances
    along the graph of neighbours; times the root of their variances they are Isomap's own.
    Roughness increases as a Laplacian's eigenvalues: 0 for the constant vector, then the largest
    variance over that of each direction. Fewer than ``n_vectors`` if fewer have any variance. Warns
    if the graph falls into parts, which are linked where they are closest.

    Dense: O(n² (log n + r)) time and 4 n² numbers, for some thousands of rows at most.
    """
    X, n_vectors = _check_rows(X, n_vectors)
    n = len(X)
    neighbors = find_neighbor_rows(X, n_neighbors)
    constant = np.full((n, 1), n**-0.5)
    k = neighbors.shape[1]
    if k == 0 or n_vectors == 1:
        return np.zeros(1), constant
    ends = k * np.arange(n + 1)
    named: Any = sp.csr_array((np.ones(n * k), neighbors.ravel(), ends), shape=(n, n))
    _warn_of_parts(named, "Isomap")
    with mute_third_party(), one_blas_thread():  # scikit-learn says the same in its words
        geodesics = Isomap(n_neighbors=k, n_components=1, neighbors_algorithm="brute")
        squared = np.asarray(geodesics.fit(X).dist_matrix_, dtype=np.float64) ** 2
    means = squared.mean(axis=0)

    def inner_products() -> Floats:
        """Inner products (n, n) whose distances are the geodesic ones."""
        return np.asarray(-(squared - means - means[:, None] + means.mean()) / 2)

    wanted = min(n_vectors - 1, n - 1)
    with one_blas_thread(n <= FULL_EIGH_ROWS):
        values, vectors = some_eigenpairs(inner_products, n - wanted, n - 1)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > NUMERICAL_RANK * max(values[0], np.finfo(float).tiny)
    values, vectors = values[kept], vectors[:, kept]
    vectors = np.linalg.qr(np.column_stack([constant, vectors]))[0]
    return np.concatenate([[0.0], values[:1] / values]), fix_signs(vectors)


def _check_rows(X: Rows, n_vectors: int) -> tuple[Floats, int]:
    """Check rows and the number of vectors; returns centred rows, and that number, at most n."""
    if n_vectors < 1:
        raise InputError(f"n_vectors must be at least 1, got {n_vectors}.")
    X = validation.check_input(X)
    return centre(X, middle(X)), min(n_vectors, len(X))


def _warn_of_parts(graph: Any, method: str) -> None:
    """Warn if a neighbour graph has several connected components."""
    n_parts = connected_components(graph, directed=False)[0]
    if n_parts > 1:
        notice(
            f"The graph of neighbours falls into {n_parts} parts: {method} says nothing about "
            "where they lie relative to each other. More neighbours may join them."
        )


# ---- Weights of smooth functions in a kernel


# Weights (r,) in a kernel, none negative, from increasing eigenvalues (r,), functions (n, r), and
# classes (n,), negative where unknown.
WeightRule: TypeAlias = Callable[[Floats, Floats, Integers], Floats]


def diffusion(
    eigenvalues: Floats, vectors: Floats, classes: Integers, *, time: float = 0.1
) -> Floats:
    """Weights ``exp(−t λ)`` of smooth functions: how heat spreads on the graph; ignores classes."""
    return np.asarray(np.exp(-time * eigenvalues))


def eigenmaps(eigenvalues: Floats, vectors: Floats, classes: Integers) -> Floats:
    """Weight 1 for functions that vary within some component of the graph, 0 for constant ones."""
    return np.asarray(~_mark_constant(eigenvalues), dtype=np.float64)


def ordered_alignment(eigenvalues: Floats, vectors: Floats, classes: Integers) -> Floats:
    r"""Decreasing weights of smooth functions whose kernel agrees best with the known classes.

    .. math::

        \max_\mu \frac{\langle K, T \rangle}{\|K\| \, \|T\|}, \quad
        K = \sum_i \mu_i v_i v_i^\top, \quad \mu_1 \ge \mu_2 \ge \dots \ge 0

    on the known points, where T is 1 for equal classes and −1/(c−1) for different ones of c. Over a
    cone the best direction is that of the projection of T: least squares, with the differences of
    successive weights as unknowns, none negative.
    """
    return _align_decreasing(vectors, classes, np.zeros(len(eigenvalues), dtype=bool))


def improved_order_alignment(eigenvalues: Floats, vectors: Floats, classes: Integers) -> Floats:
    """Decreasing weights of smooth functions, but for those that are constant on each component.

    In plain order these come first, and no other can have more weight, though they tell no points
    of a part from each other: the improved order of Zhu et al.
    """
    return _align_decreasing(vectors, classes, _mark_constant(eigenvalues))


def maximal_alignment(eigenvalues: Floats, vectors: Floats, classes: Integers) -> Floats:
    """Non-negative weights, in any order, of the kernel that agrees best with the known classes."""
    return _best_combination(_rank_one_terms(vectors, classes), classes)


SPECTRAL_KERNELS: dict[str, WeightRule] = {
    "diffusion": diffusion,
    "eigenmaps": eigenmaps,
    "ordered alignment": ordered_alignment,
    "improved order alignment": improved_order_alignment,
    "maximal alignment": maximal_alignment,
}


def _mark_constant(eigenvalues: Floats) -> Mask:
    """Mark eigenvalues of functions that are constant on each connected component."""
    return np.asarray(eigenvalues <= NUMERICAL_RANK * eigenvalues[-1])


def _align_decreasing(vectors: Floats, classes: Integers, free: Mask) -> Floats:
    """Weights (r,) of best alignment that decrease, but for those of ``free`` functions."""
    terms = _rank_one_terms(vectors, classes)
    combined = np.concatenate([terms[free], np.cumsum(terms[~free], axis=0)])
    found = _best_combination(combined, classes)
    weights = np.empty(len(free))
    weights[free], increments = np.split(found, [int(free.sum())])
    weights[~free] = increments[::-1].cumsum()[::-1]
    return weights


def _rank_one_terms(vectors: Floats, classes: Integers) -> Floats:
    """Matrices ``v_i v_iᵀ`` of functions at the k rows of known class, of shape (r, k, k)."""
    known = vectors[classes >= 0].T
    return np.asarray(known[:, :, None] * known[:, None, :])


def _best_combination(terms: Floats, classes: Integers) -> Floats:
    """Non-negative coefficients (r,) of terms whose sum is nearest to the kernel of the classes."""
    known = classes[classes >= 0]
    n_classes = len(np.unique(known))
    if n_classes < 2:
        raise InputError("two known classes at least are needed to align a kernel with them.")
    target = np.where(known[:, None] == known, 1.0, -1.0 / (n_classes - 1))
    # Both are symmetric: the upper half says all, once its off-diagonal counts twice.
    upper = np.triu_indices(len(known))
    double = np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))
    columns = (terms[:, *upper] * double).T
    sizes = np.linalg.norm(columns, axis=0)
    sizes[sizes == 0] = 1.0
    coefficients, _ = nnls(
        columns / sizes, target[upper] * double, maxiter=_STEPS_EACH * len(terms)
    )
    return np.asarray(coefficients / sizes)
