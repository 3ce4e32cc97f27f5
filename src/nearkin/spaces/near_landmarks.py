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

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeAlias

import numpy as np
from joblib import cpu_count
from numpy.typing import DTypeLike, NDArray
from scipy.spatial.distance import cdist
from sklearn.utils.extmath import row_norms

from nearkin.rows import access
from nearkin.rows.arrays import Doubles, Floats
from nearkin.rows.blocks import blocks
from nearkin.rows.compiled import compiled
from nearkin.rows.thread_limits import one_thread
from nearkin.spaces.local_weights import weights_from_rows
from nearkin.storage.silence import silenced

# Distances of this many bytes stay in a core's own cache. Products of fewer rows are slow, and of
# more rows nothing is faster.
_PART_BYTES = 2**20
_LEAST_ROWS, _MOST_ROWS = 128, 512
# Pivots at most, and rounds of k-means that place them; rows that are shared out among them at
# once, the more the better, if there are some for every core; and those of one part.
_MOST_PIVOTS, _ROUNDS = 64, 10
_SHARED_ROWS = (16384, 65536)
_SHARED_PART = 256
# From so many rows and landmarks on, pivots may pay; rows on which that is measured, and the share
# of all landmarks that may remain.
_MANY_ROWS, _MANY_LANDMARKS = 20_000, 256
_SAMPLE = 1000
_SHARE_LEFT = 0.6
# Distances that differ by less, as a share, may count as equal.
_TIES = 1e-6

# Rows, their nearest landmarks, and the weights of these.
Places: TypeAlias = NDArray[np.int32]
Part: TypeAlias = tuple[slice, Places, Floats]
# Of rows in float64, in place: see nearkin.spaces.local_weights.prepare_rows.
Prepare: TypeAlias = Callable[[Doubles, Floats, Doubles], None]


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

    @cached_property
    def _by_point(self) -> Floats:
        return self.factor.T.copy()

    def some(self, chosen: NDArray[np.intp]) -> _Points:
        """Some of the points."""
        return _Points(self.vectors[chosen], self._by_point[chosen].T)


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
    prepare : callable(rows, coarse, lengths)
        Makes rows of rows, in place, whose Euclidean distances determine the kernel.
    n_neighbors : int
    saturating : bool
        Whether the kernel of these is ``exp(−‖u − v‖²)``, or else linear.

    Attributes
    ----------
    points : float64 ndarray of shape (m, d)
        The landmarks as prepared rows.
    reach : float
        The largest squared length of any.
    """

    def __init__(self, rows: Floats, prepare: Prepare, n_neighbors: int, saturating: bool) -> None:
        m, d = rows.shape
        self.points = np.array(rows, dtype=np.float64, order="C")
        self.prepare, self.n_neighbors, self.saturating = prepare, n_neighbors, saturating
        lengths = np.empty(m)
        prepare(self.points, np.empty((m, d + 1)), lengths)
        self.reach = float(lengths.max())

    def pivots_pay(self, X: Floats) -> bool:
        """Whether most landmarks can be left out for most rows of X, as far as a sample shows."""
        n, m = X.shape[0], len(self.points)
        if n < _MANY_ROWS or m < _MANY_LANDMARKS:
            return False
        some = X[access.evenly_spaced(n, _SAMPLE)]
        cells, radii = self._shared_out(some)
        left = [
            self._pivots.n_left(pivot, radii[cells == pivot]).sum() for pivot in np.unique(cells)
        ]
        return bool(sum(left) < _SHARE_LEFT * m * len(some))

    @staticmethod
    def shared_rows(n_rows: int) -> int:
        """How many rows are best shared out among pivots at once."""
        least, most = _SHARED_ROWS
        return max(least, min(most, n_rows // (4 * cpu_count())))

    def weights_by_parts(self, X: Floats, rows: slice, by_pivots: bool) -> Iterator[Part]:
        """Nearest landmarks and weights of some rows of X. What is yielded will be overwritten."""
        if by_pivots:
            yield rows, *self._weights_by_pivots(X[rows])
            return
        landmarks, m = self._landmarks(X.dtype), len(self.points)
        fitting = _PART_BYTES // (m * X.dtype.itemsize)
        size = min(max(fitting, _LEAST_ROWS), _MOST_ROWS, rows.stop - rows.start)
        search = _Search(self, X, size, m)
        for start in range(rows.start, rows.stop, size):
            part = slice(start, min(start + size, rows.stop))
            yield part, *search.weights(X[part], landmarks)

    def _weights_by_pivots(self, X: Floats) -> tuple[Places, Floats]:
        """The same, where rows are compared with the landmarks that their pivots leave."""
        pivots, landmarks = self._pivots, self._landmarks(X.dtype)
        shape = (len(X), self.n_neighbors)
        neighbors, weights = np.empty(shape, np.int32), np.empty(shape, X.dtype)
        cells, radii = self._shared_out(X)
        search = _Search(self, X, _SHARED_PART, len(self.points))
        # By cells, and the nearest rows of each first: these are left the fewest landmarks.
        step = 2**16 // _MOST_PIVOTS
        share = np.minimum(radii * (step / max(radii.max(), 1e-300)), step - 1)
        order = np.argsort((cells * step + share).astype(np.uint16), kind="stable")
        starts = np.searchsorted(cells[order], np.arange(len(pivots.vectors) + 1))
        for pivot in range(len(pivots.vectors)):
            own = order[starts[pivot] : starts[pivot + 1]]
            for some in blocks(len(own), _SHARED_PART):
                part = own[some]
                n_left = pivots.n_left(pivot, radii[part].max())
                left = np.sort(pivots.landmarks[pivot, :n_left])  # ties are broken by position
                near, weights[part] = search.weights(X.take(part, axis=0), landmarks.some(left))
                neighbors[part] = left.take(near)
        return neighbors, weights

    def _shared_out(self, X: Floats) -> tuple[NDArray[np.intp], Doubles]:
        """The nearest pivot of every row, and how far it may be."""
        pivots = _Points.of(self._pivots.vectors, X.dtype)
        cells, radii = np.empty(len(X), np.intp), np.empty(len(X))
        search = _Search(self, X, _MOST_ROWS, len(pivots.vectors))
        for part in blocks(len(X), _MOST_ROWS):
            _, ranking, lengths, slack = search.compared(X[part], pivots)
            _nearest(ranking, lengths, slack, cells[part], radii[part])
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
        kth = distances[:, self.n_neighbors - 1]
        return _Pivots(means.cluster_centers_, order, distances, kth)

    def _landmarks(self, dtype: DTypeLike) -> _Points:
        return self._double if dtype == np.float64 else self._single

    @cached_property
    def _single(self) -> _Points:
        return _Points.of(self.points, np.float32)

    @cached_property
    def _double(self) -> _Points:
        return _Points.of(self.points, np.float64)


class _Search:
    """Memory for the comparison of a few rows at a time.

    Parameters
    ----------
    near : NearLandmarks
    X : ndarray of shape (n, d)
        What the rows are of.
    size, m : int
        Rows at a time, and points that they are compared with, at most.
    """

    def __init__(self, near: NearLandmarks, X: Floats, size: int, m: int) -> None:
        d, k = X.shape[1], near.n_neighbors
        self._near = near
        self._rounding = 4 * (d + 4) * float(np.finfo(X.dtype).eps)
        self._precise, self._lengths = np.empty((size, d)), np.empty(size)
        self._coarse = np.empty((size, d + 1), X.dtype)
        self._ranking = np.empty(size * m, X.dtype)
        self._neighbors, self._weights = np.empty((size, k), np.int32), np.empty((size, k), X.dtype)

    def compared(self, rows: Floats, points: _Points) -> tuple[Doubles, Floats, Doubles, Doubles]:
        """Prepared rows, the ranking of points, and what that lacks: see ``weights_from_rows``."""
        n, m = len(rows), len(points.vectors)
        precise, coarse, lengths = self._precise[:n], self._coarse[:n], self._lengths[:n]
        np.copyto(precise, rows)
        self._near.prepare(precise, coarse, lengths)
        ranking = self._ranking[: n * m].reshape(n, m)
        np.matmul(coarse, points.factor, out=ranking)
        return precise, ranking, lengths, self._rounding * (lengths + self._near.reach)

    def weights(self, rows: Floats, landmarks: _Points) -> tuple[Places, Floats]:
        """Places of the nearest landmarks, and their weights."""
        precise, ranking, lengths, slack = self.compared(rows, landmarks)
        neighbors, weights = self._neighbors[: len(rows)], self._weights[: len(rows)]
        weights_from_rows(
            precise,
            landmarks.vectors,
            ranking,
            lengths,
            slack,
            self._near.saturating,
            neighbors,
            weights,
        )
        return neighbors, weights


@compiled()
def _nearest(ranking: Any, lengths: Any, slack: Any, places: Any, distances: Any) -> None:
    """The nearest point of every row, and a distance that it has at most."""
    for i in range(ranking.shape[0]):
        best = 0
        for j in range(1, ranking.shape[1]):
            if ranking[i, j] < ranking[i, best]:
                best = j
        places[i] = best
        distances[i] = np.sqrt(max(ranking[i, best] + lengths[i] + slack[i], 0.0))
