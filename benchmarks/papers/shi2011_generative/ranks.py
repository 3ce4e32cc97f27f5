"""Tables 1 and 5: mean ranks over the small sets, and what the paper concludes from them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.stats import rankdata

from benchmarks.papers.overview import AGREES, BELOW, Line
from benchmarks.papers.shi2011_generative import published
from benchmarks.papers.shi2011_generative.cells import Measured, cell_of
from benchmarks.record import Table

TABLES = {"Table 1": published.TABLE_1, "Table 5": published.TABLE_5}
SETS = [data for data in published.SMALL if data not in published.OTHER_DATA]
_RESAMPLES = 500
# Conclusions in the text: table, words, methods, and those that these are to outrank.
UNI, GLM, KDE = ("M^UNI", "M^UNI, energy"), ("GLM^INT",), ("M^KDE",)
CONCLUSIONS = (
    ("Table 1", "M^UNI, by votes or energies, ranks before all others", UNI, None),
    ("Table 1", "GLM^INT ranks before LMNN and Euclidean", GLM, ("LMNN", "Euclidean")),
    ("Table 5", "M^KDE ranks before M^UNI, its energy and M^GMM", KDE, (*UNI, "M^GMM")),
)


def errors(found: Measured, methods: Sequence[str]) -> list[np.ndarray]:
    """By set that is the paper's: a row for each method, a column for each split that all have."""
    return [
        found.paired((cell_of("Table 4", data, m).ours for m in methods), "error") for data in SETS
    ]


def mean_ranks(
    found: Measured, methods: Sequence[str], rng: np.random.RandomState | None = None
) -> dict[str, float]:
    """Mean rank of each method over the sets; of splits drawn anew, if a generator is given."""
    ranks = []
    for values in errors(found, methods):
        n = values.shape[1]
        drawn = slice(None) if rng is None else rng.randint(n, size=n)
        ranks.append(rankdata(values[:, drawn].mean(axis=1)))
    return dict(zip(methods, map(float, np.mean(ranks, axis=0)), strict=True))


def table(found: Measured) -> Table:
    body = []
    for number, rows in TABLES.items():
        ours = mean_ranks(found, list(rows))
        body += [
            [f"{number}: {method}", f"{printed:g}", f"{ours[method]:.2f}"]
            for method, printed in rows.items()
        ]
    title = f"Tables 1 and 5. Mean ranks over the {len(SETS)} small sets that are the paper's"
    return Table(f"{title} (printed: over eight)", ["", "published", "by us"], body)


def share_of_resamples(
    found: Measured, methods: Sequence[str], first: Sequence[str], others: Sequence[str]
) -> float:
    """How often the worst of some ranks before the best of others, of splits drawn anew."""
    rng, times = np.random.RandomState(0), 0
    for _ in range(_RESAMPLES):
        ranks = mean_ranks(found, methods, rng)
        times += max(ranks[m] for m in first) < min(ranks[m] for m in others)
    return times / _RESAMPLES


def chance_of_paper(first: str, other: str) -> str:
    """On how many sets the printed error of one is below that of another by more than chance."""

    def is_lower(data: str) -> bool:
        one, two = (cell_of("Table 4", data, method).printed for method in (first, other))
        assert one is not None
        assert two is not None
        return two.mean - one.mean > np.hypot(one.error, two.error)

    n = sum(map(is_lower, SETS))
    return (
        f"as printed, {first} is below {other} by more than a standard error on {n} of "
        f"{len(SETS)} sets"
    )


def lines(found: Measured) -> list[Line]:
    """A line for each conclusion."""
    made = []
    for number, words, first, others in CONCLUSIONS:
        methods = list(TABLES[number])
        rest = others or tuple(m for m in methods if m not in first)
        printed, ours = TABLES[number], mean_ranks(found, methods)
        told = [
            ", ".join(f"{m} {ranks[m]:.2f}" for m in (*first, *rest)) for ranks in (printed, ours)
        ]
        share = share_of_resamples(found, methods, first, rest)
        said = f"so in {100 * share:.0f} % of resampled splits"
        if share <= 0.5:
            said = f"{said}; {chance_of_paper(first[0], rest[0])}"
        made.append(
            Line(
                f"{number}, ranks: {words}",
                told[0],
                f"{told[1]}; {len(SETS)} sets",
                "",
                f"{AGREES}: {said}" if share > 0.5 else f"{BELOW}: {said}",
            )
        )
    return made
