"""Tables 1 and 5: mean ranks over the eight small sets."""

from __future__ import annotations

import numpy as np
from scipy.stats import rankdata

from benchmarks.papers.overview import NOT_COMPARABLE, Line
from benchmarks.papers.shi2011_generative import published
from benchmarks.papers.shi2011_generative.cells import Measured, best, cell_of
from benchmarks.record import Table

TABLES = {"Table 1": published.TABLE_1, "Table 5": published.TABLE_5}


def mean_ranks(
    found: Measured, methods: list[str], *, as_published: bool = True
) -> dict[str, float] | None:
    """Mean rank of each method over the sets; None where something is not measured."""
    means = []
    for data in published.SMALL:
        cells = [cell_of("Table 4", data, method) for method in methods]
        if as_published:
            values = [found.values(cell.ours, "error") for cell in cells]
            if not all(values):
                return None
            means.append([float(np.mean(errors)) for errors in values])
        else:
            means.append([best_mean for cell in cells for _, best_mean in [best(found, cell)]])
    ranks = np.mean([rankdata(column) for column in means], axis=0)
    return dict(zip(methods, map(float, ranks), strict=True))


def table(found: Measured) -> Table:
    body = [
        [
            f"{number}: {method}",
            f"{printed:g}",
            *(f"{ranks[method]:.2f}" if ranks else "−" for ranks in _both(found, list(rows))),
        ]
        for number, rows in TABLES.items()
        for method, printed in rows.items()
    ]
    columns = ["", "published", "as published, by us", "best of ours"]
    return Table("Tables 1 and 5. Mean ranks over the eight small sets", columns, body)


def _both(found: Measured, methods: list[str]) -> list[dict[str, float] | None]:
    return [mean_ranks(found, methods, as_published=flag) for flag in (True, False)]


def lines(found: Measured) -> list[Line]:
    made = []
    for number, rows in TABLES.items():
        ours, bests = _both(found, list(rows))
        made += [
            Line(
                f"{number}, mean rank: {method}",
                f"{printed:g}",
                f"{ours[method]:.2f}" if ours else "−",
                f"{bests[method]:.2f} (each method's best)" if bests else "",
                f"{NOT_COMPARABLE}: a rank has no error, and two sets are other data",
            )
            for method, printed in rows.items()
        ]
    return made
