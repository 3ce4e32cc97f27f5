"""nearkin duplicates, link."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pyarrow as pa
import typer

from nearkin._types import Floats, Ints, Mask
from nearkin.cli import options as o
from nearkin.cli.common import UserError, listed, say
from nearkin.cli.evaluate import verdict_lines
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
from nearkin.errors import counted
from nearkin.pairs.labels import class_numbers
from nearkin.pairs.pairs import Pairs
from nearkin.records.matcher import RecordMatcher, is_matcher
from nearkin.records.results import Duplicates, Links, MatchReport
from nearkin.scores.quality import Quality, quality_of
from nearkin.tables.reading import Column

# ``nearkin duplicates``: groups of rows that are the same thing.


def duplicates(
    model: Annotated[
        Path,
        typer.Argument(
            show_default=False,
            help="A model that fit has written, or a matcher that --save has. Tables with words "
            "need none: leave it out, or say 'none'.",
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(
            show_default=False,
            help="Rows: .csv, .tsv, .jsonl (also .gz), .parquet (or a folder of them), .feather, "
            ".npy or .npz; - for standard input.",
        ),
    ] = None,
    pairs: o.PairsPath = None,
    radius: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            show_default=False,
            help="Two rows are the same up to this distance, and so are all that a chain of such "
            "rows connects. Without: found from how near rows are to each other.",
        ),
    ] = None,
    precision: o.Precision = None,
    prevalence: Annotated[
        float | None,
        typer.Option(
            show_default=False,
            help="Share of all pairs of rows that are the same, where you know it.",
        ),
    ] = None,
    known: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            show_default=False,
            help="Pairs of the same data with answers: by these it is said what precision and "
            "recall are to be expected.",
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option(help="Compare all rows with all, however many there are.")
    ] = False,
    canonical: Annotated[
        bool,
        typer.Option(
            "--canonical",
            help="Of records: write one for each thing, with the cells that most of them have.",
        ),
    ] = False,
    save: o.SavePath = None,
    output: o.OutputPath = None,
    columns: o.Columns = [],
    exclude: o.Exclude = [],
    id_column: o.Id = None,
    carry: o.Carry = [],
    delimiter: o.Delimiter = None,
    form: o.Form = None,
    missing: o.Missing = None,
    kinds: o.ColumnKinds = [],
    dates: o.Dates = None,
    as_json: o.Json = False,
    force: o.Force = False,
    quote: o.Quote = False,
    seed: o.Seed = 0,
) -> None:
    """Find groups of rows that are the same thing: a line for each row that is in a group.

    Rows of numbers are compared by a learned metric. Records, in tables with words, need no model:
    nearkin duplicates people.csv --id id --pairs answers.csv. They are compared column by column,
    and --pairs are answers to learn from; chance is that of a record to be the same as others of
    its group.
    """
    from nearkin.cli.common import say
    from nearkin.cli.files.output import Output, table_of
    from nearkin.cli.files.tables import open_table
    from nearkin.cli.fit import known_pairs
    from nearkin.cli.models import Model
    from nearkin.cli.neighbors import in_groups, index_of, members_of_groups, quality_of_groups
    from nearkin.cli.same import answered, say_expected
    from nearkin.errors import counted

    out = Output(output, as_json=as_json, force=force, quote=quote)
    check_save(save, force=force)
    choice = o.choice_of(columns, exclude, [], id_column, delimiter, form, missing, kinds, dates)
    task = task_of(model, data, choice)
    if task is None:
        of_records = {"--pairs": pairs, "--save": save, "--canonical": canonical}
        remedy = f"this is for records, and {model} is a model of rows."
        refuse_options({**of_records, "--kinds": kinds, "--dates": dates}, remedy)
        learned = Model(model)
        named: NamedRows = (table := open_table(data or model, choice, model=learned))
        ids, along = named.shown_ids(), named.to_carry(carry, ["group"])
        told = None if known is None else answered(table, known, choice.delimiter, "a precision")
        index = index_of(learned, table, 10, exact=exact, seed=seed)
        group, rows = members_of_groups(
            index, radius=radius, precision=precision, prevalence=prevalence
        )
        say(f"{counted(len(set(group.tolist())), 'group')} with {counted(len(rows), 'row')}")
        beside = {}
    else:
        of_rows = {"--radius": radius, "--prevalence": prevalence, "--exact": exact}
        refuse_options(of_rows, "this is for rows that a model has learned to compare.")
        named = records = opened(task, choice)
        ids, along = named.shown_ids(), named.to_carry(carry, ["group", "chance"])
        told = None if known is None else answered(records, known, choice.delimiter, "a precision")
        known_here = known_pairs(records, pairs, choice.delimiter)
        matcher = learned_from(records, task, choice, known_here, seed)
        found = matcher.duplicates(precision=precision)
        group, rows = in_groups(found.labels)
        say(f"{counted(len(found.groups), 'group')} with {counted(len(rows), 'record')}")
        say_found(found, matcher.report_ if task.matcher is None else None, precision)
        kept(matcher, save)
        beside = {"chance": found.chance[rows]}
    if told is not None:
        say_expected(quality_of_groups(named.n_rows, group, rows, *told), "known pair", precision)
    if canonical:
        out.write(table_of(records.one_of_each(found.labels)))
        return
    written = {"group": group, named.id_name: ids.take(rows), **beside}
    out.write(table_of({**written, **named.carried(along, rows)}))


# ``nearkin link``: which records of one table are which of another.


def link(
    model: Annotated[
        Path,
        typer.Argument(
            show_default=False,
            help="A matcher that --save has written. Leave it out, or say 'none', to learn from "
            "the two tables.",
        ),
    ],
    left: Annotated[
        Path,
        typer.Argument(show_default=False, help="Records, in files as of nearkin duplicates."),
    ],
    right: Annotated[
        Path | None,
        typer.Argument(show_default=False, help="Those that they are to be found among."),
    ] = None,
    pairs: Annotated[
        Path | None,
        typer.Option(
            "--pairs",
            "-p",
            metavar="FILE",
            show_default=False,
            help="Answers to learn from: columns left, for a record of the first table, right, for "
            "one of the second, and same.",
        ),
    ] = None,
    many: Annotated[
        bool,
        typer.Option("--many", help="Link a record to as many as are the same, not to one."),
    ] = False,
    precision: o.Precision = None,
    save: o.SavePath = None,
    output: o.OutputPath = None,
    columns: o.Columns = [],
    exclude: o.Exclude = [],
    id_column: o.Id = None,
    right_id: Annotated[
        str | None,
        typer.Option(
            "--right-id",
            metavar="NAME",
            show_default=False,
            rich_help_panel="Columns of the data",
            help="Column that names rows of the second table. Without: as --id says.",
        ),
    ] = None,
    carry: Annotated[
        list[str],
        typer.Option(
            metavar="NAMES",
            show_default=False,
            rich_help_panel="Columns of the data",
            help="Columns that go along into the output, those of the first table as left_NAME and "
            "those of the second as right_NAME.",
        ),
    ] = [],
    delimiter: o.Delimiter = None,
    form: o.Form = None,
    kinds: o.ColumnKinds = [],
    dates: o.Dates = None,
    as_json: o.Json = False,
    force: o.Force = False,
    quote: o.Quote = False,
    seed: o.Seed = 0,
) -> None:
    """Find which records of one table are which of another: a line for each two.

    nearkin link people.csv more.csv --id id --pairs answers.csv

    Columns of the same name are compared. Without --pairs it is guessed from what all records look
    like.
    """
    from dataclasses import replace

    from nearkin.cli.common import say
    from nearkin.cli.files.output import Output, table_of
    from nearkin.errors import counted

    out = Output(output, as_json=as_json, force=force, quote=quote)
    check_save(save, force=force)
    choice = o.choice_of(columns, exclude, [], id_column, delimiter, form, None, kinds, dates)
    task = link_task(model, left, right)
    one = open_linked(task, task.left, choice, "LEFT")
    of_right = replace(choice, id_column=right_id or id_column)
    other = open_linked(task, task.right, of_right, "RIGHT")
    ids = one.shown_ids(), other.shown_ids()
    along = carried_of_both(one, other, carry)
    matcher = linked_records(one, other, choice, pairs, seed, task)
    found = matcher.link(one_to_one=not many, precision=precision)
    say(counted(len(found), "link"))
    say_found(found, matcher.report_ if task.matcher is None else None, precision)
    kept(matcher, save)
    ends = [named.take(rows) for named, rows in zip(ids, found.pairs.T, strict=True)]
    written = {"left": ends[0], "right": ends[1], "chance": found.chance}
    out.write(table_of({**written, **along(found.pairs)}))


# Records of files that are the same thing: learned from answers, and what is said of them.


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
    return quality_of(1 - chance, same, weight, ends, 1 - level, share)


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
    classes = class_numbers(labels)
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
