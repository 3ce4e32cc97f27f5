import pytest

from nearkin.studio.events import Past, after
from nearkin.studio.knowledge import count_answers, list_answers
from tests.cases import each

PAIR = {"do": "answer", "left": 1, "right": 2, "same": True}
WHICH = {"do": "which", "left": 5, "rows": [1, 3, 4], "right": 3, "same": True}
NONE = {"do": "which", "left": 6, "rows": [1, 3, 4], "same": False}
UNSURE = {"do": "which", "left": 7, "rows": [1, 3, 4], "same": None}
GROUPS = {"do": "groups", "first": [1, 2], "second": [8, 9], "same": False}


def told(*entries):
    past = Past({(10, 11): True})
    for entry in entries:
        past = after(past, entry, n_rows=12)
    return count_answers(past, n_rows=12)


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
    past = after(after(Past(), WHICH, 12), PAIR, 12)
    assert count_answers(past, n_rows=5) == (1, 0, 0, 0)


def test_of_one_answer_all_is_undone():
    past = after(after(Past(), PAIR, 12), WHICH, 12)
    assert past.answers == {(1, 2): True, (1, 5): False, (3, 5): True, (4, 5): False}
    assert after(past, {"do": "undo"}, 12).answers == {(1, 2): True}


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
        after(Past(), entry, n_rows=12)


def test_a_choice_is_listed_by_what_the_row_is_like():
    past = after(after(Past(), WHICH, 12), NONE, 12)
    none, chosen = list_answers(past, [WHICH, NONE])
    assert (chosen["left"], chosen["right"], chosen["said"], chosen["n_pairs"]) == (5, 3, "same", 3)
    assert (none["said"], none["n_pairs"], none["n_rows"]) == ("different", 3, 4)
