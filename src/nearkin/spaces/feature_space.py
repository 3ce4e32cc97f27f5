"""Feature space of a kernel: leading directions among landmarks, and maps from rows to these."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigvalsh
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from nearkin._types import Floats
from nearkin.errors import InputError, InputTypeError
from nearkin.messages import notice
from nearkin.rows import access, backends, validation
from nearkin.rows.parallel import run_in_blocks
from nearkin.rows.sparse import to_dense
from nearkin.spaces import device_weights
from nearkin.spaces.kernels import (
    GAMMA_RULES,
    KERNEL_NAMES,
    Kernel,
    KernelFunction,
    Rows,
    bind_kernel,
    center_kernel,
    center_new,
    check_kernel_matrix,
    distances_from_kernel,
)
from nearkin.spaces.landmarks import (
    STRATEGIES,
    KernelLandmarks,
    choose_landmarks,
    ignore_overflow,
    refuse_overflow,
)
from nearkin.spaces.linalg import largest_entry, leading_eigenpairs
from nearkin.spaces.local_weights import NearLandmarks, Preparation, combine, weights_from_distances
from nearkin.storage.schema import a, floats, stored, whole

# Any of the extensions, as a field of what is stored.
EXTENSION = a("LocalExtension", "NystroemExtension", "KernelExpansion")
# Up to so many rows every row is a landmark by default, which takes an n×n matrix (200 MB here) and
# O(n³) time; beyond, there are so many landmarks. Chosen by hand, by time and memory.
EXACT_ROWS = 5000
USUAL_LANDMARKS = 1000
# Points of pairs are landmarks up to this number, or n_landmarks where that is more. Chosen by
# hand: fitting takes O(m³) time.
_PAIR_LANDMARKS = 2000
# A kernel matrix that is positive has no eigenvalue further below zero, as a share of the largest.
# Chosen by hand, above the rounding of a matrix in single precision.
_LEAST_EIGENVALUE = -1e-4
# Entries of a unit vector that differ by no more are equal, up to rounding of the decomposition.
_EQUAL_ENTRIES = 1e-10
# Rounding of entries of a kernel matrix, in units in the last place of its largest.
_KERNEL_ROUNDING = 8
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


class Extension(Protocol):
    """A map from rows to weighted sums of the landmarks' coordinates."""

    landmarks: KernelLandmarks

    def embed(self, X: Rows, coordinates: Floats) -> Floats:
        """Map every row x to ``z(x) = Σ_j w_j(x) · coordinates[j]``, in the type of X."""


@stored(landmarks=a("KernelLandmarks"), n_neighbors=whole)
class LocalExtension:
    """Locally linear weights over the ``n_neighbors`` nearest landmarks in feature space.

    A landmark has weight one on itself. O(m d + K²(K + d)) time and O(K) memory a row, beyond
    blocks of a few megabytes for each core.
    """

    def __init__(self, landmarks: KernelLandmarks, n_neighbors: int) -> None:
        self.landmarks = landmarks
        self.n_neighbors = min(n_neighbors, len(landmarks))

    def embed(self, X: Rows, coordinates: Floats) -> Floats:
        """Map every row x to ``z(x) = Σ_j w_j(x) · coordinates[j]``, in the type of X."""
        if backends.is_foreign(X):
            found: Floats = device_weights.embed(self, X, coordinates)
            return found
        if len(coordinates) != len(self.landmarks):  # compiled loops would read beyond them
            raise InputError(
                f"coordinates of {len(coordinates)} landmarks, but there are {len(self.landmarks)}."
            )
        coordinates = np.ascontiguousarray(coordinates, dtype=X.dtype)
        out = np.empty((X.shape[0], coordinates.shape[1]), dtype=X.dtype)

        def work(rows: slice, neighbors: NDArray[np.int32], weights: Floats) -> None:
            combine(neighbors, weights, coordinates, out[rows])

        self._run_in_blocks(work, X)
        return out

    def weights(self, X: Rows) -> sp.csr_array:
        """Weights over the landmarks, n×m with ``n_neighbors`` stored entries a row."""
        shape = (X.shape[0], self.n_neighbors)
        neighbors, weights = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=X.dtype)

        def work(rows: slice, near: NDArray[np.int32], own: Floats) -> None:
            neighbors[rows], weights[rows] = near, own

        self._run_in_blocks(work, X)
        starts = np.arange(0, neighbors.size + 1, self.n_neighbors)
        W = sp.csr_array(
            (weights.ravel(), neighbors.ravel(), starts), shape=(X.shape[0], len(self.landmarks))
        )
        W.sort_indices()
        return W

    def _run_in_blocks(
        self, work: Callable[[slice, NDArray[np.int32], Floats], None], X: Rows
    ) -> None:
        """Call ``work`` with rows of X, their nearest landmarks and weights, on every core."""
        bytes_per_row = len(self.landmarks) * X.dtype.itemsize
        if not self.landmarks.kernel.is_euclidean or sp.issparse(X):

            def by_kernel(rows: slice) -> None:
                """Weights from kernel values."""
                work(rows, *self._weights_by_kernel(X[rows], rows.start))

            access.for_each_block(by_kernel, X, bytes_per_row)
            return
        near, by_pivots = self._near, self._near.pivots_pay(X)

        def by_rows(rows: slice) -> None:
            """Weights from distances between rows."""
            work(rows, *near.weights(X[rows], by_pivots))

        if by_pivots:
            run_in_blocks(by_rows, len(X), near.shared_rows(len(X)))
        else:
            access.for_each_block(by_rows, X, bytes_per_row)

    def _weights_by_kernel(self, X: Rows, start: int) -> tuple[NDArray[np.int32], Floats]:
        """Nearest landmarks and weights, from kernel values alone."""
        shape = (X.shape[0], self.n_neighbors)
        neighbors, weights = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=X.dtype)
        distances, rounding = self.landmarks.distances_to(X)
        refuse_overflow(distances, "row", start)
        weights_from_distances(
            np.ascontiguousarray(distances),
            rounding,
            self.among,
            self.landmarks.kernel.saturates,
            neighbors,
            weights,
        )
        return neighbors, weights

    @cached_property
    def _preparation(self) -> Preparation:
        """How rows are moved and scaled so that their Euclidean distances determine the kernel."""
        if self.landmarks.kernel.name == "cosine":
            return Preparation(np.zeros(self.landmarks.rows.shape[1]), 1.0, to_unit_length=True)
        center, scale = self.center_and_scale
        return Preparation(np.asarray(center, dtype=np.float64), scale)

    @cached_property
    def center_and_scale(self) -> tuple[Floats, float]:
        """What is subtracted from rows, and what the rest is multiplied by, before distances.

        With an rbf kernel that becomes ``exp(-‖u - v‖²)``. Otherwise the scale does not matter; it
        and the centre keep float32 accurate whatever the data's own.
        """
        center = self.landmarks.middle
        if self.landmarks.kernel.name == "rbf":
            return center, float(np.sqrt(self.landmarks.kernel.gamma))
        rows = to_dense(self.landmarks.rows).astype(np.float64, copy=False)
        largest = float(np.abs(rows - center).max())
        return center, 1 / largest if largest > 0 else 1.0

    @cached_property
    def _near(self) -> NearLandmarks:
        """The landmarks, prepared for the search of the nearest."""
        return NearLandmarks(
            to_dense(self.landmarks.rows),
            self._preparation,
            self.n_neighbors,
            self.landmarks.kernel.name == "rbf",
        )

    def prepared_landmarks(self, dtype: Any) -> Floats:
        """The landmarks, moved and scaled so that Euclidean distances determine the kernel."""
        return self._near.points.astype(dtype)

    @cached_property
    def among(self) -> Floats:
        """Half squared feature-space distances among the landmarks."""
        K = self.landmarks.kernel_matrix()
        return distances_from_kernel(K, K.diagonal(), K.diagonal())[0]


@stored(landmarks=a("KernelLandmarks"), eigenvalues=floats("r"), eigenvectors=floats("m r"))
class NystroemExtension:
    """Weights ``V diag(1/μ) Vᵀ k(x)`` over all landmarks: projection on their eigenvectors.

    O(m d + m q) time a row, with blocks of kernel values as the only extra memory.
    """

    def __init__(
        self, landmarks: KernelLandmarks, eigenvalues: Floats, eigenvectors: Floats
    ) -> None:
        self.landmarks = landmarks
        self.eigenvalues = eigenvalues
        self.eigenvectors = eigenvectors

    def embed(self, X: Rows, coordinates: Floats) -> Floats:
        """Map every row x to ``z(x) = Σ_j w_j(x) · coordinates[j]``, in the type of X."""
        projection = (self.eigenvectors / self.eigenvalues) @ (self.eigenvectors.T @ coordinates)
        return _expand_kernel(self.landmarks, X, projection, self.landmarks.column_means)


@stored(landmarks=a("KernelLandmarks"))
class KernelExpansion:
    """Kernel values themselves as weights: ``z(x) = Σ_j k(x, x_j) · coordinates[j]``.

    O(m d + m q) time a row, with blocks of kernel values as the only extra memory.
    """

    def __init__(self, landmarks: KernelLandmarks) -> None:
        self.landmarks = landmarks

    def embed(self, X: Rows, coordinates: Floats) -> Floats:
        """Map every row x to ``z(x) = Σ_j k(x, x_j) · coordinates[j]``, in the type of X."""
        return _expand_kernel(self.landmarks, X, coordinates)


def _expand_kernel(
    landmarks: KernelLandmarks, X: Rows, coefficients: Floats, column_means: Any = None
) -> Floats:
    """Multiply kernel values against landmarks, centred if means are given, by coefficients."""
    by_kernel: Floats | None = device_weights.expand_kernel(
        landmarks, X, coefficients, column_means
    )
    if by_kernel is not None:
        return by_kernel
    out: Floats = backends.empty((X.shape[0], coefficients.shape[1]), X)

    def work(rows: slice) -> None:
        K = landmarks.kernel_to(X[rows, :])
        refuse_overflow(K, "row", rows.start)
        with ignore_overflow():
            if column_means is not None:
                K = center_new(K, backends.move_to(column_means, K))
            found = backends.as_type(K @ backends.move_to(coefficients, K), X.dtype)
        refuse_overflow(found, "row", rows.start)
        out[rows, :] = found

    access.for_each_block(work, X, len(landmarks) * (32 if backends.is_foreign(X) else 8))
    return out


@dataclass(frozen=True)
class FeatureSpace:
    """Leading directions of m landmarks in feature space.

    ``eigenvalues`` (q) of the landmarks' kernel matrix, centred or not, decrease; ``directions``
    (m, q) are its unit eigenvectors, and ``rows`` the landmarks' row numbers.
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
        """Feature-space coordinates of the rows that landmarks were chosen from, in float64."""
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


def find_feature_space(
    learner: Any,
    X: Rows,
    points: NDArray[np.integer],
    rank_tol: float,
    rng: np.random.RandomState,
    *,
    center: bool = True,
) -> FeatureSpace:
    """Settle the learner's kernel, choose landmarks, and find the directions above ``rank_tol``.

    ``points`` (rows named in pairs) are landmarks in any case. Without ``center`` the directions
    are those of the kernel matrix as it is. Warns if all landmarks coincide, which leaves one
    direction with eigenvalue 0, and if a matrix that is not centred has negative eigenvalues.
    """
    kernel = bind_kernel(
        learner.kernel,
        X,
        gamma=learner.gamma,
        degree=learner.degree,
        coef0=learner.coef0,
        random_state=rng,
    )
    rows = choose_landmark_rows(X, kernel, points, learner.n_landmarks, learner.landmarks, rng)
    landmarks = take_landmarks(kernel, X, rows)
    K = landmarks.kernel_matrix(around_middle=center)
    noise = _KERNEL_ROUNDING * largest_entry(K) * float(np.finfo(np.float64).eps)
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
            "Are the rows of X identical, or its columns constant?"
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


def take_landmarks(kernel: Kernel, X: Rows, rows: NDArray[np.integer]) -> KernelLandmarks:
    """Take some rows of X, or of its kernel matrix, as landmarks."""
    if kernel.name == "precomputed":
        return KernelLandmarks(kernel, X[np.ix_(rows, rows)], columns=rows)
    return KernelLandmarks(kernel, access.take_to_host(X, rows))


def check_rows_for_kernel(learner: Any, X: Any, *, reset: bool) -> Rows:
    """Check that the learner's kernel can take X, and return it in float32 or float64."""
    kernel = learner.kernel
    if backends.is_remote(X) and kernel == "precomputed":
        raise InputTypeError(
            "kernel='precomputed' takes arrays only, not rows that are read block by block: use a "
            "kernel that is computed from rows."
        )
    if backends.is_foreign(X) and (callable(kernel) or kernel == "precomputed"):
        raise InputTypeError(
            f"kernel={kernel!r} takes NumPy arrays only, got one of {backends.describe_place(X)}: "
            "use a kernel that is computed from rows, by its name."
        )
    X = validation.validate_rows(
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


def set_kernel_tags(tags: Tags, kernel: str | KernelFunction) -> Tags:
    """Tell scikit-learn what rows a learner with this kernel takes."""
    tags.input_tags.sparse = kernel != "precomputed"
    tags.input_tags.pairwise = kernel == "precomputed"
    return tags


def default_n_landmarks(n_rows: int) -> int | None:
    """Default number of landmarks; None where every row is one."""
    return None if n_rows <= EXACT_ROWS else USUAL_LANDMARKS


def choose_landmark_rows(
    X: Rows,
    kernel: Kernel,
    points: NDArray[np.integer],
    n_landmarks: int | None,
    landmarks: str | ArrayLike,
    rng: np.random.RandomState,
) -> NDArray[np.int64]:
    """Choose the rows that are landmarks: those of pairs, and others by the learner's strategy.

    ``points``, the rows named in pairs, are landmarks up to 2000 or ``n_landmarks``.
    """
    n = X.shape[0]
    if n_landmarks is None and isinstance(landmarks, str):
        n_landmarks = default_n_landmarks(n)
        if n_landmarks is None:
            return np.arange(n)
    wanted = n_landmarks or 0
    most = max(wanted, _PAIR_LANDMARKS)
    if len(points) > most:
        points = np.sort(rng.choice(points, most, replace=False))
    return choose_landmarks(X, wanted, landmarks, kernel=kernel, include=points, random_state=rng)
