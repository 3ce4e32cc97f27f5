import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from nearkin.records.matching import chances_by, likely_curves
from nearkin.records.trees import Trees, grow
from nearkin.storage.arrays import StorageError


def test_trees_in_arrays_vote_as_those_of_scikit_learn():
    rng = np.random.RandomState(0)
    X = rng.uniform(size=(200, 5)).astype(np.float32)
    y = (X[:, 0] + 0.3 * rng.uniform(size=200) > 0.6).astype(float)
    weight = rng.uniform(0.1, 1, size=200)
    trees = grow(X, y, weight, 20, seed=3)
    forest = ExtraTreesClassifier(20, random_state=3).fit(X, y, weight)
    new = rng.uniform(size=(50, 5)).astype(np.float32)
    assert np.allclose(trees.shares(new), forest.predict_proba(new)[:, 1])


def test_trees_that_go_round_in_circles_are_refused():
    zeros = np.zeros(3)
    with pytest.raises(StorageError, match="not in order"):
        Trees(np.array([1, 1, 0]), np.zeros(3, int), zeros, zeros, np.array([0]), np.ones(2))


def test_curves_follow_answers():
    rng = np.random.RandomState(0)
    scores = rng.uniform(-4, 4, size=400)
    same = (rng.uniform(size=400) < chances_by(np.array([[1.5, 1.0]]), scores)[0]).astype(float)
    slope, middle = likely_curves(scores, same).mean(axis=0)
    assert abs(slope - 1.5) < 0.5
    assert abs(middle - 1) < 0.4
    assert likely_curves(scores, same).std(axis=0).max() < likely_curves(scores[:0], same[:0]).std()
