r"""Kernels of smooth functions on a graph, :math:`\sum_i \mu_i v_i v_i^\top`, and their weights.

Each rule takes the eigenvalues and eigenvectors of a Laplacian (see
:func:`nearkin.spaces.smooth_functions.smoothest`) and the classes of some points, and gives the
weights μ. Rows of ``vectors * sqrt(weights)`` then embed the points.

References
----------
R. I. Kondor, J. Lafferty. Diffusion kernels on graphs and other discrete input spaces. ICML 2002.

X. Zhu, J. Kandola, Z. Ghahramani, J. Lafferty. Nonparametric transforms of graph kernels for
semi-supervised learning. NIPS 2004.

G. R. G. Lanckriet, N. Cristianini, P. Bartlett, L. El Ghaoui, M. I. Jordan. Learning the kernel
matrix with semidefinite programming. JMLR 5, 2004.

M. Belkin, P. Niyogi. Laplacian eigenmaps for dimensionality reduction and data representation.
Neural Computation 15, 2003.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from nearkin._types import Floats
from nearkin.errors import InputError


class WeightRule(Protocol):
    """How much each smooth function weighs in a kernel."""

    def __call__(
        self, eigenvalues: Floats, vectors: Floats, classes: NDArray[np.integer]
    ) -> Floats:
        """Weights of shape (r,), none negative.

        Parameters
        ----------
        eigenvalues : ndarray of shape (r,)
            Increasing.
        vectors : ndarray of shape (n, r)
        classes : int ndarray of shape (n,)
            Negative where unknown.
        """


def diffusion(
    eigenvalues: Floats, vectors: Floats, classes: NDArray[np.integer], *, time: float = 0.1
) -> Floats:
    """``exp(−t λ)``: how heat spreads along the graph. Classes are not looked at."""
    return np.asarray(np.exp(-time * eigenvalues))


def eigenmaps(eigenvalues: Floats, vectors: Floats, classes: NDArray[np.integer]) -> Floats:
    """Equal weights for all functions but those that are constant on each part of the graph."""
    return np.asarray(~_constant(eigenvalues), dtype=np.float64)


def ordered_alignment(eigenvalues: Floats, vectors: Floats, classes: NDArray[np.integer]) -> Floats:
    r"""Decreasing weights whose kernel agrees best with the known classes.

    .. math::

        \max_\mu \frac{\langle K, T \rangle}{\|K\| \, \|T\|}, \quad
        K = \sum_i \mu_i v_i v_i^\top, \quad \mu_1 \ge \mu_2 \ge \dots \ge 0

    on the known points, where T is 1 for equal classes and −1/(c−1) for different ones of c. Over a
    cone the best direction is that of the projection of T: least squares, with the differences of
    successive weights as unknowns, none negative.
    """
    increments = _best_combination(np.cumsum(_terms(vectors, classes), axis=0), classes)
    return np.asarray(increments[::-1].cumsum()[::-1])


def improved_order_alignment(
    eigenvalues: Floats, vectors: Floats, classes: NDArray[np.integer]
) -> Floats:
    """The same, but functions that are constant on each part of the graph are in no order.

    In plain order these come first, so that no other can have more weight. They tell no points of a
    part from each other, and may weigh nothing here: the improved order of Zhu et al.
    """
    free = _constant(eigenvalues)
    terms = _terms(vectors, classes)
    n_free = int(free.sum())
    combined = np.concatenate([terms[free], np.cumsum(terms[~free], axis=0)])
    found = _best_combination(combined, classes)
    weights = np.empty(len(eigenvalues))
    weights[free], increments = found[:n_free], found[n_free:]
    weights[~free] = increments[::-1].cumsum()[::-1]
    return weights


def maximal_alignment(eigenvalues: Floats, vectors: Floats, classes: NDArray[np.integer]) -> Floats:
    """Weights of the kernel that is best aligned with the classes: any that are not negative."""
    return _best_combination(_terms(vectors, classes), classes)


SPECTRAL_KERNELS: dict[str, WeightRule] = {
    "diffusion": diffusion,
    "eigenmaps": eigenmaps,
    "ordered alignment": ordered_alignment,
    "improved order alignment": improved_order_alignment,
    "maximal alignment": maximal_alignment,
}


def _constant(eigenvalues: Floats) -> NDArray[np.bool_]:
    """Which functions are constant on each part of the graph."""
    return np.asarray(eigenvalues <= 1e-10 * eigenvalues[-1])


def _terms(vectors: Floats, classes: NDArray[np.integer]) -> Floats:
    """``v_i v_iᵀ`` on the known points, as an array of shape (r, k, k)."""
    known = vectors[classes >= 0].T
    return np.asarray(known[:, :, None] * known[:, None, :])


def _best_combination(terms: Floats, classes: NDArray[np.integer]) -> Floats:
    """Coefficients, none negative, of the combination nearest to the kernel of the classes."""
    known = classes[classes >= 0]
    n_classes = len(np.unique(known))
    if n_classes < 2:
        raise InputError("two known classes at least are needed to align a kernel with them.")
    target = np.where(known[:, None] == known, 1.0, -1.0 / (n_classes - 1))
    # Both are symmetric: the upper half says all, once its off-diagonal counts twice.
    upper = np.triu_indices(len(known))
    double = np.where(upper[0] == upper[1], 1.0, np.sqrt(2.0))
    columns = (terms[:, *upper] * double).T
    sizes = np.linalg.norm(columns, axis=0)
    sizes[sizes == 0] = 1.0
    coefficients, _ = nnls(columns / sizes, target[upper] * double, maxiter=30 * len(terms))
    return np.asarray(coefficients / sizes)
