"""Tables of what was measured of records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.record import Table, Text
from benchmarks.records.data import DATA
from benchmarks.records.publications import DATA as PUBLICATIONS
from benchmarks.records.rivals import LIMIT
from benchmarks.records.rounds import MADE, N_ANSWERS, PROTOCOLS

OURS = "RecordMatcher"
Row = dict[str, Any]

_IN_VIEW = (
    "How likely curves are before any answer, and how wide intervals are, was chosen with these "
    "sets in view: other tables may be harder."
)
_FRESH = (
    "Nothing was chosen by these people. The publications had been looked at once when it was "
    "decided to try the mixture alone beside trees."
)
_LABELLED = (
    "DBLP and ACM: precision and recall are among the labelled pairs that were not told, of which "
    "some 75 are the same; answers are drawn from the other half of the labelled pairs, not asked "
    "as suggest does."
)
_RIVALS = (
    "The first draw, told the same answers. Suggested questions are those that RecordMatcher chose "
    "for itself, which favours it; random ones are half of the same, other than candidates are. "
    "Its seconds leave out the first fit. Rivals that say pairs are judged by "
    "these pairs, and for B-cubed by what they connect. A package "
    f"has {LIMIT} seconds of one core; s is what was used, for ours from the first question on. "
    "Packages are used as their introductions show, on text columns without settings for these "
    "tables: dedupe with String variables, splink and recordlinkage with Jaro-Winkler similarity "
    "and blocks of the four columns with most different values. Of DBLP and ACM they see one table "
    "of both. What is not listed was not measured."
)
_HOW = (
    "Seconds of all cores together; in brackets those of the clock, on idle cores. Reading is that "
    "of a CSV file by Python's csv module. No answers were given."
)

_ON_DASK = (
    "Two worker processes of one thread each, and the process that called fit. Each of the three "
    "has some 0.4 GB of Python and its libraries in it before the first record comes."
)


def tables(rows: list[Row], fresh_from: int) -> list[Table | Text]:
    """All of the page."""
    grown = sorted((row for row in rows if "n_records" in row), key=lambda row: row["n_records"])
    on_dask = [row for row in rows if "n_on_dask" in row]
    cells = [row for row in rows if row.get("method") == OURS]
    fresh = [row for row in cells if row["seed"] >= fresh_from]
    linked = [row for row in cells if row["data"] == PUBLICATIONS]
    seen = [row for row in cells if row["seed"] < fresh_from and row["data"] != PUBLICATIONS]
    draws = len({row["seed"] for row in seen})
    first = [r for r in rows if "method" in r and r["seed"] == 0 and r["data"] not in MADE]
    compared = list(_beside(first))
    parts: list[Table | Text] = [
        Table(
            f"Groups of records, means of up to {draws} draws",
            ["records", "answers", "", "F1", "least", "precision", "recall", "B-cubed F1"],
            [_shown(*cell) for cell in _cells(seen)],
            n_words=3,
        ),
        _intervals("How often the 90 % intervals hold the truth", seen),
        Text(_IN_VIEW),
    ]
    if fresh:
        parts.append(_intervals("The same, for people who were made up afresh", fresh))
    if linked:
        parts += [_links(linked), Text(f"{_FRESH} {_LABELLED}")]
    if compared:
        columns = ["records", "answers", "", "", "F1", "precision", "recall", "B-cubed F1", "s"]
        parts += [Table("Beside other packages", columns, compared, n_words=4), Text(_RIVALS)]
    if grown:
        parts += [_growth(grown), Text(f"{_HOW} {_exponent(grown)}")]
    if on_dask:
        parts += [_distributed(on_dask), Text(_ON_DASK)]
    return parts


def _cells(rows: list[Row]) -> Iterator[tuple[str, str, int, list[Row]]]:
    for data in (PUBLICATIONS, *DATA, *MADE):
        for n in N_ANSWERS:
            for protocol in PROTOCOLS:
                key = (data, protocol, n)
                of = [r for r in rows if (r["data"], r["protocol"], r["n_answers"]) == key]
                if of and (n or protocol == PROTOCOLS[0] or data == PUBLICATIONS):
                    yield data, protocol, n, of


def _shown(data: str, protocol: str, n: int, of: list[Row]) -> list[str]:
    names = ("precision", "recall", "b_cubed")
    f1 = [row["f1"] for row in of]
    means = [f"{np.mean([row[name] for row in of]):.4f}" for name in names]
    return [data, str(n), protocol if n else "", f"{np.mean(f1):.4f}", f"{min(f1):.4f}", *means]


def _intervals(title: str, rows: list[Row]) -> Table:
    columns = ["answers", "runs", "precision", "recall", "width of precision", "of recall"]
    by_answers = {n: [row for row in rows if row["n_answers"] == n] for n in N_ANSWERS}
    return Table(title, columns, [_held(n, of) for n, of in by_answers.items() if of])


def _held(n: int, of: list[Row]) -> list[str]:
    shown = [str(n), str(len(of))]
    names = ("precision", "recall")
    for name in names:
        # The truth is rounded in the stored results.
        held = [r[f"{name}_low"] - 1e-5 <= r[name] <= r[f"{name}_high"] + 1e-5 for r in of]
        shown.append(f"{np.mean(held):.2f}")
    widths = [np.mean([r[f"{name}_high"] - r[f"{name}_low"] for r in of]) for name in names]
    return [*shown, *(f"{width:.3f}" for width in widths)]


def _links(rows: list[Row]) -> Table:
    columns = ["answers", "draw", "precision", "stated", "recall", "stated"]
    body = [
        [
            str(row["n_answers"]),
            str(row["seed"]),
            *(
                text
                for name in ("precision", "recall")
                for text in (
                    f"{row[name]:.3f}",
                    f"{row[f'{name}_low']:.3f} to {row[f'{name}_high']:.3f}",
                )
            ),
        ]
        for row in sorted(rows, key=lambda row: (row["n_answers"], row["seed"]))
    ]
    return Table("Links between DBLP and ACM, and what is stated of them", columns, body)


def _beside(rows: list[Row]) -> Iterator[list[str]]:
    """Where anything was measured of a rival, all that was, the best first."""
    for data, protocol, n, of in _cells(rows):
        if any(row["method"] != OURS for row in of):
            for row in sorted(of, key=lambda row: -row.get("f1", -1)):
                yield [data, str(n), protocol if n else "", row["method"], *_figures(row)]


def _figures(row: Row) -> list[str]:
    if "refused" in row:
        return [row["refused"], "", "", "", ""]
    names = ("f1", "precision", "recall", "b_cubed")
    shown = [f"{row[name]:.4f}" if name in row else "" for name in names]
    return [*shown, f"{row['processor']:.0f}" if "processor" in row else ""]


def _growth(grown: list[Row]) -> Table:
    steps = list(grown[0]["steps"])
    body = [
        [
            f"{one['n_records']:,}",
            *(f"{one['steps'][step][1]:.0f} ({one['steps'][step][0]:.0f})" for step in steps),
            "{1:.0f} ({0:.0f})".format(*_seconds(one)),
            f"{one['memory_gb']:.1f}",
            _candidates(one, one["n_records"]),
            f"{one['f1']:.4f}",
        ]
        for one in grown
    ]
    columns = ["records", *steps, "all", "memory in GB", "candidates for each", "F1"]
    return Table("Growth: seconds by step", columns, body)


def _candidates(one: Row, n_records: int) -> str:
    """Others that each record is compared with, on average."""
    return f"{2 * one['candidates'] / n_records:.1f}"


def _distributed(rows: list[Row]) -> Table:
    columns = ["records", "s", "limit of a worker in GB", "used by a worker", "by the process"]
    body = [
        [
            f"{one['n_on_dask']:,}",
            f"{one['processor']:.0f} ({one['seconds']:.0f})",
            f"{one['limit_gb']:.1f}",
            f"{one['worker_memory_gb']:.2f}",
            f"{one['memory_gb']:.2f}",
            _candidates(one, one["n_on_dask"]),
            f"{one['f1']:.4f}",
        ]
        for one in sorted(rows, key=lambda row: row["n_on_dask"])
    ]
    return Table("On dask, from Parquet files", [*columns, "candidates for each", "F1"], body)


def _seconds(one: Row) -> np.ndarray:
    """Of the clock and of all cores."""
    return np.sum(list(one["steps"].values()), axis=0)


def _exponent(grown: list[Row]) -> str:
    if len(grown) < 2:
        return ""
    first, last = grown[-2:]
    rises = np.log(_seconds(last) / _seconds(first)) / np.log(
        last["n_records"] / first["n_records"]
    )
    powers = f"{rises[1]:.2f}, by the clock {rises[0]:.2f}"
    return f"From {first['n_records']:,} records on, time grows as n to the power of {powers}."
