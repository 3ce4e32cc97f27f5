"""The line to each tab: a WebSocket, or questions again and again where none comes through."""

from __future__ import annotations

import asyncio
import time
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated

from fastapi import FastAPI, HTTPException, Query, Response, WebSocket
from starlette.websockets import WebSocketDisconnect

from nearkin.teaching.server.bodies import Tab
from nearkin.teaching.server.broadcast import Mailbox, Told
from nearkin.teaching.server.guard import SUBPROTOCOL

if TYPE_CHECKING:
    from nearkin.teaching.server.session import Room

_MOST_TABS = 32
# Seconds that an answer waits for news. A server that ends waits for it too, so it is not long.
_WAITS = 2.0
# Seconds after which a tab that does not ask any more has gone.
_GONE_AFTER = 30.0
# What a WebSocket says where a service is restarted.
_ANOTHER_LESSON = 1012


@dataclass
class _Asking:
    """A tab that asks: its mailbox, and the message that it was sent last, with its number.

    That is sent once more if the tab has not got it.
    """

    mailbox: Mailbox
    number: int = 0
    told: Told = ""
    asked_at: float = field(default_factory=time.monotonic)


def add_live(app: FastAPI, room: Room) -> None:
    """What tabs hear, as it comes."""

    @app.websocket("/api/live")
    async def live(websocket: WebSocket) -> None:
        offered = websocket.scope.get("subprotocols", [])
        await websocket.accept(SUBPROTOCOL if SUBPROTOCOL in offered else None)
        if len(room.live) >= _MOST_TABS:
            await websocket.close(1013, "too many tabs are open")
            return
        mailbox = room.live.join()
        sending = asyncio.create_task(_send_all(websocket, mailbox))
        try:
            await room.greet(mailbox)
            while (told := await websocket.receive())["type"] != "websocket.disconnect":
                room.hear(mailbox, told.get("text") or "")
        finally:
            room.leave(mailbox)
            sending.cancel()
            with suppress(asyncio.CancelledError, WebSocketDisconnect, RuntimeError):
                await sending

    tabs: dict[str, _Asking] = {}

    def forget_who_has_gone() -> None:
        now = time.monotonic()
        for name in [n for n, one in tabs.items() if now - one.asked_at > _GONE_AFTER]:
            room.leave(tabs.pop(name).mailbox)

    @app.get("/api/live/next")
    async def next_message(
        tab: Tab,
        after: Annotated[int, Query(ge=0, le=2**53)] = 0,
        hello: Annotated[str, Query(max_length=1000)] = "",
    ) -> Response:
        forget_who_has_gone()
        if tab not in tabs:
            if len(room.live) >= _MOST_TABS:
                raise HTTPException(429, "Too many tabs are open.")
            tabs[tab] = _Asking(room.live.join())
            await room.greet(tabs[tab].mailbox)
        one = tabs[tab]
        one.asked_at = time.monotonic()
        if hello:
            room.hear(one.mailbox, hello)
        if after >= one.number:
            try:
                async with asyncio.timeout(_WAITS):
                    told = await one.mailbox.next()
            except TimeoutError:
                return Response(status_code=204)
            if told is None:
                raise HTTPException(409, "Another lesson has begun.")
            one.number, one.told = one.number + 1, told
        kind = "application/octet-stream" if isinstance(one.told, bytes) else "application/json"
        number = {"X-Nearkin-Number": str(one.number)}
        return Response(one.told, media_type=kind, headers=number)


async def _send_all(websocket: WebSocket, mailbox: Mailbox) -> None:
    while True:
        told = await mailbox.next()
        if told is None:
            await websocket.close(_ANOTHER_LESSON)
            return
        if isinstance(told, bytes):
            await websocket.send_bytes(told)
        else:
            await websocket.send_text(told)
