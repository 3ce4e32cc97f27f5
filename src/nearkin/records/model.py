"""Chances that pairs are the same, from comparisons: without answers and with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, gammaln, log_expit, logit, logsumexp
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.model_selection import KFold
from sklearn.tree import ExtraTreeClassifier

from nearkin._types import Doubles, Ints, Mask
from nearkin.pairs.closure import keys_of
from nearkin.records.blocking import Candidates, candidates_of
from nearkin.records.comparisons import (
    MISSING,
    Comparisons,
    Prepared,
    Table32,
    compare_pairs,
    n_similarities,
    prepare_columns,
)
from nearkin.rows.parallel import compiled, run_in_blocks, split_range
from nearkin.storage.arrays import StorageError
from nearkin.storage.schema import a as an
from nearkin.storage.schema import chance, floats, ints, maybe, numbers, share, stored
from nearkin.tables.reading import Column

# What comparisons say without any answer: two kinds of pairs, told apart by how columns agree.


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


# Extremely randomised trees as arrays, which are stored without code and vote on all cores.


_BLOCK = 1 << 14


@stored(
    below=ints("t", "t"),
    column=ints("t"),
    limit=numbers("t"),
    share=floats("t"),
    roots=ints("r", "t"),
    importances=floats("d"),
)
@dataclass(frozen=True)
class Trees:
    """Trees, all in the same arrays.

    Attributes
    ----------
    below : int ndarray of shape (t,)
        Of each node the first of the two below it, which follow one another; 0 at a leaf.
    column : int ndarray of shape (t,)
        By which a node decides: the first is for values up to ``limit``.
    limit, share : ndarray of shape (t,)
        ``share`` is that of pairs in a leaf that are the same.
    roots : int ndarray of shape (r,)
    importances : ndarray of shape (d,)
        How much each column adds.
    """

    below: Ints
    column: Ints
    limit: Doubles
    share: Doubles
    roots: Ints
    importances: Doubles

    def __post_init__(self) -> None:
        inner = np.flatnonzero(self.below)
        # Nodes lie below those that come before them, so that every way down ends.
        whole = (self.below[inner] > inner).all() and (
            self.below[inner] + 1 < len(self.below)
        ).all()
        if not whole or (self.column >= len(self.importances)).any():
            raise StorageError("trees whose nodes are not in order.")

    def shares(self, rows: Table32) -> Doubles:
        """The mean over trees of the share that is the same."""
        out = np.empty(len(rows))

        def vote(part: slice) -> None:
            _vote(
                self.below, self.column, self.limit, self.share, self.roots, rows[part], out[part]
            )

        run_in_blocks(vote, len(rows), _BLOCK)
        return out


def grow(rows: Table32, same: Doubles, weight: Doubles, n_trees: int, seed: int) -> Trees:
    """Grow trees by pairs of both kinds; ``same`` is 0 or 1."""
    forest = ExtraTreesClassifier(n_trees, random_state=seed).fit(rows, same, weight)
    return _planted([member.tree_ for member in forest.estimators_], forest.feature_importances_)


def grow_against(
    rows: Table32, same: Doubles, weight: Doubles, others: Table32, n_each: int, n_trees: int,
    seed: int,
) -> Trees:  # fmt: skip
    """Grow trees that are each told, too, that some others differ, drawn anew for each.

    Parameters
    ----------
    rows, same, weight
        Pairs of known kind, at least one of which is the same.
    others : float32 ndarray of shape (k, d)
        Pairs most of which differ.
    n_each : int
        How many of them a tree is told of. Each of them is met by few trees then, so that all
        others can judge it.
    n_trees, seed : int
    """
    rng = np.random.RandomState(seed)
    grown = []
    importances = np.zeros(rows.shape[1])
    for _ in range(n_trees):
        drawn = others[rng.choice(len(others), size=min(n_each, len(others)), replace=False)]
        tree = ExtraTreeClassifier(random_state=rng.randint(1 << 30)).fit(
            np.concatenate([rows, drawn]),
            np.concatenate([same, np.zeros(len(drawn))]),
            np.concatenate([weight, np.ones(len(drawn))]),
        )
        grown.append(tree.tree_)
        importances += tree.feature_importances_ / n_trees
    return _planted(grown, importances)


def _planted(grown: Sequence[object], importances: Doubles) -> Trees:
    """Trees of scikit-learn in arrays."""
    parts = []
    start = 0
    for tree in grown:
        parts.append(_in_order(tree, start))
        start += len(parts[-1][0])
    below, column, limit, share = (np.concatenate(part) for part in zip(*parts, strict=True))
    sizes = np.array([len(part[0]) for part in parts])
    return Trees(below, column, limit, share, np.cumsum(sizes) - sizes, importances)


def _in_order(tree: object, start: int) -> tuple[Ints, Ints, Doubles, Doubles]:
    """The nodes of a tree level by level, so that the two below a node follow one another."""
    left: NDArray[np.int64] = tree.children_left  # type: ignore[attr-defined]
    right: NDArray[np.int64] = tree.children_right  # type: ignore[attr-defined]
    counts = tree.value[:, 0, :]  # type: ignore[attr-defined]
    order = [0]
    below = np.zeros(len(left), dtype=np.int64)
    for place, node in enumerate(order):
        if left[node] >= 0:
            below[place] = start + len(order)
            order += [int(left[node]), int(right[node])]
    column = np.maximum(tree.feature[order], 0).astype(np.int64)  # type: ignore[attr-defined]
    limit = np.asarray(tree.threshold[order], dtype=np.float64)  # type: ignore[attr-defined]
    share = counts[order, 1] / counts[order].sum(axis=1)
    return below, column, limit, np.asarray(share, dtype=np.float64)


@compiled()
def _vote(
    below: Ints,
    column: Ints,
    limit: Doubles,
    share: Doubles,
    roots: Ints,
    rows: Table32,
    out: Doubles,
) -> None:
    for row in range(len(rows)):
        total = 0.0
        for root in roots:
            node = root
            while below[node] > 0:
                node = below[node] + (rows[row, column[node]] > limit[node])
            total += share[node]
        out[row] = total / len(roots)


# From scores to chances, by answers that were chosen in a way that nobody told.


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
    for score, is_same in zip(scores, same, strict=True):
        at = _SLOPES * (score - _MIDDLE)
        total += is_same * log_expit(at) + (1 - is_same) * log_expit(-at)
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
    for part, kind in zip((1 - 2 * _CHECKS, _CHECKS, _CHECKS), kinds, strict=True):
        total += part * (kind * (there > 0)) / max((kind * (there > 0)).sum(), 1)
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


# The chance that two records are the same thing, by how they compare.


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
        Pairs that may be the same at most, see :func:`nearkin.records.model.find_mixture`.
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


# A table with its candidates, and what a model says of them, in blocks.


_PAIRS_OF_A_BLOCK = 1 << 18
# Candidates that are learned from; and above how many those that share little are not compared.
_SAMPLE = 100_000
_MANY = 1_000_000
# Candidates whose comparisons are kept.
_KEPT = 200_000
# The score of those, and from which on a pair is worth comparing.
_SETTLED_SCORE, _WORTH = -20.0, -3.0
# Share of the least overlap of a pair worth comparing, below which others are not.
_MARGIN = 0.8
# There are not more pairs that are the same than half of the records, if that is in doubt.
_PAIRS_PER_RECORD = 0.5


@dataclass(frozen=True)
class Work:
    """A table and its candidates, ready to be compared.

    Attributes
    ----------
    plan : Comparisons
    columns : list of Column
    candidates : Candidates
    table : list of Prepared
    side : bool ndarray of shape (n,) or None
        Which of two tables each record is from.
    """

    plan: Comparisons
    columns: list[Column]
    candidates: Candidates
    table: list[Prepared]
    side: Mask | None

    @cached_property
    def all_compared(self) -> Table32:
        """Comparisons of all candidates, for tables where there are not too many to keep."""
        return self.compare(self.candidates.pairs)

    def compare(self, pairs: Ints) -> Table32:
        """Comparisons of some pairs."""
        return compare_pairs(self.plan, self.table, pairs)

    def compared(self, chosen: Ints) -> Table32:
        """Comparisons of some candidates."""
        if len(self.candidates) <= _KEPT:
            return self.all_compared[chosen]
        return self.compare(self.candidates.pairs[chosen])

    def scored(self, matching: Matching, chosen: Ints) -> Doubles:
        """Scores of some candidates."""
        return score_pairs(matching, self.plan, self.compared, chosen)


class AnyWork(Protocol):
    """A table with its candidates wherever it is: :class:`Work` in memory, or on dask."""

    @property
    def plan(self) -> Comparisons:
        """What is computed of two records."""

    @property
    def candidates(self) -> Candidates:
        """Pairs that may be the same."""

    @property
    def side(self) -> Mask | None:
        """Which of two tables each record is from."""

    def compare(self, pairs: Ints) -> Table32:
        """Comparisons of some pairs."""

    def compared(self, chosen: Ints) -> Table32:
        """Comparisons of some candidates."""

    def scored(self, matching: Matching, chosen: Ints) -> Doubles:
        """Scores of some candidates."""


@dataclass(frozen=True)
class Answered:
    """Pairs whose answer is known.

    Attributes
    ----------
    pairs : int ndarray of shape (a, 2)
        Each once.
    same : ndarray of shape (a,)
        Share of answers that say so: 0 or 1, but for contradictions.
    """

    pairs: Ints
    same: Doubles

    def among(self, pairs: Ints) -> tuple[Mask, Doubles]:
        """Which of some pairs are answered, and how."""
        keys = keys_of(self.pairs)
        order = np.argsort(keys)
        wanted = keys_of(pairs)
        place = np.searchsorted(keys[order], wanted).clip(max=max(len(keys) - 1, 0))
        if not len(keys):
            return np.zeros(len(pairs), dtype=bool), np.zeros(0)
        found = keys[order][place] == wanted
        return found, self.same[order][place[found]]


def collect_answers(must_link: Ints, cannot_link: Ints) -> Answered:
    """Answers as a share for each pair."""
    pairs = np.concatenate([must_link, cannot_link]).astype(np.int64).reshape(-1, 2)
    said = np.repeat([1.0, 0.0], [len(must_link), len(cannot_link)])
    _, first, which = np.unique(keys_of(pairs), return_index=True, return_inverse=True)
    which = which.ravel()
    return Answered(pairs[first], np.bincount(which, said) / np.bincount(which))


def make_work(
    plan: Comparisons, columns: Sequence[Column], n_best: int, side: Mask | None, seed: int
) -> Work:
    """Find the candidates of a table, and prepare it."""
    names = {column.name for column in plan.columns}
    used = [column for column in columns if column.name in names]
    found = candidates_of(used, n_best, side=side, seed=seed)
    return Work(plan, list(columns), found, prepare_columns(plan, used), side)


def learn_from_answers(work: AnyWork, answers: Answered, seed: int) -> Matching:
    """Learn from a table's candidates, or a sample of them, and from answers."""
    pairs = work.candidates.pairs
    rng = np.random.RandomState(seed)
    chosen = np.arange(len(pairs))
    if len(pairs) > _SAMPLE:
        chosen = np.sort(rng.permutation(len(pairs))[:_SAMPLE])
    said, _ = answers.among(pairs[chosen])
    chosen = chosen[~said]
    share = len(chosen) / max(len(pairs), 1)
    most = max(_PAIRS_PER_RECORD * work.candidates.n_records * share, 1.0)
    told = work.compare(answers.pairs)
    known = len(chosen) + np.arange(len(told))
    compared = np.concatenate([work.compared(chosen), told])
    return learn_matching(work.plan, compared, known, answers.same, most, seed)


def score_pairs(
    matching: Matching, plan: Comparisons, compared: Callable[[Ints], Table32], chosen: Ints
) -> Doubles:
    """The score of each of some pairs, which are compared block by block."""
    out = np.empty(len(chosen))
    for part in split_range(len(chosen), _PAIRS_OF_A_BLOCK):
        out[part] = matching.scores(plan, compared(chosen[part]))
    return out


def scores_of(matching: Matching, work: AnyWork) -> Doubles:
    """The score of each candidate; where there are many, only of those that share enough.

    Those that share a rare value share enough.
    """
    n, overlap, by_view = len(work.candidates), work.candidates.overlap, work.candidates.views > 0
    out = np.full(n, _SETTLED_SCORE)
    chosen = np.arange(n)
    if n > _MANY:
        some = np.random.RandomState(0).permutation(n)[:_SAMPLE]
        some = some[~by_view[some]]
        likely = overlap[some][matching.scores(work.plan, work.compared(some)) > _WORTH]
        chosen = np.flatnonzero(by_view | (overlap >= _MARGIN * likely.min(initial=1.0)))
    out[chosen] = work.scored(matching, chosen)
    return out
