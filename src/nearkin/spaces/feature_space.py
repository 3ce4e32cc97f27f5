"""Feature space of a kernel: leading directions among landmarks, and maps from rows to these.

On the device of the rows, local weights go by fused kernels (:mod:`nearkin.spaces.triton_weights`),
as fast as the product of rows and landmarks alone. Rows at which many landmarks are equally far, up
to rounding, and all rows where there are no such kernels, go by functions of the array standard.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from numbers import Integral, Real
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from scipy.linalg import eigvalsh
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from nearkin._types import DOUBLE_BYTES, Floats, Integers, Ints
from nearkin.errors import InputError, InputTypeError
from nearkin.messages import notice
from nearkin.rows import access, backends, device_math, validation
from nearkin.rows.distances import FAR
from nearkin.rows.parallel import run_in_blocks
from nearkin.rows.sparse import to_dense
from nearkin.spaces.kernels import (
    GAMMA_RULES,
    KERNEL_NAMES,
    Kernel,
    KernelFunction,
    Rows,
    bind_kernel,
    center_kernel,
    check_kernel_matrix,
    distances_from_kernel,
    saturate,
    unit_rows,
)
from nearkin.spaces.landmarks import (
    STRATEGIES,
    KernelLandmarks,
    KernelSums,
    choose_landmarks,
    keep_sums,
    refuse_overflow,
)
from nearkin.spaces.linalg import largest_entry, leading_eigenpairs
from nearkin.spaces.local_weights import (
    EPSILON,
    NEARER,
    NearLandmarks,
    Preparation,
    combine,
    weights_from_distances,
)
from nearkin.storage.schema import a, floats, stored, whole

Found = TypeVar("Found")
# Any of the extensions, as a field of what is stored.
EXTENSION = a("LocalExtension", "NystroemExtension", "KernelExpansion")
# Up to so many rows every row is a landmark by default, which takes an n×n matrix (200 MB here) and
# O(n³) time; beyond, there are so many landmarks. Chosen by hand, by time and memory.
EXACT_ROWS = 5000
USUAL_LANDMARKS = 1000
# Points of pairs that are landmarks, or n_landmarks if more. By hand: a fit takes O(m³) time.
_PAIR_LANDMARKS = 2000
# A kernel matrix that is positive has no eigenvalue further below zero, as a share of the largest.
# Chosen by hand, above the rounding of a matrix in single precision.
_LEAST_EIGENVALUE = -1e-4
# Entries of a unit vector that differ by no more are equal, up to rounding of the decomposition.
_EQUAL_ENTRIES = 1e-10
# Rounding of entries of a kernel matrix, in units in the last place of its largest.
_KERNEL_ROUNDING = 8
# What the kernels are made for: neighbours that a thread's registers hold the system of, neighbours
# that a list holds, landmarks whose table takes half a gigabyte. Chosen by hand on an H200.
_MOST_IN_REGISTERS = 8
_MOST_LISTED = 16
_MOST_IN_TABLE = 8192
# Float64 arrays of a row's neighbours, and of landmarks, that its weights take on a device.
_DEVICE_ARRAYS = 4
# How much larger a distance counts for its place, as a share: less than rounding of float32 makes.
_TIE_BREAK = 2.0**-26
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
            found: Floats = _embed_on_device(self, X, coordinates)
            return found
        if len(coordinates) != len(self.landmarks):  # compiled loops would read beyond them
            raise InputError(
                f"coordinates of {len(coordinates)} landmarks, but there are {len(self.landmarks)}."
            )
        coordinates = np.ascontiguousarray(coordinates, dtype=X.dtype)
        out = np.empty((X.shape[0], coordinates.shape[1]), dtype=X.dtype)
        landmarks, kernel = self.landmarks, self.landmarks.kernel
        by_kernel = not kernel.is_euclidean or sp.issparse(X)
        few = not by_kernel and self._near.are_few(len(X))
        by_pivots = not by_kernel and not few and self._near.pivots_pay(X)

        def embed_block(rows: slice) -> None:
            if few:
                neighbors, *distances = self._near.neighbors_of_few(X[rows])
                weights = solve_local_weights(*distances).astype(X.dtype)
                out[rows] = combine_coordinates(neighbors, weights, coordinates)
                return
            if by_kernel:
                found, rounding = landmarks.distances_to(X[rows])
                refuse_overflow(found, "row", rows.start)
                shape = (len(found), self.n_neighbors)
                neighbors, weights = np.empty(shape, np.int32), np.empty(shape, X.dtype)
                known = np.ascontiguousarray(found), rounding, self.among, kernel.saturates
                weights_from_distances(*known, neighbors, weights)
            else:
                neighbors, weights = self._near.weights(X[rows], by_pivots)
            combine(neighbors, weights, coordinates, out[rows])

        if by_pivots:
            run_in_blocks(embed_block, len(X), self._near.shared_rows(len(X)))
            return out
        bytes_per_row = len(landmarks) * X.dtype.itemsize
        if few:
            bytes_per_row = DOUBLE_BYTES * (len(landmarks) + 2 * self.n_neighbors * X.shape[1])
        access.for_each_block(embed_block, X, bytes_per_row)
        return out

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
        rows, name = to_dense(self.landmarks.rows), self.landmarks.kernel.name
        if name == "cosine":
            preparation = Preparation(np.zeros(rows.shape[1]), 1.0, to_unit_length=True)
        else:
            center, scale = self.center_and_scale
            preparation = Preparation(np.asarray(center, dtype=np.float64), scale)
        return NearLandmarks(rows, preparation, self.n_neighbors, name == "rbf")

    def prepared_landmarks(self, dtype: Any) -> Floats:
        """The landmarks, moved and scaled so that Euclidean distances determine the kernel."""
        return self._near.points.astype(dtype)

    @cached_property
    def among(self) -> Floats:
        """Half squared feature-space distances among the landmarks."""
        K = self.landmarks.kernel_matrix()
        return distances_from_kernel(K, K.diagonal(), K.diagonal())[0]


@stored(landmarks=a("KernelLandmarks"), eigenvalues=floats("r"), eigenvectors=floats("m r"))
@dataclass(eq=False, repr=False)
class NystroemExtension:
    """Weights ``V diag(1/μ) Vᵀ k(x)`` over all landmarks: projection on their eigenvectors."""

    landmarks: KernelLandmarks
    eigenvalues: Floats
    eigenvectors: Floats

    def embed(self, X: Rows, coordinates: Floats) -> Floats:
        """Map every row x to ``z(x) = Σ_j w_j(x) · coordinates[j]``, in the type of X."""

        def make() -> KernelSums:
            V = self.eigenvectors
            projection = (V / self.eigenvalues) @ (V.T @ coordinates)
            return KernelSums(self.landmarks, projection, centered=True)

        found: Floats = keep_sums(self, coordinates, make).at(X)
        return found


@stored(landmarks=a("KernelLandmarks"))
@dataclass(eq=False, repr=False)
class KernelExpansion:
    """Kernel values themselves as weights: ``w_j(x) = k(x, x_j)``."""

    landmarks: KernelLandmarks

    def embed(self, X: Rows, coordinates: Floats) -> Floats:
        """Map every row x to ``z(x) = Σ_j w_j(x) · coordinates[j]``, in the type of X."""
        sums = keep_sums(self, coordinates, lambda: KernelSums(self.landmarks, coordinates))
        found: Floats = sums.at(X)
        return found


# Maps of rows to weighted sums of the landmarks' coordinates.
Extension: TypeAlias = LocalExtension | NystroemExtension | KernelExpansion


# ---- Local weights on the device of the rows


def _embed_on_device(local: LocalExtension, X: Any, coordinates: Floats) -> Any:
    """Map foreign rows by local weights: by fused kernels where there are any."""
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
    by_euclid = _get_prepared(local, X, _EuclideanOnDevice)
    search, systems = by_euclid.kernels
    table = device_math.to_tensor(coordinates).contiguous()
    out = backends.empty((X.shape[0], coordinates.shape[1]), X)
    is_open = device_math.make_marks(X)

    def embed_block(part: slice) -> None:
        # The search moves and scales rows itself.
        compared = unit_rows(X[part, :]) if by_euclid.is_cosine else X[part, :]
        given, target = device_math.to_tensor(compared), out[part, :]
        if systems is not None:
            systems.embed(given, k, table, precision, device_math.to_tensor(target), is_open[part])
        else:
            places, is_open[part] = search.nearest(given, k, precision)
            target[...] = by_euclid.combine_nearest(
                X[part, :], device_math.from_tensor(places, X), coordinates
            )

    own = 0 if systems is not None else by_euclid.bytes_per_row
    access.for_each_block(embed_block, X, search.bytes_per_row(k) + own)
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
    kind = _EuclideanOnDevice if local.landmarks.kernel.is_euclidean else _AnyKernelOnDevice
    by_kernel: Any = _get_prepared(local, X, kind)
    out = backends.empty((X.shape[0], coordinates.shape[1]), X)

    def embed_block(rows: slice) -> None:
        out[rows, :] = by_kernel.embed(X[rows, :], coordinates, rows.start)

    access.for_each_block(embed_block, X, by_kernel.bytes_per_row)
    return out


def _get_prepared(
    local: LocalExtension, X: Any, kind: Callable[[LocalExtension, Any], Found]
) -> Found:
    """Landmarks prepared for rows of this library, device and type; kept as long as they are."""
    made = _made.setdefault(local, {})
    key = (kind, backends.library(X), str(X.device), backends.dtype_name(X))
    if key not in made:
        made[key] = kind(weakref.proxy(local), X)
    return cast(Found, made[key])


_made: weakref.WeakKeyDictionary[LocalExtension, dict[Any, Any]] = weakref.WeakKeyDictionary()


class _EuclideanOnDevice:
    """Weights under a kernel of Euclidean distances, in the type of the rows."""

    def __init__(self, local: LocalExtension, X: Any) -> None:
        self.local = local
        self.saturating = local.landmarks.kernel.name == "rbf"
        self.is_cosine = local.landmarks.kernel.name == "cosine"
        self.rows = backends.move_to(to_dense(local.landmarks.rows), X)
        # Prepared as rows are: a landmark among these is exactly where it was.
        self.points = self._prepare(self.rows)
        self.lengths = backends.namespace(X).sum(self.points * self.points, axis=1)
        self.is_single = backends.dtype_name(X) == "float32"
        k, size = local.n_neighbors, np.dtype(backends.dtype_name(X)).itemsize
        columns = 2 * len(local.landmarks) + 3 * k * X.shape[1]
        self.bytes_per_row = size * columns + _DEVICE_ARRAYS * DOUBLE_BYTES * k * k

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
        # Half squared distances among the landmarks in feature space, in float64.
        xp, points = backends.namespace(self.points), backends.widen(self.points)
        middle = access.column_medians(points)
        squared, rounding = device_math.squared_distances_around(points, points, middle)
        squared = xp.where(squared > rounding[:, None], squared, xp.zeros_like(squared))
        among = device_math.to_tensor(-xp.expm1(-squared) if self.saturating else 0.5 * squared)
        numbers = device_math.to_tensor(backends.move_to([EPSILON, NEARER], rows, "float64"))
        return search, Systems(search, among, self.saturating, numbers)

    def embed(self, X: Any, coordinates: Any, start: int) -> Any:
        """Map a block of rows to weighted sums of coordinates."""
        xp = backends.namespace(X)
        prepared = self._prepare(X)
        ranked = device_math.product_plus(prepared, -2.0 * self.points.T, self.lengths)
        if not self.is_single:  # in single precision rounding decides among equals in any case
            own = xp.sum(prepared * prepared, axis=1)[:, None]
            ranked = _break_ties_by_position(xp, device_math.clip(ranked + own, 0.0))
        _, neighbors = device_math.k_smallest(ranked, self.local.n_neighbors)
        return self.combine_nearest(X, neighbors, coordinates)

    def combine_nearest(self, X: Any, neighbors: Any, coordinates: Any) -> Any:
        """Map rows to weighted sums of coordinates of their nearest landmarks, which are known."""
        xp = backends.namespace(X)
        away = device_math.gather(self.points, neighbors) - self._prepare(X)[:, None, :]
        inner = backends.widen(xp.permute_dims(away @ xp.matrix_transpose(away), (1, 2, 0)))
        # Half squared feature distances from inner products of differences: a cancellation among
        # these is small beside the distances that it will be divided by.
        squared = xp.stack([inner[a, a, :] for a in range(inner.shape[0])])
        among = device_math.clip(squared[:, None, :] + squared[None, :, :] - 2.0 * inner, 0.0)
        if self.saturating:
            weights = solve_local_weights(-xp.expm1(-squared), -xp.expm1(-among))
        else:
            weights = solve_local_weights(0.5 * squared, 0.5 * among)
        return combine_coordinates(neighbors, backends.as_type(weights, X.dtype), coordinates)

    def _prepare(self, X: Any) -> Any:
        """Move and scale rows so that their Euclidean distances determine the kernel."""
        if self.is_cosine:
            return unit_rows(X)
        center, scale = self.local.center_and_scale
        return device_math.clip((X - backends.move_to(center, X)) * scale, -FAR, FAR)


class _AnyKernelOnDevice:
    """Weights under any kernel, in float64."""

    def __init__(self, local: LocalExtension, X: Any) -> None:
        self.local = local
        self.among = backends.move_to(local.among, backends.widen(X[:0, :]))
        held = len(local.landmarks) + local.n_neighbors**2
        self.bytes_per_row = _DEVICE_ARRAYS * DOUBLE_BYTES * held

    def embed(self, X: Any, coordinates: Any, start: int) -> Any:
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
    """Change distances so little that sorting breaks ties, in float32, as compiled loops do."""
    m = distances.shape[1]
    coarse = xp.astype(xp.astype(distances, xp.float32), distances.dtype)
    later = backends.move_to(np.arange(m) * (_TIE_BREAK / m), distances)
    return coarse * (1.0 + later)


def solve_local_weights(e: Any, gram: Any) -> Any:
    """Solve for local weights (K, n) from half squared distances to and among neighbours."""
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
    """Sums ``Σ_k weights[k, i] · coordinates[neighbors[i, k]]`` for every i."""
    out: Any = 0.0
    for k in range(neighbors.shape[1]):
        out = out + weights[k, :][:, None] * device_math.gather(coordinates, neighbors[:, k])
    return out


# ---- Landmarks and directions for a learner


@dataclass(frozen=True)
class FeatureSpace:
    """Leading directions of m landmarks in feature space."""

    kernel: Kernel
    rows: Ints  # row numbers of the landmarks
    landmarks: KernelLandmarks
    eigenvalues: Floats  # (q,) of their kernel matrix, decreasing
    directions: Floats  # (m, q), its unit eigenvectors
    centered: bool = True

    @property
    def random_spread(self) -> Floats | float:
        """Mean squared difference of two random landmarks along each direction, one if centred."""
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

    def extension(self, kind: str, n_neighbors: int, n_leading: int | None = None) -> Extension:
        """Map to weights over landmarks: ``"local"``, or ``"nystroem"`` along the leading ones."""
        if kind == "nystroem":
            floor = np.where(self.eigenvalues > 0, self.eigenvalues, 1.0)
            directions = np.ascontiguousarray(self.directions[:, :n_leading])
            return NystroemExtension(self.landmarks, floor[:n_leading], directions)
        return LocalExtension(self.landmarks, n_neighbors)


def find_feature_space(
    learner: Any,
    X: Rows,
    points: Integers,
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
    if kernel.name == "precomputed":
        landmarks = KernelLandmarks(kernel, X[np.ix_(rows, rows)], columns=rows)
    else:
        landmarks = KernelLandmarks(kernel, access.take_to_host(X, rows))
    K = landmarks.kernel_matrix(around_middle=center)
    noise = _KERNEL_ROUNDING * largest_entry(K) * float(np.finfo(np.float64).eps)
    if center:
        K = center_kernel(K, overwrite=True)
    eigenvalues, directions = leading_eigenpairs(K, rank_tol, noise)
    if not center:
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
    points: Integers,
    n_landmarks: int | None,
    landmarks: str | ArrayLike,
    rng: np.random.RandomState,
) -> Ints:
    """Choose landmarks: up to 2000 or ``n_landmarks`` rows of pairs, others by the strategy."""
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
