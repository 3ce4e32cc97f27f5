r"""Local weights: write a point as an affine combination of its nearest landmarks.

For a point x with neighbours :math:`x_1, \dots, x_K` in feature space the weights solve

.. math::

    \min_w \; w^\top G w + \epsilon \sum_j G_{jj} w_j^2
    \quad \text{s.t.} \quad \mathbf 1^\top w = 1,
    \qquad G_{jk} = (\phi(x) - \phi(x_j))^\top (\phi(x) - \phi(x_k)).

The first term is the reconstruction error of locally linear embedding. The second conditions it:
divided by the distances, the system has the *correlation* matrix of the differences plus
:math:`\epsilon I`, whose condition number is at most :math:`(K + \epsilon)/\epsilon` whatever the
data, so that float32 is safe. It also makes the weights continuous: as x approaches a landmark
they approach the unit vector of that landmark, and reach it exactly.

The loops are compiled and release the global interpreter lock; callers run blocks of rows in
threads. Everything is O(K) memory a row.
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
from nearkin.messages import mute_third_party
from nearkin.rows.backends import evenly_spaced
from nearkin.rows.distances import FAR
from nearkin.rows.parallel import REORDER, compiled, count_all_rows, one_thread, split_range
from nearkin.spaces.kernels import unit_rows

# Conditioning, relative to each neighbour's own squared distance: the usual share of locally linear
# embedding. The condition number of a system of K neighbours is K / EPSILON at most.
EPSILON = 1e-3
# A neighbour this many times nearer than another has all the weight, but for rounding; the cosine
# of the angle between the two would be nothing else.
NEARER = 1e12
# Numbers that are equal in single precision differ by no more than this share, twice over.
_COARSE = 2.0**-22
# The least positive float32 with all its digits, and numbers whose squares stay within it.
_TINY, _LARGE = 2.0**-126, 1e30
# Distances that differ by less, as a share, may count as equal: some times the rounding of float32.
_TIES = 1e-6
# Errors of ranks from a product, in units in the last place for each column and for so many more.
_RANK_ROUNDING, _MORE_ROUNDINGS = 4, 4
# Rows are ranked in float32, twice as fast, while its errors are below this share of the squared
# distances that decide, judged by so many landmarks: few landmarks need a second look then.
_LITTLE_ROUNDING, _JUDGED_LANDMARKS = 0.01, 100
# Radii are divided by this at least.
_NEVER_ZERO = 1e-300
# Sizes below were chosen by hand, by the time of benchmarks/speed on a few cores.
# Numbers of a row that have one minimum, and such minima of which the least has a say in the bound.
CHUNK = 8
_GROUP = 4
# Groups for each of the numbers to be found: with these, a bound has one or two more below it.
_GROUPS_EACH = 3
# Rows whose weights are found at once. No multiple of 16, but of half of that: otherwise columns of
# their numbers would lie in the same few places of the cache.
PART_ROWS = 248
_CACHE_STEP = 16
# Distances of so many bytes stay in a core's own cache: fewer are slow, more no faster.
_PART_BYTES = 2**20
_LEAST_ROWS, _MOST_ROWS = 128, 504
# Distances of rows to landmarks up to which NumPy is used. It takes 50 ms at most where compiled
# loops take 10, but these have to be compiled once, for six seconds, and loaded by every process.
_FEW_DISTANCES = 2**22
# Pivots at most, and rounds of k-means that place them; rows that are shared out among them at
# once, the more the better, if there are some for every core; and parts for which distances to
# pivots are found at once.
_MOST_PIVOTS, _ROUNDS = 64, 10
_SHARED_ROWS, _SHARES_EACH_CORE = (16384, 65536), 4
_SHARED_PARTS = 16
# From so many rows and landmarks on, pivots may pay; rows on which that is measured, and the share
# of all landmarks that may remain.
_MANY_ROWS, _MANY_LANDMARKS = 20_000, 256
_SAMPLE = 1000
_SHARE_LEFT = 0.6


# ---- The smallest numbers of each row


@compiled(fastmath={"nnan", "nsz"})
def _least_of_eight(values: Any, minima: Any) -> None:
    """Write to ``minima`` (m,) the minima of eight numbers each: ``values[j::m]`` for number j."""
    n = minima.shape[0]
    a, b, c, d = values[:n], values[n : 2 * n], values[2 * n : 3 * n], values[3 * n : 4 * n]
    values = values[4 * n :]
    e, f, g, h = values[:n], values[n : 2 * n], values[2 * n : 3 * n], values[3 * n : 4 * n]
    for j in range(n):
        first = min(min(a[j], b[j]), min(c[j], d[j]))
        minima[j] = min(first, min(min(e[j], f[j]), min(g[j], h[j])))


@compiled(fastmath={"nnan", "nsz"})
def _least_of_four(values: Any, minima: Any) -> None:
    """Write to ``minima`` (m,) the minima of four numbers each: ``values[j::m]`` for number j."""
    n = minima.shape[0]
    a, b, c, d = values[:n], values[n : 2 * n], values[2 * n : 3 * n], values[3 * n : 4 * n]
    for j in range(n):
        minima[j] = min(min(a[j], b[j]), min(c[j], d[j]))


@compiled(fastmath={"nnan", "nsz"})
def _order_entrywise(low: Any, high: Any) -> None:
    """Swap entries of two arrays where that of ``low`` is larger than that of ``high``."""
    for i in range(low.shape[0]):
        less, more = min(low[i], high[i]), max(low[i], high[i])
        low[i], high[i] = less, more


@compiled()
def bound_smallest(values: Any, minima: Any, lowest: Any) -> None:
    """Bound the K-th smallest number of each row of ``values`` (n, m) from above.

    Written: ``minima`` (n, m // 8) of each row's chunks (:func:`find_below`), and ``lowest`` (K,
    n), whose last row has the bounds: infinite where m is too small for any.
    """
    k, chunks = lowest.shape[0], minima.shape[1]
    grouped = chunks // _GROUP >= _GROUPS_EACH * k
    n_groups = chunks // _GROUP if grouped else chunks
    groups, own = np.empty((n_groups, len(values)), values.dtype), np.empty(n_groups, values.dtype)
    for i in range(len(values)):
        _least_of_eight(values[i], minima[i])
        if grouped:
            _least_of_four(minima[i], own)
        # Entry by entry: to copy a slice, Numba compiles seconds of text for an error of shapes.
        for c in range(n_groups):
            groups[c, i] = own[c] if grouped else minima[i, c]
    lowest[:] = np.inf
    for c in range(n_groups):
        for a in range(k):
            _order_entrywise(lowest[a], groups[c])


@compiled()
def find_below(values: Any, minima: Any, bound: Any, chunks: Any, found: Any) -> Any:
    """Write the positions of a row's m numbers up to ``bound``, in no order; return their number.

     ``found`` has room for m + 1, and ``chunks`` (m // 8 + 1) is scratch. The first of ``minima``
    (m // 8) is of every (m // 8)-th number, from the first on.
    """
    step = minima.shape[0]
    n_chunks = n_found = 0
    # What is no hit will be overwritten: there is no branch to guess.
    for c in range(step):
        chunks[n_chunks] = c
        n_chunks += minima[c] <= bound
    for c in range(n_chunks):
        for t in range(CHUNK):
            j = chunks[c] + t * step
            found[n_found] = j
            n_found += values[j] <= bound
    for j in range(CHUNK * step, values.shape[0]):
        found[n_found] = j
        n_found += values[j] <= bound
    return n_found


@compiled()
def insert(value: Any, position: int, positions: Any, smallest: Any) -> None:
    """Insert a value and its position into the sorted K smallest, behind equal ones."""
    place = smallest.shape[0] - 1
    while place > 0 and smallest[place - 1] > value:
        smallest[place] = smallest[place - 1]
        positions[place] = positions[place - 1]
        place -= 1
    smallest[place] = value
    positions[place] = position


@compiled()
def find_smallest(values: Any, positions: Any, smallest: Any) -> None:
    """Write the K smallest values and their positions, in increasing order, ties by position."""
    smallest[:] = np.inf
    positions[:] = 0
    for j in range(values.shape[0]):
        if values[j] < smallest[smallest.shape[0] - 1]:
            insert(values[j], j, positions, smallest)


@compiled(fastmath=REORDER)
def _squared_distance(a: Any, b: Any) -> Any:
    """Squared Euclidean distance of two rows, in their own type."""
    total = a[0] * 0  # of the rows' own type: float32 sums run twice as fast
    for t in range(a.shape[0]):
        difference = a[t] - b[t]
        total += difference * difference
    return total


@compiled(fastmath=REORDER)
def prepare_rows(rows: Any, center: Any, scale: float, coarse: Any, lengths: Any) -> None:
    """Move and scale rows in place, ``(rows − center) · scale``, clipped to ``FAR``.

    Written: ``coarse`` (n, d + 1), the same in another type beside ones, and squared ``lengths``.
    """
    for i in range(rows.shape[0]):
        row, rounded = rows[i], coarse[i]
        total = 0.0
        for t in range(row.shape[0]):
            value = min(max((row[t] - center[t]) * scale, -FAR), FAR)
            row[t] = value
            rounded[t] = value
            total += value * value
        rounded[row.shape[0]] = 1.0
        lengths[i] = total


@compiled()
def _sort_few(numbers: Any) -> None:
    """Sort a few numbers in place, without branches."""
    for a in range(1, numbers.shape[0]):
        number = numbers[a]
        for b in range(a):
            less, more = min(numbers[b], number), max(numbers[b], number)
            numbers[b], number = less, more
        numbers[a] = number


@compiled()
def _find_all_nearest(
    rows: Any, landmarks: Any, ranking: Any, lengths: Any, slack: Any, neighbors: Any
) -> None:
    """Write the positions of the K nearest landmarks of every row to ``neighbors``, sorted.

    ``ranking`` (n, m) are approximate squared distances; they decide where they leave no doubt.
    Others are taken from differences and compared in single precision, so that landmarks that are
    equally far up to rounding are equally far.
    """
    n, m = ranking.shape
    k = neighbors.shape[1]
    minima, lowest = np.empty((n, m // CHUNK), ranking.dtype), np.empty((k, n), ranking.dtype)
    chunks, found = np.empty(m // CHUNK + 1, np.int32), np.empty(m + 1, np.int32)
    smallest, keys = np.empty(k, ranking.dtype), np.empty(k, np.float32)
    bound_smallest(ranking, minima, lowest)
    bounds = lowest[k - 1]
    for i in range(n):
        near = neighbors[i]
        bounds[i] += slack[i] + _COARSE * max(bounds[i] + lengths[i], 0.0)
        bounds[i] = np.nextafter(bounds[i], np.inf)  # that sum may have been rounded down
        bound, n_near = bounds[i], 0
        n_found = find_below(ranking[i], minima[i], bounds[i], chunks, found)
        if n_found == k:
            n_near = k
            for a in range(k):
                near[a] = found[a]
        else:
            smallest[:] = np.inf
            for place in found[:n_found]:
                if ranking[i, place] < smallest[k - 1]:
                    insert(ranking[i, place], place, near, smallest)
            last = smallest[k - 1]
            bound = last + slack[i] + _COARSE * max(last + lengths[i], 0.0)
            for place in found[:n_found]:
                n_near += ranking[i, place] <= bound
        if n_near != k:
            keys[:] = np.inf
            near[:] = 0
            for place in range(m):  # in order: the first of equals counts
                if ranking[i, place] <= bound:
                    key = np.float32(_squared_distance(rows[i], landmarks[place]))
                    if key < keys[k - 1]:
                        insert(key, place, near, keys)
        _sort_few(near)


@compiled()
def _triangle_index(a: Any, b: Any) -> Any:
    """Index of the entry (a, b), b ≤ a, in a lower triangle that is stored row by row."""
    return a * (a + 1) // 2 + b


@compiled()
def _replace_by_cosines(half: Any, root: Any, ratio: Any) -> None:
    """Replace half squared distances by cosines of angles at the point, in place.

    Written beside: distances to neighbours, ``root``, and the least divided by them, ``ratio``.
    """
    k, n = root.shape
    nearest = half[0].copy()
    for a in range(1, k):
        e = half[_triangle_index(a, a)]
        for i in range(n):
            nearest[i] = min(nearest[i], e[i])
    for a in range(k):
        e, own_root, own_ratio = half[_triangle_index(a, a)], root[a], ratio[a]
        for i in range(n):
            own_root[i] = np.sqrt(e[i])
            farther = e[i] > nearest[i]
            own_ratio[i] = np.sqrt(nearest[i] / e[i] if farther else 1.0)
    for a in range(k):
        for b in range(a):
            one, other = half[_triangle_index(a, a)], half[_triangle_index(b, b)]
            between = half[_triangle_index(a, b)]
            root_one, root_other = root[a], root[b]
            for i in range(n):
                scale = 2.0 * root_one[i] * root_other[i]
                apart = scale * NEARER > max(one[i], other[i])
                cosine = (one[i] + other[i] - between[i]) / (scale if apart else 1.0)
                between[i] = min(max(cosine, -1.0), 1.0) if apart else 0.0


@compiled()
def _set_at_right_angles(a: int, half: Any, ratio: Any, rest: Any) -> None:
    """Make neighbour a orthogonal to those before it, for points whose distances fit no kernel."""
    pivot = half[_triangle_index(a, a)]
    for i in range(rest.shape[0]):
        if not pivot[i] >= EPSILON / 2:
            half[_triangle_index(a, 0) : _triangle_index(a, a), i] = 0.0
            pivot[i], rest[i] = 1.0 + EPSILON, ratio[i]


@compiled()
def _solve_part(half: Any, weights: Any) -> None:
    """Solve for weights of n points (n, K), from half squared distances to and among neighbours.

    ``half`` (K (K + 1) / 2, n or more) is overwritten: lower triangles, row by row, with a point's
    distances on the diagonal and below it those of its neighbours to each other. With the points
    side by side all steps vectorise.
    """
    n, k = weights.shape
    root, ratio, solution = np.empty((k, n)), np.empty((k, n)), np.empty((k, n))
    _replace_by_cosines(half, root, ratio)
    # Cholesky with both triangular solves; the pivots' floor holds them against rounding.
    for a in range(k):
        rest, pivot, low = solution[a], half[_triangle_index(a, a)], 0
        for i in range(n):
            pivot[i] = 1.0 + EPSILON
            rest[i] = ratio[a, i]
        for b in range(a):
            inner, before = half[_triangle_index(a, b)], half[_triangle_index(b, b)]
            known = solution[b]
            for c in range(b):
                left, right = half[_triangle_index(a, c)], half[_triangle_index(b, c)]
                for i in range(n):
                    inner[i] -= left[i] * right[i]
            for i in range(n):
                value = inner[i] / before[i]
                inner[i] = value
                pivot[i] -= value * value
                rest[i] -= value * known[i]
        for i in range(n):
            low += not pivot[i] >= EPSILON / 2
        if low:
            _set_at_right_angles(a, half, ratio[a], rest)
        for i in range(n):
            pivot[i] = np.sqrt(max(pivot[i], EPSILON))
            rest[i] /= pivot[i]
    total = np.zeros(n)
    for a in range(k - 1, -1, -1):
        own, pivot = solution[a], half[_triangle_index(a, a)]
        for b in range(a + 1, k):
            later, below = solution[b], half[_triangle_index(b, a)]
            for i in range(n):
                own[i] -= below[i] * later[i]
        for i in range(n):
            own[i] /= pivot[i]
    for a in range(k):
        for i in range(n):
            solution[a, i] *= ratio[a, i]
            total[i] += solution[a, i]
    for i in range(n):
        for a in range(k):
            weights[i, a] = solution[a, i] / total[i]


@compiled()
def _fill_squares(rows: Any, landmarks: Any, neighbors: Any, squared: Any) -> None:
    """Write squared distances to and among the neighbours, in the layout of `_solve_part`."""
    for i in range(rows.shape[0]):
        row, near = rows[i], neighbors[i]
        for a in range(near.shape[0]):
            one = landmarks[near[a]]
            # From differences: exactly zero where a row is a landmark.
            squared[_triangle_index(a, a), i] = _squared_distance(row, one)
            for b in range(a):
                squared[_triangle_index(a, b), i] = _squared_distance(one, landmarks[near[b]])


def allocate_squares(n: int, k: int, part_rows: int) -> Doubles:
    """Zeros for squared distances of n rows to and among k neighbours, in parts of rows."""
    return np.zeros((-(-n // part_rows), _triangle_index(k, 0), part_rows))


@compiled()
def find_near_landmarks(
    rows: Any, moves: Any, points: Any, reach: float, rounding: float, neighbors: Any, squared: Any
) -> None:
    """Write the K nearest landmarks of rows, and squared distances to and among them.

    By parts of rows whose distances to all landmarks stay in cache, without Python in between. Rows
    are overwritten (:func:`prepare_rows`, with ``moves``). ``points`` are prepared landmarks, and a
    factor (d + 1, m) whose product with a prepared row ranks them, wrong by ``rounding`` as a share
    of squared lengths, of which ``reach`` is the landmarks' largest. ``squared`` comes from
    :func:`allocate_squares`.
    """
    center, scale = moves
    landmarks, factor = points
    (n, d), size, dtype = rows.shape, squared.shape[2], factor.dtype
    lengths, slack = np.empty(size), np.empty(size)
    coarse, ranking = np.empty((size, d + 1), dtype), np.empty((size, landmarks.shape[0]), dtype)
    for start in range(0, n, size):
        part, near = rows[start : start + size], neighbors[start : start + size]
        own = part.shape[0]
        prepare_rows(part, center, scale, coarse, lengths)
        for i in range(own):
            slack[i] = rounding * (lengths[i] + reach)
        np.dot(coarse[:own], factor, ranking[:own])
        _find_all_nearest(part, landmarks, ranking[:own], lengths, slack, near)
        _fill_squares(part, landmarks, near, squared[start // size])


@compiled()
def _solve_by_parts(half: Any, weights: Any) -> None:
    """Write the weights of all rows, part by part."""
    size = half.shape[2]
    for part in range(half.shape[0]):
        _solve_part(half[part], weights[part * size : (part + 1) * size])


def weights_from_distances(
    to_landmarks: Any, zero: Any, among: Any, saturating: bool, neighbors: Any, weights: Any
) -> None:
    """Write the nearest landmarks of rows and their weights, (n, K) each, under any kernel.

    From half squared feature-space distances (n, m), or x of ``1 − exp(−x)`` if these are
    saturating, the size ``zero`` below which those of a row are rounding, and half squared
    distances among the landmarks (m, m).
    """
    n, k = neighbors.shape
    half = allocate_squares(n, k, min(n, PART_ROWS))
    _gather_half_squares(to_landmarks, zero, among, saturating, neighbors, half)
    _solve_by_parts(half, weights)


@compiled()
def _gather_half_squares(
    to_landmarks: Any, zero: Any, among: Any, saturating: bool, neighbors: Any, half: Any
) -> None:
    """Write the nearest landmarks, and half squared distances in the layout of `_solve_part`."""
    k, m = neighbors.shape[1], to_landmarks.shape[1]
    smallest = np.empty(k)
    # In single precision: what is equally far up to rounding is equally far then.
    keys, nearest = np.empty(m, np.float32), np.empty(k, np.float32)
    for i in range(to_landmarks.shape[0]):
        near, part, place = neighbors[i], i // half.shape[2], i % half.shape[2]
        find_smallest(to_landmarks[i], near, smallest)
        unit = smallest[k - 1]
        if unit == 0.0 or 1 / _LARGE < unit < _LARGE:  # others would leave single precision
            unit = 1.0
        for j in range(m):
            value = to_landmarks[i, j]
            keys[j] = max(value / unit, _TINY) if value > zero[i] else 0.0
        find_smallest(keys, near, nearest)
        for a in range(k):
            value = to_landmarks[i, near[a]]
            e = value if value > zero[i] else 0.0
            half[part, _triangle_index(a, a), place] = -np.expm1(-e) if saturating else e
            for b in range(a):
                half[part, _triangle_index(a, b), place] = among[near[a], near[b]]


@compiled()
def combine(neighbors: Any, weights: Any, coordinates: Any, out: Any) -> None:
    """Write ``out[i] = Σ_a weights[i, a] · coordinates[neighbors[i, a]]``."""
    k = neighbors.shape[1]
    for i in range(neighbors.shape[0]):
        target = out[i]
        if k % 2 == 1:
            weight, row = weights[i, 0], coordinates[neighbors[i, 0]]
            for t in range(target.shape[0]):
                target[t] = weight * row[t]
        else:
            target[:] = 0
        # Two at a time: half as many passes over the target.
        for a in range(k % 2, k, 2):
            weight, row = weights[i, a], coordinates[neighbors[i, a]]
            other_weight, other_row = weights[i, a + 1], coordinates[neighbors[i, a + 1]]
            for t in range(target.shape[0]):
                target[t] += weight * row[t] + other_weight * other_row[t]


# ---- Search among landmarks by pivots


Places: TypeAlias = NDArray[np.int32]


@dataclass(frozen=True)
class Preparation:
    """How rows are moved and scaled so that their Euclidean distances determine a kernel."""

    center: Doubles  # what is subtracted
    scale: float  # what the rest is multiplied by
    to_unit_length: bool = False  # whether rows are divided by their lengths first

    def copy_rows(self, X: Floats) -> Doubles:
        """Copy rows in float64, of unit length if wanted, for loops to move and scale in place."""
        rows = np.array(X, dtype=np.float64, order="C")
        return np.asarray(unit_rows(rows)) if self.to_unit_length else rows

    def prepare(self, X: Floats) -> Doubles:
        """Rows in float64, moved and scaled as by :func:`prepare_rows`."""
        return np.clip((self.copy_rows(X) - self.center) * self.scale, -FAR, FAR)


@dataclass(frozen=True)
class _Points:
    """Points, and the factor of a product that ranks them by their distance from a row u."""

    vectors: Doubles
    # (d + 1, m), in the type of the rows, for ‖l‖² − 2 u·l: a column of ones after u meets ‖l‖².
    factor: Floats

    @classmethod
    def from_vectors(cls, vectors: Doubles, dtype: DTypeLike) -> _Points:
        """Make points of vectors (m, d), for products with rows of type ``dtype``."""
        factor = np.vstack([-2 * vectors.T, row_norms(vectors, squared=True)])
        return cls(vectors, factor.astype(dtype))

    def take(self, chosen: NDArray[np.intp]) -> _Points:
        """The points of these numbers."""
        factor = self._by_point.take(chosen, axis=0).T
        return _Points(self.vectors.take(chosen, axis=0), np.ascontiguousarray(factor))

    @cached_property
    def _by_point(self) -> Floats:
        """The factor transposed, (m, d + 1): one contiguous row for each point."""
        return self.factor.T.copy()


@dataclass(frozen=True)
class _Pivots:
    """Pivots, and for each of them all landmarks from the nearest to the farthest."""

    vectors: Doubles
    landmarks: NDArray[np.intp]
    distances: Doubles
    kth: Doubles

    def count_candidates(self, pivot: int, radius: Any) -> Any:
        """Number of landmarks that may be among the nearest of rows within a radius of a pivot."""
        limit = (2 * radius + self.kth[pivot]) * (1 + _TIES)
        return np.searchsorted(self.distances[pivot], limit, side="right")


class NearLandmarks:
    """Search for the nearest landmarks of rows under a Euclidean kernel, and their weights.

    The kernel of prepared rows is ``exp(−‖u − v‖²)`` if ``saturating``, otherwise linear.
    ``points`` are the landmarks as prepared rows, in float64.
    """

    def __init__(
        self, rows: Floats, preparation: Preparation, n_neighbors: int, saturating: bool
    ) -> None:
        self._preparation, self._moves = preparation, (preparation.center, preparation.scale)
        self._n_neighbors, self._saturating = n_neighbors, saturating
        self.points = preparation.prepare(rows)
        self._reach = float(row_norms(self.points, squared=True).max())
        self._made: dict[str, _Points] = {}

    def pivots_pay(self, X: Floats) -> bool:
        """Whether pivots spare comparing most rows with most landmarks, judged by a sample."""
        n, m = X.shape[0], len(self.points)
        if n < _MANY_ROWS or m < _MANY_LANDMARKS:
            return False
        cells, radii = self._assign_to_pivots(X[evenly_spaced(n, _SAMPLE)])
        left = [
            self._pivots.count_candidates(one, radii[cells == one]).sum()
            for one in np.unique(cells)
        ]
        return bool(sum(left) < _SHARE_LEFT * m * len(cells))

    @staticmethod
    def shared_rows(n_rows: int) -> int:
        """Number of rows to assign to pivots at a time."""
        least, most = _SHARED_ROWS
        return max(least, min(most, n_rows // (_SHARES_EACH_CORE * int(cpu_count()))))

    def weights(self, X: Floats, by_pivots: bool) -> tuple[Places, Floats]:
        """Nearest landmarks of every row of X and their weights, of shape (n, n_neighbors) each."""
        if by_pivots:
            return self._weights_by_pivots(X)
        m = len(self.points)
        landmarks = self._landmark_points(X.dtype)
        fitting = _PART_BYTES // (m * landmarks.factor.itemsize)
        size = min(max(fitting, _LEAST_ROWS), _MOST_ROWS) // _CACHE_STEP * _CACHE_STEP
        size += _CACHE_STEP // 2
        squared = allocate_squares(len(X), self._n_neighbors, min(size, len(X)))
        neighbors = np.empty((len(X), self._n_neighbors), np.int32)
        self._search(X, landmarks, neighbors, squared)
        return neighbors, self._solve_weights(squared, X)

    def are_few(self, n_rows: int) -> bool:
        """Whether so few rows are compared that compiled loops are not worth waiting for."""
        return count_all_rows(n_rows) * len(self.points) <= _FEW_DISTANCES

    def neighbors_of_few(self, X: Floats) -> tuple[Places, Doubles, Doubles]:
        """Nearest landmarks (n, K) of rows, and half squared feature distances, all by NumPy.

        These are to the neighbours (K, n), and among them (K, K, n). Which landmarks are near is
        decided as by :func:`find_near_landmarks`. Memory for n (m + 2 K d) numbers.
        """
        rows, k = self._preparation.prepare(X), self._n_neighbors
        ranking = rows @ (-2 * self.points.T) + row_norms(self.points, squared=True)
        kth = np.partition(ranking, k - 1, axis=1)[:, k - 1]
        lengths = row_norms(rows, squared=True)
        slack = _rank_rounding(rows.shape[1], np.float64) * (lengths + self._reach)
        near = ranking <= (kth + slack + _COARSE * np.maximum(kth + lengths, 0.0))[:, None]
        for i in np.flatnonzero(near.sum(axis=1) > k):
            left = np.flatnonzero(near[i])
            keys = np.square(self.points[left] - rows[i]).sum(axis=1).astype(np.float32)
            near[i, left[np.argsort(keys, kind="stable")[k:]]] = False
        neighbors = (np.flatnonzero(near) % near.shape[1]).reshape(len(rows), k).astype(np.int32)
        points = self.points[neighbors]
        squared = np.square(points - rows[:, None, :]).sum(axis=2).T
        among = np.zeros((k, k, len(rows)))
        for a in range(1, k):
            among[a, :a] = np.square(points[:, :a] - points[:, a : a + 1]).sum(axis=2).T
        among += among.transpose(1, 0, 2)
        if self._saturating:
            return neighbors, -np.expm1(-squared), -np.expm1(-among)
        return neighbors, squared / 2, among / 2

    def _weights_by_pivots(self, X: Floats) -> tuple[Places, Floats]:
        """As :meth:`weights`, comparing rows only with landmarks that pivots do not exclude."""
        pivots, landmarks = self._pivots, self._landmark_points(X.dtype)
        cells, radii = self._assign_to_pivots(X)
        neighbors = np.empty((len(X), self._n_neighbors), np.int32)
        weights = np.empty(neighbors.shape, X.dtype)
        # By cells, and the nearest rows of each first: these are left the fewest landmarks.
        step = (np.iinfo(np.uint16).max + 1) // _MOST_PIVOTS
        share = np.minimum(radii * (step / max(radii.max(), _NEVER_ZERO)), step - 1)
        order = np.argsort((cells * step + share).astype(np.uint16), kind="stable")
        starts = np.searchsorted(cells[order], np.arange(len(pivots.vectors) + 1))
        for pivot in range(len(pivots.vectors)):
            own = order[starts[pivot] : starts[pivot + 1]]
            squared = allocate_squares(len(own), self._n_neighbors, PART_ROWS)
            near = np.empty((len(own), self._n_neighbors), np.int32)
            for number, some in enumerate(split_range(len(own), PART_ROWS)):
                n_left = pivots.count_candidates(pivot, radii[own[some]].max())
                left = np.sort(pivots.landmarks[pivot, :n_left])  # ties are broken by position
                rows = X.take(own[some], axis=0)
                self._search(rows, landmarks.take(left), near[some], squared[number : number + 1])
                near[some] = left.take(near[some])
            neighbors[own], weights[own] = near, self._solve_weights(squared, X[: len(own)])
        return neighbors, weights

    def _search(self, X: Floats, landmarks: _Points, neighbors: Places, squared: Doubles) -> None:
        """Write positions of the nearest landmarks, and squared distances to and among them."""
        rows, points = self._preparation.copy_rows(X), (landmarks.vectors, landmarks.factor)
        rounding = _rank_rounding(X.shape[1], landmarks.factor.dtype)
        find_near_landmarks(rows, self._moves, points, self._reach, rounding, neighbors, squared)

    def _solve_weights(self, squared: Doubles, X: Floats) -> Floats:
        """Weights (n, n_neighbors) from squared distances to and among neighbours, overwritten.

        Half squared feature distances are ``1 − exp(−d²)`` if saturating, otherwise ``d²/2``.
        """
        if self._saturating:
            # NumPy's has several numbers at a time, where the processor can.
            np.expm1(np.negative(squared, out=squared), out=squared)
            np.negative(squared, out=squared)
        else:
            squared *= 0.5
        weights = np.empty((len(X), self._n_neighbors), X.dtype)
        _solve_by_parts(squared, weights)
        return weights

    def _assign_to_pivots(self, X: Floats) -> tuple[NDArray[np.int32], Doubles]:
        """Number (n,) of each row's nearest pivot, and a bound (n,) of its distance."""
        dtype = self._ranking_type(X.dtype)
        rounding = _rank_rounding(X.shape[1], dtype)
        pivots = _Points.from_vectors(self._pivots.vectors, dtype)
        cells, radii = np.empty(len(X), np.int32), np.empty(len(X))
        for part in split_range(len(X), _SHARED_PARTS * PART_ROWS):
            rows, found = self._preparation.copy_rows(X[part]), (cells[part], radii[part])
            _find_nearest_point(rows, self._moves, pivots.factor, self._reach, rounding, *found)
        return cells, radii

    @cached_property
    def _pivots(self) -> _Pivots:
        """Pivots by k-means of the landmarks, and all landmarks sorted by distance from each."""
        from sklearn.cluster import KMeans  # which few need

        n_pivots = min(_MOST_PIVOTS, round(len(self.points) ** 0.5))
        means = KMeans(n_pivots, n_init=1, max_iter=_ROUNDS, random_state=0)
        # scikit-learn warns of fewer distinct landmarks than pivots, which does no harm.
        with mute_third_party(), one_thread():
            means.fit(self.points)
        distances = cdist(means.cluster_centers_, self.points)
        order = np.argsort(distances, axis=1)
        distances = np.take_along_axis(distances, order, axis=1)
        kth = distances[:, self._n_neighbors - 1]
        return _Pivots(means.cluster_centers_, order, distances, kth)

    @cached_property
    def _float32_serves(self) -> bool:
        """Whether errors of float32 are small beside the distances that decide who is near."""
        d, some = self.points.shape[1], evenly_spaced(len(self.points), _JUDGED_LANDMARKS)
        squared = cdist(self.points[some], self.points, "sqeuclidean")
        place = min(self._n_neighbors, squared.shape[1] - 1)  # each is its own nearest
        kth = np.median(np.partition(squared, place, axis=1)[:, place])
        error = 2 * self._reach * _rank_rounding(d, np.float32)
        is_seen = kth > _TINY / np.finfo(np.float32).eps
        return bool(is_seen and error <= _LITTLE_ROUNDING * kth)

    def _ranking_type(self, dtype: DTypeLike) -> np.dtype[Any]:
        """The type in which rows of type ``dtype`` are ranked."""
        return np.dtype(np.float32 if self._float32_serves else dtype)

    def _landmark_points(self, dtype: DTypeLike) -> _Points:
        """The landmarks, for products that rank rows of type ``dtype``; cached."""
        name = self._ranking_type(dtype).name
        if name not in self._made:
            self._made[name] = _Points.from_vectors(self.points, name)
        return self._made[name]


def _rank_rounding(n_columns: int, dtype: DTypeLike) -> float:
    """Bound of rounding errors of approximate squared distances, as a share of squared lengths."""
    return float(_RANK_ROUNDING * (n_columns + _MORE_ROUNDINGS) * np.finfo(dtype).eps)


@compiled()
def _find_nearest_point(
    rows: Any, moves: Any, factor: Any, reach: float, rounding: float, places: Any, distances: Any
) -> None:
    """Write the position of the nearest point of every row, and an upper bound of its distance."""
    n, d = rows.shape
    coarse, lengths = np.empty((n, d + 1), factor.dtype), np.empty(n)
    prepare_rows(rows, moves[0], moves[1], coarse, lengths)
    ranking = np.dot(coarse, factor)
    for i in range(n):
        best = 0
        for j in range(1, factor.shape[1]):
            if ranking[i, j] < ranking[i, best]:
                best = j
        squared = ranking[i, best] + lengths[i] + rounding * (lengths[i] + reach)
        places[i], distances[i] = best, np.sqrt(max(squared, 0.0))
