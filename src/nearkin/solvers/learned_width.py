"""The rbf kernel that suits some pairs: a family of kernels of unknown width."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import helmert, solve_triangular
from scipy.optimize import minimize_scalar

from nearkin._types import Floats
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import some_of_each_kind
from nearkin.rows.parallel import one_blas_thread
from nearkin.solvers.distance_bounds import bounded_pairs, random_bounds
from nearkin.solvers.kernel_families import Alternated, alternate
from nearkin.solvers.logdet import BoundedPairs

# Added to the diagonal of an rbf kernel matrix: duplicated points make it singular.
_RIDGE = 1e-6
# Widths that are tried first, and how far one may move in a step, as factors of gamma.
_WIDTHS = tuple(10 ** np.linspace(-2, 0.75, 8))
_WIDTH_STEP = 10.0
# Pairs of each kind that it is judged by, at most.
_WIDTH_PAIRS = 300
# What the width is judged by: a kernel that wide, and bounds at these percentiles of its distances.
_WIDE = 0.03
_WIDE_PERCENTILES = (1, 99)
_WIDE_SLACK = 0.3


@dataclass(frozen=True)
class RbfFamily:
    r"""Kernels :math:`\alpha \exp(-\gamma \|x - y\|^2)` of unknown width and size.

    Attributes
    ----------
    squared : ndarray of shape (m, m)
        Squared distances between the points.
    gamma, size : float
        γ and α.
    moves : bool
        Whether :meth:`nearest_to` looks for another γ too.

    Notes
    -----
    Distances know nothing of a kernel's mean, so all is done in the space of centred functions,
    of m − 1 dimensions. O(m³) time for each width that is tried.
    """

    squared: Floats
    gamma: float
    size: float = 1.0
    moves: bool = True

    @cached_property
    def coordinates(self) -> Floats:
        """Centred feature vectors of the points."""
        return np.asarray(self._centred.T @ self._factor(self.gamma))

    @property
    def prior(self) -> Floats:
        """A multiple of the identity."""
        return np.asarray(self.size * np.eye(len(self.squared) - 1))

    def nearest_to(self, B: Floats) -> Self:
        """The best size is a closed form, which leaves one variable."""
        if not self.moves:
            return replace(self, size=float(np.trace(B)) / len(B))
        factor = self._factor(self.gamma)
        K = factor @ B @ factor.T
        r = len(K)

        def best_size(gamma: float) -> tuple[float, Floats]:
            other = self._factor(gamma)
            half = solve_triangular(other, K, lower=True)
            ratio = solve_triangular(other, half.T, lower=True)
            return float(np.trace(ratio)) / r, other

        def distance(log_gamma: float) -> float:
            size, other = best_size(float(np.exp(log_gamma)))
            return float(r * np.log(size) + 2 * np.log(np.diag(other)).sum())

        here = float(np.log(self.gamma))
        reach = float(np.log(_WIDTH_STEP))
        found = minimize_scalar(
            distance, bounds=(here - reach, here + reach), method="bounded", options={"xatol": 1e-3}
        )
        gamma = float(np.exp(found.x)) if found.fun <= distance(here) else self.gamma
        return replace(self, gamma=gamma, size=best_size(gamma)[0])

    def coefficients(self, components: Floats) -> Floats:
        """C such that kernel values against the points, times C, embed any row.

        Parameters
        ----------
        components : ndarray of shape (q, m − 1)
            From :attr:`coordinates` to the embedding.

        Returns
        -------
        ndarray of shape (m, q)
            At the points the embedding is that of their coordinates, but for a shift and the
            ridge.
        """
        factor = self._factor(self.gamma)
        return np.asarray(
            self._centred.T @ solve_triangular(factor, components.T, lower=True, trans="T")
        )

    @cached_property
    def _centred(self) -> Floats:
        """Orthonormal rows that span the centred functions."""
        return np.asarray(helmert(len(self.squared)))

    def _factor(self, gamma: float) -> Floats:
        inner = self._centred @ np.exp(-gamma * self.squared) @ self._centred.T
        inner.flat[:: len(inner) + 1] += _RIDGE
        return np.asarray(np.linalg.cholesky((inner + inner.T) / 2))


@one_blas_thread()
def learn_width(squared: Floats, gamma: float, pairs: BoundedPairs) -> Alternated[RbfFamily]:
    """The rbf kernel that comes nearest to what pairs ask for.

    The problem is not convex in the width: of many widths the one with the least objective is
    where alternation starts.

    Parameters
    ----------
    squared : ndarray of shape (m, m)
        Squared distances between the points.
    gamma : float
        One over their mean or so: widths around it are tried.
    pairs : BoundedPairs
        Among the points.
    """
    tried = [
        alternate(
            RbfFamily(squared, gamma * ratio, moves=False),
            pairs,
            n_iter=6,
            tol=1e-2,
            sweep_tol=1e-4,
        )
        for ratio in _WIDTHS
    ]
    best = min(tried, key=lambda found: float(found.objective[-1])).family
    return alternate(replace(best, moves=True), pairs, n_iter=10)


def width_for_pairs(
    squared: Floats, gamma: float, links: Pairs, rng: np.random.RandomState
) -> Alternated[RbfFamily]:
    """Learn the width of an rbf kernel that suits some pairs, see :func:`learn_width`.

    A wide kernel's distances are those of the rows themselves. Bounds at their ends ask for much,
    which tells widths apart.

    Parameters
    ----------
    squared : ndarray of shape (n, n)
        Squared distances.
    gamma : float
        Where to start.
    links : Pairs
        Of these rows; 300 of each kind are judged by, at most.
    rng : RandomState
        Draws these.
    """
    wide = RbfFamily(squared, _WIDE * gamma)
    ends = np.triu_indices(len(squared), 1)
    asked = random_bounds(wide.coordinates, np.array(ends), wide.prior, _WIDE_PERCENTILES)
    judges = some_of_each_kind(links, _WIDTH_PAIRS, rng)
    return learn_width(squared, gamma, bounded_pairs(judges, asked, _WIDE_SLACK))
