"""What is known of the rows that questions may be about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Doubles, Ints
from nearkin.pairs.closure import draw_numbers, ends_of, keys_of, pairs_within
from nearkin.pairs.pairs import Pairs
from nearkin.rows.distances import centred, middle

# Pairs that are drawn at a time, or eight times as many as are asked for where that is more.
_POOL = 20_000


@dataclass(frozen=True)
class Scene:
    """Candidate rows as a metric sees them, and what is known of them.

    Attributes
    ----------
    Z : ndarray of shape (m, q)
        Embedding of the candidates, around its middle.
    threshold : float
        Distance at which same and different are equally likely.
    group : int ndarray of shape (m,)
        Candidates that must-links tie together share a number.
    n_known : int
        Groups below this number are of rows that some pair names.
    differing : int ndarray
        Keys of groups that are known to differ, see :func:`keys_of`.
    must, cannot : int ndarray of shape (k, 2)
        Known pairs of candidates, as positions in ``Z``.
    closed : int ndarray
        Keys of pairs of positions that are not to be asked about.
    """

    Z: Doubles
    threshold: float
    group: Ints
    n_known: int
    differing: Ints
    must: Ints
    cannot: Ints
    closed: Ints

    def is_open(self, pairs: Ints) -> NDArray[np.bool_]:
        """Whether the answer for each pair of positions is neither known nor follows."""
        groups = self.group[pairs]
        told = np.isin(keys_of(groups), self.differing) | np.isin(keys_of(pairs), self.closed)
        return np.asarray((groups[:, 0] != groups[:, 1]) & ~told)

    def noes(self) -> Ints:
        """Keys of groups that differ, or about which someone was unsure."""
        return np.union1d(self.differing, keys_of(self.group[ends_of(self.closed)]))

    def open_pairs(self, n: int, rng: np.random.RandomState) -> Ints:
        """Draw open pairs, in random order: all of them where there are few."""
        m = len(self.Z)
        total = m * (m - 1) // 2
        for size in (min(max(_POOL, 8 * n), total), total):
            numbers = draw_numbers(total, size, rng)
            pairs, _ = pairs_within(numbers, np.zeros(1, np.int64), np.array([m]))
            pairs = pairs[self.is_open(pairs)]
            if len(pairs) >= n:
                break
        return np.asarray(rng.permutation(pairs))


def some_of_each(group: Ints, positions: Ints, most: int, rng: np.random.RandomState) -> Ints:
    """Draw up to so many of some positions, one of each group that they are in first."""
    if len(positions) <= most:
        return positions
    drawn = rng.permutation(positions)
    _, first = np.unique(group[drawn], return_index=True)
    first = rng.permutation(first)
    return np.sort(np.concatenate([drawn[first], np.delete(drawn, first)])[:most])


def scene_of(
    Z: Doubles, threshold: float, rows: Ints, pairs: Pairs, closed: Ints | None = None
) -> Scene:
    """What is known of the rows that ``Z`` embeds; components reach through all other rows.

    Parameters
    ----------
    Z : ndarray of shape (m, q)
    threshold : float
    rows : int ndarray of shape (m,)
        Their row numbers in X, increasing.
    pairs : Pairs
        Of rows of X.
    closed : int ndarray of shape (k, 2), optional
        Pairs of rows of X that are not to be asked about.
    """
    groups = pairs.groups
    found = groups.of(rows)
    inside = pairs.restrict(rows)
    left_out = Pairs(() if closed is None else closed, n_rows=pairs.n_rows).restrict(rows)
    Z = np.asarray(Z, dtype=np.float64)
    return Scene(
        centred(Z, middle(Z)),
        float(threshold),
        np.where(found >= 0, found, groups.count + np.arange(len(rows))),
        groups.count,
        groups.differing,
        inside.must_link,
        inside.cannot_link,
        keys_of(left_out.must_link),
    )
