"""Extensions from landmarks to all rows, against their definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from nearkin.rows import parallel
from nearkin.spaces.feature_space import LocalExtension, NystroemExtension
from nearkin.spaces.kernels import Kernel, center_kernel
from nearkin.spaces.landmarks import KernelLandmarks
from nearkin.spaces.linalg import leading_eigenpairs
from tests import oracles
from tests.cases import each

NAMES = ("rbf", "laplacian", "poly", "cosine", "linear")
PARAMETERS = {"gamma": 0.3, "degree": 2, "coef0": 1}
COORDINATES = np.random.RandomState(1).standard_normal((30, 3))
each_kernel = each("name", NAMES)
each_type = each("dtype", [np.float32, np.float64])


@pytest.fixture
def rows():
    """New rows and landmarks, neither symmetric about the origin."""
    rng = np.random.RandomState(0)
    return rng.standard_normal((300, 4)) + 0.5, rng.standard_normal((30, 4)) + 0.5


def bound(name):
    return Kernel(name, **PARAMETERS)


def local(name, landmarks, n_neighbors=5):
    return LocalExtension(KernelLandmarks(bound(name), landmarks), n_neighbors)


def nystroem(name, landmarks, rank_tol=0.01):
    seen = KernelLandmarks(bound(name), landmarks)
    return NystroemExtension(
        seen, *leading_eigenpairs(center_kernel(seen.kernel_matrix()), rank_tol)
    )


def weights(extension, X):
    """Weights over the landmarks: what coordinates of zeros and a one are mapped to."""
    return extension.embed(X, np.eye(len(extension.landmarks)))


@each_kernel
@each("n_neighbors", [1, 4, 30])
def test_local_weights_equal_the_dense_solve_from_the_definition(name, n_neighbors, rows):
    X, landmarks = rows[0][:40], rows[1]
    W = weights(local(name, landmarks, n_neighbors), X)
    assert W.shape == (40, 30)
    assert_array_equal((W != 0).sum(axis=1), n_neighbors)
    expected = oracles.local_weight_matrix(name, X, landmarks, n_neighbors, **PARAMETERS)
    # 30 neighbours in few dimensions have a condition number of 30 / EPSILON.
    assert_allclose(W, expected, rtol=1e-6, atol=1e-8)


@each_kernel
@each_type
def test_landmarks_have_unit_weights(name, dtype, rows):
    landmarks = rows[1].astype(dtype)
    W = weights(local(name, landmarks), landmarks)
    assert W.dtype == dtype
    assert_array_equal(W, np.eye(30))


@each_kernel
def test_embedding_is_the_weighted_sum_of_coordinates(name, rows):
    X, landmarks = rows
    extension = local(name, landmarks)
    expected = weights(extension, X) @ COORDINATES
    assert_allclose(extension.embed(X, COORDINATES), expected, atol=1e-12)


@each("name", ["rbf", "linear", "cosine"])
def test_euclidean_path_and_generic_path_agree(name, rows):
    X, landmarks = rows
    called = Kernel("callable", function=bound(name))
    generic = LocalExtension(KernelLandmarks(called, landmarks), 5)
    # The generic path gets distances from kernel values, where small ones cancel.
    assert_allclose(weights(generic, X), weights(local(name, landmarks), X), atol=1e-9)


@each_kernel
@each("make", [local, nystroem])
@each("sparse", ["rows", "landmarks", "both"])
def test_sparse_equals_dense(name, make, sparse, rows):
    X, landmarks = rows
    expected = make(name, landmarks).embed(X, COORDINATES)
    X = sp.csr_array(X) if sparse != "landmarks" else X
    landmarks = sp.csr_array(landmarks) if sparse != "rows" else landmarks
    assert_allclose(make(name, landmarks).embed(X, COORDINATES), expected, atol=1e-8)


@each_kernel
@each("make", [local, nystroem])
def test_float32_stays_and_is_close_to_float64(name, make, rows):
    X, landmarks = rows
    exact = make(name, landmarks).embed(X, COORDINATES)
    for fitted in (landmarks, landmarks.astype(np.float32)):
        single = make(name, fitted).embed(X.astype(np.float32), COORDINATES)
        assert single.dtype == np.float32
        # Conditioned by 5/EPSILON (local) or 1/rank_tol (Nyström) times rounding of 6e-8.
        assert_allclose(single, exact, atol=5e-3)
        assert np.abs(single - exact).mean() < 1e-4


@each("name", ["rbf", "linear"])
@each_type
def test_weights_are_right_far_from_the_origin(name, dtype, rows):
    # Multiples of 1/1024 stay exact in float32 after adding 10^4.
    X, landmarks = (np.round(part * 1024) / 1024 for part in rows)
    near = weights(local(name, landmarks), X)
    far = weights(local(name, (landmarks + 1e4).astype(dtype)), (X + 1e4).astype(dtype))
    # Only the centre, a mean, is rounded: 1e-3 in float32, the same for both sides.
    assert_allclose(far, near, atol=2e-3 if dtype == np.float32 else 1e-9)


@each_kernel
@each("make", [local, nystroem])
def test_result_does_not_depend_on_the_number_of_blocks(name, make, rows, monkeypatch):
    X, landmarks = rows
    extension = make(name, landmarks)
    whole = extension.embed(X, COORDINATES)
    sizes = []
    monkeypatch.setattr(parallel, "_BLOCK_BYTES", 1)
    work = parallel.run_in_blocks
    monkeypatch.setattr(
        parallel, "run_in_blocks", lambda call, n, size: sizes.append(size) or work(call, n, size)
    )
    # Products of blocks of other shapes may round differently.
    assert_allclose(extension.embed(X, COORDINATES), whole, atol=1e-12)
    assert sizes == [64]


def test_more_neighbors_than_landmarks_are_all_landmarks(rows):
    X, landmarks = rows
    few = landmarks[:3]
    assert local("rbf", few, 10).n_neighbors == 3
    assert_array_equal(weights(local("rbf", few, 10), X), weights(local("rbf", few, 3), X))


@each_kernel
def test_nystroem_equals_its_formula(name, rows):
    X, landmarks = rows
    extension = nystroem(name, landmarks)
    K = oracles.kernel_matrix(name, landmarks, landmarks, **PARAMETERS)
    K_new = oracles.kernel_matrix(name, X, landmarks, **PARAMETERS)
    W = oracles.nystroem_weights(K_new, K, extension.eigenvalues, extension.eigenvectors)
    assert_allclose(weights(extension, X), W, atol=1e-9)
    embedded = extension.embed(landmarks, extension.eigenvectors)
    assert_allclose(embedded, extension.eigenvectors, atol=1e-11)


def precomputed(name, landmarks, columns):
    K = bound(name)(landmarks, landmarks)
    return KernelLandmarks(Kernel("precomputed"), K, columns=np.asarray(columns))


@each_kernel
@each_type
def test_precomputed_landmarks_have_unit_weights(name, dtype, rows):
    X, landmarks = rows
    columns = np.arange(30)[::-1] + 5  # the landmarks are some columns of the kernel rows
    everything = np.concatenate([X[:5], landmarks[::-1], X[5:]])
    seen = precomputed(name, landmarks, columns)
    K = bound(name)(landmarks, everything).astype(dtype)
    W = weights(LocalExtension(seen, 5), K)
    # Squaring and dividing k(x, x) to have it from the row alone rounds.
    assert_allclose(W, np.eye(30), atol=10 * np.finfo(dtype).eps)


@each_kernel
def test_precomputed_equals_the_kernel_on_rows_for_nystroem(name, rows):
    X, landmarks = rows
    by_rows = nystroem(name, landmarks)
    by_matrix = NystroemExtension(
        precomputed(name, landmarks, np.arange(30)), by_rows.eigenvalues, by_rows.eigenvectors
    )
    assert_allclose(
        by_matrix.embed(bound(name)(X, landmarks), COORDINATES),
        by_rows.embed(X, COORDINATES),
        atol=1e-12,
    )


@each_kernel
def test_precomputed_new_rows_are_close_although_their_own_kernel_value_is_unknown(name):
    rng = np.random.RandomState(0)
    landmarks = rng.uniform(-1, 1, size=(30, 2))
    X = rng.uniform(-0.8, 0.8, size=(50, 2))
    seen = precomputed(name, landmarks, np.arange(30))
    by_matrix = weights(LocalExtension(seen, 5), bound(name)(X, landmarks))
    by_rows = weights(local(name, landmarks), X)
    assert_array_equal(by_matrix != 0, by_rows != 0)
    # k(x, x) is guessed; it enters through the conditioning of EPSILON only.
    assert_allclose(by_matrix @ landmarks, by_rows @ landmarks, atol=0.01)


@each_kernel
@each_type
@each("make", [local, nystroem])
def test_extreme_rows_give_finite_numbers_or_an_error_that_names_them(name, dtype, make, rows):
    X, landmarks = (part.astype(dtype) for part in rows)
    extension, coordinates = make(name, landmarks), np.eye(30)
    X[7] = np.sqrt(np.finfo(dtype).max) * 1e3 * np.array([1, -1, 1, -1])
    # Local weights of float32 rows are found in float64, where the polynomial does not overflow.
    if name == "poly" and not (make is local and dtype == np.float32):
        with pytest.raises(ValueError, match="kernel values of row 7 are not finite"):
            extension.embed(X, coordinates)
    else:
        assert np.isfinite(extension.embed(X, coordinates)).all()


def test_landmark_kernel_matrix_is_symmetric_float64(rows):
    landmarks = rows[1].astype(np.float32)
    K = KernelLandmarks(bound("rbf"), landmarks).kernel_matrix()
    assert K.dtype == np.float64
    assert_array_equal(K, K.T)
    assert_allclose(K, oracles.kernel_matrix("rbf", landmarks, landmarks, **PARAMETERS), rtol=1e-12)


def test_a_sparse_row_far_out_does_not_hide_the_differences_of_others():
    X = np.append(np.linspace(0, 0.2, 20), 1e6)[:, None]
    extension = LocalExtension(KernelLandmarks(Kernel("linear"), sp.csr_array(X)), 3)
    assert_allclose(weights(extension, sp.csr_array(X)), np.eye(21), atol=1e-12)
