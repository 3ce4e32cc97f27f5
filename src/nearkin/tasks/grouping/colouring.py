"""Few groups for blocks that differ: colours of a graph, and blocks that all differ."""

from __future__ import annotations

from heapq import heapify, heappop, heappush
from itertools import pairwise

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from nearkin._types import Ints

# Choices that are taken back in all before a search is given up.
MOST_STEPS = 200_000


def coloured(apart: sp.csr_array, limit: int, steps: int = MOST_STEPS) -> Ints | None:
    """Numbers below ``limit`` such that blocks that differ have different ones.

    Parameters
    ----------
    apart : sparse matrix of shape (n, n)
        Symmetric; entries are between blocks that differ.
    limit : int
    steps : int
        Choices that may be taken back. Without any, two numbers are still found where two are
        enough.

    Returns
    -------
    int ndarray of shape (n,), or None
        None if there are none, or none were found after many steps.

    Notes
    -----
    By the rule of Brélaz: the block that has fewest numbers left comes next, and of these the one
    that differs from most others. Where none is left, the last choice is taken back.
    """
    labels = np.full(apart.shape[0], -1)
    degrees = np.diff(apart.indptr)
    labels[degrees == 0] = 0
    _, part = connected_components(apart, directed=False)
    order = np.argsort(part, kind="stable")
    bounds = np.flatnonzero(np.diff(part[order], prepend=-1, append=-1))
    for begin, end in pairwise(bounds):
        members = order[begin:end]
        if len(members) == 1:
            continue
        neighbors = {int(i): _row(apart, i) for i in members}
        found, used = _coloured_part(neighbors, limit, steps)
        steps -= used
        if found is None:
            return None
        labels[list(found)] = list(found.values())
    return labels


def _row(apart: sp.csr_array, i: int) -> list[int]:
    row: list[int] = apart.indices[apart.indptr[i] : apart.indptr[i + 1]].tolist()
    return row


def _coloured_part(
    neighbors: dict[int, list[int]], limit: int, steps: int
) -> tuple[dict[int, int] | None, int]:
    """Numbers of connected blocks, and how many choices were taken back."""
    found: dict[int, int] = {}
    seen: dict[int, dict[int, int]] = {i: {} for i in neighbors}  # numbers near a block, counted
    queue = [(0, -len(near), i) for i, near in neighbors.items()]
    heapify(queue)
    # Choices so far: the block, and the numbers that are still to be tried.
    choices: list[tuple[int, list[int]]] = []
    used = 0

    taken: list[int] = []  # how often each number is

    def put(block: int, number: int) -> None:
        found[block] = number
        if number == len(taken):
            taken.append(0)
        taken[number] += 1
        for other in neighbors[block]:
            near = seen[other]
            near[number] = near.get(number, 0) + 1
            if other not in found:
                heappush(queue, (-len(near), -len(neighbors[other]), other))

    def take_back(block: int) -> None:
        number = found.pop(block)
        taken[number] -= 1
        while taken and not taken[-1]:
            taken.pop()
        for other in (*neighbors[block], block):
            near = seen[other]
            if other != block:
                near[number] -= 1
                if not near[number]:
                    del near[number]
            if other not in found:
                heappush(queue, (-len(near), -len(neighbors[other]), other))

    while len(found) < len(neighbors):
        saturation, _, block = heappop(queue)
        if block in found or -saturation != len(seen[block]):
            continue  # it was put there before something changed
        # Numbers are taken in their order: one that nobody has is as good as any other.
        free = [c for c in range(min(len(taken) + 1, limit)) if c not in seen[block]]
        choices.append((block, free[::-1]))
        while choices and not choices[-1][1]:
            failed, _ = choices.pop()
            heappush(queue, (-len(seen[failed]), -len(neighbors[failed]), failed))
            if not choices:
                return None, used
            used += 1
            if used > steps:
                return None, used
            take_back(choices[-1][0])
        block, left = choices[-1]
        put(block, left.pop())
    return found, used


def all_differ(apart: sp.csr_array, wanted: int) -> list[int]:
    """Blocks that all differ from one another, as many as are found easily, ``wanted`` at most."""
    degrees = np.diff(apart.indptr)
    best: list[int] = []
    for start in np.argsort(-degrees, kind="stable")[:50].tolist():
        clique, left = [start], set(_row(apart, start))
        while left and len(clique) < wanted:
            block = max(left, key=lambda i: (degrees[i], -i))
            clique.append(block)
            left &= set(_row(apart, block))
        if len(clique) > len(best):
            best = clique
        if len(best) >= wanted:
            break
    return best
