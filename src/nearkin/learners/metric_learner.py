"""MetricLearner: the learner that chooses among the others."""

from __future__ import annotations

from contextlib import nullcontext
from copy import copy
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Annotated, Any, ClassVar, Literal, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context, clone
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval
from sklearn.utils.random import sample_without_replacement
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Doubles, Floats, Ints, Rng
from nearkin.errors import few
from nearkin.learners import selection
from nearkin.learners.base import MetricMixin, gather_read_once, replace_state, stored_metric
from nearkin.learners.column_weights import find_column_groups
from nearkin.learners.compositions import Blend, Chain
from nearkin.learners.explain import TaughtPart
from nearkin.learners.fit_steps import keep_results
from nearkin.learners.geometry_aware import FewRowsWarning
from nearkin.learners.parameters import (
    Count,
    Listed,
    NotNegative,
    SeedParameter,
    Transformer,
    with_parameters,
)
from nearkin.learners.selection import usual_blend
from nearkin.messages import mute_categories, notice, show_progress, tell
from nearkin.pairs.answers import Answerer, Answers
from nearkin.pairs.closure import keys_of
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import (
    ContradictionWarning,
    Evidence,
    draw_example_pairs,
    gather_evidence,
)
from nearkin.rows import access, backends
from nearkin.rows.distances import centre, mean_row, middle
from nearkin.rows.parallel import one_blas_thread
from nearkin.rows.scaling import ScaleWarning, choose_scales, column_scales, divide_columns
from nearkin.rows.sparse import axes_of_wide_rows, is_sparse, leading_axes, project_along, to_dense
from nearkin.rows.validation import count_rows
from nearkin.scores.held_out import estimate_chances, find_suspects_of_metric, weaken_doubtful_pairs
from nearkin.spaces.maps import Affine, Identity, Map, compose, compose_after_scaling
from nearkin.spaces.spread_pairs import spread_pairs
from nearkin.storage.schema import a, estimator, floats, list_of, maybe

# Rows that come to the host, unless pairs name more; and how many of them have labels at least, if
# so many are known. They bound time and memory, and were not tuned.
SAMPLE_ROWS = 5000
_LABELLED_ROWS = 2500
# Principal axes that are kept at most, by the goal (benchmarks/few_pairs, neighbours).
_MOST_AXES = {"groups": 64, "search": 1000}
# Columns that a report names.
_MOST_NAMED = 20


@dataclass(frozen=True)
class HostSample:
    """Rows to learn from, on the host."""

    X: Any  # (m, d), perhaps sparse
    numbers: Ints | None  # of the rows given, increasing; None for all of them
    n_given: int

    def renumbered(self, told: Any) -> Any:
        """Renumber pairs or evidence about the rows given, for these rows."""
        return told if self.numbers is None else told.restrict(self.numbers)


def take_host_sample(X: Any, evidence: Evidence, rng: Rng) -> HostSample:
    """Take the rows to learn from to the host: the same ones wherever all of them are.

    They are those that pairs name, 2500 with labels, and others, so that there are 5000. Of no more
    rows all are taken, and nothing is drawn. One pass over rows that are read block by block, and
    memory for the sample and the numbers of labelled rows.
    """
    n = int(X.shape[0])
    if n <= SAMPLE_ROWS and not (backends.is_foreign(X) or backends.is_remote(X)):
        return HostSample(X, None, n)
    numbers = _drawn(X, evidence, rng)
    return HostSample(access.take_to_host(X, numbers), numbers, n)


def _drawn(X: Any, evidence: Evidence, rng: Rng) -> Ints:
    """Numbers of the rows to take, increasing."""
    can_be_taken = access.takeable_rows(X)
    n = can_be_taken if isinstance(can_be_taken, int) else len(can_be_taken)
    if n <= SAMPLE_ROWS:
        return access.takeable_numbers(X).astype(np.int64)
    kept = evidence.pairs.points
    if evidence.classes is not None:
        labelled = np.flatnonzero(evidence.classes >= 0)
        if len(labelled) > _LABELLED_ROWS:
            labelled = rng.choice(labelled, _LABELLED_ROWS, replace=False)
        kept = np.union1d(kept, labelled)
    # Enough of them, whichever were taken already.
    others = sample_without_replacement(n, SAMPLE_ROWS, random_state=rng)
    if not isinstance(can_be_taken, int):
        others = can_be_taken[others]
    others = rng.permutation(np.setdiff1d(others, kept))[: max(0, SAMPLE_ROWS - len(kept))]
    return np.union1d(kept, others).astype(np.int64)


@stored_metric(
    axes_=maybe(floats("r d")),
    metric_=estimator,
    report_=a("SelectionReport"),
    suspects_=list_of(a("Suspect")),
)
@with_parameters
class MetricLearner(MetricMixin, SeedParameter, BaseEstimator):
    """Compare learners on held-out pairs, and blend the best of them into one metric.

    It is learned from all pairs, blended with the Euclidean distance where it is not certain to be
    better, and given up for it where nothing is gained. Pairs that look wrong count less and are
    listed.

    Parameters
    ----------
    time_budget : float, default=10.0
        About how many seconds the comparison may take. Costly candidates take part if there is
        room for them, by a prediction from the size of the data: the choice does not depend on how
        fast the machine is. 0 compares nothing.
    robust : bool, default=True
        Whether pairs count less that a metric learned from other pairs disagrees with.
    scale : bool or "auto", default="auto"
        Whether columns are divided by their spreads first, as in :class:`Euclidean`. By default
        where units differ by more than a hundred times; ``report_.columns`` says it.
    spread : bool, default=False
        Whether pairs are spread to the rows around them before the chosen metric is learned
        (:func:`nearkin.spread_pairs`).
    goal : {"groups", "search"}, default="groups"
        ``"groups"``: tell the kinds of rows apart that pairs speak of. ``"search"``: find near
        rows, those of kinds too that no pair speaks of, such as persons who join later. Most of
        the Euclidean distance stays then, which loses some pair AUC on the kinds spoken of.
    n_components : int, None or "auto", default="auto"
        Columns of ``transform`` at most: of all coordinates, the principal axes. By default 64,
        beyond which pair AUC changes by less than 0.001, or for ``goal="search"`` as many as hold
        0.9999 of the variance: fewer lose near rows of kinds that no pair speaks of. None keeps
        all.
    n_landmarks : int, default=300
        Rows that stand for all others in kernels, where there are more. Of a graph along the data
        600 do, or as many, if that is more.
    groups : sequence of d names or numbers, optional
        One for each column of X, equal for those that belong together: then learners take part that
        weigh these as one. Columns of a data frame with words are such groups by themselves.
    table : TableEncoder, optional
        How a data frame becomes rows of numbers, where more is to be said of it than can be
        recognised: ``TableEncoder(kinds={"phone": "code"})``. By default frames with words have one
        of its own, and frames of numbers none.
    verbose : bool, default=False
        Show a bar while candidates are compared, and how it went.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    metric_ : learner
        The chosen one, fitted. Row numbers in it are those of the sample, if one was taken.
    table_ : TableEncoder
        What makes numbers of data frames, if X was one with words, or ``table`` was given.
    column_scale_ : ndarray of shape (d,) or None
        What columns are divided by first.
    axes_ : ndarray of shape (r, d) or None
        Along which rows are seen after that, if they are sparse or have more than 1000 columns.
    report_ : SelectionReport
        Candidates with their pair AUC on held-out pairs, the reason for the choice, and how well
        the metric tells same from different, with 90 % intervals: print it.
        :func:`nearkin.plot.selection` draws it.
    suspects_ : list of Suspect
        Pairs that look wrong, the worst first; a right one may be among them. To withdraw them:
        ``pairs.without([suspect.pair for suspect in metric.suspects_])``.
    answerers_ : list of Answerer
        Who answered, with the share of wrong answers and its 90 % interval, the most reliable
        first; empty unless ``pairs`` were :class:`Answers`.
    threshold_, sharpness_, far_sharpness_, prevalence_, same_distance_
        As in :class:`KernelBeta`; both sharpnesses are the same where there were enough pairs to
        hold out.
    map_, n_components_, learned_from_, n_features_in_, feature_names_in_
        As in :class:`Euclidean`.

    Warns
    -----
    SelectionWarning
        If there are too few pairs to choose by, or if nothing is gained over the Euclidean
        distance.

    Notes
    -----
    Held-out pairs share no point with those learned from, so that none follows from these. At most
    1000 pairs and their points, or 600 rows, take part in the comparison, whatever n is. Labels
    act through pairs drawn from them in the comparison; the metric itself is learned from the
    labels.

    Where there are triplets, learners take part that learn from them, and triplets are held out as
    pairs are: that with the nearer row counts as a must-link and that with the farther row as a
    cannot-link where candidates are judged.

    Few pairs say little about many columns. Where there are more, all learners but the Euclidean
    distance see 10 + 2 √k principal axes for k pairs, 100 at most: this decides more than the
    choice of learner for text embeddings, of which few axes matter. Where plain distances along
    these tell the pairs apart clearly worse than those in all columns, as with records that differ
    in many small ways, learners see all columns (300 axes, if there are more).

    Sparse rows of more than 300 columns are seen along their 300 leading singular vectors.

    Of more than 5000 rows all is learned from a sample: the rows that pairs name, 2500 labelled
    ones, and others at random, 5000 together, unless pairs name more. It is the same wherever the
    rows are, in memory, in files, on a cluster of Dask or on a device, and comes to the host in one
    pass; rows are then mapped where they are.

    Memory: what the chosen learners need, m² numbers for m landmarks, and some copies of the
    sample. Steps that the chosen learners share are learned once, and rows as these leave them are
    held until ``fit`` ends. What is kept, and its file, have ``n_landmarks`` rows for each learner,
    and those that pairs name; 600 at least for one on a graph.

    Examples
    --------
    >>> from nearkin import MetricLearner, Pairs
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(200, random_state=0)
    >>> pairs = Pairs.from_labels(y, 60, random_state=0)
    >>> metric = MetricLearner(random_state=0).fit(X, pairs=pairs)
    >>> X_new, y_new = make_xor(40, random_state=1)
    >>> metric.score(X_new, y_new) > 0.9
    True
    """

    _sparse: ClassVar[bool] = True
    _array_api: ClassVar[bool] = True
    _remote: ClassVar[bool] = True
    _takes_answers: ClassVar[bool] = True

    time_budget: NotNegative = 10.0
    robust: bool = True
    scale: bool | Literal["auto"] = "auto"
    spread: bool = False
    goal: Literal["groups", "search"] = "groups"
    n_components: Count | Literal["auto"] | None = "auto"
    n_landmarks: Annotated[int, Interval(Integral, 2, None, closed="left")] = 300
    groups: Listed | None = None
    table: Transformer | None = None
    verbose: bool = False

    @replace_state
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | Answers | None = None) -> Self:
        """Compare candidates on held-out pairs, and learn the best from all of them.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Or rows elsewhere: an array on a device, or what :func:`nearkin.open_rows` gives.
        y : array of shape (n,), optional
            Labels; negative means unknown.
        pairs : Pairs or Answers, optional
            Pairs of rows of X. Of answers by several people it is estimated who is wrong how often,
            with the help of the metric: ``answerers_`` lists them.

        Returns
        -------
        self
        """
        answers, told = (pairs, pairs.pairs) if isinstance(pairs, Answers) else (None, pairs)
        X = self._check_rows(gather_read_once(self, X, y, told), reset=True)
        rng = check_random_state(self.random_state)
        # Answers that contradict each other are what a rate of wrong ones is estimated from.
        with nullcontext() if answers is None else mute_categories(ContradictionWarning):
            evidence = gather_evidence(X.shape[0], y, told, triplets=True)
        judges = evidence
        if answers is not None and not answers.tell_nothing:
            judges = Evidence(answers.telling, evidence.classes)
        sample = take_host_sample(X, evidence, rng)
        X = sample.X
        examples = draw_example_pairs(sample.renumbered(judges), rng)
        self.column_scale_, remark = self._scales(X)
        X = divide_columns(X, self.column_scale_)
        if is_sparse(X):
            self.axes_ = leading_axes(centre(X, middle(X)), rng)
        else:
            self.axes_ = axes_of_wide_rows(X, mean_row(X), rng)
        rows = project_along(X, self.axes_) if is_sparse(X) or self.axes_ is not None else X
        X = np.asarray(rows, dtype=X.dtype)
        # Many small matrices; blocks of rows are on all cores.
        with keep_results(), one_blas_thread():
            # Along axes there are no columns that could belong together.
            groups = None if self.axes_ is not None else find_column_groups(self, X.shape[1])
            trial = selection.SelectionSample(
                X, examples, rng, for_search=self.goal == "search", groups=groups
            )
            return self._chosen_and_fitted(X, evidence, answers, sample, trial, remark)

    def _chosen_and_fitted(
        self,
        X: Floats,
        evidence: Evidence,
        answers: Answers | None,
        sample: HostSample,
        trial: selection.SelectionSample,
        remark: str,
    ) -> Self:
        """Choose a recipe, and learn it from all pairs and all rows on the host."""
        if answers is not None and answers.tell_nothing:
            report = selection.keep_euclidean(
                "Answers contradict each other so that nothing follows from them: the Euclidean "
                "distance is kept."
            )
        else:
            report = self._report(trial)
        report = replace(report, columns=remark)
        if report.chance_of_gain is None or set(report.recipe) == {selection.EUCLIDEAN}:
            notice(report.reason, selection.SelectionWarning)
        elif (doubt := selection.describe_doubt(report)) is not None:
            notice(doubt, selection.SelectionWarning)
        given = evidence.pairs
        rank = trial.ranks(report.recipe, sample.renumbered(given))
        metric = self._metric(report.recipe, trial)
        # Of contradictions there was a warning already.
        with mute_categories(ContradictionWarning, ScaleWarning, FewRowsWarning):
            told, answerers = self._trusted(given, answers, rank)
            told = sample.renumbered(told)
            triplets = Pairs(closer=told.closer, closer_weight=told.closer_weight)
            plain = told.without(told.closer)
            if self.spread and len(plain):
                told = spread_pairs(X, plain) + triplets
            classes = sample.renumbered(evidence).classes
            metric.fit(X, classes, pairs=told if len(told) else None)
        self.metric_ = metric
        Z = metric.map_.apply(trial.X)
        verdicts, quality = trial.judgement(report.recipe, Z, float(metric.threshold_))
        self.report_ = replace(report, answerers=answerers, quality=quality)
        learned = trial.distances(Z, sample.renumbered(given))
        self.suspects_ = find_suspects_of_metric(given, rank, learned)
        self.n_components_ = metric.n_components_
        self._copy_verdicts(metric)
        self.__dict__.update(verdicts)
        self.learned_from_ = evidence.counts(sample.n_given)
        self._numbers = sample.numbers
        if self.verbose:
            tell(f"{self.report_}\n")
        return self

    def _trusted(
        self, given: Pairs, answers: Answers | None, rank: Floats
    ) -> tuple[Pairs, list[Answerer]]:
        """Weigh pairs by how far others bear them out, and tell who answered how well."""
        if answers is None:
            return weaken_doubtful_pairs(given, rank) if self.robust else given, []
        if not self.robust:
            return given, answers.answerers
        ends = np.concatenate([given.must_link, given.cannot_link])
        before = np.full(len(answers.links), np.nan)
        place = np.searchsorted(keys_of(answers.links), keys_of(ends))
        before[place] = estimate_chances(given, rank)
        return answers.agreed(before)

    @property
    def answerers_(self) -> list[Answerer]:
        """Who answered, and how often wrong."""
        return self.report_.answerers

    @cached_property
    def map_(self) -> Map:  # type: ignore[override]
        """What was learned: the chosen metric's map, of rows that are divided and along axes."""
        axes = getattr(self, "axes_", None)
        learned = self.metric_.map_
        along_axes = learned if axes is None else compose(Affine(axes), learned)
        return compose_after_scaling(getattr(self, "column_scale_", None), along_axes)

    def relearned(self, X: Any, pairs: Pairs) -> MetricLearner:
        """Return a copy that learned the chosen recipe from other pairs, without a new comparison.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
            Rows such as this was fitted to. Of many a sample is taken, as in ``fit``.
        pairs : Pairs
            Pairs of these.

        Returns
        -------
        MetricLearner
            Its ``metric_`` and ``map_`` are new. Its report, suspects and threshold are those of
            this one.

        Examples
        --------
        >>> import nearkin as nk
        >>> X, y = nk.datasets.make_xor(200, random_state=0)
        >>> metric = nk.MetricLearner(random_state=0).fit(
        ...     X, pairs=nk.Pairs.from_labels(y, 40, random_state=0)
        ... )
        >>> more = nk.Pairs.from_labels(y, 60, random_state=1)
        >>> metric.relearned(X, more).report_ is metric.report_
        True
        """
        check_is_fitted(self)
        evidence = gather_evidence(count_rows(X), None, pairs, triplets=True)
        rng = check_random_state(self.random_state)
        sample = take_host_sample(self._check_rows(X), evidence, rng)
        seen = self._seen_by_metric.apply(sample.X)
        again = copy(self)
        for of_before in ("_importances", "map_"):
            again.__dict__.pop(of_before, None)
        again._numbers = sample.numbers
        with one_blas_thread():
            again.metric_ = clone(self.metric_).fit(seen, pairs=sample.renumbered(pairs))
        return again

    def _find_taught_parts(self, rows: list[Any], share: float = 1.0) -> list[TaughtPart]:
        if self.spread:  # learned from more than was answered
            return []
        seen = [self._seen_by_metric.apply(self._check_rows(row)) for row in rows]
        parts: list[TaughtPart] = self.metric_._find_taught_parts(seen, share)
        numbers = getattr(self, "_numbers", None)
        return [replace(part, numbers=numbers) for part in parts]

    def _refit(self, X: Any, pairs: Pairs) -> Any:
        pairs.check_rows(count_rows(X))
        return self.relearned(X, pairs)

    @property
    def _seen_by_metric(self) -> Map:
        """What becomes of rows before the chosen metric sees them."""
        axes = getattr(self, "axes_", None)
        return compose_after_scaling(
            self.column_scale_, Identity() if axes is None else Affine(axes)
        )

    def _check_rows(self, X: Any, *, reset: bool = False) -> Any:
        X = super()._check_rows(X, reset=reset)
        # Of few columns the metric was learned from dense rows.
        few = not reset and getattr(self, "axes_", None) is None
        return to_dense(X) if few else X

    def _scales(self, X: Any) -> tuple[Doubles | None, str]:
        """What columns are divided by, or None, and why."""
        if hasattr(self, "table_"):
            held = getattr(self.table_, "held_", {})
            shown = few((f"{name!r} ({what})" for name, what in held.items()), _MOST_NAMED)
            return None, f"Columns hold {shown}." if held else ""
        if self.scale == "auto":
            return choose_scales(X, getattr(self, "feature_names_in_", None))
        if self.scale:
            return column_scales(X), "Columns are divided by their spreads, as asked for."
        return None, ""

    def _report(self, trial: selection.SelectionSample) -> selection.SelectionReport:
        names = trial.affordable(float(self.time_budget))
        if len(trial.pairs) < selection.LEAST_PAIRS:
            why = f"{len(trial.pairs)} pairs are too few to choose a metric by"
        elif not names:
            why = "There is no time to compare metrics"
        else:
            shown = show_progress(names, "comparing metrics", shown=self.verbose)
            return trial.choice(shown)
        if selection.finds_copies(trial.X, trial.pairs):
            return selection.keep_euclidean(
                f"{why}: the Euclidean distance is kept, which has must-links nearer than nearly "
                "all random pairs already."
            )
        return selection.report_uncompared(usual_blend(trial.learners), why)

    def _metric(self, recipe: selection.Recipe, trial: selection.SelectionSample) -> Any:
        """Make the learner of a recipe for all rows."""
        learners = trial.make_ingredients(self.n_landmarks, trial.n_rows)
        parts = []
        for name in recipe:
            learner = learners[name].learner
            reduction = trial.view(learners[name]).reduction
            parts.append(learner if reduction is None else Chain([reduction, learner]))
        most = self.n_components
        if most == "auto":
            most = _MOST_AXES[self.goal]
        is_plain = set(recipe) == {selection.EUCLIDEAN} and trial.X.shape[1] <= (most or np.inf)
        if is_plain or (len(parts) == 1 and most is None):
            return parts[0]
        weights = list(recipe.values())
        return Blend(parts, weights=weights, n_components=most, random_state=trial.seed)
