r"""Who is right how often, where several people, or rules, answer for the same rows.

Each answerer w is wrong with a rate :math:`e_w` of their own. What is the same is not known: it is
estimated from all answers to a pair, from those to other pairs with which it forms a triangle
(two rows that are the same as a third are the same), and from what a metric says that was learned
from other pairs. Rates and truth are estimated in turn (Dawid and Skene, 1979).

Whoever is wrong more often than right tells as much, read the other way round: their answers count
as the opposite of what they say.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.interpolate import CubicHermiteSpline
from scipy.sparse import csr_array
from scipy.special import expit, logit

from nearkin._types import Floats, Ints, Mask
from nearkin.pairs.estimates import CONFIDENCE, Estimate

# The share of wrong answers is thought to be Beta(a, b) before any is seen.
_IMAGINED_ANSWERS = (2.0, 8.0)
# Nothing is believed more than this, so that no answer is beyond correction.
_MOST_CERTAIN = 1 - 1e-6
# Triangles share answers, so that what several of them say of a pair is not independent.
_FROM_TRIANGLES = 0.5
_MOST_TRIANGLES = 50
# If more answers than this share are wrong by them, chains of wrong ones have led astray.
_MOST_WRONG = 1 / 3
_ROUNDS, _AT_REST = 100, 1e-4
# Likelihoods are followed in steps of so many standard errors of a rate whose truth is known, each
# larger than the one before, down to exp(-_FAR) of the highest.
_STEP, _GROWTH, _FAR = 0.5, 1.3, 5.0
# Places between which a likelihood is summed up.
_FINE = 500


class Judged(NamedTuple):
    """What answers say together.

    Attributes
    ----------
    chance_same : ndarray of shape (k,)
        Of each pair, by everything that is known.
    wrong : list of Estimate
        Rate of wrong answers, by answerer.
    """

    chance_same: Floats
    wrong: list[Estimate]


class _Known(NamedTuple):
    """All that rates and truth are estimated from.

    Attributes
    ----------
    pair, who : int ndarray of shape (a,)
    sign : ndarray of shape (a,)
        1 for answers that say the same, -1 for others.
    n_answers : int ndarray of shape (w,)
    odds : ndarray of shape (k,)
        Log-odds of pairs by something else than answers.
    triangles : int ndarray of shape (t, 3)
        Pairs that form one.
    """

    pair: Ints
    sign: Floats
    who: Ints
    n_answers: Ints
    odds: Floats
    triangles: Ints


class _Belief(NamedTuple):
    """What is thought in some round: rates, chances, and what each triangle told its pairs."""

    wrong: Floats
    chance_same: Floats
    told: Floats


def judge(pair: Ints, same: Mask, who: Ints, links: Ints, before: Floats | None = None) -> Judged:
    """Estimate what is the same and who is how often wrong, in turn until both rest.

    Parameters
    ----------
    pair : int ndarray of shape (a,)
        Which pair each answer is of.
    same : bool ndarray of shape (a,)
        What each says.
    who : int ndarray of shape (a,)
        Whose it is, from 0.
    links : int ndarray of shape (k, 2)
        The pairs, each once, the smaller row first.
    before : ndarray of shape (k,), optional
        Probability that each is the same by something else than answers to it; ½ by default, and
        where it is NaN.

    Notes
    -----
    O(a + t) time for each round, with t triangles of pairs, 50 for each pair at most; some dozens
    of rounds for the interval of each answerer.
    """
    prior = np.full(len(links), 0.5) if before is None else np.nan_to_num(before, nan=0.5)
    prior = np.clip(prior, 1 - _MOST_CERTAIN, _MOST_CERTAIN)
    sign = np.where(same, 1.0, -1.0)
    known = _Known(pair, sign, who, np.bincount(who), logit(prior), _triangles(links))
    belief = _at_rest(known)
    if np.average(belief.wrong, weights=known.n_answers) > _MOST_WRONG:
        known = known._replace(triangles=np.empty((0, 3), dtype=np.int64))
        belief = _at_rest(known)
    wrong = [_estimate(known, belief, who) for who in range(len(known.n_answers))]
    return Judged(belief.chance_same, wrong)


def _at_rest(known: _Known) -> _Belief:
    """What is the same and who is how often wrong."""
    usual = np.full(len(known.n_answers), _IMAGINED_ANSWERS[0] / sum(_IMAGINED_ANSWERS))
    belief = _Belief(usual, expit(known.odds), np.zeros(known.triangles.shape))
    # Most are right more often than not; only then is it seen who is not.
    for most in (0.5, _MOST_CERTAIN):
        belief = _rounds(known, belief, most)
    return belief


def _rounds(known: _Known, belief: _Belief, most: float, held: int | None = None) -> _Belief:
    """Rates and chances in turn, from some belief until both rest.

    Parameters
    ----------
    most : float
        That a rate can be.
    held : int, optional
        Whose rate stays as it is.
    """
    wrong, chance, told = belief
    rate = None if held is None else wrong[held]
    for _ in range(_ROUNDS):
        chance, told = _chances(known, wrong, told)
        previous, wrong = wrong, np.clip(_rates(known, chance), 1 - _MOST_CERTAIN, most)
        if held is not None:
            wrong[held] = rate
        if np.abs(wrong - previous).max() < _AT_REST:
            break
    return _Belief(wrong, chance, told)


def _chances(known: _Known, wrong: Floats, told: Floats) -> tuple[Floats, Floats]:
    """Chance that each pair is the same by these rates, and what triangles tell then."""
    said = np.bincount(known.pair, known.sign * -logit(wrong)[known.who], len(known.odds))
    heard = np.bincount(known.triangles.ravel(), told.ravel(), len(known.odds))
    odds = known.odds + said + _FROM_TRIANGLES * heard
    # What a triangle says of a pair must not come from that pair itself.
    told = (told + _by_triangles(odds[known.triangles] - _FROM_TRIANGLES * told)) / 2
    return np.clip(expit(odds), 1 - _MOST_CERTAIN, _MOST_CERTAIN), told


def _mistakes(known: _Known, chance: Floats) -> Floats:
    """How many answers of each are expected to be wrong."""
    mistaken = 0.5 - known.sign * (chance[known.pair] - 0.5)
    return np.asarray(np.bincount(known.who, mistaken), dtype=np.float64)


def _rates(known: _Known, chance: Floats) -> Floats:
    """The likeliest rates by these chances."""
    wrong, right = _IMAGINED_ANSWERS
    most = _mistakes(known, chance) + wrong - 1
    return np.asarray(most / (known.n_answers + wrong + right - 2))


def _estimate(known: _Known, belief: _Belief, who: int) -> Estimate:
    r"""A rate with its interval: median and tails of its likelihood, the other rates at their best.

    The slope of the log-likelihood along :math:`\theta`, the log-odds of the rate, is what the
    expected mistakes, m of n answers, are more than the rate asks for (Fisher's identity):
    :math:`m + a - (n + a + b) \sigma(\theta)`, with Beta(a, b) before. Truth that is not certain
    follows the rate, so that m does, and the likelihood is as flat as it should be.
    """
    rate = float(belief.wrong[who])
    n_known = known.n_answers[who] + sum(_IMAGINED_ANSWERS)
    step = _STEP / np.sqrt(n_known * rate * (1 - rate))
    down, up = (_descent(known, belief, who, sign * step) for sign in (-1, 1))
    places, heights, slopes = np.concatenate([down[:0:-1], up]).T
    fine = np.linspace(places[0], places[-1], _FINE)
    below = np.cumsum(np.exp(CubicHermiteSpline(places, heights - heights.max(), slopes)(fine)))
    shares = np.array([0.5, (1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2])
    return Estimate(*expit(np.interp(shares * below[-1], below, fine)).tolist())


def _descent(known: _Known, belief: _Belief, who: int, step: float) -> Floats:
    """Log-odds of a rate from the likeliest on to one side, log-likelihoods there and slopes."""
    wrong, right = _IMAGINED_ANSWERS
    place, height, slope = float(logit(belief.wrong[who])), 0.0, 0.0
    passed: list[tuple[float, float, float]] = []
    while True:
        mistakes = float(_mistakes(known, belief.chance_same)[who])
        here = mistakes + wrong - (known.n_answers[who] + wrong + right) * float(expit(place))
        if passed:
            height += (slope + here) / 2 * (place - passed[-1][0])
        passed.append((place, height, here))
        if height < -_FAR:
            return np.array(passed)
        slope, place, step = here, place + step, step * _GROWTH
        rates = belief.wrong.copy()
        rates[who] = np.clip(expit(place), 1 - _MOST_CERTAIN, _MOST_CERTAIN)
        belief = _rounds(known, belief._replace(wrong=rates), _MOST_CERTAIN, held=who)


def _triangles(links: Ints) -> Ints:
    """Numbers of three pairs that form a triangle, for each one; of a pair 50 at most."""
    n = int(links.max(initial=-1)) + 1
    numbers = np.arange(len(links)) + 1
    both = (np.concatenate([numbers] * 2), np.concatenate([links.T, links.T[::-1]], axis=1))
    number = csr_array(both, shape=(n, n))
    found = []
    for here, (i, j) in enumerate(links.tolist()):
        of_i = slice(number.indptr[i], number.indptr[i + 1])
        of_j = slice(number.indptr[j], number.indptr[j + 1])
        _, first, second = np.intersect1d(
            number.indices[of_i], number.indices[of_j], assume_unique=True, return_indices=True
        )
        sides = np.column_stack([number.data[of_i][first], number.data[of_j][second]]) - 1
        once = sides[(sides > here).all(axis=1)][:_MOST_TRIANGLES]
        found += [(here, p, q) for p, q in once.tolist()]
    return np.array(found, dtype=np.int64).reshape(-1, 3)


def _by_triangles(odds: Floats) -> Floats:
    """Log-odds of each pair of a triangle by those of the two others, as columns.

    If both are the same, so is it; if one is, it is not; if neither is, nothing is said.
    """
    chance = np.clip(expit(odds), 1 - _MOST_CERTAIN, _MOST_CERTAIN)
    p, q = np.roll(chance, 1, axis=1), np.roll(chance, 2, axis=1)
    neither = 0.5 * (1 - p) * (1 - q)
    return np.asarray(np.log(p * q + neither) - np.log(p * (1 - q) + (1 - p) * q + neither))
