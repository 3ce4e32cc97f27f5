"""One more answer: what it takes to learn from another pair and to see all rows anew."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.base import clone

from benchmarks.record import Table, publish, store, stored
from nearkin import GMML, ITML, KernelBeta, LiveView, Pairs
from nearkin.spaces.linalg import principal_coordinates

FOLDER = Path(__file__).parent
RAW = FOLDER / "one_more_pair.jsonl"
N_ROWS, N_COLUMNS, N_LANDMARKS = 10_000, 50, 500
N_CLASSES = 10
# Pairs known before the first answer, answers that are timed, and full fits beside them.
N_BEFORE, N_ANSWERS, N_FITS = 200, 50, 5
GOAL = 50  # milliseconds for an answer

LEARNERS = {
    "KernelBeta": KernelBeta(n_landmarks=N_LANDMARKS, random_state=0),
    "ITML": ITML(random_state=0),
    "ITML, rbf kernel": ITML(kernel="rbf", n_landmarks=N_LANDMARKS, random_state=0),
    "GMML": GMML(random_state=0),
    "GMML, rbf kernel": GMML(kernel="rbf", n_landmarks=N_LANDMARKS, random_state=0),
}


def example() -> tuple[np.ndarray, Pairs, list[Pairs]]:
    """Rows of ten classes, the pairs known before, and the answers, one pair each."""
    rng = np.random.RandomState(0)
    y = rng.randint(N_CLASSES, size=N_ROWS)
    X = rng.standard_normal((N_ROWS, N_COLUMNS)) + rng.standard_normal((N_CLASSES, N_COLUMNS))[y]
    pairs = Pairs.from_labels(y, N_BEFORE + N_ANSWERS, random_state=0)
    turn = rng.permutation(len(pairs))
    answers = [pairs.subset(turn == N_BEFORE + k) for k in range(N_ANSWERS)]
    return X, pairs.subset(turn < N_BEFORE), answers


def measure(name: str) -> Iterator[dict[str, Any]]:
    """Answers, the same answers undone, and full fits; each with the picture that follows."""
    X, pairs, answers = example()
    metric = clone(LEARNERS[name])

    def timed(what: str, learn: Callable[[], Any]) -> dict[str, Any]:
        start = time.perf_counter()
        learn()
        learned = time.perf_counter()
        if what != "fit":
            view.coordinates()
        seen = time.perf_counter()
        Z = metric.transform(X)
        principal_coordinates(Z)
        return {
            "name": name,
            "what": what,
            "learn": learned - start,
            "view": seen - learned,
            "transform": time.perf_counter() - seen,
        }

    def more(answer: Pairs) -> dict[str, Any]:
        return timed("answer", lambda: metric.partial_fit(X, pairs=answer))

    def less(answer: Pairs) -> dict[str, Any]:
        return timed("undo", lambda: metric.partial_fit(X, withdrawn=answer))

    view = LiveView(metric.fit(X, pairs=pairs), X)
    for answer in answers[:3]:  # to compile, and to warm up
        more(answer), less(answer)
    view = LiveView(metric.fit(X, pairs=pairs), X)
    yield from map(more, answers)
    yield from map(less, reversed(answers))
    for _ in range(N_FITS):
        yield timed("fit", lambda: metric.fit(X, pairs=pairs))


def run(draws: int) -> None:
    """Time all learners and store the raw results; ``draws`` is not used."""
    del draws
    rows: list[dict[str, Any]] = []
    for name in track(LEARNERS, description="one more pair"):
        rows += measure(name)
    store(RAW, rows)


def score() -> None:
    """The table from the stored results."""
    source, rows = stored(RAW)
    publish(FOLDER / "ONE_MORE_PAIR.md", "One more pair", tables(rows), source)


def milliseconds(rows: list[dict[str, Any]], name: str, what: str, *steps: str) -> np.ndarray:
    """How long some steps took together, each time."""
    found = [row for row in rows if row["name"] == name and row["what"] == what]
    return 1e3 * np.array([sum(row[step] for step in steps) for row in found])


def headline(rows: list[dict[str, Any]]) -> list[str]:
    """What to expect of it, in a line."""
    waited = milliseconds(rows, "KernelBeta", "answer", "learn", "view")
    return [
        f"`KernelBeta`, one more pair: the new plane of {N_ROWS:,} rows",
        f"{np.median(waited):.0f} ms, in 95 % of cases up to {np.percentile(waited, 95):.0f} ms",
    ]


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    """Median and 95th percentile of all that a person waits for."""
    body = []
    for name in dict.fromkeys(row["name"] for row in rows):
        alone = milliseconds(rows, name, "answer", "learn")
        cells = [f"{np.median(alone):.1f}"]
        for what, look in (("answer", "view"), ("undo", "view"), ("answer", "transform")):
            found = milliseconds(rows, name, what, "learn", look)
            cells += [f"{np.median(found):.0f}", f"{np.percentile(found, 95):.0f}"]
        anew = milliseconds(rows, name, "fit", "learn", "transform")
        body.append([name, *cells, f"{np.median(anew):.0f}"])
    title = (
        f"Milliseconds to the plane of all {N_ROWS:,} rows of {N_COLUMNS} columns "
        f"({N_LANDMARKS} landmarks, {N_BEFORE} pairs before; the goal is {GOAL} for an answer)"
    )
    columns = ["", "`partial_fit`", "answer", "95 %", "undo", "95 %"]
    columns += ["answer, by `transform`", "95 %", "`fit` anew"]
    return [Table(title, columns, body)]
