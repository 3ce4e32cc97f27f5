"""What is said of groups that were chosen: candidates, the number, and how sure it is."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

import numpy as np

from nearkin.tasks.grouping.choice import Comparison, Judged

# Lines of a table that is printed.
_MOST_LINES = 10


@dataclass(frozen=True)
class GroupingCandidate:
    """A line of the report.

    Attributes
    ----------
    family : str
    asked, found : int
        Number of groups that it was asked for, and that it has with the pairs kept.
    index : float
        Adjusted Rand index, as expected from held-out pairs; NaN where there are none.
    stability : float
        Adjusted Rand index with what was found when some pairs, or rows, were left out.
    score : float
        What candidates are compared by.
    chosen : bool
    """

    family: str
    asked: int
    found: int
    index: float
    stability: float
    score: float
    chosen: bool = False


@dataclass(frozen=True)
class GroupingReport:
    """How groups were chosen. Print it.

    Attributes
    ----------
    reason : str
        Why these, in a sentence or two.
    family : str
    n_clusters : int
    interval : tuple of (int, int)
        Number of groups: between which it is in nine of ten cases, if other pairs had been held
        out.
    candidates : list of GroupingCandidate
        Best first.
    n_judged : int
        Held-out pairs that candidates were judged by.
    prevalence : float or None
        Share of all pairs of rows that are the same, as estimated from these.
    """

    reason: str
    family: str
    n_clusters: int
    interval: tuple[int, int]
    candidates: list[GroupingCandidate] = field(default_factory=list)
    n_judged: int = 0
    prevalence: float | None = None

    @property
    def summary(self) -> str:
        """Family, number and interval in a few words."""
        low, high = self.interval
        sure = "" if low == high else f" (90 % interval {low} to {high})"
        return f"{self.n_clusters} groups{sure} by {self.family}"

    def __str__(self) -> str:
        if not self.candidates:
            return f"{self.summary}. {self.reason}"
        width = max(len(line.family) for line in self.candidates)
        lines = [f"  {'family':{width}}  groups  index  stability  score"]
        for line in self._shown:
            mark = "→" if line.chosen else " "
            lines.append(
                f"{mark} {line.family:{width}}  {line.found:6}  {line.index:5.2f}"
                f"  {line.stability:9.2f}  {line.score:5.2f}"
            )
        left = len(self.candidates) - len(self._shown)
        if left:
            lines.append(f"  … and {left} more")
        return "\n".join([*lines, f"{self.summary}. {self.reason}"])

    @property
    def _shown(self) -> list[GroupingCandidate]:
        first = self.candidates[:_MOST_LINES]
        return first + [line for line in self.candidates[_MOST_LINES:] if line.chosen]

    def _repr_html_(self) -> str:
        head = "".join(
            f"<th>{title}</th>" for title in ("", "family", "groups", "index", "stability", "score")
        )
        body = "".join(
            f"<tr><td>{'→' if line.chosen else ''}</td><td>{escape(line.family)}</td>"
            f"<td>{line.found}</td><td>{line.index:.2f}</td><td>{line.stability:.2f}</td>"
            f"<td>{line.score:.2f}</td></tr>"
            for line in self._shown
        )
        table = f"<table><tr>{head}</tr>{body}</table>" if body else ""
        return f"{table}<p>{escape(self.summary)}. {escape(self.reason)}</p>"


def report_of(
    comparison: Comparison, best: Judged, given: bool, rng: np.random.RandomState
) -> GroupingReport:
    """What there is to say of a comparison."""
    held_out = comparison.held_out
    n_judged = min(int(held_out.same.sum()), int((~held_out.same).sum()))
    indices = held_out.indices()
    scores = comparison.scores(indices)
    if not n_judged:
        indices = np.full(len(indices), np.nan)
    candidates = [
        GroupingCandidate(*one.key, one.found, index, one.stability, score, one is best)
        for one, index, score in zip(
            comparison.candidates, indices.tolist(), scores.tolist(), strict=True
        )
    ]
    by_score = sorted(candidates, key=lambda line: -line.score)
    # Of candidates of one family that came to have one number of groups, the best.
    once = {(line.family, line.found): line for line in reversed(by_score)}
    return GroupingReport(
        _reason(comparison.n_judged if n_judged else 0, given),
        best.key.family,
        best.found,
        (best.found, best.found) if given else comparison.interval(rng),
        [line for line in by_score if line is once[line.family, line.found]],
        comparison.n_judged,
        held_out.prevalence() if n_judged else None,
    )


def _reason(n_judged: int, given: bool) -> str:
    number = "The number was given; the family was chosen" if given else "They were chosen"
    if n_judged:
        return f"{number} by {n_judged} held-out pairs, and by how stable groups are."
    return (
        f"{number} by how stable groups are, and how far apart, since no pairs of both kinds could "
        "be held out: ten of either kind would tell more."
    )


def unchosen(n_groups: int) -> GroupingReport:
    """Where there was nothing to choose among."""
    reason = "There was no choice: pairs, equal rows or the number given leave no other groups."
    return GroupingReport(reason, "no family", n_groups, (n_groups, n_groups))
