"""What is said of a choice among metrics: candidates, the reason, and how good the metric is."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape

from nearkin.pairs import answers as who
from nearkin.pairs.answers import Answerer
from nearkin.scores.quality import Quality
from nearkin.storage.schema import a, dict_of, list_of, maybe, real, stored, text, truth, whole

# Shares of learners by name: a blend of their squared distances, each of mean 1.
Recipe = dict[str, float]

EUCLIDEAN = "Euclidean"


class SelectionWarning(UserWarning):
    """No learned metric was chosen by its merits; the message says why.

    Examples
    --------
    >>> import warnings
    >>> import nearkin as nk
    >>> X, y = nk.datasets.make_xor(40, random_state=0)
    >>> with warnings.catch_warnings(record=True) as told:
    ...     warnings.simplefilter("always")
    ...     metric = nk.MetricLearner(random_state=0).fit(X, pairs=nk.Pairs([(0, 3)], [(0, 1)]))
    >>> [warning.category.__name__ for warning in told]
    ['SelectionWarning']
    """


@stored(name=text, auc=real, gain=real, error=real, chosen=truth)
@dataclass(frozen=True)
class Candidate:
    """A line of the report.

    Attributes
    ----------
    name : str
    auc : float
        Pair AUC on held-out pairs.
    gain, error : float
        Over the Euclidean distance, and its standard error.
    chosen : bool
    """

    name: str
    auc: float
    gain: float
    error: float
    chosen: bool = False


@stored(
    reason=text,
    candidates=list_of(a("Candidate")),
    n_judged=whole,
    chance_of_gain=maybe(real),
    recipe=dict_of(real),
    columns=maybe(text),
    answerers=maybe(list_of(a("Answerer"))),
    quality=maybe(a("Quality")),
)
@dataclass(frozen=True)
class SelectionReport:
    """How a metric was chosen. Print it.

    Attributes
    ----------
    reason : str
        Why this one, in a sentence.
    candidates : list of Candidate
        Best first; empty if there was nothing to choose by.
    n_judged : int
        Held-out pairs that candidates were judged by.
    chance_of_gain : float or None
        Probability that the choice is better than the Euclidean distance.
    recipe : dict
        Shares of the learners that the metric is a blend of.
    columns : str
        What was done to the columns first, and why; empty if nothing was.
    answerers : list of Answerer
        Who answered, the most reliable first; empty where pairs do not say who told them.
    quality : Quality or None
        How well the metric tells same from different, by held-out pairs and with 90 % intervals;
        None if there are none of either kind.
    """

    reason: str
    candidates: list[Candidate] = field(default_factory=list)
    n_judged: int = 0
    chance_of_gain: float | None = None
    recipe: Recipe = field(default_factory=dict)
    columns: str = ""
    answerers: list[Answerer] = field(default_factory=list)
    quality: Quality | None = None

    @property
    def _said(self) -> str:
        return " ".join(part for part in (self.reason, self.columns) if part)

    def __str__(self) -> str:
        judged = "" if self.quality is None else f"\nOn held-out pairs:\n{self.quality}"
        judged += f"\n{who.table(self.answerers)}" if self.answerers else ""
        if not self.candidates:
            return self._said + judged
        width = max(len(line.name) for line in self.candidates)
        lines = [f"  {'candidate':{width}}  pair AUC  gain over Euclidean"]
        for line in self.candidates:
            mark = "→" if line.chosen else " "
            gain = "" if line.name == EUCLIDEAN else f"{line.gain:+.3f} ± {line.error:.3f}"
            lines.append(f"{mark} {line.name:{width}}  {line.auc:8.3f}  {gain}".rstrip())
        return "\n".join([*lines, self._said]) + judged

    def _repr_html_(self) -> str:
        judged = "" if self.quality is None else self.quality._repr_html_()
        judged += who.as_html(self.answerers) if self.answerers else ""
        head = "<tr><th></th><th>candidate</th><th>pair AUC</th><th>gain over Euclidean</th></tr>"
        body = "".join(
            f"<tr><td>{'→' if line.chosen else ''}</td><td>{escape(line.name)}</td>"
            f"<td>{line.auc:.3f}</td><td>{line.gain:+.3f} ± {line.error:.3f}</td></tr>"
            for line in self.candidates
        )
        table = f"<table>{head}{body}</table>" if body else ""
        return f"{table}<p>{escape(self._said)}</p>{judged}"
