"""Rows that are checked before anything is learned of them, wherever they are."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from nearkin.errors import InputError, InputTypeError, about_input
from nearkin.registry import LEARNERS
from nearkin.rows.base import RemoteRows
from nearkin.rows.devices import (
    LIBRARIES,
    dtype_name,
    float_dtypes,
    home,
    is_foreign,
    is_remote,
    library,
    refuse_stranded,
)
from nearkin.rows.given import in_order_of_fit, refuse_gaps, refuse_what_is_no_table, refuse_words
from nearkin.rows.sparse import canonical, is_sparse

Array = Any  # an array of torch or CuPy
# What takes sparse rows, in words.
TAKE_SPARSE = (
    f"{', '.join(learner.name for learner in LEARNERS if learner.sparse)}, MPCKMeans, "
    "EnergyClassifier and NeighborIndex"
)


def validated(learner: Any, X: Any, *, reset: bool, **options: Any) -> Any:
    """X as scikit-learn's ``validate_data`` gives it, in float32 or float64, wherever it is.

    Parameters
    ----------
    learner : estimator
        With ``_array_api = True`` if it takes foreign arrays, ``_remote = True`` if remote rows,
        and ``_encoded(X, reset)`` if it makes numbers of tables.
    X : array or RemoteRows
    reset : bool
        Whether this is ``fit``.
    **options
        Of ``validate_data``, such as ``y``.

    Raises
    ------
    TypeError
        If X is foreign and the learner does not take that, or of a type that is too coarse.
    ValueError
        If X is a data frame with columns that are not numbers.
    """
    if is_remote(X):
        return _checked_remote(learner, X, reset=reset)
    refuse_stranded(X)
    _refuse_unknown(X)
    refuse_what_is_no_table(X)
    if hasattr(learner, "_encoded"):
        X = learner._encoded(X, reset=reset)
    if not reset:
        X = in_order_of_fit(learner, X)
    refuse_words(X, learner=learner, fitted=not reset)
    if is_sparse(X):
        if not options.get("accept_sparse"):
            _refuse_sparse(learner)
        X = canonical(X)
    if is_foreign(X):
        X = _checked(learner, X)
    options = {"dtype": float_dtypes(X), "ensure_all_finite": is_foreign(X), **options}
    is_array = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f"
    if is_array:  # as scikit-learn does, before columns are counted
        _refuse_gaps(X, X, learner=learner, fitted=not reset)
    with about_input():
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
    with about_input():
        found = check_array(X, input_name=name, **options)
    _refuse_gaps(found, X, name)
    return found


def _refuse_gaps(X: Any, given: Any, name: str = "X", **context: Any) -> None:
    if not (is_foreign(X) or get_config()["assume_finite"]):  # foreign ones are checked already
        refuse_gaps(X, given, name, **context)


def _refuse_unknown(X: Any) -> None:
    """Under dispatch scikit-learn would leave arrays of any library as they are."""
    unknown = hasattr(X, "__array_namespace__") and not isinstance(X, np.ndarray)
    if unknown and not is_foreign(X) and get_config()["array_api_dispatch"]:
        raise InputTypeError(
            f"X is an array of {type(X).__module__.partition('.')[0]}, but only those of NumPy, "
            f"{' and '.join(LIBRARIES)} are known: give one of these."
        )


def _refuse_sparse(learner: Any) -> None:
    kernel = getattr(learner, "kernel", None)
    if kernel == "precomputed":
        raise InputTypeError(
            "X is a sparse matrix, but a kernel matrix is dense: give K.toarray()."
        )
    raise InputTypeError(
        f"X is a sparse matrix, which {type(learner).__name__} does not take. {TAKE_SPARSE} do; or "
        "make its rows dense first, in as many columns as serve: Chain([TruncatedSVD(100), "
        f"{type(learner).__name__}(...)]), or X.toarray() if there are few."
    )


def _checked(learner: Any, X: Array) -> Array:
    if not getattr(learner, "_array_api", False):
        raise InputTypeError(
            f"{type(learner).__name__} takes NumPy arrays only, got one of {home(X)}: give "
            f"{'X.cpu().numpy()' if library(X) == 'torch' else 'X.get()'}."
        )
    if dtype_name(X) in ("float16", "bfloat16"):
        raise InputTypeError(
            f"X is of type {dtype_name(X)}, which is too coarse for distances: give "
            f"{'X.float()' if library(X) == 'torch' else 'X.astype(cupy.float32)'}."
        )
    return X.detach() if library(X) == "torch" else X


def _checked_remote(learner: Any, X: RemoteRows, *, reset: bool) -> RemoteRows:
    """X, with what scikit-learn would check of it; its numbers are checked as they are read."""
    name = type(learner).__name__
    if not getattr(learner, "_remote", False):
        raise InputTypeError(
            f"{name} takes arrays only, not rows that are read block by block: give it some of "
            "them, for example rows.take(numbers)."
        )
    if X.device is not None and not getattr(learner, "_array_api", False):
        raise InputTypeError(
            f"{name} works on the host only, but the rows are opened with device={X.device!r}: "
            "leave that out."
        )
    d = X.n_columns
    if reset:
        n = X.shape[0]
        if n < 2:
            raise InputError(f"Found X with {n} sample(s), but {name} needs at least 2.")
        learner.n_features_in_ = d
        if X.names is not None:
            learner.feature_names_in_ = np.asarray(X.names, dtype=object)
        return X
    if d != learner.n_features_in_:
        raise InputError(
            f"X has {d} features, but {name} is expecting {learner.n_features_in_} features as "
            "input."
        )
    known = getattr(learner, "feature_names_in_", None)
    if known is not None and X.names is not None and list(known) != X.names:
        other = next((a, b) for a, b in zip(known, X.names, strict=True) if a != b)
        raise InputError(
            f"{name} was fitted to other columns: {other[0]!r} where these rows have {other[1]!r}. "
            "Choose the same columns in the same order."
        )
    return X
