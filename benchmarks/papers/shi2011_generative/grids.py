"""How often the choice on validation rows is at the end of what was tried."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from benchmarks.papers.shi2011_generative import clustering, large, methods, nonlinear
from benchmarks.papers.shi2011_generative.splits import NEIGHBORS
from benchmarks.record import Table

Row = dict[str, Any]


class Grid(NamedTuple):
    """Candidates for a setting; beyond ``open_ends`` there is more that could be tried."""

    where: str
    setting: str
    tried: Sequence[Any]
    open_ends: tuple[Any, ...]
    is_of: Callable[[Row], bool]


def small(row: Row) -> bool:
    return row["part"] in ("plain", "small")


def letters(row: Row) -> bool:
    """Whether a row was measured with the grids as they are, of the large sets."""
    new = row["data"] == "letters_scaled" and row.get("kind") == "as published"
    return row["part"] == "large" and new


def other_large(row: Row) -> bool:
    return row["part"] == "large" and not letters(row)


def machines(row: Row) -> bool:
    return row["part"] == "nonlinear" and row["data"] == "ida_german"


def other_machines(row: Row) -> bool:
    return row["part"] == "nonlinear" and not machines(row)


def clusters(row: Row) -> bool:
    return row["part"] == "clustering" and row["data"] == "ida_german"


def other_clusters(row: Row) -> bool:
    return row["part"] == "clustering" and not clusters(row)


def upward(where: str, setting: str, tried: Sequence[Any], is_of: Callable[[Row], bool]) -> Grid:
    """A grid that ends at nothing, or at the least there is, below."""
    return Grid(where, setting, tried, (tried[-1],), is_of)


_SMALL = "small sets"
_LETTERS, _OLD_LARGE = "letters_scaled as published", "other rows of large sets, older"
_GERMAN, _OLD = "ida_german", "other sets, older"
_SHARES, _COSTS = methods.INTERPOLATIONS, nonlinear.COSTS
GRIDS = (
    upward(_SMALL, "interpolation", _SHARES, small),
    upward(_SMALL, "of any k", NEIGHBORS, small),
    upward(_SMALL, "targets", methods.TARGETS, small),
    upward(_SMALL, "k", methods.ENERGIES.neighbors, small),
    upward(_SMALL, "factor", methods.ENERGIES.margins, small),
    upward(_LETTERS, "interpolation", _SHARES, letters),
    upward(_LETTERS, "k", large.ENERGIES.neighbors, letters),
    upward(_LETTERS, "factor", large.ENERGIES.margins, letters),
    upward(_OLD_LARGE, "interpolation", (0.1, 0.3, 0.5, 0.7, 0.9), other_large),
    upward(_OLD_LARGE, "k", (1, 2, 3), other_large),
    upward(_OLD_LARGE, "factor", (0.0, 0.1, 0.3), other_large),
    Grid(_GERMAN, "C", _COSTS, (_COSTS[0], _COSTS[-1]), machines),
    Grid(_OLD, "C", (1.0, 10.0, 100.0), (1.0, 100.0), other_machines),
    upward(_GERMAN, "regularization", clustering.REGULARIZATIONS, clusters),
    upward(_OLD, "regularization", ("auto", 0.1, 0.5), other_clusters),
    upward(_GERMAN, "clusters", clustering.INTERPOLATIONS, clusters),
    upward(_OLD, "clusters", (0.0, 0.2, 0.5, 0.8), other_clusters),
)
# What is told of each setting, and the field that has it, where that is named otherwise.
NAMES = {
    "interpolation": "share of the identity in local metrics",
    "of any k": "neighbours that vote, of any number",
    "targets": "LMNN's targets",
    "k": "neighbours of each class, energies",
    "factor": "margin over the typical gap",
    "C": "C of the machines",
    "regularization": "clustering: share of the identity in covariances",
    "clusters": "clustering: share of the identity in local metrics",
}
FIELDS = {"clusters": "interpolation"}


def at_the_end(rows: list[Row], grid: Grid) -> tuple[int, int]:
    """Splits whose choice is at an open end of the grid, and all that have the setting."""
    field = FIELDS.get(grid.setting, grid.setting)
    chosen = [
        row[field]
        for row in rows
        if field in row and grid.is_of(row) and (field != "k" or row["method"].endswith("energy"))
    ]
    return sum(value in grid.open_ends for value in chosen), len(chosen)


def table(rows: list[Row]) -> Table:
    body = []
    for grid in GRIDS:
        at_end, n = at_the_end(rows, grid)
        tried = ", ".join(map(str, grid.tried))
        body.append([grid.where, NAMES[grid.setting], tried, f"{at_end} of {n}"])
    title = "What was tried, and how often the choice is at an end beyond which there is more"
    return Table(title, ["", "setting", "tried", "at the end"], body, n_words=3)
