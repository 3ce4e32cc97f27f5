"""Why pairs of rows in a file are near or far."""

from __future__ import annotations

from copy import copy
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nearkin.cli.failures import UserError
from nearkin.cli.files.pairs import pairs_of
from nearkin.cli.files.tables import Table
from nearkin.cli.models import Model
from nearkin.learners.explain import Explanation, words_of
from nearkin.scores.verdicts import Verdicts


class Reasons:
    """Explains pairs of rows of a table by a model.

    Parameters
    ----------
    model : Model
    table : Table
    taught : Path or None
        Answers about this table that the model was learned from.
    delimiter : str or None
    verdicts : Verdicts
        Which say how likely two rows are the same.
    radius : float
        Distance up to which rows are called the same.
    """

    def __init__(
        self,
        model: Model,
        table: Table,
        taught: Path | None,
        delimiter: str | None,
        verdicts: Verdicts,
        radius: float,
    ) -> None:
        self._model, self._table = model, table
        self._verdicts, self._radius = verdicts, radius
        self._metric = copy(model.metric)
        groups = model.names if model.table is None else model.table.groups_
        if groups is not None:
            self._metric._names_of_columns = list(groups)
        self._told: tuple[Any, ...] = ()
        if taught is not None:
            file = pairs_of(table, taught, delimiter=delimiter, role="--taught")
            pairs = file.pairs(table.n_rows)
            if not len(pairs):
                raise UserError(f"{taught} has no answers: --taught takes those that were learned.")
            X = table.rows.take(np.arange(table.n_rows))
            self._told = (self._metric._taught_again(X, pairs), X, pairs)

    def of(self, left: int, right: int) -> Explanation:
        """Why two rows are as far apart as they are, by their numbers."""
        ends = np.array([left, right])
        numbers, places = np.unique(ends, return_inverse=True)
        rows = [row[None] for row in self._table.rows.take(numbers)[places]]
        found: Explanation = self._metric.explain(*rows)
        chance = float(self._verdicts.chance(np.array(found.distance)))
        found = replace(found, chance=chance, threshold=self._radius)
        if self._told and found.distance:
            metric, X, pairs = self._told
            answers, remark = metric._pulls_as_taught(rows, found.distance**2, X, pairs)
            found = replace(found, answers=answers, remark=remark)
        elif not self._told:
            found = replace(found, remark="Which answers pull them: --taught ANSWERS says it.")
        return found if self._model.table is None else self._with_words(found, numbers, places)

    def _with_words(self, found: Explanation, numbers: Any, places: Any) -> Explanation:
        encoder = self._model.table
        batches = list(self._table.batches_of(numbers, encoder.columns_))
        cells = pa.Table.from_batches(batches)
        rows = [cells.slice(int(place), 1) for place in places]
        left, right = (encoder.cells(row) for row in rows)
        values = {name: (left[name], right[name]) for name in left}
        words = words_of(encoder, self._metric.map_, *rows) if found.distance else {}
        return replace(found, values=values, words=words)

    def text(self, explained: list[Explanation], left: Any, right: Any) -> str:
        """Explanations one below the other, with what rows are called."""
        names = self._table.shown_ids().to_pylist()
        parts = [
            f"{a} and {b}\n{one.text(names)}\n"
            for one, a, b in zip(explained, left, right, strict=True)
        ]
        return "\n".join(parts)
