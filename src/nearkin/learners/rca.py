"""Relevant component analysis: undo the variation that must-links show to be irrelevant."""

from __future__ import annotations

from typing import Any, ClassVar, Literal, cast

import numpy as np
from sklearn.base import BaseEstimator

from nearkin._types import Floats, Integers, Rng
from nearkin.errors import InputError
from nearkin.learners.base import MetricMixin, stored_learner
from nearkin.learners.parameters import Share, UsualParameters, with_parameters
from nearkin.learners.teachable import find_axes, find_columns_along
from nearkin.pairs.closure import find_chunklets
from nearkin.pairs.supervision import Evidence
from nearkin.rows import access, backends
from nearkin.rows.distances import class_sums, mean_row, within_scatters
from nearkin.rows.sparse import is_sparse, project_along
from nearkin.spaces.linalg import fix_signs, leading_components
from nearkin.spaces.maps import Affine
from nearkin.storage.schema import floats, real

# Variances below this share of the largest are zero by rounding: dropped without shrinkage.
_NO_VARIANCE = 1e-10


def within_chunklet_covariance(X: Floats, chunklet: Integers) -> Floats:
    r"""Pooled covariance (d, d) of rows around the mean of their chunklet, a group of linked rows.

    .. math:: C = \frac1p \sum_j \sum_{i \in j} (x_i - m_j)(x_i - m_j)^\top
    """
    _, first, number = np.unique(chunklet, return_index=True, return_inverse=True)
    # Of arrays as large as X there are two, since new memory takes longer than what is done there.
    centered = X[first[number]]
    np.subtract(X, centered, out=centered)  # equal rows of a chunklet now differ by exactly zero
    counts = np.bincount(number)
    in_order = centered[np.argsort(number, kind="stable")]
    means = np.add.reduceat(in_order, np.cumsum(counts) - counts) / counts[:, None]
    centered -= np.take(means, number, axis=0, out=in_order, mode="clip")
    return cast("Floats", centered.T @ centered / len(X))


def sum_chunklet_covariance(X: Any, rows: Integers, chunklet: Integers) -> Floats:
    """Compute :func:`within_chunklet_covariance` of rows on devices or in files, in two passes.

    ``rows`` are the numbers of the rows in chunklets, ``chunklet`` the chunklet of each.
    """
    number = np.full(X.shape[0], -1)
    number[rows] = np.unique(chunklet, return_inverse=True)[1]
    counts = np.bincount(number[rows])[:, None]
    # Around the first row of each: equal rows of a chunklet differ by exactly zero.
    first = rows[np.unique(chunklet, return_index=True)[1]]
    origins = backends.widen(access.take_to_host(X, first))
    means = origins + class_sums(X, number, len(counts), origins=origins)[0] / counts
    weight = np.full((len(counts), 1), 1 / len(rows))
    return np.asarray(within_scatters(X, number, means, weight)[0])


def whitening(covariance: Floats, shrinkage: float) -> Floats:
    """Matrix L with ``L ((1−s) C + s v I) Lᵀ = I``, v the mean variance of C.

    Rows are in order of increasing variance in C: the most relevant first. With ``s = 0``
    directions without any variance in C are left out (pseudo-inverse): nothing is known about them,
    and their weight would be infinite.
    """
    values, vectors = np.linalg.eigh(covariance)
    values = np.maximum(values, 0)
    mean_variance = values.mean()
    if mean_variance == 0:  # linked rows coincide: no direction is worse than another
        return np.eye(len(covariance))
    kept = (
        values > _NO_VARIANCE * values[-1] if shrinkage == 0 else np.ones(len(values), dtype=bool)
    )
    shrunk = (1 - shrinkage) * values[kept] + shrinkage * mean_variance
    return cast("Floats", (fix_signs(vectors[:, kept]) / np.sqrt(shrunk)).T)


@stored_learner(components_=floats("q d"), mean_=floats("d"), shrinkage_=real)
@with_parameters
class RCA(MetricMixin, UsualParameters, BaseEstimator):
    """Relevant component analysis, a linear metric from must-links.

    Rows joined by must-links form chunklets. The metric is the inverse of the covariance within
    chunklets: directions in which linked rows vary count less. Labelled rows of one class are one
    chunklet. Cannot-links are not used.

    Parameters
    ----------
    shrinkage : "auto" or float in [0, 1], default="auto"
        How far the covariance is shrunk towards a multiple of the identity, that is the metric
        towards the Euclidean one. With ``"auto"`` it is ``d / (d + k)`` for d columns and k
        independent must-links: the fewer links, the less they are trusted. 0 is the method as
        published; directions without any variation within chunklets are dropped then.
    n_components
        As in :class:`ITML`.
    scale, random_state
        As in :class:`Euclidean`.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, d)
        ``transform`` multiplies centred rows with its transpose.
    mean_ : ndarray of shape (d,)
    shrinkage_ : float
    map_, n_components_, column_scale_, learned_from_, n_features_in_, feature_names_in_
        As in :class:`Euclidean`; other attributes are of the divided columns.

    References
    ----------
    A. Bar-Hillel, T. Hertz, N. Shental, D. Weinshall. Learning a Mahalanobis metric from
    equivalence constraints. Journal of Machine Learning Research 6, 2005.

    Notes
    -----
    With ``n_components``, the axes are those of Fisher's discriminant on chunklets, which the paper
    shows to keep most information.

    O(p d² + d³) time for p linked rows, O(d²) memory; with ``n_components`` O(n d²) time for all n
    rows. Fewer links than columns is the normal case and needs no care. Very many columns are seen
    along axes: see :meth:`fit`.

    Examples
    --------
    >>> from nearkin import RCA, Pairs
    >>> from nearkin.datasets import make_three_normal
    >>> X, y = make_three_normal(random_state=0)
    >>> pairs = Pairs.from_labels(y, 30, kind="must", random_state=0)
    >>> metric = RCA(random_state=0).fit(X, pairs=pairs)
    >>> metric.score(X, y) > 0.75
    True
    """

    _array_api: ClassVar[bool] = True
    _remote: ClassVar[bool] = True
    _sparse: ClassVar[bool] = True

    shrinkage: Literal["auto"] | Share = "auto"

    def _learn_from(self, X: Any, evidence: Evidence, rng: Rng) -> None:
        """Whiten the covariance within chunklets."""
        rows, chunklet = find_chunklets(evidence.pairs.must_link, evidence.classes)
        n_links = len(rows) - chunklet.max(initial=-1) - 1
        if n_links == 0:
            raise InputError(
                "RCA learns from rows that are alike, but no two are: give must-links, or labels "
                "with two rows of one class. n_samples=1 in every class is not enough."
            )
        covariance = axes = None
        of_all: Floats | None = None
        if backends.is_remote(X) or backends.is_foreign(X):
            mean, of_all = access.moments(X)
            if evidence.classes is None:
                linked = backends.widen(access.take_to_host(X, rows))
            else:  # perhaps all rows
                covariance = sum_chunklet_covariance(X, rows, chunklet)
        else:
            mean = mean_row(X)
            axes = find_axes(X, mean, rng)
            if is_sparse(X):
                linked = project_along(X[rows], axes)
            else:
                linked = X[rows].astype(np.float64, copy=False)
                linked = linked if axes is None else (linked - mean) @ axes.T
        if covariance is None:
            covariance = within_chunklet_covariance(linked, chunklet)
        if isinstance(self.shrinkage, str):  # "auto"
            shrinkage = len(covariance) / (len(covariance) + n_links)
        else:
            shrinkage = float(self.shrinkage)
        components: Floats = whitening(covariance, shrinkage)
        if self.n_components is not None:
            if of_all is None:
                of_all = find_columns_along(X, mean, axes).covariance
            kept = min(self.n_components, len(components))
            components = leading_components(components.T @ components, of_all, kept)
        if axes is not None:
            components = components @ axes
        self.components_ = components
        self.mean_ = mean
        self.shrinkage_ = shrinkage
        self.n_components_ = len(components)
        self._keep(Affine(components, mean), X, evidence, rng)
