"""``nearkin duplicates``: groups of rows that are the same thing."""

from __future__ import annotations

from typing import Annotated

import typer

from nearkin.cli import options as o


def duplicates(
    model: o.ModelPath,
    data: o.Data,
    radius: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            show_default=False,
            help="Two rows are the same up to this distance, and so are all that a chain of such "
            "rows connects. Without: found from how near rows are to each other.",
        ),
    ] = None,
    precision: Annotated[
        float | None,
        typer.Option(
            show_default=False,
            help="Share of the pairs found that are to be right, such as 0.99.",
        ),
    ] = None,
    prevalence: Annotated[
        float | None,
        typer.Option(
            show_default=False,
            help="Share of all pairs of rows that are the same, where you know it.",
        ),
    ] = None,
    exact: Annotated[
        bool, typer.Option(help="Compare all rows with all, however many there are.")
    ] = False,
    output: o.OutputPath = None,
    columns: o.Columns = [],
    exclude: o.Exclude = [],
    id_column: o.Id = None,
    delimiter: o.Delimiter = None,
    form: o.Form = None,
    missing: o.Missing = None,
    as_json: o.Json = False,
    force: o.Force = False,
    quote: o.Quote = False,
    seed: o.Seed = 0,
) -> None:
    """Find groups of rows that are the same thing: a line for each row that is in a group."""
    from nearkin.cli.files.columns import table_of
    from nearkin.cli.files.output import Output
    from nearkin.cli.files.tables import open_table
    from nearkin.cli.messages import say
    from nearkin.cli.models import Model
    from nearkin.cli.searching import index_of, members_of_groups
    from nearkin.errors import counted

    out = Output(output, as_json=as_json, force=force, quote=quote)
    learned = Model(model)
    choice = o.choice_of(columns, exclude, [], id_column, delimiter, form, missing)
    table = open_table(data, choice, model=learned)
    ids = table.shown_ids()
    index = index_of(learned, table, 10, exact=exact, seed=seed)
    group, rows = members_of_groups(
        index, radius=radius, precision=precision, prevalence=prevalence
    )
    say(f"{counted(len(set(group.tolist())), 'group')} with {counted(len(rows), 'row')}")
    out.write(table_of({"group": group, table.id_name: ids.take(rows)}))
