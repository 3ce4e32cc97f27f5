r"""Triplets among springs: two lengths that are to keep an order.

For a triplet (a, b, c) of weight w with the lengths :math:`p = \|y_a - y_b\|` and
:math:`r = \|y_a - y_c\|` the stress grows by

.. math::

    w \min_{0 \le s, \; s + m \le t} (p - s)^2 + (r - t)^2 ,

the squared way to lengths that differ by the margin m: :math:`w (p - r + m)^2 / 2` where they do
not, unless s would be below zero. At the current configuration the best (s, t) are rest lengths of
two springs, whose stress lies above this one everywhere and touches it there: the majorisation of
:mod:`nearkin.solvers.stress_majorization`, with rest lengths that are found anew at each step.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.rows.distances import linked_distances
from nearkin.solvers.stress_springs import AnySprings, Springs


def ordered_lengths(near: Floats, far: Floats, margin: float) -> tuple[Floats, Floats]:
    """The nearest lengths, none below zero, of which each second is longer by the margin."""
    miss = np.maximum(near - far + margin, 0)
    short = np.maximum(near - miss / 2, 0)
    return short, np.where(miss > 0, np.maximum(short + margin, far), far)


@dataclass(frozen=True)
class OrderedSprings:
    """Springs, and triplets beside them.

    Attributes
    ----------
    springs : Springs or CompleteSprings
    triplets : int ndarray of shape (t, 3)
        (a, b, c): a is to be nearer to b than to c.
    strength : ndarray of shape (t,)
        w of each.
    margin : float
    """

    springs: AnySprings
    triplets: NDArray[np.integer]
    strength: Floats
    margin: float

    @property
    def n_points(self) -> int:
        """Number of points, with or without springs."""
        return self.springs.n_points

    @property
    def are_few(self) -> bool:
        """Whether springs are stored one by one."""
        return isinstance(self.springs, Springs)

    @property
    def degree(self) -> Floats:
        """Sum of the weights at each point."""
        return np.asarray(self.springs.degree + self._own().sum(axis=1))

    def weight_matrix(self) -> Any:
        """The weights as a sparse symmetric matrix, of springs stored one by one."""
        assert isinstance(self.springs, Springs)
        return sp.csr_array(self.springs.weight_matrix() + self._own())

    def pull(self, Y: Floats) -> tuple[tuple[Any, Floats], float]:
        """Weights of Q(Y), those of the triplets' springs apart, and the stress."""
        others, stress = self.springs.pull(Y)
        lengths = linked_distances(Y, self._ends)
        near, far = np.split(lengths, 2)
        wanted = np.concatenate(ordered_lengths(near, far, self.margin))
        pull = np.divide(wanted, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        weight = np.tile(self.strength, 2)
        return (others, weight * pull), stress + float(weight @ (lengths - wanted) ** 2)

    def force(self, pull: tuple[Any, Floats], Y: Floats) -> Floats:
        """``Q(Y) Y − P Y``, with what ``pull(Y)`` gave."""
        excess = pull[1] - np.tile(self.strength, 2)
        return self.springs.force(pull[0], Y) + self._laplacian_times(excess, Y)

    def times(self, Y: Floats) -> Floats:
        """The product ``P Y`` of the weights' Laplacian with points."""
        return self.springs.times(Y) + self._laplacian_times(np.tile(self.strength, 2), Y)

    def laplacian(self) -> Floats:
        """P as a dense matrix."""
        own = self._own()
        laplacian = self.springs.laplacian() - own.toarray()
        laplacian.flat[:: self.n_points + 1] += own.sum(axis=1)
        return np.asarray(laplacian)

    def reordered(self, order: NDArray[np.integer]) -> OrderedSprings:
        """The same springs with point ``order[i]`` as the i-th, of springs stored one by one."""
        assert isinstance(self.springs, Springs)
        triplets = np.argsort(order)[self.triplets]
        return replace(self, springs=self.springs.reordered(order), triplets=triplets)

    @property
    def _ends(self) -> NDArray[np.integer]:
        """The springs of all nearer points, then those of all farther ones."""
        return np.concatenate([self.triplets[:, [0, 1]], self.triplets[:, [0, 2]]])

    def _own(self) -> Any:
        """The weights of the triplets' springs as a sparse symmetric matrix."""
        i, j = self._ends.T
        rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
        weights = np.tile(self.strength, 4)
        return sp.csr_array((weights, (rows, columns)), shape=(self.n_points, self.n_points))

    def _laplacian_times(self, weight: Floats, Y: Floats) -> Floats:
        i, j = self._ends.T
        moved = weight[:, None] * (Y[i] - Y[j])
        out = np.zeros_like(Y)
        np.add.at(out, i, moved)
        np.subtract.at(out, j, moved)
        return out
