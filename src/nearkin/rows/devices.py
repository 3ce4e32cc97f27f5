"""Rows that are not NumPy's: arrays of torch and CuPy, and rows in files or on other machines.

Under scikit-learn's dispatch (``sklearn.config_context(array_api_dispatch=True)``) an array of
another library than NumPy is *foreign*: what has as many rows as the data stays on its device,
in its library. What is small (landmarks, sums over rows, rows of pairs) comes to the host through
:func:`to_numpy`, is settled there in float64, and goes back through :func:`moved`. Fitted
attributes are NumPy arrays.

Rows in files or on other machines are *remote* (:mod:`nearkin.rows.base`): some are taken by their
numbers, and sums over all are made where they are.

Functions branch on :func:`is_foreign` and :func:`is_remote` where an operation differs for NumPy's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn import get_config
from sklearn.utils import _safe_indexing, check_array
from sklearn.utils.validation import validate_data

from nearkin.rows.base import Parts, RemoteRows, added
from nearkin.rows.given import frame_of, refuse_gaps, refuse_what_is_no_table, refuse_words
from nearkin.rows.sparse import canonical, is_sparse

try:  # since scikit-learn 1.7
    array_api_compat: Any = import_module("sklearn.externals.array_api_compat")
except ImportError:
    array_api_compat = None

Array = Any  # an array of torch or CuPy
LIBRARIES = ("torch", "cupy")
# Working memory of a block of rows: on an accelerator at most this, and this share of all it has;
# and where the host's own caches count.
_BLOCK_BYTES = {"accelerator": 2**30, "cpu": 2**24}
_SHARE_OF_MEMORY = 1 / 32
# Rows of an array that are summed over at a time.
_SUMMED_ROWS = 65536
# Rows that tell where the middle of all is.
MIDDLE_ROWS = 101
# Up to so many of the smallest, one pass for each beats sorting on an accelerator.
_MOST_PASSES = 16
# What takes sparse rows, in words.
TAKE_SPARSE = (
    "MetricLearner, KernelBeta, KernelA, GeometryAware, ITML, GMML, RCA, Euclidean, MPCKMeans, "
    "EnergyClassifier and NeighborIndex"
)
# Compute capabilities of devices made for scientific computing.
_FAST_FLOAT64 = ("60", "70", "80", "90", "100")
# The sign iteration has arrived when the smallest eigenvalue is this near to 1, and no step
# stretches by more: the largest eigenvalues would come back to zero, where rounding decides.
_ARRIVED = 1e-14
_MOST_STRETCH = 1.6


def is_foreign(X: Any) -> bool:
    """Whether X is an array of torch or CuPy, and scikit-learn's dispatch is on."""
    if isinstance(X, np.ndarray) or library(X) is None:
        return False
    return bool(get_config()["array_api_dispatch"])


def is_remote(X: Any) -> bool:
    """Whether X is in a file or on other machines."""
    return isinstance(X, RemoteRows)


def library(X: Any) -> str | None:
    """``"torch"``, ``"cupy"``, or None for everything else."""
    if not (hasattr(X, "dtype") and hasattr(X, "device")):
        return None
    names = [base.__module__.partition(".")[0] for base in type(X).__mro__]  # of subclasses too
    return next((name for name in names if name in LIBRARIES), None)


def namespace(X: Array) -> Any:
    """Functions of the array API standard for a foreign array."""
    if array_api_compat is None:
        import sklearn

        raise ImportError(
            f"arrays of {library(X)} need scikit-learn 1.7 or later, found {sklearn.__version__}: "
            "update it, or give NumPy arrays."
        )
    return array_api_compat.array_namespace(X)


def home(X: Any) -> str | None:
    """Library and device of a foreign array in words, None for all others."""
    return f"{library(X)} on {X.device}" if is_foreign(X) else None


def refuse_stranded(X: Any, name: str = "X") -> None:
    """Raise if X is on an accelerator while dispatch is off: NumPy could not read it."""
    if is_foreign(X) or library(X) is None or _on_host(X):
        return
    remedy = "X.cpu()" if library(X) == "torch" else "X.get()"
    raise TypeError(
        f"{name} is an array of {library(X)} on {X.device}, but scikit-learn's array API dispatch "
        "is off: set the environment variable SCIPY_ARRAY_API=1 before SciPy is imported and use "
        "'with sklearn.config_context(array_api_dispatch=True):' to work on that device, or "
        f"give {remedy.replace('X', name)} to work on the host."
    )


def validated(learner: Any, X: Any, *, reset: bool, **options: Any) -> Any:
    """X as scikit-learn's ``validate_data`` gives it, in float32 or float64, wherever it is.

    Parameters
    ----------
    learner : estimator
        With ``_array_api = True`` if it takes foreign arrays, ``_remote = True`` if remote rows.
    X : array or RemoteRows
    reset : bool
        Whether this is ``fit``, which settles where foreign X must be from then on.
    **options
        Of ``validate_data``, such as ``y``.

    Raises
    ------
    TypeError
        If X is foreign and the learner does not take that, or of a type that is too coarse.
    ValueError
        If X is not where ``fit`` had it, or a data frame with columns that are not numbers.
    """
    if is_remote(X):
        return _checked_remote(learner, X, reset=reset)
    refuse_stranded(X)
    _refuse_unknown(X)
    refuse_what_is_no_table(X)
    refuse_words(X, learner=learner, fitted=not reset)
    if is_sparse(X):
        if not options.get("accept_sparse"):
            _refuse_sparse(learner)
        X = canonical(X)
    if is_foreign(X):
        X = _checked(learner, X)
    if not reset:
        _refuse_moved(learner, X)
    elif is_foreign(X):
        learner._home = home(X)
    else:
        vars(learner).pop("_home", None)
    options = {"dtype": float_dtypes(X), "ensure_all_finite": is_foreign(X), **options}
    is_array = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
    if is_array:  # as scikit-learn does, before columns are counted
        _refuse_gaps(X, X, learner=learner, fitted=not reset)
    found = validate_data(learner, X, reset=reset, **options)
    if not is_array:
        rows = found[0] if isinstance(found, tuple) else found  # with y
        _refuse_gaps(rows, X, learner=learner, fitted=not reset)
    return found


def checked_rows(X: Any, name: str = "X", **options: Any) -> Any:
    """X as scikit-learn's ``check_array`` gives it, with errors like those of :func:`validated`.

    Parameters
    ----------
    X : array, sparse matrix or frame
    name : str
    **options
        Of ``check_array``.
    """
    refuse_stranded(X, name)
    refuse_what_is_no_table(X, name)
    refuse_words(X, name)
    if is_sparse(X) and options.get("accept_sparse"):
        X = canonical(X)
    options = {"dtype": float_dtypes(X), "ensure_all_finite": is_foreign(X), **options}
    found = check_array(X, input_name=name, **options)
    _refuse_gaps(found, X, name)
    return found


def _refuse_gaps(X: Any, given: Any, name: str = "X", **context: Any) -> None:
    if not (is_foreign(X) or get_config()["assume_finite"]):  # foreign ones are checked already
        refuse_gaps(X, given, name, **context)


def float_dtypes(X: Any) -> list[Any]:
    """Types of floating-point numbers that are kept, in X's own words; the first is the default."""
    if not is_foreign(X):
        return [np.float64, np.float32]
    xp = namespace(X)
    return [xp.float64, xp.float32] if _has_float64(X) else [xp.float32]


def _refuse_unknown(X: Any) -> None:
    """Under dispatch scikit-learn would leave arrays of any library as they are."""
    unknown = hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray)
    if unknown and not is_foreign(X) and get_config()["array_api_dispatch"]:
        raise TypeError(
            f"X is an array of {type(X).__module__.partition('.')[0]}, but only those of NumPy, "
            f"{' and '.join(LIBRARIES)} are known: give one of these."
        )


def _refuse_sparse(learner: Any) -> None:
    kernel = getattr(learner, "kernel", None)
    if kernel == "precomputed":
        raise TypeError("X is a sparse matrix, but a kernel matrix is dense: give K.toarray().")
    raise TypeError(
        f"X is a sparse matrix, which {type(learner).__name__} does not take. {TAKE_SPARSE} do; or "
        "make its rows dense first, in as many columns as serve: Chain([TruncatedSVD(100), "
        f"{type(learner).__name__}(...)]), or X.toarray() if there are few."
    )


def _checked(learner: Any, X: Array) -> Array:
    if not getattr(learner, "_array_api", False):
        raise TypeError(
            f"{type(learner).__name__} takes NumPy arrays only, got one of {home(X)}: give "
            f"{'X.cpu().numpy()' if library(X) == 'torch' else 'X.get()'}."
        )
    if dtype_name(X) in ("float16", "bfloat16"):
        raise TypeError(
            f"X is of type {dtype_name(X)}, which is too coarse for distances: give "
            f"{'X.float()' if library(X) == 'torch' else 'X.astype(cupy.float32)'}."
        )
    return X.detach() if library(X) == "torch" else X


def _checked_remote(learner: Any, X: RemoteRows, *, reset: bool) -> RemoteRows:
    """X, with what scikit-learn would check of it; its numbers are checked as they are read."""
    name = type(learner).__name__
    if not getattr(learner, "_remote", False):
        raise TypeError(
            f"{name} takes arrays only, not rows that are read block by block: give it some of "
            "them, for example rows.take(numbers)."
        )
    d = X.n_columns
    if reset:
        n = X.shape[0]
        if n < 2:
            raise ValueError(f"Found X with {n} sample(s), but {name} needs at least 2.")
        vars(learner).pop("_home", None)
        learner.n_features_in_ = d
        vars(learner).pop("feature_names_in_", None)
        if X.names is not None:
            learner.feature_names_in_ = np.asarray(X.names, dtype=object)
        return X
    if d != learner.n_features_in_:
        raise ValueError(
            f"X has {d} features, but {name} is expecting {learner.n_features_in_} features as "
            "input."
        )
    known = getattr(learner, "feature_names_in_", None)
    if known is not None and X.names is not None and list(known) != X.names:
        other = next((a, b) for a, b in zip(known, X.names, strict=True) if a != b)
        raise ValueError(
            f"{name} was fitted to other columns: {other[0]!r} where these rows have {other[1]!r}. "
            "Choose the same columns in the same order."
        )
    return X


def _refuse_moved(learner: Any, X: Any) -> None:
    then, now = getattr(learner, "_home", None), home(X)
    if then != now:
        raise ValueError(
            f"{type(learner).__name__} was fitted to an array of {then or 'NumPy'}, but X is one "
            f"of {now or 'NumPy'}: bring X to where the learner was fitted, or fit it where X is."
        )


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


def moved(values: Any, like: Array, dtype: str | None = None) -> Array:
    """A small array of the host, where ``like`` is.

    Parameters
    ----------
    values : array-like
    like : foreign array
    dtype : str, optional
        That of ``like`` for floating-point numbers by default, int64 for whole ones.
    """
    xp = namespace(like)
    values = np.array(values)  # a copy: torch would share memory, and warn if it is read-only
    if dtype is None:
        dtype = {"f": dtype_name(like), "i": "int64", "u": "int64"}.get(values.dtype.kind)
    if dtype is not None:
        values = values.astype(dtype)
    return xp.asarray(values, device=like.device)


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


def named(classes: NDArray[Any], numbers: Any, like: Array) -> Any:
    """Labels of class numbers: where ``like`` is if they are numbers, NumPy's if they are not."""
    if classes.dtype.kind not in "biuf":
        return classes[to_numpy(numbers)]
    numbers = moved(numbers, like) if isinstance(numbers, np.ndarray) else numbers
    return gathered(moved(classes, like, classes.dtype.name), numbers)


def wide(X: Array) -> Array:
    """X in float64, if its device knows that."""
    return namespace(X).astype(X, namespace(X).float64, copy=False) if _has_float64(X) else X


def blocks(X: Array, bytes_per_row: int, most: int | None = None) -> Iterator[slice]:
    """Consecutive slices of rows, as many at a time as X's device should hold at once.

    ``most`` bytes on an accelerator, if it has room: a gigabyte by default.
    """
    if _on_host(X):
        budget = _BLOCK_BYTES["cpu"]
    else:
        room = int(_SHARE_OF_MEMORY * _memory(X))
        budget = min(most or _BLOCK_BYTES["accelerator"], room)
    size = max(64, budget // max(1, bytes_per_row))
    for start in range(0, X.shape[0], size):
        yield slice(start, min(start + size, X.shape[0]))


def _on_host(X: Array) -> bool:
    return library(X) == "torch" and X.device.type == "cpu"


def _memory(X: Array) -> int:
    """Bytes of memory of X's device."""
    if library(X) == "cupy":
        return int(X.device.mem_info[1])
    if X.device.type == "cuda":
        import torch

        return int(torch.cuda.get_device_properties(X.device).total_memory)
    return int(_BLOCK_BYTES["accelerator"] / _SHARE_OF_MEMORY)


def _has_float64(X: Array) -> bool:
    return not (library(X) == "torch" and X.device.type == "mps")


def has_fast_float64(X: Array) -> bool:
    """Whether X's device multiplies in float64 as fast as in float32, or nearly so."""
    if library(X) == "cupy":
        capability = X.device.compute_capability  # such as "90"
    elif X.device.type == "cuda":
        import torch

        capability = "{}{}".format(*torch.cuda.get_device_capability(X.device))
    else:
        return _on_host(X)
    return capability in _FAST_FLOAT64


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


def class_sums(
    X: Array, classes: NDArray[np.integer], n_classes: int
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sums (c, q) of the rows of each class, and of their squares, in float64."""
    xp = namespace(X)
    numbers, each = moved(classes, X), moved(np.arange(n_classes), X)
    sums: Any = 0.0
    squares: Any = 0.0
    for rows in blocks(X, 8 * (n_classes + 3 * X.shape[1])):
        block = wide(X[rows])
        indicator = xp.astype(each[:, None] == numbers[rows], block.dtype)
        sums = sums + indicator @ block
        squares = squares + indicator @ (block * block)
    return to_numpy(sums), to_numpy(squares)


def within_scatters(
    X: Array, classes: NDArray[np.integer], means: NDArray[np.floating], weight: Any
) -> NDArray[np.float64]:
    """``Σ_i weight_i (x_i − mean)(x_i − mean)ᵀ`` around the mean of each row's class, in float64.

    Parameters
    ----------
    X : foreign array of shape (n, q)
    classes : int ndarray of shape (n,)
    means : ndarray of shape (c, q)
    weight : ndarray of shape (c, k)
        k weights for the rows of each class: as many matrices are returned.

    Returns
    -------
    ndarray of shape (k, q, q)
    """
    xp = namespace(X)
    numbers = moved(classes, X)
    precise = "float64" if _has_float64(X) else "float32"
    centers, weights = moved(means, X, precise), moved(np.asarray(weight), X, precise)
    totals: list[Any] = [0.0] * weights.shape[1]
    for rows in blocks(X, 40 * X.shape[1]):
        own = numbers[rows]
        centered = wide(X[rows]) - xp.take(centers, own, axis=0)
        for k, total in enumerate(totals):
            scaled = xp.take(weights[:, k], own, axis=0)[:, None] * centered
            totals[k] = total + scaled.T @ centered
    return np.stack([to_numpy(total) for total in totals])


def evenly_spaced(n_rows: int, most: int) -> NDArray[np.int64]:
    """Numbers of that many rows, or of all if there are fewer."""
    return np.linspace(0, n_rows - 1, min(n_rows, most)).astype(np.int64)


def middle(X: Array) -> Array:
    """Median of each column over some evenly spaced rows."""
    some = take(X, evenly_spaced(X.shape[0], MIDDLE_ROWS))
    return namespace(X).sort(some, axis=0)[some.shape[0] // 2]


def squared_distances(A: Array, B: Array, origin: Array) -> tuple[Array, Array]:
    """Squared Euclidean distances through a product, in float64 around an origin near B.

    With them, for each row of A, the size below which they are rounding.
    """
    xp = namespace(A)
    eps = float(xp.finfo(A.dtype).eps)
    origin = wide(origin)
    A, B = wide(A) - origin, wide(B) - origin
    own, other = xp.sum(A * A, axis=1), xp.sum(B * B, axis=1)
    squared = -2.0 * (A @ B.T)
    squared = squared + own[:, None] + other
    return clipped(squared, 0.0), 8 * eps * (own + xp.max(other))


def distances(A: Array, B: Array, *, city_block: bool = False) -> Array:
    """Distances from differences, without cancellation: O(n_A n_B) memory beside a block."""
    if library(A) == "torch":
        import torch

        exact = "donot_use_mm_for_euclid_dist"
        return torch.cdist(A, B, p=1.0 if city_block else 2.0, compute_mode=exact)
    xp = namespace(A)
    out = xp.empty((A.shape[0], B.shape[0]), dtype=A.dtype, device=A.device)
    for rows in blocks(A, 16 * B.shape[0] * B.shape[1]):
        difference = A[rows, None, :] - B[None, :, :]
        if city_block:
            out[rows] = xp.sum(xp.abs(difference), axis=2)
        else:
            out[rows] = xp.sqrt(xp.sum(difference * difference, axis=2))
    return out


def clipped(X: Array, least: float, most: float | None = None) -> Array:
    """X with entries raised to ``least`` and lowered to ``most``.

    The layer's own ``clip`` goes by masks, which makes an accelerator wait for each.
    """
    return X.clip(least, most)


def product_plus(A: Array, B: Array, row: Array) -> Array:
    """``A @ B + row``, in one pass over the result where the library has that."""
    if library(A) == "torch":
        import torch

        return torch.addmm(row, A, B)
    return A @ B + row


def smallest(values: Array, k: int) -> tuple[Array, Array]:
    """The k smallest of each row and their positions, in increasing order.

    Parameters
    ----------
    values : foreign array of shape (n, m)
        May be overwritten.
    k : int

    Returns
    -------
    values, positions : arrays of shape (n, k)
    """
    xp = namespace(values)
    if library(values) == "torch" and (_on_host(values) or k > _MOST_PASSES):
        import torch

        return tuple(torch.topk(values, k, dim=1, largest=False, sorted=True))
    if k > _MOST_PASSES:
        found = xp.argsort(values, axis=1)[:, :k]
        return xp.take_along_axis(values, found, axis=1), found
    rows = xp.arange(values.shape[0], device=values.device)
    columns, taken = [], []
    for turn in range(k):
        place = xp.argmin(values, axis=1)
        columns.append(place)
        taken.append(values[rows, place])
        if turn + 1 < k:
            values[rows, place] = xp.inf
    return xp.stack(taken, axis=1), xp.stack(columns, axis=1)


def nearest_rows(A: Array, B: Array, k: int, *, skip_self: bool = False) -> tuple[Array, Array]:
    """Squared distances to, and row numbers of, the k nearest rows of B for each row of A.

    Parameters
    ----------
    A, B : foreign arrays of shape (n, q) and (m, q)
    k : int
    skip_self : bool
        A is B, and a row is not its own neighbour.

    Notes
    -----
    O(n m q) time; memory for a block of distances. They are in float64, and those of the k
    nearest are computed again from differences.
    """
    xp = namespace(A)
    near, place = [], []
    origin = middle(B)
    for rows in blocks(A, 32 * B.shape[0]):
        squared, _ = squared_distances(A[rows], B, origin)
        if skip_self:
            own = xp.arange(rows.start, rows.stop, device=A.device)
            squared[own - rows.start, own] = xp.inf
        found = smallest(squared, k)[1]
        difference = wide(A[rows])[:, None, :] - wide(gathered(B, found))
        exact = xp.sum(difference * difference, axis=2)
        order = xp.argsort(exact, axis=1, stable=True)
        near.append(xp.take_along_axis(exact, order, axis=1))
        place.append(xp.take_along_axis(found, order, axis=1))
    return xp.concat(near), xp.concat(place)


def gathered(B: Array, positions: Array) -> Array:
    """``B[positions]`` for positions of any shape."""
    xp = namespace(B)
    flat = xp.take(B, xp.reshape(positions, (-1,)), axis=0)
    return xp.reshape(flat, (*positions.shape, *B.shape[1:]))


def solved(matrices: Array, right: Array, least_pivot: float) -> Array:
    """Solutions of many small positive definite systems, by Cholesky's factorisation.

    Parameters
    ----------
    matrices : foreign array of shape (k, k, n)
        The systems along the last axis; only lower triangles are read.
    right : foreign array of shape (k, n)
    least_pivot : float
        Pivots are raised to this, against rounding.

    Returns
    -------
    array of shape (k, n)
    """
    xp = namespace(matrices)
    k = matrices.shape[0]
    columns, forward = [], []
    rest, values = matrices, right
    for _ in range(k):
        pivot = xp.sqrt(clipped(rest[0, 0], least_pivot))
        column, value = rest[1:, 0] / pivot, values[0] / pivot
        columns.append((pivot, column))
        forward.append(value)
        values = values[1:] - column * value
        rest = rest[1:, 1:] - column[:, None] * column[None, :]
    solution: list[Array] = []
    for (pivot, column), value in zip(reversed(columns), reversed(forward), strict=True):
        for a, known in enumerate(solution):
            value = value - column[a] * known
        solution.insert(0, value / pivot)
    return xp.stack(solution)


def sign_function(matrices: Array, smallest_eigenvalue: float) -> Any:
    r"""Matrix sign function by the iteration of Newton and Schulz: products only.

    Parameters
    ----------
    matrices : array of shape (n, d, d)
        Symmetric, of norm at most 1; of any library, NumPy included.
    smallest_eigenvalue : float
        Eigenvalues of this size, relative to the norm, arrive at ±1; smaller ones may not.

    Notes
    -----
    Each step, :math:`S \leftarrow \tfrac\rho2 S (3 I - \rho^2 S^2)`, is two products. Eigenvectors
    would do as well, but torch finds those of one matrix after another.
    """
    sign = matrices
    for stretch in sign_iteration_scales(smallest_eigenvalue):
        square = sign @ sign
        if library(sign) == "torch":  # the same in one pass over the result
            import torch

            sign = torch.baddbmm(sign, sign, square, beta=1.5 * stretch, alpha=-0.5 * stretch**3)
            continue
        sign = (0.5 * stretch) * (3.0 * sign - stretch**2 * (sign @ square))
    return sign


def sign_iteration_scales(smallest: float) -> list[float]:
    r"""Factors ρ of the steps :math:`S \leftarrow \tfrac\rho2 S (3 I - \rho^2 S^2)`.

    They bring eigenvalues between ``smallest`` and 1 to 1 in the fewest steps, short of factors
    that would bring the largest back to zero, where rounding decides on the sign.
    """
    scales = []
    lower = smallest
    while 1 - lower > _ARRIVED:
        scale = min(_MOST_STRETCH, (3 / (1 + lower + lower**2)) ** 0.5)
        scales.append(scale)
        lower = scale * lower * (3 - (scale * lower) ** 2) / 2
    return scales


def log_determinants(matrices: Array) -> Array:
    """Of positive definite matrices, (n, d, d): by Cholesky, which is fast in batches.

    A matrix that rounding has made indefinite goes by its LU factorisation.
    """
    xp = namespace(matrices)
    if library(matrices) == "torch":
        import torch

        factors, failed = torch.linalg.cholesky_ex(matrices)
        failed = failed != 0
    else:
        factors = xp.linalg.cholesky(matrices)
        failed = None
    found = 2.0 * xp.sum(xp.log(xp.linalg.diagonal(factors)), axis=-1)
    failed = ~xp.isfinite(found) if failed is None else failed | ~xp.isfinite(found)
    if bool(xp.any(failed)):
        those = xp.nonzero(failed)[0]
        found[those] = xp.linalg.slogdet(xp.take(matrices, those, axis=0))[1]
    return found
