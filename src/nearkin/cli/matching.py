"""Records of files that are the same thing: learned from answers, and what is said of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nearkin._types import Floats, Ints, Mask
from nearkin.cli.common import UserError, listed, say
from nearkin.cli.files.columns import Choice
from nearkin.cli.files.inputs import content_of, is_stream
from nearkin.cli.files.output import check_target, table_of
from nearkin.cli.files.pairs import read_pairs
from nearkin.cli.files.tables import (
    NamedRows,
    Records,
    columns_as_learned,
    columns_in_common,
    columns_to_compare,
    has_records,
    open_records,
)
from nearkin.cli.judging import verdict_lines
from nearkin.errors import counted
from nearkin.pairs.labels import number_classes
from nearkin.pairs.pairs import Pairs
from nearkin.records.matcher import RecordMatcher, is_matcher
from nearkin.records.results import Duplicates, Links, MatchReport
from nearkin.scores.quality import Quality, estimate_quality
from nearkin.tables.reading import Column

_NONE = Path("none")


@dataclass(frozen=True)
class Task:
    """Records to be grouped.

    Attributes
    ----------
    data : Path
    model : Path or None
        The file of what was learned before; None if that is to be done.
    matcher : RecordMatcher or None
        What is in it.
    """

    data: Path
    model: Path | None = None
    matcher: RecordMatcher | None = None


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
    learned = matcher_in(model)
    return None if learned is None else Task(data, model, learned)


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


def matcher_in(path: Path) -> RecordMatcher | None:
    """The matcher that a file holds, or None if that is something else."""
    if str(path) == "none" or not path.is_file() or is_stream(path) or not is_matcher(path):
        return None
    return RecordMatcher.load(path)


def opened(task: Task, choice: Choice) -> Records:
    """The records, with the columns that a matcher compares, if there is one."""
    if task.matcher is None:
        return open_records(task.data, choice)
    return records_for(task.matcher, task.data, choice)


def records_for(
    matcher: RecordMatcher, path: Path, choice: Choice, role: str = "DATA", least: int = 2
) -> Records:
    """The records of a file, with the columns that a matcher compares."""
    compared = [column.name for column in matcher.comparisons_.columns]
    return open_records(path, choice, columns=compared, role=role, least=least)


def learned_from(
    table: Records, task: Task, choice: Choice, known: Pairs | None, seed: int
) -> RecordMatcher:
    """What tells which of some records are the same: learned from them, or before.

    Answers about records that it was not learned from are kept, but not learned from.
    """
    if task.matcher is None:
        return untaught(choice, seed).fit(columns_to_compare(table, choice), known)
    if known is not None:
        say_kept(task.model)
    return task.matcher.on(columns_as_learned(table, choice, task.matcher), known)


def untaught(choice: Choice, seed: int) -> RecordMatcher:
    """What is to learn, and to remember what the user says of columns."""
    return RecordMatcher(kinds=dict(choice.kinds), dates=choice.dates, random_state=seed)


def say_kept(matcher: Path | None) -> None:
    """Say that a matcher that has learned does not learn from further answers."""
    say(
        f"note: the answers are kept, but not learned from: {matcher} has learned already. Without "
        "it they are learned from."
    )


@dataclass(frozen=True)
class LinkTask:
    """Two files of records, and perhaps what was learned before.

    Attributes
    ----------
    left, right : Path
    model : Path or None
    matcher : RecordMatcher or None
        What is in it.
    """

    left: Path
    right: Path
    model: Path | None = None
    matcher: RecordMatcher | None = None


def link_task(model: Path, left: Path, right: Path | None) -> LinkTask:
    """What a command line asks for, in which the model may be left out."""
    if right is None:
        if model == _NONE or matcher_in(model) is not None:
            raise UserError(f"Missing argument 'RIGHT': nearkin link {model} {left} more.csv")
        return LinkTask(model, left)
    if model == _NONE:
        return LinkTask(left, right)
    matcher = matcher_in(model)
    if matcher is None:
        raise UserError(
            f"{model} is no matcher of records, as nearkin link --save and duplicates --save write "
            "it. Two tables need none: nearkin link people.csv more.csv"
        )
    return LinkTask(left, right, model, matcher)


def open_linked(task: LinkTask, path: Path, choice: Choice, role: str) -> Records:
    """One of the two files, with the columns that a matcher compares, if there is one."""
    if task.matcher is None:
        return open_records(path, choice, role=role)
    return records_for(task.matcher, path, choice, role, least=1)


def carried_of_both(
    left: Records, right: Records, patterns: Sequence[str]
) -> Callable[[Ints], dict[str, Any]]:
    """Columns of two files that go along with links between them, checked before work begins."""
    names: list[list[str]] = [[], []]
    for given in (part for pattern in patterns for part in pattern.split(",")):
        found = [table.named_like(given) for table in (left, right)]
        if not any(found):
            raise UserError(f"--carry {given}: neither {left.file} nor {right.file} has it.")
        names = [[*before, *more] for before, more in zip(names, found, strict=True)]

    def carried(links: Ints) -> dict[str, Any]:
        return {
            f"{side}_{name}": values
            for side, table, chosen, rows in zip(
                ("left", "right"), (left, right), names, links.T, strict=True
            )
            for name, values in table.carried(list(dict.fromkeys(chosen)), rows).items()
        }

    return carried


def linked_records(
    left: Records,
    right: Records,
    choice: Choice,
    pairs: Path | None,
    seed: int,
    task: LinkTask,
) -> RecordMatcher:
    """What tells which records of two files are the same: learned from them, or before."""
    known = None if pairs is None else _between(left, right, pairs, choice.delimiter)
    matcher = task.matcher
    if matcher is not None:
        if known is not None:
            say_kept(task.model)
        one, other = (columns_as_learned(table, choice, matcher) for table in (left, right))
        return matcher.on_link(one, other, known)
    if not {*left.compared} & {*right.compared}:
        raise UserError(
            f"{left.file} and {right.file} have no column in common to compare: the one has "
            f"{listed(left.compared)}, the other {listed(right.compared)}. Rename columns that "
            "hold the same things alike."
        )
    for here, there in ((left, right), (right, left)):
        alone = [name for name in here.compared if name not in there.compared]
        if alone:
            say(f"note: not compared, since only {here.file} has them: {listed(alone, 10)}.")
    first, second = columns_in_common(left, right, choice)
    return untaught(choice, seed).fit_link(first, second, known)


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


# What a matcher says of the records of a file: of pairs, neighbours, and how good it is.


def neighbor_table(table: NamedRows, asked: NamedRows, rows: Ints, chance: Floats) -> Iterator[Any]:
    """Record, rank, neighbour and chance, the likeliest first."""
    record, rank = np.nonzero(rows >= 0)
    found = {
        asked.id_name: asked.shown_ids().take(pa.array(record)),
        "rank": rank + 1,
        "neighbor": table.shown_ids().take(pa.array(rows[record, rank])),
        "chance": chance[record, rank],
    }
    return table_of(found)


def quality_of_chances(
    chance: Floats,
    same: Mask,
    weight: Floats,
    ends: Ints,
    level: float = 0.5,
    prevalence: float | None = None,
) -> Quality:
    """Precision and recall of calling pairs the same from a chance on, by what is known of them.

    Same and different are taken to be as frequent as among these, unless a prevalence is stated.
    """
    share = float(weight[same].sum() / weight.sum()) if prevalence is None else prevalence
    return estimate_quality(1 - chance, same, weight, ends, 1 - level, share)


def scores_by_known(
    matcher: RecordMatcher,
    compared: list[Column],
    known: tuple[Ints, Mask, Floats],
    prevalence: float | None,
) -> list[dict[str, Any]]:
    """How good a matcher's chances are, by pairs whose answer is known."""
    ends, same, weight = known
    chance = matcher.chance_of_pairs(ends, compared)
    quality = quality_of_chances(chance, same, weight, ends, prevalence=prevalence)
    say(f"pairs: {quality.brief}")
    auc = asdict(quality.auc)
    line = {"judged_by": "pairs", "measure": "pair_auc", "learned": auc.pop("value"), **auc}
    line |= {"pairs": len(ends), "rows": len(np.unique(ends))}
    return [line, *verdict_lines(quality, line)]


def scores_by_labels(groups: Ints, labels: Any) -> list[dict[str, Any]]:
    """Precision, recall and F1 of the pairs within groups, by what records are known to be of."""
    classes = number_classes(labels)
    known = classes >= 0
    groups, classes = groups[known], classes[known]

    def n_pairs(*numbers: Ints) -> int:
        counts = np.unique(np.column_stack(numbers), axis=0, return_counts=True)[1]
        return int((counts * (counts - 1) // 2).sum())

    right, called, same = n_pairs(groups, classes), n_pairs(groups), n_pairs(classes)
    if not same:
        raise UserError("--labels: no two records are of one class, so that nothing can be found.")
    n = len(groups)
    figures = {
        "precision": right / called if called else None,
        "recall": right / same,
        "f1": 2 * right / (called + same),
    }
    line = {"judged_by": "labels", "pairs": n * (n - 1) // 2, "rows": n}
    return [line | {"measure": name, "learned": value} for name, value in figures.items()]
