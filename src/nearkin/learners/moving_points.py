"""KernelA and LLMA: metrics that move the training points, by stress majorisation."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning

from nearkin._types import Floats, Ints, Rng
from nearkin.errors import InputError
from nearkin.learners.base import MetricMixin, stored_learner
from nearkin.learners.parameters import (
    Count,
    KernelParameters,
    KernelRowsMixin,
    NotNegative,
    Positive,
    SeedParameter,
    with_parameters,
)
from nearkin.messages import notice
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import Evidence, draw_example_pairs
from nearkin.rows.distances import linked_distances
from nearkin.solvers import stress
from nearkin.solvers.stress import relax
from nearkin.spaces.feature_space import (
    LocalExtension,
    find_feature_space,
)
from nearkin.spaces.graph import average_equal_rows, deduplicate_pairs
from nearkin.spaces.kernels import KernelFunction, Rows, resolve_gamma
from nearkin.spaces.maps import Displaced, ThroughLandmarks, gaussian_weights
from nearkin.spaces.neighbors import find_nearest_others
from nearkin.storage.schema import floats, ints, maybe, numbers, positive, training_rows, whole

# Up to so many rows every pair of rows is in the window, as in the paper (32 MB a matrix); beyond,
# so many nearest neighbours of each. Chosen by hand.
_COMPLETE_ROWS = 2000
_WINDOW_NEIGHBORS = 30
# Window weights below this cannot be told from zero beside a weight of one, in float64.
_NEGLIGIBLE = 1e-13
# To convergence: share of the objective below which a step is the last, and most. Chosen by hand.
_TOLERANCE = 1e-4
_MOST_STEPS = 500
# How much farther a triplet's farther point is to be, in RMS distances. Chosen by hand.
_TRIPLET_MARGIN = 0.3
# KernelA: eigenvalues of the kernel below this share of the largest are dropped. Chosen by hand.
_RANK_TOL = 0.03
# LLMA: most points that others move along with. It bounds time and memory, and was not tuned.
_MOST_ANCHORS = 1000


def window_edges(F: Floats, n_neighbors: int, random_state: Any = None) -> Ints:
    """Pairs (e, 2) of each row and its nearest others, each once; approximate for many rows."""
    n = len(F)
    if n_neighbors >= n - 1:
        return np.column_stack(np.triu_indices(n, 1))
    neighbors = find_nearest_others(F, n_neighbors, random_state=random_state)
    first = np.repeat(np.arange(n), n_neighbors)
    low, high, _ = deduplicate_pairs(first, neighbors.ravel(), n)
    return np.column_stack([low, high])


def window_springs(
    F: Floats,
    pairs: Pairs,
    *,
    n_neighbors: int | None,
    regularization: float,
    window: float,
    margin: float,
    random_state: Any = None,
) -> stress.AnySprings:
    r"""Return the objective of KernelA as springs, which the stress solvers minimise.

    .. math::

        J(Y) = \sum_{(i,j) \in S} w_{ij} \|y_i - y_j\|^2
             + \lambda \sum_{i<j} N_{ij} (\|y_i - y_j\| - d_{ij})^2
             + \sum_{(i,j) \in D} w_{ij} \max(0, m - \|y_i - y_j\|)^2
             + \sum_{(i,j) \in G} w_{ij} (\|y_i - y_j\| - (1 - g_{ij}) m)^2

    with :math:`d_{ij} = \|f_i - f_j\|`, :math:`N_{ij} = \exp(-d_{ij}^2 / \sigma^2)` and
    :math:`\sigma^2 = \theta \cdot \operatorname{mean}(d^2)`: must-links pull, the window keeps
    distances between near points as they were, cannot-links push up to the margin m, and pairs
    graded g are held at their share of it.

    F has shape (n, q), λ is ``regularization``, θ ``window``, and m ``margin`` root mean squared
    distances. The window's springs join each row with ``n_neighbors`` nearest others; None joins
    all rows, in n×n matrices.
    """
    n = len(F)
    mean_squared = 2 * float(F.var(axis=0).sum()) * n / (n - 1)

    def weigh_springs(squared: Floats) -> Floats:
        if mean_squared == 0:  # all rows coincide
            return np.full_like(squared, regularization)
        nearness = np.exp(squared / -(window * mean_squared))
        nearness[nearness <= _NEGLIGIBLE] = 0.0
        return np.asarray(regularization * nearness)

    # Must-links pull to zero, cannot-links push to the margin, graded pairs hold what is between.
    n_must, n_cannot, n_graded = map(len, (pairs.must_link, pairs.cannot_link, pairs.graded))
    far = margin * np.sqrt(mean_squared)
    links = (
        np.concatenate([pairs.must_link, pairs.cannot_link, pairs.graded]),
        np.concatenate([pairs.must_weight, pairs.cannot_weight, pairs.graded_weight]),
        np.concatenate([np.repeat([0.0, far], [n_must, n_cannot]), (1 - pairs.grades) * far]),
        np.repeat([False, True, False], [n_must, n_cannot, n_graded]),
    )
    if n_neighbors is None:
        squared = stress.all_squared_distances(F)
        weight = weigh_springs(squared)
        np.fill_diagonal(weight, 0.0)
        return stress.CompleteSprings(weight, np.sqrt(squared), stress.join_springs(n, *links))
    edges = window_edges(F, n_neighbors, random_state)
    lengths = linked_distances(F, edges)
    weight = weigh_springs(lengths**2)
    held = weight > 0
    held_springs = (edges[held], weight[held], lengths[held], np.zeros(held.sum(), dtype=bool))
    return stress.join_springs(n, *map(np.concatenate, zip(held_springs, links, strict=True)))


def make_springs(learner: Any, F: Floats, pairs: Pairs, rng: Rng) -> stress.AnySprings:
    """Return the springs of a learner's objective from its parameters, pairs and triplets."""
    n_neighbors = learner.window_neighbors
    if isinstance(n_neighbors, str):  # "auto"
        n_neighbors = None if len(F) <= _COMPLETE_ROWS else _WINDOW_NEIGHBORS
    springs = window_springs(
        F,
        pairs,
        n_neighbors=n_neighbors,
        regularization=learner.regularization,
        window=learner.window,
        margin=learner.margin,
        random_state=rng,
    )
    if not len(pairs.closer):
        return springs
    spread = float(np.sqrt(2 * F.var(axis=0).sum()))
    return stress.OrderedSprings(
        springs, pairs.closer, pairs.closer_weight, _TRIPLET_MARGIN * spread
    )


def iterate_to_rest(learner: Any, relax: Callable[..., stress.Relaxed]) -> stress.Relaxed:
    """Run a solver for ``learner.n_iter`` steps, or until it converges if that is None."""
    if learner.n_iter is not None:
        return relax(n_iter=learner.n_iter)
    relaxed = relax(n_iter=_MOST_STEPS, tol=_TOLERANCE)
    if not relaxed.converged:
        notice(
            f"{type(learner).__name__} stopped after {_MOST_STEPS} steps while the objective "
            "still fell.",
            ConvergenceWarning,
        )
    return relaxed


@stored_learner(
    embedding_=floats("n q"),
    objective_=numbers("_"),
    n_iter_=whole,
    landmarks_=ints("m"),
    eigenvalues_=floats("_"),
    gamma_=positive,
    beta_=maybe(floats("_")),
)
@with_parameters
class KernelA(KernelRowsMixin, MetricMixin, KernelParameters, BaseEstimator):
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
        Nearest neighbours that a row sees through the window; None for all, as in the paper.
        ``"auto"`` is None up to 2000 rows and 30 beyond.
    n_landmarks, landmarks, kernel, gamma, degree, coef0
        The feature space, as in :class:`KernelBeta`.
    rank_tol : float or None, default=None
        Directions with an eigenvalue below this share of the largest are dropped; None is 0.03.
    n_components, scale
        As in :class:`ITML`.
    n_neighbors : int, default=5
        Nearest landmarks that a new point is composed of.
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
    landmarks_, eigenvalues_, gamma_
        Row numbers of the landmarks, which span the feature space and compose new rows, eigenvalues
        of their centred kernel matrix, and its inverse bandwidth.
    map_, n_components_, column_scale_, learned_from_, n_features_in_, feature_names_in_
        As in :class:`Euclidean`; other attributes are of the divided columns.

    References
    ----------
    D.-Y. Yeung, H. Chang. A kernel approach for semisupervised metric learning. IEEE Transactions
    on Neural Networks 18(1), 2007.

    Notes
    -----
    The paper updates an n×n matrix A; here the points ``Y = A F`` are updated themselves, which
    is the same step. With m landmarks A is n×m, as the paper has in mind: each row is composed of
    the landmarks, at first by their local weights. Labels act through pairs drawn from them, about
    five of each kind for a labelled row. Triplets, which the paper does not have, move their points
    until the two distances differ by three tenths of the root mean squared one
    (:mod:`nearkin.solvers.stress`). Graded pairs are drawn to a distance: zero for a grade of 1,
    the margin for 0, and evenly between.

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

    _takes_triplets: ClassVar[bool] = True
    _takes_graded: ClassVar[bool] = True

    regularization: NotNegative = 0.01
    window: Positive = 0.1
    n_iter: Count | None = 2
    margin: NotNegative = 1.0
    learn_weights: bool = False
    window_neighbors: Count | Literal["auto"] | None = "auto"
    kernel: str | KernelFunction = "rbf"

    def _learn_from(self, X: Rows, evidence: Evidence, rng: Rng) -> None:
        """Move the rows in feature space by majorisation, and store the landmarks' coordinates."""
        if self.learn_weights and len(evidence.pairs.graded):
            raise InputError(
                "learn_weights=True decides on the distances that are held, and graded pairs say "
                "which they are to be: take learn_weights=False, or pairs=pairs.as_weak_pairs()."
            )
        rank_tol = _RANK_TOL if self.rank_tol is None else float(self.rank_tol)
        space = find_feature_space(self, X, evidence.pairs.points, rank_tol, rng)
        F = space.coordinates(X, self.n_neighbors)
        links = draw_example_pairs(evidence, rng)
        springs = make_springs(self, F, links, rng)
        if self.learn_weights:
            weights = np.sqrt(space.eigenvalues)
            apart = F[links.must_link[:, 0]] - F[links.must_link[:, 1]]
            must = links.must_weight @ apart**2
            relaxed = iterate_to_rest(
                self, partial(stress.relax_jointly, springs, F, must, weights)
            )
            self.beta_ = weights * relaxed.gains
        else:
            relaxed = iterate_to_rest(self, partial(relax, springs, F))
            self.beta_ = None
        Y = average_equal_rows(X, relaxed.Y)
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


@stored_learner(
    displacements_=floats("a d"),
    anchors_=ints("a"),
    anchor_rows_=training_rows("a d"),
    width_=positive,
    mean_=floats("d"),
    objective_=numbers("_"),
    n_iter_=whole,
)
@with_parameters
class LLMA(MetricMixin, SeedParameter, BaseEstimator):
    r"""Locally linear metric adaptation: a metric that bends input space.

    The points named in pairs, the anchors, are displaced: must-linked ones towards each other,
    cannot-linked ones apart. Every other point goes along with the anchors near it,

    .. math::

        z(x) = x + \sum_j \exp(-\|x - a_j\|^2 / \sigma^2) \, b_j ,

    and distances between near points are to stay as they were. The objective is that of
    :class:`KernelA`; the displacements :math:`b_j` are what is learned. The map is smooth and
    defined everywhere, and points far from all anchors do not move.

    Parameters
    ----------
    regularization, window, margin, window_neighbors
        As in :class:`KernelA`, but for a ``regularization`` of 0.1.
    locality : float, default=0.3
        Squared width σ² of the Gaussian with which points follow an anchor, in mean squared
        distances. The smaller, the fewer points follow; the larger, the smoother the map.
    n_iter : int or None, default=20
        Majorisation steps. Classes that cross each other's way, as in XOR, need more; simpler data
        do with 2. None goes on until a step lowers the objective by less than 0.01 %.
    scale : bool, default=False
        Divide columns by their spreads first, as in :class:`Euclidean`.
    random_state : int, RandomState or None, default=None
        Draws anchors where pairs name more than 1000 points, the pairs that stand for labels,
        and random pairs for ``threshold_``.

    Attributes
    ----------
    displacements_ : ndarray of shape (m, d)
        The coefficients :math:`b_j`, of which single ones may be large and cancel.
    anchors_ : int ndarray of shape (m,)
        Row numbers of the anchors: the points named in pairs, or 1000 of them by lot.
    anchor_rows_, width_, mean_
        These rows of X, σ, and the mean of X, which ``transform`` subtracts.
    objective_ : ndarray of shape (n_iter_ + 1,)
        Before the first step and after each; it never rises.
    n_iter_ : int
    map_, n_components_, column_scale_, learned_from_, n_features_in_, feature_names_in_
        As in :class:`Euclidean`; other attributes are of the divided columns.

    References
    ----------
    H. Chang, D.-Y. Yeung. Locally linear metric adaptation for semi-supervised clustering.
    ICML 2004.

    Notes
    -----
    The paper knows must-links only. Cannot-links push as in :class:`KernelA`; labels act through
    pairs drawn from them, about five of each kind for a labelled row. Weights are not normalised
    to sum to one: then the nearest anchor would move a point however far away it is.

    In few dimensions classes that must pass through each other may end up mixed; :class:`KernelA`
    moves them in feature space, where there is more room.

    Fitting with m anchors takes O(n² m) time up to 2000 rows, beyond that O(n d) a row for the
    neighbour search and O(m²) for the rest, and O(n m) memory; ``transform`` O(m d) a row. The
    objective is not convex; descent is what is promised.

    Examples
    --------
    >>> from nearkin import LLMA, Pairs
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(400, random_state=0)
    >>> pairs = Pairs.from_labels(y, 20, random_state=0)
    >>> metric = LLMA(random_state=0).fit(X, pairs=pairs)
    >>> X_new, y_new = make_xor(40, random_state=1)
    >>> metric.score(X_new, y_new) > 0.9
    True
    """

    _takes_graded: ClassVar[bool] = True

    regularization: NotNegative = 0.1
    window: Positive = 0.1
    locality: Positive = 0.3
    n_iter: Count | None = 20
    margin: NotNegative = 1.0
    window_neighbors: Count | Literal["auto"] | None = "auto"
    scale: bool = False

    def _learn_from(self, X: Floats, evidence: Evidence, rng: Rng) -> None:
        """Move the anchors by majorisation, and all rows along with them."""
        if np.array_equal(X, np.broadcast_to(X[0], X.shape)):
            notice(
                "all rows of X coincide: every learned distance between them is zero. "
                "Are its columns constant?"
            )
        rows = X.astype(np.float64, order="C")
        mean = rows.mean(axis=0)
        width = float(np.sqrt(self.locality) / np.sqrt(resolve_gamma("mean", rows)))
        links = draw_example_pairs(evidence, rng)
        anchors = links.points
        if len(anchors) > _MOST_ANCHORS:
            anchors = np.sort(rng.choice(anchors, _MOST_ANCHORS, replace=False))
        F = rows - mean
        springs = make_springs(self, F, links, rng)
        weights = gaussian_weights(F / width, F[anchors] / width)
        relaxed = iterate_to_rest(self, partial(stress.relax_along, springs, F, weights))

        self.displacements_ = relaxed.coefficients
        self.anchors_ = anchors
        self.anchor_rows_ = X[anchors]
        self.width_ = width
        self.mean_ = mean
        self.objective_ = np.array(relaxed.stress)
        self.n_iter_ = len(relaxed.stress) - 1
        self.n_components_ = X.shape[1]
        learned = Displaced(self.anchor_rows_, self.displacements_, mean, width)
        self._keep(learned, X, evidence, rng)
