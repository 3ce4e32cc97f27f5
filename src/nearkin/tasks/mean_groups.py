r"""Groups of rows that are near one another in the mean, without weak links.

Average linkage of squared distances. The mean squared distance between the rows of two groups is

.. math:: \|\mu_a - \mu_b\|^2 + s_a + s_b

with their means and mean squared distances to these, so that no distances are kept. A group that is
farther from both parts of another is farther from the whole too: two groups that are the nearest of
each other can be joined at once, in any order.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from nearkin.blocks import blocks
from nearkin.tasks.neighbor_search import by_first_row

Floats: TypeAlias = NDArray[np.floating]
Ints: TypeAlias = NDArray[np.int64]

_BLOCK_SIZE = 2**20


def mean_groups(Z: Floats, distances: Floats, rows: Ints, radius: float) -> Ints:
    """Number the groups of rows whose root mean square distance is no more than ``radius``.

    Two groups become one if that of their rows is, the nearest first, and if one has a row that is
    within the radius of a row of the other.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
    distances, rows : ndarray of shape (n, k)
        Of each row's k nearest others. Where more are within the radius, these stand for them.
    radius : float

    Returns
    -------
    int ndarray of shape (n,)
        Groups are numbered from 0, in the order of their first rows.

    Notes
    -----
    O(n k q) time for each of some ten rounds, and O(n (k + q)) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.tasks.mean_groups import mean_groups
    >>> Z = np.array([[0.0], [1.0], [2.5], [9.0]])
    >>> mean_groups(Z, np.array([[1.0], [1.0], [1.5], [6.5]]), np.array([[1], [0], [1], [2]]), 1.5)
    array([0, 0, 1, 2])
    """
    n, k = rows.shape
    near = (distances <= radius).ravel()
    edges = np.column_stack([np.repeat(np.arange(n), k), rows.ravel()])[near]
    means, spread, size = Z.astype(np.float64), np.zeros(n), np.ones(n)
    # A row is at the radius itself, up to rounding.
    most = (radius * (1 + 8 * np.finfo(Z.dtype).eps)) ** 2
    labels = np.arange(n)
    while True:
        edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
        apart = spread[edges].sum(axis=1) + _squared_distances(means, edges)
        # Groups that are too far apart stay so, whatever else joins them.
        edges, apart = edges[apart <= most], apart[apart <= most]
        if not len(edges):
            return by_first_row(labels)
        a, b = edges[_nearest_of_each_other(edges, apart, n)].T
        total = size[a] + size[b]
        share = (size[b] / total)[:, None]
        step = means[b] - means[a]
        between = (share * (1 - share)).ravel() * np.einsum("ij,ij->i", step, step)
        spread[a] = (size[a] * spread[a] + size[b] * spread[b]) / total + between
        means[a] += share * step
        size[a] = total
        now = np.arange(n)
        now[b] = a
        labels, edges = now[labels], now[edges]


def _nearest_of_each_other(edges: Ints, apart: Floats, n: int) -> NDArray[np.bool_]:
    """Which edges are the shortest at both ends; of equals, that of the lower numbers."""
    rank = np.empty(len(edges), dtype=np.int64)
    rank[np.lexsort((edges[:, 1], edges[:, 0], apart))] = np.arange(len(edges))
    first = np.full(n, len(edges))
    for end in edges.T:
        np.minimum.at(first, end, rank)
    return np.asarray((first[edges] == rank[:, None]).all(axis=1))


def _squared_distances(means: Floats, edges: Ints) -> Floats:
    found = np.empty(len(edges))
    for part in blocks(len(edges), max(1, _BLOCK_SIZE // means.shape[1])):
        step = means[edges[part, 0]] - means[edges[part, 1]]
        found[part] = np.einsum("ij,ij->i", step, step)
    return found
