r"""Smooth functions on the rows, as coordinates that follow the shape of the data.

The smoothest functions on a graph with Laplacian L are its first eigenvectors,

.. math:: \min_{V^\top V = I} \operatorname{tr} V^\top L V .

They are found in :mod:`nearkin.spaces.graph_eigenvectors`.

Locally linear embedding (Roweis and Saul 2000) and Isomap (Tenenbaum, de Silva and Langford 2000)
measure smoothness in other ways; their coordinates come in the same form.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components, reverse_cuthill_mckee
from sklearn.manifold import Isomap
from sklearn.utils import check_random_state

from nearkin._types import Floats
from nearkin.errors import InputError
from nearkin.messages import notice, silenced
from nearkin.rows import validation
from nearkin.rows.distances import centred, middle
from nearkin.rows.parallel import for_each_block, one_blas_thread
from nearkin.spaces.graph import Rows, check_weights, laplacian, nearest_rows
from nearkin.spaces.graph_eigenvectors import (
    FULL_EIGH_ROWS,
    ROWS_PER_VECTOR,
    decompose,
    iterate,
    null_vectors,
)
from nearkin.spaces.linalg import fix_signs, some_eigenpairs
from nearkin.spaces.multigrid import NUMERICAL_RANK

# Pull of neighbours towards equal weights, as share of their local Gram matrix's trace.
_WEIGHT_RIDGE = 1e-3


def smoothest(
    W: Any,
    n_vectors: int,
    *,
    normalized: bool = False,
    random_state: Any = None,
    tol: float = 1e-4,
) -> tuple[Floats, Floats]:
    """The smoothest functions on a graph: first eigenvectors of its Laplacian.

    Parameters
    ----------
    W : array or sparse matrix of shape (n, n)
        Weights of the edges: symmetric, none negative.
    n_vectors : int
        How many; n if there are no more than that.
    normalized : bool, default=False
        Take the normalised Laplacian.
    random_state : int, RandomState or None, default=None
        Seed of the iteration's start.
    tol : float, default=1e-4
        The iteration ends when no residual ‖Lv − λv‖ is larger than this share of the last
        eigenvalue asked for.

    Returns
    -------
    eigenvalues : ndarray of shape (r,)
        In increasing order; r is ``n_vectors`` or n, whichever is less.
    eigenvectors : ndarray of shape (n, r)
        Orthonormal columns with the signs of :func:`nearkin.spaces.linalg.fix_signs`. First, with
        eigenvalue zero, come the indicators of connected components, isolated points among them,
        from the largest component to the smallest; components of the same size in the order of
        their first rows. If there are more than ``n_vectors`` of them, only the largest appear.

    Warns
    -----
    ConvergenceWarning
        If residuals are still too large after many iterations.

    Notes
    -----
    With e edges, O(e r + n r²) time an iteration, of which it takes 5 to 40; about 8 arrays of
    n × r and three times W in memory. Up to n = 1500 rows, and where ``n_vectors`` is more than
    an eighth of n, O(n³) time and 4 n² numbers.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.spaces.smooth_functions import smoothest
    >>> path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1)
    >>> eigenvalues, V = smoothest(path, 2)
    >>> eigenvalues.round(3)
    array([0.   , 0.586])
    >>> V.round(2)
    array([[ 0.5 ,  0.65],
           [ 0.5 ,  0.27],
           [ 0.5 , -0.27],
           [ 0.5 , -0.65]])
    """
    if n_vectors < 1:
        raise InputError(f"n_vectors must be at least 1, got {n_vectors}.")
    W = check_weights(W)
    n = W.shape[0]
    n_vectors = min(n_vectors, n)
    null = null_vectors(W, normalized)
    n_known = min(null.shape[1], n_vectors)
    values, vectors = np.zeros(n_vectors), np.empty((n, n_vectors))
    vectors[:, :n_known] = null[:, :n_known].toarray()
    if n_vectors > n_known:
        # Isolated points are done with. Neighbours close together in memory are read faster.
        joined = np.flatnonzero(np.diff(W.indptr))
        order = joined[reverse_cuthill_mckee(W[joined][:, joined], symmetric_mode=True)]
        L = laplacian(W[order][:, order], normalized=normalized)
        null = null[order]
        null = sp.csr_array(null[:, np.diff(null.tocsc().indptr) > 0])
        wanted = n_vectors - n_known
        if len(order) <= max(FULL_EIGH_ROWS, ROWS_PER_VECTOR * wanted):
            found = decompose(L, null, wanted)
        else:
            found = iterate(L, null, wanted, check_random_state(random_state), tol)
        values[n_known:] = found[0]
        vectors[:, n_known:] = 0.0
        vectors[order, n_known:] = found[1]
    return values, fix_signs(vectors)


def lle_coordinates(X: Rows, n_neighbors: int, n_vectors: int) -> tuple[Floats, Floats]:
    r"""The functions that locally linear weights reproduce best.

    Each row is written as a sum of its nearest others, with weights that add up to one; then

    .. math:: \min_{V^\top V = I} \|V - W V\|^2 , \qquad
              \min_W \|X - W X\|^2 \ \text{row by row}.

    Parameters
    ----------
    X : array of shape (n, d)
    n_neighbors : int
        At most n − 1.
    n_vectors : int
        How many; n if there are no more than that.

    Returns
    -------
    roughness : ndarray of shape (r,)
        :math:`\|v - W v\|^2` of each, in increasing order.
    vectors : ndarray of shape (n, r)
        Orthonormal columns, the constant vector first.

    Warns
    -----
    UserWarning
        If the graph of neighbours falls into parts: their positions mean nothing to each other.

    Notes
    -----
    Dense: O(n³) time and 3 n² numbers, for some thousands of rows at most. For a well-defined
    result neighbours are drawn a little towards equal weights, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.spaces.smooth_functions import lle_coordinates
    >>> t = np.linspace(0, 3, 60)
    >>> roughness, V = lle_coordinates(np.c_[np.cos(t), np.sin(t)], n_neighbors=4, n_vectors=2)
    >>> bool(abs(np.corrcoef(V[:, 1], t)[0, 1]) > 0.95)
    True
    """
    X, n_vectors = _check_rows(X, n_vectors)
    n = len(X)
    neighbors = nearest_rows(X, n_neighbors)
    k = neighbors.shape[1]
    weights = _barycentric_weights(X, neighbors)
    W = sp.csr_array((weights.ravel(), neighbors.ravel(), k * np.arange(n + 1)), shape=(n, n))
    _warn_of_parts(connected_components(W, directed=False)[0], "locally linear embedding")
    difference = sp.eye_array(n, format="csr") - W
    constant = sp.csr_array(np.full((n, 1), n**-0.5))
    values, vectors = decompose(difference.T @ difference, constant, n_vectors - 1)
    vectors = np.column_stack([constant.toarray(), vectors])
    return np.concatenate([[0.0], values]), fix_signs(vectors)


def isomap_coordinates(X: Rows, n_neighbors: int, n_vectors: int) -> tuple[Floats, Floats]:
    """The directions in which rows differ most, by distances along the graph of neighbours.

    Parameters
    ----------
    X : array of shape (n, d)
    n_neighbors : int
        At most n − 1.
    n_vectors : int
        How many, the constant vector among them.

    Returns
    -------
    roughness : ndarray of shape (r,)
        In increasing order: 0 for the constant vector, then the largest variance divided by that
        of each direction, so that the first has 1. Like a Laplacian's eigenvalues these are
        inverse to those of the kernel. r is less than ``n_vectors`` if fewer directions have any
        variance.
    vectors : ndarray of shape (n, r)
        Orthonormal columns, the constant vector first. Times the root of their variances they
        are Isomap's coordinates.

    Warns
    -----
    UserWarning
        If the graph of neighbours falls into parts. These are linked where they are closest.

    Notes
    -----
    Dense: O(n² (log n + r)) time and 4 n² numbers, for some thousands of rows at most.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.spaces.smooth_functions import isomap_coordinates
    >>> t = np.linspace(0, 3, 60)
    >>> roughness, V = isomap_coordinates(np.c_[np.cos(t), np.sin(t)], n_neighbors=4, n_vectors=2)
    >>> bool(abs(np.corrcoef(V[:, 1], t)[0, 1]) > 0.99)
    True
    """
    X, n_vectors = _check_rows(X, n_vectors)
    n = len(X)
    neighbors = nearest_rows(X, n_neighbors)
    constant = np.full((n, 1), n**-0.5)
    if neighbors.shape[1] == 0 or n_vectors == 1:
        return np.zeros(1), constant
    edges = (np.repeat(np.arange(n), neighbors.shape[1]), neighbors.ravel())
    named: Any = sp.csr_array((np.ones(neighbors.size), edges), shape=(n, n))
    _warn_of_parts(connected_components(named, directed=False)[0], "Isomap")
    with silenced(), one_blas_thread():  # scikit-learn says the same as the above in its words
        geodesics = Isomap(
            n_neighbors=neighbors.shape[1], n_components=1, neighbors_algorithm="brute"
        )
        squared = np.asarray(geodesics.fit(X).dist_matrix_, dtype=np.float64) ** 2
    means = squared.mean(axis=0)

    def inner_products() -> Floats:
        return np.asarray(-(squared - means - means[:, None] + means.mean()) / 2)

    wanted = min(n_vectors - 1, n - 1)
    with one_blas_thread(n <= FULL_EIGH_ROWS):
        values, vectors = some_eigenpairs(inner_products, n - wanted, n - 1)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > NUMERICAL_RANK * max(values[0], np.finfo(float).tiny)
    values, vectors = values[kept], vectors[:, kept]
    vectors = np.linalg.qr(np.column_stack([constant, vectors]))[0]
    return np.concatenate([[0.0], values[:1] / values]), fix_signs(vectors)


def _check_rows(X: Rows, n_vectors: int) -> tuple[Floats, int]:
    if n_vectors < 1:
        raise InputError(f"n_vectors must be at least 1, got {n_vectors}.")
    X = validation.checked_rows(X)
    return centred(X, middle(X)), min(n_vectors, len(X))


def _warn_of_parts(n_parts: int, method: str) -> None:
    if n_parts > 1:
        notice(
            f"The graph of neighbours falls into {n_parts} parts: {method} says nothing about "
            "where they lie relative to each other. More neighbours may join them.",
        )


def _barycentric_weights(X: Floats, neighbors: NDArray[np.integer]) -> Floats:
    """Weights over its neighbours that reproduce each row best and add up to one."""
    n, k = neighbors.shape
    weights = np.empty((n, k))

    def work(rows: slice) -> None:
        offsets = X[neighbors[rows]].astype(np.float64) - X[rows][:, None]
        gram = offsets @ offsets.transpose(0, 2, 1)
        trace = np.trace(gram, axis1=1, axis2=2)
        ridge = _WEIGHT_RIDGE * np.where(trace > 0, trace, 1.0)
        gram[:, np.arange(k), np.arange(k)] += ridge[:, None]
        solved = np.linalg.solve(gram, np.ones((len(gram), k, 1)))[:, :, 0]
        weights[rows] = solved / solved.sum(axis=1, keepdims=True)

    if k:
        for_each_block(work, n, 256)
    return weights
