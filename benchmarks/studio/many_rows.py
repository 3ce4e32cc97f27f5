"""300 000 rows of which 200 000 are shown: opening, answers, motion, memory, and a reload.

    .venv/bin/python -m benchmarks.studio.many_rows
    .venv/bin/python -m benchmarks.studio.many_rows --rows 50000 --answers 5

Rows have ids, words and 20 numbers, in 10 clusters. What is printed, one line each:

- opening: seconds until the address is printed and until points are at rest, what the server held
  at most in all, and what the page holds in JavaScript;
- answers: milliseconds until an answer is accepted and until the first frame that shows it, medians
  and 95th percentiles, each answer after the points have come to rest;
- motion: the longest time between two frames while points move after an answer, and while the map
  is dragged. The goal is 250 ms;
- reload: seconds until the page is there again, with as many answers as before.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.studio.browser import Tab
from benchmarks.studio.process import Studio, running_studio
from benchmarks.studio.timing import answered, busy_share, opened

N_ROWS, N_COLUMNS, N_CLASSES = 300_000, 20, 10
GOAL_MS = 250
# Frames of a map that is dragged, in steps of some pixels.
_DRAGGED = 60

_FRAMES = """() => {
    window.__gaps = [];
    let before = performance.now();
    window.__watching = true;
    const note = (time) => {
        window.__gaps.push(time - before);
        before = time;
        if (window.__watching) requestAnimationFrame(note);
    };
    requestAnimationFrame(note);
}"""
_GAPS = "() => { window.__watching = false; return window.__gaps.slice(1); }"
_HEAP = "() => performance.memory ? performance.memory.usedJSHeapSize / 1e9 : null"


def write_rows(path: Path, n: int) -> np.ndarray:
    """Rows in clusters, with ids and words; the cluster of each."""
    import pyarrow as pa
    import pyarrow.parquet

    rng = np.random.default_rng(0)
    labels = rng.integers(N_CLASSES, size=n)
    X = 2 * rng.normal(size=(N_CLASSES, N_COLUMNS))[labels] + rng.normal(size=(n, N_COLUMNS))
    columns: dict[str, Any] = {"id": [f"r{k}" for k in range(n)]}
    columns["text"] = [f"Record {k} of many, in kind {label}." for k, label in enumerate(labels)]
    columns |= {f"x{j}": X[:, j].astype(np.float32) for j in range(N_COLUMNS)}
    pyarrow.parquet.write_table(pa.table(columns), path)
    return labels


def shown_labels(studio: Studio, labels: np.ndarray) -> np.ndarray:
    """The cluster of each row that is shown, by the ids of a few and the order of all."""
    from nearkin.studio.records import sample_numbers

    numbers = sample_numbers(len(labels))
    assert studio.get("/api/lesson")["n_rows"] == len(numbers)
    last = len(numbers) - 1
    assert studio.get(f"/api/records/{last}")["id"] == f"r{numbers[last]}"
    return labels[numbers]


def longest_gap_while_dragged(tab: Tab) -> float:
    """Milliseconds between two frames at most while the map is moved to and fro."""
    box = tab.part("points").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    tab.page.evaluate(_FRAMES)
    tab.page.mouse.move(x, y)
    tab.page.mouse.down()
    for step in range(_DRAGGED):
        tab.page.mouse.move(x + 80 * np.sin(step / 6), y + 60 * np.cos(step / 6))
    tab.page.mouse.up()
    return float(max(tab.page.evaluate(_GAPS)))


def measured(n_rows: int, n_answers: int, folder: Path) -> dict[str, Any]:
    """Drive a browser, and note what was seen."""
    labels = write_rows(folder / "many.parquet", n_rows)
    found: dict[str, Any] = {"busy": busy_share()}
    start = time.perf_counter()
    with running_studio("many.parquet", "--id", "id", folder=folder) as studio:
        found["printed"] = time.perf_counter() - start
        with opened(studio) as tab:
            found["shown"] = time.perf_counter() - start
            found["said"] = " ".join(tab.part("source").inner_text().split())
            tab.wait_for_question()
            found["asked"] = time.perf_counter() - start
            rows = answered(tab, shown_labels(studio, labels), n_answers, "rest", "many")
            found |= {name: [row[name] for row in rows] for name in ("accepted", "frame", "gap")}
            found["dragged"] = longest_gap_while_dragged(tab)
            found["page_gb"] = tab.page.evaluate(_HEAP)
            again = time.perf_counter()
            tab.page.reload()
            tab.settle(n_answers)
            found["reload"] = time.perf_counter() - again
            found["count"] = tab.part("answers").inner_text()
        found["server_gb"] = studio.peak_memory_gb()
    return found


def lines(found: dict[str, Any]) -> list[str]:
    """What was seen, in words."""

    def ms(name: str) -> str:
        return f"{np.median(found[name]):.0f} ms, 95 % {np.percentile(found[name], 95):.0f} ms"

    held = "" if found["page_gb"] is None else f", the page {found['page_gb']:.2f} GB"
    gap = max(gap for gap in found["gap"] if gap is not None)
    return [
        f"{found['said']}; others used {found['busy']:.0%} of all cores before",
        f"opening: address {found['printed']:.1f} s, points at rest {found['shown']:.1f} s, "
        f"question {found['asked']:.1f} s; server {found['server_gb']:.2f} GB{held}",
        f"answers: {len(found['frame'])}; accepted {ms('accepted')}; first frame {ms('frame')}",
        f"motion: longest gap {gap:.0f} ms after answers, {found['dragged']:.0f} ms while dragged; "
        f"goal {GOAL_MS} ms",
        f"reload: {found['reload']:.1f} s, {found['count']}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=N_ROWS)
    parser.add_argument("--answers", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        print(*lines(measured(given.rows, given.answers, Path(folder))), sep="\n")


if __name__ == "__main__":
    main()
