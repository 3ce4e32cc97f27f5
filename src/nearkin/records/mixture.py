r"""What comparisons say without any answer: two kinds of pairs, told apart by how columns agree.

A column of a pair agrees to one of some levels, from "nothing alike" to "the same rare value".
Levels are taken to be independent given the kind of the pair (I. P. Fellegi and A. B. Sunter,
1969), so that the log-odds of being the same are a sum over columns,

.. math:: \log \frac{π}{1 - π} + \sum_c \log \frac{m_c(l_c)}{u_c(l_c)},

over those that neither record misses. Shares and prevalence are found by expectation maximisation
over the candidates, in which answered pairs keep their kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from nearkin._types import Doubles, Ints
from nearkin.records.comparisons import MISSING, Comparisons, Table32, n_similarities
from nearkin.storage.arrays import StorageError
from nearkin.storage.schema import floats, share, stored

# Where levels of similarity end; equal values are two levels more, common ones and rare ones.
_EDGES = np.array([0.45, 0.6, 0.75, 0.85, 0.93, 0.9999])
N_LEVELS = len(_EDGES) + 2
_RARE = 0.5
_ROUNDS = 60
# Pairs of either kind that are imagined at every level.
_IMAGINED = 0.5
# Mean similarity at which a pair is as likely of either kind at the start, and how soon it changes.
_START, _SLOPE = 0.8, 30.0
# An answered pair counts as so many others.
_ANSWERED = 5.0
# Columns depend on one another: the sum over them is believed in part only.
_BELIEVED = 0.7
_LEAST, _MOST = 1e-5, 0.9
_TOO_MANY = 0.3
# Change of weights below which the search is at its end.
_SETTLED = 1e-3


@stored(weights=floats("c l"), prevalence=share)
@dataclass(frozen=True)
class Mixture:
    """Log-odds by column and level.

    Attributes
    ----------
    weights : ndarray of shape (c, 8)
    prevalence : float
        Share of candidates that are the same.
    """

    weights: Doubles
    prevalence: float

    def __post_init__(self) -> None:
        if self.weights.shape[1] != N_LEVELS:
            raise StorageError(f"a mixture has {N_LEVELS} levels, not {self.weights.shape[1]}.")

    def log_odds(self, levels: NDArray[np.int8]) -> Doubles:
        """Of pairs with these levels to be the same."""
        total = np.zeros(len(levels))
        for column, weights in enumerate(self.weights):
            # The last is for missing cells, whose level is −1.
            total += np.append(weights, 0.0)[levels[:, column]]
        return float(logit(self.prevalence)) + _BELIEVED * total


def levels_of(plan: Comparisons, compared: Table32) -> NDArray[np.int8]:
    """To which level each column of each pair agrees; −1 where a cell is missing."""
    out = np.empty((len(compared), len(plan.columns)), dtype=np.int8)
    for number, (column, place) in enumerate(zip(plan.columns, plan.places, strict=True)):
        end = place.start + n_similarities(column)
        alike = compared[:, place.start : end].mean(axis=1)
        levels = np.searchsorted(_EDGES, alike, side="right")
        levels += (levels == len(_EDGES)) & (compared[:, end] > _RARE)
        out[:, number] = np.where(compared[:, place.start] == MISSING, -1, levels)
    return out


def find_mixture(
    levels: NDArray[np.int8],
    similarity: NDArray[np.floating],
    answered: Ints,
    same: Doubles,
    most: float,
) -> Mixture:
    """Tell two kinds of pairs apart.

    Parameters
    ----------
    levels : int8 ndarray of shape (k, c)
        Of candidates.
    similarity : ndarray of shape (k,)
        The mean over columns, from which the search starts.
    answered : int ndarray of shape (a,)
        Candidates that were answered.
    same : ndarray of shape (a,)
        The share of answers that say that they are the same.
    most : float
        Pairs that may be the same at most, if more than three in ten seem to be: then the two kinds
        that are found are others than the wanted ones.
    """
    free = _climb(levels, similarity, answered, same, np.inf)
    if free.prevalence <= _TOO_MANY:
        return free
    return _climb(levels, similarity, answered, same, most)


def _climb(
    levels: NDArray[np.int8],
    similarity: NDArray[np.floating],
    answered: Ints,
    same: Doubles,
    most: float,
) -> Mixture:
    counted = np.ones(len(levels))
    counted[answered] = _ANSWERED
    chance = expit(_SLOPE * (similarity.astype(np.float64) - _START))
    found = Mixture(np.zeros((levels.shape[1], N_LEVELS)), 0.5)
    for _ in range(_ROUNDS):
        chance[answered] = same
        shares = [_shares(levels, weight * counted) for weight in (1 - chance, chance)]
        prevalence = float(np.clip((chance.sum() + 0.5) / (len(chance) + 1), _LEAST, _MOST))
        before, found = found, Mixture(_rising(np.log(shares[1] / shares[0])), prevalence)
        odds = found.log_odds(levels)
        if expit(odds).sum() > most:
            # As many are the same as may be, and no more.
            excess = max(float(np.partition(odds, -int(most) - 1)[-int(most) - 1]), 0.0)
            odds -= excess
            found = Mixture(found.weights, float(expit(logit(prevalence) - excess)))
        if np.abs(found.weights - before.weights).max(initial=0) < _SETTLED:
            break
        chance = expit(odds)
    return found


def _shares(levels: NDArray[np.int8], weight: Doubles) -> Doubles:
    """How often each level is met in each column."""
    found = np.empty((levels.shape[1], N_LEVELS))
    for column, at in enumerate(levels.T):
        there = at >= 0
        found[column] = np.bincount(at[there], weight[there], N_LEVELS) + _IMAGINED
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def _rising(weights: Doubles) -> Doubles:
    """More agreement never says less: each weight is at least the largest before it."""
    return np.asarray(np.maximum.accumulate(weights, axis=1))
