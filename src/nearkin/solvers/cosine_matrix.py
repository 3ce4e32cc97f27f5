"""A matrix under which the cosine of two rows tells whether they are the same."""

from __future__ import annotations

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from nearkin._types import Floats, Ints, Mask

# Where nothing is known, the log-odds of being the same are so many times the cosine.
_USUAL_SLOPE = 4.0
# How strongly that is held small, so that pairs which are told apart do not make it infinite.
_PULL_OF_SLOPE = 1e-3
_MOST_STEPS, _REMEMBERED = 25, 5
_LEAST_LIKELY = 1e-300
# Rows shorter than this share of the longest have no direction.
_NO_LENGTH = 1e-12


def objective(
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
    r"""How unlikely answers are by the cosine of mapped rows, and how much the map changes rows.

    .. math::

        \min_{W, b, s} \; -\sum_p c_p \log \Bigl(\varepsilon
        + \frac{1 - 2 \varepsilon}{1 + e^{-y_p (b + s \cos(W a_p, W b_p))}}\Bigr)
        + \frac{\lambda}{r} \lVert W - I \rVert_F^2 + 10^{-3} s^2

    with :math:`y_p` = ±1 for pairs that are the same and that are not, :math:`a_p` and
    :math:`b_p` the rows of pair p, and :math:`c_p` how much it counts, of sum 1. A share ε of
    answers is thought to be wrong, so that none that contradicts all others rules the map.

    Parameters
    ----------
    W : ndarray of shape (r, r)
    level, slope : float
        b and s.
    A, B : ndarray of shape (k, r)
        Rows of either end of pairs.
    same : bool ndarray of shape (k,)
    counts : ndarray of shape (k,)
        c.
    pull : float
        λ.
    wrong : float
        ε, at least 0 and below ½.
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
    """W of :func:`objective` after at most 25 steps of L-BFGS from the identity.

    Parameters
    ----------
    F : ndarray of shape (p, r)
        Rows of the pairs.
    links : int ndarray of shape (k, 2)
        Pairs of them.
    same, counts, pull, wrong
        As in :func:`objective`.

    Notes
    -----
    Of directions in which no row of a pair differs from zero nothing is learned: with p < r rows
    it is found in their span. O(k q²) time for a step, where q is the smaller of p and r. The
    problem is not convex; descent is what is promised.
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
