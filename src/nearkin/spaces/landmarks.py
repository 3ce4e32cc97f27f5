"""Choosing landmarks, the few rows that stand for all others, and sums of kernel values."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.spatial.distance import cdist
from sklearn.utils import check_random_state

from nearkin._types import DOUBLE_BYTES, Doubles, Floats, Integers, Ints
from nearkin.errors import InputError
from nearkin.rows import access, backends, device_math
from nearkin.rows.distances import centre, middle, squared_lengths
from nearkin.rows.parallel import one_blas_thread
from nearkin.rows.sparse import is_sparse, to_dense
from nearkin.spaces.kernels import (
    Kernel,
    Rows,
    center_coefficients,
    check_kernel_matrix,
    distances_from_kernel,
    half_squared_distances,
    unit_rows,
    unsaturated_distances,
)
from nearkin.spaces.linalg import leading_eigenpairs
from nearkin.storage.schema import a, ints, maybe, stored, training_rows

STRATEGIES = ("random", "kmeans++", "farthest", "leverage")
# Strategies that look at the data do so on a sample of so many rows, or of so many for each
# landmark where that is more. Chosen by hand: strategies take O(m d) time for each row.
_SAMPLE_ROWS, _SAMPLE_ROWS_EACH = 20_000, 10
# Reference rows of leverage scores: decomposed in a fraction of a second. Chosen by hand.
_REFERENCE_ROWS = 1000
# Smallest ridge of these scores, as a share of the largest eigenvalue: with less, scores of a
# kernel of low rank are rounding errors. The largest is so many powers of e above that eigenvalue.
_LEAST_RIDGE = np.sqrt(np.finfo(np.float64).eps)
_MOST_LOG_RIDGE = 30
# A row's least chance, as share of the mean leverage: few may hold it all. Chosen by hand.
_LEAST_CHANCE = 1e-3
# Rows that are compared at a time with landmarks, and with the reference rows.
_BLOCK_LANDMARKS, _BLOCK_ROWS = 256, 4096
# A row known by kernel values alone has the length of its projection on the landmarks if that is
# longer, but for rounding, than along the best single landmark. Directions with eigenvalues below
# the second share of the largest are rounding.
_PROJECTION_ROUNDING, _NUMERICAL_RANK = 1e-6, 1e-10


def choose_landmarks(
    X: Rows,
    n_landmarks: int,
    strategy: str | ArrayLike,
    *,
    kernel: Kernel,
    include: Integers,
    random_state: Any = None,
) -> Ints:
    """Choose landmarks among rows, or rows of a kernel matrix; their numbers in increasing order.

    ``"random"`` draws uniformly; ``"kmeans++"`` in proportion to the squared distance in feature
    space from the landmarks so far; ``"farthest"`` takes the farthest row each time; ``"leverage"``
    draws by ridge leverage scores: how much the kernel matrix would lose without a row. An array
    names the rows outright. ``include`` are landmarks in any case.

    ``"random"`` costs nothing in n. The others look at a sample of max(20 000, 10 m) rows, for O(m
    d) time a row and O(1) memory a row (leverage: 1000 numbers a row, by blocks).
    """
    n = X.shape[0]
    if not isinstance(strategy, str):
        return np.union1d(_check_row_numbers(strategy, n), include).astype(np.int64)
    if strategy not in STRATEGIES:
        raise InputError(
            f"landmarks={strategy!r} is unknown: use one of {STRATEGIES} or row numbers."
        )
    missing = min(n_landmarks, n) - len(include)
    if missing <= 0:
        return np.sort(include).astype(np.int64)
    available = access.takeable_numbers(X)
    others = np.setdiff1d(available, include, assume_unique=True)
    if missing >= len(others):
        return np.asarray(available)
    rng, seen = check_random_state(random_state), None
    if strategy != "random":
        sample = max(_SAMPLE_ROWS, _SAMPLE_ROWS_EACH * n_landmarks)
        if len(others) > sample:
            others = np.sort(rng.choice(others, sample, replace=False))
        if backends.is_foreign(X) or backends.is_remote(X):  # a sample is small enough for the host
            seen = np.union1d(others, include).astype(np.int64)
            X = access.take_to_host(X, seen)
            others, include = (np.searchsorted(seen, rows) for rows in (others, include))
    if strategy == "random":
        chosen = rng.choice(others, missing, replace=False)
    elif strategy == "leverage":
        scores = _leverage_scores(X, others, kernel, n_landmarks, rng)
        chances = scores + _LEAST_CHANCE * scores.mean() + np.finfo(float).tiny
        chosen = rng.choice(others, missing, replace=False, p=chances / chances.sum())
    else:
        chosen = _choose_spread_out(X, others, missing, kernel, include, strategy, rng)
    found = np.union1d(chosen, include).astype(np.int64)
    return found if seen is None else seen[found]


def _check_row_numbers(rows: ArrayLike, n: int) -> Ints:
    """Check landmarks that were given as row numbers, and sort them."""
    named = np.asarray(rows)
    if named.ndim != 1 or len(named) == 0 or named.dtype.kind not in "iu":
        raise InputError(
            "landmarks given as row numbers must be a non-empty one-dimensional array of "
            f"integers, got shape {named.shape} of {named.dtype}."
        )
    outside = named[(named < 0) | (named >= n)]
    if len(outside):
        raise InputError(f"landmarks names row {outside[0]}, but X has {n} rows.")
    return np.unique(named).astype(np.int64)


def _distances_between(X: Rows, rows: Integers, kernel: Kernel, to: Any) -> Any:
    """Half squared feature-space distances between some rows of X and some others."""
    if kernel.name == "precomputed":
        diagonal = X.diagonal()
        return distances_from_kernel(X[np.ix_(rows, to)], diagonal[rows], diagonal[to])[0]
    return half_squared_distances(kernel, X[rows], X[to])[0]


def _choose_spread_out(
    X: Rows,
    candidates: Integers,
    n_chosen: int,
    kernel: Kernel,
    include: Integers,
    strategy: str,
    rng: np.random.RandomState,
) -> Integers:
    """Choose candidates one at a time, far from the landmarks so far.

    Scikit-learn's ``kmeans_plusplus`` works in input space and cannot start from given rows.
    """
    nearest = np.full(len(candidates), np.inf)
    for start in range(0, len(include), _BLOCK_LANDMARKS):
        to = include[start : start + _BLOCK_LANDMARKS]
        nearest = np.minimum(nearest, _distances_between(X, candidates, kernel, to).min(axis=1))
    chosen: list[int] = []
    for _ in range(n_chosen):
        if not np.isfinite(nearest[0]):
            pick = int(rng.randint(len(candidates)))
        elif strategy == "farthest":
            pick = int(nearest.argmax())
        else:
            cumulated = np.cumsum(nearest, dtype=np.float64)
            pick = int(np.searchsorted(cumulated, rng.uniform() * cumulated[-1], side="right"))
            pick = min(pick, len(candidates) - 1)
        if nearest[pick] <= 0:
            # Only copies of landmarks are left: take any that are not chosen yet.
            left = np.setdiff1d(np.arange(len(candidates)), chosen)
            chosen.extend(left[: n_chosen - len(chosen)].tolist())
            break
        chosen.append(pick)
        to = candidates[[pick]]
        nearest = np.minimum(nearest, _distances_between(X, candidates, kernel, to)[:, 0])
        nearest[pick] = 0
    return candidates[chosen]


def _leverage_scores(
    X: Rows, rows: Integers, kernel: Kernel, n_landmarks: int, rng: np.random.RandomState
) -> Doubles:
    """Estimate ridge leverage scores ``[K (K + λI)⁻¹]_ii`` against a uniform reference sample.

    λ is set so that the scores of the reference rows sum to half the number of landmarks (the
    effective dimension that so many landmarks can cover).
    """
    reference = np.sort(rng.choice(rows, min(len(rows), _REFERENCE_ROWS), replace=False))
    K = np.asarray(_kernel_between(X, reference, reference, kernel), dtype=np.float64)
    values, vectors = np.linalg.eigh((K + K.T) / 2)
    values = np.maximum(values, 0)
    goal = min(n_landmarks, len(reference)) / 2
    top = max(float(values[-1]), np.finfo(float).tiny)

    def excess(log_ridge: float) -> float:
        """Effective dimension under a ridge, less the one that is wanted."""
        return float((values / (values + np.exp(log_ridge))).sum()) - goal

    low, high = np.log(top) + np.log(_LEAST_RIDGE), np.log(top) + _MOST_LOG_RIDGE
    ridge = np.exp(brentq(excess, low, high)) if excess(low) > 0 else np.exp(low)
    # k_ii − k_iR (K_RR + λI)⁻¹ k_Ri, over λ: what the reference does not explain of a row.
    scores = np.empty(len(rows))
    for start in range(0, len(rows), _BLOCK_ROWS):
        block = rows[start : start + _BLOCK_ROWS]
        to_reference = _kernel_between(X, block, reference, kernel) @ vectors
        explained = (to_reference**2 / (values + ridge)).sum(axis=1)
        own = X.diagonal()[block] if kernel.name == "precomputed" else kernel.diagonal(X[block])
        scores[start : start + _BLOCK_ROWS] = np.maximum(own - explained, 0)
    return scores


def _kernel_between(X: Rows, rows: Any, to: Any, kernel: Kernel) -> Any:
    """Kernel values between some rows of X and some others."""
    if kernel.name == "precomputed":
        return X[np.ix_(rows, to)]
    return kernel(X[rows], X[to])


@stored(kernel=a("Kernel"), rows=training_rows("m d"), columns=maybe(ints("m")))
@dataclass(eq=False, repr=False)
class KernelLandmarks:
    """m landmark rows and a kernel: kernel values and feature-space distances to them."""

    kernel: Kernel
    rows: Rows  # or, with a precomputed kernel, the m×m kernel matrix among the landmarks,
    columns: Integers | None = None  # and which columns of a row of kernel values are theirs

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def kernel_matrix(self, *, around_middle: bool = True) -> Floats:
        """Kernel matrix among the landmarks, m×m, in float64 whatever the data.

        That of the linear kernel is of rows less their middle, here and in :meth:`kernel_to`:
        differences of feature vectors are the same, and keep their digits far from zero. Found by
        one thread: a metric from a file, which finds it again, has the very same numbers.
        """
        rows = self._precise_rows
        with ignore_overflow(), one_blas_thread():
            if self.columns is None and around_middle:
                rows = self._around_middle(rows)
            K = rows if self.columns is not None else self.kernel(rows, rows)
        refuse_overflow(K, "training row")
        if self.kernel.function is not None:
            check_kernel_matrix(K)
        K = np.asarray(K + K.T, dtype=np.float64)
        K /= 2
        if around_middle:
            vars(self)["column_means"] = K.mean(axis=0)
        return K

    @cached_property
    def column_means(self) -> Floats:
        """Means of the kernel matrix, by which values of new rows are centred."""
        return np.asarray(self.kernel_matrix().mean(axis=0))

    @cached_property
    def _precise_rows(self) -> Rows:
        """Landmark rows in float64."""
        return self.rows.astype(np.float64, copy=False)

    def _rows_beside(self, X: Rows) -> Rows:
        """The landmarks on the device of X, in float64 if the device has that."""
        foreign = backends.is_foreign(X)
        return backends.move_to(to_dense(self.rows), X) if foreign else self._precise_rows

    @cached_property
    def middle(self) -> Floats:
        """Origin near the landmarks, see :func:`nearkin.rows.distances.middle`."""
        return middle(self.rows)

    def _around_middle(self, X: Rows) -> Rows:
        """Rows less the landmarks' middle if the kernel is linear, otherwise as they are."""
        return centre(X, self.middle) if self.kernel.name == "linear" else X

    def vectors(self, X: Rows) -> Any:
        """Rows whose inner products are a linear or cosine kernel, in float64."""
        X = backends.widen(X)
        return unit_rows(X) if self.kernel.name == "cosine" else self._around_middle(X)

    def kernel_to(self, X: Rows) -> Any:
        """Kernel values between rows and landmarks, in float64 whatever the data."""
        X = backends.widen(X)
        if self.columns is not None:
            return np.asarray(X[:, self.columns])
        with ignore_overflow():
            return self.kernel(self._around_middle(X), self._around_middle(self._rows_beside(X)))

    def distances_to(self, X: Rows) -> tuple[Floats, Floats]:
        """:func:`nearkin.spaces.kernels.unsaturated_distances` to landmarks, and their rounding."""
        if self.columns is None:
            with ignore_overflow():
                X = backends.widen(X)
                return unsaturated_distances(self.kernel, X, self._rows_beside(X))
        K = self.kernel_to(X)
        return distances_from_kernel(K, self._least_own(K), self.rows.diagonal())

    def _least_own(self, K: Floats) -> Floats:
        """The least ``k(x, x)`` that rows can have which are known by kernel values only.

        The squared length of the row's projection on the span of the landmarks. The part outside is
        the same for all weights and matters to their conditioning only. At a landmark
        Cauchy–Schwarz gives the same value without rounding.
        """
        diagonal = self.rows.diagonal()
        projected = ((K @ self._whitener) ** 2).sum(axis=1)
        single = (K**2 / np.where(diagonal > 0, diagonal, np.inf)).max(axis=1)
        is_longer = projected > (1 + _PROJECTION_ROUNDING) * single
        return np.asarray(np.where(is_longer, projected, single))

    @cached_property
    def _whitener(self) -> Floats:
        """Eigenvectors of the landmarks' kernel matrix, divided by the roots of eigenvalues."""
        with one_blas_thread():  # as for the matrix itself
            values, vectors = leading_eigenpairs(self.kernel_matrix(), rank_tol=_NUMERICAL_RANK)
        return np.asarray(vectors / np.sqrt(values))


def ignore_overflow() -> np.errstate:
    """Let kernel values overflow without a warning, until :func:`refuse_overflow` looks."""
    return np.errstate(over="ignore", invalid="ignore")


def refuse_overflow(values: Floats, what: str, start: int = 0) -> None:
    """Raise if kernel values are not finite, and name the first row that has such values."""
    xp = backends.namespace(values)
    finite = xp.isfinite(values)
    if not bool(xp.all(finite)):
        finite = backends.to_numpy(xp.all(finite, axis=1))
        raise InputError(
            f"kernel values of {what} {start + int(finite.argmin())} are not finite: its entries "
            "are too large for this kernel. Scale the columns first, for example with "
            "StandardScaler."
        )


# ---- Sums of kernel values against landmarks
#
# A Gaussian kernel goes by blocks of rows that stay in a core's cache: a product gives the
# exponents, and another, with the coefficients, the sums. On an accelerator one kernel of Triton
# does all of it (:mod:`nearkin.spaces.triton_sums`). Inner products need no landmarks any more.

# Single precision is used where it is off by no more at the landmarks, as a share of the largest
# sum there. Chosen by hand: ten times the rounding of one kernel value.
_ROUNDING = 2e-6
# Landmarks at which that is looked at, at most: as long as a few thousand rows take.
_PROBES = 500
# Exponents of the kernel between landmarks and their middle, at most, where products tell their
# distances: single precision is off by 8e-6 then, double precision by 1e-6. Chosen by hand.
_SINGLE_REACH, _DOUBLE_REACH = 64.0, 2.0**32
# Rows are cut at this power of the largest number: sums of squared differences stay finite.
_FAR_POWER = 0.4
# Arrays of a block of rows by which blocks are sized: one of them fills a core's cache. Of sizes
# from 64 to 1024 rows the fastest, or within 3 % of it, at 300 and at 1000 landmarks.
_BLOCK_ARRAYS = 4
# Arrays in float64 of a row's kernel values that a device takes to find them.
_DEVICE_ARRAYS = 4


class KernelSums:
    """The map ``x ↦ Σ_j k(x, x_j) · coefficients[j]``, prepared once for all calls.

    With ``centered`` it is of kernel values that are centred by the landmarks' mean: values k(x)
    less their mean and less ``column_means``, plus the mean of these.
    """

    def __init__(
        self, landmarks: KernelLandmarks, coefficients: Floats, *, centered: bool = False
    ) -> None:
        self.landmarks = landmarks
        self.coefficients: Doubles = np.asarray(coefficients, dtype=np.float64)
        self.constant: Doubles = np.zeros(coefficients.shape[1])
        if centered:
            means = landmarks.column_means
            self.coefficients, self.constant = center_coefficients(self.coefficients, means)
        self._is_gaussian = landmarks.kernel.name == "rbf"
        self._on_devices: dict[tuple[str | None, str], Any] = {}

    def at(self, X: Any) -> Any:
        """The sums (n, q) at all rows, where they are and in their type.

        O(m d + m q) time a row; a few megabytes on each core, or else a block of kernel values.
        """
        if backends.is_foreign(X):
            found = self.sum_by_triton(X)
            if found is not None:
                return found
        elif self._is_gaussian and not is_sparse(X) and not is_sparse(self.landmarks.rows):
            return self._sum_by_blocks(X)
        return self._sum_by_kernel(X)

    # ---- Gaussian kernels of dense rows

    @cached_property
    def _double(self) -> GaussianSums:
        with ignore_overflow():
            return GaussianSums(self.landmarks, self.coefficients, self.constant, np.float64)

    @cached_property
    def _single(self) -> GaussianSums | None:
        """The sums in single precision, if they are accurate."""
        if self._double.reach > _SINGLE_REACH:
            return None
        with ignore_overflow(), one_blas_thread():
            prepared = GaussianSums(self.landmarks, self.coefficients, self.constant, np.float32)
            found = np.empty((len(self._probes), len(self.constant)), dtype=np.float32)
            prepared.write(self._probes, found)
        return prepared if self._are_accurate(found) else None

    @cached_property
    def _probes(self) -> Floats:
        """Some landmarks and the one farthest out, in single precision."""
        farthest = self._double.factors[-1].argmin()
        some = np.union1d(backends.evenly_spaced(len(self.landmarks), _PROBES), farthest)
        return np.asarray(to_dense(self.landmarks.rows[some]), dtype=np.float32)

    def _are_accurate(self, found: Floats) -> bool:
        """Whether sums at the probes, in single precision, are close to those in double precision.

        Coefficients that cancel, and squared lengths that do, do so there as anywhere.
        """
        exact = np.empty(found.shape)
        with one_blas_thread():
            self._double.write(self._probes, exact)
        error, largest = np.abs(found - exact), np.abs(exact)
        return bool(error.max(initial=0.0) <= _ROUNDING * largest.max(initial=0.0))

    def _sum_by_blocks(self, X: Floats) -> Floats:
        """Sums by blocks of rows that stay in a core's cache."""
        prepared = (self._single if X.dtype == np.float32 else None) or self._double
        out = np.empty((len(X), len(self.constant)), dtype=X.dtype)

        def write_block(rows: slice) -> None:
            with ignore_overflow():
                prepared.write(X[rows], out[rows])
            refuse_overflow(out[rows], "row", rows.start)

        access.for_each_block(write_block, X, _BLOCK_ARRAYS * prepared.bytes_per_row)
        return out

    def sum_by_triton(self, X: Any) -> Any:
        """Sums by a fused kernel; None where that cannot be, or is not accurate."""
        if not self._is_gaussian or not device_math.can_use_kernels(X):
            return None
        if self._double.reach > _SINGLE_REACH:
            return None
        return device_math.try_kernels(X, lambda: self._run_triton(X))

    def _run_triton(self, X: Any) -> Any:
        """Sums by a fused kernel, block by block; None if it is not accurate."""
        from nearkin.spaces.triton_sums import SumsOnDevice

        key = backends.library(X), str(X.device)
        if key not in self._on_devices:
            probes = device_math.to_tensor(backends.move_to(self._probes, X))
            with np.errstate(all="ignore"):  # what float32 cannot hold is not accurate
                landmarks = prepare_landmarks(self.landmarks, np.float32)
                prepared = SumsOnDevice(*landmarks, self.coefficients, self.constant, probes.device)
            found = probes.new_empty((len(probes), len(self.constant)))
            prepared.write(probes, found)
            accurate = self._are_accurate(backends.to_host(found))
            self._on_devices[key] = prepared if accurate else None
        prepared = self._on_devices[key]
        if prepared is None:
            return None
        out = backends.empty((X.shape[0], len(self.constant)), X)

        def write_block(rows: slice) -> None:
            prepared.write(device_math.to_tensor(X[rows, :]), device_math.to_tensor(out[rows, :]))

        access.for_each_block(write_block, X, prepared.bytes_per_row)
        return out

    # ---- Any kernel, and rows anywhere

    def _sum_by_kernel(self, X: Any) -> Any:
        """Sums by kernel values in float64, or by what takes their place."""
        out = backends.empty((X.shape[0], len(self.constant)), X)
        values_of, table = self._factors
        wide = backends.widen(X[:0, :])
        table, constant = backends.move_to(table, wide), backends.move_to(self.constant, wide)

        def write_block(rows: slice) -> None:
            values = values_of(X[rows, :])
            if not is_sparse(values):
                refuse_overflow(values, "row", rows.start)
            with ignore_overflow():
                found = backends.as_type(values @ table + constant, X.dtype)
            refuse_overflow(found, "row", rows.start)
            out[rows, :] = found

        arrays = _DEVICE_ARRAYS if backends.is_foreign(X) else 1
        access.for_each_block(write_block, X, table.shape[0] * arrays * DOUBLE_BYTES)
        return out

    @cached_property
    def _factors(self) -> tuple[Callable[[Any], Any], Doubles]:
        """What is made of rows, and what that is multiplied by.

        Kernel values and coefficients; or, for a kernel that is an inner product, these vectors and
        one matrix of all landmarks, unless that is larger than coefficients of sparse ones.
        """
        landmarks = self.landmarks
        if landmarks.columns is None and landmarks.kernel.name in ("linear", "cosine"):
            vectors = landmarks.vectors(landmarks.rows)
            if not is_sparse(vectors) or vectors.shape[1] <= len(landmarks):
                with one_blas_thread():
                    return landmarks.vectors, np.asarray(vectors.T @ self.coefficients)
        return landmarks.kernel_to, self.coefficients


def prepare_landmarks(landmarks: KernelLandmarks, dtype: Any) -> tuple[Floats, Any, Doubles]:
    """What is subtracted from rows, what the rest is multiplied by, and landmarks after both.

    Squared Euclidean distances are then the exponents of a Gaussian kernel. The first two are in
    the rows' type, and the landmarks, in float64, have gone by the same numbers.
    """
    center = landmarks.middle.astype(dtype)
    scale = np.dtype(dtype).type(np.sqrt(landmarks.kernel.gamma))
    points = (to_dense(landmarks.rows) - center.astype(np.float64)) * np.float64(scale)
    return center, scale, np.clip(points, -_far(dtype), _far(dtype))


def _far(dtype: Any) -> float:
    """How large entries of prepared rows are at most."""
    return float(np.finfo(dtype).max ** _FAR_POWER)


class GaussianSums:
    """Sums of Gaussian kernel values and a constant, for dense rows, in the digits of one type."""

    def __init__(
        self, landmarks: KernelLandmarks, coefficients: Doubles, constant: Doubles, dtype: Any
    ) -> None:
        self.landmarks = landmarks
        self.center, self.scale, points = prepare_landmarks(landmarks, dtype)
        # The largest exponent between a landmark and their middle.
        self.reach = float(squared_lengths(points).max())
        m, d = points.shape
        # −‖u − v‖² is a product: of (u, ‖u‖², 1) and (2v, −1, −‖v‖²).
        self.factors = np.empty((d + 2, m), dtype=dtype)
        self.factors[:d] = 2 * points.T
        self.factors[d] = -1
        self.factors[d + 1] = -squared_lengths(self.factors[:d].T) / 4
        self.table, self.constant = coefficients.astype(dtype), constant.astype(dtype)
        self.bytes_per_row = self.factors.itemsize * (m + d + 2)

    def write(self, X: Floats, out: Floats) -> None:
        """Write the sums at a block of rows (n, d) into ``out`` (n, q)."""
        (n, d), dtype = X.shape, self.factors.dtype
        rows = np.empty((n, d + 2), dtype=dtype)
        moved = rows[:, :d]
        np.subtract(X, self.center, out=moved)
        moved *= self.scale
        np.clip(moved, -_far(dtype), _far(dtype), out=moved)
        np.einsum("ij,ij->i", moved, moved, out=rows[:, d])
        rows[:, d + 1] = 1
        values = rows @ self.factors
        if self.reach > _DOUBLE_REACH:  # by differences, which is slow
            kernel, others = self.landmarks.kernel, to_dense(self.landmarks.rows)
            np.multiply(-kernel.gamma, cdist(X, others, "sqeuclidean"), out=values)
        np.exp(values, out=values)
        sums = np.matmul(values, self.table, out=out if out.dtype == dtype else None)
        np.add(sums, self.constant, out=out, casting="same_kind")


# ---- Sums that are kept


_kept: weakref.WeakKeyDictionary[Any, tuple[Floats, KernelSums]] = weakref.WeakKeyDictionary()


def keep_sums(owner: Any, coordinates: Floats, make: Callable[[], KernelSums]) -> KernelSums:
    """The sums that ``make`` gives, kept as long as their owner is, and asked for the same ones.

    Coordinates are compared by their values, of which a copy is kept: that takes as long as a row.
    By one thread: the sums of a metric from a file are the same to the last bit.
    """
    kept = _kept.get(owner)
    if kept is None or not np.array_equal(kept[0], coordinates):
        with one_blas_thread():
            kept = np.array(coordinates), make()
        _kept[owner] = kept
    return kept[1]
