"""Sums over all training rows that energies are made of, wherever the rows are.

From a table of squared distances for some points at a time, on the host and on devices; or by
kernels that need no table, where there are any (:mod:`nearkin.solvers.triton_energy`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from nearkin._types import Floats, Integers
from nearkin.rows import access, backends, device_math
from nearkin.rows import sparse as sparse_rows
from nearkin.rows.distances import squared_lengths
from nearkin.rows.parallel import for_each_block
from nearkin.solvers.hinge_sums import impostor_hinges, intrusion_hinges, nearest_by_class

# Working memory of a block of points.
_BLOCK_BYTES = 32 * 2**20


@dataclass(frozen=True)
class Members:
    """Training rows in order of their class, with what their neighbourhoods are.

    Attributes
    ----------
    Z : array or sparse matrix of shape (n, q), in float64
    starts : int ndarray of shape (n_classes + 1,)
        Rows of class c are ``Z[starts[c]:starts[c + 1]]``.
    nearest : int array of shape (n, k + 1)
        Nearest other rows of the class, −1 where there are none; one more than is needed, so that
        any of them can be left out.
    squared : array of shape (n, k + 1)
        Their squared distances.
    """

    Z: Any
    starts: Integers
    nearest: Any
    squared: Any

    def beside(self, X: Any) -> Members:
        """The same where other rows are."""
        arrays = (backends.beside(one, X) for one in (self.Z, self.nearest, self.squared))
        Z, nearest, squared = arrays
        return Members(Z, self.starts, nearest, squared)

    def __getstate__(self) -> dict[str, Any]:
        # Devices differ from machine to machine.
        return {name: backends.at_home(value) for name, value in vars(self).items()}

    @property
    def n_neighbors(self) -> int:
        """Number k of neighbours that count."""
        return int(self.nearest.shape[1]) - 1

    @property
    def number(self) -> Integers:
        """Class of each row."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    @property
    def n_classes(self) -> int:
        """Number of classes."""
        return len(self.starts) - 1


class Sums(Protocol):
    """Where sums come from."""

    def for_each_block(self, work: Callable[[slice], None], Z: Any) -> None:
        """Call ``work`` on every block of points."""

    def nearest(self, points: Any, absent: Any) -> Any:
        """Squared distances to the nearest rows of each class, (n_points, n_classes, k)."""

    def hinges(self, points: Any, absent: Any, margins: Floats) -> tuple[Any, Any, Any]:
        """The same, and hinges of impostors and of intrusions, (n_margins, n_points, n_classes)."""


def sums_of(Z: Any, members: Members, found: Callable[[Sums], Any]) -> Any:
    """What a function makes of sums: by kernels if they can be, or else by a table."""
    if backends.is_foreign(Z) and device_math.usable(backends.wide(Z), "float64"):
        from nearkin.solvers.triton_energy import MOST_CLASSES, MOST_NEIGHBORS

        few = len(members.starts) - 1 <= MOST_CLASSES and members.n_neighbors <= MOST_NEIGHBORS
        if few:
            by_kernels = device_math.attempted(Z, lambda: found(_Kernels(members)))
            if by_kernels is not None:
                return by_kernels
    return found(_Table(members))


@dataclass(frozen=True)
class _Table:
    """Sums from squared distances of some points to all rows."""

    members: Members

    def for_each_block(self, work: Callable[[slice], None], Z: Any) -> None:
        n = int(self.members.Z.shape[0])
        if backends.is_foreign(Z):
            access.for_each_block(work, Z, 64 * n)
        else:
            for_each_block(work, Z.shape[0], max(1, min(256, _BLOCK_BYTES // (8 * n))))

    def nearest(self, points: Any, absent: Any) -> Any:
        members = self.members
        squared = self._squared_distances(points, absent)
        return nearest_by_class(squared, members.starts, members.n_neighbors)

    def hinges(self, points: Any, absent: Any, margins: Floats) -> tuple[Any, Any, Any]:
        members = self.members
        squared = self._squared_distances(points, absent)
        own = nearest_by_class(squared, members.starts, members.n_neighbors)
        pushed = impostor_hinges(squared, own, members.starts, margins)
        nobody = np.full(squared.shape[0], -1) if absent is None else absent
        intrusions = intrusion_hinges(
            squared,
            members.starts,
            members.nearest,
            members.squared,
            backends.moved(nobody, squared),
            margins,
        )
        return own, pushed, intrusions

    def _squared_distances(self, points: Any, absent: Integers | None) -> Any:
        """From some points to all members, with ∞ for what is left out."""
        block, Z = backends.wide(points), self.members.Z
        if sparse_rows.is_sparse(block):
            squared: Any = sparse_rows.distances(block, Z) ** 2
        else:
            squared = block @ (-2.0 * Z.T)
            squared += squared_lengths(block)[:, None]
            squared += squared_lengths(Z)
            squared = device_math.clipped(squared, 0.0)
        if absent is not None:
            squared = device_math.left_out(squared, backends.moved(absent, squared))
        return squared


class _Kernels:
    """Sums by kernels, in memory for the points alone."""

    def __init__(self, members: Members) -> None:
        from nearkin.solvers.triton_energy import Rows

        Z = device_math.tensor(members.Z).contiguous()
        self.like = members.Z
        self.rows = Rows(
            Z,
            (Z * Z).sum(dim=1),
            device_math.tensor(backends.moved(members.starts, members.Z, "int32")),
            device_math.tensor(members.nearest).contiguous(),
            device_math.tensor(members.squared).contiguous(),
        )

    def for_each_block(self, work: Callable[[slice], None], Z: Any) -> None:
        c = self.rows.n_classes
        columns = 2 * Z.shape[1] + 8 * c * (self.rows.n_neighbors + 4 + c)
        access.for_each_block(work, Z, 8 * columns)

    def nearest(self, points: Any, absent: Any) -> Any:
        from nearkin.solvers import triton_energy

        found = triton_energy.nearest_by_class(*self._given(points, absent))
        return device_math.as_given(found, self.like)

    def hinges(self, points: Any, absent: Any, margins: Floats) -> tuple[Any, Any, Any]:
        from nearkin.solvers import triton_energy

        block, rows, left_out = self._given(points, absent)
        own = triton_energy.nearest_by_class(block, rows, left_out)
        there = device_math.tensor(backends.moved(margins, self.like, "float64"))
        sums = triton_energy.hinges(block, rows, own, left_out, there, absent is not None)
        own, pushed, intrusions = (device_math.as_given(part, self.like) for part in (own, *sums))
        return own, pushed, intrusions

    def _given(self, points: Any, absent: Integers | None) -> Any:
        nobody = np.full(points.shape[0], -1) if absent is None else absent
        block = device_math.tensor(backends.wide(points)).contiguous()
        return block, self.rows, device_math.tensor(backends.moved(nobody, self.like))
