"""GMML: the metric halfway between what must-links and what cannot-links ask for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigvalsh
from sklearn.base import BaseEstimator

from nearkin._types import Floats, Integers, Rng
from nearkin.learners.base import stored_learner
from nearkin.learners.fit_steps import Coordinates, Learned, Taught
from nearkin.learners.parameters import Positive, Share, with_parameters
from nearkin.learners.teachable import (
    KEPT,
    LinearInKernelMixin,
    LinearSpace,
    map_by_metric,
    shrink_to_identity,
)
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence
from nearkin.rows.distances import class_sums, within_scatters


def geometric_mean_objective(A: Floats, S: Floats, D: Floats, balance: float = 0.5) -> float:
    r"""Weighted squared geodesic distances of A from the inverse of S and from D.

    .. math::

        \min_{A \succ 0} \; (1 - t) \, \delta^2(A, S^{-1}) + t \, \delta^2(A, D), \qquad
        \delta(P, Q) = \lVert \log P^{-1/2} Q P^{-1/2} \rVert_F

    with S and D the mean outer products of the differences of must-linked and of cannot-linked
    rows (Zadeh et al. 2016). At t = ½ the minimum is also that of
    :math:`\operatorname{tr} A S + \operatorname{tr} A^{-1} D`: must-linked rows near each other
    under the metric, cannot-linked rows under its inverse. ``balance`` is t.
    """

    def squared_distance(P: Floats, Q: Floats) -> float:
        return float((np.log(eigvalsh(Q, P)) ** 2).sum())

    to_must = squared_distance(A, np.linalg.inv(S))
    return (1 - balance) * to_must + balance * squared_distance(A, D)


def best_metric(S: Floats, D: Floats, balance: float = 0.5) -> Floats:
    r"""The minimum of :func:`geometric_mean_objective`, on the geodesic from :math:`S^{-1}` to D.

    .. math:: A = S^{-1} \sharp_t D = S^{-1/2} (S^{1/2} D S^{1/2})^t S^{-1/2}

    At t = ½ it is the geometric mean, which solves :math:`A S A = D`. Eigenvalues that are zero up
    to rounding are raised to its size.

    By singular values of roots of S and D, not eigenvalues of a product of the two, whose condition
    would be the square. O(r³) time.
    """
    values_of_S, vectors_of_S = _positive_eigenpairs(S)
    values_of_D, vectors_of_D = _positive_eigenpairs(D)
    root_of_S, root_of_D = np.sqrt(values_of_S), np.sqrt(values_of_D)
    axes, stretch, _ = np.linalg.svd((vectors_of_S * root_of_S).T @ (vectors_of_D * root_of_D))
    half = (vectors_of_S / root_of_S) @ axes * stretch**balance
    return np.asarray(half @ half.T)


def _positive_eigenpairs(matrix: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues, raised to at least the rounding error, and eigenvectors."""
    values, vectors = np.linalg.eigh(matrix)
    floor = len(matrix) * np.finfo(np.float64).eps * values[-1]
    return np.maximum(values, floor), vectors


@dataclass(frozen=True)
class Scatter:
    """Weighted sum of outer products of pairs' differences, of shape (r, r), and its weight."""

    total: Floats
    weight: float

    def __add__(self, other: Scatter) -> Scatter:
        return Scatter(self.total + other.total, self.weight + other.weight)

    def mean_with_prior(self, random_scatter: Floats, prior_pairs: float) -> Floats:
        """Mean outer product of these pairs and of ``prior_pairs`` imagined random pairs."""
        total = self.total + prior_pairs * random_scatter
        return np.asarray(total / (self.weight + prior_pairs))


def label_scatter(
    X: Any, classes: Integers, coordinates: Callable[[Any], Any] = lambda rows: rows
) -> tuple[Scatter, Scatter]:
    """Scatters of all pairs that labels imply: of the same class, and of different classes.

    Either weighs as much as there are labels, or nothing where there is no such pair. Classes are
    negative where unknown; ``coordinates`` maps blocks of rows. The formulas are those of
    :mod:`nearkin.pairs.supervision`, for outer products instead of squares: O(n r²) time.
    """
    known = classes >= 0
    n = int(known.sum())
    number = np.full(len(classes), -1)
    _, number[known], counts = np.unique(classes[known], return_inverse=True, return_counts=True)
    sums, _ = class_sums(X, number, len(counts), coordinates)
    means = sums / counts[:, None]
    weight = np.column_stack([counts, n - counts]).astype(np.float64)
    same, different = within_scatters(X, number, means, weight, coordinates)
    between = means - sums.sum(axis=0) / n
    different = different + n * (counts * between.T) @ between

    def scale_to_labels(total: Floats, n_pairs: float) -> Scatter:
        """Scatter of ``n_pairs`` pairs, scaled to weigh as much as there are labels."""
        return Scatter(total * n / n_pairs, n) if n_pairs else Scatter(np.zeros_like(total), 0)

    n_same = float((counts * (counts - 1.0)).sum() / 2)
    n_different = n * (n - 1) / 2 - n_same
    return scale_to_labels(same, n_same), scale_to_labels(different, n_different)


@stored_learner(**KEPT)
@with_parameters
class GMML(LinearInKernelMixin, BaseEstimator):
    """Geometric mean metric learning, a linear metric in closed form.

    Must-linked rows ask for the inverse of their spread as a metric, cannot-linked rows for their
    spread. The metric is the geometric mean of the two. The same is done in the feature space of
    a kernel if there is one.

    Parameters
    ----------
    balance : float in [0, 1], default=0.5
        t: position between the metric of must-links alone (0) and of cannot-links alone (1).
    prior_pairs : float, default=1
        Strength of the prior, as a number of imaginary pairs of either kind that look like random
        pairs. If it is much larger than the number of pairs, the metric is Euclidean at a balance
        of 0.5.
    kernel, n_components, scale, random_state
        As in :class:`ITML`.
    n_landmarks, landmarks, gamma, degree, coef0, n_neighbors, extension, rank_tol
        The feature space of a kernel, as in :class:`KernelBeta`; ``rank_tol=None`` is 0.001.

    Attributes
    ----------
    components_, mean_, landmarks_, eigenvalues_, gamma_
        As in :class:`ITML`.
    map_, n_components_, column_scale_, learned_from_, n_features_in_, feature_names_in_
        As in :class:`Euclidean`; other attributes are of the divided columns.

    References
    ----------
    P. H. Zadeh, R. Hosseini, S. Sra. Geometric mean metric learning. ICML 2016.

    Notes
    -----
    :func:`best_metric` is the method. Differences from the paper: pairs have weights, and where it
    adds a multiple of a prior to both spreads, imagined pairs are added here whose spread is that
    of random pairs, twice the (slightly shrunk) covariance. What pairs show is thus compared with
    chance, and few are enough. A kind of pair that is not given is random. Spreads are measured in
    units of the mean variance, so that distances grow with the data for any balance.

    Labels stand for all pairs that they imply, by their exact sums; of either kind these weigh
    together as much as there are labelled rows.

    O((n + k) d² + d³) time for n rows and k pairs, and O((n + k) d) memory. Beyond 1000 columns, d
    is the number of axes that rows are seen along (:mod:`nearkin.rows.sparse`).

    Examples
    --------
    >>> from nearkin import GMML, Pairs
    >>> from nearkin.datasets import make_three_normal
    >>> X, y = make_three_normal(random_state=0)
    >>> pairs = Pairs.from_labels(y, 30, random_state=0)
    >>> metric = GMML(random_state=0).fit(X, pairs=pairs)
    >>> metric.score(X, y) > 0.7  # 0.62 by the Euclidean distance
    True
    """

    balance: Share = 0.5
    prior_pairs: Positive = 1

    def _prepare_space(
        self, space: LinearSpace, evidence: Evidence, X: Any, rng: Rng
    ) -> tuple[Scatter, Scatter]:
        """Scatters of the pairs that labels imply, of the same and of different classes."""
        if evidence.classes is None or not evidence.has_labels:
            nothing = Scatter(np.zeros_like(space.covariance), 0.0)
            return nothing, nothing
        return label_scatter(X, evidence.classes, space.coordinates)

    def _learn(self, taught: Taught, coordinates: Coordinates, rng: Rng) -> Learned:
        """Take the geometric mean of the metrics that must-links and cannot-links ask for."""
        random_scatter = 2 * shrink_to_identity(taught.space.covariance, taught.n_rows)
        unit = np.trace(random_scatter) / len(random_scatter)
        if unit == 0:
            return map_by_metric(self, taught, np.eye(len(random_scatter)))
        both = zip(pair_scatters(taught.evidence.pairs, coordinates), taught.prepared, strict=True)
        S, D = (
            (listed + implied).mean_with_prior(random_scatter, float(self.prior_pairs)) / unit
            for listed, implied in both
        )
        return map_by_metric(self, taught, best_metric(S, D, float(self.balance)))


def pair_scatters(pairs: Pairs, coordinates: Coordinates) -> tuple[Scatter, Scatter]:
    """Scatters of the listed must-links and of the listed cannot-links."""
    F, known = coordinates(pairs.points), pairs.restrict(pairs.points)

    def scatter(links: Integers, weight: Floats) -> Scatter:
        Z = F[links[:, 0]] - F[links[:, 1]]
        return Scatter((weight * Z.T) @ Z, float(weight.sum()))

    return (
        scatter(known.must_link, known.must_weight),
        scatter(known.cannot_link, known.cannot_weight),
    )
