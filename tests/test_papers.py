"""Pages of papers say what the stored results give: benchmarks/papers/claims.py."""

from importlib import import_module

import pytest

from benchmarks.papers import claims, overview
from benchmarks.record import stored

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
    kinds = (overview.AGREES, overview.ABOVE, overview.BELOW, overview.NOT_COMPARABLE)
    assert {line.verdict.split(":")[0] for line in lines} <= set(kinds)
    # A sentence that no stored number makes is found, and one that is on no page.
    monkeypatch.setattr(paper, "SEEN", paper.SEEN[1:])
    monkeypatch.setattr(paper, "ON_SITE", [claims.Claim("Nobody says this.")])
    said = list(claims.problems(paper))
    assert [text.count("NOTES.md says what the stored results do not") for text in said] == [1, 0]
    assert "neither README.md nor a page of the site says: Nobody says this." in said
