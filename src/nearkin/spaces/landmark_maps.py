"""From rows to coordinates by way of landmarks: one map for training rows and new rows alike.

Both extensions answer the same question: with which weights over the landmarks does a row's
feature vector resemble them? Coordinates given to the landmarks then carry over to any row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.errors import InputError
from nearkin.rows import access, backends
from nearkin.rows.parallel import for_each_block
from nearkin.spaces import device_expansion, device_weights
from nearkin.spaces.kernel_landmarks import (
    KernelLandmarks,
    dense_rows,
    refuse_overflow,
    silent_overflow,
)
from nearkin.spaces.kernels import Rows, center_new, distances_from_kernel
from nearkin.spaces.local_weights import (
    combine,
    weights_from_distances,
)
from nearkin.spaces.near_landmarks import NearLandmarks, Preparation
from nearkin.storage.schema import a, floats, stored, whole

# Any of the extensions, as a field of what is stored.
EXTENSION = a("LocalExtension", "NystroemExtension", "KernelExpansion")


class Extension(Protocol):
    """A map from rows to weighted sums of the landmarks' coordinates."""

    landmarks: KernelLandmarks

    def embed(self, X: Rows, coordinates: Floats) -> Floats:
        """``z(x) = Σ_j w_j(x) · coordinates[j]`` for every row x, in the type of X."""


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
        """``z(x) = Σ_j w_j(x) · coordinates[j]`` for every row x, in the type of X."""
        if backends.is_foreign(X):
            found: Floats = device_weights.embedded(self, X, coordinates)
            return found
        if len(coordinates) != len(self.landmarks):  # compiled loops would read beyond them
            raise InputError(
                f"coordinates of {len(coordinates)} landmarks, but there are {len(self.landmarks)}."
            )
        coordinates = np.ascontiguousarray(coordinates, dtype=X.dtype)
        out = np.empty((X.shape[0], coordinates.shape[1]), dtype=X.dtype)

        def work(rows: slice, neighbors: NDArray[np.int32], weights: Floats) -> None:
            combine(neighbors, weights, coordinates, out[rows])

        self._for_each_block(work, X)
        return out

    def weights(self, X: Rows) -> sp.csr_array:
        """The weights themselves, n×m with ``n_neighbors`` stored entries a row."""
        shape = (X.shape[0], self.n_neighbors)
        neighbors, weights = np.empty(shape, dtype=np.int32), np.empty(shape, dtype=X.dtype)

        def work(rows: slice, near: NDArray[np.int32], own: Floats) -> None:
            neighbors[rows], weights[rows] = near, own

        self._for_each_block(work, X)
        starts = np.arange(0, neighbors.size + 1, self.n_neighbors)
        W = sp.csr_array(
            (weights.ravel(), neighbors.ravel(), starts), shape=(X.shape[0], len(self.landmarks))
        )
        W.sort_indices()
        return W

    def _for_each_block(
        self, work: Callable[[slice, NDArray[np.int32], Floats], None], X: Rows
    ) -> None:
        """Call ``work`` with rows of X, their nearest landmarks and weights, on every core."""
        bytes_per_row = len(self.landmarks) * X.dtype.itemsize
        if not self.landmarks.kernel.is_euclidean or sp.issparse(X):

            def by_kernel(rows: slice) -> None:
                work(rows, *self._weights_by_kernel(X[rows], rows.start))

            access.for_each_block(by_kernel, X, bytes_per_row)
            return
        near, by_pivots = self._near, self._near.pivots_pay(X)

        def by_rows(rows: slice) -> None:
            work(rows, *near.weights(X[rows], by_pivots))

        if by_pivots:
            for_each_block(by_rows, len(X), near.shared_rows(len(X)))
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
        """What makes rows whose Euclidean distances determine the kernel.

        For rbf they are scaled so that the kernel is ``exp(-‖u - v‖²)``. Otherwise the scale
        does not matter; it and the centre keep float32 accurate whatever the data's own.
        """
        if self.landmarks.kernel.name == "cosine":
            return Preparation(np.zeros(self.landmarks.rows.shape[1]), 1.0, to_unit_length=True)
        center, scale = self.center_and_scale
        return Preparation(np.asarray(center, dtype=np.float64), scale)

    @cached_property
    def center_and_scale(self) -> tuple[Floats, float]:
        """What rows are moved and multiplied by before they are compared."""
        center = self.landmarks.middle
        if self.landmarks.kernel.name == "rbf":
            return center, float(np.sqrt(self.landmarks.kernel.gamma))
        rows = dense_rows(self.landmarks.rows).astype(np.float64, copy=False)
        largest = float(np.abs(rows - center).max())
        return center, 1 / largest if largest > 0 else 1.0

    @cached_property
    def _near(self) -> NearLandmarks:
        return NearLandmarks(
            dense_rows(self.landmarks.rows),
            self._preparation,
            self.n_neighbors,
            self.landmarks.kernel.name == "rbf",
        )

    def prepared_landmarks(self, dtype: Any) -> Floats:
        """The landmarks as rows whose Euclidean distances determine the kernel."""
        return self._near.points.astype(dtype)

    @cached_property
    def among(self) -> Floats:
        """Half squared distances among the landmarks."""
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
        """``z(x) = Σ_j w_j(x) · coordinates[j]`` for every row x, in the type of X."""
        projection = (self.eigenvectors / self.eigenvalues) @ (self.eigenvectors.T @ coordinates)
        return _expanded(self.landmarks, X, projection, self.landmarks.column_means)


@stored(landmarks=a("KernelLandmarks"))
class KernelExpansion:
    """Kernel values themselves as weights: ``z(x) = Σ_j k(x, x_j) · coordinates[j]``.

    O(m d + m q) time a row, with blocks of kernel values as the only extra memory.
    """

    def __init__(self, landmarks: KernelLandmarks) -> None:
        self.landmarks = landmarks

    def embed(self, X: Rows, coordinates: Floats) -> Floats:
        """``z(x) = Σ_j k(x, x_j) · coordinates[j]`` for every row x, in the type of X."""
        return _expanded(self.landmarks, X, coordinates)


def _expanded(
    landmarks: KernelLandmarks, X: Rows, coefficients: Floats, column_means: Any = None
) -> Floats:
    """Kernel values against the landmarks, centred if their means are given, times coefficients."""
    by_kernel: Floats | None = device_expansion.expanded(landmarks, X, coefficients, column_means)
    if by_kernel is not None:
        return by_kernel
    out: Floats = backends.empty((X.shape[0], coefficients.shape[1]), X)

    def work(rows: slice) -> None:
        K = landmarks.kernel_to(X[rows, :])
        refuse_overflow(K, "row", rows.start)
        with silent_overflow():
            if column_means is not None:
                K = center_new(K, backends.moved(column_means, K))
            found = backends.as_type(K @ backends.moved(coefficients, K), X.dtype)
        refuse_overflow(found, "row", rows.start)
        out[rows, :] = found

    access.for_each_block(work, X, len(landmarks) * (32 if backends.is_foreign(X) else 8))
    return out
