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

from typing import Any

import numpy as np

from nearkin._types import Doubles
from nearkin.rows.parallel import REORDER, compiled
from nearkin.spaces.smallest import CHUNK, bound_smallest, find_below, find_smallest, insert

# Conditioning, relative to each neighbour's own squared distance.
EPSILON = 1e-3
# A neighbour this many times nearer than another has all the weight, but for rounding; the cosine
# of the angle between the two would be nothing else.
NEARER = 1e12

# Numbers that are equal in single precision differ by no more than this share, twice over.
_COARSE = 2.0**-22
_LARGE = 1e30
# Rows whose weights are found at once. No multiple of 16: columns of their numbers would lie in the
# same few places of the cache.
PART_ROWS = 248
_TINY = 2.0**-126  # the least positive number of single precision, with all its digits


@compiled(fastmath=REORDER)
def _squared_distance(a: Any, b: Any) -> Any:
    total = a[0] * 0  # of the rows' own type: float32 sums run twice as fast
    for t in range(a.shape[0]):
        difference = a[t] - b[t]
        total += difference * difference
    return total


@compiled(fastmath=REORDER)
def prepare_rows(
    rows: Any, center: Any, scale: float, far: float, coarse: Any, lengths: Any
) -> None:
    """``(rows − center) · scale``, no farther from zero than ``far`` in any column.

    Parameters
    ----------
    rows : float64 ndarray of shape (n, d), overwritten
    center : float64 ndarray of shape (d,)
    scale, far : float
    coarse : ndarray of shape (n, d + 1), written
        The same in another type, and a column of ones.
    lengths : float64 ndarray of shape (n,), written
        Squared.
    """
    for i in range(rows.shape[0]):
        row, rounded = rows[i], coarse[i]
        total = 0.0
        for t in range(row.shape[0]):
            value = min(max((row[t] - center[t]) * scale, -far), far)
            row[t] = value
            rounded[t] = value
            total += value * value
        rounded[row.shape[0]] = 1.0
        lengths[i] = total


@compiled()
def _find_nearest(
    row: Any,
    landmarks: Any,
    ranking: Any,
    length: Any,
    slack: Any,
    places: Any,
    keys: Any,
    smallest: Any,
    minima: Any,
) -> None:
    """Positions of the K nearest landmarks, in increasing order, ties by position.

    ``ranking`` only says which distances are worth taking from differences. These are compared in
    single precision, so that landmarks that are equally far up to rounding are equally far.
    """
    find_smallest(ranking, places, smallest, minima)
    bound = smallest[smallest.shape[0] - 1]
    bound += slack + _COARSE * max(bound + length, 0.0)
    chunks = minima.shape[0]
    near = 0
    for c in range(chunks):
        if minima[c] <= bound:
            for j in range(c * CHUNK, (c + 1) * CHUNK):
                near += ranking[j] <= bound
    for j in range(chunks * CHUNK, ranking.shape[0]):
        near += ranking[j] <= bound
    if near == places.shape[0]:  # no other comes near the last
        return
    keys[:] = np.inf
    places[:] = 0
    for c in range(chunks + 1):
        if c == chunks or minima[c] <= bound:
            stop = ranking.shape[0] if c == chunks else (c + 1) * CHUNK
            for j in range(c * CHUNK, stop):
                if ranking[j] <= bound:
                    key = np.float32(_squared_distance(row, landmarks[j]))
                    if key < keys[keys.shape[0] - 1]:
                        insert(key, j, places, keys)


@compiled()
def _sort(numbers: Any) -> None:
    """Sort a few numbers, without a branch to guess."""
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
    """Positions of the K nearest landmarks of every row, sorted.

    Where the ranking leaves no doubt it is taken at its word.
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
        n_near = n_found = find_below(ranking[i], minima[i], bounds[i], chunks, found)
        if n_found == k:
            near[:] = found[:k]
        else:
            smallest[:] = np.inf
            for place in found[:n_found]:
                if ranking[i, place] < smallest[k - 1]:
                    insert(ranking[i, place], place, near, smallest)
            last = smallest[k - 1]
            bound = last + slack[i] + _COARSE * max(last + lengths[i], 0.0)
            n_near = 0
            for place in found[:n_found]:
                n_near += ranking[i, place] <= bound
        if n_near != k:
            _find_nearest(
                rows[i],
                landmarks,
                ranking[i],
                lengths[i],
                slack[i],
                near,
                keys,
                smallest,
                minima[i],
            )
        _sort(near)


@compiled()
def _entry(a: Any, b: Any) -> Any:
    """Where the entry (a, b), b ≤ a, of a symmetric matrix is, row by row."""
    return a * (a + 1) // 2 + b


@compiled()
def _take_angles(half: Any, root: Any, ratio: Any) -> None:
    """Cosines between the differences in place of distances, and how near the nearest is."""
    k, n = root.shape
    nearest = half[0].copy()
    for a in range(1, k):
        e = half[_entry(a, a)]
        for i in range(n):
            nearest[i] = min(nearest[i], e[i])
    for a in range(k):
        e, own_root, own_ratio = half[_entry(a, a)], root[a], ratio[a]
        for i in range(n):
            own_root[i] = np.sqrt(e[i])
            farther = e[i] > nearest[i]
            own_ratio[i] = np.sqrt(nearest[i] / e[i] if farther else 1.0)
    for a in range(k):
        for b in range(a):
            one, other, between = half[_entry(a, a)], half[_entry(b, b)], half[_entry(a, b)]
            root_one, root_other = root[a], root[b]
            for i in range(n):
                scale = 2.0 * root_one[i] * root_other[i]
                apart = scale * NEARER > max(one[i], other[i])
                cosine = (one[i] + other[i] - between[i]) / (scale if apart else 1.0)
                between[i] = min(max(cosine, -1.0), 1.0) if apart else 0.0


@compiled()
def _leave_out(a: int, half: Any, ratio: Any, rest: Any) -> None:
    """Set the a-th neighbour at right angles to those before where no kernel has such distances.

    Numbers would grow otherwise.
    """
    pivot = half[_entry(a, a)]
    for i in range(rest.shape[0]):
        if not pivot[i] >= EPSILON / 2:
            half[_entry(a, 0) : _entry(a, a), i] = 0.0
            pivot[i], rest[i] = 1.0 + EPSILON, ratio[i]


@compiled()
def _solve(half: Any, weights: Any) -> None:
    """Weights of many points at once, from half squared distances to and among neighbours.

    Parameters
    ----------
    half : float64 ndarray of shape (K (K + 1) / 2, n or more), overwritten
        Lower triangles, row by row: a point's distances on the diagonal, below it those of its
        neighbours to each other. With the points side by side all steps vectorise.
    weights : ndarray of shape (n, K), written
    """
    n, k = weights.shape
    root, ratio, solution = np.empty((k, n)), np.empty((k, n)), np.empty((k, n))
    _take_angles(half, root, ratio)
    # Cholesky with both triangular solves; the pivots' floor holds them against rounding.
    for a in range(k):
        rest, pivot, low = solution[a], half[_entry(a, a)], 0
        for i in range(n):
            pivot[i] = 1.0 + EPSILON
            rest[i] = ratio[a, i]
        for b in range(a):
            inner, before, known = half[_entry(a, b)], half[_entry(b, b)], solution[b]
            for c in range(b):
                left, right = half[_entry(a, c)], half[_entry(b, c)]
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
            _leave_out(a, half, ratio[a], rest)
        for i in range(n):
            pivot[i] = np.sqrt(max(pivot[i], EPSILON))
            rest[i] /= pivot[i]
    total = np.zeros(n)
    for a in range(k - 1, -1, -1):
        own, pivot = solution[a], half[_entry(a, a)]
        for b in range(a + 1, k):
            later, below = solution[b], half[_entry(b, a)]
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
def _take_differences(rows: Any, landmarks: Any, neighbors: Any, squared: Any) -> None:
    """Squared distances to and among neighbours, as :func:`_solve` has them."""
    for i in range(rows.shape[0]):
        row, near = rows[i], neighbors[i]
        for a in range(near.shape[0]):
            one = landmarks[near[a]]
            # From differences: exactly zero where a row is a landmark.
            squared[_entry(a, a), i] = _squared_distance(row, one)
            for b in range(a):
                squared[_entry(a, b), i] = _squared_distance(one, landmarks[near[b]])


def weights_from_rows(
    rows: Any,
    landmarks: Any,
    ranking: Any,
    lengths: Any,
    slack: Any,
    saturating: bool,
    neighbors: Any,
    weights: Any,
) -> None:
    """Neighbours and weights under a Euclidean kernel.

    Parameters
    ----------
    rows : float64 ndarray of shape (n, d)
    landmarks : float64 ndarray of shape (m, d)
        Whose Euclidean distances determine the kernel.
    ranking : ndarray of shape (n, m)
        Squared distances but for a summand of each row, and for rounding.
    lengths : float64 ndarray of shape (n,)
        Those summands.
    slack : float64 ndarray of shape (n,)
        How far two entries of a row may be in the wrong order.
    saturating : bool
        Half squared feature distance ``1 − exp(−d²)`` (rbf) instead of ``d²/2``.
    neighbors : int ndarray of shape (n, K), written
    weights : float ndarray of shape (n, K), written
    """
    n, k = neighbors.shape
    squared = empty_squares(n, k, n)
    _find_all_nearest(rows, landmarks, ranking, lengths, slack, neighbors)
    _take_differences(rows, landmarks, neighbors, squared[0])
    weights_from_squares(squared, saturating, weights)


def empty_squares(n: int, k: int, part_rows: int) -> Doubles:
    """Room for squared distances of n rows to and among k neighbours, by parts of so many rows."""
    return np.zeros((-(-n // part_rows), _entry(k, 0), part_rows))


@compiled()
def neighbors_of_rows(
    rows: Any,
    center: Any,
    scale: float,
    far: float,
    landmarks: Any,
    factor: Any,
    reach: float,
    rounding: float,
    neighbors: Any,
    squared: Any,
) -> None:
    """Neighbours under a Euclidean kernel, and what :func:`weights_from_squares` makes weights of.

    By parts of rows whose distances to all landmarks stay in cache, without Python in between.

    Parameters
    ----------
    rows : float64 ndarray of shape (n, d), overwritten
        See :func:`prepare_rows`, as for ``center``, ``scale`` and ``far``.
    landmarks : float64 ndarray of shape (m, d)
        Prepared.
    factor : ndarray of shape (d + 1, m)
        Whose product with a prepared row, and a one after it, ranks landmarks.
    reach : float
        The largest squared length of a landmark.
    rounding : float
        By how much ranks may be wrong, as a share of squared lengths.
    neighbors : int ndarray of shape (n, K), written
    squared : ndarray from :func:`empty_squares`, written
    """
    (n, d), size, dtype = rows.shape, squared.shape[2], factor.dtype
    lengths, slack = np.empty(size), np.empty(size)
    coarse, ranking = np.empty((size, d + 1), dtype), np.empty((size, landmarks.shape[0]), dtype)
    for start in range(0, n, size):
        part, near = rows[start : start + size], neighbors[start : start + size]
        own = part.shape[0]
        prepare_rows(part, center, scale, far, coarse, lengths)
        for i in range(own):
            slack[i] = rounding * (lengths[i] + reach)
        np.dot(coarse[:own], factor, ranking[:own])
        _find_all_nearest(part, landmarks, ranking[:own], lengths, slack, near)
        _take_differences(part, landmarks, near, squared[start // size])


def weights_from_squares(squared: Doubles, saturating: bool, weights: Any) -> None:
    """Weights from squared distances to and among neighbours.

    Parameters
    ----------
    squared : ndarray from :func:`empty_squares`, overwritten
    saturating : bool
        Half squared feature distance ``1 − exp(−d²)`` (rbf) instead of ``d²/2``.
    weights : float ndarray of shape (n, K), written
    """
    if saturating:
        # NumPy's has several numbers at a time, where the processor can.
        np.expm1(np.negative(squared, out=squared), out=squared)
        np.negative(squared, out=squared)
    else:
        squared *= 0.5
    _solve_by_parts(squared, weights)


@compiled()
def _solve_by_parts(half: Any, weights: Any) -> None:
    size = half.shape[2]
    for part in range(half.shape[0]):
        _solve(half[part], weights[part * size : (part + 1) * size])


def weights_from_distances(
    to_landmarks: Any,
    zero: Any,
    among_landmarks: Any,
    saturating: bool,
    neighbors: Any,
    weights: Any,
) -> None:
    """Neighbours and weights under any kernel, from half squared feature-space distances.

    Parameters
    ----------
    to_landmarks : ndarray of shape (n, m)
        Half squared feature distances, or x of ``1 − exp(−x)`` if these are saturating.
    zero : ndarray of shape (n,)
        Per row, the size below which a distance is rounding.
    among_landmarks : ndarray of shape (m, m)
        Half squared feature distances.
    saturating : bool
    neighbors : int ndarray of shape (n, K), written
    weights : float ndarray of shape (n, K), written
    """
    n, k = neighbors.shape
    half = empty_squares(n, k, min(n, PART_ROWS))
    _take_given(to_landmarks, zero, among_landmarks, saturating, neighbors, half)
    _solve_by_parts(half, weights)


@compiled()
def _take_given(
    to_landmarks: Any, zero: Any, among: Any, saturating: bool, neighbors: Any, half: Any
) -> None:
    """Nearest landmarks, and half squared distances as :func:`_solve` has them."""
    k, m = neighbors.shape[1], to_landmarks.shape[1]
    smallest, minima = np.empty(k), np.empty(m // CHUNK)
    # In single precision: what is equally far up to rounding is equally far then.
    keys, nearest = np.empty(m, np.float32), np.empty(k, np.float32)
    least = np.empty(m // CHUNK, np.float32)
    for i in range(to_landmarks.shape[0]):
        near, part, place = neighbors[i], i // half.shape[2], i % half.shape[2]
        find_smallest(to_landmarks[i], near, smallest, minima)
        unit = smallest[k - 1]
        if unit == 0.0 or 1 / _LARGE < unit < _LARGE:  # others would leave single precision
            unit = 1.0
        for j in range(m):
            value = to_landmarks[i, j]
            keys[j] = max(value / unit, _TINY) if value > zero[i] else 0.0
        find_smallest(keys, near, nearest, least)
        for a in range(k):
            value = to_landmarks[i, near[a]]
            e = value if value > zero[i] else 0.0
            half[part, _entry(a, a), place] = -np.expm1(-e) if saturating else e
            for b in range(a):
                half[part, _entry(a, b), place] = among[near[a], near[b]]


@compiled()
def combine(neighbors: Any, weights: Any, coordinates: Any, out: Any) -> None:
    """``out[i] = Σ_a weights[i, a] · coordinates[neighbors[i, a]]``."""
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
