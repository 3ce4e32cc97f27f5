"""Loops compiled before they are needed, so that later programs only load them.

Numba compiles a loop for the types and layouts of its arguments. Which these are is known best by
those who call it, so small jobs are done here as users do them: in both precisions, and with as
many rows as make learners take the ways that they take with many.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from numpy.typing import DTypeLike

import nearkin
from nearkin._types import Floats, Ints
from nearkin.clustering.mpck_means import MPCKMeans
from nearkin.datasets import make_records
from nearkin.errors import InputError
from nearkin.learners.geometry_aware import GeometryAware
from nearkin.learners.itml import ITML
from nearkin.learners.kernel_beta import KernelBeta
from nearkin.learners.moving_points import KernelA
from nearkin.messages import collect_notices, mute_third_party, show_progress
from nearkin.pairs.pairs import Pairs
from nearkin.registry import LEARNERS
from nearkin.rows.streams import open_rows
from nearkin.search import NeighborIndex
from nearkin.solvers.stress import squared_distance
from nearkin.spaces.spread_pairs import spread_pairs
from nearkin.tasks.energy_classifier import EnergyClassifier

# Rows and landmarks from which landmarks may be searched by pivots, and rows for all the rest.
_MANY, _MANY_LANDMARKS, _FEW = 20_000, 256, 300
_COLUMNS, _GROUPS = 6, 40
_TYPES = (np.float32, np.float64)
_KERNELS = ("linear", "poly", "cosine", "laplacian")

Job = Callable[[], Any]


@dataclass(frozen=True)
class Compiled:
    """Number of loops newly compiled, seconds this took, and folder of the cache."""

    n_compiled: int
    seconds: float
    folder: Path


def warm_up(*, verbose: bool = False) -> Compiled:
    """Compile the loops of learners, searches and record matching ahead, unless they are cached.

    ``verbose`` shows a progress bar. An InputError if no folder can hold the cache.
    """
    from nearkin.rows.numba_loops import count_compiled, find_cache_folder

    start = time.perf_counter()
    squared_distance(np.ones((2, 2)), 0, 1)  # the smallest of them
    folder = find_cache_folder()
    if folder is None:
        raise InputError(
            "nothing that is compiled can be kept: let NUMBA_CACHE_DIR name a folder that can be "
            "written to, and do not set NUMBA_DISABLE_JIT."
        )
    # What learners think of these rows is of no interest.
    with collect_notices(), mute_third_party():
        for job in show_progress(jobs(), "compiling", shown=verbose):
            job()
    return Compiled(count_compiled(), time.perf_counter() - start, find_cache_folder() or folder)


def jobs() -> list[Job]:
    """Small jobs that call all common loops, with all types that large jobs have."""
    found: list[Job] = []
    for dtype in _TYPES:
        found += [
            # Landmarks of many rows are found by pivots.
            partial(_fit_kernel, _MANY, dtype, n_landmarks=_MANY_LANDMARKS),
            *(partial(_fit_kernel, _FEW, dtype, n_landmarks=60, kernel=one) for one in _KERNELS),
            partial(_fit_kernel, _FEW, dtype, n_landmarks=60, extension="nystroem"),
            partial(_fit_streams, dtype),
            partial(_search_neighbors, dtype),
            *(partial(_fit_learner, one.name, dtype) for one in LEARNERS if one.command),
        ]
    found += [_fit_triplets, _fit_graphs, _fit_clusters]
    if find_spec("rapidfuzz"):
        found.append(_match_records)
    return found


def _make_rows(n: int, dtype: DTypeLike) -> tuple[Floats, Ints]:
    """Random rows (n, d) in groups far apart, and the group (n,) of each."""
    rng = np.random.RandomState(0)
    group = rng.randint(_GROUPS, size=n)
    middles = 10 * rng.normal(size=(_GROUPS, _COLUMNS))
    return (middles[group] + rng.normal(size=(n, _COLUMNS))).astype(dtype), group


def _make_pairs(group: Ints) -> Pairs:
    return Pairs.from_labels(group, n_pairs=60, random_state=0)


def _fit_kernel(n_rows: int, dtype: DTypeLike, **parameters: Any) -> None:
    X, group = _make_rows(n_rows, dtype)
    learner = KernelBeta(random_state=0, **parameters)
    learner.fit(X, pairs=_make_pairs(group)).transform(X)


def _fit_streams(dtype: DTypeLike) -> None:
    X, group = _make_rows(_FEW, dtype)
    rows: Any = open_rows(X)
    with TemporaryDirectory(prefix="nearkin") as folder:
        for ending in ("npy", "parquet") if find_spec("pyarrow") else ("npy",):
            stream = open_rows(rows.write(f"{folder}/rows.{ending}"))
            learner = KernelBeta(n_landmarks=60, random_state=0).fit(
                stream, pairs=_make_pairs(group)
            )
            for _ in learner.transform(stream):
                pass


def _search_neighbors(dtype: DTypeLike) -> None:
    X, _ = _make_rows(10 * _FEW, dtype)
    NeighborIndex(search="approximate", random_state=0).add(X).query(X[:_FEW])


def _fit_learner(name: str, dtype: DTypeLike) -> None:
    X, group = _make_rows(_FEW, dtype)
    learner = getattr(nearkin, name)()
    if "random_state" in learner.get_params():
        learner.set_params(random_state=0)
    learner.fit(X, group).transform(X)


def _fit_triplets() -> None:
    X, group = _make_rows(_FEW, np.float64)
    first, second = np.flatnonzero(group == 0)[:2]
    other = np.flatnonzero(group != 0)[:60]
    nearer = [(first, second, third) for third in other]
    for learner in (ITML(random_state=0), KernelA(random_state=0)):
        learner.fit(X, pairs=Pairs(closer=nearer))


def _fit_graphs() -> None:
    # One piece, with more rows than have all their eigenvectors found.
    X, group = np.random.RandomState(0).normal(size=(10 * _FEW, 2)), np.arange(10 * _FEW) % 2
    for search in ("exact", "approximate"):
        GeometryAware(search=search, random_state=0).fit(X, group).transform(X)
    spread_pairs(X, _make_pairs(group), random_state=0)


def _fit_clusters() -> None:
    X, group = _make_rows(_FEW, np.float64)
    MPCKMeans(_GROUPS, n_init=1, random_state=0).fit(X, pairs=_make_pairs(group))
    EnergyClassifier().fit(X, group).predict(X)


def _match_records() -> None:
    from nearkin.records.matcher import RecordMatcher

    table, person = make_records(_FEW, random_state=0)
    matcher = RecordMatcher(random_state=0)
    matcher.fit(table, pairs=Pairs.from_labels(person, 60, random_state=0)).duplicates()
