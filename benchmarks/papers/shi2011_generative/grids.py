"""How often the choice on validation rows is at the end of what was tried."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from benchmarks.papers.shi2011_generative import clustering, large, methods, nonlinear
from benchmarks.papers.shi2011_generative.splits import NEIGHBORS
from benchmarks.record import Table


class Grid(NamedTuple):
    """Candidates for a setting; beyond ``open_ends`` there is more that could be tried."""

    setting: str
    parts: tuple[str, ...]
    methods: tuple[str, ...]  # beginnings of their names
    tried: Sequence[Any]
    open_ends: tuple[Any, ...]


_SMALL, _LARGE = ("plain", "small"), ("large",)
_ENERGY = ("M^UNI, energy", "LMNN, energy")
_SHARES, _COSTS = methods.INTERPOLATIONS, nonlinear.COSTS
_SPANS = methods.ENERGIES, large.ENERGIES
GRIDS = (
    Grid("interpolation", _SMALL, ("GLM^INT",), _SHARES, (_SHARES[-1],)),
    Grid("interpolation", _LARGE, ("GLM^INT",), _SHARES, (_SHARES[-1],)),
    Grid("of any k", _SMALL, ("Euclidean", "LMNN", "GLM", "M^"), NEIGHBORS, (NEIGHBORS[-1],)),
    Grid("targets", _SMALL, ("LMNN",), methods.TARGETS, (methods.TARGETS[-1],)),
    Grid("k", _SMALL, _ENERGY, _SPANS[0].neighbors, (_SPANS[0].neighbors[-1],)),
    Grid("factor", _SMALL, _ENERGY, _SPANS[0].margins, (_SPANS[0].margins[-1],)),
    Grid("k", _LARGE, _ENERGY, _SPANS[1].neighbors, (_SPANS[1].neighbors[-1],)),
    Grid("factor", _LARGE, _ENERGY, _SPANS[1].margins, (_SPANS[1].margins[-1],)),
    Grid("C", ("nonlinear",), ("",), _COSTS, (_COSTS[0], _COSTS[-1])),
    Grid(
        "regularization",
        ("clustering",),
        ("k-means + M^UNI",),
        clustering.REGULARIZATIONS,
        (clustering.REGULARIZATIONS[-1],),
    ),
    Grid(
        "interpolation",
        ("clustering",),
        ("k-means + M^UNI",),
        clustering.INTERPOLATIONS,
        (clustering.INTERPOLATIONS[-1],),
    ),
)
# What is told of each setting.
NAMES = {
    "interpolation": "share of the identity in local metrics",
    "of any k": "neighbours that vote, of any number",
    "targets": "LMNN's targets",
    "k": "neighbours of each class, energies",
    "factor": "margin over the typical gap",
    "C": "C of the machines",
    "regularization": "share of the identity in covariances",
}


def at_the_end(rows: list[dict[str, Any]], grid: Grid) -> tuple[int, int]:
    """Splits whose choice is at an open end of the grid, and all that have the setting."""
    chosen = [
        row[grid.setting]
        for row in rows
        if row["part"] in grid.parts
        and grid.setting in row
        and row["method"].startswith(grid.methods)
        and (grid.setting != "k" or row["method"] in _ENERGY)
    ]
    return sum(value in grid.open_ends for value in chosen), len(chosen)


def table(rows: list[dict[str, Any]]) -> Table:
    body = []
    for grid in GRIDS:
        at_end, n = at_the_end(rows, grid)
        tried = ", ".join(map(str, grid.tried))
        body.append([" and ".join(grid.parts), NAMES[grid.setting], tried, f"{at_end} of {n}"])
    title = "What was tried, and how often the choice is at an end beyond which there is more"
    return Table(title, ["part", "setting", "tried", "at the end"], body, n_words=3)
