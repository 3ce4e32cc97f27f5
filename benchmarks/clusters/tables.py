"""Tables and pictures of what was measured of groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.clusters.questions import CONTROL
from benchmarks.record import Block, Table

Row = dict[str, Any]
OURS = "Clusters"
IN_OUR_METRIC = "k-means, true k, our metric"
NUMBERS = (20, 50, 200)
_BY_DATA = (
    OURS,
    IN_OUR_METRIC,
    "MPCKMeans",
    "COP-k-means",
    "COBRAS, asking",
    "HDBSCAN with labels",
)
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

    def shared(self, names: Sequence[str]) -> int:
        """How many draws all of these have of every cell."""
        cells = [(data, n, name) for data in self.data for n in NUMBERS for name in names]
        return min(len(self.found[cell]) for cell in cells)

    def mean(self, data: str, n_pairs: int, name: str, draws: int) -> float:
        """Over the first draws."""
        rows = sorted(self.found[data, n_pairs, name], key=lambda row: row["seed"])[:draws]
        return float(np.mean([row["ari"] for row in rows]))

    def table(self, names: Sequence[str]) -> np.ndarray:
        """Array of shape (data sets, numbers of pairs, methods), over draws that all have."""
        draws = self.shared(names)
        return np.array(
            [
                [[self.mean(data, n, name, draws) for name in names] for n in NUMBERS]
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
    blocks += [_numbers(results), _shapes(rows), _growth(rows), _questions(results, rows)]
    return [block for block in blocks if block.rows]


def _is_near(row: Row) -> bool:
    return bool(abs(row["k"] - row["k_true"]) <= _ABOUT * row["k_true"])


def _shown(results: Results, rows: Sequence[Row]) -> Table:
    """What was to be shown, and what was found."""
    if not results.rows:
        return Table("What it shows", ["", ""], [])
    draws = results.shared([OURS, IN_OUR_METRIC])
    ours, plain = (
        np.mean([results.mean(data, 200, name, draws) for data in results.data])
        for name in (OURS, IN_OUR_METRIC)
    )
    body = [
        [
            f"adjusted Rand index with 200 pairs, {draws} draws, and that of k-means with the true "
            "k in our metric",
            f"{ours:.3f}, {plain:.3f}: {ours - plain:+.3f}",
        ]
    ]
    rivals = [name for name in results.methods if name != IN_OUR_METRIC]
    table = results.table(rivals)
    ranks = rankdata(-table, axis=-1).mean(axis=0)
    for place, n in enumerate(NUMBERS):
        by_rank = dict(zip(rivals, ranks[place], strict=True))
        own = by_rank.pop(OURS)
        best = min(by_rank, key=lambda name: by_rank[name])
        body.append(
            [
                f"mean rank with {n} pairs among {len(rivals)} methods, each in its own metric",
                f"{own:.2f}; next {by_rank[best]:.2f}, {best}",
            ]
        )
    near = [_is_near(row) for n in NUMBERS for row in results.ours(n)]
    body.append(["number of clusters within ±20 %", f"{np.mean(near):.0%} of {len(near)} runs"])
    return Table("What it shows", ["", ""], body)


def _by_method(results: Results) -> Table:
    if not results.rows:
        return Table("By method", [], [])
    table = results.table(results.methods)
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
    draws = results.shared(results.methods)
    title = f"Adjusted Rand index and mean rank, by method, in as many draws as all have: {draws}"
    return Table(title, head, body)


def _by_data(results: Results) -> Table:
    if not results.rows:
        return Table("By data", [], [])
    names = [name for name in _BY_DATA if name in results.methods]
    draws = results.shared(names)
    body = [
        [data, *(f"{results.mean(data, 200, name, draws):.3f}" for name in names)]
        for data in results.data
    ]
    return Table("Adjusted Rand index with 200 pairs, by data set", ["data", *names], body)


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


def _questions(results: Results, rows: Sequence[Row]) -> Table:
    """Answers, beside 200 random pairs of the same draws."""
    asked: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row.get("part") == "questions" and row["strategy"] != CONTROL:
            column = f"{row['strategy']}, {row['n_asked']}"
            asked.setdefault(row["data"], {}).setdefault(column, []).append(row["ari"])
    columns = list(dict.fromkeys(column for found in asked.values() for column in found))
    whole = {data: found for data, found in asked.items() if set(columns) == set(found)}
    reached: dict[str, list[bool]] = {column: [] for column in columns}
    body = []
    for data, found in whole.items():
        control = results.mean(data, 200, OURS, len(found[columns[0]]))
        means = [float(np.mean(found[column])) for column in columns]
        for column, mean in zip(columns, means, strict=True):
            reached[column].append(mean >= control)
        body.append([data, f"{control:.3f}", *(f"{mean:.3f}" for mean in means)])
    if body:
        shares = [f"{sum(reached[column])} of {len(body)}" for column in columns]
        body.append(["at least as good", "", *shares])
    head = ["data", "200 random pairs", *columns]
    return Table("Questions, by strategy and number of answers: adjusted Rand index", head, body)


def pictures(rows: Sequence[Row], folder: Path) -> None:
    """Means by number of pairs."""
    import matplotlib.pyplot as plt

    results = Results(rows)
    if not results.rows:
        return
    means = results.table(results.methods).mean(axis=0)
    order = np.argsort(-means[-1])
    figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
    for i, color in zip(order, plt.get_cmap("tab20").colors, strict=False):
        name = results.methods[i]
        bold = name == OURS
        ax.plot(
            NUMBERS,
            means[:, i],
            "o-",
            color=color,
            lw=2.5 if bold else 1,
            label=name,
            zorder=3 - 2 * bold,
        )
    ax.set(xscale="log", xlabel="pairs", ylabel="adjusted Rand index", xticks=NUMBERS)
    ax.set_xticklabels([str(n) for n in NUMBERS])
    ax.minorticks_off()
    ax.legend(fontsize=7, loc="center left", bbox_to_anchor=(1, 0.5))
    figure.savefig(folder / "by_pairs.png", dpi=120)
    plt.close(figure)
