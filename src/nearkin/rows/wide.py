"""Rows of thousands of columns, and the few axes that linear metrics are learned along.

A linear metric on d columns has d² numbers, and most ways to it take d³ time. But n rows differ
along n − 1 directions at most: an orthonormal basis of these is all that a learner can see, and in
it nothing of the rows is lost. Where there are too many rows for that as well, their leading
principal axes stand for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.extmath import randomized_svd

from nearkin.rows.arrays import Doubles
from nearkin.rows.notices import notice

# Rows of no more columns than this are taken as they are.
MOST_COLUMNS = 1000
# Axes, if not all directions are kept, and the rows that these are found from at most.
_LEADING_AXES = 300
_MOST_ROWS = 2000
# Directions with less than this share of the largest singular value are rounding.
_ROUNDING = 1e-10


def axes_of_wide_rows(
    X: Any, mean: Doubles, random_state: Any, most_directions: int = MOST_COLUMNS
) -> Doubles | None:
    """The axes along which rows of very many columns are seen; None if there are few enough.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    mean : ndarray of shape (d,)
        Of its rows.
    random_state : int or RandomState
        Starts the search for leading axes.
    most_directions : int, default=1000
        Up to so many rows, all directions in which they differ are kept; beyond, the leading ones:
        300, or this number if it is less.

    Returns
    -------
    ndarray of shape (r, d) or None
        Orthonormal rows. None if d is at most 1000.

    Warns
    -----
    UserWarning
        If something of the rows is lost.

    Notes
    -----
    O(n² d) time and O(n d) memory for all directions; for r leading ones O(min(n, 2000) d r).

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.rows.wide import axes_of_wide_rows
    >>> X = np.random.default_rng(0).standard_normal((5, 2000))
    >>> mean = X.mean(axis=0)
    >>> axes = axes_of_wide_rows(X, mean, 0)
    >>> axes.shape
    (4, 2000)
    >>> bool(np.allclose((X - mean) @ axes.T @ axes, X - mean))
    True
    """
    n, d = X.shape
    if d <= MOST_COLUMNS:
        return None
    some = X if n <= _MOST_ROWS else X[np.linspace(0, n - 1, _MOST_ROWS).astype(np.int64)]
    centred = some.astype(np.float64) - mean
    largest = float(np.abs(centred).max())
    if largest == 0:
        return np.eye(1, d)
    centred /= largest  # so that no square overflows or vanishes
    if n <= most_directions:
        basis, corner = np.linalg.qr(centred.T)
        turned, values, _ = np.linalg.svd(corner)
        kept = values > _ROUNDING * values[0]
        return np.ascontiguousarray((basis @ turned[:, kept]).T)
    wanted = min(_LEADING_AXES, most_directions, len(centred), d)
    _, values, axes = randomized_svd(centred, wanted, n_iter=2, random_state=random_state)
    axes = axes[values > _ROUNDING * values[0]]
    _warn_of_loss(centred, axes)
    return np.asarray(axes)


def _warn_of_loss(centred: Doubles, axes: Doubles) -> None:
    total = float((centred**2).sum())
    held = float(((centred @ axes.T) ** 2).sum())
    if held > (1 - _ROUNDING) * total:
        return
    notice(
        f"X has {axes.shape[1]} columns, more than {MOST_COLUMNS}, and is seen along {len(axes)} "
        f"axes, which hold {held / total:.0%} of its variance. Give fewer columns, such as "
        "scikit-learn's PCA or SelectKBest leave, to choose what is kept.",
    )
