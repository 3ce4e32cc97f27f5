"""Fast ways for many pairs give what the plain ones give."""

import numpy as np
from numpy.testing import assert_array_equal

from nearkin.pairs.closure import (
    find_positions,
    index_places,
    normalise_pairs,
    number_by_appearance,
    sort_distinct,
)
from tests.cases import each


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
