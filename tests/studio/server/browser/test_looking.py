"""What the page shows of points: records, neighbours, layouts, colours."""

import numpy as np
import pytest
from scipy.spatial import procrustes

from tests.studio.server.browser.test_exports import downloaded
from tests.studio.server.browser.watched import Oracle, expect


def lightness(tab, name="points"):
    return float(np.median(tab.pixels(name)))


def n_hues(tab):
    """How many clearly different colours the map has."""
    colours = tab.pixels().reshape(-1, 3).astype(int)
    vivid = colours[np.ptp(colours, axis=1) > 60]
    steps, counts = np.unique(vivid // 48, axis=0, return_counts=True)
    return len(steps[counts > 20])


def test_a_point_shows_its_record_and_neighbours_of_which_one_says_more(tab, demo, tmp_path):
    a_point_shows_its_record_and_neighbours(tab, demo)
    tab.press("z")
    tab.settle(demo.state()["version"])
    a_neighbour_is_nearer_than_another(tab, demo, tmp_path)


def a_point_shows_its_record_and_neighbours(tab, demo):
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
    expect(tab.part("selected-id")).to_have_text(str(row))
    expect(tab.part("panel-point")).to_be_focused()
    found = demo.get(f"/api/records/{row}/neighbors?n=10")["neighbors"]
    names = tab.part("neighbours").locator(".near-name").all_inner_texts()
    assert names == [str(one["id"]) for one in found]
    # A neighbour can be answered, and is marked then.
    tab.part("neighbour-same").first.click()
    tab.shows_answers(1)
    assert demo.get("/api/known")["must_link"] == sorted([row, found[0]["row"]])
    # Clicking selects too; Escape lets go.
    tab.part("tab-quality").click()
    tab.settle(demo.state()["version"])
    tab.choose(tab.lonely_row()[0])
    expect(tab.part("panel-point")).to_be_visible()
    tab.press("Escape")
    expect(tab.part("neighbours")).to_be_hidden()


def a_neighbour_is_nearer_than_another(tab, demo, tmp_path):
    row, place = tab.lonely_row()
    tab.move(place)
    tab.press("n")
    expect(tab.part("neighbour")).to_have_count(10)
    tab.part("order-switch").click()
    expect(tab.part("neighbour-same").first).to_be_hidden()
    near, far = (tab.part("order").nth(k) for k in (3, 1))
    near.click()
    expect(near).to_have_attribute("aria-pressed", "true")
    expect(far).to_have_text("Than this")
    tab.press("Escape")  # not meant
    expect(far).to_be_hidden()
    tab.part("order-switch").click()
    expect(far).to_have_text("Nearer")
    near.click()
    found = demo.get(f"/api/records/{row}/neighbors?n=10")["neighbors"]
    far.click()
    expect(tab.part("order-said")).to_have_count(1)
    said = [row, found[3]["row"], found[1]["row"]]
    assert demo.get("/api/known")["closer"] == said
    tab.shows("order-said", f"{said[1]} is nearer than {said[2]}.")
    tab.shows_answers(0)

    tab.part("tab-quality").click()
    expect(tab.part("n-triplets")).to_have_text("1")
    lines = downloaded(tab, "triplets", tmp_path).read_text().splitlines()
    assert lines == ["anchor,closer,farther,weight", ",".join(map(str, [*said, 1]))]

    tab.part("tab-point").click()
    tab.part("withdraw-order").click()
    expect(tab.part("order-said")).to_have_count(0)
    expect(tab.part("orders")).to_be_hidden()
    tab.press("z")
    expect(tab.part("order-said")).to_have_count(1)
    tab.press("z")
    expect(tab.part("order-said")).to_have_count(0)
    tab.part("export").click()
    expect(tab.part("export-triplets")).to_be_hidden()


@pytest.mark.night
def test_the_map_is_blended_coloured_and_has_the_lines_that_are_wanted(tab, demo):
    colours_have_a_legend(tab)
    tab.settle(Oracle().teach(demo, 10))
    the_slider_leads_to_the_euclidean_layout(tab, demo)
    lines_are_of_the_pair_that_is_asked_unless_all_are_wanted(tab)
    # Of numbers alone neither columns are chosen nor pairs reviewed.
    expect(tab.part("columns")).to_be_hidden()
    tab.press("c")
    expect(tab.part("columns-dialog")).to_be_hidden()
    expect(tab.part("tab-review")).to_have_count(0)
    tab.press("r")
    expect(tab.part("tab-quality")).to_have_attribute("aria-selected", "true")
    # Help lists the keys, which are no answers while it is open.
    tab.press("?")
    expect(tab.part("help-dialog")).to_be_visible()
    for word in ("same", "different", "unsure", "undo", "redo", "withdraw", "neighbours"):
        tab.shows("help-dialog", word)
    tab.press("s", "Escape")
    expect(tab.part("help-dialog")).to_be_hidden()
    tab.shows_answers(10)
    assert demo.state()["n_answers"] == 10


def the_slider_leads_to_the_euclidean_layout(tab, demo):
    learned = tab.positions()
    _, euclidean = demo.layout("euclidean")
    assert procrustes(learned, euclidean)[2] > 1e-4
    slider = tab.part("blend")
    slider.focus()
    tab.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "Euclidean layout")
    tab.settle()
    assert procrustes(tab.positions(), euclidean)[2] < 1e-9
    ends = tab.positions(), learned
    slider.fill("50")
    tab.settle()
    np.testing.assert_allclose(tab.positions(), (ends[0] + ends[1]) / 2, atol=1e-5)
    slider.focus()
    tab.press("End")
    tab.settle()
    np.testing.assert_allclose(tab.positions(), learned, atol=1e-6)


def colours_have_a_legend(tab):
    plain = n_hues(tab)
    tab.part("colour-by").select_option(label="digit")
    expect(tab.part("legend-categories").locator("li")).to_have_count(10)
    assert n_hues(tab) >= plain + 4
    tab.part("colour-by").select_option("clusters")
    tab.shows("legend", "cluster")
    expect(tab.part("legend-categories").locator("li")).to_have_count(10)
    tab.part("colour-by").select_option("feature-20")
    expect(tab.part("legend-numbers")).to_be_visible()
    tab.part("colour-by").select_option("")
    expect(tab.part("legend-numbers")).to_be_hidden()


def lines_are_of_the_pair_that_is_asked_unless_all_are_wanted(tab):
    toggle, legend = tab.part("links-toggle"), tab.page.locator(".legend-lines")
    expect(toggle).to_have_attribute("aria-pressed", "false")
    expect(legend).to_be_hidden()
    tab.shows("map-summary", "A line joins the pair that is asked.")
    without = tab.pixels()
    tab.press("l")
    expect(legend).to_be_visible()
    tab.shows("map-summary", "Lines join")
    assert (tab.pixels() != without).any()
    tab.press("l")
    expect(legend).to_be_hidden()


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
        tab.part("theme").click()
        expect(page).to_have_attribute("data-theme", other)
        tab.settle()
        assert (lightness(tab) > 180) is dark
        # What was chosen is kept.
        tab.reload(0)
        expect(page).to_have_attribute("data-theme", other)
