"""``nearkin neighbors``: the nearest rows."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import nearkin as nk
from nearkin.cli import options as o
from nearkin.cli.common import models, neighbors, np, outputs, pa, tables

if TYPE_CHECKING:
    pass

# Rows whose neighbours are looked for at a time.
_QUERIES = 10_000


def list_neighbors(
    model: Path = o.MODEL_OR_MATCHER,
    data: Path = o.DATA,
    queries: Path | None = o.option(
        "--queries -q FILE",
        "Rows to find neighbours of, with the same columns. Without: all rows of the "
        "data, each left out of its own neighbours.",
    ),
    n_neighbors: int = o.option("--neighbors -k", "How many for each row.", 10, min=1),
    *,
    out: o.TableOutput,
    choice: o.Columns,
    seed: int = o.SEED,
) -> None:
    """Find the nearest rows in the learned distance; of records, those most likely the same.

    The embedded rows of the data are held in memory. From 100 000 rows on the search is
    approximate. By a matcher, a line has the chance that the two are the same; only records that
    look alike are compared, so that some have few neighbours, or none.
    """
    matcher = models.open_matcher(model)
    if matcher is not None:
        records = of = tables.open_records_of(matcher, data, choice)
        compared, queried = tables.columns_as_learned(records, choice, matcher), None
        if queries is not None:
            of = tables.open_records_of(matcher, queries, choice, "--queries", least=1)
            queried = tables.columns_as_learned(of, choice, matcher)
        rows, chance = matcher.neighbors(compared, n_neighbors, queries=queried)
        record, rank = np.nonzero(rows >= 0)
        found = {
            of.id_name: of.shown_ids().take(pa.array(record)),
            "rank": rank + 1,  # the likeliest first
            "neighbor": records.shown_ids().take(pa.array(rows[record, rank])),
            "chance": chance[record, rank],
        }
        out.write(outputs.table_of(found))
        return
    learned = models.Model(model)
    table = asked = tables.open_table(data, choice, model=learned)
    if queries is not None:
        asked = tables.open_table(queries, choice, model=learned, role="--queries")
    index = index_rows(learned, table, seed, n_neighbors)
    out.write(_tabulate_nearest(index, table, asked, n_neighbors))


def index_rows(
    model: models.Model, table: tables.Table, seed: int, n_neighbors: int = 10
) -> nk.NeighborIndex:
    """Index of all rows of a table, by row number."""
    index = nk.NeighborIndex(model.metric, n_neighbors=n_neighbors, random_state=seed)
    for block in table.rows:
        index.add(block)
    return index


def _tabulate_nearest(
    index: nk.NeighborIndex, table: tables.Table, asked: tables.Table, n_neighbors: int
) -> Iterator[Any]:
    """Table of row, rank, neighbour and distance; no row is its own neighbour."""
    asked_ids, ids = asked.shown_ids(), table.shown_ids()
    among_themselves = asked is table
    k = min(n_neighbors + among_themselves, len(table.rows))
    start = 0
    for block in asked.rows:
        for first in range(0, len(block), _QUERIES):
            distances, rows = index.query(block[first : first + _QUERIES], n_neighbors=k)
            if among_themselves:
                distances, rows = neighbors.drop_itself(distances, rows, start)
            n, width = rows.shape
            yield pa.record_batch(
                {
                    asked.id_name: asked_ids.take(
                        pa.array(np.repeat(np.arange(start, start + n), width))
                    ),
                    "rank": pa.array(np.tile(np.arange(1, width + 1), n)),
                    "neighbor": ids.take(pa.array(rows.ravel())),
                    "distance": pa.array(distances.ravel()),
                }
            )
            start += n
