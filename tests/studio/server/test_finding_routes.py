"""Requests for rows that somebody looks for."""

import csv
import io
import json
import struct

import numpy as np

from tests.cases import each


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
    assert head == {"version": 0, "notes": []}
    assert matches(client.post("/api/search", json={"text": "nothing like it"}))[0] == []
    columns = {one["name"]: one for one in client.get("/api/columns").json()}
    assert columns["kind"]["kind"] == "categories"
    where = [{"key": columns["kind"]["key"], "kinds": [0]}]
    found, _ = matches(client.post("/api/search", json={"where": where}))
    assert 0 < len(found) < 40
    where = [{"key": "feature-0", "low": 0}]
    assert 0 < len(matches(client.post("/api/search", json={"where": where}))[0]) < 40


@each(
    "body",
    [
        {"text": 7},
        {"text": "x" * 501},
        {"where": [{"key": "column-99", "low": 1}]},
        {"where": [{"key": "column-0", "low": 1}]},  # of texts
        {"where": [{"key": "feature-0", "low": "1"}]},
        {"where": [{"key": "feature-0", "low": 1e999}]},
        {"where": [{"kinds": [1]}]},
        {"groups": [40]},
        {"groups": [-1]},
        {"doubtful": "yes"},
        {"anything": 1},
    ],
)
def test_bad_searches_are_refused(client, body):
    content = json.dumps(body).replace("Infinity", "1e999")
    reply = client.post(
        "/api/search", content=content, headers={"Content-Type": "application/json"}
    )
    assert reply.status_code == 422
    assert len(reply.json()["message"]) < 300


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
