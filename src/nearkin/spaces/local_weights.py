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

from nearkin.rows.compiled import REORDER, compiled

# Conditioning, relative to each neighbour's own squared distance.
EPSILON = 1e-3
# A neighbour this many times nearer than another has all the weight, but for rounding; the cosine
# of the angle between the two would be nothing else.
NEARER = 1e12

_CHUNK = 8
# Numbers that are equal in single precision differ by no more than this share, twice over.
_COARSE = 2.0**-22
_LARGE = 1e30
_TINY = 2.0**-126  # the least positive number of single precision, with all its digits


@compiled(fastmath=REORDER)
def _squared_distance(a: Any, b: Any) -> Any:
    total = a[0] * 0  # of the rows' own type: float32 sums run twice as fast
    for t in range(a.shape[0]):
        difference = a[t] - b[t]
        total += difference * difference
    return total


@compiled(fastmath={"nnan", "nsz"})
def _chunk_minima(values: Any, minima: Any) -> None:
    for c in range(minima.shape[0]):
        lowest = values[c * _CHUNK]
        for t in range(1, _CHUNK):
            lowest = min(lowest, values[c * _CHUNK + t])
        minima[c] = lowest


@compiled()
def _insert(value: Any, position: int, positions: Any, smallest: Any) -> None:
    """Merge a value below the last into the sorted list of the K smallest, behind equal ones."""
    place = smallest.shape[0] - 1
    while place > 0 and smallest[place - 1] > value:
        smallest[place] = smallest[place - 1]
        positions[place] = positions[place - 1]
        place -= 1
    smallest[place] = value
    positions[place] = position


@compiled()
def _insert_smaller(values: Any, start: int, stop: int, positions: Any, smallest: Any) -> None:
    """Merge ``values[start:stop]`` into the sorted list of the K smallest seen so far."""
    last = smallest.shape[0] - 1
    for j in range(start, stop):
        if values[j] < smallest[last]:
            _insert(values[j], j, positions, smallest)


@compiled()
def _find_smallest(values: Any, positions: Any, smallest: Any, minima: Any) -> None:
    """Positions of the K smallest values, in increasing order, ties by position.

    The K-th smallest of the chunks' minima bounds the K-th smallest value, so only about K
    chunks need a closer look; the minima themselves vectorise.
    """
    chunks = minima.shape[0]
    _chunk_minima(values, minima)
    smallest[:] = np.inf
    positions[:] = 0
    _insert_smaller(minima, 0, chunks, positions, smallest)
    bound = smallest[smallest.shape[0] - 1]
    smallest[:] = np.inf
    for c in range(chunks):
        if minima[c] <= bound:
            _insert_smaller(values, c * _CHUNK, (c + 1) * _CHUNK, positions, smallest)
    _insert_smaller(values, chunks * _CHUNK, values.shape[0], positions, smallest)


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
    _find_smallest(ranking, places, smallest, minima)
    bound = smallest[smallest.shape[0] - 1]
    bound += slack + _COARSE * max(bound + length, 0.0)
    chunks = minima.shape[0]
    near = 0
    for c in range(chunks):
        if minima[c] <= bound:
            for j in range(c * _CHUNK, (c + 1) * _CHUNK):
                near += ranking[j] <= bound
    for j in range(chunks * _CHUNK, ranking.shape[0]):
        near += ranking[j] <= bound
    if near == places.shape[0]:  # no other comes near the last
        return
    keys[:] = np.inf
    places[:] = 0
    for c in range(chunks + 1):
        if c == chunks or minima[c] <= bound:
            stop = ranking.shape[0] if c == chunks else (c + 1) * _CHUNK
            for j in range(c * _CHUNK, stop):
                if ranking[j] <= bound:
                    key = np.float32(_squared_distance(row, landmarks[j]))
                    if key < keys[keys.shape[0] - 1]:
                        _insert(key, j, places, keys)


@compiled()
def _solve(e: Any, gram: Any, factor: Any, ratio: Any, weights: Any) -> None:
    """Weights from half squared distances ``e`` (K) to, and ``gram`` (K×K) among, neighbours.

    Only the lower triangle of ``gram`` is read; ``factor`` (K×K) and ``ratio`` (K) are scratch.
    """
    k = e.shape[0]
    nearest = e[0]
    for a in range(k):
        nearest = min(nearest, e[a])
    for a in range(k):
        for b in range(a):
            correlation, scale = 0.0, 2.0 * np.sqrt(e[a]) * np.sqrt(e[b])
            if scale * NEARER > max(e[a], e[b]):
                correlation = (e[a] + e[b] - gram[a, b]) / scale
            factor[a, b] = min(max(correlation, -1.0), 1.0)
        factor[a, a] = 1.0 + EPSILON
        ratio[a] = np.sqrt(nearest / e[a]) if e[a] > nearest else 1.0
    # Cholesky with both triangular solves; the pivots' floor holds them against rounding.
    for a in range(k):
        rest = ratio[a]
        for b in range(a):
            inner = factor[a, b]
            for c in range(b):
                inner -= factor[a, c] * factor[b, c]
            factor[a, b] = inner / factor[b, b]
            factor[a, a] -= factor[a, b] * factor[a, b]
            rest -= factor[a, b] * weights[b]
        if not factor[a, a] >= EPSILON / 2:  # no kernel's: left out, or numbers would grow
            factor[a, :a], factor[a, a], rest = 0.0, 1.0 + EPSILON, ratio[a]
        factor[a, a] = np.sqrt(max(factor[a, a], EPSILON))
        weights[a] = rest / factor[a, a]
    for a in range(k - 1, -1, -1):
        for b in range(a + 1, k):
            weights[a] -= factor[b, a] * weights[b]
        weights[a] /= factor[a, a]
    total = 0.0
    for a in range(k):
        weights[a] *= ratio[a]
        total += weights[a]
    for a in range(k):
        weights[a] /= total


@compiled()
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
    k = neighbors.shape[1]
    smallest, keys = np.empty(k, ranking.dtype), np.empty(k, np.float32)
    minima = np.empty(ranking.shape[1] // _CHUNK, ranking.dtype)
    e, w, ratio = np.empty(k), np.empty(k), np.empty(k)
    gram, factor = np.empty((k, k)), np.empty((k, k))
    for i in range(rows.shape[0]):
        _find_nearest(
            rows[i],
            landmarks,
            ranking[i],
            lengths[i],
            slack[i],
            neighbors[i],
            keys,
            smallest,
            minima,
        )
        for a in range(k):
            # Recomputed from differences: exactly zero where a row is a landmark.
            d2 = _squared_distance(rows[i], landmarks[neighbors[i, a]])
            e[a] = -np.expm1(-d2) if saturating else 0.5 * d2
            for b in range(a):
                d2 = _squared_distance(landmarks[neighbors[i, a]], landmarks[neighbors[i, b]])
                gram[a, b] = -np.expm1(-d2) if saturating else 0.5 * d2
        _solve(e, gram, factor, ratio, w)
        for a in range(k):
            weights[i, a] = w[a]


@compiled()
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
    k, m = neighbors.shape[1], to_landmarks.shape[1]
    smallest, minima = np.empty(k), np.empty(m // _CHUNK)
    # In single precision: what is equally far up to rounding is equally far then.
    keys, nearest = np.empty(m, np.float32), np.empty(k, np.float32)
    least = np.empty(m // _CHUNK, np.float32)
    e, w, ratio = np.empty(k), np.empty(k), np.empty(k)
    gram, factor = np.empty((k, k)), np.empty((k, k))
    for i in range(to_landmarks.shape[0]):
        _find_smallest(to_landmarks[i], neighbors[i], smallest, minima)
        unit = smallest[k - 1]
        if unit == 0.0 or 1 / _LARGE < unit < _LARGE:  # others would leave single precision
            unit = 1.0
        for j in range(m):
            value = to_landmarks[i, j]
            keys[j] = max(value / unit, _TINY) if value > zero[i] else 0.0
        _find_smallest(keys, neighbors[i], nearest, least)
        for a in range(k):
            value = to_landmarks[i, neighbors[i, a]]
            e[a] = value if value > zero[i] else 0.0
            if saturating:
                e[a] = -np.expm1(-e[a])
            for b in range(a):
                gram[a, b] = among_landmarks[neighbors[i, a], neighbors[i, b]]
        _solve(e, gram, factor, ratio, w)
        for a in range(k):
            weights[i, a] = w[a]


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
