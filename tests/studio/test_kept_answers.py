"""Answers belong to records: whatever becomes of the rows, they find them again."""

import json

import numpy as np
import pandas as pd
import pytest

from nearkin import Pairs
from nearkin.studio.events import Name, Split
from nearkin.studio.journal import FORMAT, JournalError, RecordKeys, is_about, line_of, read_lines
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import RecordIdentity, records_of
from tests.cases import each

N = 30


def table(n=N, seed=0):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "height": rng.normal(size=n),
            "weight": rng.normal(size=n),
            "name": [f"name {k}" for k in range(n)],
        }
    )


def with_ids(frame):
    return frame.assign(id=[f"p{k}" for k in range(len(frame))])


def opened(frame, path, **options):
    ids = {"ids": "id"} if "id" in frame else {}
    return Lesson(records_of(frame, source="table.csv", **ids), journal=path, **options)


def names(frame, known):
    """What is known by names, which stay with their records."""
    name = frame["name"].tolist()
    found = {}
    for kind in ("must_link", "cannot_link", "unsure"):
        ends = known[kind]
        pairs = zip(ends[::2], ends[1::2], strict=True)
        found[kind] = {frozenset((name[i], name[j])) for i, j in pairs}
    return found


def teach(lesson):
    """A bit of everything that a journal may say."""
    lesson.answer(0, 1, True)
    lesson.answer(5, 2, False)
    lesson.answer(3, 4, None)
    lesson.answer_groups([9, 7, 8], [6], True)
    lesson.answer_groups([10, 11], [12, 13], False)
    lesson.answer_which(14, [15, 16], None, False)
    lesson.withdraw(7, 8)
    lesson.answer(20, 21, True)
    lesson.undo()
    return lesson


@pytest.fixture(params=["by id", "by content"])
def taught(request, tmp_path):
    frame = table()
    if request.param == "by id":
        frame = with_ids(frame)
    path = tmp_path / "answers.jsonl"
    with opened(frame, path) as lesson:
        known = teach(lesson).known()
    return frame, path, names(frame, known)


CHANGES = {
    "other order": lambda frame: frame.sample(frac=1, random_state=1).reset_index(drop=True),
    "more rows": lambda frame: pd.concat([table(7, seed=5), frame], ignore_index=True).assign(
        **({"id": [f"n{k}" for k in range(7)] + list(frame["id"])} if "id" in frame else {})
    ),
    "more columns": lambda frame: frame.assign(age=range(N), town="Bonn"),
    "columns in another order": lambda frame: frame[frame.columns[::-1]],
}


@pytest.mark.parametrize("change", CHANGES)
def test_answers_survive(taught, change):
    frame, path, known = taught
    frame = CHANGES[change](frame)
    with opened(frame, path) as lesson:
        assert names(frame, lesson.known()) == known
        assert lesson.state()["version"] == 9
        # The way back and forth is the same, and goes on.
        lesson.redo()
        assert len(names(frame, lesson.known())["must_link"]) == len(known["must_link"]) + 1
        for _ in range(8):
            state = lesson.undo()
        assert (state["n_answers"], state["can_undo"]) == (0, False)
        lesson.answer(0, 1, True)
        again = names(frame, lesson.known())
    with opened(frame, path) as lesson:
        assert names(frame, lesson.known()) == again


def test_answers_survive_other_columns_to_learn_from(taught):
    frame, path, known = taught
    for columns in (["height"], ["weight", "height"]):
        records = records_of(frame, learn_from=columns, ids="id" if "id" in frame else None)
        with Lesson(records, journal=path) as lesson:
            assert names(frame, lesson.known()) == known


def test_names_of_groups_survive(tmp_path):
    frame, path = table(), tmp_path / "answers.jsonl"
    with opened(frame, path) as lesson:
        lesson._change(Name(name="cats", rows=[1, 2, 3]))
        lesson._change(Split(first=[4, 5], second=[6], origin="group"))
    turned = frame[::-1].reset_index(drop=True)
    with opened(turned, path) as lesson:
        assert lesson._book.known.events.names["cats"] == (26, 27, 28)
        found = names(turned, lesson.known())
        assert found["must_link"] == {frozenset(("name 4", "name 5"))}
    # Of those that are gone, the others keep the name; a group of which nobody is here waits.
    with opened(frame[3:].reset_index(drop=True), path) as lesson:
        assert lesson._book.known.events.names["cats"] == (0,)
    with opened(frame[4:].reset_index(drop=True), path) as lesson:
        assert not lesson._book.known.events.names
    with opened(frame, path) as lesson:
        assert lesson._book.known.events.names["cats"] == (1, 2, 3)


def test_what_is_said_of_records_that_are_gone_is_kept_and_told(taught):
    frame, path, known = taught
    fewer = frame.drop([1, 4, 15]).reset_index(drop=True)
    here = {
        kind: {one for one in some if not {"name 1", "name 4", "name 15"} & set(one)}
        for kind, some in known.items()
    }
    with opened(fewer, path) as lesson:
        assert names(fewer, lesson.known()) == here
        note = "3 answers are about 3 records that are not here now: kept, and count again with"
        assert any(one.startswith(note) for one in lesson.about()["notes"])
        # They can be undone though they are not seen, in their turn.
        for _ in range(5):
            lesson.undo()
        assert lesson.state()["n_answers"] == 1
        assert lesson.undo()["n_answers"] == 0
        assert lesson.undo()["changes"] == []
        for _ in range(7):
            lesson.redo()
        assert names(fewer, lesson.known()) == here
        lesson.answer(20, 21, False)
        pair = frozenset(fewer["name"][[20, 21]])
    with opened(frame, path) as lesson:
        found = names(frame, lesson.known())
        assert found == known | {"cannot_link": known["cannot_link"] | {pair}}
        assert not any("not here now" in one for one in lesson.about()["notes"])


def test_one_answer_about_one_record_that_is_gone(tmp_path):
    frame, path = table(), tmp_path / "answers.jsonl"
    with opened(frame, path) as lesson:
        lesson.answer(0, 1, True)
        lesson.answer(4, 5, True)
    with opened(frame[1:].reset_index(drop=True), path) as lesson:
        note = "1 answer is about 1 record that is not here now: kept, and counts again with it."
        assert note in lesson.about()["notes"]


def test_answers_survive_a_change_of_cells_if_there_are_ids(tmp_path):
    frame, path = with_ids(table()), tmp_path / "answers.jsonl"
    with opened(frame, path) as lesson:
        known = names(frame, teach(lesson).known())
    frame.loc[0, "height"] = 99
    with opened(frame, path) as lesson:
        assert names(frame, lesson.known()) == known
        assert not any("other cells" in note for note in lesson.about()["notes"])
    frame["height"] += 1
    with opened(frame, path) as lesson:
        assert names(frame, lesson.known()) == known
        said = (
            "All 19 records that answers.jsonl has answers about, by their ids in 'id', have other "
            "cells than they had. If these are other data, name another journal."
        )
        assert said in lesson.about()["notes"]


def test_a_column_of_ids_is_found_by_its_name(tmp_path):
    frame, path = with_ids(table()), tmp_path / "answers.jsonl"
    with Lesson(records_of(frame), journal=path) as lesson:
        lesson.answer(0, 1, True)
    lines, _, _ = read_lines(path.read_bytes(), path)
    assert lines[0]["keyed_by"] == {"id": "id", "columns": ["height", "weight", "name", "id"]}
    assert (lines[2]["entry"]["left"], lines[2]["entry"]["right"]) == ("p0", "p1")
    assert set(lines[2]["cells"]) == {"p0", "p1"}


def test_ids_that_are_there_twice_or_missing_or_of_mixed_types(tmp_path):
    frame, path = table(), tmp_path / "answers.jsonl"
    ids = [1, "1", None, 4.0, "x", "x", float("nan"), *range(10, N + 3)]
    with Lesson(records_of(frame, ids=ids), journal=path) as lesson:
        for left, right in ((0, 1), (2, 3), (4, 5), (6, 7)):
            lesson.answer(left, right, True)
        known = names(frame, lesson.known())
    turned, ids = frame[::-1].reset_index(drop=True), ids[::-1]
    with Lesson(records_of(turned, ids=ids), journal=path) as lesson:
        assert names(turned, lesson.known()) == known
    # One that had its id alone is told by its cells from another that has it too now.
    more = pd.concat([table(1, seed=9), turned], ignore_index=True)
    with Lesson(records_of(more, ids=[4, *ids]), journal=path) as lesson:
        assert names(more, lesson.known()) == known


def test_rows_that_are_equal_are_told_apart_by_their_order(tmp_path):
    X, path = np.array([[1.0, 2], [3, 4], [1, 2], [5, 6]]), tmp_path / "answers.jsonl"
    with Lesson(records_of(X), journal=path) as lesson:
        lesson.answer(0, 1, False)
        lesson.answer(0, 2, True)
    with Lesson(records_of(X[[3, 0, 1, 2]].astype(np.float32)), journal=path) as lesson:
        known = lesson.known()
        assert (known["must_link"], known["cannot_link"]) == ([1, 3], [1, 2])


OTHERS = {
    "rows": (table(seed=3), "none of the 19 records that it speaks of is here"),
    "columns": (table()[["height", "name"]], "by columns that are not here, 'weight'"),
    "array": (
        np.eye(5),
        "that are not here, 'height', 'weight', 'name'. .* 30 rows, and here are 5",
    ),
}


@each("other", OTHERS)
def test_a_journal_of_other_data_is_refused_with_what_differs(tmp_path, other):
    path = tmp_path / "answers.jsonl"
    with opened(table(), path) as lesson:
        teach(lesson)
    before = path.read_bytes()
    data, said = OTHERS[other]
    with pytest.raises(JournalError, match=rf"other data \(table.csv\): .*{said}"):
        Lesson(records_of(data), journal=path)
    assert path.read_bytes() == before


def test_whether_a_journal_is_of_these_records_is_asked_while_it_is_open(tmp_path):
    path, records = tmp_path / "answers.jsonl", records_of(table())
    with opened(table(), path) as lesson:
        lesson.answer(0, 1, True)
        before = path.read_bytes()
        asked = [is_about(path, one) for one in (records, records_of(np.eye(5)))]
        assert [*asked, is_about(tmp_path / "none", records)] == [True, False, False]
        assert path.read_bytes() == before


def test_equal_ids_of_quite_other_data_are_not_enough(tmp_path):
    path = tmp_path / "answers.jsonl"
    with opened(with_ids(table()), path) as lesson:
        teach(lesson)
    other = pd.DataFrame({"id": [f"p{k}" for k in range(N)], "length": np.arange(N) ** 0.5})
    with pytest.raises(JournalError, match="columns that are not here, 'height', 'weight', 'name'"):
        Lesson(records_of(other, ids="id"), journal=path)


def test_a_journal_of_an_older_format_is_refused_and_stays_as_it_is(tmp_path):
    path = tmp_path / "answers.jsonl"
    said = {"format": FORMAT, "version": 2, "nearkin": "0.1.0", "about": {}}
    path.write_bytes(before := line_of(said, 0)[0])
    message = (
        rf"^{path} was made by nearkin 0\.1\.0, in a format \(2\) that this version \(.*, format "
        r"3\) does not know: give a new journal another name, and --pairs with what that version "
        r"exports\.$"
    )
    with pytest.raises(JournalError, match=message):
        opened(table(), path)
    assert path.read_bytes() == before


@each(
    "line",
    [
        {"entry": {"do": "answer", "left": 0, "right": 1, "same": True}},
        {"entry": {"do": "answer", "left": ["x"], "right": "y", "same": True}},
        {"entry": {"do": "answer", "left": "x", "right": "y", "same": True}, "cells": [1]},
        {"entry": {"do": "groups", "first": [{}], "second": [], "same": True}},
        {"entry": {"do": "undo", "step": 1}},
    ],
)
@each("changed", ["entry", "header"])
def test_forged_journals_are_refused(tmp_path, line, changed):
    path, records = tmp_path / "answers.jsonl", records_of(np.eye(4))
    Lesson(records, journal=path).close()
    content = path.read_bytes()
    if changed == "header":
        header = json.loads(content.splitlines()[0])["entry"]
        header["keyed_by"] = {"id": 3, "columns": 5} if "cells" in line else None
        content = line_of(header, 0)[0]
    else:
        content += line_of(line, read_lines(content, path)[2])[0]
    path.write_bytes(content)
    with pytest.raises(JournalError, match=r"no journal of nearkin says .* left as it is"):
        Lesson(records, journal=path)
    assert path.read_bytes() == content


def identity_of(table, kinds, n_rows):
    def cells(names):
        yield {name: table[name] for name in names}

    return RecordIdentity(kinds, cells, n_rows)


def test_digests_see_every_cell_and_nothing_else():
    cells = {"n": [1, 2.5, None], "t": ["a", None, "ä"], "v": [[1.0, 2.0], None, [3.0]]}
    kinds = {"n": "number", "t": "text", "v": "vector"}

    def digests(**changes):
        return identity_of(cells | changes, kinds, 3).contents(["t", "n", "v"])

    same = digests()
    assert len(set(same)) == 3
    assert same == digests(n=np.array([1.0, 2.5, np.nan]), t=["a", float("nan"), "ä"])
    assert same[0] == digests(n=[True, 2.5, -0.0])[0]
    for change in ({"n": [1, 2.5, 0]}, {"t": ["a", "None", "ä"]}, {"v": [[1.0, 2.0], None, [3.5]]}):
        assert sum(a != b for a, b in zip(same, digests(**change), strict=True)) == 1
    large = [2**63 - 1, 2**63 - 2, 2**70]
    assert len(set(identity_of({"n": large}, {"n": "number"}, 3).contents(["n"]))) == 3
    one = identity_of({"n": np.array(large[:2])}, {"n": "number"}, 2).contents(["n"])
    assert one == identity_of({"n": large[:2]}, {"n": "number"}, 2).contents(["n"])


def test_records_that_cannot_be_told_apart_are_said_so():
    keys = RecordKeys(identity_of({"id": ["a", None]}, {"id": "text"}, 2), "id", ["gone"])
    assert keys.name(0) == "a"
    with pytest.raises(ValueError, match="row 1 has no id of its own"):
        keys.name(1)


def test_pairs_of_labels_that_were_withdrawn_may_be_others_by_now(tmp_path):
    frame, path = table(), tmp_path / "answers.jsonl"
    with opened(frame, path, pairs=Pairs([(0, 1)])) as lesson:
        lesson.withdraw(0, 1)
        lesson.answer(2, 3, True)
    with opened(frame, path, pairs=Pairs([(4, 5)])) as lesson:
        assert lesson.known()["must_link"] == [2, 3, 4, 5]
        lesson.undo()
        assert lesson.undo()["n_answers"] == 1
