"""Groupings of rows in one space: any family, any number, mended until pairs are kept.

What a family finds is the start. Then, in turns, rows are placed by the groups of others
(:mod:`nearkin.tasks.grouping.placing`), and groups are made that keep the pairs and cost least.
Rows in pairs count most there, so that groups become what pairs say of them rather than what is
dense or narrow.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.decomposition import PCA
from sklearn.kernel_approximation import Nystroem
from sklearn.neighbors import KNeighborsClassifier

from nearkin._types import Floats, Ints, Mask
from nearkin.pairs.closure import in_order_of_appearance
from nearkin.pairs.pairs import Pairs
from nearkin.tasks.grouping.agreement import agreed_groups
from nearkin.tasks.grouping.families import FAMILIES, Coordinates, Cut
from nearkin.tasks.grouping.kept_pairs import Blocks, TooFewGroupsError, blocks_of, kept
from nearkin.tasks.grouping.metrics import coordinates
from nearkin.tasks.grouping.placing import Placed, Placing, kernel_features
from nearkin.tasks.grouping.soft_pairs import softly_kept

# The family that is what the others agree on.
AGREEMENT = "agreement"
# How much a row counts that is in no pair.
_UNNAMED = 0.1
# Turns, which end long before as a rule; the penalty is chosen anew in every third.
_MOST_TURNS = 6
_CHOSEN_ANEW = 3
# Leading axes that rows are grouped along, at most.
_MOST_AXES_OF_ROWS = 100
# Cannot-links, counted both ways, up to which so many groups are looked for that may be enough.
_FEW_APART = 5000
# Neighbours that say where an outlier goes.
_N_NEAREST = 5


@dataclass(frozen=True)
class Grouping:
    """Rows in groups that keep the pairs.

    Attributes
    ----------
    labels : int ndarray of shape (n,)
        From 0, in the order of first rows.
    outliers : bool ndarray of shape (n,)
        Rows that the family left out; they are in the group that they fit best.
    """

    labels: Ints
    outliers: Mask

    @property
    def n_groups(self) -> int:
        """How many there are."""
        return int(self.labels.max(initial=-1)) + 1


@dataclass(frozen=True)
class Space:
    """Where rows are when they are placed.

    Attributes
    ----------
    axes : PCA
        Along which rows are seen.
    features : Nystroem
        Of the kernel there.
    seed : int
    """

    axes: PCA
    features: Nystroem
    seed: int

    def coordinates(self, metric: Any, X: Any) -> Floats:
        """Where rows are along the axes."""
        return np.asarray(self.axes.transform(coordinates(metric, X, self.seed)))

    def scores(self, Z: Floats, coefficients: Floats) -> Floats:
        """Scores of groups of rows that are there."""
        return np.asarray(self.features.transform(Z) @ coefficients[:-1] + coefficients[-1])


def split_up(labels: Ints, scores: Floats, blocks: Blocks, least: int) -> Ints:
    """At least so many groups, if blocks allow: those that fit their group worst have their own."""
    last = scores.shape[1] - 1  # groups that were opened for pairs have no scores of their own
    own = scores[np.arange(len(labels)), np.minimum(labels, last)]
    fit = np.bincount(blocks.of, own) / np.bincount(blocks.of)
    group = np.zeros(blocks.count, dtype=np.int64)
    group[blocks.of] = labels
    missing = least - len(np.unique(group))
    sizes = np.bincount(group).tolist()
    for block in np.argsort(fit, kind="stable").tolist():
        if missing > 0 and sizes[group[block]] > 1:
            sizes[group[block]] -= 1
            group[block] = len(sizes)
            sizes.append(1)
            missing -= 1
    return group[blocks.of]


class Groupings:
    """All groupings of some rows.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        Where rows are.
    pairs : Pairs
        What is to be kept.
    families : sequence of str
    seed : int
    strength : float, optional
        What it costs to break a pair, where that is allowed.
    least, most : int, optional
        Groups that there must be, and may be.
    """

    def __init__(
        self,
        Z: Floats,
        pairs: Pairs,
        families: Sequence[str],
        seed: int,
        strength: float | None = None,
        least: int = 1,
        most: int | None = None,
    ) -> None:
        with np.errstate(invalid="ignore"):  # shares of no variance, where all rows are equal
            axes = PCA(min(_MOST_AXES_OF_ROWS, *Z.shape), random_state=seed).fit(Z)
        Z = axes.transform(Z)
        self.pairs, self.families, self.seed, self.strength = pairs, families, seed, strength
        self.least, self.most = least, most
        self.blocks = blocks_of(pairs, len(Z), strict=strength is None)
        self.there = Coordinates(Z, self.blocks, seed)
        self.space = Space(axes, kernel_features(Z, seed), seed)
        named = np.zeros(len(Z), dtype=bool)
        named[pairs.points] = True
        weights = np.where(named, 1.0, _UNNAMED if named.any() else 1.0)
        self.placing = Placing(self.space.features.transform(Z), self.blocks, weights)
        self._too_few = 0
        self._cuts: dict[str, Cut] = {}
        self._found: dict[tuple[str, int], Grouping | None] = {}

    def found(self, family: str, k: int) -> Grouping | None:
        """About k groups by a family; None if it has none."""
        if (family, k) not in self._found:
            start = self._agreed(k) if family == AGREEMENT else self._start(family, k)
            self._found[family, k] = None if start is None else self.mended(start, k)
        return self._found[family, k]

    def _start(self, family: str, k: int) -> Ints | None:
        if family not in self._cuts:
            self._cuts[family] = FAMILIES[family](self.there)
        return self._cuts[family](k)

    def _agreed(self, k: int) -> Ints | None:
        others = [self.found(family, k) for family in self.families if family != AGREEMENT]
        labels = [other.labels for other in others if other is not None]
        return agreed_groups(labels, k) if labels else None

    def mended(self, start: Ints, k: int, turns: int = _MOST_TURNS) -> Grouping:
        """Groups that keep the pairs, after so many turns at most; −1 at the start: an outlier."""
        labels, penalty = in_order_of_appearance(self._placed(self._at_most(start))), None
        for turn in range(turns if len(self.pairs) else 0):
            n_groups = int(labels.max()) + 1
            placed = self.placing.place(labels, n_groups, penalty if turn % _CHOSEN_ANEW else None)
            penalty = placed.penalty
            after = in_order_of_appearance(self.kept(placed.costs, max(k, n_groups)))
            if np.array_equal(labels, after):
                break
            labels = after
        labels = in_order_of_appearance(self.split_up(labels))
        return Grouping(labels, start < 0)

    def _at_most(self, start: Ints) -> Ints:
        """No more groups than there may be: rows of the smallest are outliers, −1, for now.

        Families that keep pairs by themselves may end with more groups than are needed.
        """
        sizes = np.bincount(start[start >= 0])
        if self.most is None or (sizes > 0).sum() <= self.most:
            return start
        largest = np.argsort(-sizes, kind="stable")[: self.most]
        return np.where(np.isin(start, largest), start, -1)

    def split_up(self, labels: Ints) -> Ints:
        """As many groups as there must be, see :func:`split_up`."""
        if self.least <= len(np.unique(labels)):
            return labels
        placed = self.placing.place(labels, int(labels.max()) + 1)
        return split_up(labels, placed.scores, self.blocks, self.least)

    def _placed(self, start: Ints) -> Ints:
        """Groups with outliers in those that they fit best."""
        if start.min(initial=0) >= 0:
            return start
        Z, inside = self.there.Z, start >= 0
        nearest = KNeighborsClassifier(min(_N_NEAREST, int(inside.sum())))
        labels = start.copy()
        labels[~inside] = nearest.fit(Z[inside], start[inside]).predict(Z[~inside])
        return labels

    def kept(self, costs: Floats, most_groups: int) -> Ints:
        """Groups of least cost that keep pairs, hard or soft."""
        if self.strength is not None:
            return softly_kept(costs, self.pairs, self.strength)
        few = self.blocks.apart.nnz <= _FEW_APART
        if few and most_groups > self._too_few:
            try:
                return kept(costs, self.blocks, most_groups=most_groups, steps=0)
            except TooFewGroupsError:  # or hard to find
                self._too_few = most_groups
        return kept(costs, self.blocks, most_groups=self.most)

    def placed(self, grouping: Grouping) -> Placed:
        """How rows are placed by a grouping, as new ones would be."""
        return self.placing.place(grouping.labels, grouping.n_groups)

    def alone(self) -> Grouping:
        """All rows in one group, or in as many as pairs need."""
        return self.mended(np.zeros(len(self.there.Z), dtype=np.int64), 1)

    def grouped(self, key: tuple[str, int]) -> Grouping:
        """A grouping that was found before."""
        found = self.found(*key)
        assert found is not None
        return found
