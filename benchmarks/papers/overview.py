"""One page over all papers: each table and figure, as published, by us, and the verdict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.papers.claims import Paper
from benchmarks.record import Page, Table, Text, stored

README = Path(__file__).parent / "README.md"
AGREES, ABOVE, BELOW, NOT_COMPARABLE = "agrees", "above", "below", "not comparable"
STRONGER = "stronger rival"  # a baseline of ours that does better than the printed one
# A difference is chance where this interval, in per cent, has zero in it.
_LEVEL = 95
_RESAMPLES = 4000
# With fewer measurements than this, their spread is not taken from them.
FEW = 5


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


_ZERO = Figure(0.0)


def interval(
    ours: Sequence[float], published: Figure = _ZERO, *, spread: float = 0.0
) -> tuple[float, float]:
    """Bootstrap interval of the mean of ours less the published one.

    Means of ours are drawn anew from the measurements, widened for their small number; the
    published one is drawn from a normal distribution with its standard error. Of differences on
    common splits (and no published figure) this is the paired interval.

    Parameters
    ----------
    ours : sequence of float
    published : Figure
    spread : float
        Deviation of a single measurement, in place of that of fewer than five.
    """
    found, rng = np.asarray(ours, dtype=float), np.random.RandomState(0)
    n = len(found)
    if n < FEW:
        chance = spread / np.sqrt(n) * rng.standard_normal(_RESAMPLES)
    else:
        drawn = found[rng.randint(n, size=(_RESAMPLES, n))].mean(axis=1)
        chance = (drawn - found.mean()) * np.sqrt(n / (n - 1))
    chance = chance + published.error * rng.standard_normal(_RESAMPLES)
    ends = (50 - _LEVEL / 2, 50 + _LEVEL / 2)
    low, high = np.percentile(found.mean() - published.mean + chance, ends)
    return float(low), float(high)


def verdict(
    ours: Sequence[float],
    published: Figure = _ZERO,
    *,
    larger_is_better: bool,
    rounding: float = 0.0,
    spread: float = 0.0,
    baseline: bool = False,
) -> str:
    """Whether ours agrees with, is better ("above") or worse ("below") than the published figure.

    Parameters
    ----------
    ours : sequence of float
        Measurements, or differences of two on common splits.
    published : Figure
        Nothing to compare with but zero by default.
    larger_is_better : bool
    rounding : float
        Half a unit of the last printed digit: the published figure may be off by it.
    spread : float
        As in :func:`interval`.
    baseline : bool
        What others are compared with: one that is better than printed makes them no better.
    """
    low, high = interval(ours, published, spread=spread)
    if low <= rounding and high >= -rounding:
        return AGREES
    if (low > 0) != larger_is_better:
        return BELOW
    return STRONGER if baseline else ABOVE


def explained(word: str, reasons: Mapping[str, str], what: str) -> str:
    """A verdict with the reason, if it is "below" and a reason is known."""
    return f"{word}: {reasons[what]}" if word == BELOW and what in reasons else word


@dataclass(frozen=True)
class Line:
    """A cell of a published table or a point of a figure, or all of one that has no numbers.

    Attributes
    ----------
    what : str
        Such as "Table 1, m = 100".
    published, ours, best : str
        As printed; the same method by us; the best of ours with its name, picked by the figures
        that are reported.
    verdict : str
        Of ours: "agrees", "above", "below", "stronger rival" of a baseline, or "not comparable";
        the reason behind a colon.
    """

    what: str
    published: str
    ours: str
    best: str
    verdict: str


def page(papers: Sequence[Paper]) -> Page:
    """The page, from the stored results of all papers."""
    blocks: list[Table | Text] = []
    every: list[Line] = []
    for paper in papers:
        lines = paper.overview(stored(paper.RAW)[1])
        every += lines
        columns = ["", "published", "as published, by us", "best of ours, picked here", "verdict"]
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
    """Whether the page is not what the stored results give, or leaves a reason out."""
    if not README.exists() or README.read_text() != page(papers).markdown():
        yield f"papers/{README.name} is not what the stored results give"
    for paper in papers:
        for line in paper.overview(stored(paper.RAW)[1]):
            kind, _, reason = line.verdict.partition(": ")
            if kind in (BELOW, NOT_COMPARABLE) and not reason:
                yield f"{paper.FOLDER.name}: {line.what} is {kind}, and no reason is given"


def summary(lines: Sequence[Line]) -> str:
    """How many verdicts of each kind there are, in words."""
    kinds = Counter(line.verdict.split(":")[0] for line in lines)
    told = ", ".join(
        f"{kinds[kind]} {kind}"
        for kind in (AGREES, ABOVE, STRONGER, BELOW, NOT_COMPARABLE)
        if kinds[kind]
    )
    judged = len(lines) - kinds[NOT_COMPARABLE]
    return (
        f"{len(lines)} figures and conclusions as published: {told}. A figure agrees where the "
        f"{_LEVEL} % bootstrap interval of its difference from the printed one, widened by the "
        f"last printed digit, has zero in it; of {judged} chance alone would put about "
        f"{judged * (100 - _LEVEL) / 100:.0f} outside. Conclusions are judged by paired intervals. "
        'Above is better. A baseline that does better than printed is a "stronger rival".'
    )
