"""Methods as published of benchmarks/papers/shi2011_generative, against the library's."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import load_iris

from benchmarks.papers.shi2011_generative import as_published, local_votes
from benchmarks.papers.shi2011_generative.splits import random_split, scaled
from nearkin import Generative
from nearkin.solvers.local_metrics import bias_matrices, local_metrics, mean_local_metric
from tests.cases import each


@pytest.fixture(scope="module")
def part():
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(scale=1e-3, size=X.shape)  # no two rows are equal
    return random_split(scaled(X), y, 0)


@each("many", [10, 10**6])  # in float32, and in float64
def test_neighbours_at_once_are_those_of_one_row_after_the_other(part, many, monkeypatch):
    monkeypatch.setattr(local_votes, "_MANY", many)
    monkeypatch.setattr(local_votes, "_NEW_ROWS", 7)
    monkeypatch.setattr(local_votes, "_NUMBERS", 200)  # 20 training rows at a time
    models = as_published.plain_models(part.X, part.y)
    shares = (0.1, 0.7)
    found = local_votes.nearest_classes(part, models, part.X_test, shares)
    for share, classes in zip(shares, found, strict=True):
        metric = Generative(
            combine="local", interpolation=share, covariance="full", regularization=0.0
        ).fit(part.X, part.y)
        _, rows = metric.kneighbors(part.X_test, classes.shape[1])
        assert np.mean(classes == part.y[rows]) > (0.99 if many == 10 else 1 - 1e-12)


def test_columns_that_are_constant_within_a_class_are_left_out(part):
    X = part.X.copy()
    X[part.y == 1, 2] = 0.3
    kept = as_published.varying(part._replace(X=X))
    assert_array_equal(kept.X, X[:, [0, 1, 3]])
    assert_array_equal(kept.X_test, part.X_test[:, [0, 1, 3]])


def test_equal_densities_give_the_mean_of_the_local_metrics(part):
    models = as_published.plain_models(part.X, part.y)
    metrics = local_metrics(bias_matrices(part.X, models))
    equal = np.full(len(part.X), 1 / len(part.X))
    found = as_published.weighted_metric(part, metrics, lambda Z, Z_valid: equal)
    assert_allclose(found, mean_local_metric(part.X, models), rtol=1e-9)


def test_rows_in_a_crowd_weigh_more():
    rng = np.random.default_rng(0)
    Z = np.concatenate([rng.normal(scale=0.1, size=(40, 2)), [[3.0, 3.0]]])
    weights = as_published.kernel_densities(Z, rng.normal(scale=0.1, size=(20, 2)))
    assert weights.sum() == pytest.approx(1)
    assert weights[-1] == weights.min()
