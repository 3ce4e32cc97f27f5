"""NeighborIndex: exact and approximate search, what they take and what they find.

``python -m benchmarks.speed.neighbor_index SEARCH ROWS`` measures one search in a fresh process, as
JSON. Others are measured where they are installed: faiss (``faiss-cpu``), hnswlib, usearch and
pynndescent; the page says which were not.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.record import ROOT, Table, Text, peak_memory_gb, publish, store, stored
from benchmarks.speed.neighbor_rivals import RIVALS, K, Search
from nearkin import NeighborIndex

FOLDER = Path(__file__).parent
RAW = FOLDER / "neighbor_index.jsonl"
SIZES = (10_000, 100_000, 1_000_000)
N_COLUMNS, N_QUERIES = 50, 1000
# Queries one at a time, and rounds of all at once.
N_SINGLE, N_ROUNDS = 300, 5
# Share of the true neighbours that every search has to find.
RECALL = 0.98
OURS = "nearkin, approximate"
# What is compared, and in which unit.
FIGURES = {
    "build": "build, s",
    "query_ms": "query, ms",
    "single_ms": "query alone, ms",
    "add": "1 % more rows, s",
    "memory": "GB",
}


def rows_and_queries(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Twenty clusters; what is asked for comes from the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n + N_QUERIES, N_COLUMNS), dtype=np.float32)
    X[:, 10:] *= 0.3
    centers = 3 * rng.standard_normal((20, 10), dtype=np.float32)
    X[:, :10] += centers[rng.integers(20, size=len(X))]
    return np.ascontiguousarray(X[:n]), np.ascontiguousarray(X[n:])


def true_neighbors(n: int) -> np.ndarray:
    """By another process: what that takes is no search's memory."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "true.npy"
        command = [sys.executable, "-m", "benchmarks.speed.neighbor_index", "truth", str(n), path]
        subprocess.run(command, cwd=ROOT, check=True)
        return np.load(path)


def seconds(work: Callable[[], Any]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def turned_up(search: Search, values: tuple[Any, ...], Q: np.ndarray, true: np.ndarray) -> Any:
    """The first value of the knob with which enough is found, and which share that is."""
    for value in values:
        if value is not None:
            search.knob(value)
        found = search.query(Q)
        recall = float((found[:, :, None] == true[:, None, :]).any(axis=2).mean())
        if recall >= RECALL:
            break
    return value, recall


def measure(name: str, n: int) -> dict[str, Any]:
    """Seconds to build, imports and compilation included, to answer and to grow; what was found."""
    true = true_neighbors(n)
    X, Q = rows_and_queries(n)
    rival = RIVALS[name]
    start = time.perf_counter()
    search = rival.build(X)
    build = time.perf_counter() - start
    value, recall = turned_up(search, rival.values, Q, true)
    at_once = [seconds(lambda: search.query(Q)) for _ in range(N_ROUNDS)]
    alone = [seconds(lambda i=i: search.query(Q[i : i + 1])) for i in range(N_SINGLE)]
    memory = peak_memory_gb()
    later = X[: n // 100] + np.float32(0.01)

    def grow() -> None:
        search.add(later)
        search.query(Q[:1])

    return {
        "search": name,
        "rows": n,
        "setting": rival.setting.format(value),
        "build": build,
        "query_ms": 1000 * float(np.median(at_once)) / len(Q),
        "single_ms": 1000 * float(np.mean(alone)),
        "add": seconds(grow),
        "recall": recall,
        "memory": memory,
    }


def run(draws: int) -> None:
    """Measure every search at every size, each in a process of its own; ``draws`` is not used."""
    del draws
    names = [name for name, rival in RIVALS.items() if rival.installed]
    cases = [(name, n) for n in SIZES for name in names]
    rows = []
    for name, n in track(cases, description="neighbours"):
        command = [sys.executable, "-m", "benchmarks.speed.neighbor_index", name, str(n)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    store(RAW, rows)


def tables(rows: list[dict[str, Any]]) -> list[Table | Text]:
    """A table for each number of rows, and whether another search is better at all of it."""
    columns = ["search", "settings", *FIGURES.values(), "recall at 10"]
    found: list[Table | Text] = [
        Text(
            "A query is one of a thousand at once, or one alone. Other searches are given the "
            f"quickest setting that finds {RECALL:.0%} of the neighbours; ours finds it by itself. "
            "Memory is the most that the process held, with the rows. "
            f"{_not_measured(rows)}"
        )
    ]
    for n in dict.fromkeys(row["rows"] for row in rows):
        here = [row for row in rows if row["rows"] == n]
        body = [
            [row["search"], row["setting"], *map(_figure, map(row.get, FIGURES)), _recall(row)]
            for row in here
        ]
        title = f"{n:,} rows of {N_COLUMNS} columns, float32"
        found.append(Table(title, columns, body, n_words=2))
    return [*found, Text(verdict(rows))]


def verdict(rows: list[dict[str, Any]]) -> str:
    """Whether any other search is better at all that is measured, at every size."""
    better = {
        n: {row["search"] for row in rows if row["rows"] == n and _is_better(row, rows)}
        for n in dict.fromkeys(row["rows"] for row in rows)
    }
    said = [f"{', '.join(sorted(names))} at {n:,} rows" for n, names in better.items() if names]
    words = f"Better than our cells at all of it: {'; '.join(said) or 'none'}."
    everywhere = set.intersection(*better.values())
    if everywhere:
        return f"{words} {', '.join(sorted(everywhere))} so at every size."
    return f"{words} None is so at every size, and with few rows all are compared: our own stay."


def _is_better(row: dict[str, Any], rows: list[dict[str, Any]]) -> bool:
    """Than our cells, at all figures, with recall enough."""
    ours = [one for one in rows if one["search"] == OURS and one["rows"] == row["rows"]]
    return row["recall"] >= RECALL and any(
        all(row[figure] < one[figure] for figure in FIGURES) for one in ours
    )


def _not_measured(rows: list[dict[str, Any]]) -> str:
    measured = {row["search"] for row in rows}
    missing = [name for name in RIVALS if name not in measured]
    return f"Not installed, so not measured: {', '.join(missing)}." if missing else ""


def _figure(value: float) -> str:
    return f"{value:.3f}" if value < 1 else f"{value:.1f}"


def _recall(row: dict[str, Any]) -> str:
    return f"{row['recall']:.3f}"


def headline(rows: list[dict[str, Any]]) -> list[str]:
    """What to expect of it, in a line."""
    n = max(row["rows"] for row in rows)
    figures = [
        f"{row['search'].removeprefix('nearkin, ')} {row['single_ms']:.3g} ms, "
        f"recall {row['recall']:.3f}"
        for row in rows
        if row["rows"] == n and row["search"].startswith("nearkin")
    ]
    return [f"`NeighborIndex`: one query among {n:,} rows", "; ".join(figures)]


def score() -> None:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    publish(FOLDER / "NEIGHBOR_INDEX.md", "Nearest neighbours", tables(rows), source)


if __name__ == "__main__":
    if sys.argv[1] == "truth":
        X, Q = rows_and_queries(int(sys.argv[2]))
        np.save(sys.argv[3], NeighborIndex(search="exact").fit(X).query(Q, K)[1])
    else:
        print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
