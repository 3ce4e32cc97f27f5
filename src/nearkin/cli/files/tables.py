"""Files of any form as rows of numbers, with ids and other columns beside them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nearkin.cli.failures import UserError, guess
from nearkin.cli.files.column_choice import (
    Choice,
    Feature,
    Kinds,
    check_agreement,
    features_of_model,
    matched,
    numeric_and_one_hot,
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
from nearkin.rows.arrays import Floats
from nearkin.rows.streams import RowStream

# Columns that one column of text may become.
_MOST_VALUES = 1000
# Without zeros in front: "007" and "7" are two names.
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.0*)?")
# Columns that are shown with a question.
_FEW_SHOWN = 8


@dataclass(frozen=True)
class Table:
    """A file that is open.

    Attributes
    ----------
    file : str
        For messages.
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
    """

    file: str
    rows: RowStream
    names: list[str] | None
    vector: str | None
    columns: set[str]
    fill: Floats | None
    _source: Source
    _id_column: str | None
    _left_out: NDArray[np.int64]

    def values(self, column: str, option: str) -> Any:
        """All values of a column, as an array of pyarrow."""
        return self._kept(self._values(column, option))

    def _values(self, column: str, option: str) -> Any:
        """The same, also of rows that are left out."""
        refuse_unknown(column, self._source, option)
        parts = [batch.column(column) for batch in self._source.batches([], [column])]
        return pa.chunked_array(parts).combine_chunks()

    def _kept(self, values: Any) -> Any:
        """Of values for all rows of the file, those of rows that are not left out."""
        return values.take(pa.array(self.numbers())) if len(self._left_out) else values

    @property
    def n_rows_of_file(self) -> int:
        """How many rows the file has, also those that are left out."""
        return len(self.rows) + len(self._left_out)

    def numbers(self) -> NDArray[np.int64]:
        """Numbers of the rows in the file."""
        return np.delete(np.arange(self.n_rows_of_file), self._left_out)

    def places(self) -> NDArray[np.int64] | None:
        """For each row of the file its number among ``rows``, -1 if left out; None if none is."""
        if not len(self._left_out):
            return None
        places = np.full(self.n_rows_of_file, -1)
        places[self.numbers()] = np.arange(len(self.rows))
        return places

    @property
    def id_name(self) -> str:
        """What the ids are called: the column, or "row"."""
        return self._id_column or "row"

    def ids(self) -> Any:
        """Texts that tell rows apart, checked, as an array of pyarrow; None without them."""
        ids = self.ids_of_file()
        return None if ids is None else self._kept(ids)

    def ids_of_file(self) -> Any:
        """Ids of all rows of the file, also of those that are left out."""
        if self._id_column is None:
            return None
        ids = as_text(self._values(self._id_column, "--id"))
        where = f"column {self._id_column!r} of {self.file}"
        if ids.null_count:
            row = int(ids.is_null().to_numpy(zero_copy_only=False).argmax())
            raise UserError(f"{self._source.where(row)}, {where} is empty: every row needs an id.")
        codes = ids.dictionary_encode().indices.to_numpy()
        first, counts = np.unique(codes, return_index=True, return_counts=True)[1:]
        if len(first) < len(codes):
            again = codes[first[counts > 1].min()]
            one, two = np.flatnonzero(codes == again)[:2]
            n_more = int((counts > 1).sum()) - 1
            more = f", and {n_more} more are not unique" if n_more else ""
            first_at, again_at = (self._source.where(int(row)) for row in (one, two))
            raise UserError(
                f"{where} has {ids[int(one)].as_py()!r} in {first_at} and in {again_at}{more}: ids "
                "must differ."
            )
        return ids

    def shown_ids(self) -> Any:
        """Ids, or row numbers, as an array of pyarrow."""
        ids = self.ids()
        return pa.array(self.numbers()) if ids is None else ids

    def shown(self, patterns: Sequence[str]) -> Any:
        """Some columns to show to a person, the first few by default, as a table of pyarrow."""
        names = matched(patterns, self._source.kinds, "--show", self.file)
        if not names:
            names = [name for name in self._source.kinds if name != self._id_column][:_FEW_SHOWN]
        batches = list(self._source.batches([], names)) if names else []
        return self._kept(pa.Table.from_batches(batches)) if batches else pa.table({})

    def columns_beside(self, numbers: NDArray[np.integer]) -> Any:
        """All columns that are no features and no ids, of some rows, as a table of pyarrow.

        ``numbers`` increase. The file is read once; only these rows are kept.
        """
        if len(self._left_out):
            numbers = self.numbers()[numbers]
        used = {*(self.names or ()), self._id_column}
        names = [c for c, kind in self._source.kinds.items() if c not in used and kind != "vector"]
        parts, start = [], 0
        for batch in self._source.batches([], names) if names else ():
            first, last = np.searchsorted(numbers, [start, start + len(batch)])
            parts.append(batch.take(pa.array(numbers[first:last] - start)))
            start += len(batch)
        return pa.Table.from_batches(parts) if parts else pa.table({})

    def labels(self, column: str) -> NDArray[Any]:
        """Classes of all rows: whole numbers with -1 for unknown, or texts with None."""
        values = self.values(column, "--labels")
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        found = [None if _is_missing(value) else value for value in values.to_pylist()]
        if all(value is None for value in found):
            raise UserError(f"column {column!r} of {self.file} has no labels: all are empty.")
        numbers = [-1 if value is None else _whole(value) for value in found]
        if None not in numbers:
            return np.array(numbers, dtype=np.int64)
        return np.array([None if value is None else str(value) for value in found], dtype=object)


def _is_missing(value: Any) -> bool:
    return value is None or value == "" or value != value


def _whole(value: Any) -> int | None:
    """A whole number, also as a text such as "-1" or "2.0"; None for anything else."""
    if isinstance(value, str):
        return int(float(value)) if _WHOLE.fullmatch(value) else None
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if is_whole and abs(value) < 2**63 else None


def refuse_unknown(column: str, source: Source, option: str) -> None:
    """Raise if a file does not have the column that an option names."""
    if column not in source.kinds:
        there = guess(column, source.kinds) if source.kinds else "its columns have no names."
        raise UserError(f"{option} {column}: no such column in {source.file}; {there}")


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
    """
    source = open_source(path, choice, role)
    for option, column in (("--id", choice.id_column), ("--labels", labels)):
        if column is not None:
            refuse_unknown(column, source, option)
    along = list(source.kinds)
    if carry is not None:
        along = matched(carry, source.kinds, "--carry", source.file)
    layout: list[Feature] | None = None
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
        layout = _layout(source, choice, others, labels, model)
        if len(layout) == 1 and source.kinds[layout[0].column] == "vector":
            features = features_of_vectors(source, layout[0].column, along)
        else:
            features = features_of_columns(source, layout, along)
    if model is not None:
        model.check_width(features.n_columns, source.file)
    found = complete_rows(source, features, layout, along, choice.missing, model)
    return Table(
        source.file,
        found.rows,
        features.names,
        features.vector,
        {feature.column for feature in layout or ()},
        found.fill,
        source,
        choice.id_column,
        found.left_out,
    )


def _layout(
    source: Source, choice: Choice, others: set[str], labels: str | None, model: Any
) -> list[Feature]:
    if model is not None and model.names is not None:
        layout = features_of_model(model.names, source.kinds, source.file, model.file)
        check_agreement(layout, source.kinds, choice, source.file, model.file)
        return layout
    if model is not None and not choice.columns and source.kinds.get(model.vector) == "vector":
        return [Feature(model.vector, model.vector)]
    numeric, one_hot = numeric_and_one_hot(source.kinds, choice, others, labels, source.file)
    layout = [Feature(name, name) for name in numeric]
    for column in one_hot:
        if source.kinds[column] == "vector":
            raise UserError(f"--one-hot {column}: the column holds vectors.")
        layout += [Feature(f"{column}={v}", column, v) for v in _distinct(source, column)]
    refuse_twice([feature.name for feature in layout], source.file)
    return layout


def _distinct(source: Source, column: str) -> list[str]:
    values: set[Any] = set()
    for batch in source.batches([], [column]):
        values |= set(pc.unique(as_text(batch.column(column))).to_pylist())
        if len(values) > _MOST_VALUES:
            raise UserError(
                f"--one-hot {column}: the column of {source.file} has more than {_MOST_VALUES} "
                "values, each of which would be a column. Is it an id?"
            )
    return sorted(values - {None})
