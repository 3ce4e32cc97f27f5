"""Files of any form as rows of numbers, with ids and other columns beside them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from nearkin._types import Floats, Ints
from nearkin.cli.common import (
    UserError,
    comparisons,
    quote_names,
    record_results,
    say,
    suggest_name,
)
from nearkin.cli.files.columns import (
    Choice,
    Feature,
    Features,
    Kinds,
    Unseen,
    check_agreement,
    choose_features,
    fit_encoder,
    has_words,
    match_columns,
    open_features,
    pick_columns,
    read_texts,
    refuse_missing_policy,
    say_kinds,
    stated_kinds,
)
from nearkin.cli.files.inputs import Input, Source, open_source
from nearkin.cli.files.output import refuse_clash
from nearkin.errors import counted
from nearkin.rows.backends import Block
from nearkin.rows.streams import RowStream, open_npy, open_stream
from nearkin.tables.reading import Column, recognise_id_name

if TYPE_CHECKING:
    from nearkin.records.matcher import RecordMatcher

# Values that medians are found from, in all columns together (64 MB), and in each in any case.
_MOST_VALUES, _FEWEST_VALUES = 2**23, 1000
# Columns that a message names.
_MOST_NAMED = 20

Blocks = Iterable[Floats]


@dataclass(frozen=True)
class Missing:
    """Rows with missing cells, and the number of missing cells by column."""

    n_rows: int
    rows: NDArray[np.int64]
    counts: dict[str, int]

    def list_counts(self) -> str:
        """List columns with their numbers of missing cells."""
        named = list(self.counts.items())
        text = ", ".join(f"{count} in {column}" for column, count in named[:_MOST_NAMED])
        more = len(named) - _MOST_NAMED
        return text + (f" and some in {more} columns more" if more > 0 else "")

    def describe(self, file: str) -> str:
        """Sentence part: how many rows have missing cells, and in which columns."""
        rows = f"{len(self.rows)} of {counted(self.n_rows, 'row')} of {file}"
        return f"missing cells in {rows} ({self.list_counts()})"


def count_missing(
    blocks: Blocks, columns: Sequence[str], refuse_infinite: Callable[[int, str, float], None]
) -> Missing:
    """Count missing cells, NaN, in blocks of rows.

    ``columns`` are names for messages of the column that each feature comes from.
    ``refuse_infinite`` is called with row, column and value if a number is infinite.
    """
    names = np.array(columns, dtype=object)
    counts: dict[str, int] = dict.fromkeys(columns, 0)
    incomplete: list[NDArray[np.int64]] = []
    start = 0
    for rows in blocks:
        with np.errstate(over="ignore", invalid="ignore"):
            suspicious = not np.isfinite(rows.sum())
        if suspicious:
            infinite = np.argwhere(np.isinf(rows))
            if len(infinite):
                row, j = infinite[0].tolist()
                refuse_infinite(start + row, columns[j], float(rows[row, j]))
            missing = np.isnan(rows)
            of = names[missing.any(axis=0)]
            for name in dict.fromkeys(of.tolist()):
                counts[name] += int(missing[:, names == name].any(axis=1).sum())
            incomplete.append(start + np.flatnonzero(missing.any(axis=1)))
        start += len(rows)
    found = np.concatenate([np.empty(0, dtype=np.int64), *incomplete])
    return Missing(start, found, {name: count for name, count in counts.items() if count})


def find_medians(blocks: Blocks, columns: Sequence[str], missing: Missing) -> Floats:
    """Median (d,) of each feature's values, of many a sample of 1000 at least; NaN for none."""
    most = max(_FEWEST_VALUES, _MOST_VALUES // len(columns))
    rng = np.random.default_rng(0)
    drawn: list[list[Floats]] = [[] for _ in columns]
    for rows in blocks:
        for j, name in enumerate(columns):
            values = rows[:, j]
            values = values[~np.isnan(values)]
            n_values = missing.n_rows - missing.counts.get(name, 0)
            if n_values > most:
                values = values[rng.random(len(values)) < most / n_values]
            drawn[j].append(values)
    found = map(np.concatenate, drawn)
    return np.array([np.median(values) if len(values) else np.nan for values in found])


class MissingCellsError(UserError):
    """Cells are missing, and --missing does not say what to do."""


@dataclass(frozen=True)
class _RowCompletion:
    """Makes complete rows from features with missing cells, by the user's policy."""

    source: Source
    features: Features
    model: Any

    def rows(
        self, policy: str | None, layout: list[Feature], along: list[str]
    ) -> tuple[RowStream, NDArray[np.int64], Floats | None]:
        """Stream of complete rows, numbers of rows left out, and fill values (d,) or None.

        ``policy`` is "fill", "drop" or "error"; None means "fill" if the model has fill values.
        """
        nobody = np.empty(0, dtype=np.int64)
        if policy is None and self.model is not None and self.model.fill is not None:
            policy = "fill"
        if policy in (None, "error") and (direct := self._open_directly(layout, along)) is not None:
            return direct, nobody, None
        missing, file = self._count_missing(), self.source.file
        if missing.n_rows == 0:
            raise UserError(f"{file} has no rows.")
        left_out, fill = nobody, None
        if policy == "fill":
            fill = self._fill_values(missing)
            done = "filled with the medians of the columns"
            if self.model is not None:
                done = f"filled with what {self.model.file} remembers"
        elif policy == "drop":
            left_out = missing.rows
            n_left = missing.n_rows - len(left_out)
            if n_left == 0:
                raise UserError(f"{missing.describe(file)}: none is left.")
            done = f"left out, which leaves {counted(n_left, 'row')}"
        elif missing.counts:
            raise self._missing_error(missing)
        if missing.counts:
            say(f"note: {missing.describe(file)}: {done}")

        def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
            start = number = 0
            for rows, carried in self.features.read(None):
                first, last = np.searchsorted(left_out, [number, number + len(rows)])
                there = np.delete(np.arange(len(rows)), left_out[first:last] - number)
                number += len(rows)
                if len(there) < len(rows):
                    rows = rows[there]
                    carried = None if carried is None else carried.take(pa.array(there))
                if fill is not None and np.isnan(rows).any():
                    rows = np.where(np.isnan(rows), fill.astype(rows.dtype), rows)
                yield Block(start, rows, carried)
                start += len(rows)

        stream = RowStream(
            read,
            n_rows=missing.n_rows - len(left_out),
            n_columns=len(self.features.columns),
            dtype=self.features.dtype,
            names=self.features.names,
            source=file,
        )
        return stream, left_out, fill

    def _count_missing(self) -> Missing:
        """Count missing cells; values unknown to the model are reported."""
        if self.features.count is not None:
            return Missing(self.features.count(), np.empty(0, dtype=np.int64), {})
        unseen: Unseen = {}
        blocks = (rows for rows, _ in self.features.read(unseen))
        missing = count_missing(blocks, self.features.columns, self._refuse_infinite)
        for column, others in unseen.items():
            examples = ", ".join(repr(value) for value in sorted(others.examples)[:3])
            say(
                f"note: {self.source.file} has {counted(others.count, 'row')} with values of "
                f"{column!r} that {self.model.file} has not seen, such as {examples}: they count "
                "as none of those it knows"
            )
        return missing

    def _open_directly(self, layout: list[Feature], along: list[str]) -> RowStream | None:
        """The rows by :func:`nearkin.open_rows`; None where that cannot read them.

        An error about one missing cell reports all of them.
        """
        given = self.source.direct
        if given is None or any(feature.value is not None for feature in layout):
            return None
        with _name_pipes(given):
            if self.source.matrix is not None:
                direct = open_npy(given.path)
            else:
                columns = [feature.column for feature in layout]
                direct = open_stream(given.path, columns=columns, carry=along)

        def read(wanted: NDArray[np.int64] | None) -> Iterator[Block]:
            try:
                with _name_pipes(given):
                    yield from direct.blocks(wanted)
            except ValueError:
                blocks = self.features.blocks()
                missing = count_missing(blocks, self.features.columns, self._refuse_infinite)
                if missing.counts:
                    raise self._missing_error(missing) from None
                raise

        return direct.read_by(read, len(direct), self.source.file)

    def _refuse_infinite(self, row: int, column: str, value: float) -> None:
        """Raise, naming the place of an infinite number."""
        name = column if column.startswith("column ") else f"column {column}"
        raise UserError(
            f"{self.source.where(row)}, {name} of {self.source.file} is {value}: distances need "
            "finite numbers."
        )

    def _fill_values(self, missing: Missing) -> Floats:
        """Fill values (d,): those of the model, or medians, and 0 for indicators."""
        if self.model is not None:
            if self.model.fill is None:
                raise UserError(
                    f"--missing fill: {self.model.file} does not know what to fill with; it must "
                    "be fitted with --missing fill."
                )
            return np.asarray(self.model.fill)
        columns = self.features.columns
        found = find_medians(self.features.blocks(), columns, missing)
        found[list(self.features.is_value)] = 0
        empty = list(dict.fromkeys(np.array(columns)[np.isnan(found)].tolist()))
        if empty:
            named = ", ".join(empty[:10])
            raise UserError(f"{self.source.file} has no values at all in {named}: --exclude it.")
        return found

    def _missing_error(self, missing: Missing) -> MissingCellsError:
        fill = "To fill them, the model must be fitted with --missing fill"
        if self.model is None:
            fill = "--missing fill puts the median of the column there"
        return MissingCellsError(
            f"{self.source.file} has missing cells: {missing.list_counts()}; the first is in "
            f"{self.source.where(int(missing.rows[0]))}.\n{fill}; --missing drop leaves such rows "
            "out."
        )


@contextmanager
def _name_pipes(given: Input) -> Iterator[None]:
    """Replace the path of a pipe's copy in errors by the pipe's name."""
    try:
        yield
    except (ValueError, TypeError) as error:
        if str(given.path) == given.name:
            raise
        raise UserError(str(error).replace(str(given.path), given.name)) from error


# Columns that are shown with a question.
_FEW_SHOWN = 8
# Without zeros in front: "007" and "7" are two names.
_WHOLE = re.compile(r"-?(0|[1-9][0-9]{0,14})(\.0*)?")


@dataclass(frozen=True)
class NamedRows:
    """An open file with a name or number for each row; ``file`` is its name for messages."""

    file: str
    n_rows: int  # without those left out
    _source: Source
    _id_column: str | None
    _left_out: NDArray[np.int64]

    def values(self, column: str, option: str, *, of_file: bool = False) -> Any:
        """Values of a column as an array of pyarrow, with those of rows left out if ``of_file``."""
        refuse_unknown(column, self._source, option)
        parts = [batch.column(column) for batch in self._source.batches([], [column])]
        values = pa.chunked_array(parts).combine_chunks()
        return values if of_file else self._drop_left_out(values)

    def _drop_left_out(self, values: Any) -> Any:
        return values.take(pa.array(self.numbers())) if len(self._left_out) else values

    @property
    def n_rows_of_file(self) -> int:
        """Number of rows in the file, with those left out."""
        return self.n_rows + len(self._left_out)

    def numbers(self) -> NDArray[np.int64]:
        """Numbers in the file of the rows that are not left out."""
        return np.delete(np.arange(self.n_rows_of_file), self._left_out)

    def places(self) -> NDArray[np.int64] | None:
        """Row number by number in the file, -1 if left out; None if no row is."""
        if not len(self._left_out):
            return None
        places = np.full(self.n_rows_of_file, -1)
        places[self.numbers()] = np.arange(self.n_rows)
        return places

    @property
    def id_name(self) -> str:
        """Name of the id column, or "row"."""
        return self._id_column or "row"

    def ids(self) -> Any:
        """Ids of the rows as an array of pyarrow, unique texts; None without an id column."""
        ids = self.ids_of_file()
        return None if ids is None else self._drop_left_out(ids)

    def ids_of_file(self) -> Any:
        """Ids of all rows in the file, with those left out."""
        if self._id_column is None:
            return None
        ids = read_texts(self.values(self._id_column, "--id", of_file=True))
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
        """Ids, or row numbers without an id column, as an array of pyarrow."""
        ids = self.ids()
        return pa.array(self.numbers()) if ids is None else ids

    def shown(self, patterns: Sequence[str]) -> Any:
        """Columns to show to people, by default the first eight, as a table of pyarrow."""
        names = match_columns(patterns, self._source.kinds, "--show", self.file)
        if not names:
            names = [name for name in self._source.kinds if name != self._id_column][:_FEW_SHOWN]
        return self._read_cells(names)

    def _read_cells(self, names: Sequence[str]) -> Any:
        batches = list(self._source.batches([], names)) if names else []
        return self._drop_left_out(pa.Table.from_batches(batches)) if batches else pa.table({})

    def labels(self, column: str) -> NDArray[Any]:
        """Class label (n,) of each row, whole numbers or texts; None where a cell is empty."""
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

    def all_columns(self) -> list[str]:
        """All columns but the ids and vectors."""
        kinds = self._source.kinds
        return [name for name in kinds if name != self._id_column and kinds[name] != "vector"]

    def named_like(self, pattern: str) -> list[str]:
        """Names of columns that match a name or pattern."""
        return [
            name for name in self._source.kinds if name == pattern or fnmatchcase(name, pattern)
        ]

    def to_carry(self, patterns: Sequence[str], beside: Sequence[str]) -> list[str]:
        """Names of columns to carry into an output; an error if one clashes with ``beside``."""
        names = match_columns(patterns, self._source.kinds, "--carry", self.file)
        refuse_clash(names, [self.id_name, *beside])
        return names

    def carried(self, names: Sequence[str], rows: Any) -> dict[str, Any]:
        """Columns by name, of some rows, as arrays of pyarrow."""
        cells = self._read_cells(names)
        if not cells.num_columns:
            return {}
        taken = cells.take(pa.array(rows))
        return {name: taken.column(name).combine_chunks() for name in names}


def _is_missing(value: Any) -> bool:
    """Whether a cell is None, NaN or blank."""
    return value is None or value != value or (isinstance(value, str) and not value.strip())


def _whole(value: Any) -> int | None:
    """A whole number, also from a text such as "-1" or "2.0"; None for anything else."""
    if isinstance(value, str):
        return int(float(value)) if _WHOLE.fullmatch(value) else None
    is_whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
    return int(value) if is_whole and abs(value) < 2**63 else None


def refuse_unknown(column: str, source: Source, option: str) -> None:
    """Raise if a file lacks the column that an option names."""
    if column not in source.kinds:
        there = suggest_name(column, source.kinds) if source.kinds else "its columns have no names."
        raise UserError(f"{option} {column}: no such column in {source.file}; {there}")


@dataclass(frozen=True)
class Table(NamedRows):
    """An open file as a stream of features, with its other columns."""

    rows: RowStream
    # Of the features; None for arrays and vectors.
    names: list[str] | None
    # The column of vectors that the features are.
    vector: str | None
    # Columns of the file that the features are of.
    columns: set[str]
    # What missing cells were filled with, for each feature.
    fill: Floats | None
    # What makes numbers of the columns, where words are among them: a TableEncoder.
    encoder: Any

    def columns_beside(self, numbers: NDArray[np.integer]) -> Any:
        """Columns beside features, ids and vectors, of rows ``numbers`` (increasing), read once."""
        used = {*(self.names or ()), self._id_column}
        names = [c for c, kind in self._source.kinds.items() if c not in used and kind != "vector"]
        parts = list(self.batches_of(numbers, names)) if names else []
        return pa.Table.from_batches(parts) if parts else pa.table({})

    @property
    def is_array(self) -> bool:
        """Whether the features are an array's, not columns of the file."""
        return self._source.matrix is not None

    @property
    def kinds(self) -> Kinds:
        """Kinds of the file's columns by name, without pandas' index."""
        return {c: kind for c, kind in self._source.kinds.items() if c not in self._source.aside}

    @property
    def remembered(self) -> dict[str, Any]:
        """Attributes that a metric stores about its table: vector column, fill values, encoder."""
        found = {"vector_column_": self.vector, "fill_values_": self.fill, "table_": self.encoder}
        return {name: value for name, value in found.items() if value is not None}

    def batches_of(self, numbers: NDArray[np.integer], names: Sequence[str]) -> Iterator[Any]:
        """Record batches of some rows and columns; ``numbers`` increase."""
        if len(self._left_out):
            numbers = self.numbers()[numbers]
        start = 0
        for batch in self._source.batches([], names):
            first, last = np.searchsorted(numbers, [start, start + len(batch)])
            yield batch.take(pa.array(numbers[first:last] - start))
            start += len(batch)


def column_kinds(path: Path, choice: Choice) -> Kinds:
    """Kinds of a file's columns by name: "number", "boolean", "text", "date", "vector" or other."""
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
    """Open a file of rows, or standard input ("-"), with the model's features or chosen ones.

    Labels and columns ``aside`` are no features; ``carry`` are columns or patterns carried along,
    None for all. Columns of words are encoded, but refused if not ``words``; with ``encoded``, all
    columns are encoded. ``role`` is the option that names the file.
    """
    source = open_source(path, choice, role)
    for option, column in (("--id", choice.id_column), ("--labels", labels)):
        if column is not None:
            refuse_unknown(column, source, option)
    along = list(source.kinds)
    if carry is not None:
        along = match_columns(carry, source.kinds, "--carry", source.file)
    layout: list[Feature] = []
    encoder = None if model is None else model.table
    if source.matrix is not None:
        if choice.columns or choice.exclude or choice.one_hot:
            raise UserError(
                f"{source.file} is an array without names: columns cannot be chosen from it."
            )
    else:
        others = {*source.aside, *aside, *(c for c in (choice.id_column, labels) if c is not None)}
        if carry is not None:
            others |= set(along)
        layout, of_words = choose_features(
            source, choice, others, labels, model, words=words, encoded=encoded
        )
        if of_words:
            refuse_missing_policy(choice)
            encoder = encoder or fit_encoder(source, [one.column for one in layout], choice)
            source = replace(source, direct=None)  # which reads numbers only
    features = open_features(source, layout, encoder, along)
    if model is not None:
        model.check_width(len(features.columns), source.file)
    completing = _RowCompletion(source, features, model)
    rows, left_out, fill = completing.rows(choice.missing, layout, along)
    return Table(
        source.file,
        len(rows),
        source,
        choice.id_column,
        left_out,
        rows=rows,
        names=features.names,
        vector=features.vector,
        columns={feature.column for feature in layout},
        fill=fill,
        encoder=encoder,
    )


@dataclass(frozen=True)
class RecordTable(NamedRows):
    """A file of records in memory, with the columns to compare."""

    # The columns that are compared, as the file has them: a table of pyarrow.
    cells: Any

    @property
    def compared(self) -> list[str]:
        """Names of the columns to compare."""
        return list(self.cells.column_names)

    def one_of_each(self, labels: Ints) -> dict[str, Any]:
        """One record for each group: the most frequent cell of each column.

        Columns by name: the id of the group's first record, how many it has, and all of the file
        but vectors. ``labels`` (n,) number groups in the order of first records.
        """
        first = np.unique(labels, return_index=True)[1]
        found = {
            self.id_name: self.shown_ids().take(pa.array(first)),
            "records": np.bincount(labels),
        }
        names = self.all_columns()
        once = record_results.canonical_rows(
            pa.table(self.carried(names, np.arange(self.n_rows))), labels
        )
        return {**found, **{name: once.column(name).combine_chunks() for name in names}}


def has_records(path: Path, choice: Choice) -> bool:
    """Whether a file has columns of words to learn from."""
    source = open_source(path, choice, "DATA")
    if source.matrix is not None:
        return False
    return has_words(source.kinds, _columns_of_records(source, choice, quietly=True))


def open_records(
    path: Path,
    choice: Choice,
    *,
    columns: Sequence[str] | None = None,
    role: str = "DATA",
    least: int = 2,
) -> RecordTable:
    """Open a file of records, or standard input ("-"), with the columns to compare.

    By default ``columns`` are those the user chose, or all but ids and the like. ``role`` is the
    option that names the file, ``least`` the number of rows it must have.
    """
    source = open_source(path, choice, role)
    refuse_missing_policy(choice)
    if source.matrix is not None:
        raise UserError(f"{source.file} is an array of numbers: records have columns with names.")
    if choice.id_column is not None:
        refuse_unknown(choice.id_column, source, "--id")
    names = _columns_of_records(source, choice) if columns is None else list(columns)
    absent = [name for name in names if name not in source.kinds]
    if absent:
        raise UserError(
            f"the matcher compares columns that {source.file} does not have: {quote_names(absent)}."
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
    records = RecordTable(source.file, len(cells), source, choice.id_column, nobody, cells)
    known = () if choice.id_column else filter(recognise_id_name, source.kinds)
    for name in known:
        if len(records.values(name, "--id").unique().drop_null()) == records.n_rows:
            say(f"note: records of {source.file} go by their row numbers; --id {name} names them.")
            break
    return records


def open_records_of(
    matcher: RecordMatcher, path: Path, choice: Choice, role: str = "DATA", least: int = 2
) -> RecordTable:
    """Open a file of records with the columns that a matcher compares."""
    compared = [column.name for column in matcher.comparisons_.columns]
    return open_records(path, choice, columns=compared, role=role, least=least)


def columns_to_compare(records: RecordTable, choice: Choice) -> list[Column]:
    """Columns of records with their kinds, stated by the user or recognised and reported."""
    stated = stated_kinds(choice, records.compared, records.file)
    columns = comparisons.columns_given(records.cells, stated, choice.dates)
    say_kinds({column.name: column.kind for column in columns})
    return columns


def columns_in_common(left: RecordTable, right: RecordTable, choice: Choice) -> list[list[Column]]:
    """Columns that two files have in common, for each file, with their kinds."""
    both = [name for name in left.compared if name in right.compared]
    stated = stated_kinds(choice, both, f"{left.file} or {right.file}")
    one, other = (records.cells.select(both) for records in (left, right))
    first, second = comparisons.columns_of_both(one, other, stated, choice.dates)
    say_kinds({column.name: column.kind for column in first})
    return [first, second]


def columns_as_learned(
    records: RecordTable, choice: Choice, matcher: RecordMatcher
) -> list[Column]:
    """Columns of records with the kinds that a matcher knows; the order of dates may differ."""
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
    return comparisons.columns_known(records.cells, matcher.kinds_, orders)


def _columns_of_records(source: Source, choice: Choice, *, quietly: bool = False) -> list[str]:
    """Names of columns of records to compare: chosen by the user, or all but ids and the like."""
    aside = {*source.aside, choice.id_column} - {None}
    plain, one_hot = pick_columns(
        source.kinds, choice, [name for name in aside if name], None, source.file, quietly=quietly
    )
    return [name for name in source.kinds if name in {*plain, *one_hot}]
