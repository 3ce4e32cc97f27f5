"""The list of answers, and answers of several people."""

import numpy as np
import pytest

from nearkin.pairs.pairs import Pairs
from nearkin.studio.events import AnswerConflict
from nearkin.studio.lesson import Lesson
from nearkin.studio.quality import n_disagreements
from nearkin.studio.records import records_of

TOWNS = ["Bern", "Basel", "Genf", "Chur", "Thun", "Biel"] * 2


X = np.random.default_rng(0).normal(size=(12, 3))
IDS = [f"r{i}" for i in range(12)]


@pytest.fixture
def lesson():
    return Lesson(records_of(X, ids=IDS, columns={"town": TOWNS}))


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
    lesson = Lesson(records_of(X), pairs=Pairs([(0, 1)], [(2, 3)], n_rows=12))
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


def test_what_each_person_said_is_kept_and_the_last_who_knew_of_it_counts(lesson):
    lesson.answer(0, 1, True, before="nothing", by="Ann")
    # The same answer is one more voice.
    assert lesson.answer(1, 0, True, before="nothing", by="Bob")["n_same"] == 1
    for name in ("Ann", "Cy", None):
        for same in (False, None):
            with pytest.raises(AnswerConflict, match="same was said"):
                lesson.answer(0, 1, same, before="nothing", by=name)
    assert lesson.answer(0, 1, False, before="same", by="Cy")["n_different"] == 1
    (item,) = lesson.answers()["answers"]
    assert item["by"] == "Cy"
    voices = [(one["by"], one["said"]) for one in item["voices"]]
    assert voices == [("Ann", "same"), ("Bob", "same"), ("Cy", "different")]
    assert n_disagreements(lesson._book.known) == 1
    lesson.answer(0, 1, True, by="Cy")
    assert n_disagreements(lesson._book.known) == 0


def test_answers_about_records_that_are_gone_are_kept_and_not_listed(tmp_path):
    with Lesson(records_of(X, ids=IDS), journal=tmp_path / "journal") as lesson:
        lesson.answer(0, 1, True, by="Ann")
        lesson.answer(10, 11, True, by="Bob")
    with Lesson(records_of(X[:8], ids=IDS[:8]), journal=tmp_path / "journal") as fewer:
        found = fewer.answers()
        assert listed(fewer) == [(0, 1, "same")]
        assert (found["n_answers"], found["names"]) == (1, ["Ann"])
        assert listed(fewer, text="r10") == []
    with Lesson(records_of(X, ids=IDS), journal=tmp_path / "journal") as lesson:
        assert listed(lesson) == [(10, 11, "same"), (0, 1, "same")]
