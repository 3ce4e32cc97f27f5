"""The distance that is there before anything is learned."""

from __future__ import annotations

from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state

from nearkin.learners.base import MetricMixin, gather_read_once, replace_state, stored_learner
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import gather_evidence
from nearkin.spaces.maps import Identity


@stored_learner()
class Euclidean(MetricMixin, BaseEstimator):
    """The Euclidean distance, with a threshold from pairs.

    Nothing of the distance is learned; only ``threshold_``, up to which two rows are called the
    same, comes from pairs or labels. It is what learned metrics are compared with, and what
    :class:`MetricLearner` falls back to.

    Parameters
    ----------
    scale : bool, default=False
        Divide columns by their spreads first, so that all have equal weight in distances:
        standard deviations, in which outliers count little. Without it there is a
        :class:`ScaleWarning` where units differ by more than 100.
    random_state : int, RandomState or None, default=None
        Draws the random pairs that ``threshold_`` is compared with when no two rows are known to
        differ.

    Attributes
    ----------
    column_scale_ : ndarray of shape (d,) or None
        What columns of X were divided by.
    learned_from_ : dict
        How many rows, must-links, cannot-links, labels and classes there were.
    map_ : map
        What was learned, from rows to coordinates: see :mod:`nearkin.maps`.
    n_components_ : int
        Number of columns.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X has column names.

    Examples
    --------
    >>> from nearkin import Euclidean, Pairs
    >>> metric = Euclidean().fit([[0.0], [1.0], [5.0]], pairs=Pairs([(0, 1)], [(1, 2)]))
    >>> metric.threshold_
    2.5
    """

    _array_api: ClassVar[bool] = True
    _remote: ClassVar[bool] = True
    _sparse: ClassVar[bool] = True

    def __init__(self, *, scale: bool = False, random_state: Any = None) -> None:
        self.scale = scale
        self.random_state = random_state

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "scale": ["boolean"],
        "random_state": ["random_state"],
    }

    @replace_state
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Find the threshold.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,), optional
            Labels; negative means unknown.
        pairs : Pairs, optional
            Pairs of rows of X.

        Returns
        -------
        self
        """
        X = gather_read_once(self, X, y, pairs)
        X = self._validated(X, reset=True)
        evidence = gather_evidence(X.shape[0], y, pairs, triplets=True)
        self.n_components_ = X.shape[1]
        self._keep(Identity(), X, evidence, check_random_state(self.random_state))
        return self
