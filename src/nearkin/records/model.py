"""Chances that pairs are the same: log-odds by column, without answers and with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from nearkin._types import Doubles, Ints, Mask
from nearkin.messages import enter_step
from nearkin.pairs.closure import Conflict, draw_links, keys_of
from nearkin.pairs.pairs import Pairs
from nearkin.records.blocking import (
    Candidates,
    add_pairs,
    candidates_of,
    join_links,
    pairs_within_groups,
)
from nearkin.records.comparisons import (
    MISSING,
    Comparisons,
    Prepared,
    Table32,
    compare_pairs,
    n_similarities,
    prepare_columns,
)
from nearkin.rows.parallel import split_range
from nearkin.storage.arrays import StorageError
from nearkin.storage.schema import a as an
from nearkin.storage.schema import chance, floats, list_of, real, stored, text
from nearkin.tables.choice import SOURCE
from nearkin.tables.reading import Column

# What comparisons say without any answer: how columns of likely matches agree, and of any two
# records.

# Where levels of similarity end; the last level is that of equal values.
_EDGES = np.array([0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.88, 0.95, 0.9999])
N_LEVELS = len(_EDGES) + 1
# How matches agree, before any is seen, and for how many of them that counts.
_USUAL = np.array([1, 1, 1, 1, 1, 1, 2, 3, 4, 5, 20]) / 40
_IMAGINED = 2.0
# Columns depend on one another: they are believed in part only, but for the one that says most
# where both records have no more than two.
_BELIEVED, _FEW_COLUMNS = 0.7, 2
# Random pairs, which show how columns agree by chance.
_RANDOM = 30_000
_ROUNDS, _SETTLED = 50, 1e-3
# A column of few values that equal less than half as often among likely matches as by chance names
# where records are from; so many matches are needed to see it.
_LESS_OFTEN, _SOME_MATCHES, _FEW_VALUES = 0.5, 10.0, 0.02


@stored(same=floats("c l"), by_chance=floats("c l"), prior=real, set_aside=list_of(text))
@dataclass(frozen=True)
class Agreement:
    """How often each of c columns agrees at each of 11 levels."""

    same: Doubles  # shares among matches, of shape (c, 11)
    by_chance: Doubles  # and among any two records
    prior: float  # log-odds of any two records to be the same
    # Columns that say where records are from, and nothing of what they are.
    set_aside: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        if self.same.shape != self.by_chance.shape or self.same.shape[1:] != (N_LEVELS,):
            raise StorageError(f"columns agree at {N_LEVELS} levels each.")

    def log_odds(self, plan: Comparisons, compared: Table32) -> Doubles:
        """What each column says of each pair: an array of shape (k, c)."""
        out = np.zeros((len(compared), len(plan.columns)))
        weights = np.maximum.accumulate(np.log(self.same / self.by_chance), axis=1)
        log_n = np.log(max(plan.n_records, 2))
        alike = agreements(plan, compared)
        for c, column in enumerate(plan.columns):
            if column.name in self.set_aside:
                continue
            level = levels_of(alike[:, c])
            # A value that both have says more the rarer it is.
            rarity = compared[:, plan.places[c].stop - 2] * log_n
            equal = np.log(self.same[c, -1]) + np.where(
                rarity > 0, rarity, -np.log(self.by_chance[c, -1])
            )
            # The last place is for missing cells, whose level is −1.
            said = np.append(weights[c], 0.0)[level]
            out[:, c] = np.where(level == N_LEVELS - 1, equal, said)
        few = np.flatnonzero((alike != MISSING).sum(axis=1) <= _FEW_COLUMNS)
        out[few, out[few].argmax(axis=1)] /= _BELIEVED
        return _BELIEVED * out


def agreements(plan: Comparisons, compared: Table32) -> Table32:
    """The mean similarity of each column of each pair, −1 where a cell is missing."""
    out = np.empty((len(compared), len(plan.columns)), dtype=np.float32)
    for c, (column, place) in enumerate(zip(plan.columns, plan.places, strict=True)):
        out[:, c] = compared[:, place.start : place.start + n_similarities(column)].mean(axis=1)
    return out


def levels_of(alike: Table32) -> NDArray[np.int64]:
    """To which level a column of pairs agrees; −1 where a cell is missing."""
    return np.where(alike == MISSING, -1, np.searchsorted(_EDGES, alike, side="right"))


def find_agreement(
    plan: Comparisons, compared: Table32, at_random: Table32, share: float, n_pairs: float
) -> Agreement:
    r"""Tell matches from others by how columns agree (I. P. Fellegi and A. B. Sunter, 1969).

    How two records agree by chance is counted from random pairs, so that the search for matches
    among candidates, by expectation and maximisation, cannot take another kind of pairs for
    them. Nothing is supposed of how many matches there are. ``compared`` is this ``share`` of all
    candidates, and there are ``n_pairs`` pairs of records.
    """
    by_chance = _level_shares(agreements(plan, at_random), np.ones(len(at_random)), 1 / N_LEVELS)
    few = {c.name for c, often in zip(plan.columns, by_chance[:, -1], strict=True)
           if often > _FEW_VALUES}  # fmt: skip
    named = [name for name in few if SOURCE.fullmatch(name)]
    named = named if len(named) < len(plan.columns) else []
    found = _climb(plan, compared, by_chance, share, n_pairs, named)
    aside = sorted({*named, *(name for name in _sources(plan, compared, found) if name in few)})
    if len(named) < len(aside) < len(plan.columns):
        found = _climb(plan, compared, by_chance, share, n_pairs, aside)
    return found


def _climb(
    plan: Comparisons, compared: Table32, by_chance: Doubles, share: float, n_pairs: float,
    aside: list[str],
) -> Agreement:  # fmt: skip
    alike = agreements(plan, compared)
    usual = np.tile(_USUAL, (len(plan.columns), 1))
    found = Agreement(usual, by_chance, -np.log(max(n_pairs, 2)) / 2, aside)
    for _ in range(_ROUNDS):
        likely = expit(found.prior + found.log_odds(plan, compared).sum(axis=1))
        matches = min(max(likely.sum() / max(share, 1e-9), 0.5), n_pairs / 2)
        prior = float(np.log(matches / max(n_pairs - matches, 0.5)))
        before = found.same
        found = replace(found, same=_level_shares(alike, likely, _USUAL), prior=prior)
        if np.abs(np.log(found.same / before)).max(initial=0) < _SETTLED:
            break
    return found


def _level_shares(alike: Table32, weight: Doubles, usual: Doubles | float) -> Doubles:
    """How often each level is met in each column."""
    out = np.empty((alike.shape[1], N_LEVELS))
    for c, values in enumerate(alike.T):
        level = levels_of(values)
        there = level >= 0
        out[c] = np.bincount(level[there], weight[there], N_LEVELS) + _IMAGINED * usual
    return np.asarray(out / out.sum(axis=1, keepdims=True))


def _sources(plan: Comparisons, compared: Table32, found: Agreement) -> list[str]:
    """Columns of few values that likely matches seldom share, though two records often do."""
    alike = agreements(plan, compared)
    odds = found.log_odds(plan, compared)
    aside = []
    for c, column in enumerate(plan.columns):
        likely = expit(found.prior + odds.sum(axis=1) - odds[:, c]) * (alike[:, c] != MISSING)
        often = float(likely @ (levels_of(alike[:, c]) == N_LEVELS - 1)) / max(likely.sum(), 1e-9)
        if likely.sum() > _SOME_MATCHES and often < _LESS_OFTEN * found.by_chance[c, -1]:
            aside.append(column.name)
    return aside


# What answers make of it: further log-odds by column, which are the larger the more both agree.


# How likely weights are before any answer: of features, and of what is known without answers.
_SPREAD, _TRUST_SPREAD, _OFFSET_SPREAD = 1.8, 0.3, 3.0
# Where answers may have been drawn by what they are: candidates that stand for all; by how much
# shares of answers count less, from what share of matches among candidates on they count in full.
_STANDING, _COUNT_LESS, _FREQUENT = 3000, 0.5, 0.1
# Wrong answers that are imagined, and right ones.
_WRONG, _RIGHT = 1.0, 60.0
_MOST_WRONG, _ERROR_ROUNDS = 0.3, 3
_MOST_ANSWERS = 20_000
LIMIT = 30.0
_FOLDS = 5


def count_features(n_parts: int) -> int:
    """Of a column with so many parts, the last two of which are its rarity and what is missing."""
    return n_parts + 1


def column_features(part: Table32, alike: Table32) -> Table32:
    """Features of one column: similarities, equality, rarity, and missing cells.

    All but the last only ever speak for a match.
    """
    gone = alike == MISSING
    similar = np.where(gone[:, None], 0, part[:, :-2])
    equal = alike >= _EDGES[-1]
    return np.column_stack([similar, equal, part[:, -2], gone]).astype(np.float32)


@stored(
    agreement=an("Agreement"),
    weights=floats("f"),
    trust=real,
    offset=real,
    error_rate=chance,
)
@dataclass(frozen=True)
class Matching:
    """What comparisons say of a pair: a sum of log-odds by column."""

    agreement: Agreement  # what is known without answers
    weights: Doubles  # of the features of all columns
    trust: float = 1.0  # by how much the agreement counts
    offset: float = 0.0
    error_rate: float = 0.0  # share of answers that are wrong

    @property
    def base(self) -> float:
        """Log-odds before any column is looked at."""
        return self.trust * self.agreement.prior + self.offset

    def contributions(self, plan: Comparisons, compared: Table32) -> Doubles:
        """What each column adds to the log-odds of each pair: an array of shape (k, c)."""
        said = self.trust * self.agreement.log_odds(plan, compared)
        start = 0
        alike = agreements(plan, compared)
        for c, (column, place) in enumerate(zip(plan.columns, plan.places, strict=True)):
            end = start + count_features(len(column.parts))
            if self.weights[start:end].any():
                features = column_features(compared[:, place], alike[:, c])
                said[:, c] += features @ self.weights[start:end]
            start = end
        return np.asarray(said)

    def scores(self, plan: Comparisons, compared: Table32) -> Doubles:
        """Log-odds of each pair to be the same."""
        total = self.base + self.contributions(plan, compared).sum(axis=1)
        return np.asarray(total.clip(-LIMIT, LIMIT))

    def importances(self, plan: Comparisons, compared: Table32) -> dict[str, float]:
        """How much what each column says differs from pair to pair, the most first."""
        spread = self.contributions(plan, compared).std(axis=0) if len(compared) else np.zeros(0)
        if not spread.any():
            spread = np.ones(len(plan.columns))
        spread = spread / spread.sum()
        order = np.argsort(-spread, kind="stable")
        return {plan.columns[c].name: float(spread[c]) for c in order}


def without_answers(plan: Comparisons, agreement: Agreement) -> Matching:
    """What is known before any answer."""
    n = sum(count_features(len(column.parts)) for column in plan.columns)
    return Matching(agreement, np.zeros(n))


class Lesson(NamedTuple):
    """What is learned from: features, log-odds before answers, targets and their weights.

    Candidates that stand for all have a share of these; its sum is how far answers are taken to
    have been drawn by what they are.
    """

    features: Doubles
    before: Doubles
    target: Doubles
    weight: Doubles
    is_answer: Mask
    share: Doubles

    def take(self, rows: Ints) -> Lesson:
        """Some of its rows."""
        return Lesson._make(values[rows] for values in self)


def learn_matching(
    plan: Comparisons,
    agreement: Agreement,
    compared: Table32,
    at_random: Table32,
    answered: Table32,
    same: Doubles,
    seed: int = 0,
    *,
    by_kind: bool = False,
) -> tuple[Matching, Doubles]:
    """Learn from answers, beside what is known without them.

    ``compared`` are candidates, or a sample of them; ``at_random`` are random pairs, which differ
    and are learned from where "same" is said more often; ``same`` is the share of answers to each
    answered pair that say so; ``by_kind`` tells whether answers may have been drawn by what they
    are, so that their shares say nothing. Also returned are log-odds of the answered pairs by what
    was learned from the others.
    """
    known = without_answers(plan, agreement)
    if not len(same):
        return known, np.zeros(0)
    rng = np.random.RandomState(seed)
    kept = rng.permutation(len(same))[:_MOST_ANSWERS]
    more, stands_for = _spread_sample(
        known.scores(plan, compared), _STANDING if by_kind else 0, rng
    )
    rows = np.concatenate([answered[kept], at_random, compared[more]])
    n, share = len(kept), float(same.mean())
    weight = np.zeros(len(rows))
    weight[:n] = 1
    weight[n : n + len(at_random)] = max(2 * share - 1, 0) * n / max(len(at_random), 1)
    lesson = Lesson(
        _features(plan, rows, agreement),
        known.scores(plan, rows),
        np.append(same[kept], np.zeros(len(rows) - n)),
        weight,
        np.arange(len(rows)) < n,
        np.append(np.zeros(len(rows) - len(more)), stands_for),
    )
    # All but missing cells may only speak for a match.
    rising = np.concatenate(
        [np.arange(count_features(len(c.parts)), 0, -1) > 1 for c in plan.columns]
    )
    found, error = _fit(lesson._replace(share=0 * lesson.share), rising)
    if len(more):
        likely = expit(_predict(found, lesson.features, lesson.before))
        less = _COUNT_LESS * max(1 - float(lesson.share @ likely) / _FREQUENT, 0.0)
        lesson = lesson._replace(share=(less if same.any() else 1.0) * lesson.share)
        found, error = _fit(lesson, rising)
    held_out = np.zeros(len(same))
    fold = rng.permutation(n) % max(min(_FOLDS, n), 1)
    for number in range(fold.max() + 1 if len(same) <= _MOST_ANSWERS else 0):
        out = np.flatnonzero(fold == number)
        rest = np.setdiff1d(np.arange(len(rows)), out)
        part = _climb_with_rate(lesson.take(rest), rising, error, found)
        held_out[kept[out]] = _predict(part, lesson.features[out], lesson.before[out])
    return Matching(agreement, found[:-2], float(found[-2]), float(found[-1]), error), held_out


def _spread_sample(before: Doubles, count: int, rng: np.random.RandomState) -> tuple[Ints, Doubles]:
    """Some candidates, as many likely the same as likely different and in between; their shares."""
    if not len(before) or not count:
        return np.zeros(0, dtype=np.int64), np.zeros(0)
    bins = np.digitize(before, np.arange(-12, 13))
    drawn = 1 / np.bincount(bins, minlength=26)[bins]
    some = rng.choice(len(before), min(count, len(before)), p=drawn / drawn.sum())
    share = 1 / drawn[some]
    return some, share / share.sum()


def _features(plan: Comparisons, compared: Table32, agreement: Agreement) -> Doubles:
    alike = agreements(plan, compared)
    parts = [column_features(compared[:, p], alike[:, c]) for c, p in enumerate(plan.places)]
    for c, column in enumerate(plan.columns):
        if column.name in agreement.set_aside:
            parts[c][:] = 0
    return np.column_stack(parts).astype(np.float64)


def _predict(found: Doubles, features: Doubles, before: Doubles) -> Doubles:
    return np.asarray(features @ found[:-2] + found[-2] * before + found[-1])


def _fit(lesson: Lesson, rising: Mask) -> tuple[Doubles, float]:
    """Weights, trust and offset; and the rate of wrong answers, if it is not given."""
    rate, answers = _WRONG / (_WRONG + _RIGHT), lesson.take(np.flatnonzero(lesson.is_answer))
    found = np.append(np.zeros(lesson.features.shape[1]), [1.0, 0.0])
    # Where no answer is taken to be wrong, there is one best; from there others are looked for.
    found = _climb_with_rate(lesson, rising, 0.0, found)
    for _ in range(_ERROR_ROUNDS):
        found = _climb_with_rate(lesson, rising, rate, found)
        odds = _predict(found, answers.features, answers.before)
        wrong = chance_wrong(odds, answers.target, rate)
        before, rate = rate, (wrong.sum() + _WRONG) / (len(wrong) + _WRONG + _RIGHT)
        rate = float(min(rate, _MOST_WRONG))
        if abs(rate - before) < 1e-3:
            break
    return found, rate


def chance_wrong(odds: Doubles, same: Doubles, rate: float) -> Doubles:
    """The chance that answers are wrong, by the log-odds of their pairs and the rate of errors."""
    likely = expit(np.where(same > 0.5, odds, -odds))
    return np.asarray(rate * (1 - likely) / (rate * (1 - likely) + (1 - rate) * likely))


def _climb_with_rate(lesson: Lesson, rising: Mask, rate: float, start: Doubles) -> Doubles:
    """Logistic regression with answers of which some are wrong, and weights that are not negative.

    The objective is the sum of minus log p, where an answer is "same" with the chance
    r + (1 − 2r) σ(z); of random pairs r is 0. Around it are normal distributions of weights,
    trust and offset. Where answers were drawn by what they are, the
    chance of each is divided by that of such an answer to any candidate, as in case-control
    studies, so that it does not matter how many there are of each kind.
    """
    design = np.column_stack([lesson.features, lesson.before, np.ones(len(lesson.before))])
    target, weight = lesson.target, lesson.weight
    rates = np.where(lesson.is_answer, rate, 0.0)
    centre = np.append(np.zeros(len(rising)), [1.0, 0.0])
    spread = np.append(np.full(len(rising), _SPREAD), [_TRUST_SPREAD, _OFFSET_SPREAD])
    stands, by_kind = np.flatnonzero(lesson.share), float(lesson.share.sum())
    share = lesson.share[stands] / max(by_kind, 1e-12)
    n_same, n_different = (
        by_kind * float((weight * lesson.is_answer) @ said) for said in (target, 1 - target)
    )

    def objective(at: Doubles) -> tuple[float, Doubles]:
        odds = design @ at
        one = expit(odds)
        same = (rates + (1 - 2 * rates) * one).clip(1e-12, 1 - 1e-12)
        value = -weight @ (target * np.log(same) + (1 - target) * np.log(1 - same))
        slope = -weight * (target / same - (1 - target) / (1 - same))
        slope *= (1 - 2 * rates) * one * (1 - one)
        if len(stands):
            likely = one[stands]
            of_all = np.clip(rate + (1 - 2 * rate) * (share @ likely), 1e-12, 1 - 1e-12)
            value += n_same * np.log(of_all) + n_different * np.log(1 - of_all)
            steep = (1 - 2 * rate) * share * likely * (1 - likely)
            slope[stands] += (n_same / of_all - n_different / (1 - of_all)) * steep
        away = (at - centre) / spread
        return float(value + away @ away / 2), design.T @ slope + away / spread

    bounds = [(0.0, None) if up else (None, None) for up in (*rising, True, False)]
    done = minimize(
        objective, start, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 100}
    )
    return np.asarray(done.x)


# A table with its candidates, and what a model says of them, in blocks.


_PAIRS_OF_A_BLOCK = 1 << 17
# Candidates that are learned from; and above how many those that share little are not compared.
_SAMPLE = 100_000
_MANY = 1_000_000
# Candidates whose comparisons are kept.
_KEPT = 200_000
# The score of those, and from which on a pair is worth comparing.
_SETTLED_SCORE, _WORTH = -20.0, -3.0
# Share of the least overlap of a pair worth comparing, below which others are not.
_MARGIN = 0.8
# Others of its likely group that each record is compared with, in small tables and in large ones.
_WITHIN_FEW, _WITHIN_MANY, _FEW_RECORDS = 40, 10, 20_000


@dataclass(frozen=True)
class Work:
    """A table and its candidates, ready to be compared."""

    plan: Comparisons
    columns: list[Column]
    candidates: Candidates
    table: list[Prepared]
    side: Mask | None  # which of two tables each record is from
    # Of each candidate the score without answers, and whether it was found without any.
    before: Doubles = field(default_factory=lambda: np.zeros(0))
    is_early: Mask = field(default_factory=lambda: np.zeros(0, dtype=bool))

    @cached_property
    def copies(self) -> Ints:
        """Records that are equal to another, with the first such one before them."""
        return find_copies(self.table)

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


@dataclass(frozen=True)
class Answered:
    """Pairs whose answer is known, each once."""

    pairs: Ints
    same: Doubles  # the share of answers that say so: 0 or 1, but for contradictions

    def among(self, pairs: Ints) -> tuple[Mask, Doubles]:
        """Which of some pairs are answered, and how."""
        if not len(self.pairs):
            return np.zeros(len(pairs), dtype=bool), np.zeros(0)
        keys, wanted = keys_of(self.pairs), keys_of(pairs)
        order = np.argsort(keys)
        place = order[np.searchsorted(keys, wanted, sorter=order).clip(max=len(keys) - 1)]
        found = keys[place] == wanted
        return found, self.same[place[found]]

    def contradictions(self) -> list[tuple[int, ...]]:
        """Chains of rows that are the same by answers, and whose ends differ by another."""
        must, cannot = self.pairs[self.same >= 0.5], self.pairs[self.same <= 0.5]
        found = Pairs(must, cannot).conflicts()
        return [tuple(map(int, one.chain)) for one in found if isinstance(one, Conflict)]


def collect_answers(must_link: Ints, cannot_link: Ints) -> Answered:
    """Answers as a share for each pair."""
    pairs = np.concatenate([must_link, cannot_link]).astype(np.int64).reshape(-1, 2)
    said = np.repeat([1.0, 0.0], [len(must_link), len(cannot_link)])
    _, first, which = np.unique(keys_of(pairs), return_index=True, return_inverse=True)
    which = which.ravel()
    return Answered(pairs[first], np.bincount(which, said) / np.bincount(which))


def find_copies(table: Sequence[Prepared]) -> Ints:
    """Pairs of a first record and another that is equal to it, as far as both say enough."""
    codes = np.column_stack([column.codes for column in table])
    keys = np.unique(codes, axis=0, return_inverse=True)[1]
    return list_copies(keys.ravel(), (codes > 0).sum(axis=1))


def list_copies(keys: NDArray[Any], filled: Ints) -> Ints:
    """The same by a key of each record, and how many cells it has: half the median at least."""
    _, first, which = np.unique(keys, return_index=True, return_inverse=True)
    first = first[which.ravel()]
    enough = filled >= max(np.median(filled) / 2, 1) if len(filled) else filled > 0
    others = np.flatnonzero((first != np.arange(len(keys))) & enough)
    return np.column_stack([first[others], others]).astype(np.int64)


def make_work(
    plan: Comparisons, columns: Sequence[Column], n_best: int, side: Mask | None, seed: int
) -> Work:
    """Find the candidates of a table, and prepare it."""
    names = {column.name for column in plan.columns}
    used = [column for column in columns if column.name in names]
    enter_step("looking for records that may be the same")
    found = candidates_of(used, n_best, side=side, seed=seed)
    return Work(plan, list(columns), found, prepare_columns(plan, used), side)


def study_table(work: Work, seed: int, agreement: Agreement | None = None) -> tuple[Work, Matching]:
    """Learn how columns agree without answers, and look for what the likely groups lead to."""
    enter_step(f"comparing {len(work.candidates):,} pairs of records")
    if agreement is None:
        agreement = _agreement_of(work, seed)
    matching = without_answers(work.plan, agreement)
    work = replace(work, before=scores_of(matching, work))
    work = expand(work, matching, work.before, seed)
    early = np.ones(len(work.candidates), dtype=bool)
    return replace(work, is_early=early), matching


def compare_at_random(work: Work, rng: np.random.RandomState, count: int) -> Table32:
    """Comparisons of random pairs of records."""
    links = draw_links(work.candidates.n_records, rng, count)
    if work.side is not None:
        links = links[work.side[links[:, 0]] != work.side[links[:, 1]]]
    return work.compare(np.sort(links, axis=1))


def _agreement_of(work: Work, seed: int) -> Agreement:
    rng = np.random.RandomState(seed)
    n, side = work.candidates.n_records, work.side
    chosen = draw_some(len(work.candidates), rng)
    n_pairs = n * (n - 1) / 2
    if side is not None:
        n_pairs = float(side.sum()) * float((~side).sum())
    at_random = compare_at_random(work, rng, _RANDOM)
    share = len(chosen) / max(len(work.candidates), 1)
    return find_agreement(work.plan, work.compared(chosen), at_random, share, n_pairs)


def draw_some(n: int, rng: np.random.RandomState) -> Ints:
    """Numbers of candidates that are learned from."""
    return np.arange(n) if n <= _SAMPLE else np.sort(rng.permutation(n)[:_SAMPLE])


def expand(work: Work, matching: Matching, scores: Doubles, seed: int) -> Work:
    """Further candidates: pairs within the groups that likely matches make.

    Linked tables are left as they are: of two tables few records are the same.
    """
    n, pairs = work.candidates.n_records, work.candidates.pairs
    if work.side is not None or not len(pairs):
        return work
    rng = np.random.RandomState(seed)
    most = _WITHIN_FEW if n <= _FEW_RECORDS else _WITHIN_MANY
    found = add_pairs(
        work.candidates, pairs_within_groups(join_links(n, pairs[scores > 0]), most, rng)
    )
    if len(found) == len(pairs):
        return work
    old = np.isin(keys_of(found.pairs), keys_of(pairs), assume_unique=True)
    grown = replace(work, candidates=found)
    before = np.empty(len(found))
    before[old] = work.before
    known = without_answers(work.plan, matching.agreement)
    before[~old] = grown.scored(known, np.flatnonzero(~old))
    early = np.zeros(len(found), dtype=bool)
    early[old] = work.is_early if len(work.is_early) else True
    return replace(grown, before=before, is_early=early)


def score_pairs(
    matching: Matching, plan: Comparisons, compared: Callable[[Ints], Table32], chosen: Ints
) -> Doubles:
    """The score of each of some pairs, which are compared block by block."""
    out = np.empty(len(chosen))
    for part in split_range(len(chosen), _PAIRS_OF_A_BLOCK):
        enter_step(f"comparing {len(chosen):,} pairs of records", part.start / len(chosen))
        out[part] = matching.scores(plan, compared(chosen[part]))
    return out


def scores_of(matching: Matching, work: Work) -> Doubles:
    """The score of each candidate; where there are many, only of those that share enough.

    Those that share a rare value share enough, and so do those of likely groups.
    """
    found = work.candidates
    n, overlap, by_view = len(found), found.overlap, (found.views > 0) | (found.met == 0)
    out = np.full(n, _SETTLED_SCORE)
    chosen = np.arange(n)
    if n > _MANY:
        some = np.random.RandomState(0).permutation(n)[:_SAMPLE]
        some = some[~by_view[some]]
        likely = overlap[some][matching.scores(work.plan, work.compared(some)) > _WORTH]
        chosen = np.flatnonzero(by_view | (overlap >= _MARGIN * likely.min(initial=1.0)))
    out[chosen] = work.scored(matching, chosen)
    return out


# Fewer answers of a kind show nothing; and how often, at least, a pair that is "same" by answers
# looks more alike than one that is not. On tables to tune on: .58 and more by right answers.
_SEVERAL, _LEAST_ORDERED = 3, 0.3


def look_reversed(before: Doubles, same: Doubles) -> bool:
    """Whether answers say the opposite of what pairs look like without any."""
    alike, other = before[same > 0.5], np.sort(before[same < 0.5])
    if min(len(alike), len(other)) < _SEVERAL:
        return False
    lower = (np.searchsorted(other, alike, side) for side in ("left", "right"))
    return bool(np.mean([*lower]) / len(other) < _LEAST_ORDERED)
