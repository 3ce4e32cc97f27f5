"""What a lesson asks next."""

import numpy as np
import pandas as pd
import pytest

from nearkin.studio.lesson import Lesson
from nearkin.studio.questions import CHECK_EVERY
from nearkin.studio.records import records_of
from tests.cases import each

RNG = np.random.RandomState(0)
Y = np.arange(150) % 4
X = 3.5 * np.eye(4)[Y] + RNG.standard_normal((150, 4))


def press(lesson, *, which=True):
    """Answer what the studio would show, by the classes; gives what that was."""
    lesson.questions()
    state = lesson.state()
    asked = state["which"] if which and state["check"] is None else None
    if asked is None or len(asked["rows"]) == 1:
        pair = state["check"] or (
            {"left": asked["left"], "right": asked["rows"][0]} if asked else state["question"]
        )
        lesson.answer(pair["left"], pair["right"], bool(Y[pair["left"]] == Y[pair["right"]]))
        return state
    left, rows = asked["left"], asked["rows"]
    right = next((row for row in rows if Y[row] == Y[left]), None)
    lesson.answer_which(left, rows, right, right is not None, asked["origin"], "nothing")
    return state


@pytest.fixture(scope="module")
def taught():
    lesson = Lesson(records_of(X))
    return lesson, [press(lesson) for _ in range(40)]


def test_one_answer_places_a_row(taught):
    lesson, states = taught
    state = lesson.state()
    assert state["n_answers"] == 40
    groups = lesson.pairs.groups
    assert groups.count == 4
    # Nearly every press has placed one more row.
    assert len(groups.points) > 30
    assert state["conflicts"] == 0
    shown = [one["which"] for one in states if one["which"] is not None]
    assert len(shown) > 30
    assert {one["origin"] for one in shown} == {"question", "sought"}
    for one in shown[5:]:
        assert [group["number"] for group in one["groups"]] == sorted(
            group["number"] for group in one["groups"]
        )
        assert len(set(Y[one["rows"]])) == len(one["rows"])


def test_what_follows_is_asked_now_and_then(taught):
    _, states = taught
    checks = [k for k, state in enumerate(states) if state["check"] is not None]
    assert checks == [CHECK_EVERY - 1, 2 * CHECK_EVERY - 1]


@each("which", [True, False])
def test_after_five_times_different_something_likely_is_asked(which):
    # Every row is of a kind of its own but for a few twins.
    rng = np.random.RandomState(1)
    rows = rng.standard_normal((60, 8))
    rows[40:] = rows[:20] + 1e-3 * rng.standard_normal((20, 8))
    kinds = np.r_[np.arange(40), np.arange(20)]
    lesson = Lesson(records_of(rows))
    run = longest = 0
    for _ in range(25):
        lesson.questions()
        state = lesson.state()
        asked = state["which"] if which else None
        if asked is not None and len(asked["rows"]) > 1:
            right = next((r for r in asked["rows"] if kinds[r] == kinds[asked["left"]]), None)
            lesson.answer_which(asked["left"], asked["rows"], right, right is not None)
            same = right is not None
        else:
            left, right = state["question"].values()
            same = bool(kinds[left] == kinds[right])
            lesson.answer(left, right, same)
        run = 0 if same else run + 1
        longest = max(run, longest)
    assert longest <= 6  # what is likely may be different, too


def test_undoing_a_choice_gives_the_question_back(taught):
    lesson, _ = taught
    lesson.questions()
    asked = lesson.state()["which"]
    known = lesson.known()
    lesson.answer_which(asked["left"], asked["rows"], asked["rows"][0], True, asked["origin"])
    undone = lesson.undo()["undone"]
    assert undone == asked
    assert lesson.known() == known | {"version": lesson.state()["version"]}
    assert "undone" not in lesson.redo()
    lesson.undo()


def test_a_choice_that_is_not_open_any_more_is_not_asked(taught):
    lesson, _ = taught
    lesson.questions()
    first = lesson.state()["which"]
    lesson.answer(first["left"], first["rows"][0], True)
    assert lesson.state()["which"]["left"] != first["left"]
    lesson.undo()
    lesson.answer(first["left"], first["rows"][0], False)
    again = lesson.state()["which"]
    assert (again["left"], again["rows"]) == (first["left"], first["rows"][1:])
    lesson.undo()


def test_wrong_choices_are_listed_with_what_was_asked():
    lesson = Lesson(records_of(X))
    for _ in range(40):
        press(lesson)
    lesson.questions()
    known = lesson._book.known
    shown = (one.describe(known) for one in lesson._next.which)
    rows = next(one["rows"] for one in shown if one is not None and len(one["rows"]) == 4)
    # One whose kind is plain to see: of others nobody could tell.
    off = np.linalg.norm(X - 3.5 * np.eye(4)[Y], axis=1)
    left = int(np.where(known.groups.labels < 0, off, np.inf).argmin())
    wrong = next(row for row in rows if Y[row] != Y[left])
    lesson.answer_which(left, rows, wrong, True)
    found = lesson.report()["suspects"]
    assert (found[0]["left"], found[0]["right"]) == tuple(sorted((left, wrong)))
    assert found[0]["number"] == len(lesson.events)
    assert found[0]["which"]["rows"] == rows
    assert found[0]["chance_opposite"] > 0.5
    lesson.withdraw_entry(found[0]["number"])
    left = [(one["left"], one["right"]) for one in lesson.report()["suspects"]]
    assert (found[0]["left"], found[0]["right"]) not in left


def test_the_curve_of_quality_has_intervals_and_forgets_what_is_undone():
    lesson = Lesson(records_of(X))
    for _ in range(40):
        press(lesson)
    before = lesson.report()["course"]
    press(lesson)
    found = lesson.report()["course"]
    assert [one["answers"] for one in found] == [40, 41]
    assert all(one["low"] <= one["auc"] <= one["high"] for one in found)
    assert all(one["euclidean_low"] <= one["euclidean"] for one in found)
    lesson.undo()
    assert lesson.report()["course"] == before


def test_ten_equal_answers_name_the_column_that_may_be_why():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "name": [f"{chr(97 + k % 26)}{k} {rng.integers(1000)}" for k in range(40)],
            "source": ["fodors", "zagats"] * 20,
            "city": [f"town {k % 5}" for k in range(40)],
        }
    )
    columns = ["name", "source", "city"]
    with Lesson(records_of(frame, learn_from=columns, of_words=None)) as lesson:
        for k in range(9):
            lesson.answer(2 * k, 2 * k + 6, False)
        assert lesson.state()["equal"] is None
        assert lesson.answer(30, 20, False)["equal"] == {"same": False, "column": "source"}
        assert lesson.answer(31, 33, True)["equal"] is None
        lesson.undo()
        assert lesson.answer(0, 1, None)["equal"] is None
