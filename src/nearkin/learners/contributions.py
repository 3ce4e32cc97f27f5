"""Which columns two rows are far apart in, under a learned metric."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.rows.arrays import Floats
from nearkin.rows.sparse import dense
from nearkin.spaces.maps import Affine, Composed, Identity, Joined, Map, Scaled


def shares_by_column(learned: Map, A: Floats, B: Floats, groups: NDArray[Any]) -> Floats:
    r"""The part that each column has in squared distances, row by row.

    Of a linear map M and :math:`δ = a - b`, column g has the part
    :math:`\sum_{j \in g} δ_j (M^T M δ)_j / \|M δ\|^2`. These sum to 1; one may be negative, where
    a column makes up for others. Of other maps it is by how much the squared distance falls, as a
    share, if b has a's values in that column; these need not sum to 1.

    Parameters
    ----------
    learned : Map
    A, B : ndarray of shape (n, p)
    groups : int ndarray of shape (p,)
        Numbers of the columns that coordinates are of.

    Returns
    -------
    ndarray of shape (n, g)
        Zeros where two rows are not apart.
    """
    n_groups = int(groups.max()) + 1
    matrix = matrix_of(learned, A.shape[1])
    if matrix is not None:
        differences = A - B
        image = differences @ matrix.T
        whole = np.sum(image**2, axis=1)
        of_coordinates = differences * (image @ matrix)
        found = of_coordinates @ (groups[:, None] == np.arange(n_groups)).astype(np.float64)
    else:
        image = dense(learned.apply(A))
        whole = np.sum((image - dense(learned.apply(B))) ** 2, axis=1)
        found = np.empty((len(A), n_groups))
        for g in range(n_groups):
            agreeing = np.where(groups == g, A, B)
            found[:, g] = whole - np.sum((image - dense(learned.apply(agreeing))) ** 2, axis=1)
    return np.asarray(
        np.divide(found, whole[:, None], out=np.zeros_like(found), where=whole[:, None] > 0)
    )


def matrix_of(learned: Map, n_columns: int) -> Floats | None:
    """The matrix of a map that is linear but for where it begins, of shape (q, p), or None."""
    match learned:
        case Identity():
            return np.eye(n_columns)
        case Scaled(scale):
            return np.diag(1 / np.asarray(scale, dtype=np.float64))
        case Affine(matrix):
            return np.asarray(matrix, dtype=np.float64)
        case Composed(maps):
            whole = np.eye(n_columns)
            for one in maps:
                part = matrix_of(one, len(whole))
                if part is None:
                    return None
                whole = part @ whole
            return whole
        case Joined(maps, factors):
            parts = [matrix_of(one, n_columns) for one in maps]
            known = [f * part for f, part in zip(factors, parts, strict=True) if part is not None]
            return np.vstack(known) if len(known) == len(parts) else None
    return None
