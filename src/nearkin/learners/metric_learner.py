"""MetricLearner: the learner that chooses among the others."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, Literal, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions

from nearkin.learners.compositions import Blend, Chain
from nearkin.learners.metric import MetricMixin
from nearkin.learners.portfolio import USUAL, Ingredient, ingredients, recipes
from nearkin.learners.preparation import (
    View,
    scales_of_differing,
    tells_copies,
    view_by_few_axes,
)
from nearkin.learners.selection import (
    EUCLIDEAN,
    LEAST_PAIRS,
    N_FOLDS,
    HeldOut,
    Recipe,
    SelectionReport,
    SelectionWarning,
    choose,
    hold_out,
    unseen_choice,
    unseen_copies,
)
from nearkin.learners.stored import stored_metric
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import (
    ContradictionWarning,
    Evidence,
    example_pairs,
    gather_evidence,
)
from nearkin.rows.arrays import Floats
from nearkin.rows.centring import centred, mean_row, middle
from nearkin.rows.column_scales import scales_of
from nearkin.rows.notices import leaving_out, notice
from nearkin.rows.once import keeping_results
from nearkin.rows.progress import progress, tell
from nearkin.rows.scaled import ScaleWarning, divided
from nearkin.rows.sparse import along, dense, is_sparse, leading_axes
from nearkin.rows.wide import axes_of_wide_rows
from nearkin.scores.suspects import suspects, trusted
from nearkin.spaces.maps import Affine, Map, after_scaling, composed
from nearkin.spaces.spread_pairs import spread_pairs
from nearkin.storage.schema import a, estimator, floats, list_of, maybe

# Rows and pairs that candidates are compared on, at most.
_MOST_ROWS = 1000
_MOST_PAIRS = 1000
# Principal axes that rows are reduced to before anything is learned from them, at most: as a rule,
# and where pairs tell that those are too few.
_MOST_AXES, _MOST_COLUMNS = 100, 300
# Landmarks of kernels while candidates are compared.
_FEW_LANDMARKS = 300


@stored_metric(
    axes_=maybe(floats("r d")),
    metric_=estimator,
    report_=a("SelectionReport"),
    suspects_=list_of(a("Suspect")),
)
class MetricLearner(MetricMixin, BaseEstimator):
    """The learner for those who do not want to choose one.

    Candidates made of this library's learners are compared on held-out pairs. The best is learned
    from all pairs, blended with the Euclidean distance where it is not certain to be better, and
    given up for it where nothing is gained. Pairs that look wrong count less and are listed.

    Parameters
    ----------
    time_budget : float, default=10.0
        About how many seconds the comparison may take. Costly candidates take part if there is
        room for them, by a prediction from the size of the data: the choice does not depend on how
        fast the machine is. 0 compares nothing.
    robust : bool, default=True
        Whether pairs count less that a metric learned from other pairs disagrees with.
    scale : bool or "auto", default="auto"
        Whether columns are divided by their spreads first: standard deviations, in which outliers
        count little. By default where units differ by more than a hundred times;
        ``report_.columns`` says it.
    spread : bool, default=False
        Whether pairs are spread to the rows around them before the chosen metric is learned
        (:func:`nearkin.spread_pairs`).
    n_landmarks : int, default=500
        Rows that stand for all others in kernels, where there are more.
    verbose : bool, default=False
        Show a bar while candidates are compared, and how it went.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    metric_ : learner
        The chosen one, fitted.
    column_scale_ : ndarray of shape (d,) or None
        What columns are divided by first.
    axes_ : ndarray of shape (r, d) or None
        Along which rows are seen after that, if they are sparse or have more than 1000 columns.
    report_ : SelectionReport
        Candidates with their pair AUC on held-out pairs, and the reason for the choice: print it.
        :func:`nearkin.plot.selection` draws it.
    suspects_ : list of Suspect
        Pairs that look wrong, the worst first; a right one may be among them. To withdraw them:
        ``pairs.without([suspect.pair for suspect in metric.suspects_])``.
    map_ : map
        What was learned, from rows to coordinates: see :mod:`nearkin.maps`.
    n_components_ : int
    threshold_ : float
        Learned distance up to which ``same`` says yes.
    sharpness_, far_sharpness_ : float
        How quickly ``chance_same`` falls with the distance, below and above ``threshold_``.
    prevalence_ : float
        Share of pairs that are the same, as far as verdicts suppose: ½ after ``fit``.
    same_distance_ : float or None
        Median distance of the pairs known to be the same.
    learned_from_ : dict
        How many rows, must-links, cannot-links, labels and classes there were.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X has column names.

    Warns
    -----
    SelectionWarning
        If there are too few pairs to choose by, or if nothing is gained over the Euclidean
        distance.

    Notes
    -----
    Held-out pairs share no point with those learned from, so that none follows from these. At most
    1000 pairs and their points, or 1000 rows, take part in the comparison, whatever n is. Labels
    act through pairs drawn from them in the comparison; the metric itself is learned from the
    labels.

    Where there are triplets, learners take part that learn from them, and triplets are held out as
    pairs are: that with the nearer row counts as a must-link and that with the farther row as a
    cannot-link where candidates are judged.

    Few pairs say little about many columns. Where there are more, all learners but the Euclidean
    distance see 10 + 2 √k principal axes for k pairs, 100 at most: this decides more than the
    choice of learner for text embeddings, of which few axes matter. Where plain distances along
    these tell the pairs apart clearly worse than those in all columns, as with records that differ
    in many small ways, learners see all columns (300 axes, if there are more); and candidates that
    do are compared in any case.

    Sparse rows of more than 300 columns are seen along their 300 leading axes, right singular
    vectors, whatever the learner.

    Memory: what the chosen learners need, m² numbers for m landmarks, and some thousand rows; 300
    numbers for each sparse row, and a copy of the rows if columns are scaled. Steps that the chosen
    learners share are learned once, and rows as these leave them are held until ``fit`` ends.

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

    def __init__(
        self,
        *,
        time_budget: float = 10.0,
        robust: bool = True,
        scale: bool | Literal["auto"] = "auto",
        spread: bool = False,
        n_landmarks: int = 500,
        verbose: bool = False,
        random_state: Any = None,
    ) -> None:
        self.time_budget = time_budget
        self.robust = robust
        self.scale = scale
        self.spread = spread
        self.n_landmarks = n_landmarks
        self.verbose = verbose
        self.random_state = random_state

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "time_budget": [Interval(Real, 0, None, closed="left")],
        "robust": ["boolean"],
        "scale": ["boolean", StrOptions({"auto"})],
        "spread": ["boolean"],
        "n_landmarks": [Interval(Integral, 2, None, closed="left")],
        "verbose": ["boolean"],
        "random_state": ["random_state"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Compare candidates on held-out pairs, and learn the best from all of them.

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
        X = self._checked(X, reset=True)
        rng = check_random_state(self.random_state)
        evidence = gather_evidence(X.shape[0], y, pairs, triplets=True)
        examples = example_pairs(evidence, rng)
        self.column_scale_, remark = self._scales(X)
        X = divided(X, self.column_scale_)
        if is_sparse(X):
            self.axes_ = leading_axes(centred(X, middle(X)), rng)
        else:
            self.axes_ = axes_of_wide_rows(X, mean_row(X), rng)
        rows = along(X, self.axes_) if is_sparse(X) or self.axes_ is not None else X
        X = np.asarray(rows, dtype=X.dtype)
        with keeping_results():
            return self._chosen_and_fitted(X, y, evidence, _Trial(X, examples, rng), remark)

    def _chosen_and_fitted(
        self, X: Floats, y: Any, evidence: Evidence, trial: _Trial, remark: str
    ) -> Self:
        """The choice, and what is learned of all rows."""
        report = replace(self._report(trial), columns=remark)
        if report.chance_of_gain is None or set(report.recipe) == {EUCLIDEAN}:
            notice(report.reason, SelectionWarning)
        given = evidence.pairs
        rank = trial.ranks(report.recipe, given)
        metric = self._metric(report.recipe, trial)
        # Of contradictions there was a warning already.
        with leaving_out(ContradictionWarning, ScaleWarning):
            told = trusted(given, rank) if self.robust else given
            triplets = Pairs(closer=told.closer, closer_weight=told.closer_weight)
            plain = told.without(told.closer)
            if self.spread and len(plain):
                told = spread_pairs(X, plain) + triplets
            metric.fit(X, y, pairs=told if len(told) else None)
        self.metric_ = metric
        self.report_ = report
        self.suspects_ = suspects(given, rank)
        self.n_components_ = metric.n_components_
        self._calibrate_as(metric)
        self.learned_from_ = evidence.counts(len(X))
        if self.verbose:
            tell(f"{report}\n")
        return self

    @property
    def map_(self) -> Map:  # type: ignore[override]
        """What was learned: the chosen metric's map, of rows that are divided and along axes."""
        axes = getattr(self, "axes_", None)
        learned = self.metric_.map_
        along_axes = learned if axes is None else composed(Affine(axes), learned)
        return after_scaling(getattr(self, "column_scale_", None), along_axes)

    def _checked(self, X: Any, *, reset: bool = False) -> Any:
        X = super()._checked(X, reset=reset)
        # Of few columns the metric was learned from dense rows.
        few = not reset and getattr(self, "axes_", None) is None
        return dense(X) if few else X

    def _scales(self, X: Any) -> tuple[NDArray[np.float64] | None, str]:
        """What columns are divided by, or None, and why."""
        if self.scale == "auto":
            return scales_of_differing(X, getattr(self, "feature_names_in_", None))
        if self.scale:
            return scales_of(X), "Columns are divided by their spreads, as asked for."
        return None, ""

    def _report(self, trial: _Trial) -> SelectionReport:
        names = trial.affordable(float(self.time_budget))
        if len(trial.pairs) < LEAST_PAIRS:
            why = f"{len(trial.pairs)} pairs are too few to choose a metric by"
        elif not names:
            why = "There is no time to compare metrics"
        else:
            shown = progress(names, "comparing metrics", shown=self.verbose)
            report = trial.choice(shown)
            if report is not None:
                return report
            why = "All pairs hang together, so none can be held out to choose a metric by"
        if tells_copies(trial.X, trial.pairs):
            return unseen_copies(why)
        return unseen_choice(recipes(list(trial.learners))[USUAL], why)

    def _metric(self, recipe: Recipe, trial: _Trial) -> Any:
        """The learner for all rows."""
        learners = trial.ingredients(self.n_landmarks, trial.n_rows)
        parts = []
        for name in recipe:
            learner = learners[name].learner
            reduction = trial.view(name, learners[name]).reduction
            parts.append(learner if reduction is None else Chain([reduction, learner]))
        if len(parts) == 1:
            return parts[0]
        return Blend(parts, weights=list(recipe.values()), random_state=trial.seed)


class _Trial:
    """Some of the rows and pairs, on which candidates are compared."""

    def __init__(self, X: Floats, pairs: Pairs, rng: np.random.RandomState) -> None:
        strength = float(pairs.must_weight.sum() + pairs.cannot_weight.sum())
        strength += float(pairs.closer_weight.sum())
        if len(pairs) > _MOST_PAIRS:
            kept = np.zeros(len(pairs), dtype=bool)
            kept[rng.choice(len(pairs), _MOST_PAIRS, replace=False)] = True
            pairs = pairs.subset(kept)
        rows = pairs.points
        if len(rows) < min(_MOST_ROWS, len(X)):
            others = np.setdiff1d(np.arange(len(X)), rows, assume_unique=True)
            more = rng.choice(others, min(_MOST_ROWS, len(X)) - len(rows), replace=False)
            rows = np.sort(np.concatenate([rows, more]))
        self.seed = int(rng.randint(2**31 - 1))
        self.n_rows = len(X)
        self.held_out: HeldOut | None = None
        self.sampled = pairs
        self.X = X if len(rows) == len(X) else X[rows]
        self.pairs = pairs.restrict(rows)
        self.all_columns = View(self.X, _MOST_COLUMNS, self.seed)
        # So many as pairs of this weight can tell apart, unless these pairs need more.
        n_axes = int(min(10 + 2 * np.sqrt(strength), _MOST_AXES))
        judges = self.pairs.as_weak_pairs()
        self.axes = view_by_few_axes(self.X, n_axes, judges, self.all_columns, self.seed)
        self.learners = {
            name: ingredient
            for name, ingredient in self.ingredients(_FEW_LANDMARKS, len(rows)).items()
            if (len(pairs.must_link) or not ingredient.needs_must_links)
            and (ingredient.takes_triplets or not len(pairs.closer))
        }

    def ingredients(self, n_landmarks: int, n_rows: int) -> dict[str, Ingredient]:
        """Learners to choose among, for so many rows."""
        reduced = self.axes is not self.all_columns and self.axes.reduction is not None
        return ingredients(n_landmarks, n_rows, self.seed, some_columns=reduced)

    def view(self, name: str, ingredient: Ingredient) -> View:
        """The rows as a learner sees them."""
        if name == EUCLIDEAN:
            return View(self.X, self.X.shape[1], self.seed)
        return self.all_columns if ingredient.sees_all_columns else self.axes

    def affordable(self, budget: float) -> list[str]:
        """Learners that can be compared within some seconds, by a prediction."""
        names, spent = [], 0.0
        for name, ingredient in self.learners.items():
            size = len(self.X) / 1000 * (1 + len(self.pairs) / 1000)
            width = (self.axes.rows.shape[1] / 50) ** 2 if name == "LMNN" else 1.0
            spent += N_FOLDS * ingredient.seconds * size * width
            if spent <= budget:
                names.append(name)
        return names if len(names) > 1 else []

    def choice(self, names: Iterator[str]) -> SelectionReport | None:
        """The best of some candidates, or None if no pair can be held out."""
        held_out = self._hold_out(names, self.pairs)
        if not held_out.judged:
            return None
        self.held_out = held_out
        return choose(held_out, recipes(list(held_out.distances)), USUAL)

    def ranks(self, recipe: Recipe, given: Pairs) -> Floats:
        """Rank given pairs in two rounds: in the second, those that look wrong count less.

        Must-links and cannot-links only. NaN for pairs that took no part in the comparison.
        """
        if self.held_out is None:
            return np.full(len(_statements(given)), np.nan)
        n_pairs = len(_statements(self.pairs))
        first = self.held_out.ranks(recipe)[:n_pairs]
        second = self._hold_out(iter(recipe), trusted(self.pairs, first), every_pair=True)
        rank = second.ranks(recipe)[:n_pairs]
        of_sampled = dict(zip(_statements(self.sampled), rank, strict=True))
        # Others were drawn from labels, or are too many.
        return np.array([of_sampled.get(said, np.nan) for said in _statements(given)])

    def _hold_out(self, names: Iterator[str], pairs: Pairs, *, every_pair: bool = False) -> HeldOut:
        chosen = (
            (name, self.learners[name].learner, self.view(name, self.learners[name]).rows)
            for name in names
        )
        rng = np.random.RandomState(self.seed)  # the same folds each time
        return hold_out(chosen, len(self.X), pairs, rng, every_pair=every_pair)


def _statements(pairs: Pairs) -> list[tuple[int, int, bool]]:
    """Pairs and what was said of them, in their order."""
    must, cannot = pairs.must_link.tolist(), pairs.cannot_link.tolist()
    return [(i, j, True) for i, j in must] + [(i, j, False) for i, j in cannot]
