"""What precision and recall groups or links have, with intervals that hold the truth.

Chances are not known exactly: curves are drawn that answers leave likely, and for each of them how
many of the pairs called the same are not, and how many that are the same are not called so, or were
never met. What was answered is known.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from nearkin._types import Doubles, Mask
from nearkin.pairs.answers import CONFIDENCE, Estimate
from nearkin.records.curves import chances_by

# Mistakes that scores do not show are a share of all that is as likely as if so many pairs had been
# checked beside those answered, and this part of one had been wrong.
_CHECKED, _WRONG = 5.0, 0.2
# Far from the middle, where hardly anything is asked, curves say that more is wrong than is: it is
# less by factors between these two.
_FEWER, _MORE = 0.005, 1.5
_REPEATS = 5
_ENDS = ((1 - CONFIDENCE) / 2, 0.5, (1 + CONFIDENCE) / 2)
_EDGES = np.linspace(-30, 30, 1201)
_MIDDLES = (_EDGES[:-1] + _EDGES[1:]) / 2


class Stated(NamedTuple):
    """Figures that can be expected, each with its interval."""

    precision: Estimate
    recall: Estimate


def stated(
    draws: Doubles,
    scores: Doubles,
    called: Mask,
    weight: Doubles,
    known_wrong: float,
    known_right: float,
    known_lost: float,
    missed: Estimate,
    by_kind: float = 0.0,
    seed: int = 0,
) -> Stated:
    """State precision and recall of the pairs that are called the same.

    Parameters
    ----------
    draws : ndarray of shape (s, 2)
        Slopes and middles of curves from scores to chances.
    scores : ndarray of shape (k,)
        Of pairs that were not answered.
    called : bool ndarray of shape (k,)
        Whether each is called the same.
    weight : ndarray of shape (k,)
        How many pairs each stands for.
    known_wrong, known_right, known_lost : float
        Pairs whose answer is known: called the same and different, the same, and not called so
        though the same.
    missed : Estimate
        Pairs that are the same and were never met.
    by_kind : float
        Chance that answered pairs were chosen by whether they are the same: that those called so
        are right says nothing of others then.
    seed : int
    """
    rng = np.random.RandomState(seed)
    inside, outside = (
        np.histogram(scores[kind].clip(-29.9, 29.9), _EDGES, weights=weight[kind])[0]
        for kind in (called, ~called)
    )
    chance = chances_by(draws, _MIDDLES)
    n_called = float(inside.sum())
    # Several for each curve, so that few pairs have all the numbers they may have.
    n = _REPEATS * len(draws)
    checks = ((1 - by_kind) * (known_right + known_wrong), known_lost + known_right)
    unseen = [rng.beta(_WRONG, _CHECKED + known, size=n) for known in checks]
    factor = np.exp(rng.uniform(np.log(_FEWER), np.log(_MORE), size=(2, n)))
    by_score = factor[0] * np.repeat((1 - chance) @ inside, _REPEATS)
    wrong = rng.poisson(by_score + unseen[0] * n_called).clip(max=n_called) + known_wrong
    by_score = factor[1] * np.repeat(chance @ outside, _REPEATS)
    lost = rng.poisson(by_score + unseen[1] * n_called) + known_lost
    lost = (
        lost
        + np.interp(
            rng.permutation((np.arange(n) + 0.5) / n),
            [0, *_ENDS, 1],
            [missed.low, missed.low, missed.value, missed.high, missed.high],
        ).round()
    )
    total = n_called + known_right + known_wrong
    right = total - wrong
    if total == 0:
        return Stated(Estimate(1.0, 0.0, 1.0), _interval_of(0 / np.maximum(lost, 1)))
    return Stated(_interval_of(right / total), _interval_of(right / np.maximum(right + lost, 1)))


def _interval_of(values: Doubles) -> Estimate:
    low, middle, high = np.quantile(values, _ENDS)
    return Estimate(float(middle), float(low), float(high))
