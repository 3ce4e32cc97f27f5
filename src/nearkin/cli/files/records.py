"""Files of records: columns of words, dates and codes as they are, which are compared."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from nearkin.cli.failures import UserError, listed
from nearkin.cli.files.column_choice import Choice, chosen_columns, has_words
from nearkin.cli.files.features import as_text
from nearkin.cli.files.formats import Source, open_source
from nearkin.cli.files.named_rows import NamedRows, refuse_unknown
from nearkin.cli.files.words import refuse_missing_policy, say_kinds, stated_kinds
from nearkin.records.results import canonical
from nearkin.rows.arrays import Ints
from nearkin.tables.columns import Column
from nearkin.tables.values import columns_of


@dataclass(frozen=True)
class Records(NamedRows):
    """A file of records, held in memory.

    Attributes
    ----------
    cells : table of pyarrow
        The columns that are compared, as the file has them.
    """

    cells: Any

    @property
    def n_rows(self) -> int:
        """How many records there are."""
        return len(self.cells)

    @property
    def compared(self) -> list[str]:
        """Names of the columns that are compared."""
        return list(self.cells.column_names)

    def one_of_each(self, labels: Ints) -> dict[str, Any]:
        """One record for each thing: of each column the value that most of its records have.

        It has the id of the first record, how many there are, and all columns of the file but
        vectors. ``labels`` number things in the order of first records.
        """
        first = np.unique(labels, return_index=True)[1]
        found = {
            self.id_name: self.shown_ids().take(pa.array(first)),
            "records": np.bincount(labels),
        }
        for name, kind in self._source.kinds.items():
            if name != self._id_column and kind != "vector":
                found[name] = _of_each(self.values(name, "--columns"), labels)
        return found


def has_records(path: Path, choice: Choice) -> bool:
    """Whether words are among the columns of a file that would be learned from."""
    source = open_source(path, choice, "DATA")
    if source.matrix is not None:
        return False
    return has_words(source.kinds, _chosen(source, choice, quietly=True))


def open_records(
    path: Path, choice: Choice, *, columns: Sequence[str] | None = None, role: str = "DATA"
) -> Records:
    """Open a file of records, and read the columns that are compared.

    Parameters
    ----------
    path : Path
        "-" for standard input.
    choice : Choice
    columns : list of str, optional
        What is compared; by default what the user chose, or all but ids and the like.
    role : str
        What the command line calls the file.
    """
    source = open_source(path, choice, role)
    refuse_missing_policy(choice)
    if source.matrix is not None:
        raise UserError(f"{source.file} is an array of numbers: records have columns with names.")
    if choice.id_column is not None:
        refuse_unknown(choice.id_column, source, "--id")
    names = _chosen(source, choice) if columns is None else list(columns)
    absent = [name for name in names if name not in source.kinds]
    if absent:
        raise UserError(
            f"the matcher compares columns that {source.file} does not have: {listed(absent)}."
        )
    batches = list(source.batches([], names))
    if sum(map(len, batches)) < 2:
        raise UserError(f"{source.file} has too few rows: two are needed at least.")
    nobody = np.empty(0, dtype=np.int64)
    cells = pa.Table.from_batches(batches)
    return Records(source.file, source, choice.id_column, nobody, cells=cells)


def columns_to_compare(
    cells: Any, choice: Choice, file: str, kinds: Mapping[str, str] | None = None
) -> list[Column]:
    """Columns with what they hold: as a matcher knows them, as the user says, or as recognised."""
    stated = stated_kinds(choice, cells.column_names, file)
    found = columns_of(cells, {**stated, **(kinds or {})}, choice.dates)
    if kinds is None:
        say_kinds({column.name: column.kind for column in found})
    return found


def beneath(left: Any, right: Any, names: Sequence[str]) -> Any:
    """Cells of two tables, one beneath the other; as texts where their types differ."""
    found = {}
    for name in names:
        parts = [table.column(name).combine_chunks() for table in (left, right)]
        if parts[0].type != parts[1].type:
            parts = [as_text(part) for part in parts]
        found[name] = pa.chunked_array(parts)
    return pa.table(found)


def _chosen(source: Source, choice: Choice, *, quietly: bool = False) -> list[str]:
    aside = {*source.aside, choice.id_column} - {None}
    plain, one_hot = chosen_columns(
        source.kinds, choice, [name for name in aside if name], None, source.file, quietly=quietly
    )
    return [name for name in source.kinds if name in {*plain, *one_hot}]


def _of_each(values: Any, labels: Ints) -> Any:
    """Of each thing the value that most of its records have, in the type of the column."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    encoded = values.dictionary_encode()
    texts = as_text(encoded.dictionary)
    column = Column("", "name", np.array([*as_text(values).to_pylist(), None], dtype=object)[:-1])
    chosen = pa.array(canonical([column], labels)[""], pa.string())
    return encoded.dictionary.take(pc.index_in(chosen, value_set=texts))
