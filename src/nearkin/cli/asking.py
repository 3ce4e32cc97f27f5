"""Questions in the terminal, and answers that are safe as soon as they are given."""

from __future__ import annotations

import csv
import io
import os
import sys
from pathlib import Path
from typing import IO, Any, Protocol

from nearkin.cli.differences import marked_cells
from nearkin.cli.failures import UserError
from nearkin.cli.files.named_rows import NamedRows
from nearkin.cli.files.pairs import pairs_of
from nearkin.cli.messages import complain, say
from nearkin.errors import counted
from nearkin.messages import tell
from nearkin.storage.files import is_written_through

_HEADER = ["left", "right", "same"]
# The studio's keys, and the words and letters that answer a question.
_KEYS = {
    "s": True, "same": True, "y": True, "yes": True,
    "d": False, "different": False, "n": False, "no": False,
    "u": None, "unsure": None,
}  # fmt: skip
_UNDO = ("z", "undo")
_ENOUGH = ("q", "quit")
_PROMPT = "the same? s or y (same), d or n (different), u (unsure), z (undo), q (enough): "
# Lines in a row that are no answer, after which nobody seems to be there.
_MOST_WRONG = 10


class Asker(Protocol):
    """Whoever knows what to ask next."""

    def tell(self, left: int, right: int, same: bool | None) -> None:
        """Take an answer into account."""

    def take_back(self) -> None:
        """Forget the last answer."""

    def one(self) -> tuple[int, int] | None:
        """The next pair of row numbers, or None if there is nothing to ask."""

    def standing(self) -> str:
        """What is to be said after an answer, if it is new."""


class AnswerFile:
    """A CSV file of pairs that answers are added to; those in it are known from the start."""

    def __init__(self, path: Path, table: NamedRows) -> None:
        if path.suffix.lower() != ".csv":
            raise UserError(f"{path}: answers go to a .csv file.")
        if is_written_through(path):
            raise UserError(f"{path}: answers are added to a file, not to a pipe or a device.")
        self.path = path
        self.given: list[tuple[int, int, bool | None]] = []
        # Where lines that were added now begin and end.
        self._added: list[tuple[int, int]] = []
        if not path.exists() or path.stat().st_size == 0:
            path.touch()
            self._add(_HEADER)
            return
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [cells for cells in csv.reader(file) if cells]
        if lines[0] != _HEADER:
            raise UserError(f"{path} has other columns than left, right and same: name a new file.")
        if len(lines) > 1:
            found = pairs_of(table, path, role="--output")
            self.given = [
                (int(left), int(right), same)
                for (left, right), same in zip(found.ends, found.same, strict=True)
            ]

    def add(self, left: Any, right: Any, same: bool | None) -> None:
        """Write an answer; it is on the disk when this returns."""
        self._add([left, right, "" if same is None else str(same).lower()])

    def take_back(self) -> None:
        """Remove the last answer that was added, from the disk too when this returns."""
        begin, end = self._added[-1]
        with self._opened() as file:
            if file.seek(0, os.SEEK_END) != end:
                raise UserError(
                    f"{self.path} was changed by another program: the answer is not taken back."
                )
            file.truncate(begin)
            _settle(file)
        del self._added[-1]

    def _add(self, cells: list[Any]) -> None:
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(cells)
        with self._opened() as file:
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(line.getvalue().encode())
            _settle(file)
            self._added.append((end, file.tell()))

    def _opened(self) -> IO[bytes]:
        """The file as it is there; another in its place would have only a part of the answers."""
        try:
            return open(self.path, "r+b")
        except FileNotFoundError as error:
            raise UserError(
                f"{self.path} is gone, and with it the answers that were in it: the last one is "
                "not kept."
            ) from error


def _settle(file: IO[bytes]) -> None:
    file.flush()
    os.fsync(file.fileno())


def interview(
    questions: Asker,
    answers: AnswerFile,
    ids: Any,
    shown: Any,
    most: int,
    *,
    marked: bool = False,
) -> None:
    """Ask until there are enough answers, or the user has had enough.

    What differs between the two is marked if it is ``marked``.
    """
    for left, right, same in answers.given:
        questions.tell(left, right, same)
    asked: list[tuple[int, int]] = []
    said = ""
    again: tuple[int, int] | None = None
    try:
        while len(asked) < most:
            rows = again or questions.one()
            if rows is None:
                break
            names = ids[rows[0]].as_py(), ids[rows[1]].as_py()
            _show(f"{len(asked) + 1} of {most}", names, rows, shown, marked)
            word = _answer(can_undo=bool(asked))
            if word in _ENOUGH:
                break
            if word in _UNDO:
                answers.take_back()
                questions.take_back()
                again = asked.pop()
                continue
            answers.add(*names, _KEYS[word])
            questions.tell(*rows, _KEYS[word])
            asked.append(rows)
            again = None
            if (standing := questions.standing()) != said:
                said = standing
                say(said)
    finally:
        say(f"{counted(len(asked), 'answer')} added to {answers.path}")


def _show(
    heading: str, names: tuple[Any, Any], rows: tuple[int, int], shown: Any, marked: bool
) -> None:
    from rich.console import Console
    from rich.table import Table as Grid

    grid = Grid("", *(str(name) for name in names), title=heading)
    for name in shown.schema.names:
        values = [shown.column(name)[row].as_py() for row in rows]
        if marked:
            grid.add_row(*marked_cells(name, *values))
        else:
            grid.add_row(name, *(f"{v:.4g}" if isinstance(v, float) else str(v) for v in values))
    Console(stderr=True).print(grid)


def _answer(*, can_undo: bool) -> str:
    """What was said, once it is an answer; "q" at the end of the input."""
    for n_wrong in range(1, _MOST_WRONG + 1):
        tell(_PROMPT)
        line = sys.stdin.readline()
        word = line.strip().lower()
        if not line:
            tell("\n")
            return "q"
        if word in _KEYS or word in _ENOUGH or (word in _UNDO and can_undo):
            return word
        if word in _UNDO:
            complain("there is no answer of now to take back.")
        elif n_wrong < _MOST_WRONG:
            complain(f"{line.strip()[:40]!r} is no answer.")
    raise UserError(
        f"--ask: {_MOST_WRONG} lines in a row were no answer: answer s, d, u, z or q. What was "
        "answered before is kept."
    )
