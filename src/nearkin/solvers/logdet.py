r"""LogDet projections: the metric nearest to a prior one that obeys bounds on some distances.

For coordinates :math:`f_i`, pairs c with differences :math:`z_c = f_i - f_j`, signs
:math:`\delta_c` (+1 for must-links, −1 for cannot-links), weights :math:`w_c` and targets
:math:`\xi^0_c` (u for must-links, l for cannot-links) the problem is

.. math::

    \min_{B \succ 0, \, \xi > 0} \; D_{ld}(B, B_0) + \gamma \sum_c w_c D_{ld}(\xi_c, \xi^0_c)
    \quad \text{s.t.} \quad \delta_c (z_c^\top B z_c - \xi_c) \le 0 ,

with :math:`D_{ld}(B, B_0) = \mathrm{tr}(B B_0^{-1}) - \log\det(B B_0^{-1}) - r`, for numbers
:math:`\xi/\xi^0 - \log(\xi/\xi^0) - 1`. All distances are squared. It is convex, and with a dual
variable :math:`\lambda_c \ge 0` for each pair its solution is

.. math::

    B^{-1} = B_0^{-1} + \sum_c \delta_c \lambda_c z_c z_c^\top, \qquad
    \frac1{\xi_c} = \frac1{\xi^0_c} - \frac{\delta_c \lambda_c}{\gamma_c},
    \qquad \gamma_c = \gamma w_c ,

where λ maximises the concave function

.. math::

    g(\lambda) = \log\det(B_0 B^{-1}) + \sum_c \gamma_c \log(\xi^0_c / \xi_c) .

A projection maximises g along one :math:`\lambda_c`, in closed form: with
:math:`p = z_c^\top B z_c`

.. math::

    \alpha = \min\Big(\lambda_c, \; \delta_c \frac{\gamma_c}{\gamma_c + 1}
             \Big(\frac1p - \frac1{\xi_c}\Big)\Big), \quad
    \lambda_c \leftarrow \lambda_c - \alpha, \quad
    \frac1{\xi_c} \leftarrow \frac1{\xi_c} + \frac{\delta_c \alpha}{\gamma_c}, \quad
    B \leftarrow B + \frac{\delta_c \alpha}{1 - \delta_c \alpha p} B z_c z_c^\top B .

This γ is that of the authors' own program and of other implementations. The pseudo-code printed in
the paper (:class:`nearkin.ITML`) has :math:`\frac{\delta}{2} (1/p - \gamma/\xi)` instead. For γ = 1
both are the same; for others the printed one brings p to ξ/γ: bounds u/γ and l/γ, a slack of 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from numbers import Real
from typing import Any

import numpy as np
from scipy.linalg import lapack
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from nearkin._types import Floats, Integers
from nearkin.errors import InputError
from nearkin.messages import notice
from nearkin.pairs.pairs import Pairs
from nearkin.rows.parallel import REORDER, compiled, one_blas_thread

# m, as a share of the squared distance that cannot-links are to have. On eight sets of classes a
# tenth of it taught less, with rows and with each kind of kernel; thrice as much, about the same.
MARGIN = 1.0
# No triplet counts more than this many times its margin, even where bounds are strict: distances
# need not be able to follow it. Chosen by hand.
_MOST = 1e6
# Two points are one if they differ by no more than this share of their coordinates, which is
# rounding, or are no farther apart than this share of what cannot-links are to be.
_ROUNDED, _COINCIDE = 1e-13, 1e-6
# Distances beyond this many times those of cannot-links leave the range of numbers.
_BEYOND = 1e60
# Eigenvalues of a prior up to this share of the largest are zero; those far below are refused.
_NULL, _NEGATIVE = 1e-14, -1e-8
# Rounding of the objective, for each row and column and each pair.
_ROUNDING = 1e-14
# Bounds, where none are given: these percentiles of the distances between so many random pairs of
# rows. On sets to tune on they are better than the 5th and 95th, and as good as those that held-out
# pairs choose (benchmarks/few_pairs, constants). Metrics on a graph have others
# (nearkin.learners.geometry_aware).
PERCENTILES = (1, 90)
_RANDOM_PAIRS = 10_000
# The first is at least this share of the second: nearly coinciding rows would ask for too much,
# such as those of one part of a graph. Chosen by hand.
_LEAST_SHARE = 0.03
# Random rows closer than this share of the largest distance coincide. Bounds that differ by no more
# than the second share are equal: must-links are then to halve the distance.
_ONE_ROW, _EQUAL_BOUNDS = 1e-12, 1e-6
# Many triplets compete: the minimum is near long before it is known to be. Chosen by hand.
_TRIPLET_TOL = 1e-4
# A direction of a kernel that grows by more than this while learning runs away. Chosen by hand.
_MOST_GROWTH = 1e4
# Shares are of this at least: an objective may be 0.
_NEVER_ZERO = 1e-300
# What scikit-learn checks of the parameters that these learners share.
BOUNDS_CONSTRAINTS: dict[str, list[Any]] = {
    "slack": [Interval(Real, 0, None, closed="right")],
    "bounds": ["array-like", None],
}


# ---- Triplets


@dataclass(frozen=True)
class Triplets:
    """Rows (t, 3): a is to be nearer to b than to c, and how much each triplet weighs."""

    rows: Integers
    weight: Floats


# For problems that have pairs only.
NO_TRIPLETS = Triplets(np.empty((0, 3), dtype=np.int64), np.empty(0))


@dataclass(frozen=True)
class TripletDifferences:
    """Triplets as differences z and v (t, r), in units of the margin's own."""

    near: Floats
    far: Floats
    cap: Floats  # c (t,), what a triplet costs by its missing

    @classmethod
    def of(cls, F: Floats, triplets: Triplets, slack: float) -> TripletDifferences:
        """Differences of triplets, in coordinates where cannot-links are to be one apart."""
        a, b, c = triplets.rows.T
        cap = np.minimum(slack * np.asarray(triplets.weight, dtype=np.float64), _MOST) / MARGIN
        return cls(F[a] - F[b], F[a] - F[c], cap)

    def along(self, basis: Floats) -> TripletDifferences:
        """Return the same differences in the coordinates of a basis (r, q)."""
        near, far = np.ascontiguousarray(self.near @ basis), np.ascontiguousarray(self.far @ basis)
        return replace(self, near=near, far=far)

    def precision(self, duals: Floats) -> Any:
        """Term that triplets add to the inverse of B, (r, r), for dual variables (t,)."""
        return self.near.T @ (duals[:, None] * self.near) - self.far.T @ (duals[:, None] * self.far)

    def cost(self, B: Floats) -> float:
        """Sum of the triplets' hinges in the objective of B."""
        near = np.einsum("tr,tr->t", self.near @ B, self.near)
        far = np.einsum("tr,tr->t", self.far @ B, self.far)
        return float(self.cap @ np.maximum(MARGIN + near - far, 0))


@compiled()
def sweep_triplets(order: Any, near: Any, far: Any, cap: Any, duals: Any, B: Any) -> None:
    """Project B onto one triplet after another, in the given order; ``duals`` and B change."""
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


@dataclass(frozen=True)
class BoundedPairs:
    """Pairs of rows, and how far apart they are to be: squared distances.

    A slack γ for weights w is the same as a slack γ/a for weights aw. The larger γ, above 0, the
    more the pairs count beside the prior; ``inf`` makes bounds strict, which need not be possible.
    """

    left: Integers
    right: Integers
    sign: Floats  # +1 for must-links, −1 for cannot-links
    weight: Floats  # above 0
    upper: float  # must-links are to be at most so far apart
    lower: float  # and cannot-links at least
    slack: float
    triplets: Triplets = NO_TRIPLETS
    # Each pair's own bound (k,); one that is to be at just one distance is there with both signs.
    targets: Floats | None = None


@dataclass(frozen=True)
class LogDetResult:
    """Result of :func:`project`: B (r, r), dual variables, and what became of the pairs.

    The objective is before the first sweep and after each, with the best ξ for the B of that
    moment. It need not fall at every sweep: the sweeps raise g.
    """

    B: Floats
    duals: Floats  # λ (k,), zero for pairs that hold without being asked to
    slacks: Floats  # ξ (k,), the squared distances that the pairs were allowed in the end
    objective: Floats
    gap: float  # from the last of these to the minimum at most, by duality
    n_sweeps: int
    converged: bool
    n_coincident: int  # pairs of equal points, which were left alone
    triplet_duals: Floats  # μ (t,), like λ


def divergence(B: Floats, B0: Floats) -> float:
    r"""LogDet divergence :math:`\mathrm{tr}(B B_0^{-1}) - \log\det(B B_0^{-1}) - r`."""
    ratio = np.linalg.solve(B0, B)
    return float(np.trace(ratio) - np.linalg.slogdet(ratio)[1] - len(B))


def logdet_objective(
    B: Floats, B0: Floats, slacks: Floats, targets: Floats, slack: float, weight: Floats
) -> float:
    r"""Objective: divergence from the prior, and of slacks from their targets.

    .. math::

        D_{ld}(B, B_0) + \gamma \sum_c w_c
        \Big( \frac{\xi_c}{\xi^0_c} - \log \frac{\xi_c}{\xi^0_c} - 1 \Big)

    with ``slacks`` ξ and ``targets`` ξ⁰ (k,), squared distances, and ``slack`` γ.
    """
    return divergence(B, B0) + float((slack * weight) @ _scalar_divergence(slacks / targets))


def best_slacks(B: Floats, Z: Floats, sign: Floats, targets: Floats) -> Floats:
    """Best slacks ξ (k,) for B: the target where a pair holds, else its squared distance."""
    squared = np.einsum("kr,kr->k", Z @ B, Z)
    return np.where(sign * (squared - targets) > 0, squared, targets)


# Sweeps take most of the time; a second thread for products in between would wait more than work.
@one_blas_thread()
def project(
    F: Floats, pairs: BoundedPairs, B0: Floats, *, max_sweeps: int = 1000, tol: float = 1e-6
) -> LogDetResult:
    """Find the metric nearest to a prior one that obeys bounds on some distances between rows of F.

    B0 may be singular: B is then zero where it is. It stops when the objective is known to be
    within the share ``tol`` of its minimum; of strict bounds, also when none is missed by more.

    O(k q²) time a sweep and O(k q) memory, q the smaller of r, the number of pairs and the number
    of their points less one: B differs from the prior only where differences of pairs reach.

    Each sweep takes the pairs in a new random order, the same at every call. In a fixed order,
    must-links first, the same problem can take thirty times as many sweeps.
    """
    left, right, lower = pairs.left, pairs.right, pairs.lower
    sign = np.asarray(pairs.sign, dtype=np.float64)
    slack = pairs.slack * np.asarray(pairs.weight, dtype=np.float64)
    F = np.asarray(F, dtype=np.float64)
    root = _factor_prior(B0)
    Z = F[left] - F[right]
    size = np.maximum(np.abs(F[left]), np.abs(F[right])).max(axis=1)
    differ = np.abs(Z).max(axis=1) > _ROUNDED * size
    # In units of `lower` and with the identity as prior the numbers below are near one.
    Z = Z @ root / np.sqrt(lower)
    squared = np.einsum("kr,kr->k", Z, Z)
    if squared.max(initial=0.0) > _BEYOND**2:
        raise InputError(
            f"linked rows are up to {np.sqrt(squared.max()):.3g} times as far apart as bounds are "
            f"wide: give bounds, which are distances of X, that are nearer to its own."
        )
    apart = differ & (squared > _COINCIDE**2)
    Z = Z[apart]
    placed = F @ root / np.sqrt(lower) if len(pairs.triplets.rows) else np.empty((0, root.shape[1]))
    triplets = TripletDifferences.of(placed, pairs.triplets, pairs.slack)
    named = np.union1d(left[apart], right[apart])
    named = np.union1d(named, pairs.triplets.rows) if len(placed) else named
    basis = _find_span(np.concatenate([Z, triplets.near, triplets.far]), F[named] @ root)
    if basis is not None:
        Z, triplets = Z @ basis, triplets.along(basis)
    targets = np.where(sign > 0, pairs.upper / lower, 1.0)
    if pairs.targets is not None:
        targets = pairs.targets / lower
    problem = _Problem(np.ascontiguousarray(Z), sign[apart], targets[apart], slack[apart], triplets)
    solved = _solve(problem, max_sweeps, tol)
    C, inner_duals, inverse_slacks, triplet_duals, history, gap, converged = solved

    factor = root if basis is None else root @ basis
    B = factor @ C @ factor.T
    if basis is not None:
        B += root @ root.T - factor @ factor.T
    duals, slacks = np.zeros(len(sign)), targets
    duals[apart], slacks[apart] = inner_duals, 1 / inverse_slacks
    return LogDetResult(
        B=(B + B.T) / 2,
        duals=duals / lower,
        slacks=slacks * lower,
        objective=np.array(history),
        gap=gap,
        n_sweeps=len(history) - 1,
        converged=converged,
        n_coincident=int((~apart).sum()),
        triplet_duals=triplet_duals / lower,
    )


@dataclass(frozen=True)
class _Problem:
    """Pairs and triplets, with the identity as the prior; γ is that of each pair."""

    Z: Floats
    sign: Floats
    targets: Floats
    slack: Floats
    triplets: TripletDifferences

    def metric(self, duals: Floats, of_triplets: Floats) -> tuple[Floats, float]:
        """Metric B for dual variables, and its log-determinant."""
        precision = self.Z.T @ ((self.sign * duals)[:, None] * self.Z)
        if len(of_triplets):
            precision += self.triplets.precision(of_triplets)
        precision.flat[:: len(precision) + 1] += 1
        # Cholesky, then the inverse by it: half the work of a general one, and it must be PD.
        factor, failed = lapack.dpotrf(precision, lower=1)
        if failed:
            raise np.linalg.LinAlgError("B is no longer positive definite")
        B, _ = lapack.dpotri(factor, lower=1)
        B = np.tril(B) + np.tril(B, -1).T
        return np.ascontiguousarray(B), -2 * float(np.log(factor.diagonal()).sum())

    def evaluate(
        self, B: Floats, log_det: float, duals: Floats, inverse_slacks: Floats, of_triplets: Floats
    ) -> tuple[float, float, float]:
        """Objective of B, dual value g, and the largest share by which a bound is missed.

        Strict bounds count as kept in the objective.
        """
        slacks = best_slacks(B, self.Z, self.sign, self.targets)
        missed = float(np.abs(slacks / self.targets - 1).max(initial=0.0))
        primal = float(np.trace(B)) - log_det - len(B) + self.triplets.cost(B)
        ordered = MARGIN * float(of_triplets.sum()) - log_det
        if np.isinf(self.slack).any():
            return primal, ordered - float((self.sign * duals) @ self.targets), missed
        primal += float(self.slack @ _scalar_divergence(slacks / self.targets))
        dual = ordered + float(self.slack @ np.log(self.targets * inverse_slacks))
        return primal, dual, missed


def _solve(
    problem: _Problem, max_sweeps: int, tol: float
) -> tuple[Floats, Floats, Floats, Floats, list[float], float, bool]:
    """Sweep to convergence: B, λ, 1/ξ, μ, objectives at first and after sweeps, gap, converged."""
    k, r = problem.Z.shape
    triplets = problem.triplets
    of_triplets = np.zeros(len(triplets.cap))
    B: Floats = np.eye(r)
    duals, inverse_slacks = np.zeros(k), 1 / problem.targets
    strict = bool(np.isinf(problem.slack).any())
    rounding = _ROUNDING * (r + k + len(of_triplets))
    order = np.random.default_rng(0)
    primal, dual, missed = problem.evaluate(B, 0.0, duals, inverse_slacks, of_triplets)
    history = [primal]

    def done() -> bool:
        kept = not strict or missed <= tol
        return bool(kept and abs(primal - dual) <= tol * abs(primal) + rounding)

    while not done() and len(history) <= max_sweeps:
        before = duals.copy(), inverse_slacks.copy(), of_triplets.copy()
        pairs = problem.Z, problem.sign, 1 / problem.slack
        _sweep(order.permutation(k), *pairs, duals, inverse_slacks, B)
        if len(of_triplets):
            turns = order.permutation(len(of_triplets))
            sweep_triplets(turns, triplets.near, triplets.far, triplets.cap, of_triplets, B)
        # Below zero only by rounding, where a bound has to give way without end.
        np.maximum(inverse_slacks, np.finfo(np.float64).tiny, out=inverse_slacks)
        try:
            # From the dual variables anew: thousands of small updates would add up rounding.
            B, log_det = problem.metric(duals, of_triplets)
        except np.linalg.LinAlgError:  # strict bounds that no metric keeps
            duals, inverse_slacks, of_triplets = before
            B, _ = problem.metric(duals, of_triplets)
            break
        primal, dual, missed = problem.evaluate(B, log_det, duals, inverse_slacks, of_triplets)
        history.append(primal)
    return B, duals, inverse_slacks, of_triplets, history, primal - dual, done()


@compiled(fastmath=REORDER)
def _sweep(
    order: Any, Z: Any, sign: Any, inverse_slack: Any, duals: Any, inverse_slacks: Any, B: Any
) -> None:
    """Project B onto one pair after another; ``duals``, ``inverse_slacks`` (1/ξ) and B change."""
    r = Z.shape[1]
    last, now, step = np.zeros(r), np.zeros(r), 0.0
    for c in order:
        z = Z[c]
        squared = 0.0
        for a in range(r):
            # The update that the last pair is owed, B + step · last lastᵀ, on the way to B z:
            # one pass over B for a pair.
            row, pull, inner = B[a], step * last[a], 0.0
            for b in range(r):
                row[b] += pull * last[b]
                inner += row[b] * z[b]
            now[a] = inner
            squared += inner * z[a]
        share = 1.0 / (1.0 + inverse_slack[c])  # γ / (γ + 1)
        change = sign[c] * share * (1.0 / squared - inverse_slacks[c])
        if change <= duals[c]:
            # 1 − δ α p without cancellation.
            shrink = share * (inverse_slack[c] + squared * inverse_slacks[c])
        else:
            change = duals[c]
            shrink = 1.0 - sign[c] * change * squared
        step = sign[c] * change / shrink
        duals[c] -= change
        inverse_slacks[c] += sign[c] * change * inverse_slack[c]
        last, now = now, last
    for a in range(r):
        pull = step * last[a]
        for b in range(r):
            B[a, b] += pull * last[b]


def _scalar_divergence(ratio: Floats) -> Floats:
    """LogDet divergence of numbers from 1, ``x − log x − 1``."""
    return np.asarray(ratio - np.log(ratio) - 1)


def _factor_prior(B0: Floats) -> Floats:
    """Factor ``B0 = L Lᵀ``, where L has as many columns as B0 has positive eigenvalues."""
    values, vectors = np.linalg.eigh(B0)
    if len(values) == 0 or values[-1] <= 0 or values[0] < _NEGATIVE * values[-1]:
        raise InputError(
            "the prior metric must be positive semi-definite and not zero, but has an eigenvalue "
            f"of {values.min(initial=0.0):.3g}."
        )
    kept = values > _NULL * values[-1]
    return np.asarray(vectors[:, kept] * np.sqrt(values[kept]))


def _find_span(Z: Floats, points: Floats) -> Any:
    """Orthonormal basis (r, q) of a smaller space that holds all differences Z, or None."""
    r = Z.shape[1]
    if min(len(Z), len(points) - 1) >= r:
        return None
    holding = Z if len(Z) < len(points) else points[1:] - points[:1]
    return np.linalg.qr(holding.T)[0]


# ---- Bounds from pairs and data


def bound_pairs(pairs: Pairs, bounds: tuple[float, float], slack: float) -> BoundedPairs:
    """Combine pairs and triplets with two distance bounds, which are not squared here.

    Graded pairs are to be between the two, by their grade: neither nearer nor farther.
    """
    graded, weight = pairs.graded, pairs.graded_weight
    links = np.concatenate([pairs.must_link, pairs.cannot_link, graded, graded])
    upper, lower = bounds
    sizes = [len(pairs.must_link), len(pairs.cannot_link), len(graded), len(graded)]
    targets = None
    if len(graded):
        between = upper + (1 - pairs.grades) * (lower - upper)
        plain = np.repeat([upper, lower], sizes[:2])
        targets = np.concatenate([plain, between, between]) ** 2
    return BoundedPairs(
        left=links[:, 0],
        right=links[:, 1],
        sign=np.repeat([1.0, -1.0, 1.0, -1.0], sizes),
        weight=np.concatenate([pairs.must_weight, pairs.cannot_weight, weight, weight]),
        upper=upper**2,
        lower=lower**2,
        slack=float(slack),
        triplets=Triplets(pairs.closer, pairs.closer_weight),
        targets=targets,
    )


def choose_tolerance(tol: float, pairs: BoundedPairs) -> float:
    """Return the tolerance to stop at: at least 1e-4 with triplets, whose duals converge slowly."""
    return max(tol, _TRIPLET_TOL) if len(pairs.triplets.rows) else tol


def check_distance_bounds(bounds: Any) -> tuple[float, float] | None:
    """Return the learner's parameter ``bounds`` as two floats in the right order, or None."""
    if bounds is None:
        return None
    values = np.asarray(bounds)
    if values.shape != (2,) or values.dtype.kind not in "fiu":
        raise InputError(
            f"bounds={bounds!r} must be two numbers, the largest distance of must-links and the "
            "smallest of cannot-links."
        )
    upper, lower = map(float, values)
    if not 0 < upper < lower < np.inf:
        raise InputError(
            f"bounds={bounds!r}: the largest distance of must-links ({upper:g}) must be above 0 "
            f"and below the smallest of cannot-links ({lower:g}). Give them in this order, as "
            "distances that are not squared."
        )
    return upper, lower


def draw_random_pairs(n_rows: int, rng: np.random.RandomState) -> Integers:
    """Draw random pairs of rows, as an array of shape (2, k)."""
    return np.asarray(rng.randint(n_rows, size=(2, _RANDOM_PAIRS)))


def estimate_bounds(
    F: Floats, ends: Integers, B0: Floats, percentiles: tuple[float, float] = PERCENTILES
) -> tuple[float, float]:
    """Return a small and a large distance between random rows under the prior B0, as bounds.

    ``ends`` (2, k) are the rows of F that make the random pairs. Rows that coincide say nothing and
    are left out. Where all others are equally far apart, must-links are to halve the distance.
    """
    Z = F[ends[0]] - F[ends[1]]
    distances = np.sqrt(np.maximum(np.einsum("kr,kr->k", Z @ B0, Z), 0))
    distances = distances[distances > _ONE_ROW * distances.max()]
    if len(distances) == 0:
        return 0.5, 1.0
    upper, lower = map(float, np.percentile(distances, percentiles))
    if upper >= (1 - _EQUAL_BOUNDS) * lower:
        return lower / 2, lower
    return max(upper, _LEAST_SHARE * lower), lower


def warn_of_rounds(solution: LogDetResult, before: Floats, after: Floats, name: str) -> None:
    """Warn if projecting within a family of kernels did not converge, or a direction ran away.

    ``before`` and ``after`` (r, r) are the family's member at first and at last.
    """
    warn_unless_converged(solution, name)
    growth = float((np.diag(after) / np.diag(before)).max())
    if growth > _MOST_GROWTH:
        notice(
            f"{name}: one direction of the kernel has become {growth:.0e} times as long, and "
            "beside it all others vanish. Must-links alone may let it grow without end: give "
            "cannot-links too, or take fewer rounds (n_iter)."
        )


def warn_unless_converged(solution: LogDetResult, name: str, remedy: str = "Lower slack") -> None:
    """Warn how far the objective may be above its minimum, and how to mend that."""
    if solution.converged:
        return
    short_of = solution.gap / max(abs(solution.objective[-1]), _NEVER_ZERO)
    notice(
        f"{name} did not converge in {solution.n_sweeps} sweeps: the objective may be a share of "
        f"{short_of:.1e} above its minimum. {remedy}; strict bounds (slack=inf) may be impossible "
        "to keep.",
        ConvergenceWarning,
    )
