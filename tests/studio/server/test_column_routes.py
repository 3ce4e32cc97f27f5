"""Columns over the wire: other ones are learned from, and no answer is lost meanwhile."""

import threading

import numpy as np
import pandas as pd
import pytest
from websockets.exceptions import ConnectionClosed

from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from tests.cases import each
from tests.studio.server.conftest import running
from tests.waiting import PATIENCE

N = 40


def table():
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "id": [f"p{k}" for k in range(N)],
            "a": rng.normal(size=N),
            "b": 1000 * rng.normal(size=N),
            "label": [k % 3 for k in range(N)],
            "title": [f"A book about {k} cats and {k * k % 17} dogs" for k in range(N)],
        }
    )


@pytest.fixture(params=["on disk", "in memory"])
def studio(request, page, tmp_path):
    journal = tmp_path / "answers.jsonl" if request.param == "on disk" else None
    with running(Lesson(records_of(table(), ids="id"), journal=journal, seed=0)) as found:
        yield found


def closing_code(tab):
    """What the server says when it closes the line."""
    try:
        while True:
            tab.recv(timeout=PATIENCE)
    except ConnectionClosed as closed:
        return closed.rcvd.code


def learned(told):
    return [one["name"] for one in told["columns"] if one["learned"]]


def test_other_columns_are_learned_from_with_the_same_answers(studio):
    with studio.client() as client, studio.live() as tab:
        assert learned(client.get("/api/learned-columns").json()) == ["a", "b", "title"]
        for k in range(3):
            client.post("/api/answers", json={"left": k, "right": k + 5, "same": k < 2})
        known = client.get("/api/known").json()
        told = client.post("/api/learned-columns", json={"columns": ["b", "a"]}).json()
        assert learned(told) == ["a", "b"]
        assert told["standardised"]
        assert client.get("/api/known").json() == known
        about = client.get("/api/lesson").json()
        assert about["features"] == ["a", "b"]
        assert any("columns are brought to one scale" in note for note in about["notes"])
        assert about["state"]["version"] == 3
        # Tabs are cut off, and find the new lesson when they connect again.
        assert closing_code(tab) == 1012
        # The way back is the same, and so is the journal.
        assert client.post("/api/undo").json()["n_answers"] == 2
        body = {"columns": ["label"], "standardise": False}
        told = client.post("/api/learned-columns", json=body).json()
        assert (learned(told), told["standardised"]) == (["label"], False)
        notes = client.get("/api/lesson").json()["notes"]
        assert any("'label' looks like classes" in note for note in notes)
        state = client.post("/api/redo").json()
        assert (state["n_answers"], state["version"]) == (3, 5)
        lesson = studio.serving.lesson
        assert lesson.metric.feature_names_in_.tolist() == ["label"]
    if lesson.journal is not None:
        studio.serving.close()
        with Lesson(records_of(table(), ids="id"), journal=lesson.journal) as again:
            assert again.state()["n_answers"] == 3


def test_answers_that_come_meanwhile_are_kept(studio):
    stop = threading.Event()
    said, refused = [], []

    def answer():
        with studio.client() as client:
            pairs = ((i, j) for i in range(N) for j in range(i))
            for left, right in pairs:
                if stop.is_set():
                    return
                body = {"left": left, "right": right, "same": bool((left + right) % 2)}
                reply = client.post("/api/answers", json=body)
                (said if reply.status_code == 200 else refused).append((right, left))

    thread = threading.Thread(target=answer)
    thread.start()
    with studio.client() as client:
        for columns in (["a"], ["title", "b"], ["a", "b"]):
            assert client.post("/api/learned-columns", json={"columns": columns}).status_code == 200
        stop.set()
        thread.join()
        known = client.get("/api/known").json()
    ends = [*known["must_link"], *known["cannot_link"]]
    assert not refused
    assert {*zip(ends[::2], ends[1::2], strict=True)} == {*said}
    assert studio.serving.lesson.state()["version"] == len(said)


@each(
    ("body", "said"),
    [
        ({"columns": ["none"]}, "no column 'none'"),
        ({"columns": ["id"]}, "'id' cannot be learned from: ids"),
        ({"columns": []}, "at least 1"),
        ({"columns": "a"}, "list"),
        ({"columns": [3]}, "string"),
        ({"columns": ["a"], "standardise": "no"}, "boolean"),
        ({"columns": ["a"], "more": 1}, "more"),
        ({}, "columns"),
    ],
)
def test_what_is_no_choice_changes_nothing(studio, body, said):
    with studio.client() as client:
        before = client.get("/api/learned-columns").json()
        reply = client.post("/api/learned-columns", json=body)
        assert reply.status_code == 422
        assert said in reply.json()["message"]
        assert client.get("/api/learned-columns").json() == before


def test_arrays_have_no_columns_to_choose(page):
    with running(Lesson(records_of(np.eye(5)), seed=0)) as studio, studio.client() as client:
        assert client.get("/api/learned-columns").json()["columns"] == []
        assert not client.get("/api/lesson").json()["has_columns"]
        reply = client.post("/api/learned-columns", json={"columns": ["x0"]})
        assert (reply.status_code, "array" in reply.json()["message"]) == (422, True)
