"""One row where rows are taken: the result has no axis for it."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from numbers import Real
from typing import Any, TypeVar, cast

from nearkin.rows.devices import library

Method = TypeVar("Method", bound=Callable[..., Any])


def matrix_of_rows(method: Method) -> Method:
    """Let ``method(X_a, X_b=None)``, which gives a matrix, take single rows.

    Of a row x, ``method(x, X)`` is of shape (n,), and of two rows it is a number.
    """

    @wraps(method)
    def taking(self: Any, X_a: Any, X_b: Any = None) -> Any:
        rows_a, rows_b = as_rows(self, X_a), as_rows(self, X_b)
        found = method(self, rows_a, rows_b)
        one_a = rows_a is not X_a
        one_b = one_a if X_b is None else rows_b is not X_b
        if not (one_a or one_b):
            return found
        return found[0 if one_a else slice(None), 0 if one_b else slice(None)]

    return cast(Method, taking)


def row_by_row(method: Method) -> Method:
    """Let ``method(X_a, X_b)``, which gives a distance for each row, take single rows.

    A row x is compared with all of the other's rows, and of two rows it is a number.
    """

    @wraps(method)
    def taking(self: Any, X_a: Any, X_b: Any) -> Any:
        rows_a, rows_b = as_rows(self, X_a), as_rows(self, X_b)
        one_a, one_b = rows_a is not X_a, rows_b is not X_b
        if one_a != one_b:
            return self.distance(X_a, X_b)
        found = method(self, rows_a, rows_b)
        return found[0] if one_a else found

    return cast(Method, taking)


def as_rows(learner: Any, x: Any) -> Any:
    """A single row as an array or frame of one; everything else as it is.

    Where rows are texts, which have no columns, one axis is that of rows.
    """
    if not hasattr(learner, "n_features_in_"):
        return x
    if hasattr(x, "to_frame") and hasattr(x, "index"):  # a row of a frame of pandas
        knows_names = hasattr(learner, "feature_names_in_") or hasattr(learner, "table_")
        named = knows_names and all(isinstance(k, str) for k in x.index)
        return x.to_frame().T.infer_objects() if named else x.to_numpy().reshape(1, -1)
    if isinstance(x, list | tuple):
        return [x] if len(x) and isinstance(x[0], Real) else x
    if getattr(x, "ndim", None) != 1:
        return x
    if library(x) is not None:
        return x[None, :]
    return x.reshape(1, -1) if hasattr(x, "reshape") else x
