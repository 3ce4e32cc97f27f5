"""Clouds of points on which the methods can be understood."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

from nearkin.errors import InputError

_CORNERS = np.array([[1.0, 1.0], [-1.0, -1.0], [1.0, -1.0], [-1.0, 1.0]])


def make_xor(
    n_samples: int = 400, *, noise: float = 0.23, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Four Gaussian clouds at the corners of a square, opposite corners in one class.

    No linear map can bring opposite corners together and keep neighbouring ones apart, so every
    linear metric fails here.

    Parameters
    ----------
    n_samples : int, default=400
        Shared as evenly as possible by the four clouds.
    noise : float, default=0.23
        Standard deviation of each cloud; the corners are at (±1, ±1). The default gives the
        class separabilities that Yeung, Chang and Dai (2007) report for their data.
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, 2)
    y : ndarray of shape (n_samples,)
        0 or 1.

    Examples
    --------
    >>> from nearkin.datasets import make_xor
    >>> X, y = make_xor(100, random_state=0)
    >>> X.shape, y.tolist().count(1)
    ((100, 2), 50)
    """
    rng = check_random_state(random_state)
    cloud = rng.permutation(np.arange(n_samples) % 4)
    X = _CORNERS[cloud] + noise * rng.standard_normal((n_samples, 2))
    return X, cloud // 2


def make_three_normal(
    n_samples: int = 600, *, n_features: int = 2, noise: float = 1.0, random_state: Any = None
) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Three elongated Gaussian classes side by side.

    The classes differ along the first axis only, and vary most along the second: the direction
    of largest variance says nothing about the class.

    Parameters
    ----------
    n_samples : int, default=600
        Shared as evenly as possible by the three classes.
    n_features : int, default=2
        Axes beyond the second are noise of unit variance.
    noise : float, default=1.0
        Standard deviation along the first axis, where the means are −3, 0 and 3.
    random_state : int, RandomState or None

    Returns
    -------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
        0, 1 or 2.

    Examples
    --------
    >>> from nearkin.datasets import make_three_normal
    >>> X, y = make_three_normal(random_state=0)
    >>> X.shape
    (600, 2)
    """
    if n_features < 2:
        raise InputError(f"n_features={n_features}: the three classes need at least 2.")
    rng = check_random_state(random_state)
    y = rng.permutation(np.arange(n_samples) % 3)
    X = rng.standard_normal((n_samples, n_features))
    X[:, 0] = noise * X[:, 0] + 3.0 * (y - 1)
    X[:, 1] *= 6.0
    return X, y
