"""Pictures that follow one another: centred, of one size, and turned so that points move little."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats

Plane = NDArray[np.float32]


def of_unit_size(coordinates: Floats) -> NDArray[np.float64]:
    """Centred, with a mean squared distance of 1 from the centre; zeros if all points coincide.

    Parameters
    ----------
    coordinates : ndarray of shape (n, 2)
    """
    centred = coordinates - coordinates.mean(axis=0, dtype=np.float64)
    size = np.sqrt((centred**2).sum(axis=1).mean())
    # Rounding alone may keep equal points apart.
    if size <= 1e-6 * np.abs(coordinates).max(initial=0.0):
        return np.zeros_like(centred)
    return np.asarray(centred / size)


def aligned(coordinates: Floats, before: Floats | None) -> NDArray[np.float32]:
    r"""A picture of unit size, turned or mirrored towards the one before.

    The orthogonal R that brings the points nearest to where they were,

    .. math:: \min_R \sum_i \|R^\top z_i - b_i\|^2 = U V^\top, \quad Z^\top B = U S V^\top .

    Principal axes are determined up to their signs, and two of nearly equal variance up to a
    rotation: without this the points would flip and spin from answer to answer.

    Parameters
    ----------
    coordinates : ndarray of shape (n, 2)
    before : ndarray of shape (n, 2), optional

    Returns
    -------
    float32 ndarray of shape (n, 2)

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.teaching.plane import aligned
    >>> before = aligned(np.array([[1.0, 0], [-1, 0], [0, 3], [0, -3]]), None)
    >>> bool(np.allclose(aligned(before[:, ::-1] * [1, -1], before), before))
    True
    """
    centred = of_unit_size(coordinates)
    if before is None:
        return centred.astype(np.float32)
    U, _, Vt = np.linalg.svd(centred.T @ np.asarray(before, dtype=np.float64))
    return np.asarray(centred @ (U @ Vt), dtype=np.float32)
