"""Records of files that are the same thing: learned from answers, and what is said of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from nearkin.cli.failures import UserError, listed
from nearkin.cli.files.column_choice import Choice
from nearkin.cli.files.inputs import content_of, is_stream
from nearkin.cli.files.output import check_target
from nearkin.cli.files.pairs import read_pairs
from nearkin.cli.files.records import (
    Records,
    beneath,
    columns_to_compare,
    has_records,
    open_records,
)
from nearkin.cli.learning import known_pairs
from nearkin.cli.messages import say
from nearkin.errors import counted
from nearkin.pairs.pairs import Pairs
from nearkin.records.files import is_matcher
from nearkin.records.matcher import RecordMatcher
from nearkin.records.results import Duplicates, Links, MatchReport
from nearkin.tables.columns import Column

_NONE = Path("none")


@dataclass(frozen=True)
class Task:
    """Records to be grouped.

    Attributes
    ----------
    data : Path
    matcher : Path or None
        What was learned before; None if that is to be done.
    """

    data: Path
    matcher: Path | None = None

    @cached_property
    def learned(self) -> RecordMatcher:
        """The matcher of the file."""
        assert self.matcher is not None
        matcher: RecordMatcher = RecordMatcher.load(self.matcher)
        return matcher


def task_of(model: Path, data: Path | None, choice: Choice) -> Task | None:
    """What a command line asks for; None if rows are to be compared by a learned metric.

    The model may be ``none`` or a matcher; or it is left out, and the first name is that of the
    data.
    """
    if data is None:
        if model != _NONE and _is_table(model) and has_records(model, choice):
            return Task(model)
        raise UserError(
            "Missing argument 'DATA'. The model comes first, then the rows: nearkin duplicates "
            "model.nearkin rows.csv\nTables with words need no model: nearkin duplicates people.csv"
        )
    if model == _NONE:
        return Task(data)
    if model.is_file() and not is_stream(model) and is_matcher(model):
        return Task(data, model)
    return None


def _is_table(path: Path) -> bool:
    if not path.exists() and not is_stream(path):
        raise UserError(f"{path}: there is no such file.")
    return is_stream(path) or path.is_dir() or content_of(path) != "model"


def refuse_options(given: Mapping[str, Any], remedy: str) -> None:
    """Raise if one of some options was given, which have no say here."""
    option = next((name for name, value in given.items() if value not in (None, False, [])), None)
    if option is not None:
        raise UserError(f"{option}: {remedy}")


def check_save(path: Path | None, *, force: bool) -> None:
    """Raise if a matcher cannot be written there, before work begins."""
    if path is not None:
        check_target(path, (), force=force)


def kept(matcher: RecordMatcher, path: Path | None) -> None:
    """Keep a matcher, if that is wanted."""
    if path is not None:
        matcher.save(path)
        say(f"matcher: {path}")


def opened(task: Task, choice: Choice) -> Records:
    """The records, with the columns that a matcher compares, if there is one."""
    if task.matcher is None:
        return open_records(task.data, choice)
    compared = [column.name for column in task.learned.comparisons_.columns]
    return open_records(task.data, choice, columns=compared)


def learned_from(
    table: Records, task: Task, choice: Choice, pairs: Path | None, seed: int
) -> tuple[RecordMatcher, list[Column] | None]:
    """What tells which records are the same, and their columns if it was learned from others."""
    if task.matcher is None:
        known = known_pairs(table, pairs, choice.delimiter)
        columns = columns_to_compare(table.cells, choice, table.file)
        return RecordMatcher(random_state=seed).fit(columns, known), None
    if pairs is not None:
        raise UserError(
            f"--pairs: {task.matcher} has learned already. Without it, as in nearkin duplicates "
            f"{task.data} --pairs {pairs}, these are learned from; --known judges by them."
        )
    matcher = task.learned
    return matcher, columns_to_compare(table.cells, choice, table.file, matcher.kinds_)


def linked_records(
    left: Records, right: Records, choice: Choice, pairs: Path | None, seed: int
) -> RecordMatcher:
    """What tells which records of two files are the same."""
    both = [name for name in left.compared if name in right.compared]
    if not both:
        raise UserError(
            f"{left.file} and {right.file} have no column in common to compare: the one has "
            f"{listed(left.compared)}, the other {listed(right.compared)}. Rename columns that "
            "hold the same things alike."
        )
    known = None if pairs is None else _between(left, right, pairs, choice.delimiter)
    for here, there in ((left, right), (right, left)):
        alone = [name for name in here.compared if name not in there.compared]
        if alone:
            say(f"note: not compared, since only {here.file} has them: {listed(alone, 10)}.")
    cells = beneath(left.cells, right.cells, both)
    columns = columns_to_compare(cells, choice, f"{left.file} or {right.file}")
    cut = left.n_rows
    first, second = (
        [Column(c.name, c.kind, c.values[rows]) for c in columns]
        for rows in (slice(None, cut), slice(cut, None))
    )
    return RecordMatcher(random_state=seed).fit_link(first, second, known)


def _between(left: Records, right: Records, path: Path, delimiter: str | None) -> Pairs:
    found = read_pairs(
        path,
        n_rows=left.n_rows,
        ids=left.ids(),
        rows_of=left.file,
        delimiter=delimiter,
        others=(right.n_rows, right.ids(), right.file),
    )
    return found.pairs(left.n_rows + right.n_rows)


def say_found(
    found: Duplicates | Links, report: MatchReport | None, wanted: float | None = None
) -> None:
    """Say what is to be expected of what was found, and whether that can be promised."""
    n_answers = 0 if report is None else report.n_same + report.n_different
    by = f", by {counted(n_answers, 'answer')}" if n_answers else ""
    say(f"expected: precision {found.precision}, recall {found.recall}{by} (90 % intervals)")
    if report is None:
        say("note: this supposes that these records are like those that the matcher learned from.")
        return
    per_record = 2 * report.n_candidates / max(report.n_records, 1)
    say(
        f"candidates: {per_record:.1f} for each record, among them a share of "
        f"{report.candidate_recall} of the pairs that are the same"
    )
    if not n_answers:
        say("note: without answers these figures are a guess; nearkin suggest none --ask asks.")
    elif wanted is not None and found.precision.low < wanted:
        say(f"warning: these answers do not show that {wanted:g} is reached; more may.")
