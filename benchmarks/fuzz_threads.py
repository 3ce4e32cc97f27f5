"""Random work in several threads at once, which must be as if done one after another.

    python -m benchmarks.fuzz_threads 1000 --workers 1

Threads fit, transform, search, save and load, each with learners and rows of its own or all with
the same fitted metric. What each of them finds must be what it finds alone, but for the order in
which BLAS adds up, and in the end BLAS, OpenMP and Numba must have as many threads, and the process
the same warning filters, as before. Some of the tasks fail on purpose: an error must leave no limit
behind either.
"""

from __future__ import annotations

import tempfile
import threading
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Self

import numba
import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_info

import nearkin as nk
from benchmarks.campaign import Campaign, Case, main
from tests.common.learners import LEARNERS, as_seen_by

# Draws that take a second each leave little room for others.
SLOW = ("MetricLearner",)
N_THREADS = 2  # of BLAS, OpenMP and Numba: fewer could not be seen to be lost


def rows(seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(24) % 2
    return rng.standard_normal((24, 3)) + 2 * y[:, None], y


def fitted(name: str, seed: int) -> Any:
    X, y = rows(seed)
    learner = clone(LEARNERS[name])
    pairs = nk.Pairs.from_labels(y, 12, random_state=0)
    return learner.fit(as_seen_by(learner, X), y if seed % 2 else None, pairs=pairs)


def many(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal((400, 3)).astype(np.float32)


def index_of(seed: int, search: str) -> nk.NeighborIndex:
    X = many(seed)
    metric = nk.Euclidean(random_state=0).fit(X, np.arange(len(X)) % 2)
    return nk.NeighborIndex(metric, search=search, random_state=0).add(X)


class Shared(NamedTuple):
    """What all threads use, made but not asked yet."""

    metric: Any
    index: nk.NeighborIndex
    cells: nk.NeighborIndex

    @classmethod
    def of(cls, name: str) -> Self:
        return cls(fitted(name, 0), index_of(0, "exact"), index_of(0, "approximate"))


def seen(metric: Any, seed: int, fitted_to: int) -> np.ndarray:
    """Rows as a metric takes them."""
    return as_seen_by(metric, rows(seed)[0], rows(fitted_to)[0])


# --- tasks: what a thread does, by the name of a learner and a seed ------------------------------


def fit(name: str, seed: int, shared: Shared) -> list[Any]:
    metric = fitted(name, seed)
    return [metric.transform(seen(metric, seed, seed)), metric.threshold_]


def transform(name: str, seed: int, shared: Shared) -> list[Any]:
    metric = shared.metric
    X = seen(metric, seed, 0)
    beside = metric.pair_distance(X[:5], X[5:10])
    return [metric.transform(X), metric.distance(X[:5], X[5:9]), beside]


def ask(name: str, seed: int, shared: Shared) -> list[Any]:
    X = many(seed)[:20]
    return [*shared.index.query(X, 3), *shared.cells.query(X, 3)]


def search(name: str, seed: int, shared: Shared) -> list[Any]:
    X = rows(seed)[0]
    metric = nk.ITML(random_state=0).fit(X, rows(seed)[1])
    index = nk.NeighborIndex(metric, random_state=0).add(X)
    return [*index.query(X[:6], 4), *index.duplicates(0.5)[:1]]


def cells(name: str, seed: int, shared: Shared) -> list[Any]:
    return list(index_of(seed, "approximate").query(many(seed)[:20], 3))


def clusters(name: str, seed: int, shared: Shared) -> list[Any]:
    X, y = rows(seed)
    links = nk.Pairs.from_labels(y, 6, random_state=0)
    means = nk.MetricKMeans(2, n_init=2, random_state=0).fit(X)
    return [means.labels_, nk.MPCKMeans(2, n_init=2, random_state=0).fit(X, pairs=links).labels_]


def spread(name: str, seed: int, shared: Shared) -> list[Any]:
    X, y = rows(seed)
    many = nk.spread_pairs(X, nk.Pairs.from_labels(y, 6, random_state=0))
    return [many.must_link, many.must_weight, many.cannot_link, many.cannot_weight]


def keep(name: str, seed: int, shared: Shared) -> list[Any]:
    metric = fitted("ITML", seed)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "metric.nearkin"
        metric.save(path)
        return [nk.load(path).transform(rows(seed)[0])]


def fail(name: str, seed: int, shared: Shared) -> list[Any]:
    X, _ = rows(seed)
    for bad in (np.full(len(X), -1), np.zeros(len(X))):
        try:
            nk.LMNN(random_state=0).fit(X, bad)
        except ValueError:
            continue
        raise AssertionError("LMNN refuses labels of one class")
    return []


TASKS: dict[str, Callable[[str, int, Shared], list[Any]]] = {
    "fit": fit,
    "transform": transform,
    "ask": ask,
    "search": search,
    "cells": cells,
    "clusters": clusters,
    "spread": spread,
    "keep": keep,
    "fail": fail,
}


def draw(rng: np.random.Generator) -> Case:
    names = [name for name in LEARNERS if name not in SLOW or rng.random() < 0.1]
    weights = np.array([6 if task in ("fit", "transform") else 1 for task in TASKS])
    return {
        "shared": str(rng.choice(names)),
        "threads": [
            [
                [str(rng.choice(list(TASKS), p=weights / weights.sum())), str(rng.choice(names))]
                for _ in range(rng.integers(1, 4))
            ]
            for _ in range(rng.integers(2, 7))
        ],
        "seed": int(rng.integers(1000)),
    }


# --- what must hold --------------------------------------------------------------------------


def limits() -> dict[str, Any]:
    """Numbers of threads, and filters of warnings but for our own."""
    ours = "nearkin.messages"
    return {
        **{Path(pool["filepath"]).name: pool["num_threads"] for pool in threadpool_info()},
        "Numba": numba.get_num_threads(),
        "filters": [one for one in warnings.filters if type(one[1]).__module__ != ours],
    }


def check(case: Case) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        plan = [
            [(TASKS[task], name, case["seed"] + 10 * i + j) for j, (task, name) in enumerate(tasks)]
            for i, tasks in enumerate(case["threads"])
        ]

        def done(number: int, shared: Shared) -> list[Any]:
            return [task(name, seed, shared) for task, name, seed in plan[number]]

        shared = Shared.of(case["shared"])
        alone = [done(number, shared) for number in range(len(plan))]
        shared = Shared.of(case["shared"])
        before = limits()
        together: list[Any] = [None] * len(plan)
        begin = threading.Barrier(len(plan))

        def work(number: int) -> None:
            begin.wait()
            try:
                together[number] = done(number, shared)
            except Exception as error:
                together[number] = error

        threads = [threading.Thread(target=work, args=[number]) for number in range(len(plan))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        after = limits()
        for what, value in before.items():
            assert after[what] == value, f"{what} is as before: {value} became {after[what]}"
        for one, other in zip(alone, together, strict=True):
            if isinstance(other, Exception):
                raise other
            same(one, other)
    return f"{sum(map(len, plan))} tasks" if len(plan) < 4 else "4 threads and more"


def same(alone: Any, together: Any) -> None:
    if isinstance(alone, list):
        for one, other in zip(alone, together, strict=True):
            same(one, other)
        return
    one, other = np.asarray(alone), np.asarray(together)
    assert one.shape == other.shape, f"results have the same shape: {one.shape}, {other.shape}"
    if one.dtype.kind != "f":
        assert np.array_equal(one, other), "results are those of one after another, whole numbers"
        return
    off, size = np.abs(one - other).max(initial=0.0), np.abs(one).max(initial=0.0)
    assert off <= 1e-6 * size, f"results are those of one after another: off by {off} of {size}"


CAMPAIGN = Campaign(
    "fuzz_threads", "rounds of threads", draw, check, seconds=120.0, threads=N_THREADS
)

if __name__ == "__main__":
    main(CAMPAIGN)
