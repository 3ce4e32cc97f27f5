"""What linear metrics share that live on the columns of X or in a kernel's feature space."""

from __future__ import annotations

from copy import deepcopy
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Tags

from nearkin._types import Doubles, Floats
from nearkin.learners.incremental import TeachableMixin
from nearkin.learners.two_steps import Coordinates, Learned, Taught
from nearkin.messages import notice
from nearkin.rows import access, backends, sparse
from nearkin.rows.distances import centred, mean_row, middle
from nearkin.rows.memo import once
from nearkin.rows.parallel import blocks
from nearkin.rows.sparse import all_equal, along, axes_of_wide_rows, is_sparse, leading_axes
from nearkin.spaces.feature_space import (
    PARAMETER_CONSTRAINTS,
    Extension,
    FeatureSpace,
    feature_space_of,
    rows_for_kernel,
    with_kernel_tags,
)
from nearkin.spaces.kernels import Rows, unit_rows
from nearkin.spaces.linalg import leading_components
from nearkin.spaces.maps import Affine, Map, ThroughLandmarks, UnitLength, composed
from nearkin.storage.schema import Spec, floats, ints, maybe, positive

# Directions of a kernel's feature space that are looked at.
_MOST_DIRECTIONS = 60
_RANK_TOL = 1e-3
_BLOCK = 65536

# What these learners keep, beside what all do; some may be left from a fit with another kernel.
KEPT: dict[str, Spec] = {
    "components_": floats("q r"),
    "mean_": maybe(floats("_")),
    "landmarks_": maybe(ints("_")),
    "eigenvalues_": maybe(floats("_")),
    "gamma_": maybe(positive),
}
# What scikit-learn checks of the parameters that these learners share.
SPACE_CONSTRAINTS: dict[str, list[Any]] = {
    **PARAMETER_CONSTRAINTS,
    "kernel": [*PARAMETER_CONSTRAINTS["kernel"], None],
}


@dataclass(frozen=True)
class Columns:
    """Rows as they are, centred; those of very many columns along a few axes.

    Attributes
    ----------
    mean : ndarray of shape (d,)
        Of the columns.
    covariance : ndarray of shape (r, r)
        Of the coordinates, where r is d if there are no axes.
    axes : ndarray of shape (r, d) or None
        Orthonormal, see :func:`nearkin.rows.sparse.leading_axes` and :mod:`nearkin.rows.sparse`.
    """

    mean: Floats
    covariance: Floats
    axes: Floats | None = None

    def coordinates(self, X: Any) -> Floats:
        """Coordinates of rows in this space, in float64."""
        if is_sparse(X):
            center = self.mean if self.axes is None else self.axes @ self.mean
            return along(X, self.axes) - center
        centred: Floats = X - backends.moved(self.mean, backends.wide(X[:0, :]))
        return centred if self.axes is None else centred @ backends.moved(self.axes, centred).T

    def in_columns(self, components: Floats) -> Floats:
        """A linear map of coordinates, of shape (q, r), as one of centred rows."""
        return components if self.axes is None else components @ self.axes

    def map(self, components: Floats) -> Map:
        """From rows to their images by a linear map of centred rows."""
        return Affine(components, self.mean)

    @property
    def attributes(self) -> dict[str, Any]:
        """What a fitted learner shows of this space."""
        return {"mean_": self.mean}


@dataclass(frozen=True)
class Directions:
    """Rows along the leading directions of a kernel's feature space."""

    rows: NDArray[np.int64]
    eigenvalues: Floats
    gamma: float
    extension: Extension
    landmarks: Floats

    @property
    def covariance(self) -> Floats:
        """Covariance of the landmarks' coordinates."""
        return np.asarray(self.landmarks.T @ self.landmarks / len(self.landmarks))

    def in_columns(self, components: Floats) -> Floats:
        """The map itself: rows have no columns here."""
        return components

    def map(self, components: Floats) -> Map:
        """From rows to their images by a linear map of their coordinates."""
        return ThroughLandmarks(self.extension, self.landmarks @ components.T)

    def coordinates(self, X: Rows) -> Floats:
        """Coordinates of rows in this space, in float64."""
        found: Floats = backends.wide(self.extension.embed(X, self.landmarks))
        return found

    @property
    def attributes(self) -> dict[str, Any]:
        """What a fitted learner shows of this space."""
        return {
            "landmarks_": self.rows,
            "eigenvalues_": self.eigenvalues,
            "gamma_": self.gamma,
        }


Space = Columns | Directions


def columns_of(X: Any, rng: np.random.RandomState | None = None) -> Columns:
    """The columns of X as a space: O(n d²) time, and d² numbers beside some rows at a time.

    Sparse rows of more than 300 columns have 300 axes in their place, and others of more than 1000
    columns those of :func:`nearkin.rows.sparse.axes_of_wide_rows`; ``rng`` finds them, and is as it
    was.
    """
    if backends.is_foreign(X) or backends.is_remote(X):
        return Columns(*access.moments(X))
    mean = mean_row(X)
    return columns_along(X, mean, axes_of(X, mean, rng))


def axes_of(X: Any, mean: Doubles, rng: np.random.RandomState | None) -> Floats | None:
    """The few axes that rows of very many columns are seen along; None if there are none."""
    if is_sparse(X):
        return leading_axes(centred(X, middle(X)), deepcopy(rng))
    if X.shape[1] <= sparse.MOST_COLUMNS:  # a copy of the generator takes longer than many a fit
        return None
    return axes_of_wide_rows(X, mean, deepcopy(rng))


def columns_along(X: Any, mean: Floats, axes: Floats | None) -> Columns:
    """The columns of rows in memory as a space, along axes that are known."""
    r = len(mean if axes is None else axes)
    space = Columns(mean, np.zeros((r, r)), axes)
    for block in blocks(X.shape[0], _BLOCK):
        centered = space.coordinates(X[block])
        space.covariance[:] += centered.T @ centered
    return replace(space, covariance=space.covariance / X.shape[0])


def _all_equal(X: Any, space: Columns) -> bool:
    if backends.is_remote(X):  # whose moments know no rounding of equal rows
        return not space.covariance.any()
    if is_sparse(X):
        return all_equal(X)
    first, xp = X[:1, :], backends.namespace(X)
    if not xp.all(first == X[-1:, :]):  # as nearly always, without a look at the others
        return False
    return bool(xp.all(first == X))


def shrunk_covariance(covariance: Floats, n_rows: int) -> Floats:
    """Covariance shrunk towards a multiple of the identity by d / (d + n).

    It can be inverted for constant columns, and for fewer rows than columns, unless it is zero.
    """
    d = len(covariance)
    shrinkage = d / (d + n_rows)
    mean_variance = np.trace(covariance) / d
    return np.asarray((1 - shrinkage) * covariance + shrinkage * mean_variance * np.eye(d))


def directions_of(found: FeatureSpace, extension: Extension) -> Directions:
    """The leading ones of feature space, coordinates of the landmarks along them."""
    return Directions(
        found.rows,
        found.eigenvalues[:_MOST_DIRECTIONS],
        found.kernel.gamma,
        extension,
        found.weighted_directions[:, :_MOST_DIRECTIONS],
    )


@dataclass(frozen=True)
class Projection:
    """From coordinates in a space to the learned ones."""

    components: Floats

    def __call__(self, F: Any) -> Any:
        """Of rows, where they are."""
        return F @ backends.moved(self.matrix, F)

    @property
    def matrix(self) -> Floats:
        """The map as a matrix of shape (r, q)."""
        return self.components.T


@dataclass(frozen=True)
class Direction:
    """The same, divided by their lengths."""

    components: Floats

    def __call__(self, F: Any) -> Any:
        """Of rows, where they are."""
        return unit_rows(F @ backends.moved(self.components.T, F))

    @property
    def matrix(self) -> None:
        """There is none: the map is not linear."""
        return None


class LinearInSpaceMixin(TeachableMixin):
    """A linear metric on columns or in feature space.

    The learner brings the parameters ``kernel``, ``rank_tol``, ``n_components``,
    ``random_state`` and those of :func:`nearkin.spaces.feature_space.feature_space_of`, and

    - ``_settle``, as :class:`TeachableMixin` says;
    - ``_metric(taught, coordinates, rng)``, which gives the metric as a matrix of shape (r, r) for
      the r columns or directions of the space, and fitted attributes of its own;
    - ``_without_differences``, the metric's name where all rows of X are equal;
    - ``_of_unit_length``, if rows are divided by their lengths after they are mapped.
    """

    _without_differences: str
    _of_unit_length: ClassVar[bool] = False
    _array_api: ClassVar[bool] = True
    _remote: ClassVar[bool] = True
    _sparse: ClassVar[bool] = True

    def _find_space(self, X: Any, points: NDArray[np.integer], rng: np.random.RandomState) -> Space:
        """The columns of X, or the leading directions of a kernel's feature space."""
        if self.kernel is not None:
            rank_tol = _RANK_TOL if self.rank_tol is None else float(self.rank_tol)
            found = feature_space_of(self, X, points, rank_tol, rng)
            return directions_of(found, found.extension(self.extension, self.n_neighbors))
        space = once(columns_of, X, rng)
        if not _all_equal(X, space):
            return space
        notice(
            "all rows of X coincide: the pairs say nothing, and the "
            f"{self._without_differences} metric is kept."
        )
        return replace(space, covariance=np.zeros_like(space.covariance))

    def _learn(
        self, taught: Taught, coordinates: Coordinates, rng: np.random.RandomState
    ) -> Learned:
        metric, attributes = self._metric(taught, coordinates, rng)
        components = leading_components(metric, taught.space.covariance, self.n_components)
        in_columns = taught.space.in_columns(components)
        attributes |= {"components_": in_columns, "n_components_": len(components)}
        attributes |= taught.space.attributes
        learned = taught.space.map(in_columns)
        if self._of_unit_length:
            return Learned(composed(learned, UnitLength()), attributes, Direction(components))
        return Learned(learned, attributes, Projection(components))

    def _metric(
        self, taught: Taught, coordinates: Coordinates, rng: np.random.RandomState
    ) -> tuple[Floats, dict[str, Any]]:
        """The metric as a matrix of shape (r, r): every learner has its own."""
        raise NotImplementedError  # the learner brings it

    def _checked(self, X: Any, *, reset: bool = False) -> Rows:
        if self.kernel is None:
            return super()._checked(X, reset=reset)
        return rows_for_kernel(self, X, reset=reset)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        return tags if self.kernel is None else with_kernel_tags(tags, self.kernel)
