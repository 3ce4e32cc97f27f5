"""Speed and memory side by side: KernelBeta with landmarks, the bare product, Nystroem.

10⁶ rows, 50 columns, 1000 landmarks, 5 neighbours, float32; fit and transform together. Each
measurement is a fresh process; methods take turns, so that a busy machine slows all of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.record import ROOT, Table, publish, store, stored
from benchmarks.speed.one import DATA, METHODS

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
N = 1_000_000
SIZES = (10_000, 30_000, 100_000, 300_000, 1_000_000)
ROUNDS = 5


def run(draws: int) -> None:
    """Measure everything and store the raw results; ``draws`` is not used."""
    del draws
    plan = [
        (method, N, data)
        for turn in range(ROUNDS)
        for data in DATA
        for method in METHODS
        if method != "Nystroem" or turn < 2  # slow, and far from the others
    ]
    plan += [("KernelBeta", n, "clustered") for _ in range(ROUNDS) for n in SIZES]
    store(RAW, [measure(*setting) for setting in track(plan, description="speed")])


def measure(method: str, n: int, data: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.speed.one", method, str(n), data]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return dict(json.loads(done.stdout))


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)

    def median(key: str, **names: Any) -> float:
        return float(np.median([row[key] for row in rows if names.items() <= row.items()]))

    body = []
    for data in DATA:
        bare = median("seconds", method="bare product", n=N, data=data)
        slow = median("seconds", method="Nystroem", n=N, data=data)
        for method in METHODS:
            names = {"method": method, "n": N, "data": data}
            seconds = median("seconds", **names)
            peak, size = median("peak_gb", **names), median("input_gb", **names)
            extra = peak - size - median("output_gb", **names)
            body.append(
                [
                    f"{data}: {method}",
                    f"{seconds:.2f}",
                    f"{seconds / bare:.2f}",
                    f"{slow / seconds:.1f}",
                    f"{peak:.2f}",
                    f"{extra:.2f}",
                    f"{median('columns', **names):.0f}",
                ]
            )
    columns = [
        f"{N:,} rows",
        "seconds",
        "÷ bare product",
        "times faster than Nystroem",
        "peak GB",
        "beyond in- and output",
        "columns out",
    ]
    tables = [Table("Fit and transform, median of rounds", columns, body)]
    growth = [median("seconds", method="KernelBeta", n=n, data="clustered") for n in SIZES]
    body = []
    for i, (n, seconds) in enumerate(zip(SIZES, growth, strict=True)):
        exponent = f"{np.log(seconds / growth[i - 1]) / np.log(n / SIZES[i - 1]):.2f}" if i else ""
        body.append([f"{n:,}", f"{seconds:.3f}", f"{1e6 * seconds / n:.2f}", exponent])
    columns = ["rows", "seconds", "µs a row", "exponent"]
    tables.append(Table("Growth with the number of rows, clustered data", columns, body))
    publish(FOLDER / "RESULTS.md", "Speed and memory", tables, source)
