"""Distances of pairs of rows in a file, and what they say."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearkin.cli.failures import UserError
from nearkin.cli.models import Model
from nearkin.rows.arrays import Floats
from nearkin.rows.distances import linked_distances
from nearkin.rows.streams import RowStream
from nearkin.scores.same_threshold import Verdicts, verdicts_by_answers


def distances_of(model: Model, rows: RowStream, ends: NDArray[np.int64]) -> Floats:
    """Learned distance of each pair; only rows that pairs name are kept in memory."""
    if not len(ends):
        return np.empty(0)
    numbers, places = np.unique(ends, return_inverse=True)
    Z = model.embed(rows.take(numbers))
    return np.asarray(linked_distances(Z, places.reshape(ends.shape)), dtype=np.float64)


def verdicts_by(known: Floats, same: NDArray[np.bool_], weight: Floats, file: str) -> Verdicts:
    """What distances say by known answers, same and different as frequent as among these."""
    n_same, n_different = int(same.sum()), int((~same).sum())
    if not n_same or not n_different:
        raise UserError(
            f"{file} has {n_same} pairs that are the same and {n_different} that are different: a "
            "probability needs both."
        )
    return verdicts_by_answers(known, same, weight)
