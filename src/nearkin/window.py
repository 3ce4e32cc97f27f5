"""The objective of learners that move points: pairs pull and push, a Gaussian window holds."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils._param_validation import Interval, StrOptions

from nearkin.pairs import Pairs
from nearkin.scores import linked_distances
from nearkin.stress import Relaxed, Springs, join

Floats = NDArray[np.floating]

# Up to this many rows every pair of rows is in the window, as in the paper.
_COMPLETE_ROWS = 2000
_WINDOW_NEIGHBORS = 30
# Window weights below this cannot be told from zero beside a weight of one.
_NEGLIGIBLE = 1e-13
# In convergence mode: the share of the objective below which a step is the last, and most steps.
_TOLERANCE = 1e-4
_MOST_STEPS = 500

# What scikit-learn checks of the parameters that these learners share.
WINDOW_CONSTRAINTS: dict[str, list[Any]] = {
    "regularization": [Interval(Real, 0, None, closed="left")],
    "window": [Interval(Real, 0, None, closed="neither")],
    "n_iter": [Interval(Integral, 1, None, closed="left"), None],
    "margin": [Interval(Real, 0, None, closed="left")],
    "window_neighbors": [
        StrOptions({"auto"}),
        Interval(Integral, 1, None, closed="left"),
        None,
    ],
}


def window_edges(F: Floats, n_neighbors: int | None) -> NDArray[np.int64]:
    """Pairs of rows that see each other through the window: all, or nearest neighbours.

    Parameters
    ----------
    F : ndarray of shape (n, q)
    n_neighbors : int or None
        Each row with so many nearest others; None for all pairs of rows.

    Returns
    -------
    int ndarray of shape (e, 2)
        Each pair once.
    """
    n = len(F)
    if n_neighbors is None or n_neighbors >= n - 1:
        return np.column_stack(np.triu_indices(n, 1))
    index = NearestNeighbors(n_neighbors=n_neighbors, algorithm="brute").fit(F)
    neighbors = index.kneighbors(return_distance=False)
    first = np.repeat(np.arange(n), n_neighbors)
    low, high = np.minimum(first, neighbors.ravel()), np.maximum(first, neighbors.ravel())
    number = np.unique(low * n + high)
    return np.column_stack([number // n, number % n])


def window_springs(
    F: Floats,
    edges: NDArray[np.int64],
    pairs: Pairs,
    *,
    regularization: float,
    window: float,
    margin: float,
) -> Springs:
    r"""The objective of KernelA as springs.

    .. math::

        J(Y) = \sum_{(i,j) \in S} w_{ij} \|y_i - y_j\|^2
             + \lambda \sum_{i<j} N_{ij} (\|y_i - y_j\| - d_{ij})^2
             + \sum_{(i,j) \in D} w_{ij} \max(0, m - \|y_i - y_j\|)^2

    with :math:`d_{ij} = \|f_i - f_j\|`, :math:`N_{ij} = \exp(-d_{ij}^2 / \sigma^2)` and
    :math:`\sigma^2 = \theta \cdot \operatorname{mean}(d^2)`: must-links pull, the window keeps
    distances between near points as they were, cannot-links push up to the margin m.

    Parameters
    ----------
    F : ndarray of shape (n, q)
        Rows in feature space.
    edges : int ndarray of shape (e, 2)
        Pairs of rows in the window.
    pairs : Pairs
        S and D with their weights.
    regularization, window : float
        λ and θ.
    margin : float
        m, in units of the root mean squared distance between rows.
    """
    n = len(F)
    mean_squared = 2 * float(F.var(axis=0).sum()) * n / (n - 1)
    lengths = linked_distances(F, edges)
    if mean_squared > 0:
        nearness = np.exp(-(lengths**2) / (window * mean_squared))
    else:  # all rows coincide
        nearness = np.ones(len(edges))
    held = nearness > _NEGLIGIBLE if regularization > 0 else np.zeros(len(edges), dtype=bool)
    n_must, n_cannot = len(pairs.must_link), len(pairs.cannot_link)
    return join(
        n,
        np.concatenate([edges[held], pairs.must_link, pairs.cannot_link]),
        np.concatenate([regularization * nearness[held], pairs.must_weight, pairs.cannot_weight]),
        np.concatenate(
            [
                lengths[held],
                np.zeros(n_must),
                np.full(n_cannot, margin * np.sqrt(mean_squared)),
            ]
        ),
        np.repeat([False, True], [int(held.sum()) + n_must, n_cannot]),
    )


def springs_of(learner: Any, F: Floats, pairs: Pairs) -> Springs:
    """The learner's objective on rows F, its window complete or of nearest neighbours."""
    n_neighbors = learner.window_neighbors
    if isinstance(n_neighbors, str):  # "auto"
        n_neighbors = None if len(F) <= _COMPLETE_ROWS else _WINDOW_NEIGHBORS
    return window_springs(
        F,
        window_edges(F, n_neighbors),
        pairs,
        regularization=learner.regularization,
        window=learner.window,
        margin=learner.margin,
    )


def come_to_rest(learner: Any, relax: Callable[..., Relaxed]) -> Relaxed:
    """Take the learner's number of steps, or as many as still help if that is None."""
    if learner.n_iter is not None:
        return relax(n_iter=learner.n_iter)
    relaxed = relax(n_iter=_MOST_STEPS, tol=_TOLERANCE)
    if not relaxed.converged:
        warnings.warn(
            f"{type(learner).__name__} stopped after {_MOST_STEPS} steps while the objective "
            "still fell.",
            ConvergenceWarning,
            stacklevel=4,  # past fit and its decorator
        )
    return relaxed
