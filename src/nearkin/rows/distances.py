"""Euclidean distances, centring against cancellation, and sums by class."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from sklearn.metrics.pairwise import euclidean_distances

from nearkin._types import Doubles, Floats, Integers
from nearkin.rows import access, backends, device_math
from nearkin.rows import sparse as sparse_rows
from nearkin.rows.backends import evenly_spaced
from nearkin.rows.sparse import is_sparse, squared_norms

# Entries of prepared rows are at most so large, whatever the data: squares must not overflow.
FAR = 1e15


def linked_distances(Z: Floats, links: NDArray[np.integer]) -> NDArray[np.float64]:
    """Euclidean distance (n,) between the two rows of Z that each of n links (n, 2) names."""
    found: NDArray[np.float64] = rowwise_distances(Z, Z, links[:, 0], links[:, 1])
    return found


def rowwise_distances(A: Any, B: Any, rows_A: Any = None, rows_B: Any = None) -> Any:
    """Euclidean distance (n,) of A and B row by row; see :func:`squared_rowwise_distances`."""
    squared = squared_rowwise_distances(A, B, rows_A, rows_B)
    return backends.namespace(squared).sqrt(squared)


def squared_rowwise_distances(A: Any, B: Any, rows_A: Any = None, rows_B: Any = None) -> Any:
    """Squared Euclidean distance (n,) of A and B row by row, from differences, in blocks.

    Arrays or sparse matrices of one kind on one device; ``rows_A`` and ``rows_B`` select rows by
    number, all by default. In float64 where the device has that.
    """
    if sparse_rows.is_sparse(A):
        rows_A = np.arange(A.shape[0]) if rows_A is None else rows_A
        rows_B = np.arange(B.shape[0]) if rows_B is None else rows_B
        return sparse_rows.squared_pair_distances(A, B, rows_A, rows_B)
    xp = backends.namespace(A)
    numbers = [None if rows is None else backends.move_to(rows, A) for rows in (rows_A, rows_B)]
    n = A.shape[0] if rows_A is None else len(rows_A)
    out = backends.empty((n,), A, backends.widen(A[:0, :]).dtype)
    for block in access.split_by_memory(out, 40 * A.shape[1]):
        left, right = (
            Z[block, :] if rows is None else xp.take(Z, rows[block], axis=0)
            for Z, rows in zip((A, B), numbers, strict=True)
        )
        difference = backends.widen(left) - backends.widen(right)
        out[block] = xp.sum(difference * difference, axis=1)
    return out


# Columns are far from zero if it is more than so many times as far as they are wide.
_FAR = 16.0


def middle(X: Any, *, if_far: bool = False) -> Doubles:
    """Median (d,) of each column over 101 evenly spaced rows, to centre rows by.

    These are entries of X, so that differences to near rows are exact, and outliers do not move
    them, as they would a mean. With ``if_far``, and for sparse rows always, 0 for columns whose
    median is near 0 beside their width: there centring gains nothing, but takes a copy.
    """
    n, d = X.shape
    if n == 0:
        return np.zeros(d)
    if backends.is_foreign(X):
        return backends.to_numpy(access.column_medians(X)).astype(np.float64)
    rows = evenly_spaced(n, access.MIDDLE_ROWS)
    if not is_sparse(X):
        return _compute_medians(X[rows], if_far)
    X = sp.csr_array(X)[rows]
    found = np.zeros(d)
    # Of all other columns, half the entries or more are 0.
    filled = np.flatnonzero(2 * np.bincount(X.indices, minlength=d) > len(rows))
    if len(filled):
        found[filled] = _compute_medians(X[:, filled].toarray(), if_far=True)
    return found


def _compute_medians(rows: Floats, if_far: bool) -> Doubles:
    """Medians (d,) of columns of dense rows; with ``if_far``, 0 for those near 0."""
    ordered = np.sort(rows, axis=0).astype(np.float64)
    found = ordered[len(rows) // 2]
    if not if_far:
        return np.asarray(found)
    width = ordered[(3 * len(rows)) // 4] - ordered[len(rows) // 4]
    # Columns without width do no harm but beside the widths of all others.
    width = np.where(width > 0, width, np.linalg.norm(width))
    return np.where(np.abs(found) > _FAR * width, found, 0.0)


def centre(X: Any, middle: Floats) -> Any:
    """Subtract ``middle`` (d,) from rows, in their own type; sparse rows stay sparse."""
    if not middle.any():
        return X
    if backends.is_foreign(X):
        return X - backends.move_to(middle, X)
    if is_sparse(X):
        columns = np.flatnonzero(middle)
        n, k = X.shape[0], len(columns)
        entries = np.tile(middle[columns], n), np.tile(columns, n), np.arange(0, n * k + 1, k)
        return sp.csr_array(X - sp.csr_array(entries, shape=X.shape)).astype(X.dtype)
    return np.subtract(X, middle, dtype=np.float64).astype(X.dtype, copy=False)


def mean_row(X: Any) -> Doubles:
    """Mean (d,) of the rows, dense or sparse, in float64; of equal rows, exactly that row."""
    origin = middle(X)

    def sums(rows: Any) -> tuple[Doubles]:
        moved = centre(rows, origin)
        return (np.asarray(moved.sum(axis=0, dtype=np.float64)).ravel(),)

    return np.asarray(origin + access.reduce_rows(X, sums)[0] / X.shape[0])


def squared_distances(A: Any, B: Any) -> Any:
    """Squared Euclidean distances (n_a, n_b) between all rows, by products around B's middle."""
    if backends.is_foreign(A):
        return device_math.squared_distances_around(A, B, access.column_medians(B))[0]
    return _squared_distances_and_lengths(A, B)[0]


def squared_distances_and_rounding(A: Any, B: Any) -> tuple[Any, Any]:
    """Squared distances (n_a, n_b), and the size (n_a,) below which they are rounding.

    On the host distances that are rounding are 0 already, each by its own two rows: one row far out
    does not hide the differences of others.
    """
    if backends.is_foreign(A):
        return device_math.squared_distances_around(A, B, access.column_medians(B))
    squared, own, others = _squared_distances_and_lengths(A, B)
    rounding = device_math.UNITS_OFF * float(np.finfo(squared.dtype).eps)
    squared[squared <= rounding * (own[:, None] + others)] = 0.0
    return squared, rounding * own


def _squared_distances_and_lengths(A: Any, B: Any) -> tuple[Any, Doubles, Doubles]:
    """Squared distances (n_a, n_b) on the host, and squared lengths of rows around B's middle."""
    origin = middle(B)
    A, B = centre(A, origin), centre(B, origin)
    own, others = squared_lengths(A), squared_lengths(B)
    magnitude = own + others.max(initial=0.0)
    is_plain = all(isinstance(one, np.ndarray) and one.dtype == np.float64 for one in (A, B))
    if not is_plain or not np.isfinite(magnitude).all():
        return euclidean_distances(A, B, squared=True), own, others
    # As scikit-learn has it, without its checks, and in the memory of one matrix: new memory takes
    # as long as the product.
    squared = A @ (-2 * B).T
    squared += own[:, None]
    squared += others
    return np.maximum(squared, 0, out=squared), own, others


def squared_lengths(X: Any) -> Doubles:
    """Squared length (n,) of each row, in float64."""
    if backends.is_foreign(X):
        X = backends.widen(X)
        found: Doubles = backends.namespace(X).sum(X * X, axis=1)
        return found
    if is_sparse(X):
        return np.asarray(squared_norms(X))
    return np.asarray(np.einsum("ij,ij->i", X, X, dtype=np.float64))


def class_sums(
    X: Any,
    classes: Integers,
    n_classes: int,
    coordinates: Callable[[Any], Any] = lambda rows: rows,
    origins: Floats | None = None,
) -> tuple[Floats, Floats]:
    """Sums, and sums of squares, (n_classes, q) each, of the coordinates of each class's rows.

    ``coordinates`` maps a block of rows X to these. Rows of negative class are left out.
    ``origins`` (n_classes, q) is subtracted from the rows of each class first.
    """

    def of_block(block: Any, number: Integers) -> tuple[Floats, Floats]:
        z, own = _select_known(block, number, coordinates)
        sums: Any = 0.0
        squares: Any = 0.0
        for rows in _split_on_device(z, 8 * (n_classes + 3 * z.shape[1])):
            piece = backends.widen(z[rows, :])
            if origins is not None:
                piece = piece - _values_of_class(origins, own[rows], piece)
            members = _class_indicator(own[rows], n_classes, piece)
            sums = sums + members @ piece
            squares = squares + members @ (piece * piece)
        return backends.to_numpy(sums), backends.to_numpy(squares)

    sums, squares = access.reduce_rows(X, of_block, classes)
    return sums, squares


def within_scatters(
    X: Any,
    classes: Integers,
    means: Floats,
    weight: Floats,
    coordinates: Callable[[Any], Any] = lambda rows: rows,
) -> Floats:
    """Scatters (k, q, q) around class means: ``Σ_i weight_i (x_i − mean)(x_i − mean)ᵀ``.

    ``means`` is of shape (c, q) and ``weight`` (c, k): k weights for the rows of each class. All
    else as for :func:`class_sums`.
    """

    def of_block(block: Any, number: Integers) -> tuple[Floats]:
        z, own = _select_known(block, number, coordinates)
        totals: list[Any] = [0.0 for _ in weight.T]
        for rows in _split_on_device(z, 40 * z.shape[1]):
            piece = backends.widen(z[rows, :])
            centered = piece - _values_of_class(means, own[rows], piece)
            for j, weights in enumerate(weight.T):
                weighted = _values_of_class(weights, own[rows], piece)[:, None] * centered
                totals[j] = totals[j] + weighted.T @ centered
        return (np.stack([backends.to_numpy(total) for total in totals]),)

    return np.asarray(access.reduce_rows(X, of_block, classes)[0])


def _select_known(
    block: Any, number: Integers, coordinates: Callable[[Any], Any]
) -> tuple[Any, Integers]:
    """Coordinates of the block's rows of known class, and their class numbers."""
    known = np.flatnonzero(number >= 0)
    return coordinates(access.take(block, known)), number[known]


def _split_on_device(z: Any, bytes_per_row: int) -> Iterable[slice]:
    """Slices of as many rows as a device should hold; on the host all at once."""
    return (
        access.split_by_memory(z, bytes_per_row)
        if backends.is_foreign(z)
        else [slice(0, z.shape[0])]
    )


def _values_of_class(values: Floats, own: Integers, like: Any) -> Any:
    """Each row's class's entry of ``values``, on the device of ``like``."""
    there = backends.move_to(values, like)
    return backends.namespace(like).take(there, backends.move_to(own, like), axis=0)


def _class_indicator(own: Integers, n_classes: int, like: Any) -> Any:
    """Matrix (n_classes, n) of 1 where a row is of a class, else 0; sparse on the host."""
    if not backends.is_foreign(like):
        n = len(own)
        return sp.csr_array((np.ones(n), (own, np.arange(n))), shape=(n_classes, n))
    numbers, each = backends.move_to(own, like), backends.move_to(np.arange(n_classes), like)
    return backends.as_type(each[:, None] == numbers[None, :], like.dtype)
