"""The rows of a file by their ids or numbers, and its columns as they are."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nearkin.cli.failures import UserError, guess
from nearkin.cli.files.batches import refuse_clash
from nearkin.cli.files.column_choice import matched
from nearkin.cli.files.features import as_text
from nearkin.cli.files.formats import Source

# Columns that are shown with a question.
_FEW_SHOWN = 8
# Without zeros in front: "007" and "7" are two names.
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.0*)?")


@dataclass(frozen=True)
class NamedRows(ABC):
    """A file that is open, whose rows have names.

    Attributes
    ----------
    file : str
        For messages.
    """

    file: str
    _source: Source
    _id_column: str | None
    _left_out: NDArray[np.int64]

    @property
    @abstractmethod
    def n_rows(self) -> int:
        """How many rows there are, without those that are left out."""

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
        return self.n_rows + len(self._left_out)

    def numbers(self) -> NDArray[np.int64]:
        """Numbers of the rows in the file."""
        return np.delete(np.arange(self.n_rows_of_file), self._left_out)

    def places(self) -> NDArray[np.int64] | None:
        """For each row of the file its number among those kept, -1 if left out; None if none is."""
        if not len(self._left_out):
            return None
        places = np.full(self.n_rows_of_file, -1)
        places[self.numbers()] = np.arange(self.n_rows)
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

    def labels(self, column: str) -> NDArray[Any]:
        """Classes of all rows: whole numbers or texts, None where a cell is empty."""
        values = self.values(column, "--labels")
        if pa.types.is_dictionary(values.type):
            values = values.dictionary_decode()
        found = [None if _is_missing(value) else value for value in values.to_pylist()]
        if all(value is None for value in found):
            raise UserError(f"column {column!r} of {self.file} has no labels: all are empty.")
        numbers = [None if value is None else _whole(value) for value in found]
        if numbers.count(None) > found.count(None):  # not only numbers
            return np.array([None if value is None else str(value) for value in found], object)
        if {*numbers} - {None} == {-1, 1}:
            raise UserError(
                f"column {column!r} of {self.file} has the labels -1 and 1 alone, and -1 means "
                "unknown: all known rows would be of one class. Write 0 for -1 there if these are "
                "two classes; leave cells empty where the class is unknown."
            )
        return np.array(numbers, dtype=object if None in numbers else np.int64)

    def named_like(self, pattern: str) -> list[str]:
        """Columns that a name or a pattern stands for."""
        return [
            name for name in self._source.kinds if name == pattern or fnmatchcase(name, pattern)
        ]

    def to_carry(self, patterns: Sequence[str], beside: Sequence[str]) -> list[str]:
        """Columns that go along into an output, which has others beside them."""
        names = matched(patterns, self._source.kinds, "--carry", self.file)
        refuse_clash(names, [self.id_name, *beside])
        return names

    def carried(self, names: Sequence[str], rows: Any) -> dict[str, Any]:
        """Some rows of columns, as the file has them."""
        batches = list(self._source.batches([], names)) if names else []
        if not batches:
            return {}
        kept = self._kept(pa.Table.from_batches(batches)).take(pa.array(rows))
        return {name: kept.column(name).combine_chunks() for name in names}


def _is_missing(value: Any) -> bool:
    return value is None or value != value or (isinstance(value, str) and not value.strip())


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
