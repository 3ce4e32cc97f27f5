"""How alike neighbours are."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from nearkin._types import Floats

# Neighbours of a row, and the one whose distance is the row's scale.
N_NEIGHBORS = 15
_OF_SCALE = 7


def affinities_of(Z: Floats, n_neighbors: int = N_NEIGHBORS) -> sp.csr_array:
    """Gaussian affinities of neighbours, each row by the distance of its own.

    ``a_ij = exp(−d_ij² / (s_i s_j))``, with s the distance to the seventh neighbour; symmetric, of
    rows that are neighbours either way. Rows at one place are 1.

    Notes
    -----
    O(n) memory.
    """
    n = len(Z)
    k = min(n_neighbors, n - 1)
    if k < 1:
        return sp.csr_array((n, n))
    graph = NearestNeighbors(n_neighbors=k).fit(Z).kneighbors_graph(mode="distance")
    scale = graph.data.reshape(n, k)[:, min(_OF_SCALE, k) - 1]
    positive = scale[scale > 0]
    scale = np.maximum(scale, (positive.min() if len(positive) else 1.0) * 1e-3)
    rows = np.repeat(np.arange(n), k)
    weights = np.exp(-(graph.data**2) / (scale[rows] * scale[graph.indices]))
    one_way = sp.csr_array((weights, graph.indices, graph.indptr), shape=(n, n))
    return sp.csr_array(one_way.maximum(one_way.T))
