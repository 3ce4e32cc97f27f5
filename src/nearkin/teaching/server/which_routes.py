"""Routes of groups that answers make: which of them a row is like, and what they are called."""

from __future__ import annotations

from fastapi import FastAPI, Response

from nearkin.teaching.server.bodies import KnownName, Tab, Which
from nearkin.teaching.server.replies import changed, check_rows
from nearkin.teaching.server.session import Room


def add_which(app: FastAPI, room: Room) -> None:
    """Add the routes to an app."""
    lesson = room.lesson
    n_rows = int(lesson.about()["n_rows"])

    @app.post("/api/which")
    async def which(body: Which, by: Tab = "") -> Response:
        check_rows(n_rows, body.left, *body.rows, *(() if body.right is None else (body.right,)))
        told = body.left, body.rows, body.right, body.same, body.origin, body.before, body.by
        return await changed(room, by, 422, lesson.answer_which, *told)

    @app.post("/api/which/name")
    async def name(body: KnownName, by: Tab = "") -> Response:
        check_rows(n_rows, body.row)
        return await changed(room, by, 409, lesson.name_known_group, body.row, body.name)
