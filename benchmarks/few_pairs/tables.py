"""Tables and pictures of what was measured."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.stats import rankdata

from benchmarks.few_pairs.data import DATA, REPORTED, TUNED_ON
from benchmarks.few_pairs.judging import OF_PAIRS, OF_ROWS
from benchmarks.few_pairs.methods import EUCLIDEAN, FOR_SEARCH, OURS, methods, metrics
from benchmarks.few_pairs.protocols import (
    CLEAN,
    DRAWS,
    FEW_DRAWS,
    NOISY,
    ONE_DRAW,
    PROTOCOLS,
    UNSEEN,
)
from benchmarks.record import Block, Table
from nearkin.errors import counted

Row = dict[str, Any]
_HALVES = ((REPORTED, "reported"), (TUNED_ON, "tuned on"))


class Means:
    """Means over draws of what is measured, by data set, number of pairs and method."""

    def __init__(self, rows: list[Row], draws: int = DRAWS) -> None:
        self._found: dict[tuple[Any, ...], list[Row]] = {}
        self.most = draws
        for row in rows:
            if row["seed"] < draws:
                cell = row["protocol"], row["data"], row["n_pairs"], row["method"]
                self._found.setdefault(cell, []).append(row)

    def rows(self, title: str, data: str, n_pairs: int, name: str) -> list[Row]:
        return self._found.get((title, data, n_pairs, name), [])

    def names(self, title: str, sets: tuple[str, ...], measure: str = "auc") -> list[str]:
        """Methods that were measured in as many draws of every cell as the Euclidean distance."""
        return [name for name in methods(0) if self._as_often(name, title, sets, measure)]

    def _as_often(self, name: str, title: str, sets: tuple[str, ...], measure: str) -> bool:
        cells = [(data, n) for data in self.data(title, sets) for n in PROTOCOLS[title].n_pairs]
        plain = [len(self.rows(title, *cell, EUCLIDEAN)) for cell in cells]
        found = [sum(measure in row for row in self.rows(title, *cell, name)) for cell in cells]
        return bool(cells) and found == plain

    def data(self, title: str, sets: tuple[str, ...]) -> list[str]:
        """Sets of which all is measured that belongs to a protocol."""
        protocol = PROTOCOLS[title]
        return [
            data
            for data in protocol.data
            if data in sets
            and all(self.rows(title, data, n, EUCLIDEAN) for n in protocol.n_pairs)
            and all(self.rows(title, data, n, OURS) for n in protocol.n_pairs)
        ]

    def table(self, title: str, sets: tuple[str, ...], measure: str, names: list[str]) -> Any:
        """Array of shape (data sets, numbers of pairs, methods)."""
        return np.array(
            [
                [
                    [
                        np.mean([row[measure] for row in self.rows(title, data, n, name)])
                        for name in names
                    ]
                    for n in PROTOCOLS[title].n_pairs
                ]
                for data in self.data(title, sets)
            ]
        )

    def draws(self, title: str, sets: tuple[str, ...]) -> int:
        """The least number of draws of any cell."""
        cells = [(data, n) for data in self.data(title, sets) for n in PROTOCOLS[title].n_pairs]
        return min((len(self.rows(title, *cell, OURS)) for cell in cells), default=0)


def tables(rows: list[Row]) -> list[Block]:
    """Of all protocols, on sets that are reported and on those that settings were chosen on."""
    means, few = Means(rows), Means(rows, FEW_DRAWS)
    blocks: list[Block] = [
        _shown(means, few, sets, kind) for sets, kind in _HALVES if means.data(CLEAN, sets)
    ]
    blocks.append(_by_pairs(few, CLEAN, REPORTED, "auc", "reported, all methods"))
    with_peers = Means(rows, ONE_DRAW)
    if set(with_peers.names(CLEAN, REPORTED)) > set(few.names(CLEAN, REPORTED)):
        kind = "reported, other packages too"
        blocks.append(_by_pairs(with_peers, CLEAN, REPORTED, "auc", kind))
    for title in PROTOCOLS:
        for sets, kind in _HALVES:
            if means.data(title, sets):
                blocks.append(_by_pairs(means, title, sets, "auc", kind))
    for measure in (*list(OF_PAIRS)[1:], *OF_ROWS):
        blocks.append(_by_pairs(means, CLEAN, REPORTED, measure, "reported"))
    return [*blocks, _by_data(means), _suspects(means), _seconds(few)]


def draw_pictures(rows: list[Row], folder: Path) -> None:
    """Gains by the number of pairs, of methods that are measured most."""
    from benchmarks.few_pairs.pictures import gains_by_pairs

    means = Means(rows)
    chief = [name for name in means.names(CLEAN, REPORTED) if name in means.names(NOISY, REPORTED)]
    clean, noisy = (means.table(title, REPORTED, "auc", chief) for title in (CLEAN, NOISY))
    gains_by_pairs(clean, noisy, chief, PROTOCOLS[CLEAN].n_pairs, folder / "gains.png")


def _ranks(table: np.ndarray) -> np.ndarray:
    return np.asarray(rankdata(-table, axis=-1))


def _gain(means: Means, title: str, sets: tuple[str, ...], name: str) -> np.ndarray:
    """Over the Euclidean distance, of shape (data sets, numbers of pairs)."""
    table = means.table(title, sets, "auc", [name, EUCLIDEAN])
    return np.asarray(table[..., 0] - table[..., 1])


def _shown(means: Means, few: Means, sets: tuple[str, ...], kind: str) -> Table:
    """What MetricLearner is to show, on some sets."""
    names = few.names(CLEAN, sets)
    ranks = _ranks(few.table(CLEAN, sets, "auc", names)).mean(axis=(0, 1))
    order = np.argsort(ranks)
    ours = names.index(OURS)
    next_best = next(i for i in order if i != ours)
    gain = _gain(means, CLEAN, sets, OURS)
    above = gain > _gain(means, CLEAN, sets, "ITML")
    chief = means.names(CLEAN, sets)
    classifiers = [name for name in chief if name not in metrics(0)]
    rivals = means.table(CLEAN, sets, "auc", classifiers).mean(axis=0).max(axis=1)
    mean = means.table(CLEAN, sets, "auc", [OURS]).mean(axis=(0, 2))
    over = [
        f"{n}: {value:+.3f}"
        for n, value in zip(PROTOCOLS[CLEAN].n_pairs, mean - rivals, strict=True)
    ]
    body = [
        ["mean rank in pair AUC", f"{ranks[ours]:.2f} of {len(names)} methods"],
        ["the best of the others", f"{ranks[next_best]:.2f} {names[next_best]}"],
        ["mean gain over Euclidean", f"{gain.mean():+.4f}"],
        ["worst cell against Euclidean", f"{gain.min():+.4f}"],
        ["above ITML", f"{above.mean():.0%} of {above.size} cells"],
        ["over the best classifier of pairs in the mean, by pairs", "; ".join(over)],
    ]
    if means.data(NOISY, sets):
        # The same draws as with all pairs right.
        noisy, right = (_gain(few, title, sets, OURS).mean() for title in (NOISY, CLEAN))
        body.append(["share of the gain kept with 20 % wrong", f"{noisy / right:.0%}"])
    for name in (OURS, FOR_SEARCH):
        if name in means.names(UNSEEN, sets):
            unseen = _gain(means, UNSEEN, sets, name)
            said = 'goal="search"' if name == FOR_SEARCH else 'goal="groups"'
            body.append(
                [
                    f"unseen classes, {said}: mean and worst gain",
                    f"{unseen.mean():+.4f}, {unseen.min():+.4f}",
                ]
            )
    title = f"MetricLearner on {len(gain)} sets {kind}, {means.draws(CLEAN, sets)} draws"
    return Table(f"{title} (ranks: {few.draws(CLEAN, sets)})", ["", "found"], body)


def _by_pairs(means: Means, title: str, sets: tuple[str, ...], measure: str, kind: str) -> Table:
    names = means.names(title, sets, measure)
    table = means.table(title, sets, measure, names)
    ranks = _ranks(-table if measure == "log_loss" else table).mean(axis=(0, 1))
    body = [
        [names[i], f"{ranks[i]:.2f}", *(f"{x:.3f}" for x in table[..., i].mean(axis=0))]
        for i in np.argsort(ranks)
    ]
    what = {**OF_PAIRS, **OF_ROWS}[measure]
    draws = counted(means.draws(title, sets), "draw")
    heading = f"{what}, {title}; {len(table)} sets {kind}, {draws}"
    return Table(
        heading, ["", "mean rank", *(f"{n} pairs" for n in PROTOCOLS[title].n_pairs)], body
    )


def _by_data(means: Means) -> Table:
    names = means.names(CLEAN, DATA) or means.names(CLEAN, REPORTED)
    body = []
    for sets, kind in _HALVES:
        for data in means.data(CLEAN, sets):
            found = means.table(CLEAN, (data,), "auc", names)[0].mean(axis=0)
            body.append([data, kind, *(f"{value:.3f}" for value in found)])
    title = f"Pair AUC by data set, {CLEAN}, mean over numbers of pairs"
    return Table(title, ["", "", *names], body)


def _suspects(means: Means) -> Table:
    """Wrong pairs that are listed, beside what cleanlab lists by the same probabilities."""
    body = []
    for n_pairs in PROTOCOLS[NOISY].n_pairs:
        line = [str(n_pairs)]
        for who in ("suspects", "cleanlab"):
            shares = []
            for data in means.data(NOISY, REPORTED):
                found = [row[who] for row in means.rows(NOISY, data, n_pairs, OURS) if who in row]
                wrong, listed, both = (
                    sum(s[key] for s in found) for key in ("wrong", "listed", "both")
                )
                if wrong:
                    shares.append((both / wrong, both / listed if listed else np.nan))
            line += [f"{x:.0%}" for x in np.nanmean(shares, axis=0)] if shares else ["", ""]
        body.append(line)
    columns = ["pairs", "wrong ones found", "of those listed, wrong"]
    columns += [f"{name} by cleanlab" for name in columns[1:]]
    return Table(f"suspects_, {NOISY}, means over sets reported", columns, body)


def _seconds(means: Means) -> Table:
    names = means.names(CLEAN, REPORTED)
    table = means.table(CLEAN, REPORTED, "seconds", names)
    body = [
        [name, *(f"{value:.2f}" for value in np.median(table[..., i], axis=0))]
        for i, name in enumerate(names)
    ]
    title = "Seconds of a fit on one core, with others beside it; medians over data sets"
    return Table(title, ["", *(f"{n} pairs" for n in PROTOCOLS[CLEAN].n_pairs)], body)
