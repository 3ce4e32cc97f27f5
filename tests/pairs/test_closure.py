"""Who belongs together, and who differs."""

import numpy as np

from nearkin import Pairs
from nearkin.pairs.closure import find_chunklets
from tests.cases import each

PAIRS = Pairs([(0, 5), (5, 7), (3, 4)], [(0, 2), (3, 7), (9, 8)])


def test_groups_are_of_all_rows_that_pairs_name():
    groups = PAIRS.groups
    assert groups.points.tolist() == [0, 2, 3, 4, 5, 7, 8, 9]
    assert groups.number.tolist() == [0, 1, 2, 2, 0, 0, 3, 4]
    assert groups.count == 5
    assert groups.must.tolist() == [0, 2, 0]
    assert groups.cannot.tolist() == [[0, 1], [2, 0], [3, 4]]
    assert groups.of(np.array([[7, 1], [4, 10]])).tolist() == [[0, -1], [2, -1]]


@each(
    ("link", "alike", "differ"),
    [
        ((0, 7), True, False),
        ((5, 4), False, True),
        ((2, 7), False, True),
        ((2, 3), False, False),
        ((1, 10), False, False),
        ((0, 1), False, False),
    ],
)
def test_what_is_said_of_a_group_is_said_of_its_rows(link, alike, differ):
    links = np.array([link, link[::-1]])
    assert PAIRS.groups.alike(links).tolist() == [alike] * 2
    assert PAIRS.groups.differ(links).tolist() == [differ] * 2
    assert PAIRS.groups.tell(links).tolist() == [alike or differ] * 2


def test_of_a_contradiction_both_follow():
    groups = Pairs([(0, 1), (1, 2)], [(0, 2), (2, 3)]).groups
    assert groups.contradicted.tolist() == [True, False]
    assert groups.alike(np.array([[0, 1]])).all()
    assert groups.differ(np.array([[0, 1]])).all()


def test_without_pairs_nothing_is_said():
    groups = Pairs(n_rows=3).groups
    assert groups.count == 0
    assert not groups.tell(np.array([[0, 1], [1, 2]])).any()


def test_labels_join_what_must_links_do_not():
    classes = np.array([1, -1, 0, 1, 0, -1, 2, -1])
    rows, group = find_chunklets(np.array([[1, 3], [7, 5]]), classes)
    assert rows.tolist() == [0, 1, 2, 3, 4, 5, 7]
    assert group.tolist() == [0, 0, 1, 0, 1, 2, 2]
    rows, group = find_chunklets(np.array([[4, 2]]), None)
    assert (rows.tolist(), group.tolist()) == ([2, 4], [0, 0])
