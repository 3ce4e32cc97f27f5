"""Figures 2 to 6 of Lu, Jain and Dhillon (2009). NOTES.md says what the paper leaves out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from rich.progress import track

from benchmarks.papers.lu2009_geometry_aware import (
    bounds,
    few_labels,
    illumination,
    rotation,
    semi_supervised,
    two_dimensions,
    widths,
)
from benchmarks.papers.lu2009_geometry_aware.seen import ON_SITE, SEEN
from benchmarks.papers.overview import NOT_COMPARABLE, Line
from benchmarks.record import Page, Picture, publish_page, stored
from benchmarks.resume import complete

__all__ = ["FOLDER", "ON_SITE", "RAW", "SEEN", "TIME", "TITLE", "overview", "page"]

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
TITLE = "Geometry-aware metric learning (2009)"
TIME = "about an hour on one core, estimated from some of its steps"
SPLITS = 30
# What measures each figure, and what shows it.
FIGURES: dict[str, tuple[Any, Any]] = {
    "2, learned width": (widths, widths),
    "3, semi-supervised": (semi_supervised, few_labels),
    "3, bounds on sets to tune on": (bounds, bounds),
    "4, two dimensions": (two_dimensions, two_dimensions),
    "5, illumination": (illumination, illumination),
    "6, rotation": (rotation, rotation),
}
PICTURES = {
    "figure3_unweighted.png": "Figure 3, unweighted graph: errors by labels and by iteration",
    "figure3_weighted.png": "Figure 3, weighted graph: errors by labels and by iteration",
    "figure4.png": "Figure 4: 2007 digits in two dimensions by four methods",
    "figure5_embeddings.png": "Figure 5: two faces under 64 lights in three dimensions",
    "figure5_retrieved.png": "Figure 5: images retrieved for two queries",
    "figure6.png": "Figure 6: recall by the number of retrieved images",
}


def run(draws: int) -> None:
    """Measure what is not stored yet; ``draws`` limits the paper's 30 splits."""
    n_splits = SPLITS if draws == 10 else min(draws, SPLITS)
    for name, (figure, _) in FIGURES.items():
        jobs = list(track(figure.jobs(n_splits), description=f"figure {name}: data"))
        complete(RAW, jobs, f"figure {name}")
    two_dimensions.pictures(FOLDER)
    illumination.pictures(FOLDER)


def score() -> None:
    """Write tables and draw curves."""
    publish_page(FOLDER / "RESULTS.md", page())
    rows = stored(RAW)[1]
    few_labels.pictures(rows, FOLDER)
    rotation.pictures(rows, FOLDER)


def page() -> Page:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    tables = [table for _, figure in FIGURES.values() for table in figure.tables(rows)]
    pictures = [Picture(file, words) for file, words in PICTURES.items()]
    return Page("Geometry-aware metric learning, reproduced", [*tables, *pictures], source)


def overview(rows: list[dict[str, Any]]) -> list[Line]:
    """A line for each number and each conclusion on a picture."""
    drawing = Line("Figure 1", "a drawing", "", "", f"{NOT_COMPARABLE}: it shows the idea, no data")
    return [drawing, *(line for _, figure in FIGURES.values() for line in figure.lines(rows))]
