"""Metric pairwise constrained k-means: clusters and a diagonal metric, both guided by pairs."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    _fit_context,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats, Integers
from nearkin.errors import InputError
from nearkin.learners.base import WholeState
from nearkin.messages import notice
from nearkin.pairs.closure import chunklets
from nearkin.pairs.labels import class_numbers
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import check_roles, example_pairs, gather_evidence
from nearkin.rows import validation
from nearkin.rows.distances import centred, middle
from nearkin.rows.scaling import scales_of, warn_of_units
from nearkin.tasks.mpck_objective import Problem, descend, nearest
from nearkin.tasks.mpck_seeding import Seeds, squared_distances


class MPCKMeans(
    WholeState, ClassNamePrefixFeaturesOutMixin, TransformerMixin, ClusterMixin, BaseEstimator
):
    r"""Metric pairwise constrained k-means.

    K-means that is told pairs of rows to keep together (must-links) or apart (cannot-links), and
    that learns a weight for each column beside the clusters. Pairs are wishes with a price, not
    commands: they may contradict each other, and the clustering may break some. Without any it
    is k-means with a learned diagonal metric.

    Parameters
    ----------
    n_clusters : int, default=8
    n_init : int, default=10
        Runs from different seeds; the one with the least objective is kept. The first starts
        from the centroids of the largest must-link components, as published; later ones draw
        component centroids and rows as k-means++ does.
    max_iter : int, default=100
        Iterations of a run at most.
    tol : float, default=1e-6
        A run ends when an iteration lowers the objective by no more than this share of the sum
        of squared distances to the mean, or changes no label.
    learn_metric : bool, default=True
        Learn the column weights. Otherwise all are 1: Euclidean distances, the method known as
        PCK-means.
    start_metric : {"pairs", "identity", "variances"}, default="pairs"
        What learned weights start from: equal weights, times how much more rows of cannot-links
        differ in a column than rows of must-links do, with ten imagined must-links and twenty
        cannot-links that say nothing; equal weights, Euclidean distances, as published; or inverse
        variances, so that the units of the columns do not matter.
    hold : float, default=10.0
        How firmly learned weights hold on to those that they start from: as if there were that
        many times more rows, which would not change them. 0 is the published method, in which
        columns of few values soon decide everything.
    scale : bool, default=False
        Divide columns by their spreads, so that all have equal weight, unless weights start from
        inverse variances. Without it there is a :class:`ScaleWarning` where units differ by more
        than 100.
    random_state : int, RandomState or None, default=None
        Draws seeds, the order of linked rows and, where labels are given, example pairs.

    Attributes
    ----------
    labels_ : int ndarray of shape (n,)
        Cluster of each training row. It may differ from ``predict`` for rows with pairs. No cluster
        is empty, unless rows that differ are too few: there is a warning then.
    cluster_centers_ : ndarray of shape (n_clusters, d)
    metric_weights_ : ndarray of shape (d,)
        Weight of each column's squared difference, above 0.
    objective_ : ndarray of shape (2 * n_iter_ + 1,)
        After the first assignment, and after the update and the assignment of each iteration of
        the run that was kept. It never rises.
    inertia_ : float
        Sum of squared distances of rows to their centres, in the learned metric.
    n_iter_ : int
    n_violated_ : int
        How many of the pairs ``labels_`` breaks; pairs that stand for labels are counted too.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X has column names.

    References
    ----------
    M. Bilenko, S. Basu, R. J. Mooney. Integrating constraints and metric learning in
    semi-supervised clustering. ICML 2004.

    Notes
    -----
    The objective is at the head of :mod:`nearkin.tasks.mpck_objective`; the differences from the
    paper are: one metric for all clusters; the diagonal of the data's bounding box in the place
    of the farthest pair of rows; restarts; what weights start from and hold on to; and a floor.
    ``start_metric="identity", hold=0`` leaves out the last but one.

    The default settings were chosen on fifteen data sets: as published, columns in which clusters
    happen to be tight gain weight until they decide alone, and clusters are worse than those of
    k-means without any pairs.

    A cluster that loses all rows takes those that lie farthest from their own centre, with all that
    must-links tie them to there, which never raises the objective.

    The mean spread of a column within
    clusters counts as at least a thousandth of the column's variance, so that no weight exceeds
    1000 inverse variances, however tight the clusters. A constant column keeps the weight that it
    starts from: of inverse variances, that of the other columns' mean.

    O(n k d) time an iteration for n rows, k clusters and d columns, O(n (d + k)) memory. Sparse
    rows stay sparse; centres are not, nor are the centroids of must-link components.

    Examples
    --------
    >>> from nearkin import MPCKMeans, Pairs
    >>> from nearkin.datasets import make_three_normal
    >>> from nearkin.scores import balanced_rand
    >>> X, y = make_three_normal(random_state=0)
    >>> pairs = Pairs.from_labels(y, 60, random_state=0)
    >>> clusters = MPCKMeans(3, hold=0, random_state=0).fit(X, pairs=pairs)
    >>> balanced_rand(y, clusters.labels_) > 0.85
    True
    """

    __metadata_request__fit: ClassVar[dict[str, bool]] = {"pairs": True}

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_init: int = 10,
        max_iter: int = 100,
        tol: float = 1e-6,
        learn_metric: bool = True,
        start_metric: str = "pairs",
        hold: float = 10.0,
        scale: bool = False,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.learn_metric = learn_metric
        self.start_metric = start_metric
        self.hold = hold
        self.scale = scale
        self.random_state = random_state

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "n_clusters": [Interval(Integral, 1, None, closed="left")],
        "n_init": [Interval(Integral, 1, None, closed="left")],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="left")],
        "learn_metric": ["boolean"],
        "start_metric": [StrOptions({"pairs", "identity", "variances"})],
        "hold": [Interval(Real, 0, None, closed="left")],
        "scale": ["boolean"],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Find clusters and column weights.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,), optional
            Labels; negative means unknown. They become pairs: rows of one class must, rows of
            two classes cannot be together.
        pairs : Pairs, optional
            Pairs of rows of X.

        Returns
        -------
        self
        """
        X = validation.validated(self, X, reset=True, accept_sparse="csr", order="C")
        n = X.shape[0]
        if self.n_clusters > n:
            raise InputError(
                f"n_clusters={self.n_clusters} clusters cannot be made of n_samples={n} "
                f"rows: use n_clusters={n} or less, or give more rows."
            )
        unit_free = self.learn_metric and self.start_metric == "variances"
        if not (unit_free or self.scale):
            other = "start_metric='variances'"
            if not self.learn_metric:
                other += " with learn_metric=True"
            remedy = f"Use scale=True, which divides columns by their spread, or {other}."
            warn_of_units(self, X, remedy)
        rng = check_random_state(self.random_state)
        no_rows: Integers = np.empty(0, dtype=np.int64)
        if _tells_nothing(n, y, pairs):
            links, rows, component = Pairs(), no_rows, no_rows
        else:
            evidence = gather_evidence(n, y, pairs)
            links = example_pairs(evidence, rng)
            rows, component = chunklets(evidence.pairs.must_link, evidence.classes)
        scale = scales_of(X) if self.scale else None
        origin = middle(X)
        X = centred(X, origin)
        problem = Problem(
            X, links, self.learn_metric, scale, origin, self.start_metric, float(self.hold)
        )
        seeds = Seeds(X, rows, component)

        def descended(run: int) -> tuple[Integers, Floats, Floats, Floats]:
            weights = problem.first_weights()
            choose = seeds.farthest if run == 0 else seeds.drawn
            centers = choose(self.n_clusters, weights, rng)
            return descend(problem, centers, weights, self.max_iter, self.tol, rng)

        runs = map(descended, range(self.n_init))
        labels, centers, weights, objective = min(runs, key=lambda result: result[3][-1])
        n_found = len(np.unique(labels))
        if n_found < self.n_clusters:
            notice(
                f"Only {n_found} of n_clusters={self.n_clusters} clusters have rows: no others "
                "differ from their centre, or must-links tie them. Use fewer clusters.",
                ConvergenceWarning,
            )
        self.labels_: Integers = labels
        self.cluster_centers_ = centers + origin
        self._middle = origin
        self.metric_weights_ = weights
        self.objective_ = objective
        self.inertia_ = problem.inertia(labels, centers, weights)
        self.n_iter_ = len(objective) // 2
        self.n_violated_ = int(problem.violated(labels).sum())
        return self

    def fit_predict(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Integers:
        """Find clusters and give the label of each training row.

        Parameters
        ----------
        X, y, pairs
            As for :meth:`fit`.

        Returns
        -------
        int ndarray of shape (n,)
            ``labels_``.

        Examples
        --------
        >>> from nearkin import MPCKMeans, Pairs
        >>> X = [[0.0], [1.0], [8.0], [9.0]]
        >>> clusters = MPCKMeans(2, random_state=0)
        >>> labels = clusters.fit_predict(X, pairs=Pairs([(0, 1)], [(0, 3)]))
        >>> bool(labels[0] == labels[1] != labels[2] == labels[3])
        True
        """
        self.fit(X, y, pairs=pairs)
        return self.labels_

    def predict(self, X: Any) -> Integers:
        """Give the cluster whose centre is nearest in the learned metric.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        int ndarray of shape (n,)

        Examples
        --------
        >>> from nearkin import MPCKMeans, Pairs
        >>> X = [[0.0], [1.0], [8.0], [9.0]]
        >>> clusters = MPCKMeans(2, random_state=0)
        >>> near, far = clusters.fit(X, pairs=Pairs([(0, 1)], [(0, 3)])).predict([[0.4], [8.4]])
        >>> bool(near != far)
        True
        """
        return nearest(*self._around_middle(self._validated(X)), self.metric_weights_)

    def transform(self, X: Any) -> Floats:
        """Give the distances to the centres in the learned metric.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_clusters)

        Examples
        --------
        >>> from nearkin import MPCKMeans, Pairs
        >>> X = [[0.0], [1.0], [8.0], [9.0]]
        >>> clusters = MPCKMeans(2, random_state=0)
        >>> clusters.fit(X, pairs=Pairs([(0, 1)], [(0, 3)])).transform([[0.4], [8.4], [5.0]]).shape
        (3, 2)
        """
        X = self._validated(X)
        squared = squared_distances(*self._around_middle(X), self.metric_weights_)
        distances: Floats = np.sqrt(squared, out=squared).astype(X.dtype, copy=False)
        return distances

    def _around_middle(self, X: Floats) -> tuple[Floats, Floats]:
        """Rows and centres, less what training rows were moved by."""
        return centred(X, self._middle), self.cluster_centers_ - self._middle

    def _validated(self, X: Any) -> Floats:
        check_is_fitted(self)
        rows: Floats = validation.validated(self, X, accept_sparse="csr", order="C", reset=False)
        return rows

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _tells_nothing(n_rows: int, y: Any, pairs: Pairs | None) -> bool:
    """Whether neither pairs nor two labels are known; what there is must fit X all the same."""
    check_roles(y, pairs)
    if pairs:
        return False
    if pairs is not None:
        pairs.check_rows(n_rows)
    if y is None:
        return True
    classes = class_numbers(y)
    if len(classes) != n_rows:
        raise InputError(f"y has {len(classes)} labels, but X has {n_rows} rows.")
    return int((classes >= 0).sum()) < 2
