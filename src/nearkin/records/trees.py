"""Extremely randomised trees as arrays, which are stored without code and vote on all cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.tree import ExtraTreeClassifier

from nearkin._types import Doubles, Ints
from nearkin.records.comparisons import Table32
from nearkin.rows.parallel import compiled, for_each_block
from nearkin.storage.arrays import StorageError
from nearkin.storage.schema import floats, ints, numbers, stored

_BLOCK = 1 << 14


@stored(
    below=ints("t", "t"),
    column=ints("t"),
    limit=numbers("t"),
    share=floats("t"),
    roots=ints("r", "t"),
    importances=floats("d"),
)
@dataclass(frozen=True)
class Trees:
    """Trees, all in the same arrays.

    Attributes
    ----------
    below : int ndarray of shape (t,)
        Of each node the first of the two below it, which follow one another; 0 at a leaf.
    column : int ndarray of shape (t,)
        By which a node decides: the first is for values up to ``limit``.
    limit, share : ndarray of shape (t,)
        ``share`` is that of pairs in a leaf that are the same.
    roots : int ndarray of shape (r,)
    importances : ndarray of shape (d,)
        How much each column adds.
    """

    below: Ints
    column: Ints
    limit: Doubles
    share: Doubles
    roots: Ints
    importances: Doubles

    def __post_init__(self) -> None:
        inner = np.flatnonzero(self.below)
        # Nodes lie below those that come before them, so that every way down ends.
        whole = (self.below[inner] > inner).all() and (
            self.below[inner] + 1 < len(self.below)
        ).all()
        if not whole or (self.column >= len(self.importances)).any():
            raise StorageError("trees whose nodes are not in order.")

    def shares(self, rows: Table32) -> Doubles:
        """The mean over trees of the share that is the same."""
        out = np.empty(len(rows))

        def vote(part: slice) -> None:
            _vote(
                self.below, self.column, self.limit, self.share, self.roots, rows[part], out[part]
            )

        for_each_block(vote, len(rows), _BLOCK)
        return out


def grow(rows: Table32, same: Doubles, weight: Doubles, n_trees: int, seed: int) -> Trees:
    """Grow trees by pairs of both kinds; ``same`` is 0 or 1."""
    forest = ExtraTreesClassifier(n_trees, random_state=seed).fit(rows, same, weight)
    return _planted([member.tree_ for member in forest.estimators_], forest.feature_importances_)


def grow_against(
    rows: Table32, same: Doubles, weight: Doubles, others: Table32, n_each: int, n_trees: int,
    seed: int,
) -> Trees:  # fmt: skip
    """Grow trees that are each told, too, that some others differ, drawn anew for each.

    Parameters
    ----------
    rows, same, weight
        Pairs of known kind, at least one of which is the same.
    others : float32 ndarray of shape (k, d)
        Pairs most of which differ.
    n_each : int
        How many of them a tree is told of. Each of them is met by few trees then, so that all
        others can judge it.
    n_trees, seed : int
    """
    rng = np.random.RandomState(seed)
    grown = []
    importances = np.zeros(rows.shape[1])
    for _ in range(n_trees):
        drawn = others[rng.choice(len(others), size=min(n_each, len(others)), replace=False)]
        tree = ExtraTreeClassifier(random_state=rng.randint(1 << 30)).fit(
            np.concatenate([rows, drawn]),
            np.concatenate([same, np.zeros(len(drawn))]),
            np.concatenate([weight, np.ones(len(drawn))]),
        )
        grown.append(tree.tree_)
        importances += tree.feature_importances_ / n_trees
    return _planted(grown, importances)


def _planted(grown: Sequence[object], importances: Doubles) -> Trees:
    """Trees of scikit-learn in arrays."""
    parts = []
    start = 0
    for tree in grown:
        parts.append(_in_order(tree, start))
        start += len(parts[-1][0])
    below, column, limit, share = (np.concatenate(part) for part in zip(*parts, strict=True))
    sizes = np.array([len(part[0]) for part in parts])
    return Trees(below, column, limit, share, np.cumsum(sizes) - sizes, importances)


def _in_order(tree: object, start: int) -> tuple[Ints, Ints, Doubles, Doubles]:
    """The nodes of a tree level by level, so that the two below a node follow one another."""
    left: NDArray[np.int64] = tree.children_left  # type: ignore[attr-defined]
    right: NDArray[np.int64] = tree.children_right  # type: ignore[attr-defined]
    counts = tree.value[:, 0, :]  # type: ignore[attr-defined]
    order = [0]
    below = np.zeros(len(left), dtype=np.int64)
    for place, node in enumerate(order):
        if left[node] >= 0:
            below[place] = start + len(order)
            order += [int(left[node]), int(right[node])]
    column = np.maximum(tree.feature[order], 0).astype(np.int64)  # type: ignore[attr-defined]
    limit = np.asarray(tree.threshold[order], dtype=np.float64)  # type: ignore[attr-defined]
    share = counts[order, 1] / counts[order].sum(axis=1)
    return below, column, limit, np.asarray(share, dtype=np.float64)


@compiled()
def _vote(
    below: Ints,
    column: Ints,
    limit: Doubles,
    share: Doubles,
    roots: Ints,
    rows: Table32,
    out: Doubles,
) -> None:
    for row in range(len(rows)):
        total = 0.0
        for root in roots:
            node = root
            while below[node] > 0:
                node = below[node] + (rows[row, column[node]] > limit[node])
            total += share[node]
        out[row] = total / len(roots)
