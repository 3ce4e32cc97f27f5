"""Class labels of all rows or some, as class numbers, and the pairs that follow from them."""

from __future__ import annotations

import operator
from collections.abc import Hashable
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.multiclass import check_classification_targets

from nearkin._types import Integers, Ints, Mask, Rng
from nearkin.errors import InputError, raise_input_errors
from nearkin.messages import notice
from nearkin.pairs.closure import draw_numbers, list_pairs_across, list_pairs_within
from nearkin.rows import access, backends

# More pairs than this are not listed at once.
MOST_LISTED = 10_000_000


def number_classes(y: Any) -> Ints:
    """Number the classes of n labels from 0, as an array of shape (n,), −1 where unknown.

    Labels are whole numbers, strings, booleans, dates or other hashable objects. Negative numbers,
    None, NaN, NaT, pandas.NA, blank strings and what a masked array hides mean unknown. Labels −1
    and 1 alone are refused: these are two classes to many, but here only one is known.
    """
    labels = as_labels(y)
    if labels.ndim != 1:
        raise InputError(f"y must hold one label per row of X, got shape {labels.shape}")
    if _are_signs(labels[~np.ma.getmaskarray(labels)]):
        raise InputError(
            "y holds the labels -1 and 1 alone, and -1 means unknown: all known rows would be of "
            "one class. If they are two classes, write np.asarray(y) > 0 for y; if one class is "
            "all that is known, write np.where(np.asarray(y) > 0, 1.0, np.nan)."
        )
    return _number_labels(labels)


def find_known_rows(y: Any) -> Mask:
    """Mask of the rows whose label is known; −1 is unknown even beside 1 alone."""
    return np.asarray(_number_labels(as_labels(y)) >= 0)


def replace_signs(y: Any) -> Any:
    """Return labels with None for unknown ones if both −1 and 1 are among them.

    So a fold that has only labels −1 and 1 is not refused by :func:`number_classes`.
    """
    classes, labels = number_classes(y), as_labels(y).astype(object)
    if not {-1, 1} <= {label for label in labels if isinstance(label, Real)}:
        return y
    labels[classes < 0] = None
    return labels


def renumber_classes(classes: Integers) -> Ints:
    """Number the classes that are left in a part of the rows from 0, without gaps; −1 stays."""
    found = np.full(len(classes), -1, dtype=np.int64)
    known = np.flatnonzero(classes >= 0)
    found[known] = np.unique(classes[known], return_inverse=True)[1]
    return found


def as_labels(y: Any) -> NDArray[Any]:
    """Convert labels to a NumPy array, masked if they are masked."""
    if backends.library(y) is not None:
        backends.refuse_stranded(y, "y")
        y = backends.to_numpy(y)
    if np.ma.isMA(y):
        return np.ma.asarray(y)
    # A list becomes objects first: NumPy would turn the NaN of ["a", NaN] into a string.
    return np.asarray(y) if hasattr(y, "__array__") else np.array(y, dtype=object)


def _are_signs(labels: NDArray[Any]) -> bool:
    """Whether the known labels are −1 and 1, both and nothing else."""
    if labels.dtype.kind == "O":
        numbers = {label for label in labels if isinstance(label, Real) and label == label}
        return numbers == {-1, 1} and all(
            isinstance(label, Real) or not _is_known(label) for label in labels
        )
    if labels.dtype.kind not in "if":
        return False
    return set(np.unique(labels[~np.isnan(labels)]).tolist()) == {-1, 1}


def _number_labels(labels: NDArray[Any]) -> Ints:
    """Number the classes of an array of labels from 0, −1 where unknown; −1 and 1 are allowed."""
    classes = np.full(len(labels), -1, dtype=np.int64)
    known = np.flatnonzero(~np.ma.getmaskarray(labels))
    labels = np.asarray(labels)[known]
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
    told = np.ones(len(labels), dtype=bool)
    if labels.dtype.kind in "if":
        told = labels >= 0
    elif labels.dtype.kind in "mM":
        told = ~np.isnat(labels)
    elif labels.dtype.kind in "US":
        told = np.char.str_len(np.char.strip(labels)) > 0
    known, labels = known[told], labels[told]
    classes[known] = np.unique(labels, return_inverse=True)[1]
    return classes


def name_classes(y: Any, classes: Integers | None, n_classes: int) -> NDArray[Any]:
    """Label of each class, or its number if the labels name fewer than two classes."""
    if classes is None or classes.max() < 1:
        return np.arange(n_classes)
    labels = as_labels(y)
    found, first = np.unique(classes, return_index=True)
    return np.array([labels[row] for row in first[found >= 0]])


def draw_class_pairs(classes: Ints, wanted: int | None, kind: str, rng: Rng) -> tuple[Ints, Ints]:
    """Draw row pairs within classes (must-links) and between them (cannot-links), as two arrays.

    Without replacement, uniformly in each kind. Classes are −1 where unknown; ``wanted`` is None
    for all pairs there are. ``kind`` "both" draws half of each, the odd one a must-link; where one
    kind has too few pairs the other fills up.
    """
    if kind not in ("both", "must", "cannot"):
        raise InputError(f'kind must be "both", "must" or "cannot", not {kind!r}')
    rows = np.flatnonzero(classes >= 0)
    if not len(rows):
        raise InputError(
            "every label in y is unknown (negative, None, NaN or blank): no pair follows"
        )
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
    within, _ = list_pairs_within(draw_numbers(n_must, take_must, rng), starts, sizes)
    between, _ = list_pairs_across(
        draw_numbers(n_cannot, take_cannot, rng), starts, sizes, ends, later
    )
    return rows[within], rows[between]


def check_classes(y: Any) -> tuple[NDArray[Any], Ints]:
    """Return a classifier's classes, sorted, and each row's, −1 if unknown; at least two."""
    if y is None:
        raise InputError("a classifier requires y to be passed, but the target y is None.")
    labels = as_labels(y)
    if labels.ndim == 2 and labels.shape[1] == 1:
        with raise_input_errors():
            labels = column_or_1d(labels, warn=True)
    number = number_classes(labels)
    known = np.flatnonzero(number >= 0)
    told = np.asarray(labels)[known]
    if not hasattr(y, "__array__"):
        told = np.array(told.tolist())
    with raise_input_errors():
        check_classification_targets(told)
    names, number[known] = np.unique(told, return_inverse=True)
    if len(names) < 2:
        are = f"of one class ({names[0]!r})" if len(names) else "without a label"
        raise InputError(
            f"all rows are {are}, but labels of at least two classes are needed to tell them apart."
        )
    return names, number


class PartlyLabelled(ClassifierMixin):
    """A classifier that takes a negative label for unknown, as learners do."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of the rows with a known label that are given it.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        y : array of shape (n,)
            Labels; rows whose label is unknown are left out.
        sample_weight : array of shape (n,), default=None

        Examples
        --------
        >>> from nearkin import EnergyClassifier
        >>> X, y = [[0.0], [1.0], [2.0], [7.0], [8.0], [9.0]], [0, 0, 0, 1, 1, -1]
        >>> EnergyClassifier().fit(X, y).score(X, y)
        1.0
        """
        with raise_input_errors():
            check_consistent_length(X, y, sample_weight)
        known = np.flatnonzero(find_known_rows(y))
        if not len(known):
            raise InputError("score needs labels, but all in y are unknown.")
        if len(known) < len(y):
            X, y = access.take(X, known), np.asarray(as_labels(y)[known].tolist())
            sample_weight = None if sample_weight is None else np.asarray(sample_weight)[known]
        return float(super().score(X, y, sample_weight))


def _is_known(label: Any) -> bool:
    """Whether a label is none of the values that mean unknown."""
    if label is None or (isinstance(label, Real) and label < 0):
        return False
    if isinstance(label, str | bytes):
        return bool(label.strip())
    # NaN and pandas.NA are told by not being equal to themselves.
    equal = operator.eq(label, label)
    return isinstance(equal, (bool, np.bool_)) and bool(equal)
