"""Sparse rows: their distances, and the few axes that linear metrics are learned along.

Rows of text have tens of thousands of columns, of which each fills some dozens. None of these
functions makes an array of all rows and all columns.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.utils.extmath import randomized_svd

from nearkin._types import Doubles, Floats
from nearkin.messages import notice
from nearkin.rows.backends import evenly_spaced

# Columns that stand for those of sparse rows where distances need be about right only.
_PROJECTED = 200
# Sparse rows of more columns than this are seen along as many leading axes.
MOST_AXES = 300
# Rows that these are found from, at most; axes with less than this share of the first are noise.
_MOST_ROWS = 20_000
_LEAST_SHARE = 1e-8
# Squared distances below this share of squared lengths are of differences, to keep digits.
_CLOSE = 1e-4
_ROUNDING = 1e-13
# Pairs whose differences are held at a time.
_PAIRS = 2**15


def is_sparse(X: Any) -> bool:
    """Whether X is a sparse matrix or array of SciPy."""
    return bool(sparse.issparse(X))


def to_canonical(X: Any) -> Any:
    """Sparse rows in canonical form: CSR, each entry stored once, in order, no zeros stored.

    Indices have 32 bits where these can hold them, since some routines know no longer ones. X
    itself, never changed, if it has that form.
    """
    X = X.tocsr()
    if not (X.has_canonical_format and X.data.all()):
        X = X.copy()
        X.sum_duplicates()
        X.eliminate_zeros()
    if X.indices.dtype == np.int64 and max(X.nnz, *X.shape) <= np.iinfo(np.int32).max:
        short = X.indices.astype(np.int32), X.indptr.astype(np.int32)
        X = type(X)((X.data, *short), shape=X.shape)
    return X


def to_plain(Z: Any) -> Any:
    """An embedding as NumPy or canonical sparse array, whatever ``set_output`` made of it."""
    return to_canonical(sparse.csr_array(Z)) if is_sparse(Z) else np.asarray(Z)


def to_dense(rows: Any) -> Any:
    """A few rows as NumPy array."""
    return rows.toarray() if is_sparse(rows) else rows


def project_if_wide(Z: Any, rng: np.random.RandomState) -> Any:
    """An embedding (n, q) as dense array; wide sparse rows by a random projection, q = 200."""
    Z = to_plain(Z)
    if not is_sparse(Z) or Z.shape[1] <= _PROJECTED:
        return to_dense(Z)
    return np.asarray(Z @ (rng.standard_normal((Z.shape[1], _PROJECTED)) / np.sqrt(_PROJECTED)))


def leading_axes(X: Any, random_state: Any) -> Floats | None:
    """Leading right singular vectors (r, d) of sparse rows, r ≤ 300; None for d ≤ 300 columns.

    Of at most 20 000 evenly spaced rows. Time O(n r k) for k entries a row, and O((n + d) r²);
    memory for O((n + d) r) numbers.
    """
    n, d = X.shape
    if d <= MOST_AXES:
        return None
    if n > _MOST_ROWS:
        X = X[evenly_spaced(n, _MOST_ROWS)]
    X = X.astype(np.float64)
    # Lengths of rows neither overflow nor vanish when squared.
    largest = float(abs(X).max()) if X.nnz else 0.0
    if largest == 0:
        return np.eye(1, d)
    wanted = min(MOST_AXES, *X.shape)
    _, values, axes = randomized_svd(X / largest, wanted, n_iter=5, random_state=random_state)
    return np.asarray(axes[values > _LEAST_SHARE * values[0]])


def project_along(X: Any, axes: Floats | None) -> Doubles:
    """Coordinates (n, r) of sparse rows along axes (r, d), or all their columns if axes is None."""
    if axes is None:
        return np.asarray(X.toarray(), dtype=np.float64)
    return np.asarray(X.astype(np.float64) @ axes.T)


def are_all_equal(X: Any) -> bool:
    """Whether all rows of a sparse matrix are the same."""
    low, high = X.min(axis=0), X.max(axis=0)
    return bool((low != high).nnz == 0)


def column_means(X: Any) -> Doubles:
    """Mean (d,) of each column, in float64."""
    return np.asarray(np.asarray(X.sum(axis=0, dtype=np.float64)).ravel() / X.shape[0])


def variances(X: Any) -> Floats:
    """Variance (d,) of each sparse column, zeros included."""
    X = sparse.csc_array(X).astype(np.float64)
    (n, d), means, filled = X.shape, column_means(X), np.diff(X.indptr)
    column = np.repeat(np.arange(d), filled)
    squares = np.bincount(column, (X.data - means[column]) ** 2, minlength=d)
    return np.asarray((squares + (n - filled) * means**2) / n)


def squared_norms(X: Any) -> Floats:
    """Squared length (n,) of each row."""
    X = X.astype(np.float64)
    return np.asarray(X.multiply(X).sum(axis=1)).ravel()


def sparse_distances(A: Any, B: Any) -> Floats:
    """Euclidean distances (n_a, n_b) between all rows of A and all rows of B, in float64.

    By products, and for near rows by differences, which lose no digits: equal rows have distance 0.
    """
    A, B = A.astype(np.float64), B.astype(np.float64)
    lengths = squared_norms(A)[:, None] + squared_norms(B)
    squared = lengths - 2 * (A @ B.T).toarray()
    i, j = np.nonzero(squared <= _CLOSE * lengths)
    found: Floats = np.sqrt(np.maximum(squared, 0))
    found[i, j] = np.sqrt(squared_pair_distances(A, B, i, j))
    return found


def weighted_squared_distances(X: Any, points: Floats, weights: Floats) -> Floats:
    """Squared distances (n, k) of sparse rows to dense points, columns weighted; 0 for rounding."""
    X = X.astype(np.float64)
    lengths = (X.multiply(X) @ weights)[:, None] + points**2 @ weights
    squared: Floats = lengths - 2 * (X @ (weights * points).T)
    squared[squared <= _ROUNDING * lengths] = 0.0
    return squared


def squared_pair_distances(A: Any, B: Any, rows_A: Any, rows_B: Any) -> Doubles:
    """Squared distances (k,) between row ``rows_A[t]`` of A and row ``rows_B[t]`` of B."""
    out = np.empty(len(rows_A))
    A, B = sparse.csr_array(A), sparse.csr_array(B)
    for start in range(0, len(out), _PAIRS):
        some = slice(start, start + _PAIRS)
        difference = A[rows_A[some]].astype(np.float64) - B[rows_B[some]].astype(np.float64)
        out[some] = squared_norms(difference)
    return out


# Rows of no more columns than this are taken as they are.
MOST_COLUMNS = 1000
# Axes, if not all directions are kept, and the rows that these are found from at most.
_LEADING_AXES = 300
_ROWS_FOR_AXES = 2000
# Directions with less than this share of the largest singular value are rounding.
_LEAST_SPREAD = 1e-10


def axes_of_wide_rows(
    X: Any, mean: Doubles, random_state: Any, most_directions: int = MOST_COLUMNS
) -> Doubles | None:
    """Orthonormal axes (r, d) to project very wide rows onto; None for d ≤ 1000 columns.

    Up to ``most_directions`` rows, all directions in which they differ; beyond, the leading ones of
    2000 of them, 300 at most, with a notice of what is lost. O(n² d) time and O(n d) memory for all
    directions; for r leading ones O(min(n, 2000) d r).
    """
    n, d = X.shape
    if d <= MOST_COLUMNS:
        return None
    some = X if n <= _ROWS_FOR_AXES else X[evenly_spaced(n, _ROWS_FOR_AXES)]
    centred = some.astype(np.float64) - mean
    largest = float(np.abs(centred).max())
    if largest == 0:
        return np.eye(1, d)
    centred /= largest  # so that no square overflows or vanishes
    if n <= most_directions:
        basis, corner = np.linalg.qr(centred.T)
        turned, values, _ = np.linalg.svd(corner)
        kept = values > _LEAST_SPREAD * values[0]
        return np.ascontiguousarray((basis @ turned[:, kept]).T)
    wanted = min(_LEADING_AXES, most_directions, len(centred), d)
    _, values, axes = randomized_svd(centred, wanted, n_iter=2, random_state=random_state)
    axes = axes[values > _LEAST_SPREAD * values[0]]
    total = float((centred**2).sum())
    held = float(((centred @ axes.T) ** 2).sum())
    if held <= (1 - _LEAST_SPREAD) * total:
        notice(
            f"X has {d} columns, more than {MOST_COLUMNS}, and is seen along {len(axes)} axes, "
            f"which hold {held / total:.0%} of its variance. Give fewer columns, such as "
            "scikit-learn's PCA or SelectKBest leave, to choose what is kept.",
        )
    return np.asarray(axes)
