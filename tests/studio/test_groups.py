"""Groups of all rows: what is said of some, and what the metric makes likely of the others."""

import csv
import io
import json
from dataclasses import replace

import numpy as np
import pytest

from nearkin.studio.events import AnswerConflict
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from nearkin.studio.reports import rows_file

# Three heaps of ten rows.
KIND = np.repeat([0, 1, 2], 10)
X = np.random.default_rng(0).normal(size=(30, 2)) * 0.3 + np.array([[0, 0], [9, 0], [0, 9]])[KIND]
COLUMNS = {
    "town": [["Graz", "Bern", "Oslo"][k] for k in KIND],
    "secret": [f"kind{k} of things" for k in KIND],
}


@pytest.fixture
def lesson():
    """A lesson in which a row of each heap is a group, and nothing else is said."""
    with Lesson(records_of(X, columns=COLUMNS, hidden=["secret"])) as found:
        found.answer(0, 10, False)
        found.answer_which(20, [0, 10], None, False)
        found.place()
        yield found


def test_every_row_is_likely_of_a_group_from_the_first_answers_on(lesson):
    found = lesson.groups()
    values = found.pop("values")
    assert json.loads(json.dumps(found)) == found
    np.testing.assert_array_equal(np.floor(values), KIND)
    assert [group["likely"] for group in found["groups"]] == [10, 10, 10]
    assert [group["name"] for group in found["groups"]] == ["group 1", "group 2", "group 3"]
    for group in found["groups"]:
        assert {KIND[row] for row in group["examples"]} == {group["number"]}
    assert [group["examples"][0] for group in found["groups"]] == [0, 10, 20]
    # What was said is sure; what is half way between two groups is not.
    assert (values[[0, 10, 20]] == [0, 1, 2]).all()
    with Lesson(records_of(np.array([[0.0], [5.0], [10.0]]))) as between:
        between.answer(0, 2, False)
        between.place()
        assert between.groups()["values"][1] % 1 == 0.5
    with Lesson(records_of(X)) as nothing:
        assert nothing.groups()["groups"] == []
        assert np.isnan(nothing.groups()["values"]).all()


def test_groups_say_what_tells_them_apart_by_what_is_shown(lesson):
    about = [group["about"] for group in lesson.groups()["groups"]]
    assert about == ["town Graz", "town Bern", "town Oslo"]
    texts = [f"{['boats sail', 'cows eat', 'trams stop'][k]} all day long" for k in KIND]
    with Lesson(records_of(X, columns={"text": texts})) as told:
        told.answer(0, 10, False)
        told.answer_which(20, [0, 10], None, False)
        told.place()
        words = [set(group["about"].split(", ")) for group in told.groups()["groups"]]
    assert words == [{"boats", "sail"}, {"cows", "eat"}, {"trams", "stop"}]
    frame = records_of(X, columns={"height": (X[:, 0] * 10).tolist()})
    with Lesson(frame) as amounts:
        amounts.answer(0, 10, False)
        amounts.place()
        assert amounts.groups()["groups"][1]["about"] == "height high"


def test_numbers_and_names_stay_through_merges_and_restarts(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Lesson(records_of(X), journal=path) as lesson:
        for k in range(3):
            lesson.answer(10 * k, 10 * k + 1, True)
        lesson.name_group(21, "cats")
        lesson.answer(0, 10, True)
        lesson.undo()
        lesson.answer(11, 1, True)
        found = lesson.groups()["groups"]
        assert [(one["number"], one["name"]) for one in found] == [(0, "group 1"), (2, "cats")]
    with Lesson(records_of(X), journal=path) as again:
        kept = [(one["number"], one["name"]) for one in again.groups()["groups"]]
        assert kept == [(0, "group 1"), (2, "cats")]
        with pytest.raises(ValueError, match="another group is called 'cats'"):
            again.name_group(0, "cats")
        with pytest.raises(ValueError, match="row 5 is in no group"):
            again.name_group(5, "dogs")
        assert again.name_group(20, None)["version"] == 8
        assert again.groups()["groups"][1]["name"] == "group 3"


def test_a_part_is_split_off_as_one_answer(lesson):
    state = lesson.split_off([5, 3], [0], "nothing", "Ann")
    assert (state["n_pairs"], state["n_answers"]) == (3, 3)
    assert lesson.pairs.must_link.tolist() == [[3, 5]]
    assert [0, 3] in lesson.pairs.cannot_link.tolist()
    with pytest.raises(AnswerConflict):
        lesson.answer_groups([5, 0], [3], True, "nothing")
    assert lesson.undo()["n_answers"] == 2
    with pytest.raises(ValueError, match="row 3 is in both groups"):
        lesson.split_off([3], [3, 4])


def test_groups_are_exported_with_names_and_whether_they_are_sure(lesson):
    lesson.name_group(0, "cats")
    name, content = lesson.export("groups")
    lines = list(csv.DictReader(io.StringIO(content.decode())))
    assert name == "groups.csv"
    assert [int(line["group"]) - 1 for line in lines] == KIND.tolist()
    assert [line["name"] for line in lines[:10]] == ["cats"] * 10
    assert lines[0]["sure"] == "true"
    _, content = lesson.rows_file([1, 11])
    lines = list(csv.DictReader(io.StringIO(content.decode())))
    assert [line["group"] for line in lines] == ["cats", "group 2"]
    called = replace(lesson.records, id_name="group")
    _, content = rows_file(called, [1], ["cats"] * len(called))
    assert content.splitlines()[0].startswith(b"group (id),row,")


def test_what_is_asked_is_kept_and_no_step_that_is_undone(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Lesson(records_of(X), journal=path) as lesson:
        assert lesson.state()["asked"] is None
        lesson.answer(0, 1, True)
        state = lesson.ask("things", " Same wine? ")
        assert state["asked"] == {"purpose": "things", "words": "Same wine?"}
        assert lesson.undo()["n_answers"] == 0
        assert lesson.redo()["asked"] == state["asked"]
        for purpose, words in (("other", "Same?"), ("kinds", " "), ("kinds", "x" * 61)):
            with pytest.raises(ValueError, match=r"purpose|characters"):
                lesson.ask(purpose, words)
    with Lesson(records_of(X), journal=path) as again:
        assert again.state()["asked"] == state["asked"]
        assert again.state()["n_answers"] == 1
