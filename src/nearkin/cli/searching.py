"""What neighbors and cluster do: nearest rows and groups among the rows of a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from sklearn.cluster import HDBSCAN, KMeans
from sklearn.frozen import FrozenEstimator
from sklearn.preprocessing import FunctionTransformer

from nearkin._types import Floats, Ints, Mask
from nearkin.cli.common import UserError, is_watched
from nearkin.cli.files.tables import Table
from nearkin.cli.models import Model
from nearkin.clustering.clusters import Clusters
from nearkin.clustering.constraints import PairsError
from nearkin.clustering.mpck_means import MPCKMeans
from nearkin.pairs.pairs import Pairs
from nearkin.scores.quality import Quality, estimate_quality
from nearkin.search.neighbor_index import NeighborIndex
from nearkin.spaces.neighbors import drop_itself

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
                distances, rows = drop_itself(distances, rows, start)
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
    return estimate_quality(
        apart, same, weight, ends, 0.5, float(weight[same].sum() / weight.sum())
    )


# Clusters of rows in memory.


def clusters(
    method: str, X: Any, n_clusters: int, min_size: int, pairs: Pairs | None, seed: int
) -> NDArray[np.integer]:
    """Number of the cluster of each row, or -1 for none, by a method that is named."""
    if method == "hdbscan":
        if len(X) < min_size:
            raise UserError(f"--min-size {min_size}: there are only {len(X)} rows.")
        return np.asarray(HDBSCAN(min_cluster_size=min_size, copy=True).fit_predict(X))
    if n_clusters > len(X):
        raise UserError(f"--clusters {n_clusters}: there are only {len(X)} rows.")
    if method == "mpck":
        found = MPCKMeans(n_clusters, random_state=seed).fit_predict(X, pairs=pairs)
        return np.asarray(found)
    return np.asarray(KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(X))


def found_clusters(
    X: Any,
    n_clusters: int | tuple[int, int] | None,
    pairs: Pairs | None,
    seed: int,
    *,
    mapped: bool,
    soft: bool,
    ids: Any = None,
) -> tuple[NDArray[np.integer], list[str]]:
    """Number of the cluster of each row, and what there is to say of that, line by line.

    ``mapped`` says that rows are where a model puts them, so that no metric is to be learned;
    ``ids``, an array of pyarrow, what to call rows.
    """
    least = n_clusters[0] if isinstance(n_clusters, tuple) else n_clusters
    if least is not None and least > len(X):
        raise UserError(f"--clusters {least}: there are only {len(X)} rows.")

    def name(row: int) -> str:
        return str(row) if ids is None else repr(ids[row].as_py())

    metric = FrozenEstimator(FunctionTransformer().fit(X[:1])) if mapped else None
    keep = "soft" if soft else "hard"
    found = Clusters(n_clusters, metric=metric, keep=keep, verbose=is_watched(), random_state=seed)
    try:
        found.fit(X, pairs=pairs)
    except PairsError as error:
        raise UserError(error.tell(name, "--clusters ", "--soft")) from error
    lines = [f"{found.report_.summary}. {found.report_.reason}"]
    broken = found.broken_
    for links, saved, should in (
        (broken.must_link, broken.must_saved, "the same"),
        (broken.cannot_link, broken.cannot_saved, "different"),
    ):
        for (left, right), cost in zip(links.tolist(), saved.tolist(), strict=True):
            dearer = f": {cost:.2g} dearer" if np.isfinite(cost) else ""
            rows = f"rows {name(left)} and {name(right)}"
            lines.append(f"{rows}, {should} by the pairs, are not{dearer}.")
    return np.asarray(found.labels_), lines


def bounds_of(text: str | None) -> int | tuple[int, int] | None:
    """A number of clusters, or the least and the most, as typed: 10 or 5-20."""
    if text is None:
        return None
    parts = text.split("-")
    if len(parts) > 2 or not all(part.strip().isdecimal() and int(part) > 0 for part in parts):
        raise UserError(f"--clusters {text}: use a number, such as 10, or two, such as 5-20.")
    numbers = [int(part) for part in parts]
    if len(numbers) == 1:
        return numbers[0]
    if numbers[0] > numbers[1]:
        raise UserError(f"--clusters {text}: the first number is the least, the second the most.")
    return numbers[0], numbers[1]
