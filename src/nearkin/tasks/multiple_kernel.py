"""MultipleKernelClassifier: a support vector machine that chooses among many kernels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Annotated, Any, Literal, Self, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, _fit_context
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsRestClassifier
from sklearn.svm import SVC
from sklearn.utils import check_consistent_length, check_random_state
from sklearn.utils.validation import check_is_fitted

from nearkin._types import Floats, Integers
from nearkin.errors import InputError, raise_input_errors
from nearkin.learners.base import WholeState, replace_state
from nearkin.learners.parameters import (
    Count,
    Listed,
    NotNegative,
    Positive,
    SeedParameter,
    with_parameters,
)
from nearkin.messages import notice
from nearkin.pairs.labels import PartlyLabelled, check_classes
from nearkin.rows import validation
from nearkin.rows.distances import centre, middle, squared_distances
from nearkin.rows.parallel import one_blas_thread
from nearkin.solvers.class_gaussians import fit_class_models
from nearkin.solvers.local_metrics import mean_local_metric

# Weights below this share of the largest are zero: no step would bring them back. Not tuned.
_NEGLIGIBLE = 1e-6
# The paper's multiples of the inverse squared width.
BANDWIDTHS = tuple(2.0**power for power in range(-6, 9))
# Kernel matrices are kept up to this many bytes, and computed anew at each use beyond.
_KEPT_BYTES = 2 * 2**30
BaseKernel: TypeAlias = Callable[[Any, Any], Any]
# Share of equal weights in those to start from: what is zero there would stay zero. Chosen by hand.
_EVEN = 0.02


@dataclass(frozen=True)
class Combination:
    """Weights d of kernels, J after each training, and how far at most that is from its minimum.

    J never rises; the gap is a share of it.
    """

    weights: Floats
    objective: Floats
    gap: float
    converged: bool


def combine_kernels(
    n_kernels: int,
    kernel: Callable[[int], Floats],
    problems: Sequence[tuple[Integers, Floats]],
    *,
    C: float,
    max_iter: int,
    tol: float,
    start: Floats | None = None,
) -> Combination:
    """Find the kernel weights by which support vector machines have the least summed objective.

    ``kernel(m)`` is the m-th kernel matrix, n×n, and a problem the numbers of its rows, with −1 or
    1 for each. With γ the signed dual variables of a machine and K_d = Σ_m d_m K_m, this is

        min_d J(d) = Σ_problems max_γ Σ|γ_i| − ½ γᵀ K_d γ    with d ≥ 0, Σ d_m = 1.

    Of q_m = Σ γᵀ K_m γ, d_m √q_m is the norm of the m-th part of all machines, and the best weights
    for given machines are in proportion to it: a step in closed form, after which J is no larger.
    It ends when the duality gap, (max q − dᵀq) / 2, is at most ``tol`` J. Weights start from
    ``start``, equal by default; what is 0 there stays 0. A step trains one machine for each problem
    and takes O(M n²) time. Two n×n matrices are held beside those that ``kernel`` keeps.
    """
    weights = np.full(n_kernels, 1 / n_kernels) if start is None else start
    history: list[float] = []
    while True:
        combined = weighted_sum(weights, kernel)
        value = 0.0
        duals = np.zeros((len(combined), len(problems)))
        for p, (rows, labels) in enumerate(problems):
            K = combined[np.ix_(rows, rows)]
            machine = SVC(C=C, kernel="precomputed", tol=1e-5, cache_size=500).fit(K, labels)
            gamma = np.zeros(len(rows))
            gamma[machine.support_] = machine.dual_coef_[0]
            value += float(np.abs(gamma).sum() - gamma @ K @ gamma / 2)
            duals[rows, p] = gamma
        q = np.array([np.sum(duals * (kernel(m) @ duals)) for m in range(n_kernels)])
        history.append(value)
        gap = float(q.max() - weights @ q) / 2 / max(abs(value), 1e-300)
        if gap <= tol or len(history) > max_iter:
            break
        norms = weights * np.sqrt(np.maximum(q, 0))
        norms[norms <= _NEGLIGIBLE * norms.max()] = 0
        weights = norms / norms.sum()
    return Combination(weights, np.array(history), gap, gap <= tol)


def weighted_sum(weights: Floats, kernel: Callable[[int], Floats]) -> Floats:
    """Kernel matrix ``Σ_m weights[m] · kernel(m)``; kernels of weight 0 are not computed."""
    total: Any = 0
    for m in np.flatnonzero(weights):
        total = total + weights[m] * kernel(int(m))
    return np.asarray(total)


def rbf_under_metric(A: Any, B: Any, *, components: Floats | None, factor: float) -> Floats:
    """Kernel matrix ``exp(factor · ‖L (a − b)‖²)``; L is ``components``, the identity if None."""
    if components is not None:
        origin = middle(B)
        A, B = (centre(rows, origin) @ components.T for rows in (A, B))
    return np.asarray(np.exp(squared_distances(A, B) * factor))


def make_regional_kernels(
    X: Floats,
    classes: Integers,
    bandwidths: Sequence[float],
    n_regions: int,
    random_state: Any = None,
    *,
    covariance: str = "shrunk",
    regularization: str | float = "auto",
) -> list[BaseKernel]:
    """Make rbf kernels under the metrics of regions of the data, with all bandwidths for each.

    Regions are the clusters of k-means. The metric of one is the mean of the generative local
    metrics at its rows; one region gives M^UNI of the paper. ``covariance`` and ``regularization``
    are of the classes' Gaussians, see :func:`nearkin.solvers.class_gaussians.fit_class_models`.
    """
    X = centre(X, middle(X))
    models = fit_class_models(X, classes, covariance=covariance, regularization=regularization)
    region = np.zeros(len(X), dtype=int)
    if n_regions > 1:
        n_regions = min(n_regions, len(np.unique(X, axis=0)))
        with one_blas_thread():
            region = KMeans(n_regions, n_init=1, random_state=random_state).fit_predict(X)
    found: list[BaseKernel] = []
    for number in np.unique(region):
        values, vectors = np.linalg.eigh(mean_local_metric(X[region == number], models))
        components = (vectors * np.sqrt(np.maximum(values, 0))).T
        found += make_rbf_kernels(X, bandwidths, components)
    return found


def make_rbf_kernels(
    X: Floats, bandwidths: Sequence[float], components: Floats | None = None
) -> list[BaseKernel]:
    """Make an rbf kernel for each bandwidth, under the Euclidean or a linear metric.

    Bandwidths are multiples of one over the mean squared distance under the metric.
    """
    Z = centre(X, middle(X))
    Z = Z if components is None else Z @ components.T
    spread = 2 * float(Z.var(axis=0).sum())
    scale = spread if spread > 0 else 1.0
    # Partial functions, unlike closures, can be pickled.
    return [
        partial(rbf_under_metric, components=components, factor=-float(bandwidth) / scale)
        for bandwidth in bandwidths
    ]


@with_parameters
class MultipleKernelClassifier(WholeState, PartlyLabelled, SeedParameter, BaseEstimator):
    """Support vector machine on the best convex combination of many kernels.

    Parameters
    ----------
    kernels : {"regional", "rbf"} or list of callables, default="regional"
        ``"regional"``: rbf kernels under generative metrics of regions of the data, clusters of
        k-means. ``"rbf"``: under the Euclidean metric. Or functions ``kernel(A, B)`` that give the
        kernel matrix between rows.
    n_regions : int, default=1
        Regions with a metric of their own.
    bandwidths : tuple of float, default=(2⁻⁶, 2⁻⁵, …, 2⁸)
        Multiples of one over the mean squared distance.
    C : float, default=10.0
        Of the machines: how much a row on the wrong side costs.
    multi_class : {"ovr", "ovo"}, default="ovr"
        One machine for each class against the rest, or for each couple of classes.
    max_iter : int, default=500
        Most steps of the weights.
    tol : float, default=0.01
        Stop when the objective is known to be within this share of its minimum (duality gap).
    init : array of shape (n_kernels,) or None, default=None
        Weights to start from, such as ``weights_`` of an earlier fit with another C, which saves
        steps. Equal by default.
    random_state : int, RandomState or None, default=None
        Of the regions.

    Attributes
    ----------
    kernels_ : list of callables
    weights_ : ndarray of shape (n_kernels,)
        They sum to one, and most are zero.
    objective_ : ndarray
        After each step; it never rises.
    gap_ : float
        Duality gap at the end, as a share of the objective.
    n_iter_ : int
    classes_ : ndarray
    n_features_in_, feature_names_in_
        The columns of X.

    References
    ----------
    A. Rakotomamonjy, F. Bach, S. Canu, Y. Grandvalet. SimpleMKL. JMLR 9, 2008.

    Y. Shi, Y.-K. Noh, F. Sha, D. D. Lee. Learning discriminative metrics via generative models
    and kernel learning. arXiv 1109.3940, 2011.

    Notes
    -----
    The problem and the stopping rule are those of SimpleMKL; weights move in closed form instead
    of along a gradient. O(M n²) time a step for M kernels beside the machines. Kernel matrices are
    kept in memory up to 2 GB, and computed anew at each step beyond.

    Examples
    --------
    >>> from nearkin import MultipleKernelClassifier
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(100, random_state=0)
    >>> model = MultipleKernelClassifier(random_state=0).fit(X, y)
    >>> X_new, y_new = make_xor(40, random_state=1)
    >>> model.score(X_new, y_new) > 0.95
    True
    >>> bool(((model.decision_function(X_new) > 0) == model.predict(X_new)).all())
    True
    """

    kernels: Literal["regional", "rbf"] | Annotated[list[BaseKernel], list] = "regional"
    n_regions: Count = 1
    bandwidths: Annotated[tuple[float, ...], "array-like"] = BANDWIDTHS
    C: Positive = 10.0
    multi_class: Literal["ovr", "ovo"] = "ovr"
    max_iter: Count = 500
    tol: NotNegative = 0.01
    init: Listed | None = None

    @replace_state
    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any) -> Self:
        """Learn the weights of the kernels, and train the support vector machines.

        Parameters
        ----------
        X : array of shape (n, d)
        y : array of shape (n,)
            Labels of two classes at least; negative means unknown, and such rows are left out.

        Returns
        -------
        self
        """
        X = validation.validate_rows(self, X, reset=True, dtype=np.float64, ensure_min_samples=2)
        names, classes = check_classes(y)
        with raise_input_errors():
            check_consistent_length(X, classes)
        X, classes = X[classes >= 0], classes[classes >= 0]
        kernels = self._make_kernels(X, classes)
        start = None
        if self.init is not None:  # a little more equal: what is zero would stay zero
            start = np.asarray(self.init, dtype=np.float64)
            if start.shape != (len(kernels),) or not (start >= 0).all() or not start.sum() > 0:
                raise InputError(
                    f"init must be {len(kernels)} weights, one for each kernel, not negative and "
                    f"not all zero; it has shape {start.shape}."
                )
            start = (1 - _EVEN) * start / start.sum() + _EVEN / len(kernels)
        matrix = _keep_matrices(kernels, X)
        found = combine_kernels(
            len(kernels),
            matrix,
            split_into_binary(classes, self.multi_class),
            C=self.C,
            max_iter=self.max_iter,
            tol=self.tol,
            start=start,
        )
        if not found.converged:
            notice(
                f"MultipleKernelClassifier stopped after {self.max_iter} steps with a duality "
                f"gap of {found.gap:.2g}, above tol={self.tol:g}. Raise max_iter or tol.",
                ConvergenceWarning,
            )
        self.kernels_ = kernels
        self.weights_ = found.weights
        self.objective_ = found.objective
        self.gap_ = found.gap
        self.n_iter_ = len(found.objective) - 1
        self.classes_ = names
        self._rows = X
        machine = SVC(C=self.C, kernel="precomputed")
        self._machine = OneVsRestClassifier(machine) if self.multi_class == "ovr" else machine
        self._machine.fit(weighted_sum(found.weights, matrix), classes)
        return self

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        ndarray of shape (n,)
        """
        K = self._combine_with_training_rows(X)
        return np.asarray(self.classes_[self._machine.predict(K)])

    def decision_function(self, X: Any) -> Floats:
        """Decision values of the machines: how clearly each row belongs to each class.

        Parameters
        ----------
        X : array of shape (n, d)

        Returns
        -------
        ndarray of shape (n, n_classes), or (n,) for two classes
        """
        K = self._combine_with_training_rows(X)
        return np.asarray(self._machine.decision_function(K))

    def _combine_with_training_rows(self, X: Any) -> Floats:
        """Combined kernel matrix between rows and those of ``fit``."""
        check_is_fitted(self)
        X = validation.validate_rows(self, X, dtype=np.float64, reset=False)
        return weighted_sum(self.weights_, lambda m: np.asarray(self.kernels_[m](X, self._rows)))

    def _make_kernels(self, X: Floats, classes: Integers) -> list[BaseKernel]:
        if not isinstance(self.kernels, str):
            if len(self.kernels) == 0 or not all(map(callable, self.kernels)):
                raise InputError("kernels must be a list of functions kernel(A, B), at least one.")
            return list(self.kernels)
        bandwidths = np.asarray(self.bandwidths, dtype=np.float64)
        if bandwidths.ndim != 1 or len(bandwidths) == 0 or not (bandwidths > 0).all():
            raise InputError(f"bandwidths must be positive numbers, got {self.bandwidths!r}.")
        if self.kernels == "rbf":
            return make_rbf_kernels(X, bandwidths.tolist())
        rng = check_random_state(self.random_state)
        return make_regional_kernels(X, classes, bandwidths.tolist(), self.n_regions, rng)


def split_into_binary(classes: Integers, multi_class: str) -> list[tuple[Integers, Floats]]:
    """Row numbers and labels −1 or 1 of each binary problem of a classification.

    "ovr" is each class against the rest (two classes: one problem), "ovo" each couple of classes.
    """
    n_classes = int(classes.max()) + 1
    rows = np.arange(len(classes))
    if n_classes == 2:
        return [(rows, np.where(classes == 1, 1.0, -1.0))]
    if multi_class == "ovr":
        return [(rows, np.where(classes == c, 1.0, -1.0)) for c in range(n_classes)]
    problems: list[tuple[Integers, Floats]] = []
    for one, other in combinations(range(n_classes), 2):
        members = np.flatnonzero((classes == one) | (classes == other))
        problems.append((members, np.where(classes[members] == one, 1.0, -1.0)))
    return problems


def _keep_matrices(kernels: list[BaseKernel], X: Floats) -> Callable[[int], Floats]:
    """Return a function from numbers of kernels to matrices, which are stored where they fit."""

    def matrix(m: int) -> Floats:
        K = np.asarray(kernels[m](X, X), dtype=np.float64)
        if K.shape != (len(X), len(X)) or not np.isfinite(K).all():
            raise InputError(
                f"kernels[{m}] must give {len(X)}×{len(X)} finite numbers for {len(X)} rows; it "
                f"gave shape {K.shape}."
            )
        return K

    if 8 * len(kernels) * len(X) ** 2 > _KEPT_BYTES:
        return matrix
    return [matrix(m) for m in range(len(kernels))].__getitem__
