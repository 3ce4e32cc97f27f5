"""Triplets in lessons: learned from beside answers, kept, undone and exported."""

import csv
import io
import json

import numpy as np
import pytest

import nearkin as nk
from nearkin import GMML, ITML, Pairs
from nearkin.datasets import make_xor
from nearkin.studio.journal import JournalError
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from tests.cases import each

X, Y = make_xor(60, random_state=0)
RECORDS = records_of(X, ids=[f"r{i}" for i in range(60)])
GIVEN = Pairs(closer=[(0, 1, 2), (3, 4, 5)], closer_weight=[2.0, 1.0])


def in_order(lesson, a, b, c):
    Z = lesson.metric.transform(X)
    return bool(np.linalg.norm(Z[a] - Z[b]) < np.linalg.norm(Z[a] - Z[c]))


def wrong_triplets():
    """Some that Euclidean distances contradict, of rows of their own."""
    rows = np.random.RandomState(0).permutation(60).reshape(-1, 3)
    near, far = (np.linalg.norm(X[rows[:, 0]] - X[rows[:, k]], axis=1) for k in (1, 2))
    return np.where((near > far)[:, None], rows, rows[:, [0, 2, 1]])


def test_a_lesson_learns_from_triplets_as_fit_does():
    pairs = Pairs([(0, 1)], [(2, 3)], closer=wrong_triplets(), n_rows=60)
    lesson = Lesson(RECORDS, pairs=pairs, learner=ITML(random_state=0))
    expected = ITML(random_state=0).fit(X, pairs=pairs)
    found = lesson.metric
    np.testing.assert_allclose(found.distance(X), expected.distance(X), rtol=1e-4)
    assert lesson.pairs == pairs
    state = lesson.state()
    assert (state["n_triplets"], state["n_answers"], state["can_undo"]) == (20, 2, False)
    assert json.dumps(lesson.report(), allow_nan=False)


def test_triplets_are_in_the_journal_and_need_not_be_given_again(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Lesson(RECORDS, journal=path, pairs=GIVEN) as lesson:
        lesson.answer(7, 8, True)
        lesson.answer_order(9, 10, 11)
        first = lesson.metric.transform(X)
    for pairs in (None, GIVEN):
        with Lesson(RECORDS, journal=path, pairs=pairs) as lesson:
            assert len(lesson.entries) == 3
            assert lesson.pairs.closer.tolist() == [[0, 1, 2], [3, 4, 5], [9, 10, 11]]
            assert lesson.pairs.closer_weight.tolist() == [2.0, 1.0, 1.0]
            np.testing.assert_allclose(lesson.metric.transform(X), first)
    with Lesson(RECORDS, journal=path, pairs=Pairs(closer=[(12, 13, 14)])) as lesson:
        assert lesson.state()["n_triplets"] == 4


def test_what_was_said_later_counts_when_triplets_are_given_again(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Lesson(RECORDS, journal=path, pairs=GIVEN) as lesson:
        lesson.withdraw_order(3, 4, 5)
        lesson.answer_order(0, 2, 1)  # takes the place of its opposite
    with Lesson(RECORDS, journal=path, pairs=GIVEN) as lesson:
        assert lesson.pairs.closer.tolist() == [[0, 2, 1]]
        lesson.undo()
        lesson.undo()
        assert lesson.pairs.closer.tolist() == GIVEN.closer.tolist()
        assert not lesson.state()["can_undo"]
        assert lesson.redo()["n_triplets"] == 1


def test_a_triplet_that_is_answered_moves_its_rows():
    a, b, c = wrong_triplets()[0].tolist()
    lesson = Lesson(RECORDS, learner=ITML(random_state=0, slack=100.0))
    lesson.answer(a, 0 if a else 1, True)
    assert not in_order(lesson, a, b, c)
    state = lesson.answer_order(a, b, c)
    assert (state["n_triplets"], state["n_answers"], state["n_changes"]) == (1, 1, 0)
    assert in_order(lesson, a, b, c)
    lesson.undo()
    assert not in_order(lesson, a, b, c)


def test_triplets_are_exported_as_fit_reads_them():
    lesson = Lesson(RECORDS, pairs=GIVEN)
    name, content = lesson.export("triplets")
    lines = list(csv.reader(io.StringIO(content.decode())))
    assert name == "triplets.csv"
    assert lines[0] == ["anchor", "closer", "farther", "weight"]
    assert lines[1:] == [["r0", "r1", "r2", "2"], ["r3", "r4", "r5", "1"]]
    assert lesson.known()["closer"] == [0, 1, 2, 3, 4, 5]


def test_wrong_triplets_change_nothing():
    lesson = Lesson(RECORDS)
    lesson.answer_order(0, 2, 1)
    lesson.answer_order(2, 1, 0)
    before = lesson.state()
    with pytest.raises(ValueError, match=r"\(0, 1, 1\) names one twice"):
        lesson.answer_order(0, 1, 1)
    with pytest.raises(ValueError, match="there is no row 60"):
        lesson.answer_order(0, 1, 60)
    with pytest.raises(ValueError, match="row 5 was not said to be nearer to 6 than to 7"):
        lesson.withdraw_order(5, 6, 7)
    assert lesson.state() == before


def test_triplets_that_contradict_each_other_or_pairs_are_a_note(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Lesson(RECORDS, journal=path) as lesson:
        lesson.answer_order(0, 2, 1)
    with Lesson(RECORDS, journal=path, pairs=GIVEN) as lesson:
        assert [0, 2, 1] in lesson.pairs.closer.tolist()
        assert "triplets contradict each other" in " ".join(lesson.report()["notes"])
    pairs = Pairs([(0, 2)], [(0, 1)]) + GIVEN
    notes = " ".join(Lesson(RECORDS, pairs=pairs).report()["notes"])
    assert "pairs contradict triplets: triplet (0, 1, 2), yet rows 0 and 1 differ" in notes


def test_a_learner_that_takes_no_triplets_is_refused(tmp_path):
    path = tmp_path / "answers.jsonl"
    with pytest.raises(ValueError, match="GMML does not learn from triplets, of which there are 2"):
        Lesson(RECORDS, journal=path, pairs=GIVEN, learner=GMML())
    with Lesson(RECORDS, journal=path, pairs=GIVEN) as lesson:
        assert lesson.state()["n_triplets"] == 2
    with pytest.raises(ValueError, match="GMML does not learn from triplets"):
        Lesson(RECORDS, journal=path, learner=GMML())
    with pytest.raises(ValueError, match="of which there is 1: take ITML or KernelBeta"):
        Lesson(RECORDS, learner=GMML()).answer_order(0, 1, 2)


@each(
    "entry",
    [
        {"do": "closer"},
        {"do": "closer", "triplets": [[0, 1]]},
        {"do": "closer", "triplets": [[0, 1, 2]], "weights": [0]},
        {"do": "closer", "triplets": 3, "given": True},
        {"do": "withdraw", "triplet": [0, 1, 2]},
    ],
)
def test_entries_that_no_journal_has(entry):
    with pytest.raises(JournalError, match="entry 1 of what was answered does not fit"):
        Lesson(RECORDS, entries=[entry])


def test_the_studio_takes_triplets_by_rows_of_x():
    with nk.studio(X, pairs=GIVEN, port=0) as handle:
        assert handle.pairs == GIVEN + Pairs(n_rows=60)
