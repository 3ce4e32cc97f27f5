"""Groups that break pairs at a cost."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from nearkin import Pairs
from nearkin.clustering.constraints import broken_by, energy, softly_kept


def problem(seed, n=12, k=3):
    rng = np.random.default_rng(seed)
    ends = rng.integers(n, size=(2, 10, 2))
    ends = [one[one[:, 0] != one[:, 1]] for one in ends]
    return rng.random((n, k)), Pairs(*ends, n_rows=n)


@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 2.0]))
def test_no_row_and_no_tied_group_can_move_alone(seed, strength):
    costs, pairs = problem(seed)
    labels = softly_kept(costs, pairs, strength)
    found = energy(costs, pairs, labels, strength)
    assert found <= energy(costs, pairs, costs.argmin(axis=1), strength) + 1e-9
    groups = pairs.groups
    alone = [[row] for row in range(len(costs))]
    tied = [groups.points[groups.number == c].tolist() for c in range(groups.count)]
    for rows in alone + tied:
        for group in range(costs.shape[1]):
            other = labels.copy()
            other[rows] = group
            assert energy(costs, pairs, other, strength) >= found - 1e-9


def test_strong_pairs_are_kept_and_weak_ones_listed():
    costs = np.array([[0.0, 1.0], [0.9, 0.0], [1.0, 0.0]])
    pairs = Pairs(must_link=[(0, 1)], cannot_link=[(1, 2)])
    assert_array_equal(softly_kept(costs, pairs, 10.0), [0, 0, 1])
    labels = softly_kept(costs, pairs, 0.1)
    assert_array_equal(labels, [0, 1, 1])
    broken = broken_by(costs, pairs, labels)
    assert_array_equal(broken.must_link, [[0, 1]])
    assert_array_equal(broken.cannot_link, [[1, 2]])
    np.testing.assert_allclose(broken.must_saved, [0.9])
    np.testing.assert_allclose(broken.cannot_saved, [0.9])
    assert len(broken) == 2
