"""Ten real data sets, 10 to 50 must-links, default settings: does learning beat Euclidean?

Columns are standardised. Each metric learns from the must-links of a draw; pair AUC is measured on
all other pairs (those that follow from the must-links are left out), and balanced Rand on k-means.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from rich.progress import track
from sklearn.cluster import KMeans

from benchmarks.data import load, standardized
from benchmarks.record import Table, publish, store, stored
from nearkin import RCA, KernelBeta, Pairs
from nearkin.scores import balanced_rand, pair_auc

FOLDER = Path(__file__).parent
RAW = FOLDER / "must_links.jsonl"
DATA = (
    "iris",
    "soybean_small",
    "protein",
    "wine",
    "ionosphere",
    "boston_housing",
    "breast_cancer_wdbc",
    "heart",
    "vehicle",
    "balance_scale",
)
N_PAIRS = (10, 20, 30, 40, 50)


def methods(seed: int) -> dict[str, Any]:
    return {
        "Euclidean": None,
        "RCA": RCA(random_state=seed),
        "KernelBeta, paper": KernelBeta(weighting="paper", random_state=seed),
        "KernelBeta": KernelBeta(random_state=seed),
    }


def run(draws: int) -> None:
    """Measure everything and store the raw results."""
    rows = []
    settings = [(data, n, seed) for data in DATA for n in N_PAIRS for seed in range(draws)]
    for data, n_pairs, seed in track(settings, description="few pairs"):
        X, y = load(data)
        X = standardized(X)
        pairs = Pairs.from_labels(y, n_pairs, kind="must", random_state=seed)
        others = without(Pairs.from_labels(y), pairs.closure())
        for name, metric in methods(seed).items():
            Z = X if metric is None else metric.fit(X, pairs=pairs).transform(X)
            clusters = KMeans(len(np.unique(y)), n_init=3, random_state=seed).fit_predict(Z)
            rows.append(
                {
                    "data": data,
                    "n_pairs": n_pairs,
                    "seed": seed,
                    "method": name,
                    "auc": pair_auc(Z, pairs=others),
                    "rand": balanced_rand(y, clusters),
                }
            )
    store(RAW, rows)


def without(pairs: Pairs, excluded: Pairs) -> Pairs:
    """The pairs that are not among the excluded must-links."""
    n = pairs.n_rows
    left = ~np.isin(pairs.must_link @ [n, 1], excluded.must_link @ [n, 1])
    return Pairs(pairs.must_link[left], pairs.cannot_link, n_rows=n)


def score() -> None:
    """Tables from the stored results: gain over Euclidean, by data set and by number of pairs."""
    source, rows = stored(RAW)
    learners = [name for name in methods(0) if name != "Euclidean"]

    def mean(measure: str, **names: Any) -> float:
        return float(np.mean([row[measure] for row in rows if names.items() <= row.items()]))

    tables = []
    for measure, title in (("auc", "Held-out pair AUC"), ("rand", "Balanced Rand of k-means")):
        body = []
        for data in DATA:
            base = mean(measure, data=data, method="Euclidean")
            gains = [mean(measure, data=data, method=name) - base for name in learners]
            body.append([data, f"{base:.3f}", *[f"{gain:+.3f}" for gain in gains]])
        base = mean(measure, method="Euclidean")
        gains = [mean(measure, method=name) - base for name in learners]
        body.append(["mean", f"{base:.3f}", *[f"{gain:+.3f}" for gain in gains]])
        title += f": Euclidean, and gains over it (mean of {N_PAIRS} must-links)"
        tables.append(Table(title, ["", "Euclidean", *learners], body))
    body = []
    for n_pairs in N_PAIRS:
        gains = [
            mean("auc", data=data, n_pairs=n_pairs, method="KernelBeta")
            - mean("auc", data=data, n_pairs=n_pairs, method="Euclidean")
            for data in DATA
        ]
        won = sum(gain >= 0 for gain in gains)
        body.append([str(n_pairs), f"{np.mean(gains):+.3f}", f"{min(gains):+.3f}", f"{won} of 10"])
    columns = ["must-links", "mean gain", "least gain", "data sets not below"]
    tables.append(Table("KernelBeta over Euclidean, pair AUC", columns, body))
    publish(FOLDER / "MUST_LINKS.md", "Must-links only, default settings", tables, source)
