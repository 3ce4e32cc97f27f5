"""How far apart linked rows are to be, as learners with a LogDet objective take it."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval

from nearkin._types import Floats
from nearkin.errors import InputError
from nearkin.messages import notice
from nearkin.pairs.pairs import Pairs
from nearkin.solvers.logdet import BoundedPairs, LogDetResult
from nearkin.solvers.logdet_triplets import Triplets

# Bounds, where none are given: these percentiles of the distances between random rows.
PERCENTILES = (1, 90)
_RANDOM_PAIRS = 10_000
# The first is at least this share of the second: nearly coinciding rows would ask for too much.
_LEAST_SHARE = 0.03

# Many triplets compete: the objective is near its minimum long before it is known to be nearer.
_TRIPLET_TOL = 1e-4

# A direction of a kernel that grows by more than this in rounds of learning runs away.
_MOST_GROWTH = 1e4

# What scikit-learn checks of the parameters that these learners share.
BOUNDS_CONSTRAINTS: dict[str, list[Any]] = {
    "slack": [Interval(Real, 0, None, closed="right")],
    "bounds": ["array-like", None],
}


def bounded_pairs(pairs: Pairs, bounds: tuple[float, float], slack: float) -> BoundedPairs:
    """Pairs with bounds on their distances, which are not squared here, and triplets."""
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    upper, lower = bounds
    return BoundedPairs(
        left=links[:, 0],
        right=links[:, 1],
        sign=np.repeat([1.0, -1.0], [len(pairs.must_link), len(pairs.cannot_link)]),
        weight=np.concatenate([pairs.must_weight, pairs.cannot_weight]),
        upper=upper**2,
        lower=lower**2,
        slack=float(slack),
        triplets=Triplets(pairs.closer, pairs.closer_weight),
    )


def reachable(tol: float, pairs: BoundedPairs) -> float:
    """The tolerance to stop at: with triplets, whose dual variables rest slowly, at least 1e-4."""
    return max(tol, _TRIPLET_TOL) if len(pairs.triplets.rows) else tol


def checked_bounds(bounds: Any) -> tuple[float, float] | None:
    """The learner's parameter ``bounds``: None, or two distances in the right order."""
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


def random_ends(n_rows: int, rng: np.random.RandomState) -> NDArray[np.integer]:
    """Random pairs of rows, as an array of shape (2, k)."""
    return np.asarray(rng.randint(n_rows, size=(2, _RANDOM_PAIRS)))


def random_bounds(
    F: Floats,
    ends: NDArray[np.integer],
    B0: Floats,
    percentiles: tuple[float, float] = PERCENTILES,
) -> tuple[float, float]:
    """Bounds on distances: a small and a large one between random rows, under the prior.

    Rows that coincide say nothing and are left out. Where all others are equally far apart,
    must-links are to halve the distance.

    Parameters
    ----------
    F : ndarray of shape (n, r)
        Coordinates.
    ends : int ndarray of shape (2, k)
        Rows of F that make the random pairs.
    B0 : ndarray of shape (r, r)
        The prior metric.
    percentiles : (float, float)
    """
    Z = F[ends[0]] - F[ends[1]]
    distances = np.sqrt(np.maximum(np.einsum("kr,kr->k", Z @ B0, Z), 0))
    distances = distances[distances > 1e-12 * distances.max()]
    if len(distances) == 0:
        return 0.5, 1.0
    upper, lower = map(float, np.percentile(distances, percentiles))
    if upper >= (1 - 1e-6) * lower:
        return lower / 2, lower
    return max(upper, _LEAST_SHARE * lower), lower


def warn_of_rounds(solution: LogDetResult, before: Floats, after: Floats, name: str) -> None:
    """Say what is wrong after rounds of projecting and moving within a family of kernels.

    Parameters
    ----------
    solution : LogDetResult
        Of the last round.
    before, after : ndarray of shape (r, r)
        The family's member at first and at last.
    name : str
        Of the learner.
    """
    warn_unless_converged(solution, name)
    growth = float((np.diag(after) / np.diag(before)).max())
    if growth > _MOST_GROWTH:
        notice(
            f"{name}: one direction of the kernel has become {growth:.0e} times as long, and "
            "beside it all others vanish. Must-links alone may let it grow without end: give "
            "cannot-links too, or take fewer rounds (n_iter).",
        )


def warn_unless_converged(solution: LogDetResult, name: str, remedy: str = "Lower slack") -> None:
    """Say how far from its minimum the objective may be, and what would help."""
    if solution.converged:
        return
    short_of = solution.gap / max(abs(solution.objective[-1]), 1e-300)
    notice(
        f"{name} did not converge in {solution.n_sweeps} sweeps: the objective may be a share of "
        f"{short_of:.1e} above its minimum. {remedy}; strict bounds (slack=inf) may be impossible "
        "to keep.",
        ConvergenceWarning,
    )
