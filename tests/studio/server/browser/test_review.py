"""Doubtful pairs of records, reviewed in a browser."""

import csv
import json

import pytest

from nearkin.datasets import make_records
from tests.studio.server.browser.watched import expect
from tests.waiting import until

N = 120
TABLE, PERSON = make_records(N, random_state=1)


@pytest.fixture
def people(studio_of, tmp_path):
    with open(tmp_path / "people.csv", "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["id", *TABLE])
        lines.writerows([f"p{i}", *(TABLE[name][i] for name in TABLE)] for i in range(N))
    return studio_of(tmp_path, "people.csv", "--id", "id")


def key(pair):
    return "s" if PERSON[pair[0]] == PERSON[pair[1]] else "d"


def kept(people):
    """What the journal says of pairs, the last first."""
    lines = (people.folder / "people.csv.answers.jsonl").read_text().splitlines()
    found = [json.loads(line)["entry"] for line in lines[::-1]]
    return [one["entry"] for one in found if "entry" in one]


def test_what_is_asked_is_chosen_and_duplicates_are_answered_and_browsed(
    open_tab, people, tmp_path
):
    tab = open_tab(people.url)
    expect(tab.part("chooser")).to_be_visible()
    tab.press("s")  # which is no answer yet
    tab.part("ask-things").click()
    asked = tab.asked()
    assert asked is None or asked["origin"] == "review"  # and no pair at random
    expect(tab.part("words")).to_have_value("The same thing twice?")
    tab.part("words").fill("The same person?")
    tab.press("Enter")
    tab.shows("quality-line", "of duplicates")  # they are compared
    tab.wait_for_question()
    what_differs_is_marked(tab, people)
    answered_by_keys(tab, people)
    found_groups_are_browsed(tab, people)
    name, lines = tab.download_table_of("duplicates", tmp_path)
    assert name == "duplicates.csv"
    assert list(lines[0]) == ["group", "id", "chance"]


def answered_by_keys(tab, people):
    first = tab.question()
    tab.answer(key(first))
    assert kept(people)[0]["origin"] == "review"
    assert {kept(people)[0]["left"], kept(people)[0]["right"]} == {f"p{row}" for row in first}
    second = tab.question()
    assert set(second) != set(first)
    # What is undone is asked again.
    tab.answer(key(second))
    tab.press("z")
    tab.shows_answers(1)
    assert tab.question() == second
    # All of it is there for whoever comes later, in the same words, once it is reviewed.
    until(lambda: people.get("/api/review")["version"] == people.state()["version"])
    tab.reload()
    tab.shows_answers(1)
    expect(tab.part("chooser")).to_be_hidden()
    expect(tab.part("words")).to_have_value("The same person?")
    tab.wait_for_question()


def found_groups_are_browsed(tab, people):
    tab.shows("quality-line", "of duplicates")
    tab.press("r")
    box = tab.part("duplicates")
    expect(box).to_contain_text("Group 1 of")
    expect(box.locator("tbody tr").nth(1)).to_be_visible()
    n = box.locator("tbody tr").count()
    tab.press("s")
    expect(box).to_contain_text("Group 2 of")
    tab.shows_answers(2)
    assert len(people.get("/api/known")["must_link"]) >= 2 * (n - 1)
    tab.press("ArrowLeft")
    expect(box).to_contain_text("settled")
    tab.press("ArrowRight")
    expect(box).to_contain_text("Group 2 of")
    before = len(people.get("/api/known")["cannot_link"])
    tab.press("1" if box.locator("tbody tr").count() > 2 else "d")
    expect(box).to_contain_text("Group 3 of")
    assert len(people.get("/api/known")["cannot_link"]) > before
    tab.press("Escape")
    expect(box).to_be_hidden()


def what_differs_is_marked(tab, people):
    # Also for whoever sees no colours.
    left, right = tab.question()
    record = people.get(f"/api/records/{left}?beside={right}")
    # Amounts nearly always differ: where they stand among others is shown instead.
    words = [field for field in record["fields"] if "rank" not in field]
    parts = [field["parts"] for field in words if "parts" in field]
    marked = [text for of_field in parts for text, differs in of_field if differs]
    card = tab.part("compare")
    shown = card.locator("td:nth-child(2) mark").all_inner_texts()
    assert shown == [text.strip() for text in marked]
    expect(card.locator(".unequal").first).to_have_text("≠")
    style = (
        "one => { const s = getComputedStyle(one); return [s.textDecorationLine, s.fontWeight] }"
    )
    assert card.locator("mark").first.evaluate(style) == ["underline", "700"]
    assert record["id"] in card.inner_text()
