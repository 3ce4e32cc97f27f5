"""What every metric can do: transform, distances, verdicts, files and checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import cached_property, wraps
from typing import Any, ClassVar, Self, TypeVar, cast

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context, clone
from sklearn.utils import Tags, check_random_state
from sklearn.utils._param_validation import InvalidParameterError
from sklearn.utils._set_output import _get_output_config
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats, Integers, Mask, Rng
from nearkin._version import __version__
from nearkin.errors import InputError, InputTypeError, NearkinError, few
from nearkin.learners.explain import (
    Explanation,
    TaughtPart,
    contributions_by_column,
    explain_pair,
    mean_shares_by_column,
)
from nearkin.pairs.closure import draw_links
from nearkin.pairs.labels import number_classes
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence, check_roles, draw_example_pairs, gather_evidence
from nearkin.rows import access, backends, device_math, validation
from nearkin.rows.distances import linked_distances, rowwise_distances
from nearkin.rows.parallel import one_blas_thread
from nearkin.rows.scaling import scale_rows
from nearkin.rows.sparse import is_sparse, to_dense, to_plain
from nearkin.scores import score_order
from nearkin.scores.quality import Quality, compare_neighbors, estimate_quality
from nearkin.scores.verdicts import (
    ESTIMATED,
    MOST_EXAMPLES,
    VERDICTS,
    LateVerdicts,
    Prevalence,
    Verdicts,
    check_share,
    draw_examples,
    estimate_prevalence,
    find_verdicts,
    read_verdicts,
)
from nearkin.spaces.maps import MAP, Map, compose_after_scaling
from nearkin.storage import models as model_file
from nearkin.storage import schema
from nearkin.storage.arrays import StorageError
from nearkin.storage.files import StrPath

# Random pairs of rows that a prevalence is estimated from. Not tuned.
_RANDOM_PAIRS = 2000
# Numbers in rows that are kept until verdicts are asked for (8 MB); of more, they are found in fit.
# A fit of RCA to a thousand labelled rows would take three times as long otherwise.
_MOST_KEPT = 1_000_000
# Rows of fit that are kept for importances. Not tuned.
_ROWS_FOR_IMPORTANCES = 60
# How names begin that scikit-learn sets on an estimator, before or while it is fitted: what its
# transform is to give, what metadata go where, and who is to be told of progress.
_OF_SCIKIT_LEARN = ("_skl", "_metadata_request", "_parent_callback")
# The version that pickled an estimator, among its attributes.
_PICKLED_BY = "_nearkin_version"

_Method = TypeVar("_Method", bound=Callable[..., Any])
_Class = TypeVar("_Class", bound=type)


class ParameterError(NearkinError, InvalidParameterError):
    """A parameter that an estimator does not take."""


def replace_state(fit: _Method) -> _Method:
    """Decorate ``fit`` so that it runs on a copy that has the estimator's parameters alone.

    The copy's state replaces the estimator's at the end. So nothing of an earlier fit is left, and
    a fit that fails changes nothing.
    """
    return _run_on_copy(fit, anew=True)


def update_state(partial_fit: _Method) -> _Method:
    """Decorate ``partial_fit`` so that it runs on a copy of the fitted estimator.

    The copy's state replaces the estimator's at the end. It shares arrays with it, which the method
    must not write into.
    """
    return _run_on_copy(partial_fit, anew=False)


def _run_on_copy(method: _Method, *, anew: bool) -> _Method:
    """Wrap a method to run on a copy, with ``anew`` of the parameters alone."""

    @wraps(method)
    def run(self: Any, *args: Any, **options: Any) -> Any:
        attempt = object.__new__(type(self))
        attempt.__dict__.update(
            (name, value)
            for name, value in vars(self).items()
            if not (anew and _is_set_by_fit(name))
        )
        method(attempt, *args, **options)
        if anew:
            attempt._keep_some_rows(args[0] if args else options.get("X"))
        self.__dict__ = attempt.__dict__
        return self

    return cast("_Method", run)


def _is_set_by_fit(name: str) -> bool:
    """Whether an attribute is set by ``fit``, rather than by the user or scikit-learn."""
    if name.startswith("_"):
        return not name.startswith(_OF_SCIKIT_LEARN)
    return name.endswith("_")


class WholeState:
    """Base for estimators whose state is whole and of one version; put it before other bases.

    Its ``fit`` has the decorator :func:`replace_state`, its ``partial_fit`` :func:`update_state`.
    """

    def _keep_some_rows(self, X: Any) -> None:
        """Keep a sample of X, the argument of ``fit``, for later calls: here nothing is kept."""

    def _validate_params(self) -> None:
        """Check parameters as scikit-learn does, but raise :class:`ParameterError`."""
        try:
            super()._validate_params()  # type: ignore[misc]
        except InvalidParameterError as error:
            raise ParameterError(str(error)).with_traceback(error.__traceback__) from None

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), _PICKLED_BY: __version__}  # type: ignore[dict-item]

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        maker = state.pop(_PICKLED_BY, "of an earlier version")
        if maker != __version__:
            raise StorageError(
                f"this is a pickle of nearkin {maker}, and pickles can be read by the same version "
                f"only, not by nearkin {__version__}. Read it there and write metric.save(path)."
            )
        super().__setstate__(state)  # type: ignore[misc]


class _Verdict(cached_property[Any]):
    """An attribute that ``fit`` finds, or else is found when it is first asked for."""

    def __init__(self, doc: str) -> None:
        super().__init__(lambda metric: metric._get_verdict(self.attrname))
        self.__doc__ = doc


class MetricMixin(WholeState, ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Transform, distances, verdicts, scores, explanations and files of a learner.

    A learned metric is a Euclidean embedding: the distance between two rows is the Euclidean
    distance between their images under ``transform``. A learner has ``_learn_from(X, evidence,
    rng)``, which sets its attributes and ends with :meth:`_keep`; one that takes rows that others
    do not has a ``_check_rows`` of its own.
    """

    # scikit-learn's metadata routing, where it is on, hands on the pairs without being asked to.
    __metadata_request__fit: ClassVar[dict[str, bool]] = {"pairs": True}
    __metadata_request__score: ClassVar[dict[str, bool]] = {"pairs": True}
    # Whether rows are taken as they are, with words and gaps: if a transformer sees them first.
    _sees_any_rows = False
    # Whether sparse rows are taken, and in which order rows lie in memory: any, or C.
    _sparse: ClassVar[bool] = False
    _order: ClassVar[str | None] = None
    # Whether rows may be in files or on a cluster.
    _remote: ClassVar[bool] = False
    # Whether it learns from triplets and from graded pairs, and whether it finds out who of several
    # people is right.
    _takes_triplets: ClassVar[bool] = False
    _takes_graded: ClassVar[bool] = False
    _takes_answers: ClassVar[bool] = False
    map_: Map  # what was learned
    n_components_: int
    n_features_in_: int  # of a data frame with words, the numbers that ``table_`` makes of it
    random_state: Any

    threshold_ = _Verdict("Distance that best tells same from different, equally frequent ones.")
    sharpness_ = _Verdict("Steepness of :meth:`chance_same` below the threshold, None if unknown.")
    far_sharpness_ = _Verdict("Steepness of :meth:`chance_same` above it, None if unknown.")
    prevalence_ = _Verdict("Share of pairs that :meth:`same` takes to be the same: ½ after fit.")
    same_distance_ = _Verdict("Median distance of pairs known to be the same; None without any.")

    @replace_state
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn from pairs, labels or both.

        Parameters
        ----------
        X : array of shape (n, d)
            Or what else the learner takes: a sparse matrix, a kernel matrix, an array on a device,
            or rows that are read block by block (:func:`nearkin.open_rows`). Linear learners see
            sparse rows of more than 300 columns along their 300 leading singular vectors, which
            takes 300 numbers a column; others of more than 1000 along a basis of their differences,
            without loss for up to 1000 rows, or else along 300 principal axes.
        y : array of shape (n,), optional
            Labels; negative means unknown.
        pairs : Pairs, optional
            Pairs of rows of X.

        Returns
        -------
        self
        """
        if self._remote:
            X = gather_read_once(self, X, y, pairs)
        X = self._check_and_scale(X, reset=True)
        evidence = gather_evidence(
            X.shape[0], y, pairs, triplets=self._takes_triplets, graded=self._takes_graded
        )
        self._learn_from(X, evidence, check_random_state(self.random_state))
        return self

    def _learn_from(self, X: Any, evidence: Evidence, rng: Rng) -> None:
        """Set the fitted attributes from checked and scaled rows, and end with :meth:`_keep`."""

    def transform(self, X: Any) -> Floats:
        """Embed rows; Euclidean distances between the results are the learned distances.

        Parameters
        ----------
        X : array of shape (n, d)
            Or what else ``fit`` takes. With a precomputed kernel, kernel values against all
            training rows.

        Returns
        -------
        ndarray of shape (n, n_components_)
            Where X is, and in its type. Sparse rows stay sparse under the Euclidean distance.

        Notes
        -----
        By blocks on all cores: beyond input and output it needs about ten megabytes for each core.
        Steps of a chain hold what the one before has made of all rows.

        Examples
        --------
        >>> import nearkin as nk
        >>> X = [[0.0, 0.0], [0.0, 9.0], [5.0, 0.0], [5.0, 9.0]]
        >>> metric = nk.RCA().fit(X, pairs=nk.Pairs([(0, 1), (2, 3)]))  # the second column varies
        >>> metric.transform(X).shape
        (4, 2)
        """
        check_is_fitted(self)
        X = self._check_rows(X)
        if not backends.is_remote(X):
            return cast("Floats", self.map_.apply(X))
        wanted = _get_output_config("transform", self)["dense"]
        if wanted != "default":
            raise InputTypeError(
                f"transform of rows that are read block by block gives such rows, not data "
                f"frames of {wanted}: use set_output(transform='default')."
            )
        return cast("Floats", X.mapped(self.map_.apply, list(self.get_feature_names_out())))

    @validation.matrix_of_rows
    def distance(self, X_a: Any, X_b: Any = None) -> Floats:
        """Learned distance between every row of one set and every row of another.

        Parameters
        ----------
        X_a : array of shape (n_a, d)
            Or one row, of shape (d,) or a Series of pandas. It has no axis in the result: of two
            rows that is a number.
        X_b : array of shape (n_b, d), optional
            ``X_a`` itself by default.

        Returns
        -------
        ndarray of shape (n_a, n_b)

        Examples
        --------
        >>> import nearkin as nk
        >>> X = [[0.0, 0.0], [3.0, 4.0]]
        >>> metric = nk.Euclidean().fit(X, pairs=nk.Pairs([(0, 1)]))
        >>> metric.distance(X)
        array([[0., 5.],
               [5., 0.]])
        >>> float(metric.distance(X[0], X[1]))
        5.0
        """
        Z_a, Z_b = self._embed_both(X_a, X_b)
        return _cast_to_common_type(device_math.exact_distances(Z_a, Z_b), Z_a, Z_b)

    @validation.row_by_row
    def pair_distance(self, X_a: Any, X_b: Any) -> Floats:
        """Learned distance between two sets row by row.

        Parameters
        ----------
        X_a, X_b : array of shape (n, d)
            Or one row, of shape (d,) or a Series of pandas, which is compared with all of the
            other's. Of two rows the result is a number.

        Returns
        -------
        ndarray of shape (n,)

        Examples
        --------
        >>> import nearkin as nk
        >>> X = [[0.0, 0.0], [3.0, 4.0], [0.0, 1.0]]
        >>> metric = nk.Euclidean().fit(X, pairs=nk.Pairs([(0, 2)]))
        >>> metric.pair_distance(X[:2], X[1:])
        array([5.        , 4.24264069])
        """
        Z_a, Z_b = self._embed_both(X_a, X_b)
        if Z_a.shape[0] != Z_b.shape[0]:
            raise InputError(
                f"pair_distance compares row by row, but X_a has {Z_a.shape[0]} rows and X_b has "
                f"{Z_b.shape[0]}. Use distance(X_a, X_b) for all pairs of rows."
            )
        return _cast_to_common_type(rowwise_distances(Z_a, Z_b), Z_a, Z_b)

    @validation.matrix_of_rows
    def kernel_matrix(self, X_a: Any, X_b: Any = None) -> Floats:
        """Learned kernel, the inner products of the embeddings.

        Parameters
        ----------
        X_a, X_b : array of shape (n_a, d) and (n_b, d)
            As in :meth:`distance`.

        Returns
        -------
        ndarray of shape (n_a, n_b)

        Examples
        --------
        >>> import nearkin as nk
        >>> X = [[1.0, 0.0], [1.0, 2.0]]
        >>> nk.Euclidean().fit(X, pairs=nk.Pairs([(0, 1)])).kernel_matrix(X)
        array([[1., 1.],
               [1., 5.]])
        """
        Z_a, Z_b = self._embed_both(X_a, X_b)
        product: Any = Z_a @ Z_b.T
        return cast("Floats", product.toarray() if is_sparse(product) else product)

    def score(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> float:
        """Area under the ROC curve of telling same from different by the learned distance.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows, preferably not used in ``fit``.
        y : array of shape (n,), optional
            Labels; negative means unknown.
        pairs : Pairs, optional
            Pairs of rows of this X, with both must-links and cannot-links; or triplets.

        Returns
        -------
        float
            :func:`nearkin.scores.pair_auc`; for triplets, the share in the right order
            (:func:`nearkin.scores.triplets_kept`); for both, the mean weighted by total weights.

        Examples
        --------
        >>> import nearkin as nk
        >>> X, y = nk.datasets.make_xor(400, random_state=0)
        >>> metric = nk.KernelBeta(random_state=0).fit(X[:200], y[:200])
        >>> metric.score(X[200:], y[200:]) > 0.95
        True
        """
        check_roles(y, pairs, triplets=True)
        if y is None and pairs is None:
            raise InputError(
                "nothing to judge by: give score(X, y) or score(X, pairs=pairs). For "
                "cross-validation by pairs, use nearkin.cross_validate or nearkin.grid_search: "
                "scikit-learn's functions give no pairs to score, unless "
                "sklearn.set_config(enable_metadata_routing=True)."
            )
        if not self._sees_any_rows:
            validation.refuse_non_tables(X)
        if y is None and pairs is not None and len(pairs):
            pairs.check_rows(validation.count_rows(X))
            rows = pairs.points
            pairs = pairs.restrict(rows)
            return score_order(self._embed_rows(X, rows), pairs=pairs)
        return score_order(self._embed(X), y, pairs=pairs)

    def same(self, X_a: Any, X_b: Any) -> Mask:
        """Whether :meth:`chance_same` is ½ or more, row by row.

        After ``fit`` it is where the learned distance is at most ``threshold_``.

        Parameters
        ----------
        X_a, X_b : array of shape (n, d)
            Or one row, as in :meth:`pair_distance`.

        Returns
        -------
        bool ndarray of shape (n,)

        Examples
        --------
        >>> import nearkin as nk
        >>> X, y = nk.datasets.make_xor(200, random_state=0)
        >>> metric = nk.KernelBeta(random_state=0).fit(X, y)
        >>> y[[0, 1, -1]].tolist()
        [1, 1, 0]
        >>> metric.same(X[[0, 0]], X[[1, -1]])
        array([ True, False])
        """
        return self.pair_distance(X_a, X_b) <= read_verdicts(self).radius

    def chance_same(self, X_a: Any, X_b: Any, prevalence: Prevalence = None) -> Floats:
        """Probability that two rows are the same kind of thing, row by row.

        Parameters
        ----------
        X_a, X_b : array of shape (n, d)
            Or one row, as in :meth:`pair_distance`.
        prevalence : float in (0, 1) or "estimated", optional
            Share of all such pairs that are the same, for example 0.1 for random pairs of ten
            kinds; or estimated from the distances of these very pairs, see :meth:`calibrate`. By
            default ``prevalence_``, which is ½ after ``fit``.

        Returns
        -------
        ndarray of shape (n,)

        Notes
        -----
        A logistic curve through the pairs that the metric was learned from, with a sharpness of its
        own on either side of ``threshold_``. It is too sure where these were few: :meth:`calibrate`
        takes others. (``MetricLearner`` is as sure as pairs that it holds out bear out.)

        Examples
        --------
        >>> import nearkin
        >>> X, y = nearkin.datasets.make_xor(200, random_state=0)
        >>> metric = nearkin.KernelBeta(random_state=0).fit(X[:100], y[:100])
        >>> bool(metric.chance_same(X[:1], X[:1]) > 0.9)
        True
        """
        verdicts, distances = read_verdicts(self), self.pair_distance(X_a, X_b)
        share = _choose_prevalence(prevalence, verdicts, lambda: backends.to_numpy(distances))
        return cast("Floats", verdicts.chance(distances, share))

    def calibrate(
        self, X: Any, y: Any = None, *, pairs: Pairs | None = None, prevalence: Prevalence = None
    ) -> Self:
        """Find threshold and chances anew from other pairs than those of ``fit``; distances stay.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows, best such that were not used in ``fit``.
        y : array of shape (n,), optional
            Labels; negative means unknown.
        pairs : Pairs, optional
            Pairs of rows of this X, with both must-links and cannot-links. Weights count.
        prevalence : float in (0, 1) or "estimated", optional
            Share of pairs that are the same where the metric is to be used; or estimated from the
            distances of random pairs of rows of X. By default as among the pairs, or among all
            pairs of rows with labels. Without labels and pairs nothing else changes.

        Returns
        -------
        self
            With new ``threshold_``, ``sharpness_``, ``far_sharpness_``, ``prevalence_`` and
            ``same_distance_``. ``fit`` and ``partial_fit`` find them anew.

        Notes
        -----
        An estimated prevalence is about right where distances tell same from different well, and ½
        where they tell nothing (``benchmarks/calibration``): state what you know.

        Examples
        --------
        >>> import nearkin as nk
        >>> X, y = nk.datasets.make_xor(400, random_state=0)
        >>> metric = nk.KernelBeta(random_state=0).fit(X[:200], y[:200])
        >>> metric = metric.calibrate(X[200:], y[200:], prevalence=0.01)
        >>> metric.prevalence_  # one pair of 100 is the same
        0.01
        """
        check_is_fitted(self)
        verdicts = read_verdicts(self)
        if not (prevalence is None or prevalence == ESTIMATED):
            check_share(prevalence, "prevalence")
        if y is not None or pairs is not None or prevalence is None:
            known, same, different, evidence = self._measure_pairs(X, y, pairs, "calibrate")
            if prevalence is None:
                prevalence = evidence.share_of_same()
            weights = known.must_weight, known.cannot_weight
            self.__dict__.update(find_verdicts(same, different, weights=weights))
            verdicts = read_verdicts(self)
        self.prevalence_ = _choose_prevalence(prevalence, verdicts, lambda: self._draw_distances(X))
        return self

    def threshold_for(self, precision: float, prevalence: float | None = None) -> float:
        """Distance up to which two rows are the same with a chance of at least ``precision``.

        Of all pairs up to that distance at least this share is the same, if :meth:`chance_same` is
        right; so :meth:`calibrate` first, by pairs that the metric was not learned from.

        Parameters
        ----------
        precision : float in (0, 1)
        prevalence : float in (0, 1), optional
            Share of all such pairs that are the same. By default ``prevalence_``, which is ½ after
            ``fit``: random pairs are the same far more rarely.

        Returns
        -------
        float

        Examples
        --------
        >>> import nearkin
        >>> X, y = nearkin.datasets.make_xor(200, random_state=0)
        >>> metric = nearkin.KernelBeta(random_state=0).fit(X, y)
        >>> metric.threshold_for(0.99) < metric.threshold_for(0.9) < metric.threshold_
        True
        """
        check_is_fitted(self)
        wanted = check_share(precision, "precision")
        found = read_verdicts(self).distance_at(wanted, prevalence)
        if not found >= 0:
            raise InputError(
                f"precision={precision}: two rows are nowhere the same with such a chance, not "
                "even at a distance of 0. Ask for less, or give a larger prevalence if the pairs "
                "are not random ones."
            )
        return found

    def quality(
        self, X: Any, y: Any = None, *, pairs: Pairs | None = None, prevalence: Prevalence = None
    ) -> Quality:
        """How well the learned distance tells same from different, with 90 % intervals.

        Parameters
        ----------
        X : array of shape (n, d)
            Rows that were not used in ``fit``: by those a metric seems better than it is.
        y : array of shape (n,), optional
            Labels; negative means unknown. Of the pairs that they imply up to 10 000 are judged.
        pairs : Pairs, optional
            Pairs of rows of this X, with both must-links and cannot-links. Weights count.
        prevalence : float in (0, 1) or "estimated", optional
            Share of pairs that are the same where the metric is to be used, on which precision
            depends; or estimated, as in :meth:`calibrate`. By default ``prevalence_``.

        Returns
        -------
        Quality
            Pair AUC, and precision, recall and F1 of :meth:`same`; of rows in memory also how many
            of the ten nearest are of the same class, if there are labels, and nearest by the
            Euclidean distance too. Print it.

        Examples
        --------
        >>> import nearkin
        >>> X, y = nearkin.datasets.make_xor(400, random_state=0)
        >>> metric = nearkin.KernelBeta(random_state=0).fit(X[:200], y[:200])
        >>> found = metric.quality(X[200:], y[200:])
        >>> found.auc.low > 0.9
        True
        """
        check_is_fitted(self)
        verdicts = read_verdicts(self)
        share = _choose_prevalence(prevalence, verdicts, lambda: self._draw_distances(X))
        known, same, different = self._measure_pairs(X, y, pairs, "quality")[:3]
        found = estimate_quality(
            np.concatenate([same, different]),
            np.repeat([True, False], [len(same), len(different)]),
            np.concatenate([known.must_weight, known.cannot_weight]),
            np.concatenate([known.must_link, known.cannot_link]),
            verdicts.distance_at(0.5, share),
            share,
        )
        if not (backends.is_remote(X) or backends.is_foreign(X) or is_sparse(X)):
            plain = self._check_dense_rows(X)
            classes = None if y is None else number_classes(y)
            found = replace(found, neighbors=compare_neighbors(self._embed(X), plain, classes))
        return found

    def distilled(
        self, X: Any, n_landmarks: int = 300, *, min_fidelity: float = 0.9, random_state: Any = None
    ) -> Any:
        """Imitate this metric by one map through landmarks, which is fast to serve.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Rows such as will be mapped; no pairs are needed.
        n_landmarks, min_fidelity, random_state
            As of :class:`Distilled`, which says how faithful the imitation is.

        Returns
        -------
        Distilled
            Fitted: its ``map_`` is one :class:`nearkin.maps.ThroughLandmarks`.

        Examples
        --------
        >>> import nearkin as nk
        >>> X, y = nk.datasets.make_xor(400, random_state=0)
        >>> metric = nk.MetricLearner(random_state=0).fit(
        ...     X, pairs=nk.Pairs.from_labels(y, 60, random_state=0)
        ... )
        >>> metric.distilled(X, 200, random_state=0).fidelity_ > 0.9
        True
        """
        from nearkin.learners.compositions import Distilled

        check_is_fitted(self)
        found = Distilled(
            clone(self),
            n_landmarks=n_landmarks,
            min_fidelity=min_fidelity,
            random_state=random_state,
        )
        found._validate_params()
        found._imitate(self, X)
        return found

    def explain(self, a: Any, b: Any, *, X: Any = None, pairs: Pairs | None = None) -> Explanation:
        """Why two rows are as far apart as the metric says: columns, words and answers.

        Parameters
        ----------
        a, b : array of shape (d,)
            Or a Series of pandas, or what ``transform`` takes, with one row.
        X : array of shape (n, d), optional
        pairs : Pairs, optional
            What the metric was learned from, if it does not know that any more: after it was loaded
            from a file, or where it keeps no rows.

        Returns
        -------
        Explanation
            Print it. :func:`nearkin.plot.explanation` draws it.

        Notes
        -----
        Parts of columns are Shapley values
        (:func:`nearkin.learners.explain.parts_by_column`), which sum to the squared distance.
        Answers are left out one by one, and the others learned from again in the space that there
        is; steps before the last of a chain stay. Learners that take longer than milliseconds are
        fitted again to X without each of the twelve answers that lie most along the two rows.

        Examples
        --------
        >>> import numpy as np
        >>> import nearkin as nk
        >>> X = np.random.default_rng(0).normal(size=(100, 3))
        >>> pairs = nk.Pairs.from_labels(X[:, 1] > 0, 40, random_state=0)
        >>> metric = nk.ITML(random_state=0).fit(X, pairs=pairs)
        >>> metric.explain(X[0], X[1]).named(1)
        ['1']
        """
        check_is_fitted(self)
        return explain_pair(self, a, b, X, pairs)

    def contributions(self, X_a: Any, X_b: Any) -> dict[str, Any]:
        """Which columns two rows are far apart in: the part of each in the squared distance.

        Parameters
        ----------
        X_a, X_b : array of shape (n, d)
            Compared row by row. Or one row each, of shape (d,) or a Series of pandas.

        Returns
        -------
        dict
            By name of the column, an array of shape (n,), or a number for one row. Parts sum to 1
            and may be negative, as in :meth:`explain`; all are 0 where rows are not apart.

        Examples
        --------
        >>> import nearkin as nk
        >>> import pandas as pd
        >>> people = {"name": ["Ada", "Ada", "Bob", "Rob"], "city": ["Rome", "Paris", "Bonn", None]}
        >>> metric = nk.Chain([nk.TableEncoder(), nk.Euclidean()])
        >>> metric = metric.fit(pd.DataFrame(people), pairs=nk.Pairs([(0, 1)], [(0, 2)]))
        >>> parts = metric.contributions(pd.DataFrame(people)[:1], pd.DataFrame(people)[1:2])
        >>> {column: float(part[0].round(6)) for column, part in parts.items()}
        {'name': 0.0, 'city': 1.0}
        """
        check_is_fitted(self)
        return contributions_by_column(self, X_a, X_b)

    def importances(self) -> dict[str, float]:
        """The share of each column in squared distances between rows of ``fit``, the largest first.

        It is the mean over 30 random pairs of 60 rows, found when it is first asked for. Shares
        sum to 1.

        Examples
        --------
        >>> import numpy as np
        >>> import nearkin as nk
        >>> X = np.random.default_rng(0).normal(size=(100, 3))
        >>> metric = nk.ITML(random_state=0).fit(X, X[:, 1] > 0)
        >>> next(iter(metric.importances()))
        '1'
        """
        check_is_fitted(self)
        if "_importances" not in vars(self):
            if "_some_rows" not in vars(self):
                raise InputError(
                    "importances are found from rows of fit, which a metric from a file, or of "
                    "rows that are elsewhere, does not keep: take the mean of "
                    "contributions(X_a, X_b) over pairs of rows."
                )
            self._importances = mean_shares_by_column(self, self._some_rows)
        return self._importances

    def save(self, path: StrPath, *, forget_names: bool = False) -> None:
        """Write the fitted learner to a file that :func:`nearkin.load` reads.

        The file holds parameters and arrays, never code, and no more of the training data than
        the metric needs: landmarks are rows of it (:func:`nearkin.model_file.describe` says how
        many). A file that is there already is replaced once the new one is complete. A function as
        kernel cannot be stored: a :class:`StorageError`.

        Parameters
        ----------
        path : path
            By custom with the ending ``.nearkin``.
        forget_names : bool, default=False
            Leave out the names of the columns.

        Examples
        --------
        >>> import tempfile, nearkin
        >>> X, y = nearkin.datasets.make_xor(100, random_state=0)
        >>> metric = nearkin.KernelBeta(n_landmarks=20, random_state=0).fit(X, y)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     metric.save(f"{folder}/xor.nearkin")
        ...     loaded = nearkin.load(f"{folder}/xor.nearkin")
        >>> (loaded.transform(X) == metric.transform(X)).all()
        np.True_
        """
        check_is_fitted(self)
        if forget_names and hasattr(self, "table_"):
            raise InputError(
                "forget_names=True: columns of a table with words are known by their names, "
                "without which the model could not be used."
            )
        model_file.save(self, path, forget_names=forget_names)

    def _encode_table(self, X: Any, *, reset: bool) -> Any:
        """Return a data frame with words as numbers, by ``table_``; other rows as they are.

        ``fit`` (``reset``) makes ``table_`` for words or a parameter ``table``.
        """
        if reset:
            given = getattr(self, "table", None)
            if validation.to_frame(X) is None or (
                given is None and not validation.find_word_columns(X)
            ):
                return X
            if getattr(self, "kernel", None) == "precomputed":
                return X
            from nearkin.tables.encoder import TableEncoder  # with much of scikit-learn

            self.table_ = TableEncoder() if given is None else clone(given)
            return to_plain(self.table_.fit_transform(X))
        table = getattr(self, "table_", None)
        if table is None:
            return X
        if validation.to_frame(X) is not None:
            return to_plain(table.transform(X))
        if isinstance(X, np.ndarray) and X.dtype.kind in "OUS":
            raise InputError(
                f"X has no names of columns, by which {type(self).__name__} knows them: give a "
                f"data frame with the columns {few(map(repr, table.columns_))}."
            )
        return X

    def _check_rows(self, X: Any, *, reset: bool = False) -> Any:
        """Return X as checked rows of numbers; refuse rows that the learner cannot take."""
        return validation.validate_rows(
            self,
            X,
            reset=reset,
            accept_sparse="csr" if self._sparse else False,
            order=self._order,
            ensure_min_samples=2 if reset else 1,
        )

    def _check_and_scale(self, X: Any, *, reset: bool) -> Any:
        """Return X checked, its columns divided by ``column_scale_``, which ``reset`` finds."""
        return scale_rows(self, self._check_rows(X, reset=reset), reset=reset)

    def _embed_rows(self, X: Any, rows: Integers) -> Any:
        """Embed the rows of these numbers of an unchecked X, as an array of shape (k, q)."""
        if backends.is_remote(X):  # whose names of columns the rows alone would not have
            return self.map_.apply(self._check_rows(X).take(rows))
        return self._embed(access.take(X, rows))

    def _embed(self, X: Any) -> Floats:
        """Embed rows as a plain array, whatever ``set_output`` asks ``transform`` for."""
        check_is_fitted(self)
        X = self._check_rows(X)
        if backends.is_remote(X):
            raise InputTypeError(
                "distances and scores take arrays, not rows that are read block by block: give "
                "some of them, for example rows.take(numbers), or blocks of transform(rows)."
            )
        Z = self.map_.apply(X)
        return cast("Floats", Z if backends.is_foreign(Z) else to_plain(Z))

    def _embed_both(self, X_a: Any, X_b: Any) -> tuple[Floats, Floats]:
        """Embed two sets of rows, which must be on one device; the first twice if X_b is None."""
        Z_a = self._embed(X_a)
        Z_b = Z_a if X_b is None else self._embed(X_b)
        if backends.describe_place(Z_a) != backends.describe_place(Z_b):
            raise InputError(
                f"X_a is an array of {backends.describe_place(Z_a) or 'NumPy'} and X_b one of "
                f"{backends.describe_place(Z_b) or 'NumPy'}: bring both to one place."
            )
        return Z_a, Z_b

    @property
    def _n_features_out(self) -> int:
        """Number of columns of ``transform``, for scikit-learn's names of these."""
        return int(self.n_components_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._sparse
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _keep(
        self, learned: Map, X: Any, evidence: Evidence, rng: Rng, embedding: Any = None
    ) -> None:
        """Set ``map_`` and the threshold from a map of scaled rows, at the end of a fit.

        ``embedding`` are the mapped rows of X, if the caller has them.
        """

        def embed_some(X: Any, rows: Integers) -> Any:
            return learned.apply(access.take(X, rows)) if embedding is None else embedding[rows]

        self.map_ = compose_after_scaling(self.column_scale_, learned)
        self._calibrate(X, evidence, rng, embed_some)

    def _measure_pairs(
        self, X: Any, y: Any, pairs: Pairs | None, purpose: str
    ) -> tuple[Pairs, Floats, Floats, Evidence]:
        """Return pairs to judge by, distances of must-links and of cannot-links, and the evidence.

        Pairs are numbered among the rows they name. Labels stand for pairs drawn from them.
        ``purpose`` names the caller in the error that is raised where either kind is missing.
        """
        evidence = gather_evidence(validation.count_rows(X), y, pairs)
        rng = check_random_state(getattr(self, "random_state", None))
        known = draw_example_pairs(evidence, rng, most=MOST_EXAMPLES)
        if not len(known.must_link) or not len(known.cannot_link):
            raise InputError(
                f"there are {len(known.must_link)} pairs that are the same and "
                f"{len(known.cannot_link)} that are different: {purpose} needs both."
            )
        rows = known.points
        Z = self._embed_rows(X, rows)
        known = known.restrict(rows)
        same, different = (
            np.asarray(backends.to_numpy(linked_distances(Z, links)), dtype=np.float64)
            for links in (known.must_link, known.cannot_link)
        )
        return known, same, different, evidence

    def _draw_distances(self, X: Any) -> Floats:
        """Learned distances of 2000 random pairs of rows of X, to estimate prevalence from."""
        rng = check_random_state(getattr(self, "random_state", None))
        links = draw_links(validation.count_rows(X), rng, _RANDOM_PAIRS)
        rows, places = np.unique(links, return_inverse=True)
        if not len(rows):
            return np.empty(0)
        Z = self._embed_rows(X, rows)
        return backends.to_numpy(linked_distances(Z, places.reshape(links.shape)))

    def _calibrate(
        self, X: Any, evidence: Evidence, rng: Rng, embedded: Callable[[Any, Integers], Any]
    ) -> None:
        """Set ``learned_from_``, the threshold and the other attributes in ``VERDICTS``.

        ``embedded(X, rows)`` maps rows of X. For small X the attributes are found at first access,
        unless ``random_state`` is a generator, which has to draw now.
        """
        for name in VERDICTS:
            self.__dict__.pop(name, None)
        self.learned_from_ = evidence.counts(validation.count_rows(X))
        takeable_rows, own = access.takeable_rows(X), getattr(self, "random_state", None)
        few = isinstance(X, np.ndarray) and X.size <= _MOST_KEPT
        if few and not isinstance(own, np.random.RandomState):
            state = rng.get_state(legacy=False)
            self._late_verdicts = LateVerdicts(X.copy(), takeable_rows, evidence, state, embedded)
            return
        examples = draw_examples(takeable_rows, evidence, rng)
        self.__dict__.update(examples.verdicts(embedded(X, examples.rows)))

    def _get_verdict(self, name: str) -> float | None:
        """Return an attribute such as ``threshold_``, computed now if ``fit`` deferred it."""
        self._find_late_verdicts()
        if name not in vars(self):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return cast("float | None", vars(self)[name])

    def _find_late_verdicts(self) -> None:
        """Compute the threshold and the other ``VERDICTS`` if ``fit`` deferred them."""
        late: LateVerdicts | None = vars(self).get("_late_verdicts")
        if late is None:
            return
        for name, value in late.compute().items():  # but what was set meanwhile
            self.__dict__.setdefault(name, value)
        self.__dict__.pop("_late_verdicts", None)  # or another thread did it

    def __getstate__(self) -> Any:
        self._find_late_verdicts()
        return super().__getstate__()

    def _copy_verdicts(self, metric: Any) -> None:
        """Copy the threshold and the other ``VERDICTS`` of a metric with the same distances."""
        for name in VERDICTS:
            setattr(self, name, getattr(metric, name, None))
        self.learned_from_ = metric.learned_from_

    def _keep_some_rows(self, X: Any) -> None:
        """Keep 60 evenly spaced rows of X for :meth:`importances`, if X is on the host."""
        if backends.is_remote(X) or backends.is_foreign(X) or getattr(X, "is_read_once", False):
            return
        if (
            hasattr(X, "__array__") and validation.to_frame(X) is None
        ):  # it may have no rows to take
            X = np.asarray(X)
        n = validation.count_rows(X)
        self._some_rows = access.take(X, backends.evenly_spaced(n, _ROWS_FOR_IMPORTANCES))

    def _refit(self, X: Any, pairs: Pairs) -> Any:
        """Return a copy fitted to these rows and pairs."""
        pairs.check_rows(validation.count_rows(X))
        with one_blas_thread():
            return clone(self).fit(X, pairs=pairs)

    def _find_taught_parts(self, rows: list[Any], share: float = 1.0) -> list[TaughtPart]:
        """Return the parts of the metric that can learn again in milliseconds, for :meth:`explain`.

        ``rows`` are the two rows explained, ``share`` is the weight of this metric's squared
        distances in those of the whole. The list is empty where ``fit`` keeps no space, or after
        loading from a file.
        """
        del rows, share
        return []

    def _check_dense_rows(self, X: Any) -> Floats:
        """Return X checked, as a dense host array that the map of :meth:`_get_column_map` takes."""
        return backends.to_numpy(to_dense(self._check_rows(X)))

    def _get_column_map(self) -> tuple[Map, Any]:
        """Return the map of rows of numbers, and for each number the name of its column."""
        groups = self.__dict__.get("_names_of_columns")  # where others know them
        if groups is None:
            groups = getattr(self._get_encoder(), "groups_", None)
        if groups is None:
            groups = getattr(self, "feature_names_in_", range(self.n_features_in_))
        return self.map_, groups

    def _get_encoder(self) -> Any:
        """Return the TableEncoder that turns tables into rows of numbers, or None."""
        return getattr(self, "table_", None)


def _choose_prevalence(
    prevalence: Prevalence, verdicts: Verdicts, distances: Callable[[], Floats]
) -> float:
    """Return the prevalence given, that of the verdicts, or one estimated from ``distances()``."""
    if prevalence is None:
        return verdicts.prevalence
    if isinstance(prevalence, str) and prevalence == ESTIMATED:
        return estimate_prevalence(verdicts, distances())
    return check_share(prevalence, "prevalence")


def gather_read_once(learner: Any, X: Any, y: Any, pairs: Pairs | None) -> Any:
    """Gather rows in pairs, and random ones, of blocks that can be read only once, or return X."""
    if not getattr(X, "is_read_once", False):
        return X
    if y is not None:
        raise InputError(
            "labels need a second pass over the rows, but these can be read only once. Give a list "
            "of blocks, or a function that returns a new iterable of them."
        )
    points = pairs.points if isinstance(pairs, Pairs) else np.empty(0, dtype=np.int64)
    landmarks = getattr(learner, "landmarks", "random")
    if not isinstance(landmarks, str):  # row numbers
        points = np.union1d(points, np.asarray(landmarks)).astype(np.int64)
    return X.gathered(points, random_state=learner.random_state)


def _cast_to_common_type(distances: Any, Z_a: Any, Z_b: Any) -> Floats:
    """Cast distances to the common type of both embeddings."""
    dtype = backends.namespace(Z_a).result_type(Z_a.dtype, Z_b.dtype)
    return cast("Floats", backends.as_type(distances, dtype))


def stored_metric(**fields: schema.Spec) -> Callable[[_Class], _Class]:
    """Decorate a metric class with what its files store: fields of all metrics, and its own."""
    return schema.stored(
        n_features_in_=schema.size("d"),
        feature_names_in_=schema.maybe(schema.words("d")),
        n_components_=schema.size("q"),
        column_scale_=schema.maybe(schema.positive_floats("d")),
        threshold_=schema.real,
        sharpness_=schema.maybe(schema.real),
        far_sharpness_=schema.maybe(schema.real),
        prevalence_=schema.maybe(schema.share),
        same_distance_=schema.maybe(schema.real),
        learned_from_=schema.maybe(schema.dict_of(schema.whole)),
        vector_column_=schema.maybe(schema.text),
        fill_values_=schema.maybe(schema.floats("d")),
        table_=schema.maybe(schema.a("TableEncoder")),
        **fields,
    )


def stored_learner(**fields: schema.Spec) -> Callable[[_Class], _Class]:
    """Decorate a learner class like :func:`stored_metric`, with its own ``map_`` as a field."""
    return stored_metric(**fields, map_=MAP)
