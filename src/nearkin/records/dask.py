"""Matching of tables of dask: candidates and comparisons on the workers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import dask
import numpy as np
import pandas
from numpy.typing import NDArray

from nearkin._types import Doubles, Ints, Mask
from nearkin.errors import InputError, InputTypeError
from nearkin.messages import collect_notices
from nearkin.records.blocking import (
    BLOCK,
    Best,
    Bytes,
    Candidates,
    Halves,
    Keys,
    Sides,
    TokenLists,
    ValueKeys,
    count_orders,
    find_meetings,
    find_value_keys,
    first_of_equal,
    gram_counts,
    gram_weights,
    joined_runs,
    nobody_yet,
    order_keys,
    pairs_of_rare_values,
    record_keys,
    remember,
    searched_cells,
    unite_candidates,
    weighed_grams,
    with_copies,
)
from nearkin.records.comparisons import (
    Comparisons,
    Table32,
    compare_pairs,
    comparisons_of,
    count_values,
    prepare_columns,
)
from nearkin.records.model import Matching, Work, list_copies
from nearkin.rows.backends import evenly_spaced
from nearkin.rows.dask_rows import check_processes, explain_failures, find_client
from nearkin.rows.parallel import one_core, split_range
from nearkin.tables.reading import (
    WORDS,
    Column,
    Kind,
    Order,
    Reading,
    find_missing,
    read_column,
    read_columns,
    read_table,
)

# Values that lie on dask's workers, one for each part of some records.


# Blocks of pairs whose records are sent to where they are compared at a time.
_BLOCKS_AT_A_TIME = 16


@dataclass(frozen=True)
class DaskParts:
    """A value for each part of some records, kept by the workers, which spill what is too much."""

    values: list[Any]  # delayed
    starts: Ints  # numbers of the first records of all parts, and of all records
    client: Any  # of distributed; None for dask's own threads

    def map(
        self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] = ()
    ) -> DaskParts:
        """``function(value, *shared, one)`` of each part, kept too; ``each`` has one for each."""
        each = each or [()] * len(self.values)
        sent = self._sent(shared)
        tasks = [
            make_task(_on_one_core, function, value, sent, one)
            for value, one in zip(self.values, each, strict=True)
        ]
        return DaskParts(persist_tasks(tasks, self.client), self.starts, self.client)

    def _sent(self, shared: tuple[Any, ...]) -> Any:
        """What all tasks share, for each of them to refer to; the scheduler keeps it."""
        whole = dask.delayed(shared, traverse=False, pure=False)
        return persist_tasks([whole], self.client)[0]

    def computed(self) -> list[Any]:
        """All values, in this process."""
        return compute_tasks(self.values, self.client)

    def cut(self, values: NDArray[Any]) -> list[tuple[NDArray[Any]]]:
        """What is said of each record, for each part."""
        return [(values[a:b],) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]

    def taken(self, records: Ints) -> list[Any]:
        """Tasks that give the wanted records of each part that has some; numbers are increasing."""
        ends = np.searchsorted(records, self.starts)
        return [
            make_task(_taken, self.values[i], records[ends[i] : ends[i + 1]] - self.starts[i])
            for i in np.flatnonzero(np.diff(ends)).tolist()
        ]

    def of_pairs(
        self, pairs: Ints, function: Callable[..., Any], *shared: Any, size: int
    ) -> Iterator[tuple[slice, Any]]:
        """``function(parts, pairs, *shared)`` of blocks of pairs, on the workers.

        ``parts`` are the records of a block, and ``pairs`` has their numbers among these.
        """
        sent = self._sent(shared)
        cuts = list(split_range(len(pairs), size))
        for few in split_range(len(cuts), _BLOCKS_AT_A_TIME):
            tasks = []
            for cut in cuts[few]:
                records, local = np.unique(pairs[cut], return_inverse=True)
                local = local.reshape(-1, 2).astype(np.int32)
                tasks.append(make_task(_of_pairs, function, self.taken(records), local, sent))
            yield from zip(cuts[few], compute_tasks(tasks, self.client), strict=True)


def make_task(function: Callable[..., Any], *arguments: Any) -> Any:
    """A call that a worker will make."""
    return dask.delayed(function, pure=False)(*arguments)


def compute_tasks(tasks: Sequence[Any], client: Any) -> list[Any]:
    """What tasks give, in this process."""
    with explain_failures(client), _large_graphs():
        return list(dask.compute(*tasks, scheduler=client))


def persist_tasks(tasks: Sequence[Any], client: Any) -> list[Any]:
    """Tasks whose results the workers keep as long as somebody here refers to them."""
    with explain_failures(client), _large_graphs():
        if client is None:
            return list(dask.persist(*tasks))
        return list(client.persist(list(tasks)))


def _large_graphs() -> Any:
    """Numbers of records go along with tasks, which distributed would warn of."""
    return dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TB"})


# What the workers run. These functions change nothing, so that a lost worker's tasks can run again
# elsewhere.


def _on_one_core(
    function: Callable[..., Any], value: Any, shared: tuple[Any, ...], each: tuple[Any, ...]
) -> Any:
    with one_core():
        return function(value, *shared, *each)


def _taken(value: Any, records: Ints) -> Any:
    """Some records of a part, which may be a data frame of pandas."""
    return value.take(records)


def _of_pairs(
    function: Callable[..., Any], parts: list[Any], pairs: Ints, shared: tuple[Any, ...]
) -> Any:
    with one_core():
        return function(parts, pairs.astype(np.int64), *shared)


# Columns of a table as arrays of bytes and numbers: small where they lie, and quick to send.


_CODING = ("utf-8", "surrogatepass")


@dataclass(frozen=True)
class PackedColumn:
    """A column of words, numbers or dates; what it does not have is empty."""

    name: str
    kind: Kind
    buffer: Bytes  # all texts, one after the other
    ends: Ints  # where the text of each record ends in it; that of a missing cell is empty
    values: Doubles  # numbers, or days


@dataclass(frozen=True)
class PackedTable:
    """Records, column by column: as many bytes as their texts have, and 8 for each cell."""

    columns: list[PackedColumn]
    n_records: int

    def take(self, records: Ints) -> PackedTable:
        """Some of the records."""
        return PackedTable([_take_packed(column, records) for column in self.columns], len(records))


def pack_columns(columns: Sequence[Column]) -> PackedTable:
    """Columns as bytes and numbers; there are no vectors among them."""
    return PackedTable([_packed(column) for column in columns], len(columns[0]) if columns else 0)


def unpack_columns(parts: Sequence[PackedTable]) -> list[Column]:
    """The columns of some parts of a table, one after the other."""
    return [
        Column(columns[0].name, columns[0].kind, np.concatenate([_values(c) for c in columns]))
        for columns in zip(*(part.columns for part in parts), strict=True)
    ]


def _packed(column: Column) -> PackedColumn:
    no_ends, no_values = np.zeros(0, dtype=np.int64), np.zeros(0)
    if column.kind not in WORDS:
        values = np.asarray(column.values, dtype=np.float64)
        return PackedColumn(column.name, column.kind, np.zeros(0, np.uint8), no_ends, values)
    texts = [(value or "").encode(*_CODING) for value in column.values.tolist()]
    ends = np.cumsum([len(text) for text in texts], dtype=np.int64)
    buffer = np.frombuffer(b"".join(texts), dtype=np.uint8)
    return PackedColumn(column.name, column.kind, buffer, ends, no_values)


def _take_packed(column: PackedColumn, records: Ints) -> PackedColumn:
    if column.kind not in WORDS:
        values = column.values[records]
        return PackedColumn(column.name, column.kind, column.buffer, column.ends, values)
    starts, ends = np.append(0, column.ends)[records], column.ends[records]
    buffer = joined_runs(column.buffer, starts, ends)
    return PackedColumn(column.name, column.kind, buffer, np.cumsum(ends - starts), column.values)


def _values(column: PackedColumn) -> np.ndarray:
    if column.kind not in WORDS:
        return column.values
    raw, start = column.buffer.tobytes(), 0
    found = np.empty(len(column.ends), dtype=object)
    for record, end in enumerate(column.ends.tolist()):
        found[record] = raw[start:end].decode(*_CODING) if end > start else None
        start = end
    return found


# A table of dask: its columns as bytes and numbers on the workers, and how they are compared.


# Records that tell what columns hold and how they are compared, as in tables in memory.
_SAMPLE = 20_000
# How all partitions are read where the sample could not tell.
_USUAL: dict[Kind, Reading] = {"date": "day first", "number": "decimal point"}


@dataclass(frozen=True)
class DaskTable:
    """Records on the workers, packed, and up to 20,000 records from all over the table."""

    parts: DaskParts
    sample: list[Column]

    def __len__(self) -> int:
        return int(self.parts.starts[-1])

    def comparisons(self) -> Comparisons:
        """How columns are compared: by a sample, with the values of all records counted."""
        plan = comparisons_of(self.sample)
        names = [column.name for column in plan.columns]
        counts = 0.5 + np.sum(self.parts.map(_counts, names).computed(), axis=0)
        columns = [
            replace(one, counts=values, tokens=tokens)
            for one, (values, tokens) in zip(plan.columns, counts, strict=True)
        ]
        return Comparisons(columns, len(self))


def dask_table(
    frame: Any,
    kinds: Mapping[str, str] | None,
    dates: Order | Mapping[str, Reading] | None,
) -> DaskTable:
    """Read a data frame of dask, partition by partition on the workers.

    What columns hold is recognised by the sample, where ``kinds`` do not say it; ``dates`` are as
    of :func:`nearkin.tables.reading.read_columns`.

    Memory: a partition at a time in every thread of a worker, and what the workers keep: the bytes
    of the texts and 8 for each cell.
    """
    if not hasattr(frame, "map_partitions") or getattr(frame, "ndim", 0) != 2:
        raise InputTypeError(f"a table of dask is a data frame, not {type(frame).__name__}.")
    client = find_client()
    if client is not None:
        check_processes(client)
    partitions = frame.to_delayed()
    lengths = compute_tasks([make_task(len, part) for part in partitions], client)
    starts = np.cumsum([0, *lengths], dtype=np.int64)
    if not starts[-1]:
        raise InputError("the table has no rows.")
    raw = DaskParts(list(partitions), starts, client)
    wanted = evenly_spaced(int(starts[-1]), _SAMPLE)
    some = compute_tasks(raw.taken(wanted), client)
    sample = read_columns(pandas.concat(some), kinds, dates)
    found = {column.name: column.kind for column in sample}
    vectors = [name for name, kind in found.items() if kind == "vector"]
    if vectors:
        raise InputTypeError(
            f"column {vectors[0]!r} holds vectors, which are compared in memory only: leave it out."
        )
    orders = {column.name: column.order for column in sample if column.order}
    read = [make_task(_read, partition, found, orders) for partition in partitions]
    return DaskTable(DaskParts(persist_tasks(read, client), starts, client), sample)


# What the workers run.


def _read(frame: Any, kinds: dict[str, Kind], orders: dict[str, Reading]) -> PackedTable:
    """A partition as bytes and numbers; what is ignored is left out."""
    # What is to be noticed was, in the sample.
    with one_core(), collect_notices():
        used = {name for name, kind in kinds.items() if kind != "ignored"}
        cells = read_table(frame, used)
        return pack_columns(
            [
                read_column(one, kinds[one.name], orders.get(one.name, _USUAL.get(kinds[one.name])))
                for one in cells
            ]
        )


def _counts(part: PackedTable, names: list[str]) -> Doubles:
    return np.array([count_values(column) for column in _columns(part, names)])


# Pairs of records on dask's workers that may be the same thing: the same as in memory.


# Records that are compared with their neighbours in one task, and pairs in another.
_RECORDS, _PAIRS = 2 * BLOCK, 1 << 17


def candidates_on_dask(parts: DaskParts, names: list[str], n_best: int, seed: int) -> Candidates:
    """The pairs of packed records that may be the same thing, by columns of these names.

    Memory: in this process 8 ``n_best`` + 8 (columns + 4) bytes for each record and 64 MB, and the
    candidates; on the workers together 4 bytes a gram, and the same again on the way.
    """
    first = first_of_equal(np.concatenate(parts.map(_record_keys, names).computed()))
    alone = first == np.arange(len(first))
    counts = parts.map(_gram_counts, names, each=parts.cut(alone))
    seen = np.zeros(1 << 24, dtype=np.int32)
    for slots, times in counts.computed():
        seen[slots] += times
    del counts
    weights = gram_weights(seen, int(alone.sum()))
    slots = np.flatnonzero(weights).astype(np.int32)
    del seen
    made = parts.map(_grams, names, slots, weights[slots], each=parts.cut(alone))
    starts = np.append(0, np.cumsum(alone))[parts.starts]
    grams = DaskParts(made.values, starts, parts.client)
    best = _best(grams, n_best, seed)
    nowhere: Sides = np.zeros(int(starts[-1]), dtype=np.int32)
    by_column = [
        pairs_of_rare_values(keys, nowhere) for keys in _keys_by_column(parts, names, alone, starts)
    ]
    return with_copies(unite_candidates(best, by_column, partial(_overlaps, grams)), first, None)


def _keys_by_column(
    parts: DaskParts, names: list[str], alone: Mask, starts: Ints
) -> list[ValueKeys]:
    found = parts.map(_view_keys, names, each=parts.cut(alone)).computed()
    return [
        ValueKeys(
            np.concatenate([one.keys for one in keys]),
            np.concatenate([one.records + at for one, at in zip(keys, starts, strict=False)]),
        )
        for keys in zip(*found, strict=True)
    ]


def _best(grams: DaskParts, n_best: int, seed: int) -> Best:
    """The best others of each record, among those that it met."""
    n = int(grams.starts[-1])
    n_orders = count_orders(n)
    best = nobody_yet(n, n_best)
    next_keys = grams.map(order_keys, seed, 0)
    for number in range(n_orders):
        keys = next_keys
        place = np.empty(n, dtype=np.uint16)
        order = np.argsort(np.concatenate(keys.computed()), kind="stable")
        place[order] = np.arange(n) // _RECORDS
        del order
        n_places = int(place.max(initial=0)) + 1
        pieces = [
            make_task(_pieces, part, key, at, n_places)
            for part, key, (at,) in zip(grams.values, keys.values, grams.cut(place), strict=True)
        ]
        tasks = [make_task(_meetings, [piece[k] for piece in pieces], n) for k in range(n_places)]
        if number + 1 < n_orders:
            next_keys = grams.map(order_keys, seed, number + 1)
        for k, (i, j, cosine) in enumerate(compute_tasks(tasks, grams.client)):
            members = np.flatnonzero(place == k)
            remember(members[i], members[j], cosine, *best)
    return best


def _overlaps(grams: DaskParts, pairs: Ints) -> Halves:
    found = np.zeros(len(pairs), dtype=np.float32)
    for cut, values in grams.of_pairs(pairs, _overlaps_of, size=_PAIRS):
        found[cut] = values
    return found


# What the workers run.


def _columns(part: PackedTable, names: list[str]) -> list[Column]:
    by_name = {column.name: column for column in unpack_columns([part])}
    return [by_name[name] for name in names]


def _alone(part: PackedTable, names: list[str], alone: Mask) -> list[Column]:
    return _columns(part.take(np.flatnonzero(alone)), names)


def _record_keys(part: PackedTable, names: list[str]) -> Keys:
    return record_keys(_columns(part, names))


def _gram_counts(
    part: PackedTable, names: list[str], alone: Mask
) -> tuple[Ints, NDArray[np.int32]]:
    seen = gram_counts(searched_cells(_alone(part, names, alone)))
    slots = np.flatnonzero(seen)
    return slots, seen[slots]


def _grams(
    part: PackedTable, names: list[str], slots: Ints, weights: Bytes, alone: Mask
) -> TokenLists:
    all_weights = np.zeros(1 << 24, dtype=np.uint8)
    all_weights[slots] = weights
    cells = searched_cells(_alone(part, names, alone))
    return weighed_grams(cells, all_weights, int(alone.sum()))


def _view_keys(part: PackedTable, names: list[str], alone: Mask) -> list[ValueKeys]:
    return find_value_keys(_alone(part, names, alone))


def _pieces(
    grams: TokenLists, keys: Keys, place: NDArray[np.uint16], n_places: int
) -> list[tuple[TokenLists, Keys]]:
    """The records of a part with their keys, by the places they go to."""
    found = [np.flatnonzero(place == k) for k in range(n_places)]
    return [(grams.take(records), keys[records]) for records in found]


def _concatenate_grams(parts: Sequence[TokenLists]) -> TokenLists:
    """The records of one part after those of another."""
    before = np.cumsum([0, *(len(part.values) for part in parts)])
    ends = [part.ends + start for part, start in zip(parts, before, strict=False)]
    return TokenLists(
        np.concatenate([part.values for part in parts]), np.concatenate(ends), parts[0].weights
    )


def _meetings(pieces: list[tuple[TokenLists, Keys]], n: int) -> list[NDArray[Any]]:
    """Neighbours in an order of ``n`` records, block by block."""
    parts, keys_of_parts = zip(*pieces, strict=True)
    grams, keys = _concatenate_grams(parts), np.concatenate(keys_of_parts)
    order, nowhere = np.argsort(keys, kind="stable"), np.zeros(len(keys), dtype=np.int32)
    with one_core():
        found = [
            find_meetings(grams, keys, order[places], nowhere, n)
            for places in split_range(len(order), BLOCK)
        ]
    return [np.concatenate(part) for part in zip(*found, strict=True)]


def _overlaps_of(parts: list[TokenLists], pairs: Ints) -> Halves:
    return _concatenate_grams(parts).compare(pairs)[0]


# A table of dask and its candidates, ready to be compared where its records are.


# Pairs that are compared in one task.
_PAIRS_OF_A_TASK = 1 << 16


@dataclass(frozen=True)
class DaskWork(Work):
    """A table on the workers with its candidates."""

    parts: DaskParts = field(kw_only=True)  # of packed records
    equal: Ints = field(kw_only=True)

    @property
    def copies(self) -> Ints:
        """Records that are equal to another, with the first such one before them."""
        return self.equal

    def compare(self, pairs: Ints) -> Table32:
        """Comparisons of some pairs, whose records come to this process."""
        if not len(pairs):
            return np.empty((0, len(self.plan.names)), dtype=np.float32)
        records, local = np.unique(pairs, return_inverse=True)
        found = compute_tasks(self.parts.taken(records), self.parts.client)
        return _compare(found, local.reshape(-1, 2), self.plan)

    def compared(self, chosen: Ints) -> Table32:
        """Comparisons of some candidates."""
        return self.compare(self.candidates.pairs[chosen])

    def scored(self, matching: Matching, chosen: Ints) -> Doubles:
        """Scores of some candidates, which the workers compare."""
        pairs, out = self.candidates.pairs[chosen], np.empty(len(chosen))
        for cut, scores in self.parts.of_pairs(
            pairs, _scores, self.plan, matching, size=_PAIRS_OF_A_TASK
        ):
            out[cut] = scores
        return out


def work_on_dask(table: DaskTable, plan: Comparisons, n_best: int, seed: int) -> DaskWork:
    """Find the candidates of a table of dask."""
    names = [column.name for column in plan.columns]
    found = candidates_on_dask(table.parts, names, n_best, seed)
    # As nearkin.records.model.find_copies finds them.
    keys, filled = (
        np.concatenate(table.parts.map(of, names).computed())
        for of in (_record_keys, _count_filled)
    )
    copies = list_copies(keys, filled)
    return DaskWork(plan, [], found, [], None, parts=table.parts, equal=copies)


def _count_filled(part: PackedTable, names: list[str]) -> Ints:
    columns = _columns(part, names)
    return np.asarray(np.sum([~find_missing(column) for column in columns], axis=0))


def _compare(parts: list[PackedTable], pairs: Ints, plan: Comparisons) -> Table32:
    return compare_pairs(plan, prepare_columns(plan, unpack_columns(parts)), pairs)


def _scores(
    parts: list[PackedTable], pairs: Ints, plan: Comparisons, matching: Matching
) -> Doubles:
    return matching.scores(plan, _compare(parts, pairs, plan))
