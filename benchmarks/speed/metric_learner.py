"""Seconds of a first MetricLearner: each in a process of its own, without the imports.

Compiled code is there from an earlier process, but where nothing is compiled yet. Cores are to be
idle.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.record import Table, Text, publish, store, stored

FOLDER = Path(__file__).parent
RAW = FOLDER / "metric_learner.jsonl"
N_PAIRS, N_CLASSES = 200, 5
# Rows and columns, and whether code is compiled already.
SETTINGS: dict[str, tuple[int | None, bool]] = {
    "1000 × 30": (1000, True),
    "digits, 1797 × 64": (None, True),
    "100 000 × 50": (100_000, True),
    "1000 × 30, nothing compiled": (1000, False),
}
Row = dict[str, Any]


def data(n_rows: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Five normal classes of 30 columns, of 50 where rows are many, or the digits."""
    if n_rows is None:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X, y
    rng = np.random.RandomState(0)
    d = 50 if n_rows > 1000 else 30
    y = rng.randint(N_CLASSES, size=n_rows)
    return rng.randn(n_rows, d) + 0.8 * rng.randn(N_CLASSES, d)[y], y


def one_fit(name: str) -> float:
    """Seconds of a fit, in this process."""
    from time import perf_counter

    from nearkin import MetricLearner, Pairs

    X, y = data(SETTINGS[name][0])
    pairs = Pairs.from_labels(y, N_PAIRS, random_state=0)
    start = perf_counter()
    MetricLearner(random_state=0).fit(X, pairs=pairs)
    return perf_counter() - start


def run(draws: int) -> None:
    """Each fit so many times, in processes of their own."""
    one_process("1000 × 30")  # which leaves compiled code behind
    rows = [
        {"what": name, "seconds": one_process(name)}
        for name in track(SETTINGS, description="first fits")
        for _ in range(min(draws, 5))
    ]
    store(RAW, rows)


def one_process(name: str) -> float:
    """Seconds of a fit in a new process."""
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.speed.metric_learner", name]
    with TemporaryDirectory() as empty:
        around = dict(os.environ) if SETTINGS[name][1] else {**os.environ, "NUMBA_CACHE_DIR": empty}
        said = subprocess.run(command, capture_output=True, text=True, check=True, env=around)
    return float(json.loads(said.stdout))


def score() -> None:
    """A table from the stored results."""
    source, rows = stored(RAW)
    body = []
    for name in SETTINGS:
        seconds = [row["seconds"] for row in rows if row["what"] == name]
        body.append([name, *(f"{f(seconds):.2f}" for f in (np.median, np.min, np.max))])
    title = f"Seconds of a first fit with {N_PAIRS} pairs"
    table = Table(title, ["", "median", "least", "most"], body)
    blocks = [Text((__doc__ or "").strip()), table]
    publish(FOLDER / "METRIC_LEARNER.md", "The first MetricLearner of a process", blocks, source)


if __name__ == "__main__":
    print(json.dumps(one_fit(sys.argv[1])))
