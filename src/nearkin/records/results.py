"""What a matcher gives: groups of records, links between tables, and a report. Print them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import narwhals as nw
import numpy as np

from nearkin._types import Doubles, Ints
from nearkin.errors import counted
from nearkin.pairs.answers import CONFIDENCE, IntervalEstimate
from nearkin.records.comparisons import are_columns
from nearkin.rows.validation import to_frame
from nearkin.storage.schema import a as an
from nearkin.storage.schema import dict_of, list_of, many, real, stored, text, whole
from nearkin.tables.reading import read_table, recognise_id_name

_TERMS = f"In brackets: {CONFIDENCE:.0%} intervals, by answers to questions drawn at random."
_UNKNOWN = "not known yet: answer {} questions of suggest"


@dataclass(frozen=True)
class Figure(IntervalEstimate):
    """A figure with its interval, or how many more answers it takes to state one."""

    value: float = 0.5
    low: float = 0.0
    high: float = 1.0
    # 0 if the figure is known; otherwise nothing is, and the interval is all from 0 to 1.
    more: int = 0

    def __str__(self) -> str:
        return _UNKNOWN.format(self.more) if self.more else super().__str__()


stored(value=real, low=real, high=real, more=whole)(Figure)


def describe_figures(precision: Figure, recall: Figure) -> str:
    """Precision and recall with their intervals, or how many answers it takes to know them."""
    figures = {"precision": precision, "recall": recall}
    known = {name: figure for name, figure in figures.items() if not figure.more}
    unknown = " and ".join(name for name in figures if name not in known)
    more = counted(max(precision.more, recall.more), "more answer")
    verb = "is" if known else "are"
    ask = f"{unknown} {verb} not known yet: {more} would tell" if unknown else ""
    told = ", ".join(f"{name} {figure}" for name, figure in known.items())
    said = f"expected: {told} (90 % intervals)" if known else ""
    return "; ".join(part for part in (said, ask) if part)


def _tell(lines: Sequence[str], result: Any, after: Sequence[str] = (), width: int = 10) -> str:
    """Some lines, how precise and complete a result is, further lines, and what figures mean."""
    figures = {"precision": result.precision, "recall": result.recall}
    terms = [] if all(figure.more for figure in figures.values()) else [_TERMS]
    told = [f"{name:{width}} {figure}" for name, figure in figures.items()]
    return "\n".join([*lines, *told, *after, *terms])


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
    precision, recall : Figure
        Of the pairs within groups: how many are right, and how many of those that are the same are
        there.
    """

    labels: Ints
    chance: Doubles
    precision: Figure
    recall: Figure

    @property
    def groups(self) -> list[Ints]:
        """The records of each thing that has several."""
        order = np.argsort(self.labels, kind="stable")
        cuts = np.flatnonzero(np.diff(self.labels[order])) + 1
        return [group for group in np.split(order, cuts) if len(group) > 1]

    def __str__(self) -> str:
        things = counted(int(self.labels.max(initial=-1)) + 1, "thing")
        said = f"{counted(len(self.labels), 'record')} of {things}, {len(self.groups)} of which"
        return _tell([f"{said} have several"], self)


@dataclass(frozen=True)
class Links:
    """Records of two tables that are the same thing.

    Attributes
    ----------
    pairs : int ndarray of shape (k, 2)
        A row of the left and one of the right table.
    chance : ndarray of shape (k,)
        Of each to be the same.
    precision, recall : Figure
    """

    pairs: Ints
    chance: Doubles
    precision: Figure
    recall: Figure

    def __len__(self) -> int:
        return len(self.pairs)

    def __str__(self) -> str:
        return _tell([counted(len(self), "link")], self)


@stored(
    n_records=whole,
    n_candidates=whole,
    n_same=whole,
    n_different=whole,
    prevalence=real,
    candidate_recall=an("Figure"),
    precision=an("Figure"),
    recall=an("Figure"),
    importances=dict_of(real),
    set_aside=list_of(text),
    error_rate=real,
    doubted=list_of(many(whole)),
    contradictions=list_of(many(whole)),
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
    candidate_recall : Figure
        Share of the pairs that are the same which are among the candidates.
    precision, recall : Figure
        Of the pairs within groups, as :class:`nearkin.RecordMatcher` finds them.
    importances : dict of str to float
        Share of each column in telling same from different, the largest first.
    set_aside : list of str
        Columns that say where records are from, which are not learned from.
    error_rate : float
        Share of answers that are wrong, as far as can be told.
    doubted : list of (int, int)
        Answered pairs that all else speaks against, and that groups do not follow; look at these
        again.
    contradictions : list of tuple of int
        Rows of which each is the same as the next by answers, and the first and last differ.
    """

    n_records: int
    n_candidates: int
    n_same: int
    n_different: int
    prevalence: float
    candidate_recall: Figure
    precision: Figure
    recall: Figure
    importances: dict[str, float]
    set_aside: list[str] = field(default_factory=list)
    error_rate: float = 0.0
    doubted: list[Any] = field(default_factory=list)
    contradictions: list[Any] = field(default_factory=list)

    def __str__(self) -> str:
        shares = ", ".join(f"{name} {value:.2f}" for name, value in self.importances.items())
        per_record = 2 * self.n_candidates / max(self.n_records, 1)
        lines = [
            f"{counted(self.n_records, 'record')}, {counted(self.n_candidates, 'candidate')} "
            f"({per_record:.1f} for each record)",
            f"answers: {self.n_same} same, {self.n_different} different",
            f"share of candidates that are the same: {self.prevalence:.3g}",
            f"recall of candidates  {self.candidate_recall}",
        ]
        return _tell(lines, self, [f"columns: {shares}", *self._set_aside()], width=21)

    def _set_aside(self) -> list[str]:
        """What was not learned from, and why."""
        told = []
        if self.set_aside:
            told.append(
                f"set aside, since they seem to name where records are from: "
                f"{', '.join(self.set_aside)}"
            )
        if self.doubted:
            shown = ", ".join(f"{i} and {j}" for i, j in self.doubted[:_MOST_SHOWN])
            told.append(
                f"look again at {counted(len(self.doubted), 'answer')}, which all else speaks "
                f"against and groups do not follow: rows {shown}"
            )
        some = self.contradictions[:_MOST_SHOWN]
        said = (say_contradiction([str(row) for row in rows]) for rows in some)
        return [*told, *(f"contradicting answers: {one}" for one in said)]


def say_contradiction(names: Sequence[str]) -> str:
    """Say how answers about a chain of records contradict each other."""
    if len(names) == 2:
        return f"{names[0]} and {names[1]} are said to be the same and to differ"
    return f"{' = '.join(names)}, and yet the first and the last differ, which is kept"


# Answers that look wrong, in a report.
_MOST_SHOWN = 5


# One record for each thing, with the cells of those that are known of it.


def canonical_rows(table: Any, labels: Ints) -> Any:
    """One record for each thing: of each column the cell that most of its records have.

    Upper case and spaces make no difference. Of cells that are equally frequent, the longest text
    is taken, or else that of the first record, whose id it has, too; a cell is missing if all are.
    ``labels`` are numbered from 0, and all are there.

    Returns
    -------
    data frame, dict of lists or array
        As the table is, with cells as they are there, in the order of the labels. A dict of arrays
        for a list of Column.
    """
    if are_columns(table):
        return {one.name: one.values[_chosen(one.name, one.values, labels)] for one in table}
    rows = [_chosen(cells.name, cells.values, labels) for cells in read_table(table)]
    if isinstance(table, Mapping):
        chosen = zip(table.items(), rows, strict=True)
        return {name: [list(values)[row] for row in places] for (name, values), places in chosen}
    frame = to_frame(table)
    if frame is None:
        return np.asarray(table, dtype=object)[np.column_stack(rows), np.arange(len(rows))]
    columns = {
        name: frame.get_column(name)[places.tolist()]
        for name, places in zip(frame.columns, rows, strict=True)
    }
    found = nw.from_dict(columns, backend=frame.implementation)
    return nw.maybe_reset_index(found).to_native()


def _chosen(name: str, values: Any, labels: Ints) -> Ints:
    """For each thing the record whose cell it has: the first of its most frequent values."""
    rows = np.unique(labels, return_index=True)[1]
    if values.ndim > 1 or recognise_id_name(name):
        return rows
    is_number = values.dtype.kind == "f"
    there = np.flatnonzero(~np.isnan(values) if is_number else [v is not None for v in values])
    different, code = np.unique(values[there], return_inverse=True)
    keys = labels[there].astype(np.int64) * max(len(different), 1) + code.ravel()
    kept, first, often = np.unique(keys, return_index=True, return_counts=True)
    label, value = np.divmod(kept, max(len(different), 1))
    length = np.zeros(len(different)) if is_number else np.array([*map(len, different)], dtype=int)
    # The last of each label is its best.
    order = np.lexsort((-first, length[value], often, label))
    rows[label[order]] = there[first[order]]
    return rows
