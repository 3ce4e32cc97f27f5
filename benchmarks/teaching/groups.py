"""Groups of the studio after some key presses: how pure they are, and how many points they colour.

A lesson asks as the studio does, and the labels answer, one key press each. Then every row has the
colour of its likely group. Purity is the share of rows whose label is that of most rows of their
group; a point is coloured rightly if its label is that of most rows which were *said* to be of its
group. Points that are not pale are counted on their own.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.data import load
from benchmarks.few_pairs.data import load_rows
from benchmarks.record import Table, publish, store, stored
from benchmarks.teaching.presses import Teacher, data_set
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of

FOLDER = Path(__file__).parent
RAW = FOLDER / "groups.jsonl"
DATA = ("mnist", "coil20", "news", "wine", "digits")
PRESSES = (10, 20, 40)
MOST_ROWS = 1500


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows and labels, at most 1500 of them, drawn at random."""
    if name == "mnist":
        X, y = load("mnist")
        X = X / 255.0
    elif name == "news":
        X, y = load_rows("news_baseball_hockey_counts")
    else:
        X, y = data_set(name)
    rows = np.random.RandomState(0).permutation(len(X))[:MOST_ROWS]
    return np.asarray(X[rows], dtype=np.float64), np.unique(y[rows], return_inverse=True)[1]


def measure(lesson: Lesson, y: np.ndarray) -> dict[str, Any]:
    """Purity, points coloured rightly, and both shares among points that are not pale."""
    lesson.place()
    values = lesson.groups()["values"]
    labels = np.floor(values).astype(int)
    sure = values == labels
    said = lesson._book.known.groups.labels
    purity = sum(np.bincount(y[labels == k]).max() for k in np.unique(labels)) / len(y)
    kind = np.array([np.bincount(y[said == k]).argmax() for k in labels])
    return {
        "groups": len(np.unique(labels)),
        "purity": round(float(purity), 4),
        "right": round(float((kind == y).mean()), 4),
        "sure": round(float(sure.mean()), 4),
        "right_of_sure": round(float((kind == y)[sure].mean()), 4) if sure.any() else None,
    }


def run(draws: int) -> None:
    """Measure everything and store the raw results."""
    rows: list[dict[str, Any]] = []
    for data in track(DATA):
        X, y = rows_of(data)
        for seed in range(draws):
            lesson = Lesson(records_of(X), seed=seed)
            teacher = Teacher(lesson, y, 0.0, seed)
            for n in PRESSES:
                while teacher.presses < n and teacher.press(which=True):
                    pass
                rows.append({"data": data, "seed": seed, "n": n, **measure(lesson, y)})
    store(RAW, rows)


def score() -> None:
    """A table from the stored results."""
    source, rows = stored(RAW)
    body = []
    for data in DATA:
        for n in PRESSES:
            found = [row for row in rows if (row["data"], row["n"]) == (data, n)]
            parts = ("groups", "purity", "right", "sure", "right_of_sure")
            told = [[row[part] for row in found if row[part] is not None] for part in parts]
            digits = (1, 3, 3, 3, 3)
            cells = [f"{np.mean(t):.{d}f}" if t else "–" for t, d in zip(told, digits, strict=True)]
            body.append([data, str(n), str(len(found)), *cells])
    columns = ["", "presses", "draws", "groups", "purity", "right", "not pale", "right of these"]
    table = Table("Points by the group that the studio colours them by", columns, body)
    publish(FOLDER / "GROUPS.md", "Groups by key presses", [table], source)


if __name__ == "__main__":
    run(3)
    score()
