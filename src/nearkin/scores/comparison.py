r"""How well distances agree with pairs that were held out, and whether one metric beats another.

Distances of different metrics, or of one metric learned from different parts of the pairs, have
different scales. Their *ranks* do not: the share of random pairs of rows that are nearer. A good
metric ranks must-links low and cannot-links high. What counts is the order among the pairs
themselves, which ranks keep; random pairs only bring metrics to one scale.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from scipy.stats import norm

from nearkin._types import Floats, Mask

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
