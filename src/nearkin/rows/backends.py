"""Tell host, device and remote rows apart, and move arrays between them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cached_property, reduce
from importlib import import_module
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from nearkin._types import Floats
from nearkin.errors import InputIndexError, InputTypeError, MissingPackageError

Parts = tuple[Any, ...]
# What gives parts of a block of rows and of entries aligned with them; and one of two parts.
OfBlock: TypeAlias = Callable[..., Parts]
Combine: TypeAlias = Callable[[Parts, Parts], Parts]
# Numbers that are centred at a time.
_PIECE_NUMBERS = 2**18
# Rows that are looked at to see in which units columns are: what most learners do first.
ROWS_FOR_UNITS = 2_000
# Rows taken by number are remembered up to this size, since learners ask for the same ones again.
_REMEMBERED_BYTES = 2**26


@dataclass(frozen=True)
class Block:
    """Consecutive rows from number ``start`` on.

    ``carried`` is a table of as many rows, which goes along with them into written files.
    """

    start: int
    rows: Floats
    carried: Any = None


def add_parts(a: Parts, b: Parts) -> Parts:
    """Add two tuples of arrays, entry by entry."""
    return tuple(x + y for x, y in zip(a, b, strict=True))


def block_moments(block: Floats) -> Parts:
    """Number, mean (d,) and scatter matrix (d, d) of a block of rows, in float64 on the host."""
    return _moments(block, lambda centered: centered.T @ centered)


def column_moments(block: Floats) -> Parts:
    """Number, mean (d,) and sums of squared deviations (d,) of a block, in float64 on the host."""
    return _moments(block, _sum_squares)


def _sum_squares(centered: Any) -> Any:
    """Sum of squares (d,) of each column."""
    if isinstance(centered, np.ndarray):
        return np.einsum("ij,ij->j", centered, centered)
    return (centered * centered).sum(0)  # on a device


def _moments(block: Floats, scatter: Callable[[Floats], Floats]) -> Parts:
    """Number, mean and scatter (of centred rows) of a block, piece by piece to stay in cache."""
    if not isinstance(block, np.ndarray):  # on a device, with memory for thrice its rows
        origin = widen(block[:1, :])
        shifted = widen(block) - origin
        shift = namespace(block).mean(shifted, axis=0)
        mean = to_numpy(origin[0, :] + shift)
        return block.shape[0], mean, to_numpy(scatter(shifted - shift))
    size = max(64, _PIECE_NUMBERS // block.shape[1])

    def of_piece(start: int) -> Parts:
        rows = block[start : start + size]
        # From the first row: equal rows differ by exactly zero.
        origin = rows[0].astype(np.float64)
        shifted = np.subtract(rows, origin, dtype=np.float64)
        shift = shifted.mean(axis=0)
        shifted -= shift
        return len(rows), origin + shift, scatter(shifted)

    return reduce(merge_moments, map(of_piece, range(0, len(block), size)))


def merge_moments(a: Parts, b: Parts) -> Parts:
    """Number, mean and scatter of two sets of rows together, without cancellation."""
    (n_a, mean_a, scatter_a), (n_b, mean_b, scatter_b) = a, b
    n, apart = n_a + n_b, mean_b - mean_a
    square = np.multiply.outer(apart, apart) if scatter_a.ndim == 2 else apart**2
    mean = mean_a + (n_b / n) * apart
    return n, mean, scatter_a + scatter_b + (n_a * n_b / n) * square


def evenly_spaced(n: int, most: int) -> NDArray[np.int64]:
    """Evenly spaced numbers from 0 to n − 1, both included; at most ``most`` of them."""
    return np.linspace(0, n - 1, min(n, most)).astype(np.int64)


class RemoteRows(ABC):
    """Protocol of rows in files larger than memory, or on other machines.

    ``numbers`` are those of the rows that can be taken, None for all. ``device`` is where functions
    of blocks find them, None for NumPy arrays on the host.
    """

    shape: tuple[int, int]
    dtype: np.dtype[Any]
    names: list[str] | None = None
    numbers: NDArray[np.int64] | None = None
    device: str | None = None
    ndim = 2

    @abstractmethod
    def take(self, rows: NDArray[np.integer]) -> Floats:
        """Rows (k, d) by their numbers, in that order."""

    @abstractmethod
    def reduced(
        self, function: OfBlock, *aligned: NDArray[Any], combine: Combine = add_parts
    ) -> Parts:
        """Apply ``function`` to blocks of rows and aligned entries; combine results in order."""

    @abstractmethod
    def mapped(self, function: Callable[[Floats], Floats], names: list[str]) -> Any:
        """The rows after a function of blocks, called when they are read, in columns ``names``."""

    def moments(self) -> tuple[Floats, Floats]:
        """Mean (d,) and covariance (d, d) of all rows; the latter is divided by n."""
        n, mean, scatter = self.reduced(block_moments, combine=merge_moments)
        return mean, scatter / n

    def squared_deviations(self) -> float:
        """Sum of squared distances from the mean."""
        return float(self.reduced(column_moments, combine=merge_moments)[2].sum())

    @cached_property
    def n_columns(self) -> int:
        """Number of columns, which is known even where that of rows is not yet."""
        return self.shape[1]

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: Any = None) -> NDArray[Any]:
        raise InputTypeError(
            "an array is wanted here, not rows that are read block by block: give some of them, "
            "for example rows.take(numbers)."
        )

    def __getitem__(self, key: Any) -> Any:
        raise InputTypeError(
            "rows that are read block by block have no [...]: take some by their numbers with "
            "rows.take(numbers)."
        )


class RememberingRows(RemoteRows):
    """Rows that cache those taken by number, up to 64 MB; :meth:`_read_rows` gets the others."""

    _source: str
    _remembered: tuple[NDArray[np.int64], Floats] | None = None

    @abstractmethod
    def _read_rows(self, wanted: NDArray[np.int64]) -> Floats:
        """Rows (k, d) by their numbers, which are sorted, distinct and exist."""

    def take(self, rows: NDArray[np.integer]) -> Floats:
        """Rows (k, d) by their numbers, in that order."""
        rows = np.asarray(rows)
        if rows.ndim != 1 or (len(rows) and rows.dtype.kind not in "iu"):
            raise InputTypeError(
                "rows are taken by their numbers, a one-dimensional array of integers, got "
                f"shape {rows.shape} of {rows.dtype}."
            )
        wanted, positions = np.unique(rows.astype(np.int64), return_inverse=True)
        if len(wanted) and not 0 <= wanted[0] <= wanted[-1] < self.shape[0]:
            outside = wanted[0] if wanted[0] < 0 else wanted[-1]
            raise InputIndexError(
                f"row {outside} of {self._source}, which has {self.shape[0]} rows."
            )
        known = self._remembered
        missing = wanted if known is None else np.setdiff1d(wanted, known[0], assume_unique=True)
        if known is None or len(missing):
            found = self._read_rows(missing)
            if known is not None:
                numbers = np.concatenate([known[0], missing])
                order = np.argsort(numbers)
                known = numbers[order], np.concatenate([known[1], found])[order]
            else:
                known = missing, found
            if known[1].nbytes <= _REMEMBERED_BYTES:
                self._remembered = known
        return known[1][np.searchsorted(known[0], wanted)][positions]


try:  # since scikit-learn 1.7
    array_api_compat: Any = import_module("sklearn.externals.array_api_compat")
except ImportError:
    array_api_compat = None

Array = Any  # an array of torch or CuPy
LIBRARIES = ("torch", "cupy")
# Compute capabilities of devices made for scientific computing.
_FAST_FLOAT64 = ("60", "70", "80", "90", "100")
# Whether arrays of torch are foreign because nearkin has put them on their device itself.
_dispatch_forced: ContextVar[bool] = ContextVar("dispatch_forced", default=False)


def is_foreign(X: Any) -> bool:
    """Whether X is a torch or CuPy array that its own library works on (array API dispatch)."""
    if isinstance(X, np.ndarray) or library(X) is None:
        return False
    return _dispatch_forced.get() or bool(get_config()["array_api_dispatch"])


@contextmanager
def force_dispatch() -> Iterator[None]:
    """Treat arrays of torch and CuPy as foreign in a block, whatever scikit-learn's setting.

    For rows that nearkin has put on a device itself: scikit-learn's dispatch needs
    ``SCIPY_ARRAY_API=1`` before SciPy is imported, and neither is given these rows.
    """
    before = _dispatch_forced.set(True)
    try:
        yield
    finally:
        _dispatch_forced.reset(before)


def is_remote(X: Any) -> bool:
    """Whether the rows X are in files or on other machines."""
    return isinstance(X, RemoteRows)


def library(X: Any) -> str | None:
    """Library of a device array, ``"torch"`` or ``"cupy"``; None for everything else."""
    if not (hasattr(X, "dtype") and hasattr(X, "device")):
        return None
    names = [base.__module__.partition(".")[0] for base in type(X).__mro__]  # of subclasses too
    return next((name for name in names if name in LIBRARIES), None)


def namespace(X: Any) -> Any:
    """Array API namespace of X: NumPy, unless X is an array of torch or CuPy."""
    if isinstance(X, np.ndarray) or library(X) is None:
        return np
    if array_api_compat is None:
        import sklearn

        raise MissingPackageError(
            f"arrays of {library(X)} need scikit-learn 1.7 or later, found {sklearn.__version__}: "
            "update it, or give NumPy arrays."
        )
    return array_api_compat.array_namespace(X)


def describe_place(X: Any) -> str | None:
    """Library and device of a foreign array, such as "torch on cuda:0"; None for others."""
    return f"{library(X)} on {X.device}" if is_foreign(X) else None


def refuse_stranded(X: Any, name: str = "X") -> None:
    """Raise if X is on an accelerator while dispatch is off: NumPy could not read it."""
    if is_foreign(X) or library(X) is None or on_host(X):
        return
    remedy = "X.cpu()" if library(X) == "torch" else "X.get()"
    raise InputTypeError(
        f"{name} is an array of {library(X)} on {X.device}, but scikit-learn's array API dispatch "
        "is off: set the environment variable SCIPY_ARRAY_API=1 before SciPy is imported and use "
        "'with sklearn.config_context(array_api_dispatch=True):' to work on that device, or "
        f"give {remedy.replace('X', name)} to work on the host."
    )


def float_dtypes(X: Any) -> list[Any]:
    """Float types that X may keep, of its own library; the first is the one other types become."""
    if not is_foreign(X):
        return [np.float64, np.float32]
    xp = namespace(X)
    return [xp.float64, xp.float32] if has_float64(X) else [xp.float32]


def dtype_name(X: Array) -> str:
    """Name of an array's type, such as ``"float32"``, whatever the library."""
    return str(X.dtype).rpartition(".")[2]


def to_numpy(X: Any) -> NDArray[Any]:
    """Copy a small device array to the host; arrays that NumPy can read stay as they are."""
    refuse_stranded(X, "the array")
    return _copy_to_host(X)


def _copy_to_host(X: Any) -> NDArray[Any]:
    """A copy in NumPy, of an array on whatever device."""
    if library(X) == "torch":
        return np.asarray(X.detach().cpu().numpy())
    return np.asarray(X.get() if library(X) == "cupy" else X)


def move_to(values: Any, like: Any, dtype: str | None = None) -> Array:
    """Copy a small NumPy array to ``like``'s library and device; floats get its type, too."""
    xp = namespace(like)
    values = np.asarray(values)
    if dtype is None:
        dtype = {"f": dtype_name(like), "i": "int64", "u": "int64"}.get(values.dtype.kind)
    if xp is np:
        return values if dtype is None else values.astype(dtype, copy=False)
    # A copy: torch would share memory, and warn if it is read-only.
    values = np.array(values, dtype=dtype)
    return xp.asarray(values, device=like.device)


def to_host(X: Any) -> NDArray[Any]:
    """Copy a fitted array to the host, whether dispatch is on or not."""
    found: NDArray[Any] = X if library(X) is None else _copy_to_host(X)
    return found


def move_kept(kept: Any, X: Any) -> Array:
    """Copy a fitted array to the device of the rows X, in its own type, also without dispatch."""
    if library(kept) == library(X) and (library(X) is None or kept.device == X.device):
        return kept
    kept = to_host(kept)
    return move_to(kept, X, str(kept.dtype)) if isinstance(kept, np.ndarray) else kept


def widen(X: Any) -> Array:
    """X in float64, or X itself where its device does not know that type."""
    xp = namespace(X)
    if xp is np:  # sparse too
        return X.astype(np.float64, copy=False)
    return xp.astype(X, xp.float64, copy=False) if has_float64(X) else X


def as_type(X: Any, dtype: Any) -> Array:
    """X converted to another type; X itself if it has that already."""
    if hasattr(X, "astype"):
        return X.astype(dtype, copy=False)
    return namespace(X).astype(X, dtype, copy=False)


def empty(shape: tuple[int, ...], like: Any, dtype: Any = None) -> Array:
    """An uninitialised array on the device of ``like``, by default of its type."""
    xp, dtype = namespace(like), like.dtype if dtype is None else dtype
    if xp is np:  # like may be sparse
        return np.empty(shape, dtype=dtype)
    return xp.empty(shape, dtype=dtype, device=like.device)


def on_host(X: Any) -> bool:
    """Whether X is in the host's memory, whatever its library."""
    return library(X) is None or (library(X) == "torch" and X.device.type == "cpu")


def has_float64(X: Array) -> bool:
    """Whether X's device has double precision."""
    return not (library(X) == "torch" and X.device.type == "mps")


def has_fast_float64(X: Array) -> bool:
    """Whether X's device multiplies in float64 as fast as in float32, or nearly so."""
    if library(X) == "cupy":
        capability = X.device.compute_capability  # such as "90"
    elif library(X) == "torch" and X.device.type == "cuda":
        import torch

        capability = "{}{}".format(*torch.cuda.get_device_capability(X.device))
    else:
        return on_host(X)
    return capability in _FAST_FLOAT64
