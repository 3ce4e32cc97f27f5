"""Sums over the rows of each class, for rows in memory, on a device, in files or elsewhere."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp

from nearkin.rows import access, devices
from nearkin.rows.arrays import Floats, Integers


def class_sums(
    X: Any,
    classes: Integers,
    n_classes: int,
    coordinates: Callable[[Any], Any] = lambda rows: rows,
    origins: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Sums of the rows of each class, and of their squares.

    Parameters
    ----------
    X : array of shape (n, d), sparse matrix or RemoteRows
    classes : int ndarray of shape (n,)
        Class number of each row; negative for rows that are left out.
    n_classes : int
    coordinates : callable, optional
        Of a block of rows; the rows themselves by default.
    origins : ndarray of shape (n_classes, q), optional
        What to subtract from the rows of each class first.

    Returns
    -------
    sums, squares : ndarray of shape (n_classes, q), float64
    """

    def of_block(block: Any, number: Integers) -> tuple[Floats, Floats]:
        z, own = _of_known_class(block, number, coordinates)
        sums, squares = _Sum(), _Sum()
        for rows in _pieces(z, 8 * (n_classes + 3 * z.shape[1])):
            piece = devices.wide(z[rows, :])
            if origins is not None:
                piece = piece - _taken(origins, own[rows], piece)
            members = _indicator(own[rows], n_classes, piece)
            sums.add(members @ piece)
            squares.add(members @ (piece * piece))
        return sums.at_home, squares.at_home

    sums, squares = access.reduced(X, of_block, classes)
    return sums, squares


def within_scatters(
    X: Any,
    classes: Integers,
    means: Floats,
    weight: Floats,
    coordinates: Callable[[Any], Any] = lambda rows: rows,
) -> Floats:
    """``Σ_i weight_i (x_i − mean)(x_i − mean)ᵀ`` around the mean of each row's class.

    Parameters
    ----------
    X, classes, coordinates
        As for :func:`class_sums`.
    means : ndarray of shape (c, q)
    weight : ndarray of shape (c, k)
        k weights for the rows of each class: as many matrices are returned.

    Returns
    -------
    ndarray of shape (k, q, q), float64
    """

    def of_block(block: Any, number: Integers) -> tuple[Floats]:
        z, own = _of_known_class(block, number, coordinates)
        totals = [_Sum() for _ in weight.T]
        for rows in _pieces(z, 40 * z.shape[1]):
            piece = devices.wide(z[rows, :])
            centered = piece - _taken(means, own[rows], piece)
            for total, weights in zip(totals, weight.T, strict=True):
                total.add((_taken(weights, own[rows], piece)[:, None] * centered).T @ centered)
        return (np.stack([total.at_home for total in totals]),)

    return np.asarray(access.reduced(X, of_block, classes)[0])


class _Sum:
    """A sum that is made where its parts are."""

    def __init__(self) -> None:
        self._total: Any = 0.0

    def add(self, part: Any) -> None:
        self._total = self._total + part

    @property
    def at_home(self) -> Floats:
        return devices.to_numpy(self._total)


def _of_known_class(
    block: Any, number: Integers, coordinates: Callable[[Any], Any]
) -> tuple[Any, Integers]:
    """Coordinates of the rows whose class is known, and its number."""
    known = np.flatnonzero(number >= 0)
    return coordinates(access.take(block, known)), number[known]


def _pieces(z: Any, bytes_per_row: int) -> Iterable[slice]:
    """As much at a time as a device should hold; on the host a block is that already."""
    return access.blocks(z, bytes_per_row) if devices.is_foreign(z) else [slice(0, z.shape[0])]


def _taken(values: Floats, own: Integers, like: Any) -> Any:
    """What belongs to the class of each row, where the rows are."""
    there = devices.moved(values, like)
    return devices.namespace(like).take(there, devices.moved(own, like), axis=0)


def _indicator(own: Integers, n_classes: int, like: Any) -> Any:
    """1 where a row is of a class, of shape (n_classes, n); sparse on the host."""
    if not devices.is_foreign(like):
        n = len(own)
        return sp.csr_array((np.ones(n), (own, np.arange(n))), shape=(n_classes, n))
    numbers, each = devices.moved(own, like), devices.moved(np.arange(n_classes), like)
    return devices.as_type(each[:, None] == numbers[None, :], like.dtype)
