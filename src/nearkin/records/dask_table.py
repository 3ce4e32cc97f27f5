"""A table of dask: its columns as bytes and numbers on the workers, and how they are compared."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas

from nearkin._types import Doubles, Ints
from nearkin.errors import InputError, InputTypeError
from nearkin.messages import noticed
from nearkin.records.comparisons import Comparisons, comparisons_of, value_counts, with_counts
from nearkin.records.dask_parts import Parts, computed, kept, task
from nearkin.records.packed import Packed, packed, unpacked
from nearkin.rows.access import evenly_spaced
from nearkin.rows.dask_rows import check_processes, client_in_use
from nearkin.rows.parallel import one_core
from nearkin.tables.reading import Column, Kind, Order, Reading, column_of, columns_of, read_table

# Records that tell what columns hold and how they are compared, as in tables in memory.
_SAMPLE = 20_000
# How all partitions are read where the sample could not tell.
_USUAL: dict[Kind, Reading] = {"date": "day first", "number": "decimal point"}


@dataclass(frozen=True)
class DaskTable:
    """Records on the workers.

    Attributes
    ----------
    parts : Parts
        Of :class:`Packed` records, a part for each partition.
    kinds : dict of str to str
        What columns hold.
    orders : dict of str to str
        Of day, month and year, of dates where it makes a difference.
    sample : list of Column
        Of up to 20,000 records from all over the table.
    """

    parts: Parts
    kinds: dict[str, Kind]
    orders: dict[str, Reading]
    sample: list[Column]

    def __len__(self) -> int:
        return int(self.parts.starts[-1])

    def comparisons(self) -> Comparisons:
        """How columns are compared: by a sample, with the values of all records counted."""
        plan = comparisons_of(self.sample)
        names = [column.name for column in plan.columns]
        counts = self.parts.map(_counts, names).computed()
        return with_counts(plan, np.sum(counts, axis=0), len(self))


def dask_table(
    frame: Any,
    kinds: Mapping[str, str] | None = None,
    dates: Order | Mapping[str, Reading] | None = None,
) -> DaskTable:
    """Read a data frame of dask, partition by partition on the workers.

    Parameters
    ----------
    frame : dask data frame
    kinds : mapping, optional
        What columns hold, where it is known; others are recognised by up to 20,000 records.
    dates : str or mapping, optional
        As of :func:`nearkin.tables.reading.columns_of`.

    Notes
    -----
    Memory: a partition at a time in every thread of a worker, and what the workers keep: the bytes
    of the texts and 8 for each cell.
    """
    if not hasattr(frame, "map_partitions") or getattr(frame, "ndim", 0) != 2:
        raise InputTypeError(f"a table of dask is a data frame, not {type(frame).__name__}.")
    client = client_in_use()
    if client is not None:
        check_processes(client)
    partitions = frame.to_delayed()
    lengths = computed([task(len, part) for part in partitions], client)
    starts = np.cumsum([0, *lengths], dtype=np.int64)
    if not starts[-1]:
        raise InputError("the table has no rows.")
    raw = Parts(list(partitions), starts, client)
    wanted = evenly_spaced(int(starts[-1]), _SAMPLE)
    ends = np.searchsorted(wanted, starts)
    some = computed(
        [
            task(_rows, raw.values[i], wanted[ends[i] : ends[i + 1]] - starts[i])
            for i in np.flatnonzero(np.diff(ends)).tolist()
        ],
        client,
    )
    sample = columns_of(pandas.concat(some), kinds, dates)
    found = {column.name: column.kind for column in sample}
    vectors = [name for name, kind in found.items() if kind == "vector"]
    if vectors:
        raise InputTypeError(
            f"column {vectors[0]!r} holds vectors, which are compared in memory only: leave it out."
        )
    orders = {column.name: column.order for column in sample if column.order}
    read = [task(_read, partition, found, orders) for partition in partitions]
    return DaskTable(Parts(kept(read, client), starts, client), found, orders, sample)


# What the workers run.


def _rows(frame: Any, rows: Ints) -> Any:
    """Some rows of a partition."""
    return frame.iloc[rows]


def _read(frame: Any, kinds: dict[str, Kind], orders: dict[str, Reading]) -> Packed:
    """A partition as bytes and numbers; what is ignored is left out."""
    # What is to be noticed was, in the sample.
    with one_core(), noticed():
        used = {name for name, kind in kinds.items() if kind != "ignored"}
        cells = read_table(frame, used)
        return packed(
            [
                column_of(one, kinds[one.name], orders.get(one.name, _USUAL.get(kinds[one.name])))
                for one in cells
            ]
        )


def _counts(part: Packed, names: list[str]) -> Doubles:
    by_name = {column.name: column for column in unpacked([part])}
    return value_counts([by_name[name] for name in names])
