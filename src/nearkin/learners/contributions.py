"""Which columns two rows are far apart in, under a learned metric."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import permutations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats, Ints
from nearkin.rows.parallel import blocks
from nearkin.rows.sparse import dense
from nearkin.spaces.maps import Affine, Composed, Identity, Joined, Map, Scaled, composed

# Columns of which all orders are taken.
_FEW = 4
# Orders in which columns are exchanged, at most, each of them forwards and backwards.
MOST_ORDERS = 8
# Rows on the ways from one row to the other that are enough, where an order takes many.
_ENOUGH_ROWS = 4096
# Numbers of rows that are mapped at a time.
_BLOCK = 2**21

_Moves = Callable[[Ints], Floats]


def parts_by_column(
    learned: Map, A: Floats, B: Floats, groups: NDArray[Any], orders: int = MOST_ORDERS
) -> Floats:
    r"""The part that each column has in squared distances, row by row; they sum to these.

    From a row a to a row b, columns are exchanged one after the other, and each brings its image a
    step nearer to that of b. With :math:`Δ = z(b) - z(a)`, column g has the part
    :math:`⟨Δ, z(\text{with } g) - z(\text{without } g)⟩`, in the mean over the orders in which
    columns can be exchanged: the Shapley value. Parts sum to :math:`\|Δ\|^2` in any order, are the
    same from b to a, and 0 for columns in which rows are equal. One may be negative, where a
    column makes up for others.

    Of a linear map M and :math:`δ = b - a`, all orders give :math:`\sum_{j \in g} δ_j (M^T M δ)_j`.
    Of others, all orders are taken of up to four columns that differ, and up to 16 of more.

    Parameters
    ----------
    learned : Map
    A, B : ndarray of shape (n, p)
    groups : int ndarray of shape (p,)
        Numbers of the columns that coordinates are of.
    orders : int, default=8
        Orders that are taken forwards and backwards, at most.

    Returns
    -------
    ndarray of shape (n, g)
    """
    n_groups = int(groups.max()) + 1
    matrix, rest = _linear_part(learned, A.shape[1])
    A, B = (np.asarray(rows, dtype=np.float64) for rows in (A, B))
    if rest is None:
        differences = B - A
        steps = differences * (differences @ matrix.T @ matrix)
        return np.asarray(steps @ (groups[:, None] == np.arange(n_groups)).astype(np.float64))
    pairs = zip(A, B, strict=True)
    return np.array([_parts(matrix, rest, a, b, groups, n_groups, orders) for a, b in pairs])


def shares_by_column(learned: Map, A: Floats, B: Floats, groups: NDArray[Any]) -> Floats:
    """The same as shares of the squared distances, which sum to 1; zeros where rows coincide."""
    parts = parts_by_column(learned, A, B, groups)
    whole = parts.sum(axis=1, keepdims=True)
    return np.asarray(np.divide(parts, whole, out=np.zeros_like(parts), where=whole > 0))


def _parts(
    matrix: Floats | None,
    rest: Map,
    a: Floats,
    b: Floats,
    groups: NDArray[Any],
    n_groups: int,
    most_orders: int,
) -> Floats:
    """Parts of columns in one squared distance, of a map that is not linear."""
    found = np.zeros(n_groups)
    difference = b - a
    differing = np.unique(groups[difference != 0])
    if not len(differing):
        return found
    moves = _moves(matrix, difference, groups, differing)
    ends = np.vstack([a, b]) if matrix is None else np.vstack([a, b]) @ matrix.T
    images = np.asarray(dense(rest.apply(ends)), dtype=np.float64)
    towards = images[1] - images[0]
    orders = list(_orders(len(differing), most_orders))
    ways = _heights(rest, ends[:1], moves, orders, towards)
    for order, heights in zip(orders, ways, strict=True):
        steps = [0.0, *(heights - images[0] @ towards), towards @ towards]
        found[differing[order]] += np.diff(steps)
    return found / len(orders)


def _heights(
    rest: Map, start: Floats, moves: _Moves, orders: list[Ints], towards: Floats
) -> Iterator[Floats]:
    """How far rows have come on each way from one image to the other, after all moves but one."""
    n_steps, width = len(orders[0]) - 1, start.shape[1]
    if n_steps * width > _BLOCK:
        for order in orders:
            yield _heights_of_one(rest, start, moves, order[:-1], towards)
        return
    for part in blocks(len(orders), max(1, _BLOCK // max(1, n_steps * width))):
        ways = [start + np.cumsum(moves(order[:-1]), axis=0) for order in orders[part]]
        rows = np.concatenate(ways)
        heights = dense(rest.apply(rows)) @ towards if len(rows) else np.empty(0)
        yield from np.asarray(heights, dtype=np.float64).reshape(len(ways), n_steps)


def _heights_of_one(rest: Map, at: Floats, moves: _Moves, order: Ints, towards: Floats) -> Floats:
    found = np.empty(len(order))
    for part in blocks(len(order), max(1, _BLOCK // at.shape[1])):
        rows = at + np.cumsum(moves(order[part]), axis=0)
        found[part] = dense(rest.apply(rows)) @ towards
        at = rows[-1:]
    return found


def _moves(
    matrix: Floats | None, difference: Floats, groups: NDArray[Any], differing: Ints
) -> _Moves:
    """What each of some columns moves of a row, as the map sees it after its linear part."""
    place = np.searchsorted(differing, groups)
    moving = np.flatnonzero(difference)

    def of_columns(some: Ints) -> Floats:
        at = np.full(len(differing) + 1, -1)
        at[some] = np.arange(len(some))
        taken = moving[at[place[moving]] >= 0]
        found = np.zeros((len(some), len(difference)))
        found[at[place[taken]], taken] = difference[taken]
        return found

    if matrix is None:
        return of_columns
    after = np.zeros((len(differing), len(matrix)))
    np.add.at(after, place[moving], (matrix[:, moving] * difference[moving]).T)
    return after.__getitem__


def _orders(n: int, most: int) -> Iterator[Ints]:
    """All orders of a few things; of more, random ones forwards and backwards, always the same."""
    if n <= _FEW:
        yield from map(np.array, permutations(range(n)))
        return
    rng = np.random.RandomState(0)
    for _ in range(int(np.clip(_ENOUGH_ROWS // n, 1, most))):
        order = rng.permutation(n)
        yield order
        yield order[::-1]


def _linear_part(learned: Map, n_columns: int) -> tuple[Any, Map | None]:
    """The matrix of what a map does first, and the map after that: None if all of it is linear.

    The matrix is None where nothing is linear.
    """
    whole = matrix_of(learned, n_columns)
    if whole is not None:
        return whole, None
    maps = learned.maps if isinstance(learned, Composed) else (learned,)
    first: list[Map] = []
    width = n_columns
    for one in maps:
        if isinstance(one, Affine) and one.origin is not None:
            break  # which the rows need that the rest sees
        part = matrix_of(one, width)
        if part is None:
            break
        first.append(one)
        width = len(part)
    if width >= n_columns:  # it saves nothing
        return None, learned
    return matrix_of(composed(*first), n_columns), composed(*maps[len(first) :])


def matrix_of(learned: Map, n_columns: int) -> Floats | None:
    """The matrix of a map that is linear but for where it begins, of shape (q, p), or None."""
    match learned:
        case Identity():
            return np.eye(n_columns)
        case Scaled(scale):
            return np.diag(1 / np.asarray(scale, dtype=np.float64))
        case Affine(matrix):
            return np.asarray(matrix, dtype=np.float64)
        case Composed(maps):
            whole = np.eye(n_columns)
            for one in maps:
                part = matrix_of(one, len(whole))
                if part is None:
                    return None
                whole = part @ whole
            return whole
        case Joined(maps, factors):
            parts = [matrix_of(one, n_columns) for one in maps]
            known = [f * part for f, part in zip(factors, parts, strict=True) if part is not None]
            return np.vstack(known) if len(known) == len(parts) else None
    return None
