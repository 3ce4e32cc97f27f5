r"""Neighbours in the plane: rows that are near each other attract, all others repel.

Rows i and j are joined by a closeness :math:`w_{ij}` in [0, 1], and points of the plane by
:math:`q_{ij} = 1 / (1 + a \|y_i - y_j\|^2)`. Points are put where the two agree, that is where

.. math:: -\sum_{ij} w_{ij} \log q_{ij} - \gamma \sum_{ij} (1 - w_{ij}) \log(1 - q_{ij})

is small. As in UMAP (McInnes, Healy and Melville 2018) and LargeVis (Tang et al. 2016) it is
descended by steps along single edges, each with a few points drawn at random that repel.

An exponent of 1 at the squared distance, where UMAP fits one, spares a power for each step. Steps
are cooled along one schedule: a layout that is begun anew enters it at its beginning, one that goes
on from places near the right ones later.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nearkin._types import Floats, Ints
from nearkin.rows.parallel import REORDER, compiled

# Passes over all edges from the beginning of the schedule to its end.
EPOCHS = 300
# Of q, near the curve that UMAP fits for points 0.1 apart; and points that repel for each edge.
_CURVE, _REPELLING = np.float32(1.6), 5
# How closeness falls off, in mean distances from the neighbours beyond the nearest.
_WIDTH = 0.7
# No step goes farther along an axis, at the beginning of the schedule.
_LONGEST = np.float32(4.0)

Places = NDArray[np.float32]


class Edges(NamedTuple):
    """Who is joined with whom, each edge at both of its ends, row by row.

    Attributes
    ----------
    starts : int32 ndarray of shape (n + 1,)
    ends : int32 ndarray of shape (m,)
    weights : float32 ndarray of shape (m,)
        In (0, 1].
    """

    starts: NDArray[np.int32]
    ends: NDArray[np.int32]
    weights: NDArray[np.float32]


def closeness(distances: Floats) -> Floats:
    r"""How close neighbours are, by what is usual where they are.

    .. math:: w_{ij} = \exp(-(d_{ij} - \rho_i) / \sigma_i), \quad \sigma_i = 0.7 \,
        \mathrm{mean}_j (d_{ij} - \rho_i)

    with :math:`\rho_i` the distance of the nearest that is no duplicate.

    Parameters
    ----------
    distances : ndarray of shape (n, k)

    Returns
    -------
    ndarray of shape (n, k)
        In (0, 1].

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.solvers.neighbor_layout import closeness
    >>> closeness(np.array([[0.0, 0.0], [2.0, 2.0]]))
    array([[1., 1.],
           [1., 1.]])
    """
    nearest = np.where(distances > 0, distances, np.inf).min(axis=1, keepdims=True)
    beyond = np.maximum(distances - np.where(np.isfinite(nearest), nearest, 0.0), 0.0)
    width = _WIDTH * beyond.mean(axis=1, keepdims=True)
    return np.asarray(np.exp(-beyond / np.where(width > 0, width, 1.0)))


def edges_between(Z: Floats, near: Ints) -> Edges:
    """Join rows with their nearest others: by their closeness as one or the other sees it.

    Of two views a and b of one edge, a + b − ab is taken, so that one of them is enough.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        At least two rows.
    near : int ndarray of shape (n, k)
        See :func:`nearkin.spaces.neighbors.nearest_others`.

    Notes
    -----
    Memory: some 50 bytes for each row and neighbour.
    """
    n, k = near.shape
    weights = closeness(_distances(Z, near)).astype(np.float32)
    starts = np.arange(0, n * k + 1, k)
    own = sp.csr_array((weights.ravel(), near.ravel(), starts), shape=(n, n))
    theirs = own.T.tocsr()
    both = (own + theirs - own.multiply(theirs)).tocsr()
    return Edges(both.indptr.astype(np.int32), both.indices.astype(np.int32), both.data)


def descended(places: Places, edges: Edges, first: int, last: int, seed: int) -> Places:
    """Places after some epochs of the schedule.

    Parameters
    ----------
    places : float32 ndarray of shape (n, 2)
        Of the order of 10.
    edges : Edges
    first, last : int
        Epochs, the last of at most :data:`EPOCHS` excluded.
    seed : int
        With the numbers of the epochs it decides what is drawn: however many are taken at once, the
        result is the same.

    Returns
    -------
    float32 ndarray of shape (n, 2)
        A new array.
    """
    found = np.array(places, dtype=np.float32, order="C")
    for epoch in range(first, last):
        step = np.float32(1.0 - epoch / EPOCHS)
        _descend(found, *edges, step, np.uint64((seed * EPOCHS + epoch) % 2**64))
    return found


def middles(places: Places, rows: Ints, weights: Floats) -> Places:
    """Places of rows among others: weighed means of those of their neighbours.

    Parameters
    ----------
    places : float32 ndarray of shape (m, 2)
    rows : int ndarray of shape (n, k)
        Neighbours of each row, as rows of ``places``.
    weights : ndarray of shape (n, k)
        Positive.
    """
    shares = weights / weights.sum(axis=1, keepdims=True)
    found = np.zeros((len(rows), 2))
    for column, share in zip(rows.T, shares.T, strict=True):
        found += share[:, None] * places[column]
    return found.astype(np.float32)


@compiled(fastmath=REORDER)
def _distances(Z: Floats, near: Ints) -> Floats:
    """Distance of each row from its neighbours."""
    found = np.empty(near.shape)
    for i in range(near.shape[0]):
        for place in range(near.shape[1]):
            total = 0.0
            for axis in range(Z.shape[1]):
                difference = Z[i, axis] - Z[near[i, place], axis]
                total += difference * difference
            found[i, place] = np.sqrt(total)
    return found


@compiled(fastmath=REORDER)
def _descend(
    places: Places,
    starts: NDArray[np.int32],
    ends: NDArray[np.int32],
    weights: NDArray[np.float32],
    step: np.float32,
    seed: np.uint64,
) -> None:
    """Go along every edge, as often as its weight says; one thread, so that the order is known."""
    n = len(places)
    one, two, least = np.float32(1.0), np.float32(2.0), np.float32(1e-3)
    part = np.float32(1.0 / 2147483648.0)
    factor, more = np.uint64(6364136223846793005), np.uint64(1442695040888963407)
    state = (seed * factor + more) * factor + more
    for i in range(n):
        x, y = places[i, 0], places[i, 1]
        for edge in range(starts[i], starts[i + 1]):
            state = state * factor + more
            if np.float32(state >> np.uint64(33)) * part >= weights[edge]:
                continue
            j = ends[edge]
            dx, dy = x - places[j, 0], y - places[j, 1]
            pull = two * _CURVE / (one + _CURVE * (dx * dx + dy * dy))
            move_x = step * max(-_LONGEST, min(_LONGEST, pull * dx))
            move_y = step * max(-_LONGEST, min(_LONGEST, pull * dy))
            x -= move_x
            y -= move_y
            places[j, 0] += move_x
            places[j, 1] += move_y
            for _ in range(_REPELLING):
                state = state * factor + more
                k = np.int64(((state >> np.uint64(33)) * np.uint64(n)) >> np.uint64(31))
                if k == i:
                    continue
                dx, dy = x - places[k, 0], y - places[k, 1]
                squared = dx * dx + dy * dy
                push = two / ((least + squared) * (one + _CURVE * squared))
                x += step * max(-_LONGEST, min(_LONGEST, push * dx))
                y += step * max(-_LONGEST, min(_LONGEST, push * dy))
        places[i, 0], places[i, 1] = x, y
