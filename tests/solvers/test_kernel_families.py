from dataclasses import replace
from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from nearkin.solvers.kernel_families import (
    DataDependentFamily,
    RbfFamily,
    SpectralFamily,
    alternate,
    learn_width,
    order_weights,
)
from nearkin.solvers.logdet import BoundedPairs, divergence
from nearkin.spaces.graph import neighbor_graph, smoothest_functions
from tests import oracles
from tests.cases import each


def rows_and_pairs(seed=0, n=40, k=30, slack=1.0):
    """Two crescents of points, pairs of them with bounds that most break, and their graph."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle = rng.uniform(0, np.pi, n)
    X = np.column_stack([np.cos(angle) + y, np.where(y == 1, -1, 1) * np.sin(angle)])
    X += 0.05 * rng.standard_normal(X.shape)
    left = rng.integers(n, size=k)
    right = (left + rng.integers(1, n, size=k)) % n
    sign = np.where(y[left] == y[right], 1.0, -1.0)
    return X, BoundedPairs(left, right, sign, rng.uniform(0.5, 2, k), 0.01, 0.5, slack)


def families(X):
    values, V = smoothest_functions(neighbor_graph(X, 6), 10)
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    K = np.exp(-squared)
    K -= K.mean(axis=0)
    K -= K.mean(axis=1, keepdims=True)
    eigenvalues, U = np.linalg.eigh(K)
    F = (U * np.sqrt(np.maximum(eigenvalues, 0)))[:, -8:]
    return {
        "spectral": SpectralFamily(V * np.sqrt(len(X)), np.exp(-0.1 * values)),
        "data-dependent": DataDependentFamily.on_graph(F, values, V),
        "rbf": RbfFamily(squared, 1.0),
        "rbf of fixed width": RbfFamily(squared, 1.0, moves=False),
    }


each_family = each("name", ["spectral", "data-dependent", "rbf", "rbf of fixed width"])


@given(st.lists(st.floats(1e-3, 1e3), min_size=1, max_size=12))
def test_ordered_weights_are_where_cyclic_projections_lead(diagonal):
    found = order_weights(np.array(diagonal))
    assert (np.diff(found) <= 1e-12 * found[0]).all()
    expected = oracles.cyclic_projections_to_order(diagonal)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-9 * max(diagonal))


def test_of_all_orders_with_this_product_none_is_nearer():
    rng = np.random.default_rng(0)
    B = np.diag(rng.exponential(size=6))
    family = SpectralFamily(np.eye(6), np.sort(rng.exponential(size=6))[::-1], keeps_size=True)
    found = family.nearest_to(B).weights
    assert_allclose(np.prod(found), np.prod(family.weights))
    least = divergence(B, np.diag(found))
    for _ in range(200):
        other = np.sort(rng.exponential(size=6))[::-1]
        other *= (np.prod(found) / np.prod(other)) ** (1 / 6)
        assert least <= divergence(B, np.diag(other)) + 1e-9


def test_must_links_alone_do_not_shrink_a_kernel_that_keeps_its_size():
    X, pairs = rows_and_pairs()
    family = families(X)["spectral"]
    few = np.flatnonzero(pairs.sign > 0)[:6]
    parts = {name: getattr(pairs, name)[few] for name in ("left", "right", "sign", "weight")}
    alike = replace(pairs, **parts, slack=100.0)

    def variance(family, n_iter=20):
        found = alternate(family, alike, n_iter=n_iter, tol=0.0)
        assert all(b <= a * (1 + 1e-6) for a, b in pairwise(found.objective))
        return np.trace(np.cov(family.coordinates.T) @ found.solution.B)

    after_one = variance(family, n_iter=1)
    assert variance(family) < 0.2 * after_one
    assert variance(replace(family, keeps_size=True)) > 0.9 * after_one


@each_family
@each("slack", [0.3, 3.0])
def test_objective_never_rises(name, slack):
    X, pairs = rows_and_pairs(slack=slack)
    family = families(X)[name]
    found = alternate(family, pairs, n_iter=8, tol=0.0)
    assert len(found.objective) > 2
    assert all(b <= a * (1 + 1e-6) for a, b in pairwise(found.objective))
    last = divergence(found.solution.B, found.family.prior)
    assert last <= found.objective[-1] + 1e-9


@each_family
def test_nearest_member_is_a_minimum(name):
    """No member around it has less divergence."""
    X, pairs = rows_and_pairs()
    family = families(X)[name]
    B = alternate(family, pairs, n_iter=1).solution.B
    K = family.coordinates @ B @ family.coordinates.T
    nearest = family.nearest_to(B)
    change = np.linalg.lstsq(nearest.coordinates, family.coordinates, rcond=None)[0]
    least = divergence(change @ B @ change.T, nearest.prior)
    assert least < divergence(B, family.prior)
    for other in around(nearest):
        change = np.linalg.lstsq(other.coordinates, family.coordinates, rcond=None)[0]
        moved = change @ B @ change.T
        assert_allclose(other.coordinates @ moved @ other.coordinates.T, K, atol=1e-6)
        assert least <= divergence(moved, other.prior) + 1e-6


def around(member):
    if isinstance(member, SpectralFamily):
        steps = np.cumsum(np.eye(len(member.weights)), axis=1)[:, ::-1]
        for step in steps:  # raise the first few weights alike: their order holds
            yield replace(member, weights=member.weights + 1e-4 * step)
        yield replace(member, weights=0.999 * member.weights)
    elif isinstance(member, DataDependentFamily):
        for step in np.eye(len(member.increments)):
            for way in (-1e-3, 1e-3):
                moved = np.maximum(member.increments + way * step * member.increments.max(), 0)
                yield replace(member, increments=moved)
    else:
        for ratio in (0.98, 1.02):
            yield replace(member, size=member.size * ratio)
            if member.moves:
                yield replace(member, gamma=member.gamma * ratio)


def test_data_dependent_prior_is_the_kernel_of_the_paper():
    """S − S (I + T S)⁻¹ T S with T as the increments say, on all points."""
    X, _ = rows_and_pairs(n=25)
    values, V = smoothest_functions(neighbor_graph(X, 5), 6)
    S = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    F = np.linalg.cholesky(S + 1e-9 * np.eye(25))
    family = DataDependentFamily.on_graph(F, values, V)
    theta = np.cumsum(family.increments)
    T = (V * theta) @ V.T + theta[-1] * (np.eye(25) - V @ V.T)
    M = S - S @ np.linalg.solve(np.eye(25) + T @ S, T @ S)
    assert_allclose(F @ family.prior @ F.T, M, atol=1e-6)
    assert (np.diff(theta) >= 0).all()


@each("beyond", [1.0, 50.0])
def test_what_is_beyond_the_smooth_functions_counts_as_rough_as_is_asked_for(beyond):
    X, pairs = rows_and_pairs()
    values, V = smoothest_functions(neighbor_graph(X, 6), 5)
    F = families(X)["data-dependent"].coordinates
    family = DataDependentFamily.on_graph(F, values, V, beyond)
    thetas = np.cumsum(family.increments)
    assert_allclose(thetas[-1], beyond * thetas[4])
    T = (V * thetas[:5]) @ V.T + thetas[-1] * (np.eye(len(X)) - V @ V.T)
    assert_allclose(family.prior, np.linalg.inv(np.eye(8) + F.T @ T @ F), atol=1e-10)
    objective = alternate(family, pairs, n_iter=6, tol=0.0).objective
    assert all(b <= a + 1e-5 * abs(a) for a, b in pairwise(objective))
    # Nothing is beyond as many functions as there are directions.
    few = DataDependentFamily.on_graph(V[:, 1:4], values, V, beyond)
    assert_allclose(few.increments, DataDependentFamily.on_graph(V[:, 1:4], values, V).increments)


def test_inverse_of_the_learned_kernel_has_the_form_of_the_paper():
    """Eq. (7), in spectral coordinates: prior plus weighted terms of the pairs."""
    X, pairs = rows_and_pairs()
    found = alternate(families(X)["spectral"], pairs, n_iter=4, sweep_tol=1e-12)
    V, solution = found.family.coordinates, found.solution
    Z = V[pairs.left] - V[pairs.right]
    terms = (Z.T * (pairs.sign * solution.duals)) @ Z
    expected = np.linalg.inv(found.family.prior) + terms
    assert (solution.duals >= 0).all()
    assert_allclose(np.linalg.inv(solution.B), expected, rtol=1e-6, atol=1e-6)


def test_without_pairs_nothing_moves():
    X, _ = rows_and_pairs()
    nothing = np.zeros(0, dtype=int)
    pairs = BoundedPairs(nothing, nothing, np.zeros(0), np.zeros(0), 0.01, 0.5, 1.0)
    family = families(X)["spectral"]
    found = alternate(family, pairs, n_iter=3)
    assert found.converged
    assert_allclose(found.solution.B, np.diag(family.weights), atol=1e-12)
    assert_allclose(found.objective, 0, atol=1e-12)


def test_rbf_coefficients_embed_the_points_themselves():
    X, pairs = rows_and_pairs(n=20)
    family = RbfFamily(((X[:, None] - X) ** 2).sum(axis=2), 2.0)
    B = alternate(family, pairs, n_iter=1).solution.B
    root = np.linalg.cholesky(B).T
    Z = np.exp(-2.0 * family.squared) @ family.coefficients(root)
    expected = family.coordinates @ root.T
    gaps = np.linalg.norm(Z[:, None] - Z, axis=2)
    expected_gaps = np.linalg.norm(expected[:, None] - expected, axis=2)
    assert_allclose(gaps, expected_gaps, atol=2e-3 * expected_gaps.max())


def test_learned_width_has_the_least_objective_of_all_widths():
    X, pairs = rows_and_pairs(n=20)
    squared = ((X[:, None] - X) ** 2).sum(axis=2)
    found = learn_width(squared, 1 / squared.mean(), pairs)
    for gamma in 10.0 ** np.linspace(-2, 0.7, 12) / squared.mean():
        other = alternate(RbfFamily(squared, gamma, moves=False), pairs, n_iter=20)
        assert found.objective[-1] <= other.objective[-1] * 1.01


def test_slope_of_the_data_dependent_problem():
    """The step's minimum agrees with a minimiser that knows no slope."""
    X, pairs = rows_and_pairs(n=20)
    family = families(X)["data-dependent"]
    B = alternate(family, pairs, n_iter=1).solution.B

    def distance(roots):
        precision = np.tensordot(roots**2, family.roughness, 1) + np.eye(len(B))
        return np.trace(B @ precision) - np.linalg.slogdet(precision)[1]

    start = np.sqrt(family.increments + 1e-6)
    rough = minimize(distance, start, method="Nelder-Mead", options={"maxiter": 4000})
    found = family.nearest_to(B).increments
    assert distance(np.sqrt(found)) <= rough.fun + 1e-6
