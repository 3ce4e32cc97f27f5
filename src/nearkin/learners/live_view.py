"""Rows in the plane of a metric that is being taught: a new picture after every answer."""

from __future__ import annotations

from copy import copy
from typing import Any, cast

import numpy as np
from scipy.linalg import eigh
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats
from nearkin.errors import InputError, InputTypeError
from nearkin.learners.compositions import last_learner, seen_by_last
from nearkin.learners.teachable import Columns, TeachableMixin, find_columns, get_taught
from nearkin.rows import access, backends
from nearkin.rows.parallel import one_core
from nearkin.spaces.linalg import principal_axes


class LiveView:
    """Principal coordinates of some rows, updated in milliseconds after every ``partial_fit``.

    ``transform`` looks for the landmarks that are near a row, which pairs do not change. A view
    does so once, and keeps where the rows lie before anything is learned.

    Parameters
    ----------
    metric : fitted KernelBeta, ITML or GMML
        Or a chain or pipeline with such a last step. The view follows it until it is fitted anew.
    X : array of shape (n, d)
        The rows to look at, as ``transform`` takes them.

    Notes
    -----
    It holds n × r numbers, r the columns or the directions of feature space, and takes O(n r) time
    for a picture, beside O(r³) whatever n. KernelBeta with ``n_iter`` above 1 has to look for
    neighbours again.

    Examples
    --------
    >>> from nearkin import KernelBeta, LiveView, Pairs
    >>> from nearkin.datasets import make_xor
    >>> X, _ = make_xor(400, random_state=0)
    >>> metric = KernelBeta(n_landmarks=50, random_state=0).fit(X, pairs=Pairs([(0, 1)]))
    >>> view = LiveView(metric, X)
    >>> before = view.coordinates()
    >>> metric = metric.partial_fit(X, pairs=Pairs(cannot_link=[(3, 8)]))
    >>> view.coordinates().shape
    (400, 2)
    >>> len(view.embedding([3, 5])), bool((view.variances() >= 0).all())
    (2, True)

    Beside it, that of a metric with one more pair:

    >>> from copy import copy
    >>> another = copy(metric).partial_fit(X, pairs=Pairs(cannot_link=[(4, 5)]))
    >>> view.seen_by(another).coordinates().shape
    (400, 2)
    """

    def __init__(self, metric: Any, X: Any) -> None:
        last = last_learner(metric)
        if not isinstance(last, TeachableMixin):
            raise InputTypeError(
                f"LiveView is for metrics with partial_fit, not {type(last).__name__}: use "
                "nearkin.spaces.linalg.principal_coordinates(metric.transform(X))."
            )
        check_is_fitted(last)
        metric, X = seen_by_last(metric, X)
        self._metric = metric
        self._space = get_taught(metric).space
        self._rows = self._space.coordinates(metric._check_and_scale(X, reset=False))
        self._moments = find_columns(self._rows)

    def coordinates(self, n_components: int = 2) -> Floats:
        """Coordinates of the rows along the principal axes of their learned embedding.

        They are the :func:`nearkin.spaces.linalg.principal_coordinates` of ``metric.transform(X)``,
        of shape (n, n_components), and zero where there are no more axes.
        """
        with one_core():  # a second one would wait for the first more often than help
            moments, learned, (rows, matrix) = self._find_learned_moments()
            n_axes = min(n_components, matrix.shape[1])
            axes = principal_axes(learned, n_axes)
            lens = matrix @ np.pad(axes, ((0, 0), (0, n_components - n_axes)))
            origin = moments.mean @ lens
            found: Floats = rows @ backends.move_to(lens, rows) - backends.move_to(origin, rows)
            return found

    def embedding(self, rows: Any = None) -> Floats:
        """Embedding of the rows, or of those with the given numbers, of shape (n, q).

        They are ``metric.transform(X[rows])``, but for coordinates that are zero throughout.
        """
        image = self._get_image()
        return cast("Floats", image(self._rows if rows is None else access.take(self._rows, rows)))

    def variances(self) -> Floats:
        """Variance of the rows along each principal axis of their learned embedding, decreasing."""
        with one_core():
            _, covariance, _ = self._find_learned_moments()
            return np.asarray(np.maximum(eigh(covariance, eigvals_only=True)[::-1], 0.0))

    def seen_by(self, metric: Any) -> LiveView:
        """Return a view of the same rows under a copy of this metric after ``partial_fit``.

        It shares the rows with this one, and looks for nothing again.
        """
        other = copy(self)
        other._metric = last_learner(metric)
        other._get_image()  # an error now rather than later
        return other

    def _get_image(self) -> Any:
        """The map from the space to the embedding; an error if the metric was fitted anew."""
        taught = get_taught(self._metric)
        if taught.space is not self._space or taught.image is None:
            raise InputError("the metric was fitted anew since: make a new LiveView.")
        return taught.image

    def _find_learned_moments(self) -> tuple[Columns, Floats, tuple[Any, Floats]]:
        """Moments of the rows, covariance of their embedding, and the embedding as rows and matrix.

        The embedding is ``rows @ matrix``. Where the map is not linear, ``rows`` are mapped already
        and the matrix is the identity; the moments are those of ``rows``.
        """
        image = self._get_image()
        rows, moments, matrix = self._rows, self._moments, image.matrix
        if matrix is None:
            rows = image(rows)
            moments, matrix = find_columns(rows), np.eye(rows.shape[1])
        return moments, matrix.T @ moments.covariance @ matrix, (rows, matrix)
