"""From chances of pairs to groups and links, how good these are, and what to ask."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import min_weight_full_bipartite_matching
from scipy.special import expit, logit

from nearkin._types import Doubles, Ints, Mask
from nearkin.pairs.answers import CONFIDENCE, IntervalEstimate
from nearkin.pairs.closure import ends_of, keys_of, number_by_appearance
from nearkin.records.blocking import Halves, estimate_missed, join_links
from nearkin.records.model import (
    Answered,
    Matching,
    Work,
    chance_wrong,
    look_reversed,
    scores_of,
)
from nearkin.records.results import Duplicates, Figure, Links, MatchReport

# Who is who: groups of records, from what is known of pairs, without chains of weak links.


# Log-odds of a pair that was not compared; and what no pair goes beyond, so that a single one does
# not outweigh many.
_NOT_COMPARED = -0.3
_MOST = 8.0
# Pairs between two groups that were not compared count up to so many times the root of all.
_ABSENT = 3.0


def group_records(
    n_records: int, pairs: Ints, log_odds: Doubles, must_link: Ints, cannot_link: Ints,
    copies: Ints | None = None,
) -> Ints:  # fmt: skip
    """Number the things that records are of, by average linkage.

    A record joins a group by the mean over its pairs with all of the group that were compared, so
    that neither its weakest pair keeps it out nor a single strong one lets it in.

    Cannot-links are kept; of must-links that contradict them by a chain, those that come later are
    not. Of two ``copies``, equal records, the second counts for nothing beside the first. Groups
    are numbered from 0 in the order of their first records.

    Notes
    -----
    O(k log k) time for each of some ten rounds, and O(n + k) memory.
    """
    equal = np.empty((0, 2), dtype=np.int64) if copies is None else copies
    within = join_links(n_records, np.concatenate([pairs[log_odds > 0], must_link, equal]))
    # Pairs across components of what speaks for it cannot join anything.
    kept = within[pairs[:, 0]] == within[pairs[:, 1]]
    edges, odds = pairs[kept], log_odds[kept].clip(-_MOST, _MOST)
    is_copy = np.zeros(n_records, dtype=bool)
    is_copy[equal[:, 1]] = True
    # Only must-links that are not met by themselves are put first: each draws its two records away
    # from the rest of their groups.
    first = np.zeros(len(must_link), dtype=bool)
    while True:
        labels = _join_known(n_records, must_link[first], equal, cannot_link)
        labels = _link(labels, is_copy, edges, odds, cannot_link)
        unmet = labels[must_link[:, 0]] != labels[must_link[:, 1]]
        if not (unmet & ~first).any():
            return number_by_appearance(labels)
        first |= unmet


def _link(labels: Ints, is_copy: Mask, edges: Ints, odds: Doubles, cannot_link: Ints) -> Ints:
    """Join groups by average linkage, the best for both first."""
    n = len(labels)
    apart = cannot_link[labels[cannot_link[:, 0]] != labels[cannot_link[:, 1]]]
    ends = labels[np.concatenate([edges, apart])]
    sums = np.append(odds, np.full(len(apart), -np.inf))
    counts = np.append(np.ones(len(odds)), np.zeros(len(apart)))
    size = np.maximum(np.bincount(labels[~is_copy], minlength=n), 1)
    while True:
        ends, sums, counts = _between(ends, sums, counts)
        product = size[ends[:, 0]] * size[ends[:, 1]]
        absent = np.minimum(np.maximum(product - counts, 0), _ABSENT * np.sqrt(product))
        means = (sums + _NOT_COMPARED * absent) / (counts + absent)
        joined = ends[_best_of_both(ends, means, n)]
        if not len(joined):
            return labels
        name = np.arange(n)
        name[joined[:, 1]] = joined[:, 0]
        size[joined[:, 0]] += size[joined[:, 1]]
        labels, ends = name[labels], name[ends]


def _join_known(n: int, must_link: Ints, copies: Ints, cannot_link: Ints) -> Ints:
    """Groups that must-links and copies make, without those links that contradict cannot-links."""
    links = np.concatenate([must_link, copies])
    labels = join_links(n, links)
    broken = labels[cannot_link[:, 0]] == labels[cannot_link[:, 1]]
    if not broken.any():
        return labels
    wrong = np.isin(labels, labels[cannot_link[broken, 0]])
    # Only where there is a contradiction, link by link.
    name = np.where(wrong, n + np.arange(n), labels)
    apart: dict[int, set[int]] = {}
    for a, b in name[cannot_link[broken]].tolist():
        apart.setdefault(a, set()).add(b)
        apart.setdefault(b, set()).add(a)
    for i, j in links[wrong[links[:, 0]]].tolist():
        a, b = int(name[i]), int(name[j])
        if a == b or b in apart.get(a, ()):
            continue
        name[name == b] = a
        for other in apart.pop(b, set()):
            apart[other].discard(b)
            apart[other].add(a)
            apart.setdefault(a, set()).add(other)
    return np.asarray(np.unique(name, return_inverse=True)[1].ravel(), dtype=np.int64)


def mean_between(labels: Ints, pairs: Ints, log_odds: Doubles) -> Doubles:
    """For each pair the mean log-odds of all pairs between the same two groups, or within one."""
    keys = keys_of(labels[pairs])
    _, which = np.unique(keys, return_inverse=True)
    which = which.ravel()
    sums = np.bincount(which, log_odds.clip(-_MOST, _MOST))
    return np.asarray((sums / np.bincount(which))[which])


def _between(ends: Ints, sums: Doubles, counts: Doubles) -> tuple[Ints, Doubles, Doubles]:
    """Pairs of different groups, each once, with what all pairs of records between them add to."""
    differ = ends[:, 0] != ends[:, 1]
    found, which = np.unique(keys_of(ends[differ]), return_inverse=True)
    sums, counts = (
        np.bincount(which.ravel(), of[differ], len(found)).astype(np.float64)
        for of in (sums, counts)
    )
    return ends_of(found), sums, counts


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

    Only pairs with log-odds above 0 are chosen. Those whose records are in no other are chosen at
    once; the others are an assignment problem, in which each record may also stay alone, solved by
    shortest augmenting paths on the sparse graph (R. Jonker and A. Volgenant, 1987).
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


# Candidates by what is known of them without answers, those that share most letters with a record
# and others: of each part some are checked, chosen by numbers that belong to the pairs themselves.
# So a check is known for one from its answer alone, whoever asked, and when.
_PARTS_OF_BEST, _PARTS_OF_OTHERS = np.array([-4.0, -1.0, 1.0, 4.0]), np.array([-4.0, 1.0])
_CHECKED = np.array([0.14, 0.11, 0.11, 0.11, 0.14, 0.04, 0.08, 0.14, 0.13])
_LISTED = 300
# Checks of a part are all pairs up to some number if so many of them are answered; and fewer checks
# than these in all show nothing.
_ANSWERED, _FEWEST_CHECKS = 0.8, 12
# Share of the parts of which some must be checked, if answers are to questions of ours.
_COVERED = 0.6
# Chance by which answers that were drawn at random look as if they were not.
_BY_CHANCE = 0.01
# Share of questions that are checks.
_CHECKS = 0.4
# What scores say of parts counts as so many checks, and is off by so much (in log-odds); and they
# are never believed to be wrong more seldom than this.
_AS_CHECKS, _OFF, _WRONG = 5.0, 1.6, 0.03
# Matches that scores cannot see: about this share of all that are called the same.
_UNSEEN = 0.05
_N_DRAWS = 2000
# Chance that nothing is wrong at all, from which on that is within an interval.
_NONE_WRONG = 0.01
_ENDS = ((1 - CONFIDENCE) / 2, 0.5, (1 + CONFIDENCE) / 2)
# Nothing is stated that is less sure than this.
_WIDEST = 0.35


class MatchFigures(NamedTuple):
    """Figures that can be expected of the pairs that are called the same."""

    precision: Figure
    recall: Figure
    candidate_recall: Figure  # share of the pairs that are the same which are candidates


def check_numbers(pairs: Ints) -> Doubles:
    """A number from 0 to 1 for each pair, as if drawn at random, and always the same."""
    mixed = keys_of(pairs).astype(np.uint64) + np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    return np.asarray((mixed ^ (mixed >> np.uint64(31))) / 2.0**64)


def part_of(pairs: Ints, overlap: Halves, before: Doubles, is_early: Mask) -> Ints:
    """The part that each candidate is in; the last is for those that answers led to."""
    best = np.zeros(int(pairs.max(initial=0)) + 1, dtype=np.float32)
    for end in pairs.T:
        np.maximum.at(best, end, overlap)
    is_best = (overlap[:, None] >= best[pairs]).any(axis=1) & (overlap > 0)
    part = np.where(
        is_best,
        np.digitize(before, _PARTS_OF_BEST),
        len(_PARTS_OF_BEST) + 1 + np.digitize(before, _PARTS_OF_OTHERS),
    )
    return np.where(is_early, part, len(_CHECKED) - 1)


def list_checks(pairs: Ints, part: Ints) -> list[Ints]:
    """The candidates of each part that are checked first, in order, up to 300."""
    drawn = check_numbers(pairs)
    found = []
    for number in range(len(_CHECKED)):
        members = np.flatnonzero(part == number)
        if len(members) > _LISTED:
            members = members[np.argpartition(drawn[members], _LISTED)[:_LISTED]]
        found.append(members[np.argsort(drawn[members])])
    return found


def answered_checks(listed: Ints, answered: Mask) -> Ints:
    """Of the checks of a part those that were answered, as far as nearly all were."""
    said = answered[listed]
    enough = np.flatnonzero(np.cumsum(said) >= _ANSWERED * np.arange(1, len(said) + 1))
    end = enough[-1] + 1 if len(enough) else 0
    return np.asarray(listed[:end][said[:end]])


class Cell(NamedTuple):
    """Candidates of a part that are called the same, or of which none is."""

    called: bool
    size: float  # how many pairs there are
    compared: float  # the share of them that are candidates: others are within groups
    likely: float  # the share of them that is the same, by their scores
    right: float  # checks that are the same
    wrong: float  # and that are not
    known_same: float  # all answers
    known_different: float


def estimate_figures(
    cells: list[Cell], missed: IntervalEstimate, seed: int = 0
) -> tuple[IntervalEstimate, IntervalEstimate, IntervalEstimate]:
    """Precision and recall of the pairs that are called the same, and recall of candidates.

    All go by checks, which are drawn at random; ``missed`` are pairs that were never met.
    """
    rng = np.random.RandomState(seed)
    right, lost, met = np.zeros(_N_DRAWS), np.zeros(_N_DRAWS), np.zeros(_N_DRAWS)
    called = sum(cell.size for cell in cells if cell.called)
    # Scores are too sure, or not sure enough, of all parts alike.
    off = {kind: rng.normal(0, _OFF, _N_DRAWS) for kind in (True, False)}
    for cell in cells:
        if not cell.size:
            continue
        least = _WRONG if cell.called else 1e-9
        likely = expit(logit(np.clip(cell.likely, 1e-9, 1 - least)) + off[cell.called])
        # Rare ones are taken to be about as rare, however few checks there are.
        belief = np.full(_N_DRAWS, _AS_CHECKS)
        if not cell.called:
            belief = np.maximum(belief, 1 / likely)
        drawn = rng.beta(belief * likely + cell.right, belief * (1 - likely) + cell.wrong)
        found = rng.binomial(int(cell.size), drawn).astype(np.float64)
        found = found.clip(cell.known_same, cell.size - cell.known_different)
        met += cell.compared * found
        if cell.called:
            right += found
        else:
            lost += found
    # What nothing shows makes an interval wider downwards alone: there may be none of it.
    unseen = rng.poisson(called * _UNSEEN * np.exp(rng.normal(-0.5, 1.2, _N_DRAWS))) + np.interp(
        rng.uniform(size=_N_DRAWS),
        [0, *_ENDS, 1],
        [missed.low, missed.low, missed.value, missed.high, missed.high],
    )
    seen = right + lost
    recall, candidate_recall = (_share_of(part, seen, unseen) for part in (right, met))
    precision = _interval_of(right / called) if called else IntervalEstimate(1.0, 0.0, 1.0)
    return precision, recall, candidate_recall


def _share_of(part: Doubles, seen: Doubles, unseen: Doubles) -> IntervalEstimate:
    """Of all pairs that are the same: between what is if none is unseen, and if as many are."""
    best, worst = (_interval_of(part / np.maximum(n, 1)) for n in (seen, seen + unseen))
    return IntervalEstimate((best.value + worst.value) / 2, worst.low, best.high)


def _interval_of(values: Doubles) -> IntervalEstimate:
    low, middle, high = np.quantile(values, _ENDS)
    # Where nothing may be wrong, the truth is the end of what is possible.
    high = 1.0 if (values == 1).mean() > _NONE_WRONG else high
    return IntervalEstimate(float(middle), float(low), float(high))


# A table whose candidates have been judged: groups, links, and what can be said of them.


# What an answer makes of the score of a pair; and the chance to be wrong from which on it is
# doubted.
_KNOWN, _DOUBTED = 8.0, 0.5
# Log-odds that are enough for a link, at least, if no other is nearer; how likely that is.
_LEAST_ODDS, _SHIFT_SPREAD = 4.0, 3.0


@dataclass(frozen=True)
class JudgedTable:
    """Candidates with what a model, and answers, say of them."""

    matching: Matching
    work: Work
    known: Answered
    doubt: Doubles  # the chance that each answer is wrong; one that likely is, is not followed

    @property
    def doubted(self) -> Mask:
        """Answers that look wrong."""
        return self.doubt > _DOUBTED

    @property
    def pairs(self) -> Ints:
        """The candidates."""
        return self.work.candidates.pairs

    def doubting(self, doubt: Doubles) -> JudgedTable:
        """The same with other doubts, on which scores do not depend."""
        found = replace(self, doubt=doubt)
        found.__dict__["scores"] = self.scores
        return found

    @cached_property
    def scores(self) -> Doubles:
        """What the model says of each candidate, whatever was answered."""
        return scores_of(self.matching, self.work)

    @cached_property
    def chances(self) -> Doubles:
        """The chance of each candidate to be the same; 0 or 1 if that was answered."""
        chance = np.asarray(expit(self.scores))
        found, same = self.followed.among(self.pairs)
        chance[found] = same
        return chance

    @cached_property
    def log_odds(self) -> Doubles:
        """Of each candidate, with its answer if that does not look wrong."""
        odds = self.scores.copy()
        found, same = self.followed.among(self.pairs)
        odds[found] = _KNOWN * (2 * same - 1)
        return odds

    @cached_property
    def followed(self) -> Answered:
        """Answers that do not look wrong."""
        return Answered(self.known.pairs[~self.doubted], self.known.same[~self.doubted])

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

    @cached_property
    def likely_groups(self) -> Ints:
        """The number of the thing that each record likely is of."""
        return self.groups()

    def groups(self, level: float = 0.0) -> Ints:
        """Number the things that records are of."""
        sure = self.followed
        must, cannot = sure.pairs[sure.same > 0.5], sure.pairs[sure.same < 0.5]
        n = self.work.candidates.n_records
        odds = self.log_odds - level
        split = Answered(cannot, np.zeros(len(cannot))).among(self.work.copies)[0]
        return group_records(n, self.pairs, odds, must, cannot, self.work.copies[~split])

    def duplicates(self, level: float = 0.0) -> Duplicates:
        """Groups of records, with what can be expected of them."""
        labels = self.groups(level) if level else self.likely_groups
        precision, recall, _ = self.stated(labels)
        return Duplicates(labels, self._belonging(labels), precision, recall)

    def _belonging(self, labels: Ints) -> Doubles:
        """The mean chance of each record to be the same as others of its group."""
        within = labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        ends, n = self.pairs[within].T, len(labels)
        count = sum(np.bincount(end, minlength=n) for end in ends)
        total = sum(np.bincount(end, self.chances[within], minlength=n) for end in ends)
        return np.where(count, total / np.maximum(count, 1), 1.0)

    def neighbors(self, n_neighbors: int) -> tuple[Ints, Doubles]:
        """The likeliest others of each record, −1 where there are no more, and their chances.

        Of two tables, those of the right one for each record of the left.
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
        chosen, odds = self.log_odds > level, self.scores
        if single:
            chosen, odds = self._single(level)
        n_left = int((~self._side).sum())
        found = self._sides()[chosen] - np.array([0, n_left])
        precision, recall, _ = self._figures(chosen, expit(odds), float(chosen.sum()))
        return Links(found, self.chances[chosen], precision, recall)

    def _single(self, level: float) -> tuple[Mask, Doubles]:
        """Links of which no record has two, and log-odds that know this.

        That no other is nearer speaks for a link: by how much, answers to such pairs say. That a
        record has a link speaks against all others of it.
        """
        best = one_to_one(self._sides(), self.log_odds + _LEAST_ODDS)
        shift = 0.0
        if self.were_asked:
            # By scores alone: links are not to be chosen by what was answered.
            asked = one_to_one(self._sides(), self.scores + _LEAST_ODDS)
            asked &= self.followed.among(self.pairs)[0]
            _, same = self.followed.among(self.pairs[asked])
            shifts = np.linspace(0, _LEAST_ODDS, 41)
            odds = self.scores[asked] + shifts[:, None]
            rate = self.matching.error_rate
            likely = rate + (1 - 2 * rate) * expit(odds)
            said = (same * np.log(likely) + (1 - same) * np.log1p(-likely)).sum(axis=1)
            shift = float(shifts[np.argmax(said - (shifts / _SHIFT_SPREAD) ** 2 / 2)])
        chosen = best & (self.log_odds + shift > level)
        odds = self.scores + shift * chosen
        linked = np.zeros(self.work.candidates.n_records)
        for end in self.pairs[chosen].T:
            linked[end] = odds[chosen]
        rivals = np.maximum(linked[self.pairs], 0).max(axis=1)
        return chosen, np.where(chosen, odds, odds - rivals)

    def stated(self, labels: Ints) -> MatchFigures:
        """Precision and recall of the pairs within groups.

        What speaks for a group, or against two being one, speaks for or against each pair.
        """
        size = np.bincount(labels).astype(np.float64)
        within = labels[self.pairs[:, 0]] == labels[self.pairs[:, 1]]
        mean = mean_between(labels, self.pairs, self.scores)
        odds = np.minimum(self.scores, mean)
        np.maximum(self.scores, mean, out=odds, where=within)
        return self._figures(within, expit(odds), float((size * (size - 1) / 2).sum()))

    @cached_property
    def are_reversed(self) -> bool:
        """Whether answers say the opposite of what their pairs look like."""
        found, same = self.known.among(self.pairs)
        return look_reversed(self.work.before[found], same)

    @cached_property
    def checks(self) -> list[Ints]:
        """The candidates of each part that are checked first."""
        return list_checks(self.pairs, self.part)

    @cached_property
    def part(self) -> Ints:
        """The part that each candidate is in."""
        found = self.work.candidates
        return part_of(found.pairs, found.overlap, self.work.before, self.work.is_early)

    @cached_property
    def checked_parts(self) -> list[Ints]:
        """Candidates of each part that were answered as checks."""
        return [answered_checks(listed, ~self.open) for listed in self.checks]

    @property
    def checked(self) -> Ints:
        """Candidates that were answered as checks."""
        return np.concatenate([np.empty(0, dtype=np.int64), *self.checked_parts])

    @property
    def were_asked(self) -> bool:
        """Whether answers are to questions of ours: many are checks, of most parts."""
        there = [done for done, listed in zip(self.checked_parts, self.checks, strict=True)
                 if len(listed)]  # fmt: skip
        covered = sum(len(done) > 0 for done in there)
        many = len(self.checked) >= max(_CHECKS / 2 * len(self.known.pairs), 1)
        return bool(many and covered >= _COVERED * len(there))

    @property
    def drawn_by_kind(self) -> bool:
        """Whether answers may have been drawn by what they are: others as they look at random.

        Those said to differ are then not likelier to be the same than such candidates are.
        """
        if self.were_asked:
            return False
        found, same = self.known.among(self.pairs)
        of = np.sort(self.work.before[found][same < 0.5])
        if not len(of):
            return True
        every = np.sort(self.work.before[self.work.is_early])
        below = [np.searchsorted(some, of, side="right") / len(some) for some in (every, of)]
        higher = (below[0] - below[1]).max()
        return bool(2 * len(of) * higher * abs(higher) < -np.log(_BY_CHANCE))

    def _figures(self, called: Mask, chance: Doubles, n_called: float) -> MatchFigures:
        if len(self.checked) < _FEWEST_CHECKS or not self.were_asked or self.are_reversed:
            left = max(_FEWEST_CHECKS - len(self.checked), 1)
            more = 10 * int(np.ceil(left / _CHECKS / 10))
            return MatchFigures(*(Figure(more=more) for _ in MatchFigures._fields))
        cells = self._cells(called, chance, n_called)
        figures = [
            Figure(*(one.value, one.low, one.high)) if one.high - one.low <= _WIDEST
            else Figure(more=max(10, 10 * round(len(self.known.pairs) / 10)))
            for one in estimate_figures(cells, self.missed(n_called))
        ]  # fmt: skip
        return MatchFigures(*figures)

    def _cells(self, called: Mask, chance: Doubles, n_called: float) -> list[Cell]:
        likely_same = np.abs(self.known.same - self.doubt)
        said, same = Answered(self.known.pairs, likely_same).among(self.pairs)
        truth = np.zeros(len(self.pairs))
        truth[said] = same
        check = np.zeros(len(self.pairs), dtype=bool)
        check[self.checked] = True
        key = 2 * self.part + called
        n = 2 * len(_CHECKED)
        size, likely, right, checked, known, all_said = (
            np.bincount(key, weight, n)
            for weight in (np.ones(len(key)), chance, check * truth, check, truth, said)
        )
        likely = np.divide(likely, np.maximum(size, 1))
        # Pairs within groups that were never compared are like those found late.
        n_compared = size.copy()
        size[-1] += max(n_called - size[1::2].sum(), 0)
        if size[-1]:
            likely[-1] = likely[1::2] @ size[1::2] / size[1::2].sum()
        return [
            Cell(
                bool(k % 2), size[k], n_compared[k] / max(size[k], 1), likely[k], right[k],
                checked[k] - right[k], np.floor(known[k]), np.floor(all_said[k] - known[k]),
            )
            for k in range(n)
        ]  # fmt: skip

    def missed(self, n_called: float) -> IntervalEstimate:
        """Pairs that are the same and are no candidates, beside so many that were found."""
        return estimate_missed(self.work.candidates, self.log_odds > 0, n_called)

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
        if self.work.side is None:
            figures = self.stated(self.likely_groups)
        else:
            chosen, odds = self._single(0.0)
            figures = self._figures(chosen, expit(odds), float(chosen.sum()))
        some = np.random.RandomState(0).permutation(len(self.pairs))[:_TELLING]
        plan = self.work.plan
        return MatchReport(
            n_records=self.work.candidates.n_records,
            n_candidates=len(self.pairs),
            n_same=int((self.known.same > 0.5).sum()),
            n_different=int((self.known.same < 0.5).sum()),
            prevalence=same / max(len(self.pairs), 1),
            candidate_recall=figures.candidate_recall,
            precision=figures.precision,
            recall=figures.recall,
            importances=self.matching.importances(plan, self.work.compared(np.sort(some))),
            set_aside=list(self.matching.agreement.set_aside),
            error_rate=self.matching.error_rate,
            doubted=[
                (int(i), int(j))
                for i, j in self.known.pairs[self.doubted & (self.known.same != 0.5)]
            ],
            contradictions=self.known.contradictions(),
        )


# Candidates that show how much each column tells.
_TELLING = 20_000


# Rate of wrong answers below which none is doubted for; how much groups count beside single pairs,
# and as how many pairs nothing counts.
_LEAST_RATE, _BY_GROUPS, _OF_NOTHING = 0.03, 2.0, 2.0


def doubt_answers(judged: JudgedTable, odds: Doubles) -> Doubles:
    """The chance that each answer is wrong, by other answers and the groups of their records.

    Of a pair said to differ these are the groups that it holds apart; of one said to be the same
    those that are found without answers. ``odds`` are by what was learned from other answers.
    """
    known, rate = judged.known, max(judged.matching.error_rate, _LEAST_RATE)
    if not len(known.same):
        return np.zeros(0)
    free = judged.doubting(np.ones(len(known.same)))
    by_groups = np.where(
        known.same > 0.5,
        _mean_of_others(free.groups(), judged, known.pairs),
        _mean_of_others(judged.groups(), judged, known.pairs),
    )
    return chance_wrong(odds + _BY_GROUPS * by_groups, known.same, rate)


def _mean_of_others(labels: Ints, judged: JudgedTable, asked: Ints) -> Doubles:
    """For each asked pair the mean score of those between its groups that were not asked about."""
    found, place = np.unique(keys_of(labels[asked]), return_inverse=True)
    keys = keys_of(labels[judged.pairs])
    there = judged.open & np.isin(keys, found)
    at = np.searchsorted(found, keys[there])
    sums = np.bincount(at, judged.scores[there].clip(-_MOST, _MOST), len(found))
    return np.asarray((sums / (np.bincount(at, minlength=len(found)) + _OF_NOTHING))[place.ravel()])


def judge_table(matching: Matching, work: Work, known: Answered) -> JudgedTable:
    """Judge the candidates of a table by what was learned elsewhere, and keep all answers."""
    return JudgedTable(matching, work, known, np.zeros(len(known.same)))


# Which pairs to ask about: matches if none is known, then doubtful pairs, and checks.


# Doubtful pairs to choose from, for each that is asked, so that they differ.
_CHOICE = 6
# Share of doubtful questions that are about groups that may be one.
_ABOUT_GROUPS = 1 / 3
# After so many answers of one kind alone others are asked for.
_ENOUGH_OF_ONE = 10


def doubtful_first(pairs: Ints, chance: Doubles, labels: Ints) -> Ints:
    """Order pairs by how much an answer is expected to change the groups, most first.

    The answer that goes against the groups has a chance, and moves a number of pairs: all between
    two groups that would become one; or those of a record with the rest of its group, which would
    fall apart.
    """
    size = np.bincount(labels)
    a, b = labels[pairs].T
    changed = np.where(a == b, (1 - chance) * (size[a] - 1), chance * size[a] * size[b])
    return np.asarray(np.argsort(-changed, kind="stable"))


def choose_questions(judged: JudgedTable, n: int, rng: np.random.RandomState) -> Ints:
    """Choose the next candidates to ask about, n of them or all that are left.

    Some are checks (:func:`list_checks`), by which it is said how good groups are. The others are
    to find the border between matches and others; after ten answers "different" and no other they
    are those that share most letters.
    """
    same = judged.known.same
    free = judged.open.copy()
    checks = _next_checks(judged, int(np.floor(n * _CHECKS + rng.uniform())))
    free[checks] = False
    at = np.flatnonzero(free)
    if not (same > 0.5).any() and (same < 0.5).sum() >= _ENOUGH_OF_ONE:
        overlap = judged.work.candidates.overlap[at]
        best = at[np.argsort(-overlap, kind="stable")][: _CHOICE * n]
    else:
        best = _near_border(judged, at, n - len(checks), rng)
    chosen = _of_different_records(judged.pairs, best, n - len(checks))
    asked = np.concatenate([chosen, checks])
    if len(asked) < n:
        asked = np.concatenate([asked, np.setdiff1d(np.flatnonzero(judged.open), asked)])[:n]
    return np.asarray(asked, dtype=np.int64)


def _near_border(judged: JudgedTable, at: Ints, n: int, rng: np.random.RandomState) -> Ints:
    """Order candidates by what an answer tells of the border between matches and others.

    As long as all that is said to be the same scores higher than all that is not, the border may
    be anywhere between the two: questions are spread evenly over that gap. Afterwards it is where
    scores are 0; of single tables some of the questions are about groups that may be one.
    """
    if not len(at) or not n:
        return at
    scores, (found, same) = judged.scores, judged.known.among(judged.pairs)
    known = scores[found]
    low = known[same > 0.5].min(initial=scores[at].max())
    high = known[same < 0.5].max() if (same < 0.5).any() else np.median(scores[at])
    gap = np.linspace(low, high, n + 2)[1:-1] if low > high else np.zeros(1)
    count = min(_CHOICE * n // len(gap) + 1, len(at))
    near = [rng.permutation(np.argpartition(np.abs(scores[at] - place), count - 1)[:count])
            for place in gap]  # fmt: skip
    # The first of each place, then the second of each: those of several places once.
    order = np.column_stack(near).ravel()
    order = at[order[np.sort(np.unique(order, return_index=True)[1])]]
    if low > high or judged.work.side is not None:
        return np.asarray(order)
    labels = judged.likely_groups
    across = at[labels[judged.pairs[at, 0]] != labels[judged.pairs[at, 1]]]
    chance = expit(mean_between(labels, judged.pairs, scores)[across])
    across = across[doubtful_first(judged.pairs[across], chance, labels)]
    _, first = np.unique(keys_of(np.sort(labels[judged.pairs[across]])), return_index=True)
    merging = across[np.sort(first)][: round(_ABOUT_GROUPS * n)]
    return np.concatenate([merging, order[~np.isin(order, merging)]])


def _next_checks(judged: JudgedTable, n: int) -> Ints:
    """The next checks, of each part as many as it is to have."""
    left = [listed[judged.open[listed]].tolist()[::-1] for listed in judged.checks]
    done = np.array([(~judged.open[listed]).sum() for listed in judged.checks], dtype=float)
    found: list[int] = []
    while len(found) < n and any(left):
        wanted = (done + 1) / _CHECKED
        wanted[[not one for one in left]] = np.inf
        part = int(np.argmin(wanted))
        found.append(left[part].pop())
        done[part] += 1
    return np.array(found, dtype=np.int64)


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
