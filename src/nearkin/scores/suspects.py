"""Which pairs look wrong: those that a metric learned from other pairs strongly disagrees with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.pairs.answers import LEAST_TELLING
from nearkin.pairs.pairs import Pairs
from nearkin.scores.comparison import AnswerModel, model_answers, standing
from nearkin.storage.schema import real, stored, truth, tuple_of, whole

# A pair is listed if the opposite of what was said has this probability: by metrics that were not
# told it, and by one that was, which gives way to it a little. Where a fifth of 200 pairs were
# wrong, nearly two thirds of them were listed by the latter, and most of the list was wrong.
LEAST_CHANCE = 0.55
LEAST_CHANCE_TOLD = 0.48
# Pairs from which a metric has learned so much of others that half of what it says of one is not
# what it was told.
_HALF_TOLD = 20
_LEAST_TRUST = 1e-3
# Fewer pairs do not say what same and different ones are like.
_FEWEST = 10


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
        said, seem, other = (
            ("the same", "far apart", "different")
            if self.same
            else ("different", "close together", "the same")
        )
        return (
            f"rows {first} and {second} are said to be {said} but lie {seem}: {other}, by their "
            f"distance, with a probability of {self.chance_opposite:.0%}"
        )


def trusted(pairs: Pairs, rank: Floats) -> Pairs:
    """Pairs that count the less the more likely they are wrong.

    Weights are multiplied with how much likelier what was said is right than wrong, by the place of
    the pair among all of them (:func:`nearkin.scores.comparison.standing`,
    :class:`nearkin.scores.comparison.AnswerModel`): a pair of which both are as likely tells
    nothing.

    Parameters
    ----------
    pairs : Pairs
        Triplets are trusted.
    rank : ndarray of shape (k,)
        Of must-links and cannot-links, under a metric that was learned from other pairs; NaN where
        there is none, which are trusted.
    """
    same, place, model = _standing(pairs, rank)
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


def chance_by_metric(pairs: Pairs, rank: Floats) -> Floats:
    """Probability that pairs are the same by their distances, whatever was said of them.

    Parameters
    ----------
    pairs : Pairs
        What those of a weight near 0 say is of no account.
    rank : ndarray of shape (k,)
        As for :func:`trusted`.

    Returns
    -------
    ndarray of shape (k,)
        NaN where there is no rank.
    """
    same, place, _ = _standing(pairs, rank)
    weight = np.concatenate([pairs.must_weight, pairs.cannot_weight])
    believed = np.where(weight < LEAST_TELLING, np.nan, place)
    few = np.isfinite(believed).sum() < _FEWEST
    model = None if few else model_answers(believed, same)
    return np.full(len(rank), np.nan) if model is None else model.chance_same(place)


def suspects(pairs: Pairs, rank: Floats, least: float = LEAST_CHANCE) -> list[Suspect]:
    """Pairs of which the opposite has at least this probability, the worst first.

    Parameters
    ----------
    pairs : Pairs
    rank : ndarray of shape (k,)
        As for :func:`trusted`.
    least : float
    """
    same, place, model = _standing(pairs, rank)
    if model is None:
        return []
    opposite = _opposite(model, place, same)
    return _listed(pairs, same, opposite, opposite >= least)


def wrong_answers(pairs: Pairs, rank: Floats, least: float) -> list[Suspect]:
    """Pairs of which what was said is wrong with at least this probability, the worst first.

    By their distances, and by how often people err: a surprise alone says little where nearly all
    that is said is right.

    Parameters
    ----------
    pairs : Pairs
    rank : ndarray of shape (k,)
        As for :func:`trusted`.
    least : float
    """
    same, place, model = _standing(pairs, rank)
    if model is None or np.isfinite(rank).sum() < _FEWEST:
        return []
    wrong = np.asarray(np.nan_to_num(model.chance_wrong(place, same), nan=0.0))
    return _listed(pairs, same, wrong, wrong >= least)


def suspects_of_metric(
    pairs: Pairs, rank: Floats, learned: Floats, least: float = LEAST_CHANCE_TOLD
) -> list[Suspect]:
    """Pairs of which the opposite has at least this probability by a metric that was told them.

    Of many pairs it has learned more than metrics that are judged on pairs held out from them, and
    hardly gives way to any one: its distances have wrong pairs in a better order. Of few pairs it
    was made to suit them. So places by k learned distances count k / (k + 20), and the others those
    by ranks. How sure that is, is seen on pairs held out.

    Parameters
    ----------
    pairs : Pairs
    rank : ndarray of shape (k,)
        As for :func:`trusted`.
    learned : ndarray of shape (k,)
        Distances under the metric; those of pairs without a rank are of no account.
    least : float
    """
    same, held_out, model = _standing(pairs, rank)
    if model is None:
        return []
    judged = ~np.isnan(rank)
    told = standing(np.where(judged, learned, np.nan), same)
    weight = judged.sum() / (judged.sum() + _HALF_TOLD)
    opposite = _opposite(model, weight * told + (1 - weight) * held_out, same)
    return _listed(pairs, same, opposite, judged & (opposite >= least))


def _opposite(model: AnswerModel, place: Floats, same: NDArray[np.bool_]) -> Floats:
    """Probability of the opposite of what was said; 0 where nothing is known."""
    p = model.chance_same(place)
    return np.asarray(np.nan_to_num(np.where(same, 1 - p, p), nan=0.0))


def _listed(
    pairs: Pairs, same: NDArray[np.bool_], opposite: Floats, which: NDArray[np.bool_]
) -> list[Suspect]:
    """Some of the pairs, the worst first."""
    links = np.concatenate([pairs.must_link, pairs.cannot_link]).tolist()
    found = np.flatnonzero(which)
    return [
        Suspect((links[i][0], links[i][1]), bool(same[i]), float(opposite[i]))
        for i in found[np.argsort(-opposite[found], kind="stable")]
    ]


def _standing(pairs: Pairs, rank: Floats) -> tuple[NDArray[np.bool_], Floats, AnswerModel | None]:
    """Which pairs are must-links, where each stands among all, and what answers are like there."""
    same = np.arange(len(rank)) < len(pairs.must_link)
    place = standing(rank, same)
    return same, place, model_answers(place, same)
