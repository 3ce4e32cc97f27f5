"""Equal rows, which no metric can tell apart."""

from __future__ import annotations

from itertools import pairwise
from typing import Any, cast

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.spaces.graph import Rows
from nearkin.spaces.kernels import directions


def equal_where_rows_are(X: Rows, Z: Floats, metric: str = "euclidean") -> Floats:
    """Give equal rows of X one place, the mean of theirs: a metric cannot tell them apart.

    Under the metric ``"cosine"`` rows of one direction are equal, to twelve digits.
    """
    rows: Any = X
    if sp.issparse(X):
        rows = cast(Any, sp.csr_array)(X, copy=True)
        rows.sum_duplicates()
        rows.eliminate_zeros()
    if metric == "cosine":
        rows = directions(rows)
        entries = rows.data if sp.issparse(X) else rows
        np.round(entries, 12, out=entries)
    number = _numbers_of_equal(rows)
    if number.max() + 1 == len(Z):
        return Z
    sums = np.zeros((number.max() + 1, Z.shape[1]))
    np.add.at(sums, number, Z)
    return np.asarray((sums / np.bincount(number)[:, None])[number])


def _numbers_of_equal(X: Any) -> NDArray[np.integer]:
    """A number for each row, the same for equal rows, from 0; sparse ones in canonical form."""
    if not sp.issparse(X):
        # NumPy 2.0 gives a column.
        return np.unique(X, axis=0, return_inverse=True)[1].ravel()
    rows: Any = X
    seen: dict[tuple[bytes, bytes], int] = {}
    entries = [slice(*ends) for ends in pairwise(rows.indptr)]
    keys = [(rows.indices[some].tobytes(), rows.data[some].tobytes()) for some in entries]
    return np.array([seen.setdefault(key, len(seen)) for key in keys])
