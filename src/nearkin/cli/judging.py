"""Distances of pairs of rows in a file, and what they say."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from nearkin.cli.failures import UserError
from nearkin.cli.models import Model
from nearkin.row_streams import RowStream
from nearkin.scores import linked_distances

Floats = NDArray[np.floating]


def distances_of(model: Model, rows: RowStream, ends: NDArray[np.int64]) -> Floats:
    """Learned distance of each pair; only rows that pairs name are kept in memory."""
    if not len(ends):
        return np.empty(0)
    numbers, places = np.unique(ends, return_inverse=True)
    Z = model.embed(rows.take(numbers))
    return np.asarray(linked_distances(Z, places.reshape(ends.shape)), dtype=np.float64)


def probability(
    distance: Floats, known: Floats, same: NDArray[np.bool_], weight: Floats, file: str
) -> Floats:
    """Of being the same at a distance, by a logistic curve through known answers.

    Each answer counts as one that is nearly certain, after J. Platt (1999): with few answers, far
    and near pairs are not called impossible or certain.
    """
    from sklearn.linear_model import LogisticRegression

    n_same, n_different = int(same.sum()), int((~same).sum())
    if not n_same or not n_different:
        raise UserError(
            f"{file} has {n_same} pairs that are the same and {n_different} that are different: a "
            "probability needs both."
        )
    certain = np.where(same, (n_same + 1) / (n_same + 2), 1 - 1 / (n_different + 2))
    X: Any = np.concatenate([known, known])[:, None]
    scale = X.std() or 1.0
    y = np.concatenate([same, ~same])
    weights = np.concatenate([certain, 1 - certain]) * np.concatenate([weight, weight])
    curve = LogisticRegression(C=1e6, max_iter=1000).fit(X / scale, y, sample_weight=weights)
    found: Floats = curve.predict_proba(distance[:, None] / scale)[:, 1]
    return found
