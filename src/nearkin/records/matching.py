r"""The chance that two records are the same thing, by how they compare.

Without any answer there is a mixture of two kinds of pairs. Answers train trees on all comparisons
and on what the mixture says, together with pairs that the mixture is sure of, which count as a few
answers: with few answers the mixture decides, with many the trees. What trees say of pairs that
they were not trained on then tells how far they can be trusted, see :mod:`nearkin.records.curves`.

Where answers look as if they had been drawn by kind, as many that are the same as others, they say
nothing of pairs that are nearly the same. Then the mixture alone is tried, too, and trees that tell
the same ones from random candidates, most of which differ, each tree from others of these (F.
Mordelet and J.-P. Vert, 2014): that is taken by which the answers are likeliest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit
from sklearn.model_selection import KFold

from nearkin._types import Doubles, Ints, Mask
from nearkin.records.comparisons import Comparisons, Table32
from nearkin.records.curves import LIMIT, chances_by, likely_curves
from nearkin.records.mixture import Mixture, find_mixture, levels_of
from nearkin.records.trees import Trees, grow, grow_against
from nearkin.storage.arrays import StorageError
from nearkin.storage.schema import a as an
from nearkin.storage.schema import chance, floats, maybe, stored

N_TREES = 100
_FOLDS = 5
# Answers that pairs count as which the mixture is sure of: of either kind, whatever their number,
# and as a share of the answers for those that differ.
_SURE, _SURE_DIFFERENT = 5.0, 0.3
_MOST_SURE = 1500
# Chance from which on the mixture is sure; the surer half of such pairs is taken.
_SURE_FROM = 0.9
# Log-odds of the mixture from which on it says more than trees that are of one mind can.
_BEYOND = 4.0
# By how much answers must be likelier by trees that are grown against candidates (logarithm).
_DOUBT = 3.0
# Random candidates that a tree is told to differ, for each pair that is the same, and at least.
_AGAINST, _LEAST_AGAINST = 3, 20


@stored(mixture=an("Mixture"), trees=maybe(an("Trees")), draws=floats("s two"), by_kind=chance)
@dataclass(frozen=True)
class Matching:
    """What comparisons say of a pair.

    Attributes
    ----------
    mixture : Mixture
    trees : Trees or None
        None if there was nothing to train them by.
    draws : ndarray of shape (200, 2)
        Of slope and middle, which answers leave likely.
    by_kind : float
        Chance that answered pairs were chosen by whether they are the same.
    """

    mixture: Mixture
    trees: Trees | None
    draws: Doubles
    by_kind: float = 0.0

    def __post_init__(self) -> None:
        if self.draws.shape[1:] != (2,) or not len(self.draws):
            raise StorageError("curves have a slope and a middle each.")

    def scores(self, plan: Comparisons, compared: Table32) -> Doubles:
        """Log-odds before they are calibrated."""
        return _scores(self.mixture, self.trees, plan, compared)

    def chances(self, scores: Doubles) -> Doubles:
        """Chance to be the same at each score."""
        at = np.linspace(-LIMIT, LIMIT, 601)
        table = chances_by(self.draws, at).mean(axis=0)
        return np.asarray(np.interp(scores, at, table))

    def log_odds(self, scores: Doubles) -> Doubles:
        """The middle of the log-odds to be the same that are likely, at each score."""
        slope, middle = np.median(self.draws, axis=0)
        return np.asarray(slope * (scores - middle))

    def importances(self, plan: Comparisons) -> dict[str, float]:
        """How much each column adds to telling same from different, the most first."""
        by_column = np.ptp(self.mixture.weights, axis=1)
        if self.trees is not None:
            # What comparisons of a column add, and what the mixture does, by its weights.
            shares, odds = self.trees.importances[:-1], self.trees.importances[-1]
            own = np.array([shares[place].sum() for place in plan.places])
            by_column = own + odds * by_column / max(by_column.sum(), 1e-12)
        by_column = by_column / max(by_column.sum(), 1e-12)
        order = np.argsort(-by_column, kind="stable")
        return {plan.columns[c].name: float(by_column[c]) for c in order}


def learn_matching(
    plan: Comparisons,
    compared: Table32,
    answered: Ints,
    same: Doubles,
    most: float,
    seed: int = 0,
) -> Matching:
    """Learn from candidates, some of which are answered.

    Parameters
    ----------
    plan : Comparisons
    compared : float32 ndarray of shape (k, d)
        Candidates, or a sample of them, and whatever else was answered.
    answered : int ndarray of shape (a,)
        Rows of it.
    same : ndarray of shape (a,)
        Share of the answers that say that it is the same, which is 0 or 1 but for contradictions.
    most : float
        Pairs that may be the same at most, see :func:`nearkin.records.mixture.find_mixture`.
    seed : int
    """
    levels = levels_of(plan, compared)
    mixture = find_mixture(levels, compared[:, -1], answered, same, most)
    odds = mixture.log_odds(levels)
    rows = _with_odds(compared, odds)
    open_ = np.ones(len(compared), dtype=bool)
    open_[answered] = False
    others = rows[open_]
    expected = float(expit(odds[open_]).sum() + same.sum())
    sure, kind = _sure_pairs(odds, open_, np.random.RandomState(seed))

    def with_sure_pairs(chosen: Ints) -> Trees | None:
        at, target, weight = _told(answered[chosen], same[chosen])
        at, target = np.concatenate([at, sure]), np.concatenate([target, kind])
        weight = np.concatenate([weight, _sure_weights(kind, len(chosen))])
        if len(np.unique(target)) < 2:
            return None
        return grow(rows[at], target, weight, N_TREES, seed)

    def against_candidates(chosen: Ints) -> Trees | None:
        at, target, weight = _told(answered[chosen], same[chosen])
        if not target.any():
            return with_sure_pairs(chosen)
        n_each = max(_AGAINST * int(target.sum()), _LEAST_AGAINST)
        return grow_against(rows[at], target, weight, others, n_each, N_TREES, seed)

    def learned(train: Callable[[Ints], Trees | None]) -> tuple[Matching, float]:
        trees = train(np.arange(len(answered)))
        judged = np.empty(len(answered))
        for rest, out in _parts(len(answered), seed):
            judged[out] = _scores(mixture, train(rest), plan, compared[answered[out]])
        unasked = _scores(mixture, trees, plan, compared[open_]) if len(answered) else odds[:0]
        likely = likely_curves(judged, same, unasked, expected, seed)
        return Matching(mixture, trees, likely.draws, likely.by_kind), likely.evidence

    found, evidence = learned(with_sure_pairs)
    if found.by_kind > 0.5 and len(others):
        for train, doubt in ((lambda _: None, 0.0), (against_candidates, _DOUBT)):
            other, more = learned(train)
            if more - doubt > evidence:
                found, evidence = other, more - doubt
    return found


def _told(answered: Ints, same: Doubles) -> tuple[Ints, Doubles, Doubles]:
    """Answered pairs with kinds and weights; contradicting answers count as some of either kind."""
    at = np.concatenate([answered, answered])
    target = np.repeat([1.0, 0.0], len(answered))
    weight = np.concatenate([same, 1 - same])
    return at[weight > 0], target[weight > 0], weight[weight > 0]


def _parts(n: int, seed: int) -> list[tuple[Ints, Ints]]:
    """Answers to train by and answers to judge, so that each is judged once."""
    folds = min(_FOLDS, n)
    if folds < 2:
        return [(np.arange(0), np.arange(n))]
    return list(KFold(folds, shuffle=True, random_state=seed).split(np.arange(n)))


def _scores(mixture: Mixture, trees: Trees | None, plan: Comparisons, compared: Table32) -> Doubles:
    odds = mixture.log_odds(levels_of(plan, compared))
    if trees is None:
        return np.asarray(odds.clip(-LIMIT, LIMIT))
    share = trees.shares(_with_odds(compared, odds))
    votes = logit((share * N_TREES + 0.5) / (N_TREES + 1))
    # Where trees are of one mind, the mixture says how sure that is.
    further = np.maximum(np.sign(votes) * odds - _BEYOND, 0) * (2 * share - 1) / 2
    return np.asarray((votes + further).clip(-LIMIT, LIMIT))


def _with_odds(compared: Table32, odds: Doubles) -> Table32:
    return np.column_stack([compared, odds.astype(np.float32)])


def _sure_pairs(odds: Doubles, open_: Mask, rng: np.random.RandomState) -> tuple[Ints, Doubles]:
    """Pairs that the mixture is sure of, of both kinds where there are any, and their kinds."""
    rest = np.flatnonzero(open_)
    if not len(rest):
        return rest, np.zeros(0)
    rest = rest[np.argsort(odds[rest], kind="stable")]
    different = rest[: len(rest) // 2]
    likely = rest[expit(odds[rest]) > _SURE_FROM]
    same = likely[len(likely) // 2 :]
    drawn = [rng.permutation(part)[:_MOST_SURE] for part in (different, same)]
    return np.concatenate(drawn), np.repeat([0.0, 1.0], [len(part) for part in drawn])


def _sure_weights(kind: Doubles, n_answers: int) -> Doubles:
    n_same = kind.sum()
    n_different = len(kind) - n_same
    total = max(_SURE, _SURE_DIFFERENT * n_answers)
    return np.asarray(np.where(kind == 1, _SURE / max(n_same, 1), total / max(n_different, 1)))
