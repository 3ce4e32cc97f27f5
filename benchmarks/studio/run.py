"""The studio as a person meets it: a real browser, a real server, and a key pressed.

For each answer, from the page's own trace and clock:

- accepted: from sending the answer to its reply, which comes when it is in the journal;
- first frame: from the key press to the first frame that shows the new layout;
- longest gap: the longest time between two animation frames from the key press until the next
  answer is due. For so long the page reacts to nothing.

Answers come each after the points have come to rest, then one a second, then as fast as new layouts
are seen. The map is that of neighbours, and questions are those that the page asks: about pairs,
and about a record beside groups. WebGL is drawn by software: a graphics card makes frames shorter.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.record import Table, Text, provenance, publish, store, stored
from benchmarks.studio import many_rows
from benchmarks.studio.process import Studio, running_studio
from benchmarks.studio.timing import PACES, Rows, answered, busy_share, opened

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
N_ANSWERS = 100
N_ANSWERS_LARGE = 30
N_ROWS_LARGE, N_COLUMNS_LARGE, N_CLASSES = 100_000, 50, 10
N_ROWS_HUGE, N_COLUMNS_HUGE = 5_000_000, 3
# Milliseconds to the first frame, in 95 % of cases; back to back there may be more.
GOALS = {
    ("digits", "rest"): 150,
    ("digits", "second"): 150,
    ("digits", "frame"): 400,
    ("large", "rest"): 1500,
    ("large", "frame"): 1500,
}
NAMES = {
    "digits": "digits, 1,797 × 64",
    "large": f"{N_ROWS_LARGE:,} × {N_COLUMNS_LARGE}",
    "huge": f"{N_ROWS_HUGE:,} × {N_COLUMNS_HUGE}",
    "many": "300,000 × 20",
}


def digits(folder: Path) -> Rows:
    labels = load_digits().target
    rows: Rows = []
    for pace in PACES:
        start = time.perf_counter()
        with running_studio("--demo", "--journal", f"{pace}.jsonl", folder=folder) as studio:
            printed = time.perf_counter() - start
            with opened(studio) as tab:
                shown = time.perf_counter() - start
                rows += answered(tab, labels, N_ANSWERS, pace, "digits")
            opened_at = opening("digits", printed, shown, studio)
    return [*rows, opened_at]


def large(folder: Path) -> Rows:
    rng = np.random.default_rng(0)
    labels = rng.integers(N_CLASSES, size=N_ROWS_LARGE)
    X = rng.normal(size=(N_CLASSES, N_COLUMNS_LARGE))[labels]
    X += rng.normal(size=X.shape)
    write_parquet(folder / "large.parquet", X)
    start = time.perf_counter()
    with running_studio("large.parquet", folder=folder) as studio:
        printed = time.perf_counter() - start
        with opened(studio) as tab:
            shown = time.perf_counter() - start
            rows = answered(tab, labels, N_ANSWERS_LARGE, "rest", "large")
            rows += answered(tab, labels, N_ANSWERS_LARGE, "frame", "large")
        return [*rows, opening("large", printed, shown, studio)]


def huge(folder: Path) -> Rows:
    X = np.random.default_rng(0).normal(size=(N_ROWS_HUGE, N_COLUMNS_HUGE))
    write_parquet(folder / "huge.parquet", X)
    del X
    start = time.perf_counter()
    with running_studio("huge.parquet", folder=folder) as studio:
        printed = time.perf_counter() - start
        with opened(studio) as tab:
            shown = time.perf_counter() - start
            said = [tab.part("source").inner_text(), *tab.part("note").all_inner_texts()]
            tab.strike("d")
            entry = tab.trace(1)[-1]
        row = opening("huge", printed, shown, studio)
        row["said"] = [" ".join(text.split()) for text in said]
        row["frame"] = entry["firstFrameAt"] - entry["keydownAt"]
        return [row]


def opening(part: str, printed: float, shown: float, studio: Studio) -> dict[str, Any]:
    return {
        "part": part,
        "printed": printed,
        "shown": shown,
        "peak_memory_gb": studio.peak_memory_gb(),
    }


def write_parquet(path: Path, X: np.ndarray) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    names = [f"x{j}" for j in range(X.shape[1])]
    pyarrow.parquet.write_table(pa.table(list(map(pa.array, X.T.copy())), names), path)


def many(folder: Path) -> Rows:
    return [{"part": "many", "many": many_rows.measured(many_rows.N_ROWS, N_ANSWERS_LARGE, folder)}]


PARTS: dict[str, Callable[[Path], Rows]] = {
    "digits": digits,
    "large": large,
    "huge": huge,
    "many": many,
}


def run(draws: int) -> None:
    """Drive the browser through all parts and store the raw results; ``draws`` is not used."""
    del draws
    rows: Rows = []
    for part, measure in PARTS.items():
        with tempfile.TemporaryDirectory() as folder:
            rows += [{"part": part, "busy": busy_share()}, *measure(Path(folder))]
    store(RAW, rows)


def renew(parts: list[str]) -> None:
    """Measure some parts again, and keep what is stored of the others."""
    kept = [json.loads(line) for line in RAW.read_text().splitlines()]
    kept = [line for line in kept if line.get("part") not in parts]
    with tempfile.TemporaryDirectory() as folder:
        busy = [{"part": part, "busy": busy_share()} for part in parts]
        rows = [row for part in parts for row in PARTS[part](Path(folder))]
    lines = [*kept, {"provenance": provenance()}, *busy, *rows]
    RAW.write_text("".join(json.dumps(line) + "\n" for line in lines))


def score() -> None:
    """The tables from the stored results."""
    source, rows = stored(RAW)
    assert __doc__ is not None
    blocks = [Text(__doc__.partition("\n\n")[2].strip()), *tables(rows)]
    publish(FOLDER / "RESULTS.md", "The studio in a browser", blocks, source)


def tables(rows: Rows) -> list[Table | Text]:
    """How soon answers are seen, how long files take to open, and how busy the machine was."""
    shares = {row["part"]: row["busy"] for row in rows if "busy" in row}
    busy = ", ".join(f"{share:.0%} ({NAMES[part]})" for part, share in shares.items())
    said = [sentence for row in rows for sentence in row.get("said", [])]
    return [
        answer_table(rows),
        opening_table(rows),
        *(listed(many_rows.lines(row["many"])) for row in rows if "many" in row),
        Text(f"Of {NAMES['huge']} the page says: " + "; ".join(f"“{one}”" for one in said) + "."),
        Text(f"What other programs used of all cores just before: {busy}."),
    ]


def listed(lines: list[str]) -> Text:
    return Text("\n".join(f"- {line}" for line in lines))


def answer_table(rows: Rows) -> Table:
    body = []
    for (part, pace), goal in GOALS.items():
        mine = [row for row in rows if row["part"] == part and row.get("pace") == pace]
        gaps = [row["gap"] for row in mine if row["gap"] is not None]
        cells = [NAMES[part], PACES[pace], str(len(mine))]
        for name in ("accepted", "frame"):
            times = [row[name] for row in mine]
            cells += [f"{np.median(times):.0f}", f"{np.percentile(times, 95):.0f}"]
        cells += [str(goal), f"{np.median(gaps):.0f}", f"{max(gaps):.0f}"]
        body.append(cells)
    columns = ["rows × columns", "next answer when", "answers", "accepted", "95 %"]
    columns += ["first frame", "95 %", "goal", "longest gap", "of all"]
    title = "Milliseconds from an answer to what is seen of it (medians and 95th percentiles)"
    return Table(title, columns, body, n_words=2)


def opening_table(rows: Rows) -> Table:
    body = [
        [
            NAMES[row["part"]],
            f"{row['printed']:.1f}",
            f"{row['shown']:.1f}",
            f"{row['peak_memory_gb']:.2f}",
        ]
        for row in rows
        if "printed" in row
    ]
    columns = ["rows × columns", "address printed", "points at rest", "peak memory, GB"]
    return Table("Seconds from the command, and what the server held at most", columns, body)


if __name__ == "__main__":
    renew(sys.argv[1:])
    score()
