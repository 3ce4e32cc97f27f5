"""Sums over the rows of each class, for rows in memory, on a device, in files or elsewhere."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

from nearkin.rows import access, device_math, devices
from nearkin.rows.arrays import Floats, Integers


def class_sums(
    X: Any,
    classes: Integers,
    n_classes: int,
    coordinates: Callable[[Any], Any] = lambda rows: rows,
    origins: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Sums of the rows of each class, and of their squares.

    Parameters
    ----------
    X : array of shape (n, d), sparse matrix or RemoteRows
    classes : int ndarray of shape (n,)
        Class number of each row; negative for rows that are left out.
    n_classes : int
    coordinates : callable, optional
        Of a block of rows; the rows themselves by default.
    origins : ndarray of shape (n_classes, q), optional
        What to subtract from the rows of each class first; for NumPy's rows and remote ones.

    Returns
    -------
    sums, squares : ndarray of shape (n_classes, q), float64
    """

    def of_block(block: Any, number: Integers) -> tuple[Floats, Floats]:
        known = np.flatnonzero(number >= 0)
        z = coordinates(access.take(block, known))
        if devices.is_foreign(z):
            return device_math.sums_by_class(z, number[known], n_classes)
        z = z.astype(np.float64)
        if origins is not None:
            z -= origins[number[known]]
        members = sp.csr_array(
            (np.ones(len(known)), (number[known], np.arange(len(known)))),
            shape=(n_classes, len(known)),
        )
        return members @ z, members @ z**2

    sums, squares = access.reduced(X, of_block, classes)
    return sums, squares


def within_scatters(
    X: Any,
    classes: Integers,
    means: Floats,
    weight: Floats,
    coordinates: Callable[[Any], Any] = lambda rows: rows,
) -> Floats:
    """``Σ_i weight_i (x_i − mean)(x_i − mean)ᵀ`` around the mean of each row's class.

    Parameters
    ----------
    X, classes, coordinates
        As for :func:`class_sums`.
    means : ndarray of shape (c, q)
    weight : ndarray of shape (c, k)
        k weights for the rows of each class: as many matrices are returned.

    Returns
    -------
    ndarray of shape (k, q, q), float64
    """

    def of_block(block: Any, number: Integers) -> tuple[Floats]:
        known = np.flatnonzero(number >= 0)
        z, own = coordinates(access.take(block, known)), number[known]
        if devices.is_foreign(z):
            return (device_math.scatters_by_class(z, own, means, weight),)
        centered = z - means[own]
        return (np.stack([(w[own] * centered.T) @ centered for w in weight.T]),)

    return np.asarray(access.reduced(X, of_block, classes)[0])
