import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from nearkin import Pairs
from nearkin.pairs import supervision as evidence
from nearkin.pairs.closure import spread_labels
from nearkin.pairs.supervision import Evidence, draw_example_pairs, gather_evidence, measure_spread
from nearkin.rows import access
from tests import oracles


@pytest.fixture
def V():
    return np.random.RandomState(0).standard_normal((20, 3)) + 5


def spread(V, y=None, pairs=None):
    return measure_spread(gather_evidence(len(V), y, pairs), lambda rows: V[rows])


def test_spread_of_pairs_is_the_mean_over_the_pairs(V):
    pairs = Pairs([(0, 5), (5, 9), (2, 3)], [(0, 1), (7, 8)])
    must, cannot = spread(V, pairs=pairs)
    assert_allclose(must.mean, oracles.mean_squared_difference(V, pairs.must_link))
    assert_allclose(cannot.mean, oracles.mean_squared_difference(V, pairs.cannot_link))
    assert (must.weight, cannot.weight) == (3, 2)
    # Unknown labels beside them say nothing.
    for one, other in zip(spread(V, np.full(20, -1), pairs), (must, cannot), strict=True):
        assert_array_equal(one.mean, other.mean)
        assert one.weight == other.weight
    # A weight multiplies the term of its pair, and without any of a kind its spread is zero.
    links = [(0, 5), (2, 3)]
    must, cannot = spread(V, pairs=Pairs(links, must_weight=[3, 1]))
    assert_allclose(must.mean, oracles.mean_squared_difference(V, [links[0]] * 3 + [links[1]]))
    assert_array_equal(cannot.mean, np.zeros(3))
    assert (must.weight, cannot.weight) == (4, 0)


@given(
    y=st.lists(st.sampled_from([-1, 0, 2, 3]), min_size=2, max_size=15).filter(
        lambda y: sum(label >= 0 for label in y) >= 2
    )
)
def test_labels_give_the_same_spread_as_all_listed_pairs(y):
    V = np.random.RandomState(0).standard_normal((len(y), 2)) + 5
    spreads = spread(V, np.array(y))
    known = sum(label >= 0 for label in y)
    for found, links in zip(spreads, oracles.pairs_of_labels(y), strict=True):
        if links:
            # Class means near 5 cancel a little.
            assert_allclose(
                found.mean, oracles.mean_squared_difference(V, links), rtol=1e-9, atol=1e-12
            )
            assert found.weight == known
        else:
            assert_array_equal(found.mean, np.zeros(2))
            assert found.weight == 0


def test_label_statistics_do_not_depend_on_the_blocks(V, monkeypatch):
    y = np.arange(20) % 3
    whole = spread(V, y)
    monkeypatch.setattr(access, "_SUMMED_ROWS", 7)
    seen = []
    by_blocks = measure_spread(
        gather_evidence(20, y), lambda rows: seen.append(len(rows)) or V[rows]
    )
    assert max(seen) == 7
    for one, other in zip(whole, by_blocks, strict=True):
        assert_allclose(one.mean, other.mean, rtol=1e-12)
    V32 = V.astype(np.float32)  # which is summed in float64
    found = measure_spread(gather_evidence(20, y), lambda rows: V32[rows])
    for one, other in zip(found, spread(V32.astype(np.float64), y), strict=True):
        assert_array_equal(one.mean, other.mean)


def test_labels_far_from_zero_do_not_cancel(V):
    y = np.arange(20) % 3
    for near, far in zip(spread(V, y), spread(V + 1e6, y), strict=True):
        # 1e6 squared times 1e-16 is 1e-4 of a spread of about 1.
        assert_allclose(far.mean, near.mean, rtol=1e-2)


def test_labels_and_pairs_are_pooled_by_their_weights(V):
    y = np.full(20, -1)
    y[:6] = [0, 0, 0, 1, 1, 1]
    pairs = Pairs([(10, 11), (12, 13)], [(14, 15)])
    label_links = oracles.pairs_of_labels(y)
    spreads = spread(V, y, pairs)
    for found, links, of_labels in zip(
        spreads, (pairs.must_link, pairs.cannot_link), label_links, strict=True
    ):
        expected = len(links) * oracles.mean_squared_difference(V, links)
        expected += 6 * oracles.mean_squared_difference(V, of_labels)  # six labelled rows
        assert_allclose(found.mean, expected / (len(links) + 6))
        assert found.weight == len(links) + 6


def test_evidence_keeps_what_it_was_given():
    pairs = Pairs([(0, 2)])
    gathered = gather_evidence(4, ["a", "b", "a", None], pairs)
    assert gathered.pairs == pairs
    assert gathered.classes.tolist() == [0, 1, 0, -1]
    assert gather_evidence(4, pairs=pairs) == Evidence(pairs, None)
    assert gather_evidence(4, [0, 0, 1, 1]).pairs == Pairs()


def test_examples_are_the_given_pairs_and_some_of_the_labels(monkeypatch):
    monkeypatch.setattr(evidence, "_LEAST_EXAMPLES", 4)
    monkeypatch.setattr(evidence, "_EXAMPLES_PER_LABEL", 0)
    y = np.r_[np.arange(20) % 2, -1, -1]
    pairs = Pairs([(20, 21)])
    drawn = draw_example_pairs(gather_evidence(22, y, pairs), 0)
    assert len(drawn.must_link) == 5
    assert len(drawn.cannot_link) == 4
    assert [20, 21] in drawn.must_link.tolist()
    for i, j in drawn.cannot_link:
        assert y[i] != y[j]
    # What labels imply weighs as much as there are labelled rows, a given pair as it was given.
    assert drawn.must_weight.sum() == pytest.approx(20 + 1)
    assert drawn.cannot_weight.sum() == pytest.approx(20)
    assert drawn == draw_example_pairs(gather_evidence(22, y, pairs), 0)
    # Few labels are examples altogether.
    y = [0, 0, 1, 1, -1]
    drawn = draw_example_pairs(gather_evidence(5, y), 0)
    found = drawn.must_link.tolist(), drawn.cannot_link.tolist()
    assert found == tuple([list(pair) for pair in kind] for kind in oracles.pairs_of_labels(y))


def test_contradictions_are_used_with_a_warning_that_shows_the_chain():
    pairs = Pairs([(0, 1), (1, 2)], [(0, 2)])
    with pytest.warns(UserWarning, match="rows 0 and 2 cannot be linked, yet 0 = 1 = 2"):
        assert gather_evidence(3, pairs=pairs).pairs == pairs
    links = [(0, 1), (1, 2)]
    with pytest.warns(UserWarning, match=r"\(and 1 more\).*conflicts\(\) lists all"):
        gather_evidence(3, pairs=Pairs(links, links))


def test_pairs_against_the_labels_are_used_with_a_warning_that_names_them():
    y = [0, 1, 1, -1]
    for pairs, wrong in (
        (Pairs([(0, 1), (0, 3)]), r"must-link \(0, 1\) of rows with different labels"),
        (Pairs([], [(0, 1), (1, 2)]), r"cannot-link \(1, 2\) of rows with equal labels"),
    ):
        with pytest.warns(UserWarning, match=f"contradict the labels: {wrong}"):
            assert gather_evidence(4, y, pairs).pairs == pairs
    gather_evidence(4, y, Pairs([(1, 2), (0, 3)], [(0, 1), (2, 3)]))  # in line with them


def test_labels_spread_along_must_links():
    y = [0, -1, -1, 1, -1, -1, 1, -1]
    pairs = Pairs([(0, 1), (1, 2), (3, 4), (4, 0), (6, 7)], [(2, 5)])
    # 0 and 3 have labels of their own; what lies between both stays unknown.
    assert spread_labels(np.array(y), pairs.groups).tolist() == [0, -1, -1, 1, -1, -1, 1, 1]
    assert spread_labels(np.full(3, -1), Pairs([(0, 1)]).groups).tolist() == [-1, -1, -1]
