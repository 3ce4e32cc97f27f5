"""Which pairs to learn from and which to judge by, so that nothing is known of the latter."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, depth_first_order

from nearkin._types import Integers, Mask
from nearkin.pairs.pairs import Pairs


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
        order of must-links, cannot-links and triplets.
    """
    if not len(pairs):
        return []
    kinds = (pairs.must_link, pairs.cannot_link, pairs.closer)
    must, cannot, closer = ends = [np.searchsorted(pairs.points, links) for links in kinds]
    n_points = len(pairs.points)
    group = _groups(np.concatenate([must, cannot, closer[:, :2], closer[:, 1:]]), n_points)
    too_large = np.bincount(group)[group] > max(n_points / n_folds / 2, 2)
    alone = np.where(too_large, n_points + np.arange(n_points), group)
    fold = _dealt(alone, np.ones((n_points, 1)), n_folds, rng)

    def among(points: Mask) -> Mask:
        """Which pairs and triplets have all their points among these."""
        return np.concatenate([points[kind].all(axis=1) for kind in ends])

    masks = [(among(fold != j), among(fold == j)) for j in range(n_folds)]
    return [(learn, judge) for learn, judge in masks if learn.any() and judge.any()]


def new_point_folds(
    pairs: Pairs, n_folds: int, rng: np.random.RandomState
) -> list[tuple[Mask, Mask]]:
    """Parts of the pairs to learn from, and others that each have a point which is in none of them.

    Of a point in no pair that is learned from, nothing follows. Each group of points that
    must-links tie together is dealt to the folds evenly, so that each has some of every class, and
    pairs of both kinds to judge by.

    Parameters
    ----------
    pairs : Pairs
    n_folds : int
    rng : RandomState

    Returns
    -------
    list of (bool ndarray, bool ndarray)
        As of :func:`pair_folds`; here every pair is in one of the two.
    """
    kinds = (pairs.must_link, pairs.cannot_link, pairs.closer)
    ends = [np.searchsorted(pairs.points, links) for links in kinds]
    order = rng.permutation(len(pairs.points))
    group = _groups(ends[0], len(order))
    fold = np.empty(len(order), dtype=np.int64)
    fold[order[np.argsort(group[order], kind="stable")]] = np.arange(len(order)) % n_folds
    judged = [np.concatenate([(fold[x] == j).any(axis=1) for x in ends]) for j in range(n_folds)]
    return [(~judge, judge) for judge in judged if judge.any() and not judge.all()]


def row_folds(
    pairs: Pairs, n_rows: int, n_folds: int, rng: np.random.RandomState | None
) -> NDArray[np.int64]:
    """Deal all rows of X into folds, as :func:`pair_folds` does with the points of pairs.

    Folds get about as many must-links, cannot-links and rows each. Rows in no pair fill them up.

    Parameters
    ----------
    pairs : Pairs
    n_rows : int
    n_folds : int
    rng : RandomState or None
        None deals in the order of rows.

    Returns
    -------
    int ndarray of shape (n_rows,)
        The fold of each row.
    """
    points = pairs.points if rng is None else rng.permutation(pairs.points)
    number = np.empty(n_rows, dtype=np.int64)
    number[points] = np.arange(len(points))
    kinds = [number[links] for links in (pairs.must_link, pairs.cannot_link)]
    counts = [np.bincount(ends.ravel(), minlength=len(points)) for ends in kinds]
    loads = np.column_stack([*counts, np.ones(len(points))])
    pieces = _pieces(np.concatenate(kinds), len(points), -(-len(points) // n_folds))
    fold = np.full(n_rows, -1, dtype=np.int64)
    fold[points] = _dealt(pieces, loads, n_folds, rng)
    others = np.flatnonzero(fold < 0)
    if rng is not None:
        others = rng.permutation(others)
    fold[others] = _filling(np.bincount(fold[pairs.points], minlength=n_folds), len(others))
    return fold


def _groups(ends: Integers, n_points: int) -> Integers:
    """Number of the group of each point; pairs tie points together to groups."""
    _, group = connected_components(_graph(ends, n_points), directed=False)
    return np.asarray(group, dtype=np.int64)


def _pieces(ends: Integers, n_points: int, most: int) -> Integers:
    """The same, with groups of more than ``most`` points cut where few pairs are lost.

    Depth first, a point follows one that it is linked with nearly always, so that stretches of
    this order hang together.
    """
    group, most = _groups(ends, n_points), max(most, 2)
    graph, sizes = _graph(ends, n_points), np.bincount(group)
    piece = group * n_points
    for large in np.flatnonzero(sizes > most):
        start = int(np.argmax(group == large))
        order = depth_first_order(graph, start, directed=False, return_predecessors=False)
        n_pieces = -(-sizes[large] // most)
        piece[order] += np.arange(len(order)) * n_pieces // len(order)
    return piece


def _graph(ends: Integers, n_points: int) -> csr_array:
    return csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=(n_points, n_points))


def _dealt(
    unit: Integers, loads: NDArray[np.float64], n_folds: int, rng: np.random.RandomState | None
) -> NDArray[np.int64]:
    """Fold of each point; the points of a unit stay together.

    The largest unit comes first, and each goes where there is least of what it brings. ``loads``
    says of each point how much of each kind it brings.
    """
    _, unit, sizes = np.unique(unit, return_inverse=True, return_counts=True)
    brought = np.zeros((len(sizes), loads.shape[1]))
    np.add.at(brought, unit, loads)
    order = np.arange(len(sizes)) if rng is None else rng.permutation(len(sizes))
    fold = np.empty(len(sizes), dtype=np.int64)
    so_far = np.zeros((n_folds, loads.shape[1]))
    # Of all of a kind, a share counts the same for every kind.
    worth = 1 / np.maximum(loads.sum(axis=0), 1) ** 2
    for number in order[np.argsort(-sizes[order], kind="stable")]:
        fold[number] = np.argmin(so_far @ (worth * brought[number]))
        so_far[fold[number]] += brought[number]
    return fold[unit]


def _filling(sizes: Integers, n_more: int) -> NDArray[np.int64]:
    """Folds of further rows, one by one, such that folds become as even as can be."""
    levels = np.arange(n_more // len(sizes) + np.ptp(sizes) + 1)
    places = np.argsort(sizes[:, None] + levels, axis=None, kind="stable")[:n_more]
    return np.asarray(places // len(levels))
