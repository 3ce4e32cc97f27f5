r"""Rows around their middle: far from zero, squares lose the digits that tell rows apart.

Fast distances are :math:`\|a\|^2 - 2 a^\top b + \|b\|^2`, and of numbers near a billion no digit
of a difference of one survives that. Distances do not change if all rows move, so whoever squares
rows or multiplies them with each other moves them here first. By what they move is found of the
rows of ``fit``, never of those of a call: what becomes of a row must not depend on the others.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics.pairwise import euclidean_distances

from nearkin.rows import access, device_math, devices
from nearkin.rows.arrays import Doubles, Floats
from nearkin.rows.sparse import is_sparse, squared_norms

# Columns are far from zero if it is more than so many times as far as they are wide.
_FAR = 16.0


def middle(X: Any, *, if_far: bool = False) -> Doubles:
    """Where most rows are: the median of each column, over 101 evenly spaced rows.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d)
    if_far : bool, default=False
        Give 0 for columns that are not far from it, beside how wide they are: rows of which none
        is far need not be moved, which spares a copy. So it is for sparse rows in any case, which
        moving fills up.

    Returns
    -------
    ndarray of shape (d,)
        Entries of X, so that rows less it are exact where they are near. A few rows far out do not
        move it, as they would move a mean.
    """
    n, d = X.shape
    if n == 0:
        return np.zeros(d)
    if devices.is_foreign(X):
        return devices.to_numpy(access.middle(X)).astype(np.float64)
    rows = access.evenly_spaced(n, access.MIDDLE_ROWS)
    if not is_sparse(X):
        return _medians(X[rows], if_far)
    X = sp.csr_array(X)[rows]
    found = np.zeros(d)
    # Of all other columns, half the entries or more are 0.
    filled = np.flatnonzero(2 * np.bincount(X.indices, minlength=d) > len(rows))
    if len(filled):
        found[filled] = _medians(X[:, filled].toarray(), if_far=True)
    return found


def _medians(rows: Floats, if_far: bool) -> Doubles:
    ordered = np.sort(rows, axis=0).astype(np.float64)
    found = ordered[len(rows) // 2]
    if not if_far:
        return np.asarray(found)
    width = ordered[(3 * len(rows)) // 4] - ordered[len(rows) // 4]
    # Columns without width do no harm but beside the widths of all others.
    width = np.where(width > 0, width, np.linalg.norm(width))
    return np.where(np.abs(found) > _FAR * width, found, 0.0)


def centred(X: Any, middle: Floats) -> Any:
    """Rows less their middle, in their own type; sparse ones stay sparse.

    A sparse matrix gets an entry in each row for the columns whose middle is not 0.
    """
    if not middle.any():
        return X
    if devices.is_foreign(X):
        return X - devices.moved(middle, X)
    if is_sparse(X):
        columns = np.flatnonzero(middle)
        n, k = X.shape[0], len(columns)
        entries = np.tile(middle[columns], n), np.tile(columns, n), np.arange(0, n * k + 1, k)
        return sp.csr_array(X - sp.csr_array(entries, shape=X.shape)).astype(X.dtype)
    return np.subtract(X, middle, dtype=np.float64).astype(X.dtype, copy=False)


def mean_row(X: Any) -> Doubles:
    """Mean of the rows of an array or a sparse matrix, in float64; of equal rows, exactly that row.

    By blocks of rows.
    """
    origin = middle(X)

    def sums(rows: Any) -> tuple[Doubles]:
        moved = centred(rows, origin)
        return (np.asarray(moved.sum(axis=0, dtype=np.float64)).ravel(),)

    return np.asarray(origin + access.reduced(X, sums)[0] / X.shape[0])


def squared_distances(A: Any, B: Any) -> Any:
    """Squared Euclidean distances between all rows of A and all rows of B, around B's middle.

    Parameters
    ----------
    A, B : arrays or sparse matrices of shape (n_a, d) and (n_b, d)

    Returns
    -------
    array of shape (n_a, n_b)
    """
    if devices.is_foreign(A):
        return device_math.squared_distances(A, B, access.middle(B))[0]
    return _squared_distances_and_lengths(A, B)[0]


def squared_distances_and_rounding(A: Any, B: Any) -> tuple[Any, Any]:
    """Squared distances, and for each row of A the size below which one is rounding.

    On the host distances that are rounding are 0 already, each by its own two rows: one row far
    out does not hide the differences of others.
    """
    if devices.is_foreign(A):
        return device_math.squared_distances(A, B, access.middle(B))
    squared, own, others = _squared_distances_and_lengths(A, B)
    rounding = 8 * float(np.finfo(squared.dtype).eps)
    squared[squared <= rounding * (own[:, None] + others)] = 0.0
    return squared, rounding * own


def _squared_distances_and_lengths(A: Any, B: Any) -> tuple[Any, Doubles, Doubles]:
    origin = middle(B)
    A, B = centred(A, origin), centred(B, origin)
    own, others = squared_lengths(A), squared_lengths(B)
    magnitude = own + others.max(initial=0.0)
    is_plain = all(isinstance(one, np.ndarray) and one.dtype == np.float64 for one in (A, B))
    if not is_plain or not np.isfinite(magnitude).all():
        return euclidean_distances(A, B, squared=True), own, others
    # As scikit-learn has it, without its checks, and in the memory of one matrix: new memory takes
    # as long as the product.
    squared = A @ (-2 * B).T
    squared += own[:, None]
    squared += others
    return np.maximum(squared, 0, out=squared), own, others


def squared_lengths(X: Any) -> Doubles:
    """Squared length of each row, in float64."""
    if devices.is_foreign(X):
        X = devices.wide(X)
        found: Doubles = devices.namespace(X).sum(X * X, axis=1)
        return found
    if is_sparse(X):
        return np.asarray(squared_norms(X))
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))
