"""Figures 2 to 6 of Lu, Jain and Dhillon (2009). NOTES.md says what the paper leaves out."""

from __future__ import annotations

from pathlib import Path

from rich.progress import track

from benchmarks.papers.lu2009_geometry_aware import (
    illumination,
    rotation,
    semi_supervised,
    two_dimensions,
    widths,
)
from benchmarks.record import Page, publish_page, stored
from benchmarks.resume import complete

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
SPLITS = 30
FIGURES = {
    "2, learned width": widths,
    "3, semi-supervised": semi_supervised,
    "4, two dimensions": two_dimensions,
    "5, illumination": illumination,
    "6, rotation": rotation,
}


def run(draws: int) -> None:
    """Measure what is not stored yet; ``draws`` limits the paper's 30 splits."""
    n_splits = SPLITS if draws == 10 else min(draws, SPLITS)
    for name, figure in FIGURES.items():
        jobs = list(track(figure.jobs(n_splits), description=f"figure {name}: data"))
        complete(RAW, jobs, f"figure {name}", processes=1)
    two_dimensions.pictures(FOLDER)
    illumination.pictures(FOLDER)


def score() -> None:
    """Write tables and draw curves."""
    publish_page(FOLDER / "RESULTS.md", page())
    rows = stored(RAW)[1]
    semi_supervised.pictures(rows, FOLDER)
    rotation.pictures(rows, FOLDER)


def page() -> Page:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    tables = [table for figure in FIGURES.values() for table in figure.tables(rows)]
    return Page("Geometry-aware metric learning, reproduced", tables, source)
