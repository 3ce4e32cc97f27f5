"""A kernel's feature space as learners see it: landmarks, and the leading directions among them."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigvalsh
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from nearkin._types import Floats
from nearkin.errors import InputError, InputTypeError
from nearkin.messages import notice
from nearkin.rows import access, backends, validation
from nearkin.spaces.kernel_landmarks import KernelLandmarks
from nearkin.spaces.kernels import (
    GAMMA_RULES,
    KERNEL_NAMES,
    Kernel,
    KernelFunction,
    Rows,
    bind_kernel,
    center_kernel,
    check_kernel_matrix,
)
from nearkin.spaces.landmark_maps import Extension, LocalExtension, NystroemExtension
from nearkin.spaces.landmarks import STRATEGIES, choose_landmarks
from nearkin.spaces.linalg import largest_entry, leading_eigenpairs

# Every row as a landmark means an n×n matrix and O(n³) time: beyond so many rows that must be asked
# for, and there are so many landmarks unless it is.
EXACT_ROWS = 5000
USUAL_LANDMARKS = 1000
# Points of pairs are landmarks up to this number, or n_landmarks where that is more.
_PAIR_LANDMARKS = 2000
# A kernel matrix that is positive has no eigenvalue further below zero, as a share of the largest.
_LEAST_EIGENVALUE = -1e-4
# Entries of a unit vector that differ by no more are equal, up to rounding.
_EQUAL_ENTRIES = 1e-10

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
    "scale": ["boolean"],
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
        Of the landmarks' kernel matrix, decreasing.
    directions : ndarray of shape (m, q)
        Its unit eigenvectors.
    centered : bool
        Whether that matrix was centred.
    """

    kernel: Kernel
    rows: NDArray[np.int64]
    landmarks: KernelLandmarks
    eigenvalues: Floats
    directions: Floats
    centered: bool = True

    @property
    def random_spread(self) -> Floats | float:
        """Mean squared difference of two random landmarks along a direction, or along each.

        Centred unit vectors all have the same.
        """
        m = len(self.rows)
        if self.centered:
            return 2 / max(m - 1, 1)
        return np.asarray(2 * self.directions.var(axis=0, ddof=1))

    @property
    def weighted_directions(self) -> Floats:
        """Coordinates of the landmarks in feature space, before anything is learned."""
        return self.directions * np.sqrt(self.eigenvalues)

    def coordinates(self, X: Rows, n_neighbors: int) -> Floats:
        """Coordinates of the rows that the landmarks are of, in float64."""
        if len(self.rows) == X.shape[0]:  # every row is a landmark, at its own place
            return self.weighted_directions[np.argsort(self.rows)]
        F = self.extension("local", n_neighbors).embed(X, self.weighted_directions)
        return F.astype(np.float64)

    def extension(self, kind: str, n_neighbors: int) -> Extension:
        """The map from rows to weights over the landmarks, ``"local"`` or ``"nystroem"``."""
        if kind == "nystroem":
            floor = np.where(self.eigenvalues > 0, self.eigenvalues, 1.0)
            return NystroemExtension(self.landmarks, floor, self.directions)
        return LocalExtension(self.landmarks, n_neighbors)


def feature_space_of(
    learner: Any,
    X: Rows,
    points: NDArray[np.integer],
    rank_tol: float,
    rng: np.random.RandomState,
    *,
    center: bool = True,
) -> FeatureSpace:
    """Settle the learner's kernel, choose landmarks, and find the directions above ``rank_tol``.

    Parameters
    ----------
    learner : estimator
        With the parameters ``kernel``, ``gamma``, ``degree``, ``coef0``, ``n_landmarks`` and
        ``landmarks``.
    X : array or sparse matrix of shape (n, d), or kernel matrix of shape (n, n)
    points : int ndarray
        Rows named in pairs, landmarks in any case.
    rank_tol : float
    rng : RandomState
    center : bool, default=True
        Whether feature vectors have mean zero; otherwise directions are those of the kernel matrix
        as it is.

    Warns
    -----
    UserWarning
        If all landmarks coincide: there is one direction then, with eigenvalue 0. If a matrix
        that is not centred has negative eigenvalues: their directions are left out.
    """
    kernel = bind_kernel(
        learner.kernel,
        X,
        gamma=learner.gamma,
        degree=learner.degree,
        coef0=learner.coef0,
        random_state=rng,
    )
    rows = landmark_rows(X, kernel, points, learner.n_landmarks, learner.landmarks, rng)
    landmarks = seen_through(kernel, X, rows)
    K = landmarks.kernel_matrix(around_middle=center)
    noise = 8 * largest_entry(K) * float(np.finfo(np.float64).eps)
    if center:
        K = center_kernel(K, overwrite=True)
        eigenvalues, directions = leading_eigenpairs(K, rank_tol, noise)
    else:
        eigenvalues, directions = leading_eigenpairs(K, rank_tol, noise)
        _check_positive(K, eigenvalues, kernel)
        # Along a direction that is constant no two points differ, whatever its weight.
        told_apart = np.ptp(directions, axis=0) > _EQUAL_ENTRIES
        eigenvalues, directions = eigenvalues[told_apart], directions[:, told_apart]
    if len(eigenvalues) == 0:
        notice(
            "all landmarks coincide in feature space: every learned distance is zero. "
            "Are the rows of X identical, or its columns constant?",
        )
        # A centred direction, though of zeros only.
        return FeatureSpace(kernel, rows, landmarks, np.zeros(1), np.zeros((len(rows), 1)))
    return FeatureSpace(kernel, rows, landmarks, eigenvalues, directions, center)


def _check_positive(K: Floats, eigenvalues: Floats, kernel: Kernel) -> None:
    """Refuse a kernel matrix without positive eigenvalues, and tell of negative ones."""
    if len(eigenvalues) == 0:
        raise InputError(
            "the kernel matrix has no positive eigenvalue, and with center=False there is nothing "
            f"else to learn from: its entries are {K.min():g} to {K.max():g}. Is it the matrix of "
            "a kernel?"
        )
    if kernel.name not in ("precomputed", "callable"):
        return
    least = float(eigvalsh(K, subset_by_index=[0, 0])[0])
    if least < _LEAST_EIGENVALUE * eigenvalues[0]:
        notice(
            f"the kernel matrix is not positive: it has the eigenvalue {least:g} beside its "
            f"largest, {eigenvalues[0]:g}. Directions of negative eigenvalues are left out, and "
            "learned distances are those of the others."
        )


def seen_through(kernel: Kernel, X: Rows, rows: NDArray[np.integer]) -> KernelLandmarks:
    """Some rows of X as landmarks."""
    if kernel.name == "precomputed":
        return KernelLandmarks(kernel, X[np.ix_(rows, rows)], columns=rows)
    return KernelLandmarks(kernel, access.take_home(X, rows))


def rows_for_kernel(learner: Any, X: Any, *, reset: bool) -> Rows:
    """X as the learner's kernel takes it, in float32 or float64, or an error that says why not."""
    kernel = learner.kernel
    if backends.is_remote(X) and kernel == "precomputed":
        raise InputTypeError(
            "kernel='precomputed' takes arrays only, not rows that are read block by block: use a "
            "kernel that is computed from rows."
        )
    if backends.is_foreign(X) and (callable(kernel) or kernel == "precomputed"):
        raise InputTypeError(
            f"kernel={kernel!r} takes NumPy arrays only, got one of {backends.home(X)}: use a "
            "kernel that is computed from rows, by its name."
        )
    X = validation.validated(
        learner,
        X,
        accept_sparse=False if kernel == "precomputed" else "csr",
        # City-block distances know 32-bit indices only, and so may a callable.
        accept_large_sparse=kernel != "laplacian" and not callable(kernel),
        reset=reset,
        ensure_min_samples=2 if reset else 1,
    )
    if reset and kernel == "precomputed":
        check_kernel_matrix(X)
    return X


def with_kernel_tags(tags: Tags, kernel: str | KernelFunction) -> Tags:
    """What scikit-learn is told of a learner with this kernel."""
    tags.input_tags.sparse = kernel != "precomputed"
    tags.input_tags.pairwise = kernel == "precomputed"
    return tags


def usual_landmarks(n_rows: int) -> int | None:
    """How many landmarks there are where nobody says it; None if every row is one."""
    return None if n_rows <= EXACT_ROWS else USUAL_LANDMARKS


def landmark_rows(
    X: Rows,
    kernel: Kernel,
    points: NDArray[np.integer],
    n_landmarks: int | None,
    landmarks: str | ArrayLike,
    rng: np.random.RandomState,
) -> NDArray[np.int64]:
    """Numbers of the rows that are landmarks, increasing.

    Parameters
    ----------
    X : array or sparse matrix of shape (n, d), or kernel matrix of shape (n, n)
    kernel : Kernel
    points : int ndarray
        Rows named in pairs: landmarks in any case, up to 2000 or ``n_landmarks``.
    n_landmarks, landmarks
        Of a learner.
    rng : RandomState
    """
    n = X.shape[0]
    if n_landmarks is None and isinstance(landmarks, str):
        n_landmarks = usual_landmarks(n)
        if n_landmarks is None:
            return np.arange(n)
    wanted = n_landmarks or 0
    most = max(wanted, _PAIR_LANDMARKS)
    if len(points) > most:
        points = np.sort(rng.choice(points, most, replace=False))
    return choose_landmarks(X, wanted, landmarks, kernel=kernel, include=points, random_state=rng)
