"""``nearkin cluster``: a column with the cluster of each row."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli import options as o


class Method(StrEnum):
    """How to cluster."""

    auto = "auto"
    kmeans = "kmeans"
    hdbscan = "hdbscan"
    mpck = "mpck"


def cluster(
    model: Annotated[
        Path,
        typer.Argument(
            show_default=False,
            metavar="[MODEL]",
            help="A model that fit has written; without, a metric is learned from the pairs.",
        ),
    ],
    data: Annotated[
        Path | None,
        typer.Argument(show_default=False, metavar="DATA", help=o.DATA_HELP),
    ] = None,
    method: Annotated[
        Method,
        typer.Option(
            help="auto finds the number of clusters and keeps the pairs; mpck is k-means that does."
        ),
    ] = Method.auto,
    number: Annotated[
        str | None,
        typer.Option(
            "--clusters",
            metavar="NUMBER",
            show_default=False,
            help="How many, or the least and the most, such as 5-20; auto finds out without. Not "
            "for hdbscan.",
        ),
    ] = None,
    soft: Annotated[
        bool, typer.Option("--soft", help="Break pairs where that costs less than keeping them.")
    ] = False,
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

    nearkin cluster rows.csv --pairs answers.csv -o clustered.csv

    Their number is found by pairs that are held out, and pairs are kept. With a model, rows are
    clustered where it puts them. The rows to cluster are held in memory.
    """
    del old_model, old_k  # refused before
    from nearkin.cli.common import UserError, say
    from nearkin.cli.files.output import Output, with_column
    from nearkin.cli.files.tables import open_table
    from nearkin.cli.learning import known_pairs
    from nearkin.cli.models import model_or_none
    from nearkin.cli.searching import bounds_of, clusters, found_clusters

    n_clusters = bounds_of(number)
    by_hand = method is not Method.auto
    if method not in (Method.auto, Method.hdbscan) and not isinstance(n_clusters, int):
        raise UserError(f"--clusters: say how many clusters {method} is to make.")
    if pairs is not None and method not in (Method.auto, Method.mpck):
        raise UserError(f"--pairs: {method} takes none; --method auto and mpck do.")
    if soft and by_hand:
        raise UserError("--soft: only --method auto breaks or keeps pairs as asked.")
    if data is None:
        model, data = Path("none"), model
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
    X = rows.to_numpy()
    lines: list[str] = []
    if by_hand:
        k = n_clusters if isinstance(n_clusters, int) else 0
        found = clusters(str(method), X, k, min_size, known, seed)
    else:
        mapped = learned is not None
        found, lines = found_clusters(
            X, n_clusters, known, seed, mapped=mapped, soft=soft, ids=table.ids()
        )
    out.write(with_column(table.rows, name, found))
    for line in lines:
        say(line)
