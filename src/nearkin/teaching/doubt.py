"""Rows of which the learned metric is not sure whom they are like."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from nearkin.rows.parallel import blocks, one_blas_thread
from nearkin.scores.verdicts import verdicts_of
from nearkin.spaces.neighbors import nearest
from nearkin.teaching.taught_metric import TaughtMetric

# Chances of being the same between which a verdict is unsure.
UNSURE = (0.2, 0.8)
_NEIGHBORS = 10
# Up to so many rows, neighbours are looked for among all; of more, among as many as follow.
_MANY = 20_000
_LOOKED_AT = 2000
_BLOCK = 16_384


@one_blas_thread()
def doubtful_rows(learned: TaughtMetric, n_rows: int, seed: int = 0) -> NDArray[np.bool_] | None:
    """Rows of which it is unsure whether they are the same as most of their ten neighbours.

    Parameters
    ----------
    learned : TaughtMetric
    n_rows : int
    seed : int
        Of more than 20 000 rows, neighbours are looked for among 2000.

    Returns
    -------
    bool ndarray of shape (n_rows,) or None
        None as long as nothing is learned, so that nobody can tell.
    """
    if learned.metric is None or not len(learned.step.told):
        return None
    some = np.arange(n_rows)
    if n_rows > _MANY:
        some = np.sort(np.random.RandomState(seed).choice(n_rows, _LOOKED_AT, replace=False))
    near = np.ascontiguousarray(learned.view.embedding(some))
    k = min(_NEIGHBORS + 1, len(some))
    verdicts = verdicts_of(learned.metric)
    found = np.empty(n_rows, dtype=bool)
    for block in blocks(n_rows, _BLOCK):
        Z = np.ascontiguousarray(learned.view.embedding(np.arange(n_rows)[block]))
        distances, _ = nearest(near, Z, k)
        # A row is the nearest to itself, unless it was not drawn; then one is left out for nothing.
        middle = np.median(verdicts.chance(distances[:, 1:].astype(np.float64)), axis=1)
        found[block] = (middle > UNSURE[0]) & (middle < UNSURE[1])
    return found
