"""Tables of what was measured of records."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.record import Table, Text
from benchmarks.records.ablation import WHOLE
from benchmarks.records.data import DATA, TUNED
from benchmarks.records.rivals import LIMIT
from benchmarks.records.rounds import (
    ALL_PROTOCOLS,
    N_ANSWERS,
    ONE_WRONG,
    PROTOCOLS,
    SOME_WRONG,
    SUGGESTED,
)

OURS = "RecordMatcher"
Row = dict[str, Any]

_APART = (
    "Settings were chosen on the tables marked with a star, which a coin took out, and on made-up "
    "ones of other seeds; the others are reported on. Suggested: answers to questions of "
    "RecordMatcher; random: half of them candidates that are the same."
)
_STATED = (
    "Of all runs on tables to report on: how often a figure was stated at all, instead of a number "
    "of further questions, and how often its 90 % interval held the truth."
)
_COSTS = "Beside the same number of right answers to own questions, in the same draws."
_RIVALS = (
    "The first draw, told the same answers. Suggested questions are those that RecordMatcher chose "
    "for itself, which favours it; random ones are half of the same, other than candidates are. "
    "A package "
    f"has {LIMIT} seconds of one core; s is what was used, for ours from the first fit on. "
    "Packages are used as their introductions show, on text columns without settings for these "
    "tables: dedupe with String variables, splink and recordlinkage with Jaro-Winkler similarity "
    "and blocks of the four columns with most different values. Of two tables they see one table "
    "of both, and pairs within a source do not count. The plain baseline has cosines of trigrams "
    "by column, a logistic regression and components above the threshold that is best for the "
    "answers. What is not listed was not measured."
)
_WORTH = (
    "F1 lost without a part, in the mean over the tables {}: by no answer, "
    "by 100 answers to own questions, and by these with 5 % wrong; {} tables and draws. What is "
    "between −0.005 and 0.005 is not told apart from nothing."
)
_HOW = (
    "Seconds of all cores together; in brackets those of the clock. The load is that of other work "
    "when it began, which prolongs those of the clock where it is as large as there are cores. Of "
    "the records 60 % are copies of others. Reading is that of a CSV file by Python's csv module. "
    "No answers were given."
)


def tables(rows: list[Row]) -> list[Table | Text]:
    """All of the page."""
    grown = sorted((row for row in rows if "largest" in row), key=lambda row: row["n_records"])
    cells = [row for row in rows if row.get("method") == OURS]
    reported = [row for row in cells if row["data"] not in TUNED]
    draws = len({row["seed"] for row in cells})
    compared = list(_beside([row for row in rows if row.get("seed") == 0]))
    parts: list[Table | Text] = [
        Table(
            f"Groups of records, means of up to {draws} draws",
            ["records", "answers", "", "F1", "least", "precision", "recall", "draws"],
            [_shown(*cell) for cell in _cells(cells)],
            n_words=3,
        ),
        Text(_APART),
        Table(
            "All statements of precision and recall",
            [
                "kind of answers", "answers", "runs", "precision stated", "held", "recall stated",
                "held",
            ],
            [
                *(_held(*cell) for cell in _by_protocol(reported)),
                ["all", "", *_held("", 0, reported)[2:]],
            ],
            n_words=1,
        ),
        Text(_STATED),
    ]  # fmt: skip
    if costs := list(_costs(cells)):
        columns = ["records", "5 % of 100 answers", "draws", "the first of 50 answers", "draws"]
        parts += [Table("F1 that wrong answers cost", columns, costs), Text(_COSTS)]
    if compared:
        columns = ["records", "answers", "", "", "F1", "precision", "recall", "B-cubed F1", "s"]
        parts += [Table("Beside other packages", columns, compared, n_words=4), Text(_RIVALS)]
    if worth := [row for row in rows if "without" in row]:
        parts += _worth(worth)
    if grown:
        powers = (_exponent([row for row in grown if row["largest"] == n])
                  for n in sorted({row["largest"] for row in grown}))  # fmt: skip
        parts += [_growth(grown), Text(" ".join([_HOW, *powers]))]
    return parts


def _cells(rows: list[Row]) -> Iterator[tuple[str, str, int, list[Row]]]:
    for data in DATA:
        for n in N_ANSWERS:
            for protocol in ALL_PROTOCOLS:
                key = (data, protocol, n)
                of = [r for r in rows if (r["data"], r["protocol"], r["n_answers"]) == key]
                if of and (n or protocol == PROTOCOLS[0]):
                    yield data, protocol, n, of


def _shown(data: str, protocol: str, n: int, of: list[Row]) -> list[str]:
    f1 = [row["f1"] for row in of]
    means = [f"{np.mean([row[name] for row in of]):.4f}" for name in ("precision", "recall")]
    name = f"{data} *" if data in TUNED else data
    shown = [name, str(n), protocol if n else "", f"{np.mean(f1):.4f}", f"{min(f1):.4f}", *means]
    return [*shown, str(len(of))]


def _by_protocol(rows: list[Row]) -> Iterator[tuple[str, int, list[Row]]]:
    for protocol in ALL_PROTOCOLS:
        for n in N_ANSWERS:
            of = [r for r in rows if (r["protocol"], r["n_answers"]) == (protocol, n)]
            if of and (n or protocol == PROTOCOLS[0]):
                yield protocol if n else "none", n, of


def _held(protocol: str, n: int, of: list[Row]) -> list[str]:
    shown = [protocol, str(n), str(len(of))]
    for name in ("precision", "recall"):
        known = [row for row in of if row[f"{name}_known"]]
        shown += [str(len(known)), str(sum(holds(row, name) for row in known)) if known else ""]
    return shown


def holds(row: Row, name: str) -> bool:
    """Whether the truth, which is stored rounded, is in a stated interval."""
    return bool(row[f"{name}_low"] - 1e-5 <= row[name] <= row[f"{name}_high"] + 1e-5)


def _costs(rows: list[Row]) -> Iterator[list[str]]:
    """What wrong answers cost each table, in the mean over draws that were measured both ways."""
    f1 = {(r["data"], r["protocol"], r["n_answers"], r["seed"]): r["f1"] for r in rows}
    for data in DATA:
        shown = []
        for protocol, n in ((SOME_WRONG, 100), (ONE_WRONG, 50)):
            lost = [
                f1[data, SUGGESTED, n, seed] - found
                for (of, how, told, seed), found in f1.items()
                if (of, how, told) == (data, protocol, n) and (data, SUGGESTED, n, seed) in f1
            ]
            shown += [f"{np.mean(lost):.4f}", str(len(lost))] if lost else ["", ""]
        if any(shown):
            yield [f"{data} *" if data in TUNED else data, *shown]


def _beside(rows: list[Row]) -> Iterator[list[str]]:
    """Where anything was measured of a rival, all that was, the best first."""
    for data, protocol, n, of in _cells([row for row in rows if "method" in row]):
        if any(row["method"] != OURS for row in of):
            for row in sorted(of, key=lambda row: -row.get("f1", -1)):
                yield [data, str(n), protocol if n else "", row["method"], *_figures(row)]


def _figures(row: Row) -> list[str]:
    if "refused" in row:
        return [row["refused"], "", "", "", ""]
    names = ("f1", "precision", "recall", "b_cubed")
    shown = [f"{row[name]:.4f}" if name in row else "" for name in names]
    return [*shown, f"{row['processor']:.0f}" if "processor" in row else ""]


def _worth(rows: list[Row]) -> list[Table | Text]:
    """What F1 loses without each part, on tables of which all parts were measured."""
    names = list(dict.fromkeys(row["without"] for row in rows))
    of = {(row["without"], row["data"], row["seed"]): row["f1_of"] for row in rows}
    found = dict.fromkeys((row["data"], row["seed"]) for row in rows)
    whole = [draw for draw in found if all((name, *draw) in of for name in names)]
    kinds = list(rows[0]["f1_of"])
    body = []
    for name in names[1:] if whole else []:
        lost = [
            np.mean([of[WHOLE, *draw][kind] - of[name, *draw][kind] for draw in whole])
            for kind in kinds
        ]
        body.append([name, *(f"{value:.4f}" for value in lost)])
    tables = ", ".join(dict.fromkeys(data for data, _ in whole))
    heading = ["without", "no answer", "100 answers", "5 % wrong"]
    return [
        Table("What each part is worth", heading, body),
        Text(_WORTH.format(tables, len(whole))),
    ]


def _growth(grown: list[Row]) -> Table:
    steps = list(grown[0]["steps"])
    body = [
        [
            f"{one['n_records']:,}",
            str(one["largest"]),
            f"{one['load']:.1f}",
            *(f"{one['steps'][step][1]:.0f} ({one['steps'][step][0]:.0f})" for step in steps),
            "{1:.0f} ({0:.0f})".format(*_seconds(one)),
            f"{one['memory_gb']:.1f}",
            _candidates(one, one["n_records"]),
            f"{one['f1']:.4f}",
        ]
        for one in grown
    ]
    columns = [
        "records",
        "in groups of up to",
        "load",
        *steps,
        "all",
        "memory in GB",
        "candidates for each",
        "F1",
    ]
    return Table("Growth: seconds by step", columns, body)


def _candidates(one: Row, n_records: int) -> str:
    """Others that each record is compared with, on average."""
    return f"{2 * one['candidates'] / n_records:.1f}"


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
    return (
        f"From {first['n_records']:,} to {last['n_records']:,} records in groups of up to "
        f"{last['largest']}, time grows as n to the power of {powers}."
    )
