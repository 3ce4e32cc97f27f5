"""Groups of rows that are the same thing, where nobody says how near that is."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import cdist, pdist
from sklearn.datasets import load_digits, load_wine

from nearkin import ITML, RCA, Euclidean, KernelBeta, NeighborIndex, Pairs
from nearkin.pairs.closure import number_by_appearance
from nearkin.search import (
    choose_radius,
    count_near_pairs,
    find_radius_of_share,
    group_by_mean_distance,
)
from nearkin.spaces.neighbors import drop_itself, find_nearest, group_within
from tests.cases import each
from tests.oracles import groups_within


def copies(n_things=1000, noise=0.15, seed=0):
    """Two copies of each of many things, and which thing each is."""
    rng = np.random.default_rng(seed)
    things, who = rng.normal(size=(n_things, 40)), np.repeat(np.arange(n_things), 2)
    return np.repeat(things, 2, axis=0) + noise * rng.normal(size=(2 * n_things, 40)), who


def look_alikes(X, who, n_pairs=100):
    """Half pairs of copies, half rows with the nearest that is no copy."""
    _, near = find_nearest(X, X, 3)
    half = n_pairs // 2
    others = [next(int(j) for j in near[i, 1:] if who[j] != who[i]) for i in range(half)]
    return Pairs([(2 * i, 2 * i + 1) for i in range(half)], list(enumerate(others)))


def f1(groups, who):
    """Of the pairs that groups imply; by loops."""
    found = {(a, b) for group in groups for a in group for b in group if a < b}
    true = {(2 * i, 2 * i + 1) for i in range(len(who) // 2)}
    return 2 * len(found & true) / (len(found) + len(true))


def others_of(Z, k=None):
    """The k nearest others of each row, or all, the nearest first."""
    return drop_itself(*find_nearest(Z, Z, len(Z) if k is None else k + 1))


@each("learner", [Euclidean(), ITML()])
@each("search", ["exact", "approximate"])
def test_copies_are_found_among_many_rows(learner, search):
    X, who = copies()
    metric = learner.set_params(random_state=0).fit(X, pairs=look_alikes(X, who))
    index = NeighborIndex(metric, search=search, random_state=0).add(X)
    assert f1(index.duplicates(), who) >= 0.97


def test_a_given_radius_is_that_radius():
    X, who = copies(100)
    metric = Euclidean().fit(X, pairs=look_alikes(X, who, 20))
    index = NeighborIndex(metric).add(X)
    assert_array_equal(index.group_labels(1.2), groups_within(X - X.mean(axis=0), 1.2))


def test_a_wide_threshold_does_not_join_everything():
    X, who = copies(noise=0.25)
    # Random pairs differ far more than those that look alike: half way is in the midst of these.
    far = Pairs([(2 * i, 2 * i + 1) for i in range(50)], [(i, 900 + i) for i in range(50)])
    metric = Euclidean(random_state=0).fit(X, pairs=far)
    metric.threshold_ *= 1.5
    index = NeighborIndex(metric).add(X)
    assert group_within(index.vectors, metric.threshold_).max() < 1500
    assert f1(index.duplicates(), who) >= 0.97
    assert f1(index.duplicates(precision=0.99), who) >= 0.97
    share = 1000 / (2000 * 1999 / 2)
    assert f1(index.duplicates(prevalence=share), who) >= 0.97


def test_few_copies_among_rows_of_few_dimensions_and_many_of_one():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(2000, 5))
    X[1000:1060] = X[:60] + 0.01 * rng.normal(size=(60, 5))
    groups = NeighborIndex().add(X).duplicates()
    true = sum(set(group) == {i, 1000 + i} for i in range(60) for group in groups)
    assert true >= 0.95 * 60
    assert true >= 0.9 * len(groups)
    X = np.random.default_rng(0).normal(size=(200, 4))
    X[100:140] = X[0]
    assert_array_equal(NeighborIndex().add(X).duplicates()[0], [0, *range(100, 140)])
    (group,) = NeighborIndex().add(np.ones((50, 3))).duplicates()
    assert len(group) == 50


@each("load", [load_wine, load_digits])
@each("learner", [Euclidean, KernelBeta, RCA])
def test_classes_are_not_taken_for_copies(load, learner, tmp_path):
    X, y = (given[:700] for given in load(return_X_y=True))
    X = (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)
    metric = learner(random_state=0).fit(X, pairs=Pairs.from_labels(y, 60, random_state=0))
    with pytest.warns(UserWarning, match=r"rows.*seem to be classes.*cluster metric.transform"):
        groups = NeighborIndex(metric).add(X).duplicates()
    assert max(map(len, groups), default=0) < 10
    with pytest.warns(UserWarning, match=rf"has \d+ of {len(X)} rows, .*smaller radius"):
        NeighborIndex(metric).add(X).duplicates(radius=metric.threshold_)
    NeighborIndex(metric).add(X).save(tmp_path / "rows.index")
    with pytest.warns(UserWarning, match="seem to be classes"):  # a file knows it, too
        NeighborIndex.load(tmp_path / "rows.index").duplicates()


def test_the_warning_names_the_largest_group_and_a_remedy():
    Z = np.concatenate([np.random.default_rng(0).normal(size=(60, 2)), [[0.0, 99.0]]])
    with pytest.warns(UserWarning, match=r"largest of 1 groups has 60 of 61 rows.*smaller radius"):
        NeighborIndex().add(Z).duplicates(radius=1.5)
    with pytest.warns(UserWarning, match=r"has \d+ of 61 rows, many for copies.*precision=0.99"):
        NeighborIndex().add(Z).duplicates(prevalence=0.8)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert NeighborIndex().add(Z).duplicates(radius=0.01) == []


def test_weak_links_chain_nothing():
    # Pairs of copies in a row, each pair not much farther from the next than its rows are apart.
    X = np.array([[3.0 * i + step, 0.0] for i in range(50) for step in (0.0, 1.0)])
    distances, rows = others_of(X)
    assert group_within(X, 2.0).max() == 0
    assert_array_equal(group_by_mean_distance(X, distances, rows, 2.0), np.repeat(np.arange(50), 2))


points = hnp.arrays(
    np.float64, st.tuples(st.integers(2, 25), st.just(2)), elements=st.floats(-5, 5), unique=True
)


@given(points, st.floats(0.1, 6.0))
def test_groups_are_those_of_average_linkage(Z, radius):
    tree = linkage(pdist(Z) ** 2, "average")
    gaps = np.abs(tree[:, 2] - radius**2)
    heights = np.diff(np.sort(tree[:, 2]))
    if (gaps < 1e-6).any() or (heights < 1e-9).any():
        return  # a tie, which may go either way
    expected = number_by_appearance(fcluster(tree, radius**2, "distance"))
    assert_array_equal(group_by_mean_distance(Z, *others_of(Z), radius), expected)
    assert_array_equal(group_by_mean_distance(sp.csr_array(Z), *others_of(Z), radius), expected)


def test_pairs_within_a_radius_are_counted_and_those_by_chance_follow_density():
    Z = np.random.default_rng(0).uniform(size=(2000, 3))
    distances = others_of(Z, 20)[0]
    pairs = count_near_pairs(distances)
    D = cdist(Z, Z)[np.triu_indices(2000, 1)]
    some = np.flatnonzero(pairs.radii < distances[:, -1].min())[::100]
    counts = [np.count_nonzero(radius >= D) for radius in pairs.radii[some]]
    assert_allclose(pairs.found[some], counts)
    # Without copies there are as many as by chance, which is counted twice.
    many = some[pairs.found[some] > 200]
    assert len(many) > 3
    assert_allclose(pairs.by_chance[many] / 2, pairs.found[many], rtol=0.35)
    assert choose_radius(pairs) < pairs.radii[10]


def test_precision_is_kept():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(3000, 4))
    X[2000:2200] = X[:200] + 0.03 * rng.normal(size=(200, 4))
    index = NeighborIndex().add(X)
    assert 0 < index.radius_for(precision=0.95) < index.radius_for() < 0.5
    groups = index.duplicates(precision=0.9)
    found = [(a, b) for group in groups for a in group for b in group if a < b]
    assert np.mean([b - a == 2000 for a, b in found]) >= 0.9
    assert len(found) > 50


@each("share", [0.0, 1e-4, 0.001, 0.02, 0.3])
def test_a_share_of_pairs_lies_within_its_radius(share):
    Z = np.random.default_rng(0).normal(size=(400, 6))
    radius = find_radius_of_share(Z, *others_of(Z, 20), share, np.random.RandomState(0))
    assert np.mean(pdist(Z) <= radius) == pytest.approx(share, rel=0.03)


def test_few_rows_go_by_the_threshold():
    X = np.array([[float(i * i)] for i in range(8)] + [[0.1], [9.1]])
    metric = Euclidean().fit(X, pairs=Pairs([(0, 8)], [(0, 1)]))
    index = NeighborIndex(metric).add(X)
    assert index.radius_for() == metric.threshold_
    assert [group.tolist() for group in index.duplicates()] == [[0, 8], [3, 9]]
    with pytest.raises(ValueError, match=r"precision=0.9, but the index has 10 rows, too few"):
        index.duplicates(precision=0.9)
    with pytest.raises(ValueError, match="radius is needed"):
        NeighborIndex().add(X).duplicates()
    assert NeighborIndex(metric).add([[1.0]]).duplicates() == []


def test_what_is_near_is_said_in_one_way():
    for how, error, message in (
        ({"radius": 1, "precision": 0.9}, ValueError, "give one of radius and precision"),
        ({"precision": 1.0}, ValueError, "precision must lie between 0 and 1, got 1.0"),
        ({"prevalence": -0.1}, ValueError, "prevalence must lie between 0 and 1, got -0.1"),
        ({"prevalence": "rare"}, TypeError, "prevalence must be a number, not 'rare'"),
        ({"precision": True}, TypeError, "precision must be a number, not True"),
    ):
        with pytest.raises(error, match=message):
            NeighborIndex().add(np.eye(50)).duplicates(**how)
