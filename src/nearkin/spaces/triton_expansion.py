"""Sums of Gaussian kernels on an accelerator, product and map in one pass, by a kernel of Triton.

Kernel values of a tile of landmarks go into the next product while they are in registers: no
value is ever written.
"""

# Kernels read their annotations and globals themselves: nothing is annotated but constants.

import torch
import triton
import triton.language as tl

from nearkin.rows.triton_search import Search, prepared

# Rows, landmarks and columns of the result of a block, and the warps that work on it.
_EXPANSION_ROWS, _TILE, _EXPANSION_COLUMNS, _EXPANSION_WARPS = 64, 64, 64, 4


def expanded(
    X: torch.Tensor, search: Search, coefficients: torch.Tensor, constant: torch.Tensor
) -> torch.Tensor:
    """``Σ_j exp(−‖u − u_j‖²) · coefficients[j] + constant`` for every row, moved and scaled to u.

    Parameters
    ----------
    X : float32 tensor of shape (n, d)
    search : Search
        What the landmarks are known by.
    coefficients : float32 tensor of shape (m, q)
    constant : float32 tensor of shape (q,)

    Returns
    -------
    float32 tensor of shape (n, q)
    """
    (n, _), (m, q) = X.shape, coefficients.shape
    points = search.points("tf32x3")
    rows, lengths, _ = prepared(X, points)
    order = points.order.to(torch.int64)
    padded = torch.zeros((points.tiles.shape[0], q), dtype=torch.float32, device=X.device)
    padded[:m] = coefficients[order]
    out = torch.empty((n, q), dtype=torch.float32, device=X.device)
    part = min(points.plan.part, 64)
    _expand[(triton.cdiv(n, _EXPANSION_ROWS), triton.cdiv(q, _EXPANSION_COLUMNS))](
        rows, lengths, points.tiles, points.lengths, padded, constant, out, n, q,
        points.tiles.shape[0] // _TILE, ROWS=_EXPANSION_ROWS, TILE=_TILE,
        COLUMNS=points.plan.columns, PART=part, WIDTH=_EXPANSION_COLUMNS,
        num_warps=_EXPANSION_WARPS, num_stages=2,
    )  # fmt: skip
    return out


@triton.jit
def _expand(
    rows, own, points, lengths, coefficients, constant, out, n, q, n_tiles,
    ROWS: tl.constexpr, TILE: tl.constexpr, COLUMNS: tl.constexpr, PART: tl.constexpr,
    WIDTH: tl.constexpr,
):  # fmt: skip
    """One block of rows and columns of the result."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    target = tl.program_id(1) * WIDTH + tl.arange(0, WIDTH)
    slot = tl.arange(0, TILE)
    column = tl.arange(0, PART)
    there = row < n
    mine = tl.load(own + row, there, 0.0)
    total = tl.zeros((ROWS, WIDTH), dtype=tl.float32)
    for tile in range(n_tiles):
        place = tile * TILE + slot
        product = tl.zeros((ROWS, TILE), dtype=tl.float32)
        for start in range(0, COLUMNS, PART):
            u = tl.load(
                rows + row[:, None] * COLUMNS + (start + column)[None, :], there[:, None], 0.0
            )
            v = tl.load(points + place[None, :] * COLUMNS + (start + column)[:, None])
            product = tl.dot(u, v, product, input_precision="tf32x3")
        squared = tl.maximum(product + (mine[:, None] + tl.load(lengths + place)[None, :]), 0.0)
        values = tl.exp(-squared)
        weights = tl.load(
            coefficients + place[:, None] * q + target[None, :], (target < q)[None, :], 0.0
        )
        total = tl.dot(values, weights, total, input_precision="tf32x3")
    total += tl.load(constant + target, target < q, 0.0)[None, :]
    inside = there[:, None] & (target < q)[None, :]
    tl.store(out + row[:, None] * q + target[None, :], total, inside)
