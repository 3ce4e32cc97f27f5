"""Where rows are when they are grouped: in the coordinates of a metric, learned or given."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.frozen import FrozenEstimator

from nearkin._types import Floats
from nearkin.learners.compositions import as_metric
from nearkin.learners.metric_learner import MetricLearner
from nearkin.learners.selection import SelectionWarning, scales_of_differing
from nearkin.messages import leaving_out, noticed
from nearkin.pairs.closure import random_pairs
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import some_of_each_kind
from nearkin.rows import validation
from nearkin.rows.distances import linked_distances
from nearkin.rows.scaling import divided
from nearkin.rows.sparse import about
from nearkin.rows.validation import types_of_words
from nearkin.scores.verdicts import estimated_prevalence, verdicts_of
from nearkin.tables.encoder import TableEncoder

# Must-links, and cannot-links, that a metric is learned from: more hardly change it.
_MOST_LEARNED_FROM = 5000
# Random pairs that it is estimated from how many are the same.
_N_PAIRS = 4000


class PlainRows(TransformerMixin, BaseEstimator):
    """Rows as they are, with columns divided by their spreads where units differ.

    The metric of those who know of no pairs.
    """

    def fit(self, X: Any, y: Any = None) -> PlainRows:
        """Find the spreads of columns."""
        self.table_ = TableEncoder().fit(X) if types_of_words(X) else None
        rows = self._numbers(X, reset=True)
        self.column_scale_, _ = scales_of_differing(rows, None)
        return self

    def transform(self, X: Any) -> Any:
        """Divide columns."""
        return divided(self._numbers(X, reset=False), self.column_scale_)

    def _numbers(self, X: Any, *, reset: bool) -> Any:
        if self.table_ is not None:
            X = self.table_.transform(X)
        return validation.validated(self, X, reset=reset, accept_sparse="csr")


def learned_metric(metric: Any, X: Any, y: Any, pairs: Pairs | None, seed: int) -> Any:
    """The metric, fitted: as given if it is frozen, else learned from what is known."""
    if isinstance(metric, FrozenEstimator):
        return metric.estimator
    if y is None and not pairs:
        return PlainRows().fit(X)
    if pairs is not None:
        pairs = some_of_each_kind(pairs, _MOST_LEARNED_FROM, np.random.RandomState(seed))
    learner = MetricLearner(random_state=seed) if metric is None else clone(as_metric(metric))
    with leaving_out(SelectionWarning):  # of which groups say more
        return learner.fit(X, y, pairs=pairs)


def coordinates(metric: Any, X: Any, seed: int) -> Floats:
    """Where rows are, as an array."""
    return np.asarray(about(metric.transform(X), np.random.RandomState(seed)), dtype=np.float64)


def learned_without(metric: Any, given: Any, X: Any, pairs: Pairs) -> Any:
    """The metric as it is learned from these pairs alone; as it is, where they are too few."""
    if isinstance(given, FrozenEstimator):
        return metric
    try:
        with noticed():
            if isinstance(metric, MetricLearner):
                return metric.relearned(X, pairs)
            return clone(metric).fit(X, pairs=pairs)
    except ValueError:  # it needs pairs of both kinds, or more of them
        return metric


def share_of_same(metric: Any, Z: Floats, seed: int) -> float:
    """Share of all pairs of rows that are the same, by what the metric says of distances."""
    if not hasattr(metric, "threshold_") or len(Z) < 2:
        return 0.5
    links = random_pairs(len(Z), np.random.RandomState(seed), _N_PAIRS)
    return estimated_prevalence(verdicts_of(metric), linked_distances(Z, links))
