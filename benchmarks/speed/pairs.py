"""A million pairs: what each operation on :class:`nearkin.Pairs` takes."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.record import Table, publish, store, stored
from nearkin import Pairs

FOLDER = Path(__file__).parent
RAW = FOLDER / "pairs.jsonl"
N_PAIRS = 1_000_000
N_ROWS = 2_000_000


def operations() -> dict[str, Callable[[], Any]]:
    rng = np.random.default_rng(0)
    must, cannot, more = rng.integers(N_ROWS, size=(3, N_PAIRS // 2, 2))
    must, cannot = must[must[:, 0] != must[:, 1]], cannot[cannot[:, 0] != cannot[:, 1]]
    y = rng.integers(10, size=N_ROWS)
    half = np.arange(N_ROWS) % 2 == 0
    pairs = Pairs(must, cannot, n_rows=N_ROWS)
    others = Pairs(more, n_rows=N_ROWS)
    contradicted = Pairs(must, np.concatenate([cannot, must[:1000]]), n_rows=N_ROWS)
    return {
        "Pairs(must_link, cannot_link)": lambda: Pairs(must, cannot, n_rows=N_ROWS),
        "Pairs.from_labels(y, 1_000_000)": lambda: Pairs.from_labels(y, N_PAIRS, random_state=0),
        "components()": pairs.components,
        "conflicts(), 1000 of them": contradicted.conflicts,
        "closure()": pairs.closure,
        "split()": lambda: pairs.split(random_state=0),
        "restrict(half the rows)": lambda: pairs.restrict(half),
        "pairs + others": lambda: pairs + others,
    }


def run(draws: int) -> None:
    """Time every operation a few times and store the raw results; ``draws`` is not used."""
    del draws
    rows = []
    for name, operation in track(operations().items(), description="a million pairs"):
        for turn in range(3):
            start = time.perf_counter()
            operation()
            rows.append({"name": name, "turn": turn, "seconds": time.perf_counter() - start})
    store(RAW, rows)


def score() -> None:
    """The median of each operation."""
    source, rows = stored(RAW)
    names = dict.fromkeys(row["name"] for row in rows)
    body = []
    for name in names:
        seconds = np.median([row["seconds"] for row in rows if row["name"] == name])
        body.append([f"`{name}`", f"{seconds:.2f}"])
    title = f"{N_PAIRS:,} pairs, half of each kind, among {N_ROWS:,} rows"
    publish(FOLDER / "PAIRS.md", "A million pairs", [Table(title, ["", "seconds"], body)], source)
