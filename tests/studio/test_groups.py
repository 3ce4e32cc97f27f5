"""Groups of a lesson: found, named, joined and split."""

import csv
import io
import json

import numpy as np
import pandas as pd
import pytest

from nearkin.pairs.pairs import Pairs
from nearkin.questions.strategies import STRATEGIES
from nearkin.studio.groups import N_REPRESENTATIVES, N_TYPICAL, middle_rows, representatives
from nearkin.studio.lesson import Lesson
from nearkin.studio.metric import PlainView
from nearkin.studio.records import records_of
from tests.studio.grouping_stub import given_clusters

# Three heaps of ten rows.
KIND = np.repeat([0, 1, 2], 10)
X = np.random.default_rng(0).normal(size=(30, 2)) * 0.3 + np.array([[0, 0], [9, 0], [0, 9]])[KIND]


@pytest.fixture
def given(monkeypatch):
    """Groups are found as they are given here, at first the three heaps."""
    return given_clusters(monkeypatch, KIND)


@pytest.fixture
def lesson(given):
    """A lesson whose groups are the three heaps."""
    with Lesson(records_of(X)) as found:
        found.find_groups()
        yield found


def names(lesson):
    return [group["name"] for group in lesson.groups()["groups"]]


def links(lesson):
    return lesson.pairs.must_link, lesson.pairs.cannot_link


def test_groups_are_found_and_keep_to_what_is_said():
    with Lesson(records_of(X)) as lesson:
        assert lesson.groups() is None
        lesson.answer_groups([0, 1], [10, 20], False)
        found = lesson.find_groups()
        assert found == lesson.groups()
        assert json.loads(json.dumps(found)) == found
        assert (found["number"], found["version"]) == (1, 1)
        assert found["said"]
        labels = lesson.colouring("groups")["values"]
        assert (labels[[0, 1]] != labels[[10, 20]]).all()
        for k, group in enumerate(found["groups"]):
            assert labels[group["medoid"]] == k
            assert (labels == k).sum() == group["size"]
        assert np.isnan(labels).sum() == found["n_outliers"]


def test_names_survive_relearning_a_vanished_group_and_the_process(given, tmp_path):
    journal = tmp_path / "answers.jsonl"
    with Lesson(records_of(X), journal=journal) as lesson:
        lesson.find_groups()
        assert names(lesson) == ["group 1", "group 2", "group 3"]
        lesson.name_group(1, " cats ")
        state = lesson.name_group(2, "dogs")
        assert (state["version"], state["n_answers"]) == (2, 0)
        assert names(lesson) == ["group 1", "cats", "dogs"]
        # Other numbers, and a row more or less.
        given.labels = np.array([2] * 9 + [1] * 12 + [0] * 9)
        lesson.answer(0, 1, True)
        lesson.find_groups()
        assert names(lesson) == ["group 1", "cats", "dogs"]
        # Two have become one: its larger part names it, and the other name waits.
        given.labels = np.array([0] * 9 + [1] * 21)
        lesson.answer(0, 2, True)
        found = lesson.find_groups()
        assert sorted(names(lesson)) == ["cats", "group 1"]
        assert found["waiting"] == ["dogs"]
    given.labels = KIND
    with Lesson(records_of(X), journal=journal) as again:
        again.find_groups()
        assert sorted(names(again)) == ["cats", "dogs", "group 1"]
        assert again.groups()["waiting"] == []
        assert [group["named"] for group in again.groups()["groups"]].count(True) == 2


def test_groups_keep_their_numbers_and_are_found_once_for_the_same_knowledge(lesson, given):
    first = lesson.groups()
    lesson.name_group(0, "cats")
    assert lesson.find_groups()["number"] == first["number"]
    assert len(given.fits) == 1
    lesson.answer(0, 10, False)
    before = lesson.colouring("groups")
    given.labels = 2 - KIND
    second = lesson.find_groups()
    assert second["number"] == first["number"] + 1
    after = lesson.colouring("groups")
    np.testing.assert_array_equal(after["values"], before["values"])
    assert (before["number"], after["number"]) == (first["number"], second["number"])


def test_what_is_said_of_two_groups_becomes_a_few_pairs(lesson):
    told = lesson.say_of_groups(0, 2, True)
    must, cannot = links(lesson)
    assert told["n_pairs"] == len(must) == 2 * N_TYPICAL - 1
    assert len(cannot) == 0
    tied = lesson.pairs.groups
    assert tied.count == 1
    assert set(np.bincount(KIND[lesson.pairs.points]).tolist()) == {0, N_TYPICAL}
    lesson.undo()
    assert len(lesson.pairs) == 0
    told = lesson.say_of_groups(0, 2, False)
    must, cannot = links(lesson)
    assert told["n_pairs"] == len(cannot) == N_TYPICAL**2
    assert len(must) == 0
    assert set(KIND[cannot[:, 0]]) == {0}
    assert set(KIND[cannot[:, 1]]) == {2}


def test_rows_that_are_one_group_are_tied_whatever_groups_they_are_in(monkeypatch):
    given_clusters(monkeypatch, np.where(np.arange(30) == 29, -1, KIND))
    with Lesson(records_of(X)) as lesson:
        lesson.find_groups()
        told = lesson.say_one_group([*range(8), 10, 11, 29])
        must, cannot = links(lesson)
        assert told["n_pairs"] == len(must) == N_REPRESENTATIVES + 2 + 1 - 1
        assert len(cannot) == 0
        assert lesson.pairs.groups.count == 1
        assert {10, 11, 29} < set(lesson.pairs.points.tolist())


def test_a_part_is_split_from_the_rest_of_its_group(monkeypatch):
    given_clusters(monkeypatch, np.where(KIND == 2, -1, KIND))
    with Lesson(records_of(X)) as lesson:
        lesson.find_groups()
        # A row of another group and an outlier are left out.
        told = lesson.split_off([0, 1, 2, 3, 10, 29])
        must, cannot = links(lesson)
        assert told["n_pairs"] == len(must) + len(cannot) == 3 + 4 * N_TYPICAL
        assert (told["group"], told["n_left_out"]) == (0, 2)
        assert set(must.ravel().tolist()) == {0, 1, 2, 3}
        assert (cannot[:, 0] < 4).all()
        assert ((cannot[:, 1] >= 4) & (cannot[:, 1] < 10)).all()
        lesson.undo()
        assert len(lesson.pairs) == 0
        with pytest.raises(ValueError, match="whole group"):
            lesson.split_off(range(10))
        with pytest.raises(ValueError, match="none of these rows is in a group"):
            lesson.split_off([28, 29])


def test_what_cannot_be_said_of_groups_is_refused(monkeypatch):
    given_clusters(monkeypatch, KIND)
    with Lesson(records_of(X)) as lesson:
        for say in (
            lambda: lesson.name_group(0, "cats"),
            lambda: lesson.split_off([0]),
            lambda: lesson.export("grouping"),
        ):
            with pytest.raises(ValueError, match="find them first"):
                say()
        number = lesson.find_groups()["number"]
        lesson.name_group(0, "cats", number)
        version = lesson.state()["version"]
        for say, wrong in (
            (lambda: lesson.name_group(1, "cats"), "another group is called 'cats'"),
            (lambda: lesson.name_group(1, None), "has no name"),
            (lambda: lesson.name_group(3, "dogs"), "there is no group 3"),
            (lambda: lesson.name_group(-1, "dogs"), "there is no group -1"),
            (lambda: lesson.name_group(1, "  "), "1 to 60 characters"),
            (lambda: lesson.name_group(1, "dogs", number + 1), "found anew"),
            (lambda: lesson.say_one_group([0, 1], number + 1), "found anew"),
            (lambda: lesson.say_one_group([0]), "select more"),
            (lambda: lesson.say_one_group([0, 30]), "no row 30"),
            (lambda: lesson.say_of_groups(1, 1, True), "one group already"),
            (lambda: lesson.say_of_groups(0, 9, True), "there is no group 9"),
        ):
            with pytest.raises(ValueError, match=wrong):
                say()
        assert lesson.state()["version"] == version


def test_what_was_said_before_is_not_overruled_by_accident(lesson):
    lesson.say_of_groups(0, 1, False)
    with pytest.raises(ValueError, match="something else was said before"):
        lesson.say_of_groups(0, 1, True, before="nothing")
    lesson.say_of_groups(0, 1, True)
    assert len(lesson.pairs.must_link) == 2 * N_TYPICAL - 1


def test_answers_that_contradict_each_other_are_kept_as_far_as_can_be(given):
    known = Pairs([(0, 1), (1, 2)], [(0, 2)])
    with Lesson(records_of(X), pairs=known) as lesson:
        found = lesson.find_groups()
        assert given.fits[-1][0] == "soft"
        assert any("contradict" in note for note in found["notes"])
        lesson.withdraw(0, 2)
        assert lesson.find_groups()["notes"] == []
        assert given.fits[-1][0] == "hard"


def test_the_file_has_numbers_and_names(monkeypatch):
    given_clusters(monkeypatch, np.where(KIND == 2, -1, KIND))
    frame = pd.DataFrame({"name": [f"r{i}" for i in range(30)], "x": X[:, 0], "y": X[:, 1]})
    with Lesson(records_of(frame, ids="name")) as lesson:
        lesson.find_groups()
        lesson.name_group(1, "=cats")
        name, content = lesson.export("grouping")
        assert name == "grouping.csv"
        lines = list(csv.reader(io.StringIO(content.decode())))
        assert lines[0] == ["name (id)", "group", "name"]
        assert lines[1] == ["r0", "1", "group 1"]
        # No formula in a spreadsheet.
        assert lines[11] == ["r10", "2", "'=cats"]
        assert lines[30] == ["r29", "", ""]


def test_representatives_are_a_few_rows_spread_over_all():
    view = PlainView(X)
    found = representatives(view, np.arange(30), 3)
    assert sorted(KIND[found].tolist()) == [0, 1, 2]
    np.testing.assert_array_equal(found, representatives(view, np.arange(30)[::-1], 3))
    np.testing.assert_array_equal(representatives(view, np.array([4, 2]), 5), [4, 2])
    same = PlainView(np.zeros((50, 2)))
    assert 1 <= len(representatives(same, np.arange(50))) <= N_REPRESENTATIVES


def test_typical_rows_are_those_in_the_middle():
    view = PlainView(np.arange(11.0)[:, None])
    np.testing.assert_array_equal(middle_rows(view, np.arange(10, -1, -1)), [5, 4, 6])
    np.testing.assert_array_equal(middle_rows(view, np.array([3])), [3])


def test_questions_are_for_distances_unless_groups_are_wanted(monkeypatch):
    with Lesson(records_of(X)) as lesson:
        assert lesson.state()["goal"] == "distance"
        with pytest.raises(ValueError, match="goal must be one of distance"):
            lesson.aim("weather")
    asked = []

    def for_groups(scene, n, rng):
        asked.append(n)
        return np.array([[0, 1]])

    monkeypatch.setitem(STRATEGIES, "clusters", for_groups)
    with Lesson(records_of(X)) as lesson:
        assert lesson.about()["goals"] == ["distance", "clusters"]
        lesson.questions()
        assert lesson.state()["question"] is not None
        state = lesson.aim("clusters")
        assert (state["goal"], state["question"]) == ("clusters", None)
        assert not asked
        lesson.questions()
        assert asked
        assert lesson.aim("clusters")["question"] is not None
    with Lesson(records_of(X), strategy="clusters") as lesson:
        assert lesson.state()["goal"] == "clusters"
        lesson.aim("distance")
        assert lesson.questions()
