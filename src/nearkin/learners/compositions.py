"""Metrics made of metrics: one after the other, or side by side."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from typing import Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from nearkin import backend
from nearkin.evidence import gather_evidence
from nearkin.learners._metric import MetricMixin, stored_learner
from nearkin.pairs import Pairs
from nearkin.scaled_rows import units_are_known, warn_of_units
from nearkin.sparse_rows import is_sparse, plain, variances
from nearkin.stored import estimator, floats, list_of

Floats = NDArray[np.floating]
# Rows, at most, that tell the scale of a learner's distances.
_MOST_SCALED = 10_000


@stored_learner(steps_=list_of(estimator))
class Chain(MetricMixin, BaseEstimator):
    """Learners one after the other: each learns in the space of the one before.

    Since a learned metric is an embedding, the next learner can start from it. ``ITML`` followed by
    ``KernelBeta`` finds the columns that matter first and bends the space afterwards.

    Parameters
    ----------
    steps : sequence of estimators
        Learners of this library, all of which see the pairs and labels, or other transformers,
        such as scikit-learn's ``PCA``, which do not. The last one is a learner. They are
        cloned, not changed.

    Attributes
    ----------
    steps_ : list of estimators
        Fitted.
    n_components_ : int
    threshold_ : float
        Learned distance up to which ``same`` says yes.
    sharpness_, far_sharpness_ : float
        How quickly ``chance_same`` falls with the distance, below and above ``threshold_``.
    prevalence_ : float
        Share of pairs that are the same, as ``chance_same`` supposes: ½, until ``calibrate``.
    same_distance_ : float or None
        Median distance of the pairs known to be the same.
    learned_from_ : dict
        How many rows, must-links, cannot-links, labels and classes there were.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X has column names.

    Notes
    -----
    All training rows are embedded by all steps but the last.

    Examples
    --------
    >>> from nearkin import ITML, Chain, KernelBeta, Pairs
    >>> from nearkin.datasets import make_three_normal
    >>> X, y = make_three_normal(random_state=0)
    >>> pairs = Pairs.from_labels(y, 30, random_state=0)
    >>> chain = Chain([ITML(random_state=0), KernelBeta(random_state=0)]).fit(X, pairs=pairs)
    >>> chain.score(X, y) > 0.75
    True
    """

    def __init__(self, steps: Sequence[Any]) -> None:
        self.steps = steps

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"steps": [list, tuple]}

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn from pairs, labels or both, step by step.

        Parameters
        ----------
        X : array of shape (n, d)
            Or what else the first step takes, such as a sparse matrix.
        y : array of shape (n,), optional
            Labels; negative means unknown.
        pairs : Pairs, optional
            Pairs of rows of X.

        Returns
        -------
        self
        """
        if not self.steps or not isinstance(self.steps[-1], MetricMixin):
            raise ValueError(
                "the last of steps must be a learner of this library, such as KernelBeta(): it "
                "has the final say on distances."
            )
        X = _validated(self, X, self.steps[:1], reset=True)
        gather_evidence(X.shape[0], y, pairs)
        n_features = X.shape[1]
        fitted: list[Any] = []
        for step in self.steps:
            if fitted:
                X = plain(fitted[-1].transform(X))
            with units_are_known() if fitted else nullcontext():  # a step's, not the user's
                fitted.append(_fit(step, X, y, pairs))
        return self._made_of(fitted, n_features)

    def _made_of(self, fitted: list[Any], n_features: int) -> Self:
        """As if fitted, from steps that were fitted one after another."""
        self.steps_ = fitted
        self.n_features_in_ = n_features
        self.n_components_ = fitted[-1].n_components_
        self._calibrate_as(fitted[-1])
        return self

    def transform(self, X: Any) -> Floats:
        """Embed rows; Euclidean distances between the results are the learned distances.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_components_)
        """
        check_is_fitted(self)
        X = _validated(self, X, self.steps[:1], reset=False)
        for step in self.steps_:
            X = plain(step.transform(X))
        return X  # type: ignore[no-any-return]

    def __sklearn_tags__(self) -> Tags:
        return _with_input_tags(super().__sklearn_tags__(), self.steps[:1])


@stored_learner(learners_=list_of(estimator), factors_=floats("l"))
class Blend(MetricMixin, BaseEstimator):
    r"""Learners side by side: the mean of their squared distances.

    Each learner's distances are brought to the same scale first: the mean squared distance between
    training rows is 1. Mistakes of different learners average out, which makes a blend of good ones
    better than most of its parts when pairs are few.

    Parameters
    ----------
    learners : sequence of estimators
        Learners of this library. They are cloned, not changed.
    weights : array of shape (len(learners),) or None, default=None
        How much each counts, not negative; equal by default. One without weight is not fitted.
    random_state : int, RandomState or None, default=None
        Draws the rows that tell the scales, if there are more than 10 000, and the random pairs
        that ``threshold_`` is compared with when no two rows are known to differ.

    Attributes
    ----------
    learners_ : list of estimators
        Fitted; those with a weight.
    factors_ : ndarray of shape (len(learners_),)
        What each embedding is multiplied with.
    n_components_ : int
    threshold_ : float
        Learned distance up to which ``same`` says yes.
    sharpness_, far_sharpness_ : float
        How quickly ``chance_same`` falls with the distance, below and above ``threshold_``.
    prevalence_ : float
        Share of pairs that are the same, as ``chance_same`` supposes: ½, until ``calibrate``.
    same_distance_ : float or None
        Median distance of the pairs known to be the same.
    learned_from_ : dict
        How many rows, must-links, cannot-links, labels and classes there were.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X has column names.

    Notes
    -----
    With weights w that sum to 1 and embeddings :math:`z^l`, the squared distance is
    :math:`\sum_l w_l \|z^l_i - z^l_j\|^2 / s_l`, where :math:`s_l` is the mean of
    :math:`\|z^l_i - z^l_j\|^2` over training rows, twice the total variance. The embedding has
    all learners' columns.

    Examples
    --------
    >>> from nearkin import ITML, Blend, KernelBeta, Pairs
    >>> from nearkin.datasets import make_three_normal
    >>> X, y = make_three_normal(random_state=0)
    >>> pairs = Pairs.from_labels(y, 30, random_state=0)
    >>> blend = Blend([ITML(random_state=0), KernelBeta(random_state=0)]).fit(X, pairs=pairs)
    >>> blend.score(X, y) > 0.75
    True
    """

    def __init__(
        self,
        learners: Sequence[Any],
        *,
        weights: ArrayLike | None = None,
        random_state: Any = None,
    ) -> None:
        self.learners = learners
        self.weights = weights
        self.random_state = random_state

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "learners": [list, tuple],
        "weights": ["array-like", None],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn from pairs, labels or both.

        Parameters
        ----------
        X : array of shape (n, d)
            Or what else all learners take, such as a sparse matrix.
        y : array of shape (n,), optional
            Labels; negative means unknown.
        pairs : Pairs, optional
            Pairs of rows of X.

        Returns
        -------
        self
        """
        weights = self._checked_weights()
        X = _validated(self, X, self.learners, reset=True)
        evidence = gather_evidence(X.shape[0], y, pairs)
        counted = [learner for learner, w in zip(self.learners, weights, strict=True) if w > 0]
        if _see_columns_as_they_are(counted):
            remedy = "Give the learners scale=True, which divides columns by their spread"
            warn_of_units(self, X, f"{remedy}, or give columns the weight they should have.")
        with units_are_known():
            fitted = [_fit(learner, X, y, pairs) for learner in counted]
        rng = check_random_state(self.random_state)
        sample = X
        if X.shape[0] > _MOST_SCALED:
            sample = X[np.sort(rng.choice(X.shape[0], _MOST_SCALED, replace=False))]
        parts = [plain(learner.transform(sample)) for learner in fitted]
        scales = np.array([2 * _total_variance(part) for part in parts])
        # A learner that maps all rows to one point adds nothing, whatever its factor.
        scales[scales == 0] = 1.0
        self.learners_ = fitted
        self.factors_ = np.sqrt(weights[weights > 0] / weights.sum() / scales)
        self.n_components_ = sum(part.shape[1] for part in parts)
        self._calibrate(X, evidence, rng)
        return self

    def transform(self, X: Any) -> Floats:
        """Embed rows; Euclidean distances between the results are the learned distances.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_components_)
        """
        check_is_fitted(self)
        return self._embed(_validated(self, X, self.learners, reset=False))

    def _embed(self, X: Any) -> Floats:
        parts = [plain(learner.transform(X)) for learner in self.learners_]
        scaled = zip(self.factors_, parts, strict=True)
        beside = [(factor * Z).astype(Z.dtype) for factor, Z in scaled]
        if any(map(is_sparse, beside)):
            joined: Any = sp.hstack([sp.csr_array(Z) for Z in beside], format="csr")
            return joined  # type: ignore[no-any-return]
        return np.hstack(beside)

    def _checked_weights(self) -> Floats:
        if not self.learners or not all(isinstance(one, MetricMixin) for one in self.learners):
            raise ValueError("learners must be one or more learners of this library.")
        if self.weights is None:
            return np.ones(len(self.learners))
        weights = np.asarray(self.weights, dtype=np.float64)
        if weights.shape != (len(self.learners),):
            raise ValueError(
                f"weights has shape {weights.shape}, but there are {len(self.learners)} learners: "
                "give one number for each."
            )
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise ValueError(
                f"weights={self.weights!r} must be finite and not negative, with one above 0."
            )
        return weights

    def __sklearn_tags__(self) -> Tags:
        return _with_input_tags(super().__sklearn_tags__(), self.learners)


def _see_columns_as_they_are(learners: Sequence[Any]) -> bool:
    """Whether some of the learners do, or the first steps of chains."""
    return any(
        _see_columns_as_they_are(one.steps[:1] if isinstance(one, Chain) else one.learners)
        if isinstance(one, Chain | Blend)
        else getattr(one, "scale", True) is False and getattr(one, "kernel", "") != "precomputed"
        for one in learners
    )


def _total_variance(Z: Any) -> float:
    return float((variances(Z) if is_sparse(Z) else Z.var(axis=0, dtype=np.float64)).sum())


def _fit(step: Any, X: Any, y: Any, pairs: Pairs | None) -> Any:
    if not isinstance(step, MetricMixin):
        return clone(step).fit(X)
    with warnings.catch_warnings():  # the whole has warned of contradictions already
        warnings.filterwarnings("ignore", message="pairs contradict")
        return clone(step).fit(X, y, pairs=pairs)


def _validated(whole: Any, X: Any, parts: Sequence[Any], *, reset: bool) -> Any:
    return backend.validated(
        whole,
        X,
        accept_sparse="csr" if _all_take_sparse(parts) else False,
        reset=reset,
        ensure_min_samples=2 if reset else 1,
    )


def _with_input_tags(tags: Tags, parts: Sequence[Any]) -> Tags:
    tags.input_tags.sparse = _all_take_sparse(parts)
    tags.transformer_tags.preserves_dtype = ["float64", "float32"]
    return tags


def _all_take_sparse(parts: Sequence[Any]) -> bool:
    """Other transformers may take sparse rows without saying so: they are left to refuse them."""
    ours = (part for part in parts if isinstance(part, MetricMixin))
    return all(get_tags(part).input_tags.sparse for part in ours)
