"""Functions that are smooth along the data: what GeometryAware learns on."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin._types import Floats
from nearkin.messages import notice
from nearkin.spaces.graph import ball_graph, neighbor_graph
from nearkin.spaces.kernels import Rows
from nearkin.spaces.spectral import isomap_coordinates, lle_coordinates, smoothest

# A function that sits on fewer rows than either says nothing of most of them; among fewer rows than
# these, nobody can tell.
_FEW_ROWS, _SMALL_PART, _ENOUGH_ROWS = 5, 0.01, 200


class FewRowsWarning(UserWarning):
    """What was learned is mostly about a few rows."""


def functions_along(learner: Any, X: Rows, rng: np.random.RandomState) -> tuple[Floats, Floats]:
    """Functions of the rows that change little along the data, and how much: whatever the pairs.

    ``learner`` has the parameters of :class:`GeometryAware`.
    """
    if learner.coordinates == "lle":
        found = lle_coordinates(X, learner.graph_neighbors, learner.n_vectors)
    elif learner.coordinates == "isomap":
        found = isomap_coordinates(X, learner.graph_neighbors, learner.n_vectors)
    else:
        found = smoothest(
            _graph(learner, X, rng),
            learner.n_vectors,
            normalized=learner.normalized,
            random_state=rng,
        )
        if len(found[0]) > 1 and found[0][-1] == 0 and len(found[0]) < X.shape[0]:
            notice(
                f"the graph falls into at least {len(found[0])} parts, and n_vectors="
                f"{learner.n_vectors} functions can tell no more than its largest parts apart. "
                "Raise n_vectors, or join more rows (graph_neighbors, radius).",
            )
    return found


def warn_of_few_rows(Z: Floats, *, can_normalize: bool) -> None:
    """Warn if learned distances mostly tell how far a few rows are from all others.

    Smooth functions may sit on rows that hang by few edges. No pair names these, so that nothing
    keeps the functions from being weighted most.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        The learned configuration, along its principal axes.
    can_normalize : bool
        Whether the graph's functions are not normalised yet, which keeps them off such rows.
    """
    squares = (Z - Z.mean(axis=0)) ** 2
    total = squares.sum(axis=0)
    if not total.any():
        return
    # As many rows as would have a function's squares if these were equal there and 0 elsewhere.
    fourth = (squares**2).sum(axis=0)
    n_rows = np.divide(total**2, fourth, out=np.zeros_like(total), where=fourth > 0)
    narrow = n_rows < max(_FEW_ROWS, _SMALL_PART * len(Z))
    share = float(total[narrow].sum() / total.sum())
    if len(Z) < _ENOUGH_ROWS or share <= 0.5:
        return
    remedy = "Use normalized=True, or join" if can_normalize else "Join"
    notice(
        f"{share:.0%} of the spread of the learned distances is of functions that sit on a few of "
        f"{len(Z)} rows: distances mostly tell these rows from all others. {remedy} more rows "
        "(graph_neighbors).",
        FewRowsWarning,
    )


def _graph(learner: Any, X: Rows, rng: np.random.RandomState) -> Any:
    metric, weight = learner.metric, learner.edge_weight
    if learner.radius is not None:
        return ball_graph(X, learner.radius, metric=metric, weight=weight)
    return neighbor_graph(
        X,
        learner.graph_neighbors,
        metric=metric,
        weight=weight,
        mutual=learner.mutual,
        search=learner.search,
        random_state=rng,
    )
