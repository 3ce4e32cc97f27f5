"""Records that somebody looks for: on the map, in a table, in a file."""

import numpy as np
import pytest

from tests.studio.server.browser.stories import N, stories
from tests.studio.server.browser.watched import expect


@pytest.fixture
def tab(open_tab, tales):
    return open_tab(tales.url, version=tales.state()["version"])


def ink(tab):
    """How much darker than its background the map is, at its darkest places."""
    tab.settle()
    grey = tab.pixels().astype(int).mean(axis=2)
    return int((np.median(grey) - grey > 100).sum())


def test_what_is_looked_for_is_found_and_goes_into_a_table_and_a_file(tab, tales, tmp_path):
    found_by_text(tab)
    nothing_matches(tab)
    a_table_is_gone_through_by_keys_and_kept_as_a_file(tab, tmp_path)
    tab.part("filter-clear").click()
    found_by_columns_and_doubt(tab, tales)


def found_by_text(tab):
    tab.press("/")
    expect(tab.part("search")).to_be_focused()
    tab.type("CAFE lodz")
    expect(tab.part("found-count")).to_have_text(f"15 of {N}")
    tab.shows("announcer", "15 records found")
    tab.shows("filter-said", "Filter: “CAFE lodz”")
    tab.part("question").focus()
    tab.answer("d")
    expect(tab.part("found-count")).to_have_text(f"15 of {N}")
    # What is found can be spoken of as a group.
    tab.part("found-select").click()
    tab.shows("selected-count", "15 records")
    tab.press("Escape")
    # One press shows all again.
    tab.part("filter-clear").click()
    expect(tab.part("filter-said")).to_be_hidden()
    expect(tab.part("found-actions")).to_be_hidden()
    expect(tab.part("search")).to_have_value("")


def nothing_matches(tab):
    tab.part("search").fill("s")
    expect(tab.part("found-count")).to_have_text(f"{N} of {N}")
    everything = ink(tab)
    tab.part("search").fill("no such word")
    expect(tab.part("found-count")).to_have_text("Nothing matches.")
    tab.shows("filter-said", "nothing matches")
    expect(tab.part("found-actions")).to_be_hidden()
    assert ink(tab) < 0.8 * everything  # but for rings, and what is written on the map
    tab.part("search").press("Escape")
    expect(tab.part("filter-said")).to_be_hidden()


def found_by_columns_and_doubt(tab, studio):
    frame = stories()
    tab.press("/")
    tab.part("filter-toggle").click()
    columns = tab.part("filter-column")
    columns.select_option(label="town")
    tab.part("filter-editor").get_by_label("Graz").check()
    expect(tab.part("found-count")).to_have_text(f"20 of {N}")
    columns.select_option(label="price")
    tab.part("filter-low").fill("30")
    tab.part("filter-apply").click()
    n = int(((frame["town"] == "Graz") & (frame["price"] >= 30)).sum())
    expect(tab.part("found-count")).to_have_text(f"{n} of {N}")
    tab.shows("filter-said", "town: Graz, price from 30")
    tab.part("condition-remove").first.click()
    n = int((frame["price"] >= 30).sum())
    expect(tab.part("found-count")).to_have_text(f"{n} of {N}")
    columns.select_option(label="text")
    tab.part("filter-words").fill("بيت")
    tab.part("filter-words").press("Enter")
    tab.shows("conditions", "text has “بيت”")
    tab.part("filter-clear").click()
    studio.forget()
    tab.hears(studio)
    tab.part("filter-doubtful").check()
    tab.shows("found-count", "known after the first answers")
    tab.part("filter-toggle").click()
    for key in "sd":
        tab.answer(key)
    tab.hears(studio)
    tab.settle(studio.state()["version"])
    reply = studio.client.post("/api/search", json={"doubtful": True})
    expected = np.unpackbits(np.frombuffer(reply.content[-8:], np.uint8)).sum()  # a bit for each
    said = f"{expected} of {N}" if expected else "Nothing matches."
    expect(tab.part("found-count")).to_have_text(said)


def a_table_is_gone_through_by_keys_and_kept_as_a_file(tab, tmp_path):
    tab.part("search").fill("cafe")
    expect(tab.part("found-count")).to_have_text(f"45 of {N}")
    tab.part("found-table").click()
    table = tab.part("table")
    tab.shows("table", "Found: 45 records")
    names = table.locator("tbody th")
    expect(names).to_have_count(20)
    first = names.first.inner_text().strip()
    expect(names.first.locator("button")).to_be_focused()
    tab.press("ArrowDown")
    expect(names.nth(1).locator("button")).to_be_focused()
    tab.press("PageDown", "PageDown")
    tab.shows("table-page", "Page 3 of 3")
    expect(names).to_have_count(5)
    tab.press("Home")
    expect(names.first).to_have_text(first)
    _, lines = tab.download_table("table-download", tmp_path)
    titles = [title for title in stories()["title"] if title.startswith("Café")]
    assert [line["title"] for line in lines] == titles
    names.first.locator("button").click()
    expect(table).to_be_hidden()
    expect(tab.part("selected-id")).to_have_text(first)
