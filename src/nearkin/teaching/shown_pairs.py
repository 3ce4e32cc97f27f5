"""Pairs by row numbers of the data, and by places among the rows that are shown."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.errors import InputError
from nearkin.pairs.labels import class_numbers
from nearkin.pairs.pairs import Pairs

# Pairs that are drawn from labels: enough to learn from, few enough to be drawn as lines.
MOST_OF_LABELS = 500


def with_labels(pairs: Pairs | None, labels: Any, seed: int) -> Pairs:
    """Pairs, and some that follow from labels.

    Examples
    --------
    >>> with_labels(None, ["a", "a", None, "b"], seed=0)
    Pairs(1 must-link, 2 cannot-links, n_rows=4)
    """
    n_labelled = int((class_numbers(labels) >= 0).sum())
    n_pairs = MOST_OF_LABELS if n_labelled * (n_labelled - 1) // 2 > MOST_OF_LABELS else None
    drawn = Pairs.from_labels(labels, n_pairs, random_state=seed)
    return drawn if pairs is None else pairs + drawn


def among_shown(pairs: Pairs, numbers: NDArray[np.int64], source: str) -> Pairs:
    """Pairs of rows of the data as pairs of places among the rows that are shown.

    Parameters
    ----------
    pairs : Pairs
    numbers : int ndarray
        Of the rows that are shown, increasing.
    source : str
        What has the rows, for an error.

    Examples
    --------
    >>> among_shown(Pairs([(2, 8)]), np.array([0, 2, 5, 8]), "X").must_link
    array([[1, 3]])
    """
    places = np.minimum(np.searchsorted(numbers, pairs.points), len(numbers) - 1)
    outside = pairs.points[numbers[places] != pairs.points]
    if len(outside):
        raise InputError(
            f"row {outside[0]} of {source} is named in pairs, but it is not among the "
            f"{len(numbers)} rows that are shown."
        )
    return _mapped(pairs, lambda rows: np.searchsorted(numbers, rows), len(numbers))


def in_the_data(pairs: Pairs, numbers: NDArray[np.int64], n_total: int) -> Pairs:
    """Pairs by row numbers of the data, from places among the rows shown.

    Examples
    --------
    >>> in_the_data(Pairs([(1, 3)]), np.array([0, 2, 5, 8]), 10).must_link
    array([[2, 8]])
    """
    return _mapped(pairs, lambda places: numbers[places], n_total)


def _mapped(pairs: Pairs, function: Any, n_rows: int) -> Pairs:
    return Pairs(
        function(pairs.must_link),
        function(pairs.cannot_link),
        must_weight=pairs.must_weight,
        cannot_weight=pairs.cannot_weight,
        closer=function(pairs.closer),
        closer_weight=pairs.closer_weight,
        n_rows=n_rows,
    )
