"""Table 3: the best number of regions, taken afterwards as in the paper."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.overview import FEW, NOT_COMPARABLE, Figure, Line
from benchmarks.papers.shi2011_generative import published
from benchmarks.papers.shi2011_generative.cells import (
    AS_PUBLISHED,
    REGULARISED,
    Measured,
    cell_of,
    judged_by,
    shown,
)
from benchmarks.papers.shi2011_generative.nonlinear import REGIONS


def errors(found: Measured, data: str, kind: str) -> list[float]:
    """Of the number of regions with the least mean; empty where one is not measured."""
    keys = [cell_of("Table 9", data, method).ours._replace(kind=kind) for method in REGIONS]
    values = [found.values(key, "error") for key in keys]
    return min(values, key=np.mean) if all(values) else []


def printed(data: str) -> Figure:
    figures = [cell_of("Table 9", data, method).printed for method in REGIONS]
    return min((f for f in figures if f is not None), key=lambda figure: figure.mean)


def lines(found: Measured) -> list[Line]:
    made = []
    for data in published.NONLINEAR:
        ours, beside = errors(found, data, AS_PUBLISHED), errors(found, data, REGULARISED)
        figure = printed(data)
        if data in published.OTHER_DATA:
            said = f"{NOT_COMPARABLE}: {published.OTHER_DATA[data]}"
        elif not ours:
            said = f"{NOT_COMPARABLE}: not measured as published"
        else:
            said = judged_by(figure, ours, data)
        known = {AS_PUBLISHED: ours, REGULARISED: beside}
        name, mean = min(
            ((name, float(np.mean(v))) for name, v in known.items() if len(v) >= FEW),
            key=lambda item: item[1],
        )
        made.append(
            Line(
                f"Table 3, {data}: best P",
                figure.text(),
                shown(ours, 2),
                f"{mean:.2f} ({name})",
                said,
            )
        )
    return made
