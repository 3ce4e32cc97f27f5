"""Tabs that stay in step, and refits behind them."""

import asyncio
import json
import socket
import threading
from contextlib import ExitStack

import httpx
import pytest
from websockets.exceptions import ConnectionClosed

from nearkin.datasets import make_xor
from nearkin.studio.lesson import Lesson
from nearkin.studio.records import records_of
from nearkin.studio.server import app
from nearkin.studio.server.session import Live, Mailbox, read_person
from tests import waiting
from tests.cases import each
from tests.studio.server.conftest import StubLesson, all_told, refits, running, small_records, told
from tests.waiting import PATIENCE

GOOD = {"left": 0, "right": 1, "same": True}


def until(tab, kind, version):
    """All that a tab is told up to this."""
    found = []
    while not (found and found[-1][0] == kind and found[-1][1] >= version):
        found.append(told(tab.recv(timeout=PATIENCE)))
    return found


def problem(tab):
    """The sentence of the next problem that a tab is told of."""
    while True:
        message = tab.recv(timeout=PATIENCE)
        if isinstance(message, str) and json.loads(message)["type"] == "problem":
            return json.loads(message)["message"]


def test_a_new_tab_hears_how_things_stand():
    with running(Lesson(small_records(), seed=0)) as studio:
        with studio.live() as tab:
            until(tab, "report", 0)
        with studio.live() as tab:
            kinds = [told(tab.recv(timeout=PATIENCE))[0] for _ in range(3)]
            assert kinds == ["state", "layout", "report"]


def test_all_tabs_are_told_of_every_change():
    with (
        running(Lesson(small_records(), seed=0)) as studio,
        studio.client() as client,
        ExitStack() as stack,
    ):
        tabs = [stack.enter_context(studio.live()) for _ in range(3)]
        for tab in tabs:
            until(tab, "report", 0)
        assert client.post("/api/answers", json=GOOD).json()["version"] == 1
        for tab in tabs:
            kinds = [kind for kind, version in until(tab, "report", 1) if version == 1]
            assert kinds[:3] == ["state", "layout", "report"]
        assert client.post("/api/undo").json()["version"] == 2
        for tab in tabs:
            until(tab, "state", 2)


def test_a_tab_that_has_left_is_forgotten():
    with running(StubLesson()) as studio, studio.client() as client:
        with studio.live() as tab:
            until(tab, "report", 0)
        for _ in range(5):
            client.post("/api/answers", json=GOOD)
        with studio.live() as tab:
            until(tab, "layout", 5)


def test_maps_of_neighbors_are_made_for_those_who_show_them():
    lesson = StubLesson()
    with running(lesson) as studio, studio.client() as client, studio.live() as plain:
        until(plain, "report", 0)
        assert lesson.n_arranged == 0
        with studio.live() as tab:
            for word in ("what?", "neighbors", "neighbors"):
                tab.send(word)
            until(tab, "map", 0)
            client.post("/api/answers", json=GOOD)
            until(tab, "map", 1)
            tab.send("axes")  # which it is told at once
            until(tab, "layout", 1)
        client.post("/api/answers", json=GOOD)
        until(plain, "report", 2)
        assert lesson.n_arranged == 2
        with studio.live() as tab:
            tab.send("neighbors")
            until(tab, "map", 2)
        client.post("/api/answers", json=GOOD)
        assert "map" not in [kind for kind, _ in until(plain, "layout", 3)]


def test_too_many_tabs():
    with running(StubLesson()) as studio, ExitStack() as stack:
        for _ in range(32):
            until(stack.enter_context(studio.live()), "state", 0)
        with studio.live() as tab, pytest.raises(ConnectionClosed, match="1013"):
            tab.recv(timeout=PATIENCE)


def test_a_tab_that_does_not_listen_holds_up_nobody():
    with running(StubLesson(n_rows=200_000)) as studio, studio.client() as client:
        deaf = socket.create_connection(("127.0.0.1", studio.port))
        deaf.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        lines = [
            *("GET /api/live HTTP/1.1", f"Host: {studio.host}"),
            *(f"X-Nearkin-Token: {studio.token}", "Connection: Upgrade", "Upgrade: websocket"),
            *("Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA=="),
        ]
        deaf.sendall("\r\n".join([*lines, "", ""]).encode())
        with deaf, studio.live() as tab:
            for version in range(1, 31):
                assert client.post("/api/answers", json=GOOD).json()["version"] == version
                until(tab, "layout", version)  # 1.6 MB each


def test_the_end_is_told():
    with running(StubLesson()) as studio, studio.live() as tab:
        until(tab, "report", 0)
        studio.serving.close()  # which waits for no tab
        assert studio.lesson.closed
        with pytest.raises(ConnectionClosed, match="1012"):
            all_told(tab)


def test_a_refit_that_fails_is_told_and_the_next_one_works():
    lesson = StubLesson()
    with running(lesson) as studio, studio.client() as client, studio.live() as tab:
        until(tab, "report", 0)
        lesson.failing = ValueError("singular")
        client.post("/api/answers", json=GOOD)
        assert "singular" in problem(tab)
        lesson.failing = None
        client.post("/api/answers", json=GOOD)
        until(tab, "layout", 2)


def test_the_newest_knowledge_wins():
    lesson = StubLesson()
    with running(lesson) as studio, studio.client() as client, studio.live() as tab:
        until(tab, "report", 0)
        lesson.pause.clear()
        for _ in range(20):
            client.post("/api/answers", json=GOOD)
        begun = len(lesson.placed)
        lesson.pause.set()
        until(tab, "layout", 20)
        assert lesson.placed[-1] == 20
        assert begun <= 3  # the first layout, and one that had begun


def test_answers_are_acknowledged_while_a_refit_runs():
    lesson = StubLesson()
    lesson.pause.clear()
    with running(lesson) as studio, studio.client() as client:
        for version in range(1, 6):
            assert client.post("/api/answers", json=GOOD).json()["version"] == version
        assert client.get("/api/report").status_code == 204
        lesson.pause.set()


def test_a_layout_does_not_wait_for_the_report_before_it():
    class SlowReport(StubLesson):
        def __init__(self):
            super().__init__()
            self.reporting = threading.Event()
            self.end_report = threading.Event()

        def report(self, before_each_fit):
            self.reporting.set()
            assert self.end_report.wait(PATIENCE)
            return super().report(before_each_fit)

    lesson = SlowReport()
    worker, given, done = refits(lesson)
    worker.start()
    assert lesson.reporting.wait(PATIENCE)
    lesson.version = 1
    worker.want()
    waiting.until(lambda: given[-1] == ("layout", 1))
    assert given == [("layout", 0), ("layout", 1)]
    lesson.end_report.set()
    assert done.wait(PATIENCE)
    assert worker.stop()


def test_a_report_waits_for_the_first_picture_of_a_map():
    worker, given, done = refits(StubLesson())
    worker.want_maps(True)
    worker.start()
    assert done.wait(PATIENCE)
    assert worker.stop()
    first = ("map", 0)
    assert given.index(("layout", 0)) < given.index(first) < given.index(("report", 0))


def test_a_report_pauses_from_a_change_until_its_layout_is_out():
    class LongReport(StubLesson):
        begun, may_end = threading.Event(), threading.Event()

        def report(self, before_each_fit):
            found = super().report(before_each_fit)
            self.begun.set()
            assert self.may_end.wait(PATIENCE)
            before_each_fit()
            return found

    lesson = LongReport()
    worker, given, done = refits(lesson)
    worker.start()
    assert lesson.begun.wait(PATIENCE)
    worker.make_way()
    lesson.may_end.set()
    assert not done.wait(0.1)
    lesson.version = 1
    worker.want()
    assert done.wait(PATIENCE)
    assert given[:3] == [("layout", 0), ("layout", 1), ("report", 0)]
    assert worker.stop()


def test_refits_end_even_if_nothing_was_started():
    worker, given, _ = refits(StubLesson())
    assert worker.stop()
    assert given == []


def test_a_refit_that_does_not_end_is_not_waited_for():
    lesson = StubLesson()
    lesson.pause.clear()
    worker, _, _ = refits(lesson)
    worker.start()
    assert not worker.stop(patience=0.1)
    lesson.pause.set()


def test_of_each_kind_the_newest_waits():
    async def told_to_a_slow_tab():
        mailbox = Mailbox()
        for number in range(5):
            mailbox.put("state", f"state {number}")
            mailbox.put("layout", b"%d" % number)
        mailbox.greet("state", "old")
        mailbox.greet("report", "greeting")
        return [await mailbox.next() for _ in range(3)]

    assert asyncio.run(told_to_a_slow_tab()) == ["state 4", b"4", "greeting"]


def test_nobody_is_told_after_the_end():
    async def session():
        live = Live()
        live.tell("state", "too early")
        live.open()
        mailbox = live.join()
        thread = threading.Thread(target=live.tell, args=["state", "in time"])
        thread.start()
        found = await asyncio.wait_for(mailbox.next(), PATIENCE)
        live.close()
        live.tell("state", "too late")
        live.leave(mailbox)
        thread.join()
        return found, len(live)

    assert asyncio.run(session()) == ("in time", 0)


# Tabs that no WebSocket reaches: they ask again and again, and miss nothing


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


# Several people at once: who is here


def hello(tab, name, browser):
    tab.send(json.dumps({"browser": browser, "name": name}))


def waits_for_names(tab, names):
    """Wait until a tab is told that these people are here, each once."""
    found = None
    while found != names:
        text = tab.recv(timeout=PATIENCE)
        if isinstance(text, str) and (said := json.loads(text))["type"] == "people":
            found = sorted(one["name"] or one["browser"] for one in said["people"])


def test_everybody_who_is_here_is_listed_once():
    with running(Lesson(small_records(), seed=0)) as studio, studio.live() as one:
        hello(one, "Ann", "first")
        waits_for_names(one, ["Ann"])
        with studio.live() as two, studio.live() as three:
            hello(two, "Bob", "second")
            waits_for_names(one, ["Ann", "Bob"])
            hello(two, "Ann", "second")  # one name is one person, whatever the browser
            waits_for_names(one, ["Ann"])
            hello(three, None, "third")
            waits_for_names(one, ["Ann", "third"])
        waits_for_names(one, ["Ann"])


@each(
    "text",
    [
        "", "ping", "[1]", "null", "{", '{"name": "a"}', '{"browser": 1}', '{"browser": ""}',
        '{"browser": "b", "name": 3}', json.dumps({"browser": "b" * 41}),
        json.dumps({"browser": "b", "name": "n" * 2000}),
    ],
)  # fmt: skip
def test_what_is_no_person_is_passed_over(text):
    assert read_person(text) is None
