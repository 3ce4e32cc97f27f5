import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nearkin.pairs.closure import number_by_appearance
from nearkin.records.decisions import group_records

NONE = np.empty((0, 2), dtype=int)


def graphs(n):
    pairs = [(i, j) for i in range(n) for j in range(i + 1, n)]
    odds = st.floats(-7, 7).map(lambda value: round(value, 3))
    return st.lists(st.tuples(st.sampled_from(pairs), odds), unique_by=lambda edge: edge[0])


def joined_one_by_one(n, edges, must=(), cannot=()):
    """Average linkage on the full matrix, the highest mean first."""
    odds = np.full((n, n), np.nan)
    for (i, j), value in edges:
        odds[i, j] = odds[j, i] = value

    def mean(block):
        there = block[~np.isnan(block)]
        absent = min(block.size - len(there), 3 * np.sqrt(block.size))
        return (there.sum() - 0.3 * absent) / (len(there) + absent)

    groups = [{i} for i in range(n)]
    for i, j in must:
        a, b = (next(g for g in groups if k in g) for k in (i, j))
        if a is not b:
            groups.remove(b)
            a |= b
    apart = [(i, j) for i, j in cannot if not any({i, j} <= g for g in groups)]
    for i, j in apart:
        odds[i, j] = odds[j, i] = -np.inf
    while True:
        means = [
            (mean(odds[np.ix_(sorted(a), sorted(b))]), x, y)
            for x, a in enumerate(groups)
            for y, b in enumerate(groups[:x])
        ]
        best = max(means, default=(0, 0, 0))
        if best[0] <= 1e-12:
            labels = np.empty(n, dtype=int)
            for number, group in enumerate(groups):
                labels[list(group)] = number
            return number_by_appearance(labels)
        _, x, y = best
        groups[y] |= groups.pop(x)


def spread_out(edges):
    """Small steps make all means differ, from one another and from the odds of an absent pair."""
    return [(pair, value + 1e-4 * k * k + 3e-5) for k, (pair, value) in enumerate(edges)]


def arrays(edges):
    pairs = np.array([pair for pair, _ in edges], dtype=int).reshape(-1, 2)
    return pairs, np.array([value for _, value in edges], dtype=float)


@settings(max_examples=60, deadline=None)
@given(graphs(7))
def test_groups_are_those_of_joining_one_by_one(edges):
    edges = spread_out(edges)
    found = group_records(7, *arrays(edges), NONE, NONE)
    assert found.tolist() == joined_one_by_one(7, edges).tolist()


@settings(max_examples=60, deadline=None)
@given(graphs(8), graphs(8), graphs(8))
def test_what_is_known_is_kept(edges, must, cannot):
    must, cannot = ([pair for pair, _ in links[:4]] for links in (must, cannot))
    found = group_records(
        8, *arrays(edges), *(np.array(p, int).reshape(-1, 2) for p in (must, cannot))
    )
    assert all(found[i] != found[j] for i, j in cannot)
    tied = group_records(8, NONE, np.zeros(0), np.array(must, int).reshape(-1, 2), NONE)
    broken = {tied[i] for i, j in cannot if tied[i] == tied[j]}
    assert all(found[i] == found[j] for i, j in must if tied[i] not in broken)


@settings(max_examples=40, deadline=None)
@given(graphs(8), st.permutations(range(8)))
def test_another_order_of_records_gives_the_same_groups(edges, order):
    edges = spread_out(edges)
    pairs, odds = arrays(edges)
    order = np.array(order)
    found = group_records(8, pairs, odds, NONE, NONE)
    turned = group_records(8, np.sort(order[pairs], axis=1), odds, NONE, NONE)
    assert number_by_appearance(turned[order]).tolist() == found.tolist()


def test_a_chain_of_weak_links_is_no_group():
    pairs = np.column_stack([np.arange(99), np.arange(1, 100)])
    found = group_records(100, pairs, np.full(99, 1.0), NONE, NONE)
    assert np.bincount(found).max() <= 4


def test_a_large_group_of_which_few_pairs_are_known_is_found():
    rng = np.random.RandomState(0)
    pairs = np.unique(np.sort(rng.randint(0, 60, size=(400, 2)), axis=1), axis=0)
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    assert len(set(group_records(60, pairs, np.full(len(pairs), 6.0), NONE, NONE))) == 1


def test_of_a_contradicting_chain_the_cannot_link_is_kept_and_one_link_is_not():
    must, cannot = np.array([(0, 1), (1, 5)]), np.array([(0, 5)])
    found = group_records(6, NONE, np.zeros(0), must, cannot)
    assert found[0] == found[1] != found[5]


def test_copies_count_as_one_record():
    copies = np.array([(0, k) for k in range(2, 30)])
    pairs, odds = np.array([(0, 1)]), np.array([2.0])
    assert len(set(group_records(30, pairs, odds, NONE, NONE, copies))) == 1
