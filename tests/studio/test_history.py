from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nearkin.pairs.pairs import Pairs
from nearkin.studio.events import (
    MOST_BETWEEN,
    AnswerConflict,
    Change,
    State,
    Told,
    check_belief,
    pairs_of_groups,
    read_event,
)
from nearkin.studio.events import after as after_event
from nearkin.studio.knowledge import build_knowledge
from tests.cases import each

N_ROWS = 6


def after(state, entry, n_rows):
    return after_event(state, read_event(entry), n_rows)


def said_by(state):
    """All that is said: of pairs, by people of pairs, and of names."""
    told = {key: told.same for key, told in (state.pairs | state.voices).items()}
    return told | {(name,): rows for name, rows in state.names.items()}


rows = st.integers(0, N_ROWS - 1)
answers = st.sampled_from([True, False, None])
people = st.sampled_from([None, "Ann", "Bob"])
answered = st.builds(
    lambda i, j, same, by: {"do": "answer", "left": i, "right": j, "same": same, "by": by},
    rows,
    rows,
    answers,
    people,
)
chosen = st.builds(
    lambda i, some, right, same: {
        "do": "which", "left": i, "rows": some, "right": right, "same": same
    },
    rows,
    st.lists(rows, max_size=3),
    st.none() | rows,
    answers,
)  # fmt: skip
withdrawn = st.builds(lambda i, j: {"do": "withdraw", "left": i, "right": j}, rows, rows)
grouped = st.builds(
    lambda first, second, same: {"do": "groups", "first": first, "second": second, "same": same},
    st.lists(rows, max_size=3),
    st.lists(rows, max_size=3),
    st.booleans(),
)
split = st.builds(
    lambda first, second: {"do": "split", "first": first, "second": second},
    st.lists(rows, max_size=3),
    st.lists(rows, max_size=3),
)
names = st.sampled_from([None, "cats", "dogs"])
named = st.builds(
    lambda name, some, instead: {"do": "name", "name": name, "rows": some, "instead": instead},
    names,
    st.lists(rows, max_size=2),
    names,
)
undone = st.sampled_from([{"do": "undo"}, {"do": "redo"}])
entries = st.lists(
    st.one_of(answered, chosen, withdrawn, grouped, split, named, undone, undone),
    max_size=25,
)


def replayed(series):
    """What is known, from the start again for every step: None where an entry is not possible."""
    steps, position = [], 0  # steps done, and how many of them count
    accepted = []
    for entry in series:
        if entry["do"] == "undo":
            possible = position > 0
            position -= possible
        elif entry["do"] == "redo":
            possible = position < len(steps)
            position += possible
        else:
            possible = applied(applied_all(steps[:position]), entry) is not None
            if possible:
                steps = [*steps[:position], entry]
                position += 1
        accepted.append(possible)
    return applied_all(steps[:position]), accepted, position > 0, position < len(steps)


def applied_all(steps):
    known = {}
    for entry in steps:
        known = applied(known, entry)
    return known


def applied(known, entry):
    if entry["do"] == "groups":
        first, second = set(entry["first"]), set(entry["second"])
        if first & second:
            return None
        if entry["same"]:
            everyone = dict.fromkeys([*entry["first"], *entry["second"]])
            if len(everyone) < 2:
                return None
            return known | {tuple(sorted(pair)): True for pair in pairwise(everyone)}
        if not first or not second:
            return None
        return known | {(min(i, j), max(i, j)): False for i in first for j in second}
    if entry["do"] == "split":
        known = applied(known, entry | {"do": "groups", "same": False})
        together = pairwise(dict.fromkeys(entry["first"]))
        return known and known | {tuple(sorted(pair)): True for pair in together}
    if entry["do"] == "name":
        name, instead = entry["name"], entry["instead"]
        if (name is None and instead is None) or (name is not None and not entry["rows"]):
            return None
        if instead not in (None, name) and (instead,) not in known:
            return None
        if name is None or instead != name:
            known = {rows: said for rows, said in known.items() if rows != (instead,)}
        return known if name is None else known | {(name,): tuple(sorted(set(entry["rows"])))}
    if entry["do"] == "which":
        left, some, right = entry["left"], entry["rows"], entry["right"]
        if not some or left in some or len(set(some)) < len(some):
            return None
        if (right in some) is not (entry["same"] is True) or (right is None) is entry["same"]:
            return None
        if right is not None and right not in some:
            return None
        said = {row: entry["same"] and row == right for row in some}
        return known | {tuple(sorted((left, row))): one for row, one in said.items()}
    i, j = sorted((entry["left"], entry["right"]))
    if i == j:
        return None
    if entry["do"] == "answer":
        told = {(i, j): entry["same"]}
        return known | told | ({(i, j, entry["by"]): entry["same"]} if entry["by"] else {})
    if (i, j) not in known:
        return None
    return {key: same for key, same in known.items() if key[:2] != (i, j)}


@given(entries)
def test_history_is_what_a_replay_from_the_start_gives(series):
    past, accepted = State(), []
    for entry in series:
        before = past, said_by(past)
        try:
            past = after(past, entry, N_ROWS)
        except ValueError:
            accepted.append(False)
        else:
            accepted.append(True)
        assert said_by(before[0]) == before[1]  # nothing that was known before is changed
    known, possible, can_undo, can_redo = replayed(series)
    assert accepted == possible
    assert said_by(past) == known
    assert (bool(past.undo), bool(past.redo)) == (can_undo, can_redo)


@given(entries)
def test_undoing_all_and_doing_all_again(series):
    past = State({(0, 1): Told(True)})
    states = [past]
    for entry in series:
        if entry["do"] in ("undo", "redo"):
            continue
        try:
            past = after(past, entry, N_ROWS)
        except ValueError:
            continue
        states.append(past)
    for state in reversed(states):
        assert (past.pairs, past.voices, past.names) == (state.pairs, state.voices, state.names)
        if past.undo:
            past = after(past, {"do": "undo"}, N_ROWS)
    for state in states:
        assert (past.pairs, past.voices, past.names) == (state.pairs, state.voices, state.names)
        if past.redo:
            past = after(past, {"do": "redo"}, N_ROWS)


@each(
    ("entry", "error", "words"),
    [
        ({"do": "answer", "left": 1, "right": 1, "same": True}, ValueError, "row 1 twice"),
        ({"do": "answer", "left": 0, "right": 3, "same": True}, ValueError, "no row 3.*0 to 2"),
        ({"do": "answer", "left": -1, "right": 1, "same": True}, ValueError, "no row -1"),
        ({"do": "answer", "left": "0", "right": 1, "same": True}, TypeError, "'0' is not a row"),
        ({"do": "answer", "left": True, "right": 0, "same": True}, TypeError, "not a row number"),
        ({"do": "answer", "left": 0, "right": 1, "same": "yes"}, TypeError, "same must be"),
        ({"do": "withdraw", "left": 0, "right": 1}, ValueError, "nothing was said of rows 0 and 1"),
        ({"do": "dance"}, ValueError, "do='dance' is unknown"),
        ({"do": "undo"}, ValueError, "there is nothing"),
        ({"do": "redo"}, ValueError, "there is nothing"),
        ({"do": "groups", "first": [0], "second": [0, 1], "same": True}, ValueError, "both groups"),
        ({"do": "groups", "first": [0], "second": [1], "same": None}, ValueError, "true or false"),
        ({"do": "groups", "first": [0], "second": [], "same": False}, ValueError, "one group is e"),
        ({"do": "groups", "first": [0], "second": [], "same": True}, ValueError, "two rows"),
        ({"do": "groups", "first": [0.5], "second": [], "same": True}, TypeError, "list of row"),
        ({"do": "groups", "first": [0], "second": [9], "same": True}, ValueError, "no row 9"),
    ],
)
def test_what_is_not_possible(entry, error, words):
    with pytest.raises(error, match=words):
        after(State(), entry, 3)


def test_same_groups_are_tied_together():
    links = pairs_of_groups([5, 3, 3], [9, 1], True, 10)
    assert links.tolist() == [[3, 5], [3, 9], [1, 9]]  # in the order that they are given in


@given(st.integers(1, 400), st.integers(1, 400))
def test_many_pairs_are_drawn_evenly(n_first, n_second):
    first, second = np.arange(n_first), np.arange(n_first, n_first + n_second)
    links = pairs_of_groups(first, second, False, n_first + n_second)
    assert len(links) == len(np.unique(links, axis=0)) == min(n_first * n_second, MOST_BETWEEN)
    for count in (np.bincount(links[:, 0]), np.bincount(links[:, 1])[n_first:]):
        assert count.max() - count.min() <= 1


def said(*answers):
    past = State()
    for left, right, same in answers:
        past = after(past, {"do": "answer", "left": left, "right": right, "same": same}, 10)
    return past


def test_what_an_entry_has_changed():
    past = said((1, 2, True))
    assert past.changes() == [{"left": 1, "right": 2, "before": "nothing", "now": "same"}]
    for entry, before, now in (
        ({"do": "answer", "left": 2, "right": 1, "same": None}, "same", "unsure"),
        ({"do": "undo"}, "unsure", "same"),
        ({"do": "redo"}, "same", "unsure"),
        ({"do": "withdraw", "left": 1, "right": 2}, "unsure", "nothing"),
    ):
        past = after(past, entry, 10)
        assert past.changes() == [{"left": 1, "right": 2, "before": before, "now": now}]
    past = after(said((1, 2, True)), {"do": "answer", "left": 1, "right": 2, "same": True}, 10)
    assert past.changes() == []


@each(
    ("before", "to_say", "fits"),
    [
        ("same", False, True),  # as believed
        ("nothing", True, True),  # said already
        ("nothing", False, False),
        ("different", None, False),
        ("unsure", "nothing", False),
    ],
)
def test_what_is_believed_must_be_so_unless_the_same_is_said(before, to_say, fits):
    state = said((1, 2, True))
    change = Change({(1, 2): None if to_say == "nothing" else Told(to_say)})
    if fits:
        check_belief(state, change, before)
        return
    with pytest.raises(AnswerConflict, match="same was said of rows 1 and 2 meanwhile") as caught:
        check_belief(state, change, before)
    assert caught.value.said == "same"


def test_conflicts_of_groups_are_counted():
    answers = said((1, 2, True), (3, 4, False))
    change = Change(dict.fromkeys([(1, 2), (3, 4), (5, 6)], Told(False)))
    with pytest.raises(AnswerConflict, match=r"of 1 of these 3 pairs .* rows 1 and 2, same"):
        check_belief(answers, change, "nothing")
    with pytest.raises(ValueError, match="before must be one of"):
        check_belief(answers, change, "maybe")


def test_a_split_ties_its_rows_and_parts_them_from_the_rest():
    split = {"do": "split", "first": [5, 1, 3], "second": [2, 4], "by": "Ann"}
    past = after(State(), split, N_ROWS)
    pairs = past.pairs
    must = {rows for rows, told in pairs.items() if told.same}
    assert must == {(1, 5), (1, 3)}
    assert set(pairs) - must == {tuple(sorted((a, b))) for a in (1, 3, 5) for b in (2, 4)}
    assert past.voices[1, 3, "Ann"].same is True
    assert past.voices[1, 2, "Ann"].same is False
    # One step takes all of it back.
    assert said_by(after(past, {"do": "undo"}, N_ROWS)) == {}
    alone = after(State(), {"do": "split", "first": [1], "second": [2]}, N_ROWS)
    assert said_by(alone) == {(1, 2): False}
    for first, second in (([], [1]), ([1], []), ([1, 2], [2]), ([1], [N_ROWS])):
        with pytest.raises(ValueError, match=r"group|row"):
            after(State(), {"do": "split", "first": first, "second": second}, N_ROWS)


@each(
    "wrong",
    [
        {"name": "", "rows": [1]},
        {"name": "x" * 61, "rows": [1]},
        {"name": 3, "rows": [1]},
        {"name": "cats", "rows": []},
        {"name": "cats", "rows": [N_ROWS]},
        {"name": "cats", "rows": [1.5]},
        {"name": "cats", "rows": [1], "instead": "dogs"},
        {"name": None, "instead": "dogs"},
        {"name": None},
    ],
)
def test_a_name_that_no_group_can_have_is_refused(wrong):
    with pytest.raises((ValueError, TypeError), match=r"name|called|row"):
        after(State(), {"do": "name", **wrong}, N_ROWS)


def test_names_are_known_with_their_rows_and_are_no_pairs():
    past = after(State(), {"do": "name", "name": " cats ", "rows": [3, 1, 1]}, N_ROWS)
    assert past.names == {"cats": (1, 3)}
    assert past.changes() == []
    past = after(past, {"do": "answer", "left": 0, "right": 1, "same": True, "by": "Ann"}, N_ROWS)
    known = build_knowledge(past, 2, N_ROWS, {}, Pairs())
    assert known.events.names == {"cats": (1, 3)}
    assert known.state()["n_answers"] == 1
