"""The guard without a server: what it sends for what it is asked, to the byte."""

import asyncio
import json
import logging

import pytest

from nearkin.studio.server import security as guard_module
from nearkin.studio.server.encoding import plain_page
from nearkin.studio.server.security import (
    ANY_NAME,
    LOG,
    MOST_BYTES,
    Access,
    FewWords,
    Guard,
    Hosts,
    check_names,
    hosts_of,
    in_url,
    is_this_machine,
    log_few_errors,
)
from tests.cases import each

HOST, TOKEN = (b"host", b"localhost:8765"), (b"x-nearkin-token", b"the token")
POLICY = (
    b"default-src 'self'; script-src 'self' 'unsafe-eval'; style-src 'self'; "
    b"img-src 'self' blob: data:; connect-src 'self'; worker-src 'self' blob:; object-src 'none'; "
    b"base-uri 'none'; form-action 'none'; frame-ancestors 'self' http://localhost:* "
    b"http://127.0.0.1:* https://localhost:* https://127.0.0.1:* vscode-webview:"
)
PROTECTING = [
    (b"content-security-policy", POLICY),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"accept-ranges", b"none"),
]
FRESH = (b"cache-control", b"no-store")


class App:
    """An application that notes what it is asked."""

    def __init__(self, answer=(200, [(b"X-Content-Type-Options", b"sniff"), (b"x", b"y")])):
        self.answer = answer
        self.scopes, self.heard = [], []

    async def __call__(self, scope, receive, send):
        self.scopes.append(scope)
        if scope["type"] == "http":
            for _ in range(2):
                self.heard.append(await receive())
            status, headers = self.answer
            start = {"type": "http.response.start", "status": status, "headers": headers}
            await send(start)
            await send({"type": "http.response.body", "body": b"well"})


def asked(
    app, *parts, headers=(HOST, TOKEN), path="/api/lesson", method="GET", kind="http", **options
):
    """What the guard sends; the request's body comes in parts, the last with an end."""
    more = {name: options.pop(name) for name in ("state", "subprotocols") if name in options}
    scope = {"type": kind, "path": path, "method": method, "headers": list(headers), **more}
    access = Access("the token")
    guard = Guard(app, options.pop("access", access), Hosts(8765), **options)
    last = len(parts) - 1
    messages = [
        part
        if isinstance(part, dict)
        else {"type": "http.request", "body": part, "more_body": place < last}
        for place, part in enumerate(parts)
    ]
    sent = []

    async def receive():
        if not messages:
            return {"type": "http.disconnect"}
        message = messages.pop(0)
        if message.get("type") == "wait":
            await asyncio.sleep(60)
        return message

    async def send(message):
        sent.append(message)

    asyncio.run(guard(scope, receive, send))
    return sent


def refused(sent, status, sentence):
    """Whether this is a refusal in JSON, with all that protects it, and nothing else."""
    start, end = sent
    body = json.dumps({"message": sentence}).encode()
    assert start["status"] == status
    assert start["headers"] == [
        (b"content-type", b"application/json"),
        (b"content-length", str(len(body)).encode()),
        *PROTECTING,
        FRESH,
    ]
    assert end == {"type": "http.response.body", "body": body}
    return True


LACKS = (
    "The address lacks the token of this run, or has that of an earlier one: open the address that "
    "the studio has printed."
)


def test_an_answer_is_passed_on_with_our_headers():
    app = App()
    start, end = asked(app)
    assert start["status"] == 200
    assert start["headers"] == [(b"x", b"y"), *PROTECTING, FRESH]  # ours in the place of theirs
    assert end == {"type": "http.response.body", "body": b"well"}
    assert app.heard[0] == {"type": "http.disconnect"}  # there was no body to read before


def test_scripts_may_be_kept_and_need_no_token():
    app = App()
    start, _ = asked(app, headers=[HOST], path="/assets/index.js")
    assert start["headers"] == [(b"x", b"y"), *PROTECTING]
    assert refused(asked(app, headers=[HOST], path="/assets"), 403, LACKS)


def test_lifespans_are_not_looked_at():
    async def echo(scope, receive, send):
        await send({**(await receive()), "in": scope["type"]})

    (told,) = asked(echo, {"type": "lifespan.startup"}, kind="lifespan", headers=[])
    assert told == {"type": "lifespan.startup", "in": "lifespan"}


EXCHANGE = {"path": "/api/token", "method": "POST"}
USED = "The address has been used before, or is too old: open the one that the studio has printed."
FOREIGN = (
    "This server does not go by that name. If a proxy is to reach it by this name, start the "
    "studio with --allow-host NAME, or with allow_hosts=[NAME] in Python."
)


@each(
    ("asking", "status", "sentence"),
    [
        ({"headers": [TOKEN]}, 400, FOREIGN),
        ({"headers": [HOST, HOST, TOKEN]}, 400, FOREIGN),
        ({"headers": [(b"host", b"evil.example"), TOKEN]}, 400, FOREIGN),
        ({"path": "/api/\0lesson"}, 400, "No path has such signs."),
        (
            {"headers": [HOST, TOKEN, (b"origin", b"http://evil.example")]},
            403,
            "Requests of other pages are not answered.",
        ),
        ({"headers": [HOST]}, 403, LACKS),
        ({"headers": [HOST, (b"x-nearkin-token", b"another")]}, 403, LACKS),
        ({"headers": [HOST, TOKEN, TOKEN]}, 403, LACKS),
        ({"headers": [HOST], "subprotocols": ["nearkin", "the token"]}, 403, LACKS),
        ({"headers": [HOST], "path": "/api/token"}, 403, LACKS),
        *(
            ({"headers": [HOST, (b"x-nearkin-code", code)], **EXCHANGE}, 403, USED)
            for code in (b"", b"wrong", b"\xc3\x84", b"x" * 10_000)
        ),
        ({"headers": [HOST], "path": "/api/tokens", "method": "POST"}, 403, LACKS),
    ],
)
def test_refusals(asking, status, sentence):
    app = App()
    assert refused(asked(app, **asking), status, sentence)
    assert app.scopes == []


@each("method", ["GET", "HEAD"])
def test_the_page_is_for_everyone_and_from_everywhere(method):
    headers = [HOST, (b"origin", b"http://evil.example")]
    start, _ = asked(App(), headers=headers, path="/", method=method)
    assert start["status"] == 200


def test_refusals_of_the_page_are_a_page():
    start, end = asked(App(), headers=[HOST], path="/", method="POST")
    assert start["status"] == 403
    assert start["headers"][0] == (b"content-type", b"text/html; charset=utf-8")
    assert start["headers"][1] == (b"content-length", str(len(end["body"])).encode())
    assert end["body"] == plain_page(LACKS).encode()


def test_our_own_origin():
    headers = [HOST, TOKEN, (b"origin", b"http://localhost:8765")]
    assert asked(App(), headers=headers)[0]["status"] == 200


@each(
    ("headers", "offered", "opens"),
    [
        ([HOST], ["nearkin", "the token"], True),
        ([HOST, TOKEN], [], True),
        ([HOST], None, False),
        ([HOST], ["nearkin"], False),
        ([HOST], ["the token"], False),
        ([HOST], ["another", "the token"], False),
        ([HOST], ["nearkin", "wrong"], False),
        ([HOST], ["nearkin", "the token", "the token"], False),
    ],
)
def test_websockets_show_the_token_as_a_protocol(headers, offered, opens):
    app = App()
    more = {} if offered is None else {"subprotocols": offered}
    sent = asked(app, headers=headers, kind="websocket", **more)
    if opens:
        assert (sent, len(app.scopes)) == ([], 1)
    else:
        assert sent == [{"type": "websocket.close", "code": 1008, "reason": LACKS[:120]}]
        assert app.scopes == []


def test_a_code_is_exchanged():
    access = Access("the token")
    code = (b"x-nearkin-code", access.new_code().encode())
    asking = {**EXCHANGE, "access": access}
    assert refused(asked(App(), headers=[HOST, code, code], **asking), 403, USED)
    assert refused(asked(App(), headers=[HOST], **asking), 403, USED)
    start, end = asked(App(), headers=[HOST, code], **asking)
    assert start["status"] == 200
    assert end["body"] == b'{"token": "the token"}'
    kind, length = (b"content-type", b"application/json"), (b"content-length", b"22")
    assert start["headers"] == [kind, length, *PROTECTING, FRESH]
    assert refused(asked(App(), headers=[HOST, code], **asking), 403, USED)


LENGTH = (b"content-length", b"6")


@each("name", [b"content-length", b"transfer-encoding"])
@each("parts", [(b"abcdef",), (b"abc", b"def"), (b"abc", b"", b"def")])
def test_a_body_is_read_first_and_given_whole(name, parts):
    app = App()
    asked(app, *parts, headers=[HOST, TOKEN, (name, b"6")], most_bytes=6)
    assert app.heard == [
        {"type": "http.request", "body": b"abcdef", "more_body": False},
        {"type": "http.disconnect"},
    ]


def test_messages_without_a_body_and_senders_that_go():
    app = App()
    asked(app, {"type": "http.request"}, b"later", headers=[HOST, TOKEN, LENGTH])
    assert app.heard[0]["body"] == b""
    app = App()
    gone = {"type": "http.disconnect"}
    part = {"type": "http.request", "body": b"abc", "more_body": True}
    asked(app, part, gone, headers=[HOST, TOKEN, LENGTH])
    assert app.heard[0]["body"] == b"abc"


def test_strangers_have_no_body_read():
    app = App()
    asked(app, b"abcdef", headers=[HOST, LENGTH], path="/assets/index.js", most_bytes=1)
    assert app.heard[0] == {"type": "http.request", "body": b"abcdef", "more_body": False}


@each("parts", [(bytes(2**21 + 1),), (bytes(2**21), b"x"), (bytes(2**21),) * 3])
def test_a_body_that_is_too_large(parts):
    app = App()
    sent = asked(app, *parts, headers=[HOST, TOKEN, LENGTH], most_bytes=2**21)
    assert refused(sent, 413, "The request is larger than 2 MB.")
    assert app.scopes == []


def test_a_body_of_just_the_limit():
    app = App()
    asked(app, bytes(MOST_BYTES), headers=[HOST, TOKEN, LENGTH])
    assert len(app.heard[0]["body"]) == MOST_BYTES == 4 * 2**20
    sent = asked(App(), bytes(MOST_BYTES), b"x", headers=[HOST, TOKEN, LENGTH])
    assert refused(sent, 413, "The request is larger than 4 MB.")


@each(("length", "n_read"), [(b"100", 5), (b"101", 0), (b"many", 5), (b"\xb2\xb2\xb2", 5)])
def test_a_body_that_is_much_too_large_is_not_read_to_its_end(monkeypatch, length, n_read):
    monkeypatch.setattr(guard_module, "_MOST_DRAINED", 100)
    read = []

    class Part(dict):
        def get(self, name, default=None):
            if name == "body":
                read.append(1)
            return super().get(name, default)

    parts = [Part(type="http.request", body=b"x" * 25, more_body=True) for _ in range(8)]
    sent = asked(App(), *parts, headers=[HOST, TOKEN, (b"content-length", length)], most_bytes=10)
    assert refused(sent, 413, "The request is larger than 0 MB.")
    assert len(read) == n_read


@each("path", ["/api/answers", "/"])
def test_a_body_that_does_not_arrive(path):
    app = App()
    asking = {"headers": [HOST, TOKEN, LENGTH], "path": path, "method": "POST", "patience": 0.01}
    start, end = asked(app, {"type": "wait"}, **asking)
    assert start["status"] == 408
    assert (b"connection", b"close") in start["headers"]
    assert b"The request has not arrived within 0.01 seconds." in end["body"]
    assert app.scopes == []


def test_parts_of_files_are_not_asked_for():
    app = App()
    parts = [(b"range", b"bytes=0-1"), (b"if-range", b"x"), (b"accept", b"*/*")]
    asked(app, headers=[HOST, TOKEN, *parts])
    assert app.scopes[0]["headers"] == [HOST, TOKEN, (b"accept", b"*/*")]


class Failing(App):
    """One that fails before its first word, or after it."""

    def __init__(self, begun):
        super().__init__()
        self.begun = begun

    async def __call__(self, scope, receive, send):
        if self.begun:
            await send({"type": "http.response.start", "status": 200})
        raise RuntimeError("a secret")


def test_a_defect_is_said_and_logged(caplog, monkeypatch):
    monkeypatch.setattr(LOG, "filters", [])  # others may have said all that is said in a minute
    with caplog.at_level(logging.ERROR):
        sent = asked(Failing(begun=False))
    assert refused(sent, 500, "A defect of nearkin: RuntimeError.")
    assert [one.getMessage() for one in caplog.records] == ["a request could not be answered"]


@each(("begun", "kind"), [(True, "http"), (False, "websocket")])
def test_a_defect_in_the_middle_ends_the_connection(begun, kind):
    with pytest.raises(RuntimeError, match="a secret"):
        asked(Failing(begun), kind=kind)


class Visitor:
    """One that notes what it is told."""

    def __init__(self):
        self.told = []

    def ask(self, known, *, websocket):
        self.told.append((known, websocket))

    def note_answered(self):
        self.told.append("answered")


class InPieces(App):
    """One that answers in two pieces."""

    async def __call__(self, scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        await send({"type": "http.response.body", "body": b"a", "more_body": True})
        scope["state"]["visitor"].told.append("between")
        await send({"type": "http.response.body", "body": b"b"})


def test_visitors_hear_when_they_ask_and_have_their_answer():
    visitor = Visitor()
    asked(InPieces(), state={"visitor": visitor})
    assert visitor.told == [(True, False), "between", "answered"]
    visitor = Visitor()
    asked(App(), headers=[HOST], state={"visitor": visitor})
    assert visitor.told == [(False, False), "answered"]
    visitor = Visitor()
    asked(App(), kind="websocket", state={"visitor": visitor})
    assert visitor.told == [(True, True)]


def test_codes_hold_for_a_while_and_not_many_of_them():
    now = [0.0]
    access = Access(clock=lambda: now[0])
    old = access.new_code()
    now[0] += 121
    assert not access.redeem(old)
    codes = [access.new_code() for _ in range(20)]
    assert [access.redeem(code) for code in codes] == [False] * 4 + [True] * 16


PROXIES = ["hub.example", "*.ports.example"]


@each(
    ("host", "origin", "is_heard"),
    [
        ("hub.example", None, True),
        ("hub.example", "https://hub.example", True),
        ("hub.example:8000", "http://hub.example:8000", True),
        ("Hub.Example", "https://hub.example", True),
        ("p-8765.ports.example", "https://p-8765.ports.example", True),
        # A proxy that says our own name, and leaves the page's in place.
        ("127.0.0.1:8765", "https://hub.example", True),
        ("127.0.0.1:8765", "http://127.0.0.1:8765", True),
        ("127.0.0.1:8765", "https://127.0.0.1:8765", False),
        ("127.0.0.1:8766", None, False),
        ("hub.example", "https://evil.example", False),
        ("hub.example", "ftp://hub.example", False),
        ("hub.example", "null", False),
        ("ports.example", None, False),
        ("evilports.example", None, False),
        ("hub.example.evil.example", None, False),
        ("evil.example", "https://hub.example", False),
        ("hub.example:80x", None, False),
        ("user@hub.example", None, False),
        ("hub.example, evil.example", None, False),
    ],
)
def test_proxies_that_are_named_are_heard(host, origin, is_heard):
    hosts = hosts_of("127.0.0.1", 8765, check_names(PROXIES))
    heard = hosts.accept(host) and (origin is None or hosts.accept_origin(origin, host))
    assert heard is is_heard


def test_where_nobody_knows_the_name_of_the_proxy_the_page_must_be_its_own():
    hosts = hosts_of("127.0.0.1", 8765, [ANY_NAME, "hub.example"])
    assert hosts.accept("any.example:1")
    assert hosts.accept_origin("https://any.example:1", "any.example:1")
    assert hosts.accept_origin("https://hub.example", "any.example:1")
    assert not hosts.accept_origin("https://evil.example", "any.example:1")
    assert not hosts.accept("any.example:1, evil.example")


@each(
    "name",
    ["", "*", "https://hub.example", "hub.example:80", "hub.example/x", "a b", "*.", "-", "a..b"],
)
def test_names_that_no_host_has(name):
    with pytest.raises(ValueError, match="is not the name of a host"):
        check_names(["hub.example", name])


def test_our_own_names_and_pages_and_no_others():
    ours, address = hosts_of("127.0.0.1", 8765), "127.0.0.1:8765"
    for name in (address, "localhost:8765", "LocalHost:8765", "[::1]:8765"):
        assert ours.accept(name), name
    for name in (
        *("evil.example", "evil.example:8765", "127.0.0.1.evil.example:8765", "[::2]:8765", " "),
        *("localhost.evil.example:8765", "127.0.0.1", "127.0.0.1:1", "localhost:87651"),
        *("0.0.0.0:8765", "192.168.1.1:8765", f"user@{address}", f"{address}/"),
        f"{address}, evil.example",
    ):
        assert not ours.accept(name), name
    assert ours.accept_origin(f"http://{address}", address)
    for origin in (
        *("http://evil.example", f"https://{address}", "http://127.0.0.1:1", f"http://{address}/"),
        *(f"http://{address}.evil.example", "http://localhost:8765", "null", "file://"),
    ):
        assert not ours.accept_origin(origin, address), origin


def test_names_of_a_server():
    assert hosts_of("127.0.0.1", 80).accept("localhost")
    everywhere = hosts_of("0.0.0.0", 9)
    assert everywhere.accept("192.168.1.7:9")
    assert everywhere.accept("[fe80::1]:9")
    assert not everywhere.accept("name.example:9")
    assert not everywhere.accept("192.168.1.7:8")
    assert hosts_of("192.168.1.7", 9).accept("192.168.1.7:9")
    assert not hosts_of("192.168.1.7", 9).accept("192.168.1.8:9")
    assert hosts_of("::1", 9).accept("[::1]:9")
    assert hosts_of("Box.lan", 9).accept("box.lan:9")
    assert not Hosts(9).accept("")
    assert is_this_machine("127.0.0.2")
    assert is_this_machine("localhost")
    assert not is_this_machine("0.0.0.0")
    assert in_url("fe80::1") == "[fe80::1]"


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
