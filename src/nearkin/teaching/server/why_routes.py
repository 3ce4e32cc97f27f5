"""The route of explanations."""

from __future__ import annotations

from typing import Annotated

from fastapi import FastAPI, HTTPException, Query, Response

from nearkin.teaching.server.bodies import LARGEST_ROW
from nearkin.teaching.server.replies import PlainJSON, check_rows, said
from nearkin.teaching.server.session import Room

Row = Annotated[int, Query(ge=0, le=LARGEST_ROW)]


def add_why(app: FastAPI, room: Room) -> None:
    """Add the route to an app."""
    lesson = room.lesson
    n_rows = int(lesson.about()["n_rows"])

    @app.get("/api/why")
    def why(left: Row, right: Row) -> Response:
        check_rows(n_rows, left, right)
        if left == right:
            raise HTTPException(422, "A record is explained beside another one.")
        try:
            return PlainJSON(lesson.why(left, right))
        except ValueError as error:
            raise HTTPException(409, said(error)) from None
