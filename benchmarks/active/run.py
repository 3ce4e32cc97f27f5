"""Twenty data sets: how many chosen questions teach as much as 500 random pairs?

40 % of the rows are held out: nothing is asked about them, and pair AUC is measured on all pairs
of them. The control learns from 500 pairs of the other rows, drawn uniformly and answered by the
labels. A strategy asks up to 200 questions by ``learn_actively``; the learner is then fitted to
the first 10, 20, 50, ... answers. Both arms learn with the same settings, and from what follows
from the answers too. Sets of more than 1000 rows are cut to 1000, and more than 100 columns to 50
principal components. Columns are standardised, but for images.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from joblib import Parallel, delayed
from rich.progress import track
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

from benchmarks.data import load, standardized
from benchmarks.record import Table, publish, store, stored
from nearkin import ITML, KernelBeta, Pairs, learn_actively
from nearkin.pairs.closure import draw_numbers, list_pairs_within
from nearkin.questions.strategies import add_inferred

FOLDER = Path(__file__).parent
RAW = FOLDER / "results.jsonl"
DATA = (
    "iris",
    "wine",
    "soybean_small",
    "protein",
    "ionosphere",
    "breast_cancer_wdbc",
    "breast_cancer",
    "balance_scale",
    "heart",
    "vehicle",
    "image_segmentation",
    "german",
    "boston_housing",
    "letters",
    "usps",
    "isolet",
    "coil20",
    "yaleb",
    "mnist",
    "digits",
)
IMAGES = ("usps", "coil20", "yaleb", "mnist", "digits")
LEARNERS = {
    "KernelBeta": KernelBeta(random_state=0),
    "ITML": ITML(random_state=0),
}
# "clusters" asks for groups, and is measured by these: see benchmarks/clusters.
STRATEGIES = ("neighborhoods", "consolidate", "uncertainty", "random")
# With two that were dropped for what is stored of them.
MEASURED = ("neighborhoods", "consolidate", "uncertainty", "density", "spectrum", "random")
CONTROL = "500 random"
N_CONTROL = 500
QUERIES = (10, 20, 50, 100, 150, 200)
MOST_ROWS, MOST_COLUMNS, COMPONENTS = 1000, 100, 50
DRAWS = 5


@cache
def data_set(name: str) -> tuple[np.ndarray, np.ndarray]:
    X, y = load_digits(return_X_y=True) if name == "digits" else load(name)
    rows = np.random.RandomState(0).permutation(len(X))[:MOST_ROWS]
    X, y = X[rows], y[rows]
    X = X / np.abs(X).max() if name in IMAGES else standardized(X)
    if X.shape[1] > MOST_COLUMNS:
        X = PCA(COMPONENTS, random_state=0).fit_transform(X)
    return X, y


def answered(links: np.ndarray, y: np.ndarray) -> Pairs:
    same = y[links[:, 0]] == y[links[:, 1]]
    return Pairs(links[same], links[~same], n_rows=len(y))


def random_links(n: int, count: int, rng: np.random.RandomState) -> np.ndarray:
    """Pairs of n rows, uniformly and without replacement."""
    total = n * (n - 1) // 2
    numbers = draw_numbers(total, min(count, total), rng)
    return list_pairs_within(numbers, np.zeros(1, np.int64), np.array([n]))[0]


def one_draw(data: str, name: str, seed: int) -> list[dict[str, Any]]:
    """The control and all strategies with one learner on one split."""
    X, y = data_set(data)
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=seed)
    learner = LEARNERS[name]
    rows: list[dict[str, Any]] = []

    def note(strategy: str, n_asked: int, links: np.ndarray) -> None:
        told = add_inferred(answered(links, y), np.random.RandomState(seed))
        auc = clone(learner).fit(X, pairs=told).score(X_test, y_test)
        setting = {"data": data, "learner": name, "strategy": strategy, "seed": seed}
        rows.append({**setting, "n_asked": n_asked, "auc": round(auc, 5)})

    note(CONTROL, N_CONTROL, random_links(len(X), N_CONTROL, np.random.RandomState(seed)))
    for strategy in STRATEGIES:
        result = learn_actively(
            X,
            lambda i, j: bool(y[i] == y[j]),
            max(QUERIES),
            learner=learner,
            strategy=strategy,
            random_state=seed,
        )
        asked = np.array([(i, j) for i, j, _ in result.history])
        for n_asked in QUERIES:  # where everything follows earlier, later numbers change nothing
            note(strategy, n_asked, asked[:n_asked])
    return rows


def run(draws: int) -> None:
    """Measure everything and store the raw results after each draw; ``draws`` limits the five."""
    rows: list[dict[str, Any]] = []
    for seed in range(min(draws, DRAWS)):
        jobs = [delayed(one_draw)(data, name, seed) for data in DATA for name in LEARNERS]
        done = Parallel(n_jobs=2, return_as="generator")(jobs)
        for part in track(done, total=len(jobs), description=f"active, draw {seed}"):
            rows += part
        store(RAW, rows)


def means(rows: list[dict[str, Any]], learner: str) -> dict[tuple[str, str, int], float]:
    """Mean AUC over draws by data set, strategy and number of questions."""
    cells: dict[tuple[str, str, int], list[float]] = {}
    for row in rows:
        if row["learner"] == learner:
            cells.setdefault((row["data"], row["strategy"], row["n_asked"]), []).append(row["auc"])
    return {key: float(np.mean(values)) for key, values in cells.items()}


def needed(auc: dict[tuple[str, str, int], float], data: str, strategy: str) -> int | None:
    """The least number of questions whose mean AUC is that of the control."""
    goal = auc[data, CONTROL, N_CONTROL]
    enough = [n_asked for n_asked in QUERIES if auc[data, strategy, n_asked] >= goal]
    return min(enough, default=None)


def score() -> None:
    """Tables and curves from the stored results."""
    source, rows = stored(RAW)
    n_draws = len({row["seed"] for row in rows})
    tables = []
    for learner in LEARNERS:
        auc = means(rows, learner)
        summary = []
        for strategy in MEASURED:
            first = [needed(auc, data, strategy) for data in DATA]
            reached = [n_asked for n_asked in first if n_asked is not None]
            gaps = [auc[d, strategy, QUERIES[-1]] - auc[d, CONTROL, N_CONTROL] for d in DATA]
            summary.append(
                [
                    strategy,
                    f"{len(reached)} of {len(DATA)}",
                    f"{sum(gap >= 0 for gap in gaps)} of {len(DATA)}",
                    f"{np.median([n_asked or np.inf for n_asked in first]):g}",
                    f"{np.mean(gaps):+.4f}",
                ]
            )
        columns = ["", "reached by 200", "at or above at 200", "median needed", "mean gap at 200"]
        title = f"{learner}: the AUC of 500 random pairs by questions of each strategy"
        tables.append(Table(f"{title} (mean of {n_draws} draws)", columns, summary))
        body = []
        for data in DATA:
            cells = []
            for strategy in MEASURED:
                n_asked = needed(auc, data, strategy)
                gap = auc[data, strategy, QUERIES[-1]] - auc[data, CONTROL, N_CONTROL]
                cells.append(f"{'–' if n_asked is None else n_asked} ({gap:+.3f})")
            body.append([data, f"{auc[data, CONTROL, N_CONTROL]:.3f}", *cells])
        title = f"{learner}: questions needed (and gap of AUC at 200)"
        tables.append(Table(title, ["", CONTROL, *MEASURED], body))
    publish(FOLDER / "RESULTS.md", "Questions instead of random pairs", tables, source)
    draw_curves(means(rows, "ITML"), "ITML")  # which the site shows


def draw_curves(auc: dict[tuple[str, str, int], float], learner: str) -> None:
    """Held-out AUC against the number of questions, a panel for each data set."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(4, 5, figsize=(15, 10), sharex=True, layout="constrained")
    for axis, data in zip(axes.flat, DATA, strict=True):
        for strategy in MEASURED:
            curve = [auc[data, strategy, n_asked] for n_asked in QUERIES]
            width = 2.5 if strategy == next(iter(MEASURED)) else 1.0
            axis.plot(QUERIES, curve, linewidth=width, label=strategy)
        axis.axhline(auc[data, CONTROL, N_CONTROL], color="black", linestyle=":", label=CONTROL)
        axis.set_title(data)
    figure.supxlabel("questions")
    figure.supylabel(f"held-out pair AUC of {learner}")
    figure.legend(*axes.flat[0].get_legend_handles_labels(), loc="outside upper center", ncols=7)
    figure.savefig(FOLDER / f"curves_{learner}.png", dpi=80)
    plt.close(figure)
