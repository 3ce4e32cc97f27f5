"""Pairs that are held out, fold by fold, and comparisons of metrics on them.

Must-links are transitive and cannot-links are inherited, so a pair that is left out may follow from
those that are not. Of a row that no pair names nothing follows: so rows are dealt into folds, and a
fold holds out the pairs of its rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, depth_first_order
from scipy.special import expit
from scipy.stats import norm

from nearkin._types import Floats, Integers, Mask
from nearkin.pairs.pairs import Pairs

# What learning usually gains in pair AUC over the distance at hand: mean and deviation. Chosen by
# hand, in the range of benchmarks/few_pairs.
USUAL_GAIN = (0.1, 0.06)
# Differences of a pair's placements are imagined to have this variance, with the weight of one.
# Chosen by hand.
_IMAGINED_VARIANCE = 0.03
# Ranks of random pairs, which stand for a kind of pair that is missing: so many that they add no
# noise.
_ANY_PAIRS = (np.arange(100) + 0.5) / 100
# The share of wrong answers is thought to be Beta(a, b) before any is seen: a tenth or so. Chosen
# by hand.
_IMAGINED_ANSWERS = (2.0, 10.0)
# Pull of the curve's slope towards 0, by its square: a few pairs in perfect order show no cliff.
# Chosen by hand.
_SLOPE_PULL = 0.02


def deal_pairs(
    pairs: Pairs, n_folds: int, rng: np.random.RandomState, *, unseen: Literal["one", "both"]
) -> list[tuple[Mask, Mask]]:
    """Parts of the pairs to learn from, and others to judge by, for each fold.

    What is learned from names no row of the fold. With ``unseen="one"`` every pair with a row of
    the fold is judged, so that each pair is judged at least once; the rows that must-links tie
    together are dealt to all folds, so that each has some of every class. With ``"both"`` a pair
    is judged only where all of its rows are in the fold; pairs that have an end on either side are
    in neither part.

    Parameters
    ----------
    pairs : Pairs
    n_folds : int
    rng : RandomState
    unseen : {"one", "both"}
        How many rows of a judged pair are in no pair that is learned from, at least. Two new rows
        are the harder test, by fewer pairs.

    Returns
    -------
    list of (bool ndarray, bool ndarray)
        For each fold that has something on both sides: pairs to learn from and to judge by, in the
        order of must-links, cannot-links and triplets.
    """
    if not len(pairs):
        return []
    points = pairs.points
    kinds = (pairs.must_link, pairs.cannot_link, pairs.closer)
    ends = [np.searchsorted(points, links) for links in kinds]
    must, cannot, closer = ends
    if unseen == "both":
        # Rows that pairs tie together stay so in small groups alone: pieces of a large one would
        # lose fewer pairs, but these hang together and tell no more (wine, 120 answers: an error of
        # 0.024 in pair AUC by 320 pairs, where single rows have 0.017 by 148).
        group = _groups(np.concatenate([must, cannot, closer[:, :2], closer[:, 1:]]), len(points))
        too_large = np.bincount(group)[group] > max(len(points) / n_folds / 2, 2)
        unit = np.where(too_large, len(points) + np.arange(len(points)), group)
        fold = _deal_units(unit, np.ones((len(points), 1)), np.ones(n_folds), rng)
    else:
        order = rng.permutation(len(points))
        group = _groups(must, len(order))
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


def deal_rows(
    pairs: Pairs,
    n_rows: int,
    shares: Sequence[float],
    rng: np.random.RandomState | None,
    *,
    largest_first: bool = True,
) -> NDArray[np.int64]:
    """Fold of each row of X; rows that pairs tie together are in one where they fit.

    Folds get their shares of the must-links, the cannot-links and the rows. Where more rows hang
    together than the smallest fold has room for they are cut into pieces, and pairs between two of
    these are lost. Rows in no pair fill the folds up.

    Parameters
    ----------
    pairs : Pairs
        Triplets tie their rows together as pairs do.
    n_rows : int
    shares : sequence of float
        Of each fold; only their proportions matter.
    rng : RandomState or None
        None deals in the order of rows.
    largest_first : bool, default=True
        Deal what hangs together by its size, which makes folds most even. Otherwise the order is
        random alone: for one part that is drawn, rather than folds of which each is judged.

    Returns
    -------
    int ndarray of shape (n_rows,)
    """
    share = np.asarray(shares, dtype=np.float64) / max(shares)
    fold = np.full(n_rows, -1, dtype=np.int64)
    fold[pairs.points] = _deal_points(pairs, share, rng, largest_first)
    others = np.flatnonzero(fold < 0)
    if rng is not None:
        others = rng.permutation(others)
    sizes = np.bincount(fold[pairs.points], minlength=len(share))
    fold[others] = _fill_up(sizes, share, len(others))
    return fold


def _deal_points(
    pairs: Pairs, share: Floats, rng: np.random.RandomState | None, largest_first: bool
) -> NDArray[np.int64]:
    """Fold of each row that pairs name; the largest share is 1."""
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
    pieces = _pieces(np.concatenate(kinds), n_points, most)
    return _deal_units(pieces, loads, share, rng, largest_first)[number]


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


def _deal_units(
    unit: Integers,
    loads: Floats,
    share: Floats,
    rng: np.random.RandomState | None,
    largest_first: bool = True,
) -> NDArray[np.int64]:
    """Fold of each point; the points of a unit stay together.

    Each goes where there is least of what it brings, for the fold's share. ``loads`` says of each
    point how much of each kind it brings.
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


def _fill_up(sizes: Integers, share: Floats, n_more: int) -> NDArray[np.int64]:
    """Folds of further rows, one by one, such that sizes become as near to the shares as can be."""
    fair = (sizes.sum() + n_more) * share.max() / share.sum()
    levels = np.arange(max(int(fair) - int(sizes.min()), 0) + 2)
    filled = (sizes[:, None] + levels + 0.5) / share[:, None]
    places = np.argsort(filled, axis=None, kind="stable")[:n_more]
    return np.asarray(places // len(levels))


def share_below(values: Floats, among: Floats) -> Floats:
    """Share of the numbers in ``among`` that are smaller, ties by half."""
    ordered = np.sort(among)
    below = np.searchsorted(ordered, values)
    not_above = np.searchsorted(ordered, values, side="right")
    return np.asarray((below + not_above) / (2 * len(ordered)))


def rank_among(distances: Floats, among: Floats) -> Floats:
    """Share of the distances in ``among`` that are smaller, interpolated between them.

    Below and above all of them it goes on towards 0 and 1, so that different distances have
    different ranks everywhere: labelled pairs of duplicates are nearer than nearly all random ones,
    and must not tie.
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
    """Place of each pair among the pairs themselves, from 0 to 1, as if both kinds were as many.

    Where all pairs are near, as duplicates and look-alikes are, ranks among random pairs are all
    close to 0; places among the pairs themselves are spread evenly whatever they are. NaN stays.
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
    """Pair AUC of one metric beside that of another, on the same held-out pairs.

    Attributes
    ----------
    auc, other_auc : float
    error : float
        Standard error of the difference.
    """

    auc: float
    other_auc: float
    error: float

    @property
    def gain(self) -> float:
        """By how much the first is better."""
        return self.auc - self.other_auc

    @property
    def t(self) -> float:
        """The gain in standard errors."""
        return self.gain / self.error

    def chance_of_gain(self, before: float) -> float:
        """Probability that there is a gain, given what is believed before and what was seen.

        Of two hypotheses: a gain of the usual size, or none, which may be a loss of any size.
        """
        mean, deviation = USUAL_GAIN
        usual = before * norm.pdf(self.gain, mean, np.hypot(self.error, deviation))
        none = (1 - before) * norm.pdf(max(self.gain, 0), 0, self.error)
        if usual + none == 0:  # a gain beyond everything that is usual
            return 1.0
        return float(usual / (usual + none))


def add_missing_kind(same: Mask, *judged: Floats) -> tuple[Mask, tuple[Floats, ...]]:
    """Ranks of pairs, with random pairs as the kind that is missing, if one is."""
    if same.any() and not same.all():
        return same, judged
    added = np.full(len(_ANY_PAIRS), not same.all())
    return np.append(same, added), tuple(np.append(rank, _ANY_PAIRS) for rank in judged)


def rank_auc(rank: Floats, same: Mask) -> float:
    """Pair AUC by ranks of held-out pairs; random pairs stand for a kind that is missing."""
    kinds, (ranked,) = add_missing_kind(same, rank)
    return float(placements(ranked, kinds)[0].mean())


def average_precision(rank: Floats, same: Mask) -> float:
    """Mean share of must-links among the pairs up to each must-link's rank.

    It looks at the nearest most, :func:`rank_auc` at all alike. Random pairs stand for a kind that
    is missing.
    """
    kinds, (ranked,) = add_missing_kind(same, rank)
    must, cannot = np.sort(ranked[kinds]), np.sort(ranked[~kinds])
    up_to = np.searchsorted(must, must, side="right")
    others = np.searchsorted(cannot, must, side="right")
    return float(np.mean(up_to / (up_to + others)))


def compare_auc(rank: Floats, other: Floats, same: Mask) -> AucComparison:
    """Pair AUC of two metrics, and the standard error of the difference by DeLong's method.

    Parameters
    ----------
    rank, other : ndarray of shape (k,)
        Ranks of the same held-out pairs under the two metrics; NaN where a pair was not held out.
    same : bool ndarray of shape (k,)
        Which are must-links. Random pairs stand for a kind of which none was held out.

    Notes
    -----
    With few pairs the variance itself is uncertain; it is shrunk towards a common one.
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

    Attributes
    ----------
    level, slope : float
        Two rows are the same with probability 1 / (1 + exp(−level − slope (rank − ½))).
    wrong : float
        Share of pairs of which the opposite was said.
    """

    level: float
    slope: float
    wrong: float

    def chance_same(self, rank: Floats) -> Floats:
        """Probability that two rows of this rank are the same."""
        return np.asarray(expit(self.level + self.slope * (rank - 0.5)))

    def chance_wrong(self, rank: Floats, same: Mask) -> Floats:
        """Probability that what was said is wrong, by Bayes' rule."""
        p = self.chance_same(rank)
        wrong = self.wrong * np.where(same, 1 - p, p)
        right = (1 - self.wrong) * np.where(same, p, 1 - p)
        return np.asarray(wrong / (wrong + right))


def model_answers(rank: Floats, same: Mask) -> AnswerModel | None:
    r"""The most likely curve and share of wrong answers.

    .. math::

        \max \sum_k w_k \log \bigl((1 - \pi) s_k + \pi (1 - s_k)\bigr)
        + \log \pi^{a - 1} (1 - \pi)^{b - 1} - 0.02\, \text{slope}^2

    with :math:`s_k` the curve's probability of what was said of pair k, π the share of wrong
    answers, and weights w by which both kinds count the same. Where answers contradict ranks
    however extreme these are, π is large; where they do so only in between, the curve is flat.

    Parameters
    ----------
    rank : ndarray of shape (k,)
        NaN for pairs that do not count.
    same : bool ndarray of shape (k,)

    Returns
    -------
    AnswerModel or None
        None if there is one kind only.
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
