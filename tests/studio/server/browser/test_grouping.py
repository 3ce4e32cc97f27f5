"""Groups of all points in a real browser: coloured, named, joined, by keys that they keep."""

import numpy as np
import pandas as pd
import pytest

from tests.studio.server.browser.studios import studio_at
from tests.studio.server.browser.watched import expect, links

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


def test_groups_are_coloured_named_and_joined_where_they_are_listed(open_tab, heaps):
    tab = open_tab(heaps.url, version=heaps.state()["version"])
    expect(tab.part("legend")).to_be_hidden()
    for row in (0, 15, 30):
        heaps.post("/api/answers", {"left": row, "right": row + 1, "same": True})
    groups = tab.part("group")
    expect(groups).to_have_count(3)
    expect(groups.locator(".badge")).to_have_text(["1", "2", "3"])
    sizes = [int(text) for text in groups.locator(".legend-count").all_inner_texts()]
    assert sum(sizes) == 60
    # What tells them apart is said; a person can name them, by keys alone.
    expect(groups.first).to_contain_text("low")
    groups.first.focus()
    tab.press("ArrowDown")
    expect(groups.nth(1)).to_be_focused()
    tab.press("ArrowUp", "Enter")
    expect(tab.part("group-name")).to_be_focused()
    tab.type("zeros & co 1")
    tab.press("Enter")
    expect(tab.part("group").first).to_contain_text("zeros & co 1")
    expect(tab.part("group").first).to_be_focused()
    expect(tab.part("map-name").filter(has_text="1zeros & co 1")).to_have_count(1)
    # Undo takes the name away, as it does an answer.
    tab.press("z")
    expect(tab.part("group").first).not_to_contain_text("zeros")
    tab.press("Shift+Z")
    expect(tab.part("group").first).to_contain_text("zeros")
    # Two are one: the older number and the name stay, and the others keep theirs.
    tab.part("group").nth(1).click()
    tab.part("group-merge").select_option("0")
    expect(tab.part("group")).to_have_count(2)
    expect(tab.part("group").locator(".badge")).to_have_text(["1", "3"])
    expect(tab.part("group").first).to_contain_text("zeros & co 1")
    must = np.array(links(heaps)["must_link"]).reshape(-1, 2)
    assert [0, 15] in (must // 15 * 15).tolist()
    tab.reload(heaps.state()["version"])
    expect(tab.part("group").locator(".badge")).to_have_text(["1", "3"])
    expect(tab.part("group").first).to_contain_text("zeros & co 1")
