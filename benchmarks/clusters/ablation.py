"""What each family of groupings, and each step that keeps pairs, is worth.

Up to 300 rows of a table are grouped, in the coordinates of ITML, which is quick to learn. Half of
the pairs are must-links; they name 60 % of the rows, and groups are judged on the others. Choices
are made on the sets of ``CHOSEN_ON``, and reported on those of ``REPORTED_ON``: a coin decided
(``few_pairs.data``).

    python -m benchmarks.clusters.ablation    # measure what is not stored yet

What was tried, and went, is stored too. ``families`` and ``repairs`` are those of the library as it
was at 8a87673c; ``neighbours`` that of b27230b8, in which rows went to where their neighbours are,
in place of a regression: as good on the sets to choose on, but not on those to report on. Commits
beside results are on branches of these. ``spectral`` is the library as it is, but with spectral
clustering in place of linkage, by which shapes in the plane were lost.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from functools import lru_cache
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest.mock import patch

import numpy as np

from benchmarks.clusters.protocol import Rows, rows
from benchmarks.few_pairs.data import pairs_with_mistakes
from benchmarks.record import Table, stored
from benchmarks.resume import Job, Row, complete
from nearkin import ITML, Clusters, Pairs
from nearkin.clustering.clusters import CandidateSearch
from nearkin.clustering.partitions import Partitions
from nearkin.errors import InputError
from nearkin.pairs.closure import number_by_appearance

RAW = Path(__file__).parent / "ablation.jsonl"
# Of ``few_pairs.data.TUNED_ON``, and of ``REPORTED``.
CHOSEN_ON = (
    "iris",
    "ionosphere",
    "boston_housing",
    "letters",
    "magic",
    "australian",
    "digits",
    "coil20",
)
REPORTED_ON = (
    "wine",
    "protein",
    "breast_cancer_wdbc",
    "balance_scale",
    "vehicle",
    "image_segmentation",
    "monk2",
    "usps",
)
HALVES = {"chosen on": CHOSEN_ON, "reported on": REPORTED_ON}
NUMBERS = (0, 20, 60, 200)
# Share of wrong answers, and numbers of pairs that have some; more contradict one another.
WRONG, NUMBERS_WITH_WRONG = 0.1, (60,)
# Rows that pairs may name, and rows to judge by, at most.
N_NAMED, N_JUDGED = 180, 120
BEFORE = "before: k-means+ward+spectral+linkage+agreement"
NOW = "now: k-means+linkage"


REPAIR = Partitions.repair


def skip_repair(self: Partitions, start: np.ndarray, k: int, turns: int = 0) -> np.ndarray:
    """Let groups be as they were found, whatever pairs say."""
    return number_by_appearance(start)


def repair_once(self: Partitions, start: np.ndarray, k: int, turns: int = 0) -> np.ndarray:
    """Change groups in one turn."""
    return REPAIR(self, start, k, 1)


def skip_vote(self: CandidateSearch, best: Any) -> np.ndarray:
    """Take the groups that all pairs gave."""
    return self.whole.get(*best.key)


Change = Callable[[], AbstractContextManager[Any]]
# Options of Clusters, and what is changed in it.
VARIANTS: dict[str, tuple[dict[str, Any], Change]] = {
    NOW: ({}, nullcontext),
    "k-means": ({"families": ["k-means"]}, nullcontext),
    "linkage": ({"families": ["linkage"]}, nullcontext),
    "soft": ({"keep": "soft"}, nullcontext),
    "one turn": ({}, lambda: patch.object(Partitions, "repair", repair_once)),
    "pairs in the metric only": ({}, lambda: patch.object(Partitions, "repair", skip_repair)),
    "no vote": ({}, lambda: patch.object(CandidateSearch, "vote", skip_vote)),
}


@lru_cache(maxsize=2)
def draw_part(data: str, n_pairs: int, seed: int, wrong: float = 0.0) -> Rows:
    """Draw some rows of a table, and as many pairs of the first of them."""
    whole = rows(data, 0, seed)
    n = min(N_NAMED, whole.test.start)
    some = np.r_[0:n, whole.test.start : min(len(whole.y), whole.test.start + N_JUDGED)]
    X, y = whole.X[some], whole.y[some]
    pairs = Pairs(n_rows=len(y))
    if n_pairs:
        told, _ = pairs_with_mistakes(y[:n], n_pairs, wrong, seed)
        pairs = Pairs(told.must_link, told.cannot_link, n_rows=len(y))
    return Rows(X, y, pairs, slice(n, len(y)))


def measure(data: str, n_pairs: int, seed: int, wrong: float) -> list[Row]:
    """All variants on one draw; one that refuses contradictions has no index."""
    part = draw_part(data, n_pairs, seed, wrong)
    found: list[Row] = []
    for name, (options, change) in VARIANTS.items():
        start = perf_counter()
        clusters = Clusters(metric=ITML(random_state=seed), random_state=seed, **options)
        with warnings.catch_warnings(), change():
            warnings.simplefilter("ignore")
            try:
                labels = clusters.fit(part.X, pairs=part.pairs).labels_
            except InputError:
                found.append({"variant": name, "refused": True})
                continue
        seconds = round(perf_counter() - start, 3)
        scored = {"ari": round(part.score(labels), 4), "k": clusters.n_clusters_}
        found.append({"variant": name, **scored, "k_true": part.k_true, "seconds": seconds})
    return found


def jobs() -> Iterator[Job]:
    """All numbers of pairs on the sets of both halves, one draw of each."""
    for n_pairs in NUMBERS:
        for wrong in (0.0, WRONG) if n_pairs in NUMBERS_WITH_WRONG else (0.0,):
            for data in (*CHOSEN_ON, *REPORTED_ON):
                names = {"part": "now", "data": data, "n_pairs": n_pairs, "seed": 0}
                yield Job({**names, "wrong": wrong}, measure, (data, n_pairs, 0, wrong))


def tables() -> list[Table]:
    """Means over sets, by variant."""
    _, found = stored(RAW)
    for row in found:
        row.setdefault("wrong", 0.0)
        if row["variant"] == BEFORE.partition(": ")[2]:
            row["variant"] = BEFORE
    first = [row for row in found if row["seed"] == 0]
    families = [row for row in found if row["part"] == "families" and row["variant"] != "setup"]
    before, again = ([row for row in families if row["seed"] == seed] for seed in (0, 1))
    repairs = [row for row in first if row["part"] == "repairs"]
    neighbours = [row for row in first if row["part"] == "neighbours"]
    spectral = [row for row in first if row["part"] == "spectral"]
    now = [row for row in first if row["part"] == "now"]
    ours = [row for row in before if row["variant"] == BEFORE]
    return [
        _table("Families as they were: adjusted Rand index, mean by number of pairs", before),
        _table("The same in a second draw", again),
        _table("Ways to keep pairs as they were, with k-means and spectral clustering", repairs),
        _table("Groups of neighbours in place of the regression, which went", [*ours, *neighbours]),
        _table("Spectral clustering in place of linkage, which went", [*ours, *spectral]),
        _table("Clusters as it is, beside what it was", [*ours, *now]),
    ]


def _table(title: str, found: Sequence[Row]) -> Table:
    cells = [(n, wrong) for n in NUMBERS for wrong in (0.0, WRONG)]
    columns = [
        (half, n, wrong)
        for half, sets in HALVES.items()
        for n, wrong in cells
        if any(
            row["data"] in sets and (row["n_pairs"], row["wrong"]) == (n, wrong) for row in found
        )
    ]
    variants = list(dict.fromkeys(row["variant"] for row in found))
    right = [(row["variant"], row["n_pairs"]) for row in found if not row["wrong"]]
    most = max(map(right.count, right))
    shared = {n for n in NUMBERS if all(right.count((name, n)) == most for name in variants)}
    body = []
    for variant in variants:
        mine = [row for row in found if row["variant"] == variant and "ari" in row]
        shown = []
        for half, n, wrong in columns:
            some = [
                row["ari"]
                for row in mine
                if row["data"] in HALVES[half] and (row["n_pairs"], row["wrong"]) == (n, wrong)
            ]
            whole = len(some) == len(HALVES[half])
            shown.append(f"{np.mean(some):.3f}" if whole else "")
        right = [row for row in mine if not row["wrong"] and row["n_pairs"] in shared]
        near = np.mean([abs(row["k"] - row["k_true"]) <= 0.2 * row["k_true"] for row in right])
        # Of several families before, what each found alone was taken, and needed no time.
        timed = [row["seconds"] for row in mine if row["part"] != "families" or "+" not in variant]
        body.append([variant, *shown, f"{near:.0%}", f"{np.mean(timed):.2f}" if timed else ""])
    head = [f"{half}: {n}{', 10 % wrong' if wrong else ''}" for half, n, wrong in columns]
    return Table(title, ["variant", *head, "number within ±20 %", "seconds"], body)


if __name__ == "__main__":
    complete(RAW, jobs(), "ablation")
    for table in tables():
        table.show()
