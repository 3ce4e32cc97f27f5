"""Which family and how many groups: by held-out pairs, and by how stable groupings are."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import adjusted_rand_score, silhouette_score

from nearkin._types import Floats, Ints, Mask
from nearkin.clustering.partitions import (
    Partitions,
    embed_rows,
    fit_metric_again,
    vote_on_groups,
)
from nearkin.pairs.closure import keys_of
from nearkin.pairs.pairs import Pairs
from nearkin.pairs.supervision import draw_of_each_kind
from nearkin.scores.held_out import deal_pairs

# All numbers here, but for those said to be otherwise, were chosen on the sets that settings are
# tuned on (``benchmarks/few_pairs/data.py``), by hand, with ``benchmarks/clusters``.

# Pairs of either kind that are imagined beside those judged, together as often as any two rows.
_IMAGINED = 1.0
# Between which the share of same pairs is always.
_LEAST_SHARE, _MOST_SHARE = 1e-3, 0.95
# How much the share of same pairs that is known beforehand counts, as the mean of (T − F)² does:
# more where few pairs are judged, since errors of F are part of both sides; and how many times
# larger or smaller the share may be than that.
_BEFOREHAND, _BY_PAIRS = 0.05, 4.0
_WITHIN = 3.0
# Numbers that are tried first; then those around the best, and further ones if that is the last.
FIRST_NUMBERS = (2, 3, 4, 5, 7, 10, 14, 20, 28, 40)
_FURTHER = 1.4
_AROUND = 3
# JudgedCandidate pairs that stability counts as much as.
STABILITY_COUNTS = 10.0
# What twice as many groups must gain where one pair is judged, and what it costs to have twice as
# many groups, or half as many, as there would be if all were of one size; of n pairs, 1 / √n of it.
_PRICE_OF_MORE = 0.1
_PRICE_OF_UNEVEN = 0.2
# A candidate must have this share of the groups that it was asked for.
_LEAST_FOUND = 0.6
# Times that judged pairs are drawn anew for the interval of the number, and its share of them: by
# convention.
_N_DRAWS = 200
CONFIDENCE = 0.9
# Parts of the pairs, of which each is held out once, and parts of the rows where there are none.
N_FOLDS = 4
# Must-links, and cannot-links, at most: of a part of the pairs, and of that held out.
_MOST_PAIRS = 500
# Share of the rows that a fold has where no pairs can be held out.
_SHARE = 0.8
# How often the grouping by all pairs votes, beside those of folds.
_OWN_VOTES = 2


@dataclass(frozen=True)
class HeldOutRates:
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

    def estimate_rates(self, weights: Floats | None = None) -> tuple[Floats, Floats]:
        """Estimate shares T of same and F of different pairs that each grouping puts together."""
        weights = self.weights if weights is None else weights
        found = []
        for kind in (self.same, ~self.same):
            counted = weights * kind
            total = self.together @ counted + _IMAGINED * self.shares
            found.append(total / (counted.sum() + _IMAGINED))
        return found[0], found[1]

    def estimate_prevalence(self, weights: Floats | None = None) -> float:
        """Estimate the share of all pairs of rows that are the same, by least squares."""
        T, F = self.estimate_rates(weights)
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

    def estimate_indices(self, weights: Floats | None = None) -> Floats:
        """Estimate the adjusted Rand index of each grouping from these pairs."""
        return expected_index(*self.estimate_rates(weights), self.estimate_prevalence(weights))

    def resample_indices(self, n_times: int, rng: np.random.RandomState) -> Floats:
        """Estimate indices by pairs drawn anew from these, (n_times, n_groupings)."""
        n = len(self.same)
        draws = rng.multinomial(n, np.full(n, 1 / n), size=n_times) if n else np.zeros((n_times, 0))
        return np.array([self.estimate_indices(self.weights * draw) for draw in draws])


def expected_index(together: Floats, mistaken: Floats, prevalence: float) -> Floats:
    """Adjusted Rand index where such shares of same and of different pairs are together."""
    q = prevalence * together + (1 - prevalence) * mistaken
    most = (prevalence + q) / 2 - prevalence * q
    return np.asarray(prevalence * (together - q) / np.maximum(most, 1e-12))


def count_groups(labels: Ints) -> int:
    """Count groups that are numbered from 0."""
    return int(labels.max(initial=-1)) + 1


def share_together(labels: Ints) -> float:
    """Share of all pairs of rows that are in one group."""
    sizes = np.bincount(labels).astype(float)
    n = len(labels)
    return float((sizes * (sizes - 1)).sum() / max(n * (n - 1), 1))


class Key(NamedTuple):
    """What a candidate is asked for."""

    family: str
    number: int


@dataclass(frozen=True)
class Fold:
    """Partitions that were not told of some pairs.

    Attributes
    ----------
    partitions : Partitions
    rows : int ndarray of shape (m,)
        Which rows they are of.
    judged : Pairs
        Pairs of these that were held out, as positions in ``rows``.
    """

    partitions: Partitions
    rows: Ints
    judged: Pairs


@dataclass(frozen=True)
class JudgedCandidate:
    """What folds say of a candidate."""

    key: Key
    found: int
    together: Floats
    share: float
    stability: float


class CandidateSearch:
    """Candidates, judged as they are asked for.

    Parameters
    ----------
    whole : Partitions
        Of all rows, told of all pairs.
    folds : sequence of Fold
    usual_share : float
        Share of all pairs of rows that are the same, as far as it is known without folds.
    """

    def __init__(
        self,
        whole: Partitions,
        folds: Sequence[Fold],
        usual_share: float,
    ) -> None:
        self.whole, self.folds = whole, folds
        self.usual_share = usual_share
        kinds = [fold.judged for fold in folds]
        self.same = np.concatenate(
            [np.repeat([True, False], [len(p.must_link), len(p.cannot_link)]) for p in kinds]
            or [np.zeros(0, dtype=bool)]
        )
        self.weights = np.concatenate(
            [np.concatenate([p.must_weight, p.cannot_weight]) for p in kinds] or [np.zeros(0)]
        )
        links = [np.concatenate([p.must_link, p.cannot_link]) for p in kinds]
        ends = [fold.rows[link] for fold, link in zip(folds, links, strict=True)]
        # Folds may judge a pair more than once.
        self.n_judged = len(np.unique(keys_of(np.concatenate(ends)))) if ends else 0
        self.judged: dict[Key, JudgedCandidate | None] = {}
        self._silhouettes: dict[Key, float] = {}

    def judge(self, numbers: Iterable[int]) -> None:
        """Judge all families with these numbers."""
        for number in numbers:
            for family in self.whole.wanted.families:
                key = Key(family, number)
                if key not in self.judged:
                    self.judged[key] = self._judge(key)

    def _judge(self, key: Key) -> JudgedCandidate | None:
        found = self.whole.find(*key)
        n_found = 0 if found is None else count_groups(found)
        if found is None or n_found < _LEAST_FOUND * key.number:
            return None
        together, shares, stable = [np.zeros(0)], [share_together(found)], []
        for fold in self.folds:
            labels = fold.partitions.find(*key)
            if labels is None:
                return None
            ends = np.concatenate([fold.judged.must_link, fold.judged.cannot_link])
            together.append((labels[ends[:, 0]] == labels[ends[:, 1]]).astype(float))
            shares.append(share_together(labels))
            stable.append(adjusted_rand_score(found[fold.rows], labels))
        stability = float(np.mean(stable)) if stable else 0.0
        share = float(np.mean(shares[1:] or shares))
        return JudgedCandidate(key, n_found, np.concatenate(together), share, stability)

    @property
    def candidates(self) -> list[JudgedCandidate]:
        """All that could be judged."""
        return [one for one in self.judged.values() if one is not None]

    @property
    def held_out(self) -> HeldOutRates:
        """What candidates say of held-out pairs."""
        together = np.array([one.together for one in self.candidates])
        shares = np.array([one.share for one in self.candidates])
        return HeldOutRates(together, self.same, self.weights, shares, self.usual_share)

    def score(self, indices: Floats) -> Floats:
        """Score candidates by their indices, by how stable they are, and by few groups.

        Where no pairs of both kinds are judged: stability times how far groups are apart.
        """
        held_out = self.held_out
        n = held_out.n_balanced
        if not n:
            return np.array([one.stability * self._apart(one) for one in self.candidates])
        stability = np.array([one.stability for one in self.candidates])
        groups = np.array([one.found for one in self.candidates])
        uneven = np.abs(np.log2(groups * held_out.estimate_prevalence()))
        price = _PRICE_OF_MORE * np.log2(groups) + _PRICE_OF_UNEVEN * uneven
        good = (n * indices + STABILITY_COUNTS * stability) / (n + STABILITY_COUNTS)
        return np.asarray(good - price / np.sqrt(n))

    def _apart(self, one: JudgedCandidate) -> float:
        """How far groups are apart: their mean silhouette, and 0 if that is negative."""
        if one.key not in self._silhouettes:
            labels = self.whole.get(*one.key)
            found = 0.0
            if 1 < one.found < len(labels):
                found = max(float(silhouette_score(self.whole.Z, labels)), 0.0)
            self._silhouettes[one.key] = found
        return self._silhouettes[one.key]

    def choose(self) -> JudgedCandidate:
        """The candidate of the best score."""
        return self.candidates[int(np.argmax(self.score(self.held_out.estimate_indices())))]

    def search(
        self, least: int, most: int, show: Callable[[Sequence[int]], Iterable[int]] = iter
    ) -> JudgedCandidate | None:
        """Judge numbers from the least to the most, few at first, and give the best candidate.

        None if no family has any, as where all rows are equal.
        """
        first = sorted({least, *(k for k in FIRST_NUMBERS if least <= k <= most)})
        if first[-1] < min(most, 2 * least):
            first = _space_numbers(least, min(most, 2 * least))
        self.judge(show(first))
        while self.candidates:
            numbers = sorted({key.number for key in self.judged})
            best = self.choose().key.number
            place = numbers.index(best)
            if best == numbers[-1] < most:
                new = [min(most, max(best + 1, round(best * _FURTHER)))]
            else:
                below = numbers[max(place - 1, 0)]
                above = numbers[min(place + 1, len(numbers) - 1)]
                near = (*_space_numbers(below, best), *_space_numbers(best, above))
                new = [k for k in near if k not in numbers]
            if not new:
                return self.choose()
            self.judge(show(new))
        return None

    def vote(self, best: JudgedCandidate) -> Ints:
        """Group rows as the best candidate does in the mean, whichever pairs were held out.

        As it does for all pairs counts twice. That alone is taken where folds have some rows only.
        """
        own = self.whole.get(*best.key)
        if not all(len(fold.rows) == len(own) for fold in self.folds):
            return own
        others = [fold.partitions.get(*best.key) for fold in self.folds]
        voted = vote_on_groups([own] * _OWN_VOTES + others, best.found, self.whole.seed)
        return self.whole.repair(voted, best.found, turns=1)

    def estimate_interval(self, rng: np.random.RandomState) -> tuple[int, int]:
        """Estimate between which numbers of groups the best is, if pairs were drawn anew."""
        found = np.array([one.found for one in self.candidates])
        draws = self.held_out.resample_indices(_N_DRAWS, rng)
        chosen = found[[int(np.argmax(self.score(draw))) for draw in draws]]
        ends = np.quantile(chosen, [(1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2], method="nearest")
        own = self.choose().found
        return min(int(ends[0]), own), max(int(ends[1]), own)


def _space_numbers(low: int, high: int) -> list[int]:
    """Space some numbers from low to high, both included."""
    return sorted({round(k) for k in np.linspace(low, high, _AROUND)})


def make_folds(
    whole: Partitions,
    pairs: Pairs,
    metric: Any,
    given: Any,
    X: Any,
    Z: Floats,
    rng: np.random.RandomState,
) -> list[Fold]:
    """Hold parts of the pairs out from metric and groups; or of the rows, if there are no pairs.

    Parameters
    ----------
    whole : Partitions
        Of all these rows.
    pairs : Pairs
        What is known of them.
    metric : fitted metric
    given : what the user gave as the metric
    X : rows
    Z : ndarray of shape (n, q)
        Where they are.
    rng : RandomState
    """
    n = len(Z)
    rows = np.arange(n)
    folds = []
    pairs = draw_of_each_kind(pairs, _MOST_PAIRS, rng)
    for learn, judge in deal_pairs(pairs, N_FOLDS, rng, unseen="one"):
        told = pairs.subset(learn)
        without = fit_metric_again(metric, given, X, told)
        there = Z if without is metric else embed_rows(without, X, whole.seed)
        partitions = Partitions(there, told, whole.wanted, whole.seed)
        folds.append(Fold(partitions, rows, pairs.subset(judge)))
    if folds:
        return folds
    for _ in range(N_FOLDS):
        some = np.sort(rng.choice(n, max(2, round(_SHARE * n)), replace=False))
        told = pairs.restrict(some)
        folds.append(Fold(Partitions(Z[some], told, whole.wanted, whole.seed), some, Pairs()))
    return folds
