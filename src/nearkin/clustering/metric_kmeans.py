"""MetricKMeans: clusters teach a metric, in which clusters are found anew."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, ClusterMixin, _fit_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import rand_score
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats, Integers
from nearkin.errors import InputError
from nearkin.learners.base import WholeState, replace_state
from nearkin.messages import notice
from nearkin.pairs.closure import number_by_appearance
from nearkin.rows import validation
from nearkin.rows.distances import centre, middle, squared_distances
from nearkin.rows.parallel import one_blas_thread
from nearkin.rows.scaling import column_scales, divide_columns, warn_of_units
from nearkin.solvers.class_gaussians import fit_class_models
from nearkin.solvers.local_metrics import mean_local_metric

# Sums of squares that differ by no more than this share are equal.
_ROUNDING = 1e-9


def learn_from_clusters(
    X: Floats, labels: Integers, regularization: str | float, interpolation: float
) -> Floats:
    """Learn L (d, d) of the mean generative local metric LᵀL, with clusters as classes."""
    models = fit_class_models(X, labels, regularization=regularization)
    values, vectors = np.linalg.eigh(mean_local_metric(X, models, interpolation=interpolation))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


def _cluster_again(
    Z: Floats, labels: Integers, n_restarts: int, rng: np.random.RandomState
) -> Integers:
    """Labels (n,) by k-means started from the given clusters, or the best of ``n_restarts`` others.

    The latter are numbered in the order of their first rows, so that equal ones are recognised.
    """
    start = np.array([Z[labels == c].mean(axis=0) for c in np.unique(labels)])
    found = KMeans(len(start), init=start, n_init=1, random_state=rng).fit(Z)
    if n_restarts:
        other = KMeans(len(start), n_init=n_restarts, random_state=rng).fit(Z)
        if other.inertia_ < (1 - _ROUNDING) * found.inertia_:
            return number_by_appearance(other.labels_)
    return np.asarray(found.labels_)


class MetricKMeans(WholeState, ClusterMixin, BaseEstimator):
    """K-means that learns its metric from its own clusters.

    Clusters of k-means, taken for classes, give a generative metric, and k-means in that metric
    gives other clusters, until they no longer change.

    Parameters
    ----------
    n_clusters : int, default=8
    regularization : "auto" or float in [0, 1], default="auto"
        Share of the identity in the clusters' covariances, see
        :func:`nearkin.solvers.class_gaussians.fit_class_models`.
    interpolation : float in [0, 1], default=0.5
        Share of the identity in the local metrics. 1 is plain k-means.
    max_iter : int, default=20
        Most rounds of learning the metric.
    n_init : int, default=10
        Starts of the first k-means.
    n_restarts : int, default=0
        Starts of every later k-means beside that from the clusters at hand; the best counts. Those
        of the paper gained nothing on fourteen data sets.
    scale : bool, default=False
        Divide columns by their spreads first, so that all have equal weight in the first k-means.
        Without it there is a :class:`ScaleWarning` where units differ by more than 100.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : int ndarray of shape (n,)
        Cluster of each row.
    components_ : ndarray of shape (d, d)
        Rows times its transpose have Euclidean distances in the learned metric.
    cluster_centers_ : ndarray of shape (n_clusters, d)
        In the columns of X. There are fewer where rows that differ are too few for ``n_clusters``,
        of which there is a warning; no other cluster is ever empty.
    n_iter_ : int
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X has column names.

    References
    ----------
    Y. Shi, Y.-K. Noh, F. Sha, D. D. Lee. Learning discriminative metrics via generative models
    and kernel learning. arXiv 1109.3940, 2011, appendix D.

    Notes
    -----
    A metric learned from wrong clusters confirms them: it helps on some data and hurts on others.
    Where a few classes are known, scikit-learn's ``GridSearchCV`` can choose ``regularization`` and
    ``interpolation`` by :meth:`score`. Should rounds run in a circle, they end.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from nearkin import MetricKMeans
    >>> X, y = load_iris(return_X_y=True)
    >>> clusters = MetricKMeans(3, random_state=0).fit(X)
    >>> clusters.score(X, y) > 0.88 and bool((clusters.predict(X) == clusters.labels_).all())
    True
    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        regularization: str | float = "auto",
        interpolation: float = 0.5,
        max_iter: int = 20,
        n_init: int = 10,
        n_restarts: int = 0,
        scale: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.regularization = regularization
        self.interpolation = interpolation
        self.max_iter = max_iter
        self.n_init = n_init
        self.n_restarts = n_restarts
        self.scale = scale
        self.random_state = random_state

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "regularization": [StrOptions({"auto"}), Interval(Real, 0, 1, closed="both")],
        "interpolation": [Interval(Real, 0, 1, closed="both")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "n_restarts": [Interval(Integral, 0, None, closed="left")],
        "scale": ["boolean"],
        "random_state": ["random_state"],
    }

    @replace_state
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None) -> Self:
        """Find clusters and their metric.

        Parameters
        ----------
        X : array of shape (n, d)
        y : ignored

        Returns
        -------
        self
        """
        X = validation.validate_rows(self, X, reset=True)
        if len(X) < self.n_clusters:
            raise InputError(f"n_samples={len(X)} should be >= n_clusters={self.n_clusters}.")
        if self.scale:
            column_scale = column_scales(X)
            X = divide_columns(X, column_scale)
        else:
            column_scale = np.ones(X.shape[1])
            remedy = "Use MetricKMeans(scale=True, ...), which divides columns by their spread."
            warn_of_units(self, X, remedy)
        origin = middle(X)
        X = centre(X, origin)
        rng = check_random_state(self.random_state)
        with one_blas_thread():
            first = KMeans(self.n_clusters, n_init=self.n_init, random_state=rng).fit(X)
        labels = first.labels_
        components: Floats = np.eye(X.shape[1])
        seen = {labels.tobytes()}
        n_iter, settled = 0, self.n_clusters == 1
        while n_iter < self.max_iter and not settled:
            found = np.unique(labels, return_inverse=True)[1]
            components = learn_from_clusters(X, found, self.regularization, self.interpolation)
            Z = X @ components.T.astype(X.dtype)
            with one_blas_thread():
                labels = _cluster_again(Z, labels, self.n_restarts, rng)
            n_iter += 1
            settled = labels.tobytes() in seen
            seen.add(labels.tobytes())
        if not settled:
            notice(
                f"MetricKMeans stopped after {self.max_iter} rounds while clusters still "
                "changed. Raise max_iter, or interpolation for smaller steps.",
                ConvergenceWarning,
            )
        self.labels_ = labels
        self.components_ = components / column_scale
        centers = np.array([X[labels == c].mean(axis=0) for c in np.unique(labels)])
        self.cluster_centers_ = ((centers + origin) * column_scale).astype(X.dtype)
        self.n_iter_ = n_iter
        return self

    def predict(self, X: Any) -> Integers:
        """Cluster of each row: that of the nearest centre in the learned metric.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        int ndarray of shape (n,)
        """
        check_is_fitted(self)
        X = validation.validate_rows(self, X, reset=False)
        centers, origin = self.cluster_centers_, middle(self.cluster_centers_)
        Z, centers = (centre(rows, origin) @ self.components_.T for rows in (X, centers))
        return np.asarray(squared_distances(Z, centers).argmin(axis=1))

    def score(self, X: Any, y: Any) -> float:
        """Rand index, 0 to 1, of the clusters of rows against their known classes.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)

        Returns
        -------
        float
        """
        return float(rand_score(y, self.predict(X)))
