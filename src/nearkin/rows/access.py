"""What a learner does with rows, wherever they are: take some, sum over all, map block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from nearkin.rows.base import Parts, added
from nearkin.rows.devices import (
    is_foreign,
    is_remote,
    library,
    moved,
    namespace,
    on_host,
    to_numpy,
    wide,
)
from nearkin.rows.given import frame_of

Array = Any  # an array of torch or CuPy
# Working memory of a block of rows: on an accelerator at most this, and this share of all it has;
# and where the host's own caches count.
_BLOCK_BYTES = {"accelerator": 2**30, "cpu": 2**24}
_SHARE_OF_MEMORY = 1 / 32
# Rows of an array that are summed over at a time.
_SUMMED_ROWS = 65536
# Rows that tell where the middle of all is.
MIDDLE_ROWS = 101


def take(X: Any, rows: NDArray[np.integer]) -> Any:
    """Some rows of X, whatever it is, by their numbers on the host."""
    if is_remote(X):
        return X.take(rows)
    if is_foreign(X):
        return namespace(X).take(X, moved(rows, X), axis=0)
    frame = frame_of(X)
    if frame is not None:
        return frame[rows].to_native()
    if hasattr(X, "tocsr"):  # other sparse formats cannot be cut
        X = X.tocsr()
    return X[rows] if hasattr(X, "shape") else _safe_indexing(X, rows)


def take_home(X: Any, rows: NDArray[np.integer]) -> Any:
    """Some rows of X, few enough for the host, as NumPy's (or sparse, if X is)."""
    return to_numpy(take(X, rows)) if is_foreign(X) else take(X, rows)


def drawable(X: Any) -> int | NDArray[np.integer]:
    """How many rows X has; the numbers of those that can be taken, where that is not all.

    It is not all of X where X could be read only once. NumPy's ``choice`` takes either.
    """
    if is_remote(X) and X.numbers is not None:
        return np.asarray(X.numbers)
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def drawable_numbers(X: Any) -> NDArray[np.integer]:
    """The numbers of all rows that can be taken."""
    found = drawable(X)
    return np.arange(found) if isinstance(found, int) else found


def reduced(
    X: Any,
    function: Callable[..., Parts],
    *aligned: NDArray[Any],
    combine: Callable[[Parts, Parts], Parts] = added,
) -> Parts:
    """What ``function`` gives for blocks of rows of X, whatever that is, combined.

    Parameters
    ----------
    X : array, sparse matrix or RemoteRows
    function : callable
        Of a block of rows and as many entries of each aligned array; gives a tuple of arrays.
    *aligned : ndarray of shape (n, ...)
    combine : callable, optional
        Of two such tuples; their sums by default.
    """
    if is_remote(X):
        return tuple(X.reduced(function, *aligned, combine=combine))
    total: Parts | None = None
    for start in range(0, X.shape[0], _SUMMED_ROWS):
        part = slice(start, start + _SUMMED_ROWS)
        found = function(X[part], *(array[part] for array in aligned))
        total = found if total is None else combine(total, found)
    assert total is not None
    return total


def filled(n_rows: int, size: int, part: Callable[[slice], Any]) -> Any:
    """``part(rows)`` for blocks of rows, one below the other; NumPy's or foreign.

    Beside the whole, one part is held at a time.
    """
    whole = part(slice(0, min(size, n_rows)))
    if n_rows <= size:
        return whole
    shape, options = (n_rows, *whole.shape[1:]), {"dtype": whole.dtype}
    if is_foreign(whole):
        out = namespace(whole).empty(shape, device=whole.device, **options)
    else:
        out = np.empty(shape, **options)
    out[:size] = whole
    for start in range(size, n_rows, size):
        rows = slice(start, min(start + size, n_rows))
        out[rows] = part(rows)
    return out


def blocks(X: Array, bytes_per_row: int, most: int | None = None) -> Iterator[slice]:
    """Consecutive slices of rows, as many at a time as X's device should hold at once.

    ``most`` bytes on an accelerator, if it has room: a gigabyte by default.
    """
    if on_host(X):
        budget = _BLOCK_BYTES["cpu"]
    else:
        room = int(_SHARE_OF_MEMORY * _memory(X))
        budget = min(most or _BLOCK_BYTES["accelerator"], room)
    size = max(64, budget // max(1, bytes_per_row))
    for start in range(0, X.shape[0], size):
        yield slice(start, min(start + size, X.shape[0]))


def _memory(X: Array) -> int:
    """Bytes of memory of X's device."""
    if library(X) == "cupy":
        return int(X.device.mem_info[1])
    if X.device.type == "cuda":
        import torch

        return int(torch.cuda.get_device_properties(X.device).total_memory)
    return int(_BLOCK_BYTES["accelerator"] / _SHARE_OF_MEMORY)


def moments(X: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Mean (d) and covariance (d, d) of the rows, not corrected for the mean, in float64.

    O(n d²) time, and memory for a block of rows.
    """
    if is_remote(X):
        mean, covariance = X.moments()
        return mean, covariance
    xp = namespace(X)
    n, d = X.shape
    origin = wide(X[:1])  # equal rows now differ by exactly zero
    total: Any = 0.0
    for rows in blocks(X, 24 * d):
        total = total + xp.sum(wide(X[rows]) - origin, axis=0)
    shift = total / n
    squares: Any = 0.0
    for rows in blocks(X, 24 * d):
        centered = wide(X[rows]) - origin - shift
        squares = squares + centered.T @ centered
    return to_numpy(origin[0] + shift), to_numpy(squares / n)


def evenly_spaced(n_rows: int, most: int) -> NDArray[np.int64]:
    """Numbers of that many rows, or of all if there are fewer."""
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.int64)


def middle(X: Array) -> Array:
    """Median of each column over some evenly spaced rows."""
    some = take(X, evenly_spaced(X.shape[0], MIDDLE_ROWS))
    return namespace(X).sort(some, axis=0)[some.shape[0] // 2]
