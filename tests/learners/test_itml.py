import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import pdist
from sklearn.exceptions import ConvergenceWarning

from nearkin import ITML, Pairs
from nearkin.datasets import make_three_normal
from nearkin.learners.itml import prior_metric
from nearkin.solvers.logdet import PERCENTILES, best_slacks, estimate_bounds, logdet_objective
from tests import oracles
from tests.cases import each

X, Y = make_three_normal(90, n_features=4, random_state=0)
X += [100, 0, -7, 1]
PAIRS = Pairs.from_labels(Y, 40, random_state=0)


def metric_of(learner):
    return learner.components_.T @ learner.components_


def as_arrays(X, pairs):
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    sign = np.repeat([1.0, -1.0], [len(pairs.must_link), len(pairs.cannot_link)])
    return X[links[:, 0]] - X[links[:, 1]], sign


def test_learned_metric_is_that_of_the_plain_loop():
    learner = ITML(slack=2.0, bounds=(1.0, 5.0), tol=1e-13).fit(X, pairs=PAIRS)
    Z, sign = as_arrays(X, PAIRS)
    orders = [np.random.RandomState(i).permutation(40) for i in range(300)]
    B, _, _ = oracles.itml(Z, sign, np.ones(40), np.eye(4), 1.0, 25.0, slack=2.0, orders=orders)
    assert_allclose(metric_of(learner), B, atol=1e-5 * np.abs(B).max())


def test_objective_is_that_of_the_metric():
    learner = ITML(random_state=0).fit(X, pairs=PAIRS)
    Z, sign = as_arrays(X, PAIRS)
    upper, lower = learner.bounds_
    targets = np.where(sign > 0, upper**2, lower**2)
    B = metric_of(learner)
    slacks = best_slacks(B, Z, sign, targets)
    expected = logdet_objective(B, np.eye(4), slacks, targets, learner.slack, np.ones(40))
    assert_allclose(learner.objective_[-1], expected)
    assert learner.objective_[-1] < learner.objective_[0]
    assert len(learner.objective_) == learner.n_iter_ + 1


def test_default_bounds_are_distances_of_the_data_under_the_prior():
    upper, lower = ITML(random_state=0).fit(X, pairs=PAIRS).bounds_
    assert_allclose([upper, lower], np.percentile(pdist(X), PERCENTILES), rtol=0.1)
    doubled = ITML(prior=4 * np.eye(4), random_state=0).fit(X, pairs=PAIRS)
    assert_allclose(doubled.bounds_, [2 * upper, 2 * lower])
    ends = np.array([[0, 0, 1, 1], [1, 2, 2, 1]])  # of distances that are alike, or none
    assert_allclose(estimate_bounds(np.eye(3), ends, np.eye(3)), [np.sqrt(0.5), np.sqrt(2)])
    assert estimate_bounds(np.ones((3, 2)), ends, np.eye(2)) == (0.5, 1.0)


def test_covariance_prior_does_not_depend_on_linear_maps_where_rows_abound():
    X, y = make_three_normal(20_000, n_features=3, random_state=0)
    pairs = Pairs.from_labels(y, 30, random_state=0)
    A = np.array([[2.0, 1, 0], [0, 1, 0], [0.5, 0, 1]])
    learner = ITML(prior="covariance", bounds=(0.5, 3.0))
    expected = learner.fit(X, pairs=pairs).distance(X[:20])
    assert_allclose(learner.fit(X @ A, pairs=pairs).distance(X[:20] @ A), expected, rtol=1e-2)


def test_covariance_prior_exists_for_singular_covariances():
    B0 = prior_metric("covariance", np.diag([4.0, 1.0, 0.0]), n_rows=3)
    assert_allclose(1 / np.diag(B0), [2 + 5 / 6, 0.5 + 5 / 6, 5 / 6])
    assert_array_equal(prior_metric("covariance", np.zeros((2, 2)), n_rows=3), np.eye(2))


def test_little_slack_is_the_prior():
    D = ITML(slack=1e-10, random_state=0).fit(X, pairs=PAIRS).distance(X)
    assert_allclose(D, np.sqrt(((X[:, None] - X[None]) ** 2).sum(axis=2)), atol=1e-6)


def test_strict_bounds_are_kept_where_that_is_possible():
    few = Pairs([(0, 1)], [(2, 3), (4, 5)])
    learner = ITML(slack=np.inf, bounds=(0.5, 3.0)).fit(X, pairs=few)
    assert learner.pair_distance(X[:1], X[1:2]) <= 0.5 * (1 + 1e-6)
    assert (learner.pair_distance(X[[2, 4]], X[[3, 5]]) >= 3 * (1 - 1e-6)).all()
    impossible = ITML(slack=np.inf, bounds=(0.5, 2.0), max_iter=20)
    with pytest.warns(ConvergenceWarning, match="may be impossible") as record:
        impossible.fit(np.arange(6.0)[:, None], pairs=Pairs([(0, 1)], [(2, 3)]))
    assert record[0].filename == __file__
    with pytest.warns(ConvergenceWarning, match=r"in 1 sweeps.*Raise max_iter") as record:
        learner = ITML(max_iter=1, random_state=0).fit(X, pairs=PAIRS)
    assert record[0].filename == __file__
    assert learner.n_iter_ == 1


def test_weights_count_and_contradicting_pairs_are_weighed_against_each_other():
    three = np.full(20, 3.0)
    heavy = Pairs(PAIRS.must_link, PAIRS.cannot_link, must_weight=three, cannot_weight=three)
    expected = ITML(slack=3.0, bounds=(1, 4)).fit(X, pairs=PAIRS).distance(X)
    assert_allclose(ITML(slack=1.0, bounds=(1, 4)).fit(X, pairs=heavy).distance(X), expected)
    with pytest.warns(UserWarning, match="contradict"):
        both = ITML(random_state=0).fit(X, pairs=PAIRS + Pairs([(0, 1)], [(0, 1)]))
    assert np.isfinite(both.distance(X)).all()


def test_more_columns_than_points_in_pairs():
    rng = np.random.RandomState(0)
    X = rng.standard_normal((60, 300))
    pairs = Pairs([(0, 1), (1, 2)], [(3, 4)])
    learner = ITML(bounds=(10.0, 30.0), tol=1e-13).fit(X, pairs=pairs)
    Z, sign = as_arrays(X, pairs)
    slack, orders = learner.slack, [range(3)] * 300
    B, _, _ = oracles.itml(Z, sign, np.ones(3), np.eye(300), 100, 900, slack=slack, orders=orders)
    assert_allclose(metric_of(learner), B, atol=1e-6)


def test_rows_that_are_all_equal_leave_the_prior():
    X = np.full((6, 2), 0.1)
    with pytest.warns(UserWarning, match="all rows of X coincide") as record:
        learner = ITML(random_state=0).fit(X, pairs=Pairs([(0, 1)], [(2, 3)]))
    assert record[0].filename == __file__
    assert_allclose(metric_of(learner), np.eye(2), atol=1e-12)
    assert_array_equal(learner.distance(X), 0)


@each(
    ("options", "message"),
    [
        ({"bounds": (4, 1)}, r"must-links \(4\) must be above 0 and below .* cannot-links \(1\)"),
        ({"bounds": (2.0, 2.0)}, "not squared"),
        ({"bounds": (0.0, 1.0)}, "above 0"),
        ({"bounds": (1.0, np.inf)}, "below the smallest"),
        ({"bounds": (np.nan, 1.0)}, "above 0"),
        ({"bounds": (1.0, 2.0, 3.0)}, "must be two numbers"),
        ({"bounds": [["a", "b"]]}, "must be two numbers"),
        ({"prior": np.eye(3)}, r"shape \(3, 3\), but X has 4 columns"),
        ({"prior": np.diag([1.0, 1, 1, 0])}, "positive definite, but its smallest eigenvalue is 0"),
        ({"prior": np.diag([1.0, 1, 1, -2])}, "smallest eigenvalue is -2"),
        ({"prior": np.eye(4) + np.eye(4, k=1)}, "not symmetric"),
        ({"prior": np.full((4, 4), np.nan)}, "prior contains NaN"),
        ({"prior": np.eye(4), "kernel": "rbf"}, "no meaning in the feature space of a kernel"),
    ],
)
def test_wrong_bounds_and_priors(options, message):
    with pytest.raises(ValueError, match=message):
        ITML(**options).fit(X, pairs=PAIRS)
