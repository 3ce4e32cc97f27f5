r"""Nearest rows, rows within a radius, and groups of near rows, in Euclidean distance.

Fast searches take :math:`\|a - b\|^2 = \|a\|^2 - 2 a^\top b + \|b\|^2`, which rounds worst where
rows are close. Here it only proposes rows; distances are those of the differences, as the learners'
own, and where rounding could matter more rows are looked at. So the results do not depend on the
order of a sum, and of equally near rows the one with the lower number comes first.
"""

from __future__ import annotations

from contextlib import nullcontext
from typing import Any, Literal, NamedTuple, TypeAlias

import numpy as np
from scipy.sparse.csgraph import connected_components
from sklearn import config_context
from sklearn.cluster import KMeans
from sklearn.metrics.pairwise import euclidean_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state

from nearkin._types import DOUBLE_BYTES, Doubles, Floats, Integers, Ints, Mask
from nearkin.messages import mute_third_party
from nearkin.pairs.closure import build_graph, draw_numbers, number_by_appearance
from nearkin.rows.distances import centre, middle, rowwise_distances, squared_lengths
from nearkin.rows.parallel import (
    REORDER,
    compiled,
    one_blas_thread,
    one_thread,
    rows_per_block,
    run_in_blocks,
    split_range,
)
from nearkin.rows.sparse import is_sparse, to_dense

# Megabytes for a block of distances; of sparse rows a search holds the block three times over.
SEARCH_MEMORY = 256
# Rows looked at beyond those asked for; times as many where these do not do. Chosen by hand.
_SPARE, _WIDER = 8, 8
# Rounding of a product of rows, in units in the last position for each column and some more, and of
# distances; of the step between rows of a group; and columns more of sums in float32.
_PRODUCT_ROUNDING, _MORE_ROUNDINGS, _DISTANCE_ROUNDING = 8, 4, 8
_STEP_ROUNDING, _MORE_COLUMNS = 4, 8
# Arrays of their input's size that blocks of differences, and products with means, take.
_DIFFERENCES, _PRODUCTS = 3, 4
# Sizes of blocks were chosen by hand, by time and memory on a few cores.
# Numbers in a block of results, rows of a tile of distances, and queries within a radius at once.
_BLOCK_SIZE = 2**20
_TILE_ROWS, _TILE_COLUMNS = 1024, 2048
_QUERIES = 256
# Cells coded and queries answered at a time: of these at least so many, or this share of all.
_CELLS, _CODE_QUERIES, _CODE_PARTS = 32, 32, 64
# Codes are whole numbers of one byte.
_LARGEST_CODE = 127.0
# Estimates are sums in float32: so much they may be wrong beside the error, as a share of what is
# summed up and, should squares vanish, at least.
_ROUNDING, _VANISHING = float(np.finfo(np.float32).eps), 1e-18
# From so far a query, in squared units of a cell, all rows are looked at: float32 overflows.
_FAR = 1e30
# Rows of a tile; the last of a cell has fewer.
_TILE = 128
# Rows that can wait for a closer look, for each of those asked for: most turn out not to need one.
_WAITING = 64
# Rows that k-means sees for each cell, and its rounds: more would not spare cells.
_TRAINING, _ROUNDS = 16, 5
# Rows that a thread takes at a time.
_ROWS = 4096
SearchMode: TypeAlias = Literal["auto", "exact", "approximate"]
SEARCH_MODES = ("auto", "exact", "approximate")
# Rows that the number of cells to look into is measured on. Chosen by hand.
_SAMPLE = 200
# Rows that are kept beyond those asked for, since sums are rounded otherwise here.
_CELL_SPARE = 2
# Queries whose cells are found at a time, and those of one thread.
_CELL_QUERIES, _BLOCK = 16384, 256
# Every row's neighbours: from this many rows on "auto" is approximate, the share of them that is to
# be found, and the share of all cells up to which these are faster than products of matrices.
# Chosen by hand, by the time of KernelA and GeometryAware at 100 000 rows.
_MANY_ROWS, _SHARE_FOUND, _FEW_CELLS = 50_000, 0.99, 1 / 4
# Rows up to which one thread searches as fast as several. Chosen by hand.
_ONE_THREAD_ROWS = 3000
# Means are found again when there are so many times as many rows as they were found of, or when
# more new ones come to a cell than so many times what cells hold in the mean. Chosen by hand.
_GROWN, _CROWDED = 2, 4


@one_blas_thread()
def find_nearest(Z: Floats, Q: Floats, k: int, *, spare: int = _SPARE) -> tuple[Floats, Ints]:
    """Distances and row numbers, (m, k) each, of the k nearest rows of Z for each row of Q.

    Q has Z's dtype, and is sparse if Z is. ``spare`` is how many more rows are compared exactly.
    O(m n q) time; memory beyond the result: some 100 MB.
    """
    n, m = Z.shape[0], Q.shape[0]
    wide = min(n, k + spare)
    near_Z, near_Q = _move_near_zero(Z, Q)
    search = NearestNeighbors(algorithm="brute").fit(near_Z)
    distances, rows = np.empty((m, k), dtype=Z.dtype), np.empty((m, k), dtype=np.int64)
    reach = squared_lengths(near_Z).max()
    for part in split_range(m, max(1, _BLOCK_SIZE // wide)):
        found = search.kneighbors(near_Q[part], wide, return_distance=False)
        exact, order = rank_by_distance(Z, Q[part], found)
        distances[part], rows[part] = exact[:, :k], order[:, :k]
        if wide == n:
            continue
        # Rows that were not looked at may be nearer than the last of these, but no more than this.
        last, farthest = exact[:, k - 1] ** 2, exact[:, -1] ** 2
        error = _bound_rounding(Z, squared_lengths(near_Q[part]) + reach, farthest)
        unsure = part.start + np.flatnonzero(last >= farthest - error)
        if len(unsure):
            distances[unsure], rows[unsure] = find_nearest(Z, Q[unsure], k, spare=_WIDER * spare)
    return distances, rows


def rank_by_distance(Z: Floats, Q: Floats, found: Ints) -> tuple[Doubles, Ints]:
    """Sort candidate rows (m, k), −1 for none, by exact distance and number: distances and rows."""
    m, k = found.shape
    if is_sparse(Z):
        exact = rowwise_distances(Q, Z, np.repeat(np.arange(m), k), found.ravel()).reshape(m, k)
    else:
        squared = np.empty(found.shape)

        def measure_block(some: slice) -> None:
            difference = np.subtract(Z[found[some]], Q[some, None], dtype=np.float64)
            np.sum(difference * difference, axis=2, out=squared[some])

        bytes_per_row = _DIFFERENCES * DOUBLE_BYTES * k * Z.shape[1]
        run_in_blocks(measure_block, m, rows_per_block(bytes_per_row))
        exact = np.sqrt(squared)
    exact[found < 0] = np.inf
    order = np.lexsort((found, exact))
    query = np.arange(m)[:, None]
    return exact[query, order], found[query, order]


def drop_itself(distances: Floats, rows: Ints, start: int = 0) -> tuple[Floats, Ints]:
    """Drop row ``start + i`` from the i-th list of nearest rows: distances and rows (n, k − 1)."""
    others = mark_others(rows, np.arange(start, start + len(rows)))
    shape = (len(rows), rows.shape[1] - 1)
    return distances[others].reshape(shape), rows[others].reshape(shape)


def mark_others(rows: Ints, numbers: Ints) -> Mask:
    """Mark the entries of lists (m, k) of nearest rows that are not the row itself.

    Where equal rows stand before the row itself, the last of all is left out.
    """
    others: Mask = rows != numbers[:, None]
    others[others.all(axis=1), -1] = False
    return others


@one_blas_thread()
def find_within(Z: Floats, Q: Floats, radius: float) -> tuple[list[Floats], list[Ints]]:
    """Distances and numbers, lists of m arrays, of all rows of Z within ``radius`` of each of Q.

    The nearest come first. O(m n q) time; memory for what is found.
    """
    near_Z, near_Q = _move_near_zero(Z, Q)
    search = NearestNeighbors(algorithm="brute").fit(near_Z)
    reach = squared_lengths(near_Z).max()
    distances: list[Floats] = []
    rows: list[Ints] = []
    for part in split_range(Q.shape[0], _QUERIES):
        some = near_Q[part]
        band = _bound_rounding(Z, reach + squared_lengths(some).max(), radius**2)
        found = search.radius_neighbors(some, np.sqrt(radius**2 + band), return_distance=False)
        query, row = np.repeat(np.arange(len(found)), list(map(len, found))), np.concatenate(found)
        exact = rowwise_distances(Q[part], Z, query, row)
        order = np.lexsort((row, exact, query))
        order = order[exact[order].astype(Z.dtype) <= radius]
        ends = np.cumsum(np.bincount(query[order], minlength=len(found)))[:-1]
        distances += np.split(exact[order].astype(Z.dtype), ends)
        rows += np.split(row[order], ends)
    return distances, rows


def group_within(Z: Floats, radius: float) -> Ints:
    """Group (n,) of each row: steps no longer than ``radius`` connect the rows of a group.

    Groups are numbered in the order of their first rows. O(n² q) time at most: rows are sorted
    along the widest column, and those too far apart there are not compared, nor those of a large
    group once it is known. Memory: a copy of Z, some 100 bytes for each row, and 200 MB, however
    many pairs are near: the pairs of a tile are contracted to a spanning forest at once, and the
    forests of tiles to groups whenever they have more edges than there are rows.
    """
    n = Z.shape[0]
    widest = np.argmax(to_dense(Z.max(axis=0) - Z.min(axis=0)))
    key = to_dense(Z[:, [widest]]).ravel()
    order = np.argsort(key, kind="stable")
    Z, key = Z[order], key[order].astype(np.float64)
    step = radius * (1 + _STEP_ROUNDING * np.finfo(Z.dtype).eps)
    labels = np.arange(n)
    pending, n_pending = [np.empty((0, 2), dtype=np.int64)], 0
    for rows in split_range(n, _TILE_ROWS):
        end = int(np.searchsorted(key, key[rows.stop - 1] + step, side="right"))
        for tile in split_range(end - rows.start, _TILE_COLUMNS):
            columns = slice(rows.start + tile.start, rows.start + tile.stop)
            for some, others in _split_tile(labels, rows, columns):
                first, second = _find_near_pairs(Z[some], Z[others], radius)
                edges = _reduce_to_forest(labels[some], labels[others], first, second)
                pending.append(edges)
                n_pending += len(edges)
            if n_pending > n:
                labels = merge_labels(labels, np.concatenate(pending))
                pending, n_pending = [np.empty((0, 2), dtype=np.int64)], 0
    in_order = np.empty(n, dtype=np.int64)
    in_order[order] = merge_labels(labels, np.concatenate(pending))
    return number_by_appearance(in_order)


def _split_tile(labels: Ints, rows: slice, columns: slice) -> list[tuple[Ints, Ints]]:
    """Rows and columns of a tile to compare, but no group of most of its rows with itself."""
    some, others = np.arange(rows.start, rows.stop), np.arange(columns.start, columns.stop)
    groups, counts = np.unique(labels[rows], return_counts=True)
    if 2 * counts.max() <= len(some):
        return [(some, others)]
    largest = groups[counts.argmax()]
    inside = labels[some] == largest
    parts = [(some[inside], others[labels[others] != largest]), (some[~inside], others)]
    return [part for part in parts if len(part[0]) and len(part[1])]


def merge_labels(labels: Ints, edges: Ints) -> Ints:
    """Group labels (n,) after the groups that ``edges`` (e, 2) connect have been merged."""
    n = int(labels.max()) + 1
    merged = connected_components(build_graph(edges, n), directed=False)[1]
    return np.asarray(merged[labels], dtype=np.int64)


def _find_near_pairs(A: Floats, B: Floats, radius: float) -> tuple[Ints, Ints]:
    """Positions in A and positions in B of all pairs of rows no farther apart than ``radius``."""
    near_B, near_A = (rows.astype(np.float64, copy=False) for rows in _move_near_zero(B, A))
    squared = euclidean_distances(near_A, near_B, squared=True)
    reach = squared_lengths(near_A).max() + squared_lengths(near_B).max()
    band = _bound_rounding(A, reach, radius**2)
    first, second = np.nonzero(squared <= radius**2 + band)
    near = squared[first, second] < radius**2 - band
    close_call = np.flatnonzero(~near)
    exact = rowwise_distances(A, B, first[close_call], second[close_call])
    near[close_call] = exact.astype(A.dtype) <= radius
    return first[near], second[near]


def _reduce_to_forest(labels_a: Ints, labels_b: Ints, first: Ints, second: Ints) -> Ints:
    """Edges (e, 2) between labels that connect what near pairs do: a spanning forest."""
    new = labels_a[first] != labels_b[second]
    if not new.any():
        return np.empty((0, 2), dtype=np.int64)
    labels = np.concatenate([labels_a, labels_b])
    edges = np.column_stack([first[new], len(labels_a) + second[new]])
    group = merge_labels(np.arange(len(labels)), edges)
    roots = np.unique(group, return_index=True)[1][group]
    found = np.column_stack([labels, labels[roots]])
    return np.asarray(found[found[:, 0] != found[:, 1]])


def _move_near_zero(Z: Floats, Q: Floats) -> tuple[Floats, Floats]:
    """Move both sets of rows near zero, in float64, if Z is so far off that squares lose digits."""
    origin = middle(Z, if_far=True)
    if not origin.any():
        return Z, Q
    return centre(Z.astype(np.float64), origin), centre(Q.astype(np.float64), origin)


def _bound_rounding(Z: Floats, squared_norms: Any, squared: Any) -> Any:
    """Bound by how much squared distances from a product differ from rounded exact ones."""
    of_product = _PRODUCT_ROUNDING * (Z.shape[1] + _MORE_ROUNDINGS) * np.finfo(np.float64).eps
    return of_product * squared_norms + _DISTANCE_ROUNDING * np.finfo(Z.dtype).eps * squared


# ---- Rows of cells, coded in one byte a number


class CellCodes(NamedTuple):
    """n rows of c cells, coded in one byte a number, less the cell's centre and in its unit."""

    order: Ints  # row numbers, those of the first cell first
    starts: Ints  # cell i has positions starts[i] to starts[i + 1]
    centers: Doubles  # (c, q)
    units: Doubles  # largest difference, in any column, of a cell's rows from its centre
    steps: Any  # (c, q): codes times these are what they stand for
    errors: Doubles  # largest distance of a cell's rows from what their codes stand for
    radii: Doubles  # largest distance of the latter from the centre
    lengths: Any  # (n,), all of these distances squared
    codes: Any  # (n q,): those of a tile follow one another, column by column


def encode_cells(Z: Floats, cell: Ints, centers: Doubles) -> CellCodes:
    """Encode C-contiguous rows in one byte a number, around their cells' centres, in O(n q)."""
    n_cells, q = centers.shape
    order = np.argsort(cell, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(cell, minlength=n_cells))])
    units, errors, radii = (np.empty(n_cells) for _ in range(3))
    steps = np.empty((n_cells, q), dtype=np.float32)
    lengths = np.empty(len(Z), dtype=np.float32)
    codes = np.empty(Z.size, dtype=np.int8)
    found = order, starts, centers, units, steps, errors, radii, lengths, codes
    Z = readonly_view(Z)
    run_in_blocks(lambda some: _encode(some.start, some.stop, Z, found), n_cells, _CELLS)
    return CellCodes(*found)


def scan_cells(cells: CellCodes, Z: Floats, Q: Floats, probes: Ints, k: int) -> Ints:
    """Numbers (m, k) of the nearest rows among those of each query's cells; −1 for none.

    Z and Q are C-contiguous. ``probes`` (m, p) are each query's cells, the nearest first; queries
    with the same cells should follow one another. Of equally far rows the first comes first.
    """
    rows = np.full((len(Q), k), -1)
    Z, Q, fields = readonly_view(Z), readonly_view(Q), tuple(cells)
    size = max(_CODE_QUERIES, len(Q) // _CODE_PARTS)
    run_in_blocks(lambda some: _scan(fields, Z, Q[some], probes[some], rows[some]), len(Q), size)
    return rows


def readonly_view(array: Any) -> Any:
    """View an array read-only, so that loops are compiled for one kind of array only."""
    view = array.view()
    view.flags.writeable = False
    return view


@compiled(fastmath=REORDER)
def _encode(first: int, last: int, Z: Any, cells: Any) -> None:
    """Write the codes of cells ``first`` to ``last``, given the fields of :class:`CellCodes`."""
    order, starts, centers, units, steps, errors, radii, lengths, codes = cells
    q = Z.shape[1]
    largest = np.empty(q)
    for cell in range(first, last):
        start, n = starts[cell], starts[cell + 1] - starts[cell]
        largest[:] = 0.0
        for i in range(n):
            for c in range(q):
                largest[c] = max(largest[c], abs(Z[order[start + i], c] - centers[cell, c]))
        unit = largest.max()
        units[cell] = unit = unit if unit > 0.0 else 1.0
        for c in range(q):
            steps[cell, c] = largest[c] / unit / _LARGEST_CODE
        error, radius = 0.0, 0.0
        for i in range(n):
            missed, length = 0.0, 0.0
            for c in range(q):
                difference = (Z[order[start + i], c] - centers[cell, c]) / unit
                step = np.float64(steps[cell, c])
                code = np.rint(difference / step) if step > 0.0 else 0.0
                code = min(max(code, -_LARGEST_CODE), _LARGEST_CODE)
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
    """Add products of factors with n encoded rows to ``totals``, four columns at a time."""
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
    """Merge n candidate rows into the best by exact distance; return the k-th best distance."""
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
    """Insert a value into the sorted k smallest, in position; return the largest of them."""
    j = len(smallest) - 1
    if value < smallest[j]:
        while j > 0 and smallest[j - 1] > value:
            smallest[j] = smallest[j - 1]
            j -= 1
        smallest[j] = value
    return smallest[-1]


@compiled(fastmath=REORDER)
def _scan(cells: Any, Z: Any, Q: Any, probes: Any, rows: Any) -> None:
    """Write the nearest rows of the cells in ``probes`` for each query."""
    order, starts, centers, units, steps, errors, radii, lengths, codes = cells
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
                difference = (Q[i, c] - centers[cell, c]) / unit
                factors[c] = -2.0 * difference * steps[cell, c]
                reach += difference * difference
            slack = errors[cell] + _VANISHING if reach < _FAR else np.inf
            rounding = (q + _MORE_COLUMNS) * _ROUNDING * (np.sqrt(reach) + radii[cell]) ** 2
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


# ---- Means of cells


def find_cell_means(Z: Floats, origin: Floats, n_cells: int, rng: np.random.RandomState) -> Floats:
    """Means of at most ``n_cells`` groups of rows by k-means, less the origin, in path order."""
    sample = draw_numbers(len(Z), min(len(Z), _TRAINING * n_cells), rng)
    means = KMeans(n_cells, init="random", n_init=1, max_iter=_ROUNDS, random_state=rng)
    # On several cores its sums, and so the cells, would differ from time to time.
    # scikit-learn warns of fewer distinct rows than cells: what is nearest to no row is left out.
    with mute_third_party(), one_thread():
        means.fit(centre(Z[sample], origin))
    found = means.cluster_centers_.astype(Z.dtype)
    return np.asarray(found[order_along_path(found)])


def order_along_path(centers: Floats) -> Ints:
    """Order of centres in which most follow a near one, by halving along the widest column."""
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


def assign_to_means(Z: Floats, origin: Floats, means: Floats) -> Ints:
    """Number (n,) of the mean nearest to each row, up to rounding of a product in Z's dtype.

    O(n c q) time for c means; memory beyond the result: some megabytes.
    """
    sides = np.column_stack([means, squared_lengths(means) / -2]).astype(Z.dtype).T
    found = np.empty(len(Z), dtype=np.int64)
    some_rows = rows_per_block(_PRODUCTS * Z.itemsize * len(means))

    def assign_block(part: slice) -> None:
        near = centre(Z[part], origin)
        near = np.column_stack([near, np.ones(len(near), dtype=Z.dtype)])
        for some in split_range(len(near), some_rows):
            found[part][some] = (near[some] @ sides).argmax(axis=1)

    run_in_blocks(assign_block, len(Z), _ROWS)
    return found


@compiled(fastmath=REORDER)
def find_nearest_means(columns: Any, Q: Any, nearest: Any) -> None:
    """Write the numbers of the means, which are columns, nearest to each query, nearest first."""
    last = nearest.shape[1] - 1
    squared = np.empty(columns.shape[1], dtype=columns.dtype)
    best = np.empty(last + 1, dtype=columns.dtype)
    for i in range(len(Q)):
        squared[:] = 0.0
        for c in range(columns.shape[0]):
            column, wanted = columns[c], Q[i, c]
            for mean in range(len(squared)):
                difference = wanted - column[mean]
                squared[mean] += difference * difference
        best[:] = np.inf
        for mean in range(len(squared)):
            if squared[mean] < best[last] or mean <= last:
                j = min(mean, last)
                while j > 0 and best[j - 1] > squared[mean]:
                    best[j], nearest[i, j] = best[j - 1], nearest[i, j - 1]
                    j -= 1
                best[j], nearest[i, j] = squared[mean], mean


# ---- Approximate search


class CellIndex:
    """Index of rows in cells, for approximate search of nearest neighbours.

    ``target_recall`` is the share of the true neighbours to be found. ``Z`` holds the rows, which
    can be put elsewhere in memory. If an ``earlier`` index of the first rows of Z is given and
    still suits, its means are used, which saves most of the work.

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
        earlier: CellIndex | None = None,
    ) -> None:
        self.Z = Z = np.ascontiguousarray(Z)
        self.n_rows = n = len(Z)
        cell = None if earlier is None else self._assign_to_earlier(earlier)
        if cell is None:
            self._n_means_rows = n
            self._origin = middle(Z, if_far=True)
            n_cells = max(1, min(n // 2, round(2 * n**0.5)))
            self._means = find_cell_means(Z, self._origin, n_cells, rng)
            cell = assign_to_means(Z, self._origin, self._means)
        filled, cell = np.unique(cell, return_inverse=True)
        self.n_cells, self._means = len(filled), self._means[filled]
        self._columns = readonly_view(np.ascontiguousarray(self._means.T))
        self.codes = encode_cells(Z, cell, self._origin + self._means)
        self._sample = draw_numbers(n, min(n, _SAMPLE), rng)
        self._target_recall = target_recall
        self._n_probes: dict[int, int] = {}

    def _assign_to_earlier(self, earlier: CellIndex) -> Ints | None:
        """Cells (n,) of rows by an earlier index's means; None if these no longer suit."""
        n, means = self.n_rows, earlier._means
        if earlier.Z.dtype != self.Z.dtype or n > _GROWN * earlier._n_means_rows:
            return None
        later = assign_to_means(self.Z[earlier.n_rows :], earlier._origin, means)
        if np.bincount(later).max() > _CROWDED * n / len(means):
            return None
        self._n_means_rows, self._origin = earlier._n_means_rows, earlier._origin
        self._means = means
        return np.concatenate([earlier._cell_of_rows(), later])

    def _cell_of_rows(self) -> Ints:
        """Cell number (n,) of each row."""
        cell = np.empty(self.n_rows, dtype=np.int64)
        cell[self.codes.order] = np.repeat(np.arange(self.n_cells), np.diff(self.codes.starts))
        return cell

    def n_probes(self, k: int) -> int:
        """Number of cells that a query for k neighbours searches.

        As many as hold the target's share of the neighbours of a sample, the rows themselves left
        out. It is measured once for every power of two.
        """
        k = min(1 << (k - 1).bit_length(), self.n_rows - 1)
        if k not in self._n_probes:
            Q = self.Z[self._sample]
            _, true = find_nearest(self.Z, Q, k + 1)
            by_distance = self._nearest_cells(Q, self.n_cells)
            cells = self._cell_of_rows()[true[:, 1:]]
            position = np.take_along_axis(np.argsort(by_distance, axis=1), cells, axis=1)
            last = np.quantile(position, self._target_recall, method="inverted_cdf")
            self._n_probes[k] = 1 + int(last)
        return self._n_probes[k]

    def _nearest_cells(self, Q: Floats, n_probes: int) -> Ints:
        """Numbers (m, n_probes) of the cells nearest to each query, the nearest first."""
        queries = readonly_view(np.ascontiguousarray(centre(Q, self._origin)))
        found = np.empty((len(Q), n_probes), dtype=np.int64)
        run_in_blocks(
            lambda some: find_nearest_means(self._columns, queries[some], found[some]),
            len(Q),
            _BLOCK,
        )
        return found

    def propose(self, Q: Floats, k: int, *, spare: int = 0) -> Ints:
        """Numbers (m, k + spare) of probably nearest rows; −1 where a query's cells hold fewer."""
        n_probes, wide = self.n_probes(k), min(self.n_rows, k + spare)
        found = np.empty((len(Q), wide), dtype=np.int64)
        for part in split_range(len(Q), _CELL_QUERIES):
            probes = self._nearest_cells(Q[part], n_probes)
            # Queries that look into the same cells follow one another: these stay in the cache.
            order = np.argsort(probes[:, 0], kind="stable")
            rows = scan_cells(self.codes, self.Z, Q[part][order], probes[order], wide)
            found[part.start + order] = rows
        return found


def find_nearest_by_cells(cells: CellIndex, Z: Floats, Q: Floats, k: int) -> tuple[Floats, Ints]:
    """Distances and numbers, (m, k) each, of nearly all of the k nearest rows of Z for each of Q.

    The cells are of the first rows of Z; those that came later are all looked at.
    """
    if 2 * cells.n_probes(k) > cells.n_cells:
        return find_nearest(Z, Q, k)
    found = cells.propose(Q, k, spare=_CELL_SPARE)
    later = Z[cells.n_rows :]
    if len(later):
        rows = find_nearest(later, Q, min(k, len(later)))[1]
        found = np.hstack([found, cells.n_rows + rows])
    if found.shape[1] < k:
        return find_nearest(Z, Q, k)
    exact, rows = rank_by_distance(Z, Q, found)
    distances, rows = exact[:, :k].astype(Z.dtype), rows[:, :k]
    short = np.flatnonzero(rows[:, -1] < 0)
    if len(short):
        distances[short], rows[short] = find_nearest(Z, Q[short], k)
    return distances, rows


@one_blas_thread()
def find_nearest_others(
    X: Any, k: int, *, search: SearchMode = "auto", random_state: Any = None
) -> Integers:
    """Row numbers (n, k) of the k nearest others of every row of X, which is not far from zero.

    ``"auto"`` is exact below 50 000 rows, and sparse rows are compared with all in any case; the
    approximate search compares rows of near cells only, and finds 99 of 100.

    O(n² d) time, or O(n √n d) for rows with some structure. Memory beyond the result: blocks of
    rows against rows below 1 GB, far below if dense; for cells, a byte for each number of X.
    """
    n = X.shape[0]
    wanted = search == "approximate" or (search == "auto" and n >= _MANY_ROWS)
    if wanted and not is_sparse(X):
        cells = CellIndex(X, _SHARE_FOUND, check_random_state(random_state))
        if cells.n_probes(k + 1) <= _FEW_CELLS * cells.n_cells:
            found = np.empty((n, k), dtype=np.int64)
            for part in split_range(n, _CELL_QUERIES):
                some = cells.codes.order[part]
                rows = cells.propose(X[some], k + 1)
                short = np.flatnonzero(rows[:, -1] < 0)
                if len(short):
                    rows[short] = find_nearest(X, X[some[short]], k + 1)[1]
                found[some] = rows[mark_others(rows, some)].reshape(-1, k)
            return found
    index = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X)
    # Where cores are busy, threads wait for each other longer than a search of few rows takes.
    alone = one_thread() if n <= _ONE_THREAD_ROWS else nullcontext()
    with alone, config_context(working_memory=SEARCH_MEMORY):
        return np.asarray(index.kneighbors(return_distance=False))
