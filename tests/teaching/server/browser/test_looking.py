"""What the page shows of points: records, neighbours, layouts, colours."""

import numpy as np
from scipy.spatial import cKDTree, procrustes

from tests.teaching.server.browser.watched import Oracle, expect


def lonely_row(tab):
    """A row whose point is far from all others, with nothing but the map above it."""
    points = tab.points()
    gaps = cKDTree(points).query(points, k=2)[0][:, 1]
    free = "([x, y]) => document.elementFromPoint(x, y)?.id === 'points'"
    for row in np.argsort(-gaps).tolist():
        if tab.page.evaluate(free, points[row].tolist()):
            return row, points[row]
    raise AssertionError("no point is free")


def lightness(tab, name="points"):
    return float(np.median(tab.pixels(name)))


def n_hues(tab):
    """How many clearly different colours the map has."""
    colours = tab.pixels().reshape(-1, 3).astype(int)
    vivid = colours[np.ptp(colours, axis=1) > 60]
    steps, counts = np.unique(vivid // 48, axis=0, return_counts=True)
    return len(steps[counts > 20])


def test_a_point_shows_its_record_and_neighbours(tab, demo):
    row, place = lonely_row(tab)
    tab.page.mouse.move(*place)
    expect(tab.part("hover-card")).to_be_visible()
    tab.shows("hover-card", str(row))
    expect(tab.part("hover-card").locator("img")).to_be_visible()
    tab.shoot("hover")
    box = tab.part("question").bounding_box()
    tab.page.mouse.move(box["x"] + 5, box["y"] + 5)
    expect(tab.part("hover-card")).to_be_hidden()

    tab.page.mouse.move(*place)
    tab.shows("hover-card", str(row))
    tab.press("n")
    expect(tab.part("neighbour")).to_have_count(10)
    expect(tab.part("selected-id")).to_have_text(str(row))
    expect(tab.part("panel-point")).to_be_focused()
    found = demo.get(f"/api/records/{row}/neighbors?n=10")["neighbors"]
    names = tab.part("neighbours").locator(".near-name").all_inner_texts()
    assert names == [str(one["id"]) for one in found]
    tab.shoot("neighbours")
    # A neighbour can be answered, and is marked then.
    tab.part("neighbour-same").first.click()
    tab.shows_answers(1)
    assert demo.get("/api/known")["must_link"] == sorted([row, found[0]["row"]])
    # Clicking selects too; Escape lets go.
    tab.part("tab-quality").click()
    tab.settle(demo.state()["version"])
    tab.choose(lonely_row(tab)[0])
    expect(tab.part("panel-point")).to_be_visible()
    tab.press("Escape")
    expect(tab.part("neighbours")).to_be_hidden()


def test_the_slider_leads_to_the_euclidean_layout(tab, demo):
    Oracle().teach(demo, 10)
    tab.settle(demo.state()["version"])
    learned = tab.positions()
    _, euclidean = demo.layout("euclidean")
    assert procrustes(learned, euclidean)[2] > 1e-4
    slider = tab.part("blend")
    slider.focus()
    tab.press("Home")
    expect(slider).to_have_attribute("aria-valuetext", "Euclidean layout")
    tab.settle()
    assert procrustes(tab.positions(), euclidean)[2] < 1e-9
    tab.shoot("euclidean")
    ends = tab.positions(), learned
    slider.fill("50")
    tab.settle()
    np.testing.assert_allclose(tab.positions(), (ends[0] + ends[1]) / 2, atol=1e-5)
    slider.focus()
    tab.press("End")
    tab.settle()
    np.testing.assert_allclose(tab.positions(), learned, atol=1e-6)


def test_colours_have_a_legend_and_keys_a_list(tab, demo):
    plain = n_hues(tab)
    tab.part("colour-by").select_option(label="digit")
    expect(tab.part("legend-categories").locator("li")).to_have_count(10)
    tab.settle()
    assert n_hues(tab) >= plain + 4
    tab.shoot("digits-coloured")
    tab.part("colour-by").select_option("clusters")
    tab.shows("legend", "cluster")
    expect(tab.part("legend-categories").locator("li")).to_have_count(10)
    tab.shoot("clusters")
    tab.part("colour-by").select_option("feature-20")
    expect(tab.part("legend-numbers")).to_be_visible()
    tab.shoot("feature-coloured")
    tab.part("colour-by").select_option("")
    expect(tab.part("legend-numbers")).to_be_hidden()
    # Help lists the keys.
    tab.press("?")
    expect(tab.part("help-dialog")).to_be_visible()
    for word in ("same", "different", "unsure", "undo", "redo", "withdraw", "neighbours"):
        tab.shows("help-dialog", word)
    tab.shoot("help")
    # Keys are not answers while it is open.
    tab.press("s", "Escape")
    expect(tab.part("help-dialog")).to_be_hidden()
    assert tab.answers() == 0
    assert demo.state()["n_answers"] == 0


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
        tab.shoot(scheme)
        tab.part("theme").click()
        expect(page).to_have_attribute("data-theme", other)
        tab.settle()
        assert (lightness(tab) > 180) is dark
        # What was chosen is kept.
        tab.page.reload()
        tab.settle()
        expect(page).to_have_attribute("data-theme", other)


def test_small_windows(open_tab, demo):
    tab = open_tab(demo.url, viewport={"width": 390, "height": 844})
    wide = "() => document.documentElement.scrollWidth - document.documentElement.clientWidth"
    for width in (390, 800):
        tab.page.set_viewport_size({"width": width, "height": 844})
        tab.settle()
        assert tab.page.evaluate("() => window.innerWidth") == width
        assert tab.page.evaluate(wide) <= 0
        tab.answer("u")
        tab.shoot(f"width-{width}")
