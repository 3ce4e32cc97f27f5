"""Pages of papers say what the stored results give: benchmarks/papers/claims.py."""

from importlib import import_module
from types import SimpleNamespace

import numpy as np
import pytest

from benchmarks.papers import claims, overview
from benchmarks.papers.claims import Claim
from benchmarks.papers.overview import Figure, Line, verdict
from benchmarks.record import Page, Table, publish_page, store, stored
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
def test_every_number_of_a_paper_is_what_was_measured(name):
    paper = import_module(f"benchmarks.papers.{name}.run")
    assert list(claims.problems(paper)) == []
    lines = paper.overview(stored(paper.RAW)[1])
    assert lines
    kinds = (overview.AGREES, overview.ABOVE, overview.BELOW, overview.NOT_COMPARABLE)
    assert {line.verdict.split(":")[0] for line in lines} <= set(kinds)


@pytest.fixture
def paper(tmp_path, monkeypatch):
    """A folder with one measured number, on all its pages."""
    readme = tmp_path / "README.md"
    readme.write_text("Read this: the mean of\nall is 2.50.\n")
    monkeypatch.setattr(claims, "pages", lambda: [tmp_path / "docs" / "index.md", readme])
    raw = tmp_path / "results.jsonl"
    store(raw, [{"J": 2.0}, {"J": 3.0}])

    def mean(rows):
        return {"mean": np.mean([row["J"] for row in rows])}

    def page():
        source, rows = stored(raw)
        return Page("A paper", [Table("J", ["mean"], [[f"{mean(rows)['mean']:.2f}"]])], source)

    def lines(rows):
        ours = f"{mean(rows)['mean']:.2f}"
        return [Line("Table 1", "2.40", ours, ours, overview.AGREES, reached=True)]

    (tmp_path / "NOTES.md").write_text(
        f"# Notes\n\n{claims.SECTION}\n\n## Settings\n\n- None are here.\n"
    )
    made = SimpleNamespace(
        FOLDER=tmp_path,
        RAW=raw,
        TITLE="A paper",
        TIME="a second",
        SEEN=[Claim("The mean is {mean:.2f}.", mean), Claim("There is no more.")],
        ON_SITE=[Claim("the mean of all is {mean:.2f}", mean)],
        page=page,
        overview=lines,
    )
    publish_page(tmp_path / "RESULTS.md", page())
    claims.write(made)
    return made


def test_pages_that_were_written_are_right(paper):
    assert list(claims.problems(paper)) == []
    notes = (paper.FOLDER / "NOTES.md").read_text()
    assert notes.startswith("# Notes\n\n## What was seen\n\n- The mean is 2.50.\n- There is no")
    assert notes.endswith("\n\n## Settings\n\n- None are here.\n")
    claims.write(paper)
    assert (paper.FOLDER / "NOTES.md").read_text() == notes


@each(
    ("file", "right", "wrong", "said"),
    [
        ("NOTES.md", "2.50", "2.60", "NOTES.md says what the stored results do not: The mean is 2"),
        ("NOTES.md", "- There is no more.\n", "", "NOTES.md does not say: There is no more."),
        ("NOTES.md", "- The", "Nearly 7.\n\n- The", "do not: Nearly 7."),
        ("RESULTS.md", "2.50", "2.51", "RESULTS.md is not what the stored results give"),
        ("README.md", "2.50", "2.49", "a page of the site says: the mean of all is 2.50"),
        ("results.jsonl", "3.0", "3.2", "a page of the site says: the mean of all is 2.60"),
    ],
)
def test_what_is_wrong_is_found(paper, file, right, wrong, said):
    path = paper.FOLDER / file
    assert right in path.read_text()
    path.write_text(path.read_text().replace(right, wrong))
    assert said in "\n".join(claims.problems(paper))


def test_the_page_over_all_papers_counts_verdicts(paper):
    text = overview.page([paper, paper]).markdown()
    assert "2 figures as published: 2 agrees" in text
    assert "in 2 of 2 cells" in text
    assert "| Table 1 | 2.40 | 2.50 | 2.50 | agrees |" in text


def test_a_verdict_allows_for_chance_and_rounding():
    def judged(ours, published, **more):
        return verdict(ours, published, **{"larger_is_better": True, "rounding": 0.005} | more)

    assert judged(Figure(1.0, 0.3), Figure(2.0, 0.4)) == "agrees"  # 2 × 0.5
    assert judged(Figure(0.99, 0.3), Figure(2.0, 0.4)) == "below"
    assert judged(Figure(0.99, 0.3), Figure(2.0, 0.4), larger_is_better=False) == "above"
    assert judged(Figure(1.004), Figure(1.0)) == "agrees"
    assert judged(Figure(1.006), Figure(1.0)) == "above"
    assert Figure.of([1.0, 2.0, 3.0]) == Figure(2.0, pytest.approx(1 / np.sqrt(3)))
    assert Figure.of([1.0]) == Figure(1.0, 0.0)
