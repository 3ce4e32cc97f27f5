"""Doubtful pairs of records, reviewed in a browser."""

import csv
import json

import pytest

from benchmarks.studio.process import running_studio
from nearkin.datasets import make_records
from tests.teaching.server.browser.watched import expect

N = 120
TABLE, PERSON = make_records(N, random_state=1)


@pytest.fixture(scope="module")
def people_of_module(browser, tmp_path_factory):
    folder = tmp_path_factory.mktemp("people")
    with open(folder / "people.csv", "w", newline="") as file:
        lines = csv.writer(file)
        lines.writerow(["id", *TABLE])
        lines.writerows([f"p{i}", *(TABLE[name][i] for name in TABLE)] for i in range(N))
    with running_studio("people.csv", "--id", "id", folder=folder) as studio:
        yield studio


@pytest.fixture
def people(people_of_module):
    """The studio of people, with no answer yet."""
    people_of_module.forget()
    return people_of_module


@pytest.fixture
def tab(open_tab, people):
    return opened(open_tab, people)


def opened(open_tab, people, **settings):
    """A tab in which a pair is asked that is doubtful by all that is known."""
    tab = open_tab(people.url, version=people.state()["version"], **settings)
    expect(tab.part("review-pair").first).to_be_visible()
    return tab


def key(pair):
    return "s" if PERSON[pair[0]] == PERSON[pair[1]] else "d"


def kept(people):
    """What the journal says of pairs, the last first."""
    lines = (people.folder / "people.csv.answers.jsonl").read_text().splitlines()
    found = [json.loads(line)["entry"] for line in lines[::-1]]
    return [one["entry"] for one in found if "entry" in one]


def test_doubtful_pairs_are_answered_by_keys_and_buttons(tab, people):
    # What is asked is what an answer changes most, and it stays until it is answered.
    first = tab.question()
    tab.shows("question-hint", "chance that they are the same is")
    expect(tab.part("review").locator("[aria-current]")).to_have_count(1)
    tab.answer(key(first))
    assert kept(people)[0]["origin"] == "review"
    assert {kept(people)[0]["left"], kept(people)[0]["right"]} == {f"p{row}" for row in first}
    tab.wait_for(lambda: set(tab.question()) != set(first))
    second = tab.question()

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
    tab.shoot("review")

    # What is undone is asked again.
    tab.press("z")
    tab.shows_answers(1)
    tab.wait_for(lambda: tab.question() != second)
    tab.press("d")
    tab.shows_answers(2)
    tab.wait_for(lambda: tab.question() == second)

    # All of it is there for whoever comes later, and with the pairs that are exported.
    tab.page.reload()
    tab.shows_answers(2)
    tab.shows("review-said", "by 2 answers")
    assert len(people.client.get("/api/export/pairs").text.splitlines()) == 3


def test_what_differs_is_marked_for_whoever_sees_no_colours(tab, people):
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


def test_groups_are_downloaded(tab, people, tmp_path):
    with tab.page.expect_download() as coming:
        tab.part("download-groups").click()
    assert coming.value.suggested_filename == "groups.csv"
    coming.value.save_as(tmp_path / "groups.csv")
    with open(tmp_path / "groups.csv", newline="") as file:
        lines = list(csv.DictReader(file))
    assert list(lines[0]) == ["group", "id", "chance"]
    n_groups = len({line["group"] for line in lines})
    tab.shows("n-groups", str(n_groups))
    tab.shows("n-groups", f"of {len(lines)} records")
    tab.part("theme").click()
    tab.shoot("review-dark")


def test_small_windows(open_tab, people):
    tab = opened(open_tab, people, viewport={"width": 420, "height": 800})
    tab.part("question").scroll_into_view_if_needed()
    tab.shoot("review-small")
    tab.part("review-same").first.scroll_into_view_if_needed()
    expect(tab.part("review-same").first).to_be_in_viewport()
    tab.shoot("review-small-list")
    width = tab.page.evaluate("() => document.documentElement.scrollWidth")
    assert width <= 420


def test_tables_of_numbers_have_no_review(open_tab, demo):
    tab = open_tab(demo.url, version=demo.state()["version"])
    expect(tab.part("tab-review")).to_have_count(0)
    tab.press("r")
    expect(tab.part("tab-quality")).to_have_attribute("aria-selected", "true")
