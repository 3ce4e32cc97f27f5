r"""Multiple kernel learning: the convex combination of kernels that serves support vector machines.

For kernels :math:`K_m` and binary problems p with labels :math:`y_p \in \{-1, 1\}^n`,

.. math::

    \min_{d \ge 0, \, \sum_m d_m = 1} \; J(d) = \sum_p \max_{\alpha_p} \;
    \mathbf 1^\top \alpha_p - \tfrac12 (\alpha_p \circ y_p)^\top
    \Big(\sum_m d_m K_m\Big) (\alpha_p \circ y_p)

over :math:`0 \le \alpha_p \le C`, :math:`\alpha_p^\top y_p = 0`: the problem of SimpleMKL, where
one combination serves all binary problems of a classification into many classes. J is convex, and
with :math:`\gamma_p = \alpha_p \circ y_p` and :math:`q_m = \sum_p \gamma_p^\top K_m \gamma_p` its
slope is :math:`-q_m / 2`. No d can be better than the present one by more than the duality gap

.. math:: \tfrac12 \big(\max_m q_m - \sum_m d_m q_m\big) .

SimpleMKL searches along the reduced gradient, with many machines trained at every step. Here d
moves in closed form instead: the same problem with the machines' weight vectors :math:`w_m` made
explicit is jointly convex, and for fixed w its minimum is

.. math:: d_m = \|w_m\| \, / \sum_s \|w_s\|, \qquad \|w_m\|^2 = d_m^2 \, q_m ,

so that one training makes a step, and no step can raise J.

References
----------
A. Rakotomamonjy, F. Bach, S. Canu, Y. Grandvalet. SimpleMKL. JMLR 9, 2008.

Z. Xu, R. Jin, H. Yang, I. King, M. R. Lyu. Simple and efficient multiple kernel learning by group
lasso. ICML 2010.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from nearkin._types import Floats

# Weights below this share of the largest are zero: no further step would bring them back.
_NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class Combination:
    """Result of :func:`combine_kernels`.

    Attributes
    ----------
    weights : ndarray of shape (M,)
        d.
    objective : ndarray of shape (n_iter + 1,)
        J after each training; it never rises.
    gap : float
        How far J is from its minimum at most, as a share of it.
    converged : bool
    """

    weights: Floats
    objective: Floats
    gap: float
    converged: bool


def combine_kernels(
    n_kernels: int,
    kernel: Callable[[int], Floats],
    problems: Sequence[tuple[NDArray[np.integer], Floats]],
    *,
    C: float,
    max_iter: int,
    tol: float,
    start: Floats | None = None,
) -> Combination:
    """Weights of kernels that make the best machines for all problems together.

    Parameters
    ----------
    n_kernels : int
    kernel : callable
        ``kernel(m)`` is the m-th kernel matrix, n×n.
    problems : sequence of (rows, labels)
        Row numbers that a binary problem is about, and −1 or 1 for each.
    C : float
        Of the machines.
    max_iter : int
        Most steps.
    tol : float
        Stop when the duality gap is at most this share of J.
    start : ndarray of shape (M,), optional
        Weights of sum 1 to start from, equal by default. What is 0 there stays 0.

    Notes
    -----
    A step trains one machine for each problem and takes O(M n²) time. Two n×n matrices are held
    beside those that ``kernel`` keeps.
    """
    weights = np.full(n_kernels, 1 / n_kernels) if start is None else start
    history: list[float] = []
    while True:
        value, q = _train(weights, kernel, problems, C)
        history.append(value)
        gap = float(q.max() - weights @ q) / 2 / max(abs(value), 1e-300)
        if gap <= tol or len(history) > max_iter:
            break
        norms = weights * np.sqrt(np.maximum(q, 0))
        norms[norms <= _NEGLIGIBLE * norms.max()] = 0
        weights = norms / norms.sum()
    return Combination(weights, np.array(history), gap, gap <= tol)


def _train(
    weights: Floats,
    kernel: Callable[[int], Floats],
    problems: Sequence[tuple[NDArray[np.integer], Floats]],
    C: float,
) -> tuple[float, Floats]:
    """J, and q of every kernel."""
    combined = weighted_sum(weights, kernel)
    total = 0.0
    duals = np.zeros((len(combined), len(problems)))
    for p, (rows, labels) in enumerate(problems):
        K = combined[np.ix_(rows, rows)]
        machine = SVC(C=C, kernel="precomputed", tol=1e-5, cache_size=500).fit(K, labels)
        gamma = np.zeros(len(rows))
        gamma[machine.support_] = machine.dual_coef_[0]
        total += float(np.abs(gamma).sum() - gamma @ K @ gamma / 2)
        duals[rows, p] = gamma
    q = np.array([np.sum(duals * (kernel(m) @ duals)) for m in range(len(weights))])
    return total, q


def weighted_sum(weights: Floats, kernel: Callable[[int], Floats]) -> Floats:
    """``Σ_m weights[m] · kernel(m)``, of those with a weight only."""
    total: Any = 0
    for m in np.flatnonzero(weights):
        total = total + weights[m] * kernel(int(m))
    return np.asarray(total)
