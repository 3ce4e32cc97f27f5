"""Pages of papers say what the stored results give: benchmarks/papers/claims.py."""

import shutil
from importlib import import_module

import numpy as np
import pytest
from numpy.testing import assert_allclose

from benchmarks import site
from benchmarks.papers import claims, overview
from benchmarks.record import ROOT, stored
from benchmarks.site import BrokenRegion, filled, regions
from benchmarks.speed import page
from benchmarks.speed.one import Setting, measure
from benchmarks.speed.run import smaller
from tests.cases import each

PAPERS = [
    "lu2009_geometry_aware",
    "shi2011_generative",
    "yeung2007_kernel_approach",
    "yeung2007_scalable",
]


# One with every change; all of them at night.
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(name, marks=() if name == "yeung2007_scalable" else pytest.mark.night)
        for name in PAPERS
    ],
)
def test_every_number_of_a_paper_is_what_was_measured(name, monkeypatch):
    paper = import_module(f"benchmarks.papers.{name}.run")
    assert list(claims.problems(paper)) == []
    lines = paper.overview(stored(paper.RAW)[1])
    assert lines
    kinds = (overview.AGREES, overview.ABOVE, overview.STRONGER)
    explained = (overview.BELOW, overview.NOT_COMPARABLE)  # these say why
    for line in lines:
        kind, _, reason = line.verdict.partition(": ")
        assert kind in kinds or (kind in explained and reason), line
    # A sentence that no stored number makes is found, and one that is on no page.
    monkeypatch.setattr(paper, "SEEN", paper.SEEN[1:])
    monkeypatch.setattr(paper, "ON_SITE", [claims.Claim("Nobody says this.")])
    said = list(claims.problems(paper))
    assert [text.count("NOTES.md says what the stored results do not") for text in said] == [1, 0]
    assert "neither README.md nor a page of the site says: Nobody says this." in said


def test_a_verdict_is_by_the_interval_of_the_difference():
    errors = list(np.random.RandomState(0).normal(5.0, 1.0, size=30))
    low, high = overview.interval(errors)
    mean, error = overview.Figure.of(errors).mean, overview.Figure.of(errors).error
    assert_allclose([low, high], [mean - 1.96 * error, mean + 1.96 * error], rtol=0.02)

    def judge(printed, **more):
        return overview.verdict(errors, printed, larger_is_better=False, **more)

    far = overview.Figure(mean + 3 * error)
    assert judge(far) == overview.ABOVE
    assert judge(far, rounding=1.5 * error) == overview.AGREES
    assert judge(overview.Figure(far.mean, 2 * error)) == overview.AGREES
    assert judge(overview.Figure(mean - 3 * error)) == overview.BELOW
    # A rival that does better than printed makes nothing of ours better.
    assert judge(far, baseline=True) == overview.STRONGER
    assert judge(overview.Figure(mean - 3 * error), baseline=True) == overview.BELOW
    # One measurement is taken to be as spread as it is said.
    one = {"larger_is_better": True, "spread": 1.0}
    assert overview.verdict([5.0], overview.Figure(4.0), **one) == overview.AGREES
    assert overview.verdict([5.0], overview.Figure(2.0), **one) == overview.ABOVE


# The page on speed is what its stored results give, and a measurement is whole


def test_the_page_shows_what_is_stored(tmp_path):
    stored = ROOT / "benchmarks/speed"
    for path in stored.iterdir():
        if path.suffix in (".json", ".jsonl", ".md") and path.name != "README.md":
            shutil.copy(path, tmp_path)
    page.write(tmp_path)
    assert (tmp_path / "README.md").read_text() == (stored / "README.md").read_text()


def test_what_is_missing_names_its_command(tmp_path):
    page.write(tmp_path)
    text = (tmp_path / "README.md").read_text()
    for section in page.SECTIONS:
        assert f"Not measured yet: `{section.command}` does it." in text


@each("method", ["bare product", "KernelBeta", "GMML", "NeighborIndex, exact"])
def test_a_measurement_tells_time_and_memory(method):
    setting = smaller(Setting(method, 300, "classes", d=8))
    row = measure(setting)
    assert {key: row[key] for key in vars(setting)} == vars(setting)
    assert 0 < row["seconds"] == pytest.approx(row["fit"] + row["transform"])
    assert row["peak_gb"] > row["input_gb"] > 0


# Measured regions of the README and the site: benchmarks/site


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


def a_page(*lines):
    return "\n".join(["# A page", "", *lines, "", "The end.", ""])


RIGHT = a_page("<!-- measured: mean -->", "The mean is 2.50.", "<!-- /measured -->")


@each("before", ["The mean is 2.60.", "", "Two\n\nparagraphs, a `<!--`."])
def test_text_that_differs_is_named_and_put_right(before):
    text = a_page("<!-- measured: mean -->", *before.split("\n"), "<!-- /measured -->")
    assert filled(text, KNOWN) == (RIGHT, ["mean"])
    assert filled(RIGHT, KNOWN) == (RIGHT, [])
    # Several regions are independent of each other.
    table = a_page("<!-- measured: table -->", "<!-- /measured -->", "Between.")
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
        filled(a_page(*lines), KNOWN)


def test_comments_that_are_shown_as_code_are_no_regions():
    shown = ["<!-- measured: nobody -->", "<!-- /measured -->"]
    assert regions(a_page("```text", *shown, "```").split("\n")) == []
    assert regions(a_page("````md", "```", *shown, "```", "````").split("\n")) == []
    coded = {"code": lambda: "```text\n2.5\n```"}
    text = a_page("<!-- measured: code -->", "```text\n2.5\n```", "<!-- /measured -->")
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
