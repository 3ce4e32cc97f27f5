"""Two people teach a lesson, one of them 10 % wrong: how many wrong answers come to light?

Ann and Bob press keys in turn, 150 presses in all, and are asked as the studio asks two people:
rows beside groups, pairs, second opinions, and now and then what follows from answers. Ann is
always right, Bob is wrong at random in a tenth of his answers. As soon as the two disagree, Ann
looks at it again and settles it, which is a press of hers.

A wrong answer is listed if the two disagreed about it, or if it is among the suspects at the end.
Of all that is listed, precision is the share of what is wrong. How answers are suspected and who is
asked for a second opinion was chosen on the sets to tune on; but that no suspect is listed below
one half where nobody disagreed, after a look at these draws, so that the lines of 0% may be a
little too good.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import Table, Text, publish, stored
from benchmarks.resume import Job, complete
from benchmarks.teaching.presses import REPORTED, TUNED, data_set
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from nearkin.studio.server.session import Person, Turns
from nearkin.studio.suspects import least_chance

FOLDER = Path(__file__).parent
RAW = FOLDER / "two_people.jsonl"
N_PRESSES = 150
WRONG = 0.1
NAMES = ("Ann", "Bob")
OVERLAPS = (0.0, 0.2, 0.5)
# A report takes longer than a question, so that people answer some questions between two of them.
_REPORT_EVERY = 5


class TwoPeople:
    """A lesson that two people take, and what is known of their answers.

    Attributes
    ----------
    wrong : set of int
        Numbers of entries that are wrong.
    disputes : list of set of int
        Numbers of the two entries that people disagreed by.
    """

    def __init__(self, lesson: Lesson, y: np.ndarray, seed: int) -> None:
        self.lesson, self.y = lesson, y
        self.turns = Turns(lesson)
        self.people = {name: Person(name, name) for name in NAMES}
        self.rng = np.random.default_rng(seed)
        self.presses = 0
        self.wrong: set[int] = set()
        self.disputes: list[set[int]] = []
        self.n_second = 0

    def press(self) -> None:
        """One of them answers what the studio shows, or Ann settles what they disagree about."""
        name = NAMES[self.presses % 2]
        if self.presses % _REPORT_EVERY == 0:
            self.lesson.report()
        else:
            self.lesson.questions()
        here = [person.key for person in self.people.values()]
        state = self.turns.own(self.lesson.state(), self.people[name], here)
        lie = name == "Bob" and self.rng.random() < WRONG
        self.n_second += bool(state["second"])
        which, check = state["which"], state["check"]
        if check is not None or which is None or len(which["rows"]) < 2:
            pair = check or (which and {"left": which["left"], "right": which["rows"][0]})
            self._pair(pair or state["question"], lie, name, "check" if check else "question")
        else:
            self._which(which, lie, name)
        self.presses += 1

    def _pair(self, pair: dict[str, int], lie: bool, name: str, origin: str) -> None:
        left, right = pair["left"], pair["right"]
        same = self._are_same(left, right)
        earlier = self._numbers(left, [right])
        told = self.lesson.answer(left, right, same != lie, origin, before="nothing", by=name)
        if self._noted(told, lie, earlier):
            self.lesson.answer(left, right, same, "conflict", before="disputed", by="Ann")

    def _which(self, which: dict[str, Any], lie: bool, name: str) -> None:
        left, rows, origin = which["left"], which["rows"], which["origin"]
        right = next((row for row in rows if self._are_same(left, row)), None)
        chosen = right
        if lie:  # any other choice
            chosen = self.rng.choice([row for row in (*rows, None) if row != right])
        earlier = self._numbers(left, rows)
        said = (left, rows, chosen, chosen is not None, origin)
        told = self.lesson.answer_which(*said, before="nothing", by=name)
        if self._noted(told, lie, earlier):
            self.lesson.answer_which(left, rows, right, right is not None, "conflict", by="Ann")

    def _noted(self, state: dict[str, Any], lie: bool, earlier: set[int]) -> bool:
        """Whether an answer is the opposite of what the other one said."""
        number = len(self.lesson.entries)
        if lie:
            self.wrong.add(number)
        if not any(change["now"] == "disputed" for change in state["changes"]):
            return False
        self.disputes.append({number, *earlier})
        self.presses += 1
        return True

    def _are_same(self, left: int, right: int) -> bool:
        return bool(self.y[left] == self.y[right])

    def _numbers(self, left: int, rows: list[int]) -> set[int]:
        """Entries that say something of a row and others."""
        pairs = ((min(left, row), max(left, row)) for row in rows)
        return {self.lesson._book.entry_of(pair)[0] for pair in pairs} - {0}


def one_draw(data: str, overlap: float, seed: int) -> list[dict[str, Any]]:
    """A lesson of two people on one half of a data set."""
    X, y = data_set(data)
    rows = np.random.RandomState(seed).permutation(len(X))[: len(X) // 2]
    X, y = X[rows], y[rows]
    lesson = Lesson(records_of(X), overlap=overlap, seed=seed)
    two = TwoPeople(lesson, y, seed)
    while two.presses < N_PRESSES:
        two.press()
    report = lesson.report()
    disputed = set().union(*two.disputes)
    listed = {one["number"]: one["chance_opposite"] for one in reversed(report["suspects"])}
    suspects = [[chance, number in two.wrong] for number, chance in listed.items()]
    rates = {
        one["name"]: [one["wrong"], one["low"], one["high"]]
        for one in report["answerers"]["listed"]
    }
    row = {
        "wrong": len(two.wrong),
        "found": len(two.wrong & (disputed | set(listed))),
        "disputes": [bool(some & two.wrong) for some in two.disputes],
        "suspects": suspects,
        "second": two.n_second,
        "rates": rates,
        "auc": round(float(lesson.metric.score(X, y)), 4),
    }
    return [row]


def run(draws: int, sets: tuple[str, ...] = (*REPORTED, *TUNED)) -> None:
    """Measure what is not stored yet."""
    wanted = [
        {"data": data, "overlap": overlap, "seed": seed}
        for seed in range(draws)
        for overlap in reversed(OVERLAPS)
        for data in sets
    ]
    complete(RAW, [Job(one, one_draw, tuple(one.values())) for one in wanted], processes=2)


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    told = Text((__doc__ or "").split("\n\n", 1)[1].strip())
    publish(FOLDER / "TWO_PEOPLE.md", "Two people", [told, table(rows)], source)


def table(rows: list[dict[str, Any]]) -> Table:
    """How much comes to light, by data set and share of the questions that both are asked."""
    body = []
    for kind, sets in (("all to report on", REPORTED), ("all to tune on", TUNED)):
        for data in (*sets, kind):
            for overlap in OVERLAPS:
                named = sets if data == kind else (data,)
                some = [r for r in rows if r["data"] in named and r["overlap"] == overlap]
                if some:
                    body.append([data, f"{overlap:.0%}", *line(some)])
    columns = [
        "",
        "asked of both",
        "draws",
        "wrong answers",
        "listed",
        "recall",
        "precision",
        "chance said of suspects",
        "suspects",
        "of them wrong",
        "rate of Bob",
    ]
    return Table("Wrong answers that are listed after 150 presses", columns, body)


def line(rows: list[dict[str, Any]]) -> list[str]:
    wrong = sum(row["wrong"] for row in rows)
    kept = [
        [one for one in r["suspects"] if one[0] >= least_chance(len(r["disputes"]))] for r in rows
    ]
    suspects = [one for some in kept for one in some]
    # Some draws listed more than is listed now.
    n_right = [sum(is_wrong for _, is_wrong in some) for some in kept]
    n_then = [sum(is_wrong for _, is_wrong in row["suspects"]) for row in rows]
    found = sum(row["found"] for row in rows) - sum(n_then) + sum(n_right)
    disputes = [one for row in rows for one in row["disputes"]]
    right = sum(is_wrong for _, is_wrong in suspects) + sum(disputes)
    listed = len(suspects) + len(disputes)
    rates = [row["rates"]["Bob"][0] for row in rows if "Bob" in row["rates"]]
    return [
        str(len(rows)),
        str(wrong),
        str(listed),
        f"{found / max(1, wrong):.0%}",
        f"{right / max(1, listed):.0%}",
        f"{np.mean([chance for chance, _ in suspects] or [0]):.2f}",
        str(len(suspects)),
        str(sum(is_wrong for _, is_wrong in suspects)),
        f"{np.mean(rates):.0%}",
    ]
