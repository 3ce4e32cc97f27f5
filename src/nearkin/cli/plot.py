"""``nearkin plot``: a picture of rows in the learned space."""

# Options are defaults, as typer reads them.
# ruff: noqa: B008

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import nearkin as nk
from nearkin.cli import options as o
from nearkin.cli.common import UserError, models, np, outputs, pair_files, tables
from nearkin.errors import explain_missing_package
from nearkin.storage.files import whole_file

if TYPE_CHECKING:
    from nearkin._types import Ints

# Rows that are drawn at most.
_MOST_ROWS = 20_000


def plot_model(
    model: Path = o.MODEL,
    data: Path = o.DATA,
    output: Path | None = o.option("--output -o FILE", "The picture: .png or .svg."),
    pairs: Path | None = o.PAIRS,
    labels: str | None = o.LABELS,
    *,
    choice: o.Columns,
    force: bool = o.FORCE,
    seed: int = o.SEED,
) -> None:
    """Draw rows along two axes of the learned space, and pairs as lines. Of many rows 20 000.

    nearkin plot model.nearkin rows.csv -o picture.svg
    """
    if output is None:
        raise UserError("--output: name a file for the picture, .png or .svg.")
    outputs.check_target(output, (".png", ".svg"), force=force)
    learned = models.Model(model)
    table = tables.open_table(data, choice, labels=labels, model=learned)
    known = pair_files.read_known_pairs(table, pairs, choice.delimiter)
    y = None if labels is None else table.labels(labels)
    with explain_missing_package("pictures need matplotlib", "plot"):
        from matplotlib.figure import Figure
    figure = Figure(figsize=(7, 5.5), layout="constrained")  # without a window
    numbers = _draw_rows(len(table.rows), known, seed)
    nk.plot.embedding(
        learned.embed(table.rows.take(numbers)),
        None if y is None else y[numbers],
        pairs=None if known is None else known.restrict(numbers),
        ax=figure.subplots(),
        title=Path(learned.file).name,
        legend=True,
    )
    with whole_file(output) as unfinished:
        figure.savefig(unfinished, format=output.suffix.lower()[1:], dpi=150)


def _draw_rows(n_rows: int, pairs: nk.Pairs | None, seed: int) -> Ints:
    """Rows that are drawn: all, or some at random and those of pairs."""
    if n_rows <= _MOST_ROWS:
        return np.arange(n_rows)
    drawn = np.random.default_rng(seed).choice(n_rows, _MOST_ROWS, replace=False)
    return np.unique(drawn if pairs is None else np.concatenate([drawn, pairs.points]))
