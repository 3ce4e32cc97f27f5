"""Sums of kernel values against landmarks, weighted by coefficients, for many rows.

A Gaussian kernel goes by blocks of rows that stay in a core's cache: a product gives the exponents,
and another, with the coefficients, the sums. On an accelerator one kernel of Triton does all of it
(:mod:`nearkin.spaces.triton_sums`). Kernels that are inner products need no landmarks any more.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from nearkin._types import DOUBLE_BYTES, Doubles, Floats
from nearkin.rows import access, backends, device_math
from nearkin.rows.distances import squared_lengths
from nearkin.rows.parallel import one_blas_thread
from nearkin.rows.sparse import is_sparse, to_dense
from nearkin.spaces.kernels import center_coefficients
from nearkin.spaces.landmarks import KernelLandmarks, ignore_overflow, refuse_overflow

# Single precision is used where it is off by no more at the landmarks, as a share of the largest
# sum there. Chosen by hand: ten times the rounding of one kernel value.
_ROUNDING = 2e-6
# Landmarks at which that is looked at, at most: as long as a few thousand rows take.
_PROBES = 500
# Exponents of the kernel between landmarks and their middle, at most, where products tell their
# distances: single precision is off by 8e-6 then, double precision by 1e-6. Chosen by hand.
_SINGLE_REACH, _DOUBLE_REACH = 64.0, 2.0**32
# Rows are cut at this power of the largest number: the square of its difference from another, and
# the sum over all columns, must not overflow.
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
        self._on_devices: dict[tuple[str | None, str], Any] = {}

    def at(self, X: Any) -> Any:
        """The sums (n, q) at all rows, where they are and in their type.

        O(m d + m q) time a row; a few megabytes on each core, or a block of kernel values where
        these need another way.
        """
        if backends.is_foreign(X):
            found = self.sum_by_triton(X)
            if found is not None:
                return found
        elif self._is_gaussian and not is_sparse(X) and not is_sparse(self.landmarks.rows):
            single = self._single if X.dtype == np.float32 else None
            return self._sum_by_blocks(X, single or self._double)
        return self._sum_by_kernel(X)

    # ---- Gaussian kernels of dense rows

    @property
    def _is_gaussian(self) -> bool:
        """Whether the kernel is Gaussian."""
        return self.landmarks.kernel.name == "rbf"

    @cached_property
    def _double(self) -> GaussianSums:
        """The sums in double precision."""
        with ignore_overflow():
            return self._prepare(np.float64)

    @cached_property
    def _single(self) -> GaussianSums | None:
        """The sums in single precision, if they are accurate."""
        if self._double.reach > _SINGLE_REACH:
            return None
        with ignore_overflow(), one_blas_thread():
            prepared = self._prepare(np.float32)
            found = np.empty((len(self._probes), len(self.constant)), dtype=np.float32)
            prepared.write(self._probes, found)
        return prepared if self._are_accurate(found) else None

    def _prepare(self, dtype: Any) -> GaussianSums:
        """Make the landmarks and coefficients ready for rows of a type."""
        return GaussianSums(self.landmarks, self.coefficients, self.constant, dtype)

    @cached_property
    def _probes(self) -> Floats:
        """Some landmarks and the one farthest out, in single precision."""
        farthest = self._double.factors[-1].argmin()
        some = np.union1d(backends.evenly_spaced(len(self.landmarks), _PROBES), farthest)
        return np.asarray(to_dense(self.landmarks.rows[some]), dtype=np.float32)

    @cached_property
    def _exact(self) -> Doubles:
        """The sums at these, in double precision."""
        found = np.empty((len(self._probes), len(self.constant)))
        with one_blas_thread():
            self._double.write(self._probes, found)
        return found

    def _are_accurate(self, found: Floats) -> bool:
        """Whether sums at the probes, in single precision, are close to those in double precision.

        Coefficients that cancel, and squared lengths that do, do so there as anywhere.
        """
        error, largest = np.abs(found - self._exact), np.abs(self._exact)
        return bool(error.max(initial=0.0) <= _ROUNDING * largest.max(initial=0.0))

    def _sum_by_blocks(self, X: Floats, prepared: GaussianSums) -> Floats:
        """Sums by blocks of rows that stay in a core's cache."""
        out = np.empty((len(X), len(self.constant)), dtype=X.dtype)

        def write_block(rows: slice) -> None:
            """Write the sums of some rows."""
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
            """Write the sums of some rows."""
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
            """Write the sums of some rows."""
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
        one matrix of all landmarks, unless that would be larger than the coefficients of sparse
        ones.
        """
        landmarks = self.landmarks
        if landmarks.is_inner_product:
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
    """Sums of Gaussian kernel values and a constant, for dense rows, in the digits of one type.

    ``reach`` is the largest exponent between a landmark and their middle.
    """

    def __init__(
        self, landmarks: KernelLandmarks, coefficients: Doubles, constant: Doubles, dtype: Any
    ) -> None:
        self.landmarks = landmarks
        self.center, self.scale, points = prepare_landmarks(landmarks, dtype)
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
