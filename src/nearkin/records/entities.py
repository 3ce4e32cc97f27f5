r"""Who is who: groups of records, from what is known of pairs, without chains of weak links.

Groups are joined as long as the mean log-odds over all pairs of a record of one and a record of the
other is above 0, the highest first: average linkage. Pairs that were never compared count as
slightly against it. Two groups that are the best of each other can be joined at once, in any order,
since a group that is worse for both is worse for what they become.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from nearkin._types import Doubles, Ints, Mask
from nearkin.pairs.closure import ends_of, keys_of

# Log-odds of a pair that was not compared; and what no pair goes beyond, so that a single one does
# not outweigh many.
_NOT_COMPARED = -0.3
_MOST = 8.0


def group_records(
    n_records: int,
    pairs: Ints,
    log_odds: Doubles,
    must_link: Ints,
    cannot_link: Ints,
) -> Ints:
    """Number the things that records are of.

    Parameters
    ----------
    n_records : int
    pairs : int ndarray of shape (k, 2)
        Each once.
    log_odds : ndarray of shape (k,)
        Of being the same.
    must_link, cannot_link : int ndarray of shape (l, 2)
        What is known. A cannot-link between records that must-links join is left out.

    Returns
    -------
    int ndarray of shape (n_records,)
        From 0, in the order of first records.

    Notes
    -----
    O(k log k) time for each of some ten rounds, and O(n + k) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.records.entities import group_records
    >>> pairs = np.array([[0, 1], [1, 2], [0, 2], [2, 3]])
    >>> none = np.empty((0, 2), dtype=int)
    >>> group_records(5, pairs, np.array([3.0, 2.0, -9.0, 1.0]), none, none)
    array([0, 0, 1, 1, 2])
    """
    labels = _components(n_records, must_link)
    within = _components(n_records, np.concatenate([pairs[log_odds > 0], must_link]))
    # Pairs across components of what speaks for it cannot join anything.
    kept = within[pairs[:, 0]] == within[pairs[:, 1]]
    edges, sums = pairs[kept], log_odds[kept].clip(-_MOST, _MOST)
    apart = cannot_link[labels[cannot_link[:, 0]] != labels[cannot_link[:, 1]]]
    edges = np.concatenate([edges, apart])
    sums = np.concatenate([sums, np.full(len(apart), -np.inf)])
    counts = np.concatenate([np.ones(kept.sum()), np.zeros(len(apart))])
    size = np.bincount(labels, minlength=n_records)
    ends = labels[edges]
    while True:
        ends, sums, counts = _between(ends, sums, counts)
        product = size[ends[:, 0]] * size[ends[:, 1]]
        means = (sums + _NOT_COMPARED * np.maximum(product - counts, 0)) / product
        joined = ends[_best_of_both(ends, means, n_records)]
        if not len(joined):
            return in_order(labels)
        name = np.arange(n_records)
        name[joined[:, 1]] = joined[:, 0]
        size[joined[:, 0]] += size[joined[:, 1]]
        labels, ends = name[labels], name[ends]


def in_order(labels: Ints) -> Ints:
    """Number groups from 0 in the order of their first records."""
    _, first, which = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[which.ravel()])


def mean_between(labels: Ints, pairs: Ints, log_odds: Doubles) -> Doubles:
    """For each pair the mean log-odds of all pairs between the same two groups, or within one."""
    keys = keys_of(labels[pairs])
    _, which = np.unique(keys, return_inverse=True)
    which = which.ravel()
    sums = np.bincount(which, log_odds.clip(-_MOST, _MOST))
    return np.asarray((sums / np.bincount(which))[which])


def _components(n: int, links: Ints) -> Ints:
    graph = csr_array((np.ones(len(links), dtype=bool), (links[:, 0], links[:, 1])), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _between(ends: Ints, sums: Doubles, counts: Doubles) -> tuple[Ints, Doubles, Doubles]:
    """Pairs of different groups, each once, with what all pairs of records between them add to."""
    differ = ends[:, 0] != ends[:, 1]
    keys = keys_of(ends[differ])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    start = np.flatnonzero(np.diff(keys, prepend=-1))
    if not len(start):
        return np.empty((0, 2), dtype=np.int64), np.zeros(0), np.zeros(0)
    sums, counts = (np.add.reduceat(values[differ][order], start) for values in (sums, counts))
    return ends_of(keys[start]), sums, counts


def _best_of_both(ends: Ints, means: Doubles, n: int) -> Mask:
    """Which pairs of groups are worth joining, and the best for both."""
    worth = np.flatnonzero(means > 0)
    # All pairs have their place in one order, so that the first of them is always joined.
    order = worth[np.lexsort((ends[worth, 1], ends[worth, 0], -means[worth]))]
    place = np.full(n, len(means))
    np.minimum.at(place, ends[order].ravel(), np.repeat(np.arange(len(order)), 2))
    chosen = np.zeros(len(means), dtype=bool)
    rank = np.arange(len(order))
    both = (place[ends[order, 0]] == rank) & (place[ends[order, 1]] == rank)
    chosen[order[both]] = True
    return chosen
