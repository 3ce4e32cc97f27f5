"""Table 10: k-means in a metric that it learns from its own clusters."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import rand_score

from benchmarks.papers.shi2011_generative import published
from benchmarks.papers.shi2011_generative.splits import (
    Rows,
    middle_best,
    random_split,
    small_set,
)
from benchmarks.resume import Job
from nearkin import MetricKMeans

DATA = published.SMALL
SPLITS = 30
WORKERS = 2
REGULARIZATIONS = ("auto", 0.1, 0.5, 0.9)
INTERPOLATIONS = (0.0, 0.2, 0.5, 0.8, 0.95)
ROUNDS = 10
# Starts of k-means in each round after the first, beside that from the clusters at hand.
RESTARTS = {"as published": 10, "from the clusters at hand": 0}


def jobs(name: str, n_splits: int) -> list[Job]:
    X, y = small_set(name)
    return [
        Job({"seed": seed, "kind": kind}, one_split, (X, y, seed, kind))
        for kind in RESTARTS
        for seed in range(n_splits)
    ]


def one_split(X: Rows, y: Rows, seed: int, kind: str) -> list[dict[str, Any]]:
    part = random_split(X, y, seed)
    n_clusters = len(np.unique(y))
    plain = KMeans(n_clusters, n_init=10, random_state=seed).fit(part.X)
    tried = []
    for regularization, interpolation in product(REGULARIZATIONS, INTERPOLATIONS):
        clusters = MetricKMeans(
            n_clusters,
            regularization=regularization,
            interpolation=interpolation,
            max_iter=ROUNDS,
            n_restarts=RESTARTS[kind],
            random_state=seed,
        )
        with warnings.catch_warnings():  # the paper stops after a few rounds, too
            warnings.simplefilter("ignore", ConvergenceWarning)
            tried.append(clusters.fit(part.X))
    chosen = tried[middle_best(-m.score(part.X_valid, part.y_valid) for m in tried)]
    weights = (chosen.components_**2).sum(axis=0)  # of columns, in the learned metric
    return [
        {
            "method": "k-means",
            "rand": float(rand_score(part.y_test, plain.predict(part.X_test))),
        },
        {
            "method": "k-means + M^UNI",
            "rand": chosen.score(part.X_test, part.y_test),
            "regularization": chosen.regularization,
            "interpolation": chosen.interpolation,
            "rounds": chosen.n_iter_,
            "left": float(1 - rand_score(plain.labels_, chosen.labels_)),
            "heaviest": float(weights.max() / weights.sum()),
        },
    ]
