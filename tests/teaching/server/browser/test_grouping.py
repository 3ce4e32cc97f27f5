"""Groups of all points in a real browser: found, named, joined and split."""

import csv
from collections import Counter

from tests.teaching.server.browser.test_teaching import Outline, draw, links
from tests.teaching.server.browser.watched import Oracle, expect


def found(tab, demo, *, after):
    """Groups that are newer than a grouping, once the page shows them."""
    tab.wait_for(lambda: (demo.get("/api/grouping") or {"version": -1})["version"] >= after)
    grouping = demo.get("/api/grouping")
    entries = tab.part("found-group")
    expect(entries).to_have_count(min(30, len(grouping["groups"])))
    expect(tab.part("finding-groups")).to_be_empty()
    return grouping


def test_groups_are_found_named_and_kept_through_relearning(tab, demo, tmp_path):
    Oracle().teach(demo, 10)
    tab.settle(demo.state()["version"])
    tab.part("find-groups").click()
    grouping = found(tab, demo, after=demo.state()["version"])
    expect(tab.part("colour-by")).to_have_value("groups")
    tab.shows("groups-said", grouping["said"][:20])
    first = tab.part("found-group").first
    expect(first.locator("img")).to_be_visible()
    tab.shoot("groups")

    # With the keyboard alone: choose a group, type a name.
    first.focus()
    tab.press("Enter")
    expect(first).to_have_attribute("aria-pressed", "true")
    tab.part("group-name").focus()
    tab.page.keyboard.type("zeros & co")
    tab.press("Enter")
    tab.shows("found-groups", "zeros & co")
    expect(tab.part("found-group").first).to_be_focused()
    assert demo.get("/api/grouping")["groups"][0]["name"] == "zeros & co"
    # Undo takes the name away, as it does an answer.
    tab.press("z")
    expect(tab.part("found-groups")).not_to_contain_text("zeros")
    tab.press("Shift+Z")
    tab.shows("found-groups", "zeros & co")

    # Groups follow an answer, and the name is still there.
    tab.answer(Oracle().key(tab.question()))
    found(tab, demo, after=demo.state()["version"])
    tab.shows("found-groups", "zeros & co")
    tab.page.reload()
    tab.settle(demo.state()["version"])
    tab.part("colour-by").select_option("groups")
    tab.shows("found-groups", "zeros & co")

    tab.part("export").click()
    with tab.page.expect_download() as coming:
        tab.part("export-grouping").click()
    coming.value.save_as(tmp_path / "grouping.csv")
    with (tmp_path / "grouping.csv").open(newline="") as file:
        lines = list(csv.DictReader(file))
    sizes = Counter((line["group"], line["name"]) for line in lines if line["group"])
    groups = enumerate(demo.get("/api/grouping")["groups"], 1)
    assert sizes == {(str(k), group["name"]): group["size"] for k, group in groups}


def test_groups_are_joined_in_the_legend_and_split_with_the_lasso(tab, demo):
    tab.part("find-groups").click()
    version = demo.state()["version"]
    found(tab, demo, after=version)
    for k in (0, 1):
        tab.part("found-group").nth(k).click()
    tab.shoot("two-groups-chosen")
    tab.part("merge-groups").click()
    expect(tab.part("notice-note").last).to_contain_text("9 pairs recorded")
    tab.settle(version + 1)
    assert len(links(demo)["must_link"]) == 18
    tab.press("z")
    tab.shows_answers(0)

    for k in (0, 1):
        tab.part("found-group").nth(k).click()
    tab.part("part-groups").click()
    tab.shows_answers(25)
    assert len(links(demo)["cannot_link"]) == 50
    tab.press("z")
    tab.shows_answers(0)

    # Points at one side, of whatever groups these are: each gesture is one step.
    grouping = found(tab, demo, after=demo.state()["version"])
    for gesture in ("selection-split", "selection-one"):
        tab.settle(demo.state()["version"])
        tab.press("g")
        draw(tab, Outline(tab.points(), "left").corners)
        tab.shoot(gesture)
        tab.part(gesture).click()
        expect(tab.part("answers")).not_to_have_text("0 answers")
        known = links(demo)
        assert known["must_link"]
        assert bool(known["cannot_link"]) is (gesture == "selection-split")
        grouping = found(tab, demo, after=demo.state()["version"])
        assert grouping["version"] == demo.state()["version"]
        tab.press("Escape", "z")
        tab.shows_answers(0)
        found(tab, demo, after=demo.state()["version"])
