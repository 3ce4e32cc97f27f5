"""Euclidean distances between two rows each, wherever the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.rows import access, devices
from nearkin.rows import sparse as sparse_rows
from nearkin.rows.arrays import Floats

# Entries of prepared rows are at most so large, whatever the data: squares must not overflow.
FAR = 1e15


def linked_distances(Z: Floats, links: NDArray[np.integer]) -> NDArray[np.float64]:
    """Euclidean distance between the two rows of Z that each link names."""
    found: NDArray[np.float64] = rowwise_distances(Z, Z, links[:, 0], links[:, 1])
    return found


def rowwise_distances(A: Any, B: Any, rows_A: Any = None, rows_B: Any = None) -> Any:
    """Euclidean distance between A and B row by row, by blocks and without cancellation.

    See :func:`squared_rowwise_distances`.
    """
    squared = squared_rowwise_distances(A, B, rows_A, rows_B)
    return devices.namespace(squared).sqrt(squared)


def squared_rowwise_distances(A: Any, B: Any, rows_A: Any = None, rows_B: Any = None) -> Any:
    """Squared Euclidean distance between A and B row by row.

    Parameters
    ----------
    A, B : arrays or sparse matrices of shape (n_a, d) and (n_b, d)
        Of one kind, in one place.
    rows_A, rows_B : int array of shape (n,), optional
        Numbers of the rows; all of them by default.

    Returns
    -------
    array of shape (n,)
        In float64 where that is known.
    """
    if sparse_rows.is_sparse(A):
        rows_A = np.arange(A.shape[0]) if rows_A is None else rows_A
        rows_B = np.arange(B.shape[0]) if rows_B is None else rows_B
        return sparse_rows.squared_rowwise_distances(A, B, rows_A, rows_B)
    xp = devices.namespace(A)
    numbers = [None if rows is None else devices.moved(rows, A) for rows in (rows_A, rows_B)]
    n = A.shape[0] if rows_A is None else len(rows_A)
    out = devices.empty((n,), A, devices.wide(A[:0, :]).dtype)
    for block in access.blocks(out, 40 * A.shape[1]):
        left, right = (
            Z[block, :] if rows is None else xp.take(Z, rows[block], axis=0)
            for Z, rows in zip((A, B), numbers, strict=True)
        )
        difference = devices.wide(left) - devices.wide(right)
        out[block] = xp.sum(difference * difference, axis=1)
    return out
