r"""What further answers will gain, by metrics that are learned from halves of those there are.

After k answers, ten more raise pair AUC on new rows by g. Answers held out cannot tell so small a
number: a hundred of them leave pair AUC uncertain by 0.05. Two things hang together with it. One is
how far half of the answers moves the metric, by the rank correlation ρ of distances with those
before the first answer: what answers have not moved, further ones will not move soon. The other is
how well it tells the other half apart, by its pair AUC A: near ½ there is little to learn, and near
1 little is left. With :math:`z = \Phi^{-1}(A)`,

.. math::

    \log g = w_0 + w_1 \log k + w_2 \log(1 - \rho) + w_3 \log(z \phi(z)) + w_4 \log(1 - A)
    + \text{error},

where :math:`z \phi(z)` is in proportion to the rise of A where all distances become a little
clearer. A is drawn towards a usual one, which counts as 20 answers. Weights and the deviation of
errors are those of the data sets to tune on of ``benchmarks/stopping``. Errors are large, on a set
that was left out: g is known up to a factor of five, and by k alone nearly as well. So large gains
are far above the middle, and the gain to expect, the mean, is exp(0.3) times as large as that.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from scipy.stats import norm, rankdata

from nearkin._types import Floats
from nearkin.pairs.answers import CONFIDENCE, Estimate

# Gains are told for so many answers at a time, and are worth the asking down to this.
STEP = 10
TOLERANCE = 0.005
# Weights of 1, log k, log(1 - ρ), log zφ(z) and log(1 - A), the deviation of errors, and the
# logarithm of the mean gain over that of the middle one.
WEIGHTS = (-0.71, -0.81, 0.34, 0.32, 0.29)
DEVIATION = 1.0
SKEW = 0.3
# The gain of ten answers falls with this power of their number.
DECLINE = -WEIGHTS[1]
# A usual AUC, and how many answers it counts as.
USUAL_AUC = (0.75, 20)
# Distances that moved less than this, or AUC nearer to ½ or 1, are beyond what can be told.
_LEAST_MOVED = 1e-3
_LEAST_AUC, _MOST_AUC = 0.51, 0.999


@dataclass(frozen=True)
class Halves:
    """What metrics learned from halves of the answers show.

    Attributes
    ----------
    n_answers : int
        In both halves together.
    kept : float
        Rank correlation of distances under these metrics with those under one that was told
        nothing, over random pairs of rows.
    auc : Estimate
        Their pair AUC on answers that they were not told.
    n_judged : int
        So many answers it is as good as, half of them same.
    """

    n_answers: int
    kept: float
    auc: Estimate
    n_judged: int


@dataclass(frozen=True)
class LearningCurve:
    """Pair AUC from some number of answers on.

    Attributes
    ----------
    n_answers : int
        Those that there are.
    log_gain : float
        Logarithm of what the next ten raise it by in the mean.
    room : float
        What it can be raised by at most.
    """

    n_answers: int
    log_gain: float
    room: float

    @property
    def gain(self) -> Estimate:
        """By how much the next ten answers raise it."""
        width = DEVIATION * norm.ppf((1 + CONFIDENCE) / 2)
        logs = self.log_gain + np.array([0, -SKEW - width, -SKEW + width])
        value, low, high = np.minimum(np.exp(logs), self.room)
        return Estimate(float(value), float(low), float(high))

    def moved_to(self, n_answers: int) -> LearningCurve:
        """The same curve seen from another number of answers."""
        fall = DECLINE * np.log(n_answers / self.n_answers)
        return replace(self, n_answers=n_answers, log_gain=float(self.log_gain - fall))

    def answers_until(self, tolerance: float) -> int:
        """How many more answers until ten raise it by less than this; 0 if they do already."""
        times = np.exp((self.log_gain - np.log(tolerance)) / DECLINE)
        return max(0, int(np.ceil(self.n_answers * (times - 1))))

    def rise(self, n_more: int) -> float:
        """By how much so many more answers raise it."""
        steps = self.n_answers + STEP * np.arange(n_more // STEP)
        gains = np.exp(self.log_gain) * (steps / self.n_answers) ** -DECLINE
        return float(min(gains.sum(), self.room))


def curve_of(halves: Halves) -> LearningCurve:
    """The curve that is expected by metrics learned from halves of the answers."""
    room = 1 - np.clip(_believed(halves), 0.5, _MOST_AUC)
    log_gain = features_of(halves) @ WEIGHTS + SKEW
    return LearningCurve(halves.n_answers, float(min(log_gain, np.log(room))), float(room))


def features_of(halves: Halves) -> Floats:
    """What the expected gain is reckoned from: 1, log k, log(1 - ρ), log zφ(z), log(1 - A)."""
    auc = np.clip(_believed(halves), _LEAST_AUC, _MOST_AUC)
    z = norm.ppf(auc)
    moved = max(1 - halves.kept, _LEAST_MOVED)
    return np.log([np.e, halves.n_answers, moved, z * norm.pdf(z), 1 - auc])


def _believed(halves: Halves) -> float:
    """The AUC that is believed, between a usual one and that which was seen."""
    usual, imagined = USUAL_AUC
    n = halves.n_judged
    return (n * halves.auc.value + imagined * usual) / (n + imagined)


def rank_correlation(first: Floats, second: Floats) -> float:
    """Correlation of the ranks of numbers; 1 where either are all the same."""
    a, b = (rankdata(values) - (len(values) + 1) / 2 for values in (first, second))
    size = float(np.sqrt((a @ a) * (b @ b)))
    return float(a @ b) / size if size else 1.0
