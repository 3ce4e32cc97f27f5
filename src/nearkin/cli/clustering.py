"""Clusters of rows in memory."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, KMeans

from nearkin.cli.failures import UserError
from nearkin.pairs.pairs import Pairs
from nearkin.tasks.mpck_means import MPCKMeans


def clusters(
    method: str, X: Any, n_clusters: int, min_size: int, pairs: Pairs | None, seed: int
) -> NDArray[np.integer]:
    """Number of the cluster of each row, or -1 for none."""
    if method == "hdbscan":
        if len(X) < min_size:
            raise UserError(f"--min-size {min_size}: there are only {len(X)} rows.")
        return np.asarray(HDBSCAN(min_cluster_size=min_size, copy=True).fit_predict(X))
    if n_clusters > len(X):
        raise UserError(f"--clusters {n_clusters}: there are only {len(X)} rows.")
    if method == "mpck":
        found = MPCKMeans(n_clusters, random_state=seed).fit_predict(X, pairs=pairs)
        return np.asarray(found)
    return np.asarray(KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(X))
