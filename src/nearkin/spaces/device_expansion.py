"""Sums of kernels on the device of the rows, by a fused kernel where single precision will do."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin._types import Floats
from nearkin.rows import access, backends, device_math
from nearkin.spaces.kernel_landmarks import KernelLandmarks, dense_rows

# How large rounding of single precision may be, relative to the largest coordinate.
_ROUNDING = 2e-6


def expanded(
    landmarks: KernelLandmarks, X: Any, coefficients: Floats, column_means: Floats | None
) -> Any:
    """Kernel values against the landmarks, centred if their means are given, times coefficients.

    None where it has to be found in another way: without a device or a Gaussian kernel, or if
    coefficients of both signs are so large that their sum needs more digits.
    """
    if landmarks.kernel.name != "rbf" or landmarks.columns is not None or not device_math.usable(X):
        return None
    coefficients = np.asarray(coefficients, dtype=np.float64)
    constant = np.zeros(coefficients.shape[1])
    if column_means is not None:  # centring of values is a centring of what they multiply
        coefficients = coefficients - coefficients.mean(axis=0)
        constant = -(column_means - column_means.mean()) @ coefficients
    largest = np.abs(landmarks.kernel_matrix() @ coefficients + constant).max()
    if 2.0**-21 * np.abs(coefficients).sum(axis=0).max() > _ROUNDING * largest:
        return None
    return device_math.attempted(X, lambda: _by_kernel(landmarks, X, coefficients, constant))


def _by_kernel(landmarks: KernelLandmarks, X: Any, coefficients: Floats, constant: Floats) -> Any:
    from nearkin.rows.triton_search import Search
    from nearkin.spaces import triton_expansion

    rows = device_math.tensor(backends.moved(np.ascontiguousarray(dense_rows(landmarks.rows)), X))
    center = device_math.tensor(backends.moved(landmarks.middle, X, "float64"))
    search = Search(rows, center, float(np.sqrt(landmarks.kernel.gamma)))
    table, added = (
        device_math.tensor(backends.moved(part, X)) for part in (coefficients, constant)
    )
    out = backends.empty((X.shape[0], coefficients.shape[1]), X)

    def work(part: slice) -> None:
        found = triton_expansion.expanded(device_math.tensor(X[part, :]), search, table, added)
        out[part, :] = device_math.as_given(found, X)

    access.for_each_block(work, X, search.bytes_per_row(0) + 4 * coefficients.shape[1])
    return out
