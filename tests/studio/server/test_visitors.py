"""Connections that ask for nothing, or slowly: closed, and others are served meanwhile."""

import asyncio
import socket
import time
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import pytest

from nearkin.studio import pictures
from nearkin.studio.server import security
from nearkin.studio.server.security import Visitors
from tests.studio.server.conftest import StubLesson, running
from tests.waiting import PATIENCE, until

# Of the server, by a clock that goes on only when a test says so, or nearly: nobody waits for it.
HOURS = 3600.0


class Visited(Visitors):
    """Visitors of a server whose clock a test puts forward."""

    ahead = 0.0

    def protocol(self, **settings):
        self.loop = asyncio.get_running_loop()
        self.loop.time = lambda: time.monotonic() + self.ahead
        return super().protocol(**settings)

    def pass_time(self, seconds):
        """Have it later by so much; what is due then is done when this returns."""
        self.ahead += seconds
        for _ in range(3):  # what is due, what that leads to, and what that leads to
            asyncio.run_coroutine_threadsafe(asyncio.sleep(0), self.loop).result(PATIENCE)


@contextmanager
def watched(lesson=None, **limits):
    """A studio, and who is connected to it."""
    counted = Visited(**{"patience": HOURS, "patience_with_strangers": HOURS, **limits})
    with running(lesson or StubLesson(), visitors=counted) as studio:
        studio.visitors = counted
        yield studio


def until_closed(connection):
    """Wait until the server hangs up, whatever it says first."""
    connection.settimeout(PATIENCE)
    with suppress(ConnectionError):
        while connection.recv(65536):
            pass


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
    with watched() as studio, ExitStack() as stack:
        connections = [stack.enter_context(studio.connected()) for _ in HALF]
        for connection, said in zip(connections, HALF, strict=True):
            connection.sendall(said.format(host=studio.host, token=studio.token).encode())
        until(lambda: len(studio.visitors) == len(HALF))
        assert connections[3].recv(9) == b"HTTP/1.1 "
        studio.visitors.pass_time(0.9 * HOURS)
        assert len(studio.visitors) >= 3  # who has asked for something is another matter
        until(lambda: studio.visitors.pass_time(HOURS) or len(studio.visitors) == 0)
        for connection in connections:
            until_closed(connection)


def test_a_byte_now_and_then_is_no_request():
    with watched() as studio, studio.connected() as connection:
        until(lambda: len(studio.visitors) == 1)
        for _ in range(5):
            connection.sendall(b"G")
            studio.visitors.pass_time(0.19 * HOURS)
        assert len(studio.visitors) == 1
        studio.visitors.pass_time(0.19 * HOURS)
        assert len(studio.visitors) == 0
        until_closed(connection)


def test_however_many_say_nothing_a_request_is_answered():
    with watched(most_strangers=20) as studio, ExitStack() as stack:
        crowd = []
        for _ in range(100):
            crowd.append(stack.enter_context(studio.connected()))
            crowd[-1].sendall(b"GET / HTTP/1.1\r\n")
        assert studio.raw("POST", "/api/undo").status in (200, 500)
        assert len(studio.visitors) <= 21
        for one in crowd[:75]:
            until_closed(one)
        crowd[-1].sendall(f"Host: {studio.host}\r\n\r\n".encode())
        assert crowd[-1].recv(9) == b"HTTP/1.1 "  # it is heard still


def test_who_has_the_token_stays_among_strangers():
    with watched(most_strangers=5) as studio, ExitStack() as stack:
        client = stack.enter_context(studio.client())
        client.get("/api/report")
        for _ in range(30):
            stack.enter_context(studio.connected()).sendall(b"GET")
        assert client.get("/api/report").status_code in (200, 204)


def test_more_connections_than_all_there_may_be():
    with watched(most_strangers=3, most=4) as studio, ExitStack() as stack:
        for _ in range(8):
            client = stack.enter_context(studio.client())
            assert client.get("/api/report").status_code in (200, 204)
        assert len(studio.visitors) <= 4


def test_an_answer_may_take_its_time():
    class Slow(StubLesson):
        def known(self):
            studio.visitors.pass_time(9 * HOURS)
            return {}

    with watched(Slow()) as studio:
        assert studio.raw("GET", "/api/known").status == 200


def asking_for_much(studio):
    """A connection to a studio of many rows that has asked where these are."""
    connection = studio.connected()
    line = f"GET /api/layout HTTP/1.1\r\nHost: {studio.host}\r\n"
    connection.sendall(f"{line}X-Nearkin-Token: {studio.token}\r\n\r\n".encode())
    return connection


def test_a_large_answer_is_read_slowly():
    with watched(StubLesson(n_rows=1_000_000)) as studio, asking_for_much(studio) as connection:
        found = bytearray(connection.recv(9))
        studio.visitors.pass_time(9 * HOURS)
        while len(found) < 8_000_000:
            part = connection.recv(65536)
            assert part
            found += part


def test_who_knows_the_token_and_never_reads_takes_no_more_than_its_place():
    limits = {"most_strangers": 3, "most": 4}
    with watched(StubLesson(n_rows=1_000_000), **limits) as studio, ExitStack() as stack:
        for _ in range(8):
            assert stack.enter_context(asking_for_much(studio)).recv(9) == b"HTTP/1.1 "
        assert len(studio.visitors) <= 4
        assert studio.raw("GET", "/api/report").status in (200, 204)


def test_a_websocket_is_not_in_a_hurry():
    with watched() as studio, studio.live() as tab:
        studio.visitors.pass_time(9 * HOURS)
        tab.send("ping")
        assert tab.recv(timeout=PATIENCE)


def test_what_is_promised_is_what_is_done():
    page = Path(__file__).parents[3] / "docs/project/promises.md"
    promised = " ".join(page.read_text("utf-8").split())
    assert (security.PATIENCE, security.PATIENCE_WITH_BODIES) == (10, 30)
    for words in (
        f"within ten seconds, there are at most {security.MOST_STRANGERS} such connections",
        f"at most {security._MOST} log entries a minute",
        f"limited to {security.MOST_BYTES // 2**20} MB and half a minute",
        f"more than {pictures._MOST_BYTES // 10**6} MB are rejected",
        f"{8 * 24} random bits",
    ):
        assert words in promised


def test_what_is_sent_to_a_connection_that_breaks_is_not_logged(caplog):
    with watched() as studio:
        for said in (b"\0" * 100, b"GET / HTTP/9.9\r\n\r\n", b"GET /\r\n" * 50, b"\r\n" * 5000):
            with studio.connected() as connection:
                connection.sendall(said)
                connection.shutdown(socket.SHUT_WR)
                until_closed(connection)
        with studio.connected() as connection, pytest.raises(ConnectionError):
            connection.sendall(b"GET / HTTP/1.1\r\n" + b"X-Much: 1\r\n" * 1_000_000)
        assert studio.raw("GET", "/api/report").status in (200, 204)
    assert caplog.text == ""
