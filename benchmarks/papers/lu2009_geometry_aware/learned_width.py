r"""The rbf kernel of eq. (6) as published: width and size learned with the metric, in turn.

Step A is ITML from the kernel matrix of the labelled rows, Step B

.. math::

    \min_{\alpha, \gamma} D_{ld}(K, M), \qquad
    M_{ij} = \alpha \exp(-\gamma \|x_i - x_j\|^2), \quad \gamma = 1 / 2 \sigma^2,

which the paper leaves to Matlab's ``fminsearch``: the simplex method of Nelder and Mead, from where
the last step ended. Kernel matrices are not centred. ``nearkin``'s own family is: it takes the best
size in closed form, tries eight widths before the first step, and judges them by other bounds.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Self

import numpy as np
from scipy.linalg import solve_triangular
from scipy.optimize import minimize
from sklearn.metrics import euclidean_distances

from benchmarks.papers.lu2009_geometry_aware.splits import Rows, root
from nearkin.pairs.supervision import draw_example_pairs, gather_evidence
from nearkin.solvers.kernel_families import alternate
from nearkin.solvers.logdet import bound_pairs, estimate_bounds

# As the spectral family of Figure 3, which are the library's.
SLACK = 0.5
N_ITER = 20
# Rows that coincide make a kernel matrix singular.
_RIDGE = 1e-6


@dataclass(frozen=True)
class PublishedWidth:
    """All kernels of eq. (6), at one of them; see :class:`nearkin.solvers.kernel_families.Family`.

    Attributes
    ----------
    squared : ndarray of shape (m, m)
        Squared distances.
    gamma, size : float
        γ and α.
    """

    squared: Rows
    gamma: float
    size: float = 1.0

    @cached_property
    def coordinates(self) -> Rows:
        return self._factor(self.gamma)

    @property
    def prior(self) -> Rows:
        return self.size * np.eye(len(self.squared))

    def nearest_to(self, B: Rows) -> Self:
        """Step B."""
        K = self.coordinates @ B @ self.coordinates.T

        def divergence(logarithms: Rows) -> float:
            """But for what does not depend on M."""
            size, gamma = np.exp(logarithms)
            factor = self._factor(float(gamma))
            half = solve_triangular(factor, K, lower=True)
            ratio = solve_triangular(factor, half.T, lower=True)
            log_det = len(K) * np.log(size) + 2 * np.log(np.diag(factor)).sum()
            return float(np.trace(ratio) / size + log_det)

        start = np.log([self.size, self.gamma])
        size, gamma = np.exp(minimize(divergence, start, method="Nelder-Mead").x)
        return replace(self, size=float(size), gamma=float(gamma))

    def coordinates_of(self, squared: Rows) -> Rows:
        """Of rows by their squared distances from the points, in the span of the points.

        What is beyond the span is equally far from all points and does not change their order.
        """
        values = np.exp(-self.gamma * squared)
        return np.asarray(solve_triangular(self.coordinates, values.T, lower=True).T)

    def _factor(self, gamma: float) -> Rows:
        M = np.exp(-gamma * self.squared)
        M.flat[:: len(M) + 1] += _RIDGE
        return np.asarray(np.linalg.cholesky(M))


@dataclass(frozen=True)
class Learned:
    """A metric on rows by way of the labelled ones.

    Attributes
    ----------
    points : ndarray of shape (m, d)
    family : PublishedWidth
    components : ndarray of shape (m, m)
        From the family's coordinates to the embedding.
    """

    points: Rows
    family: PublishedWidth
    components: Rows

    def transform(self, X: Rows) -> Rows:
        squared = euclidean_distances(X, self.points, squared=True)
        return np.asarray(self.family.coordinates_of(squared) @ self.components)


def learned_width(X: Rows, y: Rows, n_iter: int = N_ITER) -> Learned:
    """Alternate from the width of the mean squared distance; one round is ITML at that width."""
    squared = euclidean_distances(X, squared=True)
    ends = np.array(np.triu_indices(len(X), 1))
    family = PublishedWidth(squared, 1 / float(squared[tuple(ends)].mean()))
    links = draw_example_pairs(gather_evidence(len(X), y), np.random.RandomState(0))
    bounds = estimate_bounds(family.coordinates, ends, family.prior)
    found = alternate(family, bound_pairs(links, bounds, SLACK), n_iter=n_iter)
    return Learned(X, found.family, root(found.solution.B))
