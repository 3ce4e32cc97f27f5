"""Where the cells of a search are: means of a sample, in an order in which near ones follow."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.cluster import KMeans

from nearkin._types import Floats, Ints
from nearkin.messages import silenced
from nearkin.pairs.closure import draw_numbers
from nearkin.rows.distances import centred, squared_lengths
from nearkin.rows.parallel import REORDER, block_rows, blocks, compiled, for_each_block, one_thread

# Rows that k-means sees for each cell, and its rounds: with more, no fewer cells need to be
# looked into.
_TRAINING, _ROUNDS = 16, 5
# Rows that a thread takes at a time.
_ROWS = 4096


def cell_means(Z: Floats, origin: Floats, n_cells: int, rng: np.random.RandomState) -> Floats:
    """Means of at most so many groups of rows, less the origin.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
    origin : ndarray of shape (q,)
    n_cells : int
        At most n.
    rng : RandomState

    Returns
    -------
    ndarray of shape (n_cells, q)
        Of Z's dtype, see :func:`along_a_path` for their order.
    """
    sample = draw_numbers(len(Z), min(len(Z), _TRAINING * n_cells), rng)
    means = KMeans(n_cells, init="random", n_init=1, max_iter=_ROUNDS, random_state=rng)
    # On several cores its sums, and so the cells, would differ from time to time.
    # scikit-learn warns of fewer distinct rows than cells: what is nearest to no row is left out.
    with silenced(), one_thread():
        means.fit(centred(Z[sample], origin))
    found = means.cluster_centers_.astype(Z.dtype)
    return np.asarray(found[along_a_path(found)])


def along_a_path(centers: Floats) -> Ints:
    """Order in which most centres follow one that is near, by halving along the widest column."""
    path: list[Ints] = []
    pending = [np.arange(len(centers))]
    while pending:
        some = pending.pop()
        if len(some) <= 2:
            path.append(some)
            continue
        widest = np.argmax(np.ptp(centers[some], axis=0))
        some = some[np.argsort(centers[some, widest], kind="stable")]
        half = len(some) // 2
        pending += [some[half:], some[:half]]
    return np.concatenate(path)


def nearest_mean(Z: Floats, origin: Floats, means: Floats) -> Ints:
    """Number of the mean nearest to each row, up to rounding of a product in Z's dtype.

    Notes
    -----
    O(n c q) time for c means; memory beyond the result: some megabytes.
    """
    sides = np.column_stack([means, squared_lengths(means) / -2]).astype(Z.dtype).T
    found = np.empty(len(Z), dtype=np.int64)

    some_rows = block_rows(4 * Z.itemsize * len(means))

    def work(part: slice) -> None:
        near = centred(Z[part], origin)
        near = np.column_stack([near, np.ones(len(near), dtype=Z.dtype)])
        for some in blocks(len(near), some_rows):
            found[part][some] = (near[some] @ sides).argmax(axis=1)

    for_each_block(work, len(Z), _ROWS)
    return found


@compiled(fastmath=REORDER)
def squared_from_means(columns: Any, query: Any, squared: Any) -> None:
    """Squared distances of a query from means, of which ``columns`` has one in each column."""
    squared[:] = 0.0
    for c in range(len(query)):
        column, wanted = columns[c], query[c]
        for i in range(len(squared)):
            difference = wanted - column[i]
            squared[i] += difference * difference


@compiled(fastmath=REORDER)
def nearest_means(columns: Any, Q: Any, nearest: Any) -> None:
    """Write the numbers of the means nearest to each query, the nearest first."""
    last = nearest.shape[1] - 1
    squared = np.empty(columns.shape[1], dtype=columns.dtype)
    best = np.empty(last + 1, dtype=columns.dtype)
    for i in range(len(Q)):
        squared_from_means(columns, Q[i], squared)
        best[:] = np.inf
        for mean in range(len(squared)):
            if squared[mean] < best[last] or mean <= last:
                j = min(mean, last)
                while j > 0 and best[j - 1] > squared[mean]:
                    best[j], nearest[i, j] = best[j - 1], nearest[i, j - 1]
                    j -= 1
                best[j], nearest[i, j] = squared[mean], mean
