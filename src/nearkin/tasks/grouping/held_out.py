r"""How good groupings are, by pairs that neither the metric nor the groups were told of.

Of a grouping, let T be the share of pairs that are the same which it puts together, F that of pairs
that are different, and π the share of all pairs that are the same. Then it puts together

.. math:: q = π T + (1 - π) F

of all pairs, and its adjusted Rand index is

.. math:: \frac{π (T - q)}{(π + q) / 2 - π q} .

T and F are seen on held-out must-links and cannot-links, whatever their proportion. π is not, but q
is known for every grouping: the first equation, over many of them, gives π by least squares, drawn
toward what distances say of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearkin._types import Floats, Ints, Mask

# Pairs of either kind that are imagined beside those judged, together as often as any two rows.
_IMAGINED = 1.0
_LEAST_SHARE, _MOST_SHARE = 1e-3, 0.95
# How much the share of same pairs that is known beforehand counts, as the mean of (T − F)² does:
# more where few pairs are judged, since errors of F are part of both sides; and how many times
# larger or smaller the share may be than that.
_BEFOREHAND, _BY_PAIRS = 0.05, 4.0
_WITHIN = 3.0


@dataclass(frozen=True)
class HeldOut:
    """What groupings say of pairs that were held out.

    Attributes
    ----------
    together : ndarray of shape (n_groupings, n_pairs)
        1 where a grouping puts the two together, 0 where it does not.
    same : bool ndarray of shape (n_pairs,)
        What is known of them.
    weights : ndarray of shape (n_pairs,)
    shares : ndarray of shape (n_groupings,)
        Share of all pairs of rows that each puts together.
    usual_share : float
        Share of all pairs that are the same, as far as it is known without these.
    """

    together: Floats
    same: Mask
    weights: Floats
    shares: Floats
    usual_share: float

    def rates(self, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """T and F of each grouping."""
        weights = self.weights if weights is None else weights
        found = []
        for kind in (self.same, ~self.same):
            counted = weights * kind
            total = self.together @ counted + _IMAGINED * self.shares
            found.append(total / (counted.sum() + _IMAGINED))
        return found[0], found[1]

    def prevalence(self, weights: Floats | None = None) -> float:
        """Share of all pairs of rows that are the same, by least squares."""
        T, F = self.rates(weights)
        counts = _BEFOREHAND + _BY_PAIRS / max(self.n_balanced, 1.0)
        told = float(((self.shares - F) * (T - F)).mean()) + counts * self.usual_share
        share = told / (float(((T - F) ** 2).mean()) + counts)
        share = np.clip(share, self.usual_share / _WITHIN, self.usual_share * _WITHIN)
        return float(np.clip(share, _LEAST_SHARE, _MOST_SHARE))

    @property
    def n_balanced(self) -> float:
        """Pairs that tell as much, if there were as many of either kind."""
        same = float(self.weights[self.same].sum())
        return 2 * min(same, float(self.weights.sum()) - same)

    def indices(self, weights: Floats | None = None) -> Floats:
        """Adjusted Rand index of each grouping, as expected from these pairs."""
        return expected_index(*self.rates(weights), self.prevalence(weights))

    def resampled(self, n_times: int, rng: np.random.RandomState) -> Floats:
        """The same for pairs drawn anew from these, (n_times, n_groupings)."""
        n = len(self.same)
        draws = rng.multinomial(n, np.full(n, 1 / n), size=n_times) if n else np.zeros((n_times, 0))
        return np.array([self.indices(self.weights * draw) for draw in draws])


def expected_index(together: Floats, mistaken: Floats, prevalence: float) -> Floats:
    """Adjusted Rand index where such shares of same and of different pairs are together."""
    q = prevalence * together + (1 - prevalence) * mistaken
    most = (prevalence + q) / 2 - prevalence * q
    return np.asarray(prevalence * (together - q) / np.maximum(most, 1e-12))


def share_together(labels: Ints) -> float:
    """Share of all pairs of rows that are in one group."""
    sizes = np.bincount(labels).astype(float)
    n = len(labels)
    return float((sizes * (sizes - 1)).sum() / max(n * (n - 1), 1))
