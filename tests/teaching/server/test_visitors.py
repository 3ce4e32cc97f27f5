"""Connections that ask for nothing, or slowly: closed, and others are served meanwhile."""

import asyncio
import logging
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from nearkin.teaching import thumbnails as pictures
from nearkin.teaching.server import few_words, guard, visitors
from nearkin.teaching.server.access import Access
from nearkin.teaching.server.few_words import LOG, FewWords, log_few_errors
from nearkin.teaching.server.guard import Guard
from nearkin.teaching.server.hosts import Hosts
from nearkin.teaching.server.visitors import Visitors
from tests.teaching.server.conftest import StubLesson, running

PATIENCE = 0.2


@contextmanager
def hurried(lesson=None, **limits):
    """A studio that waits for nobody for long."""
    counted = Visitors(**{"patience": PATIENCE, "patience_with_strangers": PATIENCE, **limits})
    with running(lesson or StubLesson(), visitors=counted) as studio:
        studio.visitors = counted
        yield studio


def is_closed(connection, within=5):
    """Whether the server hangs up before long, whatever it says first."""
    connection.settimeout(within)
    try:
        while connection.recv(65536):
            pass
    except ConnectionError:
        pass
    except TimeoutError:
        return False
    return True


ASKED = "GET /api/report HTTP/1.1\r\nHost: {host}\r\nX-Nearkin-Token: {token}\r\n"


HALF = [
    "",
    "GET / HTTP/1.1\r\nHost:",
    ASKED,  # all but the last line
    ASKED + "\r\nGET /",  # an answer, and half of another request
    "POST /api/answers HTTP/1.1\r\nHost: {host}\r\nContent-Length: 100\r\n\r\n{{",
    "POST /api/answers HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n",
]


def test_who_does_not_ask_to_the_end_is_sent_away():
    with hurried() as studio, ExitStack() as stack:
        connections = [stack.enter_context(studio.connected()) for _ in HALF]
        for connection, said in zip(connections, HALF, strict=True):
            connection.sendall(said.format(host=studio.host, token=studio.token).encode())
        assert [is_closed(connection) for connection in connections] == [True] * len(HALF)


def test_a_byte_now_and_then_is_no_request():
    with hurried() as studio, studio.connected() as connection:

        def drip():
            for _ in range(500):
                connection.sendall(b"G")
                time.sleep(PATIENCE / 5)

        with pytest.raises(ConnectionError):
            drip()


def test_however_many_say_nothing_a_request_is_answered():
    with hurried(patience=60, most_strangers=20) as studio, ExitStack() as stack:
        crowd = []
        for _ in range(100):
            crowd.append(stack.enter_context(studio.connected()))
            crowd[-1].sendall(b"GET / HTTP/1.1\r\n")
        assert studio.raw("POST", "/api/undo").status in (200, 500)
        assert len(studio.visitors) <= 21
        assert all(is_closed(one) for one in crowd[:75])
        assert not is_closed(crowd[-1], within=0.05)


def test_who_has_the_token_stays_among_strangers():
    with hurried(patience=60, most_strangers=5) as studio, ExitStack() as stack:
        client = stack.enter_context(studio.client())
        client.get("/api/report")
        for _ in range(30):
            stack.enter_context(studio.connected()).sendall(b"GET")
        assert client.get("/api/report").status_code in (200, 204)


def test_more_connections_than_all_there_may_be():
    with hurried(patience=60, most_strangers=3, most=4) as studio, ExitStack() as stack:
        for _ in range(8):
            client = stack.enter_context(studio.client())
            assert client.get("/api/report").status_code in (200, 204)
        assert len(studio.visitors) <= 4


def test_an_answer_may_take_its_time():
    class Slow(StubLesson):
        def known(self):
            time.sleep(3 * PATIENCE)
            return {}

    with hurried(Slow()) as studio:
        assert studio.raw("GET", "/api/known").status == 200


def test_a_large_answer_is_read_slowly():
    with hurried(StubLesson(n_rows=1_000_000)) as studio, studio.connected() as connection:
        line = f"GET /api/layouts/learned HTTP/1.1\r\nHost: {studio.host}\r\n"
        connection.sendall(f"{line}X-Nearkin-Token: {studio.token}\r\n\r\n".encode())
        time.sleep(3 * PATIENCE)
        found = bytearray()
        while len(found) < 8_000_000:
            part = connection.recv(65536)
            assert part
            found += part


def test_who_knows_the_token_and_never_reads_takes_no_more_than_its_place():
    limits = {"patience": 60, "most_strangers": 3, "most": 4}
    with hurried(StubLesson(n_rows=1_000_000), **limits) as studio, ExitStack() as stack:
        line = f"GET /api/layouts/learned HTTP/1.1\r\nHost: {studio.host}\r\n"
        for _ in range(8):
            connection = stack.enter_context(studio.connected())
            connection.sendall(f"{line}X-Nearkin-Token: {studio.token}\r\n\r\n".encode())
            assert connection.recv(9) == b"HTTP/1.1 "
        assert len(studio.visitors) <= 4
        assert studio.raw("GET", "/api/report").status in (200, 204)


def test_a_websocket_is_not_in_a_hurry():
    with hurried() as studio, studio.live() as tab:
        time.sleep(2 * PATIENCE)
        tab.send("ping")
        assert tab.recv(timeout=10)


def test_a_body_that_does_not_arrive():
    said = []

    async def nothing():
        await asyncio.sleep(60)

    async def say(message):
        said.append(message)

    headers = [(b"host", b"localhost:1"), (b"x-nearkin-token", b"t"), (b"content-length", b"9")]
    scope = {"type": "http", "path": "/api/answers", "method": "POST", "headers": headers}
    asyncio.run(Guard(None, Access("t"), Hosts(1), patience=0.01)(scope, nothing, say))
    assert said[0]["status"] == 408
    assert (b"connection", b"close") in said[0]["headers"]
    assert b"within 0.01 seconds" in said[1]["body"]


def test_the_log_is_bounded_whatever_goes_wrong(caplog):
    words = FewWords(3)
    records = [logging.makeLogRecord({"msg": "no %s", "args": ("room",)}) for _ in range(100)]
    seen = [record.getMessage() for record in records if words.filter(record)]
    assert seen == ["no room", "no room", "no room (what follows within a minute is not logged)"]

    async def fail():
        loop = asyncio.get_running_loop()
        log_few_errors(loop)
        for _ in range(100):
            loop.call_exception_handler({"message": "socket.accept() out of system resource"})

    asyncio.run(fail())
    assert 0 < len(caplog.records) <= 20
    assert {record.name for record in caplog.records} == {LOG.name}


def test_what_is_promised_is_what_is_done():
    promised = " ".join(
        (Path(__file__).parents[3] / "docs/project/promises.md").read_text("utf-8").split()
    )
    assert (visitors.PATIENCE, guard.PATIENCE_WITH_BODIES) == (10, 30)
    for words in (
        f"ten seconds to ask and no more than {visitors.MOST_STRANGERS} connections",
        f"no more than {few_words._MOST} records a minute",
        f"a limit of {guard.MOST_BYTES // 2**20} MB and half a minute",
        f"more than {pictures._MOST_BYTES // 10**6} MB are refused",
        f"{8 * 24} random bits",
    ):
        assert words in promised


def test_what_is_sent_to_a_connection_that_breaks_is_not_logged(caplog):
    with hurried() as studio:
        for said in (b"\0" * 100, b"GET / HTTP/9.9\r\n\r\n", b"GET /\r\n" * 50, b"\r\n" * 5000):
            with studio.connected() as connection:
                connection.sendall(said)
                is_closed(connection)
        with studio.connected() as connection, pytest.raises(ConnectionError):
            connection.sendall(b"GET / HTTP/1.1\r\n" + b"X-Much: 1\r\n" * 1_000_000)
        assert studio.raw("GET", "/api/report").status in (200, 204)
    assert caplog.text == ""
