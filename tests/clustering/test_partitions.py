"""Ways to partition rows: the tree of linkage, families, repairs and votes."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score

from nearkin import Pairs
from nearkin.clustering.constraints import tie_blocks
from nearkin.clustering.partitions import (
    FAMILIES,
    PENALTIES,
    GroupingRules,
    MembershipRegression,
    Partitions,
    fit_kernel_features,
    fit_sharpness,
    grow_tree,
    vote_on_groups,
)
from tests.cases import each
from tests.clustering.test_clusters import are_kept


def problem(seed, n=14, n_pairs=5):
    rng = np.random.default_rng(seed)
    Z = rng.standard_normal((n, 2))
    dense = np.triu(rng.random((n, n)) * (rng.random((n, n)) < 0.5), 1)
    y = rng.integers(3, size=n)
    pairs = Pairs.from_labels(y, n_pairs, random_state=seed) if n_pairs else Pairs()
    return Z, dense + dense.T, pairs


def slow_linkage(affinity, blocks):
    """All groups compared with all, after every join."""
    groups = [set(np.flatnonzero(blocks.of == b)) for b in range(blocks.count)]
    apart = blocks.apart.toarray() > 0
    owners = [{b} for b in range(blocks.count)]
    while True:
        best = (0.0, None)
        for i in range(len(groups)):
            for j in range(i):
                if apart[np.ix_(list(owners[i]), list(owners[j]))].any():
                    continue
                alike = np.mean(affinity[np.ix_(list(groups[i]), list(groups[j]))])
                if alike > best[0]:
                    best = (alike, (j, i))
        if best[1] is None:
            return groups
        j, i = best[1]
        groups[j] |= groups.pop(i)
        owners[j] |= owners.pop(i)


@settings(max_examples=30)
@given(seed=st.integers(0, 10**6), n_pairs=st.sampled_from([0, 5, 12]))
def test_as_slow_linkage_and_every_cut_keeps_pairs(seed, n_pairs):
    Z, affinity, pairs = problem(seed, n_pairs=n_pairs)
    blocks = tie_blocks(pairs, len(Z))
    tree = grow_tree(Z, blocks, sp.csr_array(affinity))
    by_graph = int(np.isfinite(tree.alike).sum())
    labels = tree.cut(blocks.count - by_graph)
    found = {frozenset(np.flatnonzero(labels == c).tolist()) for c in np.unique(labels)}
    assert found == {frozenset(int(i) for i in one) for one in slow_linkage(affinity, blocks)}
    for n_groups in range(1, 15):
        labels = tree.cut_near(n_groups)
        assert are_kept(pairs, labels)
        assert len(np.unique(labels)) == min(max(n_groups, tree.fewest), tree.blocks.count)


@each("family", FAMILIES)
def test_every_family_finds_what_is_plain(family):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 40)
    Z = 10 * np.eye(3)[y] + rng.normal(size=(120, 3))
    labels = Partitions(Z, Pairs(), GroupingRules([family]), 0).find(family, 3)
    assert adjusted_rand_score(y, labels) > 0.95


def test_scores_of_a_block_are_those_of_a_regression_without_it():
    rng = np.random.default_rng(0)
    n, m, k, penalty = 30, 8, 3, 0.3
    features = rng.normal(size=(n, m))
    labels = rng.integers(k, size=n)
    blocks = tie_blocks(Pairs([(0, 1), (1, 2), (5, 9)]), n)
    weights = np.where(np.arange(n) < 12, 1.0, 0.2)
    found = MembershipRegression(features, blocks, weights).score(labels, k, penalty)

    Y = np.eye(k)[labels]
    mean = weights @ Y / weights.sum()
    for block in np.unique(blocks.of):
        inside = blocks.of == block
        A = features[~inside].T * weights[~inside]
        B = np.linalg.solve(A @ features[~inside] + penalty * np.eye(m), A @ (Y[~inside] - mean))
        np.testing.assert_allclose(found.scores[inside], features[inside] @ B + mean, atol=1e-6)


def test_the_penalty_is_the_one_of_least_error():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    labels = (X[:, 0] > 0).astype(int)
    features = fit_kernel_features(X, 0).transform(X)
    regression = MembershipRegression(features, tie_blocks(Pairs(), 60), np.ones(60))
    best = regression.score(labels, 2)
    errors = {one: regression.score(labels, 2, one).error for one in PENALTIES}
    assert best.error == min(errors.values()) == errors[best.penalty]


def test_chances_are_as_sharp_as_they_are_right():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4000, 3))
    true = 2.0
    chance = np.exp(true * scores)
    chance /= chance.sum(axis=1, keepdims=True)
    labels = (rng.random(4000)[:, None] > np.cumsum(chance, axis=1)).sum(axis=1)
    np.testing.assert_allclose(fit_sharpness(scores, labels), true, rtol=0.1)


@given(st.integers(0, 2**16), st.sampled_from([2, 4, 9]))
def test_repaired_groups_keep_pairs_and_bounds(seed, n_pairs):
    rng = np.random.default_rng(seed)
    Z, y = rng.normal(size=(20, 2)), rng.integers(3, size=20)
    y[:3] = 0, 1, 2
    pairs = Pairs.from_labels(y, n_pairs, random_state=seed)
    start = rng.integers(5, size=20)
    labels = Partitions(Z, pairs, GroupingRules(["k-means"], least=3, most=4), 0).repair(start, 3)
    assert are_kept(pairs, labels)
    assert 3 <= len(np.unique(labels)) <= 4


def test_groups_that_most_vote_for():
    y = np.repeat(np.arange(3), 10)
    wrong = y.copy()
    wrong[0] = 1
    other = y.copy()
    other[15] = 2
    assert adjusted_rand_score(y, vote_on_groups([wrong, y, other], 3, 0)) == 1
