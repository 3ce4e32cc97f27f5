"""The list of answers, steps that are taken back by their number, and answers of several people."""

import numpy as np
import pytest

from nearkin.pairs.pairs import Pairs
from nearkin.studio.events import Conflict
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of

TOWNS = ["Bern", "Basel", "Genf", "Chur", "Thun", "Biel"] * 2


@pytest.fixture
def lesson():
    X = np.random.default_rng(0).normal(size=(12, 3))
    ids = [f"r{i}" for i in range(12)]
    return Lesson(records_of(X, ids=ids, columns={"town": TOWNS}))


def listed(lesson, **wishes):
    return [(one["left"], one["right"], one["said"]) for one in lesson.answers(**wishes)["answers"]]


def test_the_newest_answers_come_first_as_they_were_shown(lesson):
    lesson.answer(5, 2, True, by="Ann")
    lesson.answer(1, 3, None)
    lesson.answer_groups([6, 7], [8, 9, 10], False)
    found = lesson.answers()
    assert listed(lesson) == [(6, 8, "different"), (1, 3, "unsure"), (5, 2, "same")]
    assert [one["n_pairs"] for one in found["answers"]] == [6, 1, 1]
    assert [one["n_rows"] for one in found["answers"]] == [5, 2, 2]
    assert [one["number"] for one in found["answers"]] == [3, 2, 1]
    assert found["answers"][2]["ids"] == ["r5", "r2"]
    assert found["answers"][2]["at"].startswith("20")
    assert (found["n_answers"], found["n_found"], found["names"]) == (3, 3, ["Ann"])
    assert found["version"] == 3
    assert listed(lesson, start=1, n=1) == [(1, 3, "unsure")]
    # Answered anew, it is the newest.
    lesson.answer(2, 5, False)
    assert listed(lesson)[0] == (2, 5, "different")
    lesson.undo()
    assert listed(lesson)[2] == (5, 2, "same")


def test_answers_are_found_by_ids_text_names_and_what_was_said(lesson):
    lesson.answer(5, 2, True, by="Ann")  # Biel, Genf
    lesson.answer(1, 3, None)  # Basel, Chur
    lesson.answer(10, 4, False, by="Bob")  # Thun, Thun
    assert listed(lesson, text="GENF") == [(5, 2, "same")]
    assert listed(lesson, text="r3") == [(1, 3, "unsure")]
    assert listed(lesson, text="thun bob") == [(10, 4, "different")]
    assert listed(lesson, text="thun ann") == []
    assert listed(lesson, said="unsure") == [(1, 3, "unsure")]
    assert listed(lesson, by="Bob") == [(10, 4, "different")]
    assert lesson.answers(text="nothing like it")["n_found"] == 0


def test_what_was_known_from_the_start_is_listed_last():
    X = np.random.default_rng(0).normal(size=(6, 2))
    lesson = Lesson(records_of(X), pairs=Pairs([(0, 1)], [(2, 3)], n_rows=6))
    lesson.answer(4, 5, True)
    found = lesson.answers()["answers"]
    assert [(one["number"], one["left"], one["right"]) for one in found] == [
        (1, 4, 5),
        (0, 0, 1),
        (0, 2, 3),
    ]
    assert found[1]["at"] is None
    with pytest.raises(ValueError, match="does not count any more"):
        lesson.withdraw_entry(0)


def test_an_entry_is_taken_back_as_a_whole_and_that_is_undone(lesson):
    lesson.answer(0, 1, True)
    lesson.answer_groups([6, 7], [8, 9], False)
    lesson.answer(6, 8, True)
    state = lesson.withdraw_entry(2)  # but for the pair of which something else was said since
    assert state["n_answers"] == 2
    assert state["n_changes"] == 3
    with pytest.raises(ValueError, match="does not count any more"):
        lesson.withdraw_entry(2)
    assert lesson.undo()["n_answers"] == 3
    assert listed(lesson) == [(6, 8, "same"), (6, 9, "different"), (0, 1, "same")]


def test_a_step_is_undone_whatever_others_did_since(lesson):
    mine = lesson.answer(3, 1, True)["version"]
    lesson.answer(4, 5, False)
    state = lesson.undo(step=mine)
    assert state["changes"] == [{"left": 3, "right": 1, "before": "same", "now": "nothing"}]
    assert listed(lesson) == [(4, 5, "different")]
    with pytest.raises(ValueError, match="nothing to undo"):
        lesson.undo(step=mine)
    state = lesson.redo(step=mine)
    assert state["changes"] == [{"left": 3, "right": 1, "before": "nothing", "now": "same"}]
    assert listed(lesson) == [(4, 5, "different"), (3, 1, "same")]
    # Not if something else was said of the same rows.
    lesson.answer(1, 3, None)
    with pytest.raises(Conflict, match="something else was said"):
        lesson.undo(step=mine)
    assert lesson.state()["n_answers"] == 2


def test_steps_that_were_undone_by_number_are_read_again(tmp_path):
    X = np.random.default_rng(0).normal(size=(12, 3))
    with Lesson(records_of(X), journal=tmp_path / "journal") as lesson:
        mine = lesson.answer(0, 1, True)["version"]
        lesson.answer(2, 3, True, by="Ann")
        lesson.answer(3, 2, False, before="nothing", by="Bob")
        lesson.undo(step=mine)
        known, items = lesson.known(), lesson.answers()
    with Lesson(records_of(X), journal=tmp_path / "journal") as again:
        assert again.known() == known
        assert again.answers() == items
        assert again.state()["last_by"] == "Bob"


def test_opposite_answers_of_two_people_are_kept_until_one_settles_it(lesson):
    lesson.answer(0, 1, True, before="nothing", by="Ann")
    # The same answer is one more voice.
    lesson.answer(1, 0, True, before="nothing", by="Bob")
    assert lesson.state()["n_same"] == 1
    state = lesson.answer(1, 0, False, before="nothing", by="Cy")
    assert (state["n_same"], state["n_different"], state["n_disputed"]) == (0, 0, 1)
    assert state["changes"] == [{"left": 1, "right": 0, "before": "same", "now": "disputed"}]
    (item,) = lesson.answers(said="disputed")["answers"]
    assert [(one["by"], one["said"]) for one in item["voices"]] == [
        ("Ann", "same"),
        ("Bob", "same"),
        ("Cy", "different"),
    ]
    # Nothing is learned from it, and it is not asked again.
    assert len(lesson.pairs) == 0
    assert not lesson._book.known.are_open(np.array([[0, 1]])).any()
    # Whoever settles it says so on purpose, and all voices stay.
    state = lesson.answer(0, 1, False, "conflict", before="disputed", by="Ann")
    assert (state["n_different"], state["n_disputed"]) == (1, 0)
    (item,) = lesson.answers()["answers"]
    assert len(item["voices"]) == 3
    assert lesson.undo()["n_disputed"] == 1


def test_whoever_is_unsure_takes_nothing_away_from_others(lesson):
    lesson.answer(0, 1, True, before="nothing", by="Ann")
    state = lesson.answer(0, 1, None, before="nothing", by="Bob")
    assert state["n_same"] == 1
    # The other way round, whoever knows is believed.
    lesson.answer(2, 3, None, before="nothing", by="Ann")
    assert lesson.answer(2, 3, False, before="nothing", by="Bob")["n_different"] == 1


def test_one_person_or_no_name_is_no_dispute(lesson):
    lesson.answer(0, 1, True, by="Ann")
    with pytest.raises(Conflict, match="same was said"):
        lesson.answer(0, 1, False, before="nothing", by="Ann")
    with pytest.raises(Conflict, match="same was said"):
        lesson.answer(0, 1, False, before="nothing")
    # Who knows what was said before takes its place.
    assert lesson.answer(0, 1, False, before="same", by="Bob")["n_different"] == 1


def test_answers_about_records_that_are_gone_are_kept_and_not_listed(tmp_path):
    X = np.random.default_rng(0).normal(size=(12, 3))
    ids = [f"r{i}" for i in range(12)]
    with Lesson(records_of(X, ids=ids), journal=tmp_path / "journal") as lesson:
        lesson.answer(0, 1, True, by="Ann")
        lesson.answer(10, 11, True, by="Bob")
    with Lesson(records_of(X[:8], ids=ids[:8]), journal=tmp_path / "journal") as fewer:
        found = fewer.answers()
        assert listed(fewer) == [(0, 1, "same")]
        assert (found["n_answers"], found["names"]) == (1, ["Ann"])
        assert listed(fewer, text="r10") == []
    with Lesson(records_of(X, ids=ids), journal=tmp_path / "journal") as lesson:
        assert listed(lesson) == [(10, 11, "same"), (0, 1, "same")]


def told_of_groups(lesson, left, right, by):
    """Row 0, 1 and 2 stand for groups; this one is like one of them, or none."""
    return lesson.answer_which(left, [0, 1, 2], right, right is not None, before="nothing", by=by)


def test_opposite_choices_among_groups_are_one_dispute_that_one_answer_settles(lesson, tmp_path):
    for first, second in ((0, 1), (0, 2), (1, 2)):
        lesson.answer(first, second, False, by="Ann")
    n = lesson.state()["n_answers"]
    told_of_groups(lesson, 5, 1, "Bob")
    # The same choice is one more voice.
    assert told_of_groups(lesson, 5, 1, "Cy")["n_same"] == 1
    state = told_of_groups(lesson, 5, 2, "Ann")
    assert (state["n_answers"], state["n_disputed"], state["n_same"]) == (n + 1, 1, 0)
    changed = {(one["left"], one["right"]): one["now"] for one in state["changes"]}
    assert changed == {(1, 5): "disputed", (2, 5): "disputed"}
    # What they agree about still counts.
    known = lesson.known()
    assert known["must_link"] == []
    assert [0, 5] in np.reshape(known["cannot_link"], (-1, 2)).tolist()
    (item,) = lesson.answers(said="disputed")["answers"]
    assert item["which"]["left"] == 5
    assert item["which"]["rows"] == [0, 1, 2]
    assert {one["by"]: one["said"] for one in item["voices"]} == {
        "Bob": "same",
        "Cy": "same",
        "Ann": "different",
    }
    state = lesson.answer_which(5, [0, 1, 2], 2, True, "conflict", by="Bob")
    assert (state["n_answers"], state["n_disputed"], state["n_same"]) == (n + 1, 0, 1)
    assert [2, 5] in np.reshape(lesson.known()["must_link"], (-1, 2)).tolist()
    assert lesson.undo()["n_disputed"] == 1
