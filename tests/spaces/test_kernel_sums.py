"""Sums of kernel values against the plain formula, in float64 and in float32."""

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from nearkin.errors import InputError
from nearkin.rows.parallel import one_core
from nearkin.spaces.feature_space import KernelExpansion, NystroemExtension
from nearkin.spaces.kernels import KERNEL_NAMES, Kernel
from nearkin.spaces.landmarks import GaussianSums, KernelLandmarks, KernelSums
from tests.cases import each

NAMES = [name for name in KERNEL_NAMES if name != "precomputed"]
TYPES = [np.float32, np.float64]


def kernel_values(name, A, B, gamma):
    """The plain formula with numbers in float64; that of the linear kernel around B's middle."""
    A, B = np.asarray(A, dtype=float), np.asarray(B, dtype=float)
    if name == "rbf":
        return np.exp(-gamma * ((A[:, None] - B) ** 2).sum(axis=2))
    if name == "laplacian":
        return np.exp(-gamma * np.abs(A[:, None] - B).sum(axis=2))
    if name == "cosine":
        A, B = (part / np.linalg.norm(part, axis=1, keepdims=True) for part in (A, B))
    if name == "linear":
        middle = KernelLandmarks(Kernel(name), B).middle
        A, B = A - middle, B - middle
    return (gamma * (A @ B.T) + 1) ** 2 if name == "poly" else A @ B.T


def sums(landmarks, coefficients, name="rbf", gamma=0.1, **options):
    kernel = Kernel(name, gamma=gamma, degree=2, coef0=1)
    return KernelSums(KernelLandmarks(kernel, landmarks), coefficients, **options)


def assert_close(found, expected, dtype):
    """Equal as far as the type of the rows lets expect."""
    assert found.dtype == dtype
    atol = (2e-6 if dtype == np.float32 else 1e-12) * np.abs(expected).max(initial=0.0)
    assert_allclose(found, expected, rtol=0, atol=atol)


@each("name", NAMES)
@each("dtype", TYPES)
@each(
    ("n", "d", "m", "q"),
    [(300, 5, 40, 3), (1, 5, 40, 3), (0, 5, 40, 3), (50, 5, 1, 2), (90, 300, 70, 1)],
)
@each("centered", [False, True])
def test_sums_are_the_plain_formula(name, dtype, n, d, m, q, centered):
    rng = np.random.default_rng(0)
    X, landmarks = (rng.standard_normal((rows, d)).astype(dtype) + dtype(3) for rows in (n, m))
    C, gamma = rng.standard_normal((m, q)), 1 / (2 * d)
    K = kernel_values(name, X, landmarks, gamma)
    if centered:
        means = kernel_values(name, landmarks, landmarks, gamma).mean(axis=0)
        K = K - K.mean(axis=1, keepdims=True) - means + means.mean()
    expected = K @ C
    if centered and m == 1:  # one centred landmark is nothing but rounding
        assert np.abs(sums(landmarks, C, name, gamma, centered=True).at(X)).max() <= 1e-12
        return
    found = sums(landmarks, C, name, gamma, centered=centered).at(X)
    if n == 1:  # as a share of what all rows have
        others = sums(landmarks, C, name, gamma, centered=centered).at(landmarks)
        assert_allclose(found, expected, atol=2e-6 * np.abs(others).max())
    else:
        assert_close(found, expected, dtype)


@each("dtype", TYPES)
def test_rows_far_out_have_nothing_but_the_constant(dtype):
    rng = np.random.default_rng(0)
    landmarks, C = rng.standard_normal((30, 4)).astype(dtype), rng.standard_normal((30, 2))
    prepared = sums(landmarks, C, centered=True)
    huge = np.finfo(dtype).max
    X = np.array([[huge, -huge, huge, 0], [1e4, 0, 0, 0], [0, 0, -huge, 1e-30]], dtype=dtype)
    assert_array_equal(prepared.at(X), np.tile(prepared.constant.astype(dtype), (3, 1)))


@each("scale", [1e-12, 1e12])
@each("dtype", TYPES)
def test_units_of_rows_do_not_matter(scale, dtype):
    rng = np.random.default_rng(0)
    X, landmarks = (rng.standard_normal((n, 4)).astype(dtype) for n in (60, 30))
    C = rng.standard_normal((30, 2))
    expected = kernel_values("rbf", X, landmarks, 0.1) @ C
    scaled = [(part * dtype(scale)).astype(dtype) for part in (X, landmarks)]
    found = sums(scaled[1], C, gamma=0.1 / scale**2).at(scaled[0])
    assert_close(found, expected, np.float32 if dtype == np.float32 else np.float64)


def test_rows_in_single_precision_go_by_it():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 5)).astype(np.float32)
    prepared = sums(X[:40], rng.standard_normal((40, 3)))
    assert (prepared.at(X) != prepared.at(X.astype(np.float64)).astype(np.float32)).any()


def cancelling(rng):
    """Landmarks in pairs, almost equal, with large coefficients of both signs."""
    landmarks = np.repeat(rng.standard_normal((20, 3)), 2, axis=0)
    landmarks[1::2] += 1e-3 * rng.standard_normal((20, 3))
    return landmarks, 1e5 * np.tile([[1.0], [-1.0]], (20, 1)), 0.1


def far_apart(rng):
    """Two groups of landmarks so far from each other that squared distances lose small ones."""
    landmarks = rng.standard_normal((40, 3))
    landmarks[:20] += 1e4
    return landmarks, rng.standard_normal((40, 1)), 0.1


@each("make", [cancelling, far_apart])
def test_what_single_precision_has_no_digits_for_is_found_in_double(make):
    landmarks, C, gamma = make(np.random.default_rng(0))
    landmarks = landmarks.astype(np.float32)
    X = np.vstack([landmarks, landmarks[::2] + np.float32(0.25)])
    expected = kernel_values("rbf", X, landmarks, gamma) @ C
    prepared = sums(landmarks, C, gamma=gamma)
    assert_close(prepared.at(X), expected, np.float32)
    known = prepared.landmarks, prepared.coefficients, prepared.constant
    alone = np.empty(expected.shape, np.float32)
    GaussianSums(*known, np.float32).write(X, alone)
    assert np.abs(alone - expected).max() > 5e-6 * np.abs(expected).max()


@each("dtype", TYPES)
@each(("scale", "gamma"), [(1e9, 0.1), (1.0, 1e90), (1e-30, 1e80), (1e18, 1e-16)])
def test_distances_of_landmarks_far_out_have_all_their_digits(scale, gamma, dtype):
    """Their squared lengths have none left to tell them from one another, or from themselves."""
    rng = np.random.default_rng(0)
    X, C = rng.standard_normal((40, 3)).astype(dtype), rng.standard_normal((30, 1))
    X[5:] *= dtype(scale)
    landmarks = X[:30]
    K = kernel_values("rbf", X, landmarks, gamma)
    assert_close(sums(landmarks, C, gamma=gamma).at(X), K @ C, dtype)


@each("dtype", TYPES)
def test_a_row_that_is_no_number_is_named(dtype):
    X = np.zeros((700, 3), dtype=dtype)
    X[650, 1] = np.nan
    with pytest.raises(InputError, match="kernel values of row 650 are not finite"):
        sums(X[:5], np.ones((5, 2))).at(X)


@each("name", ["linear", "cosine"])
@each("sparse", [False, True])
def test_inner_products_need_no_landmarks(name, sparse, monkeypatch):
    rng = np.random.default_rng(0)
    X, landmarks = rng.standard_normal((50, 6)) + 1, rng.standard_normal((20, 6)) + 1
    C = rng.standard_normal((20, 2))
    expected = kernel_values(name, X, landmarks, 1.0) @ C
    monkeypatch.setattr(KernelLandmarks, "kernel_to", None)
    rows = sp.csr_array(X) if sparse else X
    assert_allclose(sums(landmarks, C, name).at(rows), expected, atol=1e-12)


@each("name", ["linear", "cosine"])
def test_sparse_landmarks_of_more_columns_than_landmarks_stay_as_they_are(name):
    rng = np.random.default_rng(0)
    dense = rng.standard_normal((30, 200)) * (rng.random((30, 200)) < 0.1)
    C, rows = rng.standard_normal((8, 2)), sp.csr_array(dense)
    prepared = sums(rows[:8], C, name)
    expected = sums(dense[:8], C, name).at(dense)
    assert_allclose(prepared.at(rows), expected, atol=1e-12)
    assert_array_equal(prepared._factors[1], C)


@each("make", [KernelExpansion, lambda seen: NystroemExtension(seen, np.ones(2), np.eye(9, 2))])
def test_sums_are_prepared_once_until_coordinates_change(make, monkeypatch):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20, 3))
    extension, Z = make(KernelLandmarks(Kernel("rbf"), X[:9])), rng.standard_normal((9, 2))
    made = []
    monkeypatch.setattr(
        KernelSums, "__init__", lambda *args, init=KernelSums.__init__, **options: (
            made.append(init(*args, **options))
        )
    )  # fmt: skip
    first = extension.embed(X, Z)
    assert_array_equal(extension.embed(X, Z.copy()), first)
    assert len(made) == 1
    Z *= 2
    assert_allclose(extension.embed(X, Z), 2 * first, atol=1e-14)
    assert len(made) == 2


def test_memory_is_that_of_a_block():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((20_000, 5)).astype(np.float32)
    prepared = sums(X[:1000], rng.standard_normal((1000, 2)))
    prepared.at(X[:1])
    tracemalloc.start()
    try:
        with one_core():
            out = prepared.at(X)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak <= out.nbytes + 2 * 2**20  # all kernel values take 80 MB
