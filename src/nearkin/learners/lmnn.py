"""LMNN: a linear metric for nearest-neighbour rules."""

from __future__ import annotations

from copy import deepcopy
from numbers import Real
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_array

from nearkin._types import Floats, Rng
from nearkin.errors import InputError, raise_input_errors
from nearkin.learners.base import MetricMixin, stored_learner
from nearkin.learners.parameters import Count, Listed, NotNegative, UsualParameters, with_parameters
from nearkin.messages import notice
from nearkin.pairs.supervision import Evidence
from nearkin.rows.sparse import axes_of_wide_rows
from nearkin.solvers.large_margin import find_known_classes, learn_large_margin_metric
from nearkin.spaces.linalg import along_principal_axes, principal_axes
from nearkin.spaces.maps import Affine
from nearkin.storage.schema import floats, numbers, real, whole

# Of fewer columns a linear map can hardly hold by heart where rows are. Chosen by hand.
_MANY_COLUMNS = 10
# Most iterations; and those where a linear map can bring every class into one place, chosen among
# 2, 5, 10, 20, 40 and 1000 on one half of the tables of benchmarks/few_pairs (3, 5 and 10 labels a
# class). On the other half the mean pair AUC is .761 with 5, .706 with 1000, and .723 of the
# Euclidean distance; the nearest row has the right class for .727, .661 and .717 of rows.
_MOST_ITERATIONS, _ITERATIONS_OF_FEW = 1000, 5


@stored_learner(
    components_=floats("q d"),
    mean_=floats("d"),
    margin_=real,
    objective_=numbers("_"),
    n_iter_=whole,
)
@with_parameters
class LMNN(MetricMixin, UsualParameters, BaseEstimator):
    r"""Large margin nearest neighbours: a linear metric for nearest-neighbour rules.

    The nearest rows of a row's own class are pulled near to it, and rows of other classes pushed
    away until they are farther by a margin. What lies far away anyway does not count, so classes
    may have any shape; but it takes labels in some number, not a few pairs.

    Parameters
    ----------
    n_neighbors : int, default=3
        Targets of a row: its nearest rows of the same class, by Euclidean distance. Smaller
        classes use what there is.
    push : float, default=0.5
        μ, the share of pushing in the objective, between 0 and 1.
    n_passes : int, default=2
        In passes after the first, targets are chosen anew by the metric learned so far.
    n_components : int or None, default=None
        Learn a map to so many dimensions. All columns by default; then the problem is convex in
        the metric :math:`L^\top L`, and the start does not matter much.
    init : {"pca", "identity"} or array of shape (q, d), default="pca"
        Where to start: leading principal axes, the first columns (without ``n_components`` both
        are the Euclidean metric), or a map such as the ``components_`` of an earlier fit.
    max_iter : int or None, default=None
        Most iterations. None is 1000, or 5 where rows of known class are so few beside the columns
        that a linear map could bring every class into one place, whatever holds for other rows.
    tol : float, default=1e-3
        Stop when a round of iterations (10, then 20, 40 and so on) lowers the objective by no
        more than this share.
    scale, random_state
        As in :class:`Euclidean`; the metric does not depend on the latter.

    Attributes
    ----------
    components_, mean_
        As in :class:`ITML`.
    margin_ : float
        By how much an impostor's squared distance is to exceed a target's: the mean squared
        Euclidean distance of targets. Another would only scale the metric.
    objective_ : ndarray
        Before the first round and after each, with all impostors at that time, in units of the
        margin. It never rises.
    n_iter_ : int
    map_, n_components_, column_scale_, learned_from_, n_features_in_, feature_names_in_
        As in :class:`Euclidean`; other attributes are of the divided columns.

    References
    ----------
    K. Q. Weinberger, L. K. Saul. Distance metric learning for large margin nearest neighbor
    classification. Journal of Machine Learning Research 10, 2009.

    Notes
    -----
    The objective is at the head of :mod:`nearkin.solvers.large_margin`. It is lowered by L-BFGS
    over L; impostors are found exactly, by products of blocks of rows.

    Without labels, components of must-links are the classes, and only those count as different
    between which there is a cannot-link, so that it takes both. Weights of pairs are not used.
    More than 1000 columns are seen along axes: see :meth:`fit`.

    O(n² q) time a round, and O((p + n d) q) an iteration, for n rows with known class and p
    impostors; O(p + n q) memory beyond the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from nearkin import LMNN
    >>> X, y = load_wine(return_X_y=True)
    >>> Z = LMNN(scale=True).fit(X[::2], y[::2]).transform(X)
    >>> before, after = (KNeighborsClassifier(3).fit(A[::2], y[::2]) for A in (X, Z))
    >>> after.score(Z[1::2], y[1::2]) > 0.9 > before.score(X[1::2], y[1::2])
    True
    """

    _order: ClassVar[str | None] = "C"  # of frames too: the last digits of sums would depend on it

    n_neighbors: Count = 3
    push: Annotated[float, Interval(Real, 0, 1, closed="neither")] = 0.5
    n_passes: Count = 2
    init: Literal["pca", "identity"] | Listed = "pca"
    max_iter: Count | None = None
    tol: NotNegative = 1e-3

    def _learn_from(self, X: Any, evidence: Evidence, rng: Rng) -> None:
        """Minimise the large-margin objective, and warn where it can mislead."""
        classes = find_known_classes(len(X), evidence)
        mean = X.mean(axis=0, dtype=np.float64)
        known = X[classes.rows].astype(np.float64)
        centered = known - known[0]  # exact zeros where all rows coincide
        centered -= centered.mean(axis=0)
        if np.bincount(classes.number).max() < 2:
            raise InputError(
                "LMNN learns from rows that are alike, but no two are: give must-links, or labels "
                "with two rows of one class. n_samples=1 in every class is not enough."
            )
        labels = np.unique(classes.number[classes.number < classes.n_labels])
        if len(classes.unlike) == 0 and len(labels) < 2:
            raise InputError(
                "LMNN learns from rows that differ, but no two do: give labels of at least two "
                "classes, or cannot-links beside the must-links."
            )
        axes = axes_of_wide_rows(known, known.mean(axis=0), deepcopy(rng))
        start = find_starting_map(self.init, centered, self.n_components, axes)
        if axes is not None:
            centered = centered @ axes.T
        n_free = len(centered) - len(np.unique(classes.number))
        n_columns = int((centered != 0).any(axis=0).sum())
        can_collapse = n_free < n_columns and n_columns >= _MANY_COLUMNS
        stops_early = can_collapse and self.max_iter is None
        usual = _ITERATIONS_OF_FEW if can_collapse else _MOST_ITERATIONS
        solution, margin = learn_large_margin_metric(
            centered,
            classes,
            start,
            n_neighbors=self.n_neighbors,
            push=float(self.push),
            n_passes=self.n_passes,
            max_iter=usual if self.max_iter is None else self.max_iter,
            tol=self.tol,
        )
        if margin == 0:
            notice(
                "all rows of X coincide: there is nothing to learn, and the metric is where it "
                "started."
            )
        if not solution.converged and not stops_early:
            notice(
                f"LMNN did not converge in {solution.n_iter} iterations. Raise max_iter or tol; "
                "columns of very different scale slow it down (StandardScaler helps).",
                ConvergenceWarning,
            )
        if can_collapse and not stops_early:
            notice(
                f"LMNN has {len(centered)} rows of known class and {n_columns} columns: it can "
                "bring all rows of a class into one place, whatever holds for others, and may be "
                "worse than the Euclidean distance. Stop early (max_iter=None), take fewer columns "
                "(such as by PCA), or ITML."
            )
        components = along_principal_axes(solution.L, centered)
        self.components_ = components if axes is None else components @ axes
        self.mean_ = mean
        self.margin_ = margin
        self.objective_ = np.array(solution.objective)
        self.n_iter_ = solution.n_iter
        self.n_components_ = len(self.components_)
        self._keep(Affine(self.components_, mean), X, evidence, rng)


def find_starting_map(
    init: str | ArrayLike, X: Floats, n_components: int | None, axes: Floats | None = None
) -> Floats:
    """Return the map that iterations start from, of shape (q, d), or (q, r) along r axes.

    X are the centred rows; ``axes``, of shape (r, d), are given where columns are very many.
    """
    d = X.shape[1]
    if axes is not None and n_components is None and isinstance(init, str):
        return np.eye(len(axes))
    q = d if n_components is None else min(n_components, d)
    if isinstance(init, str):
        if q == d or init == "identity":
            first = np.eye(q, d)
            return first if axes is None else first @ axes.T
        seen = X if axes is None else X @ axes.T
        return np.ascontiguousarray(principal_axes(seen.T @ seen)[:, :q].T)
    with raise_input_errors():
        start: Floats = check_array(init, dtype=np.float64, input_name="init")
    rows = "n" if n_components is None else str(q)
    if start.shape[1] != d or (n_components is not None and len(start) != q):
        raise InputError(
            f"init has shape {start.shape}, but X has {d} columns and n_components is "
            f"{n_components}: shape ({rows}, {d}) is expected."
        )
    if not start.any():
        raise InputError("init is zero everywhere, from where no direction leads down.")
    return start if axes is None else start @ axes.T
