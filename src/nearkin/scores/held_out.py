"""Pairs that are held out, fold by fold: compare metrics on them, and find those that look wrong.

Must-links are transitive and cannot-links are inherited, so a pair that is left out may follow from
those that are not. Of a row that no pair names nothing follows: so rows are dealt into folds, and a
fold holds out the pairs of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.sparse.csgraph import connected_components, depth_first_order
from scipy.special import expit, softmax
from scipy.stats import norm

from nearkin._types import Doubles, Floats, Integers, Ints, Mask, Rng
from nearkin.pairs.answers import LEAST_TELLING
from nearkin.pairs.closure import build_graph
from nearkin.pairs.pairs import Pairs
from nearkin.storage.schema import real, stored, truth, tuple_of, whole

# Usual gain in pair AUC, mean and deviation: by hand, in the range of benchmarks/few_pairs.
USUAL_GAIN = (0.1, 0.06)
# Variance that differences of placements are imagined to have, as one more. Chosen by hand.
_IMAGINED_VARIANCE = 0.03
# Ranks of random pairs, which stand for a missing kind of pair: so many that they add no noise.
_ANY_PAIRS = (np.arange(100) + 0.5) / 100
# The share of wrong answers is Beta(a, b) before any is seen: a tenth or so. Chosen by hand.
_IMAGINED_ANSWERS = (2.0, 10.0)
# Pull of the squared slope: a few pairs in perfect order show no cliff. Chosen by hand.
_SLOPE_PULL = 0.02
# A pair is listed if the opposite of what was said has this probability by a metric that was told
# it, and gives way to it a little. Where a fifth of 200 pairs were wrong, nearly two thirds of them
# were listed, and most of the list was wrong.
LEAST_CHANCE = 0.48
# Pairs from which a metric has learned so much of others that half of what it says of one is not
# what it was told. By the sets to tune on of benchmarks/few_pairs: wrong pairs among 200 are told
# from right ones with an AUC of 0.784, instead of 0.770 by pairs held out alone.
_HALF_TOLD = 20
# No pair is quite without weight.
_LEAST_TRUST = 1e-3
# Fewer pairs do not tell same from different, nor fewer rows groups apart. Chosen by hand.
_FEWEST = 10
# The share of wrong answers is thought to be Beta(a, b) before any is seen, and so is that of rows
# whose distances say nothing. Chosen by hand.
_IMAGINED_SLIPS = (2.0, 20.0)
_IMAGINED_ROWS = (1.5, 20.0)
# Members of a group whose mean distance is that of the group. Chosen by hand.
N_NEAREST = 3
# Within which the logarithm of s is looked for, and log-odds of twice the rates.
_SHARPNESS, _LOGITS = (-4.0, 6.0), (-8.0, 4.0)


def make_pair_folds(
    pairs: Pairs, n_folds: int, rng: Rng, *, unseen: Literal["one", "both"]
) -> list[tuple[Mask, Mask]]:
    """Split pairs into folds: for each, masks of pairs to learn from and of pairs to judge by.

    Pairs to learn from name no row of the fold. With ``unseen="one"`` every pair with a row of the
    fold is judged, so that each pair is judged at least once; rows that must-links tie together are
    spread over the folds, so that each has some of every class. With ``"both"`` a pair is judged
    only where all of its rows are in the fold, the harder test by fewer pairs; pairs between the
    fold and other rows are in neither mask. Masks are in the order of must-links, cannot-links,
    triplets and graded pairs. Folds without pairs on both sides are left out.
    """
    if not len(pairs):
        return []
    points = pairs.points
    kinds = (pairs.must_link, pairs.cannot_link, pairs.closer, pairs.graded)
    ends = [np.searchsorted(points, links) for links in kinds]
    must, cannot, closer, graded = ends
    if unseen == "both":
        # Rows that pairs tie together stay so in small groups alone: pieces of a large one would
        # lose fewer pairs, but these hang together and tell no more (wine, 120 answers: an error of
        # 0.024 in pair AUC by 320 pairs, where single rows have 0.017 by 148).
        group = _number_groups(
            np.concatenate([must, cannot, graded, closer[:, :2], closer[:, 1:]]), len(points)
        )
        too_large = np.bincount(group)[group] > max(len(points) / n_folds / 2, 2)
        unit = np.where(too_large, len(points) + np.arange(len(points)), group)
        fold = _assign_unit_folds(unit, np.ones((len(points), 1)), np.ones(n_folds), rng)
    else:
        order = rng.permutation(len(points))
        group = _number_groups(must, len(order))
        fold = np.empty(len(order), dtype=np.int64)
        fold[order[np.argsort(group[order], kind="stable")]] = np.arange(len(order)) % n_folds
    folds = []
    for number in range(n_folds):
        there = [fold[rows] == number for rows in ends]
        touched = np.concatenate([rows.any(axis=1) for rows in there])
        within = np.concatenate([rows.all(axis=1) for rows in there])
        learn, judge = ~touched, within if unseen == "both" else touched
        if learn.any() and judge.any():
            folds.append((learn, judge))
    return folds


def assign_row_folds(
    pairs: Pairs,
    n_rows: int,
    shares: Sequence[float],
    rng: Rng | None,
    *,
    largest_first: bool = True,
) -> Ints:
    """Fold of each row of X, of shape (n_rows,); rows tied by pairs go together if they fit.

    Folds get their ``shares`` of must-links, cannot-links and rows. Groups of tied rows that are
    larger than the smallest fold are cut, and pairs between the pieces are lost. Rows in no pair
    fill the folds up. Without ``rng`` rows are assigned in their order. ``largest_first`` assigns
    larger groups before smaller ones, which makes folds most even; for one part drawn at random,
    rather than folds that are all judged, it is False.
    """
    share = np.asarray(shares, dtype=np.float64) / max(shares)
    fold = np.full(n_rows, -1, dtype=np.int64)
    fold[pairs.points] = _assign_point_folds(pairs, share, rng, largest_first)
    others = np.flatnonzero(fold < 0)
    if rng is not None:
        others = rng.permutation(others)
    # To folds such that sizes come nearest to the shares.
    sizes = np.bincount(fold[pairs.points], minlength=len(share))
    fair = n_rows * share.max() / share.sum()
    levels = np.arange(max(int(fair) - int(sizes.min()), 0) + 2)
    filled = (sizes[:, None] + levels + 0.5) / share[:, None]
    fold[others] = np.argsort(filled, axis=None, kind="stable")[: len(others)] // len(levels)
    return fold


def _assign_point_folds(pairs: Pairs, share: Floats, rng: Rng | None, largest_first: bool) -> Ints:
    """Fold of each row that pairs name, of shape (points,); the largest of the shares is 1."""
    pairs = pairs.as_weak_pairs()
    n_points = len(pairs.points)
    if not n_points:
        return np.empty(0, dtype=np.int64)
    order = np.arange(n_points) if rng is None else rng.permutation(n_points)
    number = np.argsort(order)
    links = (pairs.must_link, pairs.cannot_link)
    kinds = [number[np.searchsorted(pairs.points, kind)] for kind in links]
    counts = [np.bincount(ends.ravel(), minlength=n_points) for ends in kinds]
    loads = np.column_stack([*counts, np.ones(n_points)])
    most = int(np.ceil(n_points * share.min() / share.sum()))
    pieces = _cut_groups(np.concatenate(kinds), n_points, most)
    return _assign_unit_folds(pieces, loads, share, rng, largest_first)[number]


def _number_groups(ends: Integers, n_points: int) -> Integers:
    """Group number of each point; a group is a connected component of the pairs ``ends``."""
    _, group = connected_components(build_graph(ends, n_points), directed=False)
    return np.asarray(group, dtype=np.int64)


def _cut_groups(ends: Integers, n_points: int, most: int) -> Integers:
    """Group number of each point; groups of more than ``most`` points are cut into pieces.

    Pieces are stretches of a depth-first order, in which a point nearly always follows one that it
    is linked with, so that few pairs are lost.
    """
    group, most = _number_groups(ends, n_points), max(most, 2)
    graph, sizes = build_graph(ends, n_points), np.bincount(group)
    piece = group * n_points
    for large in np.flatnonzero(sizes > most):
        start = int(np.argmax(group == large))
        order = depth_first_order(graph, start, directed=False, return_predecessors=False)
        n_pieces = -(-sizes[large] // most)
        piece[order] += np.arange(len(order)) * n_pieces // len(order)
    return piece


def _assign_unit_folds(
    unit: Integers, loads: Floats, share: Floats, rng: Rng | None, largest_first: bool = True
) -> Ints:
    """Fold of each point; points of the same ``unit`` go to the same fold.

    ``loads``, of shape (points, kinds), counts the must-links, cannot-links and rows that a point
    stands for. Each unit goes to the fold that has least of these for its share.
    """
    _, unit, sizes = np.unique(unit, return_inverse=True, return_counts=True)
    brought = np.zeros((len(sizes), loads.shape[1]))
    np.add.at(brought, unit, loads)
    order = np.arange(len(sizes)) if rng is None else rng.permutation(len(sizes))
    fold = np.empty(len(sizes), dtype=np.int64)
    so_far = np.zeros((len(share), loads.shape[1]))
    # Of all of a kind, a share counts the same for every kind.
    worth = 1 / np.maximum(loads.sum(axis=0), 1) ** 2
    if largest_first:
        order = order[np.argsort(-sizes[order], kind="stable")]
    for number in order:
        # With half of it there, so that a small fold is not the first to get one.
        with_half = so_far + brought[number] / 2
        fold[number] = np.argmin(with_half @ (worth * brought[number]) / share)
        so_far[fold[number]] += brought[number]
    return fold[unit]


def share_below(values: Floats, among: Floats) -> Floats:
    """Share of the numbers in ``among`` that are smaller than each value; ties count half."""
    ordered = np.sort(among)
    below = np.searchsorted(ordered, values)
    not_above = np.searchsorted(ordered, values, side="right")
    return np.asarray((below + not_above) / (2 * len(ordered)))


def rank_among(distances: Floats, among: Floats) -> Floats:
    """Share of the distances in ``among`` that are smaller, interpolated between them.

    Below and above all of ``among`` the share goes on towards 0 and 1, so that different distances
    never tie: duplicates are nearer than nearly all random pairs.
    """
    levels, counts = np.unique(among, return_counts=True)
    share = (np.cumsum(counts) - counts / 2) / len(among)
    nearest, farthest = float(levels[0]), float(levels[-1])
    out = np.interp(distances, levels, share)
    below, above = distances < nearest, distances > farthest
    out[below] = share[0] * (distances[below] / (nearest or 1.0))
    unit = farthest or 1.0
    out[above] = 1 - (1 - share[-1]) * unit / (unit + (distances[above] - farthest))
    return np.asarray(out)


def rank_within(rank: Floats, same: Mask) -> Floats:
    """Rank of each pair among all pairs, from 0 to 1, with both kinds weighing the same.

    Where all pairs are near, as duplicates and look-alikes are, ranks among random pairs are all
    close to 0; ranks among the pairs themselves are spread evenly. NaN stays NaN.
    """
    judged = ~np.isnan(rank)
    out = np.full(len(rank), np.nan)
    kinds = [rank[judged & kind] for kind in (same, ~same)]
    shares = [share_below(rank[judged], kind) for kind in kinds if len(kind)]
    if shares:
        out[judged] = np.mean(shares, axis=0)
    return out


def placements(rank: Floats, same: Mask) -> tuple[Floats, Floats]:
    """For each must-link the share of cannot-links that rank above it, and the reverse.

    The mean of either is the area under the ROC curve.
    """
    must, cannot = rank[same], rank[~same]
    return 1 - share_below(must, cannot), share_below(cannot, must)


@dataclass(frozen=True)
class AucComparison:
    """Pair AUC of one metric beside that of another, on the same held-out pairs."""

    auc: float
    other_auc: float
    error: float  # standard error of the difference

    @property
    def gain(self) -> float:
        """By how much the first metric's AUC is larger."""
        return self.auc - self.other_auc

    @property
    def t(self) -> float:
        """The gain divided by its standard error."""
        return self.gain / self.error

    def chance_of_gain(self, before: float) -> float:
        """Posterior probability of a gain, given its prior probability ``before``.

        Of two hypotheses: a gain of the usual size, or none, which may be a loss of any size.
        """
        mean, deviation = USUAL_GAIN
        usual = before * norm.pdf(self.gain, mean, np.hypot(self.error, deviation))
        none = (1 - before) * norm.pdf(max(self.gain, 0), 0, self.error)
        if usual + none == 0:  # a gain beyond everything that is usual
            return 1.0
        return float(usual / (usual + none))


def add_missing_kind(same: Mask, *judged: Floats) -> tuple[Mask, tuple[Floats, ...]]:
    """Append random pairs' ranks where a kind is missing; return kinds and all ``judged`` ranks."""
    if same.any() and not same.all():
        return same, judged
    added = np.full(len(_ANY_PAIRS), not same.all())
    return np.append(same, added), tuple(np.append(rank, _ANY_PAIRS) for rank in judged)


def rank_auc(rank: Floats, same: Mask) -> float:
    """Pair AUC from the ranks of held-out pairs; random pairs stand for a missing kind."""
    kinds, (ranked,) = add_missing_kind(same, rank)
    return float(placements(ranked, kinds)[0].mean())


def average_precision(rank: Floats, same: Mask) -> float:
    """Average precision of finding must-links by rank; random pairs stand for a missing kind."""
    kinds, (ranked,) = add_missing_kind(same, rank)
    must, cannot = np.sort(ranked[kinds]), np.sort(ranked[~kinds])
    up_to = np.searchsorted(must, must, side="right")
    others = np.searchsorted(cannot, must, side="right")
    return float(np.mean(up_to / (up_to + others)))


def compare_auc(rank: Floats, other: Floats, same: Mask) -> AucComparison:
    """Pair AUC of two metrics, and the standard error of the difference by DeLong's method.

    ``rank`` and ``other`` are ranks of the same pairs, NaN where a pair was not held out; random
    pairs stand for a missing kind. With few pairs the variance itself is uncertain; it is shrunk
    towards a common one.
    """
    judged = ~np.isnan(rank)
    kinds, (first, second) = add_missing_kind(same[judged], rank[judged], other[judged])
    one, two = placements(first, kinds), placements(second, kinds)
    variance = 0.0
    for a, b in zip(one, two, strict=True):
        k = len(a)
        variance += float(k * np.var(a - b) + _IMAGINED_VARIANCE) / (k + 1) / k
    return AucComparison(float(one[0].mean()), float(two[0].mean()), float(np.sqrt(variance)))


@dataclass(frozen=True)
class AnswerModel:
    """How what was said of pairs depends on their ranks.

    Two rows are the same with probability 1 / (1 + exp(−level − slope (rank − ½))).
    """

    level: float
    slope: float
    wrong: float  # share of pairs of which the opposite was said

    def chance_same(self, rank: Floats) -> Floats:
        """Probability that two rows are the same, given the rank of their distance."""
        return np.asarray(expit(self.level + self.slope * (rank - 0.5)))

    def chance_wrong(self, rank: Floats, same: Mask) -> Floats:
        """Probability that the answer ``same`` about a pair is wrong, by Bayes' rule."""
        p = self.chance_same(rank)
        wrong = self.wrong * np.where(same, 1 - p, p)
        right = (1 - self.wrong) * np.where(same, p, 1 - p)
        return np.asarray(wrong / (wrong + right))


def model_answers(rank: Floats, same: Mask) -> AnswerModel | None:
    r"""Fit an :class:`AnswerModel` to ranks of pairs; None where all answers are the same.

    .. math::

        \max \sum_k w_k \log \bigl((1 - \pi) s_k + \pi (1 - s_k)\bigr)
        + \log \pi^{a - 1} (1 - \pi)^{b - 1} - 0.02\, \text{slope}^2

    with :math:`s_k` the curve's probability of what was said of pair k, π the share of wrong
    answers, and weights w by which both kinds count the same. Where answers contradict ranks
    however extreme these are, π is large; where they do so only in between, the curve is flat.
    Pairs whose rank is NaN do not count.
    """
    judged = ~np.isnan(rank)
    x, y = rank[judged] - 0.5, same[judged]
    if y.all() or not y.any():
        return None
    sign = np.where(y, 1.0, -1.0)
    weight = np.where(y, 0.5 / y.mean(), 0.5 / (1 - y.mean()))
    a, b = _IMAGINED_ANSWERS

    def loss(parameters: Floats) -> float:
        level, slope, logit = parameters
        wrong = 0.5 * expit(logit)
        right = expit(sign * (level + slope * x))
        likely = np.log((1 - wrong) * right + wrong * (1 - right))
        prior = (a - 1) * np.log(wrong) + (b - 1) * np.log(1 - wrong)
        return float(-weight @ likely - prior + _SLOPE_PULL * slope**2)

    level, slope, logit = minimize(loss, np.array([0.0, -2.0, -1.0]), method="BFGS").x
    return AnswerModel(float(level), float(slope), float(0.5 * expit(logit)))


@stored(pair=tuple_of(whole, whole), same=truth, chance_opposite=real)
class Suspect(NamedTuple):
    """A pair that looks wrong.

    Attributes
    ----------
    pair : tuple of two ints
        Row numbers.
    same : bool
        What was said of them.
    chance_opposite : float
        Probability of the opposite, by their learned distance alone.

    Examples
    --------
    >>> from nearkin import Suspect
    >>> print(Suspect((3, 8), same=True, chance_opposite=0.9))
    rows 3 and 8 are said to be the same but lie far apart: different, by their distance, with a
    probability of 90%
    """

    pair: tuple[int, int]
    same: bool
    chance_opposite: float

    def __str__(self) -> str:
        first, second = self.pair
        said, seem, other = "different", "close together", "the same"
        if self.same:
            said, seem, other = "the same", "far apart", "different"
        return (
            f"rows {first} and {second} are said to be {said} but lie {seem}: {other}, by their "
            f"distance, with a probability of {self.chance_opposite:.0%}"
        )


def weaken_doubtful_pairs(pairs: Pairs, rank: Floats) -> Pairs:
    """Return the pairs with weights lowered where the answer is likely wrong; triplets stay.

    A weight is multiplied with the probability that the answer is right less that it is wrong
    (:class:`AnswerModel`). ``rank``, of shape (pairs,), is that of must-links and then cannot-links
    under a metric that was learned from other pairs; where it is NaN the weight stays.
    """
    same, place, model = _rank_and_model(pairs, rank)
    if model is None:
        return pairs
    wrong = np.nan_to_num(model.chance_wrong(place, same), nan=0.0)
    must, cannot = np.split(np.maximum(1 - 2 * wrong, _LEAST_TRUST), [len(pairs.must_link)])
    return Pairs(
        pairs.must_link,
        pairs.cannot_link,
        must_weight=pairs.must_weight * must,
        cannot_weight=pairs.cannot_weight * cannot,
        closer=pairs.closer,
        closer_weight=pairs.closer_weight,
        n_rows=pairs.n_rows,
    )


def estimate_chances(pairs: Pairs, rank: Floats) -> Floats:
    """Probability that each pair is the same, by its distance and not by its own answer.

    NaN where the rank is NaN, or where there are fewer than ten. Answers of a weight near 0 are
    ignored; ``rank`` is as for :func:`weaken_doubtful_pairs`.
    """
    same, place, _ = _rank_and_model(pairs, rank)
    weight = np.concatenate([pairs.must_weight, pairs.cannot_weight])
    believed = np.where(weight < LEAST_TELLING, np.nan, place)
    few = np.isfinite(believed).sum() < _FEWEST
    model = None if few else model_answers(believed, same)
    return np.full(len(rank), np.nan) if model is None else model.chance_same(place)


def find_wrong_answers(pairs: Pairs, rank: Floats, least: float) -> list[Suspect]:
    """Pairs whose answer is wrong with at least this probability, the most likely first.

    The probability weighs the distance and how often people err: a surprise alone says little where
    nearly all answers are right. ``rank`` is as for :func:`weaken_doubtful_pairs`.
    """
    same, place, model = _rank_and_model(pairs, rank)
    if model is None or np.isfinite(rank).sum() < _FEWEST:
        return []
    wrong = np.asarray(np.nan_to_num(model.chance_wrong(place, same), nan=0.0))
    return _list_suspects(pairs, same, wrong, wrong >= least)


def find_suspects_of_metric(
    pairs: Pairs, rank: Floats, learned: Floats, least: float = LEAST_CHANCE
) -> list[Suspect]:
    """Pairs whose distance under a metric learned from them speaks against their answer.

    Listed are those whose opposite has a probability of at least ``least``, the most likely first.
    ``learned`` are the distances under that metric, ``rank`` is as for
    :func:`weaken_doubtful_pairs`. A metric learned from many pairs hardly gives way to any one, and
    its distances order wrong pairs better than held-out ones; from few pairs it was made to suit
    them. So learned distances of k pairs weigh k / (k + 20), ranks the rest.
    """
    same, held_out, model = _rank_and_model(pairs, rank)
    if model is None:
        return []
    judged = ~np.isnan(rank)
    told = rank_within(np.where(judged, learned, np.nan), same)
    weight = judged.sum() / (judged.sum() + _HALF_TOLD)
    p = model.chance_same(weight * told + (1 - weight) * held_out)
    opposite = np.where(same, 1 - p, p)  # NaN where a pair was not judged
    return _list_suspects(pairs, same, opposite, judged & (opposite >= least))


def _list_suspects(pairs: Pairs, same: Mask, opposite: Floats, which: Mask) -> list[Suspect]:
    """List the pairs where ``which`` is True, by decreasing probability of the opposite."""
    links = np.concatenate([pairs.must_link, pairs.cannot_link]).tolist()
    found = np.flatnonzero(which)
    return [
        Suspect((links[i][0], links[i][1]), bool(same[i]), float(opposite[i]))
        for i in found[np.argsort(-opposite[found], kind="stable")]
    ]


def _rank_and_model(pairs: Pairs, rank: Floats) -> tuple[Mask, Floats, AnswerModel | None]:
    """Return which pairs are must-links, their ranks among all pairs, and the model of answers."""
    same = np.arange(len(rank)) < len(pairs.must_link)
    place = rank_within(rank, same)
    return same, place, model_answers(place, same)


class Membership(NamedTuple):
    """Chances for each row that was put in a group; NaN where they cannot be told."""

    member: Doubles  # that it is of its group by distances alone, whatever was said
    misplaced: Doubles  # that it is of another one, given how often people err


def judge_membership(distance: Doubles, said: Ints, who: Ints | None = None) -> Membership:
    """Judge for each of m rows whether it belongs to another group than it was put in.

    ``distance``, of shape (m, K), is that of each row from each group without the row itself,
    infinite where unknown. ``said`` is the group it was put in, ``who`` the number of the person
    who did, from 0; by default there is one.
    """
    member, misplaced = np.full(len(said), np.nan), np.full(len(said), np.nan)
    judged = np.isfinite(distance).sum(axis=1) > 1
    judged &= np.isfinite(distance[np.arange(len(said)), said])
    if judged.sum() < _FEWEST:
        return Membership(member, misplaced)
    D, g = distance[judged], said[judged]
    people = np.zeros(len(g), dtype=np.int64) if who is None else who[judged]
    n_people = int(people.max()) + 1
    deviation = float(D[np.isfinite(D)].std()) or 1.0
    n_groups = np.isfinite(D).sum(axis=1)
    tells = np.array([n_people > 1, *[True] * n_people])

    def parts(parameters: Doubles) -> tuple[Doubles, Doubles, Doubles]:
        """Chance of each row's group by distances, and rates of wrong answers and useless rows."""
        near = softmax(-np.exp(parameters[0]) / deviation * D, axis=1)[np.arange(len(g)), g]
        rates = 0.5 * expit(parameters[1:]) * tells
        return (1 - rates[0]) * near + rates[0] / n_groups, rates[1:][people], rates

    def loss(parameters: Doubles) -> float:
        P, wrong, rates = parts(parameters)
        likely = np.log((1 - wrong) * P + wrong * (1 - P) / (n_groups - 1)).sum()
        for (a, b), some in ((_IMAGINED_ROWS, rates[:1]), (_IMAGINED_SLIPS, rates[1:])):
            some = some[some > 0]
            likely += ((a - 1) * np.log(some) + (b - 1) * np.log(1 - some)).sum()
        return float(-likely)

    start = np.array([1.0, *np.full(1 + n_people, -2.0)])
    bounds = [_SHARPNESS, *[_LOGITS] * (1 + n_people)]
    P, wrong, _ = parts(minimize(loss, start, method="L-BFGS-B", bounds=bounds).x)
    member[judged] = P
    mistaken = wrong * (1 - P) / (n_groups - 1)
    misplaced[judged] = mistaken / (mistaken + (1 - wrong) * P)
    return Membership(member, misplaced)


def measure_group_distances(Z: Doubles, rows: Ints, others: Doubles, group: Ints) -> Doubles:
    """Distance of each row from each group, of shape (m, K): mean of its three nearest members.

    ``Z`` are coordinates of the m rows, ``rows`` their positions among ``others``, whose groups,
    from 0, are ``group``. A row is not compared with itself.
    """
    D = np.sqrt(np.maximum(((Z[:, None] - others[None]) ** 2).sum(axis=2), 0.0))
    D[np.arange(len(rows)), rows] = np.inf
    found = np.full((len(Z), int(group.max(initial=-1)) + 1), np.inf)
    for number in np.unique(group):
        nearest = np.sort(D[:, group == number], axis=1)[:, :N_NEAREST]
        finite = np.isfinite(nearest)
        total = np.where(finite, nearest, 0.0).sum(axis=1)
        count = finite.sum(axis=1)
        found[:, number] = np.where(count > 0, total / np.maximum(count, 1), np.inf)
    return found
