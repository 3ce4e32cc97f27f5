"""Metrics made of metrics: one after the other, or side by side."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import field, replace
from functools import cached_property
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh, solve
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.decomposition import PCA
from sklearn.pipeline import Pipeline
from sklearn.utils import Tags, check_random_state, get_tags
from sklearn.utils.validation import validate_data

from nearkin._types import Floats, Rng
from nearkin.errors import InputError, InputTypeError, raise_input_errors
from nearkin.learners.base import MetricMixin, replace_state, stored_learner, stored_metric
from nearkin.learners.explain import TaughtPart
from nearkin.learners.fit_steps import call_once
from nearkin.learners.parameters import Count, Listed, SeedParameter, Share, with_parameters
from nearkin.messages import collect_notices, hand_on, mute_categories, notice
from nearkin.pairs.answers import Answers
from nearkin.pairs.closure import draw_links
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import ContradictionWarning, gather_evidence
from nearkin.rows import access, backends, validation
from nearkin.rows.distances import linked_distances
from nearkin.rows.scaling import ScaleWarning, choose_scales, divide_columns, warn_of_units
from nearkin.rows.sparse import is_sparse, to_dense, to_plain, variances
from nearkin.rows.validation import count_rows, refuse_non_tables, reorder_columns
from nearkin.spaces import maps
from nearkin.spaces.feature_space import KernelExpansion, LocalExtension
from nearkin.spaces.kernels import bind_kernel
from nearkin.spaces.landmarks import KernelLandmarks
from nearkin.spaces.linalg import fix_signs, largest_entry
from nearkin.storage.schema import estimator, floats, is_stored_transformer, list_of, real

# Rows, at most, that tell the scale of a learner's distances: a mean over so many is known to about
# a hundredth.
_MOST_SCALED = 10_000
# Principal axes of a blend: the share of the variance that a limited number of them holds at most,
# which costs no accuracy (benchmarks/few_pairs), what is no variance but rounding, and the rows and
# columns beyond which fewer rows tell the axes, for time.
_KEPT_VARIANCE, _NO_VARIANCE, _MOST_TURNED = 0.9999, 1e-12, 2000
# Imitation: rows at most, one part of so many of them to judge by, if these are not fewer, the
# penalty (of 0.001 and 0.1 the better one on nine of ten sets), near landmarks, and what is worth a
# warning.
_MOST_IMITATED, _JUDGED_PART, _LEAST_JUDGED = 5000, 5, 4
_RIDGE, _NEAREST, _FAITHFUL = 1e-3, 5, 0.98


def map_of(fitted: Any) -> maps.Map:
    """Return the map of a fitted learner, or of another transformer, for rows as it takes them."""
    if isinstance(fitted, PCA) and not fitted.whiten:
        return maps.Affine(fitted.components_, fitted.mean_)
    if not isinstance(fitted, MetricMixin):
        return maps.Transformed(fitted)
    table = getattr(fitted, "table_", None)
    return fitted.map_ if table is None else maps.compose(maps.Transformed(table), fitted.map_)


def sees_any_rows(part: Any) -> bool:
    """Whether a part takes words and gaps, unlike learners and transformers of model files."""
    if isinstance(part, Pipeline):
        return sees_any_rows(part.steps[0][1])
    if isinstance(part, MetricMixin):
        return part._sees_any_rows
    return not is_stored_transformer(part)


def seen_first_by(whole: Any, X: Any, parts: Sequence[Any], *, reset: bool) -> Any:
    """Check X for the parts of a chain or blend that see it first.

    ``whole`` remembers names and number of columns in ``fit`` (``reset``), and checks by them.
    """
    if backends.is_remote(X) or backends.is_foreign(X) or not whole._sees_any_rows:
        return validation.validate_rows(
            whole,
            X,
            accept_sparse="csr" if _all_take_sparse(parts) else False,
            reset=reset,
            ensure_min_samples=2 if reset else 1,
        )
    backends.refuse_stranded(X)
    if not hasattr(X, "__len__") and not hasattr(X, "shape"):
        refuse_non_tables(X)
    if not reset:
        X = reorder_columns(whole, X)
    with raise_input_errors():
        validate_data(whole, X, reset=reset, skip_check_array=True)
    return X


def passed_on(Z: Any, step: Any) -> Any:
    """Prepare the output of a step for the next: with names of columns only if it wants them."""
    wants_names = not isinstance(step, MetricMixin) or hasattr(step, "feature_names_in_")
    return Z if wants_names else to_plain(Z)


def with_input_tags(tags: Tags, parts: Sequence[Any]) -> Tags:
    """Set the tags that say which rows all of the parts take."""
    tags.input_tags.sparse = _all_take_sparse(parts)
    tags.input_tags.allow_nan = all(
        sees_any_rows(part) and bool(get_tags(part).input_tags.allow_nan) for part in parts
    )
    return tags


def _all_take_sparse(parts: Sequence[Any]) -> bool:
    """Whether our learners among the parts take sparse rows; others are left to refuse them."""
    ours = (part for part in parts if isinstance(part, MetricMixin))
    return all(get_tags(part).input_tags.sparse for part in ours)


@stored_metric(steps_=list_of(estimator))
@with_parameters
class Chain(MetricMixin, BaseEstimator):
    """Fit learners one after the other, each to the output of the one before.

    Since a learned metric is an embedding, the next learner can start from it. ``ITML`` followed by
    ``KernelBeta`` finds the columns that matter first and bends the space afterwards.

    Parameters
    ----------
    steps : sequence of estimators
        Learners of this library, all of which see the pairs and labels, or other transformers,
        such as scikit-learn's ``PCA``, which do not. The last one is a learner. They are
        cloned, not changed. A first step that can take more than numbers, such as
        ``ColumnTransformer``, ``SimpleImputer`` or ``TfidfVectorizer``, sees the rows as they are:
        data frames with words and gaps, or texts.

    Attributes
    ----------
    steps_ : list of estimators
        Fitted.
    map_, n_components_, learned_from_, n_features_in_, feature_names_in_
        Of every metric: the map from rows to coordinates (:mod:`nearkin.maps`) and how many these
        are, counts of rows, pairs and labels, and the columns of X.

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

    steps: Sequence[Any] = field(kw_only=False)

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {"steps": [list, tuple]}

    @replace_state
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | Answers | None = None) -> Self:
        """Learn from pairs, labels or both, step by step.

        Parameters
        ----------
        X : array of shape (n, d)
            Or what else the first step takes.
        y : array of shape (n,), optional
        pairs : Pairs or Answers, optional
            Of answers by several people, steps that cannot tell who is right learn from what they
            come to.
        """
        self._check_steps()
        X = self._check_rows(X, reset=True)
        told = pairs.pairs if isinstance(pairs, Answers) else pairs
        # Steps refuse what they do not take.
        gather_evidence(count_rows(X), y, told, triplets=True, graded=True)
        fitted: list[Any] = []
        with collect_notices() as notes:
            for step in self.steps:
                if fitted:
                    X = passed_on(call_once(fitted[-1].transform, X), step)
                # Units of later steps are not the user's.
                with mute_categories(ScaleWarning) if fitted else nullcontext():
                    fitted.append(call_once(_fit, step, X, y, pairs))
        hand_on(notes)  # once, even if several steps noticed the same
        return self._made_of(fitted, getattr(self, "n_features_in_", None))

    @classmethod
    def from_pipeline(cls, pipeline: Pipeline) -> Self:
        """A scikit-learn pipeline that ends in a learner, as a metric.

        A pipeline has ``transform``; the chain has distances, verdicts and scores too, and ``save``
        where all of its steps can be stored. It is of the pipeline's own steps: fitted if they are,
        without fitting anything again.

        Examples
        --------
        >>> from nearkin import ITML, Chain
        >>> from nearkin.datasets import make_three_normal
        >>> from sklearn.pipeline import make_pipeline
        >>> from sklearn.preprocessing import StandardScaler
        >>> X, y = make_three_normal(random_state=0)
        >>> pipeline = make_pipeline(StandardScaler(), ITML(random_state=0)).fit(X, y)
        >>> Chain.from_pipeline(pipeline).score(X, y) > 0.75
        True
        """
        steps = [step for _, step in pipeline.steps if step not in (None, "passthrough")]
        chain = cls(steps)
        chain._check_steps()
        if not hasattr(steps[-1], "threshold_"):
            return chain
        if hasattr(steps[0], "feature_names_in_"):
            chain.feature_names_in_ = steps[0].feature_names_in_
        return chain._made_of(steps, getattr(steps[0], "n_features_in_", None))

    def _check_steps(self) -> None:
        """Refuse a chain that does not end in a learner."""
        if not self.steps or not isinstance(self.steps[-1], MetricMixin):
            raise InputError(
                "the last of steps must be a learner of this library, such as KernelBeta(): it "
                "has the final say on distances."
            )

    def _made_of(self, fitted: list[Any], n_features: int | None) -> Self:
        """Set what ``fit`` sets, given steps that were fitted one after another."""
        self.steps_ = fitted
        if n_features is not None:  # texts have no columns
            self.n_features_in_ = n_features
        self.n_components_ = fitted[-1].n_components_
        self._copy_verdicts(fitted[-1])
        return self

    @property
    def map_(self) -> maps.Map:  # type: ignore[override]
        """What was learned, the maps of all steps one after the other."""
        return maps.compose(*map(map_of, self.steps_))

    def _check_rows(self, X: Any, *, reset: bool = False) -> Any:
        if reset:
            return seen_first_by(self, X, self.steps[:1], reset=True)
        first, X = self.steps_[0], self._seen_by_first(X)
        return first._check_rows(X) if isinstance(first, MetricMixin) else X

    def _seen_by_first(self, X: Any) -> Any:
        """Check new rows for the first step: with names, if they were there in fit."""
        checked = seen_first_by(self, X, self.steps[:1], reset=False)
        with_names = hasattr(self.steps_[0], "feature_names_in_")
        return reorder_columns(self, X) if with_names else checked

    def _seen_by_last(self, X: Any) -> Any:
        """Transform new rows by all steps but the last."""
        X = self._seen_by_first(X)
        for step, following in itertools.pairwise(self.steps_):
            X = passed_on(step.transform(X), following)
        return X

    def _find_taught_parts(self, rows: list[Any], share: float = 1.0) -> list[TaughtPart]:
        """Return those of the last step; what steps before it would learn again is left out."""
        found: list[TaughtPart] = self.steps_[-1]._find_taught_parts(
            [self._seen_by_last(row) for row in rows], share
        )
        return found

    def after_table(self) -> Chain:
        """A fitted chain without its first step, which makes numbers of a table.

        Examples
        --------
        >>> import pandas as pd
        >>> import nearkin as nk
        >>> people = pd.DataFrame(
        ...     {"name": ["Ada", "Ada", "Bob"], "city": ["Rome", "Paris", "Bonn"]}
        ... )
        >>> metric = nk.Chain([nk.TableEncoder(), nk.Euclidean()]).fit(
        ...     people, pairs=nk.Pairs([(0, 1)])
        ... )
        >>> metric.after_table().transform(metric.steps_[0].transform(people)).shape[0]
        3
        """
        width = len(self.steps_[0].groups_)
        rest = Chain(self.steps[1:])._made_of(self.steps_[1:], width)
        rest._copy_verdicts(self)
        return rest

    def _check_dense_rows(self, X: Any) -> Floats:
        if self._first_seer is None:
            return super()._check_dense_rows(X)
        return np.asarray(to_dense(to_plain(self._first_seer.transform(self._check_rows(X)))))

    def _get_column_map(self) -> tuple[maps.Map, Any]:
        first = self._first_seer
        if first is None:
            return super()._get_column_map()
        rest = maps.compose(*map(map_of, self.steps_[1:]))
        groups = getattr(first, "groups_", None)
        return rest, first.get_feature_names_out() if groups is None else groups

    def _get_encoder(self) -> Any:
        first = self._first_seer
        return first if hasattr(first, "groups_") else None

    @property
    def _first_seer(self) -> Any:
        """The first step, if it makes numbers of rows that are none, and says what these are of."""
        first = self.steps_[0]
        if hasattr(first, "groups_"):
            return first
        names = not isinstance(first, MetricMixin) and hasattr(first, "get_feature_names_out")
        return first if names and sees_any_rows(first) else None

    @property
    def _sees_any_rows(self) -> bool:  # type: ignore[override]
        return any(map(sees_any_rows, self.steps[:1]))

    def __sklearn_tags__(self) -> Tags:
        return with_input_tags(super().__sklearn_tags__(), self.steps[:1])


@stored_metric(learners_=list_of(estimator), factors_=floats("l"), axes_=floats("q p"))
@with_parameters
class Blend(MetricMixin, SeedParameter, BaseEstimator):
    r"""Combine several learners by a weighted mean of their squared distances.

    Each of several learners' distances are brought to the same scale first: the mean squared
    distance between training rows is 1. Mistakes of different learners average out, which makes a
    blend of good ones better than most of its parts when pairs are few.

    Parameters
    ----------
    learners : sequence of estimators
        Learners of this library. They are cloned, not changed.
    weights : array of shape (len(learners),) or None, default=None
        How much each counts, not negative; equal by default. One without weight is not fitted.
    n_components : int or None, default=None
        Keep this many principal axes of the joined coordinates at most, and no more than hold
        0.9999 of their variance. By default all axes along which rows differ, without loss.
    random_state : int, RandomState or None, default=None
        Draws the rows that tell scales and axes, if there are more than 10 000, and the random
        pairs that ``threshold_`` is compared with when no two rows are known to differ.

    Attributes
    ----------
    learners_ : list of estimators
        Fitted; those with a weight.
    factors_ : ndarray of shape (len(learners_),)
        What each embedding is multiplied with.
    axes_ : ndarray of shape (n_components_, p)
        Orthonormal: principal axes of all learners' embeddings side by side, p columns in all, each
        times its factor.
    map_, n_components_, learned_from_, n_features_in_, feature_names_in_
        As in :class:`Chain`.

    Notes
    -----
    With weights w that sum to 1 and embeddings :math:`z^l`, the squared distance is
    :math:`\sum_l w_l \|z^l_i - z^l_j\|^2 / s_l`, where :math:`s_l` is the mean of
    :math:`\|z^l_i - z^l_j\|^2` over training rows, twice the total variance. The axes are turned
    into the last step of each learner's map, so that the embedding is a sum,
    :math:`z = \sum_l A_l z^l`: ``map_`` ends in a :class:`nearkin.maps.Summed`.

    The axes take O(n p² + p³) time for n rows, 10 000 at most, and n p numbers; of more than 2000
    columns p, those of 2000 rows.

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

    learners: Annotated[Sequence[Any], list, tuple] = field(kw_only=False)
    weights: Listed | None = None
    n_components: Count | None = None

    @replace_state
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn from pairs, labels or both.

        Parameters
        ----------
        X : array of shape (n, d)
            Or what else all learners take.
        y : array of shape (n,), optional
        pairs : Pairs, optional
        """
        if not self.learners or not all(isinstance(one, MetricMixin) for one in self.learners):
            raise InputError("learners must be one or more learners of this library.")
        n = len(self.learners)
        weights = np.asarray(np.ones(n) if self.weights is None else self.weights, dtype=np.float64)
        if weights.shape != (n,):
            raise InputError(
                f"weights has shape {weights.shape}, but there are {n} learners: give one number "
                "for each."
            )
        if not np.isfinite(weights).all() or (weights < 0).any() or not weights.any():
            raise InputError(
                f"weights={self.weights!r} must be finite and not negative, with one above 0."
            )
        X = self._check_rows(X, reset=True)
        n_rows = count_rows(X)
        evidence = gather_evidence(n_rows, y, pairs, triplets=True, graded=True)
        counted = [learner for learner, w in zip(self.learners, weights, strict=True) if w > 0]
        if not self._sees_any_rows and _see_columns_as_they_are(counted):
            remedy = "Give the learners scale=True, which divides columns by their spread"
            warn_of_units(self, X, f"{remedy}, or give columns the weight they should have.")
        with collect_notices() as notes, mute_categories(ScaleWarning):
            fitted = [call_once(_fit, learner, X, y, pairs) for learner in counted]
        hand_on(notes)  # once, even if several learners noticed the same
        rng = check_random_state(self.random_state)
        sample = X
        if n_rows > _MOST_SCALED:
            drawn = np.sort(rng.choice(n_rows, _MOST_SCALED, replace=False))
            sample = access.take(X, drawn)
        parts = [learner._embed(sample) for learner in fitted]
        spreads = (variances(Z) if is_sparse(Z) else Z.var(axis=0, dtype=np.float64) for Z in parts)
        scales = np.array([2 * float(spread.sum()) for spread in spreads])
        # A learner that maps all rows to one point adds nothing, whatever its factor.
        scales[(scales == 0) | (len(fitted) == 1)] = 1.0
        self.learners_ = fitted
        self.factors_ = np.sqrt(weights[weights > 0] / weights.sum() / scales)
        scaled = [factor * part for factor, part in zip(self.factors_, parts, strict=True)]
        n_columns = getattr(self, "n_features_in_", 0)
        self.axes_ = _principal_axes(scaled, self.n_components, n_columns, rng)
        self.n_components_ = len(self.axes_)
        learned = self.map_
        self._calibrate(X, evidence, rng, lambda X, rows: learned.apply(access.take(X, rows)))
        return self

    @cached_property
    def map_(self) -> maps.Map:  # type: ignore[override]
        """What was learned, the sum of the learners' maps."""
        widths = [learner.n_components_ for learner in self.learners_]
        blocks = np.split(self.axes_, np.cumsum(widths)[:-1], axis=1)
        parts = zip(self.learners_, self.factors_, blocks, strict=True)
        return maps.add_maps(
            [maps.follow_by_matrix(map_of(one), factor * block) for one, factor, block in parts]
        )

    def _check_rows(self, X: Any, *, reset: bool = False) -> Any:
        return seen_first_by(self, X, self.learners, reset=reset)

    def _find_taught_parts(self, rows: list[Any], share: float = 1.0) -> list[TaughtPart]:
        shares = share * self.factors_**2
        parts = [
            learner._find_taught_parts(rows, float(part))
            for learner, part in zip(self.learners_, shares, strict=True)
        ]
        return [replace(part, blended=len(parts) > 1) for part in itertools.chain(*parts)]

    @property
    def _sees_any_rows(self) -> bool:  # type: ignore[override]
        return any(map(sees_any_rows, self.learners))

    def __sklearn_tags__(self) -> Tags:
        return with_input_tags(super().__sklearn_tags__(), self.learners)


class FidelityWarning(UserWarning):
    """A distilled metric orders distances less well than the metric it imitates.

    Examples
    --------
    >>> import nearkin as nk
    >>> issubclass(nk.FidelityWarning, UserWarning)
    True
    """


@stored_learner(fidelity_=real)
@with_parameters
class Distilled(MetricMixin, SeedParameter, BaseEstimator):
    r"""Imitate a learner by one map through landmarks, which is fast to serve.

    A row's image is a sum over landmarks, as fast as those of :class:`KernelBeta`, whatever the
    learner is made of. ``metric.distilled(X)`` imitates a learner that is fitted already.

    Parameters
    ----------
    learner : learner, default=None
        What is imitated: a learner of this library, or None for :class:`MetricLearner`. It is
        cloned, not changed.
    n_landmarks : int, default=300
        Rows through which others are mapped, at most four fifths of those of X. With 1000 it orders
        distances a little more like the learner, at a third of the speed.
    min_fidelity : float, default=0.9
        A fit of less is refused.
    random_state : int, RandomState or None, default=None
        Draws landmarks, and rows that fidelity is measured by.

    Attributes
    ----------
    fidelity_ : float
        Rank correlation of the distances between rows that the map was not fitted to, with those of
        the learner: 1 where both order all pairs alike.
    map_, n_components_, column_scale_, learned_from_, n_features_in_, feature_names_in_
        Of every metric; see :class:`Euclidean`. Verdicts are those of the learner.

    Warns
    -----
    FidelityWarning
        If fidelity is below 0.98.

    Notes
    -----
    With Z the learner's images of rows and K the values of a Gaussian kernel between rows and
    landmarks, coordinates C of the landmarks minimise
    :math:`\|K C - Z\|^2 + λ \, \mathrm{tr}(C^T K_{mm} C)`; or rows are combinations of their five
    nearest landmarks, at the learner's images of these, where that is nearer to the learner.

    No pairs are needed, and 5000 rows at most are looked at: O(n m² + m³) time and O(n m) memory
    for these and m landmarks.

    Examples
    --------
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_xor(400, random_state=0)
    >>> pairs = nk.Pairs.from_labels(y, 60, random_state=0)
    >>> metric = nk.MetricLearner(random_state=0).fit(X, pairs=pairs)
    >>> fast = metric.distilled(X, n_landmarks=200, random_state=0)
    >>> fast.map_
    ThroughLandmarks(200 landmarks to 15)
    >>> fast.fidelity_ > 0.9
    True
    """

    _sparse: ClassVar[bool] = True

    learner: Any = field(default=None, kw_only=False)
    n_landmarks: Count = 300
    min_fidelity: Share = 0.9

    @replace_state
    @_fit_context(prefer_skip_nested_validation=False)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | Answers | None = None) -> Self:
        """Fit the learner, and then the map that imitates it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,), optional
        pairs : Pairs, optional
        """
        from nearkin.learners.metric_learner import MetricLearner

        learner = self.learner
        if learner is None:
            learner = MetricLearner(random_state=self.random_state)
        self._imitate(clone(learner).fit(X, y, pairs=pairs), X)
        return self

    def _imitate(self, metric: Any, X: Any) -> None:
        """Learn the map from a fitted metric's images of rows."""
        if metric._sees_any_rows:
            raise InputTypeError(
                "a metric whose first step takes tables or texts has no rows of numbers to be "
                "imitated on: give the data frame to MetricLearner itself, which encodes it, and "
                "imitate that."
            )
        for name in ("n_features_in_", "feature_names_in_", "table_"):
            if hasattr(metric, name):
                setattr(self, name, getattr(metric, name))
        rng = check_random_state(self.random_state)
        rows = metric._check_rows(X)
        n_rows = count_rows(rows)
        drawn = np.sort(rng.permutation(n_rows)[:_MOST_IMITATED])
        rows = access.take_to_host(rows, drawn)
        self.column_scale_ = choose_scales(rows)[0]
        scaled = divide_columns(rows, self.column_scale_)
        Z = np.asarray(to_dense(to_plain(metric.map_.apply(rows))), dtype=np.float64)
        learned, self.fidelity_ = _fit_imitation(scaled, Z, self.n_landmarks, rng)
        self.map_ = maps.compose_after_scaling(self.column_scale_, learned)
        self.n_components_ = Z.shape[1]
        self._copy_verdicts(metric)
        n_used = min(self.n_landmarks, len(Z) - len(Z) // _JUDGED_PART)
        said = (
            f"one map through {n_used} landmarks orders distances of new rows like the "
            f"metric by a rank correlation of {self.fidelity_:.3f}"
        )
        if self.fidelity_ < self.min_fidelity:
            raise InputError(
                f"{said}, less than min_fidelity={self.min_fidelity:g}. Give more landmarks, or a "
                "smaller min_fidelity if that is near enough."
            )
        if self.fidelity_ < _FAITHFUL:
            notice(f"{said}. Give more landmarks, or keep the metric itself.", FidelityWarning)


def _fit_imitation(X: Any, Z: Floats, n_landmarks: int, rng: Rng) -> tuple[maps.Map, float]:
    """Fit a map through landmarks to images Z of rows, and measure its fidelity by other rows.

    Of two maps, kernel ridge regression and interpolation between near landmarks, that of higher
    fidelity is returned. A fifth of the rows are not fitted to, unless there are very few.
    """
    judged, known = np.split(rng.permutation(len(Z)), [len(Z) // _JUDGED_PART])
    if len(judged) < _LEAST_JUDGED:
        judged = known = np.arange(len(Z))
    chosen = np.sort(known[:n_landmarks])
    kernel = bind_kernel("rbf", X, random_state=rng)
    landmarks = KernelLandmarks(kernel, X[chosen])
    K, among = landmarks.kernel_to(X[known]), landmarks.kernel_matrix(around_middle=False)
    ridge = _RIDGE * len(known) / len(chosen) * among
    ridge += np.finfo(float).eps * len(chosen) * np.eye(len(chosen)) * np.trace(K.T @ K)
    coordinates = solve(K.T @ K + ridge, K.T @ (Z[known] - Z.mean(axis=0)), assume_a="pos")
    found: list[tuple[maps.Map, float]] = []
    links = draw_links(len(judged), rng)
    expected = linked_distances(Z[judged], links)
    for one in (
        maps.ThroughLandmarks(KernelExpansion(landmarks), coordinates),
        maps.ThroughLandmarks(LocalExtension(landmarks, _NEAREST), Z[chosen]),
    ):
        distances = linked_distances(one.apply(X[judged]), links)
        found.append((one, _correlate_ranks(distances, expected)))
    return max(found, key=lambda each: each[1])


def _correlate_ranks(values: Floats, others: Floats) -> float:
    """Rank correlation; 1 where neither differ, and 0 where only some of one kind do."""
    constant = [bool(np.ptp(one) <= _NO_VARIANCE * np.abs(one).max()) for one in (values, others)]
    if any(constant):
        return float(all(constant))
    ranks = [np.argsort(np.argsort(one, kind="stable")) for one in (values, others)]
    return float(np.corrcoef(ranks[0], ranks[1])[0, 1])


def _see_columns_as_they_are(learners: Sequence[Any]) -> bool:
    """Whether some of the learners do, or the first steps of chains."""
    return any(
        _see_columns_as_they_are(one.steps[:1] if isinstance(one, Chain) else one.learners)
        if isinstance(one, Chain | Blend)
        else getattr(one, "scale", True) is False and getattr(one, "kernel", "") != "precomputed"
        for one in learners
    )


def _principal_axes(parts: list[Any], most: int | None, n_columns: int, rng: Rng) -> Floats:
    """Find the principal axes of embeddings side by side, as rows of shape (q, p).

    With ``most``, q is at most that, and no larger than :data:`_KEPT_VARIANCE` needs; without, q is
    p. Fewer rows than the ``n_columns`` of X cannot tell all directions in which new rows differ:
    of these, the axes that are left have a random projection, which keeps lengths in the mean.
    """
    Z = sp.hstack(parts, format="csr") if any(map(is_sparse, parts)) else np.hstack(parts)
    if min(Z.shape) > _MOST_TURNED:
        Z = Z[np.sort(rng.choice(Z.shape[0], _MOST_TURNED, replace=False))]
    Z = to_dense(Z).astype(np.float64)
    rounding = np.finfo(float).eps * largest_entry(Z)
    Z -= Z.mean(axis=0)
    n, p = Z.shape
    gram = Z @ Z.T if n < p else Z.T @ Z
    values, vectors = eigh(gram)
    seen = values[::-1] > max(_NO_VARIANCE * values[-1], n * p * rounding**2)
    values, vectors = values[::-1][seen], vectors[:, ::-1][:, seen]
    axes = fix_signs(Z.T @ (vectors / np.sqrt(values)) if n < p else vectors).T
    wanted = min(most or p, p)
    needed = np.cumsum(values) - values < (1.0 if most is None else _KEPT_VARIANCE) * values.sum()
    kept = axes[needed][:wanted]
    n_unseen = p - len(axes)
    n_left = min(wanted - len(kept), n_unseen)
    if n_left == 0 or (most is not None and n > n_columns and len(axes)):
        return np.ascontiguousarray(kept)
    unseen = rng.standard_normal((n_left, p))
    unseen = np.linalg.qr((unseen - (unseen @ axes.T) @ axes).T)[0].T
    return np.concatenate([kept, unseen * np.sqrt(n_unseen / n_left)])


def _fit(step: Any, X: Any, y: Any, pairs: Pairs | Answers | None) -> Any:
    """Fit a clone of a step, whether it is a learner or another transformer."""
    if not isinstance(step, MetricMixin):
        return clone(step).fit(X)
    if isinstance(pairs, Answers) and not step._takes_answers:
        pairs = pairs.pairs
    with mute_categories(ContradictionWarning):  # of which the whole has a word
        return clone(step).fit(X, y, pairs=pairs)


def as_metric(given: Any) -> Any:
    """Return the learner itself, or a chain made of a pipeline that ends in one."""
    if not isinstance(given, Pipeline):
        return given
    if not isinstance(given.steps[-1][1], MetricMixin):
        raise InputTypeError(
            f"the last step of this Pipeline is {given.steps[-1][1]!r:.60}, which knows no "
            "distances: it must be a learner of this library, such as KernelBeta()."
        )
    return Chain.from_pipeline(given)


def last_learner(metric: Any) -> Any:
    """Return the last step of a chain or pipeline, or the metric itself."""
    while isinstance(metric, Chain | Pipeline):
        steps = getattr(metric, "steps_", metric.steps)
        metric = steps[-1][1] if isinstance(metric, Pipeline) else steps[-1]
    return metric


def seen_by_last(metric: Any, X: Any) -> tuple[Any, Any]:
    """Return the learner at the end of a fitted chain or pipeline, and rows as it takes them."""
    metric = as_metric(metric)
    while isinstance(metric, Chain):
        metric, X = metric.steps_[-1], metric._seen_by_last(X)
    return metric, X
