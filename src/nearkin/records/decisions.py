"""From chances of pairs to groups and links, how good these are, and what to ask."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components, min_weight_full_bipartite_matching

from nearkin._types import Doubles, Ints, Mask
from nearkin.pairs.answers import CONFIDENCE, IntervalEstimate
from nearkin.pairs.closure import ends_of, keys_of
from nearkin.records.blocking import missed
from nearkin.records.model import Answered, AnyWork, Matching, chances_by, scores_of
from nearkin.records.results import Duplicates, Links, MatchReport

# Who is who: groups of records, from what is known of pairs, without chains of weak links.


# Log-odds of a pair that was not compared; and what no pair goes beyond, so that a single one does
# not outweigh many.
_NOT_COMPARED = -0.3
_MOST = 8.0


def group_records(
    n_records: int,
    pairs: Ints,
    log_odds: Doubles,
    must_link: Ints,
    cannot_link: Ints,
) -> Ints:
    """Number the things that records are of.

    Parameters
    ----------
    n_records : int
    pairs : int ndarray of shape (k, 2)
        Each once.
    log_odds : ndarray of shape (k,)
        Of being the same.
    must_link, cannot_link : int ndarray of shape (l, 2)
        What is known. A cannot-link between records that must-links join is left out.

    Returns
    -------
    int ndarray of shape (n_records,)
        From 0, in the order of first records.

    Notes
    -----
    O(k log k) time for each of some ten rounds, and O(n + k) memory.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.records.decisions import group_records
    >>> pairs = np.array([[0, 1], [1, 2], [0, 2], [2, 3]])
    >>> none = np.empty((0, 2), dtype=int)
    >>> group_records(5, pairs, np.array([3.0, 2.0, -9.0, 1.0]), none, none)
    array([0, 0, 1, 1, 2])
    """
    labels = _components(n_records, must_link)
    within = _components(n_records, np.concatenate([pairs[log_odds > 0], must_link]))
    # Pairs across components of what speaks for it cannot join anything.
    kept = within[pairs[:, 0]] == within[pairs[:, 1]]
    edges, sums = pairs[kept], log_odds[kept].clip(-_MOST, _MOST)
    apart = cannot_link[labels[cannot_link[:, 0]] != labels[cannot_link[:, 1]]]
    edges = np.concatenate([edges, apart])
    sums = np.concatenate([sums, np.full(len(apart), -np.inf)])
    counts = np.concatenate([np.ones(kept.sum()), np.zeros(len(apart))])
    size = np.bincount(labels, minlength=n_records)
    ends = labels[edges]
    while True:
        ends, sums, counts = _between(ends, sums, counts)
        product = size[ends[:, 0]] * size[ends[:, 1]]
        means = (sums + _NOT_COMPARED * np.maximum(product - counts, 0)) / product
        joined = ends[_best_of_both(ends, means, n_records)]
        if not len(joined):
            return number_in_order(labels)
        name = np.arange(n_records)
        name[joined[:, 1]] = joined[:, 0]
        size[joined[:, 0]] += size[joined[:, 1]]
        labels, ends = name[labels], name[ends]


def number_in_order(labels: Ints) -> Ints:
    """Number groups from 0 in the order of their first records."""
    _, first, which = np.unique(labels, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[which.ravel()])


def mean_between(labels: Ints, pairs: Ints, log_odds: Doubles) -> Doubles:
    """For each pair the mean log-odds of all pairs between the same two groups, or within one."""
    keys = keys_of(labels[pairs])
    _, which = np.unique(keys, return_inverse=True)
    which = which.ravel()
    sums = np.bincount(which, log_odds.clip(-_MOST, _MOST))
    return np.asarray((sums / np.bincount(which))[which])


def _components(n: int, links: Ints) -> Ints:
    graph = csr_array((np.ones(len(links), dtype=bool), (links[:, 0], links[:, 1])), shape=(n, n))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _between(ends: Ints, sums: Doubles, counts: Doubles) -> tuple[Ints, Doubles, Doubles]:
    """Pairs of different groups, each once, with what all pairs of records between them add to."""
    differ = ends[:, 0] != ends[:, 1]
    keys = keys_of(ends[differ])
    order = np.argsort(keys, kind="stable")
    keys = keys[order]
    start = np.flatnonzero(np.diff(keys, prepend=-1))
    if not len(start):
        return np.empty((0, 2), dtype=np.int64), np.zeros(0), np.zeros(0)
    sums, counts = (np.add.reduceat(values[differ][order], start) for values in (sums, counts))
    return ends_of(keys[start]), sums, counts


def _best_of_both(ends: Ints, means: Doubles, n: int) -> Mask:
    """Which pairs of groups are worth joining, and the best for both."""
    worth = np.flatnonzero(means > 0)
    # All pairs have their place in one order, so that the first of them is always joined.
    order = worth[np.lexsort((ends[worth, 1], ends[worth, 0], -means[worth]))]
    place = np.full(n, len(means))
    np.minimum.at(place, ends[order].ravel(), np.repeat(np.arange(len(order)), 2))
    chosen = np.zeros(len(means), dtype=bool)
    rank = np.arange(len(order))
    both = (place[ends[order, 0]] == rank) & (place[ends[order, 1]] == rank)
    chosen[order[both]] = True
    return chosen


# Which record of one table is which of another: one to one, or as many as there are.


def one_to_one(pairs: Ints, log_odds: Doubles) -> Mask:
    """Choose pairs so that no record is in two, and the sum of their log-odds is the largest.

    Parameters
    ----------
    pairs : int ndarray of shape (k, 2)
        A row of the left and one of the right table; each pair once.
    log_odds : ndarray of shape (k,)

    Returns
    -------
    bool ndarray of shape (k,)
        Only pairs with log-odds above 0 are chosen.

    Notes
    -----
    Pairs whose records are in no other are chosen at once; the others are an assignment problem, in
    which each record may also stay alone, solved by shortest augmenting paths on the sparse graph
    (R. Jonker and A. Volgenant, 1987).

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.records.decisions import one_to_one
    >>> pairs = np.array([[0, 0], [0, 1], [1, 0]])
    >>> one_to_one(pairs, np.array([5.0, 4.0, 3.0]))
    array([False,  True,  True])
    """
    chosen = np.zeros(len(pairs), dtype=bool)
    worth = np.flatnonzero(log_odds > 0)
    left, right = (np.unique(side, return_inverse=True)[1].ravel() for side in pairs[worth].T)
    alone = (np.bincount(left)[left] == 1) & (np.bincount(right)[right] == 1)
    chosen[worth[alone]] = True
    worth, left, right = worth[~alone], left[~alone], right[~alone]
    if not len(worth):
        return chosen
    left, right = (np.unique(side, return_inverse=True)[1].ravel() for side in (left, right))
    n_left, n_right = left.max() + 1, right.max() + 1
    # A partner of no value for each record of the left, so that it may stay alone.
    most = float(log_odds[worth].max()) + 1
    cost = np.concatenate([most - log_odds[worth], np.full(n_left, most)])
    rows = np.concatenate([left, np.arange(n_left)])
    columns = np.concatenate([right, n_right + np.arange(n_left)])
    graph = csr_array((cost, (rows, columns)), shape=(n_left, n_right + n_left))
    matched = np.empty(n_left, dtype=np.int64)
    found_left, found_right = min_weight_full_bipartite_matching(graph)
    matched[found_left] = found_right
    chosen[worth[matched[left] == right]] = True
    return chosen


# What precision and recall groups or links have, with intervals that hold the truth.


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


class MatchFigures(NamedTuple):
    """Figures that can be expected, each with its interval."""

    precision: IntervalEstimate
    recall: IntervalEstimate


def estimate_figures(
    draws: Doubles,
    scores: Doubles,
    called: Mask,
    weight: Doubles,
    known_wrong: float,
    known_right: float,
    known_lost: float,
    missed: IntervalEstimate,
    by_kind: float = 0.0,
    seed: int = 0,
) -> MatchFigures:
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
    missed : IntervalEstimate
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
        return MatchFigures(IntervalEstimate(1.0, 0.0, 1.0), _interval_of(0 / np.maximum(lost, 1)))
    return MatchFigures(
        _interval_of(right / total), _interval_of(right / np.maximum(right + lost, 1))
    )


def _interval_of(values: Doubles) -> IntervalEstimate:
    low, middle, high = np.quantile(values, _ENDS)
    return IntervalEstimate(float(middle), float(low), float(high))


# A table whose candidates have been judged: groups, links, and what can be said of them.


# What an answer makes of the score of a pair.
_KNOWN = 8.0


@dataclass(frozen=True)
class JudgedTable:
    """Candidates with what a model, and answers, say of them.

    Attributes
    ----------
    matching : Matching
    work : AnyWork
    known : Answered
    """

    matching: Matching
    work: AnyWork
    known: Answered

    @property
    def pairs(self) -> Ints:
        """The candidates."""
        return self.work.candidates.pairs

    @cached_property
    def scores(self) -> Doubles:
        """What the model says of each candidate, whatever was answered."""
        return scores_of(self.matching, self.work)

    @cached_property
    def chances(self) -> Doubles:
        """The chance of each candidate to be the same; 0 or 1 if that was answered."""
        chance = self.matching.chances(self.scores)
        found, same = self.known.among(self.pairs)
        chance[found] = same
        return chance

    @cached_property
    def log_odds(self) -> Doubles:
        """Of each candidate, calibrated."""
        odds = self.matching.log_odds(self.scores)
        found, same = self.known.among(self.pairs)
        odds[found] = _KNOWN * (2 * same - 1)
        return odds

    @cached_property
    def open(self) -> Mask:
        """Which candidates were not answered."""
        return ~self.known.among(self.pairs)[0]

    def level_for(self, precision: float | None) -> float:
        """Log-odds that pairs must have, so that this share of them is expected to be right."""
        if precision is None:
            return 0.0
        order = np.argsort(-self.log_odds, kind="stable")
        right = np.cumsum(self.chances[order]) / np.arange(1, len(order) + 1)
        enough = np.flatnonzero(right >= precision)
        return max(float(self.log_odds[order[enough[-1]]]), 0.0) if len(enough) else np.inf

    def groups(self, level: float = 0.0) -> Ints:
        """Number the things that records are of."""
        said = self.known.same
        must, cannot = self.known.pairs[said > 0.5], self.known.pairs[said < 0.5]
        n = self.work.candidates.n_records
        return group_records(n, self.pairs, self.log_odds - level, must, cannot)

    def duplicates(self, level: float = 0.0) -> Duplicates:
        """Groups of records, with what can be expected of them."""
        labels = self.groups(level)
        return Duplicates(labels, self._belonging(labels), *self.stated(labels))

    def _belonging(self, labels: Ints) -> Doubles:
        """The mean chance of each record to be the same as others of its group."""
        within = labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        ends, n = self.pairs[within].T, len(labels)
        count = sum(np.bincount(end, minlength=n) for end in ends)
        total = sum(np.bincount(end, self.chances[within], minlength=n) for end in ends)
        return np.where(count, total / np.maximum(count, 1), 1.0)

    def neighbors(self, n_neighbors: int) -> tuple[Ints, Doubles]:
        """The likeliest others of each record; of each of the left, those of the right table.

        Returns
        -------
        rows : int ndarray of shape (n, n_neighbors)
            −1 where there are no more.
        chance : ndarray of shape (n, n_neighbors)
        """
        n, first = self.work.candidates.n_records, 0
        ends, which = np.concatenate([self.pairs, self.pairs[:, ::-1]]), np.arange(len(self.pairs))
        which = np.concatenate([which, which])
        if self.work.side is not None:
            n = first = int((~self._side).sum())
            ends, which = self._sides(), np.arange(len(self.pairs))
        order = np.lexsort((ends[:, 1], -self.log_odds[which], ends[:, 0]))
        record, other = ends[order].T
        rank = np.arange(len(order)) - np.searchsorted(record, record)
        kept = rank < n_neighbors
        rows = np.full((n, n_neighbors), -1, dtype=np.int64)
        chance = np.zeros((n, n_neighbors))
        place = record[kept], rank[kept]
        rows[place], chance[place] = other[kept] - first, self.chances[which[order]][kept]
        return rows, chance

    def links(self, single: bool, level: float = 0.0) -> Links:
        """Pairs of records of two tables, with what can be expected of them."""
        chosen = self.log_odds > level
        if single:
            chosen = one_to_one(self._sides(), self.log_odds - level)
        n_left = int((~self._side).sum())
        figures = self._figures(chosen, self.scores, np.ones(len(chosen)))
        found = self._sides()[chosen] - np.array([0, n_left])
        return Links(found, self.chances[chosen], *figures)

    def stated(self, labels: Ints) -> MatchFigures:
        """Precision and recall of the pairs within groups.

        A pair is judged by its group, too: if the others speak for it, so does it.
        """
        within = labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        mean = mean_between(labels, self.pairs, self.scores)
        scores = np.minimum(self.scores, mean)
        np.maximum(self.scores, mean, out=scores, where=within)
        # Pairs of a group that are no candidates are like those that are.
        size = np.bincount(labels)
        group = labels[self.pairs[within, 0]]
        met = np.bincount(group, minlength=len(size))
        weight = np.ones(len(self.pairs))
        weight[within] = (size * (size - 1) // 2 / np.maximum(met, 1))[group]
        return self._figures(within, scores, weight)

    def _figures(self, called: Mask, scores: Doubles, weight: Doubles) -> MatchFigures:
        found, same = self.known.among(self.pairs)
        called_known = called[found]
        part = self.open
        factor = float(weight[called].mean()) if called.any() else 1.0
        return estimate_figures(
            self.matching.draws,
            scores[part],
            called[part],
            weight[part],
            known_wrong=float((1 - same)[called_known].sum()),
            known_right=float(same[called_known].sum()),
            known_lost=float(same[~called_known].sum()),
            missed=_times(self.missed, factor),
            by_kind=self.matching.by_kind,
        )

    @cached_property
    def missed(self) -> IntervalEstimate:
        """Pairs that are the same and are no candidates."""
        return missed(self.work.candidates, self.chances)

    @property
    def _side(self) -> Mask:
        side = self.work.side
        assert side is not None
        return side

    def _sides(self) -> Ints:
        """Candidates with the record of the left table first."""
        return np.sort(self.pairs, axis=1)  # rows of the left come first

    def report(self) -> MatchReport:
        """What is seen of the table as a whole."""
        same = float(self.chances.sum())
        never = self.missed
        shares = {
            end: same / max(same + value, 1e-12) if same else 1.0
            for end, value in (("value", never.value), ("low", never.high), ("high", never.low))
        }
        figures = self.duplicates() if self.work.side is None else self.links(single=True)
        return MatchReport(
            n_records=self.work.candidates.n_records,
            n_candidates=len(self.pairs),
            n_same=int((self.known.same > 0.5).sum()),
            n_different=int((self.known.same < 0.5).sum()),
            prevalence=same / max(len(self.pairs), 1),
            candidate_recall=IntervalEstimate(**shares),
            precision=figures.precision,
            recall=figures.recall,
            importances=self.matching.importances(self.work.plan),
        )


def _times(estimate: IntervalEstimate, factor: float) -> IntervalEstimate:
    return IntervalEstimate(estimate.value * factor, estimate.low * factor, estimate.high * factor)


# Which pairs to ask about: doubtful ones by what an answer changes, and checks of sure ones.


# Of the pairs that are asked, so many are checks of sure ones, drawn at random.
_CHECKS = 0.2
# Doubtful pairs to choose from, for each that is asked, so that they differ.
_CHOICE = 3


def doubtful_first(pairs: Ints, chance: Doubles, labels: Ints) -> Ints:
    """Order pairs by how much an answer is expected to change the groups, most first.

    The answer that goes against the groups has a chance, and moves a number of pairs: all between
    two groups that would become one; or those of a record with the rest of its group, which would
    fall apart.

    Parameters
    ----------
    pairs : int ndarray of shape (k, 2)
    chance : ndarray of shape (k,)
        To be the same.
    labels : int ndarray of shape (n,)
        The group of each record.

    Returns
    -------
    int ndarray of shape (k,)
        Numbers of pairs.

    Examples
    --------
    >>> import numpy as np
    >>> from nearkin.records.decisions import doubtful_first
    >>> pairs = np.array([[0, 1], [2, 3], [0, 2]])
    >>> doubtful_first(pairs, np.array([0.9, 0.99, 0.2]), np.array([0, 0, 1, 1]))
    array([2, 0, 1])
    """
    size = np.bincount(labels)
    a, b = labels[pairs].T
    changed = np.where(a == b, (1 - chance) * (size[a] - 1), chance * size[a] * size[b])
    return np.asarray(np.argsort(-changed, kind="stable"))


def choose_questions(
    pairs: Ints, scores: Doubles, chance: Doubles, open_: Mask, n: int, rng: np.random.RandomState
) -> Ints:
    """Choose the next pairs to ask about.

    Most of them are those whose chance is nearest to one half, of different records; a fifth are
    drawn at random, those likely to be the same and the others about equally often, so that what
    is said of precision and recall has something to go by.

    Returns
    -------
    int ndarray of shape (up to n,)
        Numbers of pairs, the most doubtful first.
    """
    free = np.flatnonzero(open_)
    n_checks = int(np.floor(n * _CHECKS + rng.uniform()))
    order = free[np.lexsort((np.abs(scores[free]), np.abs(chance[free] - 0.5)))]
    near = order[: _CHOICE * n]
    asked = _of_different_records(pairs, rng.permutation(near), n - n_checks)
    rest = np.setdiff1d(free, asked)
    if len(rest) and n > len(asked):
        weight = chance[rest] / max(chance[rest].sum(), 1e-12) + 1 / len(rest)
        count = min(n - len(asked), len(rest))
        checks = rng.choice(rest, size=count, replace=False, p=weight / weight.sum())
        asked = np.concatenate([asked, checks])
    return np.asarray(asked[np.argsort(np.abs(chance[asked] - 0.5), kind="stable")])


def _of_different_records(pairs: Ints, order: Ints, n: int) -> Ints:
    """The first pairs of an order that share no record, as far as there are so many."""
    used: set[int] = set()
    chosen: list[int] = []
    later: list[int] = []
    for number in order.tolist():
        ends = set(pairs[number].tolist())
        (later if ends & used else chosen).append(number)
        used |= ends
    return np.array((chosen + later)[:n], dtype=np.int64)
