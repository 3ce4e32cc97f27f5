r"""Groups that grow by joining, with cannot-links kept: a tree that can be cut anywhere.

Blocks of rows (see :mod:`nearkin.tasks.grouping.kept_pairs`) are joined two at a time, those first
that are most alike in the mean: with affinities :math:`a_{ij}` of neighbours, and 0 of all others,

.. math:: s(U, V) = \frac{1}{|U|\,|V|} \sum_{i \in U, j \in V} a_{ij} .

This is average linkage on a graph of neighbours. Complete linkage takes the least affinity of
neighbours in its place, and so joins what is alike throughout. Two groups that a cannot-link tells
apart are never joined, nor is what they become part of. What the graph leaves in pieces is joined
by the distances of their means, those with fewest rows first to find another.
"""

from __future__ import annotations

from dataclasses import dataclass
from heapq import heapify, heappop, heappush
from typing import Literal

import numpy as np
import scipy.sparse as sp

from nearkin._types import Floats, Ints
from nearkin.errors import InputError
from nearkin.pairs.closure import in_order_of_appearance
from nearkin.tasks.grouping.kept_pairs import Blocks

Linkage = Literal["average", "complete"]


@dataclass(frozen=True)
class Tree:
    """Who joined whom, in order.

    Attributes
    ----------
    blocks : Blocks
        What there was at the start: nodes 0 to n_blocks − 1.
    joined : int ndarray of shape (n_joins, 2)
        The two nodes; the t-th join makes node ``n_blocks + t``.
    alike : ndarray of shape (n_joins,)
        How alike they were; NaN where the graph did not say, and distances decided.
    """

    blocks: Blocks
    joined: Ints
    alike: Floats

    @property
    def fewest(self) -> int:
        """Groups that are left when nothing more can be joined."""
        return self.blocks.count - len(self.joined)

    def cut(self, n_groups: int) -> Ints:
        """Groups of rows when there are so many; an error if there never are."""
        if n_groups < self.fewest:
            raise InputError(
                f"the tree has no {n_groups} groups: joining ended with {self.fewest}, which "
                f"cannot-links all keep apart. Cut it at {self.fewest} or more, or look for other "
                f"groups with Clusters({n_groups}).fit(X, pairs=pairs)."
            )
        if n_groups > self.blocks.count:
            raise InputError(
                f"the tree has no {n_groups} groups: must-links leave {self.blocks.count} at most."
            )
        return self.cut_near(n_groups)

    def cut_near(self, n_groups: int) -> Ints:
        """Groups of rows when there are so many, or the nearest number that there can be."""
        n_joins = min(max(self.blocks.count - n_groups, 0), len(self.joined))
        return leaves_joined(self.joined[:n_joins], self.blocks.count)[self.blocks.of]


def leaves_joined(joined: Ints, n_leaves: int) -> Ints:
    """Groups of the leaves of a tree, after joins of which the t-th makes node n_leaves + t."""
    parent = np.arange(n_leaves + len(joined))
    for t, nodes in enumerate(joined):
        parent[nodes] = n_leaves + t
    for node in range(len(parent) - 1, -1, -1):  # parents come later
        parent[node] = parent[parent[node]]
    return in_order_of_appearance(parent[:n_leaves])


def joined_tree(
    Z: Floats, affinities: sp.csr_array, blocks: Blocks, linkage: Linkage = "average"
) -> Tree:
    """The tree of rows.

    Parameters
    ----------
    Z : ndarray of shape (n, q)
        Where rows are.
    affinities : sparse matrix of shape (n, n)
        Symmetric and not negative, of neighbours.
    blocks : Blocks
    linkage : {"average", "complete"}, default="average"

    Notes
    -----
    O(e log² n) time for e neighbours and cannot-links, and as much memory.
    """
    groups = _Growing(Z, affinities, blocks, linkage)
    groups.join_neighbors()
    groups.join_the_rest()
    joined = np.array(groups.joined, dtype=np.int64).reshape(-1, 2)
    return Tree(blocks, joined, np.array(groups.alike))


class _Growing:
    """Groups while they grow.

    A group goes by one of its blocks: where two join, by that of the one with more neighbours, so
    that few others have to be told. A group of size 0 has joined another.
    """

    def __init__(
        self, Z: Floats, affinities: sp.csr_array, blocks: Blocks, linkage: Linkage
    ) -> None:
        n = blocks.count
        self.averages = linkage == "average"
        to_blocks = sp.csr_array(
            (np.ones(len(blocks.of)), (np.arange(len(blocks.of)), blocks.of)),
            shape=(len(blocks.of), n),
        )
        between = _between(affinities, blocks, np.add if self.averages else np.minimum)
        self.node = list(range(n))
        self.size = np.bincount(blocks.of, minlength=n).tolist()
        self.total = list(np.asarray(to_blocks.T @ Z, dtype=float))
        # Sums of affinities to other groups, or the least of them, and groups that differ.
        self.near = [_entries(between, i) for i in range(n)]
        self.apart = [set(_entries(blocks.apart, i)) for i in range(n)]
        self.joined: list[tuple[int, int]] = []
        self.alike: list[float] = []

    def join_neighbors(self) -> None:
        """Join the two that are most alike, as long as neighbours may be joined."""
        queue = [
            (-self._likeness(u, v), u, v)
            for u, near in enumerate(self.near)
            for v in near
            if u < v and v not in self.apart[u]
        ]
        heapify(queue)
        while queue:
            less, u, v = heappop(queue)
            if v not in self.near[u] or v in self.apart[u]:
                continue  # one of them has joined another since, or may not be joined any more
            alike = self._likeness(u, v)
            if alike < -less:  # as it was before one of them grew
                heappush(queue, (-alike, u, v))
                continue
            kept, told = self._join(u, v, alike)
            for other in told:
                if other not in self.apart[kept]:
                    heappush(queue, (-self._likeness(kept, other), kept, other))

    def _likeness(self, u: int, v: int) -> float:
        pairs = self.size[u] * self.size[v] if self.averages else 1
        return float(self.near[u][v] / pairs)

    def join_the_rest(self) -> None:
        """Join what the graph leaves, the smallest first, to the nearest mean that it may join."""
        left = [(size, group) for group, size in enumerate(self.size) if size]
        heapify(left)
        while left:
            size, group = heappop(left)
            if self.size[group] != size:
                continue
            others = sorted({other for one, other in left if self.size[other] == one})
            others = [
                other for other in others if other != group and other not in self.apart[group]
            ]
            if not others:
                continue  # it stays as it is
            means = np.array([self.total[other] / self.size[other] for other in others])
            squared = ((means - self.total[group] / size) ** 2).sum(axis=1)
            kept, _ = self._join(others[int(squared.argmin())], group, float("nan"))
            heappush(left, (self.size[kept], kept))

    def _join(self, u: int, v: int, alike: float) -> tuple[int, list[int]]:
        """Join two groups; the one that stays, and others whose sums have changed."""
        if len(self.near[u]) + len(self.apart[u]) < len(self.near[v]) + len(self.apart[v]):
            u, v = v, u
        self.joined.append((self.node[u], self.node[v]))
        self.alike.append(alike)
        self.node[u] = len(self.node) + len(self.joined) - 1
        near, apart = self.near[u], self.apart[u]
        near.pop(v, None)
        self.near[v].pop(u, None)
        told = list(self.near[v])
        for other in told:
            theirs = self.near[other]
            further = theirs.pop(v)
            if other not in near:
                near[other] = further
            else:
                near[other] = near[other] + further if self.averages else min(near[other], further)
            theirs[u] = near[other]
        for other in self.apart[v]:
            self.apart[other].discard(v)
            self.apart[other].add(u)
        apart |= self.apart[v]
        self.size[u] += self.size[v]
        self.total[u] = self.total[u] + self.total[v]
        self.size[v], self.near[v], self.apart[v] = 0, {}, set()
        return u, told


def _between(affinities: sp.csr_array, blocks: Blocks, combine: np.ufunc) -> sp.csr_array:
    """Affinities of rows of two blocks, added up or the least of them."""
    rows = affinities.tocoo()
    first, second = blocks.of[rows.row], blocks.of[rows.col]
    apart = first != second
    keys = first[apart] * np.int64(blocks.count) + second[apart]
    order = np.argsort(keys, kind="stable")
    keys, starts = np.unique(keys[order], return_index=True)
    values = combine.reduceat(rows.data[apart][order], starts) if len(keys) else np.zeros(0)
    places = keys // blocks.count, keys % blocks.count
    return sp.csr_array((values, places), shape=(blocks.count, blocks.count))


def _entries(matrix: sp.csr_array, i: int) -> dict[int, float]:
    part = slice(matrix.indptr[i], matrix.indptr[i + 1])
    return dict(zip(matrix.indices[part].tolist(), matrix.data[part].tolist(), strict=True))
