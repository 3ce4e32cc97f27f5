"""Routes of columns: which are learned from, and others instead."""

from __future__ import annotations

from fastapi import FastAPI, HTTPException, Response

from nearkin.teaching.server.bodies import ColumnsToLearnFrom
from nearkin.teaching.server.replaceable import Replaceable
from nearkin.teaching.server.replies import PlainJSON, said
from nearkin.teaching.server.session import Room


def add_columns(app: FastAPI, room: Room, place: Replaceable) -> None:
    """Add the routes to an app that others can take the place of."""
    lesson = room.lesson

    @app.get("/api/learned-columns")
    def columns() -> Response:
        return PlainJSON(lesson.column_roles())

    @app.post("/api/learned-columns")
    async def learn_from(body: ColumnsToLearnFrom) -> Response:
        wished = body.columns, body.standardise
        try:
            done = await place.replace(lesson, lambda: lesson.learning_from(*wished))
        except (ValueError, TypeError, OSError) as error:
            raise HTTPException(422, said(error)) from None
        if not done:
            raise HTTPException(409, "Other columns were chosen meanwhile: look at them first.")
        return PlainJSON(place.lesson.column_roles())
