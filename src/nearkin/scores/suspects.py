"""Which pairs look wrong: those that a metric learned from other pairs strongly disagrees with."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit, softmax

from nearkin._types import Doubles, Floats, Ints
from nearkin.pairs.answers import LEAST_TELLING
from nearkin.pairs.pairs import Pairs
from nearkin.scores.held_out import AnswerModel, model_answers, rank_within
from nearkin.storage.schema import real, stored, truth, tuple_of, whole

# A pair is listed if the opposite of what was said has this probability: by metrics that were not
# told it, and by one that was, which gives way to it a little. Where a fifth of 200 pairs were
# wrong, nearly two thirds of them were listed by the latter, and most of the list was wrong.
LEAST_CHANCE = 0.55
LEAST_CHANCE_TOLD = 0.48
# Pairs from which a metric has learned so much of others that half of what it says of one is not
# what it was told. By the sets to tune on of benchmarks/few_pairs: wrong pairs among 200 are told
# from right ones with an AUC of 0.784, instead of 0.770 by pairs held out alone.
_HALF_TOLD = 20
# No pair is quite without weight.
_LEAST_TRUST = 1e-3
# Fewer pairs do not say what same and different ones are like, nor fewer rows how well groups can
# be told apart. Chosen by hand.
_FEWEST = 10
# The share of wrong answers is thought to be Beta(a, b) before any is seen, and so is that of rows
# whose distances say nothing. Chosen by hand.
_IMAGINED_ANSWERS = (2.0, 20.0)
_IMAGINED_ROWS = (1.5, 20.0)
# Members of a group whose mean distance is that of the group. Chosen by hand.
N_NEAREST = 3
# Within which the logarithm of s is looked for, and log-odds of twice the rates.
_SHARPNESS, _LOGITS = (-4.0, 6.0), (-8.0, 4.0)


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


def weigh_by_trust(pairs: Pairs, rank: Floats) -> Pairs:
    """Pairs that count the less the more likely they are wrong.

    Weights are multiplied with how much likelier what was said is right than wrong, by the place of
    the pair among all of them (:func:`nearkin.scores.held_out.rank_within`,
    :class:`nearkin.scores.held_out.AnswerModel`): a pair of which both are as likely tells
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


def estimate_chances(pairs: Pairs, rank: Floats) -> Floats:
    """Probability that pairs are the same by their distances, whatever was said of them.

    Parameters
    ----------
    pairs : Pairs
        What those of a weight near 0 say is of no account.
    rank : ndarray of shape (k,)
        As for :func:`weigh_by_trust`.

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


def find_suspects(pairs: Pairs, rank: Floats, least: float = LEAST_CHANCE) -> list[Suspect]:
    """Pairs of which the opposite has at least this probability, the worst first.

    Parameters
    ----------
    pairs : Pairs
    rank : ndarray of shape (k,)
        As for :func:`weigh_by_trust`.
    least : float
    """
    same, place, model = _standing(pairs, rank)
    if model is None:
        return []
    opposite = _opposite(model, place, same)
    return _listed(pairs, same, opposite, opposite >= least)


def find_wrong_answers(pairs: Pairs, rank: Floats, least: float) -> list[Suspect]:
    """Pairs of which what was said is wrong with at least this probability, the worst first.

    By their distances, and by how often people err: a surprise alone says little where nearly all
    that is said is right.

    Parameters
    ----------
    pairs : Pairs
    rank : ndarray of shape (k,)
        As for :func:`weigh_by_trust`.
    least : float
    """
    same, place, model = _standing(pairs, rank)
    if model is None or np.isfinite(rank).sum() < _FEWEST:
        return []
    wrong = np.asarray(np.nan_to_num(model.chance_wrong(place, same), nan=0.0))
    return _listed(pairs, same, wrong, wrong >= least)


def find_suspects_of_metric(
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
        As for :func:`weigh_by_trust`.
    learned : ndarray of shape (k,)
        Distances under the metric; those of pairs without a rank are of no account.
    least : float
    """
    same, held_out, model = _standing(pairs, rank)
    if model is None:
        return []
    judged = ~np.isnan(rank)
    told = rank_within(np.where(judged, learned, np.nan), same)
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
    place = rank_within(rank, same)
    return same, place, model_answers(place, same)


class Membership(NamedTuple):
    """What is thought of rows that were put in groups; NaN where it cannot be told.

    Attributes
    ----------
    member : ndarray of shape (m,)
        Probability that a row is of its group by distances alone, whatever was said.
    misplaced : ndarray of shape (m,)
        Probability that it is of another one, given how often people err.
    """

    member: Doubles
    misplaced: Doubles


def judge_membership(distance: Doubles, said: Ints, who: Ints | None = None) -> Membership:
    """Whether each row is in another group than was said.

    Parameters
    ----------
    distance : ndarray of shape (m, K)
        Of each row from each group, its own place in it aside; infinite where that cannot be told.
    said : int ndarray of shape (m,)
        The group that it was put in.
    who : int ndarray of shape (m,), optional
        Who has put it there, from 0; one person by default.

    Returns
    -------
    Placed
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
        for (a, b), some in ((_IMAGINED_ROWS, rates[:1]), (_IMAGINED_ANSWERS, rates[1:])):
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
    """Distance of rows from groups: the mean of those from the three nearest members.

    Parameters
    ----------
    Z : ndarray of shape (m, q)
        Where the rows are.
    rows : int ndarray of shape (m,)
        Which of the others each is, so that it is not compared with itself.
    others : ndarray of shape (k, q)
    group : int ndarray of shape (k,)
        Of the others, from 0.
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
