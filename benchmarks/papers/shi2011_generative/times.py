"""Tables 7 and 8: how long one training takes."""

from __future__ import annotations

import numpy as np

from benchmarks.papers.overview import AGREES, BELOW, Line
from benchmarks.papers.shi2011_generative import published
from benchmarks.papers.shi2011_generative.cells import REGULARISED, Key, Measured
from benchmarks.record import Table

# Number, the paper's figures, its sets, its unit in seconds, and digits of ours.
TABLES = (
    ("Table 7", published.TABLE_7, published.SMALL, 1.0, 3),
    ("Table 8", published.TABLE_8, published.LARGE, 60.0, 2),
)
UNITS = {1.0: "seconds", 60.0: "minutes"}


def seconds(found: Measured, data: str, method: str) -> float | None:
    """Median of one training, on the splits that are measured here."""
    kind = "LMNN" if method == "LMNN" else REGULARISED
    part = (
        Key("large", data, method, kind) if data in published.LARGE else Key("small", data, method)
    )
    values = found.values(part, "seconds")
    return float(np.median(values)) if values else None


def ratio(found: Measured, data: str) -> float | None:
    """How many times as fast as LMNN M^UNI is."""
    slow, fast = (seconds(found, data, method) for method in ("LMNN", "M^UNI"))
    return None if slow is None or fast is None else slow / fast


def tables(found: Measured) -> list[Table]:
    made = []
    for number, rows, names, unit, digits in TABLES:
        body = []
        for place, data in enumerate(names):
            line = [data]
            for method, printed in rows.items():
                ours = seconds(found, data, method)
                shown = "−" if ours is None else f"{ours / unit:.{digits}f}"
                line.append(f"{shown} ({printed[place]:g})")
            faster = ratio(found, data)
            theirs = rows["LMNN"][place] / rows["M^UNI"][place]
            line.append(f"{'−' if faster is None else f'{faster:.0f}'} ({theirs:.0f})")
            body.append(line)
        title = f"{number}. {UNITS[unit].capitalize()} of one training, medians (the paper's)"
        made.append(Table(title, ["", *rows, "LMNN / M^UNI"], body))
    return made


def lines(found: Measured) -> list[Line]:
    """The paper's conclusion: M^UNI is one or two orders of magnitude faster on most sets."""
    made = []
    for number, rows, names, *_ in TABLES:
        theirs = [rows["LMNN"][i] / rows["M^UNI"][i] for i in range(len(names))]
        known = [(data, ratio(found, data)) for data in names]
        ours = [faster for _, faster in known if faster is not None]
        large = sum(faster >= 10 for faster in ours)
        word = AGREES if large > len(ours) / 2 else BELOW
        said = f"faster on {sum(x > 1 for x in ours)} of {len(ours)} sets, ten times on {large}"
        made.append(
            Line(
                f"{number}, M^UNI one or two orders of magnitude faster than LMNN on most sets",
                f"{min(theirs):.0f} to {max(theirs):.0f} times",
                f"{min(ours):.0f} to {max(ours):.0f} times",
                "",
                f"{word}: {said}; our LMNN is faster than the paper's, and so is the machine",
            )
        )
    return made
