"""Questions for groups: super-instances, and learning groups by asking."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from nearkin import KernelBeta, Pairs, learn_actively
from nearkin.pairs.supervision import ContradictionWarning
from nearkin.questions import active
from nearkin.questions.strategies import (
    assign_cells,
    balance_inferred,
    chance_of_new,
    estimate_memberships,
    make_scene,
    pick_by_clusters,
)
from tests.cases import each


def clouds(*sizes, seed=0):
    """Far clouds on a line, and which each row is of."""
    y = np.repeat(np.arange(len(sizes)), sizes)
    noise = np.random.RandomState(seed).standard_normal((len(y), 2))
    return np.column_stack([10.0 * y, np.zeros(len(y))]) + noise, y


def asked_of(y):
    return lambda i, j: bool(y[i] == y[j])


def scene(Z, pairs, threshold=3.0, closed=None):
    rows = np.arange(len(Z))
    return make_scene(Z, threshold, rows, pairs + Pairs(n_rows=len(Z)), closed)


def learned(X, oracle, budget, **options):
    options = {"learner": KernelBeta(n_landmarks=20, random_state=0), "random_state": 0, **options}
    return learn_actively(X, oracle, budget, goal="clusters", **options)


# ---- the parts


def test_the_middle_of_a_cell_is_nearest_to_its_mean():
    Z, _ = clouds(40, 30)
    cell, middle = assign_cells(Z, 6, np.random.RandomState(0))
    assert len(middle) == 6
    assert_array_equal(np.unique(cell), np.arange(6))
    for number, row in enumerate(middle):
        inside = np.flatnonzero(cell == number)
        offsets = np.linalg.norm(Z[inside] - Z[inside].mean(axis=0), axis=1)
        assert row == inside[offsets.argmin()]


def test_chances_are_those_of_the_nearest_known_rows():
    Z, _ = clouds(5, 5, 5)
    pairs = Pairs([(0, 1), (5, 6)], [(0, 5), (5, 10)])
    known = np.array([0, 1, 5, 6, 10])
    there = scene(Z, pairs, closed=np.array([[2, 11], [3, 0]]))
    member, chance = estimate_memberships(there, known, np.random.RandomState(0))
    groups = [[0, 1], [5, 6], [10]]
    distance = np.linalg.norm(Z[:, None] - Z, axis=2)
    for row in range(15):
        for column, rows in enumerate(groups):
            assert member[row, column] == rows[distance[row, rows].argmin()]
    never = {(0, 0), (1, 0), (5, 1), (6, 1), (10, 2), (0, 1), (1, 1), (5, 0), (6, 0), (10, 1)}
    never |= {(5, 2), (6, 2), (3, 0)}  # answered, what follows, and unsure
    assert {tuple(place) for place in np.argwhere(chance == 0).tolist()} == never
    # The odds of two groups are e^(difference of distances / scale): the scale is one for all.
    odds = np.log(chance[[7, 12, 13]][:, 0] / chance[[7, 12, 13]][:, 1])
    farther = distance[[7, 12, 13], member[[7, 12, 13], 1]]
    farther = farther - distance[[7, 12, 13], member[[7, 12, 13], 0]]
    assert_allclose(odds / farther, np.full(3, (odds / farther)[0]))
    free = [2, 4, 7, 8, 9, 11, 12, 13, 14]
    assert_allclose(chance[free].sum(axis=1), 1 - chance_of_new(np.array([2, 2, 1])))


def test_a_no_makes_the_other_groups_likelier_and_a_new_one():
    Z, _ = clouds(20, 20, 20)
    near = Pairs([(i, i + 1) for start in (0, 20) for i in range(start, start + 8)], [(0, 20)])
    known, rng = np.array([*range(9), *range(20, 29)]), np.random.RandomState
    _, before = estimate_memberships(scene(Z, near), known, rng(0))
    unsure = scene(Z, near, closed=np.array([[50, 20]]))
    _, after = estimate_memberships(unsure, known, rng(0))
    first, second = before[50]
    assert_allclose(after[50], [first / (1 - second), 0])
    assert_array_equal(np.delete(after, 50, axis=0), np.delete(before, 50, axis=0))


def test_large_cells_in_doubt_come_first():
    Z, y = clouds(10, 60, 6)
    known = Pairs([(0, 1)])
    i, j = pick_by_clusters(scene(Z, known, threshold=9.0), 1, np.random.RandomState(0))[0]
    assert y[i] == 1
    assert j in (0, 1)


def test_groups_with_many_answers_do_not_outvote_the_others():
    pairs = Pairs([(0, 1), (1, 2), (2, 3), (4, 5)], [(0, 4), (4, 6)], n_rows=9)
    told = balance_inferred(pairs, np.random.RandomState(0))
    closure = pairs.closure()
    assert_array_equal(told.must_link, closure.must_link)
    assert_array_equal(told.cannot_link, closure.cannot_link)
    large = (told.must_link < 4).all(axis=1)
    assert_allclose(told.must_weight[large].sum(), 3)
    assert_allclose(told.must_weight[~large].sum(), 1)
    between = (told.cannot_link < 6).all(axis=1)
    assert_allclose(told.cannot_weight[between].sum(), 2)
    assert_allclose(told.cannot_weight[~between].sum(), 1)
    none = balance_inferred(Pairs(n_rows=3), np.random.RandomState(0))
    assert len(none) == 0


@each(("share", "fewest"), [(0.5, 2), (0.01, 20), (0.1, 5)])
def test_how_many_groups_there_may_be(share, fewest, monkeypatch):
    monkeypatch.setattr(active, "estimate_share_of_same", lambda *_: share)
    apart = Pairs(cannot_link=np.arange(40).reshape(-1, 2))
    assert active.estimate_fewest_groups(None, np.zeros((50, 1)), apart, 0) == fewest
    # At most those seen, by the share of rows that they have: 3 / (1 - 2 / 7), rounded up.
    assert active.estimate_most_groups(Pairs([(0, 1), (5, 6)], [(0, 5), (5, 10)])) == 5
    assert_allclose(chance_of_new(np.array([2, 2, 1])), 2 / 7)
    assert_allclose(chance_of_new(np.array([1])), 2 / 3)


# ---- the whole


def test_what_follows_is_not_asked():
    X, y = clouds(30, 30, 30)
    result = learned(X, asked_of(y), 25)
    known = Pairs(n_rows=len(y))
    for i, j, answer in result.history:
        assert not known.groups.tell(np.array([[i, j]]))[0]
        known = known + (Pairs([(i, j)]) if answer else Pairs(cannot_link=[(i, j)]))
    assert known == result.pairs
    # Three noes tell three groups apart; nearly all the others place a row.
    assert len(result.pairs.cannot_link) <= 6
    assert len(result.pairs.closure()) > 4 * result.n_asked
    assert set(y[result.pairs.points]) == {0, 1, 2}
    X, y = clouds(4, 4)  # it ends when all is known
    result = learned(X, asked_of(y), 100)
    assert result.n_asked < 28
    assert len(result.pairs.closure()) == 28


@each("y", [np.zeros(20, int), np.arange(20)], ids=["all of one class", "all by themselves"])
def test_one_answer_only(y):
    X, _ = clouds(10, 10)
    result = learned(X, asked_of(y), 10)
    assert result.n_asked == 10
    assert {answer for *_, answer in result.history} == {bool(y[0] == y[1])}


@each("X", [np.zeros((30, 2)), np.repeat(np.eye(3), 10, axis=0)])
@pytest.mark.filterwarnings("ignore:all")
def test_rows_that_coincide(X):
    y = np.repeat([0, 1, 2], 10)
    assert learned(X, asked_of(y), 6).n_asked == 6


def test_groups_come_with_the_answers():
    X, y = clouds(30, 30, 30)
    result = learned(X, asked_of(y), 25)
    assert result.metric is result.clusters.metric_
    labels = result.clusters.labels_
    assert result.clusters.n_clusters_ == 3
    assert len(np.unique(labels + 3 * y)) == 3
    quick = KernelBeta(random_state=0)
    assert learn_actively(X, asked_of(y), 5, learner=quick, random_state=0).clusters is None


def test_contradictory_pairs_are_broken_rather_than_refused():
    X, y = clouds(10, 10)
    given = Pairs([(0, 1), (1, 2)], [(0, 2)])
    with pytest.warns(ContradictionWarning):
        result = learned(X, asked_of(y), 10, pairs=given)
    assert result.error is None
    assert result.clusters.keep == "soft"


def test_only_rows_among_those_named_are_asked_about():
    X, y = clouds(20, 20)
    among = np.arange(0, 40, 3)
    given = Pairs([(1, 2)], [(1, 21)])  # about which nothing is asked, but learned
    result = learned(X, asked_of(y), 15, among=among, pairs=given)
    assert {row for question in result.history for row in question[:2]} <= set(among.tolist())
    assert len(result.clusters.labels_) == 40
    for wrong in ([3], [1, 40], [-1, 2], [0.5, 2.0]):
        with pytest.raises(ValueError, match="among must have the numbers of two rows at least"):
            learned(X, asked_of(y), 5, among=wrong)
