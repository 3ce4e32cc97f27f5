"""A real browser: which one, how it is started, and a tab with the studio's page in it."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

# The first has no window to draw, which spares a third of the processor's work.
NAMES = ("chromium-headless-shell", "chromium", "chromium-browser", "google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-background-networking",
    # WebGL by software, so that it works on any machine.
    "--use-gl=angle",
    "--use-angle=swiftshader",
    "--enable-unsafe-swiftshader",
]
# Machines that test are busy at times. Nothing waits so long but what fails.
PATIENCE_MS = 120_000

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

# Nothing is under way, and what the root element tells of is here, at least as new as is asked for;
# also what is drawn later, if that is wanted.
_SETTLED = """([wanted, drawn]) => {
    const { dataset } = document.documentElement;
    const isNew = ([name, version]) => Number(dataset[name] ?? -1) >= version;
    const isStill = dataset.pending === "0" && (!drawn || dataset.drawing === "0");
    return isStill && Object.entries(wanted).every(isNew);
}"""
_SAID = "() => JSON.stringify(document.documentElement.dataset)"

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


# What people do to an element.
_ACTIONS = frozenset(
    [
        "check",
        "clear",
        "click",
        "dblclick",
        "dispatch_event",
        "fill",
        "press",
        "press_sequentially",
        "select_option",
        "uncheck",
    ]
)


class Part:
    """An element of a page, as Playwright's locators are one, but for what is done to it.

    A click and the like return when the page has had the replies to what it asked, and drawn them.
    """

    def __init__(self, tab: Tab, locator: Any) -> None:
        self._tab = tab
        self.locator_of_page = locator

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.locator_of_page, name)
        if not callable(found):
            return self._wrapped(found)

        def call(*values: Any, **named: Any) -> Any:
            result = found(*values, **named)
            if name in _ACTIONS:
                self._tab.rest()
            return self._wrapped(result)

        return call

    def _wrapped(self, found: Any) -> Any:
        is_locator = type(found) is type(self.locator_of_page)
        return Part(self._tab, found) if is_locator else found


class Tab:
    """A tab with the page of a studio: what it shows, and what is done to it.

    All that is done returns when the page has settled (page/src/settled.ts).
    """

    def __init__(self, page: Any) -> None:
        self.page = page
        page.set_default_timeout(PATIENCE_MS)

    def open(self, url: str, version: int = 0) -> None:
        """Load the page and wait until its points have come to rest."""
        self.page.goto(url)
        self.settle(version)

    def rest(self, *, drawn: bool = False, **versions: int) -> None:
        """Wait until nothing is under way, and versions are at least as high as these.

        They are called ``version``, ``reportVersion`` and ``mapVersion``. With ``drawn``, wait also
        for what is drawn a little later.
        """
        from playwright.sync_api import TimeoutError as InVain

        try:  # whatever pages are loaded meanwhile
            self.page.wait_for_function(_SETTLED, arg=[versions, drawn])
        except InVain:
            said = self.page.evaluate(_SAID)
            raise AssertionError(f"waited in vain for {versions}; the page says {said}") from None

    def settle(self, version: int = 0) -> None:
        """Wait until a layout at least this new is shown and no point moves."""
        self.rest(drawn=True, mapVersion=version)

    def reload(self, version: int | None = None) -> None:
        """Load the page anew; with a version, until its points have come to rest."""
        self.page.reload()
        if version is None:
            self.rest()
        else:
            self.settle(version)

    def strike(self, key: str) -> None:
        """Press a key, and do not wait for what comes of it."""
        self.page.keyboard.press(key)

    def press(self, *keys: str) -> None:
        for key in keys:
            self.strike(key)
            self.rest()

    def type(self, text: str) -> None:
        """Type where the focus is."""
        self.page.keyboard.type(text)
        self.rest()

    def part(self, name: str) -> Any:
        """The element with this test id."""
        return Part(self, self.page.get_by_test_id(name))

    def find(self, selector: str) -> Any:
        """The element with this selector."""
        return Part(self, self.page.locator(selector))

    def version(self) -> int:
        return int(self.page.evaluate("() => window.nearkin.version"))

    def asked(self) -> dict[str, Any]:
        """What is asked: ``left`` and ``right``, or ``left`` and ``rows`` that stand for groups."""
        found: dict[str, Any] = self.page.evaluate("() => window.nearkin.question()")
        return found

    def question(self) -> tuple[int, int]:
        """The pair that is asked about, once there is one."""
        self.wait_for_question()
        found = self.asked()
        return found["left"], found["right"]

    def wait_for_question(self) -> None:
        self.page.wait_for_function("() => (window.nearkin?.question() ?? null) !== null")

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
