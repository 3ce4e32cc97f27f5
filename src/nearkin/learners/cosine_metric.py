"""CosineMetric: a matrix under which the cosine of two rows tells whether they are the same."""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval

from nearkin._types import Floats
from nearkin.learners.linear import KEPT, SPACE_CONSTRAINTS, LinearInSpaceMixin, Space
from nearkin.learners.stored import stored_learner
from nearkin.learners.two_steps import Coordinates, Taught, at_home
from nearkin.pairs.supervision import Evidence, example_pairs
from nearkin.solvers.cosine_matrix import cosine_matrix
from nearkin.spaces.kernels import KernelFunction

# Pairs of either kind that labels are made into, at most.
_MOST_EXAMPLES = 10_000


@stored_learner(**KEPT)
class CosineMetric(LinearInSpaceMixin, BaseEstimator):
    """Learn a linear map under which cosine similarity tells same from different.

    Only the directions of rows matter, as seen from their mean. The map starts as the identity and
    follows the gradient of the likelihood of the pairs, some of which may be wrong. With a kernel,
    the map is learned in its feature space, where two rows are alike if they lie in the same
    region: this separates classes that no linear map can.

    Parameters
    ----------
    pull : float, default=100
        Strength of the penalty that keeps the map near the identity: λ of
        :func:`nearkin.solvers.cosine_matrix.objective` is ``pull`` divided by the number of pairs.
    wrong : float, default=0.15
        Share of pairs assumed to be wrong: ε there. Setting it much too high does no harm.
    kernel : str, callable or None, default=None
        None learns from the columns of X. Otherwise a kernel as in :class:`KernelBeta`, whose 60
        leading directions take the place of columns.
    n_landmarks, landmarks, gamma, degree, coef0, n_neighbors, extension
        The feature space, as in :class:`KernelBeta`. Not used without a kernel.
    rank_tol : float or None, default=None
        Directions of feature space with an eigenvalue below this share of the largest are
        dropped; None is 0.001. Not used without a kernel.
    n_components : int or None, default=None
        Keep this many principal axes of the learned configuration at most.
    scale : bool, default=False
        Divide columns by their spreads first, so that all have equal weight in distances:
        standard deviations, in which outliers count little. Without it there is a
        :class:`ScaleWarning` where units differ by more than 100.
    random_state : int, RandomState or None, default=None
        Draws landmarks, and random pairs for ``threshold_``.

    Attributes
    ----------
    components_ : ndarray of shape (n_components_, d)
        Centred rows are multiplied with its transpose, or with a kernel their coordinates in
        feature space, and then divided by their lengths. Principal axes before that, by
        decreasing variance.
    mean_ : ndarray of shape (d,)
        Without a kernel.
    landmarks_ : int ndarray of shape (m,)
        With a kernel: row numbers of the landmarks.
    eigenvalues_ : ndarray
        With a kernel: of the landmarks' centred kernel matrix, decreasing.
    gamma_ : float
        With a kernel: inverse bandwidth in use.
    map_ : map
        What was learned, from rows to coordinates: see :mod:`nearkin.maps`.
    n_components_ : int
    column_scale_ : ndarray of shape (d,) or None
        What columns of X were divided by. Other attributes are of the columns divided.
    threshold_ : float
        Learned distance up to which ``same`` says yes.
    sharpness_, far_sharpness_ : float
        How quickly ``chance_same`` falls with the distance, below and above ``threshold_``.
    prevalence_ : float
        Share of pairs that are the same, as ``chance_same`` supposes: ½, until ``calibrate``.
    same_distance_ : float or None
        Median distance of the pairs known to be the same.
    learned_from_ : dict
        How many rows, must-links, cannot-links, labels and classes there were.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        When X has column names.

    Notes
    -----
    Must-links and cannot-links count the same in sum. Where one kind is missing, nothing is
    learned: the distance is that of the directions of rows as they are. Distances are at most 2.
    Labels stand for at most 10 000 random pairs of either kind.

    O((n + k s) d²) time for n rows and k pairs, for each of s ≤ 25 steps, and O(n d + d²) memory.
    Beyond 1000 columns, d is the number of axes that rows are seen along
    (:mod:`nearkin.rows.sparse`).

    Examples
    --------
    >>> from nearkin import CosineMetric, Pairs
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(200, random_state=0)
    >>> pairs = Pairs.from_labels(y, 60, random_state=0)
    >>> metric = CosineMetric(kernel="rbf", random_state=0).fit(X, pairs=pairs)
    >>> X_new, y_new = make_xor(40, random_state=1)
    >>> metric.score(X_new, y_new) > 0.9
    True
    """

    def __init__(
        self,
        *,
        pull: float = 100.0,
        wrong: float = 0.15,
        kernel: str | KernelFunction | None = None,
        n_landmarks: int | None = None,
        landmarks: str | ArrayLike = "random",
        gamma: str | float = "mean",
        degree: float = 3,
        coef0: float = 1,
        rank_tol: float | None = None,
        n_components: int | None = None,
        n_neighbors: int = 5,
        extension: str = "local",
        scale: bool = False,
        random_state: Any = None,
    ) -> None:
        self.pull = pull
        self.wrong = wrong
        self.kernel = kernel
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.rank_tol = rank_tol
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.extension = extension
        self.scale = scale
        self.random_state = random_state

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **SPACE_CONSTRAINTS,
        "pull": [Interval(Real, 0, None, closed="neither")],
        "wrong": [Interval(Real, 0, 0.5, closed="left")],
    }

    _without_differences = "Euclidean"
    _of_unit_length: ClassVar[bool] = True

    def _settle(self, space: Space, evidence: Evidence, X: Any, rng: np.random.RandomState) -> None:
        """Nothing: all depends on pairs."""

    def _metric(
        self, taught: Taught, coordinates: Coordinates, rng: np.random.RandomState
    ) -> tuple[Floats, dict[str, Any]]:
        links = example_pairs(taught.evidence, rng, most=_MOST_EXAMPLES)
        sums = links.must_weight.sum(), links.cannot_weight.sum()
        if min(sums) == 0:
            return np.eye(len(taught.space.covariance)), {}
        F, links = at_home(coordinates(links.points)), links.restrict(links.points)
        W = cosine_matrix(
            F,
            np.concatenate([links.must_link, links.cannot_link]),
            np.repeat([True, False], [len(links.must_link), len(links.cannot_link)]),
            np.concatenate([links.must_weight / sums[0], links.cannot_weight / sums[1]]) / 2,
            float(self.pull) / sum(sums),
            float(self.wrong),
        )
        return W.T @ W, {}
