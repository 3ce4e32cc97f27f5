"""Groups that keep pairs."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin import Pairs
from nearkin.clustering.constraints import blocks_of, kept
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
def test_pairs_are_never_broken(problem):
    n, must, cannot, _, costs = problem
    pairs = Pairs(must, cannot, n_rows=n)
    if pairs.conflicts():
        with pytest.raises(InputError, match=r"contradict one another: rows .* = "):
            blocks_of(pairs, n)
        return
    labels = kept(costs, blocks_of(pairs, n))
    assert all_kept(labels, must, cannot)


@given(problems())
def test_so_many_groups_are_enough_or_it_is_said(problem):
    n, must, cannot, k, costs = problem
    n = min(n, 7)
    must, cannot = ([e for e in links if max(e) < n] for links in (must, cannot))
    pairs = Pairs(must, cannot, n_rows=n)
    if pairs.conflicts():
        return
    blocks = blocks_of(pairs, n)
    if is_possible(n, must, cannot, k):
        labels = kept(costs[:n], blocks, most_groups=k)
        assert all_kept(labels, must, cannot)
        assert labels.max() < k
    else:
        with pytest.raises(InputError, match=f"with {k} groups|more than {k} groups"):
            kept(costs[:n], blocks, most_groups=k)


def test_without_pairs_rows_go_where_it_costs_least():
    costs = np.random.default_rng(0).random((50, 4))
    np.testing.assert_array_equal(kept(costs, blocks_of(Pairs(), 50)), costs.argmin(axis=1))


def test_no_single_move_is_cheaper():
    rng = np.random.default_rng(0)
    n, k = 300, 6
    costs = rng.random((n, k))
    y = rng.integers(k, size=n)
    pairs = Pairs.from_labels(y, 400, random_state=0)
    blocks = blocks_of(pairs, n)
    labels = kept(costs, blocks)
    assert all_kept(labels, pairs.must_link, pairs.cannot_link)
    summed = blocks.summed(costs)
    own = np.zeros(blocks.count, dtype=int)
    own[blocks.of] = labels
    for block in range(blocks.count):
        others = own[blocks.apart[[block]].indices]
        for group in set(range(k)) - set(others.tolist()):
            assert summed[block, group] >= summed[block, own[block]] or own[block] >= k
