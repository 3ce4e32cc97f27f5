"""Figures 1 to 4 and Tables II and III of Yeung and Chang (2007), by the paper's protocol.

Clustering by k-means under each metric, scored by balanced Rand: the mean over ``RUNS`` runs of
k-means for each draw of pairs. One setting of every learner for all data sets. NOTES.md says what
the paper leaves out.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from joblib import Parallel, delayed
from rich.progress import track
from scipy.stats import ttest_rel
from sklearn.cluster import KMeans
from sklearn.datasets import make_moons

from benchmarks.data import load, standardized
from benchmarks.record import Page, Table, publish_page, store, stored
from nearkin import LLMA, RCA, KernelA, KernelBeta, MPCKMeans, Pairs, plot
from nearkin.datasets import make_xor
from nearkin.scores import balanced_rand

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
RUNS = 20
DRAWS = 20

ARTIFICIAL = ("xor", "two moons")
UCI = (
    "soybean_small",
    "protein",
    "wine",
    "ionosphere",
    "boston_housing",
    "breast_cancer_wdbc",
)
DIGITS = ("01", "358", "4679")

Rows = np.ndarray


def data_set(name: str) -> tuple[Rows, Rows, int, int]:
    """Rows, classes, number of pairs and number of draws."""
    if name == "xor":
        return *make_xor(400, random_state=0), 10, DRAWS
    if name == "two moons":
        return *make_moons(400, noise=0.1, random_state=0), 10, DRAWS
    if name in UCI:
        X, y = load(name)
        return standardized(X), y, 30, DRAWS
    X, y = load("mnist")
    rng = np.random.RandomState(0)
    rows = [rng.choice(np.flatnonzero(y == int(digit)), 1000, replace=False) for digit in name]
    chosen = np.concatenate(rows)
    return X[chosen] / 255, y[chosen], 50, 10


def embedded(metric: Any) -> Callable[..., Rows]:
    def embed(X: Rows, pairs: Pairs) -> Rows:
        return metric.fit(X, pairs=pairs).transform(X)

    return embed


def both(X: Rows, pairs: Pairs) -> Rows:
    """β and A together: the A-step on the features that β has re-weighted."""
    Z = KernelBeta(random_state=0).fit(X, pairs=pairs).transform(X)
    return KernelA(kernel="linear", random_state=0).fit(Z, pairs=pairs).transform(Z)


METRICS: dict[str, Callable[[Rows, Pairs], Rows]] = {
    "Euclidean": lambda X, pairs: X,
    # As published, with as much shrinkage as an inverse needs; and with our default.
    "RCA": embedded(RCA(shrinkage=1e-3, random_state=0)),
    "RCA, shrunk": embedded(RCA(random_state=0)),
    "LLMA": embedded(LLMA(random_state=0)),
    "KernelBeta": embedded(KernelBeta(random_state=0)),
    "KernelA": embedded(KernelA(random_state=0)),
    "KernelA, 20 steps": embedded(KernelA(n_iter=20, random_state=0)),
    "both": both,
}
ORDER = ("Euclidean", "RCA", "RCA, shrunk", "MPCK-S", "MPCK-SD", *list(METRICS)[3:])


def run(draws: int) -> None:
    """Measure everything and store the raw results; ``draws`` limits the paper's 20."""
    pictures()
    rows: list[dict[str, Any]] = []
    jobs = []
    for name in (*ARTIFICIAL, *UCI, *DIGITS):
        X, y, n_pairs, most = data_set(name)
        n_draws = most if draws == 10 else min(draws, most)
        jobs += [delayed(one_draw)(name, X, y, n_pairs, seed) for seed in range(n_draws)]
    for part in track(
        Parallel(n_jobs=2, return_as="generator", max_nbytes=None)(jobs),
        total=len(jobs),
        description="clustering",
    ):
        rows += part
    store(RAW, rows)


def one_draw(name: str, X: Rows, y: Rows, n_pairs: int, seed: int) -> list[dict[str, Any]]:
    """All methods on one draw of pairs."""
    pairs = Pairs.from_labels(y, n_pairs, kind="must", random_state=seed)
    mixed = pairs + Pairs.from_labels(y, n_pairs, kind="cannot", random_state=seed)
    n_clusters = len(np.unique(y))
    rand = {}
    for method, embed in METRICS.items():
        Z = embed(X, pairs)
        rand[method] = np.mean(
            [
                balanced_rand(y, KMeans(n_clusters, n_init=1, random_state=turn).fit_predict(Z))
                for turn in range(RUNS)
            ]
        )
    for method, known in (("MPCK-S", pairs), ("MPCK-SD", mixed)):
        rand[method] = np.mean(
            [
                balanced_rand(
                    y,
                    MPCKMeans(n_clusters, n_init=1, random_state=turn).fit_predict(X, pairs=known),
                )
                for turn in range(RUNS if len(X) < 1000 else 3)
            ]
        )
    return [
        {"data": name, "seed": seed, "n_pairs": n_pairs, "method": method, "rand": float(value)}
        for method, value in rand.items()
    ]


def pictures() -> None:
    """Figures 1 and 2: where each metric puts the points."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    for name in ARTIFICIAL:
        X, y, n_pairs, _ = data_set(name)
        pairs = Pairs.from_labels(y, n_pairs, kind="must", random_state=0)
        shown = ("Euclidean", "RCA", "LLMA", "KernelBeta", "KernelA, 20 steps")
        figure, axes = plt.subplots(1, 5, figsize=(17, 3.6), layout="constrained")
        for ax, method in zip(axes, shown, strict=True):
            plot.embedding(METRICS[method](X, pairs), y, pairs=pairs, ax=ax, title=method)
        figure.savefig(FOLDER / f"{name.replace(' ', '_')}.png", dpi=90)
        plt.close(figure)


def score() -> None:
    """Write tables and draw box plots."""
    publish_page(FOLDER / "RESULTS.md", page())
    boxes(*measured(stored(RAW)[1]))


def measured(rows: list[dict[str, Any]]) -> tuple[list[str], Callable[[str, str], np.ndarray]]:
    """Data sets that there are results of, and the results by data set and method."""

    def values(data: str, method: str) -> np.ndarray:
        found = [r["rand"] for r in rows if (r["data"], r["method"]) == (data, method)]
        return np.array(found)

    return [n for n in (*ARTIFICIAL, *UCI, *DIGITS) if len(values(n, "Euclidean"))], values


def page() -> Page:
    """Means and deviations, and paired t-tests, from the stored results."""
    source, rows = stored(RAW)
    names, values = measured(rows)
    body = []
    for method in ORDER:
        cells = [values(name, method) for name in names]
        body.append([method, *[f"{cell.mean():.3f} ± {cell.std(ddof=1):.3f}" for cell in cells]])
    tables = [Table("Balanced Rand of k-means, mean and deviation of draws", ["", *names], body)]
    body = []
    for rival in ("Euclidean", "RCA", "RCA, shrunk", "MPCK-S", "MPCK-SD", "LLMA"):
        for ours in ("KernelBeta", "KernelA", "KernelA, 20 steps"):
            verdicts = [verdict(values(name, ours), values(name, rival)) for name in names]
            body.append([f"{ours} against {rival}", *verdicts])
    title = "Paired t-tests at 0.05: + significantly above, − below, = neither"
    tables.append(Table(title, ["", *names], body))
    return Page("A kernel approach, reproduced", tables, source)


def verdict(ours: np.ndarray, theirs: np.ndarray) -> str:
    if np.allclose(ours, theirs):
        return "="
    p = ttest_rel(ours, theirs).pvalue
    return "=" if p > 0.05 else "+" if ours.mean() > theirs.mean() else "−"


def boxes(names: list[str], values: Callable[[str, str], np.ndarray]) -> None:
    """Figures 3 and 4, and Table III as a picture."""
    mpl.use("Agg")
    import matplotlib.pyplot as plt

    columns = 4
    lines = -(-len(names) // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(4 * columns, 3.2 * lines), layout="constrained"
    )
    for ax, name in zip(axes.flat, names, strict=False):
        ax.boxplot([values(name, method) for method in ORDER], widths=0.6)
        ax.set_title(name, fontsize=10)
        ax.set_xticks(range(1, len(ORDER) + 1), ORDER, rotation=60, ha="right", fontsize=7)
    for ax in list(axes.flat)[len(names) :]:
        ax.axis("off")
    figure.savefig(FOLDER / "boxes.png", dpi=90)
    plt.close(figure)
