"""Which pairs to learn from and which to judge by, so that nothing is known of the latter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from nearkin.pairs import Pairs

Ints = NDArray[np.integer]
Mask = NDArray[np.bool_]


def pair_folds(pairs: Pairs, n_folds: int, rng: np.random.RandomState) -> list[tuple[Mask, Mask]]:
    """Parts of the pairs to learn from, and others to judge by that share no point with them.

    Must-links are transitive and cannot-links are inherited, so a pair that is left out may follow
    from those that are not. It cannot if the two parts have no point in common. Pairs that have one
    end on either side are in neither part.

    Parameters
    ----------
    pairs : Pairs
    n_folds : int
    rng : RandomState

    Returns
    -------
    list of (bool ndarray, bool ndarray)
        For each fold that has something on both sides: pairs to learn from and to judge by, in the
        order of must-links and then cannot-links.
    """
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    if not len(links):
        return []
    ends = np.searchsorted(pairs.points, links)
    fold = _fold_of_points(ends, len(pairs.points), n_folds, rng)[ends]
    masks = [((fold != j).all(axis=1), (fold == j).all(axis=1)) for j in range(n_folds)]
    return [(learn, judge) for learn, judge in masks if learn.any() and judge.any()]


def _fold_of_points(ends: Ints, n_points: int, n_folds: int, rng: np.random.RandomState) -> Ints:
    """Points that pairs tie together stay together, unless they are more than half a fold.

    Whole groups lose no pair between the parts. Where nearly all points hang together, as with many
    pairs among few points, they are dealt out one by one.
    """
    graph = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_points, n_points))
    _, group = connected_components(graph, directed=False)
    too_large = np.bincount(group)[group] > max(n_points / n_folds / 2, 2)
    alone = np.where(too_large, n_points + np.arange(n_points), group)
    _, unit, sizes = np.unique(alone, return_inverse=True, return_counts=True)
    shuffled = rng.permutation(len(sizes))
    fold = np.empty(len(sizes), dtype=np.int64)
    load = np.zeros(n_folds)
    for number in shuffled[np.argsort(-sizes[shuffled], kind="stable")]:
        fold[number] = np.argmin(load)
        load[fold[number]] += sizes[number]
    return np.asarray(fold[unit])
