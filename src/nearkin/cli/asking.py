"""Questions in the terminal, and answers that are safe as soon as they are given."""

from __future__ import annotations

import csv
import io
import os
import sys
from pathlib import Path
from typing import Any

from nearkin.cli.failures import UserError
from nearkin.cli.messages import counted, say
from nearkin.cli.pair_files import read_pairs
from nearkin.cli.suggesting import Questions
from nearkin.cli.tables import Table

_HEADER = ["left", "right", "same"]
_KEYS = {"y": True, "yes": True, "n": False, "no": False, "u": None, "unsure": None}


class Answers:
    """A CSV file of pairs that answers are added to; those in it are known from the start."""

    def __init__(self, path: Path, table: Table) -> None:
        if path.suffix.lower() != ".csv":
            raise UserError(f"{path}: answers go to a .csv file.")
        self.path = path
        self.given: list[tuple[int, int, bool | None]] = []
        if not path.exists() or path.stat().st_size == 0:
            self._add(_HEADER)
            return
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [cells for cells in csv.reader(file) if cells]
        if lines[0] != _HEADER:
            raise UserError(f"{path} has other columns than left, right and same: name a new file.")
        if len(lines) > 1:
            found = read_pairs(path, n_rows=len(table.rows), ids=table.ids(), rows_of=table.file)
            self.given = [
                (int(left), int(right), same)
                for (left, right), same in zip(found.ends, found.same, strict=True)
            ]

    def add(self, left: Any, right: Any, same: bool | None) -> None:
        """Write an answer; it is on the disk when this returns."""
        self._add([left, right, "" if same is None else str(same).lower()])

    def _add(self, cells: list[Any]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(cells)
        with open(self.path, "ab+") as file:
            if file.tell():
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(line.getvalue().encode())
            file.flush()
            os.fsync(file.fileno())


def interview(questions: Questions, answers: Answers, ids: Any, shown: Any, most: int) -> None:
    """Ask until there are enough answers, or the user has had enough."""
    for left, right, same in answers.given:
        questions.tell(left, right, same)
    n_asked = 0
    while n_asked < most:
        found = questions.next(1)
        if not len(found):
            break
        left, right = found[0].tolist()
        names = ids[left].as_py(), ids[right].as_py()
        _show(f"{n_asked + 1} of {most}", names, (left, right), shown)
        answer = _answer()
        if answer == "q":
            break
        answers.add(*names, _KEYS[answer])
        questions.tell(left, right, _KEYS[answer])
        n_asked += 1
    say(f"{counted(n_asked, 'answer')} added to {answers.path}")


def _show(heading: str, names: tuple[Any, Any], rows: tuple[int, int], shown: Any) -> None:
    from rich.console import Console
    from rich.table import Table as Grid

    grid = Grid("", *(str(name) for name in names), title=heading)
    for name in shown.schema.names:
        values = [shown.column(name)[row].as_py() for row in rows]
        grid.add_row(name, *(f"{v:.4g}" if isinstance(v, float) else str(v) for v in values))
    Console(stderr=True).print(grid)


def _answer() -> str:
    """A key of a known answer, or "q" for enough."""
    while True:
        sys.stderr.write("the same? y, n, u (unsure) or q (enough): ")
        sys.stderr.flush()
        line = sys.stdin.readline()
        word = line.strip().lower()
        if not line or word in ("q", "quit"):
            return "q"
        if word in _KEYS:
            return word
