r"""Triplets in a LogDet problem: one distance is to be below another.

Beside the pairs of :mod:`nearkin.solvers.logdet`, triplet t with the differences
:math:`z_t = f_a - f_b` and :math:`v_t = f_a - f_c` and the weight :math:`w_t` adds to the objective

.. math::

    c_t \max\big(0, \; m + z_t^\top B z_t - v_t^\top B v_t\big), \qquad c_t = \gamma w_t / m ,

which is convex in B, and zero where a is nearer to b than to c by the margin m. Its dual variable
:math:`0 \le \mu_t \le c_t` adds :math:`\mu_t (z_t z_t^\top - v_t v_t^\top)` to :math:`B^{-1}` and
:math:`m \mu_t` to g. Along one :math:`\mu_t` the determinant grows by the factor

.. math::

    q(s) = 1 + s (p - r) - s^2 D, \qquad
    p = z^\top B z, \; r = v^\top B v, \; o = z^\top B v, \; D = p r - o^2 \ge 0 ,

and :math:`\log q(s) + m s`, concave where :math:`q > 0`, is largest at the larger root of

.. math::

    m D s^2 + (2 D - m (p - r)) s - (m + p - r) = 0 ,

or at the end of the interval that is nearest to it: a projection in closed form, as for a pair.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.rows.parallel import compiled

# m, as a share of the squared distance that cannot-links are to have. On eight sets of classes a
# tenth of it taught less, with rows and with each kind of kernel; thrice as much, about the same.
MARGIN = 1.0
# No triplet counts more than this many times its margin, even where bounds are strict: distances
# need not be able to follow it.
_MOST = 1e6


@dataclass(frozen=True)
class Triplets:
    """Rows that are to be nearer to one than to another.

    Attributes
    ----------
    rows : int ndarray of shape (t, 3)
        (a, b, c): a is to be nearer to b than to c.
    weight : ndarray of shape (t,)
    """

    rows: NDArray[np.integer]
    weight: Floats


NO_TRIPLETS = Triplets(np.empty((0, 3), dtype=np.int64), np.empty(0))


@dataclass(frozen=True)
class Order:
    """Triplets as differences, in units of the margin's own.

    Attributes
    ----------
    near, far : ndarray of shape (t, r)
        z and v.
    cap : ndarray of shape (t,)
        c, what a triplet costs by its missing.
    """

    near: Floats
    far: Floats
    cap: Floats

    @classmethod
    def of(cls, F: Floats, triplets: Triplets, slack: float) -> Order:
        """Of coordinates in which cannot-links are to be one apart."""
        a, b, c = triplets.rows.T
        cap = np.minimum(slack * np.asarray(triplets.weight, dtype=np.float64), _MOST) / MARGIN
        return cls(F[a] - F[b], F[a] - F[c], cap)

    def along(self, basis: Floats) -> Order:
        """The same, in other coordinates."""
        near, far = np.ascontiguousarray(self.near @ basis), np.ascontiguousarray(self.far @ basis)
        return replace(self, near=near, far=far)

    def precision(self, duals: Floats) -> Any:
        """What dual variables add to the inverse of B."""
        return self.near.T @ (duals[:, None] * self.near) - self.far.T @ (duals[:, None] * self.far)

    def cost(self, B: Floats) -> float:
        """What the triplets add to the objective of B."""
        near = np.einsum("tr,tr->t", self.near @ B, self.near)
        far = np.einsum("tr,tr->t", self.far @ B, self.far)
        return float(self.cap @ np.maximum(MARGIN + near - far, 0))


@compiled()
def sweep_triplets(order: Any, near: Any, far: Any, cap: Any, duals: Any, B: Any) -> None:
    """Project onto one triplet after another; ``duals`` and B change."""
    r = near.shape[1]
    u, v = np.zeros(r), np.zeros(r)
    for t in order:
        p, q, o = 0.0, 0.0, 0.0
        for a in range(r):
            first, second = 0.0, 0.0
            for b in range(r):
                first += B[a, b] * near[t, b]
                second += B[a, b] * far[t, b]
            u[a], v[a] = first, second
            p += first * near[t, a]
            q += second * far[t, a]
            o += first * far[t, a]
        area = max(p * q - o * o, 0.0)
        miss = MARGIN + p - q
        slope = 2.0 * area - MARGIN * (p - q)
        root = np.sqrt(4.0 * area * area + MARGIN**2 * ((p - q) ** 2 + 4.0 * area))
        step = cap[t] - duals[t]
        if slope > 0.0:
            step = min(step, 2.0 * miss / (slope + root))
        elif root - slope < 2.0 * MARGIN * area * step:
            step = (root - slope) / (2.0 * MARGIN * area)
        step = max(step, -duals[t])
        duals[t] += step
        growth = 1.0 + step * (p - q) - step * step * area
        of_u = (step - step * step * q) / growth
        of_v = (step + step * step * p) / growth
        of_both = step * step * o / growth
        for a in range(r):
            for b in range(r):
                B[a, b] -= (
                    of_u * u[a] * u[b] - of_v * v[a] * v[b] + of_both * (u[a] * v[b] + v[a] * u[b])
                )
