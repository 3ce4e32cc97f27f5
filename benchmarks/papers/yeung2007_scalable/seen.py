"""What was seen, in sentences whose numbers come from the stored results."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from benchmarks.papers.claims import Claim
from benchmarks.papers.overview import ABOVE, AGREES, BELOW
from benchmarks.papers.yeung2007_scalable import landmark_choice, unsaid, xor_figure
from benchmarks.papers.yeung2007_scalable.cells import Cell, best, cells, judged, values
from benchmarks.papers.yeung2007_scalable.methods import (
    AS_PUBLISHED,
    CALIBRATED,
    CUT,
    KERNEL_BETAS,
    Row,
)

Numbers = dict[str, Any]
LEARNED = [cell for cell in cells() if cell.m is not None]
BASELINES = [cell for cell in cells() if cell.m is None]
REAL = [cell for cell in LEARNED if cell.table == 2]
KEYS = {AS_PUBLISHED: "published", CUT: "cut", CALIBRATED: "calibrated"}


def mean(rows: list[Row], cell: Cell, method: str, measure: str = "J") -> float:
    return float(np.mean(values(rows, cell, method, measure)))


def named(chosen: Iterable[Cell]) -> str:
    """Cells by where they stand in the paper."""
    names = [f"XOR m = {cell.m}" if cell.table == 1 else cell.title for cell in chosen]
    return ", ".join(name.replace(": KernelBeta", "") for name in names) or "none"


def verdicts(rows: list[Row]) -> Numbers:
    of = {kind: [x for x in LEARNED if judged(rows, x) == kind] for kind in (AGREES, ABOVE, BELOW)}
    reached = {
        f"reached_{KEYS[method]}": sum(mean(rows, x, method) >= x.printed[0] for x in LEARNED)
        for method in KERNEL_BETAS
    }
    return {
        "n": len(LEARNED),
        "n_best": sum(best(rows, cell)[1] >= cell.printed[0] for cell in LEARNED),
        **{f"n_{kind}": len(found) for kind, found in of.items()},
        **{kind: named(found) for kind, found in of.items()},
        **reached,
    }


def baselines(rows: list[Row]) -> Numbers:
    kinds = [judged(rows, cell) for cell in BASELINES]

    def off(method: str, table: int = 2) -> float:
        """The largest difference from a printed figure."""
        some = [cell for cell in BASELINES if (cell.method, cell.table) == (method, table)]
        return max(abs(mean(rows, cell, method) - cell.printed[0]) for cell in some)

    return {
        "n": len(kinds),
        **{f"n_{kind}": kinds.count(kind) for kind in (AGREES, ABOVE, BELOW)},
        "input": off("input"),
        "rbf": off("RBF"),
        "rca": off("RCA"),
        "xor_rbf": off("RBF", 1),
        **{kind: named(c for c in BASELINES if judged(rows, c) == kind) for kind in (ABOVE, BELOW)},
    }


def cut_offs(rows: list[Row]) -> Numbers:
    def along(measure: str, digits: int) -> str:
        found = [unsaid.mean(rows, "cut-off", "19", cut, measure) for cut in unsaid.CUTS]
        return ", ".join(f"{value:.{digits}f}" for value in found)

    return {
        "cuts": ", ".join(f"{cut:g}" for cut in unsaid.CUTS),
        "J": along("J", 2),
        "auc": along("auc", 3),
        "draws": unsaid.DRAWS,
    }


def ranking(rows: list[Row]) -> Numbers:
    """Pair AUC on the sets of Table 2."""
    at_input = [
        mean(rows, cell, "input", "auc")
        for cell in BASELINES
        if (cell.method, cell.table) == ("input", 2)
    ]
    numbers: Numbers = {"input": np.mean(at_input), "n": len(REAL)}
    for method, key in KEYS.items():
        found = [mean(rows, cell, method, "auc") for cell in REAL]
        numbers[key] = np.mean(found)
        numbers[f"above_{key}"] = int(np.sum(np.array(found) > at_input))
    return numbers


def landmarks_of_pairs(rows: list[Row]) -> Numbers:
    found = [v for cell in REAL for v in values(rows, cell, AS_PUBLISHED, "pair_points")]
    ranks = [v for cell in REAL for v in values(rows, cell, AS_PUBLISHED, "rank")]
    kept = [v for cell in REAL for v in values(rows, cell, CUT, "rank")]
    return {
        "least": min(found),
        "most": max(found),
        "rank": np.median(ranks),
        "cut_least": min(kept),
        "cut_most": max(kept),
    }


def spread_of_draws(rows: list[Row]) -> Numbers:
    cell = next(cell for cell in LEARNED if cell.m == 100 and cell.table == 1)
    isolet = next(cell for cell in LEARNED if cell.data == "isolet")
    return {
        "ours": np.std(values(rows, cell, AS_PUBLISHED), ddof=1),
        "theirs": cell.printed[1],
        "isolet": np.std(values(rows, isolet, AS_PUBLISHED), ddof=1),
        "isolet_theirs": isolet.printed[1],
    }


def neighbours(rows: list[Row]) -> Numbers:
    def along(data: str) -> str:
        found = [unsaid.mean(rows, "neighbours", data, k) for k in unsaid.NEIGHBOURS]
        return ", ".join(f"{value:.2f}" for value in found)

    ks = ", ".join(map(str, unsaid.NEIGHBOURS))
    return {"ks": ks, "xor": along("xor"), "s19": along("19"), "isolet": along("isolet")}


def figure_1(rows: list[Row]) -> Numbers:
    numbers: Numbers = {}
    for method, key in KEYS.items():
        for panel, name in zip("ef", xor_figure.panels(method, 0), strict=True):
            numbers[f"{key}_{panel}"] = xor_figure.mean(rows, name, "auc")
    return {
        **numbers,
        "rca": xor_figure.mean(rows, "RCA (linear)", "auc"),
        "pairs": xor_figure.N_PAIRS,
    }


def choice(rows: list[Row]) -> Numbers:
    """How often each way of choosing is best, and the mean over all sets by the number m."""
    numbers: Numbers = {"n": len(landmark_choice.DATA) * len(landmark_choice.LANDMARKS)}
    for method in landmark_choice.METHODS:
        shape = (len(landmark_choice.DATA), len(landmark_choice.LANDMARKS), -1)
        auc = np.reshape(
            [
                np.mean(
                    landmark_choice.values(
                        rows, "auc", method=method, data=data, m=m, strategy=name
                    )
                )
                for data in landmark_choice.DATA
                for m in landmark_choice.LANDMARKS
                for name in landmark_choice.STRATEGIES
            ],
            shape,
        )
        for i, name in enumerate(landmark_choice.STRATEGIES):
            key = f"{KEYS[method]}_{name.replace('++', '')}"
            numbers[key] = float(auc[:, :, i].mean())
            numbers[f"{key}_best"] = int(np.sum(auc.argmax(axis=2) == i))
            numbers[f"{key}_real_few"] = float(auc[1:, 0, i].mean())
            numbers[f"{key}_real_many"] = float(auc[1:, -1, i].mean())
    return numbers


SEEN: list[Claim] = []
IN_README: list[Claim] = []
