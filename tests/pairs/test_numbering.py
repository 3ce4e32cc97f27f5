"""Pairs by numbers."""

import numpy as np
from numpy.testing import assert_array_equal

from nearkin.pairs.closure import draw_links, ends_of, keys_of, sort_distinct


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


def test_numbers_are_sorted_and_named_once():
    assert sort_distinct(np.array([[3, 0], [0, 7]])).tolist() == [0, 3, 7]
