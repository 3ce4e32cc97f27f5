"""Files of records: columns of words, dates and codes as they are, which are compared."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from nearkin._types import Ints
from nearkin.cli.failures import UserError, listed
from nearkin.cli.files.column_choice import (
    Choice,
    Feature,
    check_agreement,
    chosen_columns,
    has_words,
)
from nearkin.cli.files.formats import Source, open_source
from nearkin.cli.files.named_rows import NamedRows, refuse_unknown
from nearkin.cli.files.words import refuse_missing_policy, say_kinds, stated_kinds
from nearkin.cli.messages import say
from nearkin.records.comparisons import columns_known, columns_of_both
from nearkin.records.matcher import RecordMatcher
from nearkin.records.results import canonical
from nearkin.tables.reading import Column, columns_of
from nearkin.tables.roles import names_rows


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

    def column_of_ids(self) -> str | None:
        """A column that seems to name records, if there is any: no two have the same there."""
        return next(
            (
                name
                for name in filter(names_rows, self._source.kinds)
                if len(self.values(name, "--id").unique().drop_null()) == self.n_rows
            ),
            None,
        )

    def one_of_each(self, labels: Ints) -> dict[str, Any]:
        """One record for each thing: of each column the cell that most of its records have.

        It has the id of the first record, how many there are, and all columns of the file but
        vectors. ``labels`` number things in the order of first records.
        """
        first = np.unique(labels, return_index=True)[1]
        found = {
            self.id_name: self.shown_ids().take(pa.array(first)),
            "records": np.bincount(labels),
        }
        kinds = self._source.kinds
        names = [n for n in kinds if n != self._id_column and kinds[n] != "vector"]
        once = canonical(pa.table(self.carried(names, np.arange(self.n_rows))), labels)
        return {**found, **{name: once.column(name).combine_chunks() for name in names}}


def has_records(path: Path, choice: Choice) -> bool:
    """Whether words are among the columns of a file that would be learned from."""
    source = open_source(path, choice, "DATA")
    if source.matrix is not None:
        return False
    return has_words(source.kinds, _chosen(source, choice, quietly=True))


def open_records(
    path: Path,
    choice: Choice,
    *,
    columns: Sequence[str] | None = None,
    role: str = "DATA",
    least: int = 2,
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
    least : int
        Rows that it must have.
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
    if columns is not None:
        layout = [Feature(name, name) for name in names]
        check_agreement(layout, source.kinds, choice, source.file, "the matcher")
    batches = list(source.batches([], names))
    if sum(map(len, batches)) < least:
        raise UserError(
            f"{source.file} has too few rows: {('one is', 'two are')[least - 1]} needed at least."
        )
    nobody = np.empty(0, dtype=np.int64)
    cells = pa.Table.from_batches(batches)
    records = Records(source.file, source, choice.id_column, nobody, cells=cells)
    if choice.id_column is None and (name := records.column_of_ids()):
        say(f"note: records of {source.file} go by their row numbers; --id {name} names them.")
    return records


def columns_to_compare(records: Records, choice: Choice) -> list[Column]:
    """Columns with what they hold, as the user says it or as it is recognised, which is told."""
    stated = stated_kinds(choice, records.compared, records.file)
    return _told(columns_of(records.cells, stated, choice.dates))


def columns_in_common(left: Records, right: Records, choice: Choice) -> list[list[Column]]:
    """The same of columns that two files have."""
    both = [name for name in left.compared if name in right.compared]
    stated = stated_kinds(choice, both, f"{left.file} or {right.file}")
    one, other = (records.cells.select(both) for records in (left, right))
    first, second = columns_of_both(one, other, stated, choice.dates)
    return [_told(first), second]


def columns_as_learned(records: Records, choice: Choice, matcher: RecordMatcher) -> list[Column]:
    """Columns as a matcher knows them; only the order of dates may be another in this file."""
    for name, kind in choice.kinds.items():
        learned = matcher.kinds_.get(name, "not among its columns")
        if learned != kind:
            raise UserError(
                f"--kinds {name}={kind}: to the matcher, {name!r} is {learned}, and what it has "
                "learned goes by that. Learn anew to change it."
            )
    orders = matcher.orders_
    if choice.dates is not None:
        dates = [name for name, kind in matcher.kinds_.items() if kind == "date"]
        orders = {**orders, **dict.fromkeys(dates, choice.dates)}
    return columns_known(records.cells, matcher.kinds_, orders)


def _told(columns: list[Column]) -> list[Column]:
    say_kinds({column.name: column.kind for column in columns})
    return columns


def _chosen(source: Source, choice: Choice, *, quietly: bool = False) -> list[str]:
    aside = {*source.aside, choice.id_column} - {None}
    plain, one_hot = chosen_columns(
        source.kinds, choice, [name for name in aside if name], None, source.file, quietly=quietly
    )
    return [name for name in source.kinds if name in {*plain, *one_hot}]
