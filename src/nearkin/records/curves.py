r"""From scores to chances, by answers that were chosen in a way that nobody told.

The chance to be the same at a score x is taken to be logistic,

.. math:: p(x) = 1 / (1 + e^{-a (x - c)}),

and a and c are drawn from what answers leave likely. How far answers go depends on how pairs came
to be asked, of which there are two accounts.

*By how they compare*: doubtful pairs, as :meth:`nearkin.RecordMatcher.suggest` chooses them, or any
others, but without knowing the answer. Then the answers are draws from p, wherever they are.

*By kind*: so many that are the same and so many that are not, as in lists of known duplicates to
which some others were added. Then a pair that is the same is any of the :math:`N_1 = \sum p` that
are among the candidates, and one that is not any of the :math:`N_0` others:

.. math:: \binom{N_1}{n_1}^{-1} \binom{N_0}{n_0}^{-1}
    \prod_{\mathrm{same}} p(x_i) \prod_{\mathrm{different}} (1-p(x_i)).

Halfway between the two kinds hardly any pair that differs is met in this way, though most pairs
there may differ: taken for answers of the first sort, these would call too many the same. Which
account holds is seen from where the asked pairs lie among the candidates.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.special import expit, gammaln, log_expit, logsumexp

from nearkin._types import Doubles, Ints

LIMIT = 30.0
_N_DRAWS = 200
# Slopes and middles of curves, and how likely they are before any answer: trees are surer than the
# share of their votes says, and of pairs that were drawn by kind the same ones are too frequent.
_SLOPES, _MIDDLE = (
    grid.ravel() for grid in np.meshgrid(np.geomspace(0.7, 8, 31), np.linspace(-3, 3, 41))
)
_LIKELY_SLOPE, _SLOPE_SPREAD = 2.5, 0.4
_COMPARED, _BY_KIND = (0.0, 0.7), (0.5, 0.5)
# Between these scores pairs are asked about equally often, however they are chosen.
_SCORE_EDGES = np.array([-np.inf, -4, -2, -1, 0, 1, 2, 4, np.inf])
# Who does not know the answer asks about doubtful pairs, up to this score, and checks some of the
# sure ones of either kind; this is believed as if so many questions had been seen.
_DOUBTFUL, _CHECKS, _IMAGINED_QUESTIONS = 2.0, 0.15, 10.0
# Logarithm of the odds of the second account before any answer: ten doubtful pairs tell against it.
_BEFORE = 5.0
# As many are the same as is known without answers, give or take this share, if that is not far off.
_GIVE_OR_TAKE = 0.07
_STEPS = np.linspace(-LIMIT, LIMIT, 601)


class Likely(NamedTuple):
    """What answers leave likely.

    Attributes
    ----------
    draws : ndarray of shape (200, 2)
        Slopes and middles.
    by_kind : float
        The chance that pairs were chosen by kind.
    evidence : float
        Logarithm of the chance that just these pairs were chosen, if it was by kind: the higher,
        the better scores tell the two kinds apart.
    """

    draws: Doubles
    by_kind: float
    evidence: float


def likely_curves(
    scores: Doubles, same: Doubles, others: Doubles, expected: float, seed: int = 0
) -> Likely:
    """Draw slopes and middles of curves that answers leave likely.

    Parameters
    ----------
    scores, same : ndarray of shape (a,)
        Of answered pairs, by what was not learned from them; and the share of answers that say that
        they are the same.
    others : ndarray of shape (k,)
        Scores of candidates that were not answered.
    expected : float
        About how many of all these are the same, as far as is known without answers.
    seed : int

    Returns
    -------
    Likely

    Notes
    -----
    O(a + k) time and memory, beside 1271 curves at 600 scores.
    """
    compared, by_kind = (_prior(*middle) for middle in (_COMPARED, _BY_KIND))
    share = evidence = 0.0
    if len(scores):
        said = _likelihood(scores, same)
        candidates = np.concatenate([scores, others])
        compared = compared + said + _where_asked(scores, candidates)
        by_kind = by_kind + said + _which_asked(same, candidates, expected)
        evidence = float(logsumexp(by_kind))
        # Where all were asked, none were chosen.
        share = float(expit(_BEFORE + evidence - logsumexp(compared))) if len(others) else 0.0
    weight = (1 - share) * _posterior_shares(compared) + share * _posterior_shares(by_kind)
    # Equally spaced numbers draw with less noise than random ones.
    places = (np.arange(_N_DRAWS) + 0.5) / _N_DRAWS
    drawn = np.searchsorted(np.cumsum(weight), places).clip(max=len(weight) - 1)
    drawn = np.random.RandomState(seed).permutation(drawn)
    return Likely(np.column_stack([_SLOPES[drawn], _MIDDLE[drawn]]), share, evidence)


def chances_by(draws: Doubles, scores: Doubles) -> Doubles:
    """The chance at each score, by each curve."""
    return np.asarray(expit(draws[:, :1] * (scores - draws[:, 1:])))


def _prior(middle: float, spread: float) -> Doubles:
    """Log-probabilities of curves before any answer."""
    likely = -((np.log(_SLOPES / _LIKELY_SLOPE) / _SLOPE_SPREAD) ** 2) / 2
    likely -= ((_MIDDLE - middle) / spread) ** 2 / 2
    return np.asarray(likely - logsumexp(likely))


def _likelihood(scores: Doubles, same: Doubles) -> Doubles:
    """Logarithm of the chance of these answers, by each curve."""
    total = np.zeros(len(_SLOPES))
    for score, share in zip(scores, same, strict=True):
        at = _SLOPES * (score - _MIDDLE)
        total += share * log_expit(at) + (1 - share) * log_expit(-at)
    return total


def _where_asked(scores: Doubles, candidates: Doubles) -> float:
    """Logarithm of the chance that these were asked, if scores alone decide on it.

    The share of questions in each range of scores is unknown: a Dirichlet distribution around what
    is usual, whose mean over all shares has a closed form. Within a range all candidates are
    equally likely.
    """
    asked, there = (np.histogram(values, _SCORE_EDGES)[0] for values in (scores, candidates))
    imagined = _IMAGINED_QUESTIONS * _usually_asked(there)
    known = there > 0
    asked, there, imagined = asked[known], there[known], imagined[known]
    shares = (gammaln(imagined + asked) - gammaln(imagined) - gammaln(asked + 1)).sum()
    shares += gammaln(imagined.sum()) - gammaln(imagined.sum() + asked.sum())
    shares += gammaln(asked.sum() + 1)
    return float(shares - _log_choices(there, asked).sum())


def _usually_asked(there: Ints) -> Doubles:
    """The share of questions between any two edges: most are doubtful, some check sure ones."""
    low, high = _SCORE_EDGES[:-1], _SCORE_EDGES[1:]
    kinds = [(low >= -_DOUBTFUL) & (high <= _DOUBTFUL), high <= -_DOUBTFUL, low >= _DOUBTFUL]
    total = np.zeros(len(there))
    for share, kind in zip((1 - 2 * _CHECKS, _CHECKS, _CHECKS), kinds, strict=True):
        total += share * (kind * (there > 0)) / max((kind * (there > 0)).sum(), 1)
    return np.asarray(total / max(total.sum(), 1e-12))


def _which_asked(same: Doubles, candidates: Doubles, expected: float) -> Doubles:
    """The same by each curve, if so many of each kind were drawn, beside the chance of answers."""
    frequent = np.histogram(candidates.clip(-LIMIT, LIMIT), _STEPS)[0]
    there = frequent > 0
    middles = ((_STEPS[1:] + _STEPS[:-1]) / 2)[there]
    n_same = chances_by(np.column_stack([_SLOPES, _MIDDLE]), middles) @ frequent[there]
    n_different = len(candidates) - n_same
    drawn = _log_choices(n_same, same.sum()) + _log_choices(n_different, (1 - same).sum())
    # As many of one kind as of the other, or any other number of them.
    drawn += np.log(len(same) + 1)
    surprise = np.log((n_same + 1) / (expected + 1)) / _GIVE_OR_TAKE
    return np.asarray(-drawn - np.log1p(surprise**2))


def _log_choices(n: Doubles, k: Doubles) -> Doubles:
    """Logarithm of the number of ways to choose k of n, or of as many if there are fewer."""
    n = np.maximum(n, k)
    return np.asarray(gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1))


def _posterior_shares(likely: Doubles) -> Doubles:
    return np.asarray(np.exp(likely - logsumexp(likely)))
