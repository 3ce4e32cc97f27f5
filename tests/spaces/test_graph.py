"""Neighbour graphs and Laplacians, against loops."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nearkin.spaces.graph import average_equal_rows, ball_graph, laplacian, neighbor_graph
from tests.cases import each


def slow_distance(x, y, metric):
    if metric == "cosine":
        x, y = x / np.linalg.norm(x), y / np.linalg.norm(y)
    return np.linalg.norm(x - y)


def slow_weights(X, edges, metric, weight):
    n = len(X)
    lengths = {(i, j): slow_distance(X[i], X[j], metric) for i, j in edges}
    mean = np.mean([length**2 for length in lengths.values()])
    W = np.zeros((n, n))
    for (i, j), length in lengths.items():
        cosine = X[i] @ X[j] / np.linalg.norm(X[i]) / np.linalg.norm(X[j])
        heat = np.exp(-(length**2) / mean)
        W[i, j] = W[j, i] = {"binary": 1, "heat": heat, "cosine": max(1e-10, cosine)}[weight]
    return W


def slow_neighbor_graph(X, k, metric, weight, mutual):
    n = len(X)
    named = []
    for i in range(n):
        distances = {j: slow_distance(X[i], X[j], metric) for j in range(n) if j != i}
        named.append(sorted(distances, key=distances.get)[:k])
    least = 2 if mutual else 1
    both = ((j, i) for i in range(n) for j in range(i))
    edges = [(j, i) for j, i in both if (i in named[j]) + (j in named[i]) >= least]
    return slow_weights(X, edges, metric, weight)


def random_rows(seed, n=25, d=4):
    return np.random.default_rng(seed).standard_normal((n, d)) + 0.5


def assert_graph(W, n):
    """What every graph of this module is."""
    assert isinstance(W, sp.csr_array)
    assert W.shape == (n, n)
    assert W.dtype == np.float64
    assert (W != W.T).nnz == 0
    assert_array_equal(W.diagonal(), 0)
    assert (W.data > 0).all()
    assert W.has_canonical_format


@settings(max_examples=25, deadline=None)
@given(
    st.integers(0, 10**6),
    st.integers(1, 8),
    st.sampled_from(["euclidean", "cosine"]),
    st.sampled_from(["binary", "heat", "cosine"]),
    st.booleans(),
)
def test_neighbor_graph_is_what_loops_find(seed, k, metric, weight, mutual):
    X = random_rows(seed)
    W = neighbor_graph(X, k, metric=metric, weight=weight, mutual=mutual)
    assert_graph(W, len(X))
    expected = slow_neighbor_graph(X, k, metric, weight, mutual)
    assert_allclose(W.toarray(), expected, rtol=1e-9, atol=1e-12)


@each("metric", ["euclidean", "cosine"])
@each("weight", ["binary", "heat", "cosine"])
def test_ball_graph_is_what_loops_find(metric, weight):
    X = random_rows(1)
    radius = 1.0 if metric == "cosine" else 2.5
    both = ((i, j) for i in range(len(X)) for j in range(i))
    edges = [(i, j) for i, j in both if slow_distance(X[i], X[j], metric) <= radius]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # lonely rows have a test of their own
        W = ball_graph(X, radius, metric=metric, weight=weight)
    assert_graph(W, len(X))
    assert 0 < W.nnz < len(X) * (len(X) - 1)
    assert_allclose(W.toarray(), slow_weights(X, edges, metric, weight), rtol=1e-9)


def test_lonely_rows_of_a_ball_graph_are_told():
    with pytest.warns(UserWarning, match=r"1 of 3 rows have no other within radius=1\.5.*larger"):
        W = ball_graph([[0.0], [1.0], [5.0]], 1.5)
    assert_array_equal(W.toarray(), [[0, 1, 0], [1, 0, 0], [0, 0, 0]])


@each("n_neighbors", [5, 6, 100])
def test_more_neighbors_than_rows_is_the_complete_graph(n_neighbors):
    for n in (6, 1):
        W = neighbor_graph(random_rows(0, n=n), n_neighbors)
        assert_graph(W, n)
        assert_array_equal(W.toarray(), 1 - np.eye(n))


@each("weight", ["binary", "heat", "cosine"])
def test_duplicates_are_joined_with_weight_one_and_never_with_themselves(weight):
    X = np.repeat([[1.0, 2.0], [30.0, -4.0]], 6, axis=0)
    W = neighbor_graph(X, 3, weight=weight)
    assert_graph(W, 12)
    assert (np.diff(W.indptr) >= 3).all()
    assert_allclose(W.data, 1)
    assert W[:6, 6:].nnz == 0


def test_joined_rows_stay_joined_however_far_or_unlike():
    far = neighbor_graph([[0.0], [1e-3], [1e-3], [2e-3], [1e6]], 1, weight="heat")
    assert far[[4]].nnz == 1
    unlike = neighbor_graph([[1.0, 0.0], [-1.0, 0.1]], 1, weight="cosine")
    assert_array_equal(unlike.toarray(), [[0, 1e-10], [1e-10, 0]])
    zero = neighbor_graph([[0.0, 0.0], [1.0, 0.0], [3.0, 0.0]], 1, weight="cosine")
    assert_allclose(zero.toarray(), [[0, 1e-10, 0], [1e-10, 0, 1], [0, 1, 0]])


@each("container", [sp.csr_array, sp.csr_matrix, sp.coo_array])
@each("metric", ["euclidean", "cosine"])
@each("weight", ["binary", "heat", "cosine"])
def test_sparse_rows_give_what_dense_ones_give(container, metric, weight):
    rng = np.random.default_rng(3)
    X = np.where(rng.random((60, 30)) < 0.3, rng.random((60, 30)), 0)
    dense = neighbor_graph(X, 4, metric=metric, weight=weight)
    sparse = neighbor_graph(container(X), 4, metric=metric, weight=weight)
    assert_graph(sparse, 60)
    assert_allclose(sparse.toarray(), dense.toarray(), rtol=1e-9)


@each("container", [np.asarray, sp.csr_array])
def test_rows_without_direction_stay_isolated(container):
    X = random_rows(4, n=20)
    X[[3, 11]] = 0
    with pytest.warns(UserWarning, match="2 rows of X are all zero.*Leave them out"):
        W = neighbor_graph(container(X), 4, metric="cosine", weight="cosine")
    assert_graph(W, 20)
    assert W[[3, 11]].nnz == 0
    others = np.setdiff1d(np.arange(20), [3, 11])
    without = neighbor_graph(X[others], 4, metric="cosine", weight="cosine")
    assert_allclose(W[others][:, others].toarray(), without.toarray())
    with pytest.warns(UserWarning, match="2 rows of X are all zero"):
        assert ball_graph(container(X), 3, metric="cosine")[[3, 11]].nnz == 0
    with (
        pytest.warns(UserWarning, match="4 rows of X are all zero"),
        pytest.raises(ValueError, match="All rows of X are zero"),
    ):
        neighbor_graph(container(np.zeros((4, 2))), metric="cosine")


def test_float32_gives_the_same_graph_in_float64():
    X = random_rows(5, n=80).astype(np.float32)
    single, double = (neighbor_graph(A, 5, weight="heat") for A in (X, X.astype(np.float64)))
    assert_graph(single, 80)
    assert_allclose(single.toarray(), double.toarray(), rtol=1e-6)


@each(
    ("arguments", "message"),
    [
        ({"metric": "manhattan"}, "metric must be one of euclidean, cosine; got 'manhattan'"),
        ({"weight": "rbf"}, "weight must be one of binary, heat, cosine; got 'rbf'"),
        ({"search": "fast"}, "search must be one of auto, exact, approximate; got 'fast'"),
        ({"n_neighbors": 0}, "n_neighbors must be at least 1, got 0"),
    ],
)
def test_wrong_arguments_are_named(arguments, message):
    with pytest.raises(ValueError, match=message):
        neighbor_graph(random_rows(0), **arguments)
    for radius in (0, -1.0, np.nan):
        with pytest.raises(ValueError, match="radius must be positive, got"):
            ball_graph([[0.0], [1.0]], radius)


def test_approximate_search_finds_nearly_all_edges():
    X = random_rows(7, n=1000)
    X[:20] = X[0]  # duplicates, more of them than neighbours
    exact = neighbor_graph(X, 10)
    found, again = (neighbor_graph(X, 10, search="approximate", random_state=0) for _ in range(2))
    assert_graph(found, len(X))
    assert (found != again).nnz == 0
    assert found[20:, 20:].multiply(exact[20:, 20:]).nnz > 0.95 * exact[20:, 20:].nnz
    assert (np.diff(found.indptr) >= 10).mean() > 0.99


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.booleans())
def test_laplacian_is_what_its_definition_says(seed, normalized):
    W = neighbor_graph(random_rows(seed), 3, weight="heat", mutual=True).toarray()
    n = len(W)
    expected = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            own, other = W[i].sum(), W[j].sum()
            if i == j:
                expected[i, j] = (1.0 if normalized else own) if own > 0 else 0.0
            elif W[i, j] > 0:
                expected[i, j] = -W[i, j] / (np.sqrt(own * other) if normalized else 1.0)
    L = laplacian(W, normalized=normalized)
    assert isinstance(L, sp.csr_array)
    assert_allclose(L.toarray(), expected, atol=1e-14)
    assert np.linalg.eigvalsh(L.toarray()).min() > -1e-12
    null = np.sqrt(W.sum(axis=1)) if normalized else np.ones(n)
    assert_allclose(L @ null, 0, atol=1e-12)


@each(("normalized", "weight"), [(False, 2), (True, 1)])
def test_isolated_points_have_zero_rows_and_loops_do_not_count(normalized, weight):
    W = np.zeros((4, 4))
    W[0, 0], W[0, 1], W[1, 0] = 5, 2, 2
    expected = np.zeros((4, 4))
    expected[:2, :2] = [[weight, -weight], [-weight, weight]]
    assert_allclose(laplacian(W, normalized=normalized).toarray(), expected)


@each(
    ("W", "message"),
    [
        (np.ones((2, 3)), r"W must be square, got shape \(2, 3\)"),
        ([[0, 1], [0, 0]], "W must be symmetric"),
        ([[0, -1], [-1, 0]], "none of them negative"),
        ([[0, np.nan], [np.nan, 0]], "finite weights"),
    ],
)
def test_what_is_no_graph_has_no_laplacian(W, message):
    with pytest.raises(ValueError, match=message):
        laplacian(W)


@each("form", [np.asarray, sp.csr_array])
@each("options", [{"metric": "cosine"}, {"weight": "cosine"}])
def test_directions_of_very_short_rows(options, form):
    X = np.random.RandomState(0).standard_normal((20, 3))
    short = neighbor_graph(form(2.0**-500 * X), 4, **options).toarray()
    assert_array_equal(short, neighbor_graph(form(X), 4, **options).toarray())


def test_equal_rows_have_one_place_however_they_are_stored():
    X = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 0.0], [3.0, 0.0]])
    Z = np.arange(8.0).reshape(4, 2)
    expected = np.array([[2.0, 3], [2, 3], [2, 3], [6, 7]])
    expected[1] = Z[1]
    twice = sp.csr_array(([0.5, 0.5, 2, 1, 0, 3], [0, 0, 1, 0, 1, 0], [0, 2, 3, 5, 6]), (4, 2))
    for rows in (X, sp.csr_array(X), twice):
        assert_allclose(average_equal_rows(rows, Z), expected)
        parallel = average_equal_rows(rows, Z, "cosine")
        assert_allclose(parallel[[0, 2, 3]], [Z[[0, 2, 3]].mean(axis=0)] * 3)
