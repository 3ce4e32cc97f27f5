"""The first job on a machine, before and after ``nearkin warm-up``.

``python -m benchmarks.speed.first_run`` prints it, in two minutes. The job is that of
:mod:`benchmarks.speed.command_line`, by calls of the library and as one command, each in a process
of its own with its start. What is compiled goes to folders that are empty at first. After
``warm-up`` nothing may be compiled: new files in the folder are counted.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.record import ROOT
from benchmarks.speed import command_line
from benchmarks.speed.command_line import N_LANDMARKS, N_ROWS
from benchmarks.speed.streaming import write_clustered


def run() -> None:
    """Print seconds, and how many files each process left in the folder."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_clustered(folder / "rows.parquet", N_ROWS)
        command_line.write_pairs(folder / "pairs.csv")
        jobs = _jobs(folder)
        for title, names in (
            ("nothing compiled", ("library", "command")),
            ("nothing compiled", ("command",)),
            ("after warm-up", ("warm-up", "library", "command", "warm-up")),
        ):
            cache = Path(tempfile.mkdtemp(dir=folder))
            for job in names:
                seconds, n_new = _timed(jobs[job], cache)
                print(f"{title:17} {job:8} {seconds:6.1f} s  {n_new:4} new files", flush=True)


def _jobs(folder: Path) -> dict[str, list[str]]:
    nearkin = [sys.executable, "-m", "nearkin"]
    settings = ["--learner", "kernel-beta", "--set", f"n_landmarks={N_LANDMARKS}", "--force"]
    files = [folder / name for name in ("rows.parquet", "pairs.csv", "m.nearkin", "out.parquet")]
    rows, pairs, model, out = map(str, files)
    library = [sys.executable, "-m", command_line.__name__, str(N_ROWS), str(folder), "None"]
    fit = ["fit", rows, "--pairs", pairs, "-o", model, "--embedding", out]
    return {
        "library": library,
        "command": [*nearkin, *fit, *settings],
        "warm-up": [*nearkin, "warm-up"],
    }


def _timed(command: list[str], cache: Path) -> tuple[float, int]:
    """Seconds of a process, and how many files it adds to a folder for what is compiled."""
    before = _n_files(cache)
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    start = time.perf_counter()
    subprocess.run(command, env=environment, cwd=ROOT, check=True, capture_output=True)
    return time.perf_counter() - start, _n_files(cache) - before


def _n_files(folder: Path) -> int:
    return sum(path.is_file() for path in folder.rglob("*"))


if __name__ == "__main__":
    run()
