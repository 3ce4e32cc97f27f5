import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from nearkin.solvers.class_gaussians import (
    POOLED_SHARES,
    _assign_folds,
    fit_class_models,
    identity_share,
    shrink_class_covariance,
)
from tests.cases import each


@pytest.fixture(scope="module")
def data():
    rng = np.random.RandomState(0)
    classes = np.arange(90) % 3
    scale = np.array([[1, 1, 1], [3, 1, 0.5], [0.2, 2, 1]])
    return rng.standard_normal((90, 3)) * scale[classes] + 2 * classes[:, None], classes


def covariances(models):
    return np.linalg.inv(models.precisions)


def test_covariances_are_those_of_the_classes_or_that_within_all(data):
    X, classes = data
    models = fit_class_models(X, classes, covariance="full", regularization=0)
    for c in range(3):
        own = X[classes == c]
        assert_allclose(models.means[c], own.mean(axis=0))
        assert_allclose(covariances(models)[c], np.cov(own.T, bias=True), atol=1e-8)
    assert_array_equal(models.counts, 30)
    assert_array_equal(models.pooled_shares, 0)
    centered = X - models.means[classes]
    shared = fit_class_models(X, classes, covariance="shared", regularization=0)
    assert_allclose(covariances(shared), [centered.T @ centered / 90] * 3, atol=1e-8)


@each("covariance", ["shrunk", "full", "shared"])
def test_log_densities_are_those_of_the_normal_distribution(covariance, data):
    X, classes = data
    models = fit_class_models(X, classes, covariance=covariance)
    found = models.log_densities(X)
    for c, matrix in enumerate(covariances(models)):
        expected = multivariate_normal(models.means[c], matrix).logpdf(X)
        assert_allclose(found[:, c], expected, rtol=1e-10)
        assert_allclose(models.log_determinants[c], np.linalg.slogdet(matrix)[1], atol=1e-10)


def test_shrunk_covariance_is_the_stated_mixture(data):
    X, classes = data
    models = fit_class_models(X, classes)
    centered = X - models.means[classes]
    pooled = centered.T @ centered / 90
    for c, matrix in enumerate(covariances(models)):
        own = np.cov(X[classes == c].T, bias=True)
        share, identity = models.pooled_shares[c], models.identity_shares[c]
        assert share in POOLED_SHARES
        mixed = (1 - share) * own + share * pooled
        expected = (1 - identity) * mixed + identity * np.trace(mixed) / 3 * np.eye(3)
        assert_allclose(matrix, expected, atol=1e-12)
        assert_allclose(matrix, shrink_class_covariance(own, pooled, share, identity), atol=1e-12)
        assert_allclose(identity, 0.3 / 30.3)


def test_classes_of_different_shape_keep_their_own_and_few_rows_borrow():
    rng = np.random.RandomState(1)
    classes = np.arange(400) % 2
    X = rng.standard_normal((400, 4)) * np.where(classes, 1.0, [[9], [0.1], [1], [3]]).T
    assert_array_equal(fit_class_models(X, classes).pooled_shares, 0)
    # Twelve rows of 8 columns, all classes alike: what the others know is worth more.
    classes = np.arange(240) % 20
    X = rng.standard_normal((240, 8)) @ rng.standard_normal((8, 8))
    assert fit_class_models(X, classes).pooled_shares.mean() > 0.3


def test_share_of_the_identity_falls_with_the_number_of_rows():
    shares = [identity_share(n, 20, "auto") for n in (1, 10, 100, 10**6)]
    assert shares == sorted(shares, reverse=True)
    assert shares[0] == 2 / 3
    assert identity_share(7, 20, 0.25) == 0.25
    assert identity_share(7, 20, 0) > 0


@each("covariance", ["shrunk", "full", "shared"])
@each("regularization", ["auto", 0, 1.0])
@each(
    "X",
    [
        np.random.RandomState(0).standard_normal((8, 30)),  # fewer rows than columns
        np.column_stack([np.random.RandomState(0).standard_normal((8, 2)), np.full(8, 0.1)]),
        np.repeat([[0.1, 0.7], [3.0, 1 / 3]], 4, axis=0),  # classes without variation
        np.full((8, 3), 1 / 3),
        np.random.RandomState(0).standard_normal((8, 3)) * [1e-8, 1.0, 1e8],
    ],
)
@each("classes", [np.repeat([0, 1], 4), np.arange(8), np.array([0] * 7 + [1])], ids=str)
def test_no_covariance_is_singular(covariance, regularization, X, classes):
    models = fit_class_models(X, classes, covariance=covariance, regularization=regularization)
    for values in (models.precisions, models.log_determinants, models.log_densities(X)):
        assert np.isfinite(values).all()
    assert (np.linalg.eigvalsh(models.precisions) > 0).all()
    assert_array_equal(models.precisions, models.precisions.transpose(0, 2, 1))


def test_a_single_row_takes_the_covariance_within_all_classes(data):
    X, classes = data
    classes = classes.copy()
    classes[0] = 3
    for covariance in ("shrunk", "full"):
        models = fit_class_models(X, classes, covariance=covariance, regularization=0.1)
        shared = fit_class_models(X, classes, covariance="shared", regularization=0.1)
        assert models.pooled_shares[3] == 1
        assert_allclose(models.precisions[3], shared.precisions[3])


@settings(max_examples=10)
@given(st.integers(0, 10**6), st.sampled_from([np.float32, np.float64]))
def test_rotated_rows_have_rotated_models(seed, dtype):
    rng = np.random.RandomState(seed)
    X = rng.standard_normal((40, 3)).astype(dtype)
    rotation = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    classes = np.arange(40) % 2
    models = fit_class_models(X, classes)
    rotated = fit_class_models(X.astype(np.float64) @ rotation, classes)
    assert_allclose(rotated.means, models.means @ rotation, atol=1e-10)
    expected = rotation.T @ models.precisions @ rotation
    assert_allclose(rotated.precisions, expected, atol=1e-9 * np.abs(expected).max())
    assert models.means.dtype == models.precisions.dtype == np.float64


def test_of_very_many_classes_the_largest_find_their_share(monkeypatch):
    rng = np.random.default_rng(0)
    classes = np.repeat(np.arange(6), [30, 8, 30, 8, 3, 30])
    X = rng.standard_normal((len(classes), 2)) * np.where(classes == 0, 9, 1)[:, None]
    all_of_them = fit_class_models(X, classes).pooled_shares
    monkeypatch.setattr("nearkin.solvers.class_gaussians._MOST_TRIALS", 3)
    shares = fit_class_models(X, classes).pooled_shares
    np.testing.assert_array_equal(shares[[0, 2, 5]], all_of_them[[0, 2, 5]])
    np.testing.assert_array_equal(shares[[1, 3]], np.median(shares[[0, 2, 5]]))
    assert shares[4] == 1  # of fewer rows than folds


@each("seed", range(3))
def test_models_do_not_depend_on_the_order_of_rows(seed):
    rng = np.random.default_rng(seed)
    classes = np.arange(90) % 3
    # In order within classes, as tables often are, and with rows that are equally far out.
    X = np.sort(rng.normal(size=(90, 4)).round(1), axis=0) * (1 + classes[:, None])
    models, order = fit_class_models(X, classes), rng.permutation(90)
    again = fit_class_models(X[order], classes[order])
    assert_array_equal(again.pooled_shares, models.pooled_shares)
    assert_allclose(again.precisions, models.precisions, rtol=1e-9, atol=1e-12)


def test_folds_are_drawn_by_a_seed_and_equally_large():
    rng = np.random.default_rng(0)
    X, classes = rng.normal(size=(53, 2)), np.repeat([0, 1, -1], [30, 13, 10])
    first, same, other = (_assign_folds(X, classes, 5, np.random.RandomState(s)) for s in (0, 0, 1))
    assert_array_equal(first, same)
    assert (first != other).any()
    assert_array_equal(np.bincount(first[:30]), 6)
    assert set(np.bincount(first[30:43] - 5)) == {2, 3}
    assert (first[43:] == -1).all()


def test_a_row_far_out_leaves_covariances_positive():
    X = np.random.RandomState(0).standard_normal((9, 7))
    X[0] = 1e6
    models = fit_class_models(X, np.arange(9) % 2, regularization=0)
    assert (np.linalg.eigvalsh(models.precisions) > 0).all()
