"""Tables and pictures of what was measured of groups."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.record import Block, Table

Row = dict[str, Any]
OURS = "Clusters"
IN_OUR_METRIC = "k-means, true k, our metric"
NUMBERS = (20, 50, 200)
# How far the number of groups may be from the truth.
_ABOUT = 0.2


class Results:
    """Adjusted Rand indices by data set, number of pairs and method, as means over draws."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = [row for row in rows if row.get("part") == "pairs"]
        self.found: dict[tuple[str, int, str], list[Row]] = {}
        for row in self.rows:
            cell = row["data"], row["n_pairs"], row["method"]
            self.found.setdefault(cell, []).append(row)
        ours = [cell for cell in self.found if cell[2] == OURS]
        self.data = list(dict.fromkeys(cell[0] for cell in ours))
        names = dict.fromkeys(cell[2] for cell in self.found)
        self.methods = [name for name in names if self._is_whole(name)]

    def _is_whole(self, name: str) -> bool:
        return all((data, n, name) in self.found for data in self.data for n in NUMBERS)

    def draws(self, name: str) -> str:
        """How many draws there are of a method, in the cell with fewest and with most."""
        counts = [len(self.found[data, n, name]) for data in self.data for n in NUMBERS]
        low, high = min(counts), max(counts)
        return str(low) if low == high else f"{low}–{high}"

    def mean(self, data: str, n_pairs: int, name: str) -> float:
        """Over the draws that every method has."""
        shared = min(len(self.found[data, n_pairs, other]) for other in self.methods)
        rows = sorted(self.found[data, n_pairs, name], key=lambda row: row["seed"])[:shared]
        return float(np.mean([row["ari"] for row in rows]))

    def table(self) -> np.ndarray:
        """Array of shape (data sets, numbers of pairs, methods)."""
        return np.array(
            [
                [[self.mean(data, n, name) for name in self.methods] for n in NUMBERS]
                for data in self.data
            ]
        )

    def ours(self, n_pairs: int) -> list[Row]:
        """All runs of ours with so many pairs."""
        return [row for row in self.rows if row["method"] == OURS and row["n_pairs"] == n_pairs]


def tables(rows: Sequence[Row]) -> list[Block]:
    """All of them."""
    results = Results(rows)
    blocks: list[Block] = [_shown(results, rows), _by_method(results), _by_data(results)]
    blocks += [_numbers(results), _shapes(rows), _growth(rows), _questions(rows)]
    return [block for block in blocks if block.rows]


def _is_near(row: Row) -> bool:
    return bool(abs(row["k"] - row["k_true"]) <= _ABOUT * row["k_true"])


def _shown(results: Results, rows: Sequence[Row]) -> Table:
    """What was to be shown, and what was found."""
    if not results.rows:
        return Table("What it shows", ["", ""], [])
    table = results.table()
    means = dict(zip(results.methods, table[:, -1].mean(axis=0), strict=True))
    ranks = rankdata(-table, axis=-1).mean(axis=0)
    own = results.methods.index(OURS)
    body = [
        [
            "Adjusted Rand index with 200 pairs, over k-means with the true k in our metric",
            f"{means[OURS]:.3f} against {means[IN_OUR_METRIC]:.3f}, "
            f"{means[OURS] - means[IN_OUR_METRIC]:+.3f}",
        ]
    ]
    for place, n in enumerate(NUMBERS):
        others = [i for i in range(len(results.methods)) if i != own]
        best = min(others, key=lambda i: ranks[place][i])
        body.append(
            [
                f"mean rank with {n} pairs, of {len(results.methods)} methods",
                f"{ranks[place][own]:.2f}; the best of the others "
                f"{ranks[place][best]:.2f}, {results.methods[best]}",
            ]
        )
    near = [_is_near(row) for n in NUMBERS for row in results.ours(n)]
    body.append(["number of clusters within ±20 %", f"{np.mean(near):.0%} of {len(near)} runs"])
    return Table("What it shows", ["", ""], body)


def _by_method(results: Results) -> Table:
    if not results.rows:
        return Table("By method", [], [])
    table = results.table()
    means, ranks = table.mean(axis=0), rankdata(-table, axis=-1).mean(axis=0)
    order = np.argsort(ranks.mean(axis=0))
    head = ["method", *(f"{n} pairs" for n in NUMBERS), *(f"rank, {n}" for n in NUMBERS), "draws"]
    body = [
        [
            results.methods[i],
            *(f"{value:.3f}" for value in means[:, i]),
            *(f"{value:.2f}" for value in ranks[:, i]),
            results.draws(results.methods[i]),
        ]
        for i in order
    ]
    return Table("Adjusted Rand index and mean rank, by method", head, body)


def _by_data(results: Results) -> Table:
    if not results.rows:
        return Table("By data", [], [])
    head = ["data", *results.methods]
    body = [
        [data, *(f"{results.mean(data, 200, name):.3f}" for name in results.methods)]
        for data in results.data
    ]
    return Table("Adjusted Rand index with 200 pairs, by data set", head, body)


def _numbers(results: Results) -> Table:
    """How often the number is right."""
    body = []
    for n in NUMBERS:
        rows = results.ours(n)
        if rows:
            inside = [row["interval"][0] <= row["k_true"] <= row["interval"][1] for row in rows]
            body.append(
                [
                    str(n),
                    f"{np.mean([_is_near(row) for row in rows]):.0%}",
                    f"{np.mean([row['k'] == row['k_true'] for row in rows]):.0%}",
                    f"{np.mean(inside):.0%}",
                    f"{np.mean([row['seconds'] for row in rows]):.1f}",
                    str(len(rows)),
                ]
            )
    head = ["pairs", "within ±20 %", "exact", "truth in the interval", "seconds", "runs"]
    return Table("Number of clusters that Clusters finds", head, body)


def _shapes(rows: Sequence[Row]) -> Table:
    found: dict[str, list[Row]] = {}
    for row in rows:
        if row.get("part") == "shapes":
            found.setdefault(row["data"], []).append(row)
    body = [
        [
            shape,
            f"{np.mean([row['ari'] for row in runs]):.3f}",
            f"{np.mean([row['ari'] >= 0.95 for row in runs]):.0%}",
            f"{np.mean([row['k'] == row['k_true'] for row in runs]):.0%}",
            str(len(runs)),
        ]
        for shape, runs in found.items()
    ]
    head = ["shape", "adjusted Rand index", "at least 0.95", "number right", "draws"]
    return Table("Shapes in the plane, 20 pairs", head, body)


def _growth(rows: Sequence[Row]) -> Table:
    runs = sorted((row for row in rows if row.get("part") == "growth"), key=lambda row: row["n"])
    keys = ("n", "n_cannot", "seconds", "memory_gb", "n_groups", "ari", "broken")
    body = [
        [f"{row[key]:,}" if key.startswith("n") else str(row[key]) for key in keys] for row in runs
    ]
    if len(runs) > 1:
        slope = np.polyfit(*(np.log([row[key] for row in runs]) for key in ("n", "seconds")), 1)[0]
        body.append([f"exponent {slope:.2f}", *[""] * (len(keys) - 1)])
    head = ["rows", "cannot-links", "seconds", "memory (GB)", "groups", "index", "broken pairs"]
    return Table("A hundred clusters, with cannot-links of nearly all rows", head, body)


def _questions(rows: Sequence[Row]) -> Table:
    """Answers instead of random pairs."""
    asked: dict[tuple[str, str, int], list[float]] = {}
    for row in rows:
        if row.get("part") == "questions":
            key = row["data"], row["strategy"], row["n_asked"]
            asked.setdefault(key, []).append(row["ari"])
    data = list(dict.fromkeys(key[0] for key in asked))
    columns = list(dict.fromkeys(key[1:] for key in asked))
    value: Callable[[str, Any], float] = lambda name, column: float(  # noqa: E731
        np.mean(asked.get((name, *column), [np.nan]))
    )
    body = [[name, *(f"{value(name, column):.3f}" for column in columns)] for name in data]
    control = next((column for column in columns if column[0] == "random"), None)
    if control is not None:
        share = []
        for column in columns:
            reached = [value(name, column) >= value(name, control) for name in data]
            share.append(f"{np.mean(reached):.0%}")
        body.append(["at least 200 random pairs", *share])
    head = ["data", *(f"{strategy}, {n}" for strategy, n in columns)]
    return Table("Questions, by strategy and number of answers", head, body)


def pictures(rows: Sequence[Row], folder: Path) -> None:
    """Means by number of pairs."""
    import matplotlib.pyplot as plt

    results = Results(rows)
    if not results.rows:
        return
    means = results.table().mean(axis=0)
    order = np.argsort(-means[-1])
    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for i in order:
        name = results.methods[i]
        bold = name == OURS
        ax.plot(NUMBERS, means[:, i], "o-", lw=2.5 if bold else 1, label=name, zorder=3 - 2 * bold)
    ax.set(xscale="log", xlabel="pairs", ylabel="adjusted Rand index", xticks=NUMBERS)
    ax.set_xticklabels([str(n) for n in NUMBERS])
    ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(folder / "by_pairs.png", dpi=120)
    plt.close(figure)
