"""An app that another can take the place of, while all who are connected stay so."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING, Any

from fastapi import FastAPI

if TYPE_CHECKING:
    from nearkin.teaching.lesson import Lesson
    from nearkin.teaching.server.session import Room

# Seconds that requests to the app before may take to end.
_PATIENCE = 30.0


class Replaceable:
    """The app of a lesson, until another lesson takes its place.

    Requests that come later go to the new app. Those that have begun are finished by the old one,
    which knows of all answers, since both lessons share them; then it ends. Tabs are cut off, and
    find the new lesson when they connect again.

    Parameters
    ----------
    make : callable
        Given a lesson and this, makes an app and its room.
    lesson : Lesson

    Attributes
    ----------
    lesson : Lesson
        The one that is taught now.
    """

    def __init__(
        self, make: Callable[[Lesson, Replaceable], tuple[FastAPI, Room]], lesson: Lesson
    ) -> None:
        self._make, self.lesson = make, lesson
        self._app, self._room = make(lesson, self)
        self._life: AbstractAsyncContextManager[Any] | None = None
        self._n_begun: Counter[int] = Counter()
        self._replacing = asyncio.Lock()
        self._ending: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Serve a request, or begin and end with the server."""
        if scope["type"] == "lifespan":
            await self._live(receive, send)
            return
        app = self._app
        self._n_begun[id(app)] += scope["type"] == "http"
        try:
            await app(scope, receive, send)
        finally:
            self._n_begun[id(app)] -= scope["type"] == "http"

    def openapi(self) -> dict[str, Any]:
        """What requests there are."""
        return self._app.openapi()

    async def replace(self, old: Lesson, lesson: Callable[[], Lesson]) -> bool:
        """Teach another lesson from now on; False if the old one is not taught any more.

        ``lesson`` makes it, in another thread, while the old one goes on.
        """
        async with self._replacing:
            if self.lesson is not old:
                return False
            new = await asyncio.to_thread(lesson)
            app, room = self._make(new, self)
            life = _life_of(app)
            await life.__aenter__()
            before = self._app, self._room, self._life
            self.lesson, self._app, self._room, self._life = new, app, room, life
            task = asyncio.create_task(self._end(*before))
            self._ending.add(task)
            task.add_done_callback(self._ending.discard)
            return True

    async def _end(self, app: FastAPI, room: Room, life: Any) -> None:
        """End an app once its requests are done."""
        room.live.cut_off()
        end = time.monotonic() + _PATIENCE
        while self._n_begun[id(app)] and time.monotonic() < end:
            await asyncio.sleep(0.02)
        await life.__aexit__(None, None, None)
        self._room.look_again()  # at what the other has taken meanwhile

    async def _live(self, receive: Any, send: Any) -> None:
        await receive()
        try:
            self._life = _life_of(self._app)
            await self._life.__aenter__()
        except BaseException as error:
            await send({"type": "lifespan.startup.failed", "message": str(error)})
            raise
        await send({"type": "lifespan.startup.complete"})
        await receive()
        await asyncio.gather(*self._ending, return_exceptions=True)
        await self._life.__aexit__(None, None, None)
        await send({"type": "lifespan.shutdown.complete"})


def _life_of(app: FastAPI) -> AbstractAsyncContextManager[Any]:
    return app.router.lifespan_context(app)
