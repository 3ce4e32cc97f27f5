"""Hostile records, wrong addresses, missing pictures, no WebGL: harmless, and explained."""

import csv
import struct
import zlib

import numpy as np
import pytest
from PIL import Image

from benchmarks.studio.browser import launched
from tests.studio.server.browser.watched import Oracle, expect

IMAGE = "<img src=x onerror=window.__hacked=1>"
SCRIPT = "<script>window.__hacked=1</script>"
HOSTILE = [
    IMAGE,
    SCRIPT,
    "</td></table><svg onload=window.__hacked=1>",
    "long " * 20_000,
    "\u202eright to left \u05d0\u05d1\u05d2 \u0627\u0628",
    "javascript:window.__hacked=1",
    "{{constructor.constructor('window.__hacked=1')()}}",
]


@pytest.fixture
def hostile_studio(studio_of, tmp_path):
    """A studio of a file whose texts, kinds and names of columns are meant to be run."""
    rng = np.random.default_rng(0)
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["text", IMAGE, "kind", "x", "y", "z"])
        for k in range(60):
            values = rng.normal(size=3).round(4).tolist()
            lines.writerow([HOSTILE[k % 7], SCRIPT, HOSTILE[k % 3], *values])
    return studio_of(tmp_path, "rows.csv")


def test_hostile_text_is_shown_as_text(open_tab, hostile_studio):
    tab = open_tab(hostile_studio.url)
    record = tab.part("compare")
    expect(record).to_contain_text(IMAGE)  # the name of a column
    expect(record).to_contain_text(SCRIPT)
    seen = ""
    for _ in range(8):
        tab.wait_for_question()
        seen += record.inner_text()
        tab.answer("u")
    for text in (IMAGE, SCRIPT, HOSTILE[2]):
        assert text in seen
    # The same in the map, in the panel of a point and in legends.
    tab.press("m", "ArrowRight")
    tab.shows("hover-card", IMAGE)
    tab.press("Enter", "n")
    tab.shows("point", SCRIPT)
    for label in ("kind", IMAGE, "text"):
        tab.part("colour-by").select_option(label=label)
        tab.shows("legend", label)
    assert tab.page.evaluate("() => window.__hacked") is None
    assert tab.page.locator("[onerror], [onload], img[src='x'], main script").count() == 0
    # Long words neither widen the page nor the card.
    wide = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    assert tab.page.evaluate(wide) <= 0
    # Very long text is cut.
    tab.part("colour-by").select_option("")
    row = HOSTILE.index("long " * 20_000)
    tab.choose(row)
    text = tab.part("point").locator("dd").first
    expect(text).to_contain_text("long long")
    assert len(text.inner_text()) < 2100


NAMES_OF_PICTURES = ("missing.png", "there.png", "broken.png", "enormous.png")


@pytest.mark.night
def test_pictures_that_are_missing_broken_or_enormous_are_named_so(open_tab, studio_of, tmp_path):
    Image.new("RGB", (40, 30), "red").save(tmp_path / "there.png")
    content = (tmp_path / "there.png").read_bytes()
    (tmp_path / "broken.png").write_bytes(content[:60])
    head = b"IHDR" + struct.pack(">II", 90_000, 90_000) + content[24:29]
    (tmp_path / "enormous.png").write_bytes(
        content[:12] + head + struct.pack(">I", zlib.crc32(head)) + content[33:]
    )
    rng = np.random.default_rng(0)
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["picture", "x", "y"])
        for k in range(12):
            lines.writerow([NAMES_OF_PICTURES[k % 4], *rng.normal(size=2).round(3)])
    studio = studio_of(tmp_path, "rows.csv", "--image", "picture")
    tab = open_tab(studio.url)
    for row, why in ((0, "is not there"), (2, "cannot be read"), (3, "is too large to open")):
        tab.choose(row)
        expect(tab.part("selected-id")).to_have_text(f"row {row}")
        tab.shows("point", f"The picture {NAMES_OF_PICTURES[row]} ")
        tab.shows("point", why)
    tab.choose(1)
    expect(tab.part("selected-id")).to_have_text("row 1")
    picture = tab.part("point").locator(".record-card img")
    expect(picture).to_be_visible()
    # Its address comes after the element, so that there may be nothing to decode at first.
    expect(picture).to_have_js_property("naturalWidth", 40)
    assert all("404" in complaint for complaint in tab.complaints)
    tab.complaints.clear()


def test_without_webgl_questions_still_work(open_tab, demo, playwright):
    browser = launched(playwright, ["--no-sandbox", "--disable-gpu", "--disable-3d-apis"])
    try:
        tab = open_tab(demo.url, version=None, browser=browser)
        expect(tab.part("no-webgl")).to_contain_text("WebGL")
        tab.rest()
        expect(tab.part("stage")).to_be_hidden()
        tab.answer(Oracle().key(tab.question()))
        tab.press("z")
        tab.shows_answers(0)
        expect(tab.part("export")).to_be_visible()
    finally:
        browser.close()
    # Nor is the page blank where a context cannot be had.
    script = "HTMLCanvasElement.prototype.getContext = () => null;"
    tab = open_tab(demo.url, version=None, init_script=script)
    expect(tab.part("no-webgl")).to_contain_text("WebGL")
    tab.answer("u")
