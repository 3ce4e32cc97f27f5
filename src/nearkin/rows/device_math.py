"""Arithmetic that the array standard lacks, on the arrays of NumPy, torch and CuPy."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.metrics.pairwise import manhattan_distances

from nearkin.messages import write_note
from nearkin.rows import backends
from nearkin.rows.access import column_medians, for_each_block, split_by_memory
from nearkin.rows.backends import (
    dtype_name,
    is_foreign,
    library,
    move_to,
    namespace,
    on_host,
    to_numpy,
    widen,
)
from nearkin.rows.sparse import is_sparse
from nearkin.rows.sparse import sparse_distances as sparse_distances

Found = TypeVar("Found")
# Fewer rows are done sooner by functions that are there already.
FEW_ROWS = 4096


# Whether Triton could not compile a kernel in this process.
_state = SimpleNamespace(broken=False)


def can_use_kernels(X: Any, dtype: str = "float32") -> bool:
    """Whether to try Triton kernels on X: a foreign array of that type on a CUDA device."""
    if not backends.is_foreign(X) or backends.dtype_name(X) != dtype or _state.broken:
        return False
    if backends.library(X) not in ("torch", "cupy") or not _has_triton():
        return False
    interpreted = os.environ.get("TRITON_INTERPRET") == "1"  # as tests do without a device
    return interpreted or (not backends.on_host(X) and X.shape[0] >= FEW_ROWS)


@cache
def _has_triton() -> bool:
    """Whether torch and Triton are installed."""
    return find_spec("torch") is not None and find_spec("triton") is not None


def to_tensor(X: Any) -> Any:
    """A device array as a tensor of torch that shares its memory."""
    if backends.library(X) == "torch":
        return X
    import torch

    return torch.from_dlpack(X)


def from_tensor(found: Any, like: Any) -> Any:
    """A tensor as an array of the library of ``like`` that shares its memory."""
    if backends.library(like) == "torch":
        return found
    import cupy

    return cupy.from_dlpack(found)


def make_marks(like: Any) -> Any:
    """An uninitialised int8 tensor (n,) on the device of ``like``, for a mark of each row."""
    import torch

    return torch.empty(like.shape[0], dtype=torch.int8, device=to_tensor(like[:0, :]).device)


def find_marked(marks: Any, like: Any) -> Any:
    """Numbers of the rows whose mark is not 0, as an array of ``like``'s library."""
    return from_tensor(marks.nonzero().ravel(), like)


def try_kernels(X: Any, work: Callable[[], Found]) -> Found | None:
    """Call ``work``, which runs Triton kernels; None if they do not compile, now or once before."""
    from triton.compiler.errors import CompilationError
    from triton.runtime.errors import OutOfResources, PTXASError

    try:
        with _use_stream_of(X):
            return work()
    except (CompilationError, OutOfResources, PTXASError, ImportError) as error:
        _state.broken = True
        lines = str(error).strip().splitlines() or [type(error).__name__]
        write_note(
            f"nearkin: slower functions are used, since Triton does not compile here: {lines[0]}"
        )
        return None


@contextmanager
def _use_stream_of(X: Any) -> Iterator[None]:
    """Make torch launch on the device and stream of X."""
    if backends.on_host(X):
        yield
        return
    import torch

    if backends.library(X) == "cupy":
        import cupy

        number, pointer = X.device.id, cupy.cuda.get_current_stream().ptr
        # Of a null pointer torch would make a stream of its own, for which CuPy does not wait.
        there = (
            torch.cuda.ExternalStream(pointer, device=number)
            if pointer
            else torch.cuda.default_stream(number)
        )
        stream: Any = torch.cuda.stream(there)
    else:
        number, stream = X.device.index or 0, nullcontext()
    with torch.cuda.device(number), stream:
        yield


Array = Any  # an array of NumPy, torch or CuPy
# Most roundings of squared lengths that squared distances from a product are off; set by hand.
UNITS_OFF = 8
# Up to so many of the smallest, one pass for each beats sorting on an accelerator.
_MOST_PASSES = 16
# Rows that are looked at beyond those asked for: of so many that are equally far, the first count.
_SPARE = 8
# Points of one fused search, whose tiles are numbered in the last digits of distances.
_POINTS_AT_ONCE = 2**16
# Libraries that can write to places by their numbers, which the standard cannot; None is NumPy.
_ASSIGN_BY_NUMBERS = (None, "torch", "cupy")


def look_up_labels(classes: NDArray[Any], numbers: Any, like: Array) -> Any:
    """Class labels of class numbers; on the device of ``like`` if labels are numbers."""
    if not is_foreign(like) or classes.dtype.kind not in "biuf":
        return classes[to_numpy(numbers)]
    numbers = move_to(numbers, like) if isinstance(numbers, np.ndarray) else numbers
    return gather(move_to(classes, like, classes.dtype.name), numbers)


def squared_distances_around(A: Array, B: Array, origin: Array) -> tuple[Array, Array]:
    """Squared distances (n_A, n_B) by products around ``origin``, and their rounding (n_A,)."""
    xp = namespace(A)
    eps = float(xp.finfo(A.dtype).eps)
    origin = widen(origin)
    A, B = widen(A) - origin, widen(B) - origin
    own, other = xp.sum(A * A, axis=1), xp.sum(B * B, axis=1)
    squared = -2.0 * (A @ B.T)
    squared = squared + own[:, None] + other
    return clip(squared, 0.0), UNITS_OFF * eps * (own + xp.max(other))


def products(A: Any, B: Any) -> Array:
    """Inner products (n_A, n_B) of the rows of A and B, dense also if these are sparse."""
    found = A @ B.T
    return found.toarray() if is_sparse(found) else found


def rowwise_products(A: Array, B: Array) -> Array:
    """Inner products along the last axis of two arrays (c, n, d), of shape (n, c)."""
    if not is_foreign(A):
        return np.einsum("cnd,cnd->nc", A, B)
    return namespace(A).sum(A * B, axis=2).T


def exact_distances(A: Any, B: Any, *, city_block: bool = False) -> Array:
    """Distances (n_A, n_B) from differences, in float64 on the host: Euclidean or city block."""
    if not is_foreign(A):
        if city_block:
            return manhattan_distances(A, B)
        return sparse_distances(A, B) if is_sparse(A) else cdist(A, B)
    if library(A) == "torch":
        import torch

        exact = "donot_use_mm_for_euclid_dist"
        return torch.cdist(A, B, p=1.0 if city_block else 2.0, compute_mode=exact)
    xp = namespace(A)
    out = xp.empty((A.shape[0], B.shape[0]), dtype=A.dtype, device=A.device)
    for rows in split_by_memory(A, 16 * B.shape[0] * B.shape[1]):
        difference = A[rows, None, :] - B[None, :, :]
        if city_block:
            out[rows, :] = xp.sum(xp.abs(difference), axis=2)
        else:
            out[rows, :] = xp.sqrt(xp.sum(difference * difference, axis=2))
    return out


def clip(X: Array, least: float, most: float | None = None) -> Array:
    """X clipped to ``least`` and ``most``.

    By the library's own method where it has one: that of array_api_compat goes by masks, for each
    of which an accelerator waits.
    """
    return X.clip(least, most) if hasattr(X, "clip") else namespace(X).clip(X, least, most)


def product_plus(A: Array, B: Array, row: Array) -> Array:
    """``A @ B + row``, in one pass where the library has that."""
    if library(A) == "torch":
        import torch

        return torch.addmm(row, A, B)
    return A @ B + row


def k_smallest(values: Array, k: int) -> tuple[Array, Array]:
    """The k smallest values of each row in order, and positions; ``values`` may be overwritten."""
    xp = namespace(values)
    if library(values) == "torch" and (on_host(values) or k > _MOST_PASSES):
        import torch

        return tuple(torch.topk(values, k, dim=1, largest=False, sorted=True))
    if on_host(values) or k > _MOST_PASSES:
        found = xp.argsort(values, axis=1)[:, :k]
        return xp.take_along_axis(values, found, axis=1), found
    rows = xp.arange(values.shape[0], device=values.device)
    columns, taken = [], []
    for turn in range(k):
        place = xp.argmin(values, axis=1)
        columns.append(place)
        taken.append(values[rows, place])
        if turn + 1 < k:
            values = leave_out(values, place)
    return xp.stack(taken, axis=1), xp.stack(columns, axis=1)


def leave_out(values: Array, positions: Array) -> Array:
    """``values`` (n, m) with ∞ at one position of each row; may be overwritten."""
    xp = namespace(values)
    if library(values) in _ASSIGN_BY_NUMBERS:
        values[xp.arange(values.shape[0], device=values.device), positions] = xp.inf
        return values
    each = xp.arange(values.shape[1], device=values.device)
    return xp.where(each[None, :] == positions[:, None], xp.inf, values)


def replace_rows(X: Array, numbers: Array, values: Array) -> Array:
    """``X`` (n, ...) with other values for the rows of these numbers; may be overwritten."""
    if library(X) in _ASSIGN_BY_NUMBERS:
        X[numbers] = values
        return X
    number = np.arange(X.shape[0])
    number[to_numpy(numbers)] = X.shape[0] + np.arange(values.shape[0])
    xp = namespace(X)
    return xp.take(xp.concat([X, values]), move_to(number, X), axis=0)


def find_nearest_rows(
    A: Array, B: Array, k: int, *, skip_self: bool = False
) -> tuple[Array, Array]:
    """Squared distances and numbers, (n, k) each, of the k nearest rows of B for each row of A.

    With ``skip_self``, A is B, and a row is not its own neighbour. Distances of the nearest are
    computed again from differences, in float64. O(n m q) time; memory for a block of distances.
    """
    if k + skip_self <= _MOST_PASSES and A.shape[1] > 0 and can_use_kernels(A, dtype_name(A)):
        found = try_kernels(A, lambda: _find_nearest_by_kernels(A, B, k, skip_self))
        if found is not None:
            return found
    xp = namespace(A)
    squared = xp.empty((A.shape[0], k), dtype=widen(A[:0, :]).dtype, device=A.device)
    places = xp.empty((A.shape[0], k), dtype=xp.int64, device=A.device)
    origin = column_medians(B)

    def work(rows: slice) -> None:
        """Write the nearest rows for a block of A."""
        found, _ = squared_distances_around(A[rows, :], B, origin)
        if skip_self:
            found = leave_out(found, xp.arange(rows.start, rows.stop, device=A.device))
        listed = k_smallest(found, min(k + _SPARE, B.shape[0] - skip_self))[1]
        near, place = _sort_by_distance(A[rows, :], B, listed)
        squared[rows, :], places[rows, :] = near[:, :k], place[:, :k]

    for_each_block(work, A, 32 * B.shape[0])
    return squared, places


def _find_nearest_by_kernels(A: Array, B: Array, k: int, skip_self: bool) -> tuple[Array, Array]:
    """As :func:`find_nearest_rows`, by Triton kernels."""
    from nearkin.rows.triton_search import PRECISIONS, Search

    xp, wanted = namespace(A), k + skip_self
    starts = range(0, B.shape[0], _POINTS_AT_ONCE)
    parts = [B[start : start + _POINTS_AT_ONCE, :] for start in starts]
    center = to_tensor(widen(column_medians(B)))
    searches = [Search(to_tensor(part), center, 1.0) for part in parts]
    squared = xp.empty((A.shape[0], k), dtype=widen(A[:0, :]).dtype, device=A.device)
    places = xp.empty((A.shape[0], k), dtype=xp.int64, device=A.device)

    def among(block: Array, part: Array, search: Search) -> tuple[Array, Array]:
        """Squared distances and positions of a block's nearest points in one part of B."""
        least = min(wanted, len(search))
        found, is_open = search.nearest(to_tensor(block), least, PRECISIONS[-1])
        found, left = from_tensor(found, A), find_marked(is_open, A)
        if left.shape[0]:
            exact, _ = squared_distances_around(block[left, :], part, column_medians(part))
            found = replace_rows(found, left, k_smallest(exact, least)[1])
        return _sort_by_distance(block, part, found)

    def work(rows: slice) -> None:
        """Write the nearest rows for a block of A, over all parts of B."""
        block = A[rows, :]
        near, place = among(block, parts[0], searches[0])
        for start, part, search in zip(starts[1:], parts[1:], searches[1:], strict=True):
            more, where = among(block, part, search)
            near, place = xp.concat([near, more], axis=1), xp.concat([place, where + start], axis=1)
            order = xp.argsort(near, axis=1, stable=True)[:, :wanted]
            near, place = (xp.take_along_axis(both, order, axis=1) for both in (near, place))
        if skip_self:  # the row itself last, or of equal rows that stand before it the last
            own = place == xp.arange(rows.start, rows.stop, device=A.device)[:, None]
            order = xp.argsort(xp.astype(own, xp.int8), axis=1, stable=True)
            near, place = (xp.take_along_axis(both, order, axis=1) for both in (near, place))
        squared[rows, :], places[rows, :] = near[:, :k], place[:, :k]

    for_each_block(work, A, searches[0].bytes_per_row(k + 1) + 24 * (k + 1) * A.shape[1])
    return squared, places


def _sort_by_distance(A: Array, B: Array, found: Array) -> tuple[Array, Array]:
    """Sort candidate rows of B (n, k) by exact distance: squared distances and row numbers."""
    xp = namespace(A)
    found = xp.sort(found, axis=1)  # of equals the first comes first
    difference = widen(A)[:, None, :] - widen(gather(B, found))
    exact = xp.sum(difference * difference, axis=2)
    order = xp.argsort(exact, axis=1, stable=True)
    return xp.take_along_axis(exact, order, axis=1), xp.take_along_axis(found, order, axis=1)


def gather(B: Array, positions: Array) -> Array:
    """``B[positions]`` for an array of positions of any shape."""
    xp = namespace(B)
    flat = xp.take(B, xp.reshape(positions, (-1,)), axis=0)
    return xp.reshape(flat, (*positions.shape, *B.shape[1:]))


def solve_small_systems(matrices: Array, right: Array, least_pivot: float) -> Array:
    """Solve n positive definite systems (k, k, n) by Cholesky's factorisation; solutions (k, n).

    Only lower triangles are read. Pivots are raised to ``least_pivot``, against rounding.
    """
    xp = namespace(matrices)
    k = matrices.shape[0]
    columns, forward = [], []
    rest, values = matrices, right
    for _ in range(k):
        pivot = xp.sqrt(clip(rest[0, 0, :], least_pivot))
        column, value = rest[1:, 0, :] / pivot, values[0, :] / pivot
        columns.append((pivot, column))
        forward.append(value)
        values = values[1:, :] - column * value
        rest = rest[1:, 1:, :] - column[:, None, :] * column[None, :, :]
    solution: list[Array] = []
    for (pivot, column), value in zip(reversed(columns), reversed(forward), strict=True):
        for a, known in enumerate(solution):
            value = value - column[a, :] * known
        solution.insert(0, value / pivot)
    return xp.stack(solution)
