"""Euclidean distances between two rows each, wherever the rows are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.rows import access, devices
from nearkin.rows import sparse as sparse_rows
from nearkin.rows.blocks import block_rows, blocks

Floats = NDArray[np.floating]


def linked_distances(Z: Floats, links: NDArray[np.integer]) -> NDArray[np.float64]:
    """Euclidean distance between the two rows of Z that each link names."""
    return rowwise_distances(Z, Z, links[:, 0], links[:, 1])


def rowwise_distances(
    A: Floats, B: Floats, rows_A: Any = slice(None), rows_B: Any = slice(None)
) -> NDArray[np.float64]:
    """Euclidean distance between A and B row by row, by blocks and without cancellation."""
    if devices.is_foreign(A):
        found: NDArray[np.float64] = _foreign_rowwise(A, B, rows_A, rows_B)
        return found
    rows_A, rows_B = np.arange(A.shape[0])[rows_A], np.arange(B.shape[0])[rows_B]
    if sparse_rows.is_sparse(A):
        return sparse_rows.rowwise_distances(A, B, rows_A, rows_B)
    out = np.empty(len(rows_A))
    for block in blocks(len(rows_A), block_rows(16 * A.shape[1])):
        difference = A[rows_A[block]].astype(np.float64) - B[rows_B[block]]
        out[block] = np.sqrt((difference**2).sum(axis=1))
    return out


def _foreign_rowwise(A: Any, B: Any, rows_A: Any, rows_B: Any) -> Any:
    xp = devices.namespace(A)
    picked = [
        rows if isinstance(rows, slice) else devices.moved(rows, A) for rows in (rows_A, rows_B)
    ]
    n = A.shape[0] if isinstance(rows_A, slice) else len(rows_A)
    out = xp.empty(n, dtype=devices.wide(A[:1]).dtype, device=A.device)
    for block in access.blocks(out, 40 * A.shape[1]):
        left, right = (
            Z[block] if isinstance(rows, slice) else xp.take(Z, rows[block], axis=0)
            for Z, rows in zip((A, B), picked, strict=True)
        )
        difference = devices.wide(left) - devices.wide(right)
        out[block] = xp.sqrt(xp.sum(difference * difference, axis=1))
    return out
