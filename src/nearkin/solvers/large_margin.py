r"""Large margin nearest neighbours: a linear metric for nearest-neighbour rules.

With :math:`z = L x`, squared distances :math:`d_{ij}^2 = \|z_i - z_j\|^2` and k *targets*
:math:`j \to i` of each row, the nearest rows that are known to be like it, the objective is

.. math::

    (1 - \mu) \sum_{j \to i} d_{ij}^2
    + \mu \sum_{j \to i} \sum_{l \text{ unlike } i} [m + d_{ij}^2 - d_{il}^2]_+ :

targets are pulled near, and *impostors*, rows unlike i that are not farther than a target by the
margin m, are pushed away. Each term is a weight times a squared distance, so with W the matrix of
all weights, and Λ its Laplacian, the gradient is :math:`2 (\Lambda Z)^\top X`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.optimize import minimize
from scipy.spatial.distance import cdist
from sklearn.neighbors import NearestNeighbors

from nearkin._types import Floats, Integers, Ints
from nearkin.errors import InputError
from nearkin.pairs.closure import spread_labels
from nearkin.pairs.supervision import Evidence
from nearkin.rows.parallel import REORDER, compiled, one_blas_thread, run_in_blocks, split_range
from nearkin.rows.sparse import is_sparse, sparse_distances
from nearkin.solvers.stress import squared_distance

# None of these was tuned; the first five bound time and memory only.
# Rivals at most: their list has eight bytes for each.
_MOST_RIVALS = 200_000_000
# Rows and columns of the tiles in which rivals are looked for.
_TILE = 256, 4096
# Shares of the objective that are summed apart, unless there are few terms: their number must not
# depend on the machine.
_PARTS = 4
_FEW_TERMS = 20_000
# Up to so many rows of a class, all distances at once.
_FEW_ROWS = 200
# Rivals up to this share of a row's reach beyond it are watched until the next search.
AHEAD = 0.1
# Iterations before the first new search; each later round has twice as many.
_FIRST_ROUND = 10
# Corrections that L-BFGS remembers.
_MEMORY = 20
# It ends when an iteration lowers the objective by less than this share of ``tol``.
_INNER_TOL = 1e-3
# An objective of so little for each target, in units of the margin, is nothing.
_NOTHING = 1e-9
# Rows that are mapped so near to each other, in units of the margin, are in one place.
_ONE_PLACE = 1e-4
# A way out of there is halved so often at most. Its lesser directions have this length at most, and
# what they cost is this share of what the others gain.
_SHORTER_WAYS, _LEAST_WAY, _LESSER_COST = 10, 1e-2, 0.1
# Divided by where a sum is empty.
_NEVER_ZERO = 1e-300
# The margin is at least this share of the rows' mean squared distance from their mean.
_LEAST_MARGIN = 1e-3
# Rounding of squared distances from products, in last places: for each column, and more.
_MORE_ROUNDINGS = 4


@dataclass(frozen=True)
class Classes:
    """Classes of rows of X about which something is known, and which classes differ."""

    rows: Integers
    number: Integers  # of each row's class; rows of one are alike
    n_labels: int  # classes below are labels, and differ all from one another
    unlike: Ints  # a * n_classes + b, sorted, of further classes that differ, in both orders
    n_classes: int


def find_known_classes(n_rows: int, evidence: Evidence) -> Classes:
    """Find classes of rows from labels and from components of must-links.

    A component takes the label of its rows. Without one it is a class of its own, which differs
    from those that a cannot-link joins it with. Labels outweigh links that contradict them, and
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
def find_nearest_alike(X: Any, number: Integers, n_neighbors: int) -> Integers:
    """Each row's nearest others of its class (n, n_neighbors), −1 for none; X may be sparse."""
    targets = np.full((X.shape[0], n_neighbors), -1, dtype=np.int64)
    order = np.argsort(number, kind="stable")
    for rows in np.split(order, np.flatnonzero(np.diff(number[order])) + 1):
        k = min(n_neighbors, len(rows) - 1)
        if k == 0:
            continue
        if len(rows) <= _FEW_ROWS:
            some = X[rows]
            squared = (
                sparse_distances(some, some) if is_sparse(X) else cdist(some, some, "sqeuclidean")
            )
            np.fill_diagonal(squared, np.inf)
            nearest = np.argsort(squared, axis=1, kind="stable")[:, :k]
        else:
            search = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(X[rows])
            nearest = search.kneighbors(return_distance=False)
        targets[rows, :k] = rows[nearest]
    return targets


@dataclass(frozen=True)
class MarginProblem:
    """Objective of large margin nearest neighbours for given targets (n, k), −1 for none."""

    X: Floats
    targets: Integers
    classes: Classes
    margin: float  # a squared distance
    push: float  # μ, the share of impostors in the objective

    def target_distances(self, Z: Floats) -> Floats:
        """Squared distances of rows to their targets (n, k), −inf where there is none."""
        squared = np.empty(self.targets.shape)
        run_in_blocks(
            lambda rows: _measure_targets(rows.start, rows.stop, Z, self.targets, squared),
            len(Z),
            _TILE[1],
        )
        return squared

    def find_rivals(self, L: Floats, ahead: float = 0.0) -> tuple[Integers, Integers]:
        """Find all pairs of unlike rows of which one is, or nearly is, an impostor of the other.

        Returns their row numbers as two arrays. ``ahead`` is how much farther than its reach
        (margin and farthest target) to look from a row, as a share of that. A few pairs more are
        among them, as many as rounding may account for.

        O(n² q) time, by products of tiles of rows; memory for the pairs, and for a tile.
        """
        Z = self.X @ L.T
        reach = (1 + ahead) * (self.margin + self.target_distances(Z).max(axis=1))
        norms = np.einsum("iq,iq->i", Z, Z)
        # Most products are in single precision, unless distances drown in its rounding.
        dtype: Any = np.float32
        rounding = (Z.shape[1] + _MORE_ROUNDINGS) * np.finfo(np.float32).eps
        if rounding * norms.max() > AHEAD * self.margin:
            dtype = np.float64
            rounding = (Z.shape[1] + _MORE_ROUNDINGS) * float(np.finfo(np.float64).eps)
        doubled, reduced = (2 * Z).astype(dtype), (norms * (1 - rounding)).astype(dtype)
        Z, reach = Z.astype(dtype), reach.astype(dtype)
        height, width = _TILE
        number, classes = self.classes.number, self.classes
        known = classes.n_labels, classes.unlike, classes.n_classes
        found: list[list[Integers]] = [[] for _ in range(-(-len(Z) // height))]
        n_found = np.zeros(len(found), dtype=np.int64)

        def search_tiles(rows: slice) -> None:
            tiles = found[rows.start // height]
            for columns in split_range(len(Z) - rows.start, width):
                start, stop = columns.start + rows.start, columns.stop + rows.start
                products = doubled[rows] @ Z[start:stop].T
                pairs = np.empty((2, products.size), dtype=np.int32)
                corner = rows.start, start
                n_pairs = _find_rivals(products, corner, reduced, reach, number, known, pairs)
                tiles.append(pairs[:, :n_pairs].copy())
                n_found[rows.start // height] += n_pairs
            if n_found.sum() > _MOST_RIVALS:
                raise InputError(
                    f"more than {_MOST_RIVALS:,} pairs of unlike rows are within each other's "
                    "margin. Lower n_neighbors, or fit on fewer rows."
                )

        run_in_blocks(search_tiles, len(Z), height)
        left, right = np.concatenate([tile for tiles in found for tile in tiles], axis=1)
        return left, right

    def objective(self, L: Floats, rivals: tuple[Integers, Integers]) -> tuple[float, Floats]:
        """Value and gradient (q, d) at L, with impostors among the pairs of :meth:`find_rivals`.

        O((p + n k + n d) q) time for p pairs. Memory: five arrays of n × q.
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
        terms = Z, squared, reach, self.margin

        def push_part(parts: slice) -> None:
            part = parts.start
            some = slice(limits[part], limits[part + 1])
            pushed = force[part], active[part]
            losses[part] = _add_pushes(left[some], right[some], *terms, *pushed)

        run_in_blocks(push_part, n_parts, 1)
        total, weight = self.push * force.sum(axis=0), self.push * active.sum(axis=0)
        weight += 1 - self.push
        _add_pulls(Z, self.targets, weight, total)
        pulled = squared.sum(where=self.targets >= 0)
        value = (1 - self.push) * pulled + self.push * losses.sum()
        return float(value), 2 * total.T @ self.X


@compiled()
def _measure_targets(start: int, stop: int, Z: Any, targets: Any, squared: Any) -> None:
    """Write squared distances to the targets of rows ``start`` to ``stop``."""
    for i in range(start, stop):
        for t in range(targets.shape[1]):
            j = targets[i, t]
            squared[i, t] = squared_distance(Z, i, j) if j >= 0 else -np.inf


@compiled()
def _are_classes_different(a: int, b: int, n_labels: int, unlike: Any, n_classes: int) -> bool:
    """Whether two classes are known to differ, by :class:`Classes`."""
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
    products: Any, corner: Any, norms: Any, reach: Any, number: Any, known: Any, pairs: Any
) -> int:
    """Write the pairs i < l of a tile that are unlike and near; return their number."""
    first_row, first_column = corner
    n_pairs = 0
    for r in range(products.shape[0]):
        i = first_row + r
        for c in range(max(0, i + 1 - first_column), products.shape[1]):
            j = first_column + c
            is_near = norms[i] + norms[j] - products[r, c] < max(reach[i], reach[j])
            if is_near and _are_classes_different(number[i], number[j], *known):
                pairs[0, n_pairs] = i
                pairs[1, n_pairs] = j
                n_pairs += 1
    return n_pairs


@compiled(fastmath=REORDER)
def _add_pushes(
    left: Any, right: Any, Z: Any, squared: Any, reach: Any, margin: float, force: Any, active: Any
) -> float:
    """Return the sum of hinges of some pairs, each row being the other's possible impostor.

    ``force`` and ``active`` receive what impostors add to Λ Z, and to the weights of targets.
    """
    total = 0.0
    for s in range(len(left)):
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
def _add_pulls(Z: Any, targets: Any, weight: Any, force: Any) -> None:
    """Add the pull of targets to the force on each row."""
    for i in range(targets.shape[0]):
        for t in range(targets.shape[1]):
            j = targets[i, t]
            if j >= 0:
                for q in range(Z.shape[1]):
                    pulled = weight[i, t] * (Z[i, q] - Z[j, q])
                    force[i, q] += pulled
                    force[j, q] -= pulled


@dataclass(frozen=True)
class Solution:
    """Result of :func:`minimize_margin_objective`; the objective is at first and after rounds."""

    L: Floats
    objective: list[float]
    n_iter: int
    converged: bool


def minimize_margin_objective(
    problem: MarginProblem, L: Floats, *, max_iter: int, tol: float
) -> Solution:
    """Minimise the objective for given targets, from L on, by rounds of L-BFGS.

    Each round looks for all rivals, then runs L-BFGS on these, for ``max_iter`` iterations in all.
    If new rivals come near meanwhile, with which the objective is not lower after all, the round is
    run again with those added. A round that lowers the objective by no more than the share ``tol``
    is the last.

    Where all rows come into one place the gradient vanishes, whatever lies around it: if the
    objective falls along some metric from there, it goes on from that.
    """
    shape = L.shape
    n_terms = int((problem.targets >= 0).sum())

    def mean_objective(flat: Any, left: Any, right: Any) -> tuple[float, Any]:
        value, gradient = problem.objective(flat.reshape(shape), (left, right))
        return value / n_terms, gradient.ravel() / n_terms

    rivals = problem.find_rivals(L, AHEAD)
    history = [problem.objective(L, rivals)[0]]
    nothing = _NOTHING * problem.margin * n_terms
    length, n_iter, converged = _FIRST_ROUND, 0, history[0] <= nothing
    left_one_place = False
    options: Any = {"maxcor": _MEMORY, "ftol": _INNER_TOL * tol, "gtol": 0.0}
    while n_iter < max_iter and not converged:
        options["maxiter"] = min(length, max_iter - n_iter)
        start = L.ravel().astype(np.float64)
        result = minimize(
            mean_objective, start, args=rivals, jac=True, method="L-BFGS-B", options=options
        )
        n_iter += max(1, int(result.nit))
        tried = result.x.reshape(shape)
        found = problem.find_rivals(tried, AHEAD)
        value, _ = problem.objective(tried, found)
        if value > history[-1]:
            n_watched = len(rivals[0])
            n = len(problem.X)
            keys = np.union1d(*(i.astype(np.int64) * n + j for i, j in (rivals, found)))
            rivals = (keys // n).astype(np.int32), (keys % n).astype(np.int32)
            converged = len(rivals[0]) == n_watched  # nothing but rounding is left
            continue
        converged = history[-1] - value <= tol * history[-1] or value <= nothing
        history.append(value)
        L, rivals = tried, found
        length *= 2
        if converged and not left_one_place and _is_one_place(problem, L):
            left_one_place, way = True, _find_way_out(problem, L, rivals, history[-1])
            if way is not None:
                L, converged, length = way, False, _FIRST_ROUND
                rivals = problem.find_rivals(L, AHEAD)
                history.append(problem.objective(L, rivals)[0])
    return Solution(L, history, n_iter, converged)


def _is_one_place(problem: MarginProblem, L: Floats) -> bool:
    """Whether all rows are mapped into one place, up to a small share of the margin."""
    Z = problem.X @ L.T
    return float(((Z - Z[0]) ** 2).sum(axis=1).max()) <= _ONE_PLACE * problem.margin


def _find_way_out(
    problem: MarginProblem, L: Floats, rivals: tuple[Integers, Integers], value: float
) -> Floats | None:
    """Find a map with a lower objective than where all rows are in one place, or None.

    There it is linear in the metric, with the slope G: it falls along the eigenvectors of G whose
    eigenvalues are negative. The others are there a little, so that they may grow.
    """
    d = L.shape[1]
    tiny = float(np.sqrt(_ONE_PLACE / max(1.0, float((problem.X**2).sum(axis=1).max()))))
    slope = problem.objective(tiny * np.eye(d), rivals)[1] / (2 * tiny)
    values, vectors = np.linalg.eigh((slope + slope.T) / 2)
    if values[0] >= -_NOTHING * np.abs(values).max():
        return None
    least = min(
        _LEAST_WAY,
        np.sqrt(_LESSER_COST * -values[0] / np.maximum(values, 0).sum(initial=_NEVER_ZERO)),
    )
    lengths = np.maximum(np.sqrt(np.maximum(-values, 0) / -values[0]), least)
    way = np.zeros_like(L, dtype=np.float64)
    way[: min(L.shape)] = (lengths[:, None] * vectors.T)[: len(L)]
    for _ in range(_SHORTER_WAYS):
        if problem.objective(way, problem.find_rivals(way, AHEAD))[0] < value:
            return way
        way /= 2
    return None


def learn_large_margin_metric(
    X: Floats,
    classes: Classes,
    L: Floats,
    *,
    n_neighbors: int,
    push: float,
    n_passes: int,
    max_iter: int,
    tol: float,
) -> tuple[Solution, float]:
    """Minimise the objective over the metric and, in passes after the first, over the targets.

    With targets that are nearest in the metric learned so far no term of the objective is larger
    than with the earlier ones: it does not rise between passes either. Returns the solution, and
    the margin, which is the unit of the objective: 0 if all rows coincide, where L is unchanged.
    """
    targets = find_nearest_alike(X, classes.number, n_neighbors)
    margin = _mean_target_distance(X, targets)
    if margin == 0:
        return Solution(L, [0.0], 0, True), margin
    X = X / np.sqrt(margin)  # so that the scale of X does not matter
    solution = Solution(L, [], 0, True)
    # Products are small: threads would gain little, and lose much where cores are shared.
    with one_blas_thread():
        for turn in range(n_passes):
            if turn > 0:
                previous, L = targets, solution.L
                targets = find_nearest_alike(X @ L.T, classes.number, n_neighbors)
                if np.array_equal(targets, previous):
                    break
            left = max_iter - solution.n_iter
            problem = MarginProblem(X, targets, classes, 1.0, push)
            found = minimize_margin_objective(problem, solution.L, max_iter=left, tol=tol)
            history = solution.objective
            if turn > 0 and found.objective[0] > history[-1]:  # by rounding, among ties
                break
            solution = Solution(
                found.L, history + found.objective, solution.n_iter + found.n_iter, found.converged
            )
            if not found.converged:
                break
    return solution, margin


def _mean_target_distance(X: Floats, targets: Integers) -> float:
    """Mean squared distance of targets, at least a small share of the rows' variance."""
    total = 0.0
    for column in targets.T:
        rows = np.flatnonzero(column >= 0)
        total += float(((X[rows] - X[column[rows]]) ** 2).sum())
    variance = float((X**2).sum()) / len(X)
    return max(total / float((targets >= 0).sum()), _LEAST_MARGIN * variance)
