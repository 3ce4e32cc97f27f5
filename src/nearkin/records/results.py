"""What a matcher gives: groups of records, links between tables, and a report. Print them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nearkin._types import Doubles, Ints
from nearkin.errors import counted
from nearkin.pairs.answers import CONFIDENCE, Estimate
from nearkin.storage.schema import a as an
from nearkin.storage.schema import dict_of, real, stored, whole

_TERMS = f"Intervals hold the true figure in {CONFIDENCE:.0%} of cases."


@dataclass(frozen=True)
class Duplicates:
    """Records that are the same thing.

    Attributes
    ----------
    labels : int ndarray of shape (n,)
        The thing that each record is of, numbered in the order of first records.
    chance : ndarray of shape (n,)
        Of each record to be the same as others of its group, in the mean over the candidates among
        them; 1 if there are none.
    precision, recall : Estimate
        Of the pairs within groups: how many are right, and how many of those that are the same are
        there.
    """

    labels: Ints
    chance: Doubles
    precision: Estimate
    recall: Estimate

    @property
    def groups(self) -> list[Ints]:
        """The records of each thing that has several."""
        order = np.argsort(self.labels, kind="stable")
        cuts = np.flatnonzero(np.diff(self.labels[order])) + 1
        return [group for group in np.split(order, cuts) if len(group) > 1]

    def __str__(self) -> str:
        n_groups = len(self.groups)
        return "\n".join(
            [
                f"{counted(len(self.labels), 'record')} of "
                f"{counted(int(self.labels.max(initial=-1)) + 1, 'thing')}, "
                f"{n_groups} of which have several",
                f"precision  {self.precision}",
                f"recall     {self.recall}",
                _TERMS,
            ]
        )


@dataclass(frozen=True)
class Links:
    """Records of two tables that are the same thing.

    Attributes
    ----------
    pairs : int ndarray of shape (k, 2)
        A row of the left and one of the right table.
    chance : ndarray of shape (k,)
        Of each to be the same.
    precision, recall : Estimate
    """

    pairs: Ints
    chance: Doubles
    precision: Estimate
    recall: Estimate

    def __len__(self) -> int:
        return len(self.pairs)

    def __str__(self) -> str:
        return "\n".join(
            [
                counted(len(self.pairs), "link"),
                f"precision  {self.precision}",
                f"recall     {self.recall}",
                _TERMS,
            ]
        )


@stored(
    n_records=whole,
    n_candidates=whole,
    n_same=whole,
    n_different=whole,
    prevalence=real,
    candidate_recall=an("Estimate"),
    precision=an("Estimate"),
    recall=an("Estimate"),
    importances=dict_of(real),
)
@dataclass(frozen=True)
class MatchReport:
    """How a matcher sees the table that it was fitted on.

    Attributes
    ----------
    n_records, n_candidates : int
        Records, and pairs of them that may be the same.
    n_same, n_different : int
        Answered pairs.
    prevalence : float
        Share of candidates that are the same.
    candidate_recall : Estimate
        Share of the pairs that are the same which are among the candidates.
    precision, recall : Estimate
        Of the pairs within groups, as :class:`nearkin.RecordMatcher` finds them.
    importances : dict of str to float
        Share of each column in telling same from different, the largest first.
    """

    n_records: int
    n_candidates: int
    n_same: int
    n_different: int
    prevalence: float
    candidate_recall: Estimate
    precision: Estimate
    recall: Estimate
    importances: dict[str, float]

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {value:.2f}" for name, value in self.importances.items())
        per_record = 2 * self.n_candidates / max(self.n_records, 1)
        return "\n".join(
            [
                f"{counted(self.n_records, 'record')}, {counted(self.n_candidates, 'candidate')} "
                f"({per_record:.1f} for each record)",
                f"answers: {self.n_same} same, {self.n_different} different",
                f"share of candidates that are the same: {self.prevalence:.3g}",
                f"recall of candidates  {self.candidate_recall}",
                f"precision             {self.precision}",
                f"recall                {self.recall}",
                f"columns: {shares}",
                _TERMS,
            ]
        )
