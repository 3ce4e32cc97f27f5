"""Targets and impostors of rows: what is to be pulled together, and what pushed apart."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from nearkin._types import Floats, Integers
from nearkin.errors import InputError
from nearkin.pairs.closure import spread_labels
from nearkin.pairs.supervision import Evidence
from nearkin.rows.parallel import REORDER, blocks, compiled, for_each_block, one_blas_thread
from nearkin.rows.sparse import distances, is_sparse
from nearkin.solvers.stress_springs import squared_distance

# The list of rivals has eight bytes for each of these.
_MOST_RIVALS = 200_000_000
# Rows and columns of the tiles in which rivals are looked for.
_TILE = 256, 4096
# Shares of the objective that are summed apart: their number must not depend on the machine.
_PARTS = 4
_FEW_TERMS = 20_000
# Up to so many rows of a class, all distances at once.
_FEW_ROWS = 200
# Rivals up to this share of a row's reach beyond it are watched until the next search.
AHEAD = 0.1


@dataclass(frozen=True)
class Classes:
    """Which rows are alike and which are not.

    Attributes
    ----------
    rows : int ndarray of shape (n,)
        Rows of X about which something is known.
    number : int ndarray of shape (n,)
        Class of each; rows of one class are alike.
    n_labels : int
        Classes below this number are labels, and differ all from one another.
    unlike : int64 ndarray
        Sorted ``a * n_classes + b`` of all further classes a and b that differ, in both orders.
    n_classes : int
    """

    rows: Integers
    number: Integers
    n_labels: int
    unlike: NDArray[np.int64]
    n_classes: int


def known_classes(n_rows: int, evidence: Evidence) -> Classes:
    """Labels, and components of must-links, as classes.

    A component takes the label of its rows, or else is a class of its own, which differs from
    those that a cannot-link says it differs from. Labels outweigh links that contradict them, and
    must-links cannot-links; unlabelled rows between two labels are left out.
    """
    groups = evidence.pairs.groups
    points, group = groups.points, groups.number
    labels = np.full(n_rows, -1) if evidence.classes is None else evidence.classes
    number = spread_labels(labels, groups)
    n_labels = int(number.max()) + 1
    nameless = np.ones(groups.count, dtype=bool)
    nameless[group[labels[points] >= 0]] = False
    number[points] = np.where(nameless[group], n_labels + group, number[points])

    n_classes = n_labels + groups.count
    ends = number[evidence.pairs.cannot_link]
    ends = ends[(ends >= 0).all(axis=1) & (ends[:, 0] != ends[:, 1])]
    unlike = np.unique(np.concatenate([ends, ends[:, ::-1]]) @ np.array([n_classes, 1]))
    rows = np.flatnonzero(number >= 0)
    return Classes(rows, number[rows], n_labels, unlike, n_classes)


@one_blas_thread()
def nearest_alike(X: Any, number: Integers, n_neighbors: int) -> Integers:
    """The nearest other rows of the same class; X may be sparse.

    Returns
    -------
    int ndarray of shape (n, n_neighbors)
        Nearest first, then −1 where a class has fewer.
    """
    targets = np.full((X.shape[0], n_neighbors), -1, dtype=np.int64)
    order = np.argsort(number, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        k = min(n_neighbors, len(rows) - 1)
        if k == 0:
            continue
        if len(rows) <= _FEW_ROWS:
            some = X[rows]
            squared = distances(some, some) if is_sparse(X) else cdist(some, some, "sqeuclidean")
            np.fill_diagonal(squared, np.inf)
            nearest = np.argsort(squared, axis=1, kind="stable")[:, :k]
        else:
            search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X[rows])
            nearest = search.kneighbors(return_distance=False)
        targets[rows, :k] = rows[nearest]
    return targets


@dataclass(frozen=True)
class Problem:
    """What is to be pulled together and what pushed apart, but for the metric.

    Attributes
    ----------
    X : ndarray of shape (n, d)
    targets : int ndarray of shape (n, k)
        −1 where there is none.
    classes : Classes
        Of these rows.
    margin : float
        A squared distance.
    push : float
        μ, the share of impostors in the objective.
    """

    X: Floats
    targets: Integers
    classes: Classes
    margin: float
    push: float

    def target_distances(self, Z: Floats) -> Floats:
        """Squared distances to the targets, −inf where there is none."""
        squared = np.empty(self.targets.shape)

        def work(rows: slice) -> None:
            _target_rows(rows.start, rows.stop, Z, self.targets, squared)

        for_each_block(work, len(Z), _TILE[1])
        return squared

    def rivals(self, L: Floats, ahead: float = 0.0) -> tuple[Integers, Integers]:
        """All pairs of unlike rows of which one is, or nearly is, an impostor of the other.

        Parameters
        ----------
        L : ndarray of shape (q, d)
        ahead : float, default=0.0
            How much farther than its reach (margin and farthest target) to look from a row, as a
            share of that.

        Returns
        -------
        left, right : int32 ndarrays of shape (p,)
            A few pairs more are among them, as many as rounding may account for.

        Notes
        -----
        O(n² q) time, by products of tiles of rows; memory for the pairs, and for a tile.
        """
        Z = self.X @ L.T
        reach = (1 + ahead) * (self.margin + self.target_distances(Z).max(axis=1))
        norms = np.einsum("iq,iq->i", Z, Z)
        # Most products are in single precision, unless distances drown in its rounding.
        dtype: Any = np.float32
        rounding = (Z.shape[1] + 4) * np.finfo(np.float32).eps
        if rounding * norms.max() > AHEAD * self.margin:
            dtype = np.float64
            rounding = (Z.shape[1] + 4) * float(np.finfo(np.float64).eps)
        doubled, reduced = (2 * Z).astype(dtype), (norms * (1 - rounding)).astype(dtype)
        Z, reach = Z.astype(dtype), reach.astype(dtype)
        height, width = _TILE
        known = self.classes
        found: list[list[Integers]] = [[] for _ in range(-(-len(Z) // height))]
        n_found = np.zeros(len(found), dtype=np.int64)

        def work(rows: slice) -> None:
            tiles = found[rows.start // height]
            for columns in blocks(len(Z) - rows.start, width):
                start, stop = columns.start + rows.start, columns.stop + rows.start
                products = doubled[rows] @ Z[start:stop].T
                pairs = np.empty((2, products.size), dtype=np.int32)
                n_pairs = _find_rivals(
                    products,
                    rows.start,
                    start,
                    reduced,
                    reach,
                    known.number,
                    known.n_labels,
                    known.n_classes,
                    known.unlike,
                    pairs,
                )
                tiles.append(pairs[:, :n_pairs].copy())
                n_found[rows.start // height] += n_pairs
            if n_found.sum() > _MOST_RIVALS:
                raise InputError(
                    f"more than {_MOST_RIVALS:,} pairs of unlike rows are within each other's "
                    "margin. Lower n_neighbors, or fit on fewer rows."
                )

        for_each_block(work, len(Z), height)
        left, right = np.concatenate([tile for tiles in found for tile in tiles], axis=1)
        return left, right

    def objective(self, L: Floats, rivals: tuple[Integers, Integers]) -> tuple[float, Floats]:
        r"""Value and gradient, where impostors are among given pairs.

        Parameters
        ----------
        L : ndarray of shape (q, d)
        rivals : two int ndarrays of shape (p,)
            Of :meth:`rivals`. Pairs beyond the margin do no harm.

        Returns
        -------
        value : float
        gradient : ndarray of shape (q, d)

        Notes
        -----
        O((p + n k + n d) q) time. Memory: five arrays of n × q.
        """
        Z = self.X @ L.T
        squared = self.target_distances(Z)
        reach = self.margin + squared.max(axis=1)
        left, right = rivals
        n_parts = _PARTS if len(left) > _FEW_TERMS else 1
        force = np.zeros((n_parts, *Z.shape))
        active = np.zeros((n_parts, *squared.shape))
        losses = np.zeros(n_parts)
        limits = np.linspace(0, len(left), n_parts + 1).astype(np.int64)

        def work(parts: slice) -> None:
            part = parts.start
            losses[part] = _push(
                limits[part],
                limits[part + 1],
                left,
                right,
                Z,
                squared,
                reach,
                self.margin,
                force[part],
                active[part],
            )

        for_each_block(work, n_parts, 1)
        total, weight = self.push * force.sum(axis=0), self.push * active.sum(axis=0)
        weight += 1 - self.push
        _pull(Z, self.targets, weight, total)
        pulled = squared.sum(where=self.targets >= 0)
        value = (1 - self.push) * pulled + self.push * losses.sum()
        return float(value), 2 * total.T @ self.X


@compiled()
def _target_rows(start: int, stop: int, Z: Any, targets: Any, squared: Any) -> None:
    for i in range(start, stop):
        for t in range(targets.shape[1]):
            j = targets[i, t]
            squared[i, t] = squared_distance(Z, i, j) if j >= 0 else -np.inf


@compiled()
def _differ(a: int, b: int, n_labels: int, n_classes: int, unlike: Any) -> bool:
    if a == b:
        return False
    if a < n_labels and b < n_labels:
        return True
    key = a * n_classes + b
    place, stop = 0, unlike.shape[0]
    while place < stop:
        middle = (place + stop) // 2
        if unlike[middle] < key:
            place = middle + 1
        else:
            stop = middle
    return bool(place < unlike.shape[0] and unlike[place] == key)


@compiled()
def _find_rivals(
    products: Any,
    first_row: int,
    first_column: int,
    norms: Any,
    reach: Any,
    number: Any,
    n_labels: int,
    n_classes: int,
    unlike: Any,
    pairs: Any,
) -> int:
    """Write the pairs i < l of a tile that are near and unlike; their number."""
    n_pairs = 0
    for r in range(products.shape[0]):
        i = first_row + r
        for c in range(max(0, i + 1 - first_column), products.shape[1]):
            j = first_column + c
            if norms[i] + norms[j] - products[r, c] < max(reach[i], reach[j]) and _differ(
                number[i], number[j], n_labels, n_classes, unlike
            ):
                pairs[0, n_pairs] = i
                pairs[1, n_pairs] = j
                n_pairs += 1
    return n_pairs


@compiled(fastmath=REORDER)
def _push(
    start: int,
    stop: int,
    left: Any,
    right: Any,
    Z: Any,
    squared: Any,
    reach: Any,
    margin: float,
    force: Any,
    active: Any,
) -> float:
    """Sum of the hinges of some pairs, each row with the other as impostor.

    ``force`` and ``active`` receive what impostors add to Λ Z, and to the weights of targets.
    """
    total = 0.0
    for s in range(start, stop):
        i, j = left[s], right[s]
        distance = squared_distance(Z, i, j)
        if distance >= reach[i] and distance >= reach[j]:
            continue
        hinges = 0
        for end in (i, j):
            if distance < reach[end]:
                for t in range(squared.shape[1]):
                    hinge = margin + squared[end, t] - distance
                    if hinge > 0.0:
                        total += hinge
                        active[end, t] += 1.0
                        hinges += 1
        for t in range(Z.shape[1]):
            pushed = hinges * (Z[i, t] - Z[j, t])
            force[i, t] -= pushed
            force[j, t] += pushed
    return total


@compiled(fastmath=REORDER)
def _pull(Z: Any, targets: Any, weight: Any, force: Any) -> None:
    for i in range(targets.shape[0]):
        for t in range(targets.shape[1]):
            j = targets[i, t]
            if j >= 0:
                for q in range(Z.shape[1]):
                    pulled = weight[i, t] * (Z[i, q] - Z[j, q])
                    force[i, q] += pulled
                    force[j, q] -= pulled
