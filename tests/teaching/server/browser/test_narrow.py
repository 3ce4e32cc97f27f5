"""Phones, 200 % zoom, texts from right to left: question and buttons are always in sight."""

from pathlib import Path

import pytest

from nearkin.teaching.lesson import Lesson
from nearkin.teaching.records import records_of
from tests.teaching.server.browser.stories import ARABIC, stories
from tests.teaching.server.browser.watched import expect
from tests.teaching.server.conftest import running

AXE = Path(__file__).parents[4] / "page/node_modules/axe-core/axe.min.js"
WIDE = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Buttons that can be pressed where they are: in the window, with nothing before them.
IN_SIGHT = """() => ["same", "different", "unsure"].filter((name) => {
    const button = document.querySelector(`[data-testid="answer-${name}"]`);
    const { left, top, width, height } = button.getBoundingClientRect();
    const there = document.elementFromPoint(left + width / 2, top + height / 2);
    return button.contains(there) && top >= 0 && top + height <= window.innerHeight;
})"""
ALL = ["same", "different", "unsure"]
PHONE = {"width": 360, "height": 740}
# A window of 1280 × 720 pixels at 200 %.
ENLARGED = {"width": 640, "height": 360}


@pytest.fixture(scope="module")
def studio():
    with running(Lesson(records_of(stories(), ids="id", source="stories"), seed=0)) as found:
        yield found


@pytest.mark.parametrize("window", [PHONE, ENLARGED, {"width": 960, "height": 540}])
def test_the_question_is_in_sight_wherever_one_looks(open_tab, studio, window):
    tab = open_tab(studio.url, version=studio.lesson.state()["version"], viewport=window)
    assert tab.page.evaluate(WIDE) <= 0
    for part in (0, 0.5, 1):
        tab.page.evaluate(
            "(part) => window.scrollTo(0, part * document.documentElement.scrollHeight)", part
        )
        assert tab.page.evaluate(IN_SIGHT) == ALL
        tab.shoot(f"narrow-{window['width']}-{part}")
    if window["width"] < 700:
        question, stage = (tab.part(name).bounding_box() for name in ("question", "stage"))
        assert question["y"] < stage["y"]
        title = tab.page.locator(".choices").first.get_attribute("data-title")
        left, right = tab.question()
        assert title == f"Same or different? ① s{left} ② s{right}"
    tab.part("answer-unsure").click()
    tab.answer("u")
    # A point far down is shown above the bar, not behind it.
    tab.press("m", "ArrowRight", "Enter")
    expect(tab.part("selected-id")).to_have_count(1)
    assert tab.page.evaluate(IN_SIGHT) == ALL


def test_texts_go_in_the_direction_of_their_letters(open_tab, studio):
    tab = open_tab(studio.url, version=studio.lesson.state()["version"], viewport=PHONE)
    tab.part("search").fill(ARABIC.split()[3])
    expect(tab.part("found-count")).to_have_text("10 of 60")
    tab.part("found-table").click()
    tab.part("table").locator("tbody th button").first.click()
    text = tab.part("point").locator(".record-card .long .value")
    expect(text).to_contain_text(ARABIC.strip()[:20])
    assert text.evaluate("(one) => getComputedStyle(one).direction") == "rtl"
    title = tab.part("point").locator(".record-card .value").first
    assert title.evaluate("(one) => getComputedStyle(one).direction") == "ltr"
    assert tab.page.evaluate(WIDE) <= 0
    tab.shoot("right-to-left")


def violations(tab):
    """All that axe-core finds, small targets included; of colours in the dark too."""
    found = []
    everything = {"rules": {"target-size": {"enabled": True}}}
    for scheme, options in (("dark", {"runOnly": ["color-contrast"]}), ("light", everything)):
        tab.page.emulate_media(color_scheme=scheme)
        expect(tab.page.locator("html")).to_have_attribute("data-theme", scheme)
        found += [
            (scheme, one["id"], [node["html"][:160] for node in one["nodes"]])
            for one in tab.page.evaluate("(options) => window.axe.run(options)", options)[
                "violations"
            ]
        ]
    return found


@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make studio")
@pytest.mark.parametrize("window", [PHONE, {"width": 1200, "height": 780}])
def test_axe_finds_nothing(open_tab, studio, window):
    version = studio.lesson.state()["version"]
    tab = open_tab(studio.url, version=version, viewport=window, bypass_csp=True)
    tab.page.evaluate(AXE.read_text())
    tab.part("filter-toggle").click()
    tab.part("filter-column").select_option(label="town")
    tab.part("filter-editor").get_by_label("Graz").check()
    expect(tab.part("found-count")).to_have_text("20 of 60")
    assert violations(tab) == []
    tab.part("found-table").click()
    expect(tab.part("table").locator("tbody tr")).to_have_count(20)
    assert violations(tab) == []
    tab.part("table").locator("tbody th button").first.click()
    expect(tab.part("neighbour")).to_have_count(10)
    tab.part("filter-toggle").click()
    assert violations(tab) == []
