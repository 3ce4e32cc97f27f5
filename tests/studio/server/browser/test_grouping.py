"""Groups of all points in a real browser: found, named, joined and split."""

import numpy as np
import pandas as pd
import pytest

from tests.studio.server.browser.studios import studio_at
from tests.studio.server.browser.watched import DEAF, expect, links

# Four heaps of fifteen rows.
KIND = np.repeat(np.arange(4), 15)


@pytest.fixture(scope="module")
def heaps_of_module(copies, tmp_path_factory):
    folder = tmp_path_factory.mktemp("heaps")
    X = np.array([[0, 0], [9, 1], [1, 8], [8, 9]])[KIND]
    X = X + np.random.default_rng(0).normal(size=X.shape)
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(60)], "x": X[:, 0], "y": X[:, 1]})
    frame.to_csv(folder / "rows.csv", index=False)
    with studio_at(copies, folder, "rows.csv", "--id", "id") as studio:
        yield studio


@pytest.fixture
def heaps(heaps_of_module):
    """A studio of heaps, with no answer."""
    heaps_of_module.forget()
    heaps_of_module.wait_for_report()
    return heaps_of_module


def found(tab, studio):
    """The groups by all that is known, once the page shows them."""
    version = studio.state()["version"]
    tab.wait_for(lambda: (studio.get("/api/grouping") or {"version": -1})["version"] >= version)
    grouping = studio.get("/api/grouping")
    expect(tab.part("finding-groups")).to_be_empty()
    expect(tab.part("found-group")).to_have_count(len(grouping["groups"]))
    return grouping


def labels(studio):
    content = studio.client.get("/api/colourings/groups/values").content
    return np.frombuffer(content, "<f4")


def around(points):
    """Corners of a box around points of the window."""
    (left, top), (right, bottom) = points.min(axis=0) - 6, points.max(axis=0) + 6
    return np.array([(left, top), (right, top), (right, bottom), (left, bottom), (left, top)])


def test_groups_are_found_named_and_kept_through_relearning(open_tab, heaps, tmp_path):
    two_people_name_one_group_at_once(open_tab, heaps)
    heaps.forget()
    tab = open_tab(heaps.url, version=heaps.state()["version"])
    tab.part("find-groups").click()
    grouping = found(tab, heaps)
    expect(tab.part("colour-by")).to_have_value("groups")
    tab.shows("groups-said", grouping["said"])
    first = tab.part("found-group").first
    expect(first).to_contain_text(f"r{grouping['groups'][0]['medoid']}")

    # With the keyboard alone: choose a group, type a name.
    first.focus()
    tab.press("Enter")
    expect(first).to_have_attribute("aria-pressed", "true")
    tab.part("group-name").focus()
    tab.type("zeros & co")
    tab.press("Enter")
    tab.shows("found-groups", "zeros & co")
    expect(tab.part("found-group").first).to_be_focused()
    assert heaps.get("/api/grouping")["groups"][0]["name"] == "zeros & co"
    # Undo takes the name away, as it does an answer.
    tab.press("z")
    expect(tab.part("found-groups")).not_to_contain_text("zeros")
    tab.press("Shift+Z")
    tab.shows("found-groups", "zeros & co")

    # Groups follow an answer, and the name is still there.
    left, right = tab.question()
    tab.answer("s" if KIND[left] == KIND[right] else "d")
    found(tab, heaps)
    tab.shows("found-groups", "zeros & co")
    tab.reload(heaps.state()["version"])
    tab.part("colour-by").select_option("groups")
    tab.shows("found-groups", "zeros & co")

    tab.part("export").click()
    _, lines = tab.download_table("export-grouping", tmp_path)
    names = [group["name"] for group in found(tab, heaps)["groups"]]
    expected = [names[int(group)] for group in labels(heaps)]
    assert [line["name"] for line in lines] == expected
    assert [line["id"] for line in lines] == [f"r{i}" for i in range(60)]


def two_people_name_one_group_at_once(open_tab, heaps):
    version = heaps.state()["version"]
    ann = open_tab(heaps.url, version=version)
    late = open_tab(heaps.url, version=version, init_script=DEAF)
    for one in (ann, late):
        one.part("find-groups").click()
        found(one, heaps)
        one.part("found-group").first.click()
    late.page.evaluate("() => { window.__deaf = true; }")
    for one, name in ((ann, "cats"), (late, "dogs")):
        one.part("group-name").fill(name)
    ann.press("Enter")
    ann.shows("found-groups", "cats")
    late.press("Enter")
    late.shows("notice-problem", "this group is called 'cats' meanwhile")
    # What was typed is still there, and nothing was lost.
    expect(late.part("group-name")).to_have_value("dogs")
    assert heaps.get("/api/grouping")["groups"][0]["name"] == "cats"
    # Said again, once the other name is seen, it takes its place.
    late.page.evaluate("() => { window.__deaf = false; }")
    number = heaps.get("/api/grouping")["number"]
    heaps.post("/api/grouping/name", {"grouping": number, "group": 1, "name": "birds"})
    late.shows("found-groups", "cats")
    late.part("group-name").focus()
    late.press("Enter")
    for one in (ann, late):
        one.shows("found-groups", "dogs")
    expect(late.part("group-name")).to_have_count(0)
    late.press("z")
    ann.shows("found-groups", "cats")
    late.complaints.clear()
    for one in (ann, late):
        one.page.close()


@pytest.mark.night
def test_groups_are_joined_kept_apart_split_and_asked_for(open_tab, heaps):
    version, size = heaps.state()["version"], {"width": 1280, "height": 720}
    tab = open_tab(heaps.url, version=version, viewport=size)
    tab.part("find-groups").click()  # opens the legend, which is folded in a small window
    found(tab, heaps)
    for button, kind in (("merge-groups", "must_link"), ("part-groups", "cannot_link")):
        for k in (0, 1):
            tab.part("found-group").nth(k).click()
        tab.part(button).click()
        tab.shows_answers(1)
        n_pairs = len(links(heaps)[kind]) // 2
        assert n_pairs == heaps.state()[f"n_{kind}"] > 1
        assert heaps.state()["n_answers"] == 1
        expect(tab.part("notice-note").last).to_contain_text(f"{n_pairs} pairs recorded")
        found(tab, heaps)
        tab.press("z")
        tab.shows_answers(0)
        found(tab, heaps)

    tab.page.close()

    # A part of one is split off with the lasso, and tied again.
    tab = open_tab(heaps.url, version=heaps.state()["version"])
    tab.part("find-groups").click()
    found(tab, heaps)
    for gesture in ("selection-split", "selection-one"):
        tab.settle(heaps.state()["version"])
        heap = np.flatnonzero(KIND == 1)
        places = tab.points()[heap]
        part = heap[np.argsort(places[:, 0])[:6]]
        tab.press("g")
        tab.draw(around(tab.points()[part]))
        tab.part(gesture).click()
        tab.shows_answers(1)
        found(tab, heaps)
        known = links(heaps)
        group = labels(heaps)
        must, cannot = (
            np.array(known[kind], dtype=int).reshape(-1, 2) for kind in ("must_link", "cannot_link")
        )
        assert len(must) > 0
        assert (len(cannot) > 0) is (gesture == "selection-split")
        # What was said is kept.
        assert (group[must[:, 0]] == group[must[:, 1]]).all()
        assert (group[cannot[:, 0]] != group[cannot[:, 1]]).all()
        tab.press("Escape", "z")
        tab.shows_answers(0)
        found(tab, heaps)

    # Questions may be for groups.
    for goal in ("clusters", "distance"):
        tab.part("goal").select_option(goal)
        assert heaps.state()["goal"] == goal
        left, right = tab.question()
        tab.answer("s" if KIND[left] == KIND[right] else "d")
        expect(tab.part("goal")).to_have_value(goal)
