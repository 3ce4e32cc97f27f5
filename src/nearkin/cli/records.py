"""``nearkin duplicates`` and ``link``: rows and records that are the same thing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nearkin as nk
from nearkin.cli import options as o
from nearkin.cli.common import (
    UserError,
    describe_figures,
    describe_share,
    models,
    next_command,
    np,
    outputs,
    pair_files,
    quality,
    quote_names,
    record_results,
    say,
    tables,
    watch_steps,
)
from nearkin.cli.files.columns import Choice
from nearkin.cli.files.inputs import detect_content, is_stream
from nearkin.cli.neighbors import index_rows
from nearkin.cli.same import say_expected
from nearkin.errors import counted

if TYPE_CHECKING:
    from nearkin._types import Floats, Ints, Mask
    from nearkin.records.results import Duplicates, Links, MatchReport
    from nearkin.scores.quality import Quality

NONE = Path("none")
# Contradictions that are named.
_MOST_SHOWN = 5


def find_duplicates(
    model: Path | None = o.argument(
        None,
        help="A model that fit has written, or a matcher that --save has. Tables with words "
        "need none: leave it out.",
    ),
    data: Path | None = o.argument(None, help=o.DATA_HELP),
    pairs: Path | None = o.PAIRS,
    radius: float | None = o.option(
        "--radius",
        "Two rows are the same up to this distance, and so are all that a chain of such "
        "rows connects. Without: found from how near rows are to each other.",
        min=0.0,
    ),
    precision: float | None = o.PRECISION,
    prevalence: float | None = o.option(
        "--prevalence", "Share of all pairs of rows that are the same, where you know it."
    ),
    known: Path | None = o.option(
        "--known FILE",
        "Pairs of the same data with answers: by these it is said what precision and "
        "recall are to be expected.",
    ),
    everything: bool = o.option(
        "--all", "Write all rows, with all columns and the group of each.", False
    ),
    candidates: bool = o.option(
        "--candidates",
        "Of records: write the pairs that were compared instead, with the chance of each.",
        False,
    ),
    why: bool = o.option(
        "--why", "With --candidates: what each column says of a pair, as log-odds.", False
    ),
    canonical: bool = o.option(
        "--canonical",
        "Of records: write one for each thing, with the cells that most of them have.",
        False,
    ),
    save: Path | None = o.SAVE,
    *,
    out: o.TableOutput,
    choice: o.RecordColumns,
    carry: list[str] = o.CARRY,
    seed: int = o.SEED,
) -> None:
    """Find groups of rows that are the same thing: a line for each row that is in a group.

    Rows of numbers are compared by a learned metric. Records, in tables with words, need no model:
    nearkin duplicates people.csv --id id --pairs answers.csv. They are compared column by column,
    and --pairs are answers to learn from; chance is that of a record to be the same as others of
    its group.
    """
    _check_save(save, out)
    if why and not candidates:
        raise UserError("--why: say --candidates too, whose lines it explains.")
    if sum([everything, candidates, canonical]) > 1:
        raise UserError("--all, --candidates and --canonical: give one of them.")
    model = model or NONE
    task = _find_task(model, data, choice)
    if task is None:
        of_records = {
            "--pairs": pairs, "--save": save, "--canonical": canonical, "--candidates": candidates,
        }  # fmt: skip
        remedy = f"this is for records, and {model} is a model of rows."
        o.refuse({**of_records, "--kinds": choice.kinds, "--dates": choice.dates}, remedy)
        learned = models.Model(model)
        table = tables.open_table(data or model, choice, model=learned)
        named: tables.NamedRows = table
    else:
        remedy = "this is for rows that a model has learned to compare."
        o.refuse({"--radius": radius, "--prevalence": prevalence}, remedy)
        named = records = task.open(choice)
    beside = ["group"] if task is None else ["group", "chance"]
    ids, along = named.shown_ids(), named.to_carry(carry, beside)
    judged = None
    if known is not None:
        judged = pair_files.read_judged_pairs(named, known, choice.delimiter, "a precision")
    chance = {}
    if task is None:
        index = index_rows(learned, table, seed)
        labels = index.group_labels(radius=radius, precision=precision, prevalence=prevalence)
        group, rows = _list_members(labels)
        say(f"{counted(len(set(group.tolist())), 'group')} with {counted(len(rows), 'row')}")
    else:
        answers = pair_files.read_known_pairs(records, pairs, choice.delimiter)
        matcher = learn_matcher(records, task, choice, answers, seed)
        with watch_steps("grouping records"):
            found = matcher.duplicates(precision=precision)
        labels = found.labels
        group, rows = _list_members(labels)
        say(f"{counted(len(found.groups), 'group')} with {counted(len(rows), 'record')}")
        _say_found(found, matcher, task, pairs, ids, precision)
        _save(matcher, save)
        chance = {"chance": found.chance[rows]}
    if judged is not None:
        by_known = _estimate_quality(named.n_rows, group, rows, *judged)
        say_expected(by_known, "known pair", precision)
    if canonical:
        out.write(outputs.table_of(records.one_of_each(labels)))
        return
    if candidates:
        ends, likely = matcher.candidates()
        left, right = (ids.take(ends[:, side]) for side in (0, 1))
        written = {"left": left, "right": right, "chance": likely}
        out.write(outputs.table_of({**written, **(_explained(matcher, ends) if why else {})}))
        return
    if everything:
        numbered = {"group": labels, named.id_name: ids}
        every = np.arange(named.n_rows)
        whole = [name for name in named.all_columns() if name not in numbered]
        out.write(outputs.table_of({**numbered, **named.carried(whole, every)}))
        return
    written = {"group": group, named.id_name: ids.take(rows), **chance}
    out.write(outputs.table_of({**written, **named.carried(along, rows)}))


def _explained(matcher: nk.RecordMatcher, ends: Ints) -> dict[str, Any]:
    """What each column says of pairs, as columns that go along."""
    log_odds, names = matcher.explain(ends)
    return {f"says {name}": said for name, said in zip(names, log_odds.T, strict=True)}


@dataclass(frozen=True)
class RecordTask:
    """A file of records or two, and a matcher that has learned before, if there is one.

    ``model`` is the file of the matcher.
    """

    files: tuple[Path, ...]
    model: Path | None = None
    matcher: nk.RecordMatcher | None = None

    def open(self, choice: Choice, which: int = 0, role: str = "DATA") -> tables.RecordTable:
        """Open one of the files, with the columns that the matcher compares, if there is one."""
        path = self.files[which]
        if self.matcher is None:
            return tables.open_records(path, choice, role=role)
        least = 2 if len(self.files) == 1 else 1
        return tables.open_records_of(self.matcher, path, choice, role, least=least)


def _find_task(model: Path, data: Path | None, choice: Choice) -> RecordTask | None:
    """Find the records and the matcher that were named; None if a metric is to compare rows.

    The model may be ``none`` or a matcher; or it is left out, and the first name is that of the
    data.
    """
    if data is None:
        if model != NONE and is_table(model) and tables.has_records(model, choice):
            return RecordTask((model,))
        raise UserError(
            "Missing argument 'DATA'. The model comes first, then the rows: nearkin duplicates "
            "model.nearkin rows.csv\nTables with words need no model: nearkin duplicates people.csv"
        )
    if model == NONE:
        return RecordTask((data,))
    learned = models.open_matcher(model)
    return None if learned is None else RecordTask((data,), model, learned)


def is_table(path: Path) -> bool:
    """Whether a file is no model; raises if it is not there."""
    if not path.exists() and not is_stream(path):
        raise UserError(f"{path}: there is no such file.")
    return is_stream(path) or path.is_dir() or detect_content(path) != "model"


def learn_matcher(
    table: tables.RecordTable, task: RecordTask, choice: Choice, known: nk.Pairs | None, seed: int
) -> nk.RecordMatcher:
    """Fit a matcher to some records, or apply one that a file has.

    Answers about records that it was not learned from are kept, but not learned from.
    """
    if task.matcher is None:
        columns = tables.columns_to_compare(table, choice)
        with watch_steps("comparing records"):
            return _new_matcher(choice, seed).fit(columns, known)
    if known is not None:
        _say_kept(task.model)
    columns = tables.columns_as_learned(table, choice, task.matcher)
    with watch_steps("comparing records"):
        return task.matcher.on(columns, known)


def _new_matcher(choice: Choice, seed: int) -> nk.RecordMatcher:
    """A matcher that is not fitted, with what the user says of columns."""
    return nk.RecordMatcher(kinds=dict(choice.kinds), dates=choice.dates, random_state=seed)


def _say_kept(matcher: Path | None) -> None:
    """Say that a matcher that has learned does not learn from further answers."""
    say(
        f"note: the answers are kept, but not learned from: {matcher} has learned already. Without "
        "it they are learned from."
    )


def _list_members(labels: Ints) -> tuple[Ints, Ints]:
    """Number of the group, from 0, and row, of each row that is in a group of two or more."""
    counts = np.bincount(labels)
    rows = np.flatnonzero(counts[labels] > 1)
    rows = rows[np.argsort(labels[rows], kind="stable")]
    number = np.cumsum(counts > 1) - 1
    return number[labels[rows]], rows


def _estimate_quality(
    n_rows: int, group: Ints, rows: Ints, ends: Ints, same: Mask, weight: Floats
) -> Quality:
    """Precision and recall of saying that rows of a group are the same, by known pairs.

    Same and different are taken to be as frequent as among these. ``group`` and ``rows`` are as of
    :func:`_list_members`.
    """
    number = -1 - np.arange(n_rows)
    number[rows] = group
    apart = (number[ends[:, 0]] != number[ends[:, 1]]).astype(np.float64)
    return quality.estimate_quality(
        apart, same, weight, ends, 0.5, float(weight[same].sum() / weight.sum())
    )


def _check_save(path: Path | None, out: outputs.Output) -> None:
    """Raise if a matcher cannot be written there, before work begins."""
    if path is not None:
        outputs.check_target(path, (), force=out.force)


def _save(matcher: nk.RecordMatcher, path: Path | None) -> None:
    """Keep a matcher, if that is wanted."""
    if path is not None:
        matcher.save(path)
        say(f"matcher: {path}")


def _say_found(
    found: Duplicates | Links,
    matcher: nk.RecordMatcher,
    task: RecordTask,
    answers: Path | None,
    ids: Any,
    wanted: float | None,
) -> None:
    """Say what is to be expected of what was found, and whether that can be promised."""
    report = matcher.report_ if task.matcher is None else None
    n_answers = 0 if report is None else report.n_same + report.n_different
    by = f"by {counted(n_answers, 'answer')}" if n_answers else ""
    known = not (found.precision.more and found.recall.more)
    joint = (", " if known else "; what was found is ") if by else ""
    say(f"{describe_figures(found)}{joint}{by}")
    if report is None:
        say("note: this supposes that these records are like those that the matcher learned from.")
        return
    if not report.n_candidates:
        say("note: no two records are so alike that they are compared: there is nothing to ask.")
        return
    per_record = 2 * report.n_candidates / max(report.n_records, 1)
    say(f"candidates: {per_record:.1f} for each record{describe_share(report)}")
    if report.set_aside:
        shown = quote_names(report.set_aside)
        say(f"note: not learned from, since it names where records are from: {shown}; --kinds "
            f"{report.set_aside[0]}=name compares it as a name.")  # fmt: skip
    _say_doubted(report, ids)
    if found.precision.more or found.recall.more:
        to: list[object] = []
        if answers is not None:  # of other files no answer can be taken back
            to = ["-o" if answers.suffix.lower() == ".csv" else "--pairs", answers]
        say(f"next: {next_command('suggest', *task.files, '--ask', *to)}")
    elif wanted is not None and found.precision.low < wanted:
        say(f"warning: these answers do not show that {wanted:g} is reached; more may.")


def link_files(
    model: Path | None = o.argument(
        None,
        help="A matcher that --save has written. Leave it out to learn from the two tables.",
    ),
    left: Path | None = o.argument(None, help="Records, in files as of nearkin duplicates."),
    right: Path | None = o.argument(None, help="Those that they are to be found among."),
    pairs: Path | None = o.option(
        "--pairs -p FILE",
        "Answers to learn from: columns left, for a record of the first table, right, for "
        "one of the second, and same.",
    ),
    many: bool = o.option("--many", "Link a record to as many as are the same, not to one.", False),
    candidates: bool = o.option(
        "--candidates",
        "Write the pairs that were compared instead, with the chance of each.",
        False,
    ),
    why: bool = o.option("--why", "What each column says of a pair, as log-odds.", False),
    precision: float | None = o.PRECISION,
    save: Path | None = o.SAVE,
    *,
    out: o.TableOutput,
    choice: o.LinkedColumns,
    sides: o.LinkedTables,
    carry: list[str] = o.about_columns(
        "--carry NAMES",
        "Columns that go along into the output, those of the first table as left_NAME and "
        "those of the second as right_NAME.",
        [],
    ),
    seed: int = o.SEED,
) -> None:
    """Find which records of one table are which of another: a line for each two.

    nearkin link people.csv more.csv --id id --pairs answers.csv

    Columns of the same name are compared. Without --pairs it is guessed from what all records look
    like.
    """
    _check_save(save, out)
    task = find_link_task(model or NONE, left, right)
    one, other = open_both(task, choice, sides)
    ids = one.shown_ids(), other.shown_ids()
    along = _carry_from_both(one, other, carry)
    matcher = _learn_links(one, other, choice, pairs, seed, task)
    with watch_steps("linking records"):
        found = matcher.link(one_to_one=not many, precision=precision)
    say(counted(len(found), "link"))
    _say_found(found, matcher, task, pairs, [*ids[0].to_pylist(), *ids[1].to_pylist()], precision)
    _save(matcher, save)
    rows, chance = found.pairs + np.array([0, one.n_rows]), found.chance
    if candidates:
        rows, chance = matcher.candidates()
    of_each = rows - np.array([0, one.n_rows])
    ends = [named.take(side) for named, side in zip(ids, of_each.T, strict=True)]
    written = {"left": ends[0], "right": ends[1], "chance": chance}
    reasons = _explained(matcher, rows) if why else {}
    out.write(outputs.table_of({**written, **along(of_each), **reasons}))


def open_both(
    task: RecordTask, choice: Choice, sides: o.Sides
) -> tuple[tables.RecordTable, tables.RecordTable]:
    """Two tables whose records are to be linked, with the first one's names of columns."""
    one = task.open(choice, 0, "LEFT")
    of_other = replace(choice, id_column=sides.right_id or choice.id_column)
    return one, _match_columns(one, task.open(of_other, 1, "RIGHT"), sides.match)


def _match_columns(
    left: tables.RecordTable, right: tables.RecordTable, match: Sequence[str]
) -> tables.RecordTable:
    """The right table, with the names of the left one for columns that hold the same things."""
    wanted: dict[str, str] = {}
    for given in match:
        here, sign, there = given.partition("=")
        if not sign or here not in left.compared or there not in right.compared:
            raise UserError(
                f"--match {given}: give a column of {left.file}, one of "
                f"{quote_names(left.compared)}, = and one of {right.file}, of "
                f"{quote_names(right.compared)}."
            )
        wanted[there] = here
    names = [wanted.get(name, name) for name in right.compared]
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UserError(f"--match: {right.file} would have two columns {twice[0]!r}.")
    return replace(right, cells=right.cells.rename_columns(names)) if wanted else right


def _say_doubted(report: MatchReport, ids: Any) -> None:
    """Name answers that all else speaks against, and chains of those that contradict each other."""
    if report.doubted:
        few = [f"{ids[i]} and {ids[j]}" for i, j in report.doubted[:_MOST_SHOWN]]
        say(f"note: look again at {counted(len(report.doubted), 'answer')}, which all else speaks "
            f"against and which are not followed: {', '.join(few)}.")  # fmt: skip
    for rows in report.contradictions[:_MOST_SHOWN]:
        said = record_results.say_contradiction([str(ids[row]) for row in rows])
        say(f"warning: the answers contradict each other: {said}.")
    more = len(report.contradictions) - _MOST_SHOWN
    if more > 0:
        say(f"warning: {counted(more, 'more contradiction')}.")


def find_link_task(model: Path, left: Path | None, right: Path | None) -> RecordTask:
    """Find the two files and the matcher that were named, of which the last may be left out."""
    if left is None:
        known = Path("people.csv") if model == NONE else model
        raise UserError(
            f"Missing argument 'RIGHT': name two tables, such as {known} and more.csv. Within one: "
            f"nearkin duplicates {known}"
        )
    if right is None:
        if model == NONE or models.open_matcher(model) is not None:
            raise UserError(f"Missing argument 'RIGHT': nearkin link {model} {left} more.csv")
        return RecordTask((model, left))
    if model == NONE:
        return RecordTask((left, right))
    matcher = models.open_matcher(model)
    if matcher is None:
        raise UserError(
            f"{model} is no matcher of records, as nearkin link --save and duplicates --save write "
            "it. Two tables need none: nearkin link people.csv more.csv"
        )
    return RecordTask((left, right), model, matcher)


def _carry_from_both(
    left: tables.RecordTable, right: tables.RecordTable, patterns: Sequence[str]
) -> Callable[[Ints], dict[str, Any]]:
    """Columns of two files that go along with links between them, checked before work begins."""
    names: list[list[str]] = [[], []]
    for given in (part for pattern in patterns for part in pattern.split(",")):
        found = [table.named_like(given) for table in (left, right)]
        if not any(found):
            raise UserError(f"--carry {given}: neither {left.file} nor {right.file} has it.")
        names = [[*before, *more] for before, more in zip(names, found, strict=True)]

    def carried(links: Ints) -> dict[str, Any]:
        """Columns of the linked rows of both files."""
        return {
            f"{side}_{name}": values
            for side, table, chosen, rows in zip(
                ("left", "right"), (left, right), names, links.T, strict=True
            )
            for name, values in table.carried(list(dict.fromkeys(chosen)), rows).items()
        }

    return carried


def learn_links(
    left: tables.RecordTable, right: tables.RecordTable, choice: Choice, pairs: Path | None,
    seed: int,
) -> tuple[nk.RecordMatcher, nk.Pairs | None]:  # fmt: skip
    """Fit a matcher to two files of records; and the answers that it was told."""
    known = None
    if pairs is not None:
        file = pair_files.read_pairs(left, pairs, delimiter=choice.delimiter, others=right)
        known = file.pairs(left.n_rows + right.n_rows)
    if not {*left.compared} & {*right.compared}:
        raise UserError(
            f"{left.file} and {right.file} have no column in common to compare: the one has "
            f"{quote_names(left.compared)}, the other {quote_names(right.compared)}. Say which "
            f"hold the same things: --match {left.compared[0]}={right.compared[0]}."
        )
    for here, there in ((left, right), (right, left)):
        alone = [name for name in here.compared if name not in there.compared]
        if alone:
            say(f"note: not compared, since only {here.file} has them: {quote_names(alone, 10)}.")
    first, second = tables.columns_in_common(left, right, choice)
    with watch_steps("comparing records"):
        return _new_matcher(choice, seed).fit_link(first, second, known), known


def _learn_links(
    left: tables.RecordTable,
    right: tables.RecordTable,
    choice: Choice,
    pairs: Path | None,
    seed: int,
    task: RecordTask,
) -> nk.RecordMatcher:
    """Fit a matcher to two files of records, or apply one that a file has."""
    matcher = task.matcher
    if matcher is None:
        return learn_links(left, right, choice, pairs, seed)[0]
    known = None
    if pairs is not None:
        file = pair_files.read_pairs(left, pairs, delimiter=choice.delimiter, others=right)
        known = file.pairs(left.n_rows + right.n_rows)
        _say_kept(task.model)
    one, other = (tables.columns_as_learned(table, choice, matcher) for table in (left, right))
    with watch_steps("comparing records"):
        return matcher.on_link(one, other, known)
