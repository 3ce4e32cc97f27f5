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

from nearkin.errors import InputError
from nearkin.rows import access, device_math, devices
from nearkin.rows.arrays import Floats
from nearkin.rows.blocks import for_each_block
from nearkin.spaces.kernel_landmarks import (
    KernelLandmarks,
    dense_rows,
    refuse_overflow,
    silent_overflow,
)
from nearkin.spaces.kernels import Rows, center_new, distances_from_kernel, saturated, unit_rows
from nearkin.spaces.local_weights import (
    combine,
    foreign_combination,
    foreign_weights,
    weights_from_distances,
)
from nearkin.spaces.near_landmarks import FAR, NearLandmarks, Preparation
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
        if devices.is_foreign(X):
            found: Floats = self._embed_foreign(X, coordinates)
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

    def _embed_foreign(self, X: Any, coordinates: Floats) -> Any:
        """The same on X's device, by blocks of about a gigabyte (on the host a few megabytes)."""
        xp = devices.namespace(X)
        k, d = self.n_neighbors, X.shape[1]
        coordinates = devices.moved(coordinates, X)
        out = xp.empty((X.shape[0], coordinates.shape[1]), dtype=X.dtype, device=X.device)
        if self.landmarks.kernel.is_euclidean:
            # Prepared as rows are: a landmark among these is exactly where it was.
            points = self._prepare_foreign(devices.moved(dense_rows(self.landmarks.rows), X))
            ranking = -2.0 * points.T
            lengths = xp.sum(points * points, axis=1)
            item = 4 if devices.dtype_name(X) == "float32" else 8
            bytes_per_row = item * (2 * len(self.landmarks) + 3 * k * d) + 32 * k * k
        else:
            among = devices.moved(self._among, devices.wide(X[:0, :]))
            bytes_per_row = 32 * len(self.landmarks) + 32 * k * k
        saturating = self.landmarks.kernel.name == "rbf"
        for rows in access.blocks(X, bytes_per_row):
            if self.landmarks.kernel.is_euclidean:
                prepared = self._prepare_foreign(X[rows, :])
                ranked = device_math.product_plus(prepared, ranking, lengths)
                if item == 8:  # in single precision rounding decides among equals in any case
                    own = xp.sum(prepared * prepared, axis=1)[:, None]
                    ranked = _with_ties_by_position(xp, device_math.clipped(ranked + own, 0.0))
                _, neighbors = device_math.smallest(ranked, k)
                away = device_math.gathered(points, neighbors) - prepared[:, None, :]
                inner = devices.wide(xp.permute_dims(away @ xp.matrix_transpose(away), (1, 2, 0)))
                e, gram = _feature_distances(xp, inner, saturating)
            else:
                found, rounding = self.landmarks.distances_to(X[rows, :])
                refuse_overflow(found, "row", rows.start)
                _, neighbors = device_math.smallest(_with_ties_by_position(xp, found), k)
                e = xp.take_along_axis(found, neighbors, axis=1)
                e = xp.where(e > rounding[:, None], e, xp.zeros_like(e)).T
                e = saturated(e) if self.landmarks.kernel.saturates else e
                flat = neighbors.T[:, None, :] * len(self.landmarks) + neighbors.T[None, :, :]
                gram = device_math.gathered(xp.reshape(among, (-1,)), flat)
            weights = xp.astype(foreign_weights(e, gram), X.dtype)
            out[rows, :] = foreign_combination(neighbors, weights, coordinates)
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
            self._among,
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
        center, scale = self._center_and_scale
        return Preparation(np.asarray(center, dtype=np.float64), scale)

    def _prepare_foreign(self, X: Any) -> Any:
        """The same without the column of ones, for foreign rows."""
        if self.landmarks.kernel.name == "cosine":
            return unit_rows(X)
        center, scale = self._center_and_scale
        prepared = (X - devices.moved(center, X)) * scale
        return device_math.clipped(prepared, -FAR, FAR)

    @cached_property
    def _center_and_scale(self) -> tuple[Floats, float]:
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
    def _among(self) -> Floats:
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
    out: Floats = devices.empty((X.shape[0], coefficients.shape[1]), X)

    def work(rows: slice) -> None:
        K = landmarks.kernel_to(X[rows, :])
        refuse_overflow(K, "row", rows.start)
        with silent_overflow():
            if column_means is not None:
                K = center_new(K, devices.moved(column_means, K))
            found = devices.as_type(K @ devices.moved(coefficients, K), X.dtype)
        refuse_overflow(found, "row", rows.start)
        out[rows, :] = found

    access.for_each_block(work, X, len(landmarks) * (32 if devices.is_foreign(X) else 8))
    return out


def _with_ties_by_position(xp: Any, distances: Any) -> Any:
    """Distances (n, m) in the order that compiled loops see them in.

    What is equal in single precision is equal; of these, the first comes first.
    """
    m = distances.shape[1]
    coarse = xp.astype(xp.astype(distances, xp.float32), distances.dtype)
    later = devices.moved(np.arange(m) * (2.0**-26 / m), distances)
    return coarse * (1.0 + later)


def _feature_distances(xp: Any, inner: Any, saturating: bool) -> tuple[Any, Any]:
    """Half squared feature distances to, and among, neighbours, (k, n) and (k, k, n).

    From inner products of the differences to the point: a cancellation among these is small
    beside the distances that it will be divided by.
    """
    squared = xp.stack([inner[a, a, :] for a in range(inner.shape[0])])
    among = device_math.clipped(squared[:, None, :] + squared[None, :, :] - 2.0 * inner, 0.0)
    if saturating:
        return -xp.expm1(-squared), -xp.expm1(-among)
    return 0.5 * squared, 0.5 * among
