"""The command line beside the library: learn from a Parquet file, and write what it becomes.

10⁶ rows of 50 columns in float32, 200 pairs, the command line's own settings of KernelBeta. The
commands are two processes; the library's calls do the same in one that has imported what it
needs, ``python -m benchmarks.speed.command_line N FOLDER N_COMPONENTS``.
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
GOAL = 1.5


def run(draws: int) -> None:
    """Measure everything and store the raw results; ``draws`` is not used."""
    del draws
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_clustered(folder / "rows.parquet", N_ROWS)
        _write_pairs(folder / "pairs.csv")
        for _ in track(range(ROUNDS), description="command line"):
            for n_components in N_COMPONENTS:
                results += [_by_library(folder, n_components), _by_commands(folder, n_components)]
    store(RAW, results)


def _write_pairs(path: Path) -> None:
    pairs = known_pairs(N_ROWS)
    lines = [f"{i},{j},yes" for i, j in pairs.must_link]
    lines += [f"{i},{j},no" for i, j in pairs.cannot_link]
    path.write_text("\n".join(["left,right,same", *lines, ""]))


def _by_library(folder: Path, n_components: int | None) -> dict[str, Any]:
    command = [sys.executable, "-m", __spec__.name, str(N_ROWS), folder, str(n_components)]
    start = time.perf_counter()
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
    return {**json.loads(done.stdout), "process_seconds": time.perf_counter() - start}


def _by_commands(folder: Path, n_components: int | None) -> dict[str, Any]:
    rows, model, out = (folder / name for name in ("rows.parquet", "m.nearkin", "out.parquet"))
    settings = ["--set", f"n_landmarks={N_LANDMARKS}"]
    if n_components is not None:
        settings += ["--set", f"n_components={n_components}"]
    pairs = ["--pairs", folder / "pairs.csv"]
    fit, fit_gb = _timed(
        ["fit", rows, *pairs, "--learner", "kernel-beta", *settings, "-o", model, "--force"]
    )
    transform, transform_gb = _timed(["transform", model, rows, "-o", out, "--force"])
    return {
        "method": "commands",
        "n_components": n_components,
        "fit_seconds": fit,
        "transform_seconds": transform,
        "peak_gb": max(fit_gb, transform_gb),
    }


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
    from nearkin import KernelBeta, open_rows

    pairs = known_pairs(n)
    out = folder / "library.parquet"
    start = time.perf_counter()
    rows = open_rows(folder / "rows.parquet")
    learner = KernelBeta(n_landmarks=N_LANDMARKS, n_components=n_components, random_state=0)
    learner.fit(rows, pairs=pairs)
    middle = time.perf_counter()
    learner.transform(rows).write(out)
    end = time.perf_counter()
    out.unlink()
    return {
        "method": "library",
        "n_components": n_components,
        "fit_seconds": middle - start,
        "transform_seconds": end - middle,
        "peak_gb": peak_memory_gb(),
    }


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    publish(FOLDER / "COMMAND_LINE.md", "The command line beside the library", tables(rows), source)


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
        total = {}
        for method in ("library", "commands"):
            fit, transform, peak = (
                median(key, method, n_components)
                for key in ("fit_seconds", "transform_seconds", "peak_gb")
            )
            total[method] = fit + transform
            body.append(
                [
                    "all" if n_components is None else str(n_components),
                    method,
                    f"{fit:.2f}",
                    f"{transform:.2f}",
                    f"{total[method] / total['library']:.2f}",
                    f"{peak:.2f}",
                ]
            )
        whole = median("process_seconds", "library", n_components)
        body[-1][4] += f" ({total['commands'] / whole:.2f} of a program with its start)"
    columns = ["columns out", "by", "fit, s", "transform and write, s", "÷ library", "peak GB"]
    title = f"{N_ROWS:,} rows of 50 columns, median of {ROUNDS} rounds (goal: at most {GOAL:g})"
    return [Table(title, columns, body, n_words=2)]


if __name__ == "__main__":
    rows_, folder_, components = sys.argv[1:]
    n_out = None if components == "None" else int(components)
    print(json.dumps(measure(int(rows_), Path(folder_), n_out)))
