"""ITML: against metric-learn on the same problem, and what it makes of the digits.

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
from scipy.spatial.distance import pdist
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.metrics import adjusted_rand_score

from benchmarks.record import Table, publish, store, stored
from nearkin import ITML, Pairs
from nearkin.scores import pair_auc
from nearkin.solvers.logdet import BoundedPairs, best_slacks, logdet_objective, project

FOLDER = Path(__file__).parent
RAW = FOLDER / "itml.jsonl"
N_PAIRS = 2000
SLACK = 1.0
SIZES = (50, 200, 1000)

# Its bounds are compared with squared distances, whatever its documentation says.
PEER = """
import sys, time, warnings
import numpy as np
from metric_learn import ITML
warnings.simplefilter("ignore")
problem = np.load(sys.argv[1])
learner = ITML(gamma=float(problem["slack"]))
start = time.perf_counter()
learner.fit(problem["pairs"], problem["sign"], bounds=problem["bounds"])
seconds = time.perf_counter() - start
np.savez(sys.argv[2], B=learner.get_mahalanobis_matrix(), seconds=seconds, sweeps=learner.n_iter_)
"""


def against_metric_learn() -> list[dict[str, Any]]:
    """Both on the same pairs of raw digits, bounds (5th and 95th percentile) and slack."""
    python = os.environ.get("NEARKIN_PEER_PYTHON")
    if not python:
        print("NEARKIN_PEER_PYTHON is not set: no comparison with metric-learn")
        return []
    X, y = load_digits(return_X_y=True)
    pairs = Pairs.from_labels(y, N_PAIRS, random_state=0)
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    sign = np.repeat([1.0, -1.0], [len(pairs.must_link), len(pairs.cannot_link)])
    weight, prior = np.ones(len(sign)), np.eye(X.shape[1])
    upper, lower = np.percentile(pdist(X[pairs.points]), (5, 95)) ** 2
    targets = np.where(sign > 0, upper, lower)

    def value(B: np.ndarray) -> float:
        slacks = best_slacks(B, X[links[:, 0]] - X[links[:, 1]], sign, targets)
        return logdet_objective(B, prior, slacks, targets, SLACK, weight)

    with tempfile.TemporaryDirectory() as folder:
        problem, answer = Path(folder) / "problem.npz", Path(folder) / "answer.npz"
        np.savez(problem, pairs=X[links], sign=sign, bounds=[upper, lower], slack=SLACK)
        subprocess.run([python, "-c", PEER, str(problem), str(answer)], check=True)
        with np.load(answer) as peer:
            theirs = {name: peer[name] for name in peer.files}

    def ours(tol: float) -> tuple[Any, float]:
        start = time.perf_counter()
        ends = links[:, 0], links[:, 1]
        result = project(X, BoundedPairs(*ends, sign, weight, upper, lower, SLACK), prior, tol=tol)
        return result, time.perf_counter() - start

    ours(1e-3)  # compiled code is loaded
    rows = [
        {
            "what": "metric-learn",
            "seconds": float(theirs["seconds"]),
            "sweeps": int(theirs["sweeps"]),
            "objective": value(theirs["B"]),
        }
    ]
    for tol in (1e-2, 1e-9):
        runs = [ours(tol) for _ in range(5)]
        rows.append(
            {
                "what": f"nearkin, tol={tol:g}",
                "seconds": float(np.median([seconds for _, seconds in runs])),
                "sweeps": runs[0][0].n_sweeps,
                "objective": value(runs[0][0].B),
            }
        )
    return rows


def on_digits(draws: int) -> list[dict[str, Any]]:
    """Pair AUC of rows outside the pairs, and agreement of k-means, on 30 principal components."""
    X, y = load_digits(return_X_y=True)
    X = PCA(30, random_state=0).fit_transform(X)
    cases = [(n, draw) for n in SIZES for draw in range(draws)]
    rows = []
    for n, draw in track(cases, description="ITML, digits"):
        pairs = Pairs.from_labels(y, n, random_state=draw)
        held_out = np.setdiff1d(np.arange(len(X)), pairs.points)
        metric = ITML(random_state=draw).fit(X, pairs=pairs)
        for name, Z in (("Euclidean", X), ("ITML", metric.transform(X))):
            found = KMeans(10, n_init=10, random_state=draw).fit_predict(Z)
            rows.append(
                {
                    "what": "digits",
                    "metric": name,
                    "pairs": n,
                    "draw": draw,
                    "auc": pair_auc(Z[held_out], y[held_out]),
                    "ari": float(adjusted_rand_score(y, found)),
                }
            )
    return rows


def run(draws: int) -> None:
    """Measure everything and store the raw results."""
    store(RAW, against_metric_learn() + on_digits(draws))


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    tables = []
    race = [row for row in rows if row["what"] != "digits"]
    if race:
        slowest = race[0]["seconds"]
        body = [
            [
                row["what"],
                f"{row['seconds']:.4f}" if row["seconds"] < 1 else f"{row['seconds']:.1f}",
                f"{slowest / row['seconds']:.0f}",
                str(row["sweeps"]),
                f"{row['objective']:.4f}",
            ]
            for row in race
        ]
        columns = ["solver", "seconds", "times as fast", "sweeps", "objective reached"]
        title = f"Digits, 64 columns, {N_PAIRS} pairs: the same pairs, bounds and slack"
        tables.append(Table(title, columns, body))
    digits = [row for row in rows if row["what"] == "digits"]
    body = []
    for n in SIZES:
        cells = [str(n)]
        for name in ("Euclidean", "ITML"):
            mine = [row for row in digits if row["pairs"] == n and row["metric"] == name]
            cells += [f"{np.mean([row[key] for row in mine]):.3f}" for key in ("auc", "ari")]
        body.append(cells)
    draws = 1 + max(row["draw"] for row in digits)
    columns = ["pairs", "Euclidean: AUC", "ARI of k-means", "ITML: AUC", "ARI of k-means"]
    title = f"Digits, 30 principal components, default settings, means over {draws} draws"
    tables.append(Table(title, columns, body))
    publish(FOLDER / "ITML.md", "ITML: speed, and quality on digits", tables, source)
