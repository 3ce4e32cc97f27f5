"""``fit`` in two parts, so that the small one can be done again when pairs come or go.

The first part finds a space: kernel, landmarks, eigenvectors, or mean and covariance. The second
learns a metric there from the coordinates of a few rows. What it takes is kept in :class:`Taught`,
and ``partial_fit`` does the second part again with other pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing

from nearkin.errors import InputError
from nearkin.learners.calibration import calibration
from nearkin.learners.metric import MetricMixin, n_rows_of
from nearkin.pairs.labels import class_numbers
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence, check_roles, with_other_pairs
from nearkin.rows import access, devices
from nearkin.rows.blocks import one_core
from nearkin.spaces.kernels import Rows
from nearkin.spaces.maps import Map, after_scaling

Floats = NDArray[np.floating]
RowNumbers = NDArray[np.integer]
# Coordinates of some rows of X in the space, on the host or where X is.
Coordinates = Callable[[RowNumbers], Any]

# Rows of coordinates held at a time while the threshold is chosen by labels.
_BLOCK = 65536


class Space(Protocol):
    """Where a metric is learned."""

    def coordinates(self, X: Rows) -> Floats:
        """Of rows, where X is."""


class Image(Protocol):
    """The map from coordinates in the space to the learned embedding, up to a motion."""

    def __call__(self, coordinates: Any, /) -> Any:
        """Of rows, where they are."""

    @property
    def matrix(self) -> Floats | None:
        """The map as a matrix of shape (r, q), if it is linear."""


@dataclass(frozen=True)
class Taught:
    """What a fitted learner keeps so that pairs can be added and withdrawn.

    Rows of X are not kept, and of labelled rows their labels only: O(p r) numbers for r
    coordinates of p rows, those named in pairs and up to 4000 random ones.

    Attributes
    ----------
    n_rows : int
        Of X.
    drawable : int or int ndarray
        How many rows X has, or the numbers of those that can be drawn.
    space : Space
    settled : object
        What else does not depend on pairs, such as sums over labelled rows.
    evidence : Evidence
    rng : RandomState
        As it was before the draws of the small part, which are the same at every call.
    rows : int ndarray of shape (p,)
        Rows of X whose coordinates are known, sorted.
    coordinates : ndarray of shape (p, r)
        In float64.
    image : Image
        What was learned; None before that.
    """

    n_rows: int
    drawable: int | RowNumbers
    space: Any
    settled: Any
    evidence: Evidence
    rng: np.random.RandomState
    rows: RowNumbers
    coordinates: Floats
    image: Image | None = None

    def holds(self, rows: RowNumbers) -> bool:
        """Whether the coordinates of all these rows are known."""
        return bool(np.isin(rows, self.rows, assume_unique=True).all())

    def at(self, rows: RowNumbers) -> Floats:
        """Coordinates of rows that are known."""
        return self.coordinates[np.searchsorted(self.rows, rows)]

    def holding(self, rows: RowNumbers, read: Coordinates) -> Taught:
        """With the coordinates of these rows too; only those not known yet are read."""
        new = np.setdiff1d(rows, self.rows, assume_unique=True)
        if not len(new):
            return self
        all_rows = np.concatenate([self.rows, new])
        order = np.argsort(all_rows)
        coordinates = np.concatenate([self.coordinates, at_home(read(new))])
        return replace(self, rows=all_rows[order], coordinates=coordinates[order])


@dataclass(frozen=True)
class Learned:
    """Result of the small part.

    Attributes
    ----------
    map : Map
        Of rows as the learner sees them, with their columns divided.
    attributes : dict
        Other fitted attributes of the learner, but for the threshold.
    image : Image
    """

    map: Map
    attributes: dict[str, Any]
    image: Image


class TeachableMixin(MetricMixin):
    """``partial_fit`` of a learner that first finds a space and then learns from coordinates there.

    The learner brings

    - ``fit``, which ends with ``return self._teach(self._first_lesson(...), rng, read)``;
    - ``_settle(space, evidence, X, rng)``, which gives what else does not depend on pairs
      (``Taught.settled``);
    - ``_learn(taught, coordinates, rng)``, the small part, which changes nothing of the learner.
    """

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
        check_roles(y, pairs)
        check_roles(None, withdrawn, "withdrawn")
        if n_rows_of(X) != taught.n_rows:
            raise InputError(
                f"X has {n_rows_of(X)} rows, but fit had {taught.n_rows}: pairs are numbers of its "
                "rows, so give the same X."
            )

        def read(rows: RowNumbers) -> Any:
            return taught.space.coordinates(self._validated(_taken(X, rows), reset=False))

        self._validated(_taken(X, np.array([0])), reset=False)  # even if no row of X is needed
        if y is not None and not _are_the_same(y, taught.evidence.classes):
            raise InputError(
                "y has other labels than fit had: leave them out, or fit(X, y, pairs=pairs) again."
            )
        evidence = with_other_pairs(taught.evidence, taught.n_rows, pairs, withdrawn)
        with one_core():  # a second one would wait for the first more often than help
            return self._teach(replace(taught, evidence=evidence), deepcopy(taught.rng), read)

    def _first_lesson(
        self, space: Space, evidence: Evidence, X: Any, rng: np.random.RandomState
    ) -> Taught:
        """All that the small part takes, once a space is found."""
        settled = self._settle(space, evidence, X, rng)
        points = evidence.pairs.points
        return Taught(
            n_rows=X.shape[0],
            drawable=access.drawable(X),
            space=space,
            settled=settled,
            evidence=evidence,
            rng=deepcopy(rng),
            rows=points,
            coordinates=at_home(space.coordinates(access.take(X, points))),
        )

    def _teach(self, taught: Taught, rng: np.random.RandomState, read: Coordinates) -> Self:
        """The small part: learn, choose the threshold, and only then change the learner."""
        taught = taught.holding(taught.evidence.pairs.points, read)

        def coordinates(rows: RowNumbers) -> Any:
            return taught.at(rows) if taught.holds(rows) else read(rows)

        learned = self._learn(taught, coordinates, rng)

        def embedded(rows: RowNumbers) -> Any:
            nonlocal taught
            if not taught.evidence.has_labels:  # points of pairs, and random rows beside them
                taught = taught.holding(rows, read)
                return learned.image(taught.at(rows))
            return access.filled(len(rows), _BLOCK, lambda block: learned.image(read(rows[block])))

        verdicts = calibration(taught.drawable, taught.evidence, rng, embedded)
        taught = replace(taught, image=learned.image)
        self.__dict__.update(
            learned.attributes,
            **verdicts,
            map_=after_scaling(self.column_scale_, learned.map),
            learned_from_=taught.evidence.counts(taught.n_rows),
            _taught=taught,
        )
        return self

    def _settle(self, space: Any, evidence: Evidence, X: Any, rng: np.random.RandomState) -> Any:
        """What does not depend on pairs, beside the space: every learner has its own."""
        raise NotImplementedError

    def _learn(
        self, taught: Taught, coordinates: Coordinates, rng: np.random.RandomState
    ) -> Learned:
        """The small part: every learner has its own."""
        raise NotImplementedError


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


def at_home(coordinates: Any) -> Floats:
    """Coordinates of a few rows on the host, in float64."""
    return devices.to_numpy(coordinates).astype(np.float64, copy=False)


def _taken(X: Any, rows: RowNumbers) -> Any:
    """Some rows of an X that is not checked yet."""
    if devices.is_foreign(X) or devices.is_remote(X):
        return access.take(X, rows)
    return _safe_indexing(X.tocsr() if hasattr(X, "tocsr") else X, rows)
