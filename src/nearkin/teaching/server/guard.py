"""Who may ask, and how much: everything that is checked before a request reaches the app."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, MutableMapping
from typing import TYPE_CHECKING, Any

from nearkin.teaching.server.access import Access
from nearkin.teaching.server.few_words import LOG
from nearkin.teaching.server.hosts import Hosts
from nearkin.teaching.server.page_files import plain_page
from nearkin.teaching.server.policy import protecting_headers

if TYPE_CHECKING:
    from nearkin.teaching.server.visitors import Visitor

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

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

    A request must have a Host header that is ours, or that of a proxy. If it has an Origin, that
    must be the page's own, unless it asks for the page itself. Everything but the page, its scripts
    and its styles needs the token, in the header ``X-Nearkin-Token`` or as the second subprotocol
    of a WebSocket; never in an address, which histories and lists of downloads keep. ``POST
    /api/token`` gives the token for a code in the header ``X-Nearkin-Code``. Bodies are read here,
    up to a limit of bytes and of time, and of nobody without the token. No header ever allows
    another page to read an answer.

    Parameters
    ----------
    app : ASGI application
    access : Access
    hosts : Hosts
    most_bytes : int
        Of a body.
    patience : float
        Seconds for a body to arrive.
    """

    def __init__(
        self,
        app: App,
        access: Access,
        hosts: Hosts,
        most_bytes: int = MOST_BYTES,
        patience: float = PATIENCE_WITH_BODIES,
    ) -> None:
        self._app = app
        self._access = access
        self._hosts = hosts
        self._headers = protecting_headers(hosts.allowed)
        self._most_bytes = most_bytes
        self._patience = patience

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, or let the app do so."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        known = self._knows_token(scope)
        send = _announced(scope, _protected(scope, send, self._headers), known)
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
            if known and _has_body(scope):
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
                receive = _again(body, receive)
        await self._answered(scope, receive, send)

    async def _give_token(self, scope: Scope, send: Send) -> None:
        code = _headers(scope, b"x-nearkin-code")
        if len(code) == 1 and self._access.redeem(code[0]):
            await _say(send, 200, b"application/json", {"token": self._access.token})
        else:
            said = (
                "The address has been used before, or is too old: open the one that the studio has "
                "printed."
            )
            await _refuse(scope, send, 403, said)

    async def _answered(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the app answer; if it fails before its first word, say that much."""
        begun = False

        async def send_noting(message: Message) -> None:
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
        """Status and sentence if a request is not to be answered."""
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
        given = _headers(scope, b"x-nearkin-token")
        if not given and scope["type"] == "websocket":
            offered = scope.get("subprotocols", [])
            given = offered[1:] if offered[:1] == [SUBPROTOCOL] else []
        return len(given) == 1 and self._access.opens(given[0])

    async def _body(self, scope: Scope, receive: Receive) -> bytes | None:
        """The body, or None if it is too large."""
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


def _is_public(scope: Scope) -> bool:
    """Whether it is a part of the page that is the same for everyone."""
    return bool(scope["path"].startswith("/assets/"))


def _asks_for_page(scope: Scope) -> bool:
    return bool(
        scope["type"] == "http" and scope["path"] == "/" and scope["method"] in ("GET", "HEAD")
    )


def _asks_for_token(scope: Scope) -> bool:
    return bool(
        scope["type"] == "http" and scope["path"] == "/api/token" and scope["method"] == "POST"
    )


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key == name]


def _has_body(scope: Scope) -> bool:
    return any(key in (b"content-length", b"transfer-encoding") for key, _ in scope["headers"])


def _again(body: bytes, receive: Receive) -> Receive:
    """Give a body that has been read once more, then what comes after it."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def receive_again() -> Message:
        return waiting.pop() if waiting else await receive()

    return receive_again


def _announced(scope: Scope, send: Send, known: bool) -> Send:
    """Tell the visitor that it asks now, and when it has its answer."""
    visitor: Visitor | None = scope.get("state", {}).get("visitor")
    if visitor is None:
        return send
    visitor.ask(known, websocket=scope["type"] == "websocket")

    async def send_noting_the_end(message: Message) -> None:
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            visitor.answered()
        await send(message)

    return send_noting_the_end


def _protected(scope: Scope, send: Send, headers: Headers) -> Send:
    """Add our headers to whatever is answered."""
    if scope["type"] != "http":
        return send
    public = _is_public(scope)

    async def send_protected(message: Message) -> None:
        if message["type"] == "http.response.start":
            added = headers if public else [*headers, _FRESH]
            names = {name for name, _ in added}
            kept = [(n, v) for n, v in message.get("headers", []) if n.lower() not in names]
            message = {**message, "headers": [*kept, *added]}
        await send(message)

    return send_protected


async def _refuse(
    scope: Scope, send: Send, status: int, sentence: str, close: bool = False
) -> None:
    if scope["type"] == "websocket":  # before the handshake: it is answered with 403
        await send({"type": "websocket.close", "code": 1008, "reason": sentence[:120]})
    elif scope["path"] == "/":
        await _say(send, status, b"text/html; charset=utf-8", plain_page(sentence), close)
    else:
        await _say(send, status, b"application/json", {"message": sentence}, close)


async def _say(
    send: Send, status: int, kind: bytes, content: str | dict[str, str], close: bool = False
) -> None:
    body = (content if isinstance(content, str) else json.dumps(content)).encode()
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    if close:
        headers.append((b"connection", b"close"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
