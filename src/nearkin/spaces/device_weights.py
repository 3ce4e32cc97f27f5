"""Local weights and kernel expansions on the device of the rows.

They do what :mod:`nearkin.spaces.local_weights` does on the host: by fused kernels
(:mod:`nearkin.spaces.triton_weights`), as fast as the product of rows and landmarks alone. Rows at
which many landmarks are equally far, up to rounding, and all rows where there are no such kernels,
go by functions of the array standard.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from nearkin._types import Floats
from nearkin.rows import access, backends, device_math
from nearkin.rows.distances import FAR
from nearkin.rows.sparse import to_dense
from nearkin.spaces.kernels import saturate, unit_rows
from nearkin.spaces.landmarks import KernelLandmarks, refuse_overflow
from nearkin.spaces.local_weights import EPSILON, NEARER

if TYPE_CHECKING:
    from nearkin.spaces.feature_space import LocalExtension

Found = TypeVar("Found")
# What the kernels are made for: neighbours that a thread's registers hold the system of, neighbours
# that a list holds, and landmarks whose table of distances takes half a gigabyte. Chosen by hand on
# an H200.
_MOST_IN_REGISTERS = 8
_MOST_LISTED = 16
_MOST_IN_TABLE = 8192
# How large rounding of a sum in single precision may be, relative to the largest coordinate, and
# what share of its terms it is. Chosen by hand: kernel values have an error of 4e-7 there.
_ROUNDING, _SUM_ROUNDING = 2e-6, 2.0**-21
# How much larger a distance counts for its place, as a share: less than rounding of float32 makes.
_TIE_BREAK = 2.0**-26


def embed(local: LocalExtension, X: Any, coordinates: Floats) -> Any:
    """Map foreign rows to ``z(x) = Σ_j w_j(x) · coordinates[j]``, by local weights w."""
    there = backends.move_to(coordinates, X)
    euclidean = local.landmarks.kernel.is_euclidean
    if euclidean and local.n_neighbors <= _MOST_LISTED and device_math.can_use_kernels(X):
        found = device_math.try_kernels(X, lambda: _embed_by_triton(local, X, there))
        if found is not None:
            return found
    return _embed_by_array_functions(local, X, there)


def _embed_by_triton(
    local: LocalExtension, X: Any, coordinates: Any, *, precise: bool = False
) -> Any:
    """Map rows by fused kernels; rows that these leave undecided more precisely."""
    from nearkin.rows.triton_search import PRECISIONS

    k, precision = local.n_neighbors, PRECISIONS[precise]
    by_euclid = _get_prepared(local, X, _Euclidean)
    search, systems = by_euclid.kernels
    table = device_math.to_tensor(coordinates).contiguous()
    out = backends.empty((X.shape[0], coordinates.shape[1]), X)
    is_open = device_math.make_marks(X)

    def work(part: slice) -> None:
        given, target = device_math.to_tensor(by_euclid.as_compared(X[part, :])), out[part, :]
        if systems is not None:
            systems.embed(given, k, table, precision, device_math.to_tensor(target), is_open[part])
        else:
            places, is_open[part] = search.nearest(given, k, precision)
            target[...] = by_euclid.combined(
                X[part, :], device_math.from_tensor(places, X), coordinates
            )

    own = 0 if systems is not None else by_euclid.bytes_per_row
    access.for_each_block(work, X, search.bytes_per_row(k) + own)
    left = device_math.find_marked(is_open, X)
    if left.shape[0] == 0:
        return out
    some = X[left, :]
    if precise:
        found = backends.as_type(
            _embed_by_array_functions(local, backends.widen(some), coordinates), X.dtype
        )
    else:
        found = _embed_by_triton(local, some, coordinates, precise=True)
    return device_math.replace_rows(out, left, found)


def _embed_by_array_functions(local: LocalExtension, X: Any, coordinates: Any) -> Any:
    """Map rows by functions of the array standard, in the type of X."""
    coordinates = backends.as_type(coordinates, X.dtype)
    kind = _Euclidean if local.landmarks.kernel.is_euclidean else _AnyKernel
    by_kernel: Any = _get_prepared(local, X, kind)
    out = backends.empty((X.shape[0], coordinates.shape[1]), X)

    def work(rows: slice) -> None:
        out[rows, :] = by_kernel.embed(X[rows, :], coordinates, rows.start)

    access.for_each_block(work, X, by_kernel.bytes_per_row)
    return out


def _get_prepared(
    local: LocalExtension, X: Any, kind: Callable[[LocalExtension, Any], Found]
) -> Found:
    """Landmarks prepared for rows of this library, device and type; kept as long as they are."""
    made = _made.setdefault(local, {})
    key = (kind, backends.library(X), str(X.device), backends.dtype_name(X))
    if key not in made:
        made[key] = kind(weakref.proxy(local), X)
    found: Found = made[key]
    return found


_made: weakref.WeakKeyDictionary[LocalExtension, dict[Any, Any]] = weakref.WeakKeyDictionary()


class _Euclidean:
    """Weights under a kernel of Euclidean distances, in the type of the rows."""

    def __init__(self, local: LocalExtension, X: Any) -> None:
        self.local = local
        self.saturating = local.landmarks.kernel.name == "rbf"
        self.is_cosine = local.landmarks.kernel.name == "cosine"
        self.rows = backends.move_to(to_dense(local.landmarks.rows), X)
        # Prepared as rows are: a landmark among these is exactly where it was.
        self.points = self._prepared(self.rows)
        self.lengths = backends.namespace(X).sum(self.points * self.points, axis=1)
        self.is_single = backends.dtype_name(X) == "float32"
        k, size = local.n_neighbors, 4 if self.is_single else 8
        columns = 2 * len(local.landmarks) + 3 * k * X.shape[1]
        self.bytes_per_row = size * columns + 32 * k * k

    @cached_property
    def kernels(self) -> tuple[Any, Any]:
        """Triton's search among landmarks, and its solver of weights unless these are too many."""
        from nearkin.rows.triton_search import Search
        from nearkin.spaces.triton_weights import Systems

        rows, (center, scale) = self.rows, self.local.center_and_scale
        if self.is_cosine:
            rows, center, scale = self.points, np.zeros(rows.shape[1]), 1.0
        there = backends.move_to(center, rows, "float64")
        search = Search(device_math.to_tensor(rows), device_math.to_tensor(there), scale)
        few = self.local.n_neighbors <= _MOST_IN_REGISTERS
        if not few or len(self.local.landmarks) > _MOST_IN_TABLE:
            return search, None
        among = device_math.to_tensor(self.among())
        numbers = device_math.to_tensor(backends.move_to([EPSILON, NEARER], rows, "float64"))
        return search, Systems(search, among, self.saturating, numbers)

    def as_compared(self, X: Any) -> Any:
        """Rows before they are moved and multiplied, which the search does itself."""
        return unit_rows(X) if self.is_cosine else X

    def among(self) -> Any:
        """Half squared distances among the landmarks in feature space, in float64."""
        xp, points = backends.namespace(self.points), backends.widen(self.points)
        squared, rounding = device_math.squared_distances_around(
            points, points, access.column_medians(points)
        )
        squared = xp.where(squared > rounding[:, None], squared, xp.zeros_like(squared))
        return -xp.expm1(-squared) if self.saturating else 0.5 * squared

    def embed(self, X: Any, coordinates: Any, start: int) -> Any:
        """Map a block of rows to weighted sums of coordinates."""
        xp = backends.namespace(X)
        prepared = self._prepared(X)
        ranked = device_math.product_plus(prepared, -2.0 * self.points.T, self.lengths)
        if not self.is_single:  # in single precision rounding decides among equals in any case
            own = xp.sum(prepared * prepared, axis=1)[:, None]
            ranked = _break_ties_by_position(xp, device_math.clip(ranked + own, 0.0))
        _, neighbors = device_math.k_smallest(ranked, self.local.n_neighbors)
        return self.combined(X, neighbors, coordinates)

    def combined(self, X: Any, neighbors: Any, coordinates: Any) -> Any:
        """Map rows whose nearest landmarks are known."""
        xp = backends.namespace(X)
        away = device_math.gather(self.points, neighbors) - self._prepared(X)[:, None, :]
        inner = backends.widen(xp.permute_dims(away @ xp.matrix_transpose(away), (1, 2, 0)))
        weights = solve_local_weights(*_feature_distances(xp, inner, self.saturating))
        return combine_coordinates(neighbors, backends.as_type(weights, X.dtype), coordinates)

    def _prepared(self, X: Any) -> Any:
        """Rows whose Euclidean distances determine the kernel."""
        if self.is_cosine:
            return unit_rows(X)
        center, scale = self.local.center_and_scale
        return device_math.clip((X - backends.move_to(center, X)) * scale, -FAR, FAR)


class _AnyKernel:
    """Weights under any kernel, in float64."""

    def __init__(self, local: LocalExtension, X: Any) -> None:
        self.local = local
        self.among = backends.move_to(local.among, backends.widen(X[:0, :]))
        self.bytes_per_row = 32 * len(local.landmarks) + 32 * local.n_neighbors**2

    def embed(self, X: Any, coordinates: Any, start: int) -> Any:
        """Map a block of rows to weighted sums of coordinates."""
        xp, landmarks = backends.namespace(X), self.local.landmarks
        found, rounding = landmarks.distances_to(X)
        refuse_overflow(found, "row", start)
        ranked = _break_ties_by_position(xp, found)
        _, neighbors = device_math.k_smallest(ranked, self.local.n_neighbors)
        e = xp.take_along_axis(found, neighbors, axis=1)
        e = xp.where(e > rounding[:, None], e, xp.zeros_like(e)).T
        e = saturate(e) if landmarks.kernel.saturates else e
        flat = neighbors.T[:, None, :] * len(landmarks) + neighbors.T[None, :, :]
        gram = device_math.gather(xp.reshape(self.among, (-1,)), flat)
        weights = solve_local_weights(e, gram)
        return combine_coordinates(neighbors, backends.as_type(weights, X.dtype), coordinates)


def _break_ties_by_position(xp: Any, distances: Any) -> Any:
    """Change distances (n, m) so little that sorting breaks ties as compiled loops do.

    What is equal in single precision is equal; of these, the first comes first.
    """
    m = distances.shape[1]
    coarse = xp.astype(xp.astype(distances, xp.float32), distances.dtype)
    later = backends.move_to(np.arange(m) * (_TIE_BREAK / m), distances)
    return coarse * (1.0 + later)


def _feature_distances(xp: Any, inner: Any, saturating: bool) -> tuple[Any, Any]:
    """Half squared feature distances to neighbours (k, n) and among them (k, k, n).

    From inner products of the differences to the point: a cancellation among these is small beside
    the distances that it will be divided by.
    """
    squared = xp.stack([inner[a, a, :] for a in range(inner.shape[0])])
    among = device_math.clip(squared[:, None, :] + squared[None, :, :] - 2.0 * inner, 0.0)
    if saturating:
        return -xp.expm1(-squared), -xp.expm1(-among)
    return 0.5 * squared, 0.5 * among


def solve_local_weights(e: Any, gram: Any) -> Any:
    """Solve for local weights (K, n) from half squared distances to and among neighbours.

    ``e`` is (K, n) and ``gram`` (K, K, n), on any device.
    """
    xp = backends.namespace(e)
    k = e.shape[0]
    root = xp.sqrt(e)
    one, other = e[:, None, :], e[None, :, :]
    scale = 2.0 * root[:, None, :] * root[None, :, :]
    apart = scale * NEARER > xp.maximum(one, other)
    correlation = (one + other - gram) / xp.where(apart, scale, xp.ones_like(scale))
    correlation = xp.where(apart, device_math.clip(correlation, -1.0, 1.0), xp.zeros_like(scale))
    identity = backends.move_to(np.eye(k), e)[:, :, None]
    matrix = correlation * (1.0 - identity) + (1.0 + EPSILON) * identity
    nearest = xp.min(e, axis=0)[None, :]
    ratio = xp.sqrt(nearest / xp.where(e > nearest, e, xp.ones_like(e)))
    ratio = xp.where(e > nearest, ratio, xp.ones_like(e))
    weights = device_math.solve_small_systems(matrix, ratio, EPSILON) * ratio
    return weights / xp.sum(weights, axis=0)


def combine_coordinates(neighbors: Any, weights: Any, coordinates: Any) -> Any:
    """Sums ``Σ_a weights[a, i] · coordinates[neighbors[i, a]]`` for every i."""
    out: Any = 0.0
    for a in range(neighbors.shape[1]):
        out = out + weights[a, :][:, None] * device_math.gather(coordinates, neighbors[:, a])
    return out


# ---- Kernel expansions


def expand_kernel(
    landmarks: KernelLandmarks, X: Any, coefficients: Floats, column_means: Floats | None
) -> Any:
    """Multiply kernel values against the landmarks, centred if means are given, with coefficients.

    None where that needs another way: without a device or a Gaussian kernel, or if coefficients of
    both signs are so large that their sum needs more digits.
    """
    if (
        landmarks.kernel.name != "rbf"
        or landmarks.columns is not None
        or not device_math.can_use_kernels(X)
    ):
        return None
    coefficients = np.asarray(coefficients, dtype=np.float64)
    constant = np.zeros(coefficients.shape[1])
    if column_means is not None:  # centring of values is a centring of what they multiply
        coefficients = coefficients - coefficients.mean(axis=0)
        constant = -(column_means - column_means.mean()) @ coefficients
    largest = np.abs(landmarks.kernel_matrix() @ coefficients + constant).max()
    if _SUM_ROUNDING * np.abs(coefficients).sum(axis=0).max() > _ROUNDING * largest:
        return None
    return device_math.try_kernels(
        X, lambda: _expand_by_triton(landmarks, X, coefficients, constant)
    )


def _expand_by_triton(
    landmarks: KernelLandmarks, X: Any, coefficients: Floats, constant: Floats
) -> Any:
    """Multiply by a fused kernel, block by block."""
    from nearkin.rows.triton_search import Search
    from nearkin.spaces import triton_weights

    rows = device_math.to_tensor(
        backends.move_to(np.ascontiguousarray(to_dense(landmarks.rows)), X)
    )
    center = device_math.to_tensor(backends.move_to(landmarks.middle, X, "float64"))
    search = Search(rows, center, float(np.sqrt(landmarks.kernel.gamma)))
    table, added = (
        device_math.to_tensor(backends.move_to(part, X)) for part in (coefficients, constant)
    )
    out = backends.empty((X.shape[0], coefficients.shape[1]), X)

    def work(part: slice) -> None:
        found = triton_weights.expand_kernel_triton(
            device_math.to_tensor(X[part, :]), search, table, added
        )
        out[part, :] = device_math.from_tensor(found, X)

    access.for_each_block(work, X, search.bytes_per_row(0) + 4 * coefficients.shape[1])
    return out
