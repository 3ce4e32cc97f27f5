"""Rows that stand for all others, seen through a kernel: the landmarks."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.errors import InputError
from nearkin.rows import backends
from nearkin.rows.distances import centred, middle
from nearkin.rows.parallel import one_blas_thread
from nearkin.spaces.kernels import (
    Kernel,
    Rows,
    check_kernel_matrix,
    distances_from_kernel,
    unsaturated_distances,
)
from nearkin.spaces.linalg import leading_eigenpairs
from nearkin.storage.schema import a, ints, maybe, stored, training_rows


@stored(kernel=a("Kernel"), rows=training_rows("m d"), columns=maybe(ints("m")))
class KernelLandmarks:
    """Landmark rows seen through a kernel.

    Parameters
    ----------
    kernel : Kernel
    rows : array or sparse matrix of shape (m, d), or square kernel matrix
        The landmarks' vectors; with a precomputed kernel, the m×m kernel matrix among them.
    columns : int ndarray of shape (m,), optional
        With a precomputed kernel, which columns of a row of kernel values are the landmarks'.
    """

    def __init__(
        self, kernel: Kernel, rows: Rows, columns: NDArray[np.integer] | None = None
    ) -> None:
        self.kernel = kernel
        self.rows = rows
        self.columns = columns

    def __len__(self) -> int:
        return int(self.rows.shape[0])

    def kernel_matrix(self, *, around_middle: bool = True) -> Floats:
        """Kernel matrix among the landmarks, m×m, in float64 whatever the data.

        That of the linear kernel is of rows less their middle, here and in :meth:`kernel_to`:
        differences of feature vectors are the same, and keep their digits far from zero. With
        ``around_middle=False`` it is of the rows themselves.

        It is found by one thread, whatever ``fit`` had: a metric from a file, which finds it again,
        has the same numbers to the last bit.
        """
        rows = self._precise_rows
        with silent_overflow(), one_blas_thread():
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
        return self.rows.astype(np.float64, copy=False)

    def _rows_where(self, X: Rows) -> Rows:
        """The landmarks where X is, which is in float64 if its device knows that."""
        foreign = backends.is_foreign(X)
        return backends.moved(dense_rows(self.rows), X) if foreign else self._precise_rows

    @cached_property
    def middle(self) -> Floats:
        """Where the landmarks are, see :func:`nearkin.rows.distances.middle`."""
        return middle(self.rows)

    def _around_middle(self, X: Rows) -> Rows:
        """Rows less the landmarks' middle, if the kernel is linear: others see where rows are."""
        return centred(X, self.middle) if self.kernel.name == "linear" else X

    def kernel_to(self, X: Rows) -> Floats:
        """Kernel values between rows and landmarks, in float64 whatever the data."""
        X = backends.wide(X)
        if self.columns is not None:
            return np.asarray(X[:, self.columns])
        with silent_overflow():
            return self.kernel(self._around_middle(X), self._around_middle(self._rows_where(X)))

    def distances_to(self, X: Rows) -> tuple[Floats, Floats]:
        """What the distances of rows to landmarks in feature space grow with, and the rounding.

        See :func:`nearkin.spaces.kernels.unsaturated_distances`.
        """
        if self.columns is None:
            with silent_overflow():
                X = backends.wide(X)
                return unsaturated_distances(self.kernel, X, self._rows_where(X))
        K = self.kernel_to(X)
        return distances_from_kernel(K, self._least_own(K), self.rows.diagonal())

    def _least_own(self, K: Floats) -> Floats:
        """``k(x, x)`` of rows known by their kernel values only: the least that is possible.

        It is the squared length of the row's projection on the span of the landmarks. The part
        outside is the same for all weights, so that they do not depend on it but for their
        conditioning. At a landmark Cauchy–Schwarz gives the same value without rounding.
        """
        diagonal = self.rows.diagonal()
        projected = ((K @ self._whitener) ** 2).sum(axis=1)
        single = (K**2 / np.where(diagonal > 0, diagonal, np.inf)).max(axis=1)
        return np.asarray(np.where(projected > (1 + 1e-6) * single, projected, single))

    @cached_property
    def _whitener(self) -> Floats:
        with one_blas_thread():  # as for the matrix itself
            values, vectors = leading_eigenpairs(self.kernel_matrix(), rank_tol=1e-10)
        return np.asarray(vectors / np.sqrt(values))


def silent_overflow() -> np.errstate:
    """Kernel values may overflow without a word here: :func:`refuse_overflow` has the last."""
    return np.errstate(over="ignore", invalid="ignore")


def dense_rows(rows: Rows) -> Any:
    """Rows as a dense array."""
    return rows.toarray() if hasattr(rows, "toarray") else rows


def refuse_overflow(values: Floats, what: str, start: int = 0) -> None:
    """Kernel values can overflow where the data do not: name the first such row."""
    xp = backends.namespace(values)
    finite = xp.isfinite(values)
    if not bool(xp.all(finite)):
        finite = backends.to_numpy(xp.all(finite, axis=1))
        raise InputError(
            f"kernel values of {what} {start + int(finite.argmin())} are not finite: its entries "
            "are too large for this kernel. Scale the columns first, for example with "
            "StandardScaler."
        )
