import numpy as np
import pytest
from sklearn.ensemble import ExtraTreesClassifier

from nearkin.records.model import Trees, grow, grow_against
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


def test_trees_against_others_judge_those_too():
    rng = np.random.RandomState(0)
    # Pairs that are the same have both columns above one half; few of the others do.
    same = rng.uniform(0.5, 1, size=(15, 2)).astype(np.float32)
    others = rng.uniform(size=(2000, 2)).astype(np.float32)
    others[:, 1] *= np.where(rng.uniform(size=2000) < 0.95, 0.6, 1.0)
    trees = grow_against(same, np.ones(15), np.ones(15), others, 60, 50, seed=0)
    shares = trees.shares(others)
    both = (others > 0.6).all(axis=1)
    assert np.median(shares[both]) > 0.5 > np.quantile(shares[~both], 0.95)
    assert trees.importances.sum() == pytest.approx(1)
