"""Approximate search for neighbours: rows in cells, and a query looks into the nearest cells.

Cells are those of k-means, 2 √n of them. A query looks into so many that, on a sample of the rows,
the share of true neighbours asked for lies in them. Where that takes more than half of all cells,
as it does for rows without any structure in many dimensions, all rows are compared with instead,
which is faster then.
Unlike the graphs that other approximate searches walk along, cells do not mind rows that are there
many times over, and the same seed gives the same result on any number of cores.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.metrics import pairwise_distances_argmin
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from nearkin.pairs.numbering import draw_numbers
from nearkin.rows.arrays import Floats, Ints
from nearkin.rows.blocks import blocks, for_each_block
from nearkin.rows.centring import centred, middle
from nearkin.rows.compiled import REORDER, compiled
from nearkin.rows.sparse import is_sparse
from nearkin.rows.thread_limits import one_blas_thread, one_thread
from nearkin.spaces.neighbors import SEARCH_MEMORY, nearest, ranked, without_itself
from nearkin.storage.silence import silenced

Search: TypeAlias = Literal["auto", "exact", "approximate"]

SEARCHES = ("auto", "exact", "approximate")
# Rows that k-means sees for each cell, its rounds, and rows that the number of cells to look
# into is measured on.
_TRAINING, _ROUNDS, _SAMPLE = 32, 10, 200
# Rows that are kept beyond those asked for, since distances are rounded more here.
_SPARE = 4
_QUERIES, _BLOCK = 16384, 256
# Every row's neighbours: from this many rows on "auto" is approximate, the share of them that is to
# be found, and the share of all cells up to which these are faster than products of matrices.
_MANY_ROWS, _SHARE_FOUND, _FEW_CELLS = 50_000, 0.99, 1 / 4
# Rows up to which one thread searches as fast as several.
_ONE_THREAD_ROWS = 3000


@compiled(fastmath=REORDER)
def _scan(Z: Any, starts: Any, probes: Any, Q: Any, squared: Any, rows: Any) -> None:
    """Keep the nearest rows, sorted, of the cells that each query looks into."""
    last = squared.shape[1] - 1
    for i in range(Q.shape[0]):
        for p in range(probes.shape[1]):
            cell = probes[i, p]
            for t in range(starts[cell], starts[cell + 1]):
                total = Z[t, 0] - Z[t, 0]  # zero, of the rows' type
                for c in range(Z.shape[1]):
                    difference = Z[t, c] - Q[i, c]
                    total += difference * difference
                if total < squared[i, last]:
                    j = last
                    while j > 0 and squared[i, j - 1] > total:
                        squared[i, j], rows[i, j] = squared[i, j - 1], rows[i, j - 1]
                        j -= 1
                    squared[i, j], rows[i, j] = total, t


class Cells:
    """Rows in cells, to be searched.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        At least two rows.
    target_recall : float in (0, 1]
        Share of the neighbours that is to be found.
    rng : RandomState

    Attributes
    ----------
    n_rows, n_cells : int

    Notes
    -----
    O(n √n q) time. Memory: a copy of Z. A query takes O((n_cells + n_probes √n) q).
    """

    def __init__(self, Z: Floats, target_recall: float, rng: np.random.RandomState) -> None:
        self.n_rows = n = len(Z)
        self._origin = middle(Z, if_far=True)
        Z = centred(Z, self._origin)
        n_cells = max(1, min(n // 2, round(2 * n**0.5)))
        training = draw_numbers(n, min(n, _TRAINING * n_cells), rng)
        means = KMeans(n_cells, init="random", n_init=1, max_iter=_ROUNDS, random_state=rng)
        # On several cores its sums, and so the cells, would differ from time to time.
        # scikit-learn warns of fewer distinct rows than cells: empty ones are left out below.
        with silenced(), one_thread():
            means.fit(Z[training])
        centers = means.cluster_centers_.astype(Z.dtype)
        with one_blas_thread():
            nearest_cell = pairwise_distances_argmin(Z, centers)
        filled, cell = np.unique(nearest_cell, return_inverse=True)
        centers, self.n_cells = centers[filled], len(filled)
        self._order = np.argsort(cell, kind="stable")
        self._starts = np.searchsorted(cell[self._order], np.arange(self.n_cells + 1))
        self._Z = Z[self._order]
        self._near_cells = NearestNeighbors(algorithm="brute").fit(centers)
        self._sample = draw_numbers(n, min(n, _SAMPLE), rng)
        self._target_recall = target_recall
        self._n_probes: dict[int, int] = {}

    @one_blas_thread()
    def n_probes(self, k: int) -> int:
        """Into how many cells a query for k neighbours looks.

        As many as hold the target's share of the neighbours of a sample, the rows themselves left
        out. It is measured once for every power of two.
        """
        k = min(1 << (k - 1).bit_length(), self.n_rows - 1)
        if k not in self._n_probes:
            Q = self._Z[self._sample]
            _, true = nearest(self._Z, Q, k + 1)
            cells = np.searchsorted(self._starts, true[:, 1:], side="right") - 1
            by_distance = self._near_cells.kneighbors(Q, self.n_cells, return_distance=False)
            place = np.take_along_axis(np.argsort(by_distance, axis=1), cells, axis=1)
            last = np.quantile(place, self._target_recall, method="inverted_cdf")
            self._n_probes[k] = 1 + int(last)
        return self._n_probes[k]

    @one_blas_thread()
    def propose(self, Q: Floats, k: int) -> Ints:
        """Rows that are probably the nearest, a few more than k; −1 where cells hold fewer."""
        n_probes, wide = self.n_probes(k), min(self.n_rows, k + _SPARE)
        found = np.empty((len(Q), wide), dtype=np.int64)
        for part in blocks(len(Q), _QUERIES):
            queries = centred(Q[part], self._origin)
            probes = self._near_cells.kneighbors(queries, n_probes, return_distance=False)
            # Queries that look into the same cells follow one another: these stay in the cache.
            order = np.argsort(probes[:, 0], kind="stable")
            probes, queries = probes[order], queries[order]
            squared = np.full((len(queries), wide), np.inf, dtype=Q.dtype)
            rows = np.full((len(queries), wide), -1)
            self._scan_blocks(probes, queries, squared, rows)
            found[part.start + order] = np.where(rows >= 0, self._order[rows], -1)
        return found

    def _scan_blocks(self, probes: Ints, queries: Floats, squared: Floats, rows: Ints) -> None:
        def work(some: slice) -> None:
            _scan(self._Z, self._starts, probes[some], queries[some], squared[some], rows[some])

        for_each_block(work, len(queries), _BLOCK)


def nearest_by_cells(cells: Cells, Z: Floats, Q: Floats, k: int) -> tuple[Floats, Ints]:
    """Find nearly all of the k nearest rows of Z for each row of Q, the nearest first.

    Parameters
    ----------
    cells : Cells
        Of the first rows of Z. Rows that came later are all looked at.
    Z : ndarray of shape (n, q)
    Q : ndarray of shape (m, q)
    k : int
        At most n.

    Returns
    -------
    distances : ndarray of shape (m, k)
    rows : int ndarray of shape (m, k)
    """
    if 2 * cells.n_probes(k) > cells.n_cells:
        return nearest(Z, Q, k)
    found = cells.propose(Q, k)
    later = Z[cells.n_rows :]
    if len(later):
        rows = nearest(later, Q, min(k, len(later)))[1]
        found = np.hstack([found, cells.n_rows + rows])
    short = np.flatnonzero((found >= 0).sum(axis=1) < k)
    if found.shape[1] < k:
        return nearest(Z, Q, k)
    exact, rows = ranked(Z, Q, found)
    distances, rows = exact[:, :k].astype(Z.dtype), rows[:, :k]
    if len(short):
        distances[short], rows[short] = nearest(Z, Q[short], k)
    return distances, rows


@one_blas_thread()
def nearest_others(
    X: Any, k: int, *, search: Search = "auto", random_state: Any = None
) -> NDArray[np.integer]:
    """Find the k nearest others of every row, the nearest first.

    Parameters
    ----------
    X : ndarray or sparse matrix of shape (n, d)
        Not far from zero, see :mod:`nearkin.rows.centring`.
    k : int
        Less than n.
    search : {"auto", "exact", "approximate"}, default="auto"
        Compare all rows with all, or only with those of near cells, which finds 99 of 100.
        ``"auto"`` is exact below 50 000 rows, and sparse rows are compared with all in any case.
    random_state : int, RandomState or None, default=None
        Of the cells. The exact search draws nothing.

    Returns
    -------
    int ndarray of shape (n, k)

    Notes
    -----
    O(n² d) time, or O(n √n d) for rows with some structure. Memory beyond the result: blocks of
    rows against rows that stay below 1 GB, and far below if the rows are dense; a copy of X for
    the cells.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.spaces.neighbor_cells import nearest_others
    >>> nearest_others(np.array([[0.0], [2.0], [3.0]]), 1).ravel()
    array([1, 2, 1])
    """
    n = X.shape[0]
    wanted = search == "approximate" or (search == "auto" and n >= _MANY_ROWS)
    if wanted and not is_sparse(X):
        cells = Cells(X, _SHARE_FOUND, check_random_state(random_state))
        if cells.n_probes(k + 1) <= _FEW_CELLS * cells.n_cells:
            return _others_by_cells(cells, X, k)
    index = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X)
    # Where cores are busy, threads wait for each other longer than a search of few rows takes.
    alone = one_thread() if n <= _ONE_THREAD_ROWS else nullcontext()
    with alone, config_context(working_memory=SEARCH_MEMORY):
        return np.asarray(index.kneighbors(return_distance=False))


def _others_by_cells(cells: Cells, X: Floats, k: int) -> Ints:
    found = np.empty((len(X), k), dtype=np.int64)
    for part in blocks(len(X), _QUERIES):
        distances, rows = nearest_by_cells(cells, X, X[part], k + 1)
        found[part] = without_itself(distances, rows, part.start)[1]
    return found
