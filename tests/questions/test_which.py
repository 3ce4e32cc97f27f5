import numpy as np
import pytest

from nearkin import Pairs
from nearkin.questions.strategies import entropy, find_typical, make_scene, pick_which_questions
from tests.cases import each

# Four clouds of ten rows on a line.
RNG = np.random.RandomState(0)
Y = np.repeat(np.arange(4), 10)
Z = np.column_stack([10.0 * Y + RNG.rand(40), RNG.rand(40)])


def scene(must, cannot, unsure=()):
    pairs = Pairs(must, cannot, n_rows=40)
    return make_scene(Z, 3.0, np.arange(40), pairs, np.array(unsure).reshape(-1, 2).astype(int))


THREE = scene([(0, 1), (0, 2)], [(0, 10), (0, 20), (10, 20)])


@each("choose", ["random", "far", "near", "clusters"])
def test_a_row_is_shown_beside_groups_that_differ(choose):
    found = pick_which_questions(THREE, 5, np.random.RandomState(0), choose)
    assert found
    for one in found:
        assert one.row not in (0, 1, 2, 10, 20)
        assert sorted(Y[one.shown]) == [0, 1, 2]
        assert one.information > one.plain > 0
        nearest = np.abs(Z[one.shown, 0] - Z[one.row, 0]).argmin()
        assert nearest == 0  # the likeliest first


def test_far_rows_and_near_ones():
    far = pick_which_questions(THREE, 1, np.random.RandomState(0), "far")[0]
    assert Y[far.row] == 3
    near = pick_which_questions(THREE, 1, np.random.RandomState(0), "near")[0]
    assert Y[near.row] == Y[near.shown[0]]


def test_rows_at_random_are_any_rows():
    drawn = {
        pick_which_questions(THREE, 1, np.random.RandomState(seed), "random")[0].row
        for seed in range(200)
    }
    assert drawn == set(range(40)) - {0, 1, 2, 10, 20}


def test_no_more_groups_than_there_is_room_for_and_the_others_next():
    two = pick_which_questions(THREE, 1, np.random.RandomState(0), "far", 2)[0]
    assert len(two.shown) == 2
    none = [(two.row, row) for row in two.shown.tolist()]
    asked = scene([(0, 1), (0, 2)], [(0, 10), (0, 20), (10, 20), *none])
    for choose in ("random", "far"):
        again = pick_which_questions(asked, 1, np.random.RandomState(0), choose, 2)[0]
        assert again.row == two.row
        assert set(Y[again.shown]) == {0, 1, 2} - set(Y[two.shown])
    assert pick_which_questions(asked, 1, np.random.RandomState(0), "near", 2)[0].row != two.row


def test_groups_that_may_be_one_are_not_shown_together():
    open_ = scene([(0, 1), (10, 11)], [(0, 20)])
    assert pick_which_questions(open_, 3, np.random.RandomState(0), "random") == [] or all(
        len(one.shown) == 2 and set(Y[one.shown]) == {0, 2}
        for one in pick_which_questions(open_, 3, np.random.RandomState(0), "random")
    )
    assert pick_which_questions(scene([(0, 1)], []), 3, np.random.RandomState(0), "random") == []


def test_a_row_that_people_were_unsure_of_is_left_alone():
    unsure = scene([(0, 1)], [(0, 10)], [(30, 0), (30, 10)])
    asked = pick_which_questions(unsure, 40, np.random.RandomState(0), "far")
    assert 30 not in [one.row for one in asked]


def test_bits():
    assert entropy(np.array([0.25, 0.25, 0.25])) == pytest.approx(2)
    assert entropy(np.array([0.5])) == pytest.approx(1)
    assert entropy(np.array([1.0])) == 0


def test_the_typical_row_is_in_the_middle():
    members = Z[:3]
    middle = ((members - members.mean(axis=0)) ** 2).sum(axis=1).argmin()
    assert find_typical(THREE, THREE.group[0]) == middle
