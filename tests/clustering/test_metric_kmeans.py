import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import rand_score
from sklearn.model_selection import GridSearchCV
from sklearn.utils.estimator_checks import check_estimator

from nearkin import MetricKMeans


def test_scikit_learn_checks():
    check_estimator(MetricKMeans(3, max_iter=200, random_state=0), on_skip=None)


@pytest.fixture(scope="module")
def stretched():
    """Two clusters side by side that are much longer than they are apart."""
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 150)
    X = rng.standard_normal((300, 2)) * [0.7, 1.4]
    X[:, 0] += 3 * y
    return X, y


def test_metric_sees_what_is_long_but_not_apart(stretched):
    X, y = stretched
    model = MetricKMeans(2, interpolation=0.1, random_state=0).fit(X)
    plain = KMeans(2, n_init=10, random_state=0).fit_predict(X)
    assert rand_score(y, model.labels_) >= rand_score(y, plain)
    M = model.components_.T @ model.components_
    assert M[0, 0] > 2 * M[1, 1]
    model, again = (MetricKMeans(2, random_state=0).fit(X) for _ in range(2))
    assert_array_equal(model.predict(X), model.labels_)  # a fixed point
    assert_array_equal(model.labels_, again.labels_)


def test_full_interpolation_is_plain_k_means():
    X, y = load_iris(return_X_y=True)
    model = MetricKMeans(3, interpolation=1.0, random_state=0).fit(X)
    plain = KMeans(3, n_init=10, random_state=np.random.RandomState(0)).fit(X)
    assert rand_score(plain.labels_, model.labels_) == 1
    assert_allclose(model.components_, np.eye(4), atol=1e-12)
    # Known classes may choose the share.
    search = GridSearchCV(
        MetricKMeans(3, max_iter=200, random_state=0), {"interpolation": [0.2, 0.5, 1.0]}, cv=3
    ).fit(X, y)
    assert search.best_score_ > 0.7


def test_clusters_that_still_change_are_told_of():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((200, 5))
    model = MetricKMeans(6, max_iter=1, interpolation=0.0, random_state=0)
    with pytest.warns(ConvergenceWarning, match="still changed") as record:
        model.fit(X)
    assert record[0].filename == __file__


def test_restarts_leave_clusters_that_others_beat():
    """With restarts no k-means in the learned metric is better than the clusters found."""
    X = np.random.default_rng(4).uniform(size=(150, 3))
    settings = {"n_init": 1, "max_iter": 200, "interpolation": 0.8, "random_state": 0}

    def lost(model):
        """How much better other starts are in the learned metric."""
        Z = X @ model.components_.T
        best = KMeans(5, n_init=50, random_state=1).fit(Z).inertia_
        clusters = [Z[model.labels_ == c] for c in range(5)]
        return sum(((rows - rows.mean(axis=0)) ** 2).sum() for rows in clusters) / best - 1

    stuck = MetricKMeans(5, **settings).fit(X)
    freed = MetricKMeans(5, n_restarts=20, **settings).fit(X)
    assert lost(stuck) > 0.05
    assert lost(freed) < 1e-3


@pytest.mark.filterwarnings("ignore:Number of distinct clusters")
def test_few_clusters_identical_rows_and_constant_columns():
    with pytest.raises(ValueError, match="n_samples=2 should be >= n_clusters=3"):
        MetricKMeans(3).fit(np.zeros((2, 1)))
    X = np.random.default_rng(0).standard_normal((10, 2))
    assert_array_equal(MetricKMeans(1, random_state=0).fit(X).labels_, 0)
    X = np.ones((8, 2))
    assert np.isfinite(MetricKMeans(2, random_state=0).fit(X).components_).all()
    X[:4, 0] = 5
    model = MetricKMeans(2, random_state=0).fit(X)
    assert rand_score(X[:, 0], model.labels_) == 1


def test_clusters_that_no_rows_are_left_for_are_told_of():
    X = np.repeat(np.random.default_rng(0).standard_normal((3, 2)), 5, axis=0)
    with pytest.warns(ConvergenceWarning, match="distinct clusters"):
        model = MetricKMeans(4, random_state=0).fit(X)
    assert len(model.cluster_centers_) == len(set(model.labels_)) == 3
    assert_array_equal(np.unique(model.predict(X)), [0, 1, 2])
