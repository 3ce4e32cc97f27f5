"""Clusters: groups, their number, and what is said of them."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.datasets import load_iris, make_blobs, make_circles
from sklearn.frozen import FrozenEstimator
from sklearn.metrics import adjusted_rand_score

from nearkin import ITML, Clusters, Euclidean, Pairs
from nearkin.clustering.clusters import (
    USUAL_FAMILIES,
    CandidateSearch,
    Fold,
    HeldOutRates,
    draw_named_rows,
    expected_index,
    find_medoids,
    gather_pairs,
    share_together,
)
from nearkin.clustering.partitions import GroupingRules, Partitions
from nearkin.errors import InputError
from tests.cases import each


def blobs(n=150, k=4, seed=0):
    return make_blobs(n, centers=k, cluster_std=0.6, random_state=seed)


def quick(**options):
    """Clusters in plain coordinates, by one family."""
    return Clusters(metric=Euclidean(), families=["k-means"], random_state=0, **options)


def are_kept(pairs, labels):
    """Whether labels keep all pairs."""
    must, cannot = labels[pairs.must_link], labels[pairs.cannot_link]
    return (must[:, 0] == must[:, 1]).all() and (cannot[:, 0] != cannot[:, 1]).all()


def test_a_number_that_is_given_is_kept_exactly():
    X, y = (part[::2] for part in load_iris(return_X_y=True))
    pairs = Pairs.from_labels(y, 30, random_state=0)
    for options in ({}, {"keep": "soft"}, {"families": ["linkage"]}):
        clusters = Clusters(2, metric=Euclidean(), random_state=0, **options).fit(X, pairs=pairs)
        assert clusters.n_clusters_ == len(np.unique(clusters.labels_)) == 2, options
        assert options or len(clusters.broken_) == 0
        assert 0 < clusters.report_.n_judged <= 30
        assert f"by {clusters.report_.n_judged} held-out pairs" in clusters.report_.reason
    tree = clusters.tree_
    for k in (tree.fewest, 5, 8):
        assert len(np.unique(tree.cut(k))) == k
    with pytest.raises(ValueError, match=f"no 2 groups: joining ended with {tree.fewest}, which"):
        tree.cut(2)
    with pytest.raises(ValueError, match="no 76 groups: must-links leave"):
        tree.cut(76)


def test_groups_and_their_number_are_found_and_new_rows_are_placed():
    X, y = blobs(240)
    train, new = np.arange(160), np.arange(160, 240)
    pairs = Pairs.from_labels(y[train], 40, random_state=0)
    clusters = Clusters((2, 7), random_state=0).fit(X[train], pairs=pairs)
    assert clusters.n_clusters_ == 4
    assert adjusted_rand_score(y[train], clusters.labels_) > 0.95
    assert adjusted_rand_score(y[new], clusters.predict(X[new])) > 0.95
    chances = clusters.predict_proba(X[new])
    assert_allclose(chances.sum(axis=1), 1)
    assert_array_equal(chances.argmax(axis=1), clusters.predict(X[new]))
    assert_array_equal(clusters.labels_[clusters.medoids_], np.arange(4))
    low, high = clusters.report_.interval
    assert low <= 4 <= high
    assert {line.family for line in clusters.report_.candidates} <= set(USUAL_FAMILIES)
    assert "→" in str(clusters.report_)
    assert "4 groups" in clusters.report_._repr_html_()


@pytest.mark.night
def test_shapes_that_are_not_round_are_groups_too():
    X, y = make_circles(300, noise=0.05, factor=0.5, random_state=0)
    pairs = Pairs.from_labels(y, 20, random_state=0)
    clusters = Clusters(random_state=0).fit(X, pairs=pairs)
    assert adjusted_rand_score(y, clusters.labels_) > 0.95


@settings(max_examples=5)  # kept_pairs has more, without a metric
@given(st.integers(0, 2**16), st.integers(2, 4), st.integers(2, 30))
def test_pairs_are_never_broken(seed, k, n_pairs):
    """Whatever they say: these have nothing to do with where rows are."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(25, 2))
    y = rng.integers(k, size=25)
    y[:2] = 0, 1
    pairs = Pairs.from_labels(y, n_pairs, random_state=seed % 1000)
    assert are_kept(pairs, quick(n_clusters=(2, 6)).fit(X, pairs=pairs).labels_)


def test_contradictions_are_named_with_their_chain_or_broken_at_a_cost():
    X, y = blobs(60, 2)
    same = np.flatnonzero(y == y[0])[:3]
    chain = [(same[0], same[1]), (same[1], same[2])]
    other = np.flatnonzero(y != y[0])[0]
    pairs = Pairs(chain, [(same[0], same[2]), (same[0], other)])
    a, b, c = sorted(same.tolist())
    with pytest.raises(InputError, match=rf"contradict.*{a}.*{b}.*{c}"):
        quick().fit(X, pairs=pairs)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clusters = quick(n_clusters=2, keep="soft").fit(X, pairs=pairs)
    assert len(clusters.broken_) == 1
    assert_array_equal(clusters.broken_.cannot_link, [sorted((same[0], same[2]))])
    assert clusters.broken_.cannot_saved[0] > 0
    X, _ = blobs(30, 2)  # those that one group breaks are listed, too
    clusters = quick(n_clusters=1, keep="soft").fit(X, pairs=Pairs([(2, 3)], [(0, 1)]))
    assert_array_equal(clusters.labels_, 0)
    assert_array_equal(clusters.broken_.cannot_link, [(0, 1)])
    assert np.isnan(clusters.broken_.cannot_saved).all()


def test_the_number_may_be_given_or_bounded():
    X, y = blobs(60, 3)
    pairs = Pairs.from_labels(y, 20, random_state=0)
    for k in (2, 5, 40):
        assert quick(n_clusters=k).fit(X, pairs=pairs).n_clusters_ == k
    assert quick(n_clusters=(5, 8)).fit(X, pairs=pairs).n_clusters_ in range(5, 9)
    apart = Pairs(cannot_link=[(0, 1), (1, 2), (0, 2)], must_link=[(3, 4)])
    everyone = Pairs([(0, i) for i in range(1, 60)])
    for options, told, message in (
        ({"n_clusters": (1, 2, 3)}, pairs, "the least and the most"),
        ({"n_clusters": (4, 2)}, pairs, "least must be 1"),
        ({"n_clusters": 61}, pairs, "61 clusters cannot be made"),
        ({"n_clusters": 2}, apart, "more than 2 groups: rows 0, 1, 2 all differ"),
        ({"n_clusters": 2}, everyone, "must-links leave 1 groups at most"),
    ):
        with pytest.raises(InputError, match=message):
            quick(**options).fit(X, pairs=told)
    with pytest.raises(InputError, match="use some of k-means, linkage"):
        Clusters(families=["dbscan"]).fit(X)


def test_without_pairs_it_goes_by_the_rows_and_says_so():
    X, y = blobs(90, 3)
    clusters = Clusters(random_state=0).fit(X)
    assert adjusted_rand_score(y, clusters.labels_) > 0.95
    assert "no pairs" in str(clusters.report_)
    assert clusters.report_.n_judged == 0


def test_labels_act_as_pairs_of_which_there_are_as_many_as_rows_need():
    known = gather_pairs(6, [2, 2, -1, 5, 5, 5], Pairs([(1, 2)]))
    assert_array_equal(known.must_link, [(0, 1), (1, 2), (3, 4), (3, 5)])
    assert_array_equal(known.cannot_link, [(0, 3)])
    X, y = blobs(60, 3)
    some = np.where(np.random.default_rng(0).random(60) < 0.3, y, -1)
    some[:3] = 0, 0, 1  # whatever they are
    labels = quick().fit(X, some).labels_
    known = np.flatnonzero(some >= 0)
    same = some[known][:, None] == some[known]
    assert_array_equal(labels[known][:, None] == labels[known], same)


@each(
    ("X", "pairs", "n_clusters"),
    [
        pytest.param(np.zeros((20, 2)), Pairs([(0, 1)], [(1, 2)]), 2, id="constant"),
        pytest.param(np.zeros((20, 2)), None, 1, id="constant, nothing known"),
        pytest.param(np.arange(12.0)[:, None], Pairs([(0, i) for i in range(1, 12)]), 1, id="one"),
        pytest.param(np.arange(3.0)[:, None], Pairs(cannot_link=[(0, 1), (1, 2), (0, 2)]), 3,
                     id="all differ"),
        pytest.param(np.ones((1, 2)), None, 1, id="one row"),
        pytest.param(np.repeat(np.eye(3), 20, axis=0), Pairs([(0, 1)], [(0, 20), (0, 40)]), 3,
                     id="copies"),
    ],
)  # fmt: skip
def test_rows_that_say_little_have_the_groups_that_pairs_need(X, pairs, n_clusters):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        clusters = Clusters(metric=Euclidean(), random_state=0).fit(X, pairs=pairs)
    assert clusters.n_clusters_ == n_clusters
    assert np.isfinite(clusters.predict_proba(X)).all()


def test_many_rows_are_placed_by_some_and_keep_all_pairs():
    X, y = blobs(2000, 5)
    pairs = Pairs.from_labels(y, 1000, random_state=0)
    clusters = quick(n_clusters=(4, 6)).fit(X, pairs=pairs)
    assert adjusted_rand_score(y, clusters.labels_) > 0.95
    assert are_kept(pairs, clusters.labels_)
    X, y = blobs(5000, 3)  # a number that is given is that of all rows
    clusters = quick(n_clusters=40).fit(X, pairs=Pairs.from_labels(y, 300, random_state=0))
    assert clusters.n_clusters_ == 40


def test_more_groups_than_can_be_scored_are_joined():
    X = np.random.default_rng(0).normal(size=(3000, 2))
    clusters = quick(n_clusters=2900).fit(X, pairs=Pairs([(0, 1)], [(1, 2)]))
    assert clusters.n_clusters_ == 2900
    assert clusters.labels_[0] == clusters.labels_[1] != clusters.labels_[2]
    assert_array_equal(clusters.predict(X[clusters.medoids_]), np.arange(2900))


def test_seeds_sparse_rows_and_a_metric_that_is_learned_already():
    X, y = blobs(60, 3)
    pairs = Pairs.from_labels(y, 30, random_state=0)
    metric = Euclidean().fit(X, pairs=pairs)
    clusters = quick(n_clusters=3).set_params(metric=FrozenEstimator(metric)).fit(X, pairs=pairs)
    assert clusters.metric_ is metric
    clusters = Clusters((2, 4), metric=ITML(random_state=0), random_state=3)
    once, again = (clone(clusters).fit(X, pairs=pairs) for _ in "ab")
    assert_array_equal(once.labels_, again.labels_)
    assert str(once.report_) == str(again.report_)
    dense, sparse = (
        quick(n_clusters=(2, 4)).fit(rows, pairs=pairs) for rows in (X, sp.csr_array(X))
    )
    assert_array_equal(dense.labels_, sparse.labels_)
    assert sparse.predict_proba(sp.csr_array(X)).shape == (60, 3)


def test_medoids_are_the_rows_nearest_to_the_means():
    rng = np.random.default_rng(0)
    Z, labels = rng.normal(size=(50, 3)), rng.integers(4, size=50)
    for group, row in enumerate(find_medoids(Z, labels)):
        inside = np.flatnonzero(labels == group)
        away = np.linalg.norm(Z[inside] - Z[inside].mean(axis=0), axis=1)
        assert row == inside[away.argmin()]


def test_a_sample_has_both_ends_of_pairs_of_both_kinds():
    y = np.arange(5000) % 7
    pairs = Pairs.from_labels(y, 3000, random_state=0)
    rows = draw_named_rows(pairs, 5000, 200, np.random.RandomState(0))
    assert len(np.unique(rows)) == len(rows) == 200
    inside = pairs.restrict(rows)
    assert min(len(inside.must_link), len(inside.cannot_link)) > 30


# ---- how good candidates are


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
    held_out = HeldOutRates(together, same, np.ones(len(links)), shares, 0.3)
    assert_allclose(held_out.estimate_prevalence(), share_together(y), rtol=0.2)
    expected = [adjusted_rand_score(y, g) for g in groupings]
    assert_allclose(held_out.estimate_indices(), expected, atol=0.07)


def test_folds_outvote_groups_of_all_pairs_that_are_worse():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 20)
    clear = 10.0 * np.eye(3)[y] + rng.normal(size=(60, 3))
    blurred = clear + rng.normal(size=(60, 3)) * 6
    pairs = Pairs.from_labels(y, 10, random_state=0)
    whole, told_less = (
        Partitions(Z, pairs, GroupingRules(["k-means"]), 0) for Z in (blurred, clear)
    )
    rows = np.arange(60)
    search = CandidateSearch(whole, [Fold(told_less, rows, Pairs())] * 3, 1 / 3)
    best = search.search(3, 3)

    alone = whole.get(*best.key)
    voted = search.vote(best)
    assert adjusted_rand_score(y, voted) > adjusted_rand_score(y, alone)
    assert are_kept(pairs, voted)
    some = Fold(told_less, rows[:50], Pairs())
    assert_array_equal(CandidateSearch(whole, [some], 1 / 3).vote(best), alone)
