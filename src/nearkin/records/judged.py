"""A table whose candidates have been judged: groups, links, and what can be said of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from nearkin._types import Doubles, Ints, Mask
from nearkin.pairs.answers import Estimate
from nearkin.records.candidates import missed
from nearkin.records.entities import group_records, mean_between
from nearkin.records.linking import one_to_one
from nearkin.records.matching import Matching
from nearkin.records.results import Duplicates, Links, MatchReport
from nearkin.records.scoring import Answered, AnyWork, scores_of
from nearkin.records.stating import Stated, stated

# What an answer makes of the score of a pair.
_KNOWN = 8.0


@dataclass(frozen=True)
class Judged:
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

    def stated(self, labels: Ints) -> Stated:
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

    def _figures(self, called: Mask, scores: Doubles, weight: Doubles) -> Stated:
        found, same = self.known.among(self.pairs)
        called_known = called[found]
        part = self.open
        factor = float(weight[called].mean()) if called.any() else 1.0
        return stated(
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
    def missed(self) -> Estimate:
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
            candidate_recall=Estimate(**shares),
            precision=figures.precision,
            recall=figures.recall,
            importances=self.matching.importances(self.work.plan),
        )


def _times(estimate: Estimate, factor: float) -> Estimate:
    return Estimate(estimate.value * factor, estimate.low * factor, estimate.high * factor)
