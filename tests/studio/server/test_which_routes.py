"""Routes of groups that answers make."""

import numpy as np
import pytest

from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from tests.cases import each
from tests.studio.server.conftest import running

X = np.random.RandomState(0).standard_normal((30, 3))
GOOD = {"left": 5, "rows": [1, 2, 3], "right": 2, "same": True}


@pytest.fixture(scope="module")
def rows(page):
    with running(Lesson(records_of(X))) as studio:
        yield studio


def test_a_choice_is_one_answer_and_groups_have_names(rows):
    with rows.client() as client:
        state = client.post("/api/which", json=GOOD | {"before": "nothing", "by": "Ann"}).json()
        assert (state["n_answers"], state["n_same"], state["n_changes"]) == (1, 1, 3)
        other = client.post("/api/which", json=GOOD | {"right": 1, "before": "nothing"})
        assert (other.status_code, other.json()["said"]) == (409, "different")
        named = client.post("/api/which/name", json={"row": 5, "name": "cats"})
        assert named.json()["version"] == 2
        about = client.get("/api/colourings/known").json()
        assert "cats (2 rows)" in about["categories"]
        for _ in range(2):
            state = client.post("/api/undo").json()
        assert (state["n_answers"], state["n_cannot_link"]) == (0, 0)


@each(
    ("path", "body", "status"),
    [
        ("", {"left": 30}, 422),
        ("", {"rows": [1, 30]}, 422),
        ("", {"rows": []}, 422),
        ("", {"rows": list(range(6, 16))}, 422),
        ("", {"rows": [1, 1, 2]}, 422),
        ("", {"right": 9}, 422),
        ("", {"right": None}, 422),
        ("", {"same": None}, 422),
        ("", {"same": 1}, 422),
        ("", {"origin": "dream"}, 422),
        ("", {"before": "same"}, 422),
        ("", {"more": 1}, 422),
        ("/name", {"row": 9, "name": "cats"}, 409),
        ("/name", {"row": 30, "name": "cats"}, 422),
        ("/name", {"row": 9, "name": ""}, 422),
        ("/name", {"row": 9, "name": "x" * 61}, 422),
    ],
)
def test_bad_values_change_nothing(rows, path, body, status):
    with rows.client() as client:
        before = client.get("/api/lesson").json()["state"]["version"]
        reply = client.post(f"/api/which{path}", json=body if path else GOOD | body)
        assert (reply.status_code, set(reply.json())) == (status, {"message"})
        assert client.get("/api/lesson").json()["state"]["version"] == before
