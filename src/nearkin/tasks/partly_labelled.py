"""Classifiers that are told the classes of some rows."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length

from nearkin.errors import InputError, raise_input_errors
from nearkin.pairs.labels import as_labels, known_rows
from nearkin.rows import access


class PartlyLabelled(ClassifierMixin):
    """A classifier that takes a negative label for unknown, as learners do."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows with a known label that are given it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Labels; rows whose label is unknown are left out.
        sample_weight : array of shape (n,), default=None
            How much each row counts.

        Returns
        -------
        float

        Examples
        --------
        >>> from nearkin import EnergyClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]], [0, 0, 0, 1, 1, -1]
        >>> EnergyClassifier().fit(X, y).score(X, y)
        1.0
        """
        with raise_input_errors():
            check_consistent_length(X, y, sample_weight)
        known = np.flatnonzero(known_rows(y))
        if not len(known):
            raise InputError("score needs labels, but all in y are unknown.")
        if len(known) < len(y):
            X, y = access.take(X, known), np.asarray(as_labels(y)[known].tolist())
            sample_weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(super().score(X, y, sample_weight))
