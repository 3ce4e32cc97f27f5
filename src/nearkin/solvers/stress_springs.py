"""Springs between points: how they are stored, and how hard they pull.

A few springs at each point are stored one by one (:class:`Springs`); springs between all points
as matrices (:class:`CompleteSprings`), where products of matrices do most of the work. Both know

- ``pull(Y)``: the weights of Q(Y), and the stress (see :mod:`nearkin.solvers.stress_majorization`);
- ``force(pull, Y)``: :math:`Q(Y) Y - P Y`;
- ``times(Y)``: :math:`P Y`;
- ``laplacian()``: P as a dense matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.rows.parallel import REORDER, compiled, for_each_block

_BLOCK, _PRODUCT_BLOCK = 512, 2048
# A squared length taken from inner products keeps ten digits above this share of them.
_CANCELLED = 1e-6


class AnySprings(Protocol):
    """What :mod:`nearkin.solvers.stress_majorization` asks of springs, however they are stored."""

    @property
    def n_points(self) -> int:
        """Number of points, with or without springs."""

    @property
    def degree(self) -> Floats:
        """Sum of the weights at each point."""

    def pull(self, Y: Floats) -> tuple[Any, float]:
        """Weights of Q(Y), and the stress."""

    def force(self, pull: Any, Y: Floats) -> Floats:
        """``Q(Y) Y − P Y``, with what ``pull(Y)`` gave."""

    def times(self, Y: Floats) -> Floats:
        """The product ``P Y`` of the weights' Laplacian with points."""

    def laplacian(self) -> Floats:
        """P as a dense matrix."""


@dataclass(frozen=True)
class Springs:
    """A few springs at each point, each stored with both its ends, row by row.

    Attributes
    ----------
    starts : int ndarray of shape (n + 1,)
        Springs of point i are at positions ``starts[i]`` to ``starts[i + 1]``.
    others : int ndarray of shape (e,)
        The other end of each.
    weight, rest : ndarray of shape (e,)
    strut : bool ndarray of shape (e,)
        Whether it only pushes.
    """

    starts: NDArray[np.int64]
    others: NDArray[np.int32]
    weight: Floats
    rest: Floats
    strut: NDArray[np.bool_]

    @property
    def n_points(self) -> int:
        """Number of points, with or without springs."""
        return len(self.starts) - 1

    @property
    def degree(self) -> Floats:
        """Sum of the weights at each point."""
        return np.asarray(self.weight_matrix().sum(axis=1), dtype=np.float64).ravel()

    def weight_matrix(self) -> Any:
        """The weights as a sparse symmetric matrix."""
        shape = (self.n_points, self.n_points)
        return sp.csr_array((self.weight, self.others, self.starts), shape=shape)

    def pull(self, Y: Floats) -> tuple[Floats, float]:
        """Weights of Q(Y), one for each end of a spring, and the stress."""
        pull = np.empty(len(self.others))
        parts = np.zeros(-(-self.n_points // _BLOCK))
        springs = (self.starts, self.others, self.weight, self.rest, self.strut)

        def work(rows: slice) -> None:
            part = _pull_rows(rows.start, rows.stop, *springs, Y, pull)
            parts[rows.start // _BLOCK] = part

        for_each_block(work, self.n_points, _BLOCK)
        return pull, float(parts.sum()) / 2  # each spring was met at both ends

    def force(self, pull: Floats, Y: Floats) -> Floats:
        """``Q(Y) Y − P Y``, from differences: exact zeros where points coincide."""
        return self._laplacian_times(pull - self.weight, Y)

    def times(self, Y: Floats) -> Floats:
        """The product ``P Y`` of the weights' Laplacian with points."""
        return self._laplacian_times(self.weight, Y)

    def laplacian(self) -> Floats:
        """P as a dense matrix."""
        return np.asarray(np.diag(self.degree) - self.weight_matrix().toarray())

    def reordered(self, order: NDArray[np.integer]) -> Springs:
        """The same springs with point ``order[i]`` as the i-th."""
        counts = np.diff(self.starts)[order]
        starts = np.concatenate([[0], np.cumsum(counts)])
        source = np.repeat(self.starts[:-1][order] - starts[:-1], counts) + np.arange(starts[-1])
        place = np.argsort(order).astype(np.int32)
        return Springs(
            starts,
            place[self.others[source]],
            self.weight[source],
            self.rest[source],
            self.strut[source],
        )

    def _laplacian_times(self, weight: Floats, Y: Floats) -> Floats:
        out = np.empty_like(Y)

        def work(rows: slice) -> None:
            _laplacian_rows(rows.start, rows.stop, self.starts, self.others, weight, Y, out)

        for_each_block(work, self.n_points, _PRODUCT_BLOCK)
        return out


@dataclass(frozen=True)
class CompleteSprings:
    """Springs between all points, and some more between a few of them.

    Attributes
    ----------
    weight, rest : ndarray of shape (n, n)
        Symmetric, with a diagonal of zeros.
    links : Springs
        The others: must-links, cannot-links.

    Notes
    -----
    O(n² q) time for each operation, most of it in products of matrices; n² numbers at a time.
    """

    weight: Floats
    rest: Floats
    links: Springs

    @property
    def n_points(self) -> int:
        """Number of points."""
        return len(self.weight)

    @property
    def degree(self) -> Floats:
        """Sum of the weights at each point."""
        return np.asarray(self.weight.sum(axis=1) + self.links.degree)

    def pull(self, Y: Floats) -> tuple[tuple[Floats, Floats], float]:
        """Weights of Q(Y) less those of P as a matrix, those of Q(Y) for the links; the stress."""
        of_links, stress_of_links = self.links.pull(Y)
        excess, squared_norms = inner_products(Y)
        parts = np.zeros(-(-self.n_points // _BLOCK))

        def work(rows: slice) -> None:
            part = _complete_pull_rows(
                rows.start, rows.stop, self.weight, self.rest, Y, squared_norms, excess
            )
            parts[rows.start // _BLOCK] = part

        for_each_block(work, self.n_points, _BLOCK)
        return (excess, of_links), float(parts.sum()) / 2 + stress_of_links

    def force(self, pull: tuple[Floats, Floats], Y: Floats) -> Floats:
        """``Q(Y) Y − P Y``."""
        return _laplacian_times(pull[0], Y) + self.links.force(pull[1], Y)

    def times(self, Y: Floats) -> Floats:
        """The product ``P Y`` of the weights' Laplacian with points."""
        return _laplacian_times(self.weight, Y) + self.links.times(Y)

    def laplacian(self) -> Floats:
        """P as a dense matrix."""
        laplacian = -self.weight
        rows = np.repeat(np.arange(self.n_points), np.diff(self.links.starts))
        np.subtract.at(laplacian, (rows, self.links.others), self.links.weight)
        laplacian.flat[:: self.n_points + 1] += self.degree
        return laplacian


def join(
    n_points: int,
    ends: NDArray[np.integer],
    weight: Floats,
    rest: Floats,
    strut: NDArray[np.bool_],
) -> Springs:
    """Springs from a list of their ends; two between the same points stay two.

    Parameters
    ----------
    n_points : int
    ends : int ndarray of shape (e, 2)
    weight, rest, strut : ndarray of shape (e,)
    """
    first = np.concatenate([ends[:, 0], ends[:, 1]])
    order = np.argsort(first, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=n_points))])
    others = np.concatenate([ends[:, 1], ends[:, 0]])[order]

    def doubled(values: Any) -> Any:
        return np.concatenate([values, values])[order]

    return Springs(
        starts.astype(np.int64),
        others.astype(np.int32),
        doubled(np.asarray(weight, dtype=np.float64)),
        doubled(np.asarray(rest, dtype=np.float64)),
        doubled(np.asarray(strut, dtype=bool)),
    )


def inner_products(Y: Floats) -> tuple[Floats, Floats]:
    """``Y Yᵀ`` of centred points, and its diagonal."""
    Y = Y - Y.mean(axis=0)
    product = Y @ Y.T
    return product, product.diagonal().copy()


def all_squared_distances(Y: Floats) -> Floats:
    """Squared distances between all points: exactly zero where they coincide.

    From inner products, but for those that are small beside them, which cancellation would spoil.
    """
    squared, squared_norms = inner_products(Y)

    def work(rows: slice) -> None:
        _squared_rows(rows.start, rows.stop, Y, squared_norms, squared)

    for_each_block(work, len(Y), _BLOCK)
    return squared


def _laplacian_times(weight: Floats, Y: Floats) -> Floats:
    Y = Y - Y[0]  # exact zeros where all points coincide
    return np.asarray(weight.sum(axis=1)[:, None] * Y - weight @ Y)


@compiled(fastmath=REORDER)
def squared_distance(Y: Any, i: int, j: int) -> float:
    """Between two rows of Y, for compiled loops."""
    squared = 0.0
    for t in range(Y.shape[1]):
        difference = Y[i, t] - Y[j, t]
        squared += difference * difference
    return squared


@compiled(fastmath=REORDER)
def _squared_rows(start: int, stop: int, Y: Any, squared_norms: Any, products: Any) -> None:
    """Turn inner products into squared distances, in place."""
    for i in range(start, stop):
        row, own, cancelled = products[i], squared_norms[i], 0
        for j in range(len(row)):  # without a branch, so that several are done at a time
            both = own + squared_norms[j]
            row[j] = both - 2.0 * row[j]
            cancelled += row[j] < _CANCELLED * both
        if cancelled > 1:  # a point with itself always is
            for j in range(len(row)):
                if row[j] < _CANCELLED * (own + squared_norms[j]):
                    row[j] = squared_distance(Y, i, j)
        row[i] = 0.0


@compiled(fastmath=REORDER)
def _complete_pull_rows(
    start: int, stop: int, weight: Any, rest: Any, Y: Any, squared_norms: Any, products: Any
) -> float:
    """Turn inner products into weights of Q(Y) less those of P, in place; the rows' stress."""
    _squared_rows(start, stop, Y, squared_norms, products)
    total = 0.0
    for i in range(start, stop):
        row, held, wanted = products[i], weight[i], rest[i]
        for j in range(len(row)):
            length = np.sqrt(row[j])
            ratio = wanted[j] / length if length > 0.0 else 0.0
            row[j] = held[j] * (ratio - 1.0)
            total += held[j] * (length - wanted[j]) ** 2
    return total


@compiled()
def _pull_rows(
    start: int,
    stop: int,
    starts: Any,
    others: Any,
    weight: Any,
    rest: Any,
    strut: Any,
    Y: Any,
    pull: Any,
) -> float:
    total = 0.0
    for i in range(start, stop):
        for s in range(starts[i], starts[i + 1]):
            length = np.sqrt(squared_distance(Y, i, others[s]))
            wanted = max(rest[s], length) if strut[s] else rest[s]
            pull[s] = weight[s] * wanted / length if length > 0.0 else 0.0
            total += weight[s] * (length - wanted) ** 2
    return total


@compiled(fastmath=REORDER)
def _laplacian_rows(
    start: int, stop: int, starts: Any, others: Any, weight: Any, Y: Any, out: Any
) -> None:
    # Copies of two rows, which no other array overlaps: the innermost loop takes many at a time.
    own, total = np.empty(Y.shape[1]), np.empty(Y.shape[1])
    for i in range(start, stop):
        own[:], total[:] = Y[i], 0.0
        for s in range(starts[i], starts[i + 1]):
            w, other = weight[s], Y[others[s]]
            for t in range(len(total)):
                total[t] += w * (own[t] - other[t])
        out[i] = total
