"""One page over all papers: each table and figure, as published, by us, and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import hypot
from pathlib import Path

import numpy as np

from benchmarks.papers.claims import Paper
from benchmarks.record import Page, Table, Text, stored

README = Path(__file__).parent / "README.md"
AGREES, ABOVE, BELOW, NOT_COMPARABLE = "agrees", "above", "below", "not comparable"
# Differences of two means up to this many of their combined standard errors are chance.
_CHANCE = 2.0


@dataclass(frozen=True)
class Figure:
    """A mean with its standard error; a published one may have none."""

    mean: float
    error: float = 0.0

    @classmethod
    def of(cls, values: Sequence[float]) -> Figure:
        """Of independent measurements."""
        found = np.asarray(values, dtype=float)
        error = found.std(ddof=1) / np.sqrt(len(found)) if len(found) > 1 else 0.0
        return cls(float(found.mean()), float(error))

    def text(self, digits: int = 2) -> str:
        mean = f"{self.mean:.{digits}f}"
        return f"{mean} ± {self.error:.{digits}f}" if self.error else mean


def verdict(ours: Figure, published: Figure, *, larger_is_better: bool, rounding: float) -> str:
    """Whether ours agrees with, is better ("above") or worse ("below") than the published figure.

    Parameters
    ----------
    ours, published : Figure
    larger_is_better : bool
    rounding : float
        Half a unit of the last printed digit: the published figure may be off by it.
    """
    difference = ours.mean - published.mean
    if abs(difference) <= rounding + _CHANCE * hypot(ours.error, published.error):
        return AGREES
    return ABOVE if (difference > 0) == larger_is_better else BELOW


@dataclass(frozen=True)
class Line:
    """A cell of a published table or a point of a figure, or all of one that has no numbers.

    Attributes
    ----------
    what : str
        Such as "Table 1, m = 100".
    published, ours, best : str
        As printed; the same method by us; the best of ours with its name.
    verdict : str
        Of ours: "agrees", "above", "below", or "not comparable", with the reason behind a colon.
    reached : bool or None
        Whether the best of ours is at least the published figure; None where there is none.
    """

    what: str
    published: str
    ours: str
    best: str
    verdict: str
    reached: bool | None = None


def page(papers: Sequence[Paper]) -> Page:
    """The page, from the stored results of all papers."""
    blocks: list[Table | Text] = []
    every: list[Line] = []
    for paper in papers:
        lines = paper.overview(stored(paper.RAW)[1])
        every += lines
        columns = ["", "published", "as published, by us", "best of ours", "verdict"]
        body = [[x.what, x.published, x.ours, x.best, x.verdict] for x in lines]
        blocks.append(Text(f"## {paper.TITLE}"))
        blocks.append(
            Text(
                f"`python -m benchmarks {paper.FOLDER.name}`, {paper.TIME}; "
                f"[tables]({paper.FOLDER.name}/RESULTS.md), [notes]({paper.FOLDER.name}/NOTES.md)."
            )
        )
        blocks.append(Table("Every table and figure", columns, body, n_words=1))
    return Page("The papers, reproduced", [Text(summary(every)), *blocks], None)


def problems(papers: Sequence[Paper]) -> Iterator[str]:
    """Whether the page is not what the stored results give."""
    if not README.exists() or README.read_text() != page(papers).markdown():
        yield f"papers/{README.name} is not what the stored results give"


def summary(lines: Sequence[Line]) -> str:
    """How many verdicts of each kind there are, in words."""
    kinds = Counter(line.verdict.split(":")[0] for line in lines)
    told = ", ".join(
        f"{kinds[kind]} {kind}" for kind in (AGREES, ABOVE, BELOW, NOT_COMPARABLE) if kinds[kind]
    )
    judged = [line.reached for line in lines if line.reached is not None]
    share = f"{sum(judged)} of {len(judged)}" if judged else "none"
    return (
        f"{len(lines)} figures as published: {told} ({_CHANCE:g} combined standard errors and the "
        "last printed digit count as agreement; above is better). The best of ours is at least "
        f"the published figure in {share} cells."
    )
