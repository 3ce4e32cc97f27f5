"""Table 10: k-means in a metric that it learns from its own clusters."""

from __future__ import annotations

import warnings
from itertools import product
from typing import Any

import numpy as np
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import rand_score

from benchmarks.papers.lu2009_geometry_aware.splits import mean_and_error, select
from benchmarks.papers.shi2011_generative.published import SMALL as DATA
from benchmarks.papers.shi2011_generative.published import TABLE_10
from benchmarks.papers.shi2011_generative.splits import (
    Rows,
    jobs_of,
    middle_best,
    random_split,
)
from benchmarks.record import Table
from benchmarks.resume import Job
from nearkin import MetricKMeans

SPLITS = 30
WORKERS = 2
REGULARIZATIONS = ("auto", 0.1, 0.5)
INTERPOLATIONS = (0.0, 0.2, 0.5, 0.8)
ROUNDS = 10


def jobs(name: str, n_splits: int) -> list[Job]:
    return jobs_of(name, n_splits, one_split)


def one_split(name: str, X: Rows, y: Rows, seed: int) -> list[dict[str, Any]]:
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
            random_state=seed,
        )
        with warnings.catch_warnings():  # the paper stops after a few rounds, too
            warnings.simplefilter("ignore", ConvergenceWarning)
            tried.append(clusters.fit(part.X))
    chosen = tried[middle_best(-m.score(part.X_valid, part.y_valid) for m in tried)]
    common = {"data": name, "seed": seed}
    return [
        {
            **common,
            "method": "k-means",
            "rand": float(rand_score(part.y_test, plain.predict(part.X_test))),
        },
        {
            **common,
            "method": "k-means + M^UNI",
            "rand": chosen.score(part.X_test, part.y_test),
            "regularization": chosen.regularization,
            "interpolation": chosen.interpolation,
            "rounds": chosen.n_iter_,
        },
    ]


def tables(rows: list[dict[str, Any]]) -> list[Table]:
    body = []
    for place, name in enumerate(DATA):
        values = {method: select(rows, "rand", data=name, method=method) for method in TABLE_10}
        if not values["k-means"]:
            continue
        line = [name, str(len(values["k-means"]))]
        for method, found in values.items():
            paper = TABLE_10[method][place]
            line.append(f"{mean_and_error(found, 3)} ({'?' if paper is None else f'{paper:.3f}'})")
        more = np.subtract(values["k-means + M^UNI"], values["k-means"])
        body.append([*line, f"{more.mean():+.3f}"])
    title = "Table 10. Rand index of test rows, mean ± standard error (the paper's)"
    columns = ["", "splits", *TABLE_10, "gain"]
    return [Table(title, columns, body)] if body else []
