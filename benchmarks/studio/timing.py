"""Answers in a browser, timed: from the page's own trace and clock."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track

from benchmarks.studio.browser import Tab, running_browser
from benchmarks.studio.process import Studio

WINDOW = {"width": 1400, "height": 900}
PACES = {"rest": "points at rest", "second": "a second has passed", "frame": "new layout seen"}

# Notes the time of every animation frame.
_WATCH_FRAMES = """() => {
    window.__frames = [];
    const note = (time) => { window.__frames.push(time); requestAnimationFrame(note); };
    requestAnimationFrame(note);
}"""

# Times of the last answer: how long its reply took, and the frames since its key. When a reply came
# is known a moment later, perhaps after the frame that shows it.
_LAST_ANSWER = """async () => {
    const find = () => performance.getEntriesByType("resource")
        .filter((entry) => /\\/api\\/(answers|which)$/.test(entry.name)).at(-1);
    let sent = find();
    for (const end = performance.now() + 5000; !sent && performance.now() < end; sent = find()) {
        await new Promise(requestAnimationFrame);
    }
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


def right_keys(tab: Tab, labels: np.ndarray) -> str:
    """The keys of the right answer to what is asked: of a pair, or of a record beside groups."""
    tab.wait_for_question()
    asked = tab.asked()
    left = labels[asked["left"]]
    if "rows" not in asked:
        return "s" if left == labels[asked["right"]] else "d"
    beside = zip(asked["rows"], asked["groups"], strict=True)
    return next((str(group["number"] + 1) for row, group in beside if labels[row] == left), "0")


def answered(tab: Tab, labels: np.ndarray, n: int, pace: str, part: str) -> Rows:
    """Answer so many questions by key, and time each."""
    rows = []
    before = len(tab.page.evaluate("() => window.nearkin.trace"))
    tab.page.evaluate(_WATCH_FRAMES)
    for k in track(range(n), description=f"{part}, next when {PACES[pace]}"):
        start = time.perf_counter()
        for key in right_keys(tab, labels):
            tab.strike(key)
        entry = tab.trace(before + k + 1)[-1]
        if pace == "rest":
            tab.settle(int(entry["version"]))
        if pace == "second":
            time.sleep(max(0.0, start + 1 - time.perf_counter()))
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


def busy_share(seconds: float = 3) -> float:
    """The share of all cores that others use just now (Linux)."""

    def times() -> np.ndarray:
        return np.array(Path("/proc/stat").read_text().splitlines()[0].split()[1:9], dtype=float)

    before = times()
    time.sleep(seconds)
    spent = times() - before
    idle, waiting = 3, 4
    return float(1 - (spent[idle] + spent[waiting]) / spent.sum())
