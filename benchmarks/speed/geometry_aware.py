"""GeometryAware at 100 000 rows: the time of each stage, and peak memory.

``python -m benchmarks.speed.geometry_aware N`` measures one size in a fresh process, as JSON.
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
from nearkin import GeometryAware, Pairs
from nearkin.learners import geometry_aware

FOLDER = Path(__file__).parent
RAW = FOLDER / "geometry_aware.jsonl"
SIZES = (10_000, 30_000, 100_000)
# Functions, where they are called from, and what they do.
STAGES = {
    "neighbor_graph": (geometry_aware, "graph"),
    "smoothest": (geometry_aware, "eigenvectors"),
    "alternate": (geometry_aware, "learning"),
}
PARTS = [part for _, part in STAGES.values()]


def measure(n: int) -> dict[str, Any]:
    """One fit with 1000 pairs, 10 neighbours and 20 functions, stage by stage."""
    rng = np.random.default_rng(0)
    group = rng.integers(20, size=n)
    X = rng.standard_normal((n, 50), dtype=np.float32)
    X[:, 10:] *= 0.3
    X[:, :10] += 3 * rng.standard_normal((20, 10), dtype=np.float32)[group]
    pairs = Pairs.from_labels(group % 10, 1000, random_state=0)
    # Compiled code is loaded.
    GeometryAware().fit(X[:3000], pairs=Pairs([(0, 1)], [(0, 2)]))
    seconds = dict.fromkeys(PARTS, 0.0)

    def timed(original: Any, part: str) -> Any:

        def stage(*arguments: Any, **options: Any) -> Any:
            start = time.perf_counter()
            result = original(*arguments, **options)
            seconds[part] += time.perf_counter() - start
            return result

        return stage

    for name, (module, part) in STAGES.items():
        setattr(module, name, timed(getattr(module, name), part))
    start = time.perf_counter()
    metric = GeometryAware(random_state=0).fit(X, pairs=pairs)
    total = time.perf_counter() - start
    rest = total - sum(seconds.values())
    sample = rng.choice(n, 2000, replace=False)
    return {
        "n": n,
        **seconds,
        "rest": rest,
        "total": total,
        "peak_gb": peak_memory_gb(),
        "auc": metric.score(X[sample], group[sample] % 10),
    }


def run(draws: int) -> None:
    """Measure all sizes and store the raw results; ``draws`` is not used."""
    del draws
    rows = []
    for n in track(SIZES, description="GeometryAware, stages"):
        command = [sys.executable, "-m", "benchmarks.speed.geometry_aware", str(n)]
        done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
        rows.append(json.loads(done.stdout))
    store(RAW, rows)


def score() -> None:
    """The table from the stored results."""
    source, rows = stored(RAW)
    parts = [*PARTS, "rest", "total"]
    body = [
        [
            f"{row['n']:,}",
            *[f"{row[part]:.2f}" for part in parts],
            f"{row['peak_gb']:.2f}",
            f"{row['auc']:.3f}",
        ]
        for row in rows
    ]
    columns = ["rows × 50", *[f"{part}, s" for part in parts], "peak GB", "pair AUC"]
    title = "10 neighbours, 20 functions, 1000 pairs"
    table = Table(title, columns, body)
    publish(FOLDER / "GEOMETRY_AWARE.md", "GeometryAware: stages", [table], source)


if __name__ == "__main__":
    print(json.dumps(measure(int(sys.argv[1]))))
