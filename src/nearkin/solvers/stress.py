"""Stress majorisation: points between springs of pairs, neighbours and triplets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse.csgraph import connected_components, dijkstra, reverse_cuthill_mckee

from nearkin._types import Floats, Integers, Ints, Mask
from nearkin.rows.distances import linked_distances
from nearkin.rows.parallel import REORDER, compiled, run_in_blocks

# Points whose springs are pulled, and multiplied, at a time. Chosen by hand, by time.
_BLOCK, _PRODUCT_BLOCK = 512, 2048
# A squared length taken from inner products keeps ten digits above this share of them.
_CANCELLED = 1e-6
# Up to so many points P is factored; beyond, conjugate gradients are faster. Chosen by hand.
_FACTORED_POINTS = 3000
# Inertia of a point, relative to the mean weight of the springs at a point: P is singular without,
# by little enough that the stress falls to ten digits where it would.
_INERTIA = 1e-10
# Inertia of a coefficient of `relax_along`, relative to the mean weight of the springs it moves.
# Chosen by hand, above rounding where Gaussians overlap.
_INERTIA_ALONG = 1e-6
# Conjugate gradients, roughly, end at this share of Q(Y) Y or so many steps. Chosen by hand.
_RESIDUAL = 1e-4
_MOST_GRADIENTS = 1000
# Groups of points that the preconditioner moves as one: one for so many points, up to a number of
# them that is factored in a fraction of a second. The ridge keeps their system positive. Chosen by
# hand: steps at 100 000 points fell from 370 to 35.
_POINTS_PER_GROUP, _MOST_GROUPS, _GROUP_RIDGE = 100, 1000, 1e-10
# As for the published weights: a direction without any spread counts as this share of the mean.
_NO_SPREAD, _LEAST_SPREAD = 1e-12, 1e-6


# ---- Springs, whose length is the number of points, with or without springs


@dataclass(frozen=True)
class Springs:
    """A few springs at each of n points, each stored with both its ends, row by row."""

    starts: Ints  # springs of point i are at positions starts[i] to starts[i + 1]
    others: NDArray[np.int32]  # their other ends
    weight: Floats
    rest: Floats
    strut: Mask  # which only push

    def __len__(self) -> int:
        return len(self.starts) - 1

    @property
    def degree(self) -> Floats:
        """Sum of the spring weights at each point (n,)."""
        return np.asarray(self.weight_matrix().sum(axis=1), dtype=np.float64).ravel()

    def weight_matrix(self) -> Any:
        """The weights as a sparse symmetric matrix (n, n)."""
        shape = (len(self), len(self))
        return sp.csr_array((self.weight, self.others, self.starts), shape=shape)

    def pull(self, Y: Floats) -> tuple[Any, float]:
        """Weights of the majorising Laplacian Q(Y), one for each spring end, and the stress."""
        pull = np.empty(len(self.others))
        parts = np.zeros(-(-len(self) // _BLOCK))
        springs = (self.starts, self.others, self.weight, self.rest, self.strut)

        def pull_block(rows: slice) -> None:
            parts[rows.start // _BLOCK] = _pull_rows(rows.start, rows.stop, springs, Y, pull)

        run_in_blocks(pull_block, len(self), _BLOCK)
        return pull, float(parts.sum()) / 2  # each spring was met at both ends

    def force(self, pull: Floats, Y: Floats) -> Floats:
        """Force ``Q(Y) Y − P Y`` (n, q) on the points: exactly zero where all coincide."""
        return self._laplacian_times(pull - self.weight, Y)

    def times(self, Y: Floats) -> Floats:
        """Product ``P Y`` (n, q) of the Laplacian of the spring weights with points."""
        return self._laplacian_times(self.weight, Y)

    def laplacian(self) -> Floats:
        """Laplacian P of the spring weights as a dense matrix (n, n)."""
        return np.asarray(np.diag(self.degree) - self.weight_matrix().toarray())

    def reorder(self, order: Integers) -> Springs:
        """Return the same springs with point ``order[i]`` as the i-th."""
        counts = np.diff(self.starts)[order]
        starts = np.concatenate([[0], np.cumsum(counts)])
        source = np.repeat(self.starts[:-1][order] - starts[:-1], counts) + np.arange(starts[-1])
        place = np.argsort(order).astype(np.int32)
        kept = self.weight[source], self.rest[source], self.strut[source]
        return Springs(starts, place[self.others[source]], *kept)

    def _laplacian_times(self, weight: Floats, Y: Floats) -> Floats:
        """Product of the Laplacian of these spring weights with points (n, q)."""
        out = np.empty_like(Y)
        parts = self.starts, self.others, weight, Y, out
        run_in_blocks(
            lambda rows: _laplacian_rows(rows.start, rows.stop, *parts), len(self), _PRODUCT_BLOCK
        )
        return out


@dataclass(frozen=True)
class CompleteSprings:
    """Springs between all points, and some more between a few of them: must-links, cannot-links.

    ``weight`` and ``rest`` (n, n) are symmetric, with a diagonal of zeros. O(n² q) time for each
    operation, most of it in products of matrices; n² numbers at a time.
    """

    weight: Floats
    rest: Floats
    links: Springs

    def __len__(self) -> int:
        return len(self.weight)

    @property
    def degree(self) -> Floats:
        """Sum of the spring weights at each point (n,)."""
        return np.asarray(self.weight.sum(axis=1) + self.links.degree)

    def pull(self, Y: Floats) -> tuple[Any, float]:
        """Weights of Q(Y) less those of P (n, n), weights of Q(Y) for the links, and the stress."""
        of_links, stress_of_links = self.links.pull(Y)
        excess, squared_norms = inner_products(Y)
        springs = self.weight, self.rest, Y, squared_norms, excess
        parts = np.zeros(-(-len(self) // _BLOCK))

        def pull_block(rows: slice) -> None:
            parts[rows.start // _BLOCK] = _complete_pull_rows(rows.start, rows.stop, *springs)

        run_in_blocks(pull_block, len(self), _BLOCK)
        return (excess, of_links), float(parts.sum()) / 2 + stress_of_links

    def force(self, pull: tuple[Floats, Floats], Y: Floats) -> Floats:
        """Force ``Q(Y) Y − P Y`` (n, q) on the points, given what ``pull(Y)`` returned."""
        return _laplacian_times(pull[0], Y) + self.links.force(pull[1], Y)

    def times(self, Y: Floats) -> Floats:
        """Product ``P Y`` (n, q) of the Laplacian of the spring weights with points."""
        return _laplacian_times(self.weight, Y) + self.links.times(Y)

    def laplacian(self) -> Floats:
        """Laplacian P of the spring weights as a dense matrix (n, n)."""
        laplacian = -self.weight
        rows = np.repeat(np.arange(len(self)), np.diff(self.links.starts))
        np.subtract.at(laplacian, (rows, self.links.others), self.links.weight)
        laplacian.flat[:: len(self) + 1] += self.degree
        return laplacian


def join_springs(
    n_points: int, ends: Integers, weight: Floats, rest: Floats, strut: Mask
) -> Springs:
    """Build springs from ends (e, 2), weights and rest lengths; ``strut`` marks those that push."""
    first = np.concatenate([ends[:, 0], ends[:, 1]])
    order = np.argsort(first, kind="stable")
    starts = np.concatenate([[0], np.cumsum(np.bincount(first, minlength=n_points))])
    others = np.concatenate([ends[:, 1], ends[:, 0]])[order]

    def at_both_ends(values: Any, dtype: Any = np.float64) -> Any:
        return np.tile(np.asarray(values, dtype=dtype), 2)[order]

    ends_of = starts.astype(np.int64), others.astype(np.int32)
    return Springs(*ends_of, at_both_ends(weight), at_both_ends(rest), at_both_ends(strut, bool))


def inner_products(Y: Floats) -> tuple[Floats, Floats]:
    """``Y Yᵀ`` (n, n) of centred points, and its diagonal (n,)."""
    Y = Y - Y.mean(axis=0)
    product = Y @ Y.T
    return product, product.diagonal().copy()


def all_squared_distances(Y: Floats) -> Floats:
    """Squared distances between all points (n, n): exactly zero where they coincide.

    From inner products, but for those that are small beside them, which cancellation would spoil.
    """
    squared, squared_norms = inner_products(Y)
    parts = Y, squared_norms, squared
    run_in_blocks(lambda rows: _squared_rows(rows.start, rows.stop, *parts), len(Y), _BLOCK)
    return squared


def _laplacian_times(weight: Floats, Y: Floats) -> Floats:
    """Product of the Laplacian of a dense weight matrix with points (n, q)."""
    Y = Y - Y[0]  # exact zeros where all points coincide
    return np.asarray(weight.sum(axis=1)[:, None] * Y - weight @ Y)


@compiled(fastmath=REORDER)
def squared_distance(Y: Any, i: int, j: int) -> float:
    """Squared distance of two rows of Y, for compiled loops."""
    squared = 0.0
    for t in range(Y.shape[1]):
        difference = Y[i, t] - Y[j, t]
        squared += difference * difference
    return squared


@compiled(fastmath=REORDER)
def _squared_rows(start: int, stop: int, Y: Any, squared_norms: Any, products: Any) -> None:
    """Turn inner products into squared distances, in place."""
    for i in range(start, stop):
        row, own, cancelled = products[i], squared_norms[i], 0
        for j in range(len(row)):  # without a branch, so that several are done at a time
            both = own + squared_norms[j]
            row[j] = both - 2.0 * row[j]
            cancelled += row[j] < _CANCELLED * both
        if cancelled > 1:  # a point with itself always is
            for j in range(len(row)):
                if row[j] < _CANCELLED * (own + squared_norms[j]):
                    row[j] = squared_distance(Y, i, j)
        row[i] = 0.0


@compiled(fastmath=REORDER)
def _complete_pull_rows(
    start: int, stop: int, weight: Any, rest: Any, Y: Any, squared_norms: Any, products: Any
) -> float:
    """Turn inner products into weights of Q(Y) less those of P; return the rows' stress."""
    _squared_rows(start, stop, Y, squared_norms, products)
    total = 0.0
    for i in range(start, stop):
        row, held, wanted = products[i], weight[i], rest[i]
        for j in range(len(row)):
            length = np.sqrt(row[j])
            ratio = wanted[j] / length if length > 0.0 else 0.0
            row[j] = held[j] * (ratio - 1.0)
            total += held[j] * (length - wanted[j]) ** 2
    return total


@compiled()
def _pull_rows(start: int, stop: int, springs: Any, Y: Any, pull: Any) -> float:
    """Write weights of Q(Y) for springs of some rows; return their stress, counted at both ends."""
    starts, others, weight, rest, strut = springs
    total = 0.0
    for i in range(start, stop):
        for s in range(starts[i], starts[i + 1]):
            length = np.sqrt(squared_distance(Y, i, others[s]))
            wanted = max(rest[s], length) if strut[s] else rest[s]
            pull[s] = weight[s] * wanted / length if length > 0.0 else 0.0
            total += weight[s] * (length - wanted) ** 2
    return total


@compiled(fastmath=REORDER)
def _laplacian_rows(
    start: int, stop: int, starts: Any, others: Any, weight: Any, Y: Any, out: Any
) -> None:
    # Copies of two rows, which no other array overlaps: the innermost loop takes many at a time.
    """Write rows of the product of a Laplacian with points."""
    own, total = np.empty(Y.shape[1]), np.empty(Y.shape[1])
    for i in range(start, stop):
        own[:], total[:] = Y[i], 0.0
        for s in range(starts[i], starts[i + 1]):
            w, other = weight[s], Y[others[s]]
            for t in range(len(total)):
                total[t] += w * (own[t] - other[t])
        out[i] = total


# ---- Triplets


def ordered_lengths(near: Floats, far: Floats, margin: float) -> tuple[Floats, Floats]:
    """Lengths nearest to given ones such that each far one exceeds its near one by the margin."""
    miss = np.maximum(near - far + margin, 0)
    short = np.maximum(near - miss / 2, 0)
    return short, np.where(miss > 0, np.maximum(short + margin, far), far)


@dataclass(frozen=True)
class OrderedSprings:
    """Springs, and triplets (t, 3) with ``strength``: a is nearer to b than c by the margin."""

    springs: AnySprings
    triplets: Integers
    strength: Floats
    margin: float

    def __len__(self) -> int:
        return len(self.springs)

    @property
    def degree(self) -> Floats:
        """Sum of the spring weights at each point (n,)."""
        return np.asarray(self.springs.degree + self._triplet_weights().sum(axis=1))

    def weight_matrix(self) -> Any:
        """The weights as a sparse symmetric matrix, of springs stored one by one."""
        assert isinstance(self.springs, Springs)
        return sp.csr_array(self.springs.weight_matrix() + self._triplet_weights())

    def pull(self, Y: Floats) -> tuple[Any, float]:
        """Weights of the majorising Laplacian Q(Y), those of triplets apart, and the stress."""
        others, stress = self.springs.pull(Y)
        lengths = linked_distances(Y, self._ends)
        near, far = np.split(lengths, 2)
        wanted = np.concatenate(ordered_lengths(near, far, self.margin))
        pull = np.divide(wanted, lengths, out=np.zeros_like(lengths), where=lengths > 0)
        weight = np.tile(self.strength, 2)
        return (others, weight * pull), stress + float(weight @ (lengths - wanted) ** 2)

    def force(self, pull: tuple[Any, Floats], Y: Floats) -> Floats:
        """Force ``Q(Y) Y − P Y`` (n, q) on the points, given what ``pull(Y)`` returned."""
        excess = pull[1] - np.tile(self.strength, 2)
        return self.springs.force(pull[0], Y) + self._laplacian_times(excess, Y)

    def times(self, Y: Floats) -> Floats:
        """Product ``P Y`` (n, q) of the Laplacian of the spring weights with points."""
        return self.springs.times(Y) + self._laplacian_times(np.tile(self.strength, 2), Y)

    def laplacian(self) -> Floats:
        """Laplacian P of the spring weights as a dense matrix (n, n)."""
        own = self._triplet_weights()
        laplacian = self.springs.laplacian() - own.toarray()
        laplacian.flat[:: len(self) + 1] += own.sum(axis=1)
        return np.asarray(laplacian)

    def reorder(self, order: Integers) -> OrderedSprings:
        """Return the same springs with point ``order[i]`` as the i-th; not of complete springs."""
        assert isinstance(self.springs, Springs)
        triplets = np.argsort(order)[self.triplets]
        return replace(self, springs=self.springs.reorder(order), triplets=triplets)

    @property
    def _ends(self) -> Integers:
        """Ends (2 t, 2) of the springs to all nearer points, then to all farther ones."""
        return np.concatenate([self.triplets[:, [0, 1]], self.triplets[:, [0, 2]]])

    def _triplet_weights(self) -> Any:
        """The weights of the triplets' springs as a sparse symmetric matrix (n, n)."""
        i, j = self._ends.T
        rows, columns = np.concatenate([i, j]), np.concatenate([j, i])
        weights = np.tile(self.strength, 2 * 2)  # two springs with two ends each
        return sp.csr_array((weights, (rows, columns)), shape=(len(self), len(self)))

    def _laplacian_times(self, weight: Floats, Y: Floats) -> Floats:
        """Product of the Laplacian of these triplet weights with points (n, q)."""
        i, j = self._ends.T
        moved = weight[:, None] * (Y[i] - Y[j])
        out = np.zeros_like(Y)
        np.add.at(out, i, moved)
        np.subtract.at(out, j, moved)
        return out


AnySprings: TypeAlias = Springs | CompleteSprings | OrderedSprings


# ---- Majorisation


@dataclass(frozen=True)
class Relaxed:
    """Result of :func:`relax` and its like: the configuration Y (n, q), and the stress."""

    Y: Floats
    stress: list[float]  # before the first step and after each
    converged: bool  # whether the last step lowered it by no more than the share tol
    coefficients: Any = None  # B (m, q) of relax_along
    gains: Any = None  # of directions (q,), of relax_jointly


def relax(springs: AnySprings, Y: Floats, *, n_iter: int, tol: float = 0.0) -> Relaxed:
    """Minimise the stress of points by majorisation, from Y (n, q).

    At most ``n_iter`` steps; it stops before that when a step lowers the stress by no more than the
    share ``tol``.

    A step takes O(e q) time for e springs, and O(n² q) or some tens of times O(e q) for the
    solution, by factorisation (n³/3 operations once) or by conjugate gradients. Memory: a few
    arrays of n × q, one number for each spring end, and n² numbers where P is factored.
    """
    order: Integers = np.arange(len(springs))
    plain = springs.springs if isinstance(springs, OrderedSprings) else springs
    if isinstance(plain, Springs) and len(springs) > _FACTORED_POINTS:
        assert isinstance(springs, Springs | OrderedSprings)
        # Joined points that lie close together in memory are read several times as fast.
        order = reverse_cuthill_mckee(springs.weight_matrix(), symmetric_mode=True)
        springs = springs.reorder(order)
        displacement = _solve_by_gradients(springs)
    else:
        displacement = _solve_by_factorisation(springs)

    def step(pull: Any, Y: Floats) -> Floats:
        return np.asarray(Y + displacement(springs.force(pull, Y), Y))

    start = np.ascontiguousarray(Y[order], dtype=np.float64)
    relaxed = _descend(springs, start, step, n_iter, tol)
    return replace(relaxed, Y=relaxed.Y[np.argsort(order)])


def relax_along(
    springs: AnySprings, X: Floats, basis: Floats, *, n_iter: int, tol: float = 0.0
) -> Relaxed:
    """Minimise the stress over configurations ``Y = X + basis @ B``, by steps as in :func:`relax`.

    Column j of the basis (n, m) says how far points move with coefficient j; B is returned too.

    O(e m + n m² + m³) time once, O(e q + n m q + m² q) a step; memory as of ``basis``, and m².
    """
    X = np.ascontiguousarray(X, dtype=np.float64)
    basis = np.ascontiguousarray(basis, dtype=np.float64)
    system = basis.T @ springs.times(basis)
    system = (system + system.T) / 2
    # Not relative to the system itself: where all points move alike that is rounding only.
    moved = float(springs.degree @ (basis**2).mean(axis=1))
    inertia = _INERTIA_ALONG * (moved or 1.0)
    system.flat[:: len(system) + 1] += inertia
    factor = cho_factor(system, overwrite_a=True)

    B = np.zeros((basis.shape[1], X.shape[1]))

    def step(pull: Any, Y: Floats) -> Floats:
        nonlocal B
        # With the part of B moved to the right, inertia needs no term of its own.
        B = B + cho_solve(factor, basis.T @ springs.force(pull, Y))
        return np.asarray(X + basis @ B)

    relaxed = _descend(springs, X, step, n_iter, tol)
    return replace(relaxed, coefficients=B)


def _descend(
    springs: AnySprings, Y: Floats, step: Callable[[Any, Floats], Floats], n_iter: int, tol: float
) -> Relaxed:
    """Repeat ``step(pull, Y)`` until the stress falls no more, or ``n_iter`` times."""
    pull, value = springs.pull(Y)
    history, converged = [value], False
    while len(history) <= n_iter and not converged:
        Y = step(pull, Y)
        pull, value = springs.pull(Y)
        converged = history[-1] - value <= tol * history[-1]
        history.append(value)
    return Relaxed(Y, history, converged)


def stress(springs: AnySprings, Y: Floats) -> float:
    """Stress J of the configuration Y (n, q)."""
    return springs.pull(np.ascontiguousarray(Y, dtype=np.float64))[1]


Displacement = Callable[[Floats, Floats], Floats]


def _solve_by_factorisation(springs: AnySprings) -> Displacement:
    """Return ``displacement(force, Y)``, which solves with one Cholesky factorisation of P."""
    system = springs.laplacian()
    component = _number_components(system)
    inertia = _choose_inertia(springs)
    system.flat[:: len(system) + 1] += inertia
    factor = cho_factor(system, overwrite_a=True, check_finite=False)

    def displacement(force: Floats, Y: Floats) -> Floats:
        moved = cho_solve(factor, force, check_finite=False)
        return _keep_centres(moved, component)

    return displacement


def _solve_by_gradients(springs: Springs | OrderedSprings) -> Displacement:
    """Return ``displacement(force, Y)``, which solves by preconditioned conjugate gradients.

    Groups of points that are joined well among themselves and badly to others slow gradients down.
    So the preconditioner adds to the diagonal a small dense system where each group is one.
    """
    weights = springs.weight_matrix()
    _, component = connected_components(weights, directed=False)
    inertia = _choose_inertia(springs)
    diagonal = springs.degree + inertia
    group = _group_points(weights)
    n_groups = int(group.max()) + 1
    gather = sp.csr_array((np.ones(len(group)), (group, np.arange(len(group)))))
    coarse = (gather @ (sp.diags_array(diagonal) - weights) @ gather.T).toarray()
    coarse.flat[:: n_groups + 1] *= 1 + _GROUP_RIDGE
    factor = cho_factor(coarse, overwrite_a=True)

    def times(D: Floats) -> Floats:
        return springs.times(D) + inertia * D

    def precondition(R: Floats) -> Floats:
        return np.asarray(R / diagonal[:, None] + cho_solve(factor, gather @ R)[group])

    def displacement(force: Floats, Y: Floats) -> Floats:
        goal = _RESIDUAL * np.linalg.norm(force + springs.times(Y), axis=0)
        moved = _conjugate_gradients(times, precondition, force, goal)
        return _keep_centres(moved, component)

    return displacement


def _choose_inertia(springs: AnySprings) -> float:
    """Small weight to add to the diagonal of P, which is singular without."""
    return _INERTIA * (float(springs.degree.mean()) or 1.0)


def _number_components(laplacian: Floats) -> Integers:
    """Component number of each point in the graph of a dense Laplacian."""
    component = np.full(len(laplacian), -1)
    for point in range(len(laplacian)):
        if component[point] < 0:
            number = int(component.max()) + 1
            front = np.array([point])
            while len(front):
                component[front] = number
                front = np.flatnonzero((laplacian[front] != 0).any(axis=0) & (component < 0))
    return component


def _keep_centres(moved: Floats, component: Integers) -> Floats:
    """Correct displacements so that the centre of every component stays, in spite of rounding."""
    if component.max() == 0:
        return np.asarray(moved - moved.mean(axis=0))
    gather = sp.csr_array((np.ones(len(moved)), (component, np.arange(len(moved)))))
    return np.asarray(moved - ((gather @ moved) / np.bincount(component)[:, None])[component])


def _group_points(weights: Any) -> Integers:
    """Group number of each point by nearest random point along strong springs; the rest are one."""
    n = weights.shape[0]
    n_groups = max(1, min(n // _POINTS_PER_GROUP, _MOST_GROUPS))
    chosen = np.sort(np.random.default_rng(0).choice(n, n_groups, replace=False))
    # SciPy's older versions take 32-bit numbers only, and the same kind for both.
    places = weights.indices.astype(np.int32), weights.indptr.astype(np.int32)
    ways = sp.csr_array((1 / weights.data, *places), shape=weights.shape)
    *_, nearest = dijkstra(ways, indices=chosen, min_only=True, return_predecessors=True)
    group = np.where(nearest >= 0, np.searchsorted(chosen, nearest), n_groups)
    return np.asarray(np.unique(group, return_inverse=True)[1].ravel())


def _conjugate_gradients(
    times: Callable[[Floats], Floats],
    precondition: Callable[[Floats], Floats],
    B: Floats,
    goal: Floats,
) -> Floats:
    """Solve for all columns of B at once by conjugate gradients, to the residual norms ``goal``.

    Each column has its own step lengths. SciPy's solver takes one column at a time, which would
    read the springs q times over. A rough solution does: every step from the start lowers the
    majorising function, so descent holds.
    """
    Z = np.zeros_like(B)
    R = B.copy()
    S = precondition(R)
    D = S.copy()
    rho = (R * S).sum(axis=0)
    for _ in range(_MOST_GRADIENTS):
        if (np.linalg.norm(R, axis=0) <= goal).all():
            break
        AD = times(D)
        curvature = (D * AD).sum(axis=0)
        step = np.divide(rho, curvature, out=np.zeros_like(rho), where=curvature > 0)
        Z += step * D
        R -= step * AD
        S = precondition(R)
        previous, rho = rho, (R * S).sum(axis=0)
        D = S + np.divide(rho, previous, out=np.zeros_like(rho), where=previous > 0) * D
    return Z


# ---- Points and weights of directions together


class _HeldDistances:
    """The springs that hold distances, apart from those of pairs and triplets."""

    def __init__(self, springs: AnySprings) -> None:
        self._order = springs if isinstance(springs, OrderedSprings) else None
        plain = springs.springs if isinstance(springs, OrderedSprings) else springs
        assert not isinstance(plain, OrderedSprings)
        self._springs, self.weight = plain, plain.weight
        if isinstance(plain, Springs):
            self._held = ~plain.strut & (plain.rest > 0)
            first = np.repeat(np.arange(len(plain)), np.diff(plain.starts))
            self._ends = np.column_stack([first, plain.others])[self._held]
            self.weight = plain.weight[self._held]

    def distances(self, Y: Floats) -> Floats:
        """Distances under Y between the ends of each spring of the window."""
        if isinstance(self._springs, Springs):
            return linked_distances(Y, self._ends)
        return np.asarray(np.sqrt(all_squared_distances(Y)))

    def replace_rest_lengths(self, distances: Floats) -> AnySprings:
        """Return all springs, those of the window with these rest lengths."""
        if isinstance(self._springs, Springs):
            rest = self._springs.rest.copy()
            rest[self._held] = distances
            distances = rest
        found = replace(self._springs, rest=distances)
        return found if self._order is None else replace(self._order, springs=found)

    def spread(self, weight: Floats, F: Floats) -> Floats:
        """Weighted squared differences between springs' ends, summed along each direction (q,)."""
        W: Any = weight
        if isinstance(self._springs, Springs):
            W = sp.csr_array((weight, self._ends.T), shape=(len(F), len(F)))
        F = F - F.mean(axis=0)
        degree = np.asarray(W.sum(axis=1)).ravel()
        return np.asarray(degree @ F**2 - (F * (W @ F)).sum(axis=0))


def best_gains(
    must: Floats, held: Floats, kept: Floats, scale: Floats, total: float, gains: Floats
) -> Floats:
    r"""Find gains that lower J for fixed points, by minimising a majorising function.

    By Cauchy and Schwarz :math:`-d_g \le -\sum_r g_r g^0_r \delta_r^2 / d_{g^0}`, so that the least
    of :math:`\sum_r (D_r + G_r) g_r^2 - 2 g_r g^0_r H_r` at a fixed sum is no higher.

    All are (q,): ``must`` is D, the spread of must-links along each direction; ``held`` and
    ``kept`` G and H, that of the window, and with weights times :math:`d_Y / d_{g^0}`; ``gains``
    :math:`g^0`, those before. ``total`` is the sum of gains times ``scale``.
    """
    if not scale.any():  # all rows coincide
        return gains
    curvature, pull = must + held, gains * kept
    empty = curvature <= _NO_SPREAD * curvature.max(initial=0.0)
    curvature = np.where(empty, _LEAST_SPREAD * curvature.mean() or 1.0, curvature)
    price = (total - (scale * pull / curvature).sum()) / (scale**2 / curvature).sum()
    return np.asarray((pull + price * scale) / curvature)


def relax_jointly(
    springs: AnySprings, F: Floats, must: Floats, scale: Floats, *, n_iter: int, tol: float = 0.0
) -> Relaxed:
    """Move points and re-weight directions in turn; J never rises.

    The springs of pairs and of the window are at rest in F (n, q), where rows start, along
    directions. ``must`` (q,) are weighted squared differences of must-linked rows, summed along
    each direction, and ``scale`` the weights of directions in F: their sum is kept. ``n_iter``
    bounds the steps of each kind; it stops before that when a step lowers J, returned as the
    stress, by no more than the share ``tol``.
    """
    window = _HeldDistances(springs)
    held = window.spread(window.weight, F)
    Y, length = F, window.distances(F)
    gains: Floats = np.ones(F.shape[1])
    total = float(scale.sum())

    def objective(springs: AnySprings) -> float:
        return stress(springs, Y) + float(must @ gains**2)

    history, converged = [objective(springs)], False
    while len(history) <= n_iter and not converged:
        Y = relax(springs, Y, n_iter=1).Y
        ratio = np.divide(window.distances(Y), length, out=np.zeros_like(length), where=length > 0)
        kept = window.spread(window.weight * ratio, F)
        gains = best_gains(must, held, kept, scale, total, gains)
        length = window.distances(F * gains)
        springs = window.replace_rest_lengths(length)
        history.append(objective(springs))
        converged = history[-2] - history[-1] <= tol * history[-2]
    return Relaxed(Y, history, converged, gains=gains)
