"""Routes of what people look for: which rows, these rows as a table, and as a file."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
from fastapi import FastAPI, HTTPException, Response
from starlette.background import BackgroundTask

from nearkin.teaching.finding import Wanted
from nearkin.teaching.finding import Where as WhereWanted
from nearkin.teaching.server.bodies import Rows, Search, Where
from nearkin.teaching.server.encoding import as_json
from nearkin.teaching.server.replies import PlainJSON, binary, check_rows, said
from nearkin.teaching.server.session import Room

# Records of a page of a table.
_MOST_AT_ONCE = 100


def add_finding(app: FastAPI, room: Room) -> None:
    """Add the routes to an app."""
    lesson = room.lesson
    n_rows = int(lesson.about()["n_rows"])

    @app.get("/api/columns")
    def columns() -> Response:
        # Who asks for them is about to look for something.
        return PlainJSON(lesson.columns(), background=BackgroundTask(lesson.prepare_finding))

    @app.post("/api/search")
    def search(body: Search) -> Response:
        check_rows(n_rows, *body.groups)
        try:
            found = lesson.find(_wanted(body))
        except ValueError as error:
            raise HTTPException(422, said(error)) from None
        return binary(matches_bytes(found))

    @app.post("/api/rows")
    def rows(body: Rows) -> Response:
        check_rows(n_rows, *body.rows)
        if len(body.rows) > _MOST_AT_ONCE:
            raise HTTPException(422, f"At most {_MOST_AT_ONCE} records are sent at once.")
        return PlainJSON([lesson.record(row) for row in body.rows])

    @app.post("/api/rows/file")
    def rows_file(body: Rows) -> Response:
        check_rows(n_rows, *body.rows)
        name, content = lesson.rows_file(body.rows)
        headers = {"Content-Disposition": f'attachment; filename="{name}"'}
        return Response(content, media_type="application/octet-stream", headers=headers)


def matches_bytes(found: dict[str, Any]) -> bytes:
    """Length of a JSON text, that text (without the matches), and a bit for every row."""
    head = as_json({name: part for name, part in found.items() if name != "matches"}).encode()
    bits = np.packbits(found["matches"], bitorder="little").tobytes()
    return struct.pack("<I", len(head)) + head + bits


def _wanted(body: Search) -> Wanted:
    where = tuple(_where(one) for one in body.where)
    return Wanted(body.text, where, tuple(body.groups), body.doubtful)


def _where(body: Where) -> WhereWanted:
    kinds = None if body.kinds is None else tuple(body.kinds)
    return WhereWanted(body.key, kinds, body.low, body.high, body.text)
