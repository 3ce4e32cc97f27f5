"""Rivals of our groups: they keep what they say they keep, and see no more than they may."""

import numpy as np
import pytest

from benchmarks.clusters.cop_kmeans import cop_kmeans
from benchmarks.clusters.protocol import rows
from benchmarks.clusters.rivals import (
    RIVALS,
    k_means,
    labels_of,
    linked,
    rivals,
    spectral,
    without_noise,
)
from nearkin import Pairs
from tests.cases import each


@each("n_pairs", [0, 50])
def test_pairs_name_no_row_that_is_judged(n_pairs):
    given = rows("digits", n_pairs, 0)
    assert len(given.pairs) == n_pairs
    assert len(given.X) == len(given.y) == 1000
    assert given.pairs.points.max(initial=0) < given.test.start
    assert given.score(given.y) == 1.0


@pytest.mark.night  # some are slow
def test_every_rival_labels_every_row():
    given = rows("digits", 20, 0)
    for name in rivals():
        assert labels_of(name, given, 0).shape == (1000,), name


def test_rivals_without_their_package_are_left_out_with_a_word(monkeypatch, capsys):
    monkeypatch.setattr("benchmarks.clusters.rivals.find_spec", lambda name: None)
    left = [name for name in RIVALS if name not in rivals()]
    said = capsys.readouterr().err
    assert left
    assert all(name in said for name in left)


def broken(pairs, labels):
    (a, b), (c, d) = pairs.must_link.T, pairs.cannot_link.T
    return (labels[a] != labels[b]).sum() + (labels[c] == labels[d]).sum()


@pytest.mark.night
@each("seed", range(5))
def test_cop_kmeans_breaks_no_pair(seed):
    rng = np.random.RandomState(seed)
    y = rng.randint(2, size=60)
    X = rng.normal(size=(60, 3)) + y[:, None]
    pairs = Pairs.from_labels(y, 60, random_state=seed)
    assert broken(pairs, cop_kmeans(X, pairs, 2, seed)) == 0


def test_cop_kmeans_says_when_pairs_need_more_clusters():
    with pytest.raises(ValueError, match="no clusters that keep all pairs"):
        cop_kmeans(np.eye(3), Pairs(cannot_link=[(0, 1), (0, 2), (1, 2)]), 2, 0)


def test_without_pairs_cop_kmeans_is_kmeans():
    X = np.random.RandomState(0).normal(size=(40, 2)) + 9 * (np.arange(40) % 3)[:, None]
    ours, theirs = (method(X, Pairs(), 3, 0) for method in (cop_kmeans, k_means))
    assert len(set(zip(ours, theirs, strict=True))) == 3


def test_linkage_keeps_must_links_and_what_is_near_them():
    X = np.array([[0.0], [1.0], [9.0], [10.0], [5.2]])
    pairs = Pairs(must_link=[(0, 3)], cannot_link=[(0, 4)])
    for method in ("average", "complete"):
        labels = linked(X, pairs, 2, 0, method=method)
        assert len(set(labels[:4])) == 1
        assert labels[4] != labels[0]


def test_edited_affinities_can_turn_a_grouping_around():
    points = np.array([[0.0, 0], [0, 1], [3, 0], [3, 1]])
    X = np.repeat(points, 10, axis=0) + np.random.RandomState(0).normal(scale=0.05, size=(40, 2))
    side = np.repeat([0, 1, 0, 1], 10)
    pairs = Pairs.from_labels(side, 300, random_state=0)
    assert broken(pairs, spectral(X, pairs, 2, 0)) == 0


def test_noise_joins_the_nearest_group():
    X = np.array([[0.0], [1.0], [4.0], [5.0]])
    assert without_noise(X, np.array([0, -1, -1, 1])).tolist() == [0, 0, 1, 1]
    assert without_noise(X, np.full(4, -1)).tolist() == [0, 0, 0, 0]
