"""Take, reduce and map rows in memory, on devices, in files or on workers alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from nearkin.errors import OutOfMemoryError
from nearkin.rows import parallel as host_blocks
from nearkin.rows.backends import (
    Combine,
    OfBlock,
    Parts,
    add_parts,
    empty,
    evenly_spaced,
    is_foreign,
    is_remote,
    library,
    move_to,
    namespace,
    on_host,
    to_numpy,
    widen,
)
from nearkin.rows.validation import to_frame

Array = Any  # an array of NumPy, torch or CuPy
# Working memory of a block of rows: on an accelerator at most this, and this share of all it has;
# and where the host's own caches count.
_BLOCK_BYTES = {"accelerator": 2**30, "cpu": 2**24}
_SHARE_OF_MEMORY = 1 / 32
# A block has at least so many rows.
_LEAST_ROWS = 64
# Rows of an array that are summed over at a time.
_SUMMED_ROWS = 65536
# Rows that tell where the middle of all is.
MIDDLE_ROWS = 101


def take(X: Any, rows: NDArray[np.integer]) -> Any:
    """Rows of X by their numbers, in that order; they stay where X is."""
    if is_remote(X):
        return X.take(rows)
    if is_foreign(X):
        return namespace(X).take(X, move_to(rows, X), axis=0)
    frame = to_frame(X)
    if frame is not None:
        return frame[rows].to_native()
    if hasattr(X, "tocsr"):  # other sparse formats cannot be cut
        X = X.tocsr()
    return X[rows] if hasattr(X, "shape") else _safe_indexing(X, rows)


def take_to_host(X: Any, rows: NDArray[np.integer]) -> Any:
    """Rows of X by their numbers, few enough for the host: a NumPy array, or sparse if X is."""
    return to_numpy(take(X, rows)) if is_foreign(X) else take(X, rows)


def takeable_rows(X: Any) -> int | NDArray[np.integer]:
    """What to draw rows of X from: their number, or row numbers if only some are available.

    NumPy's ``choice`` takes either. Of rows that could be read only once, a sample is available.
    """
    if is_remote(X) and X.numbers is not None:
        return np.asarray(X.numbers)
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def takeable_numbers(X: Any) -> NDArray[np.integer]:
    """Row numbers of X that :func:`take` accepts."""
    found = takeable_rows(X)
    return np.arange(found) if isinstance(found, int) else found


def reduce_rows(
    X: Any, function: OfBlock, *aligned: NDArray[Any], combine: Combine = add_parts
) -> Parts:
    """Apply ``function`` to each block of rows of X, and combine the results in order.

    ``aligned`` are arrays with an entry for each row, of which the function gets those of its
    block. It gives a tuple of arrays; ``combine``, associative, makes one of two of these.
    """
    if is_remote(X):
        parts: Parts = X.reduced(function, *aligned, combine=combine)
        return parts

    def rows_of(part: slice) -> Any:
        return X[part, ...] if is_foreign(X) else X[part]  # the array standard names all axes

    found = (
        function(rows_of(part), *(array[part] for array in aligned))
        for part in host_blocks.split_range(X.shape[0], _SUMMED_ROWS)
    )
    return reduce(combine, found)


def fill_by_blocks(n_rows: int, size: int, part: Callable[[slice], Any]) -> Any:
    """Stack the results of ``part(rows)`` for blocks of ``size`` rows, one block at a time."""
    whole = part(slice(0, min(size, n_rows)))
    if n_rows <= size:
        return whole
    out = empty((n_rows, *whole.shape[1:]), whole)
    out[:size, ...] = whole
    for start in range(size, n_rows, size):
        rows = slice(start, min(start + size, n_rows))
        out[rows, ...] = part(rows)
    return out


def for_each_block(work: Callable[[slice], None], X: Any, bytes_per_row: int) -> None:
    """Call ``work`` on every block of rows of X: on all cores, or one by one on X's device.

    ``work`` must write to its own rows only, so that the result does not depend on the order.
    """
    if not is_foreign(X):
        host_blocks.run_in_blocks(work, X.shape[0], host_blocks.rows_per_block(bytes_per_row))
        return
    for rows in split_by_memory(X, bytes_per_row):
        _work_or_halve(work, rows, X)


def _work_or_halve(work: Callable[[slice], None], rows: slice, X: Any) -> None:
    """Call ``work`` on a block, or on its halves if the device has no memory for all of it."""
    try:
        work(rows)
        return
    except (MemoryError, RuntimeError) as error:  # the libraries' own are of these
        if "OutOfMemory" not in type(error).__name__:
            raise
        if rows.stop - rows.start <= _LEAST_ROWS:
            raise OutOfMemoryError(
                f"{X.device} has no memory left for a block of {_LEAST_ROWS} rows beside the data "
                "and the result: free some, or give fewer rows at a time."
            ) from error
    half = (rows.start + rows.stop) // 2
    for part in (slice(rows.start, half), slice(half, rows.stop)):
        _work_or_halve(work, part, X)


def split_by_memory(X: Any, bytes_per_row: int, most: int | None = None) -> Iterator[slice]:
    """Consecutive slices of rows, as many as X's device should hold: ``most`` bytes, if it can."""
    if on_host(X):
        budget = _BLOCK_BYTES["cpu"]
    else:
        room = int(_SHARE_OF_MEMORY * _device_memory(X))
        budget = min(most or _BLOCK_BYTES["accelerator"], room)
    yield from host_blocks.split_range(
        X.shape[0], max(_LEAST_ROWS, budget // max(1, bytes_per_row))
    )


def _device_memory(X: Array) -> int:
    """Bytes of memory of X's device; a guess where the library does not say."""
    if library(X) == "cupy":
        return int(X.device.mem_info[1])
    if library(X) == "torch" and X.device.type == "cuda":
        import torch

        return int(torch.cuda.get_device_properties(X.device).total_memory)
    return int(_BLOCK_BYTES["accelerator"] / _SHARE_OF_MEMORY)


def moments(X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean (d,) and covariance (d, d) of the rows, in float64; the latter is divided by n.

    O(n d²) time, and memory for a block of rows.
    """
    if is_remote(X):
        mean, covariance = X.moments()
        return mean, covariance
    xp = namespace(X)
    n, d = X.shape
    origin = widen(X[:1, :])  # equal rows now differ by exactly zero
    total: Any = 0.0
    for rows in split_by_memory(X, 24 * d):
        total = total + xp.sum(widen(X[rows, :]) - origin, axis=0)
    shift = total / n
    squares: Any = 0.0
    for rows in split_by_memory(X, 24 * d):
        centered = widen(X[rows, :]) - origin - shift
        squares = squares + centered.T @ centered
    return to_numpy(origin[0, :] + shift), to_numpy(squares / n)


def column_medians(X: Array) -> Array:
    """Median (d,) of each column over 101 evenly spaced rows, where X is."""
    some = take(X, evenly_spaced(X.shape[0], MIDDLE_ROWS))
    return namespace(X).sort(some, axis=0)[some.shape[0] // 2, :]
