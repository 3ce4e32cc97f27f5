"""Measured regions of the README and the site: benchmarks/site."""

import pytest

from benchmarks import site
from benchmarks.site import BrokenRegion, filled, regions
from tests.cases import each

KNOWN = {"mean": lambda: "The mean is 2.50.", "table": lambda: "| a |\n| --- |\n| 1 |"}


def test_the_readme_shows_what_the_stored_results_give():
    text = (site.ROOT / "README.md").read_text(encoding="utf-8")
    assert regions(text.split("\n"))
    assert filled(text, site.blocks()) == (text, [])


@pytest.mark.night
def test_every_measured_region_is_what_the_stored_results_give():
    assert list(site.problems()) == []


def test_every_function_is_shown_on_some_page():
    pages = [path.read_text().split("\n") for path in site.pages() if path.is_file()]
    shown = {region.name for lines in pages for region in regions(lines)}
    assert sorted(set(site.blocks()) - shown) == []


def page(*lines):
    return "\n".join(["# A page", "", *lines, "", "The end.", ""])


RIGHT = page("<!-- measured: mean -->", "The mean is 2.50.", "<!-- /measured -->")


@each("before", ["The mean is 2.60.", "", "Two\n\nparagraphs, a `<!--`."])
def test_text_that_differs_is_named_and_put_right(before):
    text = page("<!-- measured: mean -->", *before.split("\n"), "<!-- /measured -->")
    assert filled(text, KNOWN) == (RIGHT, ["mean"])
    assert filled(RIGHT, KNOWN) == (RIGHT, [])
    # Several regions are independent of each other.
    table = page("<!-- measured: table -->", "<!-- /measured -->", "Between.")
    right, differ = filled(table + text, KNOWN)
    assert differ == ["table", "mean"]
    assert "| --- |\n| 1 |\n<!-- /measured -->\nBetween.\n" in right
    assert right.endswith(RIGHT)


@each(
    ("lines", "said"),
    [
        (["<!-- measured: mean -->", "2.5"], "line 3: 'mean' is left open"),
        (["<!-- measured: mean -->", "<!-- measured: table -->"], "line 4: 'mean' is still open"),
        (["<!-- /measured -->"], "line 3: no region is open"),
        (["<!-- measured: nobody -->", "<!-- /measured -->"], "line 3: nothing in .* is 'nobody'"),
        (["  <!-- measured: mean -->"], "line 3 is like a region's comment, and is none"),
        (["<!-- measured mean -->"], "line 3 is like a region's comment, and is none"),
        (["<!-- measured: mean -->", "<!-- /measured-->"], "line 4 is like a region's comment"),
    ],
)
def test_comments_that_cannot_be_right_are_refused(lines, said):
    with pytest.raises(BrokenRegion, match=said):
        filled(page(*lines), KNOWN)


def test_comments_that_are_shown_as_code_are_no_regions():
    shown = ["<!-- measured: nobody -->", "<!-- /measured -->"]
    assert regions(page("```text", *shown, "```").split("\n")) == []
    assert regions(page("````md", "```", *shown, "```", "````").split("\n")) == []
    coded = {"code": lambda: "```text\n2.5\n```"}
    text = page("<!-- measured: code -->", "```text\n2.5\n```", "<!-- /measured -->")
    assert filled(text, coded) == (text, [])


def test_pages_are_checked_and_written(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(site, "blocks", lambda: KNOWN)
    wrong, opened = tmp_path / "docs" / "guide" / "a.md", tmp_path / "docs" / "b.md"
    made = tmp_path / "docs" / "gallery" / "c.md"
    for path in (wrong, made):
        path.parent.mkdir(parents=True)
        path.write_text(RIGHT.replace("2.50", "2.49"))
    opened.write_text("<!-- measured: mean -->\n")
    (tmp_path / "README.md").write_text(RIGHT)

    left_open = "docs/b.md, line 1: 'mean' is left open"
    differs = "docs/guide/a.md is not what the stored results give: mean"
    assert list(site.problems(root=tmp_path)) == [left_open, differs]
    assert list(site.problems(root=tmp_path, write=True)) == [left_open]
    assert capsys.readouterr().out == "written: docs/guide/a.md: mean\n"
    assert wrong.read_text() == RIGHT
    assert opened.read_text() == "<!-- measured: mean -->\n"
    assert made.read_text() != RIGHT
