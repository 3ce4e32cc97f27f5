r"""Nearest points of many rows on an accelerator, by kernels that Triton compiles.

Only a product of rows and points is as fast as the device can be; what a search adds to it must
not leave the registers. So it goes in two steps.

*A shortlist.* Squared distances come from a product on tensor cores, tile by tile of the points.
Each slot of a tile keeps its three least as whole numbers, in which the last bits, that matter
least, hold the number of the tile; so nothing is compared across slots before all tiles are
through. The least of all slots are the shortlist, and nothing else is nearer than its ``limit``.

*The truth.* Distances of what is listed come from differences. The product is of numbers of half
precision, whose ten digits are as many as tensor cores look at in longer ones, in half the time.
With rows and points rounded to these beforehand, products are exact, and distances are those of
rows and points that have moved a little: by the triangle inequality a distance was off by no more
than they moved. So it is known whether anything could have been missed. If it could, the row is
*open*, to be looked at again with all digits and other slots, and then in another way.

This module needs Triton: :mod:`nearkin.rows.device_math` says whether it is there.
"""

# Kernels read their annotations and globals themselves: nothing is annotated but constants.

import math
from typing import NamedTuple

import torch
import triton
import triton.language as tl

from nearkin.rows.distances import FAR

# The product's digits: half precision, or three passes that are as good as single precision.
PRECISIONS = ("half", "tf32x3")
# Largest entry of points in half precision, which goes to 65504; rows further out are cut there.
_HALF_REACH, _HALF_MOST, _MOST_GROWN = 2.0**11, 60000.0, 2.0**60
# Points that a list has beyond those wanted: so many may be out of order.
SPARE = 3
# Points that a slot keeps: with two, one row in ten would have lost one.
_KEPT = 3
_NOWHERE = 3e38
# Columns that a block of rows keeps; wider ones are read by parts, and very wide ones by others.
_WHOLE_ROWS, _VERY_WIDE = 128, 512
# A distance in single precision, and a little more.
NEARLY = 1.000001
# Units of the last place: of sums by entry, of squared lengths, and of a product in three passes.
_SUM, _LENGTH, _PRODUCT = 2.0**-23, 2.0**-20, 2.0**-20
# A block of rows and its warps, and columns at a time, for distances from differences.
_ROWS, _WARPS, _COLUMNS = 4, 1, 64


class Plan(NamedTuple):
    """Sizes of the blocks that the search works on: seen to be fast on one kind of device."""

    rows: int
    tile: int
    columns: int
    part: int
    warps: int
    stages: int


class Points(NamedTuple):
    """Points to search among, as kernels read them.

    They are moved by ``center``, multiplied by ``scale``, and, to be well within half precision, by
    ``grown``, a power of two. ``tiles`` has them times −2, in the ``order`` of its own and with
    zeros around them; ``lengths`` their squared lengths, beyond all numbers where there is no
    point. ``reach`` is the length of the longest, and ``moved`` how far rounding has moved any.
    """

    rows: torch.Tensor
    center: torch.Tensor
    scale: float
    precision: str
    plan: Plan
    grown: float
    tiles: torch.Tensor
    lengths: torch.Tensor
    order: torch.Tensor
    reach: float
    moved: float

    @property
    def tile_bits(self) -> int:
        """Number of low bits of a distance in which its tile's number is stored."""
        return int((self.tiles.shape[0] // self.plan.tile - 1).bit_length())


class Nearest(NamedTuple):
    """Numbers, squared distances (n, size) of listed points; no other is as near as ``limit``."""

    points: torch.Tensor
    squared: torch.Tensor
    limit: torch.Tensor


def plan_search(d: int, precision: str) -> Plan:
    """Block sizes by the number of columns and the precision."""
    half = precision == "half"
    columns = max(16, triton.next_power_of_2(d))
    if columns < _WHOLE_ROWS:
        return Plan(64, 64, columns, columns, 4, 3 if half else 2)
    if columns == _WHOLE_ROWS:
        return Plan(128, 64, columns, columns, 8, 3 if half else 2)
    part = 64 if half else 32
    columns = -(-d // part) * part
    if half and columns > _VERY_WIDE:
        return Plan(64, 128, columns, part, 8, 5)
    return Plan(128, 64, columns, part, 8, 4)


class Search:
    """Search among points (m, d), moved by ``center`` and multiplied by ``scale`` as rows are."""

    def __init__(self, rows: torch.Tensor, center: torch.Tensor, scale: float) -> None:
        self.rows = rows.contiguous()
        self.center = center
        self.scale = scale
        self._points: dict[str, Points] = {}

    def __len__(self) -> int:
        return len(self.rows)

    def bytes_per_row(self, k: int) -> int:
        """Bytes of working memory that the search for k points takes for each row."""
        d = self.rows.shape[1]
        columns = max(plan_search(d, precision).columns for precision in PRECISIONS)
        return 4 * columns + 32 * (k + SPARE) + 32

    def lists(self, X: torch.Tensor, k: int, precision: str) -> Nearest:
        """Shortlists of candidates for each row, a few more than k, with their distances."""
        return _find_candidates(X, self.points(precision), min(k + SPARE, len(self)))

    def points(self, precision: str) -> Points:
        """The points laid out for kernels, computed once for each precision."""
        if precision not in self._points:
            self._points[precision] = lay_out_points(self.rows, self.center, self.scale, precision)
        return self._points[precision]

    def nearest(self, X: torch.Tensor, k: int, precision: str) -> tuple[torch.Tensor, torch.Tensor]:
        """Numbers (n, k) of the nearest points in order, and 1 for rows where that is not certain.

        Of points that are equally far in single precision, the first come first.
        """
        found = self.lists(X, k, precision)
        keys = (found.squared.view(torch.int32).to(torch.int64) << 32) | found.points
        keys = keys.sort(dim=1).values[:, :k]
        last = (keys[:, -1] >> 32).to(torch.int32).view(torch.float32)
        is_open = last.sqrt() * NEARLY >= found.limit
        return keys & 0x7FFFFFFF, is_open.to(torch.int8)


def lay_out_points(
    rows: torch.Tensor, center: torch.Tensor, scale: float, precision: str
) -> Points:
    """Arrange points in tiles for a search; see :class:`Points`."""
    m, d = rows.shape
    plan = plan_search(d, precision)
    # Points that are near one another may be neighbours in the table too: they would share slots.
    generator = torch.Generator().manual_seed(PRECISIONS.index(precision))
    order = torch.randperm(m, generator=generator).to(rows.device)
    height = -(-m // plan.tile) * plan.tile
    exact = (rows[order].to(torch.float64) - center) * scale
    grown, dtype = 1.0, torch.float32
    if precision == "half":
        largest = max(float(exact.abs().max()), _HALF_REACH / _MOST_GROWN)
        grown, dtype = 2.0 ** math.floor(math.log2(_HALF_REACH / largest)), torch.float16
    exact *= grown
    tiles = torch.zeros((height, plan.columns), dtype=dtype, device=rows.device)
    tiles[:m, :d] = -2.0 * exact
    points = -0.5 * tiles[:m, :d].to(torch.float64)
    squared = (points * points).sum(dim=1)
    lengths = torch.full((height,), _NOWHERE, dtype=torch.float32, device=rows.device)
    lengths[:m] = squared
    reach, moved = torch.stack(
        [squared.max(), ((points - exact) ** 2).sum(dim=1).max()]
    ).sqrt().tolist()  # fmt: skip
    return Points(
        rows,
        center.to(rows.dtype),
        scale,
        precision,
        plan,
        grown,
        tiles,
        lengths,
        order.to(torch.int32),
        reach,
        moved,
    )


def _find_candidates(X: torch.Tensor, points: Points, size: int) -> Nearest:
    """The ``size`` nearest points of each row by the product, with exact distances; copies rows."""
    n, d = X.shape
    plan, device = points.plan, X.device
    found = torch.empty((n, size), dtype=torch.int32, device=device)
    squared = torch.empty((n, size), dtype=torch.float32, device=device)
    limit = torch.empty(n, dtype=torch.float32, device=device)
    half, n_tiles = points.precision == "half", points.tiles.shape[0] // plan.tile
    rows, lengths, moved = lay_out_rows(X, points)
    product = (d * _SUM + (0.0 if half else _PRODUCT)) * 2.0 * points.reach
    _shortlist[(len(rows) // plan.rows,)](
        rows, lengths, moved, points.tiles, points.lengths, points.order, found, limit, n, n_tiles,
        points.moved, product, _LENGTH, _LENGTH * points.reach**2, 1.0 / points.grown,
        ROWS=plan.rows, TILE=plan.tile, COLUMNS=plan.columns, PART=plan.part, SIZE=size,
        LOW=2**points.tile_bits - 1, KEPT=_KEPT,
        num_warps=plan.warps, num_stages=plan.stages,
    )  # fmt: skip
    _measure[(triton.cdiv(n, _ROWS),)](
        X, points.rows, found, squared, n, d, points.scale, *X.stride(), FAR,
        ROWS=_ROWS, PART=min(_COLUMNS, triton.next_power_of_2(d)), SIZE=size, num_warps=_WARPS,
    )  # fmt: skip
    return Nearest(found, squared, limit)


def lay_out_rows(
    X: torch.Tensor, points: Points
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Rows as kernels read them, their squared lengths, and how far rounding moves each."""
    (n, d), plan = X.shape, points.plan
    height = -(-n // plan.rows) * plan.rows
    rows = torch.empty((height, plan.columns), dtype=points.tiles.dtype, device=X.device)
    lengths = torch.empty(height, dtype=torch.float32, device=X.device)
    moved = torch.empty(height, dtype=torch.float32, device=X.device)
    _prepare[(height // plan.rows,)](
        X, points.center, rows, lengths, moved, n, d, points.scale * points.grown, *X.stride(),
        FAR * points.grown, _HALF_MOST,
        ROWS=plan.rows, COLUMNS=plan.columns, PART=plan.part, HALF=points.precision == "half",
        num_warps=4,
    )  # fmt: skip
    return rows, lengths, moved


@triton.jit
def _prepare(
    X, center, out, lengths, moved, n, d, scale, by_row, by_column, far, most,
    ROWS: tl.constexpr, COLUMNS: tl.constexpr, PART: tl.constexpr, HALF: tl.constexpr,
):  # fmt: skip
    """Write rows moved, scaled, clipped, and rounded to half precision if asked."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    total = tl.zeros((ROWS,), dtype=tl.float32)
    change = tl.zeros((ROWS,), dtype=tl.float32)
    for start in range(0, COLUMNS, PART):
        column = start + tl.arange(0, PART)
        inside = (row < n)[:, None] & (column < d)[None, :]
        x = tl.load(X + row[:, None] * by_row + column[None, :] * by_column, inside, 0.0)
        x = (x - tl.load(center + column, column < d, 0.0)[None, :]) * scale
        x = tl.where(inside, tl.minimum(tl.maximum(x, -far), far), 0.0)
        y = x.to(tl.float32)
        if HALF:
            y = tl.minimum(tl.maximum(y, -most), most).to(tl.float16).to(tl.float32)
        off = (y - x).to(tl.float32)
        total += tl.sum(y * y, axis=1)
        change += tl.sum(off * off, axis=1)
        tl.store(out + row[:, None] * COLUMNS + column[None, :], y)
    tl.store(lengths + row, total)
    tl.store(moved + row, tl.sqrt(change))


@triton.jit
def _shortlist(
    rows, own, moved, points, lengths, order, found, limit, n, n_tiles,
    points_moved, product_error, length_error, constant_error, shrink,
    ROWS: tl.constexpr, TILE: tl.constexpr, COLUMNS: tl.constexpr, PART: tl.constexpr,
    SIZE: tl.constexpr, LOW: tl.constexpr, KEPT: tl.constexpr,
):  # fmt: skip
    """Write each row's nearest points by a product, and a limit no other is nearer than."""
    most: tl.constexpr = 0x7FFFFFFF
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    slot = tl.arange(0, TILE)
    column = tl.arange(0, PART)
    mine = tl.load(own + row)
    best = ()
    for _ in tl.static_range(KEPT):
        best = best + (tl.full((ROWS, TILE), most, dtype=tl.int32),)
    if PART == COLUMNS:
        x = tl.load(rows + row[:, None] * COLUMNS + column[None, :])
    for tile in range(n_tiles):
        place = tile * TILE + slot
        if PART == COLUMNS:
            y = tl.load(points + place[None, :] * COLUMNS + column[:, None])
            product = tl.dot(x, y, input_precision="tf32x3")
        else:
            product = tl.zeros((ROWS, TILE), dtype=tl.float32)
            for start in range(0, COLUMNS, PART):
                u = tl.load(rows + row[:, None] * COLUMNS + (start + column)[None, :])
                v = tl.load(points + place[None, :] * COLUMNS + (start + column)[:, None])
                product = tl.dot(u, v, product, input_precision="tf32x3")
        squared = tl.maximum(product + (mine[:, None] + tl.load(lengths + place)[None, :]), 0.0)
        key = (squared.to(tl.int32, bitcast=True) & ~LOW) | tile
        kept = ()
        for t in tl.static_range(KEPT):
            kept = kept + (tl.minimum(best[t], key),)
            key = tl.maximum(best[t], key)
        best = kept
    beyond = tl.min(best[KEPT - 1], axis=1)
    for turn in tl.static_range(SIZE):
        least = tl.min(best[0], axis=1)
        chosen = tl.min(tl.where(best[0] == least[:, None], slot[None, :], TILE), axis=1)
        number = tl.load(order + (least & LOW) * TILE + chosen, row < n, 0)
        tl.store(found + row * SIZE + turn, number, row < n)
        taken = slot[None, :] == chosen[:, None]
        moved_up = ()
        for t in tl.static_range(KEPT - 1):
            moved_up = moved_up + (tl.where(taken, best[t + 1], best[t]),)
        best = moved_up + (tl.where(taken, most, best[KEPT - 1]),)
    beyond = (tl.minimum(beyond, tl.min(best[0], axis=1)) & ~LOW).to(tl.float32, bitcast=True)
    error = product_error * tl.sqrt(mine) + length_error * mine + constant_error
    beyond = tl.sqrt(tl.maximum(beyond - error, 0.0)) - tl.load(moved + row) - points_moved
    tl.store(limit + row, beyond * shrink, row < n)


@triton.jit
def _measure(
    X, points, found, squared, n, d, scale, by_row, by_column, far,
    ROWS: tl.constexpr, PART: tl.constexpr, SIZE: tl.constexpr,
):  # fmt: skip
    """Write squared distances of the listed points, from differences."""
    row = (tl.program_id(0) * ROWS + tl.arange(0, ROWS)).to(tl.int64)
    there = row < n
    which = ()
    totals = ()
    for t in tl.static_range(SIZE):
        which = which + (tl.load(found + row * SIZE + t, there, 0).to(tl.int64),)
        totals = totals + (tl.zeros((ROWS, PART), dtype=tl.float32),)
    for start in range(0, d, PART):
        column = start + tl.arange(0, PART)
        inside = there[:, None] & (column < d)[None, :]
        x = tl.load(X + row[:, None] * by_row + column[None, :] * by_column, inside, 0.0)
        sums = ()
        for t in tl.static_range(SIZE):
            y = tl.load(points + which[t][:, None] * d + column[None, :], inside, 0.0)
            apart = tl.minimum(tl.abs(x - y).to(tl.float32) * scale, far)
            sums = sums + (totals[t] + apart * apart,)
        totals = sums
    for t in tl.static_range(SIZE):
        tl.store(squared + row * SIZE + t, tl.sum(totals[t], axis=1), there)
