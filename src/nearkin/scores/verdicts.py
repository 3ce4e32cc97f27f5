"""The distance below which rows are called the same, and the chance that they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import astuple, dataclass
from numbers import Real
from typing import Any, Literal

import numpy as np
from scipy.optimize import brentq, minimize
from scipy.special import expit, logit

from nearkin._types import Floats, Integers, Mask, Rng
from nearkin.errors import InputError, InputTypeError
from nearkin.pairs.closure import draw_links
from nearkin.pairs.supervision import Evidence, draw_example_pairs
from nearkin.rows import backends
from nearkin.rows.distances import linked_distances

# No verdict is sharper: chances are 0 or 1 in float64 long before.
_MOST_SHARP = 1e4
# Pairs on one side of the threshold that tell as much as all on the other. Chosen by hand.
_FEW_PAIRS = 1
# A prevalence that is estimated from distances.
ESTIMATED = "estimated"
# Pairs that any number without answers counts as: no more is known of them. Chosen by hand.
_COUNTED = 100
# Likelihood ratio, as twice its logarithm, at which half of what verdicts say is believed. Chosen
# by hand, near the p of J. C. van Houwelingen and S. le Cessie, see shrink_verdicts.
_HALF_BELIEVED = 2.0
# No chance is taken to be nearer to 0 or 1.
_LEAST = 1e-12
# What shares are, for messages.
_SHARES = {
    "prevalence": "it is the share of the pairs that are the same",
    "precision": "it is the share of pairs called the same that are to be so",
}
# Random pairs that stand for "different" when no cannot-link is known. Not tuned.
_BACKGROUND_PAIRS = 2000
# Pairs of each kind, of those that labels imply, that the threshold is found from: a bound on time.
MOST_EXAMPLES = 5000
# What is found of known pairs, in the order of Verdicts.
VERDICTS = ("threshold_", "sharpness_", "far_sharpness_", "prevalence_", "same_distance_")

# A share of pairs that are the same, that which is kept (None), or one estimated from distances.
Prevalence = float | Literal["estimated"] | None


@dataclass(frozen=True)
class Verdicts:
    r"""What a distance d says of two rows.

    With same and different equally frequent, the odds of being the same are those of a logistic
    curve through ½ at the threshold θ, with one sharpness s below it and another above:

    .. math:: 1 / (1 + \exp(-s (1 - d / θ)))

    Where a share π of the pairs are the same, they are π / (1 − π) times as high.
    """

    threshold: float
    sharpness: float | None  # below the threshold; None if it is not known how sure verdicts are
    far_sharpness: float | None  # above it
    prevalence: float = 0.5  # share of pairs that are the same, if nothing else is said

    def chance(self, distances: Any, prevalence: float | None = None) -> Any:
        """Probability that two rows at each distance are the same, in arrays of any library."""
        near, far = self.sharpness, self.far_sharpness
        if near is None or far is None:
            raise InputError(
                "this metric comes from a file of an older version, which does not say how sure "
                "its verdicts are: fit again."
            )
        share = self.prevalence if prevalence is None else check_share(prevalence, "prevalence")
        u = (self.threshold - distances) / (self.threshold or 1.0)
        odds = (near + far) / 2 * u + (near - far) / 2 * abs(u) + float(logit(share))
        # tanh does not overflow, and arrays of every library have it.
        return 0.5 + 0.5 * backends.namespace(odds).tanh(odds / 2)

    @property
    def radius(self) -> float:
        """Distance up to which :meth:`chance` is ½ or more; negative if it never is.

        It equals the threshold if same and different are equally frequent.
        """
        return self.distance_at(0.5)

    def distance_at(self, chance: float, prevalence: float | None = None) -> float:
        """Largest distance at which :meth:`chance` is at least ``chance``; negative if none is."""
        share = self.prevalence if prevalence is None else check_share(prevalence, "prevalence")
        needed = float(logit(chance)) - float(logit(share))
        sharpness = self.sharpness if needed > 0 else self.far_sharpness
        if needed == 0 or sharpness is None:
            return self.threshold
        with np.errstate(divide="ignore"):
            steps = np.divide(needed, sharpness)
        return float(self.threshold - (self.threshold or 1.0) * steps)


def read_verdicts(metric: Any) -> Verdicts:
    """Return the :class:`Verdicts` that a fitted metric has as attributes."""
    near = getattr(metric, "sharpness_", None)
    far = getattr(metric, "far_sharpness_", None)
    share = getattr(metric, "prevalence_", None)
    # Not NumPy's numbers, which would take arrays of other libraries for their own.
    near, far = (None if s is None else float(s) for s in (near, near if far is None else far))
    return Verdicts(float(metric.threshold_), near, far, float(share or 0.5))


def estimate_prevalence(verdicts: Verdicts, distances: Floats) -> float:
    r"""Estimate the share of pairs that are the same from their distances alone.

    With the odds :math:`r_i` of pair i where both kinds are equally frequent, it maximises

    .. math:: 100 \, \mathrm{mean}_i \log(π r_i + 1 - π) + \log π + \log(1 - π)

    which is concave: the most likely share (M. Saerens, P. Latinne and C. Decaestecker, 2002), if
    these were a hundred pairs at most and two more, one of either kind. In place of 100 stands the
    number of pairs, where that is less. Where verdicts tell nothing it is ½.
    """
    if not len(distances):
        raise InputError("there are no pairs of different rows to estimate a prevalence from.")
    chance = np.asarray(verdicts.chance(distances, 0.5), dtype=np.float64)
    counted = min(_COUNTED, len(chance))

    def slope(share: float) -> float:
        by_pairs = (2 * chance - 1) / (share * chance + (1 - share) * (1 - chance))
        return float(counted * by_pairs.mean() + 1 / share - 1 / (1 - share))

    return round(float(brentq(slope, 1e-6, 1 - 1e-6, xtol=1e-9)), 6)


def check_share(share: Any, name: str, *, ends: bool = False) -> float:
    """Return the prevalence or precision ``name`` as a float in (0, 1), with ``ends`` in [0, 1]."""
    if isinstance(share, bool) or not isinstance(share, Real):
        raise InputTypeError(f"{name} must be a number, not {share!r}.")
    value = float(share)
    if not (0 <= value <= 1 if ends else 0 < value < 1):
        raise InputError(f"{name} must lie between 0 and 1, got {share!r}: {_SHARES[name]}.")
    return value


def fit_verdicts(
    same: Floats,
    different: Floats,
    *,
    weights: tuple[Floats, Floats] | None = None,
    prevalence: float = 0.5,
) -> Verdicts:
    """Fit threshold and sharpness to the distances of pairs known to be the same and different.

    ``weights`` say how much each pair counts among those of its kind; ``prevalence`` is the share
    of pairs that are the same where the verdicts will be used.
    """
    threshold = find_threshold(same, different, weights)
    near, far = find_sharpness(same, different, threshold, weights)
    return Verdicts(threshold, near, far, prevalence)


def fit_logistic_verdicts(distances: Floats, same: Mask, weight: Floats) -> Verdicts:
    """Fit verdicts as one logistic curve by maximum likelihood, with one sharpness on both sides.

    For few pairs, for which the curve's ½ is known better than the threshold of fewest mistakes
    (:func:`find_threshold`). Both kinds must be there and weigh the same, and every answer counts
    as nearly certain, as in :func:`find_sharpness`. Where farther pairs are as often the same, all
    chances are ½.
    """
    kinds, weights = (distances[same], distances[~same]), (weight[same], weight[~same])
    ordered, share = np.concatenate(kinds), _balance_weights(*kinds, weights)
    told = _platt_targets(*kinds)
    middle, spread = float(ordered.mean()), float(ordered.std()) or 1.0
    u = (middle - ordered) / spread
    terms = np.column_stack([np.ones(len(u)), u])

    def loss(curve: Floats) -> tuple[float, Floats]:
        odds = terms @ curve
        return (
            float(share @ (np.logaddexp(0.0, odds) - told * odds)),
            terms.T @ (share * (expit(odds) - told)),
        )

    level, slope = minimize(loss, np.zeros(2), jac=True, method="BFGS").x
    if slope <= _LEAST:
        return Verdicts(find_threshold(*kinds, weights), 0.0, 0.0)
    threshold = float(np.clip(middle + spread * level / slope, ordered.min(), ordered.max()))
    sharpness = float(slope / spread * (threshold or 1.0))
    return Verdicts(threshold, sharpness, sharpness)


def shrink_verdicts(verdicts: Verdicts, same: Floats, different: Floats) -> Verdicts:
    """Lower the sharpness of verdicts to what pairs bear out that the metric was not learned from.

    Log-odds are multiplied with :math:`t L / (L + 2)`: t, at most 1, is what makes these pairs most
    likely, both kinds weighing the same, and L twice the logarithm of how much more likely than by
    chance they are then. So verdicts stay nearly as they are where pairs clearly agree with them,
    and are ½ where pairs are not told apart. (J. C. van Houwelingen and S. le Cessie (1990) take
    :math:`(L - p) / L`, which is 0 for a few pairs.)
    """
    counts = [len(same), len(different)]
    chance = verdicts.chance(np.concatenate([same, different]), 0.5)
    said = logit(np.clip(chance, _LEAST, 1 - _LEAST))
    told = np.repeat([1.0, 0.0], counts)
    weight = _balance_weights(same, different, None)
    warmth = min(_fit_sharpness(said, told, weight), 1.0)
    agreement = np.where(told, 1.0, -1.0) * warmth * said
    gain = np.log(2.0) - float(weight @ np.logaddexp(0.0, -agreement)) / 2
    ratio = 2 * sum(counts) * max(gain, 0.0)
    belief = warmth * ratio / (ratio + _HALF_BELIEVED)
    near, far = (belief * float(s or 0.0) for s in (verdicts.sharpness, verdicts.far_sharpness))
    return Verdicts(verdicts.threshold, near, far, verdicts.prevalence)


def fit_verdicts_to_answers(distances: Floats, same: Mask, weight: Floats) -> Verdicts:
    """Fit verdicts to the distances of answered pairs, with the prevalence found among these."""
    weights = weight[same], weight[~same]
    share = float(weights[0].sum() / weight.sum())
    return fit_verdicts(distances[same], distances[~same], weights=weights, prevalence=share)


def measure_usual_distance(Z: Any, rng: Rng) -> float:
    """Median distance of random rows: the threshold before anything is learned."""
    return float(np.median(linked_distances(Z, draw_links(len(Z), rng))))


def find_threshold(
    same: Floats, different: Floats, weights: tuple[Floats, Floats] | None = None
) -> float:
    """Find the distance below which two rows are called the same.

    It maximises the mean of the two rates of right answers on the given distances, and lies half
    way between the two distances it separates. Without ``different`` distances it is the largest
    of ``same``; without ``same``, half the smallest of ``different``.
    """
    if len(different) == 0:
        return float(np.max(same))
    if len(same) == 0:
        return float(np.min(different)) / 2
    values = np.concatenate([same, different])
    gain = _balance_weights(same, different, weights)
    gain[len(same) :] *= -1
    order = np.argsort(values, kind="stable")
    values, gain = values[order], np.cumsum(gain[order])
    # Only between distinct values can a threshold lie.
    last_of_its_value = np.r_[values[1:] > values[:-1], True]
    best = int(np.argmax(np.where(last_of_its_value, gain, -np.inf)))
    if best + 1 == len(values):
        return float(values[best])
    return float((values[best] + values[best + 1]) / 2)


def find_sharpness(
    same: Floats, different: Floats, threshold: float, weights: tuple[Floats, Floats] | None = None
) -> tuple[float, float]:
    """Fit the sharpness of :class:`Verdicts` below and above the threshold, by likelihood.

    Both kinds weigh the same. Answers count as nearly certain only, after J. Platt (1999): with n
    of a kind, as right with probability (n + 1) / (n + 2), so that both values are finite even if
    the threshold makes no mistake. With few pairs on one side, those on the other count there too.
    """
    distances = np.concatenate([same, different]).astype(np.float64)
    u = (threshold - distances) / (threshold or 1.0)
    told = _platt_targets(same, different)
    weight = _balance_weights(same, different, weights)
    sides = (u > 0, u < 0)
    kept = (np.where(side, 1.0, _FEW_PAIRS / (_FEW_PAIRS + side.sum())) for side in sides)
    near, far = (_fit_sharpness(u, told, weight * part) for part in kept)
    return near, far


def _platt_targets(same: Floats, different: Floats) -> Floats:
    """Target probabilities of pairs, same ones first, after J. Platt (1999): none is 0 or 1."""
    counts = [len(same), len(different)]
    nearly = [(n + 1) / (n + 2) for n in counts]
    return np.repeat([nearly[0], 1 - nearly[1]], counts)


def _balance_weights(
    same: Floats, different: Floats, weights: tuple[Floats, Floats] | None
) -> Floats:
    """Weights of the pairs, same ones first, scaled so that each kind has the sum 1."""
    kinds = weights or (np.ones(len(same)), np.ones(len(different)))
    return np.concatenate([np.asarray(w, dtype=np.float64) / (w.sum() or 1.0) for w in kinds])


def _fit_sharpness(u: Floats, told: Floats, weight: Floats) -> float:
    """Fit s of the probabilities expit(s u) to target probabilities ``told``, by likelihood."""

    def slope(s: float) -> float:
        return float(weight @ (u * (told - expit(s * u))))

    if slope(0.0) <= 0:
        return 0.0
    most = 1.0
    while slope(most) > 0:
        if most > _MOST_SHARP:
            return _MOST_SHARP
        most *= 2
    return float(brentq(slope, 0.0, most, xtol=1e-13))


@dataclass(frozen=True)
class Examples:
    """Pairs that are the same and pairs that differ, by which a metric learns to judge."""

    rows: Integers  # numbers of the rows that they name, each once
    links: Integers  # the pairs, by positions among these rows, (k, 2)
    n_same: int  # how many of them are the same: the first ones

    def verdicts(self, Z: Any) -> dict[str, float | None]:
        """Threshold and other attributes of a learner, by the embedding Z of ``rows``."""
        distances = backends.to_numpy(linked_distances(Z, self.links))
        return find_verdicts(distances[: self.n_same], distances[self.n_same :])


@dataclass(frozen=True)
class LateVerdicts:
    """What a learner keeps of known pairs, found when it is first asked for: many never are."""

    X: Any  # as the learner saw it, which nobody else may change
    takeable_rows: int | Integers  # how many rows X has, or those that can be drawn
    evidence: Evidence
    random_state: dict[str, Any]  # of the generator that draws examples
    # Learned coordinates of some rows of X by their numbers.
    embedded: Callable[[Any, Integers], Any]

    def compute(self) -> dict[str, float | None]:
        """Compute threshold and other attributes of a learner; every call returns the same."""
        rng = np.random.RandomState(0)
        rng.set_state(self.random_state)
        examples = draw_examples(self.takeable_rows, self.evidence, rng)
        return examples.verdicts(self.embedded(self.X, examples.rows))


def draw_examples(takeable_rows: int | Integers, evidence: Evidence, rng: Rng) -> Examples:
    """Draw the pairs from which a threshold is found: all given ones, and some by labels.

    Without cannot-links, random pairs of rows stand for them. Where only triplets are known, the
    nearer row of each stands for the same and the farther for a different one. ``takeable_rows``
    is the number of rows of X, or the numbers of those that can be drawn.
    """
    pairs = draw_example_pairs(evidence, rng, most=MOST_EXAMPLES)
    if not len(pairs.must_link) and not len(pairs.cannot_link):
        pairs = pairs.as_weak_pairs()
    background: Integers = np.empty((0, 2), dtype=np.int64)
    if not len(pairs.cannot_link):
        background = rng.choice(takeable_rows, size=(_BACKGROUND_PAIRS, 2))
        background = background[background[:, 0] != background[:, 1]]
    links = np.concatenate([pairs.must_link, pairs.cannot_link, background])
    rows, positions = np.unique(links, return_inverse=True)
    return Examples(rows, positions.reshape(links.shape), len(pairs.must_link))


def find_verdicts(
    same: Floats, different: Floats, weights: tuple[Floats, Floats] | None = None
) -> dict[str, float | None]:
    """Return ``threshold_`` and the other attributes of a learner, by the distances of pairs."""
    found = fit_verdicts(same, different, weights=weights)
    return name_verdicts(found, float(np.median(same)) if len(same) else None)


def name_verdicts(verdicts: Verdicts, same_distance: float | None) -> dict[str, float | None]:
    """Return verdicts and the median distance of same pairs as a dict by attribute name."""
    return dict(zip(VERDICTS, (*astuple(verdicts), same_distance), strict=True))
