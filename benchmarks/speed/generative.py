"""Generative on MNIST with 40 columns: against bare eigenvectors, one core, and LMNN.

Also how long EnergyClassifier takes for all test images.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from joblib import cpu_count
from rich.progress import track
from sklearn.decomposition import PCA
from threadpoolctl import threadpool_limits

from benchmarks.data import load
from benchmarks.record import Table, publish, store, stored
from nearkin import LMNN, EnergyClassifier, Generative
from nearkin.rows import parallel
from nearkin.solvers.class_gaussians import fit_class_models
from nearkin.solvers.local_metrics import bias_matrices, mean_local_metric

FOLDER = Path(__file__).parent
RAW = FOLDER / "generative.jsonl"
COLUMNS = 40
N_TRAINING = 50_000
TURNS = 3
# Matrices that a thread decomposes at a time.
_STACK = 500


def seconds(work: Any) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def bare_eigenvectors(stack: np.ndarray, n_rows: int) -> None:
    """As many decompositions as there are rows, spread over all cores, and nothing else."""
    stacks = [stack] * (n_rows // len(stack))
    with threadpool_limits(1, user_api="blas"), ThreadPoolExecutor(cpu_count()) as pool:
        list(pool.map(np.linalg.eigh, stacks))


def run(draws: int) -> None:
    """Measure everything and store the raw results; ``draws`` is not used."""
    del draws
    X, y = load("mnist")
    Z = PCA(COLUMNS, random_state=0).fit_transform(X[:60_000] / 255)
    models = fit_class_models(Z, y[:60_000])
    stack = bias_matrices(Z[:_STACK], models)
    mean_local_metric(Z[:1000], models)  # libraries are loaded
    rows: list[dict[str, Any]] = []
    for turn in track(range(TURNS), description="Generative, 60 000 × 40"):
        both = seconds(lambda: mean_local_metric(Z, models))
        bare = seconds(lambda: bare_eigenvectors(stack, len(Z)))
        parallel.cpu_count, kept = (lambda: 1), parallel.cpu_count
        one = seconds(lambda: mean_local_metric(Z, models))
        parallel.cpu_count = kept
        whole = seconds(lambda: Generative(random_state=0).fit(Z, y[:60_000]))
        rows.append({"turn": turn, "bare": bare, "both": both, "one": one, "fit": whole})
    train, test = slice(0, N_TRAINING), slice(N_TRAINING, 60_000)
    lmnn = seconds(lambda: LMNN(random_state=0).fit(Z, y[:60_000]))
    model = EnergyClassifier(metric=Generative(random_state=0), random_state=0)
    learning = seconds(lambda: model.fit(Z[train], y[train]))
    predicting = seconds(lambda: rows.append({"energy error": 1 - model.score(Z[test], y[test])}))
    rows.append({"LMNN": lmnn, "energy fit": learning, "energy predict": predicting})
    store(RAW, rows)


def score() -> None:
    """The table from the stored results."""
    source, rows = stored(RAW)
    turns = [row for row in rows if "turn" in row]
    bare, both, one, fit = (
        float(np.median([row[name] for row in turns])) for name in ("bare", "both", "one", "fit")
    )
    once: dict[str, float] = {}
    for row in rows[len(turns) :]:
        once |= row
    body = [
        ["bare eigenvectors, all cores", f"{bare:.2f}", f"{bare / both:.2f}"],
        ["mean local metric, all cores", f"{both:.2f}", "1.00"],
        ["mean local metric, one core", f"{one:.2f}", f"{one / both:.2f}"],
        ["Generative, fit", f"{fit:.2f}", f"{fit / both:.2f}"],
        ["LMNN, fit", f"{once['LMNN']:.2f}", f"{once['LMNN'] / both:.2f}"],
        ["EnergyClassifier, fit on 50,000", f"{once['energy fit']:.2f}", ""],
        ["EnergyClassifier, 10,000 new rows", f"{once['energy predict']:.2f}", ""],
    ]
    columns = ["MNIST, 60,000 × 40", "seconds", "÷ mean local metric"]
    table = Table("Median of three; LMNN and EnergyClassifier once", columns, body)
    publish(FOLDER / "GENERATIVE.md", "Generative: speed", [table], source)


if __name__ == "__main__":
    run(1)
    score()
