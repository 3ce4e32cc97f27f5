"""What suggest does: choose questions, ask them in the terminal, keep answers at once."""

from __future__ import annotations

import csv
import io
import os
import sys
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

from nearkin._types import Floats, Ints
from nearkin.cli.common import UserError, complain, say
from nearkin.cli.files.pairs import pairs_of
from nearkin.cli.files.tables import NamedRows, Table
from nearkin.cli.models import Model
from nearkin.errors import counted
from nearkin.learners.metric_learner import MetricLearner
from nearkin.messages import collect_notices, tell
from nearkin.pairs.pairs import Pairs
from nearkin.questions.outlook import outlook
from nearkin.questions.strategies import balance_inferred, suggest_pairs
from nearkin.records.matcher import RecordMatcher
from nearkin.scores.verdicts import measure_usual_distance
from nearkin.storage.files import is_written_through
from nearkin.tables.differences import find_differences, fold_text

# Which pairs of a file's rows to ask about, given what has been answered.


# Answers, at least, between two times that a metric for groups is learned.
_LEARNED_EVERY = 5


class Untaught(BaseEstimator):
    """Rows as they are, for the first questions; two rows are the same up to the median distance.

    So does :func:`nearkin.learn_actively` begin.
    """

    def fit(self, X: Floats, y: Any = None, *, seed: int = 0) -> Untaught:
        """Find the median distance, of random pairs of rows."""
        del y
        self.threshold_ = measure_usual_distance(X, np.random.RandomState(seed))
        return self

    def transform(self, X: Floats) -> Floats:
        """Return the rows themselves: nothing is learned yet."""
        return X


class Questions:
    """Questions about the rows of a table, which are held in memory.

    Questions for groups, without a model, go by a metric that is learned from the answers every now
    and then, as :func:`nearkin.learn_actively` does.
    """

    def __init__(
        self, model: Model | None, table: Table, known: Pairs | None, strategy: str, seed: int
    ) -> None:
        self._X = table.rows.to_numpy()
        self._metric = Untaught().fit(self._X, seed=seed) if model is None else model.metric
        self._known = Pairs(n_rows=len(self._X)) if known is None else known
        self._answers: list[tuple[int, int, bool | None]] = []
        self._strategy = strategy
        self._seed = seed
        self._learns = model is None and strategy == "clusters"
        self._n_learned = 0

    def tell(self, left: int, right: int, same: bool | None) -> None:
        """Take an answer into account."""
        self._answers.append((left, right, same))

    def take_back(self) -> None:
        """Forget the last answer."""
        del self._answers[-1]

    def one(self) -> tuple[int, int] | None:
        """The most useful pair of row numbers, or None if there is nothing to ask."""
        found = self.next(1)
        return (int(found[0, 0]), int(found[0, 1])) if len(found) else None

    def next(self, n: int) -> NDArray[np.int64]:
        """Pairs of row numbers, the most useful first."""
        self._learn()
        return suggest_pairs(
            self._metric,
            self._X,
            self._pairs(),
            n,
            strategy=self._strategy,
            exclude=self._answered(None) or None,
            random_state=self._seed,
        )

    def _learn(self) -> None:
        """Learn a metric for groups where there are a quarter more answers than it has seen."""
        pairs = self._pairs()
        is_due = abs(len(pairs) - self._n_learned) >= max(_LEARNED_EVERY, len(pairs) // 4)
        if self._learns and is_due and len(pairs.must_link) and len(pairs.cannot_link):
            told = balance_inferred(pairs, np.random.RandomState(self._seed))
            with collect_notices():  # of a metric that is there for the questions only
                self._metric = MetricLearner(random_state=self._seed).fit(self._X, pairs=told)
            self._n_learned = len(pairs)

    def standing(self) -> str:
        """What further answers are expected to gain."""
        return f"more answers? {outlook(self._X, self._pairs(), random_state=self._seed)}"

    def _answered(self, answer: bool | None) -> list[tuple[int, int]]:
        return [(i, j) for i, j, same in self._answers if same is answer]

    def _pairs(self) -> Pairs:
        """All that is known."""
        told = Pairs(self._answered(True), self._answered(False), n_rows=len(self._X))
        return self._known + told


# Questions about records, from a matcher that learns while it asks.


# Answers after which a matcher is taught again, which takes a second or some.
_EVERY = 5


class RecordQuestions:
    """Questions about the records of a table.

    Parameters
    ----------
    matcher : RecordMatcher
        With the table, and with what is known from the start.
    known : Pairs or None
        That.
    learns : bool
        Whether answers are learned from, or only kept.
    review : bool
        Whether questions come in the order of what an answer would change, instead of that by
        which a matcher learns most.
    """

    def __init__(
        self, matcher: RecordMatcher, known: Pairs | None, *, learns: bool, review: bool
    ) -> None:
        self._matcher = matcher
        self._known = Pairs() if known is None else known
        self._learns = learns
        self._review = review
        self._answers: list[tuple[int, int, bool | None]] = []
        self._n_learned: int | None = None
        self._standing = ""
        self._waiting: list[tuple[int, int]] = []

    def tell(self, left: int, right: int, same: bool | None) -> None:
        """Take an answer into account."""
        self._answers.append((left, right, same))

    def take_back(self) -> None:
        """Forget the last answer."""
        del self._answers[-1]
        self._n_learned = min(self._n_learned or 0, len(self._answers))

    def one(self) -> tuple[int, int] | None:
        """The next pair of row numbers, or None if there is nothing to ask."""
        self._keep_up()
        if not self._open():
            self._waiting = [(int(i), int(j)) for i, j in self.next(_EVERY)]
        open_ = self._open()
        self._waiting = open_[1:]
        return open_[0] if open_ else None

    def next(self, n: int) -> Ints:
        """Pairs of row numbers, in the order in which they are to be asked."""
        self._keep_up()
        asked = self._asked()
        some = n + len(asked)
        found = self._matcher.review(some)[0] if self._review else self._matcher.suggest(some)
        fresh = [pair for pair in found.tolist() if frozenset(pair) not in asked]
        return np.array(fresh[:n], dtype=np.int64).reshape(-1, 2)

    def standing(self) -> str:
        """How good the groups are by now, as far as that is known."""
        self._keep_up()
        return self._standing

    def _keep_up(self) -> None:
        """Learn from what was answered, if that is enough to be worth it."""
        due = 1 if self._n_learned is None else self._n_learned + _EVERY
        self._n_learned = self._n_learned or 0
        if len(self._answers) < due:
            return
        told = Pairs(
            [(i, j) for i, j, same in self._answers if same is True],
            [(i, j) for i, j, same in self._answers if same is False],
        )
        pairs = self._known + told
        if self._learns:
            self._matcher.teach(pairs)
        else:
            self._matcher = self._matcher.on(pairs=pairs)
        found = self._matcher.duplicates()
        self._standing = (
            f"after {counted(len(pairs), 'answer')}: precision {found.precision}, recall "
            f"{found.recall} are expected (90 % intervals)"
        )
        self._n_learned = len(self._answers)
        self._waiting = []

    def _asked(self) -> set[frozenset[int]]:
        return {frozenset((i, j)) for i, j, _ in self._answers}

    def _open(self) -> list[tuple[int, int]]:
        """Questions that wait and were not answered meanwhile."""
        asked = self._asked()
        return [pair for pair in self._waiting if frozenset(pair) not in asked]


# Two records side by side, with what differs marked.


_DIFFERENT = "bold red"
_MISSING = "—"


def marked_cells(name: str, left: Any, right: Any) -> tuple[Any, Any, Any]:
    """A line of a grid: the name of a column, and its two cells, as texts of rich.

    A name has ≠ before it if the cells differ, for whoever sees no colours; what has no
    counterpart in the other cell is in colour. Upper case and spaces around make no difference.
    """
    from rich.text import Text

    a, b = (_MISSING if cell is None else str(cell) for cell in (left, right))
    shown = Text(a), Text(b)
    if left is None or right is None or fold_text(a) == fold_text(b):
        return Text(f"  {name}"), *shown
    for text, spans in zip(shown, find_differences(a, b), strict=True):
        for span in spans:
            text.stylize(_DIFFERENT, *span)
    return Text(f"≠ {name}"), *shown


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
