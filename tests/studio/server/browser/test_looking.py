"""What the page shows of points: records, neighbours, layouts, colours."""

import numpy as np
import pytest

from tests.studio.server.browser.watched import expect


def lightness(tab, name="points"):
    return float(np.median(tab.pixels(name)))


def n_hues(tab):
    """How many clearly different colours the map has."""
    colours = tab.pixels().reshape(-1, 3).astype(int)
    vivid = colours[np.ptp(colours, axis=1) > 60]
    steps, counts = np.unique(vivid // 48, axis=0, return_counts=True)
    return len(steps[counts > 20])


def test_a_point_shows_its_record_and_neighbours(tab, demo):
    row, place = tab.lonely_row()
    tab.move(place)
    expect(tab.part("hover-card")).to_be_visible()
    tab.shows("hover-card", str(row))
    expect(tab.part("hover-card").locator("img")).to_be_visible()
    box = tab.part("question").bounding_box()
    tab.move((box["x"] + 5, box["y"] + 5))
    expect(tab.part("hover-card")).to_be_hidden()

    tab.move(place)
    tab.shows("hover-card", str(row))
    tab.press("n")
    expect(tab.part("neighbour")).to_have_count(10)
    expect(tab.part("selected-id")).to_have_text(f"row {row}")
    expect(tab.part("panel")).to_be_focused()
    found = demo.get(f"/api/records/{row}/neighbors?n=10")["neighbors"]
    names = tab.part("neighbours").locator(".near-name").all_inner_texts()
    assert names == [f"row {one['id']}" for one in found]
    # A neighbour can be answered, and is marked then.
    tab.part("neighbour-same").first.click()
    tab.shows_answers(1)
    assert demo.get("/api/known")["must_link"] == sorted([row, found[0]["row"]])
    # Clicking selects too; Escape lets go.
    tab.part("point-close").click()
    tab.settle(demo.state()["version"])
    tab.choose(tab.lonely_row()[0])
    expect(tab.part("point")).to_be_visible()
    tab.press("Escape")
    expect(tab.part("neighbours")).to_be_hidden()


def test_colours_have_a_legend_and_help_lists_the_keys(tab, demo):
    plain = n_hues(tab)
    tab.part("colour-by").select_option(label="digit")
    expect(tab.part("legend-categories").locator("li")).to_have_count(10)
    assert n_hues(tab) >= plain + 4
    # As it was when the page was left.
    tab.reload(0)
    expect(tab.part("colour-by")).to_have_value("column-0")
    tab.part("colour-by").select_option("")
    expect(tab.part("legend")).to_be_hidden()
    # Of numbers alone neither columns are chosen nor duplicates found.
    tab.press("i")
    expect(tab.part("columns")).to_be_hidden()
    tab.press("Escape", "c", "r")
    expect(tab.page.locator("dialog[open]")).to_have_count(0)
    # Keys are no answers while their list is open.
    tab.press("?")
    expect(tab.part("help-dialog")).to_be_visible()
    for word in ("same", "different", "unsure", "undo", "redo", "withdraw", "neighbours"):
        tab.shows("help-dialog", word)
    tab.press("s", "Escape")
    expect(tab.part("help-dialog")).to_be_hidden()
    assert demo.state()["n_answers"] == 0


@pytest.mark.night
def test_dark_and_light(open_tab, demo):
    tab = open_tab(demo.url, color_scheme="dark")
    page = tab.page.locator("html")
    for scheme, other in (("dark", "light"), ("light", "dark")):
        # As the system has it, until somebody chooses.
        tab.page.evaluate("() => localStorage.removeItem('nearkin-theme')")
        tab.page.emulate_media(color_scheme=scheme)
        expect(page).to_have_attribute("data-theme", scheme)
        tab.settle()
        dark = scheme == "dark"
        assert (lightness(tab) < 80) is dark
        tab.choose_from_menu("theme")
        expect(page).to_have_attribute("data-theme", other)
        tab.settle()
        assert (lightness(tab) > 180) is dark
        # What was chosen is kept.
        tab.reload(0)
        expect(page).to_have_attribute("data-theme", other)
