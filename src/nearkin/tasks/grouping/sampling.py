"""Some rows that groups are found among: those that tell most of what is known, and others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from nearkin._types import Floats, Ints
from nearkin.pairs.pairs import Pairs
from nearkin.rows import access
from nearkin.tasks.grouping.grouped import Groupings
from nearkin.tasks.grouping.metrics import coordinates

# Share of a sample that is filled with rows in pairs.
_NAMED_SHARE = 0.7


@dataclass(frozen=True)
class Sample:
    """Some rows, what is known of them, and their groupings.

    Attributes
    ----------
    numbers : int ndarray of shape (m,)
        Which rows they are, increasing.
    X : rows
    Z : ndarray of shape (m, q)
        Where the metric puts them.
    told : Pairs
        As positions in ``numbers``.
    groupings : Groupings
    """

    numbers: Ints
    X: Any
    Z: Floats
    told: Pairs
    groupings: Groupings

    @property
    def differ(self) -> bool:
        """Whether rows are not all at one place."""
        return bool(np.ptp(self.Z, axis=0).any())


@dataclass(frozen=True)
class Sampling:
    """All rows, and how they are to be grouped.

    Attributes
    ----------
    metric : fitted metric
    X : array, sparse matrix or frame of shape (n, d)
    known : Pairs
        With ``n_rows``.
    families : sequence of str
    seed : int
    strength : float or None
    bounds : tuple of (int, int or None)
        Groups that there must be, and may be.
    """

    metric: Any
    X: Any
    known: Pairs
    families: Sequence[str]
    seed: int
    strength: float | None
    bounds: tuple[int, int | None]

    def sample(self, most: int, rng: np.random.RandomState) -> Sample:
        """Up to so many rows."""
        numbers = sampled_rows(self.known, int(self.known.n_rows or 0), most, rng)
        X = access.take(self.X, numbers)
        told = self.known.restrict(numbers)
        Z = coordinates(self.metric, X, self.seed)
        least, most_groups = self.bounds
        groupings = Groupings(
            Z, told, self.families, self.seed, self.strength, min(least, len(Z)), most_groups
        )
        return Sample(numbers, X, Z, told, groupings)


def sampled_rows(pairs: Pairs, n_rows: int, most: int, rng: np.random.RandomState) -> Ints:
    """Up to so many rows: both ends of some must-links and cannot-links, and others at random."""
    if n_rows <= most:
        return np.arange(n_rows)
    room = int(_NAMED_SHARE * most)
    kinds = [rng.permutation(links) for links in (pairs.must_link, pairs.cannot_link)]
    turns = min(max(map(len, kinds)), room)
    ends = [kind[:turns] for kind in kinds]
    order = np.argsort(np.concatenate([np.arange(len(kind)) for kind in ends]), kind="stable")
    named = np.concatenate(ends)[order].ravel()
    _, first = np.unique(named, return_index=True)
    chosen = named[np.sort(first)][:room]
    others = np.setdiff1d(np.arange(n_rows), chosen)
    more = rng.choice(others, most - len(chosen), replace=False)
    return np.sort(np.concatenate([chosen, more]))
