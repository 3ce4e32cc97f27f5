"""``nearkin duplicates``: groups of rows that are the same thing."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli import options as o


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
    from nearkin.cli.files.tables import NamedRows, open_table
    from nearkin.cli.judging import answered, say_expected
    from nearkin.cli.learning import known_pairs
    from nearkin.cli.matching import (
        check_save,
        kept,
        learned_from,
        opened,
        refuse_options,
        say_found,
        task_of,
    )
    from nearkin.cli.models import Model
    from nearkin.cli.searching import in_groups, index_of, members_of_groups, quality_of_groups
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
