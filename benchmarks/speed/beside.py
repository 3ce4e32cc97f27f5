"""This checkout beside another one, such as an earlier commit: what has become slower?

``python -m benchmarks.speed.beside FOLDER [ROUNDS]``, with a checkout of the other commit in that
folder (``git worktree add FOLDER COMMIT``). Both take turns, each measurement in a process of its
own; the least time of all rounds counts, since what disturbs a process only adds to it. What is
measured and its table go to benchmarks/scratch.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

from benchmarks.record import ROOT, Table, publish, stored
from benchmarks.resume import Job, complete
from benchmarks.speed.one import Setting
from benchmarks.speed.streaming import write_clustered

FOLDER = ROOT / "benchmarks" / "scratch"
RAW = FOLDER / "beside.jsonl"
ROUNDS = 3
# Differences below this are chance on most machines.
_SLOWER = 1.05

SETTINGS = {
    "KernelBeta, clustered": Setting("KernelBeta", 1_000_000),
    "KernelBeta, isotropic": Setting("KernelBeta", 1_000_000, "isotropic"),
    "ITML": Setting("ITML", 1_000_000, pairs=500),
    "GMML": Setting("GMML", 1_000_000, pairs=500),
    "MetricLearner": Setting("MetricLearner", 3000, pairs=100),
    "Generative": Setting("Generative", 20_000, "classes", d=40),
    "NeighborIndex, exact": Setting("NeighborIndex, exact", 100_000),
    "NeighborIndex, approximate": Setting("NeighborIndex, approximate", 100_000),
}


def commands(data: Path) -> Iterator[tuple[str, list[str]]]:
    """What is measured, and the modules with arguments that print it as JSON."""
    for n in (10_000, 100_000):
        yield f"KernelA, {n:,} rows", ["benchmarks.speed.kernel_a", str(n)]
        yield f"GeometryAware, {n:,} rows", ["benchmarks.speed.geometry_aware", str(n)]
    for name, setting in SETTINGS.items():
        arguments = ["benchmarks.speed.one", json.dumps(asdict(setting))]
        yield f"{name}, {setting.n:,} rows", arguments
    for name in ("KernelBeta", "ITML"):
        arguments = ["benchmarks.speed.streaming", name, "1000000", str(data)]
        yield f"{name} from file to file, 1,000,000 rows", arguments


def seconds_of(found: dict[str, Any]) -> float:
    """All of a fit and transform, however a benchmark names it."""
    if "search" in found:
        return float(found["search"] + found["rest"])
    for name in ("total", "seconds"):
        if name in found:
            return float(found[name])
    return float(found["fit_seconds"] + found["transform_seconds"])


def measured(tree: Path, module: str, *arguments: str) -> list[dict[str, Any]]:
    environment = {**os.environ, "PYTHONPATH": f"{tree / 'src'}{os.pathsep}{tree}"}
    done = subprocess.run(
        [sys.executable, "-m", module, *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=tree,
        env=environment,
    )
    if done.returncode:
        raise RuntimeError(f"{module} in {tree} ended with {done.returncode}:\n{done.stderr}")
    return [{"seconds": seconds_of(json.loads(done.stdout))}]


def run(other: Path, rounds: int) -> None:
    """Measure what is not stored yet."""
    FOLDER.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "rows.parquet"
        write_clustered(data, 1_000_000)
        trees = {f"commit {commit_of(other)}": other, "now": ROOT}
        jobs = [
            Job({"what": what, "round": turn, "tree": name}, measured, (tree, *command))
            for what, command in commands(data)
            for turn in range(rounds)
            for name, tree in trees.items()
        ]
        complete(RAW, jobs, "side by side")


def commit_of(tree: Path) -> str:
    command = ["git", "-C", str(tree), "rev-parse", "HEAD"]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()[:12]


def score() -> None:
    """The table from the stored results."""
    source, rows = stored(RAW)
    before, now = dict.fromkeys(row["tree"] for row in rows)
    body = []
    for what in dict.fromkeys(row["what"] for row in rows):
        least = [
            min(row["seconds"] for row in rows if (row["what"], row["tree"]) == (what, tree))
            for tree in (before, now)
        ]
        ratio = least[1] / least[0]
        verdict = "slower" if ratio > _SLOWER else "faster" if ratio < 1 / _SLOWER else ""
        body.append([what, *(f"{value:.2f}" for value in least), f"{ratio:.2f}", verdict])
    columns = ["", f"{before}, s", f"{now}, s", "ratio", ""]
    table = Table("Least seconds of fit and transform, in turns", columns, body)
    publish(FOLDER / "BESIDE.md", "Two commits side by side", [table], source)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(Path(sys.argv[1]).resolve(), int(sys.argv[2]) if len(sys.argv) > 2 else ROUNDS)
    score()
