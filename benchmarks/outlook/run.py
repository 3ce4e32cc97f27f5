"""How much do ten more answers gain? What ``outlook`` expects, against what they really gain.

Up to 360 answers are given, right ones, to pairs drawn at random (half of them must-links) or to
the questions of ``learn_actively``. A metric is fitted to the first 10, 15, 22, ... of them and to
what follows, and pair AUC is measured on rows that no pair names. A curve a - b (k + h)^-c through
the means over draws tells what ten more answers gain. The outlook sees the answers alone, about
four times for every doubling. Its weights were chosen on the sets to tune on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.base import clone

from benchmarks.few_pairs.data import REPORTED, TUNED_ON, Draw, draw
from benchmarks.record import Table, Text, publish, stored
from benchmarks.resume import Job, Row, complete
from nearkin import ITML, MetricLearner, Pairs, learn_actively, outlook
from nearkin.pairs.answers import IntervalEstimate
from nearkin.questions.outlook import STEP, Halves, Outlook, list_features
from nearkin.questions.strategies import add_inferred

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
# Each 1.2 times the one before.
LOOKS = (10, 12, 15, 18, 22, 27, 33, 40, 48, 58, 70, 84, 100, 120, 145, 175, 210, 250, 300, 360)
QUESTIONS = ("random", "neighborhoods")
LEARNERS = {
    "ITML": (ITML(kernel="rbf", random_state=0), (*LOOKS[::2], LOOKS[-1])),
    # Which takes seconds: after random pairs only, on the sets to report on.
    "MetricLearner": (MetricLearner(random_state=0), (*LOOKS[::4], LOOKS[-1])),
}
# Where weights are chosen, smaller gains count as this.
LEAST_GAIN = 0.0005
PULL = 0.1


def run(draws: int) -> None:
    """Measure what is not stored yet."""
    complete(RAW, jobs(draws), "outlook", processes=2)


def jobs(draws: int, sets: tuple[str, ...] = (*REPORTED, *TUNED_ON)) -> Iterator[Job]:
    for seed in range(draws):
        for data in sets:
            for questions in QUESTIONS:
                names = {"data": data, "questions": questions, "seed": seed}
                yield Job(names, one_draw, (data, questions, seed))


def one_draw(data: str, questions: str, seed: int) -> list[Row]:
    """Pair AUC on new rows after some numbers of answers, and what is seen in the answers."""
    rows = draw(data, LOOKS[-1], 0.0, seed)
    links = asked(rows, questions, seed)
    same = rows.y[links[:, 0]] == rows.y[links[:, 1]]

    def first(n: int) -> Pairs:
        return Pairs(links[:n][same[:n]], links[:n][~same[:n]], n_rows=len(rows.y))

    out: list[Row] = []
    for learner, (method, numbers) in LEARNERS.items():
        if learner == "ITML" or (questions == "random" and data in REPORTED):
            for n in numbers[: np.searchsorted(numbers, len(links), side="right")]:
                told = add_inferred(first(n), np.random.RandomState(seed))
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    metric = clone(method).fit(rows.X, pairs=told)
                auc = round(metric.score(rows.X_test, rows.y_test), 5)
                out.append({"what": learner, "n": n, "auc": auc})
    for n in LOOKS[: np.searchsorted(LOOKS, len(links), side="right")]:
        halves = outlook(rows.X, first(n)).halves
        out.append(
            {"what": "outlook", "n": n, "halves": None if halves is None else asdict(halves)}
        )
    return out


def asked(rows: Draw, questions: str, seed: int) -> np.ndarray:
    """Pairs that are asked about, in their order; fewer where all is known before."""
    if questions == "random":
        links = np.concatenate([rows.pairs.must_link, rows.pairs.cannot_link])
        return np.random.RandomState(seed).permutation(links)
    result = learn_actively(
        rows.X,
        lambda i, j: bool(rows.y[i] == rows.y[j]),
        LOOKS[-1],
        strategy=questions,
        random_state=seed,
    )
    return np.array([(i, j) for i, j, _ in result.history])


Curve = Callable[[float], float]


def smoothed(numbers: list[int], auc: list[float]) -> Curve:
    """The curve a - b (k + h)^-c, never falling, that is nearest to the means of AUC."""
    k, seen = np.array(numbers, dtype=float), np.array(auc)
    best: tuple[float, Curve] | None = None
    for power in np.linspace(0.1, 1.6, 31):
        for shift in (0.0, 10.0, 30.0, 60.0, 120.0, 240.0):
            terms = np.column_stack([np.ones(len(k)), -((k + shift) ** -power)])
            a, b = np.linalg.lstsq(terms, seen, rcond=None)[0]
            if b < 0:
                a, b = seen.mean(), 0.0
            error = float(((terms @ [a, b] - seen) ** 2).sum())
            if best is None or error < best[0] - 1e-9:
                best = error, partial(_curve, a, b, shift, power)
    assert best is not None
    return best[1]


def _curve(a: float, b: float, shift: float, power: float, k: float) -> float:
    return float(a - b * (k + shift) ** -power)


def curves(rows: list[Row], questions: str, learner: str) -> dict[str, Curve]:
    """The smoothed mean curve of each data set."""
    cells: dict[str, dict[int, list[float]]] = {}
    for row in rows:
        if row["what"] == learner and row["questions"] == questions:
            cells.setdefault(row["data"], {}).setdefault(row["n"], []).append(row["auc"])
    return {
        data: smoothed(list(by), [float(np.mean(values)) for values in by.values()])
        for data, by in cells.items()
    }


def outlook_of(row: Row) -> Outlook | None:
    """The outlook by what halves of the answers showed and the weights of now."""
    if row["halves"] is None:
        return None
    halves = Halves(**{**row["halves"], "auc": IntervalEstimate(**row["halves"]["auc"])})
    return Outlook(row["n"], halves)


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    n_draws = len({row["seed"] for row in rows})
    blocks: list[Table | Text] = [
        Text(
            "Real is the gain of a curve through the means over draws of pair AUC on new rows. The "
            "outlook's weights are those of the sets to tune on, and of ITML; whatever is learned "
            "in the end, it sees the answers alone. Of the intervals, 90 % are to hold the gain."
        ),
        Table(
            f"Gain of the next ten answers, expected and real ({n_draws} draws)",
            ["questions", "learner", "answers", "expected", "real", "inside the interval"],
            list(_gains(rows)),
            n_words=3,
        ),
    ]
    publish(FOLDER / "RESULTS.md", "What ten more answers gain", blocks, source)


def _gains(rows: list[Row]) -> Iterator[list[str]]:
    for questions in QUESTIONS:
        seen = [
            (row, found)
            for row in rows
            if (row["what"], row["questions"]) == ("outlook", questions)
            and row["data"] in REPORTED
            and (found := outlook_of(row)) is not None
        ]
        for learner in LEARNERS:
            real = curves(rows, questions, learner)
            for least, most in ((10, 20), (20, 50), (50, 100), (100, 200), (200, 361)):
                told = [
                    (found.gain_of(STEP), curve(row["n"] + STEP) - curve(row["n"]))
                    for row, found in seen
                    if least <= row["n"] < most and (curve := real.get(row["data"]))
                ]
                if told:
                    expected = np.mean([gain.value for gain, _ in told])
                    inside = np.mean([gain.low <= r <= gain.high for gain, r in told])
                    means = f"{expected:.4f}", f"{np.mean([r for _, r in told]):.4f}"
                    yield [questions, learner, f"{least} to {most - 1}", *means, f"{inside:.0%}"]


def weights() -> None:
    """Print the weights that the sets to tune on ask for, and the deviation on sets left out."""
    _, rows = stored(RAW)
    found = {questions: curves(rows, questions, "ITML") for questions in QUESTIONS}
    terms, logs, names = [], [], []
    for row in rows:
        curve = found[row["questions"]].get(row["data"])
        if row["what"] == "outlook" and row["data"] in TUNED_ON and curve is not None:
            told = outlook_of(row)
            if told is not None and told.halves is not None:
                terms.append(list_features(told.halves))
                logs.append(np.log(max(curve(row["n"] + STEP) - curve(row["n"]), LEAST_GAIN)))
                names.append(row["data"])
    M, y, data = np.array(terms), np.array(logs), np.array(names)
    errors = [y[data == d] - M[data == d] @ _ridge(M[data != d], y[data != d]) for d in set(names)]
    deviation = np.sqrt(np.mean(np.concatenate(errors) ** 2))
    skew = np.log(np.exp(y).mean() / np.exp(M @ _ridge(M, y)).mean())
    print(f"weights {_ridge(M, y).round(2)}, deviation {deviation:.2f}, skew {skew:.2f}")


def _ridge(M: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Least squares, with a pull of all weights but the first two towards zero."""
    scale = np.where(np.arange(M.shape[1]) < 1, 1.0, M.std(axis=0))
    pull = np.where(np.arange(M.shape[1]) < 2, 0.0, PULL * len(y))
    Z = M / scale
    Z[:, 1:] -= Z[:, 1:].mean(axis=0)
    found = np.linalg.solve(Z.T @ Z + np.diag(pull), Z.T @ y) / scale
    found[0] -= found[1:] @ M[:, 1:].mean(axis=0)
    return found
