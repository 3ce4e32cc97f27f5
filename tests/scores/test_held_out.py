"""Folds of pairs: nothing that is judged can be known from what was learned."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin import Pairs
from nearkin.scores.held_out import assign_row_folds, make_pair_folds
from tests.cases import each


def some_pairs(n_points, n_pairs, seed):
    rng = np.random.RandomState(seed)
    y = rng.randint(3, size=n_points)
    links = rng.randint(n_points, size=(n_pairs, 2))
    links = links[links[:, 0] != links[:, 1]]
    same = y[links[:, 0]] == y[links[:, 1]]
    return Pairs(links[same], links[~same])


@settings(deadline=None)
@given(st.integers(4, 60), st.integers(2, 80), st.integers(2, 6), st.integers(0, 1000))
def test_judged_pairs_do_not_follow_from_those_learned_from(n_points, n_pairs, n_folds, seed):
    pairs = some_pairs(n_points, n_pairs, seed)
    for learn, judge in make_pair_folds(pairs, n_folds, np.random.RandomState(seed), unseen="both"):
        assert learn.any()
        assert judge.any()
        known, asked = pairs.subset(learn), pairs.subset(judge)
        assert not set(known.points) & set(asked.points)
        closure = known.closure()
        for inferred, held_out in (
            (closure.must_link, asked.must_link),
            (closure.cannot_link, asked.cannot_link),
        ):
            assert not set(map(tuple, inferred)) & set(map(tuple, held_out))


def test_pairs_without_common_points_are_all_judged_once():
    pairs = Pairs(
        [(2 * i, 2 * i + 1) for i in range(20)], [(50 + 2 * i, 51 + 2 * i) for i in range(20)]
    )
    folds = make_pair_folds(pairs, 5, np.random.RandomState(0), unseen="both")
    assert len(folds) == 5
    assert (np.sum([judge for _, judge in folds], axis=0) == 1).all()
    assert all((learn == ~judge).all() for learn, judge in folds)
    assert {judge.sum() for _, judge in folds} == {8}


def test_a_group_of_nearly_all_points_is_dealt_out():
    chain = Pairs([(i, i + 1) for i in range(40)], [(i, i + 5) for i in range(36)])
    folds = make_pair_folds(chain, 2, np.random.RandomState(0), unseen="both")
    assert len(folds) == 2
    for learn, judge in folds:
        assert learn.sum() > 5
        assert judge.sum() > 5


def test_same_seed_same_folds():
    pairs = some_pairs(40, 50, 0)
    one, two = (
        make_pair_folds(pairs, 4, np.random.RandomState(3), unseen="both") for _ in range(2)
    )
    for (learn, judge), (learn_again, judge_again) in zip(one, two, strict=True):
        np.testing.assert_array_equal(learn, learn_again)
        np.testing.assert_array_equal(judge, judge_again)


@each("pairs", [Pairs(), Pairs([(0, 1)]), Pairs([(0, 1), (1, 2), (0, 2)])])
def test_too_little_for_two_sides_gives_no_fold(pairs):
    for unseen in ("both", "one") if len(pairs) < 2 else ("both",):
        assert make_pair_folds(pairs, 5, np.random.RandomState(0), unseen=unseen) == []


@each("kind", ["both", "must", "cannot"])
def test_every_pair_that_is_judged_has_a_new_point(kind):
    y = np.repeat([0, 1, 2], [20, 20, 10])
    pairs = Pairs.from_labels(y, 150, kind=kind, random_state=0)
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    folds = make_pair_folds(pairs, 5, np.random.RandomState(0), unseen="one")
    assert len(folds) == 5
    for learn, judge in folds:
        assert (learn != judge).all()
        assert not np.isin(links[judge], links[learn]).all(axis=1).any()
    assert np.any([judge for _, judge in folds], axis=0).all()


def test_new_points_are_of_every_class():
    y = np.arange(50) % 5
    pairs = Pairs.from_labels(y, 1200, random_state=0)  # ties all of a class together
    links = np.concatenate([pairs.must_link, pairs.cannot_link])
    for learn, judge in make_pair_folds(pairs, 5, np.random.RandomState(0), unseen="one"):
        new = np.setdiff1d(links[judge], links[learn])
        assert sorted(y[new]) == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]


def test_a_part_of_the_rows_has_its_share_of_all_and_depends_on_the_seed():
    pairs = some_pairs(120, 40, 0)
    parts = [
        assign_row_folds(pairs, 150, (0.7, 0.3), np.random.RandomState(seed), largest_first=False)
        == 1
        for seed in (0, 1)
    ]
    assert (parts[0] != parts[1]).any()
    for part in parts:
        held_out = pairs.restrict(part)
        assert part.sum() == 45
        assert len(held_out) + len(pairs.restrict(~part)) == len(pairs)
        for kind in ("must_link", "cannot_link"):
            n, n_all = len(getattr(held_out, kind)), len(getattr(pairs, kind))
            assert abs(n - 0.3 * n_all) <= 3
