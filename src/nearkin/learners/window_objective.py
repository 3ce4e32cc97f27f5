"""The objective of learners that move points: pairs pull and push, a Gaussian window holds."""

from __future__ import annotations

from collections.abc import Callable
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils._param_validation import Interval, StrOptions

from nearkin._types import Floats
from nearkin.messages import notice
from nearkin.pairs.pairs import Pairs
from nearkin.rows.distances import linked_distances
from nearkin.solvers.stress import (
    AnySprings,
    CompleteSprings,
    OrderedSprings,
    Relaxed,
    all_squared_distances,
    join,
)
from nearkin.spaces.graph import each_pair_once
from nearkin.spaces.neighbors import nearest_others

# Up to this many rows every pair of rows is in the window, as in the paper.
_COMPLETE_ROWS = 2000
_WINDOW_NEIGHBORS = 30
# Window weights below this cannot be told from zero beside a weight of one.
_NEGLIGIBLE = 1e-13
# In convergence mode: the share of the objective below which a step is the last, and most steps.
_TOLERANCE = 1e-4
_MOST_STEPS = 500

# How much farther the farther point of a triplet is to be, in root mean squared distances.
_TRIPLET_MARGIN = 0.3

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


def window_edges(F: Floats, n_neighbors: int, random_state: Any = None) -> NDArray[np.int64]:
    """Pairs of rows that see each other through the window: nearest neighbours of either.

    Parameters
    ----------
    F : ndarray of shape (n, q)
    n_neighbors : int
        Each row with so many nearest others.
    random_state : int, RandomState or None, default=None
        Of the search for neighbours, which is approximate where there are many rows.

    Returns
    -------
    int ndarray of shape (e, 2)
        Each pair once.
    """
    n = len(F)
    if n_neighbors >= n - 1:
        return np.column_stack(np.triu_indices(n, 1))
    neighbors = nearest_others(F, n_neighbors, random_state=random_state)
    first = np.repeat(np.arange(n), n_neighbors)
    low, high, _ = each_pair_once(first, neighbors.ravel(), n)
    return np.column_stack([low, high])


def window_springs(
    F: Floats,
    pairs: Pairs,
    *,
    n_neighbors: int | None,
    regularization: float,
    window: float,
    margin: float,
    random_state: Any = None,
) -> AnySprings:
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
    pairs : Pairs
        S and D with their weights.
    n_neighbors : int or None
        The window's springs join each row with so many nearest others; None joins all rows, in
        n×n matrices.
    regularization, window : float
        λ and θ.
    margin : float
        m, in units of the root mean squared distance between rows.
    random_state : int, RandomState or None, default=None
        Of :func:`window_edges`.
    """
    n = len(F)
    mean_squared = 2 * float(F.var(axis=0).sum()) * n / (n - 1)

    def hold(squared: Floats) -> Floats:
        """Weights of springs whose rest lengths have these squares."""
        if mean_squared == 0:  # all rows coincide
            return np.full_like(squared, regularization)
        nearness = np.exp(squared / -(window * mean_squared))
        nearness[nearness <= _NEGLIGIBLE] = 0.0
        return np.asarray(regularization * nearness)

    links = _link_springs(pairs, margin * np.sqrt(mean_squared))
    if n_neighbors is None:
        squared = all_squared_distances(F)
        weight = hold(squared)
        np.fill_diagonal(weight, 0.0)
        return CompleteSprings(weight, np.sqrt(squared), join(n, *links))
    edges = window_edges(F, n_neighbors, random_state)
    lengths = linked_distances(F, edges)
    weight = hold(lengths**2)
    held = weight > 0
    held_springs = (edges[held], weight[held], lengths[held], np.zeros(held.sum(), dtype=bool))
    return join(n, *map(np.concatenate, zip(held_springs, links, strict=True)))


def _link_springs(pairs: Pairs, margin: float) -> tuple[Any, Floats, Floats, Any]:
    """Must-links that pull to zero, cannot-links that push up to the margin."""
    n_must, n_cannot = len(pairs.must_link), len(pairs.cannot_link)
    return (
        np.concatenate([pairs.must_link, pairs.cannot_link]),
        np.concatenate([pairs.must_weight, pairs.cannot_weight]),
        np.repeat([0.0, margin], [n_must, n_cannot]),
        np.repeat([False, True], [n_must, n_cannot]),
    )


def springs_of(learner: Any, F: Floats, pairs: Pairs, rng: np.random.RandomState) -> AnySprings:
    """The learner's objective on rows F, its window complete or of nearest neighbours.

    Triplets, if there are any, are part of it.
    """
    n_neighbors = learner.window_neighbors
    if isinstance(n_neighbors, str):  # "auto"
        n_neighbors = None if len(F) <= _COMPLETE_ROWS else _WINDOW_NEIGHBORS
    springs = window_springs(
        F,
        pairs,
        n_neighbors=n_neighbors,
        regularization=learner.regularization,
        window=learner.window,
        margin=learner.margin,
        random_state=rng,
    )
    if not len(pairs.closer):
        return springs
    spread = float(np.sqrt(2 * F.var(axis=0).sum()))
    return OrderedSprings(springs, pairs.closer, pairs.closer_weight, _TRIPLET_MARGIN * spread)


def come_to_rest(learner: Any, relax: Callable[..., Relaxed]) -> Relaxed:
    """Take the learner's number of steps, or as many as still help if that is None."""
    if learner.n_iter is not None:
        return relax(n_iter=learner.n_iter)
    relaxed = relax(n_iter=_MOST_STEPS, tol=_TOLERANCE)
    if not relaxed.converged:
        notice(
            f"{type(learner).__name__} stopped after {_MOST_STEPS} steps while the objective "
            "still fell.",
            ConvergenceWarning,
        )
    return relaxed
