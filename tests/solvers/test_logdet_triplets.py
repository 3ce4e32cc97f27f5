"""Triplets in LogDet problems, against a general solver and the conditions of a minimum."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from nearkin.solvers.logdet import (
    MARGIN,
    NO_TRIPLETS,
    BoundedPairs,
    TripletDifferences,
    Triplets,
    divergence,
    project,
)
from tests.cases import each


def squared(F, B, i, j):
    Z = F[i] - F[j]
    return np.einsum("kr,kr->k", Z @ B, Z)


def problem(seed, t=6, k=0, slack=0.7, r=3):
    rng = np.random.RandomState(seed)
    F = rng.standard_normal((10, r))
    rows = np.array([rng.permutation(10)[:3] for _ in range(t)])
    left = rng.randint(10, size=k)
    right = (left + rng.randint(1, 10, size=k)) % 10
    sign = np.where(np.arange(k) % 2, -1.0, 1.0)
    triplets = Triplets(rows, rng.uniform(0.5, 2, t))
    pairs = BoundedPairs(left, right, sign, rng.uniform(0.5, 2, k), 0.5, 4.0, slack, triplets)
    root = rng.standard_normal((r, r)) + 2 * np.eye(r)
    return F, pairs, root @ root.T / 4


def value(F, pairs, B0, B):
    """The objective by its definition."""
    total = divergence(B, B0)
    a, b, c = pairs.triplets.rows.T
    margin = MARGIN * pairs.lower
    miss = np.maximum(margin + squared(F, B, a, b) - squared(F, B, a, c), 0)
    total += pairs.slack * pairs.triplets.weight @ miss / margin
    target = np.where(pairs.sign > 0, pairs.upper, pairs.lower)
    p = squared(F, B, pairs.left, pairs.right)
    ratio = np.where(pairs.sign * (p - target) > 0, p, target) / target
    return total + pairs.slack * pairs.weight @ (ratio - np.log(ratio) - 1)


@each(("seed", "k"), [(0, 0), (1, 5)])
def test_equals_a_general_solver(seed, k):
    F, pairs, B0 = problem(seed, k=k)
    found = project(F, pairs, B0, tol=1e-12)
    assert found.converged
    assert_allclose(found.objective[-1], value(F, pairs, B0, found.B), rtol=1e-9)
    lower = np.tril_indices(3)

    def of(entries):
        L = np.zeros((3, 3))
        L[lower] = entries
        return value(F, pairs, B0, L @ L.T + 1e-12 * np.eye(3))

    best = min(
        minimize(of, start, method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-12}).fun
        for start in (np.linalg.cholesky(B0)[lower], np.linalg.cholesky(found.B)[lower])
    )
    # No better one is found, neither from the prior nor from the solution itself.
    assert found.objective[-1] <= best + 1e-7
    assert found.objective[-1] < value(F, pairs, B0, B0)


def test_conditions_of_a_minimum():
    F, pairs, B0 = problem(7, t=12)
    found = project(F, pairs, B0, tol=1e-13)
    a, b, c = pairs.triplets.rows.T
    near, far, mu = F[a] - F[b], F[a] - F[c], found.triplet_duals
    inverse = np.linalg.inv(B0) + near.T @ (mu[:, None] * near) - far.T @ (mu[:, None] * far)
    assert_allclose(np.linalg.inv(found.B), inverse, atol=1e-8)
    margin = MARGIN * pairs.lower
    miss = margin + squared(F, found.B, a, b) - squared(F, found.B, a, c)
    most = pairs.slack * pairs.triplets.weight / margin
    assert (mu >= 0).all()
    assert (mu <= most * (1 + 1e-12)).all()
    assert (mu[miss < -1e-5] == 0).all()
    assert_allclose(mu[miss > 1e-5], most[miss > 1e-5])
    assert (mu > 0).any()


def test_what_holds_changes_nothing():
    F, pairs, B0 = problem(1, t=1)
    a, b, c = pairs.triplets.rows[0]
    F[b] = F[a] + 0.01
    F[c] = F[a] + 10
    found = project(F, pairs, B0)
    assert_allclose(found.B, B0, rtol=1e-12)
    assert_array_equal(found.triplet_duals, 0)
    swapped = project(F, BoundedPairs(**{**vars(pairs), "triplets": _one(a, c, b)}), B0)
    assert not np.allclose(swapped.B, B0)


def _one(a, b, c):
    return Triplets(np.array([[a, b, c]]), np.ones(1))


@each("slack", [0.1, 1.0, np.inf])
def test_no_metric_is_zero_where_distances_cannot_follow(slack):
    F = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    empty = np.empty(0, dtype=int)
    for triplet in ((0, 1, 2), (0, 1, 3)):  # c lies between, or where a is
        pairs = BoundedPairs(
            empty, empty, np.empty(0), np.empty(0), 0.1, 1.0, slack, _one(*triplet)
        )
        found = project(F, pairs, np.eye(2))
        assert np.linalg.eigvalsh(found.B).min() > 0
        assert found.B[0, 0] < 1
        assert_allclose(found.B[1, 1], 1)


def test_without_triplets_nothing_is_different():
    order = TripletDifferences.of(np.empty((0, 2)), NO_TRIPLETS, 1.0)
    assert order.cost(np.eye(2)) == 0
