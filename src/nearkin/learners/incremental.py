"""Learners that find a space once and learn there, again and again as pairs come and go."""

from __future__ import annotations

from copy import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context, clone
from sklearn.utils import check_random_state

from nearkin.errors import InputError
from nearkin.learners.metric import MetricMixin, opened
from nearkin.learners.pulls import TaughtPart
from nearkin.learners.two_steps import (
    Coordinates,
    Learned,
    Result,
    Taught,
    at_home,
    find_space,
    learn,
)
from nearkin.pairs.labels import class_numbers
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence, check_roles, gather_evidence, with_other_pairs
from nearkin.rows import access
from nearkin.rows.parallel import one_blas_thread, one_core
from nearkin.rows.validation import n_rows_of
from nearkin.spaces.maps import after_scaling

RowNumbers = NDArray[np.integer]
_FEW_ROWS = 1500


class TeachableMixin(MetricMixin):
    """``fit`` and ``partial_fit`` of a learner that finds a space and learns there.

    The learner brings

    - ``_find_space(X, points, rng)``, which gives a :class:`nearkin.learners.two_steps.Space`;
    - ``_settle(space, evidence, X, rng)``, which gives what else does not depend on pairs
      (``Taught.settled``);
    - ``_learn(taught, coordinates, rng)``, what is learned there.

    None of them changes the learner. One that learns from triplets says so: ``_takes_triplets``.
    """

    _takes_triplets: ClassVar[bool] = False

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn from pairs, labels or both.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or kernel matrix of shape (n, n)
            Without a kernel, sparse rows of more than 300 columns are seen along their 300
            leading singular vectors, which takes memory for 300 numbers a column. Other rows of
            more than 1000 columns are seen along a basis of their differences, without loss for up
            to 1000 rows, or else along their 300 leading principal axes.
        y : array of shape (n,), optional
            Labels; negative means unknown.
        pairs : Pairs, optional
            Pairs of rows of X.

        Returns
        -------
        self
        """
        X = self._validated(opened(self, X, y, pairs), reset=True)
        rng = check_random_state(self.random_state)
        evidence = gather_evidence(X.shape[0], y, pairs, triplets=self._takes_triplets)
        # Of few rows, threads of BLAS would wait for each other more often than help.
        with one_blas_thread(X.shape[0] <= _FEW_ROWS):
            taught = find_space(self, X, evidence, rng)
            return self._keep_result(learn(self, taught, evidence, taught.reads(X), rng))

    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: Any, y: Any = None, *, pairs: Pairs | None = None, withdrawn: Pairs | None = None
    ) -> Self:
        """Learn from more pairs, or from fewer, without starting anew.

        The metric is that of ``fit`` with all the pairs that are left, in the space that the
        learner has already: kernel, landmarks and eigenvectors stay. Labels that ``fit`` was given
        stay in force. On a learner that is not fitted this is ``fit``.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows that ``fit`` was given, of which few are read: those that pairs name for the
            first time.
        y : array of shape (n,), optional
            Labels, which only ``fit`` learns: on a fitted learner none, or the same.
        pairs : Pairs, optional
            To be added. Of a pair that was given already the larger weight counts.
        withdrawn : Pairs, optional
            To be taken back before others are added, whatever their weight. Without any pairs and
            labels left the metric is that before the first pair.

        Returns
        -------
        self

        Raises
        ------
        ValueError
            If a pair is withdrawn that was not given, if X is not that of ``fit``, or if the
            learner was loaded from a file, which does not keep the pairs. After an error the
            learner is as it was.

        Notes
        -----
        ``fit`` makes landmarks of the points of pairs; points that come later are not landmarks.
        Fit again once there are many of them, or give landmarks enough.

        ``threshold_`` is chosen as in ``fit``. When the last cannot-link goes, up to 4000 random
        rows are read once, which then stand for different ones. With labels it takes pairs drawn
        from them, for which labelled rows are read again; ITML learns from such pairs too, and
        KernelBeta with ``n_iter`` above 1 measures all labelled rows again.

        Examples
        --------
        >>> from nearkin import KernelBeta, Pairs
        >>> from nearkin.datasets import make_xor
        >>> X, _ = make_xor(400, random_state=0)
        >>> metric = KernelBeta(n_landmarks=50, random_state=0).fit(X, pairs=Pairs([(0, 1)]))
        >>> answer = Pairs(cannot_link=[(3, 8)])
        >>> before = metric.distance(X[:1], X[1:2])
        >>> metric = metric.partial_fit(X, pairs=answer)
        >>> metric = metric.partial_fit(X, withdrawn=answer)  # a mistake: as it was before
        >>> bool(abs(metric.distance(X[:1], X[1:2]) - before) < 1e-12)
        True
        """
        if not hasattr(self, "threshold_"):
            if withdrawn is not None and len(withdrawn):
                raise InputError("nothing to withdraw: this learner is not fitted yet.")
            fitted: Self = self.fit(X, y, pairs=pairs)
            return fitted
        taught = taught_of(self)
        check_roles(y, pairs, triplets=self._takes_triplets)
        check_roles(None, withdrawn, "withdrawn", triplets=self._takes_triplets)
        if n_rows_of(X) != taught.n_rows:
            raise InputError(
                f"X has {n_rows_of(X)} rows, but fit had {taught.n_rows}: pairs are numbers of its "
                "rows, so give the same X."
            )

        self._validated(access.take(X, np.array([0])), reset=False)  # even if no row of X is needed
        if y is not None and not _are_the_same(y, taught.evidence.classes):
            raise InputError(
                "y has other labels than fit had: leave them out, or fit(X, y, pairs=pairs) again."
            )
        evidence = with_other_pairs(taught.evidence, taught.n_rows, pairs, withdrawn)
        return self._learn_again(X, evidence)

    @_fit_context(prefer_skip_nested_validation=True)
    def _begin(self, X: Any, pairs: Pairs) -> Self:
        X = self._validated(X, reset=True)
        rng = check_random_state(self.random_state)
        self._taught = find_space(self, X, Evidence(pairs, None), rng)
        return self

    def _learn_again(self, X: Any, evidence: Evidence) -> Self:
        """Learn from other pairs of rows of the same X, of which only those are read."""
        taught = taught_of(self)

        def read(rows: RowNumbers) -> Any:
            return taught.space.coordinates(self._validated(access.take(X, rows), reset=False))

        with one_core():  # a second one would wait for the first more often than help
            return self._keep_result(learn(self, taught, evidence, read))

    def _taught_parts(self, rows: list[Any], share: float = 1.0) -> list[TaughtPart]:
        taught: Taught | None = getattr(self, "_taught", None)
        if taught is None or taught.image is None:
            return []
        ends = [
            at_home(taught.space.coordinates(self._validated(row, reset=False))) for row in rows
        ]
        return [TaughtPart(self, taught, np.concatenate(ends), share)]

    def _keep_result(self, result: Result) -> Self:
        self.__dict__.pop("_importances", None)
        self.__dict__.update(
            result.attributes,
            map_=after_scaling(self.column_scale_, result.map),
            _taught=result.taught,
        )
        return self

    def _find_space(self, X: Any, points: RowNumbers, rng: np.random.RandomState) -> Any:
        """Where to learn: every learner has its own. Points of pairs become landmarks."""
        raise NotImplementedError  # the learner brings it

    def _settle(self, space: Any, evidence: Evidence, X: Any, rng: np.random.RandomState) -> Any:
        """What does not depend on pairs, beside the space: every learner has its own."""
        raise NotImplementedError  # the learner brings it

    def _learn(
        self, taught: Taught, coordinates: Coordinates, rng: np.random.RandomState
    ) -> Learned:
        """What is learned from coordinates: every learner has its own."""
        raise NotImplementedError  # the learner brings it


def begun(learner: TeachableMixin, X: Any, pairs: Pairs) -> Any:
    """A copy of a learner that has found a space, and learned nothing there yet.

    Parameters
    ----------
    learner : TeachableMixin
    X : array of shape (n, d)
    pairs : Pairs
        Their points become landmarks. There may be none.
    """
    return clone(learner)._begin(X, pairs)


def retaught(metric: TeachableMixin, X: Any, pairs: Pairs) -> Any:
    """A copy of a learner with what pairs teach it in the space that it has.

    Parameters
    ----------
    metric : TeachableMixin
        Fitted to X, or begun. It stays as it is.
    X : array of shape (n, d)
    pairs : Pairs
        All that there are now, instead of those that it learned from. There may be none.
    """
    evidence = with_other_pairs(Evidence(Pairs(), None), n_rows_of(X), pairs, None)
    return copy(metric)._learn_again(X, evidence)  # it sets attributes anew, and changes none


def taught_of(metric: Any) -> Taught:
    """What a fitted learner keeps; an error if it was loaded from a file."""
    taught: Taught | None = getattr(metric, "_taught", None)
    if taught is None:
        raise InputError(
            "this metric was loaded from a file, which does not keep the pairs it learned from: "
            "fit again."
        )
    return taught


def _are_the_same(y: Any, classes: NDArray[np.integer] | None) -> bool:
    return classes is not None and np.array_equal(class_numbers(y), classes)
