"""Tables 1 to 10 and Figure 1 of Shi, Noh, Sha and Lee (2011). NOTES.md tells the details."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

from joblib import Parallel
from rich.progress import track

from benchmarks.papers.shi2011_generative import (
    clustering,
    digits_map,
    large,
    nonlinear,
    small,
)
from benchmarks.record import Page, publish_page, store, stored

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
PARTS: dict[str, ModuleType] = {
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
    """One part on one data set, stored in the place of what was stored of it before."""
    part = PARTS[name]
    jobs = part.jobs(data, n_splits)
    done = Parallel(n_jobs=part.WORKERS, return_as="generator")(jobs)
    results = track(done, total=len(jobs), description=f"{name}: {data}")
    new = [{"part": name, **row} for rows in results for row in rows]
    old = stored(RAW)[1] if RAW.exists() else []
    kept = [row for row in old if (row["part"], row["data"]) != (name, data)]
    store(RAW, kept + new)


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
