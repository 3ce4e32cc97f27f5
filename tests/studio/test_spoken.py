"""Answers as people gave them: one each."""

from nearkin.pairs.answers import UNNAMED
from nearkin.studio.events import Past, after
from nearkin.studio.knowledge import Spoken, find_placers, list_spoken, telling_pairs


def past_of(*entries):
    past = Past()
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
    numbers = [(one.number, one.by, len(one.said)) for one in list_spoken(past, 20)]
    assert numbers == [(1, "Ann", 3), (2, "Bob", 1), (3, UNNAMED, 2)]
    # Of rows that are not here, nothing.
    assert [one.number for one in list_spoken(past, 9)] == [2, 3]


def test_answers_are_judged_by_what_was_chosen_or_is_likeliest_wrong():
    spoken = [
        Spoken(1, "Ann", {(0, 9): False, (1, 9): True}),
        Spoken(2, "Bob", {(0, 8): False, (1, 8): False, (2, 8): False}),
        Spoken(3, "Bob", {(0, 7): None}),
    ]
    assert telling_pairs(spoken, {(1, 8): 0.6, (2, 8): 0.9}) == {1: (1, 9), 2: (2, 8)}
    assert find_placers(spoken) == {1: "Ann", 9: "Ann"}
