"""KernelA: against a transcription of the published update, and its growth with the rows.

``python -m benchmarks.speed.kernel_a N`` measures one size in a fresh process, as JSON.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.record import ROOT, Table, peak_memory_gb, publish, store, stored
from nearkin import KernelA, Pairs
from nearkin.datasets import make_xor
from nearkin.learners import moving_points as window
from nearkin.spaces.kernels import center_kernel

FOLDER = Path(__file__).parent
RAW = FOLDER / "kernel_a.jsonl"
SIZES = (10_000, 30_000, 100_000)
N_DENSE = 2000
REGULARIZATION, WINDOW, STEPS = 0.01, 0.1, 2


def published_update(K: np.ndarray, pairs: Pairs) -> tuple[np.ndarray, float]:
    """A ← P⁺ Q(A) A from A = I, and K_A = A K Aᵀ, as the paper writes them."""
    n = len(K)

    def distances(K: np.ndarray) -> np.ndarray:
        return np.sqrt(np.maximum(np.diag(K)[:, None] + np.diag(K) - 2 * K, 0))

    def laplacian(W: np.ndarray) -> np.ndarray:
        return np.diag(W.sum(axis=1)) - W

    d = distances(K)
    N = np.exp(-(d**2) / (WINDOW * (d**2).sum() / (n * (n - 1))))
    np.fill_diagonal(N, 0)
    S = np.zeros((n, n))
    S[tuple(pairs.must_link.T)] = S[tuple(pairs.must_link.T[::-1])] = 1
    P_inverse = np.linalg.pinv(laplacian(S + REGULARIZATION * N))
    A = np.eye(n)
    learned = d
    for _ in range(STEPS):
        ratio = np.divide(d, learned, out=np.zeros_like(d), where=learned > 0)
        A = P_inverse @ laplacian(REGULARIZATION * N * ratio) @ A
        learned = distances(A @ K @ A.T)
    held = REGULARIZATION * N * (learned - d) ** 2
    return A @ K @ A.T, float(((S * learned**2).sum() + held.sum()) / 2)


def against_the_paper() -> list[dict[str, Any]]:
    """Both on the same 2000 points, one after the other."""
    X, y = make_xor(N_DENSE, random_state=0)
    pairs = Pairs.from_labels(y, 50, kind="must", random_state=0)
    gamma = 0.25
    rows = []
    KernelA().fit(X[:100], pairs=Pairs([(0, 1)]))  # compiled code is loaded
    for turn in range(3):
        start = time.perf_counter()
        metric = KernelA(
            gamma=gamma,
            regularization=REGULARIZATION,
            window=WINDOW,
            n_iter=STEPS,
            rank_tol=1e-12,
            window_neighbors=None,
        ).fit(X, pairs=pairs)
        ours = time.perf_counter() - start
        start = time.perf_counter()
        squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
        _, objective = published_update(center_kernel(np.exp(-gamma * squared)), pairs)
        theirs = time.perf_counter() - start
        rows.append(
            {
                "what": "dense",
                "turn": turn,
                "ours": ours,
                "published": theirs,
                "objective": float(metric.objective_[-1]),
                "published objective": objective,
                "start": float(metric.objective_[0]),
            }
        )
    return rows


def measure(n: int) -> dict[str, Any]:
    """One scaled fit: neighbour search apart, the rest, and peak memory."""
    rng = np.random.default_rng(0)
    group = rng.integers(20, size=n)
    X = rng.standard_normal((n, 50), dtype=np.float32)
    X[:, 10:] *= 0.3
    X[:, :10] += 3 * rng.standard_normal((20, 10), dtype=np.float32)[group]
    pairs = Pairs.from_labels(group % 10, 200, kind="must", random_state=0)
    KernelA(n_landmarks=50, window_neighbors=5).fit(X[:4000], pairs=Pairs([(0, 1)]))
    search = 0.0
    original = window.window_edges

    def timed(*arguments: Any) -> Any:
        nonlocal search
        start = time.perf_counter()
        edges = original(*arguments)
        search = time.perf_counter() - start
        return edges

    window.window_edges = timed
    start = time.perf_counter()
    metric = KernelA(n_landmarks=500, random_state=0).fit(X, pairs=pairs)
    total = time.perf_counter() - start
    return {
        "what": "growth",
        "n": n,
        "search": search,
        "rest": total - search,
        "peak_gb": peak_memory_gb(),
        "components": metric.n_components_,
        "objective": metric.objective_.tolist(),
    }


def run(draws: int) -> None:
    """Measure everything and store the raw results; ``draws`` is not used."""
    del draws
    rows = against_the_paper()
    for n in track(SIZES, description="KernelA, growth"):
        command = [sys.executable, "-m", "benchmarks.speed.kernel_a", str(n)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        rows.append(json.loads(done.stdout))
    store(RAW, rows)


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    dense = [row for row in rows if row["what"] == "dense"]
    ours, theirs = (float(np.median([row[k] for row in dense])) for k in ("ours", "published"))
    gap = abs(dense[0]["objective"] - dense[0]["published objective"]) / dense[0]["start"]
    columns = ["n = 2000", "seconds", "ratio", "difference of objectives ÷ objective at the start"]
    body = [
        ["published update", f"{theirs:.2f}", f"{theirs / ours:.1f}", ""],
        ["KernelA", f"{ours:.2f}", "1.0", f"{gap:.1e}"],
    ]
    tables = [Table("Dense, median of three", columns, body)]
    growth = [row for row in rows if row["what"] == "growth"]
    body = [
        [
            f"{row['n']:,}",
            f"{row['search']:.2f}",
            f"{row['rest']:.2f}",
            f"{row['rest'] / growth[0]['rest']:.1f}",
            f"{row['peak_gb']:.2f}",
        ]
        for row in growth
    ]
    columns = ["rows × 50", "neighbour search, s", "rest, s", "rest ÷ first", "peak GB"]
    tables.append(Table("Scaled: 500 landmarks, 30 neighbours, 200 must-links", columns, body))
    publish(FOLDER / "KERNEL_A.md", "KernelA: speed and growth", tables, source)


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
