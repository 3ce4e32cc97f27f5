"""Tabs that no WebSocket reaches: they ask again and again, and miss nothing."""

import json

import httpx
import pytest

from nearkin.datasets import make_xor
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from nearkin.studio.server import app
from tests.studio.server.conftest import running
from tests.waiting import PATIENCE


@pytest.fixture
def studio(monkeypatch):
    monkeypatch.setattr(app, "_WAITS", 0.05)
    with running(Lesson(records_of(make_xor(40, random_state=0)[0]))) as found:
        yield found


def asking(client, tab="tab", after=0):
    """The next message and its number, asked for until there is one."""
    asked = {"params": {"after": after}, "headers": {"X-Nearkin-Tab": tab}}
    while (reply := client.get("/api/live/next", **asked)).status_code == 204:
        pass
    assert reply.status_code == 200, reply.text
    is_text = reply.headers["Content-Type"] == "application/json"
    told = json.loads(reply.text) if is_text else reply.content
    return int(reply.headers["X-Nearkin-Number"]), told


def until_reported(client, version, after=0):
    """Messages up to the report of a version, which comes last, and its number."""
    told = []
    while not (told and is_told(told[-1], "report") and told[-1]["version"] == version):
        after, message = asking(client, after=after)
        told.append(message)
    return told, after


def is_told(message, kind):
    return isinstance(message, dict) and message["type"] == kind


def test_what_a_tab_has_not_got_is_sent_again_and_nothing_twice(studio):
    with studio.client() as client:
        told, after = until_reported(client, 0)
        assert any(is_told(one, "state") for one in told)
        assert any(isinstance(one, bytes) for one in told)  # where the points are
        client.post("/api/answers", json={"left": 0, "right": 1, "same": True})
        first = asking(client, after=after)
        assert asking(client, after=after) == first  # the answer before was lost on its way
        more, _ = until_reported(client, 1, first[0])
        assert any(is_told(one, "state") and one["n_answers"] == 1 for one in [first[1], *more])


def test_tabs_that_have_gone_are_forgotten_and_only_so_many_are_heard(studio, monkeypatch):
    monkeypatch.setattr(app, "_MOST_TABS", 2)
    with studio.client() as client:
        asking(client, "one")
        asking(client, "two")
        with pytest.raises(AssertionError, match="Too many tabs"):
            asking(client, "three")
        monkeypatch.setattr(app, "_GONE_AFTER", 0.0)
        assert asking(client, "three") is not None


def test_asking_needs_the_token_and_a_tab(studio):
    address = f"{studio.base}/api/live/next"
    assert httpx.get(address, trust_env=False, timeout=PATIENCE).status_code == 403
    with studio.client() as client:
        assert client.get("/api/live/next").status_code == 422
