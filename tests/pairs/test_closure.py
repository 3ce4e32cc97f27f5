"""Who belongs together and who differs, and fast ways for many pairs beside plain ones."""

import numpy as np
from numpy.testing import assert_array_equal

from nearkin import Pairs
from nearkin.pairs.closure import (
    draw_links,
    ends_of,
    find_chunklets,
    find_positions,
    index_places,
    keys_of,
    normalise_pairs,
    number_by_appearance,
    sort_distinct,
)
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
    nothing = Pairs(n_rows=3).groups
    assert nothing.count == nothing.tell(links).sum() == 0
    # Of a contradiction both follow.
    groups = Pairs([(0, 1), (1, 2)], [(0, 2), (2, 3)]).groups
    assert groups.contradicted.tolist() == [True, False]
    assert groups.alike(np.array([[0, 1]])).all()
    assert groups.differ(np.array([[0, 1]])).all()


def test_labels_join_what_must_links_do_not():
    classes = np.array([1, -1, 0, 1, 0, -1, 2, -1])
    rows, group = find_chunklets(np.array([[1, 3], [7, 5]]), classes)
    assert rows.tolist() == [0, 1, 2, 3, 4, 5, 7]
    assert group.tolist() == [0, 0, 1, 0, 1, 2, 2]
    rows, group = find_chunklets(np.array([[4, 2]]), None)
    assert (rows.tolist(), group.tolist()) == ([2, 4], [0, 0])


def plainly_normalised(pairs, weights, keep_first):
    kept = {}
    for pair, weight in zip(np.sort(pairs, axis=1).tolist(), weights.tolist(), strict=True):
        before = kept.get(tuple(pair), weight)
        kept[tuple(pair)] = before if keep_first else max(before, weight)
    links = sorted(kept)
    return np.reshape(links, (-1, 2)), np.array([kept[link] for link in links])


@each("keep_first", [False, True])
@each("largest", [30, 2**31 - 1, 2**31, 2**62])
@each("equal_weights", [False, True])
def test_pairs_are_sorted_once_each_whatever_their_numbers(keep_first, largest, equal_weights):
    rng = np.random.default_rng(0)
    pairs = largest - rng.integers(30, size=(400, 2))
    weights = np.ones(400) if equal_weights else rng.integers(1, 5, size=400).astype(float)
    found = normalise_pairs(pairs, weights, keep_first=keep_first)
    for ours, theirs in zip(found, plainly_normalised(pairs, weights, keep_first), strict=True):
        assert_array_equal(ours, theirs)


@each("largest", [2000, 10**12])
def test_numbers_are_found_by_tables_as_by_searches(largest):
    values = np.random.default_rng(0).integers(largest, size=(1500, 2))
    once = sort_distinct(values)
    assert_array_equal(once, np.unique(values))
    assert_array_equal(find_positions(values, once), np.searchsorted(once, values))


def test_numbers_in_order_of_appearance():
    assert number_by_appearance(np.array([7, 2, 7, 0, 2])).tolist() == [0, 1, 0, 2, 1]
    assert number_by_appearance(np.empty(0, dtype=np.int64)).tolist() == []


@each("largest", [4000, 10**12])
@each("count", [0, 3, 1500])
def test_places_among_some_numbers(largest, count):
    rng = np.random.default_rng(0)
    chosen = rng.permutation(np.unique(rng.integers(largest, size=3 * count)))[:count]
    numbers = np.append(chosen[::2], rng.integers(largest, size=50))[:, None]
    place = {number: at for at, number in enumerate(chosen.tolist())}
    expected = [[place.get(number, -1)] for number in numbers.ravel().tolist()]
    assert_array_equal(index_places(chosen)(numbers), expected)


def test_a_key_stands_for_one_pair_in_either_order():
    most = 2**31 - 1
    pairs = np.array([[0, 1], [1, 0], [7, 3], [0, most], [most, most - 1]])
    keys = keys_of(pairs)
    assert keys.dtype == np.int64
    assert keys[0] == keys[1]
    assert len(set(keys.tolist())) == 4
    assert_array_equal(ends_of(keys), np.sort(pairs, axis=1))


def test_random_pairs_are_of_different_rows():
    pairs = draw_links(5, np.random.RandomState(0))
    assert 700 < len(pairs) < 900  # a fifth of a thousand names one row twice
    assert pairs.shape[1] == 2
    assert set(keys_of(pairs).tolist()) == {i * 2**31 + j for j in range(5) for i in range(j)}
    assert len(draw_links(5, np.random.RandomState(0), 10)) <= 10
