"""Random labelled rows, errors of a classifier, and how means of them are written."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

Rows = np.ndarray
NEIGHBORS = 4


def labelled_rows(y: Rows, n_labels: int, seed: int) -> Rows:
    """Random rows, drawn anew until every class is among them."""
    rng = np.random.RandomState(seed)
    while True:
        rows = rng.choice(len(y), n_labels, replace=False)
        if len(np.unique(y[rows])) == len(np.unique(y)):
            return np.sort(rows)


def known_at(rows: Rows, y: Rows) -> Rows:
    """Labels as the learners take them: −1 but at ``rows``."""
    known = np.full(len(y), -1)
    known[rows] = y[rows]
    return known


def neighbors_error(Z_known: Rows, y_known: Rows, Z: Rows, y: Rows) -> float:
    """Percentage of rows that four neighbours, the nearer the more weight, put into a wrong class.

    With few labels there may be fewer rows of a class than neighbours: weights decide ties.
    """
    classifier = KNeighborsClassifier(NEIGHBORS, weights="distance").fit(Z_known, y_known)
    return percentage(classifier.predict(Z) != y)


def error_on_the_rest(Z: Rows, y: Rows, labelled: Rows) -> float:
    """The same for an embedding of all rows, some of them labelled."""
    rest = np.setdiff1d(np.arange(len(y)), labelled)
    return neighbors_error(Z[labelled], y[labelled], Z[rest], y[rest])


def root(B: Rows) -> Rows:
    """R with R Rᵀ = B: coordinates times R have the distances of the metric B."""
    values, vectors = np.linalg.eigh(B)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0)))


def percentage(wrong: Rows) -> float:
    return round(100 * float(np.mean(wrong)), 4)


def standard_error(values: Any) -> float:
    values = np.asarray(values)
    return float(values.std(ddof=1) / np.sqrt(len(values))) if len(values) > 1 else 0.0


def mean_and_error(values: Any, digits: int = 1) -> str:
    """Mean ± standard error; of a single value, that value."""
    if len(values) == 1:
        return f"{values[0]:.{digits}f}"
    return f"{np.mean(values):.{digits}f} ± {standard_error(values):.{digits}f}"


def select(rows: list[dict[str, Any]], value: str, **wanted: Any) -> list[Any]:
    """One value of each stored row that is as wanted, in the order of seeds."""
    # One name after the other: the first leaves few of the thousands of rows.
    for name, one in wanted.items():
        rows = [row for row in rows if row.get(name) == one]
    return [row[value] for row in sorted(rows, key=lambda row: int(row.get("seed", 0)))]


def differences(first: Any, second: Any) -> Rows:
    """On the same splits, which are the first of them where one has more."""
    n = min(len(first), len(second))
    return np.subtract(first[:n], second[:n])
