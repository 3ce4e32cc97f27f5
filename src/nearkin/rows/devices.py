"""Where arrays are, what computes with them there, and the ways from and to the host.

What is computed is written down once, in functions of the array standard that :func:`namespace`
gives: NumPy's for what is on the host, those of torch and CuPy for what is theirs.

Under scikit-learn's dispatch (``sklearn.config_context(array_api_dispatch=True)``) an array of
another library than NumPy is *foreign*: what has as many rows as the data stays on its device,
in its library. What is small (landmarks, sums over rows, rows of pairs) comes to the host through
:func:`to_numpy`, is settled there in float64, and goes back through :func:`moved`. Fitted
attributes are NumPy arrays.

Rows in files or on other machines are *remote* (:mod:`nearkin.rows.base`): some are taken by their
numbers, and sums over all are made where they are. Blocks of them may be sent to a device
(:mod:`nearkin.rows.feed`), where they are foreign without scikit-learn's dispatch.

What learners do with rows, wherever they are, is in :mod:`nearkin.rows.access`, and arithmetic that
the array standard lacks in :mod:`nearkin.rows.device_math`. Only these, and hot loops, which are
compiled for the host, ask where rows are (:func:`is_foreign`, :func:`is_remote`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config

from nearkin.errors import InputTypeError, MissingPackageError
from nearkin.rows.base import RemoteRows

try:  # since scikit-learn 1.7
    array_api_compat: Any = import_module("sklearn.externals.array_api_compat")
except ImportError:
    array_api_compat = None

Array = Any  # an array of torch or CuPy
LIBRARIES = ("torch", "cupy")
# Compute capabilities of devices made for scientific computing.
_FAST_FLOAT64 = ("60", "70", "80", "90", "100")
# Whether arrays of torch are here because the house has put them on their device itself.
_of_the_house: ContextVar[bool] = ContextVar("of_the_house", default=False)


def is_foreign(X: Any) -> bool:
    """Whether X is an array of torch or CuPy, and scikit-learn's dispatch (or ours) is on."""
    if isinstance(X, np.ndarray) or library(X) is None:
        return False
    return _of_the_house.get() or bool(get_config()["array_api_dispatch"])


@contextmanager
def dispatched() -> Iterator[None]:
    """Have arrays of torch and CuPy be foreign in a block, whatever scikit-learn's setting is.

    For rows that the house itself has put on a device, and functions of its own: scikit-learn's
    dispatch needs ``SCIPY_ARRAY_API=1`` before SciPy is imported, and neither SciPy nor
    scikit-learn is given these rows.
    """
    before = _of_the_house.set(True)
    try:
        yield
    finally:
        _of_the_house.reset(before)


def is_remote(X: Any) -> bool:
    """Whether X is in a file or on other machines."""
    return isinstance(X, RemoteRows)


def library(X: Any) -> str | None:
    """``"torch"``, ``"cupy"``, or None for everything else."""
    if not (hasattr(X, "dtype") and hasattr(X, "device")):
        return None
    names = [base.__module__.partition(".")[0] for base in type(X).__mro__]  # of subclasses too
    return next((name for name in names if name in LIBRARIES), None)


def namespace(X: Any) -> Any:
    """Functions of the array standard for X: NumPy's, unless X is an array of torch or CuPy."""
    if isinstance(X, np.ndarray) or library(X) is None:
        return np
    if array_api_compat is None:
        import sklearn

        raise MissingPackageError(
            f"arrays of {library(X)} need scikit-learn 1.7 or later, found {sklearn.__version__}: "
            "update it, or give NumPy arrays."
        )
    return array_api_compat.array_namespace(X)


def home(X: Any) -> str | None:
    """Library and device of a foreign array in words, None for all others."""
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
    """Types of floating-point numbers that are kept, in X's own words; the first is the default."""
    if not is_foreign(X):
        return [np.float64, np.float32]
    xp = namespace(X)
    return [xp.float64, xp.float32] if has_float64(X) else [xp.float32]


def dtype_name(X: Array) -> str:
    """``"float32"``, whatever the library calls it."""
    return str(X.dtype).rpartition(".")[2]


def to_numpy(X: Any) -> NDArray[Any]:
    """A small array on the host. Arrays of NumPy, and what it can read, as they are.

    The only way out of a device: what passes here is copied.
    """
    refuse_stranded(X, "the array")
    if library(X) == "torch":
        return np.asarray(X.detach().cpu().numpy())
    if library(X) == "cupy":
        return np.asarray(X.get())
    return np.asarray(X)


def moved(values: Any, like: Any, dtype: str | None = None) -> Array:
    """A small array of the host, where ``like`` is.

    Parameters
    ----------
    values : array-like
    like : array
    dtype : str, optional
        That of ``like`` for floating-point numbers by default, int64 for whole ones.
    """
    xp = namespace(like)
    values = np.asarray(values)
    if dtype is None:
        dtype = {"f": dtype_name(like), "i": "int64", "u": "int64"}.get(values.dtype.kind)
    if xp is np:
        return values if dtype is None else values.astype(dtype, copy=False)
    # A copy: torch would share memory, and warn if it is read-only.
    values = np.array(values, dtype=dtype)
    return xp.asarray(values, device=like.device)


def at_home(X: Any) -> NDArray[Any]:
    """An array that a fitted learner keeps, on the host: whether dispatch is on or not.

    Sparse matrices and arrays of NumPy as they are.
    """
    if library(X) is None:
        found: NDArray[Any] = X
        return found
    with dispatched():
        return to_numpy(X)


def beside(kept: Any, X: Any) -> Array:
    """An array that a fitted learner keeps, where the rows X are that it is asked about.

    It is copied if it is elsewhere, whether dispatch is on or not. Its type stays.
    """
    if library(kept) == library(X) and (library(X) is None or kept.device == X.device):
        return kept
    kept = at_home(kept)
    return moved(kept, X, str(kept.dtype)) if isinstance(kept, np.ndarray) else kept


def wide(X: Any) -> Array:
    """X in float64, if its device knows that; X itself if it is that already."""
    xp = namespace(X)
    if xp is np:  # sparse too
        return X.astype(np.float64, copy=False)
    return xp.astype(X, xp.float64, copy=False) if has_float64(X) else X


def as_type(X: Any, dtype: Any) -> Array:
    """X in another type, X itself if it is that already."""
    if hasattr(X, "astype"):
        return X.astype(dtype, copy=False)
    return namespace(X).astype(X, dtype, copy=False)


def empty(shape: tuple[int, ...], like: Any, dtype: Any = None) -> Array:
    """An array to be filled, where ``like`` is and by default of its type."""
    xp, dtype = namespace(like), like.dtype if dtype is None else dtype
    if xp is np:  # like may be sparse
        return np.empty(shape, dtype=dtype)
    return xp.empty(shape, dtype=dtype, device=like.device)


def on_host(X: Any) -> bool:
    """Whether X is in the host's memory, of whatever library."""
    return library(X) is None or (library(X) == "torch" and X.device.type == "cpu")


def has_float64(X: Array) -> bool:
    """Whether X's device knows double precision."""
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
