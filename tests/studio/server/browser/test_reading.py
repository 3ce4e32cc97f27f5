"""The card: as high whatever is asked, all within it to be read, and nothing over anything else."""

import numpy as np
import pandas as pd
import pytest
from PIL import Image

from nearkin.datasets import make_records
from tests.studio.server.browser.stories import WORDS, stories
from tests.studio.server.browser.watched import expect

SIZES = ((1440, 900), (1024, 768), (1280, 800), (1920, 1080))
# Boxes of the card that people look at or press: no two overlap, none is outside the card, and
# what has text shows it.
BOXES = """() => {
    const card = document.getElementById("question").getBoundingClientRect();
    const names = [".card-head", ".hint", ".count", ".compare", ".choices", ".history",
        ".which-record", ".which-group", ".choice"];
    const all = names.flatMap((name) => [...document.querySelectorAll(`#question ${name}`)])
        .filter((one) => one.checkVisibility() && one.getBoundingClientRect().height > 0);
    const wrong = [];
    for (const one of all) {
        const a = one.getBoundingClientRect();
        if (a.left < card.left - 1 || a.right > card.right + 1 || a.bottom > card.bottom + 1)
            wrong.push(`${one.className} is outside`);
        for (const other of all) {
            if (one === other || one.contains(other) || other.contains(one)) continue;
            const b = other.getBoundingClientRect();
            const across = a.left < b.right - 1 && b.left < a.right - 1;
            if (across && a.top < b.bottom - 1 && b.top < a.bottom - 1)
                wrong.push(`${one.className} is over ${other.className}`);
        }
    }
    for (const one of document.querySelectorAll("#question :is(.choice, .field, .words)")) {
        if (one.checkVisibility() && one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0)
            wrong.push(`${one.textContent || one.value} is cut off`);
    }
    const list = document.querySelector(".which-groups");
    if (list && list.scrollHeight > list.clientHeight + 1) wrong.push("groups are cut off");
    return wrong;
}"""
# Lines of text that are seen of what is asked about.
LINES = """() => {
    const box = document.querySelector(".which-record") ?? document.querySelector(".compare");
    const text = box.querySelector(".long .value, .value") ?? box;
    const { top, bottom } = text.getBoundingClientRect();
    const frame = box.getBoundingClientRect();
    const height = Number.parseFloat(getComputedStyle(text).lineHeight) || 19;
    const seen = (Math.min(bottom, frame.bottom) - Math.max(top, frame.top)) / height;
    return Math.round(seen);
}"""
# Controls that are in sight, but for those that ask who else is there; the share of the window that
# is map; sizes of letters.
CALM = """() => {
    const seen = (one) => one.checkVisibility({ visibilityProperty: true })
        && one.getBoundingClientRect().width > 1;
    const controls = [...document.querySelectorAll("button, select, input, summary, a")]
        .filter((one) => !one.closest("#ask-name"));
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    const sizes = new Set();
    while (texts.nextNode()) {
        const { parentElement, data } = texts.currentNode;
        if (data.trim() && seen(parentElement)) sizes.add(getComputedStyle(parentElement).fontSize);
    }
    const map = document.getElementById("map").getBoundingClientRect();
    const share = (map.width * map.height) / (innerWidth * innerHeight);
    const shown = controls.filter((one) => seen(one) && !one.classList.contains("skip"));
    return [shown.map((one) => one.dataset.testid ?? one.tagName), share, [...sizes]];
}"""
PLACES = """() => ["answer-same", "answer-different", "answer-unsure"]
    .map((name) => document.querySelector(`[data-testid="${name}"]`).getBoundingClientRect())
    .map(({ left, top }) => [left, top])"""


def texts(folder):
    """Long texts of three kinds, with vectors."""
    rng = np.random.default_rng(0)
    kinds = np.arange(60) % 4
    vectors = (rng.normal(size=(60, 6)) + 6 * np.eye(6)[kinds]).round(3)
    frame = pd.DataFrame({"text": [f"Text {k}. {WORDS * 12}" for k in range(60)]})
    frame.assign(vector=vectors.tolist()).to_parquet(folder / "texts.parquet")
    return ["texts.parquet"], kinds


def numbers(folder):
    """Thirteen numbers of four kinds."""
    rng = np.random.default_rng(0)
    kinds = np.arange(60) % 4
    X = rng.normal(size=(60, 13)) + 6 * np.eye(13)[kinds]
    pd.DataFrame(X, columns=[f"a rather long name {k}" for k in range(13)]).to_csv(
        folder / "numbers.csv", index=False
    )
    return ["numbers.csv"], kinds


def pictures(folder):
    """Pictures in nine shades, as many as are shown beside one of them."""
    rng = np.random.default_rng(0)
    kinds = np.arange(54) % 9
    (folder / "pics").mkdir()
    for k, kind in enumerate(kinds):
        grey = np.full((64, 64), 30 * kind, dtype=np.uint8) + rng.integers(0, 9, (64, 64)).astype(
            "u1"
        )
        Image.fromarray(grey).save(folder / "pics" / f"{k:02d}.png")
    return ["pics"], kinds


def people(folder):
    """Records of people."""
    table, person = make_records(60, random_state=1)
    pd.DataFrame(table).to_csv(folder / "people.csv", index=False)
    return ["people.csv"], np.asarray(person) % 4


@pytest.mark.parametrize("make", [texts, numbers, pictures, people])
def test_nothing_covers_what_is_asked_in_any_window(open_tab, studio_of, tmp_path, make):
    arguments, kinds = make(tmp_path)
    studio = studio_of(tmp_path, *arguments)
    if studio.get("/api/lesson")["review"]:
        studio.post("/api/ask", {"purpose": "kinds", "words": "The same kind of thing?"})
    first = [np.flatnonzero(kinds == kind)[:2].tolist() for kind in range(kinds.max() + 1)]
    tabs = [
        open_tab(
            studio.url, viewport=dict(zip(("width", "height"), size, strict=True)), by_groups=True
        )
        for size in SIZES
    ]
    for tab, size in zip(tabs, SIZES, strict=True):
        tab.wait_for_question()
        assert tab.page.evaluate(BOXES) == [], size
        if make is texts:
            assert tab.page.evaluate(LINES) >= 8, size
        controls, share, sizes = tab.page.evaluate(CALM)
        assert len(controls) <= 20, " ".join(controls)
        assert share >= (0.55 if size[0] >= 1440 else 0.5)
        assert len(sizes) <= 4, sizes
        places = tab.page.evaluate(PLACES)
        tab.press("u")
        tab.wait_for_question()
        assert tab.page.evaluate(PLACES) == places  # buttons stay where they are
        tab.press("z")
        tab.press("Escape")
    for k, (one, other) in enumerate(first):
        studio.post("/api/which", {"left": other, "rows": [one], "right": one, "same": True})
        if k:
            others = [some[0] for some in first[:k]]
            studio.post("/api/which", {"left": one, "rows": others, "same": False})
    studio.wait_for_report()
    for tab, size in zip(tabs, SIZES, strict=True):
        tab.hears(studio)
        for _ in range(3):
            if tab.asked().get("rows") is not None:
                expect(tab.part("which-group").first).to_be_visible()
                tab.rest(drawn=True)
                assert tab.page.evaluate(BOXES) == [], size
                if make is texts:
                    assert tab.page.evaluate(LINES) >= 8, size
                controls, share, sizes = tab.page.evaluate(CALM)
                # With nine groups, which is the most, there are 20.
                assert len(controls) - controls.count("which-group") <= 11, " ".join(controls)
                assert len(sizes) <= 4, sizes
            tab.press("u")
            tab.wait_for_question()


def test_texts_are_read_as_far_as_they_go_and_pictures_up_close(open_tab, tales, tab):
    pictures_are_large_and_looked_at_more_closely(tab)
    version, size = tales.state()["version"], {"width": 1400, "height": 900}
    tab = open_tab(tales.url, version=version, viewport=size)
    tab.wait_for_question()
    card = tab.part("compare")
    assert "The end of" not in card.inner_text()
    card.get_by_test_id("show-all").first.click()
    expect(card).to_contain_text("The end of story")
    expect(card.get_by_test_id("show-all")).to_have_count(0)
    tab.answer("d")
    # Fields have one order, and two numbers stand on one scale.
    scales = 0
    for _ in range(3):
        left, right = tab.question()
        assert card.locator(".field").all_inner_texts() == ["title", "town", "text", "price"]
        prices = [stories()["price"][row] for row in (left, right)]
        expect(card.locator(".scale-mark")).to_have_count(int(sum(p == p for p in prices)))
        scales += sum(p == p for p in prices)
        tab.answer("u")
    assert scales > 0


def pictures_are_large_and_looked_at_more_closely(tab):
    picture = tab.part("compare").locator("img").first
    expect(picture).to_have_js_property("naturalWidth", 400)
    assert min(picture.bounding_box()[side] for side in ("width", "height")) >= 200
    tab.part("compare").get_by_test_id("picture").first.click()
    closer = tab.part("closer")
    expect(closer.locator("img")).to_have_count(2)
    expect(closer.locator("img").last).to_have_js_property("naturalWidth", 1600)
    tab.press("+", "+", "-", "s")
    tab.shows("closer-times", "150")
    panes = closer.locator(".closer-pane")
    panes.first.evaluate("(pane) => pane.scrollTo(40, 30)")
    expect(panes.last).to_have_js_property("scrollTop", 30)  # both move together
    tab.press("Escape")
    expect(closer).to_be_hidden()
    tab.shows_answers(0)
