"""``nearkin neighbors``: the nearest rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli import options as o


def neighbors(
    model: o.ModelOrMatcher,
    data: o.Data,
    queries: Annotated[
        Path | None,
        typer.Option(
            "--queries",
            "-q",
            metavar="FILE",
            show_default=False,
            help="Rows to find neighbours of, with the same columns. Without: all rows of the "
            "data, each left out of its own neighbours.",
        ),
    ] = None,
    n_neighbors: Annotated[
        int, typer.Option("--neighbors", "-k", min=1, help="How many for each row.")
    ] = 10,
    exact: Annotated[
        bool, typer.Option(help="Compare with all rows, however many there are.")
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
    """Find the nearest rows in the learned distance; of records, those most likely the same.

    The embedded rows of the data are held in memory. From 100 000 rows on the search is
    approximate. By a matcher, a line has the chance that the two are the same; only records that
    look alike are compared, so that some have few neighbours, or none.
    """
    from nearkin.cli.files.output import Output
    from nearkin.cli.files.tables import columns_as_learned, open_table
    from nearkin.cli.matching import matcher_in, neighbor_table, records_for, refuse_options
    from nearkin.cli.models import Model
    from nearkin.cli.searching import index_of, neighbor_batches

    out = Output(output, as_json=as_json, force=force, quote=quote)
    choice = o.choice_of(columns, exclude, [], id_column, delimiter, form, missing)
    matcher = matcher_in(model)
    if matcher is not None:
        refuse_options({"--exact": exact}, f"{model} compares records that look alike.")
        records = of = records_for(matcher, data, choice)
        compared, queried = columns_as_learned(records, choice, matcher), None
        if queries is not None:
            of = records_for(matcher, queries, choice, "--queries", least=1)
            queried = columns_as_learned(of, choice, matcher)
        found = matcher.neighbors(compared, n_neighbors, queries=queried)
        out.write(neighbor_table(records, of, *found))
        return
    learned = Model(model)
    table = open_table(data, choice, model=learned)
    asked = None
    if queries is not None:
        asked = open_table(queries, choice, model=learned, role="--queries")
    index = index_of(learned, table, n_neighbors, exact=exact, seed=seed)
    out.write(neighbor_batches(index, learned, table, asked, n_neighbors))
