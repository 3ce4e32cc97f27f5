"""Class labels, full or partial, as class numbers, and the pairs that follow from them."""

from __future__ import annotations

import operator
from collections.abc import Hashable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from nearkin.errors import InputError, about_input
from nearkin.pairs.numbering import draw_numbers, pairs_across, pairs_within
from nearkin.rows import devices
from nearkin.rows.notices import notice

# More pairs than this are not listed at once.
MOST_LISTED = 10_000_000


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


def names_of_classes(y: Any, classes: NDArray[np.integer] | None, n_classes: int) -> NDArray[Any]:
    """Label of each class; its number where labels do not name two of them at least.

    Parameters
    ----------
    y : array-like of shape (n,)
        As :func:`class_numbers` takes it, which gave ``classes``.
    classes : int ndarray of shape (n,) or None
    n_classes : int
    """
    if classes is None or classes.max() < 1:
        return np.arange(n_classes)
    if devices.library(y) is not None:
        y = devices.to_numpy(y)
    labels = np.asarray(y) if hasattr(y, "__array__") else np.array(y, dtype=object)
    found, first = np.unique(classes, return_index=True)
    return np.array([labels[row] for row in first[found >= 0]])


def drawn_pairs(
    classes: NDArray[np.int64], wanted: int | None, kind: str, rng: np.random.RandomState
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Draw pairs of rows of one class and of two, uniformly and without replacement.

    Parameters
    ----------
    classes : int ndarray of shape (n,)
        Class number of each row, −1 where unknown.
    wanted : int or None
        How many; None for all there are.
    kind : {"both", "must", "cannot"}
        "both" draws half of each, the odd one a must-link; where one kind has too few pairs the
        other fills up.
    rng : RandomState

    Returns
    -------
    must_link, cannot_link : int ndarray of shape (k, 2)
    """
    if kind not in ("both", "must", "cannot"):
        raise InputError(f'kind must be "both", "must" or "cannot", not {kind!r}')
    rows = np.flatnonzero(classes >= 0)
    if not len(rows):
        raise InputError("every label in y is unknown (negative, None or NaN): no pair follows")
    rows = rows[np.argsort(classes[rows], kind="stable")]
    sizes = np.bincount(classes[rows])
    ends = np.cumsum(sizes)
    starts, later = ends - sizes, len(rows) - ends
    n_must = int((sizes * (sizes - 1) // 2).sum()) if kind != "cannot" else 0
    n_cannot = int((sizes * later).sum()) if kind != "must" else 0
    if n_must + n_cannot == 0:
        reason = {
            "both": "a single row is labelled",
            "must": "no two labelled rows share a class",
            "cannot": "all labelled rows are of one class",
        }[kind]
        raise InputError(f'no pair of kind="{kind}" can be made of y: {reason}')
    if wanted is None:
        if n_must + n_cannot > MOST_LISTED:
            raise InputError(
                f"y makes {n_must + n_cannot:,} pairs, more than the {MOST_LISTED:,} that are "
                "listed at once: draw some with n_pairs=, or give y itself to fit"
            )
        wanted = n_must + n_cannot
    elif wanted > n_must + n_cannot:
        notice(f"n_pairs={wanted}, but y makes only {n_must + n_cannot} pairs: all are taken")
    take_must = min(n_must, max((wanted + 1) // 2, wanted - n_cannot))
    take_cannot = min(n_cannot, wanted - take_must)
    within, _ = pairs_within(draw_numbers(n_must, take_must, rng), starts, sizes)
    between, _ = pairs_across(draw_numbers(n_cannot, take_cannot, rng), starts, sizes, ends, later)
    return rows[within], rows[between]


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


def classes_to_tell_apart(y: Any) -> tuple[NDArray[Any], NDArray[np.int64]]:
    """Names of the classes of a classifier's labels, and the number of each row's."""
    with about_input():
        check_classification_targets(y)
    names, number = np.unique(y, return_inverse=True)
    if len(names) < 2:
        raise InputError(
            f"all rows are of one class ({names[0]!r}), but labels of at least two classes "
            "are needed to tell them apart."
        )
    return names, number


def _is_known(label: Any) -> bool:
    if label is None or (isinstance(label, Real) and label < 0):
        return False
    # NaN and pandas.NA are told by not being equal to themselves.
    equal = operator.eq(label, label)
    return isinstance(equal, (bool, np.bool_)) and bool(equal)
