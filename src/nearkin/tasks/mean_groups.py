r"""Groups of rows that are near one another in the mean, without weak links.

Average linkage of squared distances. The mean squared distance between the rows of two groups is

.. math:: \|\mu_a - \mu_b\|^2 + s_a + s_b

with their means and mean squared distances to these, so that no distances are kept. A group that is
farther from both parts of another is farther from the whole too: two groups that are the nearest of
each other can be joined at once, in any order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nearkin._types import Floats, Ints
from nearkin.rows.distances import centred, middle, squared_lengths
from nearkin.rows.parallel import blocks
from nearkin.spaces.neighbors import by_first_row

_BLOCK_SIZE = 2**20
_ROUNDING = 64 * np.finfo(np.float64).eps


def mean_groups(Z: Any, distances: Floats, rows: Ints, radius: float) -> Ints:
    """Number the groups of rows whose root mean square distance is no more than ``radius``.

    Two groups become one if that of their rows is, the nearest first, and if one has a row that is
    within the radius of a row of the other.

    Parameters
    ----------
    Z : ndarray or sparse matrix of shape (n, q)
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
    Z = centred(Z, middle(Z, if_far=True))
    near = (distances <= radius).ravel()
    edges = np.column_stack([np.repeat(np.arange(n), k), rows.ravel()])[near]
    labels, size, spread = np.arange(n), np.ones(n), np.zeros(n)
    # A row is at the radius itself, up to rounding; so are means of identical rows.
    reach = float(squared_lengths(Z).max())
    most = (radius * (1 + 8 * np.finfo(Z.dtype).eps)) ** 2 + reach * _ROUNDING**2
    while True:
        edges = np.unique(np.sort(edges[edges[:, 0] != edges[:, 1]], axis=1), axis=0)
        between = _squared_distances(_means(Z, labels, size), edges)
        apart = between + spread[edges].sum(axis=1)
        # Groups that are too far apart stay so, whatever else joins them.
        close = apart <= most
        edges, between, apart = edges[close], between[close], apart[close]
        if not len(edges):
            return by_first_row(labels)
        joined = _nearest_of_each_other(edges, apart, n)
        a, b = edges[joined].T
        total = size[a] + size[b]
        spread[a] = (size[a] * spread[a] + size[b] * spread[b]) / total
        spread[a] += size[a] * size[b] / total**2 * between[joined]
        size[a] = total
        now = np.arange(n)
        now[b] = a
        labels, edges = now[labels], now[edges]


def _means(Z: Any, labels: Ints, size: Floats) -> Any:
    """Mean of the rows with each label, sparse if they are; zero where there are none."""
    n = len(labels)
    mean_of = sp.csr_array((1 / size[labels], (labels, np.arange(n))), shape=(n, n))
    return mean_of @ Z


def _nearest_of_each_other(edges: Ints, apart: Floats, n: int) -> NDArray[np.bool_]:
    """Which edges are the shortest at both ends; of equals, that of the lower numbers."""
    rank = np.empty(len(edges), dtype=np.int64)
    rank[np.lexsort((edges[:, 1], edges[:, 0], apart))] = np.arange(len(edges))
    first = np.full(n, len(edges))
    for end in edges.T:
        np.minimum.at(first, end, rank)
    return np.asarray((first[edges] == rank[:, None]).all(axis=1))


def _squared_distances(means: Any, edges: Ints) -> Floats:
    found = np.empty(len(edges))
    for part in blocks(len(edges), max(1, _BLOCK_SIZE // means.shape[1])):
        step = means[edges[part, 0]] - means[edges[part, 1]]
        found[part] = squared_lengths(step)
    return found
