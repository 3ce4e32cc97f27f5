"""Why two records are near or far, as people see it."""

import csv
from itertools import product

import pytest

from tests.studio.server.browser.watched import Oracle, expect

# How opaque the most opaque pixel is that is drawn over a picture.
MOST_OPAQUE = """canvas => Math.max(
    ...canvas.getContext("2d").getImageData(0, 0, 8, 8).data.filter((_, k) => k % 4 === 3)
)"""


def test_pairs_of_the_card_and_of_the_map_are_explained(open_tab, demo, tellers):
    oracle = Oracle()
    version = oracle.teach(demo, 12)
    tab = open_tab(demo.url, version=version)
    tab.hears(demo)
    expect(tab.part("why")).to_be_hidden()
    why = reasons_of_the_card(tab, demo, oracle)
    tab.press("y")
    expect(tab.part("why-sentence")).to_contain_text("two records are called the same")
    expect(tab.part("why")).to_be_focused()
    left, right = tab.question()
    tab.shows("why-pair", f"row {left} and row {right}")
    heat = tab.part("why-heat")
    expect(heat).to_have_count(2)
    assert heat.first.evaluate(MOST_OPAQUE) > 200
    # The answers that moved the two can be looked at.
    expect(tab.part("why-answer")).to_have_count(len(why["answers"]))
    first = tab.part("why-answer").first
    first.click()
    expect(first).to_have_attribute("aria-expanded", "true")
    expect(tab.part("why").locator(".compared img").first).to_be_visible()
    expect(tab.page.locator(".ring.looked:visible")).to_have_count(2)
    first.click()
    expect(tab.part("why").locator(".compared")).to_have_count(0)
    # The next pair is judged before its reasons are seen.
    tab.answer(oracle.key(tab.question()))
    expect(tab.part("why")).to_be_hidden()
    tab.press("y")
    expect(tab.part("why-sentence")).to_be_visible()
    tab.press("Escape")
    expect(tab.part("why")).to_be_hidden()
    expect(tab.part("question")).to_be_focused()

    demo.forget()
    tab.settle(demo.state()["version"])
    a_point_and_another_are_explained(tab, demo)
    words_of_records_are_marked(open_tab(tellers.url), tellers)


def reasons_of_the_card(tab, studio, oracle):
    """Why the two on the card are near or far, after answers until some of these moved them.

    Which pair is asked about depends on how far learning has come when its answer does.
    """
    for _ in range(20):
        left, right = tab.question()
        why = studio.get(f"/api/why?left={left}&right={right}")
        if why["answers"]:
            return why
        tab.answer(oracle.key(tab.question()))
    raise AssertionError("no answer moves any pair that is asked about")


def a_point_and_another_are_explained(tab, demo):
    row, _ = tab.lonely_row()
    tab.choose(row)
    near = demo.get(f"/api/records/{row}/neighbors?n=10")["neighbors"][0]["row"]
    tab.part("neighbour-why").first.click()
    tab.shows("why-pair", f"row {row} and row {near}")
    expect(tab.part("why-none")).to_be_visible()
    # Two points: the selected one, and the one that is pointed at.
    tab.move(tab.points()[near])
    expect(tab.part("hover-card")).to_be_visible()
    other = tab.part("hover-card").locator("strong").inner_text()
    tab.part("why-close").click()
    expect(tab.part("why")).to_be_hidden()
    tab.move(tab.points()[near])
    tab.shows("hover-card", other)
    tab.press("y")
    tab.shows("why-pair", f"{row} and {other}")


@pytest.fixture
def tellers(studio_of, tmp_path):
    """A studio of records with texts, some of them hostile, and gaps."""
    parts = product(
        ("cat", "dog", "owl", "fox"), ("old", "young"), ("house", "yard", "<b>barn</b>"), "xy"
    )
    rows = [
        (f"t{i}", f"the {animal} was {age} and lived in the {place} {letter}", f"{animal}son {i}")
        for i, (animal, age, place, letter) in enumerate(parts)
    ]
    rows = [(*row, "" if i % 5 == 0 else f"{i + 7}") for i, row in enumerate(rows)]
    with open(tmp_path / "tales.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("id", "tale", "teller", "age"), *rows])
    return studio_of(tmp_path, "tales.csv", "--records", "--id", "id")


def words_of_records_are_marked(tab, tellers):
    tab.hears(tellers)
    row, _ = tab.lonely_row()
    tab.choose(row)
    tab.part("neighbour-why").last.click()
    expect(tab.part("why-columns").locator("li").first).to_be_visible()
    assert "tale" in tab.part("why-columns").locator(".why-name").all_inner_texts()
    expect(tab.part("why-columns").locator("mark").first).to_be_visible()
    left, right = tab.part("why-pair").inner_text().split(" and ")
    rows = [int(name[1:]) for name in (left, right)]
    why = tellers.get(f"/api/why?left={rows[0]}&right={rows[1]}")
    told = {word["text"] for words in why["words"].values() for word in words}
    marks = tab.part("why-columns").locator("mark").all_inner_texts()
    assert {mark.lower() for mark in marks} <= told
