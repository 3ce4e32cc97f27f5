"""Learners that take pairs one by one (partial_fit), and linear ones among them."""

from __future__ import annotations

from copy import copy, deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal, Self, cast

import numpy as np
from sklearn.base import _fit_context, clone
from sklearn.utils import check_random_state

from nearkin._types import Doubles, Floats, Integers, Ints, Rng
from nearkin.errors import InputError
from nearkin.learners.base import MetricMixin, update_state
from nearkin.learners.explain import TaughtPart
from nearkin.learners.fit_steps import (
    Learned,
    Taught,
    call_once,
    find_space,
    learn_in_space,
    to_host_float64,
)
from nearkin.learners.parameters import KernelParameters, KernelRowsMixin, with_parameters
from nearkin.messages import notice
from nearkin.pairs.labels import number_classes
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence, check_roles, revise_evidence
from nearkin.rows import access, backends, sparse
from nearkin.rows.distances import centre, mean_row, middle
from nearkin.rows.parallel import one_blas_thread, one_core, split_range
from nearkin.rows.sparse import (
    are_all_equal,
    axes_of_wide_rows,
    is_sparse,
    leading_axes,
    project_along,
)
from nearkin.rows.validation import count_rows
from nearkin.spaces import maps
from nearkin.spaces.feature_space import (
    PARAMETER_CONSTRAINTS,
    Extension,
    find_feature_space,
)
from nearkin.spaces.kernels import KernelFunction, Rows, unit_rows
from nearkin.spaces.linalg import leading_components
from nearkin.storage.schema import Spec, floats, ints, maybe, positive

# Up to so many rows, threads of BLAS wait for each other more often than they help. Not tuned.
_FEW_ROWS = 1500
# Directions of a kernel's feature space that are learned in, those of largest eigenvalue, and the
# share of the largest below which they are dropped: the 60 that ITML in an rbf kernel was first
# compared with on six tables of UCI. Not tuned since.
_MOST_DIRECTIONS = 60
_RANK_TOL = 1e-3
# Rows whose outer products are summed at a time, which bounds memory.
_BLOCK = 65536


class TeachableMixin(MetricMixin):
    """``fit`` and ``partial_fit`` of a learner that finds a space and learns there.

    Both call the two steps of :mod:`nearkin.learners.fit_steps`, which says what a learner has.
    """

    def _learn_from(self, X: Any, evidence: Evidence, rng: Rng) -> None:
        """Find the space, learn there, and set the fitted attributes."""
        with one_blas_thread(X.shape[0] <= _FEW_ROWS):
            taught = find_space(self, X, evidence, rng)
            self._keep_result(*learn_in_space(self, taught, evidence, taught.make_reader(X), rng))

    @update_state
    @_fit_context(prefer_skip_nested_validation=True)
    def partial_fit(
        self, X: Any, y: Any = None, *, pairs: Pairs | None = None, withdrawn: Pairs | None = None
    ) -> Self:
        """Learn from more pairs, or from fewer, without starting anew.

        The metric is that of ``fit`` with all the pairs that are left, in the space that the
        learner has already: kernel, landmarks and eigenvectors stay, and labels stay in force. On a
        learner that is not fitted this is ``fit``.

        Parameters
        ----------
        X : array of shape (n, d)
            The rows that ``fit`` was given, of which those are read that pairs name for the first
            time.
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
            learner was loaded from a file, which does not keep the pairs.

        Notes
        -----
        Points of later pairs are no landmarks: fit again once there are many of them.

        When the last cannot-link goes, up to 4000 random rows are read once, which then stand for
        different ones in ``threshold_``. Where there are labels, labelled rows are read again for
        it, by ITML, and by KernelBeta with ``n_iter`` above 1.

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
            return cast("Self", self.fit(X, y, pairs=pairs))
        taught = get_taught(self)
        triplets, graded = self._takes_triplets, self._takes_graded
        check_roles(y, pairs, triplets=triplets, graded=graded)
        check_roles(None, withdrawn, "withdrawn", triplets=triplets, graded=graded)
        if count_rows(X) != taught.n_rows:
            raise InputError(
                f"X has {count_rows(X)} rows, but fit had {taught.n_rows}: pairs are numbers of "
                "its rows, so give the same X."
            )

        # Columns are checked even if no row of X is needed.
        self._check_and_scale(access.take(X, np.array([0])), reset=False)
        classes = taught.evidence.classes
        if y is not None and (classes is None or not np.array_equal(number_classes(y), classes)):
            raise InputError(
                "y has other labels than fit had: leave them out, or fit(X, y, pairs=pairs) again."
            )
        evidence = revise_evidence(taught.evidence, taught.n_rows, pairs, withdrawn)
        return self._learn_again(X, evidence)

    def _learn_again(self, X: Any, evidence: Evidence) -> Self:
        """Learn from other evidence about the same X; only rows new to the pairs are read."""
        taught = get_taught(self)

        def read(rows: Integers) -> Any:
            return taught.space.coordinates(
                self._check_and_scale(access.take(X, rows), reset=False)
            )

        with one_core():  # a second one would wait for the first more often than help
            return self._keep_result(*learn_in_space(self, taught, evidence, read))

    def _find_taught_parts(self, rows: list[Any], share: float = 1.0) -> list[TaughtPart]:
        """Return this learner as the one part that can learn again, or nothing after loading."""
        taught: Taught | None = getattr(self, "_taught", None)
        if taught is None or taught.image is None:
            return []
        ends = [
            to_host_float64(taught.space.coordinates(self._check_and_scale(row, reset=False)))
            for row in rows
        ]
        return [TaughtPart(self, taught, np.concatenate(ends), share)]

    def _keep_result(self, learned: Learned, taught: Taught) -> Self:
        """Set the fitted attributes from the results of :func:`learn_in_space`."""
        self.__dict__.pop("_importances", None)
        map_ = maps.compose_after_scaling(self.column_scale_, learned.map)
        self.__dict__.update(learned.attributes, map_=map_, _taught=taught)
        return self

    def _prepare_space(self, space: Any, evidence: Evidence, X: Any, rng: Rng) -> Any:
        """Return what else ``_learn`` needs that does not depend on pairs: here None."""


def find_space_only(learner: TeachableMixin, X: Any, pairs: Pairs) -> Any:
    """Return a copy of a learner that has found its space, and has learned no metric yet.

    Rows that the pairs name become landmarks. :func:`learn_again` then learns from any pairs.
    """
    begun = clone(learner)
    begun._validate_params()
    X = begun._check_and_scale(X, reset=True)
    rng = check_random_state(begun.random_state)
    begun._taught = find_space(begun, X, Evidence(pairs, None), rng)
    return begun


def learn_again(metric: TeachableMixin, X: Any, pairs: Pairs) -> Any:
    """Return a copy of a metric that learned from these pairs of X instead, in the same space."""
    evidence = revise_evidence(Evidence(Pairs(), None), count_rows(X), pairs, None)
    return copy(metric)._learn_again(X, evidence)  # it sets attributes anew, and changes none


def get_taught(metric: Any) -> Taught:
    """Return the space and pairs that a fitted learner keeps; an error if it is from a file."""
    taught: Taught | None = getattr(metric, "_taught", None)
    if taught is None:
        raise InputError(
            "this metric was loaded from a file, which does not keep the pairs it learned from: "
            "fit again."
        )
    return taught


# What these learners keep, beside what all do; some may be left from a fit with another kernel.
KEPT: dict[str, Spec] = {
    "components_": floats("q r"),
    "mean_": maybe(floats("_")),
    "landmarks_": maybe(ints("_")),
    "eigenvalues_": maybe(floats("_")),
    "gamma_": maybe(positive),
}


@dataclass(frozen=True)
class Columns:
    """Rows as they are, centred; those of very many columns along r orthonormal axes.

    The covariance, of shape (r, r), is of the coordinates; r is d without axes.
    """

    mean: Floats
    covariance: Floats
    axes: Floats | None = None

    def coordinates(self, X: Any) -> Floats:
        """Coordinates of rows in this space, of shape (n, r), in float64."""
        if is_sparse(X):
            center = self.mean if self.axes is None else self.axes @ self.mean
            return project_along(X, self.axes) - center
        centred: Floats = X - backends.move_to(self.mean, backends.widen(X[:0, :]))
        return centred if self.axes is None else centred @ backends.move_to(self.axes, centred).T

    def in_columns(self, components: Floats) -> Floats:
        """Turn a linear map of coordinates, of shape (q, r), into one of centred rows, (q, d)."""
        return components if self.axes is None else components @ self.axes

    def map(self, components: Floats) -> maps.Map:
        """Return the map that centres rows and multiplies them with a matrix of shape (q, d)."""
        return maps.Affine(components, self.mean)

    @property
    def attributes(self) -> dict[str, Any]:
        """Fitted attributes of the learner by name: ``mean_``."""
        return {"mean_": self.mean}


@dataclass(frozen=True)
class Directions:
    """Rows along the leading directions of a kernel's feature space."""

    rows: Ints
    eigenvalues: Floats
    gamma: float
    extension: Extension
    landmarks: Floats

    @property
    def covariance(self) -> Floats:
        """Covariance of the landmarks' coordinates, of shape (r, r)."""
        return np.asarray(self.landmarks.T @ self.landmarks / len(self.landmarks))

    def in_columns(self, components: Floats) -> Floats:
        """Return ``components`` unchanged: a kernel's feature space has no columns."""
        return components

    def map(self, components: Floats) -> maps.Map:
        """Return the map of rows for a linear map of their coordinates, of shape (q, r)."""
        return maps.ThroughLandmarks(self.extension, self.landmarks @ components.T)

    def coordinates(self, X: Rows) -> Floats:
        """Coordinates of rows in this space, of shape (n, r), in float64."""
        return cast("Floats", backends.widen(self.extension.embed(X, self.landmarks)))

    @property
    def attributes(self) -> dict[str, Any]:
        """Fitted attributes of the learner: ``landmarks_``, ``eigenvalues_`` and ``gamma_``."""
        return {"landmarks_": self.rows, "eigenvalues_": self.eigenvalues, "gamma_": self.gamma}


LinearSpace = Columns | Directions


def find_columns(X: Any, rng: Rng | None = None) -> Columns:
    """Return the columns of X as the space to learn in, or axes in place of very many columns.

    By :func:`find_axes`, in O(n d²) time and d² numbers beside some rows. ``rng`` stays as it was.
    """
    if backends.is_foreign(X) or backends.is_remote(X):
        return Columns(*access.moments(X))
    mean = mean_row(X)
    return find_columns_along(X, mean, find_axes(X, mean, rng))


def find_axes(X: Any, mean: Doubles, rng: Rng | None) -> Floats | None:
    """Find leading axes for rows of very many columns, of shape (r, d); None for fewer columns.

    Sparse rows of more than 300 columns have 300 axes; others have them from 1000 columns on.
    ``rng`` is left as it was.
    """
    if is_sparse(X):
        return leading_axes(centre(X, middle(X)), deepcopy(rng))
    if X.shape[1] <= sparse.MOST_COLUMNS:  # a copy of the generator takes longer than many a fit
        return None
    return axes_of_wide_rows(X, mean, deepcopy(rng))


def find_columns_along(X: Any, mean: Floats, axes: Floats | None) -> Columns:
    """Return the space of rows in memory along known axes, or of all their columns if None."""
    r = len(mean if axes is None else axes)
    space = Columns(mean, np.zeros((r, r)), axes)
    for block in split_range(X.shape[0], _BLOCK):
        centered = space.coordinates(X[block])
        space.covariance[:] += centered.T @ centered
    return replace(space, covariance=space.covariance / X.shape[0])


def _are_rows_equal(X: Any, space: Columns) -> bool:
    """Whether all rows of X are equal."""
    if backends.is_remote(X):  # whose moments know no rounding of equal rows
        return not space.covariance.any()
    if is_sparse(X):
        return are_all_equal(X)
    first, xp = X[:1, :], backends.namespace(X)
    if not xp.all(first == X[-1:, :]):  # as nearly always, without a look at the others
        return False
    return bool(xp.all(first == X))


def shrink_to_identity(covariance: Floats, n_rows: int) -> Floats:
    """Shrink a covariance towards a multiple of the identity by d / (d + n).

    It can be inverted for constant columns, and for fewer rows than columns, unless it is zero.
    """
    d = len(covariance)
    shrinkage = d / (d + n_rows)
    mean_variance = np.trace(covariance) / d
    return np.asarray((1 - shrinkage) * covariance + shrinkage * mean_variance * np.eye(d))


@dataclass(frozen=True)
class Projection:
    """The map from coordinates in a space to the learned ones: linear, perhaps to unit length."""

    components: Floats
    unit_length: bool = False

    def __call__(self, F: Any) -> Any:
        """Map coordinates to the learned space; keeps device and dtype."""
        Z = F @ backends.move_to(self.components.T, F)
        return unit_rows(Z) if self.unit_length else Z

    @property
    def matrix(self) -> Floats | None:
        """The map as a matrix of shape (r, q); None if rows are divided by their lengths."""
        return None if self.unit_length else self.components.T


def map_by_metric(
    learner: Any,
    taught: Taught,
    metric: Floats,
    attributes: dict[str, Any] | None = None,
    *,
    unit_length: bool = False,
) -> Learned:
    """Return the linear map whose Euclidean distances are those of a metric in the learner's space.

    ``metric``, of shape (r, r), acts on the coordinates of ``taught.space``. Of its principal axes
    ``learner.n_components`` are kept. ``attributes`` are the learner's own fitted attributes. With
    ``unit_length`` mapped rows are divided by their lengths.
    """
    space = taught.space
    components = leading_components(metric, space.covariance, learner.n_components)
    in_columns = space.in_columns(components)
    attributes = {
        **(attributes or {}),
        "components_": in_columns,
        "n_components_": len(components),
        **space.attributes,
    }
    learned = space.map(in_columns)
    if unit_length:
        learned = maps.compose(learned, maps.UnitLength())
    return Learned(learned, attributes, Projection(components, unit_length))


class LinearInSpaceMixin(TeachableMixin):
    """Where a linear metric is learned: on the columns of X, or in a kernel's feature space.

    The learner has a ``kernel``, perhaps None, and ``_learn``, which ends with
    :func:`map_by_metric`.
    """

    # The metric's name where all rows of X are equal, so that pairs say nothing.
    _without_differences: ClassVar[str] = "Euclidean"
    _array_api: ClassVar[bool] = True
    _remote: ClassVar[bool] = True
    _sparse: ClassVar[bool] = True

    def _find_space(self, X: Any, points: Integers, rng: Rng) -> LinearSpace:
        """Return the columns of X, or the leading directions of a kernel's feature space."""
        if self.kernel is not None:
            rank_tol = _RANK_TOL if self.rank_tol is None else float(self.rank_tol)
            found = find_feature_space(self, X, points, rank_tol, rng)
            return Directions(
                found.rows,
                found.eigenvalues[:_MOST_DIRECTIONS],
                found.kernel.gamma,
                found.extension(self.extension, self.n_neighbors, _MOST_DIRECTIONS),
                found.weighted_directions[:, :_MOST_DIRECTIONS],
            )
        space = call_once(find_columns, X, rng)
        if not _are_rows_equal(X, space):
            return space
        notice(
            "all rows of X coincide: the pairs say nothing, and the "
            f"{self._without_differences} metric is kept."
        )
        return replace(space, covariance=np.zeros_like(space.covariance))


@with_parameters
class LinearInKernelMixin(KernelRowsMixin, LinearInSpaceMixin, KernelParameters):
    """Where a linear metric is learned that has the parameters of a kernel's feature space."""

    kernel: str | KernelFunction | None = None
    extension: Literal["local", "nystroem"] = "local"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "kernel": [*PARAMETER_CONSTRAINTS["kernel"], None],
    }
