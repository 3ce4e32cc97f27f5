"""Files of any form as rows of numbers, with ids and other columns beside them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.cli.failures import UserError
from nearkin.cli.files.column_choice import (
    Choice,
    Feature,
    Kinds,
    check_agreement,
    chosen_columns,
    features_of_model,
    has_words,
    matched,
    refuse_others,
    refuse_twice,
)
from nearkin.cli.files.complete_rows import complete_rows
from nearkin.cli.files.features import (
    as_text,
    features_of_columns,
    features_of_matrix,
    features_of_vectors,
)
from nearkin.cli.files.formats import Source, open_source
from nearkin.cli.files.named_rows import NamedRows, refuse_unknown
from nearkin.rows.streams import RowStream

# Columns that one column of text may become.
_MOST_CATEGORIES = 1000


@dataclass(frozen=True)
class Table(NamedRows):
    """A file that is open, as rows of numbers.

    Attributes
    ----------
    rows : RowStream
        Features, with the columns that go along.
    names : list of str or None
        Of the features; None for arrays and vectors.
    vector : str or None
        The column of vectors that the features are.
    columns : set of str
        Columns of the file that the features are of.
    fill : ndarray of shape (d,) or None
        What missing cells were filled with.
    encoder : TableEncoder or None
        What makes numbers of the columns, where words are among them.
    """

    rows: RowStream
    names: list[str] | None
    vector: str | None
    columns: set[str]
    fill: Floats | None
    encoder: Any

    @property
    def n_rows(self) -> int:
        """How many rows there are, without those that are left out."""
        return len(self.rows)

    def columns_beside(self, numbers: NDArray[np.integer]) -> Any:
        """All columns that are no features and no ids, of some rows, as a table of pyarrow.

        ``numbers`` increase. The file is read once; only these rows are kept.
        """
        used = {*(self.names or ()), self._id_column}
        names = [c for c, kind in self._source.kinds.items() if c not in used and kind != "vector"]
        parts = list(self.batches_of(numbers, names)) if names else []
        return pa.Table.from_batches(parts) if parts else pa.table({})

    @property
    def is_array(self) -> bool:
        """Whether features are those of an array, not columns of the file."""
        return self._source.matrix is not None

    @property
    def kinds(self) -> Kinds:
        """What the columns of the file hold, but for those that say where a row stands."""
        return {c: kind for c, kind in self._source.kinds.items() if c not in self._source.aside}

    def batches_of(self, numbers: NDArray[np.integer], names: Sequence[str]) -> Iterator[Any]:
        """Some rows and columns as the file has them, batch by batch; ``numbers`` increase."""
        if len(self._left_out):
            numbers = self.numbers()[numbers]
        start = 0
        for batch in self._source.batches([], names):
            first, last = np.searchsorted(numbers, [start, start + len(batch)])
            yield batch.take(pa.array(numbers[first:last] - start))
            start += len(batch)


def column_kinds(path: Path, choice: Choice) -> Kinds:
    """What the columns of a file hold: "number", "boolean", "text", "date", "vector" or other."""
    source = open_source(path, choice, "DATA")
    return {c: kind for c, kind in source.kinds.items() if c not in source.aside}


def open_table(
    path: Path,
    choice: Choice,
    *,
    labels: str | None = None,
    aside: Sequence[str] = (),
    carry: Sequence[str] | None = (),
    model: Any = None,
    role: str = "DATA",
    words: bool = True,
    encoded: bool = False,
) -> Table:
    """Open a file of rows.

    Parameters
    ----------
    path : Path
        "-" for standard input.
    choice : Choice
    labels : str, optional
        Column of classes, which is no feature.
    aside : list of str
        Other columns that are no features.
    carry : list of str or None
        Columns that go along with the rows, or patterns; None for all.
    model : Model, optional
        Whose features are to be taken.
    role : str
        What the command line calls the file.
    words : bool
        Whether columns of words are encoded, too; otherwise they are refused.
    encoded : bool
        Whether all columns are encoded, words or not.
    """
    source = open_source(path, choice, role)
    for option, column in (("--id", choice.id_column), ("--labels", labels)):
        if column is not None:
            refuse_unknown(column, source, option)
    along = list(source.kinds)
    if carry is not None:
        along = matched(carry, source.kinds, "--carry", source.file)
    layout: list[Feature] | None = None
    encoder = None if model is None else model.table
    if source.matrix is not None:
        if choice.columns or choice.exclude or choice.one_hot:
            raise UserError(
                f"{source.file} is an array without names: columns cannot be chosen from it."
            )
        features = features_of_matrix(source, along)
    else:
        others = {*source.aside, *aside, *(c for c in (choice.id_column, labels) if c is not None)}
        if carry is not None:
            others |= set(along)
        layout, of_words = _layout(
            source, choice, others, labels, model, words=words, encoded=encoded
        )
        if of_words:
            from nearkin.cli.files.words import (
                features_of_table,
                fitted_encoder,
                refuse_missing_policy,
            )

            if encoder is None:
                encoder = fitted_encoder(source, [one.column for one in layout], choice)
            refuse_missing_policy(choice)
            source = replace(source, direct=None)  # which reads numbers only
            features = features_of_table(source, encoder, along)
        elif len(layout) == 1 and source.kinds[layout[0].column] == "vector":
            features = features_of_vectors(source, layout[0].column, along)
        else:
            features = features_of_columns(source, layout, along)
    if model is not None:
        model.check_width(features.n_columns, source.file)
    found = complete_rows(source, features, layout, along, choice.missing, model)
    return Table(
        source.file,
        source,
        choice.id_column,
        found.left_out,
        rows=found.rows,
        names=features.names,
        vector=features.vector,
        columns={feature.column for feature in layout or ()},
        fill=found.fill,
        encoder=encoder,
    )


def _layout(
    source: Source,
    choice: Choice,
    others: set[str],
    labels: str | None,
    model: Any,
    *,
    words: bool,
    encoded: bool,
) -> tuple[list[Feature], bool]:
    """Where features come from, and whether columns of words are encoded among them."""
    if model is not None and model.table is not None:
        layout = [Feature(name, name) for name in model.table.columns_ if name in source.kinds]
        check_agreement(layout, source.kinds, choice, source.file, model.file)
        return layout, True
    if model is not None and model.names is not None:
        layout = features_of_model(model.names, source.kinds, source.file, model.file)
        check_agreement(layout, source.kinds, choice, source.file, model.file)
        return layout, False
    if model is not None and not choice.columns and source.kinds.get(model.vector) == "vector":
        return [Feature(model.vector, model.vector)], False
    numeric, one_hot = chosen_columns(source.kinds, choice, others, labels, source.file)
    has = encoded or has_words(source.kinds, numeric) or choice.states_kinds
    if words and model is None and has:
        columns = [name for name in source.kinds if name in {*numeric, *one_hot}]
        return [Feature(name, name) for name in columns], True
    refuse_others(source.kinds, numeric, source.file)
    layout = [Feature(name, name) for name in numeric]
    for column in one_hot:
        if source.kinds[column] == "vector":
            raise UserError(f"--one-hot {column}: the column holds vectors.")
        layout += [Feature(f"{column}={v}", column, v) for v in _distinct(source, column)]
    refuse_twice([feature.name for feature in layout], source.file)
    return layout, False


def _distinct(source: Source, column: str) -> list[str]:
    values: set[Any] = set()
    for batch in source.batches([], [column]):
        values |= set(pc.unique(as_text(batch.column(column))).to_pylist())
        if len(values) > _MOST_CATEGORIES:
            raise UserError(
                f"--one-hot {column}: the column of {source.file} has more than {_MOST_CATEGORIES} "
                "values, each of which would be a column. Is it an id?"
            )
    return sorted(values - {None})
