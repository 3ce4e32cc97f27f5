"""Pictures in files."""

from __future__ import annotations

import html
from pathlib import Path
from typing import Any

import numpy as np

from nearkin import plot as pictures
from nearkin.cli.failures import UserError
from nearkin.cli.judging import distances_of
from nearkin.cli.models import Model
from nearkin.errors import needing
from nearkin.pairs.pairs import Pairs
from nearkin.rows.streams import RowStream
from nearkin.storage.files import whole_file

FORMATS = (".png", ".svg", ".html")
_MOST_ROWS = 20_000


def draw(
    kind: str,
    model: Model,
    rows: RowStream | None,
    pairs: Pairs | None,
    y: Any,
    seed: int,
    path: Path,
) -> None:
    """Draw one kind of picture to a file."""
    with needing("pictures need matplotlib", "plot"):
        from matplotlib.figure import Figure
    figure = Figure(figsize=(7, 5.5), layout="constrained")  # without a window
    ax = figure.subplots()
    name = Path(model.file).name
    if kind == "spectrum":
        metric = _part(model, "beta_", "spectrum", "kernel-beta")
        pictures.spectrum(metric, ax=ax, title=name)
    elif kind == "selection":
        metric = _part(model, "report_", "selection", "auto")
        pictures.selection(metric.report_, ax=ax)
    elif kind == "distances":
        assert rows is not None
        assert pairs is not None
        pictures.distances(
            distances_of(model, rows, pairs.must_link),
            distances_of(model, rows, pairs.cannot_link),
            threshold=model.metric.threshold_,
            ax=ax,
            title=name,
        )
    else:
        assert rows is not None
        numbers = _shown_rows(len(rows), pairs, seed)
        Z = model.embed(rows.take(numbers))
        near = None if pairs is None else pairs.restrict(numbers)
        y = None if y is None else y[numbers]
        pictures.embedding(Z, y, pairs=near, ax=ax, title=name, legend=True)
    _save(figure, path, f"{kind} of {name}")


def _part(model: Model, attribute: str, kind: str, learner: str) -> Any:
    found = model.part(attribute)
    if found is None:
        raise UserError(
            f"{kind} is drawn of models of --learner {learner}; {model.file} has a "
            f"{type(model.metric).__name__}."
        )
    return found


def _shown_rows(n_rows: int, pairs: Pairs | None, seed: int) -> Any:
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
