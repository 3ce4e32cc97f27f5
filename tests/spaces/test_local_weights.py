"""Weights over the nearest landmarks, against a dense solve."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nearkin.spaces.feature_space import LocalExtension, combine_coordinates, solve_local_weights
from nearkin.spaces.kernels import Kernel
from nearkin.spaces.landmarks import KernelLandmarks
from nearkin.spaces.local_weights import (
    EPSILON,
    NearLandmarks,
    Preparation,
    _find_all_nearest,
    bound_smallest,
    combine,
    find_below,
    find_smallest,
    weights_from_distances,
)
from tests import oracles
from tests.cases import each


def squared(A, B):
    return ((A[:, None].astype(np.float64) - B[None]) ** 2).sum(axis=2)


def from_rows(X, landmarks, n_neighbors, saturating=False):
    unmoved = Preparation(np.zeros(X.shape[1]), 1.0)
    near = NearLandmarks(landmarks, unmoved, n_neighbors, saturating)
    return dense(*near.weights(X, by_pivots=False), len(landmarks))


def by_numpy(X, landmarks, n_neighbors, saturating=False):
    unmoved = Preparation(np.zeros(X.shape[1]), 1.0)
    near = NearLandmarks(landmarks, unmoved, n_neighbors, saturating)
    neighbors, *distances = near.neighbors_of_few(X)
    weights = solve_local_weights(*distances).T.astype(X.dtype)
    return dense(neighbors, weights, len(landmarks))


def from_distances(X, landmarks, n_neighbors, saturating=False):
    to_landmarks, among = squared(X, landmarks), squared(landmarks, landmarks)
    if saturating:
        among = -np.expm1(-among)
    else:
        to_landmarks, among = to_landmarks / 2, among / 2
    found = weigh(to_landmarks, among, n_neighbors, saturating=saturating, dtype=X.dtype)
    return dense(*found, len(landmarks))


def weigh(to_landmarks, among, k, rounding=0.0, *, saturating=False, dtype=np.float64):
    """Neighbours and weights from distances."""
    n = len(to_landmarks)
    neighbors, weights = np.empty((n, k), np.int32), np.empty((n, k), dtype)
    zero = np.full(n, rounding)
    weights_from_distances(to_landmarks, zero, among, saturating, neighbors, weights)
    return neighbors, weights


def dense(neighbors, weights, m):
    W = np.zeros((len(neighbors), m), dtype=weights.dtype)
    np.put_along_axis(W, neighbors.astype(np.int64), weights, axis=1)
    return W


all_loops = each("loop", [from_rows, by_numpy, from_distances])


@pytest.fixture
def cloud():
    rng = np.random.RandomState(0)
    return rng.standard_normal((40, 3)), rng.standard_normal((25, 3))


@all_loops
@each("name", ["linear", "rbf"])
@each("n_neighbors", [1, 2, 3, 5, 9, 25])
def test_weights_solve_the_stated_problem(loop, name, n_neighbors, cloud):
    assert EPSILON == oracles.EPSILON
    X, landmarks = cloud
    W = loop(X, landmarks, n_neighbors, saturating=name == "rbf")
    # 25 neighbours in 3 dimensions have a condition number of 25 / EPSILON.
    expected = oracles.local_weight_matrix(name, X, landmarks, n_neighbors)
    assert_allclose(W, expected, rtol=1e-8, atol=1e-10)


@all_loops
def test_a_landmark_is_itself_and_shares_its_weight_with_copies(loop, cloud):
    _, landmarks = cloud
    assert_array_equal(loop(landmarks, landmarks, 5), np.eye(len(landmarks)))
    for n_neighbors in (1, 3):  # squares below single precision
        assert_array_equal(loop(*[1e-150 * landmarks] * 2, n_neighbors), np.eye(len(landmarks)))
    doubled = np.concatenate([landmarks, landmarks[:3]])
    W = loop(landmarks[:3], doubled, 5)
    expected = np.zeros_like(W)
    expected[[0, 1, 2], [0, 1, 2]] = expected[[0, 1, 2], [25, 26, 27]] = 0.5
    assert_allclose(W, expected, atol=1e-15)


@all_loops
@each("saturating", [False, True])
def test_weights_approach_the_unit_vector_linearly_near_a_landmark(loop, saturating, cloud):
    _, landmarks = cloud
    direction = np.array([0.6, 0.0, 0.8])
    deviations = [
        np.abs(loop(landmarks + distance * direction, landmarks, 5, saturating) - np.eye(25)).max()
        for distance in (1e-3, 1e-6, 1e-9)
    ]
    assert 0 < deviations[0] < 0.1
    assert_allclose(deviations[1:], [1e-3 * deviations[0], 1e-6 * deviations[0]], rtol=0.1)


@all_loops
@given(seed=st.integers(0, 10**6), n_neighbors=st.integers(1, 12), log_scale=st.integers(-8, 8))
def test_weights_sum_to_one_and_do_not_depend_on_the_scale(loop, seed, n_neighbors, log_scale):
    rng = np.random.RandomState(seed)
    X, landmarks = rng.standard_normal((5, 2)), rng.standard_normal((12, 2))
    W = loop(X, landmarks, n_neighbors)
    assert_allclose(W.sum(axis=1), 1, rtol=1e-9)
    scale = 10.0**log_scale
    # Scaling rounds each number, and the condition number is 12 / EPSILON.
    assert_allclose(loop(scale * X, scale * landmarks, n_neighbors), W, rtol=1e-7, atol=1e-9)


@all_loops
@each("saturating", [False, True])
def test_float32_is_close_to_float64(loop, saturating, cloud):
    X, landmarks = cloud
    W = loop(X, landmarks, 5, saturating)
    W32 = loop(X.astype(np.float32), landmarks.astype(np.float32), 5, saturating)
    assert W32.dtype == np.float32
    # Input rounding of 6e-8 times a condition number of 5 / EPSILON, relative to weights of ~1.
    assert_allclose(W32, W, atol=1e-3)
    assert np.abs(W32 - W).mean() < 1e-5


def test_collinear_landmarks_still_give_finite_weights():
    landmarks = np.arange(8.0)[:, None] * np.ones(3)
    W = from_rows(np.array([[2.4, 2.4, 2.4], [1e6, 1e6, 1e6]]), landmarks, 5)
    assert np.isfinite(W).all()
    assert_allclose(W.sum(axis=1), 1)
    # The point lies between landmarks 2 and 3 and is reproduced up to the conditioning.
    assert_allclose(W[0] @ landmarks, [2.4, 2.4, 2.4], atol=0.01)


def test_distances_below_the_stated_rounding_are_zero():
    distances = np.array([[1e-10, 0.5, 0.7]])
    neighbors, weights = weigh(distances, 1 - np.eye(3), 2, 1e-9)
    assert neighbors.tolist() == [[0, 1]]
    assert weights.tolist() == [[1.0, 0.0]]
    # Several of them are equal.
    distances = np.array([[0.5, 2e-10, 1e-10, 1e-9]])
    assert weigh(distances, 1 - np.eye(4), 1, 1e-9)[0].tolist() == [[1]]


@given(values=st.lists(st.integers(-20, 20), min_size=1, max_size=70), k=st.integers(1, 10))
def test_smallest_values_are_found_in_order_ties_by_position(values, k):
    values = np.array(values, dtype=np.float64)
    k = min(k, len(values))
    positions, smallest = np.empty(k, dtype=np.int32), np.empty(k)
    find_smallest(values, positions, smallest)
    expected = np.argsort(values, kind="stable")[:k]
    assert_array_equal(positions, expected)
    assert_array_equal(smallest, values[expected])
    find_smallest(np.array([np.inf]), positions, smallest)
    assert positions[0] == 0  # some row


@all_loops
def test_of_landmarks_that_are_equally_far_the_first_count(loop):
    landmarks = np.array([[1 + 1e-9], [-1.0], [1.0], [-1.0], [9.0]])
    assert_allclose(loop(np.zeros((1, 1)), landmarks, 2), [[0.5, 0.5, 0, 0, 0]], atol=1e-6)


def nearest(row, landmarks, ranking, length, slack, k):
    neighbors = np.empty((1, k), dtype=np.int32)
    one = np.array([length]), np.array([slack])
    _find_all_nearest(row[None], landmarks, ranking[None], *one, neighbors)
    return neighbors[0].tolist()


@given(seed=st.integers(0, 10**6), m=st.integers(10, 40), k=st.integers(1, 10))
def test_nearest_landmarks_are_found_though_their_ranking_is_rounded(seed, m, k):
    rng = np.random.RandomState(seed)
    row, landmarks = (
        rng.randint(-3, 4, (1, 2)).astype(float),
        rng.randint(-3, 4, (m, 2)).astype(float),
    )
    exact, length, slack = squared(row, landmarks)[0], 17.0, 1e-3
    ranking = exact - length + slack * rng.uniform(-0.5, 0.5, m)
    found = nearest(row[0], landmarks, ranking, length, slack, k)
    assert sorted(found) == sorted(np.argsort(exact, kind="stable")[:k])  # ties by position


@each("length", [0.0, 100.0, -100.0])
def test_landmarks_that_only_rounding_tells_apart_are_equally_far(length):
    landmarks = np.array([[1 + 1e-9], [1.0], [1 + 1e-5]])
    ranking = squared(np.zeros((1, 1)), landmarks)[0] - length
    assert nearest(np.zeros(1), landmarks, ranking, length, 0.0, 1) == [0]
    assert nearest(np.zeros(1), landmarks[1:], ranking[1:], length, 0.0, 1) == [0]
    turned = landmarks[::-1].copy(), ranking[::-1].copy()
    assert nearest(np.zeros(1), *turned, length, 0.0, 1) == [1]


@each("scale", [1e-60, 1e-30, 1.0, 1e30, 1e60])
def test_distances_of_any_size_are_told_apart(scale):
    def found(distances, k):
        neighbors, weights = weigh(scale * np.array([distances]), scale * (1 - np.eye(4)), k)
        return neighbors[0].tolist(), weights[0]

    assert found([3.0, 1.0, 2.0, 9.0], 3)[0] == [1, 2, 0]
    assert found([1 + 1e-9, 1.0, 2.0, 9.0], 1)[0] == [0]
    assert_allclose(found([1.0, 1.0, 2.0, 9.0], 2)[1], [0.5, 0.5])


@each("n_neighbors", [1, 2, 3, 4])
def test_combine_adds_up_weighted_coordinates(n_neighbors):
    rng = np.random.RandomState(0)
    chosen = [rng.choice(9, n_neighbors, replace=False) for _ in range(6)]
    neighbors = np.array(chosen, dtype=np.int32)
    weights, coordinates = rng.standard_normal((6, n_neighbors)), rng.standard_normal((9, 2))
    out = np.full((6, 2), np.nan)
    combine(neighbors, weights, coordinates, out)
    assert_allclose(out, dense(neighbors, weights, 9) @ coordinates, atol=1e-14)


@each("n_neighbors", [1, 5])
def test_weights_on_a_device_are_those_of_the_loops(n_neighbors, cloud):
    X, landmarks = cloud
    landmarks = np.concatenate([landmarks, landmarks[:2]])  # two of them twice
    X = np.concatenate([X, landmarks[:3]])  # and rows that are landmarks
    half = squared(X, landmarks) / 2
    near = np.argsort(half, axis=1, kind="stable")[:, :n_neighbors]
    e = np.take_along_axis(half, near, axis=1).T
    gram = squared(landmarks, landmarks)[near[:, :, None], near[:, None, :]].T / 2
    weights = solve_local_weights(e, gram)
    found = dense(near, weights.T, len(landmarks))
    assert_allclose(found, from_distances(X, landmarks, n_neighbors), rtol=1e-9, atol=1e-11)
    assert_allclose(combine_coordinates(near, weights, landmarks), found @ landmarks, atol=1e-14)


def test_angles_that_only_rounding_makes_are_those_of_a_line():
    def both(between):
        e, among = np.array([1.0, 2.0]), np.array([[0.0, between], [between, 0.0]])
        _, weights = weigh(e[None], among, 2)
        on_device = solve_local_weights(e[:, None], among[:, :, None])[:, 0]
        assert_allclose(on_device, weights[0], rtol=1e-12)
        return weights[0]

    # Opposite sides, and the same: farther apart, or nearer, than the distances allow.
    nearest, farthest = (np.sqrt(2) - 1) ** 2, (np.sqrt(2) + 1) ** 2
    assert_allclose(both(farthest + 0.5), both(farthest), rtol=1e-6)
    assert_allclose(both(nearest - 0.1), both(nearest), rtol=1e-6)


def test_a_row_at_a_landmark_but_for_rounding_is_there():
    rng = np.random.RandomState(0)
    landmarks = rng.standard_normal((9, 4))
    X = landmarks + 1e-16 * rng.standard_normal((9, 4))
    for loop in (from_rows, from_distances):
        for saturating in (False, True):
            assert_allclose(loop(X, landmarks, 9, saturating), np.eye(9), atol=1e-11)
    half = squared(landmarks, landmarks) / 2
    e = np.where(np.eye(9) > 0, 1e-33, half)
    gram = np.broadcast_to(half[:, :, None], (9, 9, 9))
    assert_allclose(solve_local_weights(e, gram + 1e-16), np.eye(9), atol=1e-11)


def test_values_that_are_no_kernel_give_finite_weights():
    among = np.triu(np.random.RandomState(0).randint(2, size=(20, 20)), 1) * 1.0
    among += among.T
    _, weights = weigh(among + 0.1, among, 20)
    assert_allclose(weights.sum(axis=1), 1)
    assert np.abs(weights).max() < 2


@given(seed=st.integers(0, 10**6), m=st.integers(1, 700), k=st.integers(1, 12))
def test_bounds_have_the_smallest_below_them_and_few_others(seed, m, k):
    k = min(k, m)
    values = np.random.RandomState(seed).randint(-500, 500, (9, m)).astype(np.float32)
    minima, lowest = np.empty((9, m // 8), np.float32), np.empty((k, 9), np.float32)
    bound_smallest(values, minima, lowest)
    bounds = lowest[-1]
    assert (np.sort(values, axis=1)[:, k - 1] <= bounds).all()
    chunks, found = np.empty(m // 8 + 1, np.int32), np.empty(m + 1, np.int32)
    for i in range(9):
        n_found = find_below(values[i], minima[i], bounds[i], chunks, found)
        assert_array_equal(np.sort(found[:n_found]), np.flatnonzero(values[i] <= bounds[i]))


def test_a_bound_leaves_hardly_more_than_are_wanted():
    values = np.random.RandomState(0).standard_normal((500, 1000))
    minima, lowest = np.empty((500, 125)), np.empty((5, 500))
    bound_smallest(values, minima, lowest)
    assert (values <= lowest[-1][:, None]).sum(axis=1).mean() < 6


each_type = each("dtype", [np.float32, np.float64])


def near(landmarks, n_neighbors=5, saturating=True):
    preparation = Preparation(np.zeros(landmarks.shape[1]), 0.5)
    return NearLandmarks(landmarks, preparation, n_neighbors, saturating)


def in_clusters(n, d=6):
    """Rows of few possible values, so that many distances are equal, around a dozen places."""
    rng = np.random.RandomState(0)
    places = rng.randint(-40, 41, (12, d))
    return (places[rng.randint(12, size=n)] + rng.randint(-2, 3, (n, d))).astype(np.float64)


def nearest_by_sorting(X, landmarks, k):
    squared = ((X[:, None] - landmarks[None]) ** 2).sum(axis=2)
    return np.sort(np.argsort(squared, axis=1, kind="stable")[:, :k], axis=1)


@each_type
@each(("by_pivots", "n_neighbors"), [(False, 1), (False, 12), (True, 1), (True, 5), (True, 12)])
def test_nearest_are_found_and_of_those_equally_far_the_first(dtype, by_pivots, n_neighbors):
    rows = in_clusters(550)
    X, landmarks = rows[:250], rows[250:]
    neighbors, weights = near(landmarks, n_neighbors).weights(X.astype(dtype), by_pivots)
    assert_array_equal(neighbors, nearest_by_sorting(X, landmarks, n_neighbors))
    assert_array_equal(near(landmarks, n_neighbors).neighbors_of_few(X.astype(dtype))[0], neighbors)
    assert_allclose(weights.sum(axis=1), 1, atol=1e-5)


@each_type
@each("saturating", [False, True])
def test_what_pivots_leave_out_changes_nothing(dtype, saturating):
    rng = np.random.RandomState(0)
    X = (in_clusters(3000) + rng.standard_normal((3000, 6))).astype(dtype)
    X[7] = 1e12  # far from all of them
    search = near(X[::10], saturating=saturating)
    plain, by_pivots = search.weights(X, False), search.weights(X, True)
    assert_array_equal(by_pivots[0], plain[0])
    assert_array_equal(by_pivots[1], plain[1])


def test_pivots_pay_where_rows_lie_in_clusters_and_not_for_noise():
    rng = np.random.RandomState(0)
    noise, clusters = rng.standard_normal((20_000, 30)), in_clusters(20_000)
    assert near(clusters[::50]).pivots_pay(clusters)
    assert not near(noise[::50]).pivots_pay(noise)
    assert not near(clusters[::50]).pivots_pay(clusters[:1000])  # too few to be worth while
    # Landmarks that are all the same have pivots, too.
    X = np.concatenate([np.ones((300, 2)), np.zeros((5, 2))])
    neighbors, weights = near(X[:300]).weights(X, True)
    assert_array_equal(neighbors, np.tile(np.arange(5), (305, 1)))
    assert_allclose(weights, 0.2)


@each("name", ["rbf", "linear", "cosine"])
def test_rows_of_a_large_array_are_embedded_as_the_few_are(name):
    X = in_clusters(20_500).astype(np.float32) + 0.25
    X += np.random.RandomState(0).uniform(-0.2, 0.2, X.shape).astype(np.float32)
    landmarks, coordinates = X[::70], np.random.RandomState(1).standard_normal((293, 3))
    extension = LocalExtension(KernelLandmarks(Kernel(name, gamma=0.01), landmarks), 5)
    few = np.concatenate([extension.embed(part, coordinates) for part in np.split(X, 50)])
    assert_allclose(extension.embed(X, coordinates), few, rtol=1e-6, atol=1e-6)
