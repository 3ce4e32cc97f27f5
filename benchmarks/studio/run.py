"""The studio as a person meets it: a real browser, a real server, and a key pressed.

For each answer, from the page's own trace and clock:

- accepted: from sending the answer to its reply, which comes when it is in the journal;
- first frame: from the key press to the first frame that shows the new layout;
- longest gap: the longest time between two animation frames from the key press until the next
  answer is due. For so long the page reacts to nothing.

Answers come at the pace of a person, each after the points have come to rest, and then as fast as
new layouts are seen. WebGL is drawn by software, so a graphics card would make frames shorter.
"""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.datasets import load_digits

from benchmarks.record import Table, Text, publish, store, stored
from benchmarks.studio.browser import Tab, running_browser
from benchmarks.studio.process import Studio, running_studio

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
WINDOW = {"width": 1400, "height": 900}
N_ANSWERS = 100
N_ANSWERS_LARGE = 30
N_ROWS_LARGE, N_COLUMNS_LARGE, N_CLASSES = 100_000, 50, 10
N_ROWS_HUGE, N_COLUMNS_HUGE = 5_000_000, 3
GOALS = {"digits": 150, "large": 1500}  # milliseconds to the first frame, in 95 % of cases
NAMES = {
    "digits": "digits, 1,797 × 64",
    "large": f"{N_ROWS_LARGE:,} × {N_COLUMNS_LARGE}",
    "huge": f"{N_ROWS_HUGE:,} × {N_COLUMNS_HUGE}",
    "many": "many rows",
}
PACES = {"rest": "points at rest", "frame": "new layout seen"}

# Notes the time of every animation frame.
_WATCH_FRAMES = """() => {
    window.__frames = [];
    const note = (time) => { window.__frames.push(time); requestAnimationFrame(note); };
    requestAnimationFrame(note);
}"""

# Times of the last answer: how long its reply took, and the frames since its key.
_LAST_ANSWER = """() => {
    const sent = performance.getEntriesByType("resource")
        .filter((entry) => entry.name.endsWith("/api/answers")).at(-1);
    const entry = window.nearkin.trace.at(-1);
    const frames = window.__frames.filter((time) => time >= entry.keydownAt - 50);
    window.__frames.length = 0;
    performance.clearResourceTimings();
    return { ...entry, accepted: sent.responseEnd - sent.startTime, frames };
}"""

Rows = list[dict[str, Any]]


@contextmanager
def opened(studio: Studio) -> Iterator[Tab]:
    """A tab of a new browser with the studio's page in it, its points at rest."""
    with running_browser() as browser:
        tab = Tab(browser.new_context(viewport=WINDOW).new_page())
        tab.open(studio.url)
        yield tab


def answered(tab: Tab, labels: np.ndarray, n: int, pace: str, part: str) -> Rows:
    """Answer so many questions by key, and time each."""
    rows = []
    before = len(tab.page.evaluate("() => window.nearkin.trace"))
    tab.page.evaluate(_WATCH_FRAMES)
    for k in track(range(n), description=f"{NAMES[part]}, next when {PACES[pace]}"):
        left, right = tab.question()
        tab.press("s" if labels[left] == labels[right] else "d")
        entry = tab.trace(before + k + 1)[-1]
        if pace == "rest":
            tab.settle(int(entry["version"]))
        last = tab.page.evaluate(_LAST_ANSWER)
        times = [last["keydownAt"], *(t for t in last["frames"] if t > last["keydownAt"])]
        rows.append(
            {
                "part": part,
                "pace": pace,
                "accepted": last["accepted"],
                "layout": last["layoutAt"] - last["keydownAt"],
                "frame": last["firstFrameAt"] - last["keydownAt"],
                "gap": float(np.diff(times).max()) if len(times) > 1 else None,
            }
        )
    return rows


def digits(folder: Path) -> Rows:
    labels = load_digits().target
    rows: Rows = []
    for pace in PACES:
        journal = folder / f"{pace}.jsonl"
        with (
            running_studio("--demo", "--journal", journal, folder=folder) as studio,
            opened(studio) as tab,
        ):
            rows += answered(tab, labels, N_ANSWERS, pace, "digits")
    return rows


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
            tab.press("d")
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


def busy_share(seconds: float = 3) -> float:
    """The share of all cores that others use just now (Linux)."""

    def times() -> np.ndarray:
        return np.array(Path("/proc/stat").read_text().splitlines()[0].split()[1:9], dtype=float)

    before = times()
    time.sleep(seconds)
    spent = times() - before
    idle, waiting = 3, 4
    return float(1 - (spent[idle] + spent[waiting]) / spent.sum())


def write_parquet(path: Path, X: np.ndarray) -> None:
    import pyarrow as pa
    import pyarrow.parquet

    names = [f"x{j}" for j in range(X.shape[1])]
    pyarrow.parquet.write_table(pa.table(list(map(pa.array, X.T.copy())), names), path)


PARTS: dict[str, Callable[[Path], Rows]] = {"digits": digits, "large": large, "huge": huge}


def run(draws: int) -> None:
    """Drive the browser through all parts and store the raw results; ``draws`` is not used."""
    del draws
    rows: Rows = []
    for part, measure in PARTS.items():
        with tempfile.TemporaryDirectory() as folder:
            rows += [{"part": part, "busy": busy_share()}, *measure(Path(folder))]
    store(RAW, rows)


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
        Text(f"Of {NAMES['huge']} the page says: " + "; ".join(f"“{one}”" for one in said) + "."),
        Text(f"What other programs used of all cores just before: {busy}."),
    ]


def answer_table(rows: Rows) -> Table:
    body = []
    for part, goal in GOALS.items():
        for pace, words in PACES.items():
            mine = [row for row in rows if row["part"] == part and row.get("pace") == pace]
            gaps = [row["gap"] for row in mine if row["gap"] is not None]
            cells = [NAMES[part], words, str(len(mine))]
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
