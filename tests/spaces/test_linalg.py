import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nearkin.spaces import linalg
from nearkin.spaces.linalg import (
    fix_signs,
    leading_eigenpairs,
    low_rank_factor,
    principal_coordinates,
)
from tests.cases import each


def with_spectrum(values, seed=0):
    n = len(values)
    Q = np.linalg.qr(np.random.RandomState(seed).standard_normal((n, n)))[0]
    A = (Q * values) @ Q.T
    return (A + A.T) / 2


def test_fix_signs_makes_the_largest_entry_positive_whatever_rounding_does():
    fixed = fix_signs(np.array([[1.0, 0.5, 0.0], [-3.0, 2.0, 0.0]]))
    assert_array_equal(fixed, [[-1.0, 0.5, 0.0], [3.0, 2.0, 0.0]])
    symmetric = np.array([[-0.65], [-0.27], [0.27], [0.65]])
    for last in np.nextafter(0.65, [0.0, 1.0]):
        symmetric[-1] = last
        assert_array_equal(fix_signs(symmetric), -symmetric)


@each("shape", [(40, 6), (5, 9), (7, 2), (6, 1)])
@each("dtype", [np.float64, np.float32])
def test_principal_coordinates_keep_the_most_of_all_distances(shape, dtype):
    Z = np.random.RandomState(0).standard_normal(shape).astype(dtype) + 3
    found = principal_coordinates(Z, 3)
    assert found.shape == (shape[0], 3)
    assert found.dtype == dtype
    values = np.linalg.svd(Z - Z.mean(axis=0), compute_uv=False)
    expected = np.zeros(3)
    expected[: len(values)] = values[:3] ** 2
    rounding = 1e-10 if dtype == np.float64 else 1e-4
    assert_allclose(found.T @ found, np.diag(expected), atol=rounding)
    assert_array_equal(principal_coordinates(Z.copy(), 3), found)
    assert_array_equal(principal_coordinates(np.ones((4, 3))), np.zeros((4, 2)))


def test_eigenpairs_reconstruct_the_matrix_which_stays():
    A = with_spectrum(np.arange(1.0, 9.0))
    before = A.copy()
    values, vectors = leading_eigenpairs(A, 0.0)
    assert_allclose(values, np.arange(8, 0, -1))
    assert_allclose(vectors.T @ vectors, np.eye(8), atol=1e-13)
    assert_allclose((vectors * values) @ vectors.T, A, atol=1e-12)
    assert_array_equal(vectors, fix_signs(vectors))
    assert_array_equal(A, before)


@each(("rank_tol", "kept"), [(0.05, 4), (0.15, 3), (0.3, 2), (0.9, 1)])
def test_rank_tol_is_relative_to_the_largest_eigenvalue(rank_tol, kept):
    A = with_spectrum(np.array([20.0, 8.0, 4.0, 2.0, 0.5]))
    values, vectors = leading_eigenpairs(A, rank_tol)
    assert_allclose(values, [20.0, 8.0, 4.0, 2.0][:kept])
    assert vectors.shape == (5, kept)


def test_directions_of_rounding_and_of_nothing_are_never_kept():
    F = np.random.RandomState(0).standard_normal((30, 3))
    assert len(leading_eigenpairs(F @ F.T, 0.0)[0]) == 3
    values, vectors = leading_eigenpairs(np.zeros((4, 4)), 0.01)
    assert (values.shape, vectors.shape) == ((0,), (4, 0))


@pytest.fixture
def lanczos_calls(monkeypatch):
    calls = []
    eigsh = linalg.eigsh

    def counted(matrix, k, **options):
        calls.append(k)
        return eigsh(matrix, k=k, **options)

    monkeypatch.setattr(linalg, "eigsh", counted)
    return calls


def rbf_matrix(n, gamma, d=2):
    X = np.random.RandomState(0).uniform(size=(n, d))
    squared = ((X[:, None] - X[None]) ** 2).sum(axis=2)
    return np.exp(-gamma * squared)


@each(("gamma", "calls"), [(9.0, [64]), (90.0, [64, 128])])
def test_lanczos_equals_the_full_decomposition(gamma, calls, lanczos_calls, monkeypatch):
    K = rbf_matrix(1100, gamma)
    monkeypatch.setattr(linalg, "_FULL_EIGH_ROWS", 1000)
    lanczos_calls.clear()
    few, again = leading_eigenpairs(K, 0.01), leading_eigenpairs(K, 0.01)
    assert lanczos_calls == 2 * calls
    assert_array_equal(few[1], again[1])
    monkeypatch.setattr(linalg, "_FULL_EIGH_ROWS", 2000)
    full = leading_eigenpairs(K, 0.01)
    assert lanczos_calls == 2 * calls
    assert len(few[0]) == len(full[0])
    assert_allclose(few[0], full[0], rtol=1e-9)
    # Vectors are as accurate as rounding over the smallest gap allows; the projection is robust.
    assert_allclose((few[1] * few[0]) @ few[1].T, (full[1] * full[0]) @ full[1].T, atol=1e-9)


def test_slowly_decaying_spectrum_falls_back_to_the_full_decomposition(lanczos_calls, monkeypatch):
    monkeypatch.setattr(linalg, "_FULL_EIGH_ROWS", 599)
    values = np.linspace(1, 2, 600)
    found, _ = leading_eigenpairs(with_spectrum(values), 0.01)
    assert lanczos_calls == [64]  # the next would be in vain
    assert_allclose(found, values[::-1])


def test_a_low_rank_factor_gives_the_matrix_back_and_its_eigenpairs(monkeypatch):
    A = np.random.default_rng(0).standard_normal((300, 7))
    K = A @ A.T
    R = low_rank_factor(K, 20, 1e-12 * K.max())
    assert R.shape == (300, 7)
    assert_allclose(R @ R.T, K, atol=1e-10)
    assert low_rank_factor(K, 6, 1e-12 * K.max()) is None
    assert low_rank_factor(np.zeros((4, 4)), 2, 0.0).shape == (4, 0)
    values, vectors = leading_eigenpairs(K, 1e-8)
    monkeypatch.setattr(linalg, "_FULL_EIGH_ROWS", 100)
    found_values, found_vectors = leading_eigenpairs(K, 1e-8)
    assert_allclose(found_values, values)
    assert_allclose(found_vectors, vectors, atol=1e-8)


def test_some_eigenpairs_where_lapack_gives_up(monkeypatch):
    A = np.diag([3.0, 1.0, 2.0, 1.0])

    def eigh(matrix, subset_by_index=None, **options):
        if subset_by_index is not None:
            matrix[:] = np.nan  # overwritten so far
            raise np.linalg.LinAlgError
        return np.linalg.eigh(matrix)

    expected = linalg.some_eigenpairs(A.copy, 1, 2)
    monkeypatch.setattr(linalg, "eigh", eigh)
    values, vectors = linalg.some_eigenpairs(A.copy, 1, 2)
    assert_allclose(values, expected[0])
    assert_allclose(np.abs(A @ vectors), np.abs(vectors * values))


@each(
    "spectrum",
    [
        1 / np.arange(1.0, 401.0),
        np.repeat([5.0, 1.0, 0.5], [1, 199, 200]),  # many are equal
        np.repeat([1.0, 0.0], [3, 397]),
        np.r_[1 + 1e-13 * np.arange(50), np.full(350, 1e-4)],
        -1 / np.arange(1.0, 401.0),
    ],
)
def test_the_largest_eigenpairs_alone_are_those_of_the_full_decomposition(spectrum, monkeypatch):
    A = with_spectrum(spectrum)
    found = leading_eigenpairs(A, 0.01)
    monkeypatch.setattr(linalg, "_SOME_EIGH_ROWS", 401)
    values, vectors = leading_eigenpairs(A, 0.01)
    assert found[0] == pytest.approx(values, rel=1e-12)
    assert_allclose(found[1].T @ found[1], np.eye(len(values)), rtol=0, atol=1e-12)
    # Vectors of equal eigenvalues are determined up to a turn; what they span together is not.
    spanned = (vectors * values) @ vectors.T
    assert_allclose((found[1] * found[0]) @ found[1].T, spanned, rtol=0, atol=1e-12)


@each("A", [np.diag(np.arange(400.0)), np.kron(np.eye(20), np.ones((20, 20)))])
def test_the_largest_eigenpairs_of_matrices_in_parts(A):
    values, vectors = leading_eigenpairs(A, 0.01)
    kept = A * (0.01 * values[0] < A)
    assert_allclose((vectors * values) @ vectors.T, kept, rtol=0, atol=1e-10)


@each("n_large", [40, 300])  # few of all vectors, and many
@each("dtype", [np.float64, np.float32])
def test_the_largest_eigenpairs_are_orthonormal_and_solve_the_problem(n_large, dtype):
    spectrum = np.r_[np.linspace(1, 2, n_large), np.full(400 - n_large, 1e-4)]
    A = with_spectrum(spectrum).astype(dtype)
    values, vectors = linalg._largest_eigenpairs(A, 0.01)
    assert values.dtype == vectors.dtype == dtype
    rounding = 5000 * float(np.finfo(dtype).eps)
    assert np.sort(values) == pytest.approx(spectrum[:n_large], abs=rounding)
    assert_allclose(vectors.T @ vectors, np.eye(n_large), rtol=0, atol=rounding)
    assert_allclose(A @ vectors, vectors * values, rtol=0, atol=rounding)


def fail(*arguments, **options):
    raise np.linalg.LinAlgError


@each(
    ("rank_tol", "name", "broken"),
    [
        (0.05, "dstein", lambda *arguments: (np.zeros((400, 20)), 1)),  # does not converge
        (0.01, "eigvalsh_tridiagonal", fail),
    ],
)
def test_the_largest_eigenpairs_where_parts_of_lapack_give_up(rank_tol, name, broken, monkeypatch):
    A = with_spectrum(1 / np.arange(1.0, 401.0))
    expected = leading_eigenpairs(A, rank_tol)
    monkeypatch.setattr(linalg, name, broken)
    found = leading_eigenpairs(A, rank_tol)
    assert found[0] == pytest.approx(expected[0], rel=1e-12)
    assert_allclose(found[1], expected[1], rtol=0, atol=1e-10)
