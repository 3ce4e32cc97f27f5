"""What several groupings agree on."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.cluster import hierarchy
from scipy.spatial.distance import pdist

from nearkin._types import Ints
from nearkin.pairs.closure import in_order_of_appearance


def agreed_groups(groupings: Sequence[Ints], k: int) -> Ints:
    """K groups at most, by the share of groupings that put two rows together.

    Average linkage of these shares.

    Notes
    -----
    O(n²) memory: for some thousand rows.
    """
    rows = np.column_stack(groupings)
    if len(rows) < 2:
        return np.zeros(len(rows), dtype=np.int64)
    tree = hierarchy.linkage(pdist(rows, "hamming"), "average")
    return in_order_of_appearance(hierarchy.fcluster(tree, k, "maxclust") - 1)
