"""Stress majorisation with springs and triplets, against definitions."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize

from nearkin.solvers import stress as module
from nearkin.solvers.stress import (
    CompleteSprings,
    OrderedSprings,
    all_squared_distances,
    join_springs,
    ordered_lengths,
    relax,
    stress,
)
from tests.cases import each


def random_springs(seed, n=12, e=25, struts=True):
    rng = np.random.default_rng(seed)
    ends = np.array([rng.choice(n, 2, replace=False) for _ in range(e)])
    strut = rng.random(e) < 0.3 if struts else np.zeros(e, dtype=bool)
    return ends, rng.random(e) + 0.1, 2 * rng.random(e), strut


def slow_stress(ends, weight, rest, strut, Y):
    total = 0.0
    for (i, j), w, t, pushes in zip(ends, weight, rest, strut, strict=True):
        length = np.linalg.norm(Y[i] - Y[j])
        if not pushes or length < t:
            total += w * (length - t) ** 2
    return total


@given(st.integers(0, 10**6))
def test_stress_is_the_sum_over_springs_and_never_rises(seed):
    parts = random_springs(seed)
    springs, Y = join_springs(12, *parts), np.random.default_rng(seed + 1).standard_normal((12, 3))
    assert_allclose(stress(springs, Y), slow_stress(*parts, Y), rtol=1e-12)
    history = relax(springs, Y, n_iter=20).stress
    assert all(b <= a * (1 + 1e-9) + 1e-15 for a, b in pairwise(history))


def test_a_step_is_the_minimum_of_the_majorising_function():
    ends, weight, rest, strut = random_springs(3, struts=False)
    Y = np.random.default_rng(4).standard_normal((12, 3))
    P, Q = np.zeros((12, 12)), np.zeros((12, 12))
    for (i, j), w, t in zip(ends, weight, rest, strict=True):
        b = np.eye(12)[i] - np.eye(12)[j]
        P += w * np.outer(b, b)
        Q += w * t / np.linalg.norm(Y[i] - Y[j]) * np.outer(b, b)
    expected = np.linalg.pinv(P) @ Q @ Y
    found = relax(join_springs(12, ends, weight, rest, strut), Y, n_iter=1).Y
    assert_allclose(found - found.mean(0), expected - expected.mean(0), atol=1e-7)


def test_gradients_and_factorisation_find_the_same(monkeypatch):
    springs = join_springs(40, *random_springs(5, n=40, e=200))
    Y = np.random.default_rng(6).standard_normal((40, 4))
    factored = relax(springs, Y, n_iter=3)
    monkeypatch.setattr(module, "_FACTORED_POINTS", 0)
    monkeypatch.setattr(module, "_RESIDUAL", 1e-11)
    iterated = relax(springs, Y, n_iter=3)
    assert_allclose(iterated.Y, factored.Y, atol=1e-6)
    assert_allclose(iterated.stress, factored.stress, rtol=1e-7)


def test_matrices_and_single_springs_say_the_same():
    """Springs between all points, some of length zero, and links beside them."""
    rng = np.random.default_rng(10)
    n = 30
    F = rng.standard_normal((n, 3))
    F[1] = F[0]
    rest = np.linalg.norm(F[:, None] - F, axis=2)
    weight = np.exp(-(rest**2)) * (1 - np.eye(n))
    links = random_springs(11, n=n)
    ends = np.triu_indices(n, 1)
    window = np.column_stack(ends), weight[ends], rest[ends], np.zeros(len(ends[0]), dtype=bool)
    single = join_springs(n, *map(np.concatenate, zip(window, links, strict=True)))
    matrices = CompleteSprings(weight, rest, join_springs(n, *links))
    Y = F + 0.3 * rng.standard_normal(F.shape)
    Y[3] = Y[2]
    assert_allclose(matrices.degree, single.degree)
    assert_allclose(matrices.laplacian(), single.laplacian(), atol=1e-12)
    assert_allclose(matrices.times(Y), single.times(Y), atol=1e-12)
    (pull, value), (single_pull, single_value) = matrices.pull(Y), single.pull(Y)
    assert value == pytest.approx(single_value)
    assert_allclose(matrices.force(pull, Y), single.force(single_pull, Y), atol=1e-11)
    found, expected = relax(matrices, Y, n_iter=4), relax(single, Y, n_iter=4)
    assert_allclose(found.Y, expected.Y, atol=1e-9)
    assert_allclose(found.stress, expected.stress)


def test_squared_distances_do_not_cancel():
    Y = np.random.default_rng(12).standard_normal((700, 4))
    Y[5] = Y[4]
    Y[7] = Y[6] + 1e-9
    Y += 1000
    expected = ((Y[:, None] - Y) ** 2).sum(axis=2)
    found = all_squared_distances(Y)
    assert_allclose(found, expected, rtol=1e-8)
    assert found[4, 5] == 0


def test_groups_speed_gradients_up_on_a_long_chain(monkeypatch):
    """A chain is the worst case of the diagonal alone: one step for each of its springs."""
    n = 1000
    ends = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    springs = join_springs(n, ends, np.ones(n - 1), np.ones(n - 1), np.zeros(n - 1, dtype=bool))
    Y = np.random.default_rng(13).standard_normal((n, 2))
    exact = relax(springs, Y, n_iter=1).Y
    monkeypatch.setattr(module, "_FACTORED_POINTS", 0)
    monkeypatch.setattr(module, "_RESIDUAL", 1e-13)
    monkeypatch.setattr(module, "_MOST_GRADIENTS", n // 5)
    with_groups = np.abs(relax(springs, Y, n_iter=1).Y - exact).max()
    monkeypatch.setattr(module, "_MOST_GROUPS", 1)
    without = np.abs(relax(springs, Y, n_iter=1).Y - exact).max()
    assert with_groups < 0.1 * without


@each("most_factored", [0, 100])
def test_what_no_spring_moves_stays(monkeypatch, most_factored):
    monkeypatch.setattr(module, "_FACTORED_POINTS", most_factored)
    ends = np.array([[0, 1], [2, 3]])
    springs = join_springs(5, ends, np.ones(2), np.array([0.0, 2.0]), np.zeros(2, dtype=bool))
    Y = np.array([[0.0, 0], [4, 0], [0, 1], [0, 2], [9, 9]])
    found = relax(springs, Y, n_iter=1).Y
    # The first two meet half way, the next two part around their centre, the last has no spring.
    expected = [[2.0, 0], [2, 0], [0, 0.5], [0, 2.5], [9, 9]]
    assert_allclose(found, expected, atol=1e-6)


def test_a_strut_does_not_pull_nor_push_along_no_direction():
    ends = np.array([[0, 1], [1, 2]])
    springs = join_springs(3, ends, np.ones(2), np.array([1.0, 0.0]), np.array([True, False]))
    found = relax(springs, np.zeros((3, 2)), n_iter=5)
    assert np.isfinite(found.Y).all()
    assert found.stress[-1] == pytest.approx(1.0)
    springs = join_springs(2, np.array([[0, 1]]), np.ones(1), np.ones(1), np.array([True]))
    Y = np.array([[0.0], [5.0]])
    assert_allclose(relax(springs, Y, n_iter=3).Y, Y, atol=1e-9)
    near = relax(springs, Y / 50, n_iter=3).Y
    assert_allclose(abs(near[1] - near[0]), 1, rtol=1e-6)


def test_it_stops_when_steps_no_longer_help():
    springs = join_springs(12, *random_springs(7))
    Y = np.random.default_rng(8).standard_normal((12, 3))
    before = Y.copy()
    found = relax(springs, Y, n_iter=5000, tol=1e-7)
    assert_array_equal(Y, before)
    assert found.converged
    assert len(found.stress) < 5000
    assert not relax(springs, Y, n_iter=2).converged


@each(("near", "far"), [(1.0, 3.0), (2.0, 2.1), (3.0, 1.0), (0.2, 0.1)])
def test_ordered_lengths_are_the_nearest(near, far):
    margin = 0.8
    found = np.array(ordered_lengths(np.array([near]), np.array([far]), margin)).ravel()
    best = minimize(
        lambda lengths: (lengths[0] - near) ** 2 + (lengths[1] - far) ** 2,
        [0.1, 2.0],
        bounds=[(0, None), (0, None)],
        constraints={"type": "ineq", "fun": lambda x: x[1] - x[0] - margin},
    ).x
    assert_allclose(found, best, atol=1e-4)


def example(complete, seed=0, n=14):
    rng = np.random.RandomState(seed)
    Y = rng.standard_normal((n, 2))
    edges = np.column_stack([np.arange(n - 1), np.arange(1, n)])
    flat = (edges, np.full(n - 1, 0.3), np.ones(n - 1), np.zeros(n - 1, dtype=bool))
    springs = join_springs(n, *flat)
    if complete:
        lengths = np.sqrt(all_squared_distances(Y))
        springs = CompleteSprings(0.02 * (1 - np.eye(n)), lengths, springs)
    triplets = np.array([rng.permutation(n)[:3] for _ in range(8)])
    return OrderedSprings(springs, triplets, rng.uniform(0.5, 2, 8), 0.4), Y


@each("complete", [False, True])
def test_products_and_stress_equal_their_definitions(complete):
    springs, Y = example(complete)
    P = springs.laplacian()
    assert_allclose(springs.times(Y), P @ Y, atol=1e-12)
    assert_allclose(np.diag(P), springs.degree)
    assert_allclose(P.sum(axis=1), 0, atol=1e-12)
    a, b, c = (Y[rows] for rows in springs.triplets.T)
    near, far = np.linalg.norm(a - b, axis=1), np.linalg.norm(a - c, axis=1)
    miss = np.maximum(near - far + springs.margin, 0)
    plain = near - miss / 2 > 0
    assert plain.all()
    own = springs.strength @ miss**2 / 2
    assert_allclose(stress(springs, Y), stress(springs.springs, Y) + own)
    # The force is the slope of the stress, but for a factor of −2.
    pull, _ = springs.pull(Y)
    step = 1e-6 * np.random.RandomState(1).standard_normal(Y.shape)
    slope = (stress(springs, Y + step) - stress(springs, Y - step)) / 2
    assert_allclose(slope, -2 * (springs.force(pull, Y) * step).sum(), rtol=1e-4)


@each("factored", [True, False])
def test_steps_never_raise_the_stress(factored, monkeypatch):
    if not factored:
        monkeypatch.setattr(module, "_FACTORED_POINTS", 3)
    springs, Y = example(complete=False, seed=3)
    relaxed = relax(springs, Y, n_iter=40)
    assert (np.diff(relaxed.stress) <= 1e-9).all()
    assert relaxed.stress[-1] < 0.5 * relaxed.stress[0]
    assert_allclose(relaxed.stress[-1], stress(springs, relaxed.Y))
