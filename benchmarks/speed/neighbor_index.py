"""NeighborIndex: exact and approximate search, what they take and what they find.

``python -m benchmarks.speed.neighbor_index SEARCH ROWS`` measures one search in a fresh process, as
JSON. Others are measured where they are installed: pynndescent, usearch and faiss
(``faiss-cpu``).
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.record import ROOT, Table, peak_memory_gb, publish, store, stored
from nearkin import NeighborIndex

FOLDER = Path(__file__).parent
RAW = FOLDER / "neighbor_index.jsonl"
SIZES = (10_000, 100_000, 1_000_000)
N_COLUMNS, N_QUERIES, K = 50, 1000, 10
# Queries one at a time.
N_SINGLE = 50

Query = Callable[[np.ndarray], np.ndarray]


def rows_and_queries(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Twenty clusters; what is asked for comes from the same."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n + N_QUERIES, N_COLUMNS), dtype=np.float32)
    X[:, 10:] *= 0.3
    centers = 3 * rng.standard_normal((20, 10), dtype=np.float32)
    X[:, :10] += centers[rng.integers(20, size=len(X))]
    return np.ascontiguousarray(X[:n]), np.ascontiguousarray(X[n:])


def ours(search: str) -> Callable[[np.ndarray], Query]:
    def build(X: np.ndarray) -> Query:
        index = NeighborIndex(search=search, n_neighbors=K, random_state=0).fit(X)
        index.query(X[:1])  # cells are made here
        return lambda Q: index.query(Q)[1]

    return build


def pynndescent(X: np.ndarray) -> Query:
    from pynndescent import NNDescent

    index = NNDescent(X, n_neighbors=30, random_state=0)
    index.prepare()
    index.query(X[:1], k=K)
    return lambda Q: index.query(Q, k=K, epsilon=0.2)[0]


def faiss_hnsw(X: np.ndarray) -> Query:
    import faiss

    index = faiss.IndexHNSWFlat(X.shape[1], 16)
    index.hnsw.efConstruction, index.hnsw.efSearch = 100, 32
    index.add(X)
    return lambda Q: index.search(Q, K)[1]


def faiss_cells(X: np.ndarray) -> Query:
    import faiss

    index = faiss.index_factory(X.shape[1], f"IVF{round(2 * len(X) ** 0.5)},Flat")
    index.train(X)
    index.add(X)
    index.nprobe = 16
    return lambda Q: index.search(Q, K)[1]


def usearch(X: np.ndarray) -> Query:
    from usearch.index import Index

    index = Index(ndim=X.shape[1], metric="l2sq", dtype="f32")
    index.add(np.arange(len(X)), X)
    return lambda Q: index.search(Q, K).keys.reshape(len(Q), K)


SEARCHES = {
    "nearkin, exact": (ours("exact"), None),
    "nearkin, approximate": (ours("approximate"), None),
    "pynndescent": (pynndescent, "pynndescent"),
    "usearch": (usearch, "usearch"),
    "faiss, HNSW": (faiss_hnsw, "faiss"),
    "faiss, cells": (faiss_cells, "faiss"),
}


def measure(search: str, n: int) -> dict[str, Any]:
    """Seconds to build, imports and compilation included, and to answer; and what was found."""
    X, Q = rows_and_queries(n)
    true = NeighborIndex(search="exact").fit(X).query(Q, K)[1]
    start = time.perf_counter()
    query = SEARCHES[search][0](X)
    built = time.perf_counter()
    found = query(Q)
    answered = time.perf_counter()
    for i in range(N_SINGLE):
        query(Q[i : i + 1])
    one_by_one = time.perf_counter()
    hits = (found[:, :, None] == true[:, None, :]).any(axis=2)
    return {
        "search": search,
        "rows": n,
        "build": built - start,
        "query_ms": 1000 * (answered - built) / len(Q),
        "single_ms": 1000 * (one_by_one - answered) / N_SINGLE,
        "recall": float(hits.mean()),
        "memory": peak_memory_gb(),
    }


def run(draws: int) -> None:
    """Measure every search at every size, each in a process of its own; ``draws`` is not used."""
    del draws
    names = [name for name, (_, needs) in SEARCHES.items() if needs is None or find_spec(needs)]
    cases = [(name, n) for n in SIZES for name in names]
    rows = []
    for name, n in track(cases, description="neighbours"):
        command = [sys.executable, "-m", "benchmarks.speed.neighbor_index", name, str(n)]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        rows.append(json.loads(done.stdout.splitlines()[-1]))
    store(RAW, rows)


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    """A table for each number of rows. A query is one of a thousand at once, or one alone."""
    columns = ["search", "build, s", "query, ms", "query alone, ms", "recall at 10", "GB"]
    found = []
    for n in dict.fromkeys(row["rows"] for row in rows):
        body = [
            [
                row["search"],
                f"{row['build']:.2f}",
                f"{row['query_ms']:.3f}",
                f"{row['single_ms']:.2f}",
                f"{row['recall']:.3f}",
                f"{row['memory']:.1f}",
            ]
            for row in rows
            if row["rows"] == n
        ]
        found.append(Table(f"{n:,} rows of {N_COLUMNS} columns, float32", columns, body))
    return found


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
    print(json.dumps(measure(sys.argv[1], int(sys.argv[2]))))
