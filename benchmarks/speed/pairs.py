"""A million and ten million pairs: what operations on :class:`nearkin.Pairs` take."""

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
SIZES = (1_000_000, 10_000_000)  # among twice as many rows


def operations(n_pairs: int) -> dict[str, Callable[[], Any]]:
    """What is timed, at this number of pairs, half of each kind."""
    rng = np.random.default_rng(0)
    n_rows = 2 * n_pairs
    must, cannot, more = rng.integers(n_rows, size=(3, n_pairs // 2, 2))
    must, cannot = must[must[:, 0] != must[:, 1]], cannot[cannot[:, 0] != cannot[:, 1]]
    y = rng.integers(10, size=n_rows)
    half = np.arange(n_rows) % 2 == 0
    pairs = Pairs(must, cannot, n_rows=n_rows)
    others = Pairs(more, n_rows=n_rows)
    contradicted = Pairs(must, np.concatenate([cannot, must[:1000]]), n_rows=n_rows)
    return {
        "Pairs(must_link, cannot_link)": lambda: Pairs(must, cannot, n_rows=n_rows),
        "Pairs.from_labels(y, n)": lambda: Pairs.from_labels(y, n_pairs, random_state=0),
        "components()": pairs.components,
        "conflicts(), 1000 of them": contradicted.conflicts,
        "closure()": lambda: pairs.closure(max_pairs=4 * n_pairs),
        "split()": lambda: pairs.split(random_state=0),
        "restrict(half the rows)": lambda: pairs.restrict(half),
        "pairs + others": lambda: pairs + others,
    }


def run(draws: int) -> None:
    """Time every operation a few times and store the raw results; ``draws`` is not used."""
    del draws
    rows = []
    for n_pairs in SIZES:
        for name, operation in track(operations(n_pairs).items(), description=f"{n_pairs:,}"):
            for turn in range(3):
                start = time.perf_counter()
                operation()
                seconds = time.perf_counter() - start
                rows.append({"n_pairs": n_pairs, "name": name, "turn": turn, "seconds": seconds})
    store(RAW, rows)


def score() -> None:
    """The median of each operation."""
    source, rows = stored(RAW)

    def median(name: str, n_pairs: int) -> float:
        return float(
            np.median(
                [row["seconds"] for row in rows if (row["name"], row["n_pairs"]) == (name, n_pairs)]
            )
        )

    body = [
        [f"`{name}`", *(f"{median(name, n_pairs):.2f}" for n_pairs in SIZES)]
        for name in dict.fromkeys(row["name"] for row in rows)
    ]
    title = "Seconds; half of the pairs are of each kind, among twice as many rows"
    header = ["", *(f"{n_pairs:,} pairs" for n_pairs in SIZES)]
    publish(FOLDER / "PAIRS.md", "Millions of pairs", [Table(title, header, body)], source)
