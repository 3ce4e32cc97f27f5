r"""Nearest rows, rows within a radius, and groups of near rows, in Euclidean distance.

Fast searches take :math:`\|a - b\|^2 = \|a\|^2 - 2 a^\top b + \|b\|^2`, which rounds worst where
rows are close. Here it only proposes rows; distances are those of the differences, as the
learners' own, and where rounding could matter more rows are looked at. So the results do not
depend on the order of a sum, and ties are resolved: the row with the lower number comes first.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors

from nearkin._types import Floats, Ints
from nearkin.rows.distances import centred, middle, rowwise_distances, squared_lengths
from nearkin.rows.parallel import block_rows, blocks, for_each_block, one_blas_thread
from nearkin.rows.sparse import dense, is_sparse

# Megabytes for a block of distances; of sparse rows a search holds the block three times over.
SEARCH_MEMORY = 256
# Rows that are looked at beyond those asked for; more where these do not settle the matter.
_SPARE = 8
# Numbers in a block of results, rows of a tile of distances, and queries within a radius at once.
_BLOCK_SIZE = 2**20
_TILE_ROWS, _TILE_COLUMNS = 1024, 2048
_QUERIES = 256


@one_blas_thread()
def nearest(Z: Floats, Q: Floats, k: int, *, spare: int = _SPARE) -> tuple[Floats, Ints]:
    """Find the k nearest rows of Z for each row of Q, the nearest first.

    Parameters
    ----------
    Z : ndarray or sparse matrix of shape (n, q)
    Q : ndarray or sparse matrix of shape (m, q)
        Of Z's dtype, and sparse if Z is.
    k : int
        At most n.
    spare : int
        Rows that are looked at beyond k.

    Returns
    -------
    distances : ndarray of shape (m, k)
        Of Z's dtype.
    rows : int ndarray of shape (m, k)

    Notes
    -----
    O(m n q) time. Memory beyond the result: some 100 MB, whatever m and n are.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.spaces.neighbors import nearest
    >>> nearest(np.array([[0.0], [2.0], [1.0]]), np.array([[1.0]]), 2)
    (array([[0., 1.]]), array([[2, 0]]))
    """
    n, m = Z.shape[0], Q.shape[0]
    wide = min(n, k + spare)
    near_Z, near_Q = _near_zero(Z, Q)
    search = NearestNeighbors(algorithm="brute").fit(near_Z)
    distances, rows = np.empty((m, k), dtype=Z.dtype), np.empty((m, k), dtype=np.int64)
    reach = squared_lengths(near_Z).max()
    for part in blocks(m, max(1, _BLOCK_SIZE // wide)):
        found = search.kneighbors(near_Q[part], wide, return_distance=False)
        exact, order = ranked(Z, Q[part], found)
        distances[part], rows[part] = exact[:, :k], order[:, :k]
        if wide == n:
            continue
        # Rows that were not looked at may be nearer than the last of these, but no more than this.
        last, farthest = exact[:, k - 1] ** 2, exact[:, -1] ** 2
        error = _rounding(Z, squared_lengths(near_Q[part]) + reach, farthest)
        unsure = part.start + np.flatnonzero(last >= farthest - error)
        if len(unsure):
            distances[unsure], rows[unsure] = nearest(Z, Q[unsure], k, spare=8 * spare)
    return distances, rows


def ranked(Z: Floats, Q: Floats, found: Ints) -> tuple[NDArray[np.float64], Ints]:
    """Order proposed rows by their distance from the query, and then by number.

    Returns
    -------
    distances : float64 ndarray of shape (m, k)
        Infinite for −1, which stands for no row.
    rows : int ndarray of shape (m, k)
    """
    m, k = found.shape
    if is_sparse(Z):
        exact = rowwise_distances(Q, Z, np.repeat(np.arange(m), k), found.ravel()).reshape(m, k)
    else:
        exact = _distances_from(Z, Q, found)
    exact[found < 0] = np.inf
    order = np.lexsort((found, exact))
    query = np.arange(m)[:, None]
    return exact[query, order], found[query, order]


def _distances_from(Z: Floats, Q: Floats, found: Ints) -> NDArray[np.float64]:
    """Distance of each query from the rows that are proposed for it, to the last bit as others'."""
    squared = np.empty(found.shape)

    def work(some: slice) -> None:
        difference = np.subtract(Z[found[some]], Q[some, None], dtype=np.float64)
        np.sum(difference * difference, axis=2, out=squared[some])

    for_each_block(work, len(Q), block_rows(24 * found.shape[1] * Z.shape[1]))
    return np.sqrt(squared)


def without_itself(distances: Floats, rows: Ints, start: int = 0) -> tuple[Floats, Ints]:
    """Nearest others of rows ``start``, ``start + 1``, … of which each is among its own nearest."""
    others = are_others(rows, np.arange(start, start + len(rows)))
    shape = (len(rows), rows.shape[1] - 1)
    return distances[others].reshape(shape), rows[others].reshape(shape)


def are_others(rows: Ints, numbers: Ints) -> NDArray[np.bool_]:
    """Which of the nearest of rows with these numbers are others: all but one for each.

    Where equal rows stand before the row itself, the last of all is left out.
    """
    others: NDArray[np.bool_] = rows != numbers[:, None]
    others[others.all(axis=1), -1] = False
    return others


@one_blas_thread()
def within(Z: Floats, Q: Floats, radius: float) -> tuple[list[Floats], list[Ints]]:
    """Find all rows of Z no farther than ``radius`` from each row of Q, the nearest first.

    Returns
    -------
    distances, rows : list of m ndarrays
        Of all the lengths that there are; empty where no row is near.

    Notes
    -----
    O(m n q) time. Memory: what is found.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.spaces.neighbors import within
    >>> within(np.array([[0.0], [2.0], [1.0]]), np.array([[1.0], [9.0]]), 1.0)[1]
    [array([2, 0, 1]), array([], dtype=int64)]
    """
    near_Z, near_Q = _near_zero(Z, Q)
    search = NearestNeighbors(algorithm="brute").fit(near_Z)
    reach = squared_lengths(near_Z).max()
    distances: list[Floats] = []
    rows: list[Ints] = []
    for part in blocks(Q.shape[0], _QUERIES):
        some = near_Q[part]
        band = _rounding(Z, reach + squared_lengths(some).max(), radius**2)
        found = search.radius_neighbors(some, np.sqrt(radius**2 + band), return_distance=False)
        query, row = np.repeat(np.arange(len(found)), list(map(len, found))), np.concatenate(found)
        exact = rowwise_distances(Q[part], Z, query, row)
        order = np.lexsort((row, exact, query))
        order = order[exact[order].astype(Z.dtype) <= radius]
        ends = np.cumsum(np.bincount(query[order], minlength=len(found)))[:-1]
        distances += np.split(exact[order].astype(Z.dtype), ends)
        rows += np.split(row[order], ends)
    return distances, rows


def near_groups(Z: Floats, radius: float) -> Ints:
    """Number the groups of rows that chains of steps no longer than ``radius`` connect.

    Parameters
    ----------
    Z : ndarray or sparse matrix of shape (n, q)
    radius : float

    Returns
    -------
    int ndarray of shape (n,)
        Groups are numbered from 0, in the order of their first rows.

    Notes
    -----
    O(n² q) time at most: rows are sorted along the widest column, and those too far apart there
    are not compared, nor those of a large group once it is known. Memory: a copy of Z, some 100
    bytes for each row, and 200 MB, however many pairs are near: the pairs of a tile are contracted
    to a spanning forest at once, and the forests of tiles to groups whenever they have more edges
    than there are rows.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.spaces.neighbors import near_groups
    >>> near_groups(np.array([[0.0], [5.0], [1.0], [2.0]]), 1.0)
    array([0, 1, 0, 0])
    """
    n = Z.shape[0]
    widest = np.argmax(dense(Z.max(axis=0) - Z.min(axis=0)))
    key = dense(Z[:, [widest]]).ravel()
    order = np.argsort(key, kind="stable")
    Z, key = Z[order], key[order].astype(np.float64)
    step = radius * (1 + 4 * np.finfo(Z.dtype).eps)
    labels = np.arange(n)
    pending, n_pending = [np.empty((0, 2), dtype=np.int64)], 0
    for rows in blocks(n, _TILE_ROWS):
        end = int(np.searchsorted(key, key[rows.stop - 1] + step, side="right"))
        for tile in blocks(end - rows.start, _TILE_COLUMNS):
            columns = slice(rows.start + tile.start, rows.start + tile.stop)
            for some, others in _unsettled(labels, rows, columns):
                first, second = _near_pairs(Z[some], Z[others], radius)
                edges = _forest(labels[some], labels[others], first, second)
                pending.append(edges)
                n_pending += len(edges)
            if n_pending > n:
                labels = joined(labels, np.concatenate(pending))
                pending, n_pending = [np.empty((0, 2), dtype=np.int64)], 0
    in_order = np.empty(n, dtype=np.int64)
    in_order[order] = joined(labels, np.concatenate(pending))
    return by_first_row(in_order)


def _unsettled(labels: Ints, rows: slice, columns: slice) -> list[tuple[Ints, Ints]]:
    """Rows and columns of a tile to compare: not those of one group, if it has most rows."""
    some, others = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
    groups, counts = np.unique(labels[rows], return_counts=True)
    if 2 * counts.max() <= len(some):
        return [(some, others)]
    largest = groups[counts.argmax()]
    inside = labels[some] == largest
    parts = [(some[inside], others[labels[others] != largest]), (some[~inside], others)]
    return [part for part in parts if len(part[0]) and len(part[1])]


def joined(labels: Ints, edges: Ints) -> Ints:
    """Labels after those that edges connect have become one."""
    n = int(labels.max()) + 1
    graph = sp.coo_array((np.ones(len(edges), dtype=bool), (edges[:, 0], edges[:, 1])), (n, n))
    return np.asarray(connected_components(graph, directed=False)[1][labels], dtype=np.int64)


def by_first_row(labels: Ints) -> Ints:
    """The same groups, numbered from 0 in the order of their first rows."""
    _, first, number = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[number], dtype=np.int64)


def _near_pairs(A: Floats, B: Floats, radius: float) -> tuple[Ints, Ints]:
    """Positions in A and in B of all pairs no farther apart than ``radius``."""
    near_B, near_A = (rows.astype(np.float64, copy=False) for rows in _near_zero(B, A))
    squared = euclidean_distances(near_A, near_B, squared=True)
    reach = squared_lengths(near_A).max() + squared_lengths(near_B).max()
    band = _rounding(A, reach, radius**2)
    first, second = np.nonzero(squared <= radius**2 + band)
    near = squared[first, second] < radius**2 - band
    close_call = np.flatnonzero(~near)
    exact = rowwise_distances(A, B, first[close_call], second[close_call])
    near[close_call] = exact.astype(A.dtype) <= radius
    return first[near], second[near]


def _forest(labels_a: Ints, labels_b: Ints, first: Ints, second: Ints) -> Ints:
    """Edges between labels that connect what the pairs connect: fewer than there are rows."""
    new = labels_a[first] != labels_b[second]
    if not new.any():
        return np.empty((0, 2), dtype=np.int64)
    labels = np.concatenate([labels_a, labels_b])
    edges = np.column_stack([first[new], len(labels_a) + second[new]])
    group = joined(np.arange(len(labels)), edges)
    roots = np.unique(group, return_index=True)[1][group]
    found = np.column_stack([labels, labels[roots]])
    return np.asarray(found[found[:, 0] != found[:, 1]])


def _near_zero(Z: Floats, Q: Floats) -> tuple[Floats, Floats]:
    """Both sets of rows moved to zero, if Z is far from it, where squares would lose their digits.

    In float64 then, in which their distances stay what they are.
    """
    origin = middle(Z, if_far=True)
    if not origin.any():
        return Z, Q
    moved, queries = (centred(rows.astype(np.float64), origin) for rows in (Z, Q))
    return moved, queries


def _rounding(Z: Floats, squared_norms: Any, squared: Any) -> Any:
    """How far squared distances taken by a product, in float64, and rounded ones may differ."""
    by_product = 8 * (Z.shape[1] + 4) * np.finfo(np.float64).eps * squared_norms
    return by_product + 8 * np.finfo(Z.dtype).eps * squared
