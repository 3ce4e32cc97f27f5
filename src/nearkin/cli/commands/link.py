"""``nearkin link``: which records of one table are which of another."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli import options as o


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
    from nearkin.cli.matching import (
        carried_of_both,
        check_save,
        kept,
        link_task,
        linked_records,
        open_linked,
        say_found,
    )
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
