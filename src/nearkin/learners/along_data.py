"""Functions that are smooth along the data: what GeometryAware learns on."""

from __future__ import annotations

from typing import Any

import numpy as np

from nearkin.rows.arrays import Floats
from nearkin.rows.notices import notice
from nearkin.spaces.graph import ball_graph, neighbor_graph
from nearkin.spaces.kernels import Rows
from nearkin.spaces.smooth_functions import isomap_coordinates, lle_coordinates, smoothest


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
