"""Hinge sums and the matrix sign function on an accelerator, by Triton.

Triton reads annotations and globals of a kernel itself: only its constants are annotated.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
import triton
import triton.language as tl

# Sizes were chosen by hand, by the time on an H200 (benchmarks/speed/gpu.py).
# Points and rows of a tile, columns at a time, and the warps that work on it. Classes go side by
# side: each of them alone has too few tiles to keep a device busy.
_POINTS, _PART, _WARPS = 32, 16, 4
_NEAREST_TILE, _HINGES_TILE = 64, 128
# Neighbours and classes that the kernels are made for.
MOST_NEIGHBORS = 8
MOST_CLASSES = 64
# What the lower half of a number is multiplied by: its digits follow those of the upper half.
_LIFT = 2048.0
# Rows and columns of a block, columns at a time, and the warps that work on it.
_BLOCK, _SIGN_PART, _SIGN_WARPS, _STAGES = 64, 32, 4, 3
# Rows are so long that each begins where memory is read well.
_ALIGNED = 16


# ---- Sums of hinges


class ClassSortedRows(NamedTuple):
    """Rows in the order of their classes, with squared lengths, see :class:`energy.Members`.

    All in float64, ``starts`` int32 and ``nearest`` int64; ``reach`` are squared distances.
    """

    Z: torch.Tensor
    lengths: torch.Tensor
    starts: torch.Tensor
    nearest: torch.Tensor
    reach: torch.Tensor

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.starts) - 1

    @property
    def n_neighbors(self) -> int:
        """Number of neighbours that count."""
        return self.nearest.shape[1] - 1


def find_nearest_by_class_triton(
    points: torch.Tensor, rows: ClassSortedRows, absent: torch.Tensor
) -> torch.Tensor:
    """Squared distances to the k nearest rows of each class, (n_points, n_classes, k).

    ``absent`` (n_points,) is a row that does not count for each point, −1 for none.
    """
    n, k = len(points), rows.n_neighbors
    found = torch.empty((n, rows.n_classes, k), dtype=torch.float64, device=points.device)
    _nearest_by_class[(triton.cdiv(n, _POINTS), rows.n_classes)](
        points, (points * points).sum(dim=1), rows.Z, rows.lengths, rows.starts, absent, found,
        n, points.shape[1], rows.n_classes,
        POINTS=_POINTS, TILE=_NEAREST_TILE, PART=_PART, K=k, num_warps=_WARPS,
    )  # fmt: skip
    return found


def sum_hinges_triton(
    points: torch.Tensor,
    rows: ClassSortedRows,
    own: torch.Tensor,
    absent: torch.Tensor,
    margins: torch.Tensor,
    some_absent: bool,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Sums of hinges of rows as impostors, and of points as impostors of rows.

    ``own`` is of :func:`find_nearest_by_class_triton`; ``absent`` is a row that does not count for
    each point, −1 for none, and ``some_absent`` whether any is. Both results are float64
    (n_margins, n_points, n_classes).
    """
    n, c = len(points), rows.n_classes
    intrusions = torch.empty((len(margins), n, c), dtype=torch.float64, device=points.device)
    # By class of the impostors, and then of those that they are impostors to.
    impostors = torch.empty((c, len(margins), n, c), dtype=torch.float64, device=points.device)
    # No row is nearer than a limit of −∞.
    limits = torch.where(own.isfinite(), own, -torch.inf).to(torch.float32)
    _hinges[(triton.cdiv(n, _POINTS), c, len(margins))](
        points, (points * points).sum(dim=1), rows.Z, rows.lengths, rows.starts, rows.nearest,
        rows.reach.to(torch.float32), absent, limits, margins.to(torch.float32), impostors,
        intrusions, n, points.shape[1], c, len(margins),
        POINTS=_POINTS, TILE=_HINGES_TILE, PART=_PART, CLASSES=triton.next_power_of_2(c),
        K=rows.n_neighbors, SOME_ABSENT=some_absent, num_warps=_WARPS,
    )  # fmt: skip
    return impostors.sum(dim=0), intrusions


@triton.jit
def _squared(
    points, lengths, rows, row_lengths, absent, point, place, stop, n, d,
    POINTS: tl.constexpr, TILE: tl.constexpr, PART: tl.constexpr,
):  # fmt: skip
    """Squared distances of a tile of rows, ∞ beyond the class and for rows left out."""
    product = tl.zeros((POINTS, TILE), dtype=tl.float64)
    there = point < n
    known = place < stop
    for start in range(0, d, PART):
        column = start + tl.arange(0, PART)
        inside = column < d
        x = tl.load(
            points + point[:, None] * d + column[None, :], there[:, None] & inside[None, :], 0.0
        )
        y = tl.load(
            rows + place.to(tl.int64)[None, :] * d + column[:, None],
            known[None, :] & inside[:, None],
            0.0,
        )
        product = tl.dot(x, y, product, out_dtype=tl.float64)
    own = tl.load(lengths + point, there, 0.0)
    other = tl.load(row_lengths + place, known, 0.0)
    squared = tl.maximum(own[:, None] + other[None, :] - 2.0 * product, 0.0)
    counts = known[None, :] & (place[None, :] != absent[:, None])
    return tl.where(counts, squared, float("inf"))


@triton.jit
def _nearest_by_class(
    points, lengths, rows, row_lengths, starts, left_out, found, n, d, n_classes,
    POINTS: tl.constexpr, TILE: tl.constexpr, PART: tl.constexpr, K: tl.constexpr,
):  # fmt: skip
    """Find the K nearest rows of one class: each slot of a tile keeps K."""
    point = (tl.program_id(0) * POINTS + tl.arange(0, POINTS)).to(tl.int64)
    slot = tl.arange(0, TILE)
    absent = tl.load(left_out + point, point < n, -1)
    c = tl.program_id(1)
    begin = tl.load(starts + c)
    stop = tl.load(starts + c + 1)
    best = ()
    for _ in tl.static_range(K):
        best = best + (tl.full((POINTS, TILE), float("inf"), dtype=tl.float64),)
    for start in range(begin, stop, TILE):
        value = _squared(
            points, lengths, rows, row_lengths, absent, point, start + slot, stop, n, d,
            POINTS, TILE, PART,
        )  # fmt: skip
        kept = ()
        for t in tl.static_range(K):
            kept = kept + (tl.minimum(best[t], value),)
            value = tl.maximum(best[t], value)
        best = kept
    for t in tl.static_range(K):
        least = tl.min(best[0], axis=1)
        chosen = tl.min(tl.where(best[0] == least[:, None], slot[None, :], TILE), axis=1)
        tl.store(found + (point * n_classes + c) * K + t, least, point < n)
        taken = slot[None, :] == chosen[:, None]
        moved = ()
        for s in tl.static_range(K - 1):
            moved = moved + (tl.where(taken, best[s + 1], best[s]),)
        best = moved + (tl.where(taken, float("inf"), best[K - 1]),)


@triton.jit
def _hinges(
    points, lengths, rows, row_lengths, starts, nearest, reach, left_out, own, margins,
    impostors, intrusions, n, d, n_classes, n_margins,
    POINTS: tl.constexpr, TILE: tl.constexpr, PART: tl.constexpr, CLASSES: tl.constexpr,
    K: tl.constexpr, SOME_ABSENT: tl.constexpr,
):  # fmt: skip
    """Sum both kinds of hinges over the rows of one class."""
    point = (tl.program_id(0) * POINTS + tl.arange(0, POINTS)).to(tl.int64)
    there = point < n
    slot = tl.arange(0, TILE)
    label = tl.arange(0, CLASSES)
    absent = tl.load(left_out + point, there, -1)
    c = tl.program_id(1)
    begin = tl.load(starts + c)
    stop = tl.load(starts + c + 1)
    margin = tl.load(margins + tl.program_id(2))
    out = (tl.program_id(2) * n + point) * n_classes
    pushed = tl.zeros((POINTS, CLASSES), dtype=tl.float64)
    intruded = tl.zeros((POINTS,), dtype=tl.float64)
    for start in range(begin, stop, TILE):
        place = start + slot
        squared = _squared(
            points, lengths, rows, row_lengths, absent, point, place, stop, n, d,
            POINTS, TILE, PART,
        )  # fmt: skip

        # As many of the nearest as count; the one more takes the place of one left out.
        near_by = squared.to(tl.float32)
        total = tl.zeros((POINTS, TILE), dtype=tl.float32)
        if SOME_ABSENT:
            n_own = tl.zeros((POINTS, TILE), dtype=tl.int32)
            for t in tl.static_range(K + 1):
                near = tl.load(nearest + place * (K + 1) + t, place < stop, -1)
                far = tl.load(reach + place * (K + 1) + t, place < stop, 0.0) + margin
                counts = (near >= 0)[None, :] & (near[None, :] != absent[:, None])
                counts = counts & (n_own < K)
                total += tl.where(counts, tl.maximum(far[None, :] - near_by, 0.0), 0.0)
                n_own += counts.to(tl.int32)
            total *= K / tl.maximum(n_own, 1).to(tl.float32)
        else:
            n_near = tl.zeros((TILE,), dtype=tl.int32)
            for t in tl.static_range(K):
                near = tl.load(nearest + place * (K + 1) + t, place < stop, -1)
                far = tl.load(reach + place * (K + 1) + t, place < stop, 0.0) + margin
                total += tl.maximum(tl.where(near >= 0, far, 0.0)[None, :] - near_by, 0.0)
                n_near += (near >= 0).to(tl.int32)
            total *= (K / tl.maximum(n_near, 1).to(tl.float32))[None, :]
        intruded += tl.sum(total, axis=1).to(tl.float64)

        for other in range(n_classes):
            nearer = tl.zeros((POINTS, TILE), dtype=tl.float32)
            for t in tl.static_range(K):
                mine = tl.load(own + (point * n_classes + other) * K + t, there, -margin)
                nearer += tl.maximum((mine + margin)[:, None] - near_by, 0.0)
            those = (label == other) & (label != c)
            added = tl.sum(nearer, axis=1).to(tl.float64)
            pushed += tl.where(those[None, :], added[:, None], 0.0)
    tl.store(intrusions + out + c, intruded, there)
    known = there[:, None] & (label < n_classes)[None, :]
    out += c.to(tl.int64) * n_margins * n * n_classes
    tl.store(impostors + out[:, None] + label[None, :], pushed, known)


# ---- Matrix sign function


class HalfPrecisionMatrices(NamedTuple):
    """Symmetric matrices ``upper + lower / 2048``, float16 (n, side, side) padded with zeros."""

    upper: torch.Tensor
    lower: torch.Tensor


def sign_function_triton(matrices: torch.Tensor, scales: list[float]) -> torch.Tensor:
    """Sign function of symmetric float32 matrices (n, d, d) of norm at most 1.

    By one step of the sign iteration for each of ``scales``. Memory: three times the matrices.
    """
    d = matrices.shape[-1]
    sign = split_halves(matrices)
    square, target = (HalfPrecisionMatrices(*map(torch.empty_like, sign)) for _ in range(2))
    for stretch in scales:
        multiply_halves(sign, sign, square)
        multiply_halves(sign, square, target, factor=-(stretch**3) / 2, kept=3 * stretch / 2)
        sign, target = target, sign
    return join_halves(sign, d)


def split_halves(matrices: torch.Tensor) -> HalfPrecisionMatrices:
    """Split float32 matrices (n, d, d) into upper and lower digits in float16, padded."""
    n, d, _ = matrices.shape
    side = -(-d // _ALIGNED) * _ALIGNED
    upper = torch.zeros((n, side, side), dtype=torch.float16, device=matrices.device)
    lower = torch.zeros_like(upper)
    upper[:, :d, :d] = matrices
    lower[:, :d, :d] = (matrices - upper[:, :d, :d].to(matrices.dtype)) * _LIFT
    return HalfPrecisionMatrices(upper, lower)


def join_halves(halves: HalfPrecisionMatrices, d: int) -> torch.Tensor:
    """Join float16 halves to float32 matrices (n, d, d), without the padding."""
    upper, lower = (part[:, :d, :d].to(torch.float32) for part in halves)
    return upper.add_(lower, alpha=1.0 / _LIFT)


def multiply_halves(
    A: HalfPrecisionMatrices,
    B: HalfPrecisionMatrices,
    target: HalfPrecisionMatrices,
    factor: float = 1.0,
    kept: float = 0.0,
) -> None:
    """Write ``factor * A @ B + kept * A`` for matrices that commute into ``target``."""
    n, side, _ = A.upper.shape
    blocks = triton.cdiv(side, _BLOCK)
    _multiply[(blocks * (blocks + 1) // 2, n)](
        *A, *B, *target, factor, kept, _LIFT,
        SIDE=side, BLOCK=_BLOCK, PART=_SIGN_PART, KEEPS=kept != 0.0,
        num_warps=_SIGN_WARPS, num_stages=_STAGES,
    )  # fmt: skip


@triton.jit
def _multiply(
    a_upper, a_lower, b_upper, b_lower, upper, lower, factor, kept, lift,
    SIDE: tl.constexpr, BLOCK: tl.constexpr, PART: tl.constexpr, KEEPS: tl.constexpr,
):  # fmt: skip
    """Compute one block of a product on or below the diagonal, and its mirror image."""
    number = tl.program_id(0)
    i = 0
    for line in tl.static_range(1, (SIDE + BLOCK - 1) // BLOCK):
        i += (number >= line * (line + 1) // 2).to(tl.int32)
    j = number - i * (i + 1) // 2
    offset = tl.program_id(1).to(tl.int64) * (SIDE * SIDE)
    row = i * BLOCK + tl.arange(0, BLOCK)
    column = j * BLOCK + tl.arange(0, BLOCK)
    coarse = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    fine = tl.zeros((BLOCK, BLOCK), dtype=tl.float32)
    for start in range(0, SIDE, PART):
        inner = start + tl.arange(0, PART)
        at = offset + row[:, None] * SIDE + inner[None, :]
        to = offset + column[None, :] * SIDE + inner[:, None]
        there = (row < SIDE)[:, None] & (inner < SIDE)[None, :]
        here = (column < SIDE)[None, :] & (inner < SIDE)[:, None]
        a = tl.load(a_upper + at, there, 0.0)
        b = tl.load(b_upper + to, here, 0.0)
        coarse = tl.dot(a, b, coarse)
        fine = tl.dot(a, tl.load(b_lower + to, here, 0.0), fine)
        fine = tl.dot(tl.load(a_lower + at, there, 0.0), b, fine)
    value = factor * (coarse + fine / lift)
    at = offset + row[:, None] * SIDE + column[None, :]
    inside = (row < SIDE)[:, None] & (column < SIDE)[None, :]
    if KEEPS:
        own = tl.load(a_upper + at, inside, 0.0).to(tl.float32)
        own += tl.load(a_lower + at, inside, 0.0).to(tl.float32) / lift
        value += kept * own
    if i == j:  # what rounding takes from its symmetry would double with every step
        value = 0.5 * (value + tl.trans(value))
    high = value.to(tl.float16)
    low = ((value - high.to(tl.float32)) * lift).to(tl.float16)
    tl.store(upper + at, high, inside)
    tl.store(lower + at, low, inside)
    if i != j:
        at = offset + column[:, None] * SIDE + row[None, :]
        inside = (column < SIDE)[:, None] & (row < SIDE)[None, :]
        tl.store(upper + at, tl.trans(high), inside)
        tl.store(lower + at, tl.trans(low), inside)
