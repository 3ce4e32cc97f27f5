"""Same or different: the verdicts of a learned metric, and how good they are."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats
from nearkin.errors import InputError
from nearkin.pairs.closure import random_pairs
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence, example_pairs, gather_evidence
from nearkin.rows import access, backends
from nearkin.rows.distances import linked_distances
from nearkin.rows.validation import n_rows_of
from nearkin.scores.quality import Quality, quality_of
from nearkin.scores.verdicts import (
    ESTIMATED,
    MOST_EXAMPLES,
    VERDICTS,
    LateVerdicts,
    Prevalence,
    Verdicts,
    checked_share,
    draw_examples,
    estimated_prevalence,
    verdicts_found,
    verdicts_of,
)

# Random pairs of rows that a prevalence is estimated from.
_RANDOM_PAIRS = 2000
# Rows of so many numbers are kept until verdicts are asked for; of more, they are found at once.
_MOST_KEPT = 1_000_000


class JudgingMixin:
    """Verdicts by the distance, for a learner that has distances.

    Attributes
    ----------
    threshold_ : float
        Distance that best tells same from different, if both are equally frequent.
    sharpness_, far_sharpness_ : float
        How quickly :meth:`chance_same` falls with the distance, below and above the threshold.
    prevalence_ : float
        Share of pairs that are the same, as far as verdicts suppose: ½ after ``fit``.
    same_distance_ : float or None
        Median distance of the pairs known to be the same.
    learned_from_ : dict
        How many rows, must-links, cannot-links, labels and classes there were.
    """

    prevalence_: float
    pair_distance: Callable[[Any, Any], Floats]
    _embedded_rows: Callable[[Any, NDArray[np.integer]], Any]

    def same(self, X_a: Any, X_b: Any) -> NDArray[np.bool_]:
        """Whether two rows are the same kind of thing, row by row.

        Parameters
        ----------
        X_a, X_b : array of shape (n, d)
            Or one row, as in :meth:`pair_distance`.

        Returns
        -------
        bool ndarray of shape (n,)
            True where :meth:`chance_same` is ½ or more: after ``fit``, where the learned distance
            is at most ``threshold_``.

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
        found: NDArray[np.bool_] = self.pair_distance(X_a, X_b) <= verdicts_of(self).radius
        return found

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
            ½ or more where :meth:`same` says so, without another prevalence.

        Notes
        -----
        A logistic curve through the pairs that the metric was learned from, or of those that
        labels imply, with a sharpness of its own on either side of ``threshold_``. It is too sure
        where these were few, since the metric was made to suit them: :meth:`calibrate` takes
        others. (``MetricLearner`` holds pairs out, and is as sure as these bear out.)

        Examples
        --------
        >>> import nearkin
        >>> X, y = nearkin.datasets.make_xor(200, random_state=0)
        >>> metric = nearkin.KernelBeta(random_state=0).fit(X[:100], y[:100])
        >>> bool(metric.chance_same(X[:1], X[:1]) > 0.9)
        True
        >>> metric = metric.calibrate(X[100:], y[100:])  # by other rows, and as frequent as there
        >>> round(metric.prevalence_, 2)
        0.5
        """
        verdicts, distances = verdicts_of(self), self.pair_distance(X_a, X_b)
        share = _share(prevalence, verdicts, lambda: backends.to_numpy(distances))
        found: Floats = verdicts.chance(distances, share)
        return found

    def calibrate(
        self, X: Any, y: Any = None, *, pairs: Pairs | None = None, prevalence: Prevalence = None
    ) -> Self:
        """Judge by other pairs than the metric was learned from. Distances stay as they are.

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
            With ``threshold_``, ``sharpness_``, ``far_sharpness_``, ``prevalence_`` and
            ``same_distance_`` of these pairs, which :meth:`same`, :meth:`chance_same`,
            :meth:`threshold_for` and model files go by. ``fit`` and ``partial_fit`` find them anew.

        Notes
        -----
        An estimate of the prevalence is as good as :meth:`chance_same`: it is about right where
        distances tell same from different well, and ½ where they tell nothing; how far off it was
        is in ``benchmarks/calibration``.
        State what you know.

        Examples
        --------
        >>> import nearkin as nk
        >>> X, y = nk.datasets.make_xor(400, random_state=0)
        >>> metric = nk.KernelBeta(random_state=0).fit(X[:200], y[:200])
        >>> metric = metric.calibrate(
        ...     X[200:], y[200:], prevalence=0.01
        ... )  # one pair of 100 is the same
        >>> metric.prevalence_
        0.01
        """
        check_is_fitted(self)
        verdicts = verdicts_of(self)
        if not (prevalence is None or prevalence == ESTIMATED):
            checked_share(prevalence, "prevalence")
        if y is not None or pairs is not None or prevalence is None:
            known, same, different, evidence = self._judged(X, y, pairs, "calibrate")
            if prevalence is None:
                prevalence = evidence.share_of_same()
            weights = known.must_weight, known.cannot_weight
            self.__dict__.update(verdicts_found(same, different, weights=weights))
            verdicts = verdicts_of(self)
        self.prevalence_ = _share(prevalence, verdicts, lambda: self._random_distances(X))
        return self

    def threshold_for(self, precision: float, prevalence: float | None = None) -> float:
        """Distance up to which two rows are the same with a chance of at least ``precision``.

        Of all pairs up to there, as large a share are the same at least, if :meth:`chance_same` is
        right: :meth:`calibrate` by pairs that the metric was not learned from, and
        :meth:`quality` says how sure that is.

        Parameters
        ----------
        precision : float in (0, 1)
        prevalence : float in (0, 1), optional
            Share of all such pairs that are the same. By default ``prevalence_``, which is ½ after
            ``fit``: random pairs are the same far more rarely. (``calibrate(X,
            prevalence="estimated")`` estimates how rarely.)

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
        wanted = checked_share(precision, "precision")
        found = verdicts_of(self).distance_at(wanted, prevalence)
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
            Rows, best such that were not used in ``fit``: by pairs that it was learned from, a
            metric seems better than it is.
        y : array of shape (n,), optional
            Labels; negative means unknown. Of the pairs that they imply up to 10 000 are judged.
        pairs : Pairs, optional
            Pairs of rows of this X, with both must-links and cannot-links. Weights count.
        prevalence : float in (0, 1) or "estimated", optional
            Share of pairs that are the same where the metric is to be used: it decides on precision
            and on the distance up to which :meth:`same` says yes. Or estimated from the distances
            of random pairs of rows of X, see :meth:`calibrate`. By default ``prevalence_``.

        Returns
        -------
        Quality
            Pair AUC, and precision, recall and F1 of :meth:`same`. Print it. Intervals account for
            pairs that share rows.

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
        verdicts = verdicts_of(self)
        share = _share(prevalence, verdicts, lambda: self._random_distances(X))
        known, same, different = self._judged(X, y, pairs, "quality")[:3]
        return quality_of(
            np.concatenate([same, different]),
            np.repeat([True, False], [len(same), len(different)]),
            np.concatenate([known.must_weight, known.cannot_weight]),
            np.concatenate([known.must_link, known.cannot_link]),
            verdicts.distance_at(0.5, share),
            share,
        )

    def _judged(
        self, X: Any, y: Any, pairs: Pairs | None, purpose: str
    ) -> tuple[Pairs, Floats, Floats, Evidence]:
        """Known pairs of both kinds, by positions among their rows, and their distances."""
        evidence = gather_evidence(n_rows_of(X), y, pairs)
        rng = check_random_state(getattr(self, "random_state", None))
        known = example_pairs(evidence, rng, most=MOST_EXAMPLES)
        if not len(known.must_link) or not len(known.cannot_link):
            raise InputError(
                f"there are {len(known.must_link)} pairs that are the same and "
                f"{len(known.cannot_link)} that are different: {purpose} needs both."
            )
        rows = known.points
        Z = self._embedded_rows(X, rows)
        known = known.restrict(rows)
        same, different = (
            np.asarray(backends.to_numpy(linked_distances(Z, links)), dtype=np.float64)
            for links in (known.must_link, known.cannot_link)
        )
        return known, same, different, evidence

    def _random_distances(self, X: Any) -> Floats:
        """Learned distances of random pairs of rows of X."""
        rng = check_random_state(getattr(self, "random_state", None))
        links = random_pairs(n_rows_of(X), rng, _RANDOM_PAIRS)
        rows, places = np.unique(links, return_inverse=True)
        if not len(rows):
            return np.empty(0)
        Z = self._embedded_rows(X, rows)
        return backends.to_numpy(linked_distances(Z, places.reshape(links.shape)))

    def _calibrate(
        self,
        X: Any,
        evidence: Evidence,
        rng: np.random.RandomState,
        embedded: Callable[[Any, NDArray[np.integer]], Any],
    ) -> None:
        """Find the threshold, and keep how much there was to learn from.

        Of few rows it is found when somebody asks, unless the user's own generator is to draw.
        ``embedded(X, rows)`` gives coordinates of some rows of X.
        """
        for name in VERDICTS:
            self.__dict__.pop(name, None)
        self.learned_from_ = evidence.counts(n_rows_of(X))
        drawable, own = access.drawable(X), getattr(self, "random_state", None)
        few = isinstance(X, np.ndarray) and X.size <= _MOST_KEPT
        if few and not isinstance(own, np.random.RandomState):
            state = rng.get_state(legacy=False)
            self._late_verdicts = LateVerdicts(X.copy(), drawable, evidence, state, embedded)
            return
        examples = draw_examples(drawable, evidence, rng)
        self.__dict__.update(examples.verdicts(embedded(X, examples.rows)))

    def _find_late_verdicts(self) -> None:
        late: LateVerdicts | None = self.__dict__.get("_late_verdicts")
        if late is None:
            return
        for name, value in late.found().items():  # but what was set meanwhile
            self.__dict__.setdefault(name, value)
        self.__dict__.pop("_late_verdicts", None)  # or another thread did it

    if not TYPE_CHECKING:  # which would take any attribute then

        def __getattr__(self, name: str) -> Any:
            """What is missing: verdicts that are still to be found, or an error."""
            if name in VERDICTS:
                self._find_late_verdicts()
            return object.__getattribute__(self, name)

    def __getstate__(self) -> Any:
        self._find_late_verdicts()
        return super().__getstate__()

    def _calibrate_as(self, metric: Any) -> None:
        """Take over the verdicts of another metric, whose distances are the same."""
        for name in VERDICTS:
            setattr(self, name, getattr(metric, name, None))
        self.learned_from_ = metric.learned_from_


def _share(prevalence: Prevalence, verdicts: Verdicts, distances: Callable[[], Floats]) -> float:
    """A prevalence as it is stated, kept, or estimated from distances."""
    if prevalence is None:
        return verdicts.prevalence
    if isinstance(prevalence, str) and prevalence == ESTIMATED:
        return estimated_prevalence(verdicts, distances())
    return checked_share(prevalence, "prevalence")
