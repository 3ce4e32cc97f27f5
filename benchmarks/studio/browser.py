"""A real browser: which one, how it is started, and a tab with the studio's page in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

NAMES = ("chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    # WebGL by software, so that it works on any machine.
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
# Machines that test are busy at times.
PATIENCE_MS = 30_000

# Calls look() before each frame until it is true.
_UNTIL = """
    const until = (look, what) => new Promise((resolve, reject) => {
        const end = performance.now() + PATIENCE_MS;
        const step = () => {
            const found = look();
            if (found) resolve(found);
            else if (performance.now() > end) reject(new Error(`waited in vain for ${what}`));
            else requestAnimationFrame(step);
        };
        step();
    });
""".replace("PATIENCE_MS", str(PATIENCE_MS))

# A layout at least this new is shown, whole, and neither a point nor the view has moved for five
# frames.
_SETTLED = (
    f"(version) => {{{_UNTIL}"
    + """
    let before = [];
    let view = {};
    let still = 0;
    return until(() => {
        const studio = window.nearkin;
        if (!studio || studio.version === null || studio.version < version) return false;
        if (!studio.arranged) return false;
        const now = studio.positions();
        const { x, y } = studio.pointAt(0);
        const moved = x !== view.x || y !== view.y || now.some((place, i) => place !== before[i]);
        still = moved ? 0 : still + 1;
        if (moved) { before = now.slice(); view = { x, y }; }
        return still >= 5;
    }, `version ${version} to settle, version ${window.nearkin?.version} is shown`);
}"""
)

_TRACED = (
    f"(n) => {{{_UNTIL}"
    + """
    const seen = () => window.nearkin.trace.filter((entry) => entry.firstFrameAt !== null);
    return until(() => seen().length >= n && seen(), `${n} answers to be seen`);
}"""
)

_POINTS = """() => Array.from(
    { length: window.nearkin.positions().length / 2 },
    (_, row) => { const { x, y } = window.nearkin.pointAt(row); return [x, y]; },
)"""


def find_browser() -> str | None:
    """The browser to drive: ``NEARKIN_CHROMIUM``, or the first that is installed."""
    named = os.environ.get("NEARKIN_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@contextmanager
def running_browser(flags: list[str] = FLAGS) -> Iterator[Any]:
    """A browser without a window and with an empty profile."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = launched(playwright, flags)
        yield browser
        browser.close()


def launched(playwright: Any, flags: list[str] = FLAGS) -> Any:
    """A browser of a Playwright that runs already."""
    return playwright.chromium.launch(executable_path=find_browser(), args=flags)


class Tab:
    """A tab with the page of a studio: what it shows, and what is done to it."""

    def __init__(self, page: Any) -> None:
        self.page = page
        page.set_default_timeout(PATIENCE_MS)

    def open(self, url: str, version: int = 0) -> None:
        """Load the page and wait until its points have come to rest."""
        self.page.goto(url)
        self.settle(version)

    def settle(self, version: int = 0) -> None:
        """Wait until a layout at least this new is shown and no point moves."""
        self.page.evaluate(_SETTLED, version)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def part(self, name: str) -> Any:
        """The element with this test id."""
        return self.page.get_by_test_id(name)

    def version(self) -> int:
        return int(self.page.evaluate("() => window.nearkin.version"))

    def asked(self) -> dict[str, Any]:
        """What is asked: ``left`` and ``right``, or ``left`` and ``rows`` that stand for groups."""
        found: dict[str, Any] = self.page.evaluate("() => window.nearkin.question()")
        return found

    def question(self) -> tuple[int, int]:
        found = self.asked()
        return found["left"], found["right"]

    def wait_for_question(self) -> None:
        self.page.wait_for_function("() => window.nearkin.question() !== null")

    def positions(self) -> np.ndarray:
        """Where the points are in the square from −1 to 1."""
        found = self.page.evaluate("() => Array.from(window.nearkin.positions())")
        return np.array(found).reshape(-1, 2)

    def points(self) -> np.ndarray:
        """Where the points are in the window, in pixels."""
        return np.array(self.page.evaluate(_POINTS)).reshape(-1, 2)

    def trace(self, n: int) -> list[dict[str, float]]:
        """Times of all answers, once that many of them were seen."""
        found: list[dict[str, float]] = self.page.evaluate(_TRACED, n)
        return found
