"""Probabilistic linear discriminant analysis: src/nearkin/learners/plda.py."""

import numpy as np
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal
from sklearn.metrics import pairwise_distances
from sklearn.preprocessing import normalize

from nearkin import PLDA, Pairs
from nearkin.learners.plda import discriminant_metric


def covariance(rng, d, size):
    root = rng.normal(size=(d, d))
    return size * root @ root.T


def test_metric_is_that_of_the_log_odds():
    # The log-odds of the two models are the squared distance, and what each row has of its own.
    rng = np.random.default_rng(0)
    within, between = covariance(rng, 3, 0.3), covariance(rng, 3, 1.0)
    total = within + between
    metric = discriminant_metric(within, total)
    joint = multivariate_normal(np.zeros(6), np.block([[total, between], [between, total]]))
    alone = multivariate_normal(np.zeros(3), total)

    def log_odds(x, y):
        return joint.logpdf(np.concatenate([x, y])) - alone.logpdf(x) - alone.logpdf(y)

    x, y = rng.normal(size=(2, 3))
    own = (log_odds(x, x) + log_odds(y, y)) / 2
    assert_allclose(log_odds(x, y) - own, -0.5 * (x - y) @ metric @ (x - y))


def test_directions_within_classes_do_not_count():
    rng = np.random.default_rng(0)
    y = rng.integers(20, size=400)
    means = rng.normal(size=(20, 2)) @ np.eye(2, 6)
    X = means[y] + rng.normal(size=(400, 6)) * np.repeat([0.1, 3.0], [2, 4])
    pairs = Pairs.from_labels(y, 60, kind="must", random_state=0)
    metric = PLDA(random_state=0).fit(X, pairs=pairs)
    weights = np.linalg.norm(metric.components_, axis=0)
    assert weights[:2].min() > 10 * weights[2:].max()
    held = PLDA(prior_pairs=1e9, random_state=0).fit(X, pairs=pairs)
    assert metric.score(X, y) > held.score(X, y) + 0.1


def test_without_must_links_directions_are_as_they_are():
    X = np.random.default_rng(0).normal(size=(20, 2))
    metric = PLDA(random_state=0).fit(X, pairs=Pairs(cannot_link=[(0, 1)]))
    directions = normalize(X - X.mean(axis=0))
    assert_allclose(metric.distance(X[:5]), pairwise_distances(directions[:5]), atol=1e-7)
