"""The map: by neighbours or along axes, with names, lines around dense parts, and few others."""

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial import procrustes
from sklearn.neighbors import NearestNeighbors

from tests.studio.server.browser.watched import DIGITS, Oracle, expect

# Names on the map, and where they are.
_BOXES = """() => [...document.querySelectorAll('[data-testid="map-name"]')]
    .filter((name) => name.style.visibility !== "hidden")
    .map((name) => {
        const { left, top, right, bottom } = name.getBoundingClientRect();
        return [name.textContent, left, top, right, bottom];
    })"""


def accuracy(places):
    """Share of the digits that most of the 10 nearest in the plane are like."""
    near = NearestNeighbors(n_neighbors=10).fit(places).kneighbors(return_distance=False)
    return np.mean(np.array([np.bincount(DIGITS[some]).argmax() for some in near]) == DIGITS)


def test_the_map_is_by_neighbours_with_names_or_along_principal_axes(open_tab, demo):
    tab = open_tab(demo.url, version=Oracle().teach(demo, 3), map_choice="neighbors")
    tab.part("colour-by").select_option(label="digit")
    assert accuracy(tab.positions()) > 0.95
    expect(tab.part("map-progress")).to_be_hidden()
    names_are_where_most_of_their_points_are(tab)
    tab.press("i")
    choice = tab.part("map-choice")
    expect(choice).to_have_value("neighbors")
    choice.select_option(label="Principal axes")
    tab.press("Escape")
    tab.settle()
    _, axes = demo.layout()
    assert procrustes(tab.positions(), axes)[2] < 1e-9
    assert accuracy(tab.positions()) < 0.9
    # The choice is kept, and answers move whatever is shown.
    tab.reload(0)
    version = Oracle().teach(demo, 1)
    tab.settle(version)
    assert procrustes(tab.positions(), demo.layout()[1])[2] < 1e-9
    tab.press("i")
    choice.select_option(label="Neighbours")
    tab.press("Escape")
    tab.settle(version)
    assert accuracy(tab.positions()) > 0.95


def names_are_where_most_of_their_points_are(tab):
    names = tab.part("map-name")
    expect(names).to_have_count(10)
    tab.settle()
    boxes = {text: np.array(box) for text, *box in tab.page.evaluate(_BOXES)}
    assert len(boxes) >= 8
    points = tab.points()
    n_unmoved = 0
    for text, (left, top, right, bottom) in boxes.items():
        # Where another name is, one moves by its own height or twice that, up or down.
        places = [
            [(left + right) / 2, (top + bottom) / 2 + step * (bottom - top)]
            for step in (0, 1, -1, 2, -2)
        ]
        near = np.argsort([np.linalg.norm(points - place, axis=1) for place in places])[:, :9]
        most = [np.bincount(DIGITS[some]).argmax() for some in near]
        assert int(text) in most
        n_unmoved += most[0] == int(text)
    assert n_unmoved > len(boxes) / 2
    for one, other in combinations(boxes.values(), 2):
        assert (one[:2] >= other[2:]).any() or (other[:2] >= one[2:]).any()
    # Off and on, also by key; and so it stays.
    tab.press("t")
    expect(names).to_have_count(0)
    tab.reload(0)
    tab.part("colour-by").select_option(label="digit")
    expect(names).to_have_count(0)
    tab.press("t")
    expect(names).to_have_count(10)


@pytest.mark.night
def test_points_move_on_from_where_they_are(open_tab, demo):
    # How they move is checked without a browser: page/test/motion.test.ts.
    settings = {"map_choice": "neighbors", "reduced_motion": "no-preference"}
    tab = open_tab(demo.url, version=demo.state()["version"], **settings)
    before = tab.positions()[:200]
    tab.settle(Oracle().teach(demo, 5))
    way = np.linalg.norm(tab.positions()[:200] - before, axis=1)
    assert 0 < np.median(way) < 0.25  # most stay about where they were


@pytest.mark.night
def test_maps_of_two_points_and_of_more_than_can_be_told_apart(open_tab, demo, studio_of, tmp_path):
    np.save(tmp_path / "two.npy", np.array([[1.0, 2.0], [3.0, 5.0]]))
    two = studio_of(tmp_path, "two.npy")
    assert np.isfinite(open_tab(two.url, map_choice="neighbors").positions()).all()

    rng = np.random.default_rng(0)
    middles = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 10.0]])
    many = middles[np.arange(20_100) % 3] + rng.normal(size=(20_100, 2))
    pieces = "() => Array.from(window.nearkin.contours())"
    np.save(tmp_path / "many.npy", many)
    studio = studio_of(tmp_path, "many.npy")
    tab = open_tab(studio.url)

    def are_where_points_are():
        ends = np.array(tab.page.evaluate(pieces)).reshape(-1, 2)
        distances = np.linalg.norm(ends[:, None] - tab.positions()[:3000:100], axis=2)
        return len(ends) > 0 and np.median(distances.min(axis=1)) < 0.2

    # Above 20 000, each of the three clouds has lines around where it is dense.
    tab.wait_for(are_where_points_are)
    assert open_tab(demo.url).page.evaluate(pieces) == []
