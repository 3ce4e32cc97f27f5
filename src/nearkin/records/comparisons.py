"""How two records compare, column by column, as numbers with names.

Similarities are between 0 and 1, and −1 where a cell is missing on either side, so that what is not
known is told apart from what differs. The rarity of a value that both have is 0 for one that all
records have and 1 for one that a single record has: to share a rare name says more than to share a
common one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from zlib import crc32

import numpy as np
from joblib import cpu_count
from numpy.typing import NDArray

from nearkin._types import Doubles, Ints, Mask
from nearkin.errors import InputError, InputTypeError, explain_missing_package, few
from nearkin.records.blocking import (
    TokenLists,
    find_trigrams,
    find_words,
    list_tokens,
    read_text_cells,
    texts_of,
)
from nearkin.storage.arrays import StorageError
from nearkin.storage.schema import a as an
from nearkin.storage.schema import list_of, many, positive, positive_floats, stored, text, whole
from nearkin.tables.reading import (
    WORDS,
    Column,
    Order,
    RawColumn,
    Reading,
    find_missing,
    read_column,
    read_columns,
    read_table,
    read_words,
    recognise_id_name,
    recognise_kinds,
)

Table32 = NDArray[np.float32]

MISSING = -1.0
_BUCKETS = 1 << 16
# Texts that are longer on average, or have spaces as often as this, are compared by words too.
_LONG, _SPACED = 12.0, 0.3
# Letters of a text that are compared one by one: the rest of longer ones is not looked at.
_MOST_LETTERS = 100
# Records whose texts tell how long these are.
_SAMPLE = 20_000


@stored(
    name=text,
    kind=text,
    parts=many(text),
    scale=positive,
    counts=positive_floats("b"),
    tokens=positive_floats("b"),
)
@dataclass(frozen=True)
class ColumnComparison:
    """How a column is compared.

    Its parts are what is computed: of ``"letters"`` (Jaro-Winkler), ``"edits"``, ``"words"`` and
    ``"grams"`` (cosines by rarity), ``"near"``, ``"rarity"`` and ``"missing"``.
    """

    name: str
    kind: str
    parts: tuple[str, ...]
    # Difference of numbers and of dates, or distance of vectors, at which nearness falls to 1/e.
    scale: float
    # How often values, and words and trigrams, were seen, by their hashes: 65536 each.
    counts: Doubles
    tokens: Doubles

    def __post_init__(self) -> None:
        known = self.parts[-2:] == ("rarity", "missing") and set(self.parts) <= set(_PARTS)
        if not known or len(self.counts) != _BUCKETS or len(self.parts) < 3:
            raise StorageError(f"{self.parts} is no way to compare column {self.name!r}.")


@stored(columns=list_of(an("ColumnComparison")), n_records=whole)
@dataclass(frozen=True)
class Comparisons:
    """What is computed of two records, and of how many records counts are."""

    columns: list[ColumnComparison]
    n_records: int

    @property
    def names(self) -> list[str]:
        """Of every comparison, in their order."""
        return [f"{column.name}: {part}" for column in self.columns for part in column.parts]

    @property
    def places(self) -> list[slice]:
        """Where the comparisons of each column are."""
        ends = np.cumsum([len(column.parts) for column in self.columns]).tolist()
        return [
            slice(end - len(column.parts), end)
            for column, end in zip(self.columns, ends, strict=True)
        ]


@dataclass(frozen=True)
class Prepared:
    """A column of a table, ready to be compared."""

    texts: NDArray[np.object_]
    codes: NDArray[np.int32]  # equal for equal values, 0 for missing ones
    rarity: NDArray[np.float32]
    values: Doubles  # numbers, days, or vectors: (n,) or (n, w)
    words: TokenLists | None = None
    grams: TokenLists | None = None


def comparisons_of(columns: Sequence[Column]) -> Comparisons:
    """Decide how the columns of a table are compared.

    Columns without two values are left out, unless all are such.
    """
    there = [column for column in columns if column.kind != "ignored"]
    for least in (2, 1):
        planned = (_planned(column, least) for column in there)
        if kept := [plan for plan in planned if plan is not None]:
            return Comparisons(kept, len(there[0]))
    raise InputError(
        "no column can be compared: records need at least one column of words, numbers or dates."
    )


def count_values(column: Column) -> Doubles:
    """How often values are met, and in how many cells tokens, by their hashes: (2, 65536)."""
    counts = np.zeros((2, _BUCKETS))
    often = Counter(value for value in texts_of(column) if value)
    np.add.at(counts[0], _buckets(list(often)), list(often.values()))
    if column.kind in WORDS:
        cells = read_text_cells(column)
        for find in (find_words, find_trigrams):
            counts[1] += np.bincount(list_tokens(cells, find)[0], minlength=_BUCKETS)
    return counts


def prepare_columns(plan: Comparisons, columns: Sequence[Column]) -> list[Prepared]:
    """The columns that are compared, in the plan's order."""
    refuse_absent(plan, columns)
    by_name = {column.name: column for column in columns}
    return [_prepare(one, by_name[one.name], plan.n_records) for one in plan.columns]


def refuse_absent(plan: Comparisons, columns: Sequence[Column]) -> None:
    """Raise if columns are not there that are compared."""
    there = {column.name for column in columns}
    absent = [column.name for column in plan.columns if column.name not in there]
    if absent:
        raise InputError(
            f"the table has no column {few(map(repr, absent))}, which records are compared by. A "
            "column of missing cells will do, such as None in all rows."
        )


def compare_pairs(plan: Comparisons, table: Sequence[Prepared], pairs: Ints) -> Table32:
    """Compare pairs of records of a table: an array of shape (k, len(plan.names))."""
    i, j = np.asarray(pairs, dtype=np.int64).T
    out = np.empty((len(i), len(plan.names)), dtype=np.float32)
    for column, values, place in zip(plan.columns, table, plan.places, strict=True):
        there = (values.codes[i] > 0) & (values.codes[j] > 0)
        equal = there & (values.codes[i] == values.codes[j])
        for part, at in zip(column.parts, range(place.start, place.stop), strict=True):
            out[:, at] = _PARTS[part](column, values, i, j, there, equal)
    return out


def n_similarities(column: ColumnComparison) -> int:
    """How many of a column's comparisons, the first ones, are similarities."""
    return len(column.parts) - 2


def _planned(column: Column, least: int) -> ColumnComparison | None:
    """How a column is compared; None if it has not as many different values."""
    name, kind, nothing = column.name, column.kind, np.full(_BUCKETS, 0.5)
    if kind == "vector":
        # The scale is a third of the distance of records at random.
        known = column.values[np.isfinite(column.values).all(axis=1)]
        i, j = np.random.RandomState(0).randint(max(len(known), 1), size=(2, 1000))
        apart = np.linalg.norm(known[i] - known[j], axis=1) if len(known) else np.zeros(1)
        if not apart.any():
            return None
        parts: tuple[str, ...] = ("near", "rarity", "missing")
        scale = float(np.median(apart[apart > 0])) / 3
        return ColumnComparison(name, kind, parts, scale, nothing, nothing)
    there = [value for value in texts_of(column) if value]
    if len(set(there)) < least:
        return None
    counts, tokens = 0.5 + count_values(column)
    if kind in WORDS:
        some = there[:: max(len(there) // _SAMPLE, 1)]
        long = np.mean([len(value) for value in some]) > _LONG
        spaced = np.mean([" " in value for value in some]) > _SPACED
        parts = ("letters", "edits", "grams", *(("words",) if long or spaced else ()))
        return ColumnComparison(name, kind, (*parts, "rarity", "missing"), 1.0, counts, tokens)
    numbers = column.values[np.isfinite(column.values)]
    low, high = np.quantile(numbers, [0.05, 0.95])
    scale = float(high - low) / 20 or float(np.ptp(numbers)) / 20 or 1.0
    return ColumnComparison(
        name, kind, ("near", "edits", "rarity", "missing"), scale, counts, tokens
    )


def _prepare(plan: ColumnComparison, column: Column, n_records: int) -> Prepared:
    if column.kind == "vector":
        there = np.isfinite(column.values).all(axis=1)
        n = len(column)
        # No two are taken to be equal: the distance says it.
        codes = np.where(there, np.arange(1, n + 1), 0).astype(np.int32)
        nothing = np.full(n, "", dtype=object)
        return Prepared(nothing, codes, np.zeros(n, np.float32), np.asarray(column.values))
    texts = texts_of(column)
    numbers = {"": 0}
    codes = np.array([numbers.setdefault(value, len(numbers)) for value in texts], dtype=np.int32)
    often = plan.counts[_buckets(list(numbers))]
    rarity = np.log(max(n_records, 2) / often) / np.log(max(n_records, 2))
    rarity = rarity.clip(0, 1).astype(np.float32)[codes]
    if column.kind not in WORDS:
        return Prepared(np.array(texts, dtype=object), codes, rarity, np.asarray(column.values))
    cells = read_text_cells(column)
    # What all records have says next to nothing, but texts of nothing else are alike all the same.
    n = max(n_records, 2)
    weights = (np.log(n / plan.tokens) / np.log(n)).clip(0.02, 1).astype(np.float32)
    words, grams = (
        TokenLists(*list_tokens(cells, find), weights) for find in (find_words, find_trigrams)
    )
    short = np.array([text[:_MOST_LETTERS] for text in texts], dtype=object)
    return Prepared(short, codes, rarity, np.zeros(0), words, grams)


def _buckets(texts: list[str]) -> Ints:
    hashes = (crc32(value.encode(errors="replace")) for value in texts)
    return np.fromiter(hashes, dtype=np.int64, count=len(texts)) % _BUCKETS


def _compare_texts(
    scorer: str, column: Any, values: Prepared, i: Ints, j: Ints, there: Mask, equal: Mask
) -> Table32:
    """A similarity of texts by rapidfuzz, 1 for equal ones and −1 for missing ones."""
    del column
    with explain_missing_package("comparing records needs rapidfuzz", "records"):
        import rapidfuzz
    out = np.full(len(i), MISSING, dtype=np.float32)
    out[equal] = 1
    rest = np.flatnonzero(there & ~equal)
    if len(rest):
        out[rest] = rapidfuzz.process.cpdist(
            values.texts[i[rest]].tolist(),
            values.texts[j[rest]].tolist(),
            scorer=getattr(rapidfuzz.distance, scorer).normalized_similarity,
            dtype=np.float32,
            workers=min(cpu_count(), 1 + len(rest) // 10_000),
        )
    return out


def _compare_lists(
    which: str, column: Any, values: Prepared, i: Ints, j: Ints, there: Mask, equal: Mask
) -> Table32:
    """Cosine of the words or trigrams of two cells, 1 for equal ones and −1 for missing ones."""
    del column
    lists: TokenLists = getattr(values, which)
    found = lists.compare(np.column_stack([i, j]))[0]
    found[equal] = 1
    found[~there] = MISSING
    return found


def _near(
    column: ColumnComparison, values: Prepared, i: Ints, j: Ints, there: Mask, equal: Mask
) -> Doubles:
    del equal
    apart = np.abs(values.values[i] - values.values[j])
    if apart.ndim > 1:
        apart = np.linalg.norm(apart, axis=1)
    return np.where(there, np.exp(-np.where(there, apart, 0) / column.scale), MISSING)


def _rarity(
    column: ColumnComparison, values: Prepared, i: Ints, j: Ints, there: Mask, equal: Mask
) -> Table32:
    if "words" not in column.parts or values.words is None:
        return np.where(equal, values.rarity[i], np.float32(0))
    rarest = values.words.compare(np.column_stack([i, j]))[1]
    return np.where(there, np.where(equal, np.maximum(values.rarity[i], rarest), rarest), 0)


def _missing(
    column: ColumnComparison, values: Prepared, i: Ints, j: Ints, there: Mask, equal: Mask
) -> Doubles:
    del column, there, equal
    return np.asarray((values.codes[i] == 0).astype(np.float64) + (values.codes[j] == 0))


_PARTS: dict[str, Callable[..., Any]] = {
    "letters": partial(_compare_texts, "JaroWinkler"),
    "edits": partial(_compare_texts, "OSA"),
    "words": partial(_compare_lists, "words"),
    "grams": partial(_compare_lists, "grams"),
    "near": _near,
    "rarity": _rarity,
    "missing": _missing,
}


# Tables as they are given, as columns that can be compared.


def are_columns(table: Any) -> bool:
    """Whether a table is given as columns whose kinds are known."""
    return isinstance(table, list) and bool(table) and all(isinstance(c, Column) for c in table)


def columns_given(
    table: Any, kinds: Mapping[str, str] | None = None, dates: Order | None = None
) -> list[Column]:
    """The columns of a table: of a data frame, a dict of lists, or a list of such columns."""
    if not are_columns(table):
        _refuse_dask(table)
        columns = read_columns(table, kinds, dates)
        if any(column.kind != "ignored" for column in columns):
            return columns
        # Where all records are equal, no column tells them apart, but they are compared.
        constant = {
            cells.name: "name"
            for cells in read_table(table)
            if cells.form == "text" and not find_missing(cells).all()
            and recognise_id_name(cells.name) is None and len(set(cells.values.tolist())) == 1
        }  # fmt: skip
        return read_columns(table, {**constant, **(kinds or {})}, dates) if constant else columns
    if len({len(column) for column in table}) > 1:
        raise InputError("columns of the table differ in length.")
    return list(table)


def columns_known(
    table: Any, kinds: Mapping[str, str], orders: Mapping[str, Reading]
) -> list[Column]:
    """The columns of a table that are known from another one, read as they were there.

    Columns that are not there are left out, and so are all others.
    """
    if are_columns(table):
        return [column for column in columns_given(table) if column.name in kinds]
    _refuse_dask(table)
    cells = [one for one in read_table(table) if kinds.get(one.name, "ignored") != "ignored"]
    found = recognise_kinds(cells, {one.name: kinds[one.name] for one in cells})
    return [read_column(one, found[one.name], orders.get(one.name)) for one in cells]


def columns_of_both(
    left: Any, right: Any, kinds: Mapping[str, str] | None = None, dates: Order | None = None
) -> tuple[list[Column], list[Column]]:
    """The columns that two tables have in common, in the order of the first.

    What a column holds is recognised in each table, and by the cells of both where that differs.
    """
    if are_columns(left) or are_columns(right):
        return columns_given(left, kinds, dates), columns_given(right, kinds, dates)
    for table in (left, right):
        _refuse_dask(table)
    first, second = ({one.name: one for one in read_table(table)} for table in (left, right))
    both = _in_common(list(first), list(second))
    found, there = (
        recognise_kinds([one[n] for n in both], kinds, dates) for one in (first, second)
    )
    differ = [name for name in both if found[name] != there[name]]
    found |= recognise_kinds([_beneath(first[name], second[name]) for name in differ], None, dates)
    columns = []
    for side, cells in (("left", first), ("right", second)):
        try:
            columns.append([read_column(cells[name], found[name], dates) for name in both])
        except InputError as error:
            raise InputError(f"the {side} table: {error}") from None
    return columns[0], columns[1]


def _refuse_dask(table: Any) -> None:
    if is_on_dask(table):
        raise InputTypeError(
            "of tables on dask fit and duplicates find what is the same within one; for all else "
            "give table.compute(), which brings it into memory."
        )


def is_on_dask(table: Any) -> bool:
    """Whether a table is of dask, which need not be installed for that."""
    # Of the class: an object of dask.delayed has any attribute.
    return hasattr(type(table), "__dask_graph__")


def join_columns(left: Sequence[Column], right: Sequence[Column]) -> list[Column]:
    """The rows of one table and then those of another, by columns that both have."""
    of_right = {column.name: column for column in right}
    both = _in_common([column.name for column in left], list(of_right))
    return [_joined(column, of_right[column.name]) for column in left if column.name in both]


def _in_common(left: list[str], right: list[str]) -> list[str]:
    both = [name for name in left if name in right]
    if not both:
        raise InputError(
            f"the two tables have no column in common: {left} and {right}. Rename columns that "
            "hold the same things alike."
        )
    return both


def _joined(left: Column, right: Column) -> Column:
    if left.kind != right.kind:
        raise InputError(
            f"column {left.name!r} is a {left.kind} in the one table and a {right.kind} in the "
            "other: say in kinds= what it is."
        )
    parts = [left.values, right.values]
    widths = [values.shape[1:] for values in parts]
    for k, other in enumerate(widths[::-1]):
        if widths[k] < other:  # missing vectors are as wide as the others
            if np.isfinite(parts[k]).any():
                raise InputError(
                    f"column {left.name!r} holds vectors of {other[0]} numbers in the one table "
                    f"and of {widths[k][0]} in the other."
                )
            parts[k] = np.full((len(parts[k]), *other), np.nan)
    order = left.order if left.order == right.order else None
    return Column(left.name, left.kind, np.concatenate(parts), order)


def _beneath(left: RawColumn, right: RawColumn) -> RawColumn:
    """Cells of two tables, one beneath the other; as texts where their forms differ."""
    there = [one for one in (left, right) if not find_missing(one).all()]
    if len(there) == 1:
        return there[0]
    if left.form == right.form != "vector":
        return RawColumn(left.name, left.form, np.concatenate([left.values, right.values]))
    if left.form == right.form:
        return left  # vectors, whose widths are compared later
    return RawColumn(left.name, "text", np.concatenate([read_words(left), read_words(right)]))
