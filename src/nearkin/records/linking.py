"""Which record of one table is which of another: one to one, or as many as there are."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching

from nearkin._types import Doubles, Ints, Mask


def one_to_one(pairs: Ints, log_odds: Doubles) -> Mask:
    """Choose pairs so that no record is in two, and the sum of their log-odds is the largest.

    Parameters
    ----------
    pairs : int ndarray of shape (k, 2)
        A row of the left and one of the right table; each pair once.
    log_odds : ndarray of shape (k,)

    Returns
    -------
    bool ndarray of shape (k,)
        Only pairs with log-odds above 0 are chosen.

    Notes
    -----
    Pairs whose records are in no other are chosen at once; the others are an assignment problem, in
    which each record may also stay alone, solved by shortest augmenting paths on the sparse graph
    (R. Jonker and A. Volgenant, 1987).

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.records.linking import one_to_one
    >>> pairs = np.array([[0, 0], [0, 1], [1, 0]])
    >>> one_to_one(pairs, np.array([5.0, 4.0, 3.0]))
    array([False,  True,  True])
    """
    chosen = np.zeros(len(pairs), dtype=bool)
    worth = np.flatnonzero(log_odds > 0)
    left, right = (np.unique(side, return_inverse=True)[1].ravel() for side in pairs[worth].T)
    alone = (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)
    chosen[worth[alone]] = True
    worth, left, right = worth[~alone], left[~alone], right[~alone]
    if not len(worth):
        return chosen
    left, right = (np.unique(side, return_inverse=True)[1].ravel() for side in (left, right))
    n_left, n_right = left.max() + 1, right.max() + 1
    # A partner of no value for each record of the left, so that it may stay alone.
    most = float(log_odds[worth].max()) + 1
    cost = np.concatenate([most - log_odds[worth], np.full(n_left, most)])
    rows = np.concatenate([left, np.arange(n_left)])
    columns = np.concatenate([right, n_right + np.arange(n_left)])
    graph = csr_array((cost, (rows, columns)), shape=(n_left, n_right + n_left))
    matched = np.empty(n_left, dtype=np.int64)
    found_left, found_right = min_weight_full_bipartite_matching(graph)
    matched[found_left] = found_right
    chosen[worth[matched[left] == right]] = True
    return chosen
