"""What hostile programs do to a studio: each attack opens connections, and says what it was told.

An attack is a function of a :class:`Target` and of a case, which has its size, a seed, and whether
it knows the token. It leaves connections open, so that the attacks after it come on top.
"""

from __future__ import annotations

import random
import socket
import struct
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

Case = dict[str, Any]

# Connections that stay open when their attack is over.
_MOST_LEFT_OPEN = 400
# Seconds that an attack goes on for, about.
_WHILE = 0.3
# Seconds until half a request must be given up.
_LONGEST_PATIENCE = 20.0
_KEY = "AAAAAAAAAAAAAAAAAAAAAA=="


@dataclass
class Target:
    """Where a studio is, what it must not tell strangers, and the connections to it."""

    port: int
    token: str
    secret: bytes
    n_rows: int
    left_open: deque[socket.socket] = field(default_factory=deque)

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self.port}"

    def connection(self) -> socket.socket:
        """One more connection; the oldest is closed if there are too many."""
        while len(self.left_open) >= _MOST_LEFT_OPEN:
            self.left_open.popleft().close()
        found = socket.create_connection(("127.0.0.1", self.port), timeout=10)
        self.left_open.append(found)
        return found

    def head(self, line: str, *more: str, known: bool = False) -> bytes:
        """The headers of a request, without the empty line at their end."""
        lines = [f"{line} HTTP/1.1", f"Host: {self.host}", *more]
        if known:
            lines.append(f"X-Nearkin-Token: {self.token}")
        return "".join(f"{one}\r\n" for one in lines).encode("latin-1")

    def handshake(self, known: bool) -> bytes:
        """A request for a WebSocket."""
        more = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13"]
        return self.head(
            "GET /api/live", *more, f"Sec-WebSocket-Key: {_KEY}", known=known
        ) + b"\r\n"  # fmt: skip


def told(connection: socket.socket, seconds: float = 2.0) -> bytes:
    """All that comes within some seconds, until the connection is closed or silent."""
    connection.settimeout(seconds)
    found = bytearray()
    with suppress(OSError):
        while len(found) < 2**20 and (part := connection.recv(65536)):
            found += part
            connection.settimeout(0.05)
    return bytes(found)


def said(connection: socket.socket, content: bytes) -> bool:
    """Send something; whether the other side is still there."""
    try:
        connection.sendall(content)
    except OSError:
        return False
    return True


def _each(target: Target, case: Case) -> Iterator[tuple[socket.socket, random.Random]]:
    chance = random.Random(case["seed"])
    for _ in range(case["sockets"]):
        with suppress(OSError):
            yield target.connection(), chance


def half_headers(target: Target, case: Case) -> list[bytes]:
    """Requests that break off anywhere in their headers."""
    whole = target.head("GET /api/lesson", "Accept: */*", known=case["known"])
    for connection, chance in _each(target, case):
        said(connection, whole[: chance.randrange(len(whole))])
    return []


def drips(target: Target, case: Case) -> list[bytes]:
    """Requests that come byte by byte and never end."""
    crowd = [connection for connection, _ in _each(target, case)]
    end = time.monotonic() + _WHILE
    for byte in target.head("GET /api/lesson", *["X-More: 1"] * 50):
        for connection in crowd:
            said(connection, bytes([byte]))
        if time.monotonic() > end:
            break
    return []


def endless_headers(target: Target, case: Case) -> list[bytes]:
    """Headers without end, as lines or as one line."""
    found = []
    for connection, chance in _each(target, {**case, "sockets": min(case["sockets"], 10)}):
        said(connection, target.head("GET /", known=case["known"]))
        part = chance.choice([b"X-Much: more\r\n" * 500, b"x" * 8000, b"\r" * 5000])
        connection.settimeout(1)
        for _ in range(200):
            if not said(connection, part):
                break
        found.append(told(connection))
    return found


def slow_bodies(target: Target, case: Case) -> list[bytes]:
    """Bodies of which only a little ever comes."""
    for connection, chance in _each(target, case):
        size = chance.choice(["Content-Length: 1000", "Transfer-Encoding: chunked"])
        head = target.head("POST /api/answers", size, "Expect: x", known=case["known"])
        said(connection, head + b'\r\n{"left"')
    return []


def wrong_lengths(target: Target, case: Case) -> list[bytes]:
    """Bodies that are not what their headers say."""
    lengths = ["1" + "0" * 15, "-5", "1e3", "0x10", "5, 6", "", "9" * 400]
    headers = [f"Content-Length: {length}" for length in lengths]
    headers += ["Transfer-Encoding: chunked, chunked", "Transfer-Encoding: gzip"]
    found = []
    for connection, chance in _each(target, {**case, "sockets": min(case["sockets"], 20)}):
        some = chance.sample(headers, chance.choice([1, 1, 2]))
        said(connection, target.head("POST /api/answers", *some, known=case["known"]) + b"\r\n")
        said(connection, chance.choice([b"ffffffffff\r\n", b"{" * 5000, chance.randbytes(200)]))
        found.append(told(connection, 0.2))
    return found


def wrong_tokens(target: Target, case: Case) -> list[bytes]:
    """Guesses, in all the places that a token or a code can be in."""
    found = []
    for connection, chance in _each(target, case):
        near = list(target.token)
        near[chance.randrange(len(near))] = chance.choice("~ \u00e9\0")
        long = 9000 if chance.random() < 0.1 else 32
        guess = chance.choice(["".join(near), target.token[:-1], "", "x" * long, target.token * 2])
        line, *more = chance.choice(
            [
                ("GET /api/known", f"X-Nearkin-Token: {guess}"),
                ("GET /api/known", f"X-Nearkin-Token: {target.token}", "X-Nearkin-Token: x"),
                (f"GET /api/known?token={target.token}",),
                ("POST /api/token", f"X-Nearkin-Code: {guess}", "Content-Length: 0"),
                ("POST /api/token", f"X-Nearkin-Code: {target.token}", "Content-Length: 0"),
                ("GET /api/records/0", f"Cookie: token={target.token}"),
                ("GET /api/records/0", f"Authorization: Bearer {target.token}"),
                ("OPTIONS /api/answers", "Origin: http://evil.example"),
            ]
        )
        said(connection, target.head(line, "Connection: close", *more) + b"\r\n")
        found.append(told(connection))
    return found


def foreign_pages(target: Target, case: Case) -> list[bytes]:
    """Requests with the token that a page elsewhere, or a name that points here, has made."""
    found = []
    for connection, chance in _each(target, case):
        evil = chance.choice(["evil.example", f"127.0.0.1.evil.example:{target.port}", "null"])
        more = ["Connection: close", f"Origin: http://{evil}"]
        head = target.head("GET /api/records/0", *more, known=True)
        if chance.random() < 0.5:
            head = head.replace(f"Host: {target.host}".encode(), f"Host: {evil}".encode())
        said(connection, head + b"\r\n")
        found.append(told(connection))
    return found


def garbage(target: Target, case: Case) -> list[bytes]:
    """What is no HTTP, or too much of it at once."""
    found = []
    for connection, chance in _each(target, {**case, "sockets": min(case["sockets"], 20)}):
        ask = target.head("GET /assets/none.js") + b"\r\n"
        content = chance.choice(
            [
                chance.randbytes(chance.choice([1, 100, 20_000])),
                bytes.fromhex("16030100c8010000c40303") + chance.randbytes(200),  # TLS
                b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + bytes(100),
                b"GET / HTTP/0.9\r\n\r\n",
                b"GET " + b"/a" * 40_000 + b" HTTP/1.1\r\n\r\n",
                ask * 200,
                ask + chance.randbytes(300),
                b"\r\n" * 20_000,
                ask.replace(b"GET", b"CONNECT"),
                ask.replace(b"HTTP/1.1", b"HTTP/1.1\0"),
            ]
        )
        said(connection, content)
        found.append(told(connection, 0.2))
    return found


def deaf_readers(target: Target, case: Case) -> list[bytes]:
    """Requests whose answers are never read."""
    paths = ["/", "/assets/none.js", "/api/lesson", "/api/known", "/api/export/embedding"]
    for connection, chance in _each(target, case):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        connection.settimeout(0.2)
        line = f"GET {chance.choice(paths)}"
        said(
            connection, (target.head(line, known=case["known"]) + b"\r\n") * chance.choice([1, 50])
        )
    return []


def churn(target: Target, case: Case) -> list[bytes]:
    """Connections that come and go."""
    ask = target.head("GET /", known=case["known"]) + b"\r\n"
    for connection, chance in _each(target, {**case, "sockets": 3 * case["sockets"]}):
        said(connection, chance.choice([b"", b"GET", ask]))
        if chance.random() < 0.5:  # without a word of goodbye
            linger = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        connection.close()
    return []


def ranges(target: Target, case: Case) -> list[bytes]:
    """Thousands of parts of a file at once."""
    found = []
    for connection, chance in _each(target, {**case, "sockets": min(case["sockets"], 60)}):
        parts = chance.choice(["0-", "-1", "0-0,-1", "1-0", "0-9" + "9" * 50, "x", ","])
        asked = f"Range: bytes={','.join([parts] * chance.choice([1, 100, 1000]))}"
        said(connection, target.head("GET /", "Connection: close", asked, "If-Range: x") + b"\r\n")
        found.append(told(connection))
    return found


def pictures(target: Target, case: Case) -> list[bytes]:
    """Thumbnails, all at once, of files that would take gigabytes."""
    for connection, chance in _each(target, {**case, "sockets": min(case["sockets"], 40)}):
        row = chance.randrange(target.n_rows)
        said(connection, target.head(f"GET /api/records/{row}/image", known=True) + b"\r\n")
    return []


def patience(target: Target, case: Case) -> list[bytes]:
    """Half a request of each kind, until the server has had enough."""
    ask = target.head("GET /api/lesson", known=case["known"])
    post = target.head("POST /api/answers", "Content-Length: 9") + b"\r\n{"
    crowd = [target.connection() for _ in range(4)]
    for connection, content in zip(crowd, [b"", ask, ask + b"\r\nGET", post], strict=True):
        said(connection, content)
    for connection in crowd:
        connection.settimeout(_LONGEST_PATIENCE)
        try:
            while connection.recv(65536):
                pass
        except TimeoutError:
            raise AssertionError("half a request is waited for") from None
        except OSError:
            continue
    return []


def deaf_tabs(target: Target, case: Case) -> list[bytes]:
    """WebSockets that never read, and those of strangers."""
    found = []
    for connection, _ in _each(target, {**case, "sockets": min(case["sockets"], 60)}):
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        said(connection, target.handshake(case["known"]))
        if not case["known"]:
            found.append(told(connection))
    return found


def wrong_frames(target: Target, case: Case) -> list[bytes]:
    """Frames that are too large, of no kind, in pieces without end, or many."""
    mask = bytes(4)
    frames = [
        b"\x81\xff" + struct.pack(">Q", 2**62) + mask,
        b"\x81\xfe" + struct.pack(">H", 60_000) + mask + b"x" * 60_000,
        b"\x82\x05hello",  # without a mask
        b"\xf1\x85" + mask + b"hello",
        b"\x83\x85" + mask + b"hello",
        b"\x89\xfe" + struct.pack(">H", 1000) + mask + bytes(1000),
        b"\x01\x81" + mask + b"x" + (b"\x00\x81" + mask + b"x") * 3000,
        (b"\x89\x80" + mask) * 3000,
        b"\x88\x81" + mask + b"x",
        b"\x81\x82" + mask + b"\xff\xfe",
    ]
    for connection, chance in _each(target, {**case, "sockets": min(case["sockets"], 40)}):
        said(connection, target.handshake(case["known"]))
        connection.settimeout(0.5)
        said(connection, b"".join(chance.sample(frames, chance.randint(1, 3))))
    return []


ATTACKS: dict[str, Callable[[Target, Case], list[bytes]]] = {
    attack.__name__: attack
    for attack in (
        half_headers, drips, endless_headers, slow_bodies, wrong_lengths, wrong_tokens,
        foreign_pages, garbage, deaf_readers, churn, ranges, pictures, deaf_tabs, wrong_frames,
        patience,
    )
}  # fmt: skip
