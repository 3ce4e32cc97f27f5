"""``nearkin suggest``: what to ask next; or ask it in the terminal, and keep answers at once."""

from __future__ import annotations

import csv
import io
import os
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import nearkin as nk
from nearkin.cli import options as o
from nearkin.cli.common import (
    UserError,
    complain,
    console,
    describe_figures,
    grids,
    models,
    next_command,
    np,
    outputs,
    pa,
    pair_files,
    preprocessing,
    quote_names,
    say,
    strategies,
    table_reading,
    tables,
    text,
    verdicts,
)
from nearkin.cli.files.inputs import claim_standard_input
from nearkin.cli.records import (
    NONE,
    RecordTask,
    find_link_task,
    is_table,
    learn_links,
    learn_matcher,
    open_both,
)
from nearkin.errors import counted
from nearkin.messages import collect_notices, tell
from nearkin.storage.files import is_written_through

if TYPE_CHECKING:
    from nearkin._types import Ints

# Pairs that are written, and that are asked about, unless another number is said.
_WRITTEN, _ASKED = 10, 20
# Answers, at least, between two times that a metric or a matcher is learned, which takes a second
# or some.
_LEARNED_EVERY = 5
# Style of what differs between two records, and what stands for an empty cell.
_DIFFERENT, _MISSING = "bold red", "—"
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
# Equal answers in a row, after which pairs of another kind are asked; and values of a column that
# may name the sources of records, at most. By hand.
_MANY_EQUAL, _FEW_VALUES = 10, 20
# Lines in a row that are no answer, after which nobody seems to be there.
_MOST_WRONG = 10


def suggest(
    model: Path | None = o.argument(
        None,
        help="A model that fit has written, or a matcher of records that duplicates --save has. "
        "Leave it out to begin from the table, or from two tables whose records are to be linked.",
    ),
    data: Path | None = o.argument(None, help=o.DATA_HELP),
    right: Path | None = o.argument(None, help="A second table, for links between the two."),
    pairs: Path | None = o.PAIRS,
    n: int | None = o.option(
        "--number -n", "How many pairs. Without: 10, and 20 with --ask.", min=1
    ),
    strategy: str | None = o.option(
        "--strategy NAME",
        "neighborhoods, consolidate, clusters (what would change groups most), "
        "uncertainty or random. Without: neighborhoods; "
        "records, in tables with words, are asked about where a matcher is in doubt.",
        autocompletion=o.complete(
            "neighborhoods", "consolidate", "clusters", "uncertainty", "random"
        ),
    ),
    ask: bool = o.option(
        "--ask",
        "Ask here and now. Each answer is added at once to the file that --output names, "
        "which may exist, or to answers.csv.",
        False,
    ),
    review: bool = o.option(
        "--review", "Of records: those first whose answer would change the groups most.", False
    ),
    show: list[str] = o.option(
        "--show NAMES",
        "Columns to show with a question; names or patterns. Without: the first eight.",
        [],
    ),
    output: Path | None = o.option(
        "--output -o FILE",
        "Where to write to: pairs with an empty column same, to fill in; with --ask the "
        "answers, as .csv. Without: standard output, and answers.csv with --ask.",
    ),
    *,
    choice: o.RecordColumns,
    sides: o.LinkedTables,
    as_json: bool = o.JSON,
    force: bool = o.FORCE,
    quote: bool = o.QUOTE,
    seed: int = o.SEED,
) -> None:
    """Suggest pairs whose answer, same or different, would teach the model most.

    With --ask, answer s or y (same), d or n (different), u (unsure), z (take the last answer back)
    or q (enough). The end of the input is enough too; ten lines in a row that are no answer end
    with status 2. After each answer a line says what the next ten are expected to gain. The rows
    are held in memory.

    For groups: nearkin suggest rows.csv --strategy clusters --ask. A metric is learned from
    the answers meanwhile; nearkin cluster rows.csv --pairs answers.csv then has the groups.

    Records, in tables with words, need no model: nearkin suggest people.csv --id id --ask, and
    nearkin suggest people.csv more.csv --id id --ask for links between two tables. Two
    are shown side by side, with what differs marked. Every five answers are
    learned from, and a line says how good the groups of nearkin duplicates are by now. A matcher of
    a file asks where it is in doubt about these records, and stays as it is.
    """
    n = n or (_ASKED if ask else _WRITTEN)
    if ask:
        claim_standard_input("the answers")
    out = outputs.Output(None if ask else output, as_json=as_json, force=force, quote=quote)
    task = _find_task(model or NONE, data, right)
    is_linked = len(task.files) == 2
    if not is_linked:
        remedy = "this is for links between two tables."
        o.refuse({"--match": list(sides.match), "--right-id": sides.right_id}, remedy)
    data = task.files[0]
    learns = task.model is None and strategy is None
    learns = learns and (is_linked or tables.has_records(data, choice))
    of_records = learns or task.matcher is not None
    if of_records and strategy is not None:
        raise UserError("--strategy: a matcher asks where it is in doubt; --review is the other.")
    asker: Asker
    both: Any
    if is_linked:
        named, others = open_both(task, choice, sides)
        both = LinkedRecords(named, others)
        taught, known = learn_links(named, others, choice, pairs, seed)
        asker = RecordAsker(taught, known, learns=True, review=review, links=True)
    elif of_records:
        both = named = task.open(choice)
        known = pair_files.read_known_pairs(named, pairs, choice.delimiter)
        taught = learn_matcher(named, task, choice, known, seed)
        asker = RecordAsker(taught, known, learns=learns, review=review)
    elif review:
        raise UserError("--review: this is for records: nearkin suggest people.csv --review.")
    else:
        learned = None if task.model is None else models.Model(task.model)
        both = table = tables.open_table(data, choice, model=learned)
        known = pair_files.read_known_pairs(table, pairs, choice.delimiter)
        asker = RowAsker(learned, table, known, strategy or "neighborhoods", seed)
    ids = both.shown_ids()
    shown = both.shown(show or both.compared if of_records else show)
    if ask:
        answers = AnswerFile(
            output or Path("answers.csv"),
            named if of_records else table,
            others if is_linked else None,
        )
        ask_in_terminal(asker, answers, ids, shown, n, marked=of_records)
        if learns and answers.holds_any():
            command, to = ("link", "links") if is_linked else ("duplicates", "groups")
            written = ("--pairs", answers.path, "-o", f"{to}.csv")
            say(f"next: {next_command(command, *task.files, *written)}")
        return
    ends = asker.next(n)
    if not len(ends):
        say("note: there is nothing to ask.")
    left, right_ids = (ids.take(ends[:, side]) for side in (0, 1))
    out.write(outputs.table_of({"left": left, "right": right_ids, "same": [""] * len(ends)}))


def _find_task(model: Path, data: Path | None, right: Path | None) -> RecordTask:
    """Find the files that were named, and the model or matcher, which may be left out."""
    if right is not None:
        task = find_link_task(model, data or right, right)
        if task.matcher is not None:
            raise UserError(
                f"{model}: about links between two tables it is asked without a matcher: "
                f"{next_command('suggest', *task.files)}"
            )
        return task
    if data is None:
        if model != NONE and is_table(model):
            return RecordTask((model,))
        raise UserError(
            "Missing argument 'DATA': nearkin suggest model.nearkin rows.csv\nTables need no "
            "model: nearkin suggest people.csv"
        )
    if model == NONE:
        return RecordTask((data,))
    if model.exists() and is_table(model):
        return RecordTask((model, data))
    return RecordTask((data,), model, models.open_matcher(model))


class LinkedRecords:
    """Records of two tables, numbered through, as they are shown to a person."""

    def __init__(self, left: tables.RecordTable, right: tables.RecordTable) -> None:
        self._tables = (left, right)
        self.compared = [name for name in left.compared if name in right.compared]

    def shown_ids(self) -> Any:
        """The ids of both."""
        found = [table.shown_ids() for table in self._tables]
        return pa.chunked_array([one.cast(pa.string()) for one in found]).combine_chunks()

    def shown(self, names: list[str]) -> Any:
        """Columns that both have."""
        left, right = (
            {name: table.cells.column(name).cast(pa.string()) for name in names}
            for table in self._tables
        )
        return pa.concat_tables([pa.table(left), pa.table(right)])


class Asker(ABC):
    """Knows what to ask next, by what was answered so far."""

    def __init__(self, known: nk.Pairs) -> None:
        self._known = known
        self._answers: list[tuple[int, int, bool | None]] = []

    @property
    def pairs(self) -> nk.Pairs:
        """All that is known: from the start, and by answers."""
        same, different = (self._answered(answer) for answer in (True, False))
        return self._known + nk.Pairs(same, different, n_rows=self._known.n_rows)

    def _answered(self, answer: bool | None) -> list[tuple[int, int]]:
        return [(i, j) for i, j, same in self._answers if same is answer]

    def add(self, left: int, right: int, same: bool | None) -> None:
        """Take an answer into account."""
        self._answers.append((left, right, same))

    def take_back(self) -> None:
        """Forget the last answer."""
        del self._answers[-1]

    @abstractmethod
    def next(self, n: int) -> Ints:
        """Pairs of row numbers of shape (n, 2), the most useful first."""

    def next_one(self) -> tuple[int, int] | None:
        """The next pair of row numbers, or None if there is nothing to ask."""
        found = self.next(1)
        return (int(found[0, 0]), int(found[0, 1])) if len(found) else None

    @abstractmethod
    def ask_otherwise(self) -> None:
        """Ask about pairs of another kind from now on."""

    @abstractmethod
    def progress(self) -> str:
        """Say what answers have come to, or what more would gain."""


class RowAsker(Asker):
    """Questions about the rows of a table, which are held in memory.

    Questions for groups go by a metric that is learned from the answers, if there is no model.
    """

    def __init__(
        self,
        model: models.Model | None,
        table: tables.Table,
        known: nk.Pairs | None,
        strategy: str,
        seed: int,
    ) -> None:
        self._X = table.rows.to_numpy()
        super().__init__(nk.Pairs(n_rows=len(self._X)) if known is None else known)
        if model is None:  # rows as they are, and the same up to the median distance
            self._metric: Any = preprocessing.FunctionTransformer().fit(self._X)
            usual = verdicts.measure_usual_distance(self._X, np.random.RandomState(seed))
            self._metric.threshold_ = usual
        else:
            self._metric = model.metric
        self._strategy = strategy
        self._seed = seed
        self._learns = model is None and strategy == "clusters"
        self._n_learned = 0

    def next(self, n: int) -> Ints:
        """Pairs of row numbers, the most useful first."""
        pairs = self.pairs
        self._learn(pairs)
        return nk.suggest_pairs(
            self._metric,
            self._X,
            pairs,
            n,
            strategy=self._strategy,
            exclude=self._answered(None) or None,
            random_state=self._seed,
        )

    def _learn(self, pairs: nk.Pairs) -> None:
        """Learn a metric for groups where there are a quarter more answers than it has seen."""
        is_due = abs(len(pairs) - self._n_learned) >= max(_LEARNED_EVERY, len(pairs) // 4)
        if self._learns and is_due and len(pairs.must_link) and len(pairs.cannot_link):
            told = strategies.balance_inferred(pairs, np.random.RandomState(self._seed))
            with collect_notices():  # of a metric that is there for the questions only
                self._metric = nk.MetricLearner(random_state=self._seed).fit(self._X, pairs=told)
            self._n_learned = len(pairs)

    def ask_otherwise(self) -> None:
        """Ask where the distance is near the threshold, or at random where that was asked."""
        self._strategy = "random" if self._strategy == "uncertainty" else "uncertainty"

    def progress(self) -> str:
        """What further answers are expected to gain."""
        return f"more answers? {nk.outlook(self._X, self.pairs, random_state=self._seed)}"


class RecordAsker(Asker):
    """Questions about the records of a table, from a matcher that learns while it asks.

    Unless it ``learns``, answers are only kept; a ``review`` asks in the order of what an answer
    would change, instead of that by which a matcher learns most.
    """

    def __init__(
        self, matcher: nk.RecordMatcher, known: nk.Pairs | None, *, learns: bool, review: bool,
        links: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(nk.Pairs() if known is None else known)
        self._links = links
        self._matcher = matcher
        self._learns = learns
        self._review = review
        self._n_learned: int | None = None
        self._progress = ""
        self._waiting: list[tuple[int, int]] = []

    def take_back(self) -> None:
        """Forget the last answer."""
        super().take_back()
        self._n_learned = min(self._n_learned or 0, len(self._answers))

    def next_one(self) -> tuple[int, int] | None:
        """The next pair of row numbers, or None if there is nothing to ask."""
        self._learn()
        open_ = [pair for pair in self._waiting if frozenset(pair) not in self._asked()]
        open_ = open_ or [(int(i), int(j)) for i, j in self.next(_LEARNED_EVERY)]
        self._waiting = open_[1:]
        return open_[0] if open_ else None

    def next(self, n: int) -> Ints:
        """Pairs of row numbers, in the order in which they are to be asked."""
        self._learn()
        asked = self._asked()
        some = n + len(asked)
        found = self._matcher.review(some)[0] if self._review else self._matcher.suggest(some)
        fresh = [pair for pair in found.tolist() if frozenset(pair) not in asked]
        return np.array(fresh[:n], dtype=np.int64).reshape(-1, 2)

    def ask_otherwise(self) -> None:
        """Ask what would change groups most, or what a matcher learns most from."""
        self._review, self._waiting = not self._review, []

    def progress(self) -> str:
        """How good the groups are by now, as far as that is known."""
        self._learn()
        return self._progress

    def _learn(self) -> None:
        """Learn from what was answered, if that is enough to be worth it."""
        due = 1 if self._n_learned is None else self._n_learned + _LEARNED_EVERY
        self._n_learned = self._n_learned or 0
        if len(self._answers) < due:
            return
        pairs = self.pairs
        if self._learns:
            self._matcher.teach(pairs)
        else:
            self._matcher = self._matcher.on(pairs=pairs)
        found = self._matcher.link() if self._links else self._matcher.duplicates()
        self._progress = f"after {counted(len(pairs), 'answer')}: {describe_figures(found)}"
        self._n_learned = len(self._answers)
        self._waiting = []

    def _asked(self) -> set[frozenset[int]]:
        return {frozenset((i, j)) for i, j, _ in self._answers}


class AnswerFile:
    """A CSV file of pairs that answers are added to; those in it are known from the start."""

    def __init__(
        self, path: Path, table: tables.NamedRows, others: tables.NamedRows | None = None
    ) -> None:
        if path.suffix.lower() != ".csv":
            raise UserError(f"{path}: answers go to a .csv file.")
        if is_written_through(path):
            raise UserError(f"{path}: answers are added to a file, not to a pipe or a device.")
        self.path = path
        self.given: list[tuple[int, int, bool | None]] = []
        # Where lines that were added now begin and end.
        self._added: list[tuple[int, int]] = []
        self._is_new = not path.exists()
        if self._is_new or path.stat().st_size == 0:
            path.touch()
            self._add(_HEADER)
            self._added.clear()
            return
        with open(path, newline="", encoding="utf-8-sig") as file:
            lines = [cells for cells in csv.reader(file) if cells]
        if lines[0] != _HEADER:
            raise UserError(
                f"{path} has other columns than left, right and same, or no commas between them: "
                "name a new file."
            )
        if len(lines) > 1:
            found = pair_files.read_pairs(table, path, role="--output", others=others)
            self.given = [
                (int(left), int(right), same)
                for (left, right), same in zip(found.ends, found.same, strict=True)
            ]

    def add(self, left: Any, right: Any, same: bool | None) -> None:
        """Write an answer; it is on the disk when this returns."""
        self._add([left, right, "" if same is None else str(same).lower()])

    def holds_any(self) -> bool:
        """Whether there is an answer in it."""
        return bool(self.given or self._added)

    def close(self) -> None:
        """Remove a new file that has no answer, which no command could read."""
        if self._is_new and not self._added:
            self.path.unlink(missing_ok=True)

    def take_back(self) -> None:
        """Remove the last answer that was added, from the disk too when this returns."""
        begin, end = self._added[-1]
        with self._opened() as file:
            if file.seek(0, os.SEEK_END) != end:
                raise UserError(
                    f"{self.path} was changed by another program: the answer is not taken back."
                )
            file.truncate(begin)
            file.flush()
            os.fsync(file.fileno())
        del self._added[-1]

    def _add(self, cells: list[Any]) -> None:
        """Append a line, which is on the disk when this returns."""
        line = io.StringIO()
        csv.writer(line, lineterminator="\n").writerow(cells)
        with self._opened() as file:
            end = file.seek(0, os.SEEK_END)
            if end:
                file.seek(-1, os.SEEK_END)
                if file.read(1) != b"\n":
                    file.write(b"\n")
            file.write(line.getvalue().encode())
            file.flush()
            os.fsync(file.fileno())
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


def ask_in_terminal(
    asker: Asker, answers: AnswerFile, ids: Any, shown: Any, most: int, *, marked: bool
) -> None:
    """Ask until there are enough answers, or the user has had enough; mark what differs."""
    if answers.given:
        say(f"{answers.path} has {counted(len(answers.given), 'answer')} already, which count")
    for left, right, same in answers.given:
        asker.add(left, right, same)
    asked: list[tuple[int, int]] = []
    said, last, in_a_row = "", None, 0
    again: tuple[int, int] | None = None
    try:
        while len(asked) < most:
            rows = again or asker.next_one()
            if rows is None:
                say("note: there is nothing more to ask.")
                break
            names = ids[rows[0]].as_py(), ids[rows[1]].as_py()
            _show(f"{len(asked) + 1} of {most}", names, rows, shown, marked)
            word = _read_answer(can_undo=bool(asked))
            if word in _ENOUGH:
                break
            if word in _UNDO:
                answers.take_back()
                asker.take_back()
                again, in_a_row = asked.pop(), 0
                continue
            answers.add(*names, _KEYS[word])
            asker.add(*rows, _KEYS[word])
            asked.append(rows)
            in_a_row = in_a_row + 1 if _KEYS[word] is last else 1
            last, again = _KEYS[word], None
            if in_a_row == _MANY_EQUAL and last is not None:
                in_a_row = 0
                asker.ask_otherwise()
                say(_explain_equal(last, asked[-_MANY_EQUAL:], shown))
            if (progress := asker.progress()) != said:
                said = progress
                say(said)
    finally:
        answers.close()
        if asked:
            say(f"{counted(len(asked), 'answer')} added to {answers.path}")
        else:
            say("no answers, so that nothing is written")


def _explain_equal(same: bool, asked: list[tuple[int, int]], shown: Any) -> str:
    """Say that other pairs are asked now, and why so many answers were equal, if that is seen.

    A column of few values that differs in all pairs may name the source of records.
    """
    said = (
        f"{len(asked)} answers in a row were {'same' if same else 'different'}: pairs of another "
    )
    said += "kind are asked now."
    if same:
        return said
    differ = [
        name
        for name in shown.schema.names
        if len(shown.column(name).unique()) <= _FEW_VALUES
        and all(shown.column(name)[i] != shown.column(name)[j] for i, j in asked)
    ]
    if not differ:
        return said
    names = quote_names(differ)
    return (
        f"{said} {names} differs in all of them: if it names where records are from, begin "
        f"again with --exclude {differ[0]}."
    )


def _show(
    heading: str, names: tuple[Any, Any], rows: tuple[int, int], shown: Any, marked: bool
) -> None:
    """Show two rows side by side, with a heading."""
    grid = grids.Table("", *(str(name) for name in names), title=heading)
    for name in shown.schema.names:
        values = [shown.column(name)[row].as_py() for row in rows]
        if marked:
            grid.add_row(*mark_differences(name, *values))
        else:
            grid.add_row(name, *(f"{v:.4g}" if isinstance(v, float) else str(v) for v in values))
    console.Console(stderr=True).print(grid)


def _read_answer(*, can_undo: bool) -> str:
    """Read lines until one is an answer, and return it; "q" at the end of the input."""
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


def mark_differences(name: str, left: Any, right: Any) -> tuple[Any, Any, Any]:
    """A line of a grid: the name of a column, and its two cells, as texts of rich.

    A name has ≠ before it if the cells differ, for whoever sees no colours; what has no
    counterpart in the other cell is in colour. Upper case and spaces around make no difference.
    """
    a, b = (_MISSING if cell is None else str(cell) for cell in (left, right))
    shown = text.Text(a), text.Text(b)
    if left is None or right is None or table_reading.fold_text(a) == table_reading.fold_text(b):
        return text.Text(f"  {name}"), *shown
    for cell, spans in zip(shown, table_reading.find_differences(a, b), strict=True):
        for span in spans:
            cell.stylize(_DIFFERENT, *span)
    return text.Text(f"≠ {name}"), *shown
