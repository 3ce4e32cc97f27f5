"""What the benchmarks show, in a line or two each: docs/measured/index.md."""

from __future__ import annotations

from importlib import import_module

from benchmarks.record import stored

_PAPERS = (
    "yeung2007_scalable",
    "yeung2007_kernel_approach",
    "lu2009_geometry_aware",
    "shi2011_generative",
)


def papers() -> str:
    """What each paper's run.py says of it in a sentence."""
    lines = []
    for name in _PAPERS:
        paper = import_module(f"benchmarks.papers.{name}.run")
        rows = stored(paper.RAW)[1]
        lines += [f"- [{paper.TITLE}](papers/{name}.md)", ""]
        lines += [f"  {claim.sentence(rows)}." for claim in paper.ON_SITE] + [""]
    return "\n".join(lines[:-1])


BLOCKS = {"papers": papers}
