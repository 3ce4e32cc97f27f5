"""Assigning rows to groups such that pairs are kept, or broken at a cost."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin import Pairs
from nearkin.clustering.constraints import (
    assign_keeping_pairs,
    assign_softly,
    list_broken,
    sum_costs,
    tie_blocks,
)
from nearkin.errors import InputError


@st.composite
def problems(draw):
    n = draw(st.integers(2, 9))
    ends = st.tuples(st.integers(0, n - 1), st.integers(0, n - 1)).filter(lambda e: e[0] != e[1])
    must = draw(st.lists(ends, max_size=3))
    cannot = draw(st.lists(ends, max_size=14))
    k = draw(st.integers(1, 4))
    seed = draw(st.integers(0, 2**16))
    return n, must, cannot, k, np.random.default_rng(seed).random((n, k))


def all_kept(labels, must, cannot):
    return all(labels[a] == labels[b] for a, b in must) and all(
        labels[a] != labels[b] for a, b in cannot
    )


def is_possible(n, must, cannot, most):
    return any(all_kept(one, must, cannot) for one in itertools.product(range(most), repeat=n))


@given(problems())
def test_pairs_are_never_broken_and_so_many_groups_are_enough_or_it_is_said(problem):
    n, must, cannot, k, costs = problem
    pairs = Pairs(must, cannot, n_rows=n)
    if pairs.conflicts():
        with pytest.raises(InputError, match=r"contradict one another: rows .* = "):
            tie_blocks(pairs, n)
        return
    labels = assign_keeping_pairs(costs, tie_blocks(pairs, n))
    assert all_kept(labels, must, cannot)
    n = min(n, 7)
    must, cannot = ([e for e in links if max(e) < n] for links in (must, cannot))
    blocks = tie_blocks(Pairs(must, cannot, n_rows=n), n)
    if is_possible(n, must, cannot, k):
        labels = assign_keeping_pairs(costs[:n], blocks, most_groups=k)
        assert all_kept(labels, must, cannot)
        assert labels.max() < k
    else:
        with pytest.raises(InputError, match=f"with {k} groups|more than {k} groups"):
            assign_keeping_pairs(costs[:n], blocks, most_groups=k)


def test_no_single_move_is_cheaper():
    rng = np.random.default_rng(0)
    n, k = 300, 6
    costs = rng.random((n, k))
    alone = assign_keeping_pairs(costs, tie_blocks(Pairs(), n))
    np.testing.assert_array_equal(alone, costs.argmin(axis=1))
    y = rng.integers(k, size=n)
    pairs = Pairs.from_labels(y, 400, random_state=0)
    blocks = tie_blocks(pairs, n)
    labels = assign_keeping_pairs(costs, blocks)
    assert all_kept(labels, pairs.must_link, pairs.cannot_link)
    summed = blocks.sum_by_block(costs)
    own = np.zeros(blocks.count, dtype=int)
    own[blocks.of] = labels
    for block in range(blocks.count):
        others = own[blocks.apart[[block]].indices]
        for group in set(range(k)) - set(others.tolist()):
            assert summed[block, group] >= summed[block, own[block]] or own[block] >= k


@given(st.integers(0, 2**16))
def test_two_groups_that_keep_pairs_are_the_cheapest(seed):
    rng = np.random.default_rng(seed)
    n = 9
    y = rng.integers(2, size=n)
    ends = rng.integers(n, size=(8, 2))
    ends = ends[ends[:, 0] != ends[:, 1]]
    same = y[ends[:, 0]] == y[ends[:, 1]]
    pairs = Pairs(ends[same], ends[~same], n_rows=n)
    costs = rng.random((n, 2))
    blocks = tie_blocks(pairs, n)
    labels = assign_keeping_pairs(costs, blocks, most_groups=2)

    def cost(one):
        return costs[np.arange(n), one].sum()

    allowed = [
        one
        for one in map(np.array, itertools.product((0, 1), repeat=n))
        if all_kept(one, pairs.must_link, pairs.cannot_link)
    ]
    np.testing.assert_allclose(cost(labels), min(map(cost, allowed)))


def soft_problem(seed, n=12, k=3):
    rng = np.random.default_rng(seed)
    ends = rng.integers(n, size=(2, 10, 2))
    ends = [one[one[:, 0] != one[:, 1]] for one in ends]
    return rng.random((n, k)), Pairs(*ends, n_rows=n)


@given(st.integers(0, 10**6), st.sampled_from([0.05, 0.3, 2.0]))
def test_no_row_and_no_tied_group_can_move_alone(seed, strength):
    costs, pairs = soft_problem(seed)
    labels = assign_softly(costs, pairs, strength)
    found = sum_costs(costs, pairs, labels, strength)
    assert found <= sum_costs(costs, pairs, costs.argmin(axis=1), strength) + 1e-9
    groups = pairs.groups
    alone = [[row] for row in range(len(costs))]
    tied = [groups.points[groups.number == c].tolist() for c in range(groups.count)]
    for rows in alone + tied:
        for group in range(costs.shape[1]):
            other = labels.copy()
            other[rows] = group
            assert sum_costs(costs, pairs, other, strength) >= found - 1e-9


def test_strong_pairs_are_kept_and_weak_ones_listed():
    costs = np.array([[0.0, 1.0], [0.9, 0.0], [1.0, 0.0]])
    pairs = Pairs(must_link=[(0, 1)], cannot_link=[(1, 2)])
    np.testing.assert_array_equal(assign_softly(costs, pairs, 10.0), [0, 0, 1])
    labels = assign_softly(costs, pairs, 0.1)
    np.testing.assert_array_equal(labels, [0, 1, 1])
    broken = list_broken(costs, pairs, labels)
    np.testing.assert_array_equal(broken.must_link, [[0, 1]])
    np.testing.assert_array_equal(broken.cannot_link, [[1, 2]])
    np.testing.assert_allclose(broken.must_saved, [0.9])
    np.testing.assert_allclose(broken.cannot_saved, [0.9])
    assert len(broken) == 2
