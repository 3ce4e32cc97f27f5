"""Tabs that note what goes wrong in them, and what tests ask of them."""

import io
import os
import time
from contextlib import contextmanager
from itertools import combinations
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from PIL import Image
from sklearn.datasets import load_digits

from benchmarks.studio.browser import PATIENCE_MS, Tab

# Where pictures of the page are kept, to be looked at; none are taken without.
SCREENSHOTS = os.environ.get("NEARKIN_SCREENSHOTS")
# As people turn questions beside several groups off; pages without an address keep nothing.
PAIRS_ONLY = "try { localStorage.setItem('nearkin-by-groups', 'off') } catch {}"
WINDOW = {"width": 1200, "height": 780}
_CHOOSE_MAP = """try { localStorage["nearkin-map"] ??= "%s"; } catch {}"""


class WatchedTab(Tab):
    """A tab that keeps what the page complained of and which servers it asked."""

    def __init__(self, page, url):
        super().__init__(page)
        self.url = url
        self.complaints = []
        self.addresses = []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", self._refuse)
        page.on("request", lambda request: self.addresses.append(request.url))
        page.on("websocket", lambda socket: self.addresses.append(socket.url))

    @classmethod
    @contextmanager
    def opened(cls, browser, url, version=0, settings=None):
        """A tab in a new profile; version None does not wait for points."""
        # Points go to their places at once, unless a test asks for the way.
        settings = {"viewport": WINDOW, "reduced_motion": "reduce", **(settings or {})}
        script = settings.pop("init_script", None)
        by_groups = settings.pop("by_groups", False)
        # Principal axes, which are there at once, unless a test is about the map of neighbours.
        map_choice = settings.pop("map_choice", "axes")
        context = browser.new_context(**settings)
        context.add_init_script(_CHOOSE_MAP % map_choice)
        if not by_groups:  # questions are about pairs, unless a test is about others
            context.add_init_script(PAIRS_ONLY)
        if script:
            context.add_init_script(script)
        try:
            tab = cls(context.new_page(), url)
            if version is None:
                tab.page.goto(url)
            else:
                tab.open(url, version)
            yield tab
        finally:
            context.close()

    def _hear(self, message):
        if message.type == "error":
            self.complaints.append(f"console: {message.text}")

    def _refuse(self, dialog):
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def check(self):
        """No complaint, and no word to another server."""
        assert self.complaints == [], self.complaints
        home = urlsplit(self.url).netloc
        foreign = [one for one in self.addresses if _host(one) not in (home, None)]
        assert foreign == []

    def wait_for(self, condition):
        """Let the browser go on until something is true here."""
        end = time.monotonic() + PATIENCE_MS / 1000
        while not condition():
            assert time.monotonic() < end
            self.page.wait_for_timeout(20)

    def shows(self, name, text):
        """Wait until a part of the page has this text in it."""
        expect(self.part(name)).to_contain_text(text)

    def choose(self, row):
        """Go to a point, see its card, and click, as people do."""
        place = self.points()[row]
        self.page.mouse.move(*place)
        expect(self.part("hover-card")).to_be_visible()
        self.page.mouse.click(*place)

    def answers(self):
        """How many answers the page says there are."""
        return int(self.part("answers").inner_text().split()[0].replace("\N{NO-BREAK SPACE}", ""))

    def answer(self, key):
        """Press a key and wait until the answer is counted."""
        n = self.answers()
        self.press(key)
        self.shows_answers(n + 1)

    def shows_answers(self, n):
        expect(self.part("answers")).to_have_text(f"{n} answer{'s' * (n != 1)}")

    def shoot(self, name):
        """Keep a picture of the page, if somebody wants to look at it."""
        if SCREENSHOTS:
            self.page.screenshot(path=Path(SCREENSHOTS) / f"{name}.png")

    def pixels(self, name="points"):
        """The colours of a part of the page as it is on the screen."""
        picture = Image.open(io.BytesIO(self.part(name).screenshot()))
        return np.asarray(picture.convert("RGB"))


def _host(address):
    """The server of an address; None if it is a part of the page itself."""
    parts = urlsplit(address)
    return None if parts.scheme in ("data", "blob") else parts.netloc


def expect(locator):
    """Playwright's assertions, as patient as all else here."""
    from playwright.sync_api import expect as patient

    patient.set_options(timeout=PATIENCE_MS)
    return patient(locator)


def asked(studio, state=None):
    """The question of a studio, waited for if answers came faster than questions are found."""
    question = (state or studio.state())["question"]
    if question is None:
        studio.wait_for_report()
        question = studio.state()["question"]
    return question


class Oracle:
    """Knows the digits."""

    def __init__(self):
        self.labels = load_digits().target

    def are_same(self, left, right):
        return bool(self.labels[left] == self.labels[right])

    def key(self, question):
        return "s" if self.are_same(*question) else "d"

    def teach(self, studio, n):
        """Answer questions without the page."""
        state = studio.state()
        for _ in range(n):
            question = asked(studio, state)
            same = self.are_same(question["left"], question["right"])
            state = studio.post("/api/answers", {**question, "same": same})
        return state["version"]

    def teach_with_errors(self, studio, n):
        """Say whether so many pairs of 40 rows are the same, of the first three wrongly."""
        rng = np.random.default_rng(1)
        rows = rng.choice(len(self.labels), size=40, replace=False).tolist()
        pairs = rng.permutation(list(combinations(rows, 2)))[:n].tolist()
        pairs.sort(key=lambda pair: not self.are_same(*pair))
        for k, (left, right) in enumerate(pairs):
            same = self.are_same(left, right) != (k < 3)
            state = studio.post("/api/answers", {"left": left, "right": right, "same": same})
        return state["version"]
