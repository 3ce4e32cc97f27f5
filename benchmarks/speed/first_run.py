"""The first minute: a first fit and a first transform, by calls and by commands.

``python -m benchmarks first_run`` measures in two minutes, each job in a process of its own, in
turns. 1000 rows of 30 columns, 200 pairs, MetricLearner; and KernelBeta for 20 000 rows, which
compiled loops are for. What is compiled goes to a folder that is empty at first. A figure is the
time of the same calls in a process that has done them before.
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

from benchmarks.record import ROOT, Table, publish, store, stored

FOLDER = Path(__file__).parent
RAW = FOLDER / "first_run.jsonl"
ROUNDS = 3
N_PAIRS = 200
# Name, learner and size of each job.
JOBS = {
    "few rows": ("MetricLearner", "auto", 1000, 30),
    "many rows": ("KernelBeta", "kernel-beta", 20_000, 30),
}
COMMANDS = ("nearkin fit", "nearkin transform")


def run(draws: int) -> None:
    """Measure everything and store the raw results; ``draws`` is not used."""
    del draws
    results = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for job in JOBS:
            write_job(job, folder)
        for _ in track(range(ROUNDS), description="first run"):
            for job in JOBS:
                results += measure_job(job, folder)
    store(RAW, results)


def write_job(job: str, folder: Path) -> None:
    """Write the rows and the pairs of a job."""
    _, _, n, d = JOBS[job]
    X, pairs = make_rows(n, d)
    names = ",".join(f"x{j}" for j in range(d))
    np.savetxt(folder / f"{job}.csv", X, "%.6g", ",", header=names, comments="")
    lines = [f"{i},{j},yes" for i, j in pairs.must_link]
    lines += [f"{i},{j},no" for i, j in pairs.cannot_link]
    (folder / f"{job} pairs.csv").write_text("\n".join(["left,right,same", *lines, ""]))


def make_rows(n: int, d: int) -> tuple[Any, Any]:
    """Rows (n, d) of five overlapping classes, and pairs of them."""
    from nearkin import Pairs

    rng = np.random.RandomState(0)
    y = rng.randint(5, size=n)
    X = 0.6 * rng.normal(size=(5, d))[y] + rng.normal(size=(n, d))
    return X, Pairs.from_labels(y, n_pairs=N_PAIRS, random_state=0)


def measure_job(job: str, folder: Path) -> list[dict[str, Any]]:
    """Seconds of calls and of commands, with nothing compiled and with all that is needed."""
    found = []
    _, learner, _, _ = JOBS[job]
    rows, model, out = (folder / name for name in (f"{job}.csv", "m.nearkin", "out.csv"))
    nearkin = [sys.executable, "-m", "nearkin"]
    fit = [*nearkin, "fit", rows, "--pairs", folder / f"{job} pairs.csv", "--learner", learner]
    transform = [*nearkin, "transform", model, rows, "-o", out]
    commands = dict(
        zip(COMMANDS, ([*fit, "-o", model, "--force"], [*transform, "--force"]), strict=True)
    )
    calls = [sys.executable, "-m", __spec__.name, job]
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        for compiled in ("nothing", "all"):
            seconds, said = _timed(calls, cache)
            found += [_row(job, compiled, step, value) for step, value in json.loads(said).items()]
            found.append(_row(job, compiled, "the calls as a program", seconds))
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        for compiled in ("nothing", "all"):
            for name, command in commands.items():
                found.append(_row(job, compiled, name, _timed(command, cache)[0]))
    return found


def _row(job: str, compiled: str, step: str, seconds: float) -> dict[str, Any]:
    return {"job": job, "compiled": compiled, "step": step, "seconds": seconds}


def _timed(command: list[Any], cache: str) -> tuple[float, str]:
    """Seconds of a process that keeps what is compiled in a folder, and what it prints."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    start = time.perf_counter()
    done = subprocess.run(
        list(map(str, command)),
        env=environment,
        cwd=ROOT,
        check=True,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    return time.perf_counter() - start, done.stdout


def measure(job: str) -> dict[str, float]:
    """Seconds of the steps by calls, in this process."""
    name, _, n, d = JOBS[job]
    start = time.perf_counter()
    import nearkin

    learner = getattr(nearkin, name)
    seconds = {"import": time.perf_counter() - start}
    X, pairs = make_rows(n, d)
    for again in ("", " again"):
        start = time.perf_counter()
        metric = learner(random_state=0).fit(X, pairs=pairs)
        fitted = time.perf_counter()
        metric.transform(X)
        seconds[f"fit{again}"] = fitted - start
        seconds[f"transform{again}"] = time.perf_counter() - fitted
    return seconds


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    publish(FOLDER / "FIRST_RUN.md", "The first minute", tables(rows), source)


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    """A table for each job: seconds, and these as a share of the calls that were made before."""
    found = []
    for job, (learner, _, n, d) in JOBS.items():

        def median(step: str, compiled: str, job: str = job) -> float:
            mine = [
                row["seconds"]
                for row in rows
                if (row["job"], row["step"], row["compiled"]) == (job, step, compiled)
            ]
            return float(np.median(mine))

        both = median("fit again", "all") + median("transform again", "all")
        body = []
        for step in ("import", "fit", "transform", "the calls as a program", *COMMANDS):
            first, later = (median(step, compiled) for compiled in ("nothing", "all"))
            ratios = [f"{seconds / both:.1f}" for seconds in (first, later)]
            body.append([step, f"{first:.2f}", ratios[0], f"{later:.2f}", ratios[1]])
        title = (
            f"{learner}, {n:,} rows of {d} columns, {N_PAIRS} pairs, median of {ROUNDS} rounds; "
            f"÷ fit and transform done before in the process, {both:.3f} s"
        )
        header = ["", "nothing compiled, s", "÷", "compiled, s", "÷"]
        found.append(Table(title, header, body))
    return found


if __name__ == "__main__":
    print(json.dumps(measure(sys.argv[1])))
