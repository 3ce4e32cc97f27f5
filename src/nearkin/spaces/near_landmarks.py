r"""The nearest landmarks of rows in memory, and the weights of these, under a Euclidean kernel.

Rows are compared with all landmarks by a product of matrices, in parts that stay in cache. Where
rows lie in clusters, or along a surface, most of it can be left out. Let r be the distance of a row
from a pivot p, and κ the K-th smallest distance of landmarks from p. So K landmarks are no farther
than r + κ from the row, and a landmark l with

.. math::

    \|l - p\| > 2 r + κ

is farther (the triangle inequality, twice). Rows that share their nearest pivot are compared with
the others alone. Where a sample of rows shows that most landmarks remain, as for noise in many
dimensions, nothing is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from joblib import cpu_count
from numpy.typing import DTypeLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.utils.extmath import row_norms

from nearkin._types import Doubles, Floats
from nearkin.messages import silenced
from nearkin.rows import access
from nearkin.rows.distances import FAR
from nearkin.rows.parallel import blocks, compiled, one_thread
from nearkin.spaces.kernels import unit_rows
from nearkin.spaces.local_weights import (
    PART_ROWS,
    empty_squares,
    neighbors_of_rows,
    prepare_rows,
    weights_from_squares,
)

# Distances of this many bytes stay in a core's own cache. Products of fewer rows are slow, and of
# more rows nothing is faster.
_PART_BYTES = 2**20
_LEAST_ROWS, _MOST_ROWS = 128, 504
# Pivots at most, and rounds of k-means that place them; rows that are shared out among them at
# once, the more the better, if there are some for every core; and those of one part.
_MOST_PIVOTS, _ROUNDS = 64, 10
_SHARED_ROWS = (16384, 65536)
_SHARED_PART = PART_ROWS
# From so many rows and landmarks on, pivots may pay; rows on which that is measured, and the share
# of all landmarks that may remain.
_MANY_ROWS, _MANY_LANDMARKS = 20_000, 256
_SAMPLE = 1000
_SHARE_LEFT = 0.6
# Distances that differ by less, as a share, may count as equal.
_TIES = 1e-6

Places: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True)
class Preparation:
    """What makes rows of rows whose Euclidean distances determine a kernel.

    Attributes
    ----------
    center : float64 ndarray of shape (d,)
        What is subtracted.
    scale : float
        What rows are multiplied by then.
    to_unit_length : bool
        Whether they are divided by their lengths before.
    """

    center: Doubles
    scale: float
    to_unit_length: bool = False

    def begun(self, X: Floats) -> Doubles:
        """A copy of rows in float64, for compiled loops to do the rest."""
        rows = np.array(X, dtype=np.float64, order="C")
        return np.asarray(unit_rows(rows)) if self.to_unit_length else rows


@dataclass(frozen=True)
class _Points:
    """What rows are compared with: vectors, and what ranks them by their distance from a row u.

    That is ``‖l‖² − 2 u·l``, where a column of ones after u meets ‖l‖².
    """

    vectors: Doubles
    factor: Floats  # of shape (d + 1, m), in the type of the rows

    @classmethod
    def of(cls, vectors: Doubles, dtype: DTypeLike) -> _Points:
        """Vectors, for rows of some type."""
        factor = np.vstack([-2 * vectors.T, row_norms(vectors, squared=True)])
        return cls(vectors, factor.astype(dtype))

    def some(self, chosen: NDArray[np.intp]) -> _Points:
        """Some of the points."""
        factor = self._by_point.take(chosen, axis=0).T
        return _Points(self.vectors.take(chosen, axis=0), np.ascontiguousarray(factor))

    @cached_property
    def _by_point(self) -> Floats:
        return self.factor.T.copy()


@dataclass(frozen=True)
class _Pivots:
    """Pivots, and for each of them all landmarks from the nearest to the farthest."""

    vectors: Doubles
    landmarks: NDArray[np.intp]
    distances: Doubles
    kth: Doubles

    def n_left(self, pivot: int, radius: Any) -> Any:
        """How many landmarks may be among the nearest to rows no farther than that from a pivot."""
        limit = (2 * radius + self.kth[pivot]) * (1 + _TIES)
        return np.searchsorted(self.distances[pivot], limit, side="right")


class NearLandmarks:
    """Landmarks under a Euclidean kernel, to find those that are near.

    Parameters
    ----------
    rows : ndarray of shape (m, d)
    preparation : Preparation
    n_neighbors : int
    saturating : bool
        Whether the kernel of prepared rows is ``exp(−‖u − v‖²)``, or else linear.

    Attributes
    ----------
    points : float64 ndarray of shape (m, d)
        The landmarks as prepared rows.
    """

    def __init__(
        self, rows: Floats, preparation: Preparation, n_neighbors: int, saturating: bool
    ) -> None:
        self._preparation, self._n_neighbors = preparation, n_neighbors
        self._saturating = saturating
        self.points = preparation.begun(rows)
        lengths, coarse = np.empty(len(rows)), np.empty((len(rows), rows.shape[1] + 1))
        prepare_rows(self.points, preparation.center, preparation.scale, FAR, coarse, lengths)
        self._reach = float(lengths.max())

    def pivots_pay(self, X: Floats) -> bool:
        """Whether most landmarks can be left out for most rows of X, as far as a sample shows."""
        n, m = X.shape[0], len(self.points)
        if n < _MANY_ROWS or m < _MANY_LANDMARKS:
            return False
        cells, radii = self._shared_out(X[access.evenly_spaced(n, _SAMPLE)])
        left = [self._pivots.n_left(one, radii[cells == one]).sum() for one in np.unique(cells)]
        return bool(sum(left) < _SHARE_LEFT * m * len(cells))

    @staticmethod
    def shared_rows(n_rows: int) -> int:
        """How many rows are best shared out among pivots at once."""
        least, most = _SHARED_ROWS
        return max(least, min(most, n_rows // (4 * int(cpu_count()))))

    def weights(self, X: Floats, by_pivots: bool) -> tuple[Places, Floats]:
        """Nearest landmarks and weights of every row of X, of shape (n, n_neighbors) each."""
        if by_pivots:
            return self._weights_by_pivots(X)
        m = len(self.points)
        fitting = _PART_BYTES // (m * X.dtype.itemsize)
        size = min(max(fitting, _LEAST_ROWS), _MOST_ROWS) // 16 * 16 + 8  # see PART_ROWS
        squared = empty_squares(len(X), self._n_neighbors, min(size, len(X)))
        neighbors = np.empty((len(X), self._n_neighbors), np.int32)
        self._search(X, self._landmarks(X.dtype), neighbors, squared)
        return neighbors, self._solved(squared, X)

    def _weights_by_pivots(self, X: Floats) -> tuple[Places, Floats]:
        """The same, where rows are compared with the landmarks that their pivots leave."""
        pivots, landmarks = self._pivots, self._landmarks(X.dtype)
        cells, radii = self._shared_out(X)
        neighbors = np.empty((len(X), self._n_neighbors), np.int32)
        weights = np.empty(neighbors.shape, X.dtype)
        # By cells, and the nearest rows of each first: these are left the fewest landmarks.
        step = 2**16 // _MOST_PIVOTS
        share = np.minimum(radii * (step / max(radii.max(), 1e-300)), step - 1)
        order = np.argsort((cells * step + share).astype(np.uint16), kind="stable")
        starts = np.searchsorted(cells[order], np.arange(len(pivots.vectors) + 1))
        for pivot in range(len(pivots.vectors)):
            own = order[starts[pivot] : starts[pivot + 1]]
            squared = empty_squares(len(own), self._n_neighbors, _SHARED_PART)
            near = np.empty((len(own), self._n_neighbors), np.int32)
            for number, some in enumerate(blocks(len(own), _SHARED_PART)):
                n_left = pivots.n_left(pivot, radii[own[some]].max())
                left = np.sort(pivots.landmarks[pivot, :n_left])  # ties are broken by position
                rows = X.take(own[some], axis=0)
                self._search(rows, landmarks.some(left), near[some], squared[number : number + 1])
                near[some] = left.take(near[some])
            neighbors[own], weights[own] = near, self._solved(squared, X[: len(own)])
        return neighbors, weights

    def _search(self, X: Floats, landmarks: _Points, neighbors: Places, squared: Doubles) -> None:
        """Places of the nearest among some landmarks, and squared distances."""
        neighbors_of_rows(
            self._preparation.begun(X),
            self._preparation.center,
            self._preparation.scale,
            FAR,
            landmarks.vectors,
            landmarks.factor,
            self._reach,
            _rounding(X),
            neighbors,
            squared,
        )

    def _solved(self, squared: Doubles, X: Floats) -> Floats:
        weights = np.empty((len(X), self._n_neighbors), X.dtype)
        weights_from_squares(squared, self._saturating, weights)
        return weights

    def _shared_out(self, X: Floats) -> tuple[NDArray[np.int32], Doubles]:
        """The nearest pivot of every row, and how far it may be."""
        preparation, pivots = self._preparation, _Points.of(self._pivots.vectors, X.dtype)
        cells, radii = np.empty(len(X), np.int32), np.empty(len(X))
        for part in blocks(len(X), 16 * _SHARED_PART):
            _nearest(
                preparation.begun(X[part]),
                preparation.center,
                preparation.scale,
                pivots.factor,
                self._reach,
                _rounding(X),
                cells[part],
                radii[part],
            )
        return cells, radii

    @cached_property
    def _pivots(self) -> _Pivots:
        from sklearn.cluster import KMeans  # which few need

        n_pivots = min(_MOST_PIVOTS, round(len(self.points) ** 0.5))
        means = KMeans(n_pivots, n_init=1, max_iter=_ROUNDS, random_state=0)
        # scikit-learn warns of fewer distinct landmarks than pivots, which does no harm.
        with silenced(), one_thread():
            means.fit(self.points)
        distances = cdist(means.cluster_centers_, self.points)
        order = np.argsort(distances, axis=1)
        distances = np.take_along_axis(distances, order, axis=1)
        kth = distances[:, self._n_neighbors - 1]
        return _Pivots(means.cluster_centers_, order, distances, kth)

    def _landmarks(self, dtype: DTypeLike) -> _Points:
        return self._double if dtype == np.float64 else self._single

    @cached_property
    def _single(self) -> _Points:
        return _Points.of(self.points, np.float32)

    @cached_property
    def _double(self) -> _Points:
        return _Points.of(self.points, np.float64)


def _rounding(X: Floats) -> float:
    """By how much ranks of points may be wrong, as a share of squared lengths."""
    return float(4 * (X.shape[1] + 4) * np.finfo(X.dtype).eps)


@compiled()
def _nearest(
    rows: Any,
    center: Any,
    scale: float,
    factor: Any,
    reach: float,
    rounding: float,
    places: Any,
    distances: Any,
) -> None:
    """The nearest point of every row, and a distance that it has at most."""
    n, d = rows.shape
    coarse, lengths = np.empty((n, d + 1), factor.dtype), np.empty(n)
    prepare_rows(rows, center, scale, FAR, coarse, lengths)
    ranking = np.dot(coarse, factor)
    for i in range(n):
        best = 0
        for j in range(1, factor.shape[1]):
            if ranking[i, j] < ranking[i, best]:
                best = j
        squared = ranking[i, best] + lengths[i] + rounding * (lengths[i] + reach)
        places[i], distances[i] = best, np.sqrt(max(squared, 0.0))
