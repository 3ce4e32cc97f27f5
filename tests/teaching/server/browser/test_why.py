"""Why two records are near or far, as people see it."""

import csv

import numpy as np
import pytest

from benchmarks.studio.process import running_studio
from tests.teaching.server.browser.watched import Oracle, expect


def test_the_pair_on_the_card_is_explained(tab, demo):
    oracle = Oracle()
    for _ in range(12):
        tab.answer(oracle.key(tab))
    tab.settle(demo.state()["version"])
    expect(tab.part("why")).to_be_hidden()
    tab.press("y")
    expect(tab.part("why-sentence")).to_contain_text("The chance that these are is")
    expect(tab.part("why")).to_be_focused()
    question = demo.state()["question"]
    tab.shows("why-pair", f"{question['left']} and {question['right']}")
    heat = tab.part("why-heat")
    expect(heat).to_have_count(2)
    opaque = "canvas => canvas.getContext('2d').getImageData(0, 0, 8, 8).data.filter((_, k) => k % 4 === 3)"
    assert max(heat.first.evaluate(f"canvas => Math.max(...({opaque})(canvas))") for _ in "1") > 200
    # The answers that moved the two can be looked at.
    why = demo.get(f"/api/why?left={question['left']}&right={question['right']}")
    expect(tab.part("why-answer")).to_have_count(len(why["answers"]))
    first = tab.part("why-answer").first
    first.click()
    expect(first).to_have_attribute("aria-expanded", "true")
    expect(tab.part("why").locator(".compared img").first).to_be_visible()
    expect(tab.page.locator(".ring.looked:visible")).to_have_count(2)
    tab.shoot("why")
    first.click()
    expect(tab.part("why").locator(".compared")).to_have_count(0)
    # The next pair is judged before its reasons are seen.
    tab.answer(oracle.key(tab))
    expect(tab.part("why")).to_be_hidden()
    tab.press("y")
    expect(tab.part("why-sentence")).to_be_visible()
    tab.press("Escape")
    expect(tab.part("why")).to_be_hidden()
    expect(tab.part("question")).to_be_focused()
    tab.check()


def test_a_point_and_its_neighbour_are_explained(tab, demo):
    row = 5
    tab.page.evaluate("row => window.nearkin.model.selected.set(row)", row)
    near = demo.get(f"/api/records/{row}/neighbors?n=10")["neighbors"][0]["row"]
    tab.part("neighbour-why").first.click()
    tab.shows("why-pair", f"{row} and {near}")
    expect(tab.part("why-none")).to_be_visible()
    # Two points: the selected one, and the one that is pointed at.
    tab.page.evaluate("row => window.nearkin.model.hovered.set(row)", 7)
    tab.press("y")
    tab.shows("why-pair", f"{row} and 7")
    tab.part("why-close").click()
    expect(tab.part("why")).to_be_hidden()
    tab.check()


@pytest.fixture(scope="module")
def tales(tmp_path_factory):
    """A studio of records with texts, one of them hostile, and gaps."""
    folder = tmp_path_factory.mktemp("tales")
    rng = np.random.default_rng(0)
    animals, places = ("cat", "dog", "owl", "fox"), ("house", "yard", "<b>barn</b>")
    rows = [
        (f"t{i}", f"the {animals[i % 4]} was {rng.choice(['old', 'young'])} and lived in the "
         f"{places[i % 3]} number {i}", f"{rng.choice(['Ann', 'Bob', 'Cyd'])} {animals[i % 4]}son {i}",
         "" if i % 5 == 0 else str(rng.integers(1, 90)))
        for i in range(48)
    ]  # fmt: skip
    with open(folder / "tales.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "tale", "teller", "age"), *rows])
    with running_studio("tales.csv", "--id", "id", folder=folder) as studio:
        yield studio


def test_words_of_records_are_marked(open_tab, tales):
    tab = open_tab(tales.url)
    tab.page.evaluate("() => window.nearkin.model.selected.set(0)")
    tab.page.evaluate("() => window.nearkin.model.hovered.set(1)")
    tab.press("y")
    expect(tab.part("why-columns").locator("li").first).to_be_visible()
    names = tab.part("why-columns").locator(".why-name").all_inner_texts()
    assert "tale" in names
    marks = tab.part("why-columns").locator("mark").all_inner_texts()
    assert {"cat", "dog"} <= set(marks)
    tab.shoot("why-words")
    tab.check()
