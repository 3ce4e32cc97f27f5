r"""Neighbour graphs as sparse symmetric matrices of weights, and their Laplacians.

W has :math:`w_{ij} > 0` where rows i and j are joined. Its Laplacian measures how much a function
on the rows changes along the edges,

.. math:: f^\top L f = \sum_{i<j} w_{ij} (f_i - f_j)^2, \qquad L = D - W, \quad d_i = \sum_j w_{ij},

and the normalised one, :math:`I - D^{-1/2} W D^{-1/2}`, the same for :math:`D^{1/2} f`.
"""

from __future__ import annotations

from itertools import pairwise
from typing import Any, Literal, TypeAlias, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.neighbors import NearestNeighbors

from nearkin._types import DOUBLE_BYTES, Floats, Integers
from nearkin.errors import InputError
from nearkin.messages import notice
from nearkin.rows import validation
from nearkin.rows.distances import centre, middle
from nearkin.rows.parallel import one_blas_thread, rows_per_block, split_range
from nearkin.rows.sparse import is_sparse
from nearkin.spaces.kernels import Rows, normalize_rows
from nearkin.spaces.neighbors import SEARCH_MEMORY, SEARCH_MODES, SearchMode, find_nearest_others

Metric: TypeAlias = Literal["euclidean", "cosine"]
Weight: TypeAlias = Literal["binary", "heat", "cosine"]

METRICS = ("euclidean", "cosine")
WEIGHTS = ("binary", "heat", "cosine")
# The least weight of an edge: joined rows stay joined, however far apart or unlike they are. Chosen
# by hand, above the rounding of a Laplacian.
_LEAST_WEIGHT = 1e-10
# Rounding of symmetric computations, relative to the largest weight.
_SYMMETRIC = 1e-10
# Bytes of an entry of a sparse row: its number, its column and what a product makes of them.
_ENTRY_BYTES = 24
# Digits to which directions of rows must agree to be equal under the cosine metric: what rounding
# leaves of float64.
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
    """Join every row with its nearest others: weights (n, n), symmetric with zero diagonal.

    With k > n − 1 neighbours the complete graph; a row is never its own neighbour. ``"cosine"``
    compares rows of unit length; rows of zeros stay isolated, with a warning. Edges weigh 1, or
    ``exp(−d² / σ²)`` with σ² the mean of d² over all edges (``"heat"``), or the cosine of the two
    rows; the last two at least 1e-10. ``mutual`` asks that each names the other. The approximate
    search compares rows of near cells, which finds 99 of 100 neighbours; ``"auto"`` takes it for
    dense rows from 50 000 on.

    Exact: O(n² d) time; memory for a copy of the rows, and blocks that stay below 1 GB, and far
    below if the rows are dense.
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
    """Join all pairs of rows no further apart than ``radius``; weights as :func:`neighbor_graph`.

    With ``metric="cosine"`` an angle φ is a distance of ``2 sin(φ/2)``. Warns of rows without any
    other in their ball. O(n² d) time, and some 50 bytes of memory for each edge.
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
    """Check weights of a graph, and return them without diagonal, symmetric to the last bit."""
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
    """Find each row's nearest others in Euclidean distance, n×k row numbers with k below n."""
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
    """Sort pairs of rows, each once, lower row first; and count how often each was named."""
    low, high = np.minimum(first, second).astype(np.int64), np.maximum(first, second)
    number, named = np.unique(low * n + high, return_counts=True)  # counting sorts: no hashing
    return number // n, number % n, named


def _check_points(X: Rows, metric: str, weight: str) -> tuple[Rows, Integers]:
    """Check rows, and scale them for the cosine metric; return which of them are not zero."""
    _check_choice("metric", metric, METRICS)
    _check_choice("weight", weight, WEIGHTS)
    X = validation.check_input(X, accept_sparse="csr")
    if is_sparse(X):
        X = sp.csr_array(X)  # of a csr_matrix, * would be the matrix product
    if metric == "euclidean":
        return X, np.arange(X.shape[0])
    X = normalize_rows(X)
    kept = np.flatnonzero(_squared_norms(X) > 0)
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
    """Build a graph of the named pairs (i, j), or only of those named from both ends."""
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
    """Sort indices, and store them in 32 bits if these can hold them, as some routines need."""
    W.sort_indices()
    if max(W.nnz, *W.shape) <= np.iinfo(np.int32).max:
        W.indices, W.indptr = W.indices.astype(np.int32), W.indptr.astype(np.int32)
    return W


def _edge_weights(X: Rows, low: Integers, high: Integers, weight: str) -> Floats:
    """Weights of edges, by the rows that they join."""
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
            values[part] = _squared_norms(here.astype(np.float64) - there)
    if weight == "heat":
        mean = values.mean()
        values = np.exp(-values / mean) if mean > 0 else np.ones(len(values))
    return np.maximum(values, _LEAST_WEIGHT)


def _squared_norms(X: Rows) -> Floats:
    """Squared lengths of dense or sparse rows."""
    return _row_sums(X * X)


def _row_sums(X: Rows) -> Floats:
    """Sums of dense or sparse rows, as an array."""
    return np.asarray(X.sum(axis=1), dtype=np.float64).ravel()


def average_equal_rows(X: Rows, Z: Floats, metric: str = "euclidean") -> Floats:
    """Replace coordinates of equal rows of X by their mean: no metric can tell such rows apart.

    Under the metric ``"cosine"`` rows of one direction are equal, to twelve digits.
    """
    rows: Any = X
    if is_sparse(X):
        rows = cast(Any, sp.csr_array)(X, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
    if metric == "cosine":
        rows = normalize_rows(rows)
        entries = rows.data if is_sparse(X) else rows
        np.round(entries, _EQUAL_DIGITS, out=entries)
    number = _number_equal_rows(rows)
    if number.max() + 1 == len(Z):
        return Z
    sums = np.zeros((number.max() + 1, Z.shape[1]))
    np.add.at(sums, number, Z)
    return np.asarray((sums / np.bincount(number)[:, None])[number])


def _number_equal_rows(X: Any) -> NDArray[np.integer]:
    """Number rows from 0, equal rows alike; sparse rows are in canonical form."""
    if not is_sparse(X):
        # NumPy 2.0 gives a column.
        return np.unique(X, axis=0, return_inverse=True)[1].ravel()
    rows: Any = X
    seen: dict[tuple[bytes, bytes], int] = {}
    entries = [slice(*ends) for ends in pairwise(rows.indptr)]
    keys = [(rows.indices[some].tobytes(), rows.data[some].tobytes()) for some in entries]
    return np.array([seen.setdefault(key, len(seen)) for key in keys])
