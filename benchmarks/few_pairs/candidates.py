"""Which candidates MetricLearner needs, how many parts of a blend, and how shares are learned.

Sixteen learners, and copies of some that see all columns where others see axes, are held out and
judged once for each draw of ``run``: squared distances of pairs that a learner did not see, and of
pairs of new rows. Every blend of them follows from these. Candidates are left out one by one, each
time the one without which pair AUC is highest, on the sets that settings are chosen on, by blends
of three parts at most that start from the usual shares of before.

Distances of a draw are a file of ``benchmarks/scratch``, which is made where it is missing.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import joblib
import numba
import numpy as np
from joblib import Parallel, delayed
from rich.progress import track
from sklearn.base import clone

from benchmarks.few_pairs.data import REPORTED, TUNED_ON
from benchmarks.few_pairs.judging import judged_links
from benchmarks.few_pairs.protocols import CLEAN, NOISY, PROTOCOLS
from benchmarks.record import ROOT, Page, Table, Text, provenance, publish_page, store, stored
from nearkin import (
    GMML,
    ITML,
    RCA,
    Chain,
    ColumnWeights,
    CosineMetric,
    KernelBeta,
    MetricLearner,
)
from nearkin.errors import counted
from nearkin.learners import selection
from nearkin.learners.fit_steps import keep_results
from nearkin.learners.selection import EUCLIDEAN, HeldOutDistances, SeenRows, SelectionSample
from nearkin.rows.distances import linked_distances
from nearkin.rows.parallel import one_blas_thread
from nearkin.rows.scaling import choose_scales, divide_columns
from nearkin.scores.held_out import weaken_doubtful_pairs

FOLDER = Path(__file__).parent
RAW = FOLDER / "candidates.jsonl"
DISTANCES = ROOT / "benchmarks" / "scratch" / "candidates"
DRAWS = 3
LEFT_AT_LAST = 4
ALL_COLUMNS = " of all columns"
# The sixteen with their shares in the usual blend of before.
SIXTEEN = {
    EUCLIDEAN: 0.0,
    "ITML": 0.05,
    "ColumnWeights": 0.05,
    "KernelBeta after ITML": 0.11,
    "rbf KernelBeta after ITML": 0.11,
    "kernel ITML after ITML": 0.11,
    "KernelBeta after GMML": 0.11,
    "KernelBeta after RCA": 0.11,
    "KernelBeta after ColumnWeights": 0.1,
    "kernel ITML": 0.1,
    "linear CosineMetric": 0.1,
    "CosineMetric": 0.3,
    "PLDA": 0.1,
    "KernelBeta": 0.05,
    "cosine KernelBeta": 0.05,
    "GeometryAware": 0.0,
}
# Those that took part with all columns too, with no share before pairs were looked at.
COPIED = (
    "ITML",
    "KernelBeta after ITML",
    "rbf KernelBeta after ITML",
    "kernel ITML after ITML",
    "KernelBeta after GMML",
    "KernelBeta after RCA",
    "linear CosineMetric",
    "CosineMetric",
    "PLDA",
)
COPIES = {name + ALL_COLUMNS: 0.0 for name in COPIED}
# Picked by hand, before anything was eliminated.
BY_HAND = (
    EUCLIDEAN,
    "CosineMetric",
    "PLDA",
    "KernelBeta after ITML",
    "KernelBeta after ColumnWeights",
    "GeometryAware",
)
# These six with kernel ITML after ITML, and the usual shares picked by hand.
SEVEN = {
    EUCLIDEAN: 0.0,
    "CosineMetric": 3.0,
    "PLDA": 1.0,
    "KernelBeta after ITML": 1.0,
    "KernelBeta after ColumnWeights": 1.0,
    "kernel ITML after ITML": 0.0,
    "GeometryAware": 0.0,
}
BEFORE, CHOSEN, PICKED = "sixteen and copies, as before", "6 left", "seven picked by hand"
OLD_SHARES = "seven, usual shares of before"
HALVES = ((TUNED_ON, "tuned on"), (REPORTED, "reported"))
SHORT = {CLEAN: "right", NOISY: "fifth_wrong"}
N_PAIRS = PROTOCOLS[CLEAN].n_pairs
# Protocol, set, number of pairs and seed of a draw.
Cell = tuple[str, str, int, int]


@dataclass(frozen=True)
class Configuration:
    """Candidates with their shares in the usual blend, and how a blend is learned from these.

    Attributes
    ----------
    shares : dict of float
    parts : int
        Of a blend, at most.
    inertia : float
        Steps that the usual shares weigh as much as.
    relearned : bool
        Whether shares of the parts that are kept are learned again, not only scaled.
    """

    shares: dict[str, float]
    parts: int = selection._MOST_PARTS
    inertia: float = selection._INERTIA
    relearned: bool = True


@dataclass(frozen=True)
class MeasuredDraw:
    """What is kept of a draw.

    Attributes
    ----------
    held : HeldOutDistances
    weight : ndarray of shape (k,)
        Of held-out pairs.
    test : dict of ndarray of shape (10 000,)
        Squared distances of pairs of new rows, by candidate, and which are the same.
    same : bool ndarray
    commit : str
        Of the code that measured it.
    """

    held: HeldOutDistances
    weight: np.ndarray
    test: dict[str, np.ndarray]
    same: np.ndarray
    commit: str


def make_sixteen(n_landmarks: int, n_rows: int, seed: int) -> dict[str, Any]:
    """Make the learners, by name: those that are candidates now, and ten others."""
    kept = selection.make_ingredients(n_landmarks, n_rows, seed)
    few: dict[str, Any] = {
        "n_landmarks": n_landmarks if n_landmarks < n_rows else None,
        "random_state": seed,
    }
    far = {"extension": "nystroem", **few}
    itml = ITML(tol=selection._TOLERANCE, random_state=seed)
    rbf, cosine = KernelBeta(gamma="median", **far), KernelBeta(kernel="cosine", **few)
    others = {
        "ITML": itml,
        "ColumnWeights": ColumnWeights(random_state=seed),
        "rbf KernelBeta after ITML": Chain([itml, rbf]),
        "KernelBeta after GMML": Chain([GMML(random_state=seed), cosine]),
        "KernelBeta after RCA": Chain([RCA(random_state=seed), cosine]),
        "KernelBeta after ColumnWeights": Chain([ColumnWeights(random_state=seed), rbf]),
        "kernel ITML": ITML(kernel="rbf", tol=selection._TOLERANCE, **far),
        "linear CosineMetric": CosineMetric(random_state=seed),
        "KernelBeta": KernelBeta(**far),
        "cosine KernelBeta": cosine,
    }
    found = {**{name: one.learner for name, one in kept.items()}, **others}
    return {name: found[name] for name in SIXTEEN}


def all_cells(draws: int, sets: Iterable[str] = (*TUNED_ON, *REPORTED)) -> list[Cell]:
    return list(product(SHORT, sets, N_PAIRS, range(draws)))


def path_of(cell: Cell) -> Path:
    """Where the distances of a draw are."""
    title, data, n_pairs, seed = cell
    return DISTANCES / f"{SHORT[title]}-{data}-{n_pairs}-{seed}.joblib"


def collect(cell: Cell) -> None:
    """Hold out the candidates on a draw, fit them to all its pairs, and store distances.

    Draws have no more rows and pairs than candidates are compared on: ``trial`` has all of them.
    """
    title, data, n_pairs, seed = cell
    part = PROTOCOLS[title].draw(data, n_pairs, seed)
    scales, _ = choose_scales(part.X, None)
    X, X_test = (divide_columns(rows, scales) for rows in (part.X, part.X_test))
    trial = SelectionSample(X, part.pairs, np.random.RandomState(seed))
    whole = SeenRows(trial.X, trial.X.shape[1], trial.seed)

    def with_copies(learners: dict[str, Any]) -> Iterator[tuple[str, Any, SeenRows]]:
        for name, learner in learners.items():
            yield name, learner, whole if name == EUCLIDEAN else trial.axes
        if trial.axes.reduction is not None:
            yield from ((name + ALL_COLUMNS, learners[name], whole) for name in COPIED)

    links, same = judged_links(part, seed)
    weight = selection._weights(trial.pairs)
    test = {}
    with warnings.catch_warnings(), keep_results(), one_blas_thread():
        warnings.simplefilter("ignore")
        few = make_sixteen(selection._FEW_LANDMARKS, len(trial.X), trial.seed)
        compared = ((name, learner, view.rows) for name, learner, view in with_copies(few))
        rng = np.random.RandomState(trial.seed)
        held = selection.hold_out(compared, len(trial.X), trial.pairs, rng)
        # Pairs that the others contradict count less, as in a fit of MetricLearner.
        usual = {name: share for name, share in SIXTEEN.items() if name in held.distances}
        recipe = held.shares(usual, weight)
        told = weaken_doubtful_pairs(trial.pairs, held.ranks(recipe))
        for name, learner, view in with_copies(
            make_sixteen(MetricLearner().n_landmarks, len(trial.X), trial.seed)
        ):
            steps = [learner] if view.reduction is None else [view.reduction, learner]
            with suppress(ValueError):  # such as RCA without must-links
                fitted = clone(Chain(steps)).fit(trial.X, pairs=told)
                scale = 2 * fitted.transform(trial.X).var(axis=0).sum() or 1.0
                squared = linked_distances(fitted.transform(X_test), links) ** 2 / scale
                test[name] = squared.astype(np.float32)
    found = MeasuredDraw(held, weight, test, same, provenance()["commit"])
    joblib.dump(found, path_of(cell))


@numba.njit
def weighted_auc(distances: np.ndarray, same: np.ndarray, weight: np.ndarray) -> float:
    """The function of this name in ``nearkin.learners.selection``, three times as fast."""
    order = np.argsort(distances)
    n, must, different, below, total = len(order), 0.0, 0.0, 0.0, 0.0
    for i in range(n):
        different += 0.0 if same[i] else weight[i]
    start = 0
    while start < n:
        end, must_here, different_here = start, 0.0, 0.0
        while end < n and distances[order[end]] == distances[order[start]]:
            if same[order[end]]:
                must_here += weight[order[end]]
            else:
                different_here += weight[order[end]]
            end += 1
        total += must_here * (different - below - different_here / 2)
        must += must_here
        below += different_here
        start = end
    return total / (must * different)


def blend_auc(measured: MeasuredDraw, configuration: Configuration) -> float:
    """Pair AUC between new rows of the blend that a configuration learns from held-out pairs."""
    held = measured.held
    names = [
        name for name in configuration.shares if name in held.distances and name in measured.test
    ]
    part = replace(
        held,
        distances={name: held.distances[name] for name in names},
        random={name: held.random[name] for name in names},
    )
    usual = {name: configuration.shares[name] for name in names}
    if not any(usual.values()):
        usual = dict.fromkeys(names, 1.0)
    parts = configuration.parts if configuration.relearned else len(names)
    with patch.multiple(
        selection, weighted_auc=weighted_auc, _INERTIA=configuration.inertia, _MOST_PARTS=parts
    ):
        recipe = part.shares(usual, measured.weight)
    kept = list(recipe)[: configuration.parts]
    blended = np.sum([recipe[name] * measured.test[name] for name in kept], axis=0)
    return float(weighted_auc(blended, measured.same, np.ones(len(blended))))


@cache
def load_for_elimination(cell: Cell) -> MeasuredDraw:
    """A draw without copies, kept in memory."""
    measured = joblib.load(path_of(cell))
    test = {name: measured.test[name] for name in SIXTEEN if name in measured.test}
    return replace(measured, test=test)


def trial_scores(cell: Cell, names: list[str]) -> list[float]:
    """Pair AUC on a draw without each of some candidates in turn."""
    measured = load_for_elimination(cell)
    return [
        blend_auc(measured, Configuration({n: SIXTEEN[n] for n in names if n != left_out}))
        for left_out in names
        if left_out != EUCLIDEAN
    ]


def eliminate(draws: int) -> list[dict[str, Any]]:
    """Leave out candidates one by one, on the sets to tune on; the score after each step.

    The score is the mean over numbers of pairs, with all right and with a fifth wrong, of the mean
    pair AUC over sets. The Euclidean distance stays: it is what others are compared with.
    """
    cells = all_cells(draws, TUNED_ON)
    for cell in track(cells, "reading"):
        load_for_elimination(cell)
    names, found = list(SIXTEEN), []
    # Forked processes share the draws that were read.
    with Parallel(2, backend="multiprocessing") as parallel:
        while len(names) > LEFT_AT_LAST:
            scores = np.mean(parallel(delayed(trial_scores)(cell, names) for cell in cells), axis=0)
            others = [name for name in names if name != EUCLIDEAN]
            out = others[int(np.argmax(scores))]
            names.remove(out)
            scored = {
                name: round(float(score), 5) for name, score in zip(others, scores, strict=True)
            }
            found.append({"left": names.copy(), "out": out, "scores": scored})
            print(f"{len(names)} left without {out}: {max(scores):.4f}", flush=True)
    return found


def configurations(steps: list[dict[str, Any]]) -> dict[str, Configuration]:
    """What is compared, by title: the rule of before, the path of elimination, what hands pick."""
    found = {
        BEFORE: Configuration({**SIXTEEN, **COPIES}, parts=8, inertia=10.0, relearned=False),
        "sixteen, as before": Configuration(SIXTEEN, parts=8, inertia=10.0, relearned=False),
        "sixteen, three parts": Configuration(SIXTEEN),
    }
    for step in steps:
        shares = {name: SIXTEEN[name] for name in step["left"]}
        found[f"{len(shares)} left"] = Configuration(shares)
    six = {name: SEVEN[name] for step in steps if len(step["left"]) == 6 for name in step["left"]}
    found["6 left, usual shares picked by hand"] = Configuration(six)
    found["six picked by hand"] = Configuration({name: SIXTEEN[name] for name in BY_HAND})
    found[PICKED] = Configuration(SEVEN)
    for parts in (1, 2, 5, 8):
        found[f"seven, {counted(parts, 'part')} at most"] = Configuration(SEVEN, parts=parts)
    for inertia in (10, 40):
        found[f"seven, usual shares weigh {inertia} steps"] = Configuration(SEVEN, inertia=inertia)
    found["seven, shares not learned again"] = Configuration(SEVEN, relearned=False)
    of_before = {name: SIXTEEN[name] for name in SEVEN}
    found[OLD_SHARES] = Configuration(of_before)
    for parts in (4, 5):
        found[f"{OLD_SHARES}, {parts} parts"] = Configuration(of_before, parts=parts)
    found["seven, equal usual shares"] = Configuration(dict.fromkeys(SEVEN, 1.0))
    return found


def evaluate(cell: Cell, compared: dict[str, Configuration]) -> dict[str, Any]:
    """Pair AUC of all configurations on a draw."""
    measured = joblib.load(path_of(cell))
    found = {title: round(blend_auc(measured, one), 5) for title, one in compared.items()}
    names = dict(zip(("protocol", "data", "n_pairs", "seed"), cell, strict=True))
    return {**names, "distances": measured.commit[:12], "auc": found}


def run(draws: int) -> None:
    """Measure distances where they are missing, eliminate, and judge all configurations."""
    draws = min(draws, DRAWS)
    DISTANCES.mkdir(parents=True, exist_ok=True)
    cells = all_cells(draws)
    missing = [cell for cell in cells if not path_of(cell).exists()]
    Parallel(2)(delayed(collect)(cell) for cell in track(missing, "distances"))
    steps = eliminate(draws)
    compared = configurations(steps)
    rows = Parallel(2, return_as="generator")(delayed(evaluate)(cell, compared) for cell in cells)
    store(RAW, [*steps, *track(rows, "judging", total=len(cells))])


def page() -> Page:
    """Tables from the stored results."""
    source, rows = stored(RAW)
    steps = [row for row in rows if "out" in row]
    judged = [row for row in rows if "auc" in row]
    commits = ", ".join(sorted({row["distances"] for row in judged}))
    draws = 1 + max(row["seed"] for row in judged)
    blocks = [
        Text(__doc__.partition("\n\n")[2].partition("\n\n")[0]),
        Text(
            f"Distances were measured at commit {commits}; blends of them are those of the commit "
            f"below. {draws} draws of {len(TUNED_ON)} sets to tune on, and of {len(REPORTED)} to "
            "report on. What is judged is the blend alone: not whether one learner, or the "
            "Euclidean distance, is taken instead."
        ),
        table_of_elimination(steps, judged),
        Text(
            "The six that are left of elimination were chosen: up to them leaving out costs next "
            "to nothing on the sets tuned on, and each step after them costs more. Their usual "
            "shares are those of before, rounded: half of the blend CosineMetric, a sixth each "
            "PLDA, KernelBeta after ITML and kernel ITML after ITML, and none GeometryAware. "
            "Before that seven had been picked by hand, with KernelBeta after ColumnWeights, and "
            "no share of kernel ITML after ITML; they were no better on the sets tuned on."
        ),
        *(table_of_configurations(judged, sets, half) for sets, half in HALVES),
        table_of_gaps(judged),
    ]
    return Page("Candidates", blocks, source)


def means(judged: list[dict[str, Any]], sets: tuple[str, ...], title: str) -> np.ndarray:
    """Pair AUC of a configuration, of shape (protocols, numbers of pairs, sets): draws' means."""
    cells: dict[tuple[Any, ...], list[float]] = {}
    for row in judged:
        key = row["protocol"], row["n_pairs"], row["data"]
        cells.setdefault(key, []).append(row["auc"][title])
    values = [np.mean(cells[key]) for key in product(SHORT, N_PAIRS, sets)]
    return np.array(values).reshape(len(SHORT), len(N_PAIRS), len(sets))


def table_of_elimination(steps: list[dict[str, Any]], judged: list[dict[str, Any]]) -> Table:
    body = []
    for step in steps:
        out, *next_best = sorted(step["scores"], key=lambda name: -step["scores"][name])
        left = len(step["left"])
        reported = means(judged, REPORTED, f"{left} left").mean()
        others = f"{next_best[0]} ({step['scores'][next_best[0]]:.4f})"
        row = [str(left), out, others, f"{step['scores'][out]:.4f}", f"{reported:.4f}"]
        body.append(row)
    columns = ["left", "left out", "next in line", "pair AUC, tuned on", "reported"]
    return Table("Elimination: mean pair AUC over all draws", columns, body, n_words=3)


def table_of_configurations(
    judged: list[dict[str, Any]], sets: tuple[str, ...], half: str
) -> Table:
    body = []
    for title in judged[0]["auc"]:
        found = means(judged, sets, title).mean(axis=2)
        body.append([title, *(f"{value:.4f}" for value in (*found.ravel(), found.mean()))])
    columns = ["", *map(str, N_PAIRS), *(f"{n}, a fifth wrong" for n in N_PAIRS), "mean"]
    return Table(f"Pair AUC by number of pairs, sets {half}", columns, body)


def table_of_gaps(judged: list[dict[str, Any]]) -> Table:
    """The choice beside the rule of before, on sets that are reported."""
    before = means(judged, REPORTED, BEFORE)
    body = []
    for title in (CHOSEN, PICKED, OLD_SHARES, f"{OLD_SHARES}, 5 parts", "sixteen, three parts"):
        gaps = means(judged, REPORTED, title) - before
        by_number = gaps.mean(axis=2).ravel()
        of_sets = gaps.mean(axis=(0, 1))
        error = of_sets.std(ddof=1) / np.sqrt(len(of_sets))
        figures = [f"{value:+.4f}" for value in (*by_number, gaps.mean())]
        extremes = [f"{value:+.4f}" for value in (of_sets.min(), of_sets.max())]
        body.append([title, *figures, f"{error:.4f}", *extremes])
    columns = ["", *map(str, N_PAIRS), *(f"{n}, a fifth wrong" for n in N_PAIRS)]
    columns += ["mean", "standard error over sets", "worst set", "best set"]
    return Table(f"Gain in pair AUC over {BEFORE}, sets reported", columns, body)


def score() -> None:
    """The page from the stored results."""
    publish_page(FOLDER / "CANDIDATES.md", page())
