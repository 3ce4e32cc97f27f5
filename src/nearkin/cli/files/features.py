"""Columns as numbers: what a file's rows are before anything is done about missing cells."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from nearkin._types import Floats
from nearkin.cli.common import UserError, listed, say
from nearkin.cli.files.columns import Choice, Feature
from nearkin.cli.files.inputs import Source
from nearkin.errors import few
from nearkin.rows.validation import check_dtype, rows_per_read
from nearkin.tables.encoder import TableEncoder

Rows = Iterator[tuple[Floats, Any]]


@dataclass
class Others:
    """Cells of a column with values that are not among the features, and some of these values."""

    count: int = 0
    examples: set[str] = field(default_factory=set)

    def add(self, values: Any) -> None:
        """Count some more, an array of pyarrow."""
        self.count += len(values)
        if len(self.examples) < _EXAMPLES:
            self.examples |= set(pc.unique(values)[:_EXAMPLES].to_pylist())


Unseen = dict[str, Others]
# Values that a message names.
_EXAMPLES = 5


@dataclass(frozen=True)
class Features:
    """Rows of numbers, NaN where a cell is missing.

    Attributes
    ----------
    read : callable
        Goes through the rows in blocks, each with the columns that go along, or None. What it is
        given counts values that are not among the features.
    columns : list of str
        For each feature, what messages call the column that it comes from.
    is_value : bool ndarray
        Which features say whether a column of text has one value.
    names : list of str or None
        Of the features.
    vector : str or None
        The column of vectors that they are.
    dtype : float32 or float64
    count : callable, optional
        How many rows there are, where none can lack a number.
    """

    read: Callable[[Unseen | None], Rows]
    columns: list[str]
    is_value: NDArray[np.bool_]
    names: list[str] | None
    vector: str | None
    dtype: np.dtype[Any]
    count: Callable[[], int] | None = None

    @property
    def n_columns(self) -> int:
        """How many features there are."""
        return len(self.columns)

    def blocks(self) -> Iterator[Floats]:
        """Blocks of rows, without the columns beside them."""
        return (rows for rows, _ in self.read(None))


def read_texts(values: Any) -> Any:
    """The values of an array of pyarrow as texts."""
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    try:
        return values.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise UserError(f"values of type {values.type} do not name anything.") from error


def features_of_matrix(source: Source, along: Sequence[str]) -> Features:
    """An array's own columns."""
    X = source.matrix
    if X.ndim != 2 or X.shape[1] == 0:
        raise UserError(f"{source.file} must have shape (n, d), got {X.shape}.")
    dtype = check_dtype(X.dtype, source.file)
    carried = next(source.batches([], along)) if along else None

    def read(unseen: Unseen | None) -> Rows:
        size = rows_per_read(X.shape[1], dtype)
        for start in range(0, len(X), size):
            rows = np.asarray(X[start : start + size], dtype=dtype)
            yield rows, None if carried is None else carried.slice(start, len(rows))

    columns = [f"column {j}" for j in range(X.shape[1])]
    return Features(read, columns, np.zeros(len(columns), dtype=bool), None, None, dtype)


def features_of_vectors(source: Source, column: str, along: Sequence[str]) -> Features:
    """A column of vectors, all of one length."""
    kind, width = None, None
    for batch in source.batches([column], []):
        kind = batch.schema.field(column).type
        lengths = pc.list_value_length(batch.column(column)).drop_null()
        if len(lengths):
            width = lengths[0].as_py()
            break
    if kind is None or not width:
        raise UserError(f"column {column!r} of {source.file} has no vectors.")
    where = f"column {column!r} of {source.file}"
    try:
        dtype = check_dtype(np.dtype(kind.value_type.to_pandas_dtype()), where)
    except TypeError:
        raise UserError(f"{where} holds vectors of {kind.value_type}, not of numbers.") from None

    def read(unseen: Unseen | None) -> Rows:
        start = 0
        size = rows_per_read(width, dtype)
        for whole in source.batches([column], along):
            for first in range(0, len(whole), size):
                batch = whole.slice(first, size)
                rows = _vectors(batch.column(column), width, column, start, source, dtype)
                yield rows, batch.select(along) if along else None
                start += len(batch)

    columns = [repr(column)] * width
    return Features(read, columns, np.zeros(width, dtype=bool), None, column, dtype)


def _vectors(
    column: Any, width: int, name: str, start: int, source: Source, dtype: np.dtype[Any]
) -> Floats:
    lengths = pc.list_value_length(column)
    present = column.is_valid().to_numpy(zero_copy_only=False)
    found = lengths.fill_null(width).to_numpy(zero_copy_only=False)
    other = np.flatnonzero(found != width)
    if len(other):
        row = int(other[0])
        raise UserError(
            f"{source.where(start + row)}, column {name!r} of {source.file} has {found[row]} "
            f"numbers, but vectors before it have {width}."
        )
    rows = np.full((len(column), width), np.nan, dtype=dtype)
    values = column.drop_null().flatten().to_numpy(zero_copy_only=False)
    rows[present] = values.reshape(-1, width)
    return rows


def features_of_columns(
    source: Source, layout: Sequence[Feature], along: Sequence[str]
) -> Features:
    """Columns of numbers, and one for each value of columns of text."""
    numbers = {f.column: j for j, f in enumerate(layout) if f.value is None}
    values: dict[str, dict[str, int]] = {}
    for j, feature in enumerate(layout):
        if feature.value is not None:
            values.setdefault(feature.column, {})[feature.value] = j
    dtype = np.dtype(np.float64)
    others = list(dict.fromkeys([*values, *along]))

    def read(unseen: Unseen | None) -> Rows:
        size = rows_per_read(len(layout), dtype)
        for whole in source.batches(list(numbers), others):
            for first in range(0, len(whole), size):
                batch = whole.slice(first, size)
                rows = np.zeros((len(batch), len(layout)), dtype=dtype)
                for column, j in numbers.items():
                    rows[:, j] = _numbers(batch.column(column), column, source.file)
                for column, places in values.items():
                    _mark(rows, batch.column(column), places, column, unseen)
                yield rows, batch.select(along) if along else None

    return Features(
        read,
        [repr(feature.column) for feature in layout],
        np.array([feature.value is not None for feature in layout]),
        [feature.name for feature in layout],
        None,
        dtype,
    )


def _numbers(column: Any, name: str, file: str) -> Floats:
    if pa.types.is_boolean(column.type):
        column = column.cast(pa.int8())
    found = column.to_numpy(zero_copy_only=False)
    check_dtype(found.dtype, f"column {name!r} of {file}")
    return np.asarray(found)


def _mark(
    rows: Floats, column: Any, places: dict[str, int], name: str, unseen: Unseen | None
) -> None:
    """Set 1 where a row has a value, nothing where it has one that is not known."""
    texts = read_texts(column)
    found = pc.index_in(texts, value_set=pa.array(list(places), pa.string()))
    at = np.array(list(places.values()))
    known = found.is_valid().to_numpy(zero_copy_only=False)
    rows[np.flatnonzero(known), at[found.drop_null().to_numpy()]] = 1
    if column.null_count:
        missing = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
        rows[np.ix_(missing, at)] = np.nan
    if unseen is not None and not known.all():
        others = texts.filter(pc.and_(found.is_null(), texts.is_valid()))
        if len(others):
            unseen.setdefault(name, Others()).add(others)


# Columns that a message names.
_MOST_NAMED = 20


def fit_encoder(source: Source, columns: Sequence[str], choice: Choice) -> TableEncoder:
    """Fit an encoder to some columns of a file, which is read as a whole.

    Parameters
    ----------
    source : Source
    columns : sequence of str
    choice : Choice
        With kinds that are stated, and the order of dates.
    """
    refuse_missing_policy(choice)
    batches = list(source.batches([], columns))
    if sum(map(len, batches)) < 2:
        raise UserError(f"{source.file} has too few rows: two are needed at least.")
    encoder = TableEncoder(kinds=stated_kinds(choice, columns, source.file), dates=choice.dates)
    encoder.fit(pa.Table.from_batches(batches))
    say_kinds(encoder.held_)
    return encoder


def say_kinds(kinds: Mapping[str, str]) -> None:
    """Say what columns were found to hold."""
    shown = few((f"{name!r} ({kind})" for name, kind in kinds.items()), _MOST_NAMED)
    say(f"note: columns hold {shown}; --kinds NAME=KIND says otherwise.")


def features_of_table(source: Source, encoder: TableEncoder, along: Sequence[str]) -> Features:
    """Encode columns of a file as numbers, block by block.

    Raises
    ------
    UserError
        If the file lacks one of them.
    """
    columns = encoder.columns_
    absent = [name for name in columns if name not in source.kinds]
    if absent:
        raise UserError(
            f"the model was learned from columns that {source.file} does not have: "
            f"{listed(absent)}."
        )
    width = len(encoder.groups_)

    def read(unseen: Unseen | None) -> Rows:
        start = 0
        for batch in source.batches([], list(dict.fromkeys([*columns, *along]))):
            rows = encoder.coordinates(pa.Table.from_batches([batch.select(columns)]), start)
            start += len(batch)
            yield rows, batch.select(along) if along else None

    return Features(
        read,
        [repr(name) for name in encoder.groups_],
        np.zeros(width, dtype=bool),
        None,
        None,
        np.dtype(np.float64),
        lambda: sum(map(len, source.batches([], columns[:1]))),
    )


def refuse_missing_policy(choice: Choice) -> None:
    """Raise if something is to be done about missing cells, which words need not."""
    if choice.missing is not None:
        raise UserError(
            f"--missing {choice.missing}: where columns hold words, a missing cell is known as "
            "such, and nothing is to be done about it. Leave --missing out, or choose columns of "
            "numbers with --columns."
        )


def stated_kinds(choice: Choice, columns: Sequence[str], file: str) -> dict[str, Any]:
    """What the user says that columns hold; raises if one of them is not there."""
    for name in choice.kinds:
        if name not in columns:
            raise UserError(
                f"--kinds {name}={choice.kinds[name]}: {file} has no such column to learn from; "
                f"there are {listed(columns)}."
            )
    one_hot = {name: "category" for name in choice.one_hot if name in columns}
    return {**one_hot, **choice.kinds}
