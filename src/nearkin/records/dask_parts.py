"""Values that lie on dask's workers, one for each part of some records."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import dask
import numpy as np
from numpy.typing import NDArray

from nearkin._types import Ints
from nearkin.rows.dask_rows import explained
from nearkin.rows.parallel import blocks, one_core

# Blocks of pairs whose records are sent to where they are compared at a time.
_BLOCKS_AT_A_TIME = 16


@dataclass(frozen=True)
class Parts:
    """A value for each part of some records, kept by the workers, which spill what is too much.

    Attributes
    ----------
    values : list of delayed
    starts : int64 ndarray
        Numbers of the first records of all parts, and of all records.
    client : distributed.Client or None
        None for dask's own threads.
    """

    values: list[Any]
    starts: Ints
    client: Any

    def map(self, function: Callable[..., Any], *shared: Any, each: Sequence[Any] = ()) -> Parts:
        """``function(value, *shared, one)`` of each part, kept too; ``each`` has one for each."""
        each = each or [()] * len(self.values)
        sent = self._sent(shared)
        tasks = [
            task(_on_one_core, function, value, sent, one)
            for value, one in zip(self.values, each, strict=True)
        ]
        return Parts(kept(tasks, self.client), self.starts, self.client)

    def _sent(self, shared: tuple[Any, ...]) -> Any:
        """What all tasks share, for each of them to refer to; the scheduler keeps it."""
        whole = dask.delayed(shared, traverse=False, pure=False)
        return kept([whole], self.client)[0]

    def computed(self) -> list[Any]:
        """All values, in this process."""
        return computed(self.values, self.client)

    def cut(self, values: NDArray[Any]) -> list[tuple[NDArray[Any]]]:
        """What is said of each record, for each part."""
        return [(values[a:b],) for a, b in zip(self.starts[:-1], self.starts[1:], strict=True)]

    def taken(self, records: Ints) -> list[Any]:
        """Tasks that give the wanted records of each part that has some; numbers are increasing."""
        ends = np.searchsorted(records, self.starts)
        return [
            task(_taken, self.values[i], records[ends[i] : ends[i + 1]] - self.starts[i])
            for i in np.flatnonzero(np.diff(ends)).tolist()
        ]

    def of_pairs(
        self, pairs: Ints, function: Callable[..., Any], *shared: Any, size: int
    ) -> Iterator[tuple[slice, Any]]:
        """``function(parts, pairs, *shared)`` of blocks of pairs, on the workers.

        ``parts`` are the records of a block, and ``pairs`` has their numbers among these.
        """
        sent = self._sent(shared)
        cuts = list(blocks(len(pairs), size))
        for few in blocks(len(cuts), _BLOCKS_AT_A_TIME):
            tasks = []
            for cut in cuts[few]:
                records, local = np.unique(pairs[cut], return_inverse=True)
                local = local.reshape(-1, 2).astype(np.int32)
                tasks.append(task(_of_pairs, function, self.taken(records), local, sent))
            yield from zip(cuts[few], computed(tasks, self.client), strict=True)


def task(function: Callable[..., Any], *arguments: Any) -> Any:
    """A call that a worker will make."""
    return dask.delayed(function, pure=False)(*arguments)


def computed(tasks: Sequence[Any], client: Any) -> list[Any]:
    """What tasks give, in this process."""
    with explained(client), _large_graphs():
        return list(dask.compute(*tasks, scheduler=client))


def kept(tasks: Sequence[Any], client: Any) -> list[Any]:
    """Tasks whose results the workers keep as long as somebody here refers to them."""
    with explained(client), _large_graphs():
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
    return value.take(records)


def _of_pairs(
    function: Callable[..., Any], parts: list[Any], pairs: Ints, shared: tuple[Any, ...]
) -> Any:
    with one_core():
        return function(parts, pairs.astype(np.int64), *shared)
