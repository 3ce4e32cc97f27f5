"""Phones, 200 % zoom, texts from right to left: question and buttons are always in sight."""

from tests.studio.server.browser.stories import ARABIC
from tests.studio.server.browser.watched import expect

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


def test_the_question_is_in_sight_wherever_one_looks(open_tab, tales, demo):
    for window in (PHONE, ENLARGED, {"width": 960, "height": 540}):
        tab = open_tab(tales.url, version=tales.state()["version"], viewport=window)
        question_is_in_sight(tab, window)
        tab.page.close()
    # Pictures take no more room than there is, either.
    tab = open_tab(demo.url, version=demo.state()["version"], viewport=PHONE)
    for width in (390, 800):
        tab.page.set_viewport_size({"width": width, "height": 844})
        tab.settle()
        assert tab.page.evaluate("() => window.innerWidth") == width
        assert tab.page.evaluate(WIDE) <= 0
        tab.answer("u")
    tab = open_tab(tales.url, version=tales.state()["version"], viewport=PHONE)
    texts_go_in_the_direction_of_their_letters(tab)


def question_is_in_sight(tab, window):
    assert tab.page.evaluate(WIDE) <= 0
    for part in (0, 0.5, 1):
        tab.page.evaluate(
            "(part) => window.scrollTo(0, part * document.documentElement.scrollHeight)", part
        )
        assert tab.page.evaluate(IN_SIGHT) == ALL, (window, part)
    if window["width"] < 700:
        question, stage = (tab.part(name).bounding_box() for name in ("question", "stage"))
        assert question["y"] < stage["y"]
        left, right = tab.question()
        title = tab.page.locator(".choices").first.get_attribute("data-title")
        assert title == f"The same kind of thing? ① s{left} ② s{right}"
    n = tab.answers()
    tab.part("answer-unsure").click()
    tab.shows_answers(n + 1)
    tab.answer("u")
    # A point far down is shown above the bar, not behind it.
    tab.press("m", "ArrowRight", "Enter")
    expect(tab.part("selected-id")).to_have_count(1)
    assert tab.page.evaluate(IN_SIGHT) == ALL, window


def texts_go_in_the_direction_of_their_letters(tab):
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
