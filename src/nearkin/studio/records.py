"""The studio's records: rows of numbers with ids, columns to show, pictures and identity."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from hashlib import blake2b
from itertools import chain
from typing import Any

import narwhals as nw
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone
from sklearn.preprocessing import Normalizer, StandardScaler

from nearkin._types import Doubles, Floats, Ints
from nearkin.errors import InputError, InputTypeError
from nearkin.messages import collect_notices
from nearkin.rows.backends import evenly_spaced
from nearkin.rows.parallel import split_range
from nearkin.rows.scaling import describe_units, find_differing_units, fit_scaler
from nearkin.storage.files import StrPath
from nearkin.studio.events import check_row
from nearkin.studio.pictures import LONGEST_SIDE, FilePictures, Image, Pictures, PixelPictures
from nearkin.tables.choice import (
    MOST_LOOKED_AT,
    ColumnChoice,
    Roles,
    are_records,
    choose_by_kinds,
    choose_roles,
    describe_class_columns,
    describe_roles,
    drop_counters,
    find_doubtful_names,
    find_sources,
    restrict_roles,
)
from nearkin.tables.encoder import TableEncoder
from nearkin.tables.reading import (
    COUNTS_ROWS,
    NAMES_ROWS,
    find_differences,
    fold_text,
    list_cells,
    recognise_id_name,
    select_cells,
    split_marked,
)

# Characters of a value that are shown at first, and where all of it is asked for.
MOST_CHARACTERS = 2000
MOST_OF_ALL = 200_000
# Characters in which differences are looked for.
MOST_MARKED = 20_000
# Fields of a record.
MOST_FIELDS = 100
# Rows that tell where a number stands among all.
_MOST_RANKED = 20_000
# Numbers of fewer values are kinds of things.
_FEWEST_VALUES = 5


def _describe_field(name: str, value: Any, beside: Any, most: int) -> dict[str, Any]:
    """Describe a cell for the page, with the parts that differ from the cell ``beside``."""
    text = format_cell(value)
    found: dict[str, Any] = {"name": name, "value": text[:most], "cut": len(text) > most}
    compared = min(most, MOST_MARKED)
    text, rest, other = text[:compared], text[compared:most], format_cell(beside)[:compared]
    if text and other and fold_text(text) != fold_text(other):
        found["parts"] = split_marked(text, find_differences(text, other)[0])
        if rest:
            found["parts"].append((rest, False))
            found["marked"] = compared
    return found


def is_empty_cell(value: Any) -> bool:
    """Whether a cell is empty, of whatever library's type."""
    if isinstance(value, (float, np.floating)):
        return bool(np.isnan(value))
    return value is None or type(value).__name__ in ("NAType", "NaTType")


def format_cell(value: Any) -> str:
    """Format a cell for people; an empty text for an empty cell."""
    if is_empty_cell(value):
        return ""
    return f"{value:.6g}" if isinstance(value, (float, np.floating)) else str(value)


def format_for_file(value: Any) -> Any:
    """Format a cell for a file: numbers keep all digits, all else becomes text."""
    if is_empty_cell(value):
        return ""
    return value if isinstance(value, (int, float, np.number)) else str(value)


def _is_number(value: Any) -> bool:
    """Whether a cell is a finite number and no bool."""
    is_one = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
    return is_one and bool(np.isfinite(value))


# Of five million rows, two have the same digest once in a million tables.
_DIGEST_BYTES = 8
# What ids are called that have no column.
GIVEN_IDS = "ids"
# Rows whose cells are made bytes at a time.
_BLOCK = 4096


@dataclass(frozen=True)
class RecordIdentity:
    """Ids and cells by which a journal recognises rows of data in whatever order."""

    # Kind of each named column, as in :mod:`nearkin.tables.choice`.
    kinds: Mapping[str, str]
    # ``cells(names)`` yields blocks of rows: mappings from names of columns to values. Without
    # names it yields blocks of the matrix.
    cells: Callable[[Sequence[str]], Any] = field(repr=False)
    n_rows: int
    # The column of ids that the user has named.
    id_name: str | None = None
    # Ids that are in no column.
    given_ids: Sequence[Any] | None = field(default=None, repr=False)

    @property
    def columns(self) -> list[str]:
        """Columns that describe records, without row counters; empty for a matrix."""
        found = [name for name in self.kinds if recognise_id_name(name) != COUNTS_ROWS]
        return found or list(self.kinds)

    def usual_ids(self) -> str | None:
        """Choose the column of ids that a new journal names records by, or None.

        It is the one that the user named, or else the only column of names that are all different.
        """
        if self.given_ids is not None:
            return GIVEN_IDS
        if self.id_name is not None:
            return self.id_name
        named = [name for name in self.kinds if recognise_id_name(name) == NAMES_ROWS]
        if len(named) != 1:
            return None
        ids = self.ids(named[0])
        return named[0] if ids is not None and len(set(ids) - {None}) == self.n_rows else None

    def ids(self, name: str | None) -> list[str | None] | None:
        """Return the ids of a column as texts, None for empty cells; None if there is no column.

        Whole numbers are the same id with and without a decimal point.
        """
        if name == GIVEN_IDS and self.given_ids is not None:
            return [_format_id(one) for one in self.given_ids]
        if name is None or name not in self.kinds:
            return None
        return [_format_id(one) for block in self.cells([name]) for one in block[name]]

    def contents(self, names: Sequence[str]) -> list[str] | None:
        """Compute a digest of each row's cells in some columns; None if one of them is missing."""
        if not set(names) <= set(self.kinds) or bool(names) != bool(self.columns):
            return None
        wanted = sorted(names)
        kinds = {name: self.kinds[name] for name in wanted}
        return [one for block in self.cells(wanted) for one in digests_of(block, kinds)]


def identity_of_matrix(X: NDArray[Any], ids: Sequence[Any] | None = None) -> RecordIdentity:
    """Make the identity of rows without names of columns, with ids or without.

    >>> rows = np.eye(3)
    >>> identity_of_matrix(rows).contents([]) == identity_of_matrix(rows[::-1]).contents([])[::-1]
    True
    """

    def cells(names: Sequence[str]) -> Any:
        """Yield blocks of rows."""
        return ({"": X[rows]} for rows in split_range(len(X), _BLOCK))

    return RecordIdentity({}, cells, len(X), given_ids=ids)


def digests_of(columns: Mapping[str, Any], kinds: Mapping[str, str]) -> list[str]:
    """Compute a digest of the cells of each row, as hexadecimal text.

    There may be a matrix under the name "". Equal numbers have one digest, whatever their types.
    """
    numbers, others = [], []
    for name in sorted(columns):
        kind = kinds.get(name, "vector")
        if kind in ("number", "boolean"):
            numbers.append(_encode_numbers(columns[name]))
        elif kind == "vector":
            others.append(_encode_vectors(columns[name]))
        else:
            others.append([_encode_text(one) for one in columns[name]])
    parts = [_split_rows(np.column_stack(numbers))] if numbers else []
    return [
        blake2b(b"\x1f".join(row), digest_size=_DIGEST_BYTES).hexdigest()
        for row in zip(*parts, *others, strict=True)
    ]


def make_distinct(names: Sequence[str]) -> list[str]:
    """Make names distinct: the second and later of equal names get a number.

    >>> make_distinct(["a", "b", "a"])
    ['a', 'b', 'a#2']
    """
    seen: Counter[str] = Counter()
    found = []
    for name in names:
        seen[name] += 1
        found.append(name if seen[name] == 1 else f"{name}#{seen[name]}")
    return found


def _format_id(value: Any) -> str | None:
    """Format an id as text, whole numbers without a decimal point; None if it is empty."""
    if is_empty_cell(value) or value == "":
        return None
    is_whole = isinstance(value, (float, np.floating)) and float(value).is_integer()
    return str(int(value) if is_whole else value)


def _encode_numbers(values: Any) -> NDArray[np.int64]:
    """Encode each number in eight bytes: those of the float64 that equals it, if there is one."""
    array = np.asarray(values)
    if array.dtype.kind not in "biuf":
        return np.array([_encode_number(one) for one in values], dtype=np.int64)
    floats = array.astype(np.float64) + 0.0  # no zero is negative
    floats[np.isnan(floats)] = np.nan
    bits = floats.view(np.int64)
    if array.dtype.kind in "iu":
        with np.errstate(invalid="ignore"):
            whole = array.astype(np.int64)
            bits = np.where(floats.astype(np.int64) == whole, bits, whole)
    return bits


def _encode_number(value: Any) -> int:
    """Encode one Python number as :func:`_encode_numbers` does."""
    number = np.nan if is_empty_cell(value) else float(value) + 0.0
    if isinstance(value, int) and number != value:
        return value if abs(value) < 2**63 else hash(value)
    return int(np.float64(number).view(np.int64))


def _encode_vectors(values: Any) -> list[bytes]:
    """Encode each vector as the bytes of its numbers, an empty cell as no bytes."""
    if isinstance(values, np.ndarray) and values.ndim == 2:
        return _split_rows(_encode_numbers(values))
    return [
        b"" if one is None else _encode_numbers(np.asarray(one, dtype=np.float64)).tobytes()
        for one in values
    ]


def _encode_text(value: Any) -> bytes:
    """Encode a cell as text, an empty one as no bytes."""
    return b"" if is_empty_cell(value) else str(value).encode(errors="surrogatepass")


def _split_rows(matrix: NDArray[np.int64]) -> list[bytes]:
    """Bytes of each row of a matrix."""
    width = matrix.shape[1] * matrix.itemsize
    whole = np.ascontiguousarray(matrix).tobytes()
    return [whole[start : start + width] for start in range(0, len(whole), width)]


@dataclass(frozen=True)
class Frame:
    """Columns of a data frame by name, as narwhals series, and their kinds."""

    columns: dict[str, Any]
    kinds: dict[str, str]

    @property
    def no_numbers(self) -> Floats:
        """A matrix of as many rows, without columns."""
        return np.empty((len(next(iter(self.columns.values()))), 0))

    def blocks(self, numbers: Ints, names: Sequence[str]) -> Iterator[dict[str, Any]]:
        """Yield the cells of some rows in some columns, block by block."""
        for rows in split_range(len(numbers), _BLOCK):
            some = {name: self.columns[name][numbers[rows].tolist()] for name in names}
            yield {name: _cells(column, self.kinds[name]) for name, column in some.items()}

    def sample_cells(self) -> dict[str, list[Any]]:
        """Take evenly spaced rows of all columns but vectors, to judge what columns hold."""
        shown = {name: of for name, of in self.columns.items() if self.kinds[name] != "vector"}
        n = min(map(len, shown.values()), default=0)
        rows = evenly_spaced(n, MOST_LOOKED_AT).tolist() if n else []
        return {name: list_cells(of[rows]) for name, of in shown.items()}

    def cells_to_show(self, learned: Sequence[str] = ()) -> dict[str, Sequence[Any]]:
        """Cells of all columns to show: all but vectors and the ``learned`` ones."""
        return {
            name: list_cells(column)
            for name, column in self.columns.items()
            if name not in learned and self.kinds[name] != "vector"
        }

    def are_numbers(self, names: Sequence[str], gaps: bool = False) -> bool:
        """Whether columns make a matrix: one of vectors, or numbers, with ``gaps`` if allowed."""
        kinds = {self.kinds[name] for name in names}
        if kinds == {"vector"}:
            return len(names) == 1
        return kinds <= {"number", "boolean"} and (
            gaps or not any(_has_gaps(self.columns[name]) for name in names)
        )


@dataclass(frozen=True)
class TableParts:
    """The parts of a table: columns to learn from, and columns only to show."""

    # Without columns if columns of words must be encoded first.
    X: Floats
    # Names of the columns of X.
    features: list[str]
    # Whether these names are the data's own.
    named: bool
    # Columns to show.
    others: dict[str, Sequence[Any]]
    # Which columns are learned from, and why others are not.
    roles: Roles | None = None
    # Columns to encode as X.
    words: tuple[str, ...] = ()
    # Whether rows are records that are known by words.
    are_things: bool = False
    # The data frame, if the table is one.
    frame: Frame | None = None

    # Whether X is a column of vectors.
    is_vector: bool = False


def split_table(
    X: Any,
    source: str,
    learn_from: Sequence[str] | None = None,
    aside: Iterable[str] = (),
    of_words: bool | None = None,
) -> TableParts:
    """Split an array or a data frame into columns to learn from and columns to show.

    Columns ``aside`` are not learned from unless ``learn_from`` names them; without that, they are
    chosen by :func:`nearkin.tables.choice.choose_roles`. ``of_words`` is True to learn from all
    columns, words too, and False to learn from numbers alone.
    """
    frame = None if isinstance(X, (np.ndarray, list, tuple)) else _wrap_frame(X, source)
    if frame is not None:
        columns = {str(name): frame[name] for name in frame.columns}
        whole = Frame(columns, {name: _kind(column) for name, column in columns.items()})
        return replace(_split_frame(whole, source, learn_from, set(aside), of_words), frame=whole)
    if learn_from is not None:
        raise InputError("learn_from is for frames: an array is learned from as it is.")
    if of_words:
        raise InputError(f"records=True: {source} is an array of numbers, not a frame of records.")
    numbers = _require_numbers(X, source)
    return TableParts(numbers, [f"x{j}" for j in range(numbers.shape[1])], False, {})


def _wrap_frame(X: Any, source: str) -> Any:
    """Wrap a data frame by narwhals; None if X is no data frame."""
    try:
        return nw.from_native(X, eager_only=True, allow_series=False)
    except TypeError as error:
        if hasattr(X, "toarray"):
            raise InputTypeError(
                f"{source} is sparse: give X.toarray(), or reduce it first."
            ) from error
        return None


def _split_frame(
    frame: Frame,
    source: str,
    learn_from: Sequence[str] | None,
    aside: set[str],
    of_words: bool | None,
) -> TableParts:
    """Split a data frame as :func:`split_table` does."""
    kinds = frame.kinds
    if of_words:
        return _split_records(frame, source, aside if learn_from is None else None)
    if learn_from is not None:
        chosen = _check_columns(learn_from, kinds, source)
        roles = choose_roles(kinds, frame.sample_cells(), chosen, aside)
    elif of_words is None:
        roles = choose_roles(kinds, frame.sample_cells(), aside=aside)
    else:
        roles = choose_by_kinds(kinds, aside)
    if not roles.learned:
        listed = ", ".join(f"{name!r} ({kind})" for name, kind in list(kinds.items())[:10])
        raise InputError(
            f"{source} has no columns to learn from: there is nothing to measure distances by. Its "
            f"columns are {listed}; learn_from=[...] learns from any of them."
        )
    if not frame.are_numbers(roles.learned, gaps=of_words is False):
        cells = {name: of for name, of in frame.sample_cells().items() if name not in aside}
        are_things = learn_from is None and are_records(cells)
        shown, words = frame.cells_to_show(), tuple(roles.learned)
        return TableParts(frame.no_numbers, [], False, shown, roles, words, are_things)
    is_vector = kinds[roles.learned[0]] == "vector"
    if is_vector:
        X = _stack_vectors(frame.columns[roles.learned[0]], roles.learned[0], source)
        features = [f"{roles.learned[0]}[{j}]" for j in range(X.shape[1])]
    else:
        X, features = _stack_columns([frame.columns[name] for name in roles.learned]), roles.learned
        if learn_from is None:
            X, features, roles = drop_counters(X, features, roles)
    beside = frame.cells_to_show(roles.learned)
    return TableParts(X, features, not is_vector, beside, roles, is_vector=is_vector)


def _split_records(frame: Frame, source: str, aside: set[str] | None) -> TableParts:
    """Split a data frame of records: learn from words, dates and numbers, not from ids."""
    kinds = frame.kinds
    if aside is None:
        raise InputError("records=True learns from all columns: leave learn_from out.")
    if not any(
        kind in ("text", "date") and name not in aside and recognise_id_name(name) is None
        for name, kind in kinds.items()
    ):
        raise InputError(f"records=True: {source} has no columns of words.")
    left_out = {**find_doubtful_names(kinds), **dict.fromkeys(aside, "")}
    left_out |= {name: kind for name, kind in kinds.items() if kind == "vector"}
    cells = frame.sample_cells()
    left_out |= find_sources({name: cells[name] for name in kinds if name not in left_out})
    words = tuple(name for name in kinds if name not in left_out)
    roles = Roles([*words], {name: why for name, why in left_out.items() if why})
    shown = frame.cells_to_show()
    return TableParts(frame.no_numbers, [], False, shown, roles, words, are_things=True)


def _check_columns(learn_from: Sequence[str], kinds: dict[str, str], source: str) -> list[str]:
    """Return names of columns as a list; raise if the data have no such column."""
    names = [learn_from] if isinstance(learn_from, str) else [str(name) for name in learn_from]
    for name in names:
        if name not in kinds:
            raise InputError(f"learn_from: {source} has no column {name!r}.")
    return names


def _kind(column: Any) -> str:
    """Kind of a column: number, boolean, vector, date or text."""
    kind = column.dtype
    if kind.is_numeric():
        return "number"
    if kind == nw.Boolean:
        return "boolean"
    if kind in (nw.List, nw.Array):
        return "vector"
    if kind in (nw.Date, nw.Datetime, nw.Duration, nw.Time):
        return "date"
    if kind == nw.Object and len(column):
        first = next((cell for cell in column.to_list() if cell is not None), None)
        if isinstance(first, (list, tuple, np.ndarray)):
            return "vector"
    return "text"


def _stack_vectors(column: Any, name: str, source: str) -> Floats:
    """Stack a column of vectors to a matrix; raise if their lengths differ."""
    rows = column.to_list()
    lengths = {None if row is None else len(row) for row in rows}
    if len(lengths) != 1 or None in lengths:
        raise InputError(
            f"column {name!r} of {source} has vectors of different lengths, or none in some rows."
        )
    return _require_numbers(
        np.stack([np.asarray(row) for row in rows]), f"column {name!r} of {source}"
    )


def _stack_columns(columns: Sequence[Any]) -> Floats:
    """Stack columns of numbers to a matrix, float32 if all of them are."""
    kept = all(column.dtype == nw.Float32 for column in columns)
    wide = np.float32 if kept else np.float64
    return np.column_stack([_column_numbers(column).astype(wide) for column in columns])


def _column_numbers(series: Any) -> NDArray[Any]:
    """Numbers of a column, NaN for empty cells."""
    if series.null_count():
        return np.array([np.nan if cell is None else float(cell) for cell in series.to_list()])
    return np.asarray(series.to_numpy())


def _has_gaps(series: Any) -> bool:
    """Whether a column of numbers has missing ones."""
    column = _column_numbers(series)
    return column.dtype.kind == "f" and bool(np.isnan(column).any())


def _cells(series: Any, kind: str) -> Any:
    """Cells of a column, an array if they are complete numbers, else a list."""
    if kind in ("number", "boolean") and not series.null_count():
        return np.asarray(series.to_numpy())
    return series.to_list()


def _require_numbers(X: ArrayLike, source: str) -> Floats:
    """Return X as a contiguous float matrix; raise if it is no matrix of numbers."""
    array = np.asarray(X)
    if array.ndim != 2:
        raise InputError(f"X must have rows and columns, but has shape {array.shape}.")
    if array.dtype.kind not in "biuf":
        raise InputTypeError(f"{source} is of type {array.dtype}, not of numbers.")
    return np.ascontiguousarray(
        array, dtype=np.float32 if array.dtype == np.float32 else np.float64
    )


# Rows that are shown at most; of more, a sample is.
MOST_SHOWN = 200_000
# Names of features that are told.
MOST_NAMES = 200


@dataclass(frozen=True, eq=False)
class StudioRecords:
    """Rows to learn from, with ids, columns and pictures to show."""

    # Finite numbers to learn from, in float32 or float64.
    X: Floats
    # Names of the columns of X.
    features: list[str]
    # Ids of the rows, or row numbers of the file.
    ids: Sequence[Any]
    # Columns to show and to colour by. None is an empty cell.
    columns: Mapping[str, Sequence[Any]]
    # Name of the file or of the data, for people.
    source: str
    # Rows of the file: more than n if X is a sample.
    n_total: int
    # Row numbers in the file, increasing.
    numbers: Ints
    pictures: Pictures | None = None
    # Columns to colour by that a record does not show, since they would give the answer away.
    hidden: frozenset[str] = frozenset()
    # Name of the ids, such as their column's.
    id_name: str = "row"
    # Whether the names of the features are the data's own, not made up.
    named: bool = False
    # Sentences for the user on the data, such as which columns are learned from.
    notes: tuple[str, ...] = ()
    # Attributes that an exported metric keeps, so that it can read files like this one.
    remembered: Mapping[str, Any] = field(default_factory=dict)
    # Columns and features by which to judge whether two records are the same thing.
    compared: tuple[str, ...] = ()
    # Identity of the rows; made of the ids, unless they are row numbers, and X by default.
    told_apart_by: RecordIdentity | None = None
    # Whether rows are records such as people, for which "same" means the same thing.
    are_things: bool = False
    # Whether X is a column of vectors, whose numbers have one unit.
    is_vector: bool = False
    # The columns that there are to learn from, if they have names.
    choice: ColumnChoice | None = None
    # Sorted numbers of the fields, None of those that are no numbers.
    _ranked: dict[str, Doubles | None] = field(default_factory=dict, init=False, repr=False)

    def __post_init__(self) -> None:
        n = len(self.X)
        if n < 2:
            raise InputError(f"a pair takes two rows, but {self.source} has {n}.")
        if self.X.shape[1] == 0:
            raise InputError(
                f"{self.source} has no numeric columns: there is nothing to measure distances by."
            )
        _check_finite(self.X, self.features, self.numbers, self.source)
        lengths = {"ids": len(self.ids), "numbers": len(self.numbers)}
        lengths |= {f"column {name!r}": len(column) for name, column in self.columns.items()}
        for name, length in lengths.items():
            if length != n:
                raise InputError(f"X has {n} rows, but {name} has {length}.")

    def __len__(self) -> int:
        return len(self.X)

    def record(self, row: int, beside: int | None = None, whole: bool = False) -> dict[str, Any]:
        """Describe a row for the page: columns first, then features.

        Differences from another row shown ``beside`` it are marked, and with ``whole`` long texts
        are shown up to 200 000 characters. Returns ``row``, ``id``, ``image`` (whether rows have
        pictures) and ``fields``, each with ``name``, ``value`` (a text) and ``cut`` (whether that
        is only the beginning). Fields that differ from the other row's have ``parts``: texts, each
        with whether it differs (and ``marked``, if only so many characters were compared). Numbers
        have ``rank``, the share of rows with smaller ones.
        """
        row = self.check_row(row)
        beside = None if beside is None else self.check_row(beside)
        marked = {*self.columns, *self.compared}
        most = MOST_OF_ALL if whole else MOST_CHARACTERS
        fields = []
        for name in self.fields:
            here = self.cell(name, row)
            there = self.cell(name, beside) if beside is not None and name in marked else None
            rank = self._rank(name, here)
            found = _describe_field(name, here, there, most)
            fields.append(found if rank is None else found | {"rank": rank})
        name = format_cell(self.ids[row])[:MOST_CHARACTERS]
        return {"row": row, "id": name, "fields": fields, "image": self.pictures is not None}

    @cached_property
    def fields(self) -> list[str]:
        """Names of the fields of a record, at most 100, in their order."""
        return self.all_fields[:MOST_FIELDS]

    @cached_property
    def all_fields(self) -> list[str]:
        """Names of all columns and features that people can read, columns first."""
        columns = [name for name in self.columns if name not in self.hidden]
        return [*columns, *(name for name in self._readable_features if name not in columns)]

    @cached_property
    def _readable_features(self) -> Mapping[str, int]:
        """Features that people can read, by name, with their columns of X.

        Those without names, such as components of vectors, are none if there is anything else.
        """
        seen = self.pictures is not None or any(name not in self.hidden for name in self.columns)
        if self.of_words or isinstance(self.pictures, PixelPictures) or (seen and not self.named):
            return {}
        return {name: j for j, name in enumerate(self.features)}

    def cell(self, name: str, row: int) -> Any:
        """Value of a row in a field."""
        if name in self.columns:
            return self.columns[name][row]
        return self.X[row, self._readable_features[name]].item()

    def _rank(self, name: str, value: Any) -> float | None:
        """Share of rows whose number is smaller, equal ones counted half; None if no number."""
        if not _is_number(value):
            return None
        if name not in self._ranked:
            self._ranked[name] = self._sort_numbers(name)
        among = self._ranked[name]
        if among is None:
            return None
        below, with_equal = (np.searchsorted(among, value, side) for side in ("left", "right"))
        return round(float(below + with_equal) / 2 / len(among), 4)

    def _sort_numbers(self, name: str) -> Doubles | None:
        """Sort the numbers of a field over at most 20 000 rows; None if they are names or kinds."""
        if recognise_id_name(name) is not None:
            return None
        rows = evenly_spaced(len(self), _MOST_RANKED).tolist()
        told = [cell for row in rows if not is_empty_cell(cell := self.cell(name, row))]
        if not all(map(_is_number, told)) or len(set(told)) < _FEWEST_VALUES:
            return None
        return np.sort(np.array(told, dtype=np.float64))

    @property
    def encoder(self) -> TableEncoder | None:
        """The encoder that made X of columns of words; None if X is of numbers."""
        return self.remembered.get("table_")

    @property
    def of_words(self) -> bool:
        """Whether X was encoded from columns of words."""
        return self.encoder is not None

    @property
    def learned_from(self) -> list[str]:
        """Columns that X was encoded from, or the features themselves."""
        return [*self.compared] if self.of_words else self.features

    def to_compare(self) -> dict[str, list[Any]]:
        """Cells by which to judge whether two records are the same thing, by column."""
        numbers = {name: j for j, name in enumerate(self.features)}
        return {
            name: list(self.columns[name])
            if name in self.columns
            else self.X[:, numbers[name]].tolist()
            for name in self.compared
        }

    def image(self, row: int, side: int = LONGEST_SIDE) -> Image | str:
        """A row's picture of at most ``side`` pixels, or a sentence why there is none."""
        row = self.check_row(row)
        return "There are no pictures." if self.pictures is None else self.pictures.image(row, side)

    def check_row(self, row: int) -> int:
        """Return a row number as an int; raise if there is no such row."""
        return check_row(row, len(self))

    @cached_property
    def ids_differ(self) -> bool:
        """Whether every row has an id of its own."""
        return len({str(one) for one in self.ids}) == len(self)

    @property
    def names_in_files(self) -> tuple[Sequence[Any], str]:
        """Ids of the rows in files, or row numbers if ids repeat, and the column's name."""
        return (self.ids, self.id_name) if self.ids_differ else (self.numbers.tolist(), "row")

    @cached_property
    def identity(self) -> RecordIdentity:
        """Ids and cells by which a journal recognises these records."""
        if self.told_apart_by is not None:
            return self.told_apart_by
        ids = None if self.id_name == "row" else self.ids
        return identity_of_matrix(self.X, ids)

    @cached_property
    def fingerprint(self) -> str:
        """Hash of X, ids and names, as hexadecimal text: other data have another.

        For words it is made of the cells, since encoders may come to differ in the last digits.
        """
        digest = hashlib.sha256()
        texts: list[Any] = [*self.features, *self.ids]
        if self.of_words:
            digest.update(f"{len(self)} {self.n_total}".encode())
            cells = chain(*self.to_compare().values())
            texts = [*self.compared, *self.ids, *("" if is_empty_cell(c) else c for c in cells)]
        else:
            digest.update(f"{self.X.shape} {self.X.dtype.name} {self.n_total}".encode())
            digest.update(np.ascontiguousarray(self.X).data)
        digest.update(np.ascontiguousarray(self.numbers, dtype=np.int64).data)
        for text in map(str, texts):
            digest.update(f"{len(text)} {text}".encode(errors="surrogatepass"))
        return digest.hexdigest()[:32]


def sample_numbers(
    n_rows: int, most: int = MOST_SHOWN, seed: int = 0, keep: ArrayLike = ()
) -> Ints:
    """Draw the rows to show: all, or one at random of each of ``most`` equal stretches.

    Rows to ``keep`` are added in any case. Returns row numbers, increasing.

    >>> sample_numbers(4).tolist()
    [0, 1, 2, 3]
    >>> len(sample_numbers(5_000_000, most=1000))
    1000
    """
    if n_rows <= most:
        return np.arange(n_rows)
    edges = np.arange(most + 1) * n_rows // most
    drawn = np.random.RandomState(seed).randint(edges[:-1], edges[1:], dtype=np.int64)
    numbers = np.union1d(drawn, np.asarray(keep, dtype=np.int64))
    if not 0 <= numbers[0] <= numbers[-1] < n_rows:
        outside = numbers[0] if numbers[0] < 0 else numbers[-1]
        raise InputError(f"row {outside} is to be shown, but there are {n_rows} rows.")
    return numbers


def records_of(
    X: Any,
    ids: Sequence[Any] | None = None,
    columns: Mapping[str, Sequence[Any]] | Any = None,
    images: str | tuple[int, int] | None = None,
    *,
    folder: StrPath = ".",
    source: str = "the data",
    hidden: Sequence[str] = (),
    classes: Sequence[str] = (),
    learn_from: Sequence[str] | None = None,
    of_words: bool | TableEncoder | None = None,
    most: int = MOST_SHOWN,
    keep: ArrayLike = (),
    seed: int = 0,
) -> StudioRecords:
    """Make the studio's records of an array or a data frame.

    Parameters
    ----------
    X : array of shape (n, d), or frame of pandas, polars or pyarrow
        The column of vectors of a frame is learned from, or else its numbers, texts and dates; see
        :func:`nearkin.tables.choice.choose_roles`. All columns but vectors are shown.
    ids : sequence or str, optional
        Ids of the rows, or the column of the frame that holds them; row numbers by default.
    columns : mapping or frame, optional
        Further columns to show and to colour by, of n values each.
    images : str or (int, int), optional
        The column that names a picture's file in the folder for each row, or height and width if
        the numbers of X are pixels.
    hidden, classes : sequence of str
        Columns to colour by that are not shown with a question, and columns of class labels, by
        which records are not compared.
    of_words : bool or TableEncoder, optional
        True, or an encoder to copy, learns from all columns of the frame, words too; False from
        numbers alone. By default words are learned from if there are no numbers but codes.
    most : int, default=200_000
        Number of rows that are shown at most; of more, a sample is shown, with those to ``keep``.

    Examples
    --------
    >>> records = records_of(np.eye(3), columns={"name": ["a", "b", "c"]})
    >>> records.record(1)["fields"][0]
    {'name': 'name', 'value': 'b', 'cut': False}
    """
    again: dict[str, Any] = {"folder": folder, "source": source, "most": most, "keep": keep}
    again |= {"hidden": hidden, "classes": classes, "seed": seed}
    reopened = partial(records_of, X, ids, columns, images, **again)
    more, id_column = to_columns(columns), ids if isinstance(ids, str) else None
    aside = [*more, *([] if id_column is None else [id_column])]
    told = of_words if isinstance(of_words, bool | None) else True
    parts = split_table(X, source, learn_from, aside, told)
    frame, given, features, others = parts.frame, parts.X, parts.features, {**parts.others, **more}
    if id_column is not None:
        if id_column not in others:
            raise InputError(f"ids={ids!r}: {source} has no such column.")
        cells = others.pop(id_column)
        ids = [int(v) if isinstance(v, float) and v.is_integer() else v for v in cells]
    ids = None if ids is None else list(ids)
    n_total = len(given)
    for name, values in {"ids": ids, **others}.items():
        if values is not None and len(values) != n_total:
            raise InputError(f"X has {n_total} rows, but {name} has {len(values)}.")
    numbers = sample_numbers(n_total, most, seed, keep)
    rows = numbers.tolist()
    ids = None if ids is None else select_cells(ids, rows)
    if n_total > len(rows):
        given = given[numbers]
        others = {name: select_cells(values, rows) for name, values in others.items()}
    roles, words, notes = parts.roles, parts.words, list[str]()
    remembered: dict[str, Any] = {}
    if frame is not None and words:
        whole = frame.columns
        encoder = clone(of_words) if isinstance(of_words, TableEncoder) else TableEncoder()
        with collect_notices() as noticed:
            given = encoder.fit_transform(
                {
                    name: others[name]
                    if name in others
                    else select_cells(list_cells(whole[name]), rows)
                    for name in words
                }
            )
        notes = [note.text for note in noticed]
        features, remembered = encoder.get_feature_names_out().tolist(), {"table_": encoder}
        words = tuple(name for name in words if name in encoder.columns_)
        roles = None if roles is None else restrict_roles(roles, words)
    named = features if parts.named else []
    choice, identity = None, identity_of_matrix(given, ids)
    if frame is not None and roles is not None:
        kinds, of_ids = frame.kinds, id_column if id_column in frame.kinds else None
        identity = RecordIdentity(
            kinds, partial(frame.blocks, numbers), len(rows), of_ids, None if of_ids else ids
        )
        notes = [describe_roles(roles), *notes]
        if learn_from is not None:
            notes += describe_class_columns(roles.learned)
        first = {**others, **{name: given[:, j] for j, name in enumerate(named)}}
        choice = ColumnChoice(
            kinds,
            roles.learned,
            roles.left_out,
            {} if id_column is None else {id_column: "ids"},
            lambda names: _require_unchanged(first, reopened(learn_from=names), kinds),
        )
    pictures: Pictures | None = None
    if isinstance(images, str):
        if images not in others:
            raise InputError(f"images={images!r}: {source} has no such column of texts.")
        pictures = FilePictures(others[images], folder)
    elif images is not None:
        pictures = PixelPictures(given, images)
    aside = [*hidden, *classes, *([images] if isinstance(images, str) else [])]
    telling = telling_columns([*others, *named], aside)
    return StudioRecords(
        X=given,
        features=features,
        ids=rows if ids is None else ids,
        columns=others,
        source=source,
        n_total=n_total,
        numbers=numbers,
        pictures=pictures,
        hidden=frozenset(hidden),
        id_name="row" if id_column is None else id_column,
        named=parts.named,
        notes=tuple(notes),
        remembered=remembered,
        compared=words or tuple(telling),
        told_apart_by=identity,
        are_things=parts.are_things,
        is_vector=parts.is_vector,
        choice=choice,
    )


def _require_unchanged(
    first: Mapping[str, Any], found: StudioRecords, kinds: Mapping[str, str]
) -> StudioRecords:
    """Return records that were read again; raise if their cells have changed since the first."""
    own = found.features if found.named else []
    cells = {**{name: found.X[:, j] for j, name in enumerate(own)}, **found.columns}
    lengths = {len(column) for column in (*first.values(), *cells.values())}
    if len(lengths) > 1 or any(
        digests_of({name: first[name]}, kinds) != digests_of({name: cells[name]}, kinds)
        for name in first.keys() & cells.keys() & kinds.keys()
    ):
        raise InputError("the frame has changed since the studio was opened: open it anew.")
    return found


def telling_columns(names: Sequence[str], aside: Collection[Any] = ()) -> list[str]:
    """Choose the columns to compare records by: not ids, classes or those set ``aside``.

    >>> telling_columns(["id", "name", "town", "label", "photo"], ["photo"])
    ['name', 'town']
    """
    left_out = find_doubtful_names(names)
    return [name for name in names if name not in left_out and name not in aside]


def records_of_digits() -> StudioRecords:
    """Make records of scikit-learn's digits: 1797 pictures of 8 × 8 pixels, with hidden labels.

    >>> records_of_digits().X.shape
    (1797, 64)
    """
    from sklearn.datasets import load_digits

    data = load_digits()
    return records_of(
        data.data,
        columns={"digit": data.target.tolist()},
        images=(8, 8),
        source="digits",
        hidden=["digit"],
    )


def to_columns(columns: Any) -> dict[str, Sequence[Any]]:
    """Convert a mapping or data frame to columns by name."""
    if columns is None:
        return {}
    if not isinstance(columns, Mapping):
        frame = nw.from_native(columns, eager_only=True)
        return {str(name): frame[name].to_list() for name in frame.columns}
    return {str(name): list(values) for name, values in columns.items()}


def _check_finite(X: Floats, names: Sequence[str], numbers: Ints, source: str) -> None:
    """Raise, with row and column, if a number is missing, infinite or too large to square."""
    bad = ~np.isfinite(X)
    if bad.any():
        row, column = np.argwhere(bad)[0]
        raise InputError(
            f"row {numbers[row]}, column {names[column]!r} of {source} is {X[row, column]}: fill "
            "or drop rows with missing numbers first."
        )
    largest = np.abs(X).max(axis=0)
    column = int(largest.argmax())
    # Squares of distances must be numbers too.
    if largest[column] > np.sqrt(np.finfo(X.dtype).max) / 1000:
        raise InputError(
            f"column {names[column]!r} of {source} has numbers as large as {largest[column]:.3g}, "
            "too large to measure distances by: scale it first."
        )


def choose_scaling(
    records: StudioRecords, wished: bool | None
) -> tuple[StandardScaler | Normalizer | None, list[str]]:
    """Choose how to scale rows before learning, and fit that; also returns sentences on it.

    Columns in different units are standardised. Pictures and encoded words have one unit, and are
    scaled only on request. Vectors, such as embeddings, are made for comparing directions, and are
    scaled to length 1, unless it is ``wished`` (True) or not (False) that columns are standardised.

    >>> rows = np.random.default_rng(0).normal(size=(50, 2))
    >>> choose_scaling(records_of(rows), None)
    (None, [])
    >>> choose_scaling(records_of(rows * [1, 1000]), None)[0]
    StandardScaler()
    """
    if wished:
        return fit_scaler(records.X), []
    if records.is_vector and wished is None:
        return Normalizer().fit(records.X), ["Vectors are compared by their directions (cosine)."]
    found = None
    if not (records.pictures is not None or records.of_words or records.is_vector):
        found = find_differing_units(records.X)
    if found is None:
        return None, []
    said = describe_units(found, records.features)
    said = f"{said[0].upper()}{said[1:]}"
    if wished is None:
        return fit_scaler(records.X), [f"{said}: columns are brought to one scale."]
    return None, [f"{said}: standardise to give all columns the same say."]
