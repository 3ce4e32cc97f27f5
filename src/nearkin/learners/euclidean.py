"""The distance that is there before anything is learned."""

from __future__ import annotations

from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from nearkin._types import Rng
from nearkin.learners.base import MetricMixin, stored_learner
from nearkin.learners.parameters import SeedParameter, with_parameters
from nearkin.pairs.supervision import Evidence
from nearkin.spaces.maps import Identity


@stored_learner()
@with_parameters
class Euclidean(MetricMixin, SeedParameter, BaseEstimator):
    """The Euclidean distance, with a threshold from pairs.

    Nothing of the distance is learned; only ``threshold_``, up to which two rows are called the
    same, comes from pairs or labels. It is what learned metrics are compared with, and what
    :class:`MetricLearner` falls back to.

    Parameters
    ----------
    scale : bool, default=False
        Divide columns by their spreads first: standard deviations that outliers sway little.
        Without it a :class:`ScaleWarning` tells of units that differ by more than 100.
    random_state : int, RandomState or None, default=None
        Draws the random pairs that ``threshold_`` is compared with when no two rows are known to
        differ.

    Attributes
    ----------
    map_, n_components_, column_scale_, learned_from_, n_features_in_, feature_names_in_
        Of every metric: the map from rows to coordinates (:mod:`nearkin.maps`) and how many these
        are, what columns of X were divided by, counts of rows, pairs and labels, and the columns
        of X.

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
    _takes_triplets: ClassVar[bool] = True
    _takes_graded: ClassVar[bool] = True

    scale: bool = False

    def _learn_from(self, X: Any, evidence: Evidence, rng: Rng) -> None:
        """Set the identity as the map; only the threshold is found from the evidence."""
        self.n_components_ = X.shape[1]
        self._keep(Identity(), X, evidence, rng)
