"""Tables 2, 6 and 8: digits and letters."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from benchmarks.data import load, load_columns
from benchmarks.papers.shi2011_generative import as_published, methods
from benchmarks.papers.shi2011_generative.deskew import deskewed
from benchmarks.papers.shi2011_generative.local_votes import local_votes
from benchmarks.papers.shi2011_generative.splits import Rows, Split, random_split, scaled
from benchmarks.resume import Job
from nearkin.solvers.class_gaussians import fit_class_models

DATA = ("letters_original", "letters_scaled", "mnist_40", "mnist_60", "mnist_164")
SPLITS = 10
WORKERS = 1
# The paper's numbers of splits.
MOST_SPLITS = {"letters": 10, "mnist": 5}
SIZES = {"letters": (12_000, 2_000), "mnist": (55_000, 5_000)}
ENERGIES = methods.EnergyGrid((1, 2, 3, 5), (0.0, 0.1, 0.3, 1.0, 2.0))
TARGETS = {"letters": (1, 3, 5), "mnist": (3,)}
# Validation rows that choose the settings of GLM^INT: a metric for each takes its time.
CHOOSING = 1_000
# The same, and test rows, where its covariances are regularised.
FEW = {"letters": (500, 2_000), "mnist": (200, 1_000)}


def plain(part: Split, data: str) -> list[methods.Result]:
    return as_published.generative(part, ENERGIES, n_valid=CHOOSING)


def regularised(part: Split, data: str) -> list[methods.Result]:
    return methods.uniform(part, ENERGIES)


def regularised_local(part: Split, data: str) -> list[methods.Result]:
    n_valid, n_test = FEW[data]
    few = part._replace(X_test=part.X_test[:n_test], y_test=part.y_test[:n_test])
    return local_votes(few, fit_class_models(part.X, part.y), n_valid)


def large_margin(part: Split, data: str) -> list[methods.Result]:
    return methods.large_margin(part, TARGETS[data], ENERGIES)


KINDS: dict[str, Callable[[Split, str], list[methods.Result]]] = {
    "Euclidean": lambda part, data: methods.euclidean(part),
    "as published": plain,
    "regularised": regularised,
    "LMNN": large_margin,
    "regularised, few rows": regularised_local,
}


def large_set(name: str) -> tuple[Rows, Rows]:
    if name.startswith("letters"):
        X, y = load("letters")
        return (scaled(X) if name == "letters_scaled" else X), y
    axes, X, y = _digits()
    return (X @ axes[:, : int(name.split("_")[1])]).astype(np.float64), y


@cache
def _digits() -> tuple[Rows, Rows, Rows]:
    """Principal axes of all 70,000 deskewed digits, the centred digits and their classes."""
    X, y = load("mnist")
    X_more, y_more = load_columns("mnist", "X_test", "y_test")
    X = deskewed(np.concatenate([X, X_more]).reshape(-1, 28, 28).astype(np.float32) / 255)
    X = X.reshape(len(X), -1)
    X -= X.mean(axis=0)
    axes = np.linalg.eigh(X.T @ X)[1][:, ::-1]
    return axes, X, np.concatenate([y, y_more]).astype(int)


def jobs(name: str, n_splits: int) -> list[Job]:
    X, y = large_set(name)
    most = MOST_SPLITS[name.split("_")[0]]
    return [
        Job({"seed": seed, "kind": kind}, one_split, (name, X, y, seed, kind))
        for kind in KINDS
        for seed in range(min(n_splits, most))
    ]


def one_split(name: str, X: Rows, y: Rows, seed: int, kind: str) -> list[dict[str, Any]]:
    data = name.split("_")[0]
    return KINDS[kind](random_split(X, y, seed, SIZES[data]), data)
