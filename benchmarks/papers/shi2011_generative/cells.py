"""Cells of Tables 4, 6, 9 and 10: what is printed, what we measure, and whether the two agree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from math import sqrt
from typing import Any, NamedTuple

import numpy as np

from benchmarks.papers.overview import (
    ABOVE,
    AGREES,
    BELOW,
    FEW,
    NOT_COMPARABLE,
    Figure,
    Line,
    explained,
    verdict,
)
from benchmarks.papers.shi2011_generative import published
from benchmarks.papers.shi2011_generative.reasons import REASONS
from benchmarks.record import Table

AS_PUBLISHED, REGULARISED, AT_HAND = "as published", "regularised", "from the clusters at hand"
FEW_ROWS = "regularised, few rows"
BASELINES = ("Euclidean", "LMNN", "LMNN, energy", "rbf", "k-means")
# In tables 4 and 1, 6 and 2, 9 and 3, and 10: what tells how hard the data are.
PLAINEST = {"Table 4": "Euclidean", "Table 6": "Euclidean", "Table 9": "rbf", "Table 10": "k-means"}
HARDNESS = {AGREES: "as hard", ABOVE: "easier", BELOW: "harder"}


class Key(NamedTuple):
    """Names of stored rows."""

    part: str
    data: str
    method: str
    kind: str = ""


class Measured:
    """Stored rows by their names."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows: dict[Key, list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            kind = row.get("kind", row.get("covariances", ""))
            self._rows[Key(row["part"], row["data"], row["method"], kind)].append(row)

    def values(self, key: Key, measure: str) -> list[float]:
        return [row[measure] for row in self._rows.get(key, []) if measure in row]

    def paired(self, keys: Iterable[Key], measure: str) -> np.ndarray:
        """A row for each kind of rows, and a column for each split that all of them have."""
        by_seed = [{row["seed"]: row[measure] for row in self._rows.get(key, [])} for key in keys]
        seeds = sorted(set.intersection(*map(set, by_seed)))
        return np.array([[of_one[seed] for seed in seeds] for of_one in by_seed])

    def differences(self, one: Key, other: Key, measure: str) -> np.ndarray:
        """Of two kinds of rows, on the splits that both have."""
        found = self.paired((one, other), measure)
        return np.asarray(found[0] - found[1])


@dataclass(frozen=True)
class Cell:
    """A printed number, the rows that are that of ours, and further rows by their names."""

    table: str
    data: str
    method: str
    printed: Figure | None  # None: not legible
    ours: Key
    others: Mapping[str, Key] = field(default_factory=dict)

    @property
    def measure(self) -> str:
        return "rand" if self.table == "Table 10" else "error"

    @property
    def digits(self) -> int:
        return 3 if self.table == "Table 10" else 2

    @property
    def larger_is_better(self) -> bool:
        return self.table == "Table 10"

    @property
    def title(self) -> str:
        return f"{self.data}: {self.method}"


def cells() -> Iterator[Cell]:
    """In the order of the paper."""
    for place, data in enumerate(published.SMALL):
        for method in published.TABLE_4:
            printed = _printed(published.TABLE_4, published.TABLE_4_ERRORS, method, place)
            small = Key("small", data, method)
            if method in BASELINES:
                yield Cell("Table 4", data, method, printed, small)
                continue
            ours = Key("plain", data, method, AS_PUBLISHED)
            yield Cell("Table 4", data, method, printed, ours, {REGULARISED: small})
    for place, data in enumerate(published.LARGE):
        for method in published.TABLE_6:
            printed = _printed(published.TABLE_6, published.TABLE_6_ERRORS, method, place)
            if method in BASELINES:
                kind = method.partition(",")[0]
                yield Cell("Table 6", data, method, printed, Key("large", data, method, kind))
                continue
            kind = FEW_ROWS if method == "GLM^INT" else REGULARISED
            ours = Key("large", data, method, AS_PUBLISHED)
            yield Cell(
                "Table 6", data, method, printed, ours, {kind: Key("large", data, method, kind)}
            )
    nonlinear = published.NONLINEAR, published.TABLE_9, published.TABLE_9_ERRORS
    yield from _beside("Table 9", "nonlinear", REGULARISED, *nonlinear)
    clusters = published.SMALL, published.TABLE_10, published.TABLE_10_ERRORS
    yield from _beside("Table 10", "clustering", AT_HAND, *clusters)


def _beside(
    table: str, part: str, kind: str, sets: Any, figures: Any, errors: Any
) -> Iterator[Cell]:
    """Cells of a table that was measured as published and in one other kind, but for baselines."""
    for place, data in enumerate(sets):
        for method in figures:
            printed = _printed(figures, errors, method, place)
            beside = Key(part, data, method, kind)
            if method in BASELINES:
                yield Cell(table, data, method, printed, beside)
                continue
            ours = beside._replace(kind=AS_PUBLISHED)
            yield Cell(table, data, method, printed, ours, {kind: beside})


@cache
def cell_of(table: str, data: str, method: str) -> Cell:
    """One of them."""
    return next(c for c in cells() if (c.table, c.data, c.method) == (table, data, method))


def _printed(means: Any, errors: Any, method: str, place: int) -> Figure | None:
    mean = means[method][place]
    return None if mean is None else Figure(mean, errors[method][place])


def judged(found: Measured, cell: Cell) -> str:
    """The verdict on the method as published."""
    ours = found.values(cell.ours, cell.measure)
    if cell.printed is None:
        return f"{NOT_COMPARABLE}: not legible in the copy at hand"
    if cell.data in published.OTHER_DATA:
        return f"{NOT_COMPARABLE}: {published.OTHER_DATA[cell.data]}"
    if not ours:
        return f"{NOT_COMPARABLE}: not measured as published"
    word = _verdict(cell, ours, baseline=cell.method in BASELINES)
    return explained(word, REASONS, f"{cell.table}, {cell.title}")


def _verdict(cell: Cell, values: list[float], *, baseline: bool = False) -> str:
    assert cell.printed is not None
    return judged_by(
        cell.printed,
        values,
        cell.data,
        larger_is_better=cell.larger_is_better,
        rounding=rounding(cell),
        baseline=baseline,
    )


def judged_by(
    printed: Figure,
    values: list[float],
    data: str,
    *,
    larger_is_better: bool = False,
    rounding: float = 0.005,
    baseline: bool = False,
) -> str:
    """The verdict on measurements; few of them are taken to be as spread as the paper's."""
    return verdict(
        values,
        printed,
        larger_is_better=larger_is_better,
        rounding=rounding,
        spread=printed.error * sqrt(published.splits(data)),
        baseline=baseline,
    )


def rounding(cell: Cell) -> float:
    """Half a unit of the last printed digit."""
    return 0.5 * 10.0**-cell.digits


def hardness(found: Measured, cell: Cell) -> str:
    """What the plainest method of the table says of the data beside the paper's."""
    plainest = cell_of(cell.table, cell.data, PLAINEST[cell.table])
    other = "other data" if cell.data in published.OTHER_DATA else ""
    ours = found.values(plainest.ours, cell.measure)
    if plainest.printed is None or not ours:
        return other or "not known"
    said = HARDNESS[_verdict(plainest, ours)]
    return f"{other}, {said}" if other else said


def best(found: Measured, cell: Cell) -> tuple[str, float] | None:
    """The row of ours with the best mean, and that mean; of few splits where there is no other."""
    keys = {AS_PUBLISHED: cell.ours, **cell.others}
    known = {name: found.values(key, cell.measure) for name, key in keys.items()}
    enough = min(FEW, max(map(len, known.values())))
    if not enough:
        return None
    means = {name: float(np.mean(v)) for name, v in known.items() if len(v) >= enough}
    best_of = max if cell.larger_is_better else min
    return best_of(means.items(), key=lambda item: item[1])


def line(found: Measured, cell: Cell) -> Line:
    """For the page over all papers. Of a baseline there is no better one of ours."""
    found_best = None if cell.method in BASELINES else best(found, cell)
    return Line(
        f"{cell.table}, {cell.title}",
        "?" if cell.printed is None else cell.printed.text(cell.digits),
        shown(found.values(cell.ours, cell.measure), cell.digits),
        "" if found_best is None else f"{found_best[1]:.{cell.digits}f} ({found_best[0]})",
        judged(found, cell),
    )


def shown(values: list[float], digits: int) -> str:
    """Mean and standard error, or a dash."""
    return Figure.of(values).text(digits) if values else "−"


def gain(found: Measured, cell: Cell) -> str:
    """How much better than the plainest method of the table: ours on common splits, the paper's."""
    plainest = cell_of(cell.table, cell.data, PLAINEST[cell.table])
    sign = 1 if cell.larger_is_better else -1
    ours = sign * found.differences(cell.ours, plainest.ours, cell.measure)
    theirs = [cell.printed, plainest.printed]
    by_us = f"{ours.mean():+.{cell.digits}f}" if len(ours) else "−"
    if theirs[0] is None or theirs[1] is None:
        return f"{by_us} (?)"
    return f"{by_us} ({sign * (theirs[0].mean - theirs[1].mean):+.{cell.digits}f})"


TITLES = {
    "Table 4": "Tables 1 and 4. Error in % on eight small sets",
    "Table 6": "Tables 2 and 6. Error in % on digits and letters",
    "Table 9": "Tables 3 and 9. Error in % of multiple kernels",
    "Table 10": "Table 10. Rand index of clusters",
}


def tables(found: Measured) -> dict[str, Table]:
    """A line for each cell, by the number of the paper's table."""
    made = {}
    for number, title in TITLES.items():
        some = [cell for cell in cells() if cell.table == number]
        further = list(dict.fromkeys(name for cell in some for name in cell.others))
        body = [
            [
                cell.title,
                "?" if cell.printed is None else cell.printed.text(cell.digits),
                shown(found.values(cell.ours, cell.measure), cell.digits),
                str(len(found.values(cell.ours, cell.measure))),
                judged(found, cell),
                hardness(found, cell),
                "" if cell.method == PLAINEST[number] else gain(found, cell),
                *(_with_number(found, cell, name) for name in further),
            ]
            for cell in some
        ]
        columns = [
            "",
            "published",
            "as published, by us",
            "splits",
            "verdict",
            "data",
            f"better than {PLAINEST[number]} (the paper's)",
            *further,
        ]
        made[number] = Table(f"{title}, mean ± standard error", columns, body)
    return made


def _with_number(found: Measured, cell: Cell, name: str) -> str:
    if name not in cell.others:
        return ""
    values = found.values(cell.others[name], cell.measure)
    number = "1 split" if len(values) == 1 else f"{len(values)} splits"
    return f"{shown(values, cell.digits)}, {number}" if values else "−"
