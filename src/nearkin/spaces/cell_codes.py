r"""Rows of cells in one byte a number: distances are estimated, and taken exactly of few rows.

A row z of the cell around c is stored as whole numbers from −127 to 127, one for each column, of a
step that the cell has for this column. What they stand for is no farther from z than the cell's
*error* e, the largest of its rows'. So the estimated distance from a query is within e of the true
one, and a row needs a closer look only if its estimate is within 2 e of the k-th best. What is
found is what exact distances from all rows of the cells would find.

Estimates are :math:`\|q - c\|^2 + \|z\|^2 - 2 (q - c)^\top z`, with z as its code has it, which
takes one product for each number. How far that is rounded is known, too.

Rows lie in tiles. In a tile numbers of one column follow one another, so that a loop over rows
takes many of them at a time; and tile after tile, memory is read from one end to the other.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from nearkin._types import Doubles, Floats, Ints
from nearkin.rows.parallel import REORDER, compiled, for_each_block

# Cells that are coded, and queries that are answered, at a time: at least so many of these.
_CELLS, _CODE_QUERIES = 32, 32
# Estimates are sums in float32: so much they may be wrong beside the error, as a share of what is
# summed up and, should squares vanish, at least.
_ROUNDING, _VANISHING = float(np.finfo(np.float32).eps), 1e-18
# From a query so far away, in squared units of the cell, all rows are looked at closely: squares
# would not be finite in float32.
_FAR = 1e30
# Rows of a tile; the last of a cell has fewer.
_TILE = 128
# Rows that can wait for a closer look, for each of those asked for: most turn out not to need one.
_WAITING = 64


class CellCodes(NamedTuple):
    """Rows, cell by cell.

    Attributes
    ----------
    order : int ndarray of shape (n,)
        Numbers of the rows, those of the first cell first, ascending within a cell.
    starts : int ndarray of shape (c + 1,)
        Rows of cell i are at positions ``starts[i]`` to ``starts[i + 1]``.
    places : float64 ndarray of shape (c, q)
        Where the cells are.
    units : ndarray of shape (c,)
        Largest difference, in any column, of a cell's rows from its place. All further numbers of
        a cell are in its unit.
    steps : float32 ndarray of shape (c, q)
    errors, radii : ndarray of shape (c,)
        Largest distance of a row from what its code stands for, and of that from the place.
    lengths : float32 ndarray of shape (n,)
        Squared distance from the place of what each code stands for, in the order of ``order``.
    codes : int8 ndarray of shape (n q,)
        Those of a tile follow one another, column by column.
    """

    order: Ints
    starts: Ints
    places: Doubles
    units: Doubles
    steps: Any
    errors: Doubles
    radii: Doubles
    lengths: Any
    codes: Any


def coded(Z: Floats, cell: Ints, places: Doubles) -> CellCodes:
    """Rows of Z in their cells.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        C-contiguous.
    cell : int ndarray of shape (n,)
        Cell of each row.
    places : float64 ndarray of shape (c, q)

    Notes
    -----
    O(n q) time; memory of the result: n (q + 12) bytes.
    """
    n_cells, q = places.shape
    order = np.argsort(cell, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=n_cells))])
    units, errors, radii = (np.empty(n_cells) for _ in range(3))
    steps = np.empty((n_cells, q), dtype=np.float32)
    lengths = np.empty(len(Z), dtype=np.float32)
    codes = np.empty(Z.size, dtype=np.int8)
    found = CellCodes(order, starts, places, units, steps, errors, radii, lengths, codes)

    def work(some: slice) -> None:
        _encode(some.start, some.stop, unwritable(Z), *found)

    for_each_block(work, n_cells, _CELLS)
    return found


def scanned(cells: CellCodes, Z: Floats, Q: Floats, probes: Ints, k: int) -> Ints:
    """Numbers of the k nearest rows among those of each query's cells; −1 where these have fewer.

    Parameters
    ----------
    cells : CellCodes
        Of Z.
    Z : ndarray of shape (n, q)
        C-contiguous.
    Q : ndarray of shape (m, q)
        C-contiguous. Queries with the same cells should follow one another.
    probes : int ndarray of shape (m, p)
        Cells of each query, the nearest first.
    k : int

    Returns
    -------
    int ndarray of shape (m, k)
        The nearest first; of rows equally far, the lower number.
    """
    rows = np.full((len(Q), k), -1)
    Z, Q = unwritable(Z), unwritable(Q)

    def work(some: slice) -> None:
        _scan(*cells, Z, Q[some], probes[some], rows[some])

    for_each_block(work, len(Q), max(_CODE_QUERIES, len(Q) // 64))
    return rows


def unwritable(array: Any) -> Any:
    """A view that cannot be written to: one kind of array fewer to compile for."""
    view = array.view()
    view.flags.writeable = False
    return view


@compiled(fastmath=REORDER)
def _encode(
    first: int,
    last: int,
    Z: Any,
    order: Any,
    starts: Any,
    places: Any,
    units: Any,
    steps: Any,
    errors: Any,
    radii: Any,
    lengths: Any,
    codes: Any,
) -> None:
    """Fill in what is known of cells ``first`` to ``last``."""
    q = Z.shape[1]
    largest = np.empty(q)
    for cell in range(first, last):
        start, n = starts[cell], starts[cell + 1] - starts[cell]
        largest[:] = 0.0
        for i in range(n):
            for c in range(q):
                largest[c] = max(largest[c], abs(Z[order[start + i], c] - places[cell, c]))
        unit = largest.max()
        units[cell] = unit = unit if unit > 0.0 else 1.0
        for c in range(q):
            steps[cell, c] = largest[c] / unit / 127.0
        error, radius = 0.0, 0.0
        for i in range(n):
            missed, length = 0.0, 0.0
            for c in range(q):
                difference = (Z[order[start + i], c] - places[cell, c]) / unit
                step = np.float64(steps[cell, c])
                code = np.rint(difference / step) if step > 0.0 else 0.0
                code = min(max(code, -127.0), 127.0)
                tile = i - i % _TILE
                wide = min(_TILE, n - tile)
                codes[(start + tile) * q + c * wide + i % _TILE] = np.int8(code)
                missed += (difference - step * code) ** 2
                length += (step * code) ** 2
            lengths[start + i] = length
            error, radius = max(error, missed), max(radius, length)
        errors[cell], radii[cell] = np.sqrt(error), np.sqrt(radius)


@compiled(fastmath=REORDER)
def _add_products(codes: Any, start: int, n: int, factors: Any, totals: Any) -> None:
    """Add the products of factors with the n rows of a tile, four columns at a time."""
    whole = len(factors) - len(factors) % 4
    for c in range(0, whole, 4):
        at = start + c * n
        column_a, column_b = codes[at : at + n], codes[at + n : at + 2 * n]
        column_c, column_d = codes[at + 2 * n : at + 3 * n], codes[at + 3 * n : at + 4 * n]
        factor_a, factor_b = factors[c], factors[c + 1]
        factor_c, factor_d = factors[c + 2], factors[c + 3]
        for i in range(n):
            totals[i] += (
                factor_a * np.float32(column_a[i])
                + factor_b * np.float32(column_b[i])
                + factor_c * np.float32(column_c[i])
                + factor_d * np.float32(column_d[i])
            )
    for c in range(whole, len(factors)):
        column, factor = codes[start + c * n : start + (c + 1) * n], factors[c]
        for i in range(n):
            totals[i] += factor * np.float32(column[i])


@compiled(fastmath=REORDER)
def _look_closely(
    waiting: Any, at_least: Any, n: int, bound: float, Z: Any, query: Any, exact: Any, rows: Any
) -> float:
    """Take n rows that wait among the best, by their true distances; the k-th best distance."""
    last = len(rows) - 1
    for w in range(n):
        if at_least[w] > bound:
            continue
        row, total = waiting[w], 0.0
        for c in range(len(query)):
            difference = np.float64(Z[row, c]) - np.float64(query[c])
            total += difference * difference
        if total > exact[last] or (total == exact[last] and row > rows[last] >= 0):
            continue
        j = last
        while j > 0 and (exact[j - 1] > total or (exact[j - 1] == total and rows[j - 1] > row)):
            exact[j], rows[j] = exact[j - 1], rows[j - 1]
            j -= 1
        exact[j], rows[j] = total, row
        bound = min(bound, np.sqrt(exact[last]))
    return bound


@compiled(fastmath=REORDER)
def _kth_smallest(smallest: Any, value: float) -> Any:
    """The last of the k smallest values, sorted, after one more has come."""
    j = len(smallest) - 1
    if value < smallest[j]:
        while j > 0 and smallest[j - 1] > value:
            smallest[j] = smallest[j - 1]
            j -= 1
        smallest[j] = value
    return smallest[-1]


@compiled(fastmath=REORDER)
def _scan(
    order: Any,
    starts: Any,
    places: Any,
    units: Any,
    steps: Any,
    errors: Any,
    radii: Any,
    lengths: Any,
    codes: Any,
    Z: Any,
    Q: Any,
    probes: Any,
    rows: Any,
) -> None:
    """Write the nearest rows of the cells that each query looks into."""
    q, k = Q.shape[1], rows.shape[1]
    estimates = np.empty(_TILE, dtype=np.float32)
    factors = np.empty(q, dtype=np.float32)
    waiting, at_least = np.empty(_WAITING * k, dtype=np.int64), np.empty(_WAITING * k)
    at_most, exact = np.empty(k), np.empty(k)
    for i in range(len(Q)):
        at_most[:], exact[:] = np.inf, np.inf
        n_waiting, bound = 0, np.inf
        for cell in probes[i]:
            start, n, unit = starts[cell], starts[cell + 1] - starts[cell], units[cell]
            reach = 0.0
            for c in range(q):
                difference = (Q[i, c] - places[cell, c]) / unit
                factors[c] = -2.0 * difference * steps[cell, c]
                reach += difference * difference
            slack = errors[cell] + _VANISHING if reach < _FAR else np.inf
            rounding = (q + 8) * _ROUNDING * (np.sqrt(reach) + radii[cell]) ** 2
            limit = np.float32((bound / unit + slack) ** 2 + rounding)
            for tile in range(start, start + n, _TILE):
                wide = min(_TILE, start + n - tile)
                estimates[:wide] = lengths[tile : tile + wide] + np.float32(reach)
                _add_products(codes, tile * q, wide, factors, estimates)
                for t in range(wide):
                    if estimates[t] > limit:
                        continue
                    if n_waiting == len(waiting):
                        bound = _look_closely(
                            waiting, at_least, n_waiting, bound, Z, Q[i], exact, rows[i]
                        )
                        n_waiting = 0
                    least, most = max(estimates[t] - rounding, 0.0), estimates[t] + rounding
                    waiting[n_waiting] = order[tile + t]
                    at_least[n_waiting] = (np.sqrt(least) - slack) * unit
                    n_waiting += 1
                    bound = min(bound, _kth_smallest(at_most, (np.sqrt(most) + slack) * unit))
                    limit = np.float32((bound / unit + slack) ** 2 + rounding)
        _look_closely(waiting, at_least, n_waiting, bound, Z, Q[i], exact, rows[i])
