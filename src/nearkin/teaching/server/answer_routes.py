"""Routes of the list of answers."""

from __future__ import annotations

from typing import Annotated, Literal

from fastapi import FastAPI, Query, Response

from nearkin.teaching.row_checks import LONGEST_NAME
from nearkin.teaching.server.bodies import EntryWithdrawal, Overlap, Tab
from nearkin.teaching.server.replies import PlainJSON, changed
from nearkin.teaching.server.session import Room

_MOST_LISTED = 500
_LONGEST_SEARCH = 200
# So many answers are in no journal.
_MOST_ANSWERS = 2**31

Start = Annotated[int, Query(ge=0, le=_MOST_ANSWERS)]
Listed = Annotated[int, Query(ge=1, le=_MOST_LISTED)]
Text = Annotated[str, Query(max_length=_LONGEST_SEARCH)]
Who = Annotated[str | None, Query(max_length=LONGEST_NAME)]


def add_answers(app: FastAPI, room: Room) -> None:
    """Add the routes to an app."""
    lesson = room.lesson

    @app.get("/api/answers")
    def answers(
        start: Start = 0,
        n: Listed = 50,
        text: Text = "",
        said: Literal["same", "different", "unsure", "disputed"] | None = None,
        by: Who = None,
    ) -> Response:
        return PlainJSON(lesson.answers(start, n, text, said, by))

    @app.post("/api/answers/withdrawals")
    async def withdraw(body: EntryWithdrawal, by: Tab = "") -> Response:
        return await changed(room, by, 409, lesson.withdraw_entry, body.number)

    @app.post("/api/overlap")
    async def overlap(body: Overlap, by: Tab = "") -> Response:
        return await changed(room, by, 422, lesson.share, body.share)
