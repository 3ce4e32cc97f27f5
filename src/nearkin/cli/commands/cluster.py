"""``nearkin cluster``: a column with the cluster of each row."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from nearkin.cli import options as o


class Method(StrEnum):
    """How to cluster."""

    kmeans = "kmeans"
    hdbscan = "hdbscan"
    mpck = "mpck"


def cluster(
    model: o.ModelOrNone,
    data: o.Data,
    method: Annotated[
        Method, typer.Option(help="mpck is k-means that keeps pairs together or apart.")
    ] = Method.kmeans,
    n_clusters: Annotated[
        int | None,
        typer.Option("--clusters", min=1, show_default=False, help="How many; not for hdbscan."),
    ] = None,
    min_size: Annotated[
        int, typer.Option("--min-size", min=2, help="Rows of a cluster at least, for hdbscan.")
    ] = 5,
    pairs: o.PairsPath = None,
    name: Annotated[str, typer.Option(help="Name of the new column.")] = "cluster",
    output: o.OutputPath = None,
    columns: o.Columns = [],
    exclude: o.Exclude = [],
    one_hot: o.OneHot = [],
    id_column: o.Id = None,
    delimiter: o.Delimiter = None,
    form: o.Form = None,
    missing: o.Missing = None,
    kinds: o.ColumnKinds = [],
    dates: o.Dates = None,
    as_json: o.Json = False,
    force: o.Force = False,
    quote: o.Quote = False,
    seed: o.Seed = 0,
    old_model: Annotated[
        str | None,
        typer.Option(
            "--model",
            "-m",
            hidden=True,
            is_eager=True,
            callback=o.misplaced(
                "the model comes first, as in nearkin cluster model.nearkin rows.csv."
            ),
        ),
    ] = None,
    old_k: Annotated[
        str | None,
        typer.Option(
            "-k",
            hidden=True,
            is_eager=True,
            callback=o.misplaced(
                "that is a number of neighbours, in every command; --clusters says how many "
                "clusters to make."
            ),
        ),
    ] = None,
) -> None:
    """Add a column with the cluster of each row; -1 is noise.

    nearkin cluster model.nearkin rows.csv --clusters 10

    The rows to cluster are held in memory.
    """
    del old_model, old_k  # refused before
    from nearkin.cli.clustering import clusters
    from nearkin.cli.failures import UserError
    from nearkin.cli.files.columns import with_column
    from nearkin.cli.files.output import Output
    from nearkin.cli.files.tables import open_table
    from nearkin.cli.learning import known_pairs
    from nearkin.cli.models import model_or_none

    if method is not Method.hdbscan and n_clusters is None:
        raise UserError(f"--clusters: say how many clusters {method} is to make.")
    if pairs is not None and method is not Method.mpck:
        raise UserError(f"--pairs: {method} takes none; --method mpck and nearkin fit do.")
    out = Output(output, as_json=as_json, force=force, quote=quote)
    learned = model_or_none(model)
    choice = o.choice_of(
        columns, exclude, one_hot, id_column, delimiter, form, missing, kinds, dates
    )
    table = open_table(data, choice, carry=None, model=learned)
    known = known_pairs(table, pairs, choice.delimiter)
    rows = table.rows
    if learned is not None:
        rows = rows.mapped(learned.embed, learned.output_names)
    found = clusters(str(method), rows.to_numpy(), n_clusters or 0, min_size, known, seed)
    out.write(with_column(table.rows, name, found))
