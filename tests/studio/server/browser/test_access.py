"""Use without a mouse, and with a screen reader."""

from pathlib import Path

import pytest

from tests.studio.server.browser.watched import WINDOW, Oracle, expect

AXE = Path(__file__).parents[4] / "page/node_modules/axe-core/axe.min.js"

# The element with the focus: its name for tests, and whether it looks focused.
FOCUSED = """() => {
    const element = document.activeElement;
    if (element === null || element === document.body) return null;
    const style = getComputedStyle(element);
    const outlined = style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0;
    const box = element.getBoundingClientRect();
    return {
        name: element.dataset.testid ?? element.className ?? element.tagName,
        visible: outlined || style.boxShadow !== "none",
        shown: box.width > 0 && box.height > 0,
    };
}"""


def walk(tab, most=80):
    """What has the focus after each Tab, until it leaves the page."""
    steps = []
    for _ in range(most):
        tab.press("Tab")
        focused = tab.page.evaluate(FOCUSED)
        if focused is None:
            break
        steps.append(focused)
    return steps


def test_all_is_reached_by_keys_and_said_aloud(open_tab, demo):
    tab = open_tab(demo.url, version=Oracle().teach(demo, 1))
    every_control_is_reached(tab)
    tab.press("z")
    answers_and_points_are_announced(tab)


def every_control_is_reached(tab):
    steps = walk(tab)
    assert all(step["visible"] and step["shown"] for step in steps)
    names = [step["name"] for step in steps]
    expected = [
        *("skip", "search", "filter-toggle", "export", "more", "stage"),
        *("colour-by", "words", "compare", "answer-same"),
        *("answer-different", "answer-unsure", "undo", "panel-said", "panel-details"),
    ]
    assert [name for name in names if name in expected] == expected
    # Nothing that can be clicked is left out.
    clickable = tab.page.locator("button:visible:enabled, a:visible, select:visible, input:visible")
    missed = clickable.evaluate_all(
        "(all, names) => all.map((one) => one.dataset.testid)"
        ".filter((name) => name && !names.includes(name))",
        names,
    )
    assert missed == []


def answers_and_points_are_announced(tab):
    tab.answer("d")
    tab.shows("announcer", "Different. 1 answer. Next:")
    tab.press("z")
    tab.shows("announcer", "Undone.")
    tab.press("Escape")
    # Arrow keys walk through the map.
    tab.press("m")
    expect(tab.part("stage")).to_be_focused()
    names = []
    for key in ("ArrowRight", "ArrowRight", "ArrowUp", "ArrowLeft", "ArrowDown"):
        tab.press(key)
        expect(tab.part("announcer")).not_to_have_text(names[-1] if names else "")
        expect(tab.part("announcer")).to_contain_text("Record")
        names.append(tab.part("announcer").inner_text())
    assert len(set(names)) >= 3
    expect(tab.part("hover-card")).to_be_visible()
    tab.press("Enter")
    expect(tab.part("neighbour")).to_have_count(10)
    # The list of answers is opened and closed by a key.
    tab.press("Escape", "h")
    expect(tab.part("said")).to_be_visible()
    expect(tab.part("panel")).to_be_focused()
    tab.press("h")
    expect(tab.part("said")).to_be_hidden()


def violations(tab):
    """All that axe-core finds, small targets included; of colours in the dark too."""
    found = []
    everything = {"rules": {"target-size": {"enabled": True}}}
    # In the dark only colours differ.
    for scheme, options in (("dark", {"runOnly": ["color-contrast"]}), ("light", everything)):
        tab.page.emulate_media(color_scheme=scheme)
        expect(tab.page.locator("html")).to_have_attribute("data-theme", scheme)
        found += [
            (scheme, one["id"], [node["html"][:160] for node in one["nodes"]])
            for one in tab.page.evaluate("(options) => window.axe.run(options)", options)[
                "violations"
            ]
        ]
    return found


@pytest.mark.night
@pytest.mark.skipif(not AXE.exists(), reason="axe-core is not installed: make studio")
def test_axe_finds_nothing(open_tab, demo, tales):
    for window in ({"width": 360, "height": 740}, WINDOW):
        version = tales.state()["version"]
        tab = open_tab(tales.url, version=version, viewport=window, bypass_csp=True)
        tab.page.evaluate(AXE.read_text())
        tab.press("/")
        tab.part("filter-toggle").click()
        tab.part("filter-column").select_option(label="town")
        tab.part("filter-editor").get_by_label("Graz").check()
        expect(tab.part("found-count")).to_have_text("20 of 60")
        assert violations(tab) == [], window
        tab.part("found-table").click()
        expect(tab.part("table").locator("tbody tr")).to_have_count(20)
        assert violations(tab) == [], window
        tab.part("table").locator("tbody th button").first.click()
        expect(tab.part("neighbour")).to_have_count(10)
        assert violations(tab) == [], window
        tab.page.close()

    tab = open_tab(demo.url, version=Oracle().teach(demo, 10), bypass_csp=True)
    tab.page.evaluate(AXE.read_text())
    tab.part("export").click()
    assert violations(tab) == []
    tab.press("Escape", "m", "ArrowRight", "Enter")
    expect(tab.part("neighbour")).to_have_count(10)
    assert violations(tab) == []
    tab.press("Escape")
    for panel in ("said", "details"):
        tab.open_panel(panel)
        assert violations(tab) == []
    tab.press("i")
    expect(tab.part("info-dialog")).to_be_visible()
    assert violations(tab) == []
    tab.press("Escape", "?")
    expect(tab.part("help-dialog")).to_be_visible()
    assert violations(tab) == []
