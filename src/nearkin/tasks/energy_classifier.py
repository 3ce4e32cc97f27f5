"""Classify by the energy of each label: the one under which a point fits in best."""

from __future__ import annotations

from dataclasses import field
from typing import Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import Tags, check_consistent_length, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from nearkin.errors import raise_input_errors
from nearkin.learners.base import MetricMixin, WholeState, replace_state
from nearkin.learners.compositions import seen_first_by, sees_any_rows
from nearkin.learners.parameters import (
    Count,
    NotNegative,
    SeedParameter,
    Share,
    Transformer,
    with_parameters,
)
from nearkin.pairs.labels import PartlyLabelled, check_classes
from nearkin.rows import access, backends, device_math, validation
from nearkin.rows.distances import centre, middle
from nearkin.rows.scaling import warn_of_units
from nearkin.rows.sparse import to_plain
from nearkin.solvers.energy import choose_margin, energies, gather_members


@with_parameters
class EnergyClassifier(WholeState, PartlyLabelled, SeedParameter, BaseEstimator):
    """Give each row the label of least energy.

    That is the label whose rows are near, while rows of other labels stay away from it and it from
    their neighbourhoods, by a margin. Under the same metric this is often more accurate than voting
    among nearest neighbours.

    Parameters
    ----------
    metric : transformer or None, default=None
        A learner, or another object with ``fit`` and ``transform``, whose Euclidean distances
        count. If it is fitted already, it is used as it is; otherwise a clone of it is fitted to
        the training rows and their labels. None takes the rows as they are; for columns of
        different units, ``Euclidean(scale=True)`` divides them by their spreads. Scikit-learn's
        tools fit clones: wrap a fitted metric in ``sklearn.frozen.FrozenEstimator`` for them.
    n_neighbors : int, default=3
        Nearest rows of each class that count.
    margin : "auto" or float, default="auto"
        A squared distance. ``"auto"`` takes a multiple of the typical gap between classes, the
        one with the fewest errors on (up to 5000) training rows, each left out in turn.
    push : float, default=0.5
        μ, the share of hinges in the energy, from 0 to 1. With 0 only the mean distance to the
        nearest rows of each class counts.
    random_state : int, RandomState or None, default=None
        Of the training rows by which the margin is chosen, if there are more than 5000.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    metric_ : transformer or None
        Fitted.
    margin_ : float
    n_features_in_, feature_names_in_
        The columns of X.

    References
    ----------
    K. Q. Weinberger, L. K. Saul. Distance metric learning for large margin nearest neighbor
    classification. Journal of Machine Learning Research 10, 2009.

    Y. Shi, Y.-K. Noh, F. Sha, D. D. Lee. Learning discriminative metrics via generative models
    and kernel learning. 2011.

    Notes
    -----
    The rule for the margin is that of the second paper, with squared distances, as in the energy,
    and with rows left out in the place of a validation set.

    Negative labels, None, NaN and blank strings mean unknown, as for learners. Such rows are of no
    class; a learner of this library as ``metric`` learns from them, too, others from the rest.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from nearkin import LMNN, EnergyClassifier
    >>> X, y = load_wine(return_X_y=True)
    >>> classifier = EnergyClassifier(LMNN(scale=True), random_state=0).fit(X[::2], y[::2])
    >>> classifier.score(X[1::2], y[1::2]) > 0.9
    True
    >>> energies = -classifier.decision_function(X[1::2])
    >>> bool((classifier.predict(X[1::2]) == energies.argmin(axis=1)).all())
    True
    """

    _array_api: ClassVar[bool] = True

    metric: Transformer | None = field(default=None, kw_only=False)
    n_neighbors: Count = 3
    margin: Literal["auto"] | NotNegative = "auto"
    push: Share = 0.5

    @replace_state
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any) -> Self:
        """Store the training rows by class, and choose the margin.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Labels of two classes at least; negative means unknown.

        Returns
        -------
        self
        """
        given = X
        X = self._validate(X, reset=True)
        classes, number = check_classes(y)
        with raise_input_errors():
            check_consistent_length(X, number)
        known = np.flatnonzero(number >= 0)
        metric = self.metric
        if metric is None:
            Z = X
            remedy = "Use metric=Euclidean(scale=True), which divides columns by their spread."
            warn_of_units(self, X, remedy)
        else:
            if not _is_fitted(metric):
                metric = clone(metric)
                if isinstance(metric, MetricMixin):
                    metric.fit(given, number)
                else:
                    metric.fit(access.take(given, known), number[known])
            Z = _to_plain_array(metric.transform(given))
        Z, number = access.take(Z, known), number[known]
        rng = check_random_state(self.random_state)
        center = middle(Z)
        members, _ = gather_members(centre(backends.widen(Z), center), number, self.n_neighbors)
        if isinstance(self.margin, str):  # "auto"
            margin, _ = choose_margin(members, float(self.push), rng)
        else:
            margin = float(self.margin)
        self.classes_ = classes
        self.metric_ = metric
        self.margin_ = margin
        self._center = center
        self._members = members
        return self

    def predict(self, X: Any) -> Any:
        """Predict for each row the label of least energy.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        found = self._energies(X)
        least = backends.namespace(found).argmin(found, axis=1)
        return device_math.look_up_labels(self.classes_, least, found)

    def decision_function(self, X: Any) -> Any:
        """Negative energy of each label for each row: the largest is the predicted label's.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_classes), or (n,) for two classes
            For two classes, what the first's energy has more than the second's.
        """
        found = self._energies(X)
        if len(self.classes_) == 2:
            return found[:, 0] - found[:, 1]
        return -found

    @property
    def _sees_any_rows(self) -> bool:  # read by ``sees_any_rows``
        return self.metric is not None and sees_any_rows(self.metric)

    def _validate(self, X: Any, *, reset: bool) -> Any:
        """Return checked rows, or rows as they are where the metric takes any."""
        if self._sees_any_rows:
            return seen_first_by(self, X, [self.metric], reset=reset)
        return validation.validate_rows(self, X, reset=reset, accept_sparse="csr")

    def _energies(self, X: Any) -> Any:
        check_is_fitted(self)
        rows = self._validate(X, reset=False)
        Z = rows if self.metric_ is None else _to_plain_array(self.metric_.transform(X))
        margins, members = np.array([self.margin_]), self._members.move_beside(Z)
        Z = centre(backends.widen(Z), self._center)
        return energies(Z, members, margins, self.push)[0, :, :]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self.metric is None or get_tags(self.metric).input_tags.sparse
        return tags


def _to_plain_array(Z: Any) -> Any:
    """Turn an embedding into a plain array, also if ``set_output`` made it a data frame."""
    return Z if backends.is_foreign(Z) else to_plain(Z)


def _is_fitted(metric: Any) -> bool:
    try:
        check_is_fitted(metric)
    except NotFittedError:
        return False
    return True
