from math import isqrt

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nearkin import Pairs, spread_pairs
from nearkin.spaces.graph import neighbor_graph
from nearkin.spaces.spread_pairs import influence
from tests.cases import each


def random_rows(seed, n=30, d=3):
    return np.random.default_rng(seed).standard_normal((n, d))


def random_pairs(seed, n=30, count=8):
    """With weights, duplicates and contradictions."""
    rng = np.random.default_rng(seed)
    links = np.array([rng.choice(n, 2, replace=False) for _ in range(count)])
    half = count // 2
    return Pairs(
        links[:half],
        [*links[half:], links[0]],
        must_weight=rng.uniform(0.5, 2, half),
        cannot_weight=rng.uniform(0.5, 2, count - half + 1),
    )


def values(pairs):
    """Weight of each pair, negative for cannot-links."""
    links = map(tuple, [*pairs.must_link.tolist(), *pairs.cannot_link.tolist()])
    return dict(zip(links, [*pairs.must_weight, *-pairs.cannot_weight], strict=True))


def net_values(pairs):
    net = {}
    links = map(tuple, [*pairs.must_link.tolist(), *pairs.cannot_link.tolist()])
    for link, weight in zip(links, [*pairs.must_weight, *-pairs.cannot_weight], strict=True):
        net[link] = net.get(link, 0.0) + weight
    return {link: value for link, value in net.items() if value != 0}


def assert_same_values(found, expected, rtol=1e-6, atol=None):
    """Influences are right to 1e-9 whatever their size, and products to that of the largest."""
    assert found.keys() == expected.keys()
    values = np.array(list(expected.values()))
    atol = 1e-8 * np.abs(values).max(initial=0.0) if atol is None else atol
    assert_allclose([found[link] for link in expected], values, rtol=rtol, atol=atol)


def slow_influence(A, reach):
    A = A.toarray()
    degree = np.maximum(A.sum(axis=1), 1e-300)
    return (1 - reach) * np.linalg.inv(
        np.eye(len(A)) - reach * A / np.sqrt(np.outer(degree, degree))
    )


def slow_spread(X, pairs, n_neighbors, reach, per_pair, weight):
    """All of P Z P on all n × n, cut as the documentation says."""
    n, net = len(X), net_values(pairs)
    P = slow_influence(neighbor_graph(X, n_neighbors, weight="heat"), reach)
    for column in P.T:
        column[np.argsort(-column)[isqrt(per_pair) + 1 :]] = 0
    Z = np.zeros((n, n))
    reached = 0.0
    for (i, j), value in net.items():
        Z[i, j] = Z[j, i] = value
        reached += abs(value) * P[:, i].sum() * P[:, j].sum()
    F = P @ Z @ P.T
    scale = weight * sum(map(abs, net.values())) / reached
    new = {(r, s): F[r, s] for s in range(n) for r in range(s) if (r, s) not in net and F[r, s]}
    strongest = sorted(new, key=lambda link: -abs(new[link]))[: per_pair * len(pairs)]
    # Influences are right to 2e-9: products of two, as many as there are pairs, to this.
    rounding = scale * 4e-9 * sum(map(abs, net.values()))
    return net | {link: scale * new[link] for link in strongest}, rounding


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 0.5, 0.9, 0.99]))
def test_influence_is_that_of_the_inverse(seed, reach):
    A = neighbor_graph(random_rows(seed), 4, weight="heat")
    points = np.array([2, 3, 11, 29])
    expected = slow_influence(A, reach)[:, points]
    assert_allclose(influence(A, points, reach, 30).toarray(), expected, atol=2e-9)
    few = influence(A, points, reach, 4)
    assert_array_equal(np.diff(few.indptr), 4)
    assert_allclose(few.max(axis=0).toarray().ravel(), expected.max(axis=0), atol=1e-8)
    assert_allclose(few.sum(axis=0), -np.sort(-expected, axis=0)[:4].sum(axis=0), atol=1e-8)


def test_influence_by_blocks_is_the_same(monkeypatch):
    A, points = neighbor_graph(random_rows(0), 4, weight="heat"), np.arange(0, 30, 3)
    whole = influence(A, points, 0.7, 5).toarray()
    monkeypatch.setattr("nearkin.spaces.spread_pairs._BLOCK", 1)
    assert_allclose(influence(A, points, 0.7, 5).toarray(), whole)


@settings(max_examples=15, deadline=None)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0.2, 0.5, 0.9]),
    st.sampled_from([1, 3, 8, 15]),
    st.sampled_from([0.3, 1.0, 5.0]),
)
def test_new_pairs_are_what_dense_matrices_give(seed, reach, per_pair, weight):
    X, pairs = random_rows(seed), random_pairs(seed)
    many = spread_pairs(X, pairs, n_neighbors=4, reach=reach, per_pair=per_pair, weight=weight)
    expected, rounding = slow_spread(X, pairs, 4, reach, per_pair, weight)
    assert_same_values(values(many), expected, atol=rounding)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 10**6), st.floats(0, 0.95), st.integers(0, 30), st.floats(0, 10))
def test_what_always_holds(seed, reach, per_pair, weight):
    X, pairs = random_rows(seed), random_pairs(seed)
    many = spread_pairs(X, pairs, reach=reach, per_pair=per_pair, weight=weight)
    found, net = values(many), net_values(pairs)
    assert many.n_rows == len(X)
    assert len(found) == len(many)  # none is both
    assert_same_values({link: found[link] for link in net}, net, rtol=1e-15, atol=0)
    assert len(many) - len(net) <= per_pair * len(pairs)
    total = sum(map(abs, net.values()))
    assert sum(map(abs, found.values())) <= (1 + weight + 1e-9) * total


@each("none", [{"reach": 0}, {"per_pair": 0}, {"weight": 0}, {"reach": 5e-324}])
def test_nothing_spreads_without_reach_number_or_weight(none):
    pairs = Pairs([(0, 5), (5, 9)], [(2, 7)], must_weight=[2, 0.5], n_rows=30)
    assert spread_pairs(random_rows(0), pairs, **none) == pairs


def test_neither_no_pairs_nor_all_pairs_spread():
    assert spread_pairs([[1.0, 2.0]], Pairs()) == Pairs(n_rows=1)
    assert spread_pairs(random_rows(0), Pairs()) == Pairs(n_rows=30)
    every = Pairs.from_labels(np.arange(12) % 3)
    assert spread_pairs(random_rows(0, 12), every) == every


def test_two_far_groups_are_told_apart_by_two_pairs():
    X = np.concatenate([random_rows(0, 20), random_rows(1, 20) + 100])
    y = np.repeat([0, 1], 20)
    many = spread_pairs(X, Pairs([(0, 7)], [(3, 30)]), reach=0.9, per_pair=50)
    assert len(many.must_link) > 40
    assert len(many.cannot_link) > 40
    assert (y[many.must_link[:, 0]] == y[many.must_link[:, 1]]).all()
    assert (y[many.cannot_link[:, 0]] != y[many.cannot_link[:, 1]]).all()


def test_opposite_evidence_cancels():
    # Rows 0 and 1 stand in for one another, as do 2 and 3: the two pairs say the opposite.
    X = [[0.0], [0.0], [9.0], [9.0]]
    many = spread_pairs(X, Pairs([(0, 2)], [(1, 3)]), n_neighbors=1, per_pair=100)
    assert (0, 3) not in values(many)
    assert (1, 2) not in values(many)
    one_sided = spread_pairs(X, Pairs([(0, 2)]), n_neighbors=1, per_pair=100)
    assert one_sided.must_link.tolist() == [[0, 2], [0, 3], [1, 2], [1, 3]]


def test_of_a_pair_given_as_both_the_difference_stays():
    X = random_rows(0)
    both = Pairs([(0, 5)], [(0, 5)], must_weight=[3.0], cannot_weight=[1.0])
    assert spread_pairs(X, both) == spread_pairs(X, Pairs([(0, 5)], must_weight=[2.0]))
    assert spread_pairs(X, Pairs([(0, 5)], [(0, 5)])) == Pairs(n_rows=30)


@each("n", [2, 3, 4])
def test_few_rows_and_identical_ones(n):
    many = spread_pairs(random_rows(0, n), Pairs([(0, 1)]), reach=0.9, per_pair=100)
    assert len(many.must_link) == n * (n - 1) // 2
    identical = spread_pairs(np.ones((4 * n, 2)), Pairs([(0, 1)], [(2, 3)]), n_neighbors=3)
    assert np.isfinite(identical.must_weight).all()
    assert len(values(identical)) == len(identical)


def test_an_isolated_point_keeps_what_is_said_of_it_but_passes_its_partner_on():
    A = sp.csr_array(np.kron([[1, 0], [0, 0]], 1 - np.eye(3)))
    P = influence(A, np.array([0, 4]), 0.5, 6).toarray()
    assert_allclose(P[:, 1], 0.5 * np.eye(6)[4])
    assert (P[:3, 0] > 0).all()
    assert_array_equal(P[3:, 0], 0)


def test_sparse_rows_give_what_dense_ones_give():
    X, pairs = random_rows(7), random_pairs(7)
    X[:, 0] = np.maximum(X[:, 0], 0)
    sparse = spread_pairs(sp.csr_array(X), pairs, n_neighbors=4)
    assert_same_values(values(sparse), values(spread_pairs(X, pairs, n_neighbors=4)))


def test_the_graph_is_searched_as_asked(monkeypatch):
    asked = {}

    def graph(X, n_neighbors, **options):
        asked.update(options)
        return neighbor_graph(X, n_neighbors, weight=options["weight"])

    X, pairs = random_rows(8), random_pairs(8)
    expected = spread_pairs(X, pairs)
    monkeypatch.setattr("nearkin.spaces.spread_pairs.neighbor_graph", graph)
    assert spread_pairs(X, pairs, search="approximate", random_state=5) == expected
    assert asked == {"weight": "heat", "search": "approximate", "random_state": 5}


@each(
    ("arguments", "error", "message"),
    [
        ({"reach": 1}, ValueError, r"reach must be 0 or more and below 1\.0, not 1"),
        ({"reach": -0.1}, ValueError, r"reach must be 0 or more.*not -0\.1"),
        ({"reach": np.nan}, ValueError, "reach must be 0 or more.*not nan"),
        ({"reach": "far"}, TypeError, "reach must be a number, not 'far'"),
        ({"reach": True}, TypeError, "reach must be a number, not True"),
        ({"weight": -1}, ValueError, "weight must be 0 or more.*not -1"),
        ({"weight": np.inf}, ValueError, "weight must be 0 or more and below inf, not inf"),
        ({"per_pair": -1}, ValueError, "per_pair must be 0 or more, not -1"),
        ({"per_pair": 2.5}, TypeError, r"per_pair must be an integer, not 2\.5"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors must be at least 1, got 0"),
        ({"search": "fast"}, ValueError, "search must be one of auto, exact, approximate"),
        ({"pairs": [(0, 1)]}, TypeError, r"pairs must be a nearkin\.Pairs, not list"),
        ({"pairs": None}, TypeError, r"pairs must be a nearkin\.Pairs, not NoneType"),
        ({"pairs": Pairs([(0, 30)])}, ValueError, "names row 30, but X has 30 rows"),
        ({"pairs": Pairs([(0, 1)], n_rows=9)}, ValueError, "pairs are for 9 rows, X has 30"),
        ({"X": np.full((30, 2), np.nan)}, ValueError, "contains NaN"),
    ],
)
def test_wrong_arguments_are_named(arguments, error, message):
    with pytest.raises(error, match=message):
        spread_pairs(**({"X": random_rows(0), "pairs": Pairs([(0, 1)])} | arguments))


def test_points_that_are_many_share_the_work(monkeypatch):
    A, points = neighbor_graph(random_rows(0, 400), 5, weight="heat"), np.arange(400)
    precise = influence(A, points, 0.8, 400)
    monkeypatch.setattr("nearkin.spaces.spread_pairs._STEPS", 1)
    monkeypatch.setattr("nearkin.spaces.spread_pairs._LEAST_STEPS", 3000)
    found = influence(A, points, 0.8, 400).toarray()
    assert 0 < np.abs(found - precise.toarray()).max() < 2e-3
