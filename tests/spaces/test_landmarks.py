import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nearkin.spaces import landmarks as module
from nearkin.spaces.kernels import Kernel
from nearkin.spaces.landmarks import STRATEGIES, _leverage_scores, choose_landmarks
from tests import oracles
from tests.cases import each

RBF = Kernel("rbf", gamma=0.5)
NONE = np.array([], dtype=np.int64)
every_strategy = each("strategy", STRATEGIES)


def choose(X, m, strategy, kernel=RBF, include=NONE, random_state=0):
    return choose_landmarks(
        X, m, strategy, kernel=kernel, include=np.asarray(include), random_state=random_state
    )


@pytest.fixture
def X():
    return np.random.RandomState(0).standard_normal((120, 2))


@every_strategy
@given(n=st.integers(1, 40), m=st.integers(1, 50), data=st.data())
def test_landmarks_are_as_many_as_asked_distinct_sorted_and_include_the_given(strategy, n, m, data):
    given_rows = data.draw(st.sets(st.integers(0, n - 1), max_size=n))
    include = np.array(sorted(given_rows), dtype=np.int64)
    copies = data.draw(st.integers(1, 5))  # some rows coincide
    X = np.random.RandomState(n).standard_normal((n, 2)).round(1)[np.arange(n) // copies]
    rows = choose(X, m, strategy, include=include)
    assert rows.dtype == np.int64
    assert len(rows) == max(min(m, n), len(include))
    assert (np.diff(rows) > 0).all()
    assert set(include) <= set(rows) <= set(range(n))


@every_strategy
def test_same_seed_same_landmarks_other_seed_others(strategy, X):
    first = choose(X, 10, strategy, random_state=3)
    assert_array_equal(choose(X, 10, strategy, random_state=3), first)
    assert not np.array_equal(choose(X, 10, strategy, random_state=4), first)


@every_strategy
@each("name", ["rbf", "laplacian", "poly", "cosine", "linear"])
def test_sparse_rows_and_precomputed_kernels_give_the_same_landmarks(strategy, name, X):
    kernel = Kernel(name, gamma=0.5, degree=2)
    include = [5, 70]
    rows = choose(X, 12, strategy, kernel, include)
    assert_array_equal(choose(sp.csr_array(X), 12, strategy, kernel, include), rows)
    K = kernel(X, X)
    assert_array_equal(choose(K, 12, strategy, Kernel("precomputed"), include), rows)
    called = Kernel("callable", function=kernel)
    assert_array_equal(choose(X, 12, strategy, called, include), rows)


def test_leverage_of_a_kernel_of_low_rank_is_no_rounding_error(X):
    # A rank of two, where twelve landmarks are wanted: rounding must not choose among rows.
    K = Kernel("cosine")(X, X)
    plain = choose(K, 12, "leverage", Kernel("precomputed"), [5])
    for seed in range(10):
        noise = 1e-16 * np.random.RandomState(seed).standard_normal(K.shape)
        rounded = choose(K + noise + noise.T, 12, "leverage", Kernel("precomputed"), [5])
        assert_array_equal(rounded, plain)
    # Of a zero kernel all rows are alike.
    assert len(choose(np.zeros((30, 2)), 5, "leverage", Kernel("linear"))) == 5


@each("name", ["rbf", "linear", "cosine"])
@each("include", [[17], [3, 50, 90]])
def test_farthest_equals_the_greedy_search(name, include, X):
    kernel = Kernel(name, gamma=0.5)
    K = oracles.kernel_matrix(name, X, X, gamma=0.5)
    distances = np.add.outer(np.diag(K), np.diag(K)) / 2 - K
    rows = choose(X, 20, "farthest", kernel, include)
    assert rows.tolist() == oracles.farthest_rows(distances, 20, include)
    rows = choose(X, 8, "farthest", kernel)  # which starts from a random one
    assert rows.tolist() in [oracles.farthest_rows(distances, 8, [start]) for start in rows]


@pytest.mark.night
def test_kmeans_plusplus_draws_in_proportion_to_the_squared_distance():
    X = np.array([[0.0], [1.0], [2.0], [3.0]])
    linear, draws = Kernel("linear"), 1500
    picked = [choose(X, 2, "kmeans++", linear, [0], seed)[1] for seed in range(draws)]
    share = np.bincount(picked, minlength=4) / draws
    # Four standard deviations of a share.
    assert_allclose(share, np.array([0, 1, 4, 9]) / 14, atol=4 * 0.5 / np.sqrt(draws))


@each("strategy", ["farthest", "kmeans++"])
def test_neither_copies_nor_rounding_choose_a_row_twice(strategy):
    X = np.repeat([[0.0], [1.0]], 5, axis=0)
    rows = choose(X, 7, strategy, Kernel("linear"))
    assert len(set(rows)) == 7
    assert set(X[rows, 0]) == {0.0, 1.0}
    # So far from the origin a row's distance to itself is rounding, as large as any other.
    X = 1e8 + np.random.RandomState(0).standard_normal((60, 3))
    rows = choose(X, 59, strategy, Kernel("linear"))
    assert len(set(rows)) == 59


def test_leverage_scores_equal_their_definition_and_from_a_sample_nearly_so(X, monkeypatch):
    exact = oracles.ridge_leverage(oracles.kernel_matrix("rbf", X, X, gamma=0.5), 10)
    scores = _leverage_scores(X, np.arange(len(X)), RBF, 20, np.random.RandomState(0))
    # Every row is a reference row here, so the estimate is exact up to the factor λ.
    assert_allclose(scores / scores.sum() * 10, exact, rtol=1e-6)
    monkeypatch.setattr(module, "_REFERENCE_ROWS", 80)
    scores = _leverage_scores(X, np.arange(len(X)), RBF, 20, np.random.RandomState(0))
    assert np.corrcoef(np.argsort(np.argsort(scores)), np.argsort(np.argsort(exact)))[0, 1] > 0.9


@each("strategy", ["kmeans++", "farthest", "leverage"])
def test_strategies_look_at_a_sample_of_many_rows(strategy, X, monkeypatch):
    monkeypatch.setattr(module, "_SAMPLE_ROWS", 30)
    seen = []
    full = Kernel("callable", function=lambda A, B: seen.append(len(A)) or RBF(A, B))
    assert len(choose(X, 3, strategy, full, [0])) == 3
    assert max(seen) == 30


def test_named_rows_are_taken_as_they_are_with_the_given_ones(X):
    rows = choose(X, 0, [9, 4, 9, 100], include=[7])
    assert rows.tolist() == [4, 7, 9, 100]


@each(
    ("named", "message"),
    [
        ([3, 120], "landmarks names row 120, but X has 120 rows"),
        ([-1], "landmarks names row -1"),
        ([0.5], "one-dimensional array of integers, got .* float64"),
        ([], "non-empty"),
        ([[1, 2]], r"got shape \(1, 2\)"),
        ([True, False], "integers, got .* bool"),
        ("nearest", r"landmarks='nearest' is unknown: use one of \('random'.* or row numbers"),
    ],
)
def test_wrong_landmarks_are_refused_by_name(named, message, X):
    with pytest.raises(ValueError, match=message):
        choose(X, 5, named)
