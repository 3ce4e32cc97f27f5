"""Class labels, full or partial, as class numbers."""

from __future__ import annotations

import operator
from collections.abc import Hashable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError
from nearkin.rows import devices


def class_numbers(y: Any) -> NDArray[np.int64]:
    """Give each label the number of its class, from 0, or −1 where it is unknown.

    Parameters
    ----------
    y : array-like of shape (n,)
        Classes as whole numbers, strings, booleans, dates or other hashable objects. Negative
        numbers, None, NaN, NaT, pandas.NA and what a masked array hides mean unknown.

    Returns
    -------
    int ndarray of shape (n,)
    """
    if devices.library(y) is not None:
        devices.refuse_stranded(y, "y")
        y = devices.to_numpy(y)
    # A list becomes objects first: NumPy would turn the NaN of ["a", NaN] into a string.
    labels = np.asarray(y) if hasattr(y, "__array__") else np.array(y, dtype=object)
    if labels.ndim != 1:
        raise InputError(f"y must hold one label per row of X, got shape {labels.shape}")
    classes = np.full(len(labels), -1, dtype=np.int64)
    known = np.flatnonzero(~np.ma.getmaskarray(y)) if np.ma.isMA(y) else np.arange(len(labels))
    labels = labels[known]
    if labels.dtype.kind == "O":
        told = np.array([_is_known(label) for label in labels], dtype=bool)
        known, labels = known[told], labels[told]
        if not all(isinstance(label, Real) for label in labels):
            numbering: dict[Hashable, int] = {}
            classes[known] = [numbering.setdefault(label, len(numbering)) for label in labels]
            return classes
        labels = np.array(labels.tolist())
    if labels.dtype.kind == "f":
        whole = np.isnan(labels) | (np.isfinite(labels) & (labels == np.floor(labels)))
        if not whole.all():
            bad = int(whole.argmin())
            raise InputError(
                f"y[{known[bad]}] is {labels[bad]}: numeric labels are whole numbers. "
                "Unknown label type: continuous."
            )
    if labels.dtype.kind in "if":
        known, labels = known[labels >= 0], labels[labels >= 0]
    elif labels.dtype.kind in "mM":
        known, labels = known[~np.isnat(labels)], labels[~np.isnat(labels)]
    classes[known] = np.unique(labels, return_inverse=True)[1]
    return classes


def refuse_unknown(y: Any) -> None:
    """Raise if a label is missing, for those who need one of every row.

    Negative numbers are classes to them.
    """
    labels = np.asarray(y) if hasattr(y, "__array__") else np.array(y, dtype=object)
    if labels.ndim != 1:
        return
    missing = np.ma.getmaskarray(y).copy() if np.ma.isMA(y) else np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind == "O":
        known = [_is_known(x) or (isinstance(x, Real) and x < 0) for x in labels]
        missing |= ~np.array(known, dtype=bool)
    elif labels.dtype.kind in "mM":
        missing |= np.isnat(labels)
    if missing.any():
        row = int(missing.argmax())
        raise InputError(
            f"y[{row}] is {'hidden' if np.ma.isMA(y) else labels[row]}, but a classifier learns "
            "from rows whose classes are known: leave out those without a label, "
            f"{int(missing.sum())} of {len(labels)}."
        )


def _is_known(label: Any) -> bool:
    if label is None or (isinstance(label, Real) and label < 0):
        return False
    # NaN and pandas.NA are told by not being equal to themselves.
    equal = operator.eq(label, label)
    return isinstance(equal, (bool, np.bool_)) and bool(equal)
