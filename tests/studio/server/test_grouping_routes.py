"""Groups over the wire: found in the background, told to all tabs, named, joined and split."""

import csv
import io
import json
import threading

import numpy as np
import pytest

from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from tests.cases import each
from tests.studio.grouping_stub import given_clusters
from tests.studio.server.conftest import StubLesson, running
from tests.waiting import PATIENCE

KIND = np.repeat([0, 1, 2], 10)
X = np.random.default_rng(0).normal(size=(30, 2)) * 0.3 + np.array([[0, 0], [9, 0], [0, 9]])[KIND]


@pytest.fixture
def given(monkeypatch):
    return given_clusters(monkeypatch, np.where(np.arange(30) == 29, -1, KIND))


@pytest.fixture
def heaps(page, given):
    with running(Lesson(records_of(X), seed=0)) as studio:
        yield studio


def next_told(tab, kind):
    """The next message of a kind that a tab is told."""
    while True:
        message = tab.recv(timeout=PATIENCE)
        if isinstance(message, str):
            content = json.loads(message)
            if content["type"] == kind:
                return content


def test_groups_are_told_to_all_tabs_and_so_are_their_names(heaps):
    with heaps.client() as client, heaps.live() as one, heaps.live() as two:
        assert client.get("/api/grouping").status_code == 204
        assert client.get("/api/export/grouping").status_code == 409
        assert client.post("/api/grouping").status_code == 202
        found = next_told(one, "grouping")
        assert next_told(two, "grouping") == found
        assert client.get("/api/grouping").json() == {
            key: value for key, value in found.items() if key != "type"
        }
        assert [group["size"] for group in found["groups"]] == [10, 10, 9]
        assert found["n_outliers"] == 1
        body = {"grouping": found["number"], "group": 2, "name": "cats"}
        assert client.post("/api/grouping/name", json=body).json()["version"] == 1
        assert next_told(two, "grouping")["groups"][2]["name"] == "cats"
        # Whoever comes later is told, too.
        with heaps.live() as later:
            assert next_told(later, "grouping")["groups"][2]["name"] == "cats"
        lines = list(csv.DictReader(io.StringIO(client.get("/api/export/grouping").text)))
        assert [line["name"] for line in lines[20:]] == ["cats"] * 9 + [""]


def test_colours_are_of_the_grouping_that_is_meant(heaps):
    with heaps.client() as client, heaps.live() as tab:
        client.post("/api/grouping")
        number = next_told(tab, "grouping")["number"]
        path = "/api/colourings/groups"
        about = client.get(f"{path}?grouping={number}").json()
        assert about["categories"] == ["group 1", "group 2", "group 3"]
        values = np.frombuffer(client.get(f"{path}/values?grouping={number}").content, "<f4")
        np.testing.assert_array_equal(values[:29], KIND[:29])
        assert np.isnan(values[29])
        assert client.get(f"{path}/values?grouping={number + 1}").status_code == 409
        assert client.get(f"{path}?grouping=x").status_code == 422
        assert client.get(f"/api/colourings/known?grouping={number}").status_code == 409


def test_what_is_said_of_groups_becomes_pairs_that_one_step_takes_back(heaps):
    with heaps.client() as client:
        with heaps.live() as tab:  # not to the end: it would have to hear of everything
            client.post("/api/grouping")
            number = next_told(tab, "grouping")["number"]
        for path, body, n_pairs in (
            ("one", {"rows": [0, 1, 10]}, 2),
            ("split", {"rows": [0, 1, 10]}, 1 + 2 * 3),
            ("two", {"first": 0, "second": 1, "same": True}, 5),
            ("two", {"first": 0, "second": 1, "same": False}, 9),
        ):
            body = {"grouping": number, "by": "Ann", "before": "nothing", **body}
            state = client.post(f"/api/grouping/{path}", json=body).json()
            assert state["n_pairs"] == state["n_must_link"] + state["n_cannot_link"] == n_pairs
            assert state["n_answers"] == 1
            assert client.post("/api/undo").json()["n_answers"] == 0


@each(
    ("path", "body", "status"),
    [
        ("name", {"group": 0}, 422),
        ("name", {"group": 0, "name": ""}, 422),
        ("name", {"group": 0, "name": "x" * 61}, 422),
        ("name", {"group": 0, "name": 3}, 422),
        ("name", {"group": -1, "name": "cats"}, 422),
        ("name", {"group": 3, "name": "cats"}, 409),
        ("name", {"group": 0, "name": "cats", "rows": [1]}, 422),
        ("name", {"grouping": 99, "group": 0, "name": "cats"}, 409),
        ("one", {"rows": []}, 422),
        ("one", {"rows": [0, 30]}, 422),
        ("one", {"rows": [0]}, 409),
        ("one", {"rows": "01"}, 422),
        ("split", {"rows": [29]}, 409),
        ("split", {"rows": [0], "before": "same"}, 422),
        ("two", {"first": 0, "second": 0, "same": True}, 409),
        ("two", {"first": 0, "second": 1, "same": None}, 422),
    ],
)
def test_bad_values_change_nothing(heaps, path, body, status):
    with heaps.client() as client, heaps.live() as tab:
        client.post("/api/grouping")
        number = next_told(tab, "grouping")["number"]
        reply = client.post(f"/api/grouping/{path}", json={"grouping": number, **body})
        assert (reply.status_code, set(reply.json())) == (status, {"message"})
        assert client.get("/api/lesson").json()["state"]["version"] == 0


def test_before_groups_are_found_nothing_can_be_said_of_them(heaps):
    with heaps.client() as client:
        body = {"grouping": 1, "rows": [0, 1]}
        reply = client.post("/api/grouping/one", json=body)
        assert reply.status_code == 409
        assert "find them first" in reply.json()["message"]


def test_a_goal_is_shared_by_all_tabs(heaps):
    with heaps.client() as client, heaps.live() as tab:
        assert next_told(tab, "state")["goal"] == "distance"
        assert client.post("/api/goal", json={"goal": "distance"}).json()["goal"] == "distance"
        assert client.post("/api/goal", json={"goal": "weather"}).status_code == 422
        assert client.post("/api/goal", json={"goal": 3}).status_code == 422


class SlowGroups(StubLesson):
    """Groups that are found when a test says so."""

    def __init__(self):
        super().__init__()
        self.begun, self.end = threading.Event(), threading.Event()
        self.wrong = None

    def find_groups(self):
        self.begun.set()
        assert self.end.wait(PATIENCE)
        if self.wrong:
            raise self.wrong

    def groups(self):
        return {"number": 1, "version": self.version}


def test_answers_are_taken_while_groups_are_being_found(page):
    lesson = SlowGroups()
    with running(lesson) as studio, studio.client() as client, studio.live() as tab:
        client.post("/api/grouping")
        assert lesson.begun.wait(PATIENCE)
        body = {"left": 0, "right": 1, "same": True}
        assert client.post("/api/answers", json=body).json()["version"] == 1
        assert client.get("/api/grouping").status_code == 204
        lesson.end.set()
        assert next_told(tab, "grouping")["version"] == 1


def test_groups_that_cannot_be_found_are_a_problem_that_is_told(page):
    lesson = SlowGroups()
    lesson.wrong = ValueError("all rows are the same.")
    lesson.end.set()
    with running(lesson) as studio, studio.client() as client, studio.live() as tab:
        client.post("/api/grouping")
        told = next_told(tab, "problem")
        assert told["message"] == "Groups could not be found: all rows are the same."
        assert client.get("/api/lesson").status_code == 200
