"""Why two records are near or far, as the studio tells it."""

from itertools import product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from nearkin.learners.teachable import learn_again
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of, records_of_digits
from tests.cases import each


@pytest.fixture
def lesson():
    X = np.random.default_rng(0).normal(size=(60, 3))
    frame = pd.DataFrame(X, columns=["length", "width", "depth"])
    with Lesson(records_of(frame)) as lesson:
        for i in range(0, 40, 2):
            lesson.answer(i, i + 1, bool((X[i, 0] > 0) == (X[i + 1, 0] > 0)))
        yield lesson


def test_columns_and_answers_of_two_rows(lesson):
    why = lesson.why(3, 50)
    metric = lesson.metric
    both = [lesson.records.X[[row]] for row in (3, 50)]
    frames = [pd.DataFrame(row, columns=lesson.records.features) for row in both]
    assert_allclose(why["distance"], metric.pair_distance(*frames)[0])
    assert_allclose(why["chance"], metric.chance_same(*frames)[0])
    assert {one["name"] for one in why["columns"]} == {"length", "width", "depth"}
    assert_allclose(sum(one["share"] for one in why["columns"]) + why["others"], 1)
    shares = [abs(one["share"]) for one in why["columns"]]
    assert shares == sorted(shares, reverse=True)
    assert why["columns"][0]["values"] != ["", ""]
    assert (why["heat"], why["words"], why["near"], why["of_vectors"]) == (None, {}, [], False)
    with pytest.raises(ValueError, match="there is no row 60"):
        lesson.why(0, 60)


def test_answers_are_named_by_what_learning_without_them_changes(lesson):
    why = lesson.why(3, 50)
    assert why["answers"]
    known, learned = lesson._book.known, lesson._seen.learned
    for answer in why["answers"]:
        fewer = known.without((answer["left"], answer["right"])).told
        again = learn_again(learned.metric, lesson._rows, fewer)
        distance = again.pair_distance(*lesson._rows[[3, 50]])
        assert_allclose(answer["change"], 100 * (distance / why["distance"] - 1), rtol=1e-6)
        links = known.pairs.must_link if answer["same"] else known.pairs.cannot_link
        assert [answer["left"], answer["right"]] in links.tolist()


def test_before_the_first_answer_there_are_columns_only():
    X = np.random.default_rng(0).normal(size=(20, 3))
    with Lesson(records_of(X, columns={"a": list("abcdefghij") * 2})) as lesson:
        why = lesson.why(0, 1)
        assert why["chance"] is None
        assert why["answers"] == []
        assert len(why["columns"]) == 3


def test_rows_that_coincide_have_no_reasons():
    X = np.repeat(np.random.default_rng(0).normal(size=(10, 3)), 2, axis=0)
    with Lesson(records_of(X)) as lesson:
        lesson.answer(0, 2, False)
        why = lesson.why(4, 5)
        assert why["distance"] == 0
        assert (why["columns"], why["answers"], why["others"]) == ([], [], 0)


def test_pictures_have_a_heat_map():
    with Lesson(records_of_digits()) as lesson:
        why = lesson.why(0, 1)
        heat = why["heat"]
        assert (heat["height"], heat["width"]) == (8, 8)
        assert_allclose(sum(heat["shares"]), 1, atol=1e-4)
        assert why["columns"] == []


def test_vectors_have_the_nearest_answered_pairs():
    X = np.random.default_rng(0).normal(size=(40, 30))
    with Lesson(records_of(X)) as lesson:
        lesson.answer(0, 1, True)
        lesson.answer(2, 3, False)
        why = lesson.why(1, 0)
        assert why["of_vectors"]
        assert why["columns"] == []
        assert {"left": 0, "right": 1, "same": True}.items() <= why["near"][0].items()


@each("standardise", [False, True])
def test_records_have_words(standardise):
    parts = product(("grey", "black", "white"), ("cat", "dog", "owl", "fox"), ("house", "yard"))
    texts = [f"a {colour} {animal} in the {place}" for colour, animal, place in parts]
    frame = pd.DataFrame({"story": texts, "teller": [f"{name} Smith" for name in texts]})
    with Lesson(records_of(frame, of_words=True), standardise=standardise) as lesson:
        lesson.answer(0, 1, True)
        why = lesson.why(0, 2)
        words = {one["text"]: one for one in why["words"]["story"]}
        assert words["cat"]["where"] == "left"
        assert words["dog"]["where"] == "right"
        assert words["cat"]["share"] > 0
        assert why["columns"][0]["values"][0].startswith("a grey cat")
