"""Neighbours among the rows of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa

from nearkin._types import Floats, Ints, Mask
from nearkin.cli.files.tables import Table
from nearkin.cli.models import Model
from nearkin.scores.quality import Quality, quality_of
from nearkin.search.neighbor_index import NeighborIndex
from nearkin.spaces.neighbors import without_itself

# Rows whose neighbours are looked for at a time.
_QUERIES = 10_000


def index_of(
    model: Model, table: Table, n_neighbors: int, *, exact: bool, seed: int
) -> NeighborIndex:
    """All rows of a table by their numbers."""
    index = NeighborIndex(
        model.metric,
        search="exact" if exact else "auto",
        n_neighbors=n_neighbors,
        random_state=seed,
    )
    for block in table.rows:
        index.add(block)
    return index


def neighbor_batches(
    index: NeighborIndex, model: Model, table: Table, queries: Table | None, n_neighbors: int
) -> Iterator[Any]:
    """Row, rank, neighbour and distance, the nearest first."""
    ids = table.shown_ids()
    among_themselves = queries is None
    asked = table if queries is None else queries
    asked_ids = ids if queries is None else asked.shown_ids()
    k = min(n_neighbors + among_themselves, len(table.rows))
    start = 0
    for block in asked.rows:
        for first in range(0, len(block), _QUERIES):
            part = block[first : first + _QUERIES]
            distances, rows = index.query(part, n_neighbors=k)
            if among_themselves:
                distances, rows = without_itself(distances, rows, start)
            yield _batch(asked_ids, ids, start, distances, rows, asked.id_name)
            start += len(part)


def _batch(asked_ids: Any, ids: Any, start: int, distances: Any, rows: Any, name: str) -> Any:
    n, k = rows.shape
    return pa.record_batch(
        {
            name: asked_ids.take(pa.array(np.repeat(np.arange(start, start + n), k))),
            "rank": pa.array(np.tile(np.arange(1, k + 1), n)),
            "neighbor": ids.take(pa.array(rows.ravel())),
            "distance": pa.array(distances.ravel()),
        }
    )


def members_of_groups(index: NeighborIndex, **how: float | None) -> tuple[Ints, Ints]:
    """Number of the group, from 0, and row, of each row that is in a group of two or more.

    Groups are found as ``group_labels`` finds them.
    """
    return in_groups(index.group_labels(**how))


def in_groups(labels: Ints) -> tuple[Ints, Ints]:
    """The same of the group that each row is in, numbered from 0."""
    counts = np.bincount(labels)
    rows = np.flatnonzero(counts[labels] > 1)
    rows = rows[np.argsort(labels[rows], kind="stable")]
    number = np.cumsum(counts > 1) - 1
    return number[labels[rows]], rows


def quality_of_groups(
    n_rows: int, group: Ints, rows: Ints, ends: Ints, same: Mask, weight: Floats
) -> Quality:
    """Precision and recall of saying that rows of a group are the same, by known pairs.

    Same and different are taken to be as frequent as among these.

    Parameters
    ----------
    n_rows : int
    group, rows : int ndarray
        As of :func:`members_of_groups`.
    ends : int ndarray of shape (k, 2)
    same : bool ndarray of shape (k,)
    weight : ndarray of shape (k,)
    """
    number = -1 - np.arange(n_rows)
    number[rows] = group
    apart = (number[ends[:, 0]] != number[ends[:, 1]]).astype(np.float64)
    return quality_of(apart, same, weight, ends, 0.5, float(weight[same].sum() / weight.sum()))
