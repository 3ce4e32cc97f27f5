"""A kernel's feature space as learners see it: landmarks, and the leading directions among them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils._param_validation import Interval, StrOptions

from nearkin.extension import Extension, KernelLandmarks, LocalExtension, NystroemExtension
from nearkin.kernels import (
    GAMMA_RULES,
    KERNEL_NAMES,
    Floats,
    Kernel,
    KernelFunction,
    Rows,
    bind_kernel,
    center_kernel,
)
from nearkin.landmarks import STRATEGIES, choose_landmarks
from nearkin.linalg import leading_eigenpairs

# Every row as a landmark means an n×n matrix: beyond this many rows it must be asked for.
_EXACT_ROWS = 15_000
# Points of pairs are landmarks up to this number, or n_landmarks where that is more.
_PAIR_LANDMARKS = 2000

# What scikit-learn checks of the parameters that all learners with a kernel have.
PARAMETER_CONSTRAINTS: dict[str, list[Any]] = {
    "n_landmarks": [Interval(Integral, 1, None, closed="left"), None],
    "landmarks": [StrOptions(set(STRATEGIES)), "array-like"],
    "kernel": [StrOptions(set(KERNEL_NAMES)), callable],
    "gamma": [StrOptions(set(GAMMA_RULES)), Interval(Real, 0, None, closed="neither")],
    "degree": [Interval(Real, 1, None, closed="left")],
    "coef0": [Interval(Real, 0, None, closed="left")],
    "rank_tol": [Interval(Real, 0, 1, closed="left"), None],
    "n_components": [Interval(Integral, 1, None, closed="left"), None],
    "n_neighbors": [Interval(Integral, 1, None, closed="left")],
    "extension": [StrOptions({"local", "nystroem"})],
    "random_state": ["random_state"],
}


@dataclass(frozen=True)
class FeatureSpace:
    """Leading directions of the landmarks in feature space.

    Attributes
    ----------
    kernel : Kernel
    rows : int ndarray of shape (m,)
        Row numbers of the landmarks.
    landmarks : KernelLandmarks
    eigenvalues : ndarray of shape (q,)
        Of the landmarks' centred kernel matrix, decreasing.
    directions : ndarray of shape (m, q)
        Its unit eigenvectors.
    """

    kernel: Kernel
    rows: NDArray[np.int64]
    landmarks: KernelLandmarks
    eigenvalues: Floats
    directions: Floats

    def extension(self, kind: str, n_neighbors: int) -> Extension:
        """The map from rows to weights over the landmarks, ``"local"`` or ``"nystroem"``."""
        if kind == "nystroem":
            floor = np.where(self.eigenvalues > 0, self.eigenvalues, 1.0)
            return NystroemExtension(self.landmarks, floor, self.directions)
        return LocalExtension(self.landmarks, n_neighbors)


def build_feature_space(
    X: Rows,
    points: NDArray[np.integer],
    *,
    kernel: str | KernelFunction,
    gamma: str | float,
    degree: float,
    coef0: float,
    n_landmarks: int | None,
    landmarks: str | ArrayLike,
    rank_tol: float,
    rng: np.random.RandomState,
) -> FeatureSpace:
    """Settle the kernel, choose landmarks, and find the directions above ``rank_tol``.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or kernel matrix of shape (n, n)
    points : int ndarray
        Rows named in pairs, landmarks in any case.
    kernel, gamma, degree, coef0, n_landmarks, landmarks, rank_tol
        As in :class:`nearkin.KernelBeta`.
    rng : RandomState

    Warns
    -----
    UserWarning
        If all landmarks coincide. There is one direction then, with eigenvalue 0.
    """
    bound = bind_kernel(kernel, X, gamma=gamma, degree=degree, coef0=coef0, random_state=rng)
    rows = _landmark_rows(X, bound, points, n_landmarks, landmarks, rng)
    if bound.name == "precomputed":
        seen = KernelLandmarks(bound, X[np.ix_(rows, rows)], columns=rows)
    else:
        seen = KernelLandmarks(bound, X[rows])
    K = seen.kernel_matrix()
    noise = 8 * float(np.abs(K).max() * np.finfo(np.float64).eps)
    eigenvalues, directions = leading_eigenpairs(center_kernel(K), rank_tol, noise)
    if len(eigenvalues) == 0:
        warnings.warn(
            "all landmarks coincide in feature space: every learned distance is zero. "
            "Are the rows of X identical, or its columns constant?",
            UserWarning,
            stacklevel=4,  # past fit and its decorator
        )
        eigenvalues, directions = np.zeros(1), np.zeros((len(rows), 1))
    return FeatureSpace(bound, rows, seen, eigenvalues, directions)


def _landmark_rows(
    X: Rows,
    kernel: Kernel,
    points: NDArray[np.integer],
    n_landmarks: int | None,
    landmarks: str | ArrayLike,
    rng: np.random.RandomState,
) -> NDArray[np.int64]:
    n = X.shape[0]
    if n_landmarks is None and isinstance(landmarks, str):
        if n > _EXACT_ROWS:
            raise ValueError(
                f"n_landmarks=None makes each of the {n} rows a landmark: an {n}×{n} matrix "
                f"of {8e-9 * n * n:.1f} GB and O(n³) time. Set n_landmarks, for example to "
                f"1000, or n_landmarks={n} if that is meant."
            )
        return np.arange(n)
    wanted = n_landmarks or 0
    most = max(wanted, _PAIR_LANDMARKS)
    if len(points) > most:
        points = np.sort(rng.choice(points, most, replace=False))
    return choose_landmarks(X, wanted, landmarks, kernel=kernel, include=points, random_state=rng)
