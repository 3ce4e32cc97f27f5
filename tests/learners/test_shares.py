"""Shares of a blend."""

import numpy as np
from numpy.testing import assert_allclose
from sklearn.metrics import roc_auc_score

from nearkin.learners.selection import learn_shares, weighted_auc


def test_the_auc_is_that_of_scikit_learn_with_weights_and_ties():
    rng = np.random.default_rng(0)
    distances = rng.integers(6, size=80).astype(float)
    same, weight = rng.random(80) < 0.4, rng.random(80)
    expected = roc_auc_score(same, -distances, sample_weight=weight)
    assert_allclose(weighted_auc(distances, same, weight), expected)


def test_steps_are_those_of_a_plain_search():
    rng = np.random.default_rng(1)
    same = rng.random(60) < 0.5
    distances = rng.gamma(2.0, np.where(same, 0.7, 1.0)[:, None], (60, 4))
    weight, usual = rng.random(60), np.array([0.5, 0.5, 0, 0])

    def auc(counts):
        return roc_auc_score(same, -distances @ counts, sample_weight=weight)

    counts = 20 * usual
    while True:
        tried = [counts + step for step in np.eye(4)]
        best = max(tried, key=auc)
        if auc(best) <= auc(counts):
            break
        counts = best
    found = learn_shares(distances, same, weight, usual)
    assert_allclose(found, counts / counts.sum())
    assert counts.sum() > 20


def test_where_all_pairs_are_told_apart_the_usual_shares_stay():
    distances = np.array([[0.1, 0.2], [0.2, 0.1], [1.0, 0.9], [1.1, 1.0]])
    same = np.array([True, True, False, False])
    assert_allclose(learn_shares(distances, same, np.ones(4), np.array([0.7, 0.3])), [0.7, 0.3])
