"""Rows larger than memory: learn from a Parquet file and write what it becomes.

Rows of 50 columns in float32, 1000 landmarks, 200 pairs, 10 columns out. Each measurement is a
process of its own, ``python -m benchmarks.speed.streaming METHOD N FILE``, on a file that is made
before and deleted after.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from rich.progress import track

from benchmarks.record import ROOT, Table, peak_memory_gb, publish, store, stored
from benchmarks.speed.data import clustered
from nearkin import ITML, KernelBeta, Pairs, open_rows

FOLDER = Path(__file__).parent
RAW = FOLDER / "streaming.jsonl"
N_FEATURES, N_LANDMARKS = 50, 1000
SIZES = (100_000, 300_000, 1_000_000, 3_000_000, 10_000_000)
COMPARED = 1_000_000
ROUNDS = 3
GROUP_ROWS = 200_000
GOAL_EXPONENT, GOAL_PEAK_GB = 1.05, 2.0

LEARNERS: dict[str, Callable[[], Any]] = {
    "KernelBeta": lambda: KernelBeta(n_landmarks=N_LANDMARKS, n_components=10, random_state=0),
    "ITML": lambda: ITML(n_components=10, random_state=0),
}


def write_clustered(path: Path, n: int) -> None:
    """A Parquet file of clustered rows, group by group."""
    names = [f"x{i}" for i in range(N_FEATURES)]
    schema = pa.schema([(name, pa.float32()) for name in names])
    group = np.asfortranarray(clustered(GROUP_ROWS, N_FEATURES)[0])
    rng = np.random.default_rng(2)
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
        for start in range(0, n, GROUP_ROWS):
            # The same clusters again, with the rows moved a little.
            rows = group[: n - start] + rng.normal(scale=0.05, size=N_FEATURES).astype(np.float32)
            columns = [pa.array(column) for column in rows.T]
            writer.write_table(pa.table(columns, schema=schema))


def known_pairs(n: int) -> Pairs:
    ends = np.random.default_rng(1).integers(n, size=(2, 110, 2))
    must, cannot = (links[links[:, 0] != links[:, 1]][:100] for links in ends)
    return Pairs(must, cannot)


def run(draws: int) -> None:
    """Measure everything and store the raw results; ``draws`` is not used."""
    del draws
    store(RAW, measured(SIZES))


def measured(sizes: tuple[int, ...]) -> list[dict[str, Any]]:
    results = []
    for n in track(sizes, description="streaming"):
        with tempfile.TemporaryDirectory() as folder:
            needed = 4 * n * (N_FEATURES + 10) * 1.2
            free = shutil.disk_usage(folder).free
            if free < needed:
                print(
                    f"{n:,} rows left out: {needed / 1e9:.1f} GB of disk needed, {free / 1e9:.1f}"
                )
                continue
            path = Path(folder) / "rows.parquet"
            write_clustered(path, n)
            plan = ["KernelBeta", "ITML", "in memory"] if n == COMPARED else ["KernelBeta"]
            for _ in range(ROUNDS):
                for method in plan:
                    command = [sys.executable, "-m", __spec__.name, method, str(n), str(path)]
                    done = subprocess.run(
                        command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT
                    )
                    results.append(json.loads(done.stdout))
    return results


def measure(method: str, n: int, path: Path) -> dict[str, Any]:
    """One measurement, in this process."""
    learner = LEARNERS.get(method, LEARNERS["KernelBeta"])()
    out = path.with_name("out.parquet")
    warm = open_rows([clustered(3000, N_FEATURES)[0]])  # compiled code is loaded, threads are up
    learner.fit(warm, pairs=known_pairs(3000)).transform(warm).write(out)
    clock = time.perf_counter
    start = clock()
    for _ in open_rows(path):
        pass
    read = clock() - start
    start = clock()
    rows: Any = open_rows(path)
    if method == "in memory":
        rows = rows.to_numpy()
        start = clock()
    learner.fit(rows, pairs=known_pairs(n))
    fit = clock() - start
    start = clock()
    Z = learner.transform(rows)
    if method != "in memory":
        Z.write(out)
    transform = clock() - start
    out.unlink()
    return {
        "method": method,
        "n": n,
        "read_seconds": read,
        "fit_seconds": fit,
        "transform_seconds": transform,
        "peak_gb": peak_memory_gb(),
        "input_gb": path.stat().st_size / 1e9,
    }


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    publish(FOLDER / "STREAMING.md", "Rows larger than memory", tables(rows), source)


def headline(rows: list[dict[str, Any]]) -> list[str]:
    """What to expect of it, in a line."""
    n = max(row["n"] for row in rows)
    own = [row for row in rows if row["method"] == "KernelBeta" and row["n"] == n]
    seconds = np.median([row["fit_seconds"] + row["transform_seconds"] for row in own])
    peak = np.median([row["peak_gb"] for row in own])
    return [
        f"`KernelBeta`, {n:,} rows of {N_FEATURES} columns from one Parquet file to another",
        f"{seconds:.0f} s, {peak:.2f} GB of memory",
    ]


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    """Growth with the number of rows, and a comparison with rows in memory."""

    def median(key: str, method: str, n: int) -> float:
        found = [row[key] for row in rows if row["method"] == method and row["n"] == n]
        return float(np.median(found))

    sizes = sorted({row["n"] for row in rows})
    keys = ("read_seconds", "fit_seconds", "transform_seconds", "input_gb", "peak_gb")
    body, times = [], []
    for i, n in enumerate(sizes):
        read, fit, transform, size, peak = (median(key, "KernelBeta", n) for key in keys)
        times.append(fit + transform)
        grown = np.log(times[i] / times[i - 1]) / np.log(n / sizes[i - 1]) if i else None
        body.append(
            [
                f"{n:,}",
                f"{size:.2f}",
                f"{read:.2f}",
                f"{fit:.2f}",
                f"{transform:.2f}",
                f"{1e6 * times[i] / n:.2f}",
                "" if grown is None else f"{grown:.2f}",
                f"{peak:.2f}",
            ]
        )
    columns = [
        "rows",
        "file, GB",
        "read once, s",
        "fit, s",
        "transform and write, s",
        "µs a row",
        "exponent",
        "peak GB",
    ]
    title = "KernelBeta from a Parquet file to another, median of rounds"
    if len(sizes) > 1:
        highest = max(row["peak_gb"] for row in rows if row["method"] == "KernelBeta")
        overall = np.polyfit(np.log(sizes), np.log(times), 1)[0]
        title += (
            f"; exponent {overall:.2f} over all sizes (goal: at most {GOAL_EXPONENT}), "
            f"peak {highest:.2f} GB (goal: under {GOAL_PEAK_GB:g})"
        )
    found = [Table(title, columns, body)]
    if COMPARED in sizes:
        reference = median("fit_seconds", "in memory", COMPARED) + median(
            "transform_seconds", "in memory", COMPARED
        )
        body = []
        for method in ("in memory", "KernelBeta", "ITML"):
            _, fit, transform, _, peak = (median(key, method, COMPARED) for key in keys)
            name = "KernelBeta in memory" if method == "in memory" else method
            ratio = (fit + transform) / reference
            body.append([name, f"{fit:.2f}", f"{transform:.2f}", f"{ratio:.2f}", f"{peak:.2f}"])
        columns = [f"{COMPARED:,} rows", "fit, s", "transform, s", "÷ in memory", "peak GB"]
        found.append(Table("From file to file, and in memory", columns, body))
    return found


if __name__ == "__main__":
    name, rows_, file = sys.argv[1:]
    print(json.dumps(measure(name, int(rows_), Path(file))))
