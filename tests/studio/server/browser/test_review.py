"""Doubtful pairs of records, reviewed in a browser."""

import csv
import json

import pytest

from nearkin.datasets import make_records
from tests.studio.server.browser.watched import expect

N = 120
TABLE, PERSON = make_records(N, random_state=1)


@pytest.fixture
def people(studio_of, tmp_path):
    with open(tmp_path / "people.csv", "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["id", *TABLE])
        lines.writerows([f"p{i}", *(TABLE[name][i] for name in TABLE)] for i in range(N))
    return studio_of(tmp_path, "people.csv", "--id", "id")


def opened(open_tab, people):
    """A tab in which a pair is asked that is doubtful by all that is known."""
    tab = open_tab(people.url)
    expect(tab.part("review-pair").first).to_be_visible()
    return tab


def key(pair):
    return "s" if PERSON[pair[0]] == PERSON[pair[1]] else "d"


def kept(people):
    """What the journal says of pairs, the last first."""
    lines = (people.folder / "people.csv.answers.jsonl").read_text().splitlines()
    found = [json.loads(line)["entry"] for line in lines[::-1]]
    return [one["entry"] for one in found if "entry" in one]


def test_doubtful_pairs_are_compared_answered_and_their_groups_downloaded(
    open_tab, people, tmp_path
):
    tab = opened(open_tab, people)
    what_differs_is_marked(tab, people)
    groups_are_downloaded(tab, tmp_path)
    fits_into_a_small_window(tab)
    answered_by_keys_and_buttons(tab, people)


def answered_by_keys_and_buttons(tab, people):
    # What is asked is what an answer changes most, and it stays until it is answered.
    first = tab.question()
    tab.shows("question-hint", "chance that they are the same is")
    expect(tab.part("review").locator("[aria-current]")).to_have_count(1)
    tab.answer(key(first))
    assert kept(people)[0]["origin"] == "review"
    assert {kept(people)[0]["left"], kept(people)[0]["right"]} == {f"p{row}" for row in first}
    second = tab.question()
    assert set(second) != set(first)

    # Another one of the list, by its button.
    button = tab.part("review-different").first
    button.click()
    tab.shows_answers(2)
    assert tab.question() == second
    assert kept(people)[0]["origin"] == "review"
    assert kept(people)[0]["same"] is False

    # It is learned from, and said.
    tab.shows("review-said", "by 2 answers")
    for name in ("review-precision", "review-recall"):
        expect(tab.part(name)).to_contain_text(" to ")
    assert tab.question() == second

    # What is undone is asked again.
    tab.press("z")
    tab.shows_answers(1)
    assert tab.question() != second
    tab.answer("d")
    assert tab.question() == second

    # All of it is there for whoever comes later, and with the pairs that are exported.
    tab.reload()
    tab.shows_answers(2)
    tab.shows("review-said", "by 2 answers")
    assert len(people.client.get("/api/export/pairs").text.splitlines()) == 3


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


def groups_are_downloaded(tab, tmp_path):
    name, lines = tab.download_table("download-groups", tmp_path)
    assert name == "groups.csv"
    assert list(lines[0]) == ["group", "id", "chance"]
    n_groups = len({line["group"] for line in lines})
    tab.shows("n-groups", str(n_groups))
    tab.shows("n-groups", f"of {len(lines)} records")


def fits_into_a_small_window(tab):
    before = tab.page.viewport_size
    tab.page.set_viewport_size({"width": 420, "height": 800})
    tab.settle()
    tab.part("review-same").first.scroll_into_view_if_needed()
    expect(tab.part("review-same").first).to_be_in_viewport()
    assert tab.page.evaluate("() => document.documentElement.scrollWidth") <= 420
    tab.page.set_viewport_size(before)
    tab.settle()
