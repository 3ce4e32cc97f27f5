"""Held-out pair AUC by key presses: rows beside groups, and pairs.

Half of the rows are held out: nothing is asked about them, and pair AUC is measured on all pairs of
them. On the other half a lesson asks, and the labels answer: whatever the studio would show, one
key press each. ``which`` asks as the studio does, ``pairs`` as if nobody wanted rows beside groups.
In ``which, one of two wrong`` two people take turns, and one errs in a tenth of the answers.
What a lesson says of itself is compared with the truth: is that within the 90 % interval, and how
many of the answers that it suspects are wrong?

How rows are chosen was settled on letters, coil20 and yaleb, but after a look at digits: of these,
what is reported may be a little too good.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.progress import track
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.few_pairs.data import load_rows
from benchmarks.record import Table, Text, publish, store, stored
from nearkin.scores import pair_auc
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of

FOLDER = Path(__file__).parent
RAW = FOLDER / "presses.jsonl"
TUNED = ("letters", "coil20", "yaleb")
REPORTED = ("digits", "usps", "isolet", "image_segmentation")
DATA = (*REPORTED, *TUNED)
ARMS = ("which", "pairs", "which, one of two wrong")
PEOPLE = ("Ann", "Bob")
WRONG = 0.1
PRESSES = (10, 20, 30, 40, 50, 60, 80, 100, 150)
MOST_ROWS = 1800

SEEN = (
    "A row beside groups is placed with one press, so that as many presses teach more than pairs "
    "do where there are several kinds. What is said to be wrong is the sum of the chances that are "
    "shown."
)


@cache
def data_set(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True) if name == "digits" else load_rows(name)
    rows = np.random.RandomState(0).permutation(len(X))[:MOST_ROWS]
    X = X.toarray() if hasattr(X, "toarray") else X
    return np.asarray(X[rows], dtype=np.float64), y[rows]


class Teacher:
    """Answers by labels what a lesson shows; one of two people who take turns errs."""

    def __init__(self, lesson: Lesson, y: np.ndarray, wrong: float, seed: int) -> None:
        self.lesson, self.y, self.share = lesson, y, wrong
        self.rng = np.random.RandomState(seed + 1000)
        self.presses = self.run = self.longest_run = 0
        self.lies: list[int] = []

    def press(self, *, which: bool) -> bool:
        """Answer what is shown; False where there is nothing to ask."""
        self.lesson.questions()
        state = self.lesson.state()
        by = PEOPLE[self.presses % 2] if self.share else None
        lie = by == PEOPLE[1] and self.rng.rand() < self.share
        pair = state["check"]
        asked = state["which"] if which and pair is None else None
        if asked is not None and len(asked["rows"]) > 1:
            same = self._choose(asked, lie, by)
        elif (pair := pair or (asked and one_pair(asked)) or state["question"]) is None:
            return False
        else:
            origin = asked["origin"] if asked else "check" if state["check"] else "question"
            same = bool(self.y[pair["left"]] == self.y[pair["right"]]) is not lie
            self.lesson.answer(pair["left"], pair["right"], same, origin, by=by)
        self.presses += 1
        if lie:
            self.lies.append(len(self.lesson.events))
        self.run = 0 if same else self.run + 1
        self.longest_run = max(self.run, self.longest_run)
        return True

    def _choose(self, asked: dict[str, Any], lie: bool, by: str | None) -> bool:
        left, rows, origin = asked["left"], asked["rows"], asked["origin"]
        right = next((row for row in rows if self.y[row] == self.y[left]), None)
        if lie:  # any other choice
            right = self.rng.choice([row for row in (*rows, None) if row != right])
        self.lesson.answer_which(left, rows, right, right is not None, origin, by=by)
        return right is not None


def one_pair(asked: dict[str, Any]) -> dict[str, int]:
    return {"left": asked["left"], "right": asked["rows"][0]}


def one_draw(data: str, arm: str, seed: int) -> list[dict[str, Any]]:
    """A lesson on one split."""
    X, y = data_set(data)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=seed)
    rows = [{"data": data, "arm": arm, "seed": seed, "n": 0, "auc": pair_auc(X_test, y_test)}]
    lesson = Lesson(records_of(X), seed=seed)
    teacher = Teacher(lesson, y, WRONG if "wrong" in arm else 0.0, seed)
    for n in PRESSES:
        while teacher.presses < n and teacher.press(which=arm.startswith("which")):
            pass
        if teacher.presses < n:
            break
        report = lesson.report()
        row = {"data": data, "arm": arm, "seed": seed, "n": n}
        row |= {"auc": round(lesson.metric.score(X_test, y_test), 5)}
        row |= {"run": teacher.longest_run, "figures": report["quality"]["figures"]}
        listed = {one["number"]: one["chance_opposite"] for one in reversed(report["suspects"])}
        suspects = [[chance, number in teacher.lies] for number, chance in listed.items()]
        rows.append(row | {"suspects": suspects, "wrong": len(teacher.lies)})
    return rows


def run(draws: int, sets: tuple[str, ...] = DATA, arms: tuple[str, ...] = ARMS) -> None:
    """Measure everything and store the raw results."""
    jobs = [delayed(one_draw)(d, arm, seed) for seed in range(draws) for d in sets for arm in arms]
    rows: list[dict[str, Any]] = []
    for part in track(Parallel(n_jobs=2, return_as="generator")(jobs), total=len(jobs)):
        rows += part
    store(RAW, rows)


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    tables = [curves(rows), suspicion(rows), said(rows)]
    publish(FOLDER / "PRESSES.md", "Key presses", [*tables, Text(SEEN)], source)


def values(rows: list[dict[str, Any]], data: str, arm: str, n: int) -> list[dict[str, Any]]:
    return [row for row in rows if (row["data"], row["arm"], row["n"]) == (data, arm, n)]


def curves(rows: list[dict[str, Any]]) -> Table:
    """Mean AUC by presses, of each set and arm, and the longest run without a "same"."""
    body = []
    for data in DATA:
        for arm in ARMS:
            found = [values(rows, data, arm, n) for n in (0, *PRESSES)]
            cells = [
                f"{np.mean([row['auc'] for row in some]):.3f}" if some else "–" for some in found
            ]
            runs = [row["run"] for some in found[1:] for row in some]
            if runs:
                body.append([data, arm, str(len(found[0])), *cells, str(max(runs))])
    columns = ["", "", "splits", *map(str, (0, *PRESSES)), "longest run"]
    return Table("Pair AUC on rows that were held out, by key presses", columns, body, n_words=2)


def suspicion(rows: list[dict[str, Any]]) -> Table:
    """Answers that are suspected: how many, how many of them are wrong, and what was claimed."""
    body = []
    for data in DATA:
        for arm in ARMS:
            for n in (60, 150):
                found = values(rows, data, arm, n)
                listed = [one for row in found for one in row["suspects"]]
                wrong = sum(row["wrong"] for row in found)
                right = sum(bool(is_wrong) for _, is_wrong in listed)
                claimed = sum(chance for chance, _ in listed)
                if found:
                    cells = [str(wrong), str(len(listed)), f"{claimed:.1f}", str(right)]
                    body.append([data, arm, str(n), *cells])
    columns = ["", "", "presses", "wrong answers", "suspected", "said to be wrong", "wrong"]
    return Table("Suspects, of all splits together", columns, body, n_words=2)


def said(rows: list[dict[str, Any]]) -> Table:
    """What a lesson says of itself."""
    body = []
    for data in DATA:
        found = [r for n in PRESSES for r in values(rows, data, "which", n) if r["figures"]]
        inside = [r["figures"]["auc"][1] <= r["auc"] <= r["figures"]["auc"][2] for r in found]
        if found:
            gap = np.mean([r["figures"]["auc"][0] - r["auc"] for r in found])
            share = f"{sum(inside)} of {len(inside)}"
            body.append([data, f"{gap:+.3f}", share])
    columns = ["", "said − true", "true within the interval"]
    return Table("Pair AUC as a lesson says it, after any number of presses", columns, body)
