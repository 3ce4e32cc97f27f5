"""GLM^INT: the vote of neighbours under the metric at each new row, for many new rows at once."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from benchmarks.papers.shi2011_generative.methods import INTERPOLATIONS, Result
from benchmarks.papers.shi2011_generative.splits import (
    NEIGHBORS,
    Rows,
    Split,
    chosen_vote,
    errors_by_neighbors,
)
from nearkin.solvers.class_gaussians import ClassModels
from nearkin.solvers.local_metrics import bias_matrices, local_metrics

_NEW_ROWS = 1000
_NUMBERS = 10**8  # products of coordinates that are held at a time
_MANY = 5000  # training rows from which on distances are in float32


def local_votes(part: Split, models: ClassModels, n_valid: int | None = None) -> list[Result]:
    """GLM^INT: the share of the identity and the number of neighbours are chosen."""
    valid = nearest_classes(part, models, part.X_valid[:n_valid], INTERPOLATIONS)
    tried = [errors_by_neighbors(classes, part.y_valid[:n_valid]) for classes in valid]

    def test_errors(which: int) -> list[float]:
        (classes,) = nearest_classes(part, models, part.X_test, (INTERPOLATIONS[which],))
        return errors_by_neighbors(classes, part.y_test)

    found, which = chosen_vote(tried, test_errors)
    return [{"method": "GLM^INT", **found, "interpolation": INTERPOLATIONS[which]}]


def nearest_classes(
    part: Split, models: ClassModels, X_new: Rows, shares: tuple[float, ...]
) -> list[Rows]:
    """For each share, classes of the neighbours of each new row, nearest first."""
    most = min(NEIGHBORS[-1], len(part.X))
    found: list[list[Rows]] = [[] for _ in shares]
    for plain, local in _distances(part.X, models, X_new):
        for share, classes in zip(shares, found, strict=True):
            squared = share * plain + (1 - share) * local
            near = np.argpartition(squared, most - 1, axis=1)[:, :most]
            order = np.take_along_axis(squared, near, axis=1).argsort(axis=1, kind="stable")
            classes.append(part.y[np.take_along_axis(near, order, axis=1)])
    return [np.concatenate(blocks) for blocks in found]


def _distances(X: Rows, models: ClassModels, X_new: Rows) -> Iterator[tuple[Rows, Rows]]:
    """Squared distances of blocks of new rows to all rows: Euclidean, and by the local metrics.

    (t − x)ᵀM(t − x) = ⟨M, ttᵀ⟩ − 2 tᵀMx + xᵀMx: a product of two tall matrices, which have the
    entries of M and of ttᵀ on and above the diagonal.
    """
    middle = X.mean(axis=0)
    dtype = np.float32 if len(X) > _MANY else np.float64
    T = (X - middle).astype(dtype)
    first, second = np.triu_indices(X.shape[1])
    twice = np.where(first == second, 1.0, 2.0)
    at_a_time = max(1, _NUMBERS // len(first))
    for start in range(0, len(X_new), _NEW_ROWS):
        new = X_new[start : start + _NEW_ROWS]
        M = local_metrics(bias_matrices(new, models))
        new = new - middle
        entries = (M[:, first, second] * twice).astype(dtype)
        moved = (M @ new[:, :, None])[:, :, 0]
        own = (new * moved).sum(axis=1)
        local = np.empty((len(new), len(T)), dtype=dtype)
        for begin in range(0, len(T), at_a_time):
            some = T[begin : begin + at_a_time]
            products = some[:, first] * some[:, second]
            local[:, begin : begin + at_a_time] = entries @ products.T
        local -= 2 * (moved.astype(dtype) @ T.T)
        local += own[:, None].astype(dtype)
        plain = (T * T).sum(axis=1) - 2 * (new.astype(dtype) @ T.T)
        plain += (new * new).sum(axis=1)[:, None].astype(dtype)
        yield plain, local
