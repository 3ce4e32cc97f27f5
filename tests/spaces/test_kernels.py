from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics.pairwise import rbf_kernel

from nearkin.spaces import kernels
from nearkin.spaces.kernels import (
    Kernel,
    bind_kernel,
    center_coefficients,
    center_kernel,
    check_kernel_matrix,
    distances_from_kernel,
    half_squared_distances,
    resolve_gamma,
)
from tests import oracles
from tests.cases import each

NAMES = ("rbf", "laplacian", "poly", "cosine", "linear")
PARAMETERS = {"gamma": 0.7, "degree": 2, "coef0": 0.5}


@pytest.fixture
def rows():
    rng = np.random.RandomState(0)
    A, B = rng.standard_normal((6, 3)), rng.standard_normal((5, 3))
    A[2], B[1] = 0, A[0]  # a zero row, for cosine, and a common one
    return A, B


@each("name", NAMES)
def test_kernel_equals_its_definition(name, rows):
    A, B = rows
    kernel = Kernel(name, **PARAMETERS)
    expected = oracles.kernel_matrix(name, A, B, **PARAMETERS)
    assert_allclose(kernel(A, B), expected, rtol=1e-12, atol=1e-14)
    assert_allclose(kernel.diagonal(A), np.diag(kernel(A, A)), rtol=1e-12)


@each("name", NAMES)
def test_sparse_rows_equal_dense_rows(name, rows):
    A, B = rows
    kernel = Kernel(name, **PARAMETERS)
    S, T = sp.csr_array(A), sp.csr_array(B)
    # Euclidean distances of sparse rows come from inner products.
    assert_allclose(kernel(S, T), kernel(A, B), rtol=1e-12, atol=1e-12)
    assert_allclose(kernel.diagonal(S), kernel.diagonal(A), rtol=1e-12)
    sparse, dense = half_squared_distances(kernel, S, T)[0], half_squared_distances(kernel, A, B)[0]
    assert_allclose(sparse, dense, rtol=1e-12, atol=1e-12)


@each("name", NAMES)
def test_half_squared_distances_equal_their_definition(name, rows):
    A, B = rows
    distances, _ = half_squared_distances(Kernel(name, **PARAMETERS), A, B)
    k = partial(oracles.kernel_value, name, **PARAMETERS)
    expected = [[oracles.half_squared_distance(k(x, x), k(y, y), k(x, y)) for y in B] for x in A]
    assert_allclose(distances, expected, rtol=1e-10, atol=1e-14)


@each("dtype", [np.float32, np.float64])
@each("name", NAMES)
def test_equal_rows_are_at_a_distance_within_the_stated_rounding(name, dtype):
    A = (10 * np.random.RandomState(0).standard_normal((50, 4))).astype(dtype)
    distances, rounding = half_squared_distances(Kernel(name, **PARAMETERS), A, A.copy())
    assert (np.diag(distances) <= rounding).all()
    others = distances[~np.eye(50, dtype=bool)].reshape(50, 49)
    assert (others > rounding[:, None]).all()


def test_small_distances_do_not_cancel_with_the_laplacian_kernel_and_are_never_negative():
    A = np.array([[0.0]])
    distances, _ = half_squared_distances(Kernel("laplacian", gamma=1.0), A, A + 1e-20)
    assert_allclose(distances, [[1e-20]])
    K = np.array([[1.0, 1.0 + 1e-15], [1.0 + 1e-15, 1.0]])
    distances, _ = distances_from_kernel(K, np.diag(K), np.diag(K))
    assert_array_equal(distances, np.zeros((2, 2)))


@each("container", [np.asarray, sp.csr_array])
@each(
    ("dtype", "exponent"),
    [(np.float32, 80), (np.float32, -27), (np.float64, 600), (np.float64, -60), (np.float64, -600)],
)
def test_cosine_does_not_depend_on_the_length_of_rows(dtype, exponent, container, rows):
    A, B = (part.astype(dtype) for part in rows)
    kernel, scale = Kernel("cosine"), dtype(2.0) ** exponent  # a power of two rounds nothing
    K = kernel(container(A), container(B))
    assert_allclose(kernel(container(A * scale), container(B)), K, rtol=1e-6)
    scaled, _ = half_squared_distances(kernel, container(A * scale), container(B))
    distances, _ = half_squared_distances(kernel, container(A), container(B))
    assert_allclose(scaled, distances, atol=1e-6)


@given(st.integers(2, 12), st.integers(0, 10**6))
def test_centring_equals_the_product_with_h_and_of_new_rows_the_training_mean_less(n, seed):
    rng = np.random.RandomState(seed)
    F, F_new = rng.standard_normal((n, 3)), rng.standard_normal((4, 3))
    K, K_new = F @ F.T, F_new @ F.T
    assert_allclose(center_kernel(K), oracles.center(K), atol=1e-12)
    expected = (F_new - F.mean(axis=0)) @ (F - F.mean(axis=0)).T
    C, constant = center_coefficients(np.eye(n), K.mean(axis=0))
    assert_allclose(K_new @ C + constant, expected, atol=1e-13)
    assert_allclose(oracles.center_new(K_new, K), expected, atol=1e-13)


@given(st.integers(2, 20), st.integers(1, 4), st.integers(0, 10**6))
def test_mean_rule_is_one_over_the_mean_over_all_pairs(n, d, seed):
    X = np.random.RandomState(seed).standard_normal((n, d))
    expected = 1 / oracles.mean_squared_distance(X)
    assert_allclose(resolve_gamma("mean", X), expected, rtol=1e-9)
    assert_allclose(resolve_gamma("mean", sp.csr_array(X)), expected, rtol=1e-9)


@each(("rule", "manhattan"), [("median", False), ("mean", True), ("median", True)])
@each("container", [np.asarray, sp.csr_array])
def test_other_rules_equal_a_double_loop(rule, manhattan, container):
    X = np.random.RandomState(0).standard_normal((15, 3))
    power = 1 if manhattan else 2
    distances = [(np.abs(x - y) ** power).sum() for i, x in enumerate(X) for y in X[:i]]
    typical = np.mean(distances) if rule == "mean" else np.median(distances)
    gamma = resolve_gamma(rule, container(X), manhattan=manhattan)
    assert_allclose(gamma, 1 / typical, rtol=1e-12)


def test_rules_are_right_in_float32_far_from_the_origin_and_for_mostly_equal_rows():
    X = np.random.RandomState(0).standard_normal((200, 3)).astype(np.float32)
    # An offset of 1024 keeps four digits of each number.
    assert_allclose(resolve_gamma("mean", X + 1024), resolve_gamma("mean", X), rtol=1e-4)
    # The median of mostly equal rows falls back to the mean.
    X[1:] = X[1]
    assert_allclose(resolve_gamma("median", X), 1 / oracles.mean_squared_distance(X), rtol=1e-6)


@each("manhattan", [False, True])
def test_rules_look_at_a_sample_of_many_rows(manhattan, monkeypatch):
    monkeypatch.setattr(kernels, "_BANDWIDTH_ROWS", 60)
    X = np.random.RandomState(0).standard_normal((500, 3))
    draws = [
        resolve_gamma("median", X, manhattan=manhattan, random_state=seed) for seed in (0, 0, 1)
    ]
    assert draws[0] == draws[1] != draws[2]
    monkeypatch.undo()
    # 60 rows give the median to a few per cent.
    assert_allclose(draws, resolve_gamma("median", X, manhattan=manhattan), rtol=0.2)


@each("rule", ["mean", "median"])
@each("manhattan", [False, True])
@each("value", [0.0, 0.1, 1e8 / 3])
@each("container", [np.asarray, sp.csr_array])
def test_equal_rows_have_any_bandwidth(rule, manhattan, value, container):
    X = container(np.full((11, 3), value))
    assert resolve_gamma(rule, X, manhattan=manhattan) == 1.0


@each("gamma", [0, -1.0, np.inf, np.nan, "auto"])
def test_wrong_gamma_is_refused_by_name_and_distances_beyond_numbers_with_a_remedy(gamma):
    with pytest.raises(ValueError, match=r"gamma=.* 'mean' or 'median'"):
        resolve_gamma(gamma, np.eye(3))
    with pytest.raises(ValueError, match=r"too extreme .* StandardScaler"):
        resolve_gamma("mean", np.array([[0.0], [1e-160]]))


def test_bound_kernel_has_the_parameters_settled():
    X = np.random.RandomState(0).standard_normal((10, 2))
    assert bind_kernel("rbf", X) == Kernel("rbf", gamma=resolve_gamma("mean", X))
    poly = bind_kernel("poly", X, gamma=0.5, degree=2, coef0=3)
    assert poly == Kernel("poly", gamma=0.5, degree=2, coef0=3)
    assert bind_kernel("laplacian", X).gamma == resolve_gamma("mean", X, manhattan=True)
    assert bind_kernel("cosine", X) == Kernel("cosine")
    assert bind_kernel(rbf_kernel, X) == Kernel("callable", function=rbf_kernel)


@each(
    ("name", "value"),
    [("degree", 0), ("degree", 2.5), ("degree", np.inf), ("coef0", np.nan), ("coef0", -0.5)],
)
def test_wrong_polynomial_is_refused_by_name_and_an_unknown_kernel_with_the_known(name, value):
    with pytest.raises(ValueError, match=f"{name}={value}.*: use a whole degree"):
        bind_kernel("poly", np.eye(2), **{name: value})
    with pytest.raises(ValueError, match=r"kernel='gaussian' is unknown: use one of \('rbf'"):
        bind_kernel("gaussian", np.eye(2))


def test_callable_kernel_is_used_as_it_is(rows):
    A, B = rows
    kernel = Kernel("callable", function=rbf_kernel)
    assert_array_equal(kernel(A, B), rbf_kernel(A, B))
    assert_allclose(kernel.diagonal(A), np.ones(len(A)), rtol=1e-14)


@each(
    ("shape", "message"),
    [((6, 2), r"gave shape \(6, 2\) .* must return .* \(6, 5\)"), ((6, 5), "callable gave NaN")],
)
def test_callable_of_wrong_shape_or_with_nan_is_refused(shape, message, rows):
    kernel = Kernel("callable", function=lambda A, B: np.full(shape, np.nan))
    with pytest.raises(ValueError, match=message):
        kernel(*rows)


def test_kernel_matrices_pass_the_check():
    X = 100 * np.random.RandomState(0).standard_normal((20, 3))
    for name in NAMES:
        check_kernel_matrix(Kernel(name, gamma=1e-4)(X, X))
        check_kernel_matrix(Kernel(name, gamma=1e-4)(X, X).astype(np.float32))
    check_kernel_matrix(np.zeros((3, 3)))
    check_kernel_matrix(1e200 * np.eye(3))
    x = np.array([0.1, 0.2, 0.3])  # rounding makes a centred matrix's diagonal negative
    K = center_kernel(np.outer(x, x) + 0.3)
    assert K[1, 1] < 0
    check_kernel_matrix(K)


@each(
    ("K", "message"),
    [
        (np.ones((3, 2)), r"square kernel matrix .* got shape \(3, 2\)"),
        (np.array([[1.0, 0.5], [0.2, 1.0]]), r"not symmetric: K\[0, 1\] = 0.5 but K\[1, 0\] = 0.2"),
        (np.array([[0.0, 3.0], [3.0, 0.0]]), r"K\[0, 1\] = 3 .* Is it a matrix of distances\?"),
        (np.array([[1.0, 0.0], [0.0, -1.0]]), r"not a kernel matrix: .*K\[1, 1\] = -1"),
    ],
)
def test_other_matrices_are_refused_and_the_entry_named(K, message):
    with pytest.raises(ValueError, match=message):
        check_kernel_matrix(K)
