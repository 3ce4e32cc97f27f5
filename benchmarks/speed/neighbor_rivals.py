"""Searches for neighbours, ours and those of other packages, behind one face.

Each is built with settings that are usual for it, and has one knob, from quick to thorough, which
is turned up until enough of the neighbours are found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np

from nearkin import NeighborIndex

K = 10


@dataclass(frozen=True)
class Search:
    """An index that was built.

    Attributes
    ----------
    query : callable
        ``query(Q)`` gives the numbers of K rows for each query.
    add : callable
        ``add(X)`` holds more rows, so that the next query finds them.
    knob : callable
        ``knob(value)`` turns it.
    """

    query: Callable[[np.ndarray], np.ndarray]
    add: Callable[[np.ndarray], Any]
    knob: Callable[[Any], None] = lambda value: None


@dataclass(frozen=True)
class Rival:
    """How to build an index, and what it is called.

    Attributes
    ----------
    build : callable
        ``build(X)`` gives a :class:`Search`.
    package : str or None
        What has to be installed.
    setting : str
        In words, with ``{}`` where the knob's value goes.
    values : tuple
        Of the knob, from quick to thorough.
    """

    build: Callable[[np.ndarray], Search]
    package: str | None = None
    setting: str = ""
    values: tuple[Any, ...] = (None,)

    @property
    def installed(self) -> bool:
        return self.package is None or find_spec(self.package) is not None


def ours(search: Any) -> Callable[[np.ndarray], Search]:
    def build(X: np.ndarray) -> Search:
        index = NeighborIndex(search=search, n_neighbors=K, random_state=0).fit(X)
        index.query(X[:1])  # cells are made here
        return Search(lambda Q: index.query(Q)[1], index.add)

    return build


def pynndescent(X: np.ndarray) -> Search:
    from pynndescent import NNDescent

    index = NNDescent(X, n_neighbors=30, random_state=0)
    index.prepare()
    epsilon = 0.1

    def turn(value: float) -> None:
        nonlocal epsilon
        epsilon = value

    def add(rows: np.ndarray) -> None:
        index.update(xs_fresh=rows)
        index.prepare()

    return Search(lambda Q: index.query(Q, k=K, epsilon=epsilon)[0], add, turn)


def faiss_hnsw(X: np.ndarray) -> Search:
    import faiss

    index = faiss.IndexHNSWFlat(X.shape[1], 16)
    index.hnsw.efConstruction = 100
    index.add(X)

    def turn(value: int) -> None:
        index.hnsw.efSearch = value

    return Search(lambda Q: index.search(Q, K)[1], index.add, turn)


def faiss_cells(codes: str) -> Callable[[np.ndarray], Search]:
    def build(X: np.ndarray) -> Search:
        import faiss

        index = faiss.index_factory(X.shape[1], f"IVF{round(2 * len(X) ** 0.5)},{codes}")
        index.train(X)
        index.add(X)
        cells = faiss.extract_index_ivf(index)

        def turn(value: int) -> None:
            cells.nprobe = value
            if hasattr(index, "k_factor"):
                index.k_factor = 4

        return Search(lambda Q: index.search(Q, K)[1], index.add, turn)

    return build


def hnswlib(X: np.ndarray) -> Search:
    from hnswlib import Index

    index = Index(space="l2", dim=X.shape[1])
    index.init_index(max_elements=2 * len(X), M=16, ef_construction=100, random_seed=0)
    index.add_items(X)
    return Search(lambda Q: index.knn_query(Q, k=K)[0], index.add_items, index.set_ef)


def usearch(X: np.ndarray) -> Search:
    from usearch.index import Index

    index = Index(ndim=X.shape[1], metric="l2sq", dtype="f32")
    index.add(np.arange(len(X)), X)

    def turn(value: int) -> None:
        index.expansion_search = value

    def add(rows: np.ndarray) -> None:
        index.add(np.arange(len(index), len(index) + len(rows)), rows)

    return Search(lambda Q: index.search(Q, K).keys.reshape(len(Q), K), add, turn)


_BEAMS = (16, 32, 48, 64, 96, 128, 192, 256, 384, 512)
_CELLS = (4, 8, 12, 16, 20, 24, 28, 32, 40, 48, 64, 96)
RIVALS = {
    "nearkin, exact": Rival(ours("exact")),
    "nearkin, approximate": Rival(ours("approximate"), setting="as it is"),
    "faiss, cells": Rival(faiss_cells("Flat"), "faiss", "2 √n cells, {} looked into", _CELLS),
    "faiss, cells, bytes": Rival(
        faiss_cells("SQ8,RFlat"), "faiss", "2 √n cells, {} looked into, 40 looked at", _CELLS
    ),
    "faiss, HNSW": Rival(
        faiss_hnsw, "faiss", "16 links, 100 in construction, {} in search", _BEAMS
    ),
    "hnswlib": Rival(hnswlib, "hnswlib", "16 links, 100 in construction, {} in search", _BEAMS),
    "usearch": Rival(usearch, "usearch", "16 links, 128 in construction, {} in search", _BEAMS),
    "pynndescent": Rival(
        pynndescent,
        "pynndescent",
        "30 neighbours, epsilon {}",
        (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4),
    ),
}
