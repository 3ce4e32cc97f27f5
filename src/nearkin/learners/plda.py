"""PLDA: probabilistic linear discriminant analysis, from pairs."""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigh
from sklearn.base import BaseEstimator

from nearkin._types import Floats, Rng
from nearkin.learners.base import stored_learner
from nearkin.learners.fit_steps import Coordinates, Learned, Taught, to_host_float64
from nearkin.learners.parameters import Positive, with_parameters
from nearkin.learners.teachable import (
    KEPT,
    LinearInKernelMixin,
    map_by_metric,
    shrink_to_identity,
)
from nearkin.pairs.supervision import draw_example_pairs

# The share of variance that is within classes, where nothing is known: neither more nor less.
_USUAL_SHARE = 0.5
# A direction in which classes do not differ keeps this weight; and none has more than that of so
# large a share of variance between classes, which is a weight of 500. Both keep the metric finite
# and of full rank; chosen by hand.
_LEAST_WEIGHT, _MOST_BETWEEN = 1e-4, 0.999


def discriminant_metric(within: Floats, total: Floats) -> Floats:
    r"""Metric (r, r) whose distances tell, as log-odds, whether two rows are of one class.

    Rows are the sum of a mean of their class and of a rest, both normal. Along axes in which all
    rows have variance 1 and means of classes :math:`b`, the log-odds that x and y are of one class
    are

    .. math::

        -\frac12 \sum_j \frac{b_j}{1 - b_j^2} (x_j - y_j)^2
        + \frac12 \sum_j \frac{b_j}{1 + b_j} (x_j^2 + y_j^2) + \text{const},

    of which the first part, without the half, is the squared distance, and the second says that
    rows far from the mean of all rather are of one class at the same distance: as it is if rows are
    divided by their lengths (Ioffe 2006). ``within`` and ``total`` are the covariances of rows
    about the mean of their class, and of all rows.
    """
    shares, axes = eigh(within, total)
    between = np.clip(1 - shares, 0, _MOST_BETWEEN)
    weights = np.maximum(between / (1 - between**2), _LEAST_WEIGHT)
    return np.asarray((axes * weights) @ axes.T)


@stored_learner(**KEPT)
@with_parameters
class PLDA(LinearInKernelMixin, BaseEstimator):
    """Probabilistic linear discriminant analysis, a linear metric in closed form.

    Differences of must-linked rows tell how rows of one class vary; how all rows vary is seen
    without pairs. Directions count by how much more means of classes vary than rows about them,
    and then the direction of a row from the mean of all, not its length. Cannot-links are not used.
    The same is done in the feature space of a kernel if there is one.

    Parameters
    ----------
    prior_pairs : float or None, default=None
        Strength of the prior, as a number of imaginary must-links for which half of all variance
        is within classes. The default is the number of columns.
    kernel, n_components, scale, random_state
        As in :class:`ITML`.
    n_landmarks, landmarks, gamma, degree, coef0, n_neighbors, extension, rank_tol
        The feature space of a kernel, as in :class:`KernelBeta`; ``rank_tol=None`` is 0.001.

    Attributes
    ----------
    components_, mean_, landmarks_, eigenvalues_, gamma_
        As in :class:`ITML`, but that rows are divided by their lengths after all.
    map_, n_components_, column_scale_, learned_from_, n_features_in_, feature_names_in_
        As in :class:`Euclidean`; other attributes are of the divided columns.

    References
    ----------
    S. Ioffe. Probabilistic linear discriminant analysis. ECCV 2006.

    Notes
    -----
    :func:`discriminant_metric` is the method. Labels act through pairs drawn from them. Without
    must-links nothing is learned: the distance is that of the directions of rows as they are.
    O((n + k) d² + d³) time for n rows and k must-links, and O((n + k) d) memory. Beyond 1000
    columns, d is the number of axes that rows are seen along (:mod:`nearkin.rows.sparse`).

    Examples
    --------
    >>> from nearkin import PLDA, Pairs
    >>> from nearkin.datasets import make_three_normal
    >>> X, y = make_three_normal(random_state=0)
    >>> pairs = Pairs.from_labels(y, 30, kind="must", random_state=0)
    >>> metric = PLDA(random_state=0).fit(X, pairs=pairs)
    >>> metric.score(X, y) > 0.7
    True
    """

    prior_pairs: Positive | None = None

    def _learn(self, taught: Taught, coordinates: Coordinates, rng: Rng) -> Learned:
        """Estimate the covariance within classes from must-links, beside imagined ones."""
        links = draw_example_pairs(taught.evidence, rng)
        total = shrink_to_identity(taught.space.covariance, taught.n_rows)
        if not len(links.must_link) or not total.any():
            return map_by_metric(self, taught, np.eye(len(total)), unit_length=True)
        F, links = to_host_float64(coordinates(links.points)), links.restrict(links.points)
        differences = F[links.must_link[:, 0]] - F[links.must_link[:, 1]]
        given = float(links.must_weight.sum())
        imagined = float(len(total) if self.prior_pairs is None else self.prior_pairs)
        scatter = (links.must_weight[:, None] * differences).T @ differences / 2
        within = (scatter + imagined * _USUAL_SHARE * total) / (given + imagined)
        metric = discriminant_metric(within, total)
        return map_by_metric(self, taught, metric, unit_length=True)
