"""Whom to ask what: rows beside groups stay until they are placed, and are asked of two people."""

import numpy as np
import pytest

from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from nearkin.studio.server.session import Person, Turns

KIND = np.arange(90) % 3
HERE = {"name Ann": 0, "name Bob": 0}
ANN, BOB = Person("a", "Ann"), Person("b", "Bob")


@pytest.fixture
def lesson():
    """Three groups are known to differ."""
    X = 2 * np.eye(3)[KIND] + np.random.default_rng(0).normal(size=(90, 3))
    lesson = Lesson(records_of(X), overlap=0.5, seed=0)
    for first, second in ((0, 1), (0, 2), (1, 2)):
        lesson.answer(first, second, False)
        lesson.answer(second, second + 3, True)
    lesson.report()
    return lesson


def placed(lesson, which, by):
    """Say what is true of a row beside groups."""
    left, rows = which["left"], which["rows"]
    right = next((row for row in rows if KIND[row] == KIND[left]), None)
    lesson.answer_which(left, rows, right, right is not None, before="nothing", by=by)


def shown(state):
    return state["which"]["left"], state["which"]["rows"]


def test_a_row_beside_groups_stays_until_it_is_placed(lesson):
    turns = Turns(lesson)
    mine = shown(turns.own(lesson.state(), ANN, HERE))
    other = turns.own(lesson.state(), BOB, HERE)
    assert shown(other)[0] != mine[0]
    for _ in range(3):
        placed(lesson, other["which"], "Cy")
        lesson.report()  # which chooses others
        assert shown(turns.own(lesson.state(), ANN, HERE)) == mine
        other = turns.own(lesson.state(), BOB, HERE)
        assert other["which"]["left"] != mine[0]


def test_a_second_person_is_asked_the_whole_question(lesson):
    turns = Turns(lesson)
    assert turns.own(lesson.state(), BOB, HERE)["second"] is False
    for left in (7, 9, 11):
        placed(lesson, {"left": left, "rows": [0, 1, 2]}, "Ann")
    lesson.report()
    placed(lesson, turns.own(lesson.state(), BOB, HERE)["which"], "Bob")
    again = turns.own(lesson.state(), BOB, HERE)
    assert again["second"] is True
    left, rows = shown(again)
    assert left in (7, 9, 11)
    assert rows == [0, 1, 2]
    # Whoever is asked in pairs has the one that tells it.
    right = next(row for row in rows if KIND[row] == KIND[left])
    assert {again["question"]["left"], again["question"]["right"]} == {left, right}
    lesson.report()
    assert shown(turns.own(lesson.state(), BOB, HERE)) == (left, rows)
    placed(lesson, again["which"], "Bob")
    assert lesson.state()["n_disputed"] == 0
    # Answers are counted, not what they say of pairs.
    listed = lesson.report()["answerers"]["listed"]
    assert {one["name"]: one["n_answers"] for one in listed if one["name"] != "unnamed"} == {
        "Ann": 3,
        "Bob": 2,
    }


def test_whoever_was_alone_keeps_what_they_see_when_others_join(lesson):
    turns = Turns(lesson)
    turns.note(lesson.state() | {"which": None}, ANN)  # in pairs, and long ago
    lesson.answer(10, 11, None)
    lesson.report()
    turns.note(lesson.state(), ANN)
    seen = lesson.state()["which"]
    lesson.report()
    turns.note(lesson.state(), ANN)
    assert turns.own(lesson.state(), ANN, HERE)["which"] == seen
