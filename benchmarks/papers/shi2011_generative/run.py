"""Tables 1 to 10 and Figure 1 of Shi, Noh, Sha and Lee (2011).

"As published" has covariances as they are; other rows have the names of what they do. NOTES.md says
what the paper leaves out.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

from benchmarks.papers.overview import Line
from benchmarks.papers.shi2011_generative import (
    best_regions,
    cells,
    clustering,
    digits_map,
    grids,
    large,
    nonlinear,
    plain,
    ranks,
    small,
    times,
    trials,
)
from benchmarks.papers.shi2011_generative.cells import Measured
from benchmarks.papers.shi2011_generative.seen import ON_SITE, SEEN
from benchmarks.record import Page, Picture, publish_page, stored
from benchmarks.resume import complete

__all__ = ["FOLDER", "ON_SITE", "RAW", "SEEN", "TIME", "TITLE", "overview", "page"]

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
TITLE = "Learning discriminative metrics via generative models and kernel learning (2011)"
TIME = "some eight hours on one core for all splits of the paper, estimated from single ones"
PARTS: dict[str, ModuleType] = {
    "plain": plain,
    "small": small,
    "nonlinear": nonlinear,
    "clustering": clustering,
    "map of digits": digits_map,
    "large": large,
}
# More splits than the paper's of the set on whose first thirty plain neighbours err oddly often.
MORE_SPLITS = {("plain", "ida_image"): 60, ("small", "ida_image"): 60}


def run(draws: int) -> None:
    """Measure everything; ``draws`` limits the numbers of splits, 10 leaves them as they are."""
    for name, part in PARTS.items():
        for data in part.DATA:
            most = MORE_SPLITS.get((name, data), part.SPLITS)
            measure(name, data, most if draws == 10 else min(draws, most))
    digits_map.pictures(FOLDER)


def measure(name: str, data: str, n_splits: int) -> None:
    """What is not stored yet of one part on one data set."""
    part = PARTS[name]
    jobs = [
        replace(job, names={"part": name, "data": data, **job.names})
        for job in part.jobs(data, n_splits)
    ]
    complete(RAW, jobs, f"{name}: {data}", processes=part.WORKERS)


def score() -> None:
    """Write the tables."""
    publish_page(FOLDER / "RESULTS.md", page())


def page() -> Page:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    found = Measured(rows)
    of_cells = cells.tables(found)
    return Page(
        "Discriminative metrics via generative models, reproduced",
        [
            of_cells["Table 4"],
            *trials.tables(found),
            ranks.table(found),
            of_cells["Table 6"],
            *times.tables(found),
            of_cells["Table 9"],
            of_cells["Table 10"],
            digits_map.table(found),
            grids.table(rows),
            Picture("figure1.png", "Figure 1: 400 images of 3, 5 and 9 under four metrics"),
        ],
        source,
    )


def overview(rows: list[dict[str, Any]]) -> list[Line]:
    """A line for each cell of the tables, and for the figure."""
    found = Measured(rows)
    return [
        *(cells.line(found, cell) for cell in cells.cells()),
        *best_regions.lines(found),
        *ranks.lines(found),
        *times.lines(found),
        digits_map.line(found),
    ]
