"""Long measurements in steps: each is stored when it is done, and need not be done again.

Results are those of :mod:`benchmarks.record`, with a line of provenance for every run and a line
for every step, which has all its rows. Who stops a run, or is stopped, calls it again and loses the
steps that were under way.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from joblib import Parallel, delayed
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from benchmarks.record import provenance, rows_in

Row = dict[str, Any]


@dataclass(frozen=True)
class Job:
    """A step of a measurement.

    Attributes
    ----------
    names : dict
        What is measured, such as data, method and seed: all rows of this step have it, and those of
        no other.
    measure : callable
        ``measure(*arguments)`` gives the rows, without the names.
    arguments : tuple
    """

    names: Row
    measure: Callable[..., list[Row]]
    arguments: tuple[Any, ...] = ()

    def rows(self) -> list[Row]:
        return [{**self.names, **row} for row in self.measure(*self.arguments)]


def complete(
    path: Path, jobs: Iterable[Job], description: str = "measuring", *, processes: int = 1
) -> None:
    """Do the steps that are not stored yet, and store each when it is done.

    Parameters
    ----------
    path : Path
        Of the raw results, as :func:`benchmarks.record.stored` reads them.
    jobs : iterable of Job
    description : str
        Beside the progress bar, which estimates the time that is left.
    processes : int, default=1
        Steps at a time. With more than one, what they measure must not be time.
    """
    jobs = list(jobs)
    left = list(undone(path, jobs))
    if not left:
        return
    begun = False
    with _progress() as progress:
        bar = progress.add_task(description, total=len(jobs), completed=len(jobs) - len(left))
        for rows in _done(left, processes):
            lines = [] if begun else [json.dumps({"provenance": provenance()})]
            _append(path, [*lines, json.dumps(rows)])
            begun = True
            progress.advance(bar)


def undone(path: Path, jobs: Iterable[Job]) -> Iterator[Job]:
    """Steps of which nothing is stored."""
    rows = rows_in(_lines(path))
    found: dict[tuple[str, ...], set[str]] = {}
    for job in jobs:
        fields = tuple(sorted(job.names))
        if fields not in found:
            found[fields] = {_key(row, fields) for row in rows if set(fields) <= row.keys()}
        if _key(job.names, fields) not in found[fields]:
            yield job


def forget(path: Path, **names: Any) -> None:
    """Drop stored rows that have these names, so that they are measured again."""
    kept = []
    for line in _lines(path):
        step = line if isinstance(line, list) else [line]
        rest = [row for row in step if not names.items() <= row.items()]
        if rest:
            kept.append(rest if isinstance(line, list) else rest[0])
    path.write_text("".join(json.dumps(line) + "\n" for line in kept))


def _key(row: Row, fields: tuple[str, ...]) -> str:
    return json.dumps([row[field] for field in fields])


def _done(jobs: list[Job], processes: int) -> Iterator[list[Row]]:
    if processes == 1:
        for job in jobs:
            yield job.rows()
        return
    calls = (delayed(job.rows)() for job in jobs)
    yield from Parallel(n_jobs=processes, return_as="generator_unordered", max_nbytes=None)(calls)


def _lines(path: Path) -> Iterator[Any]:
    """All lines but a last one that was not finished."""
    whole, _, _ = path.read_text().rpartition("\n") if path.exists() else ("", "", "")
    yield from map(json.loads, whole.splitlines())


def _append(path: Path, lines: list[str]) -> None:
    """Add lines in one piece, behind whole lines only."""
    content = "".join(line + "\n" for line in lines)
    with path.open("ab+") as file:
        if file.tell():
            file.seek(-1, os.SEEK_END)
            if file.read(1) != b"\n":
                whole = path.read_bytes()
                file.truncate(whole.rfind(b"\n") + 1)
        file.write(content.encode())
        file.flush()
        os.fsync(file.fileno())


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left:"),
        TimeRemainingColumn(),
    )
