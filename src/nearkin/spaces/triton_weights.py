"""Local weights of many rows on an accelerator, by kernels of Triton.

The second half of what :mod:`nearkin.rows.triton_search` begins: the small system of
:mod:`nearkin.spaces.local_weights` for each row, all of it in the registers of one thread, and the
weighted sum of coordinates.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

from nearkin.rows.triton_search import NEARLY, Search

# Threads of a warp.
_WARP = 32
# Sizes were chosen by hand, by the time on an H200 (benchmarks/speed/gpu.py).
# Rows of a block, one for each thread, and rows and columns of a block of sums.
_SYSTEMS = 64
_ROWS, _COLUMNS, _WARPS = 4, 64, 1


class Systems(NamedTuple):
    """The small systems of rows among their nearest landmarks.

    ``among`` (m, m) are the landmarks' half squared distances in feature space, in float64: ``1 −
    exp(−d²)`` if saturating, or ``d²/2``. ``numbers`` are ``EPSILON`` and ``NEARER`` of
    :mod:`nearkin.spaces.local_weights`.
    """

    search: Search
    among: torch.Tensor
    saturating: bool
    numbers: torch.Tensor

    def embed(
        self,
        X: torch.Tensor,
        k: int,
        coordinates: torch.Tensor,
        precision: str,
        out: torch.Tensor,
        is_open: torch.Tensor,
    ) -> None:
        """Write weighted sums of coordinates (m, q) into ``out`` (n, q), all in float32.

        The system of k neighbours is in the registers of a thread. ``is_open`` (n,) is written 1
        for rows of ``out`` that are to be found in another way. ``precision`` is ``"half"`` or
        ``"tf32x3"``.
        """
        n, (m, q) = len(X), coordinates.shape
        found = self.search.lists(X, k, precision)
        neighbors = torch.empty((n, k), dtype=torch.int32, device=X.device)
        weights = torch.empty((n, k), dtype=torch.float32, device=X.device)
        _weigh[(triton.cdiv(n, _SYSTEMS),)](
            found.points, found.squared, found.limit, self.among, self.numbers, neighbors, weights,
            is_open, n, m, NEARLY, BLOCK=_SYSTEMS, K=k, SIZE=found.points.shape[1],
            SATURATING=self.saturating, num_warps=_SYSTEMS // _WARP,
        )  # fmt: skip
        _combine[(triton.cdiv(n, _ROWS),)](
            neighbors, weights, coordinates, out, n, q, *out.stride(), ROWS=_ROWS,
            PART=min(_COLUMNS, triton.next_power_of_2(q)), K=k, num_warps=_WARPS,
        )  # fmt: skip


@triton.jit
def _weigh(
    found, squared, limit, among, numbers, neighbors, weights, is_open, n, m, nearly,
    BLOCK: tl.constexpr, K: tl.constexpr, SIZE: tl.constexpr, SATURATING: tl.constexpr,
):  # fmt: skip
    """Find the nearest of each list and their weights, one row for each thread."""
    row = (tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)).to(tl.int64)
    there = row < n
    epsilon = tl.load(numbers)
    nearer = tl.load(numbers + 1)

    # In order of their distances, and then of their numbers: as one whole number each.
    keys = ()
    for t in tl.static_range(SIZE):
        distance = tl.load(squared + row * SIZE + t, there, 0.0)
        number = tl.load(found + row * SIZE + t, there, 0)
        key = (distance.to(tl.int32, bitcast=True).to(tl.int64) << 32) | number.to(tl.int64)
        keys = keys + (key,)
    ordered = ()
    for s in tl.static_range(K):
        least = keys[0]
        others = ()
        for t in tl.static_range(1, SIZE - s):
            others = others + (tl.maximum(least, keys[t]),)
            least = tl.minimum(least, keys[t])
        ordered = ordered + (least,)
        keys = others

    # Half squared distances in feature space, and their roots, of which one may be zero.
    e = ()
    roots = ()
    inverses = ()
    places = ()
    for a in tl.static_range(K):
        t = (ordered[a] >> 32).to(tl.int32).to(tl.float32, bitcast=True).to(tl.float64)
        place = ordered[a] & 0x7FFFFFFF
        half = 0.5 * t
        if SATURATING:
            small = t * (1.0 - t / 2.0 * (1.0 - t / 3.0 * (1.0 - t / 4.0 * (1.0 - t / 5.0))))
            half = tl.where(t < 1e-2, small, 1.0 - tl.exp(-t))
        root = tl.sqrt(half)
        tl.store(neighbors + row * K + a, place.to(tl.int32), there)
        e = e + (half,)
        roots = roots + (root,)
        inverses = inverses + (1.0 / tl.where(root > 0.0, root, 1.0),)
        places = places + (place,)
    last = (ordered[K - 1] >> 32).to(tl.int32).to(tl.float32, bitcast=True)
    certain = tl.sqrt(last) * nearly < tl.load(limit + row, there, 0.0)
    tl.store(is_open + row, tl.where(certain, 0, 1).to(tl.int8), there)

    # Cholesky's factorisation row by row, with the first of the two triangular solutions.
    ratios = ()
    factor = ()
    pivots = ()
    forward = ()
    for a in tl.static_range(K):
        ratio = tl.where(e[a] > e[0], roots[0] * inverses[a], 1.0)
        rest = ratio
        diagonal = tl.zeros((BLOCK,), dtype=tl.float64) + (1.0 + epsilon)
        line = ()
        for b in tl.static_range(a):
            gram = tl.load(among + places[a] * m + places[b], there, 0.0)
            inner = 0.5 * (e[a] + e[b] - gram) * inverses[a] * inverses[b]
            inner = tl.minimum(tl.maximum(inner, -1.0), 1.0)
            inner = tl.where(2.0 * nearer * roots[b] > roots[a], inner, 0.0)
            for c in tl.static_range(b):
                inner -= line[c] * factor[b * (b - 1) // 2 + c]
            inner *= pivots[b]
            diagonal -= inner * inner
            rest -= inner * forward[b]
            line = line + (inner,)
        pivot = 1.0 / tl.sqrt(tl.maximum(diagonal, epsilon))
        ratios = ratios + (ratio,)
        factor = factor + line
        pivots = pivots + (pivot,)
        forward = forward + (rest * pivot,)

    # The other, from the last to the first.
    solution = ()
    total = tl.zeros((BLOCK,), dtype=tl.float64)
    for step in tl.static_range(K):
        value = forward[K - 1 - step]
        for later in tl.static_range(step):
            below = factor[(K - 1 - later) * (K - 2 - later) // 2 + K - 1 - step]
            value -= below * solution[later]
        value *= pivots[K - 1 - step]
        solution = solution + (value,)
        total += value * ratios[K - 1 - step]
    for step in tl.static_range(K):
        weight = solution[step] * ratios[K - 1 - step] / total
        tl.store(weights + row * K + K - 1 - step, weight.to(tl.float32), there)


@triton.jit
def _combine(
    neighbors, weights, coordinates, out, n, q, by_row, by_column,
    ROWS: tl.constexpr, PART: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Weighted sums of coordinates."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    there = row < n
    for start in range(0, q, PART):
        column = start + tl.arange(0, PART)
        inside = there[:, None] & (column < q)[None, :]
        total = tl.zeros((ROWS, PART), dtype=tl.float32)
        for a in tl.static_range(K):
            which = tl.load(neighbors + row * K + a, there, 0).to(tl.int64)
            weight = tl.load(weights + row * K + a, there, 0.0)
            z = tl.load(coordinates + which[:, None] * q + column[None, :], inside, 0.0)
            total += weight[:, None] * z
        tl.store(out + row[:, None] * by_row + column[None, :] * by_column, total, inside)
