"""Parts of clustering, against slow and sure ways to the same."""

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.metrics import adjusted_rand_score

from nearkin import Pairs
from nearkin.clustering.choice import Comparison, Fold, HeldOut, expected_index, share_together
from nearkin.clustering.clusters import known_pairs, medoids, sampled_rows
from nearkin.clustering.constraints import Placing, blocks_of, kept, kernel_features, sharpness_of
from nearkin.clustering.partitions import FAMILIES, Coordinates, Groupings, agreed_groups
from tests.cases import each


def test_scores_of_a_block_are_those_of_a_regression_without_it():
    rng = np.random.default_rng(0)
    n, m, k, penalty = 30, 8, 3, 0.3
    features = rng.normal(size=(n, m))
    labels = rng.integers(k, size=n)
    blocks = blocks_of(Pairs([(0, 1), (1, 2), (5, 9)]), n)
    weights = np.where(np.arange(n) < 12, 1.0, 0.2)
    placed = Placing(features, blocks, weights).place(labels, k, penalty)

    Y = np.eye(k)[labels]
    mean = weights @ Y / weights.sum()
    for block in np.unique(blocks.of):
        inside = blocks.of == block
        A = features[~inside].T * weights[~inside]
        B = np.linalg.solve(A @ features[~inside] + penalty * np.eye(m), A @ (Y[~inside] - mean))
        assert_allclose(placed.scores[inside], features[inside] @ B + mean, atol=1e-6)


def test_the_penalty_is_the_one_of_least_error():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 2))
    labels = (X[:, 0] > 0).astype(int)
    features = kernel_features(X, 0).transform(X)
    placing = Placing(features, blocks_of(Pairs(), 60), np.ones(60))
    best = placing.place(labels, 2)
    errors = {one: placing.place(labels, 2, one).error for one in (0.03, 0.1, 0.3, 1.0, 3.0)}
    assert best.error == min(errors.values()) == errors[best.penalty]


def test_chances_are_as_sharp_as_they_are_right():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4000, 3))
    true = 2.0
    chance = np.exp(true * scores)
    chance /= chance.sum(axis=1, keepdims=True)
    labels = (rng.random(4000)[:, None] > np.cumsum(chance, axis=1)).sum(axis=1)
    assert_allclose(sharpness_of(scores, labels), true, rtol=0.1)


@given(st.integers(0, 2**16))
def test_the_expected_index_of_all_pairs_is_the_adjusted_rand_index(seed):
    rng = np.random.default_rng(seed)
    y, labels = rng.integers(4, size=40), rng.integers(3, size=40)
    y[:2] = 0, 1
    i, j = np.triu_indices(40, 1)
    same, together = y[i] == y[j], labels[i] == labels[j]
    found = expected_index(together[same].mean(), together[~same].mean(), same.mean())
    assert_allclose(found, adjusted_rand_score(y, labels), atol=1e-9)
    assert_allclose(share_together(labels), together.mean())


def test_the_share_of_same_pairs_is_found_from_pairs_of_which_half_are_the_same():
    rng = np.random.default_rng(0)
    y = rng.integers(5, size=500)
    groupings = [
        np.where(rng.random(500) < noise, rng.integers(5, size=500), y) for noise in (0.1, 0.3, 0.5)
    ]
    pairs = Pairs.from_labels(y, 2000, random_state=0)
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    together = np.array([g[links[:, 0]] == g[links[:, 1]] for g in groupings], dtype=float)
    same = np.repeat([True, False], [len(pairs.must_link), len(pairs.cannot_link)])
    shares = np.array([share_together(g) for g in groupings])
    held_out = HeldOut(together, same, np.ones(len(links)), shares, 0.3)
    assert_allclose(held_out.prevalence(), share_together(y), rtol=0.2)
    expected = [adjusted_rand_score(y, g) for g in groupings]
    assert_allclose(held_out.indices(), expected, atol=0.07)


@given(st.integers(0, 2**16))
def test_two_groups_that_keep_pairs_are_the_cheapest(seed):
    rng = np.random.default_rng(seed)
    n = 9
    y = rng.integers(2, size=n)
    ends = rng.integers(n, size=(8, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    same = y[ends[:, 0]] == y[ends[:, 1]]
    pairs = Pairs(ends[same], ends[~same], n_rows=n)
    costs = rng.random((n, 2))
    blocks = blocks_of(pairs, n)
    labels = kept(costs, blocks, most_groups=2)

    def cost(one):
        return costs[np.arange(n), one].sum()

    allowed = [
        one
        for one in map(np.array, itertools.product((0, 1), repeat=n))
        if (one[pairs.must_link[:, 0]] == one[pairs.must_link[:, 1]]).all()
        and (one[pairs.cannot_link[:, 0]] != one[pairs.cannot_link[:, 1]]).all()
    ]
    assert_allclose(cost(labels), min(map(cost, allowed)))


@each("family", FAMILIES)
def test_every_family_finds_what_is_plain(family):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(3), 40)
    Z = 10 * np.eye(3)[y] + rng.normal(size=(120, 3))
    labels = FAMILIES[family](Coordinates(Z, blocks_of(Pairs(), 120), 0))(3)
    assert adjusted_rand_score(y, labels) > 0.95


def test_groups_that_most_agree_on():
    y = np.repeat(np.arange(3), 10)
    wrong = y.copy()
    wrong[0] = 1
    other = y.copy()
    other[15] = 2
    found = agreed_groups([wrong, y, other], 3)
    assert adjusted_rand_score(y, found) == 1


def test_medoids_are_the_rows_nearest_to_the_means():
    rng = np.random.default_rng(0)
    Z, labels = rng.normal(size=(50, 3)), rng.integers(4, size=50)
    for group, row in enumerate(medoids(Z, labels)):
        inside = np.flatnonzero(labels == group)
        away = np.linalg.norm(Z[inside] - Z[inside].mean(axis=0), axis=1)
        assert row == inside[away.argmin()]


def test_labels_are_as_many_pairs_as_rows_need():
    known = known_pairs(6, [2, 2, -1, 5, 5, 5], Pairs([(1, 2)]))
    assert_array_equal(known.must_link, [(0, 1), (1, 2), (3, 4), (3, 5)])
    assert_array_equal(known.cannot_link, [(0, 3)])


def test_a_sample_has_both_ends_of_pairs_of_both_kinds():
    y = np.arange(5000) % 7
    pairs = Pairs.from_labels(y, 3000, random_state=0)
    rows = sampled_rows(pairs, 5000, 200, np.random.RandomState(0))
    assert len(np.unique(rows)) == len(rows) == 200
    inside = pairs.restrict(rows)
    assert min(len(inside.must_link), len(inside.cannot_link)) > 30


def test_folds_outvote_groups_of_all_pairs_that_are_worse():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    clear = 10.0 * np.eye(3)[y] + rng.normal(size=(60, 3))
    blurred = clear + rng.normal(size=(60, 3)) * 6
    pairs = Pairs.from_labels(y, 10, random_state=0)
    whole = Groupings(blurred, pairs, ["ward"], 0)
    told_less = Groupings(clear, pairs, ["ward"], 0)
    rows = np.arange(60)
    comparison = Comparison(whole, [Fold(told_less, rows, Pairs())] * 3, ["ward"], 1 / 3)
    comparison.judge([3])
    best = comparison.best()

    alone = whole.grouped(best.key)
    agreed = comparison.agreed(best)
    assert adjusted_rand_score(y, agreed.labels) > adjusted_rand_score(y, alone.labels)
    for links, together in ((pairs.must_link, True), (pairs.cannot_link, False)):
        assert ((agreed.labels[links[:, 0]] == agreed.labels[links[:, 1]]) == together).all()
    some = Fold(told_less, rows[:50], Pairs())
    assert Comparison(whole, [some], ["ward"], 1 / 3).agreed(best) is alone
