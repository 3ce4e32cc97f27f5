"""``nearkin.estimate`` beside the truth: thirty jobs that it was not made with.

Each job is foretold by a process of its own from two trials on made-up rows (half as many at most;
of KernelA 2001 at least), and then run by another on other rows
(``python -m benchmarks.speed.estimate SET JOB`` prints that as JSON). Times are of calls, once
compiled code is loaded; memory is all that the process held. Jobs that are stored are not measured
again.

The jobs of seed 3 are reported. Those of seeds 1 and 2, after which the intervals were made, are
kept beside them.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.record import ROOT, Table, Text, forget_peak, peak_memory_gb, publish, stored
from benchmarks.resume import Job, complete
from benchmarks.speed.data import clustered, draw_pairs
from benchmarks.speed.estimate_jobs import Case, drawn

FOLDER = Path(__file__).parent
# Results that are reported, and those of jobs that intervals were made with.
RAW, MADE_WITH = FOLDER / "estimate.jsonl", FOLDER / "estimate_made_with.jsonl"
REPORTED, OTHERS = 3, (1, 2)
# Shorter jobs are run thrice, of which the median counts.
MANY_SECONDS = 5
CLEAN = (
    "These thirty jobs were drawn by a seed (`benchmarks/speed/estimate_jobs.py`). How time is "
    "extrapolated was made with jobs of two other seeds, and nothing was changed once these were "
    "measured. Memory is not as independent: its formula was made with what jobs of all three "
    "seeds had held in an earlier version. Each job is at least twice as large as its trials, but "
    "for KernelA with little more than 2000 rows, and has other rows: learners whose solvers stop "
    "when they are done (GeometryAware, LMNN, KernelA) take another time for these than for rows "
    "that are made up. Other processes used the two cores meanwhile, more than there are cores: "
    "the same job took two to five times as long in one run as in another, and these figures say "
    "what to expect of a busy machine. When the model of before was measured, of 1350 lines, it "
    "had 15 of these times within 25 %, 26 within a factor of 2 and 27 in their interval, and "
    "memory within 10 % for 24."
)
BEFORE = (
    "Seeds 1 and 2 were measured before intervals were widened from factors of 2.5 and 4 to 3 and "
    "5, and before MetricLearner was tried on rows that make it choose a blend: the last column "
    "counts the narrower intervals."
)
NEAR, FACTOR, MEMORY_NEAR = 0.25, 2.0, 0.10


def name_of(case: Case) -> str:
    settings = {k: v for k, v in case.settings.items() if k != "random_state"}
    shown = ", ".join(f"{k}={v!r}" for k, v in settings.items())
    return f"{case.learner}({shown})"


def measure(case: Case) -> dict[str, Any]:
    """The job itself, in this process."""
    from nearkin import Pairs

    def run(n: int) -> tuple[float, float]:
        X, y = clustered(n, case.d)
        X = X.astype(case.dtype, copy=False)
        known: dict[str, Any] = {}
        if case.learner not in ("LMNN", "Generative"):
            must, cannot = draw_pairs(y, min(case.pairs, n), np.random.default_rng(1))
            known["pairs"], y = Pairs(must, cannot, n_rows=n), None
        learner = case.made()
        if "n_landmarks" in case.settings and case.settings["n_landmarks"] is not None:
            learner.set_params(n_landmarks=min(case.settings["n_landmarks"], n // 2))
        forget_peak()  # of rows in the making
        start = time.perf_counter()
        learner.fit(X, y, **known)
        fitted = time.perf_counter()
        if case.job == "both":
            learner.transform(X)
        return fitted - start, time.perf_counter() - fitted

    run(min(case.n, 2500 if case.learner == "KernelA" else 600))
    runs = [run(case.n)]
    memory = peak_memory_gb()
    while len(runs) < 3 and sum(runs[0]) < MANY_SECONDS:
        runs.append(run(case.n))
    fit, transform = np.median(runs, axis=0)
    return {"fit": fit, "transform": transform, "memory": memory}


def foretell(case: Case) -> dict[str, Any]:
    """What is said of a job, in this process."""
    from nearkin import estimate

    start = time.perf_counter()
    settings = {"n": case.n, "d": case.d, "n_pairs": case.pairs, "dtype": case.dtype}
    found = estimate(case.made(), job=case.job, **settings)
    return {
        "calibration": time.perf_counter() - start,
        "seconds": found.seconds,
        "low": found.seconds_low,
        "high": found.seconds_high,
        "memory": found.memory / 1e9,
        "passes": found.passes,
    }


def foretold_and_measured(seed: int, number: int) -> list[dict[str, Any]]:
    """Both, in a process each."""
    found = []
    for what in ("foretell", "measure"):
        command = [sys.executable, "-m", "benchmarks.speed.estimate", what, str(seed), str(number)]
        done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, cwd=ROOT)
        found.append(json.loads(done.stdout))
    return [{**asdict(drawn(seed)[number]), **found[0], "true": found[1]}]


def run(draws: int) -> None:
    """Measure what is not stored yet; ``draws`` is not used."""
    del draws
    for path, seeds in ((MADE_WITH, OTHERS), (RAW, (REPORTED,))):
        names = [{"seed": seed, "number": i} for seed in seeds for i in range(len(drawn(seed)))]
        jobs = [Job(one, foretold_and_measured, (one["seed"], one["number"])) for one in names]
        complete(path, jobs, f"estimates, seeds {seeds}")


def errors_of(row: dict[str, Any]) -> tuple[float, float]:
    """Relative errors of time and memory."""
    true = row["true"]["fit"] + row["true"]["transform"]
    return row["seconds"] / true - 1, row["memory"] / row["true"]["memory"] - 1


def within(rows: list[dict[str, Any]]) -> tuple[int, int, int, int]:
    """Jobs with time within 25 %, within a factor of 2, in the interval; memory within 10 %."""
    errors = [errors_of(row) for row in rows]
    true = [row["true"]["fit"] + row["true"]["transform"] for row in rows]
    return (
        sum(abs(time) <= NEAR for time, _ in errors),
        sum(1 / FACTOR <= 1 + time <= FACTOR for time, _ in errors),
        sum(row["low"] <= t <= row["high"] for row, t in zip(rows, true, strict=True)),
        sum(abs(memory) <= MEMORY_NEAR for _, memory in errors),
    )


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    blocks = [*tables(rows), *made_with(stored(MADE_WITH)[1] if MADE_WITH.exists() else [])]
    publish(FOLDER / "ESTIMATE.md", "What nk.estimate says, and the truth", blocks, source)


def made_with(rows: list[dict[str, Any]]) -> list[Table | Text]:
    """How near it is for the jobs that intervals were made with."""
    header = ["jobs", "all", "time within 25 %", "within a factor of 2", "in their interval"]
    own = {name: [row for row in rows if row["seed"] == name] for name in OTHERS}
    body = [[f"seed {one}", str(len(of)), *map(str, within(of)[:3])] for one, of in own.items()]
    table = Table("Jobs that intervals were made with", header, body)
    return [table, Text(BEFORE)] if rows else []


def headline(rows: list[dict[str, Any]]) -> list[str]:
    """What to expect of it, in a line."""
    near, in_factor, _, _ = within(rows)
    return [
        f"`nk.estimate`, {len(rows)} jobs that it was not made with",
        f"time within 25 % for {near}, within a factor of 2 for {in_factor}",
    ]


def tables(rows: list[dict[str, Any]]) -> list[Table | Text]:
    """Every job, and how many are near enough."""
    body = []
    for row in rows:
        case = Case(**{k: row[k] for k in Case.__dataclass_fields__})
        true = row["true"]["fit"] + row["true"]["transform"]
        seconds, memory = errors_of(row)
        body.append(
            [
                name_of(case),
                f"{case.n:,} × {case.d}, {case.dtype}",
                f"{row['seconds']:.2f}",
                f"{row['low']:.2f} to {row['high']:.2f}",
                f"{true:.2f}",
                f"{100 * seconds:+.0f} %",
                f"{row['memory']:.2f}",
                f"{row['true']['memory']:.2f}",
                f"{100 * memory:+.0f} %",
            ]
        )
    header = ["learner", "rows", "seconds", "interval", "true", "error", "GB", "true", "error"]
    near, in_factor, in_interval, in_memory = within(rows)
    took = [row["calibration"] for row in rows]
    words = (
        f"Of {len(rows)} jobs, time is within 25 % for {near}, within a factor of 2 for "
        f"{in_factor}, and in the interval for {in_interval} (nine of ten should be); memory is "
        f"within 10 % for {in_memory}. An estimate took {np.median(took):.1f} s (median), "
        f"{max(took):.0f} s at most."
    )
    return [Text(CLEAN), Table("Foretold and measured", header, body, n_words=2), Text(words)]


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    what, seed, number = sys.argv[1:]
    job = drawn(int(seed))[int(number)]
    print(json.dumps((foretell if what == "foretell" else measure)(job)))
