"""The review of records in a lesson."""

import csv
import io

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import nearkin as nk
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from nearkin.tables.choice import are_records

# Dates with typos are said to be unreadable.
pytestmark = pytest.mark.filterwarnings("ignore::nearkin.tables.reading.TableWarning")

TABLE, PERSON = nk.datasets.make_records(120, random_state=1)
PEOPLE = pd.DataFrame(TABLE)


def is_same(left, right):
    return bool(PERSON[left] == PERSON[right])


def ends(pair):
    return pair["left"], pair["right"]


@pytest.fixture(scope="module")
def reviewed():
    """A lesson about people, and its first review."""
    lesson = Lesson(records_of(PEOPLE), seed=0)
    return lesson, lesson.review()


def test_doubtful_pairs_come_in_the_order_of_a_matcher(reviewed):
    _, found = reviewed
    matcher = nk.RecordMatcher(random_state=0).fit(PEOPLE)
    pairs, chance = matcher.review(20)
    assert [ends(pair) for pair in found["pairs"]] == list(map(tuple, pairs.tolist()))
    assert [pair["chance"] for pair in found["pairs"]] == chance.tolist()
    groups = matcher.duplicates()
    assert found["n_groups"] == len(groups.groups)
    assert found["n_grouped"] == sum(map(len, groups.groups))
    assert "How good the groups are is not known" in found["notes"][-1]
    listed = [group["rows"] for group in found["groups"]]
    assert sorted(listed) == sorted(rows.tolist() for rows in groups.groups)
    chances = [group["chance"] for group in found["groups"]]
    assert chances == sorted(chances)
    assert not any(group["settled"] for group in found["groups"])
    assert (found["version"], found["n_answers"]) == (0, 0)


def test_how_good_groups_are_is_said_where_checks_were_answered():
    matcher = nk.RecordMatcher(random_state=0).fit(PEOPLE)
    asked = matcher.suggest(40)
    same = PERSON[asked[:, 0]] == PERSON[asked[:, 1]]
    pairs = nk.Pairs(asked[same], asked[~same], n_rows=len(PERSON))
    said = Lesson(records_of(PEOPLE), pairs=pairs, seed=0).review()["notes"][-1]
    assert said.startswith("Groups of duplicates, expected: precision ")


def test_answers_are_learned_from_and_not_asked_again(tmp_path):
    path = tmp_path / "answers.jsonl"
    with Lesson(records_of(PEOPLE), journal=path) as lesson:
        before = lesson.review()["pairs"]
        said = {ends(pair): is_same(*ends(pair)) for pair in before[:6]}
        said[ends(before[6])] = None
        for pair, same in said.items():
            lesson.answer(*pair, same, "review")
        after = lesson.review()
        assert (after["version"], after["n_answers"]) == (7, 6)
        assert not {ends(pair) for pair in after["pairs"]} & set(said)
        # What is undone is asked again, as the same answers always are.
        for _ in said:
            lesson.undo()
        assert lesson.review()["pairs"] == before
        for _ in said:
            lesson.redo()
    with Lesson(records_of(PEOPLE), journal=path) as lesson:
        assert {**lesson.review(), "version": 7, "notes": []} == {**after, "notes": []}
        assert lesson.state()["n_unsure"] == 1


def test_a_group_that_answers_have_accepted_is_settled():
    lesson = Lesson(records_of(PEOPLE), seed=0)
    rows = lesson.review()["groups"][0]["rows"]
    lesson.answer_groups(rows, [], True)
    last = lesson.review()["groups"][-1]
    assert (set(rows) <= set(last["rows"]), last["settled"]) == (True, True)


def test_what_follows_is_not_asked_and_contradictions_are_reviewed_all_the_same():
    lesson = Lesson(records_of(PEOPLE))
    a, b, c = np.flatnonzero(np.bincount(PERSON).argmax() == PERSON)[:3].tolist()
    lesson.answer(a, b, True)
    lesson.answer(b, c, True)
    pairs = [set(ends(pair)) for pair in lesson.review()["pairs"]]
    assert not any(pair <= {a, b, c} for pair in pairs)
    lesson.answer(a, c, False)
    assert (lesson.state()["conflicts"], lesson.review()["n_answers"]) == (1, 3)


def test_groups_are_exported_as_duplicates_writes_them(reviewed):
    lesson, found = reviewed
    name, content = lesson.export("duplicates")
    assert name == "duplicates.csv"
    lines = list(csv.DictReader(io.StringIO(content.decode())))
    assert list(lines[0]) == ["group", "row", "chance"]
    assert len(lines) == found["n_grouped"]
    expected = nk.RecordMatcher(random_state=0).fit(PEOPLE).duplicates()
    for number, rows in enumerate(expected.groups):
        members = [line for line in lines if line["group"] == str(number)]
        assert [int(line["row"]) for line in members] == rows.tolist()
        chances = [float(line["chance"]) for line in members]
        np.testing.assert_allclose(chances, expected.chance[rows], rtol=1e-5)


def test_rows_of_numbers_have_no_review():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    kinds = {"kind": rng.choice(["a", "b"], 60), "user_id": [f"u{i}" for i in range(60)]}
    lesson = Lesson(records_of(X, columns={name: list(of) for name, of in kinds.items()}))
    assert not lesson.about()["review"]
    assert lesson.review() is None
    with pytest.raises(ValueError, match="there are no duplicates"):
        lesson.export("duplicates")
    named = Lesson(records_of(X, columns={"name": [f"Ann {i}" for i in range(60)]}))
    assert not named.about()["review"]


def test_tables_of_records_are_known_by_their_words():
    assert are_records(TABLE)
    heights = np.random.default_rng(0).normal(size=120).tolist()
    assert not are_records({**TABLE, "height": heights})


def test_a_map_of_words():
    records = records_of(PEOPLE)
    assert records.X.shape[0] == 120
    assert np.isfinite(records.X).all()
    assert records.compared == tuple(PEOPLE.columns)
    lesson = Lesson(records)
    about = lesson.about()
    assert about["of_words"]
    assert about["features"] == list(PEOPLE.columns)
    assert not any(one["key"].startswith("feature-") for one in about["colourings"])
    assert {field["name"] for field in lesson.records.record(3)["fields"]} == set(PEOPLE.columns)
    # The metric takes tables.
    distances = lesson.metric.transform(PEOPLE)
    np.testing.assert_allclose(distances, lesson.metric.transform(records.X))


def test_numbers_are_learned_from_unless_records_are_wanted():
    heights = np.random.default_rng(0).normal(size=120)
    frame = PEOPLE.assign(height=heights)
    records = records_of(frame, learn_from=["height"])
    assert records.features == ["height"]
    assert {"surname", "height"} <= set(records.compared)
    records = records_of(frame, of_words=True)
    assert records.of_words
    assert "height" in records.compared
    with pytest.raises(ValueError, match="leave learn_from out"):
        records_of(frame, of_words=True, learn_from=["height"])
    with pytest.raises(ValueError, match="no columns of words"):
        records_of(frame[["height"]], of_words=True)
    with pytest.raises(ValueError, match="an array of numbers"):
        records_of(np.eye(3), of_words=True)


def test_an_encoder_says_what_columns_hold():
    kinds = nk.TableEncoder(kinds={"born": "name", "phone": "ignored"})
    records = records_of(PEOPLE, of_words=kinds)
    assert records.encoder.kinds_["born"] == "name"
    assert not hasattr(kinds, "kinds_")
    review = Lesson(records).review()
    assert len(review["notes"]) == 1


def test_answers_about_words_hold_for_the_same_cells_only():
    fingerprint = records_of(PEOPLE).fingerprint
    for frame in (PEOPLE.copy(), pl.DataFrame(TABLE), pa.table(TABLE)):
        assert records_of(frame).fingerprint == fingerprint
    changed = PEOPLE.copy()
    changed.loc[5, "town"] = "elsewhere"
    assert records_of(changed).fingerprint != fingerprint
    encoder = nk.TableEncoder(n_components=3)
    assert records_of(PEOPLE, of_words=encoder).fingerprint == fingerprint


def test_what_differs_is_marked_in_both_records():
    frame = pd.DataFrame(
        {
            "name": ["Jon Smith", "John Smith", "Ann"],
            "town": ["Leeds", "leeds ", None],
            "note": ["x" * 3000, "y" * 3000, "z"],
        }
    )
    records = records_of(frame)
    left, right = records.record(0, 1)["fields"], records.record(1, 0)["fields"]
    assert left[0]["parts"] == [("Jon Smith", False)]
    assert right[0]["parts"] == [("Jo", False), ("h", True), ("n Smith", False)]
    assert "parts" not in left[1]
    assert left[2]["parts"] == [("x" * 2000, True)]
    assert left[2]["cut"]
    # Neither alone, nor beside an empty cell.
    assert not any("parts" in field for field in records.record(0)["fields"])
    assert "parts" not in records.record(0, 2)["fields"][1]


def test_digits_of_features_are_not_marked_unless_they_are_compared():
    X = np.array([[1.25, 2], [1.5, 3]])
    plain = records_of(X).record(0, 1)
    assert not any("parts" in field for field in plain["fields"])
    frame = pd.DataFrame({"name": ["Ann", "Anna"], "height": [1.25, 1.5]})
    fields = records_of(frame, learn_from=["height"]).record(0, 1)["fields"]
    assert fields[1]["parts"] == [("1.", False), ("2", True), ("5", False)]
