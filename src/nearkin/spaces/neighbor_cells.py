"""Approximate search for neighbours: rows in cells, and a query looks into the nearest cells.

Cells are those of k-means, 2 √n of them. A query looks into so many that, on a sample of the rows,
the share of true neighbours asked for lies in them, and finds all of these that do: rows of cells
are compared by :mod:`nearkin.spaces.cell_codes`. Where that takes more than half of all cells,
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
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from nearkin._types import Floats, Ints
from nearkin.pairs.closure import draw_numbers
from nearkin.rows.distances import centred, middle
from nearkin.rows.parallel import blocks, for_each_block, one_blas_thread, one_thread
from nearkin.rows.sparse import is_sparse
from nearkin.spaces.cell_codes import coded, scanned, unwritable
from nearkin.spaces.cell_means import cell_means, nearest_mean, nearest_means
from nearkin.spaces.neighbors import SEARCH_MEMORY, are_others, nearest, ranked

Search: TypeAlias = Literal["auto", "exact", "approximate"]

SEARCHES = ("auto", "exact", "approximate")
# Rows that the number of cells to look into is measured on.
_SAMPLE = 200
# Rows that are kept beyond those asked for, since sums are rounded otherwise here.
_CELL_SPARE = 2
_CELL_QUERIES, _BLOCK = 16384, 256
# Every row's neighbours: from this many rows on "auto" is approximate, the share of them that is to
# be found, and the share of all cells up to which these are faster than products of matrices.
_MANY_ROWS, _SHARE_FOUND, _FEW_CELLS = 50_000, 0.99, 1 / 4
# Rows up to which one thread searches as fast as several.
_ONE_THREAD_ROWS = 3000
# Means are found anew when there are so many times as many rows as they were found of, or when
# more new ones come to a cell than so many hold in the mean.
_GROWN, _CROWDED = 2, 4


class Cells:
    """Rows in cells, to be searched.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        At least two rows.
    target_recall : float in (0, 1]
        Share of the neighbours that is to be found.
    rng : RandomState
    earlier : Cells, optional
        Of the first rows of Z. If these are most of them, and later ones lie where they do, their
        means are taken, which is most of the work.

    Attributes
    ----------
    n_rows, n_cells : int
    Z : ndarray of shape (n_rows, q)
        The rows themselves, which can be put elsewhere in memory.

    Notes
    -----
    O(n √n q) time. Memory: n (q + 12) bytes. A query takes O((n_cells + n_probes √n) q).
    """

    _n_means_rows: int  # of which the means were found
    _means: Floats
    _origin: Floats

    def __init__(
        self,
        Z: Floats,
        target_recall: float,
        rng: np.random.RandomState,
        *,
        earlier: Cells | None = None,
    ) -> None:
        self.Z = Z = np.ascontiguousarray(Z)
        self.n_rows = n = len(Z)
        cell = None if earlier is None else self._grown(earlier)
        if cell is None:
            self._n_means_rows = n
            self._origin = middle(Z, if_far=True)
            n_cells = max(1, min(n // 2, round(2 * n**0.5)))
            self._means = cell_means(Z, self._origin, n_cells, rng)
            cell = nearest_mean(Z, self._origin, self._means)
        filled, cell = np.unique(cell, return_inverse=True)
        self.n_cells, self._means = len(filled), self._means[filled]
        self._columns = unwritable(np.ascontiguousarray(self._means.T))
        self._codes = coded(Z, cell, self._origin + self._means)
        self._sample = draw_numbers(n, min(n, _SAMPLE), rng)
        self._target_recall = target_recall
        self._n_probes: dict[int, int] = {}

    def _grown(self, earlier: Cells) -> Ints | None:
        """Cell of each row where earlier means serve; None where they do not."""
        n, means = self.n_rows, earlier._means
        if earlier.Z.dtype != self.Z.dtype or n > _GROWN * earlier._n_means_rows:
            return None
        later = nearest_mean(self.Z[earlier.n_rows :], earlier._origin, means)
        if np.bincount(later).max() > _CROWDED * n / len(means):
            return None
        self._n_means_rows, self._origin, self._means = (
            earlier._n_means_rows,
            earlier._origin,
            means,
        )
        return np.concatenate([earlier._cell_of_rows(), later])

    def _cell_of_rows(self) -> Ints:
        cell = np.empty(self.n_rows, dtype=np.int64)
        cell[self._codes.order] = np.repeat(np.arange(self.n_cells), np.diff(self._codes.starts))
        return cell

    @property
    def row_order(self) -> Ints:
        """Numbers of all rows in an order in which near ones follow one another."""
        return self._codes.order

    def n_probes(self, k: int) -> int:
        """Into how many cells a query for k neighbours looks.

        As many as hold the target's share of the neighbours of a sample, the rows themselves left
        out. It is measured once for every power of two.
        """
        k = min(1 << (k - 1).bit_length(), self.n_rows - 1)
        if k not in self._n_probes:
            Q = self.Z[self._sample]
            _, true = nearest(self.Z, Q, k + 1)
            by_distance = self._nearest_cells(Q, self.n_cells)
            cells = self._cell_of_rows()[true[:, 1:]]
            place = np.take_along_axis(np.argsort(by_distance, axis=1), cells, axis=1)
            last = np.quantile(place, self._target_recall, method="inverted_cdf")
            self._n_probes[k] = 1 + int(last)
        return self._n_probes[k]

    def _nearest_cells(self, Q: Floats, n_probes: int) -> Ints:
        queries = unwritable(np.ascontiguousarray(centred(Q, self._origin)))
        found = np.empty((len(Q), n_probes), dtype=np.int64)

        def work(some: slice) -> None:
            nearest_means(self._columns, queries[some], found[some])

        for_each_block(work, len(Q), _BLOCK)
        return found

    def propose(self, Q: Floats, k: int, *, spare: int = 0) -> Ints:
        """Rows that are probably the k nearest, and some more; −1 where cells hold fewer."""
        n_probes, wide = self.n_probes(k), min(self.n_rows, k + spare)
        found = np.empty((len(Q), wide), dtype=np.int64)
        for part in blocks(len(Q), _CELL_QUERIES):
            probes = self._nearest_cells(Q[part], n_probes)
            # Queries that look into the same cells follow one another: these stay in the cache.
            order = np.argsort(probes[:, 0], kind="stable")
            rows = scanned(self._codes, self.Z, Q[part][order], probes[order], wide)
            found[part.start + order] = rows
        return found


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
    found = cells.propose(Q, k, spare=_CELL_SPARE)
    later = Z[cells.n_rows :]
    if len(later):
        rows = nearest(later, Q, min(k, len(later)))[1]
        found = np.hstack([found, cells.n_rows + rows])
    if found.shape[1] < k:
        return nearest(Z, Q, k)
    exact, rows = ranked(Z, Q, found)
    distances, rows = exact[:, :k].astype(Z.dtype), rows[:, :k]
    short = np.flatnonzero(rows[:, -1] < 0)
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
        Not far from zero, see :mod:`nearkin.rows.distances`.
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
    rows against rows that stay below 1 GB, and far below if the rows are dense; for cells, a
    byte for each number of X.

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
    for part in blocks(len(X), _CELL_QUERIES):
        some = cells.row_order[part]
        rows = cells.propose(X[some], k + 1)
        short = np.flatnonzero(rows[:, -1] < 0)
        if len(short):
            rows[short] = nearest(X, X[some[short]], k + 1)[1]
        found[some] = rows[are_others(rows, some)].reshape(-1, k)
    return found
