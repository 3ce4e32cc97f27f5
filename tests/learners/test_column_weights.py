"""Weights of columns: src/nearkin/learners/column_weights.py."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.linear_model import LogisticRegression

from nearkin import ColumnWeights, Euclidean, Pairs, load
from nearkin.learners.column_weights import weigh_columns, weights_objective
from tests.cases import each


def problem(k=40, r=5, seed=0):
    rng = np.random.default_rng(seed)
    same = rng.random(k) < 0.5
    squared = rng.gamma(1.0, np.where(same, 0.3, 1.0)[:, None], (k, r)) / r
    return squared, same, rng.random(k)


def test_weights_are_those_of_a_plain_search():
    squared, same, counts = problem()
    weights, level = weigh_columns(squared, same, counts, 0.1)

    def plain(found):
        return weights_objective(np.maximum(found[1:], 0), found[0], squared, same, counts, 0.1)

    slow = minimize(plain, np.ones(6), method="Nelder-Mead", options={"maxiter": 20_000})
    assert weights_objective(weights, level, squared, same, counts, 0.1) <= slow.fun + 1e-6
    assert_allclose(weights, np.maximum(slow.x[1:], 0), atol=0.05)


def test_without_bounds_and_pull_it_is_logistic_regression():
    squared, same, _ = problem(k=400)
    weights, level = weigh_columns(squared, same, np.ones(400), 1e-9)
    assert (weights > 0).all()
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(squared, same)
    assert_allclose(weights, -model.coef_[0], rtol=1e-3)
    assert_allclose(level, model.intercept_[0], rtol=1e-3)


def test_columns_that_matter_are_found_and_a_strong_pull_is_euclidean():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    y = X[:, 3] > 0
    pairs = Pairs.from_labels(y, 40, random_state=0)
    metric = ColumnWeights(random_state=0).fit(X, pairs=pairs)
    assert metric.weights_.argmax() == 3
    new = rng.normal(size=(300, 20))
    plain = Euclidean().fit(X, pairs=pairs)
    assert metric.score(new, new[:, 3] > 0) > plain.score(new, new[:, 3] > 0) + 0.1
    held = ColumnWeights(pull=1e6, random_state=0).fit(X, pairs=pairs)
    assert_allclose(held.weights_, 1, atol=1e-4)
    assert_allclose(held.distance(X[:5]), plain.distance(X[:5]), rtol=1e-4)


@each("kind", ["must", "cannot"])
def test_one_kind_of_pairs_is_enough_and_a_narrow_column_keeps_its_weight(kind):
    X = np.random.default_rng(0).normal(size=(200, 6))
    pairs = Pairs.from_labels(X[:, 0] > 0, 60, kind=kind, random_state=0)
    assert ColumnWeights(random_state=0).fit(X, pairs=pairs).weights_.argmax() == 0
    # Where nothing is known, it is the distance of the columns as they are.
    X = np.random.default_rng(0).normal(size=(100, 3)) * [1, 10, 0.1]
    metric = ColumnWeights(random_state=0).fit(X, pairs=Pairs([(0, 1)], [(2, 3)]))
    assert metric.weights_[2] == pytest.approx(1, abs=1e-3)


def test_weights_of_axes_are_stored(tmp_path):
    X = np.random.default_rng(0).normal(size=(50, 1100))
    metric = ColumnWeights(random_state=0).fit(X, pairs=Pairs([(0, 1)], [(2, 3)]))
    metric.save(tmp_path / "wide.nearkin")
    loaded = load(tmp_path / "wide.nearkin")
    assert_allclose(loaded.weights_, metric.weights_)
    assert_allclose(loaded.transform(X), metric.transform(X))
