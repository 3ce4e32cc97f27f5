"""The command line beside the library: learn from a Parquet file, and write what it becomes.

10⁶ rows of 50 columns in float32, 200 pairs, KernelBeta with 1000 landmarks. One command is ``fit
--embedding``, two are ``fit`` and ``transform``; times are of whole processes, with their start.
The library's calls do the same in one that has imported what it needs, ``python -m
benchmarks.speed.command_line N FOLDER N_COMPONENTS``. Measure in an environment that has
``.[cli]`` and no more: scikit-learn imports pandas if it is there.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.record import ROOT, Table, peak_memory_gb, publish, store, stored
from benchmarks.speed.streaming import known_pairs, write_clustered

FOLDER = Path(__file__).parent
RAW = FOLDER / "command_line.jsonl"
N_ROWS, ROUNDS = 1_000_000, 5
N_LANDMARKS = 1000
# None: as many columns as KernelBeta finds, which are written too.
N_COMPONENTS = (None, 10)
GOAL = 1.3


def run(draws: int) -> None:
    """Measure everything and store the raw results; ``draws`` is not used."""
    del draws
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_clustered(folder / "rows.parquet", N_ROWS)
        write_pairs(folder / "pairs.csv")
        for _ in track(range(ROUNDS), description="command line"):
            for n_components in N_COMPONENTS:
                results.append(_by_library(folder, n_components))
                results += _by_commands(folder, n_components)
    store(RAW, results)


def write_pairs(path: Path) -> None:
    pairs = known_pairs(N_ROWS)
    lines = [f"{i},{j},yes" for i, j in pairs.must_link]
    lines += [f"{i},{j},no" for i, j in pairs.cannot_link]
    path.write_text("\n".join(["left,right,same", *lines, ""]))


def _by_library(folder: Path, n_components: int | None) -> dict[str, Any]:
    command = [sys.executable, "-m", __spec__.name, str(N_ROWS), folder, str(n_components)]
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    return {**json.loads(done.stdout), "process_seconds": time.perf_counter() - start}


def _by_commands(folder: Path, n_components: int | None) -> list[dict[str, Any]]:
    rows, model, out = (folder / name for name in ("rows.parquet", "m.nearkin", "out.parquet"))
    settings = ["--set", f"n_landmarks={N_LANDMARKS}"]
    if n_components is not None:
        settings += ["--set", f"n_components={n_components}"]
    pairs = ["--pairs", folder / "pairs.csv"]
    fit = ["fit", rows, *pairs, "--learner", "kernel-beta", *settings, "-o", model, "--force"]
    plan = {
        "one command": [[*fit, "--embedding", out]],
        "two commands": [fit, ["transform", model, rows, "-o", out, "--force"]],
    }
    results = []
    for method, commands in plan.items():
        measured = [_timed(command) for command in commands]
        results.append(
            {
                "method": method,
                "n_components": n_components,
                "seconds": sum(seconds for seconds, _ in measured),
                "peak_gb": max(peak for _, peak in measured),
            }
        )
    return results


def _timed(arguments: list[Any]) -> tuple[float, float]:
    """Seconds and peak memory of a command."""
    start = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "nearkin", *map(str, arguments)], stderr=subprocess.DEVNULL
    )
    _, status, usage = os.wait4(process.pid, 0)
    seconds = time.perf_counter() - start
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise RuntimeError(f"nearkin {arguments[0]} ended with status {process.returncode}")
    return seconds, usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024) / 1e9


def measure(n: int, folder: Path, n_components: int | None) -> dict[str, Any]:
    """The same by calls, in this process."""
    import nearkin.rows.numba_loops  # noqa: F401  which a first call would import
    from nearkin import KernelBeta, open_rows

    pairs = known_pairs(n)
    out = folder / "library.parquet"
    start = time.perf_counter()
    rows = open_rows(folder / "rows.parquet")
    learner = KernelBeta(n_landmarks=N_LANDMARKS, n_components=n_components, random_state=0)
    learner.fit(rows, pairs=pairs)
    learner.transform(rows).write(out)
    end = time.perf_counter()
    out.unlink()
    return {
        "method": "library",
        "n_components": n_components,
        "seconds": end - start,
        "peak_gb": peak_memory_gb(),
    }


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    publish(FOLDER / "COMMAND_LINE.md", "The command line beside the library", tables(rows), source)


def headline(rows: list[dict[str, Any]]) -> list[str]:
    """What to expect of it, in a line."""
    seconds = [
        row["seconds"]
        for row in rows
        if row["method"] == "one command" and row["n_components"] is None
    ]
    return [
        f"`nearkin fit --embedding`, {N_ROWS:,} rows of 50 columns from Parquet to Parquet",
        f"{np.median(seconds):.1f} s, with the start of the program",
    ]


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    """Times of both, and how many times as long the commands take."""

    def median(key: str, method: str, n_components: int | None) -> float:
        found = [
            row[key]
            for row in rows
            if row["method"] == method and row["n_components"] == n_components
        ]
        return float(np.median(found))

    body = []
    for n_components in N_COMPONENTS:
        columns = "all" if n_components is None else str(n_components)
        library, peak, process = (
            median(key, "library", n_components)
            for key in ("seconds", "peak_gb", "process_seconds")
        )
        body.append([columns, "calls of the library", f"{library:.2f}", "1.00", f"{peak:.2f}"])
        lines = [("the same as a program, with its start", process, peak)]
        for method in ("one command", "two commands"):
            found = [median(key, method, n_components) for key in ("seconds", "peak_gb")]
            lines.append((method, *found))
        body += [
            [columns, method, f"{seconds:.2f}", f"{seconds / library:.2f}", f"{peak:.2f}"]
            for method, seconds, peak in lines
        ]
    header = ["columns out", "by", "seconds", "÷ calls", "peak GB"]
    title = (
        f"Fit and transform, {N_ROWS:,} rows of 50 columns from Parquet to Parquet, median of "
        f"{ROUNDS} rounds (goal: at most {GOAL:g})"
    )
    return [Table(title, header, body, n_words=2)]


if __name__ == "__main__":
    rows_, folder_, components = sys.argv[1:]
    n_out = None if components == "None" else int(components)
    print(json.dumps(measure(int(rows_), Path(folder_), n_out)))
