"""LogDet projections onto pairs and triplets, against plain loops and general solvers."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import NonlinearConstraint, minimize

from benchmarks import fuzz_learners
from nearkin import Pairs
from nearkin.solvers import logdet
from nearkin.solvers.logdet import (
    MARGIN,
    NO_TRIPLETS,
    BoundedPairs,
    TripletDifferences,
    Triplets,
    _find_span,
    _Problem,
    _sweep,
    best_slacks,
    bound_pairs,
    choose_tolerance,
    divergence,
    draw_random_pairs,
    logdet_objective,
    sweep_triplets,
)
from tests import oracles
from tests.cases import each


def project(F, left, right, sign, weight, B0, upper, lower, slack, **options):
    pairs = BoundedPairs(left, right, sign, weight, upper, lower, slack)
    return logdet.project(F, pairs, B0, **options)


def example(seed=0, n=12, r=3, k=9):
    """Coordinates, pairs, signs, weights, a prior and bounds that most pairs break."""
    rng = np.random.RandomState(seed)
    F = rng.standard_normal((n, r))
    left = rng.randint(n, size=k)
    right = (left + rng.randint(1, n, size=k)) % n
    sign = np.where(np.arange(k) % 2 == 0, 1.0, -1.0)
    root = rng.standard_normal((r, r)) + 2 * np.eye(r)
    return F, left, right, sign, rng.uniform(0.5, 2, size=k), root @ root.T


def differences(problem):
    F, left, right = problem[:3]
    return F[left] - F[right]


def targets_of(problem, upper, lower):
    return np.where(problem[3] > 0, upper, lower)


def value(B, problem, upper, lower, slack):
    sign, weight, B0 = problem[3:]
    targets = targets_of(problem, upper, lower)
    slacks = best_slacks(B, differences(problem), sign, targets)
    return logdet_objective(B, B0, slacks, targets, slack, weight)


@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 30.0]), st.integers(1, 5))
@settings(deadline=None, max_examples=20)
def test_compiled_loop_equals_the_plain_one(seed, slack, n_sweeps):
    problem = example(seed)
    Z, (sign, weight, B0) = differences(problem), problem[3:]
    rng = np.random.RandomState(seed)
    orders = [rng.permutation(len(Z)) for _ in range(n_sweeps)]
    B, duals, slacks = oracles.itml(Z, sign, weight, B0, 2.0, 9.0, slack=slack, orders=orders)
    found, found_duals = B0.copy(), np.zeros(len(Z))
    inverse = 1 / targets_of(problem, 2.0, 9.0)
    for order in orders:
        _sweep(order, Z, sign, 1 / (slack * weight), found_duals, inverse, found)
    assert_allclose(found, B, rtol=1e-10, atol=1e-10 * np.abs(B).max())
    assert_allclose(found_duals, duals, rtol=1e-10, atol=1e-10)
    assert_allclose(1 / inverse, slacks, rtol=1e-10)


@each("slack", [0.2, 1.0, 5.0])
def test_converged_loop_in_any_order_reaches_the_same_metric(slack):
    problem = example()
    Z, (sign, weight, B0) = differences(problem), problem[3:]
    orders = [range(len(Z))] * 2000
    B, duals, slacks = oracles.itml(Z, sign, weight, B0, 2.0, 9.0, slack=slack, orders=orders)
    result = project(*problem, 2.0, 9.0, slack, tol=1e-14)
    assert result.converged
    assert_allclose(result.B, B, atol=1e-6 * np.abs(B).max())
    assert_allclose(result.duals, duals, atol=1e-5)
    assert_allclose(result.slacks, slacks, rtol=1e-5)


def test_printed_algorithm_is_the_same_for_a_slack_of_one_only():
    F, left, right, sign, _, B0 = problem = example()
    ones = np.ones(len(sign))
    Z = differences(problem)
    for slack in (1.0, 4.0):  # otherwise it is the problem of bounds divided by the slack
        printed = oracles.itml_as_printed(Z, sign, B0, 2.0, 9.0, slack=slack, n_sweeps=2000)
        bounds = 2.0 / slack, 9.0 / slack
        found = project(F, left, right, sign, ones, B0, *bounds, 1.0, tol=1e-14).B
        assert_allclose(found, printed, atol=1e-6 * np.abs(printed).max())


@each("slack", [0.3, 1.0, 4.0])
def test_generic_optimiser_finds_the_same_minimum(slack):
    problem = example(seed=3, n=6, r=2, k=4)
    Z, (sign, weight, B0) = differences(problem), problem[3:]
    targets = targets_of(problem, 1.0, 8.0)

    def unpacked(v):
        L = np.array([[np.exp(v[0]), 0], [v[1], np.exp(v[2])]])
        return L @ L.T, np.exp(v[3:])

    def cost(v):
        B, slacks = unpacked(v)
        return logdet_objective(B, B0, slacks, targets, slack, weight)

    def room(v):
        B, slacks = unpacked(v)
        return sign * (slacks - np.einsum("kr,rs,ks->k", Z, B, Z))

    # B0 with slacks at its own distances is feasible.
    L0 = np.linalg.cholesky(B0)
    own = best_slacks(B0, Z, sign, targets)
    start = np.r_[np.log(L0[0, 0]), L0[1, 0], np.log(L0[1, 1]), np.log(own)]
    constraint = NonlinearConstraint(room, 0, np.inf)
    best = minimize(
        cost, start, method="SLSQP", constraints=constraint, options={"ftol": 1e-14, "maxiter": 500}
    )
    result = project(*problem, 1.0, 8.0, slack, tol=1e-13)
    assert_allclose(result.objective[-1], best.fun, rtol=1e-6)
    assert_allclose(result.B, unpacked(best.x)[0], rtol=1e-3, atol=1e-3)
    assert cost(start) > 1.1 * best.fun


@each("slack", [0.1, 1.0, 20.0])
def test_solution_meets_the_karush_kuhn_tucker_conditions(slack):
    problem = example(k=20)
    Z, (sign, weight, B0) = differences(problem), problem[3:]
    result = project(*problem, 2.0, 9.0, slack, tol=1e-15)
    # Stationarity: the inverse has the form of eq. (7), and so have the slacks.
    form = np.linalg.inv(B0) + Z.T @ ((sign * result.duals)[:, None] * Z)
    assert_allclose(np.linalg.inv(result.B), form, atol=1e-6 * np.abs(form).max())
    inverse = 1 / targets_of(problem, 2.0, 9.0) - sign * result.duals / (slack * weight)
    assert_allclose(1 / result.slacks, inverse, atol=1e-8)
    assert (result.duals >= 0).all()
    excess = sign * (np.einsum("kr,rs,ks->k", Z, result.B, Z) - result.slacks)
    assert (excess <= 1e-5 * result.slacks).all()
    assert_allclose(result.duals * excess, 0, atol=1e-4)
    assert np.linalg.eigvalsh(result.B)[0] > 0


def test_history_and_gap_are_what_they_say():
    problem = example(k=20)
    result = project(*problem, 2.0, 9.0, 1.0, tol=1e-12)
    best = result.objective[-1]
    assert len(result.objective) == result.n_sweeps + 1
    assert_allclose(result.objective[0], value(problem[5], problem, 2.0, 9.0, 1.0))
    assert_allclose(best, value(result.B, problem, 2.0, 9.0, 1.0))
    assert abs(result.gap) <= 2e-12 * best
    for max_sweeps in (1, 2, 4):
        short = project(*problem, 2.0, 9.0, 1.0, max_sweeps=max_sweeps, tol=1e-12)
        assert not short.converged
        assert short.n_sweeps == max_sweeps
        assert 0 <= short.objective[-1] - best <= short.gap + 1e-9
        assert_allclose(short.objective[-1], value(short.B, problem, 2.0, 9.0, 1.0))


def test_divergence_of_diagonal_matrices():
    expected = sum(x / y - np.log(x / y) - 1 for x, y in [(2, 3), (5, 1), (4, 4)])
    assert_allclose(divergence(np.diag([2.0, 5, 4]), np.diag([3.0, 1, 4])), expected)


def test_prior_stays_where_nothing_is_asked_for():
    *pairs, B0 = example()
    little = project(*pairs, B0, 2.0, 9.0, 1e-9)
    assert little.converged
    assert_allclose(little.B, B0, atol=1e-6)
    no_pairs = (part[:0] if part.ndim == 1 else part for part in pairs)
    coinciding = np.ones((12, 3)), *pairs[1:]
    for result in (
        project(*pairs, B0, 1e6, 1e-6, 1.0),  # bounds that hold already
        project(*no_pairs, B0, 2.0, 9.0, 1.0),
        project(*coinciding, B0, 2.0, 9.0, 1.0),
    ):
        assert result.converged
        assert result.n_sweeps == 0
        assert_allclose(result.B, B0, rtol=1e-12)
        assert_array_equal(result.duals, 0)


def test_strict_bounds_are_kept_where_that_is_possible():
    F = np.array([[0.0, 0, 0], [1, 0, 0], [0, 2, 0], [0, 0, 0.1]])
    left, right, sign = np.zeros(3, int), np.array([1, 2, 3]), np.array([1.0, 1, -1])
    result = project(F, left, right, sign, np.ones(3), np.eye(3), 0.25, 1.0, np.inf, tol=1e-9)
    assert result.converged
    # Axes do not meet, so that each is scaled on its own.
    assert_allclose(result.B, np.diag([0.25, 0.0625, 100]), atol=1e-6)


def test_pairs_that_contradict_meet_in_the_middle_and_strict_bounds_are_reported():
    F = np.array([[0.0, 0], [1, 0]])
    both = F, np.array([0, 0]), np.array([1, 1]), np.array([1.0, -1]), np.ones(2), np.eye(2)
    result = project(*both, 0.5, 2.0, 1.0, tol=1e-12)
    # x − log x − 1 + x/u − log(x/u) − 1 + x/l − log(x/l) − 1 is least at 3 / (1 + 1/u + 1/l).
    assert result.converged
    assert_allclose(result.B, np.diag([3 / 3.5, 1]), atol=1e-6)
    strict = project(*both, 0.5, 1.0, np.inf, max_sweeps=50)
    assert not strict.converged
    assert np.isfinite(strict.B).all()


def test_points_that_coincide_are_left_alone():
    F, left, right, sign, weight, B0 = example()
    expected = project(F, left, right, sign, weight, B0, 2.0, 9.0, 1.0)
    F = np.concatenate([F, F[:1]])
    left, right, sign = np.r_[left, 0, 0], np.r_[right, 12, 12], np.r_[sign, 1.0, -1.0]
    found = project(F, left, right, sign, np.r_[weight, 1, 1], B0, 2.0, 9.0, 1.0)
    assert found.n_coincident == 2
    assert found.converged
    assert_allclose(found.B, expected.B, atol=1e-8)
    assert_array_equal(found.duals[-2:], 0)
    assert_allclose(found.slacks[-2:], [2, 9])


def n_coincident(pairs_of_points, lower):
    F = np.concatenate(pairs_of_points)[:, None]
    left, k = np.arange(0, len(F), 2), len(pairs_of_points)
    ones = np.ones(k)
    bounds = lower / 2, lower, 1.0
    return project(F, left, left + 1, ones, ones, np.eye(1), *bounds, max_sweeps=1).n_coincident


def test_points_coincide_that_rounding_sets_apart_or_that_are_much_nearer_than_bounds():
    far = [(1e6, 1e6 + 1), (2.0, 2.0 + 1e-8)]
    assert n_coincident([(1.0, 1.0 + 5e-14), *far], lower=1e-18) == 1
    assert n_coincident([(1.0, 1.0 + 5e-13), *far], lower=1e-18) == 0
    for lower, expected in [(1.0, 1), (100.0, 1), (0.0025, 0)]:
        assert n_coincident([(0.0, 1e-7), (0.0, 1e-5), (0.0, 1.0)], lower) == expected


def test_bounds_that_are_too_narrow_for_numbers():
    assert n_coincident([(0.0, 1.0)], lower=1e-118) == 0
    message = r"^linked rows are up to 1e\+61 times as far apart as bounds are wide: give bounds"
    with pytest.raises(ValueError, match=message):
        n_coincident([(0.0, 1.0)], lower=1e-122)


def test_numbers_of_less_precision_are_not_reckoned_with_as_such():
    F, left, right, sign, weight, B0 = example()
    coarse = F.astype(np.float32), left, right, sign, weight.astype(np.float32)
    fine = coarse[0].astype(np.float64), left, right, sign, coarse[4].astype(np.float64)
    found, expected = (project(*data, B0, 2.0, 9.0, 0.7) for data in (coarse, fine))
    assert_array_equal(found.B, expected.B)


def test_dual_variables_without_a_metric():
    one = np.ones(1)
    without = TripletDifferences.of(np.empty((0, 1)), NO_TRIPLETS, 1.0)
    with pytest.raises(np.linalg.LinAlgError, match=r"^B is no longer positive definite$"):
        _Problem(np.eye(1), -one, one, one, without).metric(2 * one, np.empty(0))


@each("k", [3, 40])
def test_span_of_the_differences_is_enough(k):
    # 5 points or 3 pairs in 8 dimensions. Zero-weight-like pairs of all axes force the full size.
    rng = np.random.RandomState(1)
    F = rng.standard_normal((5 if k == 40 else 12, 8))
    left = rng.randint(len(F), size=k)
    right = (left + rng.randint(1, len(F), size=k)) % len(F)
    sign = np.where(np.arange(k) % 2 == 0, 1.0, -1.0)
    root = rng.standard_normal((8, 8))
    B0 = root @ root.T + np.eye(8)
    reduced = project(F, left, right, sign, np.ones(k), B0, 3.0, 30.0, 1.0, tol=1e-13)
    # Pairs of far points that hold from the start reach everywhere and change nothing.
    axes = np.concatenate([F, np.zeros((1, 8)), 100 * np.eye(8)])
    extra = np.full(8, len(F)), len(F) + 1 + np.arange(8), -np.ones(8)
    joined = [np.r_[a, b] for a, b in zip((left, right, sign), extra, strict=True)]
    full = project(axes, *joined, np.ones(k + 8), B0, 3.0, 30.0, 1.0, tol=1e-13)
    assert_array_equal(full.duals[k:], 0)
    assert_allclose(reduced.B, full.B, atol=1e-5 * np.abs(full.B).max())


def test_singular_prior_stays_singular_where_it_is():
    F, left, right, sign, weight, _ = example()
    B0 = np.diag([2.0, 0.5, 0.0])
    result = project(F, left, right, sign, weight, B0, 2.0, 9.0, 1.0, tol=1e-13)
    assert_allclose(result.B[2], 0, atol=1e-12)
    flat = project(F[:, :2], left, right, sign, weight, B0[:2, :2], 2.0, 9.0, 1.0, tol=1e-13)
    assert_allclose(result.B[:2, :2], flat.B, atol=1e-5)


@each("scale", [1e-6, 1e6])
@each("least", [-1e-9, 1e-15])
def test_rounding_of_a_singular_prior_is_zero(scale, least):
    F, left, right, sign, weight, _ = example()
    B0 = scale * np.diag([2.0, 0.5, least])
    result = project(F, left, right, sign, weight, B0, 2.0 * scale, 9.0 * scale, 1.0)
    assert_array_equal(result.B[2], 0)


@each(("B0", "least"), [(np.zeros((3, 3)), "0"), (np.diag([1.0, 1, -1]), "-1"), (np.eye(0), "0")])
def test_prior_that_is_no_metric(B0, least):
    *pairs, _ = example()
    with pytest.raises(ValueError, match=rf"^the prior .*, but has an eigenvalue of {least}\.$"):
        project(*pairs, B0, 2.0, 9.0, 1.0)


@each(
    ("n_pairs", "n_points", "expected"),
    [(3, 12, 3), (7, 12, 7), (8, 12, None), (40, 5, 4), (40, 8, 7), (40, 9, None), (5, 5, 4)],
)
def test_space_of_the_differences_is_the_smallest_there_is(n_pairs, n_points, expected):
    points = np.random.RandomState(0).standard_normal((n_points, 8))
    left = np.arange(n_pairs) % n_points
    Z = points[left] - points[(left + 1) % n_points]
    basis = _find_span(Z, points)
    assert (basis if basis is None else basis.shape[1]) == expected
    if basis is not None:
        assert_allclose(Z @ basis @ basis.T, Z, atol=1e-12)


@each("slack", [1e-6, 1e4])
@each("ratio", [1e-8, 0.999])
def test_extreme_bounds_and_slacks_give_a_metric(slack, ratio):
    problem = example(k=30)
    result = project(*problem, 9 * ratio, 9.0, slack, max_sweeps=200)
    values = np.linalg.eigvalsh(result.B)
    assert np.isfinite(values).all()
    assert values[0] > -1e-12 * values[-1]


def test_bounds_that_give_way_without_end_keep_a_slack():
    rows = {"kind": "outlier", "format": "sparse", "n": 20, "d": 2, "seed": 60552}
    known = {"labels": "words", "pairs": "none", "links": 0, "classes": 1}
    case = {"name": "ITML kernel", "parameters": {}, "again": False, **rows, **known}
    fuzz_learners.check(case)  # which minds warnings of NumPy's


def squared(F, B, i, j):
    Z = F[i] - F[j]
    return np.einsum("kr,kr->k", Z @ B, Z)


def problem(seed, t=6, k=0, slack=0.7):
    F, *links, B0 = example(seed, 10, 3, k)
    rng = np.random.RandomState(seed)
    rows = np.array([rng.permutation(10)[:3] for _ in range(t)])
    triplets = Triplets(rows, rng.uniform(0.5, 2, t))
    return F, BoundedPairs(*links, 0.5, 4.0, slack, triplets), B0 / 4


def primal(F, pairs, B0, B):
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
    found = logdet.project(F, pairs, B0, tol=1e-12)
    assert found.converged
    assert_allclose(found.objective[-1], primal(F, pairs, B0, found.B), rtol=1e-9)
    lower = np.tril_indices(3)

    def of(entries):
        L = np.zeros((3, 3))
        L[lower] = entries
        return primal(F, pairs, B0, L @ L.T + 1e-12 * np.eye(3))

    best = min(
        minimize(of, start, method="Nelder-Mead", options={"maxiter": 4000, "fatol": 1e-12}).fun
        for start in (np.linalg.cholesky(B0)[lower], np.linalg.cholesky(found.B)[lower])
    )
    # No better one is found, neither from the prior nor from the solution itself.
    assert found.objective[-1] <= best + 1e-7
    assert found.objective[-1] < primal(F, pairs, B0, B0)


def test_conditions_of_a_minimum():
    F, pairs, B0 = problem(7, t=12)
    found = logdet.project(F, pairs, B0, tol=1e-13)
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
    found = logdet.project(F, pairs, B0)
    assert_allclose(found.B, B0, rtol=1e-12)
    assert_array_equal(found.triplet_duals, 0)
    swapped = logdet.project(F, BoundedPairs(**{**vars(pairs), "triplets": _one(a, c, b)}), B0)
    assert not np.allclose(swapped.B, B0)


def _one(a, b, c):
    return Triplets(np.array([[a, b, c]]), np.ones(1))


@each("slack", [0.1, 1.0, np.inf])
def test_no_metric_is_zero_where_distances_cannot_follow(slack):
    F = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    nothing = *[np.empty(0, dtype=int)] * 2, *[np.empty(0)] * 2
    for triplet in ((0, 1, 2), (0, 1, 3)):  # c lies between, or where a is
        pairs = BoundedPairs(*nothing, 0.1, 1.0, slack, _one(*triplet))
        found = logdet.project(F, pairs, np.eye(2))
        assert np.linalg.eigvalsh(found.B).min() > 0
        assert found.B[0, 0] < 1
        assert_allclose(found.B[1, 1], 1)


@given(st.integers(0, 10**6), st.sampled_from([0.0, 1e-3, 1.0]))
def test_a_step_is_the_best_for_its_triplet_alone(seed, apart):
    """By the conditions for the minimum; ``apart`` is how far differences are from parallel."""
    rng = np.random.RandomState(seed)
    far = rng.standard_normal((6, 3))
    near = rng.uniform(-2, 2, (6, 1)) * far + apart * rng.standard_normal((6, 3))
    cap, duals, B = rng.uniform(0.1, 5, 6), np.zeros(6), np.eye(3)
    for t in [*range(6), *rng.permutation(6)]:
        before, was = np.linalg.inv(B), duals[t]
        sweep_triplets(np.array([t]), near, far, cap, duals, B)
        step = duals[t] - was
        moved = step * (np.outer(near[t], near[t]) - np.outer(far[t], far[t]))
        assert_allclose(np.linalg.inv(B), before + moved, rtol=1e-6, atol=1e-6)
        missed = MARGIN + near[t] @ B @ near[t] - far[t] @ B @ far[t]
        assert 0 <= duals[t] <= cap[t] * (1 + 1e-12)
        if duals[t] < cap[t] * (1 - 1e-9):
            assert missed < 1e-6
        if duals[t] > 0:
            assert missed > -1e-6


def test_pairs_are_bounded_by_squares_of_distances():
    pairs = Pairs(
        [(0, 1)], [(2, 3), (1, 4)], must_weight=[2], closer=[(0, 1, 2)], closer_weight=[3]
    )
    found = bound_pairs(pairs, (0.5, 3.0), 2)
    assert (found.upper, found.lower, found.slack) == (0.25, 9.0, 2.0)
    assert np.column_stack([found.left, found.right]).tolist() == [[0, 1], [1, 4], [2, 3]]
    assert (found.sign.tolist(), found.weight.tolist()) == ([1, -1, -1], [2, 1, 1])
    assert (found.triplets.rows.tolist(), found.triplets.weight.tolist()) == ([[0, 1, 2]], [3])
    assert [choose_tolerance(tol, found) for tol in (1e-6, 1e-3)] == [1e-4, 1e-3]
    assert choose_tolerance(1e-6, bound_pairs(Pairs([(0, 1)]), (0.5, 3.0), 2)) == 1e-6
    drawn = draw_random_pairs(5, np.random.RandomState(0))
    assert drawn.shape == (2, 10_000)
    assert set(drawn.ravel().tolist()) == set(range(5))
