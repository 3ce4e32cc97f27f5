r"""The chance that two records are the same thing, by how they compare.

Without any answer there is a mixture of two kinds of pairs. Answers train trees on all comparisons
and on what the mixture says, together with pairs that the mixture is sure of, which count as a few
answers: with few answers the mixture decides, with many the trees. What trees say of pairs that
they were not trained on then tells how far they can be trusted,

.. math:: \mathrm{logit}\, p = a (x - c),

where a and c are not known exactly: they are drawn from what answers leave likely, and chances are
means over draws. So the questions may be chosen in any way by how pairs compare.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit, log_expit, logit
from sklearn.model_selection import KFold

from nearkin.records.comparisons import Comparisons, Table32
from nearkin.records.mixture import Mixture, find_mixture, levels_of
from nearkin.records.trees import Trees, grow
from nearkin.rows.arrays import Doubles, Ints
from nearkin.storage.arrays import StorageError
from nearkin.storage.schema import a as an
from nearkin.storage.schema import floats, maybe, stored

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
_N_DRAWS = 200
# Slopes and middles of curves, and how likely they are before any answer: trees are surer than the
# share of their votes says.
_SLOPES = np.geomspace(0.7, 8, 31)
_MIDDLES = np.linspace(-3, 3, 41)
_SLOPE, _SLOPE_SPREAD, _MIDDLE_SPREAD = 2.5, 0.4, 0.7
_LIMIT = 30.0


@stored(mixture=an("Mixture"), trees=maybe(an("Trees")), draws=floats("s two"))
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
    """

    mixture: Mixture
    trees: Trees | None
    draws: Doubles

    def __post_init__(self) -> None:
        if self.draws.shape[1:] != (2,) or not len(self.draws):
            raise StorageError("curves have a slope and a middle each.")

    def scores(self, plan: Comparisons, compared: Table32) -> Doubles:
        """Log-odds before they are calibrated."""
        return _scores(self.mixture, self.trees, plan, compared)

    def chances(self, scores: Doubles) -> Doubles:
        """Chance to be the same at each score."""
        at = np.linspace(-_LIMIT, _LIMIT, 601)
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
    sure, kind = _sure_pairs(odds, answered, np.random.RandomState(seed))
    rows = _with_odds(compared, odds)

    def trained(chosen: Ints) -> Trees | None:
        at = np.concatenate([answered[chosen], answered[chosen], sure])
        share = same[chosen]
        target = np.concatenate([np.ones(len(chosen)), np.zeros(len(chosen)), kind])
        weight = np.concatenate([share, 1 - share, _sure_weights(kind, len(chosen))])
        used = weight > 0
        if len(np.unique(target[used])) < 2:
            return None
        return grow(rows[at[used]], target[used], weight[used], N_TREES, seed)

    trees = trained(np.arange(len(answered)))
    judged = np.empty(len(answered))
    folds = min(_FOLDS, len(answered))
    if folds > 1:
        parts = KFold(folds, shuffle=True, random_state=seed).split(answered)
        for rest, out in parts:
            at = answered[out]
            judged[out] = _scores(mixture, trained(rest), plan, compared[at])
    elif len(answered):
        judged[:] = _scores(mixture, trained(answered[:0]), plan, compared[answered])
    return Matching(mixture, trees, likely_curves(judged, same, seed))


def likely_curves(scores: Doubles, same: Doubles, seed: int = 0) -> Doubles:
    """Draw slopes and middles of logistic curves that answers leave likely.

    Parameters
    ----------
    scores, same : ndarray of shape (a,)
        Of pairs that the scores do not come of.

    Returns
    -------
    ndarray of shape (200, 2)
    """
    slope, middle = (grid.ravel() for grid in np.meshgrid(_SLOPES, _MIDDLES))
    likely = -((np.log(slope / _SLOPE) / _SLOPE_SPREAD) ** 2) / 2
    likely -= (middle / _MIDDLE_SPREAD) ** 2 / 2
    for score, share in zip(scores, same, strict=True):
        at = slope * (score - middle)
        likely += share * log_expit(at) + (1 - share) * log_expit(-at)
    weight = np.exp(likely - likely.max())
    up_to = np.cumsum(weight / weight.sum())
    # Equally spaced numbers draw with less noise than random ones.
    drawn = np.searchsorted(up_to, (np.arange(_N_DRAWS) + 0.5) / _N_DRAWS).clip(max=len(slope) - 1)
    order = np.random.RandomState(seed).permutation(_N_DRAWS)
    return np.asarray(np.column_stack([slope, middle])[drawn[order]])


def chances_by(draws: Doubles, scores: Doubles) -> Doubles:
    """The chance at each score, by each curve."""
    return np.asarray(expit(draws[:, :1] * (scores - draws[:, 1:])))


def _scores(mixture: Mixture, trees: Trees | None, plan: Comparisons, compared: Table32) -> Doubles:
    odds = mixture.log_odds(levels_of(plan, compared))
    if trees is None:
        return np.asarray(odds.clip(-_LIMIT, _LIMIT))
    share = trees.shares(_with_odds(compared, odds))
    votes = logit((share * N_TREES + 0.5) / (N_TREES + 1))
    # Where trees are of one mind, the mixture says how sure that is.
    further = np.maximum(np.sign(votes) * odds - _BEYOND, 0) * (2 * share - 1) / 2
    return np.asarray((votes + further).clip(-_LIMIT, _LIMIT))


def _with_odds(compared: Table32, odds: Doubles) -> Table32:
    return np.column_stack([compared, odds.astype(np.float32)])


def _sure_pairs(odds: Doubles, answered: Ints, rng: np.random.RandomState) -> tuple[Ints, Doubles]:
    """Pairs that the mixture is sure of, of both kinds where there are any, and their kinds."""
    open_ = np.ones(len(odds), dtype=bool)
    open_[answered] = False
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
