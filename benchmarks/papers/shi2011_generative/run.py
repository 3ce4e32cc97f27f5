"""Tables 1 to 10 and Figure 1 of Shi, Noh, Sha and Lee (2011). NOTES.md tells the details."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import ModuleType

from benchmarks.papers.shi2011_generative import (
    clustering,
    digits_map,
    large,
    nonlinear,
    plain,
    small,
)
from benchmarks.record import Page, publish_page, stored
from benchmarks.resume import complete

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
PARTS: dict[str, ModuleType] = {
    "plain": plain,
    "small": small,
    "nonlinear": nonlinear,
    "clustering": clustering,
    "map of digits": digits_map,
    "large": large,
}


def run(draws: int) -> None:
    """Measure everything; ``draws`` limits the numbers of splits, 10 leaves them as they are."""
    for name, part in PARTS.items():
        for data in part.DATA:
            measure(name, data, part.SPLITS if draws == 10 else min(draws, part.SPLITS))
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
    tables = [
        table
        for name, part in PARTS.items()
        for table in part.tables([row for row in rows if row["part"] == name])
    ]
    return Page("Discriminative metrics via generative models, reproduced", tables, source)
