"""Rows wherever they are: what a learner needs of them, and what those elsewhere share.

A learner needs little of the rows it learns from: some of them by their numbers, sums over all of
them, and later all of them mapped. Whatever gives these three (:class:`Rows`) can be learned from,
with the same answers as from an array.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputIndexError, InputTypeError
from nearkin.rows.arrays import Floats

Parts = tuple[Any, ...]
# Numbers that are centred at a time.
_PIECE_NUMBERS = 2**18
# Rows that are looked at to see in which units columns are: what most learners do first.
ROWS_FOR_UNITS = 2_000
# Rows taken by number are remembered up to this size, since learners ask for the same ones again.
_REMEMBERED_BYTES = 2**26


@dataclass(frozen=True)
class Block:
    """Some consecutive rows.

    Attributes
    ----------
    start : int
        Number of the first.
    rows : ndarray of shape (k, d)
    carried : table of k rows or None
        Columns that go along with them into written files.
    """

    start: int
    rows: Floats
    carried: Any = None


def added(a: Parts, b: Parts) -> Parts:
    """Sums of two results, part by part."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


class Rows(Protocol):
    """Rows wherever they are; :func:`nearkin.rows.access.rows_of` finds them for any X."""

    def take(self, rows: NDArray[np.integer]) -> Any:
        """Some rows by their numbers, in that order."""

    def reduced(
        self,
        function: Callable[..., Parts],
        *aligned: NDArray[Any],
        combine: Callable[[Parts, Parts], Parts] = added,
    ) -> Parts:
        """``function`` of each block of rows, all results combined.

        Parameters
        ----------
        function : callable
            Of a block of rows and as many entries of each aligned array; gives a tuple of arrays.
        *aligned : ndarray of shape (n, ...)
        combine : callable, default=added
            Of two such tuples; associative.
        """

    def mapped(self, function: Callable[[Any], Any], names: list[str]) -> Any:
        """The same rows after a function of blocks of them, whose columns have these names."""


def block_moments(block: Floats) -> Parts:
    """Number, mean (d) and scatter (d, d) of some rows, in float64 on the host."""
    return _moments(block, lambda centered: centered.T @ centered)


def column_moments(block: Floats) -> Parts:
    """Number, mean (d) and sum of squared deviations (d) of some rows, in float64 on the host."""
    return _moments(block, _squares)


def _squares(centered: Any) -> Any:
    if isinstance(centered, np.ndarray):
        return np.einsum("ij,ij->j", centered, centered)
    return (centered * centered).sum(0)  # on a device


def _moments(block: Floats, scatter: Callable[[Floats], Floats]) -> Parts:
    """Number, mean, and scatter of centred rows, of pieces that stay in a core's cache."""
    if not isinstance(block, np.ndarray):
        from nearkin.rows.device_moments import moments_there  # which knows of remote rows

        return moments_there(block, scatter)
    size = max(64, _PIECE_NUMBERS // block.shape[1])

    def of_piece(start: int) -> Parts:
        rows = block[start : start + size]
        # From the first row: equal rows differ by exactly zero.
        origin = rows[0].astype(np.float64)
        shifted = np.subtract(rows, origin, dtype=np.float64)
        shift = shifted.mean(axis=0)
        shifted -= shift
        return len(rows), origin + shift, scatter(shifted)

    return reduce(merged_moments, map(of_piece, range(0, len(block), size)))


def merged_moments(a: Parts, b: Parts) -> Parts:
    """Moments of two sets of rows together, without cancellation."""
    (n_a, mean_a, scatter_a), (n_b, mean_b, scatter_b) = a, b
    n, apart = n_a + n_b, mean_b - mean_a
    square = np.multiply.outer(apart, apart) if scatter_a.ndim == 2 else apart**2
    mean = mean_a + (n_b / n) * apart
    return n, mean, scatter_a + scatter_b + (n_a * n_b / n) * square


def evenly_spaced(n: int, most: int) -> NDArray[np.int64]:
    """So many of the numbers from 0 to n - 1, the first and the last among them."""
    return np.linspace(0, n - 1, most).astype(np.int64)


class RemoteRows(ABC):
    """Rows that are in files larger than memory, or on other machines: :class:`Rows` with a shape.

    Attributes
    ----------
    shape : (int, int)
    dtype : float32 or float64
    names : list of str or None
        Of the columns.
    numbers : int ndarray or None
        Of the rows that can be taken; None for all.
    device : str or None
        Where functions of blocks find them; None for the host, as NumPy arrays.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    names: list[str] | None = None
    numbers: NDArray[np.int64] | None = None
    device: str | None = None
    ndim = 2

    @abstractmethod
    def take(self, rows: NDArray[np.integer]) -> Floats:
        """Some rows by their numbers, in that order."""

    @abstractmethod
    def reduced(
        self,
        function: Callable[..., Parts],
        *aligned: NDArray[Any],
        combine: Callable[[Parts, Parts], Parts] = added,
    ) -> Parts:
        """``function`` of each block of rows, all results combined."""

    @abstractmethod
    def mapped(self, function: Callable[[Floats], Floats], names: list[str]) -> Any:
        """The same rows after a function of blocks of them, which is called when they are read."""

    def moments(self) -> tuple[Floats, Floats]:
        """Mean (d) and covariance (d, d), not corrected for the mean.

        Examples
        --------
        >>> import numpy as np
        >>> import nearkin as nk
        >>> rows = nk.open_rows([np.array([[0.0], [2.0]]), np.array([[4.0]])])
        >>> rows.moments()
        (array([2.]), array([[2.66666667]]))
        """
        n, mean, scatter = self.reduced(block_moments, combine=merged_moments)
        return mean, scatter / n

    def squared_deviations(self) -> float:
        """Sum of squared distances from the mean.

        Examples
        --------
        >>> import numpy as np
        >>> import nearkin as nk
        >>> rows = nk.open_rows([np.array([[0.0], [2.0]]), np.array([[4.0]])])
        >>> rows.squared_deviations()
        8.0
        """
        return float(self.reduced(column_moments, combine=merged_moments)[2].sum())

    @property
    def n_columns(self) -> int:
        """Number of columns, which is known even where that of rows is not yet."""
        return self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        raise InputTypeError(
            "an array is wanted here, not rows that are read block by block: give some of them, "
            "for example rows.take(numbers)."
        )

    def __getitem__(self, key: Any) -> Any:
        raise InputTypeError(
            "rows that are read block by block have no [...]: take some by their numbers with "
            "rows.take(numbers)."
        )


class RememberingRows(RemoteRows):
    """Rows that remember those that were taken, up to 64 MB; :meth:`_fetched` gets the others."""

    _source: str
    _remembered: tuple[NDArray[np.int64], Floats] | None = None

    @abstractmethod
    def _fetched(self, wanted: NDArray[np.int64]) -> Floats:
        """Rows by their numbers, which increase and exist."""

    def take(self, rows: NDArray[np.integer]) -> Floats:
        """Some rows by their numbers, in that order."""
        rows = np.asarray(rows)
        if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "iu"):
            raise InputTypeError(
                "rows are taken by their numbers, a one-dimensional array of integers, got "
                f"shape {rows.shape} of {rows.dtype}."
            )
        wanted, positions = np.unique(rows.astype(np.int64), return_inverse=True)
        if len(wanted) and not 0 <= wanted[0] <= wanted[-1] < self.shape[0]:
            outside = wanted[0] if wanted[0] < 0 else wanted[-1]
            raise InputIndexError(
                f"row {outside} of {self._source}, which has {self.shape[0]} rows."
            )
        known = self._remembered
        missing = wanted if known is None else np.setdiff1d(wanted, known[0], assume_unique=True)
        if known is None or len(missing):
            found = self._fetched(missing)
            if known is not None:
                numbers = np.concatenate([known[0], missing])
                order = np.argsort(numbers)
                known = numbers[order], np.concatenate([known[1], found])[order]
            else:
                known = missing, found
            if known[1].nbytes <= _REMEMBERED_BYTES:
                self._remembered = known
        return known[1][np.searchsorted(known[0], wanted)][positions]
