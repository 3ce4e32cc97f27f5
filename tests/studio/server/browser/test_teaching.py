"""Answers in a real browser: points move, and what was said can be undone and found again."""

import numpy as np
from scipy.spatial import procrustes

from tests.studio.server.browser.studios import studio_at
from tests.studio.server.browser.watched import Oracle, expect, links, said_of

oracle = Oracle()


def differ(a, b):
    """How far two layouts are from being the same but for place, turn and scale."""
    return procrustes(a, b)[2]


def test_the_demo_is_drawn_and_asks_no_other_server(open_tab, copies, tmp_path):
    with studio_at(copies, tmp_path, "--demo") as demo:
        the_demo_is_drawn_and_asks_no_other_server(open_tab(demo.url), demo)


def the_demo_is_drawn_and_asks_no_other_server(tab, demo):
    tab.shows("source", "digits")
    tab.shows("source", "records")
    assert len(tab.positions()) == 1797
    colours, counts = np.unique(tab.pixels().reshape(-1, 3), axis=0, return_counts=True)
    # A background, and some thousand pixels of points on it.
    assert counts.max() / counts.sum() < 0.99
    assert len(colours) > 10
    # Points are where they are said to be, within the map.
    box = tab.part("points").bounding_box()
    x, y = tab.points().T
    inside = (x > box["x"]) & (x < box["x"] + box["width"])
    inside &= (y > box["y"]) & (y < box["y"] + box["height"])
    assert inside.mean() > 0.95
    # Two pictures to compare.
    pictures = tab.part("compare").locator("img")
    expect(pictures).to_have_count(2)
    tab.wait_for(lambda: pictures.first.evaluate("(image) => image.naturalWidth > 0"))

    # Unsure is an answer by which nothing moves.
    before = tab.positions()
    question = tab.question()
    tab.answer("u")
    tab.settle(demo.state()["version"])
    assert links(demo)["unsure"] == sorted(question)
    assert tab.question() != question
    assert differ(before, tab.positions()) < 1e-6
    # No other server is asked.
    schemes = {address.partition(":")[0] for address in tab.addresses}
    assert {"http", "ws"} <= schemes <= {"http", "ws", "data", "blob"}
    tab.check()
    # The browser would not let it happen either.
    escape = "() => fetch('http://example.invalid/').then(() => 'out', (problem) => problem.name)"
    assert tab.page.evaluate(escape) == "TypeError"
    assert any("Content Security Policy" in complaint for complaint in tab.complaints)
    tab.complaints.clear()
    tab.addresses.clear()


def test_answers_move_the_points_and_undo_brings_them_back(open_tab, demo):
    tab = open_tab(demo.url, reduced_motion="no-preference")
    start = tab.positions()
    version = demo.state()["version"]
    said = []
    for k in range(4):
        question = tab.question()
        said.append((*question, oracle.are_same(*question)))
        tab.answer(oracle.key(question))
        tab.shows_answers(k + 1)
        assert tab.question() != question
    tab.settle(version + 4)
    assert tab.version() == version + 4
    assert differ(start, tab.positions()) > 1e-4
    assert np.abs(start - tab.positions()).max() > 0.01
    # All of it is known to the server, as it was said.
    known = links(demo)
    for kind, same in (("must_link", True), ("cannot_link", False)):
        ends = {frozenset(pair) for pair in zip(known[kind][::2], known[kind][1::2], strict=True)}
        assert ends == {frozenset((a, b)) for a, b, kept in said if kept is same}
    # Each answer was timed: pressed, sent, layout here, frame drawn.
    for entry in tab.trace(4):
        assert entry["keydownAt"] <= entry["sentAt"] <= entry["layoutAt"] <= entry["firstFrameAt"]

    # A reload finds everything.
    tab.answer("u")
    tab.settle(version + 5)
    before, known = tab.positions(), links(demo)
    tab.reload(version + 5)
    tab.shows_answers(5)
    assert tab.version() == version + 5
    assert differ(before, tab.positions()) < 1e-6

    # A wrong answer surely moves something.
    tab.answer("d" if oracle.are_same(*tab.question()) else "s")
    tab.settle(version + 6)
    after, more = tab.positions(), links(demo)
    assert differ(before, after) > 1e-6
    tab.press("z")
    tab.shows_answers(5)
    tab.settle(version + 7)
    assert links(demo) == known
    assert differ(before, tab.positions()) < 1e-6
    tab.press("Shift+Z")
    tab.shows_answers(6)
    tab.settle(version + 8)
    assert links(demo) == more
    assert differ(after, tab.positions()) < 1e-6
    # Also what was answered before the page was loaded.
    tab.press("z", "z")
    tab.shows_answers(4)


class Outline:
    """A square around points at the left or right of the map, in pixels."""

    def __init__(self, points, side):
        order = np.argsort(points[:, 0] if side == "left" else -points[:, 0])
        self.points, self.centre = points, points[order[12]]

    @property
    def corners(self):
        return self.centre + 16 * np.array([(-1, -1), (1, -1), (1, 1), (-1, 1), (-1, -1)])

    def rows(self, margin):
        """Rows of the points inside, of a square so many pixels larger."""
        off = np.abs(self.points - self.centre).max(axis=1)
        return set(np.flatnonzero(off < 16 + margin).tolist())


def test_what_is_selected_with_the_lasso_is_one_group_or_none_of_another(tab, demo):
    tab.press("g")
    expect(tab.part("lasso-mode")).to_have_attribute("aria-pressed", "true")
    outline = Outline(tab.points(), "left")
    tab.draw(outline.corners)
    n = int(tab.part("selected-count").inner_text().split()[0])
    # Points right at the line may count either way.
    assert len(outline.rows(-2)) <= n <= len(outline.rows(2))
    tab.part("selection-look").click()
    expect(tab.part("table").locator("img").first).to_be_visible()
    tab.press("Escape")
    version = demo.state()["version"]
    tab.part("selection-one").click()
    tab.shows("notice-note", f"{n - 1} pairs recorded")
    tab.settle(version + 1)
    first = links(demo)
    assert len(first["must_link"]) == 2 * (n - 1)
    assert set(first["must_link"]) <= outline.rows(2)
    expect(tab.part("group")).to_have_count(1)
    # Some others are not of it.
    other = Outline(tab.points(), "right")
    tab.press("g")
    tab.draw(other.corners)
    tab.part("selection-split").click()
    tab.shows_answers(2)
    assert len(links(demo)["cannot_link"]) > 0
    expect(tab.part("group")).to_have_count(2)
    # One key takes all of it back.
    tab.press("Escape", "z")
    tab.shows_answers(1)
    assert links(demo) == first
    expect(tab.part("lasso-mode")).to_have_attribute("aria-pressed", "false")


def test_what_looks_wrong_is_shown_beside_how_good_it_is(tab, demo):
    oracle.teach_with_errors(demo, 80)
    report = tab.hears(demo)
    tab.shows_answers(80)
    tab.open_panel("said")
    first = report["suspects"][0]
    expect(tab.part("suspect").first).to_contain_text(first["said"])
    tab.press("w")
    tab.shows_answers(79)
    expect(tab.part("suspects")).not_to_contain_text(first["said"])
    assert said_of(demo, (first["left"], first["right"])) is None
    tab.press("z")
    tab.shows_answers(80)
    tab.open_panel("details")
    expect(tab.part("auc")).to_be_visible()
    expect(tab.part("euclidean-auc")).to_be_visible()
    tab.shows("outlook-said", tab.hears(demo)["outlook"]["said"][1:])  # but for its capital

    # Each figure has an interval, and the curve is there after a reload.
    oracle.teach(demo, 2)
    report = tab.hears(demo)
    assert len(report["course"]) > 1
    for again in (False, True):
        if again:
            tab.reload()
            tab.open_panel("details")
        for name, figure in (("auc", "auc"), ("euclidean-auc", "euclidean_auc")):
            value, low, high = report["quality"]["figures"][figure]
            expect(tab.part(name)).to_have_text(f"{value:.3f} {low:.3f} to {high:.3f}")
        curve = tab.page.locator(".chart.quality polyline.learned")
        expect(curve).to_be_visible()
        assert len(curve.get_attribute("points").split()) == len(report["course"])
