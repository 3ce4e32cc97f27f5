import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from nearkin.spaces.local_weights import bound_smallest, find_below


@given(seed=st.integers(0, 10**6), m=st.integers(1, 700), k=st.integers(1, 12))
def test_bounds_have_the_smallest_below_them_and_few_others(seed, m, k):
    k = min(k, m)
    values = np.random.RandomState(seed).randint(-500, 500, (9, m)).astype(np.float32)
    minima, lowest = np.empty((9, m // 8), np.float32), np.empty((k, 9), np.float32)
    bound_smallest(values, minima, lowest)
    bounds = lowest[-1]
    assert (np.sort(values, axis=1)[:, k - 1] <= bounds).all()
    chunks, found = np.empty(m // 8 + 1, np.int32), np.empty(m + 1, np.int32)
    for i in range(9):
        n_found = find_below(values[i], minima[i], bounds[i], chunks, found)
        assert_array_equal(np.sort(found[:n_found]), np.flatnonzero(values[i] <= bounds[i]))


def test_a_bound_leaves_hardly_more_than_are_wanted():
    values = np.random.RandomState(0).standard_normal((500, 1000))
    minima, lowest = np.empty((500, 125)), np.empty((5, 500))
    bound_smallest(values, minima, lowest)
    assert (values <= lowest[-1][:, None]).sum(axis=1).mean() < 6
