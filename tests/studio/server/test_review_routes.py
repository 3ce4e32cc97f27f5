"""Doubtful pairs of records over the wire: begun when somebody looks, and told to all tabs."""

import csv
import io
import json
import queue

import pandas as pd
import pytest

from nearkin.datasets import make_records
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from nearkin.studio.server.session import Refits
from tests.studio.server.conftest import StubLesson, running
from tests.waiting import PATIENCE

TABLE, PERSON = make_records(80, random_state=1)


@pytest.fixture
def people(page, tmp_path):
    frame = pd.DataFrame({"id": [f"p{i}" for i in range(80)], **TABLE})
    records = records_of(frame, ids="id")
    with running(Lesson(records, journal=tmp_path / "answers.jsonl", seed=0)) as found:
        yield found


def next_review(tab):
    """The next review that a tab is told of."""
    while True:
        message = tab.recv(timeout=PATIENCE)
        if isinstance(message, str):
            content = json.loads(message)
            if content["type"] == "review":
                return content


def test_a_review_is_told_to_all_tabs_and_learns(people):
    with people.client() as client, people.live() as tab:
        assert client.get("/api/lesson").json()["review"]
        assert client.get("/api/review").status_code == 204
        first = next_review(tab)
        assert client.get("/api/review").json()["pairs"] == first["pairs"]
        pair = {end: first["pairs"][0][end] for end in ("left", "right")}
        same = bool(PERSON[pair["left"]] == PERSON[pair["right"]])
        reply = client.post("/api/answers", json={**pair, "same": same, "origin": "review"})
        assert reply.status_code == 200
        second = next_review(tab)
        assert (second["version"], second["n_answers"]) == (1, 1)
        asked = [(one["left"], one["right"]) for one in second["pairs"]]
        assert (pair["left"], pair["right"]) not in asked
        # Whoever comes later is told what is known by then.
        with people.live() as later:
            assert next_review(later)["version"] == 1

        groups = client.get("/api/export/groups")
        assert 'filename="groups.csv"' in groups.headers["Content-Disposition"]
        lines = list(csv.DictReader(io.StringIO(groups.text)))
        assert list(lines[0]) == ["group", "id", "chance"]
        assert len(lines) == second["n_grouped"]

        record = client.get(f"/api/records/{pair['left']}?beside={pair['right']}").json()
        marked = [field for field in record["fields"] if "parts" in field]
        assert marked
        for field in marked:
            assert "".join(text for text, _ in field["parts"]) == field["value"]


def test_rows_of_numbers_have_no_review(page):
    lesson = Lesson(records_of([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]))
    with running(lesson) as studio, studio.client() as client:
        assert not client.get("/api/lesson").json()["review"]
        reply = client.get("/api/review")
        assert reply.status_code == 404
        assert "no records" in reply.json()["message"]
        assert client.get("/api/export/groups").status_code == 409


class Reviewed(StubLesson):
    def __init__(self):
        super().__init__()
        self.reviews = []

    def review(self):
        self.reviews.append(self.version)
        return {"version": self.version}


def test_nothing_is_reviewed_until_somebody_looks():
    told = queue.Queue()
    lesson = Reviewed()
    refits = Refits(
        lesson,
        on_layout=lambda layout: None,
        on_map=lambda layout: None,
        on_report=lambda report: told.put(("report", report["version"])),
        on_review=lambda review: told.put(("review", review["version"])),
        on_problem=lambda sentence: told.put(("problem", sentence)),
    )
    refits.start()
    assert told.get(timeout=PATIENCE) == ("report", 0)
    assert lesson.reviews == []
    refits.want_reviews()
    assert told.get(timeout=PATIENCE) == ("review", 0)
    refits.want_reviews()  # a second look begins nothing
    lesson.version = 1
    refits.want()
    assert {told.get(timeout=PATIENCE), told.get(timeout=PATIENCE)} == {
        ("report", 1),
        ("review", 1),
    }
    assert refits.stop()
    assert lesson.reviews == [0, 1]


def test_a_review_that_fails_is_said():
    class Failing(StubLesson):
        def review(self):
            raise ValueError("no column tells rows apart.")

    told = queue.Queue()
    refits = Refits(
        Failing(),
        on_layout=lambda layout: None,
        on_map=lambda layout: None,
        on_report=lambda report: None,
        on_review=told.put,
        on_problem=told.put,
    )
    refits.start()
    refits.want_reviews()
    assert "no column tells rows apart" in told.get(timeout=PATIENCE)
    assert refits.stop()
