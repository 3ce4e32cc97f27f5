"""Connections: how many there may be at once, and how long they may take to ask."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

# Connections at once: of programs that have not shown the token, and of all. A process may have
# 256 files open on some systems, and a notebook has some of its own.
MOST_STRANGERS = 96
MOST = 144
# Seconds until a request's headers are complete, from the connection or from the answer before.
PATIENCE = 10.0
# Seconds that an answer to a stranger may take. It is small; whoever does not read it is sent away.
PATIENCE_WITH_STRANGERS = 30.0


class Visitors:
    """Who is connected now.

    A connection that asks for nothing, or takes its time to ask, is closed. If too many come that
    have not shown the token, those that have waited longest go: a request that is sent at once is
    answered however many others are not. Everything runs on the server's event loop.

    Parameters
    ----------
    most_strangers, most : int
        Connections without the token, and all.
    patience, patience_with_strangers : float
        Seconds: until headers are complete, and for an answer to a stranger.
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

    def add(self, visitor: Visitor) -> None:
        """Count one more; it or somebody else may have to go."""
        self._here[visitor] = None
        strangers = [one for one in self._here if not one.known]
        if len(strangers) > self._most_strangers:
            min(strangers, key=Visitor.is_busy).turn_out()
        elif len(self._here) > self._most:
            next(one for one in self._here if not one.is_busy()).turn_out()

    def remove(self, visitor: Visitor) -> None:
        """Count one less; twice is as good as once."""
        self._here.pop(visitor, None)

    def protocol(self, **settings: Any) -> asyncio.Protocol:
        """What speaks over one connection; uvicorn calls it."""
        return _WatchedProtocol(Visitor(self), **settings)


class Visitor:
    """A connection, from its beginning to its end or until it becomes a WebSocket.

    Attributes
    ----------
    known : bool
        Whether it has shown the token.
    """

    def __init__(self, visitors: Visitors) -> None:
        self.known = False
        self._visitors = visitors
        self._busy = False  # its request is being answered
        self._transport: asyncio.Transport | None = None
        self._timer: asyncio.TimerHandle | None = None

    def is_busy(self) -> bool:
        """Whether its request is being answered."""
        return self._busy

    def arrive(self, transport: asyncio.Transport) -> None:
        """Note a connection that has not asked anything yet."""
        self._transport = transport
        self._give(self._visitors.patience)
        self._visitors.add(self)

    def ask(self, known: bool, websocket: bool = False) -> None:
        """The headers of a request are complete; known is who has shown the token."""
        if websocket:  # refused ones are closed at once, and tabs are counted by themselves
            self.leave()
            return
        self._busy = True
        self.known = self.known or known
        self._give(None if self.known else self._visitors.patience_with_strangers)

    def answered(self) -> None:
        """A request has been answered; another may follow."""
        self._busy = False
        self._give(self._visitors.patience)

    def leave(self) -> None:
        """Count it no more; twice is as good as once."""
        self._transport = None
        self._give(None)
        self._visitors.remove(self)

    def turn_out(self) -> None:
        """Close the connection at once, whether or not what was sent has been read."""
        if self._transport is not None:
            self._transport.abort()
        self.leave()

    def _give_up(self) -> None:
        if self.known and self._transport is not None:
            self._transport.close()  # it counts until it has read what was sent
        else:
            self.turn_out()

    def _give(self, seconds: float | None) -> None:
        """Close the connection after some seconds from now."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if seconds is not None and self._transport is not None:
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(seconds, self._give_up)


class _WatchedProtocol(H11Protocol):
    """Uvicorn's protocol for a visitor, whom the app finds in the state of each request."""

    def __init__(self, visitor: Visitor, *, app_state: dict[str, Any], **settings: Any) -> None:
        super().__init__(app_state={**app_state, "visitor": visitor}, **settings)
        self._visitor = visitor

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._visitor.arrive(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        self._visitor.leave()
        super().connection_lost(exc)
