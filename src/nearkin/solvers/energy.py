"""Energy of class labels: sums of hinges over the near rows of each class."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from nearkin._types import DOUBLE_BYTES, Floats, Integers
from nearkin.rows import access, backends, device_math
from nearkin.rows import sparse as sparse_rows
from nearkin.rows.distances import squared_lengths, squared_rowwise_distances
from nearkin.rows.parallel import compiled, run_in_blocks
from nearkin.solvers.large_margin import find_nearest_alike
from nearkin.spaces.local_weights import find_smallest

# Tables of distances that sums over them hold at a time on a device; and sums that the fused
# kernels hold for each point and class, beside neighbours and margins.
_DEVICE_TABLES, _MORE_SUMS = 8, 4
# Working memory of a block of points on the host, and most points of it. Chosen by hand.
_BLOCK_BYTES, _BLOCK_POINTS = 32 * 2**20, 256
# Multiples of the typical gap between classes that are tried as margins, in order of preference.
# Four and eight are for overlapping classes, which asked for them in
# benchmarks/papers/shi2011_generative.
FACTORS = (0.1, 0.2, 0.5, 1.0, 2.0, 4.0, 8.0, 0.0)
# Training rows by which the margin is chosen: errors are known to half a percent. By hand.
_MOST_JUDGED = 5000


# ---- Sums of hinges from distances to all rows


def find_nearest_by_class(squared: Any, starts: Integers, k: int) -> Any:
    """Squared distances to the k nearest rows of each class (n_points, n_classes, k), ∞ if missing.

    ``squared`` (n_points, n) are distances to all rows; those of class c are ``starts[c]`` to
    ``starts[c + 1]``.
    """
    xp = backends.namespace(squared)
    out = backends.empty((squared.shape[0], len(starts) - 1, k), squared)
    if xp is np:
        _write_nearest_by_class(squared, starts, out)
        return out
    out[...] = xp.inf
    for c, (start, stop) in enumerate(pairwise(starts.tolist())):
        few = min(k, stop - start)
        # A copy: the search overwrites what it is given.
        out[:, c, :few] = device_math.k_smallest(squared[:, start:stop] + 0.0, few)[0]
    return out


def impostor_hinges(squared: Any, own: Any, starts: Integers, margins: Floats) -> Any:
    """Sum of hinges of rows of other classes (n_margins, n_points, n_classes), by point's label.

    ``squared`` (n_points, n) are distances to all rows, ``own`` those of
    :func:`find_nearest_by_class`.
    """
    xp = backends.namespace(squared)
    out = backends.empty((len(margins), *own.shape[:2]), squared)
    if xp is np:
        in_order = np.sort(own.reshape(len(own), -1), axis=1)
        _impostor_hinges(squared, own, in_order, starts, margins, out)
        return out
    for b, margin in enumerate(margins.tolist()):
        for c, (start, stop) in enumerate(pairwise(starts.tolist())):
            total = xp.zeros_like(squared[:, 0])
            for t in range(own.shape[2]):
                limit = xp.where(xp.isfinite(own[:, c, t]), own[:, c, t] + margin, 0.0)[:, None]
                for others in (squared[:, :start], squared[:, stop:]):
                    total = total + xp.sum(device_math.clip(limit - others, 0.0), axis=1)
            out[b, :, c] = total
    return out


def intrusion_hinges(
    squared: Any, starts: Integers, nearest: Any, reach: Any, left_out: Any, margins: Floats
) -> Any:
    """Sum of a point's hinges as impostor of rows (n_margins, n_points, n_classes), by their class.

    ``nearest`` (n, k + 1), ``reach`` and ``starts`` are those of :class:`Members`; ``left_out``
    (n_points,) is a row that does not count for each point, −1 for none.
    """
    xp = backends.namespace(squared)
    out = backends.empty((len(margins), squared.shape[0], len(starts) - 1), squared)
    if xp is np:
        _intrusion_hinges(squared, starts, nearest, reach, left_out, margins, out)
        return out
    k = nearest.shape[1] - 1
    for b, margin in enumerate(margins.tolist()):
        total, n_own = xp.zeros_like(squared), xp.zeros_like(squared)
        for t in range(k + 1):
            there = nearest[:, t] >= 0
            counts = there[None, :] & (nearest[:, t][None, :] != left_out[:, None])
            # The one more that is kept takes the place of one that is left out.
            counts = counts & (n_own < k)
            limit = margin + xp.where(there, reach[:, t], 0.0)
            hinge = device_math.clip(limit[None, :] - squared, 0.0)
            total = total + xp.where(counts, hinge, 0.0)
            n_own = n_own + xp.astype(counts, n_own.dtype)
        total = total * k / device_math.clip(n_own, 1.0)
        for c, (start, stop) in enumerate(pairwise(starts.tolist())):
            out[b, :, c] = xp.sum(total[:, start:stop], axis=1)
    return out


@compiled()
def _write_nearest_by_class(squared: Any, starts: Any, out: Any) -> None:
    """Write :func:`find_nearest_by_class` for all points."""
    places = np.empty(out.shape[2], np.int64)
    for r in range(squared.shape[0]):
        for c in range(out.shape[1]):
            find_smallest(squared[r, starts[c] : starts[c + 1]], places, out[r, c])


@compiled()
def _impostor_hinges(
    squared: Any, own: Any, in_order: Any, starts: Any, margins: Any, out: Any
) -> None:
    """Write :func:`impostor_hinges` for all points and margins."""
    for r in range(squared.shape[0]):
        for b in range(margins.shape[0]):
            _sum_impostors(squared[r], own[r], in_order[r], starts, margins[b], out[b, r])


@compiled()
def _sum_impostors(
    squared: Any, own: Any, in_order: Any, starts: Any, margin: float, totals: Any
) -> None:
    """Write the sum of a point's hinges for each label that it may have.

    All rows are sorted into the gaps between all limits (margin and a nearest distance) once. With
    the number and the sum of the distances below it, a limit's hinges are a product and a
    difference; those of the class itself are taken out again.

    Plain loops instead of NumPy's functions: those take seconds to compile.
    """
    n_classes, k = own.shape
    n_limits = 0
    while n_limits < in_order.shape[0] and in_order[n_limits] + margin < np.inf:
        n_limits += 1
    size = 1
    while size <= n_limits:
        size *= 2
    padded = np.empty(size)
    counts = np.zeros(size)
    sums = np.zeros(size)
    for place in range(size):
        padded[place] = in_order[place] + margin if place < n_limits else np.inf
    farthest = padded[n_limits - 1]
    for i in range(squared.shape[0]):
        value = squared[i]
        if value < farthest:
            # How many limits are not above it, by bisection without branches.
            place, half = 0, size // 2
            while half > 0:
                place += half * (padded[place + half - 1] <= value)
                half //= 2
            counts[place] += 1.0
            sums[place] += value
    for place in range(1, size):
        counts[place] += counts[place - 1]
        sums[place] += sums[place - 1]
    for c in range(n_classes):
        totals[c] = 0.0
        for t in range(k):
            if own[c, t] == np.inf:
                break
            limit = own[c, t] + margin
            place, half = 0, size // 2
            while half > 0:
                place += half * (padded[place + half - 1] < limit)
                half //= 2
            total = limit * counts[place] - sums[place]
            for i in range(starts[c], starts[c + 1]):
                if squared[i] < limit:
                    total -= limit - squared[i]
            totals[c] += max(total, 0.0)


@compiled()
def _intrusion_hinges(
    squared: Any, starts: Any, nearest: Any, reach: Any, left_out: Any, margins: Any, out: Any
) -> None:
    """Write :func:`intrusion_hinges` for all points and margins."""
    for r in range(squared.shape[0]):
        for b in range(margins.shape[0]):
            _sum_intrusions(squared[r], starts, nearest, reach, left_out[r], margins[b], out[b, r])


@compiled()
def _sum_intrusions(
    squared: Any, starts: Any, nearest: Any, reach: Any, left_out: int, margin: float, totals: Any
) -> None:
    """Write the sum of a point's hinges as impostor of rows, for each class of these."""
    k = nearest.shape[1] - 1
    for c in range(totals.shape[0]):
        totals[c] = 0.0
        for i in range(starts[c], starts[c + 1]):
            farthest = 0.0
            # The one more that is kept may have to take another's place.
            for t in range(k, -1, -1):
                if nearest[i, t] >= 0:
                    farthest = margin + reach[i, t]
                    break
            if squared[i] >= farthest:
                continue
            total, n_own = 0.0, 0
            for t in range(k + 1):
                if n_own < k and nearest[i, t] >= 0 and nearest[i, t] != left_out:
                    total += max(0.0, margin + reach[i, t] - squared[i])
                    n_own += 1
            if n_own > 0:
                totals[c] += total * k / n_own


# ---- Sums of hinges on the host and on devices


@dataclass(frozen=True)
class Members:
    """Training rows (n, q) in order of their class, ``Z[starts[c]:starts[c + 1]]`` of class c."""

    Z: Any
    starts: Integers
    # The nearest other rows of the class (n, k + 1), −1 where there are none: one more than is
    # needed, so that any can be left out; and squared distances to them.
    nearest: Any
    squared: Any

    def move_beside(self, X: Any) -> Members:
        """The members on the device of other rows."""
        arrays = (backends.move_kept(one, X) for one in (self.Z, self.nearest, self.squared))
        Z, nearest, squared = arrays
        return Members(Z, self.starts, nearest, squared)

    def __getstate__(self) -> dict[str, Any]:
        # Devices differ from machine to machine.
        return {name: backends.to_host(value) for name, value in vars(self).items()}

    @property
    def n_neighbors(self) -> int:
        """Number k of neighbours that count."""
        return int(self.nearest.shape[1]) - 1

    @property
    def number(self) -> Integers:
        """Class number of each row."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.starts) - 1


def _fill_by_blocks(
    Z: Any,
    members: Members,
    left_out: Integers | None,
    shape: tuple[int, ...],
    axis: int,
    of_block: Callable[[_DistanceTable | _FusedSums, Any, Any], Any],
) -> Any:
    """Fill an array of a shape with ``of_block(sums, points, absent)`` for blocks along an axis.

    ``sums`` are Triton's kernels where these can run, and otherwise a table of distances;
    ``absent`` (n_points,) are the rows left out for each point, or None.
    """

    def fill(sums: _DistanceTable | _FusedSums) -> Any:
        out = backends.empty(shape, members.Z)

        def write_block(rows: slice) -> None:
            absent = None if left_out is None else left_out[rows]
            out[(slice(None),) * axis + (rows, ...)] = of_block(sums, Z[rows, :], absent)

        sums.for_each_block(write_block, Z)
        return out

    if backends.is_foreign(Z) and device_math.can_use_kernels(backends.widen(Z), "float64"):
        from nearkin.solvers.triton_kernels import MOST_CLASSES, MOST_NEIGHBORS

        if members.n_classes <= MOST_CLASSES and members.n_neighbors <= MOST_NEIGHBORS:
            by_kernels = device_math.try_kernels(Z, lambda: fill(_FusedSums(members)))
            if by_kernels is not None:
                return by_kernels
    return fill(_DistanceTable(members))


@dataclass(frozen=True)
class _DistanceTable:
    """Sums from squared distances of some points to all rows."""

    members: Members

    def for_each_block(self, work: Callable[[slice], None], Z: Any) -> None:
        n = int(self.members.Z.shape[0])
        if backends.is_foreign(Z):
            access.for_each_block(work, Z, _DEVICE_TABLES * DOUBLE_BYTES * n)
        else:
            size = max(1, min(_BLOCK_POINTS, _BLOCK_BYTES // (DOUBLE_BYTES * n)))
            run_in_blocks(work, Z.shape[0], size)

    def nearest(self, points: Any, absent: Any) -> Any:
        """Squared distances to the nearest rows of each class, (n_points, n_classes, k)."""
        members = self.members
        squared = self._squared_distances(points, absent)
        return find_nearest_by_class(squared, members.starts, members.n_neighbors)

    def hinges(self, points: Any, absent: Any, margins: Floats) -> tuple[Any, Any, Any]:
        """Nearest distances by class, then impostor and intrusion hinges for each margin."""
        members = self.members
        squared = self._squared_distances(points, absent)
        own = find_nearest_by_class(squared, members.starts, members.n_neighbors)
        pushed = impostor_hinges(squared, own, members.starts, margins)
        nobody = np.full(squared.shape[0], -1) if absent is None else absent
        left_out = backends.move_to(nobody, squared)
        near = members.nearest, members.squared
        intrusions = intrusion_hinges(squared, members.starts, *near, left_out, margins)
        return own, pushed, intrusions

    def _squared_distances(self, points: Any, absent: Integers | None) -> Any:
        """Squared distances (n_points, n) from points to all members, ∞ for rows left out."""
        block, Z = backends.widen(points), self.members.Z
        if sparse_rows.is_sparse(block):
            squared: Any = sparse_rows.sparse_distances(block, Z) ** 2
        else:
            squared = block @ (-2.0 * Z.T)
            squared += squared_lengths(block)[:, None]
            squared += squared_lengths(Z)
            squared = device_math.clip(squared, 0.0)
        if absent is not None:
            squared = device_math.leave_out(squared, backends.move_to(absent, squared))
        return squared


class _FusedSums:
    """As :class:`_DistanceTable`, by Triton's kernels, in memory for the points alone."""

    def __init__(self, members: Members) -> None:
        from nearkin.solvers.triton_kernels import ClassSortedRows

        Z = device_math.to_tensor(members.Z).contiguous()
        self.like = members.Z
        self.rows = ClassSortedRows(
            Z,
            (Z * Z).sum(dim=1),
            device_math.to_tensor(backends.move_to(members.starts, members.Z, "int32")),
            device_math.to_tensor(members.nearest).contiguous(),
            device_math.to_tensor(members.squared).contiguous(),
        )

    def for_each_block(self, work: Callable[[slice], None], Z: Any) -> None:
        c = self.rows.n_classes
        sums = len(FACTORS) * c * (self.rows.n_neighbors + _MORE_SUMS + c)
        access.for_each_block(work, Z, DOUBLE_BYTES * (2 * Z.shape[1] + sums))

    def nearest(self, points: Any, absent: Any) -> Any:
        from nearkin.solvers import triton_kernels

        found = triton_kernels.find_nearest_by_class_triton(*self._to_tensors(points, absent))
        return device_math.from_tensor(found, self.like)

    def hinges(self, points: Any, absent: Any, margins: Floats) -> tuple[Any, Any, Any]:
        from nearkin.solvers import triton_kernels

        block, rows, left_out = self._to_tensors(points, absent)
        own = triton_kernels.find_nearest_by_class_triton(block, rows, left_out)
        there = device_math.to_tensor(backends.move_to(margins, self.like, "float64"))
        given = block, rows, own, left_out, there, absent is not None
        sums = own, *triton_kernels.sum_hinges_triton(*given)
        own, pushed, intrusions = (device_math.from_tensor(part, self.like) for part in sums)
        return own, pushed, intrusions

    def _to_tensors(self, points: Any, absent: Integers | None) -> Any:
        """Points, training rows and numbers of the rows left out, as tensors."""
        nobody = np.full(points.shape[0], -1) if absent is None else absent
        block = device_math.to_tensor(backends.widen(points)).contiguous()
        return block, self.rows, device_math.to_tensor(backends.move_to(nobody, self.like))


# ---- Energies and margins


def gather_members(Z: Any, number: Integers, n_neighbors: int) -> tuple[Members, Integers]:
    """Return rows sorted by class, with their nearest of the same class, and row numbers (n,)."""
    order = np.argsort(number, kind="stable")
    Z, number = backends.widen(access.take(Z, order)), number[order]
    starts = np.concatenate([[0], np.cumsum(np.bincount(number))])
    k = n_neighbors + 1
    if not backends.is_foreign(Z):
        nearest = find_nearest_alike(Z, number, k)
        squared = np.full(nearest.shape, np.inf)
        for place, rows in enumerate(nearest.T):
            known = np.flatnonzero(rows >= 0)
            squared[known, place] = squared_rowwise_distances(Z, Z, known, rows[known])
        return Members(Z, starts, nearest, squared), order
    xp, shape = backends.namespace(Z), (Z.shape[0], k)
    there: Any = xp.full(shape, -1, dtype=xp.int64, device=Z.device)
    apart: Any = xp.full(shape, xp.inf, dtype=Z.dtype, device=Z.device)
    for start, stop in pairwise(starts.tolist()):
        few = min(k, stop - start - 1)
        if few > 0:
            own = Z[start:stop, :]
            near, place = device_math.find_nearest_rows(own, own, few, skip_self=True)
            apart[start:stop, :few] = near
            there[start:stop, :few] = place + start
    return Members(Z, starts, there, apart), order


def class_distances(Z: Any, members: Members, left_out: Integers | None = None) -> Any:
    """Squared distances to the k nearest rows of each class (n_points, n_classes, k), ∞ if missing.

    ``left_out`` (n_points,) is a row that does not count for each point: the point itself.
    """
    shape = (Z.shape[0], members.n_classes, members.n_neighbors)
    return _fill_by_blocks(
        Z, members, left_out, shape, 0, lambda sums, *points: sums.nearest(*points)
    )


def energies(
    Z: Any, members: Members, margins: Floats, push: float, left_out: Integers | None = None
) -> Any:
    """Energy of each point under each label (n_margins, n_points, n_classes), ∞ for empty classes.

    Margins are squared distances and ``push`` is μ; ``left_out`` as in :func:`class_distances`.

    O(n (q + log(C k))) time for each point and margin, with n training rows and C classes, for all
    sums over rows at once. Memory: some tens of megabytes for each core.
    """
    margins = np.asarray(margins, dtype=np.float64)
    shape = (len(margins), Z.shape[0], members.n_classes)

    def of_block(sums: _DistanceTable | _FusedSums, points: Any, absent: Any) -> Any:
        own, pushed, intrusions = sums.hinges(points, absent, margins)
        xp, k = backends.namespace(own), own.shape[2]
        n_own: Any = 0.0
        pulled: Any = 0.0
        for t in range(k):
            there = xp.isfinite(own[:, :, t])
            n_own = n_own + backends.as_type(there, own.dtype)
            pulled = pulled + xp.where(there, own[:, :, t], 0.0)
        scale = k / device_math.clip(n_own, 1.0)
        everywhere: Any = 0.0
        for c in range(own.shape[1]):
            everywhere = everywhere + intrusions[:, :, c]
        energy = (1.0 - push) * scale * pulled + push * scale * pushed
        energy = energy + push * (everywhere[:, :, None] - intrusions)
        return xp.where(n_own > 0, energy, xp.inf)

    return _fill_by_blocks(Z, members, left_out, shape, 1, of_block)


def choose_margin(
    members: Members, push: float, rng: np.random.RandomState
) -> tuple[float, Floats]:
    r"""Choose the margin with the fewest errors on training rows, each left out in turn.

    With :math:`\gamma` the median over rows of the squared distance to the nearest row of another
    class, less that to the nearest of the same, candidates are βγ for the β in ``FACTORS``. Of
    equally good ones the first is taken. Where classes are so mixed that the median is negative, γ
    is the median of the absolute differences. Returns it, and each candidate's share of errors.
    """
    n = members.Z.shape[0]
    judged: Integers = np.arange(n)
    if n > _MOST_JUDGED:
        judged = np.sort(rng.choice(n, _MOST_JUDGED, replace=False))
    number = members.number[judged]
    # Rows that are alone in their classes nothing could get right.
    has_others = np.diff(members.starts)[number] > 1
    judged, number = judged[has_others], number[has_others]
    if len(judged) == 0:
        return 0.0, np.zeros(len(FACTORS))
    Z = access.take(members.Z, judged)
    nearest = backends.to_numpy(class_distances(Z, members, judged)[:, :, 0])
    rows = np.arange(len(judged))
    same = nearest[rows, number]
    nearest = device_math.leave_out(nearest, number)
    gaps = nearest.min(axis=1) - same
    gap = float(np.median(gaps))
    if gap <= 0:
        gap = float(np.median(np.abs(gaps)))
    margins = gap * np.array(FACTORS)
    found = backends.to_numpy(energies(Z, members, margins, push, judged)).argmin(axis=2)
    errors = (found != number).mean(axis=1)
    return float(margins[errors.argmin()]), errors
