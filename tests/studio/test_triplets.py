"""Triplets that are given to lessons: learned from beside answers, and kept."""

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


def test_a_lesson_learns_from_triplets_as_fit_does():
    rows = np.random.RandomState(0).permutation(60).reshape(-1, 3)
    pairs = Pairs([(0, 1)], [(2, 3)], closer=rows, n_rows=60)
    lesson = Lesson(RECORDS, pairs=pairs, learner=ITML(random_state=0))
    expected = ITML(random_state=0).fit(X, pairs=pairs)
    np.testing.assert_allclose(lesson.metric.distance(X), expected.distance(X), rtol=1e-4)
    assert lesson.pairs == pairs
    assert (lesson.state()["n_answers"], lesson.state()["can_undo"]) == (2, False)


def test_triplets_are_in_the_journal_and_need_not_be_given_again(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Lesson(RECORDS, journal=path, pairs=GIVEN) as lesson:
        lesson.answer(7, 8, True)
        first = lesson.metric.transform(X)
    for pairs in (None, GIVEN):
        with Lesson(RECORDS, journal=path, pairs=pairs) as lesson:
            assert len(lesson.entries) == 2
            assert lesson.pairs.closer.tolist() == [[0, 1, 2], [3, 4, 5]]
            assert lesson.pairs.closer_weight.tolist() == [2.0, 1.0]
            np.testing.assert_allclose(lesson.metric.transform(X), first)
    with Lesson(RECORDS, journal=path, pairs=Pairs(closer=[(12, 13, 14)])) as lesson:
        assert len(lesson.pairs.closer) == 3


def test_triplets_that_contradict_pairs_are_a_note():
    pairs = Pairs([(0, 2)], [(0, 1)]) + GIVEN
    notes = " ".join(Lesson(RECORDS, pairs=pairs).report()["notes"])
    assert "pairs contradict triplets: triplet (0, 1, 2), yet rows 0 and 1 differ" in notes


def test_a_learner_that_takes_no_triplets_is_refused(tmp_path):
    path = tmp_path / "answers.jsonl"
    with pytest.raises(ValueError, match="GMML does not learn from triplets, of which there are 2"):
        Lesson(RECORDS, journal=path, pairs=GIVEN, learner=GMML())
    Lesson(RECORDS, journal=path, pairs=GIVEN).close()
    with pytest.raises(ValueError, match="GMML does not learn from triplets"):
        Lesson(RECORDS, journal=path, learner=GMML())


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
