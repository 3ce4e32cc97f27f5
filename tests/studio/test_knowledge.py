"""What answers come to: counts, what people gave, and names of groups that are found anew."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin.pairs.answers import UNNAMED
from nearkin.studio.events import State, Told, read_event
from nearkin.studio.events import after as after_event
from nearkin.studio.knowledge import (
    Spoken,
    count_answers,
    find_placers,
    list_answers,
    list_spoken,
    match_names,
    number_rows,
    telling_pairs,
)
from tests.cases import each


def after(state, entry, n_rows):
    return after_event(state, read_event(entry), n_rows)


@given(
    st.lists(st.lists(st.integers(0, 11), min_size=1, max_size=8), max_size=3),
    st.lists(st.integers(-1, 4), min_size=12, max_size=12),
)
def test_a_name_is_given_once_to_a_group_that_has_half_of_it_or_comes_from_it(sets, labels):
    before, after = [np.unique(rows) for rows in sets], np.array(labels)
    names = [f"name {k}" for k in range(len(sets))]
    found = match_names(names, before, after)
    given = [name for name in found if name is not None]
    assert len(set(given)) == len(given)
    fit = {
        (name, group)
        for name, rows in zip(names, before, strict=True)
        for group in range(len(found))
        if 0 < min(len(rows), (after == group).sum()) <= 2 * (after[rows] == group).sum()
    }
    assert {(name, k) for k, name in enumerate(found) if name is not None} <= fit
    # No name and no group is left over where the two would fit.
    assert not any(name not in given and found[group] is None for name, group in fit)


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


ANSWERS = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 7), st.sampled_from([True, False, None])).filter(
        lambda one: one[0] != one[1]
    ),
    max_size=12,
)


@given(ANSWERS)
def test_groups_keep_their_numbers_as_answers_come_and_are_undone(answers):
    past, seen = State(), [{}]
    for left, right, same in answers:
        said = {"do": "answer", "left": left, "right": right, "same": same}
        past = after(past, said, n_rows=8)
        before, now = seen[-1], number_rows(past)
        seen.append(now)
        again = next(iter(past.back.pairs.values())) is not None  # this pair had an answer before
        for row, number in before.items():
            # A group that was there has its number, or that of an older one that it is part of now.
            assert again or now[row] <= number
        # Rows that are tied have one number.
        for (i, j), told in past.pairs.items():
            assert not told.same or now[i] == now[j]
    # Whatever was undone, groups are as they were; so they are after a restart.
    for expected in reversed(seen[:-1]):
        past = after(past, {"do": "undo"}, n_rows=8)
        assert number_rows(past) == expected


def test_a_new_group_takes_the_smallest_number_that_is_free():
    said = [(0, 1), (2, 3), (4, 5), (1, 2), (6, 7)]
    past = past_of(*({"do": "answer", "left": i, "right": j, "same": True} for i, j in said))
    assert number_rows(past) == {0: 0, 1: 0, 2: 0, 3: 0, 4: 2, 5: 2, 6: 1, 7: 1}


def test_rows_alone_are_groups_if_they_differ_from_all():
    past = past_of(
        {"do": "answer", "left": 3, "right": 5, "same": False},
        {"do": "answer", "left": 3, "right": 7, "same": False},
    )
    assert number_rows(past) == {3: 0, 5: 1}
    past = after(past, {"do": "which", "left": 8, "rows": [3, 5], "same": False}, n_rows=20)
    assert number_rows(past) == {3: 0, 5: 1, 8: 2}


# Answers as people gave them: one each


def past_of(*entries):
    past = State()
    for entry in entries:
        past = after(past, entry, n_rows=20)
    return past


def which(left, rows, right, by=None):
    entry = {"do": "which", "left": left, "rows": rows, "same": right is not None, "by": by}
    return entry if right is None else entry | {"right": right}


def test_an_answer_is_one_whatever_it_says_of_how_many_pairs():
    past = past_of(
        which(9, [0, 1, 2], 1, "Ann"),
        {"do": "answer", "left": 3, "right": 4, "same": False, "by": "Bob"},
        which(8, [0, 1], None),
    )
    numbers = [(one.number, one.by, len(one.said)) for one in list_spoken(past)]
    assert numbers == [(1, "Ann", 3), (2, "Bob", 1), (3, UNNAMED, 2)]
    # Of rows that are not here, nothing.
    assert [one.number for one in list_spoken(past.among(9))] == [2, 3]


def test_answers_are_judged_by_what_was_chosen_or_is_likeliest_wrong():
    spoken = [
        Spoken(1, "Ann", {(0, 9): False, (1, 9): True}),
        Spoken(2, "Bob", {(0, 8): False, (1, 8): False, (2, 8): False}),
        Spoken(3, "Bob", {(0, 7): None}),
    ]
    assert telling_pairs(spoken, {(1, 8): 0.6, (2, 8): 0.9}) == {1: (1, 9), 2: (2, 8)}
    assert find_placers(spoken) == {1: "Ann", 9: "Ann"}


PAIR = {"do": "answer", "left": 1, "right": 2, "same": True}
WHICH = {"do": "which", "left": 5, "rows": [1, 3, 4], "right": 3, "same": True}
NONE = {"do": "which", "left": 6, "rows": [1, 3, 4], "same": False}
UNSURE = {"do": "which", "left": 7, "rows": [1, 3, 4], "same": None}
GROUPS = {"do": "groups", "first": [1, 2], "second": [8, 9], "same": False}


def told(*entries):
    past = State({(10, 11): Told(True)})
    for entry in entries:
        past = after(past, entry, n_rows=12)
    return count_answers(past)


@each(
    ("entries", "same", "different", "unsure", "run"),
    [
        ([], 1, 0, 0, 0),
        ([PAIR], 2, 0, 0, 0),
        ([PAIR, WHICH], 3, 0, 0, 0),
        ([PAIR, NONE, NONE | {"left": 8}, UNSURE], 2, 2, 1, 3),
        ([GROUPS, PAIR, GROUPS], 2, 1, 0, 1),
        ([WHICH, {"do": "undo"}], 1, 0, 0, 0),
        ([WHICH, {"do": "undo"}, {"do": "redo"}], 2, 0, 0, 0),
        ([WHICH, {"do": "withdraw", "left": 3, "right": 5}], 1, 1, 0, 1),
        ([WHICH, PAIR | {"left": 3, "right": 5}], 2, 1, 0, 0),
    ],
)
def test_answers_are_counted_whatever_they_say_of_how_many_pairs(
    entries, same, different, unsure, run
):
    assert told(*entries) == (same, different, unsure, run)


def test_what_is_said_of_rows_that_are_not_here_is_not_counted():
    past = after(after(State(), WHICH, 12), PAIR, 12)
    assert count_answers(past.among(5)) == (1, 0, 0, 0)


def test_of_one_answer_all_is_undone():
    past = after(after(State(), PAIR, 12), WHICH, 12)
    told = {pair: told.same for pair, told in past.pairs.items()}
    assert told == {(1, 2): True, (1, 5): False, (3, 5): True, (4, 5): False}
    assert after(past, {"do": "undo"}, 12).pairs == {(1, 2): Told(True, 1)}


@each(
    ("entry", "message"),
    [
        (WHICH | {"right": 9}, "row 9 is not one of those that were shown"),
        (WHICH | {"same": False}, "must be given if there is one, and only then"),
        (NONE | {"same": True}, "must be given if there is one, and only then"),
        (WHICH | {"rows": []}, "at least one row"),
        (WHICH | {"rows": [3, 3]}, "each of them once"),
        (WHICH | {"rows": [5, 3]}, "not row 5 twice"),
        (WHICH | {"rows": [3, 12]}, "there is no row 12"),
    ],
)
def test_what_cannot_be_chosen(entry, message):
    with pytest.raises(ValueError, match=message):
        after(State(), entry, n_rows=12)


def test_a_choice_is_listed_by_what_the_row_is_like():
    past = after(after(State(), WHICH, 12), NONE, 12)
    none, chosen = list_answers(past, [read_event(WHICH), read_event(NONE)])
    assert (chosen["left"], chosen["right"], chosen["said"], chosen["n_pairs"]) == (5, 3, "same", 3)
    assert (none["said"], none["n_pairs"], none["n_rows"]) == ("different", 3, 4)
