"""LMNN: against metric-learn on digits of MNIST, time and errors of nearest neighbours.

metric-learn 0.7 needs an older scikit-learn: the environment variable ``NEARKIN_PEER_PYTHON``
names a Python that has it (with scikit-learn 1.7.2). Without it, that part is left out.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.data import load
from benchmarks.record import Table, publish, store, stored
from nearkin import LMNN, EnergyClassifier

FOLDER = Path(__file__).parent
RAW = FOLDER / "lmnn.jsonl"
N_TRAIN, N_TEST, N_COLUMNS = 5000, 2000, 40
N_NEIGHBORS = 3

PEER = """
import sys, time, warnings
import numpy as np
from metric_learn import LMNN
warnings.simplefilter("ignore")
problem = np.load(sys.argv[1])
learner = LMNN(n_neighbors=int(problem["k"]))
start = time.perf_counter()
learner.fit(problem["X"], problem["y"])
seconds = time.perf_counter() - start
np.savez(sys.argv[2], L=learner.components_, seconds=seconds, iterations=learner.n_iter_)
"""


def digits(draw: int) -> tuple[np.ndarray, ...]:
    """Random rows of MNIST on principal components of the training part."""
    X, y = load("mnist")
    rows = np.random.RandomState(draw).permutation(len(X))[: N_TRAIN + N_TEST]
    X, y = X[rows] / 255, y[rows]
    Z = PCA(N_COLUMNS, random_state=0).fit(X[:N_TRAIN]).transform(X)
    return Z[:N_TRAIN], y[:N_TRAIN], Z[N_TRAIN:], y[N_TRAIN:]


def percent_wrong(classifier: Any, X_test: np.ndarray, y_test: np.ndarray) -> float:
    return float(100 * np.mean(classifier.predict(X_test) != y_test))


def voting_errors(
    L: np.ndarray, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray
) -> float:
    vote = KNeighborsClassifier(N_NEIGHBORS).fit(X @ L.T, y)
    return percent_wrong(vote, X_test @ L.T, y_test)


def peer_row(draw: int, X: np.ndarray, y: np.ndarray, *test: np.ndarray) -> list[dict[str, Any]]:
    python = os.environ.get("NEARKIN_PEER_PYTHON")
    if not python:
        if draw == 0:
            print("NEARKIN_PEER_PYTHON is not set: no comparison with metric-learn")
        return []
    with tempfile.TemporaryDirectory() as folder:
        problem, answer = Path(folder) / "problem.npz", Path(folder) / "answer.npz"
        np.savez(problem, X=X, y=y, k=N_NEIGHBORS)
        subprocess.run([python, "-c", PEER, str(problem), str(answer)], check=True)
        with np.load(answer) as peer:
            return [
                {
                    "what": "metric-learn",
                    "draw": draw,
                    "seconds": float(peer["seconds"]),
                    "iterations": int(peer["iterations"]),
                    "wrong": voting_errors(peer["L"], X, y, *test),
                }
            ]


def our_rows(draw: int, X: np.ndarray, y: np.ndarray, *test: np.ndarray) -> list[dict[str, Any]]:
    rows = [
        {
            "what": "Euclidean",
            "draw": draw,
            "seconds": 0.0,
            "iterations": 0,
            "wrong": voting_errors(np.eye(N_COLUMNS), X, y, *test),
        }
    ]
    for n_passes in (1, 2):
        start = time.perf_counter()
        metric = LMNN(n_neighbors=N_NEIGHBORS, n_passes=n_passes, random_state=0).fit(X, y)
        row = {
            "what": f"nearkin, n_passes={n_passes}",
            "draw": draw,
            "seconds": time.perf_counter() - start,
            "iterations": metric.n_iter_,
            "wrong": voting_errors(metric.components_, X, y, *test),
        }
        by_energy = EnergyClassifier(metric, random_state=0).fit(X, y)
        rows.append({**row, "wrong_by_energy": percent_wrong(by_energy, *test)})
    return rows


def run(draws: int) -> None:
    """Measure everything and store the raw results; metric-learn takes minutes for each draw."""
    X, y, *_ = digits(0)
    LMNN(max_iter=50, tol=1).fit(X[:200], y[:200])  # compiled code is loaded
    rows = []
    for draw in track(range(min(draws, 3)), description="LMNN, MNIST"):
        data = digits(draw)
        rows += peer_row(draw, *data) + our_rows(draw, *data)
    store(RAW, rows)


def score() -> None:
    """A table from the stored results."""
    source, rows = stored(RAW)

    def mean(what: str, key: str) -> float:
        return float(np.mean([row[key] for row in rows if row["what"] == what]))

    names = list(dict.fromkeys(row["what"] for row in rows))
    slowest = max(mean(name, "seconds") for name in names)
    body = []
    for name in names:
        seconds = mean(name, "seconds")
        learned = name != "Euclidean"
        body.append(
            [
                name,
                f"{seconds:.2f}" if learned else "",
                f"{slowest / seconds:.1f}" if learned else "",
                f"{mean(name, 'iterations'):.0f}" if learned else "",
                f"{mean(name, 'wrong'):.2f}",
                f"{mean(name, 'wrong_by_energy'):.2f}" if name.startswith("nearkin") else "",
            ]
        )
    columns = ["metric", "seconds", "times as fast", "iterations", "% wrong, 3-NN", "by energy"]
    draws = 1 + max(row["draw"] for row in rows)
    title = (
        f"MNIST, {N_TRAIN} rows of {N_COLUMNS} principal components, {N_TEST} others to test, "
        f"means over {draws} draws"
    )
    publish(FOLDER / "LMNN.md", "LMNN: speed and errors", [Table(title, columns, body)], source)
