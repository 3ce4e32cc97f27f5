"""A matrix before cosine similarity: src/nearkin/learners/cosine_metric.py."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from sklearn.preprocessing import normalize

from nearkin import CosineMetric, Euclidean, Pairs
from nearkin.datasets import make_xor
from nearkin.learners.cosine_metric import cosine_matrix, cosine_objective
from nearkin.spaces.maps import UnitLength
from tests.cases import each


def problem(p=12, r=3, k=20, seed=0):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(p, r))
    links = rng.integers(p, size=(k, 2))
    links = links[links[:, 0] != links[:, 1]]
    return F, links, rng.random(len(links)) < 0.5, np.full(len(links), 1 / len(links))


def value(W, F, links, same, counts, pull, wrong):
    """The objective at the best level and slope for a matrix."""
    A, B = F[links[:, 0]], F[links[:, 1]]
    found = minimize(
        lambda x: cosine_objective(W, x[0], x[1], A, B, same, counts, pull, wrong),
        [0.0, 4.0],
        method="Nelder-Mead",
        options={"xatol": 1e-6, "fatol": 1e-10},
    )
    return found.fun


@each("wrong", [0.0, 0.15])
def test_no_other_matrix_nearby_is_better(wrong):
    F, links, same, counts = problem()
    W = cosine_matrix(F, links, same, counts, 0.5, wrong)
    best = value(W, F, links, same, counts, 0.5, wrong)
    assert best < value(np.eye(3), F, links, same, counts, 0.5, wrong) - 0.01
    rng = np.random.default_rng(1)
    for _ in range(20):
        other = W + 0.05 * rng.normal(size=(3, 3))
        assert value(other, F, links, same, counts, 0.5, wrong) > best - 1e-6


def test_the_objective_is_the_plain_sum():
    F, links, same, counts = problem()
    W = np.random.default_rng(2).normal(size=(3, 3))
    plain = 0.5 / 3 * ((W - np.eye(3)) ** 2).sum() + 1e-3 * 2.0**2
    for (i, j), alike, count in zip(links, same, counts, strict=True):
        a, b = W @ F[i], W @ F[j]
        odds = 0.3 + 2.0 * (a @ b) / np.sqrt((a @ a) * (b @ b))
        chance = 1 / (1 + np.exp(-odds if alike else odds))
        plain -= count * np.log(0.1 + 0.8 * chance)
    A, B = F[links[:, 0]], F[links[:, 1]]
    assert_allclose(cosine_objective(W, 0.3, 2.0, A, B, same, counts, 0.5, 0.1), plain)


def test_few_rows_of_many_columns_are_as_good_in_their_span():
    F, links, same, counts = problem(p=4, r=4)
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(10, 10)))[0]
    wide = np.hstack([F, np.zeros((4, 6))]) @ turned
    W = cosine_matrix(wide, links, same, counts, 0.5, 0.1)
    narrow = cosine_matrix(F, links, same, counts, 0.5 * 4 / 10, 0.1)
    mapped = (normalize(rows) for rows in (wide @ W.T, F @ narrow.T))
    # Both are where descent ends, which is not the same to the last digit.
    assert_allclose(*(rows @ rows.T for rows in mapped), atol=0.01)


def test_distances_are_those_of_directions_and_a_strong_pull_leaves_them():
    X, y = make_xor(100, random_state=0)
    pairs = Pairs.from_labels(y, 30, random_state=0)
    metric = CosineMetric(pull=1e9, random_state=0).fit(X, pairs=pairs)
    directions = normalize(X - X.mean(axis=0))
    plain = Euclidean().fit(directions, pairs=pairs)
    assert_allclose(metric.distance(X[:9]), plain.distance(directions[:9]), atol=1e-5)
    one_kind = Pairs(pairs.must_link)
    metric = CosineMetric(random_state=0).fit(X, pairs=one_kind)
    assert_allclose(metric.distance(X[:9]), plain.distance(directions[:9]), atol=1e-12)


def test_one_answer_against_all_others_costs_no_more_than_a_wrong_one():
    A, different = np.array([[1.0, 0.0]]), np.array([False])
    cost = cosine_objective(np.eye(2), 0.0, 1000.0, A, A, different, np.ones(1), 1.0, 0.15)
    assert_allclose(cost - 1e-3 * 1000.0**2, -np.log(0.15))


def test_rows_of_zeros_have_no_direction():
    rows = np.array([[0.0, 0.0], [3.0, 4.0], [1e-300, 0.0], [1e300, 1e300]])
    expected = [[0, 0], [0.6, 0.8], [1, 0], [np.sqrt(0.5), np.sqrt(0.5)]]
    assert_allclose(UnitLength().apply(rows), expected)
