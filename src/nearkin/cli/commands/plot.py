"""``nearkin plot``: pictures of a model."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from nearkin.cli import options as o


class Kind(StrEnum):
    """What to draw."""

    embedding = "embedding"
    spectrum = "spectrum"
    distances = "distances"
    selection = "selection"


def plot(
    model: o.ModelPath,
    data: Annotated[
        Path | None,
        typer.Argument(show_default=False, help="Rows, for embedding and distances."),
    ] = None,
    kind: Annotated[
        Kind,
        typer.Option(
            help="embedding: rows along two axes, pairs as lines. spectrum: weights before and "
            "after learning (kernel-beta). distances: those of pairs. selection: what auto "
            "compared.",
        ),
    ] = Kind.embedding,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            show_default=False,
            help="The picture: .png, .svg or .html.",
        ),
    ] = None,
    pairs: o.PairsPath = None,
    labels: o.Labels = None,
    columns: o.Columns = [],
    exclude: o.Exclude = [],
    id_column: o.Id = None,
    delimiter: o.Delimiter = None,
    form: o.Form = None,
    missing: o.Missing = None,
    force: o.Force = False,
    seed: o.Seed = 0,
) -> None:
    """Draw a picture of a model. Of more than 20 000 rows, an embedding shows 20 000.

    nearkin plot model.nearkin rows.csv --kind embedding -o picture.svg
    """
    from nearkin.cli.common import UserError
    from nearkin.cli.description import FORMATS, draw
    from nearkin.cli.files.output import check_target
    from nearkin.cli.files.tables import open_table
    from nearkin.cli.learning import known_pairs
    from nearkin.cli.models import Model

    if str(model) in list(Kind):
        raise UserError(
            f"the model comes first: nearkin plot {data or 'model.nearkin'} --kind {model}."
        )
    if output is None:
        raise UserError("--output: name a file for the picture, .png, .svg or .html.")
    check_target(output, FORMATS, force=force)
    learned = Model(model)
    table = known = y = None
    if kind in (Kind.embedding, Kind.distances):
        if data is None:
            raise UserError(f"{kind} is drawn of rows: name their file after the model.")
        if kind is Kind.distances and pairs is None:
            raise UserError("distances are drawn of pairs: give --pairs FILE.")
        choice = o.choice_of(columns, exclude, [], id_column, delimiter, form, missing)
        table = open_table(data, choice, labels=labels, model=learned)
        known = known_pairs(table, pairs, choice.delimiter)
        y = None if labels is None else table.labels(labels)
    draw(str(kind), learned, None if table is None else table.rows, known, y, seed, output)
