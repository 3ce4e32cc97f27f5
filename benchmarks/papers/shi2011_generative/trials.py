"""What becomes of Table 4 by other covariances, where the text does not say enough."""

from __future__ import annotations

from benchmarks.papers.shi2011_generative.cells import (
    AS_PUBLISHED,
    BASELINES,
    REGULARISED,
    Key,
    Measured,
    cell_of,
    shown,
)
from benchmarks.papers.shi2011_generative.plain import IDENTITIES, named
from benchmarks.papers.shi2011_generative.published import TABLE_4
from benchmarks.record import Table

METHODS = [method for method in TABLE_4 if method not in BASELINES]


def keys(data: str, method: str) -> dict[str, Key]:
    """Rows of each kind of covariances."""
    cell = cell_of("Table 4", data, method)
    shares = {
        f"{max(share, 1e-10):g} of the identity": cell.ours._replace(kind=named(share))
        for share in IDENTITIES[data]
    }
    return {AS_PUBLISHED: cell.ours, **shares, REGULARISED: cell.others[REGULARISED]}


def tables(found: Measured) -> list[Table]:
    made = []
    for data in IDENTITIES:
        body = []
        for method in METHODS:
            cell = cell_of("Table 4", data, method)
            values = (found.values(key, "error") for key in keys(data, method).values())
            printed = cell.printed.text() if cell.printed else "?"
            body.append([method, printed, *(shown(errors, 2) for errors in values)])
        n_splits = len(found.values(cell.ours, "error"))
        title = f"Table 4, {data}: error in % by the covariances of the classes, {n_splits} splits"
        made.append(Table(title, ["", "published", *keys(data, METHODS[0])], body))
    return made
