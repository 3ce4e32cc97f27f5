"""KernelA: move the points themselves, pulled by must-links and held by their neighbours."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, _fit_context
from sklearn.decomposition import PCA
from sklearn.utils import Tags, check_random_state

from nearkin.learners.metric import MetricMixin
from nearkin.learners.stored import stored_learner
from nearkin.learners.window_objective import WINDOW_CONSTRAINTS, come_to_rest, springs_of
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import example_pairs, gather_evidence
from nearkin.solvers.stress import relax, relax_jointly
from nearkin.spaces.feature_space import (
    PARAMETER_CONSTRAINTS,
    LocalExtension,
    feature_space_of,
    rows_for_kernel,
    with_kernel_tags,
)
from nearkin.spaces.graph import equal_where_rows_are
from nearkin.spaces.kernels import KernelFunction, Rows
from nearkin.spaces.maps import ThroughLandmarks
from nearkin.storage.schema import floats, ints, maybe, numbers, positive, whole

_RANK_TOL = 0.03


@stored_learner(
    embedding_=floats("n q"),
    objective_=numbers("_"),
    n_iter_=whole,
    landmarks_=ints("m"),
    eigenvalues_=floats("_"),
    gamma_=positive,
    beta_=maybe(floats("_")),
)
class KernelA(MetricMixin, BaseEstimator):
    """Non-linear metric that moves must-linked rows together and preserves neighbourhoods.

    Where :class:`KernelBeta` weighs the directions of feature space, KernelA moves each point in
    it: must-linked points are drawn together and take their neighbours along, since distances
    within a Gaussian window are to stay as they were. New points join through their nearest
    training rows.

    Parameters
    ----------
    regularization : float, default=0.01
        λ: how strongly the window holds distances, against a must-link of weight one.
    window : float, default=0.1
        θ: squared width of the Gaussian window, in mean squared distances.
    n_iter : int or None, default=2
        Majorisation steps. Two are most of the way. None goes on until a step lowers the
        objective by less than 0.01 %.
    margin : float, default=1.0
        Cannot-linked points are pushed apart up to this many root mean squared distances.
    learn_weights : bool, default=False
        Re-weight the directions of feature space, too, as :class:`KernelBeta` does: each step moves
        the points and then the weights, which decide on the distances that the window holds. Use
        it with ``n_iter=None``, until both rest.
    window_neighbors : int, None or "auto", default="auto"
        Nearest neighbours that a row sees through the window; None for all other rows, as in the
        paper. ``"auto"`` is None up to 2000 rows and 30 beyond.
    n_landmarks, landmarks, kernel, gamma, degree, coef0
        The feature space, as in :class:`KernelBeta`.
    rank_tol : float or None, default=None
        Directions with an eigenvalue below this share of the largest are dropped; None is 0.03.
    n_components : int or None, default=None
        Keep this many principal axes of the learned configuration at most.
    n_neighbors : int, default=5
        Nearest landmarks that a new point is composed of.
    scale : bool, default=False
        Divide columns by their spreads first, so that all have equal weight in distances:
        standard deviations, in which outliers count little. Without it there is a
        :class:`ScaleWarning` where units differ by more than 100.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    embedding_ : ndarray of shape (m, n_components_)
        Where the landmarks lie in the learned space; ``transform`` gives the same. Without
        ``n_landmarks`` these are all rows, up to 5000.
    objective_ : ndarray of shape (n_iter_ + 1,)
        Before the first step and after each; it never rises. With ``learn_weights=True`` that of
        points and weights together (:mod:`nearkin.solvers.stress`).
    n_iter_ : int
    beta_ : ndarray or None
        Learned weight of each direction, with ``learn_weights=True``.
    landmarks_ : int ndarray of shape (m,)
        Row numbers of the landmarks, which span the feature space and compose new rows.
    eigenvalues_ : ndarray
        Of their centred kernel matrix.
    gamma_ : float
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

    References
    ----------
    D.-Y. Yeung, H. Chang. A kernel approach for semisupervised metric learning. IEEE Transactions
    on Neural Networks 18(1), 2007.

    Notes
    -----
    The paper updates an n×n matrix A; here the points ``Y = A F`` are updated themselves, which
    is the same step without it. With m landmarks A is the smaller, rectangular matrix that the
    paper has in mind: each row is composed of the landmarks, ``Y = A F`` with A n×m, which starts
    from their local weights. Labels act through pairs drawn from them, about five of each kind
    for a labelled row. Triplets, which the paper does not have, move their points until the two
    distances differ by three tenths of the root mean squared one
    (:mod:`nearkin.solvers.stress`).

    Up to 2000 rows: O(n³) time, O(n²) memory. Beyond: O(n q) a row for the neighbour search, from
    50 000 rows on O(√n q), which finds 99 of 100 of them; and O(k q) a row and solver step for the
    rest, O(n (q + k)) memory. The objective is not convex in general; descent is what is promised.

    Examples
    --------
    >>> from nearkin import KernelA, Pairs
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(400, random_state=0)
    >>> pairs = Pairs.from_labels(y, 10, kind="must", random_state=0)
    >>> metric = KernelA(random_state=0).fit(X, pairs=pairs)
    >>> X_new, y_new = make_xor(40, random_state=1)
    >>> metric.score(X_new, y_new) > 0.9
    True
    """

    def __init__(
        self,
        *,
        regularization: float = 0.01,
        window: float = 0.1,
        n_iter: int | None = 2,
        margin: float = 1.0,
        learn_weights: bool = False,
        window_neighbors: int | str | None = "auto",
        n_landmarks: int | None = None,
        landmarks: str | ArrayLike = "random",
        kernel: str | KernelFunction = "rbf",
        gamma: str | float = "mean",
        degree: float = 3,
        coef0: float = 1,
        rank_tol: float | None = None,
        n_components: int | None = None,
        n_neighbors: int = 5,
        scale: bool = False,
        random_state: Any = None,
    ) -> None:
        self.regularization = regularization
        self.window = window
        self.n_iter = n_iter
        self.margin = margin
        self.learn_weights = learn_weights
        self.window_neighbors = window_neighbors
        self.n_landmarks = n_landmarks
        self.landmarks = landmarks
        self.kernel = kernel
        self.gamma = gamma
        self.degree = degree
        self.coef0 = coef0
        self.rank_tol = rank_tol
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.scale = scale
        self.random_state = random_state

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{name: rule for name, rule in PARAMETER_CONSTRAINTS.items() if name != "extension"},
        **WINDOW_CONSTRAINTS,
        "learn_weights": ["boolean"],
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn from pairs, labels or both.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d), or kernel matrix of shape (n, n)
        y : array of shape (n,), optional
            Labels; negative means unknown.
        pairs : Pairs, optional
            Pairs of rows of X.

        Returns
        -------
        self
        """
        X = self._validated(X, reset=True)
        rng = check_random_state(self.random_state)
        evidence = gather_evidence(X.shape[0], y, pairs, triplets=True)
        rank_tol = _RANK_TOL if self.rank_tol is None else float(self.rank_tol)
        space = feature_space_of(self, X, evidence.pairs.points, rank_tol, rng)
        F = space.coordinates(X, self.n_neighbors)
        links = example_pairs(evidence, rng)
        springs = springs_of(self, F, links, rng)
        if self.learn_weights:
            weights = np.sqrt(space.eigenvalues)
            apart = F[links.must_link[:, 0]] - F[links.must_link[:, 1]]
            must = links.must_weight @ apart**2
            relaxed = come_to_rest(self, partial(relax_jointly, springs, F, must, weights))
            self.beta_ = weights * relaxed.gains
        else:
            relaxed = come_to_rest(self, partial(relax, springs, F))
            self.beta_ = None
        Y = equal_where_rows_are(X, relaxed.Y)
        if self.n_components is not None and self.n_components < Y.shape[1]:
            Y = PCA(self.n_components, svd_solver="full").fit_transform(Y)

        # New rows are composed of landmarks, which are all rows where those are few.
        self.embedding_ = Y[space.rows].astype(X.dtype)
        self.objective_ = np.array(relaxed.stress)
        self.n_iter_ = len(relaxed.stress) - 1
        self.landmarks_ = space.rows
        self.eigenvalues_ = space.eigenvalues
        self.gamma_ = space.kernel.gamma
        self.n_components_ = Y.shape[1]
        extension = LocalExtension(space.landmarks, self.n_neighbors)
        learned = ThroughLandmarks(extension, self.embedding_)
        exact = len(space.rows) == X.shape[0]
        self._keep(learned, X, evidence, rng, self.embedding_ if exact else None)
        return self

    def _checked(self, X: Any, *, reset: bool = False) -> Rows:
        return rows_for_kernel(self, X, reset=reset)

    def __sklearn_tags__(self) -> Tags:
        return with_kernel_tags(super().__sklearn_tags__(), self.kernel)
