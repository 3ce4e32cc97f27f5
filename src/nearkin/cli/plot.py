"""``nearkin plot``: pictures of a model."""

from __future__ import annotations

import html
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import nearkin as nk
from nearkin.cli import options as o
from nearkin.cli.common import UserError, import_late
from nearkin.errors import explain_missing_package
from nearkin.storage.files import whole_file

if TYPE_CHECKING:
    import numpy as np

    from nearkin import Pairs
    from nearkin._types import Ints
    from nearkin.cli import models
    from nearkin.cli.files import output as outputs
    from nearkin.cli.files import pairs as pair_files
    from nearkin.cli.files import tables
    from nearkin.rows.streams import RowStream
else:
    np, models, outputs, pair_files, tables = import_late(
        "numpy",
        "nearkin.cli.models",
        "nearkin.cli.files.output",
        "nearkin.cli.files.pairs",
        "nearkin.cli.files.tables",
    )

_FORMATS = (".png", ".svg", ".html")
# Rows of an embedding that are drawn at most.
_MOST_ROWS = 20_000


class Kind(StrEnum):
    """What to draw."""

    embedding = "embedding"
    spectrum = "spectrum"
    distances = "distances"
    selection = "selection"


def plot_model(
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
    if str(model) in list(Kind):
        raise UserError(
            f"the model comes first: nearkin plot {data or 'model.nearkin'} --kind {model}."
        )
    if output is None:
        raise UserError("--output: name a file for the picture, .png, .svg or .html.")
    outputs.check_target(output, _FORMATS, force=force)
    learned = models.Model(model)
    table = known = y = None
    if kind in (Kind.embedding, Kind.distances):
        if data is None:
            raise UserError(f"{kind} is drawn of rows: name their file after the model.")
        if kind is Kind.distances and pairs is None:
            raise UserError("distances are drawn of pairs: give --pairs FILE.")
        choice = o.choose_columns(columns, exclude, id_column, delimiter, form, missing)
        table = tables.open_table(data, choice, labels=labels, model=learned)
        known = pair_files.read_known_pairs(table, pairs, choice.delimiter)
        y = None if labels is None else table.labels(labels)
    _draw(kind, learned, None if table is None else table.rows, known, y, seed, output)


def _draw(
    kind: Kind,
    model: models.Model,
    rows: RowStream | None,
    pairs: Pairs | None,
    y: Any,
    seed: int,
    path: Path,
) -> None:
    """Draw one kind of picture to a file."""
    with explain_missing_package("pictures need matplotlib", "plot"):
        from matplotlib.figure import Figure
    figure = Figure(figsize=(7, 5.5), layout="constrained")  # without a window
    ax = figure.subplots()
    name = Path(model.file).name
    if kind is Kind.spectrum:
        metric = _find_part(model, "beta_", kind, "kernel-beta")
        nk.plot.spectrum(metric, ax=ax, title=name)
    elif kind is Kind.selection:
        metric = _find_part(model, "report_", kind, "auto")
        nk.plot.selection(metric.report_, ax=ax)
    elif kind is Kind.distances:
        assert rows is not None
        assert pairs is not None
        nk.plot.distances(
            model.distances(rows, pairs.must_link),
            model.distances(rows, pairs.cannot_link),
            threshold=model.metric.threshold_,
            ax=ax,
            title=name,
        )
    else:
        assert rows is not None
        numbers = _draw_rows(len(rows), pairs, seed)
        Z = model.embed(rows.take(numbers))
        near = None if pairs is None else pairs.restrict(numbers)
        y = None if y is None else y[numbers]
        nk.plot.embedding(Z, y, pairs=near, ax=ax, title=name, legend=True)
    _save(figure, path, f"{kind} of {name}")


def _find_part(model: models.Model, attribute: str, kind: Kind, learner: str) -> Any:
    found = model.part(attribute)
    if found is None:
        raise UserError(
            f"{kind} is drawn of models of --learner {learner}; {model.file} has a "
            f"{type(model.metric).__name__}."
        )
    return found


def _draw_rows(n_rows: int, pairs: Pairs | None, seed: int) -> Ints:
    if n_rows <= _MOST_ROWS:
        return np.arange(n_rows)
    drawn = np.random.default_rng(seed).choice(n_rows, _MOST_ROWS, replace=False)
    return np.unique(drawn if pairs is None else np.concatenate([drawn, pairs.points]))


def _save(figure: Any, path: Path, title: str) -> None:
    with whole_file(path) as unfinished:
        if path.suffix.lower() != ".html":
            figure.savefig(unfinished, format=path.suffix.lower()[1:], dpi=150)
            return
        figure.savefig(unfinished, format="svg")
        drawn = unfinished.read_text(encoding="utf-8")
        drawn = drawn[drawn.index("<svg") :]
        unfinished.write_text(
            f'<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8">'
            f"<title>{html.escape(title)}</title>\n{drawn}</html>\n",
            encoding="utf-8",
        )
