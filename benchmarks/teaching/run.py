"""Lessons on digits: do 100 suggested answers teach more than 300 random pairs, and how fast?

Half of the 1797 rows are held out: nothing is asked about them, and pair AUC is measured on all
pairs of them. On the other half a lesson asks, and the labels answer: always the question that the
lesson shows once it has learned from all answers before. The control learns from pairs of the same
rows, drawn uniformly and answered by the labels, by the same learner in a lesson of its own, which
is told what follows from its pairs too.

Times are of lessons with a journal: on all rows of digits, and on 100 000 rows of 50 columns.
"""

from __future__ import annotations

import tempfile
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from rich.progress import track
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from benchmarks.active.run import answered, random_links
from benchmarks.record import Table, Text, publish, store, stored
from nearkin import GMML, KernelBeta
from nearkin.scores import pair_auc
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import StudioRecords, records_of, records_of_digits

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
ANSWERS = (25, 50, 100, 200)
CONTROLS = (100, 300, 1000)
# The lesson's own choice first. The strategy is that of the questions.
ARMS: dict[str, dict[str, Any]] = {
    "as it is": {},
    "neighborhoods": {"strategy": "neighborhoods"},
    "GMML, kernel": {"learner": GMML(kernel="rbf", random_state=0)},
    "KernelBeta": {"learner": KernelBeta(random_state=0)},
    "KernelBeta, neighborhoods": {
        "learner": KernelBeta(random_state=0),
        "strategy": "neighborhoods",
    },
}
TIMED_ANSWERS = 100
STEPS = ("answer", "place", "report")
LARGE = (100_000, 50)

SEEN = (
    "100 suggested answers beat 300 random pairs by ITML and GMML in a kernel's feature space, and "
    "not by KernelBeta, to which more pairs of any kind hardly matter from 100 on. Questions about "
    "outliers (neighborhoods) teach most, but rows like these are a hard test: what such a lesson "
    "says of itself is far too low. So lessons ask about rows at random. Times were measured while "
    "other work ran on both cores."
)


def ask(lesson: Lesson, y: np.ndarray, n: int) -> None:
    """Answer n questions by labels."""
    for _ in range(n):
        lesson.questions()
        question = lesson.state()["question"]
        left, right = question["left"], question["right"]
        lesson.answer(left, right, bool(y[left] == y[right]))


def one_draw(arm: str, seed: int) -> list[dict[str, Any]]:
    """Random pairs and suggested questions on one split."""
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=seed)
    records = records_of(X)
    rows: list[dict[str, Any]] = []

    def note(kind: str, n: int, auc: float, **others: Any) -> None:
        rows.append(
            {"arm": arm, "seed": seed, "kind": kind, "n": n, "auc": round(auc, 5), **others}
        )

    note("Euclidean", 0, pair_auc(X_test, y_test))
    for n in CONTROLS:
        pairs = answered(random_links(len(X), n, np.random.RandomState(seed)), y)
        note("random", n, Lesson(records, pairs=pairs, **ARMS[arm]).metric.score(X_test, y_test))
    lesson = Lesson(records, seed=seed, **ARMS[arm])
    for n in ANSWERS:
        ask(lesson, y, n - lesson.state()["n_answers"])
        quality = lesson.report()["quality"]
        told = {"said": quality["auc"], "said_euclidean": quality["euclidean_auc"]}
        same = lesson.state()["n_same"]
        note("suggested", n, lesson.metric.score(X_test, y_test), same=same, **told)
    return rows


def timed(name: str, records: StudioRecords, y: np.ndarray) -> dict[str, Any]:
    """Milliseconds for opening, and for each answer, layout and report."""
    times = []
    with tempfile.TemporaryDirectory() as folder:
        marks = [perf_counter()]
        with Lesson(records, journal=Path(folder) / "journal") as lesson:
            opened = perf_counter() - marks[0]
            lesson.report()
            for _ in range(TIMED_ANSWERS):
                question = lesson.state()["question"]
                left, right = question["left"], question["right"]
                marks = [perf_counter()]
                lesson.answer(left, right, bool(y[left] == y[right]))
                marks.append(perf_counter())
                lesson.place()
                marks.append(perf_counter())
                lesson.report()
                marks.append(perf_counter())
                times.append(1000 * np.diff(marks))
    found: dict[str, Any] = {"timed": name, "open": round(opened * 1000, 1)}
    for step, taken in zip(STEPS, np.transpose(times), strict=True):
        found[step] = [round(float(np.percentile(taken, q)), 1) for q in (50, 95)]
    return found


def large() -> tuple[StudioRecords, np.ndarray]:
    """Eight clouds."""
    n, d = LARGE
    rng = np.random.RandomState(0)
    y = rng.randint(8, size=n)
    return records_of((2 * rng.standard_normal((8, d)))[y] + rng.standard_normal((n, d))), y


def run(draws: int) -> None:
    """Measure everything and store the raw results."""
    digits = records_of_digits()
    rows = [
        timed("digits, 1797 × 64", digits, np.array(digits.columns["digit"])),
        timed("100 000 × 50", *large()),
    ]
    jobs = [delayed(one_draw)(arm, seed) for seed in range(draws) for arm in ARMS]
    done = Parallel(n_jobs=2, return_as="generator")(jobs)
    for part in track(done, total=len(jobs), description="teaching"):
        rows += part
    store(RAW, rows)


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    n_draws = len({row["seed"] for row in rows if "seed" in row})

    def values(arm: str, kind: str, n: int, what: str = "auc") -> np.ndarray:
        found = [r for r in rows if (r.get("arm"), r.get("kind"), r.get("n")) == (arm, kind, n)]
        return np.array([r[what] for r in sorted(found, key=lambda r: r["seed"])], dtype=float)

    body = []
    for arm in ARMS:
        gain = values(arm, "suggested", 100) - values(arm, "random", 300)
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
        cells = [values(arm, "random", n).mean() for n in CONTROLS]
        cells += [values(arm, "suggested", n).mean() for n in ANSWERS]
        won = f"{(gain > 0).sum()} of {len(gain)}"
        body.append([arm, *(f"{c:.4f}" for c in cells), f"{gain.mean():+.4f} ± {error:.4f}", won])
    euclidean = values("as it is", "Euclidean", 0).mean()
    columns = [""]
    columns += [f"{n} random" for n in CONTROLS] + [f"{n} suggested" for n in ANSWERS]
    columns += ["100 suggested − 300 random", "won"]
    title = (
        f"Pair AUC on rows that were held out, mean of {n_draws} splits (Euclidean {euclidean:.4f})"
    )
    tables = [Table(title, columns, body)]

    body = []
    for arm in ARMS:
        cells = [f"{values(arm, 'suggested', 100, 'same').mean():.0f}"]
        said = [values(arm, "suggested", 100, what) for what in ("said", "said_euclidean")]
        truth = [values(arm, "suggested", 100), values(arm, "Euclidean", 0)]
        cells += [f"{np.nanmean(some):.3f}" for some in (*said, *truth)]
        body.append([arm, *cells])
    columns = ["", "same", "said", "said of Euclidean", "in truth", "Euclidean in truth"]
    tables.append(Table("What the lesson says of itself after 100 answers", columns, body))

    body = [
        [row["timed"], f"{row['open']:.0f}", *("{} ({})".format(*row[s]) for s in STEPS)]
        for row in rows
        if "timed" in row
    ]
    columns = ["", "open", *STEPS]
    tables.append(Table("Milliseconds, median (95th percentile) of 100 answers", columns, body))
    publish(FOLDER / "RESULTS.md", "Lessons", [*tables, Text(SEEN)], source)
