"""How far the probabilities of ``chance_same`` can be believed, at the natural frequency of pairs.

A metric is learned from 100 pairs, half of them must-links. Probabilities are those of random pairs
of other rows, which are the same as often as these: as they come, with that frequency, and after
``calibrate`` with 400 pairs of still other rows.
"""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.datasets import load_digits, load_wine

from benchmarks.data import standardized
from benchmarks.record import Table, publish, store, stored
from nearkin import ITML, Euclidean, GeometryAware, KernelBeta, Pairs

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
DATA = ("wine", "digits")
METHODS = {method.__name__: method for method in (Euclidean, ITML, KernelBeta, GeometryAware)}
N_PAIRS, N_KNOWN, N_JUDGED = 100, 400, 20_000
WAYS = ("as it comes", "with the prevalence", "calibrated")
N_BINS = 10


def run(draws: int) -> None:
    """Measure everything; results are stored after each draw."""
    rows: list[dict[str, Any]] = []
    for seed in track(range(draws), description="draws"):
        for data in DATA:
            for name in METHODS:
                rows += one_cell(data, name, seed)
        store(RAW, rows)


def one_cell(data: str, method: str, seed: int) -> list[dict[str, Any]]:
    """One metric, and its probabilities in three ways: sums in each of ten bins."""
    X, y = (load_digits if data == "digits" else load_wine)(return_X_y=True)
    X = X / 16 if data == "digits" else standardized(X)
    rng = np.random.RandomState(seed)
    learned, known, judged = np.array_split(rng.permutation(len(y))[:1200], 3)
    metric = METHODS[method](random_state=seed)
    ends = judged[rng.randint(len(judged), size=(N_JUDGED, 2))]
    ends = ends[ends[:, 0] != ends[:, 1]]
    A, B = X[ends[:, 0]], X[ends[:, 1]]
    same = y[ends[:, 0]] == y[ends[:, 1]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        metric.fit(X[learned], pairs=Pairs.from_labels(y[learned], N_PAIRS, random_state=seed))
        share = float(same.mean())
        chances = [metric.chance_same(A, B), metric.chance_same(A, B, prevalence=share)]
        pairs = Pairs.from_labels(y[known], N_KNOWN, random_state=seed)
        metric.calibrate(X[known], pairs=pairs, prevalence=share)
        chances.append(metric.chance_same(A, B))
    return [
        {"data": data, "method": method, "seed": seed, "way": way, **_binned(chance, same)}
        for way, chance in zip(WAYS, chances, strict=True)
    ]


def _binned(chance: np.ndarray, same: np.ndarray) -> dict[str, Any]:
    """How many pairs have a probability in each bin, what it sums to, and how many are the same."""
    place = np.minimum((N_BINS * chance).astype(int), N_BINS - 1)
    sums = [np.bincount(place, w, N_BINS) for w in (np.ones(len(same)), chance, same * 1.0)]
    return {
        name: np.round(values, 3).tolist()
        for name, values in zip(("n", "said", "true"), sums, strict=True)
    }


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    draws = len({row["seed"] for row in rows})
    errors, curves = [], []
    for data in DATA:
        for method in METHODS:
            of = [row for row in rows if (row["data"], row["method"]) == (data, method)]
            sums = {
                way: np.sum([[r["n"], r["said"], r["true"]] for r in of if r["way"] == way], axis=0)
                for way in WAYS
            }
            errors.append(
                [
                    data,
                    method,
                    *(f"{abs(s[1] - s[2]).sum() / s[0].sum():.3f}" for s in sums.values()),
                ]
            )
            curves.append([data, method, *map(_rate, *sums["calibrated"])])
    tables = [
        Table(
            f"Mean difference of probability said and share that is true, {draws} draws together",
            ["data", "metric", *WAYS],
            errors,
            n_words=2,
        ),
        Table(
            "Share that is true where a calibrated metric says 0 to 0.1, 0.1 to 0.2, …",
            ["data", "metric", *(f"{b / N_BINS:.1f}" for b in range(N_BINS))],
            curves,
            n_words=2,
        ),
    ]
    heading = "Probabilities: random pairs of new rows"
    publish(FOLDER / "RESULTS.md", heading, tables, source)


def _rate(n: float, said: float, true: float) -> str:
    del said
    return f"{true / n:.2f}" if n >= 50 else "–"
