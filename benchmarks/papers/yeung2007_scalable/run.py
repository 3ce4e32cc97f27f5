"""Figure 1, Table 1 and Table 2 of Yeung, Chang and Dai (IJCAI 2007), by the paper's protocol.

"As published" is eq. (4) over all positive eigenvalues, centred, with three iterations; other rows
have the names of what they do. NOTES.md says what the paper leaves out.
"""

from __future__ import annotations

import itertools
from pathlib import Path

from benchmarks.papers.overview import NOT_COMPARABLE, Line
from benchmarks.papers.yeung2007_scalable import (
    cells,
    cut_off,
    landmark_choice,
    settings,
    unsaid,
    xor_figure,
)
from benchmarks.papers.yeung2007_scalable.methods import AS_PUBLISHED, Row
from benchmarks.papers.yeung2007_scalable.seen import ON_SITE, SEEN
from benchmarks.record import Page, Picture, publish_page, stored
from benchmarks.resume import complete

__all__ = ["FOLDER", "ON_SITE", "RAW", "SEEN", "TIME", "TITLE", "overview", "page"]

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
TITLE = "A scalable kernel-based algorithm for semi-supervised metric learning (2007)"
TIME = "half an hour on one core, estimated from some of its steps"


def run(draws: int) -> None:
    """Measure what is not stored yet."""
    parts = (cells.jobs(draws), xor_figure.jobs(draws), cut_off.jobs(), unsaid.jobs())
    complete(RAW, itertools.chain(*parts, settings.jobs_to_choose()))
    complete(RAW, itertools.chain(settings.jobs(stored(RAW)[1]), landmark_choice.jobs()))


def score() -> None:
    """Write the tables and pictures."""
    import matplotlib as mpl

    mpl.use("Agg")
    rows = stored(RAW)[1]
    xor_figure.picture(FOLDER / "figure1.png")
    cut_off.picture(rows, FOLDER / "cut_off.png")
    if landmark_choice.tables(rows):
        landmark_choice.picture(rows, FOLDER / "landmarks.png")
    publish_page(FOLDER / "RESULTS.md", page())


def page() -> Page:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    chosen = landmark_choice.tables(rows)
    of_chosen = Picture("landmarks.png", "Pair AUC by the number of landmarks and their choice")
    return Page(
        "A scalable kernel-based algorithm, reproduced",
        [
            *cells.tables(rows),
            xor_figure.table(rows),
            Picture("figure1.png", "Figure 1 as published: data, new points, and four metrics"),
            cut_off.table(rows),
            Picture(
                "cut_off.png", "J grows as weak directions are cut off, pair AUC on some sets only"
            ),
            settings.table(rows),
            unsaid.table(rows),
            *chosen,
            *([of_chosen] if chosen else []),
        ],
        source,
    )


def overview(rows: list[Row]) -> list[Line]:
    """A line for each cell of the tables, and for the figure."""
    e, f = (xor_figure.mean(rows, panel, "auc") for panel in xor_figure.panels(AS_PUBLISHED, 0))
    figure = Line(
        "Figure 1, XOR",
        "a picture",
        f"pair AUC of new points {e:.3f} (all points), {f:.3f} (40 landmarks)",
        "",
        f"{NOT_COMPARABLE}: no number is printed",
    )
    return [*(cells.line(rows, cell) for cell in cells.cells()), figure]
