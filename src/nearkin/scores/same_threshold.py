"""Same or different, by the distance, and how sure that is."""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy.optimize import brentq
from scipy.special import expit, logit

from nearkin.errors import InputError, InputTypeError
from nearkin.pairs.numbering import random_pairs
from nearkin.rows import devices
from nearkin.rows.arrays import Doubles, Floats, Mask
from nearkin.rows.distances import linked_distances

_MOST_SHARP = 1e4
# Pairs on one side of the threshold that tell as much of its curve as all those on the other.
_FEW_PAIRS = 1


@dataclass(frozen=True)
class Verdicts:
    r"""What a distance d says of two rows.

    With same and different equally frequent, the odds of being the same are those of a logistic
    curve through ½ at the threshold θ, with one sharpness s below it and another above:

    .. math:: 1 / (1 + \exp(-s (1 - d / θ)))

    Where a share π of the pairs are the same, they are π / (1 − π) times as high.

    Attributes
    ----------
    threshold : float
    sharpness, far_sharpness : float or None
        Below and above the threshold; None if it is not known how sure verdicts are.
    prevalence : float
        Share of pairs that are the same, if nothing else is said.
    """

    threshold: float
    sharpness: float | None
    far_sharpness: float | None
    prevalence: float = 0.5

    def chance(self, distances: Any, prevalence: float | None = None) -> Any:
        """Probability of being the same at each distance, in arrays of any library."""
        near, far = self.sharpness, self.far_sharpness
        if near is None or far is None:
            raise InputError(
                "this metric comes from a file of an older version, which does not say how sure "
                "its verdicts are: fit again."
            )
        share = self.prevalence if prevalence is None else checked_prevalence(prevalence)
        u = (self.threshold - distances) / (self.threshold or 1.0)
        odds = (near + far) / 2 * u + (near - far) / 2 * abs(u) + float(logit(share))
        # tanh does not overflow, and arrays of every library have it.
        return 0.5 + 0.5 * devices.namespace(odds).tanh(odds / 2)

    @property
    def radius(self) -> float:
        """Distance up to which two rows are the same: there :meth:`chance` is ½ or more.

        Negative where it is less at any distance. Equal to the threshold if same and different are
        equally frequent.
        """
        needed = -float(logit(self.prevalence))
        sharpness = self.sharpness if needed > 0 else self.far_sharpness
        if needed == 0 or sharpness is None:
            return self.threshold
        with np.errstate(divide="ignore"):
            steps = np.divide(needed, sharpness)
        return float(self.threshold - (self.threshold or 1.0) * steps)


def verdicts_of(metric: Any) -> Verdicts:
    """The verdicts that a fitted metric gives."""
    sharpness = getattr(metric, "sharpness_", None)
    far = getattr(metric, "far_sharpness_", None)
    share = getattr(metric, "prevalence_", None)
    return Verdicts(
        float(metric.threshold_), sharpness, sharpness if far is None else far, share or 0.5
    )


def checked_prevalence(share: Any) -> float:
    """A share of pairs, neither none nor all."""
    if isinstance(share, bool) or not isinstance(share, Real):
        raise InputTypeError(f"prevalence must be a number, not {share!r}.")
    if not 0 < float(share) < 1:
        raise InputError(
            f"prevalence must lie between 0 and 1, got {share!r}: it is the share of the pairs "
            "that are the same."
        )
    return float(share)


def best_verdicts(
    same: Floats,
    different: Floats,
    *,
    weights: tuple[Floats, Floats] | None = None,
    prevalence: float = 0.5,
) -> Verdicts:
    """The verdicts that agree best with known pairs, by their distances.

    Parameters
    ----------
    same, different : ndarray
        Distances of pairs of either kind.
    weights : ndarray and ndarray, optional
        How much each pair counts among those of its kind; all the same by default.
    prevalence : float
        Share of pairs that are the same, whatever their share here.
    """
    threshold = best_threshold(same, different, weights)
    near, far = best_sharpness(same, different, threshold, weights)
    return Verdicts(threshold, near, far, prevalence)


def verdicts_by_answers(distances: Floats, same: Mask, weight: Floats) -> Verdicts:
    """The verdicts that agree best with answers, same and different as frequent as among these.

    Parameters
    ----------
    distances, weight : ndarray of shape (k,)
    same : bool ndarray of shape (k,)
        Some are, and some are not.
    """
    weights = weight[same], weight[~same]
    share = float(weights[0].sum() / weight.sum())
    return best_verdicts(distances[same], distances[~same], weights=weights, prevalence=share)


def usual_distance(Z: Any, rng: np.random.RandomState) -> float:
    """Median distance of random rows: the threshold before anything is learned."""
    return float(np.median(linked_distances(Z, random_pairs(len(Z), rng))))


def guessed_chance(distances: Doubles, threshold: float) -> Doubles:
    """Probability of being the same where nothing tells how sharp verdicts are.

    Logistic in the distance: ½ at the threshold, over a quarter of the distances' deviation.
    """
    scale = float(distances.std()) / 4 if len(distances) else 0.0
    if scale == 0:
        return np.full(len(distances), 0.5)
    return np.asarray(expit((threshold - distances) / scale))


def best_threshold(
    same: Floats, different: Floats, weights: tuple[Floats, Floats] | None = None
) -> float:
    """Distance below which two rows are called the same.

    It maximises the mean of the two rates of right answers on the given distances, and lies half
    way between the two distances it separates. Without ``different`` distances it is the largest
    of ``same``; without ``same``, half the smallest of ``different``.
    """
    if len(different) == 0:
        return float(np.max(same))
    if len(same) == 0:
        return float(np.min(different)) / 2
    values = np.concatenate([same, different])
    gain = _shares(same, different, weights)
    gain[len(same) :] *= -1
    order = np.argsort(values, kind="stable")
    values, gain = values[order], np.cumsum(gain[order])
    # Only between distinct values can a threshold lie.
    last_of_its_value = np.r_[values[1:] > values[:-1], True]
    best = int(np.argmax(np.where(last_of_its_value, gain, -np.inf)))
    if best + 1 == len(values):
        return float(values[best])
    return float((values[best] + values[best + 1]) / 2)


def best_sharpness(
    same: Floats,
    different: Floats,
    threshold: float,
    weights: tuple[Floats, Floats] | None = None,
) -> tuple[float, float]:
    """The most likely sharpness of :class:`Verdicts` below and above the threshold.

    Both kinds count the same. Every answer counts as nearly certain only, after J. Platt (1999):
    with n of a kind, as right with probability (n + 1) / (n + 2). So both are finite even if the
    threshold makes no mistake. With few pairs on one side of the threshold, those on the other
    count there too.
    """
    distances = np.concatenate([same, different]).astype(np.float64)
    u = (threshold - distances) / (threshold or 1.0)
    counts = [len(same), len(different)]
    nearly = [(n + 1) / (n + 2) for n in counts]
    told = np.repeat([nearly[0], 1 - nearly[1]], counts)
    weight = _shares(same, different, weights)
    near, far = (
        _most_likely(u, told, weight * np.where(side, 1.0, _FEW_PAIRS / (_FEW_PAIRS + side.sum())))
        for side in (u > 0, u < 0)
    )
    return near, far


def _shares(same: Floats, different: Floats, weights: tuple[Floats, Floats] | None) -> Floats:
    """How much each pair counts, both kinds the same."""
    kinds = weights or (np.ones(len(same)), np.ones(len(different)))
    return np.concatenate([np.asarray(w, dtype=np.float64) / (w.sum() or 1.0) for w in kinds])


def _most_likely(u: Floats, told: Floats, weight: Floats) -> float:
    """The s for which probabilities expit(s u) are most likely, of answers told."""

    def slope(s: float) -> float:
        """Slope of the log-likelihood, which is concave."""
        return float(weight @ (u * (told - expit(s * u))))

    if slope(0.0) <= 0:
        return 0.0
    most = 1.0
    while slope(most) > 0:
        if most > _MOST_SHARP:
            return _MOST_SHARP
        most *= 2
    return float(brentq(slope, 0.0, most, xtol=1e-13))
