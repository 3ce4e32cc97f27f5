"""Doubtful pairs of records over the wire: begun when somebody looks, and told to all tabs."""

import csv
import io
import json

import pandas as pd
import pytest

from nearkin.datasets import make_records
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from tests.studio.server.conftest import StubLesson, refits, running
from tests.waiting import PATIENCE, until

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

        groups = client.get("/api/export/duplicates")
        assert 'filename="duplicates.csv"' in groups.headers["Content-Disposition"]
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
        assert client.get("/api/export/duplicates").status_code == 409


class Reviewed(StubLesson):
    def __init__(self, error=None):
        super().__init__()
        self.reviews, self.error = [], error

    def review(self):
        if self.error:
            raise self.error
        self.reviews.append(self.version)
        return {"version": self.version}


def test_nothing_is_reviewed_until_somebody_looks():
    lesson = Reviewed()
    worker, given, done = refits(lesson)
    worker.start()
    assert done.wait(PATIENCE)
    assert lesson.reviews == []
    worker.want_reviews()
    until(lambda: ("review", 0) in given)
    worker.want_reviews()  # a second look begins nothing
    lesson.version = 1
    worker.want()
    until(lambda: {("report", 1), ("review", 1)} <= {*given})
    assert worker.stop()
    assert lesson.reviews == [0, 1]


def test_a_review_that_fails_is_said():
    worker, given, _ = refits(Reviewed(ValueError("no column tells rows apart.")))
    worker.start()
    worker.want_reviews()
    until(lambda: "problem" in dict(given))
    assert worker.stop()
    assert "no column tells rows apart" in dict(given)["problem"]
