"""LLMA: move the points of input space, smoothly, as the points named in pairs are pulled."""

from __future__ import annotations

from functools import partial
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval

from nearkin.learners.metric import MetricMixin
from nearkin.learners.stored import stored_learner
from nearkin.learners.window_objective import WINDOW_CONSTRAINTS, come_to_rest, springs_of
from nearkin.messages import notice
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import example_pairs, gather_evidence
from nearkin.solvers.stress import relax_along
from nearkin.spaces.kernels import resolve_gamma
from nearkin.spaces.maps import Displaced, gaussian_weights
from nearkin.storage.schema import floats, ints, numbers, positive, training_rows, whole

# Most points that others move along with.
_MOST_ANCHORS = 1000


@stored_learner(
    displacements_=floats("a d"),
    anchors_=ints("a"),
    anchor_rows_=training_rows("a d"),
    width_=positive,
    mean_=floats("d"),
    objective_=numbers("_"),
    n_iter_=whole,
)
class LLMA(MetricMixin, BaseEstimator):
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
    regularization : float, default=0.1
        λ: how strongly the window holds distances, against a must-link of weight one.
    window : float, default=0.1
        θ: squared width of the window in which distances are held, in mean squared distances.
    locality : float, default=0.3
        Squared width σ² of the Gaussian with which points follow an anchor, in mean squared
        distances. The smaller, the fewer points follow; the larger, the smoother the map.
    n_iter : int or None, default=20
        Majorisation steps. Classes that cross each other's way, as in XOR, need more of them;
        data with less structure do with 2. None goes on until a step lowers the objective by less
        than 0.01 %.
    margin : float, default=1.0
        Cannot-linked points are pushed apart up to this many root mean squared distances.
    window_neighbors : int, None or "auto", default="auto"
        Nearest neighbours that a row sees through the window; None for all other rows.
        ``"auto"`` is None up to 2000 rows and 30 beyond.
    scale : bool, default=False
        Divide columns by their spreads first, so that all have equal weight in distances:
        standard deviations, in which outliers count little. Without it there is a
        :class:`ScaleWarning` where units differ by more than 100.
    random_state : int, RandomState or None, default=None
        Draws anchors where pairs name more than 1000 points, the pairs that stand for labels,
        and random pairs for ``threshold_``.

    Attributes
    ----------
    displacements_ : ndarray of shape (m, d)
        The coefficients :math:`b_j`. An anchor itself moves by the weighted sum of its own and
        of those near it: single ones may be large and cancel.
    anchors_ : int ndarray of shape (m,)
        Row numbers of the anchors: the points named in pairs, or 1000 of them by lot.
    anchor_rows_ : ndarray of shape (m, d)
        These rows of X.
    width_ : float
        σ.
    mean_ : ndarray of shape (d,)
        ``transform`` subtracts it.
    objective_ : ndarray of shape (n_iter_ + 1,)
        Before the first step and after each; it never rises.
    n_iter_ : int
    map_ : map
        What was learned, from rows to coordinates: see :mod:`nearkin.maps`.
    n_components_ : int
        d.
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
    H. Chang, D.-Y. Yeung. Locally linear metric adaptation for semi-supervised clustering.
    ICML 2004.

    Notes
    -----
    The paper knows must-links only. Cannot-links push as in :class:`KernelA`; labels act through
    pairs drawn from them, about five of each kind for a labelled row. Weights are not normalised
    to sum to one: then the nearest anchor would move a point however far away it is.

    Points move within the d columns of X, so columns should have comparable scales. In few
    dimensions classes that must pass through each other may end up mixed; :class:`KernelA` moves
    them in feature space, where there is more room.

    Fitting with m anchors takes O(n² m) time up to 2000 rows, beyond that O(n d) a row for the
    neighbour search and O(m²) for the rest, and O(n m) memory. ``transform`` takes O(m d) a row,
    by blocks on all cores. The objective is not convex; descent is what is promised.

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

    def __init__(
        self,
        *,
        regularization: float = 0.1,
        window: float = 0.1,
        locality: float = 0.3,
        n_iter: int | None = 20,
        margin: float = 1.0,
        window_neighbors: int | str | None = "auto",
        scale: bool = False,
        random_state: Any = None,
    ) -> None:
        self.regularization = regularization
        self.window = window
        self.locality = locality
        self.n_iter = n_iter
        self.margin = margin
        self.window_neighbors = window_neighbors
        self.scale = scale
        self.random_state = random_state

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "locality": [Interval(Real, 0, None, closed="neither")],
        "scale": ["boolean"],
        "random_state": ["random_state"],
        **WINDOW_CONSTRAINTS,
    }

    @_fit_context(prefer_skip_nested_validation=True)
    def fit(self, X: Any, y: Any = None, *, pairs: Pairs | None = None) -> Self:
        """Learn from pairs, labels or both.

        Parameters
        ----------
        X : array of shape (n, d)
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
        evidence = gather_evidence(len(X), y, pairs)
        if np.array_equal(X, np.broadcast_to(X[0], X.shape)):
            notice(
                "all rows of X coincide: every learned distance between them is zero. "
                "Are its columns constant?",
            )
        rows = X.astype(np.float64, order="C")
        mean = rows.mean(axis=0)
        width = float(np.sqrt(self.locality) / np.sqrt(resolve_gamma("mean", rows)))
        links = example_pairs(evidence, rng)
        anchors = links.points
        if len(anchors) > _MOST_ANCHORS:
            anchors = np.sort(rng.choice(anchors, _MOST_ANCHORS, replace=False))
        F = rows - mean
        springs = springs_of(self, F, links, rng)
        weights = gaussian_weights(F / width, F[anchors] / width)
        relaxed = come_to_rest(self, partial(relax_along, springs, F, weights))

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
        return self
