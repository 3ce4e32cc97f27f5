"""How good candidates are, by held-out pairs, and what their folds vote for."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.metrics import adjusted_rand_score

from nearkin import Pairs
from nearkin.clustering.clusters import (
    CandidateSearch,
    Fold,
    HeldOutRates,
    expected_index,
    share_together,
)
from nearkin.clustering.partitions import GroupingRules, Partitions


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
    for links, together in ((pairs.must_link, True), (pairs.cannot_link, False)):
        assert ((voted[links[:, 0]] == voted[links[:, 1]]) == together).all()
    some = Fold(told_less, rows[:50], Pairs())
    np.testing.assert_array_equal(CandidateSearch(whole, [some], 1 / 3).vote(best), alone)
