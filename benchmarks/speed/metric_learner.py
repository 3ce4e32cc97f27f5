"""Seconds of a first MetricLearner, and rows a second of what it learns beside KernelBeta.

Each fit is the first of a process of its own, without the imports. Compiled code is there from an
earlier process, but where nothing is compiled yet. Maps are of 200 pairs, beside
``KernelBeta(n_landmarks=300)`` on the same rows; the best of some turns of each counts, and peak
memory is of the process, less the rows and their images. Cores are to be idle. Files of these
metrics have so many bytes, and ONNX gives what ``transform`` gives but for so much of the largest
entry, in single precision.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.record import Table, Text, peak_memory_gb, publish, store, stored

FOLDER = Path(__file__).parent
RAW = FOLDER / "metric_learner.jsonl"
N_PAIRS, N_CLASSES = 200, 5
# Rows and columns, and whether code is compiled already.
SETTINGS: dict[str, tuple[int | None, bool]] = {
    "1000 × 30": (1000, True),
    "digits, 1797 × 64": (None, True),
    "100 000 × 50": (100_000, True),
    "1000 × 30, nothing compiled": (1000, False),
}
# Rows that are mapped, and how often in turn.
N_MAPPED, TURNS, ONE_ROW_TURNS = 100_000, 7, 200
LARGE = 1_000_000
Row = dict[str, Any]


def data(n_rows: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Five normal classes of 30 columns, of 50 where rows are many, or the digits."""
    if n_rows is None:
        from sklearn.datasets import load_digits

        X, y = load_digits(return_X_y=True)
        return X, y
    rng = np.random.RandomState(0)
    d = 50 if n_rows > 1000 else 30
    y = rng.randint(N_CLASSES, size=n_rows)
    return rng.randn(n_rows, d) + 0.8 * rng.randn(N_CLASSES, d)[y], y


def one_fit(name: str) -> float:
    """Seconds of a fit, in this process."""
    from time import perf_counter

    from nearkin import MetricLearner, Pairs

    X, y = data(SETTINGS[name][0])
    pairs = Pairs.from_labels(y, N_PAIRS, random_state=0)
    start = perf_counter()
    MetricLearner(random_state=0).fit(X, pairs=pairs)
    return perf_counter() - start


def run(draws: int) -> None:
    """Each fit so many times, in processes of their own."""
    one_process("1000 × 30")  # which leaves compiled code behind
    rows = [
        {"what": name, "seconds": one_process(name)}
        for name in track(SETTINGS, description="first fits")
        for _ in range(min(draws, 5))
    ]
    rows += [
        {"map": name, "dtype": dtype, **one_process(name, dtype)}
        for name in list(SETTINGS)[:3]
        for dtype in ("float64", "float32")
    ]
    store(RAW, rows)


def map_rows(name: str, dtype: str) -> Row:
    """Rows a second of both maps, seconds of one row, and what a million rows take."""
    from functools import partial
    from time import perf_counter

    from nearkin import KernelBeta, MetricLearner, Pairs

    X, y = data(SETTINGS[name][0])
    pairs = Pairs.from_labels(y, N_PAIRS, random_state=0)
    learners = MetricLearner(random_state=0), KernelBeta(n_landmarks=300, random_state=0)
    metrics = [learner.fit(X, pairs=pairs) for learner in learners]
    rng = np.random.RandomState(1)
    near = X[rng.randint(len(X), size=N_MAPPED)]
    mapped = (near + 0.1 * rng.randn(*near.shape)).astype(dtype)

    def seconds(work: Any) -> float:
        start = perf_counter()
        work()
        return perf_counter() - start

    times = [
        [seconds(partial(metric.transform, mapped)) for metric in metrics] for _ in range(TURNS)
    ]
    best = np.min(times, axis=0)
    one = min(seconds(partial(metrics[0].transform, mapped[:1])) for _ in range(ONE_ROW_TURNS))
    found = {"rows_per_second": list(N_MAPPED / best), "one_row": one, **write_files(metrics[0], X)}
    if SETTINGS[name][0] == 100_000:
        many = np.empty((LARGE, mapped.shape[1]), dtype=dtype)
        for start in range(0, LARGE, N_MAPPED):
            many[start : start + N_MAPPED] = mapped
        found["large"] = seconds(lambda: found.update(shape=metrics[0].transform(many).shape))
        image = found["shape"][1] * LARGE * many.itemsize
        found["gb_beyond"] = peak_memory_gb() - (many.nbytes + image) / 1e9
    return found


def write_files(metric: Any, X: np.ndarray) -> Row:
    """Columns of a metric's points, bytes of its file, and how far off its ONNX file is."""
    from onnxruntime import InferenceSession

    from nearkin import onnx_file

    some = X[:500].astype(np.float32)
    with TemporaryDirectory() as folder:
        saved, graph = Path(folder) / "metric.nearkin", Path(folder) / "metric.onnx"
        metric.save(saved)
        onnx_file.export(metric, graph)
        session = InferenceSession(graph)
        size = saved.stat().st_size
    (found,) = session.run(None, {session.get_inputs()[0].name: some})
    expected = metric.transform(some.astype(np.float64))
    error = float(np.abs(found - expected).max() / np.abs(expected).max())
    return {"columns": expected.shape[1], "bytes": size, "onnx_error": error}


def one_process(*names: str) -> Any:
    """What is measured in a new process: seconds of a fit, or of maps."""
    name = names[0]
    command = [sys.executable, "-W", "ignore", "-m", "benchmarks.speed.metric_learner", *names]
    with TemporaryDirectory() as empty:
        around = dict(os.environ) if SETTINGS[name][1] else {**os.environ, "NUMBA_CACHE_DIR": empty}
        said = subprocess.run(command, capture_output=True, text=True, check=True, env=around)
    return json.loads(said.stdout)


def score() -> None:
    """A table from the stored results."""
    source, rows = stored(RAW)
    body = []
    for name in SETTINGS:
        seconds = [row["seconds"] for row in rows if row.get("what") == name]
        body.append([name, *(f"{f(seconds):.2f}" for f in (np.median, np.min, np.max))])
    title = f"Seconds of a first fit with {N_PAIRS} pairs"
    table = Table(title, ["", "median", "least", "most"], body)
    blocks = [Text((__doc__ or "").strip()), table, *map_tables(rows)]
    publish(FOLDER / "METRIC_LEARNER.md", "MetricLearner", blocks, source)


def map_tables(rows: list[Row]) -> list[Table]:
    """Rows a second of maps, and what a million rows take."""
    maps = [row for row in rows if "map" in row]
    body = []
    for row in maps:
        whole, beside = row["rows_per_second"]
        name = f"{row['map']}, {row['dtype']}"
        one = f"{1e3 * row['one_row']:.2f}"
        body.append([name, f"{whole:,.0f}", f"{beside:,.0f}", f"{whole / beside:.2f}", one])
    columns = ["", "MetricLearner", "KernelBeta(300)", "ratio", "one row, ms"]
    files = [
        [row["map"], str(row["columns"]), f"{row['bytes'] / 1e6:.2f}", f"{row['onnx_error']:.0e}"]
        for row in maps
        if row["dtype"] == "float64"
    ]
    large = [
        [row["dtype"], f"{row['large']:.2f}", f"{row['gb_beyond']:.2f}"]
        for row in maps
        if "large" in row
    ]
    return [
        Table("Rows a second", columns, body),
        Table("Files", ["", "columns", "file, MB", "ONNX off by"], files),
        Table("10⁶ × 50 rows through MetricLearner", ["", "seconds", "GB beyond"], large),
    ]


if __name__ == "__main__":
    measured = one_fit(sys.argv[1]) if len(sys.argv) == 2 else map_rows(*sys.argv[1:])
    print(json.dumps(measured))
