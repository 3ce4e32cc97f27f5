"""Names of groups that are found anew."""

from itertools import permutations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from nearkin.studio import knowledge
from nearkin.studio.knowledge import match_groups, match_names, renumber_groups

LABELS = st.lists(st.integers(-1, 4), min_size=1, max_size=25)


def packed(labels):
    """Labels without gaps, as groupings have them."""
    labels = np.array(labels)
    found = np.full(len(labels), -1)
    for k, label in enumerate(sorted(set(labels.tolist()) - {-1})):
        found[labels == label] = k
    return found


def most_shared(before, after):
    """How many rows the best matching shares, by trying all of them."""
    groups = [set(np.flatnonzero(after == k).tolist()) for k in range(after.max() + 1)]

    def shared(one, two):
        n = len(one & two)
        return n if 2 * n >= len(one) or 2 * n >= len(two) else 0

    places = [*groups, *[set()] * len(before)]
    return max(
        sum(shared(set(rows.tolist()), place) for rows, place in zip(before, chosen, strict=True))
        for chosen in permutations(places, len(before))
    )


@given(st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=8), max_size=3), LABELS)
def test_most_rows_keep_their_name_of_all_ways_to_give_them(sets, labels):
    after = packed((labels + [0] * 12)[:12])
    before = [np.unique(rows) for rows in sets]
    found = match_groups(before, after)
    taken = found[found >= 0]
    assert len(np.unique(taken)) == len(taken)
    n_shared = 0
    for rows, group in zip(before, found.tolist(), strict=True):
        if group >= 0:
            n = int((after[rows] == group).sum())
            assert 2 * n >= min(len(rows), (after == group).sum())
            n_shared += n
    assert n_shared == most_shared(before, after)


def test_a_name_goes_where_half_of_either_group_is():
    rows = np.arange(10)
    lost_half = np.array([0] * 5 + [1] * 5 + [0] * 20)
    assert match_names(["cats"], [rows], lost_half) == ["cats", None]
    grown = np.array([0] * 40)
    assert match_names(["cats"], [rows], grown) == ["cats"]
    # Four of ten rows among many others: neither what it was nor a part of it.
    scattered = np.array([0] * 4 + [1] * 3 + [2] * 3 + [0] * 20 + [1] * 20 + [2] * 20)
    assert match_names(["cats"], [rows], scattered) == [None, None, None]
    outliers = np.full(10, -1)
    assert match_names(["cats"], [rows], outliers) == []


def test_names_of_two_groups_that_join_and_part_again():
    cats, dogs = np.arange(6), np.arange(6, 10)
    assert match_names(["cats", "dogs"], [cats, dogs], np.zeros(10, int)) == ["cats"]
    apart = np.array([1] * 6 + [0] * 4)
    assert match_names(["cats", "dogs"], [cats, dogs], apart) == ["dogs", "cats"]


def test_a_part_that_was_named_later_leaves_the_rest_its_name():
    apart = np.array([0] * 5 + [1] * 5)
    assert match_names(["pets", "cats"], [np.arange(10), np.arange(5)], apart) == ["cats", "pets"]


@given(LABELS, LABELS)
def test_numbers_are_a_permutation_of_the_groups(one, other):
    n = min(len(one), len(other))
    before, after = packed(one[:n]), packed(other[:n])
    found = renumber_groups(before, after)
    assert set(zip(after.tolist(), found.tolist(), strict=True)) == {
        (a, f) for a, f in {int(a): int(f) for a, f in zip(after, found, strict=True)}.items()
    }
    assert set(found.tolist()) == set(after.tolist())
    np.testing.assert_array_equal(found < 0, after < 0)
    np.testing.assert_array_equal(renumber_groups(after, after), after)


def test_groups_keep_their_numbers_and_new_ones_take_free_ones(monkeypatch):
    before = np.array([0, 0, 0, 1, 1, 1, 2, 2, 2])
    after = np.array([2, 2, 2, 0, 1, 0, 3, 3, 3])
    expected = np.array([0, 0, 0, 1, 3, 1, 2, 2, 2])
    np.testing.assert_array_equal(renumber_groups(before, after), expected)
    # Without a group before, the largest is the first.
    none = np.full(6, -1)
    sizes = np.array([0, 1, 1, 1, -1, 0])
    np.testing.assert_array_equal(renumber_groups(none, sizes), [1, 0, 0, 0, -1, 1])
    monkeypatch.setattr(knowledge, "_MOST_MATCHED", 3)
    by_size = renumber_groups(before, after)
    np.testing.assert_array_equal(by_size, [0, 0, 0, 2, 3, 2, 1, 1, 1])
