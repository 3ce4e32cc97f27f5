r"""Matrix sign function of many symmetric matrices on a CUDA device, by a kernel of Triton.

The iteration of :mod:`nearkin.solvers.matrix_sign` in about single precision. A number is the sum
of two of half precision, so that a product is three on tensor cores, each many times as fast as one
in single precision. All matrices of an iteration commute, so that products are symmetric: half of
each is computed.
"""

# Kernels read their annotations and globals themselves: nothing is annotated but constants.

from typing import NamedTuple

import torch
import triton
import triton.language as tl

# What the lower half of a number is multiplied by: its digits follow those of the upper half.
_LIFT = 2048.0
# Rows and columns of a block, columns at a time, and the warps that work on it.
_BLOCK, _SIGN_PART, _SIGN_WARPS, _STAGES = 64, 32, 4, 3
# Rows are so long that each begins where memory is read well.
_ALIGNED = 16


class Halves(NamedTuple):
    """Symmetric matrices as sums of two of half precision, with zeros around them.

    Attributes
    ----------
    upper, lower : float16 tensors of shape (n, side, side)
        The matrices are ``upper + lower / 2048``.
    """

    upper: torch.Tensor
    lower: torch.Tensor

    @property
    def side(self) -> int:
        """Rows and columns, with the zeros."""
        return int(self.upper.shape[-1])


def sign_function(matrices: torch.Tensor, scales: list[float]) -> torch.Tensor:
    """Signs of symmetric float32 matrices (n, d, d) of norm at most 1, by steps of these scales.

    Memory: three times the matrices.
    """
    d = matrices.shape[-1]
    sign = split(matrices)
    square, target = (Halves(*map(torch.empty_like, sign)) for _ in range(2))
    for stretch in scales:
        multiply(sign, sign, square)
        multiply(sign, square, target, factor=-0.5 * stretch**3, kept=1.5 * stretch)
        sign, target = target, sign
    return joined(sign, d)


def split(matrices: torch.Tensor) -> Halves:
    """Matrices (n, d, d) as halves."""
    n, d, _ = matrices.shape
    side = -(-d // _ALIGNED) * _ALIGNED
    upper = torch.zeros((n, side, side), dtype=torch.float16, device=matrices.device)
    lower = torch.zeros_like(upper)
    upper[:, :d, :d] = matrices
    lower[:, :d, :d] = (matrices - upper[:, :d, :d].to(matrices.dtype)) * _LIFT
    return Halves(upper, lower)


def joined(halves: Halves, d: int) -> torch.Tensor:
    """The matrices (n, d, d) in float32."""
    upper, lower = (part[:, :d, :d].to(torch.float32) for part in halves)
    return upper.add_(lower, alpha=1.0 / _LIFT)


def multiply(A: Halves, B: Halves, target: Halves, factor: float = 1.0, kept: float = 0.0) -> None:
    """``factor * A @ B + kept * A`` for matrices that commute, into ``target``."""
    n, side = len(A.upper), A.side
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
    """One block on or below the diagonal, and its mirror image."""
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
