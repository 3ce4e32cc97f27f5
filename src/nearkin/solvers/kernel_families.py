r"""Families of kernels that follow the data's own shape, and the way to their nearest member.

Geometry-aware metric learning (:class:`nearkin.GeometryAware`) looks for two kernels at once,

.. math::

    \min_{K, M} \; D_{ld}(K, M) + \gamma \sum_c w_c D_{ld}(\xi_c, \xi^0_c),

K within the bounds that pairs set (with slacks ξ, see :mod:`nearkin.solvers.logdet`) and M in a
family. :func:`alternate` fixes one and finds the other. In coordinates F of the family, K = F B Fᵀ
and M = F B₀ Fᵀ: the first step is :func:`nearkin.solvers.logdet.project` with the prior B₀, the
second is what each family brings. Both can only lower the objective.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Generic, Self, TypeVar

import numpy as np
from scipy.linalg import cho_factor, cho_solve, helmert, solve_triangular
from scipy.optimize import minimize, minimize_scalar
from sklearn.isotonic import isotonic_regression

from nearkin._types import Floats, Mask
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import draw_of_each_kind
from nearkin.rows.parallel import one_blas_thread
from nearkin.solvers.logdet import (
    BoundedPairs,
    LogDetResult,
    bound_pairs,
    choose_tolerance,
    divergence,
    estimate_bounds,
    project,
)

# Weights of a spectral kernel exceed this share of the largest, lest M be singular. By hand.
_LEAST_WEIGHT = 1e-12
# Roughness up to this share of all is rounding. With penalties up to this many times the kernel's
# own precision, what rounding leaves below zero cannot show.
_ROUNDING = 1e-10
_MOST_PENALTY = 1e4
# Added to the diagonal of an rbf kernel matrix: duplicated points make it singular. Chosen by hand.
_RIDGE = 1e-6
# Widths that are tried first, and how far one may move in a step and how well it is then found, as
# factors of gamma. Chosen by hand.
_WIDTHS = tuple(10 ** np.linspace(-2, 0.75, 8))
_WIDTH_STEP, _WIDTH_TOL = 10.0, 1e-3
# Projections for each width that is tried, and for the best one; and how well the first converge:
# they only tell widths apart. Chosen by hand.
_TRIAL_PROJECTIONS, _LAST_PROJECTIONS = 6, 10
_TRIAL_TOL, _TRIAL_SWEEP_TOL = 1e-2, 1e-4
# Pairs of each kind that the width is judged by, at most. Chosen by hand, to bound the time.
_WIDTH_PAIRS = 300
# What the width is judged by: a kernel that wide, and bounds at these percentiles of its distances.
# Chosen by hand in benchmarks/papers/lu2009_geometry_aware.
_WIDE = 0.03
_WIDE_PERCENTILES = (1, 99)
_WIDE_SLACK = 0.3


@dataclass(frozen=True)
class SpectralFamily:
    r"""Kernels :math:`V \operatorname{diag}(\alpha) V^\top` with decreasing weights.

    Without anything that is to be far apart, the kernel that meets all bounds best is zero: then
    only its shape may be learned, at a fixed product of the weights. The constant function, of
    which distances know nothing, is in neither product nor order.
    """

    coordinates: Floats  # V (n, r), orthonormal columns, the smoothest first
    weights: Floats  # α (r,)
    keeps_size: bool = False  # whether their product stays

    @property
    def prior(self) -> Floats:
        """B₀ (r, r) of this member: the diagonal matrix of the weights."""
        return np.diag(self.weights)

    def nearest_to(self, B: Floats) -> Self:
        r"""Return the member whose weights are the diagonal of B, made decreasing.

        At a fixed product :math:`\sum_i b_i / \alpha_i` is all that counts, and its minimiser is
        the same up to a factor: with μ the multiplier of :math:`\sum_i \log \alpha_i`, pooled
        neighbours have :math:`\alpha = \bar b / \mu`.
        """
        if not self.keeps_size:
            return replace(self, weights=order_weights(np.diag(B)))
        weights, some = np.diag(B).copy(), self._varying_columns
        ordered = order_weights(weights[some])
        weights[some] = ordered * np.exp(np.log(self.weights[some] / ordered).mean())
        return replace(self, weights=weights)

    @cached_property
    def _varying_columns(self) -> Mask:
        """Mask of the columns that are not constant: weights of the others change no distance."""
        lengths = np.sqrt((self.coordinates**2).mean(axis=0))
        found: Mask = self.coordinates.std(axis=0) > _ROUNDING * lengths
        return found if found.any() else ~found


def order_weights(diagonal: Floats) -> Floats:
    r"""Find decreasing weights whose diagonal matrix is nearest to one with this diagonal.

    .. math::

        \min_\alpha \sum_i \frac{b_i}{\alpha_i} + \log \alpha_i
        \quad \text{s.t.} \quad \alpha_1 \ge \alpha_2 \ge \dots \ge 0

    As for every Bregman divergence, neighbours out of order are pooled to their mean: isotonic
    regression finds in O(r) where the paper's cyclic projections lead.
    """
    weights = isotonic_regression(diagonal, increasing=False)
    return np.asarray(np.maximum(weights, _LEAST_WEIGHT * weights[0]))


@dataclass(frozen=True)
class DataDependentFamily:
    r"""Kernels :math:`M^{-1} = S^{-1} + T` that penalise what is rough on a graph.

    :math:`T = \sum_i \theta_i v_i v_i^\top`, with increasing θ for smooth to rough functions
    :math:`v_1, v_2, \dots`; whatever is orthogonal to all of them counts as rough as the last, or
    many times as rough. In coordinates Φ (n, p) of S, that is for :math:`S = \Phi \Phi^\top`, the
    member is :math:`B_0 = (I + \Phi^\top T \Phi)^{-1}`, for known and new points alike. With
    increments :math:`\delta_j = \theta_j - \theta_{j-1} \ge 0` (r,) and ``roughness`` R (r, p, p),

    .. math::

        \Phi^\top T \Phi = \sum_j \delta_j R_j, \qquad
        R_j = \Phi^\top \Big(I - \sum_{i < j} v_i v_i^\top\Big) \Phi .

    The paper orders θ the other way (eq. 5). Then smooth functions would be penalised most, and the
    limit of a weak S would not be the spectral family, as the paper says it is.
    """

    coordinates: Floats
    roughness: Floats
    increments: Floats

    @classmethod
    def on_graph(
        cls, coordinates: Floats, eigenvalues: Floats, eigenvectors: Floats, beyond: float = 1.0
    ) -> Self:
        """Return the member whose penalty is a graph's, scaled to weigh as much as S.

        ``beyond`` is how many times as rough as the last eigenvector all other functions are to
        count. Above 1 they have an increment of their own.
        """
        along = coordinates.T @ eigenvectors
        left = coordinates.T @ coordinates
        roughness = np.empty((len(eigenvalues), *left.shape))
        all_of_it = np.trace(left)
        for j, direction in enumerate(along.T):
            # What is left in the end, where there are fewer directions than functions, is rounding.
            roughness[j] = left if np.trace(left) > _ROUNDING * all_of_it else 0.0
            left = left - np.outer(direction, direction)
        increments = np.diff(eigenvalues, prepend=0.0)
        size = np.trace(np.tensordot(increments, roughness, 1)) / len(left)
        if size > 0:  # something is rough
            increments = increments / size
        if beyond > 1 and np.trace(left) > _ROUNDING * all_of_it:
            roughness = np.concatenate([roughness, left[None]])
            increments = np.append(increments, (beyond - 1) * increments.sum())
        return cls(coordinates, roughness, increments)

    @property
    def prior(self) -> Floats:
        """B₀ (p, p) of this member: the inverse of the identity plus the penalty."""
        inverse = np.linalg.inv(self._precision(self.increments))
        return np.asarray((inverse + inverse.T) / 2)

    def nearest_to(self, B: Floats) -> Self:
        """Return the member of least divergence, by a convex problem: M⁻¹ is linear in δ."""
        # In units that make each R_j of the size of the identity, δ is of the order of one.
        sizes = np.trace(self.roughness, axis1=1, axis2=2) / self.roughness.shape[1]
        units = 1 / np.where(sizes > 0, sizes, 1.0)
        of_B = np.einsum("jab,ab->j", self.roughness, B)

        def value_and_slope(scaled: Floats) -> tuple[float, Floats]:
            """Divergence and its gradient in scaled increments."""
            increments = scaled * units
            factor = cho_factor(self._precision(increments), lower=True)
            inverse = cho_solve(factor, np.eye(len(B)))
            slope = of_B - np.einsum("jab,ab->j", self.roughness, inverse)
            log_det = 2 * float(np.log(np.diag(factor[0])).sum())
            return float(increments @ of_B) - log_det, slope * units

        start = self.increments / units
        bounds = [(0, _MOST_PENALTY)] * len(start)
        found = minimize(value_and_slope, start, jac=True, bounds=bounds, method="L-BFGS-B")
        better = found.fun <= value_and_slope(start)[0]
        return replace(self, increments=np.asarray(found.x * units)) if better else self

    def _precision(self, increments: Floats) -> Floats:
        """Inverse of the prior (p, p) for given increments."""
        precision = np.tensordot(increments, self.roughness, 1)
        precision.flat[:: len(precision) + 1] += 1
        return np.asarray((precision + precision.T) / 2)


# Each has coordinates F (n, r), the prior B₀ (r, r) of this member with the kernel M = F B₀ Fᵀ, and
# finds the member M of least divergence of a kernel F B Fᵀ from it.
SomeFamily = TypeVar("SomeFamily", SpectralFamily, DataDependentFamily, "RbfFamily")


@dataclass(frozen=True)
class Alternated(Generic[SomeFamily]):
    """Result of :func:`alternate`: the member that the last projection started from, and that."""

    family: SomeFamily
    solution: LogDetResult
    # After every half step, the first a projection; it rises by their tolerance at most.
    objective: Floats
    converged: bool


@one_blas_thread()
def alternate(
    family: SomeFamily,
    pairs: BoundedPairs,
    *,
    n_iter: int,
    tol: float = 1e-3,
    sweep_tol: float = 1e-7,
) -> Alternated[SomeFamily]:
    """Project onto the pairs' bounds and move within the family, in turn.

    At most ``n_iter`` projections; it stops before that when a full step lowers the objective by no
    more than the share ``tol``. Projections stop at ``sweep_tol``.
    """

    def project_from(family: SomeFamily) -> LogDetResult:
        tol = choose_tolerance(sweep_tol, pairs)
        return project(family.coordinates, pairs, family.prior, tol=tol)

    solution = project_from(family)
    history = [float(solution.objective[-1])]
    converged = False
    while len(history) < 2 * n_iter - 1 and not converged:
        start = history[-1]
        moved = family.nearest_to(solution.B)
        history.append(start - _measure_gain(family, moved, solution.B))
        family, solution = moved, project_from(moved)
        history.append(float(solution.objective[-1]))
        converged = start - history[-1] <= tol * abs(start)
    return Alternated(family, solution, np.array(history), converged)


def _measure_gain(family: SomeFamily, moved: SomeFamily, B: Floats) -> float:
    """By how much the divergence of a fixed K falls when M moves to another member."""
    before, after = family.coordinates, moved.coordinates
    B_moved = B
    if before is not after:
        change = np.linalg.lstsq(after, before, rcond=None)[0]
        B_moved = change @ B @ change.T
    return divergence(B, family.prior) - divergence(B_moved, moved.prior)


# ---- Rbf kernels of unknown width


@dataclass(frozen=True)
class RbfFamily:
    r"""Kernels :math:`\alpha \exp(-\gamma \|x - y\|^2)` of unknown width and size.

    Distances know nothing of a kernel's mean, so all is done in the space of centred functions, of
    m − 1 dimensions. O(m³) time for each width that is tried.
    """

    squared: Floats  # (m, m), squared distances between the points
    gamma: float
    size: float = 1.0  # α
    moves: bool = True  # whether nearest_to looks for another γ too

    @cached_property
    def coordinates(self) -> Floats:
        """Centred feature vectors of the points, (m, m − 1)."""
        return np.asarray(self._centred.T @ self._factor(self.gamma))

    @property
    def prior(self) -> Floats:
        """B₀ (m − 1, m − 1) of this member: a multiple of the identity."""
        return np.asarray(self.size * np.eye(len(self.squared) - 1))

    def nearest_to(self, B: Floats) -> Self:
        """Return the member of best width, by a line search, and of best size for that width."""
        if not self.moves:
            return replace(self, size=float(np.trace(B)) / len(B))
        factor = self._factor(self.gamma)
        K = factor @ B @ factor.T
        r = len(K)

        def best_size(gamma: float) -> tuple[float, Floats]:
            """Best size for a width, and the factor of its kernel."""
            other = self._factor(gamma)
            half = solve_triangular(other, K, lower=True)
            ratio = solve_triangular(other, half.T, lower=True)
            return float(np.trace(ratio)) / r, other

        def distance(log_gamma: float) -> float:
            """Divergence at a width, but for a constant."""
            size, other = best_size(float(np.exp(log_gamma)))
            return float(r * np.log(size) + 2 * np.log(np.diag(other)).sum())

        here, reach = float(np.log(self.gamma)), float(np.log(_WIDTH_STEP))
        ends = here - reach, here + reach
        found = minimize_scalar(
            distance, bounds=ends, method="bounded", options={"xatol": _WIDTH_TOL}
        )
        gamma = float(np.exp(found.x)) if found.fun <= distance(here) else self.gamma
        return replace(self, gamma=gamma, size=best_size(gamma)[0])

    def coefficients(self, components: Floats) -> Floats:
        """C (m, q) such that kernel values against the points, times C, embed any row.

        ``components`` (q, m − 1) lead from :attr:`coordinates` to the embedding. At the points it
        is that of their coordinates, but for a shift and the ridge.
        """
        factor = self._factor(self.gamma)
        solved = solve_triangular(factor, components.T, lower=True, trans="T")
        return np.asarray(self._centred.T @ solved)

    @cached_property
    def _centred(self) -> Floats:
        """Orthonormal rows (m − 1, m) that span the centred functions."""
        return np.asarray(helmert(len(self.squared)))

    def _factor(self, gamma: float) -> Floats:
        """Cholesky factor (m − 1, m − 1) of the centred kernel matrix of a width."""
        inner = self._centred @ np.exp(-gamma * self.squared) @ self._centred.T
        inner.flat[:: len(inner) + 1] += _RIDGE
        return np.asarray(np.linalg.cholesky((inner + inner.T) / 2))


@one_blas_thread()
def learn_width(squared: Floats, gamma: float, pairs: BoundedPairs) -> Alternated[RbfFamily]:
    """Learn the width of an rbf kernel on m points from bounded pairs.

    The problem is not convex in the width: alternation starts at the one with the least objective
    of eight around ``gamma``, which is about one over the mean of ``squared``.
    """
    families = (RbfFamily(squared, gamma * ratio, moves=False) for ratio in _WIDTHS)
    tols = {"tol": _TRIAL_TOL, "sweep_tol": _TRIAL_SWEEP_TOL}
    tried = [alternate(one, pairs, n_iter=_TRIAL_PROJECTIONS, **tols) for one in families]
    best = min(tried, key=lambda found: float(found.objective[-1])).family
    return alternate(replace(best, moves=True), pairs, n_iter=_LAST_PROJECTIONS)


def learn_width_for_pairs(
    squared: Floats, gamma: float, links: Pairs, rng: np.random.RandomState
) -> Alternated[RbfFamily]:
    """Learn the width of an rbf kernel by :func:`learn_width` from pairs without bounds.

    Bounds are the 1st and 99th percentile of a wide kernel's distances, which tell widths apart. At
    most 300 pairs of each kind are drawn.
    """
    wide = RbfFamily(squared, _WIDE * gamma)
    ends = np.triu_indices(len(squared), 1)
    asked = estimate_bounds(wide.coordinates, np.array(ends), wide.prior, _WIDE_PERCENTILES)
    judges = draw_of_each_kind(links, _WIDTH_PAIRS, rng)
    return learn_width(squared, gamma, bound_pairs(judges, asked, _WIDE_SLACK))
