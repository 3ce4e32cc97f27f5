"""Protection of the server: token and codes, host names, limits of connections, headers."""

from __future__ import annotations

import asyncio
import hmac
import json
import logging
import re
import secrets
import time
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.h11_impl import H11Protocol

from nearkin.errors import InputError
from nearkin.studio.server.encoding import plain_page

# Seconds until a browser that is being started has asked. Some take long.
_CODE_HOLDS = 120.0
# Of codes that nobody used, so many are remembered.
_MOST_CODES = 16


class Access:
    """The token of a run, and codes that can each be exchanged for it once.

    Everyone on the machine can see the address that a browser is started with, as an argument of a
    program: so it holds a code, which is worthless after its use. ``token`` is that of a server
    that this one replaces; a new one by default.

    >>> access = Access()
    >>> code = access.new_code()
    >>> access.redeem(code), access.redeem(code), access.opens(access.token)
    (True, False, True)
    """

    def __init__(
        self, token: str | None = None, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.token = token or secrets.token_urlsafe(24)
        self._clock = clock
        self._codes: dict[str, float] = {}  # and until when they hold

    def opens(self, given: str) -> bool:
        """Whether a text is the token."""
        return hmac.compare_digest(given.encode(), self.token.encode())

    def new_code(self) -> str:
        """Make a code that can be exchanged for the token, once and within two minutes."""
        code = secrets.token_urlsafe(24)
        self._codes[code] = self._clock() + _CODE_HOLDS
        while len(self._codes) > _MOST_CODES:
            del self._codes[next(iter(self._codes))]
        return code

    def redeem(self, given: str) -> bool:
        """Whether a text is a valid code, which is invalid from now on."""
        now = self._clock()
        found = [code for code in self._codes if hmac.compare_digest(code.encode(), given.encode())]
        return any(now <= self._codes.pop(code) for code in found)


# Listening on one of these is listening on every interface.
_EVERYWHERE = ("0.0.0.0", "::")
_THIS_MACHINE = ("127.0.0.1", "localhost", "[::1]")
# What stands for every name.
ANY_NAME = "*"
_LABEL = r"[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?"
_NAME = re.compile(rf"(\*\.)?{_LABEL}(\.{_LABEL})*|\[[0-9a-f:.]+\]")


@dataclass(frozen=True)
class Hosts:
    """The Host headers that requests may have.

    A foreign page can let a name of its own point to this machine (DNS rebinding); its requests
    then arrive with that name. So only requests to our own names are answered.

    >>> hosts = Hosts(8765, allowed=["hub.example"])
    >>> hosts.accept("localhost:8765"), hosts.accept("localhost.example:8765")
    (True, False)
    >>> hosts.accept("hub.example"), hosts.accept_origin("https://hub.example", "hub.example")
    (True, True)
    """

    port: int
    # Own names, with brackets around IPv6 addresses, as in URLs.
    names: Collection[str] = field(default=_THIS_MACHINE)
    # Whether to accept all IP addresses, which nobody can let point elsewhere.
    any_number: bool = False
    # Names of proxies that pass requests on, see :func:`check_names`; with any port, and by http or
    # https.
    allowed: Collection[str] = ()

    def accept(self, host: str) -> bool:
        """Whether a Host header has one of our names and our port, or is an allowed proxy's."""
        host = host.lower()
        if _is_among(host, self.allowed):
            return True
        name, port = _split_port(host)
        if port != str(self.port) and not (port == "" and self.port == 80):
            return False
        number = _parse_number(name.removeprefix("[").removesuffix("]"))
        return name in self.names or (self.any_number and number is not None)

    def accept_origin(self, origin: str, host: str) -> bool:
        """Whether a request with this Origin and Host header comes from our own page.

        Some proxies pass their own name on as Host, some do not.
        """
        if origin == f"http://{host}":
            return True
        scheme, separator, place = origin.lower().partition("://")
        if not separator or scheme not in ("http", "https"):
            return False
        if place == host.lower():
            return _is_among(place, self.allowed)
        return _is_among(place, [name for name in self.allowed if name != ANY_NAME])


def hosts_of(address: str, port: int, allowed: Collection[str] = ()) -> Hosts:
    """Return the host names of a server that listens on an address, and of allowed proxies."""
    if listens_everywhere(address):
        return Hosts(port, any_number=True, allowed=allowed)
    return Hosts(port, (*_THIS_MACHINE, in_url(address).lower()), allowed=allowed)


def check_names(names: Iterable[str]) -> list[str]:
    """Return names of proxies in lower case; raise if one is no host name.

    >>> check_names(["Hub.example", "*.proxy.example"])
    ['hub.example', '*.proxy.example']
    """
    found = [str(name).strip().lower() for name in names]
    for name in found:
        if not _NAME.fullmatch(name):
            raise InputError(
                f"{name!r:.80} is not the name of a host: give it without http://, port and "
                "path, such as hub.example.org, or *.example.org for all names that end so."
            )
    return found


def listens_everywhere(address: str) -> bool:
    """Whether listening on an address is listening on all network interfaces."""
    return address in _EVERYWHERE


def is_this_machine(address: str) -> bool:
    """Whether an address can only be reached from this machine."""
    number = _parse_number(address)
    return address.lower() == "localhost" if number is None else number.is_loopback


def in_url(address: str) -> str:
    """Format an address for a URL; one that stands for all interfaces becomes 127.0.0.1.

    >>> in_url("::1"), in_url("127.0.0.1"), in_url("0.0.0.0")
    ('[::1]', '127.0.0.1', '127.0.0.1')
    """
    if listens_everywhere(address):
        return "127.0.0.1"
    return f"[{address}]" if isinstance(_parse_number(address), IPv6Address) else address


def _is_among(host: str, names: Iterable[str]) -> bool:
    """Whether a host, with or without a port, has one of these names."""
    name, port = _split_port(host)
    if not _NAME.fullmatch(name) or not (port == "" or port.isdecimal()):
        return False
    return any(
        one in (ANY_NAME, name) or (one.startswith("*.") and name.endswith(one[1:]))
        for one in names
    )


def _split_port(host: str) -> tuple[str, str]:
    """Split a host into name and port, "" without one; IPv6 addresses are in brackets."""
    name, bracket, rest = host.rpartition("]")
    before, _, port = rest.partition(":")
    return (f"{name}]{before}" if bracket else before), port


def _parse_number(name: str) -> IPv4Address | IPv6Address | None:
    """Return a host name as an IP address; None if it is none."""
    try:
        return ip_address(name)
    except ValueError:
        return None


_POLICY = (
    "default-src 'self'",
    "script-src 'self' 'unsafe-eval'",  # regl makes its draw calls with Function
    "style-src 'self'",
    "img-src 'self' blob: data:",
    "connect-src 'self'",
    "worker-src 'self' blob:",
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
)
# Notebooks on this machine show the page in a frame.
_FRAMES = (
    "'self'",
    "http://localhost:*",
    "http://127.0.0.1:*",
    "https://localhost:*",
    "https://127.0.0.1:*",
    "vscode-webview:",
)


def make_headers(allowed: Collection[str] = ()) -> list[tuple[bytes, bytes]]:
    """Make the security headers of every answer; pages of ``allowed`` hosts may show ours."""
    more = [f"{s}://{name}:*" for name in allowed if name != ANY_NAME for s in ("http", "https")]
    ancestors = " ".join(dict.fromkeys([*_FRAMES, *more]))
    policy = "; ".join([*_POLICY, f"frame-ancestors {ancestors}"])
    return [
        (b"content-security-policy", policy.encode()),
        (b"x-content-type-options", b"nosniff"),
        (b"referrer-policy", b"no-referrer"),
        (b"cross-origin-resource-policy", b"same-origin"),
        (b"accept-ranges", b"none"),
    ]


# Connections at once: of programs that have not shown the token, and of all. A process may have
# 256 files open on some systems, and a notebook has some of its own.
MOST_STRANGERS = 96
MOST = 144
# Seconds until a request's headers are complete, from the connection or from the answer before.
PATIENCE = 10.0
# Seconds that an answer to a stranger may take. It is small; whoever does not read it is sent away.
PATIENCE_WITH_STRANGERS = 30.0


class Visitors:
    """All present connections, with limits that keep the server reachable.

    A connection that sends no complete request in time is closed. If too many without the token
    come, those that have waited longest are closed: a request that is sent at once is answered
    whatever others do. Everything runs on the server's event loop.
    """

    def __init__(
        self,
        most_strangers: int = MOST_STRANGERS,
        most: int = MOST,
        patience: float = PATIENCE,
        patience_with_strangers: float = PATIENCE_WITH_STRANGERS,
    ) -> None:
        self._most_strangers = most_strangers
        self._most = most
        self.patience = patience
        self.patience_with_strangers = patience_with_strangers
        self._here: dict[Visitor, None] = {}  # who came first is first

    def __len__(self) -> int:
        return len(self._here)

    def __contains__(self, visitor: Visitor) -> bool:
        return visitor in self._here

    def add(self, visitor: Visitor) -> None:
        """Add a connection; if that is too many, close it or another one."""
        self._here[visitor] = None
        strangers = [one for one in self._here if not one.known]
        if len(strangers) > self._most_strangers:
            min(strangers, key=lambda one: one.busy).turn_out()
        elif len(self._here) > self._most:
            next(one for one in self._here if not one.busy).turn_out()

    def remove(self, visitor: Visitor) -> None:
        """Remove a connection, if it is still there."""
        self._here.pop(visitor, None)

    def protocol(self, **settings: Any) -> asyncio.Protocol:
        """Make the protocol of a new connection; uvicorn calls this."""
        return Visitor(self, **settings)


class Visitor(H11Protocol):
    """A connection, from its beginning to its end or until it becomes a WebSocket.

    It is uvicorn's protocol of it, and is in the state of each request.
    """

    def __init__(self, visitors: Visitors, *, app_state: dict[str, Any], **settings: Any) -> None:
        super().__init__(app_state={**app_state, "visitor": self}, **settings)
        self.known = False  # it has shown the token
        self.busy = False  # its request is being answered
        self._visitors = visitors
        self._timer: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Note that the connection has been opened."""
        super().connection_made(transport)
        self._visitors.add(self)
        self._set_timer(self._visitors.patience)

    def connection_lost(self, exc: Exception | None) -> None:
        """Note that the connection has ended."""
        self._leave()
        super().connection_lost(exc)

    def ask(self, known: bool, websocket: bool = False) -> None:
        """Note that a request's headers are complete; ``known`` if it has the token."""
        if websocket:  # refused ones are closed at once, and tabs are counted by themselves
            self._leave()
            return
        self.busy = True
        self.known = self.known or known
        self._set_timer(None if self.known else self._visitors.patience_with_strangers)

    def note_answered(self) -> None:
        """Note that a request has been answered; another may follow."""
        self.busy = False
        self._set_timer(self._visitors.patience)

    def turn_out(self) -> None:
        """Close the connection at once, whether or not what was sent has been read."""
        self.transport.abort()
        self._leave()

    def _leave(self) -> None:
        """Note that the connection is over, or another's matter; twice does no harm."""
        self._visitors.remove(self)
        self._set_timer(None)

    def _give_up(self) -> None:
        """Close the connection after its time; with the token, once it has read what was sent."""
        if self.known:
            self.transport.close()
        else:
            self.turn_out()

    def _set_timer(self, seconds: float | None) -> None:
        """Close the connection in some seconds if it is still there, or not at all with None."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None and self in self._visitors:
            self._timer = asyncio.get_running_loop().call_later(seconds, self._give_up)


# Records in a minute. One with a traceback has about 2 kB.
_MOST = 20
_MINUTE = 60.0

LOG = logging.getLogger("nearkin.studio.server")


class FewWords(logging.Filter):
    """Lets a limited number of log records pass in every minute.

    Whoever reaches the port can cause errors at will, and must not fill the disk.
    """

    def __init__(self, most: int = _MOST) -> None:
        super().__init__()
        self._most = most
        self._begun = -_MINUTE
        self._passed = 0

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether to log a record; the last of a minute says that more are not logged."""
        now = time.monotonic()
        if now - self._begun >= _MINUTE:
            self._begun, self._passed = now, 0
        self._passed += 1
        if self._passed == self._most:
            record.msg = f"{record.getMessage()} (what follows within a minute is not logged)"
            record.args = None
        return self._passed <= self._most


LOG.addFilter(FewWords())


def log_few_errors(loop: asyncio.AbstractEventLoop) -> None:
    """Log errors of an event loop by ``LOG``, which limits how many."""

    def note(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """Log one error."""
        LOG.error("%s", context["message"], exc_info=context.get("exception"))

    loop.set_exception_handler(note)


# Bytes of a request's body. Two groups of all rows that are ever shown have about 3 million.
MOST_BYTES = 2**22
# A body that is too large is read to its end up to here, so that its sender hears why.
_MOST_DRAINED = 2**26
# Seconds for a body to arrive.
PATIENCE_WITH_BODIES = 30.0
# What a page calls the protocol of its WebSocket; the token comes as a second name, since pages
# cannot give WebSockets headers.
SUBPROTOCOL = "nearkin"

_FRESH = (b"cache-control", b"no-store")
# Nothing here is so large that a part of it is asked for, and many parts at once cost much.
_NOT_HEARD = (b"range", b"if-range")


class Guard:
    """Middleware that refuses foreign requests, and adds the headers that protect the page.

    A request must have a Host header that is ours or a proxy's. An Origin must be the page's own,
    unless the page itself is requested. Everything but the page, its scripts and its styles needs
    the token, in the header ``X-Nearkin-Token`` or as the second subprotocol of a WebSocket; never
    in an address, which histories and lists of downloads keep. ``POST /api/token`` returns the
    token for a code in the header ``X-Nearkin-Code``. Bodies are read here, with the token only, up
    to a limit of bytes and of time. No header ever allows another page to read an answer.
    """

    def __init__(
        self,
        app: ASGIApp,
        access: Access,
        hosts: Hosts,
        most_bytes: int = MOST_BYTES,
        patience: float = PATIENCE_WITH_BODIES,
    ) -> None:
        self._app = app
        self._access = access
        self._hosts = hosts
        self._headers = make_headers(hosts.allowed)
        self._most_bytes = most_bytes
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a request, answer it with the token, or let the app answer it."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        known = self._knows_token(scope)
        send = _notify_visitor(scope, self._add_headers(scope, send), known)
        refusal = self._refusal(scope, known)
        if refusal is not None:
            await _refuse(scope, send, *refusal)
        elif _asks_for_token(scope):
            await self._give_token(scope, send)
        else:
            await self._let_through(scope, receive, send, known)

    async def _let_through(self, scope: Scope, receive: Receive, send: Send, known: bool) -> None:
        """Let the app answer a request whose body has been read."""
        if scope["type"] == "http":
            heard = [(n, v) for n, v in scope["headers"] if n not in _NOT_HEARD]
            scope = {**scope, "headers": heard}
            if known and any(n in (b"content-length", b"transfer-encoding") for n, _ in heard):
                try:
                    async with asyncio.timeout(self._patience):
                        body = await self._body(scope, receive)
                except TimeoutError:
                    said = f"The request has not arrived within {self._patience:g} seconds."
                    await _refuse(scope, send, 408, said, close=True)
                    return
                if body is None:
                    said = f"The request is larger than {self._most_bytes // 2**20} MB."
                    await _refuse(scope, send, 413, said)
                    return
                receive = _replay_body(body, receive)
        await self._answer_safely(scope, receive, send)

    async def _give_token(self, scope: Scope, send: Send) -> None:
        """Answer a request for the token with the token, if its code is valid."""
        code = _headers(scope, b"x-nearkin-code")
        if len(code) == 1 and self._access.redeem(code[0]):
            await _say(send, 200, b"application/json", json.dumps({"token": self._access.token}))
        else:
            said = (
                "The address has been used before, or is too old: open the one that the studio has "
                "printed."
            )
            await _refuse(scope, send, 403, said)

    async def _answer_safely(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the app answer; if it raises before it has sent anything, answer with status 500."""
        begun = False

        async def send_noting(message: Message) -> None:
            """Send a message, and note that the answer has begun."""
            nonlocal begun
            begun = True
            await send(message)

        try:
            await self._app(scope, receive, send_noting)
        except Exception as error:
            LOG.exception("a request could not be answered")
            if begun or scope["type"] != "http":
                raise
            await _refuse(scope, send, 500, f"A defect of nearkin: {type(error).__name__}.")

    def _refusal(self, scope: Scope, known: bool) -> tuple[int, str] | None:
        """Return status and sentence if a request must be refused, else None."""
        host = _headers(scope, b"host")
        if len(host) != 1 or not self._hosts.accept(host[0]):
            return 400, (
                "This server does not go by that name. If a proxy is to reach it by this name, "
                "start the studio with --allow-host NAME, or with allow_hosts=[NAME] in Python."
            )
        if "\0" in scope["path"]:
            return 400, "No path has such signs."
        origin = _headers(scope, b"origin")
        is_own = len(origin) == 1 and self._hosts.accept_origin(origin[0], host[0])
        if origin and not is_own and not _asks_for_page(scope):
            return 403, "Requests of other pages are not answered."
        if not (known or _is_public(scope) or _asks_for_page(scope) or _asks_for_token(scope)):
            return 403, (
                "The address lacks the token of this run, or has that of an earlier one: open the "
                "address that the studio has printed."
            )
        return None

    def _knows_token(self, scope: Scope) -> bool:
        """Whether a request has the token."""
        given = _headers(scope, b"x-nearkin-token")
        if not given and scope["type"] == "websocket":
            offered = scope.get("subprotocols", [])
            given = offered[1:] if offered[:1] == [SUBPROTOCOL] else []
        return len(given) == 1 and self._access.opens(given[0])

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """Read the body of a request; None if it is too large."""
        length = _headers(scope, b"content-length")
        said = int(length[0]) if length and length[0].isdecimal() else 0
        if said > _MOST_DRAINED:
            return None
        parts: list[bytes] = []
        n_bytes = 0
        more = True
        while more:
            message = await receive()
            if message["type"] != "http.request":  # the sender has gone
                break
            part = message.get("body", b"")
            more = message.get("more_body", False)
            n_bytes += len(part)
            if n_bytes > _MOST_DRAINED:
                return None
            if n_bytes > self._most_bytes:
                parts.clear()
            else:
                parts.append(part)
        return None if n_bytes > self._most_bytes else b"".join(parts)

    def _add_headers(self, scope: Scope, send: Send) -> Send:
        """Return a ``send`` that adds the security headers to every answer."""
        if scope["type"] != "http":
            return send
        added = self._headers if _is_public(scope) else [*self._headers, _FRESH]
        names = {name for name, _ in added}

        async def send_protected(message: Message) -> None:
            """Send a message, with the headers added to the first of an answer."""
            if message["type"] == "http.response.start":
                kept = [(n, v) for n, v in message.get("headers", []) if n.lower() not in names]
                message = {**message, "headers": [*kept, *added]}
            await send(message)

        return send_protected


def _is_public(scope: Scope) -> bool:
    """Whether a request is for a script or style of the page, the same for everyone."""
    return bool(scope["path"].startswith("/assets/"))


def _asks_for_page(scope: Scope) -> bool:
    """Whether a request is for the page."""
    return bool(
        scope["type"] == "http" and scope["path"] == "/" and scope["method"] in ("GET", "HEAD")
    )


def _asks_for_token(scope: Scope) -> bool:
    """Whether a request is for the token."""
    return bool(
        scope["type"] == "http" and scope["path"] == "/api/token" and scope["method"] == "POST"
    )


def _headers(scope: Scope, name: bytes) -> list[str]:
    """Values of a header of a request."""
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _replay_body(body: bytes, receive: Receive) -> Receive:
    """Return a ``receive`` that yields a body that was read already, then what comes after it."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        """Receive the body first."""
        return waiting.pop() if waiting else await receive()

    return receive_again


def _notify_visitor(scope: Scope, send: Send, known: bool) -> Send:
    """Tell the connection's visitor of the request; returns a ``send`` that notes its end."""
    visitor: Visitor | None = scope.get("state", {}).get("visitor")
    if visitor is None:
        return send
    visitor.ask(known, websocket=scope["type"] == "websocket")

    async def send_noting_the_end(message: Message) -> None:
        """Send a message, and note the last one of an answer."""
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            visitor.note_answered()
        await send(message)

    return send_noting_the_end


async def _refuse(
    scope: Scope, send: Send, status: int, sentence: str, close: bool = False
) -> None:
    """Answer a request with a status and a sentence, as a page or as JSON."""
    if scope["type"] == "websocket":  # before the handshake: it is answered with 403
        await send({"type": "websocket.close", "code": 1008, "reason": sentence[:120]})
    elif scope["path"] == "/":
        await _say(send, status, b"text/html; charset=utf-8", plain_page(sentence), close)
    else:
        await _say(send, status, b"application/json", json.dumps({"message": sentence}), close)


async def _say(send: Send, status: int, kind: bytes, content: str, close: bool = False) -> None:
    """Send a whole answer of the media type ``kind``."""
    body = content.encode()
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    if close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
