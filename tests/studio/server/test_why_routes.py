"""Explanations over the wire."""

from tests.cases import each


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
        ({"left": 0, "right": 10**6}, 422, "There is no row"),
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
