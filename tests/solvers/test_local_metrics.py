import tracemalloc

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nearkin.solvers import local_metrics as module
from nearkin.solvers.class_gaussians import ClassModels, fit_class_models
from nearkin.solvers.local_metrics import (
    FLOOR,
    bias_coefficients,
    bias_matrices,
    local_metrics,
    local_metrics_by_sign,
    mean_local_metric,
    sign_iteration_scales,
)
from tests import oracles
from tests.cases import each


def gaussians(seed, n_classes, d):
    """Models with random means and covariances, and the covariances."""
    rng = np.random.RandomState(seed)
    means = rng.standard_normal((n_classes, d))
    factors = rng.standard_normal((n_classes, d, d))
    covariances = factors @ factors.transpose(0, 2, 1) + 0.5 * np.eye(d)
    return models_of(means, covariances), covariances


def models_of(means, covariances):
    return ClassModels(
        means=means,
        precisions=np.linalg.inv(covariances),
        log_determinants=np.linalg.slogdet(covariances)[1],
        counts=np.ones(len(means), dtype=int),
        pooled_shares=np.zeros(len(means)),
        identity_shares=np.zeros(len(means)),
    )


def symmetric(seed, n, d):
    A = np.random.RandomState(seed).standard_normal((n, d, d))
    return A + A.transpose(0, 2, 1)


def unit(Phi):
    """Scaled to norm one: only the direction of Φ matters."""
    return Phi / np.sqrt((Phi**2).sum(axis=(-2, -1), keepdims=True))


def floored(Phi):
    values, U = np.linalg.eigh(Phi)
    epsilon = FLOOR * np.sqrt((values**2).mean(axis=1, keepdims=True))
    return (U * (values + epsilon * np.sign(values))[:, None, :]) @ U.transpose(0, 2, 1)


# Φ


@given(st.integers(0, 10**6), st.integers(2, 5), st.integers(1, 4))
def test_bias_matrix_equals_the_plain_formula(seed, n_classes, d):
    models, covariances = gaussians(seed, n_classes, d)
    X = np.random.RandomState(seed + 1).standard_normal((4, d))
    expected = [oracles.bias_matrix(x, models.means, covariances) for x in X]
    assert_allclose(unit(bias_matrices(X, models)), unit(np.array(expected)), atol=1e-8)


def test_hessians_are_those_of_finite_differences():
    models, covariances = gaussians(3, 3, 2)
    x, step = np.array([0.3, -0.2]), 1e-4

    def p(x):
        both = zip(models.means, covariances, strict=True)
        return np.array(
            [oracles.gaussian_density(x, mean, covariance) for mean, covariance in both]
        )

    def second_difference(a, b):
        return p(x + a + b) - p(x + a - b) - p(x - a + b) + p(x - a - b)

    moves = step * np.eye(2)
    hessians = np.array([[second_difference(a, b) for b in moves] for a in moves]) / (4 * step**2)
    own = p(x)
    weight = (own**2).sum() - own**2 - own * (own.sum() - own)
    expected = (hessians * weight).sum(axis=2)
    assert_allclose(unit(bias_matrices(x[None], models))[0], unit(expected), atol=1e-6)


def test_two_classes_give_the_difference_of_relative_hessians():
    # Eq. 6: the sign is that of p_2 − p_1.
    models, covariances = gaussians(5, 2, 3)
    X = np.random.RandomState(0).standard_normal((6, 3))
    for x, found in zip(X, bias_matrices(X, models), strict=True):
        relative = []
        for mean, covariance in zip(models.means, covariances, strict=True):
            u = np.linalg.solve(covariance, x - mean)
            relative.append(np.outer(u, u) - np.linalg.inv(covariance))
        densities = models.log_densities(x[None])[0]
        expected = np.sign(densities[1] - densities[0]) * (relative[0] - relative[1])
        assert_allclose(unit(found), unit(expected), atol=1e-10)


@each("distance", [1e2, 1e4, 1e8, 1e100])
def test_nothing_underflows_far_from_every_class(distance):
    models, _ = gaussians(0, 3, 2)
    X = distance * np.array([[1.0, 0.3], [-0.2, 1.0]])
    assert_array_equal(np.exp(models.log_densities(X)), 0)
    Phi = bias_matrices(X, models)
    assert np.isfinite(Phi).all()
    assert (np.abs(Phi).max(axis=(1, 2)) > 1e-6).all()
    M = local_metrics(Phi)
    assert np.isfinite(M).all()
    assert_allclose(np.linalg.slogdet(M)[1], 0, atol=1e-6)
    # Only the two likeliest classes matter there; the others are nothing beside them.
    two = np.argsort(models.log_densities(X[:1])[0])[1:]
    both = models_of(models.means[two], np.linalg.inv(models.precisions[two]))
    assert_allclose(unit(bias_matrices(X[:1], both)), unit(Phi[:1]), atol=1e-8)


def test_coefficients_of_densities_that_differ_by_any_factor():
    logs = np.array([[0.0, -1e5, -2e5], [-700.0, -800.0, -1e9], [0.0, -1.0, -2.0]])
    found = bias_coefficients(logs)
    assert_allclose(found[:2], [[-1, 1, 0], [-1, 1, 0]], atol=1e-12)
    p = np.exp(logs[2])
    expected = p * ((p**2).sum() - p**2 - p * (p.sum() - p)) / (p[0] ** 2 * p[1])
    assert_allclose(found[2], expected)


@each("n_classes", [2, 3])
def test_equal_densities_give_the_identity(n_classes):
    assert_array_equal(bias_coefficients(np.full((2, n_classes), -3.7)), 0)
    models, _ = gaussians(0, 1, 3)
    same = models_of(
        np.repeat(models.means, n_classes, axis=0),
        np.repeat(np.linalg.inv(models.precisions), n_classes, axis=0),
    )
    Phi = bias_matrices(np.ones((2, 3)), same)
    assert_array_equal(Phi, 0)
    assert_array_equal(local_metrics(Phi), np.broadcast_to(np.eye(3), (2, 3, 3)))
    assert_array_equal(local_metrics_by_sign(Phi), np.broadcast_to(np.eye(3), (2, 3, 3)))


def test_rows_beyond_all_numbers_give_the_identity():
    models, _ = gaussians(0, 2, 2)
    M = local_metrics(bias_matrices(np.array([[1e200, 0.0], [0.0, 1.0]]), models))
    assert_array_equal(M[0], np.eye(2))
    assert np.abs(M[1] - np.eye(2)).max() > 0.1


# M


@given(st.integers(0, 10**6), st.integers(1, 6))
def test_local_metric_equals_the_plain_formula(seed, d):
    Phi = symmetric(seed, 3, d)
    expected = [oracles.local_metric(matrix, FLOOR) for matrix in Phi]
    assert_allclose(local_metrics(Phi), expected, atol=1e-9 * np.abs(expected).max())


def test_without_a_floor_it_is_the_published_metric(monkeypatch):
    monkeypatch.setattr(module, "FLOOR", 0.0)
    Phi = symmetric(0, 20, 5)
    M = local_metrics(Phi)
    assert_allclose(M, [oracles.local_metric(matrix) for matrix in Phi], rtol=1e-6, atol=1e-9)
    assert_allclose(np.trace(np.linalg.solve(M, Phi), axis1=1, axis2=2), 0, atol=1e-8)


@given(st.integers(0, 10**6), st.integers(2, 8), st.floats(1e-30, 1e30))
def test_metrics_are_free_of_bias_and_of_determinant_one(seed, d, scale):
    Phi = symmetric(seed, 5, d) * scale
    M = local_metrics(Phi)
    assert_allclose(np.linalg.det(M), 1, rtol=1e-6)
    assert (np.linalg.eigvalsh(M) > 0).all()
    values = np.linalg.eigvalsh(Phi)
    indefinite = (values[:, 0] < 0) & (values[:, -1] > 0)
    bias = np.trace(np.linalg.solve(M, floored(Phi)), axis1=1, axis2=2)
    size = np.abs(np.linalg.eigvalsh(Phi)).max(axis=1)
    assert (np.abs(bias[indefinite]) <= 1e-8 * size[indefinite]).all()
    # The trace with Φ itself differs by no more than the floor can.
    assert_allclose(local_metrics(Phi / scale), M, rtol=1e-6, atol=1e-9)


@each("sign", [1, -1])
def test_definite_bias_has_its_own_size_as_the_best_metric(sign):
    F = np.random.RandomState(0).standard_normal((4, 4, 4))
    Phi = F @ F.transpose(0, 2, 1) + np.eye(4)
    M = local_metrics(sign * Phi)
    expected = floored(Phi)
    expected /= np.linalg.det(expected)[:, None, None] ** 0.25
    assert_allclose(M, expected, rtol=1e-8, atol=1e-10)
    least = np.trace(np.linalg.solve(M, Phi), axis1=1, axis2=2)
    for seed in range(20):
        other = F + 0.3 * np.random.RandomState(seed).standard_normal(F.shape)
        other = other @ other.transpose(0, 2, 1)
        other /= np.linalg.det(other)[:, None, None] ** 0.25
        trace = np.trace(np.linalg.solve(other, Phi), axis1=1, axis2=2)
        assert (trace >= least * (1 - 1e-4)).all()


def test_floor_keeps_singular_bias_from_ruining_the_metric():
    Phi = np.diag([1.0, -1.0, 0.0, 1e-17, -1e-17])[None]
    for M in (local_metrics(Phi), local_metrics_by_sign(Phi)):
        values = np.linalg.eigvalsh(M[0])
        assert np.isfinite(values).all()
        assert values[-1] / values[0] < 10 / FLOOR
    for of in (local_metrics, local_metrics_by_sign):  # one column has the only metric there is
        assert_allclose(of(np.array([[[3.0]], [[-1e-9]], [[0.0]]])), 1)


def test_bias_of_low_rank_gives_zeros_the_mean_weight():
    rng = np.random.RandomState(0)
    U = np.linalg.qr(rng.standard_normal((7, 7)))[0]
    Phi = ((U * [3.0, 2.0, -1.0, 0, 0, 0, 0]) @ U.T)[None]
    epsilon = FLOOR * np.sqrt(14 / 7)
    expected = np.array([2 * (3 + epsilon), 2 * (2 + epsilon), 1 + epsilon, *[1.5 * epsilon] * 4])
    expected /= np.prod(expected) ** (1 / 7)
    for M in (local_metrics(Phi), local_metrics_by_sign(Phi)):
        assert_allclose(M[0], (U * expected) @ U.T, atol=1e-6 * expected.max())


def test_interpolation_mixes_the_identity_in():
    Phi = symmetric(0, 4, 3)
    expected = 0.75 * local_metrics(Phi) + 0.25 * np.eye(3)
    assert_allclose(local_metrics(Phi, 0.25), expected, atol=1e-12)
    assert_allclose(local_metrics(Phi, 1.0), np.broadcast_to(np.eye(3), (4, 3, 3)), atol=1e-12)


# By the sign function


@given(st.integers(0, 10**6), st.integers(1, 8))
def test_sign_route_equals_the_eigenvector_route(seed, d):
    rng = np.random.RandomState(seed)
    U = np.linalg.qr(rng.standard_normal((6, d, d)))[0]
    # Eigenvalues of both signs over six orders of magnitude.
    values = rng.choice([-1.0, 1.0], (6, d)) * 10 ** rng.uniform(-6, 0, (6, d))
    Phi = (U * values[:, None, :]) @ U.transpose(0, 2, 1)
    Phi = (Phi + Phi.transpose(0, 2, 1)) / 2
    expected = local_metrics(Phi)
    atol = 1e-8 * np.abs(expected).max()
    assert_allclose(local_metrics_by_sign(Phi * 1e5), expected, atol=atol)


@each("d", [40, 164])
def test_sign_route_in_single_precision(d):
    Phi = symmetric(0, 3, d)
    expected = local_metrics(Phi)
    found = local_metrics_by_sign(Phi.astype(np.float32))
    assert found.dtype == np.float32
    scale = np.abs(expected).max()
    assert_allclose(local_metrics_by_sign(Phi), expected, atol=1e-7 * scale)
    assert_allclose(found, expected, atol=2e-3 * scale)


def test_sign_iteration_brings_all_eigenvalues_to_one():
    values = np.r_[np.geomspace(1e-8, 1, 1000), 1 + 1e-15]
    scales = sign_iteration_scales(1e-8)
    for scale in scales:
        values = scale * values * (3 - (scale * values) ** 2) / 2
    assert_allclose(values, 1, atol=1e-12)
    assert len(scales) <= 26


# The mean


@pytest.fixture(scope="module")
def data():
    rng = np.random.RandomState(0)
    classes = np.arange(300) % 3
    X = rng.standard_normal((300, 4)) * np.array([1, 2, 0.5, 1])
    X += rng.standard_normal((3, 4))[classes]
    return X, fit_class_models(X, classes)


@each("n", [1, 2, 15, 16, 17, 129, 300])
def test_mean_is_that_of_all_local_metrics_in_any_blocks(n, data, monkeypatch):
    X, models = data
    X, weights = X[:n], np.random.RandomState(1).uniform(size=n)
    M = local_metrics(bias_matrices(X, models))

    for few_at_a_time in (False, True):
        if few_at_a_time:
            monkeypatch.setattr(module, "rows_per_block", lambda bytes_per_row: 7)
            monkeypatch.setattr(module, "_MOST_PARTS", 3)
        for options, expected in [
            ((), M.mean(axis=0)),
            ((weights,), np.average(M, axis=0, weights=weights)),
            ((None, 0.4), 0.6 * M.mean(axis=0) + 0.4 * np.eye(4)),
        ]:
            assert_allclose(mean_local_metric(X, models, *options), expected, 1e-9, 1e-10)


def test_memory_does_not_grow_with_a_matrix_for_every_row(data):
    rng = np.random.RandomState(0)
    X = rng.standard_normal((2500, 30))
    models = fit_class_models(X, np.arange(2500) % 2)
    tracemalloc.start()
    mean_local_metric(X, models)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2500 * 30 * 30 * 8  # of one array of all local metrics


def test_theorem_1_for_transported_metrics(data):
    X, models = data
    Phi = bias_matrices(X, models)
    M = local_metrics(Phi)
    values, U = np.linalg.eigh(mean_local_metric(X, models))
    L = (U * np.sqrt(values)) @ U.T
    inverse = np.linalg.inv(L)
    Q = np.linalg.det(L) ** (2 / 4) * inverse.T @ M @ inverse
    assert_allclose(np.linalg.det(Q), 1, rtol=1e-8)
    # They are free of bias wherever the metrics that they come from are.
    Psi = inverse.T @ floored(Phi) @ inverse
    bias = np.trace(np.linalg.solve(Q, Psi), axis1=1, axis2=2)
    expected = np.trace(np.linalg.solve(M, floored(Phi)), axis1=1, axis2=2)
    size = np.sqrt((Phi**2).sum(axis=(1, 2)))
    assert_allclose(bias / size, expected * np.linalg.det(L) ** (-2 / 4) / size, atol=1e-8)
    mean = Q.mean(axis=0)
    assert_allclose(mean, mean[0, 0] * np.eye(4), atol=1e-9 * mean[0, 0])
    # The Hessians in the new space are those of the Gaussians mapped there.
    mapped = models_of(models.means @ L.T, L @ np.linalg.inv(models.precisions) @ L.T)
    new = bias_matrices(X @ L.T, mapped)
    assert_allclose(unit(new), unit(inverse.T @ Phi @ inverse), atol=1e-7)
