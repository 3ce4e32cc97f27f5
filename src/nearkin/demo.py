"""The demonstration: 50 pairs pull apart what no linear metric can, and records find each other.

Run it with ``make demo`` or ``python -m nearkin.demo``.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits
from sklearn.decomposition import KernelPCA
from sklearn.metrics import adjusted_rand_score, pair_confusion_matrix

from nearkin import KernelBeta, MetricLearner, Pairs, RecordMatcher, datasets, plot, scores
from nearkin._types import Floats, Integers
from nearkin.learners.rca import RCA
from nearkin.spaces.kernels import resolve_gamma
from nearkin.storage.files import whole_file

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console
    from rich.table import Table


# Questions about records, after which it is learned from the answers.
_AT_A_TIME = 10
# What is shown of records: so many groups, without these columns.
_GROUPS_SHOWN = 4
_COLUMNS_LEFT_OUT = ("postcode", "phone")


@dataclass(frozen=True)
class Example:
    """A data set: rows and pairs to learn from, and new rows to score on."""

    name: str
    X: Floats
    y: Integers
    pairs: Pairs
    X_new: Floats
    y_new: Integers


@dataclass(frozen=True)
class MethodResult:
    """Result of one method on a data set: embeddings of rows, and scores on the new ones."""

    method: str
    Z: Floats
    Z_new: Floats
    scores: dict[str, float]
    seconds: float


@dataclass(frozen=True)
class Found:
    """Records, the true person of each, and the duplicates found after some answers."""

    records: dict[str, Any]
    person: Integers
    result: Any
    n_answers: int


def xor_task(n_pairs: int = 50, random_state: int = 0) -> Example:
    """XOR data, as in figure 1 of the scalable paper: 360 points to learn from, 40 new ones."""
    X, y = datasets.make_xor(400, random_state=random_state)
    pairs = Pairs.from_labels(y[:360], n_pairs, kind="must", random_state=random_state)
    return Example("XOR, 360 points", X[:360], y[:360], pairs, X[360:], y[360:])


def digits_task(n_pairs: int = 50, random_state: int = 0) -> Example:
    """Handwritten digits, 8×8 pixels: pairs among 1200 images, scores on 597 others."""
    X, y = load_digits(return_X_y=True)
    order = np.random.RandomState(random_state).permutation(len(y))
    X, y = X[order], y[order]
    pairs = Pairs.from_labels(y[:1200], n_pairs, random_state=random_state)
    return Example("digits, 1200 images", X[:1200], y[:1200], pairs, X[1200:], y[1200:])


def methods(n_landmarks: int, weighting: Any = "calibrated") -> dict[str, Callable[[], Any]]:
    """Functions that make the metrics to compare, by name; None for the input space."""
    return {
        "input space": lambda: None,
        "RCA (linear)": lambda: RCA(random_state=0),
        "RBF kernel": _RbfKernel,
        "KernelBeta": lambda: KernelBeta(weighting=weighting, random_state=0),
        f"KernelBeta, {n_landmarks} landmarks": lambda: KernelBeta(
            n_landmarks=n_landmarks, weighting=weighting, random_state=0
        ),
    }


class _RbfKernel:
    """The unlearned metric of an RBF kernel, along its leading 50 directions."""

    def fit(self, X: Floats, *, pairs: Pairs) -> _RbfKernel:
        """Find the directions; pairs are ignored."""
        n_components = min(50, len(X) - 1)
        self._map = KernelPCA(n_components, kernel="rbf", gamma=resolve_gamma("mean", X))
        self._map.fit(X)
        return self

    def transform(self, X: Floats) -> Floats:
        """Coordinates (n, 50) along the directions."""
        return np.asarray(self._map.transform(X))


def try_method(task: Example, method: str, make: Callable[[], Any]) -> MethodResult:
    """Learn from a data set's pairs, embed all rows, and score on the new rows."""
    start = time.perf_counter()
    learner = make()
    if learner is None:
        Z, Z_new = task.X, task.X_new
    else:
        learner.fit(task.X, pairs=task.pairs)
        Z, Z_new = learner.transform(task.X), learner.transform(task.X_new)
    seconds = time.perf_counter() - start
    n_classes = len(np.unique(task.y))
    clusters = KMeans(n_clusters=n_classes, n_init=10, random_state=0).fit(Z).predict(Z_new)
    return MethodResult(
        method,
        Z,
        Z_new,
        {
            "pair AUC": scores.pair_auc(Z_new, task.y_new),
            "J": scores.separability(Z_new, task.y_new),
            "k-means ARI": adjusted_rand_score(task.y_new, clusters),
        },
        seconds,
    )


def draw_figure(task: Example, outcomes: list[MethodResult]) -> Figure:
    """Figure of six panels: data with pairs, new points, and the embedding of each metric."""
    import matplotlib.pyplot as plt

    by_method = {outcome.method: outcome for outcome in outcomes}
    learned = [outcome for method, outcome in by_method.items() if method != "input space"]
    figure, axes = plt.subplots(2, 3, figsize=(10.5, 7), layout="constrained")
    a, b, *rest = axes.flat
    plot.embedding(task.X, task.y, pairs=task.pairs, ax=a, title=f"{task.name}, pairs as lines")
    plot.embedding(task.X_new, task.y_new, ax=b, title="new points", size=24)
    for ax, outcome in zip(rest, learned, strict=True):
        n = len(outcome.Z)
        plane = plot.in_the_plane(np.concatenate([outcome.Z, outcome.Z_new]))
        plot.embedding(plane[:n], task.y, ax=ax, size=8)
        plot.embedding(plane[n:], task.y_new, ax=ax, size=32)
        ax.set_title(f"{outcome.method}: pair AUC {outcome.scores['pair AUC']:.3f}", fontsize=10)
    figure.suptitle(f"{len(task.pairs)} pairs; large markers are new points", fontsize=11)
    return figure


def find_records(n_records: int = 400, n_answers: int = 30, random_state: int = 0) -> Found:
    """Match synthetic records of people after some answers by someone who knows."""
    records, person = datasets.make_records(n_records, random_state=random_state)
    kinds = {"born": "code", "postcode": "code", "phone": "code"}
    matcher = RecordMatcher(kinds=kinds, random_state=random_state).fit(records)
    asked = np.empty((0, 2), dtype=np.int64)
    while len(asked) < n_answers:
        asked = np.concatenate([asked, matcher.suggest(_AT_A_TIME)])
        same = person[asked[:, 0]] == person[asked[:, 1]]  # what somebody says of each
        matcher.teach(Pairs(asked[same], asked[~same], n_rows=n_records))
    return Found(records, person, matcher.duplicates(), len(asked))


def measure_groups(person: Integers, labels: Integers) -> tuple[float, float]:
    """Precision and recall of the pairs within groups."""
    (_, wrong), (missed, right) = pair_confusion_matrix(person, labels)
    return right / max(right + wrong, 1), right / max(right + missed, 1)


def show_records(found: Found, console: Console, table: Table) -> None:
    """Print some groups as a table, and expected and true precision and recall of all."""
    columns = [name for name in found.records if name not in _COLUMNS_LEFT_OUT]
    for name in columns:
        table.add_column(name)
    groups = [
        [tuple(found.records[name][row] or "—" for name in columns) for row in group]
        for group in found.result.groups
    ]
    for group in sorted(groups, key=lambda group: -len(set(group)))[:_GROUPS_SHOWN]:
        for cells in group:
            table.add_row(*cells)
        table.add_section()
    console.print(table)
    precision, recall = measure_groups(found.person, found.result.labels)
    console.print(f"precision: {found.result.precision} expected, {precision:.3f} true")
    console.print(f"recall:    {found.result.recall} expected, {recall:.3f} true")


def run_demo(arguments: list[str] | None = None) -> None:
    """Run all methods on two data sets, with a table and a picture of each; then match records."""
    parser = argparse.ArgumentParser(prog="python -m nearkin.demo", description=__doc__)
    parser.add_argument("--output", type=Path, default=Path("demo-output"), help="for pictures")
    parser.add_argument("--pairs", type=int, default=50, help="how many pairs to learn from")
    parser.add_argument("--seed", type=int, default=0, help="draws points and pairs")
    options = parser.parse_args(arguments)

    import matplotlib as mpl
    from rich.console import Console
    from rich.progress import Progress
    from rich.table import Table

    mpl.use("Agg")
    console = Console()
    chosen = {"MetricLearner": lambda: MetricLearner(random_state=0)}
    tasks = [
        (xor_task(options.pairs, options.seed), methods(n_landmarks=100) | chosen),
        (digits_task(options.pairs, options.seed), methods(n_landmarks=300) | chosen),
    ]
    options.output.mkdir(parents=True, exist_ok=True)
    console.print(f"[bold]nearkin[/bold]: learn a distance from {options.pairs} pairs\n")
    with console.status("compiling, on the first run only"):  # and not on the clock
        warm_up = xor_task()
        try_method(warm_up, "warm-up", lambda: KernelBeta(n_landmarks=100))
    for task, makers in tasks:
        with Progress(console=console, transient=True) as progress:
            outcomes = [
                try_method(task, method, make)
                for method, make in progress.track(makers.items(), description=task.name)
            ]
        table = Table(title=f"{task.name}; scores on {len(task.y_new)} new points")
        table.add_column("metric")
        for name in [*outcomes[0].scores, "seconds"]:
            table.add_column(name, justify="right")
        best = {k: max(outcome.scores[k] for outcome in outcomes) for k in outcomes[0].scores}
        for outcome in outcomes:
            cells = [
                f"[bold green]{value:.3f}[/]" if value == best[name] else f"{value:.3f}"
                for name, value in outcome.scores.items()
            ]
            table.add_row(outcome.method, *cells, f"{outcome.seconds:.2f}")
        console.print(table)
        path = options.output / f"{task.name.split(',')[0].lower()}.png"
        shown = [outcome for outcome in outcomes if "landmarks" not in outcome.method]
        with whole_file(path) as unfinished:
            draw_figure(task, shown).savefig(unfinished, format="png", dpi=130)
        console.print(f"picture: {path}\n", soft_wrap=True)
    with console.status("records: looking for people who are there twice"):
        found = find_records(random_state=options.seed)
    n, n_groups = len(found.person), len(found.result.groups)
    title = f"{n} records, {found.n_answers} answers: {n_groups} groups, of which some"
    show_records(found, console, Table(title=title))


if __name__ == "__main__":
    run_demo()
