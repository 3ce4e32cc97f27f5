"""What the routes give and refuse."""

import csv
import errno
import io
import json
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pandas as pd
import pyarrow.parquet
import pytest
from websockets.exceptions import ConnectionClosed

import nearkin as nk
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from nearkin.studio.server.security import LOG
from tests.cases import each
from tests.studio.server.conftest import StubLesson, running, small_records
from tests.waiting import PATIENCE


@pytest.fixture
def fresh():
    """A studio of its own, without answers."""
    with running(Lesson(small_records(), seed=0)) as found, found.client() as client:
        yield client


def test_what_there_is_to_look_at(client):
    about = client.get("/api/lesson").json()
    assert (about["n_rows"], about["n_total"], about["n_features"]) == (40, 40, 2)
    assert about["nearkin"] == nk.__version__
    assert about["state"]["n_answers"] >= 0
    content = client.get("/api/layout").content
    assert len(content) == 8 + 40 * 2 * 4
    assert content[4:8] == bytes([0, 100, 0, 0])  # principal axes, which are there at once
    assert np.isfinite(np.frombuffer(content, "<f4", offset=8)).all()


def test_records(client):
    record = client.get("/api/records/4").json()
    text = next(field for field in record["fields"] if field["name"] == "text")
    assert (len(text["value"]), text["cut"]) == (2000, True)
    assert client.get("/api/records/39").status_code == 200
    for row, status in [("40", 404), ("-1", 422), ("1.5", 422), ("x", 422), ("9" * 5000, 422)]:
        answer = client.get(f"/api/records/{row}")
        assert (answer.status_code, set(answer.json())) == (status, {"message"})
    assert client.get("/api/records/0/image").status_code == 404
    found = client.get("/api/records/0/neighbors?n=5").json()["neighbors"]
    assert len(found) == 5
    assert len(client.get("/api/records/0/neighbors?n=1000").json()["neighbors"]) == 39
    assert client.get("/api/records/0/neighbors?n=0").status_code == 422


def test_colourings(client):
    for one in client.get("/api/lesson").json()["colourings"]:
        about = client.get(f"/api/colourings/{one['key']}").json()
        assert about["name"] == one["name"]
        assert "values" not in about
        values = np.frombuffer(client.get(f"/api/colourings/{one['key']}/values").content, "<f4")
        assert len(values) == 40
    assert client.get("/api/colourings/column-99").status_code == 404
    for key in ("column-x", "feature--1", "feature-99999999999999999999", "none"):
        assert client.get(f"/api/colourings/{key}").status_code == 404


def test_answers_undone_and_done_again(fresh):
    assert struct.unpack_from("<I", fresh.get("/api/layout").content)[0] == 0
    assert fresh.post("/api/undo").status_code == 409
    assert fresh.post("/api/redo").status_code == 409
    first = fresh.post("/api/answers", json={"left": 0, "right": 1, "same": True}).json()
    assert (first["n_answers"], first["n_same"], first["can_undo"]) == (1, 1, True)
    # Whole numbers may have a point.
    body = {"left": 2.0, "right": 3, "same": None, "origin": "neighbors"}
    assert fresh.post("/api/answers", json=body).json()["n_unsure"] == 1
    undone = fresh.post("/api/undo").json()
    assert (undone["version"], undone["n_unsure"], undone["can_redo"]) == (3, 0, True)
    assert fresh.post("/api/redo").json()["n_unsure"] == 1
    assert fresh.get("/api/known").json() == {
        "version": 4, "must_link": [0, 1], "cannot_link": [], "unsure": [2, 3],
    }  # fmt: skip
    state = fresh.post("/api/withdrawals", json={"left": 1, "right": 0}).json()
    assert state["n_same"] == 0
    again = fresh.post("/api/withdrawals", json={"left": 1, "right": 0})
    assert again.status_code == 409
    assert "nothing was said" in again.json()["message"]


def test_answers_of_several_people_are_kept(fresh):
    body = {"left": 0, "right": 1, "same": True, "by": "Ann"}
    assert fresh.post("/api/answers", json=body).status_code == 200
    other = {**body, "same": False, "by": " Bob ", "before": "same"}
    assert fresh.post("/api/answers", json=other).json()["n_different"] == 1
    groups = {"first": [2], "second": [3], "same": True, "by": "Ann"}
    assert fresh.post("/api/groups", json=groups).status_code == 200
    assert fresh.post("/api/answers", json={"left": 4, "right": 5, "same": True}).status_code == 200
    lines = fresh.get("/api/export/pairs").text.splitlines()
    assert lines[0] == "left,right,same,weight,by"
    named = {line.split(",", 4)[4]: line.split(",")[2] for line in lines[1:]}
    assert named == {"": "true", "Ann": "true", "Bob": "false"}
    assert len(lines) == 5


def test_opposite_answers_are_a_conflict_and_change_nothing(fresh):
    body = {"left": 0, "right": 1, "same": True, "before": "nothing"}
    assert fresh.post("/api/answers", json=body).status_code == 200
    reply = fresh.post("/api/answers", json={**body, "same": False})
    assert reply.status_code == 409
    assert reply.json() == {"message": "same was said of rows 0 and 1 meanwhile.", "said": "same"}
    assert fresh.get("/api/known").json()["must_link"] == [0, 1]
    assert fresh.get("/api/lesson").json()["state"]["version"] == 1
    # Whoever knows of it may say something else, or the same again.
    assert fresh.post("/api/answers", json=body).status_code == 200
    reply = fresh.post("/api/answers", json={**body, "same": False, "before": "same"})
    changes = [{"left": 0, "right": 1, "before": "same", "now": "different"}]
    assert reply.json()["changes"] == changes
    late = {"left": 0, "right": 1, "before": "same"}
    assert fresh.post("/api/withdrawals", json=late).status_code == 409
    groups = {"first": [0], "second": [1, 2], "same": True, "before": "nothing"}
    reply = fresh.post("/api/groups", json=groups)
    assert (reply.status_code, reply.json()["said"]) == (409, "different")
    assert fresh.post("/api/groups", json={**groups, "before": None}).status_code == 200


def test_steps_of_a_page_that_is_behind_are_a_conflict(fresh):
    version = fresh.post("/api/answers", json=GOOD).json()["version"]
    fresh.post("/api/answers", json={**GOOD, "right": 2})
    assert fresh.post("/api/undo", json={"version": version}).status_code == 409
    assert fresh.post("/api/undo", json={"version": version + 1}).json()["n_answers"] == 1
    assert fresh.post("/api/redo", json={"version": version}).status_code == 409
    assert fresh.post("/api/redo", json={"version": version + 2}).json()["n_answers"] == 2
    for wrong in ({"version": -1}, {"version": "1"}, {"more": 1}, [1]):
        assert fresh.post("/api/undo", json=wrong).status_code == 422


GOOD = {"left": 0, "right": 1, "same": True}
SPLIT = {"rows": [0], "others": [1]}
ASK = {"purpose": "kinds", "words": "Same topic?"}
CHOICE = {"left": 5, "rows": [1, 2, 3], "right": 2, "same": True}
GROUPS = {"first": [0], "second": [1], "same": True}
ROW_0 = {"key": "feature-0"}
# What a route refuses; in pieces, what is wrong in a body that is right otherwise.
WRONG = {
    "answers": [
        *({**GOOD, "left": row} for row in (-1, True, "0", 0.5, 1e300)),
        *({**GOOD, "right": row} for row in (0, 40, 2**63, 10**400)),
        *({**GOOD, "same": answer} for answer in (1, "true")),
        *({**GOOD, "by": name} for name in ("", " ", "x" * 61, 1)),
        *({**GOOD, **more} for more in ({"admin": True}, {"origin": "elsewhere"})),
        *({**GOOD, "before": "perhaps"}, {"left": 0, "right": 1}, [GOOD], None),
    ],
    "groups": [
        *({**GROUPS, "first": rows} for rows in ([1], [0, -1], [], "01", [True], [[0]])),
        *({**GROUPS, "second": [40]}, {**GROUPS, "same": None}),
    ],
    "groups/split": [
        *({**SPLIT, "rows": rows} for rows in ([1], [40], [-1], [], "01", [True])),
        *({**SPLIT, **more} for more in ({"others": []}, {"before": "same"}, {"by": ""})),
    ],
    "ask": [{**ASK, **more} for more in ({"purpose": "x"}, {"words": ""}, {"words": 1}, {"a": 1})],
    "which": [
        *({**CHOICE, "rows": rows} for rows in ([1, 40], [], [*range(6, 16)], [1, 1, 2])),
        *({**CHOICE, **more} for more in ({"left": 40}, {"right": 9}, {"right": None})),
        *({**CHOICE, **more} for more in ({"same": None}, {"same": 1}, {"origin": "dream"})),
        *({**CHOICE, **more} for more in ({"before": "same"}, {"more": 1})),
    ],
    "groups/name": [{"row": 9, "name": name} for name in ("", "x" * 61)],
    "search": [
        *({"text": text} for text in (7, "x" * 501)),
        *({"where": [{**ROW_0, "low": low}]} for low in ("1", 1e999)),
        *({"where": [{"key": key, "low": 1}]} for key in ("column-99", "column-0")),  # of texts
        *({"where": [{"kinds": [1]}]}, {"groups": [40]}, {"groups": [-1]}),
        *({"doubtful": "yes"}, {"anything": 1}),
    ],
}


@each(("path", "body"), [(path, body) for path in WRONG for body in WRONG[path]])
def test_what_is_wrong_is_refused_and_changes_nothing(studio, client, path, body):
    before = studio.lesson.state()["version"]
    content = json.dumps(body).replace("Infinity", "1e999")
    headers = {"Content-Type": "application/json"}
    reply = client.post(f"/api/{path}", content=content, headers=headers)
    assert reply.status_code == 422
    assert list(reply.json()) == ["message"]
    assert len(reply.json()["message"]) < 300
    assert studio.lesson.state()["version"] == before


def test_what_nothing_was_said_of_cannot_be_taken_back_or_named(client):
    for path, body in (
        ("withdrawals", {"left": 20, "right": 30}),
        *(("groups/name", {"row": row, "name": "cats"}) for row in (9, 40)),
    ):
        reply = client.post(f"/api/{path}", json=body)
        assert (reply.status_code, list(reply.json())) == (409, ["message"])


MALFORMED = {
    "not JSON": b"left=0",
    "cut off": b'{"left":0,',
    "NaN": b'{"left":NaN,"right":1,"same":true}',
    "Infinity": b'{"left":-Infinity,"right":1,"same":true}',
    "not UTF-8": b'{"left":0,"right":1,"same":"\xff\xfe"}',
    "deep": b"[" * 200_000,
    "deep and closed": b'{"left":' * 50_000 + b"1" + b"}" * 50_000,
    "digits": b'{"left":' + b"9" * 100_000 + b',"right":1,"same":true}',
    "an exponent": b'{"left":1e999999,"right":1,"same":true}',
    "nothing": b"",
    "zeros": b"\0" * 1000,
    "a lone surrogate": b'{"left":0,"right":1,"same":true,"\\ud800":1}',
}


@each("body", MALFORMED.values(), ids=MALFORMED.keys())
@each("path", ["answers", "groups", "withdrawals", "groups/split", "ask"])
def test_bodies_that_are_malformed(studio, client, path, body):
    before = studio.lesson.state()["version"]
    headers = {"Content-Type": "application/json"}
    answer = client.post(f"/api/{path}", content=body, headers=headers)
    assert answer.status_code in (400, 422)
    assert list(answer.json()) == ["message"]
    assert studio.lesson.state()["version"] == before


@each("kind", ["text/plain", "application/x-www-form-urlencoded", "x"])
def test_bodies_of_another_kind_and_other_methods_are_refused(client, kind):
    body = json.dumps(GOOD).encode()
    answer = client.post("/api/answers", content=body, headers={"Content-Type": kind})
    assert answer.status_code == 422
    for method in ("GET", "PUT", "DELETE", "PATCH"):
        assert client.request(method, "/api/withdrawals").status_code == 405
    assert client.post("/api/lesson").status_code == 405


def test_exports(fresh, tmp_path):
    for left, right, same in [(0, 1, True), (2, 3, False), (4, 5, None), (6, 7, True)]:
        fresh.post("/api/answers", json={"left": left, "right": right, "same": same})
    pairs = fresh.get("/api/export/pairs").text.splitlines()
    assert pairs[0].startswith("left,right,same")
    assert len(pairs) == 5
    table = pyarrow.parquet.read_table(io.BytesIO(fresh.get("/api/export/embedding").content))
    assert table.num_rows == 40
    groups = fresh.get("/api/export/groups").text.splitlines()
    assert {line.split(",")[1] for line in groups[1:]} <= {"1", "2", "3", "4", "5"}
    assert fresh.get("/api/export/nonsense").status_code == 422
    # The model has the distances that are shown.
    path = tmp_path / "model.nearkin"
    path.write_bytes(fresh.get("/api/export/model").content)
    X = small_records().X
    distances = nk.load(path).distance(X[:1], X)[0]
    for other in fresh.get("/api/records/0/neighbors?n=5").json()["neighbors"]:
        assert distances[other["row"]] == pytest.approx(other["distance"], rel=1e-4)


def test_a_disk_that_is_full_for_a_while(tmp_path, monkeypatch):
    def full(descriptor):
        raise OSError(errno.ENOSPC, "No space left on device")

    lesson = Lesson(small_records(), journal=tmp_path / "a.jsonl", seed=0)
    with running(lesson) as studio, studio.client() as client:
        assert client.post("/api/answers", json=GOOD).status_code == 200
        with monkeypatch.context() as patch:
            patch.setattr("nearkin.studio.journal.os.fsync", full)
            answer = client.post("/api/answers", json={**GOOD, "right": 2})
            assert answer.status_code == 507
            assert "No space left on device" in answer.json()["message"]
            assert client.post("/api/undo").status_code == 507
            assert client.get("/api/lesson").json()["state"]["n_answers"] == 1
        assert client.post("/api/answers", json={**GOOD, "right": 2}).json()["n_answers"] == 2
    again = Lesson(small_records(), journal=tmp_path / "a.jsonl", seed=0)
    assert again.state()["n_answers"] == 2
    again.close()


def test_a_defect_is_said_without_details_and_the_next_request_answered(caplog, monkeypatch):
    monkeypatch.setattr(LOG, "filters", [])  # others may have said all that is said in a minute
    with running(StubLesson()) as studio, studio.client() as client:
        answer = client.get("/api/known")  # the stub has nothing of the kind
        assert answer.status_code == 500
        assert answer.json() == {"message": "A defect of nearkin: AttributeError."}
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert client.get("/api/known").status_code == 500
        assert client.post("/api/answers", json=GOOD).status_code == 200
    assert "a request could not be answered" in caplog.text


def test_changes_come_in_their_order():
    with running(StubLesson()) as studio, studio.client() as client:
        versions = [client.post("/api/answers", json=GOOD).json()["version"] for _ in range(50)]
        assert versions == list(range(1, 51))


def test_pictures_outside_the_folder_are_not_shown(tmp_path):
    from PIL import Image

    folder = tmp_path / "data"
    (folder / "below").mkdir(parents=True)
    picture = Image.new("RGB", (300, 200), "red")
    picture.save(tmp_path / "outside.png")
    picture.save(folder / "below" / "inside.png")
    (folder / "text.png").write_text("<svg onload='alert(1)'/>")
    (folder / "vector.svg").write_text("<svg xmlns='http://www.w3.org/2000/svg'/>")
    names = ["below/inside.png", "../outside.png", "text.png", "vector.svg", "missing.png"]
    names += ["/etc/passwd"]
    records = records_of(np.eye(6), columns={"file": names}, images="file", folder=folder)
    with running(Lesson(records)) as studio, studio.client() as client:
        found = [client.get(f"/api/records/{row}/image") for row in range(len(names))]
        assert [answer.status_code for answer in found] == [200] + [404] * (len(names) - 1)
        assert found[0].headers["content-type"] == "image/png"
        with Image.open(io.BytesIO(found[0].content)) as shown:
            assert max(shown.size) == 160
        # Why there is none is said, but nothing of files elsewhere.
        assert "is not there" in found[names.index("missing.png")].json()["message"]
        assert "is not there" in found[names.index("/etc/passwd")].json()["message"]
        assert "cannot be read" in found[names.index("text.png")].json()["message"]
        assert client.get("/api/records/0/image?side=161").status_code == 422


def test_texts_of_any_kind_come_back():
    texts = ["\ud800 half a sign", "\u2028</script>", "Ünïcode 🐍", "\0", '"\\']
    records = records_of(
        np.arange(10.0).reshape(5, 2), ids=texts, columns={"text": texts}, source="\udfff"
    )
    with running(Lesson(records)) as studio, studio.client() as client, studio.live() as tab:
        found = [json.loads(client.get(f"/api/records/{row}").text) for row in range(5)]
        assert [record["fields"][0]["value"] for record in found] == texts
        assert json.loads(client.get("/api/lesson").text)["source"] == "\udfff"
        assert client.post("/api/answers", json=GOOD).status_code == 200
        assert tab.recv(timeout=PATIENCE)


def test_few_pictures_are_opened_at_once():
    class Album(StubLesson):
        open_now, most = 0, 0
        two = threading.Barrier(2, timeout=PATIENCE)  # passes only if two are open at once

        def image(self, row, side):
            self.open_now += 1
            self.most = max(self.most, self.open_now)
            self.two.wait()
            time.sleep(0.05)  # for a third, if that could come
            self.open_now -= 1
            return b"", "image/png"

    album = Album()
    album.records = album
    with running(album) as studio, ThreadPoolExecutor(12) as viewers:
        asked = [viewers.submit(studio.raw, "GET", "/api/records/0/image") for _ in range(12)]
        assert {one.result().status for one in asked} == {200}
    assert album.most == 2


# Requests for rows that somebody looks for


def matches(reply):
    """Rows that were found, and what was said with them."""
    assert reply.status_code == 200
    (length,) = struct.unpack_from("<I", reply.content)
    head = json.loads(reply.content[4 : 4 + length])
    bits = np.frombuffer(reply.content[4 + length :], dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(bits, bitorder="little")[:40]).tolist(), head


def test_search(client):
    assert matches(client.post("/api/search", json={"text": '"ROW 1"'}))[0] == [1, *range(10, 20)]
    found, head = matches(client.post("/api/search", json={}))
    assert found == list(range(40))
    assert head == {"version": client.get("/api/lesson").json()["state"]["version"], "notes": []}
    assert matches(client.post("/api/search", json={"text": "nothing like it"}))[0] == []
    columns = {one["name"]: one for one in client.get("/api/columns").json()}
    assert columns["kind"]["kind"] == "categories"
    where = [{"key": columns["kind"]["key"], "kinds": [0]}]
    found, _ = matches(client.post("/api/search", json={"where": where}))
    assert 0 < len(found) < 40
    where = [{"key": "feature-0", "low": 0}]
    assert 0 < len(matches(client.post("/api/search", json={"where": where}))[0]) < 40


def test_rows_as_a_page_and_as_a_file(client):
    found = client.post("/api/rows", json={"rows": [7, 2]}).json()
    assert [record["row"] for record in found] == [7, 2]
    reply = client.post("/api/rows/file", json={"rows": [7, 2]})
    assert 'filename="selection.csv"' in reply.headers["content-disposition"]
    lines = list(csv.DictReader(io.StringIO(reply.text)))
    assert [line["text"] for line in lines] == ["row 7", "row 2"]
    for path in ("/api/rows", "/api/rows/file"):
        for rows in ([], [40], [-1], ["1"]):
            assert client.post(path, json={"rows": rows}).status_code == 422
    assert client.post("/api/rows", json={"rows": [0] * 101}).status_code == 422


# Explanations over the wire


def test_two_rows_are_explained(studio):
    with studio.client() as client:
        client.post("/api/answers", json={"left": 0, "right": 1, "same": True})
        found = client.get("/api/why", params={"left": 0, "right": 5})
    assert found.status_code == 200
    why = found.json()
    assert (why["left"], why["right"]) == (0, 5)
    assert abs(sum(one["share"] for one in why["columns"]) + why["others"] - 1) < 1e-6


@each(
    ("query", "status", "message"),
    [
        ({"left": 0, "right": 0}, 422, "beside another one"),
        ({"left": 0, "right": 10**6}, 422, "there is no row"),
        ({"left": -1, "right": 3}, 422, "left"),
        ({"left": "<b>", "right": 3}, 422, "left"),
        ({"left": 3}, 422, "right"),
        ({"left": 3, "right": 10**30}, 422, "right"),
    ],
)
def test_bad_queries_are_refused(studio, query, status, message):
    with studio.client() as client:
        found = client.get("/api/why", params=query)
    assert found.status_code == status
    assert message in found.json()["message"]


# Routes of groups that answers make


def test_a_choice_is_one_answer_and_groups_have_names():
    with running(Lesson(small_records(), seed=0)) as studio, studio.client() as client:
        state = client.post("/api/which", json=CHOICE | {"before": "nothing", "by": "Ann"}).json()
        assert (state["n_answers"], state["n_same"], state["n_changes"]) == (1, 1, 3)
        other = client.post("/api/which", json=CHOICE | {"right": 1, "before": "nothing"})
        assert (other.status_code, other.json()["said"]) == (409, "different")
        named = client.post("/api/groups/name", json={"row": 5, "name": "cats"})
        assert named.json()["version"] == 2
        content = client.get("/api/groups").content
        (length,) = struct.unpack_from("<I", content)
        groups = {one["name"]: one for one in json.loads(content[4 : 4 + length])["groups"]}
        assert groups["cats"]["size"] == 2
        assert len(np.frombuffer(content[4 + length :], "<f4")) == 40
        said = {"purpose": "kinds", "words": "Same topic?"}
        assert client.post("/api/ask", json=said).json()["asked"] == said
        split = client.post("/api/groups/split", json=SPLIT | {"rows": [8, 9]}).json()
        assert (split["n_pairs"], split["n_answers"]) == (3, 2)
        client.post("/api/undo")
        for _ in range(2):
            state = client.post("/api/undo").json()
        assert state["n_answers"] == 0


# Columns over the wire: other ones are learned from, and no answer is lost meanwhile


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
def tabled(request, page, tmp_path):
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


def test_other_columns_are_learned_from_with_the_same_answers(tabled):
    with tabled.client() as client, tabled.live() as tab:
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
        lesson = tabled.serving.lesson
        assert lesson.metric.feature_names_in_.tolist() == ["label"]
    if lesson.journal is not None:
        tabled.serving.close()
        with Lesson(records_of(table(), ids="id"), journal=lesson.journal) as again:
            assert again.state()["n_answers"] == 3


def test_answers_that_come_meanwhile_are_kept(tabled):
    stop = threading.Event()
    said, refused = [], []

    def answer():
        with tabled.client() as client:
            pairs = ((i, j) for i in range(N) for j in range(i))
            for left, right in pairs:
                if stop.is_set():
                    return
                body = {"left": left, "right": right, "same": bool((left + right) % 2)}
                reply = client.post("/api/answers", json=body)
                (said if reply.status_code == 200 else refused).append((right, left))

    thread = threading.Thread(target=answer)
    thread.start()
    with tabled.client() as client:
        for columns in (["a"], ["title", "b"], ["a", "b"]):
            assert client.post("/api/learned-columns", json={"columns": columns}).status_code == 200
        stop.set()
        thread.join()
        known = client.get("/api/known").json()
    ends = [*known["must_link"], *known["cannot_link"]]
    assert not refused
    assert {*zip(ends[::2], ends[1::2], strict=True)} == {*said}
    assert tabled.serving.lesson.state()["version"] == len(said)


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
def test_what_is_no_choice_changes_nothing(tabled, body, said):
    with tabled.client() as client:
        before = client.get("/api/learned-columns").json()
        reply = client.post("/api/learned-columns", json=body)
        assert reply.status_code == 422
        assert said in reply.json()["message"]
        assert client.get("/api/learned-columns").json() == before


def test_arrays_have_no_columns_to_choose(page):
    with running(Lesson(records_of(np.eye(5)), seed=0)) as tabled, tabled.client() as client:
        assert client.get("/api/learned-columns").json()["columns"] == []
        assert not client.get("/api/lesson").json()["has_columns"]
        reply = client.post("/api/learned-columns", json={"columns": ["x0"]})
        assert (reply.status_code, "array" in reply.json()["message"]) == (422, True)
