"""The few smallest numbers of every row of a matrix: loops that are compiled.

Most numbers of a row are told from its smallest ones by comparisons alone. Minima of groups of
numbers vectorise, as does their order over many rows at once; and the K-th smallest minimum bounds
the K-th smallest number, which leaves hardly more than K of them to look at.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin.rows.parallel import compiled

# Numbers of a row that have one minimum, and such minima of which the least has a say in the bound.
CHUNK = 8
_GROUP = 4
# Groups for each of the numbers to be found: with these, a bound has one or two more below it.
_GROUPS_EACH = 3


@compiled(fastmath={"nnan", "nsz"})
def _least_of_eight(values: Any, minima: Any) -> None:
    """Minima of numbers as far apart as there are minima."""
    n = minima.shape[0]
    a, b, c, d = values[:n], values[n : 2 * n], values[2 * n : 3 * n], values[3 * n : 4 * n]
    values = values[4 * n :]
    e, f, g, h = values[:n], values[n : 2 * n], values[2 * n : 3 * n], values[3 * n : 4 * n]
    for j in range(n):
        first = min(min(a[j], b[j]), min(c[j], d[j]))
        minima[j] = min(first, min(min(e[j], f[j]), min(g[j], h[j])))


@compiled(fastmath={"nnan", "nsz"})
def _least_of_four(values: Any, minima: Any) -> None:
    """The same of four numbers each."""
    n = minima.shape[0]
    a, b, c, d = values[:n], values[n : 2 * n], values[2 * n : 3 * n], values[3 * n : 4 * n]
    for j in range(n):
        minima[j] = min(min(a[j], b[j]), min(c[j], d[j]))


@compiled(fastmath={"nnan", "nsz"})
def _put_in_order(low: Any, high: Any) -> None:
    """Swap the entries of two arrays where they are in the wrong order."""
    for i in range(low.shape[0]):
        less, more = min(low[i], high[i]), max(low[i], high[i])
        low[i], high[i] = less, more


@compiled()
def bound_smallest(values: Any, minima: Any, lowest: Any) -> None:
    """Bounds of the K-th smallest number of each row, from above.

    Parameters
    ----------
    values : ndarray of shape (n, m)
    minima : ndarray of shape (n, m // 8), written
        Of the chunks of every row, see :func:`find_below`.
    lowest : ndarray of shape (K, n), written
        The last of its rows are the bounds, infinite where m is too small for any.
    """
    k, chunks = lowest.shape[0], minima.shape[1]
    grouped = chunks // _GROUP >= _GROUPS_EACH * k
    n_groups = chunks // _GROUP if grouped else chunks
    groups, own = np.empty((n_groups, len(values)), values.dtype), np.empty(n_groups, values.dtype)
    for i in range(len(values)):
        _least_of_eight(values[i], minima[i])
        if grouped:
            _least_of_four(minima[i], own)
        else:
            own[:] = minima[i]
        for c in range(n_groups):
            groups[c, i] = own[c]
    lowest[:] = np.inf
    for c in range(n_groups):
        for a in range(k):
            _put_in_order(lowest[a], groups[c])


@compiled()
def find_below(values: Any, minima: Any, bound: Any, chunks: Any, found: Any) -> Any:
    """Positions of the numbers of a row that are no larger than a bound, in no order.

    Parameters
    ----------
    values : ndarray of shape (m,)
    minima : ndarray of shape (m // 8,)
        Of chunks: the first is of every (m // 8)-th number, from the first on.
    bound : float
    chunks : int ndarray of shape (m // 8 + 1,)
        Scratch.
    found : int ndarray of shape (m + 1,), written

    Returns
    -------
    int
        How many there are.
    """
    step = minima.shape[0]
    n_chunks = n_found = 0
    # What is no hit will be overwritten: there is no branch to guess.
    for c in range(step):
        chunks[n_chunks] = c
        n_chunks += minima[c] <= bound
    for c in range(n_chunks):
        for t in range(CHUNK):
            j = chunks[c] + t * step
            found[n_found] = j
            n_found += values[j] <= bound
    for j in range(CHUNK * step, values.shape[0]):
        found[n_found] = j
        n_found += values[j] <= bound
    return n_found


@compiled(fastmath={"nnan", "nsz"})
def _chunk_minima(values: Any, minima: Any) -> None:
    for c in range(minima.shape[0]):
        lowest = values[c * CHUNK]
        for t in range(1, CHUNK):
            lowest = min(lowest, values[c * CHUNK + t])
        minima[c] = lowest


@compiled()
def insert(value: Any, position: int, positions: Any, smallest: Any) -> None:
    """Merge a value below the last into the sorted list of the K smallest, behind equal ones."""
    place = smallest.shape[0] - 1
    while place > 0 and smallest[place - 1] > value:
        smallest[place] = smallest[place - 1]
        positions[place] = positions[place - 1]
        place -= 1
    smallest[place] = value
    positions[place] = position


@compiled()
def _insert_smaller(values: Any, start: int, stop: int, positions: Any, smallest: Any) -> None:
    """Merge ``values[start:stop]`` into the sorted list of the K smallest seen so far."""
    last = smallest.shape[0] - 1
    for j in range(start, stop):
        if values[j] < smallest[last]:
            insert(values[j], j, positions, smallest)


@compiled()
def find_smallest(values: Any, positions: Any, smallest: Any, minima: Any) -> None:
    """Positions of the K smallest values, in increasing order, ties by position.

    The K-th smallest of the chunks' minima bounds the K-th smallest value, so only about K
    chunks need a closer look; the minima themselves vectorise.
    """
    chunks = minima.shape[0]
    _chunk_minima(values, minima)
    smallest[:] = np.inf
    positions[:] = 0
    _insert_smaller(minima, 0, chunks, positions, smallest)
    bound = smallest[smallest.shape[0] - 1]
    smallest[:] = np.inf
    for c in range(chunks):
        if minima[c] <= bound:
            _insert_smaller(values, c * CHUNK, (c + 1) * CHUNK, positions, smallest)
    _insert_smaller(values, chunks * CHUNK, values.shape[0], positions, smallest)
