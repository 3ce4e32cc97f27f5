"""Rows that people look for: by text, column, group or doubt, and the file of them."""

import csv
import io

import numpy as np
import pandas as pd
import pytest

from nearkin.datasets import make_xor
from nearkin.scores.verdicts import read_verdicts
from nearkin.studio import find
from nearkin.studio.find import Finder, TextIndex, Wanted, Where
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from tests.cases import each

FRAME = pd.DataFrame(
    {
        "name": ["Café Łódź", "cafe  lodz bar", "Straße 9", None, "=1+1", "مقهى القاهرة"],
        "town": ["Graz", "Graz", "Wien", "Wien", None, "القاهرة"],
        "price": [1.5, 2.5, 3.5, 4.5, np.nan, 1e9],
        "secret": ["apple"] * 6,
        "x": [0.0, 1, 2, 3, 4, 6],
    }
)


RECORDS = records_of(
    FRAME[["x"]], columns=FRAME.drop(columns="x"), hidden=["secret"], learn_from=["x"]
)


@pytest.fixture(scope="module")
def finder():
    return Finder(RECORDS)


def rows(finder, *told, groups=None, **more):
    found, _ = finder.matches(Wanted(*told, **more), None, groups)
    return np.flatnonzero(found).tolist()


@each(
    ("text", "expected"),
    [
        ("", [0, 1, 2, 3, 4, 5]),
        ("CAFE", [0, 1]),
        ("lódz café", [0, 1]),
        ('"lodz bar"', [1]),
        ('"cafe bar"', []),
        ("strasse", [2]),
        ("9 wien", [2]),  # in several columns
        ('"9 wien"', []),  # but no word goes from one to the next
        ("القاهرة", [5]),
        ("=1+1", [4]),
        ("apple", []),  # it is hidden
        ("(", []),
        ("nowhere", []),
    ],
)
def test_words_are_found_whatever_their_case_and_accents(finder, text, expected):
    assert rows(finder, text) == expected


def test_columns_have_kinds(finder):
    kinds = {one["name"]: (one["key"], one["kind"]) for one in finder.columns()}
    assert kinds["town"] == ("column-1", "categories")
    assert kinds["price"] == ("column-2", "numbers")
    assert kinds["x"] == ("feature-0", "numbers")


def test_columns_are_looked_through_by_kind_range_and_words(finder):
    # Graz, Wien and القاهرة, in their order.
    assert rows(finder, where=(Where("column-1", kinds=(0,)),)) == [0, 1]
    assert rows(finder, where=(Where("column-1", kinds=(0, 1)),)) == [0, 1, 2, 3]
    assert rows(finder, where=(Where("column-1", kinds=()),)) == []
    assert rows(finder, where=(Where("column-2", low=2.5),)) == [1, 2, 3, 5]
    assert rows(finder, where=(Where("column-2", low=2.5, high=3.5),)) == [1, 2]
    assert rows(finder, where=(Where("column-2", low=9, high=1),)) == []
    assert rows(finder, where=(Where("feature-0", high=1.0),)) == [0, 1]
    assert rows(finder, where=(Where("column-0", text="lodz"),)) == [0, 1]
    both = Where("column-1", kinds=(1,)), Where("column-2", low=4.0)
    assert rows(finder, where=both) == [3]
    with pytest.raises(ValueError, match="no column 'column-9'"):
        rows(finder, where=(Where("column-9", low=1.0),))


def test_groups_are_named_by_a_row_of_them(finder):
    groups = np.array([0, 0, 1, -1, 2, 2])
    assert rows(finder, groups=groups) == list(range(6))
    found, notes = finder.matches(Wanted(groups=(1, 4)), None, groups)
    assert np.flatnonzero(found).tolist() == [0, 1, 4, 5]
    found, notes = finder.matches(Wanted(groups=(1,)), None, None)
    assert not found.any()
    assert notes == ["No groups were found yet."]


def test_long_texts_are_looked_through_in_part_and_it_is_said(monkeypatch):
    monkeypatch.setattr(find, "MOST_CHARACTERS", 300)
    records = records_of(np.eye(3), columns={"text": ["a" * 200 + " end", "end", "b"]})
    found, notes = Finder(records).matches(Wanted("end"), None, None)
    assert found.tolist() == [False, True, False]
    assert notes == ["Texts are looked through up to their character 100."]


def test_the_index_finds_what_a_loop_does():
    rng = np.random.RandomState(0)
    texts = ["".join(rng.choice(list("abé "), 12)) for _ in range(300)]
    index = TextIndex(texts, 300)
    plain = [" ".join(text.replace("é", "e").split()) for text in texts]
    for word in ("a", "ab", "bee", "eab", "aaaa"):
        assert index.find_texts(word).tolist() == [word in text for text in plain]


def test_rows_are_doubtful_where_verdicts_are_unsure():
    X, y = make_xor(60, random_state=0)
    lesson = Lesson(records_of(X), seed=0)
    found = lesson.find(Wanted(doubtful=True))
    assert not found["matches"].any()
    assert found["notes"] == ["What is doubtful is known after the first answers."]
    for row in range(1, 25):
        lesson.answer(0, row, bool(y[0] == y[row]))
    lesson.place()
    found = lesson.find(Wanted(doubtful=True))
    assert found["version"] == 24
    assert found["notes"] == []
    verdicts = read_verdicts(lesson.metric)
    for row in range(60):
        far = [one["distance"] for one in lesson.neighbors(row)["neighbors"]]
        chance = np.median(verdicts.chance(np.array(far)))
        assert found["matches"][row] == (0.2 < chance < 0.8)
    assert 0 < found["matches"].sum() < 60


def test_rows_go_to_a_file_with_all_that_is_shown():
    name, content = Lesson(RECORDS, seed=0).rows_file([5, 4, 0])
    assert name == "selection.csv"
    lines = list(csv.DictReader(io.StringIO(content.decode())))
    assert [line["row"] for line in lines] == ["5", "4", "0"]
    assert list(lines[0]) == ["row", "name", "town", "price", "x"]
    assert lines[0]["name"] == FRAME["name"][5]
    assert lines[0]["price"] == "1000000000.0"
    assert lines[1]["name"] == "'=1+1"  # no formula
    assert lines[1]["price"] == ""
