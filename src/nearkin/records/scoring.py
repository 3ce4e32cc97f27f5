"""A table with its candidates, and what a model says of them, in blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np

from nearkin._types import Doubles, Ints, Mask
from nearkin.pairs.closure import keys_of
from nearkin.records.candidates import Candidates, candidates_of
from nearkin.records.comparisons import Comparisons, Prepared, Table32, compare, prepared
from nearkin.records.matching import Matching, learn_matching
from nearkin.rows.parallel import blocks
from nearkin.tables.reading import Column

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
        return compare(self.plan, self.table, pairs)

    def compared(self, chosen: Ints) -> Table32:
        """Comparisons of some candidates."""
        if len(self.candidates) <= _KEPT:
            return self.all_compared[chosen]
        return self.compare(self.candidates.pairs[chosen])

    def scored(self, matching: Matching, chosen: Ints) -> Doubles:
        """Scores of some candidates."""
        return scored(matching, self.plan, self.compared, chosen)


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


def answered(must_link: Ints, cannot_link: Ints) -> Answered:
    """Answers as a share for each pair."""
    pairs = np.concatenate([must_link, cannot_link]).astype(np.int64).reshape(-1, 2)
    said = np.repeat([1.0, 0.0], [len(must_link), len(cannot_link)])
    _, first, which = np.unique(keys_of(pairs), return_index=True, return_inverse=True)
    which = which.ravel()
    return Answered(pairs[first], np.bincount(which, said) / np.bincount(which))


def work_on(
    plan: Comparisons, columns: Sequence[Column], n_best: int, side: Mask | None, seed: int
) -> Work:
    """Find the candidates of a table, and prepare it."""
    names = {column.name for column in plan.columns}
    used = [column for column in columns if column.name in names]
    found = candidates_of(used, n_best, side=side, seed=seed)
    return Work(plan, list(columns), found, prepared(plan, used), side)


def learned(work: AnyWork, answers: Answered, seed: int) -> Matching:
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


def scored(
    matching: Matching, plan: Comparisons, compared: Callable[[Ints], Table32], chosen: Ints
) -> Doubles:
    """The score of each of some pairs, which are compared block by block."""
    out = np.empty(len(chosen))
    for part in blocks(len(chosen), _PAIRS_OF_A_BLOCK):
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
