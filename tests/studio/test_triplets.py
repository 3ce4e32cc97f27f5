"""Triplets that are given to lessons: learned from beside answers, and kept."""

import numpy as np
import pytest

import nearkin as nk
from nearkin import GMML, ITML, Pairs
from nearkin.datasets import make_xor
from nearkin.studio.events import Answer, Order
from nearkin.studio.journal import JournalError
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of

X, Y = make_xor(60, random_state=0)
RECORDS = records_of(X, ids=[f"r{i}" for i in range(60)])
GIVEN = Pairs(closer=[(0, 1, 2), (3, 4, 5)], closer_weight=[2.0, 1.0])


def test_a_lesson_learns_from_triplets_as_fit_does():
    rows = np.random.RandomState(0).permutation(60).reshape(-1, 3)
    pairs = Pairs([(0, 1)], [(2, 3)], closer=rows, n_rows=60)
    lesson = Lesson(RECORDS, pairs=pairs, learner=ITML(random_state=0))
    expected = ITML(random_state=0).fit(X, pairs=pairs)
    np.testing.assert_allclose(lesson.metric.distance(X), expected.distance(X), rtol=1e-4)
    assert lesson.pairs == pairs
    assert (lesson.state()["n_answers"], lesson.state()["can_undo"]) == (2, False)


def test_triplets_are_given_again_with_a_journal(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Lesson(RECORDS, journal=path, pairs=GIVEN) as lesson:
        lesson.answer(7, 8, True)
        first = lesson.metric.transform(X)
    with Lesson(RECORDS, journal=path, pairs=GIVEN) as lesson:
        assert lesson.pairs.closer.tolist() == [[0, 1, 2], [3, 4, 5]]
        assert lesson.pairs.closer_weight.tolist() == [2.0, 1.0]
        np.testing.assert_allclose(lesson.metric.transform(X), first)


def test_triplets_of_older_journals_are_to_be_given_again():
    order = Order(triplets=[[0, 1, 2]], weights=[2.0], given=True)
    answer = Answer(left=7, right=8, same=True)
    for pairs, is_told in ((None, True), (GIVEN, False)):
        lesson = Lesson(RECORDS, events=[order, answer], pairs=pairs)
        assert (lesson.state()["n_answers"], lesson.state()["version"]) == (1, 2)
        assert any("give them again" in note for note in lesson.notes_on_answers) is is_told
        assert lesson.undo()["n_answers"] == 0
        assert not lesson.state()["can_undo"]


def test_triplets_that_contradict_pairs_are_a_note():
    pairs = Pairs([(0, 2)], [(0, 1)]) + GIVEN
    notes = " ".join(Lesson(RECORDS, pairs=pairs).report()["notes"])
    assert "pairs contradict triplets: triplet (0, 1, 2), yet rows 0 and 1 differ" in notes


def test_a_learner_that_takes_no_triplets_is_refused(tmp_path):
    path = tmp_path / "answers.jsonl"
    with pytest.raises(ValueError, match="GMML does not learn from triplets, of which there are 2"):
        Lesson(RECORDS, journal=path, pairs=GIVEN, learner=GMML())


def test_an_order_that_was_given_on_a_page_is_refused():
    with pytest.raises(JournalError, match="begin a new journal, and give triplets with the data"):
        Lesson(RECORDS, events=[Order(triplets=[[0, 1, 2]])])


def test_the_studio_takes_triplets_by_rows_of_x():
    with nk.studio(X, pairs=GIVEN, port=0) as handle:
        assert handle.pairs == GIVEN + Pairs(n_rows=60)
