"""Pairs that are held out, fold by fold, and comparisons of metrics on them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, depth_first_order
from scipy.special import expit
from scipy.stats import norm

from nearkin._types import Floats, Integers, Mask
from nearkin.pairs.pairs import Pairs

# Which pairs to learn from and which to judge by, so that nothing is known of the latter.


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


# How well distances agree with pairs that were held out, and whether one metric beats another.


# What learning usually gains in pair AUC over the distance at hand: mean and deviation.
USUAL_GAIN = (0.1, 0.06)
# Differences of a pair's placements are imagined to have this variance, with the weight of one.
_IMAGINED_VARIANCE = 0.03
# Ranks of random pairs, which stand for a kind of pair that is missing.
_ANY_PAIRS = (np.arange(100) + 0.5) / 100
# The share of wrong answers is thought to be Beta(a, b) before any is seen.
_IMAGINED_ANSWERS = (2.0, 10.0)


def share_below(values: Floats, among: Floats) -> Floats:
    """Share of the numbers in ``among`` that are smaller, ties by half."""
    ordered = np.sort(among)
    below = np.searchsorted(ordered, values)
    not_above = np.searchsorted(ordered, values, side="right")
    return np.asarray((below + not_above) / (2 * len(ordered)))


def ranks(distances: Floats, among: Floats) -> Floats:
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


def standing(rank: Floats, same: Mask) -> Floats:
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
class Comparison:
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


def with_both_kinds(same: Mask, *judged: Floats) -> tuple[Mask, tuple[Floats, ...]]:
    """Ranks of pairs, with random pairs as the kind that is missing, if one is."""
    if same.any() and not same.all():
        return same, judged
    added = np.full(len(_ANY_PAIRS), not same.all())
    return np.append(same, added), tuple(np.append(rank, _ANY_PAIRS) for rank in judged)


def auc_of(rank: Floats, same: Mask) -> float:
    """Pair AUC by ranks of held-out pairs; random pairs stand for a kind that is missing."""
    kinds, (ranked,) = with_both_kinds(same, rank)
    return float(placements(ranked, kinds)[0].mean())


def average_precision(rank: Floats, same: Mask) -> float:
    """Mean share of must-links among the pairs up to each must-link's rank.

    It looks at the nearest most, :func:`auc_of` at all alike. Random pairs stand for a kind that is
    missing.
    """
    kinds, (ranked,) = with_both_kinds(same, rank)
    must, cannot = np.sort(ranked[kinds]), np.sort(ranked[~kinds])
    up_to = np.searchsorted(must, must, side="right")
    others = np.searchsorted(cannot, must, side="right")
    return float(np.mean(up_to / (up_to + others)))


def compare(rank: Floats, other: Floats, same: Mask) -> Comparison:
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
    kinds, (first, second) = with_both_kinds(same[judged], rank[judged], other[judged])
    one, two = placements(first, kinds), placements(second, kinds)
    variance = 0.0
    for a, b in zip(one, two, strict=True):
        k = len(a)
        variance += float(k * np.var(a - b) + _IMAGINED_VARIANCE) / (k + 1) / k
    return Comparison(float(one[0].mean()), float(two[0].mean()), float(np.sqrt(variance)))


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
        return float(-weight @ likely - prior + 0.02 * slope**2)

    level, slope, logit = minimize(loss, np.array([0.0, -2.0, -1.0]), method="BFGS").x
    return AnswerModel(float(level), float(slope), float(0.5 * expit(logit)))
