"""Tabs that note what goes wrong in them, and what tests ask of them."""

import csv
import io
import os
import time
from contextlib import contextmanager
from itertools import combinations, count
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
from PIL import Image
from scipy.spatial import cKDTree
from sklearn.datasets import load_digits

from benchmarks.studio.browser import PATIENCE_MS, Tab

# The digits that the demonstration of these tests shows: few, since each answer is learned from.
PIXELS, DIGITS = (part[:300] for part in load_digits(return_X_y=True))
# Where pictures of the page are kept, to be looked at; none are taken without.
SCREENSHOTS = os.environ.get("NEARKIN_SCREENSHOTS")
_NUMBERS = count()
# Questions about pairs alone; pages without an address keep nothing.
PAIRS_ONLY = "try { localStorage.setItem('nearkin-by-groups', 'off') } catch {}"
WINDOW = {"width": 1200, "height": 780}
# Changes of others reach this page no more, as behind a line that has gone silent.
DEAF = "WebSocket = class extends WebSocket { set onmessage(hear) { super.onmessage = (event) => " \
    "window.__deaf || hear(event); } };"  # fmt: skip
# Messages go after 7 seconds (page/src/notices.ts), which no test is to be in time for.
_MESSAGES_STAY = """window.setTimeout = ((later) => (task, ms, ...more) =>
    ms === 7000 ? 0 : later(task, ms, ...more))(window.setTimeout);"""
_TWO_FRAMES = (
    "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
)
_IS_FREE = "([x, y]) => document.elementFromPoint(x, y)?.id === 'points'"
_CHOOSE_MAP = """try { localStorage["nearkin-map"] ??= "%s"; } catch {}"""


class WatchedTab(Tab):
    """A tab that keeps what the page complained of and which servers it asked."""

    def __init__(self, page, url):
        super().__init__(page)
        self.url = url
        self.seen = None
        self.complaints, self.addresses = [], []
        page.on("console", self._hear)
        page.on("pageerror", lambda error: self.complaints.append(f"error: {error}"))
        page.on("dialog", self._refuse)
        page.on("request", lambda request: self.addresses.append(request.url))
        page.on("websocket", lambda socket: self.addresses.append(socket.url))

    @classmethod
    @contextmanager
    def opened(cls, browser, url, version=0, settings=None):
        """A tab in a new profile; version None waits for nothing."""
        # Points go to their places at once, unless a test asks for the way.
        settings = {"viewport": WINDOW, "reduced_motion": "reduce", **(settings or {})}
        script = settings.pop("init_script", None)
        by_groups = settings.pop("by_groups", False)
        # Principal axes, which are there at once, unless a test is about the map of neighbours.
        map_choice = settings.pop("map_choice", "axes")
        context = browser.new_context(**settings)
        context.add_init_script(_CHOOSE_MAP % map_choice)
        context.add_init_script(_MESSAGES_STAY)
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

    def open_panel(self, name):
        """Open what was said, or the details, in the panel below the card."""
        if self.part(f"panel-{name}").get_attribute("aria-expanded") != "true":
            self.part(f"panel-{name}").click()

    def hears(self, studio):
        """Wait until all that a studio knows now is here, and its report on that."""
        report = studio.wait_for_report()
        self.rest(version=studio.state()["version"], reportVersion=report["version"])
        return report

    def choose_from_menu(self, name):
        """Press what is behind "More"."""
        self.part("more").click()
        self.part(name).click()

    def lonely_row(self):
        """A row whose point is far from all others and covered by nothing, and where it is."""
        points = self.points()
        gaps = cKDTree(points).query(points, k=2)[0][:, 1]
        for row in np.argsort(-gaps).tolist():
            if self.page.evaluate(_IS_FREE, points[row].tolist()):
                return row, points[row]
        raise AssertionError("no point is free")

    def move(self, place):
        """Move the mouse, and wait until the page has seen what is there."""
        self.page.mouse.move(*place)
        self.page.evaluate(_TWO_FRAMES)
        self.rest()

    def choose(self, row):
        """Go to a point, see its card, and click, as people do."""
        place = self.points()[row]
        self.move(place)
        expect(self.part("hover-card")).to_be_visible()
        self.page.mouse.click(*place)
        self.rest()

    def draw(self, corners):
        """Drag the mouse along these corners."""
        self.move(corners[0])
        self.page.mouse.down()
        for x, y in corners[1:]:
            self.page.mouse.move(x, y, steps=3)
            self.page.evaluate(_TWO_FRAMES)  # the outline takes no two corners of one moment
        self.page.mouse.up()
        self.rest()

    def choose_by_mouse(self, name, **option):
        """Open a menu with the mouse, and take something from it."""
        menu = self.part(name)
        menu.dispatch_event("pointerdown")
        menu.focus()
        menu.select_option(**option)

    def download(self, name, folder):
        """Click on a button, and keep the file that comes in a folder."""
        with self.page.expect_download() as coming:
            self.part(name).click()
        path = folder / coming.value.suggested_filename
        coming.value.save_as(path)
        return path

    def download_table(self, name, folder):
        """Name and lines of a CSV file that comes after a click on a button."""
        path = self.download(name, folder)
        with path.open(newline="") as file:
            return path.name, list(csv.DictReader(file))

    def download_table_of(self, what, folder):
        """Name and lines of a CSV file from the menu of exports."""
        self.part("export").click()
        return self.download_table(f"export-{what}", folder)

    def answers(self):
        """How many answers the page says there are."""
        return int(self.part("answers").inner_text().split()[0].replace("\N{NO-BREAK SPACE}", ""))

    def answer(self, key):
        """Answer what is asked by a key, which counts for one answer."""
        self.wait_for_question()
        n = self.answers()
        self.press(key)
        self.shows_answers(n + 1)

    def shows_answers(self, n):
        expect(self.part("answers")).to_have_text(f"{n} answer{'s' * (n != 1)}")

    def rest(self, **wanted):
        super().rest(**wanted)
        self.shoot()

    def shoot(self):
        """Keep a picture of the page if somebody wants to look at it, and it has changed."""
        if SCREENSHOTS and (picture := self.page.screenshot()) != self.seen:
            self.seen = picture
            test = os.environ["PYTEST_CURRENT_TEST"].rpartition("::")[2].partition(" ")[0]
            Path(SCREENSHOTS).mkdir(parents=True, exist_ok=True)
            (Path(SCREENSHOTS) / f"{test}-{next(_NUMBERS):03}.png").write_bytes(picture)

    def pixels(self, name="points"):
        """The colours of a part of the page as it is on the screen, once it has settled."""
        self.rest(drawn=True)
        self.page.evaluate(_TWO_FRAMES)
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
    return patient(getattr(locator, "locator_of_page", locator))


def links(studio):
    """The rows of pairs that are known, one after the other, by what was said of them."""
    known = studio.get("/api/known")
    return {kind: known[kind] for kind in ("must_link", "cannot_link", "unsure")}


def said_of(studio, pair):
    """What is known of a pair, or None."""
    for kind, rows in links(studio).items():
        ends = zip(rows[::2], rows[1::2], strict=True)
        if sorted(pair) in [sorted(one) for one in ends]:
            return kind
    return None


def asked(studio, state=None):
    """The question of a studio, waited for if answers came faster than questions are found."""
    question = (state or studio.state())["question"]
    if question is None:
        studio.wait_for_report()
        question = studio.state()["question"]
    return question


class Oracle:
    """Knows the digits."""

    def are_same(self, left, right):
        return bool(DIGITS[left] == DIGITS[right])

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
        rng = np.random.default_rng(0)
        rows = rng.choice(len(DIGITS), size=40, replace=False).tolist()
        pairs = rng.permutation(list(combinations(rows, 2)))[:n].tolist()
        pairs.sort(key=lambda pair: not self.are_same(*pair))
        for k, (left, right) in enumerate(pairs):
            same = self.are_same(left, right) != (k < 3)
            state = studio.post("/api/answers", {"left": left, "right": right, "same": same})
        return state["version"]
