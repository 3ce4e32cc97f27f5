"""ITML: the metric nearest to a prior one that brings pairs within bounds."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_array

from nearkin._types import Floats, Rng
from nearkin.errors import InputError, raise_input_errors
from nearkin.learners.base import stored_learner
from nearkin.learners.fit_steps import Coordinates, Learned, Taught, call_once, to_host_float64
from nearkin.learners.parameters import Count, Listed, NotNegative, with_parameters
from nearkin.learners.teachable import (
    KEPT,
    Columns,
    LinearInKernelMixin,
    LinearSpace,
    map_by_metric,
    shrink_to_identity,
)
from nearkin.pairs.supervision import Evidence, draw_example_pairs
from nearkin.rows import access
from nearkin.rows.sparse import is_sparse
from nearkin.solvers import logdet
from nearkin.solvers.logdet import project
from nearkin.storage.schema import numbers, real, tuple_of, whole

# A given prior may be so far from symmetric by rounding, as a share of its largest entry; and
# eigenvalues below this share of the largest are zero by rounding in float64.
_ASYMMETRY, _NO_EIGENVALUE = 1e-8, 1e-13


def prior_metric(prior: str | ArrayLike, covariance: Floats, n_rows: int) -> Floats:
    """Return the prior metric, of shape (d, d), which the learned one is to stay near to.

    ``"covariance"`` is the inverse of :func:`shrink_to_identity`.
    """
    d = len(covariance)
    if not isinstance(prior, str):
        return _check_prior(prior, d)
    if prior == "identity" or np.trace(covariance) == 0:
        return np.eye(d)
    inverse = np.linalg.inv(shrink_to_identity(covariance, n_rows))
    return np.asarray((inverse + inverse.T) / 2)


def _check_prior(prior: ArrayLike, d: int) -> Floats:
    """Return a given prior as a symmetric matrix; refuse what is no metric on d columns."""
    with raise_input_errors():
        matrix: Floats = check_array(prior, dtype=np.float64, input_name="prior")
    if matrix.shape != (d, d):
        raise InputError(
            f"prior has shape {matrix.shape}, but X has {d} columns: shape ({d}, {d}) is expected."
        )
    if np.abs(matrix - matrix.T).max() > _ASYMMETRY * np.abs(matrix).max():
        raise InputError("prior is not symmetric: use (prior + prior.T) / 2 if that is meant.")
    values = np.linalg.eigvalsh(matrix)
    if values[0] <= _NO_EIGENVALUE * values[-1]:
        raise InputError(
            f"prior must be positive definite, but its smallest eigenvalue is {values[0]:.3g} and "
            f"its largest {values[-1]:.3g}. Add a multiple of the identity to it."
        )
    return (matrix + matrix.T) / 2


@stored_learner(**KEPT, bounds_=tuple_of(real, real), objective_=numbers("_"), n_iter_=whole)
@with_parameters
class ITML(LinearInKernelMixin, BaseEstimator):
    """Information-theoretic metric learning: the metric nearest to a prior under bounds on pairs.

    Must-linked rows are to lie at most one distance apart and cannot-linked ones at least
    another. Of the linear metrics that come close to that, the one nearest to the prior in LogDet
    divergence is learned. The same is done in the feature space of a kernel if there is one.

    Parameters
    ----------
    slack : float, default=0.5
        γ: how much a pair of weight one counts beside the prior. Towards 0 the metric is the
        prior; ``inf`` makes the bounds strict, which need not be possible. The default was chosen
        on sets to tune on: 2 is better where all pairs are right, and loses more where a fifth is
        wrong.
    prior : {"identity", "covariance"} or array of shape (d, d), default="identity"
        The metric to stay near to: Euclidean, the inverse of the (slightly shrunk) covariance, or
        a positive definite matrix (not with a kernel).
    bounds : (float, float) or None, default=None
        Largest distance of must-links and smallest distance of cannot-links, under the prior and
        **not squared**. None takes the 1st and the 90th percentile of the distances between
        random rows.
    max_iter : int, default=1000
        Most sweeps over the pairs.
    tol : float, default=1e-9
        Stop when the objective is known to be within this share of its minimum; with triplets it
        is 1e-4 at least.
    kernel : str, callable or None, default=None
        None learns from the columns of X. Otherwise a kernel as in :class:`KernelBeta`, whose 60
        leading directions take the place of columns.
    n_landmarks, landmarks, gamma, degree, coef0, n_neighbors, extension, rank_tol
        The feature space of a kernel, as in :class:`KernelBeta`; ``rank_tol=None`` is 0.001.
    n_components : int or None, default=None
        Keep this many principal axes of the learned configuration at most.
    scale : bool, default=False
        Divide columns by their spreads first, as in :class:`Euclidean`.
    random_state : int, RandomState or None, default=None
        Draws the random rows for ``bounds``, landmarks, pairs that labels imply, and random pairs
        for ``threshold_``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, d)
        ``transform`` multiplies centred rows with its transpose; with a kernel, the rows'
        coordinates in feature space. Principal axes of the learned configuration, by decreasing
        variance.
    mean_ : ndarray of shape (d,)
        Without a kernel.
    bounds_ : tuple of two floats
        In use, not squared.
    objective_ : ndarray of shape (n_iter_ + 1,)
        Before the first sweep and after each (:func:`nearkin.solvers.logdet.logdet_objective`).
    n_iter_ : int
    landmarks_, eigenvalues_, gamma_
        With a kernel: row numbers of the landmarks, the decreasing eigenvalues of their centred
        kernel matrix, and the inverse bandwidth.
    map_, n_components_, column_scale_, learned_from_, n_features_in_, feature_names_in_
        As in :class:`Euclidean`; other attributes are of the divided columns.

    References
    ----------
    J. V. Davis, B. Kulis, P. Jain, S. Sra, I. S. Dhillon. Information-theoretic metric learning.
    ICML 2007.

    Notes
    -----
    :mod:`nearkin.solvers.logdet` states the problem and how it is solved. Differences from the
    paper: pairs have weights; they are visited in random order, which takes far fewer sweeps; the
    end is told by the duality gap; the slack parameter is that of the authors' program, equal to
    the printed one at 1 only. The paper takes the 5th and 95th percentile as bounds and a slack
    chosen by validation; the defaults here ask for more and insist less.

    Triplets are used, too: each adds γ max(0, 1 + (p − r) / m) times its weight to the objective, p
    and r the squared distances of which p is to be the smaller, and m the squared distance that
    cannot-links are to have (:mod:`nearkin.solvers.logdet`).

    Graded pairs are held at a distance between the two bounds, in proportion to the grade: each is
    two pairs of the problem, one at most and one at least as far apart.

    Labels act through pairs drawn from them, about five of each kind for a labelled row, which
    together weigh as much as there are labelled rows.

    O(n d² + d³) time, and O(k q²) a sweep over k pairs, with q the smaller of d and the number of
    points in pairs. O(d² + k q) memory. Beyond 1000 columns, d is the number of axes that rows are
    seen along (:mod:`nearkin.rows.sparse`).

    Examples
    --------
    >>> from nearkin import ITML, Pairs
    >>> from nearkin.datasets import make_three_normal
    >>> X, y = make_three_normal(random_state=0)
    >>> pairs = Pairs.from_labels(y, 30, random_state=0)
    >>> metric = ITML(random_state=0).fit(X, pairs=pairs)
    >>> metric.score(X, y) > 0.75
    True
    """

    slack: float = 0.5
    prior: Literal["identity", "covariance"] | Listed = "identity"
    bounds: tuple[float, float] | None = None
    max_iter: Count = 1000
    tol: NotNegative = 1e-9

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **logdet.BOUNDS_CONSTRAINTS,
    }

    _without_differences: ClassVar[str] = "prior"
    _takes_triplets: ClassVar[bool] = True
    _takes_graded: ClassVar[bool] = True

    def _prepare_space(
        self, space: LinearSpace, evidence: Evidence, X: Any, rng: Rng
    ) -> tuple[Floats, tuple[float, float]]:
        """Return the prior, of shape (r, r), and the two bounds on distances."""
        axes = space.axes if isinstance(space, Columns) else None
        where = remedy = ""
        if self.kernel is not None:
            where, remedy = "in the feature space of a kernel", "kernel=None"
        elif axes is not None and is_sparse(X):
            where, remedy = "along the axes of sparse rows", "an array of all rows"
        if where and not isinstance(self.prior, str):
            raise InputError(
                f"prior is an array, which has no meaning {where}: use prior='identity' or "
                f"prior='covariance', or {remedy}."
            )
        if isinstance(self.prior, str) or axes is None:
            prior = prior_metric(self.prior, space.covariance, X.shape[0])
        else:
            prior = axes @ _check_prior(self.prior, X.shape[1]) @ axes.T
        bounds = logdet.check_distance_bounds(self.bounds)
        if bounds is None:
            bounds = call_once(_draw_bounds, space, X, prior, rng)
        return prior, bounds

    def _learn(self, taught: Taught, coordinates: Coordinates, rng: Rng) -> Learned:
        """Find the metric nearest to the prior that keeps the pairs within their bounds."""
        prior, bounds = taught.prepared
        links = draw_example_pairs(taught.evidence, rng)
        bounded = logdet.bound_pairs(links.restrict(links.points), bounds, self.slack)
        solution = project(
            to_host_float64(coordinates(links.points)),
            bounded,
            prior,
            max_sweeps=self.max_iter,
            tol=logdet.choose_tolerance(self.tol, bounded),
        )
        logdet.warn_unless_converged(solution, "ITML", "Raise max_iter or tol, or lower slack")
        attributes = {
            "bounds_": bounds,
            "objective_": solution.objective,
            "n_iter_": solution.n_sweeps,
        }
        return map_by_metric(self, taught, solution.B, attributes)


def _draw_bounds(space: LinearSpace, X: Any, prior: Floats, rng: Rng) -> tuple[float, float]:
    """Estimate bounds on distances of must-links and of cannot-links from random pairs of rows."""
    numbers = access.takeable_numbers(X)
    ends = numbers[logdet.draw_random_pairs(len(numbers), rng)]
    rows, positions = np.unique(ends, return_inverse=True)
    F = to_host_float64(space.coordinates(access.take(X, rows)))
    return logdet.estimate_bounds(F, positions.reshape(2, -1), prior)
