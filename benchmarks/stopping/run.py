"""When are there enough answers? Where ``outlook`` says so, against where that really is.

Up to 360 answers are given, right ones, to pairs drawn at random (half of them must-links) or to
the questions of ``learn_actively``. A metric is fitted to the first 10, 15, 22, ... of them and to
what follows, and pair AUC is measured on rows that no pair names. A curve a - b (k + h)^-c through
the means over draws tells how many answers k* are really enough: the first number, from 10 on,
after which ten more raise it by less than 0.005. The outlook sees the answers alone, about four
times for every doubling, and stops where it first says "enough" or "no use". Weights of the outlook
were chosen on the sets to tune on.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import asdict
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
from sklearn.base import clone

from benchmarks.few_pairs.data import REPORTED, TUNED_ON, Draw, draw
from benchmarks.record import Table, Text, publish, stored
from benchmarks.resume import Job, Row, complete
from nearkin import ITML, MetricLearner, Pairs, learn_actively, outlook
from nearkin.pairs.answers import Estimate
from nearkin.questions.outlook import (
    STEP,
    TOLERANCE,
    Halves,
    Outlook,
    curve_of,
    features_of,
    verdict_of,
)
from nearkin.questions.strategies import with_inferred

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
# Each 1.2 times the one before: within 20 % is one step either way.
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
SETS = {"to report on": REPORTED, "to tune on": TUNED_ON}


def run(draws: int) -> None:
    """Measure what is not stored yet."""
    complete(RAW, jobs(draws), "stopping", processes=2)


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
                told = with_inferred(first(n), np.random.RandomState(seed))
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


def really_enough(curve: Curve) -> int:
    """The first number of answers, from 10 on, after which ten more gain less than 0.005."""
    numbers = range(LOOKS[0], LOOKS[-1])
    return next((k for k in numbers if curve(k + STEP) - curve(k) < TOLERANCE), LOOKS[-1])


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


def seen(row: Row) -> tuple[Halves, Outlook] | None:
    """What halves of the answers showed, and the outlook by the weights of now."""
    if row["halves"] is None:
        return None
    halves = Halves(**{**row["halves"], "auc": Estimate(**row["halves"]["auc"])})
    return halves, verdict_of(curve_of(halves).moved_to(row["n"]), halves)


def stops(rows: list[Row], questions: str) -> dict[tuple[str, int], int]:
    """Where each draw of a data set is stopped; at its last look where it never is."""
    over: dict[tuple[str, int], list[int]] = {}
    last: dict[tuple[str, int], int] = {}
    for row in rows:
        if row["what"] == "outlook" and row["questions"] == questions:
            key, told = (row["data"], row["seed"]), seen(row)
            last[key] = max(last.get(key, 0), row["n"])
            if told is not None and told[1].verdict in ("enough", "no use"):
                over.setdefault(key, []).append(row["n"])
    return {key: min(over.get(key, [n])) for key, n in last.items()}


def stops_by_truth(rows: list[Row], questions: str, learner: str) -> dict[tuple[str, int], int]:
    """Where a draw would be stopped by its own curve on new rows, if that could be known."""
    seeds = {row["seed"] for row in rows}
    alone = {seed: [row for row in rows if row["seed"] == seed] for seed in seeds}
    return {
        (data, seed): really_enough(curve)
        for seed, some in alone.items()
        for data, curve in curves(some, questions, learner).items()
    }


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    n_draws = len({row["seed"] for row in rows})
    summary, sets, gains = [], [], []
    for questions in QUESTIONS:
        stopped = stops(rows, questions)
        for learner in LEARNERS:
            found = curves(rows, questions, learner)
            ways = {"outlook": stopped, "truth": stops_by_truth(rows, questions, learner)}
            for (title, names), (by, said) in product(SETS.items(), ways.items()):
                here = [(found[d], n) for (d, _), n in said.items() if d in names and d in found]
                if here:
                    summary.append([questions, learner, title, by, *_summary(here)])
            if learner == next(iter(LEARNERS)):
                gains += _gains(rows, questions, found)
                sets += _by_set(questions, found, stopped)
    columns = [
        "questions",
        "learner",
        "sets",
        "stopped by",
        "draws",
        "within 20 %",
        "within a factor of 2",
    ]
    columns += ["median ratio", "AUC at k*", "AUC at the stop", "AUC at 360"]
    blocks: list[Table | Text] = [
        Text(
            "k* is the first number of answers, from 10 on, after which ten more raise pair AUC on "
            "new rows by less than 0.005: by a curve through the means over draws, which is a "
            "matter of chance itself where gains stay close to that. The outlook stops where it "
            "first says enough, or that more will not help, after 10, 12, 15, 18, ... answers. Its "
            "weights are those of the sets to tune on. Stopped by the truth is who knows the curve "
            "of the draw itself, by all labels of the new rows: no outlook can hope for more, and "
            "k* is partly made of the same curve."
        ),
        Table(
            f"Where the outlook stops, against k* ({n_draws} draws)", columns, summary, n_words=4
        ),
        Table(
            "Gain of the next ten answers, expected and real (ITML)",
            ["questions", "sets", "answers", "expected", "real", "inside the interval"],
            gains,
            n_words=3,
        ),
        Table(
            "Data sets (ITML): answers that are enough, and where the draws were stopped",
            ["questions", "data", "sets", "k*", "least", "median", "most", "AUC at 10", "at 360"],
            sets,
            n_words=3,
        ),
    ]
    publish(FOLDER / "RESULTS.md", "When there are enough answers", blocks, source)


def _summary(stopped: list[tuple[Curve, int]]) -> list[str]:
    right = np.array([really_enough(curve) for curve, _ in stopped])
    said = np.array([n for _, n in stopped])
    ratio = said / right
    at = [
        np.mean([curve(k) for (curve, _), k in zip(stopped, numbers, strict=True)])
        for numbers in (right, said, np.full(len(said), LOOKS[-1]))
    ]
    return [
        str(len(said)),
        f"{np.mean(np.abs(said - right) <= 0.2 * right):.0%}",
        f"{np.mean(np.abs(np.log2(ratio)) <= 1):.0%}",
        f"{np.median(ratio):.2f}",
        *(f"{value:.3f}" for value in at),
    ]


def _gains(rows: list[Row], questions: str, found: dict[str, Curve]) -> list[list[str]]:
    out = []
    for title, names in SETS.items():
        for least, most in ((10, 20), (20, 50), (50, 100), (100, 200), (200, 361)):
            told = [
                (told[1].gain, found[row["data"]](row["n"] + STEP) - found[row["data"]](row["n"]))
                for row in rows
                if (row["what"], row["questions"]) == ("outlook", questions)
                and row["data"] in names
                and row["data"] in found
                and least <= row["n"] < most
                and (told := seen(row)) is not None
                and told[1].gain is not None
            ]
            if told:
                expected, real = (
                    np.mean(x) for x in zip(*((g.value, r) for g, r in told), strict=True)
                )
                inside = np.mean([g.low <= r <= g.high for g, r in told])
                span = f"{least} to {most - 1}"
                cells = f"{expected:.4f}", f"{real:.4f}", f"{inside:.0%}"
                out.append([questions, title, span, *cells])
    return out


def _by_set(
    questions: str, found: dict[str, Curve], stopped: dict[tuple[str, int], int]
) -> list[list[str]]:
    out = []
    for title, names in SETS.items():
        for data in names:
            said = [n for (name, _), n in stopped.items() if name == data]
            if data in found and said:
                spread = (f"{np.quantile(said, q):g}" for q in (0, 0.5, 1))
                ends = (f"{found[data](k):.3f}" for k in (LOOKS[0], LOOKS[-1]))
                enough = str(really_enough(found[data]))
                out.append([questions, data, title, enough, *spread, *ends])
    return out


def weights() -> None:
    """Print the weights that the sets to tune on ask for, and the deviation on sets left out."""
    _, rows = stored(RAW)
    found = {questions: curves(rows, questions, "ITML") for questions in QUESTIONS}
    terms, logs, names = [], [], []
    for row in rows:
        curve = found[row["questions"]].get(row["data"])
        if row["what"] == "outlook" and row["data"] in TUNED_ON and curve is not None:
            told = seen(row)
            if told is not None:
                terms.append(features_of(told[0]))
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
