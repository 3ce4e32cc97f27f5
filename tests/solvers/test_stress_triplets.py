"""Triplets among springs, against plain sums, a general solver and the definition."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from nearkin.solvers import stress as stress_module
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
        monkeypatch.setattr(stress_module, "_FACTORED_POINTS", 3)
    springs, Y = example(complete=False, seed=3)
    relaxed = relax(springs, Y, n_iter=40)
    assert (np.diff(relaxed.stress) <= 1e-9).all()
    assert relaxed.stress[-1] < 0.5 * relaxed.stress[0]
    assert_allclose(relaxed.stress[-1], stress(springs, relaxed.Y))
