"""Sums of Gaussian kernel values on an accelerator, as attention is computed, by Triton.

A block of rows goes through the landmarks tile by tile: a product, exponentials, and a second
product that adds to sums in registers. No kernel value is ever in memory.

Tensor cores look at the ten digits of half precision. So numbers are split in two halves, which
together have 22 of the 24 digits of single precision; of the four products of two such numbers, the
least is left out. That is as accurate as three products of TF32, in half the time and memory.
"""

from __future__ import annotations

import math

import numpy as np
import torch
import triton
import triton.language as tl

from nearkin._types import Doubles, Floats

# Sizes after other kernels of this kind (attention): rows, landmarks and columns of the result of a
# block, columns of rows and landmarks that are multiplied at a time, and the warps that do it.
_ROWS, _TILE, _WIDTH, _PART, _WARPS = 128, 64, 64, 64, 8
# Tiles that are on their way, where a block keeps its rows, and where it reads them again.
_STAGES, _STAGES_OF_WIDE = 2, 3
# Half precision goes to 65504. Entries of landmarks are at most so large, of which 1 is a distance
# at least; rows are cut at what is then 29 times as far, where a kernel value is e^-800.
_REACH, _MOST = 2.0**11, 60000.0
# Kernel values and coefficients are multiplied by powers of two, so that small ones keep digits.
_VALUE, _COEFFICIENT = 2.0**10, 2.0**10


class SumsOnDevice:
    """Sums of ``exp(−‖(x − center)·scale − v_j‖²) · coefficients[j]`` and a constant, in float32.

    ``points`` (m, d) are the landmarks v, in float64.
    """

    def __init__(
        self,
        center: Floats,
        scale: np.float32,
        points: Doubles,
        coefficients: Doubles,
        constant: Doubles,
        device: torch.device,
    ) -> None:
        (m, d), q = points.shape, coefficients.shape[1]
        self.columns = max(16, triton.next_power_of_2(d))
        if self.columns > _PART:
            self.columns = -(-d // _PART) * _PART
        self.part = min(_PART, self.columns)
        self.width = min(_WIDTH, max(16, triton.next_power_of_2(q)))
        height, breadth = -(-m // _TILE) * _TILE, -(-q // self.width) * self.width

        def put(values: Floats, dtype: torch.dtype = torch.float32) -> torch.Tensor:
            return torch.as_tensor(values).to(device, dtype)

        # To the base 2, as the device has it; landmarks fill half precision.
        to_binary = math.sqrt(math.log2(math.e))
        largest = max(1.0, float(np.abs(points).max()) * to_binary)
        grown = 2.0 ** math.floor(math.log2(_REACH / largest))
        binary = np.float64(np.float32(scale * to_binary * grown))
        self.scale, self.shrink = float(binary), 1.0 / grown**2
        self.far = min(float(_MOST / binary), float(np.finfo(np.float32).max))
        exact = np.zeros((height, self.columns))
        exact[:m, :d] = points * (binary / np.float64(scale))
        self.points = _split(exact)
        halves = self.points[0].astype(np.float64) + self.points[1]
        lengths = np.einsum("ij,ij->i", halves, halves) * self.shrink
        self.center, self.lengths = put(center), put(lengths)
        # Padded landmarks have coefficients of zero.
        _, exponents = np.frexp(np.abs(coefficients).max(axis=0))
        size = np.ldexp(_COEFFICIENT, -exponents)
        table = np.zeros((height, breadth))
        table[:m, :q] = coefficients * size
        self.tables = _split(table)
        self.back, self.constant = put(1.0 / (size * _VALUE)), put(constant)
        self.points, self.tables = (
            tuple(put(half, torch.float16) for half in halves)
            for halves in (self.points, self.tables)
        )

    @property
    def bytes_per_row(self) -> int:
        """Memory that a row takes beside its sums."""
        return 4 * self.columns + 4

    def write(self, X: torch.Tensor, out: torch.Tensor) -> None:
        """Write the sums at rows (n, d) into ``out`` (n, q)."""
        (n, d), q = X.shape, out.shape[1]
        height = triton.cdiv(n, _ROWS) * _ROWS
        high, low = (
            torch.empty((height, self.columns), dtype=torch.float16, device=X.device)
            for _ in range(2)
        )
        own = torch.empty(height, dtype=torch.float32, device=X.device)
        _split_rows[(height // _ROWS,)](
            X, self.center, high, low, own, n, d, self.scale, self.shrink, self.far, *X.stride(),
            ROWS=_ROWS, COLUMNS=self.columns, PART=self.part, num_warps=_WARPS,
        )  # fmt: skip
        is_whole = self.part == self.columns
        _add_up[(height // _ROWS, triton.cdiv(q, self.width))](
            high, low, own, *self.points, self.lengths, *self.tables, self.back, self.constant, out,
            n, q, len(self.lengths) // _TILE, 2.0 * self.shrink, _VALUE, *out.stride(),
            ROWS=_ROWS, TILE=_TILE, COLUMNS=self.columns, PART=self.part, WIDTH=self.width,
            BREADTH=self.tables[0].shape[1],
            num_warps=_WARPS, num_stages=_STAGES if is_whole else _STAGES_OF_WIDE,
        )  # fmt: skip


def _split(values: Doubles) -> tuple[Floats, Floats]:
    """Two arrays of half precision whose sum is another."""
    high = values.astype(np.float16)
    return high, (values - high).astype(np.float16)


@triton.jit(do_not_specialize=["n"])
def _split_rows(
    X, center, high, low, lengths, n, d, scale, shrink, far, by_row, by_column,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, PART: tl.constexpr,
):  # fmt: skip
    """Rows moved, scaled, held within half precision and split in two, and their lengths."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    for start in range(0, COLUMNS, PART):
        column = start + tl.arange(0, PART)
        inside = (row < n)[:, None] & (column < d)[None, :]
        x = tl.load(X + row[:, None] * by_row + column[None, :] * by_column, inside, 0.0)
        x = x - tl.load(center + column, column < d, 0.0)[None, :]
        x = tl.where(inside, tl.minimum(tl.maximum(x, -far), far) * scale, 0.0)
        first = x.to(tl.float16)
        second = (x - first.to(tl.float32)).to(tl.float16)
        x = first.to(tl.float32) + second.to(tl.float32)
        total += tl.sum(x * x, axis=1)
        place = row[:, None] * COLUMNS + column[None, :]
        tl.store(high + place, first)
        tl.store(low + place, second)
    tl.store(lengths + row, total * shrink)


@triton.jit
def _multiply(a, a_low, b, b_low, total):
    """Add the product of two matrices, each split in two, to a sum."""
    total = tl.dot(a_low, b, total)
    total = tl.dot(a, b_low, total)
    return tl.dot(a, b, total)


@triton.jit(do_not_specialize=["n"])
def _add_up(
    high, low, own, points, points_low, lengths, table, table_low, back, constant, out,
    n, q, n_tiles, shrink, size, by_row, by_column,
    ROWS: tl.constexpr, TILE: tl.constexpr, COLUMNS: tl.constexpr, PART: tl.constexpr,
    WIDTH: tl.constexpr, BREADTH: tl.constexpr,
):  # fmt: skip
    """Compute one block of rows and columns of the result."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    target = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    slot = tl.arange(0, TILE)
    column = tl.arange(0, PART)
    mine = tl.load(own + row)
    at_row = row[:, None] * COLUMNS + column[None, :]
    if PART == COLUMNS:
        u = tl.load(high + at_row)
        u_low = tl.load(low + at_row)
    total = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    # Tensor cores cut off digits of what they add to: sums of many products would be too small.
    for tile in range(n_tiles):
        place = tile * TILE + slot
        at_point = place[None, :] * COLUMNS + column[:, None]
        product = tl.zeros((ROWS, TILE), dtype=tl.float32)
        if PART == COLUMNS:
            v = tl.load(points + at_point)
            v_low = tl.load(points_low + at_point)
            product = _multiply(u, u_low, v, v_low, product)
        else:
            for start in range(0, COLUMNS, PART):
                u = tl.load(high + at_row + start)
                u_low = tl.load(low + at_row + start)
                v = tl.load(points + at_point + start)
                v_low = tl.load(points_low + at_point + start)
                product += _multiply(u, u_low, v, v_low, tl.zeros((ROWS, TILE), dtype=tl.float32))
        exponent = product * shrink - (mine[:, None] + tl.load(lengths + place)[None, :])
        value = tl.exp2(tl.minimum(exponent, 0.0)) * size
        first = value.to(tl.float16)
        second = (value - first.to(tl.float32)).to(tl.float16)
        at_target = place[:, None] * BREADTH + target[None, :]
        c = tl.load(table + at_target)
        c_low = tl.load(table_low + at_target)
        total += _multiply(first, second, c, c_low, tl.zeros((ROWS, WIDTH), dtype=tl.float32))
    total = total * tl.load(back + target, target < q, 0.0)[None, :]
    total += tl.load(constant + target, target < q, 0.0)[None, :]
    inside = (row < n)[:, None] & (target < q)[None, :]
    tl.store(out + row[:, None] * by_row + target[None, :] * by_column, total, inside)
