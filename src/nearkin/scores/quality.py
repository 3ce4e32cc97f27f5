"""How good a metric is on pairs that it was not learned from, with intervals one can sign."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from html import escape

import numpy as np
from scipy.special import expit, logit
from scipy.stats import t as student

from nearkin._types import Floats, Ints, Mask
from nearkin.pairs.answers import CONFIDENCE, IntervalEstimate
from nearkin.scores import nearest_rows, neighbor_precision
from nearkin.storage.schema import a, maybe, real, stored, whole

# Pairs that are imagined beside those judged, half of them within the radius: nothing is certain
# after a few.
_IMAGINED = 1.0
# Variance that comes of a metric being chosen by the pairs that it is judged by, as a share of the
# squared difference between what they say of it before and after it is learned from them. A rule
# of thumb; how often such intervals hold the truth is in benchmarks/calibration.
_FROM_SEEN = 1 / 8
# Radii beside the radius, between which it is seen how quickly pairs become more. Not tuned.
_NEARBY = 1.1
# Nearest rows that are looked at, as in results of a search, among so many rows at most.
_NEAREST, _MOST_COMPARED = 10, 2000


@stored(kept=real, precision=maybe(real), plain_precision=maybe(real), n_rows=whole)
@dataclass(frozen=True)
class Neighbors:
    """The ten nearest rows of each row, beside those by the Euclidean distance.

    Attributes
    ----------
    kept : float
        How many of them are the same rows.
    precision, plain_precision : float or None
        How many are of the row's own class, by the learned and by the Euclidean distance; None
        without labels. Pairs cannot tell it: estimates by their distances have a root mean square
        error of 0.2 (benchmarks/few_pairs, neighbours).
    n_rows : int
        Among which they were looked for.
    """

    kept: float
    precision: float | None
    plain_precision: float | None
    n_rows: int

    def __str__(self) -> str:
        said = f"Of the ten nearest rows {self.kept:.0%} are so by the Euclidean distance too"
        if self.precision is not None:
            said += (
                f"; {self.precision:.1%} of them are of the row's own class, by the Euclidean "
                f"distance {self.plain_precision:.1%}"
            )
        return f"{said}."


def compare_neighbors(Z: Floats, X: Floats, classes: Ints | None = None) -> Neighbors | None:
    """Compare the nearest rows in an embedding Z with those by the Euclidean distance of X.

    The first 2000 rows are compared; None is returned for fewer than twelve. Precision is found of
    those whose class is known, that is not negative, if twelve are.
    """
    Z, X = Z[:_MOST_COMPARED], X[:_MOST_COMPARED]
    if len(Z) <= _NEAREST + 1:
        return None
    learned, plain = (nearest_rows(rows, _NEAREST) for rows in (Z, X))
    kept = (learned[:, :, None] == plain[:, None, :]).any(axis=2).mean()
    precision = plain_precision = None
    if classes is not None:
        known = classes[:_MOST_COMPARED] >= 0
        if known.sum() > _NEAREST + 1:
            precision, plain_precision = (
                neighbor_precision(rows[known], classes[:_MOST_COMPARED][known], _NEAREST)
                for rows in (Z, X)
            )
    return Neighbors(float(kept), precision, plain_precision, len(Z))


@stored(
    auc=a("Estimate"),
    precision=a("Estimate"),
    recall=a("Estimate"),
    f1=a("Estimate"),
    radius=real,
    prevalence=real,
    n_same=whole,
    n_different=whole,
    neighbors=maybe(a("Neighbors")),
)
@dataclass(frozen=True)
class Quality:
    """How well distances tell same from different, by pairs. Print it.

    Attributes
    ----------
    auc : IntervalEstimate
        Pair AUC: how often the same are closer than the different.
    precision, recall, f1 : IntervalEstimate
        Of calling two rows the same up to ``radius``: how many of those called the same are so, how
        many that are the same are called so, and the harmonic mean of the two. Where nothing is
        called the same, precision is that of a guess, and anything is possible.
    radius : float
    prevalence : float
        Share of pairs that are the same, which precision depends on.
    n_same, n_different : int
        Pairs that it is judged by.
    neighbors : Neighbors or None
        How good the nearest rows are; None for few rows, or rows that are not in memory.
    """

    auc: IntervalEstimate
    precision: IntervalEstimate
    recall: IntervalEstimate
    f1: IntervalEstimate
    radius: float
    prevalence: float
    n_same: int
    n_different: int
    neighbors: Neighbors | None = None

    def _format_figures(self) -> list[tuple[str, str]]:
        """Name and text of each figure with its interval."""
        found = [(field.name, getattr(self, field.name)) for field in fields(self)]
        return [(name, str(value)) for name, value in found if isinstance(value, IntervalEstimate)]

    @property
    def terms(self) -> str:
        """Which pairs, radius and prevalence the figures are based on, as a sentence."""
        return (
            f"By {self.n_same} pairs that are the same and {self.n_different} that are not. Two "
            f"rows are called the same up to a distance of {self.radius:.3g}; precision and F1 are "
            f"those where a share of {self.prevalence:.2g} of all pairs are the same. Intervals "
            f"are for {CONFIDENCE:.0%} confidence."
            + ("" if self.neighbors is None else f" {self.neighbors}")
        )

    @property
    def brief(self) -> str:
        """The figures with their intervals in one line."""
        return ", ".join(f"{name} {value}" for name, value in self._format_figures())

    def __str__(self) -> str:
        lines = [f"{name:9}  {value}" for name, value in self._format_figures()]
        return "\n".join([*lines, self.terms])

    def _repr_html_(self) -> str:
        body = "".join(
            f"<tr><th>{n}</th><td>{escape(v)}</td></tr>" for n, v in self._format_figures()
        )
        return f"<table>{body}</table><p>{escape(self.terms)}</p>"


def estimate_quality(
    distances: Floats,
    same: Mask,
    weight: Floats,
    links: Ints,
    radius: float,
    prevalence: float,
    *,
    seen: Floats | None = None,
    radius_error: float = 0.0,
) -> Quality:
    r"""Estimate pair AUC, precision, recall and F1 from labelled distances, with intervals.

    Pairs may share rows; both kinds are there. ``radius`` is the distance up to which two rows are
    called the same, ``prevalence`` the share of pairs that are the same, whatever their share here.
    ``seen`` are distances of the same pairs under a metric that was learned from them, where the
    others are under metrics that were learned from fewer. The truth is not far from between the
    two: the variance of a figure is larger by an eighth of the square of their difference.
    ``radius_error`` is the standard deviation of the logarithm of the radius, beside such distances
    as the figures are to hold for: more or fewer pairs of both kinds lie within it then.

    Every figure is a function of means over pairs; :math:`\psi_p` is how much it changes with pair
    p. Errors of pairs without a common row are independent, so that its variance is :math:`\sum_{p,
    q} \psi_p \psi_q` over pairs p and q that have one, p itself included. Intervals are of
    Student's distribution on the logistic scale, as if one more pair of either kind had been
    judged, and it were not known how. Pairs count as not more than the rows that they name.
    """
    share = np.where(same, weight, 0.0) / weight[same].sum()
    share += np.where(same, 0.0, weight) / weight[~same].sum()

    def mean(values: Floats | Mask, kind: Mask) -> float:
        return round(float(share[kind] @ values[kind]), 12)

    placement = _place_pairs(distances, same, weight)
    inside = (distances <= radius).astype(np.float64)
    auc, hit, alarm = mean(placement, same), mean(inside, same), mean(inside, ~same)
    auc_seen, rates_seen = auc, (hit, alarm)
    if seen is not None:
        auc_seen = mean(_place_pairs(seen, same, weight), same)
        within = (seen <= radius).astype(np.float64)
        rates_seen = mean(within, same), mean(within, ~same)
    # Effective numbers of independent pairs: fewer if all of them name a few rows.
    often = [np.unique(links[kind], return_counts=True)[1] for kind in (same, ~same)]
    worth = [min(n.sum() / 2, float(n.sum() ** 2 / (n**2).sum())) for n in often]
    kept, kept_alarm = (n / (n + _IMAGINED) for n in worth)
    more_hits, more_alarms = (
        (mean(distances <= radius * _NEARBY, kind) - mean(distances <= radius / _NEARBY, kind))
        / (2 * np.log(_NEARBY))
        for kind in (same, ~same)
    )
    of_hit = np.where(same, kept * share * (inside - hit), 0.0)
    of_alarm = np.where(same, 0.0, kept_alarm * share * (inside - alarm))

    def estimate(figure: Figure) -> IntervalEstimate:
        value = figure(hit, alarm, prevalence)[0]
        centre, by_hit, by_alarm = figure(
            kept * hit + (1 - kept) / 2, kept_alarm * alarm + (1 - kept_alarm) / 2, prevalence
        )
        variance = dyadic_variance(by_hit * of_hit + by_alarm * of_alarm, links)
        variance += _FROM_SEEN * (figure(*rates_seen, prevalence)[0] - value) ** 2
        variance += (radius_error * (by_hit * more_hits + by_alarm * more_alarms)) ** 2
        variance += ((by_hit * (1 - kept)) ** 2 + (by_alarm * (1 - kept_alarm)) ** 2) / 4
        return _interval_around(value, centre, variance, sum(worth) - 1)

    variance = dyadic_variance(share * (placement - auc), links)
    variance += _FROM_SEEN * (auc_seen - auc) ** 2
    return Quality(
        auc=logistic_interval(auc, variance, min(worth)),
        precision=estimate(_precision) if hit + alarm else IntervalEstimate(prevalence, 0.0, 1.0),
        recall=estimate(_recall),
        f1=estimate(_f1),
        radius=radius,
        prevalence=prevalence,
        n_same=int(same.sum()),
        n_different=int((~same).sum()),
    )


# From the rates of hits and false alarms and the prevalence to a figure and its two slopes.
Figure = Callable[[float, float, float], tuple[float, float, float]]


def _recall(hit: float, alarm: float, prevalence: float) -> tuple[float, float, float]:
    """Recall and its slopes along the hit and false-alarm rates."""
    del alarm, prevalence
    return hit, 1.0, 0.0


def _precision(hit: float, alarm: float, prevalence: float) -> tuple[float, float, float]:
    """Precision and its slopes along the hit and false-alarm rates."""
    found, wrong = prevalence * hit, (1 - prevalence) * alarm
    called = found + wrong
    if called == 0:
        return prevalence, 0.0, 0.0
    by_hit, by_alarm = prevalence * wrong, -(1 - prevalence) * found
    return found / called, by_hit / called**2, by_alarm / called**2


def _f1(hit: float, alarm: float, prevalence: float) -> tuple[float, float, float]:
    """Harmonic mean of precision and recall, and its slopes along both rates."""
    found, wrong = prevalence * hit, (1 - prevalence) * alarm
    either = found + wrong + prevalence
    by_hit, by_alarm = prevalence * (wrong + prevalence), -(1 - prevalence) * found
    return 2 * found / either, 2 * by_hit / either**2, 2 * by_alarm / either**2


def count_pairs_to_promise(precision: float, prevalence: float, recall: float) -> int:
    """Number of different pairs to judge, none within the radius, to promise a precision.

    With that many the interval of the precision lies above the one wanted.
    """
    odds = precision / (1 - precision) * (1 - prevalence) / prevalence
    sure = np.exp(student.ppf((1 + CONFIDENCE) / 2, np.inf))
    return int(np.ceil(odds * sure / (2 * max(recall, np.finfo(float).tiny))))


def _place_pairs(distances: Floats, same: Mask, weight: Floats) -> Floats:
    """For each pair (k,), the share of the other kind that it is in the right order with.

    Must-links are to be nearer than cannot-links; ties count half.
    """
    out = np.empty(len(distances))
    for kind in (same, ~same):
        order = np.argsort(distances[~kind], kind="stable")
        others = distances[~kind][order]
        below = np.concatenate([[0.0], np.cumsum(weight[~kind][order])])
        left = below[np.searchsorted(others, distances[kind], side="left")]
        right = below[np.searchsorted(others, distances[kind], side="right")]
        out[kind] = (left + right) / 2 / below[-1]
    out[same] = 1 - out[same]
    return out


def dyadic_variance(influence: Floats, links: Ints) -> float:
    """Variance of a sum over pairs, where pairs that share a row are not independent.

    ``influence``, of shape (k,), is what each pair adds to the sum, about its mean.
    """
    _, ends = np.unique(links, return_inverse=True)
    by_point = np.bincount(ends.ravel(), np.repeat(influence, 2))
    alone = float((influence**2).sum())
    shared = float((by_point**2).sum()) - alone
    return shared if shared > 0 else alone


def logistic_interval(value: float, variance: float, n_pairs: float) -> IntervalEstimate:
    """Confidence interval of a share that is the mean over ``n_pairs`` independent pairs."""
    kept = n_pairs / (n_pairs + _IMAGINED)
    centre = kept * value + (1 - kept) / 2
    return _interval_around(value, centre, kept**2 * variance + (1 - kept) ** 2 / 4, n_pairs)


def _interval_around(
    value: float, centre: float, variance: float, n_pairs: float
) -> IntervalEstimate:
    """Confidence interval around a centre on the logistic scale, widened to hold the value."""
    width = student.ppf((1 + CONFIDENCE) / 2, max(n_pairs - 1, 1)) * np.sqrt(variance)
    width /= centre * (1 - centre)
    low, high = expit(logit(centre) + np.array([-width, width]))
    return IntervalEstimate(value, min(float(low), value), max(float(high), value))
