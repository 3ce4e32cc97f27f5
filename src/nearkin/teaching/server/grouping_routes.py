"""Routes of groups: finding them, naming them, and saying which are one."""

from __future__ import annotations

from typing import Any

from fastapi import FastAPI, Response

from nearkin.teaching.server.bodies import Aim, Naming, Selection, Tab, TwoGroups
from nearkin.teaching.server.replies import PlainJSON, changed, check_rows
from nearkin.teaching.server.session import Room


def add_grouping(app: FastAPI, room: Room) -> None:
    """Add the routes to an app."""
    lesson = room.lesson
    n_rows = int(lesson.about()["n_rows"])

    @app.get("/api/grouping")
    def grouping() -> Response:
        found = room.grouping
        return Response(status_code=204) if found is None else PlainJSON(found)

    @app.post("/api/grouping")
    def find() -> Response:
        room.want_groups()
        return Response(status_code=202)

    @app.post("/api/grouping/name")
    async def name(body: Naming, by: Tab = "") -> Response:
        told: tuple[Any, ...] = body.group, body.name, body.grouping
        if "before" in body.model_fields_set:
            told = *told, body.before
        return await changed(room, by, 409, lesson.name_group, *told)

    @app.post("/api/grouping/one")
    async def one(body: Selection, by: Tab = "") -> Response:
        check_rows(n_rows, *body.rows)
        told = body.rows, body.grouping, body.before, body.by
        return await changed(room, by, 409, lesson.say_one_group, *told)

    @app.post("/api/grouping/split")
    async def split(body: Selection, by: Tab = "") -> Response:
        check_rows(n_rows, *body.rows)
        told = body.rows, body.grouping, body.before, body.by
        return await changed(room, by, 409, lesson.split_off, *told)

    @app.post("/api/grouping/two")
    async def two(body: TwoGroups, by: Tab = "") -> Response:
        told = body.first, body.second, body.same, body.grouping, body.before, body.by
        return await changed(room, by, 409, lesson.say_of_groups, *told)

    @app.post("/api/goal")
    async def goal(body: Aim, by: Tab = "") -> Response:
        return await changed(room, by, 422, lesson.aim, body.goal)
