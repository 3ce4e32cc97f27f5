"""CosineMetric: a matrix under which the cosine of two rows tells whether they are the same."""

from __future__ import annotations

from numbers import Real
from typing import Annotated

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval

from nearkin._types import Floats, Ints, Mask, Rng
from nearkin.learners.base import stored_learner
from nearkin.learners.fit_steps import Coordinates, Learned, Taught, to_host_float64
from nearkin.learners.parameters import Positive, with_parameters
from nearkin.learners.teachable import KEPT, LinearInKernelMixin, map_by_metric
from nearkin.pairs.supervision import draw_example_pairs

# The log-odds of being the same are so many times the cosine at the start. Chosen by hand.
_USUAL_SLOPE = 4.0
# How strongly that is held small, lest pairs told apart make it infinite. Chosen by hand.
_PULL_OF_SLOPE = 1e-3
# Steps of L-BFGS and its memory: few stop near the identity, in milliseconds. Chosen by hand.
_MOST_STEPS, _REMEMBERED = 25, 5
# What an answer is likely at least, so that its logarithm is finite.
_LEAST_LIKELY = 1e-300
# Rows shorter than this share of the longest have no direction, by rounding.
_NO_LENGTH = 1e-12
# Pairs of either kind that labels are made into, at most: it bounds time.
_MOST_EXAMPLES = 10_000


def cosine_objective(
    W: Floats,
    level: float,
    slope: float,
    A: Floats,
    B: Floats,
    same: Mask,
    counts: Floats,
    pull: float,
    wrong: float,
) -> float:
    r"""Negative log-likelihood of the pairs by the cosine of mapped rows, and two penalties.

    .. math::

        \min_{W, b, s} \; -\sum_p c_p \log \Bigl(\varepsilon
        + \frac{1 - 2 \varepsilon}{1 + e^{-y_p (b + s \cos(W a_p, W b_p))}}\Bigr)
        + \frac{\lambda}{r} \lVert W - I \rVert_F^2 + 10^{-3} s^2

    with :math:`y_p` = ±1 for pairs that are the same and that are not, :math:`a_p` and
    :math:`b_p` the rows of pair p, and :math:`c_p` how much it counts, of sum 1. A share ε of
    answers is thought to be wrong, so that none that contradicts all others rules the map.
    ``level`` is b, ``slope`` s, ``pull`` λ and ``wrong`` ε, below ½; A and B have shape (k, r).
    """
    U, V = A @ W.T, B @ W.T
    cosine = (U * V).sum(axis=1) / (np.linalg.norm(U, axis=1) * np.linalg.norm(V, axis=1))
    margin = np.where(same, 1.0, -1.0) * (level + slope * cosine)
    held = pull / len(W) * float(((W - np.eye(len(W))) ** 2).sum())
    likely = wrong + (1 - 2 * wrong) * expit(margin)
    return float(-counts @ np.log(likely)) + held + _PULL_OF_SLOPE * slope**2


def cosine_matrix(
    F: Floats, links: Ints, same: Mask, counts: Floats, pull: float, wrong: float
) -> Floats:
    """Find the map W of :func:`cosine_objective`, by 25 steps of L-BFGS from the identity at most.

    F, of shape (p, r), are the rows that ``links``, of shape (k, 2), number; W has shape (r, r).
    With p < r it is the identity outside the span of F. O(k q²) time for a step over k pairs, where
    q is the smaller of p and r. The problem is not convex; descent is what is promised.
    """
    r = F.shape[1]
    basis = np.linalg.qr(F.T)[0] if len(F) < r else None
    G = F if basis is None else F @ basis
    length = np.linalg.norm(G, axis=1, keepdims=True)
    # Lengths do not matter to the cosine.
    G = G / np.maximum(length, _NO_LENGTH * (length.max() or 1.0))
    A, B = G[links[:, 0]], G[links[:, 1]]
    q, held = G.shape[1], pull / r
    sign = np.where(same, 1.0, -1.0)
    identity = np.eye(q)

    def value_and_slope(found: Floats) -> tuple[float, Floats]:
        W, level, slope = found[:-2].reshape(q, q), found[-2], found[-1]
        U, V = A @ W.T, B @ W.T
        u, v = (np.linalg.norm(part, axis=1, keepdims=True) + _NO_LENGTH for part in (U, V))
        U /= u
        V /= v
        cosine = (U * V).sum(axis=1)
        margin = sign * (level + slope * cosine)
        right = expit(margin)
        likely = np.maximum(wrong + (1 - 2 * wrong) * right, _LEAST_LIKELY)
        by_margin = -counts * sign * (1 - 2 * wrong) * right * (1 - right) / likely
        by_cosine = (slope * by_margin)[:, None]
        by_U = by_cosine * (V - cosine[:, None] * U) / u
        by_V = by_cosine * (U - cosine[:, None] * V) / v
        moved = W - identity
        value = held * (moved**2).sum() - counts @ np.log(likely)
        by_W = by_U.T @ A + by_V.T @ B + 2 * held * moved
        ends = by_margin.sum(), by_margin @ cosine + 2 * _PULL_OF_SLOPE * slope
        return float(value + _PULL_OF_SLOPE * slope**2), np.append(by_W.ravel(), ends)

    start: Floats = np.append(identity.ravel(), [0.0, _USUAL_SLOPE])
    options = {"maxiter": _MOST_STEPS, "maxcor": _REMEMBERED}
    # Types of SciPy know no functions of an array of any shape.
    found = minimize(value_and_slope, start, jac=True, method="L-BFGS-B", options=options).x  # type: ignore[call-overload]
    W = found[:-2].reshape(q, q)
    if basis is None:
        return np.asarray(W)
    return np.asarray(np.eye(r) + basis @ (W - identity) @ basis.T)


@stored_learner(**KEPT)
@with_parameters
class CosineMetric(LinearInKernelMixin, BaseEstimator):
    """Learn a linear map under which cosine similarity tells same from different.

    Only the directions of rows matter, as seen from their mean. The map starts as the identity and
    follows the gradient of the likelihood of the pairs, some of which may be wrong. With a kernel,
    the map is learned in its feature space, where two rows are alike if they lie in the same
    region: this separates classes that no linear map can.

    Parameters
    ----------
    pull : float, default=100
        Strength of the penalty that keeps the map near the identity: λ of
        :func:`nearkin.learners.cosine_metric.cosine_objective` is ``pull`` divided by the number
        of pairs.
    wrong : float, default=0.15
        Share of pairs assumed to be wrong: ε there. Setting it much too high does no harm.
    kernel, n_components, scale, random_state
        As in :class:`ITML`.
    n_landmarks, landmarks, gamma, degree, coef0, n_neighbors, extension, rank_tol
        The feature space of a kernel, as in :class:`KernelBeta`; ``rank_tol=None`` is 0.001.

    Attributes
    ----------
    components_, mean_, landmarks_, eigenvalues_, gamma_
        As in :class:`ITML`, but that rows are divided by their lengths after all.
    map_, n_components_, column_scale_, learned_from_, n_features_in_, feature_names_in_
        As in :class:`Euclidean`; other attributes are of the divided columns.

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

    pull: Positive = 100.0
    wrong: Annotated[float, Interval(Real, 0, 0.5, closed="left")] = 0.15

    def _learn(self, taught: Taught, coordinates: Coordinates, rng: Rng) -> Learned:
        """Find W by :func:`cosine_matrix`; must-links and cannot-links weigh the same in sum."""
        links = draw_example_pairs(taught.evidence, rng, most=_MOST_EXAMPLES)
        sums = links.must_weight.sum(), links.cannot_weight.sum()
        if min(sums) == 0:
            identity = np.eye(len(taught.space.covariance))
            return map_by_metric(self, taught, identity, unit_length=True)
        F, links = to_host_float64(coordinates(links.points)), links.restrict(links.points)
        W = cosine_matrix(
            F,
            np.concatenate([links.must_link, links.cannot_link]),
            np.repeat([True, False], [len(links.must_link), len(links.cannot_link)]),
            np.concatenate([links.must_weight / sums[0], links.cannot_weight / sums[1]]) / 2,
            float(self.pull) / sum(sums),
            float(self.wrong),
        )
        return map_by_metric(self, taught, W.T @ W, unit_length=True)
