import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linear_sum_assignment

from nearkin.records.decisions import one_to_one

PAIRS = [(i, j) for i in range(5) for j in range(6)]


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(st.sampled_from(PAIRS), st.floats(-5, 5)))
def test_links_are_the_best_that_use_each_record_once(edges):
    pairs = np.array(list(edges), dtype=int).reshape(-1, 2)
    odds = np.array(list(edges.values()), dtype=float)
    chosen = one_to_one(pairs, odds)
    for side in pairs[chosen].T:
        assert len(set(side.tolist())) == len(side)
    gain = np.zeros((5, 6))
    gain[tuple(pairs.T)] = np.maximum(odds, 0)
    best = gain[linear_sum_assignment(gain, maximize=True)].sum()
    assert np.isclose(odds[chosen].sum(), best)
